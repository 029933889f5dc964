/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port before another one: it counts the processor time of whoever is behind it, in callbacks
 * and in turns, and the bytes that are exchanged. What the API itself takes does not count.
 */
#ifndef SL_TESTS_DECODE_METER_H
#define SL_TESTS_DECODE_METER_H

#include "core/base/collection/vec.h"
#include "kube/client/port.h"

struct meter_call;

struct meter {
    struct sl_kube_client client; /* to be given to whoever is measured */
    struct sl_kube_client *inner;
    SL_VEC(struct meter_call *) calls;
    int64_t us;    /* so far */
    size_t bytes;  /* of answers, lines and bodies */
    size_t writes; /* requests with a body */
    int64_t since; /* while it counts; else 0 */
};

void meter_init(struct meter *m, struct sl_kube_client *inner);
void meter_done(struct meter *m);
/* Around a turn of the one that is measured. */
void meter_enter(struct meter *m);
void meter_leave(struct meter *m);
int64_t meter_cpu_us(void);

#endif
