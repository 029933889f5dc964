/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notation, line by line. A text is one package:
 *
 *     package GROUP/VERSION NAME      others refer to its types as GROUP/VERSION.TYPE; NAME.TYPE is
 *                                     their name in OpenAPI. The group "" is written "core".
 *     # ...                           a comment
 *     type TYPE [atomic|open]: DOC    an object; its fields follow, indented
 *     kind TYPE: DOC                  likewise, of the API: it has apiVersion, kind and metadata
 *     alias TYPE: TYPE OPTIONS        another name for a string, list or map
 *       FIELD: TYPE[?] OPTIONS | DOC
 *
 * A TYPE is a name of the table 'scalars', [TYPE], {TYPE} (a map from strings), the name of one of
 * the same package or GROUP/VERSION.TYPE. A question mark says that an empty value is not the same
 * as none. OPTIONS are separated by blanks:
 *
 *     required       must be present
 *     always         is written even if it is empty; so is what is required, unless 'omitted'
 *     default=VALUE  JSON without blanks; what is not JSON is a string
 *     enum=A,B       strings; "" is the empty one
 *     atomic         a map that server-side apply merges as one value, as it does lists
 *     set, keys=A,B  lists that it merges by value or by keys
 *     patch, patch=A lists that strategic merge patches merge by value or by key
 *     merge=A        keys=A patch=A
 *     in=NAME        the name of an embedded struct without a name in JSON that holds the field
 *     retain         strategic merge patches may drop what they do not name
 *
 * DOC is what `kubectl explain` shows: of a field, and below it of its type. It is not copied.
 */
#include "cluster/schema/types_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

#define MAX_DEPTH 4u   /* of lists of maps of lists */
#define MAX_NAME 256u  /* bytes */
#define MAX_WORDS 128u /* of an enum, or keys */

/* A text being read. */
struct reader {
    struct sl_schemas *set;
    struct sl_err *err;
    const char *from;
    uint32_t line;
    const char *at, *end;      /* what is left of the line */
    const char *group_version; /* of the package; NULL before it is named */
    const char *package, *group, *version;
    struct sl_schema *type; /* whose fields come; NULL: none do */
    SL_VEC(struct sl_schema_field) fields;
};

static const struct {
    const char *word;
    struct sl_schema schema;
} scalars[] = {
    {"any", {.type = SL_T_ANY, .go = "interface {}"}},
    {"bool", {.type = SL_T_BOOL, .go = "bool"}},
    {"bytes", {.type = SL_T_STRING, .format = "byte", .go = "[]uint8"}},
    {"duration", {.type = SL_T_STRING, .go = "v1.Duration"}},
    {"int32", {.type = SL_T_INT, .format = "int32", .go = "int32"}},
    {"int64", {.type = SL_T_INT, .format = "int64", .go = "int64"}},
    {"intstr", {.type = SL_T_INT_OR_STRING, .go = "intstr.IntOrString"}},
    {"microtime", {.type = SL_T_STRING, .format = "date-time", .go = "v1.MicroTime"}},
    {"number", {.type = SL_T_NUMBER, .format = "double", .go = "float64"}},
    {"object",
     {.type = SL_T_ANY,
      .merge = SL_MERGE_ATOMIC,
      .format = "object",
      .go = "runtime.RawExtension"}},
    {"quantity", {.type = SL_T_QUANTITY, .go = "resource.Quantity"}},
    {"string", {.type = SL_T_STRING, .go = "string"}},
    {"time", {.type = SL_T_STRING, .format = "date-time", .go = "v1.Time"}},
    {"uid", {.type = SL_T_STRING, .go = "types.UID"}},
};

/* ---- tokens and lines ---- */

#define FAULT(r, code, ...) schema_types_error((r)->err, code, (r)->from, (r)->line, __VA_ARGS__)

int schema_types_error(struct sl_err *err, int code, const char *from, uint32_t line,
                       const char *fmt, ...) {
    char text[200];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    return sl_err_set(err, code, "%s:%u: %s", from, line, text);
}

static void skip_blanks(struct reader *r) {
    while (r->at < r->end && *r->at == ' ')
        r->at++;
}

static bool accept_char(struct reader *r, char c) {
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A token, up to one of these characters. "" if there is none. */
static const char *take_word(struct reader *r, const char *until) {
    const char *from = r->at;

    while (r->at < r->end && !strchr(until, *r->at))
        r->at++;
    return sl_arena_strndup(&r->set->arena, from, (size_t)(r->at - from));
}

static bool is_name(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_");
    return n > 0 && n < MAX_NAME && s[n] == '\0';
}

/* ---- types by name ---- */

static struct schema_types_entry *find_type(struct sl_schemas *set, const char *key) {
    uint32_t cursor, i = sl_map_first(&set->by_key, sl_hash_str(0, key), &cursor);

    while (i != SL_MAP_NONE && strcmp(set->entries.v[i].key, key) != 0)
        i = sl_map_next(&set->by_key, sl_hash_str(0, key), &cursor);
    return i == SL_MAP_NONE ? NULL : &set->entries.v[i];
}

/* The entry of this key, made if there is none; NULL if there are too many. */
static struct schema_types_entry *entry_of(struct reader *r, const char *key) {
    struct sl_schemas *set = r->set;
    struct schema_types_entry *e = find_type(set, key);

    if (e || set->entries.n == SL_TYPES_MAX)
        return e;
    sl_map_add(&set->by_key, sl_hash_str(0, key), set->entries.n);
    e = sl_vec_push(&set->entries);
    *e = (struct schema_types_entry){.key = key,
                                     .schema = sl_arena_alloc0(&set->arena, 1, sizeof(*e->schema)),
                                     .from = r->from,
                                     .line = r->line};
    return e;
}

static int refer(struct reader *r, const char *word, const struct sl_schema **ret) {
    const char *dot = strrchr(word, '.');

    for (size_t i = 0; i < SL_LEN(scalars); i++) {
        if (strcmp(scalars[i].word, word) == 0) {
            *ret = &scalars[i].schema;
            return 0;
        }
    }
    if (!is_name(dot ? dot + 1 : word) || strlen(word) > MAX_NAME)
        return FAULT(r, SL_EINVAL, "'%.100s' is no type", word);
    const struct schema_types_entry *e =
        entry_of(r, dot ? word : sl_arena_printf(&r->set->arena, "%s.%s", r->group_version, word));
    if (!e)
        return FAULT(r, SL_ELIMIT, "more than %u types", SL_TYPES_MAX);
    *ret = e->schema;
    return 0;
}

/* *ret_own: the same, if it may still be changed; else NULL. */
static int read_type(struct reader *r, uint32_t depth, const struct sl_schema **ret,
                     struct sl_schema **ret_own) {
    char close = '\0';
    struct sl_schema *own = NULL, *below;

    *ret_own = NULL;
    if (accept_char(r, '['))
        close = ']';
    else if (accept_char(r, '{'))
        close = '}';
    if (!close)
        return refer(r, take_word(r, " ]}?"), ret);
    if (depth == MAX_DEPTH)
        return FAULT(r, SL_ELIMIT, "lists and maps more than %u deep", MAX_DEPTH);
    own = sl_arena_alloc0(&r->set->arena, 1, sizeof(*own));
    own->type = close == ']' ? SL_T_LIST : SL_T_MAP;
    own->merge = close == ']' ? SL_MERGE_ATOMIC : SL_MERGE_DEEP;
    int e = read_type(r, depth + 1, &own->items, &below);
    if (e < 0)
        return e;
    if (!accept_char(r, close))
        return FAULT(r, SL_EINVAL, "'%c' is missing", close);
    *ret = *ret_own = own;
    return 0;
}

/* ---- options ---- */

struct options {
    struct sl_schema_field *field;   /* NULL: of an alias */
    const struct sl_schema **schema; /* of the field or alias */
    struct sl_schema *own;           /* the same, if it may still be changed */
    uint32_t flags;
};

static int keep_json(struct reader *r, const char *text, yyjson_val **ret) {
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);

    if (!doc)
        return FAULT(r, SL_EINVAL, "'%.100s' is not JSON", text);
    *sl_vec_push(&r->set->values) = doc;
    *ret = yyjson_doc_get_root(doc);
    return 0;
}

static int put_default(struct reader *r, struct options *o, const char *arg) {
    yyjson_doc *doc = yyjson_read(arg, strlen(arg), 0);

    if (!doc) {
        yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
        sl_assert(m);
        yyjson_mut_doc_set_root(m, yyjson_mut_str(m, arg));
        doc = yyjson_mut_doc_imut_copy(m, NULL);
        yyjson_mut_doc_free(m);
        sl_assert(doc);
    }
    *sl_vec_push(&r->set->values) = doc;
    o->field->deflt = yyjson_doc_get_root(doc);
    return 0;
}

static int put_enum(struct reader *r, struct options *o, const char *arg) {
    struct sl_schema *s = sl_arena_alloc0(&r->set->arena, 1, sizeof(*s));
    struct sl_schema_rules *rules = sl_arena_alloc0(&r->set->arena, 1, sizeof(*rules));
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(SL_TYPES_MAX_BYTES);

    if ((*o->schema)->type != SL_T_STRING || !(*o->schema)->go)
        return FAULT(r, SL_EINVAL, "enum is for texts");
    struct sl_jw w = SL_JW(&text);
    sl_jw_array(&w, NULL);
    for (const char *p = arg, *q;; p = q + 1) {
        q = strchrnul(p, ',');
        bool empty = strncmp(p, "\"\"", 2) == 0;
        sl_jw_text(&w, NULL, (struct sl_text){p, empty ? 0 : (size_t)(q - p)});
        if (!*q)
            break;
    }
    sl_jw_end(&w);
    *rules = (struct sl_schema_rules){.letters = {-1, -1}, .items = {-1, -1}, .fields = {-1, -1}};
    *s = **o->schema;
    s->rules = rules;
    *o->schema = s;
    return keep_json(r, sl_buf_str(&text), &rules->words);
}

static int put_keys(struct reader *r, struct options *o, const char *arg) {
    const char *keys[MAX_WORDS];
    uint32_t n = 0;

    if (!o->own || o->own->type != SL_T_LIST)
        return FAULT(r, SL_EINVAL, "keys are for lists");
    for (const char *p = arg, *q;; p = q + 1) {
        q = strchrnul(p, ',');
        if (n == MAX_WORDS)
            return FAULT(r, SL_ELIMIT, "more than %u keys", MAX_WORDS);
        keys[n] = sl_arena_strndup(&r->set->arena, p, (size_t)(q - p));
        if (!is_name(keys[n++]))
            return FAULT(r, SL_EINVAL, "'%.100s' is no key", keys[n - 1]);
        if (!*q)
            break;
    }
    const char **kept = sl_arena_alloc(&r->set->arena, n * sizeof(*kept));
    memcpy(kept, keys, n * sizeof(*kept));
    o->own->keys = kept;
    o->own->n_keys = n;
    o->own->merge = SL_MERGE_KEYED;
    return 0;
}

static int put_patch(struct reader *r, struct options *o, const char *arg) {
    if (!o->own || o->own->type != SL_T_LIST)
        return FAULT(r, SL_EINVAL, "patch is for lists");
    o->field->patch_merge = true;
    o->field->patch_key = *arg ? arg : NULL;
    return 0;
}

static int put_in(struct reader *r, struct options *o, const char *arg) {
    (void)r;
    o->field->part = arg;
    return 0;
}

static int put_merge(struct reader *r, struct options *o, const char *arg) {
    int e = put_keys(r, o, arg);
    return e < 0 ? e : put_patch(r, o, arg);
}

static int put_atomic(struct reader *r, struct options *o, const char *arg) {
    (void)arg;
    if (!o->own || o->own->type != SL_T_MAP)
        return FAULT(r, SL_EINVAL, "atomic is for maps; lists are so already");
    o->own->merge = SL_MERGE_ATOMIC;
    return 0;
}

static int put_set(struct reader *r, struct options *o, const char *arg) {
    (void)arg;
    if (!o->own || o->own->type != SL_T_LIST)
        return FAULT(r, SL_EINVAL, "set is for lists");
    o->own->merge = SL_MERGE_SET;
    return 0;
}

/* Options without a value. */
enum { REQUIRED = 1, ALWAYS = 2, OMITTED = 4, RETAIN = 8 };

static const struct {
    const char *word;
    uint32_t flag;
    bool of_alias, with_arg, without_arg;
    int (*put)(struct reader *r, struct options *o, const char *arg);
} options[] = {
    {"required", REQUIRED, false, false, true, NULL}, {"always", ALWAYS, false, false, true, NULL},
    {"omitted", OMITTED, false, false, true, NULL},   {"retain", RETAIN, false, false, true, NULL},
    {"default", 0, false, true, false, put_default},  {"enum", 0, true, true, false, put_enum},
    {"atomic", 0, true, false, true, put_atomic},     {"set", 0, true, false, true, put_set},
    {"keys", 0, true, true, false, put_keys},         {"patch", 0, false, true, true, put_patch},
    {"merge", 0, false, true, false, put_merge},      {"in", 0, false, true, false, put_in},
};

static int read_option(struct reader *r, struct options *o) {
    const char *word = take_word(r, " =");
    bool has_arg = accept_char(r, '=');
    const char *arg = has_arg ? take_word(r, " ") : "";

    for (size_t i = 0; i < SL_LEN(options); i++) {
        if (strcmp(options[i].word, word) != 0)
            continue;
        if (!o->field && !options[i].of_alias)
            return FAULT(r, SL_EINVAL, "'%s' is not for aliases", word);
        if (has_arg ? !options[i].with_arg || !*arg : !options[i].without_arg)
            return FAULT(r, SL_EINVAL, "'%s' %s", word,
                         has_arg ? "has no such value" : "needs a value");
        o->flags |= options[i].flag;
        return options[i].put ? options[i].put(r, o, arg) : 0;
    }
    return FAULT(r, SL_EINVAL, "'%.100s' is no option", word);
}

/* The rest of a line: type, options and documentation. */
static int read_rest(struct reader *r, struct options *o, const char **ret_doc, uint32_t *ret_len) {
    *ret_doc = "";
    *ret_len = 0;
    skip_blanks(r);
    int e = read_type(r, 0, o->schema, &o->own);
    if (e < 0)
        return e;
    if (accept_char(r, '?') && o->field)
        o->field->pointer = true;
    for (skip_blanks(r); r->at < r->end; skip_blanks(r)) {
        if (accept_char(r, '|')) {
            skip_blanks(r);
            *ret_doc = r->at;
            *ret_len = (uint32_t)(r->end - r->at);
            return 0;
        }
        e = read_option(r, o);
        if (e < 0)
            return e;
    }
    return 0;
}

/* ---- lines ---- */

static int read_name(struct reader *r, const char **ret) {
    *ret = take_word(r, " :");
    return is_name(*ret) ? 0 : FAULT(r, SL_EINVAL, "'%.100s' is no name", *ret);
}

static int read_field(struct reader *r) {
    struct sl_schema_field f = {0};
    struct options o = {.field = &f, .schema = &f.schema};

    skip_blanks(r);
    if (!r->type)
        return FAULT(r, SL_EINVAL, "a field belongs to a type or kind");
    int e = read_name(r, &f.name);
    if (e < 0)
        return e;
    if (!accept_char(r, ':'))
        return FAULT(r, SL_EINVAL, "':' and a type are missing after %s", f.name);
    e = read_rest(r, &o, &f.doc, &f.doc_len);
    if (e < 0)
        return e;
    if (r->fields.n == SL_TYPES_MAX_FIELDS)
        return FAULT(r, SL_ELIMIT, "more than %u fields", SL_TYPES_MAX_FIELDS);
    f.required = o.flags & REQUIRED;
    f.always = o.flags & (REQUIRED | ALWAYS) && !(o.flags & OMITTED);
    f.retain_keys = o.flags & RETAIN;
    *sl_vec_push(&r->fields) = f;
    return 0;
}

static int by_field_name(const void *a, const void *b) {
    const struct sl_schema_field *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Fields of every object of the API, unless its own fields override them. */
static int add_common(struct reader *r) {
    static const char *const common[] = {
        "apiVersion: string | " SL_DOC_API_VERSION,
        "kind: string | " SL_DOC_KIND,
        "metadata: meta/v1.ObjectMeta always | " SL_DOC_METADATA,
    };
    const char *at = r->at, *end = r->end;
    int e = 0;

    for (size_t i = 0; i < SL_LEN(common) && e >= 0; i++) {
        size_t len = strcspn(common[i], ":");
        bool there = false;
        for (uint32_t f = 0; f < r->fields.n; f++)
            there |= strncmp(r->fields.v[f].name, common[i], len) == 0 && !r->fields.v[f].name[len];
        r->at = common[i];
        r->end = common[i] + strlen(common[i]);
        if (!there)
            e = read_field(r);
    }
    r->at = at;
    r->end = end;
    return e;
}

/* The fields are all there. */
static int end_type(struct reader *r) {
    if (!r->type)
        return 0;
    int e = r->type->group ? add_common(r) : 0;
    if (e < 0)
        return e;
    if (r->fields.n > 0)
        qsort(r->fields.v, r->fields.n, sizeof(*r->fields.v), by_field_name);
    for (uint32_t i = 1; i < r->fields.n; i++)
        if (strcmp(r->fields.v[i - 1].name, r->fields.v[i].name) == 0)
            return FAULT(r, SL_EEXIST, "above, %s stands twice", r->fields.v[i].name);
    struct sl_schema_field *f =
        sl_arena_alloc0(&r->set->arena, r->fields.n, sizeof(struct sl_schema_field));
    if (r->fields.n > 0)
        memcpy(f, r->fields.v, r->fields.n * sizeof(*f));
    r->type->fields = f;
    r->type->n_fields = r->fields.n;
    sl_schema_finish(r->type, &r->set->arena);
    r->type = NULL;
    sl_vec_clear(&r->fields);
    return 0;
}

static int define(struct reader *r, const char *name, struct sl_schema **ret) {
    struct schema_types_entry *e =
        entry_of(r, sl_arena_printf(&r->set->arena, "%s.%s", r->group_version, name));

    if (!e)
        return FAULT(r, SL_ELIMIT, "more than %u types", SL_TYPES_MAX);
    if (e->defined)
        return FAULT(r, SL_EEXIST, "%s is defined already", e->key);
    e->defined = true;
    *ret = e->schema;
    return 0;
}

static int read_package(struct reader *r) {
    skip_blanks(r);
    r->group_version = take_word(r, " ");
    skip_blanks(r);
    r->package = take_word(r, " ");
    const char *slash = strchr(r->group_version, '/');
    if (!slash || slash == r->group_version || !is_name(slash + 1) || !*r->package ||
        strlen(r->package) > MAX_NAME || strlen(r->group_version) > MAX_NAME)
        return FAULT(r, SL_EINVAL, "expected: package GROUP/VERSION NAME");
    r->version = slash + 1;
    r->group =
        sl_arena_strndup(&r->set->arena, r->group_version, (size_t)(slash - r->group_version));
    if (strcmp(r->group, "core") == 0)
        r->group = "";
    return 0;
}

static int read_alias(struct reader *r) {
    struct sl_schema *s = NULL;
    const struct sl_schema *of = NULL;
    struct options o = {.schema = &of};
    const char *name, *doc;
    uint32_t doc_len;

    skip_blanks(r);
    int e = read_name(r, &name);
    if (e < 0)
        return e;
    if (!accept_char(r, ':'))
        return FAULT(r, SL_EINVAL, "':' and a type are missing after %s", name);
    e = read_rest(r, &o, &doc, &doc_len);
    if (e < 0)
        return e;
    if (!of->go && !o.own) /* what is only referred to so far cannot be copied */
        return FAULT(r, SL_EINVAL, "%s may stand for a text, list or map", name);
    e = define(r, name, &s);
    if (e < 0)
        return e;
    sl_assert(s);
    *s = *of;
    s->doc = doc;
    s->doc_len = doc_len;
    s->go = sl_arena_printf(&r->set->arena, "%s.%s", r->version, name);
    return 0;
}

static int read_object(struct reader *r, bool kind) {
    const char *name;

    skip_blanks(r);
    int e = read_name(r, &name);
    if (e < 0)
        return e;
    skip_blanks(r);
    const char *how = take_word(r, " :");
    bool atomic = strcmp(how, "atomic") == 0, open = strcmp(how, "open") == 0;
    if (*how && !atomic && !open)
        return FAULT(r, SL_EINVAL, "expected: type NAME [atomic|open]: WORDS");
    if (!accept_char(r, ':'))
        return FAULT(r, SL_EINVAL, "':' is missing after %s", name);
    e = define(r, name, &r->type);
    if (e < 0)
        return e;
    skip_blanks(r);
    *r->type = (struct sl_schema){
        .type = SL_T_OBJECT,
        .merge = atomic ? SL_MERGE_ATOMIC : SL_MERGE_DEEP,
        .keeps_unknown = open,
        .name = sl_arena_printf(&r->set->arena, "%s.%s", r->package, name),
        .go = sl_arena_printf(&r->set->arena, "%s.%s", r->version, name),
        .doc = r->at,
        .doc_len = (uint32_t)(r->end - r->at),
        .group = kind ? r->group : NULL,
        .version = kind ? r->version : NULL,
    };
    r->at = r->end;
    return 0;
}

static int read_kind(struct reader *r) {
    return read_object(r, true);
}

static int read_type_line(struct reader *r) {
    return read_object(r, false);
}

static const struct {
    const char *word;
    int (*read)(struct reader *r);
} heads[] = {
    {"package", read_package},
    {"type", read_type_line},
    {"kind", read_kind},
    {"alias", read_alias},
};

static int read_line(struct reader *r) {
    if (r->at == r->end || *r->at == '#')
        return 0;
    if (*r->at == ' ')
        return read_field(r);
    const char *word = take_word(r, " ");
    for (size_t i = 0; i < SL_LEN(heads); i++) {
        if (strcmp(heads[i].word, word) != 0)
            continue;
        if (!r->group_version == (heads[i].read != read_package))
            return FAULT(r, SL_EINVAL, "a text begins with one line 'package'");
        int e = end_type(r);
        return e < 0 ? e : heads[i].read(r);
    }
    return FAULT(r, SL_EINVAL, "'%.100s' is not how a line begins", word);
}

/* ---- the whole ---- */

int sl_schemas_read(struct sl_schemas *set, const char *text, size_t len, const char *from,
                    struct sl_err *err) {
    struct reader r = {.set = set, .err = err, .from = sl_arena_strdup(&set->arena, from)};
    const char *end = text + len;
    int e = 0;

    if (len > SL_TYPES_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes", from, SL_TYPES_MAX_BYTES);
    if (memchr(text, '\0', len))
        return sl_err_set(err, SL_EINVAL, "%s: a zero byte", from);
    while (text < end && e >= 0) {
        r.line++;
        r.at = text;
        r.end = memchr(text, '\n', (size_t)(end - text));
        text = r.end ? r.end + 1 : end;
        r.end = r.end ? r.end : end;
        while (r.end > r.at && r.end[-1] == ' ')
            r.end--;
        e = read_line(&r);
    }
    if (e >= 0)
        e = end_type(&r);
    sl_vec_free(&r.fields);
    return e;
}
