/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology assignments of a podset. v1beta1 lists every domain with its value per level; v1beta2
 * has slices of many domains, in which common parts are written once: a value or a count that is
 * the same for all ("universal"), or the common prefix and suffix of all values.
 *
 *     {"levels": ["host"], "domains": [{"values": ["node-1"], "count": 2}, ...]}
 *     {"levels": ["host"], "slices": [{"domainCount": 2, "podCounts": {"universal": 2},
 *         "valuesPerLevel": [{"individual": {"prefix": "node-", "roots": ["1", ...]}}]}]}
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/admission/convert.h"

/* The schema's. */
#define MAX_LEVELS 16u
#define MAX_SLICES 1000u
#define MAX_SLICE_DOMAINS 100000u

static void add(struct sl_convert *cv, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value) {
    bool ok = yyjson_mut_obj_put(object, yyjson_mut_str(cv->doc, key), value);
    sl_assert(ok);
}

static int spend(struct sl_convert *cv, size_t bytes) {
    if (bytes > cv->room_bytes)
        return sl_err_set(cv->err, SL_ELIMIT, "the topologyAssignment is too large to convert");
    cv->room_bytes -= bytes;
    return 0;
}

static int misfit(struct sl_convert *cv, const char *what) {
    return sl_err_set(cv->err, SL_EINVAL, "topologyAssignment: %s", what);
}

/* ---- domains to slices ---- */

static bool continues(char c) {
    return (c & 0xc0) == 0x80; /* a byte within a UTF-8 character */
}

/* How many bytes all values share at the beginning and at the end. Where the two would overlap on
 * the shortest value, the end wins. */
static void common(const struct sl_text *v, size_t n, size_t stride, size_t *ret_prefix,
                   size_t *ret_suffix) {
    size_t prefix = v[0].n, suffix = v[0].n, shortest = v[0].n;

    for (size_t i = 1; i < n; i++) {
        const struct sl_text *t = &v[i * stride];
        size_t k = 0;
        shortest = t->n < shortest ? t->n : shortest;
        while (k < prefix && k < t->n && t->s[k] == v[0].s[k])
            k++;
        prefix = k;
        for (k = 0; k < suffix && k < t->n && t->s[t->n - 1 - k] == v[0].s[v[0].n - 1 - k];)
            k++;
        suffix = k;
    }
    while (suffix > 0 && continues(v[0].s[v[0].n - suffix]))
        suffix--;
    if (prefix + suffix > shortest)
        prefix = shortest - suffix;
    while (prefix > 0 && prefix < v[0].n && continues(v[0].s[prefix]))
        prefix--;
    *ret_prefix = prefix;
    *ret_suffix = suffix;
}

static bool all_same(const struct sl_text *v, size_t n, size_t stride) {
    for (size_t i = 1; i < n; i++)
        if (v[i * stride].n != v[0].n || memcmp(v[i * stride].s, v[0].s, v[0].n) != 0)
            return false;
    return true;
}

static yyjson_mut_val *level_values(struct sl_convert *cv, const struct sl_text *v, size_t n,
                                    size_t stride) {
    yyjson_mut_doc *doc = cv->doc;
    yyjson_mut_val *level = yyjson_mut_obj(doc), *each = yyjson_mut_obj(doc), *roots;
    size_t prefix, suffix;

    if (all_same(v, n, stride)) {
        add(cv, level, "universal", yyjson_mut_strncpy(doc, v[0].s, v[0].n));
        return level;
    }
    common(v, n, stride, &prefix, &suffix);
    if (prefix > 0)
        add(cv, each, "prefix", yyjson_mut_strncpy(doc, v[0].s, prefix));
    if (suffix > 0)
        add(cv, each, "suffix", yyjson_mut_strncpy(doc, v[0].s + v[0].n - suffix, suffix));
    roots = yyjson_mut_arr(doc);
    for (size_t i = 0; i < n; i++) {
        const struct sl_text *t = &v[i * stride];
        (void)yyjson_mut_arr_add_strncpy(doc, roots, t->s + prefix, t->n - prefix - suffix);
    }
    add(cv, each, "roots", roots);
    add(cv, level, "individual", each);
    return level;
}

static yyjson_mut_val *pod_counts(struct sl_convert *cv, const int64_t *counts, size_t n) {
    yyjson_mut_val *v = yyjson_mut_obj(cv->doc);
    bool same = true;

    for (size_t i = 1; i < n; i++)
        same = same && counts[i] == counts[0];
    if (same)
        add(cv, v, "universal", yyjson_mut_sint(cv->doc, counts[0]));
    else
        add(cv, v, "individual", yyjson_mut_arr_with_sint64(cv->doc, counts, n));
    return v;
}

/* A table of domains: n rows of one value per level, and a count each. */
struct domains {
    struct sl_text *values;
    int64_t *counts;
    size_t n, levels;
};

static void free_domains(struct domains *d) {
    sl_freep(&d->values);
    sl_freep(&d->counts);
}

static int read_domains(struct sl_convert *cv, yyjson_mut_val *list, struct domains *d) {
    size_t i, j, n, m;
    yyjson_mut_val *domain, *value;

    d->values = sl_alloc0(d->n * d->levels, sizeof(*d->values));
    d->counts = sl_alloc0(d->n, sizeof(*d->counts));
    yyjson_mut_arr_foreach (list, i, n, domain) {
        yyjson_mut_val *values = yyjson_mut_obj_get(domain, "values");
        if (yyjson_mut_arr_size(values) != d->levels)
            return misfit(cv, "a domain must have one value per level");
        yyjson_mut_arr_foreach (values, j, m, value) {
            if (!yyjson_mut_is_str(value))
                return misfit(cv, "a domain's values must be strings");
            d->values[i * d->levels + j] = sl_json_mut_view(value);
        }
        d->counts[i] = yyjson_mut_get_sint(yyjson_mut_obj_get(domain, "count"));
    }
    return 0;
}

static yyjson_mut_val *slice_of(struct sl_convert *cv, const struct domains *d, size_t first,
                                size_t n) {
    yyjson_mut_val *slice = yyjson_mut_obj(cv->doc), *levels = yyjson_mut_arr(cv->doc);

    add(cv, slice, "domainCount", yyjson_mut_uint(cv->doc, n));
    for (size_t i = 0; i < d->levels; i++)
        (void)yyjson_mut_arr_append(
            levels, level_values(cv, &d->values[first * d->levels + i], n, d->levels));
    add(cv, slice, "valuesPerLevel", levels);
    add(cv, slice, "podCounts", pod_counts(cv, d->counts + first, n));
    return slice;
}

int sl_convert_domains_to_slices(struct sl_convert *cv, yyjson_mut_val *assignment) {
    _cleanup_(free_domains) struct domains d = {0};
    yyjson_mut_val *list = yyjson_mut_obj_remove_key(assignment, "domains");
    yyjson_mut_val *slices = yyjson_mut_arr(cv->doc);
    int r;

    if (!yyjson_mut_is_obj(assignment))
        return misfit(cv, "it is no object");
    d.n = yyjson_mut_arr_size(list);
    d.levels = yyjson_mut_arr_size(yyjson_mut_obj_get(assignment, "levels"));
    if (d.n > (size_t)MAX_SLICES * MAX_SLICE_DOMAINS || d.levels > MAX_LEVELS)
        return misfit(cv, "too many domains or levels");
    r = d.n > 0 ? read_domains(cv, list, &d) : 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < d.n; i += MAX_SLICE_DOMAINS) {
        size_t left = d.n - i;
        (void)yyjson_mut_arr_append(
            slices, slice_of(cv, &d, i, left < MAX_SLICE_DOMAINS ? left : MAX_SLICE_DOMAINS));
    }
    add(cv, assignment, "slices", slices);
    return 0;
}

/* ---- slices to domains ---- */

/* One level of a slice: what stands around each root, and where we are among them. */
struct level {
    bool is_universal;
    struct sl_text universal, prefix, suffix;
    yyjson_mut_arr_iter roots;
};

struct slice {
    struct level levels[MAX_LEVELS];
    size_t n_levels, n_domains;
    yyjson_mut_val *universal_count;
    yyjson_mut_arr_iter counts;
};

static int read_level(struct sl_convert *cv, yyjson_mut_val *v, size_t n, struct level *ret) {
    yyjson_mut_val *each = yyjson_mut_obj_get(v, "individual");
    yyjson_mut_val *roots = yyjson_mut_obj_get(each, "roots");
    yyjson_mut_val *universal = yyjson_mut_obj_get(v, "universal");

    *ret = (struct level){
        .is_universal = yyjson_mut_is_str(universal),
        .universal = sl_json_mut_view(universal),
        .prefix = sl_json_mut_view(yyjson_mut_obj_get(each, "prefix")),
        .suffix = sl_json_mut_view(yyjson_mut_obj_get(each, "suffix")),
        .roots = yyjson_mut_arr_iter_with(roots),
    };
    if (!ret->is_universal && yyjson_mut_arr_size(roots) != n)
        return misfit(cv, "a slice must have one root per domain");
    return 0;
}

static int read_slice(struct sl_convert *cv, yyjson_mut_val *v, size_t levels, struct slice *ret) {
    yyjson_mut_val *counts = yyjson_mut_obj_get(v, "podCounts");
    yyjson_mut_val *individual = yyjson_mut_obj_get(counts, "individual");
    yyjson_mut_val *values = yyjson_mut_obj_get(v, "valuesPerLevel"), *level;
    uint64_t n_domains = yyjson_mut_get_uint(yyjson_mut_obj_get(v, "domainCount"));
    size_t i, n;

    if (n_domains > MAX_SLICE_DOMAINS)
        return misfit(cv, "a slice has too many domains");
    *ret = (struct slice){
        .n_levels = levels,
        .n_domains = (size_t)n_domains,
        .universal_count = yyjson_mut_obj_get(counts, "universal"),
        .counts = yyjson_mut_arr_iter_with(individual),
    };
    if (!ret->universal_count && yyjson_mut_arr_size(individual) != ret->n_domains)
        return misfit(cv, "a slice must have one count per domain");
    if (yyjson_mut_arr_size(values) != levels)
        return misfit(cv, "a slice must have values for each level");
    yyjson_mut_arr_foreach (values, i, n, level) {
        int r = read_level(cv, level, ret->n_domains, &ret->levels[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The value of the next domain at a level. */
static int next_value(struct sl_convert *cv, struct level *l, yyjson_mut_val **ret) {
    if (l->is_universal) {
        *ret = yyjson_mut_strn(cv->doc, l->universal.s, l->universal.n);
        return spend(cv, l->universal.n);
    }
    yyjson_mut_val *v = yyjson_mut_arr_iter_next(&l->roots);
    if (!yyjson_mut_is_str(v))
        return misfit(cv, "a root must be a string");
    struct sl_text root = sl_json_mut_view(v);
    size_t n = l->prefix.n + root.n + l->suffix.n;
    if (spend(cv, n) < 0)
        return SL_ELIMIT;
    char *s = sl_alloc(n + 1);
    memcpy(s, l->prefix.s, l->prefix.n);
    memcpy(s + l->prefix.n, root.s, root.n);
    memcpy(s + l->prefix.n + root.n, l->suffix.s, l->suffix.n);
    *ret = yyjson_mut_strncpy(cv->doc, s, n);
    free(s);
    return 0;
}

static int expand(struct sl_convert *cv, struct slice *s, yyjson_mut_val *domains) {
    for (size_t i = 0; i < s->n_domains; i++) {
        yyjson_mut_val *domain = yyjson_mut_obj(cv->doc), *values = yyjson_mut_arr(cv->doc);
        yyjson_mut_val *value = NULL;
        yyjson_mut_val *count =
            s->universal_count ? s->universal_count : yyjson_mut_arr_iter_next(&s->counts);
        for (size_t k = 0; k < s->n_levels; k++) {
            int r = next_value(cv, &s->levels[k], &value);
            if (r < 0)
                return r;
            (void)yyjson_mut_arr_append(values, value);
        }
        /* What the nodes take in memory, and some bytes of punctuation. */
        if (spend(cv, (6 + s->n_levels) * sizeof(yyjson_mut_val)) < 0)
            return SL_ELIMIT;
        add(cv, domain, "values", values);
        add(cv, domain, "count", yyjson_mut_sint(cv->doc, yyjson_mut_get_sint(count)));
        (void)yyjson_mut_arr_append(domains, domain);
    }
    return 0;
}

int sl_convert_slices_to_domains(struct sl_convert *cv, yyjson_mut_val *assignment) {
    yyjson_mut_val *slices = yyjson_mut_obj_remove_key(assignment, "slices"), *v;
    yyjson_mut_val *domains = yyjson_mut_arr(cv->doc);
    size_t levels = yyjson_mut_arr_size(yyjson_mut_obj_get(assignment, "levels")), i, n;
    struct slice slice;

    if (!yyjson_mut_is_obj(assignment))
        return misfit(cv, "it is no object");
    if (levels > MAX_LEVELS)
        return misfit(cv, "too many levels");
    yyjson_mut_arr_foreach (slices, i, n, v) {
        int r = read_slice(cv, v, levels, &slice);
        if (r >= 0)
            r = expand(cv, &slice, domains);
        if (r < 0)
            return r;
    }
    add(cv, assignment, "domains", domains);
    return 0;
}
