/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact nodes: the Workloads of a ClusterQueue that says so get nodes of the live graph
 * (manager/fluxqueue/exact.h) with their quota, or wait for both.
 *
 * What a Workload has is written as the assignment of a topology whose only level is the hostname,
 * so that everything after the decision is as with a topology: pods are held back, get the node
 * selector of their node, and a node that fails is replaced. Podsets whose flavors have a topology
 * get their places there.
 *
 * Nodes that a ProvisioningRequest provides are not there when quota is reserved. Where such a
 * check applies, quota is reserved without nodes, and the check is not ready before nodes have been
 * found for all pods (mgr_exact_place_late).
 */
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/admission/fluxqueue.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/queue/limit_range.h"
#include "manager/controllers/topology/tas.h"
#include "manager/controllers/topology/topology.h"
#include "manager/fluxqueue/exact.h"

#define EXACT_NODES "sluice.dev/exact-nodes"
#define NOT_RUNNING "exact nodes are given by the controller fluxqueue, which does not run"

/* ---- which queues ---- */

enum { SAYS_NOTHING, SAYS_TRUE, SAYS_FALSE, SAYS_WRONG };

uint8_t mgr_exact_decode(yyjson_val *cq) {
    const char *value = sl_json_annotation_opt(cq, EXACT_NODES);
    return !value                        ? SAYS_NOTHING
           : strcmp(value, "true") == 0  ? SAYS_TRUE
           : strcmp(value, "false") == 0 ? SAYS_FALSE
                                         : SAYS_WRONG;
}

static bool is_exact(const struct sl_manager *m, struct sl_rec *cq) {
    uint8_t said = mgr_conf_of(cq)->exact;
    return said == SAYS_TRUE || (said != SAYS_FALSE && m->settings->flux.exact_nodes);
}

bool mgr_exact_queue(struct sl_manager *m, struct sl_rec *cq) {
    if (mgr_conf_of(cq)->exact == SAYS_WRONG)
        sl_log(SL_LOG_WARN, "annotation ignored: expected true or false",
               SL_S("annotation", EXACT_NODES), SL_S("clusterqueue", cq->name));
    if (!is_exact(m, cq))
        return false;
    m->tas->exact = true;
    if (m->nodes)
        sl_exact_use(m->nodes);
    if (!m->tas->topo)
        sl_log(SL_LOG_WARN, "exact nodes are not given: topology-aware scheduling is off",
               SL_S("clusterqueue", cq->name));
    return m->tas->topo;
}

/* NULL: in none. */
static struct sl_rec *queue_of(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    return sl_engine_workload(m->engine, w->id, &v)
               ? sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", v.cq)
               : NULL;
}

bool mgr_exact_wanted(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    struct sl_rec *cq = queue_of(m, w);
    return cq && is_exact(m, cq);
}

/* Has one of the podsets one of these flavors? An absent list has all. */
static bool assigns_one(const struct sl_podset_assignment *v, uint32_t n, yyjson_val *flavors) {
    size_t i, n_flavors;
    yyjson_val *f;
    if (!yyjson_arr_size(flavors))
        return true;
    yyjson_arr_foreach (flavors, i, n_flavors, f)
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t k = 0; k < v[p].n; k++)
                if (strcmp(v[p].v[k].flavor, sl_json_text(f)) == 0)
                    return true;
    return false;
}

bool mgr_exact_delayed(const struct sl_manager *m, const struct mgr_rec_wl *w,
                       const struct sl_podset_assignment *v, uint32_t n) {
    struct sl_rec *cq = queue_of(m, w);
    const struct mgr_rec_wl *old = mgr_tas_slice_before(m, w);
    const char *text = cq ? mgr_conf_of(cq)->text : "";
    bool delayed = false;
    size_t i, n_checks;
    yyjson_val *c;
    /* A slice has the nodes of the one before it, and would lose them. */
    if (!m->spec.parts.provisioning || !strstr(text, "\"admissionChecks\"") || (old && old->exact))
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_arr_foreach (
        sl_json_at(yyjson_doc_get_root(d), "spec.admissionChecksStrategy.admissionChecks"), i,
        n_checks, c)
        delayed |= mgr_prov_owns(m, sl_json_str(c, "name")) &&
                   assigns_one(v, n, sl_json_get(c, "onFlavors"));
    return delayed;
}

bool mgr_exact_is(const struct sl_manager *m, const struct mgr_wl_podset_admission *p) {
    if (!m->nodes || !p->topology || mgr_tas_places(m, p))
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(p->topology, strlen(p->topology), 0);
    yyjson_val *levels = sl_json_at(yyjson_doc_get_root(d), "topologyAssignment.levels");
    return yyjson_arr_size(levels) == 1 &&
           strcmp(sl_json_text(yyjson_arr_get_first(levels)), SL_EXACT_LEVEL) == 0;
}

/* ---- pods as the graph reads them ---- */

/* What of a template's metadata says where its pods go. */
static void add_metadata(yyjson_mut_doc *d, yyjson_mut_val *pod, const struct mgr_template *t) {
    static const char *const kept[] = {SL_FLUX_WHOLE_NODES, SL_FLUX_WITHIN, SL_FLUX_TASKS_PER_NODE};
    _cleanup_(sl_json_docp) yyjson_doc *parts = yyjson_read(t->parts, strlen(t->parts), 0);
    yyjson_val *root = yyjson_doc_get_root(parts);
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(d, pod, "metadata");
    yyjson_mut_val *labels = yyjson_val_mut_copy(d, yyjson_obj_get(root, "labels"));
    yyjson_mut_val *annotations = yyjson_mut_obj_add_obj(d, meta, "annotations");
    if (labels)
        (void)yyjson_mut_obj_add_val(d, meta, "labels", labels);
    for (size_t i = 0; i < SL_LEN(kept); i++) {
        yyjson_val *v = yyjson_obj_get(yyjson_obj_get(root, "annotations"), kept[i]);
        if (v)
            (void)yyjson_mut_obj_add_val(d, annotations, kept[i], yyjson_val_mut_copy(d, v));
    }
}

static yyjson_mut_val *member(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *key,
                              yyjson_mut_val *empty) {
    yyjson_mut_val *v = yyjson_mut_obj_get(spec, key);
    if (!v || yyjson_mut_is_null(v)) {
        (void)yyjson_mut_obj_put(spec, yyjson_mut_str(d, key), empty);
        v = empty;
    }
    return v;
}

/* Its pods will have the selector and the tolerations of the flavor. */
static void add_flavor(const struct sl_manager *m, yyjson_mut_doc *d, yyjson_mut_val *spec,
                       const char *flavor) {
    _cleanup_(sl_json_docp) yyjson_doc *f = mgr_flavor_doc(m, sl_sym_put(m->syms, flavor));
    yyjson_val *of = sl_json_at(yyjson_doc_get_root(f), "spec"), *key, *val;
    yyjson_mut_val *selector = member(d, spec, "nodeSelector", yyjson_mut_obj(d));
    yyjson_mut_val *tolerations = member(d, spec, "tolerations", yyjson_mut_arr(d));
    size_t i, n;
    sl_obj_foreach (yyjson_obj_get(of, "nodeLabels"), i, n, key, val)
        (void)yyjson_mut_obj_put(selector, yyjson_val_mut_copy(d, key),
                                 yyjson_val_mut_copy(d, val));
    yyjson_arr_foreach (yyjson_obj_get(of, "tolerations"), i, n, val)
        (void)yyjson_mut_arr_append(tolerations, yyjson_val_mut_copy(d, val));
}

/* And the node selector that checks say, of the podset of this name. */
static void add_updates(yyjson_mut_doc *d, yyjson_mut_val *spec, const char *name,
                        const char *updates) {
    _cleanup_(sl_json_docp) yyjson_doc *u =
        updates ? yyjson_read(updates, strlen(updates), 0) : NULL;
    yyjson_val *of =
                   sl_json_get(sl_json_find(yyjson_doc_get_root(u), "name", name), "nodeSelector"),
               *key, *val;
    yyjson_mut_val *selector = member(d, spec, "nodeSelector", yyjson_mut_obj(d));
    size_t i, n;
    sl_obj_foreach (of, i, n, key, val)
        (void)yyjson_mut_obj_put(selector, yyjson_val_mut_copy(d, key),
                                 yyjson_val_mut_copy(d, val));
}

/* The names of the flavors of a podset. */
struct flavors {
    const char *v[SL_MAX_PODSET_RESOURCES];
    uint32_t n;
};

static void note_flavor(struct flavors *f, const char *name) {
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->v[i], name) == 0)
            return;
    if (*name && f->n < SL_LEN(f->v))
        f->v[f->n++] = name;
}

/* updates: of a check that is about to be ready; NULL: none. */
static const char *pod_text(struct sl_manager *m, const struct mgr_rec_wl *w, uint32_t podset,
                            const struct flavors *f, const char *updates, struct sl_arena *a) {
    const struct mgr_template *t = w->podsets[podset].template;
    _cleanup_(sl_buf_done) struct sl_buf spec = SL_BUF(CEILING_ASKED_TEXT);
    _cleanup_(sl_buf_done) struct sl_buf invalid = SL_BUF_SHORT(1024);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CEILING_ASKED_TEXT);
    mgr_limits_put_pod(m, w->rec.ns, t->pod, podset, &spec, &invalid);
    _cleanup_(sl_json_docp) yyjson_doc *s = yyjson_read(sl_buf_str(&spec), spec.len, 0);
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *pod = yyjson_mut_obj(d);
    yyjson_mut_val *to = yyjson_val_mut_copy(d, yyjson_doc_get_root(s));
    if (!to)
        to = yyjson_mut_obj(d);
    add_metadata(d, pod, t);
    /* A pod that ends may be replaced: only the Workload says how long it runs. */
    (void)yyjson_mut_obj_remove_key(to, "activeDeadlineSeconds");
    (void)yyjson_mut_obj_add_val(d, pod, "spec", to);
    for (uint32_t i = 0; i < f->n; i++)
        add_flavor(m, d, to, f->v[i]);
    for (uint32_t i = 0; w->seen.admission && i < w->seen.checks.n; i++)
        add_updates(d, to, mgr_str(m, w->podsets[podset].name), w->seen.checks.v[i].updates);
    add_updates(d, to, mgr_str(m, w->podsets[podset].name), updates);
    struct sl_jw j = SL_JW(&b);
    sl_jw_mut_val(&j, NULL, pod);
    yyjson_mut_doc_free(d);
    return sl_arena_strdup(a, sl_buf_full(&b) ? "" : sl_buf_str(&b));
}

/* ---- requests ---- */

struct request {
    struct sl_arena arena;
    struct sl_exact_owner owner;
    struct sl_exact_podset v[SL_MAX_PODSETS];
};

static void request_init(const struct sl_manager *m, const struct mgr_rec_wl *w,
                         struct request *ret) {
    const struct mgr_cond *c = mgr_wl_cond(m, w, "QuotaReserved");
    sl_arena_init(&ret->arena, CEILING_PODSETS);
    const struct mgr_rec_wl *old = mgr_tas_slice_before(m, w);
    ret->owner = (struct sl_exact_owner){
        .key = w->id.v,
        .before = old && old->exact ? old->id.v : 0,
        .ns = mgr_str(m, w->rec.ns),
        .name = w->slice_name ? w->slice_name : w->rec.name,
        .since = c && c->status == COND_TRUE ? c->at : m->spec.client->wall,
        .duration = w->max_exec_s,
    };
}

/* Of what the engine would assign. */
static bool read_assignment(struct sl_manager *m, const struct mgr_rec_wl *w,
                            const struct sl_podset_assignment *v, const char *const *flavors,
                            struct request *ret) {
    request_init(m, w, ret);
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        struct flavors f = {0};
        for (uint32_t k = 0; k < v[i].n; k++)
            note_flavor(&f, v[i].v[k].flavor);
        ret->v[i] = (struct sl_exact_podset){
            .ns = mgr_str(m, w->rec.ns),
            .name = mgr_str(m, w->podsets[i].name),
            .pod = pod_text(m, w, i, &f, NULL, &ret->arena),
            .count = *flavors[i] || v[i].count < 0 ? 0 : (uint32_t)v[i].count,
        };
    }
    return !sl_arena_full(&ret->arena);
}

/* Of its admission: the podsets that have nodes; or those that have none yet (late), for a check
 * with these updates. */
static bool read_admission(struct sl_manager *m, const struct mgr_rec_wl *w, bool late,
                           const char *updates, struct request *ret) {
    const struct mgr_wl_admission *a = w->seen.admission;
    request_init(m, w, ret);
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        struct flavors f = {0};
        int32_t count = 0;
        for (uint32_t k = 0; k < a->n; k++) {
            const struct mgr_wl_podset_admission *p = &a->v[k];
            if (p->name != w->podsets[i].name ||
                (late ? p->topology || mgr_tas_places(m, p) : !mgr_exact_is(m, p)))
                continue;
            count = mgr_tas_asked(w, p);
            for (uint32_t x = 0; x < p->n; x++)
                note_flavor(&f, mgr_str(m, p->v[x].flavor));
        }
        ret->v[i] = (struct sl_exact_podset){
            .ns = mgr_str(m, w->rec.ns),
            .name = mgr_str(m, w->podsets[i].name),
            .pod = pod_text(m, w, i, &f, updates, &ret->arena),
            .count = count < 0 ? 0 : (uint32_t)count,
        };
    }
    return !sl_arena_full(&ret->arena);
}

/* ---- called by the placer ---- */

bool mgr_exact_place(struct sl_manager *m, struct mgr_rec_wl *w,
                     const struct sl_podset_assignment *v, const char *const *flavors,
                     uint32_t *ret_refused, char *why, size_t why_len) {
    struct request r;
    *ret_refused = 0;
    if (!m->nodes) {
        sl_fmt_short(why, why_len, NOT_RUNNING);
        return false;
    }
    bool fine = read_assignment(m, w, v, flavors, &r);
    if (!fine)
        sl_fmt_short(why, why_len, "its podsets are too large");
    r.owner.since = m->spec.client->wall;
    fine = fine && sl_exact_place(m->nodes, &r.owner, r.v, w->n_podsets, ret_refused, why, why_len);
    sl_arena_done(&r.arena);
    return fine;
}

bool mgr_exact_place_late(struct sl_manager *m, struct mgr_rec_wl *w, const char *updates,
                          char *why, size_t why_len) {
    struct request r;
    uint32_t refused = 0, pods = 0;
    if (!m->tas->topo || w->exact || !w->seen.admission || !mgr_exact_wanted(m, w))
        return true;
    bool fine = read_admission(m, w, true, updates, &r);
    for (uint32_t i = 0; i < w->n_podsets; i++)
        pods += r.v[i].count;
    r.owner.since = m->spec.client->wall;
    if (!fine || !m->nodes)
        sl_fmt_short(why, why_len, "%s", m->nodes ? "its podsets are too large" : NOT_RUNNING);
    fine = fine && (pods == 0 || (m->nodes && sl_exact_place(m->nodes, &r.owner, r.v, w->n_podsets,
                                                             &refused, why, why_len)));
    sl_arena_done(&r.arena);
    w->late = !fine;
    m->tas->late |= !fine;
    if (fine && pods) {
        w->exact = true;
        mgr_wl_set_places(m, w);
    }
    return fine;
}

bool mgr_exact_would_fit(struct sl_manager *m, const struct mgr_rec_wl *w,
                         const struct sl_podset_assignment *v, const char *const *flavors) {
    struct request r;
    if (!m->nodes)
        return false;
    bool fine = read_assignment(m, w, v, flavors, &r) &&
                sl_exact_could(m->nodes, &r.owner, r.v, w->n_podsets);
    sl_arena_done(&r.arena);
    return fine;
}

/* Are all its places on the graph? Of those in topologies nothing is known of the future: they are
 * free as soon as they are released, and what lacks one of these lacks it. */
static bool is_all_exact(const struct sl_manager *m, const struct mgr_rec_wl *w,
                         const struct sl_podset_assignment *v, uint32_t n, const char **flavors) {
    if (!w || n != w->n_podsets || !mgr_exact_wanted(m, w) || !m->nodes)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        flavors[i] = "";
        for (uint32_t k = 0; k < v[i].n; k++)
            if (v[i].count > 0 && sl_topo_has(m->tas->topo, v[i].v[k].flavor))
                return false;
    }
    return true;
}

bool mgr_exact_soon(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n) {
    struct sl_manager *m = ctx;
    const struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    const char *flavors[SL_MAX_PODSETS];
    struct request r;
    if (!is_all_exact(m, w, v, n, flavors))
        return false;
    bool fine = read_assignment(m, w, v, flavors, &r) &&
                sl_exact_soon(m->nodes, &r.owner, r.v, w->n_podsets);
    sl_arena_done(&r.arena);
    return fine;
}

bool mgr_exact_later(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n,
                     sl_time from, sl_time *ret_at) {
    struct sl_manager *m = ctx;
    const struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    const char *flavors[SL_MAX_PODSETS];
    int64_t at = 0;
    struct request r;
    if (!is_all_exact(m, w, v, n, flavors))
        return false;
    bool fine =
        read_assignment(m, w, v, flavors, &r) && !r.owner.before && /* no slice that follows */
        sl_exact_later(m->nodes, &r.owner, r.v, w->n_podsets, (from + SL_SEC - 1) / SL_SEC, &at);
    sl_arena_done(&r.arena);
    *ret_at = sl_span_seconds(at);
    return fine;
}

void mgr_exact_forgo(void *ctx, sl_wl_id id) {
    const struct sl_manager *m = ctx;
    if (m->nodes)
        sl_exact_forgo(m->nodes, id.v);
}

void mgr_exact_set_aside(const struct sl_manager *m, sl_wl_id id, bool aside) {
    if (m->nodes)
        sl_exact_set_aside(m->nodes, id.v, aside);
}

/* ---- between both forms of places ---- */

static void to_graph(const struct sl_topo_place *from, struct sl_arena *a,
                     struct sl_exact_place *ret) {
    struct sl_exact_node *v = sl_arena_alloc0(a, from->n_domains + 1, sizeof *v);
    for (uint32_t i = 0; i < from->n_domains; i++)
        v[i] = (struct sl_exact_node){from->domains[i].values[from->n_levels - 1],
                                      from->domains[i].count > 0 ? (uint32_t)from->domains[i].count
                                                                 : 0};
    *ret = (struct sl_exact_place){v, from->n_domains};
}

static void from_graph(const struct sl_exact_place *from, struct sl_arena *a,
                       struct sl_topo_place *ret) {
    static const char *const levels[] = {SL_EXACT_LEVEL};
    struct sl_topo_domain *v = sl_arena_alloc0(a, from->n + 1, sizeof *v);
    for (uint32_t i = 0; i < from->n; i++)
        v[i] = (struct sl_topo_domain){&from->v[i].hostname, (int32_t)from->v[i].count};
    *ret = (struct sl_topo_place){levels, 1, v, from->n};
}

void mgr_exact_held(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_topo_place *v,
                    struct sl_arena *a) {
    const struct sl_exact_place *held = NULL;
    uint32_t n = m->nodes ? sl_exact_held(m->nodes, w->id.v, a, &held) : 0;
    for (uint32_t i = 0; i < n && i < w->n_podsets && !sl_arena_full(a); i++)
        if (held[i].n)
            from_graph(&held[i], a, &v[i]);
}

void mgr_exact_hold(struct sl_manager *m, struct mgr_rec_wl *w,
                    const struct sl_topo_place *places) {
    struct sl_exact_place v[SL_MAX_PODSETS] = {0};
    struct request r;
    if (!m->nodes)
        return;
    m->tas->exact = true;
    sl_exact_use(m->nodes);
    if (!read_admission(m, w, false, NULL, &r))
        sl_log(SL_LOG_WARN, "exact nodes not accounted: podsets too large",
               SL_S("namespace", mgr_str(m, w->rec.ns)), SL_S("name", w->rec.name));
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (places[i].n_levels)
            to_graph(&places[i], &r.arena, &v[i]);
    if (!sl_arena_full(&r.arena))
        sl_exact_hold(m->nodes, &r.owner, r.v, v, w->n_podsets);
    sl_arena_done(&r.arena);
}

void mgr_exact_release(struct sl_manager *m, sl_wl_id id) {
    if (m->nodes)
        sl_exact_release(m->nodes, id.v);
}

bool mgr_exact_move(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *keep) {
    struct sl_exact_place v[SL_MAX_PODSETS] = {0};
    struct request r;
    if (!m->nodes)
        return false;
    bool fine = read_admission(m, w, false, NULL, &r);
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (r.v[i].count > 0 && keep[i].n_levels)
            to_graph(&keep[i], &r.arena, &v[i]);
    fine =
        fine && !sl_arena_full(&r.arena) && sl_exact_move(m->nodes, &r.owner, r.v, v, w->n_podsets);
    sl_arena_done(&r.arena);
    return fine;
}

/* ---- the turn ---- */

void mgr_exact_turn(struct sl_manager *m) {
    if (!m->tas->exact)
        return;
    uint64_t now = m->nodes ? sl_exact_version(m->nodes) : 0;
    m->tas->places_news |= now != m->tas->nodes_version;
    m->tas->nodes_version = now;
}

void mgr_exact_retry_late(struct sl_manager *m) {
    uint32_t at = 0;
    if (!m->tas->late)
        return;
    m->tas->late = false;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
        if (mgr_wl_of(r)->late)
            sl_rec_enqueue(r);
}

void mgr_exact_unobserve(struct sl_manager *m) {
    if (m->nodes)
        sl_exact_observed(m->nodes, false);
}

void mgr_exact_observed(struct sl_manager *m) {
    if (m->nodes)
        sl_exact_observed(m->nodes, m->inf->ready && m->elected == m->leads);
}

/* Before a queue asked for exact nodes, no release concerns them. */
void mgr_exact_note_releases(struct sl_manager *m, bool any) {
    if (m->nodes && m->tas->exact)
        sl_exact_releasing(m->nodes, any);
}

void sl_manager_nodes(struct sl_manager *m, struct sl_fluxqueue *nodes) {
    m->nodes = nodes;
    mgr_exact_observed(m);
}
