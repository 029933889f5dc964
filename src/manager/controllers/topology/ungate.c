/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of a Workload with a topology assignment: each gets the node selector of its domain, and
 * loses its gate.
 *
 * If every pod of a podset has a rank (a label of its job), the domains are assigned in the order
 * of ranks: neighbours are close to each other. Otherwise pods fill the first free domain in order
 * of arrival. Pods that have their selector, or are about to get it, keep it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/topology/tas.h"
#include "manager/controllers/topology/topology.h"

#define GATE "kueue.x-k8s.io/topology"
#define NOWHERE UINT32_MAX

/* The pods of one podset of a Workload while they are planned. */
struct group {
    struct sl_arena arena;
    struct sl_topo_place place;
    struct sl_map by_values; /* hash of a domain's values -> domain */
    uint32_t *upto;          /* per domain: how many pods stand in it and those before it */
    uint32_t n_slots;        /* in all of them */
    SL_VEC(struct mgr_rec_pod *) pods;
    int32_t count;     /* of the podset, as admitted */
    int32_t first;     /* the rank that begins it: a leader's podset comes before */
    int32_t subgroups; /* 0: ranks are numbered through */
    bool ranked;       /* its jobs give ranks */
};

/* Has it its selector, or will it in a moment? */
static bool is_settled(const struct mgr_rec_pod *p) {
    return !(p->gates & POD_GATE_TOPOLOGY) || mgr_pod_sent(p, POD_GATE_TOPOLOGY);
}

static uint64_t hash_values(const char *const *values, uint32_t n) {
    uint64_t h = 1;
    for (uint32_t i = 0; i < n; i++)
        h = sl_hash_str(h, values[i]);
    return h;
}

static void read_place(struct group *g, const char *topology) {
    g->place = mgr_tas_read_place(topology, &g->arena);
    g->upto = sl_arena_alloc0(&g->arena, g->place.n_domains + 1, sizeof *g->upto);
    for (uint32_t i = 0; i < g->place.n_domains; i++) {
        const struct sl_topo_domain *d = &g->place.domains[i];
        g->n_slots += d->count > 0 ? (uint32_t)d->count : 0;
        g->upto[i] = g->n_slots;
        sl_map_add(&g->by_values, hash_values(d->values, g->place.n_levels), i);
    }
}

/* The domain of a rank. */
static uint32_t slot(const struct group *g, uint32_t rank) {
    uint32_t low = 0, high = g->place.n_domains;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->upto[mid] <= rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < g->place.n_domains ? low : NOWHERE;
}

/* The selector that it has, or will in a moment. */
static yyjson_doc *selector_of(const struct sl_manager *m, const struct mgr_rec_pod *p) {
    const char *text =
        p->gates & POD_GATE_TOPOLOGY && p->select ? p->select : mgr_str(m, p->selector);
    return yyjson_read(text, strlen(text), 0);
}

bool mgr_tas_selects(const struct sl_manager *m, const struct mgr_rec_pod *p, const char *level,
                     const char *value) {
    if (!is_settled(p) && !(p->release & POD_GATE_TOPOLOGY))
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = selector_of(m, p);
    bool same = strcmp(sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), level)), value) == 0;
    return same;
}

/* The domain that a settled pod's selector leads to. */
static uint32_t domain_of(const struct sl_manager *m, const struct group *g,
                          const struct mgr_rec_pod *p) {
    const char *values[SL_TOPO_MAX_LEVELS];
    if (g->place.n_levels > SL_TOPO_MAX_LEVELS)
        return NOWHERE;
    _cleanup_(sl_json_docp) yyjson_doc *d = selector_of(m, p);
    for (uint32_t i = 0; i < g->place.n_levels; i++) {
        values[i] = sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), g->place.levels[i]));
    }
    uint32_t found = sl_map_get(&g->by_values, hash_values(values, g->place.n_levels));
    return found == SL_MAP_NONE ? NOWHERE : found;
}

static void release_pod(const struct group *g, struct mgr_rec_pod *p, uint32_t domain) {
    struct sl_buf b;
    sl_buf_init(&b, 65536);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    for (uint32_t i = 0; i < g->place.n_levels; i++)
        sl_jw_str(&j, g->place.levels[i], g->place.domains[domain].values[i]);
    sl_jw_end(&j);
    sl_freep(&p->select);
    p->select = sl_strdup(sl_buf_str(&b));
    p->release |= POD_GATE_TOPOLOGY;
    sl_buf_done(&b);
    sl_rec_write(&p->rec);
}

/* ---- by rank ---- */

/* -1: it has none that counts. */
static int32_t rank_of(const struct group *g, const struct mgr_rec_pod *p) {
    if (p->index < 0)
        return -1;
    if (!g->subgroups)
        return p->index < g->first || p->index - g->first >= g->count ? -1 : p->index - g->first;
    int32_t each = g->count / g->subgroups;
    if (p->subgroup < 0 || p->subgroup >= g->subgroups || p->index >= each)
        return -1;
    return p->index + p->subgroup * each;
}

/* Are all ranks known, different, and true of those that are settled? */
static bool ranks_hold(const struct sl_manager *m, struct group *g) {
    if (!g->ranked)
        return false;
    bool *taken = sl_arena_alloc0(&g->arena, (size_t)g->n_slots + 1, sizeof *taken);
    for (uint32_t i = 0; i < g->pods.n; i++) {
        const struct mgr_rec_pod *p = g->pods.v[i];
        int32_t rank = rank_of(g, p);
        if (rank < 0 || (uint32_t)rank >= g->n_slots || taken[rank])
            return false;
        taken[rank] = true;
        if (is_settled(p) && domain_of(m, g, p) != slot(g, (uint32_t)rank))
            return false;
    }
    return true;
}

/* ---- as they come ---- */

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct mgr_rec_pod *const *)a)->rec.name,
                  (*(struct mgr_rec_pod *const *)b)->rec.name);
}

static void fill(struct sl_manager *m, struct group *g) {
    uint32_t n = g->place.n_domains, at = 0;
    int32_t *used = sl_arena_alloc0(&g->arena, n + 1, sizeof *used);
    for (uint32_t i = 0; i < g->pods.n; i++) {
        uint32_t d = is_settled(g->pods.v[i]) ? domain_of(m, g, g->pods.v[i]) : NOWHERE;
        if (d != NOWHERE)
            used[d]++;
    }
    /* pointers are meant: NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(g->pods.v, g->pods.n, sizeof *g->pods.v, by_name);
    for (uint32_t d = 0; d < n; d++)
        for (; used[d] < g->place.domains[d].count; used[d]++) {
            while (at < g->pods.n && is_settled(g->pods.v[at]))
                at++;
            if (at == g->pods.n)
                return;
            release_pod(g, g->pods.v[at++], d);
        }
}

/* ---- the whole ---- */

static void plan_group(struct sl_manager *m, struct group *g) {
    if (!ranks_hold(m, g)) {
        fill(m, g);
        return;
    }
    for (uint32_t i = 0; i < g->pods.n; i++)
        if (!is_settled(g->pods.v[i]))
            release_pod(g, g->pods.v[i], slot(g, (uint32_t)rank_of(g, g->pods.v[i])));
}

static const struct mgr_wl_podset *podset_named(const struct mgr_rec_wl *w, sl_sym name) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (w->podsets[i].name == name)
            return &w->podsets[i];
    return NULL;
}

/* Of two podsets in a group the smaller one leads, and its pods come first. */
static int32_t leaders(const struct mgr_rec_wl *w, const struct mgr_wl_podset_admission *a,
                       const struct mgr_wl_podset *p) {
    const struct mgr_wl_admission *all = w->seen.admission;
    for (uint32_t i = 0; p->group && i < all->n; i++) {
        const struct mgr_wl_podset *other = podset_named(w, all->v[i].name);
        if (other && other != p && other->group == p->group &&
            (all->v[i].count < a->count || (all->v[i].count == a->count && other < p)))
            return all->v[i].count;
    }
    return 0;
}

static void read_ranks(const struct sl_manager *m, struct group *g, const struct mgr_wl_podset *p) {
    const char *text = mgr_str(m, p->request);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_val *o = yyjson_doc_get_root(d);
    int64_t subgroups = sl_json_int(o, "subGroupCount", 0);
    g->ranked = *sl_json_str(o, "podIndexLabel");
    if (*sl_json_str(o, "subGroupIndexLabel")) {
        g->ranked &= subgroups > 0 && subgroups <= g->count;
        g->subgroups = (int32_t)(g->ranked ? subgroups : 0);
    }
}

static void plan_podset(struct sl_manager *m, struct mgr_workload_pods *c,
                        const struct mgr_rec_wl *w, const struct mgr_wl_podset_admission *a) {
    const struct mgr_wl_podset *p = podset_named(w, a->name);
    struct group g = {.count = a->count};
    uint32_t waiting = 0;
    if (!p || !a->topology)
        return;
    for (struct mgr_rec_pod *x = c->pods; x; x = x->next)
        if (x->podset == a->name) {
            *sl_vec_push(&g.pods) = x;
            waiting += !is_settled(x);
        }
    if (waiting) {
        sl_arena_init(&g.arena, CEILING_RANKS);
        g.first = leaders(w, a, p);
        read_ranks(m, &g, p);
        read_place(&g, a->topology);
        if (sl_arena_full(&g.arena))
            sl_log(SL_LOG_WARN, "topology assignment too large, pods stay gated",
                   SL_S("namespace", mgr_str(m, w->rec.ns)), SL_S("name", w->rec.name));
        else
            plan_group(m, &g);
        sl_map_done(&g.by_values);
        sl_arena_done(&g.arena);
    }
    sl_vec_free(&g.pods);
}

static const struct mgr_rec_wl *workload_of(const struct sl_manager *m,
                                            const struct mgr_workload_pods *c) {
    const struct mgr_rec_wl *w = mgr_chain_active(m, c);
    return w ? w : mgr_wl_find(m, mgr_str(m, c->ns), c->name);
}

/* Not while it is to have other places: pods that were sent to the old ones would have to stay
 * there. */
static bool gives_places(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return w->seen.admission && mgr_wl_condition_is_true(m, w, "Admitted") &&
           !mgr_wl_condition_is_true(m, w, "Evicted") &&
           !mgr_wl_condition_is_true(m, w, "Finished") && !mgr_wl_changing(w, WL_ADMISSION);
}

void mgr_tas_plan(struct sl_manager *m, struct mgr_workload_pods *c) {
    if (!m->tas->topo)
        return;
    for (struct mgr_rec_pod *p = c->pods; p; p = p->next)
        if (!is_settled(p))
            p->release &= (uint8_t)~POD_GATE_TOPOLOGY;
    const struct mgr_rec_wl *w = workload_of(m, c);
    for (uint32_t i = 0; w && gives_places(m, w) && i < w->seen.admission->n; i++)
        plan_podset(m, c, w, &w->seen.admission->v[i]);
}

void mgr_tas_ungated(struct sl_manager *m, const struct mgr_rec_pod *p) {
    const struct mgr_rec_wl *w = p->siblings ? workload_of(m, p->siblings) : NULL;
    if (w)
        mgr_count_ungated(m, w, GATE, w->group);
}

void mgr_tas_workload_changed(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (m->tas->topo)
        mgr_workload_pods_touch(
            mgr_workload_pods_find(m, w->rec.ns, w->slice_name ? w->slice_name : w->rec.name));
}
