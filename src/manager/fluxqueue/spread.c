/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds between the pods of one job (jobspec.h) also holds for those that come later: those of
 * a job that grows, and those in place of others. They are matched as a job of their own, which
 * knows nothing of the places that are kept, so that these become a constraint: all pods in the one
 * domain that has some, or none in a domain that would get too many.
 *
 * A domain is a node, or all nodes with the same values of a level and of those above it. How many
 * pods one has is what its jobspec says: no domain gets more, while those that are left may be
 * less. Nodes that have lost some get theirs first.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/fluxqueue/fq_int.h"

/* ---- rules ---- */

/* Its place among levels and nodes; FQ_MAX_LEVELS + 1: none of them, such as the cluster. */
static uint32_t tier_of(const struct fq_jobspec_options *o, const char *type) {
    for (uint32_t i = 0; i < o->n_levels; i++)
        if (strcmp(o->levels[i].type, type) == 0)
            return i;
    return strcmp(type, "node") == 0 ? o->n_levels : FQ_MAX_LEVELS + 1;
}

void fq_spread_read(const struct sl_fluxqueue *q, const struct fq_jobspec_info *info,
                    uint32_t together, struct fq_spread *ret) {
    bool one = true;
    *ret = (struct fq_spread){0};
    for (uint32_t i = 0; i < info->n_tiers; i++) {
        const struct fq_jobspec_tier *t = &info->tiers[i];
        uint32_t tier = tier_of(&q->options, t->type);
        one = one && t->count == 1;
        if (tier > FQ_MAX_LEVELS || ret->n > FQ_MAX_LEVELS)
            continue;
        /* Of an owner's own jobspec that is not known: one pod on a node may be all or one. */
        bool all =
            together == FQ_TOGETHER_UNKNOWN ? one && t->each > 1 : (together >> tier & 1) != 0;
        ret->v[ret->n++] = (struct fq_spread_rule){
            .tier = tier, .most = all ? UINT32_MAX : t->each, .exclusive = t->exclusive};
    }
}

/* The least that all of them come in; 1: any number. */
static uint32_t unit_of(const struct fq_spread *s) {
    uint32_t most = s->n ? s->v[s->n - 1].most : 1;
    return most == UINT32_MAX ? 1 : most;
}

uint32_t fq_spread_round(const struct fq_spread *s, uint32_t pods) {
    return pods < unit_of(s) ? pods : pods - pods % unit_of(s);
}

void fq_spread_shape(const struct sl_fluxqueue *q, const struct fq_spread *s, uint32_t pods,
                     struct fq_jobspec_tier *ret) {
    uint32_t above = pods, unit = unit_of(s);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct fq_spread_rule *r = &s->v[i];
        uint32_t each = r->most < above ? r->most : above;
        while (above % each != 0 || (above % unit == 0 && each % unit != 0))
            each--;
        ret[i] = (struct fq_jobspec_tier){
            .type = r->tier < q->options.n_levels ? q->options.levels[r->tier].type : "node",
            .each = each,
            .exclusive = r->exclusive};
        above = each;
    }
}

/* ---- domains ---- */

struct domain {
    const struct fq_node *node; /* one of it */
    uint32_t pods;
};
struct domains {
    SL_VEC(struct domain) v;
    struct sl_map by_hash;
};

static void domains_done(struct domains *d) {
    sl_vec_free(&d->v);
    sl_map_done(&d->by_hash);
}

static sl_sym value_of(const struct sl_fluxqueue *q, const struct fq_node *n, uint32_t level) {
    return fq_node_label(q, n, q->options.levels[level].label);
}

static uint64_t domain_hash(const struct sl_fluxqueue *q, const struct fq_node *n, uint32_t tier) {
    uint64_t h = 1;
    if (tier == q->options.n_levels)
        return sl_hash_u64(h, n->rec.id);
    for (uint32_t i = 0; i <= tier; i++)
        h = sl_hash_u64(h, value_of(q, n, i));
    return h;
}

static bool same_domain(const struct sl_fluxqueue *q, const struct fq_node *a,
                        const struct fq_node *b, uint32_t tier) {
    bool same = tier < q->options.n_levels || a == b;
    for (uint32_t i = 0; i <= tier && i < q->options.n_levels && tier < q->options.n_levels; i++)
        same = same && value_of(q, a, i) == value_of(q, b, i);
    return same;
}

static void add(const struct sl_fluxqueue *q, struct domains *d, uint32_t tier,
                const struct fq_kept *k) {
    const struct fq_node *n = fq_node_find(q, k->node);
    /* One that is not there any more, or in none of this level. */
    if (!n || (tier < q->options.n_levels && !value_of(q, n, tier)))
        return;
    uint64_t h = domain_hash(q, n, tier);
    sl_map_foreach (i, &d->by_hash, h)
        if (same_domain(q, d->v.v[i].node, n, tier)) {
            d->v.v[i].pods += k->pods;
            return;
        }
    sl_map_add(&d->by_hash, h, d->v.n);
    *sl_vec_push(&d->v) = (struct domain){n, k->pods};
}

/* ---- constraints ---- */

/* Both must hold. */
static void also(struct sl_arena *a, struct sl_constraint *to, const struct sl_constraint *c) {
    struct sl_constraint *both = sl_arena_alloc(a, 2 * sizeof *both);
    both[0] = *to;
    both[1] = *c;
    *to = to->kind == SL_CONSTRAINT_ALL
              ? *c
              : (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = both, .n_terms = 2};
}

static struct sl_constraint without(struct sl_arena *a, const struct sl_constraint *c) {
    struct sl_constraint *in = sl_arena_alloc(a, sizeof *in);
    *in = *c;
    return (struct sl_constraint){.kind = SL_CONSTRAINT_NOT, .terms = in, .n_terms = 1};
}

/* In this domain of a level. */
static struct sl_constraint in_level(const struct sl_fluxqueue *q, const struct fq_node *n,
                                     uint32_t tier, struct sl_arena *a) {
    const char **names = sl_arena_alloc(a, (tier + 1) * sizeof *names);
    uint32_t n_names = 0;
    for (uint32_t i = 0; i <= tier; i++)
        if (value_of(q, n, i))
            names[n_names++] = sl_arena_printf(a, "%s=%s", q->options.levels[i].label,
                                               fq_str(q, value_of(q, n, i)));
    return (struct sl_constraint){
        .kind = SL_CONSTRAINT_PROPERTIES, .names = names, .n_names = n_names};
}

enum which { WITH_ANY, TOO_FULL, WITH_ROOM };

static bool is_one(const struct domain *d, enum which which, uint32_t most, uint32_t each) {
    bool full = d->pods > most || most - d->pods < each;
    return which == WITH_ANY || (which == TOO_FULL) == full;
}

/* On these nodes. False: there are none. */
static bool on_nodes(const struct domains *d, enum which which, uint32_t most, uint32_t each,
                     struct sl_arena *a, struct sl_constraint *ret) {
    const char **names = sl_arena_alloc(a, (d->v.n + 1) * sizeof *names);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->v.n; i++)
        if (is_one(&d->v.v[i], which, most, each))
            names[n++] = d->v.v[i].node->rec.name;
    *ret = (struct sl_constraint){.kind = SL_CONSTRAINT_HOSTS, .names = names, .n_names = n};
    return n > 0;
}

/* All are where some are already. */
static void stay(const struct sl_fluxqueue *q, const struct domains *d, uint32_t tier,
                 struct sl_arena *a, struct sl_constraint *ret) {
    struct sl_constraint c;
    if (d->v.n == 0)
        return;
    if (tier < q->options.n_levels)
        c = in_level(q, d->v.v[0].node, tier, a);
    else
        (void)on_nodes(d, WITH_ANY, 0, 0, a, &c);
    also(a, ret, &c);
}

static void leave_out(const struct sl_fluxqueue *q, const struct domains *d,
                      const struct fq_spread_rule *r, uint32_t each, struct sl_arena *a,
                      struct sl_constraint *ret) {
    struct sl_constraint c;
    if (r->tier == q->options.n_levels) {
        if (!on_nodes(d, TOO_FULL, r->most, each, a, &c))
            return;
        c = without(a, &c);
        also(a, ret, &c);
        return;
    }
    struct sl_constraint *terms = sl_arena_alloc(a, (d->v.n + 1) * sizeof *terms);
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->v.n; i++)
        if (is_one(&d->v.v[i], TOO_FULL, r->most, each)) {
            c = in_level(q, d->v.v[i].node, r->tier, a);
            terms[n++] = without(a, &c);
        }
    c = (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = terms, .n_terms = n};
    if (n > 0)
        also(a, ret, &c);
}

bool fq_spread_where(const struct sl_fluxqueue *q, const struct fq_spread *s,
                     const struct fq_jobspec_tier *shape, const struct fq_kept *kept, uint32_t n,
                     bool fill, struct sl_arena *a, struct sl_constraint *ret) {
    bool some = !fill;
    for (uint32_t i = 0; i < s->n; i++) {
        _cleanup_(domains_done) struct domains d = {0};
        const struct fq_spread_rule *r = &s->v[i];
        struct sl_constraint c;
        for (uint32_t k = 0; k < n; k++)
            add(q, &d, r->tier, &kept[k]);
        if (r->most == UINT32_MAX)
            stay(q, &d, r->tier, a, ret);
        else
            leave_out(q, &d, r, shape[i].each, a, ret);
        if (!fill || r->tier < q->options.n_levels || r->most == UINT32_MAX || r->exclusive)
            continue;
        some = on_nodes(&d, WITH_ROOM, r->most, shape[i].each, a, &c);
        if (some)
            also(a, ret, &c);
    }
    return some;
}
