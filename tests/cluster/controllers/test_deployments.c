/* SPDX-License-Identifier: Apache-2.0 */
/* Deployments and ReplicaSets over an API server without controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"

#define D DEPLOYMENTS "/d"
#define BODY(replicas, more, image)                                                                \
    "{'metadata':{'name':'d','annotations':{'note':'x','kubectl.kubernetes.io/last-applied-"       \
    "configuration':'y'}},'spec':{'replicas':" replicas ",'selector':{'matchLabels':{'app':'d'}}," \
    "'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1,'maxUnavailable':0}}" more   \
    ",'template':{'metadata':{'labels':{'app':'d'}},'spec':{'containers':[{'name':'c','image':"    \
    "'" image "'}]}}}}"
#define IMAGE(image)                                                                               \
    "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"

/* ---- what there is ---- */

struct found {
    struct apps_world *w;
    const char *image;
    char name[300];
    int n;
};

static const char *image_of(yyjson_val *pod_or_template) {
    return sl_json_str(yyjson_arr_get_first(sl_json_at(pod_or_template, "spec.containers")),
                       "image");
}

static void find_set(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    if (strcmp(image_of(sl_json_at(o, "spec.template")), f->image) == 0)
        (void)snprintf(f->name, sizeof f->name, SETS "/%s", sl_json_str(o, "metadata.name"));
}

/* The path of the set with this image. */
static const char *set_of(struct apps_world *w, const char *image) {
    static struct found f;
    f = (struct found){.image = image};
    (void)fakeapi_each(w->api, SETS, find_set, &f);
    return f.name;
}

static void count_image(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    f->n += strcmp(image_of(o), f->image) == 0 && !sl_json_at(o, "metadata.deletionTimestamp");
}

static int pods_of(struct apps_world *w, const char *image) {
    struct found f = {.image = image};
    (void)fakeapi_each(w->api, PODS, count_image, &f);
    return f.n;
}

static const char *annotation(struct apps_world *w, const char *path, const char *key) {
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_annotation(o, key) : "";
}

#define REVISION "deployment.kubernetes.io/revision"

/* ---- tests ---- */

static void one_comes_up(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    world_create(&w, DEPLOYMENTS, BODY("3", "", "a"));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, SETS), 1);
    assert_int_equal(pods_of(&w, "a"), 3);
    assert_int_equal(world_int(&w, D, "status.replicas"), 3);
    assert_int_equal(world_int(&w, D, "status.availableReplicas"), 3);
    assert_int_equal(world_int(&w, D, "status.updatedReplicas"), 3);
    assert_int_equal(world_int(&w, D, "status.unavailableReplicas"), -1);
    assert_int_equal(world_int(&w, D, "status.terminatingReplicas"), 0);
    assert_string_equal(world_condition(&w, D, "Available"), "True MinimumReplicasAvailable");
    assert_string_equal(world_condition(&w, D, "Progressing"), "True NewReplicaSetAvailable");
    assert_string_equal(annotation(&w, D, REVISION), "1");
    const char *rs = set_of(&w, "a");
    assert_string_equal(annotation(&w, rs, REVISION), "1");
    assert_string_equal(annotation(&w, rs, "note"), "x");
    assert_string_equal(annotation(&w, rs, "kubectl.kubernetes.io/last-applied-configuration"), "");
    assert_string_equal(annotation(&w, rs, "deployment.kubernetes.io/desired-replicas"), "3");
    assert_string_equal(annotation(&w, rs, "deployment.kubernetes.io/max-replicas"), "4");
    yyjson_val *o = fakeapi_get(w.api, rs);
    const char *hash = sl_json_label(o, "pod-template-hash"),
               *name = sl_json_str(o, "metadata.name");
    assert_true(strlen(hash) > 4 && strncmp(name, "d-", 2) == 0 && strcmp(name + 2, hash) == 0);
    assert_string_equal(
        sl_json_str(sl_json_at(o, "spec.selector.matchLabels"), "pod-template-hash"), hash);
    assert_int_equal(sl_json_int(o, "status.availableReplicas", -1), 3);
    assert_int_equal(sl_json_int(o, "status.observedGeneration", -1),
                     sl_json_int(o, "metadata.generation", -2));
    /* Nothing is written when nothing happens. */
    uint64_t version = fakeapi_version(w.api);
    world_run(&w, 100 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    world_stop(&w);
}

static void rolls_and_goes_back(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 2);
    world_create(&w, DEPLOYMENTS, BODY("3", "", "a"));
    world_run(&w, 10 * SL_SEC);
    world_patch(&w, D, IMAGE("b"));
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 0);
    assert_int_equal(pods_of(&w, "b"), 3);
    assert_string_equal(annotation(&w, D, REVISION), "2");
    assert_int_equal(world_int(&w, set_of(&w, "a"), "spec.replicas"), 0);
    assert_string_equal(world_condition(&w, D, "Progressing"), "True NewReplicaSetAvailable");
    world_patch(&w, D, IMAGE("a")); /* as kubectl rollout undo does it */
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 3);
    assert_int_equal(pods_of(&w, "b"), 0);
    assert_int_equal(world_count(&w, SETS), 2);
    assert_string_equal(annotation(&w, D, REVISION), "3");
    assert_string_equal(
        annotation(&w, set_of(&w, "a"), "deployment.kubernetes.io/revision-history"), "1");
    world_stop(&w);
}

static void recreates(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 3);
    world_create(&w, DEPLOYMENTS, BODY("2", "", "a"));
    world_patch(&w, D, "{'spec':{'strategy':{'type':'Recreate','rollingUpdate':null}}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 2);
    w.end_min = w.end_max = 20 * SL_SEC;
    world_patch(&w, D, IMAGE("b"));
    world_run(&w, 15 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2); /* the old ones, still ending */
    assert_int_equal(pods_of(&w, "b"), 0);
    world_run(&w, 15 * SL_SEC);
    assert_int_equal(pods_of(&w, "b"), 2);
    world_stop(&w);
}

static void pauses(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 4);
    world_create(&w, DEPLOYMENTS, BODY("2", "", "a"));
    world_run(&w, 10 * SL_SEC);
    world_patch(&w, D, "{'spec':{'paused':true}}");
    world_patch(&w, D, IMAGE("b"));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 2);
    assert_string_equal(world_condition(&w, D, "Progressing"), "Unknown DeploymentPaused");
    world_patch(&w, D, "{'spec':{'replicas':4}}"); /* scales all the same */
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 4);
    world_patch(&w, D, "{'spec':{'paused':false}}");
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(pods_of(&w, "b"), 4);
    assert_int_equal(pods_of(&w, "a"), 0);
    world_stop(&w);
}

static void misses_its_deadline(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 5);
    w.never_ready = true;
    world_create(&w, DEPLOYMENTS, BODY("2", ",'progressDeadlineSeconds':30", "a"));
    world_run(&w, 20 * SL_SEC);
    assert_string_equal(world_condition(&w, D, "Progressing"), "True ReplicaSetUpdated");
    assert_string_equal(world_condition(&w, D, "Available"), "False MinimumReplicasUnavailable");
    assert_int_equal(world_int(&w, D, "status.unavailableReplicas"), 2);
    world_run(&w, 20 * SL_SEC);
    assert_string_equal(world_condition(&w, D, "Progressing"), "False ProgressDeadlineExceeded");
    world_stop(&w);
}

static void waits_for_min_ready(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 6);
    world_create(&w, DEPLOYMENTS, BODY("2", ",'minReadySeconds':20", "a"));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_int(&w, D, "status.readyReplicas"), 2);
    assert_int_equal(world_int(&w, D, "status.availableReplicas"), -1);
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_int(&w, D, "status.availableReplicas"), 2);
    world_stop(&w);
}

static void scales_in_parts(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 7);
    world_create(&w, DEPLOYMENTS, BODY("10", "", "a"));
    world_patch(&w, D, "{'spec':{'strategy':{'rollingUpdate':{'maxSurge':3,'maxUnavailable':2}}}}");
    world_run(&w, 20 * SL_SEC);
    w.never_ready = true;
    world_patch(&w, D, IMAGE("b"));
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 8); /* and 5 of the new ones, which are never ready */
    assert_int_equal(pods_of(&w, "b"), 5);
    world_patch(&w, D, "{'spec':{'replicas':15}}");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 11); /* as the example in Kubernetes' documentation has it */
    assert_int_equal(pods_of(&w, "b"), 7);
    world_stop(&w);
}

static void forgets_old_sets(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 8);
    world_create(&w, DEPLOYMENTS, BODY("1", ",'revisionHistoryLimit':2", "a"));
    for (const char *const *i =
             (const char *const[]){IMAGE("b"), IMAGE("c"), IMAGE("d"), IMAGE("e"), NULL};
         *i; i++) {
        world_run(&w, 30 * SL_SEC);
        world_patch(&w, D, *i);
    }
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(world_count(&w, SETS), 3);
    assert_string_equal(set_of(&w, "a"), "");
    assert_string_equal(set_of(&w, "b"), "");
    assert_string_equal(annotation(&w, D, REVISION), "5");
    world_stop(&w);
}

static void takes_in_and_lets_go(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 9);
    world_create(&w, PODS, "{'metadata':{'name':'stray','labels':{'app':'r'}},'spec':{}}");
    world_create(&w, SETS,
                 "{'metadata':{'name':'r'},'spec':{'replicas':2,'selector':{'matchLabels':{'app':"
                 "'r'}},'template':{'metadata':{'labels':{'app':'r'}},'spec':{}}}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2);
    assert_string_not_equal(world_show(&w, PODS "/stray", "metadata.ownerReferences"), "");
    world_patch(&w, PODS "/stray", "{'metadata':{'labels':{'app':'other'}}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 3);
    assert_true(strcmp(world_show(&w, PODS "/stray", "metadata.ownerReferences"), "") == 0 ||
                strcmp(w.text, "[]") == 0);
    world_patch(&w, SETS "/r", "{'spec':{'replicas':0}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 1);
    assert_true(world_exists(&w, PODS "/stray"));
    world_stop(&w);
}

static void fail_pod(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    (void)snprintf(f->name, sizeof f->name, PODS "/%s/status", sl_json_str(o, "metadata.name"));
}

static void replaces_what_ended(void **state) {
    struct apps_world w = {0};
    struct found f = {0};

    (void)state;
    world_start(&w, 10);
    world_create(&w, SETS,
                 "{'metadata':{'name':'r'},'spec':{'replicas':1,'selector':{'matchLabels':{'app':"
                 "'r'}},'template':{'metadata':{'labels':{'app':'r'}},'spec':{}}}}");
    world_run(&w, 5 * SL_SEC);
    (void)fakeapi_each(w.api, PODS, fail_pod, &f);
    world_patch(&w, f.name, "{'status':{'phase':'Failed','conditions':[]}}");
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2); /* the ended one stays */
    assert_int_equal(world_int(&w, SETS "/r", "status.replicas"), 1);
    assert_int_equal(world_int(&w, SETS "/r", "status.readyReplicas"), 1);
    world_stop(&w);
}

static int refuse_pods(void *ctx, const struct fakeapi_write *wr, struct sl_buf *why) {
    if (strcmp(wr->kind->kind, "Pod") != 0 || wr->old || !*(bool *)ctx)
        return 0;
    sl_buf_puts(why, "no room");
    return 403;
}

static void reports_why_it_cannot(void **state) {
    struct apps_world w = {0};
    bool refuse = true;

    (void)state;
    world_start(&w, 11);
    fakeapi_on_write(w.api, refuse_pods, &refuse);
    world_create(&w, DEPLOYMENTS, BODY("5", "", "a"));
    world_run(&w, 10 * SL_SEC);
    assert_string_equal(world_condition(&w, set_of(&w, "a"), "ReplicaFailure"),
                        "True FailedCreate");
    assert_string_equal(world_condition(&w, D, "ReplicaFailure"), "True FailedCreate");
    refuse = false;
    world_run(&w, 120 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 5);
    assert_string_equal(world_condition(&w, D, "ReplicaFailure"), "");
    world_stop(&w);
}

static int refuse_sets(void *ctx, const struct fakeapi_write *wr, struct sl_buf *why) {
    if (strcmp(wr->kind->kind, "ReplicaSet") != 0 || wr->old || !*(bool *)ctx)
        return 0;
    for (int i = 0; i < 1000; i++)
        sl_buf_puts(why, "no room, ");
    return 403;
}

static void reports_a_short_reason(void **state) {
    struct apps_world w = {0};
    bool refuse = true;

    (void)state;
    world_start(&w, 13);
    fakeapi_on_write(w.api, refuse_sets, &refuse);
    world_create(&w, DEPLOYMENTS, BODY("1", "", "a"));
    world_run(&w, 10 * SL_SEC);
    refuse = false;
    world_run(&w, 120 * SL_SEC);
    assert_int_equal(pods_of(&w, "a"), 1);
    world_stop(&w);
}

/* Another's set has the name that ours would have. */
static void gets_another_name(void **state) {
    struct apps_world w = {0};
    char name[300], body[700];

    (void)state;
    world_start(&w, 12);
    world_create(&w, DEPLOYMENTS, BODY("1", "", "a"));
    world_run(&w, 5 * SL_SEC);
    (void)snprintf(name, sizeof name, "%s", strrchr(set_of(&w, "a"), '/') + 1);
    world_delete(&w, D, "Background");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, SETS), 0);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'replicas':0,'selector':{'matchLabels':{'x':"
                   "'y'}},'template':{'metadata':{'labels':{'x':'y'}},'spec':{}}}}",
                   name);
    world_create(&w, SETS, body);
    world_create(&w, DEPLOYMENTS, BODY("1", "", "a"));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, SETS), 2);
    assert_int_equal(pods_of(&w, "a"), 1);
    assert_int_equal(world_int(&w, D, "status.collisionCount"), 1);
    world_stop(&w);
}

/* Two images that were chosen so that their templates have one digest, and the sets one name. */
static void distinguishes_templates(void **state) {
    const char *one = "ii10au1ibacgjln2", *other = "kx03i65rmby3jap1";
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 13);
    world_create(&w, DEPLOYMENTS, BODY("1", "", "ii10au1ibacgjln2"));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods_of(&w, one), 1);
    assert_int_equal(world_int(&w, D, "status.collisionCount"), -1);
    world_patch(&w, D, IMAGE("kx03i65rmby3jap1"));
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(pods_of(&w, one), 0);
    assert_int_equal(pods_of(&w, other), 1);
    assert_int_equal(world_count(&w, SETS), 2);
    assert_int_equal(world_int(&w, D, "status.collisionCount"), 1);
    world_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_comes_up),
        cmocka_unit_test(rolls_and_goes_back),
        cmocka_unit_test(recreates),
        cmocka_unit_test(pauses),
        cmocka_unit_test(misses_its_deadline),
        cmocka_unit_test(waits_for_min_ready),
        cmocka_unit_test(scales_in_parts),
        cmocka_unit_test(forgets_old_sets),
        cmocka_unit_test(takes_in_and_lets_go),
        cmocka_unit_test(replaces_what_ended),
        cmocka_unit_test(reports_why_it_cannot),
        cmocka_unit_test(reports_a_short_reason),
        cmocka_unit_test(gets_another_name),
        cmocka_unit_test(distinguishes_templates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
