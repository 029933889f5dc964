/* SPDX-License-Identifier: Apache-2.0 */
/* Owner references, namespaces, and what is there from the beginning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"
#include "cluster/controllers/gc/gc.h"

#define CONFIGS NS "/configmaps"
#define SECRETS NS "/secrets"

/* A ConfigMap with these references; each is "kind name uid flags". */
static void child(struct apps_world *w, const char *name, const char *refs) {
    char body[2000];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s','ownerReferences':[%s]}}", name,
                   refs);
    world_create(w, CONFIGS, body);
}

static const char *ref(struct apps_world *w, const char *path, bool blocks) {
    static char text[4][500];
    static int at;
    yyjson_val *o = fakeapi_get(w->api, path);

    at = (at + 1) % 4;
    (void)snprintf(text[at], sizeof text[at],
                   "{'apiVersion':'v1','kind':'%s','name':'%s','uid':'%s','blockOwnerDeletion':%s}",
                   sl_json_str(o, "kind"), sl_json_str(o, "metadata.name"),
                   sl_json_str(o, "metadata.uid"), blocks ? "true" : "false");
    return text[at];
}

#define GONE                                                                                       \
    "{'apiVersion':'v1','kind':'Secret','name':'gone','uid':'00000000-aaaa-4000-8000-"             \
    "000000000000'}"

static void owner(struct apps_world *w, const char *name) {
    char body[200];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'}}", name);
    world_create(w, SECRETS, body);
}

/* What is beyond the ceiling stays; what is below it is collected, and nothing else is. */
static void too_many_objects(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    owner(&w, "a");
    child(&w, "a1", ref(&w, SECRETS "/a", false));
    world_run(&w, 5 * SL_SEC);
    cl_gc_of(w.c)->max_nodes = cl_gc_of(w.c)->nodes.n;
    owner(&w, "late");
    child(&w, "a2", ref(&w, SECRETS "/a", false));
    world_run(&w, 5 * SL_SEC);
    world_patch(&w, CONFIGS "/a1", "{'metadata':{'labels':{'a':'b'}}}");
    world_delete(&w, SECRETS "/a", "Background");
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/a1"));
    assert_true(world_exists(&w, CONFIGS "/a2"));
    child(&w, "fresh", ref(&w, SECRETS "/late", false)); /* its owner is unknown, but there */
    world_run(&w, 10 * SL_SEC);
    assert_true(world_exists(&w, CONFIGS "/fresh"));
    world_delete(&w, SECRETS "/late", "Background");
    world_patch(&w, CONFIGS "/a2",
                "{'metadata':{'labels':{'a':'b'}}}"); /* there is capacity again */
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/a2"));
    world_stop(&w);
}

static void in_the_background(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    owner(&w, "a");
    child(&w, "a1", ref(&w, SECRETS "/a", false));
    child(&w, "a2", ref(&w, CONFIGS "/a1", true));
    child(&w, "free", "");
    world_run(&w, 5 * SL_SEC);
    world_delete(&w, SECRETS "/a", "Background");
    assert_false(world_exists(&w, SECRETS "/a"));
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/a1"));
    assert_false(world_exists(&w, CONFIGS "/a2"));
    assert_true(world_exists(&w, CONFIGS "/free"));
    world_stop(&w);
}

/* Whoever owns itself does not wait for itself. */
static void its_own_owner(void **state) {
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 1);
    for (size_t i = 0; i < SL_LEN(policies); i++) {
        char body[700];
        child(&w, "self", "");
        (void)snprintf(body, sizeof body, "{'metadata':{'ownerReferences':[%s]}}",
                       ref(&w, CONFIGS "/self", true));
        world_patch(&w, CONFIGS "/self", body);
        world_run(&w, 5 * SL_SEC);
        assert_true(world_exists(&w, CONFIGS "/self"));
        world_delete(&w, CONFIGS "/self", policies[i]);
        world_run(&w, 10 * SL_SEC);
        assert_false(world_exists(&w, CONFIGS "/self"));
    }
    world_stop(&w);
}

static void absent_owners(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 2);
    owner(&w, "a");
    child(&w, "lost", GONE);
    char both[1200];
    (void)snprintf(both, sizeof both, "%s,%s", GONE, ref(&w, SECRETS "/a", true));
    child(&w, "half", both);
    child(&w, "unknown", "{'apiVersion':'no.such/v1','kind':'Thing','name':'x','uid':'u'}");
    /* The same name, another uid. */
    char other[600];
    (void)snprintf(other, sizeof other,
                   "{'apiVersion':'v1','kind':'Secret','name':'a','uid':'00000000-bbbb'}");
    child(&w, "earlier", other);
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/lost"));
    assert_false(world_exists(&w, CONFIGS "/earlier"));
    assert_true(world_exists(&w, CONFIGS "/unknown"));
    assert_true(world_exists(&w, CONFIGS "/half"));
    assert_int_equal(yyjson_arr_size(sl_json_at(fakeapi_get(w.api, CONFIGS "/half"),
                                                "metadata.ownerReferences")),
                     1);
    world_stop(&w);
}

/* All are deleted, but one with more owners than are checked stays; others do not wait for it. */
static void too_many_owners(void **state) {
    struct apps_world w = {0};
    struct sl_buf b = SL_BUF(65536);

    (void)state;
    world_start(&w, 2);
    owner(&w, "a");
    sl_buf_puts(&b, "{'metadata':{'name':'many','ownerReferences':[");
    sl_buf_puts(&b, ref(&w, SECRETS "/a", true));
    for (int i = 0; i < 64; i++)
        sl_buf_printf(&b, ",{'apiVersion':'v1','kind':'Secret','name':'gone%d','uid':'u%d'}", i, i);
    sl_buf_puts(&b, "]}}");
    world_create(&w, CONFIGS, sl_buf_str(&b));
    child(&w, "one", ref(&w, SECRETS "/a", true));
    world_run(&w, 5 * SL_SEC);
    world_delete(&w, SECRETS "/a", "Foreground");
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, SECRETS "/a"));
    assert_false(world_exists(&w, CONFIGS "/one"));
    assert_true(world_exists(&w, CONFIGS "/many"));
    sl_buf_done(&b);
    world_stop(&w);
}

/* A uid beside a kind or a name that are not its own is no evidence about its object. */
static void false_references(void **state) {
    static const char *const liars[] = {
        "{'apiVersion':'v1','kind':'Secret','name':'no','uid':'thing'}",
        "{'apiVersion':'v1','kind':'Node','name':'no','uid':'thing'}"};
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 2);
    child(&w, "before", "{'apiVersion':'no.such/v1','kind':'Thing','name':'x','uid':'thing'}");
    child(&w, "liar0", liars[0]);
    child(&w, "liar1", liars[1]);
    world_run(&w, 5 * SL_SEC);
    child(&w, "after", "{'apiVersion':'no.such/v1','kind':'Thing','name':'x','uid':'thing'}");
    world_run(&w, 5 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/liar0"));
    assert_false(world_exists(&w, CONFIGS "/liar1"));
    assert_true(world_exists(&w, CONFIGS "/before"));
    assert_true(world_exists(&w, CONFIGS "/after"));
    world_stop(&w);
}

static void in_the_foreground(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 3);
    owner(&w, "a");
    child(&w, "a1", ref(&w, SECRETS "/a", true));
    child(&w, "a2", ref(&w, CONFIGS "/a1", true));
    world_patch(&w, CONFIGS "/a2", "{'metadata':{'finalizers':['test/hold']}}");
    world_run(&w, 5 * SL_SEC);
    world_delete(&w, SECRETS "/a", "Foreground");
    world_run(&w, 10 * SL_SEC);
    assert_true(world_exists(&w, SECRETS "/a"));
    assert_true(world_exists(&w, CONFIGS "/a1"));
    assert_string_not_equal(world_show(&w, CONFIGS "/a2", "metadata.deletionTimestamp"), "");
    world_patch(&w, CONFIGS "/a2", "{'metadata':{'finalizers':null}}");
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/a2"));
    assert_false(world_exists(&w, CONFIGS "/a1"));
    assert_false(world_exists(&w, SECRETS "/a"));
    world_stop(&w);
}

static void orphans_stay(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 4);
    owner(&w, "a");
    owner(&w, "b");
    char both[1200];
    (void)snprintf(both, sizeof both, "%s,%s", ref(&w, SECRETS "/a", true),
                   ref(&w, SECRETS "/b", true));
    child(&w, "a1", ref(&w, SECRETS "/a", true));
    child(&w, "ab", both);
    world_run(&w, 5 * SL_SEC);
    world_delete(&w, SECRETS "/a", "Orphan");
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, SECRETS "/a"));
    assert_true(world_exists(&w, CONFIGS "/a1"));
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, CONFIGS "/a1"), "metadata.ownerReferences")),
        0);
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, CONFIGS "/ab"), "metadata.ownerReferences")),
        1);
    world_run(&w, 100 * SL_SEC);
    assert_true(world_exists(&w, CONFIGS "/a1"));
    world_stop(&w);
}

/* Two that own each other, and block. */
static void rings(void **state) {
    struct apps_world w = {0};
    char body[800];

    (void)state;
    world_start(&w, 5);
    child(&w, "x", "");
    child(&w, "y", ref(&w, CONFIGS "/x", true));
    (void)snprintf(body, sizeof body, "{'metadata':{'ownerReferences':[%s]}}",
                   ref(&w, CONFIGS "/y", true));
    world_patch(&w, CONFIGS "/x", body);
    world_run(&w, 5 * SL_SEC);
    assert_true(world_exists(&w, CONFIGS "/x"));
    world_delete(&w, CONFIGS "/x", "Foreground");
    world_run(&w, 20 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/x"));
    assert_false(world_exists(&w, CONFIGS "/y"));
    world_stop(&w);
}

/* A kind that comes later, and goes. */
static void custom_kinds(void **state) {
    static const struct fakeapi_kind thing = {"ex.org",           "v1", "things", "Thing",
                                              FAKEAPI_NAMESPACED, NULL};
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 6);
    fakeapi_register(w.api, &thing);
    world_create(&w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                 "{'metadata':{'name':'things.ex.org'}}");
    world_create(&w, "/apis/ex.org/v1/namespaces/ns/things", "{'metadata':{'name':'t'}}");
    char refs[400];
    (void)snprintf(refs, sizeof refs,
                   "{'apiVersion':'ex.org/v1','kind':'Thing','name':'t','uid':'%s'}",
                   world_show(&w, "/apis/ex.org/v1/namespaces/ns/things/t", "metadata.uid"));
    child(&w, "of-t", refs);
    world_run(&w, 5 * SL_SEC);
    assert_true(world_exists(&w, CONFIGS "/of-t"));
    world_delete(&w, "/apis/ex.org/v1/namespaces/ns/things/t", "Background");
    world_run(&w, 5 * SL_SEC);
    assert_false(world_exists(&w, CONFIGS "/of-t"));
    world_stop(&w);
}

static void namespaces_are_emptied(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 7);
    world_create(&w, DEPLOYMENTS,
                 "{'metadata':{'name':'d'},'spec':{'replicas':3,'selector':{'matchLabels':{'a':'b'}"
                 "},'template':{'metadata':{'labels':{'a':'b'}},'spec':{}}}}");
    child(&w, "held", "");
    world_patch(&w, CONFIGS "/held", "{'metadata':{'finalizers':['test/hold']}}");
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 3);
    world_delete(&w, NS, NULL);
    world_run(&w, 20 * SL_SEC);
    assert_string_equal(world_show(&w, NS, "status.phase"), "Terminating");
    assert_string_equal(world_condition(&w, NS, "NamespaceContentRemaining"),
                        "True SomeResourcesRemain");
    assert_string_equal(world_condition(&w, NS, "NamespaceFinalizersRemaining"),
                        "True SomeFinalizersRemain");
    assert_int_equal(world_count(&w, PODS), 0);
    world_patch(&w, CONFIGS "/held", "{'metadata':{'finalizers':null}}");
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, NS));
    assert_int_equal(world_count(&w, "/api/v1/serviceaccounts"),
                     world_count(&w, "/api/v1/namespaces"));
    world_stop(&w);
}

static void there_from_the_beginning(void **state) {
    struct apps_world w = {.ca = "-----BEGIN CERTIFICATE-----\n"};
    static const char *const names[] = {"default",         "kube-system",  "kube-public",
                                        "kube-node-lease", "kueue-system", "ns"};
    char path[200];

    (void)state;
    world_start(&w, 8);
    for (size_t i = 0; i < SL_LEN(names); i++) {
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/serviceaccounts/default",
                       names[i]);
        assert_true(world_exists(&w, path));
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps/kube-root-ca.crt",
                       names[i]);
        assert_true(world_exists(&w, path));
    }
    assert_int_equal(
        world_int(&w, "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", "value"),
        2000001000);
    world_delete(&w, NS "/serviceaccounts/default", NULL);
    world_patch(&w, NS "/configmaps/kube-root-ca.crt", "{'data':{'ca.crt':'other'}}");
    world_run(&w, 5 * SL_SEC);
    assert_true(world_exists(&w, NS "/serviceaccounts/default"));
    assert_string_equal(
        sl_json_str(yyjson_obj_get(fakeapi_get(w.api, NS "/configmaps/kube-root-ca.crt"), "data"),
                    "ca.crt"),
        ""); /* a key with a dot is not a path */
    assert_string_equal(
        yyjson_get_str(yyjson_obj_get(
            sl_json_at(fakeapi_get(w.api, NS "/configmaps/kube-root-ca.crt"), "data"), "ca.crt")),
        w.ca);
    uint64_t version = fakeapi_version(w.api);
    world_kill(&w);
    world_revive(&w); /* a second start changes nothing */
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    world_stop(&w);
}

static void events_grow_old(void **state) {
    struct apps_world w = {0};

    (void)state;
    world_start(&w, 9);
    fakeapi_set_page(w.api, 2);
    for (int i = 0; i < 5; i++) {
        char body[300];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'e%d'},'lastTimestamp':'2026-01-01T0%d:00:00Z'}", i,
                       i == 3 ? 1 : 0);
        world_create(&w, NS "/events", body);
    }
    world_run(&w, 50 * SL_MINUTE);
    assert_int_equal(world_count(&w, NS "/events"), 5);
    world_run(&w, 20 * SL_MINUTE);
    assert_int_equal(world_count(&w, NS "/events"), 1);
    assert_true(world_exists(&w, NS "/events/e3"));
    world_run(&w, 60 * SL_MINUTE);
    assert_int_equal(world_count(&w, NS "/events"), 0);
    world_stop(&w);
}

static void nodes_that_are_gone(void **state) {
    struct apps_world w = {.start_max = SL_SEC, .end_min = SL_HOUR, .end_max = SL_HOUR};

    (void)state;
    world_start(&w, 10);
    world_create(&w, "/api/v1/nodes", "{'metadata':{'name':'n2'}}");
    world_create(&w, PODS, "{'metadata':{'name':'p1'},'spec':{'nodeName':'n1'}}");
    world_create(&w, PODS, "{'metadata':{'name':'p2'},'spec':{'nodeName':'n2'}}");
    world_create(&w, PODS, "{'metadata':{'name':'p3'},'spec':{'nodeName':'n2'}}");
    world_run(&w, 10 * SL_SEC);
    world_delete(&w, PODS "/p3", NULL);
    world_delete(&w, "/api/v1/nodes/n2", NULL);
    world_run(&w, 30 * SL_SEC);
    assert_true(world_exists(&w, PODS "/p2"));
    world_run(&w, 60 * SL_SEC);
    assert_true(world_exists(&w, PODS "/p1"));
    assert_false(world_exists(&w, PODS "/p2"));
    assert_false(world_exists(&w, PODS "/p3"));
    world_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_objects),
        cmocka_unit_test(in_the_background),
        cmocka_unit_test(its_own_owner),
        cmocka_unit_test(absent_owners),
        cmocka_unit_test(too_many_owners),
        cmocka_unit_test(false_references),
        cmocka_unit_test(in_the_foreground),
        cmocka_unit_test(orphans_stay),
        cmocka_unit_test(rings),
        cmocka_unit_test(custom_kinds),
        cmocka_unit_test(namespaces_are_emptied),
        cmocka_unit_test(there_from_the_beginning),
        cmocka_unit_test(events_grow_old),
        cmocka_unit_test(nodes_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
