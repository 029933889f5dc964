/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, and what there is in each from the beginning. Private to src/cluster/controllers. */
#ifndef SL_CLUSTER_CONTROLLERS_NAMESPACE_NAMESPACE_H
#define SL_CLUSTER_CONTROLLERS_NAMESPACE_NAMESPACE_H

#include "cluster/controllers/apps/apps.h"
#include "cluster/controllers/gc/gc.h"
#include "core/model/labels.h"

/* What a pass over all kinds found in a namespace that is being deleted. */
struct cl_leftovers {
    SL_VEC(char *) kinds;      /* "pods. has 3 resource instances" */
    SL_VEC(char *) finalizers; /* each as often as it was observed */
    uint64_t objects;
    bool failed;
};

enum cl_ns_step { NS_IDLE, NS_DISCOVER, NS_LIST, NS_DELETE, NS_REPORT, NS_FINALIZE };

struct cl_namespace {
    struct sl_rec rec;
    bool emptied_by_us; /* spec.finalizers has "kubernetes" */
    char *finalizers;   /* the others, an array of JSON; NULL: none */
    struct cl_conditions conditions, desired_conditions;
    struct sl_arena arena; /* of labels */
    struct sl_labels labels;
    uint64_t labels_hash;
    bool over_limit;             /* there are too many of them: it has none, for us */
    sl_time account_at, root_at; /* mono: not requested again before */
    /* while it is being deleted */
    enum cl_ns_step step;
    uint64_t ticket;   /* of discovery */
    uint32_t at, pass; /* the resource; how many passes there were */
    uint32_t added;    /* gc.added, when the pass began */
    struct cl_leftovers found;
};
static inline struct cl_namespace *cl_namespace_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_namespace, rec);
}
bool cl_ns_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_ns_changed(void *ctx, struct sl_rec *r);
void cl_ns_done(struct sl_rec *r);
bool cl_ns_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_ns_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply);

/* serviceaccount.c: the default account and the ConfigMap with the authority's certificate. */
struct cl_root_ca {
    struct sl_rec rec;
    uint64_t data; /* hash of the certificate */
};
bool cl_account_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_account_gone(void *ctx, struct sl_rec *r);
bool cl_root_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
bool cl_root_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_root_changed(void *ctx, struct sl_rec *r);
/* What a living namespace lacks, as a write. */
bool cl_ns_defaults_build(struct sl_cluster *c, struct cl_namespace *n, struct sl_write *w);
bool cl_ns_defaults_missing(struct sl_cluster *c, const struct cl_namespace *n);

#endif
