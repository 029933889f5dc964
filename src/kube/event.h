/*
 * The body of an event (events.k8s.io/v1). A note that is too long is cut.
 */
#ifndef SL_KUBE_EVENT_H
#define SL_KUBE_EVENT_H

#include "base/buf.h"
#include "base/time.h"

#define SL_EVENT_NOTE 1024u
#define SL_EVENT_BODY 8192u
#define SL_EVENT_NAME 256

struct sl_event {
    sl_time at; /* wall */
    const char *controller, *instance;
    bool warning;
    const char *reason, *action;
    const char *note;
    struct {
        const char *api_version, *kind, *ns, *name, *uid; /* ns "": it has none */
        uint64_t rv;
    } of;
};

/* The name "<of>.<sixteen digits>", where 'unique' tells it from all others; returns name. Appends
 * the body to b. */
const char *sl_event_put(struct sl_buf *b, const struct sl_event *e, uint64_t unique,
                         char name[SL_EVENT_NAME]);
/* The namespace it belongs into. */
static inline const char *sl_event_ns(const struct sl_event *e) {
    return *e->of.ns ? e->of.ns : "default";
}

#endif
