/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: validation, and immutable fields. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

static void node_defaults(struct api_change *c) {
    yyjson_mut_val *status = sl_json_mut_get(c->object, "status"),
                   *capacity = sl_json_mut_get(status, "capacity"),
                   *spec = sl_json_mut_get(c->object, "spec"),
                   *list = sl_json_mut_get(spec, "podCIDRs");
    const char *one = sl_json_mut_str(spec, "podCIDR");

    if (capacity && !sl_json_mut_get(status, "allocatable"))
        sl_json_mut_set(c->doc, status, "allocatable", yyjson_mut_val_mut_copy(c->doc, capacity));
    /* podCIDR and podCIDRs agree; if not, podCIDR counts. */
    if (*one && !yyjson_mut_equals_str(yyjson_mut_arr_get_first(list), one)) {
        yyjson_mut_val *now = yyjson_mut_arr(c->doc);
        yyjson_mut_arr_append(now, yyjson_mut_strcpy(c->doc, one));
        sl_json_mut_set(c->doc, spec, "podCIDRs", now);
    } else if (!*one && yyjson_mut_arr_size(list) > 0) {
        sl_json_mut_set(c->doc, spec, "podCIDR",
                        yyjson_mut_val_mut_copy(c->doc, yyjson_mut_arr_get_first(list)));
    }
}

/* No kubelet reads its configuration from there any more. */
static void node_prepare(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec");

    if (sl_json_mut_get(spec, "configSource") && !sl_json_at(c->old, "spec.configSource"))
        sl_json_mut_set(c->doc, spec, "configSource", NULL);
    if (api_change_is_create(c) && sl_json_mut_get(c->object, "status"))
        sl_json_mut_set(c->doc, sl_json_mut_get(c->object, "status"), "config", NULL);
}

static void taints_check(struct sl_field_errs *e, yyjson_val *object) {
    const struct sl_path *at =
        SL_PATH(SL_PATH(NULL, "metadata"), "taints"); /* as kube-apiserver has it */
    yyjson_val *taints = sl_json_at(object, "spec.taints"), *t;
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;

    yyjson_arr_foreach (taints, i, n, t) {
        const struct sl_path *t_at = SL_PATH_AT(at, i);
        yyjson_val *value = sl_json_get(t, "value");
        sl_syntax_check_key_of(e, SL_PATH(t_at, "key"), sl_json_get(t, "key"));
        struct sl_text text = sl_json_view(value);
        struct sl_syntax_errors f = sl_syntax_label_value(text.s, text.n);
        if (f.n)
            sl_field_invalid(e, SL_PATH(t_at, "value"), sl_field_value_text(text), "%s", f.v[0]);
        api_taint_effect_check(e, SL_PATH(t_at, "effect"), sl_json_str(t, "effect"), false);
        if (!sl_wordset_add(&seen, sl_arena_printf(e->arena, "%s\n%s", sl_json_str(t, "key"),
                                                   sl_json_str(t, "effect"))))
            sl_field_duplicate(e, t_at, sl_field_value_json(t),
                               "taints must be unique by key and effect pair");
    }
}

static void amounts_check(struct sl_field_errs *e, yyjson_val *object) {
    static const char *const lists[] = {"capacity", "allocatable"};
    yyjson_val *key, *v;
    size_t i, n;

    for (size_t k = 0; k < SL_LEN(lists); k++) {
        const struct sl_path *at = SL_PATH(SL_PATH(NULL, "status"), lists[k]);
        sl_obj_foreach (sl_json_get(sl_json_get(object, "status"), lists[k]), i, n, key, v) {
            api_resource_value_check(e, SL_PATH(at, sl_json_text(key)), sl_json_text(key), v);
        }
    }
}

/* Ranges of pods' addresses: one, or one of each family. */
static void ranges_check(struct sl_field_errs *e, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "podCIDRs");
    yyjson_val *list = sl_json_at(object, "spec.podCIDRs"), *v;
    size_t i, n, of[3] = {0}, first_bad = SIZE_MAX;

    yyjson_arr_foreach (list, i, n, v) {
        enum api_family family;
        const char *why = api_cidr_fault(sl_json_text(v), &family);
        if (why)
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_text(v)), "%s", why);
        if (family == SL_FAMILY_NONE && first_bad == SIZE_MAX)
            first_bad = i;
        of[family]++;
    }
    if (sl_json_size(list) < 2)
        return;
    if (first_bad != SIZE_MAX)
        sl_field_internal(e, at,
                          "invalid PodCIDRs. failed to check with dual stack with error:invalid "
                          "CIDR[%zu]: <nil> (invalid CIDR address: %s)",
                          first_bad, sl_json_text(yyjson_arr_get(list, first_bad)));
    if (first_bad != SIZE_MAX || !of[SL_FAMILY_V4] || !of[SL_FAMILY_V6] || sl_json_size(list) > 2)
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "may specify no more than one CIDR for each IP family");
}

static void addresses_check(struct sl_field_errs *e, yyjson_val *object) {
    yyjson_val *list = sl_json_at(object, "status.addresses"), *v;
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        if (!sl_wordset_add(&seen, sl_arena_printf(e->arena, "%s\n%s", sl_json_str(v, "type"),
                                                   sl_json_str(v, "address"))))
            sl_field_duplicate(e, SL_PATH_AT(SL_PATH(SL_PATH(NULL, "status"), "addresses"), i),
                               sl_field_value_json(v), "");
    }
}

/* Immutable once set. */
static void update_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *ranges = sl_json_get(spec, "podCIDRs"), *had = sl_json_get(old, "podCIDRs"), *v;
    const char *id = sl_json_str(old, "providerID");
    bool as_many = sl_json_size(ranges) == sl_json_size(had);
    size_t i, n;

    yyjson_arr_foreach (had, i, n, v) {
        if (as_many ? !sl_json_equal(v, yyjson_arr_get(ranges, i), NULL) : i == 0)
            sl_field_forbidden(e, SL_PATH(at, "podCIDRs"),
                               "node updates may not change podCIDR except from \"\" to valid");
    }
    if (*id && strcmp(id, sl_json_str(spec, "providerID")) != 0)
        sl_field_forbidden(e, SL_PATH(at, "providerID"),
                           "node updates may not change providerID except from \"\" to valid");
}

static void node_warn(struct api_change *c, yyjson_val *spec) {
    if (!c->errs->n && api_change_is_object(c) && *sl_json_str(spec, "externalID"))
        api_change_warn(c,
                        "spec.externalID: this field is deprecated, and is unused by Kubernetes");
}

static void node_validate(struct api_change *c, yyjson_val *object) {
    yyjson_val *spec = sl_json_get(object, "spec"), *old = sl_json_get(c->old, "spec");

    if (api_change_is_object(c)) {
        taints_check(c->errs, object);
        amounts_check(c->errs, object);
        ranges_check(c->errs, object);
    }
    if (!c->old) {
        node_warn(c, spec);
        return;
    }
    amounts_check(c->errs, object);
    addresses_check(c->errs, object);
    update_check(c->errs, spec, old);
    taints_check(c->errs, object); /* the error is reported twice */
    if (strcmp(sl_json_str(spec, "externalID"), sl_json_str(old, "externalID")) != 0)
        sl_field_forbidden(c->errs, SL_PATH(SL_PATH(NULL, "spec"), "externalID"),
                           "may not be updated");
    node_warn(c, spec);
}
const struct api_strategy api_node_strategy = {.defaults = node_defaults,
                                               .prepare = node_prepare,
                                               .validate = node_validate,
                                               .no_generation = true,
                                               .status_on_create = true};
