/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts to JSON. What is false, 0, "" or empty is left out.
 */
#include "doc/facts.h"

#include <string.h>

#include "base/hash.h"

#define MAX_SHAPE_BYTES ((size_t)16 << 20) /* of the text of one shape */
#define MAX_TEXT_BYTES ((size_t)4 << 30)   /* of all of them */

void sl_fact_writer_init(struct sl_fact_writer *w) {
    *w = (struct sl_fact_writer){0};
    sl_arena_init(&w->arena, MAX_TEXT_BYTES);
    sl_buf_init(&w->scratch, MAX_SHAPE_BYTES);
}

void sl_fact_writer_done(struct sl_fact_writer *w) {
    sl_map_done(&w->by_hash);
    sl_vec_free(&w->shapes);
    sl_arena_done(&w->arena);
    sl_buf_done(&w->scratch);
}

/* ---- pieces ---- */

/* A comma if something stands before in this list or map. */
static void comma(struct sl_buf *b) {
    if (b->len > 0 && !strchr("{[:", b->s[b->len - 1]))
        sl_buf_putc(b, ',');
}

static void key(struct sl_buf *b, const char *k) {
    comma(b);
    sl_buf_printf(b, "\"%s\":", k);
}

static bool given(const char *s) {
    return s && *s;
}

static void item_str(struct sl_buf *b, const char *s) {
    comma(b);
    sl_buf_json(b, s ? s : "");
}

static void item_int(struct sl_buf *b, int64_t v) {
    comma(b);
    sl_buf_printf(b, "%lld", (long long)v);
}

static void item_amount(struct sl_buf *b, sl_amount a) {
    if (a != SL_AMOUNT_NONE) {
        item_int(b, a);
        return;
    }
    comma(b);
    sl_buf_puts(b, "null");
}

static void item_quantity(struct sl_buf *b, sl_quantity q) {
    char text[SL_QUANTITY_TEXT];
    item_str(b, sl_quantity_format(q, text));
}

static void str(struct sl_buf *b, const char *k, const char *s) {
    if (!given(s))
        return;
    key(b, k);
    sl_buf_json(b, s);
}

static void num(struct sl_buf *b, const char *k, int64_t v) {
    if (v == 0)
        return;
    key(b, k);
    sl_buf_printf(b, "%lld", (long long)v);
}

static void flag(struct sl_buf *b, const char *k, bool v) {
    if (!v)
        return;
    key(b, k);
    sl_buf_puts(b, "true");
}

/* Words are written even for the first value: a reader should not have to know which it is. */
static void word(struct sl_buf *b, const char *k, enum sl_vocab vocab, int v) {
    str(b, k, sl_word(vocab, v));
}

static void open_list(struct sl_buf *b) {
    comma(b);
    sl_buf_putc(b, '[');
}

static void close_list(struct sl_buf *b) {
    sl_buf_putc(b, ']');
}

static void strs(struct sl_buf *b, const char *const *v, uint32_t n) {
    open_list(b);
    for (uint32_t i = 0; i < n; i++)
        item_str(b, v[i]);
    close_list(b);
}

/* ---- parts of specs ---- */

static void labels(struct sl_buf *b, const char *k, const struct sl_labels *l) {
    if (l->n == 0)
        return;
    key(b, k);
    open_list(b);
    for (uint32_t i = 0; i < l->n; i++) {
        open_list(b);
        item_str(b, l->v[i].key);
        item_str(b, l->v[i].value);
        close_list(b);
    }
    close_list(b);
}

static void rules(struct sl_buf *b, const struct sl_selector *s) {
    static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};

    open_list(b);
    for (uint32_t i = 0; i < s->n; i++) {
        open_list(b);
        item_str(b, s->v[i].key);
        item_str(b, ops[s->v[i].op]);
        strs(b, s->v[i].values, s->v[i].n_values);
        close_list(b);
    }
    close_list(b);
}

static void tolerations(struct sl_buf *b, const struct sl_toleration *v, uint32_t n) {
    if (n == 0)
        return;
    key(b, "tolerations");
    open_list(b);
    for (uint32_t i = 0; i < n; i++) {
        open_list(b);
        item_str(b, v[i].key);
        item_str(b, v[i].value);
        item_str(b, v[i].exists ? "Exists" : "Equal");
        item_str(b, sl_taint_effect_name(v[i].effect));
        close_list(b);
    }
    close_list(b);
}

static void groups(struct sl_buf *b, const struct sl_groups *g) {
    if (g->n == 0)
        return;
    key(b, "groups");
    open_list(b);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sl_group_spec *x = &g->v[i];
        comma(b);
        sl_buf_putc(b, '{');
        key(b, "resources");
        strs(b, x->resources, x->n_resources);
        key(b, "flavors");
        open_list(b);
        for (uint32_t f = 0; f < x->n_flavors; f++) {
            open_list(b);
            item_str(b, x->flavors[f].flavor);
            for (uint32_t r = 0; r < x->n_resources; r++) {
                const struct sl_quota *q = &x->flavors[f].quotas[r];
                open_list(b);
                item_amount(b, q->nominal);
                item_amount(b, q->borrow_limit);
                item_amount(b, q->lend_limit);
                close_list(b);
            }
            close_list(b);
        }
        close_list(b);
        sl_buf_putc(b, '}');
    }
    close_list(b);
}

/* ---- kinds ---- */

static void config(struct sl_buf *b, const struct sl_config *c) {
    num(b, "gates", c->gates);
    flag(b, "noAdmission", c->no_admission);
    flag(b, "noLifecycle", c->no_lifecycle);
    flag(b, "fairSharing", c->fair_sharing);
    key(b, "strategies");
    open_list(b);
    for (uint32_t i = 0; i < c->n_fair; i++)
        item_str(b, sl_word(SL_VOCAB_FAIR_STRATEGY, (int)c->fair[i]));
    close_list(b);
    flag(b, "afs", c->afs);
    num(b, "afsHalfLife", c->afs_half_life);
    num(b, "afsSampling", c->afs_sampling);
    key(b, "afsWeights");
    open_list(b);
    for (uint32_t i = 0; i < c->n_afs_weights; i++) {
        open_list(b);
        item_str(b, c->afs_weights[i].resource);
        item_int(b, c->afs_weights[i].weight_nano);
        close_list(b);
    }
    close_list(b);
    flag(b, "podsReady", c->pods_ready);
    flag(b, "blockAdmission", c->block_admission);
    num(b, "readyTimeout", c->ready_timeout);
    num(b, "recoveryTimeout", c->recovery_timeout);
    flag(b, "byCreation", c->order_by_creation);
    num(b, "backoffBase", c->backoff_base_s);
    num(b, "backoffMax", c->backoff_max_s);
    num(b, "backoffLimit", c->backoff_limit);
    key(b, "excludePrefixes");
    strs(b, c->exclude_prefixes, c->n_exclude);
    key(b, "transforms");
    open_list(b);
    for (uint32_t i = 0; i < c->n_transforms; i++) {
        const struct sl_transform *t = &c->transforms[i];
        comma(b);
        sl_buf_putc(b, '{');
        str(b, "input", t->input);
        str(b, "multiplyBy", t->multiply_by);
        flag(b, "replace", t->replace);
        key(b, "outputs");
        open_list(b);
        for (uint32_t k = 0; k < t->n_outputs; k++) {
            open_list(b);
            item_str(b, t->outputs[k].resource);
            item_quantity(b, t->outputs[k].factor);
            close_list(b);
        }
        close_list(b);
        sl_buf_putc(b, '}');
    }
    close_list(b);
    flag(b, "ignoreUndeclared", c->ignore_undeclared);
}

static void flavor(struct sl_buf *b, const struct sl_flavor_spec *f) {
    str(b, "name", f->name);
    labels(b, "labels", &f->labels);
    if (f->n_taints > 0) {
        key(b, "taints");
        open_list(b);
        for (uint32_t i = 0; i < f->n_taints; i++) {
            open_list(b);
            item_str(b, f->taints[i].key);
            item_str(b, f->taints[i].value);
            item_str(b, sl_taint_effect_name(f->taints[i].effect));
            close_list(b);
        }
        close_list(b);
    }
    tolerations(b, f->tolerations, f->n_tolerations);
}

static void cluster_queue(struct sl_buf *b, const struct sl_cq_spec *q) {
    str(b, "name", q->name);
    str(b, "cohort", q->cohort);
    groups(b, &q->groups);
    word(b, "strategy", SL_VOCAB_STRATEGY, (int)q->strategy);
    word(b, "within", SL_VOCAB_WITHIN, (int)q->within);
    word(b, "reclaim", SL_VOCAB_RECLAIM, (int)q->reclaim);
    word(b, "borrowWithin", SL_VOCAB_BORROW_WITHIN, (int)q->borrow_within);
    if (q->has_borrow_threshold) {
        key(b, "threshold");
        sl_buf_printf(b, "%d", (int)q->borrow_threshold);
    }
    word(b, "whenCanBorrow", SL_VOCAB_WHEN, (int)q->when_can_borrow);
    word(b, "whenCanPreempt", SL_VOCAB_WHEN, (int)q->when_can_preempt);
    word(b, "preference", SL_VOCAB_PREFERENCE, (int)q->preference);
    word(b, "stop", SL_VOCAB_STOP, (int)q->stop);
    flag(b, "terminating", q->terminating);
    flag(b, "usageBased", q->usage_based);
    flag(b, "noNamespaces", q->namespaces.nothing);
    if (q->namespaces.n > 0) {
        key(b, "namespaces");
        rules(b, &q->namespaces);
    }
    if (q->n_checks > 0) {
        key(b, "checks");
        open_list(b);
        for (uint32_t i = 0; i < q->n_checks; i++) {
            open_list(b);
            item_str(b, q->checks[i].name);
            strs(b, q->checks[i].flavors, q->checks[i].n_flavors);
            close_list(b);
        }
        close_list(b);
    }
    num(b, "weight", q->weight_nano);
}

static void podset(struct sl_buf *b, const struct sl_podset_spec *p) {
    comma(b);
    sl_buf_putc(b, '{');
    str(b, "name", p->name);
    num(b, "count", p->count);
    num(b, "minCount", p->min_count);
    if (p->n_requests > 0) {
        key(b, "requests");
        open_list(b);
        for (uint32_t i = 0; i < p->n_requests; i++) {
            open_list(b);
            item_str(b, p->requests[i].resource);
            item_quantity(b, p->requests[i].q);
            close_list(b);
        }
        close_list(b);
    }
    labels(b, "nodeSelector", &p->node_selector);
    if (p->affinity.n > 0) {
        key(b, "affinity");
        open_list(b);
        for (uint32_t i = 0; i < p->affinity.n; i++) {
            comma(b);
            sl_buf_putc(b, '{');
            flag(b, "nothing", p->affinity.terms[i].nothing);
            key(b, "rules");
            rules(b, &p->affinity.terms[i]);
            sl_buf_putc(b, '}');
        }
        close_list(b);
    }
    tolerations(b, p->tolerations, p->n_tolerations);
    str(b, "group", p->group);
    sl_buf_putc(b, '}');
}

static void workload(struct sl_buf *b, const struct sl_workload_spec *w, const char *tag,
                     uint32_t shape) {
    str(b, "uid", w->uid);
    str(b, "jobUid", w->job_uid);
    str(b, "queue", w->queue);
    num(b, "shape", shape);
    str(b, "tag", tag);
    num(b, "priority", w->priority);
    num(b, "boost", w->boost);
    num(b, "created", w->created);
    flag(b, "inactive", w->inactive);
    str(b, "gatedBy", w->gated_by);
    flag(b, "preemptionGated", w->preemption_gated);
    str(b, "replaces", w->replaces);
    flag(b, "onHold", w->on_hold);
    num(b, "maxExec", w->max_exec_s);
    str(b, "invalid", w->invalid);
}

static void admission(struct sl_buf *b, const struct sl_fact *f) {
    str(b, "cq", f->admission.cq);
    key(b, "podsets");
    open_list(b);
    for (uint32_t i = 0; i < f->admission.n; i++) {
        const struct sl_podset_admission *p = &f->admission.podsets[i];
        open_list(b);
        item_int(b, p->count);
        for (uint32_t k = 0; k < p->n; k++) {
            open_list(b);
            item_str(b, p->resources[k]);
            item_str(b, p->flavors[k]);
            item_int(b, p->usage[k]);
            close_list(b);
        }
        close_list(b);
    }
    close_list(b);
    num(b, "reservedAt", f->admission.reserved_at);
    num(b, "admittedAt", f->admission.admitted_at);
    flag(b, "evicted", f->admission.evicted);
    word(b, "reason", SL_VOCAB_EVICT, (int)f->admission.reason);
}

/* The number of the shape; a new one gets its line first. */
static uint32_t shape_number(struct sl_fact_writer *w, const struct sl_fact_note *note,
                             struct sl_buf *out) {
    struct sl_buf *b = &w->scratch;
    uint32_t cursor;

    if (!note || note->n_podsets == 0)
        return 0;
    sl_buf_clear(b);
    sl_buf_putc(b, '[');
    for (uint32_t i = 0; i < note->n_podsets; i++)
        podset(b, &note->podsets[i]);
    sl_buf_putc(b, ']');
    if (sl_buf_full(b))
        sl_buf_fail(out);
    uint64_t hash = sl_hash_bytes(0, b->s, b->len);
    for (uint32_t i = sl_map_first(&w->by_hash, hash, &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&w->by_hash, hash, &cursor))
        if (strcmp(w->shapes.v[i], b->s) == 0)
            return i + 1;
    if (w->shapes.n == SL_FACT_MAX_SHAPES || sl_arena_full(&w->arena)) {
        sl_buf_fail(out);
        return 0;
    }
    sl_map_add(&w->by_hash, hash, w->shapes.n);
    *sl_vec_push(&w->shapes) = sl_arena_strdup(&w->arena, b->s);
    sl_buf_printf(out, "{\"shape\":%u,\"podsets\":", w->shapes.n);
    sl_buf_add(out, b->s, b->len);
    sl_buf_puts(out, "}\n");
    return w->shapes.n;
}

static bool is_gone(enum sl_fact_kind k) {
    return k >= SL_FACT_FLAVOR_GONE && k <= SL_FACT_CHECK_GONE;
}

void sl_fact_encode(struct sl_fact_writer *w, const struct sl_fact *f,
                    const struct sl_fact_note *note, struct sl_buf *out) {
    uint32_t shape = f->kind == SL_FACT_WORKLOAD ? shape_number(w, note, out) : 0;

    sl_buf_printf(out, "{\"at\":%lld,\"fact\":\"%s\"", (long long)f->at, sl_fact_name(f->kind));
    if (is_gone(f->kind)) {
        str(out, "ns", f->gone.ns);
        str(out, "name", f->gone.name);
    } else if (f->kind == SL_FACT_WORKLOAD) {
        str(out, "ns", f->workload.ns);
        str(out, "name", f->workload.name);
    } else if (f->kind > SL_FACT_WORKLOAD && note) {
        str(out, "ns", note->ns);
        str(out, "name", note->name);
    }
    switch (f->kind) {
    case SL_FACT_CONFIG:
        config(out, &f->config);
        break;
    case SL_FACT_FLAVOR:
        flavor(out, &f->flavor);
        break;
    case SL_FACT_COHORT:
        str(out, "name", f->cohort.name);
        str(out, "parent", f->cohort.parent);
        groups(out, &f->cohort.groups);
        num(out, "weight", f->cohort.weight_nano);
        break;
    case SL_FACT_CLUSTER_QUEUE:
        cluster_queue(out, &f->cq);
        break;
    case SL_FACT_LOCAL_QUEUE:
        str(out, "ns", f->lq.ns);
        str(out, "name", f->lq.name);
        str(out, "cq", f->lq.cq);
        word(out, "stop", SL_VOCAB_STOP, (int)f->lq.stop);
        num(out, "weight", f->lq.weight_nano);
        break;
    case SL_FACT_NAMESPACE:
        str(out, "name", f->ns.name);
        labels(out, "labels", &f->ns.labels);
        break;
    case SL_FACT_CHECK:
        str(out, "name", f->check.name);
        str(out, "controller", f->check.controller);
        flag(out, "active", f->check.active);
        break;
    case SL_FACT_WORKLOAD:
        workload(out, &f->workload, note ? note->tag : NULL, shape);
        break;
    case SL_FACT_ADMISSION:
        admission(out, f);
        break;
    case SL_FACT_PODS_READY:
        flag(out, "ready", f->ready);
        break;
    case SL_FACT_CHECK_STATE:
        str(out, "check", f->check_state.name);
        word(out, "state", SL_VOCAB_CHECK_STATE, (int)f->check_state.state);
        str(out, "message", f->check_state.message);
        num(out, "requeueAfter", f->check_state.requeue_after_s);
        break;
    case SL_FACT_RELEASED:
        flag(out, "told", f->told);
        break;
    case SL_FACT_PAST:
        num(out, "requeues", f->past.requeues);
        num(out, "requeueAt", f->past.requeue_at);
        word(out, "reason", SL_VOCAB_EVICT, (int)f->past.reason);
        word(out, "cause", SL_VOCAB_CAUSE, (int)f->past.cause);
        num(out, "evictedAt", f->past.evicted_at);
        str(out, "text", f->past.text);
        flag(out, "heldBack", f->past.held_back);
        num(out, "pastExec", f->past.past_exec_s);
        break;
    case SL_FACT_RECLAIMABLE:
        key(out, "counts");
        open_list(out);
        for (uint32_t i = 0; i < f->reclaimable.n; i++)
            item_int(out, f->reclaimable.counts[i]);
        close_list(out);
        break;
    case SL_FACT_FLAVOR_GONE:
    case SL_FACT_COHORT_GONE:
    case SL_FACT_CLUSTER_QUEUE_GONE:
    case SL_FACT_LOCAL_QUEUE_GONE:
    case SL_FACT_NAMESPACE_GONE:
    case SL_FACT_CHECK_GONE:
    case SL_FACT_WORKLOAD_GONE:
    case SL_FACT_FINISHED:
    case SL_FACT_ADMIT_FAILED:
    case SL_FACT_COUNT:
        break;
    }
    sl_buf_puts(out, "}\n");
}
