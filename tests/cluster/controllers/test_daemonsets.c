/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets and ReplicationControllers over an API server without controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"

#define SETS_OF APPS "/daemonsets"
#define D SETS_OF "/d"
#define BODY(more, pod)                                                                            \
    "{'metadata':{'name':'d','annotations':{'deprecated.daemonset.template.generation':'1'}},"     \
    "'spec':{'selector':{'matchLabels':{'app':'d'}}" more                                          \
    ",'template':{'metadata':{'labels':{'app':'d'}},'spec':{" pod                                  \
    "'containers':[{'name':'c','image':'a'}]}}}}"
#define ROLLING(rolling) ",'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{" rolling "}}"
#define IMAGE(image, generation)                                                                   \
    "{'metadata':{'annotations':{'deprecated.daemonset.template.generation':'" generation "'}},"   \
    "'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"

static void node(struct apps_world *w, const char *name, const char *labels, const char *taints) {
    char body[400];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','labels':{%s}},'spec':{%s}}", name,
                   labels, taints);
    world_create(w, "/api/v1/nodes", body);
}

/* ---- what there is ---- */

struct tally {
    const char *node, *image;
    int all, ready;
    char name[290];
};

static void look(void *ctx, yyjson_val *o) {
    struct tally *t = ctx;
    const char *image =
        sl_json_str(yyjson_arr_get_first(sl_json_at(o, "spec.containers")), "image");

    if ((t->node && strcmp(sl_json_str(o, "spec.nodeName"), t->node) != 0) ||
        (t->image && strcmp(image, t->image) != 0) || sl_json_at(o, "metadata.deletionTimestamp"))
        return;
    t->all++;
    t->ready += sl_json_condition(o, "Ready");
    (void)snprintf(t->name, sizeof t->name, PODS "/%s", sl_json_str(o, "metadata.name"));
}

static struct tally *pods(struct apps_world *w, const char *on, const char *image) {
    static struct tally t;

    t = (struct tally){.node = on, .image = image};
    (void)fakeapi_each(w->api, PODS, look, &t);
    return &t;
}

static void status_is(struct apps_world *w, int64_t desired, int64_t current, int64_t ready,
                      int64_t updated, int64_t misscheduled) {
    assert_int_equal(world_int(w, D, "status.desiredNumberScheduled"), desired);
    assert_int_equal(world_int(w, D, "status.currentNumberScheduled"), current);
    assert_int_equal(world_int(w, D, "status.numberReady"), ready);
    assert_int_equal(world_int(w, D, "status.updatedNumberScheduled"), updated ? updated : -1);
    assert_int_equal(world_int(w, D, "status.numberMisscheduled"), misscheduled);
    assert_int_equal(world_int(w, D, "status.observedGeneration"),
                     world_int(w, D, "metadata.generation"));
}

/* ---- tests ---- */

static void one_on_each(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    node(&w, "n2", "'disk':'ssd'", "");
    node(&w, "tainted", "", "'taints':[{'key':'k','effect':'NoSchedule'}]");
    node(&w, "cordoned", "",
         "'unschedulable':true,'taints':[{'key':'node.kubernetes.io/unschedulable','effect':"
         "'NoSchedule'}]");
    world_create(&w, SETS_OF, BODY("", ""));
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 3);
    assert_int_equal(pods(&w, "n1", NULL)->all, 1);
    assert_int_equal(pods(&w, "n2", NULL)->all, 1);
    assert_int_equal(pods(&w, "cordoned", NULL)->all, 1);
    status_is(&w, 3, 3, 3, 3, 0);
    assert_int_equal(world_int(&w, D, "status.numberAvailable"), 3);
    assert_int_equal(world_int(&w, D, "status.numberUnavailable"), -1);
    yyjson_val *o = fakeapi_get(w.api, pods(&w, "n2", NULL)->name);
    assert_int_equal(sl_json_size(sl_json_at(o, "spec.tolerations")), 6);
    assert_string_equal(sl_json_label(o, "pod-template-generation"), "1");
    assert_string_not_equal(sl_json_label(o, "controller-revision-hash"), "");
    assert_string_equal(sl_json_str(o, "metadata.generateName"), "d-");
    assert_int_equal(world_count(&w, REVISIONS), 1);
    uint64_t version = fakeapi_version(w.api);
    world_run(&w, 100 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    /* Nodes come, and change. */
    node(&w, "n3", "", "");
    world_patch(&w, "/api/v1/nodes/tainted", "{'spec':{'taints':null}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods(&w, "n3", NULL)->all, 1);
    assert_int_equal(pods(&w, "tainted", NULL)->all, 1);
    status_is(&w, 5, 5, 5, 5, 0);
    /* What keeps others away lets it stay; what drives out deletes it. */
    world_patch(&w, "/api/v1/nodes/n1", "{'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}");
    world_patch(&w, "/api/v1/nodes/n2", "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods(&w, "n1", NULL)->all, 1);
    assert_int_equal(pods(&w, "n2", NULL)->all, 0);
    status_is(&w, 3, 3, 3, 3, 1);
    world_patch(&w, D,
                "{'spec':{'template':{'spec':{'nodeSelector':{'disk':'ssd'},"
                "'tolerations':[{'operator':'Exists'}]}}}}");
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 1);
    assert_int_equal(pods(&w, "n2", NULL)->all, 1);
    world_delete(&w, D, "Background");
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 0);
    assert_int_equal(world_count(&w, REVISIONS), 0);
    world_stop(&w);
}

static void pods_that_end(void **state) {
    struct apps_world w = {0};
    char path[400];

    (void)state;
    world_start(&w, 2);
    world_create(&w, SETS_OF, BODY("", ""));
    world_run(&w, 10 * SL_SEC);
    for (int i = 0; i < 3; i++) {
        char before[300];
        (void)snprintf(before, sizeof before, "%s", pods(&w, "n1", NULL)->name);
        (void)snprintf(path, sizeof path, "%.290s/status", before);
        world_patch(&w, path, "{'status':{'phase':'Failed','conditions':null}}");
        world_run(&w, 30 * SL_SEC);
        assert_int_equal(pods(&w, "n1", NULL)->all, 1);
        assert_string_not_equal(pods(&w, "n1", NULL)->name, before);
    }
    /* Its pod is deleted by a client. */
    world_delete(&w, pods(&w, "n1", NULL)->name, NULL);
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods(&w, "n1", NULL)->ready, 1);
    world_stop(&w);
}

static void add_nodes(struct apps_world *w, int n) {
    char name[20];

    for (int i = 2; i <= n; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        node(w, name, "", "");
    }
}

struct watched {
    struct apps_world w; /* first */
    int least, most;     /* ready pods, and pods on one node */
};

static void watch(struct apps_world *w, const struct fakeapi_change *ch) {
    struct watched *x = (struct watched *)(void *)w;
    char name[20];

    if (strcmp(ch->kind->kind, "Pod") != 0)
        return;
    int ready = pods(w, NULL, NULL)->ready;
    x->least = ready < x->least ? ready : x->least;
    for (int i = 1; i <= 5; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        int n = pods(w, name, NULL)->all;
        x->most = n > x->most ? n : x->most;
    }
}

/* Never more nodes without a pod than may be, nor more pods on one than may. */
static void roll(const char *rolling, int least, int most) {
    struct watched x = {.least = 5};
    char body[1000];

    world_start(&x.w, 3);
    add_nodes(&x.w, 5);
    (void)snprintf(body, sizeof body, BODY("%s", ""), rolling);
    world_create(&x.w, SETS_OF, body);
    world_run(&x.w, 20 * SL_SEC);
    assert_int_equal(pods(&x.w, NULL, "a")->ready, 5);
    x.w.watch = watch;
    world_patch(&x.w, D, IMAGE("b", "2"));
    world_run(&x.w, 120 * SL_SEC);
    assert_int_equal(pods(&x.w, NULL, "b")->ready, 5);
    assert_int_equal(pods(&x.w, NULL, "a")->all, 0);
    status_is(&x.w, 5, 5, 5, 5, 0);
    assert_int_equal(x.least, least);
    assert_int_equal(x.most, most);
    assert_int_equal(world_count(&x.w, REVISIONS), 2);
    /* Back to what was: its revision becomes the newest. */
    world_patch(&x.w, D, IMAGE("a", "3"));
    world_run(&x.w, 120 * SL_SEC);
    assert_int_equal(pods(&x.w, NULL, "a")->ready, 5);
    assert_int_equal(world_count(&x.w, REVISIONS), 2);
    world_stop(&x.w);
}

static void rolls(void **state) {
    (void)state;
    roll(ROLLING("'maxUnavailable':1,'maxSurge':0"), 4, 1);
    roll(ROLLING("'maxUnavailable':'40%','maxSurge':0"), 3, 1);
    roll(ROLLING("'maxUnavailable':0,'maxSurge':2"), 5, 2);
}

/* A pod that is not available is replaced at once. */
static void sick_ones_first(void **state) {
    struct apps_world w = {0};
    char path[400];

    (void)state;
    world_start(&w, 4);
    add_nodes(&w, 5);
    world_create(&w, SETS_OF, BODY(ROLLING("'maxUnavailable':1,'maxSurge':0"), ""));
    world_run(&w, 20 * SL_SEC);
    for (int i = 1; i <= 3; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "n%d", i);
        (void)snprintf(path, sizeof path, "%.290s/status", pods(&w, name, NULL)->name);
        world_patch(&w, path, "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}");
    }
    world_run(&w, SL_SEC);
    w.never_ready = true;
    world_patch(&w, D, IMAGE("b", "2"));
    world_run(&w, 60 * SL_SEC);
    assert_int_equal(pods(&w, NULL, "b")->all, 3);
    assert_int_equal(pods(&w, NULL, "a")->ready, 2);
    world_stop(&w);
}

static void on_delete(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 5);
    add_nodes(&w, 3);
    world_create(&w, SETS_OF, BODY(",'updateStrategy':{'type':'OnDelete'}", ""));
    world_run(&w, 10 * SL_SEC);
    world_patch(&w, D, IMAGE("b", "2"));
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(pods(&w, NULL, "a")->ready, 3);
    status_is(&w, 3, 3, 3, 0, 0);
    world_delete(&w, pods(&w, "n2", NULL)->name, NULL);
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(pods(&w, "n2", "b")->ready, 1);
    assert_int_equal(pods(&w, NULL, "a")->ready, 2);
    status_is(&w, 3, 3, 3, 1, 0);
    world_stop(&w);
}

/* Left alone and taken in again; one whose labels change is released and replaced. */
static void orphans(void **state) {
    struct apps_world w = {0};
    char one[300];

    (void)state;
    world_start(&w, 6);
    add_nodes(&w, 3);
    world_create(&w, SETS_OF, BODY("", ""));
    world_run(&w, 10 * SL_SEC);
    (void)snprintf(one, sizeof one, "%s", pods(&w, "n2", NULL)->name);
    world_delete(&w, D, "Orphan");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 3);
    world_create(&w, SETS_OF, BODY("", ""));
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 3);
    assert_string_equal(pods(&w, "n2", NULL)->name, one);
    status_is(&w, 3, 3, 3, 3, 0);
    world_patch(&w, one, "{'metadata':{'labels':{'app':'other'}}}");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods(&w, "n2", NULL)->all, 2);
    assert_null(
        yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, one), "metadata.ownerReferences")));
    world_kill(&w);
    world_revive(&w);
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 4);
    world_stop(&w);
}

/* ---- ReplicationControllers ---- */

#define R NS "/replicationcontrollers/r"

static void controllers(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 7);
    world_create(&w, PODS,
                 "{'metadata':{'name':'stray','labels':{'app':'r'}},'spec':{'containers':[{'name':"
                 "'c','image':'old'}]}}");
    world_create(&w, NS "/replicationcontrollers",
                 "{'metadata':{'name':'r'},'spec':{'replicas':3,'selector':{'app':'r'},'template':"
                 "{'metadata':{'labels':{'app':'r'}},'spec':{'containers':[{'name':'c','image':"
                 "'a'}]}}}}");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods(&w, NULL, "a")->ready, 2);
    assert_int_equal(pods(&w, NULL, "old")->ready, 1); /* it was adopted */
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(
                        sl_json_at(fakeapi_get(w.api, PODS "/stray"), "metadata.ownerReferences")),
                    "kind"),
        "ReplicationController");
    assert_int_equal(world_int(&w, R, "status.replicas"), 3);
    assert_int_equal(world_int(&w, R, "status.availableReplicas"), 3);
    assert_int_equal(world_int(&w, R, "status.fullyLabeledReplicas"), 3);
    assert_int_equal(world_int(&w, R, "status.terminatingReplicas"), -1);
    uint64_t version = fakeapi_version(w.api);
    world_run(&w, 100 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    world_patch(&w, R, "{'spec':{'replicas':1}}");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(pods(&w, NULL, NULL)->all, 1);
    assert_int_equal(world_int(&w, R, "status.replicas"), 1);
    world_delete(&w, R, "Background");
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 0);
    world_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_on_each), cmocka_unit_test(pods_that_end),
        cmocka_unit_test(rolls),       cmocka_unit_test(sick_ones_first),
        cmocka_unit_test(on_delete),   cmocka_unit_test(orphans),
        cmocka_unit_test(controllers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
