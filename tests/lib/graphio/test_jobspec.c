/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs: what each way of writing means, in a short form,
 *
 *     resources: type[min-max op operand]!{with}      ! exclusive, ? exclusive: false, "label"
 *     constraint: (and …) (or …) (not …) p:names h:hosts r:ranks, * for none
 *
 * and what is said of what is wrong. Numbers are those of the rules.
 */
#include "graphio_fixture.h"
#include "lib/graphio/jobspec_read.h"

static void dump_reqs(struct sl_buf *b, const struct sl_req_spec *v, uint32_t n) {
    static const char *const kinds[] = {"", "S:", "X:", "O:"};
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_req_count *c = &v[i].count;
        sl_buf_printf(b, "%s%s%s[", i > 0 ? " " : "", kinds[v[i].kind], v[i].type);
        for (uint32_t k = 0; k < c->n_set; k++)
            sl_buf_printf(b, "%s%u", k > 0 ? "," : "", c->set[k]);
        if (c->n_set == 0 && c->min == c->max)
            sl_buf_printf(b, "%u", c->min);
        else if (c->n_set == 0)
            sl_buf_printf(b, "%u-%u %c %u", c->min, c->max, c->op, c->operand);
        sl_buf_putc(b, ']');
        sl_buf_puts(b, v[i].exclusive == SL_TRUE ? "!" : v[i].exclusive == SL_FALSE ? "?" : "");
        if (v[i].label)
            sl_buf_printf(b, "\"%s\"", v[i].label);
        if (v[i].unit)
            sl_buf_printf(b, "~%s", v[i].unit);
        if (v[i].n_with > 0) {
            sl_buf_putc(b, '{');
            dump_reqs(b, v[i].with, v[i].n_with);
            sl_buf_putc(b, '}');
        }
    }
}

static void dump_term(struct sl_buf *b, const struct sl_constraint *t) {
    static const char *const words[] = {"*", "and", "or", "not", "p:", "h:", "r:"};
    bool list =
        t->kind == SL_CONSTRAINT_AND || t->kind == SL_CONSTRAINT_OR || t->kind == SL_CONSTRAINT_NOT;
    sl_buf_printf(b, "%s%s", list ? "(" : "", words[t->kind]);
    for (uint32_t i = 0; i < t->n_terms; i++) {
        sl_buf_putc(b, ' ');
        dump_term(b, &t->terms[i]);
    }
    for (uint32_t i = 0; i < t->n_names; i++)
        sl_buf_printf(b, "%s%s", i > 0 ? "," : "", t->names[i]);
    for (uint32_t i = 0; i < t->n_ranks; i++)
        sl_buf_printf(b, "%s%" PRId64 "-%" PRId64, i > 0 ? "," : "", t->ranks[i].first,
                      t->ranks[i].last);
    sl_buf_puts(b, list ? ")" : "");
}

static void expect(const char *text, const char *want) {
    struct sl_jobspec *j = NULL;
    struct sl_err err;
    struct sl_buf b;
    struct exact e = exact(text);

    sl_buf_init(&b, 100000);
    int r = sl_graphio_jobspec_read("f", e.s, e.n, &j, &err);
    free(e.s);
    if (r < 0) {
        assert_null(j);
        assert_int_equal(err.code, r);
        sl_buf_puts(&b, err.text);
    } else {
        dump_reqs(&b, j->resources, j->n_resources);
        sl_buf_printf(&b, " d=%" PRId64, j->duration);
        if (j->constraint.kind != SL_CONSTRAINT_ALL) {
            sl_buf_puts(&b, " c=");
            dump_term(&b, &j->constraint);
        }
        if (j->queue)
            sl_buf_printf(&b, " q=%s", j->queue);
        if (j->version != 1)
            sl_buf_printf(&b, " v=%" PRId64, j->version);
        for (uint32_t i = 0; i < j->n_slots; i++)
            sl_buf_printf(&b, " t=%s", j->slots[i]);
    }
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    sl_jobspec_free(j);
}

#define END "\ntasks: []\nattributes: null\n"
#define ONE "version: 1\nresources: [{type: node, count: 1}]\ntasks: []\n"

static void rule_3_3_a_whole_jobspec(void **state) {
    (void)state;
    expect("version: 1\n"
           "resources:\n"
           "  - type: node\n"
           "    count: 2\n"
           "    exclusive: true\n"
           "    with:\n"
           "      - type: slot\n"
           "        count: 4\n"
           "        label: default\n"
           "        with:\n"
           "          - type: core\n"
           "            count: 2\n"
           "          - {type: memory, count: 8, unit: GB}\n"
           "# a comment\n"
           "attributes:\n"
           "  system:\n"
           "    duration: 3600\n"
           "    queue: batch\n"
           "    cwd: /home\n"
           "    environment: {HOME: /home}\n"
           "    preemptible-after: 60\n"
           "  user: {anything: [1]}\n"
           "tasks:\n"
           "  - command: [\"app\"]\n"
           "    slot: default\n"
           "    count:\n"
           "      per_slot: 1\n",
           "node[2]!{S:slot[4]\"default\"{core[2] memory[8]~GB}} d=3600 q=batch t=default");
    expect(
        "{\"version\": 9999, \"resources\": [{\"type\": \"slot\", \"count\": 1, \"label\": \"x\", "
        "\"with\": [{\"type\": \"core\", \"count\": 1}]}], \"tasks\": [{\"command\": [\"app\"], "
        "\"slot\": \"x\", \"count\": {\"total\": 1}, \"distribution\": \"d\", \"attributes\": "
        "{}}], "
        "\"attributes\": {}}",
        "S:slot[1]\"x\"{core[1]} d=0 v=9999 t=x");
}

static void rule_3_3_exactly_four_keys(void **state) {
    (void)state;
    expect("resources: [{type: node, count: 1}]" END,
           "f:1: expected the field \"version\" in a jobspec");
    expect("version: 1" END, "f:1: expected the field \"resources\" in a jobspec");
    expect("version: 1\nresources: [{type: node, count: 1}]\nattributes: null\n",
           "f:1: expected the field \"tasks\" in a jobspec");
    expect(ONE, "f:1: expected the field \"attributes\" in a jobspec");
    expect(ONE "attributes: null\nextra: 1\n", "f:5: unknown field \"extra\" in a jobspec");
    expect("version: 0\nresources: [{type: node, count: 1}]" END,
           "f:1: version: expected a whole number from 1 to 9999, got 0");
    expect("version: 10000\nresources: [{type: node, count: 1}]" END,
           "f:1: version: expected a whole number from 1 to 9999, got 10000");
    expect("version: 1\nresources: []" END, "f:2: resources: expected at least one resource");
    expect("version: 1\nresources: {}" END, "f:2: resources: expected a list, got a map");
    expect("", "f:1: expected one jobspec, got 0 documents");
    expect("---\na: 1\n---\nb: 1\n", "f:1: expected one jobspec, got 2 documents");
    expect("[1]", "f:1: expected a jobspec (a map), got a list");
    expect("~", "f:1: expected one jobspec, got 0 documents");
    expect("{\"version\": 1,",
           "f:2: expected YAML: did not find expected node content while parsing a flow node");
}

#define RES(r, want) expect("version: 1\nresources: [" r "]" END, want)

static void rule_3_3_resource_keys(void **state) {
    (void)state;
    RES("{type: core, count: 1, id: 0-3}", "core[1] d=0");
    RES("{type: core, count: 1, id: [0, 3]}", "f:2: id: expected a string, got a list");
    RES("{type: 1, count: 1}", "1[1] d=0");
    RES("{type: node, count: 1, exclusive: \"true\"}", "node[1]! d=0");
    RES("{type: node, count: 1, exclusive: false}", "node[1]? d=0");
    RES("{type: node, count: 1, exclusive: yes}", "f:2: exclusive: expected true or false");
    RES("{type: node, count: 1, exclusive: 1}", "f:2: exclusive: expected true or false");
    RES("{count: 1}", "f:2: expected the field \"type\" in a resource");
    RES("{type: node}", "f:2: expected the field \"count\" in a resource");
    RES("{type: \"\", count: 1}", "f:2: type: expected the name of a type");
    RES("{type: [a], count: 1}", "f:2: type: expected a string, got a list");
    RES("{type: node, count: 1, widht: []}", "f:2: unknown field \"widht\" in a resource; did you "
                                             "mean \"with\"?");
    RES("5", "f:2: expected a resource (a map), got 5");
    RES("{type: slot, count: 1, with: [{type: core, count: 1}]}",
        "f:2: expected the field \"label\" in a slot");
    RES("{type: slot, count: 1, label: a}", "f:2: expected resources in \"with\" of a slot");
    RES("{type: xor_slot, count: 1, with: [{type: core, count: 1}]}, "
        "{type: or_slot, count: 2, label: b, with: [{type: gpu, count: 1}]}",
        "X:xor_slot[1]{core[1]} O:or_slot[2]\"b\"{gpu[1]} d=0");
}

static void rule_3_3_counts_as_numbers_and_maps(void **state) {
    (void)state;
    RES("{type: a, count: 4294967295}", "a[4294967295] d=0");
    RES("{type: a, count: 0}", "f:2: count: expected a whole number from 1 to 4294967295, got 0");
    RES("{type: a, count: 4294967296}",
        "f:2: count: expected a whole number from 1 to 4294967295, got 4294967296");
    RES("{type: a, count: -1}", "f:2: count: expected a whole number from 1 to 4294967295, got -1");
    RES("{type: a, count: 1.5}",
        "f:2: count: expected a whole number from 1 to 4294967295, got 1.5");
    RES("{type: a, count: {min: 3}}", "a[3-4294967295 + 1] d=0");
    RES("{type: a, count: {min: 2, max: 8, operator: \"*\", operand: 2}}", "a[2-8 * 2] d=0");
    RES("{type: a, count: {min: 2, max: 8, operator: ^, operand: 2}}", "a[2-8 ^ 2] d=0");
    RES("{type: a, count: {max: 8, operator: +, operand: 2}}",
        "f:2: expected the field \"min\" in a count");
    RES("{type: a, count: {min: 1, max: 8}}",
        "f:2: count: expected min alone, or with all of max, operator and operand");
    RES("{type: a, count: {min: 1, operator: +, operand: 1}}",
        "f:2: count: expected min alone, or with all of max, operator and operand");
    RES("{type: a, count: {min: 9, max: 8, operator: +, operand: 1}}",
        "f:2: count: max is less than min");
    RES("{type: a, count: {min: 1, max: 8, operator: +, operand: 0}}",
        "f:2: operand: expected a whole number from 1 to 4294967295, got 0");
    RES("{type: a, count: {min: 1, max: 8, operator: \"*\", operand: 1}}",
        "f:2: count: with the operators * and ^, the operand is at least 2");
    RES("{type: a, count: {min: 1, max: 8, operator: ^, operand: 2}}",
        "f:2: count: with the operator ^, min is at least 2");
    RES("{type: a, count: {min: 1, max: 8, operator: \"-\", operand: 2}}",
        "f:2: operator: expected +, * or ^, got \"-\"");
    RES("{type: a, count: {min: 1, most: 8}}", "f:2: unknown field \"most\" in a count");
    RES("{type: a, count: [1]}",
        "f:2: count: expected a whole number from 1 to 4294967295, got a list");
}

#define COUNT(text, want) RES("{type: a, count: \"" text "\"}", want)
#define BAD_COUNT(text, why)                                                                       \
    COUNT(text, "f:2: count: expected a number from 1 to 4294967295, a set such as "               \
                "\"2,4,8-12\", or a range such as \"2-8:2:*\" or \"3+\", got \"" text "\"" why)

static void rfc14_22_45_counts_as_strings(void **state) {
    (void)state;
    COUNT("4", "a[4] d=0");
    COUNT("[4]", "a[4] d=0");
    COUNT("2-8", "a[2-8 + 1] d=0");
    COUNT("[1-4:1:+]", "a[1-4 + 1] d=0");
    COUNT("1-5:2", "a[1-5 + 2] d=0");
    COUNT("1-5:2:+", "a[1-5 + 2] d=0");
    COUNT("[2-16:2:*]", "a[2-16 * 2] d=0");
    COUNT("2-256:2:^", "a[2-256 ^ 2] d=0");
    COUNT("3+", "a[3-4294967295 + 1] d=0");
    COUNT("[100+]", "a[100-4294967295 + 1] d=0");
    COUNT("4+:4", "a[4-4294967295 + 4] d=0");
    COUNT("2+:2:*", "a[2-4294967295 * 2] d=0");
    COUNT("2,4,8", "a[2,4,8] d=0");
    COUNT("[1-3,8]", "a[1,2,3,8] d=0");
    BAD_COUNT("", "");
    BAD_COUNT("0", ": 0 is no count");
    BAD_COUNT("0-3", ": 0 is no count");
    BAD_COUNT("1,2,x", "");
    BAD_COUNT("01", "");
    BAD_COUNT("1-5:2:", "");
    BAD_COUNT("1-5:2:-", "");
    BAD_COUNT("1-5:2:*x", "");
    BAD_COUNT("5-1", ": max is less than min");
    BAD_COUNT("1-5:1:*", ": with the operators * and ^, the operand is at least 2");
    BAD_COUNT("1-5:2:^", ": with the operator ^, min is at least 2");
    COUNT("1,3-5000", "f:2: count: a set of more than 4096 counts");
}

#define SYS(s, want) expect(ONE "attributes:\n  system:\n    " s "\n", want)

static void rule_3_3_durations_round_up(void **state) {
    (void)state;
    SYS("duration: 0", "node[1] d=0");
    SYS("duration: 0.0", "node[1] d=0");
    SYS("duration: 3600.0", "node[1] d=3600");
    SYS("duration: 3600.001", "node[1] d=3601");
    SYS("duration: 1e-9", "node[1] d=1");
    SYS("duration: 1e3", "node[1] d=1000");
    SYS("duration: \"60\"", "node[1] d=60");
    SYS("duration: -1", "node[1] d=-1"); /* the matcher's to refuse */
    SYS("duration: -0.5", "node[1] d=-1");
    SYS("duration: 1h", "f:6: duration: expected a number of seconds");
    SYS("duration: .inf", "f:6: duration: expected a number of seconds");
    SYS("duration: .nan", "f:6: duration: expected a number of seconds");
    SYS("duration: 1e300", "f:6: duration: expected a number of seconds");
    SYS("duration: [1]", "f:6: duration: expected a number of seconds");
    SYS("duration: null", "f:6: duration: expected a number of seconds");
}

static void rule_3_3_attributes(void **state) {
    (void)state;
    expect(ONE "attributes: null\n", "node[1] d=0"); /* 3.14 */
    expect(ONE "attributes: {}\n", "node[1] d=0");
    expect(ONE "attributes: {system: null}\n", "node[1] d=0");
    expect(ONE "attributes: {sytem: {}}\n",
           "f:4: unknown field \"sytem\" in attributes; did you mean \"system\"?");
    expect(ONE "attributes: 5\n", "f:4: expected attributes (a map), got 5");
    SYS("queue: [a]", "f:6: queue: expected a string, got a list");
    SYS("environment: 3", "f:6: environment: expected a map, got a number");
    SYS("dependencies: [{type: in}]", "node[1] d=0");
}

#define TASK(t, want)                                                                              \
    expect("version: 1\nresources: [{type: node, count: 1}]\nattributes: null\ntasks: [" t "]\n",  \
           want)

static void rule_3_3_tasks(void **state) {
    (void)state;
    TASK("{command: [a, 1], slot: x, count: {per_slot: 1}}, "
         "{command: [b], slot: y, count: {total: 3}}",
         "node[1] d=0 t=x t=y");
    TASK("{slot: x}", "f:4: expected the field \"command\" in a task");
    TASK("{command: [a]}", "f:4: expected the field \"slot\" in a task");
    TASK("{command: [], slot: x, count: {per_slot: 1}}", "f:4: command: expected a list of words");
    TASK("{command: a, slot: x, count: {per_slot: 1}}", "f:4: command: expected a list of words");
    TASK("{command: [a], slot: x}", "f:4: expected the field \"count\" in a task");
    TASK("{command: {a: 1}, slot: x, count: {per_slot: 1}}",
         "f:4: command: expected a list of words");
    TASK("{command: [a], slot: [x], count: {per_slot: 1}}",
         "f:4: slot: expected a string, got a list");
    TASK("{command: [a], slot: x, count: 1}",
         "f:4: count: expected a map with one key, such as {per_slot: 1}");
    TASK("{command: [a], slot: x, count: {per_slot: 1, total: 2}}",
         "f:4: count: expected a map with one key, such as {per_slot: 1}");
    TASK("{command: [a], slot: x, count: {per_slot: 1}, atributes: {}}",
         "f:4: unknown field \"atributes\" in a task; did you mean \"attributes\"?");
}

#define CON(c, want) SYS("constraints: " c, want)

static void rfc31_constraints(void **state) {
    (void)state;
    CON("{}", "node[1] d=0");
    CON("null", "node[1] d=0");
    CON("{properties: [\"ssd\", '^slow']}", "node[1] d=0 c=p:ssd,^slow");
    CON("{hostlist: [\"n[0-2]\", login]}", "node[1] d=0 c=h:n0,n1,n2,login");
    CON("{ranks: [\"0-3,7\", 9, \"8\"]}", "node[1] d=0 c=r:0-3,7-9");
    CON("{or: []}", "node[1] d=0 c=(or)");
    CON("{not: []}", "node[1] d=0 c=(not)");
    CON("{and: [{or: [{properties: [\"a\"]}, {ranks: [\"1\"]}]}, {not: [{hostlist: [\"x\"]}]}, "
        "{}]}",
        "node[1] d=0 c=(and (or p:a r:1-1) (not h:x) *)");
    CON("{and: [], or: []}", "f:6: constraints: expected a map with one operator, such as "
                             "{properties: [\"ssd\"]}");
    CON("[a]", "f:6: constraints: expected a map with one operator, such as {properties: "
               "[\"ssd\"]}");
    CON("{xor: []}", "f:6: constraints: expected properties, hostlist, ranks, and, or, or not as "
                     "operator, got \"xor\"");
    CON("{and: {}}", "f:6: and: expected a list, got a map");
    CON("{hostlist: [\"n[\"]}", "f:6: hostlist: expected host names such as \"node[0-3,7]\", got "
                                "\"n[\": a bracket that is never closed");
    CON("{hostlist: [\"n[0-9999999]\"]}",
        "f:6: hostlist: \"n[0-9999999]\" is more than 1048576 host names");
    CON("{ranks: [\"x\"]}", "f:6: ranks: expected ids such as \"0-3,7\", got \"x\"");
}

static void rule_3_14_property_names_are_quoted(void **state) {
    (void)state;
    CON("{properties: [ssd]}", "f:6: properties: expected the name of a property in quotes");
    CON("{properties: [1]}", "f:6: properties: expected the name of a property in quotes");
    CON("{properties: [\"a|b\"]}", "f:6: properties: expected the name of a property without "
                                   "!&'\"^`|(), got \"a|b\"");
    CON("{properties: [\"^^b\"]}", "f:6: properties: expected the name of a property without "
                                   "!&'\"^`|(), got \"^^b\"");
    CON("{properties: [\"^\"]}", "f:6: properties: expected the name of a property without "
                                 "!&'\"^`|(), got \"^\"");
    expect("{\"version\": 1, \"resources\": [{\"type\": \"a\", \"count\": 1}], \"tasks\": [], "
           "\"attributes\": {\"system\": {\"constraints\": {\"properties\": [\"x\"]}}}}",
           "a[1] d=0 c=p:x");
}

static void ceilings(void **state) {
    struct sl_buf b;
    (void)state;

    sl_buf_init(&b, 1 << 20);
    sl_buf_puts(&b, "version: 1\nresources: ");
    for (int i = 0; i < 17; i++)
        sl_buf_puts(&b, "[{type: a, count: 1, with: ");
    sl_buf_puts(&b, "[]");
    for (int i = 0; i < 17; i++)
        sl_buf_puts(&b, "}]");
    sl_buf_puts(&b, END);
    expect(sl_buf_str(&b), "f:2: with: more than 16 levels of resources");

    sl_buf_clear(&b);
    sl_buf_puts(&b, "version: 1\nresources:\n");
    for (int i = 0; i < 257; i++)
        sl_buf_puts(&b, "- {type: a, count: 1}\n");
    sl_buf_puts(&b, END);
    expect(sl_buf_str(&b), "f:3: resources: expected at most 256 items, got 257");

    sl_buf_clear(&b);
    sl_buf_puts(&b, ONE "attributes: {system: {constraints: ");
    for (int i = 0; i < 17; i++)
        sl_buf_puts(&b, "{not: [");
    for (int i = 0; i < 17; i++)
        sl_buf_puts(&b, "]}");
    sl_buf_puts(&b, "}}\n");
    expect(sl_buf_str(&b), "f:4: constraints: more than 4096 terms, or 16 levels of them");
    sl_buf_done(&b);
}

static void from_a_file(void **state) {
    struct sl_jobspec *j = NULL;
    struct sl_err err;
    char path[] = "/tmp/sluice-jobspec-XXXXXX";
    (void)state;

    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fputs(ONE "attributes: null\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(sl_graphio_jobspec_load(path, &j, &err), 0);
    assert_int_equal(j->n_resources, 1);
    sl_jobspec_free(j);
    assert_int_equal(remove(path), 0);
    assert_true(sl_graphio_jobspec_load(path, &j, &err) < 0);
    assert_non_null(strstr(err.text, path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_3_a_whole_jobspec),
        cmocka_unit_test(rule_3_3_exactly_four_keys),
        cmocka_unit_test(rule_3_3_resource_keys),
        cmocka_unit_test(rule_3_3_counts_as_numbers_and_maps),
        cmocka_unit_test(rfc14_22_45_counts_as_strings),
        cmocka_unit_test(rule_3_3_durations_round_up),
        cmocka_unit_test(rule_3_3_attributes),
        cmocka_unit_test(rule_3_3_tasks),
        cmocka_unit_test(rfc31_constraints),
        cmocka_unit_test(rule_3_14_property_names_are_quoted),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
