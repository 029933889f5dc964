/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/crd/rules.h"

#include <string.h>

#include "cluster/apiserver/cel/cel.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define SCHEMA_DEPTH 64u
#define RULES_MAX 64u /* of one place */

struct rule {
    const struct api_cel *cel;
    const char *message, *reason, *field; /* field: "" or ".a.b" */
};

struct api_rules {
    const struct rule *rules;
    uint32_t n_rules;
    bool scalar; /* its value is part of the error */
    /* What is below, where there are rules. */
    const char *const *names;
    const struct api_rules *const *fields;
    uint32_t n_fields;
    const struct api_rules *items, *others; /* of a list, of a map */
    const char *const *keys;                /* by which items are the same; NULL: by nothing */
    uint32_t n_keys;
};

/* ---- reading ---- */

struct reading {
    struct sl_arena *arena;
    struct sl_field_errs *errs;
    uint32_t depth;
};

static void read_rules(struct reading *r, yyjson_val *list, const struct sl_path *at,
                       struct api_rules *to) {
    struct rule *rules = sl_arena_alloc0(r->arena, sl_json_size(list) + 1, sizeof(*rules));
    size_t i, n;
    yyjson_val *v;

    if (!sl_syntax_check_size(r->errs, at, list, RULES_MAX))
        return;
    yyjson_arr_foreach (list, i, n, v) {
        const char *text = sl_json_str(v, "rule"), *message = sl_json_str(v, "message");
        const struct sl_path *rule_at = SL_PATH(SL_PATH_AT(at, i), "rule");
        struct api_cel *cel = NULL;
        struct sl_err err = {0};

        if (text[strspn(text, " \t\n")] == '\0') {
            sl_field_required(r->errs, rule_at, "rule is not specified");
            continue;
        }
        if (api_cel_compile(text, r->arena, &cel, &err) < 0) {
            sl_field_invalid(r->errs, rule_at, sl_field_value_str(text), "compilation failed: %s",
                             err.text);
            continue;
        }
        if (sl_json_get(v, "messageExpression") && *message == '\0')
            sl_field_invalid(
                r->errs, SL_PATH(SL_PATH_AT(at, i), "messageExpression"),
                sl_field_value_str(sl_json_str(v, "messageExpression")),
                "messages that are computed are not supported here: give a message, too");
        rules[to->n_rules++] = (struct rule){
            .cel = cel,
            .message = *message ? sl_arena_strdup(r->arena, message)
                                : sl_arena_printf(r->arena, "failed rule: %s", text),
            .reason = sl_arena_strdup(r->arena, sl_json_str(v, "reason")),
            .field = sl_arena_strdup(r->arena, sl_json_str(v, "fieldPath")),
        };
    }
    to->rules = rules;
}

static const struct api_rules *read_schema(struct reading *r, yyjson_val *schema,
                                           const struct sl_path *at);

static void read_fields(struct reading *r, yyjson_val *props, const struct sl_path *at,
                        struct api_rules *to) {
    const char **names = sl_arena_alloc0(r->arena, sl_json_size(props) + 1, sizeof(*names));
    const struct api_rules **fields =
        sl_arena_alloc0(r->arena, sl_json_size(props) + 1, sizeof(struct api_rules *));
    size_t i, n;
    yyjson_val *key, *v;

    if (!yyjson_is_obj(props))
        return;
    sl_obj_foreach (props, i, n, key, v) {
        const struct api_rules *below =
            read_schema(r, v, SL_PATH_KEY(SL_PATH(at, "properties"), sl_json_text(key)));
        if (!below)
            continue;
        names[to->n_fields] = sl_arena_strdup(r->arena, sl_json_text(key));
        fields[to->n_fields++] = below;
    }
    to->names = names;
    to->fields = fields;
}

static const struct api_rules *read_schema(struct reading *r, yyjson_val *schema,
                                           const struct sl_path *at) {
    yyjson_val *keys = sl_json_get(schema, "x-kubernetes-list-map-keys"), *key;
    const char *type = sl_json_str(schema, "type");
    struct api_rules *to;
    size_t i, n;

    if (!yyjson_is_obj(schema) || r->depth >= SCHEMA_DEPTH)
        return NULL;
    r->depth++;
    to = sl_arena_alloc0(r->arena, 1, sizeof(*to));
    to->scalar = strcmp(type, "object") != 0 && strcmp(type, "array") != 0;
    read_rules(r, sl_json_get(schema, "x-kubernetes-validations"),
               SL_PATH(at, "x-kubernetes-validations"), to);
    read_fields(r, sl_json_get(schema, "properties"), at, to);
    to->items = read_schema(r, sl_json_get(schema, "items"), SL_PATH(at, "items"));
    to->others = read_schema(r, sl_json_get(schema, "additionalProperties"),
                             SL_PATH(at, "additionalProperties"));
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

const struct api_rules *api_rules_new(yyjson_val *schema, const struct sl_path *at,
                                      struct sl_arena *arena, struct sl_field_errs *errs) {
    struct reading r = {.arena = arena, .errs = errs};
    return read_schema(&r, schema, at);
}

/* ---- checking ---- */

/* ".spec.x" below the place of the rule. */
static void report_violation(const struct rule *rule, const struct sl_path *at,
                             struct sl_field_value bad, struct sl_field_errs *errs) {
    const struct sl_path *root = at ? at : SL_PATH(NULL, "<nil>");
    const struct sl_path *where =
        *rule->field ? SL_PATH(at, rule->field + (*rule->field == '.')) : root;

    if (strcmp(rule->reason, "FieldValueForbidden") == 0)
        sl_field_forbidden(errs, where, "%s", rule->message);
    else if (strcmp(rule->reason, "FieldValueRequired") == 0)
        sl_field_required(errs, where, rule->message);
    else if (strcmp(rule->reason, "FieldValueDuplicate") == 0)
        sl_field_duplicate(errs, where, bad, "");
    else
        sl_field_invalid(errs, where, bad, "%s", rule->message);
}

struct checking {
    struct sl_field_errs *errs;
    uint64_t budget; /* of all rules; 0: no further rule is evaluated */
};

static void check_value(struct checking *c, const struct api_rules *r, const struct sl_path *at,
                        yyjson_val *self, yyjson_val *old) {
    struct sl_field_value bad = r->scalar ? sl_field_value_json(self) : sl_field_value_none();
    size_t i, n;
    yyjson_val *key, *v;

    for (uint32_t k = 0; k < r->n_rules && c->budget; k++) {
        struct sl_err err = {0};
        bool holds = true;
        if (api_cel_uses_old(r->rules[k].cel) && !old)
            continue;
        if (api_cel_holds(r->rules[k].cel, self, old, &c->budget, &holds, &err) < 0)
            sl_field_invalid(c->errs, at ? at : SL_PATH(NULL, "<nil>"), bad, "%s: %s",
                             r->rules[k].message, err.text);
        else if (!holds)
            report_violation(&r->rules[k], at, bad, c->errs);
    }
    _cleanup_(sl_json_fields_done) struct sl_json_fields now = sl_json_fields_of(self);
    _cleanup_(sl_json_fields_done) struct sl_json_fields before = sl_json_fields_of(old);
    for (uint32_t f = 0; f < r->n_fields && c->budget; f++) {
        struct sl_text name = {r->names[f], strlen(r->names[f])};
        v = sl_json_field(&now, name);
        yyjson_val *was = v ? sl_json_field(&before, name) : NULL;
        if (v && !yyjson_is_null(v))
            check_value(c, r->fields[f], SL_PATH(at, r->names[f]), v,
                        yyjson_is_null(was) ? NULL : was);
    }
    if (r->items && yyjson_is_arr(self)) {
        struct sl_json_seek in_old;
        sl_json_seek_items(&in_old, old, r->keys, r->n_keys);
        yyjson_arr_foreach (self, i, n, v) {
            if (c->budget)
                check_value(c, r->items, SL_PATH_AT(at, i), v, sl_json_seek_item(&in_old, v));
        }
        sl_json_seek_done(&in_old);
    }
    if (r->others && yyjson_is_obj(self)) {
        sl_obj_foreach (self, i, n, key, v) {
            if (c->budget)
                check_value(c, r->others, SL_PATH_KEY(at, sl_json_text(key)), v,
                            sl_json_field(&before, sl_json_view(key)));
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
                     struct sl_field_errs *errs) {
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
    struct checking c = {.errs = errs, .budget = SL_CEL_ALL_STEPS};
    check_value(&c, r, NULL, object, old);
    if (!c.budget)
        sl_field_invalid(errs, SL_PATH(NULL, "<nil>"), sl_field_value_json(NULL),
                         "validation failed due to running out of cost budget, no further "
                         "validation rules will be run");
}
