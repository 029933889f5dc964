/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes: the podsets of workloads, interned, so that a million equal jobs share one description. A
 * shape has the original requests (raw) and what is counted (effective): excluded resources
 * dropped, transformations applied, per pod and rounded up. A plan is how a shape maps to one
 * ClusterQueue: which resource group for which podsets, and which flavors pass taints and labels.
 */
#include "core/engine/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- hashing, comparing and copying podsets ---- */

static uint64_t hash_labels(uint64_t h, const struct sl_labels *l) {
    h = sl_hash_u64(h, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        h = sl_hash_str(sl_hash_str(h, l->v[i].key), l->v[i].value);
    return h;
}

static uint64_t hash_podset(uint64_t h, const struct sl_podset_spec *p) {
    h = sl_hash_str(h, p->name);
    h = sl_hash_u64(h, (uint64_t)(uint32_t)p->count << 32 | (uint32_t)p->min_count);
    h = sl_hash_u64(h, p->n_requests);
    for (uint32_t i = 0; i < p->n_requests; i++) {
        h = sl_hash_str(h, p->requests[i].resource);
        h = sl_hash_u64(h, (uint64_t)p->requests[i].q);
    }
    h = hash_labels(h, &p->node_selector);
    h = sl_hash_u64(h, (uint64_t)p->affinity.n << 32 | p->n_tolerations);
    for (uint32_t i = 0; i < p->affinity.n; i++)
        for (uint32_t k = 0; k < p->affinity.terms[i].n; k++)
            h = sl_hash_str(h, p->affinity.terms[i].v[k].key);
    return sl_hash_str(sl_hash_str(h, p->group), p->topology);
}

static bool same_str(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_rule(const struct sl_label_rule *a, const struct sl_label_rule *b) {
    if (a->op != b->op || a->n_values != b->n_values || !same_str(a->key, b->key))
        return false;
    for (uint32_t i = 0; i < a->n_values; i++)
        if (!same_str(a->values[i], b->values[i]))
            return false;
    return true;
}

static bool same_podset(const struct sl_podset_spec *a, const struct sl_podset_spec *b) {
    if (a->count != b->count || a->min_count != b->min_count || a->n_requests != b->n_requests ||
        a->node_selector.n != b->node_selector.n || a->affinity.n != b->affinity.n ||
        a->n_tolerations != b->n_tolerations || !same_str(a->name, b->name) ||
        !same_str(a->group, b->group) || !same_str(a->topology, b->topology))
        return false;
    for (uint32_t i = 0; i < a->n_requests; i++)
        if (a->requests[i].q != b->requests[i].q ||
            !same_str(a->requests[i].resource, b->requests[i].resource))
            return false;
    for (uint32_t i = 0; i < a->node_selector.n; i++)
        if (!same_str(a->node_selector.v[i].key, b->node_selector.v[i].key) ||
            !same_str(a->node_selector.v[i].value, b->node_selector.v[i].value))
            return false;
    for (uint32_t i = 0; i < a->n_tolerations; i++) {
        const struct sl_toleration *x = &a->tolerations[i], *y = &b->tolerations[i];
        if (x->exists != y->exists || x->effect != y->effect || !same_str(x->key, y->key) ||
            !same_str(x->value, y->value))
            return false;
    }
    for (uint32_t i = 0; i < a->affinity.n; i++) {
        const struct sl_selector *x = &a->affinity.terms[i], *y = &b->affinity.terms[i];
        if (x->n != y->n)
            return false;
        for (uint32_t k = 0; k < x->n; k++)
            if (!same_rule(&x->v[k], &y->v[k]))
                return false;
    }
    return true;
}

static const char *copy_str(struct sl_arena *a, const char *s) {
    return sl_arena_strdup(a, s ? s : "");
}

static void copy_podset(struct sl_arena *a, const struct sl_podset_spec *p,
                        struct sl_podset_spec *o) {
    *o = *p;
    o->name = copy_str(a, p->name);
    o->group = copy_str(a, p->group);
    o->topology = copy_str(a, p->topology);
    const char **levels = sl_arena_alloc0(a, p->n_levels + 1, sizeof(*levels));
    for (uint32_t i = 0; i < p->n_levels; i++)
        levels[i] = copy_str(a, p->levels[i]);
    o->levels = levels;
    struct sl_request *r = sl_arena_alloc0(a, p->n_requests + 1, sizeof(*r));
    for (uint32_t i = 0; i < p->n_requests; i++)
        r[i] = (struct sl_request){copy_str(a, p->requests[i].resource), p->requests[i].q};
    o->requests = r;
    struct sl_label *l = sl_arena_alloc0(a, p->node_selector.n + 1, sizeof(*l));
    for (uint32_t i = 0; i < p->node_selector.n; i++)
        l[i] = (struct sl_label){copy_str(a, p->node_selector.v[i].key),
                                 copy_str(a, p->node_selector.v[i].value)};
    o->node_selector.v = l;
    struct sl_toleration *t = sl_arena_alloc0(a, p->n_tolerations + 1, sizeof(*t));
    for (uint32_t i = 0; i < p->n_tolerations; i++) {
        t[i] = p->tolerations[i];
        t[i].key = copy_str(a, p->tolerations[i].key);
        t[i].value = copy_str(a, p->tolerations[i].value);
    }
    o->tolerations = t;
    struct sl_selector *terms = sl_arena_alloc0(a, p->affinity.n + 1, sizeof(*terms));
    for (uint32_t i = 0; i < p->affinity.n; i++) {
        const struct sl_selector *s = &p->affinity.terms[i];
        struct sl_label_rule *rules = sl_arena_alloc0(a, s->n + 1, sizeof(*rules));
        for (uint32_t k = 0; k < s->n; k++) {
            rules[k] = s->v[k];
            rules[k].key = copy_str(a, s->v[k].key);
            const char **v = sl_arena_alloc0(a, s->v[k].n_values + 1, sizeof(*v));
            for (uint32_t m = 0; m < s->v[k].n_values; m++)
                v[m] = copy_str(a, s->v[k].values[m]);
            rules[k].values = v;
        }
        terms[i] = *s;
        terms[i].v = rules;
    }
    o->affinity.terms = terms;
}

/* ---- what is counted ---- */

struct sum {
    sl_sym resource;
    sl_quantity q;
};
struct sums {
    SL_VEC(struct sum) v;
};

static void sum_add(struct sl_engine *e, struct sums *s, const char *resource, sl_quantity q) {
    sl_sym y = sl_sym_put(&e->syms, resource);
    for (uint32_t i = 0; i < s->v.n; i++)
        if (s->v.v[i].resource == y) {
            if (__builtin_add_overflow(s->v.v[i].q, q, &s->v.v[i].q))
                s->v.v[i].q = SL_QUANTITY_MAX;
            return;
        }
    *sl_vec_push(&s->v) = (struct sum){y, q};
}

/* a * b, both in nano-units, rounded up and capped. */
static sl_quantity mul_nano(sl_quantity a, sl_quantity b) {
    if (a <= 0 || b <= 0)
        return 0;
    sl_quantity whole = a / SL_NANO, part = a % SL_NANO;
    if (whole > SL_QUANTITY_MAX / b)
        return SL_QUANTITY_MAX;
    sl_quantity p = part * b; /* 30 + 93 bits at most */
    p = p / SL_NANO + (p % SL_NANO > 0);
    sl_quantity r = whole * b + p;
    return r > SL_QUANTITY_MAX ? SL_QUANTITY_MAX : r;
}

static bool excluded(const struct sl_config *c, const char *resource) {
    for (uint32_t i = 0; i < c->n_exclude; i++)
        if (strncmp(resource, c->exclude_prefixes[i], strlen(c->exclude_prefixes[i])) == 0)
            return true;
    return false;
}

static const struct sl_transform *transform_of(const struct sl_config *c, const char *resource) {
    for (uint32_t i = 0; i < c->n_transforms; i++)
        if (same_str(c->transforms[i].input, resource))
            return &c->transforms[i];
    return NULL;
}

static const struct sl_request *find_request(const struct sl_podset_spec *p, const char *resource) {
    for (uint32_t i = 0; i < p->n_requests; i++)
        if (same_str(p->requests[i].resource, resource))
            return &p->requests[i];
    return NULL;
}

static int cmp_request(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    return strcmp(eng_str(e, ((const struct eng_podset_request *)a)->resource),
                  eng_str(e, ((const struct eng_podset_request *)b)->resource));
}

static void podset_count(struct sl_engine *e, struct eng_podset *p) {
    const struct sl_config *c = &e->config;
    struct sums s = {0};
    for (uint32_t i = 0; i < p->raw->n_requests; i++) {
        const struct sl_request *r = &p->raw->requests[i];
        if (excluded(c, r->resource))
            continue;
        const struct sl_transform *t = transform_of(c, r->resource);
        if (!t) {
            sum_add(e, &s, r->resource, r->q);
            continue;
        }
        sl_quantity q = r->q;
        if (t->multiply_by && *t->multiply_by) {
            const struct sl_request *by = find_request(p->raw, t->multiply_by);
            if (by && !excluded(c, by->resource))
                q = mul_nano(q, by->q);
        }
        for (uint32_t k = 0; k < t->n_outputs; k++)
            sum_add(e, &s, t->outputs[k].resource, mul_nano(q, t->outputs[k].factor));
        if (!t->replace)
            sum_add(e, &s, r->resource, q);
    }
    sl_vec_clear(&p->requests);
    for (uint32_t i = 0; i < s.v.n; i++)
        *sl_vec_push(&p->requests) = (struct eng_podset_request){
            s.v.v[i].resource, sl_amount_of_request(eng_str(e, s.v.v[i].resource), s.v.v[i].q)};
    sl_vec_free(&s.v);
    if (p->requests.n > 1)
        qsort_r(p->requests.v, p->requests.n, sizeof(struct eng_podset_request), cmp_request, e);
}

void eng_shapes_refresh(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->shapes.n; i++)
        for (uint32_t k = 0; e->shapes.v[i].used && k < e->shapes.v[i].n; k++)
            podset_count(e, &e->shapes.v[i].podsets[k]);
}

/* ---- interning ---- */

static int podset_check(const struct sl_podset_spec *p, struct sl_err *err) {
    const char *name = p->name ? p->name : "";
    if (!*name)
        return sl_err_set(err, SL_EINVAL, "a podset needs a name");
    if (p->count < 0)
        return sl_err_set(err, SL_EINVAL, "podset %s: count must not be negative, got %d", name,
                          p->count);
    if (p->min_count < 0 || p->min_count > p->count)
        return sl_err_set(err, SL_EINVAL, "podset %s: minCount must be between 1 and count %d",
                          name, p->count);
    if (p->n_requests > SL_MAX_PODSET_RESOURCES)
        return sl_err_set(err, SL_ELIMIT, "podset %s: at most %d resources, got %u", name,
                          SL_MAX_PODSET_RESOURCES, p->n_requests);
    for (uint32_t i = 0; i < p->n_requests; i++)
        if (p->requests[i].q < 0)
            return sl_err_set(err, SL_EINVAL, "podset %s: request of %s must not be negative", name,
                              p->requests[i].resource);
    return SL_OK;
}

int eng_shape_intern(struct sl_engine *e, const struct sl_podset_spec *v, uint32_t n, uint32_t *ret,
                     struct sl_err *err) {
    if (!n || n > SL_MAX_PODSETS)
        return sl_err_set(err, SL_ELIMIT, "a workload has 1 to %d podsets, got %u", SL_MAX_PODSETS,
                          n);
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        int r = podset_check(&v[i], err);
        if (r < 0)
            return r;
        h = hash_podset(h, &v[i]);
    }
    uint32_t c;
    for (uint32_t i = sl_map_first(&e->shape_map, h, &c); i != SL_MAP_NONE;
         i = sl_map_next(&e->shape_map, h, &c)) {
        const struct eng_shape *s = &e->shapes.v[i];
        bool same = s->n == n;
        for (uint32_t k = 0; same && k < n; k++)
            same = same_podset(s->podsets[k].raw, &v[k]);
        if (same) {
            *ret = i;
            eng_shape_ref(e, i);
            return SL_OK;
        }
    }
    uint32_t i = e->free_shapes.n ? sl_vec_pop(&e->free_shapes) : e->shapes.n;
    if (i == e->shapes.n)
        (void)sl_vec_push(&e->shapes);
    struct eng_shape *s = &e->shapes.v[i];
    *s = (struct eng_shape){.refs = 1, .hash = h, .n = n, .used = true, .plain = true};
    sl_arena_init(&s->arena, UINT64_C(64) << 20);
    s->podsets = sl_alloc0(n, sizeof(struct eng_podset));
    struct sl_podset_spec *raw = sl_arena_alloc0(&s->arena, n, sizeof(*raw));
    for (uint32_t k = 0; k < n; k++) {
        copy_podset(&s->arena, &v[k], &raw[k]);
        struct eng_podset *p = &s->podsets[k];
        p->raw = &raw[k];
        p->name = sl_strdup(raw[k].name);
        p->count = raw[k].count;
        p->min_count = raw[k].min_count;
        p->group = sl_sym_put(&e->syms, raw[k].group);
        podset_count(e, p);
        s->plain &= !raw[k].node_selector.n && !raw[k].affinity.n;
        s->partial |= p->min_count > 0 && p->min_count < p->count;
    }
    sl_map_add(&e->shape_map, h, i);
    *ret = i;
    return SL_OK;
}

void eng_shape_ref(struct sl_engine *e, uint32_t s) {
    e->shapes.v[s].refs++;
}

void eng_shape_unref(struct sl_engine *e, uint32_t i) {
    struct eng_shape *s = &e->shapes.v[i];
    sl_assert(s->refs);
    if (--s->refs)
        return;
    sl_map_del(&e->shape_map, s->hash, i);
    for (uint32_t k = 0; k < s->n; k++) {
        sl_vec_free(&s->podsets[k].requests);
        sl_freep(&s->podsets[k].name);
    }
    sl_freep(&s->podsets);
    sl_arena_done(&s->arena);
    s->used = false;
    *sl_vec_push(&e->free_shapes) = i;
}

/* ---- flavors that a podset can use ---- */

static bool term_matches(const struct sl_selector *term, const struct sl_labels *labels,
                         bool *empty) {
    *empty = true;
    for (uint32_t i = 0; i < term->n; i++) {
        if (!sl_labels_get(labels, term->v[i].key))
            continue; /* keys that the flavor does not define are left to the nodes */
        *empty = false;
        if (!sl_label_rule_matches(&term->v[i], labels))
            return false;
    }
    return true;
}

static bool labels_match(const struct sl_labels *labels, const struct sl_podset_spec *p) {
    for (uint32_t i = 0; i < p->node_selector.n; i++) {
        const char *v = sl_labels_get(labels, p->node_selector.v[i].key);
        if (v && !same_str(v, p->node_selector.v[i].value))
            return false;
    }
    if (!p->affinity.n)
        return true;
    bool any = false;
    for (uint32_t i = 0; i < p->affinity.n; i++) {
        bool empty, match = term_matches(&p->affinity.terms[i], labels, &empty);
        if (empty)
            return true; /* a term without any of the flavor's keys makes the whole vacuous */
        any |= match;
    }
    return any;
}

bool eng_flavor_has_topology(const struct sl_engine *e, sl_sym flavor) {
    uint32_t i = sl_map_get(&e->flavor_map, flavor);
    return i != SL_MAP_NONE && e->flavors.v[i].exists &&
           !same_str(e->flavors.v[i].spec.topology, "");
}

/* Where every flavor has a topology, every podset gets a place. */
static bool places_all(const struct sl_engine *e, const struct eng_node *q) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < q->n_groups; g++)
        for (uint32_t f = 0; f < q->groups[g].n_flavors; f++, n++)
            if (!eng_flavor_has_topology(e, q->groups[g].flavors[f]))
                return false;
    return n > 0;
}

static bool has_level(const struct sl_flavor_spec *f, const char *level) {
    for (uint32_t i = 0; i < f->n_levels; i++)
        if (same_str(f->levels[i], level))
            return true;
    return false;
}

/* Do flavor and podset mean the same by a place? */
static bool topology_matches(const struct sl_engine *e, const struct eng_node *q,
                             const struct eng_group *g, const struct sl_flavor_spec *f,
                             const struct sl_podset_spec *p, struct sl_why *why) {
    bool has = !same_str(f->topology, "");
    why->kind = has ? SL_WHY_TOPOLOGY_ONLY : SL_WHY_NO_TOPOLOGY;
    if (!p->wants_place)
        return !has || places_all(e, q);
    /* Resources that no pod requests by this name (transformations) are counted, not placed. */
    for (uint32_t r = 0; !has && r < g->n_resources; r++)
        if (find_request(p, eng_str(e, g->resources[r])))
            return false;
    why->kind = SL_WHY_NO_LEVEL;
    for (uint32_t i = 0; has && i < p->n_levels; i++)
        if (!has_level(f, p->levels[i]))
            return false;
    return true;
}

bool eng_flavor_matches(const struct sl_engine *e, const struct eng_node *q,
                        const struct eng_group *g, sl_sym flavor, const struct eng_podset *p,
                        struct sl_why *why, struct sl_arena *a) {
    why->flavor = eng_str(e, flavor);
    uint32_t i = sl_map_get(&e->flavor_map, flavor);
    if (i == SL_MAP_NONE || !e->flavors.v[i].exists) {
        why->kind = SL_WHY_FLAVOR_MISSING;
        return false;
    }
    const struct sl_flavor_spec *f = &e->flavors.v[i].spec;
    if (e->has_placer && !topology_matches(e, q, g, f, p->raw, why))
        return false;
    for (uint32_t k = 0; k < f->n_taints; k++) {
        const struct sl_taint *t = &f->taints[k];
        if (t->effect != SL_TAINT_NO_SCHEDULE && t->effect != SL_TAINT_NO_EXECUTE)
            continue;
        if (sl_taint_tolerated(t, p->raw->tolerations, p->raw->n_tolerations) ||
            sl_taint_tolerated(t, f->tolerations, f->n_tolerations))
            continue;
        why->kind = SL_WHY_TAINT;
        if (a)
            why->taint = sl_arena_printf(a, "{%s %s %s <nil>}", t->key, t->value,
                                         sl_taint_effect_name(t->effect));
        return false;
    }
    if (!labels_match(&f->labels, p->raw)) {
        why->kind = SL_WHY_AFFINITY;
        return false;
    }
    return true;
}

/* ---- plans ---- */

void eng_plan_free(struct eng_plan *p) {
    sl_vec_free(&p->steps);
    sl_vec_free(&p->units);
    sl_vec_free(&p->res);
    sl_vec_free(&p->podsets);
    sl_vec_free(&p->match);
}

static sl_amount unit_of(const struct eng_podset *p, sl_sym resource) {
    for (uint32_t i = 0; i < p->requests.n; i++)
        if (p->requests.v[i].resource == resource)
            return p->requests.v[i].unit;
    return NOT_ASKED;
}

static bool covered(const struct eng_node *n, sl_sym resource) {
    for (uint32_t g = 0; g < n->n_groups; g++)
        for (uint32_t r = 0; r < n->groups[g].n_resources; r++)
            if (n->groups[g].resources[r] == resource)
                return true;
    return false;
}

static struct eng_step *step_new(struct eng_plan *p, uint32_t first, uint32_t n, uint16_t group) {
    struct eng_step *s = sl_vec_push(&p->steps);
    *s = (struct eng_step){.first_podset = (uint16_t)first,
                           .n_podsets = (uint16_t)n,
                           .group = group,
                           .res = p->res.n,
                           .units = p->units.n};
    *sl_vec_push(&p->match) = 0;
    return s;
}

/* The steps of one podset group: podsets [first, first + n) of the plan. */
static void plan_group(struct sl_engine *e, struct eng_plan *p, const struct eng_node *q,
                       const struct eng_shape *s, uint32_t first, uint32_t n) {
    sl_sym missing = 0;
    for (uint32_t k = 0; k < n && !e->config.ignore_undeclared; k++) {
        const struct eng_podset *ps = &s->podsets[p->podsets.v[first + k]];
        for (uint32_t i = 0; i < ps->requests.n; i++) {
            sl_sym r = ps->requests.v[i].resource;
            if (ps->requests.v[i].unit == 0 || ps->count == 0 || covered(q, r))
                continue;
            if (!missing || strcmp(eng_str(e, r), eng_str(e, missing)) < 0)
                missing = r;
        }
    }
    if (missing) {
        step_new(p, first, n, UNCOVERED)->n_res = 1;
        *sl_vec_push(&p->res) = (struct eng_plan_res){.resource = missing};
        return;
    }
    for (uint32_t g = 0; g < q->n_groups; g++) {
        const struct eng_group *o = &q->groups[g];
        struct eng_step *st = NULL;
        for (uint32_t r = 0; r < o->n_resources; r++) {
            bool requested = o->resources[r] == e->sym_pods;
            for (uint32_t k = 0; k < n; k++)
                requested |= unit_of(&s->podsets[p->podsets.v[first + k]], o->resources[r]) >= 0;
            if (!requested)
                continue;
            if (!st)
                st = step_new(p, first, n, (uint16_t)g);
            st->n_res++;
            *sl_vec_push(&p->res) = (struct eng_plan_res){(uint16_t)r, o->resources[r]};
            for (uint32_t k = 0; k < n; k++)
                *sl_vec_push(&p->units) =
                    o->resources[r] == e->sym_pods
                        ? 1
                        : unit_of(&s->podsets[p->podsets.v[first + k]], o->resources[r]);
        }
        for (uint32_t f = 0; st && f < o->n_flavors; f++) {
            bool ok = true;
            for (uint32_t k = 0; k < n && ok; k++) {
                struct sl_why why = {0};
                ok = eng_flavor_matches(e, q, o, o->flavors[f],
                                        &s->podsets[p->podsets.v[first + k]], &why, NULL);
            }
            sl_vec_last(&p->match) |= (uint64_t)ok << f;
        }
    }
}

void eng_plan_update(struct sl_engine *e, uint32_t class) {
    struct eng_class *c = &e->classes.v[class];
    struct eng_plan *p = &c->plan;
    uint64_t want = e->config_version + 1; /* 0 marks a plan never made */
    if (p->version == want)
        return;
    p->version = want;
    sl_vec_clear(&p->steps);
    sl_vec_clear(&p->units);
    sl_vec_clear(&p->res);
    sl_vec_clear(&p->podsets);
    sl_vec_clear(&p->match);
    const struct eng_shape *s = &e->shapes.v[c->shape];
    const struct eng_node *q = eng_cq_node(e, &e->cqs.v[e->lqs.v[c->lq].cq]);
    for (uint32_t i = 0; i < s->n; i++) {
        sl_sym group = s->podsets[i].group;
        bool done = false;
        for (uint32_t k = 0; k < i && group; k++)
            done |= s->podsets[k].group == group;
        if (done)
            continue;
        uint32_t first = p->podsets.n;
        *sl_vec_push(&p->podsets) = (uint16_t)i;
        for (uint32_t k = i + 1; k < s->n && group; k++)
            if (s->podsets[k].group == group)
                *sl_vec_push(&p->podsets) = (uint16_t)k;
        plan_group(e, p, q, s, first, p->podsets.n - first);
    }
}
