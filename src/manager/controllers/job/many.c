/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of rows: from the object to what is kept of its podsets and its state. */
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/job/place.h"

#define MAX_TEMPLATE ((size_t)16 << 20) /* twice the longest event of a watch */

/* ---- podsets ---- */

static char *text_or_null(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static char *as_text(yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEMPLATE);
    sl_json_put(&b, v);
    return sl_strdup(sl_buf_str(&b));
}

static void take_podset(struct sl_manager *m, const struct sl_jobkind_pods *p,
                        struct mgr_job_podset *to) {
    to->name = sl_sym_put(m->syms, p->name);
    to->at = sl_sym_put(m->syms, p->pointer);
    to->count = p->count;
    to->form = (uint8_t)p->form;
    to->there = p->base != NULL;
    to->template = mgr_template_get(m, p->template);
    to->marks.wl = text_or_null(sl_json_annotation(p->template, JOB_WORKLOAD_MARK));
    to->marks.sl = text_or_null(sl_json_annotation(p->template, JOB_SLICE_MARK));
    if (!p->base && p->form == SL_JOBKIND_TEMPLATE)
        to->made = as_text(p->template);
    for (enum mgr_job_part part = 0; part < JOB_PARTS; part++)
        to->has[part] = mgr_place_has(p->base, mgr_place_path(p->form, part));
}

static struct mgr_job_many *take_podsets(struct sl_manager *m, const struct sl_jobkind *row,
                                         yyjson_val *o, const struct sl_jobkind_podsets *p) {
    int32_t reclaimable[SL_JOBKIND_MAX_PODSETS] = {0};
    struct mgr_job_many *many = sl_alloc0(1, sizeof *many + p->n * sizeof *many->v);
    many->n = p->n;
    many->reclaims = row->reclaimable.list != NULL;
    (void)sl_jobkind_reclaimable(row, o, p, reclaimable);
    for (uint32_t i = 0; i < p->n; i++) {
        take_podset(m, &p->v[i], &many->v[i]);
        many->v[i].reclaimable = reclaimable[i];
    }
    many->ready = sl_jobkind_ready(row, o, p);
    many->priority_class = sl_strdup(sl_jobkind_priority(row, o, p));
    return many;
}

/* ---- the whole ---- */

static void take_state(struct mgr_rec_job *j, const struct sl_jobkind *row, yyjson_val *o) {
    struct sl_jobkind_finish f = sl_jobkind_finished(row, o);
    j->suspend = sl_jobkind_suspended(row, o);
    j->active = sl_jobkind_active(row, o);
    sl_freep(&j->message);
    if (f.finished)
        j->message = sl_strdup(f.message);
    j->failed = f.finished && !f.succeeded;
}

void mgr_job_take_row(struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o, bool ours) {
    const struct sl_jobkind *row = mgr_job_row(m, j->rec.kind);
    _cleanup_(sl_json_docp) yyjson_doc *other = NULL;
    struct sl_jobkind_need need;
    struct sl_jobkind_podsets p;
    struct sl_err err = {0};
    mgr_job_many_drop(m, j);
    take_state(j, row, o);
    if (!ours || !mgr_job_runs(m, j->rec.kind))
        return;
    if (sl_jobkind_skipped(row, o)) {
        j->many = sl_alloc0(1, sizeof *j->many);
        j->many->priority_class = sl_strdup("");
        j->many->skipped = true;
        return;
    }
    if (sl_jobkind_needs(row, o, &need))
        other = mgr_train_runtime(m, mgr_str(m, j->rec.ns), &need);
    int r = sl_jobkind_podsets_with(row, o, yyjson_doc_get_root(other), &p, &err);
    if (r < 0) {
        j->many = sl_alloc0(1, sizeof *j->many);
        j->many->priority_class = sl_strdup("");
        j->many->fault = sl_strdup(err.text);
    } else {
        j->many = take_podsets(m, row, o, &p);
        j->many->suspend_has = mgr_place_has(o, row->suspend);
        j->many->clears = row->clears && sl_json_at(o, row->clears);
        mgr_train_take(j->many, o);
        if (mgr_job_wants_draft(m, j))
            mgr_job_draft_keep_row(m, j, o, &p);
    }
    sl_jobkind_podsets_done(&p);
}

void mgr_job_many_drop(struct sl_manager *m, struct mgr_rec_job *j) {
    for (uint32_t i = 0; j->many && i < j->many->n; i++)
        mgr_template_unref(m, j->many->v[i].template);
    mgr_job_many_free(TAKE_PTR(j->many));
}

void mgr_job_many_free(struct mgr_job_many *many) {
    if (!many)
        return;
    for (uint32_t i = 0; i < many->n; i++) {
        sl_freep(&many->v[i].marks.wl);
        sl_freep(&many->v[i].marks.sl);
        sl_freep(&many->v[i].made);
    }
    sl_freep(&many->priority_class);
    sl_freep(&many->fault);
    sl_freep(&many);
}

static uint64_t digest_podset(uint64_t h, const struct mgr_job_podset *p) {
    const int32_t numbers[] = {(int32_t)p->name, (int32_t)p->at, p->count, p->reclaimable,
                               p->there};
    h = sl_hash_bytes(h, numbers, sizeof numbers);
    h = sl_hash_bytes(h, p->has, sizeof p->has);
    h = sl_hash_u64(h, p->template->hash);
    h = sl_hash_str(h, p->marks.wl);
    return sl_hash_str(h, p->marks.sl);
}

uint64_t mgr_job_many_digest(uint64_t h, const struct mgr_job_many *many) {
    if (!many)
        return h;
    const int32_t numbers[] = {many->suspend_has, many->ready,  many->reclaims,
                               many->skipped,     many->clears, (int32_t)many->n};
    h = sl_hash_bytes(h, numbers, sizeof numbers);
    h = sl_hash_u64(sl_hash_u64(h, (uint64_t)many->patch), many->patch_hash);
    h = sl_hash_str(h, many->priority_class);
    h = sl_hash_str(h, many->fault);
    for (uint32_t i = 0; i < many->n; i++)
        h = digest_podset(h, &many->v[i]);
    return h;
}

/* ---- podsets of any job ---- */

int32_t mgr_job_count_of(const struct mgr_rec_job *j, uint32_t i) {
    return j->many ? j->many->v[i].count : mgr_job_count(j);
}

const char *mgr_job_pod_class(const struct mgr_rec_job *j) {
    return j->many ? j->many->priority_class : j->template->priority_class;
}

const struct mgr_job_marks *mgr_job_marks_of(const struct mgr_rec_job *j, uint32_t i) {
    if (j->many)
        return &j->many->v[i].marks;
    return j->more ? &j->more->marks : NULL;
}
