/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that mean harm, or are none: each is told apart with a reason, costs neither memory nor
 * time, and disturbs no other connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/time.h"
#include "lib/nats/client.h"

#define INFO "INFO {\"max_payload\":1048576}\r\n"
#define PATIENCE (20 * SL_SEC)

/* What a server says: at once, after CONNECT, and after SUB, that again and again. */
struct play {
    const char *first, *then, *last;
    size_t last_len, times; /* last_len 0: its strlen */
};

static struct {
    uv_loop_t loop;
    uv_timer_t timer;
    struct sl_nats_client *client;
    struct sl_nats_port *port;
    sl_nats_conn conn;
    pthread_t thread;
    struct play play;
    int fd, number;
    uint32_t ups, downs, errors, messages;
    size_t len;
    char down[256], error[256];
} t;

/* ---- the server ---- */

static bool hear(int fd, const char *word) {
    char text[8192] = "";
    size_t n = 0;

    while (!memmem(text, n, word, strlen(word))) {
        ssize_t got = n < sizeof text - 1 ? recv(fd, text + n, sizeof text - 1 - n, 0) : 0;
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return true;
}

static bool say(int fd, const char *text, size_t len) {
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static void play(int fd) {
    const struct play *p = &t.play;
    size_t len = p->last && !p->last_len ? strlen(p->last) : p->last_len;
    char rest[4096];

    if (!say(fd, p->first, strlen(p->first)))
        return;
    if (p->then && (!hear(fd, "PING\r\n") || !say(fd, p->then, strlen(p->then))))
        return;
    if (p->last && !hear(fd, "SUB "))
        return;
    for (size_t i = 0; i < p->times; i++)
        if (!say(fd, p->last, len))
            return;
    while (recv(fd, rest, sizeof rest, 0) > 0)
        ;
}

static void *serve(void *arg) {
    int one;

    (void)arg;
    while ((one = accept(t.fd, NULL, NULL)) >= 0) {
        play(one);
        (void)close(one);
    }
    return NULL;
}

static void begin_server(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    int small = 4096;
    t.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* What it does not read waits in the client soon. */
    assert_int_equal(setsockopt(t.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    assert_true(t.fd >= 0 && bind(t.fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_int_equal(listen(t.fd, 8), 0);
    assert_int_equal(getsockname(t.fd, (struct sockaddr *)&a, &len), 0);
    t.number = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&t.thread, NULL, serve, NULL), 0);
}

/* ---- the client ---- */

static sl_time now(void) {
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * SL_SEC + ts.tv_nsec;
}

static void on_timer(uv_timer_t *h) {
    (void)h;
}

static void turn(void) {
    struct sl_nats_event e;

    (void)uv_timer_start(&t.timer, on_timer, 10, 10); /* repeats: see test_client.c */
    (void)uv_run(&t.loop, UV_RUN_ONCE);
    while (t.port->ops->next(t.port, &e)) {
        t.ups += e.kind == SL_NATS_UP;
        t.downs += e.kind == SL_NATS_DOWN;
        t.errors += e.kind == SL_NATS_ERROR;
        t.messages += e.kind == SL_NATS_MESSAGE;
        if (e.kind == SL_NATS_MESSAGE)
            t.len = e.len;
        if (e.kind == SL_NATS_DOWN)
            (void)snprintf(t.down, sizeof t.down, "%s", e.text);
        if (e.kind == SL_NATS_ERROR)
            (void)snprintf(t.error, sizeof t.error, "%s", e.text);
    }
}

static void open_host(const struct play *p, const char *scheme, const char *host) {
    struct sl_nats_pace pace = {1000, 300, 2000, 2000};
    struct sl_arena a = SL_ARENA((size_t)64 << 10);
    struct sl_nats_connector c;
    struct sl_err err;
    char text[64];

    memset(&t, 0, sizeof t);
    t.play = *p;
    begin_server();
    assert_int_equal(uv_loop_init(&t.loop), 0);
    assert_int_equal(uv_timer_init(&t.loop, &t.timer), 0);
    assert_int_equal(sl_nats_client_new(&t.loop, &t.client, &err), 0);
    sl_nats_client_set_pace(t.client, &pace);
    t.port = sl_nats_client_port(t.client);
    int n = snprintf(text, sizeof text, "%suser:sesame@%s:%d", scheme, host, t.number);
    assert_int_equal(sl_nats_connector_parse(text, (size_t)n, &a, &c, &err), 0);
    assert_int_equal(t.port->ops->open(t.port, &c, NULL, &t.conn, &err), 0);
    t.port->ops->subscribe(t.port, t.conn, "a.*");
    sl_arena_done(&a);
}

static void open_to(const struct play *p, const char *scheme) {
    open_host(p, scheme, "127.0.0.1");
}

static void await_up(void) {
    for (sl_time until = now() + PATIENCE; now() < until && t.ups == 0;)
        turn();
    assert_int_equal(t.ups, 1);
}

static void finish(void) {
    sl_nats_client_freep(&t.client);
    uv_close((uv_handle_t *)&t.timer, NULL);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&t.loop), 0);
    assert_int_equal(shutdown(t.fd, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(t.thread, NULL), 0);
    (void)close(t.fd);
}

static void assert_lost(const struct play *p, const char *scheme, const char *why) {
    open_to(p, scheme);
    for (sl_time until = now() + PATIENCE; now() < until && t.downs == 0;)
        turn();
    if (!strstr(t.down, why) || strstr(t.down, "sesame"))
        fail_msg("expected '%s', found '%s'", why, t.down);
    finish();
}

/* ---- tests ---- */

/* Before anybody has said who they are. */
static void greetings(void **state) {
    static const struct {
        const char *first, *why;
    } all[] = {
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "no NATS server"},
        {"SSH-2.0-OpenSSH_9.2\r\n", "no NATS server"},
        {"PING\r\n", "does not introduce itself"},
        {"MSG a.b 1 1\r\nx\r\n", "does not introduce itself"},
        {"INFO\r\n", "malformed INFO"},
        {"INFO []\r\n", "malformed INFO"},
        {"INFO \"x\"\r\n", "malformed INFO"},
        {"INFO {\"nonce\":\"a\\u0000b\"}\r\n", "strange nonce"},
        {"INFO {\"tls_required\":true}\r\nPING\r\n", "does not wait for TLS"},
        {"INFO {\"tls_required\":true}\r\n", "no answer in time"},
        {"INFO {\"a\":1", "no answer in time"},
        {"", "no answer in time"},
        {INFO "-ERR 'maximum connections exceeded'\r\n", "maximum connections exceeded"},
        {INFO "-ERR 'you said {\"user\":\"user\",\"pass\":\"sesame\"}'\r\n",
         "with credentials in it"},
        {INFO "-ERR 'no user with sesame here'\r\n", "with credentials in it"},
        {INFO "-ERR ''\r\n", "does not say which"},
        {"-ERR 'Authorization Violation'\r\n", "authorization failed"},
        {INFO "-ERR '\x1b[31mred\x7f\xff'\r\n", "?[31mred??"},
        {INFO, "no answer in time"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++)
        assert_lost(&(struct play){.first = all[i].first}, "nats://", all[i].why);
    assert_lost(&(struct play){.first = INFO}, "tls://", "offers no TLS");
    assert_lost(&(struct play){.first = "INFO {\"tls_available\":true}\r\n"}, "tls://",
                "no answer in time");
}

/* Once it is up. */
static void conversations(void **state) {
    static const struct {
        const char *last, *why;
        size_t times;
    } all[] = {
        {"MSG a.b 1 2147483647\r\n", "malformed message", 1},
        {"MSG a.b 1 99999999999999999999\r\n", "malformed message", 1},
        {"MSG a.b 1 1\r\nxyz\r\n", "without its end", 1},
        {"NONSENSE\r\n", "unknown operation", 1},
        {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "a line of more than",
         600},
        {"INFO {\r\n", "malformed INFO", 1},
        {"-ERR 'Slow Consumer'\r\n", "messages come faster", 1},
        {"-ERR 'Stale Connection'\r\n", "missed answers", 1},
        {"MSG a.b 1 1000000\r\n", "does not answer pings", 1},
        {"INFO {\"connect_urls\":[\"sesame:1\"],\"ldm\":true}\r\n-ERR 'x'\r\n", "127.0.0.1", 1},
        /* Nobody reads the answers: the buffers of the system are full before ours is. */
        {"PING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\nPING\r\n",
         "does not read", 200000},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(all); i++)
        assert_lost(&(struct play){INFO, "PONG\r\n", all[i].last, 0, all[i].times}, "nats://",
                    all[i].why);
}

static long resident_kb(void) {
    FILE *f = fopen("/proc/self/statm", "re");
    long size = 0, resident = 0;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
    (void)fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A message that would take all memory takes none, and is reported by its length. */
static void endless_message(void **state) {
    static char piece[(1 << 20) + 2];
    struct play p = {INFO, "PONG\r\nMSG a.b 1 20971558\r\n", piece, sizeof piece, 20};

    (void)state;
    memset(piece, 'x', sizeof piece);
    memcpy(piece + sizeof piece - 2, "\r\n",
           2); /* 20 times a mebibyte and two, but for the last two */
    open_to(&p, "nats://");
    await_up();
    long before = resident_kb(), most = 0;
    for (sl_time until = now() + PATIENCE; now() < until && t.messages == 0;) {
        turn();
        most = resident_kb() > most ? resident_kb() : most;
    }
    assert_int_equal(t.messages, 1);
    assert_int_equal(t.len, 20971558);
    assert_int_equal(t.downs, 0);
    if (!SL_SANITISED)
        assert_in_range(most - before, 0, 4096);
    finish();
}

/* A server that sends as fast as it can leaves time for others. */
static void flood(void **state) {
    static char piece[11 << 10];
    struct play p = {INFO, "PONG\r\n", piece, 0, SIZE_MAX};
    struct timespec begin, end;

    (void)state;
    for (; p.last_len + 15 < sizeof piece; p.last_len += 15)
        memcpy(piece + p.last_len, "MSG a.b 9 0\r\n\r\n", 15); /* of no subscription */
    open_to(&p, "nats://");
    await_up();
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    uint32_t turns = 0;
    sl_time at = now();
    while (now() - at < 2 * SL_SEC ||
           (turns <= 20 && now() - at < PATIENCE)) { /* others work, too */
        turn();
        turns++;
    }
    double passed = (double)(now() - at) / SL_SEC;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    assert_int_equal(t.downs + t.messages, 0);
    assert_true(turns > 20);
    double used = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    double share = used / passed;
    if (!SL_SANITISED && share > 0.6)
        fail_msg("%.2f of a processor", share);
    finish();
}

/* Where a server says that others are: nonsense is passed over. */
static void announcements(void **state) {
    static const char last[] =
        "INFO {\"connect_urls\":[1,null,\"\",\"a b\",\":0\",\"x:99999\",\"[::1\","
        "\"\\u0000\",{},[],\"nats://u:p@evil\"]}\r\n"
        "INFO {\"connect_urls\":\"x\",\"ldm\":\"yes\",\"max_payload\":-1}\r\n"
        "-ERR 'Permissions Violation for Subscription to \"a.*\"'\r\n"
        "MSG a.b 1 3\r\nabc\r\n";
    struct play p = {INFO, "PONG\r\n", last, 0, 1};

    (void)state;
    open_to(&p, "nats://");
    for (sl_time until = now() + PATIENCE; now() < until && t.messages == 0;)
        turn();
    assert_int_equal(t.messages, 1);
    assert_int_equal(t.len, 3);
    assert_int_equal(t.errors, 1);
    assert_non_null(strstr(t.error, "a.*"));
    assert_int_equal(t.downs, 0);
    finish();
}

/* ---- names ---- */

/* Instead of the resolver's: "two.test" has two addresses, "slow.test" takes its time. */
int getaddrinfo(const char *restrict host, const char *restrict port,
                const struct addrinfo *restrict want, struct addrinfo **restrict found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    bool two = strcmp(host, "two.test") == 0, slow = strcmp(host, "slow.test") == 0;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

    memcpy(&real, &symbol, sizeof real);
    if (want->ai_flags & AI_NUMERICHOST || (!two && !slow))
        return real(host, port, want, found);
    if (slow)
        (void)usleep(2500000);
    int r = real(two ? "127.0.0.2" : "127.0.0.1", port, want, found);
    return r == 0 && two ? real("127.0.0.1", port, want, &(*found)->ai_next) : r;
}

/* A name with an address where nobody speaks, before the one of a server. */
static void mute_address(void **state) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    int mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    open_host(&(struct play){INFO, "PONG\r\n", NULL, 0, 0}, "nats://", "two.test");
    a.sin_port = htons((uint16_t)t.number);
    assert_true(mute >= 0 && bind(mute, (struct sockaddr *)&a, sizeof a) == 0);
    assert_int_equal(listen(mute, 8), 0);
    await_up();
    assert_int_equal(t.downs, 0);
    finish();
    (void)close(mute);
}

/* Longer than an attempt to connect may take. */
static void slow_name(void **state) {
    (void)state;
    open_host(&(struct play){INFO, "PONG\r\n", NULL, 0, 0}, "nats://", "slow.test");
    await_up();
    assert_int_equal(t.downs, 0);
    finish();
    open_host(&(struct play){INFO, "PONG\r\n", NULL, 0, 0}, "nats://", "slow.test");
    turn();
    sl_time at = now();
    finish(); /* nobody waits for it */
    assert_true(now() - at < SL_SEC);
    (void)usleep(3000000); /* its thread ends by itself */
}

/* ---- more ---- */

static void small_server(void **state) {
    struct sl_err err;

    (void)state;
    open_to(&(struct play){"INFO {\"max_payload\":10}\r\n", "PONG\r\n", NULL, 0, 0}, "nats://");
    await_up();
    assert_int_equal(sl_nats_client_publish(t.client, t.conn, "a.b", "0123456789x", 11, &err), 0);
    for (sl_time until = now() + PATIENCE; now() < until && t.errors == 0;)
        turn();
    assert_non_null(strstr(t.error, "more than 10 bytes"));
    assert_int_equal(sl_nats_client_unsent(t.client, t.conn), 0);
    assert_int_equal(t.downs, 0);
    finish();
}

/* A server that goes while it is written to ends nothing. */
static void no_signal(void **state) {
    struct sigaction before;

    (void)state;
    open_to(&(struct play){.first = INFO}, "nats://");
    assert_int_equal(sigaction(SIGPIPE, NULL, &before), 0);
    assert_true(before.sa_handler == SIG_IGN);
    finish();
}

/* One that sends its clients away as soon as they come: they do not come back in a circle. */
static void goodbyes(void **state) {
    static const char last[] = "INFO {\"connect_urls\":[\"127.0.0.1:1\"],\"ldm\":true}\r\n";
    struct play p = {INFO, "PONG\r\n", last, 0, 1};

    (void)state;
    open_to(&p, "nats://");
    for (sl_time until = now() + PATIENCE; now() < until && t.downs == 0;)
        turn();
    assert_int_equal(t.downs, 1);
    assert_non_null(strstr(t.down, "is about to shut down"));
    for (sl_time until = now() + 3 * SL_SEC; now() < until;)
        turn();
    assert_in_range(t.ups, 2, 6);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greetings),       cmocka_unit_test(conversations),
        cmocka_unit_test(endless_message), cmocka_unit_test(flood),
        cmocka_unit_test(announcements),   cmocka_unit_test(mute_address),
        cmocka_unit_test(slow_name),       cmocka_unit_test(small_server),
        cmocka_unit_test(no_signal),       cmocka_unit_test(goodbyes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
