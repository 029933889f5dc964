/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, and the pods on them. */
#include "cluster/scheduler/ceilings.h"
#include "cluster/scheduler/scheduler_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/quantity.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define NOT_READY "node.kubernetes.io/not-ready"

uint32_t sched_column(struct sched *s, const char *resource) {
    sl_sym y = sl_sym_find(&s->resources, resource);
    if (y != SL_MAP_NONE)
        return y;
    return s->resources.n < SCHED_MAX_RESOURCES ? sl_sym_put(&s->resources, resource) : UINT32_MAX;
}

struct sched_place *sched_place(struct sched *s, sl_sym name) {
    uint32_t i = sl_map_get(&s->place_by_name, name);
    if (i == SL_MAP_NONE) {
        i = s->free_places.n ? sl_vec_pop(&s->free_places) : s->places.n;
        if (i == s->places.n)
            (void)sl_vec_push(&s->places);
        s->places.v[i] = (struct sched_place){.name = name};
        sl_map_add(&s->place_by_name, name, i);
    }
    return &s->places.v[i];
}

/* Neither node nor pod refers to it: names of nodes come and go. A holder of its number looks it up
 * again when a node is added (epoch). */
static void leave_place(struct sched *s, struct sched_place *p) {
    uint32_t i = (uint32_t)(p - s->places.v);
    if (p->node || p->n_pods)
        return;
    (void)sl_map_del(&s->place_by_name, p->name, i);
    sl_vec_free(&p->used);
    sl_vec_free(&p->ports);
    *p = (struct sched_place){0};
    *sl_vec_push(&s->free_places) = i;
}

static void add_amount(sched_amounts *v, uint32_t column, int64_t amount) {
    while (v->n <= column)
        *sl_vec_push(v) = 0;
    v->v[column] += amount;
}

void sched_count(struct sched *s, const struct sched_class *k, sl_sym place, int sign) {
    struct sched_place *p = sched_place(s, place);
    p->n_pods += sign;
    for (uint32_t i = 0; i < k->n_needs; i++)
        add_amount(&p->used, k->needs[i].column, sign * k->needs[i].amount);
    for (uint32_t i = 0; i < k->n_ports; i++) {
        if (sign > 0) {
            *sl_vec_push(&p->ports) = k->ports[i];
            continue;
        }
        for (uint32_t j = 0; j < p->ports.n; j++)
            if (p->ports.v[j] == k->ports[i]) {
                p->ports.v[j] = sl_vec_last(&p->ports);
                p->ports.n--;
                break;
            }
    }
    if (k->pod_terms && k->pod_terms->by[TERM_ANTI_AFFINITY])
        s->n_anti_affinity = (uint32_t)((int64_t)s->n_anti_affinity + sign);
    s->capacity_freed |= sign < 0;
    leave_place(s, p);
}

const char *sched_node_label(const struct sl_rec *node, const char *key) {
    return sl_labels_get(&SL_CONTAINER_OF(node, const struct sched_node, rec)->labels, key);
}

bool sched_node_matches(const struct sched_class *k, const struct sched_node *n) {
    for (uint32_t i = 0; i < k->selector.n; i++) {
        const char *v = sl_labels_get(&n->labels, k->selector.v[i].key);
        if (!v || strcmp(v, k->selector.v[i].value) != 0)
            return false;
    }
    return sched_required_match(&k->required, n);
}

const char *sched_taint_reason(const struct sched_class *k, const struct sched_node *n) {
    static const struct sl_taint cordon = {"node.kubernetes.io/unschedulable", "",
                                           SL_TAINT_NO_SCHEDULE};
    if (n->over_limit)
        return "node(s) had too many labels and taints";
    if (n->unschedulable && !sl_taint_tolerated(&cordon, k->tolerations, k->n_tolerations))
        return "node(s) were unschedulable";
    for (uint32_t i = 0; i < n->n_taints; i++)
        if (!sl_taint_tolerated(&n->taints[i], k->tolerations, k->n_tolerations))
            return "node(s) had untolerated taint(s)";
    return NULL;
}

/* ---- nodes ---- */

static bool is_ready(yyjson_val *status) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (yyjson_obj_get(status, "conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), "Ready") == 0)
            return strcmp(sl_json_str(v, "status"), "True") == 0;
    return true; /* one without it is taken as it is */
}

static void read_taints(struct sched_node *n, yyjson_val *list, bool ready) {
    size_t i, len, max = yyjson_arr_size(list) + 1;
    struct sl_taint *to = sl_arena_alloc(&n->arena, max * sizeof *to);
    struct sl_taint *soft = sl_arena_alloc(&n->arena, max * sizeof *soft);
    yyjson_val *v;
    n->n_taints = n->n_soft = 0;
    yyjson_arr_foreach (list, i, len, v) {
        struct sl_taint t = {sl_arena_strdup(&n->arena, sl_json_str(v, "key")),
                             sl_arena_strdup(&n->arena, sl_json_str(v, "value")), SL_TAINT_ANY};
        if (sl_taint_effect_parse(sl_json_str(v, "effect"), &t.effect, NULL) < 0)
            continue;
        if (t.effect == SL_TAINT_NO_SCHEDULE || t.effect == SL_TAINT_NO_EXECUTE)
            to[n->n_taints++] = t;
        else if (t.effect == SL_TAINT_PREFER_NO_SCHEDULE)
            soft[n->n_soft++] = t;
    }
    if (!ready)
        to[n->n_taints++] = (struct sl_taint){NOT_READY, "", SL_TAINT_NO_SCHEDULE};
    n->taints = to;
    n->soft = soft;
}

static void read_amounts(struct sched *s, struct sched_node *n, yyjson_val *map) {
    size_t i, len;
    yyjson_val *k, *v;
    sl_vec_clear(&n->has);
    n->max_pods = INT64_MAX;
    sl_obj_foreach (map, i, len, k, v) {
        const char *name = sl_json_text(k);
        sl_quantity q;
        if (!yyjson_is_str(v) || !sl_json_quantity(v, &q))
            continue;
        uint32_t column = sched_column(s, name);
        sl_amount a = sl_amount_of_quota(name, q);
        if (strcmp(name, "pods") == 0)
            n->max_pods = a;
        else if (column != UINT32_MAX)
            add_amount(&n->has, column, a);
    }
}

bool sched_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_cluster *c = ctx;
    struct sched_node *n = sched_node_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    yyjson_val *labels = sl_json_at(o, "metadata.labels"),
               *amounts = sl_json_at(status, "allocatable");
    bool ready = is_ready(status);
    amounts = amounts ? amounts : sl_json_at(status, "capacity");
    uint64_t fixed = sl_hash_u64(sl_json_hash(1, labels), 2);
    fixed = sl_hash_u64(sl_json_hash(fixed, spec), 3);
    fixed = sl_hash_u64(sl_json_hash(fixed, amounts), ready);
    if (fixed == n->fixed)
        return false; /* a heartbeat */
    n->fixed = fixed;
    sl_arena_done(&n->arena);
    sl_arena_init(&n->arena, SCHED_MAX_NODE);
    cl_labels_read(&n->arena, labels, &n->labels);
    read_taints(n, sl_json_at(spec, "taints"), ready);
    n->unschedulable = sl_json_bool(spec, "unschedulable", false);
    read_amounts(c->schedule, n, amounts);
    n->over_limit = sl_arena_full(&n->arena);
    if (n->over_limit) { /* skipped: its labels and taints are incomplete */
        sl_arena_done(&n->arena);
        n->labels = (struct sl_labels){0};
        n->taints = n->soft = NULL;
        n->n_taints = n->n_soft = 0;
        sl_log(SL_LOG_WARN, "node ignored: too many labels and taints", SL_S("node", r->name));
    }
    return true;
}

void sched_node_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct sched *s = c->schedule;
    struct sched_place *p = sched_place(s, sl_sym_put(c->syms, r->name));
    if (sched_node_of(r)->over_limit)
        sl_rec_event(r, "default-scheduler", true, "NodePassedOver",
                     "labels and taints take more than %zu bytes of memory: no pod is placed here",
                     SCHED_MAX_NODE);
    if (!p->node)
        s->n_nodes++;
    p->node = sched_node_of(r);
    sched_node_of(r)->place = (uint32_t)(p - s->places.v);
    s->epoch++;
    s->capacity_freed = true;
}

void sched_node_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct sched *s = c->schedule;
    struct sched_place *p = sched_place(s, sl_sym_put(c->syms, r->name));
    if (p->node)
        s->n_nodes--;
    p->node = NULL;
    s->epoch++;
    leave_place(s, p);
}

void sched_node_done(struct sl_rec *r) {
    sl_arena_done(&sched_node_of(r)->arena);
    sl_vec_free(&sched_node_of(r)->has);
}
