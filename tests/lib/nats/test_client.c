/* SPDX-License-Identifier: Apache-2.0 */
/* The client against real servers and hostile ones: who gets in, what is lost and found, what
 * bounds it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "../../free_port.h"
#include "core/base/buf.h"
#include "core/base/time.h"
#include "creds.h"
#include "lib/nats/client.h"
#include "server.h"

/* Attempts are repeated soon. What hangs is noticed soon only where a test is about that: on a busy
 * machine the others would lose servers that are well. */
static const struct sl_nats_pace usual = {10000, 3000, 20, 200}, quick = {1000, 300, 20, 200};
/* Waiting ends with what is waited for; a busy machine may take so many times longer. */
#define PATIENCE 5

/* What the port has reported of a connection. */
struct seen {
    uint32_t ups, downs, errors, messages, oversize;
    char up[200], down[200], error[200];
    char subject[200], data[200];
    size_t len;
};

static struct {
    uv_loop_t loop;
    uv_timer_t timer;
    struct sl_nats_client *client;
    struct sl_nats_port *port;
    struct seen seen[9]; /* by the number of the connection */
} t;

/* ---- helpers ---- */

static sl_time now(void) {
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * SL_SEC + ts.tv_nsec;
}

static void copy(char out[200], const char *text) {
    (void)(snprintf(out, 200, "%s", text) < 200);
}

static int begin(void **state) {
    struct sl_err err;
    (void)state;
    memset(&t, 0, sizeof t);
    assert_int_equal(uv_loop_init(&t.loop), 0);
    assert_int_equal(uv_timer_init(&t.loop, &t.timer), 0);
    assert_int_equal(sl_nats_client_new(&t.loop, &t.client, &err), 0);
    t.port = sl_nats_client_port(t.client);
    sl_nats_client_set_pace(t.client, &usual);
    return 0;
}

static int finish(void **state) {
    (void)state;
    sl_nats_client_freep(&t.client);
    uv_close((uv_handle_t *)&t.timer, NULL);
    for (sl_time until = now() + 60 * SL_SEC; uv_loop_alive(&t.loop) && now() < until;)
        if (uv_run(&t.loop, UV_RUN_NOWAIT))
            (void)usleep(1000);
    if (uv_loop_alive(&t.loop))
        uv_print_all_handles(&t.loop, stderr);
    assert_int_equal(uv_loop_close(&t.loop), 0);
    return 0;
}

static void on_timer(uv_timer_t *h) {
    (void)h;
}

static bool take_event(void) {
    struct sl_nats_event e;

    if (!t.port->ops->next(t.port, &e))
        return false;
    struct seen *s = &t.seen[e.conn.v % SL_LEN(t.seen)];
    switch (e.kind) {
    case SL_NATS_UP:
        s->ups++;
        copy(s->up, e.text);
        break;
    case SL_NATS_DOWN:
        s->downs++;
        copy(s->down, e.text);
        break;
    case SL_NATS_ERROR:
        s->errors++;
        copy(s->error, e.text);
        break;
    case SL_NATS_MESSAGE:
        s->messages++;
        s->oversize += !e.data;
        s->len = e.len;
        copy(s->subject, e.subject);
        copy(s->data, e.data ? e.data : "");
        break;
    }
    return true;
}

static void take_events(void) {
    while (take_event())
        ;
}

/* The loop runs for so long, and nobody reads. */
static void read_nothing(int ms) {
    for (sl_time until = now() + ms * SL_MSEC; now() < until;) {
        (void)uv_timer_start(&t.timer, on_timer, 20, 20);
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    }
}

/* Nobody reads, but for one event in each pause, until nothing more is dropped. */
static uint32_t read_slowly(void) {
    uint64_t before = 0;
    uint32_t n = 0;

    for (uint32_t same = 0; same < 4 && n < 100; n++) {
        read_nothing(200);
        (void)take_event();
        same = t.port->dropped > 0 && t.port->dropped == before ? same + 1 : 0;
        before = t.port->dropped;
    }
    return n;
}

/* One turn of the loop; it sleeps until it is woken, or for so long. The timer repeats: one that is
 * over when the turn begins has run before the loop sleeps, which then would be for ever. */
static void turn(uint64_t ms) {
    (void)uv_timer_start(&t.timer, on_timer, ms, ms);
    (void)uv_run(&t.loop, ms ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    take_events();
}

#define WAIT_UNTIL(condition, ms)                                                                  \
    do {                                                                                           \
        sl_time until_ = now() + PATIENCE * (ms)*SL_MSEC;                                          \
        take_events();                                                                             \
        while (!(condition) && now() < until_)                                                     \
            turn(20);                                                                              \
        if (!(condition))                                                                          \
            fail_msg("%s:%d: not within %d ms: %s (up %s, down %s, error %s)", __FILE__, __LINE__, \
                     (int)(ms), #condition, t.seen[1].up, t.seen[1].down, t.seen[1].error);        \
    } while (0)

static void assert_words(const char *text, const char *words) {
    if (!strcasestr(text, words))
        fail_msg("expected '%s', found '%s'", words, text);
}

static void rest(int ms) {
    for (sl_time until = now() + ms * SL_MSEC; now() < until;)
        turn(20);
}

static int open_with(const char *connector, const struct sl_nats_credentials *with,
                     sl_nats_conn *ret, struct sl_err *err) {
    struct sl_arena a;
    struct sl_nats_connector c;

    sl_arena_init(&a, (size_t)64 << 10);
    int r = sl_nats_connector_parse(connector, strlen(connector), &a, &c, err);
    if (r >= 0)
        r = t.port->ops->open(t.port, &c, with, ret, err);
    sl_arena_done(&a);
    return r;
}

static sl_nats_conn open_conn(const struct sl_nats_credentials *with, const char *fmt, ...) {
    char text[512];
    sl_nats_conn c = {0};
    struct sl_err err = {0};
    va_list ap;

    va_start(ap, fmt);
    assert_true(vsnprintf(text, sizeof text, fmt, ap) < (int)sizeof text);
    va_end(ap);
    if (open_with(text, with, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static void subscribe(sl_nats_conn c, const char *subject) {
    t.port->ops->subscribe(t.port, c, subject);
}

/* A server with this in its configuration. */
static struct server run_server(const char *name, const char *config) {
    struct server s;
    server_init(&s, name);
    server_configure(&s, "%s", config);
    server_start(&s);
    return s;
}

/* Sends and receives a message, which shows that subscriptions hold. More than once: it is up
 * before the server has read its subscriptions, and interest spreads in a cluster. */
static void assert_delivers_as(sl_nats_conn c, const struct server *from, const char *options) {
    struct seen *s = &t.seen[c.v];
    int fd = publisher_open(from, options);
    uint32_t before = s->messages;

    for (int i = 0; i < 250 && s->messages == before; i++) {
        publish(fd, "a.pool", "hello", 5);
        publisher_flush(fd);
        turn(20);
    }
    (void)close(fd);
    assert_true(s->messages > before);
    assert_string_equal(s->subject, "a.pool");
    assert_string_equal(s->data, "hello");
    assert_int_equal(s->len, 5);
}

static void assert_delivers(sl_nats_conn c, const struct server *from) {
    assert_delivers_as(c, from, "");
}

/* ---- who gets in ---- */

static void open_server(void **state) {
    struct server s = run_server("open", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    char name[32];

    (void)state;
    subscribe(c, "a.*");
    subscribe(c, "a.*"); /* once */
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    assert_true(snprintf(name, sizeof name, "127.0.0.1:%d", s.port) > 0);
    assert_string_equal(t.seen[1].up, name);
    assert_delivers(c, &s);
    rest(50);
    uint32_t before = t.seen[1].messages;
    int fd = publisher_open(&s, "");
    publish(fd, "a.b", "", 0);
    publish(fd, "a.b.c", "1", 1); /* of no interest */
    publish(fd, "b.a", "2", 1);
    publisher_flush(fd);
    WAIT_UNTIL(t.seen[1].messages == before + 1, 1000);
    assert_int_equal(t.seen[1].len, 0);
    t.port->ops->unsubscribe(t.port, c, "a.*");
    publish(fd, "a.b", "3", 1);
    publisher_flush(fd);
    rest(100);
    assert_int_equal(t.seen[1].messages, before + 1);
    subscribe(c, "a.*");
    assert_delivers(c, &s);
    (void)close(fd);
    assert_int_equal(t.port->dropped, 0);
    assert_int_equal(t.seen[1].downs + t.seen[1].errors, 0);
    server_kill(&s);
}

static void users_and_passwords(void **state) {
    struct server s = run_server("users", "authorization {\n users: [\n"
                                          "  {user: \"a@b\", password: \"p/w:%\\\"\\\\ x\"}\n"
                                          " ]\n}\n");
    (void)state;
    open_conn(NULL, "nats://a%%40b:p%%2fw%%3A%%25%%22%%5C%%20x@127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    open_conn(NULL, "nats://a%%40b:SECRET@127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[2].downs > 0, 3000);
    assert_words(t.seen[2].down, "authorization failed");
    assert_null(strstr(t.seen[2].down, "SECRET"));
    /* of a Secret, which wins */
    struct sl_nats_credentials with = {.user = "a@b", .password = "p/w:%\"\\ x"};
    open_conn(&with, "nats://x:y@127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[3].ups == 1, 3000);
    assert_int_equal(t.seen[2].ups, 0);
    server_kill(&s);
}

static void tokens(void **state) {
    struct server s = run_server("tokens", "authorization { token: \"t\\\"k%n\" }\n");
    struct sl_nats_credentials with = {.token = "t\"k%n"};

    (void)state;
    open_conn(NULL, "nats://t%%22k%%25n@127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    open_conn(&with, "127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[2].ups == 1, 3000);
    server_kill(&s);
}

static void tls(void **state) {
    struct server right, wrong, plain;
    char *ca = servers_file("ca.crt"), *other = servers_file("other.crt");
    struct sl_nats_credentials with = {.ca = ca}, strange = {.ca = other}, among = {0};
    struct sl_buf bundle = SL_BUF((size_t)1 << 20);

    (void)state;
    for (int i = 0; i < 40; i++)
        sl_buf_puts(&bundle, other);
    sl_buf_puts(&bundle, ca);
    among.ca = sl_buf_str(&bundle);
    server_init(&right, "right");
    server_configure(&right, "tls { cert_file: \"%s/server.crt\", key_file: \"%s/server.key\" }\n",
                     servers_folder(), servers_folder());
    server_start(&right);
    server_init(&wrong, "wrong");
    server_configure(&wrong,
                     "tls { cert_file: \"%s/elsewhere.crt\", key_file: \"%s/elsewhere.key\" }\n",
                     servers_folder(), servers_folder());
    server_start(&wrong);
    plain = run_server("plain", "");
    sl_nats_conn c = open_conn(&with, "tls://localhost:%d", right.port);
    open_conn(&with, "nats://127.0.0.1:%d", right.port);   /* the server demands it */
    open_conn(&strange, "tls://localhost:%d", right.port); /* of another authority */
    open_conn(NULL, "tls://localhost:%d", right.port);     /* of none that the system has */
    open_conn(&with, "tls://localhost:%d", wrong.port);    /* of another host */
    open_conn(NULL, "tls://localhost:%d", plain.port);     /* no TLS at all */
    open_conn(NULL, "nats://localhost:%d", right.port);    /* also without tls:// */
    open_conn(&among, "tls://localhost:%d", right.port);   /* the last of many authorities */
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[8].ups && t.seen[1].ups && t.seen[2].ups && t.seen[3].downs &&
                   t.seen[4].downs && t.seen[5].downs && t.seen[6].downs && t.seen[7].downs,
               5000);
    assert_int_equal(t.seen[1].downs + t.seen[2].downs, 0);
    for (uint32_t i = 3; i <= 7; i++)
        assert_int_equal(t.seen[i].ups, 0);
    assert_words(t.seen[3].down, "certificate");
    assert_words(t.seen[4].down, "certificate");
    assert_words(t.seen[5].down, "hostname mismatch");
    assert_words(t.seen[6].down, "offers no TLS");
    assert_words(t.seen[7].down, "certificate");
    struct sl_err err;
    assert_int_equal(sl_nats_client_publish(t.client, c, "a.b", "tls", 3, &err), 0);
    WAIT_UNTIL(t.seen[1].messages == 1, 2000);
    assert_int_equal(sl_nats_client_unsent(t.client, c), 0);
    server_kill(&right);
    server_kill(&wrong);
    server_kill(&plain);
    free(ca);
    free(other);
    sl_buf_done(&bundle);
}

/* Authorities of the system: here, those of a file. */
static void system_authorities(void **state) {
    struct server right, wrong;
    char file[256];

    (void)state;
    server_init(&right, "sysright");
    server_configure(&right, "tls { cert_file: \"%s/server.crt\", key_file: \"%s/server.key\" }\n",
                     servers_folder(), servers_folder());
    server_start(&right);
    server_init(&wrong, "syswrong");
    server_configure(&wrong,
                     "tls { cert_file: \"%s/elsewhere.crt\", key_file: \"%s/elsewhere.key\" }\n",
                     servers_folder(), servers_folder());
    server_start(&wrong);
    assert_true(snprintf(file, sizeof file, "%s/ca.crt", servers_folder()) > 0);
    assert_int_equal(setenv("SSL_CERT_FILE", file, 1), 0);
    open_conn(NULL, "nats://localhost:%d", right.port);
    open_conn(NULL, "nats://localhost:%d", wrong.port);
    open_conn(NULL, "tls://localhost:%d", wrong.port);
    WAIT_UNTIL(t.seen[1].ups && t.seen[2].downs && t.seen[3].downs, 5000);
    assert_words(t.seen[2].down, "hostname mismatch");
    assert_words(t.seen[3].down, "hostname mismatch");
    assert_int_equal(t.seen[2].ups + t.seen[3].ups, 0);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    server_kill(&right);
    server_kill(&wrong);
}

static void client_certificates(void **state) {
    struct server s;
    char *ca = servers_file("ca.crt"), *crt = servers_file("client.crt"),
         *key = servers_file("client.key"), *foreign = servers_file("other.key");
    struct sl_nats_credentials with = {.ca = ca, .certificate = crt, .key = key};
    struct sl_err err;
    sl_nats_conn c;
    char broken[4096];

    (void)state;
    assert_true(snprintf(broken, sizeof broken,
                         "%s-----BEGIN CERTIFICATE-----\nSECRET\n-----END CERTIFICATE-----\n",
                         ca) < (int)sizeof broken);
    server_init(&s, "mutual");
    server_configure(&s,
                     "tls { cert_file: \"%s/server.crt\", key_file: \"%s/server.key\", "
                     "ca_file: \"%s/ca.crt\", verify: true }\n",
                     servers_folder(), servers_folder(), servers_folder());
    server_start(&s);
    open_conn(&with, "tls://localhost:%d", s.port);
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    with.certificate = with.key = NULL;
    open_conn(&with, "tls://localhost:%d", s.port);
    WAIT_UNTIL(t.seen[2].downs > 0, 3000);
    assert_words(t.seen[2].down, "the client's certificate");
    /* What cannot work is refused at once. */
    static const char *const words[] = {"the CA is no PEM",
                                        "malformed",
                                        "do not belong together",
                                        "needs its key",
                                        "a password and no user",
                                        ".creds",
                                        "nkey seed"};
    const struct sl_nats_credentials wrong[] = {
        {.ca = "SECRET"},
        {.ca = broken},
        {.certificate = crt, .key = foreign},
        {.certificate = crt},
        {.password = "SECRET"},
        {.creds = "SECRET"},
        {.creds = "-----BEGIN NATS USER JWT-----\nSECRET\n------END NATS USER JWT------\n"
                  "-----BEGIN USER NKEY SEED-----\nSECRET\n------END USER NKEY SEED------\n"},
    };
    for (size_t i = 0; i < SL_LEN(wrong); i++) {
        assert_int_equal(open_with("localhost", &wrong[i], &c, &err), SL_EINVAL);
        if (!strstr(err.text, words[i]) || strstr(err.text, "SECRET"))
            fail_msg("%zu: %s", i, err.text);
    }
    server_kill(&s);
    free(ca);
    free(crt);
    free(key);
    free(foreign);
}

/* As `nsc` writes it. */
#define CREDS(user, seed)                                                                          \
    "-----BEGIN NATS USER JWT-----\n" user "\n------END NATS USER JWT------\n\n"                   \
    "************************* IMPORTANT *************************\n"                              \
    "NKEY Seed printed below can be used to sign and prove identity.\n\n"                          \
    "-----BEGIN USER NKEY SEED-----\n" seed "\n------END USER NKEY SEED------\n"

static void credentials_files(void **state) {
    struct server s =
        run_server("creds", "operator: " TEST_OPERATOR "\nresolver: MEMORY\n"
                            "resolver_preload: { " TEST_ACCOUNT_NAME ": " TEST_ACCOUNT " }\n");
    struct sl_nats_credentials with = {.creds = CREDS(TEST_USER, TEST_SEED)};
    struct sl_nats_credentials windows = {.creds = "---JWT---\r\n" TEST_USER
                                                   "\r\n---\r\n---SEED---\r\n" TEST_SEED "\r\n---"};

    (void)state;
    open_conn(&with, "127.0.0.1:%d", s.port);
    open_conn(&windows, "127.0.0.1:%d", s.port);
    open_conn(NULL, "127.0.0.1:%d", s.port);
    WAIT_UNTIL(t.seen[1].ups == 1 && t.seen[2].ups == 1 && t.seen[3].downs > 0, 3000);
    assert_words(t.seen[3].down, "authorization failed");
    server_kill(&s);
}

static void reload(struct server *s, const char *password) {
    server_configure(s, "authorization { user: u, password: %s }\n", password);
    server_signal(s, SIGHUP);
}

static void authorization_comes_back(void **state) {
    struct server s;

    (void)state;
    server_init(&s, "reload");
    server_configure(&s, "authorization { user: u, password: other }\n");
    server_start(&s);
    sl_nats_conn c = open_conn(NULL, "nats://u:pass@127.0.0.1:%d", s.port);
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].downs > 0, 3000);
    assert_words(t.seen[1].down, "authorization failed");
    rest(600); /* it does not give up */
    reload(&s, "pass");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    /* And it is taken away while it is in use. */
    t.seen[1].downs = 0;
    reload(&s, "other");
    WAIT_UNTIL(t.seen[1].downs > 0, 3000);
    rest(300);
    assert_words(t.seen[1].down, "authorization failed");
    reload(&s, "pass");
    WAIT_UNTIL(t.seen[1].ups == 2, 5000);
    assert_delivers_as(c, &s, "\"user\":\"u\",\"pass\":\"pass\"");
    server_kill(&s);
}

static void permissions(void **state) {
    struct server s =
        run_server("permit", "authorization { users: [ {user: u, password: p, permissions: {\n"
                             "  publish: \"ok.>\", subscribe: \"a.>\" } } ] }\n");
    sl_nats_conn c = open_conn(NULL, "nats://u:p@127.0.0.1:%d", s.port);
    struct sl_err err;

    (void)state;
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    subscribe(c, "b.*");
    WAIT_UNTIL(t.seen[1].errors == 1, 2000);
    assert_words(t.seen[1].error, "b.*");
    assert_int_equal(sl_nats_client_publish(t.client, c, "not.ok", "x", 1, &err), 0);
    WAIT_UNTIL(t.seen[1].errors == 2, 2000);
    assert_words(t.seen[1].error, "not.ok");
    subscribe(c, "not a subject");
    WAIT_UNTIL(t.seen[1].errors == 3, 2000);
    assert_words(t.seen[1].error, "not a subject");
    assert_int_equal(t.seen[1].downs, 0);
    static const char *const wrong[] = {"", "a b", "a.*", "a.>", ".a", "a.", "a..b", "a\n"};
    for (size_t i = 0; i < SL_LEN(wrong); i++)
        assert_int_equal(sl_nats_client_publish(t.client, c, wrong[i], "x", 1, &err), SL_EINVAL);
    server_kill(&s);
}

/* A subject that is allowed later: the same connection gets it when it asks again. */
static void permission_is_granted(void **state) {
    static const char config[] = "authorization { users: [ {user: u, password: \"pass\", "
                                 "permissions: {subscribe: [\"x.*\"%s]}} ] }\n";
    struct server s;

    (void)state;
    server_init(&s, "granted");
    server_configure(&s, config, "");
    server_start(&s);
    sl_nats_conn c = open_conn(NULL, "nats://u:pass@127.0.0.1:%d", s.port);
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].errors == 1, 3000);
    /* Before that: a server that reads its configuration drops whoever is about to log in. */
    int fd = publisher_open(&s, "\"user\":\"u\",\"pass\":\"pass\"");
    server_configure(&s, config, ", \"a.*\"");
    server_signal(&s, SIGHUP);
    for (int i = 0; i < 100 && t.seen[1].messages == 0; i++) { /* it reads its configuration */
        t.port->ops->unsubscribe(t.port, c, "a.*");
        subscribe(c, "a.*");
        rest(50);
        publish(fd, "a.b", "x", 1);
        publisher_flush(fd);
        rest(50);
    }
    (void)close(fd);
    assert_true(t.seen[1].messages > 0);
    assert_int_equal(t.seen[1].ups, 1);
    assert_int_equal(t.seen[1].downs, 0);
    server_kill(&s);
}

static void nobody_there(void **state) {
    (void)state;
    open_conn(NULL, "127.0.0.1:%d", free_port());
    open_conn(NULL, "nowhere.invalid");
    WAIT_UNTIL(t.seen[1].downs && t.seen[2].downs, 5000);
    assert_words(t.seen[1].down, "Connection refused");
    assert_words(t.seen[2].down, "nowhere.invalid:4222: ");
    uint32_t before = t.seen[1].downs;
    rest(300); /* the same again is no event */
    assert_int_equal(t.seen[1].downs, before);
}

/* ---- servers that go ---- */

static void restarted_server(void **state) {
    struct server s = run_server("restart", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    struct sl_err err;

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    server_kill(&s);
    WAIT_UNTIL(t.seen[1].downs > 0, 3000);
    /* Said while it is down: comes when it is up. */
    subscribe(c, "late.*");
    assert_int_equal(sl_nats_client_publish(t.client, c, "late.x", "old", 3, &err), 0);
    assert_int_equal(sl_nats_client_publish(t.client, c, "late.x", "new", 3, &err), 0);
    assert_int_equal(sl_nats_client_unsent(t.client, c), 1);
    rest(300);
    server_start(&s);
    WAIT_UNTIL(t.seen[1].ups == 2 && t.seen[1].messages == 1, 3000);
    assert_string_equal(t.seen[1].data, "new");
    assert_delivers(c, &s);
    server_kill(&s);
}

static void cluster(void **state) {
    static const char *const names[] = {"one", "two", "three"};
    struct server s[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        server_init(&s[i], names[i]);
    for (int i = 0; i < 3; i++) {
        server_configure(&s[i],
                         "cluster { name: c, listen: 127.0.0.1:%d, routes: "
                         "[nats://127.0.0.1:%d, nats://127.0.0.1:%d, nats://127.0.0.1:%d] }\n"
                         "lame_duck_grace_period: \"200ms\"\nlame_duck_duration: \"30s\"\n",
                         s[i].cluster_port, s[0].cluster_port, s[1].cluster_port,
                         s[2].cluster_port);
        server_start(&s[i]);
    }
    /* Only the first is named; the others are learnt. */
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s[0].port);
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    assert_delivers(c, &s[1]);
    server_kill(&s[0]);
    WAIT_UNTIL(t.seen[1].ups == 2, 5000);
    char *at = strrchr(t.seen[1].up, ':');
    int on = (int)strtol(at + 1, NULL, 10) == s[1].port ? 1 : 2;
    assert_int_equal((int)strtol(at + 1, NULL, 10), s[on].port);
    assert_delivers(c, &s[3 - on]);
    /* The one that it is on says goodbye: who did not lose another one just now is never down. */
    sl_nats_conn fresh = open_conn(NULL, "127.0.0.1:%d", s[on].port);
    WAIT_UNTIL(t.seen[2].ups == 1, 3000);
    server_signal(&s[on], SIGUSR2);
    WAIT_UNTIL(t.seen[1].ups == 3 && t.seen[2].ups == 2, 8000);
    assert_int_equal(t.seen[2].downs, 0);
    t.port->ops->close(t.port, fresh);
    at = strrchr(t.seen[1].up, ':');
    assert_int_equal((int)strtol(at + 1, NULL, 10), s[3 - on].port);
    assert_delivers(c, &s[3 - on]);
    /* The first comes back, on its port, and the last goes. */
    server_start(&s[0]);
    server_kill(&s[3 - on]);
    WAIT_UNTIL(t.seen[1].ups == 4, 8000);
    assert_delivers(c, &s[0]);
    server_kill(&s[0]);
    server_kill(&s[on]);
}

static void hanging_server(void **state) {
    sl_nats_client_set_pace(t.client, &quick);
    struct server a = run_server("hangs", ""), b = run_server("stays", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d,127.0.0.1:%d", a.port, b.port);

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    bool on_a = (int)strtol(strrchr(t.seen[1].up, ':') + 1, NULL, 10) == a.port;
    server_signal(on_a ? &a : &b, SIGSTOP);
    WAIT_UNTIL(t.seen[1].ups == 2, 5000);
    assert_words(t.seen[1].down, "does not answer pings");
    assert_delivers(c, on_a ? &b : &a);
    server_kill(&a);
    server_kill(&b);
}

/* Speaks until TLS begins, and then never again. */
static int listen_silently(int *ret_port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void *accept_all(void *arg) {
    static const char info[] =
        "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,\"host\":\"127.0.0.1\","
        "\"port\":1,\"max_payload\":1048576,\"tls_required\":true}\r\n";
    int fd = *(const int *)arg, one;

    while ((one = accept(fd, NULL, NULL)) >= 0)
        (void)send(one, info, sizeof info - 1, MSG_NOSIGNAL); /* stays open */
    return NULL;
}

static void handshake_without_end(void **state) {
    struct server s;
    char *ca = servers_file("ca.crt");
    struct sl_nats_credentials with = {.ca = ca};
    pthread_t thread;
    int port, fd = listen_silently(&port);

    (void)state;
    sl_nats_client_set_pace(t.client, &quick);
    assert_int_equal(pthread_create(&thread, NULL, accept_all, &fd), 0);
    server_init(&s, "speaks");
    server_configure(&s, "tls { cert_file: \"%s/server.crt\", key_file: \"%s/server.key\" }\n",
                     servers_folder(), servers_folder());
    server_start(&s);
    open_conn(&with, "tls://127.0.0.1:%d", port);
    WAIT_UNTIL(t.seen[1].downs > 0, 5000);
    assert_words(t.seen[1].down, "no answer in time");
    sl_nats_conn c = open_conn(&with, "tls://127.0.0.1:%d,tls://127.0.0.1:%d", port, s.port);
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[2].ups == 1, 5000);
    rest(100);
    sl_time at = now();
    sl_nats_client_freep(&t.client); /* in the middle of another handshake */
    assert_true(now() - at < 4 * SL_SEC);
    struct sl_err err;
    assert_int_equal(sl_nats_client_new(&t.loop, &t.client, &err), 0);
    assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(fd);
    server_kill(&s);
    free(ca);
}

/* ---- what bounds it ---- */

static void long_messages(void **state) {
    struct server s = run_server("long", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    size_t longest = SL_NATS_MAX_MESSAGE;
    char *data = calloc(1, (size_t)1 << 20);
    struct sl_err err;

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    assert_delivers(c, &s);
    rest(50);
    t.seen[1].messages = 0;
    memset(data, 'x', (size_t)1 << 20);
    int fd = publisher_open(&s, "");
    publish(fd, "a.1", data, longest);
    publish(fd, "a.2", data, longest + 1);
    publish(fd, "a.3", data, (size_t)1 << 20);
    publisher_flush(fd);
    WAIT_UNTIL(t.seen[1].messages == 3, 2000);
    assert_int_equal(t.seen[1].oversize, 2);
    assert_int_equal(t.seen[1].len, (size_t)1 << 20);
    assert_string_equal(t.seen[1].subject, "a.3");
    assert_int_equal(sl_nats_client_publish(t.client, c, "a.4", data, longest, &err), 0);
    assert_int_equal(sl_nats_client_publish(t.client, c, "a.4", data, longest + 1, &err),
                     SL_ELIMIT);
    WAIT_UNTIL(t.seen[1].messages == 4, 2000);
    (void)close(fd);
    server_kill(&s);
    free(data);
}

static void flood_of_one(void **state) {
    struct server s = run_server("flood", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    char data[200];

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    assert_delivers(c, &s);
    rest(50);
    t.seen[1].messages = 0;
    memset(data, 'x', sizeof data);
    int loud = publisher_open(&s, ""), calm = publisher_open(&s, "");
    for (int i = 0; i < 50000; i++)
        publish(loud, "a.loud", data, sizeof data);
    publish(calm, "a.calm", "calm", 4);
    publisher_flush(calm);
    publish(loud, "a.loud", "last", 4);
    publisher_flush(loud);
    read_nothing(500); /* of each subject the newest waits */
    (void)close(loud);
    (void)close(calm);
    bool found_last = false, found_calm = false;
    for (sl_time until = now() + 20 * SL_SEC; now() < until && !(found_last && found_calm);) {
        if (!take_event()) {
            read_nothing(100);
            continue;
        }
        found_last |= strcmp(t.seen[1].data, "last") == 0;
        found_calm |= strcmp(t.seen[1].data, "calm") == 0;
    }
    assert_true(found_last && found_calm);
    assert_in_range(t.seen[1].messages, 2, 1000); /* of 50,002 */
    assert_int_equal(t.seen[1].errors, 0);
    assert_int_equal(t.port->dropped, 0);
    server_kill(&s);
}

static void many_subjects(void **state) {
    struct server s = run_server("many", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    char name[32], *data = calloc(1, SL_NATS_MAX_MESSAGE);

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    assert_delivers(c, &s);
    rest(50);
    t.seen[1].messages = 0;
    int fd = publisher_open(&s, "");
    for (int i = 0; i < 20000; i++) {
        assert_true(snprintf(name, sizeof name, "a.p%d", i) > 0);
        publish(fd, name, "x", 1);
    }
    publisher_flush(fd);
    uint32_t read = read_slowly();
    take_events();
    uint64_t dropped = t.port->dropped;
    assert_in_range(t.seen[1].messages, SL_NATS_MAX_WAITING, SL_NATS_MAX_WAITING + read);
    assert_int_equal(t.seen[1].messages + dropped, 20000);
    /* By bytes. */
    t.seen[1].messages = 0;
    for (int i = 0; i < 400; i++) {
        assert_true(snprintf(name, sizeof name, "a.q%d", i) > 0);
        publish(fd, name, data, SL_NATS_MAX_MESSAGE);
    }
    publisher_flush(fd);
    read = read_slowly();
    take_events();
    assert_in_range(t.seen[1].messages, 240, 256 + read);
    assert_int_equal(t.seen[1].messages + t.port->dropped - dropped, 400);
    (void)close(fd);
    server_kill(&s);
    free(data);
}

static void too_many(void **state) {
    struct server s = run_server("ceiling", "");
    sl_nats_conn c, more = {0};
    char name[32];
    struct sl_err err;

    (void)state;
    c = open_conn(NULL, "127.0.0.1:%d", s.port);
    for (uint32_t i = 0; i <= SL_NATS_MAX_SUBJECTS; i++) {
        assert_true(snprintf(name, sizeof name, "s.%u", i) > 0);
        subscribe(c, name);
    }
    WAIT_UNTIL(t.seen[1].errors == 1, 2000);
    assert_words(t.seen[1].error, "s.256");
    WAIT_UNTIL(t.seen[1].ups == 1, 2000);
    server_kill(&s);
    WAIT_UNTIL(t.seen[1].downs == 1, 2000);
    for (uint32_t i = 0; i < SL_NATS_MAX_UNSENT; i++) {
        assert_true(snprintf(name, sizeof name, "u.%u", i) > 0);
        assert_int_equal(sl_nats_client_publish(t.client, c, name, "x", 1, &err), 0);
    }
    assert_int_equal(sl_nats_client_publish(t.client, c, "u.more", "x", 1, &err), SL_ELIMIT);
    for (uint32_t i = 1; i < SL_NATS_MAX_CONNECTIONS; i++)
        open_conn(NULL, "127.0.0.1:%d", s.port);
    assert_int_equal(open_with("127.0.0.1:1", NULL, &more, &err), SL_ELIMIT);
    t.port->ops->close(t.port, c);
    assert_int_equal(open_with("127.0.0.1:1", NULL, &more, &err), 0);
    assert_int_equal(sl_nats_client_publish(t.client, c, "u.1", "x", 1, &err), SL_ENOENT);
}

static void close_in_a_flood(void **state) {
    struct server s = run_server("flying", "");
    int fd = publisher_open(&s, "");

    (void)state;
    for (int round = 0; round < 8; round++) {
        sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
        struct seen *seen = &t.seen[c.v % SL_LEN(t.seen)];
        memset(seen, 0, sizeof *seen);
        subscribe(c, "a.*");
        subscribe(c, "a.>");
        WAIT_UNTIL(seen->ups == 1, 3000);
        for (int i = 0; i < 250 && seen->messages == 0; i++) {
            publish(fd, "a.first", "x", 1);
            turn(20);
        }
        assert_true(seen->messages > 0);
        for (int i = 0; i < 3000; i++) {
            char name[32];
            assert_true(snprintf(name, sizeof name, "a.%d", i % 100) > 0);
            publish(fd, name, "x", 1);
            if (i == 1000)
                t.port->ops->unsubscribe(t.port, c, "a.*");
            if (i == 2000) {
                t.port->ops->close(t.port, c);
                memset(seen, 0, sizeof *seen);
            }
            if (i % 100 == 0)
                turn(0);
        }
        rest(20);
        assert_int_equal(seen->messages + seen->downs + seen->errors, 0); /* no event follows */
    }
    (void)close(fd);
    server_kill(&s);
}

/* What was to be sent is, before it is closed. */
static void close_after_publishing(void **state) {
    struct server s = run_server("last", "");
    sl_nats_conn reader = open_conn(NULL, "127.0.0.1:%d", s.port);
    sl_nats_conn writer = open_conn(NULL, "127.0.0.1:%d", s.port);
    char name[32];
    struct sl_err err;

    (void)state;
    subscribe(reader, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1 && t.seen[2].ups == 1, 3000);
    assert_delivers(reader, &s);
    rest(50);
    t.seen[1].messages = 0;
    char *data = calloc(1, SL_NATS_MAX_MESSAGE);
    for (uint32_t i = 0; i < SL_NATS_MAX_UNSENT; i++) {
        assert_true(snprintf(name, sizeof name, "a.%u", i) > 0);
        assert_int_equal(
            sl_nats_client_publish(t.client, writer, name, data, SL_NATS_MAX_MESSAGE, &err), 0);
    }
    t.port->ops->close(t.port, writer);
    WAIT_UNTIL(t.seen[1].messages == SL_NATS_MAX_UNSENT, 3000);
    free(data);
    server_kill(&s);
}

static void free_while_it_hangs(void **state) {
    struct server s = run_server("hung", "");
    sl_nats_conn c = open_conn(NULL, "127.0.0.1:%d", s.port);
    struct sl_err err;

    (void)state;
    subscribe(c, "a.*");
    WAIT_UNTIL(t.seen[1].ups == 1, 3000);
    server_signal(&s, SIGSTOP);
    assert_int_equal(sl_nats_client_publish(t.client, c, "a.b", "x", 1, &err), 0);
    open_conn(NULL, "127.0.0.1:%d", s.port); /* waits for its first line */
    rest(100);
    sl_time at = now();
    t.port->ops->close(t.port, c);
    assert_true(now() - at < SL_SEC);
    sl_nats_client_freep(&t.client);
    assert_true(now() - at < 4 * SL_SEC);
    assert_int_equal(sl_nats_client_new(&t.loop, &t.client, &err), 0);
    server_kill(&s);
}

int main(void) {
#define ON_SERVER(f) cmocka_unit_test_setup_teardown(f, begin, finish)
    const struct CMUnitTest tests[] = {
        ON_SERVER(open_server),
        ON_SERVER(users_and_passwords),
        ON_SERVER(tokens),
        ON_SERVER(tls),
        ON_SERVER(system_authorities),
        ON_SERVER(client_certificates),
        ON_SERVER(credentials_files),
        ON_SERVER(authorization_comes_back),
        ON_SERVER(permissions),
        ON_SERVER(permission_is_granted),
        ON_SERVER(nobody_there),
        ON_SERVER(restarted_server),
        ON_SERVER(cluster),
        ON_SERVER(hanging_server),
        ON_SERVER(handshake_without_end),
        ON_SERVER(long_messages),
        ON_SERVER(flood_of_one),
        ON_SERVER(many_subjects),
        ON_SERVER(too_many),
        ON_SERVER(close_in_a_flood),
        ON_SERVER(close_after_publishing),
        ON_SERVER(free_while_it_hangs),
    };
    if (!servers_found())
        return 77;
    servers_begin();
    servers_certificates();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    servers_end();
    return failed;
}
