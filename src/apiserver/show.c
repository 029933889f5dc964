/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as they are shown: the stored text itself wherever that will do, else in another version,
 * as metadata alone, or as a row of a table.
 */
#include <string.h>

#include "apiserver/crd.h"
#include "apiserver/server.h"

const struct sl_kind *sl_stored_kind(const struct sl_kind *k) {
    return k->shares ? k->shares : k;
}

const struct sl_kind_version *sl_stored_version(const struct sl_kind *k) {
    return &sl_stored_kind(k)->versions[sl_stored_kind(k)->storage];
}

const char *sl_api_version(struct sl_arena *a, const char *group, const char *version) {
    return *group ? sl_arena_printf(a, "%s/%s", group, version) : sl_arena_strdup(a, version);
}

static bool stored_form(const struct sl_rq *rq) {
    return rq->version == sl_stored_version(rq->kind) && !(rq->sub && rq->sub->show);
}

bool sl_show_plain(const struct sl_rq *rq) {
    return rq->form == SL_FORM_PLAIN && stored_form(rq);
}

/* The object in the version that was asked for; or what a subresource shows of it. */
static yyjson_doc *in_version(struct sl_rq *rq, yyjson_doc *doc, struct sl_err *err) {
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = NULL;
    yyjson_doc *ret = NULL;
    int r = 0;

    if (rq->version != sl_stored_version(rq->kind)) {
        r = sl_kind_convert(rq->kind, yyjson_doc_get_root(doc),
                            sl_api_version(&rq->arena, rq->kind->group, rq->version->name), made,
                            &root, err);
        if (r >= 0) {
            yyjson_mut_doc_set_root(made, root);
            ret = yyjson_mut_doc_imut_copy(made, NULL);
        }
    }
    if (r >= 0 && rq->sub && rq->sub->show) {
        root = rq->sub->show(rq->version, yyjson_doc_get_root(ret ? ret : doc), made);
        yyjson_mut_doc_set_root(made, root);
        yyjson_doc_free(ret);
        ret = yyjson_mut_doc_imut_copy(made, NULL);
    }
    yyjson_mut_doc_free(made);
    yyjson_doc_free(doc);
    return ret;
}

static yyjson_doc *object_of(struct sl_rq *rq, const char *text, size_t len) {
    yyjson_doc *doc = yyjson_read(text, len, 0);
    struct sl_err err = {.text = "it cannot be read"};

    if (doc && !stored_form(rq))
        doc = in_version(rq, doc, &err);
    if (!doc && rq->state == SL_RQ_WORKING)
        sl_rq_fail(rq, 500, "InternalError",
                   "Internal error occurred: conversion of an object failed: %s", err.text);
    return doc;
}

/* In lists of kinds that are built in, objects do not say what they are. Stored texts say it first.
 */
static void add_bare(struct sl_rq *rq, const char *text, size_t len, struct sl_buf *out) {
    const char *head = sl_arena_printf(
        &rq->arena, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",",
        sl_api_version(&rq->arena, rq->kind->group, rq->version->name), rq->kind->kind);
    size_t n = strlen(head);
    bool known = len > n && memcmp(text, head, n) == 0;

    if (known)
        sl_buf_putc(out, '{');
    sl_buf_add(out, known ? text + n : text, known ? len - n : len);
}

static bool show(struct sl_rq *rq, const char *text, size_t len, bool listed, struct sl_buf *out) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    enum sl_include include = SL_INCLUDE_METADATA;

    if (sl_show_plain(rq)) {
        if (listed && !rq->kind->crd)
            add_bare(rq, text, len, out);
        else
            sl_buf_add(out, text, len);
        return true;
    }
    doc = object_of(rq, text, len);
    if (!doc)
        return false;
    yyjson_val *object = yyjson_doc_get_root(doc);
    if (rq->form == SL_FORM_TABLE) {
        (void)sl_include_parse(rq->q.include, &include);
        sl_table_row(rq->kind, rq->version, object, include, rq->s->wall, out);
    } else if (rq->form == SL_FORM_PARTIAL) {
        sl_table_partial(object, out);
    } else {
        size_t n;
        char *json = yyjson_val_write(object, 0, &n);
        if (json && listed && !rq->kind->crd)
            add_bare(rq, json, n, out);
        else
            sl_buf_add(out, json ? json : "null", json ? n : 4);
        sl_freep(&json);
    }
    return true;
}

bool sl_show_item(struct sl_rq *rq, const char *text, size_t len, struct sl_buf *out) {
    return show(rq, text, len, true, out);
}

static void table_head(struct sl_rq *rq, struct sl_buf *out) {
    sl_buf_puts(out, ",\"columnDefinitions\":");
    sl_table_columns(rq->kind, rq->version, out);
    sl_buf_puts(out, ",\"rows\":[");
}

bool sl_show_one(struct sl_rq *rq, const char *text, size_t len, bool columns, struct sl_buf *out) {
    if (rq->form != SL_FORM_TABLE)
        return show(rq, text, len, false, out);
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(text, len, 0);
    const char *version =
        doc ? sl_json_str(yyjson_doc_get_root(doc), "metadata.resourceVersion") : "";
    sl_buf_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":{",
                  rq->form_version);
    if (*version)
        sl_buf_printf(out, "\"resourceVersion\":\"%s\"", version);
    sl_buf_putc(out, '}');
    if (columns)
        table_head(rq, out);
    else
        sl_buf_puts(out, ",\"columnDefinitions\":null,\"rows\":[");
    bool ok = show(rq, text, len, false, out);
    sl_buf_puts(out, "]}");
    return ok;
}

void sl_show_list_begin(struct sl_rq *rq, uint64_t version, const char *go_on, int64_t remaining,
                        struct sl_buf *out) {
    const struct sl_kind *k = rq->kind;

    if (rq->form == SL_FORM_PLAIN)
        sl_buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\"", k->list_kind, k->group,
                      *k->group ? "/" : "", rq->version->name);
    else
        sl_buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"meta.k8s.io/%s\"",
                      rq->form == SL_FORM_TABLE ? "Table" : "PartialObjectMetadataList",
                      rq->form_version);
    sl_buf_printf(out, ",\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)version);
    if (*go_on ||
        (rq->kind->crd && rq->form == SL_FORM_PLAIN)) /* of custom resources it is always said */
        sl_buf_printf(out, ",\"continue\":\"%s\"", go_on);
    if (remaining > 0)
        sl_buf_printf(out, ",\"remainingItemCount\":%lld", (long long)remaining);
    sl_buf_putc(out, '}');
    if (rq->form == SL_FORM_TABLE)
        table_head(rq, out);
    else
        sl_buf_puts(out, ",\"items\":[");
}

void sl_show_list_end(struct sl_rq *rq, struct sl_buf *out) {
    bool none = rq->form == SL_FORM_TABLE && out->s[out->len - 1] == '[';

    if (none && rq->version->columns == sl_columns_plain) { /* as its tables are made */
        out->len--;
        sl_buf_puts(out, "null}");
        return;
    }
    sl_buf_puts(out, "]}");
}
