/* SPDX-License-Identifier: Apache-2.0 */
/* Records: finding, queueing, taking objects in, coming and going. */
#include "kube/informer/informer_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

/* ---- finding ---- */

static uint64_t name_hash(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

static struct sl_rec *find_sym(const struct sl_rec_table *t, sl_sym ns, const char *name) {
    uint64_t h = name_hash(ns, name);
    sl_map_foreach (i, &t->by_name, h) {
        struct sl_rec *r = t->informer->recs.v[i];
        if (r->ns == ns && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

struct sl_rec *sl_inf_find_in(const struct sl_rec_table *t, const char *ns, const char *name) {
    sl_sym y = sl_sym_find(&t->informer->syms, t->kind->namespaced ? ns : "");
    return y == SL_MAP_NONE ? NULL : find_sym(t, y, name);
}

struct sl_rec *sl_inf_find(const struct sl_informer *f, uint32_t kind, const char *ns,
                           const char *name) {
    return sl_inf_find_in(&f->tables[kind], ns, name);
}

struct sl_rec *sl_inf_find_sym(const struct sl_informer *f, uint32_t kind, sl_sym ns,
                               const char *name) {
    return find_sym(&f->tables[kind], ns, name);
}

struct sl_rec *sl_inf_each(const struct sl_informer *f, uint32_t kind, uint32_t *at) {
    const struct sl_rec_table *t = &f->tables[kind];
    while (*at < t->slots.n) {
        struct sl_rec *r = t->slots.v[(*at)++];
        if (r)
            return r;
    }
    return NULL;
}

/* ---- queueing ---- */

void sl_rec_enqueue(struct sl_rec *r) {
    if (r->queued || r->gone || r->create_planned || !r->table->kind->reconcile)
        return;
    r->queued = true;
    *sl_vec_push(&r->table->queue) = r;
}

static uint32_t lane_of(const struct sl_rec *r) {
    const struct sl_rec_kind *k = r->table->kind;
    return k->lane_of ? k->lane_of(r) : k->lane;
}

void sl_rec_write(struct sl_rec *r) {
    struct sl_informer *f = r->table->informer;
    if (f->writes && !r->gone)
        sl_writer_enqueue(f->writer, r->id, lane_of(r));
}

void sl_rec_write_at(struct sl_rec *r, sl_time mono) {
    struct sl_informer *f = r->table->informer;
    if (f->writes && !r->gone)
        sl_writer_enqueue_at(f->writer, r->id, lane_of(r), mono);
}

void sl_rec_reconcile_at(struct sl_rec *r, sl_time wall) {
    struct sl_heap *timers = &r->table->informer->timers;
    if (r->reconcile_at == wall)
        return;
    if (!wall)
        sl_heap_remove(timers, r->id);
    r->reconcile_at = wall;
    if (wall)
        sl_heap_fix(timers, r->id);
}

/* ---- coming and going ---- */

struct sl_rec *sl_inf_new_rec(struct sl_rec_table *t, sl_sym ns, const char *name) {
    struct sl_informer *f = t->informer;
    struct sl_rec *r = sl_alloc0(1, t->kind->size);
    sl_assert(f->recs.n - f->free_ids.n < SL_WRITER_MAX_OBJECTS);
    r->id = f->free_ids.n ? sl_vec_pop(&f->free_ids) : f->recs.n;
    if (r->id == f->recs.n)
        (void)sl_vec_push(&f->recs);
    f->recs.v[r->id] = r;
    r->table = t;
    r->kind = (uint8_t)(t - f->tables);
    r->timer = SL_HEAP_OUT;
    r->slot = t->free_slots.n ? sl_vec_pop(&t->free_slots) : t->slots.n;
    if (r->slot == t->slots.n)
        (void)sl_vec_push(&t->slots);
    t->slots.v[r->slot] = r;
    t->n++;
    r->ns = ns;
    r->name = sl_strdup(name);
    r->uid = sl_strdup("");
    r->epoch = t->epoch;
    sl_map_add(&t->by_name, name_hash(ns, name), r->id);
    return r;
}

struct sl_rec *sl_inf_add(struct sl_informer *f, uint32_t kind, const char *ns, const char *name) {
    return sl_inf_new_rec(&f->tables[kind], sl_sym_put(&f->syms, ns), name);
}

void sl_inf_free_rec(struct sl_rec *r) {
    if (r->table->kind->free)
        r->table->kind->free(r);
    sl_freep(&r->name);
    sl_freep(&r->uid);
    sl_freep(&r);
}

/* A walk may be at this record: the memory is freed at the end of a turn, and when neither the work
 * queue nor a request in flight refers to it. */
void sl_inf_reap(struct sl_informer *f) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < f->tombstones.n; i++) {
        struct sl_rec *r = f->tombstones.v[i];
        if (r->queued || sl_writer_busy(f->writer, r->id)) {
            f->tombstones.v[left++] = r;
            continue;
        }
        f->recs.v[r->id] = NULL;
        sl_writer_forget(f->writer, r->id); /* pauses and pending writes are not the next one's */
        *sl_vec_push(&f->free_ids) = r->id;
        sl_inf_free_rec(r);
    }
    f->tombstones.n = left;
}

void sl_rec_forget(struct sl_rec *r) {
    struct sl_rec_table *t = r->table;
    struct sl_informer *f = t->informer;
    if (r->gone)
        return;
    r->gone = true;
    t->n--;
    t->slots.v[r->slot] = NULL;
    *sl_vec_push(&t->free_slots) = r->slot;
    sl_rec_reconcile_at(r, 0);
    (void)sl_map_del(&t->by_name, name_hash(r->ns, r->name), r->id);
    if (t->kind->owners && *r->uid)
        (void)sl_map_del(&f->by_uid, sl_rec_uid(r->uid), r->id);
    sl_inf_enqueue_owner(r);
    sl_inf_owner_index_remove(r);
    *sl_vec_push(&f->tombstones) = r;
}

void sl_inf_deleted(struct sl_rec *r) {
    if (r->gone)
        return;
    if (r->table->kind->deleted)
        r->table->kind->deleted(r->table->informer->spec.ctx, r);
    sl_rec_forget(r);
}

/* ---- taking objects in ---- */

uint64_t sl_rec_version(const char *text) {
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        v = v * 10 + (uint64_t)(*text - '0');
    return v;
}

static void take_finalizers(struct sl_rec *r, yyjson_val *list) {
    struct sl_buf others = SL_BUF(SIZE_MAX / 4); /* they are written back: not a byte is left out */
    struct sl_jw j = SL_JW(&others);
    const char *ours = r->table->kind->finalizer;
    size_t i, n;
    yyjson_val *v;

    r->finalizer = false;
    yyjson_arr_foreach (list, i, n, v) {
        const char *s = sl_json_opt(v);
        if (s && strcmp(s, ours) == 0) {
            r->finalizer = true;
        } else if (s) {
            if (j.depth == 0)
                sl_jw_array(&j, NULL);
            sl_jw_str(&j, NULL, s);
        }
    }
    sl_jw_end_to(&j, 0);
    r->finalizers = sl_sym_put(&r->table->informer->syms, sl_buf_str(&others));
    sl_buf_done(&others);
}

/* It exists, and may have been planned. */
static void begin_record(struct sl_rec *r, const char *uid, yyjson_val *meta) {
    sl_freep(&r->uid);
    r->uid = sl_strdup(uid);
    r->created = sl_json_time(meta, "creationTimestamp");
    r->create_planned = false;
    if (r->table->kind->owners && *uid)
        sl_map_add(&r->table->informer->by_uid, sl_rec_uid(uid), r->id);
}

/* Returns whether the metadata changed. */
static bool take_head(struct sl_rec *r, yyjson_val *meta, uint64_t owner) {
    bool deleting = sl_json_at(meta, "deletionTimestamp") != NULL, had = r->finalizer;
    bool changed = deleting != r->deleting;
    r->generation = sl_json_int(meta, "generation", 0);
    r->deleting = deleting;
    if (r->table->kind->finalizer)
        take_finalizers(r, yyjson_obj_get(meta, "finalizers"));
    changed |= had != r->finalizer;
    if (r->owner != owner) {
        sl_inf_enqueue_owner(r);
        sl_inf_owner_index_remove(r);
        sl_inf_owner_index_add(r, owner);
        changed = true;
    }
    return changed;
}

static bool too_long(const struct sl_rec_kind *k, const char *name, const char *ns,
                     const char *uid) {
    if (strlen(name) <= SL_REC_MAX_NAME && strlen(ns) <= SL_REC_MAX_NAME &&
        strlen(uid) <= SL_REC_MAX_NAME)
        return false;
    sl_log(SL_LOG_WARN, "malformed object ignored", SL_S("kind", k->kind),
           SL_S("what", "its name or uid is too long"));
    return true;
}

struct sl_rec *sl_inf_take_in(struct sl_rec_table *t, yyjson_val *o) {
    struct sl_informer *f = t->informer;
    const struct sl_rec_kind *k = t->kind;
    yyjson_val *meta = yyjson_obj_get(o, "metadata");
    const char *name = sl_json_str(meta, "name"), *uid = sl_json_str(meta, "uid");
    const char *ns = k->namespaced ? sl_json_str(meta, "namespace") : "";
    uint64_t rv = sl_rec_version(sl_json_str(meta, "resourceVersion"));
    uint64_t owner = k->owners ? sl_inf_controller_of(meta) : 0;

    if (!*name || too_long(k, name, ns, uid))
        return NULL;
    struct sl_rec *r = sl_inf_find_in(t, ns, name);
    if (r && r->create_planned && r->owner != owner) { /* another object had this name */
        sl_rec_forget(r);
        r = NULL;
    }
    if (r && !r->create_planned && strcmp(r->uid, uid) != 0) {
        if (rv < r->rv)
            return NULL; /* a late report of an earlier object of this name */
        sl_inf_deleted(r);
        r = NULL;
    }
    if (r && rv < r->rv) {
        r->epoch = t->epoch;
        return r;
    }
    if (k->wanted && !k->wanted(f->spec.ctx, o)) {
        if (r)
            sl_inf_deleted(r);
        return NULL;
    }
    bool fresh = !r || r->create_planned;
    if (!r)
        r = sl_inf_new_rec(t, sl_sym_put(&f->syms, ns), name);
    if (fresh)
        begin_record(r, uid, meta);
    r->epoch = t->epoch;
    if (!fresh && rv == r->rv && !r->reread)
        return r;
    r->reread = false;
    r->rv = rv;
    bool changed = take_head(r, meta, owner);
    if (k->decode)
        changed |= k->decode(f->spec.ctx, r, o);
    if (changed || fresh) {
        sl_rec_enqueue(r);
        sl_inf_enqueue_owner(r);
    }
    return r;
}

struct sl_rec *sl_inf_take(struct sl_informer *f, uint32_t kind, yyjson_val *o) {
    return sl_inf_take_in(&f->tables[kind], o);
}

static bool is_of(const struct sl_rec_table *t, const char *kind, const char *version) {
    return t->kind->decode && strcmp(t->kind->kind, kind) == 0 &&
           strcmp(t->kind->api_version, version) == 0;
}

/* Whose kind this is. Of a kind that is not followed whole, an object that another wrote may be
 * none of those: the stream would never show its end. */
static struct sl_rec_table *table_of(const struct sl_rec *of, yyjson_val *o) {
    const struct sl_informer *f = of->table->informer;
    const char *kind = sl_json_str(o, "kind"), *version = sl_json_str(o, "apiVersion");
    if (is_of(of->table, kind, version))
        return of->table;
    for (uint32_t i = 0; i < f->n_tables; i++)
        if (!f->tables[i].kind->query && is_of(&f->tables[i], kind, version))
            return &f->tables[i];
    return NULL;
}

/* An answer may be long on its way: the stream has shown the object, and that it is gone, when it
 * has come further than the answer and we do not know it. */
void sl_inf_take_answer(const struct sl_rec *of, const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
    yyjson_val *o = yyjson_doc_get_root(d);
    struct sl_rec_table *t = table_of(of, o);
    if (t &&
        (sl_rec_version(sl_json_str(o, "metadata.resourceVersion")) > t->stream_rv ||
         sl_inf_find_in(t, sl_json_str(o, "metadata.namespace"), sl_json_str(o, "metadata.name"))))
        (void)sl_inf_take_in(t, o);
}
