/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager's Configuration, as far as it changes decisions: fairSharing, admissionFairSharing,
 * waitForPodsReady, resources and featureGates. Its other fields are known and passed over. A field
 * that is absent has the default of the file's version, which is not the same in v1beta1 and
 * v1beta2.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/kueue/decode.h"

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

/* ---- what several parts need ---- */

/* v1beta1 turns a part on by "enable", v1beta2 by its presence. Lenient reading accepts "enable" in
 * both, since users patch it into whatever file they find, and it brings v1beta1's other defaults
 * along (*ret_older). */
static bool enabled(struct sl_doc_fields *f, bool v1beta1, bool *ret_older) {
    const struct sl_doc_node *n;

    *ret_older = v1beta1;
    if (!v1beta1 && !f->rd->warn)
        return true;
    n = sl_doc_field(f, "enable");
    if (n && !v1beta1) {
        f->rd->instead = "taken as there";
        sl_read_note(f->rd, n->line, "enable", "is a field of v1beta1, not of v1beta2");
        f->rd->instead = NULL;
        *ret_older = true;
    }
    return sl_doc_field_bool(f, "enable", !v1beta1);
}

enum zero { ZERO_COUNTS, ZERO_IS_ABSENT, ZERO_IS_WRONG };

/* A duration that is not negative. 'name' is what a strict error calls it. */
static sl_span positive(struct sl_doc_fields *f, const char *key, const char *name, enum zero zero,
                        sl_span fallback) {
    char text[SL_SPAN_TEXT], instead[SL_SPAN_TEXT + 8];
    sl_span d = sl_doc_field_span(f, key, fallback);
    struct sl_read *rd = f->rd;

    if (d > 0 || (d == 0 && zero == ZERO_COUNTS))
        return d;
    /* To Kueue, 0 is no value at all; in a file for simulations it is more likely a mistake. */
    if (d == 0 && (zero == ZERO_IS_ABSENT || rd->warn))
        return fallback;
    sl_fmt_short(instead, sizeof instead, "using %s", sl_span_format(fallback, text));
    rd->instead = instead;
    sl_read_wrong(rd, sl_doc_field(f, key)->line, rd->warn ? key : name, "must be greater than %s",
                  zero == ZERO_IS_WRONG ? "0" : "or equal to 0");
    rd->instead = NULL;
    return fallback;
}

/* ---- fairSharing ---- */

static void strategies(struct sl_read *rd, const struct sl_doc_node *list, struct sl_config *c) {
    enum sl_fair_strategy v[2] = {SL_FAIR_FINAL_SHARE};
    uint32_t count, n_wrong = rd->n_wrong;
    const struct sl_doc_node *items = sl_read_list(rd, list, "preemptionStrategies", 2, &count);

    for (uint32_t i = 0; i < count; i++)
        v[i] = (enum sl_fair_strategy)sl_read_word(rd, &items[i], "preemptionStrategies",
                                                   SL_VOCAB_FAIR_STRATEGY);
    if (rd->n_wrong == n_wrong && (count == 0 || (count == 2 && (v[0] != SL_FAIR_FINAL_SHARE ||
                                                                 v[1] != SL_FAIR_INITIAL_SHARE))))
        sl_read_wrong(rd, list->line, "preemptionStrategies",
                      "%sexpected LessThanOrEqualToFinalShare, LessThanInitialShare, or both in "
                      "that order",
                      !rd->warn    ? ""
                      : count == 0 ? "must be specified: "
                                   : "Unsupported value: ");
    if (rd->n_wrong > n_wrong)
        return;
    memcpy(c->fair, v, count * sizeof v[0]);
    c->n_fair = count;
}

static void fair_sharing(struct sl_read *rd, const struct sl_doc_node *n, bool v1beta1,
                         struct sl_config *c) {
    const struct sl_doc_node *list;
    struct sl_doc_fields f;
    bool older;

    if (!n)
        return;
    sl_doc_fields_enter(&f, rd, n, "fairSharing", "fairSharing");
    if (!f.map) {
        sl_doc_fields_close(&f);
        return;
    }
    c->fair_sharing = enabled(&f, v1beta1, &older);
    rd->instead = "using both";
    list = sl_doc_field(&f, "preemptionStrategies");
    if (older && rd->warn && list && list->kind == SL_DOC_NODE_LIST && list->n == 0)
        list = NULL; /* v1beta1 has a default */
    if (list)
        strategies(rd, list, c);
    else if (!older && rd->warn)
        sl_read_wrong(rd, f.line, "preemptionStrategies", "must be specified");
    else if (!older)
        (void)sl_doc_field_need(&f, "preemptionStrategies");
    rd->instead = NULL;
    sl_doc_fields_close(&f);
}

/* A weight that is wrong is left out: the resource counts as it is. */
static void weights(struct sl_read *rd, const struct sl_doc_node *n, struct sl_config *c) {
    struct sl_resource_weight *v;
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, n, "resourceWeights");
    if (!f.map || f.map->n == 0)
        return;
    if (f.map->n > MAX_ENTRIES) {
        sl_read_wrong(rd, f.line, "resourceWeights", "expected at most %d entries", MAX_ENTRIES);
        return;
    }
    v = sl_arena_alloc0(rd->arena, f.map->n, sizeof *v);
    for (uint32_t i = 0; i < f.map->n; i++) {
        const struct sl_doc_pair *p = &f.map->pairs[i];
        uint32_t n_wrong = rd->n_wrong;
        sl_quantity q = 0;
        char key[80];

        sl_fmt_short(key, sizeof key, "%s%.60s%s", rd->warn ? "resourceWeights[" : "", p->key,
                     rd->warn ? "]" : "");
        if (p->value.kind == SL_DOC_NODE_INT || p->value.kind == SL_DOC_NODE_FLOAT)
            q = sl_read_quantity(rd, &p->value, key);
        else
            sl_read_wrong(rd, p->line, key, "expected a number, got %s",
                          sl_doc_node_kind_name(p->value.kind));
        if (q < 0)
            sl_read_wrong(rd, p->line, key, "must be greater than or equal to 0");
        if (rd->n_wrong > n_wrong)
            continue;
        v[c->n_afs_weights].resource = p->key;
        v[c->n_afs_weights++].weight_nano = q > INT64_MAX ? INT64_MAX : (int64_t)q;
    }
    c->afs_weights = v;
}

static void admission_fair_sharing(struct sl_read *rd, const struct sl_doc_node *n,
                                   struct sl_config *c) {
    struct sl_doc_fields f;

    if (!n)
        return;
    sl_doc_fields_enter(&f, rd, n, "admissionFairSharing", "admissionFairSharing");
    c->afs = f.map != NULL;
    c->afs_half_life = positive(&f, "usageHalfLifeTime", "usageHalfLifeTime", ZERO_COUNTS, 0);
    c->afs_sampling = positive(&f, "usageSamplingInterval", "usageSamplingInterval", ZERO_IS_WRONG,
                               c->afs_sampling);
    weights(rd, sl_doc_field(&f, "resourceWeights"), c);
    sl_doc_fields_close(&f);
}

/* ---- waitForPodsReady ---- */

static void requeuing(struct sl_read *rd, const struct sl_doc_node *n, struct sl_config *c) {
    static const char *const timestamps[] = {"Eviction", "Creation", NULL};
    const struct sl_doc_node *limit;
    struct sl_doc_fields f;

    sl_doc_fields_enter(&f, rd, n, "requeuingStrategy", "requeuingStrategy");
    c->order_by_creation = sl_doc_field_choice(&f, "timestamp", timestamps, 0) == 1;
    c->backoff_base_s = sl_doc_field_int(&f, "backoffBaseSeconds", c->backoff_base_s, 0, INT32_MAX);
    c->backoff_max_s = sl_doc_field_int(&f, "backoffMaxSeconds", c->backoff_max_s, 0, INT32_MAX);
    limit = sl_doc_field(&f, "backoffLimitCount");
    if (limit) {
        uint32_t n_wrong = rd->n_wrong;
        rd->instead = "using no limit";
        int64_t count = sl_read_int(rd, limit, "backoffLimitCount", 0, INT32_MAX);
        rd->instead = NULL;
        c->backoff_limit = rd->n_wrong == n_wrong ? (int32_t)count : -1;
    }
    sl_doc_fields_close(&f);
}

static void pods_ready(struct sl_read *rd, const struct sl_doc_node *n, bool v1beta1,
                       struct sl_config *c) {
    struct sl_doc_fields f;
    bool older;

    if (!n)
        return;
    sl_doc_fields_enter(&f, rd, n, "waitForPodsReady", "waitForPodsReady");
    if (f.map) {
        c->pods_ready = enabled(&f, v1beta1, &older);
        c->block_admission = sl_doc_field_bool(&f, "blockAdmission", older && c->pods_ready);
        c->ready_timeout =
            positive(&f, "timeout", f.what, ZERO_IS_ABSENT, older ? 5 * SL_MINUTE : 30 * SL_MINUTE);
        c->recovery_timeout =
            positive(&f, "recoveryTimeout", f.what, ZERO_COUNTS, c->ready_timeout);
        if (c->recovery_timeout == 0)
            c->recovery_timeout = SL_TIME_NEVER; /* 0 switches it off */
        requeuing(rd, sl_doc_field(&f, "requeuingStrategy"), c);
    }
    sl_doc_fields_close(&f);
}

/* ---- resources ---- */

/* Whether it can be used: a wrong strategy is replaced, a wrong input or output is not. */
static bool transform(struct sl_read *rd, const struct sl_doc_node *n, uint32_t at,
                      struct sl_transform *ret) {
    static const char *const words[] = {"Retain", "Replace", NULL};
    const struct sl_request *list;
    struct sl_transform_output *v;
    struct sl_doc_fields f, o;
    char key[40];

    sl_fmt_short(key, sizeof key, "transformations[%u]", at);
    sl_doc_fields_enter(&f, rd, n, "a transformation", key);
    ret->replace = sl_doc_field_choice(&f, "strategy", words, 0) == 1;
    uint32_t n_wrong = rd->n_wrong;
    ret->input = sl_doc_field_str(&f, "input", NULL);
    ret->multiply_by = sl_doc_field_str(&f, "multiplyBy", "");
    sl_doc_fields_enter(&o, rd, NULL, "outputs", "outputs"); /* only for the path */
    list = sl_decode_factors(rd, sl_doc_field(&f, "outputs"), "outputs", &ret->n_outputs);
    sl_doc_fields_close(&o);
    sl_doc_fields_close(&f);
    if (ret->n_outputs > 0) {
        v = sl_arena_alloc0(rd->arena, ret->n_outputs, sizeof *v);
        for (uint32_t i = 0; i < ret->n_outputs; i++)
            v[i] = (struct sl_transform_output){list[i].resource, list[i].q};
        ret->outputs = v;
    }
    return f.map && rd->n_wrong == n_wrong;
}

static void duplicate_input(struct sl_read *rd, uint32_t line, uint32_t at, const char *input) {
    char key[48];

    sl_fmt_short(key, sizeof key, "transformations[%u].input", at);
    sl_read_wrong(rd, line, key, "Duplicate value: \"%.60s\"", input);
}

static void transforms(struct sl_read *rd, const struct sl_doc_node *items, uint32_t n,
                       struct sl_config *c) {
    struct sl_transform *v;

    if (n == 0)
        return;
    v = sl_arena_alloc0(rd->arena, n, sizeof *v);
    for (uint32_t i = 0; i < n && rd->code == 0; i++) {
        struct sl_transform *now = &v[c->n_transforms];
        uint32_t k = 0;

        *now = (struct sl_transform){0};
        if (!transform(rd, &items[i], i, now))
            continue;
        while (k < c->n_transforms && strcmp(v[k].input, now->input) != 0)
            k++;
        if (k == c->n_transforms)
            c->n_transforms++;
        else if (rd->warn)
            duplicate_input(rd, items[i].line, i, now->input);
        else
            sl_read_wrong(rd, items[i].line, "transformations",
                          "the input \"%.60s\" is listed twice", now->input);
    }
    c->transforms = v;
}

static void resources(struct sl_read *rd, const struct sl_doc_node *n, struct sl_config *c) {
    static const char *const words[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
    const struct sl_doc_node *items;
    struct sl_doc_fields f;
    uint32_t n_items;

    if (!n)
        return;
    sl_doc_fields_enter(&f, rd, n, "resources", "resources");
    c->exclude_prefixes =
        sl_doc_field_strs(&f, "excludeResourcePrefixes", MAX_ENTRIES, &c->n_exclude);
    items = sl_doc_field_list(&f, "transformations", MAX_ENTRIES, &n_items);
    c->ignore_undeclared = sl_doc_field_choice(&f, "quotaCheckStrategy", words, 0) == 1;
    sl_doc_field_skip(&f, "deviceClassMappings");
    transforms(rd, items, n_items, c);
    if (c->ignore_undeclared && c->n_exclude > 0) {
        rd->instead = "using BlockUndeclared";
        sl_read_wrong(rd, sl_doc_node_get(n, "quotaCheckStrategy")->line, "quotaCheckStrategy",
                      "excludeResourcePrefixes is not allowed when quotaCheckStrategy is "
                      "IgnoreUndeclared");
        rd->instead = NULL;
        c->ignore_undeclared = false;
    }
    sl_doc_fields_close(&f);
}

/* ---- featureGates ---- */

static void unknown_gate(struct sl_read *rd, const struct sl_doc_pair *p) {
    const char *names[SL_LEN(other_gates) + SL_GATE_COUNT];
    uint32_t n = SL_LEN(other_gates);

    memcpy(names, other_gates, sizeof other_gates);
    for (int i = 0; i < SL_GATE_COUNT; i++)
        names[n++] = sl_word(SL_VOCAB_GATE, i);
    const char *near = sl_read_nearest(p->key, names, n);
    sl_read_fail(rd, p->line, "featureGates: unknown gate \"%.60s\"%s%s%s", p->key,
                 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void gates(struct sl_read *rd, const struct sl_doc_node *n, struct sl_config *c) {
    struct sl_doc_fields f;
    int gate;

    sl_doc_fields_open(&f, rd, n, "featureGates");
    for (uint32_t i = 0; f.map && i < f.map->n && rd->code == 0; i++) {
        const struct sl_doc_pair *p = &f.map->pairs[i];
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

void sl_decode_config(struct sl_read *rd, const struct sl_doc_node *n, bool v1beta1,
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
    struct sl_doc_fields f;

    *ret = sl_config_default;
    sl_doc_fields_open(&f, rd, n, "the Configuration");
    for (size_t i = 0; i < SL_LEN(others); i++)
        sl_doc_field_skip(&f, others[i]);
    fair_sharing(rd, sl_doc_field(&f, "fairSharing"), v1beta1, ret);
    admission_fair_sharing(rd, sl_doc_field(&f, "admissionFairSharing"), ret);
    pods_ready(rd, sl_doc_field(&f, "waitForPodsReady"), v1beta1, ret);
    resources(rd, sl_doc_field(&f, "resources"), ret);
    gates(rd, sl_doc_field(&f, "featureGates"), ret);
    sl_doc_fields_close(&f);
}
