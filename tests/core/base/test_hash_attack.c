/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody chooses names. Those below are legal names of objects, 65,536 of one digest, found in
 * seconds: from each state any first block is cancelled by a second one, and of four million of
 * these one has letters and digits only. Where digests were the keys of tables a set of such names
 * took time that grows with its square, and two templates of one digest were one template.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/collection/sym.h"
#include "core/base/collection/wordset.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/controllers/core/templates.h"

#define N_NAMES 20000u
#define STAGES 8u
#define PIECE 16u
#define NAME (STAGES * PIECE + 1)

/* One of each line: the digest is the same. */
static const char pieces[STAGES][4][PIECE + 1] = {
    {"qq05zeo76wz8ubgu", "zu9fdj9gpwz7v9j6", "uluh5qufuouj1p5l", "dkfcannpcw42dzpf"},
    {"bg5gyifn3m7uomfo", "rgql3n0dwxnbeh7p", "kvjnx4kqv2sxjol7", "forsd2weou2zpdpv"},
    {"tgkkaa7e8qjio885", "hvy1v7vk28bom33w", "pzji1701yh9ao2k1", "yzls2g7vwh0i4sbs"},
    {"a5sux999ltatexhl", "ld9drc00l7b5h1jx", "z1zq3wofcr0r15z2", "muv2o1qa27ksybai"},
    {"b1myvos7hohblrhb", "ogl8530bifiohlhk", "fijd511q7rizyngn", "m2r8htyn3909wwtw"},
    {"5cwhaemgxgw8v9iw", "05pidcz2lwc290bm", "v72yq4hjbbsh0lfb", "mtq9d2ayjchs98jh"},
    {"72y5xvpxnjfth4uw", "ho4gxul2g6jc80sg", "zoi6v8s5t0fpkvrx", "x6dj9za1izrj94gh"},
    {"dvdsgjrcakm3y2rp", "06aqq6ya6qm6811d", "4ccu78gqog7vl50p", "xdivxcgd57npl733"},
};

typedef char name[NAME];

/* Chosen, or as long and like any others. */
static name *make_names(bool chosen) {
    name *v = sl_alloc0(N_NAMES, sizeof *v);

    for (uint32_t i = 0; i < N_NAMES; i++) {
        for (uint32_t k = 0; k < STAGES; k++)
            memcpy(v[i] + k * PIECE, pieces[k][chosen ? i >> 2 * k & 3 : 0], PIECE);
        for (uint32_t k = 0, n = i; k < 5 && !chosen; k++, n /= 10)
            v[i][k] = (char)('0' + n % 10);
    }
    return v;
}

/* How many candidates are looked at until the last of the names is found. */
static uint64_t candidates(const name *v, uint64_t (*hash)(uint64_t seed, const char *s)) {
    struct sl_map map = {0};
    uint64_t n = 0;
    uint32_t c;

    for (uint32_t i = 0; i < N_NAMES; i++) {
        uint64_t key = hash(0, v[i]);
        for (uint32_t k = sl_map_first(&map, key, &c); k != SL_MAP_NONE;
             k = sl_map_next(&map, key, &c))
            n++;
        sl_map_add(&map, key, i);
    }
    sl_map_done(&map);
    return n;
}

static void test_map(void **state) {
    name *v = make_names(true);

    (void)state;
    for (uint32_t i = 1; i < N_NAMES; i++)
        assert_true(sl_digest_str(0, v[i]) == sl_digest_str(0, v[0]));
    assert_true(candidates(v, sl_digest_str) == (uint64_t)N_NAMES * (N_NAMES - 1) / 2);
    assert_int_equal(candidates(v, sl_hash_str), 0);
    sl_freep(&v);
}

static double cpu(void) {
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double time_syms(const name *v) {
    struct sl_syms t;
    double from = cpu();

    sl_syms_init(&t);
    for (uint32_t i = 0; i < N_NAMES; i++)
        assert_int_equal(sl_sym_put(&t, v[i]), i + 1);
    for (uint32_t i = 0; i < N_NAMES; i++)
        assert_int_equal(sl_sym_find(&t, v[i]), i + 1);
    sl_syms_done(&t);
    return cpu() - from;
}

static double time_words(const name *v) {
    struct sl_wordset s = {0};
    double from = cpu();

    for (uint32_t i = 0; i < N_NAMES; i++)
        assert_true(sl_wordset_add(&s, v[i]));
    for (uint32_t i = 0; i < N_NAMES; i++)
        assert_int_equal(sl_wordset_find(&s, v[i]), i);
    sl_wordset_done(&s);
    return cpu() - from;
}

/* A square of them takes a thousand times as long. */
static void test_sets(void **state) {
    name *chosen = make_names(true), *usual = make_names(false);

    (void)state;
    assert_true(time_syms(chosen) < 0.02 + 20 * time_syms(usual));
    assert_true(time_words(chosen) < 0.02 + 20 * time_words(usual));
    sl_freep(&chosen);
    sl_freep(&usual);
}

/* Plain numbers are keys too, and some of them can be chosen: pairs of a namespace and a name, both
 * numbered. These stood in one place of sl_map as long as it multiplied with a constant. */
static double time_numbers(uint64_t step) {
    struct sl_map map = {0};
    double from = cpu();

    for (uint64_t i = 0; i < N_NAMES; i++)
        sl_map_add(&map, i * step, (uint32_t)i);
    for (uint64_t i = 0; i < N_NAMES; i++)
        assert_int_equal(sl_map_get(&map, i * step), i);
    sl_map_done(&map);
    return cpu() - from;
}

static void test_numbers(void **state) {
    const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of 0x9e3779b97f4a7c15 */

    (void)state;
    assert_true(inverse * UINT64_C(0x9e3779b97f4a7c15) == 1);
    assert_true(time_numbers(inverse) < 0.02 + 20 * time_numbers(1));
}

/* ---- templates ---- */

#define ONE "juaqr9nj5rv08mkp"
#define OTHER "bvjj4g7t6q3zwoap"
#define CHOSEN(value)                                                                              \
    "{\"spec\":{\"nodeSelector\":{\"example.com/note\":\"" value "\"},"                            \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}"

static yyjson_doc *parsed(const char *s) {
    yyjson_doc *d = yyjson_read(s, strlen(s), 0);

    assert_non_null(d);
    return d;
}

/* Nodes of one flavor or of another: who is taken for the other has its quota. */
static void test_templates(void **state) {
    yyjson_doc *a = parsed(CHOSEN(ONE)), *b = parsed(CHOSEN(OTHER));
    yyjson_val *x = yyjson_doc_get_root(a), *y = yyjson_doc_get_root(b);
    struct sl_manager *m = sl_alloc0(1, sizeof *m);

    (void)state;
    mgr_templates_new(m);
    assert_true(sl_json_digest(1, x) == sl_json_digest(1, y));
    assert_true(sl_json_hash(1, x) != sl_json_hash(1, y));
    struct mgr_template *t = mgr_template_get(m, x), *u = mgr_template_get(m, y),
                        *again = mgr_template_get(m, x);
    assert_ptr_not_equal(t, u);
    assert_ptr_equal(t, again);
    assert_non_null(strstr(t->pod, ONE));
    assert_non_null(strstr(u->pod, OTHER));
    mgr_template_unref(m, t);
    mgr_template_unref(m, u);
    mgr_template_unref(m, again);
    mgr_templates_end(m);
    sl_freep(&m);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
}

/* pod-template-hash and controller-revision-hash follow from it: another value would be another set
 * for every Deployment that is there. */
static void test_names(void **state) {
    yyjson_doc *d =
        parsed("{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
               "\"name\":\"c\",\"image\":\"nginx:1\",\"ports\":[{\"containerPort\":80}],"
               "\"tty\":true,\"x\":-1.5}],\"volumes\":[],\"y\":null}}");

    (void)state;
    assert_true(sl_json_digest(1, yyjson_doc_get_root(d)) == UINT64_C(0x943ff0afa7d213e0));
    yyjson_doc_free(d);
}

/* Without a key, and so for those who know it: where a list ends counts. */
static void test_lists(void **state) {
    yyjson_doc *a = parsed("[[\"a\"],\"b\"]"), *b = parsed("[[\"a\",\"b\"]]");

    (void)state;
    assert_true(sl_json_hash(1, yyjson_doc_get_root(a)) != sl_json_hash(1, yyjson_doc_get_root(b)));
    yyjson_doc_free(a);
    yyjson_doc_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),     cmocka_unit_test(test_sets),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_templates),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests_name("hash_attack", tests, NULL, NULL);
}
