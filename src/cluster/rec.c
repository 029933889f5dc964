/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of records: finding, marking, children, taking objects in. See cluster_int.h. */
#include "cluster/cluster_int.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/hash.h"

#define MAX_OBJECTS SL_WRITER_MAX_OBJECTS

/* ---- finding ---- */

uint64_t cl_uid(const char *uid) {
    return uid && *uid ? sl_hash_str(7, uid) | 1 : 0;
}

static uint64_t name_hash(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

static struct rec *find_in(const struct sl_cluster *c, const struct table *t, sl_sym ns,
                           const char *name) {
    uint64_t h = name_hash(ns, name);
    uint32_t cursor;
    for (uint32_t i = sl_map_first(&t->by_name, h, &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&t->by_name, h, &cursor)) {
        struct rec *r = c->objs.v[i];
        if (r->ns == ns && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

struct rec *cl_find_sym(const struct sl_cluster *c, enum rec_kind k, sl_sym ns, const char *name) {
    return find_in(c, &c->tables[k], ns, name);
}

struct rec *cl_find_text(const struct sl_cluster *c, const struct table *t, const char *ns,
                         const char *name) {
    sl_sym y = sl_sym_find(&c->syms, t->kind->namespaced ? ns : "");
    return y == SL_MAP_NONE ? NULL : find_in(c, t, y, name);
}

struct rec *cl_find(const struct sl_cluster *c, enum rec_kind k, const char *ns, const char *name) {
    return cl_find_text(c, &c->tables[k], ns, name);
}

struct rec *cl_by_uid(const struct sl_cluster *c, uint64_t uid) {
    uint32_t i = uid ? sl_map_get(&c->by_uid, uid) : SL_MAP_NONE;
    return i == SL_MAP_NONE ? NULL : c->objs.v[i];
}

struct rec *cl_each_in(const struct table *t, uint32_t *at) {
    while (*at < t->slots.n) {
        struct rec *r = t->slots.v[(*at)++];
        if (r)
            return r;
    }
    return NULL;
}

struct rec *cl_each(const struct sl_cluster *c, enum rec_kind k, uint32_t *at) {
    return cl_each_in(&c->tables[k], at);
}

/* ---- owners ---- */

static struct brood *brood_of(const struct sl_cluster *c, uint64_t owner) {
    uint32_t i = owner ? sl_map_get(&c->by_owner, owner) : SL_MAP_NONE;
    return i == SL_MAP_NONE ? NULL : &c->broods.v[i];
}

struct rec *cl_children(const struct sl_cluster *c, uint64_t owner, uint32_t *ret_n) {
    const struct brood *b = brood_of(c, owner);
    if (ret_n)
        *ret_n = b ? b->n : 0;
    return b ? b->first : NULL;
}

static void mark_owner(struct sl_cluster *c, uint64_t owner) {
    struct rec *r = cl_by_uid(c, owner);
    if (r)
        cl_mark(c, r);
}

static void tie(struct sl_cluster *c, struct rec *r, uint64_t owner) {
    r->owner = owner;
    if (!owner)
        return;
    struct brood *b = brood_of(c, owner);
    if (!b) {
        uint32_t i = c->free_broods.n ? sl_vec_pop(&c->free_broods) : c->broods.n;
        if (i == c->broods.n)
            (void)sl_vec_push(&c->broods);
        b = &c->broods.v[i];
        *b = (struct brood){.owner = owner};
        sl_map_add(&c->by_owner, owner, i);
    }
    r->prev = NULL;
    r->next = b->first;
    if (b->first)
        b->first->prev = r;
    b->first = r;
    b->n++;
}

static void untie(struct sl_cluster *c, struct rec *r) {
    struct brood *b = brood_of(c, r->owner);
    if (!b)
        return;
    if (r->prev)
        r->prev->next = r->next;
    else
        b->first = r->next;
    if (r->next)
        r->next->prev = r->prev;
    r->prev = r->next = NULL;
    if (--b->n == 0) {
        uint32_t i = (uint32_t)(b - c->broods.v);
        (void)sl_map_del(&c->by_owner, r->owner, i);
        *sl_vec_push(&c->free_broods) = i;
    }
    r->owner = 0;
}

static uint64_t controller_of(yyjson_val *meta) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (yyjson_obj_get(meta, "ownerReferences"), i, n, ref)
        if (yyjson_is_true(yyjson_obj_get(ref, "controller")))
            return cl_uid(jstr(ref, "uid"));
    return 0;
}

/* ---- marking ---- */

void cl_enqueue(struct rec *r) {
    if (r->dirty)
        return;
    r->dirty = true;
    *sl_vec_push(&r->table->dirty) = r;
}

void cl_mark(struct sl_cluster *c, struct rec *r) {
    (void)c;
    if (!r->gone && !r->planned && r->table->kind->changed)
        cl_enqueue(r);
}

void cl_want(struct sl_cluster *c, struct rec *r) {
    if (!r->gone)
        sl_writer_want(c->writer, r->obj, r->table->kind->lane);
}

void cl_want_at(struct sl_cluster *c, struct rec *r, sl_time mono) {
    if (!r->gone)
        sl_writer_want_at(c->writer, r->obj, r->table->kind->lane, mono);
}

bool cl_look_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_cluster *c = ctx;
    sl_time x = c->objs.v[a]->look_at, y = c->objs.v[b]->look_at;
    return x != y ? x < y : a < b;
}

uint32_t *cl_look_place(void *ctx, uint32_t obj) {
    const struct sl_cluster *c = ctx;
    return &c->objs.v[obj]->place;
}

void cl_look_at(struct sl_cluster *c, struct rec *r, sl_time wall) {
    if (r->look_at == wall)
        return;
    if (!wall)
        sl_heap_remove(&c->looks, r->obj);
    r->look_at = wall;
    if (wall)
        sl_heap_fix(&c->looks, r->obj);
}

/* ---- coming and going ---- */

struct rec *cl_new(struct sl_cluster *c, struct table *t, sl_sym ns, const char *name) {
    struct rec *r = sl_alloc0(1, t->kind->size);
    sl_assert(c->objs.n - c->free_objs.n < MAX_OBJECTS);
    r->obj = c->free_objs.n ? sl_vec_pop(&c->free_objs) : c->objs.n;
    if (r->obj == c->objs.n)
        (void)sl_vec_push(&c->objs);
    c->objs.v[r->obj] = r;
    r->table = t;
    r->place = SL_HEAP_OUT;
    r->slot = t->free_slots.n ? sl_vec_pop(&t->free_slots) : t->slots.n;
    if (r->slot == t->slots.n)
        (void)sl_vec_push(&t->slots);
    t->slots.v[r->slot] = r;
    t->n++;
    r->ns = ns;
    r->name = sl_strdup(name);
    r->uid = sl_strdup("");
    r->epoch = t->epoch;
    sl_map_add(&t->by_name, name_hash(ns, name), r->obj);
    return r;
}

void cl_free(struct rec *r) {
    if (r->table->kind->done)
        r->table->kind->done(r);
    sl_freep(&r->name);
    sl_freep(&r->uid);
    sl_freep(&r);
}

/* The memory goes when neither a request in flight nor the dirty queue knows the record any more.
 */
void cl_free_if_unknown(struct sl_cluster *c, struct rec *r) {
    if (!r->gone || r->dirty || sl_writer_busy(c->writer, r->obj))
        return;
    c->objs.v[r->obj] = NULL;
    sl_writer_forget(c->writer, r->obj); /* pauses and wishes are not the next one's */
    *sl_vec_push(&c->free_objs) = r->obj;
    cl_free(r);
}

void cl_forget(struct sl_cluster *c, struct rec *r) {
    struct table *t = r->table;
    if (r->gone)
        return;
    r->gone = true;
    t->n--;
    t->slots.v[r->slot] = NULL;
    *sl_vec_push(&t->free_slots) = r->slot;
    cl_look_at(c, r, 0);
    (void)sl_map_del(&t->by_name, name_hash(r->ns, r->name), r->obj);
    if (*r->uid)
        (void)sl_map_del(&c->by_uid, cl_uid(r->uid), r->obj);
    mark_owner(c, r->owner);
    untie(c, r);
    /* Somebody may be walking past it: it goes at the end of the turn. */
    cl_enqueue(r);
}

void cl_deleted(struct sl_cluster *c, struct rec *r) {
    if (r->gone)
        return;
    if (r->table->kind->gone)
        r->table->kind->gone(c, r);
    cl_forget(c, r);
}

/* ---- children ---- */

const char *cl_child_name(const struct rec *owner, const char *base, const char *word,
                          uint64_t number, char out[REC_NAME]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = sl_digest_u64(sl_digest_str(sl_digest_str(3, owner->uid), word), number);
    char tail[6] = "";
    for (uint32_t i = 0; i < 5; i++, h /= sizeof letters - 1)
        tail[i] = letters[h % (sizeof letters - 1)];
    /* As generateName does it: 63 characters are the longest that fit every use of a name. */
    sl_fmt(out, REC_NAME, "%.57s-%s", base, tail);
    return out;
}

struct rec *cl_plan(struct sl_cluster *c, enum rec_kind k, struct rec *owner, const char *name) {
    struct rec *r = cl_new(c, &c->tables[k], owner->ns, name);
    r->planned = true;
    r->created = c->port->wall;
    tie(c, r, cl_uid(owner->uid));
    cl_want(c, r);
    return r;
}

void cl_doom(struct sl_cluster *c, struct rec *r) {
    if (r->planned && !r->sent) {
        cl_forget(c, r);
        return;
    }
    r->doomed = true;
    cl_want(c, r);
}

/* ---- taking objects in ---- */

uint64_t cl_version(const char *s) {
    uint64_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    return v;
}

/* The planned object is there. */
static void fulfil(struct sl_cluster *c, struct rec *r, const char *uid, yyjson_val *meta) {
    sl_freep(&r->uid);
    r->uid = sl_strdup(uid);
    r->created = jtime(meta, "creationTimestamp");
    if (*uid)
        sl_map_add(&c->by_uid, cl_uid(uid), r->obj);
    r->planned = false;
}

struct rec *cl_take_in(struct sl_cluster *c, struct table *t, yyjson_val *o) {
    yyjson_val *meta = yyjson_obj_get(o, "metadata");
    const char *name = jstr(meta, "name"), *uid = jstr(meta, "uid");
    sl_sym ns = sl_sym_put(&c->syms, t->kind->namespaced ? jstr(meta, "namespace") : "");
    uint64_t rv = cl_version(jstr(meta, "resourceVersion")), owner = controller_of(meta);

    if (!*name)
        return NULL;
    struct rec *r = find_in(c, t, ns, name);
    if (r && r->planned && r->owner != owner) { /* somebody else had this name */
        cl_forget(c, r);
        r = NULL;
    }
    if (r && !r->planned && strcmp(r->uid, uid) != 0) {
        if (rv < r->rv)
            return NULL; /* a late word about an earlier object of this name */
        cl_deleted(c, r);
        r = NULL;
    }
    if (r && rv < r->rv) {
        r->epoch = t->epoch;
        return r;
    }
    bool fresh = !r || r->planned;
    if (!r)
        r = cl_new(c, t, ns, name);
    if (fresh)
        fulfil(c, r, uid, meta);
    r->epoch = t->epoch;
    if (!fresh && rv == r->rv)
        return r;
    r->rv = rv;
    r->generation = jint(meta, "generation", 0);
    bool deleting = jat(meta, "deletionTimestamp") != NULL, changed = deleting != r->deleting;
    r->deleting = deleting;
    if (r->owner != owner) {
        mark_owner(c, r->owner);
        untie(c, r);
        tie(c, r, owner);
        changed = true;
    }
    if (t->kind->decode)
        changed |= t->kind->decode(c, r, o);
    if (changed || fresh) {
        cl_mark(c, r);
        mark_owner(c, r->owner);
    }
    return r;
}

struct rec *cl_take(struct sl_cluster *c, enum rec_kind k, yyjson_val *o) {
    return cl_take_in(c, &c->tables[k], o);
}

/* An answer may be long on its way: the stream has told of the object, and that it is gone, when it
 * has come further than the answer and we do not know it. */
void cl_take_text(struct sl_cluster *c, const struct rec *of, const char *text, size_t len) {
    yyjson_doc *d = yyjson_read(text, len, 0);
    yyjson_val *o = yyjson_doc_get_root(d);
    struct table *t = of->table;
    if (strcmp(jstr(o, "kind"), t->kind->kind) == 0 &&
        strcmp(jstr(o, "apiVersion"), t->kind->api_version) == 0 &&
        (cl_version(jstr(o, "metadata.resourceVersion")) > t->stream_rv ||
         cl_find_text(c, t, jstr(o, "metadata.namespace"), jstr(o, "metadata.name"))))
        (void)cl_take_in(c, t, o);
    yyjson_doc_free(d);
}
