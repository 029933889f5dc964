/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds with few objects: namespaces, classes, limits, flavors, checks, queues. Their text is
 * cached; facts for the engine are decoded from it by the same decoder that reads manifests
 * (src/kube/types/kueue), leniently: the API server has validated it, and a field that is newer
 * than Sluice must not hide a queue.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/queue/limit_range.h"
#include "manager/controllers/topology/topology.h"

#define MAX_TEXT ((size_t)16 << 20) /* no object is larger */
#define CHECK_PATIENCE (5 * SL_SEC) /* until a check is reported to have no controller */

/* ---- taking in ---- */

static void put_value(struct sl_jw *j, const char *key, yyjson_val *v) {
    if (v && !yyjson_is_null(v))
        sl_jw_val(j, key, v);
}

static void put_metadata(struct sl_jw *j, yyjson_val *meta) {
    static const char *const kept[] = {"name", "namespace", "labels", "deletionTimestamp"};
    sl_jw_object(j, "metadata");
    for (size_t i = 0; i < SL_LEN(kept); i++)
        put_value(j, kept[i], yyjson_obj_get(meta, kept[i]));
    sl_jw_end(j);
}

static void take_conditions(struct mgr_rec_conf *c, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    c->has_active = false;
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(sl_json_str(v, "type"), "Active") == 0) {
            c->has_active = true;
            c->active = strcmp(sl_json_str(v, "status"), "True") == 0;
            c->active_since = sl_json_time(v, "lastTransitionTime");
        } else {
            if (j.depth == 0)
                sl_jw_array(&j, NULL);
            sl_jw_val(&j, NULL, v);
        }
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&c->others);
    if (others.len)
        c->others = sl_strdup(sl_buf_str(&others));
}

bool mgr_conf_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    const struct sl_rec_kind *k = r->table->kind;
    yyjson_val *status = yyjson_obj_get(o, "status"), *key, *val;
    size_t i, n;

    (void)ctx;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", k->api_version);
    sl_jw_str(&j, "kind", k->kind);
    put_metadata(&j, yyjson_obj_get(o, "metadata"));
    sl_obj_foreach (o, i, n, key, val) {
        const char *s = sl_json_text(key);
        if (strcmp(s, "apiVersion") != 0 && strcmp(s, "kind") != 0 && strcmp(s, "metadata") != 0 &&
            strcmp(s, "status") != 0)
            put_value(&j, s, val);
    }
    sl_jw_end(&j);
    take_conditions(c, yyjson_obj_get(status, "conditions"));
    uint64_t hash = sl_hash_u64(sl_hash_str(0, sl_buf_str(&b)),
                                r->kind == REC_CHECK && c->has_active && c->active);
    if (r->kind == REC_CLUSTER_QUEUE)
        hash = sl_hash_u64(hash, c->exact = mgr_exact_decode(o));
    uint64_t status_hash = sl_json_hash(1, status);
    bool changed = hash != c->hash || status_hash != c->status;
    c->hash = hash;
    c->status = status_hash;
    sl_freep(&c->text);
    c->text = sl_strdup(sl_buf_str(&b));
    return changed;
}

uint32_t mgr_conf_lane(const struct sl_rec *r) {
    return SL_CONTAINER_OF(r, const struct mgr_rec_conf, rec)->has_active ? 1 : 0;
}

void mgr_conf_done(struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    sl_freep(&c->text);
    sl_freep(&c->others);
}

/* ---- facts for the engine ---- */

/* Leaves the engine without it, as if it had never been there. */
static void report_none(struct sl_manager *m, const struct sl_rec *r) {
    static const enum sl_fact_kind gone[REC_KINDS] = {
        [REC_NAMESPACE] = SL_FACT_NAMESPACE_GONE,
        [REC_FLAVOR] = SL_FACT_FLAVOR_GONE,
        [REC_CHECK] = SL_FACT_CHECK_GONE,
        [REC_COHORT] = SL_FACT_COHORT_GONE,
        [REC_CLUSTER_QUEUE] = SL_FACT_CLUSTER_QUEUE_GONE,
        [REC_LOCAL_QUEUE] = SL_FACT_LOCAL_QUEUE_GONE,
    };
    struct sl_fact f = {.kind = gone[r->kind]};
    f.gone.ns = mgr_str(m, r->ns);
    f.gone.name = r->name;
    (void)mgr_apply_fact(m, &f, NULL);
}

static void warned(void *ctx, uint32_t line, const char *text) {
    const struct sl_rec *r = ctx;
    (void)line;
    sl_log(SL_LOG_WARN, "unexpected value in object", SL_S("kind", r->table->kind->kind),
           SL_S("name", r->name), SL_S("error", text));
}

/* Applies the object to the engine if it has changed. */
static bool report_object(struct sl_manager *m, struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    struct sl_doc *d = NULL;
    struct sl_err err = {0};
    struct sl_kueue_object x;

    if (c->applied == c->hash)
        return false;
    bool before = c->applied != 0;
    c->applied = c->hash;
    if (sl_doc_json_within(r->name, c->text, strlen(c->text), CEILING_ASKED_VALUES, &d, &err) < 0) {
        sl_log(SL_LOG_WARN, "malformed object ignored", SL_S("kind", r->table->kind->kind),
               SL_S("name", r->name), SL_S("error", err.text));
        if (before)
            report_none(m, r);
        return before;
    }
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_OBJECT);
    struct sl_read rd = {
        .file = r->name, .arena = &arena, .err = &err, .warn = warned, .warn_ctx = r};
    sl_kueue_object_decode(&rd, &d->roots[0], &x);
    bool fine = x.kind == SL_KUEUE_OBJECT_FACT;
    if (rd.n_wrong || sl_arena_full(&arena)) {
        /* Unknown fields may be newer than we are. Errors in known ones are not: the object is
         * ignored as a whole, since a part of it would mean something else. */
        sl_log(SL_LOG_WARN, "malformed object ignored", SL_S("kind", r->table->kind->kind),
               SL_S("name", r->name));
        if (before)
            report_none(m, r);
    } else if (fine) {
        if (r->kind == REC_CHECK)
            x.fact.check.active = c->has_active && c->active; /* set by its controller */
        if (r->kind == REC_FLAVOR)
            mgr_tas_flavor(m, r, &x.fact.flavor, &arena);
        if (r->kind == REC_CLUSTER_QUEUE)
            x.fact.cq.exact_nodes = mgr_exact_queue(m, r);
        fine = mgr_apply_fact(m, &x.fact, NULL);
        if (!fine && before)
            report_none(m, r);
    }
    sl_doc_free(d);
    return fine;
}

static void report_gone(struct sl_manager *m, struct sl_rec *r, enum sl_fact_kind kind) {
    struct sl_fact f = {.kind = kind};
    f.gone.ns = mgr_str(m, r->ns);
    f.gone.name = r->name;
    if (mgr_conf_of(r)->applied)
        (void)mgr_apply_fact(m, &f, NULL);
}

void mgr_conf_resync(struct sl_rec *r) {
    mgr_conf_of(r)->applied = 0;
    sl_rec_enqueue(r);
}

static void mark_all(struct sl_manager *m, uint32_t k, sl_sym ns) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, k, &at));)
        if (!ns || r->ns == ns)
            sl_rec_enqueue(r);
}

static void mark_jobs(struct sl_manager *m, sl_sym ns) {
    uint32_t at = 0;
    for (uint32_t k; (k = mgr_job_each_kind(m, &at)) != REC_NAMESPACE;)
        mark_all(m, k, ns);
    mark_all(m, REC_STATEFULSET, ns);
    mark_all(m, REC_LWS, ns);
    mgr_groups_touch(m);
}

/* ---- what changes with each kind ---- */

void mgr_ns_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    if (report_object(m, r) && m->inf->ready) /* the selector may choose them now, or no longer */
        mark_jobs(m, sl_sym_put(m->syms, r->name));
}

void mgr_ns_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_NAMESPACE_GONE);
}

/* Every workload of the class gets the new value; so do jobs that waited for the class to exist. */
void mgr_class_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    yyjson_val *root = yyjson_doc_get_root(d);
    bool changed = c->applied != c->hash;

    c->applied = c->hash;
    c->value = sl_json_int(root, "value", 0);
    c->chosen = sl_json_bool(root, "globalDefault", false);
    yyjson_doc_free(d);
    if (!changed)
        return;
    sl_sym name = sl_sym_find(m->syms, r->name);
    uint32_t at = 0;
    for (struct sl_rec *w;
         r->kind == REC_WORKLOAD_PRIORITY_CLASS && (w = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
        if (mgr_wl_of(w)->class_name == name && mgr_wl_of(w)->class_name)
            sl_rec_enqueue(w);
    if (m->inf->ready)
        mark_jobs(m, 0);
}

void mgr_class_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    mgr_drop_class_series(m, r->name); /* workloads that have its value keep it */
}

/* Requests of pods may count differently now. */
static void retemplate(struct sl_manager *m, sl_sym ns) {
    if (m->inf->ready) {
        mgr_template_forget_shapes(m);
        uint32_t at = 0;
        for (struct sl_rec *w; (w = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
            if (!ns || w->ns == ns)
                mgr_wl_decode_again(mgr_wl_of(w));
    }
}

void mgr_limits_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    if (!c->applied)
        mgr_limits_add(m, r);
    if (c->applied != c->hash)
        retemplate(m, r->ns);
    c->applied = c->hash;
}

void mgr_limits_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    mgr_limits_drop(m, r);
    retemplate(m, r->ns);
}

void mgr_runtime_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    if (c->applied != c->hash)
        retemplate(m, 0);
    c->applied = c->hash;
}

void mgr_runtime_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    (void)r;
    retemplate(m, 0);
}

static void enqueue_writes(struct sl_manager *m, enum mgr_rec_kind k) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, k, &at));)
        sl_rec_write(r);
}

static void enqueue_deleting(struct sl_manager *m, enum mgr_rec_kind k) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, k, &at));)
        if (r->deleting)
            sl_rec_write(r);
}

/* A flavor or a check that is being deleted goes when the last queue has let it go. */
static void enqueue_unused(struct sl_manager *m) {
    enqueue_deleting(m, REC_FLAVOR);
    enqueue_deleting(m, REC_CHECK);
}

void mgr_flavor_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    if (report_object(m, r))
        enqueue_writes(m, REC_CLUSTER_QUEUE);
    sl_rec_write(r);
}

void mgr_flavor_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_FLAVOR_GONE);
    enqueue_writes(m, REC_CLUSTER_QUEUE);
    mgr_tas_flavor_gone(m, r);
    mgr_conf_of(r)->refers = 0;
    enqueue_deleting(m, REC_TOPOLOGY);
}

/* Queues with a check that no controller handles stay inactive: that is reported on the check,
 * once. */
static void report_unanswered(struct sl_manager *m, struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    sl_time at = sl_time_add(r->created, CHECK_PATIENCE), now = m->spec.client->wall;

    if (c->chosen || c->has_active || c->unanswered || r->deleting)
        return;
    if (at > now || !m->leads) {
        sl_rec_reconcile_at(r, at > now ? at : sl_time_add(now, CHECK_PATIENCE));
        return;
    }
    c->unanswered = true;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    sl_rec_event(
        r, "kueue-admission", true, "NoController",
        "No controller has set condition Active of this check, and its ClusterQueues wait for "
        "that: install the one that answers '%s', or take the check out of them",
        sl_json_str(sl_json_at(yyjson_doc_get_root(d), "spec"), "controllerName"));
}

void mgr_check_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    mgr_prov_check_changed(m, r);
    report_unanswered(m, r);
    if (report_object(m, r))
        enqueue_writes(m, REC_CLUSTER_QUEUE);
    sl_rec_write(r);
}

void mgr_check_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_CHECK_GONE);
    enqueue_writes(m, REC_CLUSTER_QUEUE);
}

void mgr_cohort_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    if (report_object(m, r))
        enqueue_writes(m, REC_CLUSTER_QUEUE);
    sl_rec_write(r);
}

void mgr_cohort_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_COHORT_GONE);
    mgr_drop_cohort_series(m, r->name);
    enqueue_writes(m, REC_CLUSTER_QUEUE);
}

/* Workloads that hold quota of a queue which was not known when they were first seen. */
static void settle_reservations(struct sl_manager *m, sl_sym cq) {
    uint32_t at = 0;
    for (struct sl_rec *w; (w = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
        if (mgr_wl_of(w)->seen.admission && mgr_wl_of(w)->seen.admission->cq == cq)
            sl_rec_enqueue(w);
}

void mgr_cq_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    bool first = !mgr_conf_of(r)->applied;
    if (report_object(m, r)) {
        sl_sym name = sl_sym_put(m->syms, r->name);
        uint32_t at = 0;
        if (first)
            settle_reservations(m, name);
        for (struct sl_rec *l; (l = sl_inf_each(m->inf, REC_LOCAL_QUEUE, &at));)
            if (mgr_conf_of(l)->refers == name)
                sl_rec_write(l);
        enqueue_unused(m);
    }
    sl_rec_write(r);
}

void mgr_cq_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_CLUSTER_QUEUE_GONE);
    enqueue_unused(m);
    enqueue_writes(m, REC_LOCAL_QUEUE);
    mgr_drop_cq_series(m, r->name);
}

void mgr_lq_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    c->refers = sl_sym_put(m->syms, sl_json_str(yyjson_doc_get_root(d), "spec.clusterQueue"));
    mgr_lq_choose(m, r, yyjson_doc_get_root(d));
    yyjson_doc_free(d);
    if (report_object(m, r))
        mgr_cq_touch(m, mgr_str(m, c->refers));
    sl_rec_write(r);
}

void mgr_lq_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    report_gone(m, r, SL_FACT_LOCAL_QUEUE_GONE);
    mgr_cq_touch(m, mgr_str(m, mgr_conf_of(r)->refers));
    mgr_drop_lq_series(m, mgr_str(m, r->ns), r->name);
}

void mgr_cq_touch(struct sl_manager *m, const char *cq) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", cq);
    if (r)
        sl_rec_write_at(r, m->spec.client->mono + STATUS_DELAY);
    if (m->settings->engine.fair_sharing) { /* shares of neighbours move as well */
        uint32_t at = 0;
        for (struct sl_rec *x; (x = sl_inf_each(m->inf, REC_COHORT, &at));)
            sl_rec_write_at(x, m->spec.client->mono + STATUS_DELAY);
        at = 0;
        for (struct sl_rec *x; (x = sl_inf_each(m->inf, REC_CLUSTER_QUEUE, &at));)
            sl_rec_write_at(x, m->spec.client->mono + STATUS_DELAY);
    }
}

void mgr_lq_touch(struct sl_manager *m, sl_sym ns, const char *lq) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_LOCAL_QUEUE, mgr_str(m, ns), lq);
    if (r)
        sl_rec_write_at(r, m->spec.client->mono + STATUS_DELAY);
}
