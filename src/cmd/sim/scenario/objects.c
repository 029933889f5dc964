/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario: flavors, cohorts, queues, local queues, namespaces and admission checks. An
 * object line states the whole object; 'change' states it again with some values different.
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <string.h>

static int too_many(struct sl_scenario_reader *r, uint32_t n, const char *what) {
    return n < SL_SCENARIO_MAX_OBJECTS ? 0
                                       : sl_scenario_fail(r, "more than %u %s in one scenario",
                                                          SL_SCENARIO_MAX_OBJECTS, what);
}

/* ---- flavors ---- */

static const char *const flavor_words[] = {"label", "taint", "tolerate", "absent", NULL};

static void report_flavor(struct sl_scenario_reader *r, const struct sl_flavor_spec *f) {
    for (uint32_t i = 0; i < r->flavors.n; i++)
        if (strcmp(r->flavors.v[i].name, f->name) == 0) {
            r->flavors.v[i] = *f;
            return;
        }
    *sl_vec_push(&r->flavors) = *f;
}

static int flavor_options(struct sl_scenario_reader *r, struct sl_flavor_spec *f) {
    struct sl_label labels[SL_SCENARIO_MAX_TOKENS];
    struct sl_taint taints[SL_SCENARIO_MAX_TOKENS];
    struct sl_toleration tolerations[SL_SCENARIO_MAX_TOKENS];
    int rc;

    for (const char *w = sl_scenario_next(r); w; w = sl_scenario_next(r)) {
        char *s = r->i < r->n ? r->tok[r->i].s : NULL;
        if (strcmp(w, "label") == 0) {
            char *value = s ? sl_scenario_split(s, '=') : NULL;
            if (!value)
                return sl_scenario_bad(r, s, "a label, as key=value");
            rc = sl_scenario_name(r, s, "the key of a label", &labels[f->labels.n].key);
            if (rc < 0)
                return rc;
            labels[f->labels.n++].value = sl_arena_strdup(r->a, value);
        } else if (strcmp(w, "taint") == 0) {
            rc = sl_scenario_taint(r, s, &taints[f->n_taints++]);
            if (rc < 0)
                return rc;
        } else if (strcmp(w, "tolerate") == 0) {
            rc = sl_scenario_toleration(r, s, &tolerations[f->n_tolerations++]);
            if (rc < 0)
                return rc;
        } else {
            return sl_scenario_bad_word(r, w, "a word about a flavor", flavor_words);
        }
        r->i++;
    }
    struct sl_label *l = sl_arena_alloc0(r->a, f->labels.n + 1, sizeof(*l));
    struct sl_taint *t = sl_arena_alloc0(r->a, f->n_taints + 1, sizeof(*t));
    struct sl_toleration *o = sl_arena_alloc0(r->a, f->n_tolerations + 1, sizeof(*o));
    memcpy(l, labels, f->labels.n * sizeof(*l));
    memcpy(t, taints, f->n_taints * sizeof(*t));
    memcpy(o, tolerations, f->n_tolerations * sizeof(*o));
    f->labels.v = l;
    f->taints = t;
    f->tolerations = o;
    return 0;
}

int sl_scenario_flavor(struct sl_scenario_reader *r) {
    struct sl_flavor_spec f = {0};
    int rc = too_many(r, r->flavors.n, "flavors");
    if (rc >= 0)
        rc = sl_scenario_next_name(r, "the name of a flavor", &f.name);
    if (rc < 0)
        return rc;
    const char *w = sl_scenario_peek(r);
    if (w && strcmp(w, "absent") == 0) {
        (void)sl_scenario_next(r);
        *sl_vec_push(&r->absent) = f.name;
        return sl_scenario_end(r);
    }
    rc = flavor_options(r, &f);
    if (rc < 0)
        return rc;
    report_flavor(r, &f);
    sl_scenario_fact(r, SL_FACT_FLAVOR)->flavor = f;
    return 0;
}

int sl_scenario_missing_flavors(struct sl_scenario_reader *r) {
    for (uint32_t i = 0; i < r->quotas.n; i++) {
        const char *name = r->quotas.v[i].flavor;
        bool known = false;
        for (uint32_t k = 0; k < r->flavors.n && !known; k++)
            known = strcmp(r->flavors.v[k].name, name) == 0;
        for (uint32_t k = 0; k < r->absent.n && !known; k++)
            known = strcmp(r->absent.v[k], name) == 0;
        if (known)
            continue;
        int rc = too_many(r, r->flavors.n, "flavors");
        if (rc < 0)
            return rc;
        struct sl_flavor_spec f = {.name = name};
        report_flavor(r, &f);
        bool refused = r->refused; /* meant for the object itself */
        r->refused = false;
        sl_scenario_fact(r, SL_FACT_FLAVOR)->flavor = f;
        r->refused = refused;
    }
    return 0;
}

/* ---- quotas of queues and cohorts ---- */

/* quota FLAVOR RESOURCE=NOMINAL [borrow:N] [lend:N] ... */
int sl_scenario_quota(struct sl_scenario_reader *r) {
    const char *names[SL_MAX_GROUP_RESOURCES];
    struct sl_quota quotas[SL_MAX_GROUP_RESOURCES];
    struct sl_scenario_quota_line line = {.starts_group = r->new_group};
    int rc = sl_scenario_next_name(r, "the name of a flavor", &line.flavor);
    if (rc < 0)
        return rc;
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        bool borrow = strncmp(w, "borrow:", 7) == 0;
        if (borrow || strncmp(w, "lend:", 5) == 0) {
            if (line.n == 0)
                return sl_scenario_bad(r, w, "resource=amount before a limit");
            struct sl_quota *q = &quotas[line.n - 1];
            rc = sl_scenario_amount(r, names[line.n - 1], w + (borrow ? 7 : 5), true,
                                    borrow ? &q->borrow_limit : &q->lend_limit);
            if (rc < 0)
                return rc;
            continue;
        }
        char *value = sl_scenario_split(w, '=');
        if (!value || !sl_scenario_is_resource(w))
            return sl_scenario_bad(r, w, "resource=amount, borrow:amount or lend:amount");
        if (line.n == SL_MAX_GROUP_RESOURCES)
            return sl_scenario_fail(r, "more than %d resources in one quota",
                                    SL_MAX_GROUP_RESOURCES);
        rc = sl_scenario_name(r, w, "the name of a resource", &names[line.n]);
        if (rc < 0)
            return rc;
        quotas[line.n] =
            (struct sl_quota){.borrow_limit = SL_AMOUNT_NONE, .lend_limit = SL_AMOUNT_NONE};
        rc = sl_scenario_amount(r, w, value, true, &quotas[line.n].nominal);
        if (rc < 0)
            return rc;
        line.n++;
    }
    if (line.n == 0)
        return sl_scenario_bad(r, NULL, "resource=amount");
    if (r->quotas.n >= SL_MAX_GROUPS * SL_MAX_GROUP_FLAVORS)
        return sl_scenario_fail(r, "too many quota lines");
    const char **kept = sl_arena_alloc(r->a, line.n * sizeof(*kept));
    struct sl_quota *kept_q = sl_arena_alloc(r->a, line.n * sizeof(*kept_q));
    memcpy(kept, names, line.n * sizeof(*kept));
    memcpy(kept_q, quotas, line.n * sizeof(*kept_q));
    line.resources = kept;
    line.quotas = kept_q;
    *sl_vec_push(&r->quotas) = line;
    r->new_group = false;
    return 0;
}

static bool same_resources(const struct sl_scenario_quota_line *a,
                           const struct sl_scenario_quota_line *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->resources[i], b->resources[i]) != 0)
            return false;
    return true;
}

/* Neighbouring quota lines over the same resources are flavors of one group. */
static int quota_groups(struct sl_scenario_reader *r, struct sl_groups *ret) {
    struct sl_group_spec *groups = sl_arena_alloc0(r->a, r->quotas.n + 1, sizeof(*groups));
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->quotas.n; n++) {
        uint32_t k = i + 1;
        while (k < r->quotas.n && !r->quotas.v[k].starts_group &&
               same_resources(&r->quotas.v[i], &r->quotas.v[k]))
            k++;
        if (n == SL_MAX_GROUPS || k - i > SL_MAX_GROUP_FLAVORS)
            return sl_scenario_fail(r, "at most %d groups of at most %d flavors", SL_MAX_GROUPS,
                                    SL_MAX_GROUP_FLAVORS);
        struct sl_flavor_quotas *f = sl_arena_alloc0(r->a, k - i, sizeof(*f));
        groups[n] = (struct sl_group_spec){.resources = r->quotas.v[i].resources,
                                           .n_resources = r->quotas.v[i].n,
                                           .flavors = f,
                                           .n_flavors = k - i};
        for (uint32_t j = i; j < k; j++)
            f[j - i] = (struct sl_flavor_quotas){.flavor = r->quotas.v[j].flavor,
                                                 .quotas = r->quotas.v[j].quotas};
        i = k;
    }
    *ret = (struct sl_groups){.v = groups, .n = n};
    return 0;
}

static void open_object(struct sl_scenario_reader *r, enum sl_scenario_block open) {
    r->open = open;
    r->open_line = r->line;
    r->quotas.n = 0;
    r->podsets.n = 0;
    r->new_group = false;
}

/* ---- cohorts ---- */

static const char *const cohort_words[] = {"parent=", "weight=", NULL};

static struct sl_cohort_spec *declared_cohort(struct sl_scenario_reader *r, const char *name) {
    for (uint32_t i = 0; i < r->cohorts.n; i++)
        if (strcmp(r->cohorts.v[i].name, name) == 0)
            return &r->cohorts.v[i];
    return NULL;
}

int sl_scenario_cohort(struct sl_scenario_reader *r, bool change) {
    const char *name;
    int rc = sl_scenario_next_name(r, "the name of a cohort", &name);
    if (rc < 0)
        return rc;
    struct sl_cohort_spec *declared = declared_cohort(r, name);
    if (change && !declared)
        return sl_scenario_bad(r, name, "a cohort that this scenario has made");
    open_object(r, SL_OPEN_COHORT);
    r->cohort =
        change ? *declared
               : (struct sl_cohort_spec){.name = name, .parent = "", .weight_nano = SL_WEIGHT_ONE};
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *value = sl_scenario_split(w, '=');
        if (value && strcmp(w, "parent") == 0) {
            r->cohort.parent = "";
            rc = *value ? sl_scenario_name(r, value, "the name of a cohort", &r->cohort.parent) : 0;
        } else if (value && strcmp(w, "weight") == 0) {
            rc = sl_scenario_weight(r, value, &r->cohort.weight_nano);
        } else {
            return sl_scenario_bad_word(r, w, "a word about a cohort", cohort_words);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int sl_scenario_close_cohort(struct sl_scenario_reader *r) {
    int rc = sl_scenario_missing_flavors(r);
    if (rc >= 0 && r->quotas.n)
        rc = quota_groups(r, &r->cohort.groups);
    if (rc < 0)
        return rc;
    struct sl_cohort_spec *declared = declared_cohort(r, r->cohort.name);
    if (!declared) {
        rc = too_many(r, r->cohorts.n, "cohorts");
        if (rc < 0)
            return rc;
        declared = sl_vec_push(&r->cohorts);
    }
    *declared = r->cohort;
    sl_scenario_fact(r, SL_FACT_COHORT)->cohort = r->cohort;
    return 0;
}

/* ---- queues ---- */

static const char *const queue_words[] = {
    "cohort=",
    "strategy=",
    "within=",
    "reclaim=",
    "borrow-within=",
    "threshold=",
    "when-can-borrow=",
    "when-can-preempt=",
    "preference=",
    "stop=",
    "terminating",
    "usage-based",
    "namespaces=",
    "checks=",
    "weight=",
    "local=no",
    NULL,
};

static struct sl_cq_spec *declared_queue(struct sl_scenario_reader *r, const char *name) {
    for (uint32_t i = 0; i < r->queues.n; i++)
        if (strcmp(r->queues.v[i].name, name) == 0)
            return &r->queues.v[i];
    return NULL;
}

/* checks=prov,img:default+spot */
static int queue_checks(struct sl_scenario_reader *r, char *s, struct sl_cq_spec *q) {
    struct sl_check_ref *refs = sl_arena_alloc0(r->a, SL_MAX_QUEUE_CHECKS, sizeof(*refs));
    uint32_t n = 0;
    for (char *next; s && *s; s = next) {
        next = sl_scenario_split(s, ',');
        if (n == SL_MAX_QUEUE_CHECKS)
            return sl_scenario_fail(r, "more than %d checks", SL_MAX_QUEUE_CHECKS);
        char *flavors = sl_scenario_split(s, ':');
        int rc = sl_scenario_name(r, s, "the name of an admission check", &refs[n].name);
        if (rc < 0)
            return rc;
        const char **names = sl_arena_alloc0(r->a, SL_MAX_GROUP_FLAVORS, sizeof(*names));
        for (char *f = flavors, *more; f; f = more) {
            more = sl_scenario_split(f, '+');
            if (refs[n].n_flavors == SL_MAX_GROUP_FLAVORS)
                return sl_scenario_fail(r, "more than %d flavors", SL_MAX_GROUP_FLAVORS);
            rc = sl_scenario_name(r, f, "the name of a flavor", &names[refs[n].n_flavors]);
            if (rc < 0)
                return rc;
            refs[n].n_flavors++;
        }
        refs[n++].flavors = names;
    }
    q->checks = refs;
    q->n_checks = n;
    return 0;
}

static int queue_namespaces(struct sl_scenario_reader *r, const char *s, struct sl_selector *ret) {
    struct sl_err err = {0};
    *ret = (struct sl_selector){.nothing = strcmp(s, "none") == 0};
    if (ret->nothing)
        return 0;
    if (sl_selector_parse(s, strlen(s), r->a, ret, &err) < 0)
        return sl_scenario_fail(r, "%s", err.text);
    return 0;
}

static int queue_option(struct sl_scenario_reader *r, char *w, struct sl_cq_spec *q) {
    char *v = sl_scenario_split(w, '=');
    int64_t number = 0;
    int word = 0, rc;

    if (!v) {
        if (strcmp(w, "terminating") == 0)
            return q->terminating = true, 0;
        if (strcmp(w, "usage-based") == 0)
            return q->usage_based = true, 0;
        return sl_scenario_bad_word(r, w, "a word about a queue", queue_words);
    }
    if (strcmp(w, "cohort") == 0) {
        q->cohort = "";
        return *v ? sl_scenario_name(r, v, "the name of a cohort", &q->cohort) : 0;
    }
    if (strcmp(w, "threshold") == 0) {
        q->has_borrow_threshold = strcmp(v, "none") != 0;
        if (!q->has_borrow_threshold)
            return 0;
        rc = sl_scenario_int(r, v, "a priority", INT32_MIN, INT32_MAX, &number);
        q->borrow_threshold = (int32_t)number;
        return rc;
    }
    if (strcmp(w, "weight") == 0)
        return sl_scenario_weight(r, v, &q->weight_nano);
    if (strcmp(w, "usage-based") == 0)
        return sl_scenario_bool(r, v, &q->usage_based);
    if (strcmp(w, "namespaces") == 0)
        return queue_namespaces(r, v, &q->namespaces);
    if (strcmp(w, "checks") == 0)
        return queue_checks(r, v, q);
    if (strcmp(w, "local") == 0 && strcmp(v, "no") == 0)
        return r->with_local = false, 0;
    if (strcmp(w, "strategy") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_STRATEGY, v, &word);
        q->strategy = (enum sl_strategy)word;
    } else if (strcmp(w, "within") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_WITHIN, v, &word);
        q->within = (enum sl_within)word;
    } else if (strcmp(w, "reclaim") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_RECLAIM, v, &word);
        q->reclaim = (enum sl_reclaim)word;
    } else if (strcmp(w, "borrow-within") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_BORROW_WITHIN, v, &word);
        q->borrow_within = (enum sl_borrow_within)word;
    } else if (strcmp(w, "when-can-borrow") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_WHEN, v, &word);
        q->when_can_borrow = (enum sl_when)word;
    } else if (strcmp(w, "when-can-preempt") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_WHEN, v, &word);
        q->when_can_preempt = (enum sl_when)word;
    } else if (strcmp(w, "preference") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_PREFERENCE, v, &word);
        q->preference = (enum sl_preference)word;
    } else if (strcmp(w, "stop") == 0) {
        rc = sl_scenario_word(r, SL_VOCAB_STOP, v, &word);
        q->stop = (enum sl_stop)word;
    } else {
        return sl_scenario_bad_word(r, w, "a word about a queue", queue_words);
    }
    return rc;
}

int sl_scenario_queue(struct sl_scenario_reader *r, bool change) {
    const char *name;
    int rc = sl_scenario_next_name(r, "the name of a queue", &name);
    if (rc < 0)
        return rc;
    struct sl_cq_spec *declared = declared_queue(r, name);
    if (change && !declared)
        return sl_scenario_bad(r, name, "a queue that this scenario has made");
    open_object(r, SL_OPEN_QUEUE);
    r->with_local = !declared;
    /* Kueue's defaults: MayStopSearch when borrowing, TryNextFlavor when preempting. */
    r->queue = change ? *declared
                      : (struct sl_cq_spec){.name = name,
                                            .cohort = "",
                                            .when_can_borrow = SL_MAY_STOP_SEARCH,
                                            .when_can_preempt = SL_TRY_NEXT_FLAVOR,
                                            .weight_nano = SL_WEIGHT_ONE};
    while (r->i < r->n) {
        rc = queue_option(r, r->tok[r->i++].s, &r->queue);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static struct sl_lq_spec *declared_local_queue(struct sl_scenario_reader *r, const char *ns,
                                               const char *name) {
    for (uint32_t i = 0; i < r->locals.n; i++)
        if (strcmp(r->locals.v[i].ns, ns) == 0 && strcmp(r->locals.v[i].name, name) == 0)
            return &r->locals.v[i];
    return NULL;
}

static int report_local(struct sl_scenario_reader *r, const struct sl_lq_spec *l) {
    struct sl_lq_spec *declared = declared_local_queue(r, l->ns, l->name);
    if (!declared) {
        int rc = too_many(r, r->locals.n, "local queues");
        if (rc < 0)
            return rc;
        declared = sl_vec_push(&r->locals);
    }
    *declared = *l;
    sl_scenario_fact(r, SL_FACT_LOCAL_QUEUE)->lq = *l;
    return 0;
}

int sl_scenario_close_queue(struct sl_scenario_reader *r) {
    bool refused = r->refused;
    int rc = sl_scenario_missing_flavors(r);
    if (rc >= 0 && r->quotas.n)
        rc = quota_groups(r, &r->queue.groups);
    if (rc < 0)
        return rc;
    sl_scenario_fact(r, SL_FACT_CLUSTER_QUEUE)->cq = r->queue;
    if (refused)
        return 0; /* it does not exist */
    struct sl_cq_spec *declared = declared_queue(r, r->queue.name);
    if (!declared) {
        rc = too_many(r, r->queues.n, "queues");
        if (rc < 0)
            return rc;
        declared = sl_vec_push(&r->queues);
    }
    *declared = r->queue;
    if (!r->with_local || declared_local_queue(r, "default", r->queue.name))
        return 0;
    struct sl_lq_spec l = {
        .ns = "default", .name = r->queue.name, .cq = r->queue.name, .weight_nano = SL_WEIGHT_ONE};
    return report_local(r, &l);
}

/* ---- local queues, namespaces, checks ---- */

static const char *const local_words[] = {"->", "stop=", "weight=", NULL};

/* local [NAMESPACE/]NAME -> QUEUE [stop=] [weight=] */
int sl_scenario_local(struct sl_scenario_reader *r, bool change) {
    struct sl_scenario_wl_name name;
    const char *s = sl_scenario_next(r);
    int word = 0, rc;

    if (!s)
        return sl_scenario_bad(r, NULL, "a local queue, as name or namespace/name");
    rc = sl_scenario_wl(r, s, &name);
    if (rc < 0)
        return rc;
    struct sl_lq_spec l = {
        .ns = name.ns, .name = name.name, .cq = "", .weight_nano = SL_WEIGHT_ONE};
    if (change) {
        const struct sl_lq_spec *declared = declared_local_queue(r, name.ns, name.name);
        if (!declared)
            return sl_scenario_bad(r, s, "a local queue that this scenario has made");
        l = *declared;
    }
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        if (strcmp(w, "->") == 0) {
            rc = sl_scenario_next_name(r, "the name of a queue", &l.cq);
        } else {
            char *v = sl_scenario_split(w, '=');
            if (v && strcmp(w, "stop") == 0) {
                rc = sl_scenario_word(r, SL_VOCAB_STOP, v, &word);
                l.stop = (enum sl_stop)word;
            } else if (v && strcmp(w, "weight") == 0) {
                rc = sl_scenario_weight(r, v, &l.weight_nano);
            } else {
                return sl_scenario_bad_word(r, w, "a word about a local queue", local_words);
            }
        }
        if (rc < 0)
            return rc;
    }
    if (*l.cq == '\0')
        return sl_scenario_bad(r, NULL, "-> and the name of a queue");
    return report_local(r, &l);
}

int sl_scenario_namespace(struct sl_scenario_reader *r) {
    struct sl_flavor_spec f = {0}; /* for its labels */
    int rc = sl_scenario_next_name(r, "the name of a namespace", &f.name);
    if (rc >= 0)
        rc = flavor_options(r, &f);
    if (rc < 0)
        return rc;
    sl_scenario_fact(r, SL_FACT_NAMESPACE)->ns =
        (struct sl_ns_spec){.name = f.name, .labels = f.labels};
    return 0;
}

static const char *const check_words[] = {"inactive", "controller=", NULL};

int sl_scenario_admission_check(struct sl_scenario_reader *r) {
    struct sl_check_spec c = {.controller = "scenario", .active = true};
    int rc = sl_scenario_next_name(r, "the name of an admission check", &c.name);
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        if (!v && strcmp(w, "inactive") == 0)
            c.active = false;
        else if (v && strcmp(w, "controller") == 0)
            rc = sl_scenario_name(r, v, "the name of a controller", &c.controller);
        else
            return sl_scenario_bad_word(r, w, "a word about an admission check", check_words);
    }
    if (rc >= 0)
        sl_scenario_fact(r, SL_FACT_CHECK)->check = c;
    return rc;
}

/* ---- remove ---- */

static const char *const remove_words[] = {"flavor",    "cohort",          "queue", "local",
                                           "namespace", "admission-check", NULL};

int sl_scenario_remove(struct sl_scenario_reader *r) {
    static const struct {
        const char *word;
        enum sl_fact_kind kind;
    } kinds[] = {
        {"flavor", SL_FACT_FLAVOR_GONE},       {"cohort", SL_FACT_COHORT_GONE},
        {"queue", SL_FACT_CLUSTER_QUEUE_GONE}, {"local", SL_FACT_LOCAL_QUEUE_GONE},
        {"namespace", SL_FACT_NAMESPACE_GONE}, {"admission-check", SL_FACT_CHECK_GONE},
    };
    const char *w = sl_scenario_next(r);
    for (uint32_t i = 0; w && i < SL_LEN(kinds); i++) {
        if (strcmp(w, kinds[i].word) != 0)
            continue;
        struct sl_scenario_wl_name name = {.ns = ""};
        int rc = kinds[i].kind == SL_FACT_LOCAL_QUEUE_GONE
                     ? sl_scenario_wl(r, sl_scenario_next(r), &name)
                     : sl_scenario_next_name(r, "a name", &name.name);
        if (rc < 0)
            return rc;
        struct sl_fact *f = sl_scenario_fact(r, kinds[i].kind);
        f->gone.ns = name.ns;
        f->gone.name = name.name;
        return sl_scenario_end(r);
    }
    return sl_scenario_bad_word(r, w, "what to remove", remove_words);
}
