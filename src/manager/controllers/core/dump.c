/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state as canonical JSON, and consistency checks. Two managers over the same API, idle, print
 * the same: everything is sorted, times are whole seconds, and internals of the engine (numbers,
 * sleeping workloads) are omitted. One object a line, for diff.
 */
#include <stdlib.h>
#include <string.h>

#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/pod/pods.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"
#include "manager/controllers/workload/workloads.h"

#define MAX_LINE ((size_t)64 << 20)

/* ---- JSON ---- */

/* `"key":`, after a comma unless it is the first of its map. */
static void put_key(struct sl_buf *b, const char *key) {
    sl_buf_puts(b, b->len && b->s[b->len - 1] != '{' ? "," : "");
    sl_buf_json(b, key);
    sl_buf_putc(b, ':');
}

static void put_str(struct sl_buf *b, const char *key, const char *value) {
    put_key(b, key);
    sl_buf_json(b, value);
}

static void put_int(struct sl_buf *b, const char *key, int64_t value) {
    put_key(b, key);
    sl_buf_printf(b, "%lld", (long long)value);
}

static void put_bool(struct sl_buf *b, const char *key, bool value) {
    put_key(b, key);
    sl_buf_puts(b, value ? "true" : "false");
}

static void put_amount(struct sl_buf *b, const char *key, const char *resource, sl_amount a) {
    char text[SL_QUANTITY_TEXT];
    put_str(b, key, sl_amount_format(resource, a, text));
}

/* Members of a map or a list, in whatever order they are found. */
struct members {
    SL_VEC(char *) v;
    struct sl_buf next; /* the one that is being written */
};

static void members_init(struct members *s) {
    *s = (struct members){0};
    sl_buf_init(&s->next, MAX_LINE);
}

static void members_push(struct members *s) {
    *sl_vec_push(&s->v) = sl_strdup(sl_buf_str(&s->next));
    sl_buf_clear(&s->next);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Writes them sorted and frees them. */
static void put_members(struct sl_buf *b, const char *open, struct members *s, const char *between,
                        const char *close) {
    if (s->v.n)
        qsort(s->v.v, s->v.n, sizeof *s->v.v, by_text);
    sl_buf_puts(b, open);
    for (uint32_t i = 0; i < s->v.n; i++) {
        sl_buf_puts(b, i ? between : "");
        sl_buf_puts(b, s->v.v[i]);
        sl_freep(&s->v.v[i]);
    }
    sl_buf_puts(b, close);
    sl_vec_free(&s->v);
    sl_buf_done(&s->next);
}

static void put_full_name(struct sl_buf *b, const char *ns, const char *name) {
    _cleanup_(sl_buf_done) struct sl_buf full = SL_BUF(1024);
    sl_buf_printf(&full, "%s%s%s", ns, *ns ? "/" : "", name);
    sl_buf_json(b, sl_buf_str(&full));
}

/* ---- queues and cohorts ---- */

static void put_usage(struct sl_buf *b, const struct sl_manager *m, bool cohort, const char *node) {
    struct members s;
    const char *flavor, *resource;
    uint32_t at = 0;

    members_init(&s);
    while (sl_engine_next_flavor_resource(m->engine, cohort, node, &at, &flavor, &resource)) {
        struct sl_engine_cell_view c;
        (void)sl_engine_cell(m->engine, cohort, node, flavor, resource, &c);
        put_full_name(&s.next, flavor, resource);
        sl_buf_puts(&s.next, ":{");
        put_amount(&s.next, "quota", resource, cohort ? c.subtree : c.nominal);
        put_amount(&s.next, "used", resource, c.usage);
        if (!cohort)
            put_amount(&s.next, "admitted", resource, c.admitted_usage);
        sl_buf_putc(&s.next, '}');
        members_push(&s);
    }
    put_key(b, "usage");
    put_members(b, "{", &s, ",", "}");
}

static void put_waiting(struct sl_buf *b, const struct sl_manager *m, const char *cq, uint32_t n) {
    sl_wl_id *ids = sl_alloc0(n + 1, sizeof *ids);
    uint32_t got = sl_engine_pending(m->engine, cq, 0, ids, n);
    struct sl_engine_wl_view v;
    struct members s;

    members_init(&s);
    for (uint32_t i = 0; i < got; i++) {
        (void)sl_engine_workload(m->engine, ids[i], &v);
        put_full_name(&s.next, v.ns, v.name);
        members_push(&s);
    }
    put_key(b, "waiting");
    put_members(b, "[", &s, ",", "]");
    sl_freep(&ids);
}

static void put_cq(struct sl_buf *b, const struct sl_manager *m, struct sl_rec *r) {
    struct sl_engine_cq_view v;
    if (!sl_engine_cq(m->engine, r->name, &v))
        return;
    put_bool(b, "active", v.active);
    put_str(b, "reason", v.active ? "Ready" : sl_word(SL_VOCAB_INACTIVE, (int)v.reason));
    put_int(b, "reserving", v.reserving);
    put_int(b, "admitted", v.admitted);
    put_usage(b, m, false, r->name);
    put_waiting(b, m, r->name, v.heap + v.asleep);
}

static void put_lq(struct sl_buf *b, const struct sl_manager *m, struct sl_rec *r) {
    struct sl_engine_lq_view v;
    if (!sl_engine_lq(m->engine, mgr_str(m, r->ns), r->name, &v))
        return;
    put_str(b, "clusterQueue", v.cq);
    put_int(b, "waiting", v.heap + v.asleep);
    put_int(b, "reserving", v.reserving);
    put_int(b, "admitted", v.admitted);
}

/* Also those that are only named by others, so not from the records. */
static void put_cohorts(struct sl_buf *b, const struct sl_manager *m) {
    struct members s;
    const char *parent, *root;
    uint32_t at = 0;

    members_init(&s);
    for (const char *name; (name = sl_engine_cohort_name(m->engine, &at));) {
        put_full_name(&s.next, "", name);
        sl_buf_puts(&s.next, ":{");
        put_bool(&s.next, "fine", sl_engine_parents(m->engine, true, name, &parent, &root));
        put_str(&s.next, "parent", parent);
        put_usage(&s.next, m, true, name);
        sl_buf_putc(&s.next, '}');
        members_push(&s);
    }
    put_key(b, "cohorts");
    put_members(b, "{\n", &s, ",\n", "\n}");
}

/* ---- workloads ---- */

static const char *phase_word(enum sl_engine_phase p) {
    static const char *const words[] = {
        [SL_PHASE_GONE] = "finished",     [SL_PHASE_BLOCKED] = "blocked",
        [SL_PHASE_HEAP] = "waiting",      [SL_PHASE_ASLEEP] = "waiting",
        [SL_PHASE_RESERVED] = "reserved", [SL_PHASE_ADMITTED] = "admitted",
        [SL_PHASE_FINISHED] = "finished",
    };
    return words[p];
}

static void put_assignment(struct sl_buf *b, const struct sl_manager *m, sl_wl_id id) {
    const struct sl_podset_assignment *ps;

    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_ASSIGNED);
    uint32_t n = sl_engine_assignment(m->engine, id, &arena, &ps);
    if (n) {
        put_key(b, "assignment");
        sl_buf_putc(b, '{');
    }
    for (uint32_t i = 0; i < n; i++) {
        struct members s;
        members_init(&s);
        for (uint32_t k = 0; k < ps[i].n; k++) {
            const struct sl_assigned *a = &ps[i].v[k];
            put_full_name(&s.next, a->flavor, a->resource);
            sl_buf_putc(&s.next, ':');
            char text[SL_QUANTITY_TEXT];
            sl_buf_json(&s.next, sl_amount_format(a->resource, a->usage, text));
            members_push(&s);
        }
        put_key(b, ps[i].name);
        sl_buf_putc(b, '{');
        put_int(b, "count", ps[i].count);
        put_key(b, "usage");
        put_members(b, "{", &s, ",", "}}");
    }
    sl_buf_puts(b, n ? "}" : "");
}

static void put_wl(struct sl_buf *b, const struct sl_manager *m, struct sl_rec *r) {
    const struct mgr_rec_wl *w = mgr_wl_of(r);
    struct sl_engine_wl_view v;
    bool known = sl_engine_workload(m->engine, w->id, &v);
    put_str(b, "uid", r->uid);
    put_str(b, "phase", w->bad ? "bad" : phase_word(v.phase));
    if (!known)
        return;
    put_str(b, "queue", v.queue);
    put_str(b, "clusterQueue", v.cq);
    put_bool(b, "evicting", v.evicting);
    put_int(b, "priority", (int64_t)v.priority + v.boost);
    put_int(b, "requeues", v.requeues);
    put_int(b, "requeueAt", v.requeue_at / SL_SEC);
    put_assignment(b, m, w->id);
    if (w->placed || w->exact)
        put_int(b, "places", (int64_t)mgr_tas_digest(m, w));
}

/* ---- all ---- */

static void put_kind(struct sl_buf *b, const struct sl_manager *m, enum mgr_rec_kind k,
                     void (*put)(struct sl_buf *, const struct sl_manager *, struct sl_rec *)) {
    struct members s;
    uint32_t at = 0;

    members_init(&s);
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, k, &at));) {
        put_full_name(&s.next, mgr_str(m, r->ns), r->name);
        sl_buf_puts(&s.next, ":{");
        put(&s.next, m, r);
        sl_buf_putc(&s.next, '}');
        members_push(&s);
    }
    put_key(b, mgr_kinds[k].plural);
    put_members(b, "{\n", &s, ",\n", "\n}");
}

void sl_manager_dump(const struct sl_manager *m, struct sl_buf *out) {
    sl_buf_putc(out, '{');
    put_kind(out, m, REC_CLUSTER_QUEUE, put_cq);
    put_cohorts(out, m);
    put_kind(out, m, REC_LOCAL_QUEUE, put_lq);
    put_kind(out, m, REC_WORKLOAD, put_wl);
    sl_buf_puts(out, "}\n");
}

/* ---- does it agree with itself? ---- */

static int check_record(const struct sl_manager *m, const struct sl_rec *r, struct sl_err *err) {
    const struct sl_rec *found = sl_inf_find(m->inf, r->kind, mgr_str(m, r->ns), r->name);
    if (found != r)
        return sl_err_set(err, SL_EMISMATCH, "%s %s/%s: %s under its name", r->table->kind->kind,
                          mgr_str(m, r->ns), r->name,
                          found ? "another one is found" : "nothing is found");
    return SL_OK;
}

static int check_workload(const struct sl_manager *m, const struct mgr_rec_wl *w,
                          struct sl_err *err) {
    const struct sl_rec *r = &w->rec;
    struct sl_engine_wl_view v;
    if (!w->id.v) {
        if (w->bad || r->queued || mgr_wl_condition_is_true(m, w, "Finished"))
            return SL_OK;
        return sl_err_set(err, SL_EMISMATCH, "workload %s/%s: the engine was never told",
                          mgr_str(m, r->ns), r->name);
    }
    if (sl_map_get(&m->workloads->by_id, w->id.v) != r->id)
        return sl_err_set(err, SL_EMISMATCH, "workload %s/%s: its id leads to another record",
                          mgr_str(m, r->ns), r->name);
    if (!sl_engine_workload(m->engine, w->id, &v))
        return sl_err_set(err, SL_EMISMATCH, "workload %s/%s: the engine does not know its id",
                          mgr_str(m, r->ns), r->name);
    if (strcmp(v.ns, mgr_str(m, r->ns)) != 0 || strcmp(v.name, r->name) != 0 ||
        strcmp(v.uid, r->uid) != 0)
        return sl_err_set(err, SL_EMISMATCH, "workload %s/%s: the engine means %s/%s (%s)",
                          mgr_str(m, r->ns), r->name, v.ns, v.name, v.uid);
    return SL_OK;
}

/* For the first pod of a Workload: its pods are found by name, and the count of gated ones is
 * right. */
static int check_workload_pods(const struct sl_manager *m, const struct mgr_rec_pod *p,
                               struct sl_err *err) {
    const struct mgr_workload_pods *c = p->siblings;
    uint32_t gated = 0;
    if (!c || c->pods != p)
        return SL_OK;
    for (const struct mgr_rec_pod *x = p; x; x = x->next)
        gated += x->gates != 0;
    if (mgr_workload_pods_find(m, c->ns, c->name) == c && gated == c->n_gated)
        return SL_OK;
    return sl_err_set(err, SL_EMISMATCH, "pods of %s/%s: %u are gated, %u were counted",
                      mgr_str(m, c->ns), c->name, gated, c->n_gated);
}

/* For the first pod of a group: the group is found by its name, and its pods by their uids. */
static int check_group(const struct sl_manager *m, const struct mgr_rec_pod *p,
                       struct sl_err *err) {
    const struct mgr_pod_group *g = p->job ? p->job->group : NULL;
    const struct mgr_rec_pod *before = NULL;
    uint32_t n = 0;
    if (!p->job || (g && g->pods != p))
        return SL_OK;
    bool fine =
        g && m->groups->v.v[g->id] == g && (g->single || mgr_group_find(m, g->ns, g->name) == g);
    for (const struct mgr_rec_pod *x = p; fine && x; before = x, x = x->job->next, n++)
        fine = x->job->group == g && x->job->prev == before && x->rec.ns == g->ns &&
               mgr_rec_by_uid(m, x->rec.uid) == &x->rec;
    if (fine && n == g->n && (!g->single || n == 1))
        return SL_OK;
    return sl_err_set(err, SL_EMISMATCH, "group of pod %s/%s: %u pods are in it, %u were counted",
                      mgr_str(m, p->rec.ns), p->rec.name, n, g ? g->n : 0);
}

int sl_manager_check(const struct sl_manager *m, struct sl_err *err) {
    struct sl_engine_stats stats;
    uint32_t n_known = 0;
    int r = sl_engine_check(m->engine, err);

    for (uint32_t i = 0; i < m->inf->recs.n && r >= 0; i++) {
        struct sl_rec *x = m->inf->recs.v[i];
        if (!x || x->gone)
            continue;
        r = check_record(m, x, err);
        if (r >= 0 && x->kind == REC_POD)
            r = check_workload_pods(m, mgr_pod_of(x), err);
        if (r >= 0 && x->kind == REC_POD)
            r = check_group(m, mgr_pod_of(x), err);
        if (r >= 0 && x->kind == REC_WORKLOAD && m->inf->ready) {
            r = check_workload(m, mgr_wl_of(x), err);
            n_known += mgr_wl_of(x)->id.v != 0;
        }
    }
    if (r < 0 || !m->inf->ready)
        return r;
    /* Each record's id leads back to it, so as many ids as records means that none is shared. */
    sl_engine_stats(m->engine, &stats);
    if (n_known != stats.workloads || n_known != m->workloads->by_id.n)
        return sl_err_set(err, SL_EMISMATCH,
                          "%u workloads have an id, %u ids lead back, the engine has %u", n_known,
                          m->workloads->by_id.n, stats.workloads);
    return SL_OK;
}
