/* SPDX-License-Identifier: Apache-2.0 */
/* How a job stands, by its row. */
#include <string.h>
#include <strings.h>

#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

static bool has_word(const struct sl_jobkind_words *w, const char *s) {
    for (uint32_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i], s) == 0)
            return true;
    return false;
}

/* The items of a list, or the values of a map. */
struct items {
    yyjson_val *next;
    size_t left;
    bool map;
};

static struct items items_of(yyjson_val *v) {
    struct items it = {.left = sl_json_size(v), .map = yyjson_is_obj(v)};
    if (it.left > SL_JOBKIND_MAX_ITEMS)
        it.left = SL_JOBKIND_MAX_ITEMS;
    it.next = it.left ? unsafe_yyjson_get_first(v) : NULL;
    return it;
}

static yyjson_val *next_item(struct items *it) {
    if (!it->left)
        return NULL;
    yyjson_val *v = it->map ? it->next + 1 : it->next;
    if (--it->left)
        it->next = unsafe_yyjson_get_next(v);
    return v;
}

/* ---- tests ---- */

static yyjson_val *condition(yyjson_val *o, const char *type) {
    struct items it = items_of(sl_json_at(o, "status.conditions"));
    for (yyjson_val *c; (c = next_item(&it));)
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            return strcmp(sl_json_str(c, "status"), "True") == 0 ? c : NULL;
    return NULL;
}

static bool is_set(yyjson_val *v) {
    if (yyjson_is_ctn(v))
        return sl_json_size(v) > 0;
    return yyjson_is_str(v) ? sl_json_view(v).n > 0 : v != NULL;
}

static bool any(yyjson_val *o, const struct sl_jobkind_test *t) {
    struct items it = items_of(sl_json_at(o, t->path));
    for (yyjson_val *v; (v = next_item(&it));)
        if (sl_json_int(v, t->words.v[0], 0) != 0)
            return true;
    return false;
}

static bool sum(yyjson_val *o, const struct sl_jobkind_test *t,
                const struct sl_jobkind_podsets *p) {
    struct items it = items_of(sl_json_at(o, t->path));
    int64_t have = 0, want = 0;
    for (yyjson_val *v; (v = next_item(&it));)
        for (uint32_t i = 0; i < t->words.n; i++)
            have += sl_json_int32(v, t->words.v[i], 0);
    for (uint32_t i = 0; p && i < p->n; i++)
        want += p->v[i].units;
    return p && have == want;
}

static bool count(yyjson_val *o, const struct sl_jobkind_test *t) {
    struct items it = items_of(sl_json_at(o, t->path));
    int32_t n = 0, want = sl_json_int32(o, t->other, 0);
    for (yyjson_val *v; (v = next_item(&it));)
        n += has_word(&t->words, sl_json_text(v));
    return n >= want;
}

static bool holds(yyjson_val *o, const struct sl_jobkind_test *t,
                  const struct sl_jobkind_podsets *p) {
    switch (t->kind) {
    case SL_JOBKIND_CONDITION:
        return (condition(o, t->path) != NULL) != t->negated;
    case SL_JOBKIND_VALUE:
        return has_word(&t->words, sl_json_str(o, t->path)) != t->negated;
    case SL_JOBKIND_SET:
        return is_set(sl_json_at(o, t->path));
    case SL_JOBKIND_ANY:
        return any(o, t);
    case SL_JOBKIND_SUM:
        return sum(o, t, p);
    case SL_JOBKIND_COUNT:
        return count(o, t);
    }
    return false;
}

static bool all(yyjson_val *o, const struct sl_jobkind_tests *t,
                const struct sl_jobkind_podsets *p) {
    for (uint32_t i = 0; i < t->n; i++)
        if (!holds(o, &t->v[i], p))
            return false;
    return true;
}

/* ---- the state ---- */

bool sl_jobkind_suspended(const struct sl_jobkind *k, yyjson_val *o) {
    return sl_json_bool(o, k->suspend, false);
}

bool sl_jobkind_skipped(const struct sl_jobkind *k, yyjson_val *o) {
    return k->skip.n && all(o, &k->skip, NULL);
}

bool sl_jobkind_active(const struct sl_jobkind *k, yyjson_val *o) {
    return k->active.n && all(o, &k->active, NULL);
}

bool sl_jobkind_ready(const struct sl_jobkind *k, yyjson_val *o,
                      const struct sl_jobkind_podsets *p) {
    return all(o, &k->ready, p);
}

const char *sl_jobkind_managed_by(const struct sl_jobkind *k, yyjson_val *o) {
    return k->managed_by ? sl_json_opt(sl_json_at(o, k->managed_by)) : NULL;
}

static const char *message_of(yyjson_val *o, const struct sl_jobkind_end *e) {
    if (e->text)
        return e->text;
    if (e->message)
        return sl_json_str(o, e->message);
    for (uint32_t i = 0; i < e->when.n; i++)
        if (e->when.v[i].kind == SL_JOBKIND_CONDITION && !e->when.v[i].negated)
            return sl_json_str(condition(o, e->when.v[i].path), "message");
    return "";
}

struct sl_jobkind_finish sl_jobkind_finished(const struct sl_jobkind *k, yyjson_val *o) {
    for (uint32_t i = 0; i < k->n_ends; i++)
        if (all(o, &k->ends[i].when, NULL))
            return (struct sl_jobkind_finish){true, k->ends[i].succeeded,
                                              message_of(o, &k->ends[i])};
    return (struct sl_jobkind_finish){0};
}

/* A count is made of units, each of the same number of pods. */
bool sl_jobkind_reclaimable(const struct sl_jobkind *k, yyjson_val *o,
                            const struct sl_jobkind_podsets *p,
                            int32_t ret[SL_JOBKIND_MAX_PODSETS]) {
    if (!k->reclaimable.list)
        return false;
    memset(ret, 0, SL_JOBKIND_MAX_PODSETS * sizeof *ret);
    struct items it = items_of(sl_json_at(o, k->reclaimable.list));
    bool says = it.left > 0;
    for (yyjson_val *v; (v = next_item(&it));) {
        const char *name = sl_json_str(v, k->reclaimable.name);
        int32_t done = sl_json_int32(v, k->reclaimable.done, 0);
        for (uint32_t i = 0; i < p->n; i++)
            if (strcasecmp(p->v[i].name, name) == 0 && done > 0 && done <= p->v[i].units)
                ret[i] = jobkind_times(done, p->v[i].count / p->v[i].units);
    }
    return says;
}
