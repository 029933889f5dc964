/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a metric are in a list (order of creation) and are found through two maps: by the
 * hash of all label values, and by the hash of the values that name the object they belong to (the
 * index of table.h), where the series of one object form a chain. With the second, dropping a queue
 * costs as much as the queue has series.
 */
#include "lib/metrics/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"

static const char *const roles[] = {"standalone", "leader", "follower"};
#define NO_ROLE ((uint8_t)SL_LEN(roles)) /* of a metric that does not carry it */

struct series {
    TAILQ_ENTRY(series) in_order;
    struct series *prev, *next; /* in the chain of the object */
    uint64_t hash, object;
    uint32_t slot, key_len;
    uint8_t role;
    const char *key; /* in this allocation, behind counts */
    double value;    /* of a histogram: the sum */
    /* Of a histogram: how many values up to each bound and above the one before; then those above
     * all bounds. */
    uint64_t counts[];
};

struct family {
    TAILQ_HEAD(, series) series;
    uint32_t n;
    SL_VEC(struct series *) slots; /* what the numbers in the maps mean */
    SL_VEC(uint32_t) free_slots;
    struct sl_map by_key, by_object; /* by_object has the first of each chain */
};

struct sl_metrics {
    uint8_t role;
    struct family families[SL_M_COUNT];
};

/* The values of one series: each with its terminator, then one byte for the role. */
struct key {
    char text[SL_METRIC_LABELS * (SL_METRIC_VALUE + 1) + 1];
    uint32_t len;
    uint64_t hash, object;
};

struct sl_metrics *sl_metrics_new(void) {
    struct sl_metrics *m = sl_alloc0(1, sizeof *m);

    for (uint32_t i = 0; i < SL_M_COUNT; i++)
        TAILQ_INIT(&m->families[i].series);
    return m;
}

#if defined(__clang__)
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif
#if defined(__x86_64__)
#define PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux/arm64"
#else
#define PLATFORM "linux"
#endif

void sl_metrics_build_info(struct sl_metrics *m) {
    sl_metric_set(m, SL_M_BUILD_INFO, 1, ("v" SL_VERSION), "", "", "", COMPILER, PLATFORM);
}

void sl_metrics_free(struct sl_metrics *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < SL_M_COUNT; i++) {
        struct family *f = &m->families[i];
        for (uint32_t s = 0; s < f->slots.n; s++)
            sl_freep(&f->slots.v[s]);
        sl_vec_free(&f->slots);
        sl_vec_free(&f->free_slots);
        sl_map_done(&f->by_key);
        sl_map_done(&f->by_object);
    }
    sl_freep(&m);
}

/* The length of s as a label value: cut at the ceiling, but not inside a character. */
static size_t value_len(const char *s) {
    size_t n = strnlen(s, SL_METRIC_VALUE + 1);

    if (n <= SL_METRIC_VALUE)
        return n;
    for (n = SL_METRIC_VALUE; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
        ;
    return n;
}

/* The hash of the values that name the object; false if one of them is left open. */
static bool object_hash(const struct sl_metric_def *d, const char *const *v, uint64_t *ret) {
    uint64_t h = 0;

    for (uint32_t i = 0; i < d->n_labels; i++) {
        if (!(d->index >> i & 1))
            continue;
        if (!v[i])
            return false;
        h = sl_hash_bytes(h, v[i], value_len(v[i]));
    }
    *ret = h;
    return true;
}

static void make_key(const struct sl_metric_def *d, uint8_t role, struct sl_metric_values labels,
                     struct key *k) {
    const char *v[SL_METRIC_LABELS];

    sl_assert(labels.n == d->n_labels);
    k->len = 0;
    for (uint32_t i = 0; i < d->n_labels; i++) {
        v[i] = labels.v[i] ? labels.v[i] : "";
        size_t n = value_len(v[i]);
        memcpy(k->text + k->len, v[i], n);
        k->text[k->len + n] = '\0';
        k->len += (uint32_t)n + 1;
    }
    k->text[k->len++] = (char)role;
    k->hash = sl_hash_bytes(0, k->text, k->len);
    (void)object_hash(d, v, &k->object);
}

static struct series *find_series(const struct family *f, const struct key *k) {
    uint32_t cursor;

    for (uint32_t i = sl_map_first(&f->by_key, k->hash, &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&f->by_key, k->hash, &cursor)) {
        struct series *s = f->slots.v[i];
        if (s->key_len == k->len && memcmp(s->key, k->text, k->len) == 0)
            return s;
    }
    return NULL;
}

static void chain(struct family *f, struct series *s) {
    uint32_t first = sl_map_get(&f->by_object, s->object);

    s->prev = s->next = NULL;
    if (first != SL_MAP_NONE) {
        s->next = f->slots.v[first];
        s->next->prev = s;
        (void)sl_map_del(&f->by_object, s->object, first);
    }
    sl_map_add(&f->by_object, s->object, s->slot);
}

static void unchain(struct family *f, struct series *s) {
    if (s->next)
        s->next->prev = s->prev;
    if (s->prev) {
        s->prev->next = s->next;
        return;
    }
    (void)sl_map_del(&f->by_object, s->object, s->slot);
    if (s->next)
        sl_map_add(&f->by_object, s->object, s->next->slot);
}

static struct series *create(struct family *f, const struct sl_metric_def *d, const struct key *k,
                             uint8_t role) {
    size_t n_counts = d->type == SL_METRIC_HISTOGRAM ? d->n_bounds + 1 : 0;
    struct series *s = sl_alloc0(1, sizeof *s + n_counts * sizeof s->counts[0] + k->len);
    char *text = (char *)&s->counts[n_counts];

    memcpy(text, k->text, k->len);
    s->key = text;
    s->key_len = k->len;
    s->hash = k->hash;
    s->object = k->object;
    s->role = role;
    if (f->free_slots.n > 0) {
        s->slot = sl_vec_pop(&f->free_slots);
    } else {
        s->slot = f->slots.n;
        (void)sl_vec_push(&f->slots); /* pointers are meant: NOLINT(bugprone-sizeof-expression) */
    }
    f->slots.v[s->slot] = s;
    sl_map_add(&f->by_key, s->hash, s->slot);
    chain(f, s);
    TAILQ_INSERT_TAIL(&f->series, s, in_order);
    f->n++;
    return s;
}

static void destroy(struct family *f, struct series *s) {
    TAILQ_REMOVE(&f->series, s, in_order);
    unchain(f, s);
    (void)sl_map_del(&f->by_key, s->hash, s->slot);
    f->slots.v[s->slot] = NULL;
    *sl_vec_push(&f->free_slots) = s->slot;
    f->n--;
    sl_freep(&s);
}

/* The series with these values, made if need be; NULL if the metric is full. */
static struct series *get(struct sl_metrics *m, enum sl_metric id, struct sl_metric_values labels) {
    const struct sl_metric_def *d = sl_metric_def(id);
    struct family *f = &m->families[id];
    uint8_t role = d->role ? m->role : NO_ROLE;
    struct key k;

    make_key(d, role, labels, &k);
    struct series *s = find_series(f, &k);
    if (s)
        return s;
    if (f->n < (d->type == SL_METRIC_HISTOGRAM ? SL_METRIC_HISTOGRAMS : SL_METRIC_SERIES))
        return create(f, d, &k, role);
    sl_metric_add(m, SL_M_METRICS_DROPPED_TOTAL, 1, d->name);
    return NULL;
}

void sl_metric_set_(struct sl_metrics *m, enum sl_metric id, double value,
                    struct sl_metric_values labels) {
    if (!m)
        return;
    sl_assert(sl_metric_def(id)->type == SL_METRIC_GAUGE);
    struct series *s = get(m, id, labels);
    if (s)
        s->value = value;
}

void sl_metric_add_(struct sl_metrics *m, enum sl_metric id, double value,
                    struct sl_metric_values labels) {
    if (!m)
        return;
    enum sl_metric_type type = sl_metric_def(id)->type;
    sl_assert(type == SL_METRIC_GAUGE || (type == SL_METRIC_COUNTER && value >= 0));
    struct series *s = get(m, id, labels);
    if (s)
        s->value += value;
}

void sl_metric_observe_(struct sl_metrics *m, enum sl_metric id, double value,
                        struct sl_metric_values labels) {
    if (!m)
        return;
    const struct sl_metric_def *d = sl_metric_def(id);
    sl_assert(d->type == SL_METRIC_HISTOGRAM);
    struct series *s = get(m, id, labels);
    if (!s)
        return;
    uint32_t i = 0;
    while (i < d->n_bounds && !(value <= d->bounds[i])) /* NaN belongs above all bounds */
        i++;
    s->counts[i]++;
    s->value += value;
}

static bool matches(const struct series *s, const struct sl_metric_def *d, const char *const *v) {
    const char *p = s->key;

    for (uint32_t i = 0; i < d->n_labels; i++) {
        size_t n = strlen(p);
        if (v[i] && (value_len(v[i]) != n || memcmp(p, v[i], n) != 0))
            return false;
        p += n + 1;
    }
    return true;
}

void sl_metric_drop_(struct sl_metrics *m, enum sl_metric id, struct sl_metric_values labels) {
    const struct sl_metric_def *d = sl_metric_def(id);
    struct series *s, *next;
    uint64_t object;

    sl_assert(labels.n == d->n_labels);
    if (!m)
        return;
    struct family *f = &m->families[id];
    if (object_hash(d, labels.v, &object)) {
        uint32_t first = sl_map_get(&f->by_object, object);
        for (s = first == SL_MAP_NONE ? NULL : f->slots.v[first]; s; s = next) {
            next = s->next;
            if (matches(s, d, labels.v))
                destroy(f, s);
        }
    } else {
        for (s = TAILQ_FIRST(&f->series); s; s = next) {
            next = TAILQ_NEXT(s, in_order);
            if (matches(s, d, labels.v))
                destroy(f, s);
        }
    }
}

void sl_metrics_role(struct sl_metrics *m, const char *role) {
    uint8_t to = 0;

    if (!m)
        return;
    while (to < SL_LEN(roles) && strcmp(roles[to], role) != 0)
        to++;
    sl_assert(to < SL_LEN(roles));
    if (to == m->role)
        return;
    for (uint32_t i = 0; i < SL_M_COUNT; i++) {
        const struct sl_metric_def *d = sl_metric_def((enum sl_metric)i);
        struct family *f = &m->families[i];
        struct series *s, *next;
        if (d->type != SL_METRIC_GAUGE || !d->role)
            continue;
        for (s = TAILQ_FIRST(&f->series); s; s = next) {
            next = TAILQ_NEXT(s, in_order);
            if (s->role == m->role)
                destroy(f, s);
        }
    }
    m->role = to;
}

/* Go's shortest form ('g', -1): the fewest digits that read back as v; an exponent from 1e+06 on
 * and below 1e-04. */
static void put_number(struct sl_buf *out, double v) {
    char e[32], digits[20];
    size_t n = 0;

    if (isnan(v) || isinf(v)) {
        sl_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (fabs(v) < 1e6 && v == trunc(v)) { /* nearly all of them */
        sl_buf_printf(out, "%ld", (long)v);
        return;
    }
    /* 15 digits bring back every (normal) number that needs no more, 17 all. */
    for (int precision = 14; precision <= 16; precision++) {
        sl_fmt(e, sizeof e, "%.*e", precision, v);
        if (strtod(e, NULL) == v)
            break;
    }
    const char *p = e, *exponent = strchr(e, 'e');
    if (*p == '-')
        sl_buf_putc(out, *p++);
    for (; p < exponent; p++)
        if (*p != '.')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    long exp = strtol(exponent + 1, NULL, 10);
    if (exp < -4 || exp >= 6) { /* d.ddde+XX */
        sl_buf_add(out, digits, 1);
        if (n > 1)
            sl_buf_putc(out, '.');
        sl_buf_add(out, digits + 1, n - 1);
        sl_buf_puts(out, exponent);
    } else if (exp < 0) { /* 0.000ddd */
        sl_buf_puts(out, "0.");
        for (; exp < -1; exp++)
            sl_buf_putc(out, '0');
        sl_buf_add(out, digits, n);
    } else { /* ddd.ddd: an integer was printed above, so there are digits behind the point */
        size_t before = (size_t)exp + 1;
        sl_buf_add(out, digits, before);
        sl_buf_putc(out, '.');
        sl_buf_add(out, digits + before, n - before);
    }
}

static void put_value(struct sl_buf *out, const char *s) {
    while (*s) {
        size_t n = strcspn(s, "\\\"\n");
        sl_buf_add(out, s, n);
        s += n;
        if (*s) {
            sl_buf_add(out, *s == '\n' ? "\\n" : *s == '"' ? "\\\"" : "\\\\", 2);
            s++;
        }
    }
}

/* One line: name, suffix, labels and the value. le is a bucket's upper bound, NULL if there is
 * none; INFINITY is the last bucket. */
static void put_line(struct sl_buf *out, const struct sl_metric_def *d, const char *suffix,
                     const struct series *s, const double *le, double value) {
    const char *p = s->key;
    char before = '{';

    sl_buf_puts(out, d->name);
    sl_buf_puts(out, suffix);
    for (uint32_t i = 0; i < d->n_labels; i++, before = ',') {
        sl_buf_putc(out, before);
        sl_buf_puts(out, d->labels[i]);
        sl_buf_puts(out, "=\"");
        put_value(out, p);
        sl_buf_putc(out, '"');
        p += strlen(p) + 1;
    }
    if (d->role) {
        sl_buf_putc(out, before);
        sl_buf_puts(out, "replica_role=\"");
        sl_buf_puts(out, roles[s->role]);
        sl_buf_putc(out, '"');
        before = ',';
    }
    if (le) {
        sl_buf_putc(out, before);
        sl_buf_puts(out, "le=\"");
        put_number(out, *le);
        sl_buf_putc(out, '"');
        before = ',';
    }
    sl_buf_puts(out, before == ',' ? "} " : " ");
    put_number(out, value);
    sl_buf_putc(out, '\n');
}

static void put_histogram(struct sl_buf *out, const struct sl_metric_def *d,
                          const struct series *s) {
    const double above = INFINITY;
    uint64_t n = 0;

    for (uint32_t i = 0; i <= d->n_bounds; i++) {
        n += s->counts[i];
        put_line(out, d, "_bucket", s, i < d->n_bounds ? &d->bounds[i] : &above, (double)n);
    }
    put_line(out, d, "_sum", s, NULL, s->value);
    put_line(out, d, "_count", s, NULL, (double)n);
}

void sl_metrics_print(const struct sl_metrics *m, struct sl_buf *out) {
    for (uint32_t i = 0; m && i < SL_M_COUNT; i++) {
        const struct sl_metric_def *d = sl_metric_def((enum sl_metric)i);
        const struct series *s;
        if (m->families[i].n == 0)
            continue;
        sl_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", d->name, d->help, d->name,
                      sl_metric_type_name(d->type));
        TAILQ_FOREACH(s, &m->families[i].series, in_order) {
            if (d->type == SL_METRIC_HISTOGRAM)
                put_histogram(out, d, s);
            else
                put_line(out, d, "", s, NULL, s->value);
        }
    }
}
