/* SPDX-License-Identifier: Apache-2.0 */
/* Do pods fit on nodes? Cases, and random ones against a naive scheduler that places pod by pod. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/collection/vec.h"
#include "core/base/prng.h"
#include "manager/controllers/provisioning/capacity_pack.h"

#define GI ((sl_quantity)1 << 30)

struct need {
    struct sl_request requests[3];
    struct sl_podset_spec spec;
    struct mgr_pack_pods pods;
};

static void need(struct need *x, int64_t cpu_milli, int64_t gpus, int32_t count) {
    *x = (struct need){0};
    x->requests[0] = (struct sl_request){"cpu", (sl_quantity)cpu_milli * SL_NANO / 1000};
    x->requests[1] = (struct sl_request){"memory", GI * SL_NANO};
    x->requests[2] = (struct sl_request){"nvidia.com/gpu", (sl_quantity)gpus * SL_NANO};
    x->spec.requests = x->requests;
    x->spec.n_requests = gpus ? 3 : 2;
    x->pods = (struct mgr_pack_pods){.spec = &x->spec, .count = count};
}

static void node(struct mgr_pack *k, const char *name, int64_t cpu_milli, int64_t gpus,
                 int64_t pods, bool usable) {
    const struct sl_request has[] = {{"cpu", (sl_quantity)cpu_milli * SL_NANO / 1000},
                                     {"memory", 64 * GI * SL_NANO},
                                     {"nvidia.com/gpu", (sl_quantity)gpus * SL_NANO},
                                     {"pods", (sl_quantity)pods * SL_NANO}};
    const struct sl_label labels[] = {{"name", name}};
    struct sl_topo_node n = {.name = name,
                             .labels = {labels, 1},
                             .allocatable = has,
                             .n_allocatable = pods < 0 ? 3 : 4,
                             .usable = usable};
    mgr_pack_node(k, &n);
}

static bool takes(struct mgr_pack *k, const struct need *x) {
    struct mgr_pack_lack lack = {0};
    return mgr_pack_take(k, &x->pods, 1, false, &lack, NULL);
}

/* Why they find no place; "": they do. */
static const char *why(struct mgr_pack *k, const struct need *x, char out[512]) {
    struct sl_buf b;
    struct mgr_pack_lack lack = {.why = &b};
    sl_buf_init(&b, 4096);
    (void)mgr_pack_take(k, &x->pods, 1, false, &lack, NULL);
    (void)snprintf(out, 512, "%s", sl_buf_str(&b));
    sl_buf_done(&b);
    return out;
}

static void test_all_or_none(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x;
    char text[512];
    need(&x, 2000, 0, 4);
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    assert_string_equal(why(k, &x, text), "there is no node");
    node(k, "a", 4000, 0, 10, true);
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    need(&x, 2000, 0, 2);
    assert_true(takes(k, &x)); /* nothing was taken by the one that did not fit */
    assert_false(takes(k, &x));
    node(k, "b", 4000, 0, 10, true);
    need(&x, 2000, 0, 4);
    mgr_pack_begin(k);
    assert_true(takes(k, &x));

    mgr_pack_count_pod(k, "b", x.requests, 2, NULL, 0, 1);
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    assert_string_equal(why(k, &x, text), "of 2 nodes 2 lack cpu");
    mgr_pack_count_pod(k, "b", x.requests, 2, NULL, 0, -1);
    mgr_pack_begin(k);
    assert_true(takes(k, &x));
    mgr_pack_node_gone(k, "a");
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    mgr_pack_free(k);
}

static void test_who_refuses(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x;
    char text[512];
    const struct sl_taint taint = {"dedicated", "x", SL_TAINT_NO_SCHEDULE};
    const struct sl_request big[] = {{"cpu", 100 * (sl_quantity)SL_NANO},
                                     {"memory", 64 * GI * SL_NANO}};
    struct sl_topo_node tainted = {.name = "t",
                                   .taints = &taint,
                                   .n_taints = 1,
                                   .allocatable = big,
                                   .n_allocatable = 2,
                                   .usable = true};
    struct sl_topo_node elsewhere = {
        .name = "e", .allocatable = big, .n_allocatable = 2, .usable = true};
    node(k, "closed", 8000, 0, 10, false);
    node(k, "full", 8000, 0, 0, true);
    node(k, "small", 100, 0, 10, true);
    node(k, "tiny", 100, 0, 10, true);
    mgr_pack_node(k, &tainted);
    mgr_pack_node(k, &elsewhere);
    const struct sl_label select = {"name", "e"};
    need(&x, 1000, 0, 1);
    x.spec.node_selector = (struct sl_labels){&select, 1};
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    assert_string_equal(why(k, &x, text),
                        "of 6 nodes 1 is not ready or closed, 5 have other labels than asked for");
    x.spec.node_selector.n = 0;
    mgr_pack_node_gone(k, "e");
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    assert_string_equal(why(k, &x, text),
                        "of 5 nodes 1 lacks room for another pod, 2 lack cpu, 1 is not ready or "
                        "closed, 1 has a taint that is not tolerated");
    const struct sl_toleration tolerates = {"dedicated", "x", false, SL_TAINT_ANY};
    x.spec.tolerations = &tolerates;
    x.spec.n_tolerations = 1;
    assert_true(takes(k, &x));
    need(&x, 100, 1, 1); /* no node has the resource */
    assert_false(takes(k, &x));
    mgr_pack_free(k);
}

static void test_affinity(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x;
    const char *const values[] = {"b", "c"};
    const struct sl_label_rule rule = {"name", SL_OP_IN, values, 2};
    const struct sl_selector term = {&rule, 1, false};
    node(k, "a", 8000, 0, 10, true);
    node(k, "b", 1000, 0, 10, true);
    node(k, "c", 1000, 0, 10, true);
    need(&x, 1000, 0, 2);
    x.spec.affinity = (struct sl_affinity){&term, 1};
    mgr_pack_begin(k);
    assert_true(takes(k, &x));
    x.pods.count = 1;
    assert_false(takes(k, &x));
    mgr_pack_free(k);
}

static void test_ports(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x;
    char text[512];
    const uint32_t web = sl_podspec_host_port("TCP", 80), dns = sl_podspec_host_port("UDP", 80);
    node(k, "a", 8000, 0, 10, true);
    node(k, "b", 8000, 0, 10, true);
    need(&x, 100, 0, 3);
    x.pods.ports = &web;
    x.pods.n_ports = 1;
    mgr_pack_begin(k);
    assert_false(takes(k, &x)); /* one on each node */
    x.pods.count = 2;
    assert_true(takes(k, &x));
    x.pods.count = 1;
    assert_false(takes(k, &x));
    assert_string_equal(why(k, &x, text), "of 2 nodes 2 have the host port taken");
    x.pods.ports = &dns;
    assert_true(takes(k, &x));
    x.pods.ports = &web;
    mgr_pack_count_pod(k, "a", x.requests, 2, &web, 1, 1);
    mgr_pack_count_pod(k, "a", x.requests, 2, &web, 1, 1);
    mgr_pack_count_pod(k, "a", x.requests, 2, &web, 1, -1);
    mgr_pack_begin(k);
    assert_true(takes(k, &x)); /* b */
    assert_false(takes(k, &x));
    mgr_pack_free(k);
}

/* Pods of several kinds: the scarce node goes to those that need it. */
static void test_scarcest_first(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x, y;
    struct mgr_pack_lack lack = {0};
    node(k, "a-gpu", 4000, 1, 10, true);
    node(k, "b", 4000, 0, 10, true);
    need(&x, 4000, 0, 1);
    need(&y, 4000, 1, 1);
    const struct mgr_pack_pods both[] = {x.pods, y.pods};
    mgr_pack_begin(k);
    assert_true(mgr_pack_take(k, both, 2, false, &lack, NULL));
    mgr_pack_begin(k);
    const struct mgr_pack_pods more[] = {x.pods, y.pods, y.pods};
    assert_false(mgr_pack_take(k, more, 3, false, &lack, NULL));
    assert_true(lack.kind > 0);
    assert_int_equal(lack.rest, 1);
    assert_true(mgr_pack_take(k, both, 2, false, &lack, NULL)); /* nothing had been taken */
    mgr_pack_begin(k);
    assert_false(mgr_pack_take(k, more, 3, true, &lack, NULL)); /* what there is */
    assert_false(takes(k, &x));
    mgr_pack_free(k);
}

/* A pod on a node that comes later counts from the beginning. */
static void test_pod_before_its_node(void **state) {
    (void)state;
    struct mgr_pack *k = mgr_pack_new();
    struct need x;
    need(&x, 3000, 0, 1);
    mgr_pack_count_pod(k, "a", x.requests, 2, NULL, 0, 1);
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    node(k, "a", 4000, 0, -1, true);
    mgr_pack_begin(k);
    assert_false(takes(k, &x));
    mgr_pack_node_gone(k, "a");
    node(k, "a", 6000, 0, -1, true);
    mgr_pack_begin(k);
    assert_true(takes(k, &x));
    mgr_pack_node_gone(k, "a");
    mgr_pack_count_pod(k, "a", x.requests, 2, NULL, 0, -1);
    mgr_pack_free(k);
}

/* ---- random ---- */

#define NODES 8u
#define COLORS 3u
#define KINDS 3u

struct world {
    struct {
        char name[8], color[2];
        bool usable, gone;
        int64_t cpu, gpu, pods; /* free */
        bool taken;             /* the port */
    } nodes[NODES];
};

struct ask {
    struct need is;
    struct sl_label color;
    int64_t cpu, gpu;
    uint32_t port;
};

static bool may(const struct world *w, uint32_t i, const struct ask *a) {
    return w->nodes[i].usable && !w->nodes[i].gone &&
           (!a->is.spec.node_selector.n || strcmp(a->color.value, w->nodes[i].color) == 0) &&
           w->nodes[i].pods >= 1 && w->nodes[i].cpu >= a->cpu && w->nodes[i].gpu >= a->gpu &&
           !(a->is.pods.n_ports && w->nodes[i].taken);
}

static void place_pod(struct world *w, uint32_t i, const struct ask *a) {
    w->nodes[i].pods--;
    w->nodes[i].cpu -= a->cpu;
    w->nodes[i].gpu -= a->gpu;
    w->nodes[i].taken |= a->is.pods.n_ports > 0;
}

/* How many of one kind a scheduler would place, one after the other. */
static int32_t naive(struct world w, const struct ask *a) {
    int32_t n = 0;
    for (uint32_t i = 0; i < NODES && n < a->is.pods.count;)
        if (may(&w, i, a)) {
            place_pod(&w, i, a);
            n++;
        } else {
            i++;
        }
    return n;
}

static void make_ask(struct sl_prng *p, struct ask *a, uint64_t like) {
    static const char *const colors[COLORS] = {"r", "g", "b"};
    a->cpu = (int64_t)sl_prng_below(p, 4) * 500;
    a->gpu = sl_prng_below(p, 4) == 0;
    need(&a->is, a->cpu, a->gpu, (int32_t)(1 + sl_prng_below(p, 12)));
    a->color = (struct sl_label){"color", colors[sl_prng_below(p, COLORS)]};
    a->is.spec.requests = a->is.requests;
    a->is.spec.node_selector = (struct sl_labels){&a->color, (uint32_t)sl_prng_below(p, 2)};
    a->port = sl_podspec_host_port("TCP", 80);
    a->is.pods.spec = &a->is.spec;
    a->is.pods.ports = &a->port;
    a->is.pods.n_ports = sl_prng_below(p, 5) == 0;
    a->is.pods.like = like;
}

static void make_world(struct sl_prng *p, struct mgr_pack *k, struct world *w) {
    static const char *const colors[COLORS] = {"r", "g", "b"};
    *w = (struct world){0};
    for (uint32_t i = 0; i < NODES; i++) {
        (void)snprintf(w->nodes[i].name, sizeof w->nodes[i].name, "n%u", i);
        (void)snprintf(w->nodes[i].color, 2, "%s", colors[sl_prng_below(p, COLORS)]);
        w->nodes[i].usable = sl_prng_below(p, 8) != 0;
        w->nodes[i].cpu = (int64_t)sl_prng_below(p, 5) * 1000;
        w->nodes[i].gpu = (int64_t)sl_prng_below(p, 3);
        w->nodes[i].pods = (int64_t)sl_prng_below(p, 8);
        const struct sl_label color = {"color", w->nodes[i].color};
        const struct sl_request has[] = {{"cpu", (sl_quantity)w->nodes[i].cpu * SL_NANO / 1000},
                                         {"memory", 64 * GI * SL_NANO},
                                         {"nvidia.com/gpu", (sl_quantity)w->nodes[i].gpu * SL_NANO},
                                         {"pods", (sl_quantity)w->nodes[i].pods * SL_NANO}};
        struct sl_topo_node n = {.name = w->nodes[i].name,
                                 .labels = {&color, 1},
                                 .allocatable = has,
                                 .n_allocatable = 4,
                                 .usable = w->nodes[i].usable};
        mgr_pack_node(k, &n);
    }
}

/* The places are allowed one by one, in any order: nobody gets more than there is. */
static void play(struct world *w, const struct ask *asks, const struct mgr_pack_places *places,
                 int32_t got[KINDS]) {
    for (uint32_t i = 0; i < places->n; i++) {
        uint32_t at = (uint32_t)(places->v[i].node[1] - '0');
        for (int32_t n = 0; n < places->v[i].count; n++) {
            assert_true(may(w, at, &asks[places->v[i].kind]));
            place_pod(w, at, &asks[places->v[i].kind]);
            got[places->v[i].kind]++;
        }
    }
}

static void one_history(uint64_t seed) {
    struct sl_prng p;
    struct mgr_pack *k = mgr_pack_new();
    struct world w;
    struct ask asks[KINDS];
    sl_prng_init(&p, seed);
    make_world(&p, k, &w);
    for (uint32_t i = 0; i < KINDS; i++)
        make_ask(&p, &asks[i], i + 1);
    mgr_pack_begin(k);
    for (uint32_t turn = 0; turn < 12; turn++) {
        struct mgr_pack_places places = {0};
        struct mgr_pack_pods pods[KINDS];
        struct mgr_pack_lack lack = {0};
        int32_t got[KINDS] = {0};
        uint32_t first = (uint32_t)sl_prng_below(&p, KINDS);
        uint32_t n = sl_prng_below(&p, 3) ? 1 : 1 + (uint32_t)sl_prng_below(&p, KINDS - first);
        bool some = sl_prng_below(&p, 4) == 0;
        for (uint32_t i = 0; i < n; i++) {
            asks[first + i].is.pods.count = (int32_t)(1 + sl_prng_below(&p, 6));
            pods[i] = asks[first + i].is.pods;
        }
        int32_t most = naive(w, &asks[first]);
        bool all = mgr_pack_take(k, pods, n, some, &lack, &places);
        play(&w, asks + first, &places, got);
        if (n == 1) /* of one kind, as many as there can be */
            assert_int_equal(all, most == pods[0].count);
        if (n == 1 && some)
            assert_int_equal(got[0], most);
        for (uint32_t i = 0; i < n && all; i++)
            assert_int_equal(got[i], pods[i].count);
        if (!all && !some)
            assert_int_equal(places.n, 0);
        sl_vec_free(&places);
    }
    mgr_pack_free(k);
}

static void test_random(void **state) {
    (void)state;
    const char *seeds = getenv("SL_SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 20000;
    for (uint64_t seed = 1; seed <= n; seed++)
        one_history(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_or_none),    cmocka_unit_test(test_who_refuses),
        cmocka_unit_test(test_affinity),       cmocka_unit_test(test_ports),
        cmocka_unit_test(test_scarcest_first), cmocka_unit_test(test_pod_before_its_node),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
