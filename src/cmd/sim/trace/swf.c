/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/trace/swf.h"

#include <stdio.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/text.h"
#include "lib/doc/doc.h"

#define SHOWN 40u /* bytes of a wrong text in a message */

/* The last end that there can be: all jobs one after the other. */
_Static_assert(SL_SWF_MAX_NUMBER <= INT64_MAX / ((int64_t)SL_SWF_MAX_JOBS + 1),
               "sums of times fit into an int64");

enum field {
    F_JOB,
    F_SUBMIT,
    F_WAIT,
    F_RUN,
    F_ALLOCATED,
    F_CPU_TIME,
    F_MEMORY_USED,
    F_PROCESSORS,
    F_LIMIT,
    F_MEMORY,
    F_STATUS,
    F_USER,
    F_GROUP,
    F_EXECUTABLE,
    F_QUEUE,
    F_PARTITION,
    F_PRECEDING,
    F_THINK_TIME,
    FIELDS,
};

/* Times and averages may have a fraction. A time that something lasts is rounded up: a whole number
 * of seconds that is too short would end it early. */
static const struct {
    const char *name;
    bool fraction, up;
} fields[FIELDS] = {
    [F_JOB] = {"job number", false, false},
    [F_SUBMIT] = {"submit time", true, false},
    [F_WAIT] = {"wait time", true, false},
    [F_RUN] = {"run time", true, true},
    [F_ALLOCATED] = {"allocated processors", false, false},
    [F_CPU_TIME] = {"CPU time", true, false},
    [F_MEMORY_USED] = {"used memory", true, false},
    [F_PROCESSORS] = {"requested processors", false, false},
    [F_LIMIT] = {"requested time", true, true},
    [F_MEMORY] = {"requested memory", true, true},
    [F_STATUS] = {"status", false, false},
    [F_USER] = {"user", false, false},
    [F_GROUP] = {"group", false, false},
    [F_EXECUTABLE] = {"executable", false, false},
    [F_QUEUE] = {"queue", false, false},
    [F_PARTITION] = {"partition", false, false},
    [F_PRECEDING] = {"preceding job", false, false},
    [F_THINK_TIME] = {"think time", true, false},
};

enum { STATUS_PART = 2, STATUS_LAST_PART = 4, STATUS_CANCELLED = 5 };

struct reader {
    const char *file;
    uint32_t line, max_jobs;
    struct sl_swf *to;
    struct sl_map by_id;
    int64_t submitted; /* of the job before */
    struct sl_err *err;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct sl_text skip_blanks(struct sl_text t) {
    while (t.n > 0 && is_blank(*t.s))
        t = (struct sl_text){t.s + 1, t.n - 1};
    return t;
}

/* The beginning of a text, fit to be printed. */
static const char *shown(struct sl_text t, char out[SHOWN + 4]) {
    size_t n = t.n < SHOWN ? t.n : SHOWN;
    for (size_t i = 0; i < n; i++)
        out[i] = t.s[i] >= ' ' && t.s[i] <= '~' ? t.s[i] : '?';
    memcpy(out + n, t.n > SHOWN ? "..." : "", t.n > SHOWN ? 4 : 1);
    return out;
}

/* The next word of a line, and what follows it. */
static struct sl_text next_word(struct sl_text *rest) {
    struct sl_text t = skip_blanks(*rest);
    size_t n = 0;
    while (n < t.n && !is_blank(t.s[n]))
        n++;
    *rest = (struct sl_text){t.s + n, t.n - n};
    return (struct sl_text){t.s, n};
}

/* ---- numbers ---- */

/* "12", "12.5" if a fraction is allowed, "-1". False: none of these, or too large. */
static bool parse_number(struct sl_text t, bool fraction, bool up, int64_t *ret) {
    bool negative = t.n > 0 && *t.s == '-', more = false;
    size_t i = negative;
    int64_t v = 0;

    if (i == t.n || t.s[i] < '0' || t.s[i] > '9')
        return false;
    for (; i < t.n && t.s[i] >= '0' && t.s[i] <= '9'; i++) {
        v = v * 10 + (t.s[i] - '0');
        if (v > SL_SWF_MAX_NUMBER)
            return false;
    }
    if (i < t.n) {
        if (t.s[i++] != '.' || !fraction || i == t.n)
            return false;
        for (; i < t.n; i++) {
            if (t.s[i] < '0' || t.s[i] > '9')
                return false;
            more |= t.s[i] != '0';
        }
    }
    if (negative) {
        if (v != -SL_SWF_UNKNOWN || more)
            return false;
        *ret = SL_SWF_UNKNOWN;
        return true;
    }
    if (v == SL_SWF_MAX_NUMBER && more)
        return false;
    *ret = v + (up && more);
    return true;
}

static int read_fields(struct reader *r, struct sl_text line, int64_t v[FIELDS]) {
    char text[SHOWN + 4];
    struct sl_text rest = line;

    for (uint32_t k = 0; k < FIELDS; k++) {
        struct sl_text word = next_word(&rest);
        if (word.n == 0)
            return sl_err_set(r->err, SL_EINVAL, "%s:%u: %u fields: expected %u, %s is missing",
                              r->file, r->line, k, FIELDS, fields[k].name);
        if (!parse_number(word, fields[k].fraction, fields[k].up, &v[k]))
            return sl_err_set(r->err, SL_EINVAL,
                              "%s:%u: field %u (%s) is '%s': expected %s from 0 to %lld, or -1 if "
                              "it is unknown",
                              r->file, r->line, k + 1, fields[k].name, shown(word, text),
                              fields[k].fraction ? "a number" : "a whole number",
                              (long long)SL_SWF_MAX_NUMBER);
    }
    struct sl_text word = next_word(&rest);
    if (word.n > 0)
        return sl_err_set(r->err, SL_EINVAL, "%s:%u: '%s' after field %u: expected the line to end",
                          r->file, r->line, shown(word, text), FIELDS);
    return 0;
}

/* ---- lines ---- */

static int add_job(struct reader *r, const struct sl_swf_job *j) {
    uint64_t key = sl_hash_u64(0, (uint64_t)j->id);

    sl_map_foreach (i, &r->by_id, key)
        if (r->to->jobs.v[i].id == j->id)
            return sl_err_set(r->err, SL_EINVAL,
                              "%s:%u: job number %lld again: expected one line for each job",
                              r->file, r->line, (long long)j->id);
    if (r->to->jobs.n >= r->max_jobs)
        return sl_err_set(r->err, SL_ELIMIT, "%s:%u: more than %u jobs", r->file, r->line,
                          r->max_jobs);
    sl_map_add(&r->by_id, key, r->to->jobs.n);
    *sl_vec_push(&r->to->jobs) = *j;
    return 0;
}

static int read_job(struct reader *r, struct sl_text line) {
    int64_t v[FIELDS];
    int code = read_fields(r, line, v);

    if (code < 0)
        return code;
    if (v[F_STATUS] > STATUS_CANCELLED)
        return sl_err_set(r->err, SL_EINVAL,
                          "%s:%u: field %u (status) is %lld: expected 0 to 5, or -1", r->file,
                          r->line, F_STATUS + 1, (long long)v[F_STATUS]);
    if (v[F_STATUS] >= STATUS_PART && v[F_STATUS] <= STATUS_LAST_PART) {
        r->to->partial++;
        return 0;
    }
    if (v[F_JOB] < 0 || v[F_SUBMIT] < 0)
        return sl_err_set(r->err, SL_EINVAL, "%s:%u: the %s is unknown: expected a number", r->file,
                          r->line, fields[v[F_JOB] < 0 ? F_JOB : F_SUBMIT].name);
    if (v[F_SUBMIT] < r->submitted)
        return sl_err_set(r->err, SL_EINVAL,
                          "%s:%u: submitted at %lld, before the job above (%lld): expected "
                          "ascending submit times",
                          r->file, r->line, (long long)v[F_SUBMIT], (long long)r->submitted);
    r->submitted = v[F_SUBMIT];
    int64_t processors = v[F_PROCESSORS] > 0 ? v[F_PROCESSORS] : v[F_ALLOCATED];
    /* One that was cancelled has a run time of 0 if it had not begun. */
    if (v[F_RUN] < 0 || processors <= 0 || (v[F_STATUS] == STATUS_CANCELLED && v[F_RUN] == 0)) {
        r->to->not_run++;
        return 0;
    }
    int64_t run = v[F_RUN] > 0 ? v[F_RUN] : 1, limit = v[F_LIMIT] > 0 ? v[F_LIMIT] : run;
    struct sl_swf_job j = {.id = v[F_JOB],
                           .submit = v[F_SUBMIT],
                           .limit = limit,
                           .run = run < limit ? run : limit,
                           .processors = processors,
                           .memory_kib = v[F_MEMORY] > 0 ? v[F_MEMORY] : SL_SWF_UNKNOWN,
                           .queue = v[F_QUEUE]};
    r->to->killed += run > limit;
    return add_job(r, &j);
}

/* "; MaxNodes: 128 (430 with the others)": the number, if the comment has this name. */
static int read_directive(struct reader *r, struct sl_text comment, const char *name,
                          int64_t *ret) {
    char text[SHOWN + 4];
    struct sl_text t = skip_blanks(comment), label = sl_text_of(name);
    int64_t v;

    if (t.n < label.n || memcmp(t.s, label.s, label.n) != 0)
        return 0;
    t = skip_blanks((struct sl_text){t.s + label.n, t.n - label.n});
    if (t.n == 0 || *t.s != ':')
        return 0;
    t = (struct sl_text){t.s + 1, t.n - 1};
    struct sl_text word = next_word(&t);
    if (!parse_number(word, false, false, &v) || v == 0)
        return sl_err_set(r->err, SL_EINVAL,
                          "%s:%u: %s is '%s': expected a whole number from 1 to %lld, or -1",
                          r->file, r->line, name, shown(word, text), (long long)SL_SWF_MAX_NUMBER);
    if (*ret != SL_SWF_UNKNOWN && *ret != v)
        return sl_err_set(r->err, SL_EINVAL, "%s:%u: %s is %lld here and was %lld: expected one",
                          r->file, r->line, name, (long long)v, (long long)*ret);
    *ret = v;
    return 0;
}

static int read_line(struct reader *r, struct sl_text line) {
    if (line.n > 0 && line.s[line.n - 1] == '\r')
        line.n--;
    if (line.n > SL_SWF_MAX_LINE)
        return sl_err_set(r->err, SL_ELIMIT, "%s:%u: a line of more than %u bytes", r->file,
                          r->line, SL_SWF_MAX_LINE);
    if (sl_text_has_nul(line))
        return sl_err_set(r->err, SL_EINVAL, "%s:%u: a NUL byte: expected text", r->file, r->line);
    struct sl_text t = skip_blanks(line);
    if (t.n == 0)
        return 0;
    if (*t.s != ';')
        return read_job(r, t);
    t = (struct sl_text){t.s + 1, t.n - 1};
    int code = read_directive(r, t, "MaxNodes", &r->to->max_nodes);
    return code < 0 ? code : read_directive(r, t, "MaxProcs", &r->to->max_processors);
}

int sl_swf_read(const char *file, const char *text, size_t len, uint32_t max_jobs,
                struct sl_swf *ret, struct sl_err *err) {
    struct reader r = {.file = file, .to = ret, .max_jobs = max_jobs, .err = err};
    int code = 0;

    *ret = (struct sl_swf){.max_nodes = SL_SWF_UNKNOWN, .max_processors = SL_SWF_UNKNOWN};
    for (size_t at = 0; code >= 0 && at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - (text + at)) : len - at;
        r.line++;
        code = read_line(&r, (struct sl_text){text + at, n});
        at += n + 1;
    }
    if (code >= 0 && ret->jobs.n == 0)
        code = sl_err_set(err, SL_EINVAL,
                          "%s: no job that ran: expected lines of %u numbers (Standard Workload "
                          "Format)",
                          file, FIELDS);
    sl_map_done(&r.by_id);
    if (code < 0)
        sl_swf_done(ret);
    return code;
}

int sl_swf_load(const char *path, struct sl_swf *ret, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len;
    int r = sl_file_read(path, SL_SWF_MAX_BYTES, &text, &len, err);

    if (r < 0)
        return r;
    return sl_swf_read(path, text, len, SL_SWF_MAX_JOBS, ret, err);
}

void sl_swf_done(struct sl_swf *t) {
    sl_vec_free(&t->jobs);
    *t = (struct sl_swf){0};
}
