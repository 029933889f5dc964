/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts to JSON. What is false, 0, "" or empty is left out.
 */
#include "cmd/sim/facts/facts.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/writer.h"

#define MAX_SHAPE_BYTES ((size_t)16 << 20) /* of the text of one shape */
#define MAX_TEXT_BYTES ((size_t)4 << 30)   /* of all of them */

void sl_sim_fact_writer_init(struct sl_sim_fact_writer *w) {
    *w = (struct sl_sim_fact_writer){0};
    sl_arena_init(&w->arena, MAX_TEXT_BYTES);
    sl_buf_init(&w->scratch, MAX_SHAPE_BYTES);
}

void sl_sim_fact_writer_done(struct sl_sim_fact_writer *w) {
    sl_map_done(&w->by_hash);
    sl_vec_free(&w->shapes);
    sl_arena_done(&w->arena);
    sl_buf_done(&w->scratch);
}

/* ---- pieces ---- */

static bool has_text(const char *s) {
    return s && *s;
}

static void item_str(struct sl_jw *j, const char *s) {
    sl_jw_str(j, NULL, s ? s : "");
}

static void item_amount(struct sl_jw *j, sl_amount a) {
    if (a != SL_AMOUNT_NONE)
        sl_jw_int(j, NULL, a);
    else
        sl_jw_null(j, NULL);
}

static void item_quantity(struct sl_jw *j, sl_quantity q) {
    char text[SL_QUANTITY_TEXT];
    sl_jw_str(j, NULL, sl_quantity_format(q, text));
}

static void str(struct sl_jw *j, const char *k, const char *s) {
    if (has_text(s))
        sl_jw_str(j, k, s);
}

static void num(struct sl_jw *j, const char *k, int64_t v) {
    if (v != 0)
        sl_jw_int(j, k, v);
}

static void flag(struct sl_jw *j, const char *k, bool v) {
    if (v)
        sl_jw_bool(j, k, true);
}

/* The name is written even for the first value: a reader should not have to know the default. */
static void put_word(struct sl_jw *j, const char *k, enum sl_vocab vocab, int v) {
    str(j, k, sl_word(vocab, v));
}

static void strs(struct sl_jw *j, const char *k, const char *const *v, uint32_t n) {
    sl_jw_array(j, k);
    for (uint32_t i = 0; i < n; i++)
        item_str(j, v[i]);
    sl_jw_end(j);
}

/* ---- parts of specs ---- */

static void labels(struct sl_jw *j, const char *k, const struct sl_labels *l) {
    if (l->n == 0)
        return;
    sl_jw_array(j, k);
    for (uint32_t i = 0; i < l->n; i++) {
        sl_jw_array(j, NULL);
        item_str(j, l->v[i].key);
        item_str(j, l->v[i].value);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void rules(struct sl_jw *j, const char *k, const struct sl_selector *s) {
    sl_jw_array(j, k);
    for (uint32_t i = 0; i < s->n; i++) {
        sl_jw_array(j, NULL);
        item_str(j, s->v[i].key);
        item_str(j, sl_label_op_words[s->v[i].op]);
        strs(j, NULL, s->v[i].values, s->v[i].n_values);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void tolerations(struct sl_jw *j, const struct sl_toleration *v, uint32_t n) {
    if (n == 0)
        return;
    sl_jw_array(j, "tolerations");
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_array(j, NULL);
        item_str(j, v[i].key);
        item_str(j, v[i].value);
        item_str(j, v[i].exists ? "Exists" : "Equal");
        item_str(j, sl_taint_effect_name(v[i].effect));
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void groups(struct sl_jw *j, const struct sl_groups *g) {
    if (g->n == 0)
        return;
    sl_jw_array(j, "groups");
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sl_group_spec *x = &g->v[i];
        sl_jw_object(j, NULL);
        strs(j, "resources", x->resources, x->n_resources);
        sl_jw_array(j, "flavors");
        for (uint32_t f = 0; f < x->n_flavors; f++) {
            sl_jw_array(j, NULL);
            item_str(j, x->flavors[f].flavor);
            for (uint32_t r = 0; r < x->n_resources; r++) {
                const struct sl_quota *q = &x->flavors[f].quotas[r];
                sl_jw_array(j, NULL);
                item_amount(j, q->nominal);
                item_amount(j, q->borrow_limit);
                item_amount(j, q->lend_limit);
                sl_jw_end(j);
            }
            sl_jw_end(j);
        }
        sl_jw_end(j);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

/* ---- kinds ---- */

static void config(struct sl_jw *j, const struct sl_config *c) {
    num(j, "gates", c->gates);
    flag(j, "noAdmission", c->no_admission);
    flag(j, "noLifecycle", c->no_lifecycle);
    flag(j, "fairSharing", c->fair_sharing);
    sl_jw_array(j, "strategies");
    for (uint32_t i = 0; i < c->n_fair; i++)
        item_str(j, sl_word(SL_VOCAB_FAIR_STRATEGY, (int)c->fair[i]));
    sl_jw_end(j);
    flag(j, "afs", c->afs);
    num(j, "afsHalfLife", c->afs_half_life);
    num(j, "afsSampling", c->afs_sampling);
    sl_jw_array(j, "afsWeights");
    for (uint32_t i = 0; i < c->n_afs_weights; i++) {
        sl_jw_array(j, NULL);
        item_str(j, c->afs_weights[i].resource);
        sl_jw_int(j, NULL, c->afs_weights[i].weight_nano);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    flag(j, "podsReady", c->pods_ready);
    flag(j, "blockAdmission", c->block_admission);
    num(j, "readyTimeout", c->ready_timeout);
    num(j, "recoveryTimeout", c->recovery_timeout);
    flag(j, "byCreation", c->order_by_creation);
    num(j, "backoffBase", c->backoff_base_s);
    num(j, "backoffMax", c->backoff_max_s);
    num(j, "backoffLimit", c->backoff_limit);
    strs(j, "excludePrefixes", c->exclude_prefixes, c->n_exclude);
    sl_jw_array(j, "transforms");
    for (uint32_t i = 0; i < c->n_transforms; i++) {
        const struct sl_transform *t = &c->transforms[i];
        sl_jw_object(j, NULL);
        str(j, "input", t->input);
        str(j, "multiplyBy", t->multiply_by);
        flag(j, "replace", t->replace);
        sl_jw_array(j, "outputs");
        for (uint32_t k = 0; k < t->n_outputs; k++) {
            sl_jw_array(j, NULL);
            item_str(j, t->outputs[k].resource);
            item_quantity(j, t->outputs[k].factor);
            sl_jw_end(j);
        }
        sl_jw_end(j);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    flag(j, "ignoreUndeclared", c->ignore_undeclared);
}

static void flavor(struct sl_jw *j, const struct sl_flavor_spec *f) {
    str(j, "name", f->name);
    labels(j, "labels", &f->labels);
    if (f->n_taints > 0) {
        sl_jw_array(j, "taints");
        for (uint32_t i = 0; i < f->n_taints; i++) {
            sl_jw_array(j, NULL);
            item_str(j, f->taints[i].key);
            item_str(j, f->taints[i].value);
            item_str(j, sl_taint_effect_name(f->taints[i].effect));
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    tolerations(j, f->tolerations, f->n_tolerations);
}

static void cluster_queue(struct sl_jw *j, const struct sl_cq_spec *q) {
    str(j, "name", q->name);
    str(j, "cohort", q->cohort);
    groups(j, &q->groups);
    put_word(j, "strategy", SL_VOCAB_STRATEGY, (int)q->strategy);
    put_word(j, "within", SL_VOCAB_WITHIN, (int)q->within);
    put_word(j, "reclaim", SL_VOCAB_RECLAIM, (int)q->reclaim);
    put_word(j, "borrowWithin", SL_VOCAB_BORROW_WITHIN, (int)q->borrow_within);
    if (q->has_borrow_threshold) {
        sl_jw_int(j, "threshold", q->borrow_threshold);
    }
    put_word(j, "whenCanBorrow", SL_VOCAB_WHEN, (int)q->when_can_borrow);
    put_word(j, "whenCanPreempt", SL_VOCAB_WHEN, (int)q->when_can_preempt);
    put_word(j, "preference", SL_VOCAB_PREFERENCE, (int)q->preference);
    put_word(j, "stop", SL_VOCAB_STOP, (int)q->stop);
    flag(j, "terminating", q->terminating);
    flag(j, "usageBased", q->usage_based);
    flag(j, "exactNodes", q->exact_nodes);
    flag(j, "noNamespaces", q->namespaces.nothing);
    if (q->namespaces.n > 0) {
        rules(j, "namespaces", &q->namespaces);
    }
    if (q->n_checks > 0) {
        sl_jw_array(j, "checks");
        for (uint32_t i = 0; i < q->n_checks; i++) {
            sl_jw_array(j, NULL);
            item_str(j, q->checks[i].name);
            strs(j, NULL, q->checks[i].flavors, q->checks[i].n_flavors);
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    num(j, "weight", q->weight_nano);
}

static void podset(struct sl_jw *j, const struct sl_podset_spec *p) {
    sl_jw_object(j, NULL);
    str(j, "name", p->name);
    num(j, "count", p->count);
    num(j, "minCount", p->min_count);
    if (p->n_requests > 0) {
        sl_jw_array(j, "requests");
        for (uint32_t i = 0; i < p->n_requests; i++) {
            sl_jw_array(j, NULL);
            item_str(j, p->requests[i].resource);
            item_quantity(j, p->requests[i].q);
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    labels(j, "nodeSelector", &p->node_selector);
    if (p->affinity.n > 0) {
        sl_jw_array(j, "affinity");
        for (uint32_t i = 0; i < p->affinity.n; i++) {
            sl_jw_object(j, NULL);
            flag(j, "nothing", p->affinity.terms[i].nothing);
            rules(j, "rules", &p->affinity.terms[i]);
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    tolerations(j, p->tolerations, p->n_tolerations);
    str(j, "group", p->group);
    sl_jw_end(j);
}

static void workload(struct sl_jw *j, const struct sl_workload_spec *w, const char *tag,
                     uint32_t shape) {
    str(j, "uid", w->uid);
    str(j, "jobUid", w->job_uid);
    str(j, "queue", w->queue);
    num(j, "shape", shape);
    str(j, "tag", tag);
    num(j, "priority", w->priority);
    num(j, "boost", w->boost);
    num(j, "created", w->created);
    flag(j, "inactive", w->inactive);
    str(j, "gatedBy", w->gated_by);
    flag(j, "preemptionGated", w->preemption_gated);
    str(j, "replaces", w->replaces);
    flag(j, "onHold", w->on_hold);
    num(j, "maxExec", w->max_exec_s);
    str(j, "invalid", w->invalid);
}

static void admission(struct sl_jw *j, const struct sl_fact *f) {
    str(j, "cq", f->admission.cq);
    sl_jw_array(j, "podsets");
    for (uint32_t i = 0; i < f->admission.n; i++) {
        const struct sl_podset_admission *p = &f->admission.podsets[i];
        sl_jw_array(j, NULL);
        sl_jw_int(j, NULL, p->count);
        for (uint32_t k = 0; k < p->n; k++) {
            sl_jw_array(j, NULL);
            item_str(j, p->resources[k]);
            item_str(j, p->flavors[k]);
            sl_jw_int(j, NULL, p->usage[k]);
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    sl_jw_end(j);
    num(j, "reservedAt", f->admission.reserved_at);
    num(j, "admittedAt", f->admission.admitted_at);
    flag(j, "evicted", f->admission.evicted);
    put_word(j, "reason", SL_VOCAB_EVICT, (int)f->admission.reason);
}

/* The number of the shape; a new one gets its line first. */
static uint32_t shape_number(struct sl_sim_fact_writer *w, const struct sl_sim_fact_note *note,
                             struct sl_buf *out) {
    struct sl_buf *b = &w->scratch;
    uint32_t cursor;

    if (!note || note->n_podsets == 0)
        return 0;
    sl_buf_clear(b);
    struct sl_jw j = SL_JW(b), line = SL_JW(out);
    sl_jw_array(&j, NULL);
    for (uint32_t i = 0; i < note->n_podsets; i++)
        podset(&j, &note->podsets[i]);
    sl_jw_end(&j);
    if (sl_buf_full(b))
        sl_buf_fail(out);
    uint64_t hash = sl_hash_bytes(0, b->s, b->len);
    for (uint32_t i = sl_map_first(&w->by_hash, hash, &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&w->by_hash, hash, &cursor))
        if (strcmp(w->shapes.v[i], b->s) == 0)
            return i + 1;
    if (w->shapes.n == SL_SIM_FACT_MAX_SHAPES || sl_arena_full(&w->arena)) {
        sl_buf_fail(out);
        return 0;
    }
    sl_map_add(&w->by_hash, hash, w->shapes.n);
    *sl_vec_push(&w->shapes) = sl_arena_strdup(&w->arena, b->s);
    sl_jw_object(&line, NULL);
    sl_jw_uint(&line, "shape", w->shapes.n);
    sl_jw_raw_n(&line, "podsets", b->s, b->len);
    sl_jw_end(&line);
    sl_buf_putc(out, '\n');
    return w->shapes.n;
}

static bool is_gone(enum sl_fact_kind k) {
    return k >= SL_FACT_FLAVOR_GONE && k <= SL_FACT_CHECK_GONE;
}

void sl_sim_fact_encode(struct sl_sim_fact_writer *w, const struct sl_fact *f,
                        const struct sl_sim_fact_note *note, struct sl_buf *out) {
    uint32_t shape = f->kind == SL_FACT_WORKLOAD ? shape_number(w, note, out) : 0;
    struct sl_jw *j = &SL_JW(out);

    sl_jw_object(j, NULL);
    sl_jw_int(j, "at", f->at);
    sl_jw_str(j, "fact", sl_fact_name(f->kind));
    if (is_gone(f->kind)) {
        str(j, "ns", f->gone.ns);
        str(j, "name", f->gone.name);
    } else if (f->kind == SL_FACT_WORKLOAD) {
        str(j, "ns", f->workload.ns);
        str(j, "name", f->workload.name);
    } else if (f->kind > SL_FACT_WORKLOAD && note) {
        str(j, "ns", note->ns);
        str(j, "name", note->name);
    }
    switch (f->kind) {
    case SL_FACT_CONFIG:
        config(j, &f->config);
        break;
    case SL_FACT_FLAVOR:
        flavor(j, &f->flavor);
        break;
    case SL_FACT_COHORT:
        str(j, "name", f->cohort.name);
        str(j, "parent", f->cohort.parent);
        groups(j, &f->cohort.groups);
        num(j, "weight", f->cohort.weight_nano);
        break;
    case SL_FACT_CLUSTER_QUEUE:
        cluster_queue(j, &f->cq);
        break;
    case SL_FACT_LOCAL_QUEUE:
        str(j, "ns", f->lq.ns);
        str(j, "name", f->lq.name);
        str(j, "cq", f->lq.cq);
        put_word(j, "stop", SL_VOCAB_STOP, (int)f->lq.stop);
        num(j, "weight", f->lq.weight_nano);
        break;
    case SL_FACT_NAMESPACE:
        str(j, "name", f->ns.name);
        labels(j, "labels", &f->ns.labels);
        break;
    case SL_FACT_CHECK:
        str(j, "name", f->check.name);
        str(j, "controller", f->check.controller);
        flag(j, "active", f->check.active);
        break;
    case SL_FACT_WORKLOAD:
        workload(j, &f->workload, note ? note->tag : NULL, shape);
        break;
    case SL_FACT_ADMISSION:
        admission(j, f);
        break;
    case SL_FACT_PODS_READY:
        flag(j, "ready", f->ready);
        break;
    case SL_FACT_CHECK_STATE:
        str(j, "check", f->check_state.name);
        put_word(j, "state", SL_VOCAB_CHECK_STATE, (int)f->check_state.state);
        str(j, "message", f->check_state.message);
        num(j, "requeueAfter", f->check_state.requeue_after_s);
        break;
    case SL_FACT_RELEASED:
        flag(j, "told", f->already_written);
        break;
    case SL_FACT_PAST:
        num(j, "requeues", f->past.requeues);
        num(j, "requeueAt", f->past.requeue_at);
        put_word(j, "reason", SL_VOCAB_EVICT, (int)f->past.reason);
        put_word(j, "cause", SL_VOCAB_CAUSE, (int)f->past.cause);
        num(j, "evictedAt", f->past.evicted_at);
        str(j, "text", f->past.text);
        flag(j, "heldBack", f->past.held_back);
        num(j, "pastExec", f->past.past_exec_s);
        break;
    case SL_FACT_RECLAIMABLE:
        sl_jw_array(j, "counts");
        for (uint32_t i = 0; i < f->reclaimable.n; i++)
            sl_jw_int(j, NULL, f->reclaimable.counts[i]);
        sl_jw_end(j);
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
    sl_jw_end(j);
    sl_buf_putc(out, '\n');
}
