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

enum value_kind {
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

struct cel_url;
struct cel_semver;

struct value {
    enum value_kind kind;
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
            const struct value *items; /* of a map, keys and values in turn */
            size_t n;                  /* of a map, pairs */
        };
        const struct value *some; /* of an optional; NULL: none */
        const struct cel_url *url;
        const struct cel_semver *semver;
        const sl_quantity *quantity;
        uint8_t address[16];
    };
};

#define SL_CEL_VARS (SL_CEL_MAX_DEPTH + SL_CEL_INPUTS)

struct run {
    struct value vars[SL_CEL_VARS];
    uint32_t n_vars;
    uint64_t steps, max;   /* so far, and allowed */
    struct sl_arena arena; /* of what is made on the way */
    struct sl_err *err;
};

struct value cel_error(struct run *x, const char *fmt, ...) _printf_(2, 3);
struct value cel_no_overload(struct run *x);
struct value cel_too_costly(struct run *x);
/* Counts before it is done; false: it is not to be done. */
static inline bool cel_charge(struct run *x, uint64_t steps) {
    x->steps += steps;
    return x->steps <= x->max;
}
/* Memory of so many bytes, charged; NULL: it is not to be had. */
void *cel_make(struct run *x, size_t bytes);

static inline struct value cel_bool(bool yes) {
    return (struct value){.kind = V_BOOL, .yes = yes};
}
static inline struct value cel_int(int64_t n) {
    return (struct value){.kind = V_INT, .num = n};
}
static inline struct value cel_uint(uint64_t n) {
    return (struct value){.kind = V_UINT, .unum = n};
}
static inline struct value cel_real(double d) {
    return (struct value){.kind = V_REAL, .real = d};
}
static inline struct value cel_text(const char *s, size_t len) {
    return (struct value){.kind = V_STR, .s = s, .len = len};
}
static inline struct value cel_span(int64_t ns) {
    return (struct value){.kind = V_DURATION, .num = ns};
}
static inline struct value cel_list(const struct value *items, size_t n) {
    return (struct value){.kind = V_LIST, .items = items, .n = n};
}
/* some: copied; NULL: none. */
struct value cel_optional(struct run *x, const struct value *some);
/* A copy of the text, which a NUL ends. */
struct value cel_text_copy(struct run *x, const char *s, size_t len);

/* A part of an object; type: NULL if it is not known. */
struct value cel_of_json(struct run *x, yyjson_val *v, const struct api_cel_type *type);

bool cel_is_list(const struct value *v);
bool cel_is_map(const struct value *v);
/* Items of a list, entries of a map. */
size_t cel_size(const struct value *v);
/* The item there; the index is within. */
struct value cel_item(struct run *x, const struct value *list, size_t at);
/* The value under a key: false: there is none. *ret may be an error. */
bool cel_find(struct run *x, const struct value *map, const struct value *key, struct value *ret);

/* A walk over the items of a list, or the entries of a map. */
struct walk {
    const struct value *of;
    yyjson_arr_iter in_list;
    yyjson_obj_iter in_map;
    size_t at;
};
bool cel_walk_begin(struct walk *w, const struct value *of);
/* Of a list the index and the item, of a map the key and the value. */
bool cel_walk_next(struct run *x, struct walk *w, struct value *ret_key, struct value *ret);

/* Is one the other? The caller checks afterwards whether the budget was exceeded. */
bool cel_equal(struct run *x, const struct value *a, const struct value *b);
/* -1, 0, 1; false: they have no order. 2: one is no number. */
bool cel_compare(struct run *x, const struct value *a, const struct value *b, int *ret);
enum api_cel_kind cel_kind(const struct value *v);
/* "string", as messages and type() have it. */
const char *cel_kind_name(enum api_cel_kind kind);

/* Characters of a text. */
size_t cel_characters(const char *s, size_t len);

#endif
