/* SPDX-License-Identifier: Apache-2.0 */
/* Managed pods: from the object to what their group needs to know. */
#include "manager/controllers/pod/group.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "kube/types/role.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/draft.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/job/jobs.h"

#define Q "kueue.x-k8s.io/"
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define INDEX_LABEL Q "pod-group-pod-index"
#define TARGET "TerminationTarget"

/* ---- small readings ---- */

static char *text_or_null(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static bool annotation_is(yyjson_val *o, const char *annotation, const char *value) {
    return strcmp(sl_json_annotation(o, annotation), value) == 0;
}

static const char *group_name(const struct sl_manager *m, yyjson_val *o) {
    const char *name = m->settings->gates[SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS]
                           ? sl_json_annotation(o, GROUP_NAME)
                           : "";
    return *name ? name : sl_json_label(o, GROUP_NAME);
}

bool mgr_group_frameworks(const bool framework[SL_FW_COUNT]) {
    return framework[SL_FW_POD] || framework[SL_FW_DEPLOYMENT] || framework[SL_FW_STATEFULSET] ||
           framework[SL_FW_LEADERWORKERSET];
}

bool mgr_pod_is_managed(const struct sl_manager *m, yyjson_val *o) {
    if (strcmp(sl_json_label(o, GROUP_MANAGED), "true") != 0)
        return false;
    return m->reads[SL_FW_POD] ||
           (mgr_group_frameworks(m->reads) && *sl_json_annotation(o, GROUP_PARENT));
}

static yyjson_val *condition(yyjson_val *o, const char *type) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (sl_json_at(o, "status.conditions"), i, n, c)
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            return c;
    return NULL;
}

static bool holds(yyjson_val *o, const char *type) {
    return strcmp(sl_json_str(condition(o, type), "status"), "True") == 0;
}

/* ---- the parts ---- */

static void more_free(struct mgr_pod_more *more) {
    if (!more)
        return;
    sl_freep(&more->prebuilt);
    sl_freep(&more->gate);
    sl_freep(&more);
}

static void take_more(const struct sl_manager *m, struct mgr_pod_job *j, yyjson_val *o) {
    struct mgr_pod_more more = {
        .prebuilt = text_or_null(mgr_job_prebuilt_name(m, o)),
        .gate = text_or_null(sl_json_annotation(o, JOB_GATED_BY)),
        .max_exec_s = mgr_job_max_exec(o),
    };
    more_free(TAKE_PTR(j->more));
    if (!more.prebuilt && !more.gate && more.max_exec_s < 0)
        return;
    j->more = sl_alloc(sizeof more);
    *j->more = more;
}

/*
 * Admission writes it on the pod. If the webhook was not called, it is the hash, and once the pod
 * is started the name of its podset: a start changes the spec. A user could write one as well, and
 * have a large pod counted as a small one of the same role: while a pod waits, its requests
 * decide. Names of roles are for pods whose Workload is not made from them: prebuilt ones, and
 * sets.
 */
static const char *role_of(const struct mgr_rec_pod *p, yyjson_val *o) {
    const struct mgr_pod_job *j = p->job;
    const char *role = sl_json_annotation(o, SL_ROLE_ANNOTATION);
    bool named = (j->more && j->more->prebuilt) || j->parent;
    const char *podset = mgr_pod_gated(p) ? "" : sl_json_label(o, Q "podset");
    if (*podset && (!*role || !named))
        role = podset;
    return *j->shape && (!*role || !named) ? j->shape : role;
}

static void take_labels(struct sl_manager *m, const struct mgr_rec_pod *p, yyjson_val *o) {
    struct mgr_pod_job *j = p->job;
    const char *index = sl_json_label(o, INDEX_LABEL);
    int32_t total = mgr_parse_go_int(sl_json_annotation(o, GROUP_TOTAL), 0),
            rank = mgr_parse_go_int(index, -1);
    j->queue = sl_sym_put(m->syms, sl_json_label(o, Q "queue-name"));
    j->priority_class = sl_sym_put(m->syms, sl_json_label(o, Q "priority-class"));
    j->pod_class = sl_sym_put(m->syms, sl_json_str(o, "spec.priorityClassName"));
    j->parent = sl_sym_put(m->syms, sl_json_annotation(o, GROUP_PARENT));
    j->total = total > 0 ? total : 0;
    j->bad_index = *index && (rank < 0 || rank >= j->total);
    j->unretriable = annotation_is(o, Q "retriable-in-group", "false");
    j->fast = annotation_is(o, Q "pod-group-fast-admission", "true");
    j->serving = annotation_is(o, Q "pod-group-serving", "true");
}

/* When it stopped working: as its containers report, or when it was to be deleted. */
static sl_time stopped_at(const struct mgr_pod_job *j, yyjson_val *o) {
    yyjson_val *c = condition(o, "ContainersReady");
    bool failed = strcmp(sl_json_str(c, "status"), "False") == 0 &&
                  strcmp(sl_json_str(c, "reason"), "PodFailed") == 0;
    sl_time at = failed ? sl_json_time(c, "lastTransitionTime") : 0;
    return at && (!j->delete_at || at < j->delete_at) ? at : j->delete_at;
}

static void take_end(const struct sl_manager *m, struct mgr_pod_job *j, yyjson_val *o) {
    int64_t grace = sl_json_int(o, "metadata.deletionGracePeriodSeconds", 0);
    bool sane = grace > 0 && grace < INT64_MAX / SL_SEC;
    sl_time ends = sl_time_add(m->spec.client->mono, sane ? grace * SL_SEC : 0);
    j->delete_at = sl_json_time(o, "metadata.deletionTimestamp");
    if (!j->delete_at)
        j->ends = 0;
    else if (!j->ends || ends < j->ends) /* may be shortened */
        j->ends = ends;
}

static void take_status(const struct sl_manager *m, struct mgr_pod_job *j,
                        const struct mgr_rec_pod *p, yyjson_val *o) {
    take_end(m, j, o);
    j->active_at = stopped_at(j, o);
    j->ready = holds(o, "Ready");
    j->target = holds(o, TARGET);
    sl_freep(&j->message);
    if (mgr_pod_ended(p))
        j->message = text_or_null(sl_json_str(o, "status.message"));
}

/* Only what waits for a start is compared with what is to be added to it. */
static void take_template(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    struct mgr_pod_job *j = p->job;
    struct mgr_template *old = j->template;
    bool waits = mgr_pod_gated(p) && !mgr_pod_ended(p) && !p->rec.deleting;
    j->template = waits ? mgr_template_get(m, o) : NULL;
    if (waits) {
        j->containers = j->template->containers;
        j->tolerations = j->template->tolerations;
    }
    /* Hashing costs more than the rest: once for what was not seen of this pod before. */
    if (!mgr_pod_gated(p) || !*group_name(m, o))
        j->shape[0] = '\0';
    else if (!*j->shape || j->template != old)
        sl_role_hash(o, j->shape);
    mgr_template_unref(m, old); /* after the new one, so that an equal one stays */
}

/* ---- drafts ---- */

void mgr_pod_draft_drop(struct mgr_pod_job *j) {
    if (!j->draft)
        return;
    sl_freep(&j->draft->podset);
    sl_freep(&j->draft->labels);
    sl_freep(&j->draft->annotations);
    sl_freep(&j->draft->copied);
    sl_freep(&j->draft);
}

/* Has the group as many pods as it needs, with this one, and none with the text of its role? Until
 * then texts may have to be kept for long: they are read again when they are needed. */
static bool completes(const struct mgr_rec_pod *p) {
    int32_t n = 0;
    for (const struct mgr_rec_pod *x = p->job->group->pods; x; x = x->job->next) {
        n += !x->rec.deleting && x->phase != MGR_POD_FAILED;
        if (x != p && x->job->role == p->job->role && x->job->draft && x->job->draft->podset)
            return false;
    }
    return p->job->fast || n >= p->job->total;
}

static bool has_workload(const struct sl_manager *m, const struct mgr_rec_pod *p) {
    uint32_t cursor = 0;
    const struct mgr_pod_group *g = p->job->group;
    if (!g->single)
        return mgr_wl_find(m, mgr_str(m, g->ns), g->name) != NULL;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, p->rec.uid, &cursor));)
        if (mgr_group_fits_one(m, p, w))
            return true;
    return false;
}

static bool wants_draft(const struct sl_manager *m, const struct mgr_rec_pod *p) {
    const struct mgr_pod_job *j = p->job;
    if (!j->template || (j->more && j->more->prebuilt))
        return false;
    if (j->doing == POD_READ || !m->inf->tables[REC_WORKLOAD].synced)
        return j->doing == POD_READ;
    return !has_workload(m, p) && (j->group->single || completes(p));
}

static char *take_object(struct sl_jw *j) {
    sl_jw_end(j);
    char *s = sl_strdup(sl_buf_str(j->b));
    sl_buf_clear(j->b);
    return s;
}

/* What is copied of labels and annotations is short, and read for every pod of a group. */
static void take_draft(const struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    static const struct sl_strs none;
    yyjson_val *annotations = sl_json_at(o, "metadata.annotations");
    bool whole = wants_draft(m, p), copy = m->settings->gates[SL_G_CUSTOM_METRIC_LABELS];
    struct mgr_pod_draft d = {0};
    struct sl_buf b;

    mgr_pod_draft_drop(p->job);
    if (!whole && (!p->job->template || p->job->group->single || has_workload(m, p)))
        return;
    sl_buf_init(&b, MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    mgr_draft_put_chosen(sl_json_at(o, "metadata.labels"), &m->settings->label_keys_to_copy, &j);
    d.labels = take_object(&j);
    sl_jw_object(&j, NULL);
    mgr_draft_put_chosen(annotations, copy ? &m->spec.annotations_to_copy : &none, &j);
    d.copied = take_object(&j);
    sl_jw_object(&j, NULL);
    mgr_draft_put_provreq(annotations, &j);
    d.annotations = take_object(&j);
    if (whole) {
        sl_jw_object(&j, NULL);
        mgr_draft_put_template(o, NULL, &j);
        mgr_draft_put_topology(m, annotations, INDEX_LABEL, &j);
        d.podset = take_object(&j);
    }
    sl_buf_done(&b);
    p->job->draft = sl_alloc(sizeof d);
    *p->job->draft = d;
    if (!whole && mgr_draft_none(d.labels) && mgr_draft_none(d.copied) &&
        mgr_draft_none(d.annotations))
        mgr_pod_draft_drop(p->job);
}

/* ---- the whole ---- */

static uint64_t digest(const struct mgr_rec_pod *p) {
    const struct mgr_pod_job *j = p->job;
    const uint64_t numbers[] = {
        j->template ? j->template->hash : 0,
        (uint64_t)j->delete_at,
        (uint64_t)j->active_at,
        (uint64_t)j->queue << 32 | j->priority_class,
        (uint64_t)j->pod_class << 32 | j->role,
        (uint64_t)j->parent << 32 | (uint32_t)j->total,
        (uint64_t)(j->unretriable | j->fast << 1 | j->serving << 2 | j->ready << 3 |
                   j->target << 4 | j->bad_index << 5 | p->rec.finalizer << 6),
        (uint64_t)(p->phase | p->gates << 8) << 32 | p->node,
        j->more ? (uint64_t)j->more->max_exec_s : 0,
    };
    uint64_t h = sl_hash_bytes(1, numbers, sizeof numbers);
    h = sl_hash_str(h, j->message);
    return sl_hash_str(sl_hash_str(h, j->more ? j->more->prebuilt : NULL),
                       j->more ? j->more->gate : NULL);
}

static uint64_t prebuilt_key(const struct mgr_rec_pod *p) {
    return sl_hash_str(p->rec.ns, p->job->more->prebuilt);
}

static void tie(struct sl_manager *m, struct mgr_rec_pod *p) {
    sl_map_add(&m->by_uid, sl_hash_str(0, p->rec.uid), p->rec.id);
    if (p->job->more && p->job->more->prebuilt)
        sl_map_add(&m->jobs->prebuilt, prebuilt_key(p), p->rec.id);
}

static void untie(struct sl_manager *m, struct mgr_rec_pod *p) {
    (void)sl_map_del(&m->by_uid, sl_hash_str(0, p->rec.uid), p->rec.id);
    if (p->job->more && p->job->more->prebuilt)
        (void)sl_map_del(&m->jobs->prebuilt, prebuilt_key(p), p->rec.id);
}

bool mgr_pod_job_take(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    bool fresh = !p->job;
    if (!mgr_pod_is_managed(m, o)) {
        mgr_pod_job_gone(m, p);
        return !fresh;
    }
    const char *name = group_name(m, o);
    if (fresh)
        p->job = sl_alloc0(1, sizeof *p->job);
    else
        untie(m, p);
    struct mgr_pod_job *j = p->job;
    uint64_t before = j->digest;
    if (!fresh && strcmp(j->group->name, name) != 0)
        mgr_group_leave(m, p);
    take_labels(m, p, o);
    take_more(m, j, o);
    take_status(m, j, p, o);
    take_template(m, p, o);
    j->role = sl_sym_put(m->syms, role_of(p, o));
    tie(m, p);
    if (!j->group)
        mgr_group_join(m, p, name);
    take_draft(m, p, o);
    j->digest = digest(p);
    if (j->digest == before && !j->draft)
        return false;
    mgr_group_pod_changed(m, p);
    return true;
}

void mgr_pod_job_gone(struct sl_manager *m, struct mgr_rec_pod *p) {
    if (!p->job)
        return;
    if (p->job->doing == POD_STOP || p->job->doing == POD_REMOVE)
        (void)mgr_group_written(m, p, SL_WRITTEN); /* the stream was quicker than the answer */
    untie(m, p);
    mgr_template_unref(m, TAKE_PTR(p->job->template));
    mgr_group_leave(m, p);
    mgr_pod_job_free(TAKE_PTR(p->job));
}

void mgr_pod_job_free(struct mgr_pod_job *j) {
    if (!j)
        return;
    mgr_pod_draft_drop(j);
    more_free(TAKE_PTR(j->more));
    sl_freep(&j->message);
    sl_freep(&j->note);
    sl_freep(&j);
}
