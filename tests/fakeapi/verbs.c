/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to its effect and its answer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakeapi_int.h"
#include "lib/json/json.h"

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

/* o[of][key] as a text, "" if there is none. */
static const char *fa_str(yyjson_val *o, const char *of, const char *key) {
    const char *s = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(o, of), key));

    return s ? s : "";
}

static uint32_t find_object(struct fakeapi *a, const struct target *t) {
    char key[MAX_KEY_BYTES];
    uint32_t at;

    fa_target_key(t, t->name, key);
    return fa_store_find(a, t->res, key, &at);
}

void fa_put_version(struct sl_buf *out, const struct version *v, bool metadata) {
    if (!metadata) {
        sl_buf_add(out, v->text, v->len);
        return;
    }
    size_t len;
    char *text = yyjson_val_write(fa_meta_of(fa_root_of(v)), 0, &len);
    sl_buf_puts(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                     "\"metadata\":");
    sl_buf_add(out, text, len);
    sl_buf_putc(out, '}');
    free(text); /* yyjson's */
}

/* ---- discovery ---- */

/* The groups of /apis, or the one of /api, aggregated. A kind is listed under its group once for
 * each version, which is good enough as kinds of one group stand together. */
static int discover(struct fakeapi *a, bool core, struct sl_buf *out) {
    const struct resource *last = NULL;

    sl_buf_puts(out,
                "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","
                "\"metadata\":{},\"items\":[");
    for (uint32_t i = 0; i < a->n_res; i++) {
        const struct resource *r = &a->res[i];
        if (!r->installed || core != !r->k.group[0])
            continue;
        if (last && strcmp(last->k.group, r->k.group) == 0)
            sl_buf_putc(out, ',');
        else
            sl_buf_printf(out,
                          "%s{\"metadata\":{\"name\":\"%s\"},\"versions\":[{\"version\":\"%s\","
                          "\"resources\":[",
                          last ? "]}]}," : "", r->k.group, r->k.version);
        sl_buf_printf(out,
                      "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"\",\"version\":\"\","
                      "\"kind\":\"%s\"},\"scope\":\"%s\",\"verbs\":[\"create\",\"delete\","
                      "\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]}",
                      r->k.plural, r->k.kind,
                      r->k.flags & FAKEAPI_NAMESPACED ? "Namespaced" : "Cluster");
        last = r;
    }
    sl_buf_puts(out, last ? "]}]}]}" : "]}");
    return 200;
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
            (t->node[0] && strcmp(t->node, sl_json_str(fa_root_of(v), "spec.nodeName")) != 0) ||
            (t->scheduler[0] &&
             strcmp(t->scheduler, sl_json_str(fa_root_of(v), "spec.schedulerName")) != 0) ||
            !fa_labels_match(&sel, fa_root_of(v)))
            continue;
        if (limit > 0 && n == limit) {
            more = true;
            break;
        }
        if (n++ > 0)
            sl_buf_putc(out, ',');
        fa_put_version(out, v, t->metadata);
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
    uint32_t obj = find_object(a, t);

    if (obj == NONE)
        return not_found(t, out);
    fa_put_version(out, a->objects.v[obj].cur, t->metadata);
    return 200;
}

/* "token-1", "token-2" ... for the audience, of an account that need not be there. */
static int give_token(struct fakeapi *a, const struct target *t, yyjson_val *in,
                      struct sl_buf *out) {
    yyjson_val *spec = yyjson_obj_get(in, "spec");
    long long seconds = sl_json_int(spec, "expirationSeconds", 3600);

    if (strcmp(t->name, "none") == 0)
        return not_found(t, out);
    sl_buf_printf(out,
                  "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\","
                  "\"spec\":{\"expirationSeconds\":%lld},\"status\":{\"token\":\"%s:token-%u\"}}",
                  seconds, sl_json_text(yyjson_arr_get_first(yyjson_obj_get(spec, "audiences"))),
                  ++a->tokens);
    return 201;
}

/* Of a namespace, spec.finalizers and nothing else. */
static int finalize(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find_object(a, t);

    if (obj == NONE)
        return not_found(t, out);
    yyjson_mut_doc *m = yyjson_doc_mut_copy(a->objects.v[obj].cur->doc, NULL);
    yyjson_mut_val *o = yyjson_mut_doc_get_root(m), *spec = yyjson_mut_obj(m);
    yyjson_val *left = yyjson_obj_get(yyjson_obj_get(in, "spec"), "finalizers");
    if (yyjson_arr_size(left) > 0)
        yyjson_mut_obj_add(spec, yyjson_mut_str(m, "finalizers"), yyjson_val_mut_copy(m, left));
    yyjson_mut_obj_put(o, yyjson_mut_str(m, "spec"), spec);
    yyjson_mut_obj_put(
        o, yyjson_mut_str(m, "metadata"),
        yyjson_merge_patch(m, fa_meta_of(fa_root_of(a->objects.v[obj].cur)), fa_meta_of(in)));
    int status = fa_write_update(a, obj, false, m, out);
    yyjson_mut_doc_free(m);
    return status;
}

/* Of a pod: it gets a node, once, and is told so in its conditions. */
static int bind(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find_object(a, t);
    const char *node = fa_str(in, "target", "name"), *uid = fa_meta_str(in, "uid");

    if (obj == NONE)
        return not_found(t, out);
    yyjson_val *old = fa_root_of(a->objects.v[obj].cur), *spec = yyjson_obj_get(old, "spec");
    if (fa_str(old, "spec", "nodeName")[0] || fa_meta_str(old, "deletionTimestamp")[0] ||
        yyjson_arr_size(yyjson_obj_get(spec, "schedulingGates")) > 0 ||
        (uid[0] && strcmp(uid, fa_meta_str(old, "uid")) != 0))
        return fa_fail(out, 409, "Conflict", "pod %s is already assigned to node \"%s\"", t->name,
                       fa_str(old, "spec", "nodeName"));
    yyjson_mut_doc *m = yyjson_doc_mut_copy(a->objects.v[obj].cur->doc, NULL);
    yyjson_mut_obj_add_strcpy(m, yyjson_mut_obj_get(yyjson_mut_doc_get_root(m), "spec"), "nodeName",
                              node);
    int status = fa_write_update(a, obj, false, m, out);
    yyjson_mut_doc_free(m);
    if (status != 200)
        return status;
    sl_buf_clear(out);
    sl_buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Success\",\"code\":201}");
    return 201;
}

static int put_object(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find_object(a, t);

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

/* yyjson's 'add' puts a member beside one of the same name; RFC 6902 has it replaced. */
static yyjson_mut_val *patch_steps(yyjson_mut_doc *m, yyjson_val *old, yyjson_val *in) {
    yyjson_mut_val *o = yyjson_val_mut_copy(m, old), *steps = yyjson_val_mut_copy(m, in), *step;
    size_t i, n;

    yyjson_mut_arr_foreach (steps, i, n, step) {
        const char *path = sl_json_mut_text(yyjson_mut_obj_get(step, "path"));
        const char *slash = strrchr(path, '/');
        bool add = strcmp(sl_json_mut_text(yyjson_mut_obj_get(step, "op")), "add") == 0;
        if (add && slash && yyjson_mut_ptr_get(o, path) &&
            yyjson_mut_is_obj(yyjson_mut_ptr_getn(o, path, (size_t)(slash - path))))
            yyjson_mut_obj_put(step, yyjson_mut_str(m, "op"), yyjson_mut_str(m, "replace"));
    }
    return yyjson_mut_patch(m, o, steps, NULL);
}

/* Was it made from an older version, as it says of itself? */
static bool is_outdated(yyjson_val *old, yyjson_val *steps) {
    size_t i, n;
    yyjson_val *step;
    yyjson_arr_foreach (steps, i, n, step)
        if (strcmp(sl_json_str(step, "path"), "/metadata/resourceVersion") == 0)
            return strcmp(sl_json_str(step, "value"), fa_meta_str(old, "resourceVersion")) != 0;
    return false;
}

static int patch(struct fakeapi *a, struct target *t, const char *type, yyjson_val *in,
                 struct sl_buf *out) {
    uint32_t obj = find_object(a, t);
    bool apply = strcmp(type, SL_APPLY_PATCH) == 0, steps = strcmp(type, SL_JSON_PATCH) == 0;

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
           : steps   ? patch_steps(m, old, in)
                     : yyjson_merge_patch(m, old, in));
    a->outdated = steps && is_outdated(old, in);
    int status = yyjson_mut_doc_get_root(m)
                     ? fa_write_update(a, obj, t->sub[0], m, out)
                     : fa_fail(out, 422, "Invalid", "the patch cannot be applied");
    yyjson_mut_doc_free(m);
    return status;
}

static int delete_one(struct fakeapi *a, struct target *t, yyjson_val *in, struct sl_buf *out) {
    uint32_t obj = find_object(a, t);
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

static int delete_all(struct fakeapi *a, struct target *t, struct sl_buf *out) {
    struct delete_options o = {.policy = t->policy, .uid = "", .version = "", .grace = t->grace};
    SL_VEC(uint32_t) list = {0};

    for (uint32_t i = 0; i < t->res->sorted.n; i++) {
        uint32_t obj = t->res->sorted.v[i];
        if (!t->ns[0] ||
            strcmp(t->ns, fa_meta_str(fa_root_of(a->objects.v[obj].cur), "namespace")) == 0)
            *sl_vec_push(&list) = obj;
    }
    for (uint32_t i = 0; i < list.n; i++) {
        sl_buf_clear(out);
        (void)fa_write_delete(a, list.v[i], &o, out);
    }
    sl_vec_free(&list);
    sl_buf_clear(out);
    sl_buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                     "\"status\":\"Success\"}");
    return 200;
}

static int dispatch(struct fakeapi *a, enum sl_kube_method method, struct target *t,
                    const char *type, yyjson_val *in, struct sl_buf *out) {
    bool named = t->name[0];

    if ((method == SL_POST || method == SL_PUT || method == SL_PATCH) && !yyjson_is_obj(in) &&
        !(method == SL_PATCH && yyjson_is_arr(in)))
        return fa_fail(out, 400, "BadRequest", "the body is not a JSON object");
    if (method == SL_GET && !t->watch)
        return named ? get(a, t, out) : list(a, t, out);
    if (method == SL_POST && !named && (t->ns[0] || !(t->res->k.flags & FAKEAPI_NAMESPACED)))
        return fa_write_create(a, t, in, out);
    if (method == SL_POST && strcmp(t->sub, "token") == 0)
        return give_token(a, t, in, out);
    if (method == SL_POST && strcmp(t->sub, "binding") == 0)
        return bind(a, t, in, out);
    if (method == SL_PUT && strcmp(t->sub, "finalize") == 0)
        return finalize(a, t, in, out);
    if (method == SL_PUT && named)
        return put_object(a, t, in, out);
    if (method == SL_PATCH && named)
        return patch(a, t, type ? type : "", in, out);
    if (method == SL_DELETE && named && !t->sub[0])
        return delete_one(a, t, in, out);
    if (method == SL_DELETE && !named)
        return delete_all(a, t, out);
    return fa_fail(out, 405, "MethodNotAllowed", "not allowed here");
}

int fa_serve(struct fakeapi *a, const struct sl_kube_request *rq, struct sl_buf *out) {
    struct target t;
    yyjson_doc *doc = NULL;
    bool core = strcmp(rq->path, "/api") == 0;

    if (rq->accept && (core || strcmp(rq->path, "/apis") == 0))
        return discover(a, core, out);
    int status = fa_target_parse(a, rq->path, &t);
    t.metadata = rq->accept != NULL;
    if (status == 404)
        return fa_fail(out, 404, "NotFound", "the server could not find the requested resource");
    if (status > 0)
        return fa_fail(out, status, "BadRequest", "the path cannot be read");
    if (rq->len > MAX_BODY_BYTES)
        return fa_fail(out, 413, "RequestEntityTooLarge", "the body is too large");
    if (rq->len > 0) {
        doc = shallow(rq->body, rq->len) ? yyjson_read(rq->body, rq->len, 0) : NULL;
        if (!doc)
            return fa_fail(out, 400, "BadRequest", "the body is not JSON");
    }
    status = dispatch(a, rq->method, &t, rq->content_type, yyjson_doc_get_root(doc), out);
    yyjson_doc_free(doc);
    return status;
}
