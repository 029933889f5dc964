/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load generator files: whatever is refused says where and why; whatever is taken can be simulated,
 * ends, loses no workload and leaves the engine's state whole.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/load/load.h"
#include "cmd/sim/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than this is legal and only slow. */
#define MAX_WORKLOADS 300
#define MAX_FACTS 200

static void simulate(struct sl_load *l) {
    struct sl_report r;
    struct sl_err err = {0};
    struct sl_sim_source source;
    sl_report_init(&r, "in", true);
    if (sl_load_begin(l, &r.world, &source, &err) >= 0) {
        struct sl_sim sim;
        struct sl_sim_options o = {
            .origin = SL_SIM_EPOCH,
            .eviction_delay = l->eviction_delay,
            .pods_ready = l->pods_ready,
            .until = 1000 * SL_HOUR,
        };
        r.world.check = true;
        sl_sim_init(&sim, &r.world, &source, &o);
        int code = sl_sim_run(&sim, &err);
        sl_assert(code >= 0);
        sl_report_end(&r, sim.now);
        sl_assert(r.result.finished <= r.result.arrived && r.result.arrived <= l->total);
        struct sl_buf b;
        sl_buf_init(&b, SL_REPORT_MAX_BYTES);
        sl_report_json(&r, &b);
        sl_assert(b.len > 0 && !sl_buf_full(&b));
        sl_buf_done(&b);
        sl_sim_done(&sim);
    } else {
        sl_assert(err.code < 0 && err.text[0]);
    }
    sl_load_end(l, &r.world);
    sl_report_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_doc *d = NULL;
    struct sl_load *l = NULL;
    struct sl_err err = {0};
    if (sl_doc_yaml("in", (const char *)data, size, &d, &err) < 0)
        return 0;
    int code = sl_load_decode(d, &l, &err);
    if (code < 0) {
        sl_assert(err.code == code && strncmp(err.text, "in:", 3) == 0);
        sl_doc_free(d);
        return 0;
    }
    if (l->total <= MAX_WORKLOADS && l->facts.n <= MAX_FACTS)
        simulate(l);
    sl_load_free(l);
    return 0;
}
