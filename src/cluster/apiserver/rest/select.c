/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label and field selectors, and the index of an object for them: its labels and the selectable
 * fields of its kind, extracted from the text once, when it is stored.
 */
#include <string.h>

#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

/* ---- what objects show ---- */

static const char *field_text(yyjson_val *object, const char *path, char number[32]) {
    const char *equals = strchr(path, '=');
    path = equals ? equals + 1 : path;
    size_t len = strlen(path);
    bool truth = len && path[len - 1] == '?', count = len && path[len - 1] == '#';
    char name[256];

    if (truth || count) {
        sl_fmt(name, sizeof name, "%.*s", (int)(len - 1), path);
        path = name;
    }
    yyjson_val *v = sl_json_at(object, *path == '.' ? path + 1 : path);
    if (yyjson_is_bool(v) || truth)
        return yyjson_get_bool(v) ? "true" : "false";
    if (yyjson_is_int(v) || count) {
        sl_fmt(number, 32, "%lld", (long long)yyjson_get_sint(v));
        return number;
    }
    return sl_json_text(v);
}

static size_t texts_size(const struct api_kind *k, yyjson_val *object, yyjson_val *labels,
                         uint32_t *ret_fields) {
    size_t size = 0, i, n;
    yyjson_val *key, *value;
    char number[32];

    sl_obj_foreach (labels, i, n, key, value) {
        size += strlen(sl_json_text(key)) + strlen(sl_json_text(value)) + 2;
    }
    for (*ret_fields = 0; k->selectable && k->selectable[*ret_fields]; (*ret_fields)++)
        size += strlen(field_text(object, k->selectable[*ret_fields], number)) + 1;
    return size;
}

static const char *put_text(char **at, const char *s) {
    size_t n = strlen(s) + 1;
    char *to = *at;

    memcpy(to, s, n);
    *at += n;
    return to;
}

/* One piece of memory: the record, the labels, the texts. */
static struct api_index *make_index(const struct api_kind *k, yyjson_val *object,
                                    size_t *ret_bytes) {
    yyjson_val *labels = sl_json_at(object, "metadata.labels"), *key, *value;
    uint32_t n_labels = (uint32_t)yyjson_obj_size(labels), n_fields; /* a list has none */
    size_t size = texts_size(k, object, labels, &n_fields), i, n;
    size_t head = sizeof(struct api_index) + n_fields * sizeof(char *);
    char number[32];

    if (!n_labels && !n_fields)
        return NULL;
    *ret_bytes = head + n_labels * sizeof(struct sl_label) + size;
    struct api_index *x = sl_alloc(*ret_bytes);
    struct sl_label *label = (struct sl_label *)((char *)x + head);
    char *text = (char *)(label + n_labels);
    x->labels = (struct sl_labels){.v = label, .n = n_labels};
    x->n_fields = n_fields;
    sl_obj_foreach (labels, i, n, key, value) {
        label->key = put_text(&text, sl_json_text(key));
        label->value = put_text(&text, sl_json_text(value));
        label++;
    }
    for (i = 0; i < n_fields; i++)
        x->fields[i] = put_text(&text, field_text(object, k->selectable[i], number));
    return x;
}

size_t api_object_index(void *server, struct sl_store_object *o) {
    struct sl_apiserver *s = server;
    const struct api_kind *k = api_kind_at(s, o->resource);
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    yyjson_val *object = s->putting;
    size_t bytes = 0;

    if (!k)
        return 0;
    if (!object) {
        doc = yyjson_read(o->text, o->len, 0);
        object = doc ? yyjson_doc_get_root(doc) : NULL;
    }
    o->index = make_index(k, object, &bytes);
    return bytes;
}

bool api_object_readable(void *server, const struct sl_store_object *o) {
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        sl_json_too_deep(o->text, o->len) ? NULL : yyjson_read(o->text, o->len, 0);
    yyjson_val *meta = sl_json_get(yyjson_doc_get_root(doc), "metadata");

    (void)server;
    return strcmp(sl_json_str(meta, "name"), o->name) == 0 &&
           strcmp(sl_json_str(meta, "namespace"), o->ns) == 0 &&
           strcmp(sl_json_str(meta, "uid"), o->uid) == 0;
}

void api_object_unindex(void *server, struct sl_store_object *o) {
    (void)server;
    sl_freep(&o->index);
}

/* ---- questions ---- */

/* The next "path=value", "path==value" or "path!=value" of a field selector, with '\' before ',',
 * '=' and itself. */
static bool next_rule(struct api_rq *rq, const char **at, struct api_field_rule *ret) {
    const char *s = *at;
    size_t len = 0, op = SIZE_MAX;

    while (s[len] && s[len] != ',') {
        if (s[len] == '\\' && s[len + 1])
            len++;
        else if (op == SIZE_MAX && (s[len] == '=' || (s[len] == '!' && s[len + 1] == '=')))
            op = len;
        len++;
    }
    *at = s + len + (s[len] == ',');
    if (op == SIZE_MAX) {
        api_rq_bad(rq, "invalid selector: '%s'; can't understand '%.*s'", rq->q.fields, (int)len,
                   s);
        return false;
    }
    size_t skip = s[op] == '!' || s[op + 1] == '=' ? 2 : 1;
    char *value = sl_arena_alloc(&rq->arena, len + 1), *p = value;
    for (size_t i = op + skip; i < len; i++) {
        if (s[i] == '\\' && i + 1 < len)
            i++;
        *p++ = s[i];
    }
    *p = '\0';
    *ret = (struct api_field_rule){
        .path = sl_arena_strndup(&rq->arena, s, op), .value = value, .not = s[op] == '!'};
    return true;
}

static bool place_rule(struct api_rq *rq, struct api_field_rule *r) {
    const char *const *known = rq->kind->selectable;

    if (strcmp(r->path, "metadata.name") == 0) {
        r->at = -1;
        return true;
    }
    if (strcmp(r->path, "metadata.namespace") == 0) {
        r->at = -2;
        return true;
    }
    for (int32_t i = 0; known && known[i]; i++) {
        const char *name = known[i] + (*known[i] == '.');
        size_t len = strcspn(name, "?=#");
        if (strlen(r->path) == len && strncmp(name, r->path, len) == 0) {
            r->at = i;
            return true;
        }
    }
    if (strcmp(rq->kind->plural, "jobs") == 0 && strcmp(rq->kind->group, "batch") == 0)
        api_rq_bad(rq, "field label \"%s\" not supported for Job", r->path);
    else if (known || rq->kind->crd)
        api_rq_bad(rq, "field label not supported: %s", r->path);
    else
        api_rq_bad(
            rq,
            "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            r->path);
    return false;
}

static bool read_fields(struct api_rq *rq, struct api_filter *f) {
    const char *at = rq->q.fields;

    while (*at) {
        if (*at == ',') {
            at++;
            continue;
        }
        if (f->n_fields == SL_FIELD_RULES) {
            api_rq_bad(rq, "more than %u terms in a field selector", SL_FIELD_RULES);
            return false;
        }
        struct api_field_rule *r = &f->fields[f->n_fields++];
        if (!next_rule(rq, &at, r) || !place_rule(rq, r))
            return false;
        if (r->at == -1 && !r->not )
            f->name = r->value;
    }
    return true;
}

bool api_filter_read(struct api_rq *rq, struct api_filter *f) {
    *f = (struct api_filter){.ns = rq->ns, .name = rq->name};
    return (!*rq->q.labels || api_labels_read(rq, rq->q.labels, &f->labels)) && read_fields(rq, f);
}

bool api_filter_passes(const struct api_filter *f, const struct sl_store_object *o) {
    static const struct sl_labels none = {0};
    const struct api_index *x = o->index;

    if ((*f->ns && strcmp(f->ns, o->ns) != 0) || (*f->name && strcmp(f->name, o->name) != 0))
        return false;
    for (uint32_t i = 0; i < f->n_fields; i++) {
        const struct api_field_rule *r = &f->fields[i];
        const char *have = r->at == -1                          ? o->name
                           : r->at == -2                        ? o->ns
                           : x && (uint32_t)r->at < x->n_fields ? x->fields[r->at]
                                                                : "";
        if ((strcmp(have, r->value) == 0) == r->not )
            return false;
    }
    return (!f->labels.n && !f->labels.nothing) ||
           sl_selector_matches(&f->labels, x ? &x->labels : &none);
}
