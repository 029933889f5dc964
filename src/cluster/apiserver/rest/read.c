/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get and list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/rest/read.h"
#include "cluster/apiserver/server.h"

bool api_version_read(struct api_rq *rq, const char *text, uint64_t *ret) {
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    if (!*end && *text >= '0' && *text <= '9' && !errno)
        return true;
    bool watch = rq->verb != SL_V_LIST;
    api_rq_fail(rq, watch ? 500 : 400, watch ? "" : "BadRequest",
                "%sresourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": "
                "invalid syntax",
                watch ? "" : "invalid resource version: ", text, text);
    return false;
}

/* A version in the future: kube-apiserver waits for it some seconds, and then returns this. */
static bool from_future(struct api_rq *rq, uint64_t version) {
    static const struct api_cause cause = {"ResourceVersionTooLarge", "Too large resource version",
                                           NULL};
    uint64_t now = sl_store_version(rq->s->store);

    if (version <= now)
        return false;
    api_rq_status(
        rq, &(struct api_status){
                .code = 504,
                .reason = "Timeout",
                .message = sl_arena_printf(&rq->arena,
                                           "Timeout: Too large resource version: %llu, "
                                           "current: %llu",
                                           (unsigned long long)version, (unsigned long long)now),
                .causes = &cause,
                .n_causes = 1,
                .retry_after = 1});
    return true;
}

void api_handle_get(struct api_rq *rq) {
    struct sl_store_object *o = sl_store_get(rq->s->store, rq->kind->number, rq->ns, rq->name);
    uint64_t version = 0;

    if (rq->sub && rq->sub->stream) {
        api_log_get(rq, o);
        return;
    }
    if (*rq->q.version &&
        (!api_version_read(rq, rq->q.version, &version) || from_future(rq, version)))
        return;
    if (!o)
        api_rq_not_found(rq, rq->kind, rq->name);
    else
        api_rq_object(rq, 200, o);
}

/* ---- lists ---- */

void api_found_collect(struct api_rq *rq, const struct api_filter *f, const char *from_ns,
                       const char *from_name, struct api_found *found) {
    struct sl_store *st = rq->s->store;
    uint32_t number = rq->kind->number;
    struct sl_store_object *o;

    *found = (struct api_found){.version = sl_store_version(st)};
    if (*f->ns && *f->name) {
        o = sl_store_get(st, number, f->ns, f->name);
        if (o && strcmp(o->ns, from_ns) >= 0 && api_filter_passes(f, o))
            *sl_vec_push(&found->v) = sl_store_object_ref(o);
        return;
    }
    for (o = sl_store_seek(st, number, *f->ns && !*from_name ? f->ns : from_ns, from_name); o;
         o = sl_store_next(st, o)) {
        if (*f->ns && strcmp(o->ns, f->ns) != 0)
            return;
        if (api_filter_passes(f, o))
            *sl_vec_push(&found->v) = sl_store_object_ref(o);
    }
}

void api_found_done(struct sl_apiserver *s, struct api_found *found) {
    for (uint32_t i = 0; i < found->v.n; i++)
        sl_store_object_unref(s->store, found->v.v[i]);
    sl_vec_free(&found->v);
}

/* Valid parameters of a list. */
static bool check_list_params(struct api_rq *rq) {
    const struct api_params *q = &rq->q;
    struct sl_field_errs errs = {.arena = &rq->arena};
    const struct sl_path *match = SL_PATH(NULL, "resourceVersionMatch");
    static const char *const words[] = {"Exact", "NotOlderThan", ""};

    if (q->initial_events >= 0 && q->watch != 1)
        sl_field_forbidden(&errs, SL_PATH(NULL, "sendInitialEvents"),
                           "sendInitialEvents is forbidden for list");
    if (*q->version_match) {
        if (!*q->version)
            sl_field_forbidden(
                &errs, match,
                "resourceVersionMatch is forbidden unless resourceVersion is provided");
        if (*q->continue_token)
            sl_field_forbidden(&errs, match,
                               "resourceVersionMatch is forbidden when continue is provided");
        if (strcmp(q->version_match, "Exact") != 0 && strcmp(q->version_match, "NotOlderThan") != 0)
            sl_field_unsupported(&errs, match, sl_field_value_str(q->version_match), words,
                                 SL_LEN(words));
        if (strcmp(q->version_match, "Exact") == 0 && strcmp(q->version, "0") == 0)
            sl_field_forbidden(
                &errs, match,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (!errs.n)
        return true;
    api_rq_invalid(rq, "meta.k8s.io", "ListOptions", "", &errs);
    return false;
}

static bool check_version(struct api_rq *rq) {
    uint64_t version;

    if (!*rq->q.version)
        return true;
    if (!api_version_read(rq, rq->q.version, &version) || from_future(rq, version))
        return false;
    /* Only the present can be listed; limit with a version, and "Exact", mean the past. */
    if (strcmp(rq->q.version_match, "Exact") == 0 && version < sl_store_version(rq->s->store)) {
        api_rq_fail(rq, 410, "Expired", "The resourceVersion for the provided list is too old.");
        return false;
    }
    return true;
}

void api_handle_list(struct api_rq *rq) {
    struct api_filter filter;
    struct api_page page;
    enum api_include include;

    if (!check_list_params(rq) || !api_filter_read(rq, &filter))
        return;
    if (rq->form == SL_FORM_TABLE && !api_include_parse(rq->q.include, &include)) {
        struct sl_field_errs errs = {.arena = &rq->arena};
        sl_field_invalid(&errs, SL_PATH(NULL, "includeObject"), sl_field_value_str(rq->q.include),
                         "must be 'Metadata', 'Object', 'None', or empty");
        api_rq_invalid(rq, "meta.k8s.io", "TableOptions", "", &errs);
        return;
    }
    if (!check_version(rq) || !api_page_open(rq, &filter, &page))
        return;
    struct sl_jw *w = &SL_JW(&rq->out);
    api_show_list_begin(rq, page.version, page.continue_token, page.remaining, page.n, w);
    bool ok = true;
    for (uint32_t i = 0; ok && i < page.n; i++)
        ok = api_show_item(rq, page.v[i]->text, page.v[i]->len, w);
    if (ok)
        sl_jw_end_to(w, 0);
    api_page_close(rq->s, &page);
    if (ok)
        api_rq_answer(rq, 200);
}
