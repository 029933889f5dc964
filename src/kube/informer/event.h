/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an event (events.k8s.io/v1). A note that is too long is cut. A repetition within
 * SL_EVENT_SERIES_LIFE is no new event but counts in the series of the first.
 */
#ifndef SL_KUBE_INFORMER_EVENT_H
#define SL_KUBE_INFORMER_EVENT_H

#include "core/base/buf.h"
#include "core/base/time.h"

#define SL_EVENT_NOTE 1024u
#define SL_EVENT_BODY 8192u
#define SL_EVENT_NAME 256
#define SL_EVENT_MAX_WAITING 4096u /* to be written; beyond, new ones are dropped */
#define SL_EVENT_SERIES_LIFE (6 * SL_MINUTE)
#define SL_EVENT_SERIES_PAUSE (10 * SL_SEC) /* between two writes of a series */

struct sl_event {
    sl_time at; /* wall */
    const char *controller, *instance;
    bool warning;
    const char *reason, *action;
    const char *note;
    struct {
        const char *api_version, *kind, *ns, *name, *uid; /* ns "": it has none */
        uint64_t rv;
        const char *field_path; /* the part of it that is meant; NULL: all */
    } of;
};

/* The name "<of>.<sixteen digits>", where 'unique' distinguishes it from others; returns name.
 * Appends the body to b. */
const char *sl_event_put(struct sl_buf *b, const struct sl_event *e, uint64_t unique,
                         char name[SL_EVENT_NAME]);
/* The merge patch of a repetition: it happened 'count' times, the last time at 'last'. */
void sl_event_put_series(struct sl_buf *b, uint32_t count, sl_time last);
/* The namespace it belongs into. */
static inline const char *sl_event_ns(const struct sl_event *e) {
    return *e->of.ns ? e->of.ns : "default";
}

#endif
