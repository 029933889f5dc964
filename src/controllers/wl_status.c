/*
 * The status of a Workload as a record: reading it, changing it, writing the changes.
 */
#include "controllers/wl_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Most of those that are told to wait are admitted soon after: saying so costs the API server as much as admitting. */
#define LEISURE SL_SEC
#define LEISURE_BUSY (10 * SL_SEC)

/* ---- memory ---- */

static void admission_free(struct wl_admission *a) {
    for (uint32_t i = 0; a && i < a->n; i++) {
        sl_freep(&a->v[i].v);
        sl_freep(&a->v[i].topology);
    }
    if (a)
        sl_freep(&a->v);
    sl_freep(&a);
}

static void checks_clear(struct wl_status *s) {
    for (uint32_t i = 0; i < s->checks.n; i++) {
        sl_freep(&s->checks.v[i].message);
        sl_freep(&s->checks.v[i].updates);
    }
    sl_vec_clear(&s->checks);
}

void wl_status_done(struct wl_status *s) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        sl_freep(&s->conds.v[i].message);
    sl_vec_free(&s->conds);
    checks_clear(s);
    sl_vec_free(&s->checks);
    sl_vec_free(&s->evictions);
    admission_free(s->admission);
    sl_freep(&s->reclaimable);
    sl_freep(&s->gates);
    *s = (struct wl_status){0};
}

void wl_changes_free(struct wl_changes **c) {
    if (*c)
        wl_status_done(&(*c)->s);
    sl_freep(c);
}

/* ---- reading ---- */

static void read_conds(struct sl_manager *m, struct wl_status *s, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v) {
        if (i >= WL_MAX_CONDITIONS)
            break;
        const char *status = jstr(v, "status");
        *sl_vec_push(&s->conds) = (struct cond){
            .type = sl_sym_put(&m->syms, jstr(v, "type")),
            .reason = sl_sym_put(&m->syms, jstr(v, "reason")),
            .status = strcmp(status, "True") == 0    ? COND_TRUE
                      : strcmp(status, "False") == 0 ? COND_FALSE
                                                     : COND_UNKNOWN,
            .generation = jint(v, "observedGeneration", 0),
            .at = jtime(v, "lastTransitionTime"),
            .message = sl_strdup(jstr(v, "message")),
        };
    }
}

static sl_amount read_amount(const char *resource, yyjson_val *v) {
    sl_quantity q = 0;
    struct sl_err err;
    if (yyjson_is_int(v))
        q = (sl_quantity)yyjson_get_sint(v) * SL_NANO;
    else if (yyjson_is_str(v) && sl_quantity_parse(yyjson_get_str(v), yyjson_get_len(v), &q, &err) < 0)
        q = 0;
    return sl_amount_of_request(resource, q);
}

static void read_assigned(struct sl_manager *m, struct wl_podset_admission *p, yyjson_val *v) {
    yyjson_val *flavors = yyjson_obj_get(v, "flavors"), *usage = yyjson_obj_get(v, "resourceUsage"), *key, *val;
    size_t i, n, cap = yyjson_obj_size(flavors) + yyjson_obj_size(usage);
    if (cap > 2 * SL_MAX_PODSET_RESOURCES)
        return;
    p->v = sl_alloc0(cap + 1, sizeof *p->v);
    yyjson_obj_foreach(flavors, i, n, key, val) {
        const char *name = yyjson_get_str(key), *flavor = yyjson_get_str(val);
        p->v[p->n++] = (struct wl_assigned){sl_sym_put(&m->syms, name), sl_sym_put(&m->syms, flavor ? flavor : ""),
                                            read_amount(name, yyjson_obj_get(usage, name))};
    }
    yyjson_obj_foreach(usage, i, n, key, val) {
        const char *name = yyjson_get_str(key);
        if (!yyjson_obj_get(flavors, name))
            p->v[p->n++] = (struct wl_assigned){sl_sym_put(&m->syms, name), 0, read_amount(name, val)};
    }
}

static char *read_topology(yyjson_val *v) {
    yyjson_val *t = jat(v, "topologyAssignment"), *d = jat(v, "delayedTopologyRequest");
    if (!t && !d)
        return NULL;
    struct sl_buf b;
    sl_buf_init(&b, (size_t)2 << 20);
    if (t) {
        sl_buf_puts(&b, ",\"topologyAssignment\":");
        jput(&b, t);
    }
    if (d) {
        sl_buf_puts(&b, ",\"delayedTopologyRequest\":");
        jput(&b, d);
    }
    char *s = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return s;
}

static struct wl_admission *read_admission(struct sl_manager *m, yyjson_val *o) {
    yyjson_val *list = yyjson_obj_get(o, "podSetAssignments"), *v;
    size_t i, n;
    if (!o)
        return NULL;
    struct wl_admission *a = sl_alloc0(1, sizeof *a);
    a->cq = sl_sym_put(&m->syms, jstr(o, "clusterQueue"));
    a->v = sl_alloc0(SL_MAX_PODSETS, sizeof *a->v);
    yyjson_arr_foreach(list, i, n, v) {
        if (i >= SL_MAX_PODSETS)
            break;
        struct wl_podset_admission *p = &a->v[a->n++];
        p->name = sl_sym_put(&m->syms, jstr(v, "name"));
        p->count = (int32_t)jint(v, "count", 0);
        p->topology = read_topology(v);
        read_assigned(m, p, v);
    }
    return a;
}

static void read_checks(struct sl_manager *m, struct wl_status *s, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v, *updates;
    yyjson_arr_foreach(list, i, n, v) {
        struct sl_buf b;
        struct sl_err err;
        int state = SL_CHECK_PENDING;
        if (i >= 2 * SL_MAX_CHECKS)
            break;
        if (sl_word_parse(SL_VOCAB_CHECK_STATE, jstr(v, "state"), &state, &err) < 0)
            state = SL_CHECK_PENDING;
        struct wl_check *c = sl_vec_push(&s->checks);
        *c = (struct wl_check){
            .name = sl_sym_put(&m->syms, jstr(v, "name")),
            .state = (enum sl_check_state)state,
            .at = jtime(v, "lastTransitionTime"),
            .message = sl_strdup(jstr(v, "message")),
            .requeue_after_s = jint(v, "requeueAfterSeconds", -1),
            .retries = (int32_t)jint(v, "retryCount", -1),
        };
        updates = jat(v, "podSetUpdates");
        if (!updates)
            continue;
        sl_buf_init(&b, (size_t)2 << 20);
        jput(&b, updates);
        c->updates = sl_strdup(sl_buf_str(&b));
        sl_buf_done(&b);
    }
}

static void read_evictions(struct sl_manager *m, struct wl_status *s, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v)
        if (i < 64)
            *sl_vec_push(&s->evictions) = (struct wl_eviction){sl_sym_put(&m->syms, jstr(v, "reason")),
                                                               sl_sym_put(&m->syms, jstr(v, "underlyingCause")),
                                                               jint(v, "count", 0)};
}

static int32_t *read_reclaimable(const struct sl_manager *m, const struct rec_wl *w, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    if (!yyjson_arr_size(list) || !w->n_podsets)
        return NULL;
    int32_t *counts = sl_alloc0(w->n_podsets, sizeof *counts);
    yyjson_arr_foreach(list, i, n, v)
        for (uint32_t p = 0; p < w->n_podsets; p++)
            if (strcmp(str(m, w->podsets[p].name), jstr(v, "name")) == 0)
                counts[p] = (int32_t)jint(v, "count", 0);
    return counts;
}

void wl_status_read(struct sl_manager *m, struct rec_wl *w, yyjson_val *o) {
    struct wl_status *s = &w->seen;
    wl_status_done(s);
    read_conds(m, s, yyjson_obj_get(o, "conditions"));
    s->admission = read_admission(m, jat(o, "admission"));
    read_checks(m, s, yyjson_obj_get(o, "admissionChecks"));
    read_evictions(m, s, jat(o, "schedulingStats.evictions"));
    s->requeues = (int32_t)jint(o, "requeueState.count", 0);
    s->requeue_at = jtime(o, "requeueState.requeueAt");
    s->past_exec_s = jint(o, "accumulatedPastExecutionTimeSeconds", -1);
    s->reclaimable = read_reclaimable(m, w, yyjson_obj_get(o, "reclaimablePods"));
    s->gates = wl_gates_read(m, yyjson_obj_get(o, "preemptionGates"));
    s->names = jat(o, "clusterName") || jat(o, "nominatedClusterNames") || jat(o, "unhealthyNodes");
    s->requests = jat(o, "resourceRequests") != NULL;
}

/* ---- looking ---- */

static struct cond *find_cond(const struct wl_status *s, sl_sym type) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        if (s->conds.v[i].type == type)
            return &s->conds.v[i];
    return NULL;
}

const struct cond *wl_cond(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    return find_cond(&w->seen, sl_sym_find(&m->syms, type));
}

bool wl_is(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    const struct cond *c = wl_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct cond *wl_next_cond(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    sl_sym y = sl_sym_find(&m->syms, type);
    const struct cond *c = w->want ? find_cond(&w->want->s, y) : NULL;
    if (!c && w->sent)
        c = find_cond(&w->sent->s, y);
    if (!c)
        c = find_cond(&w->seen, y);
    return c && c->status != COND_NONE ? c : NULL;
}

bool wl_will(const struct sl_manager *m, const struct rec_wl *w, const char *type) {
    const struct cond *c = wl_next_cond(m, w, type);
    return c && c->status == COND_TRUE;
}

const struct wl_status *wl_next(const struct rec_wl *w, enum wl_field field) {
    if (w->want && (w->want->fields & field))
        return &w->want->s;
    if (w->sent && (w->sent->fields & field))
        return &w->sent->s;
    return &w->seen;
}

bool wl_changing(const struct rec_wl *w, uint32_t fields) {
    return (w->want && (w->want->fields & fields)) || (w->sent && (w->sent->fields & fields));
}

/* ---- changing ---- */

bool wl_is_urgent(const struct rec_wl *w) {
    return w->wishes || !w->want || !w->want->waiting;
}

struct wl_changes *wl_change(struct sl_manager *m, struct rec_wl *w) {
    if (!w->want)
        w->want = sl_alloc0(1, sizeof *w->want);
    w->want->waiting = false;
    rec_want(m, &w->rec);
    return w->want;
}

void wl_change_at_leisure(struct sl_manager *m, struct rec_wl *w) {
    bool already = w->want && !w->want->waiting;
    if (!w->want)
        w->want = sl_alloc0(1, sizeof *w->want);
    w->want->waiting = !already;
    if (already)
        rec_want(m, &w->rec);
    else
        rec_want_at(m, &w->rec, m->spec.port->mono + (server_is_busy(m) ? LEISURE_BUSY : LEISURE));
}

static void put_cond(struct wl_changes *c, struct cond x) {
    struct cond *old = find_cond(&c->s, x.type);
    if (old) {
        sl_freep(&old->message);
        *old = x;
    } else {
        *sl_vec_push(&c->s.conds) = x;
    }
}

static bool set_cond(struct sl_manager *m, struct rec_wl *w, const char *type, bool status, const char *reason,
                     const char *message, bool at_leisure) {
    const struct cond *now = wl_next_cond(m, w, type);
    enum cond_status s = status ? COND_TRUE : COND_FALSE;
    sl_sym y = sl_sym_put(&m->syms, reason);
    if (now && now->status == s && now->reason == y && strcmp(now->message, message) == 0)
        return false;
    struct cond x = {.type = sl_sym_put(&m->syms, type), .reason = y, .status = s, .generation = w->rec.generation,
                     .at = now && now->status == s ? now->at : m->spec.port->wall, .message = sl_strdup(message)};
    if (at_leisure)
        wl_change_at_leisure(m, w);
    put_cond(at_leisure ? w->want : wl_change(m, w), x);
    return true;
}

void wl_set_waiting(struct sl_manager *m, struct rec_wl *w, const char *reason, const char *message) {
    if (set_cond(m, w, "QuotaReserved", false, reason, message, true))
        w->want->told = true;
}

void wl_set_cond(struct sl_manager *m, struct rec_wl *w, const char *type, bool status, const char *reason,
                 const char *message) {
    (void)set_cond(m, w, type, status, reason, message, false);
}

void wl_drop_cond(struct sl_manager *m, struct rec_wl *w, const char *type) {
    if (wl_next_cond(m, w, type))
        put_cond(wl_change(m, w), (struct cond){.type = sl_sym_put(&m->syms, type), .status = COND_NONE});
}

void wl_set_admission(struct sl_manager *m, struct rec_wl *w, const char *cq, const struct sl_podset_assignment *v,
                      uint32_t n) {
    struct wl_changes *c = wl_change(m, w);
    admission_free(c->s.admission);
    struct wl_admission *a = c->s.admission = sl_alloc0(1, sizeof *a);
    c->fields |= WL_ADMISSION;
    a->cq = sl_sym_put(&m->syms, cq);
    a->n = n;
    a->v = sl_alloc0(n + 1, sizeof *a->v);
    for (uint32_t i = 0; i < n; i++) {
        struct wl_podset_admission *p = &a->v[i];
        p->name = sl_sym_put(&m->syms, v[i].name);
        p->count = v[i].count;
        p->n = v[i].n;
        p->v = sl_alloc0(p->n + 1, sizeof *p->v);
        for (uint32_t k = 0; k < p->n; k++)
            p->v[k] = (struct wl_assigned){sl_sym_put(&m->syms, v[i].v[k].resource),
                                           sl_sym_put(&m->syms, v[i].v[k].flavor), v[i].v[k].usage};
    }
    wl_note_release(m, w);
}

void wl_clear_admission(struct sl_manager *m, struct rec_wl *w) {
    if (!wl_next(w, WL_ADMISSION)->admission)
        return;
    struct wl_changes *c = wl_change(m, w);
    admission_free(c->s.admission);
    c->s.admission = NULL;
    c->fields |= WL_ADMISSION;
    w->stubborn = false;
    wl_note_release(m, w);
}

void wl_set_requeue(struct sl_manager *m, struct rec_wl *w, int32_t count, sl_time at) {
    const struct wl_status *now = wl_next(w, WL_REQUEUE);
    if (now->requeues == count && now->requeue_at / SL_SEC == at / SL_SEC)
        return;
    struct wl_changes *c = wl_change(m, w);
    c->fields |= WL_REQUEUE;
    c->s.requeues = count;
    c->s.requeue_at = at;
}

void wl_set_reclaimable(struct sl_manager *m, struct rec_wl *w, const int32_t *counts) {
    const int32_t *now = wl_next(w, WL_RECLAIMABLE)->reclaimable;
    bool same = true;
    for (uint32_t i = 0; i < w->n_podsets; i++)
        same &= counts[i] == (now ? now[i] : 0);
    if (same || !w->n_podsets)
        return;
    struct wl_changes *c = wl_change(m, w);
    c->fields |= WL_RECLAIMABLE;
    sl_freep(&c->s.reclaimable);
    c->s.reclaimable = sl_alloc0(w->n_podsets, sizeof *counts);
    memcpy(c->s.reclaimable, counts, w->n_podsets * sizeof *counts);
}

void wl_add_past(struct sl_manager *m, struct rec_wl *w, int64_t seconds) {
    int64_t now = wl_next(w, WL_PAST)->past_exec_s;
    struct wl_changes *c = wl_change(m, w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = (now > 0 ? now : 0) + (seconds > 0 ? seconds : 0);
}

void wl_reset_past(struct sl_manager *m, struct rec_wl *w) {
    if (wl_next(w, WL_PAST)->past_exec_s <= 0)
        return;
    struct wl_changes *c = wl_change(m, w);
    c->fields |= WL_PAST;
    c->s.past_exec_s = 0;
}

void wl_clear_names(struct sl_manager *m, struct rec_wl *w) {
    if (w->seen.names)
        wl_change(m, w)->fields |= WL_NAMES;
}

/* Returns how often it was evicted for this before. */
int64_t wl_count_eviction(struct sl_manager *m, struct rec_wl *w, const char *reason, const char *cause) {
    const struct wl_status *now = wl_next(w, WL_EVICTIONS);
    sl_sym r = sl_sym_put(&m->syms, reason), k = sl_sym_put(&m->syms, cause);
    struct wl_changes *c = wl_change(m, w);
    if (!(c->fields & WL_EVICTIONS)) {
        sl_vec_clear(&c->s.evictions);
        for (uint32_t i = 0; i < now->evictions.n; i++)
            *sl_vec_push(&c->s.evictions) = now->evictions.v[i];
        c->fields |= WL_EVICTIONS;
    }
    for (uint32_t i = 0; i < c->s.evictions.n; i++)
        if (c->s.evictions.v[i].reason == r && c->s.evictions.v[i].cause == k)
            return c->s.evictions.v[i].count++;
    *sl_vec_push(&c->s.evictions) = (struct wl_eviction){r, k, 1};
    return 0;
}

static const struct wl_check *find_check(const struct wl_status *s, sl_sym name) {
    for (uint32_t i = 0; i < s->checks.n; i++)
        if (s->checks.v[i].name == name)
            return &s->checks.v[i];
    return NULL;
}

void wl_set_checks(struct sl_manager *m, struct rec_wl *w, const struct sl_check_status *v, uint32_t n) {
    struct wl_changes fresh = {0};
    for (uint32_t i = 0; i < n; i++) {
        sl_sym name = sl_sym_put(&m->syms, v[i].name);
        const struct wl_check *old = find_check(wl_next(w, WL_CHECKS), name);
        bool same = old && old->state == v[i].state;
        *sl_vec_push(&fresh.s.checks) = (struct wl_check){
            .name = name,
            .state = v[i].state,
            .at = same ? old->at : m->spec.port->wall,
            .message = sl_strdup(same ? old->message : v[i].message ? v[i].message : ""),
            .updates = same && old->updates ? sl_strdup(old->updates) : NULL,
            .requeue_after_s = old ? old->requeue_after_s : -1,
            .retries = same ? old->retries : v[i].retries ? v[i].retries : -1,
            .ours = same ? old->ours : true,
        };
    }
    struct wl_changes *c = wl_change(m, w);
    checks_clear(&c->s);
    sl_vec_free(&c->s.checks);
    c->s.checks.v = fresh.s.checks.v;
    c->s.checks.n = fresh.s.checks.n;
    c->s.checks.cap = fresh.s.checks.cap;
    c->fields |= WL_CHECKS;
}

void wl_drop_outdated(struct sl_manager *m, struct rec_wl *w) {
    if (!w->want || !w->seen.admission || (w->want->fields & WL_ADMISSION) || !wl_is(m, w, "QuotaReserved"))
        return;
    sl_sym type = sl_sym_find(&m->syms, "QuotaReserved");
    for (uint32_t i = 0; i < w->want->s.conds.n; i++) {
        struct cond *c = &w->want->s.conds.v[i];
        if (c->type != type || c->status != COND_FALSE)
            continue;
        sl_freep(&c->message);
        *c = sl_vec_pop(&w->want->s.conds);
        w->want->told = false;
        return;
    }
}

/* ---- what was sent and not taken returns under what was wanted since ---- */

void wl_changes_return(struct rec_wl *w) {
    struct wl_changes *old = w->sent, *new = w->want;
    w->sent = NULL;
    if (!old)
        return;
    if (!new) {
        w->want = old;
        return;
    }
    for (uint32_t i = 0; i < old->s.conds.n; i++) {
        struct cond *c = &old->s.conds.v[i];
        if (find_cond(&new->s, c->type))
            continue;
        *sl_vec_push(&new->s.conds) = *c;
        c->message = NULL;
    }
    new->waiting &= old->waiting;
    new->told |= old->told;
    uint32_t missing = old->fields & ~new->fields;
    new->fields |= missing;
    if (missing & WL_ADMISSION)
        new->s.admission = TAKE_PTR(old->s.admission);
    if (missing & WL_REQUEUE) {
        new->s.requeues = old->s.requeues;
        new->s.requeue_at = old->s.requeue_at;
    }
    if (missing & WL_PAST)
        new->s.past_exec_s = old->s.past_exec_s;
    if (missing & WL_RECLAIMABLE)
        new->s.reclaimable = TAKE_PTR(old->s.reclaimable);
    if (missing & WL_POSITIONS)
        new->s.gates = TAKE_PTR(old->s.gates);
    if (missing & WL_EVICTIONS) {
        sl_vec_clear(&new->s.evictions);
        for (uint32_t i = 0; i < old->s.evictions.n; i++)
            *sl_vec_push(&new->s.evictions) = old->s.evictions.v[i];
    }
    if (missing & WL_CHECKS) {
        checks_clear(&new->s);
        for (uint32_t i = 0; i < old->s.checks.n; i++)
            *sl_vec_push(&new->s.checks) = old->s.checks.v[i];
        sl_vec_clear(&old->s.checks);
    }
    wl_changes_free(&old);
}

/* ---- writing ---- */

/* The status that has the word on a field, of what is wanted and what is seen. */
static const struct wl_status *effective(const struct rec_wl *w, enum wl_field field) {
    return w->want->fields & field ? &w->want->s : &w->seen;
}

static void put_cond_json(const struct sl_manager *m, const struct cond *c, struct sl_buf *b) {
    static const char *const words[] = {"", "False", "True", "Unknown"};
    sl_buf_puts(b, b->s[b->len - 1] == '[' ? "{\"type\":" : ",{\"type\":");
    sl_buf_json(b, str(m, c->type));
    sl_buf_printf(b, ",\"status\":\"%s\",\"reason\":", words[c->status]);
    sl_buf_json(b, str(m, c->reason));
    sl_buf_puts(b, ",\"message\":");
    sl_buf_json(b, c->message);
    sl_buf_puts(b, ",\"lastTransitionTime\":");
    jput_time(b, c->at);
    if (c->generation)
        sl_buf_printf(b, ",\"observedGeneration\":%lld", (long long)c->generation);
    sl_buf_putc(b, '}');
}

static bool same_cond(const struct cond *a, const struct cond *b) {
    if (!a || a->status == COND_NONE)
        return !b || b->status == COND_NONE;
    return b && a->status == b->status && a->reason == b->reason && strcmp(a->message, b->message) == 0;
}

/* The conditions that are ours to say; those of others stay as they are. */
static bool is_ours(const struct sl_manager *m, sl_sym type) {
    static const char *const types[] = {"QuotaReserved", "Admitted", "Evicted",  "Preempted",         "Requeued",
                                        "PodsReady",     "Finished", "DeactivationTarget", "BlockedOnPreemptionGates"};
    for (size_t i = 0; i < SL_LEN(types); i++)
        if (strcmp(str(m, type), types[i]) == 0)
            return true;
    return false;
}

static bool conds_differ(const struct rec_wl *w) {
    const struct wl_changes *c = w->want;
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (!same_cond(&c->s.conds.v[i], find_cond(&w->seen, c->s.conds.v[i].type)))
            return true;
    return false;
}

static void put_conds(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    const struct wl_changes *c = w->want;
    sl_buf_puts(b, "\"conditions\":[");
    for (uint32_t i = 0; i < w->seen.conds.n; i++) {
        const struct cond *x = find_cond(&c->s, w->seen.conds.v[i].type);
        if (is_ours(m, w->seen.conds.v[i].type) && (!x || x->status != COND_NONE))
            put_cond_json(m, x ? x : &w->seen.conds.v[i], b);
    }
    for (uint32_t i = 0; i < c->s.conds.n; i++)
        if (c->s.conds.v[i].status != COND_NONE && !find_cond(&w->seen, c->s.conds.v[i].type))
            put_cond_json(m, &c->s.conds.v[i], b);
    sl_buf_putc(b, ']');
}

static bool same_admission(const struct wl_admission *a, const struct wl_admission *b) {
    if (!a || !b)
        return !a && !b;
    if (a->cq != b->cq || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct wl_podset_admission *p = &a->v[i], *q = &b->v[i];
        if (p->name != q->name || p->count != q->count || p->n != q->n)
            return false;
        for (uint32_t k = 0; k < p->n; k++) {
            uint32_t j = 0;
            while (j < q->n && q->v[j].resource != p->v[k].resource)
                j++;
            if (j == q->n || q->v[j].flavor != p->v[k].flavor || q->v[j].usage != p->v[k].usage)
                return false;
        }
    }
    return true;
}

bool wl_same_admission(const struct wl_admission *a, const struct wl_admission *b) {
    return same_admission(a, b);
}

static void put_admission(const struct sl_manager *m, const struct wl_admission *a, struct sl_buf *b) {
    char text[SL_QUANTITY_TEXT];
    if (!a)
        return;
    sl_buf_puts(b, ",\"admission\":{\"clusterQueue\":");
    sl_buf_json(b, str(m, a->cq));
    sl_buf_puts(b, ",\"podSetAssignments\":[");
    for (uint32_t i = 0; i < a->n; i++) {
        const struct wl_podset_admission *p = &a->v[i];
        bool first = true;
        sl_buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        sl_buf_json(b, str(m, p->name));
        sl_buf_printf(b, ",\"count\":%d,\"flavors\":{", p->count);
        for (uint32_t k = 0; k < p->n; k++) {
            if (!p->v[k].flavor)
                continue;
            sl_buf_puts(b, first ? "" : ",");
            first = false;
            sl_buf_json(b, str(m, p->v[k].resource));
            sl_buf_putc(b, ':');
            sl_buf_json(b, str(m, p->v[k].flavor));
        }
        sl_buf_puts(b, "},\"resourceUsage\":{");
        for (uint32_t k = 0; k < p->n; k++) {
            const char *resource = str(m, p->v[k].resource);
            sl_buf_puts(b, k ? "," : "");
            sl_buf_json(b, resource);
            sl_buf_printf(b, ":\"%s\"", sl_amount_format(resource, p->v[k].usage, text));
        }
        sl_buf_printf(b, "}%s}", p->topology ? p->topology : "");
    }
    sl_buf_puts(b, "]}");
}

static void put_checks(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    const struct wl_status *s = effective(w, WL_CHECKS);
    if (!s->checks.n)
        return;
    sl_buf_puts(b, ",\"admissionChecks\":[");
    for (uint32_t i = 0; i < s->checks.n; i++) {
        const struct wl_check *c = &s->checks.v[i], *now = find_check(&w->seen, c->name);
        if (!c->ours && now)
            c = now; /* its controller may have spoken meanwhile */
        sl_buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        sl_buf_json(b, str(m, c->name));
        sl_buf_printf(b, ",\"state\":\"%s\",\"message\":", sl_word(SL_VOCAB_CHECK_STATE, (int)c->state));
        sl_buf_json(b, c->message);
        sl_buf_puts(b, ",\"lastTransitionTime\":");
        jput_time(b, c->at);
        if (c->requeue_after_s >= 0)
            sl_buf_printf(b, ",\"requeueAfterSeconds\":%lld", (long long)c->requeue_after_s);
        if (c->retries >= 0)
            sl_buf_printf(b, ",\"retryCount\":%d", c->retries);
        if (c->updates)
            sl_buf_printf(b, ",\"podSetUpdates\":%s", c->updates);
        sl_buf_putc(b, '}');
    }
    sl_buf_putc(b, ']');
}

static bool same_checks(const struct wl_status *a, const struct wl_status *b) {
    if (a->checks.n != b->checks.n)
        return false;
    for (uint32_t i = 0; i < a->checks.n; i++) {
        const struct wl_check *x = &a->checks.v[i], *y = &b->checks.v[i];
        if (x->name != y->name || (x->ours && (x->state != y->state || strcmp(x->message, y->message) != 0)))
            return false;
    }
    return true;
}

static void put_requeue(const struct wl_status *s, struct sl_buf *b) {
    if (!s->requeues && !s->requeue_at)
        return;
    sl_buf_puts(b, ",\"requeueState\":{");
    if (s->requeues)
        sl_buf_printf(b, "\"count\":%d%s", s->requeues, s->requeue_at ? "," : "");
    if (s->requeue_at) {
        sl_buf_puts(b, "\"requeueAt\":");
        jput_time(b, s->requeue_at);
    }
    sl_buf_putc(b, '}');
}

static void put_evictions(const struct sl_manager *m, const struct wl_status *s, struct sl_buf *b) {
    if (!s->evictions.n)
        return;
    sl_buf_puts(b, ",\"schedulingStats\":{\"evictions\":[");
    for (uint32_t i = 0; i < s->evictions.n; i++) {
        const struct wl_eviction *x = &s->evictions.v[i];
        sl_buf_puts(b, i ? ",{\"reason\":" : "{\"reason\":");
        sl_buf_json(b, str(m, x->reason));
        sl_buf_puts(b, ",\"underlyingCause\":");
        sl_buf_json(b, str(m, x->cause));
        sl_buf_printf(b, ",\"count\":%lld}", (long long)x->count);
    }
    sl_buf_puts(b, "]}");
}

static void put_reclaimable(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    const int32_t *counts = effective(w, WL_RECLAIMABLE)->reclaimable;
    bool first = true;
    if (!counts)
        return;
    sl_buf_puts(b, ",\"reclaimablePods\":[");
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        if (!counts[i])
            continue;
        sl_buf_puts(b, first ? "{\"name\":" : ",{\"name\":");
        first = false;
        sl_buf_json(b, str(m, w->podsets[i].name));
        sl_buf_printf(b, ",\"count\":%d}", counts[i]);
    }
    sl_buf_putc(b, ']');
}

/* What it would take, while it waits. */
static void put_requests(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    const struct sl_podset_assignment *ps;
    struct sl_arena arena;
    char text[SL_QUANTITY_TEXT];
    sl_arena_init(&arena, (size_t)1 << 20);
    uint32_t n = sl_engine_requests(m->engine, w->id, &arena, &ps);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(b, i ? ",{\"name\":" : ",\"resourceRequests\":[{\"name\":");
        sl_buf_json(b, ps[i].name);
        sl_buf_puts(b, ",\"resources\":{");
        for (uint32_t k = 0; k < ps[i].n; k++) {
            sl_buf_puts(b, k ? "," : "");
            sl_buf_json(b, ps[i].v[k].resource);
            sl_buf_printf(b, ":\"%s\"", sl_amount_format(ps[i].v[k].resource, ps[i].v[k].usage, text));
        }
        sl_buf_puts(b, "}}");
    }
    sl_buf_puts(b, n ? "]" : "");
    sl_arena_done(&arena);
}

static bool same_counts(const struct rec_wl *w, const int32_t *a, const int32_t *b) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if ((a ? a[i] : 0) != (b ? b[i] : 0))
            return false;
    return true;
}

static bool same_evictions(const struct wl_status *a, const struct wl_status *b) {
    if (a->evictions.n != b->evictions.n)
        return false;
    for (uint32_t i = 0; i < a->evictions.n; i++) {
        const struct wl_eviction *x = &a->evictions.v[i], *y = &b->evictions.v[i];
        if (x->reason != y->reason || x->cause != y->cause || x->count != y->count)
            return false;
    }
    return true;
}

bool wl_differs(const struct rec_wl *w) {
    const struct wl_changes *c = w->want;
    const struct wl_status *seen = &w->seen;
    return conds_differ(w) ||
           ((c->fields & WL_ADMISSION) && !same_admission(c->s.admission, seen->admission)) ||
           ((c->fields & WL_REQUEUE) &&
            (c->s.requeues != seen->requeues || c->s.requeue_at / SL_SEC != seen->requeue_at / SL_SEC)) ||
           ((c->fields & WL_CHECKS) && !same_checks(&c->s, seen)) ||
           ((c->fields & WL_PAST) && c->s.past_exec_s != seen->past_exec_s) ||
           ((c->fields & WL_EVICTIONS) && !same_evictions(&c->s, seen)) ||
           ((c->fields & WL_RECLAIMABLE) && !same_counts(w, c->s.reclaimable, seen->reclaimable)) ||
           ((c->fields & WL_POSITIONS) && !wl_gates_same(c->s.gates, seen->gates));
}

/* A forced apply takes away what it no longer says, so it says everything that is ours. */
void wl_put_status(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    const struct wl_admission *a = effective(w, WL_ADMISSION)->admission;
    sl_buf_putc(b, '{');
    put_conds(m, w, b);
    put_admission(m, a, b);
    put_requeue(effective(w, WL_REQUEUE), b);
    put_checks(m, w, b);
    put_evictions(m, effective(w, WL_EVICTIONS), b);
    put_reclaimable(m, w, b);
    wl_gates_put(m, effective(w, WL_POSITIONS)->gates, b);
    if (effective(w, WL_PAST)->past_exec_s >= 0)
        sl_buf_printf(b, ",\"accumulatedPastExecutionTimeSeconds\":%lld",
                      (long long)effective(w, WL_PAST)->past_exec_s);
    if (!a && !wl_will(m, w, "Finished"))
        put_requests(m, w, b);
    sl_buf_putc(b, '}');
}
