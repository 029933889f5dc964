/*
 * From a request to its effect and its answer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakeapi_int.h"

#define JSON_PATCH "application/json-patch+json"

int fa_fail(struct sl_buf *out, int code, const char *reason, const char *fmt, ...) {
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    sl_buf_clear(out);
    sl_buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Failure\",\"message\":");
    sl_buf_json(out, text);
    sl_buf_printf(out, ",\"reason\":\"%s\",\"code\":%d}", reason, code);
    return code;
}

static int not_found(const struct target *t, struct sl_buf *out) {
    return fa_fail(out, 404, "NotFound", "%s \"%s\" not found", t->res->k.plural, t->name);
}

/* Nested no deeper than the recursive parts of yyjson may go. */
static bool shallow(const char *s, size_t len) {
    uint32_t depth = 0;

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"') {
            for (i++; i < len && s[i] != '"'; i++)
                i += s[i] == '\\';
        } else if (s[i] == '{' || s[i] == '[') {
            if (++depth > MAX_DEPTH)
                return false;
        } else if ((s[i] == '}' || s[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

static uint32_t find(struct fakeapi *a, const struct target *t) {
    char key[MAX_KEY_BYTES];
    uint32_t at;

    fa_target_key(t, t->name, key);
    return fa_store_find(a, t->res, key, &at);
}

/* ---- list ---- */

/* "version:key" of the last object on the page before. False: not ours. */
static bool read_token(const char *token, uint64_t *ret_rv, const char **ret_key) {
    char *end;

    *ret_rv = strtoull(token, &end, 10);
    *ret_key = end + 1;
    return end > token && *end == ':';
}

static int list(struct fakeapi *a, struct target *t, struct sl_buf *out) {
    struct resource *r = t->res;
    struct versions all = {0};
    struct sl_arena arena;
    struct sl_selector sel = {0};
    uint64_t rv = a->rv;
    const char *after = "", *only;
    size_t ns_len;
    int64_t n = 0, limit = t->limit;
    uint32_t last = NONE;
    bool more = false;

    if (!fa_target_fields(t, &only))
        return fa_fail(out, 400, "BadRequest", "field label not supported");
    if (t->cont[0]) {
        if (!read_token(t->cont, &rv, &after))
            return fa_fail(out, 400, "BadRequest", "continue key is not valid");
        if (rv < r->compacted)
            return fa_fail(out, 410, "Expired", "The provided continue parameter is too old");
    }
    sl_arena_init(&arena, MAX_BODY_BYTES);
    if (t->label_selector[0] &&
        sl_selector_parse(t->label_selector, strlen(t->label_selector), &arena, &sel, NULL) < 0) {
        sl_arena_done(&arena);
        return fa_fail(out, 400, "BadRequest", "unable to parse requirement");
    }
    ns_len = strlen(t->ns);
    if (limit > 0 && a->max_page > 0 && limit > a->max_page)
        limit = a->max_page;
    fa_store_snapshot(a, r, rv, &all);
    sl_buf_printf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s%s%s\",\"items\":[", r->k.kind,
                  r->k.group, r->k.group[0] ? "/" : "", r->k.version);
    for (uint32_t i = 0; i < all.n; i++) {
        const struct version *v = all.v[i].it;
        if (strcmp(v->key, after) <= 0 ||
            (ns_len > 0 && (strncmp(v->key, t->ns, ns_len) != 0 || v->key[ns_len] != '/')) ||
            (only && strcmp(only, fa_meta_str(fa_root_of(v), "name")) != 0) ||
            !fa_labels_match(&sel, fa_root_of(v)))
            continue;
        if (limit > 0 && n == limit) {
            more = true;
            break;
        }
        if (n++ > 0)
            sl_buf_putc(out, ',');
        sl_buf_add(out, v->text, v->len);
        last = i;
    }
    sl_buf_printf(out, "],\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)rv);
    if (more)
        sl_buf_printf(out, ",\"continue\":\"%llu:%s\"", (unsigned long long)rv,
                      all.v[last].it->key);
    sl_buf_puts(out, "}}");
    sl_vec_free(&all);
    sl_arena_done(&arena);
    return 200;
}

/* ---- the others ---- */

static int get(struct fakeapi *a, const struct target *t, struct sl_buf *out) {
    uint32_t obj = find(a, t);

    if (obj == NONE)
        return not_found(t, out);
    sl_buf_add(out, a->objects.v[obj].cur->text, a->objects.v[obj].cur->len);
    return 200;
}

static int put(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find(a, t);

    if (obj == NONE)
        return not_found(t, out);
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(m, yyjson_merge_patch(m, NULL, in)); /* drops nulls */
    int status = fa_write_update(a, obj, t->sub[0], m, out);
    yyjson_mut_doc_free(m);
    return status;
}

static int create_named(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *o = yyjson_val_mut_copy(m, in), *md;

    yyjson_mut_doc_set_root(m, o);
    md = yyjson_mut_obj_get(o, "metadata");
    if (!yyjson_mut_is_obj(md)) {
        md = yyjson_mut_obj(m);
        yyjson_mut_obj_put(o, yyjson_mut_str(m, "metadata"), md);
    }
    yyjson_mut_obj_put(md, yyjson_mut_str(m, "name"), yyjson_mut_str(m, t->name));
    yyjson_doc *named = yyjson_mut_doc_imut_copy(m, NULL);
    int status = fa_write_create(a, t, yyjson_doc_get_root(named), out);
    yyjson_doc_free(named);
    yyjson_mut_doc_free(m);
    return status;
}

/* The conditions of 'was' with those of 'in' in place of their namesakes. */
static void merge_conditions(yyjson_mut_doc *m, yyjson_mut_val *status, yyjson_val *was,
                             yyjson_val *in) {
    yyjson_mut_val *list = yyjson_mut_arr(m);
    size_t i, n, j, k;
    yyjson_val *c, *d;

    yyjson_arr_foreach (was, i, n, c) {
        yyjson_val *use = c;
        yyjson_arr_foreach (in, j, k, d)
            if (yyjson_equals(yyjson_obj_get(c, "type"), yyjson_obj_get(d, "type")))
                use = NULL;
        if (use)
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(m, use));
    }
    yyjson_arr_foreach (in, j, k, d)
        yyjson_mut_arr_append(list, yyjson_val_mut_copy(m, d));
    yyjson_mut_obj_put(status, yyjson_mut_str(m, "conditions"), list);
}

/* Only what fa_write_update looks at: the rest of the object need not be copied. */
static yyjson_mut_val *patch_status(yyjson_mut_doc *m, yyjson_val *old, yyjson_val *in, bool apply,
                                    bool shared) {
    yyjson_mut_val *o = yyjson_mut_obj(m);
    yyjson_val *meta = fa_meta_of(in), *was = yyjson_obj_get(old, "status");
    yyjson_val *status = yyjson_obj_get(in, "status");

    if (meta)
        yyjson_mut_obj_add(o, yyjson_mut_str(m, "metadata"), yyjson_val_mut_copy(m, meta));
    if (status ? !yyjson_is_null(status) : was != NULL)
        yyjson_mut_obj_add(o, yyjson_mut_str(m, "status"),
                           status ? yyjson_merge_patch(m, apply && !shared ? NULL : was, status)
                                  : yyjson_val_mut_copy(m, was));
    if (apply && shared && yyjson_obj_get(status, "conditions"))
        merge_conditions(m, yyjson_mut_obj_get(o, "status"), yyjson_obj_get(was, "conditions"),
                         yyjson_obj_get(status, "conditions"));
    return o;
}

static int patch(struct fakeapi *a, struct target *t, const char *type, yyjson_val *in,
                 struct sl_buf *out) {
    uint32_t obj = find(a, t);
    bool apply = strcmp(type, SL_APPLY_PATCH) == 0, steps = strcmp(type, JSON_PATCH) == 0;

    if (!apply && !steps && strcmp(type, SL_MERGE_PATCH) != 0)
        return fa_fail(out, 415, "UnsupportedMediaType", "no such patch here");
    if (steps && t->sub[0])
        return fa_fail(out, 415, "UnsupportedMediaType", "a JSON patch of a status");
    if (yyjson_is_arr(in) != steps)
        return fa_fail(out, 400, "BadRequest", "the body is no patch of this type");
    if (obj == NONE && apply && !t->sub[0])
        return create_named(a, t, in, out);
    if (obj == NONE)
        return not_found(t, out);
    yyjson_val *old = fa_root_of(a->objects.v[obj].cur);
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(
        m, t->sub[0] ? patch_status(m, old, in, apply, t->res->k.flags & FAKEAPI_SHARED)
           : steps   ? yyjson_patch(m, old, in, NULL)
                     : yyjson_merge_patch(m, old, in));
    int status = yyjson_mut_doc_get_root(m)
                     ? fa_write_update(a, obj, t->sub[0], m, out)
                     : fa_fail(out, 422, "Invalid", "the patch cannot be applied");
    yyjson_mut_doc_free(m);
    return status;
}

static int delete_one(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find(a, t);
    yyjson_val *pre = yyjson_obj_get(in, "preconditions"), *v;
    struct delete_options o = {.policy = t->policy, .uid = "", .version = "", .grace = t->grace};

    if (obj == NONE)
        return not_found(t, out);
    if ((v = yyjson_obj_get(in, "propagationPolicy")) && yyjson_is_str(v))
        o.policy = yyjson_get_str(v);
    if ((v = yyjson_obj_get(in, "gracePeriodSeconds")) && yyjson_is_int(v))
        o.grace = yyjson_get_sint(v);
    if ((v = yyjson_obj_get(pre, "uid")) && yyjson_is_str(v))
        o.uid = yyjson_get_str(v);
    if ((v = yyjson_obj_get(pre, "resourceVersion")) && yyjson_is_str(v))
        o.version = yyjson_get_str(v);
    return fa_write_delete(a, obj, &o, out);
}

static int dispatch(struct fakeapi *a, enum sl_method method, struct target *t, const char *type,
                    yyjson_val *in, struct sl_buf *out) {
    bool named = t->name[0];

    if ((method == SL_POST || method == SL_PUT || method == SL_PATCH) && !yyjson_is_obj(in) &&
        !(method == SL_PATCH && yyjson_is_arr(in)))
        return fa_fail(out, 400, "BadRequest", "the body is not a JSON object");
    if (method == SL_GET && !t->watch)
        return named ? get(a, t, out) : list(a, t, out);
    if (method == SL_POST && !named && (t->ns[0] || !(t->res->k.flags & FAKEAPI_NAMESPACED)))
        return fa_write_create(a, t, in, out);
    if (method == SL_PUT && named)
        return put(a, t, in, out);
    if (method == SL_PATCH && named)
        return patch(a, t, type ? type : "", in, out);
    if (method == SL_DELETE && named && !t->sub[0])
        return delete_one(a, t, in, out);
    return fa_fail(out, 405, "MethodNotAllowed", "not allowed here");
}

int fa_serve(struct fakeapi *a, enum sl_method method, const char *path, const char *content_type,
             const char *body, size_t len, struct sl_buf *out) {
    struct target t;
    yyjson_doc *doc = NULL;
    int status = fa_target_parse(a, path, &t);

    if (status == 404)
        return fa_fail(out, 404, "NotFound", "the server could not find the requested resource");
    if (status > 0)
        return fa_fail(out, status, "BadRequest", "the path cannot be read");
    if (len > MAX_BODY_BYTES)
        return fa_fail(out, 413, "RequestEntityTooLarge", "the body is too large");
    if (len > 0) {
        doc = shallow(body, len) ? yyjson_read(body, len, 0) : NULL;
        if (!doc)
            return fa_fail(out, 400, "BadRequest", "the body is not JSON");
    }
    status = dispatch(a, method, &t, content_type, yyjson_doc_get_root(doc), out);
    yyjson_doc_free(doc);
    return status;
}
