/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as they are shown: the stored text itself wherever that will do, else in another version,
 * as metadata alone, or as a row of a table.
 */
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/server.h"
#include "lib/json/writer.h"

const struct api_kind *api_stored_kind(const struct api_kind *k) {
    return k->shares ? k->shares : k;
}

const struct api_kind_version *api_stored_version(const struct api_kind *k) {
    return &api_stored_kind(k)->versions[api_stored_kind(k)->storage];
}

const char *sl_api_version(struct sl_arena *a, const char *group, const char *version) {
    return *group ? sl_arena_printf(a, "%s/%s", group, version) : sl_arena_strdup(a, version);
}

static bool stored_form(const struct api_rq *rq) {
    return rq->version == api_stored_version(rq->kind) && !(rq->sub && rq->sub->show);
}

bool api_show_plain(const struct api_rq *rq) {
    return rq->form == SL_FORM_PLAIN && stored_form(rq);
}

static void replace_doc(yyjson_doc **doc, yyjson_mut_doc *made, yyjson_mut_val *root) {
    yyjson_doc *old = *doc;

    yyjson_mut_doc_set_root(made, root);
    *doc = yyjson_mut_doc_imut_copy(made, NULL);
    yyjson_doc_free(old); /* what was made may refer to its texts */
}

/* The object in the requested version, or the view of a subresource, takes the place of *doc. */
static int in_version(struct api_rq *rq, yyjson_doc **doc, struct sl_err *err) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = NULL;

    if (rq->version != api_stored_version(rq->kind)) {
        int r = api_kind_convert(rq->kind, yyjson_doc_get_root(*doc),
                                 sl_api_version(&rq->arena, rq->kind->group, rq->version->name),
                                 made, &root, err);
        if (r < 0)
            return r;
        replace_doc(doc, made, root);
    }
    if (rq->sub && rq->sub->lacks) {
        const char *path = rq->sub->lacks(rq->version, yyjson_doc_get_root(*doc));
        if (path && rq->kind->crd)
            return sl_err_set(err, SL_ENOENT, "the spec replicas field \"%s\" does not exist",
                              path);
    }
    if (rq->sub && rq->sub->show)
        replace_doc(doc, made, rq->sub->show(rq->version, yyjson_doc_get_root(*doc), made));
    return SL_OK;
}

static yyjson_doc *object_of(struct api_rq *rq, const char *text, size_t len) {
    yyjson_doc *doc = yyjson_read(text, len, 0);
    struct sl_err err = {.text = "it cannot be read"};

    if (doc && !stored_form(rq) && in_version(rq, &doc, &err) < 0)
        sl_json_docp(&doc);
    if (!doc && rq->state == SL_RQ_WORKING)
        api_rq_fail(rq, 500, "InternalError", "Internal error occurred: %s%s",
                    err.code == SL_ENOENT ? "" : "conversion of an object failed: ", err.text);
    return doc;
}

/* How the stored objects of the kind begin, up to the end of apiVersion and kind. */
static struct sl_text head_of(struct api_rq *rq) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(API_HEAD);
    struct sl_jw w = SL_JW(&b);

    if (!rq->head.s) {
        sl_jw_object(&w, NULL);
        sl_jw_str(&w, "apiVersion", sl_api_version(&rq->arena, rq->kind->group, rq->version->name));
        sl_jw_str(&w, "kind", rq->kind->kind);
        sl_buf_putc(&b, ',');
        rq->head.n = sl_buf_full(&b) ? 0 : b.len;
        rq->head.s = sl_arena_strndup(&rq->arena, sl_buf_str(&b), rq->head.n);
    }
    return rq->head;
}

/* In lists of built-in kinds, items have no apiVersion and kind. Stored texts begin with them. */
static void add_bare(struct api_rq *rq, const char *text, size_t len, struct sl_buf *out) {
    struct sl_text head = head_of(rq);
    bool known = head.n > 0 && len > head.n && memcmp(text, head.s, head.n) == 0;

    if (known)
        sl_buf_putc(out, '{');
    sl_buf_add(out, known ? text + head.n : text, known ? len - head.n : len);
}

static struct api_columns columns_of(const struct api_rq *rq) {
    return rq->sub && rq->sub->columns
               ? rq->sub->columns[rq->kind->crd != NULL]
               : (struct api_columns){rq->version->columns, rq->version->n_columns};
}

static bool show_object(struct api_rq *rq, const char *text, size_t len, bool listed,
                        struct sl_buf *out) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    enum api_include include = SL_INCLUDE_METADATA;

    if (api_show_plain(rq)) {
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
        (void)api_include_parse(rq->q.include, &include);
        api_table_row(rq->kind, columns_of(rq), object, include, rq->s->wall, out);
    } else if (rq->form == SL_FORM_PARTIAL) {
        api_table_partial(object, out);
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

bool api_show_item(struct api_rq *rq, const char *text, size_t len, struct sl_jw *w) {
    return show_object(rq, text, len, true, sl_jw_value(w, NULL));
}

static void begin_rows(struct api_rq *rq, bool columns, struct sl_jw *w) {
    if (columns)
        api_table_columns(columns_of(rq), sl_jw_value(w, "columnDefinitions"));
    else
        sl_jw_null(w, "columnDefinitions");
    sl_jw_array(w, "rows");
}

bool api_show_one(struct api_rq *rq, const char *text, size_t len, bool columns,
                  struct sl_buf *out) {
    if (rq->form != SL_FORM_TABLE)
        return show_object(rq, text, len, false, out);
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(text, len, 0);
    const char *version =
        doc ? sl_json_str(yyjson_doc_get_root(doc), "metadata.resourceVersion") : "";
    struct sl_jw *w = &SL_JW(out);
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "Table");
    sl_jw_strf(w, "apiVersion", "meta.k8s.io/%s", rq->form_version);
    sl_jw_object(w, "metadata");
    if (*version)
        sl_jw_str(w, "resourceVersion", version);
    sl_jw_end(w);
    begin_rows(rq, columns, w);
    bool ok = show_object(rq, text, len, false, sl_jw_value(w, NULL));
    if (ok) /* else what was written so far has been replaced by an error */
        sl_jw_end_to(w, 0);
    return ok;
}

void api_show_list_begin(struct api_rq *rq, uint64_t version, const char *continue_token,
                         int64_t remaining, uint32_t n, struct sl_jw *w) {
    const struct api_kind *k = rq->kind;
    bool table = rq->form == SL_FORM_TABLE;

    sl_jw_object(w, NULL);
    if (rq->form == SL_FORM_PLAIN) {
        sl_jw_str(w, "kind", k->list_kind);
        sl_jw_strf(w, "apiVersion", "%s%s%s", k->group, *k->group ? "/" : "", rq->version->name);
    } else {
        sl_jw_str(w, "kind", table ? "Table" : "PartialObjectMetadataList");
        sl_jw_strf(w, "apiVersion", "meta.k8s.io/%s", rq->form_version);
    }
    sl_jw_object(w, "metadata");
    sl_jw_strf(w, "resourceVersion", "%llu", (unsigned long long)version);
    if (*continue_token ||
        (rq->kind->crd && rq->form == SL_FORM_PLAIN)) /* lists of custom resources always have it */
        sl_jw_str(w, "continue", continue_token);
    if (remaining > 0)
        sl_jw_int(w, "remainingItemCount", remaining);
    sl_jw_end(w);
    if (!table) {
        sl_jw_array(w, "items");
    } else if (n > 0 || rq->version->columns != api_columns_plain) {
        begin_rows(rq, true, w);
    } else { /* as its tables are made */
        api_table_columns(columns_of(rq), sl_jw_value(w, "columnDefinitions"));
        sl_jw_null(w, "rows");
    }
}
