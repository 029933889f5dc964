/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may change of a pod: images, its deadline downwards, more tolerations; of one that is gated
 * also what narrows where it may go, and the gates themselves, which only go.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define MAY_CHANGE                                                                                 \
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`"     \
    "spec.tolerations` (only "                                                                     \
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set " \
    "to 1 if it was "                                                                              \
    "previously negative)"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* False: the two lists cannot be compared. What is in the new one has images. */
static bool same_count(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                       yyjson_val *now) {
    size_t i, n;
    yyjson_val *c;

    if (sl_json_size(old) != sl_json_size(now)) {
        sl_field_forbidden(e, at, "pod updates may not add or remove containers");
        return false;
    }
    yyjson_arr_foreach (now, i, n, c) {
        const char *image = sl_json_str(c, "image");
        size_t len = strlen(image);
        if (!len)
            sl_field_required(e, SL_PATH(SL_PATH_AT(at, i), "image"), "");
        else if (strchr(" \t\r\n", image[0]) || strchr(" \t\r\n", image[len - 1]))
            sl_field_invalid(e, SL_PATH(SL_PATH_AT(at, i), "image"), sl_field_value_str(image),
                             "must not have leading or trailing whitespace");
    }
    return true;
}

static bool same_containers(yyjson_val *old, yyjson_val *now) {
    static const char *const skip[] = {"image", NULL};
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (now, i, n, c) {
        if (!sl_json_same_but(c, yyjson_arr_get(old, i), skip))
            return false;
    }
    return true;
}

/* False: nothing further is compared. */
static bool deadline(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                     yyjson_val *now) {
    int64_t was = sl_json_int(old, "activeDeadlineSeconds", -1),
            is = sl_json_int(now, "activeDeadlineSeconds", -1);

    if (sl_json_get(now, "activeDeadlineSeconds") && (is < 0 || is > INT32_MAX)) {
        sl_field_invalid(e, SL_PATH(at, "activeDeadlineSeconds"), sl_field_value_int(is),
                         "must be between 0 and %d, inclusive", INT32_MAX);
        return false;
    }
    if (is >= 0 && was >= 0 && is > was) {
        sl_field_invalid(e, SL_PATH(at, "activeDeadlineSeconds"), sl_field_value_int(is),
                         "must be less than or equal to previous value");
        return false;
    }
    if (!sl_json_get(now, "activeDeadlineSeconds") && was >= 0)
        sl_field_invalid(e, SL_PATH(at, "activeDeadlineSeconds"), sl_field_value_json(NULL),
                         "must not update from a positive integer to nil value");
    return true;
}

/* Where false is not the same as absent. */
static bool same_flags(yyjson_val *old, yyjson_val *now) {
    static const char *const flags[] = {"hostUsers", "shareProcessNamespace",
                                        "automountServiceAccountToken", "setHostnameAsFQDN"};

    for (size_t i = 0; i < SL_LEN(flags); i++)
        if (!sl_json_get(old, flags[i]) != !sl_json_get(now, flags[i]))
            return false;
    return true;
}

/* All of it but how long. */
static const char *toleration_text(struct sl_arena *a, yyjson_val *t) {
    return sl_arena_printf(a, "%s\n%s\n%s\n%s", sl_json_str(t, "key"), sl_json_str(t, "operator"),
                           sl_json_str(t, "value"), sl_json_str(t, "effect"));
}

static void tolerations(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                        yyjson_val *now) {
    _cleanup_(sl_wordset_done) struct sl_wordset there = {0};
    size_t i, n;
    yyjson_val *t;

    yyjson_arr_foreach (now, i, n, t)
        (void)sl_wordset_add(&there, toleration_text(e->arena, t));
    yyjson_arr_foreach (old, i, n, t) {
        if (!sl_wordset_has(&there, toleration_text(e->arena, t))) {
            sl_field_forbidden(
                e, at, "existing toleration can not be modified except its tolerationSeconds");
            return;
        }
    }
    api_tolerations_check(e, at, now);
}

static void gates(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                  yyjson_val *now) {
    _cleanup_(sl_wordset_done) struct sl_wordset had = {0}, have = {0};
    size_t i, n, *last = sl_alloc0(sl_json_size(now) + 1, sizeof(*last));
    yyjson_val *g;

    yyjson_arr_foreach (old, i, n, g)
        (void)sl_wordset_add(&had, sl_json_str(g, "name"));
    yyjson_arr_foreach (now, i, n, g) { /* of two with the same name the last is reported */
        (void)sl_wordset_add(&have, sl_json_str(g, "name"));
        last[sl_wordset_find(&have, sl_json_str(g, "name"))] = i;
    }
    yyjson_arr_foreach (now, i, n, g) {
        const char *name = sl_json_str(g, "name");
        if (last[sl_wordset_find(&have, name)] == i && !sl_wordset_has(&had, name))
            sl_field_forbidden(e, SL_PATH(SL_PATH_AT(at, i), "name"),
                               "only deletion is allowed, but found new scheduling gate '%s'",
                               name);
    }
    sl_freep(&last);
}

/* ---- of gated pods ---- */

static void node_selector(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                          yyjson_val *now) {
    size_t i, n;
    yyjson_val *key, *v;

    if (!old)
        return;
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_now = sl_json_fields_of(now);
    sl_obj_foreach (old, i, n, key, v) {
        yyjson_val *is = sl_json_field(&in_now, sl_json_view(key));
        if (!is || !sl_json_equal(is, v, NULL)) {
            sl_field_invalid(
                e, at, sl_field_value_json(now),
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
            return;
        }
    }
}

/* 'now' begins with all of 'old'. */
static bool begins_with(yyjson_val *old, yyjson_val *now) {
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(now) < sl_json_size(old))
        return false;
    yyjson_arr_foreach (old, i, n, v) {
        if (!sl_json_same(v, yyjson_arr_get(now, i)))
            return false;
    }
    return true;
}

static bool only_adds(yyjson_val *old, yyjson_val *now) {
    yyjson_val *expressions = sl_json_get(old, "matchExpressions"),
               *fields = sl_json_get(old, "matchFields");
    bool empty = sl_json_size(expressions) + sl_json_size(fields) == 0;

    if (empty)
        return sl_json_size(sl_json_get(now, "matchExpressions")) +
                   sl_json_size(sl_json_get(now, "matchFields")) ==
               0;
    return begins_with(expressions, sl_json_get(now, "matchExpressions")) &&
           begins_with(fields, sl_json_get(now, "matchFields"));
}

static void node_affinity(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *old,
                          yyjson_val *now) {
    yyjson_val *was = sl_json_at(old, "affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms");
    yyjson_val *is = sl_json_at(now, "affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms"), *v;
    const struct sl_path *terms_at = SL_PATH(
        SL_PATH(SL_PATH(SL_PATH(at, "affinity"), "nodeAffinity"), REQUIRED), "nodeSelectorTerms");
    size_t i, n;

    if (sl_json_size(was) > 0 && sl_json_size(was) != sl_json_size(is)) {
        sl_field_invalid(e, terms_at, sl_field_value_json(is),
                         "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    yyjson_arr_foreach (was, i, n, v) {
        if (!only_adds(v, yyjson_arr_get(is, i)))
            sl_field_invalid(e, SL_PATH_AT(terms_at, i), sl_field_value_json(yyjson_arr_get(is, i)),
                             "only additions are allowed (no mutations or deletions)");
    }
}

static bool same_affinity(yyjson_val *old, yyjson_val *now, bool gated) {
    static const char *const skip[] = {"nodeAffinity", NULL};
    yyjson_val *was = sl_json_get(old, "affinity"), *is = sl_json_get(now, "affinity");

    if (!gated)
        return sl_json_same(was, is);
    if (was && is)
        return sl_json_same_but(was, is, skip);
    /* One is absent: the other may have nothing but what is for nodes. */
    return !sl_json_get(was ? was : is, "podAffinity") &&
           !sl_json_get(was ? was : is, "podAntiAffinity");
}

void api_pod_update_check(struct sl_field_errs *e, yyjson_val *old_pod, yyjson_val *pod) {
    static const char *const skip[] = {"containers",
                                       "initContainers",
                                       "activeDeadlineSeconds",
                                       "tolerations",
                                       "schedulingGates",
                                       "affinity",
                                       "nodeSelector",
                                       "terminationGracePeriodSeconds",
                                       NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *old = sl_json_get(old_pod, "spec"), *now = sl_json_get(pod, "spec");
    yyjson_val *was_inits = sl_json_get(old, "initContainers"),
               *inits = sl_json_get(now, "initContainers");
    yyjson_val *was_main = sl_json_get(old, "containers"), *main = sl_json_get(now, "containers");
    bool gated = sl_json_size(sl_json_get(old, "schedulingGates")) > 0, grace;

    if (!same_count(e, SL_PATH(at, "containers"), was_main, main) ||
        !same_count(e, SL_PATH(at, "initContainers"), was_inits, inits))
        return;
    if (!deadline(e, at, old, now))
        return;
    tolerations(e, SL_PATH(at, "tolerations"), sl_json_get(old, "tolerations"),
                sl_json_get(now, "tolerations"));
    gates(e, SL_PATH(at, "schedulingGates"), sl_json_get(old, "schedulingGates"),
          sl_json_get(now, "schedulingGates"));
    if (gated) {
        node_selector(e, SL_PATH(at, "nodeSelector"), sl_json_get(old, "nodeSelector"),
                      sl_json_get(now, "nodeSelector"));
        node_affinity(e, at, old, now);
    }
    grace = sl_json_same(sl_json_get(old, "terminationGracePeriodSeconds"),
                         sl_json_get(now, "terminationGracePeriodSeconds")) ||
            (sl_json_int(old, "terminationGracePeriodSeconds", 0) < 0 &&
             sl_json_int(now, "terminationGracePeriodSeconds", 0) == 1);
    if (!sl_json_same_but(now, old, skip) || !same_flags(old, now) ||
        !same_containers(was_main, main) || !same_containers(was_inits, inits) || !grace ||
        !same_affinity(old, now, gated) ||
        (!gated &&
         !sl_json_same(sl_json_get(old, "nodeSelector"), sl_json_get(now, "nodeSelector"))))
        sl_field_forbidden(e, at, "pod updates may not change fields other than %s", MAY_CHANGE);
}
