/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turn of the manager, and the tables of records.
 *
 * Nothing is told to the engine before the first lists of all kinds are in: then queues come before
 * workloads and workloads before jobs, whatever order the answers came in. From then on every turn
 * looks at what is dirty, kind by kind, lets the engine decide, and looks again until nothing is
 * left; then the patch queue writes.
 */
#include "controllers/rec.h"

#include <string.h>

#include "base/hash.h"
#include "controllers/bridge.h"
#include "controllers/capacity.h"
#include "controllers/group.h"
#include "controllers/kinds.h"
#include "controllers/metrics.h"
#include "controllers/pod.h"
#include "controllers/sweep.h"
#include "controllers/tas.h"
#include "log/log.h"
#include "topo/topo.h"
#include "json/json.h"

#define MAX_OBJECTS (UINT32_C(1) << 26)
#define MAX_IN_FLIGHT 64u
/* A turn that goes on longer than this is a fault in a controller that never comes to rest. */
#define MAX_PASSES 1000u
#define MAX_LAG (5 * SL_SEC) /* of the stream of workloads behind what was read */

/* ---- finding ---- */

static uint64_t name_hash(enum rec_kind k, sl_sym ns, const char *name) {
    return sl_hash_str(sl_hash_u64(k, ns), name);
}

static struct rec *find_sym(const struct sl_manager *m, enum rec_kind k, sl_sym ns,
                            const char *name) {
    uint64_t h = name_hash(k, ns, name);
    const struct sl_map *map = &m->tables[k].by_name;
    uint32_t c;
    for (uint32_t i = sl_map_first(map, h, &c); i != SL_MAP_NONE; i = sl_map_next(map, h, &c)) {
        struct rec *r = m->objs.v[i];
        if (r->ns == ns && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

struct rec *rec_find(const struct sl_manager *m, enum rec_kind k, const char *ns,
                     const char *name) {
    sl_sym y = sl_sym_find(&m->syms, ns);
    return y == SL_MAP_NONE ? NULL : find_sym(m, k, y, name);
}

struct rec *rec_by_uid(const struct sl_manager *m, const char *uid) {
    uint64_t h = sl_hash_str(0, uid);
    uint32_t c;
    for (uint32_t i = sl_map_first(&m->by_uid, h, &c); i != SL_MAP_NONE;
         i = sl_map_next(&m->by_uid, h, &c))
        if (strcmp(m->objs.v[i]->uid, uid) == 0)
            return m->objs.v[i];
    return NULL;
}

struct rec *rec_each(const struct sl_manager *m, enum rec_kind k, uint32_t *at) {
    const struct table *t = &m->tables[k];
    while (*at < t->slots.n) {
        struct rec *r = t->slots.v[(*at)++];
        if (r)
            return r;
    }
    return NULL;
}

/* ---- marking ---- */

void rec_mark(struct sl_manager *m, struct rec *r) {
    if (r->dirty || r->gone)
        return;
    r->dirty = true;
    *sl_vec_push(&m->tables[r->kind].dirty) = r;
}

/* Decisions first; then what people only read; events last. A queue's first status is awaited by
 * others. */
static uint32_t lane_of(const struct rec *r) {
    switch (r->kind) {
    case REC_WORKLOAD:
        return wl_is_urgent((const struct rec_wl *)(const void *)r) ? 0 : 1;
    case REC_JOB:
    case REC_STATEFULSET:
    case REC_LWS:
    case REC_POD:
    case REC_PROV_REQUEST:
        return 0;
    case REC_EVENT:
        return 2;
    case REC_CHECK:
    case REC_CLUSTER_QUEUE:
    case REC_LOCAL_QUEUE:
        return ((const struct rec_conf *)(const void *)r)->has_active ? 1 : 0;
    default:
        return 1;
    }
}

void rec_want(struct sl_manager *m, struct rec *r) {
    if (m->leads && !r->gone)
        sl_writer_want(m->writer, r->obj, lane_of(r));
}

void rec_want_at(struct sl_manager *m, struct rec *r, sl_time mono) {
    if (m->leads && !r->gone)
        sl_writer_want_at(m->writer, r->obj, lane_of(r), mono);
}

static bool look_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_manager *m = ctx;
    sl_time x = m->objs.v[a]->look_at, y = m->objs.v[b]->look_at;
    return x != y ? x < y : a < b;
}

static uint32_t *look_place(void *ctx, uint32_t obj) {
    const struct sl_manager *m = ctx;
    return &m->objs.v[obj]->place;
}

void rec_look_at(struct sl_manager *m, struct rec *r, sl_time wall) {
    if (r->look_at == wall)
        return;
    if (!wall)
        sl_heap_remove(&m->looks, r->obj);
    r->look_at = wall;
    if (wall)
        sl_heap_fix(&m->looks, r->obj);
}

/* ---- coming and going ---- */

struct rec *rec_new(struct sl_manager *m, enum rec_kind k, const char *ns, const char *name) {
    struct rec *r = sl_alloc0(1, kinds[k].size);
    sl_assert(m->objs.n - m->free_objs.n < MAX_OBJECTS);
    uint32_t obj = m->free_objs.n ? sl_vec_pop(&m->free_objs) : m->objs.n;
    if (obj == m->objs.n)
        (void)sl_vec_push(&m->objs);
    m->objs.v[obj] = r;
    r->obj = obj;
    r->kind = (uint8_t)k;
    r->place = SL_HEAP_OUT;
    struct table *t = &m->tables[k];
    r->slot = t->free_slots.n ? sl_vec_pop(&t->free_slots) : t->slots.n;
    if (r->slot == t->slots.n)
        (void)sl_vec_push(&t->slots);
    t->slots.v[r->slot] = r;
    t->n++;
    if (name) {
        r->ns = sl_sym_put(&m->syms, ns);
        r->name = sl_strdup(name);
        sl_map_add(&m->tables[k].by_name, name_hash(k, r->ns, name), obj);
    }
    return r;
}

/* The memory goes when neither a request in flight nor the dirty queue knows the record any more.
 */
static void free_if_unknown(struct sl_manager *m, struct rec *r) {
    if (!r->gone || r->dirty || sl_writer_busy(m->writer, r->obj))
        return;
    m->objs.v[r->obj] = NULL;
    sl_writer_forget(m->writer, r->obj); /* pauses and wishes are not the next one's */
    *sl_vec_push(&m->free_objs) = r->obj;
    if (kinds[r->kind].done)
        kinds[r->kind].done(r);
    sl_freep(&r->name);
    sl_freep(&r->uid);
    sl_freep(&r);
}

/* A gone record that a request in flight still knew: the next look frees it. */
static void bury(struct sl_manager *m, struct rec *r) {
    if (r->dirty)
        return;
    r->dirty = true;
    *sl_vec_push(&m->tables[r->kind].dirty) = r;
}

void rec_forget(struct sl_manager *m, struct rec *r) {
    if (r->gone)
        return;
    r->gone = true;
    struct table *t = &m->tables[r->kind];
    t->n--;
    t->slots.v[r->slot] = NULL;
    *sl_vec_push(&t->free_slots) = r->slot;
    rec_look_at(m, r, 0);
    if (r->name)
        (void)sl_map_del(&m->tables[r->kind].by_name,
                         name_hash((enum rec_kind)r->kind, r->ns, r->name), r->obj);
    free_if_unknown(m, r);
}

static void deleted(struct sl_manager *m, struct rec *r) {
    if (r->gone)
        return;
    if (kinds[r->kind].gone)
        kinds[r->kind].gone(m, r);
    rec_forget(m, r);
}

/* ---- taking objects in ---- */

#define IN_USE "kueue.x-k8s.io/resource-in-use"

static void take_finalizers(struct sl_manager *m, struct rec *r, yyjson_val *list) {
    struct sl_buf others = SL_BUF(SIZE_MAX / 4); /* they are written back: not a byte is left out */
    size_t i, n;
    yyjson_val *v;

    const char *ours = r->kind == REC_POD ? GROUP_MANAGED : IN_USE;
    r->finalizer = false;
    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_opt(v);
        if (s && strcmp(s, ours) == 0) {
            r->finalizer = true;
        } else if (s) {
            sl_buf_puts(&others, others.len ? "," : "");
            sl_buf_json(&others, s);
        }
    }
    r->finalizers = sl_sym_put(&m->syms, sl_buf_str(&others));
    sl_buf_done(&others);
}

static uint64_t version_of(const char *s) {
    uint64_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    return v;
}

struct rec *rec_take(struct sl_manager *m, enum rec_kind k, yyjson_val *o) {
    yyjson_val *meta = yyjson_obj_get(o, "metadata");
    const char *name = jstr(meta, "name"), *ns = kinds[k].namespaced ? jstr(meta, "namespace") : "";
    const char *uid = jstr(meta, "uid");
    uint64_t rv = version_of(jstr(meta, "resourceVersion"));
    struct table *t = &m->tables[k];

    if (!*name)
        return NULL;
    if (strlen(name) > SL_MAX_NAME || strlen(ns) > SL_MAX_NAME || strlen(uid) > SL_MAX_NAME) {
        sl_log(SL_LOG_WARN, "malformed object ignored", SL_S("kind", kinds[k].kind),
               SL_S("what", "its name or uid is too long"));
        return NULL;
    }
    struct rec *r = rec_find(m, k, ns, name);
    if (r && strcmp(r->uid, uid) != 0) {
        if (rv < r->rv)
            return NULL; /* a late word about an earlier object of this name */
        deleted(m, r);
        r = NULL;
    }
    if (r && rv < r->rv) {
        r->epoch = t->epoch;
        return r;
    }
    if (kinds[k].wanted && !kinds[k].wanted(m, o)) {
        if (r)
            deleted(m, r);
        return NULL;
    }
    bool fresh = !r;
    if (fresh) {
        r = rec_new(m, k, ns, name);
        r->uid = sl_strdup(uid);
        r->created = jtime(meta, "creationTimestamp");
    }
    r->epoch = t->epoch;
    if (!fresh && rv == r->rv && !r->again)
        return r;
    r->again = false;
    r->rv = rv;
    r->generation = jint(meta, "generation", 0);
    bool deleting = jat(meta, "deletionTimestamp") != NULL, had = r->finalizer;
    bool changed = deleting != r->deleting;
    r->deleting = deleting;
    take_finalizers(m, r, yyjson_obj_get(meta, "finalizers"));
    changed |= had != r->finalizer;
    changed |= kinds[k].decode(m, r, o);
    if (changed || fresh)
        rec_mark(m, r);
    return r;
}

/* An answer may be long on its way: the stream has told of the object, and that it is gone, when it
 * has come further than the answer and we do not know it. */
static bool is_past(const struct sl_manager *m, enum rec_kind k, yyjson_val *o) {
    const char *ns = kinds[k].namespaced ? jstr(o, "metadata.namespace") : "";
    return version_of(jstr(o, "metadata.resourceVersion")) <= m->tables[k].stream_rv &&
           !rec_find(m, k, ns, jstr(o, "metadata.name"));
}

struct rec *rec_take_text(struct sl_manager *m, const char *text, size_t len) {
    yyjson_doc *d = yyjson_read(text, len, 0);
    yyjson_val *o = yyjson_doc_get_root(d);
    const char *kind = jstr(o, "kind"), *version = jstr(o, "apiVersion");
    struct rec *r = NULL;
    for (uint32_t k = 0; k < REC_EVENT && !r; k++)
        if (strcmp(kinds[k].kind, kind) == 0 && strcmp(kinds[k].api_version, version) == 0 &&
            !is_past(m, (enum rec_kind)k, o))
            r = rec_take(m, (enum rec_kind)k, o);
    yyjson_doc_free(d);
    return r;
}

/* ---- reflectors ---- */

static void on_begin(void *ctx) {
    struct table *t = ctx;
    t->epoch++;
}

static void on_object(void *ctx, struct yyjson_val *o) {
    struct table *t = ctx;
    uint64_t rv = version_of(jstr(o, "metadata.resourceVersion"));
    if (rv > t->stream_rv)
        t->stream_rv = rv;
    (void)rec_take(t->m, t->kind, o);
}

static void on_gone(void *ctx, struct yyjson_val *o) {
    struct table *t = ctx;
    struct rec *r =
        rec_find(t->m, t->kind, kinds[t->kind].namespaced ? jstr(o, "metadata.namespace") : "",
                 jstr(o, "metadata.name"));
    if (r && strcmp(r->uid, jstr(o, "metadata.uid")) == 0)
        deleted(t->m, r);
}

/* An answer may be long on its way: of what is newer than the list the list knows nothing. */
static void on_synced(void *ctx, bool exists) {
    struct table *t = ctx;
    uint64_t listed = exists ? version_of(sl_reflector_version(t->reflector)) : UINT64_MAX;
    uint32_t at = 0;
    for (struct rec *r; (r = rec_each(t->m, t->kind, &at));)
        if (r->epoch != t->epoch && r->rv <= listed)
            deleted(t->m, r);
    bool turned = t->exists != exists;
    t->synced = true;
    t->exists = exists;
    if (turned && t->kind == REC_PROV_REQUEST)
        prov_api_changed(t->m);
    if (t->ahead_rv <= listed)
        t->ahead_rv = 0;
}

static bool watched(const struct sl_manager *m, enum rec_kind k) {
    if (k == REC_EVENT)
        return false;
    if (k == REC_TOPOLOGY)
        return m->topo;
    const struct sl_parts *parts = &m->spec.parts;
    if (k == REC_NODE)
        return m->topo || parts->provisioning;
    if (k == REC_PROV_CONFIG || k == REC_PROV_REQUEST)
        return parts->provisioning;
    if (k == REC_POD)
        return parts->elasticjobs || parts->tas || parts->provisioning ||
               group_frameworks(m->reads);
    if (k == REC_STATEFULSET || k == REC_LWS)
        return m->reads[k == REC_LWS ? SL_FW_LEADERWORKERSET : SL_FW_STATEFULSET];
    return k != REC_JOB || m->reads[SL_FW_JOB];
}

/* Lists and watches from the beginning. */
static void start_reflector(struct sl_manager *m, enum rec_kind k) {
    struct table *t = &m->tables[k];
    struct sl_reflector_owner owner = {t, on_begin, on_object, on_gone, on_synced};
    struct sl_buf path;
    sl_reflector_free(t->reflector);
    sl_buf_init(&path, SL_WRITER_MAX_PATH);
    sl_buf_printf(&path, "%s/%s", kinds[k].path, kinds[k].plural);
    t->synced = false;
    t->reflector = sl_reflector_new(m->spec.port, sl_buf_str(&path),
                                    kinds[k].query ? kinds[k].query : "", &owner, m->spec.seed + k);
    sl_buf_done(&path);
}

void rec_relist(struct sl_manager *m, enum rec_kind k) {
    if (m->tables[k].reflector)
        start_reflector(m, k);
}

/* Those that are needed and do not run yet. */
static void start_reflectors(struct sl_manager *m) {
    for (uint32_t k = 0; k < REC_KINDS; k++)
        if (k != REC_POD && !m->tables[k].reflector && watched(m, (enum rec_kind)k))
            start_reflector(m, (enum rec_kind)k);
}

/* Pods are many: whether those on nodes matter is known before the list, or there would be two.
 * Returns whether there is nothing to wait for any more. */
static bool start_pods(struct sl_manager *m) {
    if (m->tables[REC_POD].reflector || !watched(m, REC_POD))
        return true;
    const struct table *requests = &m->tables[REC_PROV_REQUEST];
    if (!m->tables[REC_FLAVOR].synced || (requests->reflector && !requests->synced))
        return false;
    m->pods_on_nodes |= tas_is_named(m) || capacity_is_asked(m);
    start_reflector(m, REC_POD);
    return true;
}

/* ---- writing ---- */

static bool on_build(void *ctx, uint32_t obj, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct rec *r = obj < m->objs.n ? m->objs.v[obj] : NULL;
    if (!r || r->gone || !m->leads || !m->ready || !kinds[r->kind].build)
        return false;
    return kinds[r->kind].build(m, r, w);
}

/* Nobody but its user can help: the object stays as it is, and all others go on. */
static void tell_too_large(struct sl_manager *m, const struct rec *r) {
    if (r->kind != REC_EVENT && !r->gone)
        event(m, r, "kueue-admission", true, "RequestTooLarge",
              "What has to be written for this object is larger than the API server takes: make "
              "its pod templates smaller, or use fewer different ones");
}

static void on_done(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                    const struct sl_reply *reply) {
    struct sl_manager *m = ctx;
    struct rec *r = m->objs.v[obj];
    if (!r)
        return;
    count_write(m, r, how);
    if (w->method == SL_GET && w->tag != WRITE_FOREIGN && how == SL_WRITTEN && !r->gone)
        r->again = true; /* it was asked for: take it in even if it is the version that we know */
    if (how == SL_WRITTEN && r->kind != REC_EVENT && !r->gone)
        (void)rec_take_text(m, reply->body, reply->len);
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_WARN, "the API server refused a write", SL_S("path", sl_buf_str(&w->path)),
               SL_I("status", reply->status));
    if (how == SL_WRITE_REFUSED && reply->status == SL_WRITER_TOO_LARGE)
        tell_too_large(m, r);
    if (!r->gone && kinds[r->kind].written)
        kinds[r->kind].written(m, r, w, how, reply);
    if (r->gone) /* before or just now; it is there still, since its request is in flight */
        bury(m, r);
}

static void on_read(void *ctx, uint32_t obj, const struct sl_reply *reply) {
    struct sl_manager *m = ctx;
    struct rec *r = m->objs.v[obj];
    if (r && !r->gone && reply->status == 200)
        (void)rec_take_text(m, reply->body, reply->len);
    if (r && r->gone)
        bury(m, r);
    if (!r || r->gone)
        return;
    if (r->kind == REC_WORKLOAD && r->rv > m->tables[REC_WORKLOAD].ahead_rv) {
        m->tables[REC_WORKLOAD].ahead_rv = r->rv;
        m->tables[REC_WORKLOAD].ahead_since = m->spec.port->mono;
    }
    rec_mark(m, r);
}

/* ---- life ---- */

struct sl_manager *sl_manager_new(const struct sl_manager_spec *spec) {
    struct sl_manager *m = sl_alloc0(1, sizeof *m);
    m->spec = *spec;
    m->elected = m->leads = !spec->standby;
    sl_syms_init(&m->syms);
    sl_effects_init(&m->effects);
    sl_heap_init(&m->looks, look_less, look_place, m);
    m->settings = spec->settings;
    m->engine = tas_engine(m);
    struct sl_writer_owner owner = {m, on_build, on_done, on_read};
    m->writer = sl_writer_new(spec->port, &owner, MAX_IN_FLIGHT, spec->seed);
    view_init(m);
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        m->tables[k].m = m;
        m->tables[k].kind = (enum rec_kind)k;
    }
    sl_manager_configure(m, spec->settings, &spec->parts);
    return m;
}

void sl_manager_free(struct sl_manager *m) {
    if (!m)
        return;
    for (uint32_t k = 0; k < REC_KINDS; k++)
        sl_reflector_free(m->tables[k].reflector);
    sl_writer_free(m->writer);
    for (uint32_t i = 0; i < m->objs.n; i++) {
        struct rec *r = m->objs.v[i];
        if (!r)
            continue;
        if (kinds[r->kind].done)
            kinds[r->kind].done(r);
        sl_freep(&r->name);
        sl_freep(&r->uid);
        sl_freep(&r);
    }
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        sl_map_done(&m->tables[k].by_name);
        sl_vec_free(&m->tables[k].dirty);
        sl_vec_free(&m->tables[k].slots);
        sl_vec_free(&m->tables[k].free_slots);
    }
    templates_done(m);
    pods_end(m);
    provs_end(m);
    sl_map_done(&m->by_uid);
    sl_map_done(&m->by_owner);
    sl_map_done(&m->by_wl_id);
    sl_map_done(&m->by_job);
    sl_map_done(&m->set_pods);
    sl_map_done(&m->job_children);
    sl_map_done(&m->job_prebuilt);
    sl_map_done(&m->events);
    sl_map_done(&m->limit_ranges);
    sl_vec_free(&m->cohorts);
    sl_vec_free(&m->orphaned);
    sl_vec_free(&m->objs);
    sl_vec_free(&m->free_objs);
    sl_vec_free(&m->fresh);
    sl_vec_free(&m->held);
    sl_heap_done(&m->looks);
    sl_effects_done(&m->effects);
    sl_engine_free(m->engine);
    sl_topo_free(m->topo);
    sl_syms_done(&m->syms);
    sl_freep(&m);
}

void sl_manager_configure(struct sl_manager *m, const struct sl_settings *settings,
                          const struct sl_parts *parts) {
    m->settings = settings;
    m->view.settings = settings;
    m->spec.parts = *parts;
    struct sl_fact f = {
        .kind = SL_FACT_CONFIG, .at = m->spec.port->wall, .config = settings->engine};
    f.config.no_admission = !m->spec.parts.scheduler;
    f.config.no_lifecycle = !m->spec.parts.core;
    struct sl_err err;
    if (sl_engine_apply(m->engine, &f, NULL, &err) < 0)
        sl_log(SL_LOG_ERROR, "the engine refused the configuration", SL_S("error", err.text));
    m->facts = true;
    /* Namespace selectors, retention and copied labels may say something else now. */
    for (uint32_t i = 0; i < m->objs.n; i++)
        if (m->objs.v[i])
            rec_mark(m, m->objs.v[i]);
    groups_touch(m);
    bool fresh[SL_FW_COUNT];
    for (uint32_t i = 0; i < SL_FW_COUNT; i++) {
        fresh[i] = parts->framework[i] && !m->reads[i];
        m->reads[i] |= fresh[i];
    }
    start_reflectors(m);
    if (group_frameworks(fresh))
        pods_read_again(m);
}

/* What the last leader wrote may not have come to us yet, by a stream or a list on its way: work
 * that it started would look stopped, and its quota free. We lead from lists that were asked for
 * since. */
static const enum rec_kind last_leader_wrote[] = {REC_WORKLOAD, REC_JOB, REC_POD};

void sl_manager_lead(struct sl_manager *m, bool lead) {
    if (m->elected == lead)
        return;
    m->elected = lead;
    m->leads = false;
    for (uint32_t i = 0; lead && i < SL_LEN(last_leader_wrote); i++)
        if (last_leader_wrote[i] != REC_POD || group_frameworks(m->spec.parts.framework))
            rec_relist(m, last_leader_wrote[i]);
}

static bool knows_what_last_leader_wrote(const struct sl_manager *m) {
    for (uint32_t i = 0; i < SL_LEN(last_leader_wrote); i++) {
        const struct table *t = &m->tables[last_leader_wrote[i]];
        if (t->reflector && !t->synced)
            return false;
    }
    return true;
}

static void take_over(struct sl_manager *m) {
    m->leads = m->facts = true;
    sl_vec_clear(&m->held);
    for (uint32_t i = 0; i < m->objs.n; i++) {
        if (!m->objs.v[i] || m->objs.v[i]->gone)
            continue;
        if (m->objs.v[i]->kind == REC_WORKLOAD)
            wl_forget(m, wl_of(m->objs.v[i]));
        rec_mark(m, m->objs.v[i]);
        rec_want(m, m->objs.v[i]);
    }
    groups_touch(m);
}

/* ---- the turn ---- */

/* A list that is refused (no rights, a broken conversion) keeps everything waiting: somebody should
 * know why. */
static void tell_trouble(struct table *t) {
    const char *trouble = sl_reflector_trouble(t->reflector);
    uint64_t hash = *trouble ? sl_hash_str(1, trouble) : 0;
    if (hash && hash != t->trouble)
        sl_log(SL_LOG_WARN, "cannot read from the API", SL_S("kind", kinds[t->kind].kind),
               SL_S("error", trouble));
    t->trouble = hash;
}

static bool lists_are_in(struct sl_manager *m) {
    bool all = start_pods(m);
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        struct table *t = &m->tables[k];
        if (!t->reflector)
            continue;
        sl_reflector_tick(t->reflector);
        tell_trouble(t);
        all &= t->synced;
    }
    return all;
}

/*
 * A conflict shows that somebody else wrote, and that our stream of workloads has not told it yet.
 * What else it has not told may hold quota, so nothing is decided before it has caught up; a stream
 * that does not is begun anew.
 */
static bool stream_is_behind(struct sl_manager *m) {
    struct table *t = &m->tables[REC_WORKLOAD];
    if (t->ahead_rv <= t->stream_rv)
        return false;
    if (m->spec.port->mono - t->ahead_since > MAX_LAG) {
        t->ahead_since = m->spec.port->mono;
        start_reflector(m, REC_WORKLOAD);
    }
    return true;
}

/* A turn may find that it has to see more (pods_watch_nodes). */
static bool all_synced(const struct sl_manager *m) {
    bool all = true;
    for (uint32_t k = 0; k < REC_KINDS; k++)
        all &= !m->tables[k].reflector || m->tables[k].synced;
    return all;
}

/* Looks at everything dirty, kind by kind. Returns whether there was anything. */
static bool look(struct sl_manager *m) {
    bool any = false;
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        struct table *t = &m->tables[k];
        for (uint32_t i = 0; i < t->dirty.n; i++) {
            struct rec *r = t->dirty.v[i];
            r->dirty = false;
            any = true;
            if (r->gone)
                free_if_unknown(m, r);
            else if (kinds[k].changed)
                kinds[k].changed(m, r);
        }
        sl_vec_clear(&t->dirty);
    }
    return any;
}

/* The clock on the wall was set: who waits for it looks again how long. */
static void watch_clock(struct sl_manager *m) {
    sl_span clock = m->spec.port->wall - m->spec.port->mono;
    if (clock <= m->clock + SL_SEC && clock >= m->clock - SL_SEC)
        return;
    m->clock = clock;
    for (uint32_t i = 0; i < m->objs.n; i++)
        if (m->objs.v[i] && m->objs.v[i]->look_at)
            rec_mark(m, m->objs.v[i]);
    groups_touch(m);
}

static void wake_due(struct sl_manager *m) {
    while (!sl_heap_empty(&m->looks)) {
        struct rec *r = m->objs.v[sl_heap_top(&m->looks)];
        if (r->look_at > m->spec.port->wall)
            return;
        rec_look_at(m, r, 0);
        rec_mark(m, r);
    }
}

void sl_manager_tick(struct sl_manager *m) {
    bool whole = lists_are_in(m);
    if (!whole && !m->ready) {
        names_sweep(m); /* a list may never come in, and what others show changes all the time */
        return;
    }
    if (m->elected && !m->leads && knows_what_last_leader_wrote(m))
        take_over(m);
    watch_clock(m);
    wake_due(m);
    bool sees = whole && m->leads && !stream_is_behind(m);
    for (uint32_t pass = 0;; pass++) {
        if (pass == MAX_PASSES) { /* others are not to wait for it for ever */
            sl_log(SL_LOG_ERROR, "controllers do not come to rest in this turn");
            break;
        }
        bool any = look(m);
        tas_tell_news(m);
        tas_nodes_failed(m);
        capacity_turn(m);
        bool due =
            sees && all_synced(m) && (m->facts || sl_engine_next(m->engine) <= m->spec.port->wall);
        if (due)
            decide(m);
        if (!any && !due)
            break;
    }
    m->ready = true;
    names_sweep(m);
    sl_writer_tick(m->writer);
}

static sl_time earlier(sl_time a, sl_time b) {
    return a < b ? a : b;
}

/* A wall time as a point of the monotonic clock. */
static sl_time on_mono(const struct sl_manager *m, sl_time wall) {
    const struct sl_port *p = m->spec.port;
    return wall == SL_TIME_NEVER ? wall : sl_time_add(p->mono, wall > p->wall ? wall - p->wall : 0);
}

sl_time sl_manager_next(const struct sl_manager *m) {
    sl_time at = m->ready ? sl_writer_next(m->writer) : SL_TIME_NEVER;
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        const struct table *t = &m->tables[k];
        if (t->reflector)
            at = earlier(at, sl_reflector_next(t->reflector));
        if (t->dirty.n && m->ready)
            return m->spec.port->mono;
    }
    if (!m->ready)
        return at;
    const struct table *t = &m->tables[REC_WORKLOAD];
    if (!all_synced(m))
        return at;
    if (m->leads && t->ahead_rv > t->stream_rv)
        at = earlier(at, t->ahead_since + MAX_LAG + 1);
    else if (m->leads)
        at = earlier(at, m->facts ? m->spec.port->mono : on_mono(m, sl_engine_next(m->engine)));
    if (!sl_heap_empty(&m->looks))
        at = earlier(at, on_mono(m, m->objs.v[sl_heap_top(&m->looks)]->look_at));
    return earlier(at, capacity_next(m));
}

bool sl_manager_ready(const struct sl_manager *m) {
    return m->ready;
}

bool sl_manager_idle(const struct sl_manager *m) {
    for (uint32_t k = 0; k < REC_KINDS; k++)
        if (m->tables[k].dirty.n)
            return false;
    for (uint32_t k = 0; k < REC_KINDS; k++)
        if (m->tables[k].reflector && !m->tables[k].synced)
            return false;
    return m->ready && !(m->facts && m->leads) && sl_writer_idle(m->writer);
}

struct sl_engine *sl_manager_engine(struct sl_manager *m) {
    return m->engine;
}
