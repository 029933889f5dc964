/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions with times, counts and portions: what Deployments, ReplicaSets and StatefulSets have
 * in common. */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "lib/json/json.h"

/* ---- conditions ---- */

static void condition_done(struct cl_condition *c) {
    sl_freep(&c->type);
    sl_freep(&c->status);
    sl_freep(&c->reason);
    sl_freep(&c->message);
}

void cl_conditions_done(struct cl_conditions *c) {
    for (uint32_t i = 0; i < c->n; i++)
        condition_done(&c->v[i]);
    sl_vec_free(c);
}

void cl_conditions_read(struct cl_conditions *c, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    cl_conditions_done(c);
    yyjson_arr_foreach (list, i, n, v) {
        *sl_vec_push(c) = (struct cl_condition){
            .type = sl_strdup(sl_json_str(v, "type")),
            .status = sl_strdup(sl_json_str(v, "status")),
            .reason = sl_strdup(sl_json_str(v, "reason")),
            .message = sl_strdup(sl_json_str(v, "message")),
            .updated = sl_json_time(v, "lastUpdateTime"),
            .changed = sl_json_time(v, "lastTransitionTime"),
        };
    }
}

void cl_conditions_copy(struct cl_conditions *to, const struct cl_conditions *from) {
    cl_conditions_done(to);
    for (uint32_t i = 0; i < from->n; i++) {
        const struct cl_condition *c = &from->v[i];
        *sl_vec_push(to) = (struct cl_condition){
            .type = sl_strdup(c->type),
            .status = sl_strdup(c->status),
            .reason = sl_strdup(c->reason),
            .message = sl_strdup(c->message),
            .updated = c->updated,
            .changed = c->changed,
        };
    }
}

const struct cl_condition *cl_condition(const struct cl_conditions *c, const char *type) {
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].type, type) == 0)
            return &c->v[i];
    return NULL;
}

void cl_condition_drop(struct cl_conditions *c, const char *type) {
    const struct cl_condition *was = cl_condition(c, type);

    if (!was)
        return;
    uint32_t at = (uint32_t)(was - c->v);
    condition_done(&c->v[at]);
    memmove(&c->v[at], &c->v[at + 1], (c->n - at - 1) * sizeof c->v[0]);
    c->n--;
}

bool cl_condition_set(struct cl_conditions *c, const char *type, const char *status,
                      const char *reason, const char *message, sl_time now) {
    const struct cl_condition *was = cl_condition(c, type);
    sl_time changed = now;

    if (was && strcmp(was->status, status) == 0) {
        if (strcmp(was->reason, reason) == 0)
            return false;
        changed = was->changed;
    }
    cl_condition_drop(c, type);
    *sl_vec_push(c) = (struct cl_condition){
        .type = sl_strdup(type),
        .status = sl_strdup(status),
        .reason = sl_strdup(reason),
        .message = sl_strdup(message),
        .updated = now,
        .changed = changed,
    };
    return true;
}

bool cl_conditions_same(const struct cl_conditions *a, const struct cl_conditions *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct cl_condition *x = &a->v[i], *y = &b->v[i];
        /* The API keeps whole seconds. */
        if (strcmp(x->type, y->type) != 0 || strcmp(x->status, y->status) != 0 ||
            strcmp(x->reason, y->reason) != 0 || strcmp(x->message, y->message) != 0 ||
            x->updated / SL_SEC != y->updated / SL_SEC ||
            x->changed / SL_SEC != y->changed / SL_SEC)
            return false;
    }
    return true;
}

void cl_conditions_put(struct sl_jw *j, const struct cl_conditions *c) {
    sl_jw_array(j, "conditions");
    for (uint32_t i = 0; i < c->n; i++) {
        const struct cl_condition *v = &c->v[i];
        sl_jw_object(j, NULL);
        sl_jw_str(j, "type", v->type);
        sl_jw_str(j, "status", v->status);
        if (v->updated)
            sl_jw_time(j, "lastUpdateTime", v->updated);
        if (v->changed)
            sl_jw_time(j, "lastTransitionTime", v->changed);
        if (*v->reason)
            sl_jw_str(j, "reason", v->reason);
        if (*v->message)
            sl_jw_str(j, "message", v->message);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

/* ---- numbers ---- */

void cl_count_put(struct sl_jw *j, const char *name, int64_t n, bool shown) {
    if (n || shown)
        sl_jw_int(j, name, n);
    else
        sl_jw_null(j, name); /* a merge patch: it goes */
}

int64_t cl_int_or_percent(yyjson_val *v, int64_t of, bool up) {
    const char *s = sl_json_opt(v);
    char *end;

    if (yyjson_is_int(v)) {
        int64_t n = yyjson_get_sint(v);
        return n >= 0 && n <= INT32_MAX ? n : -1;
    }
    if (!s)
        return -1;
    long long percent = strtoll(s, &end, 10);
    if (end == s || strcmp(end, "%") != 0 || percent < 0 || percent > INT32_MAX)
        return -1;
    return (percent * of + (up ? 99 : 0)) / 100;
}

struct cl_pod *cl_next_pod(struct sl_rec **at) {
    while (*at) {
        struct sl_rec *r = *at;
        *at = r->next;
        if (r->kind == K_POD)
            return cl_pod_of(r);
    }
    return NULL;
}

bool cl_pod_available(const struct sl_cluster *c, const struct cl_pod *p, int64_t min_ready,
                      sl_time *next) {
    sl_time at;

    if (!p->f.ready_since || p->rec.deleting)
        return false;
    at = sl_time_add(p->f.ready_since, min_ready * SL_SEC);
    if (min_ready == 0 || at <= c->client->wall)
        return true;
    if (next && (!*next || at < *next))
        *next = at;
    return false;
}

char *cl_message_of(const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        reply->status ? yyjson_read(reply->body, reply->len, 0) : NULL;
    const char *message = sl_json_str(yyjson_doc_get_root(d), "message");

    return sl_strdup(*message ? message : reply->text && *reply->text ? reply->text : "refused");
}
