/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams. A stream is a place in the history of its kind ('cursor'); a pump event sends one line
 * and, if there is more, sets up the next, so that a stream is always in order while several
 * streams and replies interleave freely.
 */
#include <stdlib.h>
#include <string.h>

#include "fakeapi_int.h"
#include "lib/json/json.h"

#define BEAT SL_MINUTE /* between bookmarks */
#define DEFAULT_TIMEOUT (30 * SL_MINUTE)

static const struct change *change_at(const struct resource *r, uint64_t cursor) {
    return &r->log.v[cursor - r->log_base];
}

static uint64_t log_end(const struct resource *r) {
    return r->log_base + r->log.n;
}

static void pump_later(struct fakeapi *a, struct call *c, sl_time at) {
    c->pumping = true;
    fa_event_add(a, at, EV_PUMP, fa_call_id(a, c), NULL, NULL);
}

static void pump_soon(struct fakeapi *a, struct call *c) {
    sl_span lag = fa_one_in(a, &a->faults.lag_watch) ? fa_some_time(a, 0, 5 * SL_SEC) : 0;

    pump_later(a, c, a->now + fa_some_time(a, 50 * SL_USEC, 2 * SL_MSEC) + lag);
}

void fa_watch_wake(struct fakeapi *a, const struct resource *r) {
    for (uint32_t i = 0; i < a->calls.n; i++) {
        struct call *c = &a->calls.v[i];
        if (c->open && !c->pumping && !c->hung && c->res == (uint32_t)(r - a->res))
            pump_soon(a, c);
    }
}

/* The stream is over; the client hears of it later, as of everything. */
void fa_watch_end(struct fakeapi *a, struct call *c, int status) {
    c->open = false;
    c->status = status;
    fa_event_add(a, a->now, EV_REPLY, fa_call_id(a, c), NULL, NULL);
}

/* Sends a->line. The client may do anything meanwhile: returns the call if it is still open. */
static struct call *send(struct fakeapi *a, struct call *c) {
    uint64_t id = fa_call_id(a, c);

    a->stats.lines++;
    if (!c->muted)
        c->line(c->ctx, sl_buf_str(&a->line), a->line.len);
    c = fa_call_find(a, id);
    return c && c->open ? c : NULL;
}

static void send_expired(struct fakeapi *a, struct call *c) {
    sl_buf_clear(&a->line);
    sl_buf_puts(&a->line,
                "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource "
                "version\",\"reason\":\"Expired\",\"code\":410}}");
    c = send(a, c);
    if (c)
        fa_watch_end(a, c, 200);
}

static bool concerns(const struct call *c, const struct version *v) {
    size_t n = c->ns ? strlen(c->ns) : 0;

    if (!v || (n > 0 && (strncmp(v->key, c->ns, n) != 0 || v->key[n] != '/')))
        return false;
    if (c->only && strcmp(c->only, fa_meta_str(fa_root_of(v), "name")) != 0)
        return false;
    if (c->scheduler && strcmp(c->scheduler, sl_json_str(fa_root_of(v), "spec.schedulerName")) != 0)
        return false;
    return fa_labels_match(&c->selector, fa_root_of(v));
}

/* What the change is for this stream, whose selector an object may enter or leave; NULL: nothing.
 */
static const char *type_of(const struct call *c, const struct change *ch) {
    bool was = concerns(c, ch->before), is = !ch->deleted && concerns(c, ch->now);

    if (is)
        return was ? "MODIFIED" : "ADDED";
    return was ? "DELETED" : NULL;
}

void fa_watch_pump(struct fakeapi *a, struct call *c) {
    const struct resource *r = &a->res[c->res];
    const char *type = NULL;

    c->pumping = false;
    if (!c->open || c->hung)
        return;
    if (fa_cut_off(a, c)) {
        pump_later(a, c, a->clients[c->client].cut_until);
        return;
    }
    if (c->cursor < r->log_base) {
        send_expired(a, c);
        return;
    }
    while (c->cursor < log_end(r) && !(type = type_of(c, change_at(r, c->cursor))))
        c->cursor++;
    if (!type)
        return;
    const struct change *ch = change_at(r, c->cursor++);
    sl_buf_clear(&a->line);
    sl_buf_printf(&a->line, "{\"type\":\"%s\",\"object\":", type);
    fa_put_version(&a->line, ch->now, c->accept != NULL);
    sl_buf_putc(&a->line, '}');
    if (a->ceiling && a->line.len > a->ceiling) {
        c->too_long = true;
        fa_watch_end(a, c, 0);
    } else if (fa_one_in(a, &a->faults.hang_watch)) {
        c->hung = true;
    } else if (fa_one_in(a, &a->faults.cut_watch)) {
        fa_watch_end(a, c, sl_prng_one_in(&a->prng, 2) ? 200 : 0);
    } else if (fa_one_in(a, &a->faults.garble)) {
        a->line.len /= 2;
        a->line.s[a->line.len] = '\0';
        c = send(a, c);
        if (c)
            fa_watch_end(a, c, 0);
    } else {
        c = send(a, c);
        if (c && !c->pumping && c->cursor != log_end(&a->res[c->res]))
            pump_soon(a, c);
    }
}

void fa_watch_beat(struct fakeapi *a, struct call *c) {
    const struct resource *r = &a->res[c->res];

    if (!c->open || c->hung)
        return;
    if (a->now >= c->ends) {
        fa_watch_end(a, c, 200);
        return;
    }
    fa_event_add(a, c->ends < a->now + BEAT ? c->ends : a->now + BEAT, EV_BEAT, fa_call_id(a, c),
                 NULL, NULL);
    /* All that happened so far has been sent: so says a bookmark. */
    if (c->bookmarks && !c->pumping && c->cursor == log_end(r) && !fa_cut_off(a, c)) {
        sl_buf_clear(&a->line);
        sl_buf_printf(
            &a->line,
            "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\","
            "\"metadata\":{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null}}}",
            r->k.kind, r->k.group, r->k.group[0] ? "/" : "", r->k.version,
            (unsigned long long)a->rv);
        (void)send(a, c);
    }
}

/* The first change after version rv. */
static uint64_t place_after(const struct resource *r, uint64_t rv) {
    uint32_t lo = 0, hi = r->log.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (r->log.v[mid].now->rv <= rv)
            lo = mid + 1;
        else
            hi = mid;
    }
    return r->log_base + lo;
}

/* The status of a stream that could not be opened, with its body in c->out, or 0. */
static int open_stream(struct fakeapi *a, struct call *c, struct target *t, bool *ret_expired) {
    const char *only;
    char *end;
    int status = fa_target_parse(a, c->path, t);
    uint64_t rv = strtoull(t->version, &end, 10);

    if (status > 0)
        return fa_fail(&c->out, status, "NotFound",
                       "the server could not find the requested resource");
    if (t->name[0] || !t->version[0] || *end || !fa_target_fields(t, &only) || !t->watch)
        return fa_fail(&c->out, 400, "BadRequest", "this cannot be watched, or not like this");
    if (t->label_selector[0] && sl_selector_parse(t->label_selector, strlen(t->label_selector),
                                                  &c->arena, &c->selector, NULL) < 0)
        return fa_fail(&c->out, 400, "BadRequest", "unable to parse requirement");
    *ret_expired = rv < t->res->compacted;
    if (*ret_expired && sl_prng_one_in(&a->prng, 2)) /* servers have done both */
        return fa_fail(&c->out, 410, "Expired", "too old resource version: %s", t->version);
    c->ns = t->ns[0] ? sl_strdup(t->ns) : NULL;
    c->only = only ? sl_strdup(only) : NULL;
    c->scheduler = t->scheduler[0] ? sl_strdup(t->scheduler) : NULL;
    c->res = (uint32_t)(t->res - a->res);
    c->bookmarks = t->bookmarks;
    c->cursor = place_after(t->res, rv);
    c->ends = sl_time_add(a->now, t->timeout > 0 && t->timeout < 86400 ? t->timeout * SL_SEC
                                                                       : DEFAULT_TIMEOUT);
    return 0;
}

void fa_watch_open(struct fakeapi *a, struct call *c) {
    struct target t;
    bool expired = false;

    a->stats.watches++;
    c->status = open_stream(a, c, &t, &expired);
    if (c->status > 0) {
        fa_event_add(a, a->now + fa_some_time(a, 100 * SL_USEC, SL_MSEC), EV_REPLY,
                     fa_call_id(a, c), NULL, NULL);
        return;
    }
    c->open = true;
    if (expired) {
        send_expired(a, c);
        return;
    }
    if (c->cursor < log_end(t.res))
        pump_soon(a, c);
    fa_event_add(a, c->ends < a->now + BEAT ? c->ends : a->now + BEAT, EV_BEAT, fa_call_id(a, c),
                 NULL, NULL);
}
