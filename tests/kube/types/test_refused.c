/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests that Kueue refuses: the line and its words for each.
 */
#include "kube/types/kueue/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct sl_doc *doc;
    struct sl_arena arena;
    struct sl_kueue_objects objects;
    struct sl_err err;
};

static int decode(struct fixture *x, const char *text) {
    *x = (struct fixture){0};
    sl_arena_init(&x->arena, 64 << 20);
    if (sl_doc_yaml("f", text, strlen(text), &x->doc, &x->err) < 0)
        fail_msg("%s", x->err.text);
    return sl_kueue_objects_decode(x->doc, &x->arena, &x->objects, &x->err);
}

static void done(struct fixture *x) {
    sl_kueue_objects_done(&x->objects);
    sl_arena_done(&x->arena);
    sl_doc_freep(&x->doc);
}

#define V1 "apiVersion: kueue.x-k8s.io/v1beta1\n"
#define V2 "apiVersion: kueue.x-k8s.io/v1beta2\n"
#define C2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define NAME "metadata: {name: x}\n"
#define PODSETS "podSets: [{template: {spec: {containers: []}}}]"
#define CQ(spec) V2 "kind: ClusterQueue\n" NAME "spec:\n" spec
#define GROUP(quota)                                                                               \
    "  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n    - name: f\n"                \
    "      resources:\n      - " quota
#define RF(spec) V2 "kind: ResourceFlavor\n" NAME "spec:\n" spec
#define WL(spec) V2 "kind: Workload\n" NAME "spec:\n" spec
#define POD(spec) WL("  podSets:\n  - template:\n      spec:\n" spec)

static const struct {
    const char *text, *want;
} refused[] = {
    {"a: 1\n", "f:1: expected an object with the field \"apiVersion\""},
    {"- 1\n", "f:1: expected an object with apiVersion and kind, got a list"},
    {V2 "metadata: {}\n", "f:1: expected an object with the field \"kind\""},
    {V2 "kind: 5\n", "f:2: kind: expected a string (put it in quotes), got 5"},
    {V2 "kind: ClusterQeue\n", "f:2: kind: expected a kind of Kueue such as ClusterQueue, got"},
    {"apiVersion: batch/v1\nkind: Job\n", "f:1: expected an object of kueue.x-k8s.io/v1beta1 or"},
    {"apiVersion: kueue.x-k8s.io/v1\nkind: Cohort\n", "f:1: expected an object of kueue.x-k8s"},
    {"apiVersion: config.kueue.x-k8s.io/v1alpha1\nkind: Configuration\n", "f:1: expected an obj"},
    {V2 "kind: Cohort\n", "f:1: expected the field \"metadata\" with a name"},
    {V2 "kind: Cohort\nmetadata: {}\n", "f:3: expected the field \"name\" in metadata"},
    {V2 "kind: Cohort\nmetadata: {name: A_b}\n",
     "f:3: name: expected a name of lower-case letters"},
    {V2 "kind: LocalQueue\nmetadata:\n  name: a\n  namespace: -b\n", "f:5: namespace: expected a"},
    {V2 "kind: Cohort\n" NAME "spce: {}\n", "f:4: unknown field \"spce\" in Cohort; did you mean "
                                            "\"spec\"?"},
    {V2 "kind: LocalQueue\n" NAME "spec: {clusterQueue: B}\n",
     "f:4: clusterQueue: expected a name"},
    {V2 "kind: AdmissionCheck\n" NAME "spec: {}\n", "f:4: expected the field \"controllerName\""},
    {V2 "kind: WorkloadPriorityClass\n" NAME, "f:1: expected the field \"value\""},
    {V2 "kind: WorkloadPriorityClass\n" NAME "value: 3000000000\n", "f:4: value: expected a whole"},
    {"apiVersion: v1\nkind: Namespace\n" NAME "---\napiVersion: v1\nkind: Namespace\n"
     "metadata:\n  name: b\n  labels: {a/b/c: d}\n",
     "f:9: labels: expected a label key, got"},
    /* ClusterQueue */
    {CQ("  cohort: c\n"),
     "f:5: unknown field \"cohort\" in the spec of a ClusterQueue; did you mean "
     "\"cohortName\"?"},
    {V1 "kind: ClusterQueue\n" NAME "spec: {cohortName: c}\n", "f:4: unknown field \"cohortName\""},
    {CQ("  queueingStrategy: FIFO\n"),
     "f:5: queueingStrategy: expected BestEffortFIFO or StrictFIFO"},
    {CQ("  stopPolicy: hold\n"),
     "f:5: stopPolicy: expected None, Hold or HoldAndDrain, got \"hold\""},
    {CQ("  namespaceSelector: {matchLabels: {a: 1}}\n"), "f:5: a: expected a string (put it in"},
    {CQ("  namespaceSelector:\n    matchExpressions:\n    - {key: a, operator: In}\n"),
     "f:7: values: must be specified when `operator` is 'In' or 'NotIn'"},
    {CQ("  namespaceSelector:\n    matchExpressions:\n    - {key: a, operator: Exists, values: "
        "[b]}\n"),
     "f:7: values: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"},
    {CQ("  namespaceSelector:\n    matchExpressions:\n    - {key: a, operator: Gt, values: "
        "['1']}\n"),
     "f:7: operator: expected In, NotIn, Exists or DoesNotExist, got \"Gt\""},
    {CQ("  resourceGroups:\n  - flavors: []\n"), "f:6: expected the field \"coveredResources\""},
    {CQ("  resourceGroups:\n  - {coveredResources: [], flavors: []}\n"),
     "f:6: coveredResources: expected at least one resource"},
    {CQ("  resourceGroups:\n  - {coveredResources: [cpu], flavors: []}\n"),
     "f:6: flavors: expected at least one flavor"},
    {CQ("  resourceGroups:\n  - {coveredResources: [cpu, cpu], flavors: []}\n"),
     "f:6: coveredResources: the resource \"cpu\" is listed twice"},
    {CQ("  resourceGroups:\n  - {coveredResources: [-cpu], flavors: []}\n"),
     "f:6: coveredResources: expected a resource name"},
    {CQ(GROUP("{name: cpu, nominalQuota: 1}\n  - coveredResources: [cpu]\n")),
     "f:11: coveredResources: the resource \"cpu\" is listed twice"},
    {CQ(GROUP("{name: cpu, nominalQuota: 1}\n  - coveredResources: [memory]\n    flavors:\n    - "
              "name: f\n")),
     "f:13: name: the flavor \"f\" is listed twice"},
    {CQ(GROUP("{name: memory, nominalQuota: 1}\n")),
     "f:10: name: must match the name in coveredResources, expected \"cpu\", got \"memory\""},
    {CQ(GROUP("{name: cpu, nominalQuota: 1}\n      - {name: memory, nominalQuota: 1}\n")),
     "f:8: flavors must have the same number of resources as the coveredResources, expected 1, got "
     "2"},
    {CQ(GROUP("{name: cpu}\n")), "f:10: expected the field \"nominalQuota\" for cpu"},
    {CQ(GROUP("{name: cpu, nominalQuota: -1}\n")),
     "f:10: nominalQuota: must be greater than or equal to 0"},
    {CQ(GROUP("{name: cpu, nominalQuota: 5 cores}\n")),
     "f:10: nominalQuota: expected a quantity such as 500m, 2 or 4Gi, got \"5 cores\""},
    {CQ(GROUP("{name: cpu, nominalQuota: 1, borrowingLimit: 1}\n")),
     "f:10: borrowingLimit: must be nil when cohort is empty"},
    {CQ("  cohortName: c\n" GROUP("name: cpu\n        nominalQuota: 1\n        lendingLimit: 2\n")),
     "f:13: lendingLimit: must be less than or equal to the nominalQuota"},
    {CQ(GROUP("{name: cpu, nominalQouta: 1}\n")),
     "f:10: expected the field \"nominalQuota\" for cpu"},
    {V2 "kind: Cohort\n" NAME "spec:\n" GROUP("{name: cpu, nominalQuota: 1, lendingLimit: 1}\n"),
     "f:10: lendingLimit: must be nil when parent is empty"},
    {CQ("  preemption:\n    borrowWithinCohort:\n      policy: LowerPriority\n"),
     "f:7: preemption: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"},
    {CQ("  preemption: {withinClusterQueue: Any}\n"),
     "f:5: withinClusterQueue: expected Never, Lower"},
    {CQ("  flavorFungibility: {preference: PreemptionOverBorrowing}\n"),
     "f:5: preference: preference \"PreemptionOverBorrowing\" requires both whenCanBorrow and "
     "whenCanPreempt to be TryNextFlavor"},
    {CQ("  flavorFungibility: {whenCanBorrow: Borrow}\n"),
     "f:5: whenCanBorrow: expected MayStopSearch or TryNextFlavor, got \"Borrow\""},
    {V1 "kind: ClusterQueue\n" NAME "spec: {flavorFungibility: {whenCanBorrow: Preempt}}\n",
     "f:4: whenCanBorrow: expected MayStopSearch or TryNextFlavor, got \"Preempt\""},
    {CQ("  fairSharing: {weight: -1}\n"), "f:5: fairSharing: must be greater than or equal to 0"},
    {CQ("  fairSharing: {weight: 1n}\n"), "f:5: fairSharing: When not 0, weight must be > 10e-9"},
    {CQ("  admissionScope: {admissionMode: x}\n"),
     "f:5: admissionMode: expected NoAdmissionFairShar"},
    {CQ("  admissionChecksStrategy:\n    admissionChecks:\n    - {name: a, onFlavors: [g]}\n"),
     "f:7: onFlavors: expected a flavor of this queue, got \"g\""},
    {CQ("  admissionChecksStrategy:\n    admissionChecks: [{name: a}, {name: a}]\n"),
     "f:6: admissionChecks: the check \"a\" is listed twice"},
    {CQ("  admissionChecks: [a]\n"), "f:5: unknown field \"admissionChecks\" in the spec of a "
                                     "ClusterQueue; did you mean \"admissionChecksStrategy\"?"},
    /* ResourceFlavor */
    {RF("  nodeTaints: [{key: a}]\n"), "f:5: expected the field \"effect\" in a taint"},
    {RF("  nodeTaints: [{key: a, effect: Nope}]\n"),
     "f:5: supported taint effect values: 'NoSched"},
    {RF("  nodeTaints: [{key: a, effect: NoExecute}, {key: a, effect: NoExecute}]\n"),
     "f:5: taints must be unique by key and effect pair"},
    {RF("  nodeLabels: {a: b, c: b, d: b, e: b, f: b, g: b, h: b, i: b, j: b}\n"),
     "f:5: nodeLabels: expected at most 8 labels, got 9"},
    {RF("  topologyName: t\n"), "f:5: at least one nodeLabel is required when topology is set"},
    {RF("  tolerations: [{}]\n"), "f:5: operator must be Exists when 'key' is empty"},
    {RF("  tolerations: [{key: a, operator: Exists, value: b}]\n"),
     "f:5: a value must be empty when"},
    {RF("  tolerations: [{key: a, tolerationSeconds: 5}]\n"),
     "f:5: effect must be 'NoExecute' when"},
    {RF("  tolerations: [{key: a, operator: In}]\n"), "f:5: operator: expected Equal or Exists"},
    {RF("  tolerations: [{key: a, effect: Never}]\n"),
     "f:5: effect: expected NoSchedule, PreferNo"},
    /* Workload */
    {V2 "kind: Workload\n" NAME, "f:1: expected the field \"spec\" in a Workload"},
    {WL("  queueName: q\n"), "f:5: expected the field \"podSets\" in the spec of a Workload"},
    {WL("  podSets: []\n"), "f:5: podSets: expected at least one podset"},
    {WL("  podSets: [{name: a}]\n"), "f:5: expected the field \"template\" in a podset"},
    {WL("  podSets: [{template: {}}]\n"), "f:5: expected the field \"spec\" in the template"},
    {WL("  podSets: [{template: {spec: {}}, count: -1}]\n"), "f:5: count: expected a whole number"},
    {WL("  podSets: [{template: {spec: {}}, name: a.b}]\n"),
     "f:5: name: expected lower-case letters"},
    {WL("  podSets: [{template: {spec: {}}, count: 2, minCount: 3}]\n"),
     "f:5: minCount should be positive and less or equal to count"},
    {WL("  podSets:\n  - {template: {spec: {}}, name: a}\n  - {template: {spec: {}}, name: a}\n"),
     "f:7: podSets: the name \"a\" is used twice"},
    {WL("  podSets: [{template: {spec: {}}, name: a, minCount: 1},"
        " {template: {spec: {}}, name: b, minCount: 1}]\n"),
     "f:5: podSets: at most one podSet can use minCount"},
    {POD("        containers: [{resources: {requests: {pods: 1}}}]\n"),
     "f:8: requests[pods]: Invalid value: \"pods\": the key is reserved for internal kueue use"},
    {POD("        containers: [{resources: {requests: {cpu: -1}}}]\n"),
     "f:8: cpu: must be greater than or equal to 0"},
    {POD("        containers:\n        - resources: {requests: {cpu: lots}}\n"),
     "f:9: cpu: expected a quantity such as 500m, 2 or 4Gi, got \"lots\""},
    {POD("        containers: 5\n"), "f:8: containers: expected a list, got 5"},
    {POD("        containers: [5]\n"), "f:8: expected a container (a map), got a number"},
    {POD("        affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{}}}\n"),
     "f:8: nodeSelectorTerms: must have at least one node selector term"},
    {POD("        affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {\n"
         "          nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt}]}]}}}\n"),
     "f:9: values: must be specified single value when `operator` is 'Lt' or 'Gt'"},
    {WL("  " PODSETS "\n  priorityClassRef: {group: a, kind: b, name: c}\n"),
     "f:6: priorityClassRef: expected WorkloadPriorityClass of kueue.x-k8s.io or PriorityClass of"},
    {WL("  " PODSETS
        "\n  priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: c}\n"),
     "f:5: priority should not be nil when priorityClassRef is set"},
    {WL("  " PODSETS
        "\n  priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: c}\n"),
     "f:1: expected a priority, or a WorkloadPriorityClass \"c\" among the objects"},
    {V1 "kind: Workload\n" NAME "spec: {" PODSETS
        ", priorityClassName: a, priorityClassSource: b}\n",
     "f:4: priorityClassSource: expected kueue.x-k8s.io/workloadpriorityclass or"},
    /* Configuration */
    {C2 "fairSharing: {}\n", "f:3: expected the field \"preemptionStrategies\" in fairSharing"},
    {C2 "fairSharing: {preemptionStrategies: []}\n",
     "f:3: preemptionStrategies: expected LessThanOrE"},
    {C2
     "fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanOrEqualToFinalShare]}\n",
     "f:3: preemptionStrategies: expected LessThanOrEqualToFinalShare, LessThanInitialShare, or "
     "both"},
    {C2 "fairSharing: {enable: true}\n", "f:3: expected the field \"preemptionStrategies\""},
    {C2 "admissionFairSharing: {usageSamplingInterval: 0s}\n",
     "f:3: usageSamplingInterval: must be"},
    {C2 "admissionFairSharing: {usageHalfLifeTime: -1s}\n", "f:3: usageHalfLifeTime: must be"},
    {C2 "admissionFairSharing: {resourceWeights: {cpu: -1}}\n",
     "f:3: cpu: must be greater than or"},
    {C2 "admissionFairSharing: {resourceWeights: {cpu: '1'}}\n",
     "f:3: cpu: expected a number, got a"},
    {C2 "waitForPodsReady: {enable: true}\n", "f:3: unknown field \"enable\" in waitForPodsReady"},
    {C2 "waitForPodsReady: {timeout: -1s}\n",
     "f:3: waitForPodsReady: must be greater than or equal"},
    {C2 "waitForPodsReady: {timeout: fast}\n",
     "f:3: timeout: expected a duration such as 250ms, got"},
    {C2 "resources: {transformations: [{input: a}, {input: a}]}\n",
     "f:3: transformations: the input"},
    {C2 "resources: {transformations: [{input: a, strategy: Keep}]}\n",
     "f:3: strategy: expected Ret"},
    {C2 "resources: {excludeResourcePrefixes: [a], quotaCheckStrategy: IgnoreUndeclared}\n",
     "f:3: quotaCheckStrategy: excludeResourcePrefixes is not allowed when quotaCheckStrategy is"},
    {C2 "featureGates: {PartialAdmision: true}\n",
     "f:3: featureGates: unknown gate \"PartialAdmision\"; did you mean \"PartialAdmission\"?"},
    {C2 "featureGates: {PartialAdmission: 1}\n",
     "f:3: PartialAdmission: expected true or false, got"},
    {C2 "fairSharin: {}\n", "f:3: unknown field \"fairSharin\" in the Configuration; did you mean "
                            "\"fairSharing\"?"},
};

static void what_kueue_refuses(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(refused); i++) {
        struct fixture x;
        if (decode(&x, refused[i].text) >= 0)
            fail_msg("was taken:\n%s", refused[i].text);
        if (strncmp(x.err.text, refused[i].want, strlen(refused[i].want)) != 0)
            fail_msg("%s\nexpected %s\ngot      %s", refused[i].text, refused[i].want, x.err.text);
        assert_int_equal(x.objects.v.n, 0);
        done(&x);
    }
}

static void totals(void **state) {
    static char text[1 << 18];
    struct fixture x;
    size_t n = 0;

    (void)state;
    n += (size_t)snprintf(text + n, sizeof text - n, "%s", CQ("  resourceGroups:\n"));
    for (int g = 0; g < 5; g++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "  - coveredResources: [r%d]\n    flavors:\n", g);
        for (int i = 0; i < 60; i++)
            n += (size_t)snprintf(
                text + n, sizeof text - n,
                "    - {name: f%d-%d, resources: [{name: r%d, nominalQuota: 1}]}\n", g, i, g);
    }
    assert_int_equal(decode(&x, text), SL_EINVAL);
    assert_string_equal(x.err.text,
                        "f:6: total number of flavors across all resourceGroups must be "
                        "\u2264 256, got 300");
    done(&x);

    n = (size_t)snprintf(text, sizeof text, "%s", CQ("  resourceGroups:\n  - coveredResources: ["));
    for (int i = 0; i < 30; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "r%d, ", i);
    n += (size_t)snprintf(text + n, sizeof text - n, "]\n    flavors:\n");
    for (int f = 0; f < 18; f++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "    - name: f%d\n      resources: [", f);
        for (int i = 0; i < 30; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "{name: r%d, nominalQuota: 1}, ", i);
        n += (size_t)snprintf(text + n, sizeof text - n, "]\n");
    }
    assert_int_equal(decode(&x, text), SL_EINVAL);
    assert_string_equal(x.err.text,
                        "f:6: number of flavor-resource combinations in a resourceGroup "
                        "must be \u2264 512, got 540");
    done(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_kueue_refuses),
        cmocka_unit_test(totals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
