/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/provisioning/capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "kube/types/podset.h"
#include "lib/json/json.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/provisioning/capacity_pack.h"
#include "manager/controllers/topology/topology.h"

#define BOOKING (10 * SL_MINUTE)
#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"
#define LEASE_KNOWN (10 * SL_SEC)     /* for so long what was read of it is true */
#define LEASE_LIFE (60 * SL_SEC)      /* since its last renewal: its holder is gone */
#define AUTOSCALER_TIME SL_MINUTE     /* for a live one to accept a request */
#define UNREADABLE_TIME (15 * SL_SEC) /* for one that we may not look for */
#define REREAD (5 * SL_SEC)           /* before a template that was not found is read again */
#define REPORT_PAUSE (30 * SL_SEC)    /* between two messages about what is lacking */
#define TURN_PAUSE (5 * SL_USEC) /* for each request, between two searches: they cost as much */
#define MAX_WHY 4096u
#define NAME "sluice"

/* ---- what there is ---- */

struct mgr_capacity {
    struct mgr_pack *pack;
    bool dirty;
    sl_time rest; /* mono: until then nothing is looked for */
    enum { LEASE_UNKNOWN, LEASE_NONE, LEASE_ALIVE, LEASE_UNREADABLE } lease;
    sl_time lease_until; /* mono */
};

void mgr_capacity_touch(struct sl_manager *m) {
    if (m->capacity)
        m->capacity->dirty = true;
}

void mgr_capacity_node(struct sl_manager *m, const struct sl_topo_node *n) {
    if (!m->capacity)
        return;
    mgr_pack_node(m->capacity->pack, n);
    mgr_capacity_touch(m);
}

void mgr_capacity_node_gone(struct sl_manager *m, const char *name) {
    if (!m->capacity)
        return;
    mgr_pack_node_gone(m->capacity->pack, name);
    mgr_capacity_touch(m);
}

/* The podset of the request that the pod is of; NULL: of none. */
static struct mgr_prov_podset *consumed(const struct sl_manager *m, const struct mgr_rec_pod *pod) {
    struct sl_rec *r = pod->consumes ? sl_inf_find(m->inf, REC_PROV_REQUEST,
                                                   mgr_str(m, pod->rec.ns), pod->consumes)
                                     : NULL;
    struct mgr_rec_prov *p = r ? mgr_prov_of(r) : NULL;
    struct mgr_prov_podset *found = p && p->n_podsets ? &p->podsets[0] : NULL;
    if (!found)
        return NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1024);
    mgr_prov_template_name(&b, p->rec.name, mgr_str(m, pod->podset));
    for (uint32_t i = 0; i < p->n_podsets; i++)
        if (strcmp(p->podsets[i].name, sl_buf_str(&b)) == 0)
            found = &p->podsets[i];
    return found;
}

static void stands(struct sl_manager *m, struct mgr_rec_pod *pod, struct mgr_pod_shape *s,
                   int sign) {
    struct mgr_prov_podset *of = consumed(m, pod);
    mgr_pack_count_pod(m->capacity->pack, mgr_str(m, pod->node), s->v, s->n, s->ports, s->n_ports,
                       sign);
    if (of)
        of->bound += sign;
    mgr_capacity_touch(m);
}

static void count(struct sl_manager *m, struct mgr_rec_pod *pod, struct mgr_pod_shape *now) {
    struct mgr_pod_shape *old = pod->packed;
    if (!m->capacity || now == old)
        return;
    pod->packed = now;
    if (now) {
        now->refs++;
        stands(m, pod, now, 1);
    }
    if (old) {
        stands(m, pod, old, -1);
        mgr_pod_shape_unref(m, old);
    }
}

void mgr_capacity_pod(struct sl_manager *m, struct mgr_rec_pod *pod) {
    bool ended = pod->phase == MGR_POD_SUCCEEDED || pod->phase == MGR_POD_FAILED;
    count(m, pod, pod->node && !ended ? pod->shape : NULL);
}

void mgr_capacity_pod_gone(struct sl_manager *m, struct mgr_rec_pod *pod) {
    count(m, pod, NULL);
}

/* The first request of the class: from now on it matters what stands where. */
static void begin(struct sl_manager *m) {
    uint32_t at = 0;
    if (m->capacity)
        return;
    m->capacity = sl_alloc0(1, sizeof *m->capacity);
    m->capacity->pack = mgr_pack_new();
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_NODE, &at));) {
        SL_CONTAINER_OF(r, struct mgr_rec_node, rec)->hash = 0;
        r->reread = true;
    }
    mgr_rec_relist(m, REC_NODE);
    mgr_pods_watch_nodes(m);
    at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_POD, &at));)
        sl_rec_enqueue(r);
    mgr_capacity_touch(m);
}

sl_time mgr_capacity_next(const struct sl_manager *m) {
    return m->capacity && m->capacity->dirty && m->leads && m->capacity->rest > m->spec.client->mono
               ? m->capacity->rest
               : SL_TIME_NEVER;
}

void mgr_capacity_end(struct sl_manager *m) {
    if (m->capacity)
        mgr_pack_free(m->capacity->pack);
    sl_freep(&m->capacity);
}

/* At this time at the latest it is reconciled again. */
static void reconcile_by(struct sl_manager *m, struct mgr_rec_prov *p, sl_time at) {
    if (at > m->spec.client->wall && (!p->rec.reconcile_at || at < p->rec.reconcile_at))
        sl_rec_reconcile_at(&p->rec, at);
}

/* ---- is it ours to answer? ---- */

#define MAX_PARAMETER 256u

/* A parameter of the request; "": it is not there. Returns out. */
static const char *parameter(const struct mgr_rec_prov *p, const char *name,
                             char out[MAX_PARAMETER]) {
    const char *all = p->parameters ? p->parameters : "{}";
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(all, strlen(all), 0);
    const char *s = sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), name));
    /* Longer than the API allows: neither a number nor a flag, whole or cut. */
    sl_fmt_short(out, MAX_PARAMETER, "%s", s);
    return out;
}

void mgr_capacity_decode(const struct sl_manager *m, struct mgr_rec_prov *p, yyjson_val *details) {
    char text[MAX_PARAMETER];
    p->answer.requested = strcmp(mgr_str(m, p->class), PROV_CHECK_CAPACITY) == 0 &&
                          !*parameter(p, "processorInstance", text);
    p->answer.ours = strcmp(sl_json_str(details, "answeredBy"), NAME) == 0;
    if (mgr_prov_is(p, PROV_PROVISIONED) && p->answer.ours) {
        p->answer.fits = p->answer.decided = true;
        p->answer.since = p->conds[PROV_PROVISIONED].at;
    }
}

/* Nothing will change its answer any more. */
static bool is_over(const struct mgr_rec_prov *p) {
    return mgr_prov_is(p, PROV_FAILED) || mgr_prov_is(p, PROV_BOOKING_EXPIRED) ||
           mgr_prov_is(p, PROV_CAPACITY_REVOKED);
}

static bool is_ours(const struct sl_manager *m, const struct mgr_rec_prov *p) {
    return m->capacity && p->answer.requested && !p->drop && !p->rec.deleting && !is_over(p) &&
           (p->answer.ours || (p->conds[PROV_ACCEPTED].status == COND_NONE &&
                               p->conds[PROV_PROVISIONED].status == COND_NONE));
}

bool mgr_capacity_is_requested(const struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_PROV_REQUEST, &at));)
        if (mgr_prov_of(r)->answer.requested)
            return true;
    return false;
}

#define AT_ONCE ((sl_time)1) /* whatever its creationTimestamp */

/* When we may answer it; 0: the lease has to be read first. */
static sl_time may_answer_at(const struct sl_manager *m, const struct mgr_rec_prov *p) {
    const struct mgr_capacity *c = m->capacity;
    if (p->answer.ours)
        return AT_ONCE;
    if (c->lease == LEASE_UNKNOWN || c->lease_until <= m->spec.client->mono)
        return 0;
    if (c->lease == LEASE_NONE)
        return AT_ONCE;
    return p->rec.created + (c->lease == LEASE_ALIVE ? AUTOSCALER_TIME : UNREADABLE_TIME);
}

static bool templates_read(const struct mgr_rec_prov *p) {
    for (uint32_t i = 0; i < p->n_podsets; i++)
        if (!p->podsets[i].template)
            return false;
    return p->n_podsets > 0;
}

void mgr_capacity_request(struct sl_manager *m, struct mgr_rec_prov *p) {
    sl_time now = m->spec.client->wall;
    if (!m->leads || !p->answer.requested)
        return;
    begin(m);
    if (!is_ours(m, p))
        return;
    sl_time at = p->answer.free ? now : may_answer_at(m, p);
    p->answer.free |= at && at <= now;
    if (!p->answer.free && at)
        reconcile_by(m, p, at);
    if (mgr_prov_is(p, PROV_PROVISIONED))
        reconcile_by(m, p, p->answer.since + BOOKING);
    if (!p->answer.decided ||
        (!p->answer.fits && p->answer.written_at + REPORT_PAUSE <= m->spec.client->mono))
        mgr_capacity_touch(m);
}

/* ---- finding answers ---- */

struct turn {
    struct mgr_rec_prov *p;
    sl_time since;
};

static int by_age(const void *a, const void *b) {
    const struct turn *x = a, *y = b;
    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    if (x->p->rec.ns != y->p->rec.ns)
        return x->p->rec.ns < y->p->rec.ns ? -1 : 1;
    return strcmp(x->p->rec.name, y->p->rec.name);
}

/* Pods as they count in a namespace. Many requests have equal ones: each is read once a turn. */
struct reading {
    uint64_t like;
    struct mgr_podsets pods;
};
struct readings {
    struct sl_map by_like;
    SL_VEC(struct reading *) v;
};

static void readings_done(struct readings *c) {
    for (uint32_t i = 0; i < c->v.n; i++) {
        mgr_podsets_done(&c->v.v[i]->pods);
        sl_freep(&c->v.v[i]);
    }
    sl_vec_free(&c->v);
    sl_map_done(&c->by_like);
}

/* NULL: it makes no sense. */
static const struct sl_podset_spec *read_podset(struct sl_manager *m, struct readings *c, sl_sym ns,
                                                struct mgr_template *t, uint64_t like) {
    uint32_t i = sl_map_get(&c->by_like, like);
    if (i == SL_MAP_NONE) {
        struct mgr_wl_podset one = {.name = sl_sym_put(m->syms, "main"), .count = 1, .template = t};
        struct reading *x = sl_alloc0(1, sizeof *x);
        x->like = like;
        if (!mgr_podsets_read(m, ns, &one, 1, &x->pods))
            x->pods.v = NULL;
        i = c->v.n;
        *sl_vec_push(&c->v) = x;
        sl_map_add(&c->by_like, like, i);
    }
    sl_assert(i < c->v.n);
    return c->v.v[i]->pods.v;
}

static bool read_pods(struct sl_manager *m, struct readings *c, const struct mgr_rec_prov *p,
                      struct mgr_pack_pods *pods) {
    if (p->over_limit)
        return false;
    for (uint32_t i = 0; i < p->n_podsets; i++) {
        const struct mgr_prov_podset *s = &p->podsets[i];
        int32_t bound = p->answer.fits && s->bound > 0 ? s->bound : 0;
        uint64_t like = sl_hash_u64(s->template->hash, p->rec.ns);
        pods[i] = (struct mgr_pack_pods){.spec = read_podset(m, c, p->rec.ns, s->template, like),
                                         .ports = s->ports,
                                         .n_ports = s->n_ports,
                                         .count = bound < s->count ? s->count - bound : 0,
                                         .like = like};
        if (!pods[i].spec)
            return false;
    }
    return true;
}

static void set_why(struct mgr_rec_prov *p, const char *why) {
    sl_freep(&p->answer.why);
    p->answer.why = sl_strdup(why);
    p->answer.decided = true;
}

/* What is lacking changes with every pod: it is enough to know now and then. */
static bool is_report_due(struct sl_manager *m, struct mgr_rec_prov *p) {
    sl_span wait =
        p->answer.written_at ? p->answer.written_at + REPORT_PAUSE - m->spec.client->mono : 0;
    if (wait <= 0 || !p->answer.why)
        return true;
    reconcile_by(m, p, m->spec.client->wall + wait);
    return false;
}

static void refuse(struct mgr_rec_prov *p, const struct mgr_pack_pods *pods,
                   const struct mgr_pack_lack *lack) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(MAX_WHY);
    sl_buf_printf(&b, "Capacity is not found: %d of %d pods of %s find no place; %s", lack->rest,
                  pods[lack->kind].count, p->podsets[lack->kind].name, sl_buf_str(lack->why));
    set_why(p, sl_buf_str(&b));
}

static void evaluate_request(struct sl_manager *m, struct readings *c, struct mgr_rec_prov *p) {
    struct mgr_pack_pods pods[PROV_MAX_PODSETS];
    struct sl_buf why;
    bool held = p->answer.fits, report = !held && is_report_due(m, p), news = report;
    struct mgr_pack_lack lack = {.why = report ? &why : NULL};
    sl_buf_init(&why, MAX_WHY);
    sl_buf_short(&why);
    if (!read_pods(m, c, p, pods)) {
        set_why(p, "Capacity is not found: the templates of its pods make no sense");
    } else if (mgr_pack_take(m->capacity->pack, pods, p->n_podsets, held, &lack, NULL)) {
        p->answer.since = held ? p->answer.since : m->spec.client->wall;
        p->answer.fits = p->answer.decided = news = true;
    } else if (report) {
        refuse(p, pods, &lack);
    }
    sl_buf_done(&why);
    if (news && !mgr_prov_is(p, PROV_PROVISIONED))
        sl_rec_write(&p->rec);
}

/* Are all bookings known? Found after a restart, their templates have to be read first; those that
 * are gone book nothing. */
static bool knows_bookings(const struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_PROV_REQUEST, &at));) {
        const struct mgr_rec_prov *p = mgr_prov_of(r);
        if (p->answer.fits && is_ours(m, p) && !templates_read(p) && !p->answer.pause)
            return false;
    }
    return true;
}

void mgr_capacity_turn(struct sl_manager *m) {
    struct mgr_capacity *c = m->capacity;
    SL_VEC(struct turn) v = {0};
    uint32_t at = 0;
    bool waiting = false;
    if (!c || !c->dirty || !m->leads || !m->inf->tables[REC_NODE].synced ||
        !m->inf->tables[REC_POD].synced || c->rest > m->spec.client->mono || !knows_bookings(m))
        return;
    c->dirty = false;
    c->rest = sl_time_add(m->spec.client->mono, TURN_PAUSE * m->inf->tables[REC_PROV_REQUEST].n);
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_PROV_REQUEST, &at));) {
        struct mgr_rec_prov *p = mgr_prov_of(r);
        if (!is_ours(m, p) || !templates_read(p) || !p->answer.free)
            continue;
        waiting |= !mgr_prov_is(p, PROV_PROVISIONED);
        /* Requests with capacity retain it, in the order in which they got it; then the others by
         * age. */
        *sl_vec_push(&v) =
            (struct turn){p, p->answer.fits ? p->answer.since - INT64_MAX / 2 : r->created};
    }
    if (v.n > 1)
        qsort(v.v, v.n, sizeof *v.v, by_age);
    struct readings pods = {0};
    if (waiting)
        mgr_pack_begin(c->pack);
    for (uint32_t i = 0; waiting && i < v.n; i++)
        evaluate_request(m, &pods, v.v[i].p);
    readings_done(&pods);
    sl_vec_free(&v);
}

/* ---- writing answers ---- */

struct condition {
    enum mgr_cond_status status; /* NONE: as it stands */
    const char *reason, *message;
};

/* Has it waited for capacity as long as it may? */
static bool is_out_of_time(const struct sl_manager *m, const struct mgr_rec_prov *p,
                           sl_time *ret_until) {
    char text[MAX_PARAMETER], *end;
    *ret_until = 0;
    if (strcmp(parameter(p, "noRetry", text), "true") == 0)
        return true;
    long long n = strtoll(parameter(p, "ValidUntilSeconds", text), &end, 10);
    if (end == text || *end || n < 0 || n > INT32_MAX)
        return false;
    *ret_until = p->rec.created + n * SL_SEC;
    return *ret_until <= m->spec.client->wall;
}

/* Returns whether that is anything new. */
static bool answer(struct sl_manager *m, struct mgr_rec_prov *p,
                   struct condition conds[PROV_TYPES]) {
    const struct mgr_prov_cond *is = &p->conds[PROV_PROVISIONED];
    sl_time until;
    if (mgr_prov_is(p, PROV_PROVISIONED)) {
        if (p->answer.since + BOOKING > m->spec.client->wall)
            return false;
        conds[PROV_BOOKING_EXPIRED] =
            (struct condition){COND_TRUE, "CapacityReservationTimeExpired",
                               "Capacity reservation time has expired after 10m0s"};
        return true;
    }
    if (!p->answer.decided)
        return false;
    conds[PROV_ACCEPTED] = (struct condition){COND_TRUE, "Accepted",
                                              "Sluice looks for room on the nodes that there are"};
    if (p->answer.fits) {
        conds[PROV_PROVISIONED] =
            (struct condition){COND_TRUE, "CapacityIsFound", "Capacity is found in the cluster"};
        return true;
    }
    conds[PROV_PROVISIONED] = (struct condition){COND_FALSE, "CapacityIsNotFound", p->answer.why};
    if (is_out_of_time(m, p, &until)) {
        conds[PROV_FAILED] = (struct condition){COND_TRUE, "CapacityIsNotFound", p->answer.why};
        return true;
    }
    reconcile_by(m, p, until);
    return is->status != COND_FALSE ||
           strcmp(mgr_prov_message(p, PROV_PROVISIONED), p->answer.why) != 0;
}

static void put_condition(struct sl_manager *m, const struct mgr_rec_prov *p, enum mgr_prov_type t,
                          const struct condition *s, struct sl_jw *j) {
    const struct mgr_prov_cond *is = &p->conds[t];
    static const char *const words[] = {"", "False", "True", "Unknown"};
    bool flips = s->status != COND_NONE && s->status != is->status;
    enum mgr_cond_status status = s->status != COND_NONE ? s->status : is->status;
    if (status == COND_NONE)
        return;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", mgr_prov_types[t]);
    sl_jw_str(j, "status", words[status]);
    sl_jw_str(j, "reason", s->status != COND_NONE ? s->reason : mgr_str(m, is->reason));
    sl_jw_str(j, "message", s->status != COND_NONE ? s->message : mgr_prov_message(p, t));
    sl_jw_int(j, "observedGeneration", p->rec.generation);
    sl_jw_time(j, "lastTransitionTime", flips ? m->spec.client->wall : is->at);
    sl_jw_end(j);
}

static bool build_answer(struct sl_manager *m, struct mgr_rec_prov *p, struct sl_write *w) {
    struct condition conds[PROV_TYPES] = {0};
    if (!answer(m, p, conds))
        return false;
    p->answer.written_at = m->spec.client->mono;
    sl_rec_build_guarded(&p->rec, "status", w);
    struct sl_jw *j = &w->json;
    sl_jw_end(j);
    sl_jw_object(j, "status");
    sl_jw_object(j, "provisioningClassDetails");
    sl_jw_str(j, "answeredBy", NAME);
    sl_jw_end(j);
    sl_jw_array(j, "conditions");
    if (p->others)
        sl_jw_items(j, p->others);
    for (size_t t = 0; t < PROV_TYPES; t++)
        put_condition(m, p, (enum mgr_prov_type)t, &conds[t], j);
    sl_jw_end_to(j, 0);
    return true;
}

static bool build_read(struct sl_manager *m, struct mgr_rec_prov *p, struct sl_write *w) {
    uint32_t i = 0;
    while (i < p->n_podsets && p->podsets[i].template)
        i++;
    if (i == p->n_podsets)
        return false;
    if (m->spec.client->mono < p->answer.pause) {
        sl_rec_write_at(&p->rec, p->answer.pause);
        return false;
    }
    p->at = i;
    w->method = SL_GET;
    w->foreign = true;
    sl_buf_printf(&w->path, "/api/v1/namespaces/%s/podtemplates/%s", mgr_str(m, p->rec.ns),
                  p->podsets[i].name);
    return true;
}

bool mgr_capacity_build(struct sl_manager *m, struct mgr_rec_prov *p, struct sl_write *w) {
    if (!is_ours(m, p))
        return false;
    if (!p->answer.free && !may_answer_at(m, p)) {
        p->step = PROV_LEASE;
        w->method = SL_GET;
        w->foreign = true;
        sl_buf_puts(&w->path, LEASE_PATH);
        return true;
    }
    p->step = PROV_TEMPLATE;
    if (p->answer.free && build_read(m, p, w))
        return true;
    p->step = PROV_ANSWER;
    return p->answer.free && build_answer(m, p, w);
}

/* ---- what was answered to us ---- */

static void lease_read(struct sl_manager *m, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    struct mgr_capacity *c = m->capacity;
    c->lease_until = sl_time_add(m->spec.client->mono, LEASE_KNOWN);
    c->lease = how == SL_WRITE_GONE ? LEASE_NONE : LEASE_UNREADABLE;
    if (how != SL_WRITTEN)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(d), "spec");
    bool held = *sl_json_str(spec, "holderIdentity") &&
                sl_json_time(spec, "renewTime") + LEASE_LIFE > m->spec.client->wall;
    c->lease = held ? LEASE_ALIVE : LEASE_NONE;
}

static void take_ports(struct mgr_prov_podset *s, yyjson_val *spec) {
    uint32_t n = sl_podspec_host_ports(spec, NULL, 0);
    sl_freep(&s->ports);
    s->n_ports = n;
    if (!n)
        return;
    s->ports = sl_alloc0(n, sizeof *s->ports);
    (void)sl_podspec_host_ports(spec, s->ports, n);
}

static void template_read(struct sl_manager *m, struct mgr_rec_prov *p, enum sl_written how,
                          const struct sl_kube_reply *reply) {
    struct mgr_prov_podset *s = p->at < p->n_podsets ? &p->podsets[p->at] : NULL;
    char why[512];
    if (!s || s->template || how == SL_WRITE_FAILED)
        return;
    if (how == SL_WRITTEN) {
        yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
        yyjson_val *t = sl_json_at(yyjson_doc_get_root(d), "template");
        s->template = mgr_template_get(m, t);
        take_ports(s, yyjson_obj_get(t, "spec"));
        yyjson_doc_free(d);
        mgr_capacity_touch(m);
        return;
    }
    sl_fmt_short(why, sizeof why, "Capacity is not found: there is no PodTemplate %.253s", s->name);
    set_why(p, why);
    p->answer.pause = sl_time_add(m->spec.client->mono, REREAD);
    mgr_capacity_touch(m);
}

void mgr_capacity_written(struct sl_manager *m, struct mgr_rec_prov *p, enum mgr_prov_step step,
                          enum sl_written how, const struct sl_kube_reply *reply) {
    if (step == PROV_LEASE && how != SL_WRITE_FAILED && m->capacity)
        lease_read(m, how, reply);
    if (step == PROV_TEMPLATE)
        template_read(m, p, how, reply);
}
