/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's calls over plain HTTP: requests and replies, watches, servers that misbehave,
 * cancelling at every awkward moment, ceilings, and the pool of connections. Who we are is in
 * test_client_auth.c.
 */
#include "client_fixture.h"

#define LINES "{\"type\":\"ADDED\"}\n\n{}\nlast one, with a few more bytes in it\n"
#define LINES_GOT "{\"type\":\"ADDED\"}|{}|last one, with a few more bytes in it|"
#define STREAM "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static bool write_chunk(struct conn *c, const char *s, size_t n) {
    char size[32];

    (void)snprintf(size, sizeof size, "%zx\r\n", n);
    return server_puts(c, size) && server_write(c, s, n) && server_puts(c, "\r\n");
}

static bool stream(struct conn *c, const char *text, size_t step) {
    size_t len = strlen(text);

    if (!server_puts(c, STREAM))
        return false;
    for (size_t i = 0; i < len; i += step)
        if (!write_chunk(c, text + i, len - i < step ? len - i : step))
            return false;
    return true;
}

static bool big(struct conn *c, size_t n, const char *headers, const char *end) {
    char *s = sl_alloc(n + 2);

    memset(s, 'x', n);
    s[n] = '\0';
    if (*end)
        s[n++] = *end;
    bool ok = server_reply(c, 200, headers, s, n);
    sl_freep(&s);
    return ok;
}

static bool serve_request(struct conn *c, const struct ask *a) {
    unsigned long n = strtoul(strrchr(a->path, '/') + 1, NULL, 10);

    if (strncmp(a->path, "/echo", 5) == 0) {
        struct sl_buf b;
        sl_buf_init(&b, (size_t)64 << 20);
        sl_buf_printf(&b, "%s\n", a->head);
        sl_buf_add(&b, a->body, a->len);
        bool ok = server_reply(c, 200, "", b.s, b.len);
        sl_buf_done(&b);
        return ok;
    }
    if (strncmp(a->path, "/status/", 8) == 0)
        return server_reply(c, (int)n, "", "why", 3);
    if (strncmp(a->path, "/later/", 7) == 0) {
        char head[64];
        (void)snprintf(head, sizeof head, "Retry-After: %lu\r\n", n);
        return server_reply(c, 429, head, "", 0);
    }
    if (strcmp(a->path, "/moved") == 0)
        return server_reply(c, 302, "Location: /echo\r\n", "", 0);
    if (strcmp(a->path, "/empty") == 0)
        return server_puts(c, "HTTP/1.1 204 None\r\n\r\n");
    if (strncmp(a->path, "/big/", 5) == 0)
        return big(c, n, "", "");
    if (strncmp(a->path, "/line/", 6) == 0)
        return big(c, n, "", "\n");
    if (strcmp(a->path, "/hang") == 0) {
        server_wait(c);
        return false;
    }
    if (strcmp(a->path, "/slow") == 0) {
        usleep(20000);
        return server_reply(c, 200, "", "", 0);
    }
    if (strcmp(a->path, "/half") == 0)
        return server_puts(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.") && false;
    if (strcmp(a->path, "/drop") == 0)
        return false;
    if (strcmp(a->path, "/stale") == 0) /* closes a connection that was used before */
        return c->n == 0 && server_reply(c, 200, "", "fresh", 5);
    if (strcmp(a->path, "/garbage") == 0)
        return server_puts(c, "what do you want\r\n\r\n") && false;
    if (strncmp(a->path, "/watch/", 7) == 0)
        return stream(c, LINES, n) && server_puts(c, "0\r\n\r\n");
    if (strcmp(a->path, "/watch-part") == 0)
        return stream(c, "one\ntw", 100) && server_puts(c, "0\r\n\r\n");
    if (strcmp(a->path, "/watch-cut") == 0)
        return stream(c, "one\ntwo\nthr", 2) && false;
    if (strcmp(a->path, "/watch-open") == 0) {
        if (stream(c, "one\ntwo\nthree\n", 100))
            server_wait(c);
        return false;
    }
    return server_reply(c, 404, "", "no such test", 12);
}

/* ---- the frame of a test ---- */

static struct server server;
static struct fx x;

static int set_up(void **state) {
    (void)state;
    server_start(&server, serve_request, NULL);
    fx_new(&x);
    fx_connect(&x, url_of(&server), "", "");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fx_done(&x);
    server_stop(&server);
    return 0;
}

static bool body_has(const struct got *g, const char *words) {
    return strstr(sl_buf_str(&g->body), words) != NULL;
}

/* ---- requests ---- */

static void requests(void **state) {
    static const struct {
        enum sl_kube_method method;
        const char *type, *body, *first, *last;
    } cases[] = {
        {SL_GET, NULL, NULL, "GET /echo?limit=5&x=a%2Fb HTTP/1.1\r\n", "\n"},
        {SL_POST, SL_JSON, "{}", "POST /echo", "\n{}"},
        {SL_GET, NULL, NULL, "GET /echo", "\n"},
        {SL_PUT, SL_JSON, "{\"a\":1}", "PUT /echo", "\n{\"a\":1}"},
        {SL_PATCH, SL_MERGE_PATCH, "{\"b\":2}", "PATCH /echo", "\n{\"b\":2}"},
        {SL_DELETE, NULL, NULL, "DELETE /echo", "\n"},
        {SL_PATCH, SL_APPLY_PATCH, "x: y", "PATCH /echo", "\nx: y"},
        {SL_DELETE, SL_JSON, "{\"gracePeriodSeconds\":0}", "DELETE /echo",
         "\n{\"gracePeriodSeconds\":0}"},
        {SL_POST, NULL, NULL, "POST /echo", "\n"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct got g = {0};
        fx_request(&x, &g, cases[i].method, "/echo?limit=5&x=a%2Fb", cases[i].type, cases[i].body);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, 200);
        assert_string_equal(g.text, "");
        assert_int_equal(strncmp(g.body.s, cases[i].first, strlen(cases[i].first)), 0);
        size_t last = strlen(cases[i].last);
        assert_string_equal(g.body.s + g.body.len - last, cases[i].last);
        assert_true(body_has(&g, "User-Agent: sluice/test\r\n"));
        assert_true(body_has(&g, "Accept: application/json\r\n"));
        assert_true(body_has(&g, "Accept-Encoding: identity\r\n"));
        assert_false(body_has(&g, "Expect:"));
        assert_false(body_has(&g, "Authorization"));
        if (cases[i].type) {
            char want[80];
            (void)snprintf(want, sizeof want, "\r\nContent-Type: %s\r\n", cases[i].type);
            assert_true(body_has(&g, want));
        } else {
            assert_false(body_has(&g, "Content-Type"));
        }
        got_done(&g);
    }
    assert_int_equal(atomic_load(&server.accepted), 1);
}

static void large_bodies(void **state) {
    struct got g = {0}, h = {0};
    size_t n = (size_t)3 << 20;
    char *s = sl_alloc(n + 1);

    (void)state;
    memset(s, 'y', n);
    s[n] = '\0';
    fx_request(&x, &g, SL_POST, "/echo", SL_JSON, s);
    fx_get(&x, &h, "/big/5000000");
    fx_run(&x, 2);
    assert_int_equal(g.status, 200);
    assert_true(g.body.len > n);
    assert_memory_equal(g.body.s + g.body.len - n, s, n);
    assert_int_equal(h.body.len, 5000000);
    sl_freep(&s);
    got_done(&g);
    got_done(&h);
}

static void statuses(void **state) {
    static const struct {
        const char *path;
        int status;
        sl_span retry_after;
        const char *body;
    } cases[] = {
        {"/status/404", 404, 0, "why"},
        {"/status/409", 409, 0, "why"},
        {"/status/500", 500, 0, "why"},
        {"/status/401", 401, 0, "why"},
        {"/later/7", 429, 7 * SL_SEC, ""},
        {"/later/0", 429, 0, ""},
        {"/later/99999999999", 429, SL_HOUR, ""},
        {"/empty", 204, 0, ""},
        {"/moved", 302, 0, ""},
        {"/status/200", 200, 0, "why"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct got g = {0};
        fx_get(&x, &g, cases[i].path);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, cases[i].status);
        assert_int_equal(g.retry_after, cases[i].retry_after);
        assert_string_equal(sl_buf_str(&g.body), cases[i].body);
        got_done(&g);
    }
    assert_int_equal(atomic_load(&server.accepted), 1);
}

/* ---- watches ---- */

static void watch_lines(void **state) {
    (void)state;
    for (int step = 1; step <= 60; step++) {
        struct got g = {0};
        char path[32];
        (void)snprintf(path, sizeof path, "/watch/%d", step);
        fx_watch(&x, &g, path);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, 200);
        assert_string_equal(sl_buf_str(&g.lines), LINES_GOT);
        assert_int_equal(g.body.len, 0);
        got_done(&g);
    }
}

static void watch_ends(void **state) {
    static const struct {
        const char *path;
        int status;
        const char *lines, *body, *text;
    } cases[] = {
        {"/status/410", 410, "", "why", ""},
        {"/status/403", 403, "", "why", ""},
        {"/watch-part", 0, "one|", "", "the stream ended within a line"},
        {"/watch-cut", 0, "one|two|", "", ": "},
        {"/drop", 0, "", "", ": "},
        {"/line/100000", 200, NULL, "", ""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct got g = {0};
        fx_watch(&x, &g, cases[i].path);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, cases[i].status);
        if (cases[i].lines)
            assert_string_equal(sl_buf_str(&g.lines), cases[i].lines);
        else
            assert_int_equal(g.lines.len, 100001);
        assert_string_equal(sl_buf_str(&g.body), cases[i].body);
        assert_non_null(strstr(g.text, cases[i].text));
        got_done(&g);
    }
}

/* Watches that are open do not stand in the way of requests. */
static void watches_aside(void **state) {
    enum { WATCHES = 50 };
    struct got w[WATCHES] = {{0}}, g = {0};

    (void)state;
    for (int i = 0; i < WATCHES; i++)
        fx_watch(&x, &w[i], "/watch-open");
    fx_get(&x, &g, "/echo");
    fx_run(&x, 1);
    assert_int_equal(g.status, 200);
    for (int n = 0; n < 100; n++) {
        fx_get(&x, &g, "/status/200");
        got_done(&g);
        fx_run(&x, x.done + 1);
    }
    assert_true(atomic_load(&server.accepted) <= WATCHES + 1);
    for (int i = 0, tries = 0; i < WATCHES && tries < 400;
         tries++) { /* a busy machine is slow to connect them all */
        if (w[i].lines.len >= strlen("one|two|three|"))
            i++;
        else
            fx_run_ms(&x, 25);
    }
    for (int i = 0; i < WATCHES; i++) {
        assert_string_equal(sl_buf_str(&w[i].lines), "one|two|three|");
        sl_kube_cancel(x.p, w[i].call);
        got_done(&w[i]);
    }
    got_done(&g);
}

/* ---- trouble ---- */

static void broken_servers(void **state) {
    static const char *const paths[] = {"/half", "/drop", "/garbage"};

    (void)state;
    for (size_t i = 0; i < SL_LEN(paths); i++) {
        struct got g = {0};
        fx_get(&x, &g, paths[i]);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, 0);
        assert_int_equal(g.body.len, 0);
        assert_int_equal(strncmp(g.text, url_of(&server), strlen(url_of(&server))), 0);
        assert_true(strlen(g.text) > strlen(url_of(&server)) + 10);
        got_done(&g);
    }
}

/* A kept connection that the server has closed is no failure: another one is made. */
static void stale_connection(void **state) {
    struct got g = {0};

    (void)state;
    for (int i = 1; i <= 3; i++) {
        fx_get(&x, &g, "/stale");
        fx_run(&x, i);
        assert_int_equal(g.status, 200);
        assert_string_equal(sl_buf_str(&g.body), "fresh");
        got_done(&g);
    }
    assert_int_equal(atomic_load(&server.accepted), 3);
}

static void nobody_there(void **state) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* bound, but nobody listens */
    struct got g = {0}, w = {0};
    char url[64];

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    fx_disconnect(&x);
    fx_connect(&x, url, "", "");
    fx_get(&x, &g, "/echo");
    fx_watch(&x, &w, "/watch/1");
    fx_run(&x, 2);
    assert_int_equal(g.status, 0);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(g.text, url));
    assert_non_null(strstr(g.text, "onnect"));
    got_done(&g);
    got_done(&w);
    close(fd);
}

/* A name that cannot be found goes through libcurl's resolver thread, whose pipe is not a socket.
 */
static void unknown_host(void **state) {
    struct got g = {0};

    (void)state;
    fx_disconnect(&x);
    fx_connect(&x, "http://no-such-host.invalid", "", "");
    fx_get(&x, &g, "/echo");
    fx_run(&x, 1);
    assert_int_equal(g.status, 0);
    assert_non_null(strstr(g.text, "no-such-host.invalid"));
    got_done(&g);
}

static void too_slow(void **state) {
    struct got g = {0};

    (void)state;
    x.c->timeout = 50 * SL_MSEC;
    fx_get(&x, &g, "/hang");
    fx_run(&x, 1);
    assert_int_equal(g.status, 0);
    assert_non_null(strstr(g.text, "timed out"));
    got_done(&g);
}

/* ---- ceilings ---- */

static void ceilings(void **state) {
    struct got g = {0}, h = {0}, w = {0}, v = {0};

    (void)state;
    x.c->max_reply = x.c->max_line = (size_t)1 << 20;
    fx_get(&x, &g, "/big/1048577");
    fx_get(&x, &h, "/big/1048576");
    fx_watch(&x, &w, "/line/1048577");
    fx_watch(&x, &v, "/line/1048576");
    fx_run(&x, 4);
    assert_int_equal(g.status, 0);
    assert_non_null(strstr(g.text, "the answer is longer than 1 MiB"));
    assert_int_equal(h.status, 200);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.text, "a line of a watch is longer than 1 MiB"));
    assert_int_equal(w.lines.len, 0);
    assert_int_equal(v.status, 200);
    assert_int_equal(v.lines.len, 1048577);
    got_done(&g);
    got_done(&h);
    got_done(&w);
    got_done(&v);
}

/* Another form of the answer than plain JSON. */
static void forms(void **state) {
    struct got g = {0};
    struct sl_kube_request rq = {.method = SL_GET, .path = "/echo", .accept = SL_AS_METADATA_LIST};

    (void)state;
    g.x = &x;
    g.call = sl_kube_request(x.p, &rq, on_reply, &g);
    fx_run(&x, x.done + 1);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "Accept: " SL_AS_METADATA_LIST "\r\n"));
    assert_false(body_has(&g, "Accept: application/json\r\n"));
    got_done(&g);
}

static void refusals(void **state) {
    struct sl_kube_request huge = {.method = SL_POST,
                                   .path = "/echo",
                                   .content_type = SL_JSON,
                                   .body = "",
                                   .len = SL_CURL_CLIENT_MAX_BODY + 1};
    static const char *const paths[] = {"", "echo", "/a b", "/a\r\nX: y"};

    (void)state;
    for (size_t i = 0; i <= SL_LEN(paths); i++) {
        struct got g = {.x = &x};
        if (i < SL_LEN(paths))
            fx_get(&x, &g, paths[i]);
        else
            (void)sl_kube_request(x.p, &huge, on_reply, &g);
        assert_int_equal(g.n, 0);
        fx_run(&x, x.done + 1);
        assert_int_equal(g.status, 0);
        assert_true(g.text[0] != '\0');
        got_done(&g);
    }
    assert_int_equal(atomic_load(&server.asked), 0);
}

/* However many are asked for, 32 are on the wire, and each connection serves many. */
static void pool(void **state) {
    enum { N = 200 };
    static struct got g[N];

    (void)state;
    memset(g, 0, sizeof g);
    for (int i = 0; i < N; i++)
        fx_get(&x, &g[i], "/slow");
    fx_run(&x, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(g[i].status, 200);
        assert_int_equal(g[i].n, 1);
        got_done(&g[i]);
    }
    assert_true(atomic_load(&server.most_at_once) <= SL_CURL_CLIENT_MAX_REQUESTS);
    assert_int_equal(atomic_load(&server.accepted), SL_CURL_CLIENT_MAX_REQUESTS);
}

/* The line has an end: what comes after it is told so, and nothing else is disturbed. */
static void waiting_line(void **state) {
    enum { N = SL_CURL_CLIENT_MAX_WAITING + 10 };
    struct got *g = sl_alloc0(N, sizeof *g);
    int refused = 0;

    (void)state;
    x.c->timeout = 3 * SL_SEC; /* enough for those who get a connection to ask */
    for (int i = 0; i < N; i++)
        fx_get(&x, &g[i], "/hang");
    fx_run(&x, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(g[i].status, 0);
        refused += strcmp(g[i].text, "too many requests are waiting") == 0;
        got_done(&g[i]);
    }
    assert_int_equal(refused, 10);
    assert_int_equal(atomic_load(&server.asked), SL_CURL_CLIENT_MAX_REQUESTS);
    sl_freep(&g);
}

/* ---- cancelling ---- */

static void cancel_early_and_late(void **state) {
    struct got g[3] = {{0}}, last = {0};

    (void)state;
    fx_get(&x, &g[0], "/hang"); /* before it was sent */
    sl_kube_cancel(x.p, g[0].call);
    fx_get(&x, &g[1], "/hang"); /* under way */
    fx_get(&x, &last, "/echo");
    fx_run(&x, 1);
    sl_kube_cancel(x.p, g[1].call);
    sl_kube_cancel(x.p, g[1].call);
    sl_kube_cancel(x.p, last.call); /* after its end */
    sl_kube_cancel(x.p, (sl_kube_call){0});
    sl_kube_cancel(x.p, (sl_kube_call){UINT64_MAX});
    sl_kube_cancel(x.p, (sl_kube_call){12345});
    fx_get(&x, &g[2], "/status/200"); /* takes the number of an older one */
    sl_kube_cancel(x.p, g[0].call);
    sl_kube_cancel(x.p, g[1].call);
    fx_run(&x, 2);
    assert_int_equal(g[0].n, 0);
    assert_int_equal(g[1].n, 0);
    assert_int_equal(g[2].n, 1);
    got_done(&last);
    got_done(&g[2]);
}

static void cancel_self(struct got *g) {
    sl_kube_cancel(g->x->p, g->call);
}
static void cancel_other(struct got *g) {
    sl_kube_cancel(g->x->p, g->other);
}
static void free_client(struct got *g) {
    if (g->x->c)
        fx_disconnect(g->x);
}
static void request_more(struct got *g) {
    static struct got more;

    if (g->n > 0)
        return;
    memset(&more, 0, sizeof more);
    fx_get(g->x, &more, "/status/200"); /* from within libcurl */
    more.at_end = got_done;
    g->at_line = NULL;
}

static void cancel_in_callbacks(void **state) {
    struct got w = {.at_line = cancel_self}, v = {0}, g = {.at_end = cancel_self}, h = {0};

    (void)state;
    fx_watch(&x, &w, "/watch-open"); /* its first line ends it */
    fx_get(&x, &g, "/echo");
    fx_run(&x, 1);
    while (w.lines.len == 0)
        (void)uv_run(&x.loop, UV_RUN_ONCE);
    assert_string_equal(sl_buf_str(&w.lines), "one|");
    assert_int_equal(w.n, 0);
    got_done(&w);
    got_done(&g);

    v = (struct got){0}; /* a watch and a request, ended by another's line */
    w = (struct got){.at_line = cancel_other};
    fx_watch(&x, &v, "/watch-open");
    fx_get(&x, &h, "/hang");
    fx_run_ms(&x, 30);
    assert_string_equal(sl_buf_str(&v.lines), "one|two|three|");
    w.other = v.call;
    fx_watch(&x, &w, "/watch/100");
    fx_run(&x, 2);
    assert_int_equal(w.status, 200);
    assert_string_equal(sl_buf_str(&w.lines), LINES_GOT);
    got_done(&w);
    got_done(&v);

    g = (struct got){.at_end = cancel_other, .other = h.call}; /* by another's end */
    fx_get(&x, &g, "/echo");
    fx_run(&x, 3);
    assert_int_equal(h.n, 0);
    got_done(&g);

    w = (struct got){.at_line = request_more};
    fx_watch(&x, &w, "/watch/100");
    fx_run(&x, 5);
    assert_int_equal(w.status, 200);
    got_done(&w);
}

static void free_in_callbacks(void **state) {
    (void)state;
    for (int line = 0; line < 2; line++) {
        struct got hang = {0}, wait[40] = {{0}}, w = {0};
        fx_get(&x, &hang, "/hang");
        for (size_t i = 0; i < SL_LEN(wait); i++)
            fx_get(&x, &wait[i], "/hang");
        if (line)
            w.at_line = free_client;
        else
            w.at_end = free_client;
        fx_watch(&x, &w, "/watch/100");
        while (x.c)
            (void)uv_run(&x.loop, UV_RUN_ONCE);
        fx_run_ms(&x, 5);
        assert_int_equal(w.n, !line);
        assert_int_equal(hang.n, 0);
        got_done(&w);
        fx_connect(&x, url_of(&server), "", "");
    }
}

/* ---- the loop ---- */

static void same_clock(struct got *g) {
    /* Time passes, but not within a turn. */
    sl_time mono = g->x->p->mono;
    usleep(2000);
    assert_true(g->x->p->mono == mono);
}

static void clocks(void **state) {
    struct got g = {.at_end = same_clock}, h = {0};
    struct timespec t;

    (void)state;
    fx_get(&x, &g, "/echo");
    fx_run(&x, 1);
    fx_get(&x, &h, "/slow");
    fx_run(&x, 2);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    assert_true(h.mono - g.mono >= 20 * SL_MSEC);
    sl_time now = (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
    assert_true(now >= h.wall && now - h.wall < 5 * SL_SEC);
    sl_curl_client_clock(x.c);
    assert_true(x.p->mono > h.mono);
    got_done(&g);
    got_done(&h);
}

/* Connections that are kept, but not in use, do not keep the loop from ending. */
static void idle_loop(void **state) {
    struct got g = {0};

    (void)state;
    fx_get(&x, &g, "/echo");
    (void)uv_run(&x.loop, UV_RUN_DEFAULT);
    assert_int_equal(g.status, 200);
    assert_int_equal(atomic_load(&server.accepted), 1);
    got_done(&g);
}

static void proxies(void **state) {
    struct got g = {0};
    char proxy[100];

    (void)state;
    /* As for kubectl, the environment's proxy is not for this machine... */
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    fx_get(&x, &g, "/echo");
    fx_run(&x, 1);
    assert_int_equal(g.status, 200);
    got_done(&g);
    assert_int_equal(unsetenv("http_proxy"), 0);
    /* ...but one that the kubeconfig names is used. */
    (void)snprintf(proxy, sizeof proxy, "proxy-url: '%s'", url_of(&server));
    fx_disconnect(&x);
    fx_connect(&x, "http://api.invalid/prefix", proxy, "");
    fx_get(&x, &g, "/status/5?x");
    fx_run(&x, 2);
    assert_int_equal(g.status, 404);
    assert_string_equal(sl_buf_str(&g.body), "no such test");
    got_done(&g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(requests),
        TEST(large_bodies),
        TEST(statuses),
        TEST(watch_lines),
        TEST(watch_ends),
        TEST(watches_aside),
        TEST(broken_servers),
        TEST(stale_connection),
        TEST(nobody_there),
        TEST(unknown_host),
        TEST(too_slow),
        TEST(ceilings),
        TEST(forms),
        TEST(refusals),
        TEST(pool),
        TEST(waiting_line),
        TEST(cancel_early_and_late),
        TEST(cancel_in_callbacks),
        TEST(free_in_callbacks),
        TEST(clocks),
        TEST(idle_loop),
        TEST(proxies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
