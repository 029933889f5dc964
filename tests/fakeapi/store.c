/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects, their versions and the history. An object is an immutable document and its text; a
 * change makes a new one. Each kind keeps its objects sorted by key and the changes since the last
 * compaction, with the state before and after: enough for watches from any version since, and for
 * pages of an older snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "fakeapi_int.h"
#include "lib/json/seek.h"

uint64_t fa_uid_hash(const char *uid) {
    return sl_hash_str(0, uid); /* 64 bits: no test has two uids with one hash */
}

yyjson_val *fa_meta_of(yyjson_val *o) {
    return yyjson_obj_get(o, "metadata");
}

const char *fa_meta_str(yyjson_val *o, const char *key) {
    const char *s = yyjson_get_str(yyjson_obj_get(fa_meta_of(o), key));

    return s ? s : "";
}

/* ---- versions ---- */

/* The document, which it takes over, under the next resourceVersion; the field must be there. */
static struct version *version_new(struct fakeapi *a, const char *key, yyjson_doc *doc) {
    size_t n = strlen(key) + 1;
    struct version *v = sl_alloc(sizeof *v + n);

    sl_assert(!a->in_change); /* see fakeapi_on_change */
    *v = (struct version){.refs = 1, .rv = ++a->rv, .doc = doc};
    memcpy(v->key, key, n);
    (void)snprintf(v->rv_text, sizeof v->rv_text, "%llu", (unsigned long long)v->rv);
    sl_assert(
        yyjson_set_str(yyjson_obj_get(fa_meta_of(fa_root_of(v)), "resourceVersion"), v->rv_text));
    v->text = yyjson_write(doc, 0, &v->len);
    sl_assert(v->text);
    return v;
}

struct version *fa_version_ref(struct version *v) {
    if (v)
        v->refs++;
    return v;
}

void fa_version_unref(struct version *v) {
    if (!v || --v->refs > 0)
        return;
    yyjson_doc_free(v->doc);
    free(v->text); /* yyjson's */
    sl_freep(&v);
}

/* ---- index ---- */

uint32_t fa_store_find(struct fakeapi *a, struct resource *r, const char *key, uint32_t *ret_at) {
    uint32_t lo = 0, hi = r->sorted.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(a->objects.v[r->sorted.v[mid]].cur->key, key);
        if (c == 0) {
            *ret_at = mid;
            return r->sorted.v[mid];
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret_at = lo;
    return NONE;
}

static void sorted_insert(struct resource *r, uint32_t at, uint32_t obj) {
    (void)sl_vec_push(&r->sorted);
    memmove(&r->sorted.v[at + 1], &r->sorted.v[at], (r->sorted.n - 1 - at) * sizeof r->sorted.v[0]);
    r->sorted.v[at] = obj;
}

static void sorted_remove(struct resource *r, uint32_t at) {
    memmove(&r->sorted.v[at], &r->sorted.v[at + 1], (r->sorted.n - 1 - at) * sizeof r->sorted.v[0]);
    r->sorted.n--;
}

/* One of its owners' dependents, or not any more. */
static void index_owners(struct fakeapi *a, uint32_t obj, yyjson_val *o, bool add) {
    size_t i, n;
    yyjson_val *ref;

    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(o), "ownerReferences"), i, n, ref) {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        if (!uid)
            continue;
        if (add)
            sl_map_add(&a->dependents, fa_uid_hash(uid), obj);
        else
            (void)sl_map_del(&a->dependents, fa_uid_hash(uid), obj);
    }
}

static bool same_owners(yyjson_val *x, yyjson_val *y) {
    yyjson_val *p = yyjson_obj_get(fa_meta_of(x), "ownerReferences");
    yyjson_val *q = yyjson_obj_get(fa_meta_of(y), "ownerReferences");

    return p == q || (p && q && sl_json_equal(p, q, NULL));
}

static uint32_t object_new(struct fakeapi *a) {
    uint32_t obj = a->free_object;

    if (obj != NONE) {
        a->free_object = a->objects.v[obj].next_free;
        return obj;
    }
    sl_assert(a->objects.n < MAX_OBJECTS);
    (void)sl_vec_push(&a->objects);
    return a->objects.n - 1;
}

/* ---- changes ---- */

/* Into the history, which takes the references over, and to all who listen. */
static void deliver_change(struct fakeapi *a, struct resource *r, struct change c) {
    struct fakeapi_change told = {
        .kind = &r->k,
        .key = c.now->key,
        .before = c.before ? fa_root_of(c.before) : NULL,
        .now = c.deleted ? NULL : fa_root_of(c.now),
        .client = a->serving ? a->serving->client : FAKEAPI_NOBODY,
        .sent = a->serving ? a->serving->sent : a->now,
    };

    a->stats.changes++;
    if (r->log.n == MAX_LOG)
        fa_store_compact(a, r);
    *sl_vec_push(&r->log) = c;
    fa_watch_wake(a, r);
    if (!a->on_change)
        return;
    a->in_change = true;
    a->on_change(a->on_change_ctx, &told);
    a->in_change = false;
}

uint32_t fa_store_add(struct fakeapi *a, struct resource *r, const char *key, yyjson_doc *doc) {
    uint32_t at, obj = fa_store_find(a, r, key, &at);
    struct version *v = version_new(a, key, doc);

    sl_assert(obj == NONE);
    obj = object_new(a);
    struct object *o = &a->objects.v[obj];
    *o = (struct object){
        .cur = v,
        .res = (uint32_t)(r - a->res),
        .uid = fa_uid_hash(fa_meta_str(fa_root_of(v), "uid")),
    };
    sorted_insert(r, at, obj);
    sl_map_add(&a->by_uid, o->uid, obj);
    index_owners(a, obj, fa_root_of(v), true);
    if (yyjson_obj_get(fa_meta_of(fa_root_of(v)), "ownerReferences"))
        fa_gc_schedule(a, o->uid);
    deliver_change(a, r, (struct change){.now = fa_version_ref(v)});
    return obj;
}

void fa_store_copy(struct fakeapi *to, const struct fakeapi *from, uint32_t res) {
    const struct resource *r = &from->res[res];

    for (uint32_t i = 0; i < r->sorted.n; i++) {
        uint32_t obj = object_new(to);
        const struct object *o = &from->objects.v[r->sorted.v[i]];
        to->objects.v[obj] =
            (struct object){.cur = fa_version_ref(o->cur), .res = res, .uid = o->uid};
        *sl_vec_push(&to->res[res].sorted) = obj;
        sl_map_add(&to->by_uid, o->uid, obj);
        index_owners(to, obj, fa_root_of(o->cur), true);
    }
    to->res[res].compacted = from->rv;
}

void fa_store_change(struct fakeapi *a, uint32_t obj, yyjson_doc *doc) {
    struct object *o = &a->objects.v[obj];
    struct version *before = o->cur, *now = version_new(a, before->key, doc);

    o->cur = now;
    if (!same_owners(fa_root_of(before), fa_root_of(now))) {
        index_owners(a, obj, fa_root_of(before), false);
        index_owners(a, obj, fa_root_of(now), true);
        fa_gc_schedule(a, o->uid);
    }
    deliver_change(a, &a->res[o->res],
                   (struct change){.before = before, .now = fa_version_ref(now)});
}

void fa_store_remove(struct fakeapi *a, uint32_t obj) {
    struct object *o = &a->objects.v[obj];
    struct resource *r = &a->res[o->res];
    struct version *before = o->cur;
    struct version *now = version_new(a, before->key, yyjson_read(before->text, before->len, 0));
    uint32_t at, cursor;

    sl_assert(fa_store_find(a, r, before->key, &at) == obj);
    sorted_remove(r, at);
    (void)sl_map_del(&a->by_uid, o->uid, obj);
    index_owners(a, obj, fa_root_of(before), false);
    for (uint32_t d = sl_map_first(&a->dependents, o->uid, &cursor); d != SL_MAP_NONE;
         d = sl_map_next(&a->dependents, o->uid, &cursor))
        fa_gc_schedule(a, a->objects.v[d].uid);
    fa_gc_schedule_owners(a, fa_root_of(before)); /* one may wait for this */
    o->cur = NULL;
    o->next_free = a->free_object;
    a->free_object = obj;
    deliver_change(a, r, (struct change){.before = before, .now = now, .deleted = true});
}

void fa_store_compact(struct fakeapi *a, struct resource *r) {
    for (uint32_t i = 0; i < r->log.n; i++) {
        fa_version_unref(r->log.v[i].before);
        fa_version_unref(r->log.v[i].now);
    }
    r->log_base += r->log.n;
    r->log.n = 0;
    r->compacted = a->rv;
}

/* ---- an older state ---- */

static uint32_t position(const struct versions *s, const char *key, bool *ret_there) {
    uint32_t lo = 0, hi = s->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int c = strcmp(s->v[mid].it->key, key);
        if (c == 0) {
            *ret_there = true;
            return mid;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret_there = false;
    return lo;
}

void fa_store_snapshot(struct fakeapi *a, struct resource *r, uint64_t rv, struct versions *out) {
    sl_vec_clear(out);
    sl_vec_reserve(out, r->sorted.n + 1);
    for (uint32_t i = 0; i < r->sorted.n; i++)
        sl_vec_push(out)->it = a->objects.v[r->sorted.v[i]].cur;
    /* Take back what happened since, the newest first. */
    for (uint32_t i = r->log.n; i-- > 0 && r->log.v[i].now->rv > rv;) {
        const struct change *c = &r->log.v[i];
        bool there;
        uint32_t at = position(out, c->now->key, &there);
        if (there && c->before) {
            out->v[at].it = c->before;
        } else if (there) {
            memmove(&out->v[at], &out->v[at + 1], (out->n - at - 1) * sizeof out->v[0]);
            out->n--;
        } else {
            sl_assert(c->before);
            (void)sl_vec_push(out);
            memmove(&out->v[at + 1], &out->v[at], (out->n - 1 - at) * sizeof out->v[0]);
            out->v[at].it = c->before;
        }
    }
}
