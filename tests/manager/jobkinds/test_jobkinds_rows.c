/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are wrong: an error that says where and why; nothing of the text is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "manager/jobkinds/jobkinds.h"

#define HEAD                                                                                       \
    "framework: example.dev/gang\ngroup: example.dev\nversion: v1\nkind: Gang\nplural: gangs\n"
#define SUSPEND "suspend: spec.suspend\n"
#define PODSETS "podSets:\n- {at: spec, name: main, template: template}\n"

static void refused(const char *text, const char *want) {
    struct sl_jobkinds *k = NULL;
    struct sl_err err = {0};
    int r = sl_jobkinds_parse("rows", text, strlen(text), false, &k, &err);
    if (r >= 0)
        print_error("taken: %s\n", text);
    assert_true(r < 0);
    assert_null(k);
    assert_string_equal(err.text, want);
}

static void test_taken(void **state) {
    static const char text[] = HEAD SUSPEND PODSETS "ready: [{set: status.ready}]\n";
    _cleanup_(sl_jobkinds_freep) struct sl_jobkinds *k = NULL;
    struct sl_err err = {0};
    (void)state;
    assert_int_equal(sl_jobkinds_parse("rows", text, strlen(text), false, &k, &err), 0);
    assert_int_equal(k->n, 1);
    assert_string_equal(k->v[0].collection, "/apis/example.dev/v1");
    assert_ptr_equal(sl_jobkind_by_gvk(k, "example.dev/v1", "Gang"), &k->v[0]);
    assert_null(sl_jobkind_by_gvk(k, "example.dev/v2", "Gang"));
    assert_ptr_equal(sl_jobkind_by_framework(k, "example.dev/gang"), &k->v[0]);
    assert_null(sl_jobkind_by_framework(k, "example.dev/gan"));
}

static void test_built_in(void **state) {
    const struct sl_jobkinds *k = sl_jobkinds_built_in();
    (void)state;
    for (uint32_t i = 0; i < k->n; i++)
        assert_ptr_equal(sl_jobkind_by_framework(k, k->v[i].framework), &k->v[i]);
    assert_string_equal(sl_jobkind_by_gvk(k, "ray.io/v1", "RayJob")->events,
                        "ray.io/rayjob-kueue-controller");
}

static void test_refused(void **state) {
    (void)state;
    refused(HEAD PODSETS, "rows:1: expected the field \"suspend\" in a kind of jobs");
    refused(HEAD SUSPEND, "rows:1: podSets: expected at least one");
    refused(HEAD "suspend: spec..suspend\n" PODSETS,
            "rows:6: suspend: \"spec..suspend\" has a step without a name");
    refused(HEAD "suspend: spec.a[0].b\n" PODSETS,
            "rows:6: suspend: \"spec.a[0].b\" has a character that is no letter, digit, \"-\" or "
            "\"_\" (lists are named in \"list\", without brackets)");
    refused(HEAD "suspend: a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q\n" PODSETS,
            "rows:6: suspend: \"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q\" has more than 16 steps");
    refused(HEAD "suspend: 7\n" PODSETS,
            "rows:6: suspend: expected a string (put it in quotes), got 7");
    refused(HEAD SUSPEND "podSets:\n- {at: spec, list: spec.a, name: n, template: t}\n",
            "rows:8: a podset: expected exactly one of list, map and at");
    refused(HEAD SUSPEND "podSets:\n- {map: spec.a, template: t}\n",
            "rows:8: keys: expected the keys in the order of the podsets");
    refused(HEAD SUSPEND PODSETS "ready: [{conditions: Ready}]\n",
            "rows:9: a test: expected one of condition, path, set, any, sum and count");
    refused(HEAD SUSPEND PODSETS "ready: [{path: a, within: [b]}]\n",
            "rows:9: in: expected at least one value, here or in \"notIn\"");
    refused(HEAD SUSPEND PODSETS "finished: [{succeeded: true}]\n",
            "rows:9: when: expected at least one test");
    refused(HEAD SUSPEND PODSETS "rule: ray\n",
            "rows:1: rule: only kinds that are built in have one");
    refused(HEAD SUSPEND PODSETS "redy: []\n",
            "rows:9: unknown field \"redy\" in a kind of jobs; did you mean \"ready\"?");
    refused(HEAD SUSPEND PODSETS "---\n" HEAD SUSPEND PODSETS,
            "rows:10: framework: \"example.dev/gang\" is there twice");
    refused("framework: a/b\ngroup: ../x\nversion: v1\nkind: A\nplural: a\n" SUSPEND PODSETS,
            "rows:2: group: \"../x\" has a character that no name has");
    refused(
        "framework: a\ngroup: kueue.x-k8s.io\nversion: v1\nkind: A\nplural: a\n" SUSPEND PODSETS,
        "rows:1: group: objects of the queue are no jobs");
    refused("- 1\n", "rows:1: expected a kind of jobs (a map), got a list");
}

static void test_ceilings(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)1 << 20);
    (void)state;
    for (int i = 0; i < 33; i++)
        sl_buf_printf(&b, "---\n" HEAD);
    refused(sl_buf_str(&b), "rows: at most 32 kinds are read");
    sl_buf_clear(&b);
    for (int i = 0; i < 30000; i++)
        sl_buf_printf(&b, "# some text\n");
    refused(sl_buf_str(&b), "rows: rows of at most 256 KiB are read");
    sl_buf_clear(&b);
    sl_buf_printf(&b, HEAD "suspend: ");
    for (int i = 0; i < 300; i++)
        sl_buf_printf(&b, "a");
    sl_buf_printf(&b, "\n" PODSETS);
    refused(sl_buf_str(&b),
            "rows:6: suspend: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            "aaaaaaaa\" is longer than 256 bytes");
    sl_buf_clear(&b);
    sl_buf_printf(&b, HEAD SUSPEND "podSets:\n");
    for (int i = 0; i < 9; i++)
        sl_buf_printf(&b, "- {at: spec, name: n%d, template: t}\n", i);
    refused(sl_buf_str(&b), "rows:8: podSets: expected at most 8 items, got 9");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
