/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario: single tokens - names, numbers, times, amounts, taints - and their errors:
 * place, expected, found.
 */
#include "cmd/sim/scenario/scenario_int.h"
#include "core/base/fmt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reports ---- */

static void put_where(struct sl_scenario_reader *r) {
    sl_buf_clear(r->why);
    sl_buf_printf(r->why, "%s:%u: ", r->file, r->line);
}

/* A found word, quoted, cut and without control bytes. */
static void put_found(struct sl_scenario_reader *r, const char *found) {
    if (!found) {
        sl_buf_puts(r->why, ", found the end of the line");
        return;
    }
    sl_buf_puts(r->why, ", found '");
    for (uint32_t i = 0; found[i] && i < 80; i++)
        sl_buf_putc(r->why,
                    (char)((unsigned char)found[i] < ' ' || found[i] == 127 ? '?' : found[i]));
    sl_buf_putc(r->why, '\'');
}

int sl_scenario_bad(struct sl_scenario_reader *r, const char *found, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    put_where(r);
    sl_buf_printf(r->why, "expected %s", text);
    put_found(r, found);
    return SL_EINVAL;
}

int sl_scenario_bad_word(struct sl_scenario_reader *r, const char *found, const char *what,
                         const char *const *words) {
    put_where(r);
    sl_buf_printf(r->why, "expected %s (one of", what);
    for (; *words; words++)
        sl_buf_printf(r->why, " %s", *words);
    sl_buf_putc(r->why, ')');
    put_found(r, found);
    return SL_EINVAL;
}

int sl_scenario_fail(struct sl_scenario_reader *r, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    put_where(r);
    sl_buf_puts(r->why, text);
    return SL_EINVAL;
}

/* ---- words ---- */

const char *sl_scenario_next(struct sl_scenario_reader *r) {
    return r->i < r->n ? r->tok[r->i++].s : NULL;
}

const char *sl_scenario_peek(const struct sl_scenario_reader *r) {
    return r->i < r->n ? r->tok[r->i].s : NULL;
}

int sl_scenario_end(struct sl_scenario_reader *r) {
    return r->i == r->n ? 0 : sl_scenario_bad(r, r->tok[r->i].s, "the end of the line");
}

char *sl_scenario_split(char *s, char by) {
    char *p = strchr(s, by);
    if (!p)
        return NULL;
    *p = '\0';
    return p + 1;
}

int sl_scenario_name(struct sl_scenario_reader *r, const char *s, const char *what,
                     const char **ret) {
    if (!s || *s == '\0')
        return sl_scenario_bad(r, s, "%s", what);
    size_t n = strlen(s);
    if (n > SL_MAX_NAME)
        return sl_scenario_bad(r, s, "%s of at most %d bytes", what, SL_MAX_NAME);
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  (c && strchr("-._/:+", c));
        if (!ok)
            return sl_scenario_bad(r, s, "%s of letters, digits and -._/:+", what);
    }
    *ret = sl_arena_strdup(r->a, s);
    return 0;
}

int sl_scenario_next_name(struct sl_scenario_reader *r, const char *what, const char **ret) {
    return sl_scenario_name(r, sl_scenario_next(r), what, ret);
}

int sl_scenario_wl(struct sl_scenario_reader *r, const char *s, struct sl_scenario_wl_name *ret) {
    const char *name;
    int rc = sl_scenario_name(r, s, "a job, as w1 or namespace/w1", &name);
    if (rc < 0)
        return rc;
    const char *slash = strchr(name, '/');
    if (!slash) {
        *ret = (struct sl_scenario_wl_name){.ns = "default", .name = name};
        return 0;
    }
    if (slash == name || slash[1] == '\0' || strchr(slash + 1, '/'))
        return sl_scenario_bad(r, s, "a job, as w1 or namespace/w1");
    *ret = (struct sl_scenario_wl_name){.ns = sl_arena_strndup(r->a, name, (size_t)(slash - name)),
                                        .name = slash + 1};
    return 0;
}

int sl_scenario_known_job(struct sl_scenario_reader *r, const char *s,
                          struct sl_scenario_job **ret) {
    struct sl_scenario_wl_name w = {.ns = "", .name = ""};
    int rc = sl_scenario_wl(r, s, &w);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < r->jobs.n; i++)
        if (strcmp(r->jobs.v[i].name.ns, w.ns) == 0 &&
            strcmp(r->jobs.v[i].name.name, w.name) == 0) {
            *ret = &r->jobs.v[i];
            return 0;
        }
    return sl_scenario_bad(r, s, "a job that this scenario has made");
}

int sl_scenario_int(struct sl_scenario_reader *r, const char *s, const char *what, int64_t lo,
                    int64_t hi, int64_t *ret) {
    if (!s || *s == '\0' || strlen(s) > 20)
        return sl_scenario_bad(r, s, "%s", what);
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || *end != '\0' || *s == ' ' || *s == '+' || v < lo || v > hi)
        return sl_scenario_bad(r, s, "%s (a number from %lld to %lld)", what, (long long)lo,
                               (long long)hi);
    *ret = v;
    return 0;
}

int sl_scenario_span(struct sl_scenario_reader *r, const char *s, const char *what, sl_span *ret) {
    struct sl_err err = {0};
    if (!s)
        return sl_scenario_bad(r, NULL, "%s", what);
    sl_span d;
    if (sl_span_parse(s, strlen(s), &d, &err) < 0 || d < 0)
        return sl_scenario_bad(r, s, "%s", what);
    *ret = d;
    return 0;
}

int sl_scenario_point(struct sl_scenario_reader *r, const char *s, const char *what, sl_time *ret) {
    if (s && strcmp(s, "never") == 0) {
        *ret = SL_TIME_NEVER;
        return 0;
    }
    sl_span d = 0;
    int rc = sl_scenario_span(r, s, what, &d);
    if (rc >= 0)
        *ret = sl_time_add(SL_SCENARIO_EPOCH, d);
    return rc;
}

int sl_scenario_amount(struct sl_scenario_reader *r, const char *resource, const char *s,
                       bool quota, sl_amount *ret) {
    struct sl_err err = {0};
    sl_quantity q;
    if (!s)
        return sl_scenario_bad(r, NULL, "an amount of %s", resource);
    if (quota && strcmp(s, "unlimited") == 0) {
        *ret = SL_AMOUNT_UNLIMITED;
        return 0;
    }
    if (sl_quantity_parse(s, strlen(s), &q, &err) < 0)
        return sl_scenario_bad(r, s, "an amount of %s, as 3, 500m or 10Gi", resource);
    *ret = quota ? sl_amount_of_quota(resource, q) : sl_amount_of_request(resource, q);
    return 0;
}

int sl_scenario_weight(struct sl_scenario_reader *r, const char *s, int64_t *ret) {
    struct sl_err err = {0};
    sl_quantity q;
    if (!s || sl_quantity_parse(s, strlen(s), &q, &err) < 0 || q < 0 || q > INT64_MAX)
        return sl_scenario_bad(r, s, "a weight, as 0, 2 or 500m");
    *ret = (int64_t)q;
    return 0;
}

int sl_scenario_word(struct sl_scenario_reader *r, enum sl_vocab vocab, const char *s, int *ret) {
    struct sl_err err = {0};
    if (s && sl_word_parse(vocab, s, ret, &err) >= 0)
        return 0;
    if (!s)
        return sl_scenario_bad(r, NULL, "a word");
    return sl_scenario_fail(r, "%s", err.text);
}

int sl_scenario_bool(struct sl_scenario_reader *r, const char *s, bool *ret) {
    if (s && strcmp(s, "true") == 0)
        *ret = true;
    else if (s && strcmp(s, "false") == 0)
        *ret = false;
    else
        return sl_scenario_bad(r, s, "true or false");
    return 0;
}

bool sl_scenario_is_resource(const char *s) {
    static const char *const plain[] = {"cpu",  "memory",  "gpu",
                                        "pods", "storage", "ephemeral-storage"};
    for (uint32_t i = 0; i < SL_LEN(plain); i++)
        if (strcmp(s, plain[i]) == 0)
            return true;
    return strncmp(s, "hugepages-", 10) == 0 || strchr(s, '/') != NULL;
}

/* key[=value]:Effect */
int sl_scenario_taint(struct sl_scenario_reader *r, char *s, struct sl_taint *ret) {
    char *effect = s ? sl_scenario_split(s, ':') : NULL;
    struct sl_err err = {0};
    *ret = (struct sl_taint){.value = ""};
    if (!effect)
        return sl_scenario_bad(r, s, "a taint, as key=value:NoSchedule");
    if (sl_taint_effect_parse(effect, &ret->effect, &err) < 0)
        return sl_scenario_fail(r, "%s", err.text);
    char *value = sl_scenario_split(s, '=');
    if (value)
        ret->value = sl_arena_strdup(r->a, value);
    return sl_scenario_name(r, s, "the key of a taint", &ret->key);
}

/* "*", key, key:Effect, key=value, key=value:Effect */
int sl_scenario_toleration(struct sl_scenario_reader *r, char *s, struct sl_toleration *ret) {
    struct sl_err err = {0};
    *ret = (struct sl_toleration){.key = "", .value = "", .exists = true};
    if (!s)
        return sl_scenario_bad(r, NULL, "a toleration, as key=value:NoSchedule, key or *");
    char *effect = sl_scenario_split(s, ':');
    if (effect && sl_taint_effect_parse(effect, &ret->effect, &err) < 0)
        return sl_scenario_fail(r, "%s", err.text);
    char *value = sl_scenario_split(s, '=');
    if (value) {
        ret->value = sl_arena_strdup(r->a, value);
        ret->exists = false;
    }
    if (strcmp(s, "*") == 0)
        return value ? sl_scenario_bad(r, s, "a key before =") : 0;
    return sl_scenario_name(r, s, "the key of a toleration", &ret->key);
}

/* ---- steps ---- */

struct sl_scenario_step *sl_scenario_step(struct sl_scenario_reader *r,
                                          enum sl_scenario_step_kind kind) {
    struct sl_scenario_step *s = sl_vec_push(&r->steps);
    *s = (struct sl_scenario_step){.kind = kind, .line = r->line, .at = r->clock};
    return s;
}

struct sl_fact *sl_scenario_fact(struct sl_scenario_reader *r, enum sl_fact_kind kind) {
    struct sl_scenario_step *s = sl_scenario_step(r, r->refused ? SL_STEP_REFUSED : SL_STEP_FACT);
    if (r->refused) {
        struct sl_scenario_expect *x = sl_arena_alloc0(r->a, 1, sizeof(*x));
        x->text = x->message = r->refused_words;
        s->expect = x;
        r->refused = false;
    }
    s->fact = sl_arena_alloc0(r->a, 1, sizeof(*s->fact));
    s->fact->kind = kind;
    s->fact->at = r->clock;
    return s->fact;
}
