/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster in one line of text and places as text, for tests of topologies.
 */
#ifndef SL_TESTS_CORE_TOPO_TOPO_FIXTURE_H
#define SL_TESTS_CORE_TOPO_TOPO_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/topo/topo.h"

#define UNITS(n) ((sl_quantity)(n)*SL_NANO)
#define BLOCK "cloud/block"
#define RACK "cloud/rack"
#define HOST SL_TOPO_HOSTNAME

static const char *const host_levels[] = {BLOCK, RACK, HOST};

/* What one node of the text says; tests change it on its way. */
struct told {
    char block[16], rack[16], host[16];
    struct sl_label labels[6];
    struct sl_request has[3];
    struct sl_taint taint;
    struct sl_topo_node n;
};

static inline void read_node(const char *word, struct told *x) {
    int cpu, pods = 110;
    memset(x, 0, sizeof *x);
    /* Words of these tests, and nobody else's: NOLINTNEXTLINE(cert-err34-c) */
    assert_true(sscanf(word, "%15[^/]/%15[^/]/%15[^=]=%d,%d", x->block, x->rack, x->host, &cpu,
                       &pods) >= 4);
    x->labels[0] = (struct sl_label){"tas", "yes"};
    x->labels[1] = (struct sl_label){BLOCK, x->block};
    x->labels[2] = (struct sl_label){RACK, x->rack};
    x->labels[3] = (struct sl_label){HOST, x->host};
    x->has[0] = (struct sl_request){"cpu", UNITS(cpu)};
    x->has[1] = (struct sl_request){"pods", UNITS(pods)};
    x->n = (struct sl_topo_node){.name = x->host,
                                 .labels = {x->labels, 4},
                                 .taints = &x->taint,
                                 .allocatable = x->has,
                                 .n_allocatable = 2,
                                 .usable = true};
}

static inline bool apply_node(struct sl_topo *t, const char *word) {
    struct told x;
    read_node(word, &x);
    return sl_topo_node(t, &x.n);
}

/* "b1/r1/x1=4 b1/r1/x2=4,8": block/rack/host=cpu,pods */
static inline void apply_nodes(struct sl_topo *t, const char *text) {
    char word[64];
    int n;
    for (; sscanf(text, " %63s%n", word, &n) == 1; text += n)
        (void)apply_node(t, word);
}

static const struct sl_label tas_label = {"tas", "yes"};

static inline struct sl_flavor_spec tas_flavor(const char *name) {
    return (struct sl_flavor_spec){.name = name, .labels = {&tas_label, 1}};
}

/* The flavor "f" of the topology "default", over these nodes. */
static inline struct sl_topo *cluster(const char *const *levels, uint32_t n, const char *nodes) {
    struct sl_topo *t = sl_topo_new();
    struct sl_flavor_spec f = tas_flavor("f");
    (void)sl_topo_flavor(t, &f, "default");
    (void)sl_topo_levels(t, "default", levels, n);
    apply_nodes(t, nodes);
    return t;
}

static inline struct sl_topo *hosts(const char *nodes) {
    return cluster(host_levels, 3, nodes);
}

static const struct sl_request one_cpu = {"cpu", UNITS(1)};

static inline struct sl_topo_podset podset(int32_t count, enum sl_topo_mode mode,
                                           const char *level) {
    return (struct sl_topo_podset){.name = "main",
                                   .flavor = "f",
                                   .group = "",
                                   .count = count,
                                   .requests = &one_cpu,
                                   .n_requests = 1,
                                   .request = {.mode = mode, .level = level}};
}

/* "x1:2 x2:1 | x3:4": podsets parted by a bar; values of several levels by a slash. */
static inline const char *held(const struct sl_topo *t, uint64_t key) {
    static char text[2000];
    struct sl_arena a;
    const struct sl_topo_place *p;
    size_t at = 0;
    sl_arena_init(&a, 1 << 20);
    uint32_t n = sl_topo_held(t, key, &a, &p);
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            at += (size_t)snprintf(text + at, sizeof text - at, " |");
        for (uint32_t k = 0; k < p[i].n_domains; k++) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", at ? " " : "");
            for (uint32_t l = 0; l < p[i].n_levels; l++)
                at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", l ? "/" : "",
                                       p[i].domains[k].values[l]);
            at += (size_t)snprintf(text + at, sizeof text - at, ":%d", p[i].domains[k].count);
        }
    }
    sl_arena_done(&a);
    return text;
}

/* Where they stand, or why they do not. */
static inline const char *try_many(struct sl_topo *t, uint64_t key, const struct sl_topo_podset *v,
                                   uint32_t n) {
    static char why[1000];
    bool ok = sl_topo_place(t, key, 0, v, n, why, sizeof why);
    assert_int_equal(ok, why[0] == '\0');
    return ok ? held(t, key) : why;
}

static inline const char *try_one(struct sl_topo *t, uint64_t key, struct sl_topo_podset p) {
    return try_many(t, key, &p, 1);
}

#endif
