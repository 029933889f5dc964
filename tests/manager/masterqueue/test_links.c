/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to NATS: what servers refuse, what cannot be opened, and how much may be asked of
 * patterns in one turn. */
#include "mqtest.h"

#define SUBJECT "interlink.resources.*"
#define VIOLATION "Permissions Violation for Subscription to"
#define LOGGED "NATS server reports an error"
#define OTHER_SUBJECT                                                                              \
    "{\"name\":\"other\",\"natsFlavor\":{\"natsConnector\":\"nats://user:pass@nats.nats:4222\","   \
    "\"natsSubject\":\"other.resources\",\"poolTimeout\":30,\"poolRegExp\":\".*\"}}"
#define REOPEN SL_MINUTE /* as MQ_REOPEN */

static uint64_t ups(const struct world *w) {
    struct fakenats_stats s;
    fakenats_stats(w->nats, &s);
    return s.ups;
}

static const char *message_of(struct world *w, const char *type) {
    yyjson_val *all = sl_json_at(get(w, MQ), "status.conditions");
    return sl_json_str(sl_json_find(all, "type", type), "message");
}

/* ---- what a server refuses ---- */

static void test_permission(void **state) {
    struct world *w = *state;
    fakenats_forbid(w->nats, w->server, SUBJECT);
    assert_int_equal(post(w, MQS, MASTERQUEUE(GROUP)), 201);
    run(w, 2 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    assert_non_null(strstr(message_of(w, "NatsConnected"), VIOLATION));
    fakenats_forbid(w->nats, w->server, NULL);
    both(w);
    run(w, REOPEN - 10 * SL_SEC); /* nobody asks again before */
    assert_int_equal(ups(w), 1);
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    run(w, 20 * SL_SEC);
    assert_int_equal(ups(w), 1); /* by the same connection */
    condition(w, MQ, "NatsConnected", "True", "Connected");
    both(w);
    run(w, 2 * SL_SEC);
    assert_active(w);
}

/* One that is never granted: it is asked for every minute, and is one event, one line of the log
 * and no change of the status. */
static void test_permission_never(void **state) {
    struct world *w = *state;
    fakenats_forbid(w->nats, w->server, SUBJECT);
    log_begin();
    assert_int_equal(post(w, MQS, MASTERQUEUE(GROUP)), 201);
    assert_int_equal(
        post(w, MQS, "{\"metadata\":{\"name\":\"second\"},\"spec\":{\"flavors\":[" GROUP "]}}"),
        201);
    run(w, 30 * SL_SEC);
    uint64_t writes = w->writes;
    for (int i = 0; i < 600; i++) {
        run(w, SL_SEC);
        condition(w, MQ, "NatsConnected", "False", "ServerError");
    }
    assert_int_equal(ups(w), 1);
    assert_int_equal(w->writes, writes);
    assert_int_equal(log_count(LOGGED), 1);
    log_end();
    assert_int_equal(count_events(w, "ServerError"), 2); /* of two MasterQueues */
    assert_int_equal(count_events(w, "Connected"), 2);   /* before the answer came */
    /* Another error is news. */
    log_begin();
    fakenats_forbid(w->nats, w->server, NULL);
    run(w, 2 * REOPEN);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    fakenats_complain(w->nats, w->server, "Maximum Subscriptions Exceeded");
    fakenats_complain(w->nats, w->server, "Maximum Subscriptions Exceeded");
    run(w, SL_SEC);
    for (int i = 0; i < 20; i++) { /* ever new ones do not fill the log */
        char text[64];
        sl_fmt(text, sizeof text, "Permissions Violation %d", i);
        fakenats_complain(w->nats, w->server, text);
        run(w, SL_SEC / 5);
    }
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    assert_int_equal(log_count(LOGGED), 1);
    log_end();
}

/* An error that keeps nobody from publishing: it goes by itself. */
static void test_error_passes(void **state) {
    struct world *w = *state;
    usual(w);
    fakenats_complain(w->nats, w->server, "Maximum Subscriptions Exceeded");
    run(w, SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    assert_active(w);
    keep(w, REOPEN - 10 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    keep(w, 20 * SL_SEC);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    assert_int_equal(ups(w), 1);
    assert_active(w);
}

/* Messages of one subject say nothing about another one that is refused. */
static void test_one_of_two_subjects(void **state) {
    struct world *w = *state;
    fakenats_forbid(w->nats, w->server, "other.resources.*");
    usual(w);
    patch(w, MQ, "{\"spec\":{\"flavors\":[" GROUP "," OTHER_SUBJECT "]}}");
    keep(w, 10 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "ServerError");
    assert_active(w);
    fakenats_forbid(w->nats, w->server, NULL);
    keep(w, REOPEN + 10 * SL_SEC);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    assert_active(w);
    fakenats_publish(w->nats, w->server, "other.resources.p", FIRENZE, strlen(FIRENZE));
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",masterqueue-other-p,");
}

/* One that is refused is nobody else's: others on the connection are connected, and their pools
 * expire. */
static void test_refused_beside(void **state) {
    struct world *w = *state;
    usual(w);
    fakenats_forbid(w->nats, w->server, "other.resources.*");
    assert_int_equal(
        post(w, MQS,
             "{\"metadata\":{\"name\":\"second\"},\"spec\":{\"flavors\":[" OTHER_SUBJECT "]}}"),
        201);
    run(w, 2 * SL_SEC);
    condition(w, MQS "/second", "NatsConnected", "False", "ServerError");
    for (int i = 0; i < 18; i++) {
        publish(w, "podman-firenze", FIRENZE);
        run(w, 10 * SL_SEC);
        condition(w, MQ, "NatsConnected", "True", "Connected");
        condition(w, MQS "/second", "NatsConnected", "False", "ServerError");
    }
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE ",");
    assert_int_equal(ups(w), 1);
}

/* ---- how many there are ---- */

static void make_one(struct world *w, int i, int server) {
    char body[1024];
    sl_fmt(
        body, sizeof body,
        "{\"metadata\":{\"name\":\"m%02d\"},\"spec\":{\"flavors\":[{\"name\":\"g\",\"natsFlavor\":{"
        "\"natsConnector\":\"nats://s%d\",\"natsSubject\":\"a\",\"poolRegExp\":\".*\"}}]}}",
        i, server);
    assert_int_equal(post(w, MQS, body), 201);
}

/* All places are taken: one that is given up can be had at once, also by the same MasterQueue. */
static void test_all_links(void **state) {
    struct world *w = *state;
    for (int i = 0; i <= (int)SL_MQ_MAX_LINKS; i++)
        make_one(w, i, i);
    run(w, 5 * SL_SEC);
    assert_int_equal(fakenats_open(w->nats, 0), SL_MQ_MAX_LINKS);
    condition(w, MQS "/m00", "NatsConnected", "False", "Disconnected");
    char last[64];
    sl_fmt(last, sizeof last, MQS "/m%02u", SL_MQ_MAX_LINKS);
    condition(w, last, "NatsConnected", "False", "TooManyConnections");
    (void)fakeapi_do(w->api, SL_DELETE, MQS "/m01", NULL, NULL, NULL);
    run(w, 5 * SL_SEC);
    condition(w, last, "NatsConnected", "False", "Disconnected");
    patch(w, MQS "/m00",
          "{\"spec\":{\"flavors\":[{\"name\":\"g\",\"natsFlavor\":{\"natsConnector\":\"nats://"
          "moved\","
          "\"natsSubject\":\"a\",\"poolRegExp\":\".*\"}}]}}");
    run(w, 5 * SL_SEC);
    condition(w, MQS "/m00", "NatsConnected", "False", "Disconnected");
    assert_int_equal(fakenats_open(w->nats, 0), SL_MQ_MAX_LINKS);
}

/* ---- what cannot be opened ---- */

static void test_open_fails(void **state) {
    struct world *w = *state;
    fakenats_cannot_open(w->nats, 0, "the certificate of the client cannot be read");
    assert_int_equal(post(w, MQS, MASTERQUEUE(GROUP)), 201);
    run(w, 2 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "CannotConnect");
    assert_non_null(strstr(message_of(w, "NatsConnected"), "cannot be read"));
    run(w, 5 * REOPEN);
    condition(w, MQ, "NatsConnected", "False", "CannotConnect");
    assert_int_equal(count_events(w, "CannotConnect"), 1);
    fakenats_cannot_open(w->nats, 0, NULL);
    run(w, REOPEN + 2 * SL_SEC);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    both(w);
    run(w, 2 * SL_SEC);
    assert_active(w);
}

/* ---- where it is connected to ---- */

#define AT(name, host)                                                                             \
    "{\"name\":\"" name "\",\"natsFlavor\":{\"natsConnector\":\"nats://user:pass@" host            \
    ":4222\",\"natsSubject\":\"" name "\",\"poolRegExp\":\"\"}}"

/* Each server once, also if groups with another one are between. */
static void test_servers(void **state) {
    struct world *w = *state;
    (void)fakenats_serve(w->nats,
                         &(struct fakenats_server){.host = "nats.b", .port = 4222, .cluster = 1});
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE(AT("g", "nats.nats") "," AT("h", "nats.b") "," AT("i", "nats.nats"))),
        201);
    run(w, 3 * SL_SEC);
    assert_string_equal(str(w, MQ, "status.servers"), "nats://nats.nats:4222 nats://nats.b:4222");
    assert_string_equal(message_of(w, "NatsConnected"),
                        "Connected to nats://nats.nats:4222 (0), nats://nats.b:4222 (0)");
    assert_int_equal(fakenats_open(w->nats, 0), 2);
}

/* ---- messages that found no place ---- */

static void drop(struct world *w, uint64_t n) {
    fakenats_port(w->nats, 0)->dropped += n;
    both(w);
    run(w, SL_SEC);
}

static void test_dropped(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(1 << 20);
    usual(w);
    log_begin();
    drop(w, 3);
    assert_int_equal(log_count("messages of resource pools dropped"), 1);
    assert_int_equal(log_count("\"count\":3"), 1);
    for (int i = 0; i < 50; i++)
        drop(w, 1);
    assert_int_equal(log_count("messages of resource pools dropped"), 1);
    assert_true(sl_masterqueues_next(w->q[0]) <= fakeapi_now(w->api) + 10 * SL_SEC);
    run(w, 20 * SL_SEC); /* the rest, when a minute is over */
    assert_int_equal(log_count("messages of resource pools dropped"), 2);
    assert_int_equal(log_count("\"count\":50"), 1);
    run(w, 5 * SL_MINUTE);
    assert_int_equal(log_count("messages of resource pools dropped"), 2);
    log_end();
    sl_metrics_print(w->metrics, &text);
    assert_non_null(strstr(sl_buf_str(&text), "\nsluice_nats_messages_dropped_total 53\n"));
}

/* ---- patterns ---- */

/* Such a name costs it as much as one match may. */
#define SLOW "^(?:a|aa)+$"
#define SLOW_NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-%u"
#define TURN_NAMES 100u /* MQ_MAX_TURN through MQ_MAX_PATTERN */

/* All that is published arrives before the next turn. */
static void one_turn(struct world *w) {
    fakeapi_advance(w->api, fakeapi_now(w->api) + 100 * SL_MSEC);
    run(w, SL_MSEC);
}

static void publish_slow(struct world *w, uint32_t n) {
    char name[64];
    for (uint32_t i = 0; i < n; i++) {
        sl_fmt(name, sizeof name, SLOW_NAME, i);
        publish(w, name, FIRENZE);
    }
}

static int64_t count_of(struct world *w, const char *field) {
    run(w, 2 * SL_SEC); /* the status is written once a second */
    return sl_json_int(get(w, MQ), field, -1);
}

#define SLOW_GROUP "{\"name\":\"slow\"," NATS("\"poolRegExp\":\"" SLOW "\"") "}"

static void test_pattern_budget(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE(SLOW_GROUP ",{\"name\":\"list\"," NATS("\"pools\":[\"listed\"]") "}")),
        201);
    run(w, 2 * SL_SEC);
    publish(w, "aaaa", FIRENZE);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), "masterqueue-slow-aaaa,");
    publish_slow(w, 3 * TURN_NAMES);
    publish(w, "aaaa", CINECA);   /* known: no pattern is asked */
    publish(w, "aaaaaa", CINECA); /* a new one, and no steps are left */
    publish(w, "listed", CINECA);
    one_turn(w);
    /* Which came first is chance; what is cut off by the end of the budget is not counted. */
    assert_in_range(count_of(w, "status.ignoredPools"), TURN_NAMES - 2, TURN_NAMES + 2);
    assert_cell(w, MASTER, 0, 0, "cpu", "2000", "");
    assert_non_null(strstr(flavors_of(w, MASTER), "masterqueue-list-listed,"));
    for (int64_t i = 2; i <= 3; i++) {
        publish_slow(w, 3 * TURN_NAMES);
        one_turn(w);
        assert_in_range(count_of(w, "status.ignoredPools"), i * TURN_NAMES - 6, i * TURN_NAMES + 2);
    }
    publish(w, "aaaaaa", CINECA);
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(flavors_of(w, MASTER), "masterqueue-slow-aaaaaa,"));
}

/* What another group of the same messages has is not asked about again with each message. */
static void test_pattern_of_another_group(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE(SLOW_GROUP ",{\"name\":\"rest\"," NATS("\"poolRegExp\":\"\"") "}")),
        201);
    run(w, 2 * SL_SEC);
    for (int64_t i = 1; i <= 2; i++) {
        publish_slow(w, 2 * TURN_NAMES);
        one_turn(w);
        assert_in_range(count_of(w, "status.poolCount"), i * TURN_NAMES - 4, i * TURN_NAMES);
    }
    assert_int_equal(sl_json_int(get(w, MQ), "status.ignoredPools", -1), 0);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_permission),
        T(test_permission_never),
        T(test_error_passes),
        T(test_one_of_two_subjects),
        T(test_refused_beside),
        T(test_all_links),
        T(test_open_fails),
        T(test_pattern_budget),
        T(test_pattern_of_another_group),
        T(test_dropped),
        T(test_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
