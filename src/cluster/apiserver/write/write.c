/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a write; see write.h. Optimistic concurrency: an attempt that finds at its end that
 * the object was changed is repeated from the current state, unless the client specified the
 * version.
 */
#include "cluster/apiserver/write/write.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

/* ---- refusals by kinds ---- */

void api_change_refuse(struct api_change *c, int code, const char *reason, const char *fmt, ...) {
    char text[2048];
    va_list ap;

    if (c->code)
        return;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    c->code = code;
    c->reason = reason;
    c->message = sl_arena_strdup(c->arena, text);
}

static struct api_write *of_change(struct api_change *c) {
    return SL_CONTAINER_OF(c, struct api_write, c);
}

void api_change_warn(struct api_change *c, const char *fmt, ...) {
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    api_rq_warn(of_change(c)->rq, text);
}

static const char *requested_group(struct api_write *w) {
    const char *v = w->other_version, *slash = v ? strchr(v, '/') : NULL;

    if (!v)
        return api_stored_kind(w->rq->kind)->group;
    return slash ? sl_arena_strndup(&w->rq->arena, v, (size_t)(slash - v)) : "";
}

bool api_write_refused(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct api_kind *k = rq->kind;

    if (w->c.code && (!*w->c.reason || w->c.code == 400)) { /* it has no details */
        api_rq_fail(rq, w->c.code, w->c.reason, "%s", w->c.message);
        return true;
    }
    if (w->c.code) {
        api_rq_status(rq, &(struct api_status){.code = w->c.code,
                                               .reason = w->c.reason,
                                               .message = w->c.message,
                                               .name = w->name,
                                               .group = k->group,
                                               .kind = k->plural});
        return true;
    }
    if (!w->errs.n)
        return false;
    if (rq->sub && rq->sub->kind && !k->crd)
        api_rq_invalid(rq, rq->sub->group ? rq->sub->group : "", rq->sub->kind, w->name, &w->errs);
    else
        api_rq_invalid(rq, requested_group(w), w->other_kind ? w->other_kind : k->kind, w->name,
                       &w->errs);
    return true;
}

/* ---- one try ---- */

/* What a try made. What was sent stays for the next. */
static void try_free(struct api_write *w) {
    api_admit_free(w);
    if (w->base)
        sl_store_object_unref(w->rq->s->store, w->base);
    yyjson_doc_free(w->old);
    yyjson_doc_free(w->made);
    yyjson_mut_doc_free(w->c.doc);
    for (uint32_t i = 0; i < w->referenced_docs.n; i++)
        yyjson_doc_free(w->referenced_docs.v[i]);
    sl_vec_free(&w->referenced_docs);
    w->base = NULL;
    w->old = w->made = NULL;
    w->c.doc = NULL;
}

void api_write_free(struct api_rq *rq) {
    struct api_write *w = rq->write;

    if (!w)
        return;
    rq->write = NULL;
    try_free(w);
    yyjson_doc_free(w->body);
}

struct api_write *api_write_new(struct api_rq *rq, enum api_write_what what) {
    struct api_write *w = sl_arena_alloc0(&rq->arena, 1, sizeof *w);

    w->rq = rq;
    w->what = what;
    w->name = rq->name;
    w->del.grace = -1;
    rq->write = w;
    return w;
}

void api_write_begin(struct api_write *w) {
    struct api_rq *rq = w->rq;
    bool dry = w->c.dry_run;

    try_free(w);
    w->c = (struct api_change){.server = rq->s,
                               .kind = rq->kind,
                               .version = rq->version,
                               .ns = rq->ns,
                               .name = rq->name,
                               .user = rq->user,
                               .groups = rq->groups,
                               .subresource = rq->sub ? rq->sub->name : "",
                               .dry_run = dry,
                               .doc = yyjson_mut_doc_new(NULL),
                               .now = rq->now,
                               .arena = &rq->arena,
                               .errs = &w->errs};
    w->errs = (struct sl_field_errs){.arena = &rq->arena, .repeats = true};
    w->strict = (struct sl_strict){.arena = &rq->arena};
    w->applied = false;
    w->other_kind = w->other_version = NULL;
    w->answer = NULL;
}

void api_write_load(struct api_write *w) {
    struct api_rq *rq = w->rq;
    struct sl_store_object *o = sl_store_get(rq->s->store, rq->kind->number, rq->ns, rq->name);

    if (!o)
        return;
    w->base = sl_store_object_ref(o);
    w->old = yyjson_read(o->text, o->len, 0);
    sl_assert(w->old);
    w->c.old = yyjson_doc_get_root(w->old);
}

yyjson_val *api_write_keep(struct api_write *w, yyjson_doc *doc) {
    *sl_vec_push(&w->referenced_docs) = doc;
    return yyjson_doc_get_root(doc);
}

void api_write_close(struct api_write *w) {
    yyjson_doc_free(w->made);
    w->made = yyjson_mut_val_imut_copy(w->c.object, NULL);
}

bool api_write_current(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const char *name = w->base ? w->base->name : w->name;

    return sl_store_get(rq->s->store, rq->kind->number, rq->ns, name) == w->base;
}

/* ---- into the store ---- */

static bool store_failed(struct api_write *w, int r, const struct sl_err *err) {
    struct api_rq *rq = w->rq;

    if (r >= 0)
        return false;
    if (r == SL_ELIMIT)
        api_rq_fail(rq, 413, "RequestEntityTooLarge", "Request entity too large: limit is %zu",
                    SL_STORE_MAX_OBJECT);
    else
        api_rq_status(rq, &(struct api_status){.code = 503,
                                               .reason = "ServiceUnavailable",
                                               .message = sl_arena_strdup(&rq->arena, err->text),
                                               .retry_after = 1});
    return true;
}

/* The answer of a write that gives something else than the object. */
static bool answer_other(struct api_write *w) {
    struct api_rq *rq = w->rq;

    if (w->answer) {
        size_t len;
        char *json = yyjson_mut_val_write(w->answer, 0, &len);
        sl_buf_add(&rq->out, json ? json : "{}", json ? len : 2);
        sl_freep(&json);
        api_rq_answer(rq, 201);
        return true;
    }
    if (!w->quiet)
        return false;
    api_rq_status(rq, &(struct api_status){.code = 201});
    return true;
}

/*
 * The final check of what is to be stored, or shown on a dry run, after everything that may change
 * it: patches, admission, conversion, defaults, managed fields. What exceeds the limit was made
 * here out of parts that were within it; no later reader could handle it. A dry run may show more
 * than the store accepts, as in Kubernetes. False: it was answered.
 */
static bool is_sound(struct api_write *w, const char *text, size_t len, size_t limit) {
    struct api_rq *rq = w->rq;

    if (!text)
        api_rq_bad(rq, "the object cannot be written: it has text that is not UTF-8");
    else if (len > limit)
        api_rq_fail(rq, 413, "RequestEntityTooLarge", "Request entity too large: limit is %zu",
                    limit);
    else if (sl_json_mut_too_deep(w->c.object))
        api_rq_bad(rq, "exceeded max depth");
    else if (sl_arena_full(&rq->arena))
        api_rq_fail(rq, 413, "RequestEntityTooLarge",
                    "Request entity too large: it takes more than %zu bytes of memory",
                    rq->arena.ceiling);
    else
        return true;
    return false;
}

static void answer_text(struct api_write *w, int status) {
    size_t len;
    char *json;

    if (answer_other(w))
        return;
    json = yyjson_mut_val_write(w->c.object, 0, &len);
    if (is_sound(w, json, len, SL_API_MAX_SHOWN) &&
        api_show_one(w->rq, json, len, true, &w->rq->out))
        api_rq_answer(w->rq, status);
    sl_freep(&json);
}

static char *text_of(struct api_write *w, size_t *ret_len) {
    char version[24];

    sl_fmt(version, sizeof version, "%llu",
           (unsigned long long)sl_store_next_version(w->rq->s->store));
    sl_json_mut_set_str(w->c.doc, sl_json_mut_obj(w->c.doc, w->c.object, "metadata"),
                        "resourceVersion", version);
    return yyjson_mut_val_write(w->c.object, 0, ret_len);
}

static void report_kind(struct api_write *w, yyjson_val *now) {
    const struct api_kind *k = api_stored_kind(w->rq->kind);

    w->rq->s->stats.writes++;
    api_hooks_changed(w->rq->s, k);
    if (api_strategy_of(k)->after)
        api_strategy_of(k)->after(w->rq->s, api_kind_at(w->rq->s, k->number), w->c.old, now);
}

bool api_write_store(struct api_write *w, struct sl_store_object **ret) {
    struct api_rq *rq = w->rq;
    struct sl_apiserver *s = rq->s;
    yyjson_val *now = yyjson_doc_get_root(w->made);
    struct sl_err err;
    size_t len;
    int r;

    _cleanup_(sl_freep) char *text = text_of(w, &len);
    if (!is_sound(w, text, len, SL_STORE_MAX_OBJECT))
        return false;
    s->putting = now;
    r = sl_store_put(s->store, rq->kind->number, rq->ns, w->name, sl_json_str(now, "metadata.uid"),
                     text, len, ret, &err);
    s->putting = NULL;
    if (store_failed(w, r, &err))
        return false;
    (void)sl_store_object_ref(*ret);
    report_kind(w, now);
    return true;
}

void api_write_put(struct api_write *w, int status) {
    struct api_rq *rq = w->rq;
    struct sl_store_object *o = NULL;

    if (w->c.old && sl_manage_settle(w->c.doc, w->c.old,
                                     w->c.object)) { /* nothing is new: nothing is written */
        if (!answer_other(w))
            api_rq_object(rq, status, w->base);
        return;
    }
    if (w->c.dry_run) {
        answer_text(w, status);
        return;
    }
    if (!api_write_store(w, &o))
        return;
    if (!answer_other(w))
        api_rq_object(rq, status, o);
    sl_store_object_unref(rq->s->store, o);
}

/* The final state of a deleted object: as it was stored, with the version of the deletion. */
static char *last_text(struct api_write *w, yyjson_doc *stored, size_t *ret_len) {
    yyjson_mut_val *now = w->c.object;
    char *text;

    w->c.object = yyjson_val_mut_copy(w->c.doc, yyjson_doc_get_root(stored));
    text = w->c.object ? text_of(w, ret_len) : NULL;
    w->c.object = now;
    return text;
}

void api_write_take_out(struct api_write *w, int status, bool answer_object) {
    struct api_rq *rq = w->rq;
    struct sl_apiserver *s = rq->s;
    struct sl_err err;
    size_t len;
    int r = 0;

    if (!w->c.dry_run) {
        _cleanup_(sl_json_docp) yyjson_doc *last = yyjson_read(w->base->text, w->base->len, 0);
        char *text = last_text(w, last, &len);
        s->putting = yyjson_doc_get_root(last);
        r = text ? sl_store_delete(s->store, w->base, text, len, &err)
                 : sl_err_set(&err, SL_EINVAL, "the object cannot be written");
        s->putting = NULL;
        free(text);
        if (store_failed(w, r, &err))
            return;
        report_kind(w, NULL);
    }
    if (answer_object)
        answer_text(w, status);
    else if (!answer_other(w))
        api_rq_success(rq, status, w->base->name, w->base->uid);
}

bool api_write_held(const struct api_write *w, yyjson_val *object) {
    const struct api_strategy *st = api_strategy_of(w->rq->kind);

    return sl_json_size(sl_json_at(object, "metadata.finalizers")) ||
           (st->holds && st->holds(object));
}

/* ---- before it is stored ---- */

/* Optimistic concurrency: another write was first. */
static void retry_write(struct api_write *w) {
    if (++w->tries < SL_API_TRIES)
        api_write_run(w);
    else
        api_rq_conflict(w->rq, w->name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
}

/* A new object has no version yet; on a dry run that does not matter. */
static bool version_of_new(const struct api_write *w) {
    const char *s = sl_json_str(yyjson_doc_get_root(w->body), "metadata.resourceVersion");

    return w->rq->verb == SL_V_CREATE && w->what == SL_WRITE_CREATE && !w->c.dry_run &&
           strspn(s, "0") < strlen(s) && strspn(s, "0123456789") == strlen(s);
}

static void exists(struct api_write *w) {
    struct api_rq *rq = w->rq;

    if (version_of_new(w)) {
        api_rq_fail(rq, 500, "", "resourceVersion should not be set on objects to be created");
        return;
    }
    _cleanup_(sl_json_docp) yyjson_doc *there = api_kind_read(rq->s, rq->kind, rq->ns, w->name);
    api_rq_exists(rq, w->name, sl_json_at(yyjson_doc_get_root(there), "metadata.deletionTimestamp"),
                  *sl_json_str(yyjson_doc_get_root(w->body), "metadata.generateName"));
}

static void commit(struct api_write *w) {
    struct api_rq *rq = w->rq;
    yyjson_val *now = yyjson_doc_get_root(w->made);

    if (!api_write_current(w)) {
        if (w->base || rq->verb != SL_V_CREATE)
            retry_write(w);
        else if (!*sl_json_str(yyjson_doc_get_root(w->body), "metadata.name") &&
                 ++w->tries < SL_API_TRIES)
            api_write_run(w); /* with another name */
        else
            exists(w);
        return;
    }
    if (!w->base && version_of_new(w)) {
        api_rq_fail(rq, 500, "", "resourceVersion should not be set on objects to be created");
        return;
    }
    /* The last finalizer of what is being deleted is gone. */
    if (w->base && sl_json_at(now, "metadata.deletionTimestamp") && !api_write_held(w, now) &&
        sl_json_int(now, "metadata.deletionGracePeriodSeconds", 0) == 0) {
        api_write_take_out(w, 200, true);
        return;
    }
    api_write_put(w, w->base ? 200 : 201);
}

/* An update through "status", or another of its kind, changes the status; all else leaves it alone.
 */
static void separate(struct api_write *w) {
    yyjson_mut_doc *doc = w->c.doc;
    bool status = w->rq->sub && w->rq->sub->of_status;
    size_t i, n;

    if (!status) {
        if (w->rq->version->has_status &&
            (w->c.old || !api_strategy_of(w->rq->kind)->status_on_create))
            sl_json_mut_keep(doc, w->c.object, "status", w->c.old);
        if (w->rq->version->has_status &&
            !w->rq->kind->crd) /* as typed objects have it: there, if empty */
            (void)sl_json_mut_obj(doc, w->c.object, "status");
        return;
    }
    yyjson_mut_val *of = sl_json_mut_get(w->c.object, "status"),
                   *meta = sl_json_mut_get(w->c.object, "metadata");
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_val *key, *value;
    sl_obj_foreach (w->c.old, i, n, key, value) {
        const char *name = sl_json_text(key);
        bool own = strcmp(name, "metadata") == 0 && !w->rq->kind->crd;
        if (strcmp(name, "status") != 0)
            (void)yyjson_mut_obj_add(object, yyjson_mut_strcpy(doc, name),
                                     own ? meta : yyjson_val_mut_copy(doc, value));
    }
    if (of)
        sl_json_mut_set(doc, object, "status", of);
    if (w->rq->kind->crd && meta) { /* of the metadata only managedFields */
        yyjson_mut_val *fields = sl_json_mut_get(meta, "managedFields");
        if (fields)
            sl_json_mut_set(doc, sl_json_mut_get(object, "metadata"), "managedFields",
                            yyjson_mut_val_mut_copy(doc, fields));
    }
    w->c.object = object;
}

static void validated(struct api_write *w) {
    commit(w);
}

static void admitted(struct api_write *w) {
    const struct api_strategy *st = api_strategy_of(w->rq->kind);

    if (w->c.old)
        api_meta_update(w);
    separate(w);
    if (!w->c.old)
        api_meta_create(w);
    if (st->prepare)
        st->prepare(&w->c);
    if (api_write_refused(w))
        return;
    if (!w->c.old && w->rq->version->has_status && !w->rq->kind->crd) /* zeros that are written */
        (void)sl_schema_default(
            sl_schema_at(api_stored_version(w->rq->kind)->schema, "status", strlen("status")),
            w->c.doc, sl_json_mut_get(w->c.object, "status"));
    api_write_close(w);
    api_meta_generation(w);
    yyjson_val *object = yyjson_doc_get_root(w->made);
    if (!api_texts_check(&w->errs, object, w->rq->kind->crd)) { /* patched in, or by a webhook */
        (void)api_write_refused(w);
        return;
    }
    api_meta_validate(w, object);
    if (!w->other_kind && !w->other_version) {
        sl_schema_check_update(api_stored_version(w->rq->kind)->schema, object, w->c.old, NULL,
                               &w->errs);
        if (st->validate)
            st->validate(&w->c, object);
    }
    if (!api_write_refused(w))
        api_admit(w, SL_ADMIT_VALIDATE, validated);
}

/* Is this what the client means to change? */
static bool preconditions(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const char *version = sl_json_mut_str(w->c.object, "metadata.resourceVersion");
    const char *uid = sl_json_mut_str(w->c.object, "metadata.uid");
    const char *old_uid = sl_json_str(w->c.old, "metadata.uid");

    bool none = *version && strspn(version, "0") == strlen(version);

    if (w->what == SL_WRITE_POST || w->what == SL_WRITE_CREATE)
        return true;
    if (w->what == SL_WRITE_UPDATE && *uid && strcmp(uid, old_uid) != 0) {
        api_rq_precondition(rq, w->name, "UID", uid, old_uid);
        return false;
    }
    if (!w->c.old)
        return true;
    if (strspn(version, "0123456789") < strlen(version)) {
        api_rq_fail(rq, 500, "", "strconv.ParseUint: parsing \"%s\": invalid syntax", version);
        return false;
    }
    if (*version && !none) {
        if (strcmp(version, sl_json_str(w->c.old, "metadata.resourceVersion")) == 0)
            return true;
        api_rq_conflict(rq, w->name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
        return false;
    }
    if ((rq->sub && rq->sub->show && !none) || !api_strategy_of(rq->kind)->needs_version)
        return true;
    sl_field_invalid(&w->errs, SL_PATH(SL_PATH(NULL, "metadata"), "resourceVersion"),
                     sl_field_value_int(0), "must be specified for an update");
    api_rq_invalid(rq, rq->kind->group, rq->kind->plural, w->name, &w->errs);
    return false;
}

/* What is made has a namespace to live in. */
static bool namespace_check(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct api_kind *spaces = rq->s->namespaces;

    if (!rq->kind->namespaced || !spaces)
        return true;
    struct sl_store_object *ns = sl_store_get(rq->s->store, spaces->number, "", rq->ns);
    if (!ns) {
        api_rq_not_found(rq, spaces, rq->ns);
        return false;
    }
    if (w->c.old)
        return true;
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(ns->text, ns->len, 0);
    yyjson_val *v = doc ? yyjson_doc_get_root(doc) : NULL;
    if (!sl_json_at(v, "metadata.deletionTimestamp") &&
        strcmp(sl_json_str(v, "status.phase"), "Terminating") != 0)
        return true;
    struct api_cause cause = {
        .reason = "NamespaceTerminating",
        .message = sl_arena_printf(&rq->arena, "namespace %s is being terminated", rq->ns),
        .field = "metadata.namespace"};
    api_rq_status(rq,
                  &(struct api_status){
                      .code = 403,
                      .reason = "Forbidden",
                      .message = sl_arena_printf(
                          &rq->arena,
                          "%s \"%s\" is forbidden: unable to create new content in namespace %s "
                          "because it is being terminated",
                          api_rq_resource(rq, rq->kind), w->name, rq->ns),
                      .name = w->name,
                      .group = rq->kind->group,
                      .kind = rq->kind->plural,
                      .causes = &cause,
                      .n_causes = 1});
    return false;
}

/* A text of the metadata that was sent. Of duplicate keys the last one counts. */
static const char *sent_metadata(yyjson_val *sent, const char *name) {
    yyjson_val *k, *v, *key, *value;
    const char *text = "";
    size_t i, j, n, m;

    sl_obj_foreach (sent, i, n, k, v) {
        if (!yyjson_equals_str(k, "metadata"))
            continue;
        sl_obj_foreach (v, j, m, key, value) {
            if (yyjson_equals_str(key, name))
                text = sl_json_text(value);
        }
    }
    return text;
}

/* A name for what is created. */
static void name_new(struct api_write *w) {
    struct api_rq *rq = w->rq;
    yyjson_val *sent = yyjson_doc_get_root(w->body);
    const char *name = sent_metadata(sent, "name"), *base = sent_metadata(sent, "generateName");

    if (rq->verb != SL_V_CREATE) {
        w->name = rq->name;
        return;
    }
    w->name = *name ? sl_arena_strdup(&rq->arena, name) : *base ? api_name_generate(rq, base) : "";
    if (!*w->name && api_strategy_of(rq->kind)->makes_name) {
        char id[37];
        api_uuid(&rq->s->prng, id);
        w->name = sl_arena_strdup(&rq->arena, id);
    }
    w->c.name = w->name;
}

/* Checked once the object could be parsed. */
static bool in_place(struct api_write *w) {
    struct api_rq *rq = w->rq;

    if (w->what != SL_WRITE_CREATE || !rq->kind->namespaced)
        return true;
    const char *ns = sent_metadata(yyjson_doc_get_root(w->body), "namespace");
    if (!*ns || strcmp(ns, rq->ns) == 0)
        return true;
    api_rq_bad(rq, "the namespace of the provided object does not match the namespace sent on the "
                   "request");
    return false;
}

void api_write_run(struct api_write *w) {
    struct api_rq *rq = w->rq;
    bool apply = w->what == SL_WRITE_PATCH && w->patch == SL_PATCH_APPLY;

    /* The body of a replacement is parsed before it is known whether there is an object. */
    bool first = w->what == SL_WRITE_UPDATE && !(rq->sub && rq->sub->show);

    api_write_begin(w);
    if (w->what != SL_WRITE_CREATE)
        api_write_load(w);
    if (first && !api_write_build_object(w))
        return;
    if (w->what != SL_WRITE_CREATE && !w->c.old) {
        bool may =
            !rq->sub &&
            (apply || (w->what == SL_WRITE_UPDATE && api_strategy_of(rq->kind)->put_creates));
        if (!may) {
            api_rq_not_found(rq, rq->kind, rq->name);
            return;
        }
    }
    if (!w->c.old && rq->kind->going) {
        api_rq_fail(rq, 405, "MethodNotAllowed",
                    "create not allowed while custom resource definition is terminating");
        return;
    }
    if (!w->c.old)
        name_new(w);
    if (!first && (w->what == SL_WRITE_POST ? !api_post_make(w) : !api_write_build_object(w)))
        return;
    if (!in_place(w) || !preconditions(w) || !namespace_check(w))
        return;
    api_write_track_fields(w);
    if (api_strategy_of(rq->kind)->admit)
        api_strategy_of(rq->kind)->admit(&w->c);
    if (api_write_refused(w))
        return;
    api_admit(w, SL_ADMIT_MUTATE, admitted);
}

/* ---- the verbs ---- */

static bool body_of(struct api_write *w, const char *api_version, const char *kind) {
    w->body = api_body_read(w->rq);
    return w->body && api_body_is(w->rq, yyjson_doc_get_root(w->body), api_version, kind);
}

void api_handle_create(struct api_rq *rq) {
    struct api_write *w;

    if (rq->sub || rq->kind->review || strcmp(rq->kind->plural, "bindings") == 0) {
        api_handle_post(rq);
        return;
    }
    w = api_write_new(rq, SL_WRITE_CREATE);
    if (api_options_check(w) &&
        body_of(w, sl_api_version(&rq->arena, rq->group, rq->version->name), rq->kind->kind))
        api_write_run(w);
}

/* Only of custom resources does a change without a name come here. */
static bool named(struct api_rq *rq) {
    if (!*rq->name)
        api_rq_bad(rq, "name must be provided");
    return *rq->name;
}

void api_handle_update(struct api_rq *rq) {
    struct api_write *w = api_write_new(rq, SL_WRITE_UPDATE);
    const struct api_sub *u = rq->sub;
    bool own = !u || !u->kind;

    if (named(rq) && api_options_check(w) &&
        body_of(w,
                own ? sl_api_version(&rq->arena, rq->group, rq->version->name)
                    : sl_api_version(&rq->arena, u->group ? u->group : "", u->version),
                own ? rq->kind->kind : u->kind))
        api_write_run(w);
}

void api_handle_patch(struct api_rq *rq) {
    struct api_write *w = api_write_new(rq, SL_WRITE_PATCH);

    /* The patch itself is not parsed before it is known that there is an object. */
    if (api_patch_type(rq, &w->patch) && named(rq) && api_options_check(w))
        api_write_run(w);
}
