/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a ClusterQueue active? It is unless it is being deleted, stopped, or refers to flavors,
 * topologies or admission checks that are missing or not ready. The first reason counts, all are
 * reported.
 */
#include "core/engine/state.h"

#include "core/base/buf.h"

#include <stdlib.h>
#include <string.h>

static bool flavor_exists(const struct sl_engine *e, sl_sym f) {
    uint32_t i = sl_map_get(&e->flavor_map, f);
    return i != SL_MAP_NONE && e->flavors.v[i].exists;
}

static const struct eng_check *check_of(const struct sl_engine *e, sl_sym c) {
    uint32_t i = sl_map_get(&e->check_map, c);
    return i == SL_MAP_NONE || !e->checks.v[i].exists ? NULL : &e->checks.v[i];
}

static void list_begin(struct sl_buf *b, const char *what, uint32_t *n_reasons) {
    sl_buf_puts(b, (*n_reasons)++ ? ", " : "");
    sl_buf_puts(b, what);
}

static int cmp_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void missing_flavors(struct sl_engine *e, const struct eng_cq *q, struct sl_buf *b,
                            enum sl_inactive *first, uint32_t *n_reasons) {
    const struct eng_node *n = eng_cq_node(e, q);
    uint32_t found = 0;
    for (uint32_t g = 0; g < n->n_groups; g++)
        for (uint32_t f = 0; f < n->groups[g].n_flavors; f++) {
            sl_sym y = n->groups[g].flavors[f];
            if (flavor_exists(e, y))
                continue;
            if (!found++) {
                list_begin(b, "references missing ResourceFlavor(s): ", n_reasons);
                if (*first == SL_INACTIVE_COUNT)
                    *first = SL_INACTIVE_FLAVOR_NOT_FOUND;
            } else {
                sl_buf_puts(b, ",");
            }
            sl_buf_puts(b, eng_str(e, y));
        }
}

static void bad_checks(struct sl_engine *e, const struct eng_cq *q, bool missing, struct sl_buf *b,
                       enum sl_inactive *first, uint32_t *n_reasons) {
    const char *names[SL_MAX_QUEUE_CHECKS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->checks.n && n < SL_MAX_QUEUE_CHECKS; i++) {
        const struct eng_check *c = check_of(e, q->checks.v[i].name);
        if (missing ? !c : c && !c->active)
            names[n++] = eng_str(e, q->checks.v[i].name);
    }
    if (!n)
        return;
    qsort(names, n, sizeof(*names), cmp_names);
    if (*first == SL_INACTIVE_COUNT)
        *first = missing ? SL_INACTIVE_CHECK_NOT_FOUND : SL_INACTIVE_CHECK_INACTIVE;
    list_begin(b,
               missing ? "references missing AdmissionCheck(s): "
                       : "references inactive AdmissionCheck(s): ",
               n_reasons);
    for (uint32_t i = 0; i < n; i++)
        sl_buf_printf(b, "%s%s", i ? "," : "", names[i]);
}

static void missing_topologies(struct sl_engine *e, const struct eng_cq *q, struct sl_buf *b,
                               enum sl_inactive *first, uint32_t *n_reasons) {
    const struct eng_node *n = eng_cq_node(e, q);
    for (uint32_t g = 0; g < n->n_groups; g++)
        for (uint32_t f = 0; f < n->groups[g].n_flavors; f++) {
            sl_sym y = n->groups[g].flavors[f];
            const struct sl_flavor_spec *s =
                flavor_exists(e, y) ? &e->flavors.v[sl_map_get(&e->flavor_map, y)].spec : NULL;
            if (!s || !*s->topology || s->n_levels)
                continue;
            list_begin(b, "there is no Topology ", n_reasons);
            sl_buf_printf(b, "\"%s\" for TAS flavor \"%s\"", s->topology, eng_str(e, y));
            if (*first == SL_INACTIVE_COUNT)
                *first = SL_INACTIVE_TOPOLOGY_NOT_FOUND;
        }
}

static void work_out(struct sl_engine *e, struct eng_cq *q, struct sl_buf *b,
                     enum sl_inactive *reason) {
    uint32_t n = 0;
    *reason = SL_INACTIVE_COUNT;
    sl_buf_clear(b);
    if (q->terminating) {
        *reason = SL_INACTIVE_TERMINATING;
        sl_buf_puts(b, "Can't admit new workloads; clusterQueue is terminating");
        return;
    }
    sl_buf_puts(b, "Can't admit new workloads: ");
    if (q->stop != SL_STOP_NONE) {
        *reason = SL_INACTIVE_STOPPED;
        list_begin(b, "is stopped", &n);
    }
    missing_flavors(e, q, b, reason, &n);
    bad_checks(e, q, true, b, reason, &n);
    bad_checks(e, q, false, b, reason, &n);
    missing_topologies(e, q, b, reason, &n);
    if (eng_cq_node(e, q)->broken) {
        list_begin(b, "is below a cycle of Cohorts", &n);
        if (*reason == SL_INACTIVE_COUNT)
            *reason = SL_INACTIVE_COHORT_CYCLE;
    }
    if (*reason != SL_INACTIVE_COUNT) {
        sl_buf_puts(b, ".");
        return;
    }
    sl_buf_clear(b);
    sl_buf_puts(b, "Can admit new workloads");
}

void eng_cq_status_update(struct sl_engine *e) {
    struct sl_buf b;
    sl_buf_init(&b, 32768);
    sl_buf_short(&b);
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        struct eng_cq *q = &e->cqs.v[i];
        if (!q->exists)
            continue;
        enum sl_inactive reason;
        work_out(e, q, &b, &reason);
        bool active = reason == SL_INACTIVE_COUNT;
        if (active != q->active) {
            struct eng_tree *t = eng_cq_tree(e, q);
            t->wake_all |= active;
            e->later_stale |= e->plans_later;
            eng_tree_mark_dirty(e, t);
            for (uint32_t k = 0; k < q->lqs.n; k++) {
                const struct eng_lq *l = &e->lqs.v[q->lqs.v[k]];
                for (uint32_t c = 0; c < l->classes.n; c++) {
                    const struct sl_ordset *line = &e->classes.v[l->classes.v[c]].line;
                    eng_line_due(e, line);
                }
            }
        }
        q->active = active;
        q->inactive_reason = reason;
        if (q->message && strcmp(q->message, sl_buf_str(&b)) == 0)
            continue;
        sl_freep(&q->message);
        q->message = sl_strdup(sl_buf_str(&b));
        struct sl_effect *f = eng_effect_new(e, SL_EFFECT_CQ_STATUS, ENG_NONE);
        f->name = f->cq = eng_str(e, eng_cq_node(e, q)->name);
        f->cq_status.active = active;
        f->cq_status.reason = reason;
        f->cq_status.message = sl_arena_strdup(&e->out->arena, q->message);
    }
    sl_buf_done(&b);
    e->status_dirty = false;
}
