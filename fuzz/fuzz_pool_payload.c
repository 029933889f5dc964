/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a resource pool publishes: what is refused has a reason and changes nothing;
 * what is taken is within the ceilings and in order, and reads back from what is printed of it as
 * the same.
 */
#include <string.h>

#include "manager/masterqueue/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_order(const struct sl_pool_payload *p) {
    sl_assert(p->n_quotas <= SL_POOL_MAX_RESOURCES && p->n_labels <= SL_POOL_MAX_LABELS &&
              p->n_taints <= SL_POOL_MAX_TAINTS);
    sl_assert((p->n_left_out > 0) == (p->left_out != NULL));
    for (uint32_t i = 0; i < p->n_quotas; i++) {
        sl_assert(p->quotas[i].amount >= 0 && p->quotas[i].amount <= SL_QUANTITY_MAX);
        sl_assert(sl_pool_payload_quota(p, p->quotas[i].resource) == &p->quotas[i]);
        sl_assert(i == 0 || strcmp(p->quotas[i - 1].resource, p->quotas[i].resource) < 0);
    }
    for (uint32_t i = 1; i < p->n_labels; i++)
        sl_assert(strcmp(p->labels[i - 1].key, p->labels[i].key) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)4 << 20);
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(SL_POOL_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf twice = SL_BUF(SL_POOL_MAX_BYTES);
    struct sl_pool_payload p = {.n_quotas = UINT32_MAX}, again;
    struct sl_err err = {0};

    if (sl_pool_payload_read((const char *)data, size, &a, &p, &err) < 0) {
        sl_assert(err.code < 0 && err.text[0] != '\0' && p.n_quotas == UINT32_MAX);
        return 0;
    }
    check_order(&p);
    sl_pool_payload_print(&p, &out);
    sl_assert(!sl_buf_full(&out));
    sl_assert(sl_pool_payload_read(out.s, out.len, &a, &again, &err) == 0);
    sl_assert(sl_pool_payload_same(&p, &again) && again.n_left_out == 0);
    sl_pool_payload_print(&again, &twice);
    sl_assert(!sl_buf_full(&twice) && strcmp(sl_buf_str(&out), sl_buf_str(&twice)) == 0);
    return 0;
}
