/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is built in one buffer and written with one write(2). A field is either complete or
 * absent, so that a JSON line is always valid JSON.
 *
 * Whether standard error is a terminal is checked for each line: it costs one system call and saves
 * a state that could be wrong after a dup2().
 */
#include "lib/log/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "lib/json/writer.h"

static _Atomic(enum sl_log_level) threshold = SL_LOG_INFO;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

enum sl_log_level sl_log_threshold(void) {
    return atomic_load_explicit(&threshold, memory_order_relaxed);
}

void sl_log_set(enum sl_log_level t) {
    atomic_store_explicit(&threshold, t, memory_order_relaxed);
}

/* "2026-01-02T03:04:05.678Z" */
static void put_time(struct sl_buf *b) {
    struct timespec now;
    struct tm tm;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    sl_buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900, tm.tm_mon + 1,
                  tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000000);
}

#define MORE "..."
#define CUT_TEXT (SL_LOG_VALUE + sizeof(MORE))

/* The text, or its first SL_LOG_VALUE bytes at most. */
static const char *shorten(const char *s, char cut[CUT_TEXT]) {
    size_t n = strnlen(s, SL_LOG_VALUE + 1);

    if (n <= SL_LOG_VALUE)
        return s;
    n = SL_LOG_VALUE;
    while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) /* not inside a character */
        n--;
    memcpy(cut, s, n);
    memcpy(cut + n, MORE, sizeof(MORE));
    return cut;
}

/* For a terminal: bare if it is one plain word, else as a JSON string. The control characters that
 * JSON leaves alone (DEL, and U+0080 to U+009F, which some terminals obey) are made harmless. */
static void put_word(struct sl_buf *b, const char *s) {
    bool plain = s[0] != '\0' && strnlen(s, SL_LOG_VALUE + 1) <= SL_LOG_VALUE;
    char cut[CUT_TEXT];

    for (const char *p = s; plain && *p; p++)
        plain = *p > ' ' && *p <= '~' && *p != '"' && *p != '\\' && *p != '=';
    if (plain) {
        sl_buf_puts(b, s);
        return;
    }
    size_t from = b->len;
    sl_buf_json(b, shorten(s, cut));
    for (size_t i = from; i < b->len; i++) {
        if (b->s[i] == 0x7f)
            b->s[i] = '?';
        else if (b->s[i] == '\xc2' && i + 1 < b->len && (unsigned char)b->s[i + 1] < 0xa0)
            b->s[i] = b->s[i + 1] = '?';
    }
}

static void put_json_field(struct sl_jw *w, const struct sl_log_field *f) {
    char cut[CUT_TEXT];

    if (f->text)
        sl_jw_str(w, f->key, shorten(f->text, cut));
    else
        sl_jw_int(w, f->key, f->number);
}

static void put_text_field(struct sl_buf *b, const struct sl_log_field *f) {
    sl_buf_putc(b, ' ');
    put_word(b, f->key);
    sl_buf_putc(b, '=');
    if (f->text)
        put_word(b, f->text);
    else
        sl_buf_printf(b, "%lld", (long long)f->number);
}

/* A reader that went away or a full non-blocking pipe loses the line; there is nowhere to report
 * it. */
static void write_line(const char *s, size_t n) {
    while (n > 0) {
        ssize_t r = write(STDERR_FILENO, s, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return;
        s += r;
        n -= (size_t)r;
    }
}

#define CUT_WORD " cut=1\n"
#define CUT_FIELD_BYTES 10u /* the same as a field of JSON, with brace and newline */

static void put_text_line(struct sl_buf *b, enum sl_log_level level, const char *message,
                          const struct sl_log_field *fields) {
    bool cut = false;

    sl_buf_printf(b, "%-5s ", level_names[level]);
    put_time(b);
    sl_buf_printf(b, " %s", message);
    for (const struct sl_log_field *f = fields; f->key; f++) {
        size_t mark = b->len;
        put_text_field(b, f);
        if (sl_buf_full(b) || b->len + strlen(CUT_WORD) > SL_LOG_LINE) {
            sl_buf_truncate(b, mark);
            cut = true;
        }
    }
    sl_buf_puts(b, cut ? CUT_WORD : "\n");
}

static void put_json_line(struct sl_buf *b, enum sl_log_level level, const char *message,
                          const struct sl_log_field *fields) {
    struct sl_jw w = SL_JW(b);
    char text[CUT_TEXT];
    bool cut = false;

    sl_jw_object(&w, NULL);
    put_time(sl_jw_begin_str(&w, "ts"));
    sl_jw_end_str(&w);
    sl_jw_str(&w, "level", level_names[level]);
    sl_jw_str(&w, "msg", shorten(message, text));
    for (const struct sl_log_field *f = fields; f->key; f++) {
        struct sl_jw before = w;
        size_t mark = b->len;
        put_json_field(&w, f);
        if (sl_buf_full(b) || b->len + CUT_FIELD_BYTES > SL_LOG_LINE) {
            sl_buf_truncate(b, mark);
            w = before;
            cut = true;
        }
    }
    if (cut)
        sl_jw_int(&w, "cut", 1);
    sl_jw_end(&w);
    sl_buf_putc(b, '\n');
}

void sl_log_line(enum sl_log_level level, const char *message, const struct sl_log_field *fields) {
    int saved = errno;
    struct sl_buf b = SL_BUF_SHORT(SL_LOG_LINE); /* a cut line shows it itself */

    (isatty(STDERR_FILENO) ? put_text_line : put_json_line)(&b, level, message, fields);
    write_line(b.s, b.len);
    sl_buf_done(&b);
    errno = saved;
}

/* At most so many lines: what is cut once is cut again and again. */
#define MAX_CUTS 100

static void on_cut(const char *where, size_t ceiling_bytes) {
    static atomic_int seen;

    if (atomic_fetch_add(&seen, 1) < MAX_CUTS)
        sl_log(SL_LOG_ERROR, "text truncated at its limit", SL_S("where", where),
               SL_I("limit", ceiling_bytes));
}

void sl_log_cuts(void) {
    sl_buf_observe(on_cut);
}
