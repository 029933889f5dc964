/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for places of Workloads, now or at a later time, and why there are none (exact.h).
 *
 * Podsets are matched one after the other, each beside those before it; one for which nothing is
 * left comes first in another attempt, since those before it may do with other nodes.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/fluxqueue/exact_int.h"

#define MAX_WHY 240u

/* A podset that needs nodes; request NULL: it cannot get any. */
struct want {
    struct sl_match_request *request; /* a reference */
    uint32_t count;                   /* 0: it needs none */
    bool whole;
};

/* As queue.c takes the places of a job. A node that no selector leads to is none. */
static uint32_t take(struct sl_fluxqueue *q, const struct sl_grant *g, uint32_t podset, bool whole,
                     struct fq_found *f) {
    const struct sl_graph *graph = sl_match_graph(q->match);
    sl_sym pods = sl_sym_find(sl_graph_syms(graph), "pods");
    uint32_t nodes = 0, sum = 0;
    for (uint32_t i = 0; i < g->picks.n; i++)
        nodes += sl_graph_vertex(graph, g->picks.v[i].v)->type == pods;
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *p = &g->picks.v[i];
        sl_sym node = sl_graph_vertex(graph, p->v)->type == pods ? fq_node_at(q, p->v) : 0;
        uint32_t n = (uint32_t)(whole ? g->n_slots / nodes : p->needs);
        const struct fq_node *there = fq_node_find(q, node);
        if (!there || !there->hostname || !n)
            continue;
        *sl_vec_push(&f->seats) = (struct fq_seat){.node = node, .podset = podset, .count = n};
        sum += n;
    }
    return sum;
}

static bool match(struct sl_fluxqueue *q, const struct sl_match_request *r, int64_t id,
                  struct sl_grant *g) {
    enum sl_match_verdict verdict = SL_BUSY;
    struct sl_err err = {0};
    return r &&
           sl_match_run(q->match, r, SL_MATCH_ALLOCATE, id, fq_now(q), &verdict, g, &err) >= 0 &&
           verdict == SL_MATCHED;
}

/* One after the other in this order. Returns how many found nodes. */
static uint32_t try_order(struct sl_fluxqueue *q, const struct want *w, const uint32_t *order,
                          uint32_t n, struct fq_found *f) {
    uint32_t done = 0;
    struct sl_grant g = {0};
    sl_vec_clear(&f->seats);
    for (; done < n; done++) {
        const struct want *x = &w[order[done]];
        int64_t id = FQ_EXACT_TRY + order[done];
        if (x->count == 0)
            continue;
        if (!match(q, x->request, id, &g))
            break;
        if (take(q, &g, order[done], x->whole, f) != x->count) {
            fq_graph_cancel(q, id);
            break;
        }
    }
    for (uint32_t i = 0; i < done; i++)
        if (w[order[i]].count)
            fq_graph_cancel(q, FQ_EXACT_TRY + order[i]);
    sl_grant_done(&g);
    return done;
}

static bool search(struct sl_fluxqueue *q, const struct want *w, uint32_t n, struct fq_found *f,
                   uint32_t *ret_refused) {
    uint32_t order[SL_EXACT_MAX_PODSETS];
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t attempt = 0; attempt <= n; attempt++) {
        uint32_t done = try_order(q, w, order, n, f);
        if (done == n)
            return true;
        uint32_t refused = *ret_refused = order[done];
        if (done == 0)
            return false;
        memmove(order + 1, order, done * sizeof *order);
        order[0] = refused;
    }
    return false;
}

static void want_all(struct sl_fluxqueue *q, const struct sl_exact_podset *v, uint32_t n,
                     const struct fq_exact *has, int64_t duration, struct want *ret) {
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].count == 0)
            continue;
        const struct fq_ask *a = fq_exact_ask(q, &v[i], i, has, v[i].count, duration);
        ret[i] = (struct want){.count = v[i].count, .whole = a->whole};
        ret[i].request = a->request ? sl_match_request_ref(a->request) : NULL;
    }
}

static void want_done(struct want *w, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        sl_match_request_freep(&w[i].request);
}

bool fq_exact_find(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                   const struct sl_exact_podset *v, uint32_t n, const struct fq_exact *has,
                   struct fq_found *f, uint32_t *ret_refused) {
    struct want w[SL_EXACT_MAX_PODSETS] = {0};
    want_all(q, v, n, has, o->duration, w);
    bool fine = search(q, w, n, f, ret_refused);
    want_done(w, n);
    return fine;
}

/* ---- at a later time ---- */

/* Does anything end, as far as is known? Otherwise only what is free now will be. */
static bool something_ends(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < q->exacts.n; i++)
        if (q->exacts.v[i] && q->exacts.v[i]->from + q->exacts.v[i]->length < FQ_END)
            return true;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        if (fq_job_of(r)->held && fq_job_of(r)->duration > 0)
            return true;
    return false;
}

/* All of them from *at on; where others of them stand then, a later time is tried: *at. The search
 * begins a second before, so that those that end then have ended; requests are a second longer for
 * it. False: no time is known. */
static bool try_later(struct sl_fluxqueue *q, const struct want *w, uint32_t n, enum sl_match_op op,
                      struct fq_found *f, int64_t *at, bool *ret_all) {
    enum sl_match_verdict verdict = SL_MATCHED;
    struct sl_grant g = {0};
    struct sl_err err = {0};
    uint32_t done = 0, held = 0;
    bool fine = true, all = true;
    sl_vec_clear(&f->seats);
    for (; done < n && fine && all; done++) {
        if (w[done].count == 0)
            continue;
        fine = w[done].request &&
               sl_match_run(q->match, w[done].request, op, FQ_EXACT_TRY + done, *at - 1, &verdict,
                            &g, &err) >= 0 &&
               verdict == SL_MATCHED;
        all = fine && (held == 0 || g.at <= *at);
        if (fine && g.at > *at)
            *at = g.at;
        held += fine;
        fine = fine && take(q, &g, done, w[done].whole, f) == w[done].count;
    }
    for (uint32_t i = 0; i < done; i++)
        if (w[i].count)
            fq_graph_cancel(q, FQ_EXACT_TRY + i);
    sl_grant_done(&g);
    *ret_all = all;
    return fine;
}

bool fq_exact_find_later(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                         const struct sl_exact_podset *v, uint32_t n, struct fq_found *f,
                         int64_t *at) {
    struct want w[SL_EXACT_MAX_PODSETS] = {0};
    bool fine = true, all = false;
    enum sl_match_op op = something_ends(q) ? SL_MATCH_ALLOCATE_OR_RESERVE : SL_MATCH_ALLOCATE;
    want_all(q, v, n, NULL, o->duration ? o->duration + 1 : 0, w);
    for (uint32_t i = 0; i < FQ_MAX_LATER && fine && !all; i++)
        fine = try_later(q, w, n, op, f, at, &all);
    want_done(w, n);
    return fine && all;
}

/* ---- why not ---- */

const char *fq_exact_unready(const struct sl_fluxqueue *q) {
    if (!q->inf->ready || !q->in_use || q->rebuild || q->taints_changed)
        return "the nodes are being read";
    return q->match ? NULL : "the cluster has no nodes";
}

static bool would_match(struct sl_fluxqueue *q, const struct sl_match_request *r) {
    enum sl_match_verdict verdict = SL_BUSY;
    struct sl_err err = {0};
    return r &&
           sl_match_run(q->match, r, SL_MATCH_WITHOUT, FQ_EXACT_TRY, fq_now(q), &verdict, NULL,
                        &err) >= 0 &&
           verdict == SL_MATCHED;
}

/* How many of them would get nodes: as many as last time, or that is found by halves. */
static uint32_t most(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                     const struct sl_exact_podset *p, uint32_t podset, const struct fq_exact *has,
                     struct fq_ask *all) {
    uint32_t low = 0, high = (p->count - 1) / all->step;
    for (uint32_t tried = 0; low < high; tried++) {
        uint32_t n = all->most + tried;
        if (!all->flat || !all->most || tried > 1 || n <= low || n > high)
            n = low + (high - low + 1) / 2;
        const struct fq_ask *a = fq_exact_ask_once(q, p, podset, has, n * all->step, o->duration);
        if (would_match(q, a->request))
            low = n;
        else
            high = n - 1;
    }
    all->most = low;
    return low * all->step;
}

void fq_exact_explain(struct sl_fluxqueue *q, const struct sl_exact_owner *o,
                      const struct sl_exact_podset *v, uint32_t podset, const struct fq_exact *has,
                      char *why, size_t why_len) {
    const struct sl_exact_podset *p = &v[podset];
    struct fq_ask *a = fq_exact_ask(q, p, podset, has, p->count, o->duration);
    const char *not_now = fq_exact_unready(q); /* it asked for host ports that nobody did before */
    char text[MAX_WHY];
    if (not_now) {
        sl_fmt_short(why, why_len, "%s", not_now);
        return;
    }
    if (!a->request) {
        sl_fmt_short(why, why_len, "%s", a->refused);
        return;
    }
    if (!fq_graph_could(q, a->request)) {
        sl_fmt_short(why, why_len, "no set of nodes has what %u pod(s) request, " FQ_EVEN_IF_FREE,
                     p->count);
        return;
    }
    sl_fmt_short(text, sizeof text, "no set of nodes has room for %u pod(s)", p->count);
    if (p->count > 1)
        sl_fmt_short(why, why_len, "%s, only for %u of them", text, most(q, o, p, podset, has, a));
    else
        sl_fmt_short(why, why_len, "%s", text);
}
