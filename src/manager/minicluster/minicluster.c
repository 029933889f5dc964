/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds, the reconciliation, the turn. */
#include "manager/minicluster/minicluster.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/log/log.h"
#include "manager/config/config.h"
#include "manager/minicluster/mc_int.h"

#define MAX_IN_FLIGHT 16u
#define MAX_EVENTS 4096u
#define ELASTIC "kueue.x-k8s.io/elastic-job"
#define COMPLETION_INDEX "batch.kubernetes.io/job-completion-index"

/* ---- decoding ---- */

static bool replace(char **to, const char *text) {
    if (*to && text && strcmp(*to, text) == 0)
        return false;
    bool changed = *to || text;
    sl_freep(to);
    if (text)
        *to = sl_strdup(text);
    return changed;
}

/* What admission says of it, if anything is wrong. */
static char *fault_of(const char *name, yyjson_val *made) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(MC_MAX_SPEC);
    struct sl_field_errs errs = {.arena = &arena};
    struct sl_buf b = SL_BUF_SHORT(MC_MAX_MESSAGE);
    char *text = NULL;
    sl_minicluster_check(&errs, name, made);
    if (errs.n > 0) {
        sl_field_errs_print(&errs, &b);
        text = sl_strdup(sl_buf_str(&b));
    }
    sl_buf_done(&b);
    return text;
}

/* A size beyond the maximum is taken back, and none at all is not the spec's fault but that of
 * whoever scaled: neither stops the rest. */
static void take_sizes(struct mc_cluster *c, yyjson_val *spec) {
    c->size = sl_json_int32(spec, "size", 1);
    if (sl_json_int(spec, "size", 1) < 1)
        c->size = 0;
    c->max_size = sl_json_int32(spec, "maxSize", 0);
    c->min_size = c->old ? 0 : sl_json_int32(spec, "minSize", 0);
    c->cleanup = sl_json_bool(spec, "cleanup", false);
}

/* For the check: a size that is going to be taken back counts as it will be. */
static yyjson_doc *with_right_size(const struct mc_cluster *c, yyjson_val *made) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    sl_assert(doc);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, made);
    yyjson_mut_doc_set_root(doc, copy);
    yyjson_mut_val *spec = yyjson_mut_obj_get(copy, "spec");
    if (c->maximum > 0 && yyjson_mut_is_obj(spec))
        (void)yyjson_mut_obj_put(spec, yyjson_mut_str(doc, "size"),
                                 yyjson_mut_int(doc, mc_right_size(c, mc_find_job(c))));
    yyjson_doc *out = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return out;
}

static bool take_spec(struct mc_cluster *c, yyjson_val *o) {
    _cleanup_(sl_json_docp) yyjson_doc *made = sl_minicluster_as_made(o);
    _cleanup_(sl_json_docp) yyjson_doc *right = NULL;
    yyjson_val *object = yyjson_doc_get_root(made), *spec = sl_json_get(object, "spec");
    struct sl_buf b = SL_BUF(MC_MAX_SPEC);
    bool changed;
    c->old = sl_minicluster_is_v1alpha1(object);
    take_sizes(c, spec);
    sl_json_put(&b, spec);
    changed = replace(&c->spec, sl_buf_full(&b) ? "{}" : sl_buf_str(&b));
    sl_buf_done(&b);
    right = with_right_size(c, object);
    _cleanup_(sl_freep) char *fault = fault_of(c->rec.name, yyjson_doc_get_root(right));
    return replace(&c->error, fault) || changed;
}

static bool cluster_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mc_cluster *c = mc_of(r);
    (void)ctx;
    bool changed = mc_status_take(c, sl_json_get(o, "status"));
    changed |= take_spec(c, o);
    return replace(&c->elastic, sl_json_annotation_opt(o, ELASTIC)) || changed;
}

static void cluster_free(struct sl_rec *r) {
    struct mc_cluster *c = mc_of(r);
    sl_freep(&c->spec);
    sl_freep(&c->error);
    sl_freep(&c->elastic);
    sl_freep(&c->status);
    sl_freep(&c->conditions);
    sl_freep(&c->trouble);
}

static bool job_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mc_job *j = mc_job_of(r), was = *j;
    yyjson_val *spec = sl_json_get(o, "spec"), *status = sl_json_get(o, "status");
    (void)ctx;
    j->parallelism = sl_json_int32(spec, "parallelism", 1);
    j->completions = sl_json_int32(spec, "completions", 0);
    j->ready = sl_json_int32(status, "ready", 0);
    j->suspended = sl_json_bool(spec, "suspend", false);
    j->finished = sl_json_condition(o, "Complete") || sl_json_condition(o, "Failed");
    return j->parallelism != was.parallelism || j->completions != was.completions ||
           j->ready != was.ready || j->suspended != was.suspended || j->finished != was.finished;
}

/* By the annotation of Indexed Jobs; without it by the name, as the Flux Operator has it. */
static int32_t index_of(yyjson_val *o, const char *job) {
    const char *text = sl_json_annotation(o, COMPLETION_INDEX);
    const char *name = sl_json_str(o, "metadata.name");
    size_t n = strlen(job);
    if (!*text && strncmp(name, job, n) == 0 && name[n] == '-')
        text = name + n + 1;
    if (*text < '0' || *text > '9')
        return -1;
    long v = strtol(text, NULL, 10);
    return v <= SL_MINICLUSTER_MAX_SIZE ? (int32_t)v : -1;
}

static bool pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct mc_pod *p = mc_pod_of(r), was = *p;
    const char *phase = sl_json_str(o, "status.phase");
    (void)ctx;
    p->index = index_of(o, sl_json_label(o, MC_HPA_SELECTOR));
    p->labelled = *sl_json_label(o, MC_JOB_INDEX) != '\0';
    p->ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    return p->index != was.index || p->labelled != was.labelled || p->ended != was.ended;
}

/* That it exists is all; with a decoder the answer to its create is taken in. */
static bool bare_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)ctx, (void)r, (void)o;
    return false;
}

static bool volume_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    const char *of = sl_json_annotation(o, MC_VOLUME_OF);
    (void)ctx;
    mc_volume_of(r)->of = strcmp(of, MC_VOLUME_KEPT) == 0 ? 0 : sl_rec_uid(of);
    return false;
}

/* ---- which objects are ours ---- */

static bool is_owned_by(yyjson_val *o, const char *group, const char *kind) {
    size_t i, n, len = strlen(group);
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref) {
        const char *api = sl_json_str(ref, "apiVersion");
        if (sl_json_bool(ref, "controller", false) && strncmp(api, group, len) == 0 &&
            api[len] == '/' && strcmp(sl_json_str(ref, "kind"), kind) == 0)
            return true;
    }
    return false;
}

static bool of_cluster(void *ctx, yyjson_val *o) {
    (void)ctx;
    return is_owned_by(o, "flux-framework.org", "MiniCluster");
}

static bool pod_wanted(void *ctx, yyjson_val *o) {
    return of_cluster(ctx, o) ||
           (is_owned_by(o, "batch", "Job") && *sl_json_label(o, MC_HPA_SELECTOR));
}

static bool volume_wanted(void *ctx, yyjson_val *o) {
    (void)ctx;
    return *sl_json_annotation(o, MC_VOLUME_OF) != '\0';
}

/* ---- reconciliation ---- */

/* All that clusters are compared with is known. */
static bool sees_objects(const struct sl_miniclusters *m) {
    for (uint32_t k = 0; k < MC_CLUSTER; k++)
        if (!sl_inf_watches(m->inf, k) || !sl_inf_synced(m->inf, k))
            return false;
    return true;
}

static void enqueue_all(struct sl_miniclusters *m, uint32_t kind) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, kind, &at));)
        sl_rec_enqueue(r);
}

static void cluster_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_miniclusters *m = ctx;
    struct mc_cluster *c = mc_of(r);
    if (r->deleting || (!m->yields && !sees_objects(m)))
        return; /* what it owns goes with it */
    if (!m->yields)
        mc_plan(m, c);
    if (c->size != mc_right_size(c, mc_find_job(c)) || mc_status_differs(m, c))
        sl_rec_write(r);
}

static void cluster_deleted(void *ctx, struct sl_rec *r) {
    (void)r;
    enqueue_all(ctx, MC_VOLUME);
}

static void job_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_rec *owner = sl_rec_owner(r);
    (void)ctx;
    if (owner)
        sl_rec_enqueue(owner);
}

/* A pod of a Job of ours says its index; that of index 0 also when the cluster ends. */
static void pod_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_miniclusters *m = ctx;
    struct sl_rec *job = sl_rec_owner(r);
    const struct mc_pod *p = mc_pod_of(r);
    if (!job || job->kind != MC_JOB || m->yields)
        return;
    if (!p->labelled && p->index >= 0 && !r->deleting)
        sl_rec_write(r);
    if (p->index == 0)
        sl_rec_enqueue(job);
}

/* A Service or claim that several clusters may need is gone. */
static void shared_deleted(void *ctx, struct sl_rec *r) {
    struct sl_miniclusters *m = ctx;
    uint32_t at = 0;
    for (struct sl_rec *c; (c = sl_inf_each(m->inf, MC_CLUSTER, &at));)
        if (c->ns == r->ns)
            sl_rec_enqueue(c);
}

static void volume_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_miniclusters *m = ctx;
    struct mc_volume *v = mc_volume_of(r);
    struct sl_rec *owner = sl_inf_by_uid(m->inf, v->of);
    if (owner)
        sl_rec_enqueue(owner);
    else if (!v->of)
        enqueue_all(m, MC_CLUSTER); /* of one that stays nobody knows whose it is */
    if (!sl_inf_synced(m->inf, MC_CLUSTER) || !v->of || m->yields || !m->inf->writes || owner ||
        r->deleting)
        return;
    if (*r->uid)
        sl_rec_plan_delete(r);
    else
        sl_rec_forget(r);
}

/* ---- writes ---- */

static bool cluster_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_miniclusters *m = ctx;
    struct mc_cluster *c = mc_of(r);
    int32_t right = mc_right_size(c, mc_find_job(c));
    if (r->deleting)
        return false;
    if (m->yields || c->size == right || c->error)
        return mc_status_build(m, c, w);
    sl_rec_event(r, MC_CONTROLLER, true, "SizeTakenBack",
                 "spec.size %d is not between 1 and %d: it becomes %d", c->size, mc_maximum(c),
                 right);
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    sl_jw_int(&w->json, "size", right);
    return true;
}

static bool cluster_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct sl_miniclusters *m = ctx;
    struct mc_cluster *c = mc_of(r);
    struct mc_view v;
    if (m->yields || c->error)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = mc_cluster_view(c, &v);
    v.size = mc_right_size(c, NULL);
    return d && mc_child_put(body, &v, c, child, m->client->wall);
}

static bool job_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_miniclusters *m = ctx;
    const struct mc_job *j = mc_job_of(r);
    struct sl_rec *owner = sl_rec_owner(r);
    if (!owner || owner->deleting || m->yields || mc_of(owner)->error || j->finished)
        return false;
    int32_t right = mc_right_size(mc_of(owner), j);
    if (j->parallelism == right && j->completions == right)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    sl_jw_int(&w->json, "parallelism", right);
    sl_jw_int(&w->json, "completions", right);
    return true;
}

/* A label alone: other changes of the pod do not matter to it. */
static bool pod_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_miniclusters *m = ctx;
    const struct mc_pod *p = mc_pod_of(r);
    if (p->labelled || p->index < 0 || m->yields || r->deleting)
        return false;
    sl_rec_build_patch(r, NULL, w);
    sl_jw_object(&w->json, NULL);
    sl_jw_object(&w->json, "metadata");
    sl_jw_str(&w->json, "uid", r->uid);
    sl_jw_object(&w->json, "labels");
    sl_jw_strf(&w->json, MC_JOB_INDEX, "%d", p->index);
    return true;
}

static bool volume_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_miniclusters *m = ctx;
    struct sl_rec *owner = sl_inf_by_uid(m->inf, mc_volume_of(r)->of);
    struct mc_view v;
    if (*r->uid || mc_volume_of(r)->exists || !owner || owner->deleting || m->yields)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = mc_cluster_view(mc_of(owner), &v);
    sl_inf_build_create(m->inf, MC_VOLUME, "", w);
    return d && mc_child_put(&w->json, &v, mc_of(owner), r, m->client->wall);
}

/* One that somebody else made does as well. */
static void volume_written(void *ctx, struct sl_rec *r, const struct sl_write *w,
                           enum sl_written how, const struct sl_kube_reply *reply) {
    struct sl_miniclusters *m = ctx;
    struct sl_rec *owner = sl_inf_by_uid(m->inf, mc_volume_of(r)->of);
    if (w->method != SL_POST)
        return;
    if (how == SL_WRITE_CONFLICT)
        mc_volume_of(r)->exists = true;
    if (owner && how == SL_WRITE_REFUSED)
        mc_child_written(ctx, owner, r, how, reply);
    enqueue_all(m, MC_CLUSTER); /* several may name it */
}

/* ---- the kinds ---- */

static const struct sl_rec_kind kinds[MC_KINDS] = {
    [MC_POD] = {SL_REC_CORE_API("pods", "Pod"), .namespaced = true, .owners = true, .lane = 1,
                .query = "labelSelector=namespace%2Capp.kubernetes.io%2Fname",
                .size = sizeof(struct mc_pod), .wanted = pod_wanted, .decode = pod_decode,
                .reconcile = pod_reconcile, .build = pod_build},
    [MC_JOB] = {SL_REC_API("batch/v1", "jobs", "Job"), .namespaced = true, .owners = true,
                .size = sizeof(struct mc_job), .wanted = of_cluster, .decode = job_decode,
                .reconcile = job_reconcile, .build = job_build},
    [MC_CONFIG_MAP] = {SL_REC_CORE_API("configmaps", "ConfigMap"), .namespaced = true,
                       .owners = true, .metadata_only = true, .size = sizeof(struct sl_rec),
                       .wanted = of_cluster, .decode = bare_decode},
    [MC_SERVICE] = {SL_REC_CORE_API("services", "Service"), .namespaced = true, .owners = true,
                    .metadata_only = true, .size = sizeof(struct sl_rec), .decode = bare_decode,
                    .deleted = shared_deleted},
    [MC_CLAIM] = {SL_REC_CORE_API("persistentvolumeclaims", "PersistentVolumeClaim"),
                  .namespaced = true, .owners = true, .metadata_only = true,
                  .size = sizeof(struct sl_rec), .decode = bare_decode, .deleted = shared_deleted},
    [MC_VOLUME] = {SL_REC_CORE_API("persistentvolumes", "PersistentVolume"), .metadata_only = true,
                   .size = sizeof(struct mc_volume), .wanted = volume_wanted,
                   .decode = volume_decode, .reconcile = volume_reconcile, .build = volume_build,
                   .written = volume_written},
    [MC_CLUSTER] = {SL_REC_API(MC_API, "miniclusters", "MiniCluster"), .namespaced = true,
                    .owners = true, .lane = 1, .size = sizeof(struct mc_cluster),
                    .decode = cluster_decode, .reconcile = cluster_reconcile,
                    .deleted = cluster_deleted, .free = cluster_free, .build = cluster_build,
                    .child = cluster_child, .child_written = mc_child_written},
};

/* ---- life ---- */

struct sl_miniclusters *sl_miniclusters_new(const struct sl_miniclusters_spec *spec) {
    struct sl_miniclusters *m = sl_alloc0(1, sizeof *m);
    m->spec = *spec;
    m->client = spec->client;
    m->yields = spec->settings->flux_operator;
    m->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = spec->client,
        .kinds = kinds,
        .n_kinds = MC_KINDS,
        .ctx = m,
        .field_manager = "sluice-minicluster",
        .max_in_flight = MAX_IN_FLIGHT,
        .seed = spec->seed,
        .events = {.instance = spec->instance, .max_known = MAX_EVENTS},
    });
    m->inf->writes = !spec->standby;
    sl_inf_watch(m->inf, MC_CLUSTER);
    return m;
}

void sl_miniclusters_free(struct sl_miniclusters *m) {
    if (!m)
        return;
    sl_inf_free(m->inf);
    sl_freep(&m);
}

/* Everything is looked at again. */
static void begin_anew(struct sl_miniclusters *m) {
    for (uint32_t i = 0; i < m->inf->recs.n; i++)
        if (m->inf->recs.v[i] && !m->inf->recs.v[i]->gone) {
            sl_rec_enqueue(m->inf->recs.v[i]);
            sl_rec_write(m->inf->recs.v[i]);
        }
}

void sl_miniclusters_configure(struct sl_miniclusters *m, const struct sl_settings *settings) {
    if (m->yields == settings->flux_operator)
        return;
    m->yields = settings->flux_operator;
    sl_log(SL_LOG_INFO, "controller of MiniClusters changed",
           SL_S("controller", m->yields ? "FluxOperator" : "Sluice"));
    begin_anew(m);
}

void sl_miniclusters_lead(struct sl_miniclusters *m, bool lead) {
    if (m->inf->writes == lead)
        return;
    m->inf->writes = lead;
    if (lead)
        begin_anew(m);
}

/* ---- the turn ---- */

/* The other kinds are read once there is a MiniCluster; volumes from the beginning, since one may
 * be left of a cluster that went while nobody looked. */
static void start_watches(struct sl_miniclusters *m) {
    bool served = sl_inf_served(m->inf, MC_CLUSTER) && !m->yields;
    bool any = m->inf->tables[MC_CLUSTER].n > 0;
    for (uint32_t k = 0; k < MC_CLUSTER; k++)
        if (!sl_inf_watches(m->inf, k) && served && (any || k == MC_VOLUME))
            sl_inf_watch(m->inf, k);
}

void sl_miniclusters_tick(struct sl_miniclusters *m) {
    start_watches(m);
    m->inf->ready |= sl_inf_poll(m->inf);
    start_watches(m);
    if (!m->inf->ready)
        return;
    if (sees_objects(m) != m->synced) {
        m->synced = !m->synced;
        enqueue_all(m, MC_CLUSTER);
        enqueue_all(m, MC_VOLUME);
        enqueue_all(m, MC_POD);
    }
    (void)sl_inf_wake(m->inf);
    if (!sl_inf_settle(m->inf))
        sl_log(SL_LOG_ERROR, "reconciliation did not converge", SL_I("passes", SL_INF_MAX_PASSES));
    sl_inf_flush(m->inf);
    if (sl_syms_due(&m->inf->syms))
        sl_inf_sweep(m->inf);
}

sl_time sl_miniclusters_next(const struct sl_miniclusters *m) {
    return sl_time_min(sl_inf_next(m->inf), sl_inf_next_timer(m->inf));
}

bool sl_miniclusters_idle(const struct sl_miniclusters *m) {
    return sl_inf_idle(m->inf);
}
