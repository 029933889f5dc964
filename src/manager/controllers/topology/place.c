/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology assignments of Workloads: requested by the engine, written with the admission, read back
 * from it.
 *
 * What is accounted under a Workload's id is the result for the engine (mgr_tas_place) until the
 * API has something else (mgr_tas_observe); it is released with the quota (mgr_tas_undo).
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/admission/convert.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/topology/tas.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"

#define MAX_DOMAINS 1000000u

static const char *flavor_of(const struct sl_manager *m, const struct mgr_wl_podset_admission *p);
static void hold_places(struct sl_manager *m, struct mgr_rec_wl *w);

/* ---- requests of a podset ---- */

static void add_slice(struct sl_topo_request *r, const char *level, int64_t size,
                      struct sl_arena *a) {
    if (!*level || size < 1 || size > INT32_MAX || r->n_slices == SL_TOPO_MAX_SLICES)
        return;
    r->slices[r->n_slices].level = sl_arena_strdup(a, level);
    r->slices[r->n_slices++].size = (int32_t)size;
}

static struct sl_topo_request read_request(const struct sl_manager *m,
                                           const struct mgr_wl_podset *p, struct sl_arena *a) {
    const char *text = mgr_str(m, p->request);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_val *o = yyjson_doc_get_root(d), *layer;
    yyjson_val *layers = yyjson_obj_get(o, "podsetSliceRequiredTopologyConstraints");
    const char *required = sl_json_str(o, "required"), *preferred = sl_json_str(o, "preferred");
    struct sl_topo_request ret = {.mode = SL_TOPO_IMPLIED, .level = ""};
    size_t i, n;

    if (*required || *preferred) {
        ret.mode = *required ? SL_TOPO_REQUIRED : SL_TOPO_PREFERRED;
        ret.level = sl_arena_strdup(a, *required ? required : preferred);
    } else if (sl_json_bool(o, "unconstrained", false)) {
        ret.mode = SL_TOPO_UNCONSTRAINED;
    }
    yyjson_arr_foreach (layers, i, n, layer)
        add_slice(&ret, sl_json_str(layer, "topology"), sl_json_int(layer, "size", 0), a);
    if (!yyjson_arr_size(layers))
        add_slice(&ret, sl_json_str(o, "podSetSliceRequiredTopology"),
                  sl_json_int(o, "podSetSliceSize", 0), a);
    return ret;
}

/* All that decides about a place: podsets that differ in it are not alike. The graph of nodes also
 * considers what is said about the pods of a podset among themselves, host ports and claims. */
static const char *identity(const struct sl_manager *m, const struct mgr_wl_podset *p,
                            struct sl_arena *a) {
    const char *request = mgr_str(m, p->request), *pod = p->template->pod;
    static const char *const own[] = {"\"podAffinity\"", "\"podAntiAffinity\"",
                                      "\"topologySpreadConstraints\"", "\"hostPort\"",
                                      "\"volumes\""};
    bool alike = !strstr(p->template->parts, "\"fluxqueue/");
    for (size_t i = 0; i < SL_LEN(own); i++)
        alike &= !strstr(pod, own[i]);
    return alike ? request : sl_arena_printf(a, "%s%s%s", request, pod, p->template->parts);
}

const struct sl_podset_spec *mgr_tas_build_requests(const struct sl_manager *m,
                                                    const struct mgr_wl_podset *v,
                                                    const struct sl_podset_spec *specs, uint32_t n,
                                                    struct sl_arena *a) {
    if (!m->tas->topo)
        return specs;
    struct sl_podset_spec *ret = sl_arena_alloc0(a, n, sizeof *ret);
    for (uint32_t i = 0; i < n; i++) {
        struct sl_topo_request r = read_request(m, &v[i], a);
        const char **levels = sl_arena_alloc0(a, r.n_slices + 1, sizeof *levels);
        ret[i] = specs[i];
        ret[i].topology = identity(m, &v[i], a);
        ret[i].wants_place = v[i].topology;
        ret[i].levels = levels;
        if (*r.level)
            levels[ret[i].n_levels++] = r.level;
        for (uint32_t k = 0; k < r.n_slices; k++)
            levels[ret[i].n_levels++] = r.slices[k].level;
    }
    return ret;
}

/* All but flavor and count, which come from an admission. */
static struct sl_topo_podset *podsets_of(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                         struct mgr_podsets *specs) {
    struct sl_topo_podset *v = sl_arena_alloc0(&specs->arena, w->n_podsets, sizeof *v);
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        const struct sl_podset_spec *s = &specs->v[i];
        v[i] = (struct sl_topo_podset){
            .name = s->name,
            .flavor = "",
            .group = mgr_str(m, w->podsets[i].group),
            .requests = s->requests,
            .n_requests = s->n_requests,
            .node_selector = s->node_selector,
            .affinity = s->affinity,
            .tolerations = s->tolerations,
            .n_tolerations = s->n_tolerations,
            .request = read_request(m, &w->podsets[i], &specs->arena),
        };
    }
    return v;
}

/* ---- called by the engine ---- */

struct mgr_rec_wl *mgr_tas_slice_before(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const char *name = w->slice_of && m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES]
                           ? sl_slice_name(mgr_str(m, w->rec.ns), w->slice_of)
                           : "";
    struct mgr_rec_wl *old = *name ? mgr_wl_find(m, mgr_str(m, w->rec.ns), name) : NULL;
    return old != w ? old : NULL;
}

/* Of the flavors of a podset, the one with a topology. False: it has several, or none and needs
 * one. */
static bool choose_flavor(const struct sl_manager *m, const struct sl_podset_assignment *p,
                          bool wants, const char **ret, char *why, size_t why_len) {
    *ret = "";
    for (uint32_t k = 0; k < p->n; k++) {
        const char *flavor = p->v[k].flavor;
        if (!sl_topo_has(m->tas->topo, flavor) || strcmp(flavor, *ret) == 0)
            continue;
        if (**ret) {
            sl_fmt_short(why, why_len, "more than one TAS flavor assigned: %s, %s",
                         strcmp(*ret, flavor) < 0 ? *ret : flavor,
                         strcmp(*ret, flavor) < 0 ? flavor : *ret);
            return false;
        }
        *ret = flavor;
    }
    if (!**ret && wants)
        sl_fmt_short(why, why_len, "no TAS flavor assigned");
    return **ret || !wants;
}

/* Each podset of a slice keeps the place that the one of its name had before. */
static void keep_places(const struct sl_manager *m, const struct mgr_rec_wl *old,
                        struct sl_topo_podset *v, uint32_t n, struct sl_arena *a) {
    const struct sl_topo_place *places;
    uint32_t n_old = sl_topo_held(m->tas->topo, old->id.v, a, &places);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n_old && k < old->n_podsets; k++)
            if (strcmp(mgr_str(m, old->podsets[k].name), v[i].name) == 0)
                v[i].before = places[k];
}

static bool place(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_podset_assignment *as,
                  const char *const *flavors, char *why, size_t why_len) {
    struct mgr_podsets specs;
    bool fine = mgr_podsets_read(m, w->rec.ns, w->podsets, w->n_podsets, &specs);
    const struct mgr_rec_wl *old = mgr_tas_slice_before(m, w);
    if (fine) {
        struct sl_topo_podset *v = podsets_of(m, w, &specs);
        for (uint32_t i = 0; i < w->n_podsets; i++) {
            v[i].flavor = as[i].count > 0 ? flavors[i] : "";
            v[i].count = as[i].count;
        }
        if (old && !old->placed)
            old = NULL;
        if (old && w->elastic && m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES_WITH_TAS])
            keep_places(m, old, v, w->n_podsets, &specs.arena);
        fine = sl_topo_place(m->tas->topo, w->id.v, old ? old->id.v : 0, v, w->n_podsets, why,
                             why_len);
    }
    mgr_podsets_done(&specs);
    return fine;
}

static bool move(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *keep) {
    const struct mgr_wl_admission *a = w->seen.admission;
    struct mgr_podsets specs;
    char why[512];
    bool fine = mgr_podsets_read(m, w->rec.ns, w->podsets, w->n_podsets, &specs);
    if (fine) {
        struct sl_topo_podset *v = podsets_of(m, w, &specs);
        for (uint32_t i = 0; i < w->n_podsets; i++) {
            v[i].before = keep[i];
            for (uint32_t k = 0; k < a->n; k++)
                if (a->v[k].name == w->podsets[i].name && a->v[k].topology &&
                    mgr_tas_places(m, &a->v[k])) {
                    v[i].count = mgr_tas_asked(w, &a->v[k]);
                    v[i].flavor = flavor_of(m, &a->v[k]);
                }
        }
        fine = sl_topo_place(m->tas->topo, w->id.v, 0, v, w->n_podsets, why, sizeof why);
    }
    mgr_podsets_done(&specs);
    return fine;
}

bool mgr_tas_move(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *keep) {
    bool fine = (!w->placed || move(m, w, keep)) && (!w->exact || mgr_exact_move(m, w, keep));
    if (!fine)
        hold_places(m, w);
    return fine;
}

/* Which podsets get a place in a topology: flavors, "" for the others. */
static bool choose_flavors(struct sl_manager *m, const struct mgr_rec_wl *w,
                           const struct sl_podset_assignment *v, uint32_t n,
                           const char *flavors[SL_MAX_PODSETS], bool *ret_any,
                           uint32_t *ret_refused, char *why, size_t why_len) {
    *ret_any = false;
    if (!w || n != w->n_podsets) {
        sl_fmt_short(why, why_len, "its podsets have changed");
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool wants = w->podsets[i].topology && v[i].count > 0;
        *ret_refused = i;
        if (!choose_flavor(m, &v[i], wants, &flavors[i], why, why_len))
            return false;
        *ret_any |= *flavors[i] && v[i].count > 0;
    }
    return true;
}

bool mgr_tas_place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n,
                   uint32_t *ret_refused, char *why, size_t why_len) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    const char *flavors[SL_MAX_PODSETS];
    bool any;
    if (!choose_flavors(m, w, v, n, flavors, &any, ret_refused, why, why_len))
        return false;
    if (any && !place(m, w, v, flavors, why, why_len)) {
        *ret_refused = sl_topo_refused(m->tas->topo);
        return false;
    }
    if (mgr_exact_wanted(m, w) && !mgr_exact_delayed(m, w, v, n)) {
        if (!mgr_exact_place(m, w, v, flavors, ret_refused, why, why_len)) {
            if (any)
                sl_topo_release(m->tas->topo, id.v);
            return false;
        }
        w->exact = true;
    }
    w->placed |= any;
    return true;
}

bool mgr_tas_would_fit(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    const char *flavors[SL_MAX_PODSETS];
    uint32_t refused;
    char why[256];
    bool any;
    if (!choose_flavors(m, w, v, n, flavors, &any, &refused, why, sizeof why) ||
        (any && !place(m, w, v, flavors, why, sizeof why)))
        return false;
    if (any)
        sl_topo_release(m->tas->topo, id.v);
    return !mgr_exact_wanted(m, w) || mgr_exact_delayed(m, w, v, n) ||
           mgr_exact_would_fit(m, w, v, flavors);
}

void mgr_tas_set_aside(void *ctx, sl_wl_id id, bool aside) {
    const struct sl_manager *m = ctx;
    const struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    if (w && w->placed)
        sl_topo_set_aside(m->tas->topo, id.v, aside);
    mgr_exact_set_aside(m, id, aside); /* also what is reserved for it */
}

/* ---- read from the API, and written ---- */

static yyjson_doc *parse(const char *topology) {
    return yyjson_read(topology, strlen(topology), 0);
}

uint64_t mgr_tas_hash(const char *topology) {
    if (!topology)
        return 0;
    _cleanup_(sl_json_docp) yyjson_doc *d = parse(topology);
    uint64_t h = sl_json_hash(1, yyjson_doc_get_root(d));
    return h;
}

static const char *const *read_texts(yyjson_mut_val *list, struct sl_arena *a) {
    const char **v = sl_arena_alloc0(a, yyjson_mut_arr_size(list) + 1, sizeof *v);
    size_t i, n;
    yyjson_mut_val *x;
    yyjson_mut_arr_foreach (list, i, n, x) {
        v[i] = sl_arena_strdup(a, sl_json_mut_text(x));
    }
    return v;
}

struct sl_topo_place mgr_tas_read_place(const char *topology, struct sl_arena *a) {
    struct sl_topo_place ret = {0};
    _cleanup_(sl_json_docp) yyjson_doc *d = topology ? parse(topology) : NULL;
    yyjson_val *assignment = sl_json_at(yyjson_doc_get_root(d), "topologyAssignment");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *o = yyjson_val_mut_copy(doc, assignment), *x;
    struct sl_err err;
    struct sl_convert cv = {doc, SL_CONVERT_MAX_BYTES, &err};
    size_t i, n;

    bool readable = o && sl_convert_slices_to_domains(&cv, o) >= 0;
    if (readable && yyjson_mut_arr_size(yyjson_mut_obj_get(o, "domains")) > MAX_DOMAINS) {
        readable = false;
        (void)sl_err_set(&err, SL_ELIMIT, "more than %u domains", MAX_DOMAINS);
    }
    if (o && !readable)
        sl_log(SL_LOG_WARN, "malformed topology assignment ignored", SL_S("error", err.text));
    if (readable) {
        yyjson_mut_val *levels = yyjson_mut_obj_get(o, "levels"),
                       *domains = yyjson_mut_obj_get(o, "domains");
        struct sl_topo_domain *v = sl_arena_alloc0(a, yyjson_mut_arr_size(domains) + 1, sizeof *v);
        ret.levels = read_texts(levels, a);
        ret.n_levels = (uint32_t)yyjson_mut_arr_size(levels);
        ret.domains = v;
        yyjson_mut_arr_foreach (domains, i, n, x) {
            v[ret.n_domains].values = read_texts(yyjson_mut_obj_get(x, "values"), a);
            v[ret.n_domains++].count = (int32_t)yyjson_mut_get_sint(yyjson_mut_obj_get(x, "count"));
        }
    }
    yyjson_mut_doc_free(doc);
    return ret;
}

static yyjson_mut_val *texts(yyjson_mut_doc *doc, const char *const *v, uint32_t n) {
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (uint32_t i = 0; i < n; i++)
        (void)yyjson_mut_arr_add_str(doc, list, v[i]);
    return list;
}

/* The inverse; NULL if it is empty. */
static char *write_place(const struct sl_topo_place *p) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *o = yyjson_mut_obj(doc), *domains = yyjson_mut_arr(doc);
    struct sl_err err;
    struct sl_convert cv = {doc, SL_CONVERT_MAX_BYTES, &err};
    char *ret = NULL;

    for (uint32_t i = 0; i < p->n_domains; i++) {
        yyjson_mut_val *x = yyjson_mut_arr_add_obj(doc, domains);
        (void)yyjson_mut_obj_add_val(doc, x, "values",
                                     texts(doc, p->domains[i].values, p->n_levels));
        (void)yyjson_mut_obj_add_int(doc, x, "count", p->domains[i].count);
    }
    (void)yyjson_mut_obj_add_val(doc, o, "levels", texts(doc, p->levels, p->n_levels));
    (void)yyjson_mut_obj_add_val(doc, o, "domains", domains);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CEILING_PLACES);
    if (p->n_domains && sl_convert_domains_to_slices(&cv, o) >= 0) {
        struct sl_jw j = SL_JW(&b);
        sl_jw_object(&j, NULL);
        sl_jw_mut_val(&j, "topologyAssignment", o);
        sl_jw_end(&j);
        ret = sl_strdup(sl_buf_str(&b));
    }
    yyjson_mut_doc_free(doc);
    return ret;
}

/* How many pods of a podset still need their place. Of a set that was made smaller those that came
 * last are gone; of a job, any may be. */
int32_t mgr_tas_asked(const struct mgr_rec_wl *w, const struct mgr_wl_podset_admission *p) {
    for (uint32_t i = 0; w->serving && i < w->n_podsets; i++)
        if (w->podsets[i].name == p->name && w->podsets[i].count < p->count)
            return w->podsets[i].count;
    return p->count;
}

static uint64_t hash_places(const struct mgr_rec_wl *w, const struct mgr_wl_admission *a) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].topology)
            h = sl_hash_u64(
                sl_hash_u64(sl_hash_u64(h, a->v[i].name), mgr_tas_hash(a->v[i].topology)),
                (uint64_t)mgr_tas_asked(w, &a->v[i]));
    return h;
}

uint32_t mgr_tas_held(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_arena *a,
                      struct sl_topo_place **ret) {
    const struct sl_topo_place *v;
    *ret = sl_arena_alloc0(a, w->n_podsets + 1, sizeof **ret);
    uint32_t n = w->placed ? sl_topo_held(m->tas->topo, w->id.v, a, &v) : 0;
    for (uint32_t i = 0; i < n && i < w->n_podsets; i++)
        (*ret)[i] = v[i];
    if (w->exact)
        mgr_exact_held(m, w, *ret, a);
    return w->placed && n != w->n_podsets ? 0 : w->n_podsets;
}

void mgr_tas_put_places(const struct sl_manager *m, struct mgr_rec_wl *w,
                        struct mgr_wl_admission *a) {
    struct sl_topo_place *places;
    struct sl_arena arena;
    if (!m->tas->topo || !(w->placed || w->exact))
        return;
    sl_arena_init(&arena, CEILING_PLACES);
    uint32_t n = mgr_tas_held(m, w, &arena, &places);
    if (sl_arena_full(&arena)) { /* without them its pods stay gated */
        sl_log(SL_LOG_WARN, "topology assignment too large, not written",
               SL_S("namespace", mgr_str(m, w->rec.ns)), SL_S("name", w->rec.name));
        n = 0;
    }
    for (uint32_t i = 0; i < n && i < w->n_podsets; i++)
        for (uint32_t k = 0; k < a->n; k++)
            if (a->v[k].name == w->podsets[i].name && !a->v[k].topology)
                a->v[k].topology = write_place(&places[i]);
    sl_arena_done(&arena);
    w->places = hash_places(w, a);
}

uint64_t mgr_tas_digest(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    struct sl_topo_place *v;
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_PLACES);
    uint32_t n = mgr_tas_held(m, w, &arena, &v);
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) {
        h = sl_hash_u64(h, v[i].n_domains);
        for (uint32_t d = 0; d < v[i].n_domains; d++) {
            h = sl_hash_u64(h, (uint64_t)v[i].domains[d].count);
            for (uint32_t k = 0; k < v[i].n_levels; k++)
                h = sl_hash_str(h, v[i].domains[d].values[k]);
        }
    }
    return h;
}

/* The flavor with a topology, of those that an admission names. */
static const char *flavor_of(const struct sl_manager *m, const struct mgr_wl_podset_admission *p) {
    for (uint32_t k = 0; k < p->n; k++)
        if (sl_topo_has(m->tas->topo, mgr_str(m, p->v[k].flavor)))
            return mgr_str(m, p->v[k].flavor);
    return p->n ? mgr_str(m, p->v[0].flavor) : "";
}

bool mgr_tas_places(const struct sl_manager *m, const struct mgr_wl_podset_admission *p) {
    for (uint32_t k = 0; m->tas->topo && k < p->n; k++)
        if (sl_topo_has(m->tas->topo, mgr_str(m, p->v[k].flavor)))
            return true;
    return false;
}

/* The places of the first pods: they were given out in their order. */
static void trim(struct sl_topo_place *p, int32_t pods, struct sl_arena *a) {
    struct sl_topo_domain *v = sl_arena_alloc0(a, p->n_domains + 1, sizeof *v);
    uint32_t n = 0;
    for (; n < p->n_domains && pods > 0; n++) {
        v[n] = p->domains[n];
        v[n].count = v[n].count < pods ? v[n].count : pods;
        pods -= v[n].count;
    }
    p->domains = v;
    p->n_domains = n;
}

static void hold_places(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = w->seen.admission;
    struct mgr_podsets specs;
    if (mgr_podsets_read(m, w->rec.ns, w->podsets, w->n_podsets, &specs)) {
        struct sl_topo_podset *v = podsets_of(m, w, &specs);
        struct sl_topo_place *places = sl_arena_alloc0(&specs.arena, w->n_podsets, sizeof *places);
        struct sl_topo_place *exact = sl_arena_alloc0(&specs.arena, w->n_podsets, sizeof *exact);
        bool on_graph = false;
        w->placed = false;
        for (uint32_t i = 0; i < w->n_podsets; i++)
            for (uint32_t k = 0; k < a->n; k++) {
                if (a->v[k].name != w->podsets[i].name || !a->v[k].topology ||
                    sl_arena_full(&specs.arena))
                    continue;
                if (mgr_exact_is(m, &a->v[k])) {
                    exact[i] = mgr_tas_read_place(a->v[k].topology, &specs.arena);
                    trim(&exact[i], mgr_tas_asked(w, &a->v[k]), &specs.arena);
                    on_graph = true;
                    continue;
                }
                w->placed = true;
                v[i].count = mgr_tas_asked(w, &a->v[k]);
                v[i].flavor = flavor_of(m, &a->v[k]);
                places[i] = mgr_tas_read_place(a->v[k].topology, &specs.arena);
                trim(&places[i], v[i].count, &specs.arena);
            }
        /* Those that are there hold their places all the same: others must not get them. */
        if (sl_arena_full(&specs.arena))
            sl_log(SL_LOG_WARN, "topology assignment too large, partly accounted",
                   SL_S("namespace", mgr_str(m, w->rec.ns)), SL_S("name", w->rec.name));
        if (w->placed)
            sl_topo_hold(m->tas->topo, w->id.v, v, places, w->n_podsets);
        w->exact = on_graph;
        if (on_graph)
            mgr_exact_hold(m, w, exact);
    }
    mgr_podsets_done(&specs);
}

static void let_go(struct sl_manager *m, struct mgr_rec_wl *w) {
    w->places = 0;
    if (w->placed) {
        w->placed = false;
        sl_topo_release(m->tas->topo, w->id.v);
        m->tas->places_news = true;
    }
    if (w->exact) {
        w->exact = false;
        mgr_exact_release(m, w->id);
    }
}

void mgr_tas_observe(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    if (!m->tas->topo || mgr_wl_changing(w, WL_ADMISSION) ||
        !sl_engine_workload(m->engine, w->id, &v))
        return;
    bool holds = v.phase == SL_PHASE_RESERVED || v.phase == SL_PHASE_ADMITTED;
    uint64_t h = holds && w->seen.admission ? hash_places(w, w->seen.admission) : 0;
    if (h == w->places)
        return;
    let_go(m, w);
    w->places = h;
    if (h)
        hold_places(m, w);
}

/* A slice whose successor came to nothing has its quota again, and so its place. */
static void give_back(struct sl_manager *m, const struct mgr_rec_wl *w) {
    struct mgr_rec_wl *old = mgr_tas_slice_before(m, w);
    struct sl_engine_wl_view v;
    if (!old || old->placed || old->exact || !old->seen.admission ||
        !sl_engine_workload(m->engine, old->id, &v) || v.phase != SL_PHASE_FINISHED ||
        mgr_wl_condition_will_be_true(m, old, "Finished"))
        return;
    old->places = hash_places(old, old->seen.admission);
    if (old->places)
        hold_places(m, old);
    sl_rec_enqueue(&old->rec);
}

void mgr_tas_undo(void *ctx, sl_wl_id id) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_by_id(m, id);
    if (!w)
        mgr_exact_release(m, id);
    if (!w || !(w->placed || w->exact))
        return;
    let_go(m, w);
    give_back(m, w);
}
