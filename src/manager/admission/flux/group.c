/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/admission/flux/group.h"

#include <string.h>

#include "kube/types/syntax.h"
#include "manager/admission/fluxqueue.h"
#include "manager/admission/job_rules.h"

static const char *const name_keys[] = {SL_FLUX_GROUP, "scheduling.x-k8s.io/pod-group",
                                        SL_POD_GROUP_KEY};
static const char *const size_keys[] = {SL_FLUX_GROUP_SIZE, "fluence.group-size",
                                        "kueue.x-k8s.io/pod-group-total-count"};

static yyjson_val *entry(yyjson_val *pod, const char *map, const char *key) {
    return sl_json_get(sl_json_get(sl_json_get(pod, "metadata"), map), key);
}

/* Digits alone. */
static bool read_size(struct sl_text t, uint32_t *ret) {
    uint32_t n = 0;

    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
        n = n * 10 + (uint32_t)(t.s[i] - '0');
        if (n > SL_FLUX_MAX_GROUP)
            return false;
    }
    *ret = n;
    return n > 0;
}

static void set_why(struct sl_flux_group *g, const char *map, const char *key, const char *why,
                    struct sl_text given) {
    *g =
        (struct sl_flux_group){.name = g->name, .map = map, .key = key, .why = why, .given = given};
}

static void find_size(yyjson_val *pod, struct sl_flux_group *g) {
    static const char *const maps[] = {"labels", "annotations"};

    for (size_t k = 0; k < SL_LEN(size_keys); k++)
        for (size_t m = 0; m < SL_LEN(maps); m++) {
            yyjson_val *v = entry(pod, maps[m], size_keys[k]);
            if (!v)
                continue;
            if (!read_size(sl_json_view(v), &g->size))
                set_why(g, maps[m], size_keys[k],
                        "must be the number of pods in the group, from 1 to 100000",
                        sl_json_view(v));
            return;
        }
    set_why(g, "annotations", SL_FLUX_GROUP_SIZE,
            "the number of pods in the group, which start together", SL_TEXT(""));
    g->missing = true;
}

bool sl_flux_group_read(yyjson_val *pod, struct sl_flux_group *ret) {
    yyjson_val *name = NULL;
    size_t k = 0;

    *ret = (struct sl_flux_group){0};
    if (entry(pod, "labels", SL_QUEUE_LABEL) || entry(pod, "labels", SL_MANAGED_KEY))
        return false;
    for (; k < SL_LEN(name_keys) && !name; k++)
        name = entry(pod, "labels", name_keys[k]);
    if (!name)
        return false;
    struct sl_text t = sl_json_view(name);
    ret->name = sl_json_text(name);
    if (sl_syntax_subdomain(t.s, t.n).n > 0)
        set_why(ret, "labels", name_keys[k - 1], "must be a name, such as of an object", t);
    else
        find_size(pod, ret);
    return true;
}
