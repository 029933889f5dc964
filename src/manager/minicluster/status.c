/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a cluster. Conditions are the Flux Operator's, all of them always there, and one
 * that says who makes the objects; where that is the Flux Operator, ours is added to its own, with
 * the status False: it sets all but one to False itself.
 */
#include <string.h>

#include "core/base/mem.h"
#include "manager/minicluster/mc_int.h"

static const char *const types[MC_CONDITIONS] = {
    [MC_REQUESTED] = "JobRequested", [MC_WAITING] = "JobWaitingForResources",
    [MC_RUNNING] = "JobRunning",     [MC_READY] = "JobMiniClusterReady",
    [MC_FINISHED] = "JobFinished",   [MC_CONTROLLED] = "ControlledBySluice",
};

struct state {
    bool on[MC_CONDITIONS];
    const char *reason[MC_CONDITIONS], *message[MC_CONDITIONS];
};

/* ---- what should be ---- */

static void decide(const struct sl_miniclusters *m, const struct mc_cluster *c, struct state *s) {
    const struct mc_job *job = mc_find_job(c);
    bool made = job && c->complete, suspended = job && job->suspended && !job->finished;
    *s = (struct state){0};
    for (int i = 0; i < MC_CONDITIONS; i++)
        s->reason[i] = s->message[i] = types[i];
    s->on[MC_REQUESTED] = !made;
    s->on[MC_WAITING] = made && suspended;
    s->on[MC_READY] = made && !suspended;
    s->on[MC_RUNNING] =
        made && !suspended && !job->finished && job->ready > 0 && job->ready >= job->parallelism;
    s->on[MC_FINISHED] = made && job->finished;
    s->on[MC_CONTROLLED] = !m->yields;
    s->reason[MC_CONTROLLED] = m->yields ? "FluxOperator" : "Sluice";
    s->message[MC_CONTROLLED] =
        m->yields ? "miniCluster.controller is FluxOperator: it makes the objects, and Sluice "
                    "queues the Job"
                  : "miniCluster.controller is Sluice: it makes the objects and queues the Job";
    if (c->error) {
        s->reason[MC_REQUESTED] = "InvalidSpec";
        s->message[MC_REQUESTED] = c->error;
    } else if (c->trouble) {
        s->reason[MC_REQUESTED] = "ObjectRefused";
        s->message[MC_REQUESTED] = c->trouble;
    }
}

static void put_condition(struct sl_jw *j, const struct state *s, int i, sl_time since) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", types[i]);
    sl_jw_str(j, "status", s->on[i] ? "True" : "False");
    sl_jw_str(j, "reason", s->reason[i]);
    sl_jw_str(j, "message", s->message[i]);
    if (since)
        sl_jw_time(j, "lastTransitionTime", since);
    sl_jw_end(j);
}

/* now 0: without times. */
static void put_conditions(struct sl_jw *j, const struct mc_cluster *c, const struct state *s,
                           int first, sl_time now) {
    for (int i = first; i < MC_CONDITIONS; i++) {
        bool same = c->has[i] && c->is_true[i] == s->on[i] && c->since[i];
        put_condition(j, s, i, now && same ? c->since[i] : now);
    }
}

/* The maximum stays what it is at first: ranks are given up to it. */
static void put_numbers(struct sl_jw *j, const struct mc_cluster *c) {
    const struct mc_job *job = mc_find_job(c);
    sl_jw_int(j, "size", job ? job->parallelism : 0);
    sl_jw_int(j, "maximumSize", c->error ? c->maximum : mc_maximum(c));
    sl_jw_strf(j, "selector", MC_HPA_SELECTOR "=%s", c->rec.name);
    sl_jw_str(j, "jobid", job ? job->rec.uid : "");
}

static void put_status(const struct sl_miniclusters *m, struct sl_jw *j, const struct mc_cluster *c,
                       sl_time now) {
    struct state s;
    decide(m, c, &s);
    if (!m->yields)
        put_numbers(j, c);
    sl_jw_array(j, "conditions");
    if (m->yields && c->conditions && now)
        sl_jw_items(j, c->conditions);
    put_conditions(j, c, &s, m->yields ? MC_CONTROLLED : 0, now);
    sl_jw_end(j);
}

/* ---- as observed ---- */

static void take_condition(struct mc_cluster *c, int i, yyjson_val *v) {
    c->has[i] = v != NULL;
    c->is_true[i] = strcmp(sl_json_str(v, "status"), "True") == 0;
    c->since[i] = sl_json_time(v, "lastTransitionTime");
}

static void put_seen(struct sl_jw *j, yyjson_val *conditions, int i) {
    yyjson_val *v = sl_json_find(conditions, "type", types[i]);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", types[i]);
    sl_jw_str(j, "status", sl_json_str(v, "status"));
    sl_jw_str(j, "reason", sl_json_str(v, "reason"));
    sl_jw_str(j, "message", sl_json_str(v, "message"));
    sl_jw_end(j);
}

static bool replace(char **to, const char *text) {
    if (*to && strcmp(*to, text) == 0)
        return false;
    sl_freep(to);
    *to = sl_strdup(text);
    return true;
}

/* Conditions of others, for the list that is written back. */
static bool take_others(struct mc_cluster *c, yyjson_val *conditions) {
    struct sl_buf b = SL_BUF(MC_MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    size_t i, n;
    yyjson_val *v;
    sl_jw_array(&j, NULL);
    yyjson_arr_foreach (conditions, i, n, v) {
        if (strcmp(sl_json_str(v, "type"), types[MC_CONTROLLED]) != 0)
            sl_jw_val(&j, NULL, v);
    }
    sl_jw_end(&j);
    bool changed = replace(&c->conditions, sl_buf_full(&b) ? "[]" : sl_buf_str(&b));
    sl_buf_done(&b);
    return changed;
}

bool mc_status_take(struct mc_cluster *c, yyjson_val *status) {
    yyjson_val *conditions = sl_json_get(status, "conditions");
    struct sl_buf b = SL_BUF(MC_MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    for (int i = 0; i < MC_CONDITIONS; i++)
        take_condition(c, i, sl_json_find(conditions, "type", types[i]));
    c->maximum = sl_json_int32(status, "maximumSize", 0);
    sl_jw_object(&j, NULL);
    sl_jw_int(&j, "size", sl_json_int(status, "size", 0));
    sl_jw_int(&j, "maximumSize", c->maximum);
    sl_jw_str(&j, "selector", sl_json_str(status, "selector"));
    sl_jw_str(&j, "jobid", sl_json_str(status, "jobid"));
    sl_jw_array(&j, "conditions");
    for (int i = 0; i < MC_CONDITIONS; i++)
        put_seen(&j, conditions, i);
    sl_jw_end(&j);
    sl_jw_end(&j);
    bool changed = replace(&c->status, sl_buf_full(&b) ? "" : sl_buf_str(&b));
    sl_buf_done(&b);
    return take_others(c, conditions) || changed;
}

/* ---- the difference ---- */

/* Of a cluster of the Flux Operator ours is the last of its conditions: it makes its own when it
 * first sees the cluster, and only then. */
static bool may_write(const struct sl_miniclusters *m, const struct mc_cluster *c) {
    return !m->yields || c->has[MC_READY];
}

static bool yielded(const struct mc_cluster *c, const struct state *s) {
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(c->status, strlen(c->status));
    yyjson_val *v = sl_json_find(sl_json_at(yyjson_doc_get_root(d), "conditions"), "type",
                                 types[MC_CONTROLLED]);
    return c->has[MC_CONTROLLED] && !c->is_true[MC_CONTROLLED] &&
           strcmp(sl_json_str(v, "reason"), s->reason[MC_CONTROLLED]) == 0;
}

bool mc_status_differs(const struct sl_miniclusters *m, struct mc_cluster *c) {
    struct sl_buf b = SL_BUF(MC_MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    struct state s;
    decide(m, c, &s);
    if (!may_write(m, c) || (m->yields && yielded(c, &s)))
        return false;
    sl_jw_object(&j, NULL);
    put_status(m, &j, c, 0);
    sl_jw_end(&j);
    bool differs = !c->status || strcmp(sl_buf_str(&b), c->status) != 0;
    if (sl_buf_full(&b))
        differs = false;
    sl_buf_done(&b);
    return differs;
}

bool mc_status_build(struct sl_miniclusters *m, struct mc_cluster *c, struct sl_write *w) {
    if (!mc_status_differs(m, c))
        return false;
    sl_rec_build_guarded(&c->rec, "status", w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "status");
    put_status(m, &w->json, c, m->client->wall);
    sl_jw_end(&w->json);
    return true;
}
