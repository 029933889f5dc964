/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pods of a jobspec that is the owner's own may be. It says nothing of their node
 * selector and required affinity, and no kubelet takes a pod against these.
 */
#include "manager/fluxqueue/fq_int.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define MAX_WHERE ((size_t)1 << 20)

void fq_own_free(struct fq_where **at) {
    if (!*at)
        return;
    sl_arena_done(&(*at)->arena);
    sl_freep(at);
}

int fq_own_read(struct fq_where **at, yyjson_val *object, yyjson_val *spec, int refused,
                struct sl_err *err) {
    struct fq_where *w;
    struct sl_err why = {0};
    int r;
    fq_own_free(at);
    if (refused >= 0 && !sl_json_annotation_opt(object, SL_FLUX_JOBSPEC))
        return refused;
    w = sl_alloc0(1, sizeof *w);
    w->arena = SL_ARENA(MAX_WHERE);
    w->hash = sl_json_hash(sl_json_hash(11, sl_json_get(spec, "nodeSelector")),
                           sl_json_at(spec, "affinity.nodeAffinity"));
    r = fq_where_pod(spec, &w->arena, &w->constraint, &why);
    *at = w;
    if (r < 0 || w->constraint.kind == SL_CONSTRAINT_ALL)
        fq_own_free(at);
    if (refused < 0)
        return refused;
    if (r < 0)
        *err = why;
    return r;
}

static const struct fq_where *where_of(const struct sl_fluxqueue *q, const struct fq_job *j) {
    const struct sl_rec *o = fq_job_object(q, j);
    return !o || o->kind == FQ_GROUP ? NULL
           : o->kind == FQ_POD       ? SL_CONTAINER_OF(o, const struct fq_pod, rec)->own_where
                                     : SL_CONTAINER_OF(o, const struct fq_obj, rec)->own_where;
}

uint64_t fq_own_hash(const struct sl_fluxqueue *q, const struct fq_job *j) {
    const struct fq_where *w = where_of(q, j);
    return w ? w->hash : 0;
}

void fq_own_where(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                  struct sl_constraint *ret) {
    const struct fq_where *w = where_of(q, j);
    if (w)
        fq_where_and(&w->constraint, a, ret);
}

void fq_where_and(const struct sl_constraint *c, struct sl_arena *a, struct sl_constraint *ret) {
    if (c->kind == SL_CONSTRAINT_ALL)
        return;
    struct sl_constraint *both = sl_arena_alloc(a, 2 * sizeof *both);
    both[0] = *ret;
    both[1] = *c;
    *ret = ret->kind == SL_CONSTRAINT_ALL
               ? *c
               : (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = both, .n_terms = 2};
}
