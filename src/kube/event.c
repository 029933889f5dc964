/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/event.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "kube/json.h"

const char *sl_event_put(struct sl_buf *b, const struct sl_event *e, uint64_t unique,
                         char name[SL_EVENT_NAME]) {
    struct sl_buf note;

    sl_fmt(name, SL_EVENT_NAME, "%.200s.%016llx", e->of.name, (unsigned long long)unique);
    sl_buf_init(&note, SL_EVENT_NOTE);
    sl_buf_short(&note);
    if (strlen(e->note) > SL_EVENT_NOTE) {
        sl_buf_add(&note, e->note, SL_EVENT_NOTE - 4);
        sl_buf_puts(&note, " ...");
    } else {
        sl_buf_puts(&note, e->note);
    }
    sl_buf_puts(b, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\"");
    jput_text(b, ",\"metadata\":{\"name\":", name);
    jput_text(b, ",\"namespace\":", sl_event_ns(e));
    sl_buf_puts(b, "},\"eventTime\":");
    jput_micro_time(b, e->at);
    jput_text(b, ",\"reportingController\":", e->controller);
    jput_text(b, ",\"reportingInstance\":", e->instance);
    jput_text(b, ",\"action\":", e->action);
    jput_text(b, ",\"reason\":", e->reason);
    sl_buf_printf(b,
                  ",\"type\":\"%s\",\"regarding\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":",
                  e->warning ? "Warning" : "Normal", e->of.api_version, e->of.kind);
    sl_buf_json(b, e->of.name);
    if (*e->of.ns)
        jput_text(b, ",\"namespace\":", e->of.ns);
    jput_text(b, ",\"uid\":", e->of.uid);
    sl_buf_printf(b, ",\"resourceVersion\":\"%llu\"", (unsigned long long)e->of.rv);
    if (e->of.field_path)
        jput_text(b, ",\"fieldPath\":", e->of.field_path);
    jput_text(b, "},\"note\":", sl_buf_str(&note));
    sl_buf_puts(b, "}");
    sl_buf_done(&note);
    return name;
}

void sl_event_put_series(struct sl_buf *b, uint32_t count, sl_time last) {
    sl_buf_printf(b, "{\"series\":{\"count\":%u,\"lastObservedTime\":", count);
    jput_micro_time(b, last);
    sl_buf_puts(b, "}}");
}
