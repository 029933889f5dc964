/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceFlavor: the syntax of its labels, taints and tolerations.
 */
#include <string.h>

#include "kube/types/syntax.h"
#include "manager/admission/handlers.h"

#define MAX_TAINTS 8u

int sl_review_flavor_mutate(struct sl_review_call *c) {
    adm_edit_finalizer(c, SL_IN_USE);
    return 0;
}

static bool same_key_and_effect(yyjson_val *a, yyjson_val *b) {
    return strcmp(sl_json_str(a, "key"), sl_json_str(b, "key")) == 0 &&
           strcmp(sl_json_str(a, "effect"), sl_json_str(b, "effect")) == 0;
}

static void check_taint_value(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    struct sl_syntax_errors f = sl_syntax_label_value(t.s, t.n);

    if (f.n > 0)
        sl_field_invalid(e, at, sl_field_value_text(t), "%s%s%s", f.v[0], f.n > 1 ? ";" : "",
                         f.n > 1 ? f.v[1] : "");
}

static void check_taints(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *taints) {
    size_t i, n;
    yyjson_val *taint;

    if (!sl_syntax_check_size(e, at, taints, MAX_TAINTS))
        return;
    yyjson_arr_foreach (taints, i, n, taint) {
        const struct sl_path *taint_at = SL_PATH_AT(at, i);
        bool repeated = false;
        sl_syntax_check_key_of(e, SL_PATH(taint_at, "key"), sl_json_get(taint, "key"));
        check_taint_value(e, SL_PATH(taint_at, "value"), sl_json_get(taint, "value"));
        for (size_t j = 0; j < i; j++)
            repeated = repeated || same_key_and_effect(yyjson_arr_get(taints, j), taint);
        if (repeated)
            sl_field_duplicate(e, taint_at, sl_field_value_json(taint),
                               "taints must be unique by key and effect pair");
    }
}

void adm_rule_tolerations(struct sl_field_errs *e, const struct sl_path *at,
                          yyjson_val *tolerations) {
    size_t i, n;
    yyjson_val *toleration;

    yyjson_arr_foreach (tolerations, i, n, toleration) {
        yyjson_val *key = sl_json_get(toleration, "key");
        if (sl_json_view(key).n > 0)
            sl_syntax_check_key_of(e, SL_PATH(SL_PATH_AT(at, i), "key"), key);
    }
}

int sl_review_flavor_validate(struct sl_review_call *c) {
    yyjson_val *spec = sl_json_get(c->object, "spec");

    sl_syntax_check_labels(&c->errs, SL_PATH(NULL, "spec.nodeLabels"),
                           sl_json_get(spec, "nodeLabels"));
    check_taints(&c->errs, SL_PATH(NULL, "spec.nodeTaints"), sl_json_get(spec, "nodeTaints"));
    adm_rule_tolerations(&c->errs, SL_PATH(NULL, "spec.tolerations"),
                         sl_json_get(spec, "tolerations"));
    return 0;
}
