/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a small cluster: nodes come, change and go, other pods run, workloads are
 * placed, held and released. Every answer is compared with a naive model (topo_model.h), and with
 * that of a twin that was told the same all at once and in another order.
 *
 * prop_topo [--seed N]; SL_SEEDS says how much to try.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "topo_model.h"

#define DIGEST_SEEDS 100
#define STEPS 40
#define UNITS(n) ((sl_quantity)(n)*SL_NANO)

static const char *const level_sets[][3] = {{"block", "rack", SL_TOPO_HOSTNAME},
                                            {"rack", SL_TOPO_HOSTNAME},
                                            {SL_TOPO_HOSTNAME},
                                            {"block", "rack"}};
static const uint32_t level_counts[] = {3, 2, 1, 2};
static const char *const flavors[] = {"f", "g"}; /* g has only some of the nodes */

static void _printf_(2, 3) report_wrong(struct world *w, const char *fmt, ...) {
    va_list ap;
    if (!w->failed)
        printf("seed %llu fails; again with: prop_topo --seed %llu\n", (unsigned long long)w->seed,
               (unsigned long long)w->seed);
    w->failed = true;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

static int below(struct world *w, uint64_t n) {
    return (int)sl_prng_below(&w->rnd, n);
}

/* ---- telling ---- */

static bool apply_node(struct sl_topo *t, const struct nnode *n) {
    struct sl_label labels[] = {{"tas", "yes"},
                                {"pool", n->pool ? "g" : "other"},
                                {"block", topo_words[n->block]},
                                {"rack", topo_words[n->rack]},
                                {SL_TOPO_HOSTNAME, topo_words[n->host]},
                                {"disk", n->disk ? "ssd" : "none"}};
    struct sl_request has[] = {{"cpu", UNITS(n->cpu)}, {"pods", UNITS(n->pods)}};
    struct sl_taint taint = {"odd", "", SL_TAINT_NO_SCHEDULE};
    struct sl_topo_node s = {.name = n->name,
                             .labels = {labels, SL_LEN(labels)},
                             .taints = &taint,
                             .n_taints = n->taint,
                             .allocatable = has,
                             .n_allocatable = n->pods < 0 ? 1 : 2,
                             .usable = n->usable};
    return n->known ? sl_topo_node(t, &s) : sl_topo_node_gone(t, n->name);
}

static bool apply_foreign_pods(struct sl_topo *t, const struct nnode *n, int cpu, int pods) {
    struct sl_request each = {"cpu", UNITS(cpu)};
    return sl_topo_add_foreign_pods(t, n->name, &each, 1, pods);
}

static void apply_config(struct world *w, struct sl_topo *t, bool backwards) {
    struct sl_label labels[] = {{"tas", "yes"}, {"pool", "g"}};
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t i = backwards ? 1 - k : k;
        struct sl_flavor_spec f = {.name = flavors[i], .labels = {labels, i + 1}};
        (void)sl_topo_flavor(t, &f, "topo");
    }
    (void)sl_topo_levels(t, "topo", w->levels, w->n_levels);
}

/* All of it from nothing, in another order. */
static struct sl_topo *rebuilt_copy(struct world *w) {
    struct sl_topo *t = sl_topo_new();
    for (uint64_t k = 1; k <= KEYS; k++)
        if (w->held[k].on)
            sl_topo_hold(t, k, w->held[k].r.v, w->held[k].places, w->held[k].r.n);
    for (int i = NODES - 1; i >= 0; i--) {
        if (w->nodes[i].o_pods > 0) {
            (void)apply_foreign_pods(t, &w->nodes[i], w->nodes[i].o_cpu, 1);
            (void)apply_foreign_pods(t, &w->nodes[i], 0, w->nodes[i].o_pods - 1);
        }
        if (w->nodes[i].known)
            (void)apply_node(t, &w->nodes[i]);
    }
    apply_config(w, t, true);
    return t;
}

/* ---- requests ---- */

static struct request random_request(struct world *w) {
    struct request r = {.n = 1};
    bool group = below(w, 3) == 0;
    uint32_t level = (uint32_t)below(w, w->n_levels), slice = level;
    enum sl_topo_mode mode = (enum sl_topo_mode)below(w, 4);
    struct sl_topo_request q = {.mode = mode, .level = w->levels[level]};
    int size = 1;
    if (mode == SL_TOPO_IMPLIED || mode == SL_TOPO_UNCONSTRAINED)
        slice = 0;
    if (group || below(w, 2))
        r.n = 2;
    for (; below(w, 2) && q.n_slices < SL_TOPO_MAX_SLICES && slice < w->n_levels; slice++) {
        slice += (uint32_t)below(w, w->n_levels - slice);
        q.slices[q.n_slices++].level = w->levels[slice];
    }
    for (uint32_t i = q.n_slices; i-- > 0;)
        q.slices[i].size = size = size * (1 + below(w, 3));
    for (uint32_t i = 0; i < r.n; i++) {
        r.per_pod[i] = 1 + below(w, 3);
        r.v[i] = (struct sl_topo_podset){.name = i ? "b" : "a",
                                         .flavor = flavors[below(w, 4) == 0],
                                         .group = group ? "grp" : "",
                                         .count = size * (1 + below(w, size > 1 ? 3 : 8)),
                                         .n_requests = 1,
                                         .node_selector = {NULL, below(w, 5) == 0},
                                         .n_tolerations = below(w, 2) == 0,
                                         .request = q};
    }
    if (below(w, 8) == 0)
        r.v[0].count++;
    if (group) {
        r.v[1].flavor = r.v[0].flavor;
        r.v[below(w, 2)].count = 1;
        if (r.v[0].count > 1)
            r.v[1].count = 1;
    }
    return r;
}

/* The records point at each other, so they are tied up wherever they come to stand. */
static void tie(struct request *r) {
    r->selector = (struct sl_label){"disk", "ssd"};
    r->toleration = (struct sl_toleration){.key = "odd", .exists = true};
    for (uint32_t i = 0; i < r->n; i++) {
        r->cpu[i] = (struct sl_request){"cpu", UNITS(r->per_pod[i])};
        r->v[i].requests = &r->cpu[i];
        r->v[i].node_selector.v = &r->selector;
        r->v[i].tolerations = &r->toleration;
    }
}

/* ---- judging a place ---- */

/* The model is of before, with what stays; the rest of the place is new. */
static void judge(struct world *w, const struct nmodel *m, const struct request *r, uint32_t i,
                  const struct sl_topo_place *p, const struct sl_topo_place *kept) {
    const struct sl_topo_podset *ps = &r->v[i];
    const struct sl_topo_request *q = &ps->request;
    uint32_t lowest = w->n_levels - 1;
    int sum = 0, odd = 0;
    for (uint32_t d = 0; d < p->n_domains; d++)
        if (p->domains[d].count <= 0)
            report_wrong(w, "a domain with %d pods", p->domains[d].count);
    if (p->n_levels != (m->hosts ? 1 : w->n_levels))
        report_wrong(w, "%u levels are named", p->n_levels);
    for (int k = 0; k < m->n; k++) {
        int n = count_in(m, p, k, lowest), stay = count_in(m, kept, k, lowest);
        int fits = leaf_fits(m, &m->v[k], ps, r->per_pod[i]);
        sum += n;
        if (n < stay)
            report_wrong(w, "%d of %d pods stay", n, stay);
        if (r->n == 1 && n - stay > fits)
            report_wrong(w, "%d more pods on a leaf that takes %d", n - stay, fits);
        if (q->mode == SL_TOPO_REQUIRED && n > 0 && kept->n_domains == 0 &&
            count_in(m, p, k, level_at(w, q->level)) != ps->count)
            report_wrong(w, "required in one domain, but they are in several");
    }
    if (sum != ps->count)
        report_wrong(w, "%d pods are on leaves, of %d", sum, ps->count);
    if (kept->n_domains > 0 || (r->n == 2 && ps->group[0] && ps->count == 1))
        return;
    for (uint32_t s = 0; s < q->n_slices; s++, odd = 0) {
        uint32_t level = level_at(w, q->slices[s].level);
        for (int k = 0; k < m->n; k++)
            odd += stands_for(m, k, level) && count_in(m, p, k, level) % q->slices[s].size != 0;
        if (odd > (ps->count % q->slices[s].size != 0))
            report_wrong(w, "%d domains have a broken slice of layer %u", odd, s);
    }
}

/* What a slice keeps of the place it had, as the holding 0: if it is all there still, as many pods
 * as it now has. */
static void keep_place(struct world *w, const struct request *r) {
    static const struct sl_topo_place nothing;
    static struct sl_topo_domain d[NODES];
    static struct sl_topo_place stay;
    struct nmodel m;
    int left = r->v[0].count;
    stay = nothing;
    w->held[0] = (struct holding){.on = true, .places = &stay};
    w->held[0].r.n = 1;
    w->held[0].r.v[0].flavor = r->v[0].flavor;
    w->held[0].r.per_pod[0] = r->per_pod[0];
    look(w, r->v[0].flavor, &m);
    for (uint32_t i = 0; i < r->v[0].before.n_domains; i++) {
        const struct sl_topo_place one = {r->v[0].before.levels, r->v[0].before.n_levels,
                                          &r->v[0].before.domains[i], 1};
        int there = 0;
        for (int k = 0; k < m.n; k++)
            there += count_in(&m, &one, k, w->n_levels - 1);
        if (there == 0) {
            stay = nothing;
            return;
        }
        d[i] = r->v[0].before.domains[i];
        d[i].count = d[i].count < left ? d[i].count : left;
        left -= d[i].count;
        stay = (struct sl_topo_place){one.levels, one.n_levels, d, i + 1};
    }
}

/* No leaf that got something new holds more than it can. */
static void check_capacity(struct world *w, const struct sl_topo_place *p, const char *flavor) {
    struct nmodel now;
    look(w, flavor, &now);
    for (int i = 0; i < now.n; i++)
        if (count_in(&now, p, i, w->n_levels - 1) > 0 &&
            (now.v[i].cpu < 0 || (now.v[i].counts_pods && now.v[i].pods < 0)))
            report_wrong(w, "a leaf is over its room");
}

/* ---- steps ---- */

static const char *format_result(const struct sl_topo *t, uint64_t key, bool ok, const char *why,
                                 char *out, size_t len) {
    struct sl_arena a;
    const struct sl_topo_place *p;
    size_t at = 0;
    sl_arena_init(&a, 1 << 20);
    out[0] = '\0';
    for (uint32_t i = 0, n = sl_topo_held(t, key, &a, &p); i < n; i++) {
        at += (size_t)snprintf(out + at, len - at, "| ");
        for (uint32_t d = 0; d < p[i].n_domains; d++) {
            for (uint32_t l = 0; l < p[i].n_levels; l++)
                at += (size_t)snprintf(out + at, len - at, "%s/", p[i].domains[d].values[l]);
            at += (size_t)snprintf(out + at, len - at, "%d ", p[i].domains[d].count);
        }
    }
    sl_arena_done(&a);
    return ok ? out : why;
}

static void let_go(struct world *w, uint64_t key) {
    if (w->held[key].on)
        sl_arena_done(&w->held[key].mem);
    w->held[key].on = false;
}

static void take_up(struct world *w, uint64_t key, const struct request *r) {
    struct holding *h = &w->held[key];
    h->r = *r;
    tie(&h->r);
    for (uint32_t i = 0; i < r->n; i++)
        h->r.v[i].before = (struct sl_topo_place){0};
    h->on = true;
    sl_arena_init(&h->mem, 1 << 20);
    if (sl_topo_held(w->t, key, &h->mem, &h->places) != r->n)
        report_wrong(w, "it is not held");
}

static bool alone(const struct request *r) {
    return r->n == 1 || (r->v[0].group[0] && (r->v[0].count == 1 || r->v[1].count == 1));
}

static void step_place(struct world *w) {
    uint64_t key = 1 + sl_prng_below(&w->rnd, KEYS), old = 1 + sl_prng_below(&w->rnd, KEYS);
    char why[500], why2[500], text[2000], text2[2000];
    struct request r = random_request(w);
    struct nmodel m[2];
    int kept = 0;
    if (w->held[key].on)
        w->has_refused = false; /* placing anew gives back */
    let_go(w, key);
    if (old == key || below(w, 3) || !w->held[old].on)
        old = 0;
    /* the next slice of an elastic job keeps what it had */
    if (old && w->held[old].r.n == 1 && w->held[old].places[0].n_domains && below(w, 2)) {
        int32_t count = r.v[0].count;
        r = w->held[old].r;
        r.v[0].count = count;
        r.v[0].before = w->held[old].places[0];
    }
    tie(&r);
    bool elastic = r.v[0].before.n_domains > 0;
    bool ok = sl_topo_place(w->t, key, old, r.v, r.n, why, sizeof why);
    struct sl_topo *t2 = rebuilt_copy(w);
    bool ok2 = sl_topo_place(t2, key, old, r.v, r.n, why2, sizeof why2);
    const char *said = format_result(w->t, key, ok, why, text, sizeof text);
    if (ok != ok2 || strcmp(said, format_result(t2, key, ok2, why2, text2, sizeof text2)) != 0)
        report_wrong(w, "one says '%s', its twin '%s'", said, ok2 ? text2 : why2);
    sl_topo_free(t2);
    w->digest = sl_digest_str(w->digest, said);

    if (old)
        w->held[old].on = false;
    keep_place(w, &r);
    const struct sl_topo_place *stay = w->held[0].places;
    for (uint32_t d = 0; d < stay->n_domains; d++)
        kept += stay->domains[d].count;
    for (uint32_t i = 0; i < r.n; i++)
        look(w, r.v[i].flavor, &m[i]);
    if (alone(&r) && ok != room(w, &r, kept))
        report_wrong(w, "%s: '%s'", ok ? "there was no room" : "there is room", said);
    w->held[0].on = false;
    if (ok) {
        take_up(w, key, &r);
        for (uint32_t i = 0; i < r.n; i++) {
            judge(w, &m[i], &r, i, &w->held[key].places[i], stay);
            if (!elastic)
                check_capacity(w, &w->held[key].places[i], r.v[i].flavor);
        }
    }
    if (old)
        w->held[old].on = true;
    /* of podsets that go one after the other, the first may leave more by finding less */
    if (!ok && !old && !elastic && alone(&r)) {
        w->refused = r;
        tie(&w->refused);
        w->has_refused = true;
    }
}

static bool step_node(struct world *w) {
    struct nnode *n = &w->nodes[below(w, NODES)];
    bool same = n->known && below(w, 4) == 0;
    if (same) {
        if (apply_node(w->t, n))
            report_wrong(w, "saying it again is no news");
        return false;
    }
    if (n->known && below(w, 3) == 0) {
        n->known = false;
    } else {
        int i = (int)(n - w->nodes);
        *n = (struct nnode){.known = true,
                            .usable = below(w, 6) > 0,
                            .taint = below(w, 6) == 0,
                            .disk = below(w, 3) > 0,
                            .pool = below(w, 2) == 0,
                            .block = below(w, 2),
                            .rack = below(w, 3),
                            .host = below(w, 12) ? i : NODES,
                            .cpu = below(w, 9),
                            .pods = below(w, 10) ? 1 + below(w, 8) : -1,
                            .o_cpu = n->o_cpu,
                            .o_pods = n->o_pods};
        (void)snprintf(n->name, sizeof n->name, "n%c", 'a' + i);
    }
    return apply_node(w->t, n);
}

static bool step_others(struct world *w) {
    struct nnode *n = &w->nodes[below(w, NODES)];
    int pods = n->o_pods > 0 && below(w, 2) ? -1 : 1, cpu = pods < 0 ? n->o_cpu : below(w, 3);
    if (pods < 0) { /* all its pods but one are idle */
        n->o_cpu = 0;
    } else {
        n->o_cpu += cpu;
    }
    n->o_pods += pods;
    return apply_foreign_pods(w->t, n, cpu, pods);
}

static void step(struct world *w) {
    bool news = false;
    switch (below(w, 8)) {
    case 0:
        news = step_node(w);
        break;
    case 1:
        news = step_others(w);
        break;
    case 2: {
        uint64_t key = 1 + sl_prng_below(&w->rnd, KEYS);
        news = w->held[key].on;
        sl_topo_release(w->t, key);
        let_go(w, key);
        break;
    }
    default:
        step_place(w);
        return;
    }
    char why[500];
    if (news)
        w->has_refused = false;
    if (w->has_refused &&
        sl_topo_place(w->t, KEYS + 1, 0, w->refused.v, w->refused.n, why, sizeof why)) {
        report_wrong(w, "there is room now, and nobody said so");
        sl_topo_release(w->t, KEYS + 1);
    }
}

static bool check(uint64_t seed, uint64_t *digest) {
    seed_key(seed);
    struct world w = {.seed = seed, .digest = *digest, .t = sl_topo_new()};
    sl_prng_init(&w.rnd, seed);
    int set = below(&w, SL_LEN(level_sets));
    w.levels = level_sets[set];
    w.n_levels = level_counts[set];
    apply_config(&w, w.t, false);
    for (int i = 0; i < NODES; i++)
        (void)snprintf(w.nodes[i].name, sizeof w.nodes[i].name, "n%c", 'a' + i);
    for (int i = 0; i < 2 * NODES; i++)
        (void)step_node(&w);
    for (int i = 0; i < STEPS && !w.failed; i++)
        step(&w);
    for (uint64_t k = 1; k <= KEYS; k++)
        let_go(&w, k);
    sl_topo_free(w.t);
    *digest = w.digest;
    return !w.failed;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) / 2 : 500, first = 0, digest = 0, failed = 0;
    bool one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    if (argc > 1 && !one) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    if (one) {
        first = strtoull(argv[2], NULL, 10);
        seeds = 1;
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check(s, &digest);
        if (!one && s + 1 == DIGEST_SEEDS)
            printf("digest topo %016llx\n", (unsigned long long)digest);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
