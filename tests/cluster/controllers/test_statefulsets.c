/* SPDX-License-Identifier: Apache-2.0 */
/* StatefulSets over an API server without controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"

#define W STATEFULSETS "/web"
#define CLAIMS NS "/persistentvolumeclaims"
#define BODY(replicas, more)                                                                       \
    "{'metadata':{'name':'web'},'spec':{'replicas':" replicas                                      \
    ",'serviceName':'svc','selector':{'matchLabels':{'app':'w'}},'template':{'metadata':{'labels'" \
    ":{'app':'w'}},'spec':{'containers':[{'name':'c','image':'a'}]}}" more "}}"
#define IMAGE(image)                                                                               \
    "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"

static const char *image(struct apps_world *w, int ordinal) {
    char path[100];
    (void)snprintf(path, sizeof path, PODS "/web-%d", ordinal);
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_str(yyjson_arr_get_first(sl_json_at(o, "spec.containers")), "image") : "";
}

static sl_time created(struct apps_world *w, int ordinal) {
    char path[100];
    (void)snprintf(path, sizeof path, PODS "/web-%d", ordinal);
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_time(o, "metadata.creationTimestamp") : 0;
}

static void comes_up_in_order(void **state) {
    struct apps_world w = {.start_min = 3 * SL_SEC,
                           .start_max = 3 * SL_SEC,
                           .end_min = 3 * SL_SEC,
                           .end_max = 3 * SL_SEC};

    (void)state;
    world_start(&w, 1);
    world_create(&w, STATEFULSETS, BODY("3", ""));
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 1);
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 3);
    assert_true(created(&w, 0) < created(&w, 1) && created(&w, 1) < created(&w, 2));
    assert_int_equal(world_int(&w, W, "status.readyReplicas"), 3);
    assert_int_equal(world_int(&w, W, "status.currentReplicas"), 3);
    assert_int_equal(world_int(&w, W, "status.updatedReplicas"), 3);
    assert_string_equal(world_show(&w, PODS "/web-1", "spec.hostname"), "web-1");
    assert_string_equal(world_show(&w, PODS "/web-1", "spec.subdomain"), "svc");
    yyjson_val *pod = fakeapi_get(w.api, PODS "/web-1");
    assert_string_equal(sl_json_label(pod, "statefulset.kubernetes.io/pod-name"), "web-1");
    assert_string_equal(sl_json_label(pod, "apps.kubernetes.io/pod-index"), "1");
    assert_string_equal(sl_json_label(pod, "controller-revision-hash"),
                        sl_json_str(fakeapi_get(w.api, W), "status.updateRevision"));
    assert_int_equal(world_count(&w, REVISIONS), 1);
    world_patch(&w, W, "{'spec':{'replicas':1}}");
    world_run(&w, 2 * SL_SEC);
    assert_true(world_exists(&w, PODS "/web-1"));
    assert_string_equal(world_show(&w, PODS "/web-1", "metadata.deletionTimestamp"), "");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 1);
    uint64_t version = fakeapi_version(w.api);
    world_run(&w, 100 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    world_stop(&w);
}

static void all_at_once(void **state) {
    struct apps_world w = {
        .start_min = 3 * SL_SEC, .start_max = 3 * SL_SEC, .end_min = SL_SEC, .end_max = SL_SEC};

    (void)state;
    world_start(&w, 2);
    world_create(&w, STATEFULSETS,
                 BODY("4", ",'podManagementPolicy':'Parallel','ordinals':{'start':5}"));
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 4);
    assert_true(world_exists(&w, PODS "/web-5") && world_exists(&w, PODS "/web-8"));
    world_stop(&w);
}

static void updates_from_the_top(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 3);
    world_create(&w, STATEFULSETS, BODY("3", ""));
    world_run(&w, 20 * SL_SEC);
    world_patch(&w, W,
                "{'spec':{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{"
                "'partition':2}}}}");
    world_patch(&w, W, IMAGE("b"));
    world_run(&w, 40 * SL_SEC);
    assert_string_equal(image(&w, 2), "b");
    assert_string_equal(image(&w, 1), "a");
    assert_string_equal(image(&w, 0), "a");
    assert_int_equal(world_int(&w, W, "status.updatedReplicas"), 1);
    assert_int_equal(world_int(&w, W, "status.currentReplicas"), 2);
    world_delete(&w, PODS "/web-0", NULL); /* below the partition it comes back as it was */
    world_run(&w, 20 * SL_SEC);
    assert_string_equal(image(&w, 0), "a");
    world_patch(&w, W, "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}");
    world_run(&w, 60 * SL_SEC);
    assert_string_equal(image(&w, 0), "b");
    assert_string_equal(world_show(&w, W, "status.currentRevision"),
                        sl_json_str(fakeapi_get(w.api, W), "status.updateRevision"));
    assert_int_equal(world_count(&w, REVISIONS), 2);
    world_patch(&w, W, IMAGE("a")); /* back: the old revision is the newest now */
    world_run(&w, 60 * SL_SEC);
    assert_string_equal(image(&w, 0), "a");
    assert_int_equal(world_count(&w, REVISIONS), 2);
    char path[300];
    (void)snprintf(path, sizeof path, REVISIONS "/%s", world_show(&w, W, "status.updateRevision"));
    assert_int_equal(world_int(&w, path, "revision"), 3);
    world_stop(&w);
}

static void updates_when_deleted(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 4);
    world_create(&w, STATEFULSETS, BODY("2", ",'updateStrategy':{'type':'OnDelete'}"));
    world_run(&w, 20 * SL_SEC);
    world_patch(&w, W, IMAGE("b"));
    world_run(&w, 30 * SL_SEC);
    assert_string_equal(image(&w, 1), "a");
    world_delete(&w, PODS "/web-1", NULL);
    world_run(&w, 30 * SL_SEC);
    assert_string_equal(image(&w, 1), "b");
    assert_string_equal(image(&w, 0), "a");
    world_stop(&w);
}

static void makes_claims(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 5);
    world_create(&w, STATEFULSETS,
                 BODY("2", ",'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{"
                           "'accessModes':['ReadWriteOnce']}}],'persistentVolumeClaimRetention"
                           "Policy':{'whenDeleted':'Retain','whenScaled':'Delete'}"));
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2);
    assert_int_equal(world_count(&w, CLAIMS), 2);
    assert_true(world_exists(&w, CLAIMS "/data-web-1"));
    assert_string_equal(sl_json_label(fakeapi_get(w.api, CLAIMS "/data-web-1"), "app"), "w");
    yyjson_val *v =
        yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, PODS "/web-1"), "spec.volumes"));
    assert_string_equal(sl_json_str(v, "persistentVolumeClaim.claimName"), "data-web-1");
    world_delete(&w, PODS "/web-1", NULL); /* keeps its claim */
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_count(&w, CLAIMS), 2);
    world_patch(&w, W, "{'spec':{'replicas':1}}"); /* whose claim goes with it */
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 1);
    assert_int_equal(world_count(&w, CLAIMS), 1);
    world_delete(&w, W, "Background");
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 0);
    assert_int_equal(world_count(&w, REVISIONS), 0);
    assert_int_equal(world_count(&w, CLAIMS), 1);
    world_stop(&w);
}

/* What others wrote into the owners of a claim is written back as it was, however long it is. */
static void keeps_long_owners(void **state) {
    enum { LONG = 1300 << 10 };
    struct apps_world w = {0};
    struct sl_buf b = SL_BUF((size_t)2 << 20);

    (void)state;
    world_start(&w, 5);
    world_create(&w, STATEFULSETS,
                 BODY("2", ",'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{"
                           "'accessModes':['ReadWriteOnce']}}],'persistentVolumeClaimRetention"
                           "Policy':{'whenDeleted':'Delete','whenScaled':'Retain'}"));
    world_run(&w, 20 * SL_SEC);
    sl_buf_puts(&b, "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','uid':"
                    "'a-b','name':'");
    for (int i = 0; i < LONG; i++)
        sl_buf_putc(&b, 'n');
    sl_buf_puts(&b, "'}]}}");
    world_patch(&w, CLAIMS "/data-web-1", sl_buf_str(&b));
    world_run(&w, 20 * SL_SEC);
    yyjson_val *refs =
        sl_json_at(fakeapi_get(w.api, CLAIMS "/data-web-1"), "metadata.ownerReferences");
    assert_int_equal(yyjson_arr_size(refs), 2);
    assert_int_equal(strlen(sl_json_str(yyjson_arr_get(refs, 0), "name")), LONG);
    assert_string_equal(sl_json_str(yyjson_arr_get(refs, 1), "kind"), "StatefulSet");
    sl_buf_done(&b);
    world_stop(&w);
}

static void makes_anew_what_ended(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 6);
    world_create(&w, STATEFULSETS, BODY("2", ",'minReadySeconds':5"));
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(world_int(&w, W, "status.availableReplicas"), 2);
    char uid[64];
    (void)snprintf(uid, sizeof uid, "%s", world_show(&w, PODS "/web-0", "metadata.uid"));
    world_patch(&w, PODS "/web-0/status", "{'status':{'phase':'Succeeded','conditions':[]}}");
    world_run(&w, 30 * SL_SEC);
    assert_string_not_equal(world_show(&w, PODS "/web-0", "metadata.uid"), uid);
    assert_int_equal(world_int(&w, W, "status.availableReplicas"), 2);
    world_stop(&w);
}

static bool belongs(struct apps_world *w, const char *pod) {
    char path[100];
    (void)snprintf(path, sizeof path, PODS "/%s", pod);
    return strstr(world_show(w, path, "metadata.ownerReferences"), "StatefulSet") != NULL;
}

/* It takes the pods that are named as its own, and lets go whose labels change. */
static void takes_in_and_lets_go(void **state) {
    static const char *const names[] = {"web-0", "web-x", "else-1", "web-2"};
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 7);
    for (size_t i = 0; i < SL_LEN(names); i++) {
        char body[200];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'%s','labels':{'app':'w'}%s},'spec':{}}", names[i],
                       i == 3 ? ",'finalizers':['a.io/b']" : "");
        world_create(&w, PODS, body);
    }
    world_delete(&w, PODS "/web-2", "Background"); /* and is not used */
    world_create(&w, STATEFULSETS, BODY("3", ",'updateStrategy':{'type':'OnDelete'}"));
    world_run(&w, 30 * SL_SEC);
    assert_true(belongs(&w, "web-0"));
    assert_true(belongs(&w, "web-1"));
    assert_false(belongs(&w, "web-x"));
    assert_false(belongs(&w, "else-1"));
    assert_false(belongs(&w, "web-2"));
    world_patch(&w, PODS "/web-0", "{'metadata':{'labels':{'app':'v'}}}");
    world_run(&w, 30 * SL_SEC);
    assert_false(belongs(&w, "web-0"));
    assert_string_equal(world_show(&w, PODS "/web-0", "metadata.deletionTimestamp"), "");
    world_stop(&w);
}

static void count_crowded(void *ctx, yyjson_val *o) {
    *(uint32_t *)ctx += strcmp(sl_json_str(o, "reason"), "TooManyReplicas") == 0;
}

static void left_alone(void **state) {
    struct apps_world w = {0};
    uint32_t events = 0;

    (void)state;
    world_start(&w, 1);
    world_create(&w, STATEFULSETS, BODY("2", ""));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2);
    world_patch(&w, W, "{'spec':{'replicas':100001}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2);
    (void)fakeapi_each(w.api, EVENTS, count_crowded, &events);
    assert_int_equal(events, 1);
    world_patch(&w, W, "{'spec':{'replicas':3}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 3);
    world_stop(&w);
}

/* A revision of it would be planned and dropped for ever. */
static void goes_before_it_was_seen(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    world_kill(&w);
    world_create(&w, STATEFULSETS, BODY("2", ""));
    world_patch(&w, W, "{'metadata':{'finalizers':['a.io/b']}}");
    world_delete(&w, W, "Background");
    world_revive(&w);
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, REVISIONS), 0);
    assert_int_equal(world_count(&w, PODS), 0);
    world_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_up_in_order),    cmocka_unit_test(all_at_once),
        cmocka_unit_test(updates_from_the_top), cmocka_unit_test(updates_when_deleted),
        cmocka_unit_test(makes_claims),         cmocka_unit_test(makes_anew_what_ended),
        cmocka_unit_test(takes_in_and_lets_go), cmocka_unit_test(left_alone),
        cmocka_unit_test(keeps_long_owners),    cmocka_unit_test(goes_before_it_was_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
