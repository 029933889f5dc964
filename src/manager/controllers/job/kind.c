/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as kinds of the informer, behind those of records.h. A kind is read if its controller runs,
 * or if a job was seen that belongs to one of it: the search for ancestors goes through all kinds,
 * also those whose own jobs are not managed. An API that is not installed is looked for again and
 * again (kube/informer/reflector.h), so that one which comes later needs no restart.
 */
#include <string.h>

#include "manager/controllers/job/job.h"
#include "manager/controllers/job/jobs.h"

static const struct sl_rec_kind *as_jobs(void) {
    return &mgr_kinds[REC_JOB];
}

void mgr_job_init_slot(struct mgr_jobs *jobs, uint32_t slot) {
    struct sl_rec_kind *k = &jobs->kinds[REC_KINDS + slot];
    *k = *as_jobs();
    k->path = k->plural = k->kind = k->api_version = "";
    k->optional = true;
    jobs->rows[slot] = (struct mgr_job_row){.framework = SL_FW_COUNT};
}

static void add_row(struct mgr_jobs *jobs, const struct sl_jobkind *row) {
    struct sl_rec_kind *k = &jobs->kinds[REC_KINDS + jobs->n_rows];
    *k = *as_jobs();
    k->path = row->collection;
    k->plural = row->plural;
    k->kind = row->kind;
    k->api_version = row->api_version;
    jobs->rows[jobs->n_rows++] =
        (struct mgr_job_row){.row = row, .framework = sl_framework_find(row->framework)};
}

void mgr_jobs_new(struct sl_manager *m) {
    const struct sl_jobkinds *rows = sl_jobkinds_built_in();
    m->jobs = sl_alloc0(1, sizeof *m->jobs);
    memcpy(m->jobs->kinds, mgr_kinds, sizeof mgr_kinds);
    sl_assert(rows->n <= JOBS_MAX_ROWS);
    for (uint32_t i = 0; i < rows->n; i++)
        add_row(m->jobs, &rows->v[i]);
    for (uint32_t i = rows->n; i < JOBS_MAX_ROWS; i++)
        mgr_job_init_slot(m->jobs, i);
}

void mgr_job_rows_in(struct sl_manager *m, const char *ns) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(SL_WRITER_MAX_PATH);
    sl_buf_printf(&b, "/api/v1/namespaces/%s", ns);
    m->jobs->place = sl_strdup(sl_buf_str(&b));
    m->jobs->kinds[REC_JOB_KINDS].path = m->jobs->place;
}

void mgr_jobs_end(struct sl_manager *m) {
    sl_map_done(&m->jobs->children);
    sl_map_done(&m->jobs->prebuilt);
    mgr_job_rows_free(m->jobs);
    sl_freep(&m->jobs->place);
    sl_freep(&m->jobs);
}

const struct sl_rec_kind *mgr_job_kinds(const struct sl_manager *m, uint32_t *ret_n) {
    *ret_n = REC_KINDS + JOBS_MAX_ROWS;
    return m->jobs->kinds;
}

const struct sl_jobkind *mgr_job_row(const struct sl_manager *m, uint32_t kind) {
    return kind >= REC_KINDS && kind - REC_KINDS < m->jobs->n_rows
               ? m->jobs->rows[kind - REC_KINDS].row
               : NULL;
}

uint32_t mgr_job_kind(const struct sl_manager *m, const char *api_version, const char *kind) {
    uint32_t at = 0;
    if (!*kind) /* as a free slot is called */
        return REC_NAMESPACE;
    for (uint32_t k; (k = mgr_job_each_kind(m, &at)) != REC_NAMESPACE;) {
        const struct sl_rec_kind *row = &m->jobs->kinds[k];
        if (strcmp(kind, row->kind) == 0 && strcmp(api_version, row->api_version) == 0)
            return k;
    }
    return REC_NAMESPACE;
}

uint32_t mgr_job_each_kind(const struct sl_manager *m, uint32_t *at) {
    uint32_t i = (*at)++;
    if (i == 0)
        return REC_JOB;
    return i <= m->jobs->n_rows ? REC_KINDS + i - 1 : REC_NAMESPACE;
}

static enum sl_framework framework_of(const struct sl_manager *m, uint32_t kind) {
    if (kind == REC_JOB)
        return SL_FW_JOB;
    return kind >= REC_KINDS && kind - REC_KINDS < m->jobs->n_rows
               ? m->jobs->rows[kind - REC_KINDS].framework
               : SL_FW_COUNT;
}

/* Of a user: it is there because it is to be queued. */
static bool users(const struct sl_manager *m, uint32_t kind) {
    return kind >= REC_KINDS && framework_of(m, kind) == SL_FW_COUNT && mgr_job_row(m, kind) &&
           m->spec.parts.jobkinds;
}

/* One that Kueue has as alpha. */
static bool gate_open(const struct sl_manager *m, enum sl_framework f) {
    return f != SL_FW_SPARKAPPLICATION || m->settings->gates[SL_G_SPARK_APPLICATION_INTEGRATION];
}

bool mgr_job_runs(const struct sl_manager *m, uint32_t kind) {
    enum sl_framework f = framework_of(m, kind);
    return users(m, kind) || (f < SL_FW_COUNT && m->spec.parts.framework[f] && gate_open(m, f));
}

bool mgr_job_is_read(const struct sl_manager *m, uint32_t kind) {
    enum sl_framework f = framework_of(m, kind);
    return users(m, kind) || (f < SL_FW_COUNT && m->reads[f] && gate_open(m, f));
}

bool mgr_job_enabled(const struct sl_manager *m, uint32_t kind) {
    enum sl_framework f = framework_of(m, kind);
    return users(m, kind) || (f < SL_FW_COUNT && m->settings->framework[f] && gate_open(m, f));
}

void mgr_job_need(struct sl_manager *m, const char *api_version, const char *kind) {
    uint32_t k = mgr_job_kind(m, api_version, kind);
    if (k == REC_NAMESPACE || sl_inf_watches(m->inf, k) || framework_of(m, k) == SL_FW_COUNT ||
        !gate_open(m, framework_of(m, k)))
        return;
    m->reads[framework_of(m, k)] = true;
    sl_inf_watch(m->inf, k);
}

const char *mgr_job_controller(const struct sl_manager *m, const struct mgr_rec_job *j) {
    const struct sl_jobkind *row = mgr_job_row(m, j->rec.kind);
    return row ? row->events : "batch/job-kueue-controller";
}
