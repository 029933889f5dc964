/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's manifests turned into facts: every kind and spelling, and the defaults of each version.
 * What is refused stands in test_refused.c.
 */
#include "kube/types/kueue/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GI INT64_C(1073741824)

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

static struct sl_kueue_object *decode_objects(struct fixture *x, const char *text, uint32_t n) {
    if (decode(x, text) < 0)
        fail_msg("%s", x->err.text);
    assert_int_equal(x->objects.v.n, n);
    return x->objects.v.v;
}

#define V1 "apiVersion: kueue.x-k8s.io/v1beta1\n"
#define V2 "apiVersion: kueue.x-k8s.io/v1beta2\n"
#define NAME "metadata: {name: x}\n"

static void flavors(void **state) {
    struct fixture x;
    struct sl_kueue_object *o =
        decode_objects(&x,
                       V1 "kind: ResourceFlavor\n"
                          "metadata: {name: default-flavor, labels: {a: b}}\n"
                          "---\n" V2 "kind: ResourceFlavor\n"
                          "metadata:\n  name: spot\n"
                          "spec:\n"
                          "  nodeLabels: {instance: spot, on: 'true'}\n"
                          "  nodeTaints:\n"
                          "  - {key: spot, value: 'yes', effect: NoSchedule}\n"
                          "  - {key: spot, effect: NoExecute, timeAdded: ~}\n"
                          "  tolerations:\n"
                          "  - {key: a, operator: Exists, effect: NoSchedule}\n"
                          "  - {key: pool.vk.io, value: p1}\n"
                          "  - {operator: Exists}\n",
                       2);

    (void)state;
    assert_int_equal(o[0].kind, SL_KUEUE_OBJECT_FACT);
    assert_int_equal(o[0].fact.kind, SL_FACT_FLAVOR);
    assert_string_equal(o[0].fact.flavor.name, "default-flavor");
    assert_int_equal(o[0].fact.flavor.labels.n, 0);
    const struct sl_flavor_spec *f = &o[1].fact.flavor;
    assert_int_equal(o[1].line, 5);
    assert_int_equal(f->labels.n, 2);
    assert_string_equal(sl_labels_get(&f->labels, "instance"), "spot");
    assert_string_equal(sl_labels_get(&f->labels, "true"), "true"); /* as kubectl reads "on" */
    assert_int_equal(f->n_taints, 2);
    assert_string_equal(f->taints[0].value, "yes");
    assert_int_equal(f->taints[1].effect, SL_TAINT_NO_EXECUTE);
    assert_int_equal(f->n_tolerations, 3);
    assert_true(f->tolerations[0].exists);
    assert_int_equal(f->tolerations[0].effect, SL_TAINT_NO_SCHEDULE);
    assert_string_equal(f->tolerations[1].value, "p1");
    assert_false(f->tolerations[1].exists);
    done(&x);
}

static void cluster_queues(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V2 "kind: ClusterQueue\n" NAME "---\n" V2 "kind: ClusterQueue\n"
           "metadata: {name: full, deletionTimestamp: 2026-01-01T00:00:00Z}\n"
           "spec:\n"
           "  cohortName: team\n"
           "  queueingStrategy: StrictFIFO\n"
           "  namespaceSelector:\n"
           "    matchLabels: {team: a}\n"
           "    matchExpressions: [{key: env, operator: NotIn, values: [dev, test]},\n"
           "                       {key: gone, operator: DoesNotExist}]\n"
           "  resourceGroups:\n"
           "  - coveredResources: [cpu, memory]\n"
           "    flavors:\n"
           "    - name: on-demand\n"
           "      resources:\n"
           "      - {name: cpu, nominalQuota: 2500m, borrowingLimit: 1, lendingLimit: 0}\n"
           "      - {name: memory, nominalQuota: 1.5Gi}\n"
           "    - name: spot\n"
           "      resources:\n"
           "      - {name: cpu, nominalQuota: 0.1}\n"
           "      - {name: memory, nominalQuota: 10000000000Ti}\n"
           "  - coveredResources: ['nvidia.com/gpu']\n"
           "    flavors:\n"
           "    - {name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}\n"
           "  preemption:\n"
           "    withinClusterQueue: LowerOrNewerEqualPriority\n"
           "    reclaimWithinCohort: Any\n"
           "    borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: -5}\n"
           "  flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: TryNextFlavor,\n"
           "                      preference: PreemptionOverBorrowing}\n"
           "  admissionChecksStrategy:\n"
           "    admissionChecks: [{name: one}, {name: two, onFlavors: [spot, h100]}]\n"
           "  stopPolicy: HoldAndDrain\n"
           "  fairSharing: {weight: 750m}\n"
           "  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}\n"
           "status: {pendingWorkloads: 3}\n",
        2);

    (void)state;
    const struct sl_cq_spec *q = &o[0].fact.cq;
    assert_int_equal(o[0].fact.kind, SL_FACT_CLUSTER_QUEUE);
    assert_string_equal(q->cohort, "");
    assert_true(q->namespaces.nothing);
    assert_int_equal(q->strategy, SL_BEST_EFFORT_FIFO);
    assert_int_equal(q->when_can_borrow, SL_MAY_STOP_SEARCH);
    assert_int_equal(q->when_can_preempt, SL_TRY_NEXT_FLAVOR);
    assert_int_equal(q->within, SL_WITHIN_NEVER);
    assert_true(q->weight_nano == SL_WEIGHT_ONE);
    assert_false(q->terminating || q->usage_based || q->has_borrow_threshold);

    q = &o[1].fact.cq;
    assert_string_equal(q->name, "full");
    assert_true(q->terminating);
    assert_string_equal(q->cohort, "team");
    assert_int_equal(q->strategy, SL_STRICT_FIFO);
    assert_int_equal(q->namespaces.n, 3);
    assert_int_equal(q->namespaces.v[1].op, SL_OP_NOT_IN);
    assert_string_equal(q->namespaces.v[1].values[1], "test");
    assert_int_equal(q->namespaces.v[2].op, SL_OP_NOT_EXISTS);
    assert_int_equal(q->groups.n, 2);
    const struct sl_group_spec *g = &q->groups.v[0];
    assert_int_equal(g->n_resources, 2);
    assert_int_equal(g->n_flavors, 2);
    assert_string_equal(g->flavors[0].flavor, "on-demand");
    assert_true(g->flavors[0].quotas[0].nominal == 2500);
    assert_true(g->flavors[0].quotas[0].borrow_limit == 1000);
    assert_true(g->flavors[0].quotas[0].lend_limit == 0);
    assert_true(g->flavors[0].quotas[1].nominal == 3 * GI / 2);
    assert_true(g->flavors[0].quotas[1].borrow_limit == SL_AMOUNT_NONE);
    assert_true(g->flavors[1].quotas[0].nominal == 100);
    assert_true(g->flavors[1].quotas[1].nominal == SL_AMOUNT_UNLIMITED);
    assert_true(q->groups.v[1].flavors[0].quotas[0].nominal == 8);
    assert_int_equal(q->within, SL_WITHIN_LOWER_OR_NEWER);
    assert_int_equal(q->reclaim, SL_RECLAIM_ANY);
    assert_int_equal(q->borrow_within, SL_BORROW_LOWER);
    assert_true(q->has_borrow_threshold);
    assert_int_equal(q->borrow_threshold, -5);
    assert_int_equal(q->when_can_borrow, SL_TRY_NEXT_FLAVOR);
    assert_int_equal(q->preference, SL_PREEMPTION_OVER_BORROWING);
    assert_int_equal(q->n_checks, 2);
    assert_int_equal(q->checks[0].n_flavors, 0);
    assert_string_equal(q->checks[1].flavors[1], "h100");
    assert_int_equal(q->stop, SL_STOP_HOLD_AND_DRAIN);
    assert_true(q->weight_nano == 750000000);
    assert_true(q->usage_based);
    done(&x);
}

static void older_spellings(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V1 "kind: ClusterQueue\n" NAME
           "spec: {cohort: c, namespaceSelector: {}, admissionChecks: [a, b],\n"
           "  flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}}\n"
           "---\n"
           "apiVersion: kueue.x-k8s.io/v1alpha1\nkind: Cohort\n" NAME "spec: {parent: root}\n"
           "---\n" V1 "kind: Cohort\nmetadata: {name: yy}\n"
           "spec: {parentName: root, fairSharing: {weight: 0}, resourceGroups: [\n"
           "  {coveredResources: [cpu], flavors: [\n"
           "    {name: f, resources: [{name: cpu, nominalQuota: 1, lendingLimit: 5}]}]}]}\n"
           "---\n" V2 "kind: Cohort\nmetadata: {name: root}\n",
        4);

    (void)state;
    assert_string_equal(o[0].fact.cq.cohort, "c");
    assert_false(o[0].fact.cq.namespaces.nothing);
    assert_int_equal(o[0].fact.cq.namespaces.n, 0);
    assert_int_equal(o[0].fact.cq.n_checks, 2);
    assert_string_equal(o[0].fact.cq.checks[1].name, "b");
    assert_int_equal(o[0].fact.cq.when_can_preempt, SL_MAY_STOP_SEARCH);
    assert_int_equal(o[1].fact.kind, SL_FACT_COHORT);
    assert_string_equal(o[1].fact.cohort.parent, "root");
    assert_true(o[1].fact.cohort.weight_nano == SL_WEIGHT_ONE);
    assert_true(o[2].fact.cohort.weight_nano == 0);
    assert_true(o[2].fact.cohort.groups.v[0].flavors[0].quotas[0].lend_limit == 5000);
    assert_string_equal(o[3].fact.cohort.parent, "");
    done(&x);
}

static void small_kinds(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V1
        "kind: LocalQueue\n" NAME "spec: {clusterQueue: cq}\n"
        "---\n" V2 "kind: LocalQueue\nmetadata: {name: yy, namespace: team}\n"
        "spec: {clusterQueue: cq, stopPolicy: Hold, fairSharing: {weight: 2}}\n"
        "---\n" V2 "kind: AdmissionCheck\n" NAME "spec: {controllerName: c}\n"
        "---\n" V2 "kind: AdmissionCheck\n" NAME "spec: {controllerName: c, parameters: {}}\n"
        "status: {conditions: [{type: Other, status: 'True'}, {type: Active, status: 'False'}]}\n"
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: nn, labels: {a: b, c: ''}}\n"
        "spec: {finalizers: []}\n"
        "---\n" V1 "kind: WorkloadPriorityClass\n" NAME "value: -7\ndescription: low\n"
        "---\n" V1 "kind: ProvisioningRequestConfig\n" NAME "spec: {anything: goes}\n"
        "---\napiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Namespace, metadata: {name: in-a-list}}\n"
        "---\n" V1 "kind: LocalQueueList\nitems: []\n",
        8);

    (void)state;
    assert_string_equal(o[0].fact.lq.ns, "default");
    assert_string_equal(o[0].fact.lq.cq, "cq");
    assert_string_equal(o[1].fact.lq.ns, "team");
    assert_int_equal(o[1].fact.lq.stop, SL_STOP_HOLD);
    assert_true(o[1].fact.lq.weight_nano == 2 * SL_WEIGHT_ONE);
    assert_true(o[2].fact.check.active);
    assert_string_equal(o[2].fact.check.controller, "c");
    assert_false(o[3].fact.check.active);
    assert_int_equal(o[4].fact.kind, SL_FACT_NAMESPACE);
    assert_string_equal(sl_labels_get(&o[4].fact.ns.labels, "a"), "b");
    assert_int_equal(o[5].kind, SL_KUEUE_OBJECT_PRIORITY_CLASS);
    assert_string_equal(o[5].name, "x");
    assert_int_equal(o[5].value, -7);
    assert_int_equal(o[6].kind, SL_KUEUE_OBJECT_OTHER);
    assert_string_equal(o[7].fact.ns.name, "in-a-list");
    done(&x);
}

static int64_t request(const struct sl_podset_spec *p, const char *resource) {
    for (uint32_t i = 0; i < p->n_requests; i++)
        if (strcmp(p->requests[i].resource, resource) == 0)
            return (int64_t)(p->requests[i].q / 1000000);
    return -1;
}

static void workloads(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V2 "kind: Workload\n"
           "metadata:\n  name: w\n  namespace: team\n  uid: u-1\n"
           "  creationTimestamp: 1970-01-01T00:00:05Z\n"
           "  annotations: {kueue.x-k8s.io/admission-gated-by: a.b/c,\n"
           "                kueue.x-k8s.io/priority-boost: '-3'}\n"
           "spec:\n"
           "  queueName: q\n  priority: 10\n  active: false\n  maximumExecutionTimeSeconds: 60\n"
           "  podSets:\n"
           "  - name: driver\n"
           "    template:\n"
           "      metadata: {labels: {a: b}}\n"
           "      spec:\n"
           "        restartPolicy: Never\n"
           "        overhead: {cpu: 10m}\n"
           "        initContainers:\n"
           "        - {name: i, resources: {requests: {cpu: 3, memory: 1}}}\n"
           "        - {name: s, restartPolicy: Always, resources: {requests: {cpu: 500m}}}\n"
           "        - {name: j, resources: {requests: {cpu: 2500m}}}\n"
           "        containers:\n"
           "        - {name: c, resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 2}}}\n"
           "        - {name: d, resources: {requests: {cpu: 1}}}\n"
           "        - {name: e}\n"
           "  - name: workers\n    count: 4\n    minCount: 2\n"
           "    topologyRequest: {podSetGroupName: g}\n"
           "    template:\n"
           "      spec:\n"
           "        resources: {requests: {cpu: 7}}\n"
           "        nodeSelector: {disk: ssd}\n"
           "        tolerations: [{key: spot, operator: Exists}]\n"
           "        affinity:\n"
           "          nodeAffinity:\n"
           "            requiredDuringSchedulingIgnoredDuringExecution:\n"
           "              nodeSelectorTerms:\n"
           "              - matchExpressions: [{key: cpus, operator: Gt, values: ['4']}]\n"
           "              - matchFields: [{key: metadata.name, operator: In, values: [n]}]\n"
           "        containers: [{name: c, resources: {requests: {cpu: 1, example.com/gpu: 2}}}]\n",
        1);

    (void)state;
    assert_int_equal(o->kind, SL_KUEUE_OBJECT_WORKLOAD);
    const struct sl_workload_spec *w = &o->fact.workload;
    assert_string_equal(w->ns, "team");
    assert_string_equal(w->uid, "u-1");
    assert_string_equal(w->queue, "q");
    assert_true(w->created == 5 * SL_SEC);
    assert_string_equal(w->gated_by, "a.b/c");
    assert_int_equal(w->boost, -3);
    assert_int_equal(w->priority, 10);
    assert_true(w->inactive);
    assert_int_equal(w->max_exec_s, 60);
    assert_null(w->invalid);
    assert_int_equal(o->n_podsets, 2);
    const struct sl_podset_spec *p = o->podsets;
    assert_string_equal(p->name, "driver");
    assert_int_equal(p->count, 1);
    /* init: max(3, 0.5, 2.5 + 0.5) = 3; containers and sidecar: 2.5; overhead on top */
    assert_int_equal(request(p, "cpu"), 3010);
    assert_int_equal(request(p, "memory"), 2000);
    assert_string_equal(p->group, "");
    p = &o->podsets[1];
    assert_int_equal(p->count, 4);
    assert_int_equal(p->min_count, 2);
    assert_string_equal(p->group, "g");
    assert_int_equal(request(p, "cpu"), 7000);
    assert_int_equal(request(p, "example.com/gpu"), 2000);
    assert_int_equal(p->node_selector.n, 1);
    assert_int_equal(p->n_tolerations, 1);
    assert_int_equal(p->affinity.n, 2);
    assert_int_equal(p->affinity.terms[0].v[0].op, SL_OP_GT);
    assert_int_equal(p->affinity.terms[1].n, 0);
    done(&x);
}

#define PODSETS "podSets: [{template: {spec: {containers: []}}}]"

static void priorities(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V2 "kind: Workload\n" NAME "spec: {" PODSETS ", priorityClassRef: "
           "{group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: high}}\n"
           "---\n" V2 "kind: WorkloadPriorityClass\nmetadata: {name: high}\nvalue: 9\n"
           "---\n" V1 "kind: Workload\n" NAME "spec: {" PODSETS ", priorityClassName: high,\n"
           "  priorityClassSource: kueue.x-k8s.io/workloadpriorityclass}\n"
           "---\n" V1 "kind: Workload\n" NAME "spec: {" PODSETS ", priorityClassName: dropped}\n"
           "---\n" V2 "kind: Workload\n" NAME "spec: {" PODSETS ", priority: 3, priorityClassRef: "
           "{group: scheduling.k8s.io, kind: PriorityClass, name: any}}\n",
        5);

    (void)state;
    assert_int_equal(o[0].fact.workload.priority, 9);
    assert_null(o[0].priority_class);
    assert_int_equal(o[2].fact.workload.priority, 9);
    assert_int_equal(o[3].fact.workload.priority, 0);
    assert_int_equal(o[4].fact.workload.priority, 3);
    assert_null(o[0].fact.workload.gated_by);
    done(&x);
}

static void requests_above_limits(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        V2 "kind: Workload\n" NAME "spec: {podSets: [{template: {spec: {containers: [\n"
           "  {resources: {requests: {memory: 2, cpu: 2}, limits: {cpu: 1, memory: 1}}}]}}}]}\n"
           "---\n" V2 "kind: Workload\n" NAME
           "spec: {podSets: [{name: a, template: {spec: {containers: []}}}, {name: b, template: "
           "{spec: {initContainers: [{resources: {requests: {cpu: 2}, limits: {cpu: 1}}}],\n"
           "  resources: {requests: {cpu: 3}, limits: {cpu: 1}}}}}]}\n",
        2);

    (void)state;
    assert_string_equal(o[0].fact.workload.invalid,
                        "resources validation failed: spec.podSets[0].template.spec.containers[0]: "
                        "Invalid value: [\"cpu\",\"memory\"]: requests must not exceed its limits");
    assert_string_equal(
        o[1].fact.workload.invalid,
        "resources validation failed: [spec.podSets[1].template.spec.initContainers[0]: Invalid "
        "value: [\"cpu\"]: requests must not exceed its limits, "
        "spec.podSets[1].template.spec.resources: Invalid value: [\"cpu\"]: requests must not "
        "exceed its limits]");
    done(&x);
}

#define C1 "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
#define C2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"

static void configurations(void **state) {
    struct fixture x;
    struct sl_kueue_object *o = decode_objects(
        &x,
        C2
        "---\n" C2 "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n"
        "admissionFairSharing: {usageHalfLifeTime: 168h, resourceWeights: {cpu: 2, memory: 0.5}}\n"
        "waitForPodsReady: {timeout: 10m, requeuingStrategy: {timestamp: Creation,\n"
        "  backoffLimitCount: 3, backoffBaseSeconds: 1, backoffMaxSeconds: 9}}\n"
        "resources:\n  excludeResourcePrefixes: [example.com/]\n"
        "  transformations: [{input: a, strategy: Replace, multiplyBy: b, outputs: {c: 1.5, d: "
        "-1}}]\n"
        "featureGates: {FlavorFungibility: false, PriorityBoost: true, TLSOptions: false}\n"
        "integrations: {frameworks: [batch/job]}\n"
        "---\n" C1 "fairSharing: {enable: true}\nwaitForPodsReady: {enable: true}\n"
        "---\n" C1 "fairSharing: {}\nwaitForPodsReady: {timeout: 1m}\n"
        "resources: {quotaCheckStrategy: IgnoreUndeclared}\n"
        "---\n" C2 "waitForPodsReady: {recoveryTimeout: 3m}\n"
        "admissionFairSharing: {}\nresources: {quotaCheckStrategy: IgnoreUndeclared}\n"
        "featureGates: {DisableWaitForPodsReady: true, AdmissionFairSharing: false,\n"
        "  QuotaCheckStrategy: false}\n",
        5);

    (void)state;
    const struct sl_config *c = &o[0].fact.config;
    assert_int_equal(o[0].fact.kind, SL_FACT_CONFIG);
    assert_true(c->gates == SL_GATES_DEFAULT && c->n_fair == 2 && c->backoff_limit == -1);
    assert_false(c->fair_sharing || c->afs || c->pods_ready || c->ignore_undeclared);

    c = &o[1].fact.config;
    assert_true(c->fair_sharing);
    assert_int_equal(c->n_fair, 1);
    assert_int_equal(c->fair[0], SL_FAIR_INITIAL_SHARE);
    assert_true(c->afs && c->afs_half_life == 168 * SL_HOUR && c->afs_sampling == 5 * SL_MINUTE);
    assert_int_equal(c->n_afs_weights, 2);
    assert_true(c->afs_weights[1].weight_nano == SL_NANO / 2);
    assert_true(c->pods_ready && !c->block_admission && c->order_by_creation);
    assert_true(c->ready_timeout == 10 * SL_MINUTE && c->recovery_timeout == 10 * SL_MINUTE);
    assert_int_equal(c->backoff_limit, 3);
    assert_int_equal(c->backoff_base_s, 1);
    assert_int_equal(c->backoff_max_s, 9);
    assert_string_equal(c->exclude_prefixes[0], "example.com/");
    assert_true(c->transforms[0].replace);
    assert_string_equal(c->transforms[0].multiply_by, "b");
    assert_int_equal(c->transforms[0].n_outputs, 2);
    assert_true(c->transforms[0].outputs[1].factor == -SL_NANO);
    assert_true(c->gates == ((SL_GATES_DEFAULT & ~(1u << SL_GATE_FLAVOR_FUNGIBILITY)) |
                             1u << SL_GATE_PRIORITY_BOOST));

    c = &o[2].fact.config;
    assert_true(c->fair_sharing && c->n_fair == 2);
    assert_true(c->pods_ready && c->block_admission && c->ready_timeout == 5 * SL_MINUTE);
    c = &o[3].fact.config;
    assert_false(c->fair_sharing || c->pods_ready || c->block_admission);
    assert_true(c->ignore_undeclared);
    c = &o[4].fact.config;
    assert_false(c->pods_ready || c->afs || c->ignore_undeclared);
    assert_true(c->ready_timeout == 30 * SL_MINUTE && c->recovery_timeout == 3 * SL_MINUTE);
    done(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flavors),
        cmocka_unit_test(cluster_queues),
        cmocka_unit_test(older_spellings),
        cmocka_unit_test(small_kinds),
        cmocka_unit_test(workloads),
        cmocka_unit_test(priorities),
        cmocka_unit_test(requests_above_limits),
        cmocka_unit_test(configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
