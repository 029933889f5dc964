/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs, and the small texts in them by themselves: counts, hostlists and idsets. Hostlists are
 * written again, and must be read as the same names.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/hostlist.h"
#include "lib/graphio/idset.h"
#include "lib/graphio/jobspec_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reqs(const struct sl_req_spec *v, uint32_t n, uint32_t depth) {
    sl_assert(depth <= SL_REQ_MAX_DEPTH);
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_req_count *c = &v[i].count;
        sl_assert(v[i].type && *v[i].type && c->min >= 1 && c->max >= c->min);
        sl_assert(c->op && strchr("+*^", c->op) && c->operand >= 1);
        sl_assert(c->n_set <= SL_REQ_COUNT_MAX_SET);
        for (uint32_t k = 1; k < c->n_set; k++)
            sl_assert(c->set[k] > c->set[k - 1]);
        sl_assert(sl_req_count_take(c, c->min) == c->min);
        sl_assert(v[i].kind == SL_REQ_RESOURCE || v[i].n_with > 0);
        check_reqs(v[i].with, v[i].n_with, depth + 1);
    }
}

static size_t check_term(const struct sl_constraint *t, uint32_t depth) {
    size_t sum = t->n_ranks;
    sl_assert(depth <= SL_GRAPHIO_JOBSPEC_MAX_TERM_DEPTH);
    for (uint32_t i = 0; i < t->n_terms; i++)
        sum += check_term(&t->terms[i], depth + 1);
    for (uint32_t i = 0; i < t->n_names; i++)
        sum += strlen(t->names[i]);
    return sum;
}

static void jobspec(const char *text, size_t len) {
    struct sl_jobspec *j = NULL;
    struct sl_err err;
    int r = sl_graphio_jobspec_read("in", text, len, &j, &err);

    if (r < 0) {
        sl_assert(!j && err.code == r && strncmp(err.text, "in:", 3) == 0);
        return;
    }
    sl_assert(j->n_resources > 0);
    check_reqs(j->resources, j->n_resources, 1);
    (void)check_term(&j->constraint, 1);
    for (uint32_t i = 0; i < j->n_slots; i++)
        sl_assert(j->slots[i]);
    sl_jobspec_free(j);
}

static void hosts(const char *text, struct sl_arena *a) {
    struct sl_hostlist h = {0}, again = {0};
    struct sl_buf b;

    if (sl_hostlist_add(&h, a, text, NULL) >= 0 && h.names.n <= 10000) {
        sl_buf_init(&b, (size_t)16 << 20);
        sl_hostlist_write(h.names.v, h.names.n, &b);
        int r = sl_hostlist_add(&again, a, sl_buf_str(&b), NULL);
        sl_assert(r >= 0 && again.names.n == h.names.n);
        for (uint32_t i = 0; i < h.names.n; i++)
            sl_assert(strcmp(h.names.v[i], again.names.v[i]) == 0);
        sl_buf_done(&b);
    }
    sl_hostlist_done(&h);
    sl_hostlist_done(&again);
}

static void ids(const char *text) {
    struct sl_idset s = {0};

    if (sl_idset_add(&s, text, NULL) >= 0)
        for (uint32_t i = 0; i < s.ranges.n; i++) {
            sl_assert(s.ranges.v[i].first <= s.ranges.v[i].last);
            sl_assert(i == 0 || s.ranges.v[i].first > s.ranges.v[i - 1].last + 1);
            sl_assert(sl_idset_has(&s, s.ranges.v[i].first));
            sl_assert(!sl_idset_has(&s, s.ranges.v[i].last + 1));
        }
    sl_idset_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    struct sl_arena a;
    struct sl_req_count c;

    jobspec((const char *)data, size);
    sl_assert(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    sl_arena_init(&a, (size_t)1 << 30);
    if (size < 200) {
        hosts(text, &a);
        ids(text);
        if (sl_graphio_count_parse(text, &a, &c, NULL) >= 0)
            sl_assert(c.min >= 1 && c.min <= c.max && sl_req_count_take(&c, c.min) == c.min);
    }
    sl_arena_done(&a);
    free(text);
    return 0;
}
