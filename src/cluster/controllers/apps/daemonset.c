/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DaemonSets: a pod on each node that the template's selector, affinity and tolerations allow. A
 * pod names its node in its affinity and is bound by the scheduler, as on a cluster.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

#define CONTROLLER "daemonset-controller"
#define GENERATION "deprecated.daemonset.template.generation"
#define KILL_PAUSE SL_SEC
#define KILL_MOST (15 * SL_MINUTE)

/* ---- the template ---- */

static void add_toleration(yyjson_mut_doc *d, yyjson_mut_val *list, const char *key,
                           const char *effect) {
    yyjson_mut_val *v;
    size_t i, n;

    yyjson_mut_arr_foreach (list, i, n, v)
        if (strcmp(sl_json_mut_text(yyjson_mut_obj_get(v, "key")), key) == 0 &&
            strcmp(sl_json_mut_text(yyjson_mut_obj_get(v, "effect")), effect) == 0)
            return;
    v = yyjson_mut_arr_add_obj(d, list);
    yyjson_mut_obj_add_strcpy(d, v, "key", key);
    yyjson_mut_obj_add_str(d, v, "operator", "Exists");
    yyjson_mut_obj_add_strcpy(d, v, "effect", effect);
}

/* What keeps other pods from a node keeps none of these. */
static void add_tolerations(yyjson_mut_doc *d, yyjson_mut_val *spec) {
    static const char *const all[][2] = {
        {"node.kubernetes.io/not-ready", "NoExecute"},
        {"node.kubernetes.io/unreachable", "NoExecute"},
        {"node.kubernetes.io/disk-pressure", "NoSchedule"},
        {"node.kubernetes.io/memory-pressure", "NoSchedule"},
        {"node.kubernetes.io/pid-pressure", "NoSchedule"},
        {"node.kubernetes.io/unschedulable", "NoSchedule"},
        {"node.kubernetes.io/network-unavailable", "NoSchedule"}, /* with the host's network */
    };
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "tolerations");
    bool host = yyjson_mut_is_true(yyjson_mut_obj_get(spec, "hostNetwork"));

    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(d);
        yyjson_mut_obj_put(spec, yyjson_mut_str(d, "tolerations"), list);
    }
    for (size_t i = 0; i < SL_LEN(all) - !host; i++)
        add_toleration(d, list, all[i][0], all[i][1]);
}

/* On which nodes its pods may be follows from the template alone. */
static void take_class(struct sl_cluster *c, struct cl_daemonset *s, yyjson_val *template) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *pod = yyjson_val_mut_copy(d, template);
    void *old = s->class;

    yyjson_mut_doc_set_root(d, pod);
    add_tolerations(d, yyjson_mut_obj_get(pod, "spec"));
    _cleanup_(sl_json_docp) yyjson_doc *plain = yyjson_mut_doc_imut_copy(d, NULL);
    s->class = c->spec.scheduler->class_of(c, yyjson_doc_get_root(plain), s->rec.ns);
    if (old)
        c->spec.scheduler->class_free(c, old);
}

/* ---- reading ---- */

static void replace_text(char **field, yyjson_val *v) {
    free(*field);
    *field = cl_text_of(v);
}

static int64_t annotated(yyjson_val *o) {
    const char *s = sl_json_annotation(o, GENERATION);
    char *end;
    long long n = strtoll(s, &end, 10);

    return *s && !*end ? n : -1;
}

bool cl_ds_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_daemonset *s = cl_ds_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    yyjson_val *template = yyjson_obj_get(spec, "template"),
               *rolling = sl_json_at(spec, "updateStrategy.rollingUpdate");
    uint64_t chooser = sl_json_hash(1, yyjson_obj_get(spec, "selector"));

    if (!s->matcher.arena.ceiling)
        cl_selector_init(&s->matcher);
    if (chooser != s->matcher_hash) {
        cl_selector_read(&s->matcher, yyjson_obj_get(spec, "selector"));
        s->matcher_hash = chooser;
        s->adoption_checked = false;
    }
    free(s->template);
    s->template = cl_pod_template(template);
    s->template_hash = sl_json_hash(1, template);
    s->template_digest = sl_json_digest(1, template);
    if (s->template && (!s->class || s->class_hash != s->template_hash)) {
        take_class(ctx, s, template);
        s->class_hash = s->template_hash;
    }
    replace_text(&s->annotations, sl_json_at(o, "metadata.annotations"));
    replace_text(&s->max_unavailable, yyjson_obj_get(rolling, "maxUnavailable"));
    replace_text(&s->max_surge, yyjson_obj_get(rolling, "maxSurge"));
    s->on_delete = strcmp(sl_json_str(spec, "updateStrategy.type"), "OnDelete") == 0;
    s->min_ready = sl_json_int32(spec, "minReadySeconds", 0);
    s->history = sl_json_int32(spec, "revisionHistoryLimit", 10);
    s->generation = annotated(o);
    s->seen = (struct cl_ds_status){
        .observed = sl_json_int(status, "observedGeneration", 0),
        .desired = sl_json_int(status, "desiredNumberScheduled", 0),
        .current = sl_json_int(status, "currentNumberScheduled", 0),
        .misscheduled = sl_json_int(status, "numberMisscheduled", 0),
        .ready = sl_json_int(status, "numberReady", 0),
        .updated = sl_json_int(status, "updatedNumberScheduled", 0),
        .available = sl_json_int(status, "numberAvailable", 0),
        .unavailable = sl_json_int(status, "numberUnavailable", 0),
        .collisions = sl_json_int(status, "collisionCount", -1),
    };
    if (s->collisions < s->seen.collisions)
        s->collisions = (int32_t)s->seen.collisions;
    return true;
}

void cl_ds_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_daemonset *s = cl_ds_of(r);

    if (s->class)
        c->spec.scheduler->class_free(c, s->class);
    s->class = NULL;
}

void cl_ds_stop(struct sl_cluster *c) {
    for (uint32_t i = 0; i < c->inf->recs.n; i++) /* those too that are gone and not yet freed */
        if (c->inf->recs.v[i] && c->inf->recs.v[i]->kind == K_DAEMONSET)
            cl_ds_gone(c, c->inf->recs.v[i]);
}

void cl_ds_done(struct sl_rec *r) {
    struct cl_daemonset *s = cl_ds_of(r);
    char **texts[] = {&s->template,  &s->annotations, &s->max_unavailable,
                      &s->max_surge, &s->revision,    &s->failure};

    if (s->matcher.arena.ceiling)
        cl_selector_done(&s->matcher);
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
}

void cl_ds_nodes_changed(struct sl_cluster *c) {
    uint32_t i = 0;

    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_DAEMONSET, &i));)
        sl_rec_enqueue(r);
}

/* ---- its pods ---- */

static int32_t scaled(const char *text, int64_t of) {
    _cleanup_(sl_json_docp) yyjson_doc *d = text ? yyjson_read(text, strlen(text), 0) : NULL;
    int64_t n = cl_int_or_percent(yyjson_doc_get_root(d), of, true);

    return n > 0 && n <= INT32_MAX ? (int32_t)n : 0;
}

int32_t cl_ds_surge(const struct cl_daemonset *s, int64_t nodes) {
    return s->on_delete ? 0 : scaled(s->max_surge, nodes);
}

int32_t cl_ds_may_miss(const struct cl_daemonset *s, int64_t nodes) {
    int32_t n = scaled(s->max_unavailable, nodes);

    return n || scaled(s->max_surge, nodes) ? n : 1; /* else it would never come to an end */
}

bool cl_ds_is_new(const struct cl_daemonset *s, const struct cl_pod *p) {
    char generation[24];

    if (p->rec.create_planned || (s->revision && p->f.revision == cl_revision(s->revision)))
        return true;
    if (s->generation < 0 || !p->labels)
        return false;
    sl_fmt(generation, sizeof generation, "%lld", (long long)s->generation);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(p->labels, strlen(p->labels), 0);
    const char *is =
        sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), "pod-template-generation"));
    return strcmp(is, generation) == 0;
}

bool cl_ds_available(struct sl_cluster *c, const struct cl_daemonset *s, const struct cl_pod *p,
                     struct cl_ds_view *v) {
    return !p->rec.create_planned && cl_pod_available(c, p, s->min_ready, &v->next);
}

static bool is_going(const struct cl_pod *p) {
    return p->rec.deleting || p->rec.delete_planned;
}

static sl_sym place_of(const struct cl_pod *p) {
    return p->f.node ? p->f.node : p->f.target;
}

/* After a refusal one is tried, and when that succeeds the others. */
void cl_ds_make_pod(struct sl_cluster *c, struct cl_daemonset *s, sl_sym node) {
    char name[SL_REC_NAME];

    if (s->hold > c->client->wall || !s->template || !s->revision)
        return;
    do
        sl_rec_child_name(&s->rec, s->rec.name, "pod", s->number++, name);
    while (sl_inf_find_sym(c->inf, K_POD, s->rec.ns, name));
    cl_pod_of(sl_rec_plan_create(&s->rec, K_POD, name))->f.target = node;
}

void cl_ds_remove_pod(struct cl_daemonset *s, struct cl_pod *p) {
    if (is_going(p))
        return;
    if (!p->rec.create_planned)
        sl_rec_event(&s->rec, CONTROLLER, false, "SuccessfulDelete", "Deleted pod: %s",
                     p->rec.name);
    sl_rec_plan_delete(&p->rec);
}

/* ---- looking ---- */

static int by_name(const void *x, const void *y) {
    const struct cl_ds_node *a = x, *b = y;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_place(const void *x, const void *y) {
    const struct cl_pod *a = *(struct cl_pod *const *)x, *b = *(struct cl_pod *const *)y;
    if (place_of(a) != place_of(b))
        return place_of(a) < place_of(b) ? -1 : 1;
    if (a->rec.created != b->rec.created)
        return a->rec.created < b->rec.created ? -1 : 1;
    return strcmp(a->rec.name, b->rec.name);
}

static void take_pods(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec.uid), NULL);

    for (struct cl_pod *p; (p = cl_next_pod(&at));) {
        if (!p->rec.create_planned && !cl_selector_matches(&s->matcher, p->labels))
            cl_release(&p->rec, &p->adopt);
        else if (!cl_pod_ended(p) || !p->rec.deleting)
            *sl_vec_push(&v->pods) = p;
    }
    if (v->pods.n > 1)
        qsort(v->pods.v, v->pods.n, sizeof v->pods.v[0], by_place);
}

static void look(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    uint32_t i = 0, at = 0;

    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_NODE, &i));)
        *sl_vec_push(&v->nodes) = (struct cl_ds_node){
            .name = sl_sym_put(c->syms, r->name), .fit = c->spec.scheduler->class_fit(s->class, r)};
    if (v->nodes.n > 1)
        qsort(v->nodes.v, v->nodes.n, sizeof v->nodes.v[0], by_name);
    take_pods(c, s, v);
    for (i = 0; i < v->nodes.n; i++) {
        struct cl_ds_node *n = &v->nodes.v[i];
        for (; at < v->pods.n && place_of(v->pods.v[at]) < n->name; at++)
            if (!v->pods.v[at]->f.node) /* its node went before it was bound */
                cl_ds_remove_pod(s, v->pods.v[at]);
        for (n->first = at; at < v->pods.n && place_of(v->pods.v[at]) == n->name; at++)
            n->n++;
    }
    for (; at < v->pods.n; at++)
        if (!v->pods.v[at]->f.node)
            cl_ds_remove_pod(s, v->pods.v[at]);
}

/* ---- what has to be where ---- */

/* One that has ended is replaced, each time later. */
static void replace_ended(struct sl_cluster *c, struct cl_daemonset *s, struct cl_pod *p,
                          struct cl_ds_view *v) {
    sl_time now = c->client->wall;
    bool failed = p->f.phase == CL_POD_FAILED;

    if (s->kill_at > now) {
        v->next = v->next && v->next < s->kill_at ? v->next : s->kill_at;
        return;
    }
    if (now - s->kill_at > KILL_MOST)
        s->kill_pause = 0;
    s->kill_pause = s->kill_pause ? 2 * s->kill_pause : KILL_PAUSE;
    s->kill_pause = s->kill_pause < KILL_MOST ? s->kill_pause : KILL_MOST;
    s->kill_at = now + s->kill_pause;
    sl_rec_event(&s->rec, CONTROLLER, failed, failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                 "Found %s daemon pod %s/%s on node %s, will try to %s it",
                 failed ? "failed" : "succeeded", sl_rec_ns(&p->rec), p->rec.name,
                 cl_str(c, p->f.node), failed ? "kill" : "delete");
    cl_ds_remove_pod(s, p);
}

/* Only one pod runs on a node; during a surge one of each template. */
static void keep_one(struct sl_cluster *c, struct cl_daemonset *s, const struct cl_ds_node *n,
                     bool surges, struct cl_ds_view *v) {
    bool had[2] = {false, false};

    for (uint32_t i = n->first; i < n->first + n->n; i++) {
        struct cl_pod *p = v->pods.v[i];
        if (is_going(p))
            continue;
        if (cl_pod_ended(p)) {
            replace_ended(c, s, p, v);
            continue;
        }
        bool *one = &had[surges && cl_ds_is_new(s, p)];
        if (*one)
            cl_ds_remove_pod(s, p);
        *one = true;
    }
}

static void manage(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    int32_t room = s->failure ? 1 : DS_MAX_AT_ONCE, planned = 0;
    bool surges = cl_ds_surge(s, v->nodes.n) > 0;

    for (uint32_t i = 0; i < v->pods.n; i++)
        planned += v->pods.v[i]->rec.create_planned;
    room -= s->failure && planned ? 1 : 0;
    for (uint32_t i = 0; i < v->nodes.n; i++) {
        struct cl_ds_node *n = &v->nodes.v[i];
        if (n->fit == CL_FIT_RUNS && n->n == 0 && room > 0) {
            cl_ds_make_pod(c, s, n->name);
            room--;
        } else if (n->fit != CL_FIT_NO) {
            keep_one(c, s, n, surges, v);
        } else {
            for (uint32_t k = n->first; k < n->first + n->n; k++)
                cl_ds_remove_pod(s, v->pods.v[k]);
        }
    }
    if (room <= 0) /* the others follow */
        sl_rec_reconcile_at(&s->rec, c->client->wall + 10 * SL_MSEC);
}

/* ---- the status ---- */

static void count(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    struct cl_ds_status *now = &s->now;

    *now = (struct cl_ds_status){.observed = s->rec.generation, .collisions = s->seen.collisions};
    if (s->collisions > 0)
        now->collisions = s->collisions;
    for (uint32_t i = 0; i < v->nodes.n; i++) {
        const struct cl_ds_node *n = &v->nodes.v[i];
        const struct cl_pod *p = NULL;
        for (uint32_t k = n->first; k < n->first + n->n && !p; k++)
            if (!v->pods.v[k]->rec.create_planned && !v->pods.v[k]->rec.gone)
                p = v->pods.v[k];
        now->desired += n->fit == CL_FIT_RUNS;
        now->misscheduled += n->fit != CL_FIT_RUNS && p;
        if (n->fit != CL_FIT_RUNS || !p)
            continue;
        bool available = cl_ds_available(c, s, p, v);
        now->current++;
        now->ready += p->f.ready_since != 0;
        now->available += available;
        now->updated += cl_ds_is_new(s, p);
    }
    now->unavailable = now->desired - now->available;
}

static bool differs(const struct cl_daemonset *s) {
    return memcmp(&s->seen, &s->now, sizeof s->now) != 0;
}

/* ---- the turn ---- */

static struct cl_history history_of(struct cl_daemonset *s) {
    return (struct cl_history){.rec = &s->rec,
                               .template = s->template,
                               .annotations = s->annotations,
                               .hash_label = "controller-revision-hash",
                               .hash = s->template_hash,
                               .digest = s->template_digest,
                               .collisions = &s->collisions,
                               .limit = s->history,
                               .hold = s->hold};
}

static const char *word_of(const struct cl_revision *v) {
    const char *dash = strrchr(v->rec.name, '-');

    return dash ? dash + 1 : v->rec.name;
}

static bool in_use(struct sl_cluster *c, const struct cl_history *h, const struct cl_revision *v) {
    const struct cl_daemonset *s = SL_CONTAINER_OF(h->rec, const struct cl_daemonset, rec);
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec.uid), NULL);

    if (s->revision && strcmp(word_of(v), s->revision) == 0)
        return true;
    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        if (p->f.revision == cl_revision(word_of(v)))
            return true;
    return false;
}

static void act(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    struct cl_history h = history_of(s);
    struct cl_revision *present = cl_history_revision(c, &h);

    if (!s->adoption_checked) {
        s->adoption_checked = true;
        if (cl_adopt_pods(c, &s->rec, &s->matcher, NULL))
            s->hold = c->client->wall + SL_SEC;
    }
    if (present) {
        sl_freep(&s->revision);
        s->revision = sl_strdup(word_of(present));
    }
    if (!present)
        return; /* as soon as that is there */
    manage(c, s, v);
    if (!s->on_delete)
        cl_ds_roll(c, s, v);
    cl_history_forget(c, &h, in_use);
}

void cl_ds_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_daemonset *s = cl_ds_of(r);
    struct cl_ds_view v = {.next = 0};

    if (!s->matcher.some || !s->class || !s->template)
        return;
    sl_rec_reconcile_at(r, 0);
    look(c, s, &v);
    if (!r->deleting)
        act(c, s, &v);
    count(c, s, &v);
    if (s->hold > c->client->wall && (!v.next || s->hold < v.next))
        v.next = s->hold;
    if (v.next && (!r->reconcile_at || v.next < r->reconcile_at))
        sl_rec_reconcile_at(r, v.next);
    if (differs(s) && s->revision)
        sl_rec_write(r);
    sl_vec_free(&v.nodes);
    sl_vec_free(&v.pods);
}

/* ---- writing ---- */

struct edit {
    const struct sl_cluster *c;
    const struct cl_daemonset *s;
    sl_sym node;
};

/* The node takes the place of what the template requires, which was asked before. */
static void set_node(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *node) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char *const path[] = {"affinity", "nodeAffinity", required};
    yyjson_mut_val *at = spec;

    for (size_t i = 0; i < SL_LEN(path); i++) {
        yyjson_mut_val *next = yyjson_mut_obj_get(at, path[i]);
        if (!yyjson_mut_is_obj(next) || i == SL_LEN(path) - 1) {
            next = yyjson_mut_obj(d);
            yyjson_mut_obj_put(at, yyjson_mut_strcpy(d, path[i]), next);
        }
        at = next;
    }
    yyjson_mut_val *terms = yyjson_mut_obj_add_arr(d, at, "nodeSelectorTerms");
    yyjson_mut_val *fields =
        yyjson_mut_obj_add_arr(d, yyjson_mut_arr_add_obj(d, terms), "matchFields");
    yyjson_mut_val *field = yyjson_mut_arr_add_obj(d, fields);
    yyjson_mut_obj_add_str(d, field, "key", "metadata.name");
    yyjson_mut_obj_add_str(d, field, "operator", "In");
    yyjson_mut_arr_add_strcpy(d, yyjson_mut_obj_add_arr(d, field, "values"), node);
}

static void edit_pod(void *ctx, yyjson_mut_doc *d, yyjson_mut_val *pod) {
    const struct edit *e = ctx;
    yyjson_mut_val *spec = yyjson_mut_obj_get(pod, "spec");
    char generation[24];

    cl_pod_set(d, pod, "labels", "controller-revision-hash", e->s->revision);
    sl_fmt(generation, sizeof generation, "%lld", (long long)e->s->generation);
    if (e->s->generation >= 0)
        cl_pod_set(d, pod, "labels", "pod-template-generation", generation);
    add_tolerations(d, spec);
    set_node(d, spec, cl_str(e->c, e->node));
}

bool cl_ds_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct sl_cluster *c = ctx;
    struct cl_daemonset *s = cl_ds_of(r);
    char generate[SL_REC_NAME + 2];

    if (child->kind == K_REVISION) {
        struct cl_history h = history_of(s);
        return cl_history_put(c, &h, child, body);
    }
    struct edit e = {c, s, cl_pod_of(child)->f.target};
    sl_fmt(generate, sizeof generate, "%s-", r->name);
    return s->template && s->revision && e.node &&
           cl_pod_put(body, &(struct cl_pod_body){.template = s->template,
                                                  .owner = r,
                                                  .name = child->name,
                                                  .generate_name = generate,
                                                  .edit = edit_pod,
                                                  .ctx = &e});
}

void cl_ds_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    struct cl_daemonset *s = cl_ds_of(r);

    if (child->kind == K_POD && how == SL_WRITTEN) {
        sl_rec_event(r, CONTROLLER, false, "SuccessfulCreate", "Created pod: %s", child->name);
        sl_freep(&s->failure);
    } else if (how == SL_WRITE_REFUSED) {
        sl_freep(&s->failure);
        s->failure = cl_message_of(reply);
        sl_rec_event(r, CONTROLLER, true, "FailedCreate", "Error creating: %s", s->failure);
    } else if (how == SL_WRITE_GONE) {
        s->hold = c->client->wall + SL_SEC;
    }
    sl_rec_enqueue(r);
}

bool cl_ds_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct cl_daemonset *s = cl_ds_of(r);
    const struct cl_ds_status *n = &s->now;

    (void)ctx;
    if (!s->revision || !differs(s))
        return false;
    sl_rec_build_guarded(r, "status", w);
    struct sl_jw *j = &w->json;
    sl_jw_end(j);
    sl_jw_object(j, "status");
    sl_jw_int(j, "currentNumberScheduled", n->current);
    sl_jw_int(j, "numberMisscheduled", n->misscheduled);
    sl_jw_int(j, "desiredNumberScheduled", n->desired);
    sl_jw_int(j, "numberReady", n->ready);
    cl_count_put(j, "observedGeneration", n->observed, true);
    cl_count_put(j, "updatedNumberScheduled", n->updated, false);
    cl_count_put(j, "numberAvailable", n->available, false);
    cl_count_put(j, "numberUnavailable", n->unavailable, false);
    if (n->collisions >= 0)
        sl_jw_int(j, "collisionCount", n->collisions);
    return true;
}

void cl_ds_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply) {
    (void)ctx, (void)w, (void)how, (void)reply;
    sl_rec_enqueue(r);
    sl_rec_write(r);
}
