/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration is warned about: every warning with its message, what is used instead, and
 * the little that is refused.
 */
#include "manager/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"

struct fixture {
    struct sl_settings *s;
    struct sl_warnings w;
};

static void parse_settings(struct fixture *x, const char *text, const char *flags) {
    struct sl_err err = {0};

    x->s = NULL;
    sl_warnings_init(&x->w);
    if (sl_settings_parse("f", text, text ? strlen(text) : 0, NULL, flags, &x->s, &x->w, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
}

static void done(struct fixture *x) {
    sl_settings_freep(&x->s);
    sl_warnings_done(&x->w);
}

static bool manages(const struct sl_settings *s, const char *ns) {
    struct sl_label name = {"kubernetes.io/metadata.name", ns};
    return sl_selector_matches(&s->managed_namespaces, &(struct sl_labels){&name, 1});
}

/* One error each, on line 3 (or as given), and the whole warning. */
static const struct {
    const char *text, *want, *also;
} wrong[] = {
    /* the manager */
    {"nmespace: a\n",
     "unknown field \"nmespace\" in the Configuration; did you mean \"namespace\"?"
     " (ignored)",
     NULL},
    {"namespace: A_b\n",
     "namespace: expected the name of a namespace, got \"A_b\" (using kueue-system)", NULL},
    {"webhook: {port: 70000}\n", "webhook.port: must be a valid port number (1-65535) (using 9443)",
     NULL},
    {"webhook: {host: 1}\n",
     "webhook.host: expected a string (put it in quotes), got 1 (using none)", NULL},
    {"webhook: {x: 1}\n", "webhook: unknown field \"x\" in webhook (ignored)", NULL},
    {"webhook: on\n", "webhook: expected webhook (a map), got on (ignored)", NULL},
    {"health: {healthProbeBindAddress: a}\n",
     "health.healthProbeBindAddress: expected an address such as :8443, 127.0.0.1:8443, "
     "[::1]:8443 or 0, got \"a\" (using :8081)",
     NULL},
    {"pprofBindAddress: ':x'\n",
     "pprofBindAddress: expected an address such as :8443, 127.0.0.1:8443, [::1]:8443 or 0, got "
     "\":x\" (using none)",
     NULL},
    {"metrics: {bindAddress: 5}\n",
     "metrics.bindAddress: expected a string (put it in quotes), got 5 (using :8443)", NULL},
    {"metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {a: 1}}}}\n",
     "metrics.localQueueMetrics.localQueueSelector.a: expected a string (put it in quotes), got 1 "
     "(the selector is not used)",
     NULL},
    {"leaderElection: {leaderElect: 'no'}\n",
     "leaderElection.leaderElect: expected true or false, got \"no\" (using true)", NULL},
    {"leaderElection: {resourceName: A}\n",
     "leaderElection.resourceName: expected a DNS subdomain (RFC 1123), got \"A\" (using "
     "c1f6bfd2.kueue.x-k8s.io)",
     NULL},
    {"leaderElection: {resourceLock: endpoints}\n",
     "leaderElection.resourceLock: Unsupported value: expected leases, got \"endpoints\" (using "
     "leases)",
     NULL},
    {"leaderElection: {retryPeriod: -1s}\n",
     "leaderElection.retryPeriod: must be greater than or equal to 0 (using 2s)", NULL},
    {"leaderElection: {leaseDuration: 10s}\n",
     "leaderElection.leaseDuration: must be greater than renewDeadline, and that than "
     "retryPeriod*1.2 (using 4s, 3s and 500ms)",
     NULL},
    {"internalCertManagement: {webhookServiceName: 9a}\n",
     "internalCertManagement.webhookServiceName: expected a DNS label that begins with a letter "
     "(RFC 1035), got \"9a\" (using kueue-webhook-service)",
     NULL},
    {"internalCertManagement: {webhookSecretName: A}\n",
     "internalCertManagement.webhookSecretName: expected a DNS subdomain (RFC 1123), got \"A\" "
     "(using kueue-webhook-server-cert)",
     NULL},
    {"tls: {minVersion: VersionTLS11}\n",
     "tls.minVersion: Unsupported value: expected VersionTLS12 or VersionTLS13, got "
     "\"VersionTLS11\" (using VersionTLS12)",
     NULL},
    {"tls: {minVersion: VersionTLS13, cipherSuites: [a]}\n",
     "tls.cipherSuites: may not be specified when `minVersion` is 'VersionTLS13' (ignored)", NULL},
    {"controller: {groupKindConcurrency: {Job.batch: x}}\n",
     "controller.groupKindConcurrency.Job.batch: expected a whole number from -2147483648 to "
     "2147483647, got \"x\" (ignored)",
     NULL},
    {"controller: {cacheSyncTimeout: x}\n",
     "controller.cacheSyncTimeout: expected a duration such as 250ms, got \"x\" (ignored)", NULL},
    {"clientConnection: {qps: x}\n",
     "clientConnection.qps: expected a number, got a string (ignored)", NULL},
    {"visibilityServer: {bindAddress: localhost}\n",
     "visibilityServer.bindAddress: must be a valid IP address, got \"localhost\" (using none)",
     NULL},
    {"visibilityServer: {bindPort: 0}\n",
     "visibilityServer.bindPort: must be a valid port number (1-65535) (using 8082)", NULL},
    /* jobs */
    {"manageJobsWithoutQueueName: 1\n",
     "manageJobsWithoutQueueName: expected true or false, got 1 (using false)", NULL},
    {"managedJobsNamespaceSelector: {}\n",
     "managedJobsNamespaceSelector: should not match the \"kube-system\" namespace (that one is "
     "left out)",
     "managedJobsNamespaceSelector: should not match the \"kueue-system\" namespace (that one is "
     "left out)"},
    {"managedJobsNamespaceSelector: {matchLabel: {a: b}}\n",
     "managedJobsNamespaceSelector: unknown field \"matchLabel\" in managedJobsNamespaceSelector; "
     "did you mean \"matchLabels\"? (the selector is not used)",
     NULL},
    {"managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Is}]}\n",
     "managedJobsNamespaceSelector.operator: Unsupported value: expected In, NotIn, Exists or "
     "DoesNotExist, got \"Is\" (the selector is not used)",
     "managedJobsNamespaceSelector: values: must be specified when `operator` is 'In' or 'NotIn' "
     "(the selector is not used)"},
    {"integrations: {frameworks: [pods]}\n",
     "integrations.frameworks[0]: Unsupported value: \"pods\"; did you mean \"pod\"? (ignored)",
     NULL},
    {"integrations: {frameworks: [pod, pod]}\n",
     "integrations.frameworks[1]: Duplicate value: \"pod\" (it counts once)", NULL},
    {"integrations: {frameworks: pod}\n",
     "integrations.frameworks: expected a list, got \"pod\" (ignored)", NULL},
    {"integrations: {externalFrameworks: [Foo]}\n",
     "integrations.externalFrameworks[0]: must be format, 'Kind.version.group.com', got \"Foo\" "
     "(ignored)",
     NULL},
    {"integrations: {externalFrameworks: [Job.v1.batch]}\n",
     "integrations.externalFrameworks[0]: Duplicate value: \"Job.v1.batch\" (ignored)", NULL},
    {"integrations: {labelKeysToCopy: [1]}\n",
     "integrations.labelKeysToCopy: expected a string (put it in quotes), got 1 (ignored)", NULL},
    {"integrations: {podOptions: {}}\n",
     "integrations.podOptions: has no effect; managedJobsNamespaceSelector decides (ignored)",
     NULL},
    {"objectRetentionPolicies: {workloads: {afterFinished: -1s}}\n",
     "objectRetentionPolicies.workloads.afterFinished: must be greater than or equal to 0 (using "
     "no limit)",
     NULL},
    {"objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: x}}\n",
     "objectRetentionPolicies.workloads.afterDeactivatedByKueue: expected a duration such as "
     "250ms, "
     "got \"x\" (using no limit)",
     NULL},
    /* the engine */
    {"waitForPodsReady: {timeout: -1s}\n",
     "waitForPodsReady.timeout: must be greater than or equal to 0 (using 30m0s)", NULL},
    {"waitForPodsReady: {timeout: fast}\n",
     "waitForPodsReady.timeout: expected a duration such as 250ms, got \"fast\" (using 30m0s)",
     NULL},
    {"waitForPodsReady:\n  timeout: 7m\n\n  recoveryTimeout: -1s\n",
     "f:6: waitForPodsReady.recoveryTimeout: must be greater than or equal to 0 (using 7m0s)",
     NULL},
    {"waitForPodsReady: {requeuingStrategy: {timestamp: Now}}\n",
     "waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: expected Eviction or "
     "Creation, got \"Now\" (using Eviction)",
     NULL},
    {"waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: -1}}\n",
     "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: must be greater than or equal to 0, "
     "got -1 (using 60)",
     NULL},
    {"waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}\n",
     "waitForPodsReady.requeuingStrategy.backoffLimitCount: must be greater than or equal to 0, "
     "got "
     "-1 (using no limit)",
     NULL},
    {"waitForPodsReady: {blockAdmissions: true}\n",
     "waitForPodsReady: unknown field \"blockAdmissions\" in waitForPodsReady; did you mean "
     "\"blockAdmission\"? (ignored)",
     NULL},
    {"fairSharing: {preemptionStrategies: []}\n",
     "fairSharing.preemptionStrategies: must be specified: expected LessThanOrEqualToFinalShare, "
     "LessThanInitialShare, or both in that order (using both)",
     NULL},
    {"fairSharing: {preemptionStrategies: [LessThanInitialShare, LessThanInitialShare]}\n",
     "fairSharing.preemptionStrategies: Unsupported value: expected LessThanOrEqualToFinalShare, "
     "LessThanInitialShare, or both in that order (using both)",
     NULL},
    {"admissionFairSharing: {usageHalfLifeTime: -1s}\n",
     "admissionFairSharing.usageHalfLifeTime: must be greater than or equal to 0 (using 0s)", NULL},
    {"admissionFairSharing: {usageSamplingInterval: -1s}\n",
     "admissionFairSharing.usageSamplingInterval: must be greater than 0 (using 5m0s)", NULL},
    {"admissionFairSharing: {resourceWeights: {cpu: -1}}\n",
     "admissionFairSharing.resourceWeights[cpu]: must be greater than or equal to 0 (ignored)",
     NULL},
    {"admissionFairSharing: {resourceWeights: {cpu: '1'}}\n",
     "admissionFairSharing.resourceWeights[cpu]: expected a number, got a string (ignored)", NULL},
    {"resources: {excludeResourcePrefixes: [1]}\n",
     "resources.excludeResourcePrefixes: expected a string (put it in quotes), got 1 (ignored)",
     NULL},
    {"resources: {excludeResourcePrefixes: [a], quotaCheckStrategy: IgnoreUndeclared}\n",
     "resources.quotaCheckStrategy: excludeResourcePrefixes is not allowed when quotaCheckStrategy "
     "is IgnoreUndeclared (using BlockUndeclared)",
     NULL},
    {"resources: {quotaCheckStrategy: x}\n",
     "resources.quotaCheckStrategy: Unsupported value: expected BlockUndeclared or "
     "IgnoreUndeclared, got \"x\" (using BlockUndeclared)",
     NULL},
    {"resources: {transformations: [{input: a}, {input: a}]}\n",
     "resources.transformations[1].input: Duplicate value: \"a\" (ignored)", NULL},
    {"resources: {transformations: [{input: a, strategy: x}]}\n",
     "resources.transformations[0].strategy: Unsupported value: expected Retain or Replace, got "
     "\"x\" (using Retain)",
     NULL},
    {"resources: {transformations: [{outputs: {a: 1}}]}\n",
     "resources.transformations[0]: expected the field \"input\" in a transformation (ignored)",
     NULL},
    {"resources: {transformations: [{input: a, outputs: {b: x}}]}\n",
     "resources.transformations[0].outputs.b: expected a quantity such as 500m, 2 or 4Gi, got \"x\""
     " (ignored)",
     NULL},
    /* what is only checked */
    {"multiKueue: {gcInterval: -1s}\n",
     "multiKueue.gcInterval: must be greater than or equal to 0 (using 1m0s)", NULL},
    {"multiKueue: {workerLostTimeout: -1s}\n",
     "multiKueue.workerLostTimeout: must be greater than or equal to 0 (using 15m0s)", NULL},
    {"multiKueue: {origin: a/b}\n",
     "multiKueue.origin: expected a label value, got \"a/b\" (using multikueue)", NULL},
    {"multiKueue: {externalFrameworks: [{name: A}]}\n",
     "multiKueue.externalFrameworks[0].name: must be in 'kind.version.group' format, got \"A\" "
     "(ignored)",
     NULL},
    {"multiKueue: {externalFrameworks: [{name: A.b.c}, {name: A.b.c}]}\n",
     "multiKueue.externalFrameworks[1].name: Duplicate value: \"A.b.c\" (ignored)", NULL},
    {"multiKueue: {externalFrameworks: [{name: Job.v1.batch}]}\n",
     "multiKueue.externalFrameworks[0].name: conflicts with a built-in MultiKueue adapter "
     "(ignored)",
     NULL},
    {"multiKueue: {incrementalDispatcherConfig: {}}\n",
     "multiKueue.incrementalDispatcherConfig: is only valid when dispatcherName is set to the "
     "incremental dispatcher (ignored)",
     NULL},
    {"multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental, "
     "incrementalDispatcherConfig: {stepSize: 0}}\n",
     "multiKueue.incrementalDispatcherConfig.stepSize: must be greater than or equal to 1, got 0 "
     "(using 3)",
     NULL},
    {"multiKueue: {clusterProfile: {accessProviders: [], credentialsProviders: []}}\n",
     "multiKueue.clusterProfile.credentialsProviders: must not be specified when accessProviders "
     "is "
     "specified (ignored)",
     NULL},
    {"multiKueue: {clusterProfile: {accessProviders: [{name: '', execConfig: {command: a, "
     "apiVersion: b, interactiveMode: x}}]}}\n",
     "multiKueue.clusterProfile.accessProviders[0].name: must be specified (ignored)",
     "multiKueue.clusterProfile.accessProviders[0].execConfig.interactiveMode: Unsupported value: "
     "expected Never, IfAvailable or Always, got \"x\" (using Never)"},
    {"multiKueue: {clusterProfile: {credentialsProviders: [{name: a, execConfig: {command: a, "
     "interactiveMode: Never}}]}}\n",
     "multiKueue.clusterProfile.credentialsProviders[0].execConfig.apiVersion: must be specified "
     "(ignored)",
     NULL},
    {"metrics: {customLabels: [{name: 1a}]}\n",
     "metrics.customLabels[0].name: must match ^[a-zA-Z][a-zA-Z0-9_]*$ (ignored)", NULL},
    {"metrics: {customLabels: [{name: a}, {name: a}]}\n",
     "metrics.customLabels[1].name: Duplicate value: \"a\" (ignored)", NULL},
    {"metrics: {customLabels: [{name: a, sourceLabelKey: b, sourceAnnotationKey: c}]}\n",
     "metrics.customLabels[0]: sourceLabelKey and sourceAnnotationKey are mutually exclusive "
     "(ignored)",
     NULL},
    {"metrics: {customLabels: [{name: a, sourceAnnotationKey: a b}]}\n",
     "metrics.customLabels[0].sourceAnnotationKey: expected a label key, got \"a b\" (ignored)",
     NULL},
    {"metrics: {customLabels: [{name: a, sourceKind: Pod}]}\n",
     "metrics.customLabels[0].sourceKind: Unsupported value: expected ClusterQueue, LocalQueue, "
     "Cohort or Workload, got \"Pod\" (using ClusterQueue)",
     NULL},
    {"metrics: {customLabels: [{name: a, sourceKind: Workload}]}\n",
     "metrics.customLabels[0].trackedValues: must not be empty when sourceKind is 'Workload' "
     "(ignored)",
     NULL},
    {"metrics: {customLabels: [{name: a, sourceKind: Workload, trackedValues: [a, b, c, d, e, f, "
     "g, "
     "h, i, j, k, l, m]}]}\n",
     "metrics.customLabels[0].trackedValues: must not be greater than 12 when sourceKind is "
     "'Workload' (ignored)",
     NULL},
    {"metrics: {customLabels: [{name: a, trackedValues: [a, a]}]}\n",
     "metrics.customLabels[0].trackedValues: must not contain duplicates (ignored)", NULL},
    {"metrics: {customLabels: [{name: a, trackedValues: [a, b, c, d, e, f, g, h, i, j, k, l, m, "
     "'n', "
     "o, p, q]}]}\n",
     "metrics.customLabels[0].trackedValues: Too many: 17: must have at most 16 items (ignored)",
     NULL},
    {"metrics: {customLabels: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, "
     "{name: g}]}\n",
     "metrics.customLabels: too many custom labels for source kind ClusterQueue: found 7, expected "
     "<= 6 (ignored)",
     NULL},
    {"resources: {deviceClassMappings: [{name: a b, deviceClassNames: [c]}]}\n",
     "resources.deviceClassMappings[0].name: expected a label key, got \"a b\" (ignored)", NULL},
    {"resources: {deviceClassMappings: [{name: a, deviceClassNames: []}]}\n",
     "resources.deviceClassMappings[0].deviceClassNames: at least one device class name is "
     "required "
     "(ignored)",
     NULL},
    {"resources: {deviceClassMappings: [{name: a, deviceClassNames: [a, b, c, d, e, f, g, h, "
     "i]}]}\n",
     "resources.deviceClassMappings[0].deviceClassNames: Too many: 9: must have at most 8 items "
     "(ignored)",
     NULL},
    {"resources: {deviceClassMappings: [{name: a, deviceClassNames: [b]}, {name: a, "
     "deviceClassNames: [c, c]}]}\n",
     "resources.deviceClassMappings[1].name: Duplicate value: \"a\" (ignored)",
     "resources.deviceClassMappings[1].deviceClassNames[1]: Duplicate value: \"c\" (ignored)"},
    {"resources: {deviceClassMappings: [{name: a, deviceClassNames: [b], sources: [{}]}]}\n",
     "resources.deviceClassMappings[0].sources[0]: exactly one source type must be set per entry "
     "(ignored)",
     NULL},
    {"resources: {deviceClassMappings: [{name: a, deviceClassNames: [b], sources: [{counter: "
     "{name: "
     "a, driver: b, deviceSelector: {}}}, {capacity: {name: a, driver: b, deviceSelector: "
     "{}}}]}]}\n",
     "resources.deviceClassMappings[0].sources: cannot mix counter and capacity sources in the "
     "same "
     "mapping (ignored)",
     NULL},
    /* MiniClusters */
    {"miniCluster: {controller: fluxoperator}\n",
     "miniCluster.controller: Unsupported value: expected Sluice or FluxOperator, got "
     "\"fluxoperator\" (using Sluice)",
     NULL},
    /* the queue on the resource graph */
    {"fluxqueue: {queuepolicy: easy}\n",
     "fluxqueue: unknown field \"queuepolicy\" in fluxqueue; did you mean \"queuePolicy\"? "
     "(ignored)",
     NULL},
    {"fluxqueue: {matchPolicy: best}\n",
     "fluxqueue.matchPolicy: expected a match policy such as lonode, got \"best\" (using lonode)",
     NULL},
    {"fluxqueue: {matchPolicy: high, queues: [{name: a, matchPolicy: best}]}\n",
     "fluxqueue.queues[0].matchPolicy: expected a match policy such as lonode, got \"best\" (using "
     "high)",
     NULL},
    {"fluxqueue: {queuePolicy: lifo}\n",
     "fluxqueue.queuePolicy: Unsupported value: expected fcfs, easy, hybrid or conservative, got "
     "\"lifo\" (using "
     "easy)",
     NULL},
    {"fluxqueue: {queueDepth: 0}\n",
     "fluxqueue.queueDepth: must be greater than or equal to 1, got 0 (using 32)", NULL},
    {"fluxqueue: {reservationDepth: 100001}\n",
     "fluxqueue.reservationDepth: expected a whole number from 1 to 100000, got 100001 (using 64)",
     NULL},
    {"fluxqueue: {queues: [{name: a b}, {name: a}, {name: a}]}\n",
     "fluxqueue.queues[0].name: expected a label value, got \"a b\" (ignored)",
     "fluxqueue.queues[2].name: Duplicate value: \"a\" (ignored)"},
    {"fluxqueue: {queues: [{name: default}, {name: default}]}\n",
     "fluxqueue.queues[1].name: Duplicate value: \"default\" (ignored)", NULL},
    {"fluxqueue: {queues: [{policy: easy}]}\n",
     "fluxqueue.queues[0].name: expected a label value, got \"\" (ignored)", NULL},
    {"fluxqueue: {levels: [{type: node, nodeLabel: a}, {type: rack, nodeLabel: /}]}\n",
     "fluxqueue.levels[0].type: expected a type of the graph between cluster and node, such as "
     "rack, got \"node\" (ignored)",
     "fluxqueue.levels[1].nodeLabel: expected the key of a label, got \"/\" (ignored)"},
    {"fluxqueue: {levels: [{type: or_slot, nodeLabel: a}, {type: gpu, nodeLabel: b}]}\n",
     "fluxqueue.levels[0].type: expected a type of the graph between cluster and node, such as "
     "rack, got \"or_slot\" (ignored)",
     "fluxqueue.levels[1].type: expected a type of the graph between cluster and node, such as "
     "rack, got \"gpu\" (ignored)"},
    {"fluxqueue: {levels: [{type: a, nodeLabel: a}, {type: b, nodeLabel: a}]}\n",
     "fluxqueue.levels[1].type: Duplicate value: \"b\", or the label of another level (ignored)",
     NULL},
    {"fluxqueue: {binder: Kubelet}\n",
     "fluxqueue.binder: Unsupported value: expected Sluice or KubeScheduler, got \"Kubelet\" "
     "(using Sluice)",
     NULL},
    {"fluxqueue: {defaultDuration: -1s}\n",
     "fluxqueue.defaultDuration: must be greater than or equal to 0 (using 0s)", NULL},
    {"fluxqueue: {ledger: \"mysql://u:secret@h\"}\n",
     "fluxqueue.ledger: expected an absolute path, sqlite:PATH or postgres://... (using the "
     "default)",
     NULL},
    {"fluxqueue: {namespaceSelector: {matchLabels: {a: 1}}}\n",
     "fluxqueue.namespaceSelector.a: expected a string (put it in quotes), got 1 (the "
     "selector is not used)",
     NULL},
    /* gates */
    {"featureGates: {PartialAdmision: true}\n",
     "featureGates: unknown gate \"PartialAdmision\"; did you mean \"PartialAdmission\"? (ignored)",
     NULL},
    {"featureGates: {PartialAdmission: 1}\n",
     "featureGates.PartialAdmission: expected true or false, got 1 (ignored)", NULL},
    {"featureGates: {HierarchicalCohorts: false}\n",
     "featureGates: cannot set feature gate HierarchicalCohorts to false, feature is locked to "
     "true "
     "(ignored)",
     NULL},
    {"featureGates: []\n", "featureGates: expected featureGates (a map), got a list (ignored)",
     NULL},
};

static void every_warning(void **state) {
    char text[1024], want[512];

    (void)state;
    for (size_t i = 0; i < SL_LEN(wrong); i++) {
        const char *wants[] = {wrong[i].want, wrong[i].also};
        uint32_t n = wrong[i].also ? 2 : 1;
        struct fixture x;

        (void)snprintf(text, sizeof text, V2 "%s", wrong[i].text);
        parse_settings(&x, text, NULL);
        for (uint32_t k = 0; k < n; k++) {
            bool whole = strncmp(wants[k], "f:", 2) == 0;
            (void)snprintf(want, sizeof want, "%s%s", whole ? "" : "f:3: ", wants[k]);
            if (x.w.v.n <= k || strcmp(x.w.v.v[k].text, want) != 0)
                fail_msg("%s\nexpected %s\ngot      %s", wrong[i].text, want,
                         x.w.v.n > k ? x.w.v.v[k].text : "-");
            assert_true(whole || x.w.v.v[k].line == 3);
        }
        if (x.w.v.n != n)
            fail_msg("%s\none more: %s", wrong[i].text, x.w.v.v[n].text);
        done(&x);
    }
}

/* A wrong part does not spoil what stands beside it. */
static void the_rest_is_used(void **state) {
    struct fixture x;

    (void)state;
    parse_settings(&x,
                   V2
                   "managedJobsNamespaceSelector: {matchLabels: {}}\n"
                   "integrations: {frameworks: [x, pod, 1], externalFrameworks: [A, B.c.d]}\n"
                   "resources:\n  excludeResourcePrefixes: [1, a/]\n"
                   "  transformations: [{input: 1}, {input: b, outputs: {c: 2}}, {input: b}]\n"
                   "admissionFairSharing: {usageHalfLifeTime: x, resourceWeights: {a: x, b: 2}}\n"
                   "waitForPodsReady: {timeout: x, blockAdmission: true}\n",
                   NULL);
    const struct sl_config *c = &x.s->engine;
    assert_int_equal(x.w.v.n, 11);
    assert_true(manages(x.s, "a") && !manages(x.s, "kube-system") && !manages(x.s, "kueue-system"));
    assert_true(x.s->framework[SL_FW_POD] && !x.s->framework[SL_FW_JOB]);
    assert_int_equal(x.s->external_frameworks.n, 1);
    assert_int_equal(c->n_exclude, 1);
    assert_string_equal(c->exclude_prefixes[0], "a/");
    assert_int_equal(c->n_transforms, 1);
    assert_string_equal(c->transforms[0].input, "b");
    assert_int_equal(c->transforms[0].n_outputs, 1);
    assert_true(c->afs && c->afs_half_life == 0 && c->n_afs_weights == 1);
    assert_string_equal(c->afs_weights[0].resource, "b");
    assert_true(c->block_admission && c->ready_timeout == 30 * SL_MINUTE);
    done(&x);
}

static void ceilings(void **state) {
    static char text[1 << 18];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", V2);
    struct fixture x;

    (void)state;
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "unknown%d\x01: 1\n", i);
    n += (size_t)snprintf(text + n, sizeof text - n, "integrations:\n  frameworks:\n");
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "  - strange%d\n", i);
    for (char *p = text; *p; p++) /* YAML itself has no control characters */
        if (*p == 1)
            *p = 'x';
    parse_settings(&x, text, NULL);
    assert_int_equal(x.w.v.n, SL_WARNINGS_MAX);
    assert_int_equal(x.w.v.n + x.w.more, 400 + 65);
    assert_true(x.s->framework[SL_FW_JOB]);
    done(&x);

    sl_warnings_init(&x.w);
    sl_warnings_add(&x.w, "f", 0, "a\n\x1b[1m\x7fz");
    assert_string_equal(x.w.v.v[0].text, "f: a??[1m?z");
    sl_warnings_done(&x.w);
    sl_warnings_add(NULL, "f", 0, "a");
}

static void refused(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"- a\n", "f:1: expected a Configuration (a map), got a list"},
        {"\n\njust words\n", "f:3: expected a Configuration (a map), got a string"},
        {"a: [\n", "f:2: expected YAML: "},
        {"a: 1\na: 2\n", "f:2: \"a\" is given twice, first on line 1"},
    };
    struct sl_settings *s = NULL;
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        int r = sl_settings_parse("f", cases[i].text, strlen(cases[i].text), NULL, NULL, &s, NULL,
                                  &err);
        assert_int_equal(r, SL_EINVAL);
        assert_null(s);
        if (strncmp(err.text, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("expected %s\ngot      %s", cases[i].want, err.text);
    }
    char *huge = sl_alloc(((size_t)1 << 20) + 1);
    memset(huge, '#', ((size_t)1 << 20) + 1);
    assert_int_equal(
        sl_settings_parse("f", huge, ((size_t)1 << 20) + 1, NULL, NULL, &s, NULL, &err), SL_ELIMIT);
    sl_freep(&huge);
    assert_int_equal(sl_settings_load("/nowhere/f", NULL, NULL, &s, NULL, &err), SL_ENOENT);
    assert_null(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_warning),
        cmocka_unit_test(the_rest_is_used),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
