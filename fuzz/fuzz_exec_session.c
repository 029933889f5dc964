/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations with containers and ports: exec, attach, port-forward, between a client and a
 * runtime that both do what they like, in any order. The first line of an input is
 * "METHOD PATH?QUERY", the second "UPGRADE|PROTOCOLS|FLAGS"; then steps, each a letter and, where
 * it says so, a number in one byte or so many bytes after it:
 *
 *     c n ...  the client sends these bytes     m n ...  the same as one WebSocket message
 *     s n ...  it opens a SPDY stream: id, flags, "name=value;name=value"
 *     D n ...  its data: id, flags, bytes       X n ...  it resets a stream: id
 *     o n ...  the container writes             e n ...  to its stderr
 *     x n      the command ends with n          y        it could not be run
 *     r        it takes input again             f        it takes none, or does again
 *     R        the client takes again           w n      4 KiB times n wait for the client
 *     p        the client takes nothing more    g        the client is gone
 *     d        the pod is deleted               t        turns of the loop
 *
 * Flags: n, the runtime does not open; u, the upgrade is refused.
 *
 * Ports of this machine are not touched: what is dialled is a socket of this process, which echoes,
 * ends, or does not read, as the port's number says. At the end everything is closed, once.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "api_fz.h"
#include "lib/stream/spdy.h"

#define MAX_STEPS 200u
#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"box\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"     \
    "\"c\",\"image\":\"i\"}]}}"
#define STATUS                                                                                     \
    "{\"status\":{\"phase\":\"Running\",\"hostIP\":\"127.0.0.1\",\"containerStatuses\":[{"         \
    "\"name\":\"c\",\"ready\":true,\"restartCount\":0,\"image\":\"i\",\"imageID\":\"\","           \
    "\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}}]}}"
#define PODS "/api/v1/namespaces/default/pods"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_uv_tcp_connect(uv_connect_t *req, uv_tcp_t *h, const struct sockaddr *to,
                          uv_connect_cb cb);
int __wrap_uv_tcp_connect(uv_connect_t *req, uv_tcp_t *h, const struct sockaddr *to,
                          uv_connect_cb cb);

static struct api_fz api;

/* ---- the runtime ---- */

static struct {
    const struct sl_exec_session_events *ev; /* NULL: nothing is open */
    void *ctx;
    bool refuses, full, held, ended;
} rt;

static int rt_open(void *ctx, const struct sl_exec_session_spec *s,
                   const struct sl_exec_session_events *ev, void *events_ctx, void **ret,
                   struct sl_err *err) {
    sl_assert(ctx == &rt && !rt.ev && *s->container && *s->uid);
    for (uint32_t i = 0; s->argv && s->argv[i]; i++)
        sl_assert(strlen(s->argv[i]) < SIZE_MAX);
    if (rt.refuses)
        return sl_err_set(err, SL_ENOENT, "%s", "there is none");
    rt.ev = ev;
    rt.ctx = events_ctx;
    *ret = &rt;
    return 0;
}

static bool rt_input(void *ctx, void *talk, const char *bytes, size_t len) {
    sl_assert(ctx == talk && rt.ev && bytes && len > 0);
    return !rt.full;
}

static void rt_input_end(void *ctx, void *talk) {
    sl_assert(ctx == talk && rt.ev);
}

static void rt_size(void *ctx, void *talk, uint16_t cols, uint16_t rows) {
    sl_assert(ctx == talk && rt.ev && cols > 0 && rows > 0);
}

static void rt_hold(void *ctx, void *talk, bool hold) {
    sl_assert(ctx == talk && rt.ev && hold != rt.held);
    rt.held = hold;
}

static void rt_close(void *ctx, void *talk) {
    sl_assert(ctx == talk && rt.ev);
    rt.ev = NULL;
}

/* ---- the other end of what is dialled ---- */

static struct {
    uv_tcp_t listener;
    uint32_t open;
    char buf[4096];
    uint16_t next; /* the port that was dialled last */
} port;

static void on_closed(uv_handle_t *h) {
    port.open--;
    sl_freep(&h);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf) {
    (void)h, (void)size;
    *buf = uv_buf_init(port.buf, sizeof port.buf);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf) {
    uv_buf_t echo = uv_buf_init(buf->base, n > 0 ? (unsigned)n : 0);

    if (n > 0)
        (void)uv_try_write(s, &echo, 1);
    else if (n < 0 && !uv_is_closing((uv_handle_t *)s))
        uv_close((uv_handle_t *)s, on_closed);
}

/* 1: echo. 3: some bytes and the end. 5: nothing is read. */
static void on_connection(uv_stream_t *listener, int status) {
    uv_buf_t some = uv_buf_init(port.buf, 1000);

    sl_assert(status == 0);
    uv_tcp_t *h = sl_alloc0(1, sizeof *h);
    sl_assert(uv_tcp_init(listener->loop, h) == 0);
    sl_assert(uv_accept(listener, (uv_stream_t *)h) == 0);
    port.open++;
    if (port.next % 8 == 5)
        return;
    if (port.next % 8 == 3) {
        (void)uv_try_write((uv_stream_t *)h, &some, 1);
        uv_close((uv_handle_t *)h, on_closed);
        return;
    }
    (void)uv_read_start((uv_stream_t *)h, on_alloc, on_read);
}

int __wrap_uv_tcp_connect(uv_connect_t *req, uv_tcp_t *h, const struct sockaddr *to,
                          uv_connect_cb cb) {
    struct sockaddr_in self;
    int len = sizeof self;

    port.next = ntohs(((const struct sockaddr_in *)(const void *)to)->sin_port);
    if (port.next % 2 == 0)
        return UV_ECONNREFUSED;
    sl_assert(uv_tcp_getsockname(&port.listener, (struct sockaddr *)&self, &len) == 0);
    if (port.next % 8 == 7)
        self.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1); /* without a listener */
    return __real_uv_tcp_connect(req, h, (const struct sockaddr *)&self, cb);
}

static void listen_for_links(void) {
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    sl_assert(uv_tcp_init(&api.loop, &port.listener) == 0);
    sl_assert(uv_tcp_bind(&port.listener, (const struct sockaddr *)&any, 0) == 0);
    sl_assert(uv_listen((uv_stream_t *)&port.listener, 128, on_connection) == 0);
}

static void close_link(uv_handle_t *h, void *arg) {
    (void)arg;
    if (h->type == UV_TCP && h != (uv_handle_t *)&port.listener && !uv_is_closing(h))
        uv_close(h, on_closed);
}

/* ---- the client ---- */

static struct {
    sl_api_call call;
    const struct sl_api_upgrade_events *wire;
    void *wire_ctx;
    bool over, refuses, deaf, held, websocket;
    size_t waiting;
} cl;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    sl_assert(ctx == &cl && !cl.over && !cl.wire && a->status >= 200 && a->status < 600);
    cl.over = true;
}

static void cancel(void) {
    if (cl.over)
        return;
    cl.over = true;
    sl_apiserver_cancel(api.s, cl.call);
}

static void on_begin(void *ctx, const char *type) {
    sl_assert(ctx == &cl && !cl.over && type);
}

static void on_upgrade(void *ctx, const char *const *headers,
                       const struct sl_api_upgrade_events *wire, void *wire_ctx) {
    sl_assert(ctx == &cl && !cl.over && !cl.wire);
    for (; *headers; headers += 2)
        sl_assert(headers[1] && !strpbrk(headers[1], "\r\n"));
    cl.wire = wire;
    cl.wire_ctx = wire_ctx;
    if (cl.refuses)
        cancel();
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    sl_assert(ctx == &cl && !cl.over && bytes && len > 0);
    return !cl.deaf;
}

static void on_end(void *ctx) {
    sl_assert(ctx == &cl && !cl.over);
    cl.over = true;
}

static void on_hold(void *ctx, bool hold) {
    sl_assert(ctx == &cl && !cl.over);
    cl.held = hold;
}

static size_t on_waiting(void *ctx) {
    sl_assert(ctx == &cl && !cl.over);
    return cl.waiting;
}

static void say(const char *bytes, size_t len) {
    if (cl.wire && !cl.over && len > 0)
        cl.wire->bytes(cl.wire_ctx, bytes, len);
}

/* Its mask changes nothing. */
static void say_message(const char *bytes, size_t len) {
    struct sl_buf b = SL_BUF(len + 16);

    sl_buf_putc(&b, (char)0x82);
    sl_buf_putc(&b, (char)(0x80 | (len < 126 ? len : 126)));
    if (len >= 126) {
        sl_buf_putc(&b, (char)(len >> 8));
        sl_buf_putc(&b, (char)len);
    }
    sl_buf_add(&b, "\0\0\0", 4);
    sl_buf_add(&b, bytes, len);
    say(b.s, b.len);
    sl_buf_done(&b);
}

/* ---- the client's SPDY ---- */

static z_stream packer;

static void packer_begin(void) {
    struct sl_buf words = SL_BUF(4096);

    memset(&packer, 0, sizeof packer);
    sl_spdy_words(&words);
    sl_assert(deflateInit(&packer, 1) == Z_OK);
    sl_assert(deflateSetDictionary(&packer, (Bytef *)words.s, (uInt)words.len) == Z_OK);
    sl_buf_done(&words);
}

static void put32(struct sl_buf *b, uint32_t v) {
    for (int i = 24; i >= 0; i -= 8)
        sl_buf_putc(b, (char)(v >> i));
}

static void put_pair(struct sl_buf *b, const char *name, size_t n, const char *value, size_t len) {
    put32(b, (uint32_t)n);
    sl_buf_add(b, name, n);
    put32(b, (uint32_t)len);
    sl_buf_add(b, value, len);
}

/* "name=value;name=value", packed. */
static void put_headers(struct sl_buf *b, const char *s, size_t len) {
    struct sl_buf plain = SL_BUF(8192);
    Bytef out[2048];
    uint32_t n = len > 0;

    for (size_t i = 0; i < len; i++)
        n += s[i] == ';';
    put32(&plain, n);
    for (const char *end = s + len; n > 0; n--) {
        const char *stop = memchr(s, ';', (size_t)(end - s));
        stop = stop ? stop : end;
        const char *is = memchr(s, '=', (size_t)(stop - s));
        is = is ? is : stop;
        put_pair(&plain, s, (size_t)(is - s), is < stop ? is + 1 : is,
                 is < stop ? (size_t)(stop - is - 1) : 0);
        s = stop < end ? stop + 1 : end;
    }
    packer.next_in = (Bytef *)plain.s;
    packer.avail_in = (uInt)plain.len;
    do {
        packer.next_out = out;
        packer.avail_out = sizeof out;
        (void)deflate(&packer, Z_SYNC_FLUSH);
        sl_buf_add(b, (char *)out, sizeof out - packer.avail_out);
    } while (packer.avail_out == 0);
    sl_buf_done(&plain);
}

static void frame(char what, const char *bytes, size_t len) {
    struct sl_buf body = SL_BUF(16384), b = SL_BUF(16384);
    uint32_t id = len > 0 ? (unsigned char)bytes[0] : 0, skip = what == 'X' ? 1 : 2,
             flags = len > 1 && what != 'X' ? (unsigned char)bytes[1] : 0;

    bytes += len < skip ? len : skip;
    len -= len < skip ? len : skip;
    if (what == 'D') {
        sl_buf_add(&body, bytes, len);
        put32(&b, id);
    } else {
        put32(&body, id);
        put32(&body, what == 'X' ? 5 : 0); /* cancelled; no other stream */
        if (what == 's') {
            sl_buf_add(&body, "\0", 2);
            put_headers(&body, bytes, len);
        }
        put32(&b, 0x80030000u | (what == 's' ? 1u : 3u));
    }
    put32(&b, flags << 24 | (uint32_t)body.len);
    sl_buf_add(&b, body.s, body.len);
    if (cl.websocket)
        say_message(b.s, b.len);
    else
        say(b.s, b.len);
    sl_buf_done(&body);
    sl_buf_done(&b);
}

/* ---- the steps ---- */

static void delete_pod(void) {
    struct sl_api_request rq =
        api_fz_request("DELETE", PODS "/box", "gracePeriodSeconds=0", "", "", 0);

    (void)api_fz_ask(&api, &rq);
}

static void make_pod(void) {
    struct sl_api_request rq = api_fz_request("POST", PODS, "", SL_JSON, POD, strlen(POD));

    if (api_fz_ask(&api, &rq) != 201)
        return;
    rq = api_fz_request("PATCH", PODS "/box/status", "", SL_MERGE_PATCH, STATUS, strlen(STATUS));
    sl_assert(api_fz_ask(&api, &rq) == 200);
}

/* Of the runtime: nothing comes after the end. */
static void runtime_step(char what, const char *bytes, size_t len) {
    if (!rt.ev || rt.ended)
        return;
    if (what == 'r') {
        rt.full = false;
        rt.ev->writable(rt.ctx);
    } else if (what == 'x' || what == 'y') {
        rt.ended = true;
        rt.ev->ended(rt.ctx, what == 'x' ? (int)len : 0, what == 'y' ? "it cannot be run" : NULL);
    } else if (!rt.held && len > 0) {
        rt.ev->output(rt.ctx, what == 'e', bytes, len);
    }
}

static void step(char what, const char *bytes, size_t len) {
    switch (what) {
    case 'c':
        say(bytes, len);
        break;
    case 'm':
        say_message(bytes, len);
        break;
    case 's':
    case 'D':
    case 'X':
        frame(what, bytes, len);
        break;
    case 'f':
        rt.full = !rt.full;
        break;
    case 'R':
        cl.waiting = 0;
        if (cl.wire && !cl.over)
            cl.wire->writable(cl.wire_ctx);
        break;
    case 'w':
        cl.waiting = len * 4096;
        break;
    case 'p':
        cl.deaf = true;
        break;
    case 'g':
        cancel();
        break;
    case 'd':
        delete_pod();
        break;
    case 't':
        api_fz_turn(&api, 4);
        break;
    default:
        runtime_step(what, bytes, len);
        break;
    }
    api_fz_turn(&api, 1);
}

static bool is_one_of(char c, const char *letters) {
    return c && strchr(letters, c);
}

static void play(const char *s, size_t size) {
    for (uint32_t i = 0; size > 0 && i < MAX_STEPS; i++) {
        char what = *s++;
        size--;
        if (!is_one_of(what, "cmsDXoexw") || size == 0) {
            step(what, s, 0);
            continue;
        }
        size_t n = (unsigned char)*s++, bytes = n < --size ? n : size;
        bool number = is_one_of(what, "xw");
        step(what, s, number ? n : bytes);
        s += number ? 0 : bytes;
        size -= number ? 0 : bytes;
    }
}

/* ---- an input ---- */

static void begin(char *first, char *second) {
    const struct sl_api_sink sink = {.ctx = &cl,
                                     .answer = on_answer,
                                     .begin = on_begin,
                                     .piece = on_piece,
                                     .end = on_end,
                                     .upgrade = on_upgrade,
                                     .hold = on_hold,
                                     .waiting = on_waiting};
    char *path = strchr(first, ' '), *query, *protocols = strchr(second, '|'), *flags;

    if (path)
        *path++ = '\0';
    query = path ? strchr(path, '?') : NULL;
    if (query)
        *query++ = '\0';
    if (protocols)
        *protocols++ = '\0';
    flags = protocols ? strchr(protocols, '|') : NULL;
    if (flags)
        *flags++ = '\0';
    const struct sl_api_upgrade up = {.to = second,
                                      .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                      .version = "13",
                                      .protocols = protocols ? protocols : "",
                                      .streams = protocols ? protocols : ""};
    struct sl_api_request rq =
        api_fz_request(first, path ? path : "", query ? query : "", "", "", 0);

    rq.upgrade = *second ? &up : NULL;
    cl.websocket = strcmp(second, "websocket") == 0;
    rt.refuses = flags && strchr(flags, 'n');
    cl.refuses = flags && strchr(flags, 'u');
    cl.call = sl_apiserver_call(api.s, &rq, &sink);
    for (uint32_t i = 0; i < 100 && !cl.over && !cl.wire; i++)
        api_fz_turn(&api, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sl_api_kubelet runtime = {
        .ctx = &rt,
        .session_open = rt_open,
        .session_input = rt_input,
        .session_input_end = rt_input_end,
        .session_size = rt_size,
        .session_hold = rt_hold,
        .session_close = rt_close,
    };
    const char *one = memchr(data, '\n', size);
    size_t head = one ? (size_t)(one - (const char *)data) + 1 : size;
    const char *two = one ? memchr(one + 1, '\n', size - head) : NULL;
    size_t heads = two ? (size_t)(two - (const char *)data) + 1 : size;

    if (!api.s) {
        (void)signal(SIGPIPE, SIG_IGN); /* as sluice up does: the other end may be gone */
        api_fz_start(&api, (struct sl_apiserver_spec){0});
        sl_apiserver_runtime(api.s, &runtime);
        listen_for_links();
    }
    make_pod();
    memset(&cl, 0, sizeof cl);
    rt.full = rt.held = rt.ended = false;
    char *text = sl_alloc0(heads + 1, 1), *at = text;
    memcpy(text, data, heads);
    char *first = api_fz_line(&at), *second = api_fz_line(&at);
    packer_begin();
    begin(first, second ? second : text + heads);
    play((const char *)data + heads, size - heads);
    cancel();
    (void)deflateEnd(&packer);
    sl_freep(&text);
    api_fz_turn(&api, 4);
    sl_assert(!rt.ev); /* what was opened is closed */
    for (uint32_t i = 0; i < 1000 && port.open > 0; i++) {
        if (i > 4)
            uv_walk(&api.loop, close_link, NULL);
        api_fz_turn(&api, 1);
    }
    sl_assert(port.open == 0);
    return 0;
}
