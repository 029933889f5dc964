/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints and EndpointSlices: of Services with a selector, from their pods; of Endpoints that
 * somebody wrote for a Service without one, as mirrors. Private to src/cluster/controllers.
 *
 * A Service knows its pods by number. It is found from a pod by one pair of its selector, so that
 * a pod that changes costs as many lookups as it has labels, however many Services there are.
 */
#ifndef SL_CLUSTER_CONTROLLERS_NETWORK_NETWORK_H
#define SL_CLUSTER_CONTROLLERS_NETWORK_NETWORK_H

#include "cluster/controllers/core/pod.h"
#include "core/model/labels.h"

#define NET_HEADLESS "service.kubernetes.io/headless"
#define NET_OF_SERVICE "kubernetes.io/service-name"
#define NET_SLICE_MANAGER "endpointslice.kubernetes.io/managed-by"
#define NET_SLICES_OF_SERVICES "endpointslice-controller.k8s.io"
#define NET_SLICES_OF_ENDPOINTS "endpointslicemirroring-controller.k8s.io"

/* ---- Services (services.c) ---- */

struct cl_service {
    struct sl_rec rec;
    struct sl_arena arena; /* of the selector */
    struct sl_labels selector;
    uint64_t selector_hash, pair; /* pair: by which pods find it; 0: it has no selector */
    char *ports, *labels;         /* JSON; NULL: none */
    bool external, headless, with_unready;
    SL_VEC(uint32_t) pods; /* records of its pods */
    uint64_t number;       /* of the next slice's name */
    sl_time again;         /* mono: its Endpoints are not created before */
};
static inline struct cl_service *cl_service_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_service, rec);
}
bool cl_service_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_service_changed(void *ctx, struct sl_rec *r);
void cl_service_gone(void *ctx, struct sl_rec *r);
void cl_service_done(struct sl_rec *r);
bool cl_service_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* Does it have endpoints that follow from its pods? */
static inline bool cl_service_selects(const struct cl_service *s) {
    return s->pair && !s->external && !s->rec.deleting;
}

/* What endpoints are made of, of a pod that has an address; NULL: it has none. */
char *cl_network_pod_text(yyjson_val *spec, yyjson_val *status);
void cl_network_pod_changed(struct sl_cluster *c, struct cl_pod *p);
/* Before its labels change, and when it goes. */
void cl_network_pod_leaves(struct sl_cluster *c, struct cl_pod *p);

/* ---- what stands in them (gather.c) ---- */

/* Endpoints with the same ports. */
struct cl_port_group {
    const char *ports; /* an array of JSON */
    uint64_t hash;     /* of these, and of the address family */
    bool six;
};

struct cl_endpoint {
    uint64_t key;                            /* hash of address and pod: what it is recognised by */
    const char *ip, *hostname, *node, *zone; /* all but ip may be "" */
    const char *target;                      /* JSON of a targetRef; NULL: none */
    const char *name;                        /* for the order */
    uint32_t group;
    bool ready, serving, terminating, mirrored; /* mirrored: it says no more than 'ready' */
};

struct cl_endpoints {
    struct sl_arena arena;
    SL_VEC(struct cl_endpoint) v;
    SL_VEC(struct cl_port_group) groups;
};
void cl_endpoints_done(struct cl_endpoints *e);
void cl_endpoints_of_pods(struct sl_cluster *c, const struct cl_service *s,
                          struct cl_endpoints *ret);
/* Of subsets that somebody wrote. */
void cl_endpoints_of_subsets(const char *subsets, struct cl_endpoints *ret);
/* Appends them as "subsets"; returns whether there were too many. */
bool cl_endpoints_put_subsets(const struct cl_service *s, const struct cl_endpoints *e,
                              struct sl_jw *j);
void cl_endpoint_put(struct sl_jw *j, const struct cl_endpoint *e);
/* "labels": those of 'of' (JSON, or NULL) without what is reserved, then pairs of name and value up
 * to NULL. Those of 'old' that are no longer there become null. */
void cl_network_put_labels(struct sl_jw *j, const char *of, const char *const *more,
                           const char *old);
/* "labels": all of 'of', and null for those of 'old' that it does not have. */
void cl_network_change_labels(struct sl_jw *j, const char *of, const char *old);
/* Of an array of ports, as in 'groups'. */
uint64_t cl_ports_hash(yyjson_val *ports, bool six);

/* ---- Endpoints (endpoints.c) ---- */

struct cl_endpoints_object {
    struct sl_rec rec;
    char *labels;     /* JSON; NULL: none */
    char *subsets;    /* of one that may be mirrored, JSON; NULL: it is not */
    uint64_t content; /* hash of labels and subsets */
    bool truncated;
    uint64_t number; /* of the next slice's name */
};
static inline struct cl_endpoints_object *cl_endpoints_object_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_endpoints_object, rec);
}
bool cl_endpoints_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_endpoints_changed(void *ctx, struct sl_rec *r);
void cl_endpoints_free(struct sl_rec *r);
bool cl_endpoints_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* Fills a body with labels and subsets of a Service; 'old': its present state, or NULL. */
void cl_endpoints_put(struct sl_cluster *c, const struct cl_service *s,
                      const struct cl_endpoints_object *old, struct sl_jw *j);

/* ---- EndpointSlices (slices.c) ---- */

struct cl_slice {
    struct sl_rec rec;
    SL_VEC(uint64_t) members; /* keys of its endpoints */
    uint64_t ports;           /* hash of a port group */
    uint64_t content, wanted; /* hashes of what it has and of what it should have */
    char *labels;             /* JSON; NULL: none */
    char *want;               /* fields of the body; NULL: it is as it should be */
    bool six;
};
static inline struct cl_slice *cl_slice_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_slice, rec);
}
bool cl_slice_wanted(void *ctx, yyjson_val *o);
bool cl_slice_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_slice_changed(void *ctx, struct sl_rec *r);
void cl_slice_free(struct sl_rec *r);
/* Mirrors of earlier Endpoints of that name are deleted. */
void cl_slices_drop_others(struct sl_cluster *c, const struct sl_rec *object);
bool cl_slice_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* Of a Service and of Endpoints. */
bool cl_slice_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);

struct cl_slices_plan {
    struct sl_rec *owner;
    const char *manager;            /* NET_SLICES_OF_... */
    const char *labels;             /* JSON, to be copied; NULL: none */
    const struct cl_endpoints *all; /* NULL: there are to be no slices */
    uint64_t *number;
    bool headless;
    bool placeholder; /* an empty one if there are no endpoints */
};
void cl_slices_plan(struct sl_cluster *c, const struct cl_slices_plan *p);

#endif
