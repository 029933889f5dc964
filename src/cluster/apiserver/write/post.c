/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST to a subresource (binding, eviction, token), and to kinds that are not stored (access
 * reviews).
 */
#include <string.h>

#include "cluster/apiserver/write/write.h"

/* The response of a kind that is not stored. */
static void review(struct api_write *w) {
    struct api_rq *rq = w->rq;
    size_t len;

    api_write_begin(w);
    if (!api_write_build_object(w))
        return;
    const char *ns = sl_json_mut_str(w->c.object, "metadata.namespace");
    if (*rq->ns && *ns && strcmp(ns, rq->ns) != 0) {
        api_rq_bad(rq, "the namespace of the provided object does not match the namespace sent on "
                       "the request");
        return;
    }
    api_write_track_fields(w);
    if (*rq->ns)
        sl_json_mut_set_str(w->c.doc, sl_json_mut_obj(w->c.doc, w->c.object, "metadata"),
                            "namespace", rq->ns);
    rq->kind->review(&w->c);
    if (w->c.code) {
        api_rq_fail(rq, w->c.code, w->c.reason, "%s", w->c.message);
        return;
    }
    if (w->errs.n) {
        api_rq_invalid(rq, rq->kind->group, "", "", &w->errs);
        return;
    }
    char *json = yyjson_mut_val_write(w->c.object, 0, &len);
    sl_buf_add(&rq->out, json ? json : "{}", json ? len : 2);
    sl_freep(&json);
    api_rq_answer(rq, 201);
}

static void reply_refusal(struct api_rq *rq, const struct api_refusal *no) {
    struct api_cause cause = {.reason = no->cause_reason, .message = no->cause_text};

    api_rq_status(rq, &(struct api_status){.code = no->status,
                                           .reason = no->reason,
                                           .message = no->text,
                                           .name = !no->details_kind  ? NULL
                                                   : no->details_name ? no->details_name
                                                                      : rq->name,
                                           .kind = no->details_kind,
                                           .causes = &cause,
                                           .n_causes = no->cause_text ? 1 : 0,
                                           .retry_after = no->retry_after});
}

/* What is to be seen of an object before it goes: that it was evicted. */
static bool note_first(struct api_write *w, yyjson_mut_val *changed) {
    struct sl_store_object *o;

    if (!changed || w->c.dry_run)
        return true;
    w->c.object = changed;
    api_write_close(w);
    if (!api_write_store(w, &o))
        return false;
    sl_store_object_unref(w->rq->s->store, o);
    return true;
}

static struct api_sub_call call_of(struct api_write *w) {
    struct api_rq *rq = w->rq;

    return (struct api_sub_call){.server = rq->s,
                                 .kind = rq->kind,
                                 .version = rq->version,
                                 .ns = rq->ns,
                                 .name = rq->name,
                                 .object = w->c.old,
                                 .body = yyjson_doc_get_root(w->body),
                                 .user = rq->user,
                                 .now = rq->now,
                                 .arena = &rq->arena,
                                 .errs = &w->errs,
                                 .doc = w->c.doc};
}

/* The type of what is posted. */
static const struct sl_schema *posted_type(struct api_rq *rq) {
    const struct api_sub *u = rq->sub;
    const char *group = u->group ? u->group : "core";

    return sl_schemas_find(rq->s->schemas,
                           sl_arena_printf(&rq->arena, "io.k8s.api.%.*s.%s.%s",
                                           (int)strcspn(group, "."), group, u->version, u->kind));
}

/* What was sent is right by itself; false: it was answered. */
static bool posted_is_right(struct api_write *w) {
    struct api_rq *rq = w->rq;
    const struct sl_schema *schema = posted_type(rq);
    const char *ns = sl_json_str(yyjson_doc_get_root(w->body), "metadata.namespace");

    api_write_begin(w);
    if (schema && !api_post_check_body(w, schema))
        return false;
    if (*ns && strcmp(ns, rq->ns) != 0) {
        api_rq_bad(rq, "the namespace of the provided object does not match the namespace sent on "
                       "the request");
        return false;
    }
    struct api_sub_call call = call_of(w);
    if (rq->sub->check)
        rq->sub->check(&call);
    if (call.no.status)
        reply_refusal(rq, &call.no);
    return !call.no.status && !api_write_refused(w);
}

bool api_post_make(struct api_write *w) {
    struct api_rq *rq = w->rq;
    struct api_sub_call call = call_of(w);

    rq->sub->act(&call);
    if (call.no.status) {
        reply_refusal(rq, &call.no);
        return false;
    }
    if (w->errs.n) {
        api_rq_invalid(rq, rq->sub->group ? rq->sub->group : "", rq->sub->kind, "", &w->errs);
        return false;
    }
    if (call.answer && posted_type(rq))
        api_post_track_fields(w, posted_type(rq), call.answer);
    w->answer = call.answer;
    w->quiet = !call.answer;
    if (call.remove) {
        bool dry = w->c.dry_run;
        if (!api_delete_options(w, call.delete_options))
            return false;
        w->c.dry_run = w->c.dry_run || dry;
        if (!api_delete_preconditions(w) || !note_first(w, call.changed))
            return false;
        w->del.version = NULL; /* it was the right one */
        api_delete_run(w);
        return false;
    }
    /* Nothing to store: what there is goes through, and is found to be the same. */
    w->c.object = call.changed ? call.changed : yyjson_val_mut_copy(w->c.doc, w->c.old);
    return true;
}

void api_handle_post(struct api_rq *rq) {
    struct api_write *w = api_write_new(rq, SL_WRITE_POST);
    const struct api_sub *u = rq->sub;
    yyjson_val *body;

    if (!api_options_check(w))
        return;
    w->body = api_body_read(rq);
    if (!w->body)
        return;
    body = yyjson_doc_get_root(w->body);
    if (!u && strcmp(rq->kind->plural, "bindings") == 0) { /* of the pod that it names */
        const char *pod = api_binding_pod(body);
        rq->plural = "pods"; /* by which it is found again when a webhook has answered */
        rq->kind = api_kind_find(rq->s, "", "pods");
        rq->version = api_kind_version(rq->kind, "v1");
        rq->sub = u = api_sub_find(rq->kind, rq->version, "binding");
        w->name = rq->name = sl_arena_strdup(&rq->arena, pod);
    }
    const char *kind = u && u->kind ? u->kind : rq->kind->kind;
    const char *version = u && u->kind
                              ? sl_api_version(&rq->arena, u->group ? u->group : "", u->version)
                              : sl_api_version(&rq->arena, rq->group, rq->version->name);
    if (u && u->also && strcmp(sl_json_str(body, "apiVersion"), u->also) == 0)
        version = u->also;
    if (!api_body_is(rq, body, version, kind))
        return;
    if (!u)
        review(w);
    else if (!u->act)
        api_rq_method(rq);
    else if (posted_is_right(w))
        api_write_run(w);
}
