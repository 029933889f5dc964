/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The garbage collector. It looks at one object at a time, some while after something happened to
 * it, to one of its owners or to one of its dependents:
 *   - it waits in foreground deletion: dependents that block it are deleted; when none is left, it
 * is let go
 *   - it is to leave its dependents alone: they forget it, and it is let go
 *   - none of its owners exists any more: it is deleted
 */
#include <string.h>

#include "fakeapi_int.h"

void fa_gc_schedule(struct fakeapi *a, uint64_t uid) {
    if (a->bare)
        return;
    fa_event_add(a, a->now + fa_some_time(a, SL_MSEC, 20 * SL_MSEC), EV_GC, uid, NULL, NULL);
}

void fa_gc_schedule_owners(struct fakeapi *a, yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref;

    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(o), "ownerReferences"), i, n, ref) {
        const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
        if (uid && sl_map_get(&a->by_uid, fa_uid_hash(uid)) != SL_MAP_NONE)
            fa_gc_schedule(a, fa_uid_hash(uid));
    }
}

static bool has_finalizer(yyjson_val *o, const char *name) {
    size_t i, n;
    yyjson_val *f;

    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(o), "finalizers"), i, n, f) {
        if (yyjson_equals_str(f, name))
            return true;
    }
    return false;
}

/* Takes the elements that 'drop' chooses out of a list in metadata. */
static void edit_list(struct fakeapi *a, uint32_t obj, const char *list,
                      bool (*drop)(yyjson_mut_val *v, const void *ctx), const void *ctx) {
    yyjson_mut_doc *m = yyjson_doc_mut_copy(a->objects.v[obj].cur->doc, NULL);
    yyjson_mut_val *md = yyjson_mut_obj_get(yyjson_mut_doc_get_root(m), "metadata");
    yyjson_mut_arr_iter it;
    struct sl_buf out;

    yyjson_mut_arr_iter_init(yyjson_mut_obj_get(md, list), &it);
    for (yyjson_mut_val *v; (v = yyjson_mut_arr_iter_next(&it));)
        if (drop(v, ctx))
            yyjson_mut_arr_iter_remove(&it);
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(md, list)) == 0)
        yyjson_mut_obj_remove_key(md, list);
    sl_buf_init(&out, MAX_REPLY_BYTES);
    (void)fa_write_update(a, obj, false, m, &out);
    sl_buf_done(&out);
    yyjson_mut_doc_free(m);
}

static bool is_string(yyjson_mut_val *v, const void *ctx) {
    return yyjson_mut_equals_str(v, ctx);
}

static bool refers_to(yyjson_mut_val *v, const void *ctx) {
    return yyjson_mut_equals_str(yyjson_mut_obj_get(v, "uid"), ctx);
}

static bool blocks(yyjson_val *o, const char *owner_uid) {
    size_t i, n;
    yyjson_val *ref;

    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(o), "ownerReferences"), i, n, ref) {
        if (yyjson_equals_str(yyjson_obj_get(ref, "uid"), owner_uid))
            return yyjson_is_true(yyjson_obj_get(ref, "blockOwnerDeletion"));
    }
    return false;
}

static void delete_quietly(struct fakeapi *a, uint32_t obj) {
    struct delete_options o = {.policy = "Background", .uid = "", .version = "", .grace = -1};
    struct sl_buf out;

    if (fa_meta_str(fa_root_of(a->objects.v[obj].cur), "deletionTimestamp")[0])
        return; /* is on its way */
    sl_buf_init(&out, MAX_REPLY_BYTES);
    (void)fa_write_delete(a, obj, &o, &out);
    sl_buf_done(&out);
}

/* Deletes, or sets free, all dependents; true if one of them still has to go first. */
static bool end_dependents(struct fakeapi *a, uint32_t obj, bool orphan) {
    char uid[64];
    bool wait = false;
    uint32_t cursor;
    SL_VEC(uint32_t) list = {0};

    (void)snprintf(uid, sizeof uid, "%s", fa_meta_str(fa_root_of(a->objects.v[obj].cur), "uid"));
    /* Writes change the map, so the list first. */
    for (uint32_t d = sl_map_first(&a->dependents, a->objects.v[obj].uid, &cursor);
         d != SL_MAP_NONE; d = sl_map_next(&a->dependents, a->objects.v[obj].uid, &cursor))
        *sl_vec_push(&list) = d;
    for (uint32_t i = 0; i < list.n; i++) {
        uint32_t d = list.v[i];
        if (!a->objects.v[d].cur)
            continue;
        if (orphan) {
            edit_list(a, d, "ownerReferences", refers_to, uid);
        } else if (blocks(fa_root_of(a->objects.v[d].cur), uid)) {
            delete_quietly(a, d);
            wait |= a->objects.v[d].cur != NULL;
        }
    }
    sl_vec_free(&list);
    return wait;
}

/* An owner of a kind that we do not know is thought to exist. */
static bool owner_exists(struct fakeapi *a, yyjson_val *ref) {
    const char *uid = yyjson_get_str(yyjson_obj_get(ref, "uid"));
    yyjson_val *kind = yyjson_obj_get(ref, "kind");

    if (uid && sl_map_get(&a->by_uid, fa_uid_hash(uid)) != SL_MAP_NONE)
        return true;
    for (uint32_t i = 0; i < a->n_res; i++)
        if (yyjson_equals_str(kind, a->res[i].k.kind))
            return false;
    return true;
}

void fa_gc_check(struct fakeapi *a, uint64_t uid) {
    uint32_t obj = sl_map_get(&a->by_uid, uid);
    bool owned = false;
    size_t i, n;
    yyjson_val *ref;

    if (obj == SL_MAP_NONE)
        return;
    yyjson_val *o = fa_root_of(a->objects.v[obj].cur);
    if (fa_meta_str(o, "deletionTimestamp")[0]) {
        bool foreground = has_finalizer(o, "foregroundDeletion");
        if (foreground || has_finalizer(o, "orphan")) {
            if (!end_dependents(a, obj, !foreground))
                edit_list(a, obj, "finalizers", is_string,
                          foreground ? "foregroundDeletion" : "orphan");
        }
        return;
    }
    yyjson_val *refs = yyjson_obj_get(fa_meta_of(o), "ownerReferences");
    yyjson_arr_foreach (refs, i, n, ref) {
        owned |= owner_exists(a, ref);
    }
    if (!owned && yyjson_arr_size(refs) > 0)
        delete_quietly(a, obj);
}
