/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AppWrappers: objects of other kinds inside. Each component has its podsets as its status says, or
 * as they are declared, or, for kinds of this table and some of Kubernetes, as they can be
 * inferred. A podset is named after the AppWrapper, with its number; what an admission adds is an
 * item of the component's podSetInfos, which the AppWrapper's controller carries into the objects.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define MAX_COMPONENTS 64u
#define TAS "workload.codeflare.dev.appwrapper/tas-"

/* ---- paths such as "template.spec.replicatedJobs[0].template" ---- */

static yyjson_val *step_into(yyjson_val *v, const char **path) {
    const char *s = *path;
    if (*s == '[') {
        char *end = NULL;
        unsigned long i = s[1] >= '0' && s[1] <= '9' ? strtoul(s + 1, &end, 10) : 0;
        if (!end || *end != ']' || i >= SL_JOBKIND_MAX_ITEMS)
            return NULL;
        *path = end + 1;
        return yyjson_is_arr(v) ? yyjson_arr_get(v, i) : NULL;
    }
    if (*s != '.')
        return NULL;
    size_t n = strcspn(s + 1, ".[");
    *path = s + 1 + n;
    return n ? yyjson_obj_getn(v, s + 1, n) : NULL;
}

/* The value at a path of the object inside, which the path calls "template". NULL: there is none.
 */
static yyjson_val *inside(yyjson_val *template, const char *path) {
    static const char root[] = "template";
    yyjson_val *v = template;
    if (strncmp(path, root, strlen(root)) != 0 || strlen(path) > SL_JOBKIND_MAX_PATH)
        return NULL;
    for (path += strlen(root); v && *path;)
        v = step_into(v, &path);
    return v;
}

/* ---- the pods, reduced to what counts ---- */

/* The object inside was not checked by the schema of its kind, and a Workload's podset is: what
 * that would drop must not make the two differ. */
static void reduce(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *list) {
    static const char *const kept[] = {"name", "image",     "command",        "args",
                                       "env",  "resources", "securityContext"};
    yyjson_mut_val *c, *reduced = yyjson_mut_arr(d);
    size_t i, n;
    yyjson_mut_arr_foreach (yyjson_mut_obj_get(spec, list), i, n, c) {
        yyjson_mut_val *to = yyjson_mut_arr_add_obj(d, reduced);
        for (size_t k = 0; k < SL_LEN(kept); k++) {
            yyjson_mut_val *v = yyjson_mut_obj_get(c, kept[k]);
            if (v)
                (void)yyjson_mut_obj_add_val(d, to, kept[k], yyjson_mut_val_mut_copy(d, v));
        }
    }
    if (n)
        (void)yyjson_mut_obj_put(spec, yyjson_mut_str(d, list), reduced);
}

static yyjson_val *pod_of(yyjson_val *candidate, struct sl_jobkind_podsets *ret) {
    static const char *const meta[] = {"labels", "annotations"};
    static const char *const spec[] = {"initContainers",
                                       "containers",
                                       "restartPolicy",
                                       "nodeSelector",
                                       "affinity",
                                       "schedulerName",
                                       "tolerations",
                                       "priorityClassName",
                                       "overhead",
                                       "volumes",
                                       "nodeName",
                                       "runtimeClassName",
                                       "topologySpreadConstraints"};
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_mut_obj(d), *m = yyjson_mut_obj_add_obj(d, t, "metadata"),
                   *s = yyjson_mut_obj_add_obj(d, t, "spec");
    for (size_t i = 0; i < SL_LEN(meta); i++) {
        yyjson_val *v = yyjson_obj_get(sl_json_at(candidate, "metadata"), meta[i]);
        if (yyjson_is_obj(v))
            (void)yyjson_mut_obj_add_val(d, m, meta[i], yyjson_val_mut_copy(d, v));
    }
    for (size_t i = 0; i < SL_LEN(spec); i++) {
        yyjson_val *v = yyjson_obj_get(sl_json_at(candidate, "spec"), spec[i]);
        if (v && !yyjson_is_null(v))
            (void)yyjson_mut_obj_add_val(d, s, spec[i], yyjson_val_mut_copy(d, v));
    }
    reduce(d, s, "initContainers");
    reduce(d, s, "containers");
    return jobkind_keep(ret, d, t);
}

/* ---- podsets ---- */

struct component {
    yyjson_val *o, *template;
    uint32_t number, podsets; /* so far */
};

static struct sl_jobkind_pods *add(yyjson_val *aw, struct component *c,
                                   struct sl_jobkind_podsets *ret) {
    uint32_t number = ret->n;
    struct sl_jobkind_pods *p = jobkind_add(ret);
    if (!p)
        return NULL;
    p->name = jobkind_lower(&ret->arena, sl_arena_printf(&ret->arena, "%.253s-%u",
                                                         sl_json_str(aw, "metadata.name"), number));
    p->form = SL_JOBKIND_INFO;
    p->base = yyjson_arr_get(yyjson_obj_get(c->o, "podSetInfos"), c->podsets);
    p->pointer =
        sl_arena_printf(&ret->arena, "/spec/components/%u/podSetInfos/%u", c->number, c->podsets++);
    return p;
}

static int add_declared(yyjson_val *aw, struct component *c, yyjson_val *list,
                        struct sl_jobkind_podsets *ret, struct sl_err *err) {
    yyjson_val *ps;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, ps) {
        const char *path = sl_json_str(ps, "path");
        yyjson_val *at = inside(c->template, path), *notes = sl_json_at(ps, "annotations");
        if (!yyjson_is_obj(sl_json_at(at, "spec")))
            return sl_err_set(err, SL_EINVAL,
                              "spec.components[%u]: there is no pod template at \"%.100s\"",
                              c->number, path);
        struct sl_jobkind_pods *p = add(aw, c, ret);
        if (!p)
            return jobkind_too_many(err);
        p->template = pod_of(at, ret);
        p->path = sl_arena_printf(&ret->arena, "spec.components[%u].%s", c->number, path);
        p->count = sl_json_int32(ps, "replicas", 1);
        p->rank_label = sl_json_opt(yyjson_obj_get(notes, TAS "pod-index-label"));
        p->sub_label = sl_json_opt(yyjson_obj_get(notes, TAS "sub-group-index-label"));
        const char *count = sl_json_text(yyjson_obj_get(notes, TAS "sub-group-count"));
        if (*count && strlen(count) < 10 && strspn(count, "0123456789") == strlen(count))
            p->sub_count = (int32_t)strtol(count, NULL, 10);
    }
    return 0;
}

/* Kinds of Kubernetes whose pods are known; "" is the object itself. */
static const struct sl_jobkind_group jobs = {
    .at = "spec",
    .name = "main",
    .template = "template",
    .n_factors = 1,
    .rank_label = "batch.kubernetes.io/job-completion-index",
    .factors = {{.v = {{"parallelism", 1, 0}, {"completions", -1, 0}}, .n = 2}}};
static const struct sl_jobkind_group sets = {.at = "spec",
                                             .name = "main",
                                             .template = "template",
                                             .n_factors = 1,
                                             .factors = {{.v = {{"replicas", 1, 0}}, .n = 1}}};
static const struct sl_jobkind others[] = {
    {.api_version = "batch/v1", .kind = "Job", .groups = &jobs, .n_groups = 1},
    {.api_version = "apps/v1", .kind = "Deployment", .groups = &sets, .n_groups = 1},
    {.api_version = "apps/v1", .kind = "StatefulSet", .groups = &sets, .n_groups = 1},
};

static const struct sl_jobkind *kind_inside(const char *api, const char *kind) {
    const struct sl_jobkinds some = {.v = (struct sl_jobkind *)others, .n = SL_LEN(others)};
    const struct sl_jobkind *k = sl_jobkind_by_gvk(&some, api, kind);
    if (!k)
        k = sl_jobkind_by_gvk(sl_jobkinds_built_in(), api, kind);
    return k && k->n_groups ? k : NULL;
}

static int infer(yyjson_val *aw, struct component *c, struct sl_jobkind_podsets *ret,
                 struct sl_err *err) {
    const char *api = sl_json_str(c->template, "apiVersion"),
               *kind = sl_json_str(c->template, "kind");
    const struct sl_jobkind *k = kind_inside(api, kind);
    _cleanup_(sl_jobkind_podsets_done) struct sl_jobkind_podsets in = {
        .arena = SL_ARENA((size_t)256 << 10)};
    if (strcmp(api, "v1") == 0 && strcmp(kind, "Pod") == 0) {
        struct sl_jobkind_pods *p = add(aw, c, ret);
        if (!p)
            return jobkind_too_many(err);
        p->template = pod_of(c->template, ret);
        p->path = sl_arena_printf(&ret->arena, "spec.components[%u].template", c->number);
        return 0;
    }
    int r = k ? jobkind_plain(k, c->template, &in, err) : 0;
    for (uint32_t i = 0; r >= 0 && i < in.n; i++) {
        struct sl_jobkind_pods *p = add(aw, c, ret), *from = &in.v[i];
        if (!p)
            return jobkind_too_many(err);
        p->template = pod_of(from->template, ret);
        p->path =
            sl_arena_printf(&ret->arena, "spec.components[%u].template.%s", c->number, from->path);
        p->count = from->count;
        p->rank_label = from->rank_label;
        p->sub_label = from->sub_label;
        p->sub_count = from->sub_count;
    }
    return r < 0 ? sl_err_wrap(err, r, "spec.components[%u].template", c->number) : 0;
}

int jobkind_appwrapper(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                       struct sl_err *err) {
    yyjson_val *list = sl_json_at(o, "spec.components"), *c,
               *known = sl_json_at(o, "status.componentStatus");
    bool whole = yyjson_arr_size(known) == yyjson_arr_size(list);
    size_t i, n;
    (void)k;
    if (yyjson_arr_size(list) > MAX_COMPONENTS)
        return sl_err_set(err, SL_ELIMIT, "spec.components: more than %u", MAX_COMPONENTS);
    yyjson_arr_foreach (list, i, n, c) {
        struct component of = {
            .o = c, .template = sl_json_at(c, "template"), .number = (uint32_t)i};
        yyjson_val *status = whole ? yyjson_arr_get(known, i) : NULL;
        yyjson_val *declared = whole ? sl_json_at(status, "podSets") : NULL;
        if (!sl_json_size(declared))
            declared = sl_json_at(c, "declaredPodSets");
        int r = sl_json_size(declared) ? add_declared(o, &of, declared, ret, err)
                                       : infer(o, &of, ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}
