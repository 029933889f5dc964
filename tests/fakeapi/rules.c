/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may not change: the few rules of validation that controllers run into, one function per
 * kind. It returns what is wrong with the change, NULL if nothing is.
 */
#include <string.h>

#include "fakeapi_int.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

static yyjson_val *spec_of(yyjson_val *o) {
    return yyjson_obj_get(o, "spec");
}

static bool differ(yyjson_val *a, yyjson_val *b) {
    return a != b && !(a && b && sl_json_equal(a, b, NULL));
}

/* A template changes only while the Job is suspended, without start time and active pods. */
static const char *job_rule(yyjson_val *old, yyjson_val *now) {
    yyjson_val *status = yyjson_obj_get(old, "status");

    if (!differ(yyjson_obj_get(spec_of(old), "template"),
                yyjson_obj_get(spec_of(now), "template")) ||
        (yyjson_get_bool(yyjson_obj_get(spec_of(old), "suspend")) &&
         !yyjson_obj_get(status, "startTime") &&
         yyjson_get_sint(yyjson_obj_get(status, "active")) == 0))
        return NULL;
    return "spec.template: Invalid value: field is immutable";
}

/* Is every member of one list also in the other, by the fields that identify it? Both may be
 * long. */
static bool contains(yyjson_val *list, yyjson_val *part, const char *const *keys, uint32_t n_keys) {
    struct sl_json_seek in;
    bool all = true;
    size_t i, n;
    yyjson_val *v;

    sl_json_seek_items(&in, list, keys, n_keys);
    yyjson_arr_foreach (part, i, n, v)
        all = all && sl_json_seek_item(&in, v);
    sl_json_seek_done(&in);
    return all;
}

static const char *gates_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    static const char *const keys[] = {"name"};

    (void)gated;
    return contains(was, is, keys, SL_LEN(keys))
               ? NULL
               : "spec.schedulingGates: Forbidden: only deletion is allowed, but found "
                 "new scheduling gate";
}

static const char *tolerations_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    static const char *const keys[] = {"key", "operator", "value", "effect"};

    (void)gated;
    return contains(is, was, keys, SL_LEN(keys))
               ? NULL
               : "spec.tolerations: Forbidden: existing toleration can not be modified "
                 "except its tolerationSeconds";
}

static const char *selector_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    struct sl_json_fields in = sl_json_fields_of(is);
    size_t i, n;
    yyjson_val *k, *v;
    bool kept = gated;

    sl_obj_foreach (was, i, n, k, v)
        kept &= !differ(v, sl_json_field(&in, sl_json_view(k)));
    sl_json_fields_done(&in);
    return kept ? NULL
                : "spec.nodeSelector: Invalid value: only additions to spec.nodeSelector are "
                  "allowed, and only while the pod is gated";
}

#define NODE_AFFINITY "nodeAffinity"
#define TERMS NODE_AFFINITY ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

/* More of the same list, but not of one that is empty: that is another term. */
static bool only_adds(yyjson_val *was, yyjson_val *is) {
    static const char *const lists[] = {"matchExpressions", "matchFields"};
    size_t i, n, before = 0, after = 0;
    yyjson_val *v;

    for (size_t l = 0; l < SL_LEN(lists); l++) {
        yyjson_val *a = yyjson_obj_get(was, lists[l]), *b = yyjson_obj_get(is, lists[l]);
        before += yyjson_arr_size(a);
        after += yyjson_arr_size(b);
        yyjson_arr_foreach (a, i, n, v)
            if (differ(v, yyjson_arr_get(b, i)))
                return false;
    }
    return before > 0 || after == 0;
}

static const char *affinity_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    yyjson_val *a = sl_json_at(was, TERMS), *b = sl_json_at(is, TERMS), *term;
    bool kept =
        gated && (yyjson_arr_size(a) == 0 || yyjson_arr_size(a) == yyjson_arr_size(b)) &&
        !differ(yyjson_obj_get(was, "podAffinity"), yyjson_obj_get(is, "podAffinity")) &&
        !differ(yyjson_obj_get(was, "podAntiAffinity"), yyjson_obj_get(is, "podAntiAffinity"));
    size_t i, n;

    yyjson_arr_foreach (a, i, n, term)
        kept = kept && only_adds(term, yyjson_arr_get(b, i));
    return kept ? NULL
                : "spec.affinity: Invalid value: only additions to required node affinity are "
                  "allowed, and only while the pod is gated";
}

/* As the scheduler's binding, which is a subresource of its own on a real server. */
static const char *node_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    (void)is;
    return !was && !gated ? NULL : "spec.nodeName: Forbidden: the pod is bound, or gated";
}

/* As the subresource resize. */
static const char *containers_rule(yyjson_val *was, yyjson_val *is, bool gated) {
    size_t i, n, f, n_fields;
    yyjson_val *c, *k, *v;
    bool kept = yyjson_arr_size(was) == yyjson_arr_size(is);

    (void)gated;
    yyjson_arr_foreach (was, i, n, c) {
        yyjson_val *now = yyjson_arr_get(is, i);
        kept = kept && yyjson_obj_size(c) == yyjson_obj_size(now);
        sl_obj_foreach (c, f, n_fields, k, v) {
            const char *key = yyjson_get_str(k);
            kept = kept && (strcmp(key, "resources") == 0 || !differ(v, yyjson_obj_get(now, key)));
        }
    }
    return kept ? NULL : "spec: Forbidden: pod updates may not change these fields";
}

static const char *pod_rule(yyjson_val *old, yyjson_val *now) {
    static const struct {
        const char *field;
        const char *(*rule)(yyjson_val *was, yyjson_val *is, bool gated);
    } may[] = {
        {"schedulingGates", gates_rule}, {"tolerations", tolerations_rule},
        {"nodeSelector", selector_rule}, {"affinity", affinity_rule},
        {"nodeName", node_rule},         {"containers", containers_rule},
    };
    yyjson_val *was = spec_of(old), *is = spec_of(now), *k, *v;
    bool gated = yyjson_arr_size(yyjson_obj_get(was, "schedulingGates")) > 0;
    size_t same = 0, i, n;
    const char *wrong = NULL;

    for (size_t f = 0; f < SL_LEN(may) && !wrong; f++) {
        yyjson_val *a = yyjson_obj_get(was, may[f].field), *b = yyjson_obj_get(is, may[f].field);
        wrong = differ(a, b) ? may[f].rule(a, b, gated) : NULL;
        same += b != NULL;
    }
    sl_obj_foreach (was, i, n, k, v) {
        const char *key = yyjson_get_str(k);
        bool special = false;
        for (size_t f = 0; f < SL_LEN(may); f++)
            special |= strcmp(key, may[f].field) == 0;
        if (!special && differ(v, yyjson_obj_get(is, key)))
            return "spec: Forbidden: pod updates may not change these fields";
        same += !special;
    }
    return !wrong && same != yyjson_obj_size(is)
               ? "spec: Forbidden: pod updates may not add these fields"
               : wrong;
}

/* As `sluice up` has it. */
const char *fa_status_broken(const struct fakeapi *a, const struct resource *r, yyjson_val *now) {
    yyjson_val *status = yyjson_obj_get(now, "status");

    return strcmp(r->k.kind, "CronJob") == 0 &&
                   yyjson_arr_size(yyjson_obj_get(status, "active")) > a->list_items
               ? "status.active: Too many"
               : NULL;
}

const char *fa_rule_broken(const struct resource *r, yyjson_val *old, yyjson_val *now) {
    static const struct {
        const char *kind;
        const char *(*rule)(yyjson_val *old, yyjson_val *now);
    } rules[] = {
        {"Job", job_rule},
        {"Pod", pod_rule},
    };

    for (size_t i = 0; i < SL_LEN(rules); i++)
        if (strcmp(r->k.kind, rules[i].kind) == 0)
            return rules[i].rule(old, now);
    return NULL;
}
