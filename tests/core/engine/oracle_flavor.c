/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, section 2: which flavor each podset gets, and how well it fits there.
 */
#include <string.h>

#include "oracle.h"

/* Rule 2.5, in rising order. */
enum granular { G_NO_FIT, G_NO_CANDIDATES, G_PREEMPT, G_RECLAIM, G_FIT };

struct granular_mode {
    enum granular mode;
    int borrow;
};

int orc_count_after_reclaim(const struct orc_wl *w, int p) {
    int count = w->spec.ps[p].count;
    return count - (w->reclaimed[p] < count ? w->reclaimed[p] : count);
}

/* ---- 2.3: the filter before quota ---- */

static bool tolerated(const struct orc_flavor *f, const struct orc_podset *ps, int key) {
    if (f->taint[key] == ORC_TAINT_NONE || f->taint[key] == ORC_TAINT_PREFER)
        return true;
    if (f->tolerates[key] || ps->tol[key] == ORC_TOL_EXISTS)
        return true;
    return ps->tol[key] == ORC_TOL_NO_SCHEDULE && f->taint[key] == ORC_TAINT_NO_SCHEDULE;
}

static bool rule_holds(const struct orc_rule *r, int label) {
    switch (r->op) {
    case ORC_OP_IN:
        return label == r->value;
    case ORC_OP_NOT_IN:
        return label != r->value;
    case ORC_OP_EXISTS:
        return label != 0;
    default:
        return label == 0;
    }
}

bool orc_flavor_matches(const struct orc *o, int fi, const struct orc_podset *ps) {
    const struct orc_flavor *f = &o->flavor[fi];
    bool any = false;

    if (!f->exists)
        return false;
    for (int k = 0; k < ORC_KEYS; k++) {
        if (!tolerated(f, ps, k))
            return false;
        /* Keys the flavor does not label are not looked at. */
        if (f->label[k] && ps->selector[k] && ps->selector[k] != f->label[k])
            return false;
    }
    for (int t = 0; t < ps->n_terms; t++) {
        bool holds = true;
        int left = 0;
        for (int i = 0; i < ps->term[t].n; i++) {
            const struct orc_rule *r = &ps->term[t].rule[i];
            if (!f->label[r->key])
                continue;
            left++;
            holds &= rule_holds(r, f->label[r->key]);
        }
        if (left == 0)
            return true; /* the whole affinity is vacuous */
        any |= holds;
    }
    return ps->n_terms == 0 || any;
}

/* ---- 2.5 ---- */

static bool preferred(struct granular_mode a, struct granular_mode b, enum sl_preference pref) {
    if (a.mode == G_NO_FIT || b.mode == G_NO_FIT)
        return a.mode != G_NO_FIT;
    if (pref == SL_PREEMPTION_OVER_BORROWING && a.borrow != b.borrow)
        return a.borrow < b.borrow;
    if (a.mode != b.mode)
        return a.mode > b.mode;
    return a.borrow < b.borrow;
}

static bool try_next(struct granular_mode m, const struct orc_cq *cq) {
    if (m.mode == G_NO_FIT || m.mode == G_NO_CANDIDATES)
        return true;
    if ((m.mode == G_PREEMPT || m.mode == G_RECLAIM) && cq->when_preempt == SL_TRY_NEXT_FLAVOR)
        return true;
    return m.borrow > 0 && cq->when_borrow == SL_TRY_NEXT_FLAVOR;
}

/* ---- 2.4 ---- */

static struct granular_mode fits_quota(struct orc_snap *s, int w, int cq, int fr, sl_amount val) {
    const struct orc *o = s->o;
    const struct orc_cq *p = &o->cq[cq];
    struct granular_mode no = {G_NO_FIT, 0}, m = {G_FIT, 0};
    bool may_reclaim, while_borrowing;
    sl_amount request[ORC_FRS] = {0};
    bool contested[ORC_FRS] = {false};
    struct orc_targets t;

    if (val > orc_potential(s, cq, fr))
        return no;
    m.borrow = orc_borrow_level(s, cq, fr, val, &may_reclaim);
    if (val <= orc_available(s, cq, fr))
        return m;
    while_borrowing =
        p->borrow_within != SL_BORROW_NEVER || (o->config.fair && p->reclaim != SL_RECLAIM_NEVER);
    if (s->subtree[cq][fr] < val && !may_reclaim && !while_borrowing)
        return no;

    request[fr] = val;
    contested[fr] = true;
    orc_find_targets(s, w, cq, request, contested, &t);
    if (t.n == 0) {
        m.mode = G_NO_CANDIDATES;
        return m;
    }
    m.mode = G_RECLAIM;
    for (int i = 0; i < t.n; i++) {
        if (o->wl[t.wl[i]].cq == cq)
            m.mode = G_PREEMPT;
        orc_take_out(s, t.wl[i]);
    }
    m.borrow = orc_borrow_level(s, cq, fr, val, &may_reclaim);
    for (int i = 0; i < t.n; i++)
        orc_put_back(s, t.wl[i]);
    return m;
}

/* ---- rules 2.2, 2.5, 2.6: one resource group for one group of podsets ---- */

struct choice {
    bool found;
    int flavor, tried;
    struct granular_mode mode[ORC_RES];
};

static struct choice find_flavor(struct orc_snap *s, int w, int cq, const struct orc_group *g,
                                 int start, const struct orc_podset *const *ps, int n_ps,
                                 const bool *asks, const sl_amount *request,
                                 const sl_amount *assumed) {
    const struct orc_cq *p = &s->o->cq[cq];
    struct choice best = {0};
    struct granular_mode best_mode = {G_NO_FIT, 0};
    int attempted = -1;

    for (int i = start; i < g->n_flavors; i++) {
        struct choice c = {.found = true, .flavor = g->flavor[i]};
        struct granular_mode worst = {G_FIT, 0};
        bool matches = true;

        attempted = i;
        for (int k = 0; k < n_ps; k++)
            matches &= orc_flavor_matches(s->o, c.flavor, ps[k]);
        if (!matches)
            continue;
        for (int k = 0; k < g->n_res && worst.mode != G_NO_FIT; k++) {
            int r = g->res[k], fr = orc_fr(c.flavor, r);
            if (!asks[r])
                continue;
            c.mode[r] = fits_quota(s, w, cq, fr, sl_amount_add(assumed[fr], request[r]));
            if (preferred(worst, c.mode[r], p->preference) || c.mode[r].mode == G_NO_FIT)
                worst = c.mode[r];
        }
        if (!try_next(worst, p)) {
            best = c;
            break;
        }
        if (preferred(worst, best_mode, p->preference)) {
            best = c;
            best_mode = worst;
        }
    }
    best.tried = attempted == g->n_flavors - 1 ? -1 : attempted;
    return best;
}

static bool covers(const struct orc_node *n, int res) {
    for (int g = 0; g < n->n_groups; g++)
        for (int i = 0; i < n->group[g].n_res; i++)
            if (n->group[g].res[i] == res)
                return true;
    return false;
}

/* Rule 2.2: podsets [first, last) stand together. Returns false if they get nothing. */
static bool assign_together(struct orc_snap *s, int w, int cq, int first, int last, bool use_record,
                            struct orc_assignment *out) {
    const struct orc *o = s->o;
    const struct orc_wl *wl = &o->wl[w];
    const struct orc_node *node = &o->node[cq];
    const struct orc_podset *ps[ORC_PODSETS];
    bool asks[ORC_RES] = {false};
    sl_amount request[ORC_RES] = {0};
    struct choice got[ORC_GROUPS] = {0};

    for (int p = first; p < last; p++) {
        ps[p - first] = &wl->spec.ps[p];
        for (int r = 0; r < ORC_RES; r++) {
            sl_amount v = sl_amount_mul(wl->spec.ps[p].each[r], out->count[p]);
            if (r == ORC_PODS && covers(node, r))
                v = out->count[p];
            else if (!wl->spec.ps[p].asks[r])
                continue;
            asks[r] = true;
            out->amount[p][r] = v;
            request[r] = sl_amount_add(request[r], v);
        }
    }
    for (int r = 0; r < ORC_RES; r++)
        if (asks[r] && !covers(node, r) && request[r] != 0 && !o->config.ignore_undeclared)
            return false;

    for (int g = 0; g < node->n_groups; g++) {
        const struct orc_group *rg = &node->group[g];
        int start = 0;
        bool asked = false;
        /* The resume index is that of the first podset; which resource triggers the group is
         * Kueue's map order, ours is the first declared one that has an index. */
        for (int i = rg->n_res - 1; i >= 0; i--) {
            asked |= asks[rg->res[i]];
            if (use_record && wl->has_record && wl->tried[first][rg->res[i]] != -2)
                start = wl->tried[first][rg->res[i]] + 1;
        }
        if (!asked)
            continue;
        got[g] = find_flavor(s, w, cq, rg, start, ps, last - first, asks, request, out->usage);
        if (!got[g].found)
            return false;
    }

    for (int p = first; p < last; p++)
        for (int g = 0; g < node->n_groups; g++)
            for (int i = 0; i < node->group[g].n_res; i++) {
                int r = node->group[g].res[i], fr = orc_fr(got[g].flavor, r);
                struct granular_mode m = got[g].mode[r];
                if (!got[g].found || !(wl->spec.ps[p].asks[r] || r == ORC_PODS))
                    continue;
                out->flavor[p][r] = got[g].flavor;
                out->fmode[p][r] = m.mode == G_FIT ? ORC_FIT : ORC_PREEMPT;
                out->tried[p][r] = got[g].tried;
                out->borrow = m.borrow > out->borrow ? m.borrow : out->borrow;
                out->usage[fr] = sl_amount_add(out->usage[fr], out->amount[p][r]);
                if (m.mode != G_FIT)
                    out->mode = ORC_PREEMPT;
            }
    return true;
}

void orc_assign(struct orc_snap *s, int w, int cq, const int *counts, bool use_record,
                struct orc_assignment *out) {
    const struct orc_wl *wl = &s->o->wl[w];

    memset(out, 0, sizeof *out);
    out->mode = ORC_FIT;
    for (int p = 0; p < ORC_PODSETS; p++) {
        if (p < wl->spec.n)
            out->count[p] = counts ? counts[p] : orc_count_after_reclaim(wl, p);
        for (int r = 0; r < ORC_RES; r++) {
            out->flavor[p][r] = -1;
            out->tried[p][r] = -2;
        }
    }
    for (int p = 0, next; p < wl->spec.n; p = next) {
        int group = wl->spec.ps[p].group;
        for (next = p + 1; group && next < wl->spec.n && wl->spec.ps[next].group == group;)
            next++;
        if (!assign_together(s, w, cq, p, next, use_record, out)) {
            out->mode = ORC_NO_FIT;
            return;
        }
    }
}

/* ---- rules 1.5, 2.8 ---- */

static bool accepted(struct orc_snap *s, int w, int cq, const int *counts, bool use_record,
                     struct orc_assignment *a, struct orc_targets *t) {
    bool contested[ORC_FRS] = {false};

    t->n = 0;
    orc_assign(s, w, cq, counts, use_record, a);
    if (a->mode != ORC_PREEMPT)
        return a->mode == ORC_FIT;
    for (int p = 0; p < ORC_PODSETS; p++)
        for (int r = 0; r < ORC_RES; r++)
            if (a->flavor[p][r] >= 0 && a->fmode[p][r] == ORC_PREEMPT)
                contested[orc_fr(a->flavor[p][r], r)] = true;
    orc_find_targets(s, w, cq, a->usage, contested, t);
    return t->n > 0;
}

void orc_get_assignment(struct orc_snap *s, int w, int cq, bool use_record,
                        struct orc_assignment *a, struct orc_targets *t) {
    const struct orc_wl *wl = &s->o->wl[w];
    int delta[ORC_PODSETS] = {0}, total = 0, lo = 0, hi, good = -1;
    struct orc_assignment part, best = {0};
    struct orc_targets part_t, best_t = {0};

    if (accepted(s, w, cq, NULL, use_record, a, t))
        return;
    for (int p = 0; p < wl->spec.n; p++) {
        if (wl->spec.ps[p].min_count)
            delta[p] = wl->spec.ps[p].count - wl->spec.ps[p].min_count;
        total += delta[p];
    }
    if (total == 0 || !orc_gate(s->o, SL_GATE_PARTIAL_ADMISSION))
        return;
    for (hi = total + 1; lo < hi;) {
        int k = (lo + hi) / 2, counts[ORC_PODSETS] = {0};
        for (int p = 0; p < wl->spec.n; p++)
            counts[p] = wl->spec.ps[p].count - (int)((int64_t)delta[p] * k / total);
        if (accepted(s, w, cq, counts, use_record, &part, &part_t)) {
            good = k;
            best = part;
            best_t = part_t;
            hi = k;
        } else {
            lo = k + 1;
        }
    }
    if (good == lo) {
        *a = best;
        *t = best_t;
    }
}

bool orc_fits_when_idle(const struct orc *o, int w) {
    struct orc_snap s;
    struct orc_assignment a;
    struct orc_targets t;

    if (o->wl[w].state != ORC_PENDING || o->wl[w].cq < 0)
        return false;
    orc_snapshot(o, &s);
    for (int v = 0; v < o->n_wls; v++)
        if (o->wl[v].state == ORC_RESERVED)
            orc_take_out(&s, v);
    orc_get_assignment(&s, w, o->wl[w].cq, false, &a, &t);
    return a.mode == ORC_FIT;
}
