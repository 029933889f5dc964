/*
 * Which path the first byte of an input of fuzz_review stands for. The same inputs are what the
 * test of the time of a review begins with.
 */
#ifndef SL_FUZZ_REVIEW_PATHS_H
#define SL_FUZZ_REVIEW_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    };
    return paths[(first & 0x7f) % (sizeof(paths) / sizeof(paths[0]))];
}

/* Are gates turned round, and webhooks off? */
static inline bool review_flipped(uint8_t first) {
    return first > 0x7f;
}

#endif
