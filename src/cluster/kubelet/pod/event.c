/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events about pods, for `kubectl describe`: only failures, so that a pod that just runs costs no
 * more writes than its status. They are sent without retries, rate limited to EVENT_BURST at once
 * and then EVENTS_PER_SECOND; excess events are dropped.
 */
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "kube/informer/event.h"

static bool event_allowed(struct sl_kubelet *r) {
    const sl_span each = SL_SEC / EVENTS_PER_SECOND;
    const sl_time now = r->client->mono;

    if (r->event_at < now - EVENT_BURST * each)
        r->event_at = now - EVENT_BURST * each;
    if (r->event_at > now)
        return false;
    r->event_at += each;
    return true;
}

static void ignore_reply(void *ctx, const struct sl_kube_reply *rp) {
    (void)ctx;
    (void)rp;
}

void klet_container_event(struct klet_container *c, bool warning, const char *reason,
                          const char *note) {
    struct klet_pod *p = c->pod;
    struct sl_kubelet *r = p->rt;
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(RT_MAX_EVENT);
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(SL_WRITER_MAX_PATH);
    _cleanup_(sl_buf_done) struct sl_buf field = SL_BUF(SL_WRITER_MAX_PATH);
    char name[SL_EVENT_NAME];

    if (!event_allowed(r))
        return;
    sl_buf_printf(&field, "spec.%s{%s}", c->role == ROLE_MAIN ? "containers" : "initContainers",
                  c->name);
    struct sl_event e = {
        .at = r->client->wall,
        .controller = "kubelet",
        .instance = p->node,
        .warning = warning,
        .reason = reason,
        .action = "Running",
        .note = note,
        .of = {"v1", "Pod", p->ns, p->name, p->uid, sl_rec_version(p->version), sl_buf_str(&field)},
    };
    (void)sl_event_put(&body, &e, (uint64_t)r->client->wall + r->events++ % 1000, name);
    sl_rec_kind_path(&path, &sl_inf_event_kind, p->ns, NULL, NULL);
    bool cut = sl_buf_full(&body);
    cut |= sl_buf_full(&path); /* each has to be checked */
    cut |= sl_buf_full(&field);
    if (!cut)
        (void)sl_kube_request(r->client,
                              &(struct sl_kube_request){.method = SL_POST,
                                                        .path = sl_buf_str(&path),
                                                        .content_type = SL_JSON,
                                                        .body = body.s,
                                                        .len = body.len},
                              ignore_reply, NULL);
}
