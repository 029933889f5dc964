/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of scenarios: the steps that the reader produces for the runner, and the parts of the
 * reader in several files.
 */
#ifndef SL_CMD_SIM_SCENARIO_SCENARIO_INT_H
#define SL_CMD_SIM_SCENARIO_SCENARIO_INT_H

#include "cmd/sim/scenario/scenario.h"

/* ---- steps ---- */

struct sl_scenario_wl_name {
    const char *ns, *name;
};

enum sl_scenario_step_kind {
    SL_STEP_FACT,
    SL_STEP_CLOCK,  /* time passes up to 'at' */
    SL_STEP_CYCLE,  /* decide now, even without facts */
    SL_STEP_SETTLE, /* release all evicted workloads, until there are none */
    SL_STEP_EXPECT,
    SL_STEP_REFUSED, /* the fact must be rejected, with this message */
};

enum sl_scenario_expect_kind {
    SL_EXPECT_ADMITTED,
    SL_EXPECT_RESERVED,
    SL_EXPECT_HEAP,
    SL_EXPECT_ASLEEP,
    SL_EXPECT_WAITING, /* heap or asleep */
    SL_EXPECT_BLOCKED,
    SL_EXPECT_FINISHED,
    SL_EXPECT_GONE,
    SL_EXPECT_EVICTING,
    SL_EXPECT_PREEMPTED, /* exactly these, by that one, since the last expectation */
    SL_EXPECT_FLAVOR,
    SL_EXPECT_COUNT,
    SL_EXPECT_USAGE,
    SL_EXPECT_ADMITTED_USAGE,
    SL_EXPECT_AVAILABLE,
    SL_EXPECT_POTENTIAL,
    SL_EXPECT_SUBTREE,
    SL_EXPECT_SHARE,
    SL_EXPECT_CONDITION,
    SL_EXPECT_NO_CONDITION,
    SL_EXPECT_REPORTED, /* written by some effect since the last expectation */
    SL_EXPECT_CHECKS,
    SL_EXPECT_ORDER,
    SL_EXPECT_QUEUE,
    SL_EXPECT_NOTHING, /* no effect since the last expectation */
    SL_EXPECT_REST,    /* no workload is being evicted */
    SL_EXPECT_NEXT,
    SL_EXPECT_ACTIVE,
    SL_EXPECT_INACTIVE,
    SL_EXPECT_EXPLAIN,
    SL_EXPECT_BACKOFF,
    SL_EXPECT_EVICTIONS, /* how many since the last expectation */
};

/* key[.key2]=value of an expectation: flavor.resource=amount, podset.resource=flavor, podset=count
 */
struct sl_scenario_expect_pair {
    const char *a, *b, *text;
    int64_t number;
    int64_t retries; /* of a check, -1: any */
};

struct sl_scenario_expect {
    enum sl_scenario_expect_kind kind;
    const char *text; /* as written, for the report */
    const struct sl_scenario_wl_name *wls;
    uint32_t n_wls;
    struct sl_scenario_wl_name by;
    const char *node; /* queue or cohort */
    bool cohort;
    const struct sl_scenario_expect_pair *pairs;
    uint32_t n_pairs;
    int type; /* enum sl_cond or enum sl_verdict_kind */
    bool status;
    const char *reason, *message; /* NULL: any */
    int evict, cause;             /* -1: any */
    int64_t number;               /* share, position (-1: any), backoff count, evictions */
    sl_time at;
    const char *const *helps;
    uint32_t n_helps;
};

struct sl_scenario_step {
    enum sl_scenario_step_kind kind;
    uint32_t line;
    sl_time at;
    struct sl_fact *fact;          /* FACT, REFUSED */
    struct sl_scenario_wl_name wl; /* the workload a fact is about */
    const struct sl_podset_spec *podsets;
    uint32_t n_podsets;
    bool revive; /* 'activate': reset the deactivation by the engine */
    const struct sl_scenario_expect *expect;
};

/* ---- the reader ---- */

struct sl_scenario_token {
    char *s;
    bool quoted;
};

/* The objects of the scenario so far, for 'change' and for checking names. */
struct sl_scenario_job {
    struct sl_scenario_wl_name name;
    struct sl_workload_spec spec;
    const struct sl_podset_spec *podsets;
    uint32_t n_podsets;
    bool deleted;
};

struct sl_scenario_quota_line {
    const char *flavor;
    const char *const *resources;
    const struct sl_quota *quotas;
    uint32_t n;
    bool starts_group;
};

enum sl_scenario_block { SL_OPEN_NONE, SL_OPEN_COHORT, SL_OPEN_QUEUE, SL_OPEN_JOB, SL_OPEN_EXPECT };

struct sl_scenario_reader {
    const char *file;
    uint32_t line;
    struct sl_buf *why;
    struct sl_scenarios *set;
    struct sl_arena *a;
    SL_VEC(struct sl_scenario) scenarios;

    /* the line in hand */
    struct sl_scenario_token tok[SL_SCENARIO_MAX_TOKENS];
    uint32_t n, i;
    const char *raw;

    /* the current scenario */
    bool in_scenario;
    sl_time clock;
    SL_VEC(struct sl_scenario_step) steps;
    SL_VEC(const char *) rules;
    struct sl_config config;
    SL_VEC(struct sl_flavor_spec) flavors;
    SL_VEC(const char *) absent; /* flavors that do not exist on purpose */
    SL_VEC(struct sl_cohort_spec) cohorts;
    SL_VEC(struct sl_cq_spec) queues;
    SL_VEC(struct sl_lq_spec) locals;
    SL_VEC(struct sl_scenario_job) jobs;

    /* the object that indented lines belong to */
    enum sl_scenario_block open;
    uint32_t open_line;
    bool refused; /* 'refuse' precedes it */
    const char *refused_words;
    bool with_local;
    struct sl_cohort_spec cohort;
    struct sl_cq_spec queue;
    struct sl_scenario_job job;
    struct sl_podset_spec main; /* the pods that the job line itself describes */
    bool main_used;
    SL_VEC(struct sl_scenario_quota_line) quotas;
    SL_VEC(struct sl_podset_spec) podsets;
    bool new_group;
};

/* "file:line: expected <what>, found <found>"; returns SL_EINVAL. found NULL: the end of the line.
 */
int sl_scenario_bad(struct sl_scenario_reader *r, const char *found, const char *fmt, ...)
    _printf_(3, 4);
/* The same, for a token that must be one of a NULL-terminated list. */
int sl_scenario_bad_word(struct sl_scenario_reader *r, const char *found, const char *what,
                         const char *const *words);
/* "file:line: <message>"; for errors that are not about one token. */
int sl_scenario_fail(struct sl_scenario_reader *r, const char *fmt, ...) _printf_(2, 3);

/* The next token of the line, or NULL at its end. */
const char *sl_scenario_next(struct sl_scenario_reader *r);
const char *sl_scenario_peek(const struct sl_scenario_reader *r);
int sl_scenario_end(struct sl_scenario_reader *r);
/* A name: 1..253 bytes of letters, digits and -._/:+ ; copied into the arena. */
int sl_scenario_name(struct sl_scenario_reader *r, const char *s, const char *what,
                     const char **ret);
int sl_scenario_next_name(struct sl_scenario_reader *r, const char *what, const char **ret);
int sl_scenario_wl(struct sl_scenario_reader *r, const char *s, struct sl_scenario_wl_name *ret);
/* A job of the scenario; -1 after a report. */
int sl_scenario_known_job(struct sl_scenario_reader *r, const char *s,
                          struct sl_scenario_job **ret);
int sl_scenario_int(struct sl_scenario_reader *r, const char *s, const char *what, int64_t lo,
                    int64_t hi, int64_t *ret);
int sl_scenario_span(struct sl_scenario_reader *r, const char *s, const char *what, sl_span *ret);
/* "90s" or "never": a point on the scenario's clock. */
int sl_scenario_point(struct sl_scenario_reader *r, const char *s, const char *what, sl_time *ret);
int sl_scenario_amount(struct sl_scenario_reader *r, const char *resource, const char *s,
                       bool quota, sl_amount *ret);
int sl_scenario_weight(struct sl_scenario_reader *r, const char *s, int64_t *ret);
int sl_scenario_word(struct sl_scenario_reader *r, enum sl_vocab vocab, const char *s, int *ret);
int sl_scenario_bool(struct sl_scenario_reader *r, const char *s, bool *ret);
/* Splits "key=value" in place; value NULL when there is no '='. */
char *sl_scenario_split(char *s, char by);
int sl_scenario_taint(struct sl_scenario_reader *r, char *s, struct sl_taint *ret);
int sl_scenario_toleration(struct sl_scenario_reader *r, char *s, struct sl_toleration *ret);
bool sl_scenario_is_resource(const char *s);

struct sl_scenario_step *sl_scenario_step(struct sl_scenario_reader *r,
                                          enum sl_scenario_step_kind kind);
struct sl_fact *sl_scenario_fact(struct sl_scenario_reader *r, enum sl_fact_kind kind);

/* objects.c */
int sl_scenario_flavor(struct sl_scenario_reader *r);
int sl_scenario_cohort(struct sl_scenario_reader *r, bool change);
int sl_scenario_queue(struct sl_scenario_reader *r, bool change);
int sl_scenario_local(struct sl_scenario_reader *r, bool change);
int sl_scenario_namespace(struct sl_scenario_reader *r);
int sl_scenario_admission_check(struct sl_scenario_reader *r);
int sl_scenario_quota(struct sl_scenario_reader *r);
int sl_scenario_remove(struct sl_scenario_reader *r);
int sl_scenario_close_cohort(struct sl_scenario_reader *r);
int sl_scenario_close_queue(struct sl_scenario_reader *r);
/* Creates the flavors of quota lines that the scenario did not define. */
int sl_scenario_missing_flavors(struct sl_scenario_reader *r);
/* config.c */
int sl_scenario_config(struct sl_scenario_reader *r);
int sl_scenario_feature(struct sl_scenario_reader *r);
/* jobs.c */
int sl_scenario_job(struct sl_scenario_reader *r, bool change);
int sl_scenario_podset(struct sl_scenario_reader *r);
int sl_scenario_close_job(struct sl_scenario_reader *r);
int sl_scenario_holds(struct sl_scenario_reader *r);
int sl_scenario_job_verb(struct sl_scenario_reader *r, const char *verb, bool *ret_known);
/* expect.c */
int sl_scenario_expect(struct sl_scenario_reader *r);

/* ---- the runner's parts ---- */

extern const char *const sl_scenario_verdict_words[]; /* by enum sl_verdict_kind, NULL-ended */
extern const char *const sl_scenario_help_words[];    /* by enum sl_help_kind, NULL-ended */

/* A condition as the API server would show it. */
struct sl_scenario_seen_cond {
    bool present, status;
    char *reason, *message;
    sl_time at; /* of the last flip */
};

struct sl_scenario_seen_check {
    char *name;
    enum sl_check_state state;
    int32_t retries;
};

/* Observable state of a workload. */
struct sl_scenario_seen_wl {
    struct sl_scenario_wl_name name;
    sl_wl_id id;
    const struct sl_scenario_step *step; /* as last passed to the engine */
    struct sl_scenario_seen_cond cond[SL_COND_COUNT];
    struct sl_scenario_seen_check checks[SL_MAX_QUEUE_CHECKS];
    uint32_t n_checks;
    enum sl_evict evict;
    enum sl_cause cause;
    struct sl_scenario_wl_name by; /* of the last eviction; name NULL: none */
    int32_t backoff_count;
    sl_time backoff_at;
    bool deactivated; /* the engine set spec.active=false */
};

struct sl_scenario_run {
    const struct sl_scenario *scenario;
    const struct sl_scenario_watch *watch;
    bool verbose;
    struct sl_buf *out;
    struct sl_engine *e;
    struct sl_effects effects; /* since the last expectation */
    SL_VEC(sl_time) when;      /* one per effect */
    sl_time now;
    bool dirty;    /* facts wait for a cycle */
    bool expected; /* the last step was an expectation */
    uint32_t cycles;
    uint32_t line;
    bool failed;
    SL_VEC(struct sl_scenario_seen_wl) wls;
    struct sl_buf text;
};

struct sl_scenario_seen_wl *sl_scenario_run_wl(struct sl_scenario_run *run,
                                               const struct sl_scenario_wl_name *name);
struct sl_scenario_seen_wl *sl_scenario_run_wl_by_id(struct sl_scenario_run *run, sl_wl_id id);
/* Opens the report of a failure of the current step: "file:line: title", then the message. */
void sl_scenario_run_fail(struct sl_scenario_run *run, const char *fmt, ...) _printf_(2, 3);
/* check.c */
void sl_scenario_run_expect(struct sl_scenario_run *run, const struct sl_scenario_expect *x);
/* seen.c */
void sl_scenario_run_note(struct sl_scenario_run *run, const struct sl_effect *x);
void sl_scenario_seen_done(struct sl_scenario_seen_wl *w);
void sl_scenario_run_print_effect(struct sl_scenario_run *run, const struct sl_effect *x,
                                  sl_time at);
void sl_scenario_run_print_since(struct sl_scenario_run *run);
void sl_scenario_run_print_wl(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w);
const char *sl_scenario_run_clock(sl_time t, char out[SL_SPAN_TEXT]);

#endif
