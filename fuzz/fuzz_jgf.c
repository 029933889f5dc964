/* SPDX-License-Identifier: Apache-2.0 */
/* JGF: as a graph, as growth of one, and as what a job has. */
#include "graphio_fz.h"

static const char base[] = "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-1\", "
                           "\"children\": {\"core\": \"0-1\", \"gpu\": \"0\"}}], \"nodelist\": "
                           "[\"node[0-1]\"]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_read(SL_GRAPHIO_JGF, data, size, NULL);
    fz_read(SL_GRAPHIO_JGF, data, size, "node,core");
    fz_against(SL_GRAPHIO_JGF, data, size, base);
    fz_against(SL_GRAPHIO_JGF_SHORTHAND, data, size, base);
    return 0;
}
