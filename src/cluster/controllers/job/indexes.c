/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/controllers/job/indexes.h"

#include <stdlib.h>
#include <string.h>

void cl_indexes_done(struct cl_indexes *s) {
    sl_vec_free(s);
}

/* The first run that ends at or after i. */
static uint32_t run_at(const struct cl_indexes *s, int32_t i) {
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].last >= i)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* [first, last] besides; runs that overlap it or touch it become one with it. */
static void add_run(struct cl_indexes *s, int32_t first, int32_t last) {
    uint32_t at = run_at(s, first > 0 ? first - 1 : first), end = at;
    while (end < s->n && (s->v[end].first <= last || s->v[end].first - 1 == last)) {
        first = s->v[end].first < first ? s->v[end].first : first;
        last = s->v[end].last > last ? s->v[end].last : last;
        end++;
    }
    if (end == at) {
        (void)sl_vec_push(s);
        memmove(&s->v[at + 1], &s->v[at], (s->n - 1 - at) * sizeof *s->v);
    } else {
        memmove(&s->v[at + 1], &s->v[end], (s->n - end) * sizeof *s->v);
        s->n -= end - at - 1;
    }
    s->v[at] = (struct cl_index_run){first, last};
}

/* A number without sign; false if there is none or it does not fit. */
static bool parse_number(const char **s, int32_t *ret) {
    int64_t v = 0;
    const char *p = *s;
    for (; *p >= '0' && *p <= '9' && v <= INT32_MAX; p++)
        v = v * 10 + (*p - '0');
    if (p == *s || v > INT32_MAX)
        return false;
    *s = p;
    *ret = (int32_t)v;
    return true;
}

void cl_indexes_read(const char *text, int32_t end, struct cl_indexes *ret) {
    while (text && *text) {
        int32_t first, last;
        const char *next = strchr(text, ',');
        if (parse_number(&text, &first)) {
            last = first;
            bool good = *text != '-' || (text++, parse_number(&text, &last));
            if (last >= end)
                last = end - 1;
            if (good && (*text == ',' || !*text) && first <= last)
                add_run(ret, first, last);
        }
        text = next ? next + 1 : NULL;
    }
}

void cl_indexes_put(const struct cl_indexes *s, struct sl_buf *b) {
    for (uint32_t i = 0; i < s->n; i++) {
        const struct cl_index_run *r = &s->v[i];
        sl_buf_printf(b, "%s%d", i ? "," : "", r->first);
        if (r->last > r->first)
            sl_buf_printf(b, "%c%d", r->last == r->first + 1 ? ',' : '-', r->last);
    }
}

void cl_indexes_add(struct cl_indexes *s, int32_t i) {
    add_run(s, i, i);
}

bool cl_indexes_has(const struct cl_indexes *s, int32_t i) {
    uint32_t at = run_at(s, i);
    return at < s->n && s->v[at].first <= i;
}

int64_t cl_indexes_count(const struct cl_indexes *s) {
    int64_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        n += (int64_t)s->v[i].last - s->v[i].first + 1;
    return n;
}

int64_t cl_indexes_common(const struct cl_indexes *a, const struct cl_indexes *b) {
    int64_t n = 0;
    for (uint32_t i = 0, j = 0; i < a->n && j < b->n;) {
        const struct cl_index_run *x = &a->v[i], *y = &b->v[j];
        int32_t first = x->first > y->first ? x->first : y->first;
        int32_t last = x->last < y->last ? x->last : y->last;
        if (first <= last)
            n += (int64_t)last - first + 1;
        i += x->last == last;
        j += y->last == last;
    }
    return n;
}

void cl_indexes_join(struct cl_indexes *s, const struct cl_indexes *more) {
    for (uint32_t i = 0; i < more->n; i++)
        add_run(s, more->v[i].first, more->v[i].last);
}

int32_t cl_indexes_free(const struct cl_indexes *s, int32_t from) {
    uint32_t at = run_at(s, from);
    if (at < s->n && s->v[at].first <= from)
        return s->v[at].last == INT32_MAX ? INT32_MAX : s->v[at].last + 1;
    return from;
}
