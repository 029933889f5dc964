/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of expressions. One is a row of a table: its name, the kinds of its arguments, what it
 * gives. Several rows may have one name.
 */
#ifndef SL_CLUSTER_APISERVER_CEL_FUNCTIONS_H
#define SL_CLUSTER_APISERVER_CEL_FUNCTIONS_H

#include "cluster/apiserver/cel/value.h"
#include "core/base/buf.h"

struct api_cel_node;

struct cel_call {
    struct run *run;
    const struct value *args; /* of the kinds that the row says */
    uint32_t n;
    const struct api_cel_node *node;
    int64_t how; /* of the row */
};

/* A letter for each argument, a member's own value first: n null, b bool, i int, u uint, d double,
 * s text, y bytes, D duration, T time, l list, m map, t type, o optional, U URL, I IP, C CIDR,
 * Q quantity, F format, V version, * any. The result likewise; besides, L: a list of texts, M: a
 * map from texts to lists of texts, N: a list of integers, 0: as the first argument, e: as its
 * items, v: what is in the first argument, O: an optional of it, f: an optional format, q: an optional list of
 * texts, E: an optional of the first argument's items. */
struct cel_function {
    const char *name; /* "size", "sets.contains" */
    bool member;      /* called on its first argument */
    const char *args;
    char result;
    struct value (*call)(struct cel_call *c);
    int64_t how; /* which of several that one function is */
};

/* All tables; NULL after the last, whose rows end with one without a name. */
extern const struct cel_function *const cel_function_tables[];
/* The next row of a name, after 'from' (NULL: the first). */
const struct cel_function *cel_function_next(const char *name, bool member,
                                             const struct cel_function *from);
/* Does a letter fit a kind? */
bool cel_letter_fits(char letter, enum api_cel_kind kind);

extern const struct cel_function cel_functions_basic[], cel_functions_text[], cel_functions_list[],
    cel_functions_time[], cel_functions_net[], cel_functions_url[], cel_functions_quantity[],
    cel_functions_named[], cel_functions_semver[];

/* ---- shared by these ---- */
/* RFC 3339, or a date alone; false: it is none. */
bool cel_time_parse(const char *s, size_t len, bool date, struct value *ret);
void cel_time_print(const struct value *v, char out[48]);
bool cel_base64(struct run *x, const char *s, size_t len, struct value *ret);
bool cel_url_equal(const struct cel_url *a, const struct cel_url *b);
struct value cel_string_of(struct run *x, const struct value *v);
int cel_semver_compare(const struct cel_semver *a, const struct cel_semver *b);
/* As Kubernetes prints a quantity in error messages of rules; any value as %s of format() does. */
bool cel_print(struct run *x, const struct value *v, struct sl_buf *out, uint32_t depth);
/* TEXT.format(LIST). */
struct value cel_format(struct cel_call *c);
/* A pattern of a call: the one that was made when the expression was read, or one of its own, to be
 * freed. NULL: it is none, and an error was set. */
const struct sl_pattern *cel_pattern(struct cel_call *c, const struct value *text,
                                     struct sl_pattern **ret_own);

#endif
