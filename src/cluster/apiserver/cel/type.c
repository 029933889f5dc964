/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/cel/type.h"

#include <string.h>

#include "core/base/buf.h"
#include "lib/json/json.h"

#define SCHEMA_DEPTH 64u

#define PLAIN(kind_) [kind_] = {.kind = (kind_)}
const struct api_cel_type api_cel_types[T_KINDS] = {
    PLAIN(T_NONE),
    PLAIN(T_DYN),
    PLAIN(T_NULL),
    PLAIN(T_BOOL),
    PLAIN(T_INT),
    PLAIN(T_UINT),
    PLAIN(T_REAL),
    PLAIN(T_STR),
    PLAIN(T_BYTES),
    PLAIN(T_DURATION),
    PLAIN(T_TIME),
    [T_LIST] = {.kind = T_LIST, .elem = &api_cel_types[T_DYN]},
    [T_MAP] = {.kind = T_MAP, .elem = &api_cel_types[T_DYN], .key = &api_cel_types[T_DYN]},
    PLAIN(T_OBJECT),
    PLAIN(T_TYPE),
    [T_OPTIONAL] = {.kind = T_OPTIONAL, .elem = &api_cel_types[T_DYN]},
    PLAIN(T_URL),
    PLAIN(T_IP),
    PLAIN(T_CIDR),
    PLAIN(T_QUANTITY),
    PLAIN(T_FORMAT),
    PLAIN(T_SEMVER),
};

/* ---- names ---- */

static const char *const reserved[] = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while",
};

static bool is_reserved(const char *name) {
    for (size_t i = 0; i < SL_LEN(reserved); i++)
        if (strcmp(name, reserved[i]) == 0)
            return true;
    return false;
}

const char *api_cel_escape(const char *name, struct sl_arena *arena) {
    static const char *const signs[][2] = {
        {"__", "__underscores__"}, {".", "__dot__"}, {"-", "__dash__"}, {"/", "__slash__"}};
    char *out = sl_arena_alloc(arena, 8 * strlen(name) + 16), *to = out;

    if (is_reserved(name))
        return sl_arena_printf(arena, "__%s__", name);
    if (!*name || (*name >= '0' && *name <= '9'))
        return NULL;
    for (const char *p = name; *p;) {
        size_t i = 0;
        while (i < SL_LEN(signs) && strncmp(p, signs[i][0], strlen(signs[i][0])) != 0)
            i++;
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
                      (*p >= '0' && *p <= '9');
        if (i == SL_LEN(signs) && !letter)
            return NULL;
        if (i == SL_LEN(signs)) {
            *to++ = *p++;
        } else {
            memcpy(to, signs[i][1], strlen(signs[i][1]));
            to += strlen(signs[i][1]);
            p += strlen(signs[i][0]);
        }
    }
    *to = '\0';
    return out;
}

const struct api_cel_type *api_cel_type_field(const struct api_cel_type *t, const char *name) {
    for (uint32_t i = 0; i < t->n_fields; i++)
        if (strcmp(t->names[i], name) == 0)
            return t->fields[i];
    return &api_cel_types[T_NONE];
}

static bool is_name(const char *s, const char *name, size_t len) {
    return strlen(s) == len && memcmp(s, name, len) == 0;
}

/* Words of the language that are fields, too, may be written as they are. */
int32_t api_cel_type_shown(const struct api_cel_type *t, const char *name, size_t len) {
    for (uint32_t i = 0; i < t->n_fields; i++)
        if (t->shown[i] && t->fields[i]->kind != T_NONE &&
            (is_name(t->shown[i], name, len) ||
             (is_name(t->names[i], name, len) && is_reserved(t->names[i]))))
            return (int32_t)i;
    return -1;
}

static void print(const struct api_cel_type *t, struct sl_buf *out) {
    static const char *const words[T_KINDS] = {
        [T_NONE] = "!error!",
        [T_DYN] = "dyn",
        [T_NULL] = "null",
        [T_BOOL] = "bool",
        [T_INT] = "int",
        [T_UINT] = "uint",
        [T_REAL] = "double",
        [T_STR] = "string",
        [T_BYTES] = "bytes",
        [T_DURATION] = "google.protobuf.Duration",
        [T_TIME] = "google.protobuf.Timestamp",
        [T_LIST] = "list",
        [T_MAP] = "map",
        [T_OBJECT] = "object",
        [T_TYPE] = "type",
        [T_OPTIONAL] = "optional_type",
        [T_URL] = "kubernetes.URL",
        [T_IP] = "net.IP",
        [T_CIDR] = "net.CIDR",
        [T_QUANTITY] = "kubernetes.Quantity",
        [T_FORMAT] = "kubernetes.NamedFormat",
        [T_SEMVER] = "kubernetes.Semver",
    };

    sl_buf_puts(out, words[t->kind]);
    if (t->kind != T_LIST && t->kind != T_MAP && t->kind != T_OPTIONAL)
        return;
    sl_buf_putc(out, '(');
    if (t->kind == T_MAP) {
        print(t->key ? t->key : &api_cel_types[T_STR], out);
        sl_buf_puts(out, ", ");
    }
    print(t->elem, out);
    sl_buf_putc(out, ')');
}

const char *api_cel_type_name(const struct api_cel_type *t, struct sl_arena *arena) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(1024);

    print(t, &b);
    return sl_arena_strdup(arena, sl_buf_str(&b));
}

/* ---- schemas ---- */

struct reading {
    struct sl_arena *arena;
    uint32_t depth;
};

static const struct api_cel_type *read_schema(struct reading *r, yyjson_val *schema, bool root);

static const struct api_cel_type *read_object(struct reading *r, yyjson_val *schema, bool root,
                                              struct api_cel_type *t) {
    static const char *const meta_names[] = {"name", "generateName"};
    static const struct api_cel_type *const meta_types[] = {&api_cel_types[T_STR],
                                                            &api_cel_types[T_STR]};
    static const struct api_cel_type metadata = {.kind = T_OBJECT,
                                                 .names = meta_names,
                                                 .shown = meta_names,
                                                 .fields = meta_types,
                                                 .n_fields = SL_LEN(meta_names)};
    static const char *const root_names[] = {"kind", "apiVersion", "metadata"};
    const struct api_cel_type *const root_types[] = {&api_cel_types[T_STR], &api_cel_types[T_STR],
                                                     &metadata};
    yyjson_val *props = sl_json_get(schema, "properties"), *key, *v;
    size_t n = yyjson_obj_size(props) + SL_LEN(root_names), i, max;
    const char **names = sl_arena_alloc0(r->arena, n, sizeof(*names)),
               **shown = sl_arena_alloc0(r->arena, n, sizeof(*shown));
    const struct api_cel_type **fields = sl_arena_alloc0(r->arena, n, sizeof(*fields));

    sl_obj_foreach (props, i, max, key, v) {
        const char *name = sl_json_text(key);
        bool standard = false;
        for (size_t k = 0; k < SL_LEN(root_names); k++)
            standard = standard || (root && strcmp(name, root_names[k]) == 0);
        if (standard)
            continue;
        names[t->n_fields] = sl_arena_strdup(r->arena, name);
        shown[t->n_fields] = api_cel_escape(name, r->arena);
        fields[t->n_fields++] = read_schema(r, v, false);
    }
    for (size_t k = 0; root && k < SL_LEN(root_names); k++) {
        names[t->n_fields] = shown[t->n_fields] = root_names[k];
        fields[t->n_fields++] = root_types[k];
    }
    t->kind = T_OBJECT;
    t->names = names;
    t->shown = shown;
    t->fields = fields;
    return t;
}

static const struct api_cel_type *read_list(struct reading *r, yyjson_val *schema,
                                            struct api_cel_type *t) {
    const char *how = sl_json_str(schema, "x-kubernetes-list-type");
    yyjson_val *keys = sl_json_get(schema, "x-kubernetes-list-map-keys"), *key;
    size_t i, n;

    t->elem = read_schema(r, sl_json_get(schema, "items"), false);
    if (t->elem->kind == T_NONE)
        return t->elem;
    t->kind = T_LIST;
    t->list = strcmp(how, "set") == 0 ? LIST_SET : strcmp(how, "map") == 0 ? LIST_MAP : LIST_ATOMIC;
    if (t->list == LIST_MAP) {
        const char **list = sl_arena_alloc0(r->arena, sl_json_size(keys) + 1, sizeof(*list));
        yyjson_arr_foreach (keys, i, n, key) {
            list[t->n_keys++] = sl_arena_strdup(r->arena, sl_json_text(key));
        }
        t->keys = list;
    }
    return t;
}

static enum api_cel_kind kind_of_text(const char *format) {
    static const struct {
        const char *format;
        enum api_cel_kind kind;
    } formats[] = {
        {"byte", T_BYTES}, {"duration", T_DURATION}, {"date", T_TIME}, {"date-time", T_TIME}};

    for (size_t i = 0; i < SL_LEN(formats); i++)
        if (strcmp(format, formats[i].format) == 0)
            return formats[i].kind;
    return T_STR;
}

static const struct api_cel_type *read_schema(struct reading *r, yyjson_val *schema, bool root) {
    const char *type = sl_json_str(schema, "type"), *format = sl_json_str(schema, "format");
    yyjson_val *others = sl_json_get(schema, "additionalProperties");
    const struct api_cel_type *ret;

    if (!yyjson_is_obj(schema) || r->depth >= SCHEMA_DEPTH || sl_arena_full(r->arena))
        return &api_cel_types[T_NONE];
    r->depth++;
    root = root || sl_json_bool(schema, "x-kubernetes-embedded-resource", false);
    struct api_cel_type *t = sl_arena_alloc0(r->arena, 1, sizeof(*t));
    t->nullable = sl_json_bool(schema, "nullable", false);
    ret = t;
    if (sl_json_bool(schema, "x-kubernetes-int-or-string", false)) {
        t->kind = T_DYN;
        t->number_or_text = true;
    } else if (strcmp(type, "array") == 0) {
        ret = read_list(r, schema, t);
    } else if (strcmp(type, "object") == 0 && yyjson_is_obj(others) && !root) {
        t->kind = T_MAP;
        t->elem = read_schema(r, others, false);
        ret = t->elem->kind == T_NONE ? t->elem : t;
    } else if (strcmp(type, "object") == 0 || root) {
        ret = read_object(r, schema, root, t);
    } else if (strcmp(type, "string") == 0) {
        t->kind = kind_of_text(format);
        t->date = strcmp(format, "date") == 0;
    } else if (strcmp(type, "boolean") == 0) {
        t->kind = T_BOOL;
    } else if (strcmp(type, "number") == 0) {
        t->kind = T_REAL;
    } else if (strcmp(type, "integer") == 0) {
        t->kind = T_INT;
    }
    r->depth--;
    return ret;
}

const struct api_cel_type *api_cel_type_of(yyjson_val *schema, bool root, struct sl_arena *arena) {
    struct reading r = {.arena = arena};
    return read_schema(&r, schema, root);
}
