/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology annotations of a pod template: valid combinations and values. Whether a level exists
 * is checked at scheduling.
 */
#include <string.h>

#include "kube/types/syntax.h"
#include "manager/admission/job_rules.h"

#define PODSET "kueue.x-k8s.io/podset-"
#define UNCONSTRAINED PODSET "unconstrained-topology"
#define SLICE_LEVEL PODSET "slice-required-topology"
#define SLICE_SIZE PODSET "slice-size"
#define LAYERS PODSET "slice-required-topology-constraints"
#define GROUP SL_PODSET_GROUP
#define MAX_LAYERS 3u

/* The annotations under review. */
struct topology {
    struct sl_review_call *c;
    struct sl_field_errs *e;
    const struct sl_path *at;
    yyjson_val *annotations;
};

static const char *annotation_text(const struct topology *t, const char *key) {
    return sl_json_opt(sl_json_get(t->annotations, key));
}

/* A whole number of at most 32 bits. */
static bool read_int32(const struct topology *t, const char *s, int64_t *ret) {
    const char *why;
    return adm_go_int(t->c, s, ret, &why) && *ret >= INT32_MIN && *ret <= INT32_MAX;
}

static void excludes(const struct topology *t, const char *key, const char *other) {
    if (annotation_text(t, other))
        sl_field_forbidden(t->e, SL_PATH_KEY(t->at, key), "may not be set when '%s' is specified",
                           other);
}

/* ---- one level ---- */

static void check_levels(const struct topology *t) {
    static const char *const keys[] = {SL_REQUIRED_TOPOLOGY, SL_PREFERRED_TOPOLOGY, SLICE_LEVEL};
    int n = (annotation_text(t, SL_REQUIRED_TOPOLOGY) != NULL) +
            (annotation_text(t, SL_PREFERRED_TOPOLOGY) != NULL) +
            (annotation_text(t, UNCONSTRAINED) != NULL);

    if (n > 1)
        sl_field_invalid(
            t->e, t->at, sl_field_value_none(),
            "must not contain more than one topology annotation: [\"%s\", \"%s\", \"%s\"]",
            SL_REQUIRED_TOPOLOGY, SL_PREFERRED_TOPOLOGY, UNCONSTRAINED);
    for (size_t i = 0; i < SL_LEN(keys); i++) {
        yyjson_val *level = sl_json_get(t->annotations, keys[i]);
        if (level)
            sl_syntax_check_key_of(t->e, SL_PATH_KEY(t->at, keys[i]), level);
    }
}

static bool all_digits(const char *s) {
    return *s && s[strspn(s, "0123456789")] == '\0';
}

static void check_group(const struct topology *t) {
    const char *group = annotation_text(t, GROUP);
    const struct sl_path *at = SL_PATH_KEY(t->at, GROUP);

    if (!group)
        return;
    if (all_digits(group))
        sl_field_invalid(t->e, at, sl_field_value_str(group), "must not be a number");
    excludes(t, GROUP, SLICE_SIZE);
    excludes(t, GROUP, SLICE_LEVEL);
    if (!annotation_text(t, SL_PREFERRED_TOPOLOGY) && !annotation_text(t, SL_REQUIRED_TOPOLOGY))
        sl_field_forbidden(t->e, at, "may not be set when neither '%s' nor '%s' is specified",
                           SL_PREFERRED_TOPOLOGY, SL_REQUIRED_TOPOLOGY);
}

static void check_unconstrained(const struct topology *t) {
    const char *s = annotation_text(t, UNCONSTRAINED), *why;
    bool on;
    if (s && !adm_go_bool(t->c, s, &on, &why))
        sl_field_invalid(t->e, SL_PATH_KEY(t->at, UNCONSTRAINED), sl_field_value_str(s),
                         "must be a boolean value");
}

static void check_slices(const struct topology *t) {
    const char *level = annotation_text(t, SLICE_LEVEL), *size = annotation_text(t, SLICE_SIZE);
    const struct sl_path *at = SL_PATH_KEY(t->at, SLICE_SIZE);
    int64_t v;

    if (size && !read_int32(t, size, &v))
        sl_field_invalid(t->e, at, sl_field_value_str(size), "must be a numeric value");
    else if (size && v < 1)
        sl_field_invalid(t->e, at, sl_field_value_str(size), "must be greater than or equal to 1");
    if (level && !size)
        sl_field_required(t->e, at, "must be set when '" SLICE_LEVEL "' is specified");
    if (!level && size)
        sl_field_forbidden(t->e, at, "may not be set when '%s' is not specified", SLICE_LEVEL);
}

/* ---- several layers ---- */

static yyjson_doc *parse_layers(const struct topology *t, const char *s, const struct sl_path *at) {
    yyjson_read_err why;
    yyjson_doc *d = yyjson_read_opts(sl_arena_strdup(t->c->arena, s), strlen(s), 0, NULL, &why);
    size_t n = yyjson_arr_size(yyjson_doc_get_root(d));

    if (!d)
        sl_field_invalid(t->e, at, sl_field_value_str(s), "must be a valid JSON array: %s",
                         why.msg);
    else if (!yyjson_is_arr(yyjson_doc_get_root(d)))
        sl_field_invalid(t->e, at, sl_field_value_str(s),
                         "must be a valid JSON array: it is something else");
    else if (n < 1 || n > MAX_LAYERS)
        sl_field_invalid(t->e, at, sl_field_value_str(s),
                         "topology constraints must contain between 1 and 3 entries");
    else
        return d;
    yyjson_doc_free(d);
    return NULL;
}

static void check_layer(const struct topology *t, const struct sl_path *at, yyjson_val *layer) {
    yyjson_val *level = sl_json_get(layer, "topology");
    int64_t size = sl_json_int(layer, "size", 0);

    sl_syntax_check_key_of(t->e, SL_PATH(at, "topology"), level);
    if (size < 1)
        sl_field_invalid(t->e, SL_PATH(at, "size"), sl_field_value_int(size),
                         "must be greater than or equal to 1");
}

/* Levels differ, and each layer divides the one above it. */
static void compare_layers(const struct topology *t, const struct sl_path *at, yyjson_val *layers) {
    size_t n = yyjson_arr_size(layers);

    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const char *level = sl_json_str(yyjson_arr_get(layers, i), "topology");
            if (strcmp(level, sl_json_str(yyjson_arr_get(layers, k), "topology")) != 0)
                continue;
            sl_field_duplicate(t->e, SL_PATH(SL_PATH_AT(at, i), "topology"),
                               sl_field_value_str(sl_arena_printf(
                                   t->c->arena, "%s (also at index %zu)", level, k)),
                               "");
            break;
        }
    for (size_t i = 1; i < n; i++) {
        int64_t above = sl_json_int(yyjson_arr_get(layers, i - 1), "size", 0);
        int64_t size = sl_json_int(yyjson_arr_get(layers, i), "size", 0);
        if (size > 0 && above % size != 0)
            sl_field_invalid(t->e, SL_PATH(SL_PATH_AT(at, i), "size"), sl_field_value_int(size),
                             "must evenly divide the parent layer size %lld", (long long)above);
    }
}

static void check_layers(const struct topology *t) {
    const char *s = annotation_text(t, LAYERS);
    const struct sl_path *at = SL_PATH_KEY(t->at, LAYERS);
    size_t i, n;
    yyjson_val *layer;

    if (!s)
        return;
    if (!adm_call_gate(t->c, SL_G_TAS_MULTI_LAYER_TOPOLOGY)) {
        sl_field_forbidden(
            t->e, at,
            "the TASMultiLayerTopology feature gate must be enabled to use this annotation");
        return;
    }
    excludes(t, LAYERS, SLICE_LEVEL);
    excludes(t, LAYERS, SLICE_SIZE);
    if (annotation_text(t, GROUP))
        sl_field_forbidden(t->e, SL_PATH_KEY(t->at, GROUP), "may not be set when '%s' is specified",
                           LAYERS);
    _cleanup_(sl_json_docp) yyjson_doc *d = parse_layers(t, s, at);
    yyjson_val *layers = yyjson_doc_get_root(d);
    yyjson_arr_foreach (layers, i, n, layer)
        check_layer(t, SL_PATH_AT(at, i), layer);
    compare_layers(t, at, layers);
}

/* ---- the whole ---- */

bool adm_rule_topology(struct sl_review_call *c, const struct sl_path *meta,
                       yyjson_val *annotations) {
    struct topology t = {c, &c->errs, SL_PATH(meta, "annotations"), annotations};
    uint32_t before = c->errs.n + c->errs.dropped;

    check_levels(&t);
    check_group(&t);
    check_unconstrained(&t);
    check_slices(&t);
    check_layers(&t);
    return c->errs.n + c->errs.dropped == before;
}

void adm_rule_topology_size(struct sl_review_call *c, const struct sl_path *meta,
                            yyjson_val *annotations, int64_t pods) {
    struct topology t = {c, &c->errs, SL_PATH(meta, "annotations"), annotations};
    const char *size = annotation_text(&t, SLICE_SIZE), *layers = annotation_text(&t, LAYERS);
    int64_t v;

    if (size && read_int32(&t, size, &v) && v > pods)
        sl_field_invalid(t.e, SL_PATH_KEY(t.at, SLICE_SIZE), sl_field_value_str(size),
                         "must not be greater than pod set count %lld", (long long)pods);
    if (!layers)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(layers, strlen(layers), 0);
    v = sl_json_int(yyjson_arr_get_first(yyjson_doc_get_root(d)), "size", 0);
    if (v > pods)
        sl_field_invalid(t.e, SL_PATH_KEY(t.at, LAYERS), sl_field_value_int(v),
                         "must not be greater than pod set count %lld", (long long)pods);
}

/* ---- podsets that are placed together ---- */

static const char *note(const struct adm_podset *p, const char *key) {
    return sl_json_opt(sl_json_get(p->annotations, key));
}

/* What it requests: of both levels, the required one counts. */
static const char *level(const struct adm_podset *p, bool required) {
    const char *s = note(p, SL_REQUIRED_TOPOLOGY);
    return required ? s : s ? NULL : note(p, SL_PREFERRED_TOPOLOGY);
}

/* A group without a level is refused by itself, and is none here. */
static const char *group_of(const struct adm_podset *p) {
    return level(p, true) || level(p, false) ? note(p, GROUP) : NULL;
}

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_pair(struct sl_review_call *c, const struct adm_podset *const two[2],
                       const char *group) {
    bool single = two[0]->count == 1 || two[1]->count == 1;
    bool alike = same(level(two[0], true), level(two[1], true)) &&
                 same(level(two[0], false), level(two[1], false));

    for (int i = 0; i < 2 && !single; i++)
        sl_field_invalid(
            &c->errs, SL_PATH_KEY(SL_PATH(SL_PATH(NULL, two[i]->at), "annotations"), GROUP),
            sl_field_value_str(group),
            "can only define groups where at least one pod set has only 1 replica, got: %lld "
            "replica(s) and %lld replica(s) in the group",
            (long long)two[0]->count, (long long)two[1]->count);
    for (int i = 0; i < 2 && !alike; i++)
        sl_field_invalid(&c->errs, SL_PATH(SL_PATH(NULL, two[i]->at), "annotations"),
                         sl_field_value_none(),
                         "must specify '" SL_REQUIRED_TOPOLOGY "' or '" SL_PREFERRED_TOPOLOGY
                         "' topology consistent with '%s.annotations' in group '%s'",
                         two[!i]->at, group);
}

void adm_rule_topology_groups(struct sl_review_call *c, const struct adm_podset *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *group = group_of(&v[i]);
        const struct adm_podset *two[2] = {&v[i]};
        size_t members = 0, first = i;
        for (size_t k = 0; k < n && group; k++) {
            if (!same(group, group_of(&v[k])))
                continue;
            first = k < first ? k : first;
            if (k > i)
                two[1] = &v[k];
            members++;
        }
        if (group && members != 2)
            sl_field_invalid(
                &c->errs, SL_PATH_KEY(SL_PATH(SL_PATH(NULL, v[i].at), "annotations"), GROUP),
                sl_field_value_str(group),
                "can only define groups of exactly 2 pod sets, got: %zu pod set(s)", members);
        else if (group && first == i)
            check_pair(c, two, group);
    }
}
