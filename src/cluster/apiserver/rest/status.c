/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status objects, field for field as kube-apiserver writes them, and the few responses that are
 * plain text.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

static void put_text(struct sl_jw *w, const char *key, const char *value) {
    if (value && *value)
        sl_jw_str(w, key, value);
}

static void put_causes(const struct api_status *st, struct sl_jw *w) {
    if (st->causes_made)
        sl_jw_mut_val(w, "causes", st->causes_made);
    if (st->n_causes == 0)
        return;
    sl_jw_array(w, "causes");
    for (uint32_t i = 0; i < st->n_causes; i++) {
        sl_jw_object(w, NULL);
        put_text(w, "reason", st->causes[i].reason);
        put_text(w, "message", st->causes[i].message);
        put_text(w, "field", st->causes[i].field);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

void api_status_print(const struct api_status *st, struct sl_buf *out) {
    struct sl_jw *w = &SL_JW(out);

    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "Status");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_object(w, "metadata");
    put_text(w, "continue", st->go_on);
    sl_jw_end(w);
    sl_jw_str(w, "status", st->code < 400 ? "Success" : "Failure");
    put_text(w, "message", st->message);
    put_text(w, "reason", st->reason);
    if (st->name || st->group || st->kind || st->uid || st->n_causes || st->causes_made ||
        st->retry_after || st->no_details) {
        sl_jw_object(w, "details");
        put_text(w, "name", st->name);
        put_text(w, "group", st->group);
        put_text(w, "kind", st->kind);
        put_text(w, "uid", st->uid);
        put_causes(st, w);
        if (st->retry_after)
            sl_jw_uint(w, "retryAfterSeconds", st->retry_after);
        sl_jw_end(w);
    }
    if (st->code >= 300 || (st->code && !st->name))
        sl_jw_int(w, "code", st->code);
    sl_jw_end(w);
}

void api_rq_status(struct api_rq *rq, const struct api_status *st) {
    sl_buf_clear(&rq->out);
    api_status_print(st, &rq->out);
    rq->type = NULL;
    if (st->retry_after)
        rq->retry_after = st->retry_after;
    api_rq_answer(rq, st->code);
}

static const char *format_message(struct api_rq *rq, const char *fmt, va_list ap) {
    va_list again;
    char *text;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    size_t len = n < 0 ? 0 : (size_t)n < API_MESSAGE ? (size_t)n : API_MESSAGE;
    text = sl_arena_alloc(&rq->arena, len + 1);
    sl_vfmt_short(text, len + 1, fmt, ap);
    return text;
}

void api_rq_fail(struct api_rq *rq, int code, const char *reason, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    const char *message = format_message(rq, fmt, ap);
    va_end(ap);
    api_rq_status(rq, &(struct api_status){.code = code, .reason = reason, .message = message});
}

void api_rq_bad(struct api_rq *rq, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    const char *message = format_message(rq, fmt, ap);
    va_end(ap);
    api_rq_status(rq,
                  &(struct api_status){.code = 400, .reason = "BadRequest", .message = message});
}

const char *api_rq_resource(struct api_rq *rq, const struct api_kind *k) {
    return *k->group ? sl_arena_printf(&rq->arena, "%s.%s", k->plural, k->group) : k->plural;
}

static void of_resource(struct api_rq *rq, const struct api_kind *k, const char *name, int code,
                        const char *reason, const char *message) {
    api_rq_status(rq, &(struct api_status){.code = code,
                                           .reason = reason,
                                           .message = message,
                                           .name = name,
                                           .group = k->group,
                                           .kind = k->plural});
}

void api_rq_not_found(struct api_rq *rq, const struct api_kind *k, const char *name) {
    of_resource(rq, k, name, 404, "NotFound",
                sl_arena_printf(&rq->arena, "%s \"%s\" not found", api_rq_resource(rq, k), name));
}

void api_rq_exists(struct api_rq *rq, const char *name, bool deleting, bool generated) {
    const struct api_kind *k = generated ? api_stored_kind(rq->kind) : rq->kind;

    api_rq_status(
        rq, &(struct api_status){
                .code = 409,
                .reason = "AlreadyExists",
                .message = sl_arena_printf(
                    &rq->arena, "%s%s \"%s\" already exists%s",
                    deleting ? "object is being deleted: " : "", api_rq_resource(rq, k), name,
                    generated ? ", the server was not able to generate a unique name for the object"
                              : ""),
                .name = name,
                .group = k->group,
                .kind = k->plural,
                .retry_after = generated});
}

void api_rq_conflict(struct api_rq *rq, const char *name, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    const char *why = format_message(rq, fmt, ap);
    va_end(ap);
    of_resource(rq, rq->kind, name, 409, "Conflict",
                sl_arena_printf(&rq->arena, "Operation cannot be fulfilled on %s \"%s\": %s",
                                api_rq_resource(rq, rq->kind), name, why));
}

/* The message is that of kube-apiserver's storage, key and all. */
void api_rq_precondition(struct api_rq *rq, const char *name, const char *what, const char *given,
                         const char *is) {
    static const char *const elsewhere[][2] = {
        {"endpoints", "services/endpoints"}, {"nodes", "minions"}, {"services", "services/specs"}};
    const struct api_kind *k = rq->kind;
    const char *place = k->plural;
    bool dry = rq->q.dry_run; /* then it does not get that far */

    for (size_t i = 0; i < SL_LEN(elsewhere); i++)
        if (!*k->group && strcmp(k->plural, elsewhere[i][0]) == 0)
            place = elsewhere[i][1];
    api_rq_conflict(
        rq, name,
        "StorageError: invalid object, Code: 4, Key: %s/%s%s%s%s%s/%s, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: %s in precondition: %s, %s in object meta: %s",
        dry ? "" : "/registry", k->crd ? k->group : "", k->crd ? "/" : "", place,
        *rq->ns ? "/" : "", rq->ns, name, what, given, what, is);
}

void api_rq_forbidden(struct api_rq *rq, const char *name, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    const char *why = format_message(rq, fmt, ap);
    va_end(ap);
    of_resource(rq, rq->kind, name, 403, "Forbidden",
                *name ? sl_arena_printf(&rq->arena, "%s \"%s\" is forbidden: %s",
                                        api_rq_resource(rq, rq->kind), name, why)
                      : sl_arena_printf(&rq->arena, "%s is forbidden: %s",
                                        api_rq_resource(rq, rq->kind), why));
}

/* A text of struct sl_field_errs, "spec.x: Required value: ...", taken apart. */
static void cause_of(struct api_rq *rq, const char *text, struct api_cause *ret) {
    static const struct {
        const char *begins, *reason;
    } words[] = {
        {"Required value", "FieldValueRequired"},   {"Invalid value", "FieldValueInvalid"},
        {"Duplicate value", "FieldValueDuplicate"}, {"Unsupported value", "FieldValueNotSupported"},
        {"Forbidden", "FieldValueForbidden"},       {"Not found", "FieldValueNotFound"},
        {"Too long", "FieldValueTooLong"},          {"Too many", "FieldValueTooMany"},
        {"Internal error", "InternalError"},
    };

    for (const char *at = strstr(text, ": "); at; at = strstr(at + 2, ": "))
        for (size_t i = 0; i < SL_LEN(words); i++) {
            if (strncmp(at + 2, words[i].begins, strlen(words[i].begins)) != 0)
                continue;
            bool type = i == 1 && strstr(at, " in body must be of type ");
            *ret = (struct api_cause){type ? "FieldValueTypeInvalid" : words[i].reason, at + 2,
                                      sl_arena_strndup(&rq->arena, text, (size_t)(at - text))};
            return;
        }
    *ret = (struct api_cause){.message = text};
}

void api_rq_invalid(struct api_rq *rq, const char *group, const char *kind, const char *name,
                    const struct sl_field_errs *errs) {
    struct api_cause *causes = sl_arena_alloc0(&rq->arena, errs->n + 1, sizeof *causes);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(API_MESSAGE);

    sl_buf_printf(&b, "%s%s%s \"%s\" is invalid: ", kind, *group ? "." : "", group, name);
    sl_field_errs_print(errs, &b);
    for (uint32_t i = 0; i < errs->n; i++)
        cause_of(rq, errs->text[i], &causes[i]);
    api_rq_status(rq, &(struct api_status){.code = 422,
                                           .reason = "Invalid",
                                           .message = sl_buf_str(&b),
                                           .name = name,
                                           .group = group,
                                           .kind = kind,
                                           .causes = causes,
                                           .n_causes = errs->n});
}

void api_rq_method(struct api_rq *rq) {
    api_rq_status(rq,
                  &(struct api_status){
                      .code = 405,
                      .reason = "MethodNotAllowed",
                      .message = "the server does not allow this method on the requested resource",
                      .no_details = true});
}

void api_rq_unsupported(struct api_rq *rq, const char *verb) {
    of_resource(rq, rq->kind, "", 405, "MethodNotAllowed",
                sl_arena_printf(&rq->arena, "%s is not supported on resources of kind \"%s\"", verb,
                                api_rq_resource(rq, rq->kind)));
}

void api_rq_no_resource(struct api_rq *rq) {
    api_rq_status(
        rq, &(struct api_status){.code = 404,
                                 .reason = "NotFound",
                                 .message = "the server could not find the requested resource",
                                 .no_details = true});
}

void api_rq_not_found_text(struct api_rq *rq) {
    sl_buf_clear(&rq->out);
    sl_buf_puts(&rq->out, "404 page not found\n");
    rq->type = "text/plain; charset=utf-8";
    api_rq_answer(rq, 404);
}

void api_rq_success(struct api_rq *rq, int code, const char *name, const char *uid) {
    api_rq_status(rq, &(struct api_status){.code = code,
                                           .name = name,
                                           .group = rq->kind->group,
                                           .kind = rq->kind->plural,
                                           .uid = uid});
}
