/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The informer of `sluice queue`. FluxJobs say in their status where they stand. Of Workloads the
 * order is known to the visibility API; where that one does not answer, they are ordered by
 * priority and age, as queues are.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cluster/cluster_cmd.h"
#include "cmd/cli/cluster/queue_cmd.h"
#include "core/base/fmt.h"
#include "kube/types/syntax.h"
#include "manager/admission/fluxqueue.h"

#define KUEUE "kueue.x-k8s.io/v1beta2"
#define VISIBILITY "/apis/visibility.kueue.x-k8s.io/v1beta2"
#define VISIBLE 10000u /* Workloads of a queue whose order is asked for */
#define MAX_PATH 1024u
#define DEFAULT_QUEUE "default"

enum { FLUXJOB, WORKLOAD, LOCALQUEUE, KINDS };

struct fluxjob {
    struct sl_rec rec;
    struct cli_queue_row row;
    char *texts[6];
};

struct workload {
    struct sl_rec rec;
    struct cli_queue_row row;
    char *texts[6];
    /* as the visibility API has it */
    char *seen_reason, *seen_message;
    uint32_t seen_position; /* from 1; 0: it did not say */
    sl_time seen_start;
};

struct localqueue {
    struct sl_rec rec;
    char *cluster_queue;
};

struct asked {
    struct cli_queue *q;
    char *ns, *queue; /* ns NULL: a ClusterQueue */
};

struct cli_queue {
    struct cli_queue_spec spec;
    struct sl_informer *inf;
    struct sl_rec_kind kinds[KINDS];
    char paths[KINDS][MAX_PATH];
    struct asked *asked[SL_QUEUE_MAX_ASKED];
    sl_kube_call calls[SL_QUEUE_MAX_ASKED];
    uint32_t n_asked, n_open;
    bool ever_asked, changed;
};

static struct fluxjob *fluxjob_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fluxjob, rec);
}
static struct workload *workload_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct workload, rec);
}
static struct localqueue *localqueue_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct localqueue, rec);
}

/* ---- texts ---- */

/* A copy in place of what was there, cut where it is long. */
static const char *keep(char **to, const char *text) {
    size_t n = strnlen(text, SL_QUEUE_MAX_MESSAGE);
    char *copy = sl_alloc(n + 1);

    memcpy(copy, text, n);
    copy[n] = '\0';
    sl_freep(to);
    *to = copy;
    return copy;
}

/* ---- FluxJobs ---- */

static bool is_over(const char *state) {
    return strcmp(state, "Completed") == 0 || strcmp(state, "Failed") == 0 ||
           strcmp(state, "Cancelled") == 0;
}

static bool fluxjob_wanted(void *ctx, yyjson_val *o) {
    (void)ctx;
    return !is_over(sl_json_str(o, "status.state"));
}

static bool fluxjob_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cli_queue *q = ctx;
    struct fluxjob *j = fluxjob_of(r);
    yyjson_val *spec = sl_json_get(o, "spec"), *status = sl_json_get(o, "status");
    const char *queue = sl_json_str(status, "queue"), *state = sl_json_str(status, "state");

    if (!*queue)
        queue = sl_json_str(spec, "queue");
    j->row = (struct cli_queue_row){
        .kind = SL_QUEUE_FLUXJOBS,
        .queue = keep(&j->texts[0], *queue ? queue : DEFAULT_QUEUE),
        .local_queue = "",
        .state = keep(&j->texts[1], *state ? state : "Pending"),
        .reason = keep(&j->texts[2], sl_json_str(status, "reason")),
        .message = keep(&j->texts[3], sl_json_str(status, "message")),
        .nodes = keep(&j->texts[4], sl_json_str(status, "nodeList")),
        .object = keep(&j->texts[5], sl_json_str(spec, "name")),
        .object_kind = cli_flux_kind(sl_json_int(spec, "type", 0)),
        .jobid = sl_json_int(status, "jobid", 0),
        .priority = (int32_t)sl_json_int(spec, "priority", 0),
        .position = (uint32_t)sl_json_int32(status, "queuePosition", 0),
        .pods = (uint32_t)sl_json_int32(status, "pods.expected", sl_json_int32(spec, "nodes", 0)),
        .bound = (uint32_t)sl_json_int32(status, "pods.bound", 0),
        .n_nodes = (uint32_t)sl_json_size(sl_json_get(status, "nodes")),
        .reserved = sl_json_bool(status, "reservation", false),
        .submitted = sl_json_time(status, "submittedAt"),
        .started = sl_json_time(status, "startedAt"),
        .estimate = sl_json_time(status, "estimatedStart"),
    };
    q->changed = true;
    return false; /* there is nothing to reconcile */
}

static void fluxjob_free(struct sl_rec *r) {
    for (size_t i = 0; i < SL_LEN(fluxjob_of(r)->texts); i++)
        sl_freep(&fluxjob_of(r)->texts[i]);
}

/* ---- Workloads ---- */

static bool workload_wanted(void *ctx, yyjson_val *o) {
    (void)ctx;
    return !sl_json_condition(o, "Finished") && !sl_json_condition(o, "Admitted");
}

static uint32_t count_pods(yyjson_val *podsets) {
    size_t i, max;
    yyjson_val *p;
    uint64_t n = 0;

    yyjson_arr_foreach (podsets, i, max, p)
        n += (uint64_t)sl_json_int32(p, "count", 1);
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static yyjson_val *owner_of(yyjson_val *o) {
    yyjson_val *refs = sl_json_at(o, "metadata.ownerReferences"), *ref;
    size_t i, max;

    yyjson_arr_foreach (refs, i, max, ref)
        if (sl_json_bool(ref, "controller", false))
            return ref;
    return yyjson_arr_get_first(refs);
}

static bool workload_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cli_queue *q = ctx;
    struct workload *x = workload_of(r);
    yyjson_val *spec = sl_json_get(o, "spec"), *owner = owner_of(o);
    bool reserved = sl_json_condition(o, "QuotaReserved");
    const char *state = !sl_json_bool(spec, "active", true) ? "Inactive"
                        : reserved                          ? "QuotaReserved"
                                                            : "Pending";
    yyjson_val *why = sl_json_find(sl_json_at(o, "status.conditions"), "type",
                                   reserved ? "Admitted" : "QuotaReserved");

    x->row = (struct cli_queue_row){
        .kind = SL_QUEUE_WORKLOADS,
        .local_queue = keep(&x->texts[0], sl_json_str(spec, "queueName")),
        .queue = keep(&x->texts[1], sl_json_str(o, "status.admission.clusterQueue")),
        .state = state,
        .reason = keep(&x->texts[2], sl_json_str(why, "reason")),
        .message = keep(&x->texts[3], sl_json_str(why, "message")),
        .object_kind = keep(&x->texts[4], sl_json_str(owner, "kind")),
        .object = keep(&x->texts[5], sl_json_str(owner, "name")),
        .nodes = "",
        .priority = (int32_t)sl_json_int(spec, "priority", 0),
        .pods = count_pods(sl_json_get(spec, "podSets")),
    };
    q->changed = true;
    return false;
}

static void workload_free(struct sl_rec *r) {
    struct workload *x = workload_of(r);

    for (size_t i = 0; i < SL_LEN(x->texts); i++)
        sl_freep(&x->texts[i]);
    sl_freep(&x->seen_reason);
    sl_freep(&x->seen_message);
}

static bool localqueue_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cli_queue *q = ctx;

    (void)keep(&localqueue_of(r)->cluster_queue, sl_json_str(o, "spec.clusterQueue"));
    q->changed = true;
    return false;
}

static void localqueue_free(struct sl_rec *r) {
    sl_freep(&localqueue_of(r)->cluster_queue);
}

static void on_deleted(void *ctx, struct sl_rec *r) {
    struct cli_queue *q = ctx;

    (void)r;
    q->changed = true;
}

static const char *cluster_queue_of(const struct cli_queue *q, const struct workload *x) {
    struct sl_rec *r = sl_inf_find_sym(q->inf, LOCALQUEUE, x->rec.ns, x->row.local_queue);

    return *x->row.queue ? x->row.queue : r ? localqueue_of(r)->cluster_queue : "";
}

/* ---- the order of Workloads ---- */

static void forget_order(struct cli_queue *q) {
    uint32_t at = 0;

    for (struct sl_rec *r; (r = sl_inf_each(q->inf, WORKLOAD, &at));)
        workload_of(r)->seen_position = 0;
}

static void take_order(struct cli_queue *q, yyjson_val *items) {
    size_t i, max;
    yyjson_val *o;

    yyjson_arr_foreach (items, i, max, o) {
        struct sl_rec *r = sl_inf_find(q->inf, WORKLOAD, sl_json_str(o, "metadata.namespace"),
                                       sl_json_str(o, "metadata.name"));
        if (!r)
            continue;
        struct workload *x = workload_of(r);
        x->seen_position = (uint32_t)sl_json_int32(o, "positionInClusterQueue", 0) + 1;
        x->seen_start = sl_json_time(o, "expectedStartTime");
        (void)keep(&x->seen_reason, sl_json_str(o, "reason"));
        (void)keep(&x->seen_message, sl_json_str(o, "message"));
    }
}

static void on_order(void *ctx, const struct sl_kube_reply *reply) {
    struct asked *a = ctx;
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        reply->status == 200 ? sl_json_doc(reply->body, reply->len) : NULL;

    take_order(a->q, sl_json_get(yyjson_doc_get_root(doc), "items"));
    a->q->n_open--;
}

static void end_asking(struct cli_queue *q) {
    for (uint32_t i = 0; i < q->n_asked; i++) {
        if (q->n_open)
            sl_kube_cancel(q->spec.client, q->calls[i]);
        sl_freep(&q->asked[i]->ns);
        sl_freep(&q->asked[i]->queue);
        sl_freep(&q->asked[i]);
    }
    q->n_asked = q->n_open = 0;
}

static bool is_asked(const struct cli_queue *q, const char *ns, const char *queue) {
    for (uint32_t i = 0; i < q->n_asked; i++)
        if (strcmp(q->asked[i]->queue, queue) == 0 && (!ns || strcmp(q->asked[i]->ns, ns) == 0))
            return true;
    return false;
}

static void ask_one(struct cli_queue *q, const char *ns, const char *queue) {
    char path[MAX_PATH];

    if (q->n_asked == SL_QUEUE_MAX_ASKED || sl_syntax_subdomain(queue, strlen(queue)).n > 0 ||
        is_asked(q, ns, queue))
        return;
    struct asked *a = sl_alloc0(1, sizeof *a);
    *a = (struct asked){q, ns ? sl_strdup(ns) : NULL, sl_strdup(queue)};
    if (ns)
        sl_fmt(path, sizeof path,
               VISIBILITY "/namespaces/%s/localqueues/%s/pendingworkloads?limit=%u", ns, queue,
               VISIBLE);
    else
        sl_fmt(path, sizeof path, VISIBILITY "/clusterqueues/%s/pendingworkloads?limit=%u", queue,
               VISIBLE);
    q->asked[q->n_asked] = a;
    q->calls[q->n_asked++] = sl_kube_request(
        q->spec.client, &(struct sl_kube_request){.method = SL_GET, .path = path}, on_order, a);
    q->n_open++;
}

void cli_queue_ask(struct cli_queue *q) {
    uint32_t at = 0;

    end_asking(q);
    forget_order(q);
    q->ever_asked = true;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, WORKLOAD, &at));) {
        const struct workload *x = workload_of(r);
        if (strcmp(x->row.state, "Pending") != 0)
            continue;
        if (q->spec.ns)
            ask_one(q, sl_rec_ns(r), x->row.local_queue);
        else
            ask_one(q, NULL, cluster_queue_of(q, x));
    }
}

/* ---- rows ---- */

/* Those that run are in front of those that wait. */
static int phase_of(const struct cli_queue_row *x) {
    if (strcmp(x->state, "Running") == 0 || strcmp(x->state, "QuotaReserved") == 0)
        return 0;
    if (x->position)
        return 1;
    return strcmp(x->state, "Rejected") == 0 || strcmp(x->state, "Inactive") == 0 ? 3 : 2;
}

static int compare(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int by_order(const void *a, const void *b) {
    const struct cli_queue_row *x = a, *y = b;
    int r = strcmp(x->queue, y->queue);

    if (!r)
        r = phase_of(x) - phase_of(y);
    if (!r)
        r = compare(x->position, y->position);
    if (!r)
        r = -compare(x->priority, y->priority);
    if (!r)
        r = compare(x->submitted ? x->submitted : x->created,
                    y->submitted ? y->submitted : y->created);
    if (!r)
        r = compare(x->jobid, y->jobid);
    if (!r)
        r = strcmp(x->ns, y->ns);
    return r ? r : strcmp(x->name, y->name);
}

/* Of Workloads that nobody has given a place: it is the one that their order gives, if all of their
 * queue are known. */
static void guess_positions(struct cli_queue_row *v, uint32_t n) {
    uint32_t place = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(v[i].queue, v[i - 1].queue) != 0)
            place = 0;
        if (strcmp(v[i].state, "Pending") != 0)
            continue;
        place++;
        if (!v[i].position) {
            v[i].position = place;
            v[i].position_guessed = true;
        }
    }
}

static struct cli_queue_row row_of(const struct cli_queue *q, struct sl_rec *r) {
    if (r->kind == FLUXJOB)
        return fluxjob_of(r)->row;
    const struct workload *x = workload_of(r);
    struct cli_queue_row row = x->row;
    row.queue = cluster_queue_of(q, x);
    row.position = x->seen_position;
    if (x->seen_position) {
        row.estimate = x->seen_start;
        row.reason = *x->seen_reason ? x->seen_reason : row.reason;
        row.message = *x->seen_message ? x->seen_message : row.message;
    }
    return row;
}

static bool is_chosen(const struct cli_queue *q, const struct cli_queue_row *row) {
    return !q->spec.queue || strcmp(row->queue, q->spec.queue) == 0 ||
           strcmp(row->local_queue, q->spec.queue) == 0;
}

struct cli_queue_row *cli_queue_rows(struct cli_queue *q, enum cli_queue_kind k, uint32_t *ret_n) {
    uint32_t kind = k == SL_QUEUE_FLUXJOBS ? FLUXJOB : WORKLOAD, at = 0, n = 0, kept = 0;
    struct cli_queue_row *v = sl_alloc0(q->inf->tables[kind].n + 1, sizeof *v);

    q->changed = false;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, kind, &at));) {
        v[n] = row_of(q, r);
        v[n].ns = sl_rec_ns(r);
        v[n].name = r->name;
        v[n++].created = r->created;
    }
    qsort(v, n, sizeof *v, by_order);
    if (k == SL_QUEUE_WORKLOADS && !q->spec.ns)
        guess_positions(v, n);
    for (uint32_t i = 0; i < n; i++)
        if (is_chosen(q, &v[i]))
            v[kept++] = v[i];
    *ret_n = kept;
    return v;
}

/* ---- life ---- */

static const struct sl_rec_kind kinds[KINDS] = {
    [FLUXJOB] = {SL_REC_API(SL_FLUX_API, "fluxjobs", "FluxJob"), .namespaced = true,
                 .size = sizeof(struct fluxjob), .wanted = fluxjob_wanted, .decode = fluxjob_decode,
                 .deleted = on_deleted, .free = fluxjob_free},
    [WORKLOAD] = {SL_REC_API(KUEUE, "workloads", "Workload"), .namespaced = true,
                  .size = sizeof(struct workload), .wanted = workload_wanted,
                  .decode = workload_decode, .deleted = on_deleted, .free = workload_free},
    [LOCALQUEUE] = {SL_REC_API(KUEUE, "localqueues", "LocalQueue"), .namespaced = true,
                    .size = sizeof(struct localqueue), .decode = localqueue_decode,
                    .deleted = on_deleted, .free = localqueue_free},
};

struct cli_queue *cli_queue_new(const struct cli_queue_spec *spec) {
    struct cli_queue *q = sl_alloc0(1, sizeof *q);

    q->spec = *spec;
    q->changed = true;
    for (uint32_t k = 0; k < KINDS; k++) {
        q->kinds[k] = kinds[k];
        if (spec->ns) { /* for this one a right in the namespace is enough */
            sl_fmt(q->paths[k], sizeof q->paths[k], "%s/namespaces/%s", kinds[k].path, spec->ns);
            q->kinds[k].path = q->paths[k];
        }
    }
    q->inf = sl_inf_new(&(struct sl_inf_spec){.client = spec->client,
                                              .kinds = q->kinds,
                                              .n_kinds = KINDS,
                                              .ctx = q,
                                              .field_manager = "sluice",
                                              .max_in_flight = 1,
                                              .seed = spec->seed,
                                              .events = {.max_known = 1}});
    q->inf->writes = false;
    for (uint32_t k = 0; k < KINDS; k++)
        if (k == FLUXJOB ? !spec->no_fluxjobs : !spec->no_workloads)
            sl_inf_watch(q->inf, k);
    return q;
}

void cli_queue_free(struct cli_queue *q) {
    if (!q)
        return;
    end_asking(q);
    sl_inf_free(q->inf);
    sl_freep(&q);
}

void cli_queue_tick(struct cli_queue *q) {
    sl_inf_tick(q->inf);
    if (q->inf->ready && !q->ever_asked)
        cli_queue_ask(q);
}

sl_time cli_queue_next(const struct cli_queue *q) {
    return sl_inf_next(q->inf);
}

void cli_queue_reading(const struct cli_queue *q, struct sl_inf_reading *ret) {
    sl_inf_reading(q->inf, ret);
}

bool cli_queue_ready(const struct cli_queue *q) {
    return q->inf->ready && q->ever_asked && q->n_open == 0;
}

bool cli_queue_changed(const struct cli_queue *q) {
    return q->changed;
}

bool cli_queue_reads(const struct cli_queue *q, enum cli_queue_kind k) {
    return k == SL_QUEUE_FLUXJOBS ? !q->spec.no_fluxjobs : !q->spec.no_workloads;
}

bool cli_queue_served(const struct cli_queue *q, enum cli_queue_kind k) {
    return sl_inf_served(q->inf, k == SL_QUEUE_FLUXJOBS ? FLUXJOB : WORKLOAD);
}
