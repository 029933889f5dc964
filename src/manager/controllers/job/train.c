/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrainJobs: their podsets depend on a runtime, another object; and what an admission adds is a
 * patch of ours among spec.runtimePatches. That is written while the TrainJob is suspended, in a
 * write of its own, since the Trainer's webhook refuses it together with the start. It is taken
 * back when the job is suspended again and nothing of it is active.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/job/job.h"

#define LIST "/spec/runtimePatches"
#define MAX_POINTER 128

/* ---- runtimes ---- */

yyjson_doc *mgr_train_runtime(const struct sl_manager *m, const char *ns,
                              const struct sl_jobkind_need *need) {
    enum mgr_rec_kind k = need->cluster ? REC_CLUSTER_TRAINING_RUNTIME : REC_TRAINING_RUNTIME;
    struct sl_rec *r = sl_inf_find(m->inf, k, need->cluster ? "" : ns, need->name);
    return r ? sl_json_doc(mgr_conf_of(r)->text, strlen(mgr_conf_of(r)->text)) : NULL;
}

/* TrainJobs that wait, or lack one, are read again. Those that run were started with the old one:
 * the Trainer keeps a copy of it. */
static void read_again(struct sl_manager *m, const struct sl_rec *runtime) {
    uint32_t kinds = 0;
    for (uint32_t k; (k = mgr_job_each_kind(m, &kinds)) != REC_NAMESPACE;) {
        const struct sl_jobkind *row = mgr_job_row(m, k);
        uint32_t at = 0;
        if (!row || row->rule != SL_JOBKIND_TRAINJOB)
            continue;
        for (struct sl_rec *r; (r = sl_inf_each(m->inf, k, &at));) {
            struct mgr_rec_job *j = mgr_job_of(r);
            bool meant = !runtime->ns || runtime->ns == r->ns;
            if (meant && j->many && (j->many->fault || j->suspend)) {
                mgr_job_many_drop(m, j);
                sl_rec_enqueue(r);
            }
        }
    }
}

void mgr_train_changed(void *ctx, struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    if (c->applied == c->hash)
        return;
    c->applied = c->hash;
    read_again(ctx, r);
}

/* ---- our patch ---- */

void mgr_train_take(struct mgr_job_many *many, yyjson_val *o) {
    yyjson_val *list = sl_json_at(o, "spec.runtimePatches"), *p;
    size_t i, n;
    many->patch = -1;
    many->patches = yyjson_is_arr(list);
    yyjson_arr_foreach (list, i, n, p) {
        if (strcmp(sl_json_str(p, "manager"), SL_JOBKIND_PATCH_MANAGER) != 0)
            continue;
        yyjson_val *jobs = sl_json_at(p, "trainingRuntimeSpec.template.spec.replicatedJobs");
        many->patch = (int32_t)i;
        many->patch_hash = sl_json_size(jobs) ? sl_json_hash(1, jobs) : 0;
        return;
    }
}

bool mgr_job_is_train(const struct mgr_rec_job *j) {
    return j->many && j->many->n && j->many->v[0].form == SL_JOBKIND_PATCH;
}

static void put_member(struct sl_jw *out, const char *name, yyjson_mut_val *v) {
    if (v)
        sl_jw_mut_val(out, name, v);
}

static bool put_job(const struct sl_manager *m, const struct mgr_rec_job *j,
                    const struct mgr_rec_wl *from, uint32_t i, struct sl_jw *out) {
    const struct mgr_job_podset *p = &j->many->v[i];
    struct mgr_job_change c[JOB_PARTS] = {0};
    struct mgr_job_extras *x = NULL;
    struct sl_err err;
    bool fits = mgr_job_extras_new(m, from, i, &x, &err) >= 0 &&
                mgr_job_extras_fit(x, p->template, &p->marks, &err) >= 0;
    if (fits)
        mgr_job_extras_changes(x, p->template, c);
    sl_jw_object(out, NULL);
    sl_jw_str(out, "name", mgr_str(m, p->name));
    sl_jw_object(out, "template");
    sl_jw_object(out, "spec");
    sl_jw_object(out, "template");
    sl_jw_object(out, "metadata");
    put_member(out, "annotations", c[JOB_ANNOTATIONS].keys);
    put_member(out, "labels", c[JOB_LABELS].keys);
    sl_jw_end(out);
    sl_jw_object(out, "spec");
    put_member(out, "nodeSelector", c[JOB_SELECTOR].keys);
    put_member(out, "tolerations", c[JOB_TOLERATIONS].whole); /* they replace the runtime's */
    put_member(out, "schedulingGates", c[JOB_GATES].whole);
    sl_jw_end_to(out, out->depth - 5);
    mgr_job_extras_free(x);
    return fits;
}

/* The array of jobs. */
static bool put_jobs(const struct sl_manager *m, const struct mgr_rec_job *j,
                     const struct mgr_rec_wl *from, const char *key, struct sl_jw *out) {
    bool fits = true;
    sl_jw_array(out, key);
    for (uint32_t i = 0; i < j->many->n; i++)
        fits &= put_job(m, j, from, i, out);
    sl_jw_end(out);
    return fits;
}

bool mgr_train_lacks_patch(const struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *from) {
    if (!mgr_job_is_train(j) || j->injected)
        return false;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(SL_WRITER_MAX_BODY);
    if (!put_jobs(m, j, from, NULL, &SL_JW(&b)))
        return false; /* it cannot be started: that is reported where it is tried */
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(sl_buf_str(&b), b.len);
    return sl_json_hash(1, yyjson_doc_get_root(d)) != j->many->patch_hash;
}

bool mgr_train_has_patch(const struct mgr_rec_job *j) {
    return mgr_job_is_train(j) && j->many->patch_hash;
}

static void put_pointer(const struct mgr_rec_job *j, const char *tail, struct sl_jw *out) {
    char pointer[MAX_POINTER];
    sl_fmt(pointer, sizeof pointer, LIST "/%d%s", (int)j->many->patch, tail);
    sl_jw_str(out, "path", pointer);
}

bool mgr_train_build_patch(const struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *from, struct sl_write *w) {
    struct sl_jw *out = &w->json;
    bool ours = j->many->patch >= 0, list = j->many->patches;
    sl_rec_build_ops(&j->rec, w);
    uint32_t depth = out->depth;
    sl_jw_object(out, NULL);
    sl_jw_str(out, "op", "add");
    if (ours)
        put_pointer(j, "/trainingRuntimeSpec", out);
    else
        sl_jw_str(out, "path", list ? LIST "/-" : LIST);
    if (!ours && !list)
        sl_jw_array(out, "value");
    if (!ours) {
        sl_jw_object(out, list ? "value" : NULL);
        sl_jw_str(out, "manager", SL_JOBKIND_PATCH_MANAGER);
    }
    sl_jw_object(out, ours ? "value" : "trainingRuntimeSpec");
    sl_jw_object(out, "template");
    sl_jw_object(out, "spec");
    bool fits = put_jobs(m, j, from, "replicatedJobs", out);
    sl_jw_end_to(out, depth);
    return fits;
}

void mgr_train_build_restore(const struct mgr_rec_job *j, struct sl_write *w) {
    sl_rec_build_ops(&j->rec, w);
    sl_jw_object(&w->json, NULL);
    sl_jw_str(&w->json, "op", "remove");
    put_pointer(j, "/trainingRuntimeSpec/template/spec/replicatedJobs", &w->json);
    sl_jw_end(&w->json);
}
