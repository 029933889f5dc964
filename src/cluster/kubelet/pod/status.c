/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a pod, as a kubelet reports it.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};

/* Of one that has not ended: Running once any of its own containers has been started. */
const char *klet_pod_phase(const struct klet_pod *p) {
    bool begun = false, waiting = false;

    if (p->ended)
        return p->phase;
    for (uint32_t i = 0; i < p->n_cs; i++) {
        const struct klet_container *c = &p->cs[i];
        if (c->role != ROLE_MAIN)
            continue;
        begun |= c->state == C_RUNNING || c->state == C_ENDED || c->last.is;
        waiting |= (c->state == C_WAITING || c->state == C_STARTING) && !c->last.is;
    }
    return phases[begun && !waiting];
}

static void put_id(struct sl_jw *j, const struct klet_container *c, uint32_t run) {
    sl_jw_strf(j, "containerID", "sluice://%s/%s/%u", c->pod->uid, c->name, run);
}

static void put_ending(struct sl_jw *j, const char *key, const struct klet_container *c,
                       const struct klet_ending *e) {
    sl_jw_object(j, key);
    sl_jw_object(j, "terminated");
    sl_jw_int(j, "exitCode", e->code);
    sl_jw_str(j, "reason", e->reason);
    if (e->message && *e->message)
        sl_jw_str(j, "message", e->message);
    if (e->started)
        sl_jw_time(j, "startedAt", e->started);
    else
        sl_jw_null(j, "startedAt");
    sl_jw_time(j, "finishedAt", e->finished);
    put_id(j, c, e->run);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_state(struct sl_jw *j, const struct klet_container *c) {
    if (c->state == C_ENDED) {
        put_ending(j, "state", c, &c->now);
    } else if (c->state == C_RUNNING) {
        sl_jw_object(j, "state");
        sl_jw_object(j, "running");
        sl_jw_time(j, "startedAt", c->started_wall);
        sl_jw_end(j);
        sl_jw_end(j);
    } else {
        sl_jw_object(j, "state");
        sl_jw_object(j, "waiting");
        sl_jw_str(j, "reason", c->waiting ? c->waiting : "ContainerCreating");
        if (c->message && *c->message)
            sl_jw_str(j, "message", c->message);
        sl_jw_end(j);
        sl_jw_end(j);
    }
    if (c->last.is)
        put_ending(j, "lastState", c, &c->last);
    else
        sl_jw_raw(j, "lastState", "{}");
}

static bool is_ready(const struct klet_container *c) {
    return c->state == C_RUNNING && !c->ending
               ? c->ready
               : c->role == ROLE_INIT && c->state == C_ENDED && c->now.code == 0;
}

static void put_container(struct sl_jw *j, const struct klet_container *c) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", c->name);
    put_state(j, c);
    sl_jw_bool(j, "ready", is_ready(c));
    sl_jw_uint(j, "restartCount", c->restarts);
    sl_jw_str(j, "image", c->image);
    sl_jw_str(j, "imageID", "");
    if (c->state == C_RUNNING || c->state == C_ENDED || c->last.is)
        put_id(j, c, c->restarts);
    sl_jw_bool(j, "started", c->state == C_RUNNING && c->up);
    sl_jw_end(j);
}

static void put_containers(struct sl_jw *j, const struct klet_pod *p, const char *key, bool init) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_cs; i++) {
        if ((p->cs[i].role != ROLE_MAIN) != init)
            continue;
        if (n++ == 0)
            sl_jw_array(j, key);
        put_container(j, &p->cs[i]);
    }
    if (n)
        sl_jw_end(j);
}

/* ---- conditions ---- */

/* "containers with unready status: [a b]"; returns how many. */
static uint32_t list(char *out, size_t size, const struct klet_pod *p, bool init,
                     const char *lead) {
    uint32_t n = 0;
    size_t at = (size_t)snprintf(out, size, "%s: [", lead);

    for (uint32_t i = 0; i < p->n_cs && at + 80 < size; i++) {
        const struct klet_container *c = &p->cs[i];
        const bool bad = init ? c->role == ROLE_INIT
                                    ? !(c->state == C_ENDED && c->now.code == 0)
                                    : c->role == ROLE_SIDECAR && !(c->state == C_RUNNING && c->up)
                              : c->role != ROLE_INIT && !is_ready(c);
        if (bad)
            at += (size_t)snprintf(out + at, size - at, "%s%.63s", n++ ? " " : "", c->name);
    }
    sl_fmt_short(out + at, size - at, "]");
    return n;
}

static void put_condition(struct sl_jw *j, struct klet_pod *p, int which, const char *type, bool is,
                          const char *reason, const char *message) {
    if (!p->conds[which].known || p->conds[which].is != is)
        p->conds[which].since = p->rt->client->wall;
    p->conds[which].known = true;
    p->conds[which].is = is;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", type);
    sl_jw_str(j, "status", is ? "True" : "False");
    sl_jw_int(j, "observedGeneration", p->generation);
    sl_jw_null(j, "lastProbeTime");
    sl_jw_time(j, "lastTransitionTime", p->conds[which].since);
    if (reason)
        sl_jw_str(j, "reason", reason);
    if (message)
        sl_jw_str(j, "message", message);
    sl_jw_end(j);
}

static void put_conditions(struct sl_jw *j, struct klet_pod *p) {
    char init[1024], ready[1024];
    const bool good = p->ended && strcmp(p->phase, "Succeeded") == 0;
    const char *over = !p->ended ? NULL : good ? "PodCompleted" : "PodFailed";
    const uint32_t n_init =
        p->inited || good ? 0
                          : list(init, sizeof init, p, true, "containers with incomplete status");
    const uint32_t n_ready = list(ready, sizeof ready, p, false, "containers with unready status");
    const bool ok = !over && n_ready == 0 && n_init == 0;
    const char *why = ok     ? NULL
                      : over ? over
                             : "ContainersNotReady",
               *words = ok || over ? NULL : ready;
    const char *gate = ok && !p->gates ? "ReadinessGatesNotReady" : why;

    sl_jw_array(j, "conditions");
    put_condition(j, p, COND_START, "PodReadyToStartContainers", !p->ended, NULL, NULL);
    put_condition(j, p, COND_INIT, "Initialized", n_init == 0,
                  n_init ? "ContainersNotInitialized"
                  : good ? over
                         : NULL,
                  n_init ? init : NULL);
    put_condition(j, p, COND_READY, "Ready", ok && p->gates, gate,
                  ok && !p->gates ? "the status of pod readiness gates is not \"True\"" : words);
    put_condition(j, p, COND_CONTAINERS, "ContainersReady", ok, why, words);
    sl_jw_items(j, p->foreign);
    sl_jw_end(j);
}

static void put_ip(struct sl_jw *j, const char *key, const char *list, const char *ip) {
    sl_jw_str(j, key, ip);
    sl_jw_array(j, list);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "ip", ip);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_addresses(struct sl_jw *j, const struct klet_pod *p) {
    const uint32_t n = p->slot;
    char own[64];

    if (p->local) { /* its processes are on the machine's own network */
        put_ip(j, "hostIP", "hostIPs", p->rt->address);
        sl_fmt(own, sizeof own, "%s", p->rt->address);
    } else {
        sl_fmt(own, sizeof own, "10.%u.%u.%u", 64 + (n >> 16) % 64, (n >> 8) & 255, n & 255);
    }
    put_ip(j, "podIP", "podIPs", own);
}

void klet_pod_status(struct klet_pod *p, struct sl_buf *b) {
    struct sl_jw *j = &SL_JW(b);

    sl_jw_object(j, NULL);
    sl_jw_str(j, "phase", klet_pod_phase(p));
    sl_jw_int(j, "observedGeneration", p->generation);
    put_conditions(j, p);
    if (p->ended && p->reason) {
        sl_jw_str(j, "reason", p->reason);
        sl_jw_str(j, "message", p->message);
    }
    put_addresses(j, p);
    if (p->start)
        sl_jw_time(j, "startTime", p->start);
    put_containers(j, p, "initContainerStatuses", true);
    put_containers(j, p, "containerStatuses", false);
    sl_jw_end(j);
}
