/* SPDX-License-Identifier: Apache-2.0 */
/* State of the manager for admission. */
#include <string.h>

#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/lookup.h"

static bool queue_exists(void *ctx, const char *ns, const char *name) {
    const struct sl_manager *m = ctx;
    return sl_inf_find(m->inf, REC_LOCAL_QUEUE, ns, name) != NULL;
}

static bool queue_open(void *ctx, const char *ns, const char *name) {
    const struct sl_manager *m = ctx;
    struct sl_rec *r = sl_inf_find(m->inf, REC_LOCAL_QUEUE, ns, name);
    if (!r)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d =
        yyjson_read(mgr_conf_of(r)->text, strlen(mgr_conf_of(r)->text), 0);
    const char *stop = sl_json_str(yyjson_doc_get_root(d), "spec.stopPolicy");
    bool open = !*stop || strcmp(stop, "None") == 0;
    return open;
}

static bool managed(void *ctx, const char *ns) {
    return mgr_ns_managed_by_name(ctx, ns); /* a stranger's text: not to be remembered */
}

static bool flux(void *ctx, const char *ns) {
    return mgr_ns_flux(ctx, ns);
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
        .ns_managed = managed,
        .ns_flux = flux,
        .owner_managed = owner_managed,
        .priority_class_exists = class_exists,
    };
}

struct sl_review_view *sl_manager_view(struct sl_manager *m) {
    return &m->view;
}
