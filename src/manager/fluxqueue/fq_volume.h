/* SPDX-License-Identifier: Apache-2.0 */
/* Private to src/manager/fluxqueue: claims of volumes, volumes and their classes. */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_VOLUME_H
#define SL_MANAGER_FLUXQUEUE_FQ_VOLUME_H

#include "core/base/arena.h"
#include "core/graph/request.h"
#include "kube/informer/informer.h"

struct fq_job;
struct fq_pod;
struct sl_fluxqueue;

/* ---- volumes (volumes.c) ---- */

/* The nodes that a volume can be used on, or made for; or those of pods (own.c). */
struct fq_where {
    struct sl_arena arena;
    struct sl_constraint constraint;
    uint64_t hash;
    bool unreadable; /* then no node is one of them */
};
struct fq_claim {
    struct sl_rec rec;
    char *volume, *class; /* "": none */
    sl_sym selected;      /* the node that its annotation says */
    sl_sym wanted;        /* that it is to say */
    uint32_t by;          /* the number of the pod that is to get it there */
    sl_sym rejected;      /* that it said when its provisioner gave up */
    uint64_t hash;        /* of all that is read of it */
    bool bound;
};
struct fq_volume {
    struct sl_rec rec;
    struct fq_where where;
};
struct fq_storage {
    struct sl_rec rec;
    struct fq_where where;
    bool waits; /* for the first consumer */
    bool provisions;
};

/* ---- own.c ---- */
/* Read if the object has a jobspec of its own, or was refused, so that its FluxJob may still have
 * such; 'spec' is that of its pods. NULL: anywhere. Returns 'refused' (and leaves the error) if
 * that is below 0. */
int fq_own_read(struct fq_where **at, yyjson_val *object, yyjson_val *spec, int refused,
                struct sl_err *err) _must_check_;
void fq_own_free(struct fq_where **at);
uint64_t fq_own_hash(const struct sl_fluxqueue *q, const struct fq_job *j);
void fq_own_where(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                  struct sl_constraint *ret);
/* And this. */
void fq_where_and(const struct sl_constraint *c, struct sl_arena *a, struct sl_constraint *ret);

/* ---- volumes.c ---- */
/* The claims of a pod, or of a template (pod: NULL), one in a line; NULL: none. To be freed. */
char *fq_claims_read(struct sl_fluxqueue *q, yyjson_val *spec, const char *pod);
bool fq_claim_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_claim_deleted(void *ctx, struct sl_rec *r);
void fq_claim_free(struct sl_rec *r);
void fq_claim_hold(struct sl_syms *t, struct sl_rec *r);
bool fq_claim_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool fq_volume_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_volume_free(struct sl_rec *r);
bool fq_storage_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_storage_free(struct sl_rec *r);
/* Of claims as they were read: the first that cannot be used yet, and why; NULL: all can. */
const char *fq_claims_trouble(const struct sl_fluxqueue *q, sl_sym ns, const char *names,
                              char ret_name[SL_REC_NAME]);
/* What they say of nodes: changes when that does; and the same as a constraint, added to *ret. */
uint64_t fq_claims_hash(const struct sl_fluxqueue *q, sl_sym ns, const char *names);
void fq_claims_where(const struct sl_fluxqueue *q, sl_sym ns, const char *names, struct sl_arena *a,
                     struct sl_constraint *ret);
/* The same of the claims that all pods of a job have. */
uint64_t fq_volumes_hash(const struct sl_fluxqueue *q, const struct fq_job *j);
/* One of them is not ready: the job waits, and says so. */
bool fq_volumes_wait(struct sl_fluxqueue *q, struct fq_job *j);
/* The constraint of these is added to *ret; the same of one pod. */
void fq_volumes_where(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                      struct sl_constraint *ret);
void fq_volumes_where_pod(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_arena *a,
                          struct sl_constraint *ret);
/* May a pod be on this node? */
bool fq_volumes_allow(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node);
/* All claims of a pod are bound; if not, those that wait for it are told its node. j: its FluxJob;
 * NULL: it has none. */
bool fq_volumes_ready(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j);
/* Lets jobs look again, if claims, volumes or classes have changed. */
void fq_volumes_changed(struct sl_fluxqueue *q);

#endif
