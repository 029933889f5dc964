/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: any bytes are read or refused with a place and a reason, and what was read can be
 * run. */
#include <stdlib.h>

#include "cmd/sim/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_scenarios *set = NULL;
    struct sl_buf why;

    sl_buf_init(&why, 4096);
    if (sl_scenarios_read("fuzz", (const char *)data, size, &set, &why) < 0) {
        if (*sl_buf_str(&why) == '\0')
            abort(); /* a refusal has a reason */
    } else {
        for (uint32_t i = 0; i < set->n; i++) {
            struct sl_buf out;
            sl_buf_init(&out, SL_SCENARIO_OUT_BYTES);
            if (sl_scenario_run(&set->v[i], NULL, false, &out) == SL_SCENARIO_FAILED &&
                *sl_buf_str(&out) == '\0')
                abort(); /* so does a failure */
            sl_buf_done(&out);
        }
        sl_scenarios_free(set);
    }
    sl_buf_done(&why);
    return 0;
}
