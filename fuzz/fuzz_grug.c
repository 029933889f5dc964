/* SPDX-License-Identifier: Apache-2.0 */
/* GRUG recipes. */
#include "graphio_fz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_read(SL_GRAPHIO_GRUG, data, size, NULL);
    fz_read(SL_GRAPHIO_GRUG, data, size, "node,core");
    return 0;
}
