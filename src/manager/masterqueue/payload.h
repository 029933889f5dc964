/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a resource pool publishes: its quotas, labels and taints, as JSON.
 *
 *     {"quotas":{"cpu":"85","memory":"1Ti","pods":123,"nvidia.com/gpu":28},
 *      "labels":["site=firenze"],"taints":["slurm=true:NoSchedule"]}
 *
 * Anybody who may publish on the subject can write anything here, so every list and text has a
 * ceiling, and a payload is taken as a whole or not at all: a quota that cannot be read, a text
 * that is too long, a name that stands there twice. Labels and taints that Kubernetes would not
 * take are left out, and reported. Providers from before 2025 sent the quotas without the object
 * around them; that is read, too. Pure: bytes in, a record out.
 */
#ifndef SL_MANAGER_MASTERQUEUE_PAYLOAD_H
#define SL_MANAGER_MASTERQUEUE_PAYLOAD_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/quantity.h"

#define SL_POOL_MAX_RESOURCES 32u
#define SL_POOL_MAX_LABELS 64u
#define SL_POOL_MAX_TAINTS 7u /* a ResourceFlavor has 8, and one is ours */
/* That one. A pool that publishes it, too, says nothing new. */
#define SL_POOL_NODE_TAINT "virtual-node.interlink/no-schedule"
#define SL_POOL_MAX_BYTES ((size_t)64 << 10)

struct sl_pool_quota {
    const char *resource;
    const char *text; /* as it was published: "1Ti", "123" */
    sl_quantity amount;
};

struct sl_pool_label {
    const char *key, *value;
};

struct sl_pool_taint {
    const char *key, *value, *effect;
};

/* Quotas and labels in the order of their names, taints in that of the payload. */
struct sl_pool_payload {
    struct sl_pool_quota quotas[SL_POOL_MAX_RESOURCES];
    struct sl_pool_label labels[SL_POOL_MAX_LABELS];
    struct sl_pool_taint taints[SL_POOL_MAX_TAINTS];
    uint32_t n_quotas, n_labels, n_taints;
    uint32_t n_left_out;  /* labels and taints that are no such */
    const char *left_out; /* the first of them, and why; NULL: none */
};

/* Texts are the arena's. */
int sl_pool_payload_read(const char *data, size_t len, struct sl_arena *a,
                         struct sl_pool_payload *ret, struct sl_err *err) _must_check_;
/* As a provider sends it; reads back as the same. */
void sl_pool_payload_print(const struct sl_pool_payload *p, struct sl_buf *out);
/* The same amounts, labels and taints? How they are spelled does not count. */
bool sl_pool_payload_same(const struct sl_pool_payload *a, const struct sl_pool_payload *b);
/* NULL: it has none of the resource. */
const struct sl_pool_quota *sl_pool_payload_quota(const struct sl_pool_payload *p,
                                                  const char *resource);

#endif
