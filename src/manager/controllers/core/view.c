/* SPDX-License-Identifier: Apache-2.0 */
/* State of the manager for admission. */
#include <string.h>

#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/job/job.h"

#define MULTIKUEUE "kueue.x-k8s.io/multikueue"

static bool queue_exists(void *ctx, const char *ns, const char *name) {
    const struct sl_manager *m = ctx;
    return sl_inf_find(m->inf, REC_LOCAL_QUEUE, ns, name) != NULL;
}

/* The text of an object; NULL: there is none. */
static yyjson_doc *read_conf(const struct sl_manager *m, enum mgr_rec_kind kind, const char *ns,
                             const char *name) {
    struct sl_rec *r = sl_inf_find(m->inf, kind, ns, name);
    return r ? yyjson_read(mgr_conf_of(r)->text, strlen(mgr_conf_of(r)->text), 0) : NULL;
}

static bool queue_open(void *ctx, const char *ns, const char *name) {
    _cleanup_(sl_json_docp) yyjson_doc *d = read_conf(ctx, REC_LOCAL_QUEUE, ns, name);
    const char *stop = sl_json_str(yyjson_doc_get_root(d), "spec.stopPolicy");
    return d && (!*stop || strcmp(stop, "None") == 0);
}

static bool dispatches(const struct sl_manager *m, const char *check) {
    _cleanup_(sl_json_docp) yyjson_doc *d = read_conf(m, REC_CHECK, "", check);
    return strcmp(sl_json_str(yyjson_doc_get_root(d), "spec.controllerName"), MULTIKUEUE) == 0;
}

static bool queue_dispatches(void *ctx, const char *ns, const char *name) {
    _cleanup_(sl_json_docp) yyjson_doc *lq = read_conf(ctx, REC_LOCAL_QUEUE, ns, name);
    const char *queue = sl_json_str(yyjson_doc_get_root(lq), "spec.clusterQueue");
    _cleanup_(sl_json_docp) yyjson_doc *cq = read_conf(ctx, REC_CLUSTER_QUEUE, "", queue);
    yyjson_val *check;
    size_t i, n;

    yyjson_arr_foreach (
        sl_json_at(yyjson_doc_get_root(cq), "spec.admissionChecksStrategy.admissionChecks"), i, n,
        check) {
        if (dispatches(ctx, sl_json_str(check, "name")))
            return true;
    }
    return false;
}

static bool managed(void *ctx, const char *ns) {
    return mgr_ns_managed_by_name(ctx, ns); /* a stranger's text: not to be remembered */
}

static bool flux(void *ctx, const char *ns) {
    return mgr_ns_flux(ctx, ns);
}

static yyjson_doc *runtime(void *ctx, const char *ns, const struct sl_jobkind_need *need) {
    return mgr_train_runtime(ctx, ns, need);
}

static bool class_exists(void *ctx, const char *name) {
    const struct sl_manager *m = ctx;
    return sl_inf_find(m->inf, REC_WORKLOAD_PRIORITY_CLASS, "", name) != NULL;
}

static bool owner_managed(void *ctx, const char *ns, const struct sl_review_owner_ref *owner) {
    return mgr_job_owner_managed(ctx, ns, owner);
}

void mgr_view_init(struct sl_manager *m) {
    m->view = (struct sl_review_view){
        .ctx = m,
        .queue_open = queue_open,
        .queue_exists = queue_exists,
        .queue_dispatches = queue_dispatches,
        .ns_managed = managed,
        .ns_flux = flux,
        .owner_managed = owner_managed,
        .priority_class_exists = class_exists,
        .runtime = runtime,
    };
}

struct sl_review_view *sl_manager_view(struct sl_manager *m) {
    return &m->view;
}
