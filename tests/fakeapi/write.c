/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes: what the client sent, with what the server decides itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "fakeapi_int.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define FOREGROUND "foregroundDeletion"
#define ORPHAN "orphan"
#define MAX_NAME_BYTES 253u

static void put_str(yyjson_mut_doc *m, yyjson_mut_val *o, const char *key, const char *s) {
    yyjson_mut_obj_put(o, yyjson_mut_str(m, key), yyjson_mut_strcpy(m, s));
}

static void put_int(yyjson_mut_doc *m, yyjson_mut_val *o, const char *key, int64_t v) {
    yyjson_mut_obj_put(o, yyjson_mut_str(m, key), yyjson_mut_sint(m, v));
}

/* The field as in 'from', or not at all. */
static void keep_field(yyjson_mut_doc *m, yyjson_mut_val *o, const char *key, yyjson_val *from) {
    yyjson_val *v = yyjson_obj_get(from, key);

    if (v)
        yyjson_mut_obj_put(o, yyjson_mut_str(m, key), yyjson_val_mut_copy(m, v));
    else
        yyjson_mut_obj_remove_key(o, key);
}

static yyjson_mut_val *meta(yyjson_mut_doc *m) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(m);
    yyjson_mut_val *v = yyjson_mut_obj_get(root, "metadata");

    if (!yyjson_mut_is_obj(v)) {
        v = yyjson_mut_obj(m);
        yyjson_mut_obj_put(root, yyjson_mut_str(m, "metadata"), v);
    }
    return v;
}

static const char *mut_str(yyjson_mut_val *o, const char *key) {
    const char *s = yyjson_mut_get_str(yyjson_mut_obj_get(o, key));

    return s ? s : "";
}

static void put_stamp(struct fakeapi *a, yyjson_mut_doc *m, yyjson_mut_val *o, const char *key) {
    char text[SL_STAMP_TEXT];

    put_str(m, o, key, sl_stamp(FAKEAPI_EPOCH + a->now, text));
}

static int put_object_text(struct fakeapi *a, uint32_t obj, int status, struct sl_buf *out) {
    const struct version *v = a->objects.v[obj].cur;

    sl_buf_add(out, v->text, v->len);
    return status;
}

static bool good_name(const char *s) {
    size_t n = strlen(s);

    return n > 0 && n <= MAX_NAME_BYTES &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == n;
}

/* apiVersion and kind as the path says, in front. False if the client said otherwise. */
static bool put_type(const struct resource *r, yyjson_mut_doc *m, yyjson_mut_val *o) {
    char version[300];
    const char *v = mut_str(o, "apiVersion"), *k = mut_str(o, "kind");

    (void)snprintf(version, sizeof version, "%s%s%s", r->k.group, r->k.group[0] ? "/" : "",
                   r->k.version);
    if ((v[0] && strcmp(v, version) != 0) || (k[0] && strcmp(k, r->k.kind) != 0))
        return false;
    put_str(m, o, "apiVersion", version);
    put_str(m, o, "kind", r->k.kind);
    return true;
}

/* What the webhooks say: 0, or the status to answer with. They may change m. */
static int admit(struct fakeapi *a, const struct resource *r, bool status, yyjson_val *old,
                 yyjson_mut_doc *m, struct sl_buf *out) {
    struct fakeapi_write w = {
        .kind = &r->k,
        .status = status,
        .client = a->serving ? a->serving->client : FAKEAPI_NOBODY,
        .old = old,
        .now = m,
    };
    struct sl_buf why;
    int code = 0;

    if (!a->on_write)
        return 0;
    sl_buf_init(&why, MAX_BODY_BYTES);
    code = a->on_write(a->on_write_ctx, &w, &why);
    if (code > 0)
        (void)fa_fail(out, code, code < 500 ? "Forbidden" : "InternalError",
                      "admission webhook denied the request: %s", sl_buf_str(&why));
    sl_buf_done(&why);
    return code;
}

/* ---- create ---- */

static void new_uid(struct fakeapi *a, char out[40]) {
    uint64_t n = ++a->uids;

    (void)snprintf(out, 40, "%08x-0000-4000-8000-%012llx",
                   (unsigned)(n * 2654435761u & 0xffffffffu), (unsigned long long)n);
}

static void make_name(struct fakeapi *a, const char *prefix, char *out, size_t room) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char tail[6];

    for (size_t i = 0; i < 5; i++)
        tail[i] = letters[sl_prng_below(&a->prng, sizeof letters - 1)];
    tail[5] = '\0';
    (void)snprintf(out, room, "%.248s%s", prefix, tail);
}

/* As admission of a real server has it: 0, or the status to answer with. */
static int living_namespace(struct fakeapi *a, const struct target *t, struct sl_buf *out) {
    struct resource *r = a->res;
    uint32_t at, obj;

    if (!a->bare || !t->ns[0])
        return 0;
    while (strcmp(r->k.kind, "Namespace") != 0)
        r++;
    if ((obj = fa_store_find(a, r, t->ns, &at)) == NONE)
        return fa_fail(out, 404, "NotFound", "namespaces \"%s\" not found", t->ns);
    if (fa_meta_str(fa_root_of(a->objects.v[obj].cur), "deletionTimestamp")[0])
        return fa_fail(
            out, 403, "Forbidden",
            "unable to create new content in namespace %s because it is being terminated", t->ns);
    return 0;
}

static void put_namespace_finalizer(struct fakeapi *a, const struct resource *r, yyjson_mut_doc *m,
                                    yyjson_mut_val *o) {
    if (!a->bare || strcmp(r->k.kind, "Namespace") != 0)
        return;
    yyjson_mut_val *spec = yyjson_mut_obj(m), *list = yyjson_mut_arr(m);
    yyjson_mut_arr_add_str(m, list, "kubernetes");
    yyjson_mut_obj_add_val(m, spec, "finalizers", list);
    yyjson_mut_obj_put(o, yyjson_mut_str(m, "spec"), spec);
}

int fa_write_create(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    struct resource *r = t->res;
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *o = yyjson_merge_patch(m, NULL, in); /* drops nulls, as decoding would */
    char name[256], uid[40], key[MAX_KEY_BYTES];
    uint32_t at, other;
    int status;

    yyjson_mut_doc_set_root(m, o);
    yyjson_mut_val *md = meta(m);
    const char *ns = mut_str(md, "namespace");
    (void)snprintf(name, sizeof name, "%s", mut_str(md, "name"));
    if (!name[0] && mut_str(md, "generateName")[0])
        make_name(a, mut_str(md, "generateName"), name, sizeof name);
    fa_target_key(t, name, key);
    if (!put_type(r, m, o) || (ns[0] && strcmp(ns, t->ns) != 0)) {
        status = fa_fail(out, 400, "BadRequest", "the object does not belong to %s", r->k.plural);
    } else if (mut_str(md, "resourceVersion")[0]) {
        status = fa_fail(out, 400, "BadRequest",
                         "resourceVersion should not be set on objects to be created");
    } else if (!good_name(name)) {
        status =
            fa_fail(out, 422, "Invalid", "%s \"%s\" is invalid: metadata.name", r->k.kind, name);
    } else if ((other = fa_store_find(a, r, key, &at)) != NONE) {
        bool going =
            fa_meta_str(fa_root_of(a->objects.v[other].cur), "deletionTimestamp")[0] != '\0';
        status = fa_fail(out, 409, "AlreadyExists", "%s%s \"%s\" already exists",
                         going ? "object is being deleted: " : "", r->k.plural, name);
    } else {
        new_uid(a, uid);
        put_str(m, md, "name", name);
        if (t->ns[0])
            put_str(m, md, "namespace", t->ns);
        put_str(m, md, "uid", uid);
        put_stamp(a, m, md, "creationTimestamp");
        put_int(m, md, "generation", 1);
        put_str(m, md, "resourceVersion", "0"); /* the store fills it in */
        yyjson_mut_obj_remove_key(md, "deletionTimestamp");
        yyjson_mut_obj_remove_key(md, "deletionGracePeriodSeconds");
        yyjson_mut_obj_remove_key(md, "managedFields");
        if (r->k.flags & FAKEAPI_STATUS)
            yyjson_mut_obj_remove_key(o, "status");
        if (r->k.status) {
            yyjson_doc *s = yyjson_read(r->k.status, strlen(r->k.status), 0);
            yyjson_mut_obj_put(o, yyjson_mut_str(m, "status"),
                               yyjson_val_mut_copy(m, yyjson_doc_get_root(s)));
            yyjson_doc_free(s);
        }
        put_namespace_finalizer(a, r, m, o);
        status = living_namespace(a, t, out);
        if (status == 0)
            status = admit(a, r, false, NULL, m, out);
        if (status == 0)
            status = put_object_text(a, fa_store_add(a, r, key, yyjson_mut_doc_imut_copy(m, NULL)),
                                     201, out);
    }
    yyjson_mut_doc_free(m);
    return status;
}

/* ---- update ---- */

/* Is anything but metadata and status different? */
static bool spec_differs(yyjson_val *x, yyjson_val *y) {
    size_t i, n, mine = 0, theirs = 0;
    yyjson_val *k, *v;

    sl_obj_foreach (x, i, n, k, v) {
        if (yyjson_equals_str(k, "metadata") || yyjson_equals_str(k, "status"))
            continue;
        mine++;
        if (!sl_json_equal(v, yyjson_obj_getn(y, yyjson_get_str(k), yyjson_get_len(k)), NULL))
            return true;
    }
    sl_obj_foreach (y, i, n, k, v) {
        theirs += !yyjson_equals_str(k, "metadata") && !yyjson_equals_str(k, "status");
    }
    return mine != theirs;
}

/* May only shrink on an object that is being deleted. */
static bool new_finalizer(yyjson_val *was, yyjson_val *now) {
    struct sl_wordset known = {0};
    bool added = false;
    size_t i, n;
    yyjson_val *f;

    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(was), "finalizers"), i, n, f)
        (void)sl_wordset_add(&known, sl_json_text(f));
    yyjson_arr_foreach (yyjson_obj_get(fa_meta_of(now), "finalizers"), i, n, f)
        added |= !sl_wordset_has(&known, sl_json_text(f));
    sl_wordset_done(&known);
    return added;
}

static bool has_finalizers(yyjson_val *o) {
    return yyjson_arr_size(yyjson_obj_get(fa_meta_of(o), "finalizers")) > 0 ||
           yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(o, "spec"), "finalizers")) > 0;
}

/* Being deleted, and nothing holds it any more. */
static bool is_over(yyjson_val *o) {
    return fa_meta_str(o, "deletionTimestamp")[0] && !has_finalizers(o) &&
           yyjson_get_sint(yyjson_obj_get(fa_meta_of(o), "deletionGracePeriodSeconds")) == 0;
}

/* What no client can change, and what a client does not change through this door. */
static void keep_fixed(const struct resource *r, bool status, yyjson_mut_doc *m, yyjson_val *old) {
    static const char *const fixed[] = {"name",
                                        "namespace",
                                        "uid",
                                        "generateName",
                                        "creationTimestamp",
                                        "generation",
                                        "resourceVersion",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "managedFields"};
    yyjson_mut_val *o = yyjson_mut_doc_get_root(m);

    if (status) {
        yyjson_mut_val *s = yyjson_mut_obj_get(o, "status");
        yyjson_mut_val *whole = yyjson_val_mut_copy(m, old);
        if (s)
            yyjson_mut_obj_put(whole, yyjson_mut_str(m, "status"), yyjson_mut_val_mut_copy(m, s));
        else
            yyjson_mut_obj_remove_key(whole, "status");
        yyjson_mut_doc_set_root(m, whole);
        return;
    }
    if (r->k.flags & FAKEAPI_STATUS)
        keep_field(m, o, "status", old);
    yyjson_mut_val *md = meta(m);
    for (size_t i = 0; i < SL_LEN(fixed); i++)
        keep_field(m, md, fixed[i], fa_meta_of(old));
}

static void next_generation(yyjson_val *o) {
    yyjson_val *g = yyjson_obj_get(fa_meta_of(o), "generation");

    sl_assert(yyjson_set_sint(g, yyjson_get_sint(g) + 1));
}

int fa_write_update(struct fakeapi *a, uint32_t obj, bool status, yyjson_mut_doc *m,
                    struct sl_buf *out) {
    struct resource *r = &a->res[a->objects.v[obj].res];
    struct version *cur = a->objects.v[obj].cur;
    yyjson_val *old = fa_root_of(cur);
    yyjson_mut_val *o = yyjson_mut_doc_get_root(m), *md = meta(m);
    const char *rv = mut_str(md, "resourceVersion"), *uid = mut_str(md, "uid");
    const char *name = mut_str(md, "name"), *ns = mut_str(md, "namespace");

    if (!put_type(r, m, o) || (name[0] && strcmp(name, fa_meta_str(old, "name")) != 0) ||
        (ns[0] && strcmp(ns, fa_meta_str(old, "namespace")) != 0))
        return fa_fail(out, 400, "BadRequest", "the object is not %s", cur->key);
    if ((rv[0] && strcmp(rv, fa_meta_str(old, "resourceVersion")) != 0) ||
        (uid[0] && strcmp(uid, fa_meta_str(old, "uid")) != 0))
        return fa_fail(out, 409, "Conflict",
                       "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
                       "please apply your changes to the latest version and try again",
                       r->k.plural, fa_meta_str(old, "name"));
    keep_fixed(r, status, m, old);
    int denied = admit(a, r, status, old, m, out);
    if (denied)
        return denied;
    yyjson_doc *now = yyjson_mut_doc_imut_copy(m, NULL);
    yyjson_val *root = yyjson_doc_get_root(now);
    bool noop = sl_json_equal(root, old, NULL);
    const char *wrong = NULL;
    if (fa_meta_str(old, "deletionTimestamp")[0] && new_finalizer(old, root))
        wrong = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
                "being deleted";
    else
        wrong = status ? fa_status_broken(a, r, root) : fa_rule_broken(r, old, root);
    if (noop || wrong) {
        yyjson_doc_free(now);
        return noop ? put_object_text(a, obj, 200, out) : fa_fail(out, 422, "Invalid", "%s", wrong);
    }
    if (!status && spec_differs(root, old))
        next_generation(root);
    bool over = is_over(root);
    fa_store_change(a, obj, now);
    (void)put_object_text(a, obj, 200, out);
    if (over)
        fa_store_remove(a, obj);
    return 200;
}

/* ---- delete ---- */

static bool has_finalizer(yyjson_mut_val *list, const char *name) {
    size_t i, n;
    yyjson_mut_val *f;

    yyjson_mut_arr_foreach (list, i, n, f) {
        if (yyjson_mut_equals_str(f, name))
            return true;
    }
    return false;
}

/* The finalizer that the policy asks for is there, the other is not. */
static void set_policy(yyjson_mut_doc *m, const char *want) {
    yyjson_mut_val *old = yyjson_mut_obj_get(meta(m), "finalizers"), *list = yyjson_mut_arr(m), *f;
    size_t i, n;

    yyjson_mut_arr_foreach (old, i, n, f) {
        if (!yyjson_mut_equals_str(f, FOREGROUND) && !yyjson_mut_equals_str(f, ORPHAN))
            yyjson_mut_arr_add_strcpy(m, list, yyjson_mut_get_str(f));
    }
    if (want[0] && !has_finalizer(list, want))
        yyjson_mut_arr_add_strcpy(m, list, want);
    if (yyjson_mut_arr_size(list) > 0)
        yyjson_mut_obj_put(meta(m), yyjson_mut_str(m, "finalizers"), list);
    else
        yyjson_mut_obj_remove_key(meta(m), "finalizers");
}

/* How long the pod's node has to end it; 0: there is nothing to wait for. */
static int64_t grace_of(const struct resource *r, yyjson_val *o, int64_t asked) {
    yyjson_val *spec = yyjson_obj_get(o, "spec");
    yyjson_val *phase = yyjson_obj_get(yyjson_obj_get(o, "status"), "phase");
    yyjson_val *own = yyjson_obj_get(spec, "terminationGracePeriodSeconds");

    if (!(r->k.flags & FAKEAPI_GRACEFUL) || !yyjson_obj_get(spec, "nodeName") ||
        yyjson_equals_str(phase, "Succeeded") || yyjson_equals_str(phase, "Failed"))
        return 0;
    return asked >= 0 ? asked : own ? yyjson_get_sint(own) : 30;
}

int fa_write_delete(struct fakeapi *a, uint32_t obj, const struct delete_options *o,
                    struct sl_buf *out) {
    struct resource *r = &a->res[a->objects.v[obj].res];
    struct version *cur = a->objects.v[obj].cur;
    yyjson_val *old = fa_root_of(cur);
    const char *policy = o->policy;

    if ((o->uid[0] && strcmp(o->uid, fa_meta_str(old, "uid")) != 0) ||
        (o->version[0] && strcmp(o->version, fa_meta_str(old, "resourceVersion")) != 0))
        return fa_fail(out, 409, "Conflict", "Precondition failed: the object is another one now");
    if (!policy[0])
        policy = r->k.flags & FAKEAPI_ORPHANS ? "Orphan" : "Background";
    bool going = fa_meta_str(old, "deletionTimestamp")[0];
    int64_t grace = grace_of(r, old, o->grace);
    int64_t left = yyjson_get_sint(yyjson_obj_get(fa_meta_of(old), "deletionGracePeriodSeconds"));
    char ends[SL_STAMP_TEXT];

    yyjson_mut_doc *m = yyjson_doc_mut_copy(cur->doc, NULL);
    if (!going || o->policy[0])
        set_policy(m, strcmp(policy, "Foreground") == 0 ? FOREGROUND
                      : strcmp(policy, "Orphan") == 0   ? ORPHAN
                                                        : "");
    if (!going || grace < left) /* may be shortened, never lengthened */
        put_int(m, meta(m), "deletionGracePeriodSeconds", grace);
    (void)sl_stamp(sl_time_add(FAKEAPI_EPOCH + a->now, sl_span_seconds(grace)), ends);
    if (!going || strcmp(ends, fa_meta_str(old, "deletionTimestamp")) < 0)
        put_str(m, meta(m), "deletionTimestamp", ends);
    if (a->bare && strcmp(r->k.kind, "Namespace") == 0)
        put_str(m, yyjson_mut_obj_get(yyjson_mut_doc_get_root(m), "status"), "phase",
                "Terminating");
    yyjson_doc *now = yyjson_mut_doc_imut_copy(m, NULL);
    yyjson_val *root = yyjson_doc_get_root(now);
    yyjson_mut_doc_free(m);
    if (is_over(root)) {
        fa_store_remove(a, obj);
        sl_buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                         "\"status\":\"Success\"}");
    } else if (!sl_json_equal(root, old, NULL)) {
        if (!going)
            next_generation(root);
        fa_store_change(a, obj, TAKE_PTR(now));
        fa_gc_schedule(a, a->objects.v[obj].uid);
        (void)put_object_text(a, obj, 200, out);
    } else {
        (void)put_object_text(a, obj, 200, out);
    }
    yyjson_doc_free(now);
    return 200;
}
