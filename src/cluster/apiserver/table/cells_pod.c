/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of pods. */
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

/* The columns of a pod, gathered in one walk over its container statuses. */
struct pod_summary {
    int64_t ready, total, restarts;
    sl_time last; /* of a restart; 0: none */
    char status[128];
};

static void set_status(struct pod_summary *l, const char *prefix, const char *word) {
    sl_fmt_short(l->status, sizeof(l->status), "%s%s", prefix, word);
}

static void report_number(struct pod_summary *l, const char *prefix, int64_t n) {
    sl_fmt_short(l->status, sizeof(l->status), "%s%lld", prefix, (long long)n);
}

/* Why a container ended: its reason, or its signal, or its exit code. */
static void report_ended(struct pod_summary *l, bool init, yyjson_val *t) {
    static const char *const words[2][2] = {{"ExitCode:", "Signal:"},
                                            {"Init:ExitCode:", "Init:Signal:"}};
    bool by_signal = sl_json_int(t, "signal", 0) != 0;

    if (*sl_json_str(t, "reason"))
        set_status(l, init ? "Init:" : "", sl_json_str(t, "reason"));
    else
        report_number(l, words[init][by_signal],
                      sl_json_int(t, by_signal ? "signal" : "exitCode", 0));
}

static bool restarts_always(yyjson_val *pod, const char *name) {
    yyjson_val *c = sl_json_find(sl_json_at(pod, "spec.initContainers"), "name", name);
    return strcmp(sl_json_str(c, "restartPolicy"), "Always") == 0;
}

static void note_restarts(yyjson_val *status, int64_t *count, sl_time *last) {
    sl_time at;

    *count += sl_json_int(status, "restartCount", 0);
    if (sl_stamp_parse(sl_json_str(status, "lastState.terminated.finishedAt"), &at) && at > *last)
        *last = at;
}

/* Init containers, in order, up to the first that is not done. True: the pod is still at it. */
static bool summarise_init(yyjson_val *pod, struct pod_summary *l, int64_t *side_count,
                           sl_time *side_last) {
    size_t i, n;
    yyjson_val *s;

    yyjson_arr_foreach (sl_json_at(pod, "status.initContainerStatuses"), i, n, s) {
        yyjson_val *ended = sl_json_at(s, "state.terminated");
        const char *waiting = sl_json_str(s, "state.waiting.reason");
        bool side = restarts_always(pod, sl_json_str(s, "name"));

        note_restarts(s, &l->restarts, &l->last);
        if (side)
            note_restarts(s, side_count, side_last);
        if (ended && sl_json_int(ended, "exitCode", 0) == 0)
            continue;
        if (side && sl_json_bool(s, "started", false)) {
            l->ready += sl_json_bool(s, "ready", false);
            continue;
        }
        if (ended) {
            report_ended(l, true, ended);
        } else if (*waiting && strcmp(waiting, "PodInitializing") != 0) {
            set_status(l, "Init:", waiting);
        } else {
            report_number(l, "Init:", (int64_t)i);
            size_t len = strlen(l->status);
            sl_fmt_short(l->status + len, sizeof(l->status) - len, "/%zu",
                         sl_json_size(sl_json_at(pod, "spec.initContainers")));
        }
        return true;
    }
    return false;
}

static void summarise_main(yyjson_val *pod, struct pod_summary *l) {
    yyjson_val *statuses = sl_json_at(pod, "status.containerStatuses");
    bool running = false, failed = false;
    char error[sizeof(l->status)];

    for (size_t i = sl_json_size(statuses); i-- > 0;) {
        yyjson_val *s = yyjson_arr_get(statuses, i), *ended = sl_json_at(s, "state.terminated");
        const char *waiting = sl_json_str(s, "state.waiting.reason");

        note_restarts(s, &l->restarts, &l->last);
        if (*waiting) {
            set_status(l, "", waiting);
        } else if (ended) {
            report_ended(l, false, ended);
            if (sl_json_int(ended, "exitCode", 0) != 0) {
                failed = true;
                memcpy(error, l->status, sizeof(error));
            }
        } else if (sl_json_bool(s, "ready", false) && sl_json_at(s, "state.running")) {
            running = true;
            l->ready++;
        }
    }
    if (strcmp(l->status, "Completed") != 0)
        return;
    if (running && sl_json_condition(pod, "Ready"))
        set_status(l, "", "Running");
    else if (failed)
        memcpy(l->status, error, sizeof(error));
    else if (running)
        set_status(l, "", "NotReady");
}

static void summarise_pod(yyjson_val *pod, struct pod_summary *l) {
    yyjson_val *scheduled =
                   sl_json_find(sl_json_at(pod, "status.conditions"), "type", "PodScheduled"),
               *c;
    const char *phase = sl_json_str(pod, "status.phase"), *why = sl_json_str(pod, "status.reason");
    int64_t side_count = 0;
    sl_time side_last = 0;
    size_t i, n;

    *l = (struct pod_summary){.total = (int64_t)sl_json_size(sl_json_at(pod, "spec.containers"))};
    yyjson_arr_foreach (sl_json_at(pod, "spec.initContainers"), i, n, c) {
        l->total += strcmp(sl_json_str(c, "restartPolicy"), "Always") == 0;
    }
    set_status(l, "", *why ? why : phase);
    if (strcmp(sl_json_str(scheduled, "reason"), "SchedulingGated") == 0)
        set_status(l, "", "SchedulingGated");
    if (!summarise_init(pod, l, &side_count, &side_last) || sl_json_condition(pod, "Initialized")) {
        l->restarts = side_count;
        l->last = side_last;
        summarise_main(pod, l);
    }
    if (!sl_json_at(pod, "metadata.deletionTimestamp"))
        return;
    if (strcmp(why, "NodeLost") == 0)
        set_status(l, "", "Unknown");
    else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        set_status(l, "", "Terminating");
}

static void pod_ready(yyjson_val *o, sl_time now, struct sl_jw *out) {
    struct pod_summary l;

    (void)now;
    summarise_pod(o, &l);
    sl_jw_strf(out, NULL, "%lld/%lld", (long long)l.ready, (long long)l.total);
}

static void pod_status(yyjson_val *o, sl_time now, struct sl_jw *out) {
    struct pod_summary l;

    (void)now;
    summarise_pod(o, &l);
    sl_jw_str(out, NULL, l.status);
}

static void pod_restarts(yyjson_val *o, sl_time now, struct sl_jw *out) {
    char age[SL_AGE_TEXT];
    struct pod_summary l;

    summarise_pod(o, &l);
    if (l.restarts && l.last)
        sl_jw_strf(out, NULL, "%lld (%s ago)", (long long)l.restarts, api_age(now - l.last, age));
    else
        sl_jw_strf(out, NULL, "%lld", (long long)l.restarts);
}

static void pod_ip(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_str(yyjson_arr_get_first(sl_json_at(o, "status.podIPs")), "ip", "<none>", out);
}

static void pod_gates(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *gates = sl_json_at(o, "spec.readinessGates"), *g;
    size_t i, n, yes = 0;

    (void)now;
    if (sl_json_size(gates) == 0) {
        sl_jw_str(out, NULL, "<none>");
        return;
    }
    yyjson_arr_foreach (gates, i, n, g) {
        yes += sl_json_condition(o, sl_json_str(g, "conditionType"));
    }
    sl_jw_strf(out, NULL, "%zu/%zu", yes, sl_json_size(gates));
}
SL_STR_CELL(pod_node, "spec.nodeName", "<none>")
SL_STR_CELL(pod_nominated, "status.nominatedNodeName", "<none>")

const struct api_column api_columns_pod[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Ready", "string", "Number of ready containers, of all.", pod_ready),
    SL_COLUMN("Status", "string", "Summary of the container states.", pod_status),
    SL_COLUMN("Restarts", "string", "Number of container restarts, and time of the last one.",
              pod_restarts),
    SL_COLUMN_AGE,
    SL_COLUMN_WIDE("IP", "string", "First IP address.", pod_ip),
    SL_COLUMN_WIDE("Node", "string", "Node of the pod.", pod_node),
    SL_COLUMN_WIDE("Nominated Node", "string", "Node on which pods are preempted.", pod_nominated),
    SL_COLUMN_WIDE("Readiness Gates", "string", "Readiness gates that are met, of all.", pod_gates),
};

void api_cells_pod_conditions(yyjson_val *pod, struct sl_jw *out) {
    const char *phase = sl_json_str(pod, "status.phase");
    const char *text = strcmp(phase, "Succeeded") == 0 ? "The pod has completed successfully."
                       : strcmp(phase, "Failed") == 0  ? "The pod failed."
                                                       : NULL;
    if (!text)
        return;
    sl_jw_array(out, "conditions");
    sl_jw_object(out, NULL);
    sl_jw_str(out, "type", "Completed");
    sl_jw_str(out, "status", "True");
    sl_jw_str(out, "reason", phase);
    sl_jw_str(out, "message", text);
    sl_jw_end(out);
    sl_jw_end(out);
}
