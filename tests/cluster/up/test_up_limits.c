/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that docs/limits.md says `sluice up` may take is what its ceilings add up to. */
#include "cluster/up/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/controllers/core/ceilings.h"
#include "core/base/mem.h"

static const char *page;

/* What controllers write, the API of `up` takes. */
_Static_assert(CRON_MAX_ACTIVE <= API_LIST_ITEMS, "a status lists all active Jobs of a CronJob");

#define MIB(bytes) ((unsigned)(((bytes) + ((size_t)1 << 20) - 1) >> 20))

/* Rows of the table, by their beginning. */
static const struct {
    const char *what;
    unsigned mib;
} rows[] = {
    {"| bodies that are coming", MIB(SL_UP_BODIES)},
    {"| answers that are not read", MIB(SL_HTTP_ANSWERS)},
    {"| streams that are not read", MIB(SL_HTTP_STREAMS_MOST)},
    {"| 16,384 connections", MIB(SL_UP_CONNECTION_MEMORY)},
    {"| stored objects", MIB(SL_STORE_MAX_BYTES)},
    {"| changes that wait for the disk", MIB(SL_STORE_MAX_WAITING_BYTES)},
    {"| lines of watches, discovery",
     MIB(API_STATE_MEMORY - SL_STORE_MAX_BYTES - SL_STORE_MAX_WAITING_BYTES)},
    {"| what is being done", MIB(SL_UP_WORK_MEMORY)},
    {"| events of the ledger that wait", MIB(SL_LEDGER_MEMORY)},
    {"| **together**", MIB(SL_UP_MEMORY)},
};

/* The number that follows: 8,192 of "8,192 MiB". */
static unsigned long number_at(const char *at) {
    unsigned long n = 0;

    for (; (*at >= '0' && *at <= '9') || *at == ','; at++)
        n = *at == ',' ? n : 10 * n + (unsigned long)(*at - '0');
    return n;
}

/* Numbers in sentences, by the words before and after them. */
static const struct {
    const char *before, *after;
    unsigned long n;
} numbers[] = {
    {"up to ", " MiB for the schemas of a custom resource definition", MIB(SL_UP_DEFINITION)},
    {"of which there are ", " at most, and the OpenAPI documents", SL_CRD_MAX},
    {"up to ", " MiB for an exec or attach session", MIB(SL_UP_SESSION)},
    {"Up to ", " calls are open", SL_API_OPEN_CALLS},
    {"has ", " of its calls under way", API_MANY_CALLS},
};

static const char *section(void) {
    static char text[256 << 10];
    FILE *f = fopen(page, "re");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    assert_int_equal(fclose(f), 0);
    text[n] = '\0';
    const char *from = strstr(text, "## The memory of `sluice up`");
    assert_non_null(from);
    return from;
}

static void test_numbers(void **state) {
    const char *from = section();
    (void)state;
    for (size_t i = 0; i < SL_LEN(numbers); i++) {
        const char *after = strstr(from, numbers[i].after), *at = after;
        if (!after)
            fail_msg("nothing about%s", numbers[i].after);
        while (at > from && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == ','))
            at--;
        size_t n = strlen(numbers[i].before);
        if ((size_t)(at - from) < n || strncmp(at - n, numbers[i].before, n) != 0)
            fail_msg("%s does not stand before%s", numbers[i].before, numbers[i].after);
        if (number_at(at) != numbers[i].n)
            fail_msg("%s%lu%s: it is %lu", numbers[i].before, number_at(at), numbers[i].after,
                     numbers[i].n);
    }
}

static void test_rows(void **state) {
    const char *from = section();
    (void)state;
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        const char *row = strstr(from, rows[i].what);
        if (!row)
            fail_msg("no row %s", rows[i].what);
        const char *cell = row, *end = strchr(row, '\n');
        for (const char *c = row; c + 2 < end; c++)
            cell = *c == '|' ? c : cell;
        unsigned says = 0;
        for (; cell < end; cell++) /* "8,192", "**16,790**" */
            says = *cell >= '0' && *cell <= '9' ? 10 * says + (unsigned)(*cell - '0') : says;
        if (says != rows[i].mib)
            fail_msg("%s: the page says %u MiB, the ceilings %u", rows[i].what, says, rows[i].mib);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_numbers)};
    if (argc != 2)
        return 2;
    page = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
