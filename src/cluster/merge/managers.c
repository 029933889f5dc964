/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/managers.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(yyjson_mut_val *entry, const char *key) {
    return sl_json_mut_text(yyjson_mut_obj_get(entry, key));
}

/* ---- reading ---- */

static bool same_manager(const struct merge_manager *x, const struct merge_manager *y) {
    return x->applied == y->applied && strcmp(x->name, y->name) == 0 &&
           strcmp(x->subresource, y->subresource) == 0 &&
           (x->applied || strcmp(x->version, y->version) == 0);
}

static struct merge_manager *find_manager(struct merge_managers *m,
                                          const struct merge_manager *like) {
    for (uint32_t i = 0; i < m->n; i++) {
        if (same_manager(&m->v[i], like))
            return &m->v[i];
    }
    return NULL;
}

static bool read_one(struct merge_managers *m, yyjson_mut_val *entry) {
    const char *operation = text_of(entry, "operation");
    yyjson_mut_val *fields = yyjson_mut_obj_get(entry, "fieldsV1");
    struct merge_manager x = {
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
        (fields && !merge_fields_read(m->a, fields, &x.fields, &same)))
        return false;
    x.touched = !same;
    struct merge_manager *twin = find_manager(m, &x);
    *(twin ? twin : &m->v[m->n++]) = x;
    return true;
}

bool merge_managers_read(struct sl_arena *a, yyjson_mut_val *list, struct merge_managers *ret) {
    yyjson_mut_val *entry;
    size_t i, max, n = yyjson_mut_arr_size(list);

    *ret =
        (struct merge_managers){.a = a, .cap = 2 * (uint32_t)(n <= SL_MANAGERS_READ ? n : 0) + 2};
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

static struct merge_manager named(const struct sl_manage_id *by, bool applied) {
    return (struct merge_manager){.name = by->name && *by->name ? by->name : "unknown",
                                  .version = by->api_version,
                                  .subresource = by->subresource ? by->subresource : "",
                                  .time = "",
                                  .applied = applied,
                                  .touched = true};
}

struct merge_manager *merge_managers_find(struct merge_managers *m, const struct sl_manage_id *by,
                                          bool applied) {
    struct merge_manager like = named(by, applied);
    return find_manager(m, &like);
}

struct merge_manager *merge_managers_add(struct merge_managers *m, const struct sl_manage_id *by,
                                         bool applied) {
    sl_assert(m->n < m->cap);
    m->v[m->n] = named(by, applied);
    return &m->v[m->n++];
}

void merge_managers_sweep(struct merge_managers *m) {
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
    const struct merge_manager *x = px, *y = py;
    int r = (int)y->applied - (int)x->applied;
    if (r == 0)
        r = strcmp(x->time, y->time);
    if (r == 0)
        r = strcmp(x->name, y->name);
    if (r == 0)
        r = strcmp(x->version, y->version);
    return r != 0 ? r : strcmp(x->subresource, y->subresource);
}

/* Ordered by identity, which is JSON: a quote ends each part. */
static int part(const char *x, const char *y) {
    for (; *x && *x == *y; x++, y++)
        ;
    return *x == *y ? 0 : (*x ? (unsigned char)*x : '"') < (*y ? (unsigned char)*y : '"') ? -1 : 1;
}

int merge_manager_cmp(const struct merge_manager *x, const struct merge_manager *y) {
    int r = part(x->name, y->name);
    if (r == 0)
        r = (int)y->applied - (int)x->applied;
    if (r == 0 && !x->applied)
        r = part(x->version, y->version);
    if (r == 0) /* one without it ends with a brace, and so comes last */
        r = (*x->subresource == '\0') - (*y->subresource == '\0');
    return r != 0 ? r : part(x->subresource, y->subresource);
}

static int oldest(const void *px, const void *py) {
    const struct merge_manager *x = *(struct merge_manager *const *)px,
                               *y = *(struct merge_manager *const *)py;
    int r = strcmp(x->time, y->time);
    return r != 0 ? r : merge_manager_cmp(x, y);
}

/* ---- not too many ---- */

/* What goes from one manager to another. It is put together at the end, in n log n. */
struct moved {
    struct merge_manager *to;
    struct merge_fields *fields;
};

static void put_together(struct merge_managers *m, struct moved *moved, uint32_t n) {
    struct merge_fields **v = sl_arena_alloc(m->a, (n + 1) * sizeof(struct merge_fields *));

    for (uint32_t i = 0; i < n; i++) {
        struct merge_manager *to = moved[i].to;
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
        to->fields = merge_fields_unite_all(v, parts);
    }
}

/* Merges both into the "ancient-changes" entry of their version, with the time of the later one; if
 * the later one is that entry itself, what it had is dropped (as by the API server). */
static void merge_into_bucket(struct merge_managers *m, struct merge_manager *first,
                              struct merge_manager *later, struct moved *moved, uint32_t *n_moved) {
    struct merge_manager like = {
        .name = "ancient-changes", .version = later->version, .subresource = ""};
    struct merge_manager *bucket = find_manager(m, &like);

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

void merge_managers_cap(struct merge_managers *m) {
    struct merge_manager **by_age, **first;
    uint32_t n = 0, n_first = 0, n_moved = 0;

    for (uint32_t i = 0; i < m->n; i++)
        n += !m->v[i].applied;
    if (n <= SL_MANAGERS_MAX)
        return;
    by_age = sl_arena_alloc(m->a, n * sizeof(struct merge_manager *));
    first = sl_arena_alloc(m->a, n * sizeof(struct merge_manager *)); /* of each version */
    struct moved *moved = sl_arena_alloc(m->a, n * sizeof *moved);
    n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (!m->v[i].applied)
            by_age[n++] = &m->v[i];
    }
    qsort(by_age, n, sizeof(struct merge_manager *), oldest);
    for (uint32_t i = 0, left = n; i < n && left > SL_MANAGERS_MAX; i++) {
        uint32_t k = 0;
        while (k < n_first && strcmp(first[k]->version, by_age[i]->version) != 0)
            k++;
        if (k == n_first) {
            first[n_first++] = by_age[i];
        } else {
            merge_into_bucket(m, first[k], by_age[i], moved, &n_moved);
            left--;
        }
    }
    put_together(m, moved, n_moved);
    merge_managers_sweep(m);
}

void merge_managers_limit(struct merge_managers *m, const struct merge_manager *me) {
    struct merge_manager **by_age;
    uint32_t n = 0, left = m->n;

    if (m->n <= SL_MANAGERS_READ)
        return;
    by_age = sl_arena_alloc(m->a, m->n * sizeof(struct merge_manager *));
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i].applied && &m->v[i] != me)
            by_age[n++] = &m->v[i];
    }
    qsort(by_age, n, sizeof(struct merge_manager *), oldest);
    for (uint32_t i = 0; i < n && left > SL_MANAGERS_READ; i++) {
        struct merge_manager like = {
            .name = "ancient-changes", .version = by_age[i]->version, .subresource = ""};
        struct merge_manager *bucket = find_manager(m, &like);
        if (bucket) {
            bucket->fields = merge_fields_unite(bucket->fields, by_age[i]->fields);
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
    merge_managers_sweep(m);
}

/* ---- writing ---- */

static yyjson_mut_val *write_one(yyjson_mut_doc *doc, const struct merge_manager *x) {
    yyjson_mut_val *v = yyjson_mut_obj(doc);
    (void)yyjson_mut_obj_add_strcpy(doc, v, "manager", x->name);
    (void)yyjson_mut_obj_add_str(doc, v, "operation", x->applied ? "Apply" : "Update");
    (void)yyjson_mut_obj_add_strcpy(doc, v, "apiVersion", x->version);
    if (*x->time)
        (void)yyjson_mut_obj_add_strcpy(doc, v, "time", x->time);
    (void)yyjson_mut_obj_add_str(doc, v, "fieldsType", "FieldsV1");
    (void)yyjson_mut_obj_add_val(doc, v, "fieldsV1", merge_fields_write(doc, x->fields));
    if (*x->subresource)
        (void)yyjson_mut_obj_add_strcpy(doc, v, "subresource", x->subresource);
    return v;
}

yyjson_mut_val *merge_managers_write(struct merge_managers *m, yyjson_mut_doc *doc) {
    yyjson_mut_val *list = m->n ? yyjson_mut_arr(doc) : NULL;

    qsort(m->v, m->n, sizeof *m->v, in_list);
    for (uint32_t i = 0; i < m->n; i++) {
        const struct merge_manager *x = &m->v[i];
        (void)yyjson_mut_arr_append(list, x->touched || !x->entry ? write_one(doc, x) : x->entry);
    }
    return list;
}

void merge_manager_print(const struct merge_manager *m, struct sl_buf *out) {
    sl_buf_json(out, m->name);
    if (*m->subresource) {
        sl_buf_puts(out, " with subresource ");
        sl_buf_json(out, m->subresource);
    }
    if (!m->applied)
        sl_buf_printf(out, " using %s", m->version);
}
