/* SPDX-License-Identifier: Apache-2.0 */
/* The podsets of an object, by the groups of its row. */
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define MAX_ARENA ((size_t)256 << 10) /* names and paths of 18 podsets */

/* ---- helpers for rules ---- */

int32_t jobkind_times(int64_t a, int64_t b) {
    if (a <= 0 || b <= 0)
        return 0;
    return a > INT32_MAX / b ? INT32_MAX : (int32_t)(a * b);
}

const char *jobkind_lower(struct sl_arena *a, const char *s) {
    char *t = sl_arena_strndup(a, s, strnlen(s, SL_JOBKIND_MAX_WORD + 1));
    for (char *c = t; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return t;
}

const char *jobkind_step(struct sl_arena *a, const char *pointer, const char *step) {
    size_t n = strlen(pointer), more = 0;
    for (const char *s = step; *s; s++)
        more += *s == '~' || *s == '/';
    char *out = sl_arena_alloc(a, n + strlen(step) + more + 2), *to = out + n;
    memcpy(out, pointer, n);
    *to++ = '/';
    for (const char *s = step; *s; s++) {
        bool special = *s == '~' || *s == '/';
        *to++ = special ? '~' : *s;
        if (special)
            *to++ = *s == '~' ? '0' : '1';
    }
    *to = '\0';
    return out;
}

/* Those of a path, whose steps have nothing to escape. */
static const char *steps(struct sl_arena *a, const char *pointer, const char *path) {
    size_t n = strlen(pointer);
    char *s = sl_arena_printf(a, "%s/%s", pointer, path);
    for (char *c = s + n; *c; c++)
        if (*c == '.')
            *c = '/';
    return s;
}

int jobkind_too_many(struct sl_err *err) {
    return sl_err_set(err, SL_ELIMIT, "more than %u podsets: a Workload has no more",
                      SL_JOBKIND_MAX_PODSETS);
}

struct sl_jobkind_pods *jobkind_add(struct sl_jobkind_podsets *p) {
    if (p->n == SL_JOBKIND_MAX_PODSETS)
        return NULL;
    p->v[p->n] = (struct sl_jobkind_pods){.count = 1, .units = 1, .sub_count = -1};
    return &p->v[p->n++];
}

yyjson_val *jobkind_copy(struct sl_jobkind_podsets *p, yyjson_mut_val *v) {
    sl_assert(p->n_made < SL_LEN(p->made));
    yyjson_doc *d = yyjson_mut_val_imut_copy(v, NULL);
    p->made[p->n_made++] = d;
    return yyjson_doc_get_root(d);
}

yyjson_val *jobkind_keep(struct sl_jobkind_podsets *p, yyjson_mut_doc *doc, yyjson_mut_val *v) {
    yyjson_val *copy = jobkind_copy(p, v);
    yyjson_mut_doc_free(doc);
    return copy;
}

void sl_jobkind_podsets_done(struct sl_jobkind_podsets *p) {
    for (uint32_t i = 0; i < p->n_made; i++)
        yyjson_doc_free(p->made[i]);
    sl_arena_done(&p->arena);
    *p = (struct sl_jobkind_podsets){.n = 0};
}

/* ---- groups ---- */

static int64_t least(const struct sl_jobkind_factor *f, yyjson_val *item) {
    int64_t n = INT32_MAX;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t v = sl_json_int(item, f->v[i].path, f->v[i].fallback);
        if (v == -1 && !sl_json_at(item, f->v[i].path))
            continue;
        v = v < f->v[i].at_least ? f->v[i].at_least : v;
        n = v < n ? v : n;
    }
    return n;
}

static int32_t count_of(const struct sl_jobkind_group *g, yyjson_val *item) {
    int32_t n = 1;
    for (uint32_t i = 0; i < g->n_factors; i++)
        n = jobkind_times(n, least(&g->factors[i], item));
    return n;
}

/* An item that stands at 'pointer' of the object, and in messages at 'path'. */
static int add_item(const struct sl_jobkind_group *g, yyjson_val *item, const char *name,
                    const char *pointer, const char *path, struct sl_jobkind_podsets *ret,
                    struct sl_err *err) {
    struct sl_jobkind_pods *p = jobkind_add(ret);
    if (!p)
        return jobkind_too_many(err);
    p->name = jobkind_lower(&ret->arena, name);
    p->path = sl_arena_printf(&ret->arena, "%s.%s", path, g->template);
    p->template = p->base = sl_json_at(item, g->template);
    if (!yyjson_is_obj(p->template))
        return sl_err_set(err, SL_EINVAL, "%.150s: expected a pod template", p->path);
    if (!*name || strlen(name) > SL_JOBKIND_MAX_WORD)
        return sl_err_set(err, SL_EINVAL, "%.150s: expected a podset with a name", path);
    p->pointer = steps(&ret->arena, pointer, g->template);
    p->count = count_of(g, item);
    p->units = g->units ? sl_json_int32(item, g->units, 1) : 1;
    if (p->units == 0) /* then the count is 0, too */
        p->units = p->count ? 1 : 0;
    p->rank_label = g->rank_label;
    p->sub_label = g->sub_label;
    p->sub_count = g->sub_count ? sl_json_int32(item, g->sub_count, -1) : -1;
    return 0;
}

static int add_list(const struct sl_jobkind_group *g, yyjson_val *o, struct sl_jobkind_podsets *ret,
                    struct sl_err *err) {
    yyjson_val *list = sl_json_at(o, g->list), *item;
    const char *at = steps(&ret->arena, "", g->list);
    size_t i, n;
    int r = 0;
    if (list && !yyjson_is_arr(list))
        return sl_err_set(err, SL_EINVAL, "%.150s: expected a list", g->list);
    yyjson_arr_foreach (list, i, n, item) {
        if (i == SL_JOBKIND_MAX_PODSETS)
            return jobkind_too_many(err);
        r = add_item(g, item, sl_json_str(item, g->name),
                     sl_arena_printf(&ret->arena, "%s/%zu", at, i),
                     sl_arena_printf(&ret->arena, "%s[%zu]", g->list, i), ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_map(const struct sl_jobkind_group *g, yyjson_val *o, struct sl_jobkind_podsets *ret,
                   struct sl_err *err) {
    yyjson_val *map = sl_json_at(o, g->map);
    const char *at = steps(&ret->arena, "", g->map);
    if (map && !yyjson_is_obj(map))
        return sl_err_set(err, SL_EINVAL, "%.150s: expected a map", g->map);
    for (uint32_t i = 0; i < g->keys.n; i++) {
        const char *key = g->keys.v[i];
        yyjson_val *item = yyjson_obj_get(map, key);
        if (!item || yyjson_is_null(item))
            continue;
        int r = add_item(g, item, key, jobkind_step(&ret->arena, at, key),
                         sl_arena_printf(&ret->arena, "%s[%s]", g->map, key), ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_group(const struct sl_jobkind_group *g, yyjson_val *o,
                     struct sl_jobkind_podsets *ret, struct sl_err *err) {
    if (g->list)
        return add_list(g, o, ret, err);
    if (g->map)
        return add_map(g, o, ret, err);
    yyjson_val *item = sl_json_at(o, g->at);
    if (!item && g->optional)
        return 0;
    return add_item(g, item, g->name, steps(&ret->arena, "", g->at), g->at, ret, err);
}

int jobkind_plain(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                  struct sl_err *err) {
    for (uint32_t i = 0; i < k->n_groups; i++) {
        int r = add_group(&k->groups[i], o, ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the whole ---- */

static int by_rule(const struct sl_jobkind *k, yyjson_val *o, yyjson_val *other,
                   struct sl_jobkind_podsets *ret, struct sl_err *err) {
    switch (k->rule) {
    case SL_JOBKIND_PLAIN:
        return jobkind_plain(k, o, ret, err);
    case SL_JOBKIND_RAY:
    case SL_JOBKIND_RAYJOB:
        return jobkind_ray(k, o, ret, err);
    case SL_JOBKIND_APPWRAPPER:
        return jobkind_appwrapper(k, o, ret, err);
    case SL_JOBKIND_TRAINJOB:
        return jobkind_trainjob(o, other, ret, err);
    case SL_JOBKIND_SPARK:
        return jobkind_spark(k, o, ret, err);
    }
    return sl_err_set(err, SL_EINVAL, "no such rule");
}

int sl_jobkind_podsets_of(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                          struct sl_err *err) {
    return sl_jobkind_podsets_with(k, o, NULL, ret, err);
}

int sl_jobkind_podsets_with(const struct sl_jobkind *k, yyjson_val *o, yyjson_val *other,
                            struct sl_jobkind_podsets *ret, struct sl_err *err) {
    *ret = (struct sl_jobkind_podsets){.arena = SL_ARENA(MAX_ARENA)};
    int r = by_rule(k, o, other, ret, err);
    if (r >= 0 && ret->n == 0)
        r = sl_err_set(err, SL_EINVAL, "there is no podset");
    if (r >= 0 && sl_arena_full(&ret->arena))
        r = sl_err_set(err, SL_ELIMIT, "the names of the podsets are too long");
    return r;
}

const char *sl_jobkind_priority(const struct sl_jobkind *k, yyjson_val *o,
                                const struct sl_jobkind_podsets *p) {
    const char *name = k->priority ? sl_json_str(o, k->priority) : "";
    for (uint32_t i = 0; !*name && i < p->n; i++)
        name = sl_json_str(p->v[i].template, "spec.priorityClassName");
    return name;
}
