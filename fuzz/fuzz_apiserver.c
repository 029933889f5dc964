/*
 * Requests to the embedded API server. An input is "METHOD PATH?QUERY", a line
 * "CONTENT-TYPE|ACCEPT", and the body; more of them may follow after a line
 * "----". They go to one server, as they would from a client, and whatever they are: each is
 * answered once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "apiserver/apiserver.h"
#include "base/mem.h"

#define INPUTS_PER_SERVER 2000u /* then a new one, lest it fills up */
#define REQUESTS 8u             /* of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uv_loop_t loop;
static struct sl_apiserver *server;
static uint32_t inputs, answers, streams;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    sl_assert(a->status >= 200 && a->status < 600);
    sl_assert(a->body || !a->len);
    answers++;
}

static void on_begin(void *ctx, const char *type) {
    (void)ctx;
    (void)type;
    streams++;
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    (void)ctx;
    sl_assert(bytes && len > 0);
    return true;
}

static void on_end(void *ctx) {
    (void)ctx;
}

static void stop(void) {
    if (!server)
        return;
    sl_apiserver_free(server);
    server = NULL;
    while (uv_run(&loop, UV_RUN_NOWAIT))
        ;
    sl_assert(uv_loop_close(&loop) == 0);
}

static void start(void) {
    struct sl_err err;

    sl_assert(uv_loop_init(&loop) == 0);
    sl_assert(sl_apiserver_new(
                  &(struct sl_apiserver_spec){.loop = &loop, .version = "v1.36.0", .address = ""},
                  &server, &err) >= 0);
}

/* The next line, without its end; NULL after the last. */
static char *line(char **at) {
    char *s = *at, *end;

    if (!s)
        return NULL;
    end = strchr(s, '\n');
    if (end)
        *end = '\0';
    *at = end ? end + 1 : NULL;
    return s;
}

static void one(char *text) {
    static const char *const groups[] = {"system:masters", NULL};
    struct sl_api_sink sink = {
        .answer = on_answer, .begin = on_begin, .piece = on_piece, .end = on_end};
    char *at = text, *first = line(&at), *types = line(&at);
    char *path = strchr(first, ' '), *query = NULL, *accept = types ? strchr(types, '|') : NULL;
    uint32_t before = answers + streams;

    if (!path)
        return;
    *path++ = '\0';
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    if (accept)
        *accept++ = '\0';
    sl_api_call call =
        sl_apiserver_call(server,
                          &(struct sl_api_request){.method = first,
                                                   .path = path,
                                                   .query = query ? query : "",
                                                   .content_type = types ? types : "",
                                                   .accept = accept ? accept : "",
                                                   .user_agent = "fuzz/1",
                                                   .user = "fuzz",
                                                   .groups = groups,
                                                   .body = at,
                                                   .len = at ? strlen(at) : 0},
                          &sink);
    for (int i = 0; i < 3; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    sl_assert(answers + streams <= before + 1);
    sl_apiserver_cancel(server, call); /* a watch; or a webhook that is being asked */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!server) {
        start();
        (void)atexit(stop);
    }
    if (++inputs % INPUTS_PER_SERVER == 0) {
        stop();
        start();
    }
    char *text = sl_alloc(size + 1), *at = text;
    memcpy(text, data, size);
    text[size] = '\0';
    for (uint32_t i = 0; at && i < REQUESTS; i++) {
        char *next = strstr(at, "\n----\n");
        if (next) {
            *next = '\0';
            next += strlen("\n----\n");
        }
        one(at);
        at = next;
    }
    sl_freep(&text);
    return 0;
}
