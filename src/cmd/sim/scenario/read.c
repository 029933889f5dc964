/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario file: lines into tokens, tokens into steps. This file has the lines and the
 * verbs that need no object; objects, jobs and expectations are in other files. The first error
 * stops the reading of the file and is reported exactly.
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define LINE_BYTES ((size_t)4 << 20) /* more than any one line can need */

/* ---- the verbs ---- */

static const char *const verbs[] = {
    "scenario",   "rules",   "skip",   "config",  "feature", "flavor",  "namespace",
    "cohort",     "queue",   "local",  "job",     "change",  "remove",  "admission-check",
    "at",         "after",   "cycle",  "settle",  "expect",  "refuse",  "finish",
    "delete",     "release", "ready",  "unready", "check",   "reclaim", "activate",
    "deactivate", "gate",    "ungate", "hold",    "unhold",  "holds",   "admit-failed",
    NULL,
};
static const char *const indented_verbs[] = {"quota", "group", "podset", NULL};
static const char *const change_words[] = {"queue", "cohort", "local", "job", NULL};

static void scenario_reset(struct sl_scenario_reader *r) {
    r->clock = SL_SCENARIO_EPOCH;
    r->steps.n = 0;
    r->rules.n = 0;
    r->config = sl_config_default;
    r->flavors.n = 0;
    r->absent.n = 0;
    r->cohorts.n = 0;
    r->queues.n = 0;
    r->locals.n = 0;
    r->jobs.n = 0;
    r->refused = false;
    r->open = SL_OPEN_NONE;
}

static const void *copy_array(struct sl_scenario_reader *r, const void *v, uint32_t n,
                              size_t bytes) {
    if (n == 0)
        return NULL;
    void *p = sl_arena_alloc(r->a, n * bytes);
    memcpy(p, v, n * bytes);
    return p;
}

static int close_object(struct sl_scenario_reader *r) {
    enum sl_scenario_block open = r->open;
    uint32_t line = r->line;
    int rc = 0;

    r->open = SL_OPEN_NONE;
    r->line = r->open_line; /* what is wrong with an object is wrong where it starts */
    if (open == SL_OPEN_COHORT)
        rc = sl_scenario_close_cohort(r);
    else if (open == SL_OPEN_QUEUE)
        rc = sl_scenario_close_queue(r);
    else if (open == SL_OPEN_JOB)
        rc = sl_scenario_close_job(r);
    if (rc >= 0)
        r->line = line;
    return rc;
}

static int close_scenario(struct sl_scenario_reader *r) {
    int rc = close_object(r);
    if (rc < 0 || !r->in_scenario)
        return rc;
    if (r->refused)
        return sl_scenario_fail(r, "'refuse' needs an object or a fact after it");
    struct sl_scenario *s = &sl_vec_last(&r->scenarios);
    s->steps = copy_array(r, r->steps.v, r->steps.n, sizeof(r->steps.v[0]));
    s->n_steps = r->steps.n;
    s->rules = copy_array(r, r->rules.v, r->rules.n, sizeof(r->rules.v[0]));
    s->n_rules = r->rules.n;
    r->in_scenario = false;
    return 0;
}

/* ---- verbs of the scenario itself ---- */

/* What stands after the verb, as written, without a comment and trailing blanks. */
static const char *rest_of_line(struct sl_scenario_reader *r, const char *verb) {
    const char *s = r->raw + strlen(verb);
    while (*s == ' ' || *s == '\t')
        s++;
    size_t n = strlen(s);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    return sl_arena_strndup(r->a, s, n);
}

static int read_scenario(struct sl_scenario_reader *r, const char *verb) {
    int rc = close_scenario(r);
    if (rc < 0)
        return rc;
    const char *title = rest_of_line(r, verb);
    if (*title == '\0')
        return sl_scenario_bad(r, NULL, "a title");
    if (r->scenarios.n >= SL_SCENARIO_MAX_OBJECTS)
        return sl_scenario_fail(r, "more than %u scenarios in one file", SL_SCENARIO_MAX_OBJECTS);
    scenario_reset(r);
    *sl_vec_push(&r->scenarios) =
        (struct sl_scenario){.file = r->file, .title = title, .line = r->line};
    r->in_scenario = true;
    struct sl_fact *f = sl_scenario_fact(r, SL_FACT_NAMESPACE); /* all are in "default" */
    f->ns = (struct sl_ns_spec){.name = "default"};
    return 0;
}

static int read_rules(struct sl_scenario_reader *r) {
    const char *s = sl_scenario_next(r);
    if (!s)
        return sl_scenario_bad(r, NULL, "the number of a rule, as 2.4.3");
    for (; s; s = sl_scenario_next(r)) {
        if (strspn(s, "0123456789.") != strlen(s) || strlen(s) > 20 || !strchr(s, '.'))
            return sl_scenario_bad(r, s, "the number of a rule, as 2.4.3");
        *sl_vec_push(&r->rules) = sl_arena_strdup(r->a, s);
    }
    return 0;
}

static int read_clock(struct sl_scenario_reader *r, bool relative) {
    const char *s = sl_scenario_next(r);
    sl_span d;
    int rc = sl_scenario_span(r, s, "a time, as 90s or 1h30m", &d);
    if (rc < 0)
        return rc;
    sl_time to = sl_time_add(relative ? r->clock : SL_SCENARIO_EPOCH, d);
    if (to < r->clock)
        return sl_scenario_fail(r, "the clock does not run backwards");
    if (to > SL_SCENARIO_EPOCH + 9600 * SL_HOUR)
        return sl_scenario_fail(r, "a scenario lasts at most 400 days");
    r->clock = to;
    sl_scenario_step(r, SL_STEP_CLOCK);
    return sl_scenario_end(r);
}

static int read_refuse(struct sl_scenario_reader *r) {
    const char *s = sl_scenario_next(r);
    r->refused = true;
    r->refused_words = s ? sl_arena_strdup(r->a, s) : "";
    return sl_scenario_end(r);
}

static int read_change(struct sl_scenario_reader *r) {
    const char *s = sl_scenario_next(r);
    if (s && strcmp(s, "queue") == 0)
        return sl_scenario_queue(r, true);
    if (s && strcmp(s, "cohort") == 0)
        return sl_scenario_cohort(r, true);
    if (s && strcmp(s, "local") == 0)
        return sl_scenario_local(r, true);
    if (s && strcmp(s, "job") == 0)
        return sl_scenario_job(r, true);
    return sl_scenario_bad_word(r, s, "what to change", change_words);
}

static int read_indented(struct sl_scenario_reader *r) {
    const char *verb = sl_scenario_peek(r);
    bool quotas = r->open == SL_OPEN_COHORT || r->open == SL_OPEN_QUEUE;

    if (r->open == SL_OPEN_EXPECT)
        return sl_scenario_expect(r);
    if (r->open == SL_OPEN_NONE)
        return sl_scenario_fail(r,
                                "an indented line belongs to a queue, cohort, job or expect above "
                                "it, and there is none");
    (void)sl_scenario_next(r);
    if (quotas && strcmp(verb, "quota") == 0)
        return sl_scenario_quota(r);
    if (quotas && strcmp(verb, "group") == 0) {
        r->new_group = true;
        return sl_scenario_end(r);
    }
    if (r->open == SL_OPEN_JOB && strcmp(verb, "podset") == 0)
        return sl_scenario_podset(r);
    return sl_scenario_bad_word(r, verb, quotas ? "quota or group" : "podset", indented_verbs);
}

static int read_plain(struct sl_scenario_reader *r) {
    const char *v = sl_scenario_next(r);
    bool known = false;
    int rc;

    if (strcmp(v, "scenario") == 0 || strcmp(v, "story") == 0) /* its name before */
        return read_scenario(r, v);
    rc = close_object(r);
    if (rc < 0)
        return rc;
    if (!r->in_scenario)
        return sl_scenario_bad(r, v, "'scenario <title>' before anything else");
    if (strcmp(v, "rules") == 0)
        return read_rules(r);
    if (strcmp(v, "skip") == 0) {
        sl_vec_last(&r->scenarios).skip = rest_of_line(r, "skip");
        return 0;
    }
    if (strcmp(v, "config") == 0)
        return sl_scenario_config(r);
    if (strcmp(v, "feature") == 0)
        return sl_scenario_feature(r);
    if (strcmp(v, "flavor") == 0)
        return sl_scenario_flavor(r);
    if (strcmp(v, "namespace") == 0)
        return sl_scenario_namespace(r);
    if (strcmp(v, "admission-check") == 0)
        return sl_scenario_admission_check(r);
    if (strcmp(v, "cohort") == 0)
        return sl_scenario_cohort(r, false);
    if (strcmp(v, "queue") == 0)
        return sl_scenario_queue(r, false);
    if (strcmp(v, "local") == 0)
        return sl_scenario_local(r, false);
    if (strcmp(v, "job") == 0)
        return sl_scenario_job(r, false);
    if (strcmp(v, "change") == 0)
        return read_change(r);
    if (strcmp(v, "remove") == 0)
        return sl_scenario_remove(r);
    if (strcmp(v, "holds") == 0)
        return sl_scenario_holds(r);
    if (strcmp(v, "refuse") == 0)
        return read_refuse(r);
    if (strcmp(v, "at") == 0 || strcmp(v, "after") == 0)
        return read_clock(r, v[1] == 'f');
    if (strcmp(v, "cycle") == 0 || strcmp(v, "settle") == 0) {
        sl_scenario_step(r, v[0] == 'c' ? SL_STEP_CYCLE : SL_STEP_SETTLE);
        return sl_scenario_end(r);
    }
    if (strcmp(v, "expect") == 0) {
        r->open = SL_OPEN_EXPECT;
        r->open_line = r->line;
        return sl_scenario_peek(r) ? sl_scenario_expect(r) : 0;
    }
    rc = sl_scenario_job_verb(r, v, &known);
    return known ? rc : sl_scenario_bad_word(r, v, "a verb", verbs);
}

/* ---- lines into words ---- */

/* Cuts the line into words in place. '#' at the start of a word ends the line; "..." may hold
 * blanks and stands for itself, with \" and \\ inside. */
static int cut_line(struct sl_scenario_reader *r, char *s) {
    r->n = r->i = 0;
    for (;;) {
        while (*s == ' ' || *s == '\t')
            s++;
        if (*s == '\0' || *s == '#')
            return 0;
        if (r->n == SL_SCENARIO_MAX_TOKENS)
            return sl_scenario_fail(r, "more than %u words in one line", SL_SCENARIO_MAX_TOKENS);
        struct sl_scenario_token *t = &r->tok[r->n++];
        char *w = s;
        bool in = false;
        *t = (struct sl_scenario_token){.s = s, .quoted = *s == '"'};
        for (; *s != '\0' && (in || (*s != ' ' && *s != '\t')); s++) {
            if (*s == '"')
                in = !in;
            else if (in && *s == '\\' && (s[1] == '"' || s[1] == '\\'))
                *w++ = *++s;
            else
                *w++ = *s;
        }
        if (in)
            return sl_scenario_fail(r, "a \" that is never closed");
        bool end = *s == '\0';
        *w = '\0';
        if (end)
            return 0;
        s++;
    }
}

static int read_line(struct sl_scenario_reader *r, const char *s, size_t n) {
    if (n > SL_SCENARIO_MAX_LINE)
        return sl_scenario_fail(r, "a line of %zu bytes, more than %u", n, SL_SCENARIO_MAX_LINE);
    if (memchr(s, '\0', n))
        return sl_scenario_fail(r, "a NUL byte");
    if (r->a->used > ARENA_BYTES - LINE_BYTES)
        return sl_scenario_fail(r, "the file says more than fits into %zu MiB", ARENA_BYTES >> 20);
    if (n > 0 && s[n - 1] == '\r')
        n--;
    char *copy = sl_arena_strndup(r->a, s, n);
    r->raw = sl_arena_strdup(r->a, copy);
    bool indented = n > 0 && (s[0] == ' ' || s[0] == '\t');
    int rc = cut_line(r, copy);
    if (rc < 0 || r->n == 0)
        return rc;
    return indented ? read_indented(r) : read_plain(r);
}

int sl_scenarios_read(const char *file, const char *text, size_t len, struct sl_scenarios **ret,
                      struct sl_buf *why) {
    _cleanup_(sl_scenarios_freep) struct sl_scenarios *set = sl_alloc0(1, sizeof(*set));
    struct sl_scenario_reader *r = sl_alloc0(1, sizeof(*r));
    int rc = 0;

    sl_arena_init(&set->arena, ARENA_BYTES);
    r->set = set;
    r->a = &set->arena;
    r->why = why;
    r->file = sl_arena_strdup(r->a, file);
    scenario_reset(r);
    if (len > SL_SCENARIO_MAX_BYTES)
        rc = sl_scenario_fail(r, "%zu bytes, more than %u", len, SL_SCENARIO_MAX_BYTES);
    for (size_t at = 0; rc >= 0 && at < len;) {
        const char *nl = memchr(text + at, '\n', len - at);
        size_t n = nl ? (size_t)(nl - (text + at)) : len - at;
        if (++r->line > SL_SCENARIO_MAX_LINES)
            rc = sl_scenario_fail(r, "more than %u lines", SL_SCENARIO_MAX_LINES);
        else
            rc = read_line(r, text + at, n);
        at += n + 1;
    }
    if (rc >= 0)
        rc = close_scenario(r);
    if (rc >= 0) {
        struct sl_scenario *v =
            sl_arena_alloc0(&set->arena, r->scenarios.n ? r->scenarios.n : 1, sizeof(*v));
        if (r->scenarios.n)
            memcpy(v, r->scenarios.v, r->scenarios.n * sizeof(*v));
        set->v = v;
        set->n = r->scenarios.n;
        *ret = TAKE_PTR(set);
        rc = 0;
    }
    sl_vec_free(&r->scenarios);
    sl_vec_free(&r->steps);
    sl_vec_free(&r->rules);
    sl_vec_free(&r->flavors);
    sl_vec_free(&r->absent);
    sl_vec_free(&r->cohorts);
    sl_vec_free(&r->queues);
    sl_vec_free(&r->locals);
    sl_vec_free(&r->jobs);
    sl_vec_free(&r->quotas);
    sl_vec_free(&r->podsets);
    sl_freep(&r);
    return rc;
}

void sl_scenarios_free(struct sl_scenarios *s) {
    if (!s)
        return;
    sl_arena_done(&s->arena);
    sl_freep(&s);
}

void sl_scenarios_freep(struct sl_scenarios **s) {
    sl_scenarios_free(*s);
    *s = NULL;
}
