/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events about pods, for whoever asks `kubectl describe` why one does not run: only what goes
 * wrong, so that a pod that just runs costs no more writes than its status. They are sent and
 * forgotten, EVENT_BURST at once and then EVENTS_PER_SECOND; of more, the rest is dropped.
 */
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "runtime/runtime_int.h"

static bool may_say(struct sl_runtime *r) {
    const sl_span each = SL_SEC / EVENTS_PER_SECOND;
    const sl_time now = r->port->mono;

    if (r->event_at < now - EVENT_BURST * each)
        r->event_at = now - EVENT_BURST * each;
    if (r->event_at > now)
        return false;
    r->event_at += each;
    return true;
}

static void forget(void *ctx, const struct sl_reply *rp) {
    (void)ctx;
    (void)rp;
}

void container_event(struct container *c, bool warning, const char *reason, const char *note) {
    struct pod *p = c->pod;
    struct sl_runtime *r = p->rt;
    struct sl_buf b;
    char path[400], words[RT_MAX_NOTE];

    if (!may_say(r))
        return;
    sl_fmt_short(words, sizeof words, "%s", note);
    sl_fmt(path, sizeof path, "/apis/events.k8s.io/v1/namespaces/%.300s/events", p->ns);
    sl_buf_init(&b, RT_MAX_EVENT);
    sl_buf_printf(
        &b,
        "{\"apiVersion\":\"events.k8s.io/"
        "v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"%.200s.%llx\",\"namespace\":\"%s\"}",
        p->name, (unsigned long long)r->port->wall + r->events++ % 1000, p->ns);
    sl_buf_puts(&b, ",\"eventTime\":");
    jput_micro_time(&b, r->port->wall);
    jput_text(&b,
              ",\"reportingController\":\"kubelet\",\"action\":\"Running\",\"reportingInstance\":",
              p->node);
    jput_text(&b, ",\"reason\":", reason);
    jput_text(&b, ",\"note\":", words);
    sl_buf_printf(&b, ",\"type\":\"%s\",\"regarding\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"",
                  warning ? "Warning" : "Normal");
    jput_text(&b, ",\"namespace\":", p->ns);
    jput_text(&b, ",\"name\":", p->name);
    jput_text(&b, ",\"uid\":", p->uid);
    sl_buf_printf(&b, ",\"fieldPath\":\"spec.%s{%s}\"}}",
                  c->role == ROLE_MAIN ? "containers" : "initContainers", c->name);
    if (!sl_buf_full(&b))
        (void)sl_port_request(r->port,
                              &(struct sl_request_line){.method = SL_POST,
                                                        .path = path,
                                                        .content_type = SL_JSON,
                                                        .body = b.s,
                                                        .len = b.len},
                              forget, NULL);
    sl_buf_done(&b);
}
