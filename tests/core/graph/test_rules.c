/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule on both matchers, and the arithmetic of counts (rule 3.3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "rules.h"
#include "script.h"

struct trial {
    const struct rule *rule;
    bool fast;
};

static void run(void **state) {
    const struct trial *t = *state;
    struct sl_buf why;
    sl_buf_init(&why, 1 << 16);
    if (!script_run(t->rule->script, t->fast, &why)) {
        print_message("%s", sl_buf_str(&why));
        sl_buf_done(&why);
        fail();
    }
    sl_buf_done(&why);
}

static const uint32_t set[] = {2, 3, 8};
static const struct {
    struct sl_req_count c;
    uint64_t q;
    uint32_t expected;
} counts[] = {
    {{3, 3, '+', 1, NULL, 0}, 2, 0},
    {{3, 3, '+', 1, NULL, 0}, 3, 3},
    {{3, 3, '+', 1, NULL, 0}, 9, 3},
    {{5, 3, '+', 1, NULL, 0}, 9, 0},
    {{1, 10, '+', 4, NULL, 0}, 0, 0},
    {{1, 10, '+', 4, NULL, 0}, 4, 1},
    {{1, 10, '+', 4, NULL, 0}, 5, 5},
    {{1, 10, '+', 4, NULL, 0}, 100, 9},
    {{3, 50, '*', 2, NULL, 0}, 2, 0},
    {{3, 50, '*', 2, NULL, 0}, 23, 12},
    {{3, 50, '*', 2, NULL, 0}, 24, 24},
    {{3, 50, '*', 2, NULL, 0}, 1000, 48},
    {{2, 300, '^', 2, NULL, 0}, 15, 4},
    {{2, 300, '^', 2, NULL, 0}, 16, 16},
    {{2, 300, '^', 2, NULL, 0}, 1000, 256},
    {{2, SL_REQ_COUNT_MAX, '^', 2, NULL, 0}, UINT64_MAX, 65536},
    {{3, SL_REQ_COUNT_MAX, '^', 3, NULL, 0}, 100000, 19683},
    {{2, SL_REQ_COUNT_MAX, '+', 1, NULL, 0}, 77, 77},
    {{2, SL_REQ_COUNT_MAX, '+', 1, NULL, 0}, UINT64_MAX, SL_REQ_COUNT_MAX},
    {{3, SL_REQ_COUNT_MAX, '*', 2, NULL, 0}, UINT64_MAX, 3221225472u},
    {{2, 8, '+', 1, set, 3}, 1, 0},
    {{2, 8, '+', 1, set, 3}, 2, 2},
    {{2, 8, '+', 1, set, 3}, 7, 3},
    {{2, 8, '+', 1, set, 3}, UINT64_MAX, 8},
};

static void rule_3_3_count_arithmetic(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(counts); i++) {
        assert_int_equal(naive_take(&counts[i].c, counts[i].q), counts[i].expected);
        assert_int_equal(sl_req_count_take(&counts[i].c, counts[i].q), counts[i].expected);
    }
}

#define MAX_TESTS 512

int main(void) {
    static const struct rule *const tables[] = {rules_graph, rules_verbs, rules_walk, rules_policy,
                                                rules_jobs};
    static struct trial trials[MAX_TESTS];
    static char names[MAX_TESTS][100];
    static struct CMUnitTest tests[MAX_TESTS];
    static struct CMUnitTest only = cmocka_unit_test(rule_3_3_count_arithmetic);
    size_t n = 0;
    tests[n++] = only;
    for (size_t t = 0; t < SL_LEN(tables); t++) {
        for (const struct rule *r = tables[t]; r->name; r++) {
            for (int fast = 0; fast < 2; fast++, n++) {
                sl_assert(n < MAX_TESTS);
                (void)snprintf(names[n], sizeof names[n], "%s_%s", r->name,
                               fast ? "matcher" : "naive");
                trials[n] = (struct trial){r, fast};
                tests[n] = (struct CMUnitTest){names[n], run, NULL, NULL, &trials[n]};
            }
        }
    }
    return _cmocka_run_group_tests("rules", tests, n, NULL, NULL);
}
