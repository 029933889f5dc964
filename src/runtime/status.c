/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a pod, as a kubelet reports it.
 */
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/hash.h"
#include "runtime/runtime_int.h"

static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};

/* Of one that has not ended: Running once any of its own containers has been started. */
const char *pod_phase(const struct pod *p) {
    bool begun = false, waiting = false;

    if (p->ended)
        return p->phase;
    for (uint32_t i = 0; i < p->n_cs; i++) {
        const struct container *c = &p->cs[i];
        if (c->role != ROLE_MAIN)
            continue;
        begun |= c->state == C_RUNNING || c->state == C_ENDED || c->last.is;
        waiting |= (c->state == C_WAITING || c->state == C_STARTING) && !c->last.is;
    }
    return phases[begun && !waiting];
}

static void put_ending(struct sl_buf *b, const struct container *c, const struct ending *e) {
    sl_buf_printf(b, "{\"terminated\":{\"exitCode\":%d", e->code);
    jput_text(b, ",\"reason\":", e->reason);
    if (e->message && *e->message)
        jput_text(b, ",\"message\":", e->message);
    sl_buf_puts(b, ",\"startedAt\":");
    if (e->started)
        jput_time(b, e->started);
    else
        sl_buf_puts(b, "null");
    sl_buf_puts(b, ",\"finishedAt\":");
    jput_time(b, e->finished);
    sl_buf_printf(b, ",\"containerID\":\"sluice://%s/%s/%u\"}}", c->pod->uid, c->name, e->run);
}

static void put_state(struct sl_buf *b, const struct container *c) {
    sl_buf_puts(b, "\"state\":");
    if (c->state == C_ENDED) {
        put_ending(b, c, &c->now);
    } else if (c->state == C_RUNNING) {
        sl_buf_puts(b, "{\"running\":{\"startedAt\":");
        jput_time(b, c->started_wall);
        sl_buf_puts(b, "}}");
    } else {
        sl_buf_puts(b, "{\"waiting\":{");
        jput_text(b, "\"reason\":", c->waiting ? c->waiting : "ContainerCreating");
        if (c->message && *c->message)
            jput_text(b, ",\"message\":", c->message);
        sl_buf_puts(b, "}}");
    }
    sl_buf_puts(b, ",\"lastState\":");
    if (c->last.is)
        put_ending(b, c, &c->last);
    else
        sl_buf_puts(b, "{}");
}

static bool is_ready(const struct container *c) {
    return c->state == C_RUNNING && !c->ending
               ? c->ready
               : c->role == ROLE_INIT && c->state == C_ENDED && c->now.code == 0;
}

static void put_container(struct sl_buf *b, const struct container *c) {
    const bool ran = c->state == C_RUNNING || c->state == C_ENDED || c->last.is;

    jput_text(b, "{\"name\":", c->name);
    sl_buf_putc(b, ',');
    put_state(b, c);
    sl_buf_printf(b, ",\"ready\":%s,\"restartCount\":%u", is_ready(c) ? "true" : "false",
                  c->restarts);
    jput_text(b, ",\"image\":", c->image);
    sl_buf_puts(b, ",\"imageID\":\"\"");
    if (ran)
        sl_buf_printf(b, ",\"containerID\":\"sluice://%s/%s/%u\"", c->pod->uid, c->name,
                      c->restarts);
    sl_buf_printf(b, ",\"started\":%s}", c->state == C_RUNNING && c->up ? "true" : "false");
}

static void put_containers(struct sl_buf *b, const struct pod *p, bool init) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_cs; i++) {
        if ((p->cs[i].role != ROLE_MAIN) != init)
            continue;
        sl_buf_puts(b, n++    ? ","
                       : init ? ",\"initContainerStatuses\":["
                              : ",\"containerStatuses\":[");
        put_container(b, &p->cs[i]);
    }
    if (n)
        sl_buf_putc(b, ']');
}

/* ---- conditions ---- */

/* "containers with unready status: [a b]"; returns how many. */
static uint32_t list(char *out, size_t room, const struct pod *p, bool init, const char *lead) {
    uint32_t n = 0;
    size_t at = (size_t)snprintf(out, room, "%s: [", lead);

    for (uint32_t i = 0; i < p->n_cs && at + 80 < room; i++) {
        const struct container *c = &p->cs[i];
        const bool bad = init ? c->role == ROLE_INIT
                                    ? !(c->state == C_ENDED && c->now.code == 0)
                                    : c->role == ROLE_SIDECAR && !(c->state == C_RUNNING && c->up)
                              : c->role != ROLE_INIT && !is_ready(c);
        if (bad)
            at += (size_t)snprintf(out + at, room - at, "%s%.63s", n++ ? " " : "", c->name);
    }
    sl_fmt_short(out + at, room - at, "]");
    return n;
}

static void put_condition(struct sl_buf *b, struct pod *p, int which, const char *type, bool is,
                          const char *reason, const char *message) {
    if (!p->conds[which].known || p->conds[which].is != is)
        p->conds[which].since = p->rt->port->wall;
    p->conds[which].known = true;
    p->conds[which].is = is;
    sl_buf_printf(
        b, "{\"type\":\"%s\",\"status\":\"%s\",\"observedGeneration\":%lld,\"lastProbeTime\":null",
        type, is ? "True" : "False", (long long)p->generation);
    sl_buf_puts(b, ",\"lastTransitionTime\":");
    jput_time(b, p->conds[which].since);
    if (reason)
        jput_text(b, ",\"reason\":", reason);
    if (message)
        jput_text(b, ",\"message\":", message);
    sl_buf_putc(b, '}');
}

static void put_conditions(struct sl_buf *b, struct pod *p) {
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

    sl_buf_puts(b, ",\"conditions\":[");
    put_condition(b, p, COND_START, "PodReadyToStartContainers", !p->ended, NULL, NULL);
    sl_buf_putc(b, ',');
    put_condition(b, p, COND_INIT, "Initialized", n_init == 0,
                  n_init ? "ContainersNotInitialized"
                  : good ? over
                         : NULL,
                  n_init ? init : NULL);
    sl_buf_putc(b, ',');
    put_condition(b, p, COND_READY, "Ready", ok && p->gates, gate,
                  ok && !p->gates ? "the status of pod readiness gates is not \"True\"" : words);
    sl_buf_putc(b, ',');
    put_condition(b, p, COND_CONTAINERS, "ContainersReady", ok, why, words);
    sl_buf_puts(b, p->foreign);
    sl_buf_putc(b, ']');
}

static void put_addresses(struct sl_buf *b, const struct pod *p) {
    const uint32_t n = p->slot;
    char own[64];

    if (p->real) { /* its processes are on the machine's own network */
        sl_buf_printf(b, ",\"hostIP\":\"%s\",\"hostIPs\":[{\"ip\":\"%s\"}]", p->rt->address,
                      p->rt->address);
        sl_fmt(own, sizeof own, "%s", p->rt->address);
    } else {
        sl_fmt(own, sizeof own, "10.%u.%u.%u", 64 + (n >> 16) % 64, (n >> 8) & 255, n & 255);
    }
    sl_buf_printf(b, ",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}]", own, own);
}

void pod_status(struct pod *p, struct sl_buf *b) {
    sl_buf_printf(b, "{\"phase\":\"%s\",\"observedGeneration\":%lld", pod_phase(p),
                  (long long)p->generation);
    put_conditions(b, p);
    if (p->ended && p->reason) {
        jput_text(b, ",\"reason\":", p->reason);
        jput_text(b, ",\"message\":", p->message);
    }
    put_addresses(b, p);
    if (p->start) {
        sl_buf_puts(b, ",\"startTime\":");
        jput_time(b, p->start);
    }
    put_containers(b, p, true);
    put_containers(b, p, false);
    sl_buf_putc(b, '}');
}
