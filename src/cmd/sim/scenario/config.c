/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a scenario: the configuration of the scheduler. Each line adds to the lines before it;
 * the engine gets the sum.
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <string.h>

static const char *const config_words[] = {
    "fair-sharing", "admission-fair-sharing", "pods-ready", "exclude",
    "transform",    "ignore-undeclared",      NULL,
};

static int fair_sharing(struct sl_scenario_reader *r, struct sl_config *c) {
    static const char *const words[] = {"strategies=", NULL};
    c->fair_sharing = true;
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        if (!v || strcmp(w, "strategies") != 0)
            return sl_scenario_bad_word(r, w, "a word about fair sharing", words);
        c->n_fair = 0;
        for (char *next; v; v = next) {
            int word;
            next = sl_scenario_split(v, ',');
            int rc = sl_scenario_word(r, SL_VOCAB_FAIR_STRATEGY, v, &word);
            if (rc < 0)
                return rc;
            if (c->n_fair == SL_LEN(c->fair))
                return sl_scenario_fail(r, "more than %zu strategies", SL_LEN(c->fair));
            c->fair[c->n_fair++] = (enum sl_fair_strategy)word;
        }
    }
    return 0;
}

static int admission_fair_sharing(struct sl_scenario_reader *r, struct sl_config *c) {
    static const char *const words[] = {"half-life=", "sampling=", "weight:<resource>=", NULL};
    struct sl_resource_weight *weights = sl_arena_alloc0(r->a, r->n, sizeof(*weights));
    int rc = 0;
    c->afs = true;
    c->n_afs_weights = 0;
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        if (v && strcmp(w, "half-life") == 0) {
            rc = sl_scenario_span(r, v, "a half-life, as 10m", &c->afs_half_life);
        } else if (v && strcmp(w, "sampling") == 0) {
            rc = sl_scenario_span(r, v, "an interval, as 5m", &c->afs_sampling);
        } else if (v && strncmp(w, "weight:", 7) == 0) {
            struct sl_resource_weight *x = &weights[c->n_afs_weights];
            rc = sl_scenario_name(r, w + 7, "the name of a resource", &x->resource);
            if (rc >= 0)
                rc = sl_scenario_weight(r, v, &x->weight_nano);
            c->n_afs_weights++;
        } else {
            return sl_scenario_bad_word(r, w, "a word about admission fair sharing", words);
        }
    }
    c->afs_weights = weights;
    return rc;
}

static int pods_ready(struct sl_scenario_reader *r, struct sl_config *c) {
    static const char *const words[] = {"timeout=", "recovery=", "block",  "order=creation",
                                        "base=",    "max=",      "limit=", NULL};
    bool recovery = false;
    int rc = 0;
    c->pods_ready = true;
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        int64_t number = 0;
        if (!v && strcmp(w, "block") == 0) {
            c->block_admission = true;
        } else if (v && strcmp(w, "timeout") == 0) {
            rc = sl_scenario_span(r, v, "a timeout, as 5m", &c->ready_timeout);
            if (!recovery)
                c->recovery_timeout = c->ready_timeout;
        } else if (v && strcmp(w, "recovery") == 0) {
            rc = sl_scenario_span(r, v, "a timeout, as 5m", &c->recovery_timeout);
            recovery = true;
        } else if (v && strcmp(w, "order") == 0 && strcmp(v, "creation") == 0) {
            c->order_by_creation = true;
        } else if (v && strcmp(w, "base") == 0) {
            rc = sl_scenario_int(r, v, "seconds", 0, INT32_MAX, &c->backoff_base_s);
        } else if (v && strcmp(w, "max") == 0) {
            rc = sl_scenario_int(r, v, "seconds", 0, INT32_MAX, &c->backoff_max_s);
        } else if (v && strcmp(w, "limit") == 0) {
            rc = sl_scenario_int(r, v, "a count", 0, INT32_MAX, &number);
            c->backoff_limit = (int32_t)number;
        } else {
            return sl_scenario_bad_word(r, w, "a word about waiting for pods", words);
        }
    }
    return rc;
}

static int exclude(struct sl_scenario_reader *r, struct sl_config *c) {
    const char **v = sl_arena_alloc0(r->a, r->n, sizeof(*v));
    c->n_exclude = 0;
    while (r->i < r->n) {
        int rc = sl_scenario_next_name(r, "the beginning of a resource's name", &v[c->n_exclude]);
        if (rc < 0)
            return rc;
        c->n_exclude++;
    }
    c->exclude_prefixes = v;
    return c->n_exclude ? 0 : sl_scenario_bad(r, NULL, "the beginning of a resource's name");
}

/* transform INPUT [by=RESOURCE] [replace] out:RESOURCE=FACTOR ... */
static int transform(struct sl_scenario_reader *r, struct sl_config *c) {
    static const char *const words[] = {"by=", "replace", "out:<resource>=", NULL};
    struct sl_transform t = {.multiply_by = ""};
    struct sl_transform_output *outs = sl_arena_alloc0(r->a, r->n, sizeof(*outs));
    int rc = sl_scenario_next_name(r, "the name of a resource", &t.input);
    while (rc >= 0 && r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        struct sl_err err = {0};
        if (!v && strcmp(w, "replace") == 0) {
            t.replace = true;
        } else if (v && strcmp(w, "by") == 0) {
            rc = sl_scenario_name(r, v, "the name of a resource", &t.multiply_by);
        } else if (v && strncmp(w, "out:", 4) == 0) {
            struct sl_transform_output *o = &outs[t.n_outputs++];
            rc = sl_scenario_name(r, w + 4, "the name of a resource", &o->resource);
            if (rc >= 0 && sl_quantity_parse(v, strlen(v), &o->factor, &err) < 0)
                rc = sl_scenario_bad(r, v, "an amount, as 1 or 5Gi");
        } else {
            return sl_scenario_bad_word(r, w, "a word about a transformation", words);
        }
    }
    if (rc < 0)
        return rc;
    if (c->n_transforms == SL_SCENARIO_MAX_TOKENS)
        return sl_scenario_fail(r, "more than %u transformations", SL_SCENARIO_MAX_TOKENS);
    t.outputs = outs;
    struct sl_transform *all = sl_arena_alloc0(r->a, c->n_transforms + 1, sizeof(*all));
    if (c->n_transforms)
        memcpy(all, c->transforms, c->n_transforms * sizeof(*all));
    all[c->n_transforms++] = t;
    c->transforms = all;
    return 0;
}

int sl_scenario_config(struct sl_scenario_reader *r) {
    const char *w = sl_scenario_next(r);
    int rc;
    if (w && strcmp(w, "fair-sharing") == 0)
        rc = fair_sharing(r, &r->config);
    else if (w && strcmp(w, "admission-fair-sharing") == 0)
        rc = admission_fair_sharing(r, &r->config);
    else if (w && strcmp(w, "pods-ready") == 0)
        rc = pods_ready(r, &r->config);
    else if (w && strcmp(w, "exclude") == 0)
        rc = exclude(r, &r->config);
    else if (w && strcmp(w, "transform") == 0)
        rc = transform(r, &r->config);
    else if (w && strcmp(w, "ignore-undeclared") == 0)
        rc = (r->config.ignore_undeclared = true, sl_scenario_end(r));
    else
        return sl_scenario_bad_word(r, w, "what to configure", config_words);
    if (rc >= 0)
        sl_scenario_fact(r, SL_FACT_CONFIG)->config = r->config;
    return rc;
}

/* feature NAME=true|false ... */
int sl_scenario_feature(struct sl_scenario_reader *r) {
    if (r->i == r->n)
        return sl_scenario_bad(r, NULL, "a feature gate, as PriorityBoost=true");
    while (r->i < r->n) {
        char *w = r->tok[r->i++].s;
        char *v = sl_scenario_split(w, '=');
        int gate;
        bool on;
        int rc = sl_scenario_word(r, SL_VOCAB_GATE, w, &gate);
        if (rc >= 0)
            rc = sl_scenario_bool(r, v, &on);
        if (rc < 0)
            return rc;
        uint32_t bit = UINT32_C(1) << gate;
        r->config.gates = on ? r->config.gates | bit : r->config.gates & ~bit;
    }
    sl_scenario_fact(r, SL_FACT_CONFIG)->config = r->config;
    return 0;
}
