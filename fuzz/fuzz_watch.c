/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server sends, to a reflector: pages of lists, lines of watches, ends of both. Each line of
 * the input is one thing that comes, named by its first byte, and is ignored where it cannot come:
 *     l BODY       the answer 200 to a list
 *     e LINE       a line of the watch
 *     s NNN BODY   the end of the list or the watch, with this status
 *     t            a second passes
 * However bad it is, the owner only hears of objects, in an order that makes sense; one call is
 * open at a time; what is asked for is a clean URL; and the reflector always has something to wait
 * for.
 */
#include "kube/informer/reflector.h"

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#define PATH "/apis/batch/v1/jobs"

struct stage {
    struct sl_kube_client client;
    struct sl_reflector *r;
    sl_kube_reply_fn done; /* of the open call */
    sl_kube_line_fn line;
    void *ctx;
    uint64_t calls;
    bool open, listing; /* between begin and synced */
};

static sl_kube_call start(struct sl_kube_client *p, const char *path, sl_kube_line_fn line,
                          sl_kube_reply_fn done, void *ctx) {
    struct stage *g = SL_CONTAINER_OF(p, struct stage, client);

    sl_assert(!g->open);
    sl_assert(strncmp(path, PATH, strlen(PATH)) == 0 && strlen(path) < 65536);
    for (const char *c = path; *c; c++)
        sl_assert(*c > ' ' && *c < 0x7f && *c != '"' && *c != '#');
    g->open = true;
    g->line = line;
    g->done = done;
    g->ctx = ctx;
    return (sl_kube_call){++g->calls};
}

static sl_kube_call on_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_reply_fn done, void *ctx) {
    return start(p, rq->path, NULL, done, ctx);
}

static sl_kube_call on_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                             sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    return start(p, rq->path, line, done, ctx);
}

static void on_cancel(struct sl_kube_client *p, sl_kube_call c) {
    struct stage *g = SL_CONTAINER_OF(p, struct stage, client);

    if (c.v == g->calls)
        g->open = false;
}

static const struct sl_kube_client_ops ops = {on_request, on_watch, on_cancel};

static void on_begin(void *ctx) {
    ((struct stage *)ctx)->listing = true;
}

static void on_object(void *ctx, yyjson_val *o) {
    struct stage *g = ctx;

    sl_assert(yyjson_is_obj(o));
    sl_assert(g->listing ||
              yyjson_is_str(yyjson_obj_get(yyjson_obj_get(o, "metadata"), "resourceVersion")));
}

static void on_gone(void *ctx, yyjson_val *o) {
    sl_assert(yyjson_is_obj(o) && !((struct stage *)ctx)->listing);
}

static void on_synced(void *ctx, bool exists) {
    struct stage *g = ctx;

    (void)exists;
    sl_assert(g->listing);
    g->listing = false;
}

static void end(struct stage *g, int status, const char *body, size_t len) {
    struct sl_kube_reply r = {.status = status,
                              .body = body,
                              .len = len,
                              .retry_after = status % 3 * SL_SEC,
                              .text = "text",
                              .too_long = status == 0};

    g->open = false;
    g->done(g->ctx, &r);
}

static void one(struct stage *g, const char *s, size_t len) {
    /* Exactly so long, so that a sanitiser sees a read past the end. */
    char *rest = malloc(len > 0 ? len - 1 : 1);
    size_t n = len > 0 ? len - 1 : 0;

    if (n > 0)
        memcpy(rest, s + 1, n);
    if (len > 0 && *s == 't')
        g->client.mono += SL_SEC;
    else if (len > 0 && g->open && *s == 'l' && !g->line)
        end(g, 200, rest, n);
    else if (len > 0 && g->open && *s == 'e' && g->line)
        g->line(g->ctx, rest, n);
    else if (n >= 3 && g->open && *s == 's')
        end(g, (rest[0] & 7) * 100 + (rest[1] & 15) * 10 + (rest[2] & 15), rest + 3, n - 3);
    free(rest);
    sl_reflector_tick(g->r);
    sl_assert(g->open || sl_reflector_next(g->r) > g->client.mono);
    sl_assert(sl_reflector_next(g->r) < SL_TIME_NEVER || g->open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stage g = {.client.ops = &ops};
    struct sl_reflector_owner owner = {&g, on_begin, on_object, on_gone, on_synced};
    const char *s = (const char *)data, *stop = s + size;

    g.r = sl_reflector_new(&g.client, PATH, "", &owner, size);
    sl_reflector_tick(g.r);
    while (s < stop) {
        const char *nl = memchr(s, '\n', (size_t)(stop - s));
        size_t len = (size_t)((nl ? nl : stop) - s);
        one(&g, s, len);
        s += len + 1;
    }
    sl_assert(strlen(sl_reflector_error(g.r)) < SL_REFLECTOR_ERROR_TEXT);
    sl_reflector_free(g.r);
    sl_assert(!g.open);
    return 0;
}
