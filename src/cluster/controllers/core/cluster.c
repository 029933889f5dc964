/* SPDX-License-Identifier: Apache-2.0 */
/* The informer, its parts and the turn: see cluster_int.h. */
#include "cluster/controllers/core/cluster_int.h"

#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "cluster/controllers/background/background.h"
#include "cluster/controllers/core/names.h"
#include "cluster/controllers/core/pod.h"
#include "cluster/controllers/gc/gc.h"
#include "lib/log/log.h"

/* ---- life ---- */

static void on_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    (void)ctx, (void)r;
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_DEBUG, "write rejected by the API server", SL_S("path", sl_buf_str(&w->path)),
               SL_I("status", reply->status));
}

/* Nodes are the scheduler's, and DaemonSets have pods on them. */
static void node_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;

    if (c->spec.scheduler->node.reconcile)
        c->spec.scheduler->node.reconcile(ctx, r);
    cl_ds_nodes_changed(c);
}

static void node_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;

    if (c->spec.scheduler->node.deleted)
        c->spec.scheduler->node.deleted(ctx, r);
    cl_ds_nodes_changed(c);
}

/* Kinds that one controller alone acts on: without it they are only read. */
static void switch_off(struct sl_cluster *c) {
    static const struct {
        enum cl_kind kind;
        enum cl_controller by;
    } rows[] = {{K_CRONJOB, CL_CRON_JOBS},
                {K_DEPLOYMENT, CL_DEPLOYMENTS},
                {K_DAEMONSET, CL_DAEMON_SETS},
                {K_REPLICATION_CONTROLLER, CL_REPLICATION_CONTROLLERS},
                {K_STATEFULSET, CL_STATEFUL_SETS}};

    for (size_t i = 0; i < SL_LEN(rows); i++)
        if (!cl_on(c, rows[i].by)) {
            c->kinds[rows[i].kind].reconcile = NULL;
            c->kinds[rows[i].kind].build = NULL;
        }
}

struct sl_cluster *sl_cluster_new(const struct sl_cluster_spec *spec) {
    struct sl_cluster *c = sl_alloc0(1, sizeof *c);

    sl_assert(spec->client && spec->scheduler);
    c->spec = *spec;
    c->client = spec->client;
    memcpy(c->kinds, cl_kinds, sizeof c->kinds);
    c->kinds[K_NODE] = spec->scheduler->node;
    c->kinds[K_NODE].reconcile = node_changed;
    c->kinds[K_NODE].deleted = node_gone;
    switch_off(c);
    c->parts[0] = &spec->scheduler->part;
    c->parts[1] = &cl_gc_part;
    c->parts[2] = &cl_background_part;
    c->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = spec->client,
        .kinds = c->kinds,
        .n_kinds = K_COUNT,
        .ctx = c,
        .field_manager = "kube-controller-manager",
        .max_in_flight = CL_MAX_IN_FLIGHT,
        .seed = spec->seed,
        .hold = cl_names_hold,
        .written = on_written,
        .events = {.max_known = CL_MAX_EVENTS},
    });
    c->syms = &c->inf->syms;
    for (uint32_t k = 0; k < K_COUNT; k++)
        sl_inf_watch(c->inf, k);
    for (uint32_t i = 0; i < CL_N_PARTS; i++)
        if (c->parts[i]->start)
            c->parts[i]->start(c);
    return c;
}

void sl_cluster_free(struct sl_cluster *c) {
    if (!c)
        return;
    sl_inf_stop(c->inf);
    cl_ds_stop(c);
    for (uint32_t i = 0; i < CL_N_PARTS; i++)
        if (c->parts[i]->stop)
            c->parts[i]->stop(c);
    sl_inf_free(c->inf);
    sl_vec_free(&c->jobs_with_selector);
    sl_map_done(&c->service_pairs);
    sl_freep(&c);
}

/* ---- the turn ---- */

static bool lists_are_in(struct sl_cluster *c) {
    bool all = sl_inf_poll(c->inf);
    for (uint32_t i = 0; i < CL_N_PARTS; i++)
        all &= !c->parts[i]->ready || c->parts[i]->ready(c);
    return all;
}

void sl_cluster_tick(struct sl_cluster *c) {
    if (!lists_are_in(c) && !c->inf->ready)
        return;
    c->inf->ready = true;
    (void)sl_inf_wake(c->inf);
    sl_assert(sl_inf_settle(c->inf)); /* or a part never comes to rest */
    for (uint32_t i = 0; i < CL_N_PARTS; i++)
        if (c->parts[i]->turn)
            c->parts[i]->turn(c);
    sl_inf_flush(c->inf);
    cl_names_sweep(c);
}

sl_time sl_cluster_next(const struct sl_cluster *c) {
    sl_time at = sl_time_min(sl_inf_next(c->inf), sl_inf_next_timer(c->inf));
    for (uint32_t i = 0; i < CL_N_PARTS; i++)
        if (c->parts[i]->next)
            at = sl_time_min(at, c->parts[i]->next(c));
    return at;
}

bool sl_cluster_ready(const struct sl_cluster *c) {
    return c->inf->ready;
}
