/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a program that runs histories from seeds, and what it prints at the end. */
#ifndef SL_TESTS_CLUSTER_CONTROLLERS_SEEDS_H
#define SL_TESTS_CLUSTER_CONTROLLERS_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"

struct seeds {
    uint64_t n, bad;
};

/* --seeds N, --first N, --verbose; 'n' without options. */
static inline struct seeds seeds_run(int argc, char **argv, uint64_t n,
                                     bool (*history)(uint64_t seed, bool verbose)) {
    struct seeds all = {.n = n};
    uint64_t first = 1;
    bool verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            all.n = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
    }
    for (uint64_t s = first; s < first + all.n; s++) {
        seed_key(s);
        all.bad += !history(s, verbose);
    }
    return all;
}

static inline void seeds_report(const struct seeds *all) {
    (void)printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(all->n - all->bad),
                 (unsigned long long)all->bad);
}

#endif
