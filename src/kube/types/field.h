/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation errors in Kubernetes' form:
 *
 *     spec.resourceGroups[0].flavors[1].name: Duplicate value: "default"
 *
 * A path is a chain of records on the callers' stacks and becomes text only when there is an error.
 * Errors are stored as text, in the order found; duplicates are stored once.
 */
#ifndef SL_KUBE_TYPES_FIELD_H
#define SL_KUBE_TYPES_FIELD_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/text.h"

/* ---- paths ---- */

struct sl_path {
    const struct sl_path *up;
    const char *name; /* ".name", or without the dot at the root; may itself have dots */
    const char *key;  /* "[key]" */
    uint64_t index;   /* "[index]", if there is neither name nor key */
};

/* Valid until the end of the enclosing block. */
#define SL_PATH(up_, name_) ((const struct sl_path[]){{.up = (up_), .name = (name_)}})
#define SL_PATH_KEY(up_, key_) ((const struct sl_path[]){{.up = (up_), .key = (key_)}})
#define SL_PATH_AT(up_, i_) ((const struct sl_path[]){{.up = (up_), .index = (i_)}})

void sl_path_print(const struct sl_path *p, struct sl_buf *out);

/* ---- the value that is wrong ---- */

struct sl_field_value {
    enum {
        SL_FIELD_VALUE_NONE,
        SL_FIELD_VALUE_STR,
        SL_FIELD_VALUE_INT,
        SL_FIELD_VALUE_BOOL,
        SL_FIELD_VALUE_JSON
    } kind;
    union {
        struct {
            const char *s;
            size_t len;
        };
        int64_t num;
        yyjson_val *json;
    };
};

static inline struct sl_field_value sl_field_value_none(void) {
    return (struct sl_field_value){.kind = SL_FIELD_VALUE_NONE};
}
static inline struct sl_field_value sl_field_value_int(int64_t num) {
    return (struct sl_field_value){.kind = SL_FIELD_VALUE_INT, .num = num};
}
static inline struct sl_field_value sl_field_value_bool(bool b) {
    return (struct sl_field_value){.kind = SL_FIELD_VALUE_BOOL, .num = b};
}
/* Any JSON value; NULL is null. */
static inline struct sl_field_value sl_field_value_json(yyjson_val *v) {
    return (struct sl_field_value){.kind = SL_FIELD_VALUE_JSON, .json = v};
}
static inline struct sl_field_value sl_field_value_strn(const char *s, size_t len) {
    return (struct sl_field_value){.kind = SL_FIELD_VALUE_STR, .s = s, .len = len};
}
static inline struct sl_field_value sl_field_value_text(struct sl_text t) {
    return sl_field_value_strn(t.s, t.n);
}
struct sl_field_value sl_field_value_str(const char *s);

/* ---- errors ---- */

#define SL_FIELD_ERRS_MAX 128 /* further ones are only counted */
#define SL_FIELD_IMMUTABLE "field is immutable"
#define SL_FIELD_VALUE_MAX_BYTES ((size_t)8 << 10) /* of a value in a message; the rest is cut */

struct sl_field_errs {
    struct sl_arena *arena;
    const char *text[SL_FIELD_ERRS_MAX];
    uint32_t n, dropped;
    bool repeats;       /* duplicates are stored twice; still printed once */
    bool silent;        /* messages are not needed: errors are only counted */
    const char *advice; /* ends each detail while it is set */
};

/* One value with a detail, which may be "". */
void sl_field_invalid(struct sl_field_errs *e, const struct sl_path *at, struct sl_field_value bad,
                      const char *fmt, ...) _printf_(4, 5);
void sl_field_duplicate(struct sl_field_errs *e, const struct sl_path *at,
                        struct sl_field_value bad, const char *detail);
void sl_field_not_found(struct sl_field_errs *e, const struct sl_path *at,
                        struct sl_field_value bad);
/* The same, with what there would have been. */
void sl_field_not_found_in(struct sl_field_errs *e, const struct sl_path *at,
                           struct sl_field_value bad, const char *fmt, ...) _printf_(4, 5);
/* The supported values, in this order. */
void sl_field_unsupported(struct sl_field_errs *e, const struct sl_path *at,
                          struct sl_field_value bad, const char *const *words, size_t n);
void sl_field_too_many(struct sl_field_errs *e, const struct sl_path *at, size_t n, size_t max);
/* These name no value. */
void sl_field_required(struct sl_field_errs *e, const struct sl_path *at, const char *detail);
void sl_field_forbidden(struct sl_field_errs *e, const struct sl_path *at, const char *fmt, ...)
    _printf_(3, 4);
void sl_field_internal(struct sl_field_errs *e, const struct sl_path *at, const char *fmt, ...)
    _printf_(3, 4);
void sl_field_too_long(struct sl_field_errs *e, const struct sl_path *at, size_t max_bytes);
/* SL_FIELD_IMMUTABLE, if the two differ in meaning (see sl_json_same). */
void sl_field_immutable(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *now,
                        yyjson_val *old);

/* By field; those of one field stay in their order. */
void sl_field_errs_sort(struct sl_field_errs *e);
/* "e", or "[e1, e2]". Nothing if there are no errors. */
void sl_field_errs_print(const struct sl_field_errs *e, struct sl_buf *out);

#endif
