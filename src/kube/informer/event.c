/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/informer/event.h"

#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/writer.h"

const char *sl_event_put(struct sl_buf *b, const struct sl_event *e, uint64_t unique,
                         char name[SL_EVENT_NAME]) {
    sl_fmt(name, SL_EVENT_NAME, "%.*s.%016llx", sl_fmt_cut(e->of.name, 200, ".-"), e->of.name,
           (unsigned long long)unique);
    _cleanup_(sl_buf_done) struct sl_buf note = SL_BUF_SHORT(SL_EVENT_NOTE);
    if (strlen(e->note) > SL_EVENT_NOTE) {
        sl_buf_add(&note, e->note, SL_EVENT_NOTE - 4);
        sl_buf_puts(&note, " ...");
    } else {
        sl_buf_puts(&note, e->note);
    }
    struct sl_jw *w = &SL_JW(b);
    sl_jw_object(w, NULL);
    sl_jw_str(w, "apiVersion", "events.k8s.io/v1");
    sl_jw_str(w, "kind", "Event");
    sl_jw_object(w, "metadata");
    sl_jw_str(w, "name", name);
    sl_jw_str(w, "namespace", sl_event_ns(e));
    sl_jw_end(w);
    sl_jw_micro_time(w, "eventTime", e->at);
    sl_jw_str(w, "reportingController", e->controller);
    sl_jw_str(w, "reportingInstance", e->instance);
    sl_jw_str(w, "action", e->action);
    sl_jw_str(w, "reason", e->reason);
    sl_jw_str(w, "type", e->warning ? "Warning" : "Normal");
    sl_jw_object(w, "regarding");
    sl_jw_str(w, "apiVersion", e->of.api_version);
    sl_jw_str(w, "kind", e->of.kind);
    sl_jw_str(w, "name", e->of.name);
    if (*e->of.ns)
        sl_jw_str(w, "namespace", e->of.ns);
    sl_jw_str(w, "uid", e->of.uid);
    sl_jw_strf(w, "resourceVersion", "%llu", (unsigned long long)e->of.rv);
    if (e->of.field_path)
        sl_jw_str(w, "fieldPath", e->of.field_path);
    sl_jw_end(w);
    sl_jw_str(w, "note", sl_buf_str(&note));
    sl_jw_end(w);
    return name;
}

void sl_event_put_series(struct sl_buf *b, uint32_t count, sl_time last) {
    struct sl_jw *w = &SL_JW(b);

    sl_jw_object(w, NULL);
    sl_jw_object(w, "series");
    sl_jw_uint(w, "count", count);
    sl_jw_micro_time(w, "lastObservedTime", last);
    sl_jw_end_to(w, 0);
}
