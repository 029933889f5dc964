/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events (events.k8s.io/v1), in the lane that waits for all others. As client-go's recorder does
 * it, a repetition (same version of the object, reporter, type and reason, within six minutes) is
 * no new event but counts in the series of the first. When too many wait, new ones are dropped and
 * counted: they tell people what happened, nothing depends on them.
 */
#include "controllers/kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "kube/event.h"

#define MAX_KNOWN 16384u /* to be written, or may become a series */

static struct rec_event *event_of(struct rec *r) {
    return (struct rec_event *)(void *)r;
}

/* Returns whether it was one. */
static bool repeats(struct sl_manager *m, uint64_t key) {
    uint32_t obj = sl_map_get(&m->events, key);
    if (obj == SL_MAP_NONE)
        return false;
    struct rec_event *e = event_of(m->objs.v[obj]);
    e->count++;
    e->last = m->spec.port->wall;
    rec_look_at(m, &e->rec, e->last + SL_EVENT_SERIES_LIFE);
    if (!e->body)
        rec_want_at(m, &e->rec, m->spec.port->mono + SL_EVENT_SERIES_PAUSE);
    return true;
}

/* What was done is what happened, but for these. */
static const char *action_of(const char *reason) {
    static const char *const words[][2] = {{"WorkloadSliceReplaced", "Replaced"},
                                           {"ProvisioningRequestCreated", "Created"}};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i][0], reason) == 0)
            return words[i][1];
    return reason;
}

/* What its name ends in. */
static uint64_t unique(const struct sl_event *e, uint64_t serial) {
    uint64_t h =
        sl_digest_str(sl_digest_str(sl_digest_str(1, e->of.uid), e->controller), e->reason);

    h = sl_digest_u64(sl_digest_u64(h, e->warning), e->of.rv);
    return sl_digest_u64(sl_digest_u64((uint64_t)e->at, h), serial);
}

void event(struct sl_manager *m, const struct rec *r, const char *controller, bool warning,
           const char *reason, const char *fmt, ...) {
    struct sl_buf b;
    va_list args;
    char text[4 * SL_EVENT_NOTE], name[SL_EVENT_NAME];

    if (!m->leads)
        return;
    uint64_t key =
        sl_hash_u64(sl_hash_str(sl_hash_str(sl_hash_str(1, r->uid), controller), reason), warning);
    key = sl_hash_u64(key, r->rv);
    if (repeats(m, key))
        return;
    if (m->n_events_waiting >= SL_EVENT_MAX_WAITING) {
        sl_metric_add(m->spec.metrics, SL_M_EVENT_QUEUE_DROPS_TOTAL, 1);
        return;
    }
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    const struct kind *k = &kinds[r->kind];
    sl_time now = m->spec.port->wall;
    struct sl_event says = {
        .at = now,
        .controller = controller,
        .instance = m->spec.instance && *m->spec.instance ? m->spec.instance : "sluice",
        .warning = warning,
        .reason = reason,
        .action = action_of(reason),
        .note = text,
        .of = {k->api_version, k->kind, k->namespaced ? str(m, r->ns) : "", r->name, r->uid, r->rv},
    };
    sl_buf_init(&b, SL_EVENT_BODY);
    (void)sl_event_put(&b, &says, unique(&says, m->serial++), name);
    struct rec_event *e = event_of(rec_new(m, REC_EVENT, sl_event_ns(&says), name));
    e->body = sl_strdup(sl_buf_str(&b));
    m->n_events_waiting++;
    e->key = key;
    e->count = 1;
    sl_map_add(&m->events, key, e->rec.obj);
    rec_look_at(m, &e->rec, now + SL_EVENT_SERIES_LIFE);
    rec_want(m, &e->rec);
    sl_buf_done(&b);
}

bool event_build(struct sl_manager *m, struct rec *r, struct sl_write *w) {
    struct rec_event *e = event_of(r);
    if (e->body) {
        write_create(m, REC_EVENT, str(m, r->ns), w);
        sl_buf_puts(&w->body, e->body);
        e->told = 1;
        return true;
    }
    if (e->told == e->count)
        return false;
    write_patch(m, r, NULL, w);
    sl_buf_clear(&w->read_path);
    sl_event_put_series(&w->body, e->count, e->last);
    e->told = e->count;
    return true;
}

static void forget(struct sl_manager *m, struct rec_event *e) {
    (void)sl_map_del(&m->events, e->key, e->rec.obj);
    rec_forget(m, &e->rec);
}

void event_written(struct sl_manager *m, struct rec *r, const struct sl_write *w,
                   enum sl_written how, const struct sl_reply *reply) {
    struct rec_event *e = event_of(r);
    (void)w, (void)reply;
    if (how == SL_WRITE_FAILED) {
        e->told = 0;
        return; /* asked again */
    }
    if (e->body)
        m->n_events_waiting--;
    sl_freep(&e->body);
    if (how != SL_WRITTEN || m->tables[REC_EVENT].n > MAX_KNOWN)
        forget(m, e);
    else if (e->told != e->count)
        rec_want_at(m, r, m->spec.port->mono + SL_EVENT_SERIES_PAUSE);
}

/* Nobody repeated it for long. */
void event_changed(struct sl_manager *m, struct rec *r) {
    if (r->look_at)
        return;
    if (event_of(r)->body)
        m->n_events_waiting--;
    forget(m, event_of(r));
}

void event_done(struct rec *r) {
    sl_freep(&event_of(r)->body);
}

void note_set(char **note, const char *fmt, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    sl_freep(note);
    *note = n < 0 ? NULL : text;
}
