/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two replicas: the one that leads dies, and the other takes over after as long as a lease lasts.
 * Nothing that generates objects may notice: no queue is held, no flavor goes, nothing is written.
 * A standby without the right to a Secret, which it reads when it leads, has heard nothing itself.
 */
#include "mqtest.h"

#define LEASE (15 * SL_SEC)
#define FEW "{\"quotas\":{\"cpu\":\"7\",\"memory\":\"1Gi\"}}"
#define WITH_SECRET                                                                                \
    "{\"name\":\"interlink\",\"natsFlavor\":{\"natsConnector\":\"nats.nats\",\"natsSubject\":"     \
    "\"interlink.resources\",\"virtualNode\":\"interlink\",\"poolTimeout\":30,\"poolRegExp\":"     \
    "\".*\",\"natsSecret\":{\"name\":\"masterqueue-nats\"}}," NOMINAL "," LEND "}"
#define SECRET                                                                                     \
    "{\"metadata\":{\"name\":\"masterqueue-nats\",\"namespace\":\"kueue-system\"},"                \
    "\"data\":{\"username\":\"dXNlcg==\",\"password\":\"cGFzcw==\"}}"

static void take_over(struct world *w, uint32_t from, uint32_t to) {
    stop(w, from);
    keep(w, LEASE);
    sl_masterqueues_lead(w->q[to], true);
}

/* The other takes over, and for so long every second all is as it was. */
static void assert_quiet(struct world *w, uint32_t from, uint32_t to, sl_span span) {
    uint64_t queues = w->queue_writes, flavors = w->flavor_writes;
    char before[1024];
    sl_fmt(before, sizeof before, "%s", flavors_of(w, MASTER));
    take_over(w, from, to);
    for (sl_span t = 0; t < span; t += SL_SEC) {
        if (t / SL_SEC % 10 == 0)
            both(w);
        run(w, SL_SEC);
        assert_string_equal(flavors_of(w, MASTER), before);
        assert_string_equal(str(w, MASTER, "spec.stopPolicy"), "None");
        assert_int_equal(w->queue_writes, queues);
        assert_int_equal(w->flavor_writes, flavors);
    }
    condition(w, MQ, "Ready", "True", "Active");
}

static void test_both_hear(void **state) {
    struct world *w = *state;
    start(w, 1, true);
    usual(w);
    keep(w, SL_MINUTE);
    assert_quiet(w, 0, 1, 3 * SL_MINUTE);
    start(w, 0, true);
    keep(w, 20 * SL_SEC);
    assert_quiet(w, 1, 0, 3 * SL_MINUTE);
}

static void begin_with_secret(struct world *w) {
    assert_int_equal(post(w, SECRETS, SECRET), 201);
    assert_int_equal(post(w, MQS, MASTERQUEUE(WITH_SECRET)), 201);
    start(w, 1, true); /* it is there before any pool is */
    run(w, 5 * SL_SEC);
    assert_int_equal(fakenats_open(w->nats, 1), 0);
    keep(w, 30 * SL_SEC);
    assert_active(w);
}

static void test_secret(void **state) {
    struct world *w = *state;
    begin_with_secret(w);
    assert_quiet(w, 0, 1, 3 * SL_MINUTE);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    assert_active(w);
}

/* The standby has restored pools when it began; they have changed since, one is gone, one new. */
static void test_secret_and_changes(void **state) {
    struct world *w = *state;
    begin_with_secret(w);
    publish(w, "gone", FEW);
    publish(w, "changes", FEW);
    keep(w, 10 * SL_SEC);
    assert_non_null(strstr(flavors_of(w, MASTER), "masterqueue-interlink-gone,"));
    stop(w, 1);
    start(w, 1, true);
    for (int i = 0; i < 6; i++) {
        publish(w, "changes", CINECA);
        publish(w, "new", CINECA);
        keep(w, 10 * SL_SEC);
    }
    assert_string_equal(flavors_of(w, MASTER),
                        "masterqueue-interlink-changes,masterqueue-interlink-new," F_FIRENZE
                        "," F_CINECA ",");
    assert_quiet(w, 0, 1, 15 * SL_SEC);
    assert_cell(w, MASTER, 0, 0, "cpu", "2000", "");
}

/* NATS is away as well: all stays until it is back, and for a poolTimeout after that. */
static void test_secret_without_nats(void **state) {
    struct world *w = *state;
    begin_with_secret(w);
    fakenats_outage(w->nats, w->server, fakeapi_now(w->api) + 10 * SL_MINUTE);
    assert_quiet(w, 0, 1, 12 * SL_MINUTE);
}

/* The Secret is gone at that moment, and what it gave access to cannot be heard. */
static void test_secret_gone(void **state) {
    struct world *w = *state;
    begin_with_secret(w);
    (void)fakeapi_do(w->api, SL_DELETE, SECRETS "/masterqueue-nats", NULL, NULL, NULL);
    assert_quiet(w, 0, 1, 3 * SL_MINUTE);
    condition(w, MQ, "NatsConnected", "False", "SecretNotFound");
    assert_int_equal(post(w, SECRETS, SECRET), 201);
    keep(w, SL_MINUTE);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    assert_active(w);
}

#define F_LATE FLAVORS "/masterqueue-interlink-late"

static void put_groups(struct world *w, struct sl_buf *b) {
    sl_buf_puts(b, "{\"spec\":{\"resourceGroups\":");
    sl_json_put(b, sl_json_at(get(w, MASTER), "spec.resourceGroups"));
    sl_buf_puts(b, "}}");
}

/* What the leader before it wrote in its last moment comes after it leads: the flavor of a new
 * pool, and then the queue that names it. */
static void test_last_writes(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf flavor = SL_BUF(1 << 16), before = SL_BUF(1 << 16),
                                         with = SL_BUF(1 << 16);
    usual(w);
    put_groups(w, &before);
    publish(w, "late", FEW);
    run(w, 2 * SL_SEC);
    put_groups(w, &with);
    yyjson_val *o = get(w, F_LATE);
    sl_buf_puts(&flavor, "{\"metadata\":{\"name\":\"masterqueue-interlink-late\",\"annotations\":");
    sl_json_put(&flavor, sl_json_at(o, "metadata.annotations"));
    sl_buf_puts(&flavor, ",\"ownerReferences\":");
    sl_json_put(&flavor, sl_json_at(o, "metadata.ownerReferences"));
    sl_buf_puts(&flavor, "},\"spec\":");
    sl_json_put(&flavor, sl_json_get(o, "spec"));
    sl_buf_puts(&flavor, "}");
    stop(w, 0);
    (void)fakeapi_do(w->api, SL_DELETE, F_LATE, NULL, NULL, NULL);
    patch(w, MASTER, sl_buf_str(&before));
    fakenats_outage(w->nats, w->server, fakeapi_now(w->api) + 10 * SL_MINUTE);
    start(w, 0, false);
    run(w, SL_SEC);
    uint64_t flavors = w->flavor_writes;
    assert_int_equal(post(w, FLAVORS, sl_buf_str(&flavor)), 201);
    run(w, 300 * SL_MSEC);
    patch(w, MASTER, sl_buf_str(&with));
    for (int i = 0; i < 120; i++) {
        run(w, SL_SEC);
        assert_string_equal(flavors_of(w, MASTER),
                            "masterqueue-interlink-late," F_FIRENZE "," F_CINECA ",");
    }
    assert_int_equal(w->flavor_writes, flavors);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_both_hear),           T(test_secret),      T(test_secret_and_changes),
        T(test_secret_without_nats), T(test_secret_gone), T(test_last_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
