/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pod of a job has which of its places. Nothing of it is stored: a pod that is bound has a
 * place on its node, and the others get what is free in an order that does not change, by their
 * completion index or else by age. So a process that starts anew gives out the same.
 */
#include <stdlib.h>
#include <string.h>

#include "manager/fluxqueue/fq_int.h"

struct live {
    SL_VEC(struct fq_pod *) v;
};

static int by_rank(const void *a, const void *b) {
    const struct fq_pod *x = *(struct fq_pod *const *)a, *y = *(struct fq_pod *const *)b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

static bool take(struct fq_job *j, const struct fq_pod *p, sl_sym node) {
    for (uint32_t i = 0; i < j->places.n; i++)
        if (j->places.v[i].pod == FQ_NO_POD && j->places.v[i].node == node) {
            j->places.v[i].pod = p->rec.id;
            return true;
        }
    return false;
}

/* Those that are bound, or on their way, have their places first. What is bound elsewhere is there
 * as a pod of others is. */
static void keep(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    for (uint32_t i = 0; i < l->v.n; i++) {
        struct fq_pod *p = l->v.v[i];
        sl_sym at = p->node ? p->node : p->target;
        bool has = at && take(j, p, at);
        if (!has)
            fq_pod_target(q, p, 0);
        if (p->node)
            fq_pod_charge(q, p, has ? 0 : p->node);
    }
}

/* The others: the place of its index if that is free, or the first that is. */
static bool is_free(const struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_pod *p,
                    uint32_t place) {
    return j->places.v[place].pod == FQ_NO_POD && fq_node_has_room(q, p, j->places.v[place].node);
}

static void assign(struct sl_fluxqueue *q, struct fq_job *j, struct fq_pod *p) {
    uint32_t want = p->index >= 0 ? (uint32_t)p->index : j->places.n;
    if (want >= j->places.n || !is_free(q, j, p, want))
        for (want = 0; want < j->places.n && !is_free(q, j, p, want);)
            want++;
    if (want == j->places.n)
        return;
    j->places.v[want].pod = p->rec.id;
    fq_pod_target(q, p, j->places.v[want].node);
}

/* Free places beyond what pods may still come for are given back, the last first. */
static bool give_back(struct fq_job *j, uint32_t needed) {
    uint32_t n = j->places.n, over = n > needed ? n - needed : 0, kept = n;
    for (uint32_t i = n; i-- > 0 && over > 0;)
        if (j->places.v[i].pod == FQ_NO_POD) {
            memmove(&j->places.v[i], &j->places.v[i + 1], (kept - i - 1) * sizeof *j->places.v);
            kept--;
            over--;
        }
    j->places.n = kept;
    return kept != n;
}

static uint32_t still_needed(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    if (!o || o->gone)
        return 0;
    if (o->kind == FQ_POD)
        return !fq_pod_of(o)->ended;
    return fq_obj_of(o)->finished ? 0 : fq_obj_of(o)->pods;
}

void fq_places_observe(struct sl_fluxqueue *q, struct fq_job *j) {
    struct fq_pods_of at = {0};
    for (uint32_t i = 0; i < j->places.n; i++)
        j->places.v[i].pod = FQ_NO_POD;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        bool there = p->node && !p->ended && !p->rec.gone;
        fq_pod_charge(q, p, there && !(j->held && take(j, p, p->node)) ? p->node : 0);
    }
}

void fq_places_sync(struct sl_fluxqueue *q, struct fq_job *j) {
    struct live l = {0};
    struct fq_pods_of at = {0};
    uint32_t expected = still_needed(q, j), bound = 0;

    for (uint32_t i = 0; i < j->places.n; i++)
        j->places.v[i].pod = FQ_NO_POD;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        if (p->ended || p->rec.gone) {
            fq_pod_charge(q, p, 0);
            fq_pod_target(q, p, 0);
        } else {
            *sl_vec_push(&l.v) = p;
            bound += p->node != 0;
        }
    }
    if (l.v.n)
        qsort(l.v.v, l.v.n, sizeof *l.v.v, by_rank);
    keep(q, j, &l);
    j->missing = 0;
    for (uint32_t i = 0; i < l.v.n; i++) {
        struct fq_pod *p = l.v.v[i];
        if (p->node)
            continue;
        if (!p->target && !p->rec.deleting)
            assign(q, j, p);
        j->missing += !p->target && !p->rec.deleting;
    }
    if (give_back(j, l.v.n > expected ? l.v.n : expected)) {
        fq_job_touch(j);
        fq_graph_hold(q, j);
        q->freed++;
    }
    if (bound != j->bound_pods || expected != j->expected) {
        j->bound_pods = bound;
        j->expected = expected;
        fq_job_touch(j);
    }
    for (uint32_t i = 0; i < l.v.n; i++)
        if (l.v.v[i]->target && !l.v.v[i]->node && fq_job_committed(j))
            sl_rec_write(&l.v.v[i]->rec);
    sl_vec_free(&l.v);
}
