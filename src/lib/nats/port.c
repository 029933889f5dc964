/* SPDX-License-Identifier: Apache-2.0 */
/* The port: what the thread of the loop does with connections, events and subjects. */
#include <string.h>
#include <sys/random.h>

#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

/* ---- connections ---- */

static struct natsc_conn *find(struct sl_nats_client *c, sl_nats_conn id) {
    struct natsc_conn *conn;

    TAILQ_FOREACH(conn, &c->conns, next)
    if (conn->id == id.v)
        return conn;
    return NULL;
}

void natsc_conn_free(struct natsc_conn *c) {
    struct natsc_sending *s;

    while ((s = TAILQ_FIRST(&c->sending))) {
        TAILQ_REMOVE(&c->sending, s, next);
        sl_freep(&s);
    }
    for (uint32_t i = 0; i < c->wants.n; i++)
        sl_freep(&c->wants.v[i].subject);
    sl_vec_free(&c->wants);
    natsc_identity_done(&c->who);
    (void)pthread_cond_destroy(&c->wake);
    sl_freep(&c);
}

/* In an order of chance, so that clients do not all come to the first. */
static void copy_servers(struct natsc_conn *c, const struct sl_nats_connector *from) {
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t k = (uint32_t)sl_prng_below(&c->dice, i + 1);
        c->servers[i] = c->servers[k];
        c->servers[k] = (struct natsc_server){.port = from->servers[i].port};
        sl_fmt(c->servers[k].host, sizeof c->servers[k].host, "%s", from->servers[i].host);
    }
    c->n_servers = c->n_named = from->n;
}

static struct natsc_conn *conn_new(struct sl_nats_client *client,
                                   const struct sl_nats_connector *from) {
    struct natsc_conn *c = sl_alloc0(1, sizeof *c);
    uint64_t seed = 0;

    sl_assert(natsc_cond_init(&c->wake) && from->n > 0 && from->n <= SL_NATS_MAX_SERVERS);
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)(uintptr_t)c; /* for jitter, that will do */
    sl_prng_init(&c->dice, seed);
    TAILQ_INIT(&c->sending);
    c->client = client;
    c->pace = client->pace;
    copy_servers(c, from);
    return c;
}

/* What cannot be used fails here, and not at each attempt. */
static int check_options(const struct natsc_conn *c, struct sl_err *err) {
    natsOptions *o = NULL;
    if (!c->who.ca && !c->who.certificate)
        return SL_OK; /* else the library would read the system's authorities, in the loop */
    int r = natsc_options_new(&c->who, &c->servers[0], &c->pace, NULL, &o, err);

    if (r >= 0)
        natsOptions_Destroy(o);
    return r;
}

static int conn_start(struct natsc_conn *c, struct sl_err *err) {
    pthread_attr_t attr;
    sigset_t before;
    int r = pthread_attr_init(&attr);

    if (r == 0) {
        natsc_guard_mask(&before);
        (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        r = pthread_create(&c->thread, &attr, natsc_conn_main, c);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)pthread_attr_destroy(&attr);
    }
    return r == 0 ? SL_OK : sl_err_set(err, SL_EIO, "cannot start a thread: %s", strerror(r));
}

static int open_conn(struct sl_nats_port *p, const struct sl_nats_connector *from,
                     const struct sl_nats_credentials *with, sl_nats_conn *ret,
                     struct sl_err *err) {
    struct sl_nats_client *client = SL_CONTAINER_OF(p, struct sl_nats_client, port);

    if (client->n_conns >= SL_NATS_MAX_CONNECTIONS)
        return sl_err_set(err, SL_ELIMIT, "more than %u NATS connections", SL_NATS_MAX_CONNECTIONS);
    int r = natsc_library_use(err);
    if (r < 0)
        return r;
    struct natsc_conn *c = conn_new(client, from);
    r = natsc_identity_init(&c->who, from, with, err);
    if (r >= 0)
        r = check_options(c, err);
    (void)pthread_mutex_lock(&client->lock);
    if (r >= 0)
        r = conn_start(c, err);
    if (r >= 0) {
        c->id = ++client->last_id;
        TAILQ_INSERT_TAIL(&client->conns, c, next);
        client->n_conns++;
        client->n_threads++;
        *ret = (sl_nats_conn){c->id};
    } else {
        natsc_conn_free(c);
    }
    (void)pthread_mutex_unlock(&client->lock);
    return r;
}

void natsc_conn_close(struct natsc_conn *c) {
    struct sl_nats_client *client = c->client;

    client->n_notes -= c->n_state + c->n_errors;
    c->n_state = c->n_errors = 0;
    c->closing = true;
    natsc_mailbox_purge(&client->box, c->id, 0);
    TAILQ_REMOVE(&client->conns, c, next);
    client->n_conns--;
    if (c->connecting)
        natsc_guard_interrupt(c->thread);
    (void)pthread_cond_signal(&c->wake);
}

static void close_conn(struct sl_nats_port *p, sl_nats_conn id) {
    struct sl_nats_client *client = SL_CONTAINER_OF(p, struct sl_nats_client, port);

    (void)pthread_mutex_lock(&client->lock);
    struct natsc_conn *c = find(client, id);
    if (c)
        natsc_conn_close(c);
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- subjects ---- */

static struct natsc_want *find_want(struct natsc_conn *c, const char *subject) {
    for (uint32_t i = 0; i < c->wants.n; i++)
        if (c->wants.v[i].wanted && strcmp(c->wants.v[i].subject, subject) == 0)
            return &c->wants.v[i];
    return NULL;
}

static void subscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct sl_nats_client *client = SL_CONTAINER_OF(p, struct sl_nats_client, port);
    char text[NATSC_TEXT];

    (void)pthread_mutex_lock(&client->lock);
    struct natsc_conn *c = find(client, id);
    if (c && !find_want(c, subject) && c->wants.n >= SL_NATS_MAX_SUBJECTS) {
        sl_fmt_short(text, sizeof text, "cannot subscribe to %.80s: more than %u subjects", subject,
                     SL_NATS_MAX_SUBJECTS);
        natsc_note(c, SL_NATS_ERROR, text);
    } else if (c && !find_want(c, subject)) {
        *sl_vec_push(&c->wants) = (struct natsc_want){
            .subject = sl_strdup(subject), .id = ++c->last_want, .wanted = true};
        (void)pthread_cond_signal(&c->wake);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

static void unsubscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct sl_nats_client *client = SL_CONTAINER_OF(p, struct sl_nats_client, port);

    (void)pthread_mutex_lock(&client->lock);
    struct natsc_conn *c = find(client, id);
    struct natsc_want *w = c ? find_want(c, subject) : NULL;
    if (w) {
        w->wanted = false;
        natsc_mailbox_purge(&client->box, c->id, w->id);
        (void)pthread_cond_signal(&c->wake);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* ---- publishing ---- */

static struct natsc_sending *sending_new(const char *subject, const char *data, size_t len) {
    size_t name = strlen(subject) + 1;
    struct natsc_sending *s = sl_alloc(sizeof *s + name + len);

    memcpy(s->subject, subject, name);
    s->data = s->subject + name;
    s->len = len;
    if (len)
        memcpy(s->data, data, len);
    return s;
}

static int enqueue(struct natsc_conn *c, struct natsc_sending *s, struct sl_err *err) {
    struct natsc_sending *old;

    TAILQ_FOREACH(old, &c->sending, next)
    if (strcmp(old->subject, s->subject) == 0)
        break;
    if (old) {
        TAILQ_REMOVE(&c->sending, old, next);
        sl_freep(&old);
        c->n_sending--;
    }
    if (c->n_sending >= SL_NATS_MAX_UNSENT)
        return sl_err_set(err, SL_ELIMIT, "more than %u messages are not sent", SL_NATS_MAX_UNSENT);
    TAILQ_INSERT_TAIL(&c->sending, s, next);
    c->n_sending++;
    (void)pthread_cond_signal(&c->wake);
    return SL_OK;
}

int sl_nats_client_publish(struct sl_nats_client *c, sl_nats_conn conn, const char *subject,
                           const char *data, size_t len, struct sl_err *err) {
    if (!sl_nats_is_subject(subject))
        return sl_err_set(err, SL_EINVAL,
                          "expected a subject such as interlink.resources.pool, without wildcards");
    if (len > SL_NATS_MAX_MESSAGE)
        return sl_err_set(err, SL_ELIMIT, "the message is longer than %zu bytes",
                          SL_NATS_MAX_MESSAGE);
    struct natsc_sending *s = sending_new(subject, data, len);
    (void)pthread_mutex_lock(&c->lock);
    struct natsc_conn *found = find(c, conn);
    int r = found ? enqueue(found, s, err)
                  : sl_err_set(err, SL_ENOENT, "the NATS connection is closed");
    (void)pthread_mutex_unlock(&c->lock);
    if (r < 0)
        sl_freep(&s);
    return r;
}

uint32_t sl_nats_client_unsent(struct sl_nats_client *c, sl_nats_conn conn) {
    (void)pthread_mutex_lock(&c->lock);
    const struct natsc_conn *found = find(c, conn);
    uint32_t n = found ? found->n_sending : 0;
    (void)pthread_mutex_unlock(&c->lock);
    return n;
}

/* ---- events ---- */

static bool note_error(struct natsc_conn *c, const struct natsc_note *note) {
    for (uint32_t i = 0; i < c->n_errors; i++)
        if (strcmp(c->errors[i].text, note->text) == 0)
            return false;
    if (c->n_errors == NATSC_MAX_ERRORS)
        return false;
    c->errors[c->n_errors++] = *note;
    return true;
}

/* Up and down alternate, and the last two are enough to see both. */
static bool note_state(struct natsc_conn *c, const struct natsc_note *note) {
    bool down = note->kind == SL_NATS_DOWN;

    if (down && strcmp(c->down, note->text) == 0)
        return false;
    sl_fmt(c->down, sizeof c->down, "%s", down ? note->text : "");
    if (c->n_state > 0 && c->state[c->n_state - 1].kind == note->kind) {
        c->state[c->n_state - 1] = *note;
        return false;
    }
    if (c->n_state == SL_LEN(c->state)) {
        c->state[0] = c->state[1];
        c->state[1] = *note;
        return false;
    }
    c->state[c->n_state++] = *note;
    return true;
}

void natsc_note(struct natsc_conn *c, enum sl_nats_event_kind kind, const char *text) {
    struct natsc_note note = {.kind = kind};

    if (c->closing)
        return;
    sl_fmt_short(note.text, sizeof note.text, "%s", text);
    if (kind == SL_NATS_ERROR ? note_error(c, &note) : note_state(c, &note))
        c->client->n_notes++;
    natsc_wake(c->client);
}

/* The first of a short list. */
static struct natsc_note pop_note(struct natsc_note *v, uint32_t *n) {
    struct natsc_note first = v[0];

    (*n)--;
    memmove(v, v + 1, *n * sizeof *v);
    return first;
}

static bool take_note(struct sl_nats_client *c, struct sl_nats_event *ret) {
    struct natsc_conn *conn;
    struct natsc_note note;

    TAILQ_FOREACH(conn, &c->conns, next)
    if (conn->n_state || conn->n_errors)
        break;
    if (!conn)
        return false;
    if (conn->n_state)
        note = pop_note(conn->state, &conn->n_state);
    else
        note = pop_note(conn->errors, &conn->n_errors);
    c->n_notes--;
    sl_fmt(c->text, sizeof c->text, "%s", note.text);
    *ret = (struct sl_nats_event){.kind = note.kind, .conn = {conn->id}, .text = c->text};
    return true;
}

static bool next_event(struct sl_nats_port *p, struct sl_nats_event *ret) {
    struct sl_nats_client *c = SL_CONTAINER_OF(p, struct sl_nats_client, port);

    sl_freep(&c->shown);
    (void)pthread_mutex_lock(&c->lock);
    bool found = c->n_notes > 0 && take_note(c, ret);
    if (!found)
        c->shown = natsc_mailbox_take(&c->box);
    p->dropped = c->box.dropped;
    (void)pthread_mutex_unlock(&c->lock);
    if (!c->shown)
        return found;
    *ret = (struct sl_nats_event){
        .kind = SL_NATS_MESSAGE,
        .conn = {c->shown->conn},
        .subject = c->shown->subject,
        .data = c->shown->data,
        .len = c->shown->len,
    };
    return true;
}

/* ---- the port ---- */

const struct sl_nats_ops natsc_ops = {
    .open = open_conn,
    .subscribe = subscribe,
    .unsubscribe = unsubscribe,
    .close = close_conn,
    .next = next_event,
};
