/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of this machine: which of their containers run when, and what becomes of the pod.
 * Level-triggered: klet_pod_sync may be called at any time and does what is to be done now.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define VOLUMES_AGAIN (2 * SL_SEC)
#define TOO_LARGE_AGAIN (2 * SL_MINUTE) /* detecting it takes time of the loop */

/* ---- the record ---- */

static uint64_t key_of(const char *ns, const char *name) {
    return sl_hash_str(sl_hash_str(0, ns), name);
}

struct klet_pod *klet_pod_find(struct sl_kubelet *r, const char *ns, const char *name) {
    const uint64_t key = key_of(ns, name);
    uint32_t cur;

    for (uint32_t i = sl_map_first(&r->by_name, key, &cur); i != SL_MAP_NONE;
         i = sl_map_next(&r->by_name, key, &cur)) {
        struct klet_pod *p = r->slots.v[i].pod;
        if (strcmp(p->name, name) == 0 && strcmp(p->ns, ns) == 0)
            return p;
    }
    return NULL;
}

struct klet_container *klet_pod_container(struct klet_pod *p, const char *name) {
    for (uint32_t i = 0; i < p->n_cs; i++)
        if (strcmp(p->cs[i].name, name) == 0)
            return &p->cs[i];
    return NULL;
}

void klet_pod_free(struct klet_pod *p) {
    for (uint32_t i = 0; i < p->n_cs; i++)
        klet_container_done(&p->cs[i]);
    if (p->local) {
        klet_refs_free(p);
        klet_tokens_free(p);
        yyjson_doc_free(p->local->doc);
        sl_freep(&p->local->text);
        sl_freep(&p->local->folder);
        sl_freep(&p->local);
    }
    sl_freep(&p->cs);
    sl_freep(&p->ns);
    sl_freep(&p->name);
    sl_freep(&p->uid);
    sl_freep(&p->version);
    sl_freep(&p->node);
    sl_freep(&p->foreign);
    sl_freep(&p);
}

static void add_containers(struct klet_pod *p, yyjson_val *list, bool init) {
    yyjson_val *c;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, c) {
        const bool sidecar = init && strcmp(sl_json_str(c, "restartPolicy"), "Always") == 0;
        p->cs[p->n_cs++] = (struct klet_container){.pod = p,
                                                   .name = sl_strdup(sl_json_str(c, "name")),
                                                   .image = sl_strdup(sl_json_str(c, "image")),
                                                   .role = !init     ? ROLE_MAIN
                                                           : sidecar ? ROLE_SIDECAR
                                                                     : ROLE_INIT,
                                                   .kill_at = SL_TIME_NEVER,
                                                   .term_at = SL_TIME_NEVER};
    }
}

static void wait_all(struct klet_pod *p) {
    const bool init = p->n_cs > 0 && p->cs[0].role != ROLE_MAIN;

    for (uint32_t i = 0; i < p->n_cs; i++)
        p->cs[i].waiting = init ? "PodInitializing" : "ContainerCreating";
}

/* ---- what an earlier run of ours left ---- */

static const char *known_reason(const char *s) {
    static const char *const all[] = {"Completed", "Error", "OOMKilled", "StartError",
                                      "ContainerStatusUnknown"};

    for (size_t i = 0; i < SL_LEN(all); i++)
        if (strcmp(all[i], s) == 0)
            return all[i];
    return "Error";
}

static struct klet_ending read_ending(yyjson_val *t) {
    const char *message = sl_json_str(t, "message");

    return (struct klet_ending){.is = true,
                                .code = (int)sl_json_int(t, "exitCode", 0),
                                .reason = known_reason(sl_json_str(t, "reason")),
                                .message = *message ? sl_strdup(message) : NULL,
                                .started = sl_json_time(t, "startedAt"),
                                .finished = sl_json_time(t, "finishedAt")};
}

static struct klet_ending lost_ending(sl_time started, sl_time now) {
    return (struct klet_ending){
        .is = true,
        .code = 137,
        .reason = "ContainerStatusUnknown",
        .message = sl_strdup("The container could not be located when sluice up was started again"),
        .started = started,
        .finished = now};
}

/* As a kubelet after a reboot: nothing runs. What had ended for good stays so; what ran was lost,
 * and is restarted according to its policy; init containers run again. */
static void restore_status(struct klet_container *c, yyjson_val *statuses) {
    yyjson_val *s = NULL, *one, *t;
    size_t i, n;

    yyjson_arr_foreach (statuses, i, n, one) {
        if (strcmp(sl_json_str(one, "name"), c->name) == 0)
            s = one;
    }
    if (!s)
        return;
    c->restarts = (uint32_t)sl_json_int(s, "restartCount", 0);
    if ((t = sl_json_at(s, "state.terminated")))
        c->now = read_ending(t);
    else if (sl_json_at(s, "state.running"))
        c->now = lost_ending(sl_json_time(s, "state.running.startedAt"), c->pod->rt->client->wall);
    if ((t = sl_json_at(s, "lastState.terminated")))
        c->last = read_ending(t);
    if (!c->now.is)
        return;
    if (c->role == ROLE_MAIN && !klet_container_restarts(c, c->now.code)) {
        c->state = C_ENDED;
        return;
    }
    klet_ending_clear(&c->last);
    c->last = c->now;
    c->now = (struct klet_ending){.is = false};
}

/* ---- reading the object ---- */

static const char *const our_conditions[CONDS] = {"PodReadyToStartContainers", "Initialized",
                                                  "Ready", "ContainersReady"};

static void take_conditions(struct klet_pod *p, yyjson_val *o) {
    yyjson_val *conditions = sl_json_at(o, "status.conditions"),
               *gates = sl_json_at(o, "spec.readinessGates"), *c, *g;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(RT_MAX_FOREIGN);
    struct sl_jw j = SL_JW(&b);
    size_t i, n, k, m;
    uint32_t open = 0;

    sl_jw_array(&j, NULL);
    yyjson_arr_foreach (conditions, i, n, c) {
        const char *type = sl_json_str(c, "type");
        const bool is = strcmp(sl_json_str(c, "status"), "True") == 0;
        bool ours = false;
        for (int l = 0; l < CONDS; l++)
            if (strcmp(type, our_conditions[l]) == 0) {
                ours = true;
                if (!p->conds[l].known) {
                    p->conds[l].known = true;
                    p->conds[l].is = is;
                    p->conds[l].since = sl_json_time(c, "lastTransitionTime");
                }
            }
        yyjson_arr_foreach (gates, k, m, g) {
            open += is && strcmp(sl_json_str(g, "conditionType"), type) == 0;
        }
        if (!ours)
            sl_jw_val(&j, NULL, c);
    }
    sl_jw_end(&j);
    p->gates = open >= yyjson_arr_size(gates);
    if (sl_buf_full(&b))
        sl_log(SL_LOG_WARN, "pod conditions dropped: too large", SL_S("namespace", p->ns),
               SL_S("name", p->name));
    sl_freep(&p->foreign);
    p->foreign = sl_strdup(sl_buf_full(&b) ? "[]" : sl_buf_str(&b));
}

/* Containers do not come or go. */
static void find_specs(struct klet_pod *p) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};
    uint32_t at = 0;

    for (int k = 0; k < 2; k++) {
        yyjson_val *list = sl_json_at(yyjson_doc_get_root(p->local->doc), lists[k]), *c;
        size_t i, n;
        yyjson_arr_foreach (list, i, n, c) {
            if (at < p->n_cs)
                p->cs[at++].spec = c;
        }
    }
    while (at < p->n_cs)
        p->cs[at++].spec = NULL;
}

/* A copy without the fields that are never read. */
static void keep_text(struct klet_pod *p, yyjson_val *o) {
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(m, o);
    size_t len;

    (void)yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, "metadata"), "managedFields");
    (void)yyjson_mut_obj_remove_key(root, "status");
    yyjson_mut_doc_set_root(m, root);
    yyjson_doc_free(p->local->doc);
    sl_freep(&p->local->text);
    p->local->text = yyjson_mut_write(m, 0, &len);
    yyjson_mut_doc_free(m);
    p->local->doc = yyjson_read(p->local->text, len, 0);
    sl_assert(p->local->doc);
    find_specs(p);
}

static void take_times(struct klet_pod *p, yyjson_val *o) {
    const sl_time now = p->rt->client->mono, wall = p->rt->client->wall;
    const int64_t active = sl_json_int(o, "spec.activeDeadlineSeconds", -1);
    const bool deleting = *sl_json_str(o, "metadata.deletionTimestamp");
    int64_t grace = sl_json_int(o, "spec.terminationGracePeriodSeconds", 30);

    if (deleting)
        grace = sl_json_int(o, "metadata.deletionGracePeriodSeconds", grace);
    grace = grace < 0 ? 0 : grace > INT32_MAX ? INT32_MAX : grace;
    if (deleting && (!p->deleting || grace * SL_SEC < p->grace) && p->stopping)
        for (uint32_t i = 0; i < p->n_cs; i++)
            klet_container_stop(&p->cs[i], grace * SL_SEC);
    p->grace = grace * SL_SEC;
    p->deleting = deleting;
    if (p->local && active >= 0 && active < INT32_MAX && p->start)
        p->deadline = now + (p->start - wall) + active * SL_SEC;
}

static struct klet_pod *make_pod(struct sl_kubelet *r, yyjson_val *o,
                                 enum klet_node_owner node_owner) {
    struct klet_pod *p = sl_alloc0(1, sizeof *p);
    const char *policy = sl_json_str(o, "spec.restartPolicy");
    yyjson_val *init = sl_json_at(o, "spec.initContainers"),
               *mains = sl_json_at(o, "spec.containers");
    char folder[PATH_MAX];

    p->rt = r;
    p->place = SL_HEAP_OUT;
    p->ns = sl_strdup(sl_json_str(o, "metadata.namespace"));
    p->name = sl_strdup(sl_json_str(o, "metadata.name"));
    p->uid = sl_strdup(sl_json_str(o, "metadata.uid"));
    p->node = sl_strdup(sl_json_str(o, "spec.nodeName"));
    p->policy = strcmp(policy, "Never") == 0       ? NEVER
                : strcmp(policy, "OnFailure") == 0 ? ON_FAILURE
                                                   : ALWAYS;
    p->due = p->deadline = SL_TIME_NEVER;
    p->start = sl_json_time(o, "status.startTime");
    p->cs = sl_alloc0(yyjson_arr_size(init) + yyjson_arr_size(mains) + 1, sizeof *p->cs);
    add_containers(p, init, true);
    add_containers(p, mains, false);
    wait_all(p);
    p->slot = klet_slot_new(r, SLOT_POD);
    r->slots.v[p->slot].pod = p;
    sl_map_add(&r->by_name, key_of(p->ns, p->name), p->slot);
    if (node_owner == NODE_OWNER_LOCAL) {
        p->local = sl_alloc0(1, sizeof *p->local);
        sl_fmt(folder, sizeof folder, "%s/pods/%s", r->dir, p->uid);
        p->local->folder = sl_strdup(folder);
        keep_text(p, o);
        for (uint32_t i = 0; i < p->n_cs; i++)
            restore_status(&p->cs[i], sl_json_at(o, p->cs[i].role == ROLE_MAIN
                                                        ? "status.containerStatuses"
                                                        : "status.initContainerStatuses"));
    } else {
        klet_sim_take(p, o);
    }
    return p;
}

static uint64_t version_of(const char *s) {
    return strtoull(s, NULL, 10);
}

/* An object that a list, a watch or an answer showed. */
void klet_pod_take(struct sl_kubelet *r, yyjson_val *o) {
    const char *ns = sl_json_str(o, "metadata.namespace"), *name = sl_json_str(o, "metadata.name"),
               *uid = sl_json_str(o, "metadata.uid");
    const char *phase = sl_json_str(o, "status.phase"),
               *version = sl_json_str(o, "metadata.resourceVersion");
    const enum klet_node_owner node_owner = klet_node_owner_of(r, sl_json_str(o, "spec.nodeName"));
    const bool over = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    struct klet_pod *p = klet_pod_find(r, ns, name);

    if (p && strcmp(p->uid, uid) != 0) {
        if (version_of(version) < version_of(p->version))
            return;
        klet_pod_drop(p);
        p = NULL;
    }
    if (p && version_of(version) < version_of(p->version))
        return;
    if (!p) {
        const uint64_t key = sl_hash_str(0, uid);
        const bool deleting = *sl_json_str(o, "metadata.deletionTimestamp");
        if (node_owner == NODE_OWNER_OTHER || !*uid || strchr(uid, '/') || uid[0] == '.')
            return;
        if (over && sl_map_get(&r->finished, key) == SL_MAP_NONE)
            sl_map_add(&r->finished, key, 1);
        if (sl_map_get(&r->finished, key) != SL_MAP_NONE && !(over && deleting))
            return;
        p = make_pod(r, o, node_owner);
        if (over) {
            p->ended = true;
            p->phase = strcmp(phase, "Failed") == 0 ? "Failed" : "Succeeded";
            p->fixed = true;
        } else if (node_owner == NODE_OWNER_LOST) {
            klet_pod_stop(p, "NodeLost", "the simulated node that it ran on is no more");
        } else if (p->n_cs > RT_MAX_CONTAINERS) {
            klet_pod_stop(
                p, "OutOfContainers",
                "sluice up runs at most " SL_STRING(RT_MAX_CONTAINERS) " containers in a pod");
        } else if (!p->start && klet_node_is_virtual(r, p->node)) {
            klet_sim_check_pool(p, o);
        }
    } else if (p->local && sl_json_int(o, "metadata.generation", 0) != p->generation) {
        keep_text(p, o);
    }
    if (over && !p->ended) { /* its end was written by another client */
        p->fixed = true;
        klet_pod_stop(p, NULL, NULL);
    }
    p->seen = true;
    p->generation = sl_json_int(o, "metadata.generation", 0);
    sl_freep(&p->version);
    p->version = sl_strdup(version);
    take_conditions(p, o);
    take_times(p, o);
    klet_pod_enqueue(p);
}

/* ---- what runs when ---- */

void klet_pod_stop(struct klet_pod *p, const char *reason, const char *message) {
    if (p->stopping)
        return;
    p->stopping = true;
    p->reason = reason;
    p->message = message;
    for (uint32_t i = 0; p->local && i < p->n_cs; i++)
        klet_container_stop(&p->cs[i], p->grace);
    klet_pod_enqueue(p);
}

/* A run has ended and another follows: at once the first time, then after growing pauses. */
static void wait_again(struct klet_container *c) {
    const sl_time now = c->pod->rt->client->mono;
    char message[400], span[SL_SPAN_TEXT];

    if (c->started_wall && c->now.finished - c->now.started >= BACKOFF_RESET)
        c->backoff = 0;
    c->start_at = now + c->backoff;
    klet_ending_clear(&c->last);
    c->last = c->now;
    c->now = (struct klet_ending){.is = false};
    c->state = C_WAITING;
    sl_freep(&c->message);
    c->waiting = c->backoff > 0 ? "CrashLoopBackOff" : "ContainerCreating";
    sl_fmt(message, sizeof message,
           "back-off %s restarting failed container=%s pod=%.100s_%.63s(%s)",
           sl_span_format(c->backoff, span), c->name, c->pod->name, c->pod->ns, c->pod->uid);
    if (c->backoff > 0) {
        c->message = sl_strdup(message);
        klet_container_event(c, true, "BackOff", message);
    }
    c->backoff = c->backoff == 0                 ? BACKOFF_FIRST
                 : 2 * c->backoff < BACKOFF_MOST ? 2 * c->backoff
                                                 : BACKOFF_MOST;
    klet_refs_again(c->pod);
}

/* Brings it a step on; true: it may take part in what comes next (runs, or has ended for good). */
static bool step_container(struct klet_container *c, int *starts) {
    const sl_time now = c->pod->rt->client->mono;

    if (c->state == C_ENDED && klet_container_restarts(c, c->now.code))
        wait_again(c);
    if (c->state == C_WAITING) {
        if (now < c->start_at) {
            klet_pod_enqueue_at(c->pod, c->start_at);
        } else if (*starts <= 0 || !c->pod->local->volumes) {
            klet_pod_enqueue_at(c->pod, now);
        } else {
            --*starts;
            klet_container_start(c);
            if (c->state == C_ENDED)
                klet_pod_enqueue_at(c->pod, now);
            else if (c->state == C_WAITING) /* not started; no write may follow that wakes it */
                klet_pod_enqueue_at(c->pod, c->start_at);
        }
    }
    return c->state == C_RUNNING || c->state == C_ENDED;
}

/* Init containers one after the other; a sidecar lets the next begin as soon as it is up. */
static bool step_inits(struct klet_pod *p, int *starts) {
    for (uint32_t i = 0; i < p->n_cs && p->cs[i].role != ROLE_MAIN; i++) {
        struct klet_container *c = &p->cs[i];
        if (c->role == ROLE_SIDECAR) {
            const bool on = step_container(c, starts) && c->up;
            if (!on && !p->inited)
                return false;
            continue;
        }
        if (p->inited || (c->state == C_ENDED && c->now.code == 0))
            continue;
        (void)step_container(c, starts);
        if (c->state == C_ENDED && c->now.code != 0 && !klet_container_restarts(c, c->now.code))
            klet_pod_stop(p, NULL, NULL);
        if (!(c->state == C_ENDED && c->now.code == 0))
            return false;
    }
    p->inited = true;
    return true;
}

static bool have_volumes(struct klet_pod *p) {
    struct sl_err err = {0};

    if (p->local->volumes)
        return true;
    if (!klet_refs_get(p))
        return false;
    const int r = klet_volumes_make(p, &err);
    if (r == 0) {
        p->local->volumes = true;
        return true;
    }
    klet_refs_again(p);
    for (uint32_t i = 0; i < p->n_cs; i++)
        if (p->cs[i].state == C_WAITING) {
            if (i == 0 && (!p->cs[i].message || strcmp(p->cs[i].message, err.text) != 0))
                klet_container_event(&p->cs[i], true, "FailedMount", err.text);
            sl_freep(&p->cs[i].message);
            p->cs[i].message = sl_strdup(err.text);
            p->cs[i].start_at =
                p->rt->client->mono + (r == SL_ELIMIT ? TOO_LARGE_AGAIN : VOLUMES_AGAIN);
        }
    return false;
}

/* Does any container wait to be started now? */
static bool wants_start(const struct klet_pod *p) {
    for (uint32_t i = 0; i < p->n_cs; i++)
        if ((p->cs[i].state == C_WAITING && p->cs[i].start_at <= p->rt->client->mono) ||
            p->cs[i].state == C_ENDED)
            return true;
    return false;
}

static void run_pod(struct klet_pod *p) {
    int starts = STARTS_AT_ONCE;
    bool left = false;

    if (wants_start(p) && !have_volumes(p)) {
        for (uint32_t i = 0; i < p->n_cs; i++)
            if (p->cs[i].state == C_WAITING && p->cs[i].start_at > p->rt->client->mono)
                klet_pod_enqueue_at(p, p->cs[i].start_at);
        return;
    }
    if (!step_inits(p, &starts))
        return;
    for (uint32_t i = 0; i < p->n_cs; i++) {
        struct klet_container *c = &p->cs[i];
        if (c->role != ROLE_MAIN)
            continue;
        (void)step_container(c, &starts);
        left |= c->state != C_ENDED || klet_container_restarts(c, c->now.code);
        if (klet_container_blocks_others(c))
            break;
    }
    if (!left)
        klet_pod_stop(p, NULL, NULL); /* its sidecars */
}

/* Nothing of it runs any more. */
static void finish_pod(struct klet_pod *p) {
    bool good = !p->reason;
    char path[PATH_MAX];

    for (uint32_t i = 0; i < p->n_cs; i++) {
        struct klet_container *c = &p->cs[i];
        if (c->state != C_ENDED && c->role == ROLE_MAIN) {
            c->now = c->last.is ? c->last : lost_ending(0, p->rt->client->wall);
            c->last = (struct klet_ending){.is = false};
            c->state = C_ENDED;
            c->waiting = NULL;
            good &= c->now.code == 0 && !strcmp(c->now.reason, "Completed");
        }
        good &= c->role == ROLE_SIDECAR || (c->state == C_ENDED && c->now.code == 0) ||
                (c->role == ROLE_INIT && p->inited);
    }
    p->ended = true;
    p->phase = good ? "Succeeded" : "Failed";
    sl_fmt(path, sizeof path, "%s", p->local->folder);
    klet_folder_remove(path);
}

void klet_pod_sync(struct klet_pod *p) {
    bool busy = false;

    if (!p->start)
        p->start = p->rt->client->wall;
    if (p->deadline == SL_TIME_NEVER) {
        const int64_t active =
            sl_json_int(yyjson_doc_get_root(p->local->doc), "spec.activeDeadlineSeconds", -1);
        if (active >= 0 && active < INT32_MAX)
            p->deadline = p->rt->client->mono + active * SL_SEC;
    }
    if (p->deleting)
        klet_pod_stop(p, NULL, NULL);
    if (p->rt->client->mono >= p->deadline)
        klet_pod_stop(p, "DeadlineExceeded",
                      "Pod was active on the node longer than the specified deadline");
    if (!p->stopping) {
        klet_pod_enqueue_at(p, p->deadline);
        run_pod(p);
        klet_tokens_tick(p);
    }
    for (uint32_t i = 0; i < p->n_cs; i++) {
        klet_container_tick(&p->cs[i]);
        busy |= p->cs[i].proc != NULL;
    }
    if (p->stopping && !busy)
        finish_pod(p);
    klet_pod_report_status(p);
}
