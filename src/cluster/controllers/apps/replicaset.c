/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ReplicaSets, and ReplicationControllers, which were before them: keep the desired number of pods.
 * Pods in flight count from the moment they are planned, those to be deleted no longer do; so a
 * reconciliation of stale state neither creates nor deletes twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

#define BURST 500
#define WRITE_WISH 1u
#define WRITE_ADOPTION 2u
#define WRITE_STATUS 3u

static bool is_rc(const struct cl_replicaset *rs) {
    return rs->rec.kind == K_REPLICATION_CONTROLLER;
}

static const char *controller_of(const struct cl_replicaset *rs) {
    return is_rc(rs) ? "replication-controller" : "replicaset-controller";
}

static int32_t annotated(yyjson_val *o, const char *key) {
    const char *s = sl_json_annotation(o, key);
    char *end;
    long long n = strtoll(s, &end, 10);
    return *s && !*end && n >= 0 && n <= INT32_MAX ? (int32_t)n : -1;
}

static void replace_text(char **field, yyjson_val *v) {
    free(*field);
    *field = cl_text_of(v);
}

/* ---- reading ---- */

/* The template without the label that distinguishes the templates of a Deployment. */
static yyjson_doc *plain_template(yyjson_val *template) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_val_mut_copy(d, template);
    yyjson_mut_val *labels = yyjson_mut_obj_get(yyjson_mut_obj_get(t, "metadata"), "labels");

    (void)yyjson_mut_obj_remove_key(labels, "pod-template-hash");
    yyjson_mut_doc_set_root(d, t);
    return yyjson_mut_doc_imut_copy(d, NULL);
}

uint64_t cl_template_hash(yyjson_val *template, uint64_t *ret_digest) {
    _cleanup_(sl_json_docp) yyjson_doc *plain = plain_template(template);
    uint64_t h = sl_json_hash(1, yyjson_doc_get_root(plain));

    if (ret_digest)
        *ret_digest = sl_json_digest(1, yyjson_doc_get_root(plain));
    return h;
}

bool cl_rs_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_replicaset *rs = cl_rs_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    yyjson_val *template = yyjson_obj_get(spec, "template");
    uint64_t chooser = sl_json_hash(1, yyjson_obj_get(spec, "selector"));

    (void)ctx;
    if (!rs->matcher.arena.ceiling)
        cl_selector_init(&rs->matcher);
    if (chooser != rs->matcher_hash) {
        if (is_rc(rs)) /* its selector is a map of labels */
            cl_selector_read_map(&rs->matcher, yyjson_obj_get(spec, "selector"));
        else
            cl_selector_read(&rs->matcher, yyjson_obj_get(spec, "selector"));
        rs->matcher_hash = chooser;
        rs->adoption_checked = false;
    }
    free(rs->template);
    rs->template = cl_pod_template(template);
    replace_text(&rs->labels, sl_json_at(o, "metadata.labels"));
    replace_text(&rs->annotations, sl_json_at(o, "metadata.annotations"));
    rs->template_hash = cl_template_hash(template, NULL);
    rs->labels_hash = sl_json_hash(1, sl_json_at(template, "metadata.labels"));
    rs->replicas = sl_json_int32(spec, "replicas", 1);
    rs->min_ready = sl_json_int32(spec, "minReadySeconds", 0);
    rs->revision = strtoll(sl_json_annotation(o, "deployment.kubernetes.io/revision"), NULL, 10);
    rs->desired = annotated(o, "deployment.kubernetes.io/desired-replicas");
    rs->max = annotated(o, "deployment.kubernetes.io/max-replicas");
    rs->seen = (struct cl_rs_status){
        .observed = sl_json_int(status, "observedGeneration", 0),
        .replicas = sl_json_int(status, "replicas", 0),
        .labeled = sl_json_int(status, "fullyLabeledReplicas", 0),
        .ready = sl_json_int(status, "readyReplicas", 0),
        .available = sl_json_int(status, "availableReplicas", 0),
        .going = sl_json_int(status, "terminatingReplicas", -1),
    };
    cl_conditions_read(&rs->conditions, yyjson_obj_get(status, "conditions"));
    cl_adoption_decode(&rs->adoption, o);
    return true;
}

void cl_rs_done(struct sl_rec *r) {
    struct cl_replicaset *rs = cl_rs_of(r);

    if (rs->matcher.arena.ceiling)
        cl_selector_done(&rs->matcher);
    cl_adoption_done(&rs->adoption);
    sl_freep(&rs->template);
    sl_freep(&rs->labels);
    sl_freep(&rs->annotations);
    cl_conditions_done(&rs->conditions);
    cl_conditions_done(&rs->desired_conditions);
    sl_freep(&rs->pending.annotations);
    sl_freep(&rs->failure);
}

/* ---- its pods ---- */

static bool is_ours(const struct cl_replicaset *rs, const struct cl_pod *p) {
    return p->rec.create_planned || p->f.labels == rs->labels_hash ||
           cl_selector_matches(&rs->matcher, p->labels);
}

int32_t cl_rs_available(const struct sl_cluster *c, const struct cl_replicaset *rs) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(rs->rec.uid), NULL);
    int32_t n = 0;

    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        n += !p->rec.create_planned && cl_pod_active(p) &&
             cl_pod_available(c, p, rs->min_ready, NULL);
    return n < rs->replicas ? n : rs->replicas;
}

int32_t cl_rs_held(const struct sl_cluster *c, const struct cl_replicaset *rs) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(rs->rec.uid), NULL);
    int32_t n = 0;

    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        n += !cl_pod_ended(p) && !p->rec.deleting;
    n = rs->pending.any && rs->pending.replicas > n ? rs->pending.replicas : n;
    return n > rs->replicas ? n : rs->replicas;
}

bool cl_rs_has_pods(const struct sl_cluster *c, const struct cl_replicaset *rs) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(rs->rec.uid), NULL);

    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        if (!cl_pod_ended(p))
            return true;
    return false;
}

/* ---- the order of deletion ---- */

struct candidate {
    struct cl_pod *p;
    uint32_t together; /* ready pods of the set on its node */
    bool available;
    sl_time now;
};

/* Ages count by their order of magnitude, so that it is not always the youngest. */
static int magnitude(sl_time since, sl_time now) {
    return since && now > since ? 63 - __builtin_clzll((uint64_t)(now - since)) : -1;
}

static int order(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* By the rules of Kubernetes: what does the least good goes first. */
static int goes_first(const void *x, const void *y) {
    static const int8_t by_phase[] = {
        [CL_POD_PENDING] = 0, [CL_POD_UNKNOWN] = 1, [CL_POD_RUNNING] = 2};
    const struct candidate *a = x, *b = y;
    const struct cl_pod_facts *f = &a->p->f, *g = &b->p->f;
    int c = order(!a->p->rec.create_planned, !b->p->rec.create_planned);

    if (!c)
        c = order(f->node != 0, g->node != 0);
    if (!c)
        c = order(by_phase[f->phase], by_phase[g->phase]);
    if (!c)
        c = order(f->ready_since != 0, g->ready_since != 0);
    if (!c) /* not a rule of Kubernetes: else minReadySeconds could cost an available one */
        c = order(a->available, b->available);
    if (!c)
        c = order(f->deletion_cost, g->deletion_cost);
    if (!c)
        c = order(b->together, a->together);
    if (!c && f->ready_since != g->ready_since) {
        c = order(magnitude(f->ready_since, a->now), magnitude(g->ready_since, a->now));
        return c ? c : strcmp(a->p->rec.uid, b->p->rec.uid);
    }
    if (!c)
        c = order(g->restarts, f->restarts);
    if (!c && a->p->rec.created != b->p->rec.created)
        c = order(magnitude(a->p->rec.created, a->now), magnitude(b->p->rec.created, a->now));
    if (!c)
        c = strcmp(a->p->rec.uid, b->p->rec.uid);
    return c ? c : strcmp(a->p->rec.name, b->p->rec.name);
}

static int by_node(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    return order(a->p->f.node, b->p->f.node);
}

static void count_together(struct candidate *v, uint32_t n) {
    if (n > 1)
        qsort(v, n, sizeof *v, by_node);
    for (uint32_t i = 0, end; i < n; i = end) {
        uint32_t ready = 0;
        for (end = i; end < n && v[end].p->f.node == v[i].p->f.node; end++)
            ready += v[end].p->f.ready_since != 0;
        for (uint32_t k = i; k < end; k++)
            v[k].together = v[k].p->f.node ? ready : 0;
    }
}

static void remove_pods(struct sl_cluster *c, struct cl_replicaset *rs, uint32_t many) {
    SL_VEC(struct candidate) v = {0};
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(rs->rec.uid), NULL);

    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        if (cl_pod_active(p) && is_ours(rs, p))
            *sl_vec_push(&v) =
                (struct candidate){.p = p,
                                   .available = cl_pod_available(c, p, rs->min_ready, NULL),
                                   .now = c->client->wall};
    count_together(v.v, v.n);
    if (v.n > 1)
        qsort(v.v, v.n, sizeof v.v[0], goes_first);
    for (uint32_t i = 0; i < v.n && i < many; i++) {
        if (!v.v[i].p->rec.create_planned)
            sl_rec_event(&rs->rec, controller_of(rs), false, "SuccessfulDelete", "Deleted pod: %s",
                         v.v[i].p->rec.name);
        sl_rec_plan_delete(&v.v[i].p->rec);
    }
    sl_vec_free(&v);
}

/* After a refusal one is tried, and when that succeeds the others. */
static void add_pods(struct sl_cluster *c, struct cl_replicaset *rs, int32_t many,
                     int32_t planned) {
    char name[SL_REC_NAME];

    if (rs->hold > c->client->wall || !rs->template)
        return;
    many = many < BURST ? many : BURST;
    if (rs->failure)
        many = planned > 0 ? 0 : 1;
    for (int32_t i = 0; i < many; i++) {
        do
            sl_rec_child_name(&rs->rec, rs->rec.name, "pod", rs->number++, name);
        while (sl_inf_find_sym(c->inf, K_POD, rs->rec.ns, name));
        (void)sl_rec_plan_create(&rs->rec, K_POD, name);
    }
}

bool cl_rs_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct cl_replicaset *rs = cl_rs_of(r);
    char generate[SL_REC_NAME + 2];

    (void)ctx;
    sl_fmt(generate, sizeof generate, "%s-", r->name);
    return rs->template && cl_pod_put(body, &(struct cl_pod_body){.template = rs->template,
                                                                  .owner = r,
                                                                  .name = child->name,
                                                                  .generate_name = generate});
}

void cl_rs_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    struct cl_replicaset *rs = cl_rs_of(r);

    if (how == SL_WRITTEN) {
        sl_rec_event(r, controller_of(rs), false, "SuccessfulCreate", "Created pod: %s",
                     child->name);
        sl_freep(&rs->failure);
    } else if (how == SL_WRITE_REFUSED) {
        sl_freep(&rs->failure);
        rs->failure = cl_message_of(reply);
        sl_rec_event(r, controller_of(rs), true, "FailedCreate", "Error creating: %s", rs->failure);
    } else if (how == SL_WRITE_GONE) {
        rs->hold = c->client->wall + SL_SEC;
    }
    sl_rec_enqueue(r);
}

/* ---- looking ---- */

struct count {
    int32_t active, planned;
    int32_t doomed; /* and not seen to go yet: each is replaced only then */
    sl_time next;
};

static struct count count_pods(struct sl_cluster *c, struct cl_replicaset *rs) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(rs->rec.uid), NULL);
    struct cl_rs_status *now = &rs->now;
    struct count n = {0};

    *now = (struct cl_rs_status){.observed = rs->rec.generation, .going = is_rc(rs) ? -1 : 0};
    for (struct cl_pod *p; (p = cl_next_pod(&at));) {
        if (!is_ours(rs, p)) {
            cl_release(&p->rec, &p->adopt);
            continue;
        }
        if (cl_pod_ended(p))
            continue;
        n.active += cl_pod_active(p);
        n.planned += p->rec.create_planned;
        n.doomed += p->rec.delete_planned && !p->rec.deleting;
        now->going += !is_rc(rs) && !p->rec.create_planned && p->rec.deleting;
        if (p->rec.create_planned || p->rec.deleting)
            continue;
        now->replicas++;
        now->labeled += p->f.labels == rs->labels_hash;
        now->ready += p->f.ready_since != 0;
        now->available += cl_pod_available(c, p, rs->min_ready, &n.next);
    }
    return n;
}

static bool status_differs(const struct cl_replicaset *rs) {
    return memcmp(&rs->seen, &rs->now, sizeof rs->now) != 0 ||
           !cl_conditions_same(&rs->conditions, &rs->desired_conditions);
}

static void plan_status(struct sl_cluster *c, struct cl_replicaset *rs) {
    cl_conditions_copy(&rs->desired_conditions, &rs->conditions);
    if (!rs->failure)
        cl_condition_drop(&rs->desired_conditions, "ReplicaFailure");
    else if (cl_condition_set(&rs->desired_conditions, "ReplicaFailure", "True", "FailedCreate",
                              rs->failure, c->client->wall))
        rs->desired_conditions.v[rs->desired_conditions.n - 1].updated =
            0; /* this kind has no such time */
    if (status_differs(rs))
        sl_rec_write(&rs->rec);
}

static void sync_pods(struct sl_cluster *c, struct cl_replicaset *rs) {
    struct sl_rec *r = &rs->rec;
    struct count n = count_pods(c, rs);

    if (!rs->adoption_checked && !r->deleting) {
        rs->adoption_checked = true;
        if (cl_adopt_pods(c, r, &rs->matcher, NULL))
            rs->hold = c->client->wall + SL_SEC;
    }
    if (!r->deleting && n.active + n.doomed < rs->replicas)
        add_pods(c, rs, rs->replicas - n.active - n.doomed, n.planned);
    else if (!r->deleting && n.active > rs->replicas)
        remove_pods(c, rs, (uint32_t)(n.active - rs->replicas));
    if (rs->failure && n.active >= rs->replicas && !n.planned)
        sl_freep(&rs->failure);
    if (rs->hold > c->client->wall && (!n.next || rs->hold < n.next))
        n.next = rs->hold;
    sl_rec_reconcile_at(r, n.next);
    plan_status(c, rs);
}

/* To whom it belongs. */
static void sync_owner(struct sl_cluster *c, struct cl_replicaset *rs) {
    struct sl_rec *r = &rs->rec, *owner = sl_rec_owner(r);

    if (owner && owner->kind == K_DEPLOYMENT) {
        if (!cl_selector_matches(&cl_dp_of(owner)->matcher, rs->labels))
            cl_release(r, &rs->adoption);
        sl_rec_enqueue(owner);
    } else if (!r->owner) {
        uint32_t i = 0;
        for (struct sl_rec *d; (d = sl_inf_each(c->inf, K_DEPLOYMENT, &i));)
            if (d->ns == r->ns && !d->deleting &&
                cl_selector_matches(&cl_dp_of(d)->matcher, rs->labels))
                cl_adopt(r, &rs->adoption, d);
    }
}

void cl_rs_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;

    if (is_rc(cl_rs_of(r)) || cl_on(c, CL_REPLICA_SETS))
        sync_pods(c, cl_rs_of(r));
    if (!is_rc(cl_rs_of(r)) && cl_on(c, CL_DEPLOYMENTS))
        sync_owner(c, cl_rs_of(r));
}

/* ---- writing ---- */

static void build_pending(struct cl_replicaset *rs, struct sl_write *w) {
    struct sl_jw *j = &w->json;
    sl_rec_build_guarded(&rs->rec, NULL, w);
    if (rs->pending.annotations)
        sl_jw_raw(j, "annotations", rs->pending.annotations);
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_int(j, "replicas", rs->pending.replicas);
    sl_jw_int(j, "minReadySeconds", rs->pending.min_ready);
}

static void build_status(struct cl_replicaset *rs, struct sl_write *w) {
    const struct cl_rs_status *s = &rs->now;

    sl_rec_build_guarded(&rs->rec, "status", w);
    struct sl_jw *j = &w->json;
    sl_jw_end(j);
    sl_jw_object(j, "status");
    sl_jw_int(j, "replicas", s->replicas);
    cl_count_put(j, "fullyLabeledReplicas", s->labeled, false);
    cl_count_put(j, "readyReplicas", s->ready, false);
    cl_count_put(j, "availableReplicas", s->available, false);
    if (!is_rc(rs))
        cl_count_put(j, "terminatingReplicas", s->going, true);
    cl_count_put(j, "observedGeneration", s->observed, true);
    if (rs->desired_conditions.n)
        cl_conditions_put(j, &rs->desired_conditions);
    else
        sl_jw_null(j, "conditions");
}

bool cl_rs_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct cl_replicaset *rs = cl_rs_of(r);

    if (rs->pending.any) {
        build_pending(rs, w);
        w->tag = WRITE_WISH;
        return true;
    }
    if ((rs->adoption.by || rs->adoption.release) && cl_adoption_build(c, r, &rs->adoption, w)) {
        w->tag = WRITE_ADOPTION;
        return true;
    }
    if (!status_differs(rs) || (!is_rc(rs) && !cl_on(c, CL_REPLICA_SETS)))
        return false;
    build_status(rs, w);
    w->tag = WRITE_STATUS;
    return true;
}

void cl_rs_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply) {
    struct cl_replicaset *rs = cl_rs_of(r);

    (void)ctx;
    if (w->tag == WRITE_ADOPTION)
        cl_adoption_written(r, &rs->adoption, w, how, reply);
    struct sl_rec *owner = sl_rec_owner(r);
    if (w->tag == WRITE_WISH && how == SL_WRITTEN && owner &&
        rs->pending.replicas != rs->pending.from)
        sl_rec_event(owner, "deployment-controller", false, "ScalingReplicaSet",
                     "Scaled %s replica set %s from %d to %d",
                     rs->pending.replicas > rs->pending.from ? "up" : "down", r->name,
                     rs->pending.from, rs->pending.replicas);
    if (w->tag == WRITE_WISH && how != SL_WRITE_FAILED) {
        /* Whatever else came of it, it was decided on something that is no longer so. */
        rs->pending.any = false;
        sl_freep(&rs->pending.annotations);
    }
    sl_rec_enqueue(r);
    sl_rec_write(r);
}
