/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostlists (RFC 29) and idsets (RFC 22): every rule of the two, by its number there, and ceilings.
 */
#include "core/graph/hostlist.h"
#include "graphio_fixture.h"
#include "lib/graphio/idset.h"

/* ---- hostlists ---- */

static void spread(const char *text, const char *want) {
    struct sl_hostlist h = {0};
    struct sl_arena a;
    struct sl_err err;
    struct sl_buf b;

    sl_arena_init(&a, (size_t)1 << 30);
    sl_buf_init(&b, 1 << 20);
    if (sl_hostlist_add(&h, &a, text, &err) < 0)
        sl_buf_printf(&b, "! %s", err.text);
    for (uint32_t i = 0; i < h.names.n; i++)
        sl_buf_printf(&b, "%s%s", i > 0 ? "," : "", h.names.v[i]);
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    sl_hostlist_done(&h);
    sl_arena_done(&a);
}

#define BAD(text, why)                                                                             \
    spread(text, "! expected host names such as \"node[0-3,7]\", got \"" text "\": " why)

static void rfc29_vectors(void **state) {
    (void)state;
    spread("", "");
    spread("foox,fooy,fooz", "foox,fooy,fooz");
    spread("[1-3,5-6]", "1,2,3,5,6");
    spread("foo[1-5]", "foo1,foo2,foo3,foo4,foo5");
    spread("foo[0-4]-eth2", "foo0-eth2,foo1-eth2,foo2-eth2,foo3-eth2,foo4-eth2");
    spread("foo1,foo1,foo1", "foo1,foo1,foo1");
    spread("[00-02]", "00,01,02");
    spread("[00-2]", "00,01,02");
    spread("foo[1,1,2,1]", "foo1,foo1,foo2,foo1");
}

static void rfc29_zeros_of_the_first_hold_for_all(void **state) {
    (void)state;
    spread("n[005,4,11-13]", "n005,n004,n011,n012,n013");
    spread("n[8-11]", "n8,n9,n10,n11");
    spread("n[08-11]", "n08,n09,n10,n11");
    spread("n[0-2]", "n0,n1,n2");
    spread("a[0-1],b,c[3]", "a0,a1,b,c3");
}

static void rfc29_wrong(void **state) {
    (void)state;
    BAD("a[", "a bracket that is never closed");
    BAD("a]", "a bracket that was never opened");
    BAD("a[0-1", "a bracket that is never closed");
    BAD("a]b[0", "a bracket that is never closed");
    BAD("a]b[0]", "more than one pair of brackets in a name");
    BAD("a[0[1]", "a bracket that is never closed");
    BAD("a[1-0]", "a range that does not go up");
    BAD("a[]", "not a number where one should be");
    BAD("a[x]", "not a number where one should be");
    BAD("a[1,]", "not a number where one should be");
    BAD("a[1;2]", "not a comma where one should be");
    BAD("a[1]b[2]", "more than one pair of brackets in a name");
    BAD("a,,b", "an empty name");
    BAD("a,", "an empty name");
    BAD("a b", "a blank, or not an ASCII character");
    BAD("a[1234567890123456789]", "not a number where one should be");
}

static void lists_that_would_explode_are_refused(void **state) {
    struct sl_hostlist h = {0};
    struct sl_arena a;
    struct sl_err err;
    (void)state;

    sl_arena_init(&a, (size_t)1 << 30);
    assert_int_equal(sl_hostlist_add(&h, &a, "a[0-999999999]", &err), SL_ELIMIT);
    assert_string_equal(err.text, "\"a[0-999999999]\" is more than 1048576 host names");
    assert_int_equal(h.names.n, 0);
    assert_int_equal(sl_hostlist_add(&h, &a, "a[0-1048575]", &err), 0);
    assert_int_equal(h.names.n, SL_HOSTLIST_MAX);
    assert_int_equal(sl_hostlist_add(&h, &a, "b", &err), SL_ELIMIT);
    assert_int_equal(sl_hostlist_add(&h, &a, "b,c[0-1]", &err), SL_ELIMIT);
    assert_int_equal(h.names.n, SL_HOSTLIST_MAX);
    sl_hostlist_done(&h);
    char name[300];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(sl_hostlist_add(&h, &a, name, &err), SL_ELIMIT);
    sl_hostlist_done(&h);
    sl_arena_done(&a);
}

static void joined(const char *names, const char *want) {
    char copy[256], *next = copy, *name;
    const char *v[32];
    uint32_t n = 0;
    struct sl_buf b;

    (void)snprintf(copy, sizeof(copy), "%s", names);
    while ((name = strsep(&next, ",")))
        v[n++] = name;
    sl_buf_init(&b, 1000);
    sl_hostlist_write(v, n, &b);
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    if (strchr(want, '!') == NULL)
        spread(want, names); /* and back */
}

static void hosts_are_written_short_and_in_order(void **state) {
    (void)state;
    joined("node0", "node0");
    joined("node0,node1", "node[0-1]");
    joined("node0,node1,node3", "node[0-1,3]");
    joined("node3,node1,node2", "node[3,1-2]");
    joined("node1,node1", "node[1,1]");
    joined("a1,b1", "a1,b1");
    joined("a1,a2,login,a3", "a[1-2],login,a3");
    joined("n9,n10,n11", "n[9-11]");
    joined("n09,n10,n11", "n[09-11]");
    joined("n9,n010", "n9,n010"); /* in one pair of brackets they would mean something else */
    joined("n01,n1", "n01,n1");
    joined("1,2", "[1-2]");
    joined("foo0-eth2,foo1-eth2", "foo0-eth2,foo1-eth2");
    joined("x12345678901234567890,x12345678901234567891",
           "x12345678901234567890,x12345678901234567891");
}

static void hosts_have_a_number_or_none(void **state) {
    int64_t id;
    (void)state;
    assert_int_equal(sl_hostlist_split("node12", &id), 4);
    assert_int_equal(id, 12);
    assert_int_equal(sl_hostlist_split("node007", &id), 4);
    assert_int_equal(id, 7);
    assert_int_equal(sl_hostlist_split("login", &id), 5);
    assert_int_equal(id, -1);
    assert_int_equal(sl_hostlist_split("12", &id), 0);
    assert_int_equal(id, 12);
    assert_int_equal(sl_hostlist_split("x1234567890123456789", &id), 20);
    assert_int_equal(id, -1);
}

/* ---- idsets ---- */

static void ids(const char *text, const char *want) {
    struct sl_idset s = {0};
    struct sl_err err;
    struct sl_buf b;

    sl_buf_init(&b, 1000);
    if (sl_idset_add(&s, text, &err) < 0)
        sl_buf_printf(&b, "! %s", err.text);
    for (uint32_t i = 0; i < s.ranges.n; i++)
        sl_buf_printf(&b, "%s%" PRId64 "..%" PRId64, i > 0 ? " " : "", s.ranges.v[i].first,
                      s.ranges.v[i].last);
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    sl_idset_done(&s);
}

#define NO_IDS(text) ids(text, "! expected ids such as \"0-3,7\", got \"" text "\"")

static void rfc22(void **state) {
    (void)state;
    ids("", "");
    ids("[]", "");
    ids("1,2,3,5,6,42", "1..3 5..6 42..42");
    ids("1-3,5-6,42", "1..3 5..6 42..42");
    ids("[1-3,5-6,42]", "1..3 5..6 42..42");
    ids("0", "0..0");
    ids("3,1,2,1-2", "1..3"); /* out of order is taken, too */
    ids("0,0-1,1", "0..1");
    ids("0-4294967294", "0..4294967294");
    NO_IDS("0-4294967295");
    NO_IDS("01");
    NO_IDS("1-03");
    NO_IDS("2-1");
    NO_IDS("1,");
    NO_IDS(",1");
    NO_IDS("1 2");
    NO_IDS("[1");
    NO_IDS("1]");
    NO_IDS("-1");
    NO_IDS("1-");
    NO_IDS("a");
    NO_IDS("99999999999999999999");
}

static void idset_queries(void **state) {
    struct sl_idset s = {0};
    (void)state;
    assert_int_equal(sl_idset_add(&s, "0-3,7,9-4294967294", NULL), 0);
    assert_int_equal(sl_idset_count(&s), 4 + 1 + 4294967294U - 9 + 1);
    assert_true(sl_idset_has(&s, 0) && sl_idset_has(&s, 3) && sl_idset_has(&s, 7));
    assert_true(sl_idset_has(&s, 100000));
    assert_false(sl_idset_has(&s, 4) || sl_idset_has(&s, 8) || sl_idset_has(&s, -1));
    assert_int_equal(sl_idset_add(&s, "x", NULL), SL_EINVAL);
    assert_int_equal(s.ranges.n, 3);
    sl_idset_done(&s);
}

static void ids_are_written_short(void **state) {
    static const struct {
        int64_t v[6];
        uint32_t n;
        const char *want;
    } cases[] = {
        {{0}, 0, ""},
        {{0}, 1, "0"},
        {{0, 1}, 2, "0-1"},
        {{0, 2}, 2, "0,2"},
        {{0, 1, 2, 5, 7, 8}, 6, "0-2,5,7-8"},
        {{-1}, 1, "-1"},
        {{-1, -1}, 2, "-1,-1"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_buf b;
        sl_buf_init(&b, 100);
        sl_idset_write(cases[i].v, cases[i].n, &b);
        assert_string_equal(sl_buf_str(&b), cases[i].want);
        sl_buf_done(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc29_vectors),
        cmocka_unit_test(rfc29_zeros_of_the_first_hold_for_all),
        cmocka_unit_test(rfc29_wrong),
        cmocka_unit_test(lists_that_would_explode_are_refused),
        cmocka_unit_test(hosts_are_written_short_and_in_order),
        cmocka_unit_test(hosts_have_a_number_or_none),
        cmocka_unit_test(rfc22),
        cmocka_unit_test(idset_queries),
        cmocka_unit_test(ids_are_written_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
