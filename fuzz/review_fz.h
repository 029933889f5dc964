/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which path the first byte of an input of fuzz_review stands for, and a small cluster in which
 * things are so and so. The same inputs are what the test of the time of a review begins with.
 */
#ifndef SL_FUZZ_REVIEW_FZ_H
#define SL_FUZZ_REVIEW_FZ_H

#include <string.h>

#include "manager/admission/review.h"
#include "manager/jobkinds/jobkinds.h"

static inline const char *review_path(uint8_t first) {
    static const char *const paths[] = {
        "/convert",
        "/validate-kueue-x-k8s-io-v1beta2-workload",
        "/mutate-kueue-x-k8s-io-v1beta2-workload",
        "/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
        "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
        "/validate-kueue-x-k8s-io-v1beta2-cohort",
        "/validate-kueue-x-k8s-io-v1beta2-resourceflavor",
        "/mutate-batch-v1-job",
        "/validate-batch-v1-job",
        "/mutate--v1-pod",
        "/validate--v1-pod",
        "/mutate-apps-v1-deployment",
        "/validate-apps-v1-deployment",
        "/mutate-apps-v1-statefulset",
        "/validate-apps-v1-statefulset",
        "/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
        "/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
        "/validate-vk-io-v1-masterqueue",
        "/mutate-v1-sidecar",
        "/validate-v1-sidecar",
        "/mutate-flux--v1-pod",
        "/validate-flux--v1-pod",
        "/mutate-flux-batch-v1-job",
        "/validate-flux-batch-v1-job",
        "/mutate-flux-apps-v1-deployment",
        "/mutate-flux-apps-v1-replicaset",
        "/mutate-flux-apps-v1-statefulset",
        "/validate-jobs-converged-computing-org-v1alpha1-fluxjob",
        "/mutate-jobset-x-k8s-io-v1alpha2-jobset",
        "/validate-jobset-x-k8s-io-v1alpha2-jobset",
        "/mutate-kubeflow-org-v2beta1-mpijob",
        "/validate-kubeflow-org-v2beta1-mpijob",
        "/mutate-kubeflow-org-v1-pytorchjob",
        "/validate-kubeflow-org-v1-pytorchjob",
        "/mutate-kubeflow-org-v1-tfjob",
        "/validate-kubeflow-org-v1-tfjob",
        "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
        "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
        "/mutate-ray-io-v1-raycluster",
        "/validate-ray-io-v1-raycluster",
        "/mutate-ray-io-v1-rayjob",
        "/validate-ray-io-v1-rayjob",
        "/mutate-ray-io-v1-rayservice",
        "/validate-ray-io-v1-rayservice",
        "/mutate-workload-codeflare-dev-v1beta2-appwrapper",
        "/validate-workload-codeflare-dev-v1beta2-appwrapper",
        "/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication",
        "/validate-sparkoperator-k8s-io-v1beta2-sparkapplication",
    };
    return paths[(first & 0x7f) % (sizeof(paths) / sizeof(paths[0]))];
}

/* Are gates turned round, and webhooks off? */
static inline bool review_flipped(uint8_t first) {
    return first > 0x7f;
}

static inline bool some_queue(void *ctx, const char *ns, const char *name) {
    (void)ctx;
    return (strlen(ns) + strlen(name)) % 2 == 0;
}

static inline bool some_name(void *ctx, const char *name) {
    (void)ctx;
    return strlen(name) % 2 == 0;
}

static inline bool some_owner(void *ctx, const char *ns, const struct sl_review_owner_ref *owner) {
    (void)ctx;
    return (strlen(ns) + strlen(owner->name)) % 2 == 0;
}

/* One with a trainer of two nodes, whose launcher is placed together with it. */
static inline yyjson_doc *some_runtime(void *ctx, const char *ns,
                                       const struct sl_jobkind_need *need) {
    static const char text[] =
        "{\"spec\":{\"mlPolicy\":{\"numNodes\":2},\"template\":{\"spec\":{\"replicatedJobs\":["
        "{\"name\":\"node\",\"template\":{\"metadata\":{\"labels\":{"
        "\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},\"spec\":{\"template\":{"
        "\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/podset-preferred-topology\":\"a/b\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"node\"}]}}}}},{\"name\":\"launcher\",\"template\":{"
        "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}}]}}}}";

    (void)ctx, (void)need;
    return *ns ? yyjson_read(text, sizeof(text) - 1, 0) : NULL;
}

static struct sl_settings settings;
static struct sl_review_view view = {
    .settings = &settings,
    .queue_open = some_queue,
    .queue_exists = some_queue,
    .queue_dispatches = some_queue,
    .ns_managed = some_name,
    .ns_flux = some_name,
    .owner_managed = some_owner,
    .priority_class_exists = some_name,
    .runtime = some_runtime,
};

static inline void set_gates(bool flipped, bool webhooks) {
    for (int i = 0; i < SL_GATES; i++)
        settings.gates[i] = sl_feature_gate_default((enum sl_feature_gate)i) != flipped;
    memset(view.webhook, webhooks, sizeof(view.webhook));
    view.flux = webhooks;
    memset(settings.framework, 1, sizeof(settings.framework));
}

#endif
