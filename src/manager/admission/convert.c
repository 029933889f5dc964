/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The versions are a ladder: an object goes up or down one rung at a time. A rung is mostly data:
 * which field changed its name, and which exist on one side only.
 */
#include "manager/admission/convert.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/json/writer.h"

#define OWN_GROUP "kueue.x-k8s.io"
#define GROUP OWN_GROUP "/"

enum version { V1ALPHA1, V1BETA1, V1BETA2, VERSIONS };

static const char *const version_names[VERSIONS] = {"v1alpha1", "v1beta1", "v1beta2"};

/* Every kind, with the oldest version it has. */
static const struct {
    const char *name;
    enum version oldest;
} kinds[] = {
    {"AdmissionCheck", V1BETA1},
    {"ClusterQueue", V1BETA1},
    {"Cohort", V1ALPHA1},
    {"LocalQueue", V1BETA1},
    {"MultiKueueCluster", V1BETA1},
    {"MultiKueueConfig", V1BETA1},
    {"ProvisioningRequestConfig", V1BETA1},
    {"ResourceFlavor", V1BETA1},
    {"Topology", V1ALPHA1},
    {"Workload", V1BETA1},
    {"WorkloadPriorityClass", V1BETA1},
};

/* ---- small steps on a mutable object ---- */

static yyjson_mut_val *at(yyjson_mut_val *v, const char *path) {
    while (v && *path) {
        size_t n = strcspn(path, ".");
        v = yyjson_mut_obj_getn(v, path, n);
        path += n + (path[n] == '.');
    }
    return v;
}

static const char *text_at(yyjson_mut_val *v, const char *path) {
    return sl_json_mut_text(at(v, path));
}

/* The object that holds the last field of the path, and that field. */
static yyjson_mut_val *holder(yyjson_mut_val *v, const char *path, const char **ret_field) {
    const char *dot = strrchr(path, '.');

    *ret_field = dot ? dot + 1 : path;
    for (; dot && v && path < *ret_field; path += strcspn(path, ".") + 1)
        v = yyjson_mut_obj_getn(v, path, strcspn(path, "."));
    return v;
}

static void drop(yyjson_mut_val *v, const char *path) {
    const char *field;
    yyjson_mut_val *parent = holder(v, path, &field);
    (void)yyjson_mut_obj_remove_key(parent, field);
}

/* Constants only: neither key nor text is copied. */
static void put_str(struct sl_convert *cv, yyjson_mut_val *v, const char *key, const char *s) {
    bool ok = yyjson_mut_obj_put(v, yyjson_mut_str(cv->doc, key), yyjson_mut_str(cv->doc, s));
    sl_assert(ok);
}

static void put_field(struct sl_convert *cv, yyjson_mut_val *v, const char *key,
                      yyjson_mut_val *value) {
    bool ok = yyjson_mut_obj_put(v, yyjson_mut_str(cv->doc, key), value);
    sl_assert(ok);
}

/* Both paths name a field of the same object. */
static void rename_field(struct sl_convert *cv, yyjson_mut_val *v, const char *from,
                         const char *to) {
    const char *old_field, *new_field;
    yyjson_mut_val *parent = holder(v, from, &old_field);

    (void)holder(v, to, &new_field);
    yyjson_mut_val *value = yyjson_mut_obj_remove_key(parent, old_field);
    if (value)
        put_field(cv, parent, new_field, value);
}

/* ---- kinds that need more than names ---- */

static int cluster_queue_up(struct sl_convert *cv, yyjson_mut_val *object) {
    yyjson_mut_val *spec = at(object, "spec"), *name;
    yyjson_mut_val *checks = yyjson_mut_obj_remove_key(spec, "admissionChecks");
    yyjson_mut_val *fungibility = at(spec, "flavorFungibility");
    size_t i, n;

    if (yyjson_mut_arr_size(checks) > 0) {
        yyjson_mut_val *rules = yyjson_mut_arr(cv->doc), *strategy = yyjson_mut_obj(cv->doc);
        yyjson_mut_arr_foreach (checks, i, n, name) {
            yyjson_mut_val *rule = yyjson_mut_arr_add_obj(cv->doc, rules);
            put_field(cv, rule, "name", yyjson_mut_val_mut_copy(cv->doc, name));
        }
        put_field(cv, strategy, "admissionChecks", rules);
        put_field(cv, spec, "admissionChecksStrategy", strategy);
    }
    if (strcmp(text_at(fungibility, "whenCanBorrow"), "Borrow") == 0)
        put_str(cv, fungibility, "whenCanBorrow", "MayStopSearch");
    if (strcmp(text_at(fungibility, "whenCanPreempt"), "Preempt") == 0)
        put_str(cv, fungibility, "whenCanPreempt", "MayStopSearch");
    return 0;
}

static const struct {
    const char *source; /* v1beta1 */
    const char *group, *kind;
} priority_sources[] = {
    {"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"},
    {"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

static void priority_up(struct sl_convert *cv, yyjson_mut_val *spec) {
    yyjson_mut_val *name = yyjson_mut_obj_remove_key(spec, "priorityClassName");
    yyjson_mut_val *source = yyjson_mut_obj_remove_key(spec, "priorityClassSource");

    for (size_t i = 0; i < SL_LEN(priority_sources); i++) {
        if (!yyjson_mut_equals_str(source, priority_sources[i].source) ||
            sl_json_mut_view(name).n == 0)
            continue;
        yyjson_mut_val *ref = yyjson_mut_obj(cv->doc);
        put_str(cv, ref, "group", priority_sources[i].group);
        put_str(cv, ref, "kind", priority_sources[i].kind);
        put_field(cv, ref, "name", name);
        put_field(cv, spec, "priorityClassRef", ref);
    }
}

static void priority_down(struct sl_convert *cv, yyjson_mut_val *spec) {
    yyjson_mut_val *ref = yyjson_mut_obj_remove_key(spec, "priorityClassRef");

    for (size_t i = 0; i < SL_LEN(priority_sources); i++) {
        if (strcmp(text_at(ref, "group"), priority_sources[i].group) != 0 ||
            strcmp(text_at(ref, "kind"), priority_sources[i].kind) != 0)
            continue;
        put_str(cv, spec, "priorityClassSource", priority_sources[i].source);
        /* No name, no field: put removes it then. */
        put_field(cv, spec, "priorityClassName", yyjson_mut_obj_remove_key(ref, "name"));
    }
}

static int assignments(struct sl_convert *cv, yyjson_mut_val *object,
                       int (*convert)(struct sl_convert *, yyjson_mut_val *)) {
    size_t i, n;
    yyjson_mut_val *assigned;

    yyjson_mut_arr_foreach (at(object, "status.admission.podSetAssignments"), i, n, assigned) {
        yyjson_mut_val *topology = yyjson_mut_obj_get(assigned, "topologyAssignment");
        int r = yyjson_mut_is_obj(topology) ? convert(cv, topology) : 0;
        if (r < 0)
            return sl_err_wrap(cv->err, r, "status.admission.podSetAssignments[%zu]", i);
    }
    return 0;
}

static int workload_up(struct sl_convert *cv, yyjson_mut_val *object) {
    if (yyjson_mut_is_obj(at(object, "spec")))
        priority_up(cv, at(object, "spec"));
    return assignments(cv, object, sl_convert_domains_to_slices);
}

static int workload_down(struct sl_convert *cv, yyjson_mut_val *object) {
    size_t i, n;
    yyjson_mut_val *set;

    if (yyjson_mut_is_obj(at(object, "spec")))
        priority_down(cv, at(object, "spec"));
    yyjson_mut_arr_foreach (at(object, "spec.podSets"), i, n, set) {
        drop(set, "topologyRequest.podsetSliceRequiredTopologyConstraints");
    }
    return assignments(cv, object, sl_convert_slices_to_domains);
}

/* v1beta1 has the two ways to reach a cluster side by side, and kubeConfig always there. */
static int multi_kueue_cluster_up(struct sl_convert *cv, yyjson_mut_val *object) {
    yyjson_mut_val *spec = at(object, "spec"), *source;
    yyjson_mut_val *config = yyjson_mut_obj_remove_key(spec, "kubeConfig");
    yyjson_mut_val *profile = yyjson_mut_obj_remove_key(spec, "clusterProfileRef");

    if (!yyjson_mut_is_obj(spec))
        return 0;
    source = yyjson_mut_obj(cv->doc);
    if (*text_at(config, "location"))
        put_field(cv, source, "kubeConfig", config);
    if (yyjson_mut_is_obj(profile))
        put_field(cv, source, "clusterProfileRef", profile);
    put_field(cv, spec, "clusterSource", source);
    return 0;
}

static int multi_kueue_cluster_down(struct sl_convert *cv, yyjson_mut_val *object) {
    yyjson_mut_val *spec = at(object, "spec");
    yyjson_mut_val *source = yyjson_mut_obj_remove_key(spec, "clusterSource");
    yyjson_mut_val *config = yyjson_mut_obj_remove_key(source, "kubeConfig");
    yyjson_mut_val *profile = yyjson_mut_obj_remove_key(source, "clusterProfileRef");

    if (!yyjson_mut_is_obj(spec))
        return 0;
    if (!yyjson_mut_is_obj(config)) {
        config = yyjson_mut_obj(cv->doc);
        put_str(cv, config, "location", "");
        put_str(cv, config, "locationType", "");
    }
    put_field(cv, spec, "kubeConfig", config);
    if (yyjson_mut_is_obj(profile))
        put_field(cv, spec, "clusterProfileRef", profile);
    return 0;
}

/* ---- the ladder ---- */

/* What differs between a version and the next. */
static const struct rung {
    const char *kind;
    enum version below;              /* the older of the two */
    const char *old_name, *new_name; /* of one field */
    const char *only_old[2], *only_new[2];
    int (*up)(struct sl_convert *cv, yyjson_mut_val *object);
    int (*down)(struct sl_convert *cv, yyjson_mut_val *object);
} rungs[] = {
    {
        .kind = "AdmissionCheck",
        .below = V1BETA1,
        .only_old = {"spec.retryDelayMinutes"},
    },
    {
        .kind = "ClusterQueue",
        .below = V1BETA1,
        .old_name = "spec.cohort",
        .new_name = "spec.cohortName",
        .only_old = {"status.pendingWorkloadsStatus",
                     "status.fairSharing.admissionFairSharingStatus"},
        .only_new = {"spec.concurrentAdmissionPolicy"},
        .up = cluster_queue_up,
    },
    {
        .kind = "Cohort",
        .below = V1ALPHA1,
        .old_name = "spec.parent",
        .new_name = "spec.parentName",
    },
    {
        .kind = "Cohort",
        .below = V1BETA1,
        .only_old = {"status.fairSharing.admissionFairSharingStatus"},
    },
    {
        .kind = "LocalQueue",
        .below = V1BETA1,
        .old_name = "status.flavorUsage",
        .new_name = "status.flavorsUsage",
        .only_old = {"status.flavors"},
    },
    {
        .kind = "MultiKueueCluster",
        .below = V1BETA1,
        .up = multi_kueue_cluster_up,
        .down = multi_kueue_cluster_down,
    },
    {
        .kind = "MultiKueueConfig",
        .below = V1BETA1,
        .only_new = {"spec.quotaManagement"},
    },
    {
        .kind = "Workload",
        .below = V1BETA1,
        .old_name = "status.accumulatedPastExexcutionTimeSeconds", /* the typo is Kueue's */
        .new_name = "status.accumulatedPastExecutionTimeSeconds",
        .only_new = {"spec.preemptionGates", "status.preemptionGates"},
        .up = workload_up,
        .down = workload_down,
    },
};

static int climb(struct sl_convert *cv, const struct rung *rung, yyjson_mut_val *object, bool up) {
    const char *const *lost = up ? rung->only_old : rung->only_new;
    int (*convert)(struct sl_convert *, yyjson_mut_val *) = up ? rung->up : rung->down;

    for (size_t i = 0; i < SL_LEN(rung->only_old) && lost[i]; i++)
        drop(object, lost[i]);
    if (rung->old_name)
        rename_field(cv, object, up ? rung->old_name : rung->new_name,
                     up ? rung->new_name : rung->old_name);
    return convert ? convert(cv, object) : 0;
}

static int step(struct sl_convert *cv, const char *kind, yyjson_mut_val *object, enum version below,
                bool up) {
    for (size_t i = 0; i < SL_LEN(rungs); i++)
        if (rungs[i].below == below && strcmp(rungs[i].kind, kind) == 0)
            return climb(cv, &rungs[i], object, up);
    return 0; /* the two are alike */
}

static enum version version_of(const char *api_version, enum version oldest) {
    size_t n = strlen(GROUP);

    for (enum version v = oldest; v < VERSIONS && strncmp(api_version, GROUP, n) == 0; v++)
        if (strcmp(api_version + n, version_names[v]) == 0)
            return v;
    return VERSIONS;
}

static enum version oldest_of(const char *kind) {
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        if (strcmp(kinds[i].name, kind) == 0)
            return kinds[i].oldest;
    return VERSIONS;
}

bool sl_convert_knows(const char *group) {
    return strcmp(group, OWN_GROUP) == 0 || strcmp(group, SL_MINICLUSTER_GROUP) == 0;
}

/* From rung to rung. */
static int climb_to(struct sl_convert *cv, const char *kind, yyjson_mut_val *object,
                    enum version from, enum version to) {
    int r = 0;

    for (; from < to && r >= 0; from++)
        r = step(cv, kind, object, from, true);
    for (; from > to && r >= 0; from--)
        r = step(cv, kind, object, from - 1, false);
    return r;
}

int sl_convert_object(struct sl_convert *cv, yyjson_val *object, const char *api_version,
                      yyjson_mut_val **ret) {
    const char *kind = sl_json_str(object, "kind"), *from_name = sl_json_str(object, "apiVersion");
    enum version oldest = oldest_of(kind), from = version_of(from_name, oldest);
    enum version to = version_of(api_version, oldest);
    bool minicluster = strcmp(kind, "MiniCluster") == 0;
    yyjson_mut_val *copy;

    if (!minicluster && (from == VERSIONS || to == VERSIONS))
        return sl_err_set(cv->err, SL_EINVAL, "no conversion of %s from %s to %s",
                          *kind ? kind : "an object without a kind",
                          *from_name ? from_name : "no version", api_version);
    copy = yyjson_val_mut_copy(cv->doc, object);
    sl_assert(copy);
    int r = minicluster ? sl_convert_minicluster(cv, copy, api_version)
                        : climb_to(cv, kind, copy, from, to);
    if (r < 0)
        return sl_err_wrap(cv->err, r, "%s %s", kind, sl_json_str(object, "metadata.name"));
    put_field(cv, copy, "apiVersion", yyjson_mut_strcpy(cv->doc, api_version));
    *ret = copy;
    return 0;
}

/* ---- the review ---- */

static int check_size(yyjson_val *object, struct sl_err *err) {
    if (sl_json_count(object) > SL_CONVERT_OBJECT_VALUES)
        return sl_err_set(err, SL_ELIMIT, "%s %s has more than %zu values",
                          sl_json_str(object, "kind"), sl_json_str(object, "metadata.name"),
                          SL_CONVERT_OBJECT_VALUES);
    if (sl_json_bytes(object) > SL_CONVERT_OBJECT_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%s %s has more than %zu bytes",
                          sl_json_str(object, "kind"), sl_json_str(object, "metadata.name"),
                          SL_CONVERT_OBJECT_BYTES);
    return 0;
}

/* One after the other, each with a document of its own: a page of objects then takes the memory of
 * its text, not several times that. */
static int convert_one(yyjson_val *object, const char *to, struct sl_buf *out, struct sl_err *err) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_convert cv = {.doc = doc, .room_bytes = SL_CONVERT_MAX_BYTES, .err = err};
    yyjson_mut_val *result;
    size_t len = 0;

    sl_assert(doc);
    int r = check_size(object, err);
    if (r >= 0)
        r = sl_convert_object(&cv, object, to, &result);
    if (r < 0)
        return r;
    char *text = yyjson_mut_val_write(result, 0, &len);
    sl_assert(text);
    sl_buf_add(out, text, len);
    free(text); /* yyjson's */
    return 0;
}

static int convert_all(yyjson_val *request, struct sl_jw *w, struct sl_err *err) {
    const char *to = sl_json_str(request, "desiredAPIVersion");
    size_t i, n;
    yyjson_val *object;

    sl_jw_array(w, "convertedObjects");
    yyjson_arr_foreach (sl_json_get(request, "objects"), i, n, object) {
        int r = convert_one(object, to, sl_jw_value(w, NULL), err);
        if (r < 0)
            return r;
        if (sl_buf_full(w->b)) /* which is an answer of its own */
            break;
    }
    sl_jw_end(w);
    return 0;
}

int sl_convert_review(yyjson_val *review, struct sl_buf *out, struct sl_err *err) {
    yyjson_val *request = sl_json_get(review, "request");
    const char *uid = sl_json_str(request, "uid");
    struct sl_err why;

    if (strcmp(sl_json_str(review, "apiVersion"), "apiextensions.k8s.io/v1") != 0 ||
        strcmp(sl_json_str(review, "kind"), "ConversionReview") != 0 || !*uid)
        return sl_err_set(err, SL_EINVAL,
                          "expected a ConversionReview of apiextensions.k8s.io/v1 with a request");
    struct sl_jw w = SL_JW(out);
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "apiVersion", "apiextensions.k8s.io/v1");
    sl_jw_str(&w, "kind", "ConversionReview");
    sl_jw_object(&w, "response");
    size_t before = out->len;
    struct sl_jw none = w;
    int r = convert_all(request, &w, &why);
    if (r < 0) { /* all or nothing */
        sl_buf_truncate(out, before);
        w = none;
    }
    sl_jw_str(&w, "uid", uid);
    sl_jw_object(&w, "result");
    sl_jw_str(&w, "status", r < 0 ? "Failure" : "Success");
    if (r < 0)
        sl_jw_str(&w, "message", why.text);
    sl_jw_end_to(&w, 0);
    return 0;
}
