/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LeaderWorkerSets. A slot is a group: a leader and its workers, each with a Workload of its own,
 * so that groups start one by one, each as a whole. Their API may be absent, or come later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manager/controllers/job/draft.h"
#include "manager/controllers/serving/serving.h"

#define Q "kueue.x-k8s.io/"
#define LWS "leaderworkerset.sigs.k8s.io/"
#define PARENT "leaderworkerset.x-k8s.io/leaderworkerset"
#define TEMPLATE "spec.leaderWorkerTemplate."
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define MAX_NAME 512u

static int32_t read_count(yyjson_val *o, const char *path, int32_t fallback) {
    int64_t v = sl_json_int(o, path, fallback);
    return v < 0 ? 0 : v > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)v;
}

/* What the controller of these sets writes into the templates, but for the name. */
static bool is_theirs(const char *key, bool label) {
    (void)label;
    return strncmp(key, LWS, strlen(LWS)) == 0 && strcmp(key, LWS "name") != 0;
}

static void put_podset(const struct sl_manager *m, const char *name, int32_t count,
                       yyjson_val *template, const char *index, struct sl_jw *out) {
    sl_jw_object(out, NULL);
    sl_jw_str(out, "name", name);
    sl_jw_int(out, "count", count);
    mgr_draft_put_template(template, is_theirs, out);
    mgr_draft_put_topology(m, sl_json_at(template, "metadata.annotations"), index, out);
    sl_jw_end(out);
}

/* While an update rolls on, there may be more groups than are wanted in the end. */
static int32_t with_surge(yyjson_val *o, int32_t replicas) {
    int32_t now = read_count(o, "status.replicas", 0);
    bool surge =
        sl_json_int(o, "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge", 0) > 0 &&
        read_count(o, "status.updatedReplicas", 0) < replicas;
    return surge && now > replicas ? now : replicas;
}

static void read_set(struct sl_manager *m, struct mgr_rec_set *s, yyjson_val *o, bool ours) {
    yyjson_val *leader = sl_json_at(o, TEMPLATE "leaderTemplate"),
               *worker = sl_json_at(o, TEMPLATE "workerTemplate");
    const char *class = sl_json_str(leader, "spec.priorityClassName");
    struct sl_buf b;

    s->size = read_count(o, TEMPLATE "size", 1);
    s->replicas = with_surge(o, read_count(o, "spec.replicas", 1));
    s->leader = leader != NULL;
    sl_freep(&s->podsets);
    sl_freep(&s->pod_class);
    if (!ours)
        return;
    sl_buf_init(&b, MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_array(&j, NULL);
    if (leader)
        put_podset(m, "leader", 1, leader, NULL, &j);
    put_podset(m, leader ? "worker" : "main", leader && s->size ? s->size - 1 : s->size, worker,
               LWS "worker-index", &j);
    sl_jw_end(&j);
    s->podsets = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    if (!*class)
        class = sl_json_str(worker, "spec.priorityClassName");
    s->pod_class = *class ? sl_strdup(class) : NULL;
}

/* Its group may be known a little later than the pod. */
static bool read_pod(struct sl_manager *m, struct mgr_serving_pod *p, yyjson_val *o) {
    const char *set = sl_json_label(o, LWS "name"), *group = sl_json_label(o, LWS "group-index");
    size_t digits = strspn(group, "0123456789");
    if (!*set)
        return false;
    p->set = sl_sym_put(m->syms, set);
    p->slot = digits && !group[digits] && digits <= 9 ? (int32_t)strtol(group, NULL, 10) : -1;
    p->worker = *sl_json_annotation(o, LWS "leader-name") != '\0';
    return true;
}

static int32_t slots(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    (void)m, (void)w;
    return 1;
}

static bool unlike(const struct sl_manager *m, const struct mgr_rec_set *s,
                   const struct mgr_rec_wl *w) {
    (void)m;
    if (!s->leader)
        return w->n_podsets != 1 || w->podsets[0].count != s->size;
    return w->n_podsets != 2 || w->podsets[0].count + w->podsets[1].count != s->size;
}

static void put_name(const struct sl_manager *m, const struct mgr_rec_set *s, int32_t first,
                     struct sl_buf *out) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(MAX_NAME);
    sl_buf_printf(&name, "%s-%d", s->rec.name, first);
    mgr_wl_name(out, "LeaderWorkerSet", "leaderworkerset.x-k8s.io", sl_buf_str(&name),
                s->origin ? s->origin : s->rec.uid, "",
                m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
}

/* The first group that has none. */
static struct mgr_serving_plan plan(const struct sl_manager *m, const struct mgr_rec_set *s,
                                    const struct mgr_serving_parts *parts) {
    int32_t next = 0;
    (void)m;
    for (uint32_t i = 0; i < parts->v.n && parts->v.v[i].first <= next; i++)
        next = parts->v.v[i].first + 1;
    return next < s->replicas
               ? (struct mgr_serving_plan){.step = SERVING_CREATE, .first = next, .count = 1}
               : (struct mgr_serving_plan){.step = SERVING_REST};
}

static void put_podsets(const struct mgr_rec_set *s, int32_t count, struct sl_jw *out) {
    (void)count;
    sl_jw_items(out, s->podsets);
}

static int32_t total(const struct mgr_rec_set *s, const struct mgr_serving_part *part) {
    (void)part;
    return s->size;
}

static void put_entry(const struct mgr_rec_set *s, const struct mgr_serving_pod *p,
                      struct sl_jw *out) {
    sl_jw_str(out, Q "role-hash", !s->leader ? "main" : p->worker ? "worker" : "leader");
}

const struct mgr_serving_kind mgr_serving_lws = {
    .kind = REC_LWS,
    .fw = SL_FW_LEADERWORKERSET,
    .controller = PARENT "-kueue-controller",
    .parent = PARENT,
    .read = read_set,
    .read_pod = read_pod,
    .slots = slots,
    .unlike = unlike,
    .plan = plan,
    .put_podsets = put_podsets,
    .put_name = put_name,
    .put_entry = put_entry,
    .total = total,
};
