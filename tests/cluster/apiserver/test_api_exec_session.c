/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/exec, pods/attach and pods/portforward: what is refused, and what goes over the wire,
 * between a runtime and a client that are both of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <malloc.h>
#include <zlib.h>

#include "api.h"
#include "lib/stream/spdy.h"

#define EXEC "GET /api/v1/namespaces/default/pods/box/exec?"
#define FORWARD "GET /api/v1/namespaces/default/pods/box/portforward?"

/* ---- a runtime ---- */

static struct {
    struct sl_buf log; /* the calls it got */
    const struct sl_exec_session_events *ev;
    void *ctx;
    const char *refuses; /* to open; NULL */
    bool full;           /* takes no more input for now */
} rt;

static int rt_open(void *ctx, const struct sl_exec_session_spec *s,
                   const struct sl_exec_session_events *ev, void *events_ctx, void **ret,
                   struct sl_err *err) {
    assert_ptr_equal(ctx, &rt);
    sl_buf_printf(&rt.log, "[open %s/%s/%s%s%s%s%s", s->ns, s->pod, s->container,
                  s->in ? " in" : "", s->out ? " out" : "", s->err ? " err" : "",
                  s->tty ? " tty" : "");
    for (uint32_t i = 0; s->argv && s->argv[i]; i++)
        sl_buf_printf(&rt.log, " '%s'", s->argv[i]);
    sl_buf_puts(&rt.log, s->argv ? "]" : " attach]");
    if (rt.refuses)
        return sl_err_set(err, SL_ENOENT, "%s", rt.refuses);
    rt.ev = ev;
    rt.ctx = events_ctx;
    *ret = &rt;
    return 0;
}

static bool rt_input(void *ctx, void *talk, const char *bytes, size_t len) {
    assert_ptr_equal(ctx, talk);
    sl_buf_printf(&rt.log, "[in %.*s]", (int)len, bytes);
    return !rt.full;
}

static void rt_input_end(void *ctx, void *talk) {
    assert_ptr_equal(ctx, talk);
    sl_buf_puts(&rt.log, "[end]");
}

static void rt_size(void *ctx, void *talk, uint16_t cols, uint16_t rows) {
    assert_ptr_equal(ctx, talk);
    sl_buf_printf(&rt.log, "[size %u %u]", cols, rows);
}

static void rt_hold(void *ctx, void *talk, bool hold) {
    assert_ptr_equal(ctx, talk);
    sl_buf_puts(&rt.log, hold ? "[hold]" : "[go on]");
}

static void rt_close(void *ctx, void *talk) {
    assert_ptr_equal(ctx, talk);
    rt.ev = NULL;
    sl_buf_puts(&rt.log, "[close]");
}

static const struct sl_api_kubelet runtime = {
    .ctx = &rt,
    .session_open = rt_open,
    .session_input = rt_input,
    .session_input_end = rt_input_end,
    .session_size = rt_size,
    .session_hold = rt_hold,
    .session_close = rt_close,
};

static void assert_runtime_calls(const char *what) {
    assert_string_equal(sl_buf_str(&rt.log), what);
    sl_buf_clear(&rt.log);
}

/* ---- a client ---- */

static struct {
    struct api *api;
    sl_api_call call;
    int status; /* of an answer; 101: a wire */
    struct sl_buf text, headers, got;
    const struct sl_api_upgrade_events *wire;
    void *wire_ctx;
    bool held, ended, refuses;
    size_t waiting;
} cl;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    assert_ptr_equal(ctx, &cl);
    cl.status = a->status;
    yyjson_doc *d = yyjson_read(a->body, a->len, 0);
    const char *m = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(d), "message"));
    sl_buf_puts(&cl.text, m ? m : "");
    yyjson_doc_free(d);
}

static void on_upgrade(void *ctx, const char *const *headers,
                       const struct sl_api_upgrade_events *wire, void *wire_ctx) {
    assert_ptr_equal(ctx, &cl);
    cl.status = 101;
    for (; *headers; headers += 2)
        sl_buf_printf(&cl.headers, "%s: %s\n", headers[0], headers[1]);
    cl.wire = wire;
    cl.wire_ctx = wire_ctx;
    if (cl.refuses) /* as the front end does when there are too many */
        sl_apiserver_cancel(cl.api->server, cl.call);
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    assert_ptr_equal(ctx, &cl);
    assert_false(cl.refuses);
    sl_buf_add(&cl.got, bytes, len);
    return true;
}

static void on_end(void *ctx) {
    assert_ptr_equal(ctx, &cl);
    cl.ended = true;
}

static void on_hold(void *ctx, bool hold) {
    assert_ptr_equal(ctx, &cl);
    cl.held = hold;
}

static size_t on_waiting(void *ctx) {
    assert_ptr_equal(ctx, &cl);
    return cl.waiting;
}

static int open_upgrade_as(struct api *a, const char *line, const struct sl_api_upgrade *up) {
    const struct sl_api_sink sink = {.ctx = &cl,
                                     .answer = on_answer,
                                     .piece = on_piece,
                                     .end = on_end,
                                     .upgrade = on_upgrade,
                                     .hold = on_hold,
                                     .waiting = on_waiting};
    char text[500], *path, *query;
    bool refuses = cl.refuses;

    sl_buf_done(&cl.text);
    sl_buf_done(&cl.headers);
    sl_buf_done(&cl.got);
    memset(&cl, 0, sizeof cl);
    cl.api = a;
    cl.refuses = refuses;
    sl_buf_init(&cl.text, 4096);
    sl_buf_short(&cl.text);
    sl_buf_init(&cl.headers, 4096);
    sl_buf_short(&cl.headers);
    sl_buf_init(&cl.got, 1 << 20);
    sl_buf_short(&cl.got);
    (void)snprintf(text, sizeof text, "%s", line);
    path = strchr(text, ' ');
    *path++ = '\0';
    query = strchr(path, '?');
    *query++ = '\0';
    cl.call = sl_apiserver_call(
        a->server,
        &(struct sl_api_request){
            .method = text, .path = path, .query = query, .user = "admin", .upgrade = up},
        &sink);
    assert_int_equal(cl.status, 0);
    while (!cl.status)
        (void)uv_run(&a->loop, UV_RUN_ONCE);
    return cl.status;
}

static int open_upgrade(struct api *a, const char *line, const char *protocol) {
    return open_upgrade_as(a, line,
                           &(struct sl_api_upgrade){.to = "websocket",
                                                    .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                                    .version = "13",
                                                    .protocols = protocol,
                                                    .streams = ""});
}

/* One message, as a client sends it; its mask changes nothing. */
static void send_bytes(const char *bytes, size_t len) {
    char head[6] = {(char)0x82, (char)(0x80 | len), 0, 0, 0, 0};

    assert_true(len < 126);
    cl.wire->bytes(cl.wire_ctx, head, sizeof head);
    cl.wire->bytes(cl.wire_ctx, bytes, len);
}
#define SAY(literal) send_bytes(literal, sizeof(literal) - 1)

/* What has come since the last time: "1:text|3:text|", "close|". */
static const char *received(void) {
    static struct sl_buf text;
    size_t at = 0;

    sl_buf_done(&text);
    sl_buf_init(&text, 1 << 20);
    while (at < cl.got.len) {
        const uint8_t *p = (const uint8_t *)cl.got.s + at;
        size_t n = p[1], head = 2;
        if (n == 126) {
            n = (size_t)p[2] << 8 | p[3];
            head = 4;
        }
        assert_true(n < 126 || head == 4);
        if (p[0] == 0x88)
            sl_buf_puts(&text, "close|");
        else
            sl_buf_printf(&text, "%u:%.*s|", p[head], (int)n - 1, (const char *)p + head + 1);
        at += head + n;
    }
    sl_buf_clear(&cl.got);
    return sl_buf_str(&text);
}

static void client_done(void) {
    sl_buf_done(&cl.text);
    sl_buf_done(&cl.headers);
    sl_buf_done(&cl.got);
    memset(&cl, 0, sizeof cl);
    (void)received();
}

/* ---- a cluster ---- */

static void make_pod(struct api *a, const char *name, const char *node, const char *containers,
                     const char *status) {
    char text[1000], path[200];

    (void)snprintf(text, sizeof text,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},"
                   "\"spec\":{\"nodeName\":\"%s\",\"containers\":[%s]}}",
                   name, node, containers);
    assert_int_equal(api_post(a, "/api/v1/namespaces/default/pods", text), 201);
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/default/pods/%s/status", name);
    assert_int_equal(api_patch(a, path, "merge", status), 200);
}

static void begin(struct api *a) {
    static const char main[] = "{\"name\":\"main\",\"image\":\"host\"}";
    static const char running[] =
        "{\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.1.1.1\",\"containerStatuses\":[{"
        "\"name\":\"main\",\"image\":\"host\",\"imageID\":\"\",\"ready\":true,\"restartCount\":0,"
        "\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}}]}}";

    memset(&rt, 0, sizeof rt);
    sl_buf_init(&rt.log, 1 << 20);
    api_init(a);
    sl_apiserver_runtime(a->server, &runtime);
    make_pod(a, "box", "here", main, running);
    make_pod(a, "two", "here",
             "{\"name\":\"a\",\"image\":\"host\"},{\"name\":\"b\",\"image\":\"host\"}", running);
    make_pod(a, "late", "here", main, "{\"status\":{\"phase\":\"Pending\"}}");
    make_pod(a, "homeless", "", main, "{\"status\":{\"phase\":\"Pending\"}}");
    make_pod(a, "simulated", "sim-0000", main, "{\"status\":{\"phase\":\"Running\"}}");
}

static void end(struct api *a) {
    api_done(a);
    sl_buf_done(&rt.log);
    client_done();
}

/* ---- what is refused ---- */

static void test_refused(void **state) {
    static const struct {
        const char *line;
        int status;
        const char *words;
        const char *to, *protocols; /* NULL: no upgrade is requested */
    } t[] = {
        {"GET /api/v1/namespaces/default/pods/nobody/exec?command=a&stdout=1", 404,
         "pods \"nobody\" not found", "websocket", "v5.channel.k8s.io"},
        {EXEC "command=a&stdout=1&container=no", 400, "container no is not valid for pod box",
         "websocket", "v5.channel.k8s.io"},
        {"GET /api/v1/namespaces/default/pods/two/exec?command=a&stdout=1", 400,
         "a container name must be specified for pod two, choose one of: [a b]", "websocket", ""},
        {"GET /api/v1/namespaces/default/pods/homeless/exec?command=a&stdout=1", 400,
         "pod homeless does not have a host assigned", "websocket", ""},
        {"GET /api/v1/namespaces/default/pods/late/exec?command=a&stdout=1", 500,
         "container not found (\"main\")", "websocket", ""},
        {EXEC "command=a", 400, "you must specify at least 1 of stdin, stdout, stderr", "websocket",
         ""},
        {EXEC "command=a&stderr=true&tty=true&stdin=false&stdout=0", 400,
         "you must specify at least 1 of stdin, stdout, stderr", "websocket", ""},
        {EXEC "stdout=1", 400, "you must specify a command", "websocket", ""},
        {EXEC "stdout=1&command=true%00x", 400, "a command must not contain a NUL character",
         "websocket", ""},
        {EXEC "command=a&stdout=1", 400, "Upgrade request required", NULL, NULL},
        {"POST /api/v1/namespaces/default/pods/box/attach?stdout=1", 400,
         "Upgrade request required", NULL, NULL},
        {FORWARD, 400, "Upgrade request required", NULL, NULL},
        {EXEC "command=a&stdout=1", 400, "Upgrade request required", "h2c", ""},
        {"POST /api/v1/namespaces/default/pods/box/exec?command=a&stdout=1", 400,
         "the WebSocket handshake is wrong: it is a GET with Sec-WebSocket-Version 13 and a "
         "Sec-WebSocket-Key",
         "websocket", ""},
        {EXEC "command=a&stdout=1", 400,
         "unable to upgrade: unable to negotiate protocol: client supports [v9, x], server accepts "
         "[v5.channel.k8s.io v4.channel.k8s.io channel.k8s.io]",
         "websocket", "v9, x"},
        {EXEC "command=a&stdout=1", 403,
         "unable to upgrade: unable to negotiate protocol: client supports [v9, x], server accepts "
         "[v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
         "SPDY/3.1", "v9, x"},
        {FORWARD, 400, "query parameter \"ports\" is required", "websocket", "v4.channel.k8s.io"},
        {FORWARD "ports=80&ports=x", 400,
         "unable to parse \"x\" as a port, or there are more than 16", "websocket",
         "v4.channel.k8s.io"},
        {FORWARD "ports=70000", 400,
         "unable to parse \"70000\" as a port, or there are more than 16", "websocket",
         "v4.channel.k8s.io"},
        {"GET /api/v1/namespaces/default/pods/homeless/portforward?", 400,
         "pod homeless does not have a host assigned", "SPDY/3.1", "portforward.k8s.io"},
    };
    struct api a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < SL_LEN(t); i++) {
        const struct sl_api_upgrade up = {.to = t[i].to,
                                          .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                          .version = "13",
                                          .protocols = t[i].protocols,
                                          .streams = t[i].protocols};
        assert_int_equal(open_upgrade_as(&a, t[i].line, t[i].to ? &up : NULL), t[i].status);
        assert_string_equal(sl_buf_str(&cl.text), t[i].words);
    }
    assert_int_equal(api_do(&a, "PUT /api/v1/namespaces/default/pods/box/exec", NULL, NULL, "{}"),
                     405);
    sl_apiserver_runtime(a.server, NULL);
    assert_int_equal(open_upgrade(&a, EXEC "command=a&stdout=1", ""), 500);
    assert_runtime_calls("");
    end(&a);
}

/* ---- conversations ---- */

static void test_exec(void **state) {
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(open_upgrade(&a,
                                  EXEC "command=sh&command=-c&command=a%20b&stdin=true&stdout=true&"
                                       "stderr=true&container=main",
                                  "v5.channel.k8s.io, v4.channel.k8s.io"),
                     101);
    assert_string_equal(cl.headers.s, "Connection: Upgrade\nUpgrade: websocket\n"
                                      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n"
                                      "Sec-WebSocket-Protocol: v5.channel.k8s.io\n");
    assert_runtime_calls("[open default/box/main in out err 'sh' '-c' 'a b']");
    assert_string_equal(received(), "1:|"); /* for clients that wait for a first message */
    SAY("\0hello");
    SAY("\2 not theirs to write");
    SAY("\4{\"Width\":80,\"Height\":24}"); /* there is no terminal */
    SAY("\xff\0");
    SAY("\0late");
    assert_runtime_calls("[in hello][end]");
    rt.ev->output(rt.ctx, false, "out", 3);
    rt.ev->output(rt.ctx, true, "err", 3);
    assert_string_equal(received(), "1:out|2:err|");
    rt.ev->ended(rt.ctx, 3, NULL);
    assert_string_equal(
        received(),
        "3:{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated with "
        "non-zero exit code: exit status 3\",\"reason\":\"NonZeroExitCode\",\"details\":{"
        "\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"3\"}]}}|close|");
    assert_true(cl.ended);
    assert_runtime_calls("[close]");
    end(&a);
}

static void test_last_words(void **state) {
    static const struct {
        const char *protocol;
        int code;
        const char *why, *words;
    } t[] = {
        {"v4.channel.k8s.io", 0, NULL, "3:{\"metadata\":{},\"status\":\"Success\"}|close|"},
        {"v4.channel.k8s.io", 127, "no \"x\"",
         "3:{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Internal error occurred: error "
         "executing command in container: no \\\"x\\\"\",\"reason\":\"InternalError\",\"details\":{"
         "\"causes\":[{\"message\":\"error executing command in container: no "
         "\\\"x\\\"\"}]},\"code\":500}|close|"},
        {"channel.k8s.io", 0, NULL, "close|"},
        {"", 2, NULL, "3:command terminated with non-zero exit code: exit status 2|close|"},
    };
    struct api a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < SL_LEN(t); i++) {
        assert_int_equal(open_upgrade(&a, EXEC "command=x&stdout=1", t[i].protocol), 101);
        (void)received();
        rt.ev->ended(rt.ctx, t[i].code, t[i].why);
        assert_string_equal(received(), t[i].words);
        assert_true(cl.ended);
        assert_runtime_calls("[open default/box/main out 'x'][close]");
    }
    rt.refuses = "it is not there";
    assert_int_equal(open_upgrade(&a, EXEC "command=x&stderr=1", "v4.channel.k8s.io"), 101);
    assert_non_null(strstr(received(), "error executing command in container: it is not there"));
    assert_true(cl.ended);
    assert_runtime_calls("[open default/box/main err 'x']");
    end(&a);
}

static void test_terminal(void **state) {
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(open_upgrade(&a,
                                  "GET /api/v1/namespaces/default/pods/box/attach?stdin=1&stdout=1&"
                                  "stderr=1&tty=1&command=ignored",
                                  "v4.channel.k8s.io"),
                     101);
    assert_runtime_calls("[open default/box/main in out tty attach]");
    SAY("\4{\"Width\":80,\"Hei");
    SAY("\4ght\":24}\n{\"Width\":0,\"Height\":1}{\"Width\":70000,\"Height\":1}nonsense}[]}");
    for (int i = 0; i < 10; i++) /* longer than any size, and dropped */
        SAY("\4----------------------------------------------------------------------");
    SAY("\4}{\"Height\":9,\"Width\":8}");
    assert_runtime_calls("[size 80 24][size 8 9]");
    sl_apiserver_cancel(a.server, cl.call); /* the client leaves */
    assert_runtime_calls("[close]");
    assert_false(cl.ended);
    end(&a);
}

static void test_waiting(void **state) {
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(open_upgrade(&a, EXEC "command=x&stdout=1&stdin=1", "v5.channel.k8s.io"), 101);
    assert_runtime_calls("[open default/box/main in out 'x']");
    cl.waiting = 300 << 10;
    rt.ev->output(rt.ctx, false, "a", 1);
    rt.ev->output(rt.ctx, false, "b", 1);
    assert_runtime_calls("[hold]");
    cl.waiting = 0;
    cl.wire->writable(cl.wire_ctx);
    cl.wire->writable(cl.wire_ctx);
    assert_runtime_calls("[go on]");
    rt.full = true;
    SAY("\0more");
    assert_true(cl.held);
    rt.full = false;
    rt.ev->writable(rt.ctx);
    assert_false(cl.held);
    assert_runtime_calls("[in more]");
    /* A client that violates the protocol gets an error, and the command is ended. */
    cl.wire->bytes(cl.wire_ctx, "\x82\x01x", 3);
    assert_true(cl.ended);
    assert_string_equal(received(), "1:|1:a|1:b|close|");
    assert_runtime_calls("[close]");
    /* One that is not admitted begins nothing. */
    cl.refuses = true;
    assert_int_equal(open_upgrade(&a, EXEC "command=x&stdout=1", "v5.channel.k8s.io"), 101);
    cl.refuses = false;
    assert_runtime_calls("");
    /* The server ends while a session is open. */
    assert_int_equal(open_upgrade(&a, EXEC "command=x&stdout=1", "v5.channel.k8s.io"), 101);
    api_done(&a);
    assert_runtime_calls("[open default/box/main out 'x'][close]");
    sl_buf_done(&rt.log);
    client_done();
}

/* ---- ports ---- */

static struct {
    uv_tcp_t listener, conn;
    uint16_t port;
    uint32_t conns;
    struct sl_buf got;
    bool ended, closed;
} port;

static void port_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf) {
    static char room[65536];

    (void)h, (void)size;
    *buf = uv_buf_init(room, sizeof room);
}

static void port_closed(uv_handle_t *h) {
    (void)h;
    port.closed = true;
}

static void port_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf) {
    if (n > 0) {
        sl_buf_add(&port.got, buf->base, (size_t)n);
        uv_buf_t out = uv_buf_init(buf->base, (unsigned)n);
        (void)uv_try_write(h, &out, 1);
    } else if (n < 0) {
        port.ended = true;
        if (!uv_is_closing((uv_handle_t *)h))
            uv_close((uv_handle_t *)h, port_closed);
    }
}

static void port_accept(uv_stream_t *h, int status) {
    assert_int_equal(status, 0);
    port.conns++;
    assert_int_equal(uv_tcp_init(h->loop, &port.conn), 0);
    assert_int_equal(uv_accept(h, (uv_stream_t *)&port.conn), 0);
    (void)uv_read_start((uv_stream_t *)&port.conn, port_alloc, port_read);
}

static void port_open(struct api *a) {
    struct sockaddr_in to;
    int len = sizeof to;

    memset(&port, 0, sizeof port);
    sl_buf_init(&port.got, 1 << 20);
    sl_buf_short(&port.got);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &to), 0);
    (void)uv_tcp_init(&a->loop, &port.listener);
    assert_int_equal(uv_tcp_bind(&port.listener, (struct sockaddr *)&to, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&port.listener, 8, port_accept), 0);
    assert_int_equal(uv_tcp_getsockname(&port.listener, (struct sockaddr *)&to, &len), 0);
    port.port = ntohs(to.sin_port);
}

static void until(struct api *a, const char *words) {
    struct sl_buf all;

    sl_buf_init(&all, 1 << 20);
    for (int i = 0; i < 2000 && !strstr(sl_buf_str(&all), words); i++) {
        api_turn(a, 1);
        sl_buf_puts(&all, received());
        uv_sleep(1);
    }
    if (!strstr(sl_buf_str(&all), words))
        fail_msg("'%s' is not in '%s'", words, sl_buf_str(&all));
    sl_buf_done(&all);
}

static void test_forward(void **state) {
    struct api a;
    char line[200];

    (void)state;
    begin(&a);
    port_open(&a);
    (void)snprintf(line, sizeof line, FORWARD "ports=%u,1", port.port);
    assert_int_equal(open_upgrade(&a, line, "v4.channel.k8s.io"), 101);
    SAY("\0hello"); /* before it is connected */
    until(&a, "0:hello|");
    SAY("\0again");
    until(&a, "0:again|");
    assert_string_equal(port.got.s, "helloagain");
    assert_int_equal(port.conns, 1);
    assert_false(cl.held);
    SAY("\xff\0"); /* its half is closed, and so the port closes */
    for (int i = 0; i < 2000 && !port.closed; i++) {
        api_turn(&a, 1);
        uv_sleep(1);
    }
    assert_true(port.ended && port.closed);
    sl_apiserver_cancel(a.server, cl.call);
    /* What cannot be reached is reported on the error channel. */
    assert_int_equal(open_upgrade(&a, FORWARD "ports=1", "v4.channel.k8s.io"), 101);
    until(&a,
          "1:error forwarding port 1 to pod box, uid : dial tcp 127.0.0.1:1: connection refused|");
    sl_apiserver_cancel(a.server, cl.call);
    assert_int_equal(
        open_upgrade(&a, "GET /api/v1/namespaces/default/pods/simulated/portforward?ports=80",
                     "v4.channel.k8s.io"),
        101);
    until(&a, "it runs on the simulated node sim-0000: nothing listens|");
    sl_apiserver_cancel(a.server, cl.call);
    assert_int_equal(open_upgrade(&a,
                                  "GET /api/v1/namespaces/default/pods/late/portforward?ports=80",
                                  "v4.channel.k8s.io"),
                     101);
    until(&a, "the pod is not running|");
    sl_apiserver_cancel(a.server, cl.call);
    uv_close((uv_handle_t *)&port.listener, NULL);
    sl_buf_done(&port.got);
    end(&a);
}

/* The client leaves in the middle: the port's connection is closed. A port that takes nothing makes
 * the client wait. */
static void test_forward_waits(void **state) {
    struct api a;
    char line[200], text[125] = {0};

    (void)state;
    begin(&a);
    port_open(&a);
    (void)snprintf(line, sizeof line, FORWARD "ports=%u", port.port);
    assert_int_equal(open_upgrade(&a, line, "v4.channel.k8s.io"), 101);
    for (int i = 0; i < 2000 && !port.conns; i++) {
        api_turn(&a, 1);
        uv_sleep(1);
    }
    assert_int_equal(port.conns, 1);
    (void)uv_read_stop((uv_stream_t *)&port.conn);
    memset(text + 1, 'x', sizeof text - 1);
    for (int i = 0; i < 200000 && !cl.held; i++) {
        send_bytes(text, sizeof text);
        if (i % 100 == 0)
            api_turn(&a, 1);
    }
    assert_true(cl.held);
    (void)uv_read_start((uv_stream_t *)&port.conn, port_alloc, port_read);
    for (int i = 0; i < 5000 && cl.held; i++) {
        api_turn(&a, 1);
        sl_buf_clear(&cl.got);
    }
    assert_false(cl.held);
    sl_apiserver_cancel(a.server, cl.call);
    for (int i = 0; i < 2000 && !port.closed; i++) {
        api_turn(&a, 1);
        uv_sleep(1);
    }
    assert_true(port.closed);
    uv_close((uv_handle_t *)&port.listener, NULL);
    sl_buf_done(&port.got);
    end(&a);
}

/* ---- SPDY ---- */

static z_stream spdy_pack;

static void put32(struct sl_buf *b, uint32_t v) {
    const char s[4] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};

    sl_buf_add(b, s, sizeof s);
}

static void spdy_begin(void) {
    struct sl_buf words = SL_BUF(SL_SPDY_WORDS + 1);

    memset(&spdy_pack, 0, sizeof spdy_pack);
    sl_spdy_words(&words);
    assert_int_equal(deflateInit(&spdy_pack, 9), Z_OK);
    assert_int_equal(deflateSetDictionary(&spdy_pack, (const Bytef *)words.s, (uInt)words.len),
                     Z_OK);
    sl_buf_done(&words);
}

/* Opens a stream with these headers: pairs, then NULL; 'flags' 1: half-closed. */
static void spdy_open(uint32_t id, uint32_t flags, const char *const *pairs) {
    struct sl_buf plain = SL_BUF(4096), out = SL_BUF(8192);
    Bytef packed[4096];
    uint32_t n = 0;

    while (pairs[n])
        n++;
    put32(&plain, n / 2);
    for (uint32_t i = 0; i < n; i++) {
        put32(&plain, (uint32_t)strlen(pairs[i]));
        sl_buf_puts(&plain, pairs[i]);
    }
    spdy_pack.next_in = (Bytef *)plain.s;
    spdy_pack.avail_in = (uInt)plain.len;
    spdy_pack.next_out = packed;
    spdy_pack.avail_out = sizeof packed;
    assert_int_equal(deflate(&spdy_pack, Z_SYNC_FLUSH), Z_OK);
    uint32_t len = (uint32_t)sizeof packed - spdy_pack.avail_out;
    put32(&out, 0x80030001u);
    put32(&out, flags << 24 | (10 + len));
    put32(&out, id);
    put32(&out, 0);
    sl_buf_add(&out, "\0\0", 2);
    sl_buf_add(&out, (const char *)packed, len);
    cl.wire->bytes(cl.wire_ctx, out.s, out.len);
    sl_buf_done(&plain);
    sl_buf_done(&out);
}

static void spdy_send(uint32_t id, uint32_t flags, const char *text) {
    struct sl_buf out = SL_BUF(8192);

    put32(&out, id);
    put32(&out, flags << 24 | (uint32_t)strlen(text));
    sl_buf_puts(&out, text);
    cl.wire->bytes(cl.wire_ctx, out.s, out.len);
    sl_buf_done(&out);
}

static int spdy_upgrade(struct api *a, const char *line, const char *protocol) {
    return open_upgrade_as(
        a, line,
        &(struct sl_api_upgrade){
            .to = "SPDY/3.1", .key = "", .version = "", .protocols = "", .streams = protocol});
}

/* What a client sends before it has opened all of its streams is not lost, nor is its end. */
static void test_early_words(void **state) {
    static const char *const types[] = {"stdin", "error", "stdout"};
    struct api a;

    (void)state;
    begin(&a);
    for (uint32_t round = 0; round < 3; round++) {
        assert_int_equal(spdy_upgrade(&a, EXEC "command=x&stdout=1&stdin=1", "v4.channel.k8s.io"),
                         101);
        spdy_begin();
        for (uint32_t i = 0; i < SL_LEN(types); i++) {
            const char *const pairs[] = {"streamtype", types[i], NULL};
            spdy_open(2 * i + 1, round == 1 && i == 0, pairs);
            if (i == 0 && round != 1) {
                spdy_send(1, 0, "so ");
                spdy_send(1, round == 2, "early");
            }
            if (i < 2)
                assert_runtime_calls("");
        }
        assert_runtime_calls(round == 0   ? "[open default/box/main in out 'x'][in so early]"
                             : round == 1 ? "[open default/box/main in out 'x'][end]"
                                          : "[open default/box/main in out 'x'][in so early][end]");
        (void)deflateEnd(&spdy_pack);
        sl_apiserver_cancel(a.server, cl.call);
        assert_runtime_calls("[close]");
    }
    /* But there is an end to what is kept. */
    assert_int_equal(spdy_upgrade(&a, EXEC "command=x&stdout=1&stdin=1", "v4.channel.k8s.io"), 101);
    spdy_begin();
    spdy_open(1, 0, (const char *const[]){"streamtype", "stdin", NULL});
    char much[1025];
    memset(much, 'x', sizeof much - 1);
    much[sizeof much - 1] = '\0';
    for (int i = 0; i < 1000 && !cl.ended; i++)
        spdy_send(1, 0, much);
    assert_true(cl.ended);
    assert_runtime_calls("");
    (void)deflateEnd(&spdy_pack);
    end(&a);
}

/* The same of a port. */
static void test_early_bytes(void **state) {
    char number[16];
    struct api a;

    (void)state;
    begin(&a);
    port_open(&a);
    (void)snprintf(number, sizeof number, "%u", port.port);
    assert_int_equal(spdy_upgrade(&a, FORWARD, "portforward.k8s.io"), 101);
    spdy_begin();
    spdy_open(1, 0,
              (const char *const[]){"streamtype", "data", "port", number, "requestid", "7", NULL});
    spdy_send(1, 0, "first");
    spdy_send(1, 1, " and last");
    spdy_open(3, 0,
              (const char *const[]){"streamtype", "error", "port", number, "requestid", "7", NULL});
    for (int i = 0; i < 2000 && !port.closed; i++) {
        api_turn(&a, 1);
        uv_sleep(1);
    }
    assert_string_equal(sl_buf_str(&port.got), "first and last");
    assert_true(port.ended);
    (void)deflateEnd(&spdy_pack);
    sl_apiserver_cancel(a.server, cl.call);
    uv_close((uv_handle_t *)&port.listener, NULL);
    sl_buf_done(&port.got);
    end(&a);
}

/* Many short messages: what is kept of each is much longer. */
static void test_forward_crumbs(void **state) {
    struct api a;
    char line[200], text[125] = {0};

    (void)state;
    begin(&a);
    port_open(&a);
    (void)snprintf(line, sizeof line, FORWARD "ports=%u", port.port);
    assert_int_equal(open_upgrade(&a, line, "v4.channel.k8s.io"), 101);
    for (int i = 0; i < 2000 && !port.conns; i++) {
        api_turn(&a, 1);
        uv_sleep(1);
    }
    (void)uv_read_stop((uv_stream_t *)&port.conn);
    memset(text + 1, 'x', sizeof text - 1);
    for (int i = 0; i < 200000 && !cl.held; i++) {
        send_bytes(text, sizeof text);
        if (i % 100 == 0)
            api_turn(&a, 1);
    }
    assert_true(cl.held); /* what the system takes is full */
    (void)uv_read_start((uv_stream_t *)&port.conn, port_alloc, port_read);
    while (cl.held) {
        api_turn(&a, 1);
        sl_buf_clear(&cl.got);
    }
    (void)uv_read_stop((uv_stream_t *)&port.conn);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 3000000 && !cl.held; i++)
        SAY("\0x");
    assert_true(cl.held);
    struct mallinfo2 after = mallinfo2();
    if (!SL_SANITISED) /* whose heap is another */
        assert_in_range(after.uordblks, 0, before.uordblks + (4 << 20));
    sl_apiserver_cancel(a.server, cl.call);
    for (int i = 0; i < 2000 && !port.closed; i++) {
        if (i == 1)
            (void)uv_read_start((uv_stream_t *)&port.conn, port_alloc, port_read);
        api_turn(&a, 1);
        uv_sleep(1);
    }
    uv_close((uv_handle_t *)&port.listener, NULL);
    sl_buf_done(&port.got);
    end(&a);
}

/* A size that does not end. */
static void test_endless_size(void **state) {
    char text[121];
    struct api a;

    (void)state;
    begin(&a);
    assert_int_equal(open_upgrade(&a, EXEC "command=x&stdout=1&tty=1", "v5.channel.k8s.io"), 101);
    memset(text, ' ', sizeof text);
    text[0] = 4;
    for (int i = 0; i < 5; i++)
        send_bytes(text, sizeof text);
    SAY("\4}");
    SAY("\4{\"Width\":80,\"Height\":24}");
    assert_runtime_calls("[open default/box/main out tty 'x'][size 80 24]");
    for (int i = 0; i < 5; i++)
        send_bytes(text, sizeof text);
    sl_apiserver_cancel(a.server, cl.call);
    assert_runtime_calls("[close]");
    end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_exec),
        cmocka_unit_test(test_last_words),    cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_waiting),       cmocka_unit_test(test_forward),
        cmocka_unit_test(test_forward_waits), cmocka_unit_test(test_early_words),
        cmocka_unit_test(test_early_bytes),   cmocka_unit_test(test_forward_crumbs),
        cmocka_unit_test(test_endless_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
