/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on an enqueued node, one request after the other: the object is read, then those of its
 * owners that are not known to exist, then one write follows from that. A conflict starts over.
 * Nothing is deleted that was not read just before with the same uid and version, and nothing of
 * which not every owner was found absent, or is itself waiting for its dependents to be deleted.
 */
#include <string.h>

#include "cluster/controllers/gc/gc.h"
#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define IN_FLIGHT 64u
#define LATER SL_SEC

static void put_path(struct sl_buf *b, const struct cl_gc_resource *r, const char *key) {
    const char *slash = strchr(key, '/');

    sl_buf_puts(b, r->path);
    if (slash)
        sl_buf_printf(b, "/namespaces/%.*s", (int)(slash - key), key);
    sl_buf_printf(b, "/%s/%s", r->plural, slash ? slash + 1 : key);
}

static yyjson_val *meta_of(const struct cl_gc_work *k) {
    return yyjson_obj_get(yyjson_doc_get_root(k->doc), "metadata");
}

/* ---- the end of it ---- */

static void free_reading(struct cl_gc_work *k) {
    yyjson_doc_free(k->doc);
    k->doc = NULL;
    k->step = STEP_READ_OBJECT;
}

static void work_free(struct cl_gc *g, uint32_t w) {
    struct cl_gc_work *k = g->works.v[w];

    free_reading(k);
    k->node = GC_NONE;
    *sl_vec_push(&g->free_works) = w;
    sl_writer_forget(g->writer, w);
}

/* Nothing more to do, unless something happened meanwhile. */
static void finish_work(struct cl_gc *g, uint32_t w) {
    struct cl_gc_work *k = g->works.v[w];

    if (k->again) {
        k->again = false;
        free_reading(k);
        sl_writer_enqueue(g->writer, w, 0);
        return;
    }
    g->nodes.v[k->node].work = 0;
    work_free(g, w);
}

void cl_gc_work_drop(struct cl_gc *g, uint32_t node) {
    uint32_t w = g->nodes.v[node].work;

    g->nodes.v[node].work = 0;
    if (w)
        work_free(g, w - 1);
}

void cl_gc_enqueue(struct cl_gc *g, uint32_t node) {
    struct cl_gc_node *n = &g->nodes.v[node];

    if (!g->ready || !n->key || !cl_on(g->c, CL_GARBAGE))
        return;
    if (n->work) {
        g->works.v[n->work - 1]->again = true;
        return;
    }
    uint32_t w = g->free_works.n ? sl_vec_pop(&g->free_works) : g->works.n;
    if (w == g->works.n)
        *sl_vec_push(&g->works) = sl_alloc(sizeof *g->works.v[w]);
    *g->works.v[w] = (struct cl_gc_work){.node = node};
    n->work = w + 1;
    sl_writer_enqueue(g->writer, w, 0);
}

/* ---- owners ---- */

/* The whole reference and its namespace: a client may write a uid that it has seen beside a kind
 * and a name that are not its own, which is no evidence about the object that has it. */
static uint64_t question_of(const struct cl_gc *g, const struct cl_gc_work *k, yyjson_val *ref) {
    const char *key = g->nodes.v[k->node].key;
    uint64_t h = sl_hash_bytes(1, key, strcspn(key, "/"));

    if (!strchr(key, '/')) /* in no namespace */
        h = sl_hash_u64(2, 0);
    h = sl_hash_str(sl_hash_u64(h, sl_rec_uid(sl_json_str(ref, "uid"))),
                    sl_json_str(ref, "apiVersion"));
    return sl_hash_str(sl_hash_str(h, sl_json_str(ref, "kind")), sl_json_str(ref, "name"));
}

static enum cl_gc_owner_state known_owner(struct cl_gc *g, const struct cl_gc_work *k,
                                          yyjson_val *ref) {
    uint64_t uid = sl_rec_uid(sl_json_str(ref, "uid")), question = question_of(g, k, ref);
    const struct cl_gc_node *o = cl_gc_node(g, uid);

    if (o && o->flags & NODE_FOREGROUND)
        return OWNER_WAITS;
    if (g->orphaned[uid % GC_ABSENT] == uid)
        return OWNER_ORPHANS;
    if (o)
        return OWNER_LIVES;
    return g->absent[question % GC_ABSENT] == question ? OWNER_ABSENT : OWNER_UNKNOWN;
}

/* An owner that cannot be read counts as present: of a kind that is not served, or a namespaced one
 * of an object without a namespace. */
static const struct cl_gc_resource *owner_resource(const struct cl_gc *g,
                                                   const struct cl_gc_work *k, yyjson_val *ref) {
    const struct cl_gc_resource *r =
        cl_resource_of(g, sl_json_str(ref, "apiVersion"), sl_json_str(ref, "kind"));
    bool inside = strchr(g->nodes.v[k->node].key, '/') != NULL;

    return r && *sl_json_str(ref, "name") && (inside || !r->namespaced) ? r : NULL;
}

/* On to the next owner that has to be read, or to the write. */
static void go_on(struct cl_gc *g, uint32_t w) {
    struct cl_gc_work *k = g->works.v[w];
    size_t i, n;
    yyjson_val *ref;

    k->step = STEP_WRITE;
    yyjson_arr_foreach (yyjson_obj_get(meta_of(k), "ownerReferences"), i, n, ref) {
        uint8_t *is = &k->owners[i];
        if (*is == OWNER_UNKNOWN) /* it may have been read for another meanwhile */
            *is = (uint8_t)known_owner(g, k, ref);
        if (*is == OWNER_UNKNOWN && !owner_resource(g, k, ref))
            *is = OWNER_LIVES;
        if (*is == OWNER_UNKNOWN) {
            k->owner_index = (uint32_t)i;
            k->step = STEP_OWNER;
            break;
        }
    }
    sl_writer_enqueue(g->writer, w, 0);
}

static void on_owner(struct cl_gc *g, uint32_t w, const struct sl_kube_reply *reply) {
    struct cl_gc_work *k = g->works.v[w];
    yyjson_val *ref = yyjson_arr_get(yyjson_obj_get(meta_of(k), "ownerReferences"), k->owner_index);
    yyjson_doc *d = reply->status == 200 ? yyjson_read(reply->body, reply->len, 0) : NULL;
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(d), "metadata");
    uint64_t question = question_of(g, k, ref);
    enum cl_gc_owner_state is = OWNER_ABSENT;
    size_t i, n;
    yyjson_val *f;

    if (reply->status == 200 && !*sl_json_str(meta, "uid")) {
        is = OWNER_LIVES; /* any other reply is no evidence of its absence */
    } else if (reply->status == 200 &&
               strcmp(sl_json_str(meta, "uid"), sl_json_str(ref, "uid")) == 0) {
        is = OWNER_LIVES;
        yyjson_arr_foreach (yyjson_obj_get(meta, "finalizers"), i, n, f)
            if (sl_json_at(meta, "deletionTimestamp") && yyjson_equals_str(f, "foregroundDeletion"))
                is = OWNER_WAITS;
    }
    if (is == OWNER_ABSENT)
        g->absent[question % GC_ABSENT] = question;
    k->owners[k->owner_index] = (uint8_t)is;
    yyjson_doc_free(d);
    go_on(g, w);
}

/* ---- the object ---- */

static void on_object_read(struct cl_gc *g, uint32_t w, const struct sl_kube_reply *reply) {
    struct cl_gc_work *k = g->works.v[w];

    free_reading(k);
    k->again = false; /* what happened until now has been read */
    k->doc = yyjson_read(reply->body, reply->len, 0);
    yyjson_val *meta = meta_of(k), *refs = yyjson_obj_get(meta, "ownerReferences");
    if (sl_rec_uid(sl_json_str(meta, "uid")) != g->nodes.v[k->node].uid ||
        yyjson_arr_size(refs) > GC_MAX_OWNERS) {
        finish_work(g, w);
        return;
    }
    memset(k->owners, OWNER_UNKNOWN, sizeof k->owners);
    if (sl_json_at(meta, "deletionTimestamp")) {
        k->step = STEP_WRITE;
        sl_writer_enqueue(g->writer, w, 0);
    } else if (yyjson_arr_size(refs) == 0) {
        finish_work(g, w);
    } else {
        go_on(g, w);
    }
}

/* ---- writes ---- */

static bool has_finalizer(yyjson_val *meta, const char *name) {
    size_t i, n;
    yyjson_val *f;
    yyjson_arr_foreach (yyjson_obj_get(meta, "finalizers"), i, n, f)
        if (yyjson_equals_str(f, name))
            return true;
    return false;
}

/* A merge patch that stands open after the version. */
static void begin_patch(yyjson_val *meta, struct sl_write *w) {
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    sl_jw_object(&w->json, NULL);
    sl_jw_object(&w->json, "metadata");
    sl_jw_str(&w->json, "uid", sl_json_str(meta, "uid"));
    sl_jw_str(&w->json, "resourceVersion", sl_json_str(meta, "resourceVersion"));
}

static void write_finalizers(yyjson_val *meta, const char *without, struct sl_write *w) {
    size_t i, n;
    yyjson_val *f;

    begin_patch(meta, w);
    sl_jw_array(&w->json, "finalizers");
    yyjson_arr_foreach (yyjson_obj_get(meta, "finalizers"), i, n, f)
        if (!yyjson_equals_str(f, without))
            sl_jw_val(&w->json, NULL, f);
}

/* The owner references but those of which 'drop' has the bit; with blockOwnerDeletion unset if
 * 'unblock'. */
static void write_owners(const struct cl_gc_work *k, unsigned drop, bool unblock,
                         struct sl_write *w) {
    yyjson_val *meta = meta_of(k), *ref, *key, *v;
    struct sl_jw *out = &w->json;
    size_t i, n, j, m;

    begin_patch(meta, w);
    sl_jw_array(out, "ownerReferences");
    yyjson_arr_foreach (yyjson_obj_get(meta, "ownerReferences"), i, n, ref) {
        if (drop & 1u << k->owners[i])
            continue;
        sl_jw_object(out, NULL);
        sl_obj_foreach (ref, j, m, key, v)
            if (!unblock || !yyjson_equals_str(key, "blockOwnerDeletion"))
                sl_jw_val(out, sl_json_text(key), v);
        sl_jw_end(out);
    }
}

static void write_deletion(yyjson_val *meta, const char *policy, struct sl_write *w) {
    w->method = SL_DELETE;
    w->content_type = SL_JSON;
    sl_jw_object(&w->json, NULL);
    sl_jw_str(&w->json, "kind", "DeleteOptions");
    sl_jw_str(&w->json, "apiVersion", "v1");
    sl_jw_str(&w->json, "propagationPolicy", policy);
    sl_jw_object(&w->json, "preconditions");
    sl_jw_str(&w->json, "uid", sl_json_str(meta, "uid"));
    sl_jw_str(&w->json, "resourceVersion", sl_json_str(meta, "resourceVersion"));
}

/* ---- decisions ---- */

/* Enqueues each dependent to be deleted or orphaned before this one; false if there is none. */
static bool waits_for_dependents(struct cl_gc *g, uint64_t uid, bool blocking_only) {
    const uint32_t first = cl_gc_first(g, uid);
    bool any = false;

    for (uint32_t e = first; e != GC_NONE; e = cl_gc_next(g, first, e)) {
        const uint32_t d = g->edges.v[e].node;
        const struct cl_gc_node *n = &g->nodes.v[d];
        if (n->uid == uid) /* it owns itself: it would wait for ever */
            continue;
        bool counts = !blocking_only;
        for (uint32_t i = 0; i < n->n_owners; i++)
            counts |= n->owners[i].uid == uid && n->owners[i].blocks;
        any |= counts;
        if (counts && (!blocking_only || !(n->flags & NODE_GOING)))
            cl_gc_enqueue(g, d);
    }
    return any;
}

enum what { NOTHING, WRITE, WAIT };

/* It is being deleted: what is deleted first? */
static enum what let_go(struct cl_gc *g, const struct cl_gc_work *k, struct sl_write *w) {
    yyjson_val *meta = meta_of(k);
    uint64_t uid = g->nodes.v[k->node].uid;
    bool orphan = has_finalizer(meta, "orphan");

    if (!orphan && !has_finalizer(meta, "foregroundDeletion"))
        return NOTHING;
    if (waits_for_dependents(g, uid, !orphan))
        return NOTHING; /* it is wanted again when they are gone */
    if (!cl_resources_synced(g))
        return WAIT;
    write_finalizers(meta, orphan ? "orphan" : "foregroundDeletion", w);
    return WRITE;
}

static bool has_dependents(const struct cl_gc *g, uint64_t uid, bool foreground) {
    const uint32_t first = cl_gc_first(g, uid);

    for (uint32_t e = first; e != GC_NONE; e = cl_gc_next(g, first, e))
        if (!foreground || g->nodes.v[g->edges.v[e].node].flags & NODE_FOREGROUND)
            return true;
    return false;
}

static bool blocks_owner(yyjson_val *meta) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (yyjson_obj_get(meta, "ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "blockOwnerDeletion", false))
            return true;
    return false;
}

static enum what decide_by_owners(struct cl_gc *g, const struct cl_gc_work *k, struct sl_write *w) {
    yyjson_val *meta = meta_of(k);
    size_t n = yyjson_arr_size(yyjson_obj_get(meta, "ownerReferences"));
    uint64_t uid = g->nodes.v[k->node].uid;
    unsigned seen = 0, dead = 1u << OWNER_ABSENT | 1u << OWNER_WAITS;

    if (sl_json_at(meta, "deletionTimestamp"))
        return let_go(g, k, w);
    for (size_t i = 0; i < n; i++)
        seen |= 1u << k->owners[i];
    if (seen & 1u << OWNER_ORPHANS) {
        write_owners(k, 1u << OWNER_ORPHANS, false, w);
    } else if (seen & 1u << OWNER_LIVES) {
        if (!(seen & dead))
            return NOTHING;
        write_owners(k, dead, false, w);
    } else if (seen & 1u << OWNER_WAITS && has_dependents(g, uid, false)) {
        if (has_dependents(g, uid, true) && blocks_owner(meta))
            write_owners(k, 0, true,
                         w); /* they wait for each other: this one steps out of the ring */
        else
            write_deletion(meta, "Foreground", w);
    } else {
        write_deletion(meta,
                       has_finalizer(meta, "orphan")               ? "Orphan"
                       : has_finalizer(meta, "foregroundDeletion") ? "Foreground"
                                                                   : "Background",
                       w);
    }
    return WRITE;
}

/* ---- the patch queue ---- */

static bool build_owner(struct cl_gc *g, struct cl_gc_work *k, struct sl_write *w) {
    yyjson_val *ref = yyjson_arr_get(yyjson_obj_get(meta_of(k), "ownerReferences"), k->owner_index);
    const struct cl_gc_resource *r = owner_resource(g, k, ref);
    const char *ns = sl_json_str(meta_of(k), "namespace");

    if (!r) { /* it has ceased to be served */
        k->owners[k->owner_index] = OWNER_LIVES;
        return false;
    }
    sl_buf_puts(&w->path, r->path);
    if (r->namespaced)
        sl_buf_printf(&w->path, "/namespaces/%s", ns);
    sl_buf_printf(&w->path, "/%s/%s", r->plural, sl_json_str(ref, "name"));
    w->accept = SL_AS_METADATA;
    return true;
}

static bool on_build(void *ctx, uint32_t obj, struct sl_write *w) {
    struct cl_gc *g = ctx;
    struct cl_gc_work *k = g->works.v[obj];

    if (k->node == GC_NONE)
        return false;
    if (k->step == STEP_OWNER) {
        if (build_owner(g, k, w))
            return true;
        go_on(g, obj);
        return false;
    }
    const struct cl_gc_node *n = &g->nodes.v[k->node];
    if (k->step == STEP_READ_OBJECT) {
        put_path(&w->path, g->resources.v[n->resource], n->key);
        w->accept = SL_AS_METADATA;
        return true;
    }
    enum what what = decide_by_owners(g, k, w);
    if (what == WRITE) {
        put_path(&w->path, g->resources.v[n->resource], n->key);
        return true;
    }
    if (what == NOTHING) {
        finish_work(g, obj);
    } else {
        free_reading(k);
        sl_writer_enqueue_at(g->writer, obj, 0, g->c->client->mono + LATER);
    }
    return false;
}

static void on_done(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct cl_gc *g = ctx;
    struct cl_gc_work *k = g->works.v[obj];
    bool written = how == SL_WRITTEN || how == SL_WRITE_GONE;

    (void)w;
    if (k->node == GC_NONE)
        return;
    if (!written) { /* built again, from the state of then */
        if (k->step == STEP_WRITE)
            free_reading(k);
    } else if (k->step == STEP_OWNER) {
        on_owner(g, obj, reply);
    } else if (k->step == STEP_READ_OBJECT && how == SL_WRITTEN) {
        on_object_read(g, obj, reply);
    } else {
        /* Checked once more after a patch that only unblocked the deletion: cheap, and safe. */
        k->again |= k->step == STEP_WRITE && how == SL_WRITTEN && w->method == SL_PATCH;
        finish_work(g, obj);
    }
}

static void on_read(void *ctx, uint32_t obj, const struct sl_kube_reply *r) {
    (void)ctx;
    (void)obj;
    (void)r;
}

void cl_gc_work_start(struct cl_gc *g) {
    struct sl_writer_owner owner = {g, on_build, on_done, on_read};
    g->writer = sl_writer_new(g->c->client, &owner, IN_FLIGHT, g->c->spec.seed + 998);
}

void cl_gc_work_stop(struct cl_gc *g) {
    sl_writer_free(g->writer);
    for (uint32_t i = 0; i < g->works.n; i++) {
        yyjson_doc_free(g->works.v[i]->doc);
        sl_freep(&g->works.v[i]);
    }
    sl_vec_free(&g->works);
    sl_vec_free(&g->free_works);
}
