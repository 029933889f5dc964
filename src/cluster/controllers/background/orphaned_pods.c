/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods on deleted nodes: no kubelet will end them. A node that pods name and that is absent for
 * forty seconds is requested; if it does not exist, its pods are marked as failed and deleted
 * without grace.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/background/background.h"
#include "core/base/fmt.h"

#define QUARANTINE (40 * SL_SEC)
#define EVERY (20 * SL_SEC)

static struct cl_pod_gc *strays_of(struct sl_cluster *c) {
    return &c->background->pod_gc;
}

static struct cl_lost_node *lost(struct sl_cluster *c, sl_sym name, bool add) {
    struct cl_pod_gc *s = strays_of(c);

    for (uint32_t i = 0; i < s->lost.n; i++)
        if (s->lost.v[i].name == name)
            return &s->lost.v[i];
    if (!add)
        return NULL;
    struct cl_lost_node *n = sl_vec_push(&s->lost);
    *n = (struct cl_lost_node){.name = name, .since = c->client->mono};
    return n;
}

/* Which nodes are missed, and which pods are to go. */
static void scan_pods(struct sl_cluster *c) {
    struct cl_pod_gc *s = strays_of(c);
    uint32_t at = 0, kept = 0;

    for (uint32_t i = 0; i < s->lost.n; i++)
        s->lost.v[i].seen = false;
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_POD, &at));) {
        struct cl_pod *p = cl_pod_of(r);
        if (r->create_planned || !p->f.node ||
            sl_inf_find_sym(c->inf, K_NODE, 0, cl_str(c, p->f.node)))
            continue;
        struct cl_lost_node *n = lost(c, p->f.node, true);
        n->seen = true;
        if (n->gone) {
            *sl_vec_push(&s->pods) = r->id;
            *sl_vec_push(&s->uids) = sl_rec_uid(r->uid);
        }
    }
    for (uint32_t i = 0; i < s->lost.n; i++)
        if (s->lost.v[i].seen)
            s->lost.v[kept++] = s->lost.v[i];
    s->lost.n = kept;
    s->due = c->client->mono + EVERY;
}

/* ---- is it really not there? ---- */

static void on_node(void *ctx, const struct sl_kube_reply *r) {
    struct sl_cluster *c = ctx;
    struct cl_pod_gc *s = strays_of(c);
    struct cl_lost_node *n = lost(c, s->requested, false);

    s->call = (sl_kube_call){0};
    if (!n)
        return;
    n->requested = false;
    n->gone = r->status == 404;
    if (n->gone)
        s->due = c->client->mono;
    else
        n->since = c->client->mono;
}

static bool request_node(struct sl_cluster *c) {
    struct cl_pod_gc *s = strays_of(c);
    char path[400];

    for (uint32_t i = 0; i < s->lost.n; i++) {
        struct cl_lost_node *n = &s->lost.v[i];
        if (n->gone || c->client->mono - n->since < QUARANTINE)
            continue;
        s->requested = n->name;
        sl_fmt(path, sizeof path, "/api/v1/nodes/%.300s", cl_str(c, n->name));
        s->call = sl_kube_request(
            c->client, &(struct sl_kube_request){.method = SL_GET, .path = path}, on_node, c);
        return true;
    }
    return false;
}

/* ---- the pods ---- */

static void drop_first(struct cl_pod_gc *s) {
    (void)sl_vec_pop(&s->pods);
    (void)sl_vec_pop(&s->uids);
    s->failed_written = false;
}

static void on_failed(void *ctx, const struct sl_kube_reply *r) {
    struct cl_pod_gc *s = strays_of(ctx);

    s->call = (sl_kube_call){0};
    if (r->status >= 200 && r->status < 300)
        s->failed_written = true;
    else
        drop_first(s); /* the next round finds it again */
}

static void on_deleted(void *ctx, const struct sl_kube_reply *r) {
    struct cl_pod_gc *s = strays_of(ctx);

    (void)r;
    s->call = (sl_kube_call){0};
    drop_first(s);
}

static void end_pod(struct sl_cluster *c, struct cl_pod *p) {
    struct cl_pod_gc *s = strays_of(c);
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(SL_WRITER_MAX_PATH);
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(8192);
    bool fail = !s->failed_written && !cl_pod_ended(p);
    struct sl_jw j = SL_JW(&body);

    sl_jw_object(&j, NULL);
    sl_rec_path(&path, &p->rec, fail ? "status" : NULL);
    if (fail) {
        sl_buf_puts(&path, "?fieldManager=PodGC&force=true");
        sl_jw_str(&j, "apiVersion", "v1");
        sl_jw_str(&j, "kind", "Pod");
        sl_jw_object(&j, "metadata");
        sl_jw_str(&j, "name", p->rec.name);
        sl_jw_str(&j, "uid", p->rec.uid);
        sl_jw_end(&j);
        sl_jw_object(&j, "status");
        sl_jw_str(&j, "phase", "Failed");
        sl_jw_array(&j, "conditions");
        cl_write_condition(&j, "DisruptionTarget", true, "DeletionByPodGC",
                           "PodGC: node no longer exists", 0, c->client->wall);
    } else {
        sl_jw_int(&j, "gracePeriodSeconds", 0);
        sl_jw_object(&j, "preconditions");
        sl_jw_str(&j, "uid", p->rec.uid);
    }
    sl_jw_end_to(&j, 0);
    s->call =
        sl_kube_request(c->client,
                        &(struct sl_kube_request){.method = fail ? SL_PATCH : SL_DELETE,
                                                  .path = sl_buf_str(&path),
                                                  .content_type = fail ? SL_APPLY_PATCH : SL_JSON,
                                                  .body = sl_buf_str(&body),
                                                  .len = body.len},
                        fail ? on_failed : on_deleted, c);
}

void cl_pod_gc_turn(struct sl_cluster *c) {
    struct cl_pod_gc *s = strays_of(c);

    while (!s->call.v && s->pods.n) {
        struct sl_rec *r = c->inf->recs.v[sl_vec_last(&s->pods)];
        if (r && !r->gone && sl_rec_uid(r->uid) == sl_vec_last(&s->uids) && r->kind == K_POD)
            end_pod(c, cl_pod_of(r));
        else
            drop_first(s);
    }
    if (s->call.v || s->due > c->client->mono)
        return;
    scan_pods(c);
    if (!s->pods.n)
        (void)request_node(c);
    else
        s->due = c->client->mono + SL_MSEC; /* their turn comes now */
}

void cl_pod_gc_stop(struct sl_cluster *c) {
    struct cl_pod_gc *s = strays_of(c);

    sl_kube_cancel(c->client, s->call);
    sl_vec_free(&s->lost);
    sl_vec_free(&s->pods);
    sl_vec_free(&s->uids);
}
