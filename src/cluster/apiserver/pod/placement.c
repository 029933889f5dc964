/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of scheduling constraints of pods: selectors, tolerations, affinity, spread. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

static bool requirement_takes(yyjson_val *r, yyjson_val *labels) {
    const char *op = sl_json_str(r, "operator");
    yyjson_val *have = yyjson_obj_get(labels, sl_json_str(r, "key")), *v;
    bool in = false;
    size_t i, n;

    yyjson_arr_foreach (sl_json_get(r, "values"), i, n, v) {
        in = in || (have && sl_json_equal(v, have, NULL));
    }
    if (strcmp(op, "In") == 0)
        return in;
    if (strcmp(op, "NotIn") == 0)
        return !in;
    return (strcmp(op, "Exists") == 0) == (have != NULL);
}

bool api_selector_takes(yyjson_val *selector, yyjson_val *labels) {
    yyjson_val *map = sl_json_get(selector, "matchLabels"), *key, *v;
    size_t i, n;

    if (map) {
        _cleanup_(sl_json_fields_done) struct sl_json_fields in_labels = sl_json_fields_of(labels);
        sl_obj_foreach (map, i, n, key, v) {
            yyjson_val *have = sl_json_field(&in_labels, sl_json_view(key));
            if (!have || !sl_json_equal(have, v, NULL))
                return false;
        }
    }
    yyjson_arr_foreach (sl_json_get(selector, "matchExpressions"), i, n, v) {
        if (!requirement_takes(v, labels))
            return false;
    }
    return true;
}

void api_taint_effect_check(struct sl_field_errs *e, const struct sl_path *at, const char *effect,
                            bool may_be_empty) {
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

    for (size_t i = 0; i < SL_LEN(effects); i++)
        if (strcmp(effect, effects[i]) == 0)
            return;
    if (*effect == '\0' && may_be_empty)
        return;
    if (*effect == '\0')
        sl_field_required(e, at, "");
    else
        sl_field_unsupported(e, at, sl_field_value_str(effect), effects, SL_LEN(effects));
}

static void toleration(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *t) {
    static const char *const operators[] = {"Equal", "Exists"};
    const char *key = sl_json_str(t, "key"), *op = sl_json_str(t, "operator"),
               *value = sl_json_str(t, "value");
    const struct sl_path *op_at = SL_PATH(at, "operator"), *effect_at = SL_PATH(at, "effect");
    const char *effect = sl_json_str(t, "effect");

    if (*key)
        sl_syntax_check_label_key(e, SL_PATH(at, "key"), key, strlen(key));
    else if (strcmp(op, "Exists") != 0)
        sl_field_invalid(e, op_at, sl_field_value_str(op),
                         "operator must be Exists when `key` is empty, which means \"match all "
                         "values and all keys\"");
    if (sl_json_get(t, "tolerationSeconds") && strcmp(effect, "NoExecute") != 0)
        sl_field_invalid(e, effect_at, sl_field_value_str(effect),
                         "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (*op == '\0' || strcmp(op, "Equal") == 0) {
        struct sl_syntax_errors f = sl_syntax_label_value(value, strlen(value));
        if (f.n)
            sl_field_invalid(e, op_at, sl_field_value_str(value), "%s%s%s", f.v[0],
                             f.n > 1 ? ";" : "", f.n > 1 ? f.v[1] : "");
    } else if (strcmp(op, "Exists") == 0) {
        if (*value)
            sl_field_invalid(e, op_at, sl_field_value_str(value),
                             "value must be empty when `operator` is 'Exists'");
    } else {
        sl_field_unsupported(e, op_at, sl_field_value_str(op), operators, SL_LEN(operators));
    }
    api_taint_effect_check(e, effect_at, effect, true);
}

void api_tolerations_check(struct sl_field_errs *e, const struct sl_path *at,
                           yyjson_val *tolerations) {
    size_t i, n;
    yyjson_val *t;

    yyjson_arr_foreach (tolerations, i, n, t) {
        toleration(e, SL_PATH_AT(at, i), t);
    }
}

static void field_requirement(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r) {
    const char *op = sl_json_str(r, "operator"), *key = sl_json_str(r, "key");

    if (strcmp(op, "In") != 0 && strcmp(op, "NotIn") != 0)
        sl_field_invalid(e, SL_PATH(at, "operator"), sl_field_value_str(op),
                         "not a valid selector operator");
    else if (sl_json_size(sl_json_get(r, "values")) != 1)
        sl_field_required(e, SL_PATH(at, "values"),
                          "must be only one value when `operator` is 'In' or 'NotIn' for node "
                          "field selector");
    if (strcmp(key, "metadata.name") != 0)
        sl_field_invalid(e, SL_PATH(at, "key"), sl_field_value_str(key),
                         "not a valid field selector key");
}

static void node_term(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *term) {
    size_t i, n;
    yyjson_val *r;

    yyjson_arr_foreach (sl_json_get(term, "matchExpressions"), i, n, r) {
        sl_syntax_check_requirement(e, SL_PATH_AT(SL_PATH(at, "matchExpressions"), i), r, true);
    }
    yyjson_arr_foreach (sl_json_get(term, "matchFields"), i, n, r) {
        field_requirement(e, SL_PATH_AT(SL_PATH(at, "matchFields"), i), r);
    }
}

void api_node_selector_check(struct sl_field_errs *e, const struct sl_path *at,
                             yyjson_val *selector) {
    yyjson_val *terms = sl_json_get(selector, "nodeSelectorTerms"), *term;
    const struct sl_path *terms_at = SL_PATH(at, "nodeSelectorTerms");
    size_t i, n;

    if (!selector)
        return;
    if (sl_json_size(terms) == 0)
        sl_field_required(e, terms_at, "must have at least one node selector term");
    yyjson_arr_foreach (terms, i, n, term) {
        node_term(e, SL_PATH_AT(terms_at, i), term);
    }
}

static void weight(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *term) {
    int64_t w = sl_json_int(term, "weight", 0);

    if (w <= 0 || w > 100)
        sl_field_invalid(e, SL_PATH(at, "weight"), sl_field_value_int(w),
                         "must be in the range 1-100");
}

static void pod_term(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *term) {
    yyjson_val *key = sl_json_get(term, "topologyKey");

    sl_syntax_check_selector(e, SL_PATH(at, "labelSelector"), sl_json_get(term, "labelSelector"));
    if (sl_json_view(key).n == 0)
        sl_field_required(e, SL_PATH(at, "topologyKey"), "can not be empty");
    sl_syntax_check_key_of(e, SL_PATH(at, "topologyKey"), key);
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void pod_affinity(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *affinity) {
    size_t i, n;
    yyjson_val *t;

    yyjson_arr_foreach (sl_json_get(affinity, REQUIRED), i, n, t) {
        pod_term(e, SL_PATH_AT(SL_PATH(at, REQUIRED), i), t);
    }
    yyjson_arr_foreach (sl_json_get(affinity, PREFERRED), i, n, t) {
        const struct sl_path *t_at = SL_PATH_AT(SL_PATH(at, PREFERRED), i);
        weight(e, t_at, t);
        pod_term(e, SL_PATH(t_at, "podAffinityTerm"), sl_json_get(t, "podAffinityTerm"));
    }
}

void api_affinity_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *a) {
    const struct sl_path *node_at = SL_PATH(at, "nodeAffinity");
    yyjson_val *node = sl_json_get(a, "nodeAffinity"), *t;
    size_t i, n;

    api_node_selector_check(e, SL_PATH(node_at, REQUIRED), sl_json_get(node, REQUIRED));
    yyjson_arr_foreach (sl_json_get(node, PREFERRED), i, n, t) {
        const struct sl_path *t_at = SL_PATH_AT(SL_PATH(node_at, PREFERRED), i);
        weight(e, t_at, t);
        node_term(e, SL_PATH(t_at, "preference"), sl_json_get(t, "preference"));
    }
    pod_affinity(e, SL_PATH(at, "podAffinity"), sl_json_get(a, "podAffinity"));
    pod_affinity(e, SL_PATH(at, "podAntiAffinity"), sl_json_get(a, "podAntiAffinity"));
}

/* One constraint for each key and what is done about it. */
static void same_pair(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                      size_t which) {
    yyjson_val *c = yyjson_arr_get(list, which), *other;
    const char *key = sl_json_str(c, "topologyKey"), *when = sl_json_str(c, "whenUnsatisfiable");
    size_t i, n;

    yyjson_arr_foreach (list, i, n, other) {
        if (i > which && strcmp(sl_json_str(other, "topologyKey"), key) == 0 &&
            strcmp(sl_json_str(other, "whenUnsatisfiable"), when) == 0) {
            sl_field_duplicate(e, SL_PATH(at, "{topologyKey, whenUnsatisfiable}"),
                               sl_field_value_str(sl_arena_printf(e->arena, "{%s, %s}", key, when)),
                               "");
            return;
        }
    }
}

void api_spread_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *constraints) {
    static const char *const whens[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (constraints, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(at, i);
        int64_t skew = sl_json_int(c, "maxSkew", 0);
        if (skew <= 0)
            sl_field_invalid(e, SL_PATH(c_at, "maxSkew"), sl_field_value_int(skew),
                             "must be greater than zero");
        if (sl_json_view(sl_json_get(c, "topologyKey")).n == 0)
            sl_field_required(e, SL_PATH(c_at, "topologyKey"), "can not be empty");
        else
            sl_syntax_check_key_of(e, SL_PATH(c_at, "topologyKey"), sl_json_get(c, "topologyKey"));
        api_check_one_of(e, c_at, c, "whenUnsatisfiable", whens, false);
        same_pair(e, c_at, constraints, i);
        sl_syntax_check_selector(e, SL_PATH(c_at, "labelSelector"),
                                 sl_json_get(c, "labelSelector"));
    }
}
