/* SPDX-License-Identifier: Apache-2.0 */
/* CustomResourceDefinitions on creation and update: defaults, and validation with kube-apiserver's
 * messages. */
#include <string.h>

#include "cluster/apiserver/crd/crd_int.h"
#include "cluster/apiserver/kinds/words.h"
#include "cluster/apiserver/rest/subresource.h"
#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/json/mutable.h"

static void crd_defaults(struct api_change *c) {
    yyjson_mut_val *names = sl_json_mut_obj(c->doc, c->object, "spec.names");
    const char *kind = sl_json_mut_str(names, "kind");
    char *low = sl_arena_strdup(c->arena, kind);

    for (char *p = low; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    if (*kind) {
        sl_json_mut_default_str(c->doc, names, "singular", low);
        sl_json_mut_default_str(c->doc, names, "listKind",
                                sl_arena_printf(c->arena, "%sList", kind));
    }
    sl_json_mut_default_str(c->doc, sl_json_mut_obj(c->doc, c->object, "spec.conversion"),
                            "strategy", "None");
}

static void add_condition(struct api_change *c, yyjson_mut_val *list, const char *type,
                          const char *reason, const char *text) {
    yyjson_mut_val *o = yyjson_mut_arr_add_obj(c->doc, list);
    char now[SL_STAMP_TEXT];

    yyjson_mut_obj_add_str(c->doc, o, "type", type);
    yyjson_mut_obj_add_str(c->doc, o, "status", "True");
    yyjson_mut_obj_add_strcpy(c->doc, o, "lastTransitionTime", sl_stamp(c->now, now));
    yyjson_mut_obj_add_str(c->doc, o, "reason", reason);
    yyjson_mut_obj_add_str(c->doc, o, "message", text);
}

static const char *storage_version(yyjson_mut_val *object) {
    size_t i, n;
    yyjson_mut_val *v;

    yyjson_mut_arr_foreach (sl_json_mut_at(object, "spec.versions"), i, n, v) {
        if (sl_json_mut_bool(v, "storage", false))
            return sl_json_mut_str(v, "name");
    }
    return "";
}

/* Names are taken, and the kind is served, as soon as the definition is there. */
static void crd_prepare(struct api_change *c) {
    yyjson_mut_val *status, *list, *v;
    const char *storage = storage_version(c->object);
    bool known = false;
    size_t i, n;

    if (strcmp(c->subresource, "status") == 0)
        return;
    status = sl_json_mut_obj(c->doc, c->object, "status");
    if (!status)
        return;
    if (!sl_json_mut_get(status, "conditions")) {
        list = yyjson_mut_obj_add_arr(c->doc, status, "conditions");
        add_condition(c, list, "NamesAccepted", "NoConflicts", "no conflicts found");
        add_condition(c, list, "Established", "InitialNamesAccepted",
                      "the initial names have been accepted");
    }
    sl_json_mut_set(c->doc, status, "acceptedNames",
                    yyjson_mut_val_mut_copy(c->doc, sl_json_mut_at(c->object, "spec.names")));
    list = sl_json_mut_get(status, "storedVersions");
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(c->doc);
        sl_json_mut_set(c->doc, status, "storedVersions", list);
    }
    yyjson_mut_arr_foreach (list, i, n, v) {
        known = known || yyjson_mut_equals_str(v, storage);
    }
    if (!known)
        yyjson_mut_arr_add_strcpy(c->doc, list, storage);
}

static void crd_deleting(struct api_change *c) {
    yyjson_mut_val *list = sl_json_mut_at(c->object, "status.conditions"),
                   *finalizers = yyjson_mut_arr(c->doc);

    yyjson_mut_arr_add_str(c->doc, finalizers, SL_CRD_FINALIZER);
    sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "metadata"), "finalizers",
                    finalizers);
    if (yyjson_mut_is_arr(list))
        add_condition(c, list, "Terminating", "InstanceDeletionPending",
                      "CustomResourceDefinition marked for deletion; CustomResource deletion will "
                      "begin soon");
    sl_json_mut_set(c->doc, sl_json_mut_get(c->object, "metadata"), "deletionGracePeriodSeconds",
                    NULL);
    sl_json_mut_keep(c->doc, sl_json_mut_get(c->object, "metadata"), "generation",
                     sl_json_get(c->old, "metadata"));
}

/* It stays until its objects have gone: the first deletion marks it, and then the finalizer holds
 * it. */
static bool crd_holds(yyjson_val *object) {
    return !sl_json_at(object, "metadata.deletionTimestamp");
}

/* ---- rules ---- */

static void check_names(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *names) {
    const char *kind = sl_json_str(names, "kind"), *list_kind = sl_json_str(names, "listKind");
    size_t i, n;
    yyjson_val *v;

    api_word_check_at(e, at, names, "plural", api_word_label_1035, true);
    api_word_check_at(e, at, names, "singular", api_word_label_1035, false);
    if (*kind == '\0')
        sl_field_required(e, SL_PATH(at, "kind"), "");
    else if (!((*kind >= 'a' && *kind <= 'z') || (*kind >= 'A' && *kind <= 'Z')) ||
             strspn(kind, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") !=
                 strlen(kind))
        sl_field_invalid(e, SL_PATH(at, "kind"), sl_field_value_str(kind),
                         "may have mixed case, but should otherwise match: a DNS-1035 label must "
                         "consist of lower case "
                         "alphanumeric characters or '-', start with an alphabetic character, and "
                         "end with an alphanumeric "
                         "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
                         "'[a-z]([-a-z0-9]*[a-z0-9])?')");
    if (*kind && strcmp(kind, list_kind) == 0)
        sl_field_invalid(e, SL_PATH(at, "listKind"), sl_field_value_str(list_kind),
                         "kind and listKind may not be the same");
    yyjson_arr_foreach (sl_json_get(names, "shortNames"), i, n, v) {
        api_word_check_of(e, SL_PATH_AT(SL_PATH(at, "shortNames"), i), v, api_word_label_1035);
    }
}

#define TYPES "must be one of boolean,date,integer,number,string"

static void check_columns(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *columns) {
    static const char *const types[] = {"boolean", "date", "integer", "number", "string"};
    static const char *const formats[] = {"byte",  "date",  "date-time", "double",
                                          "float", "int32", "int64",     "password"};
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (columns, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(at, i);
        const char *path = sl_json_str(c, "jsonPath"), *type = sl_json_str(c, "type");
        const char *format = sl_json_str(c, "format");
        bool known = false;

        if (*sl_json_str(c, "name") == '\0')
            sl_field_required(e, SL_PATH(c_at, "name"), "");
        for (size_t t = 0; t < SL_LEN(types); t++)
            known = known || strcmp(type, types[t]) == 0;
        if (!*type)
            sl_field_required(e, SL_PATH(c_at, "type"), TYPES);
        else if (!known)
            sl_field_invalid(e, SL_PATH(c_at, "type"), sl_field_value_str(type), TYPES);
        known = !*format;
        for (size_t f = 0; f < SL_LEN(formats); f++)
            known = known || strcmp(format, formats[f]) == 0;
        if (!known)
            sl_field_invalid(
                e, SL_PATH(c_at, "format"), sl_field_value_str(format),
                "must be one of byte,date,date-time,double,float,int32,int64,password");
        if (*path == '\0')
            sl_field_required(e, SL_PATH(c_at, "JSONPath"), "");
        else if (*path != '.')
            sl_field_invalid(e, SL_PATH(c_at, "JSONPath"), sl_field_value_str(path),
                             "must be a simple json path starting with .");
    }
}

static void check_scale(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *scale) {
    static const struct {
        const char *field, *root, *other, *words;
        bool required;
    } paths[] = {
        {"specReplicasPath", ".spec.", ".spec.", ".spec", true},
        {"statusReplicasPath", ".status.", ".status.", ".status", true},
        {"labelSelectorPath", ".spec.", ".status.", "either .spec or .status", false},
    };

    for (size_t i = 0; scale && i < SL_LEN(paths); i++) {
        const char *s = sl_json_str(scale, paths[i].field);
        if (*s == '\0') {
            if (paths[i].required)
                sl_field_required(e, SL_PATH(at, paths[i].field), "");
        } else if (strlen(s) > SL_SCALE_PATH_MAX) {
            sl_field_invalid(e, SL_PATH(at, paths[i].field), sl_field_value_none(),
                             "must have at most %u bytes", SL_SCALE_PATH_MAX);
        } else if (*s != '.') {
            sl_field_invalid(e, SL_PATH(at, paths[i].field), sl_field_value_str(s),
                             "must be a simple json path starting with .");
        } else if (strncmp(s, paths[i].root, strlen(paths[i].root)) != 0 &&
                   strncmp(s, paths[i].other, strlen(paths[i].other)) != 0) {
            sl_field_invalid(e, SL_PATH(at, paths[i].field), sl_field_value_str(s),
                             "should be a json path under %s", paths[i].words);
        }
    }
}

#define SELECTABLE_MAX 8u

/* What a path of fields leads to, found as cel.ValidFieldPath of kube-apiserver does; NULL:
 * nothing, and *ret_why has the reason, with the rest of the path in *ret_rest. */
static yyjson_val *selected(yyjson_val *schema, const char *path, const char **ret_why,
                            const char **ret_rest) {
    *ret_rest = "";
    while (*path) {
        yyjson_val *fields = sl_json_get(schema, "properties"),
                   *others = sl_json_get(schema, "additionalProperties");
        if (*path == '[') {
            *ret_why = "array notation is not allowed";
            return NULL;
        }
        if (*path != '.') {
            *ret_why = "expected [ or . but got: ";
            *ret_rest = path;
            return NULL;
        }
        size_t len = strcspn(++path, ".[]");
        if (!*path) {
            *ret_why = "unexpected end of JSON path";
            return NULL;
        }
        len += len == 0; /* the mark itself is the name */
        schema = sl_json_size(fields) ? yyjson_obj_getn(fields, path, len) : others;
        if (!yyjson_is_obj(schema)) {
            *ret_why = "does not refer to a valid field";
            return NULL;
        }
        path += len;
    }
    return schema;
}

static void check_selectable(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                             yyjson_val *schema) {
    static const char *const types[] = {"string", "boolean", "integer"};
    struct sl_wordset seen = {0};
    yyjson_val *f, *found;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, f) {
        const struct sl_path *f_at = SL_PATH(SL_PATH_AT(at, i), "jsonPath");
        const char *path = sl_json_str(f, "jsonPath"), *why, *rest;
        if (!*path) {
            sl_field_required(e, f_at, "");
            continue;
        }
        if (!(found = selected(schema, path, &why, &rest))) {
            sl_field_invalid(e, f_at, sl_field_value_str(path), "is an invalid path: %s%.*s", why,
                             (int)strcspn(rest, ".[]"), rest);
            continue;
        }
        if (strncmp(path, ".metadata", 9) == 0 && strchr(".", path[9]))
            sl_field_invalid(e, f_at, sl_field_value_str(path),
                             "must not point to fields in metadata");
        const char *type = sl_json_str(found, "type");
        if (strcmp(type, types[0]) != 0 && strcmp(type, types[1]) != 0 &&
            strcmp(type, types[2]) != 0)
            sl_field_invalid(e, f_at, sl_field_value_str(path),
                             "must point to a field of type string, boolean or integer. Enum "
                             "string fields and strings with formats are allowed.");
        if (!sl_wordset_add(&seen, path))
            sl_field_duplicate(e, f_at, sl_field_value_str(path), "");
    }
    if (seen.words.n > SELECTABLE_MAX)
        sl_field_too_many(e, at, seen.words.n, SELECTABLE_MAX);
    sl_wordset_done(&seen);
}

static void check_versions(struct sl_field_errs *e, const struct sl_path *at,
                           yyjson_val *versions) {
    uint32_t stored = 0;
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(versions) == 0)
        sl_field_required(e, at, "must have at least one version");
    yyjson_arr_foreach (versions, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(at, i);
        const struct sl_path *top =
            sl_json_size(versions) == 1 ? SL_PATH(NULL, "spec") : v_at; /* see make_version */
        const char *name = sl_json_str(v, "name");

        stored += sl_json_bool(v, "storage", false);
        api_word_check_at(e, v_at, v, "name", api_word_label_1035, true);
        if (sl_json_find(versions, "name", name) != v)
            sl_field_invalid(e, at, sl_field_value_str(name), "must contain unique version names");
        if (*sl_json_str(v, "deprecationWarning") && !sl_json_bool(v, "deprecated", false))
            sl_field_invalid(e, SL_PATH(v_at, "deprecationWarning"),
                             sl_field_value_str(sl_json_str(v, "deprecationWarning")),
                             "can only be set for deprecated versions");
        check_columns(e, SL_PATH(top, "additionalPrinterColumns"),
                      sl_json_get(v, "additionalPrinterColumns"));
        check_scale(e, SL_PATH(SL_PATH(top, "subresources"), "scale"),
                    sl_json_at(v, "subresources.scale"));
        check_selectable(e, SL_PATH(top, "selectableFields"), sl_json_get(v, "selectableFields"),
                         sl_json_at(v, "schema.openAPIV3Schema"));
    }
    if (sl_json_size(versions) && stored != 1)
        sl_field_invalid(e, at, sl_field_value_json(versions),
                         "must have exactly one version marked as storage version");
}

/* May an object be asked for in another version than it is stored in? 'stored': those in which
 * there may be objects. */
static bool needs_conversion(yyjson_val *versions, yyjson_val *stored) {
    const char *storage = "";
    bool needed = false;
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (versions, i, n, v) {
        if (sl_json_bool(v, "storage", false))
            storage = sl_json_str(v, "name");
        needed = needed || sl_json_bool(v, "served", false) != sl_json_bool(v, "storage", false);
    }
    yyjson_arr_foreach (stored, i, n, v) {
        needed = needed || strcmp(sl_json_text(v), storage) != 0;
    }
    return needed;
}

/* A definition of ours converts in process; for others the versions differ in name only. */
static void check_conversion(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                             yyjson_val *stored) {
    static const char *const words[] = {"None", "Webhook", NULL};
    yyjson_val *conversion = sl_json_get(spec, "conversion");

    api_check_one_of(e, at, conversion, "strategy", words, true);
    if (strcmp(sl_json_str(conversion, "strategy"), "Webhook") == 0 &&
        needs_conversion(sl_json_get(spec, "versions"), stored) &&
        strcmp(sl_json_str(spec, "group"), "kueue.x-k8s.io") != 0)
        sl_field_invalid(
            e, SL_PATH(at, "strategy"), sl_field_value_str("Webhook"),
            "conversion by webhooks is not offered by this server: use None, or serve one version "
            "alone, which is the stored one");
}

static void crd_validate(struct api_change *c, yyjson_val *object) {
    static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
    static const char *const fixed[] = {"group", "scope"}, *const fixed_names[] = {"plural",
                                                                                   "kind"};
    const struct sl_path *at = SL_PATH(NULL, "spec"), *names_at = SL_PATH(at, "names");
    yyjson_val *spec = sl_json_get(object, "spec"), *names = sl_json_get(spec, "names"),
               *old = sl_json_get(c->old, "spec");
    const char *group = sl_json_str(spec, "group"), *plural = sl_json_str(names, "plural"),
               *name = sl_json_str(object, "metadata.name");
    const struct api_kind *there = api_kind_find(c->server, group, plural);
    struct sl_field_errs *e = c->errs;

    if (strcmp(c->subresource, "status") == 0 || sl_json_at(c->old, "metadata.deletionTimestamp"))
        return;
    if (strcmp(name, sl_arena_printf(c->arena, "%s.%s", plural, group)) != 0)
        sl_field_invalid(e, SL_PATH(NULL, "metadata.name"), sl_field_value_str(name),
                         "must be spec.names.plural+\".\"+spec.group");
    api_word_check_at(e, at, spec, "group", sl_syntax_subdomain, true);
    if (*group && !strchr(group, '.'))
        sl_field_invalid(e, SL_PATH(at, "group"), sl_field_value_str(group),
                         "should be a domain with at least one dot");
    api_check_one_of(e, at, spec, "scope", scopes, true);
    check_versions(e, SL_PATH(at, "versions"), sl_json_get(spec, "versions"));
    check_names(e, names_at, names);
    check_conversion(e, SL_PATH(at, "conversion"), spec,
                     sl_json_at(c->old, "status.storedVersions"));
    if (there && !there->crd)
        sl_field_invalid(e, SL_PATH(names_at, "plural"), sl_field_value_str(plural),
                         "is a built-in kind of this group");
    for (size_t i = 0; i < SL_LEN(fixed) && old; i++)
        sl_field_immutable(e, SL_PATH(at, fixed[i]), sl_json_get(spec, fixed[i]),
                           sl_json_get(old, fixed[i]));
    for (size_t i = 0; i < SL_LEN(fixed_names) && old; i++)
        sl_field_immutable(e, SL_PATH(names_at, fixed_names[i]), sl_json_get(names, fixed_names[i]),
                           sl_json_at(old, i ? "names.kind" : "names.plural"));
    if (e->n == 0) /* checks of schemas make sense only now */
        api_crd_free(api_crd_new(c->server, object, e));
}

const struct api_strategy api_crd_strategy = {
    .prepare = crd_prepare,
    .defaults = crd_defaults,
    .validate = crd_validate,
    .deleting = crd_deleting,
    .holds = crd_holds,
    .after = api_crd_after,
};
