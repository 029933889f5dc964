/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec that a supervisor is started with. Whatever is taken for one is whole, and written again
 * it is the same bytes.
 */
#include <string.h>

#include "cluster/kubelet/process/supervisor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_buf again = SL_BUF(SPEC_MAX_BYTES);
    struct klet_supervisor_spec s;
    struct klet_launch l;

    if (klet_spec_decode((const char *)data, size, &s, &l, NULL) == 0) {
        sl_assert(klet_spec_encode(&s, &l, &again, NULL) == 0);
        sl_assert(again.len == size && memcmp(again.s, data, size) == 0);
    }
    klet_launch_done(&l);
    sl_buf_done(&again);
    return 0;
}
