/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of jobs of somebody else's: rows in ConfigMaps of the manager's namespace that carry a
 * label. All of them are read again whenever one changes; a kind whose text is the same goes on,
 * one that is new is watched from now on, one that is gone is watched no more. Its jobs and their
 * Workloads then stay as they are: an object without a controller is not a deleted one.
 *
 * A text with an error is not taken, and reported; the others are. A kind that cannot be listed, as
 * it is not installed or the right is missing, holds up nobody.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/job/jobs.h"

#define REPORTER "sluice-job-kinds"
#define MAX_TEXTS 64u /* keys of all ConfigMaps */

/* A key of a ConfigMap. */
struct text {
    struct sl_rec *map;
    struct sl_jobkinds *rows;
    uint64_t hash;
    uint32_t taken; /* rows that are in use */
};

struct texts {
    struct text v[MAX_TEXTS];
    uint32_t n;
};

static void report(struct sl_rec *map, const char *key, const char *why) {
    sl_log(SL_LOG_WARN, "job kinds not taken", SL_S("configmap", map->name), SL_S("key", key),
           SL_S("error", why));
    sl_rec_event(map, REPORTER, true, "InvalidJobKinds", "%s", why);
}

/* ---- reading ---- */

static void read_text(struct texts *all, struct sl_rec *map, const char *key, const char *text) {
    struct sl_err err = {0};
    struct text *t = &all->v[all->n];
    if (all->n == MAX_TEXTS) {
        report(map, key, "there are more than 64 texts with kinds of jobs");
        return;
    }
    *t = (struct text){.map = map, .hash = sl_hash_str(1, text)};
    if (sl_jobkinds_parse(key, text, strlen(text), false, &t->rows, &err) < 0)
        report(map, key, err.text);
    else
        all->n++;
}

static void read_all(struct sl_manager *m, struct texts *all) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_JOB_KINDS, &at));) {
        const char *json = mgr_conf_of(r)->text;
        _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(json, strlen(json));
        size_t i, n;
        yyjson_val *k, *v;
        sl_obj_foreach (sl_json_at(yyjson_doc_get_root(d), "data"), i, n, k, v)
            read_text(all, r, sl_json_text(k), sl_json_text(v));
    }
}

/* ---- slots ---- */

static uint32_t kind_of(uint32_t slot) {
    return REC_KINDS + slot;
}

static void name_slot(struct mgr_jobs *jobs, uint32_t slot, const struct sl_jobkind *row) {
    struct sl_rec_kind *k = &jobs->kinds[kind_of(slot)];
    k->path = row ? row->collection : "";
    k->plural = row ? row->plural : "";
    k->kind = row ? row->kind : "";
    k->api_version = row ? row->api_version : "";
    jobs->rows[slot].row = row;
}

/* Without a word to its Workloads. */
static void drop_slot(struct sl_manager *m, uint32_t slot) {
    uint32_t at = 0;
    sl_inf_unwatch(m->inf, kind_of(slot));
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, kind_of(slot), &at));) {
        mgr_job_index_remove(m, mgr_job_of(r));
        mgr_job_many_drop(m, mgr_job_of(r));
        sl_rec_forget(r);
    }
    sl_log(SL_LOG_INFO, "kind of jobs no longer queued",
           SL_S("framework", m->jobs->rows[slot].row->framework));
    name_slot(m->jobs, slot, NULL);
}

/* The row that has taken the place of a slot's: from a text that is the same. */
static const struct sl_jobkind *same_row(struct texts *all, const struct mgr_job_row *slot) {
    for (uint32_t i = 0; i < all->n; i++) {
        const struct sl_jobkind *row =
            all->v[i].hash == slot->text
                ? sl_jobkind_by_framework(all->v[i].rows, slot->row->framework)
                : NULL;
        if (!row)
            continue;
        all->v[i].taken++;
        return row;
    }
    return NULL;
}

static bool has_row(const struct mgr_jobs *jobs, const struct sl_jobkind *row) {
    for (uint32_t i = 0; i < jobs->n_rows; i++)
        if (jobs->rows[i].row == row)
            return true;
    return false;
}

/* NULL: nothing is. */
static const char *wrong_with(const struct sl_manager *m, const struct sl_jobkind *row) {
    uint32_t at = 0;
    if (sl_framework_find(row->framework) != SL_FW_COUNT)
        return "is a framework of Kueue's";
    if (mgr_job_kind(m, row->api_version, row->kind) != REC_NAMESPACE)
        return "is of a kind that is queued already";
    for (uint32_t k; (k = mgr_job_each_kind(m, &at)) != REC_NAMESPACE;) {
        const struct sl_jobkind *other = mgr_job_row(m, k);
        if (other && strcmp(other->framework, row->framework) == 0)
            return "is there twice";
    }
    return NULL;
}

static void add_slot(struct sl_manager *m, struct text *t, const struct sl_jobkind *row) {
    struct mgr_jobs *jobs = m->jobs;
    _cleanup_(sl_buf_done) struct sl_buf why = SL_BUF_SHORT(512);
    const char *wrong = wrong_with(m, row);
    uint32_t slot = sl_jobkinds_built_in()->n;
    while (slot < JOBS_MAX_ROWS && (jobs->rows[slot].row || jobs->rows[slot].left))
        slot++;
    if (!wrong && slot == JOBS_MAX_ROWS)
        wrong = "is one too many: there is room for no more kinds of jobs";
    if (wrong) {
        sl_buf_printf(&why, "%s %s", row->framework, wrong);
        report(t->map, row->framework, sl_buf_str(&why));
        return;
    }
    if (slot == jobs->n_rows)
        jobs->n_rows++;
    mgr_job_init_slot(jobs, slot);
    jobs->rows[slot].text = t->hash;
    name_slot(jobs, slot, row);
    t->taken++;
    sl_inf_watch(m->inf, kind_of(slot));
    sl_log(SL_LOG_INFO, "kind of jobs queued", SL_S("framework", row->framework));
    sl_rec_event(t->map, REPORTER, false, "JobKindQueued", "Jobs of kind %s (%s) are queued",
                 row->kind, row->api_version);
}

/* ---- the turn ---- */

void mgr_job_rows_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    m->jobs->stale |= c->applied != c->hash;
    c->applied = c->hash;
}

void mgr_job_rows_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    (void)r;
    m->jobs->stale = true;
}

/* The texts that rows in use stand in take the place of the last ones. */
static void keep_texts(struct mgr_jobs *jobs, struct texts *all) {
    mgr_job_rows_free(jobs);
    for (uint32_t i = 0; i < all->n; i++)
        if (all->v[i].taken)
            *sl_vec_push(&jobs->texts) = all->v[i].rows;
        else
            sl_jobkinds_free(all->v[i].rows);
}

bool mgr_job_rows_turn(struct sl_manager *m) {
    struct mgr_jobs *jobs = m->jobs;
    struct texts all = {.n = 0};
    if (!jobs->stale)
        return false;
    jobs->stale = false;
    read_all(m, &all);
    for (uint32_t i = sl_jobkinds_built_in()->n; i < jobs->n_rows; i++) {
        jobs->rows[i].left = false; /* its last records are gone by now */
        if (!jobs->rows[i].row)
            continue;
        const struct sl_jobkind *row = same_row(&all, &jobs->rows[i]);
        if (row) {
            name_slot(jobs, i, row);
        } else {
            drop_slot(m, i);
            jobs->rows[i].left = true;
        }
    }
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t k = 0; k < all.v[i].rows->n; k++)
            if (!has_row(jobs, &all.v[i].rows->v[k]))
                add_slot(m, &all.v[i], &all.v[i].rows->v[k]);
    keep_texts(jobs, &all);
    return true;
}

void mgr_job_rows_free(struct mgr_jobs *jobs) {
    for (uint32_t i = 0; i < jobs->texts.n; i++)
        sl_jobkinds_free(jobs->texts.v[i]);
    sl_vec_free(&jobs->texts);
}
