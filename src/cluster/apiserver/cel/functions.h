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

struct api_cel_call {
    struct api_run *run;
    const struct api_value *args; /* of the kinds that the row says */
    uint32_t n;
    const struct api_cel_node *node;
    int64_t how; /* of the row */
};

/* A letter for each argument, a member's own value first: n null, b bool, i int, u uint, d double,
 * s text, y bytes, D duration, T time, l list, m map, t type, o optional, U URL, I IP, C CIDR,
 * Q quantity, F format, V version, * any. The result likewise; besides, L: a list of texts, M: a
 * map from texts to lists of texts, N: a list of integers, 0: as the first argument, e: as its
 * items, v: what is in the first argument, O: an optional of it, f: an optional format, q: an
 * optional list of texts, E: an optional of the first argument's items. */
struct api_cel_function {
    const char *name; /* "size", "sets.contains" */
    bool member;      /* called on its first argument */
    const char *args;
    char result;
    struct api_value (*call)(struct api_cel_call *c);
    int64_t how; /* which of several that one function is */
};

/* All tables; NULL after the last, whose rows end with one without a name. */
extern const struct api_cel_function *const api_cel_function_tables[];
/* The next row of a name, after 'from' (NULL: the first). */
const struct api_cel_function *api_cel_function_next(const char *name, bool member,
                                                     const struct api_cel_function *from);
/* Does a letter fit a kind? */
bool api_cel_letter_fits(char letter, enum api_cel_kind kind);

extern const struct api_cel_function api_cel_functions_basic[], api_cel_functions_text[],
    api_cel_functions_list[], api_cel_functions_time[], api_cel_functions_net[],
    api_cel_functions_url[], api_cel_functions_quantity[], api_cel_functions_named[],
    api_cel_functions_semver[];

/* ---- shared by these ---- */
/* RFC 3339, or a date alone; false: it is none. */
bool api_cel_time_parse(const char *s, size_t len, bool date, struct api_value *ret);
void api_cel_time_print(const struct api_value *v, char out[48]);
bool api_cel_base64(struct api_run *x, const char *s, size_t len, struct api_value *ret);
bool api_cel_url_equal(const struct api_cel_url *a, const struct api_cel_url *b);
struct api_value api_cel_string_of(struct api_run *x, const struct api_value *v);
int api_cel_semver_compare(const struct api_cel_semver *a, const struct api_cel_semver *b);
/* What a clause of format() can be used for, in words. */
const char *api_cel_clause_words(char letter);
/* TEXT.format(LIST). */
struct api_value api_cel_format(struct api_cel_call *c);
/* A pattern of a call: the one that was made when the expression was read, or one of its own, to be
 * freed. NULL: it is none, and an error was set. */
const struct sl_pattern *api_cel_pattern(struct api_cel_call *c, const struct api_value *text,
                                         struct sl_pattern **ret_own);

#endif
