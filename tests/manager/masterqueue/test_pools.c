/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: who has a place, how often they publish, and what the queues cover because of them. */
#include "mqtest.h"

#define GPU "{\"quotas\":{\"cpu\":\"4\",\"amd.com/gpu\":8}}"
#define NO_GPU "{\"quotas\":{\"cpu\":\"4\"}}"
#define F_AMD "masterqueue-interlink-amd"

/* ---- places ---- */

/* One that is listed takes the place of one that a pattern took and no queue has. */
static void test_listed_gets_place(void **state) {
    struct world *w = *state;
    char name[32];
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE("{\"name\":\"interlink\"," NATS(
                 "\"poolRegExp\":\"^aa\"") "},{\"name\":\"list\"," NATS("\"pools\":["
                                                                        "\"special\"]") "}")),
        201);
    run(w, 2 * SL_SEC);
    for (uint32_t i = 0; i < SL_MQ_MAX_POOLS + 20; i++) {
        sl_fmt(name, sizeof name, "aa%03u", i);
        publish(w, name, FIRENZE);
    }
    run(w, 3 * SL_SEC);
    assert_int_equal(sl_json_int(get(w, MQ), "status.poolCount", 0), SL_MQ_MAX_POOLS);
    publish(w, "special", CINECA);
    run(w, 3 * SL_SEC);
    assert_int_equal(sl_json_int(get(w, MQ), "status.poolCount", 0), SL_MQ_MAX_POOLS);
    assert_string_equal(sl_json_str(pool(w, MQ, "special"), "state"), "Live");
    /* Those that take part stay; when they go, it is in. */
    assert_null(strstr(flavors_of(w, MASTER), "special"));
    condition(w, MQ, "Ready", "False", "TooManyPools");
    for (int i = 0; i < 5; i++) {
        publish(w, "special", CINECA);
        run(w, 10 * SL_SEC);
    }
    assert_string_equal(flavors_of(w, MASTER), "masterqueue-list-special,");
}

/* ---- what is covered ---- */

/* The resources that the master covers, with a comma behind each. */
static const char *covered(struct world *w) {
    static char out[1024];
    size_t i, n, at = 0;
    yyjson_val *v, *group = yyjson_arr_get(sl_json_at(get(w, MASTER), "spec.resourceGroups"), 0);
    out[0] = '\0';
    yyjson_arr_foreach (sl_json_get(group, "coveredResources"), i, n, v) {
        sl_fmt(out + at, sizeof out - at, "%s,", sl_json_text(v));
        at = strlen(out);
    }
    return out;
}

#define FOUR "cpu,memory,pods,nvidia.com/gpu,"

/* The only pool with a resource goes: it is covered as long as work of the pool runs. */
static void test_covered_while_used(void **state) {
    struct world *w = *state;
    usual(w);
    publish(w, "amd", GPU);
    run(w, 2 * SL_SEC);
    assert_string_equal(covered(w), FOUR "amd.com/gpu,");
    w->used = F_AMD;
    keep(w, 2 * SL_MINUTE);
    assert_active(w);
    assert_string_equal(sl_json_str(pool(w, MQ, "amd"), "state"), "Expired");
    assert_string_equal(covered(w), FOUR "amd.com/gpu,");
    assert_cell(w, MASTER, 0, 4, "amd.com/gpu", "0", "");
    stop(w, 0); /* and over a restart */
    start(w, 0, false);
    keep(w, SL_MINUTE);
    assert_string_equal(covered(w), FOUR "amd.com/gpu,");
    w->used = NULL;
    keep(w, 20 * SL_SEC);
    assert_null(get(w, FLAVORS "/" F_AMD));
    assert_string_equal(covered(w), FOUR);
}

static void set_usage(struct world *w, const char *total) {
    char body[400];
    sl_fmt(body, sizeof body,
           "{\"status\":{\"flavorsUsage\":[{\"name\":\"" F_AMD
           "\",\"resources\":[{\"name\":\"amd.com/gpu\",\"total\":\"%s\"}]}]}}",
           total);
    patch(w, GROUP1 "/status", body);
}

/* It stays and has no more of it: what is in use is shown, as of any pool that shrank. */
static void test_covered_while_usage(void **state) {
    struct world *w = *state;
    usual(w);
    publish(w, "amd", GPU);
    run(w, 2 * SL_SEC);
    set_usage(w, "2");
    run(w, 2 * SL_SEC);
    publish(w, "amd", NO_GPU);
    run(w, 3 * SL_SEC);
    assert_string_equal(covered(w), FOUR "amd.com/gpu,");
    assert_cell(w, MASTER, 0, 4, "amd.com/gpu", "0", "");
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "amd"), "message"), "amd.com/gpu"));
    set_usage(w, "0");
    run(w, 3 * SL_SEC);
    assert_string_equal(covered(w), FOUR);
}

/* One that publishes ever new names does not fill the queues with those of before. */
static void test_new_names(void **state) {
    struct world *w = *state;
    char text[100];
    usual(w);
    for (uint32_t i = 0; i < 100; i++) {
        sl_fmt(text, sizeof text, "{\"quotas\":{\"example.com/r%u\":1}}", i);
        publish(w, "amd", text);
        run(w, 1100 * SL_MSEC);
    }
    assert_string_equal(covered(w), FOUR "example.com/r99,");
}

static void test_limit_of_further_resource(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE("{\"name\":\"interlink\"," NATS(
                 "\"poolRegExp\":\".*\"") "," NOMINAL
                                          ",\"canLendTo\":[{\"queue\":\"group1\",\"lendingLimit\":{"
                                          "\"pods\":30,\"amd.com/gpu\":2,"
                                          "\"ephemeral-storage\":\"1Gi\"}}]}")),
        201);
    run(w, 2 * SL_SEC);
    publish(w, "amd", GPU);
    run(w, 2 * SL_SEC);
    /* What a limit names is covered, also if nobody publishes it. */
    assert_string_equal(covered(w), FOUR "amd.com/gpu,ephemeral-storage,");
    assert_cell(w, MASTER, 0, 4, "amd.com/gpu", "8", "");
    assert_cell(w, GROUP1, 0, 2, "pods", "0", "30");
    assert_cell(w, GROUP1, 0, 4, "amd.com/gpu", "0", "2");
    assert_cell(w, GROUP1, 0, 5, "ephemeral-storage", "0", "1Gi");
    assert_cell(w, MASTER, 0, 5, "ephemeral-storage", "0", "");
}

/* ---- periods ---- */

static void publish_every(struct world *w, sl_span period, int times) {
    for (int i = 0; i < times; i++) {
        publish(w, "amd", NO_GPU);
        run(w, period);
    }
}

static int64_t period_of(struct world *w) {
    return sl_json_int(pool(w, MQ, "amd"), "periodSeconds", 0);
}

/* poolTimeout is 30 s, and 5 s of grace: two periods should fit. */
static void test_period(void **state) {
    struct world *w = *state;
    usual(w);
    publish_every(w, 10 * SL_SEC, 1);
    assert_int_equal(period_of(w), 0);
    publish_every(w, 10 * SL_SEC, 2);
    assert_int_equal(period_of(w), 10);
    assert_string_equal(sl_json_str(pool(w, MQ, "amd"), "message"), "");
    /* A lost message is no other period. */
    run(w, 10 * SL_SEC);
    publish_every(w, 10 * SL_SEC, 3);
    assert_int_equal(period_of(w), 10);
    /* Nor are two odd gaps that differ. */
    publish_every(w, 20 * SL_SEC, 1);
    publish_every(w, 14 * SL_SEC, 1);
    publish_every(w, 10 * SL_SEC, 1);
    assert_int_equal(period_of(w), 10);
    assert_int_equal(count_events(w, "PoolPeriodTooLong"), 0);
    /* Another one is found with its second gap. */
    publish_every(w, 25 * SL_SEC, 1);
    publish(w, "amd", NO_GPU);
    run(w, 2 * SL_SEC);
    assert_int_equal(period_of(w), 10);
    run(w, 23 * SL_SEC);
    publish(w, "amd", NO_GPU);
    run(w, 2 * SL_SEC);
    assert_int_equal(period_of(w), 25);
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "amd"), "message"), "poolTimeout"));
    run(w, 23 * SL_SEC);
    publish_every(w, 25 * SL_SEC, 10);
    publish_every(w, 32 * SL_SEC, 5); /* a longer one is the same problem */
    assert_int_equal(period_of(w), 32);
    assert_int_equal(count_events(w, "PoolPeriodTooLong"), 1);
    publish_every(w, 10 * SL_SEC, 4);
    assert_int_equal(period_of(w), 10);
    assert_string_equal(sl_json_str(pool(w, MQ, "amd"), "message"), "");
}

/* Two ways to one name: the first has the flavor, and the other is told so. */
static void test_namesakes(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE("{\"name\":\"x\"," NATS(
                 "\"pools\":[\"y-z\"]") "},"
                                        "{\"name\":\"x-y\"," NATS("\"poolRegExp\":\"^z$\"") "}")),
        201);
    run(w, 2 * SL_SEC);
    for (int i = 0; i < 3; i++) {
        publish(w, "y-z", FIRENZE);
        publish(w, "z", CINECA);
        run(w, 10 * SL_SEC);
    }
    assert_string_equal(flavors_of(w, MASTER), "masterqueue-x-y-z,");
    assert_string_equal(sl_json_str(pool(w, MQ, "y-z"), "state"), "Live");
    assert_string_equal(sl_json_str(pool(w, MQ, "z"), "state"), "Refused");
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "z"), "message"), "pool y-z of group x"));
    condition(w, MQ, "Ready", "True", "Active");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_namesakes),
        T(test_listed_gets_place),
        T(test_covered_while_used),
        T(test_covered_while_usage),
        T(test_new_names),
        T(test_limit_of_further_resource),
        T(test_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
