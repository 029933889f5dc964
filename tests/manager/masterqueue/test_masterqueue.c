/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of MasterQueues over an in-memory API and in-memory NATS servers. Failures that
 * the original controller is known for have a number, A4.1 to A4.17, in the names of tests: none of
 * them happens here.
 */
#include "mqtest.h"

/* ---- the worked example ---- */

static void test_before_any_message(void **state) {
    struct world *w = *state;
    assert_int_equal(post(w, MQS, MASTERQUEUE(GROUP)), 201);
    run(w, 3 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), NONE);
    assert_string_equal(str(w, MASTER, "spec.stopPolicy"), "Hold");
    assert_string_equal(str(w, MASTER, "spec.cohortName"), "masterqueue");
    assert_null(get(w, GROUP1));
    condition(w, MQ, "NatsConnected", "True", "Connected");
    condition(w, MQ, "Ready", "False", "NoLivePools");
}

static void assert_flavor(struct world *w, const char *path, const char *expected_spec) {
    yyjson_val *o = get(w, path);
    assert_non_null(o);
    yyjson_val *owner = yyjson_arr_get(sl_json_at(o, "metadata.ownerReferences"), 0);
    assert_string_equal(sl_json_str(owner, "kind"), "MasterQueue");
    assert_string_equal(sl_json_str(owner, "apiVersion"), "vk.io/v1");
    assert_true(sl_json_bool(owner, "controller", false));
    assert_true(sl_json_bool(owner, "blockOwnerDeletion", false));
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(65536);
    sl_json_put(&b, sl_json_get(o, "spec"));
    assert_string_equal(sl_buf_str(&b), expected_spec);
}

static void test_worked_example(void **state) {
    static const char *const names[] = {"cpu", "memory", "pods", "nvidia.com/gpu"};
    static const char *const firenze[] = {"85", "1Ti", "100", "28"};
    static const char *const cineca[] = {"2000", "8Ti", "50", "0"};
    struct world *w = *state;
    usual(w);
    assert_flavor(w, FLAVORS "/" F_FIRENZE,
                  "{\"nodeLabels\":{\"kubernetes.io/hostname\":\"interlink\"},\"nodeTaints\":"
                  "[{\"key\":\"virtual-node.interlink/no-schedule\",\"value\":\"true\",\"effect\":"
                  "\"NoSchedule\"}],\"tolerations\":[{\"key\":\"pool.vk.io\",\"value\":"
                  "\"podman-firenze\",\"effect\":\"NoSchedule\"}]}");
    assert_flavor(w, FLAVORS "/" F_CINECA,
                  "{\"nodeLabels\":{\"kubernetes.io/hostname\":\"interlink\"},\"nodeTaints\":"
                  "[{\"key\":\"virtual-node.interlink/no-schedule\",\"value\":\"true\",\"effect\":"
                  "\"NoSchedule\"},{\"key\":\"slurm\",\"value\":\"true\",\"effect\":"
                  "\"NoSchedule\"}],\"tolerations\":[{\"key\":\"pool.vk.io\",\"value\":"
                  "\"slurm-cineca\",\"effect\":\"NoSchedule\"}]}");
    assert_string_equal(sl_json_label(get(w, FLAVORS "/" F_FIRENZE), "site"), "firenze");
    assert_active(w);
    for (uint32_t i = 0; i < SL_LEN(names); i++) {
        const char *limit = i == 2 ? "30" : "";
        assert_cell(w, MASTER, 0, i, names[i], firenze[i], "");
        assert_cell(w, MASTER, 1, i, names[i], cineca[i], "");
        assert_cell(w, GROUP1, 0, i, names[i], "0", limit);
        assert_cell(w, GROUP1, 1, i, names[i], "0", limit);
    }
    condition(w, MQ, "Ready", "True", "Active");
    yyjson_val *p = pool(w, MQ, "podman-firenze");
    assert_string_equal(sl_json_str(p, "state"), "Live");
    assert_string_equal(sl_json_str(p, "flavor"), F_FIRENZE);
    assert_string_equal(sl_json_str(sl_json_get(p, "published"), "pods"), "123");
    assert_string_equal(sl_json_str(sl_json_get(p, "quotas"), "pods"), "100");
    assert_int_equal(sl_json_int(get(w, MQ), "status.livePools", 0), 2);
    assert_int_equal(sl_json_int(get(w, MQ), "status.queueCount", 0), 2);
    assert_string_equal(str(w, MQ, "status.servers"), "nats://nats.nats:4222");
}

static void test_local_flavor(void **state) {
    struct world *w = *state;
    usual(w);
    assert_int_equal(post(w, FLAVORS, "{\"metadata\":{\"name\":\"local-cpu\"},\"spec\":{}}"), 201);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[" GROUP ",{\"name\":\"local-cpu\",\"localFlavor\":{}," NOMINAL
          "," LEND "}]}}");
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",local-cpu,");
    assert_cell(w, MASTER, 2, 0, "cpu", "1M", "");
    assert_cell(w, GROUP1, 2, 2, "pods", "0", "30");
    patch(w, MQ, "{\"spec\":{\"flavors\":[" GROUP "]}}");
    run(w, 2 * SL_SEC);
    assert_active(w);
    assert_non_null(get(w, FLAVORS "/local-cpu")); /* it is not ours */
}

/* ---- silence and return ---- */

static void test_silence(void **state) {
    struct world *w = *state;
    usual(w);
    for (int i = 0; i < 4; i++) {
        publish(w, "podman-firenze", FIRENZE);
        run(w, 10 * SL_SEC);
    }
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE ",");
    assert_string_equal(flavors_of(w, GROUP1), F_FIRENZE ",");
    assert_null(get(w, FLAVORS "/" F_CINECA)); /* A4.12: nothing is left of a dead pool */
    assert_null(pool(w, MQ, "slurm-cineca"));
    publish(w, "slurm-cineca", CINECA);
    run(w, SL_SEC);
    assert_active(w);
}

/* A4.3: poolTimeout 30 and a period of 30.1 s, as in the documentation; and the order stays. */
static void test_a4_3_period_of_the_example(void **state) {
    struct world *w = *state;
    usual(w);
    uint64_t writes = 0;
    for (int i = 0; i < 40; i++) {
        both(w);
        run(w, 30100 * SL_MSEC);
        assert_active(w);
        if (i == 4)
            writes = w->writes;
    }
    assert_int_equal(w->writes, writes);
    assert_int_equal(sl_json_int(pool(w, MQ, "podman-firenze"), "periodSeconds", 0), 30);
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "podman-firenze"), "message"), "poolTimeout"));
}

static void test_used_flavor_stays(void **state) {
    struct world *w = *state;
    usual(w);
    w->used = F_CINECA;
    for (int i = 0; i < 6; i++) {
        publish(w, "podman-firenze", FIRENZE);
        run(w, 10 * SL_SEC);
    }
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE ",");
    assert_non_null(get(w, FLAVORS "/" F_CINECA));
    assert_string_equal(sl_json_str(pool(w, MQ, "slurm-cineca"), "state"), "Expired");
    w->used = NULL;
    publish(w, "podman-firenze", FIRENZE);
    run(w, 10 * SL_SEC);
    assert_null(get(w, FLAVORS "/" F_CINECA));
}

static void test_all_silent(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, GROUP1 "/status", "{\"status\":{\"reservingWorkloads\":1}}");
    run(w, 40 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), NONE);
    assert_string_equal(str(w, MASTER, "spec.stopPolicy"), "Hold");
    /* What runs there keeps its quota until it has ended. */
    assert_string_equal(str(w, GROUP1, "spec.stopPolicy"), "Hold");
    assert_non_null(strstr(flavors_of(w, GROUP1), "masterqueue-interlink-"));
    patch(w, GROUP1 "/status", "{\"status\":{\"reservingWorkloads\":0}}");
    run(w, 10 * SL_SEC);
    assert_string_equal(flavors_of(w, GROUP1), NONE);
    assert_null(get(w, FLAVORS "/" F_CINECA));
    both(w);
    run(w, 2 * SL_SEC);
    assert_active(w);
}

/* ---- edits ---- */

static void test_a4_1_update_keeps_pools(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, MQ, "{\"spec\":{\"template\":{\"queueingStrategy\":\"StrictFIFO\"}}}");
    for (int i = 0; i < 20; i++) {
        run(w, 100 * SL_MSEC);
        assert_active(w);
    }
    assert_string_equal(str(w, MASTER, "spec.queueingStrategy"), "StrictFIFO");
    patch(w, MQ, "{\"spec\":{\"template\":{\"queueingStrategy\":null}}}");
    run(w, SL_SEC);
    assert_string_equal(str(w, MASTER, "spec.queueingStrategy"), "BestEffortFIFO");
    assert_int_equal(fakenats_open(w->nats, 0), 1); /* A4.12 */
}

static void test_a4_2_update_with_local_flavor(void **state) {
    struct world *w = *state;
    usual(w);
    assert_int_equal(post(w, FLAVORS, "{\"metadata\":{\"name\":\"local-cpu\"},\"spec\":{}}"), 201);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[" GROUP ",{\"name\":\"local-cpu\",\"localFlavor\":{}}]}}");
    run(w, SL_SEC);
    patch(w, MQ, "{\"spec\":{\"template\":{\"queueingStrategy\":\"StrictFIFO\"}}}");
    run(w, SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",local-cpu,");
    assert_cell(w, MASTER, 2, 1, "memory", "1Ei", ""); /* A4.7: without nominalQuota */
}

static void test_lending_changes(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[{\"name\":\"interlink\"," NATS(
              "\"pools\":[\"slurm-cineca\"]") "," NOMINAL ",\"canLendTo\":[{\"queue\":\"group2\","
                                              "\"lendingLimit\":{}}]}]}}");
    run(w, 10 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_CINECA ",");
    assert_string_equal(flavors_of(w, QUEUES "/group2"), F_CINECA ",");
    assert_string_equal(str(w, GROUP1, "spec.stopPolicy"), "Hold");
    assert_null(get(w, FLAVORS "/" F_FIRENZE)); /* A4.12 */
}

/* ---- the messenger ---- */

static void test_a4_4_long_outage(void **state) {
    struct world *w = *state;
    usual(w);
    run(w, 5 * SL_SEC);
    uint64_t version = sl_rec_version(str(w, MASTER, "metadata.resourceVersion"));
    fakenats_outage(w->nats, w->server, fakeapi_now(w->api) + 10 * SL_MINUTE);
    run(w, 10 * SL_MINUTE);
    assert_active(w);
    condition(w, MQ, "NatsConnected", "False", "Disconnected");
    condition(w, MQ, "Ready", "True", "Active");
    assert_string_equal(sl_json_str(pool(w, MQ, "slurm-cineca"), "state"), "Late");
    run(w, 40 * SL_SEC); /* connected again, and not yet a poolTimeout later */
    keep(w, SL_MINUTE);
    assert_active(w);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    assert_int_equal(sl_rec_version(str(w, MASTER, "metadata.resourceVersion")), version);
}

static void test_a4_5_restart(void **state) {
    struct world *w = *state;
    usual(w);
    uint64_t version = sl_rec_version(str(w, MASTER, "metadata.resourceVersion"));
    stop(w, 0);
    start(w, 0, false);
    run(w, 30 * SL_SEC); /* nobody publishes meanwhile */
    assert_active(w);
    both(w);
    run(w, 5 * SL_SEC);
    assert_active(w);
    assert_int_equal(sl_rec_version(str(w, MASTER, "metadata.resourceVersion")), version);
    stop(w, 0);
    start(w, 0, false);
    run(w, 40 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), NONE); /* they are really gone */
}

/* Flavors and queues as the original has made them: no annotation, the same owner. */
static void test_take_over(void **state) {
    struct world *w = *state;
    usual(w);
    stop(w, 0);
    patch(w, FLAVORS "/" F_FIRENZE, "{\"metadata\":{\"annotations\":null}}");
    patch(w, FLAVORS "/" F_CINECA, "{\"metadata\":{\"annotations\":null}}");
    start(w, 0, false);
    run(w, 20 * SL_SEC);
    assert_active(w);
    publish(w, "podman-firenze", FIRENZE);
    run(w, SL_SEC);
    assert_active(w); /* the other one may still come */
    both(w);
    run(w, SL_SEC);
    assert_active(w);
    keep(w, SL_MINUTE);
    assert_active(w);
    assert_true(*sl_json_annotation(get(w, FLAVORS "/" F_CINECA), SL_MQ_POOL_ANNOTATION));
}

/* ---- bad pools ---- */

static void test_a4_6_poison(void **state) {
    struct world *w = *state;
    usual(w);
    size_t len;
    for (uint32_t i = 0; i < FAKENATS_POISONS; i++) {
        const char *data = fakenats_poison(w->nats, i, &len);
        fakenats_publish(w->nats, w->server, "interlink.resources.evil", data, len);
        both(w);
        run(w, SL_SEC);
        assert_true(strstr(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ","));
    }
    publish(w, "Upper_Case", FIRENZE);
    publish(w, "labels", "{\"quotas\":{\"cpu\":\"1\"},\"labels\":null,\"taints\":null}");
    publish(w, "bare", "{\"quotas\":{\"cpu\":\"1\"},\"labels\":[\"alone\"]}");
    publish(w, "taints",
            "{\"quotas\":{},\"taints\":[\"a=b:NoSchedule\",\"b=b:NoSchedule\",\"c=b:NoSchedule\","
            "\"d=b:NoSchedule\",\"e=b:NoSchedule\",\"f=b:NoSchedule\",\"g=b:NoSchedule\","
            "\"h=b:NoSchedule\"]}");
    both(w);
    run(w, 3 * SL_SEC);
    assert_null(pool(w, MQ, "Upper_Case")); /* counted; an event says why */
    assert_true(sl_json_int(get(w, MQ), "status.ignoredPools", 0) >= 1);
    assert_string_equal(sl_json_str(pool(w, MQ, "labels"), "state"), "Live");
    assert_string_equal(sl_json_str(pool(w, MQ, "bare"), "state"), "Live");
    assert_string_equal(sl_json_str(pool(w, MQ, "taints"), "state"), "Refused");
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "taints"), "message"), "taint"));
    assert_string_equal(sl_json_str(pool(w, MQ, "slurm-cineca"), "state"), "Live");
}

/* One that changes with every message is written once a second at most. */
static void test_restless_pool(void **state) {
    struct world *w = *state;
    usual(w);
    uint64_t writes = w->writes;
    for (uint32_t i = 0; i < 1000; i++) {
        char text[200];
        sl_fmt(text, sizeof text, "{\"quotas\":{\"cpu\":\"%u\"}}", i + 1);
        publish(w, "restless", text);
        run(w, 10 * SL_MSEC);
    }
    run(w, 2 * SL_SEC);
    assert_in_range(w->writes - writes, 10, 60);
    assert_string_equal(sl_json_str(cell(w, MASTER, 1, 0), "nominalQuota"), "1000");
}

static void test_many_pools(void **state) {
    struct world *w = *state;
    usual(w);
    for (uint32_t i = 0; i < 10000; i++) {
        char name[32];
        sl_fmt(name, sizeof name, "aa%u", i);
        publish(w, name, FIRENZE);
        if (i % 100 == 0) {
            both(w);
            run(w, 50 * SL_MSEC);
        }
    }
    both(w);
    run(w, 5 * SL_SEC);
    yyjson_val *group = yyjson_arr_get(sl_json_at(get(w, MASTER), "spec.resourceGroups"), 0);
    assert_int_equal(sl_json_size(sl_json_get(group, "flavors")), SL_MQ_MAX_FLAVORS); /* A4.14 */
    assert_non_null(strstr(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ","));
    assert_int_equal(sl_json_int(get(w, MQ), "status.poolCount", 0), SL_MQ_MAX_POOLS);
    assert_true(sl_json_int(get(w, MQ), "status.ignoredPools", 0) >= 1000);
    condition(w, MQ, "Ready", "False", "TooManyPools");
}

/* ---- objects ---- */

static void test_a4_7_local_flavor_missing(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[" GROUP ",{\"name\":\"local-cpu\",\"localFlavor\":{}}]}}");
    run(w, 2 * SL_SEC);
    assert_active(w);
    condition(w, MQ, "Ready", "False", "LocalFlavorNotFound");
    assert_int_equal(post(w, FLAVORS, "{\"metadata\":{\"name\":\"local-cpu\"},\"spec\":{}}"), 201);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",local-cpu,");
    condition(w, MQ, "Ready", "True", "Active");
}

static void test_a4_8_templates(void **state) {
    static const struct {
        const char *patch, *field, *value;
    } rows[] = {
        {"{\"stopPolicy\":\"Stop\"}", "spec.stopPolicy", "Hold"},
        {"{\"stopPolicy\":\"StopAndHold\"}", "spec.stopPolicy", "HoldAndDrain"},
        {"{\"stopPolicy\":\"HoldAndDrain\"}", "spec.stopPolicy", "HoldAndDrain"},
        {"{\"stopPolicy\":\"None\",\"preemption\":{\"borrowWithinCohort\":{\"policy\":"
         "\"LowerPriority\"},\"reclaimWithinCohort\":\"Never\"}}",
         "spec.preemption.borrowWithinCohort.policy", "Never"},
        {"{\"preemption\":{\"reclaimWithinCohort\":\"Any\"}}",
         "spec.preemption.borrowWithinCohort.policy", "LowerPriority"},
        {"{\"preemption\":null,\"flavorFungibility\":{\"whenCanPreempt\":\"Preempt\"}}",
         "spec.flavorFungibility.whenCanPreempt", "MayStopSearch"},
        {"{\"flavorFungibility\":null}", "spec.flavorFungibility.whenCanPreempt", "TryNextFlavor"},
        {"null", "spec.cohortName", "masterqueue"},
    };
    struct world *w = *state;
    usual(w);
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        char body[400];
        sl_fmt(body, sizeof body, "{\"spec\":{\"template\":%s}}", rows[i].patch);
        patch(w, MQ, body);
        run(w, 2 * SL_SEC);
        both(w);
        assert_string_equal(str(w, MASTER, rows[i].field), rows[i].value);
        assert_string_equal(str(w, GROUP1, rows[i].field), rows[i].value);
    }
}

static void test_a4_9_foreign_and_missing(void **state) {
    struct world *w = *state;
    assert_int_equal(post(w, QUEUES, "{\"metadata\":{\"name\":\"group1\"},\"spec\":{}}"), 201);
    usual(w);
    condition(w, MQ, "Ready", "False", "ForeignQueue");
    assert_string_equal(str(w, GROUP1, "metadata.resourceVersion"),
                        str(w, GROUP1, "metadata.resourceVersion"));
    assert_null(sl_json_at(get(w, GROUP1), "spec.cohortName"));
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",");
    (void)fakeapi_do(w->api, SL_DELETE, GROUP1, NULL, NULL, NULL);
    run(w, SL_SEC);
    assert_active(w);
    condition(w, MQ, "Ready", "True", "Active");
    (void)fakeapi_do(w->api, SL_DELETE, MASTER, NULL, NULL, NULL);
    (void)fakeapi_do(w->api, SL_DELETE, FLAVORS "/" F_CINECA, NULL, NULL, NULL);
    run(w, 2 * SL_SEC);
    assert_active(w);
    patch(w, GROUP1, "{\"spec\":{\"cohortName\":\"other\",\"fairSharing\":{\"weight\":2}}}");
    run(w, SL_SEC);
    assert_string_equal(str(w, GROUP1, "spec.cohortName"), "masterqueue");
    assert_int_equal(sl_json_int(get(w, GROUP1), "spec.fairSharing.weight", 0), 2);
}

static void test_foreign_flavor(void **state) {
    struct world *w = *state;
    assert_int_equal(post(w, FLAVORS, "{\"metadata\":{\"name\":\"" F_CINECA "\"},\"spec\":{}}"),
                     201);
    usual(w);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE ",");
    assert_null(sl_json_at(get(w, FLAVORS "/" F_CINECA), "spec.nodeTaints"));
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "not owned"));
    assert_string_equal(sl_json_str(pool(w, MQ, "slurm-cineca"), "state"), "Refused");
    condition(w, MQ, "Ready", "False", "ForeignFlavor");
    /* What else is wrong with the pool is shown as well, as long as it is. */
    publish(w, "slurm-cineca", "{");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "malformed"));
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "not owned"));
    keep(w, 90 * SL_SEC);
    assert_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "malformed"));
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "not owned"));
    /* The flavor is not the pool's, and nothing is left of one that went silent. */
    for (int i = 0; i < 12; i++) {
        publish(w, "podman-firenze", FIRENZE);
        run(w, 10 * SL_SEC);
    }
    assert_null(pool(w, MQ, "slurm-cineca"));
}

/* A flavor that is not here, and that queues name: it is created, and they keep it. */
static void test_unseen_flavor(void **state) {
    struct world *w = *state;
    usual(w);
    uint64_t master = sl_rec_version(str(w, MASTER, "metadata.resourceVersion"));
    uint64_t group1 = sl_rec_version(str(w, GROUP1, "metadata.resourceVersion"));
    (void)fakeapi_do(w->api, SL_DELETE, FLAVORS "/" F_CINECA, NULL, NULL, NULL);
    run(w, 2 * SL_SEC);
    assert_non_null(get(w, FLAVORS "/" F_CINECA));
    assert_int_equal(sl_rec_version(str(w, MASTER, "metadata.resourceVersion")), master);
    assert_int_equal(sl_rec_version(str(w, GROUP1, "metadata.resourceVersion")), group1);
}

static int refuse_cineca(void *ctx, const struct fakeapi_write *f, struct sl_buf *why) {
    (void)ctx;
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(f->now), "metadata");
    if (strcmp(sl_json_mut_text(yyjson_mut_obj_get(meta, "name")), F_CINECA) != 0)
        return 0;
    sl_buf_puts(why, "no such site");
    return 422;
}

/* One that cannot be created would make the queue inactive for all pools. */
static void test_refused_flavor(void **state) {
    struct world *w = *state;
    usual(w);
    fakeapi_on_write(w->api, refuse_cineca, NULL);
    (void)fakeapi_do(w->api, SL_DELETE, FLAVORS "/" F_CINECA, NULL, NULL, NULL);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE ",");
    assert_string_equal(flavors_of(w, GROUP1), F_FIRENZE ",");
    assert_non_null(strstr(sl_json_str(pool(w, MQ, "slurm-cineca"), "message"), "no such site"));
}

static void test_a4_10_counted_once(void **state) {
    struct world *w = *state;
    usual(w);
    assert_int_equal(
        post(w, MQS, "{\"metadata\":{\"name\":\"second\"},\"spec\":{\"flavors\":[" GROUP "]}}"),
        201);
    run(w, 2 * SL_SEC);
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, QUEUES "/second"), NONE);
    assert_non_null(
        strstr(sl_json_str(pool(w, MQS "/second", "slurm-cineca"), "message"), "masterqueue"));
    (void)fakeapi_do(w->api, SL_DELETE, MQ, NULL, NULL, NULL);
    run(w, SL_SEC);
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, QUEUES "/second"),
                        "second-interlink-podman-firenze,second-interlink-slurm-cineca,");
    /* Two groups of one MasterQueue. */
    patch(w, MQS "/second",
          "{\"spec\":{\"flavors\":[" GROUP
          ",{\"name\":\"other\"," NATS("\"poolRegExp\":\".*\"") "}]}}");
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, QUEUES "/second"),
                        "second-interlink-podman-firenze,second-interlink-slurm-cineca,");
}

/* The same server, written in another way: one connection, and each pool once. */
static void test_a4_10_two_spellings(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[" GROUP
          ",{\"name\":\"other\",\"natsFlavor\":{\"natsConnector\":\"user:pass@NATS.nats\","
          "\"natsSubject\":\"interlink.resources\",\"poolTimeout\":30,\"poolRegExp\":\".*\"}}]}}");
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",");
    assert_int_equal(fakenats_open(w->nats, 0), 1);
}

/* A group that takes a pool before the one that has it: the pool moves, and is never there twice.
 */
static void test_a4_10_group_before(void **state) {
    struct world *w = *state;
    usual(w);
    patch(w, MQ,
          "{\"spec\":{\"flavors\":[{\"name\":\"first\"," NATS(
              "\"pools\":[\"podman-firenze\"]") "," LEND "}," GROUP "]}}");
    for (int i = 0; i < 30; i++) {
        run(w, 100 * SL_MSEC);
        const char *now = flavors_of(w, MASTER);
        assert_false(strstr(now, "masterqueue-first-podman-firenze") && strstr(now, F_FIRENZE));
        assert_non_null(strstr(now, F_CINECA));
    }
    both(w);
    run(w, 10 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), "masterqueue-first-podman-firenze," F_CINECA ",");
    assert_null(get(w, FLAVORS "/" F_FIRENZE));
}

static int refuse_bad_cohort(void *ctx, const struct fakeapi_write *f, struct sl_buf *why) {
    (void)ctx;
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(f->now), "spec");
    if (strcmp(sl_json_mut_text(yyjson_mut_obj_get(spec, "cohortName")), "bad") != 0)
        return 0;
    sl_buf_puts(why, "no such cohort");
    return 422;
}

static void test_refused_write(void **state) {
    struct world *w = *state;
    fakeapi_on_write(w->api, refuse_bad_cohort, NULL);
    usual(w);
    patch(w, MQ, "{\"spec\":{\"template\":{\"cohort\":\"bad\"}}}");
    run(w, 3 * SL_SEC);
    condition(w, MQ, "Ready", "False", "WriteRefused");
    patch(w, MQ, "{\"spec\":{\"template\":{\"cohort\":\"masterqueue\"}}}");
    both(w);
    run(w, 5 * SL_SEC);
    condition(w, MQ, "Ready", "True", "Active");
}

/* Labels that are left out do not keep the quotas of before. */
static void test_left_out(void **state) {
    struct world *w = *state;
    usual(w);
    publish(w, "p", "{\"quotas\":{\"cpu\":\"10\"}}");
    run(w, 2 * SL_SEC);
    publish(w, "p", "{\"quotas\":{\"cpu\":\"20\"},\"labels\":[\"-bad-=x\"]}");
    run(w, 2 * SL_SEC);
    assert_cell(w, MASTER, 0, 0, "cpu", "20", "");
    publish(w, "p", "{\"quotas\":{\"cpu\":\"10\"}}");
    run(w, 2 * SL_SEC);
    assert_cell(w, MASTER, 0, 0, "cpu", "10", "");
}

/* "g" and "x-y", "g-x" and "y": two pools, one name of a flavor. */
static void test_one_flavor_name(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE(
                 "{\"name\":\"g\"," NATS("\"poolRegExp\":\"^x-y$\"") "},{\"name\":\"g-x\"," NATS(
                     "\"poolRegExp\":\".*\"") "}")),
        201);
    run(w, 2 * SL_SEC);
    publish(w, "x-y", FIRENZE);
    publish(w, "y", FIRENZE);
    run(w, 2 * SL_SEC);
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), "masterqueue-g-x-y,masterqueue-g-x-podman-firenze,"
                                               "masterqueue-g-x-slurm-cineca,");
}

static void test_long_name(void **state) {
    struct world *w = *state;
    char name[301] = "";
    memset(name, 'x', 280);
    usual(w);
    publish(w, name, FIRENZE);
    run(w, 2 * SL_SEC);
    assert_int_equal(sl_json_int(get(w, MQ), "status.poolCount", 0), 2);
    assert_int_equal(sl_json_int(get(w, MQ), "status.ignoredPools", 0), 1);
}

static void test_a4_11_no_write_without_change(void **state) {
    struct world *w = *state;
    usual(w);
    keep(w, SL_MINUTE);
    uint64_t writes = w->writes, events = w->events;
    keep(w, 10 * SL_MINUTE);
    assert_int_equal(w->writes, writes);
    assert_int_equal(w->events, events);
    publish(w, "podman-firenze",
            "{\"taints\":[],\"labels\":[\"site=firenze\"],\"quotas\":{\"memory\":\"1024Gi\","
            "\"cpu\":85,\"pods\":\"123\",\"nvidia.com/gpu\":\"28\"}}");
    run(w, 5 * SL_SEC);
    assert_int_equal(w->writes, writes);
    /* What others write as defaults is no difference, nor how an amount is spelled. */
    patch(w, MASTER, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    run(w, 5 * SL_SEC);
    assert_int_equal(w->writes, writes);
}

static void test_a4_12_deleted(void **state) {
    struct world *w = *state;
    usual(w);
    (void)fakeapi_do(w->api, SL_DELETE, MQ, NULL, NULL, NULL);
    run(w, 5 * SL_SEC);
    assert_null(get(w, MASTER));
    assert_null(get(w, GROUP1));
    assert_null(get(w, FLAVORS "/" F_CINECA));
    assert_int_equal(fakenats_open(w->nats, 0), 0);
    usual(w);
    assert_active(w);
}

static void test_a4_13_further_resources(void **state) {
    struct world *w = *state;
    usual(w);
    publish(w, "amd",
            "{\"quotas\":{\"cpu\":\"4\",\"amd.com/gpu\":8,\"ephemeral-storage\":\"1Ti\"}}");
    run(w, 2 * SL_SEC);
    assert_cell(w, MASTER, 0, 4, "amd.com/gpu", "8", "");
    assert_cell(w, MASTER, 1, 4, "amd.com/gpu", "0", "");
    assert_cell(w, MASTER, 0, 5, "ephemeral-storage", "1Ti", "");
}

static void test_a4_15_password_and_taints(void **state) {
    struct world *w = *state;
    usual(w);
    publish(w, "t", "{\"quotas\":{\"cpu\":\"4\"},\"taints\":[\"dedicated:NoExecute\"]}");
    run(w, 2 * SL_SEC);
    yyjson_val *t = sl_json_at(get(w, FLAVORS "/masterqueue-interlink-t"), "spec.nodeTaints");
    assert_string_equal(sl_json_str(yyjson_arr_get(t, 1), "key"), "dedicated");
    assert_string_equal(sl_json_str(yyjson_arr_get(t, 1), "value"), "");
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1 << 20);
    sl_json_put(&b, sl_json_get(get(w, MQ), "status"));
    assert_null(strstr(sl_buf_str(&b), "pass@"));
    assert_null(strstr(sl_buf_str(&b), "user"));
}

static void test_a4_16_duplicate_borrower(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE("{\"name\":\"interlink\"," NATS(
                 "\"poolRegExp\":\".*\"") ",\"canLendTo\":["
                                          "{\"queue\":\"group1\",\"lendingLimit\":{\"pods\":30}},"
                                          "{\"queue\":\"group1\",\"lendingLimit\":{\"pods\":40}},"
                                          "{\"queue\":\"masterqueue\",\"lendingLimit\":{\"pods\":"
                                          "40}}]}")),
        201);
    run(w, 2 * SL_SEC);
    both(w);
    run(w, 2 * SL_SEC);
    assert_active(w);
    assert_cell(w, GROUP1, 0, 2, "pods", "0", "30");
    condition(w, MQ, "Ready", "False", "InvalidSpec"); /* admission would have refused it */
}

/* ---- credentials ---- */

static void test_secret(void **state) {
    struct world *w = *state;
    assert_int_equal(
        post(w, MQS,
             MASTERQUEUE("{\"name\":\"interlink\",\"natsFlavor\":{\"natsConnector\":"
                         "\"nats.nats\",\"natsSubject\":\"interlink.resources\",\"poolRegExp\":"
                         "\"\",\"natsSecret\":{\"name\":\"masterqueue-nats\"}}," LEND "}")),
        201);
    run(w, 3 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "SecretNotFound");
    assert_int_equal(post(w, SECRETS,
                          "{\"metadata\":{\"name\":\"masterqueue-nats\",\"namespace\":"
                          "\"kueue-system\"},\"data\":{\"username\":\"dXNlcg==\",\"password\":"
                          "\"d3Jvbmc=\"}}"),
                     201);
    run(w, 15 * SL_SEC);
    condition(w, MQ, "NatsConnected", "False", "Disconnected");
    patch(w, SECRETS "/masterqueue-nats", "{\"data\":{\"password\":\"cGFzcw==\"}}");
    run(w, 40 * SL_SEC); /* the pause between attempts may have grown */
    condition(w, MQ, "NatsConnected", "True", "Connected");
    both(w);
    run(w, 2 * SL_SEC);
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",");
    /* Gone again: what works goes on. */
    (void)fakeapi_do(w->api, SL_DELETE, SECRETS "/masterqueue-nats", NULL, NULL, NULL);
    keep(w, 2 * SL_MINUTE);
    condition(w, MQ, "NatsConnected", "True", "Connected");
    /* One that nobody needs is not read any more. */
    (void)fakeapi_do(w->api, SL_DELETE, MQ, NULL, NULL, NULL);
    run(w, 10 * SL_SEC);
    struct fakeapi_stats before, after;
    fakeapi_stats(w->api, &before);
    run(w, 10 * SL_MINUTE);
    fakeapi_stats(w->api, &after);
    assert_true(after.requests - before.requests < 10);
}

static void test_standby(void **state) {
    struct world *w = *state;
    usual(w);
    sl_masterqueues_lead(w->q[0], false);
    uint64_t writes = w->writes;
    publish(w, "podman-firenze", CINECA);
    run(w, 5 * SL_SEC);
    assert_int_equal(w->writes, writes);
    sl_masterqueues_lead(w->q[0], true);
    run(w, 2 * SL_SEC);
    assert_cell(w, MASTER, 0, 0, "cpu", "2000", "");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_before_any_message),
        T(test_worked_example),
        T(test_local_flavor),
        T(test_silence),
        T(test_a4_3_period_of_the_example),
        T(test_used_flavor_stays),
        T(test_all_silent),
        T(test_a4_1_update_keeps_pools),
        T(test_a4_2_update_with_local_flavor),
        T(test_lending_changes),
        T(test_a4_4_long_outage),
        T(test_a4_5_restart),
        T(test_take_over),
        T(test_a4_6_poison),
        T(test_restless_pool),
        T(test_many_pools),
        T(test_a4_7_local_flavor_missing),
        T(test_a4_8_templates),
        T(test_a4_9_foreign_and_missing),
        T(test_foreign_flavor),
        T(test_unseen_flavor),
        T(test_refused_flavor),
        T(test_a4_10_counted_once),
        T(test_a4_10_two_spellings),
        T(test_a4_10_group_before),
        T(test_refused_write),
        T(test_left_out),
        T(test_one_flavor_name),
        T(test_long_name),
        T(test_a4_11_no_write_without_change),
        T(test_a4_12_deleted),
        T(test_a4_13_further_resources),
        T(test_a4_15_password_and_taints),
        T(test_a4_16_duplicate_borrower),
        T(test_secret),
        T(test_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
