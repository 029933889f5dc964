/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of graphs and of R, which may be large: yyjson's tree as it is, sixteen bytes a value. It is
 * read in place, so that the place of a string is also its place in the text; a message about a
 * value names the line of the nearest string.
 */
#ifndef SL_LIB_GRAPHIO_JSON_IN_H
#define SL_LIB_GRAPHIO_JSON_IN_H

#include <yyjson.h>

#include "core/base/err.h"

struct graphio_jin {
    const char *file;
    struct sl_err *err;
    const char *original; /* the caller's: strings in 'text' may be shorter than they were */
    char *text;           /* ours */
    size_t len;
    yyjson_doc *doc;
    yyjson_val *root;
};

/* Copies the text, which must stay for messages. */
int graphio_jin_open(struct graphio_jin *j, const char *file, const char *text, size_t len,
                     struct sl_err *err) _must_check_;
void graphio_jin_done(struct graphio_jin *j);

/* "file:line: " and the rest. */
int graphio_jin_fail(const struct graphio_jin *j, yyjson_val *near, int code, const char *fmt, ...)
    _printf_(4, 5);

/*
 * What is under a key, with its type checked. Absent (and for optional ones null) gives NULL or
 * leaves *ret as it is; of the wrong type is an error, as is a need that is absent.
 */
enum graphio_jin_want { SL_JIN_ANY, SL_JIN_MAP, SL_JIN_LIST, SL_JIN_TEXT };
int graphio_jin_need(const struct graphio_jin *j, yyjson_val *map, const char *key,
                     enum graphio_jin_want want, yyjson_val **ret) _must_check_;
int graphio_jin_get(const struct graphio_jin *j, yyjson_val *map, const char *key,
                    enum graphio_jin_want want, yyjson_val **ret) _must_check_;
/* Strings have no NUL inside. */
int graphio_jin_str(const struct graphio_jin *j, yyjson_val *map, const char *key,
                    const char **ret) _must_check_;
int graphio_jin_int(const struct graphio_jin *j, yyjson_val *map, const char *key, int64_t min,
                    int64_t max, int64_t *ret) _must_check_;
/* true, false, 1 or 0 */
int graphio_jin_bool(const struct graphio_jin *j, yyjson_val *map, const char *key,
                     bool *ret) _must_check_;
/* A string value itself; 'name' for messages. */
int graphio_jin_text(const struct graphio_jin *j, yyjson_val *v, yyjson_val *near, const char *name,
                     const char **ret) _must_check_;

#endif
