/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of Workloads: which of them are in its places (exact.h). */
#include "manager/fluxqueue/exact_int.h"

#define WORKLOAD "kueue.x-k8s.io/workload"
#define SLICE "kueue.x-k8s.io/workload-slice-name"
#define PODSET "kueue.x-k8s.io/podset"

static void leave_seat(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_exact *x = p->exact ? q->exacts.v[p->exact - 1] : NULL;
    p->exact = 0;
    if (!x)
        return;
    x->seats.v[p->seat].taken--;
    /* One that is there and had none may have it now. */
    sl_map_foreach (i, &q->pods_by_workload, fq_exact_name_key(p->rec.ns, p->workload)) {
        struct sl_rec *r = q->inf->recs.v[i];
        if (fq_pod_of(r)->charged && r != &p->rec)
            sl_rec_enqueue(r);
    }
}

/* A pod that requests more than those of its podset (a container was injected, it was resized, or
 * somebody else names the Workload) has no place of it: it counts as one of others. */
static bool fits_seat(const struct fq_part *part, const struct fq_pod *p) {
    return !p->usage || part->whole || fq_usage_is_within(p->usage, part->usage);
}

bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_exact *x = fq_exact_of_pod(q, p);
    sl_sym at = fq_pod_at(p);
    bool there = x && at && !p->ended && !p->rec.gone;
    if (p->exact && there && p->exact == x->id + 1 && x->seats.v[p->seat].node == at &&
        fits_seat(&x->parts.v[x->seats.v[p->seat].podset], p))
        return true;
    leave_seat(q, p);
    for (uint32_t i = 0; there && i < x->seats.n; i++) {
        struct fq_seat *s = &x->seats.v[i];
        if (s->node != at || s->taken >= s->count ||
            (p->podset && x->parts.v[s->podset].name != p->podset) ||
            !fits_seat(&x->parts.v[s->podset], p))
            continue;
        s->taken++;
        p->exact = x->id + 1;
        p->seat = i;
        return true;
    }
    return false;
}

void fq_exact_pod_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    const char *slice = sl_json_annotation(o, SLICE), *name = sl_json_annotation(o, WORKLOAD);
    sl_sym workload = fq_intern(q, *slice ? slice : name);
    if (workload != p->workload) {
        leave_seat(q, p);
        if (p->workload)
            (void)sl_map_del(&q->pods_by_workload, fq_exact_name_key(p->rec.ns, p->workload),
                             p->rec.id);
        p->workload = workload;
        if (workload)
            sl_map_add(&q->pods_by_workload, fq_exact_name_key(p->rec.ns, workload), p->rec.id);
    }
    if (!workload)
        return;
    p->podset = sl_sym_put(&q->inf->syms, sl_json_label(o, PODSET));
    p->host = sl_sym_put(&q->inf->syms, sl_json_text(yyjson_obj_get(
                                            sl_json_at(o, "spec.nodeSelector"), SL_EXACT_LEVEL)));
}

/* It has left, or stays. The numbers of records are used again: none may be in the list twice. */
static void unlist_leaving(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (!p->leaving)
        return;
    uint32_t last = sl_vec_pop(&q->leaving), i = p->leaving - 1;
    if (i < q->leaving.n) {
        q->leaving.v[i] = last;
        fq_pod_of(q->inf->recs.v[last])->leaving = p->leaving;
    }
    p->leaving = 0;
}

void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p) {
    leave_seat(q, p);
    unlist_leaving(q, p);
    if (p->workload)
        (void)sl_map_del(&q->pods_by_workload, fq_exact_name_key(p->rec.ns, p->workload),
                         p->rec.id);
    p->workload = 0;
}

/* One that is not being deleted by then, such as an orphan, may run for ever. */
void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p) {
    bool released = p->released && q->client->mono < p->going;
    bool leaves = p->charged && (p->rec.deleting || released);
    if (leaves && !p->rec.deleting)
        sl_rec_reconcile_at(&p->rec, sl_time_add(q->client->wall, p->going - q->client->mono));
    if (leaves == (p->leaving != 0))
        return;
    q->freed++; /* what waits for it, or does not any more, looks again */
    if (!leaves) {
        unlist_leaving(q, p);
        return;
    }
    *sl_vec_push(&q->leaving) = p->rec.id;
    p->leaving = q->leaving.n;
}

/* Pods that are there and were counted as others' have the places now, or the other way round. */
void fq_exact_seat_all(struct sl_fluxqueue *q, sl_sym ns, sl_sym workload, bool released) {
    sl_map_foreach (i, &q->pods_by_workload, fq_exact_name_key(ns, workload)) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[i]);
        if (p->rec.ns != ns || p->workload != workload)
            continue;
        if (p->binds) {
            fq_plain_drop(q, p);
            fq_pod_target(q, p, 0);
            sl_rec_enqueue(&p->rec);
        }
        bool seated = fq_exact_seat(q, p);
        bool before = p->released;
        p->released = released && !fq_exact_of_pod(q, p); /* or the next slice has its place */
        if (p->released && !before)
            p->going = sl_time_add(q->client->mono, FQ_RELEASED_LATE);
        fq_pod_charge(q, p, seated || p->ended ? 0 : fq_pod_at(p));
        fq_exact_note_leaving(q, p);
    }
}

/* Pods that are being deleted do not count while a question is answered. */
void fq_exact_lift_leaving(struct sl_fluxqueue *q, int sign) {
    for (uint32_t i = q->leaving.n; i-- > 0;) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[q->leaving.v[i]]);
        if (p->charged)
            fq_pod_shift(q, p, sign);
        else
            unlist_leaving(q, p);
    }
}

/* ---- pods that name our scheduler ---- */

bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return fq_exact_of_pod(q, p) != NULL;
}

/* Places are given while a pod is gated, and are all known once they have been observed. */
bool fq_exact_may(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return p->workload && (p->gates || p->released || q->unobserved || fq_exact_has(q, p));
}

static bool has_seat(const struct fq_exact *x, sl_sym node) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == node && x->seats.v[i].taken < x->seats.v[i].count)
            return true;
    return false;
}

/* The manager has selected its node; there may still be one before it, or a volume elsewhere. */
static void aim(struct sl_fluxqueue *q, struct fq_pod *p, const struct fq_exact *x) {
    sl_sym node = fq_exact_node_of_host(q, p->host);
    if (!has_seat(x, node))
        return;
    if (!fq_volumes_allow(q, p, node))
        p->why = FQ_WHY_VOLUME;
    else if (fq_node_has_room(q, p, node))
        fq_pod_target(q, p, node);
}

void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p) {
    const struct fq_exact *x = fq_exact_of_pod(q, p);
    sl_time until;
    fq_pod_charge(q, p, fq_exact_seat(q, p) || p->ended ? 0 : fq_pod_at(p));
    if (p->ended || fq_pod_at(p) || p->rec.deleting || p->gates || !p->host) {
        if (!fq_pod_at(p))
            fq_pod_target(q, p, 0);
        return;
    }
    if (!q->leads)
        return;
    if (fq_unbound_pauses(q, p, &until)) { /* there is no other node for it */
        p->why = FQ_WHY_UNBOUND;
        sl_rec_reconcile_at(&p->rec, until);
        return;
    }
    if (!p->target)
        aim(q, p, x);
    if (p->target)
        sl_rec_write(&p->rec);
    else
        sl_rec_reconcile_at(&p->rec, sl_time_add(q->client->wall, FQ_GROW_PAUSE));
}

static const struct fq_node *node_by_label(const struct sl_fluxqueue *q, sl_sym host) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_NODE, &at));)
        if (fq_node_of(r)->hostname == host)
            return fq_node_of(r);
    return NULL;
}

/* As good as always it is the name. */
sl_sym fq_exact_node_of_host(const struct sl_fluxqueue *q, sl_sym host) {
    const struct fq_node *n = fq_node_find(q, host);
    if (n && n->hostname == host)
        return host;
    n = node_by_label(q, host);
    return n ? sl_sym_put(&q->inf->syms, n->rec.name) : host;
}
