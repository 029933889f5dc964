/* SPDX-License-Identifier: Apache-2.0 */
/* The in-memory NATS: who gets what, who is let in, and what faults do. */
#include "fakenats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/collection/hash.h"

struct fixture {
    struct fakeapi *api;
    struct fakenats *nats;
    struct sl_nats_port *port;
    uint32_t server;
};

static void begin(struct fixture *x, uint64_t seed) {
    x->api = fakeapi_new(seed);
    x->nats = fakenats_new(x->api, seed);
    x->port = fakenats_port(x->nats, 0);
    x->server = fakenats_serve(
        x->nats,
        &(struct fakenats_server){.host = "nats", .port = 4222, .user = "u", .password = "p"});
}

static void end(struct fixture *x) {
    fakeapi_free(x->api);
    fakenats_free(x->nats);
}

static sl_nats_conn connect_as(struct fixture *x, const char *user, const char *password,
                               const char *token) {
    struct sl_nats_connector c = {
        .servers = {{"nats", 4222}}, .n = 1, .user = user, .password = password, .token = token};
    sl_nats_conn conn = {0};
    struct sl_err err;

    assert_int_equal(x->port->ops->open(x->port, &c, NULL, &conn, &err), 0);
    return conn;
}

static void pass(struct fixture *x, sl_span t) {
    fakeapi_advance(x->api, fakeapi_now(x->api) + t);
}

static void publish(struct fixture *x, const char *subject, const char *data) {
    fakenats_publish(x->nats, x->server, subject, data, strlen(data));
}

/* "up", "down", "error" or "subject=data" of all that waits, each with a blank behind it. */
static const char *read_all(struct fixture *x) {
    static const char *const kinds[] = {"up", "down", "error"};
    static char text[512];
    struct sl_nats_event e;
    size_t n = 0;

    text[0] = '\0';
    while (x->port->ops->next(x->port, &e)) {
        if (e.kind == SL_NATS_MESSAGE)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s=%s ", e.subject,
                                  e.data ? e.data : "(long)");
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%s ", kinds[e.kind]);
        assert_true(n < sizeof text);
    }
    assert_false(fakenats_pending(x->nats, 0));
    return text;
}

static void subjects(void **state) {
    static const struct {
        const char *pattern, *subject;
        bool matches;
    } cases[] = {
        {"a.b", "a.b", true},    {"a.b", "a.c", false},  {"a.*", "a.b", true},
        {"a.*", "a.b.c", false}, {"a.*", "a", false},    {"a.>", "a.b.c", true},
        {"a.>", "a", false},     {"*.b", "a.b", true},   {"a.*.c", "a.b.c", true},
        {">", "a", true},        {"ab.*", "a.b", false}, {"a.*", "a.", false},
        {"a", "a.b", false},     {"a.bc", "a.b", false},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        if (fakenats_matches(cases[i].pattern, cases[i].subject) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].subject);
}

static void messages(void **state) {
    struct fixture x;

    (void)state;
    begin(&x, 1);
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, "r.*");
    publish(&x, "r.early", "0");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "up ");
    publish(&x, "r.a", "1");
    publish(&x, "s.a", "1");
    pass(&x, SL_SEC);
    publish(&x, "r.b", "1");
    pass(&x, SL_SEC);
    publish(&x, "r.a", "2");
    pass(&x, SL_SEC);
    assert_true(fakenats_pending(x.nats, 0));
    assert_string_equal(read_all(&x), "r.a=2 r.b=1 ");
    x.port->ops->unsubscribe(x.port, c, "r.*");
    publish(&x, "r.a", "3");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "");
    x.port->ops->subscribe(x.port, c, "r.a");
    publish(&x, "r.a", "4");
    pass(&x, SL_SEC);
    assert_int_equal(fakenats_open(x.nats, 0), 1);
    x.port->ops->close(x.port, c);
    assert_string_equal(read_all(&x), "");
    assert_int_equal(fakenats_open(x.nats, 0), 0);
    end(&x);
}

static void who_is_let_in(void **state) {
    struct fixture x;

    (void)state;
    begin(&x, 2);
    (void)connect_as(&x, "u", "wrong", NULL);
    pass(&x, SL_SEC);
    assert_int_equal(strncmp(read_all(&x), "down ", 5), 0);
    fakenats_kill(x.nats, 0);
    (void)connect_as(&x, NULL, NULL, "t");
    pass(&x, 10 * SL_SEC);
    assert_null(strstr(read_all(&x), "up"));
    fakenats_kill(x.nats, 0);
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    fakenats_deny(x.nats, x.server, 10 * SL_SEC + 5 * SL_SEC);
    pass(&x, SL_SEC);
    assert_int_equal(strncmp(read_all(&x), "down ", 5), 0);
    assert_false(fakenats_is_up(x.nats, 0, c));
    pass(&x, SL_MINUTE);
    assert_non_null(strstr(read_all(&x), "up "));
    assert_true(fakenats_is_up(x.nats, 0, c));
    end(&x);
}

static void outages(void **state) {
    struct fixture x;

    (void)state;
    begin(&x, 3);
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, "r.>");
    pass(&x, SL_SEC);
    fakenats_outage(x.nats, x.server, 10 * SL_MINUTE);
    publish(&x, "r.a", "lost");
    pass(&x, SL_MINUTE);
    assert_int_equal(strncmp(read_all(&x), "up down ", 8), 0);
    pass(&x, 10 * SL_MINUTE);
    assert_true(fakenats_is_up(x.nats, 0, c));
    (void)read_all(&x);
    fakenats_silence(x.nats, x.server, fakeapi_now(x.api) + SL_MINUTE);
    publish(&x, "r.a", "lost");
    pass(&x, SL_MINUTE / 2);
    assert_true(fakenats_is_up(x.nats, 0, c));
    assert_string_equal(read_all(&x), "");
    pass(&x, SL_MINUTE);
    (void)read_all(&x);
    publish(&x, "r.a", "heard");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "r.a=heard ");
    fakenats_move(x.nats, x.server, fakeapi_now(x.api) + SL_SEC);
    pass(&x, SL_MINUTE);
    assert_non_null(strstr(read_all(&x), "up "));
    fakenats_kill(x.nats, 0);
    publish(&x, "r.a", "nobody");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "");
    end(&x);
}

/* A member of the cluster takes over. */
static void clusters(void **state) {
    struct fixture x;

    (void)state;
    begin(&x, 4);
    uint32_t other = fakenats_serve(x.nats, &(struct fakenats_server){.host = "b", .port = 1});
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, "r.>");
    pass(&x, SL_SEC);
    fakenats_outage(x.nats, x.server, SL_HOUR);
    pass(&x, SL_MINUTE);
    assert_string_equal(read_all(&x), "up down up ");
    fakenats_publish(x.nats, other, "r.x", "1", 1);
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "r.x=1 ");
    end(&x);
}

static void poisons(void **state) {
    struct fixture x;
    bool too_long = false;

    (void)state;
    begin(&x, 5);
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, ">");
    pass(&x, SL_SEC);
    (void)read_all(&x);
    for (uint32_t i = 0; i < FAKENATS_POISONS; i++) {
        struct sl_nats_event e;
        size_t len;
        const char *data = fakenats_poison(x.nats, i, &len);
        fakenats_publish(x.nats, x.server, "r.p", data, len);
        pass(&x, SL_SEC);
        assert_true(x.port->ops->next(x.port, &e) && e.len == len);
        too_long |= !e.data;
    }
    assert_true(too_long);
    end(&x);
}

static void mix(void *ctx, uint32_t client, const struct sl_nats_event *e) {
    uint64_t *digest = ctx;

    (void)client;
    *digest = sl_digest_u64(*digest, (uint64_t)e->kind << 32 | e->len);
}

static uint64_t history(uint64_t seed, struct fakenats_stats *sum) {
    struct fakenats_faults faults;
    struct fakenats_stats stats;
    struct fixture x;
    struct sl_prng prng;
    uint64_t digest = 0;

    begin(&x, seed);
    sl_prng_init(&prng, seed);
    fakenats_on_event(x.nats, mix, &digest);
    fakenats_some_faults(&prng, 50, &faults);
    fakenats_set_faults(x.nats, &faults);
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, "r.*");
    for (uint32_t i = 0; i < 300; i++) {
        struct sl_nats_event e;
        char subject[16];
        (void)snprintf(subject, sizeof subject, "r.%u", i % 7);
        publish(&x, subject, "{}");
        pass(&x, sl_prng_range(&prng, SL_MSEC, 3 * SL_SEC));
        while (x.port->ops->next(x.port, &e))
            ;
    }
    fakenats_stats(x.nats, &stats);
    for (uint32_t i = 0; i < FAKENATS_FAULTS; i++)
        sum->struck[i] += stats.struck[i];
    fakenats_set_faults(x.nats, NULL);
    pass(&x, SL_MINUTE);
    assert_true(fakenats_is_up(x.nats, 0, c));
    end(&x);
    return digest;
}

/* A subject that is refused: the connection stays, and only a new one is allowed it. */
static void permissions(void **state) {
    struct fixture x;
    struct sl_nats_connector never = {.servers = {{"nats", 4222}}, .n = 1};
    struct sl_err err;
    sl_nats_conn none = {0};

    (void)state;
    begin(&x, 9);
    fakenats_forbid(x.nats, x.server, "a.*");
    sl_nats_conn c = connect_as(&x, "u", "p", NULL);
    x.port->ops->subscribe(x.port, c, "a.*");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "up error ");
    x.port->ops->subscribe(x.port, c, "b.*");
    publish(&x, "a.1", "{}");
    publish(&x, "b.1", "{}");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "b.1={} ");
    fakenats_forbid(x.nats, x.server, NULL);
    publish(&x, "a.1", "{}");
    pass(&x, SL_MINUTE);
    assert_string_equal(read_all(&x), "");
    fakenats_cut(x.nats, x.server);
    pass(&x, SL_MINUTE);
    assert_string_equal(read_all(&x), "down up ");
    publish(&x, "a.1", "{}");
    pass(&x, SL_SEC);
    assert_string_equal(read_all(&x), "a.1={} ");
    fakenats_complain(x.nats, x.server, "Maximum Subscriptions Exceeded");
    assert_string_equal(read_all(&x), "error ");
    fakenats_cannot_open(x.nats, 0, "no certificate");
    assert_true(x.port->ops->open(x.port, &never, NULL, &none, &err) < 0);
    assert_string_equal(err.text, "no certificate");
    end(&x);
}

static void same_seed(void **state) {
    struct fakenats_stats sum = {0};

    (void)state;
    for (uint64_t s = 1; s <= 40; s++)
        assert_true(history(s, &sum) == history(s, &sum));
    for (uint32_t i = 0; i < FAKENATS_FAULTS; i++)
        if (!sum.struck[i])
            fail_msg("%s never struck", fakenats_fault_names[i]);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(subjects),  cmocka_unit_test(messages),    cmocka_unit_test(who_is_let_in),
        cmocka_unit_test(outages),   cmocka_unit_test(clusters),    cmocka_unit_test(poisons),
        cmocka_unit_test(same_seed), cmocka_unit_test(permissions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
