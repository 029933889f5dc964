/* SPDX-License-Identifier: Apache-2.0 */
/* Pending pods, bindings, and the messages for pods that do not fit. */
#include "cluster/scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/scheduler/scheduler_int.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

#define CONTROLLER "default-scheduler"
#define CHOICES 8u           /* nodes with free capacity that are compared */
#define TELL_DELAY SL_SEC    /* a pod that waits so long gets a condition */
#define TELL_AGAIN SL_MINUTE /* and again, if that has changed */
#define MAX_REASONS 64u
#define MAX_WHY 4096u

/* ---- counting and standing in line ---- */

static struct sl_cluster *cluster_of(const struct sched *s) {
    return s->c;
}

/* Where the pod uses capacity, as observed or in flight. */
static sl_sym stands_on(const struct cl_pod *p) {
    if (cl_pod_ended(p))
        return 0;
    return p->f.node ? p->f.node : p->sched->target;
}

static void wake(struct sched *s, struct sched_class *k) {
    k->asleep = false;
    if (!sl_heap_empty(&k->line))
        sl_heap_fix(&s->awake, k->id);
}

static void recount(struct sched *s, struct cl_pod *p) {
    struct sched_pod *v = p->sched;
    sl_sym on = stands_on(p);
    if (on == v->on)
        return;
    if (v->on)
        sched_count(s, v->class, v->on, -1);
    if (on)
        sched_count(s, v->class, on, 1);
    v->on = on;
    if (on)
        v->at = (uint32_t)(sched_place(s, on) - s->places.v);
    for (uint32_t i = 0; on && i < s->affinity_classes.n; i++) {
        struct sched_class *k = s->classes.v[s->affinity_classes.v[i]];
        if (k->asleep && sched_affinity_may_help(s, k, p))
            wake(s, k);
    }
}

static void leave_line(struct sched *s, struct cl_pod *p) {
    struct sched_class *k = p->sched->class;
    if (p->sched->in_line == SL_HEAP_OUT)
        return;
    sl_assert(k); /* it is in its line */
    sl_heap_remove(&k->line, p->rec.id);
    if (sl_heap_empty(&k->line))
        sl_heap_remove(&s->awake, k->id);
    else if (k->in_queue != SL_HEAP_OUT)
        sl_heap_fix(&s->awake, k->id); /* another one is its first now */
}

static void report_later(struct sl_cluster *c, struct cl_pod *p, sl_span d) {
    sl_writer_enqueue_at(c->inf->writer, p->rec.id, 1, c->client->mono + d);
}

static void join_line(struct sched *s, struct cl_pod *p) {
    struct sched_class *k = p->sched->class;
    if (p->sched->in_line == SL_HEAP_OUT) {
        sl_heap_fix(&k->line, p->rec.id);
        report_later(cluster_of(s), p, TELL_DELAY);
    }
    if (!k->asleep)
        wake(s, k);
}

static bool waits(const struct cl_pod *p) {
    return p->sched->ours && !p->f.node && !p->sched->target && !p->f.gated && !cl_pod_ended(p) &&
           !p->rec.deleting && !p->rec.delete_planned && !p->delete_uncounted;
}

static void pod_decode(struct sl_cluster *c, struct cl_pod *p, yyjson_val *o) {
    const char *by = sl_json_str(o, "spec.schedulerName");
    struct sched_pod *v = p->sched;
    if (!v) {
        v = p->sched = sl_alloc0(1, sizeof *v);
        v->in_line = SL_HEAP_OUT;
    }
    /* What decides changes only while there are gates, and with the write that opens the last. */
    if (!v->class || v->gated) {
        struct sched_class *k = sched_class(c->schedule, o, p->rec.ns);
        if (v->on)
            sched_count(c->schedule, v->class, v->on, -1);
        v->on = 0;
        leave_line(c->schedule, p);
        sched_unref(c->schedule, v->class);
        v->class = k;
    }
    v->gated = p->f.gated;
    v->ours = !*by || strcmp(by, CONTROLLER) == 0;
    v->created = p->rec.created;
    int64_t priority = sl_json_int(o, "spec.priority", 0);
    v->priority = (int32_t)priority;
}

/* A scheduled pod has changed: it has other labels, or is terminating. */
static void note_pod_change(struct sched *s, struct cl_pod *p) {
    struct sched_pod *v = p->sched;
    bool leaving = p->rec.deleting && !v->leaving;
    v->leaving |= leaving;
    s->capacity_freed |=
        v->on && v->label_group && (leaving || !sched_label_group_matches(v->label_group, p));
}

static void pod_changed(struct sl_cluster *c, struct cl_pod *p) {
    if (p->f.node || (p->rec.deleting && !sl_rec_busy(&p->rec)))
        p->sched->target = 0;
    note_pod_change(c->schedule, p);
    recount(c->schedule, p);
    if (waits(p))
        join_line(c->schedule, p);
    else
        leave_line(c->schedule, p);
}

static void pod_gone(struct sl_cluster *c, struct cl_pod *p) {
    struct sched *s = c->schedule;
    if (!p->sched)
        return;
    leave_line(s, p);
    if (p->sched->on)
        sched_count(s, p->sched->class, p->sched->on, -1);
    sched_unref(s, p->sched->class);
    sched_label_group_unref(s, p->sched->label_group);
    sl_freep(&p->sched);
}

/* ---- why not ---- */

struct reasons {
    struct reason {
        char text[160];
        uint32_t n;
    } v[MAX_REASONS];
    uint32_t n, hopeless; /* nodes that would not do even if they were empty */
};

static void add_reason(struct reasons *r, const char *text) {
    uint32_t i = 0;
    while (i < r->n && strcmp(r->v[i].text, text) != 0)
        i++;
    if (i == MAX_REASONS)
        return;
    if (i == r->n) {
        r->v[r->n++].n = 0;
        sl_fmt_short(r->v[i].text, sizeof r->v[i].text, "%s", text);
    }
    r->v[i].n++;
}

static int by_text(const void *a, const void *b) {
    const struct reason *x = a, *y = b;
    char left[200], right[200];
    sl_fmt_short(left, sizeof left, "%u %s", x->n, x->text);
    sl_fmt_short(right, sizeof right, "%u %s", y->n, y->text);
    return strcmp(left, right);
}

static void put_reasons(struct sched *s, const struct sched_class *k, struct reasons *r,
                        struct sl_buf *b) {
    uint32_t helpless = s->n_nodes - r->hopeless;
    if (!s->n_nodes) {
        sl_buf_puts(b, "no nodes available to schedule pods");
        return;
    }
    qsort(r->v, r->n, sizeof r->v[0], by_text);
    sl_buf_printf(b, "0/%u nodes are available:", s->n_nodes);
    if (k->required.unsatisfiable)
        sl_buf_puts(b, " pod affinity terms conflict");
    for (uint32_t i = 0; i < r->n && !k->required.unsatisfiable; i++)
        sl_buf_printf(b, "%s %u %s", i ? "," : "", r->v[i].n, r->v[i].text);
    sl_buf_printf(
        b, ". no new claims to deallocate, preemption: 0/%u nodes are available:", s->n_nodes);
    if (helpless)
        sl_buf_printf(b, " %u No preemption victims found for incoming pod", helpless);
    if (r->hopeless)
        sl_buf_printf(b, "%s %u Preemption is not helpful for scheduling", helpless ? "," : "",
                      r->hopeless);
    sl_buf_putc(b, '.');
}

/* ---- may it stand there? ---- */

/* What no pod that ends can change. NULL: nothing is against it. */
static const char *never_on(const struct sched_class *k, const struct sched_node *n) {
    if (k->unreadable)
        return "node(s) cannot be compared with what the pod asks for";
    if (!sched_required_names(&k->required, n))
        return "node(s) didn't satisfy plugin(s) [NodeAffinity]";
    const char *why = sched_taint_reason(k, n);
    return why                        ? why
           : sched_node_matches(k, n) ? NULL
                                      : "node(s) didn't match Pod's node affinity/selector";
}

static void find_nodes(struct sched *s, struct sched_class *k) {
    if (k->epoch == s->epoch)
        return;
    k->epoch = s->epoch;
    k->cursor = 0;
    sl_vec_clear(&k->nodes);
    for (uint32_t i = 0; i < s->places.n; i++)
        if (s->places.v[i].node && !never_on(k, s->places.v[i].node))
            *sl_vec_push(&k->nodes) = i;
    sched_score_bias(s, k);
    if (k->pod_terms)
        sched_affinity_count_nodes(s, k);
}

static bool lacks(const struct sched_place *p, const struct sched_need *need) {
    return need->amount > 0 && sched_amount(&p->used, need->column) + need->amount >
                                   sched_amount(&p->node->has, need->column);
}

static bool port_taken(const struct sched_place *p, const struct sched_class *k) {
    for (uint32_t i = 0; i < k->n_ports; i++)
        for (uint32_t j = 0; j < p->ports.n; j++)
            if (p->ports.v[j] == k->ports[i])
                return true;
    return false;
}

bool sched_fits(const struct sched_place *p, const struct sched_class *k) {
    if (p->n_pods >= p->node->max_pods || port_taken(p, k))
        return false;
    for (uint32_t i = 0; i < k->n_needs; i++)
        if (lacks(p, &k->needs[i]))
            return false;
    return true;
}

static void add_capacity_reasons(const struct sched *s, const struct sched_place *p,
                                 const struct sched_class *k, struct reasons *r) {
    char text[160];
    bool never = p->node->max_pods < 1; /* not even if it were empty */
    if (port_taken(p, k)) {
        add_reason(r, "node(s) didn't have free ports for the requested pod ports");
        return;
    }
    if (p->n_pods >= p->node->max_pods)
        add_reason(r, "Too many pods");
    for (uint32_t i = 0; i < k->n_needs; i++) {
        if (!lacks(p, &k->needs[i]))
            continue;
        sl_fmt_short(text, sizeof text, "Insufficient %s",
                     sl_sym_str(&s->resources, k->needs[i].column));
        add_reason(r, text);
        never |= k->needs[i].amount > sched_amount(&p->node->has, k->needs[i].column);
    }
    r->hopeless += never;
}

static void explain(struct sched *s, struct sched_class *k, const struct sched_affinity *near,
                    struct sl_buf *b) {
    struct reasons *r = sl_alloc0(1, sizeof *r);
    for (uint32_t i = 0; i < s->places.n; i++) {
        const struct sched_place *p = &s->places.v[i];
        const char *why = p->node ? never_on(k, p->node) : NULL;
        if (!p->node)
            continue;
        if (why) {
            add_reason(r, why);
            r->hopeless++;
        } else if (!sched_fits(p, k)) {
            add_capacity_reasons(s, p, k, r);
        } else if (near) {
            const struct sched_refusal *no = sched_affinity_refuses(near, i);
            add_reason(r, no ? no->why : "node(s) unavailable");
            r->hopeless += no && no->hopeless;
        }
    }
    put_reasons(s, k, r, b);
    sl_freep(&r);
}

int64_t sched_fullness(const struct sched_place *p, const struct sched_class *k) {
    int64_t most = 0;
    for (uint32_t i = 0; i < k->n_needs; i++) {
        uint32_t column = k->needs[i].column;
        int64_t has = sched_amount(&p->node->has, column);
        __int128 used = (__int128)sched_amount(&p->used, column) + k->needs[i].amount;
        int64_t part = has > 0 ? (int64_t)(used * 1024 / has) : 0;
        most = part > most ? part : most;
    }
    return most;
}

static uint32_t choose(struct sched *s, struct sched_class *k, const struct sched_affinity *near) {
    uint32_t best = UINT32_MAX, found = 0, n = k->nodes.n;
    int64_t best_full = 0, best_pods = 0;
    for (uint32_t i = 0; i < n && found < CHOICES; i++) {
        uint32_t at = (k->cursor + i) % n;
        const struct sched_place *p = &s->places.v[k->nodes.v[at]];
        if (!sched_fits(p, k) || (near && sched_affinity_refuses(near, k->nodes.v[at])))
            continue;
        int64_t full = sched_fullness(p, k);
        found++;
        if (best != UINT32_MAX &&
            (full > best_full || (full == best_full && p->n_pods >= best_pods)))
            continue;
        best = at;
        best_full = full;
        best_pods = p->n_pods;
    }
    return best;
}

/* ---- deciding ---- */

/* The first of the class is placed, or the class sleeps. */
static void place_one(struct sched *s, struct sched_class *k) {
    struct sl_cluster *c = cluster_of(s);
    struct cl_pod *p = cl_pod_of(c->inf->recs.v[sl_heap_top(&k->line)]);
    find_nodes(s, k);
    bool has_affinity = (k->pod_terms && k->pod_terms->n_terms) || s->n_anti_affinity;
    struct sched_affinity *near = has_affinity ? sched_affinity_new(s, k, p) : NULL;
    uint32_t best = sched_score_matters(k) ? sched_score_choose(s, k, near) : choose(s, k, near);
    if (best != UINT32_MAX) {
        p->sched->target = s->places.v[k->nodes.v[best]].name;
        k->cursor = (best + 1) % k->nodes.n;
        leave_line(s, p);
        recount(s, p);
        s->bound++;
        sl_rec_write(&p->rec);
    } else {
        struct sl_buf b;
        sl_buf_init(&b, MAX_WHY);
        sl_buf_short(&b);
        explain(s, k, near, &b);
        sl_freep(&k->why);
        k->why = sl_strdup(sl_buf_str(&b));
        sl_buf_done(&b);
        k->asleep = true;
        sl_heap_remove(&s->awake, k->id);
    }
    sched_affinity_free(near);
}

static void sched_turn(struct sl_cluster *c) {
    struct sched *s = c->schedule;
    if (s->capacity_freed)
        for (uint32_t i = 0; i < s->classes.n; i++)
            if (s->classes.v[i])
                wake(s, s->classes.v[i]);
    s->capacity_freed = false;
    if (!cl_on(c, CL_SCHEDULER))
        return; /* another one places pods */
    while (!sl_heap_empty(&s->awake))
        place_one(s, s->classes.v[sl_heap_top(&s->awake)]);
}

/* ---- writing ---- */

static void put_head(struct sl_jw *j, const char *kind, const struct cl_pod *p) {
    sl_jw_str(j, "apiVersion", "v1");
    sl_jw_str(j, "kind", kind);
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", p->rec.name);
    sl_jw_str(j, "namespace", sl_rec_ns(&p->rec));
    sl_jw_str(j, "uid", p->rec.uid);
    sl_jw_end(j);
}

static bool build_condition(struct sl_cluster *c, struct cl_pod *p, struct sl_write *w) {
    const struct sched_class *k = p->sched->class;
    uint64_t hash = k->why ? sl_hash_str(1, k->why) : 0;
    if (p->sched->in_line == SL_HEAP_OUT || !k->asleep || !k->why)
        return false;
    report_later(c, p, TELL_AGAIN);
    /* A condition that another scheduler wrote counts as well. */
    bool reported = p->f.unschedulable && (!p->sched->refused || p->sched->refused == hash);
    p->sched->refused = hash;
    if (reported)
        return false;
    sl_rec_event(&p->rec, CONTROLLER, true, "FailedScheduling", "%s", k->why);
    /* Applied: the other conditions are the kubelet's. */
    w->method = SL_PATCH;
    w->content_type = SL_APPLY_PATCH;
    sl_rec_path(&w->path, &p->rec, "status");
    sl_buf_puts(&w->path, "?fieldManager=kube-scheduler&force=true");
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    put_head(j, "Pod", p);
    sl_jw_object(j, "status");
    sl_jw_array(j, "conditions");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", "PodScheduled");
    sl_jw_str(j, "status", "False");
    sl_jw_str(j, "reason", "Unschedulable");
    sl_jw_int(j, "observedGeneration", p->rec.generation);
    sl_jw_time(j, "lastTransitionTime", c->client->wall);
    sl_jw_str(j, "message", k->why);
    return true;
}

static bool build_binding(struct sl_cluster *c, struct cl_pod *p, struct sl_write *w) {
    if (!p->sched || p->f.node || p->rec.deleting)
        return false;
    if (p->sched->unsure) { /* it was read since, and is not bound */
        p->sched->unsure = false;
        p->sched->target = 0;
        recount(c->schedule, p);
        sl_rec_enqueue(&p->rec);
        return false;
    }
    if (!p->sched->target)
        return build_condition(c, p, w);
    sl_rec_build_post(&p->rec, "binding", w);
    sl_jw_object(&w->json, NULL);
    put_head(&w->json, "Binding", p);
    sl_jw_object(&w->json, "target");
    sl_jw_str(&w->json, "kind", "Node");
    sl_jw_str(&w->json, "name", cl_str(c, p->sched->target));
    return true;
}

/* A binding that came to nothing gives its place back. After a conflict the pod is read first: it
 * may be bound. */
static void written(struct sl_cluster *c, struct cl_pod *p, const struct sl_write *w,
                    enum sl_written how, const struct sl_kube_reply *reply) {
    (void)reply;
    if (!p->sched || !p->sched->target || w->method != SL_POST)
        return;
    if (how == SL_WRITTEN && !p->sched->bind_reported) {
        sl_rec_event(&p->rec, CONTROLLER, false, "Scheduled", "Successfully assigned %s/%s to %s",
                     sl_rec_ns(&p->rec), p->rec.name, cl_str(c, p->sched->target));
        p->sched->bind_reported = true;
    } else if (how == SL_WRITE_CONFLICT || how == SL_WRITE_REFUSED) {
        p->sched->unsure = true;
    }
}

/* ---- life ---- */

static bool awake_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sched *s = ctx;
    const struct sl_cluster *c = s->c;
    const struct sched_pod *x =
        cl_pod_of(c->inf->recs.v[sl_heap_top(&s->classes.v[a]->line)])->sched;
    const struct sched_pod *y =
        cl_pod_of(c->inf->recs.v[sl_heap_top(&s->classes.v[b]->line)])->sched;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    return x->created != y->created ? x->created < y->created : a < b;
}

static uint32_t *awake_place(void *ctx, uint32_t class) {
    const struct sched *s = ctx;
    return &s->classes.v[class]->in_queue;
}

static void sched_start(struct sl_cluster *c) {
    struct sched *s = c->schedule = sl_alloc0(1, sizeof *s);
    s->c = c;
    sl_syms_init(&s->resources);
    s->resources_due = SCHED_MAX_RESOURCES / 2;
    sl_heap_init(&s->awake, awake_less, awake_place, s);
}

static void sched_stop(struct sl_cluster *c) {
    struct sched *s = c->schedule;
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_POD, &at));)
        pod_gone(c, cl_pod_of(r));
    for (uint32_t i = 0; i < s->places.n; i++) {
        sl_vec_free(&s->places.v[i].used);
        sl_vec_free(&s->places.v[i].ports);
    }
    sl_vec_free(&s->places);
    sl_vec_free(&s->free_places);
    sl_map_done(&s->place_by_name);
    sl_map_done(&s->class_by_hash);
    sl_map_done(&s->label_group_by_hash);
    sl_vec_free(&s->label_groups);
    sl_vec_free(&s->free_label_groups);
    sl_vec_free(&s->keys);
    sl_vec_free(&s->affinity_classes);
    sl_vec_free(&s->classes);
    sl_vec_free(&s->free_classes);
    sl_heap_done(&s->awake);
    sl_syms_done(&s->resources);
    sl_freep(&c->schedule);
}

/* ---- pods of DaemonSets ---- */

static void *class_of(struct sl_cluster *c, yyjson_val *pod, sl_sym ns) {
    return sched_class(c->schedule, pod, ns);
}

static void class_free(struct sl_cluster *c, void *class) {
    if (c->schedule)
        sched_unref(c->schedule, class);
}

/* What only keeps others away does not drive out what is there. */
static enum cl_daemon_fit class_fit(const void *class, const struct sl_rec *node) {
    const struct sched_class *k = class;
    const struct sched_node *n = SL_CONTAINER_OF(node, const struct sched_node, rec);

    if (n->over_limit || k->unreadable || !sched_node_matches(k, n))
        return CL_FIT_NO;
    if (!sched_taint_reason(k, n))
        return CL_FIT_RUNS;
    for (uint32_t i = 0; i < n->n_taints; i++)
        if (n->taints[i].effect == SL_TAINT_NO_EXECUTE &&
            !sl_taint_tolerated(&n->taints[i], k->tolerations, k->n_tolerations))
            return CL_FIT_NO;
    return CL_FIT_STAYS;
}

const struct cl_scheduler sl_scheduler = {
    .part = {.start = sched_start, .turn = sched_turn, .stop = sched_stop},
    .node = {SL_REC_CORE_API("nodes", "Node"), .owners = true, .size = sizeof(struct sched_node),
             .decode = sched_node_decode, .reconcile = sched_node_changed,
             .deleted = sched_node_gone, .free = sched_node_done},
    .node_label = sched_node_label,
    .class_of = class_of,
    .class_free = class_free,
    .class_fit = class_fit,
    .pod_writer = {build_binding, written},
    .pod_decode = pod_decode,
    .pod_changed = pod_changed,
    .pod_gone = pod_gone,
    .pod_hold = sched_pod_hold,
    .namespaces_changed = sched_namespaces_changed,
    .hold = sched_hold,
    .sweep = sched_sweep,
};
