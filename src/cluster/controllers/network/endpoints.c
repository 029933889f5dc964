/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints: of a Service with a selector they are as its pods are; what somebody wrote for a
 * Service without one is mirrored into slices, since readers of slices look at nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/network/network.h"

#define MANAGED_BY "endpoints.kubernetes.io/managed-by"
#define MANAGER "endpoint-controller"
#define OVER_CAPACITY "endpoints.kubernetes.io/over-capacity"
#define SKIP_MIRROR "endpointslice.kubernetes.io/skip-mirror"
#define LEADER "control-plane.alpha.kubernetes.io/leader" /* they are a lock */

static uint64_t content_of(yyjson_val *o) {
    yyjson_val *truncated = sl_json_get(sl_json_at(o, "metadata.annotations"), OVER_CAPACITY);

    return sl_json_hash(
        sl_json_hash(sl_json_hash(1, sl_json_at(o, "metadata.labels")), sl_json_get(o, "subsets")),
        truncated);
}

bool cl_endpoints_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_endpoints_object *e = cl_endpoints_object_of(r);
    bool managed = strcmp(sl_json_label(o, MANAGED_BY), MANAGER) == 0;
    bool skipped = strcmp(sl_json_label(o, SKIP_MIRROR), "true") == 0 ||
                   sl_json_annotation_opt(o, LEADER) != NULL;

    (void)ctx;
    sl_freep(&e->labels);
    sl_freep(&e->subsets);
    e->labels = cl_text_of(sl_json_at(o, "metadata.labels"));
    e->subsets = managed || skipped ? NULL : cl_text_of(sl_json_get(o, "subsets"));
    e->truncated = *sl_json_annotation(o, OVER_CAPACITY) != '\0';
    e->content = content_of(o);
    return true;
}

void cl_endpoints_free(struct sl_rec *r) {
    struct cl_endpoints_object *e = cl_endpoints_object_of(r);

    sl_freep(&e->labels);
    sl_freep(&e->subsets);
}

void cl_endpoints_put(struct sl_cluster *c, const struct cl_service *s,
                      const struct cl_endpoints_object *old, struct sl_jw *j) {
    const char *const more[] = {MANAGED_BY, MANAGER, s->headless ? NET_HEADLESS : NULL, "", NULL};
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    struct sl_jw subsets = SL_JW(&b);
    struct cl_endpoints all;

    cl_endpoints_of_pods(c, s, &all);
    sl_jw_object(&subsets, NULL);
    bool truncated = cl_endpoints_put_subsets(s, &all, &subsets);
    sl_jw_end(&subsets);
    cl_endpoints_done(&all);
    cl_network_put_labels(j, s->labels, more, old ? old->labels : NULL);
    if (truncated || (old && old->truncated)) {
        sl_jw_object(j, "annotations");
        if (truncated)
            sl_jw_str(j, OVER_CAPACITY, "truncated");
        else
            sl_jw_null(j, OVER_CAPACITY);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    sl_jw_fields(j, sl_buf_str(&b));
}

/* Is it what follows from the pods? */
static bool is_right(struct sl_cluster *c, const struct cl_service *s,
                     const struct cl_endpoints_object *e) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    struct sl_jw j = SL_JW(&b);

    sl_jw_object(&j, NULL);
    sl_jw_object(&j, "metadata");
    cl_endpoints_put(c, s, e, &j);
    sl_jw_end(&j);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(sl_buf_str(&b), b.len, 0);
    return d && content_of(yyjson_doc_get_root(d)) == e->content;
}

static struct cl_service *service_of(struct sl_cluster *c, const struct sl_rec *r) {
    struct sl_rec *s = sl_inf_find_sym(c->inf, K_SERVICE, r->ns, r->name);

    return s ? cl_service_of(s) : NULL;
}

static void mirror(struct sl_cluster *c, struct cl_endpoints_object *e,
                   const struct cl_service *s) {
    bool mirrored = e->subsets && s && !s->pair && !e->rec.deleting;
    struct cl_endpoints all = {0};

    if (mirrored) {
        cl_slices_drop_others(c, &e->rec);
        cl_endpoints_of_subsets(e->subsets, &all);
    }
    cl_slices_plan(c, &(struct cl_slices_plan){.owner = &e->rec,
                                               .manager = NET_SLICES_OF_ENDPOINTS,
                                               .labels = e->labels,
                                               .all = mirrored ? &all : NULL,
                                               .number = &e->number});
    if (mirrored)
        cl_endpoints_done(&all);
}

void cl_endpoints_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_endpoints_object *e = cl_endpoints_object_of(r);
    struct cl_service *s = service_of(c, r);

    if (s && cl_service_selects(s) && cl_on(c, CL_ENDPOINTS) && !is_right(c, s, e))
        sl_rec_write(r);
    if (cl_on(c, CL_ENDPOINT_MIRRORS))
        mirror(c, e, s);
}

bool cl_endpoints_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct cl_endpoints_object *e = cl_endpoints_object_of(r);
    const struct cl_service *s = service_of(c, r);

    if (r->deleting || !s || !cl_service_selects(s) || !cl_on(c, CL_ENDPOINTS) || is_right(c, s, e))
        return false;
    sl_rec_build_guarded(r, NULL, w);
    cl_endpoints_put(c, s, e, &w->json);
    return true;
}
