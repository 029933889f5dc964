/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events expire an hour after they were last observed. Every few minutes all are read, a page at a
 * time, and expired ones are deleted; none is cached here.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/background/background.h"
#include "core/base/fmt.h"

#define LIFE SL_HOUR
#define EVERY (5 * SL_MINUTE)
#define PAUSE (5 * SL_SEC)
#define PAGE "500"
#define MAX_BODY 1024u

static struct cl_event_expiry *sweep_of(struct sl_cluster *c) {
    return &c->background->event_expiry;
}

static sl_time last_seen(yyjson_val *e) {
    static const char *const fields[] = {"metadata.creationTimestamp", "lastTimestamp", "eventTime",
                                         "series.lastObservedTime"};
    sl_time last = 0;

    for (size_t i = 0; i < SL_LEN(fields); i++) {
        sl_time at = sl_json_time(e, fields[i]);
        last = at > last ? at : last;
    }
    return last;
}

static void add_stale_event(struct cl_event_expiry *s, yyjson_val *e) {
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(SL_WRITER_MAX_PATH);

    sl_buf_printf(&path, "/api/v1/namespaces/%s/events/%s", sl_json_str(e, "metadata.namespace"),
                  sl_json_str(e, "metadata.name"));
    if (!sl_buf_full(&path))
        *sl_vec_push(&s->stale) = (struct cl_stale_event){
            .path = sl_strdup(sl_buf_str(&path)), .uid = sl_strdup(sl_json_str(e, "metadata.uid"))};
}

static void rest(struct sl_cluster *c, sl_span d) {
    sl_buf_clear(&sweep_of(c)->next);
    sweep_of(c)->due = c->client->mono + d;
}

static void put_escaped(struct sl_buf *b, const char *s) {
    for (; *s; s++)
        sl_buf_printf(b, "%%%02X", (unsigned)(unsigned char)*s);
}

static void on_page(void *ctx, const struct sl_kube_reply *r) {
    struct sl_cluster *c = ctx;
    struct cl_event_expiry *s = sweep_of(c);
    _cleanup_(sl_json_docp) yyjson_doc *d =
        r->status == 200 ? yyjson_read(r->body, r->len, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(d), *e;
    size_t i, n;

    s->call = (sl_kube_call){0};
    yyjson_arr_foreach (yyjson_obj_get(root, "items"), i, n, e) {
        sl_time last = last_seen(e);
        if (last && sl_time_add(last, LIFE) < c->client->wall)
            add_stale_event(s, e);
    }
    sl_buf_clear(&s->next);
    sl_buf_puts(&s->next, sl_json_str(root, "metadata.continue"));
    if (!d || sl_buf_full(&s->next)) /* a page that has expired, too: from the beginning, later */
        rest(c, PAUSE);
    else if (!s->next.len)
        rest(c, EVERY);
    else
        s->due = c->client->mono;
}

static void stale_done(struct cl_stale_event *e) {
    sl_freep(&e->path);
    sl_freep(&e->uid);
}

/* What could not be deleted is found again the next time. */
static void on_deleted(void *ctx, const struct sl_kube_reply *r) {
    (void)r;
    sweep_of(ctx)->call = (sl_kube_call){0};
}

static void delete_last(struct sl_cluster *c) {
    struct cl_event_expiry *s = sweep_of(c);
    struct cl_stale_event e = sl_vec_pop(&s->stale);
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(MAX_BODY);
    struct sl_jw j = SL_JW(&body);

    sl_jw_object(&j, NULL);
    sl_jw_object(&j, "preconditions");
    sl_jw_strf(&j, "uid", "%.100s", e.uid);
    sl_jw_end_to(&j, 0);
    s->call = sl_kube_request(c->client,
                              &(struct sl_kube_request){.method = SL_DELETE,
                                                        .path = e.path,
                                                        .content_type = SL_JSON,
                                                        .body = body.s,
                                                        .len = body.len},
                              on_deleted, c);
    stale_done(&e);
}

void cl_event_expiry_turn(struct sl_cluster *c) {
    struct cl_event_expiry *s = sweep_of(c);
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(65536);

    if (!s->due) { /* the first time */
        sl_buf_init(&s->next, 8192);
        rest(c, EVERY);
    }
    if (s->call.v)
        return;
    if (s->stale.n) {
        delete_last(c);
        return;
    }
    if (s->due > c->client->mono)
        return;
    s->due = SL_TIME_NEVER;
    sl_buf_puts(&path, "/api/v1/events?limit=" PAGE);
    if (s->next.len) {
        sl_buf_puts(&path, "&continue=");
        put_escaped(&path, sl_buf_str(&s->next));
    }
    s->call = sl_kube_request(
        c->client, &(struct sl_kube_request){.method = SL_GET, .path = sl_buf_str(&path)}, on_page,
        c);
}

void cl_event_expiry_stop(struct sl_cluster *c) {
    struct cl_event_expiry *s = sweep_of(c);

    sl_kube_cancel(c->client, s->call);
    for (uint32_t i = 0; i < s->stale.n; i++)
        stale_done(&s->stale.v[i]);
    sl_vec_free(&s->stale);
    if (s->due)
        sl_buf_done(&s->next);
}
