/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniCluster: says which container runs Flux, refuses what minicluster.h says, and warns of what
 * has no effect. Where the Flux Operator makes the objects of MiniClusters, their rules are its
 * own.
 */
#include <string.h>

#include "manager/admission/convert.h"
#include "manager/admission/handlers.h"
#include "manager/admission/minicluster.h"

static bool is_ours(const struct sl_review_call *c) {
    return !c->view->settings->flux_operator;
}

/* The fields of v1alpha1 are in an annotation of the stored object. */
static bool is_same(const struct sl_review_call *c) {
    static const char old[] = SL_MINICLUSTER_GROUP "/v1alpha1";
    return sl_json_same(sl_json_get(c->object, "spec"), sl_json_get(c->old, "spec")) &&
           strcmp(sl_json_annotation(c->object, old), sl_json_annotation(c->old, old)) == 0;
}

/* A single container runs Flux without saying so. */
int sl_review_minicluster_mutate(struct sl_review_call *c) {
    yyjson_val *containers = sl_json_at(c->object, "spec.containers");
    yyjson_val *first = yyjson_arr_get_first(containers);

    if (!is_ours(c) || sl_json_size(containers) != 1 || !yyjson_is_obj(first) ||
        sl_json_bool(first, "runFlux", false))
        return 0;
    yyjson_mut_val *spec = yyjson_mut_obj_get(adm_call_edit(c), "spec");
    adm_edit_bool(c, yyjson_mut_arr_get_first(yyjson_mut_obj_get(spec, "containers")), "runFlux",
                  true);
    return 0;
}

/* Fields that take effect when they change: the others shape objects that exist by then. */
static void warn_of_late_changes(struct sl_review_call *c) {
    static const char *const live[] = {"size", "cleanup", NULL};
    yyjson_val *now = sl_json_get(c->object, "spec"), *old = sl_json_get(c->old, "spec");

    if (c->op == SL_REVIEW_UPDATE && !sl_json_same_but(now, old, live))
        adm_call_warn(c, "spec: of an existing MiniCluster only size and cleanup take effect; make "
                         "a new one for the rest");
}

/* The scale subresource is not reviewed: the controller takes such a size back. */
static void check_growth(struct sl_review_call *c) {
    int64_t size = sl_json_int(c->object, "spec.size", 1);
    int64_t most = sl_json_int(c->old, "status.maximumSize", 0);

    if (most > 0 && size > most && size != sl_json_int(c->old, "spec.size", 1))
        sl_field_invalid(
            &c->errs, SL_PATH(NULL, "spec.size"), sl_field_value_int(size),
            "must not be greater than status.maximumSize (%lld), which the cluster was "
            "made with",
            (long long)most);
}

/* What was stored once can be labelled and deleted: only a new spec is reviewed. */
int sl_review_minicluster_validate(struct sl_review_call *c) {
    const char *name = *c->name ? c->name : sl_json_str(c->object, "metadata.name");
    _cleanup_(sl_json_docp) yyjson_doc *made = NULL;

    if (!is_ours(c) || (c->op == SL_REVIEW_UPDATE && is_same(c)))
        return 0;
    made = sl_minicluster_as_made(c->object);
    if (!made)
        return adm_call_refuse(c, 400, "the object is no MiniCluster of %s",
                               "flux-framework.org/v1alpha1 or v1alpha2");
    sl_minicluster_check(&c->errs, name, yyjson_doc_get_root(made));
    check_growth(c);
    if (c->errs.n == 0)
        warn_of_late_changes(c);
    return 0;
}
