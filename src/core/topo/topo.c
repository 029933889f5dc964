/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, sums, and what is held where.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/topo/state.h"

struct sl_topo *sl_topo_new(void) {
    struct sl_topo *t = sl_alloc0(1, sizeof *t);
    sl_syms_init(&t->syms);
    t->pods = sl_sym_put(&t->syms, "pods");
    t->hostname = sl_sym_put(&t->syms, SL_TOPO_HOSTNAME);
    return t;
}

void sl_topo_free(struct sl_topo *t) {
    if (!t)
        return;
    while (t->holds.n > 0)
        sl_topo_release(t, sl_vec_last(&t->holds)->key);
    for (uint32_t i = 0; i < t->flavors.n; i++)
        topo_flavor_free(t, t->flavors.v[i]);
    for (uint32_t i = 0; i < t->nodes.n; i++)
        topo_node_free(t->nodes.v[i]);
    for (uint32_t i = 0; i < t->topologies.n; i++)
        sl_freep(&t->topologies.v[i]);
    sl_vec_free(&t->holds);
    sl_vec_free(&t->flavors);
    sl_vec_free(&t->nodes);
    sl_vec_free(&t->topologies);
    sl_vec_free(&t->spots);
    sl_vec_free(&t->spare);
    sl_map_done(&t->node_by_name);
    sl_map_done(&t->spot_by_name);
    sl_map_done(&t->hold_by_key);
    sl_syms_done(&t->syms);
    sl_freep(&t);
}

/* ---- sums ---- */

__int128 topo_tally_get(const struct topo_tally *t, sl_sym res) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->v[i].res == res)
            return t->v[i].v;
    return 0;
}

/* What sums up to nothing leaves no trace. */
void topo_tally_add(struct topo_tally *t, sl_sym res, __int128 v) {
    uint32_t i = 0;
    while (i < t->n && t->v[i].res != res)
        i++;
    if (i == t->n)
        *sl_vec_push(t) = (struct topo_amount){.res = res};
    t->v[i].v += v;
    if (t->v[i].v == 0)
        t->v[i] = sl_vec_pop(t);
}

static int by_name(const void *a, const void *b, void *syms) {
    return strcmp(sl_sym_str(syms, ((const struct topo_pod_request *)a)->res),
                  sl_sym_str(syms, ((const struct topo_pod_request *)b)->res));
}

static void want_add(struct topo_pod_request *v, uint32_t *n, sl_sym res, sl_amount amount) {
    uint32_t i = 0;
    if (amount <= 0)
        return;
    while (i < *n && v[i].res != res)
        i++;
    if (i == *n)
        v[(*n)++] = (struct topo_pod_request){.res = res};
    v[i].v = sl_amount_add(v[i].v, amount);
}

struct topo_pod_request *topo_requests_of(struct sl_topo *t, const struct sl_request *v, uint32_t n,
                                          uint32_t *ret_n) {
    struct topo_pod_request *w = sl_alloc0((size_t)n + 1, sizeof *w);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++)
        want_add(w, ret_n, sl_sym_put(&t->syms, v[i].resource),
                 sl_amount_of_request(v[i].resource, v[i].q));
    want_add(w, ret_n, t->pods, 1);
    qsort_r(w, *ret_n, sizeof *w, by_name, &t->syms);
    return w;
}

/* ---- spots ---- */

static uint64_t spot_hash(sl_sym flavor, const char *const *values, uint32_t n) {
    uint64_t h = (uint64_t)n << 32 | flavor;
    for (uint32_t i = 0; i < n; i++)
        h = sl_hash_str(h, values[i]);
    return h;
}

static bool spot_is(const struct topo_spot *s, sl_sym flavor, const char *const *values,
                    uint32_t n) {
    if (s->flavor != flavor || s->n_values != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(s->values[i], values[i]) != 0)
            return false;
    return true;
}

static uint32_t find_spot(const struct sl_topo *t, uint64_t h, sl_sym flavor,
                          const char *const *values, uint32_t n) {
    uint32_t c, i = sl_map_first(&t->spot_by_name, h, &c);
    while (i != SL_MAP_NONE && !spot_is(&t->spots.v[i], flavor, values, n))
        i = sl_map_next(&t->spot_by_name, h, &c);
    return i;
}

uint32_t topo_spot_find(const struct sl_topo *t, sl_sym flavor, const char *const *values,
                        uint32_t n) {
    return find_spot(t, spot_hash(flavor, values, n), flavor, values, n);
}

uint32_t topo_spot_ref(struct sl_topo *t, sl_sym flavor, const char *const *values, uint32_t n) {
    uint64_t h = spot_hash(flavor, values, n);
    uint32_t at = find_spot(t, h, flavor, values, n);
    if (at == SL_MAP_NONE) {
        size_t bytes = n * sizeof(char *);
        for (uint32_t i = 0; i < n; i++)
            bytes += strlen(values[i]) + 1;
        struct topo_spot s = {.flavor = flavor, .n_values = n, .values = sl_alloc(bytes)};
        char *text = (char *)(s.values + n);
        for (uint32_t i = 0; i < n; i++) {
            size_t len = strlen(values[i]) + 1;
            s.values[i] = memcpy(text, values[i], len);
            text += len;
        }
        if (t->spare.n == 0) {
            *sl_vec_push(&t->spare) = t->spots.n;
            (void)sl_vec_push(&t->spots);
        }
        at = sl_vec_pop(&t->spare);
        t->spots.v[at] = s;
        sl_map_add(&t->spot_by_name, h, at);
    }
    t->spots.v[at].refs++;
    return at;
}

void topo_spot_unref(struct sl_topo *t, uint32_t at) {
    struct topo_spot *s = &t->spots.v[at];
    if (--s->refs > 0)
        return;
    sl_assert(s->used.n == 0);
    (void)sl_map_del(&t->spot_by_name, spot_hash(s->flavor, s->values, s->n_values), at);
    sl_vec_free(&s->used);
    sl_freep(&s->values);
    *sl_vec_push(&t->spare) = at;
}

sl_sym topo_spot_name(const struct sl_topo *t, sl_sym flavor, const struct topo_levels *l,
                      const char *const **values, uint32_t *n) {
    *n = l->n;
    if (l->n == 0 || l->v[l->n - 1] != t->hostname)
        return flavor;
    *values += l->n - 1;
    *n = 1;
    return 0;
}

/* ---- what is held ---- */

void topo_part_use(struct sl_topo *t, const struct topo_part *p, int sign) {
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->n_requests; k++)
            topo_tally_add(&t->spots.v[p->v[i].spot].used, p->requests[k].res,
                           (__int128)p->requests[k].v * p->v[i].count * sign);
}

void topo_part_done(struct sl_topo *t, struct topo_part *p) {
    topo_part_use(t, p, -1);
    for (uint32_t i = 0; i < p->n; i++)
        topo_spot_unref(t, p->v[i].spot);
    sl_freep(&p->v);
    sl_freep(&p->requests);
    *p = (struct topo_part){0};
}

struct topo_hold *topo_hold_of(const struct sl_topo *t, uint64_t key) {
    uint32_t i = sl_map_get(&t->hold_by_key, key);
    return i == SL_MAP_NONE ? NULL : t->holds.v[i];
}

struct topo_hold *topo_hold_new(uint64_t key, uint32_t n) {
    struct topo_hold *h = sl_alloc0(1, sizeof *h + n * sizeof h->v[0]);
    h->key = key;
    h->n = n;
    return h;
}

void topo_hold_put(struct sl_topo *t, struct topo_hold *h) {
    sl_map_add(&t->hold_by_key, h->key, t->holds.n);
    *sl_vec_push(&t->holds) = h;
}

void topo_hold_use(struct sl_topo *t, const struct topo_hold *h, int sign) {
    for (uint32_t i = 0; i < h->n; i++)
        topo_part_use(t, &h->v[i], sign);
}

void topo_hold_free(struct sl_topo *t, struct topo_hold *h) {
    if (h->aside)
        topo_hold_use(t, h, 1);
    for (uint32_t i = 0; i < h->n; i++)
        topo_part_done(t, &h->v[i]);
    sl_freep(&h);
}

static void part_hold(struct sl_topo *t, const struct sl_topo_podset *ps,
                      const struct sl_topo_place *where, struct topo_part *p) {
    if (where->n_domains == 0 || where->n_levels == 0 || where->n_levels > SL_TOPO_MAX_LEVELS)
        return;
    struct topo_levels all = {.n = where->n_levels};
    for (uint32_t i = 0; i < all.n; i++)
        all.v[i] = sl_sym_put(&t->syms, where->levels[i]);
    p->v = sl_alloc0(where->n_domains, sizeof *p->v);
    p->requests = topo_requests_of(t, ps->requests, ps->n_requests, &p->n_requests);
    sl_sym flavor = sl_sym_put(&t->syms, ps->flavor);
    for (uint32_t i = 0; i < where->n_domains; i++) {
        const char *const *values = where->domains[i].values;
        uint32_t n;
        sl_sym owner = topo_spot_name(t, flavor, &all, &values, &n);
        if (where->domains[i].count > 0)
            p->v[p->n++] = (struct topo_placement){.spot = topo_spot_ref(t, owner, values, n),
                                                   .count = where->domains[i].count};
    }
    p->levels = all;
    if (all.v[all.n - 1] == t->hostname)
        p->levels = (struct topo_levels){.n = 1, .v = {t->hostname}};
    topo_part_use(t, p, 1);
}

void sl_topo_hold(struct sl_topo *t, uint64_t key, const struct sl_topo_podset *v,
                  const struct sl_topo_place *places, uint32_t n) {
    sl_topo_release(t, key);
    struct topo_hold *h = topo_hold_new(key, n);
    for (uint32_t i = 0; i < n; i++)
        part_hold(t, &v[i], &places[i], &h->v[i]);
    topo_hold_put(t, h);
}

void sl_topo_release(struct sl_topo *t, uint64_t key) {
    uint32_t at = sl_map_get(&t->hold_by_key, key);
    if (at == SL_MAP_NONE)
        return;
    struct topo_hold *h = t->holds.v[at], *last = sl_vec_pop(&t->holds);
    (void)sl_map_del(&t->hold_by_key, key, at);
    if (last != h) {
        (void)sl_map_del(&t->hold_by_key, last->key, t->holds.n);
        sl_map_add(&t->hold_by_key, last->key, at);
        t->holds.v[at] = last;
    }
    topo_hold_free(t, h);
}

void sl_topo_set_aside(struct sl_topo *t, uint64_t key, bool aside) {
    struct topo_hold *h = topo_hold_of(t, key);
    if (!h || h->aside == aside)
        return;
    topo_hold_use(t, h, aside ? -1 : 1);
    h->aside = aside;
}

static struct sl_topo_place report_place(const struct sl_topo *t, const struct topo_part *p,
                                         struct sl_arena *a) {
    if (p->n == 0)
        return (struct sl_topo_place){0};
    const char **levels = sl_arena_alloc0(a, p->levels.n, sizeof *levels);
    for (uint32_t i = 0; i < p->levels.n; i++)
        levels[i] = sl_sym_str(&t->syms, p->levels.v[i]);
    struct sl_topo_domain *d = sl_arena_alloc0(a, p->n, sizeof *d);
    uint32_t n = 0;
    for (; n < p->n && !sl_arena_full(a); n++) {
        const struct topo_spot *s = &t->spots.v[p->v[n].spot];
        const char **values = sl_arena_alloc0(a, s->n_values, sizeof *values);
        for (uint32_t k = 0; k < s->n_values; k++)
            values[k] = sl_arena_strdup(a, s->values[k]);
        d[n] = (struct sl_topo_domain){.values = values, .count = p->v[n].count};
    }
    return (struct sl_topo_place){
        .levels = levels, .n_levels = p->levels.n, .domains = d, .n_domains = n};
}

uint32_t sl_topo_held(const struct sl_topo *t, uint64_t key, struct sl_arena *a,
                      const struct sl_topo_place **ret) {
    const struct topo_hold *h = topo_hold_of(t, key);
    if (!h)
        return 0;
    struct sl_topo_place *v = sl_arena_alloc0(a, h->n, sizeof *v);
    for (uint32_t i = 0; i < h->n; i++)
        v[i] = report_place(t, &h->v[i], a);
    *ret = v;
    return h->n;
}

uint32_t sl_topo_refused(const struct sl_topo *t) {
    return t->refused;
}
