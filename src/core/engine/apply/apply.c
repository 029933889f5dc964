/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about workloads, and the table of functions by kind of fact. A fact only updates the state;
 * its consequences are decided by the next cycle.
 */
#include "core/engine/apply/apply.h"

#include <string.h>

#define MAX_WORKLOADS (UINT32_C(1) << 26)

int eng_check_name(const char *kind, const char *name, struct sl_err *err) {
    if (!name || !*name)
        return sl_err_set(err, SL_EINVAL, "a %s needs a name", kind);
    if (strnlen(name, SL_MAX_NAME + 1) > SL_MAX_NAME)
        return sl_err_set(err, SL_EINVAL, "%s: a name has at most %d characters", kind,
                          SL_MAX_NAME);
    return SL_OK;
}

/* ---- finding ---- */

static uint64_t wl_hash(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

uint32_t eng_wl_lookup(const struct sl_engine *e, sl_sym ns, const char *name) {
    uint32_t c;
    uint64_t h = wl_hash(ns, name);
    for (uint32_t i = sl_map_first(&e->wl_map, h, &c); i != SL_MAP_NONE;
         i = sl_map_next(&e->wl_map, h, &c))
        if (e->wls.v[i].ns == ns && strcmp(eng_wl_name(&e->wls.v[i]), name) == 0)
            return i;
    return ENG_NONE;
}

sl_wl_id sl_engine_find(const struct sl_engine *e, const char *ns, const char *name) {
    sl_sym y = sl_sym_find(&e->syms, ns);
    uint32_t i = y == SL_MAP_NONE ? ENG_NONE : eng_wl_lookup(e, y, name);
    return i == ENG_NONE ? SL_WL_NONE : eng_wl_id(e, i);
}

uint32_t eng_wl_resolve(const struct sl_engine *e, sl_wl_id id) {
    uint32_t i = (uint32_t)id.v - 1;
    if (!(uint32_t)id.v || i >= e->wls.n || e->wls.v[i].phase == WL_FREE ||
        e->wls.v[i].gen != id.v >> 32)
        return ENG_NONE;
    return i;
}

/* ---- a workload and its spec ---- */

static struct eng_tree *tree_of(struct sl_engine *e, const struct eng_wl *w) {
    uint32_t cq = w->admission ? w->admission->cq : e->lqs.v[w->lq].cq;
    if (cq == ENG_NONE || eng_cq_node(e, &e->cqs.v[cq])->tree == ENG_NONE)
        return NULL; /* a tree that is not built yet has no memos and no sleeping classes */
    return eng_cq_tree(e, &e->cqs.v[cq]);
}

/* An external change in the workload's tree: sleeping classes may be evaluated, preemption starts
 * anew. */
static void outside_event(struct sl_engine *e, const struct eng_wl *w, bool ask_sleepers) {
    struct eng_tree *t = tree_of(e, w);
    if (!t)
        return;
    eng_tree_epoch(e, t);
    if (!ask_sleepers)
        return;
    t->freed = true;
    t->version++;
    eng_tree_mark_dirty(e, t);
}

static uint64_t uid_prefix(const char *uid) {
    uint64_t v = 0;
    size_t n = strnlen(uid, 8);
    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < n ? (uint8_t)uid[i] : 0);
    return v;
}

static int check_workload(const struct sl_engine *e, const struct sl_workload_spec *s,
                          struct sl_err *err) {
    int r = eng_check_name("workload", s->name, err);
    if (r < 0)
        return r;
    r = eng_check_name("workload's namespace", s->ns, err);
    if (r < 0)
        return r;
    if (s->queue && strnlen(s->queue, SL_MAX_NAME + 1) > SL_MAX_NAME)
        return sl_err_set(err, SL_EINVAL, "workload %s: queue name too long", s->name);
    if ((s->uid && strnlen(s->uid, SL_MAX_NAME + 1) > SL_MAX_NAME) ||
        (s->job_uid && strnlen(s->job_uid, SL_MAX_NAME + 1) > SL_MAX_NAME))
        return sl_err_set(err, SL_EINVAL, "workload %s: uid too long", s->name);
    if (!s->shape.v || s->shape.v > e->shapes.n || !e->shapes.v[s->shape.v - 1].used)
        return sl_err_set(err, SL_EINVAL, "workload %s: unknown shape", s->name);
    if (s->replaces && strnlen(s->replaces, SL_MAX_NAME + 1) > SL_MAX_NAME)
        return sl_err_set(err, SL_EINVAL, "workload %s: name of the slice it replaces too long",
                          s->name);
    if (s->max_exec_s < 0)
        return sl_err_set(err, SL_EINVAL,
                          "workload %s: maximum execution time must not be negative", s->name);
    return SL_OK;
}

static void set_flags(struct sl_engine *e, uint32_t i, const struct sl_workload_spec *s) {
    struct eng_wl *w = &e->wls.v[i];
    w->inactive = s->inactive;
    w->on_hold = s->on_hold;
    w->gated = s->gated_by && *s->gated_by;
    w->spares = s->preemption_gated;
    if (w->gated || s->max_exec_s || (s->invalid && *s->invalid) || (s->replaces && *s->replaces))
        (void)eng_wl_extra(e, i);
    struct eng_wl_extra *m = w->extra;
    if (!m)
        return;
    m->max_exec_s = s->max_exec_s;
    if (w->gated) { /* kept after the gate is lifted until that has been reported */
        sl_freep(&m->gate);
        m->gate = sl_strdup(s->gated_by);
    }
    sl_freep(&m->invalid);
    if (s->invalid && *s->invalid)
        m->invalid = sl_strdup(s->invalid);
    sl_freep(&m->replaces);
    if (s->replaces && *s->replaces)
        m->replaces = sl_strdup(s->replaces);
}

static bool needs_evaluation(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_lq *l = &e->lqs.v[w->lq];
    return w->gated || !l->live || !e->cqs.v[l->cq].active || e->cqs.v[l->cq].checks.n || w->extra;
}

static uint32_t wl_create(struct sl_engine *e, const struct sl_workload_spec *s, sl_sym ns) {
    uint32_t i = e->free_wls.n ? sl_vec_pop(&e->free_wls) : e->wls.n;
    if (i == e->wls.n)
        *sl_vec_push(&e->wls) = (struct eng_wl){.gen = 1};
    struct eng_wl *w = &e->wls.v[i];
    const char *uid = s->uid ? s->uid : "", *job = s->job_uid ? s->job_uid : "";
    size_t name_len = strlen(s->name) + 1, uid_len = strlen(uid) + 1, job_len = strlen(job) + 1;
    char *text = sl_alloc(name_len + uid_len + job_len);
    memcpy(text, s->name, name_len);
    memcpy(text + name_len, uid, uid_len);
    memcpy(text + name_len + uid_len, job, job_len);
    *w = (struct eng_wl){.gen = w->gen,
                         .due = w->due,
                         .phase = WL_OUTSIDE,
                         .shape = s->shape.v - 1,
                         .lq = eng_lq_get(e, ns, sl_sym_put(&e->syms, s->queue)),
                         .class = ENG_NONE,
                         .priority = s->priority,
                         .boost = s->boost,
                         .ns = ns,
                         .created = s->created,
                         .tie = uid_prefix(uid),
                         .text = text,
                         .uid_off = (uint16_t)name_len,
                         .job_uid_off = (uint16_t)(name_len + uid_len)};
    eng_shape_ref(e, w->shape);
    e->lqs.v[w->lq].n_refs++;
    sl_map_add(&e->wl_map, wl_hash(ns, s->name), i);
    set_flags(e, i, s);
    return i;
}

static void move_shape(struct sl_engine *e, uint32_t i, uint32_t shape) {
    struct eng_wl *w = &e->wls.v[i];
    eng_shape_ref(e, shape);
    eng_shape_unref(e, w->shape);
    w->shape = shape;
}

static bool same_podset_names(const struct eng_shape *a, const struct eng_shape *b) {
    bool same = a->n == b->n;
    for (uint32_t p = 0; same && p < a->n; p++)
        same = strcmp(a->podsets[p].name, b->podsets[p].name) == 0;
    return same;
}

/* The shape of these podsets without the pods that are no longer needed. Returns a reference. */
static int shape_without(struct sl_engine *e, uint32_t full, const int32_t *gone, uint32_t *ret,
                         struct sl_err *err) {
    struct sl_podset_spec v[SL_MAX_PODSETS];
    uint32_t n = e->shapes.v[full].n;
    for (uint32_t k = 0; k < n; k++) {
        v[k] = *e->shapes.v[full].podsets[k].raw;
        v[k].count -= gone[k] < 0 ? 0 : gone[k] > v[k].count ? v[k].count : gone[k];
        if (v[k].min_count > v[k].count)
            v[k].min_count = v[k].count;
    }
    return eng_shape_intern(e, v, n, ret, err);
}

/* The requests of a workload change while it holds quota: it keeps its flavors, holds no more pods
 * than it requests now, and requests the new ones should it be requeued. */
static void wl_rescale(struct sl_engine *e, uint32_t i, uint32_t full, uint32_t shape) {
    struct eng_wl *w = &e->wls.v[i];
    struct eng_wl_extra *m = w->extra;
    if (shape == full || !same_podset_names(&e->shapes.v[full], &e->shapes.v[shape]))
        return;
    eng_refresh(e);
    outside_event(e, w, true);
    if (m && m->full_shape != ENG_NONE) {
        int32_t gone[SL_MAX_PODSETS];
        uint32_t left;
        /* Fewer are requested: the pods that still run count, of those that ended fewer do. */
        for (uint32_t p = 0; p < e->shapes.v[full].n; p++) {
            int32_t was = e->shapes.v[full].podsets[p].count;
            int32_t fewer = was - e->shapes.v[shape].podsets[p].count;
            gone[p] = was - e->shapes.v[w->shape].podsets[p].count;
            gone[p] -= fewer < 0 ? 0 : fewer < gone[p] ? fewer : gone[p];
        }
        sl_assert(shape_without(e, shape, gone, &left, NULL) == SL_OK); /* fewer of the same */
        eng_shape_ref(e, shape);
        eng_shape_unref(e, full);
        m->full_shape = shape;
        move_shape(e, i, left);
        eng_shape_unref(e, left);
    } else {
        move_shape(e, i, shape);
    }
    eng_wl_shrink(e, i);
}

static void wl_update(struct sl_engine *e, uint32_t i, const struct sl_workload_spec *s) {
    struct eng_wl *w = &e->wls.v[i];
    if (w->phase == WL_FINISHED)
        return;
    bool holds = eng_wl_holds_quota(w), was_eligible = eng_wl_eligible(w);
    bool waiting = w->phase == WL_WAITING || w->phase == WL_PARKED, sticky = eng_wl_sticky(e, i);
    int64_t before = eng_wl_priority(e, w);
    uint32_t lq = eng_lq_get(e, w->ns, sl_sym_put(&e->syms, s->queue));
    uint32_t shape = s->shape.v - 1;
    uint32_t full = w->extra && w->extra->full_shape != ENG_NONE ? w->extra->full_shape : w->shape;
    bool moved = !holds && (lq != w->lq || shape != full);
    struct eng_wl after = *w;
    after.priority = s->priority;
    after.boost = s->boost;
    bool priority = eng_wl_priority(e, &after) != before; /* a boost counts only with its gate */
    bool ended = s->inactive && !w->inactive;
    bool regrouped = s->preemption_gated != w->spares ||
                     strcmp(w->extra && w->extra->replaces ? w->extra->replaces : "",
                            s->replaces ? s->replaces : "") != 0 ||
                     (e->plans_later && s->max_exec_s != (w->extra ? w->extra->max_exec_s : 0));
    bool flags = s->inactive != w->inactive || s->on_hold != w->on_hold || regrouped ||
                 (s->gated_by && *s->gated_by) != w->gated;
    set_flags(e, i, s);
    if (holds)
        wl_rescale(e, i, full, shape);
    if (moved || priority || flags) {
        outside_event(e, w, (holds && priority) || ended);
        if (w->extra) {
            sl_vec_clear(&w->extra->resume);
            w->extra->until_event = false;
            if (waiting) { /* before 'alone' changes, which decides in which line it is found */
                eng_wl_dequeue(e, i);
                w->extra->alone = false;
            }
        }
    }
    if (waiting && (moved || priority || regrouped || !eng_wl_eligible(w)))
        eng_wl_dequeue(e, i);
    w->priority = s->priority;
    w->boost = s->boost;
    if (holds && priority) {
        struct eng_cq *q = &e->cqs.v[w->admission->cq];
        eng_prio_add(q, before, -1);
        eng_prio_add(q, eng_wl_priority(e, w), 1);
        q->alloc_gen++;
    }
    if (moved) {
        uint32_t old = w->lq;
        e->lqs.v[lq].n_refs++;
        w->lq = lq;
        e->lqs.v[old].n_refs--;
        if (shape != full) {
            move_shape(e, i, shape);
            if (w->extra && w->extra->full_shape != ENG_NONE) {
                eng_shape_unref(e, w->extra->full_shape);
                w->extra->full_shape = ENG_NONE;
            }
        }
        eng_lq_drop_if_unused(e, old);
    } else {
        eng_lq_drop_if_unused(e, lq);
    }
    if (w->phase == WL_OUTSIDE && eng_wl_eligible(w))
        eng_wl_enqueue_again(e, i, sticky && !moved);
    if (flags || moved || !was_eligible || needs_evaluation(e, w))
        eng_wl_due(e, i);
    if (holds)
        eng_wl_timer(e, i);
}

static int apply_workload(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    const struct sl_workload_spec *s = &f->workload;
    int r = check_workload(e, s, err);
    if (r < 0)
        return r;
    sl_sym ns = sl_sym_put(&e->syms, s->ns);
    uint32_t i = eng_wl_lookup(e, ns, s->name);
    if (i != ENG_NONE && s->uid && *s->uid && strcmp(eng_wl_uid(&e->wls.v[i]), s->uid) != 0)
        return sl_err_set(err, SL_ESTALE, "workload %s/%s exists with another uid", s->ns, s->name);
    if (i != ENG_NONE) {
        wl_update(e, i, s);
        return SL_OK;
    }
    if (e->wls.n - e->free_wls.n >= MAX_WORKLOADS)
        return sl_err_set(err, SL_ELIMIT, "more than %u workloads", MAX_WORKLOADS);
    i = wl_create(e, s, ns);
    struct eng_wl *w = &e->wls.v[i];
    outside_event(e, w, false);
    if (eng_wl_eligible(w))
        eng_wl_enqueue(e, i);
    if (needs_evaluation(e, &e->wls.v[i]))
        eng_wl_due(e, i);
    return SL_OK;
}

/* ---- facts about one known workload ---- */

static int apply_wl_gone(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    uint32_t slice = eng_slice_taken(e, i);
    outside_event(e, w, true);
    sl_map_del(&e->wl_map, wl_hash(w->ns, eng_wl_name(w)), i);
    eng_wl_destroy(e, i);
    eng_slice_return(e, slice);
    return SL_OK;
}

static int apply_finished(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    eng_slice_ended(e, i);
    if (w->phase == WL_FINISHED)
        return SL_OK;
    outside_event(e, w, true);
    if (eng_wl_holds_quota(w))
        eng_wl_release_quota(e, i);
    eng_wl_dequeue(e, i);
    w->phase = WL_FINISHED;
    if (w->extra)
        sl_heap_remove(&e->timers, i);
    return SL_OK;
}

static int apply_released(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    if (!eng_wl_holds_quota(&e->wls.v[i]))
        return SL_OK;
    uint32_t slice = eng_slice_taken(e, i);
    eng_wl_released(e, i);
    eng_slice_return(e, slice);
    if (f->already_written && e->wls.v[i].extra)
        e->wls.v[i].extra->released = false;
    return SL_OK;
}

static int apply_admit_failed(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    if (!eng_wl_holds_quota(w))
        return SL_OK;
    outside_event(e, w, false);
    struct eng_tree *t = tree_of(e, w);
    bool freed = t->freed;
    uint32_t slice = eng_slice_taken(e, i);
    eng_wl_release_quota(e, i);
    t->freed = freed; /* a failed write wakes no other */
    eng_slice_return(e, slice);
    if (eng_wl_eligible(w))
        eng_wl_enqueue(e, i);
    if (w->phase == WL_WAITING && e->lqs.v[w->lq].live)
        eng_class_wake(e, w->class); /* but this one is tried again at once */
    return SL_OK;
}

static int apply_ready(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    if (!eng_wl_holds_quota(w))
        return SL_OK;
    struct eng_wl_extra *m = eng_wl_extra(e, i);
    if (m->ready == f->ready)
        return SL_OK;
    e->n_not_ready += f->ready ? UINT32_MAX : 1;
    m->ready = f->ready;
    if (f->ready)
        m->was_ready = true;
    else
        m->unready_at = f->at;
    eng_wl_timer(e, i);
    return SL_OK;
}

static int apply_check_state(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    uint32_t i = eng_wl_resolve(e, f->wl);
    const char *name = f->check_state.name;
    int r = eng_check_name("AdmissionCheck", name, err);
    if (r < 0)
        return r;
    struct eng_wl_extra *m = eng_wl_extra(e, i);
    sl_sym y = sl_sym_put(&e->syms, name);
    struct eng_wl_check *c = NULL;
    for (uint32_t k = 0; k < m->checks.n; k++)
        if (m->checks.v[k].name == y)
            c = &m->checks.v[k];
    if (!c) {
        if (m->checks.n >= SL_MAX_CHECKS)
            return sl_err_set(err, SL_ELIMIT, "a workload has at most %d admission checks",
                              SL_MAX_CHECKS);
        c = sl_vec_push(&m->checks);
        *c = (struct eng_wl_check){.name = y, .at = f->at};
    }
    if (c->state != f->check_state.state)
        c->at = f->at;
    c->state = f->check_state.state;
    c->requeue_after_s = f->check_state.requeue_after_s;
    sl_freep(&c->message);
    c->message = sl_strdup(f->check_state.message ? f->check_state.message : "");
    outside_event(e, &e->wls.v[i], false);
    if (m->until_event && e->wls.v[i].phase == WL_PARKED) {
        m->until_event = false;
        eng_wl_requeue(e, i);
    }
    eng_wl_due(e, i);
    return SL_OK;
}

static int apply_reclaimable(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    if (!eng_gate_on(e, SL_GATE_RECLAIMABLE_PODS) || w->phase == WL_FINISHED)
        return SL_OK;
    uint32_t full = w->extra && w->extra->full_shape != ENG_NONE ? w->extra->full_shape : w->shape;
    uint32_t n = e->shapes.v[full].n;
    if (f->reclaimable.n != n)
        return sl_err_set(err, SL_EINVAL, "workload %s has %u podsets, got counts for %u",
                          eng_wl_name(w), n, f->reclaimable.n);
    uint32_t shape;
    int r = shape_without(e, full, f->reclaimable.counts, &shape, err);
    if (r < 0)
        return r;
    outside_event(e, w, eng_wl_holds_quota(w));
    struct eng_wl_extra *m = eng_wl_extra(e, i);
    if (m->full_shape == ENG_NONE) {
        m->full_shape = w->shape;
        eng_shape_ref(e, w->shape);
    }
    bool waiting = w->phase == WL_WAITING || w->phase == WL_PARKED, sticky = eng_wl_sticky(e, i);
    if (waiting)
        eng_wl_dequeue(e, i);
    move_shape(e, i, shape);
    eng_shape_unref(e, shape);
    m->until_event = m->alone = false; /* its requests are different now */
    if (waiting)
        eng_wl_enqueue_again(e, i, sticky);
    else if (eng_wl_holds_quota(w))
        eng_wl_shrink(e, i);
    return SL_OK;
}

/* How far a reservation has come: a step forward is taken, a repetition changes nothing. */
static void admission_moves_on(struct sl_engine *e, uint32_t i, const struct sl_fact *f) {
    struct eng_wl *w = &e->wls.v[i];
    if (f->admission.admitted_at && w->phase == WL_RESERVED) {
        eng_wl_admitted(e, i);
        w->admitted_at = f->admission.admitted_at;
        eng_wl_timer(e, i);
    }
    if (f->admission.evicted && !w->evicting) {
        struct eng_wl_extra *m = eng_wl_extra(e, i);
        w->evicting = true;
        m->evict = m->order_evict = f->admission.reason;
        m->order_evict_at = f->at;
        eng_wl_timer(e, i);
    }
    eng_wl_due(e, i);
}

static int apply_admission(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    if (w->phase == WL_FINISHED)
        return SL_OK;
    if (eng_wl_holds_quota(w)) {
        if ((f->admission.admitted_at && w->phase == WL_RESERVED) ||
            (f->admission.evicted && !w->evicting))
            admission_moves_on(e, i, f);
        return SL_OK;
    }
    uint32_t node = eng_node_find(e, false, f->admission.cq);
    if (node == ENG_NONE || e->nodes.v[node].cq == ENG_NONE)
        return sl_err_set(err, SL_ENOENT, "workload %s holds quota of unknown ClusterQueue %s",
                          eng_wl_name(w), f->admission.cq);
    uint32_t n = e->shapes.v[w->shape].n, total = 0;
    if (f->admission.n != n)
        return sl_err_set(err, SL_EINVAL, "workload %s has %u podsets, its admission %u",
                          eng_wl_name(w), n, f->admission.n);
    for (uint32_t k = 0; k < n; k++) {
        total += f->admission.podsets[k].n;
        if (f->admission.podsets[k].count < 0)
            return sl_err_set(err, SL_EINVAL, "workload %s: a podset cannot hold %d pods",
                              eng_wl_name(w), f->admission.podsets[k].count);
    }
    struct eng_admission *a = eng_admission_new(n, total);
    a->cq = e->nodes.v[node].cq;
    total = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct sl_podset_admission *p = &f->admission.podsets[k];
        a->counts[k] = p->count;
        a->first[k] = total;
        for (uint32_t m = 0; m < p->n; m++) {
            sl_sym fl = sl_sym_put(&e->syms, p->flavors[m]);
            sl_sym re = sl_sym_put(&e->syms, p->resources[m]);
            uint32_t fr = eng_fr_get(e, fl, re);
            a->assigned[total++] = (struct eng_assigned){
                re, fl, fr, sl_amount_min(sl_amount_max(0, p->usage[m]), INT64_MAX - 1)};
        }
    }
    a->first[n] = total;
    eng_admission_sum(a);
    eng_wl_dequeue(e, i);
    eng_admission_columns(e, a);
    eng_wl_hold(e, i, a, f->admission.reserved_at);
    bool fewer = false; /* than it was admitted with: its spec has shrunk since */
    for (uint32_t k = 0; k < n; k++)
        fewer |= e->shapes.v[w->shape].podsets[k].count < a->counts[k];
    if (fewer)
        eng_wl_shrink(e, i);
    admission_moves_on(e, i, f);
    return SL_OK;
}

static int apply_past(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) {
    (void)err;
    uint32_t i = eng_wl_resolve(e, f->wl);
    struct eng_wl *w = &e->wls.v[i];
    struct eng_wl_extra *m = eng_wl_extra(e, i);
    const char *text = f->past.text ? f->past.text : "";
    if (w->phase == WL_FINISHED ||
        (m->requeues == f->past.requeues && m->requeue_at == f->past.requeue_at &&
         m->order_evict == f->past.reason && m->held_back == f->past.held_back &&
         m->past_exec_s == f->past.past_exec_s && m->order_evict_at == f->past.evicted_at &&
         strcmp(m->evict_text ? m->evict_text : "", text) == 0))
        return SL_OK;
    bool waiting = w->phase == WL_WAITING || w->phase == WL_PARKED;
    if (waiting)
        eng_wl_dequeue(e, i);
    m->requeues = f->past.requeues;
    m->requeue_at = f->past.requeue_at;
    m->past_exec_s = f->past.past_exec_s;
    m->held_back = f->past.held_back;
    m->order_evict = m->why_back = f->past.reason;
    m->order_evict_at = f->past.evicted_at;
    m->cause = f->past.cause;
    if (w->evicting)
        m->evict = f->past.reason;
    sl_freep(&m->evict_text);
    m->evict_text = sl_strdup(text);
    outside_event(e, w, false);
    if (waiting)
        eng_wl_enqueue(e, i);
    eng_wl_timer(e, i);
    eng_wl_due(e, i);
    return SL_OK;
}

/* ---- the table ---- */

static const struct {
    eng_apply_fn fn;
    bool about_workload; /* needs an id that is known */
} table[SL_FACT_COUNT] = {
    [SL_FACT_CONFIG] = {eng_apply_config, false},
    [SL_FACT_FLAVOR] = {eng_apply_flavor, false},
    [SL_FACT_COHORT] = {eng_apply_cohort, false},
    [SL_FACT_CLUSTER_QUEUE] = {eng_apply_cq, false},
    [SL_FACT_LOCAL_QUEUE] = {eng_apply_lq, false},
    [SL_FACT_NAMESPACE] = {eng_apply_ns, false},
    [SL_FACT_CHECK] = {eng_apply_check, false},
    [SL_FACT_FLAVOR_GONE] = {eng_apply_gone, false},
    [SL_FACT_COHORT_GONE] = {eng_apply_gone, false},
    [SL_FACT_CLUSTER_QUEUE_GONE] = {eng_apply_gone, false},
    [SL_FACT_LOCAL_QUEUE_GONE] = {eng_apply_gone, false},
    [SL_FACT_NAMESPACE_GONE] = {eng_apply_gone, false},
    [SL_FACT_CHECK_GONE] = {eng_apply_gone, false},
    [SL_FACT_WORKLOAD] = {apply_workload, false},
    [SL_FACT_WORKLOAD_GONE] = {apply_wl_gone, true},
    [SL_FACT_ADMISSION] = {apply_admission, true},
    [SL_FACT_FINISHED] = {apply_finished, true},
    [SL_FACT_RELEASED] = {apply_released, true},
    [SL_FACT_ADMIT_FAILED] = {apply_admit_failed, true},
    [SL_FACT_PODS_READY] = {apply_ready, true},
    [SL_FACT_CHECK_STATE] = {apply_check_state, true},
    [SL_FACT_RECLAIMABLE] = {apply_reclaimable, true},
    [SL_FACT_PAST] = {apply_past, true},
};

int sl_engine_apply(struct sl_engine *e, const struct sl_fact *f, sl_wl_id *ret_wl,
                    struct sl_err *err) {
    if ((uint32_t)f->kind >= SL_FACT_COUNT)
        return sl_err_set(err, SL_EINVAL, "unknown fact");
    if (table[f->kind].about_workload && eng_wl_resolve(e, f->wl) == ENG_NONE)
        return sl_err_set(err, SL_ENOENT, "%s: no such workload", sl_fact_name(f->kind));
    sl_time before = e->now;
    if (f->at > e->now)
        e->now = f->at;
    if (table[f->kind].about_workload) {
        eng_refresh(e); /* usage may change; a workload that only joins a line can wait for the next
                           cycle */
    }
    int r = table[f->kind].fn(e, f, err);
    if (r < 0) {
        e->now = before; /* a refused fact changes nothing, not even the clock */
        return r;
    }
    if (ret_wl && f->kind == SL_FACT_WORKLOAD)
        *ret_wl = sl_engine_find(e, f->workload.ns, f->workload.name);
    else if (ret_wl)
        *ret_wl = f->wl;
    return SL_OK;
}
