/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as WebSocket frames: channels, and SPDY in a tunnel. */
#include "streams_fz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    both(SL_STREAMS_CHANNELS, data, size);
    both(SL_STREAMS_TUNNEL, data, size);
    return 0;
}
