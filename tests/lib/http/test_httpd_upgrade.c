/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that stop speaking HTTP: bytes both ways, over TLS and plain, who waits for whom, and
 * how they end.
 */
#include "http_fixture.h"

#include "core/base/mem.h"

#define BIG ((size_t)4 << 20)

static struct {
    struct sl_http_call *call; /* NULL: ended, or gone */
    uint32_t calls, gone, rooms;
    size_t heard;
    bool echo, hold;
    const char *say;
    size_t len;
    bool taken;
} up;

static void on_gone(void *ctx) {
    assert_ptr_equal(ctx, &up);
    up.call = NULL;
    __atomic_fetch_add(&up.gone, 1, __ATOMIC_SEQ_CST);
}

static void on_bytes(void *ctx, const char *bytes, size_t len) {
    assert_ptr_equal(ctx, &up);
    assert_non_null(up.call);
    __atomic_fetch_add(&up.heard, len, __ATOMIC_SEQ_CST);
    if (memmem(bytes, len, "bye", 3)) {
        assert_true(sl_http_piece(up.call, "farewell", 8));
        sl_http_end(TAKE_PTR(up.call));
        return;
    }
    if (up.echo)
        assert_true(sl_http_piece(up.call, bytes, len));
    if (up.echo && sl_http_waiting(up.call) > 2 * SL_HTTP_UPGRADE_LOW_WATER)
        sl_http_hold_input(up.call, true);
}

static void on_writable(void *ctx) {
    assert_ptr_equal(ctx, &up);
    up.rooms++;
    if (!up.hold)
        sl_http_hold_input(up.call, false);
}

static const struct sl_http_upgrade_events wire = {.bytes = on_bytes, .writable = on_writable};

static void on_upgrade_request(void *ctx, const struct sl_http_request *rq,
                               struct sl_http_answer *a) {
    (void)ctx;
    if (strcmp(rq->path, "/wire") != 0) {
        sl_buf_printf(&a->body, "body=%s", rq->path);
        return;
    }
    up.call = sl_http_hold(rq, on_gone, &up);
    __atomic_fetch_add(&up.calls, 1, __ATOMIC_SEQ_CST);
}

static void job_upgrade(void) {
    static const char *const headers[] = {"Upgrade", "x", "Connection", "Upgrade", NULL};

    sl_http_upgrade(up.call, headers, &wire);
    sl_http_hold_input(up.call, up.hold);
}

static void job_send(void) {
    up.taken = sl_http_piece(up.call, up.say, up.len);
}

static void job_release_input(void) {
    up.hold = false;
    sl_http_hold_input(up.call, false);
}

static void job_end_wire(void) {
    sl_http_end(TAKE_PTR(up.call));
}

static void until(const uint32_t *count, uint32_t n) {
    double t0 = seconds();

    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < n) {
        assert_true(seconds() - t0 < 10);
        usleep(1000);
    }
}

static void begin(bool tls) {
    memset(&up, 0, sizeof up);
    up.echo = true;
    start_server(tls);
    on_loop(job_stop);
    sv.spec.handler = on_upgrade_request;
    sv.spec.request_ms = 2000;
    on_loop(job_start);
    assert_int_equal(sv.result, 0);
}

/* ---- plain ---- */

static int dial_wire(const char *method) {
    char text[200];
    int fd = dial();
    int n = snprintf(text, sizeof text,
                     "%s /wire HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                     "Upgrade: x\r\n%s\r\n",
                     method, strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : "");
    uint32_t before = up.calls;

    send_bytes(fd, text, (size_t)n);
    until(&up.calls, before + 1);
    on_loop(job_upgrade);
    (void)receive_text(fd, "\r\n\r\n");
    assert_int_equal(status_of(got), 101);
    assert_non_null(strstr(got, "Upgrade: x\r\nConnection: Upgrade\r\n"));
    return fd;
}

static void test_both_ways(void **state) {
    static const char *const methods[] = {"GET", "POST"};

    (void)state;
    begin(false);
    for (uint32_t i = 0; i < 2; i++) {
        int fd = dial_wire(methods[i]);
        SAY(fd, "hello");
        (void)receive_text(fd, "hello");
        up.say = "of my own accord";
        up.len = strlen(up.say);
        on_loop(job_send);
        (void)receive_text(fd, "of my own accord");
        CURL *c = client(NULL); /* others are served meanwhile */
        assert_int_equal(fetch(c, "/other"), 200);
        curl_easy_cleanup(c);
        (void)close(fd);
        until(&up.gone, i + 1);
    }
}

/* All that was said before the end arrives, though the peer goes on talking. */
static void test_end(void **state) {
    bool closed;

    (void)state;
    begin(false);
    up.echo = false;
    int fd = dial_wire("GET");
    char *text = sl_alloc(BIG);
    memset(text, 'a', BIG);
    up.say = text;
    up.len = BIG;
    on_loop(job_send);
    on_loop(job_end_wire);
    SAY(fd, "this is heard by nobody");
    (void)receive(fd, LONG_MS, &closed);
    assert_true(closed);
    assert_int_equal(n_got, BIG);
    (void)close(fd);
    assert_int_equal(up.heard, 0);
    assert_int_equal(up.gone, 0); /* he who ended it knows */
    fd = dial_wire("GET");
    SAY(fd, "bye"); /* ended from within */
    assert_string_equal(receive(fd, LONG_MS, &closed), "farewell");
    assert_true(closed);
    (void)close(fd);
    sl_freep(&text);
}

/* A peer that never closes its half is not waited for without end. */
static void test_end_is_awaited(void **state) {
    (void)state;
    begin(false);
    int fd = dial_wire("GET");
    uint32_t files = open_files();
    on_loop(job_end_wire);
    double t0 = seconds();
    while (open_files() >= files) {
        assert_true(seconds() - t0 < 10);
        usleep(10000);
    }
    assert_true(seconds() - t0 > 1);
    (void)close(fd);
}

static void test_hold(void **state) {
    (void)state;
    begin(false);
    up.hold = true;
    int fd = dial_wire("GET");
    SAY(fd, "wait");
    usleep(100000);
    assert_int_equal(up.heard, 0);
    on_loop(job_release_input);
    (void)receive_text(fd, "wait");
    /* One who leaves is noticed also while nothing is read from him. */
    up.hold = true;
    int second = dial_wire("GET");
    SAY(second, "unheard");
    (void)close(second);
    until(&up.gone, 1);
    (void)close(fd);
    assert_int_equal(up.heard, 4);
}

/* What waits is bounded, and room is told once there is some. */
static void test_room(void **state) {
    (void)state;
    begin(false);
    up.echo = false;
    int fd = dial_wire("GET");
    char *text = sl_alloc0(1, SL_HTTP_UPGRADE_MAX / 2);
    up.say = text;
    up.len = SL_HTTP_UPGRADE_MAX / 2;
    on_loop(job_send);
    assert_true(up.taken);
    usleep(2500000); /* longer than a request may take: no deadline holds */
    assert_int_equal(up.rooms, 0);
    assert_int_equal(up.gone, 0);
    on_loop(job_send);
    on_loop(job_send);
    assert_false(up.taken);
    on_loop(job_end_wire); /* then it is cut */
    (void)close(fd);
    fd = dial_wire("GET");
    up.len = (size_t)6 << 20;
    on_loop(job_send);
    for (size_t left = up.len; left;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_true(poll(&p, 1, LONG_MS) > 0);
        ssize_t n = recv(fd, got, left, 0);
        assert_true(n > 0);
        left -= (size_t)n;
    }
    until(&up.rooms, 1); /* told after the last bytes are on their way */
    assert_int_equal(up.rooms, 1);
    (void)close(fd);
    sl_freep(&text);
}

static void test_stop(void **state) {
    (void)state;
    begin(false);
    int fd = dial_wire("GET");
    on_loop(job_stop);
    assert_int_equal(up.gone, 1);
    (void)close(fd);
}

/* ---- TLS ---- */

static CURL *dial_tls(void) {
    CURL *c = client(sv.ca.cert_pem);
    char url[100];
    size_t n;

    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", sv.port);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    static const char text[] = "POST /wire HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                               "Upgrade: x\r\nContent-Length: 0\r\n\r\n";
    assert_int_equal(curl_easy_send(c, text, sizeof text - 1, &n), CURLE_OK);
    until(&up.calls, 1);
    on_loop(job_upgrade);
    return c;
}

/* Reads until so many bytes are there, or nothing comes for a while. */
static size_t receive_tls(CURL *c, size_t want) {
    double t0 = seconds();

    n_got = 0;
    while (n_got < want && seconds() - t0 < 10) {
        size_t n = 0;
        CURLcode r = curl_easy_recv(c, got + n_got, sizeof got - 1 - n_got, &n);
        if (r == CURLE_AGAIN)
            usleep(500);
        else if (r != CURLE_OK || n == 0)
            break;
        n_got += n;
    }
    got[n_got] = '\0';
    return n_got;
}

static void test_tls(void **state) {
    (void)state;
    begin(true);
    CURL *c = dial_tls();
    const size_t head = strlen("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                               "Connection: Upgrade\r\n\r\n");
    assert_int_equal(receive_tls(c, head), head);
    assert_int_equal(status_of(got), 101);
    /* More than fits anywhere, while the client does not read: both sides wait for each other. */
    char *text = sl_alloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        text[i] = (char)('a' + i * 7 % 23);
    size_t sent = 0, heard = 0;
    double t0 = seconds();
    while (heard < BIG) {
        size_t n = 0;
        assert_true(seconds() - t0 < 20);
        if (sent < BIG && curl_easy_send(c, text + sent, BIG - sent, &n) == CURLE_OK)
            sent += n;
        else if (curl_easy_recv(c, got, sizeof got, &n) == CURLE_OK) {
            assert_memory_equal(got, text + heard, n);
            heard += n;
        } else
            usleep(500);
    }
    sl_freep(&text);
    size_t n;
    assert_int_equal(curl_easy_send(c, "bye", 3, &n), CURLE_OK);
    assert_int_equal(receive_tls(c, 9), 8); /* and then it is closed */
    assert_string_equal(got, "farewell");
    curl_easy_cleanup(c);
}

/* Bytes that TLS has already read are not forgotten when input is held and released. */
static void test_tls_hold(void **state) {
    char text[20000];

    (void)state;
    begin(true);
    up.echo = false;
    up.hold = true;
    CURL *c = dial_tls();
    size_t n;
    (void)receive_tls(c, 60);
    memset(text, 'x', sizeof text);
    for (size_t sent = 0; sent < sizeof text; sent += n)
        assert_int_equal(curl_easy_send(c, text + sent, sizeof text - sent, &n), CURLE_OK);
    usleep(100000);
    assert_int_equal(up.heard, 0);
    on_loop(job_release_input);
    double t0 = seconds();
    while (__atomic_load_n(&up.heard, __ATOMIC_SEQ_CST) < sizeof text) {
        assert_true(seconds() - t0 < 5);
        usleep(1000);
    }
    curl_easy_cleanup(c);
    until(&up.gone, 1);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_is_awaited, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tls_hold, setup, teardown),
    };

    curl_global_init(CURL_GLOBAL_DEFAULT);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
