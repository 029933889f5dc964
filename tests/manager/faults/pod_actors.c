/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler, the kubelet, and the controller of admission checks. */
#include "pods.h"

#define CHECKER "example.com/checker"

/* ---- looking ---- */

static bool has_gate(yyjson_val *pod, const char *name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(pod, "spec.schedulingGates"), i, n, v)
        if (strcmp(sl_json_str(v, "name"), name) == 0)
            return true;
    return false;
}

bool pod_gated(yyjson_val *pod) {
    return has_gate(pod, Q "admission");
}

bool pod_unplaced(yyjson_val *pod) {
    return has_gate(pod, Q "topology");
}

bool pod_terminal(yyjson_val *pod) {
    const char *phase = sl_json_str(pod, "status.phase");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

bool pod_deleting(yyjson_val *pod) {
    return *sl_json_str(pod, "metadata.deletionTimestamp");
}

bool pod_held(yyjson_val *pod) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(pod, "metadata.finalizers"), i, n, v)
        if (yyjson_equals_str(v, Q "managed"))
            return true;
    return false;
}

bool pod_numbers(const char *name, uint32_t *unit, uint32_t *n) {
    return fakeapi_number(name, "u", unit, &name) && fakeapi_number(name, "-p", n, NULL) &&
           *unit < MAX_UNITS && *n < MAX_NAMES;
}

uint32_t pod_role(yyjson_val *pod) {
    return (uint32_t)strtoul(sl_json_label(pod, "role"), NULL, 10) % MAX_ROLES;
}

static const char *pod_path(uint32_t unit, uint32_t n, const char *tail, char out[96]) {
    (void)snprintf(out, 96, PODS "/u%u-p%u%s", unit, n, tail);
    return out;
}

yyjson_val *pod_get(struct world *w, uint32_t unit, uint32_t n) {
    char path[96];
    if (!pods_of(w)->made[unit][n])
        return NULL;
    return fakeapi_get(w->api, pod_path(unit, n, "", path));
}

/* ---- scheduler and kubelet ---- */

/* A pod by numbers and the end of its uid: names are used again. */
static uint64_t pod_arg(yyjson_val *pod, uint32_t unit, uint32_t n) {
    const char *uid = sl_json_str(pod, "metadata.uid");
    size_t len = strlen(uid);
    return strtoull(len > 8 ? uid + len - 8 : uid, NULL, 16) << 16 | unit << 8 | n;
}

static bool same_pod(yyjson_val *pod, uint64_t arg) {
    return pod && pod_arg(pod, arg >> 8 & 0xff, arg & 0xff) == arg;
}

/* The kubelet reports all conditions but the reason why a pod was stopped. */
static void set_phase(struct world *w, yyjson_val *pod, const char *path, const char *phase) {
    struct sl_buf b;
    size_t i, n;
    yyjson_val *v;
    bool runs = strcmp(phase, "Running") == 0;
    sl_buf_init(&b, 8192);
    sl_buf_printf(
        &b,
        "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}",
        phase, runs ? "True" : "False");
    yyjson_arr_foreach (sl_json_at(pod, "status.conditions"), i, n, v) {
        if (strcmp(sl_json_str(v, "type"), "Ready") == 0)
            continue;
        sl_buf_putc(&b, ',');
        sl_json_put(&b, v);
    }
    sl_buf_puts(&b, "]}}");
    (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, sl_buf_str(&b), NULL);
    sl_buf_done(&b);
}

/* No actor touches the pod before this. */
static sl_time kubelet_waits(struct world *w, yyjson_val *pod) {
    const struct pods *p = pods_of(w);
    const char *node = sl_json_str(pod, "spec.nodeName");
    sl_time wait = p->frozen > p->node_dead ? p->frozen : p->node_dead,
            dead = p->places ? places_dead_until(w, *node ? node : places_node_for(w, pod)) : 0,
            shut = p->exact && !*node ? exact_shut_until(w, places_node_for(w, pod)) : 0;
    dead = shut > dead ? shut : dead;
    return dead > wait ? dead : wait;
}

/* One step of one pod. */
static void kubelet_turn(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    uint32_t unit = arg >> 8 & 0xff, n = arg & 0xff;
    char path[96], status[96];
    yyjson_val *pod = pod_get(w, unit, n);
    if (!same_pod(pod, arg))
        return;
    sl_time wait = kubelet_waits(w, pod);
    if (fakeapi_now(w->api) < wait) {
        fakeapi_at(w->api, wait, kubelet_turn, w, arg);
        return;
    }
    (void)pod_path(unit, n, "", path);
    (void)pod_path(unit, n, "/status", status);
    bool bound = *sl_json_str(pod, "spec.nodeName");
    if (pod_deleting(pod)) {
        if (!bound || sl_json_int(pod, "metadata.deletionGracePeriodSeconds", 0) == 0)
            return;
        if (!pod_terminal(pod))
            set_phase(w, pod, status, world_odds(w, 2) ? "Failed" : "Succeeded");
        (void)fakeapi_do(w->api, SL_DELETE, path, SL_JSON, "{\"gracePeriodSeconds\":0}", NULL);
    } else if (yyjson_arr_size(sl_json_at(pod, "spec.schedulingGates")) || pod_terminal(pod)) {
        return;
    } else if (!bound) {
        char body[96]; /* not reviewed, as a binding is not */
        (void)snprintf(body, sizeof body, "{\"spec\":{\"nodeName\":\"%s\"}}",
                       places_node_for(w, pod));
        (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, body, NULL);
    } else if (strcmp(sl_json_str(pod, "status.phase"), "Pending") == 0) {
        set_phase(w, pod, status, "Running");
    }
}

static void kubelet_end(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    const struct pods *p = pods_of(w);
    uint32_t unit = arg >> 8 & 0xff, n = arg & 0xff;
    char status[96];
    yyjson_val *pod = pod_get(w, unit, n);
    if (!same_pod(pod, arg) || strcmp(sl_json_str(pod, "status.phase"), "Running") != 0)
        return;
    sl_time wait = kubelet_waits(w, pod);
    if (fakeapi_now(w->api) < wait) {
        fakeapi_at(w->api, wait, kubelet_end, w, arg);
        return;
    }
    set_phase(w, pod, pod_path(unit, n, "/status", status),
              !p->calm && world_odds(w, 6) ? "Failed" : "Succeeded");
}

void kubelet_noticed(struct world *w, const struct fakeapi_change *c) {
    uint32_t unit, n;
    if (!c->now || !pod_numbers(sl_json_str(c->now, "metadata.name"), &unit, &n))
        return;
    uint64_t arg = pod_arg(c->now, unit, n);
    bool runs = strcmp(sl_json_str(c->now, "status.phase"), "Running") == 0;
    fakeapi_at(w->api, world_soon(w, pod_deleting(c->now) ? 5000 : 500), kubelet_turn, w, arg);
    if (runs && !(c->before && strcmp(sl_json_str(c->before, "status.phase"), "Running") == 0) &&
        !(pods_of(w)->units[unit].flags & UNIT_SERVING))
        fakeapi_at(w->api, world_soon(w, 20000) + SL_SEC, kubelet_end, w, arg);
}

/* ---- admission checks ---- */

/* All check states of a workload, one of them anew; podSetUpdates if it is ready and the odds are
 * so. */
static void put_states(struct world *w, yyjson_val *wl, const char *check, const char *state,
                       struct sl_buf *b) {
    size_t i, n, k, sets;
    yyjson_val *v, *set;
    sl_buf_puts(b, "{\"status\":{\"admissionChecks\":[");
    yyjson_arr_foreach (sl_json_at(wl, "status.admissionChecks"), i, n, v) {
        sl_buf_puts(b, i ? "," : "");
        if (strcmp(sl_json_str(v, "name"), check) != 0) {
            sl_json_put(b, v);
            continue;
        }
        sl_buf_printf(b,
                      "{\"name\":\"%s\",\"state\":\"%s\",\"message\":\"said %s\","
                      "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"",
                      check, state, state);
        if (strcmp(state, "Ready") == 0 && world_odds(w, 3)) {
            sl_buf_puts(b, ",\"podSetUpdates\":[");
            yyjson_arr_foreach (sl_json_at(wl, "spec.podSets"), k, sets, set)
                sl_buf_printf(b, "%s{\"name\":\"%s\",\"nodeSelector\":{\"of-%s\":\"x\"}}",
                              k ? "," : "", sl_json_str(set, "name"), check);
            sl_buf_putc(b, ']');
        }
        sl_buf_putc(b, '}');
    }
    sl_buf_puts(b, "]}}");
}

static void set_state(struct world *w, const char *name, yyjson_val *wl, const char *check,
                      const char *state) {
    struct sl_buf b;
    char path[192];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s/status", name);
    sl_buf_init(&b, 8192);
    put_states(w, wl, check, state, &b);
    world_tell(w, "check %s of %s: %s", check, name, state);
    w->reviewed = true;
    (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, sl_buf_str(&b), NULL);
    w->reviewed = false;
    sl_buf_done(&b);
}

static const char *next_state(struct world *w, const char *now) {
    static const char *const answers[] = {"Ready", "Ready",    "Ready", "Ready",
                                          "Ready", "Ready",    "Ready", "Pending",
                                          "Retry", "Rejected", "Retry", "Pending"};
    if (pods_of(w)->calm)
        return strcmp(now, "Pending") == 0 ? "Ready" : NULL;
    if (strcmp(now, "Ready") == 0)
        return world_odds(w, 4) ? answers[8 + world_below(w, 3)] : NULL;
    return strcmp(now, "Pending") == 0 ? answers[world_below(w, SL_LEN(answers))] : NULL;
}

static void check_turn(void *ctx, uint64_t at) {
    struct world *w = ctx;
    const struct pods *p = pods_of(w);
    const char *name = p->checked.v[at];
    char path[192];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    if (fakeapi_now(w->api) < p->frozen) {
        fakeapi_at(w->api, p->frozen, check_turn, w, at);
        return;
    }
    yyjson_val *wl = fakeapi_get(w->api, path);
    size_t n = yyjson_arr_size(sl_json_at(wl, "status.admissionChecks"));
    if (!world_holds(wl) || !n)
        return;
    yyjson_val *v =
        yyjson_arr_get(sl_json_at(wl, "status.admissionChecks"), world_below(w, (uint32_t)n));
    const char *state = strcmp(sl_json_str(v, "name"), "prov") == 0
                            ? NULL /* the manager's own */
                            : next_state(w, sl_json_str(v, "state"));
    if (state)
        set_state(w, name, wl, sl_json_str(v, "name"), state);
}

void check_noticed(struct world *w, const struct fakeapi_change *c) {
    struct pods *p = pods_of(w);
    if (!c->now || !p->n_checks || !world_holds(c->now))
        return;
    const char *name = sl_json_str(c->now, "metadata.name");
    uint32_t at = 0;
    while (at < p->checked.n && strcmp(p->checked.v[at], name) != 0)
        at++;
    if (at == p->checked.n)
        *sl_vec_push(&p->checked) = sl_strdup(name);
    fakeapi_at(w->api, world_soon(w, world_odds(w, 4) ? 20000 : 1500), check_turn, w, at);
}

void check_all(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < p->checked.n; i++)
        for (uint32_t k = 0; k < 2 * p->n_checks; k++)
            check_turn(w, i);
}

void check_begin(struct world *w) {
    struct pods *p = pods_of(w);
    static const char *const more[] = {
        "", ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"ac-0\"}]}",
        (",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"ac-0\"},{\"name\":\"ac-"
         "1\"}"
         "]}")};
    p->n_checks = world_odds(w, 2) ? 1 + world_below(w, 2) : 0;
    for (uint32_t i = 0; i < p->n_checks; i++) {
        char path[96];
        (void)world_send(
            w, SL_POST, KUEUE "/admissionchecks",
            "{\"metadata\":{\"name\":\"ac-%u\"},\"spec\":{\"controllerName\":\"" CHECKER "\"}}", i);
        (void)snprintf(path, sizeof path, KUEUE "/admissionchecks/ac-%u/status", i);
        (void)world_send(w, SL_PATCH, path,
                         "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\","
                         "\"reason\":\"Active\",\"message\":\"\","
                         "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    }
    for (uint32_t i = 0; i < MAX_QUEUES; i++)
        w->more[i] = more[world_below(w, p->n_checks + 1)];
}

void check_end(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < p->checked.n; i++)
        sl_freep(&p->checked.v[i]);
    sl_vec_free(&p->checked);
}
