/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An owner of a reflector, for its tests: a table of keys and versions.
 */
#ifndef SL_TESTS_KUBE_INFORMER_REFLECTOR_TABLE_H
#define SL_TESTS_KUBE_INFORMER_REFLECTOR_TABLE_H

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include "core/base/collection/vec.h"
#include "kube/informer/reflector.h"

struct row {
    char key[40], version[24];
    uint32_t mark;
};

struct table {
    SL_VEC(struct row) rows; /* by key */
    uint32_t epoch, begins, syncs;
    bool exists;
};

static inline void key_of(yyjson_val *o, char out[40]) {
    yyjson_val *m = yyjson_obj_get(o, "metadata");

    (void)snprintf(out, 40, "%s/%s", yyjson_get_str(yyjson_obj_get(m, "namespace")),
                   yyjson_get_str(yyjson_obj_get(m, "name")));
}

static inline uint32_t find_row(const struct table *t, const char *key, bool *ret_there) {
    uint32_t i = 0;

    while (i < t->rows.n && strcmp(t->rows.v[i].key, key) < 0)
        i++;
    *ret_there = i < t->rows.n && strcmp(t->rows.v[i].key, key) == 0;
    return i;
}

static inline void on_begin(void *ctx) {
    struct table *t = ctx;

    t->epoch++;
    t->begins++;
}

static inline void on_object(void *ctx, yyjson_val *o) {
    struct table *t = ctx;
    char key[40];
    bool there;

    key_of(o, key);
    uint32_t i = find_row(t, key, &there);
    if (!there) {
        (void)sl_vec_push(&t->rows);
        memmove(&t->rows.v[i + 1], &t->rows.v[i], (t->rows.n - 1 - i) * sizeof t->rows.v[0]);
    }
    struct row *r = &t->rows.v[i];
    *r = (struct row){.mark = t->epoch};
    memcpy(r->key, key, sizeof key);
    (void)snprintf(
        r->version, sizeof r->version, "%s",
        yyjson_get_str(yyjson_obj_get(yyjson_obj_get(o, "metadata"), "resourceVersion")));
}

static inline void drop(struct table *t, uint32_t i) {
    memmove(&t->rows.v[i], &t->rows.v[i + 1], (t->rows.n - 1 - i) * sizeof t->rows.v[0]);
    t->rows.n--;
}

static inline void on_gone(void *ctx, yyjson_val *o) {
    struct table *t = ctx;
    char key[40];
    bool there;

    key_of(o, key);
    uint32_t i = find_row(t, key, &there);
    if (there)
        drop(t, i);
}

static inline void on_synced(void *ctx, bool exists) {
    struct table *t = ctx;

    t->syncs++;
    t->exists = exists;
    for (uint32_t i = t->rows.n; i-- > 0;)
        if (t->rows.v[i].mark != t->epoch)
            drop(t, i);
}

static inline struct sl_reflector_owner owner_of(struct table *t) {
    return (struct sl_reflector_owner){t, on_begin, on_object, on_gone, on_synced};
}

#endif
