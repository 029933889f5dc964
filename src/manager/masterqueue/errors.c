/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of a pool, one of each kind. The first of a kind is shown until there has been none of
 * that kind for a while: a pool that sends good and bad messages in turns would otherwise change
 * the status with each. One kind does not prolong another, nor hide it: what is shown is what is
 * the matter now, whatever came first.
 */
#include <stdarg.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"
#include "manager/masterqueue/mq_int.h"

#define MAX_ERROR 400u

/* Of the events. */
static const char *const reasons[MQ_ERRORS] = {
    [MQ_ERROR_MESSAGE] = "PoolMessageRefused",
    [MQ_ERROR_LEFT_OUT] = "PoolMessageRefused",
    [MQ_ERROR_REFUSED] = "PoolRefused",
};

void mq_pool_set_error(struct sl_masterqueues *m, struct mq *q, struct mq_pool *p,
                       enum mq_error_kind kind, const char *fmt, ...) {
    char text[MAX_ERROR];
    va_list ap;
    p->errors[kind].at = m->client->mono;
    if (p->errors[kind].text)
        return;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    p->errors[kind].text = sl_strdup(text);
    sl_log(SL_LOG_WARN, "resource pool has an error", SL_S("masterqueue", q->rec.name),
           SL_S("pool", p->name), SL_S("error", text));
    sl_rec_event(&q->rec, MQ_CONTROLLER, true, reasons[kind], "Pool %s: %s", p->name, text);
    sl_rec_enqueue(&q->rec);
}

bool mq_pool_has_error(const struct mq_pool *p) {
    for (uint32_t i = 0; i < MQ_ERRORS; i++)
        if (p->errors[i].text)
            return true;
    return false;
}

sl_time mq_pool_age_errors(const struct sl_masterqueues *m, struct mq_pool *p) {
    sl_time next = SL_TIME_NEVER;
    for (uint32_t i = 0; i < MQ_ERRORS; i++) {
        sl_time gone = sl_time_add(p->errors[i].at, MQ_ERROR_LIFE);
        if (!p->errors[i].text)
            continue;
        if (m->client->mono >= gone)
            sl_freep(&p->errors[i].text);
        else
            next = sl_time_min(next, gone);
    }
    return next;
}

void mq_pool_put_errors(const struct mq_pool *p, struct sl_buf *out) {
    for (uint32_t i = 0; i < MQ_ERRORS; i++)
        if (p->errors[i].text)
            sl_buf_printf(out, "%s%s", out->len ? "; " : "", p->errors[i].text);
}

void mq_pool_free_errors(struct mq_pool *p) {
    for (uint32_t i = 0; i < MQ_ERRORS; i++)
        sl_freep(&p->errors[i].text);
}
