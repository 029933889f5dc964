/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario: expectations. Each becomes one record; the runner evaluates it.
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <string.h>

enum takes {
    TAKES_JOBS,      /* one or more jobs */
    TAKES_EVICTING,  /* JOB [Reason] [Cause] [by JOB] */
    TAKES_PREEMPTED, /* JOB... by JOB [Cause] */
    TAKES_PODSETS,   /* JOB podset[.resource]=value ... */
    TAKES_CELLS,     /* [cohort] NODE flavor.resource=amount ... */
    TAKES_SHARE,     /* [cohort] NODE share */
    TAKES_CONDITION, /* JOB Type=Status [Reason] ["message"] */
    TAKES_NO_COND,   /* JOB Type */
    TAKES_CHECKS,    /* JOB check=State[:retries] ... or none */
    TAKES_ORDER,     /* JOB... (none: no job) */
    TAKES_QUEUE,     /* QUEUE JOB... */
    TAKES_NOTHING,
    TAKES_NEXT,   /* time or never */
    TAKES_ACTIVE, /* QUEUE ["message"] */
    TAKES_EXPLAIN,
    TAKES_BACKOFF, /* JOB count=N [at=time] */
    TAKES_NUMBER,
};

static const struct {
    const char *word;
    enum sl_scenario_expect_kind kind;
    enum takes takes;
} kinds[] = {
    {"admitted", SL_EXPECT_ADMITTED, TAKES_JOBS},
    {"reserved", SL_EXPECT_RESERVED, TAKES_JOBS},
    {"heap", SL_EXPECT_HEAP, TAKES_JOBS},
    {"asleep", SL_EXPECT_ASLEEP, TAKES_JOBS},
    {"waiting", SL_EXPECT_WAITING, TAKES_JOBS},
    {"blocked", SL_EXPECT_BLOCKED, TAKES_JOBS},
    {"finished", SL_EXPECT_FINISHED, TAKES_JOBS},
    {"gone", SL_EXPECT_GONE, TAKES_JOBS},
    {"evicting", SL_EXPECT_EVICTING, TAKES_EVICTING},
    {"preempted", SL_EXPECT_PREEMPTED, TAKES_PREEMPTED},
    {"flavor", SL_EXPECT_FLAVOR, TAKES_PODSETS},
    {"count", SL_EXPECT_COUNT, TAKES_PODSETS},
    {"usage", SL_EXPECT_USAGE, TAKES_CELLS},
    {"admitted-usage", SL_EXPECT_ADMITTED_USAGE, TAKES_CELLS},
    {"available", SL_EXPECT_AVAILABLE, TAKES_CELLS},
    {"potential", SL_EXPECT_POTENTIAL, TAKES_CELLS},
    {"subtree", SL_EXPECT_SUBTREE, TAKES_CELLS},
    {"share", SL_EXPECT_SHARE, TAKES_SHARE},
    {"condition", SL_EXPECT_CONDITION, TAKES_CONDITION},
    {"told", SL_EXPECT_REPORTED, TAKES_CONDITION},
    {"no-condition", SL_EXPECT_NO_CONDITION, TAKES_NO_COND},
    {"checks", SL_EXPECT_CHECKS, TAKES_CHECKS},
    {"order", SL_EXPECT_ORDER, TAKES_ORDER},
    {"queue", SL_EXPECT_QUEUE, TAKES_QUEUE},
    {"nothing", SL_EXPECT_NOTHING, TAKES_NOTHING},
    {"rest", SL_EXPECT_REST, TAKES_NOTHING},
    {"next", SL_EXPECT_NEXT, TAKES_NEXT},
    {"active", SL_EXPECT_ACTIVE, TAKES_ACTIVE},
    {"inactive", SL_EXPECT_INACTIVE, TAKES_ACTIVE},
    {"explain", SL_EXPECT_EXPLAIN, TAKES_EXPLAIN},
    {"backoff", SL_EXPECT_BACKOFF, TAKES_BACKOFF},
    {"evictions", SL_EXPECT_EVICTIONS, TAKES_NUMBER},
};

const char *const sl_scenario_verdict_words[] = {
    "RUNNING",    "RESERVED",  "EVICTING", "FITS",    "PREEMPTS", "BEHIND", "NO_QUOTA",
    "NEVER_FITS", "NO_FLAVOR", "BACKOFF",  "BLOCKED", "FINISHED", NULL,
};
const char *const sl_scenario_help_words[] = {
    "wait-for", "raise-quota", "raise-borrow", "shrink",
    "priority", "start-queue", "activate",     NULL,
};

static int bad_kind(struct sl_scenario_reader *r, const char *found) {
    const char *words[SL_LEN(kinds) + 1];
    for (uint32_t i = 0; i < SL_LEN(kinds); i++)
        words[i] = kinds[i].word;
    words[SL_LEN(kinds)] = NULL;
    return sl_scenario_bad_word(r, found, "what to expect", words);
}

/* Jobs up to the end of the line or the word 'by'. */
static int read_jobs(struct sl_scenario_reader *r, struct sl_scenario_expect *x,
                     bool at_least_one) {
    struct sl_scenario_wl_name *v = sl_arena_alloc0(r->a, r->n + 1, sizeof(*v));
    while (r->i < r->n && strcmp(r->tok[r->i].s, "by") != 0) {
        struct sl_scenario_job *j = NULL;
        int rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
        if (rc < 0)
            return rc;
        v[x->n_wls++] = j->name;
    }
    x->wls = v;
    return x->n_wls || !at_least_one ? 0 : sl_scenario_bad(r, sl_scenario_peek(r), "a job");
}

static int read_one_job(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    struct sl_scenario_job *j = NULL;
    int rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
    if (rc < 0)
        return rc;
    struct sl_scenario_wl_name *v = sl_arena_alloc(r->a, sizeof(*v));
    *v = j->name;
    x->wls = v;
    x->n_wls = 1;
    return 0;
}

static int read_by(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    struct sl_scenario_job *j = NULL;
    (void)sl_scenario_next(r);
    int rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
    if (rc >= 0)
        x->by = j->name;
    return rc;
}

static int read_evicting(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_one_job(r, x);
    const char *w = sl_scenario_peek(r);
    if (rc >= 0 && w && strcmp(w, "by") != 0)
        rc = sl_scenario_word(r, SL_VOCAB_EVICT, sl_scenario_next(r), &x->evict);
    w = sl_scenario_peek(r);
    if (rc >= 0 && w && strcmp(w, "by") != 0)
        rc = sl_scenario_word(r, SL_VOCAB_CAUSE, sl_scenario_next(r), &x->cause);
    w = sl_scenario_peek(r);
    if (rc >= 0 && w && strcmp(w, "by") == 0)
        rc = read_by(r, x);
    return rc;
}

static int read_preempted(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_jobs(r, x, true);
    if (rc < 0)
        return rc;
    if (!sl_scenario_peek(r))
        return sl_scenario_bad(r, NULL, "by and the job that preempts");
    rc = read_by(r, x);
    if (rc >= 0 && sl_scenario_peek(r))
        rc = sl_scenario_word(r, SL_VOCAB_CAUSE, sl_scenario_next(r), &x->cause);
    return rc;
}

/* key[.key]=value, until the end of the line. */
static int read_pairs(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    struct sl_scenario_expect_pair *v = sl_arena_alloc0(r->a, r->n + 1, sizeof(*v));
    if (r->i == r->n)
        return sl_scenario_bad(r, NULL, "key=value");
    while (r->i < r->n) {
        struct sl_scenario_expect_pair *p = &v[x->n_pairs++];
        char *w = r->tok[r->i++].s;
        char *value = sl_scenario_split(w, '=');
        if (!value)
            return sl_scenario_bad(r, w, "key=value");
        char *b = sl_scenario_split(w, '.');
        p->a = sl_arena_strdup(r->a, w);
        p->b = b ? sl_arena_strdup(r->a, b) : NULL;
        p->text = sl_arena_strdup(r->a, value);
    }
    x->pairs = v;
    return 0;
}

static int read_podsets(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_one_job(r, x);
    if (rc >= 0)
        rc = read_pairs(r, x);
    struct sl_scenario_expect_pair *v = (struct sl_scenario_expect_pair *)x->pairs;
    for (uint32_t i = 0; v && rc >= 0 && i < x->n_pairs; i++) {
        if (x->kind == SL_EXPECT_COUNT && v[i].b)
            return sl_scenario_bad(r, v[i].a, "podset=count");
        if (x->kind == SL_EXPECT_FLAVOR && !v[i].b)
            return sl_scenario_bad(r, v[i].a, "podset.resource=flavor");
        if (x->kind == SL_EXPECT_COUNT)
            rc = sl_scenario_int(r, v[i].text, "a number of pods", 0, SL_MAX_COUNT, &v[i].number);
    }
    return rc;
}

static int read_node(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    const char *w = sl_scenario_peek(r);
    if (w && strcmp(w, "cohort") == 0) {
        x->cohort = true;
        (void)sl_scenario_next(r);
    }
    return sl_scenario_next_name(r, x->cohort ? "the name of a cohort" : "the name of a queue",
                                 &x->node);
}

static int read_cells(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_node(r, x);
    if (rc >= 0)
        rc = read_pairs(r, x);
    struct sl_scenario_expect_pair *v = (struct sl_scenario_expect_pair *)x->pairs;
    for (uint32_t i = 0; v && rc >= 0 && i < x->n_pairs; i++) {
        if (!v[i].b)
            return sl_scenario_bad(r, v[i].a, "flavor.resource=amount");
        rc = sl_scenario_amount(r, v[i].b, v[i].text, true, &v[i].number);
    }
    return rc;
}

static int read_share(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_node(r, x);
    const char *w = sl_scenario_next(r);
    if (rc < 0)
        return rc;
    if (w && strcmp(w, "infinite") == 0) {
        x->number = INT64_MAX;
        return 0;
    }
    return sl_scenario_int(r, w, "a share in thousandths, or infinite", 0, INT64_MAX, &x->number);
}

static int read_condition(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_one_job(r, x);
    if (rc < 0)
        return rc;
    char *w = r->i < r->n ? r->tok[r->i++].s : NULL;
    char *v = w ? sl_scenario_split(w, '=') : NULL;
    if (!v || (strcmp(v, "True") != 0 && strcmp(v, "False") != 0))
        return sl_scenario_bad(r, w, "Type=True or Type=False");
    x->status = v[0] == 'T';
    rc = sl_scenario_word(r, SL_VOCAB_COND, w, &x->type);
    if (rc >= 0 && r->i < r->n && !r->tok[r->i].quoted)
        x->reason = sl_arena_strdup(r->a, sl_scenario_next(r));
    if (rc >= 0 && r->i < r->n && r->tok[r->i].quoted)
        x->message = sl_arena_strdup(r->a, sl_scenario_next(r));
    return rc;
}

static int read_checks(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_one_job(r, x);
    const char *w = sl_scenario_peek(r);
    if (rc >= 0 && w && strcmp(w, "none") == 0) {
        (void)sl_scenario_next(r);
        return 0;
    }
    if (rc >= 0)
        rc = read_pairs(r, x);
    struct sl_scenario_expect_pair *v = (struct sl_scenario_expect_pair *)x->pairs;
    for (uint32_t i = 0; v && rc >= 0 && i < x->n_pairs; i++) {
        char *text = sl_arena_strdup(r->a, v[i].text);
        char *retries = sl_scenario_split(text, ':');
        int word = 0;
        rc = sl_scenario_word(r, SL_VOCAB_CHECK_STATE, text, &word);
        v[i].number = word;
        v[i].retries = -1;
        if (rc >= 0 && retries)
            rc = sl_scenario_int(r, retries, "a count of retries", 0, INT32_MAX, &v[i].retries);
    }
    return rc;
}

static int word_of(const char *s, const char *const *words) {
    for (int i = 0; words[i]; i++)
        if (strcmp(s, words[i]) == 0)
            return i;
    return -1;
}

/* explain JOB KIND [position=N] [help=a,b] ["text"] */
static int read_explain(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    static const char *const words[] = {"position=", "help=", NULL};
    int rc = read_one_job(r, x);
    if (rc < 0)
        return rc;
    const char *kind = sl_scenario_next(r);
    x->number = -1;
    x->type = kind ? word_of(kind, sl_scenario_verdict_words) : -1;
    if (x->type < 0)
        return sl_scenario_bad_word(r, kind, "a verdict", sl_scenario_verdict_words);
    while (rc >= 0 && r->i < r->n) {
        struct sl_scenario_token *t = &r->tok[r->i++];
        if (t->quoted) {
            x->message = sl_arena_strdup(r->a, t->s);
        } else if (strncmp(t->s, "position=", 9) == 0) {
            rc = sl_scenario_int(r, t->s + 9, "a position", 0, INT32_MAX, &x->number);
        } else if (strncmp(t->s, "help=", 5) == 0) {
            const char **v = sl_arena_alloc0(r->a, strlen(t->s), sizeof(*v));
            for (char *s = t->s + 5, *next; s; s = next) {
                next = sl_scenario_split(s, ',');
                if (word_of(s, sl_scenario_help_words) < 0)
                    return sl_scenario_bad_word(r, s, "a kind of help", sl_scenario_help_words);
                v[x->n_helps++] = sl_arena_strdup(r->a, s);
            }
            x->helps = v;
        } else {
            return sl_scenario_bad_word(r, t->s, "a word about a verdict", words);
        }
    }
    return rc;
}

static int read_backoff(struct sl_scenario_reader *r, struct sl_scenario_expect *x) {
    int rc = read_one_job(r, x);
    x->number = -1;
    x->at = -1;
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        if (v && strcmp(w, "count") == 0)
            rc = sl_scenario_int(r, v, "a count", 0, INT32_MAX, &x->number);
        else if (v && strcmp(w, "at") == 0 && strcmp(v, "none") == 0)
            x->at = 0;
        else if (v && strcmp(w, "at") == 0)
            rc = sl_scenario_point(r, v, "a time, as 90s, or none", &x->at);
        else
            return sl_scenario_bad(r, w, "count=number or at=time");
    }
    return rc;
}

int sl_scenario_expect(struct sl_scenario_reader *r) {
    const char *w = sl_scenario_next(r);
    uint32_t i = 0;
    int rc = 0;

    while (i < SL_LEN(kinds) && strcmp(w, kinds[i].word) != 0)
        i++;
    if (i == SL_LEN(kinds))
        return bad_kind(r, w);
    struct sl_scenario_expect *x = sl_arena_alloc0(r->a, 1, sizeof(*x));
    const char *text = r->raw;
    while (*text == ' ' || *text == '\t')
        text++;
    *x = (struct sl_scenario_expect){.kind = kinds[i].kind, .text = text, .evict = -1, .cause = -1};
    switch (kinds[i].takes) {
    case TAKES_JOBS:
        rc = read_jobs(r, x, true);
        break;
    case TAKES_EVICTING:
        rc = read_evicting(r, x);
        break;
    case TAKES_PREEMPTED:
        rc = read_preempted(r, x);
        break;
    case TAKES_PODSETS:
        rc = read_podsets(r, x);
        break;
    case TAKES_CELLS:
        rc = read_cells(r, x);
        break;
    case TAKES_SHARE:
        rc = read_share(r, x);
        break;
    case TAKES_CONDITION:
        rc = read_condition(r, x);
        break;
    case TAKES_NO_COND:
        rc = read_one_job(r, x);
        if (rc >= 0)
            rc = sl_scenario_word(r, SL_VOCAB_COND, sl_scenario_next(r), &x->type);
        break;
    case TAKES_CHECKS:
        rc = read_checks(r, x);
        break;
    case TAKES_ORDER:
        rc = read_jobs(r, x, false);
        break;
    case TAKES_QUEUE:
        rc = sl_scenario_next_name(r, "the name of a queue", &x->node);
        if (rc >= 0)
            rc = read_jobs(r, x, false);
        break;
    case TAKES_NOTHING:
        break;
    case TAKES_NEXT:
        rc = sl_scenario_point(r, sl_scenario_next(r), "a time, as 90s, or never", &x->at);
        break;
    case TAKES_ACTIVE:
        rc = sl_scenario_next_name(r, "the name of a queue", &x->node);
        if (rc >= 0 && r->i < r->n && r->tok[r->i].quoted)
            x->message = sl_arena_strdup(r->a, sl_scenario_next(r));
        break;
    case TAKES_EXPLAIN:
        rc = read_explain(r, x);
        break;
    case TAKES_BACKOFF:
        rc = read_backoff(r, x);
        break;
    case TAKES_NUMBER:
        rc = sl_scenario_int(r, sl_scenario_next(r), "a number", 0, INT32_MAX, &x->number);
        break;
    }
    if (rc >= 0)
        rc = sl_scenario_end(r);
    if (rc >= 0)
        sl_scenario_step(r, SL_STEP_EXPECT)->expect = x;
    return rc;
}
