/* SPDX-License-Identifier: Apache-2.0 */
/* Parses R; rv1_stage.c makes a graph of it. */
#include "lib/graphio/rv1_read.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ARENA_BYTES ((size_t)1 << 30)
#define MAX_ENTRIES (UINT32_C(1) << 20)
#define MAX_PROPS 4096u

static int ids(const struct graphio_rv1 *x, yyjson_val *v, yyjson_val *near, const char *name,
               struct sl_idset *ret) {
    const char *text;
    struct sl_err why;
    int r = graphio_jin_text(x->j, v, near, name, &text);

    if (r >= 0 && sl_idset_add(ret, text, &why) < 0)
        return graphio_jin_fail(x->j, near, why.code, "%.60s: %s", name, why.text);
    return r;
}

static int entry(struct graphio_rv1 *x, yyjson_val *at) {
    yyjson_val *rank, *children, *key, *value;
    size_t i, n;
    int r;

    if (!yyjson_is_obj(at))
        return graphio_jin_fail(x->j, at, SL_EINVAL, "R_lite: expected objects");
    struct graphio_rv1_entry *e = sl_vec_push(&x->entries);
    *e = (struct graphio_rv1_entry){.at = at, .children = x->children.n};
    if ((r = graphio_jin_need(x->j, at, "rank", SL_JIN_TEXT, &rank)) < 0 ||
        (r = ids(x, rank, rank, "rank", &e->ranks)) < 0 ||
        (r = graphio_jin_get(x->j, at, "children", SL_JIN_MAP, &children)) < 0)
        return r;
    if (!children)
        return 0;
    if (x->children.n + yyjson_obj_size(children) > MAX_ENTRIES)
        return graphio_jin_fail(x->j, at, SL_ELIMIT, "more than %u children in R_lite",
                                MAX_ENTRIES);
    sl_obj_foreach (children, i, n, key, value) {
        struct graphio_rv1_child *c = sl_vec_push(&x->children);
        *c = (struct graphio_rv1_child){0};
        e->n_children++;
        if ((r = graphio_jin_text(x->j, key, key, "children", &c->type)) < 0 ||
            (r = ids(x, value, key, c->type, &c->ids)) < 0)
            return r;
    }
    return 0;
}

/* A key is "name", "name=value" as answers write it, or "name@type". */
static int property(struct graphio_rv1 *x, yyjson_val *key, yyjson_val *value) {
    struct graphio_rv1_prop *p = sl_vec_push(&x->props);
    const char *text, *at;
    int r;

    *p = (struct graphio_rv1_prop){.value = ""};
    if ((r = graphio_jin_text(x->j, key, key, "properties", &text)) < 0)
        return r;
    at = strchr(text, '=');
    p->name = at ? sl_arena_strndup(&x->arena, text, (size_t)(at - text)) : text;
    p->value = at ? at + 1 : "";
    if (!*p->name || strpbrk(p->name, "!&'\"^`|()"))
        return graphio_jin_fail(x->j, key, SL_EINVAL,
                                "properties: expected a name without !&'\"^`|(), got \"%.60s\"",
                                text);
    at = strchr(p->name, '@');
    if (at && at[1] && at > p->name) {
        p->child = at + 1;
        p->bare = sl_arena_strndup(&x->arena, p->name, (size_t)(at - p->name));
    }
    return ids(x, value, key, p->name, &p->ranks);
}

/* Whole seconds; a fraction of the last one is not there. 0 is as good as absent. */
static int seconds(const struct graphio_rv1 *x, yyjson_val *map, const char *key, int64_t *ret) {
    yyjson_val *v;
    int r = graphio_jin_get(x->j, map, key, SL_JIN_ANY, &v);

    if (r < 0 || !v)
        return r;
    double d = yyjson_is_num(v) ? floor(yyjson_get_num(v)) : -1;
    if (!(d >= 0 && d <= 0x1p62))
        return graphio_jin_fail(x->j, v - 1, SL_EINVAL, "%s: expected seconds since 1970", key);
    *ret = d > 0 ? (int64_t)d : -1;
    return 0;
}

static int all_ranks(struct graphio_rv1 *x, yyjson_val *lite) {
    uint64_t sum = 0, n = 0;

    for (uint32_t i = 0; i < x->entries.n; i++) {
        const struct sl_idset *s = &x->entries.v[i].ranks;
        sum += sl_idset_count(s);
        if (s->ranges.n > SL_IDSET_MAX_RANGES - x->ranks.ranges.n)
            return graphio_jin_fail(x->j, lite - 1, SL_ELIMIT,
                                    "R_lite: more than %u ranges of ranks", SL_IDSET_MAX_RANGES);
        for (uint32_t k = 0; k < s->ranges.n; k++)
            *sl_vec_push(&x->ranks.ranges) = s->ranges.v[k];
    }
    sl_idset_settle(&x->ranks);
    x->repeated = sum != sl_idset_count(&x->ranks);
    for (uint32_t i = 0; i < x->ranks.ranges.n; i++) {
        *sl_vec_push(&x->before) = n;
        n += (uint64_t)(x->ranks.ranges.v[i].last - x->ranks.ranges.v[i].first) + 1;
    }
    return 0;
}

static int execution(struct graphio_rv1 *x, yyjson_val *exec, uint32_t max) {
    yyjson_val *lite, *list, *props, *key, *v;
    struct sl_err why;
    const char *text;
    size_t i, n;
    int r;

    if ((r = graphio_jin_need(x->j, exec, "R_lite", SL_JIN_LIST, &lite)) < 0 ||
        (r = graphio_jin_get(x->j, exec, "nodelist", SL_JIN_LIST, &list)) < 0 ||
        (r = graphio_jin_get(x->j, exec, "properties", SL_JIN_MAP, &props)) < 0 ||
        (r = seconds(x, exec, "starttime", &x->time.start)) < 0 ||
        (r = seconds(x, exec, "expiration", &x->time.end)) < 0)
        return r;
    if (x->time.end >= 0 && x->time.end <= x->time.start)
        return graphio_jin_fail(x->j, exec, SL_EINVAL,
                                "expiration: expected a time after starttime");
    if (yyjson_arr_size(lite) > MAX_ENTRIES || yyjson_obj_size(props) > MAX_PROPS)
        return graphio_jin_fail(x->j, exec, SL_ELIMIT,
                                "more than %u entries in R_lite, or %u properties", MAX_ENTRIES,
                                MAX_PROPS);
    yyjson_arr_foreach (lite, i, n, v)
        if ((r = entry(x, v)) < 0)
            return r;
    r = all_ranks(x, lite);
    if (r < 0)
        return r;
    if (sl_idset_count(&x->ranks) > max) /* before a name is made for each */
        return graphio_jin_fail(x->j, lite - 1, SL_ELIMIT, "more than %u vertices", max);
    if (props)
        sl_obj_foreach (props, i, n, key, v)
            if ((r = property(x, key, v)) < 0)
                return r;
    if (!list)
        return 0;
    yyjson_arr_foreach (list, i, n, v) {
        if ((r = graphio_jin_text(x->j, v, list - 1, "nodelist", &text)) < 0)
            return r;
        if (sl_hostlist_add(&x->hosts, &x->arena, text, &why) < 0)
            return graphio_jin_fail(x->j, v, why.code, "nodelist: %s", why.text);
    }
    if (x->hosts.names.n != sl_idset_count(&x->ranks))
        return graphio_jin_fail(x->j, list - 1, SL_EINVAL,
                                "nodelist: expected a host for each of %" PRIu64 " ranks, got %u",
                                sl_idset_count(&x->ranks), x->hosts.names.n);
    return 0;
}

int graphio_rv1_read(struct graphio_rv1 *x, const struct graphio_jin *j, uint32_t max) {
    yyjson_val *exec;
    int64_t version = 0;
    int r;

    *x = (struct graphio_rv1){.j = j, .time = {-1, -1}};
    sl_arena_init(&x->arena, ARENA_BYTES);
    if (!yyjson_is_obj(j->root))
        return graphio_jin_fail(j, j->root, SL_EINVAL, "expected R (an object)");
    if ((r = graphio_jin_int(j, j->root, "version", 1, 1, &version)) < 0)
        return r;
    if (version != 1)
        return graphio_jin_fail(j, j->root, SL_EINVAL, "expected the key \"version\", 1");
    if ((r = graphio_jin_need(j, j->root, "execution", SL_JIN_MAP, &exec)) < 0 ||
        (r = graphio_jin_get(j, j->root, "scheduling", SL_JIN_ANY, &x->scheduling)) < 0)
        return r;
    return execution(x, exec, max);
}

void graphio_rv1_done(struct graphio_rv1 *x) {
    for (uint32_t i = 0; i < x->entries.n; i++)
        sl_idset_done(&x->entries.v[i].ranks);
    for (uint32_t i = 0; i < x->children.n; i++)
        sl_idset_done(&x->children.v[i].ids);
    for (uint32_t i = 0; i < x->props.n; i++)
        sl_idset_done(&x->props.v[i].ranks);
    sl_vec_free(&x->entries);
    sl_vec_free(&x->children);
    sl_vec_free(&x->props);
    sl_idset_done(&x->ranks);
    sl_vec_free(&x->before);
    sl_hostlist_done(&x->hosts);
    sl_arena_done(&x->arena);
}

const char *graphio_rv1_host(const struct graphio_rv1 *x, int64_t rank) {
    uint32_t lo = 0, hi = x->ranks.ranges.n;

    if (x->hosts.names.n == 0)
        return NULL;
    while (lo < hi) { /* the range that has it */
        uint32_t mid = lo + (hi - lo) / 2;
        if (x->ranks.ranges.v[mid].last < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return x->hosts.names.v[x->before.v[lo] + (uint64_t)(rank - x->ranks.ranges.v[lo].first)];
}

int graphio_rv1_jgf(const struct graphio_rv1 *x, yyjson_val **ret, bool *ret_shorthand) {
    yyjson_val *graph;
    const char *writer = "fluxion";
    int r;

    *ret = NULL;
    *ret_shorthand = false;
    if (!x->scheduling)
        return 0;
    if (!yyjson_is_obj(x->scheduling))
        return graphio_jin_fail(x->j, x->scheduling - 1, SL_EINVAL,
                                "scheduling: expected an object with \"graph\"");
    if ((r = graphio_jin_str(x->j, x->scheduling, "writer", &writer)) < 0 ||
        (r = graphio_jin_need(x->j, x->scheduling, "graph", SL_JIN_MAP, &graph)) < 0)
        return r;
    if (strcmp(writer, "fluxion:jgf_shorthand") == 0)
        *ret_shorthand = true;
    else if (strcmp(writer, "fluxion") != 0 && strcmp(writer, "fluxion:") != 0 &&
             strcmp(writer, "fluxion:jgf") != 0)
        return graphio_jin_fail(
            x->j, x->scheduling - 1, SL_EINVAL,
            "scheduling: expected fluxion:jgf or fluxion:jgf_shorthand as writer, "
            "got \"%.60s\"",
            writer);
    *ret = x->scheduling;
    return 0;
}
