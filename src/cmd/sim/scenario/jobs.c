/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario: jobs, and events about them. A job line states the whole workload; indented
 * podset lines give it several podsets, otherwise the line itself describes the one named "main".
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <string.h>

/* ---- the pods of a job ---- */

static const char *const pod_words[] = {
    "count=", "min=", "<resource>=", "select", "tolerate", "affinity", "group=", NULL,
};
static const char *const job_words[] = {
    "queue=",      "priority=", "boost=",   "uid=",     "created=",  "max-exec=",
    "gated=",      "held",      "inactive", "invalid=", "count=",    "min=",
    "<resource>=", "select",    "tolerate", "affinity", "replaces=", "preemption-gate=",
    NULL,
};

/* Lists of one podset while its line is read. */
struct pods {
    struct sl_request requests[SL_MAX_PODSET_RESOURCES];
    struct sl_label select[SL_SCENARIO_MAX_TOKENS];
    struct sl_toleration tolerations[SL_SCENARIO_MAX_TOKENS];
    struct sl_selector terms[SL_SCENARIO_MAX_TOKENS];
};

static void pods_open(const struct sl_podset_spec *p, struct pods *l) {
    if (p->n_requests)
        memcpy(l->requests, p->requests, p->n_requests * sizeof(l->requests[0]));
    if (p->node_selector.n)
        memcpy(l->select, p->node_selector.v, p->node_selector.n * sizeof(l->select[0]));
    if (p->n_tolerations)
        memcpy(l->tolerations, p->tolerations, p->n_tolerations * sizeof(l->tolerations[0]));
    if (p->affinity.n)
        memcpy(l->terms, p->affinity.terms, p->affinity.n * sizeof(l->terms[0]));
}

static void pods_close(struct sl_scenario_reader *r, struct sl_podset_spec *p,
                       const struct pods *l) {
    struct sl_request *q = sl_arena_alloc0(r->a, p->n_requests + 1, sizeof(*q));
    struct sl_label *s = sl_arena_alloc0(r->a, p->node_selector.n + 1, sizeof(*s));
    struct sl_toleration *t = sl_arena_alloc0(r->a, p->n_tolerations + 1, sizeof(*t));
    struct sl_selector *a = sl_arena_alloc0(r->a, p->affinity.n + 1, sizeof(*a));
    memcpy(q, l->requests, p->n_requests * sizeof(*q));
    memcpy(s, l->select, p->node_selector.n * sizeof(*s));
    memcpy(t, l->tolerations, p->n_tolerations * sizeof(*t));
    memcpy(a, l->terms, p->affinity.n * sizeof(*a));
    p->requests = q;
    p->node_selector.v = s;
    p->tolerations = t;
    p->affinity.terms = a;
}

static int pod_request(struct sl_scenario_reader *r, const char *name, const char *value,
                       struct sl_podset_spec *p, struct pods *l) {
    struct sl_err err = {0};
    sl_quantity q;
    uint32_t i = 0;
    if (sl_quantity_parse(value, strlen(value), &q, &err) < 0)
        return sl_scenario_bad(r, value, "an amount of %s, as 3, 500m or 10Gi", name);
    while (i < p->n_requests && l->requests[i].resource &&
           strcmp(l->requests[i].resource, name) != 0)
        i++;
    if (i == p->n_requests) {
        if (i == SL_MAX_PODSET_RESOURCES)
            return sl_scenario_fail(r, "more than %d resources", SL_MAX_PODSET_RESOURCES);
        int rc = sl_scenario_name(r, name, "the name of a resource", &l->requests[i].resource);
        if (rc < 0)
            return rc;
        p->n_requests++;
    }
    l->requests[i].q = q;
    return 0;
}

/* One word about pods. *ret_known: whether it was one. */
static int pod_option(struct sl_scenario_reader *r, char *w, struct sl_podset_spec *p,
                      struct pods *l, bool *ret_known) {
    char *s = r->i < r->n ? r->tok[r->i].s : NULL;
    struct sl_err err = {0};
    int64_t number = 0;
    int rc;

    *ret_known = true;
    if (strcmp(w, "select") == 0) {
        char *value = s ? sl_scenario_split(s, '=') : NULL;
        if (!value)
            return sl_scenario_bad(r, s, "a node label, as key=value");
        if (p->node_selector.n == SL_SCENARIO_MAX_TOKENS)
            return sl_scenario_fail(r, "too many node labels");
        struct sl_label *x = &l->select[p->node_selector.n++];
        x->value = sl_arena_strdup(r->a, value);
        r->i++;
        return sl_scenario_name(r, s, "the key of a node label", &x->key);
    }
    if (strcmp(w, "tolerate") == 0) {
        if (p->n_tolerations == SL_SCENARIO_MAX_TOKENS)
            return sl_scenario_fail(r, "too many tolerations");
        r->i += s != NULL;
        return sl_scenario_toleration(r, s, &l->tolerations[p->n_tolerations++]);
    }
    if (strcmp(w, "affinity") == 0) {
        if (!s)
            return sl_scenario_bad(r, NULL, "a selector, as \"zone in (a,b),disk\"");
        if (p->affinity.n == SL_SCENARIO_MAX_TOKENS)
            return sl_scenario_fail(r, "too many affinity terms");
        r->i++;
        if (sl_selector_parse(s, strlen(s), r->a, &l->terms[p->affinity.n++], &err) < 0)
            return sl_scenario_fail(r, "%s", err.text);
        return 0;
    }
    char *v = strchr(w, '=');
    if (!v) {
        *ret_known = false;
        return 0;
    }
    *v++ = '\0';
    if (strcmp(w, "count") == 0) {
        rc = sl_scenario_int(r, v, "a number of pods", 0, SL_MAX_COUNT, &number);
        p->count = (int32_t)number;
        return rc;
    }
    if (strcmp(w, "min") == 0) {
        rc = sl_scenario_int(r, v, "a number of pods", 0, SL_MAX_COUNT, &number);
        p->min_count = (int32_t)number;
        return rc;
    }
    if (strcmp(w, "group") == 0)
        return sl_scenario_name(r, v, "the name of a podset group", &p->group);
    if (sl_scenario_is_resource(w))
        return pod_request(r, w, v, p, l);
    *ret_known = false;
    v[-1] = '=';
    return 0;
}

int sl_scenario_podset(struct sl_scenario_reader *r) {
    struct sl_podset_spec p = {.count = 1, .group = ""};
    struct pods lists = {0}, *l = &lists;
    int rc = sl_scenario_next_name(r, "the name of a podset", &p.name);
    while (rc >= 0 && r->i < r->n) {
        bool known;
        char *w = r->tok[r->i++].s;
        rc = pod_option(r, w, &p, l, &known);
        if (rc >= 0 && !known)
            return sl_scenario_bad_word(r, w, "a word about pods", pod_words);
    }
    if (rc < 0)
        return rc;
    if (r->podsets.n == SL_MAX_PODSETS)
        return sl_scenario_fail(r, "more than %d podsets", SL_MAX_PODSETS);
    pods_close(r, &p, l);
    *sl_vec_push(&r->podsets) = p;
    return 0;
}

/* ---- jobs ---- */

static int job_option(struct sl_scenario_reader *r, char *w, struct sl_workload_spec *j,
                      bool *ret_known) {
    char *v = strchr(w, '=');
    int64_t number = 0;
    sl_span d = 0;
    int rc = 0;

    *ret_known = true;
    if (!v) {
        if (strcmp(w, "held") == 0)
            j->on_hold = true;
        else if (strcmp(w, "inactive") == 0)
            j->inactive = true;
        else
            *ret_known = false;
        return 0;
    }
    *v++ = '\0';
    if (strcmp(w, "queue") == 0) {
        rc = sl_scenario_name(r, v, "the name of a local queue", &j->queue);
    } else if (strcmp(w, "uid") == 0) {
        rc = sl_scenario_name(r, v, "a uid", &j->uid);
    } else if (strcmp(w, "priority") == 0) {
        rc = sl_scenario_int(r, v, "a priority", INT32_MIN, INT32_MAX, &number);
        j->priority = (int32_t)number;
    } else if (strcmp(w, "boost") == 0) {
        rc = sl_scenario_int(r, v, "a priority", INT32_MIN, INT32_MAX, &number);
        j->boost = (int32_t)number;
    } else if (strcmp(w, "created") == 0) {
        rc = sl_scenario_point(r, v, "a time, as 90s", &j->created);
        if (rc >= 0 && j->created == SL_TIME_NEVER)
            rc = sl_scenario_bad(r, v, "a time, as 90s");
    } else if (strcmp(w, "max-exec") == 0) {
        rc = sl_scenario_span(r, v, "a time, as 90s", &d);
        j->max_exec_s = d / SL_SEC;
    } else if (strcmp(w, "gated") == 0) {
        j->gated_by = sl_arena_strdup(r->a, v);
    } else if (strcmp(w, "invalid") == 0) {
        j->invalid = sl_arena_strdup(r->a, v);
    } else if (strcmp(w, "replaces") == 0) {
        rc = sl_scenario_name(r, v, "the name of a job of the same namespace", &j->replaces);
    } else if (strcmp(w, "preemption-gate") == 0) {
        j->preemption_gated = strcmp(v, "closed") == 0;
        if (!j->preemption_gated && strcmp(v, "open") != 0)
            rc = sl_scenario_bad(r, v, "open or closed");
    } else {
        *ret_known = false;
        v[-1] = '=';
    }
    return rc;
}

int sl_scenario_job(struct sl_scenario_reader *r, bool change) {
    struct pods lists = {0}, *l = &lists;
    struct sl_scenario_job *declared = NULL;
    struct sl_scenario_wl_name name;
    const char *s = sl_scenario_next(r);
    int rc = change ? sl_scenario_known_job(r, s, &declared) : sl_scenario_wl(r, s, &name);
    if (rc < 0)
        return rc;

    r->open = SL_OPEN_JOB;
    r->open_line = r->line;
    r->quotas.n = 0;
    r->podsets.n = 0;
    r->main = (struct sl_podset_spec){.name = "main", .count = 1, .group = ""};
    r->main_used = false;
    if (change) {
        r->job = *declared;
        if (declared->n_podsets == 1)
            r->main = declared->podsets[0];
    } else {
        r->job = (struct sl_scenario_job){.name = name,
                                          .spec = {.ns = name.ns,
                                                   .name = name.name,
                                                   .uid = name.name,
                                                   .queue = "",
                                                   .created = r->clock,
                                                   .gated_by = "",
                                                   .replaces = "",
                                                   .invalid = ""}};
    }
    pods_open(&r->main, l);
    while (r->i < r->n) {
        bool known;
        char *w = r->tok[r->i++].s;
        rc = job_option(r, w, &r->job.spec, &known);
        if (rc >= 0 && !known) {
            rc = pod_option(r, w, &r->main, l, &known);
            r->main_used = true;
        }
        if (rc >= 0 && !known)
            rc = sl_scenario_bad_word(r, w, "a word about a job", job_words);
        if (rc < 0)
            return rc;
    }
    pods_close(r, &r->main, l);
    if (*r->job.spec.queue == '\0')
        return sl_scenario_bad(r, NULL, "queue=<local queue>");
    return 0;
}

static void report_job(struct sl_scenario_reader *r, const struct sl_scenario_job *j, bool revive) {
    struct sl_fact *f = sl_scenario_fact(r, SL_FACT_WORKLOAD);
    struct sl_scenario_step *s = &sl_vec_last(&r->steps);
    f->workload = j->spec;
    s->wl = j->name;
    s->podsets = j->podsets;
    s->n_podsets = j->n_podsets;
    s->revive = revive;
}

int sl_scenario_close_job(struct sl_scenario_reader *r) {
    struct sl_scenario_job *declared = NULL;
    if (r->podsets.n && r->main_used)
        return sl_scenario_fail(r, "a job with podset lines says nothing of pods itself");
    if (r->podsets.n || r->main_used || r->job.n_podsets == 0) {
        uint32_t n = r->podsets.n ? r->podsets.n : 1;
        struct sl_podset_spec *p = sl_arena_alloc0(r->a, n, sizeof(*p));
        memcpy(p, r->podsets.n ? r->podsets.v : &r->main, n * sizeof(*p));
        if (r->main_used && r->job.n_podsets > 1)
            return sl_scenario_fail(r,
                                    "this job has several podsets: change them with podset lines");
        r->job.podsets = p;
        r->job.n_podsets = n;
    }
    for (uint32_t i = 0; i < r->jobs.n && !declared; i++)
        if (strcmp(r->jobs.v[i].name.ns, r->job.name.ns) == 0 &&
            strcmp(r->jobs.v[i].name.name, r->job.name.name) == 0)
            declared = &r->jobs.v[i];
    if (!declared) {
        if (r->jobs.n == SL_SCENARIO_MAX_OBJECTS)
            return sl_scenario_fail(r, "more than %u jobs in one scenario",
                                    SL_SCENARIO_MAX_OBJECTS);
        declared = sl_vec_push(&r->jobs);
    }
    *declared = r->job;
    report_job(r, declared, false);
    return 0;
}

/* ---- holds: a reservation that the engine finds when it starts ---- */

static const char *const holds_words[] = {
    "in=", "flavor=", "<podset>.<resource>=<flavor>", "reserved=", "admitted=", "evicted=", NULL};

static int holds_pair(struct sl_scenario_reader *r, const struct sl_scenario_job *j, char *podset,
                      char *flavor, const char ***flavors) {
    char *resource = sl_scenario_split(podset, '.');
    for (uint32_t p = 0; resource && p < j->n_podsets; p++) {
        if (strcmp(j->podsets[p].name, podset) != 0)
            continue;
        for (uint32_t q = 0; q < j->podsets[p].n_requests; q++)
            if (strcmp(j->podsets[p].requests[q].resource, resource) == 0)
                return sl_scenario_name(r, flavor, "the name of a flavor", &flavors[p][q]);
    }
    return sl_scenario_bad_word(r, podset, "a word about what the job holds", holds_words);
}

int sl_scenario_holds(struct sl_scenario_reader *r) {
    struct sl_scenario_job *j = NULL;
    int rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
    if (rc < 0)
        return rc;
    const char ***flavors = sl_arena_alloc0(r->a, j->n_podsets, sizeof(*flavors));
    for (uint32_t p = 0; p < j->n_podsets; p++)
        flavors[p] = sl_arena_alloc0(r->a, j->podsets[p].n_requests + 1, sizeof(**flavors));
    const char *all = "default", *cq = j->spec.queue;
    sl_time reserved = r->clock, admitted = r->clock;
    int evict = SL_EVICT_NONE;
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        if (!v)
            return sl_scenario_bad_word(r, w, "a word about what the job holds", holds_words);
        if (strcmp(w, "in") == 0) {
            rc = sl_scenario_name(r, v, "the name of a queue", &cq);
        } else if (strcmp(w, "flavor") == 0) {
            rc = sl_scenario_name(r, v, "the name of a flavor", &all);
        } else if (strcmp(w, "reserved") == 0) {
            rc = sl_scenario_point(r, v, "a time, as 90s", &reserved);
            admitted = admitted ? reserved : 0;
        } else if (strcmp(w, "admitted") == 0) {
            if (strcmp(v, "no") == 0)
                admitted = 0;
            else
                rc = sl_scenario_point(r, v, "a time, as 90s, or no", &admitted);
        } else if (strcmp(w, "evicted") == 0) {
            rc = sl_scenario_word(r, SL_VOCAB_EVICT, v, &evict);
        } else {
            rc = holds_pair(r, j, w, v, flavors);
        }
    }
    if (rc < 0)
        return rc;
    struct sl_podset_admission *pa = sl_arena_alloc0(r->a, j->n_podsets, sizeof(*pa));
    for (uint32_t p = 0; p < j->n_podsets; p++) {
        const struct sl_podset_spec *ps = &j->podsets[p];
        const char **names = sl_arena_alloc0(r->a, ps->n_requests + 1, sizeof(*names));
        sl_amount *usage = sl_arena_alloc0(r->a, ps->n_requests + 1, sizeof(*usage));
        for (uint32_t q = 0; q < ps->n_requests; q++) {
            names[q] = ps->requests[q].resource;
            usage[q] = sl_amount_mul(sl_amount_of_request(names[q], ps->requests[q].q), ps->count);
            if (!flavors[p][q])
                flavors[p][q] = all;
        }
        pa[p] = (struct sl_podset_admission){.count = ps->count,
                                             .resources = names,
                                             .flavors = flavors[p],
                                             .usage = usage,
                                             .n = ps->n_requests};
    }
    struct sl_fact *f = sl_scenario_fact(r, SL_FACT_ADMISSION);
    sl_vec_last(&r->steps).wl = j->name;
    f->admission.cq = cq;
    f->admission.podsets = pa;
    f->admission.n = j->n_podsets;
    f->admission.reserved_at = reserved;
    f->admission.admitted_at = admitted;
    f->admission.evicted = evict != SL_EVICT_NONE;
    f->admission.reason = (enum sl_evict)evict;
    return 0;
}

/* ---- what happens to jobs ---- */

static struct sl_fact *workload_fact(struct sl_scenario_reader *r, enum sl_fact_kind kind,
                                     const struct sl_scenario_job *j) {
    struct sl_fact *f = sl_scenario_fact(r, kind);
    sl_vec_last(&r->steps).wl = j->name;
    return f;
}

/* check JOB NAME=STATE ["message"] [after=60s] */
static int read_check(struct sl_scenario_reader *r, const struct sl_scenario_job *j) {
    const char *name, *message = "";
    int state;
    sl_span after = 0;
    char *w = r->i < r->n ? r->tok[r->i++].s : NULL;
    char *v = w ? sl_scenario_split(w, '=') : NULL;
    if (!v)
        return sl_scenario_bad(r, w, "check=state");
    int rc = sl_scenario_name(r, w, "the name of an admission check", &name);
    if (rc >= 0)
        rc = sl_scenario_word(r, SL_VOCAB_CHECK_STATE, v, &state);
    while (rc >= 0 && r->i < r->n) {
        struct sl_scenario_token *t = &r->tok[r->i++];
        if (t->quoted)
            message = sl_arena_strdup(r->a, t->s);
        else if (strncmp(t->s, "after=", 6) == 0)
            rc = sl_scenario_span(r, t->s + 6, "a time, as 60s", &after);
        else
            return sl_scenario_bad(r, t->s, "\"a message\" or after=time");
    }
    if (rc < 0)
        return rc;
    struct sl_fact *f = workload_fact(r, SL_FACT_CHECK_STATE, j);
    f->check_state.name = name;
    f->check_state.state = (enum sl_check_state)state;
    f->check_state.message = message;
    f->check_state.requeue_after_s = after / SL_SEC;
    return 0;
}

/* reclaim JOB PODSET=COUNT ... */
static int read_reclaim(struct sl_scenario_reader *r, const struct sl_scenario_job *j) {
    int32_t *counts = sl_arena_alloc0(r->a, j->n_podsets, sizeof(*counts));
    if (r->i == r->n)
        return sl_scenario_bad(r, NULL, "podset=count");
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        int64_t number = 0;
        uint32_t p = 0;
        while (p < j->n_podsets && strcmp(j->podsets[p].name, w) != 0)
            p++;
        if (!v || p == j->n_podsets)
            return sl_scenario_bad(r, w, "podset=count, of a podset of this job");
        int rc = sl_scenario_int(r, v, "a number of pods", 0, SL_MAX_COUNT, &number);
        if (rc < 0)
            return rc;
        counts[p] = (int32_t)number;
    }
    struct sl_fact *f = workload_fact(r, SL_FACT_RECLAIMABLE, j);
    f->reclaimable.counts = counts;
    f->reclaimable.n = j->n_podsets;
    return 0;
}

static int read_gate(struct sl_scenario_reader *r, struct sl_scenario_job *j) {
    const char *by = sl_scenario_next(r);
    if (!by || *by == '\0')
        return sl_scenario_bad(r, by, "what it is gated by");
    j->spec.gated_by = sl_arena_strdup(r->a, by);
    report_job(r, j, false);
    return sl_scenario_end(r);
}

/* A verb with a list of jobs. */
static int each_job(struct sl_scenario_reader *r, const char *verb) {
    static const struct {
        const char *verb;
        enum sl_fact_kind kind;
    } facts[] = {
        {"finish", SL_FACT_FINISHED},  {"delete", SL_FACT_WORKLOAD_GONE},
        {"release", SL_FACT_RELEASED}, {"admit-failed", SL_FACT_ADMIT_FAILED},
        {"ready", SL_FACT_PODS_READY}, {"unready", SL_FACT_PODS_READY},
    };
    if (r->i == r->n)
        return sl_scenario_bad(r, NULL, "a job");
    while (r->i < r->n) {
        struct sl_scenario_job *j = NULL;
        int rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
        if (rc < 0)
            return rc;
        bool overridden = false;
        for (uint32_t i = 0; i < SL_LEN(facts) && !overridden; i++)
            if (strcmp(verb, facts[i].verb) == 0) {
                struct sl_fact *f = workload_fact(r, facts[i].kind, j);
                if (facts[i].kind == SL_FACT_PODS_READY)
                    f->ready = verb[0] == 'r';
                overridden = true;
            }
        if (overridden)
            continue;
        if (strcmp(verb, "activate") == 0 || strcmp(verb, "deactivate") == 0)
            j->spec.inactive = verb[0] == 'd';
        else if (strcmp(verb, "ungate") == 0)
            j->spec.gated_by = "";
        else
            j->spec.on_hold = verb[0] == 'h';
        report_job(r, j, verb[0] == 'a');
    }
    return 0;
}

int sl_scenario_job_verb(struct sl_scenario_reader *r, const char *verb, bool *ret_known) {
    static const char *const many[] = {"finish", "delete",  "release",  "admit-failed",
                                       "ready",  "unready", "activate", "deactivate",
                                       "ungate", "hold",    "unhold"};
    struct sl_scenario_job *j = NULL;
    int rc;

    *ret_known = true;
    for (uint32_t i = 0; i < SL_LEN(many); i++)
        if (strcmp(verb, many[i]) == 0)
            return each_job(r, verb);
    *ret_known =
        strcmp(verb, "check") == 0 || strcmp(verb, "reclaim") == 0 || strcmp(verb, "gate") == 0;
    if (!*ret_known)
        return 0;
    rc = sl_scenario_known_job(r, sl_scenario_next(r), &j);
    if (rc < 0)
        return rc;
    return verb[0] == 'c'   ? read_check(r, j)
           : verb[0] == 'r' ? read_reclaim(r, j)
                            : read_gate(r, j);
}
