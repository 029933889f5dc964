/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/managers.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(yyjson_mut_val *entry, const char *key) {
    return sl_json_mut_text(yyjson_mut_obj_get(entry, key));
}

/* ---- reading ---- */

static bool same(const struct sl_manager *x, const struct sl_manager *y) {
    return x->applied == y->applied && strcmp(x->name, y->name) == 0 &&
           strcmp(x->subresource, y->subresource) == 0 &&
           (x->applied || strcmp(x->version, y->version) == 0);
}

static struct sl_manager *find(struct sl_managers *m, const struct sl_manager *like) {
    for (uint32_t i = 0; i < m->n; i++) {
        if (same(&m->v[i], like))
            return &m->v[i];
    }
    return NULL;
}

static bool read_one(struct sl_managers *m, yyjson_mut_val *entry) {
    const char *operation = text_of(entry, "operation");
    yyjson_mut_val *fields = yyjson_mut_obj_get(entry, "fieldsV1");
    struct sl_manager x = {
        .name = text_of(entry, "manager"),
        .version = text_of(entry, "apiVersion"),
        .subresource = text_of(entry, "subresource"),
        .time = text_of(entry, "time"),
        .applied = strcmp(operation, "Apply") == 0,
        .entry = entry,
    };
    bool same = true;

    if ((!x.applied && strcmp(operation, "Update") != 0) || !*x.version ||
        strcmp(text_of(entry, "fieldsType"), "FieldsV1") != 0 ||
        (fields && !sl_fields_read(m->a, fields, &x.fields, &same)))
        return false;
    x.touched = !same;
    struct sl_manager *twin = find(m, &x);
    *(twin ? twin : &m->v[m->n++]) = x;
    return true;
}

bool sl_managers_read(struct sl_arena *a, yyjson_mut_val *list, struct sl_managers *ret) {
    yyjson_mut_val *entry;
    size_t i, max, n = yyjson_mut_arr_size(list);

    *ret = (struct sl_managers){.a = a, .cap = 2 * (uint32_t)(n <= SL_MANAGERS_READ ? n : 0) + 2};
    ret->v = sl_arena_alloc(a, ret->cap * sizeof *ret->v);
    if (n > SL_MANAGERS_READ)
        return false;
    yyjson_mut_arr_foreach (list, i, max, entry) {
        if (!read_one(ret, entry)) {
            ret->n = 0;
            return false;
        }
    }
    return true;
}

/* ---- one of them ---- */

static struct sl_manager named(const struct sl_manager_id *by, bool applied) {
    return (struct sl_manager){.name = by->name && *by->name ? by->name : "unknown",
                               .version = by->api_version,
                               .subresource = by->subresource ? by->subresource : "",
                               .time = "",
                               .applied = applied,
                               .touched = true};
}

struct sl_manager *sl_managers_find(struct sl_managers *m, const struct sl_manager_id *by,
                                    bool applied) {
    struct sl_manager like = named(by, applied);
    return find(m, &like);
}

struct sl_manager *sl_managers_add(struct sl_managers *m, const struct sl_manager_id *by,
                                   bool applied) {
    sl_assert(m->n < m->cap);
    m->v[m->n] = named(by, applied);
    return &m->v[m->n++];
}

void sl_managers_sweep(struct sl_managers *m) {
    uint32_t to = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i].fields)
            m->v[to++] = m->v[i];
    }
    m->n = to;
}

/* ---- order ---- */

/* Times have one spelling, in which they order as texts; none is before all. */
static int in_list(const void *px, const void *py) {
    const struct sl_manager *x = px, *y = py;
    int r = (int)y->applied - (int)x->applied;
    if (r == 0)
        r = strcmp(x->time, y->time);
    if (r == 0)
        r = strcmp(x->name, y->name);
    if (r == 0)
        r = strcmp(x->version, y->version);
    return r != 0 ? r : strcmp(x->subresource, y->subresource);
}

/* They are told in the order of their identities, which are JSON: a quote ends each part. */
static int part(const char *x, const char *y) {
    for (; *x && *x == *y; x++, y++)
        ;
    return *x == *y ? 0 : (*x ? (unsigned char)*x : '"') < (*y ? (unsigned char)*y : '"') ? -1 : 1;
}

int sl_manager_cmp(const struct sl_manager *x, const struct sl_manager *y) {
    int r = part(x->name, y->name);
    if (r == 0)
        r = (int)y->applied - (int)x->applied;
    if (r == 0 && !x->applied)
        r = part(x->version, y->version);
    if (r == 0) /* who has none ends with a brace, and so comes last */
        r = (*x->subresource == '\0') - (*y->subresource == '\0');
    return r != 0 ? r : part(x->subresource, y->subresource);
}

static int oldest(const void *px, const void *py) {
    const struct sl_manager *x = *(struct sl_manager *const *)px,
                            *y = *(struct sl_manager *const *)py;
    int r = strcmp(x->time, y->time);
    return r != 0 ? r : sl_manager_cmp(x, y);
}

/* ---- not too many ---- */

/* What goes from one manager to another. It is put together at the end, in n log n. */
struct moved {
    struct sl_manager *to;
    struct sl_fields *fields;
};

static void put_together(struct sl_managers *m, struct moved *moved, uint32_t n) {
    struct sl_fields **v = sl_arena_alloc(m->a, (n + 1) * sizeof(struct sl_fields *));

    for (uint32_t i = 0; i < n; i++) {
        struct sl_manager *to = moved[i].to;
        uint32_t parts = 0;
        if (!to)
            continue;
        v[parts++] = to->fields;
        for (uint32_t k = i; k < n; k++) {
            if (moved[k].to == to) {
                v[parts++] = moved[k].fields;
                moved[k].to = NULL;
            }
        }
        to->fields = sl_fields_unite_all(v, parts);
    }
}

/* The two become the one of old changes in their version, with the time of the later one; if the
 * later one is that itself, what it had is forgotten (the API server does so too). */
static void fuse(struct sl_managers *m, struct sl_manager *first, struct sl_manager *later,
                 struct moved *moved, uint32_t *n_moved) {
    struct sl_manager like = {
        .name = "ancient-changes", .version = later->version, .subresource = ""};
    struct sl_manager *bucket = find(m, &like);

    if (!bucket) {
        bucket = first;
        bucket->name = like.name;
        bucket->subresource = like.subresource;
    }
    if (bucket != later) {
        moved[(*n_moved)++] = (struct moved){bucket, later->fields};
        bucket->time = later->time;
        bucket->touched = true;
    } else {
        for (uint32_t i = 0; i < *n_moved; i++)
            moved[i].to = moved[i].to == later ? NULL : moved[i].to;
    }
    later->fields = NULL;
}

void sl_managers_cap(struct sl_managers *m) {
    struct sl_manager **by_age, **first;
    uint32_t n = 0, n_first = 0, n_moved = 0;

    for (uint32_t i = 0; i < m->n; i++)
        n += !m->v[i].applied;
    if (n <= SL_MANAGERS_MAX)
        return;
    by_age = sl_arena_alloc(m->a, n * sizeof(struct sl_manager *));
    first = sl_arena_alloc(m->a, n * sizeof(struct sl_manager *)); /* of each version */
    struct moved *moved = sl_arena_alloc(m->a, n * sizeof *moved);
    n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (!m->v[i].applied)
            by_age[n++] = &m->v[i];
    }
    qsort(by_age, n, sizeof(struct sl_manager *), oldest);
    for (uint32_t i = 0, left = n; i < n && left > SL_MANAGERS_MAX; i++) {
        uint32_t k = 0;
        while (k < n_first && strcmp(first[k]->version, by_age[i]->version) != 0)
            k++;
        if (k == n_first) {
            first[n_first++] = by_age[i];
        } else {
            fuse(m, first[k], by_age[i], moved, &n_moved);
            left--;
        }
    }
    put_together(m, moved, n_moved);
    sl_managers_sweep(m);
}

void sl_managers_limit(struct sl_managers *m, const struct sl_manager *me) {
    struct sl_manager **by_age;
    uint32_t n = 0, left = m->n;

    if (m->n <= SL_MANAGERS_READ)
        return;
    by_age = sl_arena_alloc(m->a, m->n * sizeof(struct sl_manager *));
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i].applied && &m->v[i] != me)
            by_age[n++] = &m->v[i];
    }
    qsort(by_age, n, sizeof(struct sl_manager *), oldest);
    for (uint32_t i = 0; i < n && left > SL_MANAGERS_READ; i++) {
        struct sl_manager like = {
            .name = "ancient-changes", .version = by_age[i]->version, .subresource = ""};
        struct sl_manager *bucket = find(m, &like);
        if (bucket) {
            bucket->fields = sl_fields_unite(bucket->fields, by_age[i]->fields);
            bucket->time = by_age[i]->time;
            bucket->touched = true;
            by_age[i]->fields = NULL;
            left--;
        } else {
            by_age[i]->name = like.name;
            by_age[i]->subresource = like.subresource;
            by_age[i]->applied = false;
            by_age[i]->touched = true;
        }
    }
    sl_managers_sweep(m);
}

/* ---- writing ---- */

static yyjson_mut_val *write_one(yyjson_mut_doc *doc, const struct sl_manager *x) {
    yyjson_mut_val *v = yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_strcpy(doc, v, "manager", x->name);
    (void)yyjson_mut_obj_add_str(doc, v, "operation", x->applied ? "Apply" : "Update");
    (void)yyjson_mut_obj_add_strcpy(doc, v, "apiVersion", x->version);
    if (*x->time)
        (void)yyjson_mut_obj_add_strcpy(doc, v, "time", x->time);
    (void)yyjson_mut_obj_add_str(doc, v, "fieldsType", "FieldsV1");
    (void)yyjson_mut_obj_add_val(doc, v, "fieldsV1", sl_fields_write(doc, x->fields));
    if (*x->subresource)
        (void)yyjson_mut_obj_add_strcpy(doc, v, "subresource", x->subresource);
    return v;
}

yyjson_mut_val *sl_managers_write(struct sl_managers *m, yyjson_mut_doc *doc) {
    yyjson_mut_val *list = m->n ? yyjson_mut_arr(doc) : NULL;

    qsort(m->v, m->n, sizeof *m->v, in_list);
    for (uint32_t i = 0; i < m->n; i++) {
        const struct sl_manager *x = &m->v[i];
        (void)yyjson_mut_arr_append(list, x->touched || !x->entry ? write_one(doc, x) : x->entry);
    }
    return list;
}

void sl_manager_print(const struct sl_manager *m, struct sl_buf *out) {
    sl_buf_json(out, m->name);
    if (*m->subresource) {
        sl_buf_puts(out, " with subresource ");
        sl_buf_json(out, m->subresource);
    }
    if (!m->applied)
        sl_buf_printf(out, " using %s", m->version);
}
