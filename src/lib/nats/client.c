/* SPDX-License-Identifier: Apache-2.0 */
/* The port: connections, subjects, messages to send, and the events that are to be read. */
#include <signal.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/nats/client_int.h"

/* ---- its life ---- */

void natsc_client_unref(struct sl_nats_client *c) {
    if (--c->refs > 0)
        return;
    natsc_mailbox_done(&c->box);
    natsc_trust_free(c->system);
    sl_freep(&c->shown);
    sl_freep(&c);
}

static void on_wake(uv_async_t *h) {
    (void)h; /* whoever turns with the loop reads the events */
}

static void on_closed(uv_handle_t *h) {
    natsc_client_unref(h->data);
}

static const struct sl_nats_ops ops;

int sl_nats_client_new(struct uv_loop_s *loop, struct sl_nats_client **ret, struct sl_err *err) {
    struct sl_nats_client *c = sl_alloc0(1, sizeof *c);

    (void)signal(SIGPIPE, SIG_IGN); /* a server that goes while it is written to */
    c->loop = loop;
    c->port.ops = &ops;
    c->pace = SL_NATS_PACE;
    c->refs = 1;
    TAILQ_INIT(&c->conns);
    TAILQ_INIT(&c->leaving);
    natsc_mailbox_init(&c->box);
    int r = uv_async_init(loop, &c->wake, on_wake);
    if (r < 0) {
        natsc_client_unref(c);
        return sl_err_set(err, SL_EIO, "cannot watch for NATS events: %s", uv_strerror(r));
    }
    c->wake.data = c;
    *ret = c;
    return SL_OK;
}

struct sl_nats_port *sl_nats_client_port(struct sl_nats_client *c) {
    return &c->port;
}

void sl_nats_client_set_pace(struct sl_nats_client *c, const struct sl_nats_pace *pace) {
    c->pace = *pace;
}

void sl_nats_client_free(struct sl_nats_client *c) {
    struct natsc_conn *conn;

    if (!c)
        return;
    while ((conn = TAILQ_FIRST(&c->conns)))
        natsc_conn_close(conn);
    while ((conn = TAILQ_FIRST(&c->leaving)))
        natsc_conn_end(conn);
    uv_close((uv_handle_t *)&c->wake, on_closed);
}

void sl_nats_client_freep(struct sl_nats_client **c) {
    sl_nats_client_free(TAKE_PTR(*c));
}

/* ---- connections ---- */

static struct sl_nats_client *client_of(struct sl_nats_port *p) {
    return SL_CONTAINER_OF(p, struct sl_nats_client, port);
}

static struct natsc_conn *find(struct sl_nats_client *c, sl_nats_conn id) {
    struct natsc_conn *conn;

    TAILQ_FOREACH(conn, &c->conns, next)
    if (conn->id == id.v)
        return conn;
    return NULL;
}

static int open_conn(struct sl_nats_port *p, const struct sl_nats_connector *from,
                     const struct sl_nats_credentials *with, sl_nats_conn *ret,
                     struct sl_err *err) {
    struct sl_nats_client *client = client_of(p);
    struct natsc_conn *c;

    if (client->n_conns >= SL_NATS_MAX_CONNECTIONS)
        return sl_err_set(err, SL_ELIMIT, "more than %u NATS connections", SL_NATS_MAX_CONNECTIONS);
    int r = natsc_conn_new(client, from, with, &c, err);
    if (r < 0)
        return r;
    c->id = ++client->last_id;
    TAILQ_INSERT_TAIL(&client->conns, c, next);
    client->n_conns++;
    *ret = (sl_nats_conn){c->id};
    return SL_OK;
}

static void close_conn(struct sl_nats_port *p, sl_nats_conn id) {
    struct natsc_conn *c = find(client_of(p), id);

    if (c)
        natsc_conn_close(c);
}

/* ---- subjects ---- */

static uint32_t find_subscription(const struct natsc_conn *c, const char *subject) {
    uint32_t i = 0;

    while (i < c->subscriptions.n && strcmp(c->subscriptions.v[i].subject, subject) != 0)
        i++;
    return i;
}

static const char *why_not(const struct natsc_conn *c, const char *subject) {
    const char *fault = sl_nats_subject_fault(sl_text_of(subject), true);

    if (fault)
        return fault;
    return c->subscriptions.n < SL_NATS_MAX_SUBJECTS
               ? NULL
               : "would be one of more than " SL_STRING(SL_NATS_MAX_SUBJECTS) " subjects";
}

static void subscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct natsc_conn *c = find(client_of(p), id);
    char text[NATSC_TEXT];

    if (!c || find_subscription(c, subject) < c->subscriptions.n)
        return;
    const char *why = why_not(c, subject);
    if (why) {
        sl_fmt_short(text, sizeof text, "cannot subscribe to %.80s: it %s", subject, why);
        natsc_note(c, SL_NATS_ERROR, text);
        return;
    }
    *sl_vec_push(&c->subscriptions) =
        (struct natsc_subscription){.subject = sl_strdup(subject), .id = ++c->last_sid};
    natsc_protocol_pump(c);
}

static void unsubscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct sl_nats_client *client = client_of(p);
    struct natsc_conn *c = find(client, id);
    uint32_t i = c ? find_subscription(c, subject) : 0;

    if (!c || i == c->subscriptions.n)
        return;
    struct natsc_subscription w = c->subscriptions.v[i];
    c->subscriptions.v[i] = sl_vec_pop(&c->subscriptions);
    natsc_mailbox_purge(&client->box, c->id, w.id);
    sl_freep(&w.subject);
    if (w.asked)
        natsc_protocol_unsubscribe(c, w.id);
}

/* ---- publishing ---- */

static struct natsc_sending *sending_new(const char *subject, const char *data, size_t len) {
    size_t name = strlen(subject) + 1;
    struct natsc_sending *s = sl_alloc(sizeof *s + name + len);

    *s = (struct natsc_sending){.len = len};
    memcpy(s->subject, subject, name);
    s->data = s->subject + name;
    if (len)
        memcpy(s->data, data, len);
    return s;
}

/* Of a subject only the newest is sent. */
static void replace(struct natsc_conn *c, const char *subject) {
    struct natsc_sending *old;

    TAILQ_FOREACH(old, &c->sending, next)
    if (strcmp(old->subject, subject) == 0)
        break;
    if (!old)
        return;
    TAILQ_REMOVE(&c->sending, old, next);
    sl_freep(&old);
    c->n_sending--;
}

int sl_nats_client_publish(struct sl_nats_client *client, sl_nats_conn conn, const char *subject,
                           const char *data, size_t len, struct sl_err *err) {
    struct natsc_conn *c = find(client, conn);

    const char *fault = sl_nats_subject_fault(sl_text_of(subject), false);

    if (fault)
        return sl_err_set(err, SL_EINVAL, "the subject %s", fault);
    if (len > SL_NATS_MAX_MESSAGE)
        return sl_err_set(err, SL_ELIMIT, "the message is longer than %zu bytes",
                          SL_NATS_MAX_MESSAGE);
    if (!c)
        return sl_err_set(err, SL_ENOENT, "the NATS connection is closed");
    replace(c, subject);
    if (c->n_sending >= SL_NATS_MAX_UNSENT)
        return sl_err_set(err, SL_ELIMIT, "more than %u messages are not sent", SL_NATS_MAX_UNSENT);
    struct natsc_sending *s = sending_new(subject, data, len);
    TAILQ_INSERT_TAIL(&c->sending, s, next);
    c->n_sending++;
    natsc_protocol_pump(c);
    return SL_OK;
}

uint32_t sl_nats_client_unsent(struct sl_nats_client *client, sl_nats_conn conn) {
    const struct natsc_conn *c = find(client, conn);

    return c ? c->n_sending : 0;
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
    if (c->n_note > 0 && c->note[c->n_note - 1].kind == note->kind) {
        c->note[c->n_note - 1] = *note;
        return false;
    }
    if (c->n_note == SL_LEN(c->note)) {
        c->note[0] = c->note[1];
        c->note[1] = *note;
        return false;
    }
    c->note[c->n_note++] = *note;
    return true;
}

void natsc_note(struct natsc_conn *c, enum sl_nats_event_kind kind, const char *text) {
    struct natsc_note note = {.kind = kind};

    if (c->closing)
        return;
    sl_fmt_short(note.text, sizeof note.text, "%s", text);
    if (kind == SL_NATS_ERROR ? note_error(c, &note) : note_state(c, &note))
        c->client->n_notes++;
    (void)uv_async_send(&c->client->wake); /* also for those that come from within a call */
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

    TAILQ_FOREACH(conn, &c->conns, next)
    if (conn->n_note || conn->n_errors)
        break;
    if (!conn)
        return false;
    struct natsc_note note = conn->n_note ? pop_note(conn->note, &conn->n_note)
                                          : pop_note(conn->errors, &conn->n_errors);
    c->n_notes--;
    sl_fmt(c->text, sizeof c->text, "%s", note.text);
    *ret = (struct sl_nats_event){.kind = note.kind, .conn = {conn->id}, .text = c->text};
    return true;
}

static bool next_event(struct sl_nats_port *p, struct sl_nats_event *ret) {
    struct sl_nats_client *c = client_of(p);

    sl_freep(&c->shown);
    p->dropped = c->box.dropped;
    if (c->n_notes > 0 && take_note(c, ret))
        return true;
    c->shown = natsc_mailbox_take(&c->box);
    if (!c->shown)
        return false;
    *ret = (struct sl_nats_event){
        .kind = SL_NATS_MESSAGE,
        .conn = {c->shown->conn},
        .subject = c->shown->subject,
        .data = c->shown->data,
        .len = c->shown->len,
    };
    return true;
}

static const struct sl_nats_ops ops = {
    .open = open_conn,
    .subscribe = subscribe,
    .unsubscribe = unsubscribe,
    .close = close_conn,
    .next = next_event,
};
