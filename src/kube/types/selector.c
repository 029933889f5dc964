/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/types/selector.h"

#include "core/base/mem.h"
#include "lib/json/json.h"

#define FEW_LABELS 64u /* as most have */

static bool read_expression(struct sl_arena *a, yyjson_val *e, struct sl_label_rule *ret) {
    yyjson_val *values = yyjson_obj_get(e, "values"), *v;
    enum sl_label_op op = sl_label_op_parse(sl_json_str(e, "operator"));
    size_t n = yyjson_arr_size(values), i, k;
    const char **list = sl_arena_alloc(a, (n + 1) * sizeof *list);

    *ret = (struct sl_label_rule){.key = sl_arena_strdup(a, sl_json_str(e, "key")), .values = list};
    yyjson_arr_foreach (values, i, k, v)
        list[ret->n_values++] = sl_arena_strdup(a, sl_json_text(v));
    if (op == SL_OP_COUNT)
        return false;
    ret->op = op;
    return true;
}

bool sl_label_selector_read_rules(struct sl_arena *a, yyjson_val *labels, yyjson_val *expressions,
                                  struct sl_selector *ret) {
    size_t n = yyjson_obj_size(labels) + yyjson_arr_size(expressions), i, max;
    struct sl_label_rule *rules;
    yyjson_val *k, *v;
    bool good = true;

    *ret = (struct sl_selector){0};
    rules = sl_arena_alloc(a, (n + 1) * sizeof *rules);
    sl_obj_foreach (labels, i, max, k, v) {
        const char **one = sl_arena_alloc(a, sizeof *one);
        *one = sl_arena_strdup(a, sl_json_text(v));
        rules[ret->n++] = (struct sl_label_rule){.key = sl_arena_strdup(a, sl_json_text(k)),
                                                 .op = SL_OP_IN,
                                                 .values = one,
                                                 .n_values = 1};
    }
    yyjson_arr_foreach (expressions, i, max, v)
        good &= read_expression(a, v, &rules[ret->n++]);
    ret->v = rules;
    return good;
}

bool sl_label_selector_read(struct sl_arena *a, yyjson_val *selector, struct sl_selector *ret) {
    return sl_label_selector_read_rules(a, yyjson_obj_get(selector, "matchLabels"),
                                        yyjson_obj_get(selector, "matchExpressions"), ret);
}

bool sl_label_selector_matches(const struct sl_selector *s, yyjson_val *labels) {
    size_t max = yyjson_obj_size(labels);
    struct sl_label few[FEW_LABELS], *l = max > FEW_LABELS ? sl_alloc(max * sizeof *l) : few;
    struct sl_labels have = {l, 0};
    yyjson_val *k, *v;
    size_t i, n;

    sl_obj_foreach (labels, i, n, k, v)
        if (yyjson_is_str(v))
            l[have.n++] = (struct sl_label){sl_json_text(k), sl_json_text(v)};
    bool yes = sl_selector_matches(s, &have);
    if (l != few)
        sl_freep(&l);
    return yes;
}
