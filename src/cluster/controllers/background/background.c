/* SPDX-License-Identifier: Apache-2.0 */
/* Background tasks: see background.h. */
#include "cluster/controllers/background/background.h"

static void start(struct sl_cluster *c) {
    c->errands = sl_alloc0(1, sizeof *c->errands);
}

static void turn(struct sl_cluster *c) {
    cl_bootstrap_turn(c);
    cl_sweep_turn(c);
    cl_strays_turn(c);
}

static sl_time next(const struct sl_cluster *c) {
    const struct errands *e = c->errands;
    sl_time at = SL_TIME_NEVER, v[] = {
                                    e->bootstrap.call.v ? SL_TIME_NEVER : e->bootstrap.due,
                                    e->sweep.call.v    ? SL_TIME_NEVER
                                    : e->sweep.stale.n ? c->port->mono
                                                       : e->sweep.due,
                                    e->strays.call.v   ? SL_TIME_NEVER
                                    : e->strays.pods.n ? c->port->mono
                                                       : e->strays.due,
                                };

    for (size_t i = 0; i < SL_LEN(v) && c->inf->ready; i++)
        at = v[i] < at ? v[i] : at;
    return at;
}

static void stop(struct sl_cluster *c) {
    sl_port_cancel(c->port, c->errands->bootstrap.call);
    cl_sweep_stop(c);
    cl_strays_stop(c);
    sl_freep(&c->errands);
}

const struct part cl_errands_part = {start, turn, next, NULL, stop};
