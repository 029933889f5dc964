/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending workloads as JSON. Kueue's fields are Kueue's; 'reason', 'message' and
 * 'expectedStartTime' are ours, and ignored by clients that do not know them.
 */
#include "manager/controllers/queue/pending.h"

#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/workload/workload.h"

#define PIECE 128u                 /* workloads */
#define MAX_PODS 256u              /* that are listed as owners of one */
#define MAX_MESSAGE ((size_t)1024) /* Kueue's own are no longer */

/* Why it waits, from its condition. Equivalent workloads get the same result, and one of them is
 * evaluated for all: its condition applies to the others, unless it is about its own eviction.
 * NULL: none has a condition yet. */
static const struct mgr_cond *why(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                  const struct sl_engine_waiting *at) {
    const struct mgr_rec_wl *const candidates[] = {w, mgr_wl_by_id(m, at->refused_wl),
                                                   mgr_wl_by_id(m, at->first_alike)};
    for (size_t i = 0; i < SL_LEN(candidates); i++) {
        const struct mgr_rec_wl *x = candidates[i];
        const struct mgr_cond *c = x ? mgr_wl_next_cond(m, x, "QuotaReserved") : NULL;
        if (c && c->status == COND_FALSE &&
            (x == w || !mgr_wl_condition_will_be_true(m, x, "Evicted")))
            return c;
    }
    return NULL;
}

/* A string of which no more than so many bytes count; a character is not cut. */
static void put_short(struct sl_jw *j, const char *key, const char *s) {
    char text[MAX_MESSAGE + 4];
    size_t n = strnlen(s, MAX_MESSAGE + 1);
    if (n <= MAX_MESSAGE) {
        sl_jw_str(j, key, s);
        return;
    }
    for (n = MAX_MESSAGE - 3; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
        n--;
    memcpy(text, s, n);
    memcpy(text + n, "...", 4);
    sl_jw_str(j, key, text);
}

static void put_owner(struct sl_jw *j, const char *api, const char *kind, const char *name,
                      const char *uid) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", api);
    sl_jw_str(j, "kind", kind);
    sl_jw_str(j, "name", name);
    sl_jw_str(j, "uid", uid);
    sl_jw_end(j);
}

static void open_owners(struct sl_jw *j, bool *open) {
    if (!*open)
        sl_jw_array(j, "ownerReferences");
    *open = true;
}

/* A pod that owns it, by the hash of its uid; NULL if it has ended. */
static const struct sl_rec *pod_of_hash(const struct sl_manager *m, uint64_t hash) {
    sl_map_foreach (i, &m->by_uid, hash)
        if (m->inf->recs.v[i]->kind == REC_POD && !m->inf->recs.v[i]->gone)
            return m->inf->recs.v[i];
    return NULL;
}

static void put_owners(struct sl_jw *j, const struct sl_manager *m, const struct mgr_rec_wl *w) {
    bool open = false;
    if (w->owner_uid) {
        open_owners(j, &open);
        put_owner(j, mgr_str(m, w->owner_api), mgr_str(m, w->owner_kind),
                  w->owner_name ? w->owner_name : "", w->owner_uid);
    }
    if (w->owners) {
        open_owners(j, &open);
        sl_jw_items(j, w->owners);
    }
    for (uint32_t i = 0; i < w->pods.n && i < MAX_PODS; i++) {
        const struct sl_rec *p = pod_of_hash(m, w->pods.v[i]);
        if (!p)
            continue;
        open_owners(j, &open);
        put_owner(j, "v1", "Pod", p->name, p->uid);
    }
    if (open)
        sl_jw_end(j);
}

static void put_reason(struct sl_jw *j, const struct sl_manager *m, const struct mgr_rec_wl *w,
                       const struct sl_engine_waiting *at, bool asleep) {
    const struct mgr_cond *c = why(m, w, at);
    sl_jw_str(j, "reason", c ? mgr_str(m, c->reason) : "Pending");
    if (c)
        put_short(j, "message", c->message);
    else if (asleep)
        sl_jw_str(j, "message",
                  "A workload with the same requests was evaluated and stays pending");
    else
        sl_jw_strf(j, "message", "Not evaluated yet: position %u in the queue", at->in_cq + 1);
}

static void put_item(struct sl_jw *j, const struct sl_manager *m, const struct mgr_rec_wl *w,
                     const struct sl_engine_waiting *at) {
    struct sl_engine_wl_view v;
    (void)sl_engine_workload(m->engine, at->wl, &v);
    sl_jw_object(j, NULL);
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", w->rec.name);
    sl_jw_str(j, "namespace", mgr_str(m, w->rec.ns));
    sl_jw_time(j, "creationTimestamp", w->rec.created);
    put_owners(j, m, w);
    sl_jw_end(j);
    sl_jw_int(j, "priority", w->priority);
    sl_jw_str(j, "localQueueName", mgr_str(m, w->queue));
    sl_jw_uint(j, "positionInClusterQueue", at->in_cq);
    sl_jw_uint(j, "positionInLocalQueue", at->in_lq);
    put_reason(j, m, w, at, v.phase == SL_PHASE_ASLEEP);
    /* The one time that is known beforehand: it is not evaluated before its back-off is over. */
    if (v.requeue_at > m->spec.client->wall)
        sl_jw_time(j, "expectedStartTime", v.requeue_at);
    sl_jw_end(j);
}

struct sl_manager_pending {
    const struct sl_manager *m;
    char version[16];
    struct sl_engine_waiting *v;
    uint32_t n, at;
    size_t bytes;
    struct sl_jw j; /* from piece to piece; depth 0: not begun */
};

struct sl_manager_pending *sl_manager_pending_open(const struct sl_manager *m,
                                                   const struct sl_manager_pending_query *q) {
    uint32_t n = q->limit < SL_MANAGER_PENDING_MOST ? q->limit : SL_MANAGER_PENDING_MOST;
    if (!sl_inf_find(m->inf, q->ns ? REC_LOCAL_QUEUE : REC_CLUSTER_QUEUE, q->ns ? q->ns : "",
                     q->queue))
        return NULL;
    struct sl_manager_pending *p = sl_alloc0(1, sizeof *p);
    p->m = m;
    sl_fmt(p->version, sizeof p->version, "%s", q->version);
    p->v = sl_alloc0((size_t)n + 1, sizeof *p->v);
    p->n = sl_engine_queue_order(m->engine, q->ns, q->queue, q->offset, p->v, n);
    return p;
}

bool sl_manager_pending_more(struct sl_manager_pending *p, struct sl_buf *out) {
    size_t before = out->len;
    p->j.b = out;
    if (p->j.depth == 0) {
        sl_jw_object(&p->j, NULL);
        sl_jw_str(&p->j, "kind", "PendingWorkloadsSummary");
        sl_jw_strf(&p->j, "apiVersion", "visibility.kueue.x-k8s.io/%s", p->version);
        sl_jw_raw(&p->j, "metadata", "{}");
        sl_jw_array(&p->j, "items");
    }
    for (uint32_t i = 0; i < PIECE && p->at < p->n && p->bytes < SL_MANAGER_PENDING_BYTES;
         i++, p->at++) {
        const struct mgr_rec_wl *w = mgr_wl_by_id(p->m, p->v[p->at].wl);
        if (w)
            put_item(&p->j, p->m, w, &p->v[p->at]);
    }
    p->bytes += out->len - before;
    bool last = p->at == p->n || p->bytes >= SL_MANAGER_PENDING_BYTES;
    if (last) {
        sl_jw_end_to(&p->j, 0);
        sl_buf_putc(out, '\n');
    }
    return !last;
}

void sl_manager_pending_free(struct sl_manager_pending *p) {
    if (!p)
        return;
    sl_freep(&p->v);
    sl_freep(&p);
}
