/*
 * The manager's Configuration, as far as it changes decisions: fairSharing, admissionFairSharing,
 * waitForPodsReady, resources and featureGates. Its other fields are known and passed over. A field
 * that is absent has the default of the file's version, which is not the same in v1beta1 and
 * v1beta2.
 */
#include <string.h>

#include "doc/decode.h"

#define MAX_ENTRIES 1024 /* of any list or map here */

/* Gates of Kueue v0.19 that are not in our vocabulary: known, and without effect on a decision. */
static const char *const other_gates[] = {
    "AdmissionFairSharing",
    "AdmissionGatedBy",
    "AssignQueueLabelsForPods",
    "CleanupProvisioningRequestsOnEviction",
    "ConcurrentAdmission",
    "CustomMetricLabels",
    "DeferRayServiceFinalizationForRedisCleanup",
    "DisableWaitForPodsReady",
    "ElasticJobsViaWorkloadSlices",
    "ElasticJobsViaWorkloadSlicesWithTAS",
    "FailureRecoveryPolicy",
    "FastQuotaReleaseInPodIntegration",
    "FinishOrphanedWorkloads",
    "HierarchicalCohorts",
    "KueueDRAIntegration",
    "KueueDRAIntegrationConsumableCapacity",
    "KueueDRAIntegrationExtendedResource",
    "KueueDRAIntegrationPartitionableDevices",
    "KueueDRARejectWorkloadsWhenDRADisabled",
    "LocalQueueMetrics",
    "ManagedJobsNamespaceSelectorAlwaysRespected",
    "MetricForWorkloadCreationLatency",
    "MetricsForCohorts",
    "MultiKueue",
    "MultiKueueAdaptersForCustomJobs",
    "MultiKueueAllowInsecureKubeconfigs",
    "MultiKueueClusterProfile",
    "MultiKueueIncrementalDispatcherConfig",
    "MultiKueueIncrementalDispatcherRespectConfigOrder",
    "MultiKueueKubeConfigPathValidation",
    "MultiKueueManagerQuotaAutomation",
    "MultiKueueOrchestratedPreemption",
    "MultiKueueRedoAdmissionOnEvictionInWorker",
    "MultiKueueWaitForWorkloadAdmitted",
    "ObjectRetentionPolicies",
    "PropagateBatchJobLabelsToWorkload",
    "QuotaCheckStrategy",
    "RejectUpdatesToCQWithInvalidOnFlavors",
    "RemoveFinalizersWithStrictPatch",
    "SchedulerLibraryIntegration",
    "SchedulerLongRequeueInterval",
    "SchedulerTimestampPreemptionBuffer",
    "ShortWorkloadNames",
    "SkipFinalizersForPodsSuspendedByParent",
    "SkipReassignmentForPodOwnedWorkloads",
    "SparkApplicationIntegration",
    "TASAssignmentsEncodingByHostnamePrefix",
    "TASBalancedPlacement",
    "TASCacheNodeMatchResults",
    "TASCachingRemainingResources",
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASHandleOverlappingFlavors",
    "TASMultiLayerTopology",
    "TASProfileMixed",
    "TASRecomputeAssignmentWithinSchedulingCycle",
    "TASReplaceNodeDueToNotReadyOverFixedTime",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeOnPodTermination",
    "TASRespectNodeAffinityPreferred",
    "TLSOptions",
    "TopologyAwareScheduling",
    "UnadmittedWorkloadsExplicitStatus",
    "UnadmittedWorkloadsObservability",
    "VectorizedResourceRequests",
    "VisibilityOnDemand",
    "WorkloadIdentifierAnnotations",
    "WorkloadPriorityClassDefaulting",
    "WorkloadRequestUseMergePatch",
};

/* ---- fairSharing ---- */

static void fair_sharing(struct sl_read *rd, const struct sl_node *n, bool v1beta1,
                         struct sl_config *c) {
    const struct sl_node *items, *list;
    struct sl_fields f;
    uint32_t count;

    if (!n)
        return;
    sl_fields_open(&f, rd, n, "fairSharing");
    c->fair_sharing = v1beta1 ? sl_field_bool(&f, "enable", false) : true;
    list =
        v1beta1 ? sl_field(&f, "preemptionStrategies") : sl_field_need(&f, "preemptionStrategies");
    items = sl_read_list(rd, list, "preemptionStrategies", 2, &count);
    sl_fields_close(&f);
    if (!list || rd->code < 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        c->fair[i] = (enum sl_fair_strategy)sl_read_word(rd, &items[i], "preemptionStrategies",
                                                         SL_VOCAB_FAIR_STRATEGY);
    if (count == 0 ||
        (count == 2 && (c->fair[0] != SL_FAIR_FINAL_SHARE || c->fair[1] != SL_FAIR_INITIAL_SHARE)))
        sl_read_fail(rd, list->line,
                     "preemptionStrategies: expected LessThanOrEqualToFinalShare, "
                     "LessThanInitialShare, or both in that order");
    c->n_fair = count;
}

static void admission_fair_sharing(struct sl_read *rd, const struct sl_node *n,
                                   struct sl_config *c) {
    const struct sl_node *weights;
    struct sl_resource_weight *v;
    struct sl_fields f, w;

    if (!n)
        return;
    c->afs = true;
    sl_fields_open(&f, rd, n, "admissionFairSharing");
    c->afs_half_life = sl_field_span(&f, "usageHalfLifeTime", 0);
    c->afs_sampling = sl_field_span(&f, "usageSamplingInterval", c->afs_sampling);
    weights = sl_field(&f, "resourceWeights");
    sl_fields_close(&f);
    if (c->afs_half_life < 0)
        sl_read_fail(rd, f.line, "usageHalfLifeTime: must be greater than or equal to 0");
    if (c->afs_sampling <= 0)
        sl_read_fail(rd, f.line, "usageSamplingInterval: must be greater than 0");
    sl_fields_open(&w, rd, weights, "resourceWeights");
    if (!w.map || w.map->n == 0)
        return;
    if (w.map->n > MAX_ENTRIES) {
        sl_read_fail(rd, w.line, "resourceWeights: expected at most %d entries", MAX_ENTRIES);
        return;
    }
    v = sl_arena_alloc0(rd->arena, w.map->n, sizeof *v);
    for (uint32_t i = 0; i < w.map->n; i++) {
        const struct sl_pair *p = &w.map->pairs[i];
        if (p->value.kind != SL_NODE_INT && p->value.kind != SL_NODE_FLOAT)
            sl_read_fail(rd, p->line, "%.60s: expected a number, got %s", p->key,
                         sl_node_kind_name(p->value.kind));
        sl_quantity q = sl_read_quantity(rd, &p->value, p->key);
        if (q < 0)
            sl_read_fail(rd, p->line, "%.60s: must be greater than or equal to 0", p->key);
        v[i].resource = p->key;
        v[i].weight_nano = q > INT64_MAX ? INT64_MAX : (int64_t)q;
    }
    c->afs_weights = v;
    c->n_afs_weights = w.map->n;
}

/* ---- waitForPodsReady ---- */

static void pods_ready(struct sl_read *rd, const struct sl_node *n, bool v1beta1,
                       struct sl_config *c) {
    static const char *const timestamps[] = {"Eviction", "Creation", NULL};
    const struct sl_node *limit, *order;
    struct sl_fields f, s;

    if (!n)
        return;
    sl_fields_open(&f, rd, n, "waitForPodsReady");
    c->pods_ready = v1beta1 ? sl_field_bool(&f, "enable", false) : true;
    c->block_admission = sl_field_bool(&f, "blockAdmission", v1beta1 && c->pods_ready);
    c->ready_timeout = sl_field_span(&f, "timeout", v1beta1 ? 5 * SL_MINUTE : 30 * SL_MINUTE);
    c->recovery_timeout = sl_field_span(&f, "recoveryTimeout", c->ready_timeout);
    if (c->ready_timeout < 0 || c->recovery_timeout < 0)
        sl_read_fail(rd, f.line, "waitForPodsReady: must be greater than or equal to 0");
    sl_fields_open(&s, rd, sl_field(&f, "requeuingStrategy"), "requeuingStrategy");
    order = sl_field(&s, "timestamp");
    c->order_by_creation = order && sl_read_choice(rd, order, "timestamp", timestamps) == 1;
    c->backoff_base_s = sl_field_int(&s, "backoffBaseSeconds", c->backoff_base_s, 0, INT32_MAX);
    c->backoff_max_s = sl_field_int(&s, "backoffMaxSeconds", c->backoff_max_s, 0, INT32_MAX);
    limit = sl_field(&s, "backoffLimitCount");
    if (limit)
        c->backoff_limit = (int32_t)sl_read_int(rd, limit, "backoffLimitCount", 0, INT32_MAX);
    sl_fields_close(&s);
    sl_fields_close(&f);
}

/* ---- resources ---- */

static void transform(struct sl_read *rd, const struct sl_node *n, struct sl_transform *ret) {
    static const char *const strategies[] = {"Retain", "Replace", NULL};
    const struct sl_node *strategy, *outputs;
    const struct sl_request *list;
    struct sl_transform_output *v;
    struct sl_fields f;

    sl_fields_open(&f, rd, n, "a transformation");
    ret->input = sl_field_str(&f, "input", NULL);
    ret->multiply_by = sl_field_str(&f, "multiplyBy", "");
    strategy = sl_field(&f, "strategy");
    ret->replace = strategy && sl_read_choice(rd, strategy, "strategy", strategies) == 1;
    outputs = sl_field(&f, "outputs");
    sl_fields_close(&f);
    list = sl_decode_factors(rd, outputs, "outputs", &ret->n_outputs);
    if (ret->n_outputs == 0)
        return;
    v = sl_arena_alloc0(rd->arena, ret->n_outputs, sizeof *v);
    for (uint32_t i = 0; i < ret->n_outputs; i++)
        v[i] = (struct sl_transform_output){list[i].resource, list[i].q};
    ret->outputs = v;
}

static void resources(struct sl_read *rd, const struct sl_node *n, struct sl_config *c) {
    static const char *const strategies[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
    const struct sl_node *strategy, *items;
    struct sl_transform *v;
    struct sl_fields f;

    if (!n)
        return;
    sl_fields_open(&f, rd, n, "resources");
    c->exclude_prefixes = sl_field_strs(&f, "excludeResourcePrefixes", MAX_ENTRIES, &c->n_exclude);
    items = sl_field_list(&f, "transformations", MAX_ENTRIES, &c->n_transforms);
    strategy = sl_field(&f, "quotaCheckStrategy");
    c->ignore_undeclared =
        strategy && sl_read_choice(rd, strategy, "quotaCheckStrategy", strategies) == 1;
    sl_field_skip(&f, "deviceClassMappings");
    sl_fields_close(&f);
    if (c->ignore_undeclared && c->n_exclude > 0)
        sl_read_fail(rd, strategy->line,
                     "quotaCheckStrategy: excludeResourcePrefixes is not allowed when "
                     "quotaCheckStrategy is IgnoreUndeclared");
    if (c->n_transforms == 0)
        return;
    v = sl_arena_alloc0(rd->arena, c->n_transforms, sizeof *v);
    for (uint32_t i = 0; i < c->n_transforms && rd->code == 0; i++) {
        transform(rd, &items[i], &v[i]);
        for (uint32_t k = 0; k < i && rd->code == 0; k++)
            if (strcmp(v[k].input, v[i].input) == 0)
                sl_read_fail(rd, items[i].line,
                             "transformations: the input \"%.60s\" is listed twice", v[i].input);
    }
    c->transforms = v;
}

/* ---- featureGates ---- */

static void unknown_gate(struct sl_read *rd, const struct sl_pair *p) {
    const char *names[SL_LEN(other_gates) + SL_GATE_COUNT];
    uint32_t n = SL_LEN(other_gates);

    memcpy(names, other_gates, sizeof other_gates);
    for (int i = 0; i < SL_GATE_COUNT; i++)
        names[n++] = sl_word(SL_VOCAB_GATE, i);
    const char *near = sl_nearest(p->key, names, n);
    sl_read_fail(rd, p->line, "featureGates: unknown gate \"%.60s\"%s%s%s", p->key,
                 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void gates(struct sl_read *rd, const struct sl_node *n, struct sl_config *c) {
    struct sl_fields f;
    int gate;

    sl_fields_open(&f, rd, n, "featureGates");
    for (uint32_t i = 0; f.map && i < f.map->n && rd->code == 0; i++) {
        const struct sl_pair *p = &f.map->pairs[i];
        bool on = sl_read_bool(rd, &p->value, p->key);
        size_t k = 0;

        if (sl_word_parse(SL_VOCAB_GATE, p->key, &gate, NULL) == 0) {
            uint32_t bit = UINT32_C(1) << gate;
            c->gates = on ? c->gates | bit : c->gates & ~bit;
            continue;
        }
        while (k < SL_LEN(other_gates) && strcmp(other_gates[k], p->key) != 0)
            k++;
        if (k == SL_LEN(other_gates))
            unknown_gate(rd, p);
        if (on && strcmp(p->key, "DisableWaitForPodsReady") == 0)
            c->pods_ready = false;
        if (!on && strcmp(p->key, "AdmissionFairSharing") == 0)
            c->afs = false;
        if (!on && strcmp(p->key, "QuotaCheckStrategy") == 0)
            c->ignore_undeclared = false;
    }
}

void sl_decode_config(struct sl_read *rd, const struct sl_node *n, bool v1beta1,
                      struct sl_config *ret) {
    static const char *const others[] = {
        "apiVersion",
        "kind",
        "namespace",
        "webhook",
        "leaderElection",
        "metrics",
        "health",
        "pprofBindAddress",
        "controller",
        "tls",
        "manageJobsWithoutQueueName",
        "managedJobsNamespaceSelector",
        "internalCertManagement",
        "clientConnection",
        "integrations",
        "multiKueue",
        "objectRetentionPolicies",
        "visibilityServer",
        "queueVisibility",
    };
    struct sl_fields f;

    *ret = sl_config_default;
    sl_fields_open(&f, rd, n, "the Configuration");
    for (size_t i = 0; i < SL_LEN(others); i++)
        sl_field_skip(&f, others[i]);
    fair_sharing(rd, sl_field(&f, "fairSharing"), v1beta1, ret);
    admission_fair_sharing(rd, sl_field(&f, "admissionFairSharing"), ret);
    pods_ready(rd, sl_field(&f, "waitForPodsReady"), v1beta1, ret);
    resources(rd, sl_field(&f, "resources"), ret);
    gates(rd, sl_field(&f, "featureGates"), ret);
    sl_fields_close(&f);
}
