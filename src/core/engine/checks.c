/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission checks: after quota is reserved, every check that applies to the assigned flavors must
 * be ready. One rejection deactivates the workload; one retry evicts it, perhaps not to return at
 * once.
 */
#include "core/engine/state.h"

#include "core/base/buf.h"

#include <stdlib.h>
#include <string.h>

/* Does the check apply to the flavors that were assigned? */
static bool applies(const struct eng_check_ref *c, const struct eng_admission *a) {
    if (!c->flavors.n)
        return true;
    for (uint32_t i = 0; i < a->n_assigned; i++)
        for (uint32_t k = 0; k < c->flavors.n; k++)
            if (a->assigned[i].flavor == c->flavors.v[k])
                return true;
    return false;
}

/* Before flavors are assigned only checks that cover all of the queue's flavors are required. */
static bool covers_all(const struct sl_engine *e, const struct eng_cq *q,
                       const struct eng_check_ref *c) {
    const struct eng_node *n = eng_cq_node(e, q);
    for (uint32_t g = 0; g < n->n_groups; g++)
        for (uint32_t f = 0; f < n->groups[g].n_flavors; f++) {
            bool named = !c->flavors.n;
            for (uint32_t k = 0; k < c->flavors.n && !named; k++)
                named = c->flavors.v[k] == n->groups[g].flavors[f];
            if (!named)
                return false;
        }
    return true;
}

static bool required(const struct sl_engine *e, uint32_t wl, const struct eng_cq *q,
                     const struct eng_check_ref *c) {
    const struct eng_admission *a = e->wls.v[wl].admission;
    return a ? applies(c, a) : covers_all(e, q, c);
}

static struct eng_wl_check *find_check(struct eng_wl_extra *m, sl_sym name) {
    for (uint32_t i = 0; m && i < m->checks.n; i++)
        if (m->checks.v[i].name == name)
            return &m->checks.v[i];
    return NULL;
}

static const struct eng_cq *queue_of(const struct sl_engine *e, uint32_t wl) {
    const struct eng_wl *w = &e->wls.v[wl];
    uint32_t cq = w->admission ? w->admission->cq : e->lqs.v[w->lq].cq;
    return cq == ENG_NONE ? NULL : &e->cqs.v[cq];
}

static void report_checks(struct sl_engine *e, uint32_t wl) {
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_CHECKS, wl);
    struct sl_check_status *v = sl_arena_alloc0(&e->out->arena, m->checks.n + 1, sizeof(*v));
    for (uint32_t i = 0; i < m->checks.n; i++) {
        const struct eng_wl_check *c = &m->checks.v[i];
        v[i] =
            (struct sl_check_status){eng_str(e, c->name), c->state, c->retries,
                                     sl_arena_strdup(&e->out->arena, c->message ? c->message : "")};
    }
    f->checks.v = v;
    f->checks.n = m->checks.n;
}

static int cmp_checks(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    return strcmp(eng_str(e, ((const struct eng_wl_check *)a)->name),
                  eng_str(e, ((const struct eng_wl_check *)b)->name));
}

/* Brings the list of checks in line with the queue and the flavors; new ones start pending. */
void eng_checks_sync(struct sl_engine *e, uint32_t wl) {
    const struct eng_cq *q = queue_of(e, wl);
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!q || (!q->checks.n && !(m && m->checks.n)))
        return;
    bool changed = false;
    for (uint32_t i = m ? m->checks.n : 0; i-- > 0;) {
        bool wanted = false;
        for (uint32_t k = 0; k < q->checks.n; k++)
            wanted |=
                q->checks.v[k].name == m->checks.v[i].name && required(e, wl, q, &q->checks.v[k]);
        if (wanted)
            continue;
        sl_freep(&m->checks.v[i].message);
        memmove(&m->checks.v[i], &m->checks.v[i + 1],
                (m->checks.n - i - 1) * sizeof(struct eng_wl_check));
        m->checks.n--;
        changed = true;
    }
    for (uint32_t k = 0; k < q->checks.n; k++) {
        if (!required(e, wl, q, &q->checks.v[k]) || find_check(m, q->checks.v[k].name))
            continue;
        m = eng_wl_extra(e, wl);
        *sl_vec_push(&m->checks) = (struct eng_wl_check){
            .name = q->checks.v[k].name, .state = SL_CHECK_PENDING, .at = e->now};
        changed = true;
    }
    if (!changed)
        return;
    if (m->checks.n > 1)
        qsort_r(m->checks.v, m->checks.n, sizeof(struct eng_wl_check), cmp_checks, e);
    report_checks(e, wl);
}

bool eng_checks_all_ready(const struct sl_engine *e, uint32_t wl) {
    const struct eng_cq *q = queue_of(e, wl);
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    for (uint32_t k = 0; q && k < q->checks.n; k++) {
        if (!required(e, wl, q, &q->checks.v[k]))
            continue;
        const struct eng_wl_check *c = find_check(m, q->checks.v[k].name);
        if (!c || c->state != SL_CHECK_READY)
            return false;
    }
    return true;
}

/* On eviction every check starts over; a retry is counted. */
void eng_checks_reset(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    bool changed = false;
    for (uint32_t i = 0; m && i < m->checks.n; i++) {
        struct eng_wl_check *c = &m->checks.v[i];
        if (c->state == SL_CHECK_PENDING)
            continue;
        struct sl_buf b;
        sl_buf_init(&b, 256);
        sl_buf_short(&b);
        sl_buf_printf(&b, "Reset to Pending after eviction. Previously: %s",
                      sl_word(SL_VOCAB_CHECK_STATE, (int)c->state));
        sl_freep(&c->message);
        c->message = sl_strdup(sl_buf_str(&b));
        sl_buf_done(&b);
        c->retries = c->state == SL_CHECK_RETRY ? c->retries + 1 : 0;
        c->state = SL_CHECK_PENDING;
        c->at = e->now;
        changed = true;
    }
    if (changed)
        report_checks(e, wl);
}

/* `AdmissionCheck[s] in X state: "a" (message); "b"` */
static void describe(const struct sl_engine *e, const struct eng_wl_extra *m,
                     enum sl_check_state state, struct sl_buf *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->checks.n; i++)
        n += m->checks.v[i].state == state;
    sl_buf_printf(b, "AdmissionCheck%s in %s state: ", n > 1 ? "s" : "",
                  sl_word(SL_VOCAB_CHECK_STATE, (int)state));
    bool first = true;
    for (uint32_t i = 0; i < m->checks.n; i++) {
        const struct eng_wl_check *c = &m->checks.v[i];
        if (c->state != state)
            continue;
        sl_buf_printf(b, "%s\"%s\"", first ? "" : "; ", eng_str(e, c->name));
        if (c->message && *c->message)
            sl_buf_printf(b, " (%s)", c->message);
        first = false;
    }
}

/* Acts on the states of the checks. Returns whether it evicted or admitted. */
bool eng_checks_act(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_wl_extra *m = w->extra;
    if (!eng_wl_holds_quota(w) || w->evicting)
        return false;
    bool rejected = false, retry = false;
    for (uint32_t i = 0; m && i < m->checks.n; i++) {
        rejected |= m->checks.v[i].state == SL_CHECK_REJECTED;
        retry |= m->checks.v[i].state == SL_CHECK_RETRY;
    }
    if (rejected || retry) {
        struct sl_buf b;
        sl_buf_init(&b, 32768);
        sl_buf_short(&b);
        describe(e, m, rejected ? SL_CHECK_REJECTED : SL_CHECK_RETRY, &b);
        if (rejected) {
            eng_wl_deactivate(e, wl, SL_CAUSE_ADMISSION_CHECK, sl_buf_str(&b));
        } else {
            sl_time at = 0;
            for (uint32_t i = 0; i < m->checks.n; i++) {
                const struct eng_wl_check *c = &m->checks.v[i];
                if (c->state != SL_CHECK_RETRY || !c->requeue_after_s)
                    continue;
                int64_t s = c->requeue_after_s < INT64_MAX / SL_SEC ? c->requeue_after_s
                                                                    : INT64_MAX / SL_SEC;
                sl_time t = sl_time_add(c->at, s * SL_SEC);
                at = t > at ? t : at;
            }
            if (at > e->now && at > m->requeue_at)
                eng_wl_backoff(e, wl, m->requeues, at);
            const char *text = sl_arena_printf(&e->out->arena, "Evicted due to %s", sl_buf_str(&b));
            eng_wl_evict(e, wl, SL_EVICT_ADMISSION_CHECK, SL_CAUSE_NONE, ENG_NONE, text);
        }
        sl_buf_done(&b);
        return true;
    }
    if (w->phase != WL_RESERVED || !eng_checks_all_ready(e, wl))
        return false;
    eng_wl_admitted(e, wl);
    (void)eng_effect_new(e, SL_EFFECT_ADMIT, wl);
    return true;
}
