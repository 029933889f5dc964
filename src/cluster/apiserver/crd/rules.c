/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/crd/rules.h"

#include <string.h>

#include "cluster/apiserver/cel/cel.h"
#include "cluster/apiserver/kinds/kind.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define SCHEMA_DEPTH 64u
#define RULES_MAX 256u    /* of one place */
#define MESSAGE_MAX 5120u /* bytes of one that is computed */

enum { SELF, OLD_SELF };
static const char *const reasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                      "FieldValueInvalid", "FieldValueRequired"};

struct rule {
    const struct api_cel *cel, *computed; /* computed: the message; NULL */
    const char *message, *reason, *field; /* field: "" or "a.b" */
    const char *shown;                    /* the message, or the rule, in errors of evaluation */
    bool optional_old;
};

struct api_rules {
    const struct rule *rules;
    uint32_t n_rules;
    bool scalar;      /* its value is part of the error */
    const char *type; /* of the schema */
    /* What is below, where there are rules. */
    const char *const *names;
    const struct api_rules *const *fields;
    uint32_t n_fields;
    const struct api_rules *items, *others; /* of a list, of a map */
    const char *const *keys;                /* by which items are the same; NULL: by nothing */
    uint32_t n_keys;
    bool atomic; /* what is below is not compared with what was there */
};

/* ---- reading ---- */

struct reading {
    struct sl_arena *arena;
    struct sl_field_errs *errs;
    uint32_t depth;
    const struct sl_path *uncorrelated; /* what is below it has no former self; NULL: nowhere */
};

static const char *path_text(struct sl_arena *a, const struct sl_path *p) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(1024);

    sl_path_print(p, &b);
    return sl_arena_strdup(a, sl_buf_str(&b));
}

static const char *trimmed(struct sl_arena *a, const char *s) {
    static const char blanks[] = " \t\n\v\f\r";
    size_t n;

    s += strspn(s, blanks);
    for (n = strlen(s); n && strchr(blanks, s[n - 1]);)
        n--;
    return sl_arena_strndup(a, s, n);
}

/* The next name of a fieldPath: .a or ['a']; *p is moved behind it. NULL: it is none. */
static const char *next_name(struct sl_arena *a, const char **p) {
    static const char from[] = "abfnrtv'\\", into[] = "\a\b\f\n\r\t\v'\\";
    char *out = sl_arena_alloc(a, strlen(*p) + 1);
    size_t n = 0;

    if (**p == '.') {
        n = strcspn(*p + 1, ".[]");
        const char *name = sl_arena_strndup(a, *p + 1, n);
        *p += 1 + n;
        return n ? name : NULL;
    }
    if (strncmp(*p, "['", 2) != 0)
        return NULL;
    for (*p += 2; **p && **p != '\''; (*p)++) {
        const char *at = **p == '\\' && (*p)[1] ? strchr(from, *++*p) : NULL;
        if (**p == '\\' && !at)
            return NULL;
        out[n++] = at ? into[at - from] : **p;
    }
    out[n] = '\0';
    if (strncmp(*p, "']", 2) != 0)
        return NULL;
    *p += 2;
    return out;
}

/* A path of fields and keys below a schema, as messages show it; NULL: there is no such one. */
static const char *path_below(struct sl_arena *a, yyjson_val *schema, const char *path) {
    const char *shown = "";

    while (*path) {
        yyjson_val *fields = sl_json_get(schema, "properties"),
                   *others = sl_json_get(schema, "additionalProperties");
        const char *name = next_name(a, &path);
        if (!name)
            return NULL;
        bool named = sl_json_size(fields) > 0;
        schema = named ? yyjson_obj_get(fields, name) : others;
        if (!yyjson_is_obj(schema))
            return NULL;
        shown = named ? sl_arena_printf(a, "%s%s%s", shown, *shown ? "." : "", name)
                      : sl_arena_printf(a, "%s[%s]", shown, name);
    }
    return shown;
}

/* What has to hold of a rule besides its expressions; false: it has an error. */
static bool check_words(struct reading *r, yyjson_val *schema, yyjson_val *v,
                        const struct sl_path *at) {
    const char *rule = trimmed(r->arena, sl_json_str(v, "rule")), *raw = sl_json_str(v, "message"),
               *message = trimmed(r->arena, raw), *computed = sl_json_str(v, "messageExpression"),
               *reason = sl_json_str(v, "reason"), *field = sl_json_str(v, "fieldPath");
    const uint32_t before = r->errs->n;
    bool known = !*reason;

    if (!*rule)
        sl_field_required(r->errs, SL_PATH(at, "rule"), "rule is not specified");
    else if (*raw && !*message)
        sl_field_invalid(r->errs, SL_PATH(at, "message"), sl_field_value_str(raw),
                         "must be non-empty if specified");
    else if (strchr(message, '\n'))
        sl_field_invalid(r->errs, SL_PATH(at, "message"), sl_field_value_str(raw),
                         "must not contain line breaks");
    else if (strchr(rule, '\n') && !*message)
        sl_field_required(r->errs, SL_PATH(at, "message"),
                          "message must be specified if rule contains line breaks");
    if (*computed && !*trimmed(r->arena, computed))
        sl_field_required(r->errs, SL_PATH(at, "messageExpression"),
                          "messageExpression must be non-empty if specified");
    for (size_t i = 0; i < SL_LEN(reasons); i++)
        known = known || strcmp(reasons[i], reason) == 0;
    if (!known)
        sl_field_unsupported(r->errs, SL_PATH(at, "reason"), sl_field_value_str(reason), reasons,
                             SL_LEN(reasons));
    if (*field && !*trimmed(r->arena, field))
        sl_field_invalid(r->errs, SL_PATH(at, "fieldPath"), sl_field_value_str(field),
                         "must be non-empty if specified");
    if (strchr(field, '\n'))
        sl_field_invalid(r->errs, SL_PATH(at, "fieldPath"), sl_field_value_str(field),
                         "must not contain line breaks");
    if (*field && !path_below(r->arena, schema, field))
        sl_field_invalid(r->errs, SL_PATH(at, "fieldPath"), sl_field_value_str(field),
                         "must be a valid path");
    return r->errs->n == before;
}

static const struct api_cel *compile(struct reading *r, const char *text,
                                     const struct api_cel_env *env, enum api_cel_kind result,
                                     const struct sl_path *at) {
    const bool rule = result == T_BOOL;
    struct api_cel *cel = NULL;
    const char *why = NULL;

    if (api_cel_compile(text, env, r->arena, &cel, &why) < 0) {
        sl_field_invalid(r->errs, at, sl_field_value_str(text), "%scompilation failed: %s",
                         rule ? "" : "messageExpression ", why);
        return NULL;
    }
    const enum api_cel_kind kind = api_cel_result(cel)->kind;
    if (kind == result || (!rule && kind == T_DYN))
        return cel;
    sl_field_invalid(r->errs, at, sl_field_value_str(text), "%s",
                     rule ? "cel expression must evaluate to a bool"
                          : "messageExpression must evaluate to a string");
    return NULL;
}

static void read_rule(struct reading *r, yyjson_val *schema, const struct api_cel_type *type,
                      yyjson_val *v, const struct sl_path *at, struct api_rules *to,
                      struct rule *rule) {
    const char *text = sl_json_str(v, "rule"), *computed = sl_json_str(v, "messageExpression");
    const struct sl_path *rule_at = SL_PATH(at, "rule");
    struct api_cel_type *old = sl_arena_alloc0(r->arena, 1, sizeof(*old));
    struct api_cel_env env = {.names = {"self", "oldSelf"}, .types = {type, type}};

    if (!check_words(r, schema, v, at))
        return;
    if (type->kind == T_NONE) {
        sl_field_invalid(r->errs, rule_at, sl_field_value_str(text),
                         "failed to convert to declType for CEL validation rules");
        return;
    }
    *old = (struct api_cel_type){.kind = T_OPTIONAL, .elem = type};
    *rule = (struct rule){.optional_old = sl_json_bool(v, "optionalOldSelf", false)};
    if (rule->optional_old)
        env.types[OLD_SELF] = old;
    if (!(rule->cel = compile(r, text, &env, T_BOOL, rule_at)))
        return;
    if (*computed &&
        !(rule->computed = compile(r, computed, &env, T_STR, SL_PATH(at, "messageExpression"))))
        return;
    if (api_cel_uses(rule->cel, OLD_SELF) && r->uncorrelated)
        sl_field_invalid(r->errs, rule_at, sl_field_value_str(text),
                         "oldSelf cannot be used on the uncorrelatable portion of the schema "
                         "within %s",
                         path_text(r->arena, r->uncorrelated));
    else if (!api_cel_uses(rule->cel, OLD_SELF) && sl_json_get(v, "optionalOldSelf"))
        sl_field_invalid(r->errs, SL_PATH(at, "optionalOldSelf"),
                         sl_field_value_json(sl_json_get(v, "optionalOldSelf")),
                         "may not be set if oldSelf is not used in rule");
    const char *message = trimmed(r->arena, sl_json_str(v, "message"));
    rule->shown = *message ? message : trimmed(r->arena, text);
    rule->message = *message ? message : sl_arena_printf(r->arena, "failed rule: %s", rule->shown);
    rule->reason = sl_arena_strdup(r->arena, sl_json_str(v, "reason"));
    rule->field = path_below(r->arena, schema, sl_json_str(v, "fieldPath"));
    to->n_rules++;
}

static void read_rules(struct reading *r, yyjson_val *schema, const struct api_cel_type *type,
                       const struct sl_path *at, struct api_rules *to) {
    yyjson_val *list = sl_json_get(schema, "x-kubernetes-validations"), *v;
    struct rule *rules = sl_arena_alloc0(r->arena, sl_json_size(list) + 1, sizeof(*rules));
    size_t i, n;

    if (!sl_syntax_check_size(r->errs, at, list, RULES_MAX))
        return;
    yyjson_arr_foreach (list, i, n, v)
        read_rule(r, schema, type, v, SL_PATH_AT(at, i), to, &rules[to->n_rules]);
    to->rules = rules;
}

static const struct api_rules *read_schema(struct reading *r, yyjson_val *schema,
                                           const struct api_cel_type *type,
                                           const struct sl_path *at);

static void read_fields(struct reading *r, yyjson_val *props, const struct api_cel_type *type,
                        const struct sl_path *at, struct api_rules *to) {
    const char **names = sl_arena_alloc0(r->arena, sl_json_size(props) + 1, sizeof(*names));
    const struct api_rules **fields =
        sl_arena_alloc0(r->arena, sl_json_size(props) + 1, sizeof(struct api_rules *));
    size_t i, n;
    yyjson_val *key, *v;

    if (!yyjson_is_obj(props))
        return;
    sl_obj_foreach (props, i, n, key, v) {
        const struct api_rules *below =
            read_schema(r, v, api_cel_type_field(type, sl_json_text(key)),
                        SL_PATH_KEY(SL_PATH(at, "properties"), sl_json_text(key)));
        if (!below)
            continue;
        names[to->n_fields] = sl_arena_strdup(r->arena, sl_json_text(key));
        fields[to->n_fields++] = below;
    }
    to->names = names;
    to->fields = fields;
}

/* Of items: which have a former self? Those of a list of objects with keys. */
static const struct api_rules *read_items(struct reading *r, yyjson_val *schema,
                                          const struct api_cel_type *type,
                                          const struct sl_path *at) {
    const struct sl_path *before = r->uncorrelated;
    const bool keyed = strcmp(sl_json_str(schema, "x-kubernetes-list-type"), "map") == 0;

    if (!keyed && !before)
        r->uncorrelated = at;
    const struct api_rules *items = read_schema(
        r, sl_json_get(schema, "items"), type->kind == T_LIST ? type->elem : &api_cel_types[T_NONE],
        SL_PATH(at, "items"));
    r->uncorrelated = before;
    return items;
}

static const struct api_rules *read_schema(struct reading *r, yyjson_val *schema,
                                           const struct api_cel_type *type,
                                           const struct sl_path *at) {
    yyjson_val *keys = sl_json_get(schema, "x-kubernetes-list-map-keys"), *key;
    const struct sl_path *before = r->uncorrelated;
    struct api_rules *to;
    size_t i, n;

    if (!yyjson_is_obj(schema) || r->depth >= SCHEMA_DEPTH)
        return NULL;
    r->depth++;
    to = sl_arena_alloc0(r->arena, 1, sizeof(*to));
    to->type = sl_arena_strdup(r->arena, sl_json_str(schema, "type"));
    to->scalar = strcmp(to->type, "object") != 0 && strcmp(to->type, "array") != 0;
    read_rules(r, schema, type, SL_PATH(at, "x-kubernetes-validations"), to);
    to->atomic = strcmp(sl_json_str(schema, "x-kubernetes-map-type"), "atomic") == 0;
    if (to->atomic && !before)
        r->uncorrelated = at;
    read_fields(r, sl_json_get(schema, "properties"), type, at, to);
    to->others = read_schema(r, sl_json_get(schema, "additionalProperties"),
                             type->kind == T_MAP ? type->elem : &api_cel_types[T_NONE],
                             SL_PATH(at, "additionalProperties"));
    r->uncorrelated = before;
    to->items = read_items(r, schema, type, at);
    if (to->items && sl_json_size(keys)) {
        const char **list = sl_arena_alloc0(r->arena, sl_json_size(keys), sizeof(*list));
        yyjson_arr_foreach (keys, i, n, key) {
            list[to->n_keys++] = sl_arena_strdup(r->arena, sl_json_text(key));
        }
        to->keys = list;
    }
    r->depth--;
    return to->n_rules || to->n_fields || to->items || to->others ? to : NULL;
}

static bool has_rules(yyjson_val *schema, uint32_t depth) {
    yyjson_val *props = sl_json_get(schema, "properties"), *key, *v;
    size_t i, n;

    if (!yyjson_is_obj(schema) || depth >= SCHEMA_DEPTH)
        return false;
    if (sl_json_size(sl_json_get(schema, "x-kubernetes-validations")))
        return true;
    sl_obj_foreach (props, i, n, key, v) {
        if (has_rules(v, depth + 1))
            return true;
    }
    return has_rules(sl_json_get(schema, "items"), depth + 1) ||
           has_rules(sl_json_get(schema, "additionalProperties"), depth + 1);
}

const struct api_rules *api_rules_new(yyjson_val *schema, const struct sl_path *at,
                                      struct sl_arena *arena, struct sl_field_errs *errs) {
    struct reading r = {.arena = arena, .errs = errs};

    if (!has_rules(schema, 0))
        return NULL;
    return read_schema(&r, schema, api_cel_type_of(schema, true, arena), at);
}

/* ---- checking ---- */

struct checking {
    struct sl_field_errs *errs;
    struct api_change *change; /* for warnings; NULL: there are none */
    uint64_t budget;           /* of all rules; 0: no further rule is evaluated */
};

/* A value and what it was; what it is part of, where that is not known. */
struct pair {
    yyjson_val *now, *old;
    const struct pair *up; /* the nearest that has a former self */
    bool uncompared;       /* apiVersion and kind are the server's own */
};

#define WHERE(at_) ((at_) ? (at_) : SL_PATH(NULL, "<nil>"))

/* Has it not been touched? Then what was there may stay as wrong as it is. */
static bool is_unchanged(struct checking *c, const struct pair *p) {
    const struct pair *known = p->old ? p : p->up;
    return known && known->old && !known->uncompared &&
           sl_json_equal(known->now, known->old, &(uint64_t){0}) && c;
}

/* The message that is computed; NULL: the other one counts. */
static const char *computed_message(struct checking *c, const struct rule *rule,
                                    const struct api_cel_input *in) {
    struct sl_err err = {0};
    struct sl_text text;

    if (!rule->computed ||
        api_cel_message(rule->computed, in, &c->budget, c->errs->arena, &text, &err) < 0)
        return NULL;
    const char *message = trimmed(c->errs->arena, text.s);
    return *message && strlen(message) <= MESSAGE_MAX && !strchr(message, '\n') ? message : NULL;
}

/* ".spec.x" below the place of the rule. */
static void report_violation(struct checking *c, const struct rule *rule, const struct sl_path *at,
                             struct sl_field_value bad, const char *message,
                             struct sl_field_errs *errs) {
    const struct sl_path *where = *rule->field ? SL_PATH(at, rule->field) : WHERE(at);

    (void)c;
    if (strcmp(rule->reason, "FieldValueForbidden") == 0)
        sl_field_forbidden(errs, where, "%s", message);
    else if (strcmp(rule->reason, "FieldValueRequired") == 0)
        sl_field_required(errs, where, message);
    else if (strcmp(rule->reason, "FieldValueDuplicate") == 0)
        sl_field_duplicate(errs, where, bad, "");
    else
        sl_field_invalid(errs, where, bad, "%s", message);
}

static void report_failure(struct checking *c, const struct api_rules *r, const struct rule *rule,
                           const struct sl_path *at, const char *why) {
    const struct sl_field_value type = sl_field_value_str(r->type);

    if (strncmp(why, "no such overload", 16) == 0)
        sl_field_invalid(c->errs, WHERE(at), type,
                         "'%s': call arguments did not match a supported operator, function or "
                         "macro signature for rule: %s",
                         why, rule->shown);
    else if (strncmp(why, "operation cancelled", 19) == 0)
        sl_field_invalid(c->errs, WHERE(at), type,
                         "'%s': no further validation rules will be run due to call cost exceeds "
                         "limit for rule: %s",
                         why, rule->shown);
    else
        sl_field_invalid(c->errs, WHERE(at), type, "%s evaluating rule: %s", why, rule->shown);
}

static void check_rule(struct checking *c, const struct api_rules *r, const struct rule *rule,
                       const struct sl_path *at, const struct pair *p, struct sl_field_value bad) {
    const bool uses_old = api_cel_uses(rule->cel, OLD_SELF);
    const struct api_cel_input in = {.v = {p->now, p->old},
                                     .optional = {false, rule->optional_old}};
    struct sl_err err = {0};
    bool holds = true;

    if (uses_old && !p->old && !rule->optional_old)
        return;
    if (api_cel_holds(rule->cel, &in, &c->budget, &holds, &err) < 0) {
        report_failure(c, r, rule, at, err.text);
        return;
    }
    if (holds)
        return;
    const char *computed = computed_message(c, rule, &in);
    const char *message = computed ? computed : rule->message;
    if (uses_old || !is_unchanged(c, p)) {
        report_violation(c, rule, at, bad, message, c->errs);
    } else if (c->change) {
        struct sl_field_errs one = {.arena = c->errs->arena};
        report_violation(c, rule, at, bad, message, &one);
        for (uint32_t i = 0; i < one.n; i++)
            api_change_warn(c->change, "%s", one.text[i]);
    }
}

static void check_value(struct checking *c, const struct api_rules *r, const struct sl_path *at,
                        const struct pair *p) {
    yyjson_val *self = p->now, *old = p->old;
    struct sl_field_value bad = r->scalar ? sl_field_value_json(self) : sl_field_value_none();
    const struct pair *up = old ? p : p->up;
    size_t i, n;
    yyjson_val *key, *v;

    for (uint32_t k = 0; k < r->n_rules && c->budget; k++)
        check_rule(c, r, &r->rules[k], at, p, bad);
    if (r->atomic)
        old = NULL;
    _cleanup_(sl_json_fields_done) struct sl_json_fields now = sl_json_fields_of(self);
    _cleanup_(sl_json_fields_done) struct sl_json_fields before = sl_json_fields_of(old);
    for (uint32_t f = 0; f < r->n_fields && c->budget; f++) {
        struct sl_text name = {r->names[f], strlen(r->names[f])};
        v = sl_json_field(&now, name);
        yyjson_val *was = v ? sl_json_field(&before, name) : NULL;
        bool own =
            !p->up && (strcmp(r->names[f], "kind") == 0 || strcmp(r->names[f], "apiVersion") == 0);
        if (v && !yyjson_is_null(v))
            check_value(c, r->fields[f], SL_PATH(at, r->names[f]),
                        &(struct pair){v, yyjson_is_null(was) ? NULL : was, up, own});
    }
    if (r->items && yyjson_is_arr(self)) {
        struct sl_json_seek in_old;
        sl_json_seek_items(&in_old, old, r->keys, r->n_keys);
        yyjson_arr_foreach (self, i, n, v) {
            if (c->budget)
                check_value(c, r->items, SL_PATH_AT(at, i),
                            &(struct pair){v, sl_json_seek_item(&in_old, v), up, false});
        }
        sl_json_seek_done(&in_old);
    }
    if (r->others && yyjson_is_obj(self)) {
        sl_obj_foreach (self, i, n, key, v) {
            if (c->budget)
                check_value(
                    c, r->others, SL_PATH_KEY(at, sl_json_text(key)),
                    &(struct pair){v, sl_json_field(&before, sl_json_view(key)), up, false});
        }
    }
}

/* Types that do not fit would make nonsense of the rules. */
static bool is_blocking(const char *error) {
    static const char *const kinds[] = {": Required value", ": Too long", ": Too many",
                                        ": Invalid value: \"string\"", " in body must be of type "};
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        if (strstr(error, kinds[i]))
            return true;
    return false;
}

void api_rules_check(const struct api_rules *r, yyjson_val *object, yyjson_val *old,
                     struct api_change *change, struct sl_field_errs *errs) {
    if (!r)
        return;
    for (uint32_t i = 0; i < errs->n; i++) {
        if (is_blocking(errs->text[i])) {
            sl_field_invalid(errs, SL_PATH(NULL, "<nil>"), sl_field_value_json(NULL),
                             "some validation rules were not checked because the object was "
                             "invalid; correct the existing "
                             "errors to complete validation");
            return;
        }
    }
    struct checking c = {.errs = errs, .change = change, .budget = SL_CEL_ALL_STEPS};
    check_value(&c, r, NULL, &(struct pair){.now = object, .old = old});
    if (!c.budget)
        sl_field_invalid(errs, SL_PATH(NULL, "<nil>"), sl_field_value_json(NULL),
                         "validation failed due to running out of cost budget, no further "
                         "validation rules will be run");
}
