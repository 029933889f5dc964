/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as SPDY/3.1. */
#include "streams_fz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    both(SL_STREAMS_SPDY, data, size);
    return 0;
}
