/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of expressions, and a run of one. What costs more than a step is charged before it is
 * done; what is made is in the arena of the run, which has a ceiling.
 */
#ifndef SL_CLUSTER_APISERVER_CEL_VALUE_H
#define SL_CLUSTER_APISERVER_CEL_VALUE_H

#include "cluster/apiserver/cel/cel.h"
#include "core/base/quantity.h"
#include "core/base/text.h"

enum api_value_kind {
    V_ERROR,
    V_NULL,
    V_BOOL,
    V_INT,
    V_UINT,
    V_REAL,
    V_STR,
    V_BYTES,
    V_DURATION,
    V_TIME,
    V_LIST, /* one that was made */
    V_MAP,  /* likewise */
    V_JSON, /* a list or an object of JSON */
    V_TYPE,
    V_OPTIONAL,
    V_URL,
    V_IP,
    V_CIDR,
    V_QUANTITY,
    V_FORMAT,
    V_SEMVER,
};

struct api_cel_url;
struct api_cel_semver;

struct api_value {
    enum api_value_kind kind;
    uint8_t family, bits;            /* of an address: 4 or 6; of a network, its prefix */
    const struct api_cel_type *type; /* of JSON and of lists that were made of it; NULL: unknown */
    union {
        bool yes;
        int64_t num; /* also nanoseconds of a duration; enum api_cel_kind of a type */
        uint64_t unum;
        double real;
        struct {
            const char *s;
            size_t len;
        };
        struct {
            int64_t sec; /* since 1970 */
            int32_t nsec;
        };
        yyjson_val *json;
        struct {
            const struct api_value *items; /* of a map, keys and values in turn */
            size_t n;                      /* of a map, pairs */
        };
        const struct api_value *some; /* of an optional; NULL: none */
        const struct api_cel_url *url;
        const struct api_cel_semver *semver;
        const sl_quantity *quantity;
        uint8_t address[16];
    };
};

#define SL_CEL_VARS (SL_CEL_MAX_DEPTH + SL_CEL_INPUTS)

struct api_run {
    struct api_value vars[SL_CEL_VARS];
    uint32_t n_vars;
    uint64_t steps, max;   /* so far, and allowed */
    struct sl_arena arena; /* of what is made on the way */
    struct sl_err *err;
};

struct api_value api_cel_error(struct api_run *x, const char *fmt, ...) _printf_(2, 3);
struct api_value api_cel_no_overload(struct api_run *x);
struct api_value api_cel_too_costly(struct api_run *x);
/* Counts before it is done; false: it is not to be done. */
static inline bool api_cel_charge(struct api_run *x, uint64_t steps) {
    x->steps += steps;
    return x->steps <= x->max;
}
/* Memory of so many bytes, charged; NULL: it is not to be had. */
void *api_cel_make(struct api_run *x, size_t bytes);

static inline struct api_value api_cel_bool(bool yes) {
    return (struct api_value){.kind = V_BOOL, .yes = yes};
}
static inline struct api_value api_cel_int(int64_t n) {
    return (struct api_value){.kind = V_INT, .num = n};
}
static inline struct api_value api_cel_uint(uint64_t n) {
    return (struct api_value){.kind = V_UINT, .unum = n};
}
static inline struct api_value api_cel_real(double d) {
    return (struct api_value){.kind = V_REAL, .real = d};
}
static inline struct api_value api_cel_text(const char *s, size_t len) {
    return (struct api_value){.kind = V_STR, .s = s, .len = len};
}
static inline struct api_value api_cel_span(int64_t ns) {
    return (struct api_value){.kind = V_DURATION, .num = ns};
}
static inline struct api_value api_cel_list(const struct api_value *items, size_t n) {
    return (struct api_value){.kind = V_LIST, .items = items, .n = n};
}
/* some: copied; NULL: none. */
struct api_value api_cel_optional(struct api_run *x, const struct api_value *some);
/* A copy of the text, which a NUL ends. */
struct api_value api_cel_text_copy(struct api_run *x, const char *s, size_t len);

/* A part of an object; type: NULL if it is not known. */
struct api_value api_cel_of_json(struct api_run *x, yyjson_val *v, const struct api_cel_type *type);

bool api_cel_is_list(const struct api_value *v);
bool api_cel_is_map(const struct api_value *v);
/* Items of a list, entries of a map. */
size_t api_cel_size(const struct api_value *v);
/* The item there; the index is within. */
struct api_value api_cel_item(struct api_run *x, const struct api_value *list, size_t at);
/* The value under a key: false: there is none. *ret may be an error. */
bool api_cel_find(struct api_run *x, const struct api_value *map, const struct api_value *key,
                  struct api_value *ret);

/* A walk over the items of a list, or the entries of a map. */
struct api_walk {
    const struct api_value *of;
    yyjson_arr_iter in_list;
    yyjson_obj_iter in_map;
    size_t at;
};
bool api_cel_walk_begin(struct api_walk *w, const struct api_value *of);
/* Of a list the index and the item, of a map the key and the value. */
bool api_cel_walk_next(struct api_run *x, struct api_walk *w, struct api_value *ret_key,
                       struct api_value *ret);

/* Is one the other? The caller checks afterwards whether the budget was exceeded. */
bool api_cel_equal(struct api_run *x, const struct api_value *a, const struct api_value *b);
/* -1, 0, 1; false: they have no order. 2: one is no number. */
bool api_cel_compare(struct api_run *x, const struct api_value *a, const struct api_value *b,
                     int *ret);
enum api_cel_kind api_cel_kind(const struct api_value *v);
/* "string", as messages and type() have it. */
const char *api_cel_kind_name(enum api_cel_kind kind);

/* Characters of a text. */
size_t api_cel_characters(const char *s, size_t len);

#endif
