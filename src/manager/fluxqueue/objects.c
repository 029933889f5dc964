/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What FluxJobs wrap: Jobs and sets of pods, and pods by themselves. Admission has marked them and
 * keeps them from starting; here each gets a FluxJob with its jobspec, and a Job is started when
 * that one has its places.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define MAX_LABEL 63u

static const struct {
    const char *suffix;
    enum fq_kind kind;
} types[SL_FLUX_TYPES] = {
    [SL_FLUX_POD] = {"pod", FQ_POD},
    [SL_FLUX_JOB] = {"job", FQ_JOB},
    [SL_FLUX_DEPLOYMENT] = {"deployment", FQ_DEPLOYMENT},
    [SL_FLUX_REPLICASET] = {"replicaset", FQ_REPLICASET},
    [SL_FLUX_STATEFULSET] = {"statefulset", FQ_STATEFULSET},
    [SL_FLUX_POD_GROUP] = {"group", FQ_GROUP},
};

/* ---- names ---- */

enum sl_flux_type fq_type_of_rec(const struct sl_rec *r) {
    for (enum sl_flux_type t = 0; t < SL_FLUX_TYPES; t++)
        if (types[t].kind == r->kind)
            return t;
    return SL_FLUX_TYPES;
}

/* A name that would be too long is cut, and ends with a digest of all of it. */
const char *fq_job_name(enum sl_flux_type type, const char *object, char out[SL_REC_NAME]) {
    const char *suffix = types[type].suffix;
    if (strlen(object) + 1 + strlen(suffix) <= SL_REC_MAX_NAME)
        sl_fmt(out, SL_REC_NAME, "%s-%s", object, suffix);
    else
        sl_fmt(out, SL_REC_NAME, "%.*s-%016llx-%s", sl_fmt_cut(object, 200, "."), object,
               (unsigned long long)sl_digest_str(11, object), suffix);
    return out;
}

/* Its name alone does not make it that of the object: somebody may have written it. */
static bool names(const struct fq_job *j, const struct sl_rec *object) {
    return j->type == fq_type_of_rec(object) && strcmp(j->object, object->name) == 0;
}

struct fq_job *fq_job_for(const struct sl_fluxqueue *q, const struct sl_rec *object) {
    char name[SL_REC_NAME];
    struct sl_rec *r = sl_inf_find_sym(q->inf, FQ_FLUXJOB, object->ns,
                                       fq_job_name(fq_type_of_rec(object), object->name, name));
    return r && !r->create_planned && names(fq_job_of(r), object) ? fq_job_of(r) : NULL;
}

/* A ReplicaSet of a Deployment is part of that one. */
static struct sl_rec *top_of(struct sl_rec *r) {
    struct sl_rec *owner = r->kind == FQ_REPLICASET ? sl_rec_owner(r) : NULL;
    return owner && owner->kind == FQ_DEPLOYMENT ? owner : r;
}

struct sl_rec *fq_pod_object(const struct sl_fluxqueue *q, struct fq_pod *p) {
    struct sl_rec *owner = sl_rec_owner(&p->rec);
    if (!p->ours)
        return NULL;
    if (owner &&
        (owner->kind == FQ_JOB || owner->kind == FQ_REPLICASET || owner->kind == FQ_STATEFULSET))
        return top_of(owner);
    if (p->part && !(p->alone && q->client->wall >= p->rec.created + FQ_OWNER_LATE))
        return NULL; /* that one is not known yet */
    return p->group ? &p->group->obj.rec : &p->rec;
}

/* ---- decoding ---- */

bool fq_class_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct fq_class *c = SL_CONTAINER_OF(r, struct fq_class, rec);
    (void)ctx;
    c->value = fq_priority(o, "value");
    c->global = sl_json_bool(o, "globalDefault", false);
    return false;
}

static int32_t priority_of(const struct sl_fluxqueue *q, const char *name) {
    uint32_t at = 0;
    struct sl_rec *r = name ? sl_inf_find(q->inf, FQ_CLASS, "", name) : NULL;
    if (r)
        return SL_CONTAINER_OF(r, struct fq_class, rec)->value;
    while (!name && (r = sl_inf_each(q->inf, FQ_CLASS, &at)))
        if (SL_CONTAINER_OF(r, struct fq_class, rec)->global)
            return SL_CONTAINER_OF(r, struct fq_class, rec)->value;
    return 0;
}

/* ReplicaSets are read too: pods are theirs, and they are a Deployment's. */
bool fq_obj_wanted(void *ctx, yyjson_val *o) {
    (void)ctx;
    return sl_json_label_opt(o, SL_FLUX_SEEN) != NULL;
}

/* "1,3-5": four. What is no such list, or has more than a Job can have, counts as far as it is. */
static int64_t count_indexes(const char *s) {
    int64_t n = 0;
    while (*s >= '0' && *s <= '9') {
        char *end;
        int64_t first = strtoll(s, &end, 10),
                last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        if (first > INT32_MAX || last < first || last > INT32_MAX)
            break;
        n += last - first + 1;
        s = *end == ',' ? end + 1 : end;
    }
    return n;
}

/* Of a Job: those that may run at once and have neither succeeded nor failed for good yet. */
static uint32_t pods_of(const struct sl_rec *r, yyjson_val *o) {
    if (r->kind != FQ_JOB)
        return (uint32_t)sl_json_int32(o, "spec.replicas", 1);
    int32_t parallelism = sl_json_int32(o, "spec.parallelism", 1),
            completions = sl_json_int32(o, "spec.completions", -1),
            succeeded = sl_json_int32(o, "status.succeeded", 0);
    if (completions < 0)
        return succeeded ? (uint32_t)sl_json_int32(o, "status.active", 0) : (uint32_t)parallelism;
    int64_t left =
        (int64_t)completions - succeeded - count_indexes(sl_json_str(o, "status.failedIndexes"));
    return (uint32_t)(left < 0 ? 0 : left < parallelism ? left : parallelism);
}

/* A Job of which no pods are left, though it is not scaled to zero: it is about to be over, which
 * Kubernetes says in a later write. */
static bool is_ending(const struct fq_obj *x, yyjson_val *o) {
    return x->rec.kind == FQ_JOB && x->pods == 0 && sl_json_int32(o, "spec.parallelism", 1) > 0 &&
           sl_json_int32(o, "status.succeeded", 0) +
                   count_indexes(sl_json_str(o, "status.failedIndexes")) >
               0;
}

/* What becomes of it is decided, though pods of it may still have to end. */
static bool is_decided(const struct fq_obj *x, yyjson_val *o, const char *condition,
                       const char *before) {
    return x->rec.kind == FQ_JOB &&
           (sl_json_condition(o, condition) || sl_json_condition(o, before));
}

/* spec: of a pod of its template. */
static void read_jobspec(struct sl_fluxqueue *q, struct fq_obj *x, yyjson_val *o,
                         yyjson_val *spec) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    struct fq_jobspec_options options = q->options;
    struct sl_err err = {0};
    options.ret_together = &x->together;
    options.pod = spec;
    options.ret_parts = &x->parts;
    if (x->pods == 0)
        return; /* what it had says what one pod needs */
    int r = x->pods > FQ_MAX_PODS
                ? sl_err_set(&err, SL_ELIMIT, "%u pods: expected at most %u", x->pods, FQ_MAX_PODS)
                : fq_jobspec_write(fq_type_of_rec(&x->rec), o, x->pods, &options, &b, &err);
    r = fq_own_read(&x->own_where, o, spec, r, &err);
    fq_set_text(&x->jobspec, r < 0 || sl_buf_full(&b) ? NULL : sl_buf_str(&b));
    fq_set_text(&x->refused, x->jobspec ? NULL
                             : r < 0    ? err.text
                                        : "its jobspec would be too long");
}

static bool is_part(yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "controller", false) &&
            strcmp(sl_json_str(ref, "kind"), "Deployment") == 0)
            return true;
    return false;
}

static void drop_template(struct sl_fluxqueue *q, struct fq_obj *x) {
    sl_freep(&x->template.jobspec);
    fq_usage_unref(q, TAKE_PTR(x->template.usage));
}

/* As its template says, again. */
static void follow_template(struct sl_fluxqueue *q, struct fq_obj *x) {
    fq_set_text(&x->jobspec, x->template.jobspec);
    x->parts = x->template.parts;
    fq_usage_unref(q, x->usage);
    x->usage = TAKE_PTR(x->template.usage);
    drop_template(q, x);
}

bool fq_obj_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    struct fq_obj *x = fq_obj_of(r);
    yyjson_val *template = sl_json_at(o, "spec.template");
    uint64_t hash = sl_json_hash(sl_json_hash(3, sl_json_at(o, "metadata.annotations")),
                                 sl_json_at(o, "metadata.labels"));
    x->suspended = sl_json_bool(o, "spec.suspend", false);
    x->failed = is_decided(x, o, "Failed", "FailureTarget");
    x->finished = x->failed || is_decided(x, o, "Complete", "SuccessCriteriaMet");
    x->pods = pods_of(r, o);
    x->ending = is_ending(x, o);
    x->partition = (uint32_t)sl_json_int32(o, "spec.updateStrategy.rollingUpdate.partition", 0);
    x->told = sl_json_label_opt(o, SL_FLUX_UNSCHEDULABLE) != NULL;
    x->part = r->kind == FQ_REPLICASET && is_part(o);
    x->named = sl_json_label_opt(template, SL_FLUX_JOBID) != NULL;
    fq_set_text(&x->priority_class, *sl_json_str(template, "spec.priorityClassName")
                                        ? sl_json_str(template, "spec.priorityClassName")
                                        : NULL);
    hash = sl_hash_u64(sl_hash_u64(sl_json_hash(hash, template), x->pods), q->edition);
    hash = sl_hash_u64(hash, q->limits) | 1;
    if (hash == x->hash)
        return true;
    if (!x->hash)
        x->together = FQ_TOGETHER_UNKNOWN; /* until it has a jobspec */
    x->hash = hash;
    yyjson_val *spec = sl_json_get(template, "spec");
    _cleanup_(sl_json_docp) yyjson_doc *effective = fq_limits_apply(q, r->ns, spec);
    if (effective)
        spec = yyjson_doc_get_root(effective);
    if (x->template.jobspec)
        follow_template(q, x);
    struct fq_usage *before = x->usage;
    x->usage = fq_usage_get(q, spec);
    fq_usage_unref(q, before);
    fq_ports_demand(q, x->usage);
    sl_freep(&x->claims);
    x->claims = fq_claims_read(q, spec, NULL);
    read_jobspec(q, x, o, spec);
    return true;
}

static void keep_template(struct fq_obj *x) {
    if (!x->template.jobspec)
        x->template = (struct fq_asked){TAKE_PTR(x->jobspec), x->parts, TAKE_PTR(x->usage)};
}

bool fq_obj_follow_pods(struct sl_fluxqueue *q, const struct fq_job *j, struct sl_rec *o) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    struct fq_pods_of at = {0};
    struct fq_pod *first = NULL;
    if (o->kind == FQ_POD || o->kind == FQ_GROUP || !fq_obj_of(o)->usage || !fq_obj_of(o)->jobspec)
        return false;
    if (o->kind != FQ_JOB && o->generation > 1)
        return false; /* its pods may be of a template that it had before */
    struct fq_obj *x = fq_obj_of(o);
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        if (p->rec.gone || p->rec.deleting)
            continue;
        if (fq_pod_at(p) || p->target || p->ended || !p->usage || !p->jobspec ||
            (first && p->usage->size != first->usage->size))
            return false;
        first = first ? first : p;
    }
    bool follows = x->template.jobspec;
    /* Places are good for it. A Job whose pods requested more will have such again. */
    if (!first || (fq_usage_is_within(first->usage, x->usage) &&
                   (!follows || o->kind == FQ_JOB || first->usage->size == x->usage->size)))
        return false;
    if (follows && fq_usage_is_within(first->usage, x->template.usage)) {
        follow_template(q, x);
        return true;
    }
    const struct fq_jobspec_member object = {o->name, follows ? x->template.jobspec : x->jobspec,
                                             follows ? &x->template.parts : &x->parts},
                                   pod = {first->rec.name, first->jobspec, &first->parts};
    struct fq_jobspec_parts parts;
    if (!fq_jobspec_replace_slot(&object, &pod, &b, &parts))
        return false;
    keep_template(x);
    fq_set_text(&x->jobspec, sl_buf_str(&b));
    x->parts = parts;
    fq_usage_unref(q, x->usage);
    x->usage = first->usage;
    x->usage->refs++;
    return true;
}

void fq_obj_free(struct sl_rec *r) {
    struct fq_obj *x = fq_obj_of(r);
    sl_freep(&x->jobspec);
    sl_freep(&x->template.jobspec);
    sl_freep(&x->refused);
    sl_freep(&x->priority_class);
    sl_freep(&x->claims);
    fq_own_free(&x->own_where);
}

/* ---- its FluxJob ---- */

const char *fq_object_refused(const struct sl_rec *o) {
    if (o->kind == FQ_POD) {
        const struct fq_pod *p = SL_CONTAINER_OF(o, const struct fq_pod, rec);
        return p->node || p->ended             ? NULL /* it asks for nothing any more */
               : p->jobspec && p->needs_others ? FQ_NEEDS_OTHERS
               : p->jobspec                    ? NULL
                                               : p->refused;
    }
    const struct fq_obj *x = SL_CONTAINER_OF(o, const struct fq_obj, rec);
    return x->jobspec ? NULL : x->refused;
}

const char *fq_object_jobspec(const struct sl_rec *o) {
    if (fq_object_refused(o))
        return NULL;
    return o->kind == FQ_POD ? SL_CONTAINER_OF(o, const struct fq_pod, rec)->jobspec
                             : SL_CONTAINER_OF(o, const struct fq_obj, rec)->jobspec;
}

void fq_object_sync(struct sl_fluxqueue *q, struct sl_rec *object) {
    const char *jobspec = fq_object_jobspec(object), *refused = fq_object_refused(object);
    char name[SL_REC_NAME];
    enum sl_flux_type type = fq_type_of_rec(object);
    struct sl_rec *r =
        sl_inf_find_sym(q->inf, FQ_FLUXJOB, object->ns, fq_job_name(type, object->name, name));
    if (r) {
        sl_rec_enqueue(r);
        if (q->leads && !r->create_planned && !r->deleting && !names(fq_job_of(r), object))
            sl_rec_event(object, FQ_CONTROLLER, true, "NameTaken",
                         "The FluxJob %s says that it is of another object; this one waits until "
                         "it is deleted",
                         r->name);
        /* An edit of one that waits, or of the template of a set that runs. */
        else if (q->leads && !r->create_planned && refused && !fq_job_is_over(fq_job_of(r)))
            sl_rec_event(object, FQ_CONTROLLER, true, "InvalidJobspec", "%s", refused);
        return;
    }
    if (object->deleting || object->gone || !q->leads)
        return;
    if (jobspec || refused) /* the FluxJob says why it never runs */
        (void)sl_rec_plan_create(object, FQ_FLUXJOB, name);
    if (refused)
        sl_rec_event(object, FQ_CONTROLLER, true, "InvalidJobspec", "%s", refused);
}

void fq_object_name_freed(struct sl_fluxqueue *q, const struct sl_rec *flux) {
    char name[SL_REC_NAME];
    for (enum sl_flux_type t = 0; t < SL_FLUX_TYPES; t++) {
        size_t n = strlen(flux->name), tail = strlen(types[t].suffix) + 1;
        if (n <= tail || strcmp(flux->name + n - tail + 1, types[t].suffix) != 0)
            continue;
        sl_fmt(name, sizeof name, "%.*s", (int)(n - tail), flux->name);
        struct sl_rec *o = sl_inf_find_sym(q->inf, types[t].kind, flux->ns, name);
        if (o)
            sl_rec_enqueue(o);
    }
}

void fq_obj_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_obj *x = fq_obj_of(r);
    if (top_of(r) != r) {
        sl_rec_enqueue(top_of(r));
        return;
    }
    if (x->part || (x->finished && !fq_job_for(q, r))) /* its Deployment is not known yet */
        return;
    fq_object_sync(q, r);
    if (r->kind == FQ_JOB && x->suspended)
        sl_rec_write(r);
}

/* Its pods, and those of its ReplicaSets, take what they have as others' do. */
static void disown_pods(struct sl_fluxqueue *q, const struct sl_rec *r) {
    for (struct sl_rec *p = sl_inf_children(q->inf, sl_rec_uid(r->uid), NULL); p; p = p->next)
        if (p->kind == FQ_POD) {
            fq_pod_charge(q, fq_pod_of(p), fq_pod_at(fq_pod_of(p)));
            fq_pod_target(q, fq_pod_of(p), 0);
        } else if (p->kind == FQ_REPLICASET) {
            disown_pods(q, p);
        }
}

/* Its pods may be there for a while, and have no place from now on: their job is over, or gives it
 * to the next ones. */
void fq_obj_deleted(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_job *j = fq_job_for(q, top_of(r));
    disown_pods(q, r);
    fq_ports_released(q, fq_obj_of(r)->usage);
    fq_usage_unref(q, TAKE_PTR(fq_obj_of(r)->usage));
    drop_template(q, fq_obj_of(r));
    if (j)
        sl_rec_enqueue(&j->rec);
}

bool fq_obj_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct sl_fluxqueue *q = ctx;
    if (r->kind == FQ_POD && fq_pod_of(r)->group)
        r = &fq_pod_of(r)->group->obj.rec;
    bool pod = r->kind == FQ_POD, group = r->kind == FQ_GROUP;
    const char *jobspec = fq_object_jobspec(r);
    char name[SL_REC_NAME];
    if ((!jobspec && (group || !fq_object_refused(r))) ||
        strcmp(child->name, fq_job_name(fq_type_of_rec(r), r->name, name)) != 0)
        return false; /* or the pod has come to belong to a group, or to none */
    sl_jw_object(body, NULL);
    sl_jw_str(body, "apiVersion", SL_FLUX_API);
    sl_jw_str(body, "kind", "FluxJob");
    sl_jw_object(body, "metadata");
    sl_jw_str(body, "name", child->name);
    sl_jw_str(body, "namespace", sl_rec_ns(r));
    sl_jw_array(body, "finalizers");
    sl_jw_str(body, NULL, FQ_FINALIZER);
    sl_jw_end(body);
    if (!group) {
        sl_jw_array(body, "ownerReferences");
        sl_rec_put_owner(body, r);
    }
    sl_jw_end_to(body, 1);
    sl_jw_object(body, "spec");
    if (jobspec)
        sl_jw_str(body, "jobspec", jobspec);
    sl_jw_int(body, "type", fq_type_of_rec(r));
    sl_jw_str(body, "name", r->name);
    sl_jw_int(body, "nodes", pod ? 1 : fq_obj_of(r)->pods);
    sl_jw_int(body, "priority",
              pod     ? fq_pod_of(r)->priority
              : group ? fq_obj_of(r)->priority
                      : priority_of(q, fq_obj_of(r)->priority_class));
    return true;
}

/* Nothing else says why it waits: there is no FluxJob. */
void fq_obj_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                          const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    (void)ctx;
    if (how != SL_WRITE_REFUSED)
        return;
    d = yyjson_read(reply->body, reply->len, 0);
    sl_rec_event(r, FQ_CONTROLLER, true, "FluxJobRefused",
                 "The API server refused its FluxJob %.80s (%d): %.240s", child->name,
                 reply->status, sl_json_str(yyjson_doc_get_root(d), "message"));
}

bool fq_build_told(const struct fq_job *j, const struct sl_rec *r, bool told, struct sl_write *w) {
    bool never = j && j->state == FQ_REJECTED;
    if (!j || r->deleting || never == told)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_object(&w->json, "labels");
    if (never)
        sl_jw_str(&w->json, SL_FLUX_UNSCHEDULABLE, "yes");
    else
        sl_jw_null(&w->json, SL_FLUX_UNSCHEDULABLE);
    return true;
}

/* Starts before the label of what can never run. */
uint32_t fq_obj_lane(const struct sl_rec *r) {
    const struct fq_job *j = fq_job_for(r->table->informer->spec.ctx, r);
    return !j || !j->held;
}

/* ---- the start of a Job ---- */

/* Names of all nodes, joined as fluxqueue does; a label if that is short enough. */
static void put_nodes(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_buf *out) {
    for (uint32_t i = 0; i < j->places.n; i++)
        sl_buf_printf(out, "%s%s", i ? "__" : "", fq_str(q, j->places.v[i].node));
}

/* Started together with the labels of its job, by which admission knows that the queue did it. */
bool fq_obj_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_fluxqueue *q = ctx;
    struct fq_obj *x = fq_obj_of(r);
    struct fq_job *j = fq_job_for(q, r);
    _cleanup_(sl_buf_done) struct sl_buf nodes = SL_BUF(FQ_MAX_NODE);
    if (fq_build_told(j, r, x->told, w))
        return true;
    if (r->kind != FQ_JOB || !x->suspended || x->finished || r->deleting || !j ||
        j->state != FQ_RUNNING || !fq_job_committed(j))
        return false;
    if (j->places.n < x->pods) {
        sl_rec_enqueue(&j->rec); /* it waits again */
        return false;
    }
    put_nodes(q, j, &nodes);
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "spec");
    sl_jw_bool(&w->json, "suspend", false);
    sl_jw_object(&w->json, "template");
    sl_jw_object(&w->json, "metadata");
    sl_jw_object(&w->json, "labels");
    sl_jw_strf(&w->json, SL_FLUX_JOBID, "%lld", (long long)j->jobid);
    if (nodes.len <= MAX_LABEL && !sl_buf_full(&nodes))
        sl_jw_str(&w->json, SL_FLUX_NODES, sl_buf_str(&nodes));
    return true;
}
