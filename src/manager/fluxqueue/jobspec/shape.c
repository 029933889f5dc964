/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the pods of a job are spread over levels and nodes. Each tier (a level, or the node) may be
 * given how many pods are in each of its vertices, exactly or at most. The answer is a number for
 * each tier, which divides that of the tier above: the jobspec has so many of it as the quotient.
 */
#include <inttypes.h>

#include "kube/types/selector.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define HOSTNAME "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define MAX_TERMS 64u /* of one list */
#define MAX_SELECTOR_VALUES 4096u
#define MAX_SELECTOR_BYTES ((size_t)64 << 10)
#define ARENA_BYTES ((size_t)1 << 20) /* more than these require */

void fq_shape_init(struct fq_shape *s, uint32_t pods, const struct fq_jobspec_options *o) {
    sl_assert(o->n_levels <= FQ_MAX_LEVELS);
    *s = (struct fq_shape){.pods = pods, .n_levels = o->n_levels};
    for (uint32_t i = 0; i < o->n_levels; i++)
        s->tiers[i] = (struct fq_tier){.type = o->levels[i].type, .label = o->levels[i].label};
    s->tiers[o->n_levels] = (struct fq_tier){.type = "node", .label = HOSTNAME};
}

struct fq_tier *fq_shape_tier(struct fq_shape *s, const char *name) {
    for (uint32_t i = 0; i <= s->n_levels; i++)
        if (strcmp(s->tiers[i].type, name) == 0 || strcmp(s->tiers[i].label, name) == 0)
            return &s->tiers[i];
    return NULL;
}

void fq_shape_names(const struct fq_shape *s, struct sl_buf *out) {
    for (uint32_t i = 0; i <= s->n_levels; i++)
        sl_buf_printf(out, "%s%s",
                      i == 0             ? ""
                      : i == s->n_levels ? " or "
                                         : ", ",
                      s->tiers[i].type);
}

int fq_shape_exact(struct fq_tier *t, uint32_t pods, const char *why, struct sl_err *err) {
    if (t->exact && t->exact != pods)
        return sl_err_set(err, SL_EINVAL, "%s: %u pods on each %s, where %u are said elsewhere",
                          why, pods, t->type, t->exact);
    t->exact = pods;
    return 0;
}

int fq_shape_together(struct fq_shape *s, struct fq_tier *t, const char *why, struct sl_err *err) {
    t->together = true;
    return fq_shape_exact(t, s->pods, why, err);
}

static void at_most(struct fq_tier *t, uint32_t pods) {
    if (t->most == 0 || pods < t->most)
        t->most = pods;
}

/* ---- terms about pods ---- */

struct terms {
    struct fq_shape *s;
    yyjson_val *labels;
    const char *ns;
    struct sl_err *err;
};

/* Does it select the job's own pods? Null selects nothing: *ret_null. */
static int selects_itself(const struct terms *t, yyjson_val *term, const char *what, bool *ret_null,
                          bool *ret) {
    yyjson_val *selector = sl_json_get(term, "labelSelector");
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(ARENA_BYTES);
    struct sl_selector rules;

    *ret = false;
    *ret_null = !selector;
    if (!selector)
        return 0;
    if (sl_json_count(selector) > MAX_SELECTOR_VALUES ||
        sl_json_bytes(selector) > MAX_SELECTOR_BYTES)
        return sl_err_set(t->err, SL_ELIMIT, "%s: a selector of more than %u values", what,
                          MAX_SELECTOR_VALUES);
    if (!yyjson_is_obj(selector) || !sl_label_selector_read(&a, selector, &rules))
        return sl_err_set(t->err, SL_EINVAL,
                          "%s: expected matchLabels and matchExpressions with the operators In, "
                          "NotIn, Exists and DoesNotExist",
                          what);
    *ret = sl_label_selector_matches(&rules, t->labels);
    return 0;
}

static int find_tier(const struct terms *t, yyjson_val *term, const char *what,
                     struct fq_tier **ret) {
    const char *key = sl_json_str(term, "topologyKey");
    _cleanup_(sl_buf_done) struct sl_buf names = SL_BUF_SHORT(120);

    for (uint32_t i = 0; i <= t->s->n_levels; i++)
        if (strcmp(t->s->tiers[i].label, key) == 0) {
            *ret = &t->s->tiers[i];
            return 0;
        }
    for (uint32_t i = 0; i <= t->s->n_levels; i++)
        sl_buf_printf(&names, "%s%s",
                      i == 0                ? ""
                      : i == t->s->n_levels ? " or "
                                            : ", ",
                      t->s->tiers[i].label);
    return sl_err_set(t->err, SL_EINVAL, "%s: expected the topologyKey %s, got \"%.60s\"", what,
                      sl_buf_str(&names), key);
}

/* Whether the namespaces of a term are all others, or cannot be known. */
static bool elsewhere(const struct terms *t, yyjson_val *term) {
    yyjson_val *names = sl_json_get(term, "namespaces"),
               *any = sl_json_get(term, "namespaceSelector"), *v;
    size_t i, n;

    if (any && yyjson_obj_size(any) == 0 && yyjson_is_obj(any))
        return false;
    if (yyjson_arr_size(names) == 0)
        return any != NULL;
    yyjson_arr_foreach (names, i, n, v)
        if (strcmp(sl_json_text(v), t->ns) == 0)
            return false;
    return true;
}

static int read_affinity(const struct terms *t, yyjson_val *spec, bool anti) {
    const char *what = anti ? "podAntiAffinity" : "podAffinity";
    yyjson_val *list = sl_json_get(sl_json_get(sl_json_get(spec, "affinity"), what), REQUIRED),
               *term;
    struct fq_tier *tier;
    size_t i, n;
    int r = 0;

    if (yyjson_arr_size(list) > MAX_TERMS)
        return sl_err_set(t->err, SL_ELIMIT, "%s: more than %u terms", what, MAX_TERMS);
    yyjson_arr_foreach (list, i, n, term) {
        bool null, own;
        r = selects_itself(t, term, what, &null, &own);
        if (r < 0)
            return r;
        if (null && anti) /* against no pod */
            continue;
        if (!own || elsewhere(t, term) ||
            yyjson_arr_size(sl_json_get(term, "mismatchLabelKeys")) > 0)
            return sl_err_set(t->err, SL_EINVAL,
                              "%s: expected terms that select the pods of the job itself; terms "
                              "about other pods cannot be honoured",
                              what);
        r = find_tier(t, term, what, &tier);
        if (r < 0)
            return r;
        if (anti)
            at_most(tier, 1);
        else
            r = fq_shape_together(t->s, tier, what, t->err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_spread(const struct terms *t, yyjson_val *spec) {
    static const char what[] = "topologySpreadConstraints";
    yyjson_val *list = sl_json_get(spec, what), *c;
    struct fq_tier *tier;
    size_t i, n;
    int r;

    if (yyjson_arr_size(list) > MAX_TERMS)
        return sl_err_set(t->err, SL_ELIMIT, "%s: more than %u of them", what, MAX_TERMS);
    yyjson_arr_foreach (list, i, n, c) {
        bool null, own;
        if (strcmp(sl_json_str(c, "whenUnsatisfiable"), "ScheduleAnyway") == 0)
            continue;
        r = selects_itself(t, c, what, &null, &own);
        if (r < 0)
            return r;
        if (null) /* of no pods */
            continue;
        if (!own)
            return sl_err_set(t->err, SL_EINVAL,
                              "%s: expected a labelSelector that selects the pods of the job "
                              "itself; the spread of other pods cannot be honoured",
                              what);
        r = find_tier(t, c, what, &tier);
        if (r < 0)
            return r;
        int32_t skew = sl_json_int32(c, "maxSkew", 0);
        if (skew < 1)
            return sl_err_set(t->err, SL_EINVAL, "%s: expected a maxSkew of at least 1", what);
        at_most(tier, (uint32_t)skew);
    }
    return 0;
}

int fq_shape_read(struct fq_shape *s, yyjson_val *spec, yyjson_val *labels, const char *ns,
                  struct sl_err *err) {
    const struct terms t = {.s = s, .labels = labels, .ns = ns, .err = err};
    int r = read_affinity(&t, spec, false);

    if (r >= 0)
        r = read_affinity(&t, spec, true);
    return r < 0 ? r : read_spread(&t, spec);
}

static bool is_about_pods(yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v)
        if (sl_json_get(v, "labelSelector") &&
            strcmp(sl_json_str(v, "whenUnsatisfiable"), "ScheduleAnyway") != 0)
            return true;
    return false;
}

bool fq_jobspec_needs_others(yyjson_val *pod_spec) {
    yyjson_val *affinity = sl_json_get(pod_spec, "affinity");

    return is_about_pods(sl_json_get(sl_json_get(affinity, "podAffinity"), REQUIRED)) ||
           is_about_pods(sl_json_get(sl_json_get(affinity, "podAntiAffinity"), REQUIRED)) ||
           is_about_pods(sl_json_get(pod_spec, "topologySpreadConstraints"));
}

/* ---- the answer ---- */

/* Can tiers below have their exact numbers, if there are so many in each vertex of this one? */
static bool divides_below(const struct fq_shape *s, uint32_t tier, uint32_t each) {
    for (uint32_t i = tier; i <= s->n_levels; i++)
        if (s->tiers[i].exact && each % s->tiers[i].exact != 0)
            return false;
    return true;
}

int fq_shape_solve(struct fq_shape *s, struct sl_err *err) {
    uint32_t above = s->pods;

    s->first = s->n_levels + 1;
    for (uint32_t i = 0; i <= s->n_levels; i++) {
        struct fq_tier *t = &s->tiers[i];
        bool said = t->exact || t->most;
        if (i == s->n_levels)
            s->nodes = said;
        if (said && i < s->first)
            s->first = i;
        if (i < s->first)
            continue;
        uint32_t each = above;
        if (t->most && t->most < each)
            each = t->most;
        if (t->exact && t->exact < each)
            each = t->exact;
        if (t->exact > each)
            each = 0;
        while (each > 0 && (above % each != 0 || !divides_below(s, i, each)))
            each--;
        if (each == 0)
            return sl_err_set(err, SL_EINVAL,
                              "expected the pods of each %s to be as annotations and affinity say: "
                              "%u pods cannot be so",
                              t->type, s->pods);
        t->each = each;
        above = each;
    }
    return 0;
}
