/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods on simulated nodes: they complete after a duration, without processes.
 *
 * A pod runs for its annotation sluice.dev/run-for (a Go duration). Without one: as long as the
 * `sleep` in its command or its shell script, the longest of its containers after all of its init
 * containers; with restartPolicy Always until it is deleted; and everything else takes no time at
 * all. It ends with the code in its annotation sluice.dev/exit-code, else 0.
 *
 * On a virtual node it begins only if it names the pool of elsewhere that is to run it.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "lib/json/json.h"

static bool ends_as(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, name) == 0;
}

/* "30", "1.5", "2m", "1d", "infinity": as sleep(1) understands it, and Go durations. */
static bool duration(const char *s, size_t n, sl_span *ret) {
    char text[40];
    sl_span d;

    if (n == 8 && memcmp(s, "infinity", 8) == 0) {
        *ret = SL_TIME_NEVER;
        return true;
    }
    if (n == 0 || n > sizeof text - 3 || s[0] < '0' || s[0] > '9')
        return false;
    memcpy(text, s, n);
    const bool days = text[n - 1] == 'd';
    if (days)
        text[n - 1] = 'h';
    else if (text[n - 1] >= '0' && text[n - 1] <= '9')
        text[n++] = 's';
    if (sl_span_parse(text, n, &d, NULL) < 0 || d < 0)
        return false;
    *ret = days && d > SL_TIME_NEVER / 24 ? SL_TIME_NEVER : days ? d * 24 : d;
    return true;
}

static sl_span script_span(const char *s) {
    static const char breaks[] = " \t\r\n;&|()\"'`{}";
    const char *end = s + strnlen(s, RT_MAX_SCRIPT);
    bool after_sleep = false;
    sl_span sum = 0, d;

    while (s < end) {
        s += strspn(s, breaks);
        const size_t n = strcspn(s, breaks);
        if (n == 0)
            break;
        if (after_sleep && duration(s, n, &d))
            sum = sl_time_add(sum, d);
        else
            after_sleep = (n == 5 && memcmp(s, "sleep", 5) == 0) ||
                          (n > 6 && memcmp(s + n - 6, "/sleep", 6) == 0);
        s += n;
    }
    return sum;
}

/* The n-th argument of command and args together; NULL behind the last. */
static const char *argument_at(yyjson_val *c, size_t n) {
    yyjson_val *command = sl_json_at(c, "command"), *args = sl_json_at(c, "args");
    const size_t k = yyjson_arr_size(command);
    const char *s = sl_json_opt(n < k ? yyjson_arr_get(command, n) : yyjson_arr_get(args, n - k));

    return s ? s : n < k + yyjson_arr_size(args) ? "" : NULL;
}

static bool is_shell(const char *program) {
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "zsh", "busybox"};

    for (size_t i = 0; i < SL_LEN(shells); i++)
        if (ends_as(program, shells[i]))
            return true;
    return false;
}

static sl_span container_span(yyjson_val *c) {
    const char *image = sl_json_str(c, "image"), *base = strrchr(image, '/'), *w;
    const bool no_command = yyjson_arr_size(sl_json_at(c, "command")) == 0;
    const bool sleeps = no_command && strncmp(base ? base + 1 : image, "sleep", 5) == 0;
    size_t i = 0;
    sl_span sum = 0, d;

    w = argument_at(c, 0);
    if (sleeps || (w && ends_as(w, "sleep"))) {
        for (i = !sleeps; (w = argument_at(c, i)) && duration(w, strlen(w), &d); i++)
            sum = sl_time_add(sum, d);
        return sum;
    }
    if (w && is_shell(w))
        while ((w = argument_at(c, ++i)))
            sum = sl_time_add(sum, script_span(w));
    return sum;
}

sl_span klet_sim_span(yyjson_val *pod) {
    const char *run_for = sl_json_annotation(pod, SL_RUN_FOR);
    yyjson_val *init = sl_json_at(pod, "spec.initContainers"),
               *mains = sl_json_at(pod, "spec.containers"), *c;
    sl_span before = 0, longest = 0, d;
    size_t i, n;

    if (*run_for && sl_span_parse(run_for, strlen(run_for), &d, NULL) == 0 && d >= 0)
        return d;
    if (strcmp(sl_json_str(pod, "spec.restartPolicy"), "OnFailure") != 0 &&
        strcmp(sl_json_str(pod, "spec.restartPolicy"), "Never") != 0)
        return SL_TIME_NEVER;
    yyjson_arr_foreach (init, i, n, c) {
        if (strcmp(sl_json_str(c, "restartPolicy"), "Always") != 0)
            before = sl_time_add(before, container_span(c));
    }
    yyjson_arr_foreach (mains, i, n, c) {
        d = container_span(c);
        longest = d > longest ? d : longest;
    }
    return sl_time_add(before, longest);
}

void klet_sim_take(struct klet_pod *p, yyjson_val *o) {
    p->sim_for = klet_sim_span(o);
    p->sim_code = (int)strtol(sl_json_annotation(o, EXIT_CODE), NULL, 10) & 255;
}

void klet_sim_check_pool(struct klet_pod *p, yyjson_val *o) {
    yyjson_val *tolerations = sl_json_at(o, "spec.tolerations"), *t;
    uint32_t pools = 0;
    size_t i, n;

    yyjson_arr_foreach (tolerations, i, n, t) {
        pools += strcmp(sl_json_str(t, "key"), SL_POOL_TOLERATION) == 0;
    }
    if (pools == 1)
        return;
    p->start = p->rt->client->wall;
    p->ended = true;
    p->phase = "Failed";
    p->reason = "ProviderFailed"; /* of a virtual kubelet, when what is behind it refuses a pod */
    p->message = pools == 0 ? "no toleration has the key " SL_POOL_TOLERATION
                              ", whose value is the pool that is to run the pod"
                            : "more than one toleration has the key " SL_POOL_TOLERATION
                              ": a pod runs in one pool";
}

static void all_run(struct klet_pod *p) {
    for (uint32_t i = 0; i < p->n_cs; i++) {
        struct klet_container *c = &p->cs[i];
        c->started_wall = p->start;
        c->waiting = NULL;
        if (c->role == ROLE_INIT) {
            c->state = C_ENDED;
            c->now = (struct klet_ending){
                .is = true, .reason = "Completed", .started = p->start, .finished = p->start};
        } else {
            c->state = C_RUNNING;
            c->ready = c->up = true;
        }
    }
    p->inited = true;
}

static void all_end(struct klet_pod *p, int code) {
    for (uint32_t i = 0; i < p->n_cs; i++) {
        struct klet_container *c = &p->cs[i];
        const int own = c->role == ROLE_MAIN ? code : 0;
        if (c->state == C_ENDED)
            continue;
        c->state = C_ENDED;
        c->now = (struct klet_ending){.is = true,
                                      .code = own,
                                      .reason = own ? "Error" : "Completed",
                                      .started = p->start,
                                      .finished = p->rt->client->wall};
    }
    p->ended = true;
    p->phase = code || p->reason ? "Failed" : "Succeeded";
}

void klet_sim_sync(struct klet_pod *p) {
    const sl_time now = p->rt->client->mono, wall = p->rt->client->wall;

    if (!p->inited) {
        if (!p->start)
            p->start = wall;
        /* Of one that began under an earlier run of ours, some time has passed. */
        if (p->sim_for != SL_TIME_NEVER)
            p->deadline = sl_time_add(now + (p->start - wall), p->sim_for);
        all_run(p);
    }
    if (p->deleting || p->stopping)
        all_end(p, 143);
    else if (now >= p->deadline)
        all_end(p, p->sim_code);
    else
        klet_pod_enqueue_at(p, p->deadline);
    klet_pod_report_status(p);
}
