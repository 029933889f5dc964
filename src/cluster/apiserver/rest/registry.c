/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds by name. The store identifies a resource by a number. A kind that is created again (a CRD)
 * gets its former number, if objects of it were left; else the number may have been reused.
 */
#include <string.h>

#include "cluster/apiserver/server.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

static uint64_t key_of(const char *group, const char *plural) {
    return sl_hash_str(sl_hash_str(7, group), plural);
}

static struct api_kind *kind_at(struct sl_apiserver *s, uint32_t i) {
    return s->kinds[i];
}

struct api_kind *api_kind_find(struct sl_apiserver *s, const char *group, const char *plural) {
    uint32_t cursor;

    for (uint32_t i = sl_map_first(&s->by_plural, key_of(group, plural), &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&s->by_plural, key_of(group, plural), &cursor))
        if (strcmp(kind_at(s, i)->plural, plural) == 0 && strcmp(kind_at(s, i)->group, group) == 0)
            return kind_at(s, i);
    return NULL;
}

struct api_kind *api_kind_by_kind(struct sl_apiserver *s, const char *group, const char *kind) {
    for (uint32_t i = 0; i < s->n_kinds; i++)
        if (strcmp(kind_at(s, i)->kind, kind) == 0 && strcmp(kind_at(s, i)->group, group) == 0)
            return kind_at(s, i);
    return NULL;
}

struct api_kind *api_kind_at(struct sl_apiserver *s, uint32_t number) {
    return number < s->numbers.n ? s->numbers.v[number] : NULL;
}

struct api_kind *api_kind_each(struct sl_apiserver *s, uint32_t *i) {
    return *i < s->n_kinds ? s->kinds[(*i)++] : NULL;
}

const struct api_kind_version *api_kind_version(const struct api_kind *k, const char *version) {
    for (uint32_t i = 0; i < k->n_versions; i++)
        if (strcmp(k->versions[i].name, version) == 0)
            return &k->versions[i];
    return NULL;
}

static int by_name(const struct api_kind *a, const struct api_kind *b) {
    int r = strcmp(a->group, b->group);
    return r ? r : strcmp(a->plural, b->plural);
}

static void index_anew(struct sl_apiserver *s) {
    sl_map_done(&s->by_plural);
    s->by_plural = (struct sl_map){0};
    for (uint32_t i = 0; i < s->n_kinds; i++)
        sl_map_add(&s->by_plural, key_of(kind_at(s, i)->group, kind_at(s, i)->plural), i);
    s->kinds_gen++;
}

uint32_t api_kind_number(const struct sl_apiserver *s, const char *name) {
    for (uint32_t i = 0; i < s->number_names.n; i++)
        if (s->number_names.v[i] && strcmp(s->number_names.v[i], name) == 0)
            return i;
    return UINT32_MAX;
}

/* A number in the store, and what the file has of it. */
static int give_number(struct sl_apiserver *s, struct api_kind *k, struct sl_err *err) {
    char name[600];
    uint32_t i;

    if (k->shares || k->review) {
        k->number = k->shares ? k->shares->number : UINT32_MAX;
        return 0;
    }
    sl_fmt(name, sizeof name, "%s/%s", k->group, k->plural);
    i = api_kind_number(s, name);
    if (i != UINT32_MAX) {
        k->number = i;
        s->numbers.v[i] = k;
        return 0;
    }
    for (i = 0; i < s->number_names.n && s->number_names.v[i];)
        i++;
    if (i >= SL_STORE_RESOURCES)
        return sl_err_set(err, SL_ELIMIT, "more than %u kinds are stored", SL_STORE_RESOURCES);
    if (i == s->number_names.n) {
        (void)sl_vec_push(&s->number_names);
        (void)sl_vec_push(&s->numbers);
    }
    k->number = i;
    s->number_names.v[i] = sl_strdup(name);
    s->numbers.v[i] = k; /* before the store reads: objects are indexed by their kind */
    int r = sl_store_resource(s->store, i, name, err);
    if (r < 0) {
        s->numbers.v[i] = NULL;
        sl_freep(&s->number_names.v[i]);
    }
    return r;
}

bool api_kind_forget(struct sl_apiserver *s, uint32_t number) {
    if (number >= s->numbers.n || s->numbers.v[number] || !s->number_names.v[number] ||
        sl_store_count(s->store, number))
        return true;
    if (!sl_store_drop(s->store, number))
        return false;
    api_pages_forget(s->pages, number);
    sl_freep(&s->number_names.v[number]);
    return true;
}

int api_kind_add(struct sl_apiserver *s, struct api_kind *k, struct sl_err *err) {
    uint32_t i = s->n_kinds;
    int r;

    if (s->n_kinds >= SL_API_KINDS)
        return sl_err_set(err, SL_ELIMIT, "more than %u kinds", SL_API_KINDS);
    if (api_kind_find(s, k->group, k->plural))
        return sl_err_set(err, SL_EEXIST, "%s.%s is served already", k->plural, k->group);
    r = give_number(s, k, err);
    if (r < 0)
        return r;
    for (; i > 0 && by_name(k, s->kinds[i - 1]) < 0; i--)
        s->kinds[i] = s->kinds[i - 1];
    s->kinds[i] = k;
    s->n_kinds++;
    index_anew(s);
    if (!*k->group && strcmp(k->plural, "namespaces") == 0)
        s->namespaces = k;
    return 0;
}

void api_kind_remove(struct sl_apiserver *s, struct api_kind *k) {
    uint32_t i = 0;

    while (i < s->n_kinds && s->kinds[i] != k)
        i++;
    if (i == s->n_kinds)
        return;
    api_watch_end_all(s, k);
    memmove(&s->kinds[i], &s->kinds[i + 1], (s->n_kinds - i - 1) * sizeof(struct api_kind *));
    s->n_kinds--;
    if (k->number < s->numbers.n && s->numbers.v[k->number] == k)
        s->numbers.v[k->number] = NULL;
    index_anew(s);
}

yyjson_doc *api_kind_read(struct sl_apiserver *s, const struct api_kind *k, const char *ns,
                          const char *name) {
    struct sl_store_object *o = k ? sl_store_get(s->store, k->number, ns, name) : NULL;

    return o ? yyjson_read(o->text, o->len, 0) : NULL;
}

void api_registry_done(struct sl_apiserver *s) {
    for (uint32_t i = 0; i < s->number_names.n; i++)
        sl_freep(&s->number_names.v[i]);
    sl_vec_free(&s->number_names);
    sl_vec_free(&s->numbers);
    sl_map_done(&s->by_plural);
}
