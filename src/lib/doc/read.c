/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed getters over a document. Each reads one node, reports the expected type if it is another
 * one, and returns a harmless value then.
 */
#include "lib/doc/read.h"
#include "core/base/fmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

#define WORDS 230

/* "path.name: message (instead)"; an index such as "[3]" follows its list without a dot. */
static void warn(struct sl_read *rd, uint32_t line, const char *name, const char *message) {
    char text[SL_WARNING_TEXT];
    const char *path = rd->path ? rd->path : "";
    const char *dot = *path && *name && *name != '[' ? "." : "";

    sl_fmt_short(text, sizeof text, "%.120s%s%.60s%s%s (%.50s)", path, dot, name,
                 *path || *name ? ": " : "", message, rd->instead ? rd->instead : "ignored");
    rd->warn(rd->warn_ctx, line, text);
}

/* A wrong value, or without a name a wrong map. */
static void report_wrong(struct sl_read *rd, uint32_t line, const char *name, const char *message) {
    rd->n_wrong++;
    if (rd->warn)
        warn(rd, line, name, message);
    else if (rd->code == 0)
        rd->code = sl_err_set(rd->err, SL_EINVAL, "%s:%u: %s%s%s", rd->file, line, name,
                              *name ? ": " : "", message);
}

void sl_read_fail(struct sl_read *rd, uint32_t line, const char *fmt, ...) {
    char message[WORDS];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof message, fmt, ap);
    va_end(ap);
    report_wrong(rd, line, "", message);
}

void sl_read_wrong(struct sl_read *rd, uint32_t line, const char *name, const char *fmt, ...) {
    char message[WORDS];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof message, fmt, ap);
    va_end(ap);
    report_wrong(rd, line, name, message);
}

void sl_read_note(struct sl_read *rd, uint32_t line, const char *name, const char *fmt, ...) {
    char message[WORDS];
    va_list ap;

    if (!rd->warn)
        return;
    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof message, fmt, ap);
    va_end(ap);
    warn(rd, line, name, message);
}

/* ---- one value ---- */

struct got {
    char s[72];
};

/* A short description of the value. */
static struct got describe(const struct sl_doc_node *n) {
    struct got g;

    switch (n->kind) {
    case SL_DOC_NODE_STR:
        sl_fmt_short(g.s, sizeof g.s, "\"%.60s%s\"", n->text, n->n > 60 ? "..." : "");
        break;
    case SL_DOC_NODE_FLOAT:
    case SL_DOC_NODE_BOOL:
        sl_fmt_short(g.s, sizeof g.s, "%.60s", n->text);
        break;
    case SL_DOC_NODE_INT:
        sl_fmt_short(g.s, sizeof g.s, "%lld", (long long)n->num);
        break;
    case SL_DOC_NODE_NULL:
    case SL_DOC_NODE_LIST:
    case SL_DOC_NODE_MAP:
        sl_fmt_short(g.s, sizeof g.s, "%s", sl_doc_node_kind_name(n->kind));
        break;
    }
    return g;
}

static void unexpected(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                       const char *what) {
    sl_read_wrong(rd, n->line, name, "expected %s, got %s", what, describe(n).s);
}

const char *sl_read_str(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    if (n->kind == SL_DOC_NODE_STR)
        return n->text;
    unexpected(rd, n, name,
               n->kind == SL_DOC_NODE_LIST || n->kind == SL_DOC_NODE_MAP
                   ? "a string"
                   : "a string (put it in quotes)");
    return "";
}

bool sl_read_bool(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    if (n->kind == SL_DOC_NODE_BOOL)
        return n->truth;
    unexpected(rd, n, name, "true or false");
    return false;
}

int64_t sl_read_int(struct sl_read *rd, const struct sl_doc_node *n, const char *name, int64_t min,
                    int64_t max) {
    char what[80];

    if (n->kind == SL_DOC_NODE_INT && n->num >= min && n->num <= max)
        return n->num;
    if (rd->warn && n->kind == SL_DOC_NODE_INT && n->num < min) { /* the message of Kueue */
        sl_read_wrong(rd, n->line, name, "must be greater than or equal to %lld, got %lld",
                      (long long)min, (long long)n->num);
        return min > 0 ? min : 0;
    }
    if (min == INT64_MIN && max == INT64_MAX)
        sl_fmt_short(what, sizeof what, "a whole number");
    else if (max == INT64_MAX)
        sl_fmt_short(what, sizeof what, "a whole number from %lld on", (long long)min);
    else
        sl_fmt_short(what, sizeof what, "a whole number from %lld to %lld", (long long)min,
                     (long long)max);
    unexpected(rd, n, name, what);
    return min > 0 ? min : 0;
}

sl_span sl_read_span(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    sl_span d = 0;

    if (n->kind == SL_DOC_NODE_INT && n->num == 0)
        return 0;
    if (n->kind != SL_DOC_NODE_STR || sl_span_parse(n->text, n->n, &d, NULL) < 0)
        unexpected(rd, n, name, "a duration such as 250ms");
    return d;
}

static bool digits(const char **p, int n, int *ret) {
    *ret = 0;
    for (; n > 0; n--, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *ret = *ret * 10 + (**p - '0');
    }
    return true;
}

static bool match_char(const char **p, char c) {
    return *(*p)++ == c;
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar. */
static int64_t days(int y, int m, int d) {
    int64_t era, year = m <= 2 ? y - 1 : y;
    era = year / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool rfc3339(const char *s, sl_time *ret) {
    static const int length[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y, mo, d, h, mi, sec, zh = 0, zm = 0, sign = 1;
    const char *p = s;
    int64_t ns = 0, scale = SL_SEC;

    if (!digits(&p, 4, &y) || !match_char(&p, '-') || !digits(&p, 2, &mo) || !match_char(&p, '-') ||
        !digits(&p, 2, &d) || !(*p == 'T' || *p == 't'))
        return false;
    p++;
    if (!digits(&p, 2, &h) || !match_char(&p, ':') || !digits(&p, 2, &mi) || !match_char(&p, ':') ||
        !digits(&p, 2, &sec))
        return false;
    if (*p == '.') {
        if (p[1] < '0' || p[1] > '9')
            return false;
        for (p++; *p >= '0' && *p <= '9'; p++) {
            scale /= 10;
            ns += (*p - '0') * scale;
        }
    }
    if (*p == 'Z' || *p == 'z') {
        p++;
    } else {
        if (*p != '+' && *p != '-')
            return false;
        sign = *p++ == '-' ? -1 : 1;
        if (!digits(&p, 2, &zh) || !match_char(&p, ':') || !digits(&p, 2, &zm))
            return false;
    }
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (*p || y < 1700 || y > 2261 || mo < 1 || mo > 12 || d < 1 || d > length[mo - 1] ||
        (mo == 2 && d == 29 && !leap) || h > 23 || mi > 59 || sec > 59 || zh > 23 || zm > 59)
        return false;
    int zone = sign * (zh * 60 + zm);
    int64_t minutes = days(y, mo, d) * 1440 + h * INT64_C(60) + mi - zone;
    int64_t t = minutes * 60 + sec;
    *ret = t * SL_SEC + ns;
    return true;
}

sl_time sl_read_time(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    sl_time t = 0;

    if (n->kind != SL_DOC_NODE_STR || !rfc3339(n->text, &t))
        unexpected(rd, n, name, "a time such as 2026-01-31T12:00:00Z");
    return t;
}

sl_quantity sl_read_quantity(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    char number[24];
    const char *text = n->kind == SL_DOC_NODE_STR || n->kind == SL_DOC_NODE_FLOAT ? n->text : "";
    size_t len = *text ? n->n : 0;
    sl_quantity q = 0;

    if (n->kind == SL_DOC_NODE_INT) {
        len = (size_t)snprintf(number, sizeof number, "%lld", (long long)n->num);
        text = number;
    }
    if (sl_quantity_parse(text, len, &q, NULL) < 0)
        unexpected(rd, n, name, "a quantity such as 500m, 2 or 4Gi");
    return q;
}

/* Kueue's message for a value that is not among those allowed; only warnings list them. */
static const char *unsupported(const struct sl_read *rd) {
    return rd->warn ? "Unsupported value: " : "";
}

int sl_read_word(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                 enum sl_vocab vocab) {
    struct sl_err why;
    int value = 0;

    if (n->kind == SL_DOC_NODE_STR && *n->text) {
        if (sl_word_parse(vocab, n->text, &value, &why) == 0)
            return value;
        sl_read_wrong(rd, n->line, name, "%s%s", unsupported(rd), why.text);
        return 0;
    }
    (void)!sl_word_parse(vocab, describe(n).s, &value, &why);
    sl_read_wrong(rd, n->line, name, "%s%s", unsupported(rd), why.text);
    return 0;
}

int sl_read_choice(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                   const char *const *message) {
    char what[160] = "";
    size_t used = 0;

    for (int i = 0; n->kind == SL_DOC_NODE_STR && message[i]; i++)
        if (strcmp(message[i], n->text) == 0)
            return i;
    for (int i = 0; message[i] && used < sizeof what; i++)
        used += (size_t)snprintf(what + used, sizeof what - used, "%s%s",
                                 i == 0           ? ""
                                 : message[i + 1] ? ", "
                                                  : " or ",
                                 message[i]);
    sl_read_wrong(rd, n->line, name, "%sexpected %s, got %s", unsupported(rd), what, describe(n).s);
    return 0;
}

const struct sl_doc_node *sl_read_list(struct sl_read *rd, const struct sl_doc_node *n,
                                       const char *name, uint32_t max, uint32_t *ret_n) {
    *ret_n = 0;
    if (!n)
        return NULL;
    if (n->kind != SL_DOC_NODE_LIST) {
        unexpected(rd, n, name, "a list");
        return NULL;
    }
    if (n->n > max) {
        rd->half = true;
        sl_read_wrong(rd, n->line, name, "expected at most %u items, got %u", max, n->n);
        return NULL;
    }
    *ret_n = n->n;
    return n->items;
}

const char *const *sl_read_strs(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                                uint32_t max, uint32_t *ret_n) {
    uint32_t n_items, kept = 0, before = 0;
    const struct sl_doc_node *items = sl_read_list(rd, n, name, max, &n_items);
    const char **v = NULL;

    if (n_items > 0)
        v = sl_arena_alloc(rd->arena, n_items * sizeof *v);
    for (uint32_t i = 0; i < n_items; i++) {
        before = rd->n_wrong;
        v[kept] = sl_read_str(rd, &items[i], name);
        kept += !rd->warn || rd->n_wrong == before; /* "" would have a meaning of its own */
    }
    *ret_n = kept;
    return v;
}

/* ---- fields ---- */

void sl_doc_fields_open(struct sl_doc_fields *f, struct sl_read *rd, const struct sl_doc_node *n,
                        const char *what) {
    *f = (struct sl_doc_fields){.rd = rd, .what = what, .line = n ? n->line : 0, .outer = rd->path};
    if (!n || n->kind == SL_DOC_NODE_NULL)
        return;
    if (n->kind != SL_DOC_NODE_MAP) {
        sl_read_fail(rd, n->line, "expected %s (a map), got %s", what, describe(n).s);
        return;
    }
    f->map = n;
}

void sl_doc_fields_enter(struct sl_doc_fields *f, struct sl_read *rd, const struct sl_doc_node *n,
                         const char *what, const char *key) {
    const char *outer = rd->path;

    if (rd->warn)
        rd->path = outer ? sl_arena_printf(rd->arena, "%.120s.%.60s", outer, key)
                         : sl_arena_printf(rd->arena, "%.60s", key);
    sl_doc_fields_open(f, rd, n, what);
    f->outer = outer;
}

void sl_doc_field_skip(struct sl_doc_fields *f, const char *key) {
    sl_assert(f->n_used < SL_DOC_FIELDS_MAX);
    f->used[f->n_used++] = key;
}

const struct sl_doc_node *sl_doc_field(struct sl_doc_fields *f, const char *key) {
    sl_doc_field_skip(f, key);
    const struct sl_doc_node *n = sl_doc_node_get(f->map, key);
    return n && n->kind != SL_DOC_NODE_NULL ? n : NULL;
}

const struct sl_doc_node *sl_doc_field_need(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    if (!n)
        sl_read_fail(f->rd, f->line, "expected the field \"%s\" in %s", key, f->what);
    return n;
}

void sl_doc_fields_close(struct sl_doc_fields *f) {
    struct sl_read *rd = f->rd;
    uint32_t n_wrong = rd->n_wrong, n_unknown = 0;

    for (uint32_t i = 0; f->map && i < f->map->n && rd->code == 0; i++) {
        const struct sl_doc_pair *p = &f->map->pairs[i];
        bool known = false;
        for (uint32_t k = 0; k < f->n_used && !known; k++)
            known = strcmp(p->key, f->used[k]) == 0;
        if (known)
            continue;
        if (n_unknown++ == SL_DOC_FIELDS_MAX) { /* looking for near ones takes its time */
            sl_read_fail(rd, p->line, "unknown field \"%.60s\" in %s, and perhaps more", p->key,
                         f->what);
            break;
        }
        const char *near = sl_read_nearest(p->key, f->used, f->n_used);
        sl_read_fail(rd, p->line, "unknown field \"%.60s\" in %s%s%s%s", p->key, f->what,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    rd->n_wrong = n_wrong;
    rd->path = f->outer;
}

/* ---- fields with defaults ---- */

/* Reading one value for which there is a default. The message is only made for lenient reading: the
 * strict kind also reads journals, where time counts. */
struct attempt {
    struct sl_read *rd;
    const char *instead; /* of before */
    uint32_t n_wrong;    /* of before */
    char words[80];
};

static void attempt(struct attempt *a, struct sl_read *rd, const char *fallback) {
    a->rd = rd;
    a->instead = rd->instead;
    a->n_wrong = rd->n_wrong;
    if (!rd->warn)
        return;
    sl_fmt_short(a->words, sizeof a->words, "using %.70s", *fallback ? fallback : "none");
    rd->instead = a->words;
}

static bool succeeded(struct attempt *a) {
    a->rd->instead = a->instead;
    return a->rd->n_wrong == a->n_wrong;
}

const char *sl_doc_field_str(struct sl_doc_fields *f, const char *key, const char *fallback) {
    const struct sl_doc_node *n = fallback ? sl_doc_field(f, key) : sl_doc_field_need(f, key);
    const char *value, *standby = fallback ? fallback : "";
    struct attempt a;

    if (!n)
        return standby;
    attempt(&a, f->rd, standby);
    value = sl_read_str(f->rd, n, key);
    return succeeded(&a) ? value : standby;
}

bool sl_doc_field_bool(struct sl_doc_fields *f, const char *key, bool fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    struct attempt a;

    if (!n)
        return fallback;
    attempt(&a, f->rd, fallback ? "true" : "false");
    bool value = sl_read_bool(f->rd, n, key);
    return succeeded(&a) ? value : fallback;
}

int64_t sl_doc_field_int(struct sl_doc_fields *f, const char *key, int64_t fallback, int64_t min,
                         int64_t max) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    struct attempt a;
    char text[24];

    if (!n)
        return fallback;
    if (f->rd->warn)
        sl_fmt_short(text, sizeof text, "%lld", (long long)fallback);
    attempt(&a, f->rd, text);
    int64_t value = sl_read_int(f->rd, n, key, min, max);
    return succeeded(&a) ? value : fallback;
}

sl_span sl_doc_field_span(struct sl_doc_fields *f, const char *key, sl_span fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    char text[SL_SPAN_TEXT];
    struct attempt a;

    if (!n)
        return fallback;
    if (f->rd->warn && fallback != SL_TIME_NEVER)
        (void)sl_span_format(fallback, text);
    attempt(&a, f->rd, fallback == SL_TIME_NEVER ? "no limit" : text);
    sl_span value = sl_read_span(f->rd, n, key);
    return succeeded(&a) ? value : fallback;
}

sl_time sl_doc_field_time(struct sl_doc_fields *f, const char *key, sl_time fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    return n ? sl_read_time(f->rd, n, key) : fallback;
}

sl_quantity sl_doc_field_quantity(struct sl_doc_fields *f, const char *key, sl_quantity fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    char text[SL_QUANTITY_TEXT];
    struct attempt a;

    if (!n)
        return fallback;
    if (f->rd->warn)
        (void)sl_quantity_format(fallback, text);
    attempt(&a, f->rd, text);
    sl_quantity value = sl_read_quantity(f->rd, n, key);
    return succeeded(&a) ? value : fallback;
}

int sl_doc_field_word(struct sl_doc_fields *f, const char *key, enum sl_vocab vocab, int fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    struct attempt a;

    if (!n)
        return fallback;
    attempt(&a, f->rd, sl_word(vocab, fallback));
    int value = sl_read_word(f->rd, n, key, vocab);
    return succeeded(&a) ? value : fallback;
}

int sl_doc_field_choice(struct sl_doc_fields *f, const char *key, const char *const *message,
                        int fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    struct attempt a;

    if (!n)
        return fallback;
    attempt(&a, f->rd, message[fallback]);
    int value = sl_read_choice(f->rd, n, key, message);
    return succeeded(&a) ? value : fallback;
}

const struct sl_doc_node *sl_doc_field_list(struct sl_doc_fields *f, const char *key, uint32_t max,
                                            uint32_t *ret_n) {
    return sl_read_list(f->rd, sl_doc_field(f, key), key, max, ret_n);
}

const char *const *sl_doc_field_strs(struct sl_doc_fields *f, const char *key, uint32_t max,
                                     uint32_t *ret_n) {
    return sl_read_strs(f->rd, sl_doc_field(f, key), key, max, ret_n);
}

/* ---- did you mean ---- */

#define MAX_WORD 64

static char lower(char c) {
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

/* Edits between two words, case ignored: insert, delete, replace, swap neighbours. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m) {
    unsigned rows[3][MAX_WORD + 1];

    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && older[j - 2] + 1 < best)
                best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

static bool begins(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

const char *sl_read_nearest(const char *word, const char *const *candidates, uint32_t n) {
    size_t len = strlen(word);
    unsigned best = len < 4 ? 1 : len < 8 ? 2 : 3; /* more edits than this is another word */
    const char *found = NULL, *longer = NULL;

    if (len == 0 || len > MAX_WORD)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        size_t m = strlen(candidates[i]);
        if (m == 0 || m > MAX_WORD)
            continue;
        unsigned d = distance(word, len, candidates[i], m);
        if (d <= best && (!found || d < best)) {
            best = d;
            found = candidates[i];
        }
        if (!longer && len >= 4 && m >= 4 && begins(word, candidates[i], len < m ? len : m))
            longer = candidates[i];
    }
    return found ? found : longer;
}
