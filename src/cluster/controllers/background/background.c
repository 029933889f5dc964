/* SPDX-License-Identifier: Apache-2.0 */
/* Background tasks: see background.h. */
#include "cluster/controllers/background/background.h"

static void background_start(struct sl_cluster *c) {
    c->background = sl_alloc0(1, sizeof *c->background);
}

static void background_turn(struct sl_cluster *c) {
    cl_bootstrap_turn(c);
    cl_event_expiry_turn(c);
    if (cl_on(c, CL_POD_GARBAGE))
        cl_pod_gc_turn(c);
}

static sl_time background_next(const struct sl_cluster *c) {
    const struct cl_background *e = c->background;
    sl_time at = SL_TIME_NEVER, v[] = {
                                    e->bootstrap.call.v ? SL_TIME_NEVER : e->bootstrap.due,
                                    e->event_expiry.call.v    ? SL_TIME_NEVER
                                    : e->event_expiry.stale.n ? c->client->mono
                                                              : e->event_expiry.due,
                                    e->pod_gc.call.v || !cl_on(c, CL_POD_GARBAGE) ? SL_TIME_NEVER
                                    : e->pod_gc.pods.n                            ? c->client->mono
                                                                                  : e->pod_gc.due,
                                };

    for (size_t i = 0; i < SL_LEN(v) && c->inf->ready; i++)
        at = v[i] < at ? v[i] : at;
    return at;
}

static void background_stop(struct sl_cluster *c) {
    sl_kube_cancel(c->client, c->background->bootstrap.call);
    cl_event_expiry_stop(c);
    cl_pod_gc_stop(c);
    sl_freep(&c->background);
}

const struct cl_part cl_background_part = {background_start, background_turn, background_next, NULL,
                                           background_stop};
