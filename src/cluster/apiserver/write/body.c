/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sent: JSON, or YAML or protobuf, which become JSON first. Depth is bounded before
 * anything walks the value.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/server.h"
#include "cluster/schema/check.h"
#include "cluster/schema/protobuf/protobuf.h"
#include "core/base/fmt.h"
#include "lib/doc/doc.h"

/* Does it mean something else as YAML? A number with a fraction may be an integer there, and a
 * duplicate key is an error. */
static bool reads_otherwise(yyjson_doc *doc) {
    yyjson_val *v = yyjson_doc_get_root(doc);

    for (size_t n = yyjson_doc_get_val_count(doc); n > 0; n--, v++)
        if (yyjson_is_real(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX))
            return true;
    return sl_strict_duplicates(NULL, NULL, yyjson_doc_get_root(doc));
}

/* Clients send JSON with the content type of YAML; it is parsed much faster as JSON. NULL: it is
 * not JSON, or may mean something else as YAML. */
static yyjson_doc *yaml_is_json(const char *text, size_t len) {
    union { /* it is only read, but yyjson's type has no const */
        const char *in;
        char *out;
    } unwritten = {.in = text};

    if (len == 0 || *text != '{' || memmem(text, len, "\\u", 2) || memmem(text, len, "<<", 2) ||
        sl_json_too_deep(text, len))
        return NULL;
    yyjson_doc *doc = yyjson_read_opts(unwritten.out, len, 0, NULL, NULL);
    if (doc && reads_otherwise(doc)) {
        yyjson_doc_free(doc);
        return NULL;
    }
    return doc;
}

int api_yaml_read(const char *text, size_t len, yyjson_doc **ret, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    _cleanup_(sl_buf_done) struct sl_buf json = SL_BUF(API_YAML_JSON);
    yyjson_doc *doc = yaml_is_json(text, len);
    yyjson_read_err why;

    if (doc) {
        *ret = doc;
        return SL_OK;
    }
    int r = sl_doc_yaml_within("body", text, len, API_YAML_VALUES, &d, err);
    if (r < 0)
        return r;
    if (d->n == 0)
        sl_buf_puts(&json, "null");
    else
        sl_doc_node_json(&SL_JW(&json), NULL, &d->roots[0], false);
    if (sl_buf_full(&json))
        return sl_err_set(err, SL_EINVAL, "yaml: the document is too large");
    doc = yyjson_read_opts(json.s, json.len, 0, NULL, &why);
    if (!doc)
        return sl_err_set(err, SL_EINVAL, "yaml: %s", why.msg);
    *ret = doc;
    return SL_OK;
}

/* What the client sent, as far as a message shows it. */
static const char *summary(struct api_rq *rq) {
    static const char digits[] = "0123456789abcdef";
    size_t n = rq->len < 30 ? rq->len : 30;
    const char *more = rq->len > n ? " ..." : "";

    if (!rq->len)
        return "<empty>";
    if (rq->body[0] == '{')
        return sl_arena_printf(&rq->arena, "%.*s%s", (int)n, rq->body, more);
    char hex[61] = "";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[(unsigned char)rq->body[i] >> 4];
        hex[2 * i + 1] = digits[rq->body[i] & 15];
    }
    return sl_arena_printf(&rq->arena, "%s%s", hex, more);
}

/* What the body has to be: options, an object of the path's kind, or what its subresource takes. */
static bool wants_options(const struct api_rq *rq) {
    return rq->verb == SL_V_DELETE || rq->verb == SL_V_DELETE_ALL;
}

static const char *wanted_kind(const struct api_rq *rq) {
    if (wants_options(rq))
        return "DeleteOptions";
    return rq->sub && rq->sub->kind ? rq->sub->kind : rq->kind->kind;
}

static const char *wanted_version(struct api_rq *rq) {
    const struct api_sub *u = rq->sub;

    if (wants_options(rq))
        return "v1";
    return u && u->kind ? sl_api_version(&rq->arena, u->group ? u->group : "", u->version)
                        : sl_api_version(&rq->arena, rq->kind->group, rq->version->name);
}

/* It is not even known what it is. */
static void report_unrecognized(struct api_rq *rq, const char *why) {
    if (wants_options(rq))
        api_rq_bad(rq, "%s", why);
    else
        api_rq_bad(rq, "the object provided is unrecognized (must be of type %s): %s (%s)",
                   wanted_kind(rq), why, summary(rq));
}

static void report_no_json(struct api_rq *rq, const char *why) {
    report_unrecognized(
        rq, sl_arena_printf(&rq->arena, "couldn't get version/kind; json parse error: %s", why));
}

/* It is known what it is, but it cannot be read. */
static void report_unreadable(struct api_rq *rq, const char *api_version, const char *kind,
                              const char *why) {
    const char *slash = strchr(api_version, '/');

    if (wants_options(rq))
        api_rq_bad(rq, "%s", why);
    else
        api_rq_bad(rq, "%s in version \"%s\" cannot be handled as a %s: %s", kind,
                   slash ? slash + 1 : api_version, wanted_kind(rq), why);
}

/* The location of the scheme in Kubernetes' source is part of the message. */
static const char *no_kind(struct api_rq *rq, const char *api_version, const char *kind) {
    return sl_arena_printf(&rq->arena,
                           "no kind \"%s\" is registered for version \"%s\" in scheme "
                           "\"pkg/runtime/scheme.go:111\"",
                           kind, api_version);
}

static void report_unknown_format(struct api_rq *rq, bool protobuf) {
    api_rq_fail(
        rq, 415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: %s",
        protobuf ? SL_API_TYPES ", " SL_PROTOBUF_TYPE : SL_API_TYPES);
}

static bool type_is(const struct api_rq *rq, const char *type) {
    size_t n = strcspn(rq->content_type, "; ");
    return strlen(type) == n && strncasecmp(rq->content_type, type, n) == 0;
}

yyjson_doc *api_rq_json(struct api_rq *rq, const char **ret_fault) {
    if (sl_json_too_deep(rq->body, rq->len)) {
        *ret_fault = "exceeded max depth";
        return NULL;
    }
    union { /* it is only read, but yyjson's type has no const */
        const char *in;
        char *out;
    } unwritten = {.in = rq->body};
    yyjson_doc *doc = yyjson_read_opts(unwritten.out, rq->len, 0, NULL, NULL);
    if (!doc)
        *ret_fault = api_json_fault(&rq->arena, rq->body, rq->len);
    return doc;
}

static yyjson_doc *json_body(struct api_rq *rq) {
    const char *fault;
    yyjson_doc *doc = api_rq_json(rq, &fault);

    if (!doc && strcmp(fault, "exceeded max depth") == 0)
        api_rq_bad(rq, "%s", fault);
    else if (!doc)
        report_no_json(rq, fault);
    return doc;
}

/* Typed clients of built-in kinds send protobuf by default. */
static yyjson_doc *wire_body(struct api_rq *rq) {
    struct sl_apiserver *server = rq->s;
    struct sl_protobuf_body body;
    yyjson_doc *doc = NULL;
    struct sl_err err;

    if (sl_protobuf_open(rq->body, rq->len, &body, &err) < 0) {
        report_unrecognized(rq, err.text);
        return NULL;
    }
    const char *kind = *body.kind ? body.kind : wanted_kind(rq), *slash;
    const char *version = body.api_version;
    if (!*version || ((slash = strchr(version, '/')) && strchr(slash + 1, '/')))
        version = wanted_version(rq);
    if (wants_options(rq) && strcmp(kind, wanted_kind(rq)) != 0) {
        report_unreadable(rq, version, kind, no_kind(rq, version, kind));
        return NULL;
    }
    sl_fmt(body.kind, sizeof body.kind, "%s", sl_arena_strdup(&rq->arena, kind));
    sl_fmt(body.api_version, sizeof body.api_version, "%s", sl_arena_strdup(&rq->arena, version));
    int e = server->protobuf ? SL_OK : sl_protobuf_new(&server->protobuf, &err);
    if (e >= 0)
        e = sl_protobuf_read(server->protobuf, server->schemas, &body, &doc, &err);
    if (e == SL_ENOENT)
        report_unreadable(rq, body.api_version, body.kind,
                          no_kind(rq, body.api_version, body.kind));
    else if (e == SL_EMISMATCH)
        report_unknown_format(rq, false);
    else if (e < 0)
        report_unreadable(rq, body.api_version, body.kind, err.text);
    return doc;
}

/* Version and kind are read before everything else. */
static bool has_head(struct api_rq *rq, yyjson_val *body) {
    static const char *const keys[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < SL_LEN(keys); i++) {
        yyjson_val *v = sl_json_get(body, keys[i]);
        if (!v || yyjson_is_str(v) || yyjson_is_null(v))
            continue;
        report_no_json(rq, sl_arena_printf(&rq->arena,
                                           "json: cannot unmarshal %s into Go struct field .%s of "
                                           "type string",
                                           yyjson_is_num(v)    ? "number"
                                           : yyjson_is_bool(v) ? "bool"
                                                               : yyjson_get_type_desc(v),
                                           keys[i]));
        return false;
    }
    return true;
}

/* The document, if its texts can be read as such; else NULL, and it was answered. */
static yyjson_doc *with_texts(struct api_rq *rq, yyjson_doc *doc) {
    if (doc && !api_rq_texts(rq, yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        return NULL;
    }
    return doc;
}

yyjson_doc *api_body_read(struct api_rq *rq) {
    bool yaml = type_is(rq, "application/yaml");
    bool protobuf = wants_options(rq) || !rq->kind->crd;
    struct sl_err err;

    if (type_is(rq, SL_PROTOBUF_TYPE) && protobuf)
        return with_texts(rq, wire_body(rq));
    if (*rq->content_type && !yaml && !type_is(rq, SL_JSON)) {
        report_unknown_format(rq, !type_is(rq, SL_PROTOBUF_TYPE));
        return NULL;
    }
    yyjson_doc *doc = yaml ? NULL : json_body(rq); /* which has the reason */
    if (yaml && api_yaml_read(rq->body, rq->len, &doc, &err) < 0)
        api_rq_bad(rq, "error converting YAML to JSON: %s", err.text);
    if (doc && yyjson_is_null(yyjson_doc_get_root(doc))) { /* an object without anything */
        yyjson_doc_free(doc);
        doc = yyjson_read("{}", 2, 0);
    }
    if (doc && !has_head(rq, yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        return NULL;
    }
    doc = with_texts(rq, doc);
    const char *kind = sl_json_str(yyjson_doc_get_root(doc), "kind");
    if (wants_options(rq) && *kind && strcmp(kind, wanted_kind(rq)) != 0) {
        const char *v = sl_json_str(yyjson_doc_get_root(doc), "apiVersion");
        v = *v ? v : "meta.k8s.io/v1";
        report_unreadable(rq, v, kind, no_kind(rq, v, kind));
        yyjson_doc_free(doc);
        return NULL;
    }
    return doc;
}

const char *api_body_mismatch_text(struct api_rq *rq, const char *api_version, const char *kind,
                                   const char *wanted) {
    const char *slash = strchr(api_version, '/');
    const char *group =
        slash ? sl_arena_strndup(&rq->arena, api_version, (size_t)(slash - api_version)) : "";
    const char *version = slash ? slash + 1 : api_version;
    const struct api_kind *k = api_kind_by_kind(rq->s, group, kind);

    if (strchr(version, '/'))
        return sl_arena_printf(&rq->arena, "unexpected GroupVersion string: %s", api_version);
    if (!k || k->crd || !api_kind_version(k, version))
        return no_kind(rq, api_version, kind);
    return sl_arena_printf(
        &rq->arena, "converting (%s.%s) to (%s.%s): unknown conversion", version, kind,
        *rq->group ? sl_arena_strndup(&rq->arena, rq->group, strcspn(rq->group, ".")) : "core",
        wanted);
}

/* A body of another kind than the path. */
static void report_other(struct api_rq *rq, const char *api_version, const char *kind,
                         const char *wanted) {
    const char *why = api_body_mismatch_text(rq, api_version, kind, wanted);
    const char *slash = strchr(api_version, '/');
    const struct api_kind *k = api_kind_by_kind(
        rq->s,
        slash ? sl_arena_strndup(&rq->arena, api_version, (size_t)(slash - api_version)) : "",
        kind);

    if (k && k != rq->kind && api_stored_kind(k) == api_stored_kind(rq->kind) &&
        api_kind_version(k, slash ? slash + 1 : api_version)) { /* the same in another form */
        api_rq_bad(rq,
                   "the API version in the data (%s) does not match the expected API version (%s)",
                   api_version, sl_api_version(&rq->arena, rq->kind->group, rq->version->name));
        return;
    }

    if (slash && strchr(slash + 1, '/'))
        report_unrecognized(rq, why);
    else
        report_unreadable(rq, api_version, kind, why);
}

/* The same of a custom resource. */
static void report_other_custom(struct api_rq *rq, yyjson_val *body, const char *api_version) {
    const char *v = sl_json_str(body, "apiVersion"), *k = sl_json_str(body, "kind");

    if (!*v || !*k) {
        api_rq_bad(rq,
                   "the object provided is unrecognized (must be of type %s): Object '%s' is "
                   "missing in '%.*s' (%s)",
                   rq->kind->kind, *k ? "apiVersion" : "Kind", (int)rq->len, rq->body, summary(rq));
    } else {
        api_rq_bad(rq,
                   "the API version in the data (%s) does not match the expected API version (%s)",
                   v, api_version);
    }
}

bool api_body_is(struct api_rq *rq, yyjson_val *body, const char *api_version, const char *kind) {
    const char *v = sl_json_str(body, "apiVersion"), *k = sl_json_str(body, "kind");
    /* Custom resources must have apiVersion and kind; another kind of the same version is detected
     * when they are validated. */
    bool strict = rq->kind->crd && strcmp(kind, rq->kind->kind) == 0;
    bool other = (strict ? !*k : *k && strcmp(k, kind) != 0) ||
                 ((*v || strict) && strcmp(v, api_version) != 0);

    if (!yyjson_is_obj(body)) {
        report_no_json(
            rq, sl_arena_printf(
                    &rq->arena,
                    "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
                    "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                    "\"json:\\\"kind,omitempty\\\"\" }",
                    yyjson_is_num(body) ? "number" : yyjson_get_type_desc(body)));
        return false;
    }
    if (!other)
        return true;
    if (strict)
        report_other_custom(rq, body, api_version);
    else if (rq->kind->crd)
        api_rq_bad(rq, "no kind is registered for the type v1.Scale in scheme "
                       "\"pkg/runtime/scheme.go:111\"");
    else
        report_other(rq, *v ? v : api_version, *k ? k : kind, kind);
    return false;
}
