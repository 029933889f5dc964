/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a review: find the path, decode the body, call the handler, write the response.
 * Rejections have Kubernetes' messages; a malformed review is a 400.
 */
#include "manager/admission/review.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json/writer.h"
#include "manager/admission/call.h"
#include "manager/admission/convert.h"
#include "manager/admission/handlers.h"
#include "manager/admission/job/kind.h"
#include "manager/admission/patch.h"

/* Beyond what the request brought, a handler makes only messages. */
#define MESSAGE_MAX_BYTES ((size_t)256 << 10)

#define CORE SL_FW_COUNT /* Kueue's own kinds and ours: not an integration's, always in force */

static int allow(struct sl_review_call *c) {
    (void)c;
    return 0;
}

/* Jobs have rows of their own (job/table.c). */
static const struct row {
    const char *object; /* the path is "/mutate-" or "/validate-" and this */
    sl_review_fn mutate, validate;
    enum sl_framework framework;
} rows[] = {
    {"kueue-x-k8s-io-v1beta2-clusterqueue", sl_review_cluster_queue_mutate,
     sl_review_cluster_queue_validate, CORE},
    {"kueue-x-k8s-io-v1beta2-cohort", NULL, sl_review_cohort_validate, CORE},
    {"kueue-x-k8s-io-v1beta2-resourceflavor", sl_review_flavor_mutate, sl_review_flavor_validate,
     CORE},
    {"kueue-x-k8s-io-v1beta2-workload", sl_review_workload_mutate, sl_review_workload_validate,
     CORE},
    {"flux-framework-org-v1alpha2-minicluster", sl_review_minicluster_mutate,
     sl_review_minicluster_validate, CORE},
    {"vk-io-v1-masterqueue", NULL, sl_review_masterqueue_validate, CORE},
    {"jobs-converged-computing-org-v1alpha1-fluxjob", NULL, sl_review_fluxjob_validate, CORE},
    {"v1-sidecar", sl_review_flux_mutate, sl_review_flux_validate, CORE}, /* fluxqueue's path */
    {"flux--v1-pod", sl_review_flux_pod_mutate, sl_review_flux_pod_validate, CORE},
    {"flux-batch-v1-job", sl_review_flux_job_mutate, sl_review_flux_job_validate, CORE},
    {"flux-apps-v1-deployment", sl_review_flux_deployment_mutate, sl_review_flux_set_validate,
     CORE},
    {"flux-apps-v1-replicaset", sl_review_flux_replicaset_mutate, sl_review_flux_set_validate,
     CORE},
    {"flux-apps-v1-statefulset", sl_review_flux_statefulset_mutate, sl_review_flux_set_validate,
     CORE},
    {"-v1-pod", sl_review_pod_mutate, sl_review_pod_validate, SL_FW_POD},
    {"apps-v1-deployment", sl_review_deployment_mutate, sl_review_deployment_validate,
     SL_FW_DEPLOYMENT},
    {"apps-v1-statefulset", sl_review_statefulset_mutate, sl_review_statefulset_validate,
     SL_FW_STATEFULSET},
    {"leaderworkerset-x-k8s-io-v1-leaderworkerset", sl_review_leaderworkerset_mutate,
     sl_review_leaderworkerset_validate, SL_FW_LEADERWORKERSET},
};

/* The part after a prefix, NULL if the text does not begin with it. */
static const char *after(const char *text, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* Who reviews what comes to a path. */
struct handler {
    sl_review_fn fn;
    enum sl_framework framework;
    const struct sl_jobkind *row; /* of a job */
    const struct adm_kind *rules;
};

/* False: there is no such path. */
static bool find_handler(const struct sl_review_view *view, const char *path, struct handler *ret) {
    const char *mutate = after(path, "/mutate-"), *validate = after(path, "/validate-");
    const char *object = mutate ? mutate : validate;

    *ret = (struct handler){.framework = CORE};
    for (size_t i = 0; object && i < SL_LEN(rows); i++) {
        if (strcmp(rows[i].object, object) != 0)
            continue;
        ret->framework = rows[i].framework;
        ret->fn = mutate ? rows[i].mutate : rows[i].validate;
        return ret->fn;
    }
    if (!object || !adm_kind_find(view, object, &ret->row, &ret->rules))
        return false;
    ret->framework =
        sl_framework_find(ret->row->framework); /* of a kind of somebody else's: CORE */
    ret->fn = mutate ? adm_kind_mutate : adm_kind_validate;
    return true;
}

/* Deployments, StatefulSets and LeaderWorkerSets wait by their pods: theirs are always reviewed,
 * and the handler of pods leaves the others alone. */
static bool acts(const struct sl_review_view *view, enum sl_framework f) {
    return f == CORE || view->webhook[f] ||
           (f == SL_FW_POD &&
            (view->webhook[SL_FW_DEPLOYMENT] || view->webhook[SL_FW_STATEFULSET] ||
             view->webhook[SL_FW_LEADERWORKERSET]));
}

bool sl_review_path(const struct sl_review_view *view, const char *path) {
    struct handler h;
    return strcmp(path, SL_CONVERT_PATH) == 0 || find_handler(view, path, &h);
}

/* ---- the answer ---- */

/* What the handler changed. */
static void print_patch(const struct sl_review_call *c, struct sl_jw *w) {
    _cleanup_(sl_json_docp) yyjson_doc *edited = NULL;
    _cleanup_(sl_buf_done) struct sl_buf patch = SL_BUF(SL_REVIEW_MAX_BYTES);

    edited = yyjson_mut_doc_imut_copy(c->edit, NULL);
    sl_assert(edited);
    adm_patch_diff(c->object, yyjson_doc_get_root(edited), &patch);
    if (!sl_buf_full(&patch) && patch.len > strlen("[]")) {
        sl_jw_str(w, "patchType", "JSONPatch");
        sl_jw_base64(w, "patch", sl_buf_str(&patch), patch.len);
    }
    if (sl_buf_full(&patch)) /* better no answer than half of a patch */
        sl_buf_fail(w->b);
}

static void print_status(struct sl_jw *w, int code, const char *reason, const char *message) {
    sl_jw_object(w, "status");
    sl_jw_int(w, "code", code);
    if (*reason)
        sl_jw_str(w, "reason", reason);
    if (*message)
        sl_jw_str(w, "message", message);
    sl_jw_end(w);
}

/* Kubernetes' reason of an HTTP code. */
static const char *reason_of(int code) {
    static const struct {
        int code;
        const char *reason;
    } table[] = {{400, "BadRequest"},
                 {403, "Forbidden"},
                 {404, "NotFound"},
                 {409, "Conflict"},
                 {500, "InternalError"}};

    for (size_t i = 0; i < SL_LEN(table); i++)
        if (table[i].code == code)
            return table[i].reason;
    return "";
}

static void print_answer(struct sl_review_call *c, const char *uid, struct sl_buf *out) {
    struct sl_jw *w = &SL_JW(out);

    sl_jw_object(w, NULL);
    sl_jw_str(w, "apiVersion", "admission.k8s.io/v1");
    sl_jw_str(w, "kind", "AdmissionReview");
    sl_jw_object(w, "response");
    sl_jw_str(w, "uid", uid);
    sl_jw_bool(w, "allowed", !c->refused_code && c->errs.n == 0);
    if (c->refused_code) {
        print_status(w, c->refused_code, reason_of(c->refused_code), c->refused);
    } else if (c->errs.n > 0) {
        _cleanup_(sl_buf_done) struct sl_buf message = SL_BUF_SHORT(MESSAGE_MAX_BYTES);
        sl_field_errs_print(&c->errs, &message);
        print_status(w, 403, reason_of(403), sl_buf_str(&message));
    } else {
        if (c->edit)
            print_patch(c, w);
        print_status(w, 200, "", "");
    }
    if (c->n_warnings > 0) {
        sl_jw_array(w, "warnings");
        for (uint32_t i = 0; i < c->n_warnings; i++)
            sl_jw_str(w, NULL, c->warnings[i]);
    }
    sl_jw_end_to(w, 0);
}

/* ---- the question ---- */

/* Only "CREATE" and "UPDATE" are reviewed; DELETE, CONNECT and others are allowed. */
static bool op_of(const char *operation, enum sl_review_op *ret) {
    *ret = strcmp(operation, "UPDATE") == 0 ? SL_REVIEW_UPDATE : SL_REVIEW_CREATE;
    return *ret == SL_REVIEW_UPDATE || strcmp(operation, "CREATE") == 0;
}

static void handle(struct sl_review_call *c, sl_review_fn fn, const char *operation) {
    if (!op_of(operation, &c->op))
        return;
    if (!yyjson_is_obj(c->object))
        (void)adm_call_refuse(c, 400, "there is no content to decode");
    else if (c->op == SL_REVIEW_UPDATE && !yyjson_is_obj(c->old))
        (void)adm_call_refuse(c, 400, "there is no old content to decode");
    else
        (void)fn(c);
}

static int admit(const struct sl_review_view *view, const struct handler *h, yyjson_val *review,
                 struct sl_buf *out, struct sl_err *err) {
    yyjson_val *request = sl_json_get(review, "request");
    const char *uid = sl_json_str(request, "uid");
    struct sl_arena arena;
    struct sl_review_call c = {
        .view = view,
        .ns = sl_json_str(request, "namespace"),
        .name = sl_json_str(request, "name"),
        .subresource = sl_json_str(request, "subResource"),
        .group = sl_json_str(request, "kind.group"),
        .kind = sl_json_str(request, "kind.kind"),
        .object = sl_json_get(request, "object"),
        .old = sl_json_get(request, "oldObject"),
        .user = sl_json_get(request, "userInfo"),
        .row = h->row,
        .rules = h->rules,
        .arena = &arena,
        .errs.arena = &arena,
    };

    if (strcmp(sl_json_str(review, "apiVersion"), "admission.k8s.io/v1") != 0 ||
        strcmp(sl_json_str(review, "kind"), "AdmissionReview") != 0 || !*uid)
        return sl_err_set(err, SL_EINVAL,
                          "expected an AdmissionReview of admission.k8s.io/v1 with a request");
    if (!*c.name)
        c.name = sl_json_str(c.object, "metadata.generateName");
    sl_arena_init(&arena, SL_REVIEW_ARENA_BYTES);
    handle(&c, h->fn, sl_json_str(request, "operation"));
    bool full = sl_arena_full(&arena);
    if (!full)
        print_answer(&c, uid, out);
    sl_json_mut_docp(&c.edit);
    sl_arena_done(&arena);
    return full ? sl_err_set(err, SL_ELIMIT, "the review takes more than %zu bytes of memory",
                             SL_REVIEW_ARENA_BYTES)
                : 0;
}

static int answer(int code, struct sl_buf *out, const char *text) {
    sl_buf_clear(out);
    sl_buf_printf(out, "%s\n", text);
    return code;
}

int sl_review(const struct sl_review_view *view, const char *path, const char *body, size_t len,
              struct sl_buf *out) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    bool converts = strcmp(path, SL_CONVERT_PATH) == 0;
    struct handler h;
    struct sl_err err;
    int r;

    if (!converts && !find_handler(view, path, &h))
        return answer(404, out, "no such path");
    if (len > (converts ? SL_CONVERT_BODY_BYTES : SL_REVIEW_MAX_BYTES))
        return answer(400, out, "the review is too large");
    if (converts && out->ceiling > SL_CONVERT_ANSWER_BYTES)
        out->ceiling = SL_CONVERT_ANSWER_BYTES;
    r = sl_json_read_within(body, len, converts ? SL_CONVERT_VALUES : SL_REVIEW_MAX_VALUES, &doc,
                            &err);
    if (r < 0)
        return answer(400, out, err.text);
    if (!converts && !acts(view, h.framework))
        h.fn = allow;
    r = converts ? sl_convert_review(yyjson_doc_get_root(doc), out, &err)
                 : admit(view, &h, yyjson_doc_get_root(doc), out, &err);
    if (r < 0)
        return answer(400, out, err.text);
    if (sl_buf_full(out))
        return out->ceiling < SL_CONVERT_ANSWER_BYTES
                   ? answer(503, out, "too little memory for the response, retry later")
                   : answer(500, out, "the answer is too large");
    return 200;
}
