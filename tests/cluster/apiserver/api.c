/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void api_init_spec(struct api *a, struct sl_apiserver_spec spec) {
    struct sl_err err;

    *a = (struct api){.answered = false};
    sl_assert(uv_loop_init(&a->loop) == 0);
    spec.loop = &a->loop;
    spec.version = "v1.36.0";
    spec.address = "127.0.0.1:6443";
    if (sl_apiserver_new(&spec, &a->server, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

void api_init(struct api *a) {
    api_init_spec(a, (struct sl_apiserver_spec){.file = NULL});
}

static void clear(struct api *a) {
    a->answered = false;
    yyjson_doc_free(a->doc);
    a->doc = NULL;
    sl_freep(&a->body);
    sl_freep(&a->type);
    for (uint32_t i = 0; i < a->warnings.n; i++)
        sl_freep(&a->warnings.v[i]);
    sl_vec_clear(&a->warnings);
}

void api_done(struct api *a) {
    clear(a);
    sl_vec_free(&a->warnings);
    sl_apiserver_free(a->server);
    while (uv_run(&a->loop, UV_RUN_NOWAIT))
        ;
    sl_assert(uv_loop_close(&a->loop) == 0);
}

static char *copy(const char *s, size_t len) {
    char *out = sl_alloc(len + 1);
    memcpy(out, s, len);
    out[len] = '\0';
    return out;
}

static void on_answer(void *ctx, const struct sl_api_answer *r) {
    struct api *a = ctx;

    a->answered = true;
    a->status = r->status;
    a->body = copy(r->body, r->len);
    a->len = r->len;
    a->type = copy(r->content_type, strlen(r->content_type));
    a->doc = yyjson_read(a->body, a->len, 0);
    for (uint32_t i = 0; r->warnings && r->warnings[i]; i++)
        *sl_vec_push(&a->warnings) = copy(r->warnings[i], strlen(r->warnings[i]));
}

static void on_begin(void *ctx, const char *type) {
    (void)ctx;
    (void)type;
    abort(); /* a stream where an answer was expected */
}

/* "GET /path?query" in its parts. */
static struct sl_api_request request(const char *line, char **ret_text) {
    char *text = *ret_text = copy(line, strlen(line));
    char *path = strchr(text, ' ');
    *path++ = '\0';
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    static const char *const groups[] = {"system:masters", "system:authenticated", NULL};
    return (struct sl_api_request){.method = text,
                                   .path = path,
                                   .query = query ? query : "",
                                   .user_agent = "test/1",
                                   .user = "admin",
                                   .groups = groups};
}

int api_send(struct api *a, const char *line, const char *type, const char *accept,
             const char *body, size_t len) {
    char *text;
    struct sl_api_request rq = request(line, &text);
    struct sl_api_sink sink = {.ctx = a, .answer = on_answer, .begin = on_begin};

    clear(a);
    rq.accept = accept ? accept : "";
    rq.content_type = type ? type : body ? "application/json" : "";
    rq.body = body;
    rq.len = len;
    (void)sl_apiserver_call(a->server, &rq, &sink);
    sl_assert(!a->answered);
    sl_freep(&text);
    while (!a->answered)
        (void)uv_run(&a->loop, UV_RUN_ONCE);
    return a->status;
}

int api_do(struct api *a, const char *line, const char *type, const char *accept,
           const char *body) {
    return api_send(a, line, type, accept, body, body ? strlen(body) : 0);
}

static int with(struct api *a, const char *method, const char *path, const char *type,
                const char *body) {
    char *line = NULL;
    int status;

    sl_assert(asprintf(&line, "%s %s", method, path) > 0);
    status = api_do(a, line, type, NULL, body);
    free(line);
    return status;
}

int api_get(struct api *a, const char *path) {
    return with(a, "GET", path, NULL, NULL);
}

int api_post(struct api *a, const char *path, const char *body) {
    return with(a, "POST", path, NULL, body);
}

int api_put(struct api *a, const char *path, const char *body) {
    return with(a, "PUT", path, NULL, body);
}

int api_patch(struct api *a, const char *path, const char *kind, const char *body) {
    const char *type = strcmp(kind, "json") == 0        ? "application/json-patch+json"
                       : strcmp(kind, "merge") == 0     ? "application/merge-patch+json"
                       : strcmp(kind, "strategic") == 0 ? "application/strategic-merge-patch+json"
                                                        : "application/apply-patch+yaml";
    return with(a, "PATCH", path, type, body);
}

int api_delete(struct api *a, const char *path, const char *body) {
    return with(a, "DELETE", path, NULL, body);
}

static yyjson_val *value_at(struct api *a, const char *path) {
    yyjson_val *v = a->doc ? yyjson_doc_get_root(a->doc) : NULL;
    char key[256];

    while (v && *path) {
        size_t n = strcspn(path, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, path);
        v = yyjson_is_arr(v) ? yyjson_arr_get(v, (size_t)strtoul(key, NULL, 10))
                             : yyjson_obj_get(v, key);
        path += n + (path[n] == '.');
    }
    return v;
}

const char *api_at(struct api *a, const char *path) {
    static char text[64];
    yyjson_val *v = value_at(a, path);

    if (yyjson_is_str(v))
        return yyjson_get_str(v);
    if (yyjson_is_int(v))
        (void)snprintf(text, sizeof text, "%lld", (long long)yyjson_get_sint(v));
    else if (yyjson_is_bool(v))
        (void)snprintf(text, sizeof text, "%s", yyjson_get_bool(v) ? "true" : "false");
    else
        text[0] = '\0';
    return text;
}

int api_size(struct api *a, const char *path) {
    yyjson_val *v = value_at(a, path);
    return yyjson_is_arr(v) || yyjson_is_obj(v) ? (int)yyjson_get_len(v) : -1;
}

void api_turn(struct api *a, int n) {
    for (int i = 0; i < n; i++)
        (void)uv_run(&a->loop, UV_RUN_NOWAIT);
}

/* ---- streams ---- */

static void on_refused(void *ctx, const struct sl_api_answer *r) {
    struct stream *s = ctx;
    s->status = r->status;
    s->ended = true;
}

static void on_stream(void *ctx, const char *type) {
    (void)type;
    ((struct stream *)ctx)->begun = true;
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    struct stream *s = ctx;
    *sl_vec_push(&s->lines) = copy(bytes, len);
    return !s->slow;
}

static void on_end(void *ctx) {
    ((struct stream *)ctx)->ended = true;
}

struct stream *api_watch_as(struct api *a, const char *line, const char *accept) {
    struct stream *s = sl_alloc0(1, sizeof *s);
    struct sl_api_sink sink = {
        .ctx = s, .answer = on_refused, .begin = on_stream, .piece = on_piece, .end = on_end};
    char *text;
    struct sl_api_request rq = request(line, &text);

    s->api = a;
    rq.accept = accept;
    s->call = sl_apiserver_call(a->server, &rq, &sink);
    sl_freep(&text);
    while (!s->begun && !s->ended)
        (void)uv_run(&a->loop, UV_RUN_ONCE);
    return s;
}

struct stream *api_watch(struct api *a, const char *line) {
    return api_watch_as(a, line, "");
}

void stream_free(struct stream *s) {
    if (!s->ended)
        sl_apiserver_cancel(s->api->server, s->call);
    for (uint32_t i = 0; i < s->lines.n; i++)
        sl_freep(&s->lines.v[i]);
    sl_vec_free(&s->lines);
    sl_freep(&s);
}

const char *stream_event(struct stream *s, uint32_t i) {
    static char text[300];
    yyjson_doc *doc;

    text[0] = '\0';
    if (i >= s->lines.n)
        return text;
    doc = yyjson_read(s->lines.v[i], strlen(s->lines.v[i]), 0);
    yyjson_val *v = yyjson_doc_get_root(doc), *o = yyjson_obj_get(v, "object");
    const char *type = yyjson_get_str(yyjson_obj_get(v, "type"));
    const char *name = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(o, "metadata"), "name"));
    if (!name)
        name = yyjson_get_str(yyjson_obj_get(o, "reason"));
    (void)snprintf(text, sizeof text, "%s%s%s", type ? type : "", name ? " " : "",
                   name ? name : "");
    yyjson_doc_free(doc);
    return text;
}
