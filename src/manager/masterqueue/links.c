/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to NATS: one for each distinct connector and Secret, shared by all groups that name
 * them; subscriptions, one for each distinct subject of a connection; and the way of a message to
 * its pool.
 *
 * Which of them are needed follows from the specs and is compared as a whole whenever one of these,
 * or a Secret, has changed. A pool that several MasterQueues would take belongs to the oldest: what
 * it has is not counted twice.
 */
#include "manager/masterqueue/mq_int.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"
#include "lib/metrics/metrics.h"

#define MAX_SHOWN 1024u
#define MAX_EVENTS 65536u /* taken in one turn */

/* ---- opening and closing ---- */

static void free_subject(struct mq_subject *s) {
    sl_freep(&s->name);
    sl_freep(&s->error);
}

static void close_link(struct sl_masterqueues *m, struct mq_link *l) {
    if (l->conn.v)
        m->spec.nats->ops->close(m->spec.nats, l->conn);
    l->conn.v = 0;
    l->up = false;
    for (uint32_t i = 0; i < l->subjects.n; i++)
        free_subject(&l->subjects.v[i]);
    sl_vec_clear(&l->subjects);
}

static void free_link(struct sl_masterqueues *m, struct mq_link *l) {
    close_link(m, l);
    sl_vec_free(&l->subjects);
    if (l->connector)
        explicit_bzero(l->connector, strlen(l->connector));
    sl_freep(&l->connector);
    sl_freep(&l->secret);
    sl_freep(&l->server);
    sl_freep(&l->error);
    sl_freep(&l->shown);
}

void mq_links_free(struct sl_masterqueues *m) {
    for (uint32_t i = 0; i < m->links.n; i++)
        free_link(m, &m->links.v[i]);
    sl_vec_free(&m->links);
    sl_vec_free(&m->users);
}

static void set_down(struct mq_link *l, const char *reason, const char *text) {
    l->up = false;
    l->retry_at = 0;
    l->reason = reason;
    mq_set_text(&l->error, text);
}

static void open_with(struct sl_masterqueues *m, struct mq_link *l,
                      const struct sl_nats_connector *c) {
    const struct mq_secret *s = *l->secret ? mq_secret_get(m, l->secret) : NULL;
    struct sl_nats_credentials with = mq_secret_credentials(s);
    struct sl_err err;

    set_down(l, "Connecting", NULL);
    if (s && s->missing) {
        _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MAX_SHOWN);
        sl_buf_printf(&text, "Secret %s/%s does not exist, or the manager's role does not name it",
                      m->spec.own_ns, l->secret);
        set_down(l, "SecretNotFound", sl_buf_str(&text));
    }
    if (s && !s->known)
        return;
    l->secret_hash = s ? s->hash : 0;
    if (m->spec.nats->ops->open(m->spec.nats, c, &with, &l->conn, &err) < 0) {
        set_down(l, "CannotConnect", err.text);
        l->retry_at = sl_time_add(m->client->mono, MQ_REOPEN);
    }
}

static void open_link(struct sl_masterqueues *m, struct mq_link *l) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(4 * SL_NATS_MAX_CONNECTOR);
    _cleanup_(sl_buf_done) struct sl_buf shown = SL_BUF_SHORT(MAX_SHOWN);
    struct sl_nats_connector c = {0};
    struct sl_err err;

    if (sl_nats_connector_parse(l->connector, strlen(l->connector), &a, &c, &err) < 0) {
        set_down(l, "ConnectorInvalid", err.text);
        return;
    }
    sl_nats_connector_print(&c, &shown);
    mq_set_text(&l->shown, sl_buf_str(&shown));
    open_with(m, l, &c);
    sl_nats_connector_wipe(&c);
}

/* Opens it if that may work now, and again with credentials that have changed. */
static void refresh_link(struct sl_masterqueues *m, struct mq_link *l) {
    const struct mq_secret *s = *l->secret ? mq_secret_get(m, l->secret) : NULL;
    if (l->conn.v && l->secret_hash == (s ? s->hash : 0))
        return;
    if (l->conn.v && s && !s->known)
        return; /* a Secret that cannot be read now is no reason to give up what works */
    close_link(m, l);
    open_link(m, l);
}

static uint32_t find_link(const struct sl_masterqueues *m, const struct mq_group *g) {
    for (uint32_t i = 0; i < m->links.n; i++) {
        const struct mq_link *l = &m->links.v[i];
        if (l->connector && l->servers == g->servers && strcmp(l->secret, g->secret) == 0)
            return i;
    }
    return UINT32_MAX;
}

static uint32_t link_for(struct sl_masterqueues *m, const struct mq_group *g) {
    uint32_t free = UINT32_MAX, found = find_link(m, g);
    if (found != UINT32_MAX)
        return found;
    for (uint32_t i = 0; i < m->links.n; i++)
        if (!m->links.v[i].connector)
            free = i;
    if (free == UINT32_MAX && m->links.n == SL_MQ_MAX_LINKS)
        return UINT32_MAX;
    if (free == UINT32_MAX) {
        free = m->links.n;
        (void)sl_vec_push(&m->links);
    }
    mq_secret_read_soon(m, g->secret);
    m->links.v[free] = (struct mq_link){.connector = sl_strdup(g->connector),
                                        .secret = sl_strdup(g->secret),
                                        .servers = g->servers,
                                        .reason = "Connecting"};
    return free;
}

/* ---- subjects ---- */

static struct mq_subject *find_subject(struct mq_link *l, const char *name) {
    for (uint32_t i = 0; i < l->subjects.n; i++)
        if (strcmp(l->subjects.v[i].name, name) == 0)
            return &l->subjects.v[i];
    return NULL;
}

static void subscribe(struct sl_masterqueues *m, struct mq_link *l, const struct mq_group *g) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(MQ_MAX_OBJECT);
    if (!l->conn.v)
        return;
    sl_buf_printf(&name, "%s.*", g->subject);
    if (sl_buf_full(&name))
        return;
    struct mq_subject *s = find_subject(l, sl_buf_str(&name));
    if (!s) {
        s = sl_vec_push(&l->subjects);
        *s = (struct mq_subject){.name = sl_strdup(sl_buf_str(&name))};
        m->spec.nats->ops->subscribe(m->spec.nats, l->conn, s->name);
    }
    s->refs++;
}

static void drop_unused(struct sl_masterqueues *m, struct mq_link *l) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < l->subjects.n; i++) {
        struct mq_subject *s = &l->subjects.v[i];
        if (s->refs) {
            l->subjects.v[left++] = *s;
            continue;
        }
        m->spec.nats->ops->unsubscribe(m->spec.nats, l->conn, s->name);
        free_subject(s);
    }
    l->subjects.n = left;
}

/* ---- all of them ---- */

static int by_age(const void *a, const void *b, void *ctx) {
    const struct sl_informer *f = ctx;
    const struct mq_user *x = a, *y = b;
    const struct sl_rec *p = f->recs.v[x->id], *q = f->recs.v[y->id];
    if (p->created != q->created)
        return p->created < q->created ? -1 : 1;
    int r = strcmp(p->name, q->name);
    return r ? r : (x->group > y->group) - (x->group < y->group);
}

static void use_links(struct sl_masterqueues *m, struct mq *q) {
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        struct mq_group *g = &q->spec->groups[i];
        g->link = UINT32_MAX;
        if (g->local || !g->connector || q->rec.deleting)
            continue;
        g->link = link_for(m, g);
        if (g->link == UINT32_MAX)
            continue; /* its condition says so */
        *sl_vec_push(&m->users) = (struct mq_user){q->rec.id, i, g->link};
    }
}

/* Content of a Secret that no connection needs is not kept. */
static void forget_secrets(struct sl_masterqueues *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, MQ_SECRET, &at));) {
        bool used = false;
        for (uint32_t i = 0; i < m->links.n; i++)
            used |= m->links.v[i].secret && strcmp(m->links.v[i].secret, r->name) == 0;
        if (!used)
            sl_rec_forget(r);
    }
}

/* What a server refuses it may allow later, if it is asked again. Messages that came since show
 * that there is no need. The error stays until there was time for the answer. */
static void ask_again(struct sl_masterqueues *m, struct mq_link *l, struct mq_subject *s) {
    s->retry_at = 0;
    if (s->heard || s->asks) {
        sl_freep(&s->error);
        s->asks = false;
        s->since = m->client->mono;
        mq_enqueue_all(m);
    } else if (l->up) {
        m->spec.nats->ops->unsubscribe(m->spec.nats, l->conn, s->name);
        m->spec.nats->ops->subscribe(m->spec.nats, l->conn, s->name);
        s->asks = true;
        s->retry_at = sl_time_add(m->client->mono, MQ_ANSWER);
    }
}

static bool is_due(const struct sl_masterqueues *m, sl_time at) {
    return at && m->client->mono >= at;
}

static void retry_links(struct sl_masterqueues *m) {
    for (uint32_t i = 0; i < m->links.n; i++) {
        struct mq_link *l = &m->links.v[i];
        for (uint32_t k = 0; k < l->subjects.n; k++)
            if (is_due(m, l->subjects.v[k].retry_at))
                ask_again(m, l, &l->subjects.v[k]);
        if (is_due(m, l->retry_at)) {
            l->retry_at = 0;
            m->relink = true;
        }
    }
}

static void mark_links(struct sl_masterqueues *m, const struct mq *q) {
    for (uint32_t i = 0; i < q->spec->n_groups; i++) {
        const struct mq_group *g = &q->spec->groups[i];
        uint32_t at = g->local || !g->connector || q->rec.deleting ? UINT32_MAX : find_link(m, g);
        if (at != UINT32_MAX)
            m->links.v[at].used = true;
    }
}

/* First, so that others can have their places. */
static void drop_links(struct sl_masterqueues *m) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < m->links.n; i++)
        m->links.v[i].used = false;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, MQ_MASTER_QUEUE, &at));)
        if (mq_of(r)->spec)
            mark_links(m, mq_of(r));
    for (uint32_t i = 0; i < m->links.n; i++) {
        if (m->links.v[i].used || !m->links.v[i].connector)
            continue;
        free_link(m, &m->links.v[i]);
        m->links.v[i] = (struct mq_link){0};
    }
}

void mq_links_sync(struct sl_masterqueues *m) {
    uint32_t at = 0;
    retry_links(m);
    if (!m->relink)
        return;
    m->relink = false;
    sl_vec_clear(&m->users);
    drop_links(m);
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, MQ_MASTER_QUEUE, &at));)
        if (mq_of(r)->spec)
            use_links(m, mq_of(r));
    if (m->users.n > 1)
        qsort_r(m->users.v, m->users.n, sizeof(struct mq_user), by_age, m->inf);
    for (uint32_t i = 0; i < m->links.n; i++) {
        struct mq_link *l = &m->links.v[i];
        if (l->connector)
            refresh_link(m, l);
        for (uint32_t k = 0; k < l->subjects.n; k++)
            l->subjects.v[k].refs = 0;
    }
    for (uint32_t i = 0; i < m->users.n; i++) {
        const struct mq *q = mq_of(m->inf->recs.v[m->users.v[i].id]);
        subscribe(m, &m->links.v[m->users.v[i].link], &q->spec->groups[m->users.v[i].group]);
    }
    for (uint32_t i = 0; i < m->links.n; i++)
        if (m->links.v[i].conn.v)
            drop_unused(m, &m->links.v[i]);
    forget_secrets(m);
    mq_enqueue_all(m);
}

sl_time mq_links_next(const struct sl_masterqueues *m) {
    sl_time next = SL_TIME_NEVER;
    for (uint32_t i = 0; i < m->links.n; i++) {
        const struct mq_link *l = &m->links.v[i];
        if (l->retry_at)
            next = sl_time_min(next, l->retry_at);
        for (uint32_t k = 0; k < l->subjects.n; k++)
            if (l->subjects.v[k].retry_at)
                next = sl_time_min(next, l->subjects.v[k].retry_at);
    }
    if (m->dropped != m->dropped_told)
        next = sl_time_min(next, m->dropped_at);
    return next;
}

/* ---- events ---- */

/* The groups of one MasterQueue, from 'at' on: the first that takes the pool has it. Returns
 * whether any of them listens to the subject. */
static bool find_group(struct sl_masterqueues *m, uint32_t link, struct sl_text subject,
                       const char *pool, uint32_t *at, const struct mq_user **ret) {
    const struct mq *q = mq_of(m->inf->recs.v[m->users.v[*at].id]);
    uint32_t id = m->users.v[*at].id;
    bool listens = false;
    *ret = NULL;
    for (; *at < m->users.n && m->users.v[*at].id == id; (*at)++) {
        const struct mq_user *u = &m->users.v[*at];
        if (u->link != link || !sl_text_is(subject, q->spec->groups[u->group].subject))
            continue;
        listens = true;
        if (!*ret && mq_pool_takes(m, q, &q->spec->groups[u->group], pool))
            *ret = u;
    }
    return listens;
}

/* A name may have been ignored since all places were taken: one that is listed gets one. */
static bool is_listed(const struct mq *q, const char *pool) {
    for (uint32_t g = 0; g < q->spec->n_groups; g++)
        for (uint32_t i = 0; i < q->spec->groups[g].n_pools; i++)
            if (strcmp(q->spec->groups[g].pools[i], pool) == 0)
                return true;
    return false;
}

/* "interlink.resources.podman": whose is it? */
static void route(struct sl_masterqueues *m, uint32_t link, const struct sl_nats_event *e) {
    const char *dot = strrchr(e->subject, '.'), *owner = NULL;
    if (!dot)
        return;
    struct sl_text subject = {e->subject, (size_t)(dot - e->subject)};
    for (uint32_t i = 0; i < m->users.n;) {
        struct mq *q = mq_of(m->inf->recs.v[m->users.v[i].id]);
        const struct mq_user *u;
        if (mq_pool_is_ignored(q, dot + 1) && !is_listed(q, dot + 1)) {
            while (i < m->users.n && m->users.v[i].id == q->rec.id)
                i++;
            continue;
        }
        if (!find_group(m, link, subject, dot + 1, &i, &u))
            continue;
        if (!u) {
            if (m->match_budget) /* else it was not asked about */
                (void)mq_pool_ignore(q, dot + 1);
            continue;
        }
        if (mq_pool_message(m, q, u->group, dot + 1, e->data, e->len, owner))
            owner = q->rec.name;
    }
}

static void set_up(struct sl_masterqueues *m, struct mq_link *l, const char *server) {
    l->up_since = m->client->mono; /* also of one that has moved: messages may be lost meanwhile */
    l->up = true;
    l->reason = "Connected";
    sl_freep(&l->error);
    for (uint32_t i = 0; i < l->subjects.n; i++) {
        struct mq_subject *s = &l->subjects.v[i];
        s->asks = s->error != NULL; /* the connection has subscribed anew */
        s->retry_at = s->error ? sl_time_add(m->client->mono, MQ_ANSWER) : 0;
    }
    mq_set_text(&l->server, server);
    sl_log(SL_LOG_INFO, "connected to NATS", SL_S("server", server));
}

static bool is_quoted(const char *text, const char *name) {
    char quoted[SL_NATS_MAX_SUBJECT + 8];
    sl_fmt_short(quoted, sizeof quoted, "\"%s\"", name);
    return strstr(text, quoted);
}

static bool names_one(const struct mq_link *l, const char *text) {
    bool any = false;
    for (uint32_t i = 0; i < l->subjects.n; i++)
        any |= is_quoted(text, l->subjects.v[i].name);
    return any;
}

/* An error is one of the subject that it names, else of all. The first says enough until the server
 * has been asked again, whatever else it sends; then the same is no news. */
static void set_refused(struct sl_masterqueues *m, struct mq_link *l, const char *text) {
    bool one = names_one(l, text), news = l->subjects.n == 0;
    for (uint32_t i = 0; i < l->subjects.n; i++) {
        struct mq_subject *s = &l->subjects.v[i];
        if ((one && !is_quoted(text, s->name)) || (s->error && !s->asks))
            continue;
        news |= !s->error || strcmp(s->error, text) != 0;
        mq_set_text(&s->error, text);
        s->heard = s->asks = false;
        s->retry_at = sl_time_add(m->client->mono, MQ_REOPEN);
    }
    if (!news)
        return;
    sl_log(SL_LOG_WARN, "NATS server reports an error", SL_S("server", l->shown),
           SL_S("error", text));
    mq_enqueue_all(m);
}

static void note_heard(struct mq_link *l, const char *subject) {
    const char *dot = strrchr(subject, '.');
    size_t n = dot ? (size_t)(dot - subject) + 1 : 0;
    for (uint32_t i = 0; i < l->subjects.n; i++) {
        struct mq_subject *s = &l->subjects.v[i];
        if (s->error && strncmp(s->name, subject, n) == 0 && strcmp(s->name + n, "*") == 0)
            s->heard = true;
    }
}

const struct mq_subject *mq_subject_of(const struct mq_link *l, const struct mq_group *g) {
    size_t n = strlen(g->subject);
    for (uint32_t i = 0; i < l->subjects.n; i++)
        if (strncmp(l->subjects.v[i].name, g->subject, n) == 0 &&
            strcmp(l->subjects.v[i].name + n, ".*") == 0)
            return &l->subjects.v[i];
    return NULL;
}

bool mq_hears(const struct sl_masterqueues *m, const struct mq_group *g, sl_time *since) {
    const struct mq_link *l = g && g->link < m->links.n ? &m->links.v[g->link] : NULL;
    const struct mq_subject *s = l ? mq_subject_of(l, g) : NULL;
    if (!s || !l->up || s->error)
        return false;
    *since = s->since > l->up_since ? s->since : l->up_since;
    return true;
}

static void take_event(struct sl_masterqueues *m, const struct sl_nats_event *e) {
    uint32_t i = 0;
    while (i < m->links.n && m->links.v[i].conn.v != e->conn.v)
        i++;
    if (i == m->links.n)
        return; /* of one that was closed */
    struct mq_link *l = &m->links.v[i];
    switch (e->kind) {
    case SL_NATS_MESSAGE:
        note_heard(l, e->subject);
        route(m, i, e);
        return;
    case SL_NATS_UP:
        set_up(m, l, e->text);
        break;
    case SL_NATS_DOWN:
        if (!l->error || strcmp(l->error, e->text) != 0)
            sl_log(SL_LOG_WARN, "no connection to NATS", SL_S("server", l->shown),
                   SL_S("error", e->text));
        set_down(l, "Disconnected", e->text);
        mq_secret_read_soon(m, l->secret);
        break;
    case SL_NATS_ERROR:
        set_refused(m, l, e->text);
        return;
    }
    mq_enqueue_all(m);
}

/* The line has those since the one before it. */
static void note_dropped(struct sl_masterqueues *m) {
    uint64_t now = m->spec.nats->dropped;
    if (now != m->dropped)
        sl_metric_add(m->spec.metrics, SL_M_NATS_MESSAGES_DROPPED_TOTAL,
                      (double)(now - m->dropped));
    m->dropped = now;
    if (now == m->dropped_told || m->client->mono < m->dropped_at)
        return;
    sl_log(SL_LOG_WARN, "messages of resource pools dropped", SL_I("count", now - m->dropped_told));
    m->dropped_told = now;
    m->dropped_at = sl_time_add(m->client->mono, MQ_DROPPED_PAUSE);
}

void mq_links_poll(struct sl_masterqueues *m) {
    struct sl_nats_event e;
    m->match_budget = MQ_MAX_TURN;
    for (uint32_t i = 0; i < MAX_EVENTS && m->spec.nats->ops->next(m->spec.nats, &e); i++)
        take_event(m, &e);
    note_dropped(m);
}
