/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches. Each is a filter on the events of its resource, preceded by the initial state where it
 * was requested. An object that leaves the selection is DELETED for this watcher, in the state that
 * it has, and one that enters is ADDED.
 *
 * The line of an event is the same for all watches in the stored form: the last lines are cached,
 * so that it is written once for any number of watches. Nothing is queued here. A sink that does
 * not keep up reports that, and its stream ends: the client resumes it from where it was.
 */
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/rest/read.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/mutable.h"

#define BOOKMARK_EVERY (60 * SL_SEC)
#define TIMEOUT_LEAST (30 * SL_MINUTE)

struct api_stream {
    TAILQ_ENTRY(api_stream) link;
    struct api_rq *rq;
    struct sl_store_watch *watch; /* NULL: not begun */
    struct api_filter filter;
    struct api_found first; /* the initial state; sent when the stream begins */
    uint64_t from;
    sl_time deadline, bookmark; /* mono; SL_TIME_NEVER */
    bool bookmarks, ends_initial;
    bool headed; /* the columns of a table were sent */
    bool dead;   /* its kind is gone */
};
TAILQ_HEAD(sl_streams, api_stream);

/* The line of an event by its version; see line_of. */
struct line {
    uint64_t version; /* 0: none */
    const char *type;
    struct sl_buf text;
};

struct api_lines {
    struct sl_apiserver *s;
    struct sl_streams open;
    struct line v[API_LINES];
    struct sl_buf scratch;
    uv_timer_t *timer;
    sl_time timer_at;
};

static const char *const names[] = {
    [SL_ADDED] = "ADDED", [SL_MODIFIED] = "MODIFIED", [SL_DELETED] = "DELETED"};

/* ---- lines ---- */

/* Begins a line up to its object. */
static struct sl_buf *begin_line(struct sl_jw *j, const char *type) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", type);
    return sl_jw_value(j, "object");
}

static void end_line(struct sl_jw *j) {
    sl_jw_end_to(j, 0);
    sl_buf_putc(j->b, '\n');
}

static void print_line(const char *type, const char *text, size_t len, struct sl_buf *out) {
    struct sl_jw *j = &SL_JW(out);

    sl_buf_add(begin_line(j, type), text, len);
    end_line(j);
}

static struct sl_buf *line_of(struct api_lines *l, const char *type,
                              const struct sl_store_object *o) {
    struct line *n = &l->v[o->version % API_LINES];

    if (n->version == o->version && n->type == type)
        return &n->text;
    if (o->len > API_LINE_KEPT) {
        sl_buf_clear(&l->scratch);
        print_line(type, o->text, o->len, &l->scratch);
        return &l->scratch;
    }
    n->version = o->version;
    n->type = type;
    sl_buf_clear(&n->text);
    if (n->text.cap > 4 * o->len) /* not as large for ever as the largest was */
        sl_buf_done(&n->text);
    print_line(type, o->text, o->len, &n->text);
    return &n->text;
}

static bool pass_on(struct api_stream *w, struct sl_buf *b) {
    w->rq->s->stats.events_sent++;
    return !sl_buf_full(b) && w->rq->sink.piece(w->rq->sink.ctx, b->s, b->len) && !w->rq->gone;
}

/* Sends an event; false: the stream is to end. */
static bool send_event(struct api_stream *w, const char *type, const struct sl_store_object *o) {
    struct api_rq *rq = w->rq;
    struct api_lines *l = rq->s->lines;

    if (api_show_plain(rq))
        return pass_on(w, line_of(l, type, o));
    struct sl_buf *b = &l->scratch;
    sl_buf_clear(b);
    struct sl_jw *j = &SL_JW(b);
    if (!api_show_one(rq, o->text, o->len, !w->headed, begin_line(j, type)))
        return false;
    w->headed = true;
    end_line(j);
    return pass_on(w, b);
}

/* An object in the state it had, under the version of the change that took it out of sight. */
static bool report_left(struct api_stream *w, const struct sl_store_object *was, uint64_t version) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(was->text, was->len, 0);
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *m = doc ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    struct sl_store_object now = *was;
    char text[24];
    size_t len;

    if (!m)
        return true;
    sl_fmt(text, sizeof text, "%llu", (unsigned long long)version);
    sl_json_mut_set_str(m, sl_json_mut_get(yyjson_mut_doc_get_root(m), "metadata"),
                        "resourceVersion", text);
    char *json = yyjson_mut_write(m, 0, &len);
    now.text = json;
    now.len = len;
    now.version = version;
    /* Another watcher may get a different line for this version: it is not cached. */
    struct line *n = &w->rq->s->lines->v[version % API_LINES];
    n->version = 0;
    bool ok = !json || send_event(w, names[SL_DELETED], &now);
    n->version = 0;
    sl_freep(&json);
    return ok;
}

static bool report_bookmark(struct api_stream *w, uint64_t version, bool initial) {
    struct api_rq *rq = w->rq;
    struct sl_buf *b = &rq->s->lines->scratch;
    const struct api_kind *k = rq->kind;
    bool partial = rq->form == SL_FORM_PARTIAL;
    struct sl_jw *j = &SL_JW(b);

    sl_buf_clear(b);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", "BOOKMARK");
    sl_jw_object(j, "object");
    if (rq->form == SL_FORM_TABLE) {
        sl_jw_str(j, "kind", "Table");
        sl_jw_strf(j, "apiVersion", "meta.k8s.io/%s", rq->form_version);
        sl_jw_object(j, "metadata");
        sl_jw_strf(j, "resourceVersion", "%llu", (unsigned long long)version);
        sl_jw_end(j);
        sl_jw_raw(j, "columnDefinitions", "[]");
        sl_jw_array(j, "rows");
        sl_jw_object(j, NULL);
        sl_jw_raw(j, "cells", "[]");
        sl_jw_object(j, "object");
        sl_jw_str(j, "kind", "PartialObjectMetadata");
        sl_jw_str(j, "apiVersion", "meta.k8s.io/v1");
    } else {
        sl_jw_str(j, "kind", partial ? "PartialObjectMetadata" : k->kind);
        sl_jw_strf(j, "apiVersion", "%s%s%s", partial ? "meta.k8s.io" : k->group,
                   partial || *k->group ? "/" : "", partial ? rq->form_version : rq->version->name);
    }
    sl_jw_object(j, "metadata");
    sl_jw_strf(j, "resourceVersion", "%llu", (unsigned long long)version);
    sl_jw_null(j, "creationTimestamp");
    if (initial) {
        sl_jw_object(j, "annotations");
        sl_jw_str(j, "k8s.io/initial-events-end", "true");
    }
    end_line(j);
    return pass_on(w, b);
}

static void report_status(struct api_stream *w, const struct api_status *st) {
    struct sl_buf *b = &w->rq->s->lines->scratch;

    sl_buf_clear(b);
    struct sl_jw *j = &SL_JW(b);
    api_status_print(st, begin_line(j, "ERROR"));
    end_line(j);
    (void)pass_on(w, b);
}

/* ---- events ---- */

static void on_event(void *ctx, const struct sl_store_event *ev) {
    struct api_stream *w = ctx;
    bool now = api_filter_passes(&w->filter, ev->now);
    bool was = ev->was && api_filter_passes(&w->filter, ev->was);
    bool ok = true;

    sl_api_turn(w->rq->s);
    w->rq->busy = true;
    if (ev->what == SL_DELETED)
        ok = !(now || was) || send_event(w, names[SL_DELETED], ev->now);
    else if (now)
        ok = send_event(w, names[was ? SL_MODIFIED : SL_ADDED], ev->now);
    else if (was)
        ok = report_left(w, ev->was, ev->now->version);
    (void)api_rq_settle(w->rq, ok);
}

/* ---- time ---- */

static void arm(struct api_lines *l, sl_time at);

static sl_time due(const struct api_stream *w) {
    return w->bookmark < w->deadline ? w->bookmark : w->deadline;
}

/* A stream whose time for a bookmark, or for its end, has come. */
static void run_timer(struct api_stream *w) {
    struct sl_apiserver *s = w->rq->s;
    bool ok = w->deadline > s->mono;

    w->rq->busy = true;
    if (!w->dead && (w->bookmark <= s->mono || (w->bookmarks && !ok))) {
        w->bookmark = sl_time_add(s->mono, BOOKMARK_EVERY);
        ok = report_bookmark(w, sl_store_delivered(s->store), false) && ok;
    }
    (void)api_rq_settle(w->rq, ok);
}

static void on_timer(uv_timer_t *t) {
    struct api_lines *l = t->data;
    SL_VEC(sl_api_call) calls = {0}; /* an event to one stream may end others */
    struct api_stream *w;
    sl_time first = SL_TIME_NEVER;

    sl_apiserver_clock(l->s);
    l->timer_at = SL_TIME_NEVER;
    TAILQ_FOREACH(w, &l->open, link)
    if (due(w) <= l->s->mono && w->rq->state == SL_RQ_STREAM)
        *sl_vec_push(&calls) = w->rq->id;
    for (uint32_t i = 0; i < calls.n; i++) {
        struct api_rq *rq = api_rq_find(l->s, calls.v[i]);
        if (rq && rq->stream)
            run_timer(rq->stream);
    }
    sl_vec_free(&calls);
    TAILQ_FOREACH(w, &l->open, link)
    if (due(w) < first && w->rq->state == SL_RQ_STREAM)
        first = due(w);
    arm(l, first);
}

static void arm(struct api_lines *l, sl_time at) {
    if (at >= l->timer_at)
        return;
    l->timer_at = at;
    sl_span in = at - l->s->mono;
    (void)uv_timer_start(l->timer, on_timer, in > 0 ? (uint64_t)(in / SL_MSEC) + 1 : 0, 0);
}

/* ---- life ---- */

struct api_lines *api_lines_new(struct sl_apiserver *s) {
    struct api_lines *l = sl_alloc0(1, sizeof *l);

    l->s = s;
    TAILQ_INIT(&l->open);
    for (uint32_t i = 0; i < API_LINES; i++)
        sl_buf_init(&l->v[i].text, API_LINE);
    sl_buf_init(&l->scratch, API_LINE);
    l->timer = sl_alloc0(1, sizeof *l->timer);
    l->timer->data = l;
    l->timer_at = SL_TIME_NEVER;
    (void)uv_timer_init(s->loop, l->timer);
    uv_unref((uv_handle_t *)l->timer);
    return l;
}

static void on_timer_closed(uv_handle_t *h) {
    uv_timer_t *t = (uv_timer_t *)h;
    sl_freep(&t);
}

void api_lines_free(struct api_lines *l) {
    for (uint32_t i = 0; i < API_LINES; i++)
        sl_buf_done(&l->v[i].text);
    sl_buf_done(&l->scratch);
    uv_close((uv_handle_t *)l->timer, on_timer_closed);
    sl_freep(&l);
}

static bool check_watch_params(struct api_rq *rq) {
    const struct api_params *q = &rq->q;
    struct sl_field_errs errs = {.arena = &rq->arena};
    const struct sl_path *match = SL_PATH(NULL, "resourceVersionMatch");

    if (q->initial_events < 0 && *q->version_match)
        sl_field_forbidden(
            &errs, match,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (q->initial_events >= 0 && !*q->version_match)
        sl_field_forbidden(
            &errs, match,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (*q->version_match && strcmp(q->version_match, "NotOlderThan") != 0) {
        static const char *const words[] = {"NotOlderThan"};
        sl_field_unsupported(&errs, match, sl_field_value_str(q->version_match), words, 1);
    }
    if (!errs.n)
        return true;
    api_rq_invalid(rq, "meta.k8s.io", "ListOptions", "", &errs);
    return false;
}

void api_handle_watch(struct api_rq *rq) {
    struct sl_apiserver *s = rq->s;
    struct api_stream *w = sl_arena_alloc0(&rq->arena, 1, sizeof *w);
    uint64_t version = 0;

    if (!check_watch_params(rq) || !api_filter_read(rq, &w->filter))
        return;
    if (*rq->q.version && !api_version_read(rq, rq->q.version, &version))
        return;
    bool all = rq->q.initial_events < 0 ? version == 0 : rq->q.initial_events == 1;
    w->rq = rq;
    w->from = version && !all ? version : sl_store_version(s->store);
    w->bookmarks = rq->q.bookmarks == 1;
    w->ends_initial = rq->q.initial_events == 1 && w->bookmarks;
    if (all)
        api_found_collect(rq, &w->filter, "", "", &w->first);
    sl_span timeout =
        rq->q.timeout_s > 0 && rq->q.timeout_s < INT32_MAX
            ? rq->q.timeout_s * SL_SEC
            : TIMEOUT_LEAST + (sl_span)sl_prng_below(&s->prng, (uint64_t)TIMEOUT_LEAST);
    w->deadline = sl_time_add(s->mono, timeout);
    w->bookmark = w->bookmarks ? sl_time_add(s->mono, BOOKMARK_EVERY) : SL_TIME_NEVER;
    TAILQ_INSERT_TAIL(&s->lines->open, w, link);
    s->stats.watches_open++;
    rq->stream = w;
    rq->streams = true;
    api_rq_done(rq, all ? w->first.version : 0);
}

static bool begin_stream(struct api_stream *w) {
    struct api_rq *rq = w->rq;
    bool ok = !w->dead;

    for (uint32_t i = 0; ok && i < w->first.v.n; i++)
        ok = send_event(w, names[SL_ADDED], w->first.v.v[i]);
    if (ok && w->ends_initial)
        ok = report_bookmark(w, w->first.version, true);
    api_found_done(rq->s, &w->first);
    if (!ok)
        return false;
    /* In the whole cluster only what has no namespace is known by its name. */
    const struct api_filter *f = &w->filter;
    bool all = !*f->ns && (!*f->name || rq->kind->namespaced);
    if (sl_store_watch_in(rq->s->store, rq->kind->number, w->from, all ? NULL : f->ns, f->name,
                          on_event, w, &w->watch) < 0) {
        report_status(
            w, &(struct api_status){
                   .code = 410,
                   .reason = "Expired",
                   .message = sl_arena_printf(&rq->arena, "too old resource version: %llu (%llu)",
                                              (unsigned long long)w->from,
                                              (unsigned long long)sl_store_version(rq->s->store))});
        return false;
    }
    return true;
}

void api_watch_begin(struct api_rq *rq) {
    struct api_stream *w = rq->stream;

    rq->busy = true;
    rq->sink.begin(rq->sink.ctx, SL_JSON);
    if (api_rq_settle(rq, !rq->gone && begin_stream(w)))
        arm(rq->s->lines, due(w));
}

void api_watch_free(struct api_rq *rq) {
    struct api_stream *w = rq->stream;

    if (!w)
        return;
    rq->stream = NULL;
    if (w->watch)
        sl_store_unwatch(rq->s->store, w->watch);
    api_found_done(rq->s, &w->first);
    TAILQ_REMOVE(&rq->s->lines->open, w, link);
    rq->s->stats.watches_open--;
}

void api_watch_end_all(struct sl_apiserver *s, const struct api_kind *k) {
    struct api_stream *w, *next;

    for (w = TAILQ_FIRST(&s->lines->open); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->rq->kind != k)
            continue;
        w->dead = true; /* ends in a turn of the loop, and does not use its kind any more */
        w->deadline = s->mono;
        if (w->watch)
            sl_store_unwatch(s->store, w->watch);
        w->watch = NULL;
    }
    if (!TAILQ_EMPTY(&s->lines->open))
        arm(s->lines, s->mono);
}
