/* SPDX-License-Identifier: Apache-2.0 */
/* Another configuration, while objects wait that were read with the one before: they get what they
 * would get if they came now, or if the process started anew. */
#include "fqtest.h"

#include "lib/log/log.h"

static void reload(struct world *w, const char *flux) {
    char text[512];
    struct sl_settings *settings = NULL;
    struct sl_err err = {0};
    sl_fmt(text, sizeof text,
           "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfluxqueue: %s\n", flux);
    assert_true(
        sl_settings_parse("config", text, strlen(text), NULL, NULL, &settings, NULL, &err) >= 0);
    sl_fluxqueue_configure(w->q[0], settings);
    sl_settings_free(w->settings);
    w->settings = settings;
}

#define NO_LEVELS "{levels: []}"
#define RACKS "{levels: [{type: rack, nodeLabel: example.com/rack}]}"
#define ROOMS "{levels: [{type: rack, nodeLabel: example.com/room}]}"
#define IN_RACK "'fluxqueue/within':'rack'"

static void in_rack(struct world *w, const char *name, const char *cpu, const char *rack) {
    char path[100], body[200];
    node(w, name, cpu);
    sl_fmt(path, sizeof path, NODES "/%s", name);
    sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"example.com/rack\":\"%s\"}}}", rack);
    patch(w, path, body);
}

/* What was refused for a level that there was not. */
static void test_new_level(void **state) {
    struct world *w = *state;
    reload(w, NO_LEVELS);
    in_rack(w, "n0", "1", "r0");
    in_rack(w, "n1", "1", "r1");
    in_rack(w, "n2", "1", "r1");
    pod(w, "a", "1", IN_RACK, "");
    job(w, "b", 2, "1", IN_RACK);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/b-job", "status.state", "Rejected");
    reload(w, RACKS);
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/b-job", "status.nodeList", "n[1-2]");
}

/* One that waits has the duration that it would have. */
static void test_default_duration(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "first", "2", "'fluxqueue/duration':'100'", "");
    run(w, SL_SEC);
    pod(w, "second", "2", "", "");
    run(w, SL_SEC);
    job(w, "third", 2, "1", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Reserved");
    assert_field(w, FLUXJOBS "/third-job", "status.state", "Waiting");
    reload(w, "{defaultDuration: 200s, queuePolicy: conservative}");
    run(w, 10 * SL_SEC);
    assert_non_null(strstr(at(w, FLUXJOBS "/third-job", "spec.jobspec"), "duration: 200"));
    assert_field(w, FLUXJOBS "/second-pod", "status.estimatedStart", "2026-01-01T00:01:40Z");
    assert_field(w, FLUXJOBS "/third-job", "status.estimatedStart", "2026-01-01T00:05:00Z");
}

/* A pod without a FluxJob: it does not go on to be refused for a level that there is now. */
static void test_plain(void **state) {
    struct world *w = *state;
    reload(w, NO_LEVELS);
    in_rack(w, "n0", "1", "r0");
    plain(w, "a", "1",
          "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'example.com/rack',"
          "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{}}]");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    reload(w, RACKS);
    run(w, 5 * SL_SEC);
    yyjson_val *list = sl_json_at(fakeapi_get(w->api, PODS "/a"), "status.conditions");
    const char *why = sl_json_str(sl_json_find(list, "type", "PodScheduled"), "message");
    assert_true(*at(w, PODS "/a", "spec.nodeName") || !strstr(why, "expected the topologyKey"));
}

/* A node that comes into another rack, by a label that was none of a level before. */
static void test_other_label(void **state) {
    struct world *w = *state;
    reload(w, RACKS);
    in_rack(w, "n0", "1", "x");
    in_rack(w, "n1", "1", "x");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"example.com/room" : "y"}}}));
    patch(w, NODES "/n1", SL_JSON_CONST({"metadata" : {"labels" : {"example.com/room" : "x"}}}));
    pod(w, "first", "1", "", "");
    run(w, SL_SEC);
    phase(w, "first", "Succeeded");
    reload(w, ROOMS);
    run(w, SL_SEC);
    job(w, "a", 2, "1", IN_RACK);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.state", "Rejected");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"example.com/room" : "x"}}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-job", "status.nodeList", "n[0-1]");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_new_level),
        TEST(test_default_duration),
        TEST(test_plain),
        TEST(test_other_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
