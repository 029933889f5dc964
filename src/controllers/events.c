/*
 * Events (events.k8s.io/v1). Each is written once, in the lane that waits for all others; when too many wait, new ones
 * are dropped and counted: they tell people what happened, nothing depends on them.
 */
#include "controllers/rec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "controllers/kinds.h"

#define MAX_WAITING 20000u
#define MAX_NOTE 1024u
#define MAX_BODY 8192u

void event(struct sl_manager *m, const struct rec *r, const char *controller, bool warning, const char *reason,
           const char *fmt, ...) {
    struct sl_buf note, b;
    va_list args;
    char text[4 * MAX_NOTE];

    if (!m->leads)
        return;
    if (m->n_events >= MAX_WAITING) {
        sl_metric_add(m->spec.metrics, SL_M_EVENT_QUEUE_DROPS_TOTAL, 1);
        return;
    }
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    sl_buf_init(&note, MAX_NOTE);
    if (strlen(text) > MAX_NOTE) {
        sl_buf_add(&note, text, MAX_NOTE - 4);
        sl_buf_puts(&note, " ...");
    } else {
        sl_buf_puts(&note, text);
    }
    const struct kind *k = &kinds[r->kind];
    const char *ns = k->namespaced ? str(m, r->ns) : "default";
    sl_time now = m->spec.port->wall;
    uint64_t unique = sl_hash_u64(sl_hash_str((uint64_t)now, r->uid), m->serial++);

    sl_buf_init(&b, MAX_BODY);
    sl_buf_puts(&b, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"");
    sl_buf_printf(&b, "%.200s.%016llx\",\"namespace\":", r->name, (unsigned long long)unique);
    sl_buf_json(&b, ns);
    sl_buf_puts(&b, "},\"eventTime\":");
    jput_micro_time(&b, now);
    sl_buf_puts(&b, ",\"reportingController\":");
    sl_buf_json(&b, controller);
    sl_buf_puts(&b, ",\"reportingInstance\":");
    sl_buf_json(&b, m->spec.instance && *m->spec.instance ? m->spec.instance : "sluice");
    sl_buf_puts(&b, ",\"action\":");
    sl_buf_json(&b, reason);
    sl_buf_puts(&b, ",\"reason\":");
    sl_buf_json(&b, reason);
    sl_buf_printf(&b, ",\"type\":\"%s\",\"regarding\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":",
                  warning ? "Warning" : "Normal", k->api_version, k->kind);
    sl_buf_json(&b, r->name);
    if (k->namespaced) {
        sl_buf_puts(&b, ",\"namespace\":");
        sl_buf_json(&b, ns);
    }
    sl_buf_puts(&b, ",\"uid\":");
    sl_buf_json(&b, r->uid);
    sl_buf_printf(&b, ",\"resourceVersion\":\"%llu\"},\"note\":", (unsigned long long)r->rv);
    sl_buf_json(&b, sl_buf_str(&note));
    sl_buf_puts(&b, "}");

    struct rec_event *e = (struct rec_event *)(void *)rec_new(m, REC_EVENT, NULL, NULL);
    e->rec.ns = sl_sym_put(&m->syms, ns);
    e->body = sl_strdup(sl_buf_str(&b));
    m->n_events++;
    rec_want(m, &e->rec);
    sl_buf_done(&b);
    sl_buf_done(&note);
}

bool event_build(struct sl_manager *m, struct rec *r, struct sl_write *w) {
    const struct rec_event *e = (const struct rec_event *)(const void *)r;
    write_create(m, REC_EVENT, str(m, r->ns), w);
    sl_buf_puts(&w->body, e->body);
    return true;
}

void event_written(struct sl_manager *m, struct rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_reply *reply) {
    (void)w, (void)reply;
    if (how == SL_WRITE_FAILED)
        return; /* tried again */
    m->n_events--;
    rec_forget(m, r);
}

void event_done(struct rec *r) {
    struct rec_event *e = (struct rec_event *)(void *)r;
    sl_freep(&e->body);
}
