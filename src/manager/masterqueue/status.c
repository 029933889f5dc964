/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a MasterQueue shows of itself: conditions, pools, counts. It is written when something other
 * than a time has changed, at most once in MQ_STATUS_PAUSE; 'lastSeen' is as of that write. A
 * condition that changes its reason is an event, once. No credentials appear here: connectors are
 * shown without them.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/writer.h"
#include "manager/masterqueue/mq_int.h"

#define MAX_MESSAGE 1024u /* as the schema has it for pools */

static const char *const truths[] = {"Unknown", "False", "True"};
static const char *const states[] = {"Live", "Late", "Expired", "Refused"};

/* ---- as observed ---- */

static void take_condition(struct mq_condition *c, yyjson_val *conditions, const char *type) {
    yyjson_val *v = sl_json_find(conditions, "type", type);
    const char *status = sl_json_str(v, "status");
    c->observed = v != NULL;
    c->was = MQ_UNKNOWN;
    for (size_t i = 0; i < SL_LEN(truths); i++)
        if (strcmp(truths[i], status) == 0)
            c->was = (enum mq_truth)i;
    c->since = sl_json_time(v, "lastTransitionTime");
    if (!c->told)
        c->told = sl_strdup(sl_json_str(v, "reason"));
}

bool mq_status_take(struct mq *q, yyjson_val *status) {
    yyjson_val *conditions = sl_json_get(status, "conditions");
    take_condition(&q->connected, conditions, "NatsConnected");
    take_condition(&q->ready, conditions, "Ready");
    q->seen_status = sl_json_hash(41, status);
    return q->seen_status != q->our_status;
}

void mq_status_free(struct mq *q) {
    sl_freep(&q->connected.message);
    sl_freep(&q->connected.told);
    sl_freep(&q->ready.message);
    sl_freep(&q->ready.told);
}

/* ---- conditions ---- */

static void set_condition(struct mq_condition *c, enum mq_truth status, const char *reason,
                          const char *message) {
    c->status = status;
    c->reason = reason;
    mq_set_text(&c->message, message);
}

static const struct mq_link *link_of(const struct sl_masterqueues *m, const struct mq_group *g) {
    return g->local || g->link >= m->links.n ? NULL : &m->links.v[g->link];
}

/* What is wrong with the connection or the subject of a group; NULL: nothing. */
static const char *trouble_of(const struct mq_link *l, const struct mq_group *g) {
    const struct mq_subject *s = mq_subject_of(l, g);
    if (!l->up)
        return l->error ? l->error : "connecting";
    return s ? s->error : NULL;
}

static const char *server_of(const struct mq_link *l) {
    return l->server;
}

static const char *shown_of(const struct mq_link *l) {
    return l->shown;
}

/* What the connection of a group has; NULL: nothing, or a group before it has the same. */
static const char *first_with(const struct sl_masterqueues *m, const struct mq *q, uint32_t group,
                              const char *(*of)(const struct mq_link *l)) {
    const struct mq_link *l = link_of(m, &q->spec->groups[group]), *before;
    const char *text = l ? of(l) : NULL;
    for (uint32_t i = 0; text && i < group; i++) {
        before = link_of(m, &q->spec->groups[i]);
        if (before && of(before) && strcmp(of(before), text) == 0)
            return NULL;
    }
    return text;
}

/* The first connection that does not work says why; else where all of them are. */
static void decide_connected(const struct sl_masterqueues *m, struct mq *q) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MAX_MESSAGE);
    bool any = false;
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        const struct mq_link *l = link_of(m, &q->spec->groups[i]);
        if (!l && q->spec->groups[i].connector && !m->relink) {
            set_condition(&q->connected, MQ_FALSE, "TooManyConnections",
                          "All NATS connections are in use by other groups");
            return;
        }
        const char *trouble = l ? trouble_of(l, &q->spec->groups[i]) : NULL;
        if (trouble) {
            sl_buf_clear(&text);
            sl_buf_printf(&text, "Group %s: %s", q->spec->groups[i].name, trouble);
            set_condition(&q->connected, l->up || l->error ? MQ_FALSE : MQ_UNKNOWN,
                          l->up ? "ServerError" : l->reason, sl_buf_str(&text));
            return;
        }
        const char *server = first_with(m, q, i, server_of);
        if (server)
            sl_buf_printf(&text, "%s%s", text.len ? ", " : "Connected to ", server);
        any |= l != NULL;
    }
    if (any)
        set_condition(&q->connected, MQ_TRUE, "Connected", sl_buf_str(&text));
    else
        set_condition(&q->connected, MQ_TRUE, "NotNeeded", "No group of flavors uses NATS");
}

static bool is_repeated(const struct mq *q, uint32_t group) {
    for (uint32_t i = 0; i < group; i++)
        if (q->spec->groups[i].subject &&
            strcmp(q->spec->groups[i].subject, q->spec->groups[group].subject) == 0)
            return true;
    return false;
}

static void put_subjects(const struct mq *q, struct sl_buf *text) {
    bool any = false;
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        if (!q->spec->groups[i].subject || is_repeated(q, i))
            continue;
        sl_buf_printf(text, "%s %s.*", any ? "," : "", q->spec->groups[i].subject);
        any = true;
    }
}

static void decide_ready(struct mq *q) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MAX_MESSAGE);
    const struct mq_plan *p = q->plan;
    const char *reason = NULL;

    if (q->spec->error) {
        reason = "InvalidSpec";
        sl_buf_printf(&text, "%s", q->spec->error);
    } else if (p->full) {
        reason = "TooLarge";
        sl_buf_printf(&text, "The pools publish more data than a MasterQueue can hold");
    } else if (q->foreign) {
        reason = "ForeignQueue";
        sl_buf_printf(&text,
                      "ClusterQueue %s is not owned by this MasterQueue and is left unchanged; "
                      "delete it, or choose another name",
                      q->foreign);
    } else if (q->foreign_flavor) {
        reason = "ForeignFlavor";
        sl_buf_printf(&text,
                      "ResourceFlavor %s is not owned by this MasterQueue and is left unchanged; "
                      "its pool is not used",
                      q->foreign_flavor);
    } else if (q->waits) {
        reason = "Waiting";
        sl_buf_printf(&text, "Objects of a previous MasterQueue with this name are being deleted");
    } else if (q->refused) {
        reason = "WriteRefused";
        sl_buf_printf(&text, "The API server rejected ClusterQueue %s: %s", q->refused, q->refusal);
    } else if (p->missing_local) {
        reason = "LocalFlavorNotFound";
        sl_buf_printf(
            &text,
            "ResourceFlavor %s of a local flavor does not exist; the queues do not use it "
            "until it does",
            p->missing_local);
    } else if (p->n_flavors == 0 && !q->frozen) {
        reason = "NoLivePools";
        sl_buf_printf(&text, "The queues are on hold because no pool is publishing on");
        put_subjects(q, &text);
    } else if (p->crowded) {
        reason = "TooManyPools";
        sl_buf_printf(&text, "A ClusterQueue has at most %u flavors: %u live pools are not used",
                      SL_MQ_MAX_FLAVORS, p->crowded);
    }
    if (reason) {
        set_condition(&q->ready, MQ_FALSE, reason, sl_buf_str(&text));
        return;
    }
    sl_buf_printf(&text, "Flavors in the queues: %u", p->n_flavors);
    if (q->frozen)
        sl_buf_printf(&text,
                      "; the queues stay unchanged until pools known before the start publish");
    if (q->spec->ignored)
        sl_buf_printf(&text, "; %s", q->spec->ignored);
    set_condition(&q->ready, MQ_TRUE, "Active", sl_buf_str(&text));
}

static void report(struct mq *q, struct mq_condition *c) {
    if (c->status == MQ_UNKNOWN || (c->told && strcmp(c->told, c->reason) == 0))
        return;
    mq_set_text(&c->told, c->reason);
    sl_rec_event(&q->rec, MQ_CONTROLLER, c->status == MQ_FALSE, c->reason, "%s", c->message);
}

static void put_condition(const struct sl_masterqueues *m, const struct mq *q, struct sl_jw *j,
                          const char *type, const struct mq_condition *c, bool times) {
    bool same = c->observed && c->was == c->status && c->since;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", type);
    sl_jw_str(j, "status", truths[c->status]);
    sl_jw_str(j, "reason", c->reason);
    sl_jw_str(j, "message", c->message);
    sl_jw_int(j, "observedGeneration", q->rec.generation);
    if (times)
        sl_jw_time(j, "lastTransitionTime", same ? c->since : m->client->wall);
    sl_jw_end(j);
}

/* ---- pools ---- */

static void put_published(const struct mq_pool *p, struct sl_jw *j) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(2 * SL_POOL_MAX_BYTES);
    struct sl_pool_payload v;
    struct sl_err err;
    if (!p->payload || sl_pool_payload_read(p->payload, strlen(p->payload), &a, &v, &err) < 0)
        return;
    sl_jw_object(j, "published");
    for (uint32_t i = 0; i < v.n_quotas; i++)
        sl_jw_str(j, v.quotas[i].resource, v.quotas[i].text);
    sl_jw_end(j);
}

/* Quotas in force, what is used of them, and the first that is exceeded. */
static void put_quotas(struct sl_masterqueues *m, const struct mq *q, const struct mq_pool *p,
                       struct sl_jw *j, char over[MAX_MESSAGE]) {
    const struct mq_plan_flavor *f = p->flavor ? mq_plan_find(q->plan, p->flavor) : NULL;
    const struct mq_plan *plan = q->plan;
    char text[SL_QUANTITY_TEXT];

    over[0] = '\0';
    if (f) {
        sl_jw_object(j, "quotas");
        for (uint32_t i = 0; i < plan->n_resources; i++)
            sl_jw_str(j, plan->resources[i], f->quotas[i]);
        sl_jw_end(j);
    }
    if (!p->flavor)
        return;
    sl_jw_object(j, "usage");
    for (uint32_t i = 0; i < plan->n_resources; i++) {
        const char *resource = plan->resources[i];
        sl_quantity used = mq_usage(m, q, p->flavor, resource), quota = 0;
        struct sl_err err;
        if (used == 0)
            continue;
        sl_jw_str(j, resource,
                  sl_amount_format(resource, sl_amount_of_request(resource, used), text));
        if (f && !over[0] &&
            sl_quantity_parse(f->quotas[i], strlen(f->quotas[i]), &quota, &err) >= 0 &&
            used > quota)
            sl_fmt_short(over, MAX_MESSAGE,
                         "workloads use %s of %s, more than the quota of %s: none is evicted, and "
                         "no further one is admitted",
                         text, resource, f->quotas[i]);
    }
    sl_jw_end(j);
}

static void put_pool(struct sl_masterqueues *m, const struct mq *q, const struct mq_pool *p,
                     struct sl_jw *j, bool times) {
    _cleanup_(sl_buf_done) struct sl_buf errors = SL_BUF_SHORT(MAX_MESSAGE);
    char over[MAX_MESSAGE];
    mq_pool_put_errors(p, &errors);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", p->name);
    sl_jw_str(j, "group", p->group);
    if (p->flavor)
        sl_jw_str(j, "flavor", p->flavor);
    sl_jw_str(j, "state", states[p->state]);
    if (times && p->seen_wall)
        sl_jw_time(j, "lastSeen", p->seen_wall);
    if (p->period)
        sl_jw_int(j, "periodSeconds", (p->period + SL_SEC / 2) / SL_SEC);
    put_published(p, j);
    put_quotas(m, q, p, j, over);
    if (errors.len)
        sl_jw_str(j, "message", sl_buf_str(&errors));
    else if (over[0])
        sl_jw_str(j, "message", over);
    else if (p->long_told)
        sl_jw_str(j, "message",
                  "the publishing period is so long that one lost message would drop the pool: "
                  "raise poolTimeout");
    sl_jw_end(j);
}

/* ---- all of it ---- */

static void put_servers(const struct sl_masterqueues *m, const struct mq *q, struct sl_jw *j) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MAX_MESSAGE);
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        const char *shown = first_with(m, q, i, shown_of);
        if (shown)
            sl_buf_printf(&text, "%s%s", text.len ? " " : "", shown);
    }
    sl_jw_str(j, "servers", sl_buf_str(&text));
}

static uint32_t queue_count(const struct sl_masterqueues *m, const struct mq *q) {
    uint32_t n = 0;
    for (struct sl_rec *r = sl_inf_children(m->inf, sl_rec_uid(q->rec.uid), NULL); r; r = r->next)
        n += r->kind == MQ_CLUSTER_QUEUE && !r->create_planned;
    return n;
}

static uint32_t live_count(const struct mq *q) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->pools.n; i++)
        n += q->pools.v[i]->state == MQ_LIVE || q->pools.v[i]->state == MQ_LATE;
    return n;
}

static void put_status(struct sl_masterqueues *m, const struct mq *q, struct sl_jw *j,
                       uint32_t max_pools, bool times) {
    sl_jw_int(j, "observedGeneration", q->rec.generation);
    sl_jw_array(j, "conditions");
    put_condition(m, q, j, "NatsConnected", &q->connected, times);
    put_condition(m, q, j, "Ready", &q->ready, times);
    sl_jw_end(j);
    put_servers(m, q, j);
    sl_jw_uint(j, "poolCount", q->pools.n);
    sl_jw_uint(j, "livePools", live_count(q));
    sl_jw_uint(j, "queueCount", queue_count(m, q));
    sl_jw_uint(j, "ignoredPools", q->ignored.n);
    sl_jw_array(j, "pools");
    for (uint32_t i = 0; i < q->pools.n && i < max_pools; i++)
        put_pool(m, q, q->pools.v[i], j, times);
    sl_jw_end(j);
}

/* As many pools as fit: 'poolCount' says how many there are. */
static void put_fitting(struct sl_masterqueues *m, const struct mq *q, struct sl_buf *b,
                        bool times) {
    for (uint32_t most = SL_MQ_MAX_POOLS;; most /= 4) {
        struct sl_jw j = SL_JW(b);
        sl_buf_clear(b);
        sl_jw_object(&j, NULL);
        put_status(m, q, &j, most, times);
        sl_jw_end(&j);
        if (!sl_buf_full(b) || most == 0)
            return;
    }
}

void mq_status_sync(struct sl_masterqueues *m, struct mq *q) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MQ_MAX_STATUS);
    decide_connected(m, q);
    decide_ready(q);
    report(q, &q->connected);
    report(q, &q->ready);
    put_fitting(m, q, &b, false);
    q->wanted = sl_hash_bytes(43, sl_buf_str(&b), b.len) | 1;
    if (q->wanted != q->sent || q->seen_status != q->our_status)
        sl_rec_write_at(&q->rec, q->status_at);
}

bool mq_status_build(struct sl_masterqueues *m, struct mq *q, struct sl_write *w) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MQ_MAX_STATUS);
    if (!q->plan || (q->wanted == q->sent && q->seen_status == q->our_status))
        return false;
    put_fitting(m, q, &b, true);
    sl_rec_build_guarded(&q->rec, "status", w);
    sl_jw_end(&w->json);
    sl_jw_raw_n(&w->json, "status", sl_buf_str(&b), b.len);
    q->sent = q->wanted;
    q->status_at = sl_time_add(m->client->mono, MQ_STATUS_PAUSE);
    return true;
}

void mq_status_written(struct mq *q, enum sl_written how) {
    if (how == SL_WRITTEN)
        q->our_status = q->seen_status;
    else
        q->sent = 0;
}
