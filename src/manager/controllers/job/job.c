/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: from the object to the record. */
#include "manager/controllers/job/job.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/core/templates.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define MAX_EXEC_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define SYNC_COMPLETIONS "kueue.x-k8s.io/job-completions-equal-parallelism"

/* ---- small readings ---- */

int32_t mgr_parse_go_int(const char *s, int32_t fallback) {
    int64_t v = 0;
    const char *p = s + (*s == '-' || *s == '+');
    if (!*p)
        return fallback;
    for (; *p >= '0' && *p <= '9' && v <= INT32_MAX; p++)
        v = v * 10 + (*p - '0');
    if (*p || v > INT32_MAX)
        return fallback;
    return (int32_t)(*s == '-' ? -v : v);
}

int32_t mgr_job_max_exec(yyjson_val *o) {
    int32_t n = mgr_parse_go_int(sl_json_label(o, MAX_EXEC_LABEL), -1);
    return n > 0 ? n : -1;
}

bool mgr_parse_go_bool(const char *s) {
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    for (size_t i = 0; i < SL_LEN(yes); i++)
        if (strcmp(s, yes[i]) == 0)
            return true;
    return false;
}

static int32_t count_at(yyjson_val *o, const char *path, int32_t fallback) {
    int64_t v = sl_json_int(o, path, fallback);
    return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static char *text_or_null(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static void set_text(char **to, const char *s) {
    if (*to && strcmp(*to, s) == 0)
        return;
    sl_freep(to);
    *to = text_or_null(s);
}

/* The upper end of "3-5" or "3", the lower one in *first; -1 if it is neither. */
static int64_t interval(const char *s, size_t len, int64_t *first) {
    int64_t v[2] = {0, 0};
    size_t n = 0, digits = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '-' && n == 0 && digits) {
            n = 1;
            digits = 0;
        } else if (s[i] >= '0' && s[i] <= '9' && digits < 10) {
            v[n] = v[n] * 10 + (s[i] - '0');
            digits++;
        } else {
            return -1;
        }
    }
    if (!digits)
        return -1;
    *first = v[0];
    return n ? v[1] : v[0];
}

int32_t mgr_job_index_count(const char *list, int32_t limit) {
    int64_t total = 0;
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ",");
        int64_t first = 0, last = interval(s, len, &first);
        if (last >= limit)
            last = (int64_t)limit - 1;
        if (last >= 0 && first <= last)
            total += last - first + 1;
        s += len + (s[len] == ',');
    }
    return total > INT32_MAX ? INT32_MAX : (int32_t)total;
}

/* ---- the parts of the object ---- */

static void take_owner(struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref, *found = NULL;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "controller", false))
            found = ref;
    set_text(&j->owner_name, sl_json_str(found, "name"));
    set_text(&j->owner_uid, sl_json_str(found, "uid"));
    j->owner_api = sl_sym_put(m->syms, sl_json_str(found, "apiVersion"));
    j->owner_kind = sl_sym_put(m->syms, sl_json_str(found, "kind"));
    if (j->owner_uid)
        mgr_job_need(m, mgr_str(m, j->owner_api), mgr_str(m, j->owner_kind));
}

const char *mgr_job_prebuilt_name(const struct sl_manager *m, yyjson_val *o) {
    const char *name = m->settings->gates[SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS]
                           ? sl_json_annotation(o, PREBUILT)
                           : "";
    return *name ? name : sl_json_label(o, PREBUILT);
}

static void more_free(struct mgr_job_more *more) {
    if (!more)
        return;
    sl_freep(&more->prebuilt);
    sl_freep(&more->gate);
    sl_freep(&more->marks.wl);
    sl_freep(&more->marks.sl);
    sl_freep(&more);
}

static void take_more(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o) {
    yyjson_val *template = sl_json_at(o, "spec.template");
    struct mgr_job_more more = {
        .min_parallelism = -1,
        .max_exec_s = mgr_job_max_exec(o),
        .prebuilt = text_or_null(mgr_job_prebuilt_name(m, o)),
        .gate = text_or_null(sl_json_annotation(o, JOB_GATED_BY)),
    };
    if (j->rec.kind == REC_JOB) {
        more.min_parallelism = mgr_parse_go_int(sl_json_annotation(o, MIN_PARALLELISM), -1);
        more.sync_completions = mgr_parse_go_bool(sl_json_annotation(o, SYNC_COMPLETIONS));
        more.elastic = m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES] &&
                       strcmp(sl_json_annotation(o, JOB_ELASTIC), "true") == 0;
        more.marks.wl = text_or_null(sl_json_annotation(template, JOB_WORKLOAD_MARK));
        more.marks.sl = text_or_null(sl_json_annotation(template, JOB_SLICE_MARK));
    }
    more_free(TAKE_PTR(j->more));
    if (more.min_parallelism == -1 && more.max_exec_s == -1 && !more.sync_completions &&
        !more.elastic && !more.prebuilt && !more.gate && !more.marks.wl && !more.marks.sl)
        return;
    j->more = sl_alloc(sizeof more);
    *j->more = more;
}

static void take_spec(struct mgr_rec_job *j, yyjson_val *o) {
    yyjson_val *spec = yyjson_obj_get(o, "spec");
    j->suspend = sl_json_bool(spec, "suspend", false);
    j->stopping = strcmp(sl_json_annotation(o, JOB_STOPPING), "true") == 0;
    j->parallelism = count_at(spec, "parallelism", 1);
    j->completions = count_at(spec, "completions", -1);
    j->indexed_mode = strcmp(sl_json_str(spec, "completionMode"), "Indexed") == 0;
}

static void take_status(struct mgr_rec_job *j, yyjson_val *o) {
    yyjson_val *status = yyjson_obj_get(o, "status"), *c, *end = NULL;
    size_t i, n;
    j->active = count_at(status, "active", 0);
    j->ready = count_at(status, "ready", 0);
    j->succeeded = count_at(status, "succeeded", 0);
    j->uncounted =
        (int32_t)yyjson_arr_size(sl_json_at(status, "uncountedTerminatedPods.succeeded"));
    j->indexes = mgr_job_index_count(sl_json_str(status, "completedIndexes"),
                                     j->completions < 0 ? j->parallelism : j->completions);
    j->started = sl_json_at(status, "startTime") != NULL;
    yyjson_arr_foreach (sl_json_at(status, "conditions"), i, n, c) {
        const char *type = sl_json_str(c, "type");
        if (!end && strcmp(sl_json_str(c, "status"), "True") == 0 &&
            (strcmp(type, "Complete") == 0 || strcmp(type, "Failed") == 0))
            end = c;
    }
    sl_freep(&j->message);
    if (end)
        j->message = sl_strdup(sl_json_str(end, "message"));
    j->failed = end && strcmp(sl_json_str(end, "type"), "Failed") == 0;
}

static void set_template(struct sl_manager *m, struct mgr_rec_job *j, struct mgr_template *t) {
    if (j->template)
        mgr_template_unref(m, j->template);
    j->template = t;
}

/* Will a Workload be made of it, as far as can be seen now? Before the Workloads are known the
 * answer is no: it is read again if need be, and then the answer is yes. */
bool mgr_job_wants_draft(const struct sl_manager *m, const struct mgr_rec_job *j) {
    uint32_t cursor = 0;
    if (!mgr_job_n_podsets(j) || j->message || (j->more && j->more->prebuilt))
        return false;
    if (j->step == JOB_READ || !m->inf->tables[REC_WORKLOAD].synced)
        return j->step == JOB_READ;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, j->rec.uid, &cursor));)
        if (mgr_job_fits(m, j, w))
            return false;
    return true;
}

static void take_batch(struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o, bool ours) {
    take_spec(j, o);
    take_status(j, o);
    set_template(m, j, ours ? mgr_template_get(m, sl_json_at(o, "spec.template")) : NULL);
    if (mgr_job_wants_draft(m, j))
        mgr_job_draft_keep(m, j, o);
}

/* ---- the whole ---- */

static uint64_t digest_more(uint64_t h, const struct mgr_job_more *more) {
    if (!more)
        return h;
    h = sl_hash_u64(h, (uint64_t)more->min_parallelism);
    h = sl_hash_u64(h, (uint64_t)more->max_exec_s);
    h = sl_hash_u64(h, (uint64_t)more->sync_completions << 1 | more->elastic);
    h = sl_hash_str(h, more->prebuilt);
    h = sl_hash_str(h, more->gate);
    h = sl_hash_str(h, more->marks.wl);
    return sl_hash_str(h, more->marks.sl);
}

static uint64_t digest(const struct mgr_rec_job *j) {
    const int32_t numbers[] = {j->parallelism,
                               j->completions,
                               j->active,
                               j->ready,
                               j->succeeded,
                               j->uncounted,
                               j->indexes,
                               j->suspend,
                               j->stopping,
                               j->started,
                               j->failed,
                               j->indexed_mode,
                               j->message != NULL,
                               (int32_t)j->queue,
                               (int32_t)j->priority_class,
                               (int32_t)j->owner_api,
                               (int32_t)j->owner_kind};
    uint64_t h = sl_hash_bytes(1, numbers, sizeof numbers);
    h = sl_hash_str(h, j->owner_name);
    h = sl_hash_str(h, j->owner_uid);
    h = sl_hash_str(h, j->message);
    h = sl_hash_u64(h, j->template ? j->template->hash : 0);
    return digest_more(mgr_job_many_digest(h, j->many), j->more);
}

bool mgr_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_job *j = mgr_job_of(r);
    uint64_t before = j->digest;

    mgr_job_index_remove(m, j);
    j->queue = sl_sym_put(m->syms, sl_json_label(o, QUEUE_LABEL));
    j->priority_class = sl_sym_put(m->syms, sl_json_label(o, PRIORITY_LABEL));
    take_owner(m, j, o);
    mgr_job_draft_drop(j);
    bool ours = j->queue || m->settings->manage_without_queue;
    if (ours)
        take_more(m, j, o);
    else
        more_free(TAKE_PTR(j->more));
    if (r->kind == REC_JOB)
        take_batch(m, j, o, ours);
    else
        mgr_job_take_row(m, j, o, ours);
    j->digest = digest(j);
    mgr_job_index_add(m, j);
    if (j->digest != before)
        mgr_job_mark_children(m, j);
    return j->digest != before || j->draft;
}

void mgr_job_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_job *j = mgr_job_of(r);
    uint32_t cursor = 0;
    mgr_job_index_remove(m, j);
    set_template(m, j, NULL);
    mgr_job_many_drop(m, j);
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, r->uid, &cursor));)
        mgr_job_orphan(m, w);
}

void mgr_job_done(struct sl_rec *r) {
    struct mgr_rec_job *j = mgr_job_of(r);
    mgr_job_draft_drop(j);
    more_free(TAKE_PTR(j->more));
    mgr_job_many_free(TAKE_PTR(j->many));
    sl_freep(&j->owner_name);
    sl_freep(&j->owner_uid);
    sl_freep(&j->message);
    sl_freep(&j->note);
}
