/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending workloads as JSON. Kueue's fields are Kueue's; 'reason', 'message' and
 * 'expectedStartTime' are ours, and ignored by clients that do not know them.
 */
#include "controllers/visible.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/mem.h"
#include "controllers/kinds.h"
#include "controllers/wl.h"

#define PIECE 128u                 /* workloads */
#define MAX_PODS 256u              /* that are told as owners of one */
#define MAX_MESSAGE ((size_t)1024) /* Kueue's own are no longer */

static const struct rec_wl *by_id(const struct sl_manager *m, sl_wl_id id) {
    uint32_t obj = sl_map_get(&m->by_wl_id, id.v);
    return obj == SL_MAP_NONE ? NULL : wl_of(m->inf->recs.v[obj]);
}

/* Why it waits, in the words of its condition. Workloads that are alike get the same answers, and
 * one of them is looked at for all: what it was told holds for the others, unless it speaks of how
 * that one was evicted. NULL: nobody was told anything yet. */
static const struct cond *why(const struct sl_manager *m, const struct rec_wl *w,
                              const struct sl_waiting *at) {
    const struct rec_wl *const spoken_to[] = {w, by_id(m, at->told), by_id(m, at->like)};
    for (size_t i = 0; i < SL_LEN(spoken_to); i++) {
        const struct rec_wl *x = spoken_to[i];
        const struct cond *c = x ? wl_next_cond(m, x, "QuotaReserved") : NULL;
        if (c && c->status == COND_FALSE && (x == w || !wl_will(m, x, "Evicted")))
            return c;
    }
    return NULL;
}

/* A string of which no more than so many bytes count; a character is not cut. */
static void put_short(struct sl_buf *b, const char *s) {
    char text[MAX_MESSAGE + 4];
    size_t n = strnlen(s, MAX_MESSAGE + 1);
    if (n <= MAX_MESSAGE) {
        sl_buf_json(b, s);
        return;
    }
    for (n = MAX_MESSAGE - 3; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
        n--;
    memcpy(text, s, n);
    memcpy(text + n, "...", 4);
    sl_buf_json(b, text);
}

static void put_owner(struct sl_buf *b, const char *api, const char *kind, const char *name,
                      const char *uid) {
    const char *const fields[][2] = {
        {"{\"apiVersion\":", api}, {",\"kind\":", kind}, {",\"name\":", name}, {",\"uid\":", uid}};
    for (size_t i = 0; i < SL_LEN(fields); i++) {
        sl_buf_puts(b, fields[i][0]);
        sl_buf_json(b, fields[i][1]);
    }
    sl_buf_putc(b, '}');
}

/* A pod that owns it, by the hash of its uid; NULL if it has ended. */
static const struct sl_rec *pod_of_hash(const struct sl_manager *m, uint64_t hash) {
    uint32_t cur;
    for (uint32_t i = sl_map_first(&m->by_uid, hash, &cur); i != SL_MAP_NONE;
         i = sl_map_next(&m->by_uid, hash, &cur))
        if (m->inf->recs.v[i]->kind == REC_POD && !m->inf->recs.v[i]->gone)
            return m->inf->recs.v[i];
    return NULL;
}

static void put_owners(struct sl_buf *b, const struct sl_manager *m, const struct rec_wl *w) {
    static const char *const leads[] = {",\"ownerReferences\":[", ","};
    uint32_t n = 0;
    if (w->owner_uid) {
        sl_buf_puts(b, leads[n++ > 0]);
        put_owner(b, str(m, w->owner_api), str(m, w->owner_kind),
                  w->owner_name ? w->owner_name : "", w->owner_uid);
    }
    if (w->owners) {
        sl_buf_puts(b, leads[n++ > 0]);
        sl_buf_puts(b, w->owners);
    }
    for (uint32_t i = 0; i < w->pods.n && i < MAX_PODS; i++) {
        const struct sl_rec *p = pod_of_hash(m, w->pods.v[i]);
        if (!p)
            continue;
        sl_buf_puts(b, leads[n++ > 0]);
        put_owner(b, "v1", "Pod", p->name, p->uid);
    }
    sl_buf_puts(b, n ? "]" : "");
}

static void put_reason(struct sl_buf *b, const struct sl_manager *m, const struct rec_wl *w,
                       const struct sl_waiting *at, bool asleep) {
    const struct cond *c = why(m, w, at);
    sl_buf_puts(b, ",\"reason\":");
    sl_buf_json(b, c ? str(m, c->reason) : "Pending");
    sl_buf_puts(b, ",\"message\":");
    if (c)
        put_short(b, c->message);
    else if (asleep)
        sl_buf_puts(b, "\"A workload with the same requests was evaluated and stays pending\"");
    else
        sl_buf_printf(b, "\"Not evaluated yet: position %u in the queue\"", at->in_cq + 1);
}

static void put_item(struct sl_buf *b, const struct sl_manager *m, const struct rec_wl *w,
                     const struct sl_waiting *at) {
    struct sl_wl_view v;
    (void)sl_engine_workload(m->engine, at->wl, &v);
    sl_buf_puts(b, "{\"metadata\":{\"name\":");
    sl_buf_json(b, w->rec.name);
    sl_buf_puts(b, ",\"namespace\":");
    sl_buf_json(b, str(m, w->rec.ns));
    sl_buf_puts(b, ",\"creationTimestamp\":");
    jput_time(b, w->rec.created);
    put_owners(b, m, w);
    sl_buf_printf(b, "},\"priority\":%d,\"localQueueName\":", w->priority);
    sl_buf_json(b, str(m, w->queue));
    sl_buf_printf(b, ",\"positionInClusterQueue\":%u,\"positionInLocalQueue\":%u", at->in_cq,
                  at->in_lq);
    put_reason(b, m, w, at, v.phase == SL_PHASE_ASLEEP);
    /* The one time that is known beforehand: it is not looked at before its back-off is over. */
    if (v.requeue_at > m->spec.port->wall) {
        sl_buf_puts(b, ",\"expectedStartTime\":");
        jput_time(b, v.requeue_at);
    }
    sl_buf_putc(b, '}');
}

struct sl_pending {
    const struct sl_manager *m;
    char version[16];
    struct sl_waiting *v;
    uint32_t n, at, put;
    size_t bytes;
    bool begun;
};

struct sl_pending *sl_pending_open(const struct sl_manager *m, const struct sl_pending_query *q) {
    uint32_t n = q->limit < SL_PENDING_MOST ? q->limit : SL_PENDING_MOST;
    if (!sl_inf_find(m->inf, q->ns ? REC_LOCAL_QUEUE : REC_CLUSTER_QUEUE, q->ns ? q->ns : "",
                     q->queue))
        return NULL;
    struct sl_pending *p = sl_alloc0(1, sizeof *p);
    p->m = m;
    sl_fmt(p->version, sizeof p->version, "%s", q->version);
    p->v = sl_alloc0((size_t)n + 1, sizeof *p->v);
    p->n = sl_engine_line(m->engine, q->ns, q->queue, q->offset, p->v, n);
    return p;
}

bool sl_pending_more(struct sl_pending *p, struct sl_buf *out) {
    size_t before = out->len;
    if (!p->begun)
        sl_buf_printf(out,
                      "{\"kind\":\"PendingWorkloadsSummary\",\"apiVersion\":"
                      "\"visibility.kueue.x-k8s.io/%s\",\"metadata\":{},\"items\":[",
                      p->version);
    p->begun = true;
    for (uint32_t i = 0; i < PIECE && p->at < p->n && p->bytes < SL_PENDING_BYTES; i++, p->at++) {
        const struct rec_wl *w = by_id(p->m, p->v[p->at].wl);
        if (!w)
            continue;
        sl_buf_puts(out, p->put++ ? "," : "");
        put_item(out, p->m, w, &p->v[p->at]);
    }
    p->bytes += out->len - before;
    bool last = p->at == p->n || p->bytes >= SL_PENDING_BYTES;
    if (last)
        sl_buf_puts(out, "]}\n");
    return !last;
}

void sl_pending_free(struct sl_pending *p) {
    if (!p)
        return;
    sl_freep(&p->v);
    sl_freep(&p);
}
