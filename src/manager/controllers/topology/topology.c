/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, topologies, flavors, and pods of others: what there is to give places in. */
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/core/ceilings.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/provisioning/capacity.h"
#include "manager/controllers/topology/tas.h"

void mgr_tas_new(struct sl_manager *m) {
    m->tas = sl_alloc0(1, sizeof *m->tas);
}

void mgr_tas_end(struct sl_manager *m) {
    sl_topo_free(m->tas->topo);
    sl_freep(&m->tas);
}

bool mgr_tas_runs(const struct sl_manager *m) {
    return m->tas->topo;
}

void mgr_tas_sweep(struct sl_manager *m) {
    if (m->tas->topo && sl_topo_sweep_due(m->tas->topo))
        sl_topo_sweep(m->tas->topo);
}

void mgr_tas_pod_left(struct sl_manager *m) {
    m->tas->node_failed |= m->tas->replacement_pending;
}

struct sl_engine *mgr_tas_engine(struct sl_manager *m) {
    struct sl_placer placer = {
        .ctx = m,
        .place = mgr_tas_place,
        .undo = mgr_tas_undo,
        .set_aside = mgr_tas_set_aside,
        .could = mgr_tas_would_fit,
        .soon = mgr_exact_soon,
        .later = mgr_exact_later,
        .forgo = mgr_exact_forgo,
    };
    if (m->spec.parts.tas && m->settings->gates[SL_G_TOPOLOGY_AWARE_SCHEDULING])
        m->tas->topo = sl_topo_new();
    return sl_engine_new(m->tas->topo ? &placer : NULL);
}

static void mark_places_changed(struct sl_manager *m, bool news) {
    m->tas->places_news |= news;
}

void mgr_tas_requeue_refused(struct sl_manager *m) {
    if (!m->tas->places_news)
        return;
    m->tas->places_news = false;
    m->tas->node_failed |= m->tas->replacement_pending;
    mgr_exact_retry_late(m);
    m->facts = true;
    sl_engine_places_changed(m->engine);
}

/* ---- nodes ---- */

static struct sl_labels read_labels(yyjson_val *map, struct sl_arena *a) {
    struct sl_label *v = sl_arena_alloc0(a, yyjson_obj_size(map) + 1, sizeof *v);
    struct sl_labels ret = {v, 0};
    size_t i, n;
    yyjson_val *key, *val;
    sl_obj_foreach (map, i, n, key, val)
        if (yyjson_is_str(val))
            v[ret.n++] = (struct sl_label){sl_arena_strdup(a, sl_json_text(key)),
                                           sl_arena_strdup(a, sl_json_text(val))};
    return ret;
}

static void read_taints(yyjson_val *list, struct sl_arena *a, struct sl_topo_node *ret) {
    struct sl_taint *v = sl_arena_alloc0(a, yyjson_arr_size(list) + 1, sizeof *v);
    struct sl_err err;
    size_t i, n;
    yyjson_val *x;
    ret->taints = v;
    yyjson_arr_foreach (list, i, n, x) {
        struct sl_taint *t = &v[ret->n_taints];
        *t = (struct sl_taint){.key = sl_arena_strdup(a, sl_json_str(x, "key")),
                               .value = sl_arena_strdup(a, sl_json_str(x, "value"))};
        if (sl_taint_effect_parse(sl_json_str(x, "effect"), &t->effect, &err) >= 0)
            ret->n_taints++;
    }
}

static void read_allocatable(yyjson_val *map, struct sl_arena *a, struct sl_topo_node *ret) {
    struct sl_request *v = sl_arena_alloc0(a, yyjson_obj_size(map) + 1, sizeof *v);
    size_t i, n;
    yyjson_val *key, *val;
    ret->allocatable = v;
    sl_obj_foreach (map, i, n, key, val) {
        sl_quantity q = 0;
        if (!sl_json_quantity(val, &q))
            continue;
        v[ret->n_allocatable++] = (struct sl_request){sl_json_text(key), q};
    }
}

static bool is_ready(yyjson_val *conditions) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (conditions, i, n, c)
        if (strcmp(sl_json_str(c, "type"), "Ready") == 0)
            return strcmp(sl_json_str(c, "status"), "True") == 0;
    return false;
}

bool mgr_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_node *node = SL_CONTAINER_OF(r, struct mgr_rec_node, rec);
    yyjson_val *labels = sl_json_at(o, "metadata.labels"), *taints = sl_json_at(o, "spec.taints"),
               *allocatable = sl_json_at(o, "status.allocatable");
    bool ready = is_ready(sl_json_at(o, "status.conditions"));
    struct sl_topo_node n = {.name = r->name,
                             .usable = !sl_json_bool(o, "spec.unschedulable", false) && ready};
    uint64_t hash = sl_hash_u64(sl_hash_u64(1, n.usable), ready);
    hash = sl_hash_u64(sl_json_hash(sl_json_hash(hash, labels), taints), 2);
    hash = sl_json_hash(hash, allocatable);
    struct sl_arena arena;
    if (hash == node->hash)
        return false;
    node->hash = hash;
    node->ready = ready;
    m->tas->node_failed |= !ready;
    sl_arena_init(&arena, CEILING_NODE);
    n.labels = read_labels(labels, &arena);
    read_taints(taints, &arena, &n);
    read_allocatable(allocatable, &arena, &n);
    if (sl_arena_full(&arena)) { /* which is as if it were not there */
        sl_log(SL_LOG_WARN, "node ignored: too many labels, taints and resources",
               SL_S("node", r->name), SL_I("limit", CEILING_NODE));
        if (m->tas->topo)
            mark_places_changed(m, sl_topo_node_gone(m->tas->topo, r->name));
        mgr_capacity_node_gone(m, r->name);
    } else {
        if (m->tas->topo)
            mark_places_changed(m, sl_topo_node(m->tas->topo, &n));
        mgr_capacity_node(m, &n);
    }
    sl_arena_done(&arena);
    return false; /* applied; there is nothing left to reconcile */
}

void mgr_node_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    m->tas->node_failed = true;
    if (m->tas->topo)
        mark_places_changed(m, sl_topo_node_gone(m->tas->topo, r->name));
    mgr_capacity_node_gone(m, r->name);
}

/* ---- topologies ---- */

/* What a flavor is depends on the topology that it names. */
static void report_flavors(struct sl_manager *m, const char *topology) {
    sl_sym name = sl_sym_find(m->syms, topology);
    uint32_t at = 0;
    for (struct sl_rec *f; (f = sl_inf_each(m->inf, REC_FLAVOR, &at));)
        if (mgr_conf_of(f)->refers == name)
            mgr_conf_resync(f);
}

/* Returns how many there are; no more than the ceiling go into ret. */
static uint32_t read_levels(yyjson_val *topology, const char *ret[SL_TOPO_MAX_LEVELS]) {
    yyjson_val *list = sl_json_at(topology, "spec.levels"), *v;
    size_t i, n;
    uint32_t count = 0;
    yyjson_arr_foreach (list, i, n, v)
        if (count++ < SL_TOPO_MAX_LEVELS)
            ret[count - 1] = sl_json_str(v, "nodeLabel");
    return count;
}

void mgr_topology_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    const char *levels[SL_TOPO_MAX_LEVELS];
    sl_rec_write(r);
    if (c->applied == c->hash)
        return;
    c->applied = c->hash;
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    uint32_t n = read_levels(yyjson_doc_get_root(d), levels);
    if (n > SL_TOPO_MAX_LEVELS) { /* half of it would place pods in the wrong domains */
        sl_log(SL_LOG_WARN, "Topology ignored: too many levels", SL_S("name", r->name),
               SL_I("levels", n), SL_I("limit", SL_TOPO_MAX_LEVELS));
        mark_places_changed(m, sl_topo_levels_gone(m->tas->topo, r->name));
    } else {
        mark_places_changed(m, sl_topo_levels(m->tas->topo, r->name, levels, n));
    }
    yyjson_doc_free(d);
    report_flavors(m, r->name);
}

void mgr_topology_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    mark_places_changed(m, sl_topo_levels_gone(m->tas->topo, r->name));
    report_flavors(m, r->name);
}

/* Kept from going while a flavor names it. */
bool mgr_topology_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    sl_sym name = sl_sym_find(m->syms, r->name);
    uint32_t at = 0;
    if (r->finalizer != r->deleting)
        return false;
    for (struct sl_rec *f; r->deleting && (f = sl_inf_each(m->inf, REC_FLAVOR, &at));)
        if (mgr_conf_of(f)->refers == name)
            return false;
    sl_rec_build_finalizer(r, !r->deleting, w);
    return true;
}

/* ---- flavors ---- */

void mgr_tas_flavor(struct sl_manager *m, struct sl_rec *r, struct sl_flavor_spec *f,
                    struct sl_arena *a) {
    const char *levels[SL_TOPO_MAX_LEVELS];
    if (!m->tas->topo)
        return;
    yyjson_doc *d = yyjson_read(mgr_conf_of(r)->text, strlen(mgr_conf_of(r)->text), 0);
    f->topology = sl_arena_strdup(a, sl_json_str(yyjson_doc_get_root(d), "spec.topologyName"));
    yyjson_doc_free(d);
    mgr_conf_of(r)->refers = sl_sym_put(m->syms, f->topology);
    mark_places_changed(m, sl_topo_flavor(m->tas->topo, f, f->topology));
    struct sl_rec *t = *f->topology ? sl_inf_find(m->inf, REC_TOPOLOGY, "", f->topology) : NULL;
    if (!t)
        return;
    d = yyjson_read(mgr_conf_of(t)->text, strlen(mgr_conf_of(t)->text), 0);
    f->n_levels = read_levels(yyjson_doc_get_root(d), levels);
    if (f->n_levels > SL_TOPO_MAX_LEVELS) /* it is passed over, as if it were not there */
        f->n_levels = 0;
    const char **v = sl_arena_alloc0(a, f->n_levels + 1, sizeof *v);
    for (uint32_t i = 0; i < f->n_levels; i++)
        v[i] = sl_arena_strdup(a, levels[i]);
    f->levels = v;
    yyjson_doc_free(d);
    mgr_pods_watch_nodes(m); /* whatever stands on a node may be in the way now */
}

bool mgr_tas_is_used(const struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; m->tas->topo && (r = sl_inf_each(m->inf, REC_FLAVOR, &at));)
        if (strstr(mgr_conf_of(r)->text, "\"topologyName\""))
            return true;
    return false;
}

void mgr_tas_flavor_gone(struct sl_manager *m, const struct sl_rec *r) {
    if (m->tas->topo)
        mark_places_changed(m, sl_topo_flavor_gone(m->tas->topo, r->name));
}

/* ---- pods that no topology placed ---- */

static void count(struct sl_manager *m, struct mgr_rec_pod *p, struct mgr_pod_shape *now) {
    struct mgr_pod_shape *old = p->counted;
    const char *node = mgr_str(m, p->node);
    if (now == old)
        return;
    p->counted = now;
    if (now) {
        now->refs++;
        mark_places_changed(m, sl_topo_add_foreign_pods(m->tas->topo, node, now->v, now->n, 1));
    }
    if (old) {
        mark_places_changed(m, sl_topo_add_foreign_pods(m->tas->topo, node, old->v, old->n, -1));
        mgr_pod_shape_unref(m, old);
    }
}

void mgr_tas_pod_changed(struct sl_manager *m, struct mgr_rec_pod *p) {
    if (m->tas->topo)
        count(m, p, p->topology || !p->node ? NULL : p->shape);
}

void mgr_tas_pod_gone(struct sl_manager *m, struct mgr_rec_pod *p) {
    if (m->tas->topo)
        count(m, p, NULL);
}
