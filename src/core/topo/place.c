/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places for the podsets of a workload: flavor by flavor in the order of their names, and in each
 * the podsets in their order. What one has found is held at once, so the next one finds it taken;
 * if one finds nothing, all is given back.
 *
 * Two podsets of one group go together: workers, and a leader of one pod.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/topo/state.h"

/* ---- the request in the terms of the tree ---- */

/* Lumps of pods below the outermost slices: the innermost layer that begins at or below a level
 * rules it. */
static const char *resolve_layers(struct topo_query *a, struct sl_arena *mem) {
    const struct sl_topo_request *q = &a->p->request;
    uint32_t above = a->slice_level;
    int32_t size = a->size;
    for (uint32_t i = 1; i < q->n_slices; i++) {
        const char *name = q->slices[i].level;
        uint32_t level = topo_level_of(a, name);
        int32_t inner = q->slices[i].size;
        if (level == a->tree->levels->n)
            return sl_arena_printf(
                mem, "no requested topology level for additional slice layer: %s", name);
        if (level <= above)
            return sl_arena_printf(
                mem, "additional slice layer topology %s must be at a lower level than %s", name,
                sl_sym_str(&a->t->syms, a->tree->levels->v[above]));
        if (inner <= 0 || size % inner != 0)
            return sl_arena_printf(
                mem, "additional slice layer size %d must evenly divide parent layer size %d",
                inner, size);
        while (above < level)
            a->unit[++above] = inner;
        size = inner;
    }
    return NULL;
}

static const char *resolve_levels(struct topo_query *a, struct sl_arena *mem) {
    const struct sl_topo_request *q = &a->p->request;
    uint32_t lowest = a->tree->levels->n - 1;
    bool named = q->mode == SL_TOPO_REQUIRED || q->mode == SL_TOPO_PREFERRED;
    const char *slice = q->n_slices ? q->slices[0].level : NULL;
    a->required = q->mode == SL_TOPO_REQUIRED;
    a->climbs = q->mode == SL_TOPO_PREFERRED;
    a->least = !named;
    a->size = q->n_slices ? q->slices[0].size : 1;
    for (uint32_t i = 0; i <= lowest; i++)
        a->unit[i] = 1;
    if (a->size <= 0)
        return "slice topology requested, but slice size not provided";
    a->level = named ? topo_level_of(a, q->level) : slice ? 0 : lowest;
    if (a->level > lowest)
        return sl_arena_printf(mem, "no requested topology level: %s", q->level ? q->level : "");
    a->slice_level = slice ? topo_level_of(a, slice) : lowest;
    if (a->slice_level > lowest)
        return sl_arena_printf(mem, "no requested topology level for slices: %s", slice);
    if (a->level > a->slice_level)
        return sl_arena_printf(mem, "podset slice topology %s is above the podset topology %s",
                               slice, q->level);
    return resolve_layers(a, mem);
}

/* ---- one podset, or two together ---- */

struct job {
    struct sl_topo *t;
    const struct sl_topo_podset *v;
    uint32_t n;
    struct topo_hold *hold;
    struct sl_arena mem; /* texts, lists */
    bool done[SL_MAX_PODSETS];
};

static void need_add(struct topo_query *a, sl_sym res, sl_amount pod, sl_amount leader) {
    uint32_t i = 0;
    while (i < a->n_needs && a->needs[i].res != res)
        i++;
    if (i == a->n_needs)
        a->needs[a->n_needs++] = (struct topo_need){.res = res};
    a->needs[i].pod += pod;
    a->needs[i].leader += leader;
}

/* Places for 'count' pods of one podset, and for one of another (UINT32_MAX: none) with them. */
static const char *find_domains(struct job *j, struct topo_flavor *f, uint32_t podset,
                                int32_t count, uint32_t leader, struct topo_shares *ret) {
    struct topo_query a = {.t = j->t,
                           .f = f,
                           .tree = &f->tree,
                           .p = &j->v[podset],
                           .count = count,
                           .leader = leader != UINT32_MAX};
    const struct topo_part *p = &j->hold->v[podset], *l = a.leader ? &j->hold->v[leader] : NULL;
    const char *why = resolve_levels(&a, &j->mem);
    if (why)
        return why;
    a.needs = sl_arena_alloc0(&j->mem, p->n_requests + (l ? l->n_requests : 0), sizeof *a.needs);
    for (uint32_t i = 0; i < p->n_requests; i++)
        need_add(&a, p->requests[i].res, p->requests[i].v, 0);
    for (uint32_t i = 0; l && i < l->n_requests; i++)
        need_add(&a, l->requests[i].res, 0, l->requests[i].v);
    topo_count_all(&a);
    return topo_find_leaves(&a, &j->mem, ret);
}

/* Stands at leaves of the tree, by their numbers. */
struct stands {
    struct topo_placement *v;
    uint32_t n, cap;
};

static int by_leaf(const void *a, const void *b) {
    const struct topo_placement *x = a, *y = b;
    return x->spot < y->spot ? -1 : x->spot > y->spot;
}

/* The podset stands there and nowhere else: in the tree's order, at each leaf once. */
static void part_set(struct job *j, const struct topo_tree *tree, uint32_t podset,
                     struct stands *s) {
    struct topo_part *p = &j->hold->v[podset];
    topo_part_use(j->t, p, -1);
    for (uint32_t i = 0; i < p->n; i++)
        topo_spot_unref(j->t, p->v[i].spot);
    p->v = sl_realloc(p->v, s->n, sizeof *p->v);
    p->n = 0;
    if (s->n > 0)
        qsort(s->v, s->n, sizeof *s->v, by_leaf);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t spot = tree->leaves[s->v[i].spot].spot;
        if (p->n > 0 && p->v[p->n - 1].spot == spot) {
            p->v[p->n - 1].count += s->v[i].count;
            continue;
        }
        p->v[p->n++] = (struct topo_placement){.spot = spot, .count = s->v[i].count};
        j->t->spots.v[spot].refs++;
    }
    p->levels = tree->by_host ? (struct topo_levels){.n = 1, .v = {j->t->hostname}} : *tree->levels;
    topo_part_use(j->t, p, 1);
}

static bool same_levels(const struct sl_topo *t, const struct topo_tree *tree,
                        const struct sl_topo_place *b) {
    const struct topo_levels *l = tree->levels;
    if (b->n_levels == 0 || b->n_levels > l->n || (!tree->by_host && b->n_levels < l->n))
        return false;
    for (uint32_t i = 0; i < b->n_levels; i++)
        if (sl_sym_find(&t->syms, b->levels[i]) != l->v[l->n - b->n_levels + i])
            return false;
    return true;
}

/* What the podset keeps of the place it had, as many pods as it still has. If a domain of it is no
 * more, nothing: it is placed afresh. Returns how many pods that are. */
static int32_t keep_domains(struct job *j, const struct topo_flavor *f, uint32_t podset,
                            struct stands *ret) {
    const struct sl_topo_place *b = &j->v[podset].before;
    int32_t left = j->v[podset].count;
    if (b->n_domains == 0 || !same_levels(j->t, &f->tree, b))
        return 0;
    for (uint32_t i = 0; i < b->n_domains; i++) {
        struct topo_levels named = {.n = b->n_levels, .v = {0}};
        const char *const *values = b->domains[i].values;
        uint32_t n;
        named.v[named.n - 1] = f->tree.by_host ? j->t->hostname : 0;
        sl_sym owner = topo_spot_name(j->t, f->name, &named, &values, &n);
        uint32_t spot = topo_spot_find(j->t, owner, values, n);
        uint32_t leaf = spot == SL_MAP_NONE ? spot : sl_map_get(&f->tree.leaf_of, spot);
        int32_t count = b->domains[i].count < left ? b->domains[i].count : left;
        if (leaf == SL_MAP_NONE) {
            sl_vec_clear(ret);
            return 0;
        }
        if (count > 0)
            *sl_vec_push(ret) = (struct topo_placement){.spot = leaf, .count = count};
        left -= count > 0 ? count : 0;
    }
    return j->v[podset].count - left;
}

/* What is beyond the pods that stay: the workers' with the leader, or either alone. */
static const char *place_rest(struct job *j, struct topo_flavor *f, const uint32_t podsets[2],
                              const int32_t rest[2], struct stands at[2]) {
    uint32_t lowest = f->tree.first[f->tree.levels->n - 1];
    bool both = rest[0] > 0 && rest[1] > 0;
    uint32_t main = rest[0] > 0 ? 0 : 1;
    struct topo_shares s = {0};
    const char *why = NULL;
    if (rest[main] > 0)
        why = find_domains(j, f, podsets[main], rest[main], both ? podsets[1] : UINT32_MAX, &s);
    for (uint32_t i = 0; !why && i < s.n; i++) {
        if (s.v[i].pods > 0)
            *sl_vec_push(&at[main]) =
                (struct topo_placement){.spot = s.v[i].dom - lowest, .count = s.v[i].pods};
        if (s.v[i].leader)
            *sl_vec_push(&at[1]) = (struct topo_placement){.spot = s.v[i].dom - lowest, .count = 1};
    }
    sl_vec_free(&s);
    return why;
}

/* who[0] and with it, unless it is UINT32_MAX, the leader who[1]. */
static const char *place_group(struct job *j, struct topo_flavor *f, const uint32_t podsets[2]) {
    uint32_t n = podsets[1] == UINT32_MAX ? 1 : 2;
    struct stands at[2] = {0};
    int32_t rest[2] = {0};
    if (!topo_tree_of(j->t, f))
        return sl_arena_printf(&j->mem, "Flavor \"%s\" information missing in TAS cache",
                               sl_sym_str(&j->t->syms, f->name));
    for (uint32_t i = 0; i < n; i++) {
        j->done[podsets[i]] = true;
        rest[i] = j->v[podsets[i]].count - keep_domains(j, f, podsets[i], &at[i]);
    }
    const char *why = place_rest(j, f, podsets, rest, at);
    for (uint32_t i = 0; i < n; i++) {
        if (!why)
            part_set(j, &f->tree, podsets[i], &at[i]);
        sl_vec_free(&at[i]);
    }
    return why;
}

/* ---- all of them ---- */

/* The other one of its group in the flavor; a group is two, one of which is a single pod. */
static uint32_t group_partner(const struct job *j, uint32_t self) {
    const struct sl_topo_podset *p = &j->v[self];
    uint32_t other = UINT32_MAX, n = 0;
    if (!p->group || !*p->group)
        return UINT32_MAX;
    for (uint32_t i = 0; i < j->n; i++)
        if (i != self && j->v[i].group && strcmp(j->v[i].group, p->group) == 0 &&
            strcmp(j->v[i].flavor, p->flavor) == 0) {
            other = i;
            n++;
        }
    if (n != 1 || p->count < 1 || j->v[other].count < 1 ||
        (p->count != 1 && j->v[other].count != 1))
        return UINT32_MAX;
    return other;
}

/* The next podset that needs a place: by flavor's name, then as they stand. */
static uint32_t next_podset(const struct job *j) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < j->n; i++) {
        const char *name = j->v[i].flavor;
        if (!j->done[i] && j->v[i].count > 0 && sl_topo_has(j->t, name) &&
            (best == UINT32_MAX || strcmp(name, j->v[best].flavor) < 0))
            best = i;
    }
    return best;
}

/* Before any podset gets a new place, each keeps its own: or another of the same Workload would be
 * placed there, too. */
static void take_kept(struct job *j) {
    for (uint32_t i = 0; i < j->n; i++) {
        const struct sl_topo_podset *p = &j->v[i];
        struct topo_part *part = &j->hold->v[i];
        struct topo_flavor *f = p->count > 0 ? topo_flavor_of(j->t, p->flavor) : NULL;
        struct stands at = {0};
        if (!f || !sl_topo_has(j->t, p->flavor) || !topo_tree_of(j->t, f))
            continue;
        part->requests = topo_requests_of(j->t, p->requests, p->n_requests, &part->n_requests);
        (void)keep_domains(j, f, i, &at);
        part_set(j, &f->tree, i, &at);
        sl_vec_free(&at);
    }
}

static const char *place_all(struct job *j) {
    take_kept(j);
    for (uint32_t i; (i = next_podset(j)) != UINT32_MAX;) {
        uint32_t podsets[2] = {i, group_partner(j, i)};
        if (podsets[1] != UINT32_MAX && j->v[podsets[1]].count > j->v[podsets[0]].count) {
            podsets[0] = podsets[1];
            podsets[1] = i;
        }
        const char *why = place_group(j, topo_flavor_of(j->t, j->v[i].flavor), podsets);
        if (why) {
            j->t->refused = i;
            return why;
        }
    }
    return NULL;
}

bool sl_topo_place(struct sl_topo *t, uint64_t key, uint64_t replaces,
                   const struct sl_topo_podset *v, uint32_t n, char *why, size_t why_len) {
    struct job j = {.t = t, .v = v, .n = n};
    const char *reason = "too many podsets";
    sl_topo_release(t, key);
    if (n <= SL_MAX_PODSETS) {
        const struct topo_hold *old = replaces ? topo_hold_of(t, replaces) : NULL;
        j.hold = topo_hold_new(key, n);
        sl_arena_init(&j.mem, SIZE_MAX / 4); /* as long as the names it was given */
        if (old && !old->aside)
            topo_hold_use(t, old, -1);
        reason = place_all(&j);
        if (old && !old->aside)
            topo_hold_use(t, old, 1);
    }
    if (why_len > 0)
        sl_fmt_short(why, why_len, "%s", reason ? reason : "");
    if (!reason)
        topo_hold_put(t, j.hold);
    else if (j.hold)
        topo_hold_free(t, j.hold);
    sl_arena_done(&j.mem);
    return !reason;
}
