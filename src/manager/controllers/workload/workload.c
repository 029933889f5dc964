/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads: taking the object in, and what the core controller does besides the engine: retention
 * of the finished, orphans, priorities that follow their class, deactivation.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"
#include "manager/controllers/workload/workload_int.h"
#include "manager/controllers/workload/workloads.h"

#define JOB_UID "kueue.x-k8s.io/job-uid"
#define GATED_BY "kueue.x-k8s.io/admission-gated-by"
#define BOOST "kueue.x-k8s.io/priority-boost"
#define SLICE_OF "kueue.x-k8s.io/workload-slice-replacement-for"
#define SLICE_NAME "kueue.x-k8s.io/workload-slice-name"
#define ELASTIC "kueue.x-k8s.io/elastic-job"
#define IS_GROUP "kueue.x-k8s.io/is-group-workload"
#define OWNER_GVK "kueue.x-k8s.io/job-owner-gvk"
#define COMPONENT "kueue.x-k8s.io/component-workload-index"
#define CONTROLLER "kueue-workload-controller"
#define MAX_REQUEST ((size_t)64 << 10) /* of a topologyRequest */
#define MAX_OWNERS ((size_t)16 << 20)  /* bytes of those that are no pods */

/* ---- finding ---- */

void mgr_workloads_new(struct sl_manager *m) {
    m->workloads = sl_alloc0(1, sizeof *m->workloads);
}

void mgr_workloads_end(struct sl_manager *m) {
    sl_map_done(&m->workloads->by_owner);
    sl_map_done(&m->workloads->by_id);
    sl_map_done(&m->workloads->by_job);
    sl_vec_free(&m->workloads->fresh);
    sl_vec_free(&m->workloads->held);
    sl_freep(&m->workloads);
}

struct mgr_rec_wl *mgr_wl_find(const struct sl_manager *m, const char *ns, const char *name) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_WORKLOAD, ns, name);
    return r ? mgr_wl_of(r) : NULL;
}

struct mgr_rec_wl *mgr_wl_by_id(const struct sl_manager *m, sl_wl_id id) {
    uint32_t obj = sl_map_get(&m->workloads->by_id, id.v);
    return obj == SL_MAP_NONE ? NULL : mgr_wl_of(m->inf->recs.v[obj]);
}

void mgr_wl_drop_id(struct sl_manager *m, struct mgr_rec_wl *w) {
    (void)sl_map_del(&m->workloads->by_id, w->id.v, w->rec.id);
    w->id = SL_WL_NONE;
}

bool mgr_wl_older(const struct mgr_rec_wl *a, const struct mgr_rec_wl *b) {
    if (a->rec.created != b->rec.created)
        return a->rec.created < b->rec.created;
    return strcmp(a->rec.name, b->rec.name) < 0;
}

struct mgr_rec_wl *mgr_wl_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor) {
    uint64_t h = sl_hash_str(0, uid);
    for (uint32_t i; (i = sl_map_each(&m->workloads->by_owner, h, cursor)) != SL_MAP_NONE;) {
        struct mgr_rec_wl *w = mgr_wl_of(m->inf->recs.v[i]);
        if (!w->rec.gone && w->owner_uid && strcmp(w->owner_uid, uid) == 0)
            return w;
    }
    return NULL;
}

struct mgr_rec_wl *mgr_wl_for_job(const struct sl_manager *m, const char *uid, uint32_t *cursor) {
    uint64_t h = sl_hash_str(0, uid);
    for (uint32_t i; (i = sl_map_each(&m->workloads->by_job, h, cursor)) != SL_MAP_NONE;) {
        struct mgr_rec_wl *w = mgr_wl_of(m->inf->recs.v[i]);
        if (!w->rec.gone && strcmp(w->job_uid, uid) == 0)
            return w;
    }
    return NULL;
}

/* ---- taking in ---- */

static char *dup_or_null(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static bool replace(char **text, const char *s) {
    if (strcmp(*text ? *text : "", s) == 0)
        return false;
    sl_freep(text);
    *text = dup_or_null(s);
    return true;
}

static int by_number(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Those that own it besides the controller: pods of a group are many. */
static void take_owners(struct mgr_rec_wl *w, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(MAX_OWNERS);
    struct sl_jw j = SL_JW(&others);
    sl_vec_clear(&w->pods);
    yyjson_arr_foreach (list, i, n, v) {
        if (sl_json_bool(v, "controller", false))
            continue;
        if (strcmp(sl_json_str(v, "kind"), "Pod") == 0 &&
            strcmp(sl_json_str(v, "apiVersion"), "v1") == 0) {
            *sl_vec_push(&w->pods) = sl_hash_str(0, sl_json_str(v, "uid"));
            continue;
        }
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_val(&j, NULL, v);
    }
    if (w->pods.n > 1)
        qsort(w->pods.v, w->pods.n, sizeof *w->pods.v, by_number);
    sl_jw_end_to(&j, 0);
    (void)replace(&w->owners, sl_buf_str(&others));
}

bool mgr_wl_has_pod(const struct mgr_rec_wl *w, const char *uid) {
    uint64_t key = sl_hash_str(0, uid);
    return w->pods.n && bsearch(&key, w->pods.v, w->pods.n, sizeof key, by_number);
}

static void take_owner(struct sl_manager *m, struct mgr_rec_wl *w, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v, *controller = NULL;
    const char *group = "";
    yyjson_arr_foreach (list, i, n, v)
        if (sl_json_bool(v, "controller", false))
            controller = v;
    w->has_owner = yyjson_arr_size(list) > 0;
    const char *uid = sl_json_str(controller, "uid"), *api = sl_json_str(controller, "apiVersion"),
               *slash = strchr(api, '/');
    char *own = slash ? strndup(api, (size_t)(slash - api)) : NULL;
    if (own)
        group = own;
    w->owner_kind = sl_sym_put(m->syms, sl_json_str(controller, "kind"));
    w->owner_group = sl_sym_put(m->syms, group);
    w->owner_api = sl_sym_put(m->syms, api);
    free(own);
    (void)replace(&w->owner_name, sl_json_str(controller, "name"));
    if (strcmp(w->owner_uid ? w->owner_uid : "", uid) == 0)
        return;
    if (w->owner_uid)
        (void)sl_map_del(&m->workloads->by_owner, sl_hash_str(0, w->owner_uid), w->rec.id);
    (void)replace(&w->owner_uid, uid);
    if (w->owner_uid)
        sl_map_add(&m->workloads->by_owner, sl_hash_str(0, uid), w->rec.id);
}

static void take_job(struct sl_manager *m, struct mgr_rec_wl *w, const char *uid) {
    if (strcmp(w->job_uid ? w->job_uid : "", uid) == 0)
        return;
    if (w->job_uid)
        (void)sl_map_del(&m->workloads->by_job, sl_hash_str(0, w->job_uid), w->rec.id);
    (void)replace(&w->job_uid, uid);
    if (w->job_uid)
        sl_map_add(&m->workloads->by_job, sl_hash_str(0, uid), w->rec.id);
}

static void drop_podsets(struct sl_manager *m, struct mgr_rec_wl *w) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (w->podsets[i].template)
            mgr_template_unref(m, w->podsets[i].template);
    sl_freep(&w->podsets);
    w->n_podsets = 0;
}

static bool requests_topology(yyjson_val *request) {
    static const char *const keys[] = {"required",        "preferred",
                                       "unconstrained",   "podSetSliceRequiredTopology",
                                       "podSetSliceSize", "podsetSliceRequiredTopologyConstraints"};
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (sl_json_at(request, keys[i]))
            return true;
    return false;
}

static bool readable(yyjson_val *request) {
    yyjson_val *layers = yyjson_obj_get(request, "podsetSliceRequiredTopologyConstraints"), *v;
    size_t i, n;
    if (yyjson_arr_size(layers) > SL_TOPO_MAX_SLICES)
        return false;
    yyjson_arr_foreach (layers, i, n, v)
        if (!*sl_json_str(v, "topology") || sl_json_int(v, "size", 0) < 1 ||
            sl_json_int(v, "size", 0) > INT32_MAX)
            return false;
    return true;
}

static void take_request(struct sl_manager *m, const struct mgr_rec_wl *w, struct mgr_wl_podset *p,
                         bool was_unread, yyjson_val *request) {
    struct sl_buf b;
    sl_buf_init(&b, MAX_REQUEST);
    if (request)
        sl_json_put(&b, request);
    p->unread = sl_buf_full(&b) || !readable(request);
    p->request = p->unread ? 0 : sl_sym_put(m->syms, sl_buf_str(&b));
    sl_buf_done(&b);
    if (p->unread && !was_unread)
        sl_log(SL_LOG_WARN, "Workload not queued", SL_S("namespace", mgr_str(m, w->rec.ns)),
               SL_S("name", w->rec.name), SL_S("podset", mgr_str(m, p->name)),
               SL_S("reason", WL_UNREAD));
}

static void take_podsets(struct sl_manager *m, struct mgr_rec_wl *w, yyjson_val *list) {
    size_t i, n, total = yyjson_arr_size(list);
    yyjson_val *v;
    struct mgr_wl_podset *old = w->podsets;
    uint32_t n_old = w->n_podsets;

    if (total > SL_MAX_PODSETS) { /* no admission of a part of it: it is refused whole */
        sl_log(SL_LOG_WARN, "Workload not queued", SL_S("namespace", mgr_str(m, w->rec.ns)),
               SL_S("name", w->rec.name), SL_S("reason", "too many pod sets"),
               SL_I("podsets", (int64_t)total), SL_I("limit", SL_MAX_PODSETS));
        total = 0;
    }
    w->podsets = total ? sl_alloc0(total, sizeof *w->podsets) : NULL;
    w->n_podsets = (uint32_t)total;
    yyjson_arr_foreach (list, i, n, v) {
        if (i >= total)
            break;
        const char *name = sl_json_str(v, "name");
        w->podsets[i] = (struct mgr_wl_podset){
            .name = sl_sym_put(m->syms, *name ? name : "main"),
            .group = sl_sym_put(m->syms, sl_json_str(v, "topologyRequest.podSetGroupName")),
            .count = (int32_t)sl_json_int(v, "count", 1),
            .min_count = m->settings->gates[SL_G_PARTIAL_ADMISSION]
                             ? (int32_t)sl_json_int(v, "minCount", 0)
                             : 0,
            .topology = requests_topology(yyjson_obj_get(v, "topologyRequest")),
            .template = mgr_template_get(m, yyjson_obj_get(v, "template")),
        };
        if (mgr_tas_runs(m))
            take_request(m, w, &w->podsets[i], i < n_old && old[i].unread,
                         yyjson_obj_get(v, "topologyRequest"));
    }
    for (uint32_t k = 0; k < n_old; k++) /* after the new ones, so that what they share stays */
        mgr_template_unref(m, old[k].template);
    sl_freep(&old);
}

static int32_t boost_of(const char *s) {
    char *end;
    long long v = strtoll(s, &end, 10);
    return end == s || *end || v < INT32_MIN || v > INT32_MAX ? 0 : (int32_t)v;
}

bool mgr_wl_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *meta = yyjson_obj_get(o, "metadata");

    if (w->spec_generation != r->generation || !r->generation || !w->podsets) {
        w->spec_generation = r->generation;
        w->queue = sl_sym_put(m->syms, sl_json_str(spec, "queueName"));
        w->class_kind = sl_sym_put(m->syms, sl_json_str(spec, "priorityClassRef.kind"));
        w->class_name = sl_sym_put(m->syms, sl_json_str(spec, "priorityClassRef.name"));
        w->priority = (int32_t)sl_json_int(spec, "priority", 0);
        w->active = sl_json_bool(spec, "active", true);
        w->max_exec_s = sl_json_int(spec, "maximumExecutionTimeSeconds", 0);
        take_podsets(m, w, yyjson_obj_get(spec, "podSets"));
        sl_freep(&w->gates);
        w->gates = mgr_wl_gates_read(m, yyjson_obj_get(spec, "preemptionGates"));
    }
    take_owner(m, w, yyjson_obj_get(meta, "ownerReferences"));
    take_owners(w, yyjson_obj_get(meta, "ownerReferences"));
    mgr_chain_index_remove(m, w);
    take_job(m, w, sl_json_label(o, JOB_UID));
    w->serving = *sl_json_annotation(o, OWNER_GVK);
    w->component = mgr_parse_go_int(sl_json_annotation(o, COMPONENT), -1);
    (void)replace(&w->gate, sl_json_annotation(o, GATED_BY));
    (void)replace(&w->slice_of, sl_json_annotation(o, SLICE_OF));
    (void)replace(&w->slice_name, sl_json_annotation(o, SLICE_NAME));
    (void)replace(&w->succeeded, sl_json_annotation(o, GROUP_SUCCEEDED));
    w->group = strcmp(sl_json_annotation(o, IS_GROUP), "true") == 0;
    w->elastic = strcmp(sl_json_annotation(o, ELASTIC), "true") == 0;
    mgr_chain_index_add(m, w);
    w->boost = boost_of(sl_json_annotation(o, BOOST));
    sl_freep(&w->parameters);
    w->parameters = mgr_prov_read_parameters(o);
    mgr_wl_status_read(m, w, yyjson_obj_get(o, "status"));
    mgr_wl_drop_outdated(m, w);
    mgr_wl_note_release(m, w);
    return true;
}

void mgr_wl_decode_again(struct mgr_rec_wl *w) {
    w->spec_hash = 0;
    sl_rec_enqueue(&w->rec);
}

/* ---- the core controller ---- */

/* Made for a job that is gone, or refers to one that never existed. */
static bool is_orphan(const struct mgr_rec_wl *w) {
    return !w->has_owner && (w->rec.deleting || w->job_uid);
}

static void retain(struct sl_manager *m, struct mgr_rec_wl *w) {
    sl_span keep = m->settings->keep_finished;
    const struct mgr_cond *c = mgr_wl_cond(m, w, "Finished");
    if (keep == SL_TIME_NEVER || w->rec.deleting)
        return;
    sl_time until = sl_time_add(c->at, keep);
    if (until > m->spec.client->wall) {
        sl_rec_reconcile_at(&w->rec, until);
        return;
    }
    if (!(w->pending & WL_DELETE))
        sl_rec_event(&w->rec, CONTROLLER, false, "Deleted",
                     "Deleted finished workload due to elapsed retention");
    mgr_wl_set_pending(w, WL_UNFINALIZE | WL_DELETE);
}

/* spec.priority follows the value of the class, also of those that run. */
static void follow_class(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (strcmp(mgr_str(m, w->class_kind), "WorkloadPriorityClass") != 0)
        return;
    struct sl_rec *c =
        sl_inf_find(m->inf, REC_WORKLOAD_PRIORITY_CLASS, "", mgr_str(m, w->class_name));
    if (!c || c->deleting || mgr_conf_of(c)->value == w->priority)
        return;
    struct mgr_priority p = {(int32_t)mgr_conf_of(c)->value, "kueue.x-k8s.io",
                             "WorkloadPriorityClass", mgr_str(m, w->class_name)};
    mgr_wl_set_pending_priority(m, w, &p);
}

/* The cause stands in DeactivationTarget until the workload is switched off and evicted. */
static void deactivate(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (!mgr_wl_condition_is_true(m, w, "DeactivationTarget"))
        return;
    if (w->active)
        mgr_wl_set_pending(w, WL_INACTIVE);
    else if (mgr_wl_condition_is_true(m, w, "Evicted") || !w->seen.admission)
        mgr_wl_drop_cond(m, w, "DeactivationTarget");
}

void mgr_wl_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_of(r);
    bool finished = mgr_wl_condition_is_true(m, w, "Finished");

    if (w->pending || w->desired)
        sl_rec_write(r);
    mgr_job_workload_changed(m, w, false);
    mgr_group_workload_changed(m, w, false);
    mgr_serving_workload_changed(m, w, false);
    mgr_chain_changed(m, w);
    if (m->spec.parts.core && is_orphan(w)) {
        if (!r->deleting && !finished && m->settings->gates[SL_G_FINISH_ORPHANED_WORKLOADS])
            mgr_wl_finish(m, w, "OwnerNotFound", "The workload's owner no longer exists");
        mgr_wl_set_pending(w, WL_UNFINALIZE);
    }
    mgr_wl_observe(m, w);
    mgr_tas_workload_changed(m, w);
    mgr_prov_workload_changed(m, w);
    if (!m->spec.parts.core)
        return;
    if (m->settings->gates[SL_G_MULTI_KUEUE_ORCHESTRATED_PREEMPTION])
        mgr_wl_gates_sync(m, w);
    if (finished) {
        retain(m, w);
        return;
    }
    follow_class(m, w);
    deactivate(m, w);
}

void mgr_wl_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_of(r);
    w->release_refused = true;
    mgr_wl_note_release(m, w);
    if (w->id.v) {
        struct sl_engine_wl_view v;
        struct sl_fact f = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
        if (sl_engine_workload(m->engine, w->id, &v))
            mgr_cq_touch(m, v.cq);
        (void)mgr_apply_fact(m, &f, NULL);
        mgr_wl_drop_id(m, w);
    }
    mgr_lq_touch(m, r->ns, mgr_str(m, w->queue));
    mgr_job_workload_changed(m, w, true);
    mgr_group_workload_changed(m, w, true);
    mgr_serving_workload_changed(m, w, true);
    mgr_prov_workload_gone(m, w);
    if (w->job_uid)
        (void)sl_map_del(&m->workloads->by_job, sl_hash_str(0, w->job_uid), r->id);
    mgr_chain_index_remove(m, w);
    if (w->owner_uid)
        (void)sl_map_del(&m->workloads->by_owner, sl_hash_str(0, w->owner_uid), r->id);
    drop_podsets(m, w);
}

void mgr_wl_done(struct sl_rec *r) {
    struct mgr_rec_wl *w = mgr_wl_of(r);
    char **texts[] = {&w->owner_name,   &w->owner_uid,  &w->job_uid,       &w->gate,
                      &w->slice_of,     &w->slice_name, &w->pending_owner, &w->pending_spec,
                      &w->pending_gate, &w->owners,     &w->succeeded,     &w->pending_succeeded};
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
    sl_freep(&w->parameters);
    mgr_prov_make_none(w);
    sl_freep(&w->podsets); /* templates went with 'gone', or go with the manager */
    sl_freep(&w->gates);
    sl_vec_free(&w->pods);
    mgr_wl_status_done(&w->seen);
    mgr_wl_changes_free(&w->desired);
    mgr_wl_changes_free(&w->sent);
}
