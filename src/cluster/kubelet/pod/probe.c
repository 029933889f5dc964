/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of containers: scheduling of the checks, and handling of the results.
 */
#include "cluster/kubelet/kubelet_int.h"
#include "core/base/mem.h"

static const char *const names[PROBES] = {"startupProbe", "readinessProbe", "livenessProbe"};

static const char *const failure_texts[PROBES] = {
    "Startup probe failed: the container will be restarted", "Readiness probe failed",
    "Liveness probe failed: the container will be restarted"};

static yyjson_val *spec_of(const struct klet_container *c, enum klet_probe_kind k) {
    return sl_json_at(c->spec, names[k]);
}

static int64_t setting(const struct klet_container *c, enum klet_probe_kind k, const char *what,
                       int64_t fallback) {
    const int64_t n = sl_json_int(spec_of(c, k), what, 0);

    return n > 0 && n < INT32_MAX ? n : fallback;
}

/* ---- verdicts ---- */

static void fail_container(struct klet_container *c, enum klet_probe_kind k) {
    const int64_t own = sl_json_int(spec_of(c, k), "terminationGracePeriodSeconds", -1);

    klet_container_stop(c, own >= 0 && own < INT32_MAX ? own * SL_SEC : c->pod->grace);
}

static void probe_result(struct klet_container *c, enum klet_probe_kind k, bool ok) {
    struct klet_probe *p = &c->probes[k];

    p->row = p->row > 0 && p->answer == ok ? p->row + 1 : 1;
    p->answer = ok;
    if (ok && p->row >= setting(c, k, "successThreshold", 1)) {
        p->ok = true;
        if (k == PROBE_STARTUP)
            c->up = true;
    } else if (!ok && p->row >= setting(c, k, "failureThreshold", 3)) {
        if (p->row == setting(c, k, "failureThreshold", 3))
            klet_container_event(c, true, "Unhealthy", failure_texts[k]);
        p->ok = false;
        if (k != PROBE_READY)
            fail_container(c, k);
    }
    c->ready = c->up && (!c->probes[PROBE_READY].is || c->probes[PROBE_READY].ok);
    klet_pod_enqueue(c->pod);
}

static void on_answer(struct klet_container *c, int which, bool ok) {
    c->probes[which].call = NULL;
    probe_result(c, (enum klet_probe_kind)which, ok);
}

static void give_up(struct klet_container *c, enum klet_probe_kind k) {
    klet_handler_call_end(TAKE_PTR(c->probes[k].call));
    probe_result(c, k, false);
}

static void start_probe(struct klet_container *c, enum klet_probe_kind k) {
    struct klet_probe *p = &c->probes[k];

    p->until = c->pod->rt->client->mono + setting(c, k, "timeoutSeconds", 1) * SL_SEC;
    p->call = klet_handler_call_begin(c, spec_of(c, k), HANDLER_PROBE, on_answer, (int)k);
    if (!p->call)
        probe_result(c, k, false);
}

/* ---- from outside ---- */

void klet_probes_begin(struct klet_container *c) {
    for (int k = 0; k < PROBES; k++) {
        struct klet_probe *p = &c->probes[k];
        *p = (struct klet_probe){.is = spec_of(c, (enum klet_probe_kind)k) != NULL};
        p->at = c->started_mono +
                setting(c, (enum klet_probe_kind)k, "initialDelaySeconds", 0) * SL_SEC;
    }
    c->up = !c->probes[PROBE_STARTUP].is;
    c->ready = c->up && !c->probes[PROBE_READY].is;
}

void klet_probes_end(struct klet_container *c) {
    for (int k = 0; k < PROBES; k++) {
        klet_handler_call_end(c->probes[k].call);
        c->probes[k] = (struct klet_probe){.is = false};
    }
}

void klet_probes_tick(struct klet_container *c) {
    const sl_time now = c->pod->rt->client->mono;

    for (int i = 0; i < PROBES; i++) {
        const enum klet_probe_kind k = (enum klet_probe_kind)i;
        struct klet_probe *p = &c->probes[k];
        if (!p->is || c->ending || (k == PROBE_STARTUP ? c->up : !c->up))
            continue;
        if (p->call && now >= p->until)
            give_up(c, k);
        if (!p->call && now >= p->at) {
            p->at = now + setting(c, k, "periodSeconds", 10) * SL_SEC;
            start_probe(c, k);
        }
        klet_pod_enqueue_at(c->pod, p->call ? p->until : p->at);
    }
}
