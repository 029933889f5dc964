/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of Workloads: the interface (exact.h). Each Workload is one job of the matcher,
 * FQ_EXACT_ID and its number.
 */
#include "manager/fluxqueue/exact.h"

#include "core/base/fmt.h"
#include "manager/fluxqueue/exact_int.h"

void sl_exact_use(struct sl_fluxqueue *q) {
    q->in_use = true;
}

/* Pods that had to wait for that (fq_exact_may). */
static void enqueue_pods(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));)
        if (fq_pod_of(r)->workload && fq_pod_of(r)->binds && !fq_pod_of(r)->node)
            sl_rec_enqueue(r);
}

void sl_exact_observed(struct sl_fluxqueue *q, bool all) {
    bool now = q->unobserved && all;
    q->unobserved = !all;
    q->moved |= now;
    if (now)
        enqueue_pods(q);
}

bool fq_exact_puts_off(struct sl_fluxqueue *q) {
    q->put_off |= q->releasing;
    return q->releasing;
}

void sl_exact_releasing(struct sl_fluxqueue *q, bool releasing) {
    bool now = q->put_off && !releasing;
    uint32_t job = 0, pod = 0;
    q->releasing = releasing;
    q->put_off &= releasing;
    for (struct sl_rec *r; now && (r = sl_inf_each(q->inf, FQ_FLUXJOB, &job));)
        if (fq_job_of(r)->held && !fq_job_committed(fq_job_of(r)))
            sl_rec_write(r);
    for (struct sl_rec *r; now && (r = sl_inf_each(q->inf, FQ_POD, &pod));)
        if (fq_pod_of(r)->held && !fq_pod_of(r)->node)
            sl_rec_write(r);
}

uint64_t sl_exact_version(struct sl_fluxqueue *q) {
    q->has_workloads = true;
    q->yields = false;
    return q->capacity + q->freed;
}

/* ---- at a later time ---- */

/* Reservations of jobs that were made behind one of a Workload: when it starts, a little later than
 * it was meant to, they are not in its way. */
struct behind {
    struct sl_grant g;
    int64_t id;
};
typedef SL_VEC(struct behind) behinds;

static void lift_behind(struct sl_fluxqueue *q, const struct fq_exact *x, behinds *ret) {
    uint32_t n = x && x->later ? sl_match_reservations(q->match, x->from, NULL, 0) : 0;
    int64_t *ids = sl_alloc(((size_t)n + 1) * sizeof *ids);
    (void)sl_match_reservations(q->match, n ? x->from : 0, ids, n);
    for (uint32_t i = 0; i < n; i++) {
        struct behind b = {.id = ids[i]};
        if (b.id >= FQ_EXACT_ID || sl_match_grant(q->match, b.id, &b.g) < 0)
            continue; /* Workloads decide that among themselves */
        *sl_vec_push(ret) = b;
        fq_graph_cancel(q, b.id);
    }
    sl_freep(&ids);
}

/* Those that are in the way after all are made again by the queue. */
static void put_behind(struct sl_fluxqueue *q, behinds *v) {
    for (uint32_t i = 0; i < v->n; i++) {
        struct behind *b = &v->v[i];
        struct sl_err err = {0};
        if (sl_match_update_later(q->match, b->id, b->g.picks.v, b->g.picks.n, b->g.at,
                                  b->g.duration, &err) < 0)
            fq_exact_changed(q);
        sl_grant_done(&b->g);
    }
    sl_vec_free(v);
}

/* A node is there once for each podset. */
static void add_seat(struct fq_exact *x, const struct fq_seat *s) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == s->node && x->seats.v[i].podset == s->podset) {
            x->seats.v[i].count += s->count;
            return;
        }
    *sl_vec_push(&x->seats) = *s;
}

static void add_seats(struct sl_fluxqueue *q, struct fq_found *f, uint32_t podset,
                      const struct sl_exact_place *p) {
    for (uint32_t i = 0; i < p->n; i++)
        *sl_vec_push(&f->seats) = (struct fq_seat){
            .node = fq_exact_node_of_host(q, sl_sym_put(&q->inf->syms, p->v[i].hostname)),
            .podset = podset,
            .count = p->v[i].count,
        };
}

static void hold(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                 const struct sl_exact_podset *v, uint32_t n, struct fq_found *f, bool later) {
    struct fq_exact *x = fq_exact_add(q, o, later);
    fq_exact_add_parts(q, x, v, n);
    for (uint32_t i = 0; i < f->seats.n; i++)
        *sl_vec_push(&x->seats) = f->seats.v[i];
    if (!later)
        fq_exact_seat_all(q, x->ns, x->workload, false);
    fq_exact_into_matcher(q, x);
    fq_exact_changed(q);
}

/* ---- slices ---- */

/* Of what the slice before has for the podset of this name, as much as is needed: first what its
 * pods have taken. Returns for how many pods. */
static uint32_t keep_seats(const struct fq_exact *old, struct fq_exact *x, uint32_t podset,
                           uint32_t count) {
    uint32_t has = 0;
    for (int free = 0; free < 2; free++)
        for (uint32_t i = 0; i < old->seats.n && has < count; i++) {
            struct fq_seat s = old->seats.v[i];
            if (old->parts.v[s.podset].name != x->parts.v[podset].name)
                continue;
            s.count = free ? s.count - s.taken : s.taken;
            s.count = s.count < count - has ? s.count : count - has;
            s.podset = podset;
            s.taken = 0;
            has += s.count;
            if (s.count)
                add_seat(x, &s);
        }
    return has;
}

/* What a slice keeps is held for it, in place of all that the one before has. */
static struct fq_exact *begin_slice(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                                    const struct fq_exact *old, const struct sl_exact_podset *v,
                                    uint32_t n, struct sl_exact_podset *ret_rest) {
    struct fq_exact *x = fq_exact_add(q, o, false);
    fq_exact_add_parts(q, x, v, n);
    for (uint32_t i = 0; i < n; i++) {
        ret_rest[i] = v[i];
        ret_rest[i].count -= keep_seats(old, x, i, v[i].count);
    }
    fq_graph_cancel(q, fq_exact_id(old));
    fq_exact_into_matcher(q, x);
    return x;
}

/* With these in addition it has what it needs; NULL: all is as it was before. */
static void end_slice(struct sl_fluxqueue *q, struct fq_exact *x, struct fq_exact *old,
                      const struct fq_found *more) {
    struct fq_exact *stays = more ? x : old;
    fq_graph_cancel(q, fq_exact_id(x));
    for (uint32_t i = 0; more && i < more->seats.n; i++)
        add_seat(x, &more->seats.v[i]);
    fq_exact_drop(q, more ? old : x);
    fq_exact_into_matcher(q, stays);
    if (!more)
        return;
    fq_exact_seat_all(q, stays->ns, stays->workload, false);
    fq_exact_changed(q);
}

static struct fq_exact *slice_before(const struct sl_fluxqueue *q, const struct sl_exact_owner *o) {
    return o->before ? fq_exact_by_key(q, o->before) : NULL;
}

static bool place_slice(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                        const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused,
                        char *why, size_t why_len) {
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct fq_exact *old = slice_before(q, o), *x = begin_slice(q, o, old, v, n, rest);
    struct fq_found more = {0};
    bool fine = !fq_exact_unready(q) && fq_exact_find(q, o, rest, n, x, &more, ret_refused);
    if (!fine)
        fq_exact_explain(q, o, rest, *ret_refused, x, why, why_len);
    end_slice(q, x, old, fine ? &more : NULL);
    sl_vec_free(&more.seats);
    return fine;
}

/* A reservation is not free: nobody waits for it to be released. */
static void drop_later(struct sl_fluxqueue *q, struct fq_exact *x) {
    if (q->match)
        fq_graph_cancel(q, fq_exact_id(x));
    fq_exact_drop(q, x);
    fq_exact_changed(q);
}

bool sl_exact_place(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, uint32_t *ret_refused, char *why,
                    size_t why_len) {
    const char *not_now = fq_exact_unready(q);
    struct fq_exact *x = fq_exact_by_key(q, o->key);
    behinds behind = {0};
    struct fq_found f = {0};
    *ret_refused = 0;
    if (not_now || n > SL_EXACT_MAX_PODSETS) {
        sl_fmt_short(why, why_len, "%s", not_now ? not_now : "it has too many podsets");
        return false;
    }
    if (slice_before(q, o)) {
        sl_exact_release(q, o->key);
        return place_slice(q, o, v, n, ret_refused, why, why_len);
    }
    bool reserved = x && x->later; /* and stays so if there is nothing now */
    lift_behind(q, x, &behind);
    if (reserved)
        sl_exact_set_aside(q, o->key, true);
    else
        sl_exact_release(q, o->key);
    bool fine = fq_exact_find(q, o, v, n, NULL, &f, ret_refused);
    if (!fine)
        fq_exact_explain(q, o, v, *ret_refused, NULL, why, why_len);
    if (reserved && !fine)
        sl_exact_set_aside(q, o->key, false);
    if (reserved && fine)
        drop_later(q, x);
    if (fine)
        hold(q, o, v, n, &f, false);
    put_behind(q, &behind);
    sl_vec_free(&f.seats);
    return fine;
}

/* Others than these seats are its own from now on; those of before are in f. */
static void swap_seats(struct sl_fluxqueue *q, struct fq_exact *x, struct fq_found *f) {
    sl_map_foreach (i, &q->pods_by_workload, fq_exact_name_key(x->ns, x->workload)) {
        struct fq_pod *p = fq_pod_of(q->inf->recs.v[i]);
        if (p->exact == x->id + 1)
            p->exact = 0;
    }
    for (uint32_t i = 0; i < x->seats.n; i++)
        x->seats.v[i].taken = 0;
    struct fq_found old = {{x->seats.v, x->seats.n, x->seats.cap}};
    x->seats.v = f->seats.v;
    x->seats.n = f->seats.n;
    x->seats.cap = f->seats.cap;
    f->seats.v = old.seats.v;
    f->seats.n = old.seats.n;
    f->seats.cap = old.seats.cap;
}

static bool is_seat(const struct fq_found *f, sl_sym node) {
    for (uint32_t i = 0; i < f->seats.n; i++)
        if (f->seats.v[i].node == node)
            return true;
    return false;
}

static bool is_kept(const struct fq_exact *x, sl_sym node) {
    for (uint32_t i = 0; i < x->seats.n; i++)
        if (x->seats.v[i].node == node)
            return true;
    return false;
}

/* What runs comes before what is only reserved. */
static void lift_reserved(struct sl_fluxqueue *q, bool aside) {
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i] && q->exacts.v[i]->later)
            sl_exact_set_aside(q, q->exacts.v[i]->key, aside);
}

bool sl_exact_move(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *keep, uint32_t n) {
    struct fq_exact *x = fq_exact_by_key(q, o->key);
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct fq_found seats = {0}, more = {0};
    uint32_t refused;
    if (!x || fq_exact_unready(q) || n > SL_EXACT_MAX_PODSETS)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t has = 0;
        for (uint32_t k = 0; k < keep[i].n; k++)
            has += keep[i].v[k].count;
        rest[i] = v[i];
        rest[i].count -= has < v[i].count ? has : v[i].count;
        add_seats(q, &seats, i, &keep[i]);
    }
    /* What it keeps stays held while the rest is looked for. */
    fq_graph_cancel(q, fq_exact_id(x));
    swap_seats(q, x, &seats);
    fq_exact_into_matcher(q, x);
    lift_reserved(q, true);
    bool fine = !fq_exact_unready(q) && fq_exact_find(q, o, rest, n, x, &more, &refused);
    lift_reserved(q, false);
    fq_graph_cancel(q, fq_exact_id(x));
    /* One that it was to leave, and that is not known here to have failed. */
    for (uint32_t i = 0; i < more.seats.n && fine; i++)
        fine = !is_seat(&seats, more.seats.v[i].node) || is_kept(x, more.seats.v[i].node);
    for (uint32_t i = 0; fine && i < more.seats.n; i++)
        add_seat(x, &more.seats.v[i]);
    if (!fine)
        swap_seats(q, x, &seats);
    fq_exact_seat_all(q, x->ns, x->workload, false);
    fq_exact_into_matcher(q, x);
    if (fine) {
        fq_exact_changed(q);
        q->freed++; /* reservations may be in its way now */
    }
    sl_vec_free(&seats.seats);
    sl_vec_free(&more.seats);
    return fine;
}

bool sl_exact_could(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n) {
    struct sl_exact_podset rest[SL_EXACT_MAX_PODSETS];
    struct fq_found f = {0};
    uint32_t refused;
    if (fq_exact_unready(q) || n > SL_EXACT_MAX_PODSETS)
        return false;
    struct fq_exact *old = slice_before(q, o);
    struct fq_exact *x = old ? begin_slice(q, o, old, v, n, rest) : NULL;
    fq_exact_lift_leaving(q, -1);
    bool could = !fq_exact_unready(q) && fq_exact_find(q, o, x ? rest : v, n, x, &f, &refused);
    fq_exact_lift_leaving(q, 1);
    if (x)
        end_slice(q, x, old, NULL);
    sl_vec_free(&f.seats);
    return could;
}

bool sl_exact_soon(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, uint32_t n) {
    return q->leaving.n > 0 && sl_exact_could(q, o, v, n);
}

void sl_exact_set_aside(struct sl_fluxqueue *q, uint64_t key, bool aside) {
    struct fq_exact *x = fq_exact_by_key(q, key);
    if (!x || x->aside == aside)
        return;
    x->aside = aside;
    if (q->match && aside)
        fq_graph_cancel(q, fq_exact_id(x));
    else
        fq_exact_into_matcher(q, x);
}

/* The same as it has: nobody needs to know. */
static bool holds(const struct fq_exact *x, bool later, const struct fq_found *f) {
    bool same = x && x->later == later && x->seats.n == f->seats.n;
    for (uint32_t i = 0; same && i < f->seats.n; i++) {
        const struct fq_seat *a = &x->seats.v[i], *b = &f->seats.v[i];
        same = a->node == b->node && a->podset == b->podset && a->count == b->count;
    }
    return same;
}

void sl_exact_hold(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, const struct sl_exact_place *places,
                   uint32_t n) {
    struct fq_found f = {0};
    for (uint32_t i = 0; i < n; i++)
        add_seats(q, &f, i, &places[i]);
    if (!holds(fq_exact_by_key(q, o->key), false, &f)) {
        sl_exact_release(q, o->key);
        hold(q, o, v, n, &f, false);
    }
    sl_vec_free(&f.seats);
}

bool sl_exact_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                    const struct sl_exact_podset *v, uint32_t n, int64_t from, int64_t *ret_at) {
    struct fq_exact *x = fq_exact_by_key(q, o->key);
    struct sl_exact_owner then = *o;
    behinds behind = {0};
    struct fq_found f = {0};
    int64_t at = from > fq_now(q) ? from : fq_now(q) + 1;
    if (fq_exact_unready(q) || n > SL_EXACT_MAX_PODSETS || (x && !x->later))
        return false;
    lift_behind(q, x, &behind);
    sl_exact_set_aside(q, o->key, true);
    fq_exact_lift_leaving(q, -1);
    bool fine = fq_exact_find_later(q, o, v, n, &f, &at);
    fq_exact_lift_leaving(q, 1);
    if (fine && holds(x, true, &f) && x->from == at) {
        sl_exact_set_aside(q, o->key, false);
    } else {
        if (x)
            drop_later(q, x);
        then.since = sl_span_seconds(at);
        if (fine)
            hold(q, &then, v, n, &f, true);
    }
    put_behind(q, &behind);
    *ret_at = at;
    sl_vec_free(&f.seats);
    return fine;
}

void sl_exact_forgo(struct sl_fluxqueue *q, uint64_t key) {
    struct fq_exact *x = fq_exact_by_key(q, key);
    if (x && x->later)
        drop_later(q, x);
}

void sl_exact_release(struct sl_fluxqueue *q, uint64_t key) {
    struct fq_exact *x = fq_exact_by_key(q, key);
    if (!x)
        return;
    if (x->later) {
        drop_later(q, x);
        return;
    }
    sl_sym ns = x->ns, workload = x->workload;
    if (q->match)
        fq_graph_cancel(q, fq_exact_id(x));
    fq_exact_drop(q, x);
    fq_exact_seat_all(q, ns, workload, true);
    q->freed++;
    fq_exact_changed(q);
}

uint32_t sl_exact_held(const struct sl_fluxqueue *q, uint64_t key, struct sl_arena *a,
                       const struct sl_exact_place **ret) {
    const struct fq_exact *x = fq_exact_by_key(q, key);
    if (!x || x->later)
        return 0;
    struct sl_exact_place *v = sl_arena_alloc0(a, x->parts.n + 1, sizeof *v);
    for (uint32_t i = 0; i < x->parts.n; i++) {
        struct sl_exact_node *nodes = sl_arena_alloc0(a, x->seats.n + 1, sizeof *nodes);
        for (uint32_t k = 0; k < x->seats.n; k++) {
            const struct fq_seat *s = &x->seats.v[k];
            const struct fq_node *n = s->podset == i ? fq_node_find(q, s->node) : NULL;
            sl_sym host = n ? n->hostname : 0;
            if (s->podset == i)
                nodes[v[i].n++] = (struct sl_exact_node){
                    sl_arena_strdup(a, fq_str(q, host ? host : s->node)), s->count};
        }
        v[i].v = nodes;
    }
    *ret = v;
    return x->parts.n;
}
