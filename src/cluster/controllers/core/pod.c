/* SPDX-License-Identifier: Apache-2.0 */
/* Cached state of a pod, and the order of its writers. */
#include "cluster/controllers/apps/apps.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/network/network.h"
#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define TRACKING "batch.kubernetes.io/job-tracking"

/* ---- reading ---- */

static enum cl_pod_phase phase_of(const char *s) {
    static const char *const names[] = {[CL_POD_PENDING] = "Pending",
                                        [CL_POD_RUNNING] = "Running",
                                        [CL_POD_SUCCEEDED] = "Succeeded",
                                        [CL_POD_FAILED] = "Failed"};
    for (size_t i = 0; i < SL_LEN(names); i++)
        if (strcmp(names[i], s) == 0)
            return (enum cl_pod_phase)i;
    return *s ? CL_POD_UNKNOWN : CL_POD_PENDING;
}

/* A whole number in an annotation; 'fallback' if it is none. */
static int64_t number_of(const char *s, int64_t fallback) {
    char *end;
    long long v = strtoll(s, &end, 10);
    return *s && !*end ? v : fallback;
}

static int32_t count_of(const char *s, int32_t fallback) {
    int64_t v = number_of(s, fallback);
    return v >= 0 && v <= INT32_MAX ? (int32_t)v : fallback;
}

static void take_finalizers(struct cl_pod *p, yyjson_val *list) {
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(CL_MAX_COPY);
    size_t i, n;
    yyjson_val *v;
    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_opt(v);
        if (s && strcmp(s, TRACKING) == 0) {
            p->f.tracked = true;
        } else if (s) {
            if (j.depth == 0)
                sl_jw_array(&j, NULL);
            sl_jw_str(&j, NULL, s);
        }
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&p->finalizers);
    p->finalizers = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
}

static void take_conditions(struct cl_pod *p, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v) {
        const char *type = sl_json_str(v, "type"), *reason = sl_json_str(v, "reason");
        bool is = strcmp(sl_json_str(v, "status"), "True") == 0;
        if (strcmp(type, "Ready") == 0 && is) {
            p->f.ready_since = sl_json_time(v, "lastTransitionTime");
            p->f.ready_since = p->f.ready_since ? p->f.ready_since : 1;
        } else if (strcmp(type, "DisruptionTarget") == 0) {
            p->f.disrupted = is;
        } else if (strcmp(type, "PodScheduled") == 0 && !is) {
            p->f.unschedulable = strcmp(reason, "Unschedulable") == 0;
            p->f.gate_reported = strcmp(reason, "SchedulingGated") == 0;
        }
    }
}

static void take_containers(struct cl_pod *p, yyjson_val *status, bool failed,
                            struct sl_jw *codes) {
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    size_t i, n;
    yyjson_val *v;
    for (size_t l = 0; l < SL_LEN(lists); l++)
        yyjson_arr_foreach (yyjson_obj_get(status, lists[l]), i, n, v) {
            yyjson_val *end = sl_json_at(v, "state.terminated");
            int64_t restarts = sl_json_int(v, "restartCount", 0);
            sl_time at = sl_json_time(end, "finishedAt");
            if (restarts > 0 && restarts < 1 << 20)
                p->f.restarts += (int32_t)restarts;
            if (at > p->f.finished)
                p->f.finished = at;
            if (!failed || !end)
                continue;
            sl_jw_object(codes, NULL);
            sl_jw_str(codes, "name", sl_json_str(v, "name"));
            sl_jw_int(codes, "code", sl_json_int(end, "exitCode", 0));
            sl_jw_bool(codes, "init", l == 0);
            sl_jw_end(codes);
        }
}

/* Only failed ones are judged. */
static void take_failure(struct cl_pod *p, yyjson_val *status, const struct sl_buf *codes) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    size_t i, n;
    yyjson_val *v;
    sl_freep(&p->failure);
    if (p->f.phase != CL_POD_FAILED)
        return;
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    sl_jw_raw(&j, "codes", sl_buf_str(codes));
    sl_jw_object(&j, "conditions");
    yyjson_arr_foreach (yyjson_obj_get(status, "conditions"), i, n, v)
        sl_jw_str(&j, sl_json_str(v, "type"), sl_json_str(v, "status"));
    sl_jw_end_to(&j, 0);
    p->failure = sl_strdup(sl_buf_str(&b));
    p->f.failure = sl_hash_str(1, p->failure);
}

/* Pods of DaemonSets are bound by the scheduler, to the node that they name like this. */
static const char *target_of(yyjson_val *spec) {
    yyjson_val *terms = sl_json_at(spec, "affinity.nodeAffinity.requiredDuringScheduling"
                                         "IgnoredDuringExecution.nodeSelectorTerms");
    yyjson_val *field =
        yyjson_arr_get_first(yyjson_obj_get(yyjson_arr_get_first(terms), "matchFields"));

    return strcmp(sl_json_str(field, "key"), "metadata.name") == 0
               ? sl_json_text(yyjson_arr_get_first(yyjson_obj_get(field, "values")))
               : "";
}

/* What has ended is an endpoint of nothing. */
static void take_net(struct cl_pod *p, yyjson_val *spec, yyjson_val *status) {
    sl_freep(&p->net);
    if (p->f.phase == CL_POD_SUCCEEDED || p->f.phase == CL_POD_FAILED)
        return;
    p->net = cl_network_pod_text(spec, status);
    p->f.net = p->net ? sl_hash_str(1, p->net) : 0;
}

bool cl_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_cluster *c = ctx;
    struct cl_pod *p = cl_pod_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    yyjson_val *labels = sl_json_at(o, "metadata.labels");
    struct cl_pod_facts was = p->f;
    struct sl_buf codes;

    memset(&p->f, 0, sizeof p->f);
    p->f.node = sl_sym_put(c->syms, sl_json_str(spec, "nodeName"));
    p->f.target = sl_sym_put(c->syms, target_of(spec));
    p->f.phase = (uint8_t)phase_of(sl_json_str(status, "phase"));
    p->f.gated = yyjson_arr_size(yyjson_obj_get(spec, "schedulingGates")) > 0;
    p->f.started = sl_json_time(status, "startTime");
    p->f.revision = cl_revision(sl_json_label(o, "controller-revision-hash"));
    p->f.index =
        count_of(sl_json_annotation(o, "batch.kubernetes.io/job-completion-index"), POD_NO_INDEX);
    p->f.index_failures =
        count_of(sl_json_annotation(o, "batch.kubernetes.io/job-index-failure-count"), 0);
    p->f.index_ignored =
        count_of(sl_json_annotation(o, "batch.kubernetes.io/job-index-ignored-failure-count"), 0);
    p->f.deletion_cost =
        number_of(sl_json_annotation(o, "controller.kubernetes.io/pod-deletion-cost"), 0);
    take_finalizers(p, sl_json_at(o, "metadata.finalizers"));
    take_conditions(p, yyjson_obj_get(status, "conditions"));
    sl_buf_init(&codes, CL_MAX_COPY);
    struct sl_jw list = SL_JW(&codes);
    sl_jw_array(&list, NULL);
    take_containers(p, status, p->f.phase == CL_POD_FAILED, &list);
    sl_jw_end(&list);
    take_failure(p, status, &codes);
    sl_buf_done(&codes);
    p->f.labels = sl_json_hash(1, labels);
    take_net(p, spec, status);
    if (p->f.labels != was.labels || !p->labels) {
        cl_network_pod_leaves(c, p);
        free(p->labels);
        p->labels = cl_text_of(labels);
        p->adopt.by = 0; /* level-triggered: a controller that still needs it plans it again */
    }
    cl_adoption_decode(&p->adopt, o);
    c->spec.scheduler->pod_decode(c, p, o);
    return memcmp(&was, &p->f, sizeof was) != 0;
}

/* ---- the parts' turns ---- */

#define N_WRITERS 3u

static const struct cl_pod_writer *writer_at(const struct sl_cluster *c, uint32_t i) {
    return i == 0   ? &cl_job_pod_writer
           : i == 1 ? &cl_apps_pod_writer
                    : &c->spec.scheduler->pod_writer;
}

void cl_pod_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    cl_job_pod_changed(c, cl_pod_of(r));
    cl_apps_pod_changed(c, cl_pod_of(r));
    cl_network_pod_changed(c, cl_pod_of(r));
    c->spec.scheduler->pod_changed(c, cl_pod_of(r));
}

void cl_pod_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    cl_job_pod_gone(c, cl_pod_of(r));
    cl_network_pod_leaves(c, cl_pod_of(r));
    c->spec.scheduler->pod_gone(c, cl_pod_of(r));
}

void cl_pod_done(struct sl_rec *r) {
    struct cl_pod *p = cl_pod_of(r);
    free(p->labels);
    sl_freep(&p->net);
    sl_freep(&p->finalizers);
    sl_freep(&p->failure);
    cl_adoption_done(&p->adopt);
    sl_freep(&p->sched);
}

bool cl_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    for (uint32_t i = 0; i < N_WRITERS; i++)
        if (writer_at(c, i)->build(c, cl_pod_of(r), w)) {
            w->tag = i + 1;
            return true;
        }
    return false;
}

void cl_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    if (w->tag && w->tag != SL_REC_CREATE && writer_at(c, w->tag - 1)->written)
        writer_at(c, w->tag - 1)->written(c, cl_pod_of(r), w, how, reply);
    sl_rec_write(r); /* another part may be waiting for its turn */
}

/* ---- making one ---- */

void cl_pod_set(yyjson_mut_doc *d, yyjson_mut_val *pod, const char *map, const char *key,
                const char *value) {
    yyjson_mut_val *meta = yyjson_mut_obj_get(pod, "metadata"), *m = yyjson_mut_obj_get(meta, map);
    if (!yyjson_mut_is_obj(m)) {
        m = yyjson_mut_obj(d);
        yyjson_mut_obj_put(meta, yyjson_mut_strcpy(d, map), m);
    }
    yyjson_mut_obj_put(m, yyjson_mut_strcpy(d, key), yyjson_mut_strcpy(d, value));
}

static void put_owner(yyjson_mut_doc *d, yyjson_mut_val *meta, const struct sl_rec *owner) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, meta, "ownerReferences");
    yyjson_mut_val *ref = yyjson_mut_arr_add_obj(d, list);
    const struct sl_rec_kind *k = owner->table->kind;
    yyjson_mut_obj_add_str(d, ref, "apiVersion", k->api_version);
    yyjson_mut_obj_add_str(d, ref, "kind", k->kind);
    yyjson_mut_obj_add_str(d, ref, "name", owner->name);
    yyjson_mut_obj_add_str(d, ref, "uid", owner->uid);
    yyjson_mut_obj_add_bool(d, ref, "controller", true);
    yyjson_mut_obj_add_bool(d, ref, "blockOwnerDeletion", true);
}

static void put_meta(yyjson_mut_doc *d, yyjson_mut_val *pod, yyjson_val *of,
                     const struct cl_pod_body *p) {
    static const char *const maps[] = {"labels", "annotations"};
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(d, pod, "metadata");
    size_t i, n;
    yyjson_val *v;
    yyjson_mut_obj_add_str(d, meta, "name", p->name);
    if (p->generate_name)
        yyjson_mut_obj_add_str(d, meta, "generateName", p->generate_name);
    for (size_t m = 0; m < SL_LEN(maps); m++)
        if (yyjson_is_obj(yyjson_obj_get(of, maps[m])))
            yyjson_mut_obj_add_val(d, meta, maps[m],
                                   yyjson_val_mut_copy(d, yyjson_obj_get(of, maps[m])));
    put_owner(d, meta, p->owner);
    yyjson_mut_val *list = yyjson_mut_arr(d);
    yyjson_arr_foreach (yyjson_obj_get(of, "finalizers"), i, n, v)
        yyjson_mut_arr_append(list, yyjson_val_mut_copy(d, v));
    if (p->finalizer)
        yyjson_mut_arr_add_str(d, list, p->finalizer);
    if (yyjson_mut_arr_size(list))
        yyjson_mut_obj_add_val(d, meta, "finalizers", list);
}

char *cl_pod_template(yyjson_val *template) {
    return yyjson_is_obj(sl_json_at(template, "spec")) ? cl_text_of(template) : NULL;
}

bool cl_pod_put(struct sl_jw *j, const struct cl_pod_body *p) {
    _cleanup_(sl_json_docp) yyjson_doc *t = yyjson_read(p->template, strlen(p->template), 0);
    yyjson_val *of = yyjson_doc_get_root(t);
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *pod = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, pod);
    yyjson_mut_obj_add_str(d, pod, "apiVersion", "v1");
    yyjson_mut_obj_add_str(d, pod, "kind", "Pod");
    put_meta(d, pod, yyjson_obj_get(of, "metadata"), p);
    yyjson_mut_obj_add_val(d, pod, "spec", yyjson_val_mut_copy(d, yyjson_obj_get(of, "spec")));
    if (p->edit)
        p->edit(p->ctx, d, pod);
    size_t len = 0;
    char *text = yyjson_mut_write(d, 0, &len);
    bool good = text && len < CL_MAX_POD && yyjson_is_obj(yyjson_obj_get(of, "spec"));
    if (good)
        sl_jw_raw_n(j, NULL, text, len);
    free(text);
    return good;
}
