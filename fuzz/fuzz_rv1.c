/* SPDX-License-Identifier: Apache-2.0 */
/* R, version 1: as a graph, as growth of one, and as what a job has. */
#include "graphio_fz.h"

static const char base[] = "{\"version\": 1, \"execution\": {\"R_lite\": [{\"rank\": \"0-3\", "
                           "\"children\": {\"core\": \"0-3\", \"gpu\": \"0\"}}], \"nodelist\": "
                           "[\"node[0-3]\"]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_read(SL_GRAPHIO_RV1EXEC, data, size, NULL);
    fz_read(SL_GRAPHIO_RV1EXEC_FORCE, data, size, "core");
    fz_against(SL_GRAPHIO_RV1EXEC, data, size, base);
    fz_against(SL_GRAPHIO_RV1EXEC_FORCE, data, size, base);
    return 0;
}
