/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of volumes: where they are decides where a pod is, or the other way round. */
#include "fqtest.h"

#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define SELECTED "volume.kubernetes.io/selected-node"

static int setup_volumes(void **state) {
    static const struct fakeapi_kind kinds[] = {
        {.version = "v1",
         .group = "",
         .plural = "persistentvolumes",
         .kind = "PersistentVolume",
         .flags = FAKEAPI_STATUS},
        {.version = "v1",
         .group = "storage.k8s.io",
         .plural = "storageclasses",
         .kind = "StorageClass"},
    };
    int r = setup(state);
    struct world *w = *state;
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        fakeapi_register(w->api, &kinds[i]);
    return r;
}

static void class(struct world *w, const char *name, const char *mode, const char *more) {
    char body[512];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'},'provisioner':'example.com/disks','volumeBindingMode':'%s'"
           "%s%s}",
           name, mode, *more ? "," : "", more);
    create(w, CLASSES, body);
}

/* A volume that can be used where a label has this value. */
static void volume(struct world *w, const char *name, const char *key, const char *value) {
    char body[512];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'},'spec':{'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
           "'matchExpressions':[{'key':'%s','operator':'In','values':['%s']}]}]}}}}",
           name, key, value);
    create(w, VOLUMES, body);
}

static void claim(struct world *w, const char *name, const char *class) {
    char body[256];
    sl_fmt(body, sizeof body, "{'metadata':{'name':'%s'},'spec':{'storageClassName':'%s'}}", name,
           class);
    create(w, CLAIMS, body);
}

/* As the controller of volumes. */
static void bind(struct world *w, const char *name, const char *volume) {
    char path[200], body[200];
    sl_fmt(path, sizeof path, CLAIMS "/%s", name);
    sl_fmt(body, sizeof body, "{\"spec\":{\"volumeName\":\"%s\"}}", volume);
    patch(w, path, body);
    sl_fmt(path, sizeof path, CLAIMS "/%s/status", name);
    patch(w, path, SL_JSON_CONST({"status" : {"phase" : "Bound"}}));
}

#define USES(claim) "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"
#define HOST "kubernetes.io/hostname"

static const char *selected(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, CLAIMS "/%s", name);
    return sl_json_annotation(fakeapi_get(w->api, path), SELECTED);
}

/* A bound claim: the pod goes where the volume is. */
static void test_bound(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    volume(w, "disk", HOST, "n1");
    claim(w, "data", "fast");
    bind(w, "data", "disk");
    pod(w, "a", "1", "", USES("data"));
    plain(w, "b", "1", USES("data"));
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
    /* There is no room any more, where it would have to be. */
    pod(w, "c", "1", "", USES("data"));
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Waiting");
    pod(w, "d", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
    phase(w, "a", "Succeeded");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n1");
    /* It never fits where the volume is. */
    pod(w, "e", "3", "", USES("data"));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/e-pod", "status.reason", "Unsatisfiable");
}

/* A claim that does not exist, or is not bound by itself, is waited for. */
static void test_not_bound(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    class(w, "slow", "Immediate", "");
    pod(w, "a", "1", "", USES("data"));
    pod(w, "other", "1", "", "");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/other", "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "ClaimNotReady");
    assert_non_null(strstr(at(w, FLUXJOBS "/a-pod", "status.message"), "does not exist"));
    claim(w, "data", "slow");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(at(w, FLUXJOBS "/a-pod", "status.message"), "is not bound"));
    assert_string_equal(selected(w, "data"), "");
    volume(w, "disk", HOST, "n1");
    bind(w, "data", "disk");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

/* What was reserved for a job whose claim goes is not reserved any more, and its events say so. */
static void test_claim_goes(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    volume(w, "disk", HOST, "n0");
    claim(w, "data", "fast");
    bind(w, "data", "disk");
    pod(w, "a", "2", "'fluxqueue/duration':'60'", "");
    run(w, SL_SEC);
    pod(w, "b", "2", "", USES("data"));
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Reserved");
    drop(w, CLAIMS "/data");
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.reason", "ClaimNotReady");
    assert_field(w, FLUXJOBS "/b-pod", "status.estimatedStart", "");
    assert_int_equal(events(w, "StartDelayed", "b-pod"), 1);
}

/* One that waits for its first consumer gets the node of that one, and is waited for. */
static void test_first_consumer(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    class(w, "late", "WaitForFirstConsumer", "");
    claim(w, "data", "late");
    pod(w, "a", "1", "", USES("data"));
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n0");
    assert_string_equal(selected(w, "data"), "n0");
    assert_field(w, PODS "/a", "spec.nodeName", "");
    /* So it is after a restart. */
    stop(w, 0);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    volume(w, "disk", HOST, "n0");
    bind(w, "data", "disk");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* The provisioner takes the node back: another one is found. */
static void test_provisioner_gives_up(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    class(w, "late", "WaitForFirstConsumer", "");
    claim(w, "data", "late");
    pod(w, "a", "1", "", USES("data"));
    run(w, 2 * SL_SEC);
    assert_string_equal(selected(w, "data"), "n0");
    patch(w, CLAIMS "/data",
          SL_JSON_CONST(
              {"metadata" : {"annotations" : {"volume.kubernetes.io/selected-node" : null}}}));
    run(w, 5 * SL_SEC);
    assert_string_equal(selected(w, "data"), "n1");
    assert_field(w, FLUXJOBS "/a-pod", "status.nodeList", "n1");
    volume(w, "disk", HOST, "n1");
    bind(w, "data", "disk");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

/* Where a class allows volumes; and one that nobody provisions. */
static void test_classes(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    class(w, "late", "WaitForFirstConsumer",
          "'allowedTopologies':[{'matchLabelExpressions':[{'key':'" HOST "','values':['n1']}]}]");
    claim(w, "data", "late");
    pod(w, "a", "1", "", USES("data"));
    run(w, 2 * SL_SEC);
    assert_string_equal(selected(w, "data"), "n1");
    create(w, CLASSES,
           "{'metadata':{'name':'local'},'provisioner':'kubernetes.io/no-provisioner',"
           "'volumeBindingMode':'WaitForFirstConsumer'}");
    claim(w, "disk", "local");
    pod(w, "b", "1", "", USES("disk"));
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.reason", "ClaimNotReady");
    assert_non_null(strstr(at(w, FLUXJOBS "/b-pod", "status.message"), "no provisioner"));
}

/* As the set's controller. claim "": it has none. */
static void set_pod(struct world *w, int index, const char *claim) {
    char body[1024], volumes[200] = "";
    if (*claim)
        sl_fmt(volumes, sizeof volumes,
               ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'%s'}}]", claim);
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'set-%d','labels':{'fluxqueue.seen':'yes'},'ownerReferences':["
           "{'apiVersion':'apps/v1','kind':'StatefulSet','name':'set','uid':'%s',"
           "'controller':true}]},'spec':{'schedulerName':'FluxionScheduler','schedulingGates':"
           "[{'name':'fluxqueue'}],'containers':[{'name':'a','resources':{'requests':{'cpu':"
           "'1','memory':'64Mi'}}}]%s}}",
           index, at(w, SETS "/set", "metadata.uid"), volumes);
    create(w, PODS, body);
}

/* Claims that each pod of a set has for itself: places that do not suit are changed. */
static void test_claims_of_pods(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    node(w, "n2", "1");
    volume(w, "disk-0", HOST, "n2");
    volume(w, "disk-1", HOST, "n1");
    claim(w, "data-set-0", "fast");
    claim(w, "data-set-1", "fast");
    bind(w, "data-set-0", "disk-0");
    bind(w, "data-set-1", "disk-1");
    set(w, "set", 2, "1");
    run(w, SL_SEC);
    set_pod(w, 0, "data-set-0");
    set_pod(w, 1, "data-set-1");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n2");
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_int_equal(
        sl_json_size(sl_json_at(fakeapi_get(w->api, FLUXJOBS "/set-statefulset"), "status.nodes")),
        2);
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "n0");
}

/* Two claims: the volume of one is on no node, that of the other on the last one. */
static void setup_lost(struct world *w) {
    static const char *const claims[] = {"lost", "far"};
    volume(w, "disk-lost", HOST, "gone");
    volume(w, "disk-far", HOST, "n5");
    for (size_t i = 0; i < SL_LEN(claims); i++) {
        char disk[32];
        claim(w, claims[i], "fast");
        sl_fmt(disk, sizeof disk, "disk-%s", claims[i]);
        bind(w, claims[i], disk);
    }
    for (int i = 0; i < 6; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "10");
    }
}

static void drop_set(struct world *w, int pods) {
    drop(w, SETS "/set");
    for (int i = 0; i < pods; i++) {
        char path[64];
        sl_fmt(path, sizeof path, PODS "/set-%d", i);
        drop(w, path);
    }
    run(w, 10 * SL_SEC);
}

/* A pod whose volume is nowhere keeps the others of its set from nothing: neither those with claims
 * of their own, whichever comes first, nor those without. */
static void test_claim_of_nowhere(void **state) {
    static const char *const claims[] = {"lost", "far"};
    struct world *w = *state;
    setup_lost(w);
    for (int first = 0; first < 2; first++) {
        char path[64];
        set(w, "set", 2, "1");
        run(w, SL_SEC);
        set_pod(w, 0, claims[first]);
        set_pod(w, 1, claims[!first]);
        run(w, 10 * SL_SEC);
        sl_fmt(path, sizeof path, PODS "/set-%d", !first);
        assert_field(w, path, "spec.nodeName", "n5");
        patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 4}}));
        set_pod(w, 2, "");
        set_pod(w, 3, "");
        run(w, 10 * SL_SEC);
        assert_string_not_equal(at(w, PODS "/set-2", "spec.nodeName"), "");
        assert_string_not_equal(at(w, PODS "/set-3", "spec.nodeName"), "");
        sl_fmt(path, sizeof path, PODS "/set-%d", first);
        assert_field(w, path, "spec.nodeName", "");
        assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
        drop_set(w, 4);
    }
}

/* Nor do more of them than are looked for in one turn, whichever of all is the one that can be
 * bound. */
static void test_many_claims_of_nowhere(void **state) {
    enum { PODS_OF_SET = FQ_MAX_SPECIALS + 4 };
    struct world *w = *state;
    setup_lost(w);
    for (int last = 0; last < 2; last++) {
        int good = last ? PODS_OF_SET - 1 : 0;
        char path[64];
        set(w, "set", PODS_OF_SET, "1");
        run(w, SL_SEC);
        for (int i = 0; i < PODS_OF_SET; i++)
            set_pod(w, i, i == good ? "far" : "lost");
        run(w, 10 * SL_SEC);
        sl_fmt(path, sizeof path, PODS "/set-%d", good);
        assert_field(w, path, "spec.nodeName", "n5");
        drop_set(w, PODS_OF_SET);
    }
}

/* All operators of node affinity, and what cannot be read. */
static void test_terms(void **state) {
    struct world *w = *state;
    static const struct {
        const char *terms, *node;
    } cases[] = {
        {"{'matchExpressions':[{'key':'n','operator':'Gt','values':['1']}]}", "n2"},
        {"{'matchExpressions':[{'key':'n','operator':'Lt','values':['1']}]}", "n0"},
        {"{'matchExpressions':[{'key':'n','operator':'NotIn','values':['0','2']}]}", "n1"},
        {"{'matchExpressions':[{'key':'odd','operator':'Exists'}]}", "n1"},
        {"{'matchExpressions':[{'key':'odd','operator':'DoesNotExist'},{'key':'n','operator':'In',"
         "'values':['1','2']}]}",
         "n2"},
        {"{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}]}", "n1"},
        {"{'matchExpressions':[{'key':'n','operator':'In','values':['7']}]},{'matchExpressions':[{"
         "'key':'n','operator':'In','values':['2']}]}",
         "n2"},
        {"{'matchExpressions':[{'key':'n','operator':'Gt','values':['many']}]}", ""},
    };
    for (int i = 0; i < 3; i++) {
        char name[8], path[64], body[128];
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "8");
        sl_fmt(path, sizeof path, NODES "/n%d", i);
        sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"n\":\"%d\"%s}}}", i,
               i == 1 ? ",\"odd\":\"\"" : "");
        patch(w, path, body);
    }
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char name[16], path[64], body[1024], more[256];
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'v%zu'},'spec':{'nodeAffinity':{'required':{"
               "'nodeSelectorTerms':[%s]}}}}",
               i, cases[i].terms);
        create(w, VOLUMES, body);
        sl_fmt(name, sizeof name, "c%zu", i);
        claim(w, name, "fast");
        sl_fmt(body, sizeof body, "v%zu", i);
        bind(w, name, body);
        sl_fmt(more, sizeof more,
               "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'%s'}}]", name);
        sl_fmt(name, sizeof name, "p%zu", i);
        pod(w, name, "1", "", more);
        run(w, 2 * SL_SEC);
        sl_fmt(path, sizeof path, PODS "/p%zu", i);
        assert_field(w, path, "spec.nodeName", cases[i].node);
    }
    assert_field(w, FLUXJOBS "/p7-pod", "status.reason", "ClaimNotReady");
}

/* A volume that somebody writes into, and whose nodes are the same, frees nothing. */
static void test_volume_written(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, VOLUMES, "{'metadata':{'name':'v'},'spec':{}}");
    pod(w, "a", "1", "", "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'v'}}]");
    run(w, 10 * SL_SEC);
    uint64_t capacity = w->q[0]->capacity;
    patch(w, VOLUMES "/v", SL_JSON_CONST({"metadata" : {"labels" : {"a" : "b"}}}));
    run(w, SL_SEC);
    assert_int_equal(w->q[0]->capacity, capacity);
    patch(w, VOLUMES "/v", SL_JSON_CONST({
              "spec" : {
                  "nodeAffinity" : {
                      "required" : {
                          "nodeSelectorTerms" : [ {
                              "matchExpressions" :
                                  [ {"key" : "a", "operator" : "In", "values" : ["b"]} ]
                          } ]
                      }
                  }
              }
          }));
    run(w, SL_SEC);
    assert_true(w->q[0]->capacity > capacity);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_volumes, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_bound),
        TEST(test_not_bound),
        TEST(test_first_consumer),
        TEST(test_provisioner_gives_up),
        TEST(test_classes),
        TEST(test_claims_of_pods),
        TEST(test_terms),
        TEST(test_volume_written),
        TEST(test_claim_goes),
        TEST(test_claim_of_nowhere),
        TEST(test_many_claims_of_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
