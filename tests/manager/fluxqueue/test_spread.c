/* SPDX-License-Identifier: Apache-2.0 */
/* What holds between the pods of one job holds for those that come later: when it grows, when pods
 * or nodes are replaced, and while templates roll. */
#include "fqtest.h"

#include "lib/log/log.h"

#define TEXT 3000
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define ON(key) "'topologyKey':'" key "','labelSelector':{'matchLabels':{'app':'a'}}"
#define HOST "kubernetes.io/hostname"
#define RACK "example.com/rack"
#define APART(key) "'affinity':{'podAntiAffinity':{'" REQUIRED "':[{" ON(key) "}]}},"
#define NEAR(key) "'affinity':{'podAffinity':{'" REQUIRED "':[{" ON(key) "}]}},"
#define SPREAD(skew, key)                                                                          \
    "'topologySpreadConstraints':[{'maxSkew':" skew                                                \
    ",'whenUnsatisfiable':'DoNotSchedule'," ON(key) "}],"

#define LABELS "'labels':{'fluxqueue.seen':'yes','app':'a'}"
#define CONTAINERS(cpu)                                                                            \
    "'containers':[{'name':'main','image':'busybox','resources':{'requests':{'cpu':'" cpu          \
    "','memory':'64Mi'}}}],'schedulerName':'FluxionScheduler'"
#define GATED ",'schedulingGates':[{'name':'fluxqueue'}]"

/* A StatefulSet of so many pods; rules: members of its pods' spec. */
static void rule_set(struct world *w, int pods, const char *annotations, const char *rules) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'set'," LABELS ",'annotations':{%s}},'spec':{'replicas':%d,"
           "'template':{'metadata':{" LABELS "},'spec':{%s" CONTAINERS("1") GATED "}}}}",
           annotations, pods, rules);
    create(w, SETS, body);
}

/* As its controller. */
static void member(struct world *w, int index, const char *rules) {
    char body[TEXT];
    sl_fmt(
        body, sizeof body,
        "{'metadata':{'name':'set-%d'," LABELS ",'ownerReferences':[{'apiVersion':'apps/v1',"
        "'kind':'StatefulSet','name':'set','uid':'%s','controller':true}]},'spec':{%s" CONTAINERS(
            "1") GATED "}}",
        index, at(w, SETS "/set", "metadata.uid"), rules);
    create(w, PODS, body);
}

static void members(struct world *w, int from, int to, const char *rules) {
    for (int i = from; i < to; i++)
        member(w, i, rules);
    run(w, 5 * SL_SEC);
}

static void scale(struct world *w, int pods) {
    char body[60];
    sl_fmt(body, sizeof body, "{\"spec\":{\"replicas\":%d}}", pods);
    patch(w, SETS "/set", body);
    run(w, SL_SEC);
}

static void rack_node(struct world *w, const char *name, const char *cpu, const char *rack) {
    char path[200], body[200];
    node(w, name, cpu);
    sl_fmt(path, sizeof path, NODES "/%s", name);
    sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"" RACK "\":\"%s\"}}}", rack);
    patch(w, path, body);
}

#define assert_node(w, index, name) assert_field(w, PODS "/set-" index, "spec.nodeName", name)
#define assert_nodes(w, list) assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", list)
#define assert_reason(w, text) assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", text)

/* ---- one on each ---- */

static void test_apart(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    node(w, "n2", "8");
    rule_set(w, 1, "", APART(HOST));
    members(w, 0, 1, APART(HOST));
    assert_nodes(w, "n0");
    scale(w, 3);
    members(w, 1, 3, APART(HOST));
    assert_nodes(w, "n[0-2]");
    scale(w, 4);
    members(w, 3, 4, APART(HOST));
    assert_node(w, "3", "");
    assert_reason(w, "Growing");
    restart(w, 5 * SL_SEC); /* what is known of it is in the API */
    assert_node(w, "3", "");
    node(w, "n3", "8");
    run(w, 5 * SL_SEC);
    assert_node(w, "3", "n3");
    assert_reason(w, "Allocated");
}

/* A node fails, and one is cordoned when a pod there is replaced. */
static void test_apart_replaced(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    rule_set(w, 2, "", APART(HOST));
    members(w, 0, 2, APART(HOST));
    assert_nodes(w, "n[0-1]");
    drop(w, NODES "/n1");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    members(w, 1, 2, APART(HOST));
    assert_node(w, "1", "");
    node(w, "n2", "8");
    run(w, 5 * SL_SEC);
    assert_node(w, "1", "n2");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    members(w, 0, 1, APART(HOST));
    assert_node(w, "0", "");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : null}}));
    run(w, 5 * SL_SEC);
    assert_node(w, "0", "n0");
}

static void test_apart_racks(void **state) {
    struct world *w = *state;
    rack_node(w, "n0", "8", "a");
    rack_node(w, "n1", "8", "a");
    rack_node(w, "n2", "8", "b");
    rule_set(w, 1, "", APART(RACK));
    members(w, 0, 1, APART(RACK));
    assert_node(w, "0", "n0");
    scale(w, 3);
    members(w, 1, 3, APART(RACK));
    assert_nodes(w, "n[0,2]");
    assert_reason(w, "Growing");
    rack_node(w, "n3", "8", "c");
    run(w, 5 * SL_SEC);
    assert_nodes(w, "n[0,2-3]");
}

/* ---- so many on each ---- */

#define TWO_EACH "'fluxqueue/tasks-per-node':'2'"

static void test_per_node(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    node(w, "n2", "8");
    rule_set(w, 4, TWO_EACH, "");
    members(w, 0, 4, "");
    assert_nodes(w, "n[0-1]");
    /* One goes and comes again: where it was, not anywhere. */
    scale(w, 2);
    drop(w, PODS "/set-3");
    run(w, SL_SEC);
    scale(w, 4);
    members(w, 3, 4, "");
    assert_nodes(w, "n[0-1]");
    scale(w, 6);
    members(w, 4, 6, "");
    assert_node(w, "4", "n2");
    assert_node(w, "5", "n2");
    scale(w, 8);
    members(w, 6, 8, "");
    assert_node(w, "6", "");
    assert_node(w, "7", "");
    node(w, "n3", "8");
    run(w, 5 * SL_SEC);
    assert_node(w, "6", "n3");
    assert_node(w, "7", "n3");
}

/* What is still there may get no more than the skew allows. */
static void test_spread_nodes(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    rule_set(w, 2, "", SPREAD("1", HOST));
    members(w, 0, 2, SPREAD("1", HOST));
    assert_nodes(w, "n[0-1]");
    scale(w, 3);
    members(w, 2, 3, SPREAD("1", HOST));
    assert_node(w, "2", "");
    node(w, "n2", "1");
    run(w, 5 * SL_SEC);
    assert_node(w, "2", "n2");
}

/* ---- all in one ---- */

static void check_within(struct world *w, const char *annotations, const char *rules) {
    rack_node(w, "n0", "2", "a");
    rack_node(w, "n1", "8", "b");
    rack_node(w, "n2", "1", "a");
    rule_set(w, 1, annotations, rules);
    members(w, 0, 1, rules);
    assert_node(w, "0", "n0");
    scale(w, 3);
    members(w, 1, 3, rules);
    assert_nodes(w, "n[0,2]");
    scale(w, 4);
    members(w, 3, 4, rules);
    assert_node(w, "3", "");
    restart(w, 5 * SL_SEC);
    assert_node(w, "3", "");
    rack_node(w, "n3", "1", "a");
    run(w, 5 * SL_SEC);
    assert_node(w, "3", "n3");
    /* A node of the rack fails. */
    drop(w, NODES "/n0");
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    members(w, 0, 1, rules);
    assert_node(w, "0", "");
}

static void test_within(void **state) {
    check_within(*state, "'fluxqueue/within':'rack'", "");
}

static void test_near(void **state) {
    check_within(*state, "", NEAR(RACK));
}

/* When none of them is left they may be elsewhere. */
static void test_within_elsewhere(void **state) {
    struct world *w = *state;
    rack_node(w, "n0", "4", "a");
    rack_node(w, "n1", "4", "b");
    rule_set(w, 2, "'fluxqueue/within':'rack'", "");
    members(w, 0, 2, "");
    assert_nodes(w, "n0");
    drop(w, NODES "/n0");
    drop(w, PODS "/set-0");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    members(w, 0, 2, "");
    assert_nodes(w, "n1");
}

/* The owner's own jobspec says it, too. */
static void test_own_jobspec(void **state) {
    static const char annotation[] =
        "'fluxqueue/jobspec':'{version: 1, resources: [{type: rack, count: 1, with: [{type: node, "
        "count: 2, with: [{type: slot, count: 1, label: a, with: [{type: core, count: 1}]}]}]}], "
        "attributes: {system: {duration: 0}}, tasks: [{command: [a], slot: a, count: {per_slot: "
        "1}}]}'";
    struct world *w = *state;
    rack_node(w, "n0", "8", "a");
    rack_node(w, "n1", "8", "a");
    rack_node(w, "n2", "8", "b");
    rule_set(w, 2, annotation, "");
    members(w, 0, 2, "");
    assert_nodes(w, "n[0-1]");
    scale(w, 3);
    members(w, 2, 3, "");
    assert_node(w, "2", "");
    rack_node(w, "n3", "8", "a");
    run(w, 5 * SL_SEC);
    assert_node(w, "2", "n3");
}

/* ---- rolling updates ---- */

/* A Deployment makes the pods of its new template beside the old ones. */
static void replica_set(struct world *w, const char *name) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'," LABELS ",'ownerReferences':[{'apiVersion':'apps/v1','kind':"
           "'Deployment','name':'d','uid':'%s','controller':true}]},'spec':{'replicas':1,"
           "'template':{'metadata':{" LABELS "},'spec':{" CONTAINERS("1") GATED "}}}}",
           name, at(w, DEPLOYMENTS "/d", "metadata.uid"));
    create(w, REPLICASETS, body);
}

static void replica(struct world *w, const char *name, const char *set, const char *rules,
                    const char *cpu) {
    char body[TEXT], from[200];
    sl_fmt(from, sizeof from, REPLICASETS "/%s", set);
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'," LABELS ",'ownerReferences':[{'apiVersion':'apps/v1',"
           "'kind':'ReplicaSet','name':'%s','uid':'%s','controller':true}]},'spec':{%s" CONTAINERS(
               "%s") GATED "}}",
           name, set, at(w, from, "metadata.uid"), rules, cpu);
    create(w, PODS, body);
    run(w, 5 * SL_SEC);
}

static void deployment(struct world *w, const char *annotations, const char *rules) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'d'," LABELS ",'annotations':{%s}},'spec':{'replicas':1,"
           "'template':{'metadata':{" LABELS "},'spec':{%s" CONTAINERS("1") GATED "}}}}",
           annotations, rules);
    create(w, DEPLOYMENTS, body);
    replica_set(w, "one");
    run(w, SL_SEC);
    replica(w, "a", "one", rules, "1");
}

#define LARGER                                                                                     \
    SL_JSON_CONST({                                                                                \
        "spec" : {                                                                                 \
            "template" : {                                                                         \
                "spec" : {                                                                         \
                    "containers" : [ {                                                             \
                        "name" : "main",                                                           \
                        "image" : "busybox",                                                       \
                        "resources" : {"requests" : {"cpu" : "2", "memory" : "64Mi"}}              \
                    } ]                                                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    })

static void test_rolling_apart(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    deployment(w, "", APART(HOST));
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    patch(w, DEPLOYMENTS "/d", LARGER);
    replica_set(w, "two");
    run(w, SL_SEC);
    replica(w, "b", "two", APART(HOST), "2");
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
    /* One of the old template again. */
    drop(w, PODS "/a");
    drop(w, NODES "/n0");
    run(w, SL_SEC);
    replica(w, "c", "one", APART(HOST), "1");
    assert_field(w, PODS "/c", "spec.nodeName", "");
    node(w, "n2", "8");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n2");
}

static void test_rolling_within(void **state) {
    struct world *w = *state;
    rack_node(w, "n0", "1", "a");
    rack_node(w, "n1", "8", "b");
    rack_node(w, "n2", "8", "a");
    deployment(w, "'fluxqueue/within':'rack'", "");
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    patch(w, DEPLOYMENTS "/d", LARGER);
    replica_set(w, "two");
    run(w, SL_SEC);
    replica(w, "b", "two", "", "2");
    assert_field(w, PODS "/b", "spec.nodeName", "n2");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_apart),         TEST(test_apart_replaced),   TEST(test_apart_racks),
        TEST(test_per_node),      TEST(test_spread_nodes),     TEST(test_within),
        TEST(test_near),          TEST(test_within_elsewhere), TEST(test_own_jobspec),
        TEST(test_rolling_apart), TEST(test_rolling_within),
    };
    sl_log_set(SL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
