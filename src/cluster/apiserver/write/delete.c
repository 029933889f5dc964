/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delete and deletecollection. What has finalizers, or a kind with a grace period, is only marked;
 * the update that takes the last finalizer away removes it (write.c).
 */
#include <string.h>

#include "cluster/apiserver/crd/crd_int.h"
#include "cluster/apiserver/rest/read.h"
#include "cluster/apiserver/write/write.h"
#include "core/base/stamp.h"

#define ORPHAN "orphan"
#define FOREGROUND "foregroundDeletion"

/* ---- options ---- */

/* Answers 422 if something is wrong; 'known': dryRun is All. */
static bool options_check(struct api_write *w, bool both, bool known) {
    static const char *const words[] = {"Foreground", "Background", "Orphan", "nil"}, *const all[] =
                                                                                          {"All"};
    struct sl_field_errs errs = {.arena = &w->rq->arena};
    const struct sl_path *at = SL_PATH(NULL, "propagationPolicy");
    const char *p = w->del.propagation;

    if (both)
        sl_field_invalid(&errs, at, sl_field_value_str(p),
                         "orphanDependents and deletionPropagation cannot be both set");
    if (*p && strcmp(p, words[0]) != 0 && strcmp(p, words[1]) != 0 && strcmp(p, words[2]) != 0)
        sl_field_unsupported(&errs, at, sl_field_value_str(p), words, SL_LEN(words));
    if (!known) {
        _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        yyjson_val *sent = sl_json_get(yyjson_doc_get_root(w->body), "dryRun");
        if (!sent)
            yyjson_mut_arr_add_str(doc, list, w->rq->q.dry_run);
        _cleanup_(sl_json_docp) yyjson_doc *made = yyjson_mut_val_imut_copy(list, NULL);
        sl_field_unsupported(&errs, SL_PATH(NULL, "dryRun"),
                             sl_field_value_json(sent ? sent : yyjson_doc_get_root(made)), all, 1);
    }
    if (!errs.n)
        return true;
    api_rq_invalid(w->rq, "meta.k8s.io", "DeleteOptions", "", &errs);
    return false;
}

/* NULL: absent, which is not the same as "". */
static const char *option_text(struct api_rq *rq, yyjson_val *body, const char *path) {
    yyjson_val *v = sl_json_at(body, path);

    return v ? sl_arena_strdup(&rq->arena, sl_json_text(v)) : NULL;
}

bool api_delete_options(struct api_write *w, yyjson_val *body) {
    struct api_rq *rq = w->rq;
    const struct api_params *q = &rq->q;
    struct api_delete_options *d = &w->del;
    yyjson_val *orphan = sl_json_get(body, "orphanDependents"), *dry;
    int given = orphan ? yyjson_get_bool(orphan) : body ? -1 : q->orphan;
    bool known = true;
    size_t i, n;

    if (body && !yyjson_is_obj(body)) {
        api_rq_bad(rq,
                   "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go "
                   "value of type struct "
                   "{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                   "\"json:\\\"kind,omitempty\\\"\" }",
                   yyjson_get_type_desc(body));
        return false;
    }
    *d = (struct api_delete_options){
        .grace = body ? sl_json_int(body, "gracePeriodSeconds", -1) : q->grace,
        .uid = option_text(rq, body, "preconditions.uid"),
        .version = option_text(rq, body, "preconditions.resourceVersion"),
        .propagation = body ? sl_arena_strdup(&rq->arena, sl_json_str(body, "propagationPolicy"))
                            : q->propagation,
        .orphan_false = given == 0,
    };
    /* With options in the body, those of the query are ignored. */
    w->c.dry_run = body ? sl_json_size(sl_json_get(body, "dryRun")) > 0 : q->dry_run != NULL;
    yyjson_arr_foreach (sl_json_get(body, "dryRun"), i, n, dry) {
        known = known && strcmp(sl_json_text(dry), "All") == 0;
    }
    if (!body && q->dry_run)
        known = strcmp(q->dry_run, "All") == 0;
    bool both = given >= 0 && *d->propagation;
    if (given >= 0 && !both)
        d->propagation = given ? "Orphan" : "Background";
    char *text = body ? yyjson_val_write(body, 0, NULL) : NULL;
    d->text = text ? sl_arena_strdup(&rq->arena, text) : NULL;
    sl_freep(&text);
    return options_check(w, both, known);
}

/* ---- one object ---- */

bool api_delete_preconditions(struct api_write *w) {
    const char *uid = sl_json_str(w->c.old, "metadata.uid"),
               *v = sl_json_str(w->c.old, "metadata.resourceVersion");

    const struct api_kind *k = api_stored_kind(w->rq->kind);
    const char *why = NULL;

    if (w->del.uid && strcmp(w->del.uid, uid) != 0)
        why = sl_arena_printf(w->c.arena,
                              "the UID in the precondition (%s) does not match the UID in record "
                              "(%s). The object might have "
                              "been deleted and then recreated",
                              w->del.uid, uid);
    else if (w->del.version && strcmp(w->del.version, v) != 0)
        why = sl_arena_printf(w->c.arena,
                              "the ResourceVersion in the precondition (%s) does not match the "
                              "ResourceVersion in record (%s). "
                              "The object might have been modified",
                              w->del.version, v);
    if (!why)
        return true;
    api_rq_status(w->rq, &(struct api_status){
                             .code = 409,
                             .reason = "Conflict",
                             .message = sl_arena_printf(
                                 w->c.arena, "Operation cannot be fulfilled on %s%s%s \"%s\": %s",
                                 k->kind, *k->group ? "." : "", k->group, w->name, why),
                             .name = w->name,
                             .group = k->group,
                             .kind = k->kind});
    return false;
}

static bool has_finalizer(yyjson_mut_val *meta, const char *word) {
    yyjson_mut_val *v;
    size_t i, n;

    yyjson_mut_arr_foreach (sl_json_mut_get(meta, "finalizers"), i, n, v) {
        if (yyjson_mut_equals_str(v, word))
            return true;
    }
    return false;
}

/* What happens to dependents is encoded in finalizers. */
static void set_finalizers(struct api_write *w, yyjson_mut_val *meta) {
    bool given = *w->del.propagation, orphans = api_strategy_of(w->rq->kind)->orphans;
    const char *p =
        given || !orphans || has_finalizer(meta, FOREGROUND) ? w->del.propagation : "Orphan";
    const char *mine = strcmp(p, "Orphan") == 0       ? ORPHAN
                       : strcmp(p, "Foreground") == 0 ? FOREGROUND
                                                      : "";
    yyjson_mut_val *old = sl_json_mut_get(meta, "finalizers"), *list = yyjson_mut_arr(w->c.doc), *v;
    bool have = false;
    size_t i, n;

    if (!*p || api_strategy_of(w->rq->kind)->no_garbage)
        return;
    yyjson_mut_arr_foreach (old, i, n, v) {
        const char *word = sl_json_mut_text(v);
        bool other =
            (strcmp(word, ORPHAN) == 0 || strcmp(word, FOREGROUND) == 0) && strcmp(word, mine) != 0;
        have = have || strcmp(word, mine) == 0;
        if (!other)
            (void)yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(w->c.doc, v));
    }
    if (*mine && !have)
        (void)yyjson_mut_arr_append(list, yyjson_mut_str(w->c.doc, mine));
    sl_json_mut_set(w->c.doc, meta, "finalizers", yyjson_mut_arr_size(list) ? list : NULL);
}

/* A stored object may be older than the rule that bounds these seconds. */
static int64_t stored_grace(yyjson_val *old) {
    int64_t seconds = sl_json_int(old, "metadata.deletionGracePeriodSeconds", 0);

    return seconds < 0 ? 0 : seconds < INT32_MAX ? seconds : INT32_MAX;
}

/* From now on it is being deleted, with so many seconds left; 'shorter': it was before, with more.
 */
static void mark(struct api_write *w, yyjson_mut_val *meta, int64_t grace, bool shorter) {
    int64_t generation = sl_json_mut_int(meta, "generation", 0);
    sl_time since = w->rq->now;
    char stamp[SL_STAMP_TEXT];

    if (shorter && grace > 0 &&
        sl_stamp_parse(sl_json_str(w->c.old, "metadata.deletionTimestamp"), &since))
        since = sl_time_add(since, -stored_grace(w->c.old) * SL_SEC);
    sl_json_mut_set_str(w->c.doc, meta, "deletionTimestamp",
                        sl_stamp(since + grace * SL_SEC, stamp));
    sl_json_mut_set_int(w->c.doc, meta, "deletionGracePeriodSeconds", grace);
    if (generation > 0 && generation < INT64_MAX && !shorter)
        sl_json_mut_set_int(w->c.doc, meta, "generation", generation + 1);
}

/* What its kind grants, but no more than a timestamp can represent. */
static int64_t granted(struct api_write *w) {
    int64_t seconds = api_strategy_of(w->rq->kind)->grace(w->c.old, w->del.grace);

    return seconds < INT32_MAX ? seconds : INT32_MAX;
}

/* The seconds that are left to it; -1: it is being deleted already, and nothing changes. */
static int64_t grace_of(struct api_write *w) {
    const struct api_strategy *st = api_strategy_of(w->rq->kind);
    bool marked = sl_json_at(w->c.old, "metadata.deletionTimestamp");
    int64_t now = stored_grace(w->c.old);

    if (!st->grace)
        return 0;
    if (!marked)
        return granted(w);
    if (w->del.grace < 0)
        return now ? -1 : 0;
    int64_t grace = granted(w);
    return grace < now ? grace : now ? -1 : 0;
}

/* Kinds with a grace period are seen to be deleted before they go, even if there is no time left.
 */
static bool mark_first(struct api_write *w, yyjson_mut_val *meta, bool marked) {
    struct sl_store_object *o;

    mark(w, meta, 0, marked);
    api_write_close(w);
    if (w->c.dry_run)
        return true;
    if (!api_write_store(w, &o))
        return false;
    sl_store_object_unref(w->rq->s->store, w->base);
    w->base = o;
    return true;
}

static void gone(struct api_write *w) {
    const struct api_strategy *st = api_strategy_of(w->rq->kind);
    int status = w->del.orphan_false ? 202 : 200;

    if (!api_write_current(w)) {
        if (++w->tries < SL_API_TRIES)
            api_delete_run(w);
        else
            api_rq_conflict(w->rq, w->name,
                            "the object has been modified; please apply your changes to the latest "
                            "version and try again");
        return;
    }
    w->c.object = yyjson_val_mut_copy(w->c.doc, w->c.old);
    yyjson_mut_val *meta = sl_json_mut_get(w->c.object, "metadata");
    bool marked = sl_json_at(w->c.old, "metadata.deletionTimestamp");
    int64_t grace = grace_of(w);
    set_finalizers(w, meta);
    api_write_close(w);
    bool held = api_write_held(w, yyjson_doc_get_root(w->made));
    if (grace == 0 && !held) {
        if (!st->grace) /* what is answered is what was stored */
            w->c.object = yyjson_val_mut_copy(w->c.doc, w->c.old);
        if (!st->grace || mark_first(w, meta, marked))
            api_write_take_out(w, 200, st->returns_deleted);
        return;
    }
    if (grace > 0 || (!marked && grace == 0)) {
        mark(w, meta, grace > 0 ? grace : 0, marked);
        if (st->deleting)
            st->deleting(&w->c);
    } else if (marked && grace == 0 &&
               sl_json_int(w->c.old, "metadata.deletionGracePeriodSeconds", 0) > 0) {
        mark(w, meta, 0, true);
    }
    if (api_write_refused(w))
        return;
    api_write_close(w);
    api_write_put(w, status);
}

static void warn_orphans(struct api_write *w) {
    if (strcmp(w->rq->kind->kind, "Job") == 0 && !*w->del.propagation)
        api_rq_warn(w->rq, "child pods are preserved by default when jobs are deleted; set "
                           "propagationPolicy=Background to remove them or set "
                           "propagationPolicy=Orphan to suppress this warning");
}

void api_delete_run(struct api_write *w) {
    struct api_rq *rq = w->rq;
    bool dry = w->c.dry_run;
    const struct api_strategy *st = api_strategy_of(rq->kind);

    api_write_begin(w);
    w->c.dry_run = dry;
    if (!w->tries)
        warn_orphans(w);
    api_write_load(w);
    if (!w->c.old) {
        api_rq_not_found(rq, rq->kind, rq->name);
        return;
    }
    if (!api_delete_preconditions(w))
        return;
    if (st->may_delete)
        st->may_delete(&w->c);
    if (!api_write_refused(w))
        api_admit(w, SL_ADMIT_VALIDATE, gone);
}

void api_handle_delete(struct api_rq *rq) {
    struct api_write *w = api_write_new(rq, SL_WRITE_DELETE);

    if (rq->len > 0) {
        w->body = api_body_read(rq);
        if (!w->body)
            return;
    }
    if (api_delete_options(w, w->body ? yyjson_doc_get_root(w->body) : NULL))
        api_delete_run(w);
}

/* ---- many ---- */

/* Each is deleted by a request of its own, API_MANY_CALLS at a time; the response is the list of
 * what was found. After a failure, or when the client has gone, no further request is sent. Texts
 * are the parent's.
 *
 * Of a kind whose definition is removed, there is no client: all are deleted, and where a deletion
 * failed, because the disk is full or a webhook refused it, all that are left are retried. */
struct api_bulk_delete {
    LIST_ENTRY(api_bulk_delete) link;
    struct sl_apiserver *s;
    sl_api_call parent;
    struct api_found found; /* those before 'next' are NULL */
    uint32_t n, next, open;
    const char *base, *plural, *query, *body;
    bool failed;
    char *definition; /* of the kind that is removed; NULL: requested by a client */
    char *group, *own_base, *own_plural;
    uv_timer_t again;
};

#define AGAIN_MS 1000u

static void many_drop(struct api_bulk_delete *m) {
    sl_freep(&m->definition);
    sl_freep(&m->group);
    sl_freep(&m->own_base);
    sl_freep(&m->own_plural);
    sl_freep(&m);
}

static void on_again_closed(uv_handle_t *h) {
    many_drop(h->data);
}

static void many_end(struct api_bulk_delete *m) {
    LIST_REMOVE(m, link);
    api_found_done(m->s, &m->found);
    if (m->definition)
        uv_close((uv_handle_t *)&m->again, on_again_closed);
    else
        many_drop(m);
}

void api_bulk_deletes_free(struct sl_apiserver *s) {
    struct api_bulk_delete *m;

    while ((m = LIST_FIRST(&s->bulk_deletes)))
        many_end(m);
}

static void on_one(void *ctx, const struct sl_api_answer *a);

/* 'rq': the client's request; NULL: internal. */
static void delete_next(struct api_bulk_delete *m, const struct api_rq *rq) {
    static const char *const masters[] = {"system:masters", NULL};
    struct sl_store_object *o = m->found.v.v[m->next];
    /* The server takes a copy. */
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF((size_t)8 << 10);

    if (*o->ns)
        sl_buf_printf(&path, "%s/namespaces/%s/%s/%s", m->base, o->ns, m->plural, o->name);
    else
        sl_buf_printf(&path, "%s/%s/%s", m->base, m->plural, o->name);
    struct sl_api_request one = {.method = "DELETE",
                                 .path = sl_buf_str(&path),
                                 .query = m->query,
                                 .content_type = m->body ? SL_JSON : "",
                                 .user_agent = rq ? rq->user_agent : "sluice",
                                 .user = rq ? rq->user : "system:apiserver",
                                 .groups = rq ? rq->groups : masters,
                                 .body = m->body,
                                 .len = m->body ? strlen(m->body) : 0};
    m->found.v.v[m->next++] = NULL;
    m->open++;
    (void)sl_apiserver_call(m->s, &one, &(struct sl_api_sink){.ctx = m, .answer = on_one});
    sl_store_object_unref(m->s->store, o);
}

/* The kind whose definition goes, while it does. */
static struct api_kind *going_kind(const struct api_bulk_delete *m) {
    struct api_kind *k = api_kind_find(m->s, m->group, m->own_plural);

    return k && k->crd && k->going && strcmp(k->crd->name, m->definition) == 0 ? k : NULL;
}

static void on_again(uv_timer_t *t);

/* Starts as many as may be in flight; finishes after the last. No response arrives meanwhile. */
static void many_go_on(struct api_bulk_delete *m) {
    struct api_rq *rq = m->definition ? NULL : api_rq_find(m->s, m->parent);
    bool more = m->definition ? going_kind(m) != NULL : rq && !m->failed;

    while (more && m->next < m->n && m->open < API_MANY_CALLS)
        delete_next(m, rq);
    if (m->open)
        return;
    if (more && m->definition && m->failed) {
        (void)uv_timer_start(&m->again, on_again, AGAIN_MS, 0);
        return;
    }
    if (more && rq)
        api_rq_answer(rq, 200);
    many_end(m);
}

static void on_one(void *ctx, const struct sl_api_answer *a) {
    struct api_bulk_delete *m = ctx;
    struct api_rq *rq = m->definition ? NULL : api_rq_find(m->s, m->parent);

    m->open--;
    if (m->definition && a->status >= 400 && a->status != 404)
        m->failed = true;
    if (a->status >= 400 && a->status != 404 && !m->failed && rq) {
        m->failed = true;
        sl_buf_clear(&rq->out);
        sl_buf_add(&rq->out, a->body, a->len);
        api_rq_answer(rq, a->status);
    }
    many_go_on(m);
}

static bool print_found(struct api_rq *rq, const struct api_found *found) {
    struct sl_jw *w = &SL_JW(&rq->out);
    api_show_list_begin(rq, found->version, "", -1, found->v.n, w);
    for (uint32_t i = 0; i < found->v.n; i++)
        if (!api_show_item(rq, found->v.v[i]->text, found->v.v[i]->len, w))
            return false;
    sl_jw_end_to(w, 0);
    return true;
}

/* The options, minimal: each of many requests parses them again, however long the original was. */
static const char *short_query(struct api_rq *rq) {
    const struct api_params *q = &rq->q;
    const char *grace =
        q->grace >= 0 ? sl_arena_printf(&rq->arena, "&gracePeriodSeconds=%lld", (long long)q->grace)
                      : "";

    return sl_arena_printf(&rq->arena, "%s%s%s%s%s", q->dry_run ? "dryRun=All" : "", grace,
                           *q->propagation ? "&propagationPolicy=" : "", q->propagation,
                           q->orphan < 0 ? ""
                           : q->orphan   ? "&orphanDependents=true"
                                         : "&orphanDependents=false");
}

/* The same of a body: what was read of it, and nothing else that it holds. */
static const char *short_body(struct api_write *w) {
    const struct api_delete_options *d = &w->del;
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *to = yyjson_mut_obj(doc);

    sl_json_mut_set_str(doc, to, "kind", "DeleteOptions");
    sl_json_mut_set_str(doc, to, "apiVersion", "meta.k8s.io/v1");
    if (d->grace != -1)
        sl_json_mut_set_int(doc, to, "gracePeriodSeconds", d->grace);
    if (d->uid)
        sl_json_mut_set_str(doc, sl_json_mut_obj(doc, to, "preconditions"), "uid", d->uid);
    if (d->version)
        sl_json_mut_set_str(doc, sl_json_mut_obj(doc, to, "preconditions"), "resourceVersion",
                            d->version);
    if (d->orphan_false) /* which propagation is made of again */
        sl_json_mut_set(doc, to, "orphanDependents", yyjson_mut_bool(doc, false));
    else if (*d->propagation)
        sl_json_mut_set_str(doc, to, "propagationPolicy", d->propagation);
    if (w->c.dry_run) {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        (void)yyjson_mut_arr_add_str(doc, list, "All");
        sl_json_mut_set(doc, to, "dryRun", list);
    }
    char *text = yyjson_mut_val_write(to, 0, NULL);
    const char *ret = sl_arena_strdup(&w->rq->arena, text ? text : "{}");
    sl_freep(&text);
    return ret;
}

/* Longer than any uid or version is. */
static bool too_long(const char *precondition) {
    return precondition && strlen(precondition) > 64;
}

void api_handle_delete_collection(struct api_rq *rq) {
    struct api_write *w = api_write_new(rq, SL_WRITE_DELETE);
    struct api_filter filter;
    struct api_found found;
    struct sl_apiserver *s = rq->s;

    if (rq->len > 0) {
        w->body = api_body_read(rq);
        if (!w->body)
            return;
    }
    if (!api_delete_options(w, w->body ? yyjson_doc_get_root(w->body) : NULL) ||
        !api_filter_read(rq, &filter))
        return;
    warn_orphans(w);
    api_found_collect(rq, &filter, "", "", &found);
    if (!print_found(rq, &found)) {
        api_found_done(s, &found);
        return;
    }
    uint32_t n = found.v.n;
    if (n > 1 && (too_long(w->del.uid) || too_long(w->del.version)))
        n = 1; /* no object can match, and the first request reports it */
    struct api_bulk_delete *m = sl_alloc0(1, sizeof *m);
    *m = (struct api_bulk_delete){
        .s = s,
        .parent = rq->id,
        .found = found,
        .n = n,
        .base = *rq->group ? sl_arena_printf(&rq->arena, "/apis/%s/%s", rq->group, rq->version_name)
                           : "/api/v1",
        .plural = sl_arena_strdup(&rq->arena, rq->kind->plural),
        .query = w->body ? "" : short_query(rq),
        .body = w->body ? short_body(w) : NULL};
    LIST_INSERT_HEAD(&s->bulk_deletes, m, link);
    many_go_on(m);
}

/* ---- all of a kind ---- */

static void find_all(struct api_bulk_delete *m, const struct api_kind *k) {
    api_found_done(m->s, &m->found);
    m->found = (struct api_found){0};
    for (struct sl_store_object *o = sl_store_seek(m->s->store, k->number, "", ""); o;
         o = sl_store_next(m->s->store, o))
        *sl_vec_push(&m->found.v) = sl_store_object_ref(o);
    m->n = m->found.v.n;
    m->next = 0;
    m->failed = false;
}

static void on_again(uv_timer_t *t) {
    struct api_bulk_delete *m = t->data;
    const struct api_kind *k = going_kind(m);

    sl_api_turn(m->s);
    if (k)
        find_all(m, k);
    many_go_on(m);
}

void api_delete_kind(struct sl_apiserver *s, const struct api_kind *k) {
    const char *version = k->versions[0].name;
    struct sl_buf base = SL_BUF((size_t)2 << 10);

    for (uint32_t i = 0; i < k->n_versions; i++)
        if (k->versions[i].served)
            version = k->versions[i].name;
    sl_buf_printf(&base, "/apis/%s/%s", k->group, version);
    struct api_bulk_delete *m = sl_alloc0(1, sizeof *m);
    *m = (struct api_bulk_delete){.s = s,
                                  .query = "",
                                  .definition = sl_strdup(k->crd->name),
                                  .group = sl_strdup(k->group),
                                  .own_base = sl_strdup(sl_buf_str(&base)),
                                  .own_plural = sl_strdup(k->plural)};
    sl_buf_done(&base);
    m->base = m->own_base;
    m->plural = m->own_plural;
    (void)uv_timer_init(s->loop, &m->again);
    uv_unref((uv_handle_t *)&m->again);
    m->again.data = m;
    find_all(m, k);
    LIST_INSERT_HEAD(&s->bulk_deletes, m, link);
    many_go_on(m);
}
