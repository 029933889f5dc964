/* SPDX-License-Identifier: Apache-2.0 */
/* The default configuration, Kueue v0.19's with waitForPodsReady off; names of slices. */
#include "core/model/specs.h"

#include <string.h>

const struct sl_config sl_config_default = {
    .gates = SL_GATES_DEFAULT,
    .fair = {SL_FAIR_FINAL_SHARE, SL_FAIR_INITIAL_SHARE},
    .n_fair = 2,
    .afs_sampling = 5 * SL_MINUTE,
    .ready_timeout = 30 * SL_MINUTE,
    .recovery_timeout = 30 * SL_MINUTE,
    .backoff_base_s = 60,
    .backoff_max_s = 3600,
    .backoff_limit = -1,
};

const char *sl_slice_name(const char *ns, const char *key) {
    size_t n = strlen(ns);
    return strncmp(key, ns, n) == 0 && key[n] == '/' ? key + n + 1 : "";
}
