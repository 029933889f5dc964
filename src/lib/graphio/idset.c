/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges are read in the order of the text, and sorted and joined only if they are out of order.
 */
#include "lib/graphio/idset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sl_idset_done(struct sl_idset *s) {
    sl_vec_free(&s->ranges);
}

/* One id at *p, which is moved behind it. RFC 22 has no leading zeros. */
static bool read_id(const char **p, int64_t *ret) {
    const char *s = *p;
    uint64_t id = 0;

    if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9'))
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        id = id * 10 + (uint64_t)(*s - '0');
        if (id > SL_IDSET_MAX_ID)
            return false;
    }
    *p = s;
    *ret = (int64_t)id;
    return true;
}

static int by_first(const void *x, const void *y) {
    const struct sl_constraint_ranks *a = x, *b = y;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->last < b->last ? -1 : a->last > b->last;
}

void sl_idset_settle(struct sl_idset *s) {
    uint32_t n = 0;

    if (s->ranges.n < 2)
        return;
    qsort(s->ranges.v, s->ranges.n, sizeof(*s->ranges.v), by_first);
    for (uint32_t i = 0; i < s->ranges.n; i++) {
        struct sl_constraint_ranks r = s->ranges.v[i];
        if (n == 0 || r.first > s->ranges.v[n - 1].last + 1)
            s->ranges.v[n++] = r;
        else if (r.last > s->ranges.v[n - 1].last)
            s->ranges.v[n - 1].last = r.last;
    }
    s->ranges.n = n;
}

int sl_idset_collect(struct sl_idset *s, const char *text, struct sl_err *err) {
    bool brackets = *text == '[';
    const char *p = text + brackets;
    uint32_t from = s->ranges.n;

    if (*p == (brackets ? ']' : '\0') && p[brackets] == '\0')
        return 0;
    for (;;) {
        struct sl_constraint_ranks r;
        if (!read_id(&p, &r.first))
            break;
        r.last = r.first;
        if (*p == '-' && (p++, !read_id(&p, &r.last) || r.last < r.first))
            break;
        if (s->ranges.n >= SL_IDSET_MAX_RANGES)
            return sl_err_set(err, SL_ELIMIT, "more than %u ranges of ids", SL_IDSET_MAX_RANGES);
        *sl_vec_push(&s->ranges) = r;
        if (*p == ',') {
            p++;
            continue;
        }
        if (strcmp(p, brackets ? "]" : "") == 0)
            return 0;
        break;
    }
    s->ranges.n = from;
    return sl_err_set(err, SL_EINVAL, "expected ids such as \"0-3,7\", got \"%.60s\"", text);
}

int sl_idset_add(struct sl_idset *s, const char *text, struct sl_err *err) {
    int r = sl_idset_collect(s, text, err);
    if (r >= 0)
        sl_idset_settle(s);
    return r;
}

/* The range that has id, or the first one behind it. */
static uint32_t find_range(const struct sl_idset *s, int64_t id) {
    uint32_t lo = 0, hi = s->ranges.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->ranges.v[mid].last < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool sl_idset_has(const struct sl_idset *s, int64_t id) {
    uint32_t i = find_range(s, id);
    return i < s->ranges.n && s->ranges.v[i].first <= id;
}

uint64_t sl_idset_count(const struct sl_idset *s) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->ranges.n; i++)
        n += (uint64_t)(s->ranges.v[i].last - s->ranges.v[i].first) + 1;
    return n;
}

void sl_idset_write(const int64_t *ids, uint32_t n, struct sl_buf *out) {
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && ids[k] == ids[k - 1] + 1; k++)
            ;
        sl_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", ids[i]);
        if (k > i + 1)
            sl_buf_printf(out, "-%" PRId64, ids[k - 1]);
    }
}
