/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a Workload, from JSON to its record. */
#include <string.h>

#include "lib/json/json.h"
#include "manager/controllers/workload/workload_int.h"

#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */

static void read_conds(struct sl_manager *m, struct mgr_wl_status *s, yyjson_val *list) {
    size_t i, n, total = yyjson_arr_size(list);
    yyjson_val *v;
    s->conds.v = sl_realloc(NULL, total, sizeof *s->conds.v); /* no more than there are */
    s->conds.cap = (uint32_t)total;
    yyjson_arr_foreach (list, i, n, v) {
        const char *status = sl_json_str(v, "status");
        s->conds.v[s->conds.n++] = (struct mgr_cond){
            .type = sl_sym_put(m->syms, sl_json_str(v, "type")),
            .reason = sl_sym_put(m->syms, sl_json_str(v, "reason")),
            .status = strcmp(status, "True") == 0    ? COND_TRUE
                      : strcmp(status, "False") == 0 ? COND_FALSE
                                                     : COND_UNKNOWN,
            .generation = sl_json_int(v, "observedGeneration", 0),
            .at = sl_json_time(v, "lastTransitionTime"),
            .message = sl_strdup(sl_json_str(v, "message")),
        };
    }
}

static sl_amount read_amount(const char *resource, yyjson_val *v) {
    sl_quantity q = 0;
    if (!sl_json_quantity(v, &q))
        q = 0;
    return sl_amount_of_request(resource, q);
}

static void read_assigned(struct sl_manager *m, struct mgr_wl_podset_admission *p, yyjson_val *v) {
    yyjson_val *flavors = yyjson_obj_get(v, "flavors"), *usage = yyjson_obj_get(v, "resourceUsage"),
               *key, *val;
    _cleanup_(sl_json_fields_done) struct sl_json_fields f = sl_json_fields_of(flavors);
    _cleanup_(sl_json_fields_done) struct sl_json_fields u = sl_json_fields_of(usage);
    size_t i, n, total = yyjson_obj_size(flavors);
    sl_obj_foreach (usage, i, n, key, val)
        total += !sl_json_field(&f, sl_json_view(key));
    p->v = sl_alloc0(total, sizeof *p->v); /* all: what is left out is given to others again */
    sl_obj_foreach (flavors, i, n, key, val) {
        const char *name = sl_json_text(key), *flavor = sl_json_text(val);
        yyjson_val *used = sl_json_field(&u, sl_json_view(key));
        p->v[p->n++] = (struct mgr_wl_assigned){
            sl_sym_put(m->syms, name), sl_sym_put(m->syms, flavor), read_amount(name, used), !used};
    }
    sl_obj_foreach (usage, i, n, key, val) {
        const char *name = sl_json_text(key);
        if (!sl_json_field(&f, sl_json_view(key)))
            p->v[p->n++] = (struct mgr_wl_assigned){sl_sym_put(m->syms, name), 0,
                                                    read_amount(name, val), false};
    }
}

static char *read_topology(yyjson_val *v) {
    yyjson_val *t = sl_json_at(v, "topologyAssignment"),
               *d = sl_json_at(v, "delayedTopologyRequest");
    if (!t && !d)
        return NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    if (t)
        sl_jw_val(&j, "topologyAssignment", t);
    if (d)
        sl_jw_val(&j, "delayedTopologyRequest", d);
    sl_jw_end(&j);
    char *s = sl_strdup(sl_buf_str(&b));
    return s;
}

static struct mgr_wl_admission *read_admission(struct sl_manager *m, yyjson_val *o) {
    yyjson_val *list = yyjson_obj_get(o, "podSetAssignments"), *v;
    size_t i, n, total = yyjson_arr_size(list);
    if (!o)
        return NULL;
    struct mgr_wl_admission *a = sl_alloc0(1, sizeof *a);
    a->cq = sl_sym_put(m->syms, sl_json_str(o, "clusterQueue"));
    a->v = sl_alloc0(total, sizeof *a->v);
    yyjson_arr_foreach (list, i, n, v) {
        struct mgr_wl_podset_admission *p = &a->v[a->n++];
        p->name = sl_sym_put(m->syms, sl_json_str(v, "name"));
        p->count = (int32_t)sl_json_int(v, "count", 0);
        p->topology = read_topology(v);
        read_assigned(m, p, v);
    }
    return a;
}

static void read_checks(struct sl_manager *m, struct mgr_wl_status *s, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v, *updates;
    yyjson_arr_foreach (list, i, n, v) {
        struct sl_buf b;
        struct sl_err err;
        int state = SL_CHECK_PENDING;
        if (sl_word_parse(SL_VOCAB_CHECK_STATE, sl_json_str(v, "state"), &state, &err) < 0)
            state = SL_CHECK_PENDING;
        struct mgr_wl_check *c = sl_vec_push(&s->checks);
        *c = (struct mgr_wl_check){
            .name = sl_sym_put(m->syms, sl_json_str(v, "name")),
            .state = (enum sl_check_state)state,
            .at = sl_json_time(v, "lastTransitionTime"),
            .message = sl_strdup(sl_json_str(v, "message")),
            .requeue_after_s = sl_json_int(v, "requeueAfterSeconds", -1),
            .retries = (int32_t)sl_json_int(v, "retryCount", -1),
        };
        updates = sl_json_at(v, "podSetUpdates");
        if (!updates)
            continue;
        sl_buf_init(&b, MAX_TEXT);
        sl_json_put(&b, updates);
        c->updates = sl_strdup(sl_buf_str(&b));
        sl_buf_done(&b);
    }
}

static void read_evictions(struct sl_manager *m, struct mgr_wl_status *s, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v)
        *sl_vec_push(&s->evictions) = (struct mgr_wl_eviction){
            sl_sym_put(m->syms, sl_json_str(v, "reason")),
            sl_sym_put(m->syms, sl_json_str(v, "underlyingCause")), sl_json_int(v, "count", 0)};
}

static int32_t *read_reclaimable(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                 yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    if (!yyjson_arr_size(list) || !w->n_podsets)
        return NULL;
    int32_t *counts = sl_alloc0(w->n_podsets, sizeof *counts);
    yyjson_arr_foreach (list, i, n, v)
        for (uint32_t p = 0; p < w->n_podsets; p++)
            if (strcmp(mgr_str(m, w->podsets[p].name), sl_json_str(v, "name")) == 0)
                counts[p] = (int32_t)sl_json_int(v, "count", 0);
    return counts;
}

void mgr_wl_status_read(struct sl_manager *m, struct mgr_rec_wl *w, yyjson_val *o) {
    struct mgr_wl_status *s = &w->seen;
    mgr_wl_status_done(s);
    read_conds(m, s, yyjson_obj_get(o, "conditions"));
    s->admission = read_admission(m, sl_json_at(o, "admission"));
    read_checks(m, s, yyjson_obj_get(o, "admissionChecks"));
    read_evictions(m, s, sl_json_at(o, "schedulingStats.evictions"));
    s->requeues = (int32_t)sl_json_int(o, "requeueState.count", 0);
    s->requeue_at = sl_json_time(o, "requeueState.requeueAt");
    s->past_exec_s = sl_json_int(o, "accumulatedPastExecutionTimeSeconds", -1);
    s->reclaimable = read_reclaimable(m, w, yyjson_obj_get(o, "reclaimablePods"));
    s->gates = mgr_wl_gates_read(m, yyjson_obj_get(o, "preemptionGates"));
    s->names = sl_json_at(o, "clusterName") || sl_json_at(o, "nominatedClusterNames") ||
               sl_json_at(o, "unhealthyNodes");
    s->requests = sl_json_at(o, "resourceRequests") != NULL;
}
