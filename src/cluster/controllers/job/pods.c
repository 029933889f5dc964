/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a Job: how one is made, freed of its finalizer, and ended. */
#include "cluster/controllers/job/job.h"

#include <stdio.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define TRACKING "batch.kubernetes.io/job-tracking"
#define JOB_UID "batch.kubernetes.io/controller-uid"
#define INDEX "batch.kubernetes.io/job-completion-index"
#define INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define INDEX_IGNORED "batch.kubernetes.io/job-index-ignored-failure-count"
#define INDEX_ENV "JOB_COMPLETION_INDEX"
#define ADOPT_TIME SL_SEC /* no others are made meanwhile */
#define MAX_BASE 57       /* of a name, before the dash and five letters */

/* ---- ending ---- */

void cl_job_untrack(struct cl_pod *p) {
    if (p->untrack || !p->f.tracked)
        return;
    p->untrack = true;
    sl_rec_write(&p->rec);
}

void cl_job_stop_pod(struct cl_job *j, struct cl_pod *p) {
    if (!p->rec.create_planned)
        sl_rec_event(&j->rec, CL_JOB_CONTROLLER, false, "SuccessfulDelete", "Deleted pod: %s",
                     p->rec.name);
    sl_rec_plan_delete(&p->rec);
}

void cl_job_delete_uncounted(struct cl_job *j, struct cl_pod *p) {
    if (p->rec.create_planned || !p->f.tracked) {
        cl_job_stop_pod(j, p);
        return;
    }
    p->delete_uncounted = true;
    cl_job_untrack(p);
}

/* ---- whose they are ---- */

static void open_chooser(const struct cl_job *j, struct cl_selector *s) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        j->selector ? yyjson_read(j->selector, strlen(j->selector), 0) : NULL;
    *s = (struct cl_selector){0};
    cl_selector_init(s);
    cl_selector_read(s, yyjson_doc_get_root(d));
}

/* Checked at every reconcile, so the result is cached as long as the labels are the same. */
bool cl_job_owns(const struct cl_job *j, struct cl_pod *p) {
    uint64_t hash = sl_hash_u64(j->selector_hash, p->f.labels);
    struct cl_selector s;
    if (p->rec.create_planned || !j->selector || p->chosen == hash)
        return true;
    open_chooser(j, &s);
    bool yes = !s.some || cl_selector_matches(&s, p->labels);
    cl_selector_done(&s);
    p->chosen = yes ? hash : 0;
    return yes;
}

void cl_job_release_pod(struct cl_pod *p) {
    p->delete_uncounted = false;
    if (p->rec.deleting) /* no controller will own it: no finalizer may hold it back */
        cl_job_untrack(p);
    else
        cl_release(&p->rec, &p->adopt);
}

static bool may_adopt(const struct sl_rec *job, const struct cl_pod *p) {
    const struct cl_job *j = SL_CONTAINER_OF(job, const struct cl_job, rec);
    return job->ns == p->rec.ns && !job->create_planned && !job->deleting && !job->delete_planned &&
           !j->foreign && j->selector;
}

/* Ended ones, too: they count. */
static bool is_orphan(const struct cl_pod *p) {
    return !p->rec.owner && !p->rec.create_planned && !p->rec.deleting && !p->rec.delete_planned &&
           !p->adopt.by && p->labels;
}

static void adopt_if_chosen(struct sl_cluster *c, struct sl_rec *job, struct cl_pod *p) {
    struct cl_selector s;
    if (!may_adopt(job, p))
        return;
    open_chooser(cl_job_of(job), &s);
    if (cl_selector_matches(&s, p->labels)) {
        cl_adopt(&p->rec, &p->adopt, job);
        cl_job_of(job)->hold = c->client->wall + ADOPT_TIME;
    }
    cl_selector_done(&s);
}

/* Most Jobs select by their uid, which is a label of the pod; the others are few. */
static void find_job(struct sl_cluster *c, struct cl_pod *p) {
    if (!is_orphan(p))
        return;
    if (strstr(p->labels, JOB_UID)) {
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(p->labels, strlen(p->labels), 0);
        const char *uid = sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), JOB_UID));
        struct sl_rec *r = sl_inf_by_uid(c->inf, sl_rec_uid(uid));
        if (r && r->kind == K_JOB)
            adopt_if_chosen(c, r, p);
    }
    for (uint32_t i = 0; i < c->jobs_with_selector.n && !p->adopt.by; i++)
        adopt_if_chosen(c, c->inf->recs.v[c->jobs_with_selector.v[i]], p);
}

void cl_job_adopt_pods(struct sl_cluster *c, struct cl_job *j) {
    struct cl_selector s;
    uint32_t at = 0;
    open_chooser(j, &s);
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_POD, &at));) {
        struct cl_pod *p = cl_pod_of(r);
        if (!is_orphan(p) || !may_adopt(&j->rec, p) || !cl_selector_matches(&s, p->labels))
            continue;
        cl_adopt(r, &p->adopt, &j->rec);
        j->hold = c->client->wall + ADOPT_TIME;
    }
    cl_selector_done(&s);
}

void cl_job_list(struct sl_cluster *c, struct cl_job *j, bool listed) {
    if (listed == j->listed)
        return;
    j->listed = listed;
    if (listed) {
        *sl_vec_push(&c->jobs_with_selector) = j->rec.id;
        return;
    }
    for (uint32_t i = 0; i < c->jobs_with_selector.n; i++)
        if (c->jobs_with_selector.v[i] == j->rec.id) {
            c->jobs_with_selector.v[i] = sl_vec_last(&c->jobs_with_selector);
            c->jobs_with_selector.n--;
            return;
        }
}

void cl_job_put_finalizers(const struct sl_cluster *c, const struct cl_pod *p, struct sl_jw *j) {
    const struct sl_rec *r = sl_inf_by_uid(c->inf, p->adopt.release ? p->rec.owner : p->adopt.by);
    bool takes = !p->adopt.release;
    if (!r || r->kind != K_JOB || takes == p->f.tracked)
        return;
    sl_jw_array(j, "finalizers");
    if (p->finalizers)
        sl_jw_items(j, p->finalizers);
    if (takes)
        sl_jw_str(j, NULL, TRACKING);
    sl_jw_end(j);
}

/* ---- what changed ---- */

void cl_job_pod_changed(struct sl_cluster *c, struct cl_pod *p) {
    if (!cl_on(c, CL_JOBS))
        return;
    if (!p->f.tracked)
        p->untrack = false; /* done; it may get the finalizer again from another Job */
    if (p->delete_uncounted && !p->f.tracked) {
        struct sl_rec *owner = sl_rec_owner(&p->rec);
        if (owner && owner->kind == K_JOB)
            cl_job_stop_pod(cl_job_of(owner), p);
        else
            sl_rec_plan_delete(&p->rec);
        p->delete_uncounted = false;
    }
    if (p->f.tracked && !sl_rec_owner(&p->rec))
        cl_job_untrack(p);
    find_job(c, p);
}

/* Its name is free. */
void cl_job_pod_gone(struct sl_cluster *c, struct cl_pod *p) {
    struct sl_rec *owner = sl_rec_owner(&p->rec);
    (void)c;
    if (owner && owner->kind == K_JOB)
        cl_job_of(owner)->low = 0;
}

static bool build_untrack(struct sl_cluster *c, struct cl_pod *p, struct sl_write *w) {
    (void)c;
    if (!p->untrack || !p->f.tracked)
        return false;
    sl_rec_build_guarded(&p->rec, NULL, w);
    sl_jw_raw(&w->json, "finalizers", p->finalizers ? p->finalizers : "null");
    return true;
}

const struct cl_pod_writer cl_job_pod_writer = {build_untrack, NULL};

/* ---- making ---- */

/* "<job>", or "<job>-<index>", short enough that five letters can follow. */
static void base_of(const struct cl_job *j, int32_t index, char out[SL_REC_NAME]) {
    char tail[16] = "";
    if (index != JOB_NONE)
        sl_fmt(tail, sizeof tail, "-%d", index);
    sl_fmt(out, SL_REC_NAME, "%.*s%s", MAX_BASE - (int)strlen(tail), j->rec.name, tail);
}

/* The first free name. It follows from the names that are taken: after a restart with the same pods
 * the same name is tried, also if the last create is still in flight. */
static void name_of(struct sl_cluster *c, struct cl_job *j, int32_t index, char out[SL_REC_NAME]) {
    char base[SL_REC_NAME];
    base_of(j, index, base);
    uint64_t k = index == JOB_NONE ? j->low : 0;
    while (
        sl_inf_find_sym(c->inf, K_POD, j->rec.ns, sl_rec_child_name(&j->rec, base, base, k, out)))
        k++;
    if (index == JOB_NONE)
        j->low = k + 1;
}

void cl_job_add_pod(struct sl_cluster *c, struct cl_job *j, int32_t index,
                    const struct cl_pod *before) {
    char name[SL_REC_NAME];
    name_of(c, j, index, name);
    struct cl_pod *p = cl_pod_of(sl_rec_plan_create(&j->rec, K_POD, name));
    p->f.index = index;
    p->f.tracked = true;
    if (before) {
        bool ignored = cl_job_failure_action(j, before, NULL) == JOB_IGNORE;
        p->f.index_failures = before->f.index_failures + !ignored;
        p->f.index_ignored = before->f.index_ignored + ignored;
    }
}

static void add_env(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *list) {
    size_t i, n, k, m;
    yyjson_mut_val *container, *v;
    yyjson_mut_arr_foreach (yyjson_mut_obj_get(spec, list), i, n, container) {
        yyjson_mut_val *env = yyjson_mut_obj_get(container, "env");
        bool has = false;
        yyjson_mut_arr_foreach (env, k, m, v)
            has |= yyjson_mut_equals_str(yyjson_mut_obj_get(v, "name"), INDEX_ENV);
        if (has || !yyjson_mut_is_obj(container))
            continue;
        if (!yyjson_mut_is_arr(env)) {
            env = yyjson_mut_arr(d);
            yyjson_mut_obj_put(container, yyjson_mut_str(d, "env"), env);
        }
        v = yyjson_mut_arr_add_obj(d, env);
        yyjson_mut_obj_add_str(d, v, "name", INDEX_ENV);
        v = yyjson_mut_obj_add_obj(d, yyjson_mut_obj_add_obj(d, v, "valueFrom"), "fieldRef");
        yyjson_mut_obj_add_str(d, v, "fieldPath", "metadata.labels['" INDEX "']");
    }
}

struct edit {
    const struct cl_job *j;
    const struct cl_pod *p;
};

static void edit(void *ctx, yyjson_mut_doc *d, yyjson_mut_val *pod) {
    const struct edit *e = ctx;
    const struct cl_pod_facts *f = &e->p->f;
    yyjson_mut_val *spec = yyjson_mut_obj_get(pod, "spec");
    char number[16], host[SL_REC_NAME];
    sl_fmt(number, sizeof number, "%d", f->index);
    sl_fmt(host, sizeof host, "%.200s-%d", e->j->rec.name, f->index);
    cl_pod_set(d, pod, "labels", INDEX, number);
    cl_pod_set(d, pod, "annotations", INDEX, number);
    yyjson_mut_obj_put(spec, yyjson_mut_str(d, "hostname"), yyjson_mut_strcpy(d, host));
    add_env(d, spec, "initContainers");
    add_env(d, spec, "containers");
    if (e->j->per_index == JOB_NONE)
        return;
    sl_fmt(number, sizeof number, "%d", f->index_failures);
    cl_pod_set(d, pod, "annotations", INDEX_FAILURES, number);
    if (f->index_ignored) {
        sl_fmt(number, sizeof number, "%d", f->index_ignored);
        cl_pod_set(d, pod, "annotations", INDEX_IGNORED, number);
    }
}

bool cl_job_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct cl_job *j = cl_job_of(r);
    struct cl_pod *p = cl_pod_of(child);
    char generate[SL_REC_NAME + 1];
    (void)ctx;
    if (!j->template || j->suspend || j->end != JOB_RUNS)
        return false;
    base_of(j, p->f.index, generate);
    sl_fmt(generate + strlen(generate), 2, "-");
    return cl_pod_put(body, &(struct cl_pod_body){.template = j->template,
                                                  .owner = r,
                                                  .name = child->name,
                                                  .generate_name = generate,
                                                  .finalizer = TRACKING,
                                                  .edit = j->indexed ? edit : NULL,
                                                  .ctx = &(struct edit){j, p}});
}

void cl_job_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                          const struct sl_kube_reply *reply) {
    (void)ctx;
    if (how == SL_WRITTEN) {
        sl_rec_event(r, CL_JOB_CONTROLLER, false, "SuccessfulCreate", "Created pod: %s",
                     child->name);
    } else if (how == SL_WRITE_REFUSED) {
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
        sl_rec_event(r, CL_JOB_CONTROLLER, true, "FailedCreate", "Error creating: %s",
                     sl_json_str(yyjson_doc_get_root(d), "message"));
    }
}

/* ---- the order of deletion ---- */

static int by(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

int cl_job_pod_rank(const void *a, const void *b) {
    const struct cl_pod *x = *(struct cl_pod *const *)a, *y = *(struct cl_pod *const *)b;
    static const uint8_t order[] = {
        [CL_POD_PENDING] = 0, [CL_POD_UNKNOWN] = 1, [CL_POD_RUNNING] = 2};
    int r = by(!x->rec.create_planned, !y->rec.create_planned);
    r = r ? r : by(x->f.node != 0, y->f.node != 0);
    r = r ? r : by(order[x->f.phase], order[y->f.phase]);
    r = r ? r : by(x->f.ready_since != 0, y->f.ready_since != 0);
    r = r ? r : by(y->f.ready_since, x->f.ready_since);
    r = r ? r : by(y->f.restarts, x->f.restarts);
    r = r ? r : by(y->rec.created, x->rec.created);
    return r ? r : strcmp(x->rec.name, y->rec.name);
}
