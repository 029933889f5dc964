/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pod of a job has which of its places. Nothing of it is stored: a pod that is bound has a
 * place on its node, and the others get what is free in an order that does not change, by their
 * completion index or else by age. So a process that starts anew gives out the same.
 */
#include <stdlib.h>
#include <string.h>

#include "manager/fluxqueue/fq_int.h"

/* The pods of a job that have not ended, and what is known of its places, while they are given
 * out. */
struct live {
    SL_VEC(struct fq_pod *) v;
    uint32_t bound;
    uint32_t *has;                  /* by pod: its place; SL_MAP_NONE: none */
    struct sl_map by_node;          /* -> the first place there */
    uint32_t *next;                 /* by place: the next one of its node; SL_MAP_NONE: none */
    uint32_t first;                 /* no place before is free and good */
    uint32_t of_kind[FQ_MAX_KINDS]; /* how many there are of each kind of slots */
    bool *good;   /* by place: its node would take a pod now; NULL: as it did when it was given */
    bool unknown; /* that cannot be said before there is a new graph */
    bool later;   /* it has to be asked again */
    bool resized; /* a place is of another size than the matcher has it */
};

static int by_rank(const void *a, const void *b) {
    const struct fq_pod *x = *(struct fq_pod *const *)a, *y = *(struct fq_pod *const *)b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

static bool suits(const struct fq_job *j, const struct fq_pod *p, uint32_t place) {
    return j->n_kinds == 0 || p->kind == FQ_ANY_KIND || p->kind == j->places.v[place].kind;
}

/* The size of a place for it. */
static uint64_t size_for(const struct fq_job *j, const struct fq_pod *p) {
    return j->slot_size && p->usage ? p->usage->size : 0;
}

/* ---- places by their nodes ---- */

/* They stand side by side, unless somebody else wrote the status. */
static void index_places(const struct fq_job *j, struct live *l) {
    uint32_t *last = sl_alloc0(j->places.n + 1, sizeof *last); /* by the first of a node */
    l->next = sl_alloc0(j->places.n + 1, sizeof *l->next);
    for (uint32_t i = 0; i < j->places.n; i++) {
        uint32_t first = sl_map_get(&l->by_node, j->places.v[i].node);
        l->next[i] = SL_MAP_NONE;
        if (first == SL_MAP_NONE) {
            sl_map_add(&l->by_node, j->places.v[i].node, i);
            first = i;
        } else {
            l->next[last[first]] = i;
        }
        last[first] = i;
    }
    sl_freep(&last);
}

/* The first one of a node; then come l->next, until one is dropped. */
static uint32_t first_of(const struct live *l, sl_sym node) {
    return sl_map_get(&l->by_node, node);
}

/* ---- nodes that have changed ---- */

static bool has_changed(const struct sl_fluxqueue *q, const struct fq_job *j, uint32_t place) {
    const struct fq_node *n = fq_node_find(q, j->places.v[place].node);
    return !n || n->changed > j->admitted;
}

static int by_number(const void *a, const void *b) {
    const sl_sym x = *(const sl_sym *)a, y = *(const sl_sym *)b;
    return x < y ? -1 : x > y;
}

/* How many places have a pod that is bound to their node. One that is bound elsewhere has none. */
static uint32_t count_taken(const struct fq_job *j, const struct live *l) {
    sl_sym *places = sl_alloc0(j->places.n + 1, sizeof *places),
           *pods = sl_alloc0(l->v.n + 1, sizeof *pods);
    uint32_t n = 0, taken = 0;
    for (uint32_t i = 0; i < j->places.n; i++)
        places[i] = j->places.v[i].node;
    for (uint32_t i = 0; i < l->v.n; i++)
        if (l->v.v[i]->node)
            pods[n++] = l->v.v[i]->node;
    qsort(places, j->places.n, sizeof *places, by_number);
    qsort(pods, n, sizeof *pods, by_number);
    for (uint32_t i = 0, k = 0; i < j->places.n && k < n;) {
        int order = by_number(&places[i], &pods[k]);
        taken += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    sl_freep(&places);
    sl_freep(&pods);
    return taken;
}

/* What is cordoned, tainted or labelled anew may not be a place for one that comes now. */
static void look_at_nodes(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    bool any = false;
    if (j->admitted == q->node_changes)
        return;
    l->later = count_taken(j, l) == j->places.n; /* none is free, and nobody is on his way */
    for (uint32_t i = 0; i < j->places.n && !any && !l->later; i++)
        any = has_changed(q, j, i);
    if (!any)
        return;
    l->good = sl_alloc0(j->places.n, sizeof *l->good);
    l->unknown = !fq_places_admitted(q, j, l->good);
    for (uint32_t i = 0; i < j->places.n && l->unknown; i++)
        l->good[i] = !has_changed(q, j, i);
}

static bool is_good(const struct live *l, uint32_t place) {
    return !l->good || l->good[place];
}

/* It is not bound, and nothing is on its way that may bind it. */
static bool may_move(const struct fq_pod *p) {
    return !fq_pod_at(p) && !sl_rec_busy(&p->rec) && (p->gated || p->binds);
}

static bool is_bad(const struct sl_fluxqueue *q, const struct live *l, const struct fq_pod *p) {
    uint32_t place = l->good && !l->unknown ? first_of(l, p->target) : SL_MAP_NONE;
    for (; place != SL_MAP_NONE; place = l->next[place])
        if (!l->good[place])
            return true;
    return !fq_node_has_room(q, p, p->target) || !fq_volumes_allow(q, p, p->target);
}

/* A node that would not take the pod any more, or has no room, is left while that is possible. */
static void leave_bad_targets(struct sl_fluxqueue *q, struct live *l) {
    for (uint32_t i = 0; i < l->v.n; i++) {
        struct fq_pod *p = l->v.v[i];
        if (p->node || !p->target || !is_bad(q, l, p))
            continue;
        if (may_move(p))
            fq_pod_target(q, p, 0);
        else
            l->later = true; /* its binding may fail */
    }
}

/* ---- who has which ---- */

enum how { SAME_SIZE, ANY_SIZE };

static uint32_t take(struct fq_job *j, struct live *l, const struct fq_pod *p, sl_sym node,
                     enum how how) {
    uint64_t size = size_for(j, p);
    for (uint32_t i = first_of(l, node); i != SL_MAP_NONE; i = l->next[i]) {
        struct fq_place *x = &j->places.v[i];
        if (x->pod != FQ_NO_POD || !suits(j, p, i) || (how == SAME_SIZE && x->size != size))
            continue;
        l->resized |= x->size != size;
        x->pod = p->rec.id;
        x->size = size;
        return i;
    }
    return SL_MAP_NONE;
}

/* What the matcher has of a resource for one place. */
static int64_t amount_at(const struct sl_fluxqueue *q, const struct fq_job *j,
                         const struct fq_place *at, sl_sym resource) {
    uint32_t n = 0;
    const struct fq_slot_amount *v = fq_kind_amounts(j, at->kind, &n);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(fq_type_of(fq_str(q, resource)), v[i].type) == 0)
            return v[i].amount;
    return 0;
}

/* What a pod requests beyond its place: the jobspec is not of its requests, or it was resized.
 * NULL: nothing, or that is not known yet. To be freed. */
static struct fq_usage *beyond(const struct sl_fluxqueue *q, const struct fq_job *j,
                               const struct fq_pod *p, uint32_t place) {
    struct fq_usage *over = NULL;
    /* As graph.c holds it: where the jobspec is of what pods request, by what this one does. */
    if (!p->usage || !j->slot_hash || j->whole_nodes || j->slot_size)
        return NULL;
    for (uint32_t i = 0; i < p->usage->n; i++) {
        const struct fq_amount *a = &p->usage->v[i];
        int64_t more = a->amount - amount_at(q, j, &j->places.v[place], a->resource);
        if (more <= 0)
            continue;
        if (!over)
            over = sl_alloc0(1, sizeof *over + p->usage->n * sizeof over->v[0]);
        over->v[over->n].resource = a->resource;
        over->v[over->n++].amount = more;
    }
    return over;
}

/* Those that are bound, or on their way, have their places first: those of their size, if there
 * are. What is bound elsewhere is there as a pod of others is, and so is all if the matcher has
 * nothing of the job: what runs is counted in any case. */
static void keep(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    for (enum how how = SAME_SIZE; how <= ANY_SIZE; how++)
        for (uint32_t i = 0; i < l->v.n; i++) {
            const struct fq_pod *p = l->v.v[i];
            sl_sym at = fq_pod_at(p), to = p->target ? p->target : fq_kube_place(p);
            at = at || p->rec.deleting ? at : to; /* it will never be bound */
            if (at && l->has[i] == SL_MAP_NONE)
                l->has[i] = take(j, l, p, at, how);
        }
    bool holds = fq_graph_holds(q, j);
    for (uint32_t i = 0; i < l->v.n; i++) {
        struct fq_pod *p = l->v.v[i];
        sl_sym at = fq_pod_at(p);
        if (l->has[i] == SL_MAP_NONE)
            fq_pod_target(q, p, 0);
        else if (!p->node && !p->target)
            fq_pod_target(q, p, at ? at : fq_kube_place(p));
        if (at && (l->has[i] == SL_MAP_NONE || !holds))
            fq_pod_charge(q, p, at);
        else if (at)
            fq_pod_charge_over(q, p, beyond(q, j, p, l->has[i]));
    }
}

static bool is_free(const struct sl_fluxqueue *q, const struct fq_job *j, const struct live *l,
                    const struct fq_pod *p, uint32_t place) {
    return j->places.v[place].pod == FQ_NO_POD && suits(j, p, place) && is_good(l, place) &&
           !fq_unbound_avoids(q, p->unbound, j->places.v[place].node) &&
           !fq_unbound_avoids(q, j->unbound, j->places.v[place].node) &&
           fq_volumes_allow(q, p, j->places.v[place].node) &&
           fq_node_has_room(q, p, j->places.v[place].node);
}

static bool assign_to(struct sl_fluxqueue *q, struct fq_job *j, const struct live *l,
                      struct fq_pod *p, uint32_t place, enum how how) {
    uint64_t size = size_for(j, p);
    if (!is_free(q, j, l, p, place) || (how == SAME_SIZE && j->places.v[place].size != size) ||
        !fq_graph_resize(q, j, place, size))
        return false;
    j->places.v[place].pod = p->rec.id;
    fq_pod_target(q, p, j->places.v[place].node);
    return true;
}

/* The others: the place of its index if that is free, or the first that is; one of another size if
 * there is room to make it one of its own. */
static void assign(struct sl_fluxqueue *q, struct fq_job *j, struct live *l, struct fq_pod *p) {
    uint32_t want = p->index >= 0 ? (uint32_t)p->index : j->places.n, tries = 0;
    if (want < j->places.n && assign_to(q, j, l, p, want, SAME_SIZE))
        return;
    while (l->first < j->places.n &&
           (j->places.v[l->first].pod != FQ_NO_POD || !is_good(l, l->first)))
        l->first++;
    for (uint32_t i = l->first; i < j->places.n; i++)
        if (assign_to(q, j, l, p, i, SAME_SIZE))
            return;
    for (uint32_t i = l->first; i < j->places.n && tries < FQ_MAX_RESIZES; i++) {
        if (assign_to(q, j, l, p, i, ANY_SIZE))
            return;
        tries += j->places.v[i].pod == FQ_NO_POD;
    }
}

/* ---- what is not needed ---- */

/* Given back: away when all of these are known. */
static void drop(struct fq_job *j, uint32_t place) {
    j->places.v[place].node = 0;
}

/* The same where nobody could know but by its status. */
static void leave(struct sl_fluxqueue *q, struct fq_job *j, uint32_t place) {
    fq_graph_leave(q, j, &j->places.v[place]);
    drop(j, place);
}

/* Returns whether any was dropped. */
static bool remove_dropped(struct fq_job *j, struct live *l) {
    uint32_t n = 0, before = j->places.n;
    for (uint32_t i = 0; i < before; i++) {
        if (!j->places.v[i].node)
            continue;
        if (l->good)
            l->good[n] = l->good[i];
        j->places.v[n++] = j->places.v[i];
    }
    j->places.n = n;
    return n != before;
}

/* Free places beyond what pods may still come for are given back, the last first, and before them
 * those that are not for the pods that may come. */
static bool give_back(struct fq_job *j, struct live *l, uint32_t needed) {
    uint32_t left = j->places.n;
    for (int odd = 1; odd >= 0; odd--)
        for (uint32_t i = j->places.n; i-- > 0 && left > needed;)
            if (j->places.v[i].node && j->places.v[i].pod == FQ_NO_POD &&
                (!odd || (j->places.v[i].size && j->places.v[i].size != j->slot_size))) {
                drop(j, i);
                left--;
            }
    return remove_dropped(j, l);
}

/* A ReplicaSet by itself never replaces the pods of an older template. While these wait for places
 * of their size, those that are free for pods of the template are of use to nobody. */
static bool give_back_useless(const struct sl_fluxqueue *q, struct fq_job *j, struct live *l,
                              uint32_t needed) {
    struct sl_rec *o = fq_job_object(q, j);
    uint32_t may_come = needed > l->v.n ? needed - l->v.n : 0,
             kept = may_come + j->missing - j->odd;
    if (j->odd == 0 || !o || o->kind != FQ_REPLICASET)
        return false;
    for (uint32_t i = 0; i < j->places.n; i++) {
        if (j->places.v[i].pod != FQ_NO_POD || j->places.v[i].size != j->slot_size)
            continue;
        if (kept == 0)
            drop(j, i);
        kept -= kept > 0;
    }
    return remove_dropped(j, l);
}

/* How many free places of another size stay as they are: a set with a partition replaces the pods
 * below it by pods of its old template. */
static uint32_t keeps_odd(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    uint32_t old = o && o->kind == FQ_STATEFULSET ? fq_obj_of(o)->partition : 0, taken = 0;
    for (uint32_t i = 0; i < j->places.n; i++)
        taken += j->places.v[i].pod != FQ_NO_POD && j->places.v[i].size != j->slot_size;
    return taken < old ? old - taken : 0;
}

/* Free places are for pods of the template, on nodes that take them; others are given back. */
static bool give_back_bad(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    uint32_t odd = keeps_odd(q, j);
    for (uint32_t i = 0; i < j->places.n; i++) {
        bool good = is_good(l, i);
        if (j->places.v[i].pod != FQ_NO_POD)
            l->later |= !good; /* when its pod has ended */
        else if (fq_unbound_avoids(q, j->unbound, j->places.v[i].node))
            leave(q, j, i);
        else if (!l->unknown && !good)
            drop(j, i);
    }
    bool fewer = remove_dropped(j, l);
    for (uint32_t i = j->places.n; i-- > 0;) {
        bool usable = q->match && !q->rebuild && !q->taints_changed;
        if (j->places.v[i].pod != FQ_NO_POD)
            continue;
        if (odd && j->places.v[i].size != j->slot_size) {
            odd--;
        } else if (usable && !fq_graph_resize(q, j, i, j->slot_size)) {
            drop(j, i); /* at once: the next one is held with what is left */
            fewer |= remove_dropped(j, l);
        }
    }
    return fewer;
}

/* A pod has no place: of its kind, or of the first that has lost some. */
static void miss(struct fq_job *j, const struct live *l, const struct fq_pod *p) {
    uint32_t kind = p->kind;
    j->missing++;
    if (j->n_kinds == 0)
        return;
    for (uint32_t k = 0; k < j->n_kinds && kind == FQ_ANY_KIND; k++)
        if (l->of_kind[k] + j->kinds[k].missing < j->kinds[k].count)
            kind = k;
    j->kinds[kind < j->n_kinds ? kind : 0].missing++;
}

static uint32_t still_needed(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    if (!o || o->gone)
        return 0;
    if (o->kind == FQ_POD)
        return !fq_pod_of(o)->ended;
    if (fq_obj_of(o)->ending)
        return j->expected;
    return fq_obj_of(o)->finished ? 0 : fq_obj_of(o)->pods;
}

/* How many pods it has, as people see it: what is decided has those that it had. */
static uint32_t shown_pods(const struct sl_fluxqueue *q, const struct fq_job *j, uint32_t needed) {
    struct sl_rec *o = fq_job_object(q, j);
    return o && o->kind == FQ_JOB && fq_obj_of(o)->finished ? j->expected : needed;
}

/* Those that have not ended, in their order; no place is anybody's yet. */
static void collect(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    struct fq_pods_of at = {0};
    for (uint32_t i = 0; i < j->places.n; i++) {
        j->places.v[i].pod = FQ_NO_POD;
        if (!j->places.v[i].size)
            j->places.v[i].size = j->slot_size; /* as it was held */
        l->of_kind[j->places.v[i].kind]++;
    }
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        if (p->ended || p->rec.gone || fq_group_leaves_out(q, j, p)) {
            fq_pod_charge(q, p, p->ended || p->rec.gone ? 0 : fq_pod_at(p));
            fq_pod_target(q, p, 0);
        } else {
            *sl_vec_push(&l->v) = p;
            l->bound += p->node != 0;
        }
    }
    if (l->v.n)
        qsort(l->v.v, l->v.n, sizeof *l->v.v, by_rank);
    l->has = sl_alloc0(l->v.n + 1, sizeof *l->has);
    memset(l->has, 0xff, l->v.n * sizeof *l->has);
    index_places(j, l);
}

/* Those that run on nodes where the job has no place, or not as many: the node was away and is
 * back, or the FluxJob is another one than they were started by. They get one each, where they are.
 */
static bool adopt(struct sl_fluxqueue *q, struct fq_job *j, const struct live *l) {
    uint32_t n = j->places.n;
    for (uint32_t i = 0; i < l->v.n && j->n_kinds == 0; i++) {
        const struct fq_pod *p = l->v.v[i];
        uint32_t at = p->node ? first_of(l, p->node) : SL_MAP_NONE;
        if (!fq_pod_settled(q, p))
            continue;
        while (at != SL_MAP_NONE && j->places.v[at].pod != FQ_NO_POD)
            at = l->next[at];
        if (at != SL_MAP_NONE)
            j->places.v[at].pod = p->rec.id;
        else if (j->places.n < FQ_MAX_PODS)
            *sl_vec_push(&j->places) = (struct fq_place){p->node, p->rec.id, 0, size_for(j, p)};
    }
    for (uint32_t i = 0; i < j->places.n; i++)
        j->places.v[i].pod = FQ_NO_POD; /* they are given out when all are there */
    if (j->places.n > n && !fq_places_fit(q, j))
        j->places.n = n;
    if (j->places.n == n)
        return false;
    fq_places_sort(j);
    fq_job_touch(j);
    j->places_version = j->version;
    return true;
}

static void done(struct live *l) {
    sl_vec_free(&l->v);
    sl_freep(&l->has);
    sl_freep(&l->next);
    sl_map_done(&l->by_node);
    sl_freep(&l->good);
}

void fq_places_observe(struct sl_fluxqueue *q, struct fq_job *j) {
    struct live l = {0};
    collect(q, j, &l);
    if (j->held)
        keep(q, j, &l);
    for (uint32_t i = 0; i < l.v.n && !j->held; i++)
        fq_pod_charge(q, l.v.v[i], fq_pod_at(l.v.v[i]));
    q->rebuild |= l.resized;
    done(&l);
}

static void give_out(struct sl_fluxqueue *q, struct fq_job *j, struct live *l) {
    leave_bad_targets(q, l);
    keep(q, j, l);
    if (l->resized)
        fq_graph_hold(q, j);
    j->missing = j->odd = j->paused = 0;
    for (uint32_t k = 0; k < j->n_kinds; k++)
        j->kinds[k].missing = 0;
    for (uint32_t i = 0; i < l->v.n; i++) {
        struct fq_pod *p = l->v.v[i];
        sl_time until;
        if (fq_pod_waits(p) && fq_unbound_pauses(q, p, &until)) {
            j->missing++;
            j->paused++;
            continue;
        }
        if (fq_pod_waits(p))
            assign(q, j, l, p);
        if (fq_pod_waits(p)) {
            miss(j, l, p);
            j->odd += fq_pod_is_odd(j, p);
        }
    }
}

void fq_places_sync(struct sl_fluxqueue *q, struct fq_job *j) {
    struct live l = {0};
    uint32_t needed = still_needed(q, j), shown = shown_pods(q, j, needed);

    collect(q, j, &l);
    if (q->match && j->slot_hash != fq_slot_hash(q, j)) {
        fq_graph_know_slot(q, j);
        l.resized = true;
    }
    if (q->match && !q->rebuild && adopt(q, j, &l)) {
        fq_graph_hold(q, j);
        done(&l);
        l = (struct live){0};
        collect(q, j, &l);
    }
    look_at_nodes(q, j, &l);
    give_out(q, j, &l);
    bool kinds = j->n_kinds && j->type == SL_FLUX_POD_GROUP;
    bool fewer = !kinds && give_back(j, &l, l.v.n > needed ? l.v.n : needed);
    fewer |= give_back_useless(q, j, &l, needed);
    fewer |= give_back_bad(q, j, &l);
    fewer |= kinds && fq_kinds_give_back(q, j); /* last: it does not know of l.good */
    if (fewer) {
        fq_job_touch(j);
        fq_graph_hold(q, j);
        q->freed++;
    }
    if (!l.unknown && !l.later)
        j->admitted = q->node_changes;
    if (l.bound != j->bound_pods || shown != j->expected) {
        j->bound_pods = l.bound;
        j->expected = shown;
        fq_job_touch(j);
    }
    for (uint32_t i = 0; i < l.v.n; i++)
        if (l.v.v[i]->target && !l.v.v[i]->node && fq_job_committed(j))
            sl_rec_write(&l.v.v[i]->rec);
    done(&l);
}
