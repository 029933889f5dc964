/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/admission/admission.h"

#include <string.h>

#include "cluster/apiserver/cel/cel.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/kinds/words.h"
#include "core/base/fmt.h"
#include "kube/client/secret.h"
#include "lib/json/writer.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define FLUX_LABEL "fluxqueue/managed"
#define FLUX_SEEN "fluxqueue.seen"
#define OURSELVES "system:serviceaccount:kueue-system:kueue-controller-manager"

/* ---- our own reviews ---- */

enum when {
    QUEUED = 1,       /* it has a queue name, now or before */
    USER_SPACE = 2,   /* not in the namespaces of the system */
    POD = 4,          /* of pods: it says that it is queued, or by whom it is held */
    NOT_OURS = 8,     /* not written by the manager */
    ALIVE = 16,       /* not being deleted */
    WITH_STATUS = 32, /* the status too */
    FLUX = 64,        /* it, or its namespace, has to do with the resource graph */
};

static const struct own {
    const char *group, *plural;
    const char *name, *path;
    bool mutates, updates;
    int when;
} owns[] = {
    {"kueue.x-k8s.io", "clusterqueues", "mclusterqueue.kb.io",
     "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue", true, false, 0},
    {"kueue.x-k8s.io", "resourceflavors", "mresourceflavor.kb.io",
     "/mutate-kueue-x-k8s-io-v1beta2-resourceflavor", true, false, 0},
    {"kueue.x-k8s.io", "workloads", "mworkload.kb.io", "/mutate-kueue-x-k8s-io-v1beta2-workload",
     true, false, NOT_OURS},
    {"batch", "jobs", "mjob.kb.io", "/mutate-batch-v1-job", true, false, QUEUED | USER_SPACE},
    {"", "pods", "mpod.kb.io", "/mutate--v1-pod", true, false, POD | USER_SPACE},
    {"apps", "deployments", "mdeployment.kb.io", "/mutate-apps-v1-deployment", true, true,
     QUEUED | USER_SPACE | ALIVE},
    {"apps", "statefulsets", "mstatefulset.kb.io", "/mutate-apps-v1-statefulset", true, true,
     QUEUED | USER_SPACE | ALIVE},
    {"leaderworkerset.x-k8s.io", "leaderworkersets", "mleaderworkerset.kb.io",
     "/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset", true, true,
     QUEUED | USER_SPACE | ALIVE},
    {"", "pods", "mfluxjob.kb.io", "/mutate-flux--v1-pod", true, false, FLUX | USER_SPACE},
    {"batch", "jobs", "mfluxjob.kb.io", "/mutate-flux-batch-v1-job", true, false,
     FLUX | USER_SPACE},
    {"apps", "deployments", "mfluxjob.kb.io", "/mutate-flux-apps-v1-deployment", true, true,
     FLUX | USER_SPACE | ALIVE},
    {"apps", "replicasets", "mfluxjob.kb.io", "/mutate-flux-apps-v1-replicaset", true, true,
     FLUX | USER_SPACE | ALIVE},
    {"apps", "statefulsets", "mfluxjob.kb.io", "/mutate-flux-apps-v1-statefulset", true, true,
     FLUX | USER_SPACE | ALIVE},
    {"kueue.x-k8s.io", "clusterqueues", "vclusterqueue.kb.io",
     "/validate-kueue-x-k8s-io-v1beta2-clusterqueue", false, true, ALIVE},
    {"kueue.x-k8s.io", "cohorts", "vcohort.kb.io", "/validate-kueue-x-k8s-io-v1beta2-cohort", false,
     true, ALIVE},
    {"kueue.x-k8s.io", "resourceflavors", "vresourceflavor.kb.io",
     "/validate-kueue-x-k8s-io-v1beta2-resourceflavor", false, true, ALIVE},
    {"kueue.x-k8s.io", "workloads", "vworkload.kb.io", "/validate-kueue-x-k8s-io-v1beta2-workload",
     false, true, NOT_OURS | ALIVE | WITH_STATUS},
    {"flux-framework.org", "miniclusters", "mminicluster.kb.io",
     "/mutate-flux-framework-org-v1alpha2-minicluster", true, true, ALIVE},
    {"flux-framework.org", "miniclusters", "vminicluster.kb.io",
     "/validate-flux-framework-org-v1alpha2-minicluster", false, true, NOT_OURS | ALIVE},
    {"vk.io", "masterqueues", "vmasterqueue.kb.io", "/validate-vk-io-v1-masterqueue", false, true,
     ALIVE},
    {"jobs.converged-computing.org", "fluxjobs", "vfluxjob.kb.io",
     "/validate-jobs-converged-computing-org-v1alpha1-fluxjob", false, true, NOT_OURS | ALIVE},
    {"", "pods", "vfluxqueue.kb.io", "/validate-flux--v1-pod", false, true,
     FLUX | USER_SPACE | NOT_OURS | ALIVE},
    {"batch", "jobs", "vfluxqueue.kb.io", "/validate-flux-batch-v1-job", false, true,
     FLUX | USER_SPACE | NOT_OURS | ALIVE},
    {"apps", "deployments", "vfluxqueue.kb.io", "/validate-flux-apps-v1-deployment", false, true,
     FLUX | USER_SPACE | NOT_OURS | ALIVE},
    {"apps", "replicasets", "vfluxqueue.kb.io", "/validate-flux-apps-v1-replicaset", false, true,
     FLUX | USER_SPACE | NOT_OURS | ALIVE},
    {"apps", "statefulsets", "vfluxqueue.kb.io", "/validate-flux-apps-v1-statefulset", false, true,
     FLUX | USER_SPACE | NOT_OURS | ALIVE},
    {"batch", "jobs", "vjob.kb.io", "/validate-batch-v1-job", false, true,
     QUEUED | USER_SPACE | ALIVE},
    {"", "pods", "vpod.kb.io", "/validate--v1-pod", false, true,
     POD | USER_SPACE | NOT_OURS | ALIVE},
    {"apps", "deployments", "vdeployment.kb.io", "/validate-apps-v1-deployment", false, true,
     QUEUED | USER_SPACE | ALIVE},
    {"apps", "statefulsets", "vstatefulset.kb.io", "/validate-apps-v1-statefulset", false, true,
     QUEUED | USER_SPACE | ALIVE},
    {"leaderworkerset.x-k8s.io", "leaderworkersets", "vleaderworkerset.kb.io",
     "/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset", false, true,
     QUEUED | USER_SPACE | ALIVE},
};

static bool pod_queued(yyjson_val *pod) {
    static const char *const labels[] = {"queue-name", "managed", "pod-group-name",
                                         "prebuilt-workload-name"};
    static const char *const notes[] = {"pod-suspending-parent", "pod-group-name",
                                        "pod-group-total-count"};
    char key[80];

    for (size_t i = 0; pod && i < SL_LEN(labels); i++) {
        sl_fmt(key, sizeof key, "kueue.x-k8s.io/%s", labels[i]);
        if (sl_json_label_opt(pod, key))
            return true;
    }
    for (size_t i = 0; pod && i < SL_LEN(notes); i++) {
        sl_fmt(key, sizeof key, "kueue.x-k8s.io/%s", notes[i]);
        if (sl_json_annotation_opt(pod, key))
            return true;
    }
    return false;
}

/* Of what exists, only what was intercepted, or asks for it now, or is to look like it. */
static bool flux_queued(struct api_write *w, yyjson_val *now) {
    const struct sl_apiserver_spec *spec = &w->rq->s->spec;

    if (sl_json_label_opt(now, FLUX_LABEL))
        return true;
    if (w->c.old)
        return sl_json_label_opt(w->c.old, FLUX_SEEN) || sl_json_label_opt(now, FLUX_SEEN);
    return spec->queues_namespace && spec->queues_namespace(spec->ctx, w->rq->ns);
}

static bool concerns(struct api_write *w, const struct own *o) {
    struct api_rq *rq = w->rq;
    bool all = rq->s->spec.review_unlabelled;

    if (strcmp(o->plural, rq->kind->plural) != 0 || strcmp(o->group, rq->kind->group) != 0 ||
        o->mutates != (w->admission->phase == SL_ADMIT_MUTATE) || w->what == SL_WRITE_DELETE ||
        (w->c.old && !o->updates))
        return false;
    if (*w->c.subresource && !(o->when & WITH_STATUS && strcmp(w->c.subresource, "status") == 0))
        return false;
    if (o->when & NOT_OURS && strcmp(rq->user, OURSELVES) == 0)
        return false;
    if (o->when & USER_SPACE &&
        (strcmp(rq->ns, "kube-system") == 0 || strcmp(rq->ns, "kueue-system") == 0))
        return false;
    yyjson_val *now = api_admit_object(w);
    if (o->when & QUEUED && !all && !sl_json_label_opt(now, QUEUE_LABEL) &&
        !(w->c.old && sl_json_label_opt(w->c.old, QUEUE_LABEL)))
        return false;
    if (o->when & FLUX && !flux_queued(w, now))
        return false;
    if (o->when & POD && !all && !pod_queued(now) && !pod_queued(w->c.old))
        return false;
    return !(o->when & ALIVE && sl_json_at(now, "metadata.deletionTimestamp"));
}

/* False: the request was answered. */
static bool review_builtin(struct api_write *w, const struct own *o) {
    struct api_rq *rq = w->rq;
    const struct api_kind_version *v = api_stored_version(rq->kind);
    _cleanup_(sl_buf_done) struct sl_buf in = SL_BUF(SL_REVIEW_MAX);
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(API_REVIEW_ANSWER);
    struct sl_err err = {.text = ""};
    int r;

    if (!api_review_print(w, v, w->admission->uid, &in) || sl_buf_full(&in))
        r = sl_err_set(&err, SL_EINVAL, "the review is too large");
    else if (rq->s->spec.review(rq->s->spec.ctx, o->path, in.s, in.len, &out) != 200)
        r = sl_err_set(&err, SL_EINVAL, "%.200s", sl_buf_str(&out));
    else
        r = api_review_take(w, v, o->name, w->admission->uid, sl_buf_str(&out), out.len, &err);
    if (r < 0)
        api_rq_fail(rq, 500, "InternalError",
                    "Internal error occurred: failed calling webhook \"%s\": %s", o->name,
                    err.text);
    return r > 0;
}

/* Jobs of kinds that are made by definitions: which kinds are jobs, the reviewer knows. False: the
 * request was answered. */
static bool review_job(struct api_write *w) {
    const struct api_rq *rq = w->rq;
    const struct sl_apiserver_spec *spec = &rq->s->spec;
    bool mutates = w->admission->phase == SL_ADMIT_MUTATE;
    struct own o = {rq->kind->group, rq->kind->plural, .mutates = mutates, .updates = !mutates,
                    .when = QUEUED | USER_SPACE | ALIVE};

    if (!rq->kind->crd || !spec->reviews || !concerns(w, &o))
        return true;
    char *path = sl_arena_printf(w->c.arena, "/%s-%s-%s-%s", mutates ? "mutate" : "validate",
                                 o.group, api_stored_version(rq->kind)->name, rq->kind->kind);
    for (char *c = path; *c; c++)
        *c = *c == '.' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    if (!spec->reviews(spec->ctx, path))
        return true;
    o.path = path;
    o.name = sl_arena_printf(w->c.arena, "%c%s.kb.io", mutates ? 'm' : 'v', strrchr(path, '-') + 1);
    return review_builtin(w, &o);
}

/* ---- reviews ---- */

void api_uuid(struct sl_prng *p, char out[37]) {
    uint64_t a = sl_prng_next(p), b = sl_prng_next(p);

    sl_fmt(out, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
           (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
           (unsigned)(b >> 48 & 0x3fff) | 0x8000, (unsigned long long)(b & 0xffffffffffff));
}

const char *api_admit_operation(const struct api_write *w) {
    return w->what == SL_WRITE_DELETE ? "DELETE" : w->c.old ? "UPDATE" : "CREATE";
}

yyjson_val *api_admit_object(struct api_write *w) {
    if (!w->c.object || w->what == SL_WRITE_DELETE)
        return NULL;
    if (!w->made)
        api_write_close(w);
    return yyjson_doc_get_root(w->made);
}

static void print_gvk(struct sl_jw *j, const char *key, const char *last, const struct api_kind *k,
                      const char *version, const char *word) {
    sl_jw_object(j, key);
    sl_jw_str(j, "group", k->group);
    sl_jw_str(j, "version", version);
    sl_jw_str(j, last, word);
    sl_jw_end(j);
}

/* One object, in the version that is wanted. */
static bool print_object(struct api_write *w, const struct api_kind_version *v, const char *key,
                         yyjson_val *object, struct sl_jw *j) {
    struct api_rq *rq = w->rq;
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = NULL;
    yyjson_mut_val *m = NULL;
    struct sl_err err;

    if (!object || v == api_stored_version(rq->kind)) {
        sl_jw_val(j, key, object);
        return true;
    }
    doc = yyjson_mut_doc_new(NULL);
    if (api_kind_convert(rq->kind, object, sl_api_version(&rq->arena, rq->kind->group, v->name),
                         doc, &m, &err) < 0)
        return false;
    if (m)
        sl_jw_mut_val(j, key, m);
    else
        sl_jw_val(j, key, object);
    return true;
}

static void print_user(const struct api_rq *rq, struct sl_jw *j) {
    sl_jw_object(j, "userInfo");
    sl_jw_str(j, "username", rq->user);
    if (rq->groups[0]) {
        sl_jw_array(j, "groups");
        for (uint32_t i = 0; rq->groups[i]; i++)
            sl_jw_str(j, NULL, rq->groups[i]);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

bool api_review_print(struct api_write *w, const struct api_kind_version *v, const char *uid,
                      struct sl_buf *b) {
    static const char *const options[] = {"CreateOptions", "UpdateOptions", "PatchOptions",
                                          "CreateOptions"};
    const struct api_rq *rq = w->rq;
    const struct api_kind *k = rq->kind;
    struct sl_jw *j = &SL_JW(b);

    sl_jw_object(j, NULL);
    sl_jw_str(j, "kind", "AdmissionReview");
    sl_jw_str(j, "apiVersion", "admission.k8s.io/v1");
    sl_jw_object(j, "request");
    sl_jw_str(j, "uid", uid);
    print_gvk(j, "kind", "kind", k, v->name, k->kind);
    print_gvk(j, "resource", "resource", k, v->name, k->plural);
    if (*w->c.subresource)
        sl_jw_str(j, "subResource", w->c.subresource);
    print_gvk(j, "requestKind", "kind", k, rq->version->name, k->kind);
    print_gvk(j, "requestResource", "resource", k, rq->version->name, k->plural);
    if (*w->c.subresource)
        sl_jw_str(j, "requestSubResource", w->c.subresource);
    sl_jw_str(j, "name", w->name);
    if (*rq->ns)
        sl_jw_str(j, "namespace", rq->ns);
    sl_jw_str(j, "operation", api_admit_operation(w));
    print_user(rq, j);
    if (!print_object(w, v, "object", api_admit_object(w), j) ||
        !print_object(w, v, "oldObject", w->c.old, j))
        return false;
    sl_jw_bool(j, "dryRun", w->c.dry_run);
    if (w->what == SL_WRITE_DELETE && w->del.text) {
        sl_jw_raw(j, "options", w->del.text);
    } else {
        sl_jw_object(j, "options");
        sl_jw_str(j, "kind", w->what == SL_WRITE_DELETE ? "DeleteOptions" : options[w->what]);
        sl_jw_str(j, "apiVersion", "meta.k8s.io/v1");
    }
    sl_jw_end_to(j, 0);
    return true;
}

/* A refusal, with the message of the webhook. */
static void report_denied(struct api_write *w, const char *hook, yyjson_val *status) {
    struct api_rq *rq = w->rq;
    const char *message = sl_json_str(status, "message"), *reason = sl_json_str(status, "reason");
    int code = (int)sl_json_int(status, "code", 0);
    const char *text = *message ? message : reason;

    api_rq_status(
        rq, &(struct api_status){
                .code = code >= 400 && code < 600 ? code : 400,
                .reason = sl_arena_strdup(&rq->arena, reason),
                .message =
                    *text ? sl_arena_printf(&rq->arena,
                                            "admission webhook \"%s\" denied the request: %s", hook,
                                            text)
                          : sl_arena_printf(
                                &rq->arena,
                                "admission webhook \"%s\" denied the request without explanation",
                                hook)});
}

/* What came out of a webhook's patch is an object as one that a client sends: of its kind, of the
 * right types, with its defaults. */
static int still_readable(struct api_write *w, yyjson_mut_val *made, struct sl_err *why) {
    const struct api_rq *rq = w->rq;
    const struct sl_schema *schema = api_stored_version(rq->kind)->schema;
    yyjson_val *seen = api_write_keep(w, yyjson_mut_val_imut_copy(made, NULL)),
               *was = yyjson_doc_get_root(w->made);
    struct sl_field_errs errs = {.arena = w->c.arena};

    for (const char *const *key = (const char *const[]){"apiVersion", "kind", NULL}; *key; key++)
        if (strcmp(sl_json_str(seen, *key), sl_json_str(was, *key)) != 0)
            return sl_err_set(why, SL_EINVAL, "the patch changes %s of the object", *key);
    if (sl_schema_decodes(schema, seen, why) < 0)
        return SL_EINVAL;
    if (!rq->kind->crd && !api_sizes_check(&errs, seen))
        return sl_err_set(why, SL_ELIMIT, "%.200s",
                          errs.n ? errs.text[0] : "the object is too large");
    sl_schema_prune(schema, w->c.doc, made, NULL);
    if (!sl_schema_default(schema, w->c.doc, made))
        return sl_err_set(why, SL_ELIMIT, "more than %u defaults in one object", SL_DEFAULTS_MAX);
    return SL_OK;
}

static int take_patch(struct api_write *w, const struct api_kind_version *v, yyjson_val *patch,
                      struct sl_err *err) {
    struct api_rq *rq = w->rq;
    const struct api_kind_version *stored = api_stored_version(rq->kind);
    yyjson_mut_val *made = NULL, *from = NULL;
    yyjson_val *object = api_admit_object(w);
    struct sl_patch_err fault = {0};
    struct sl_err why = {.text = ""};
    int r = 0;

    sl_buf_init(&fault.text, (size_t)64 << 10);
    sl_buf_short(&fault.text);
    if (v != stored) {
        r = api_kind_convert(rq->kind, object, sl_api_version(&rq->arena, rq->kind->group, v->name),
                             w->c.doc, &from, &why);
        if (r >= 0)
            object = api_write_keep(w, yyjson_mut_val_imut_copy(from, NULL));
    }
    if (r >= 0)
        r = sl_patch_json(w->c.doc, object, patch, &made, &fault);
    if (r >= 0 && v != stored)
        r = api_kind_convert(rq->kind, api_write_keep(w, yyjson_mut_val_imut_copy(made, NULL)),
                             sl_api_version(&rq->arena, rq->kind->group, stored->name), w->c.doc,
                             &made, &why);
    if (r >= 0)
        r = still_readable(w, made, &why);
    if (r < 0) {
        r = sl_err_set(err, SL_EINVAL, "%.230s", *why.text ? why.text : sl_buf_str(&fault.text));
    } else {
        w->c.object = made;
        (void)api_write_keep(w, TAKE_PTR(w->made));
        w->admission->changes++;
    }
    sl_buf_done(&fault.text);
    return r < 0 ? r : SL_OK;
}

/* The fields of a response and their types; anything else is invalid. NULL: valid. */
static const char *answer_fault(yyjson_val *answer, const char *uid) {
    static const struct {
        const char *name;
        yyjson_type type;
    } fields[] = {
        {"uid", YYJSON_TYPE_STR},   {"allowed", YYJSON_TYPE_BOOL},  {"status", YYJSON_TYPE_OBJ},
        {"patch", YYJSON_TYPE_STR}, {"patchType", YYJSON_TYPE_STR}, {"warnings", YYJSON_TYPE_ARR},
    };
    static const char *const faults[] = {
        "response.uid is no string",       "response.allowed is no boolean",
        "response.status is no object",    "response.patch is no string",
        "response.patchType is no string", "response.warnings is no list",
    };

    if (!yyjson_is_obj(answer))
        return "webhook response was absent";
    for (size_t i = 0; i < SL_LEN(fields); i++) {
        yyjson_val *v = sl_json_get(answer, fields[i].name);
        if (v && yyjson_get_type(v) != fields[i].type)
            return faults[i];
    }
    if (strcmp(sl_json_str(answer, "uid"), uid) != 0)
        return "expected response.uid to be that of the request";
    if (*sl_json_str(answer, "patch") && strcmp(sl_json_str(answer, "patchType"), "JSONPatch") != 0)
        return "webhook returned response.patch but response.patchType is not JSONPatch";
    return NULL;
}

int api_review_take(struct api_write *w, const struct api_kind_version *v, const char *hook,
                    const char *uid, const char *body, size_t len, struct sl_err *err) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct sl_err why;
    yyjson_val *answer, *warning;
    size_t i, n;

    if (sl_json_read(body, len, &doc, &why) < 0)
        return sl_err_set(err, SL_EINVAL, "%.200s", why.text);
    answer = sl_json_get(yyjson_doc_get_root(doc), "response");
    const char *fault = answer_fault(answer, uid);
    if (fault)
        return sl_err_set(err, SL_EINVAL, "%s", fault);
    yyjson_arr_foreach (sl_json_get(answer, "warnings"), i, n, warning) {
        if (i < SL_API_WARNINGS && *sl_json_text(warning))
            api_rq_warn(w->rq, sl_json_text(warning));
    }
    if (!sl_json_bool(answer, "allowed", false)) {
        report_denied(w, hook, sl_json_get(answer, "status"));
        return 0;
    }
    const char *text = sl_json_str(answer, "patch");
    if (!*text || w->admission->phase != SL_ADMIT_MUTATE || !w->c.object)
        return 1;
    char *json = sl_arena_alloc(w->c.arena, strlen(text) + 4);
    int64_t size = sl_base64_decode(text, strlen(text), json);
    bool readable = size > 0 && !sl_json_too_deep(json, (size_t)size);
    yyjson_doc *patch = readable ? yyjson_read(json, (size_t)size, 0) : NULL;
    if (!patch)
        return sl_err_set(err, SL_EINVAL, "the patch is no JSON");
    int r = take_patch(w, v, api_write_keep(w, patch), err);
    return r < 0 ? r : 1;
}

/* ---- one after the other ---- */

static void finish_admission(struct api_write *w) {
    void (*next)(struct api_write *) = w->admission->next;

    api_admit_free(w);
    next(w);
}

void api_admit_continue(struct api_write *w) {
    struct api_admission *a = w->admission;
    uint32_t n = a->set ? api_hook_set_size(a->set) : 0;

    for (;;) {
        if (a->at == n) {
            if (a->again || a->phase != SL_ADMIT_MUTATE || !n)
                break;
            a->again = true;
            a->at = 0;
        }
        uint32_t i = a->at++;
        if (a->again && (!a->seen[i] || a->seen[i] > a->changes || !api_hook_reinvokes(a->set, i)))
            continue;
        enum api_hook_result result = api_hook_call(w, i);
        if (result != SL_HOOK_PASSED)
            return;
    }
    finish_admission(w);
}

void api_admit(struct api_write *w, enum api_admit_phase phase, void (*next)(struct api_write *w)) {
    struct sl_apiserver *s = w->rq->s;
    struct api_hook_set *set = api_hooks_set(s, phase);
    struct api_admission *a;

    if (s->starting || (!set && !s->spec.review)) {
        next(w);
        return;
    }
    a = w->admission = sl_arena_alloc0(w->c.arena, 1, sizeof *a);
    a->phase = phase;
    a->steps = SL_CEL_ALL_STEPS;
    a->next = next;
    a->set = set;
    if (set)
        a->seen = sl_arena_alloc0(w->c.arena, api_hook_set_size(set) + 1, sizeof *a->seen);
    api_uuid(&s->prng, a->uid);
    for (size_t i = 0; s->spec.review && i < SL_LEN(owns); i++)
        if (concerns(w, &owns[i]) && !review_builtin(w, &owns[i]))
            return;
    if (s->spec.review && !review_job(w))
        return;
    api_admit_continue(w);
}

void api_admit_free(struct api_write *w) {
    struct api_admission *a = w->admission;

    if (!a)
        return;
    w->admission = NULL;
    yyjson_doc_free(a->review);
    api_hook_cancel(a->call);
    api_hook_set_unref(a->set);
}
