/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed access to a document. A struct sl_read carries the file's name, an arena, and the first
 * error: after it, every getter still returns something harmless (the default, "", 0, an empty
 * list), so that a decoder reads straight through and checks rd->code once at the end. Errors have
 * file, line and what was expected:
 *
 *     load.yaml:12: runtime: expected a duration such as 250ms, got "fast"
 *     load.yaml:14: unknown field "intervall" in a class; did you mean "interval"?
 *
 * Fields of a map are read between sl_doc_fields_open and sl_doc_fields_close; what was not read by
 * then is unknown. A null value counts as absent, as in Kubernetes.
 *
 * With 'warn' set, reading is lenient: every error is passed to it, 'code' stays 0, and the field
 * has its default, which the message names. The message has no file and line but the whole path
 * instead of the bare name:
 *
 *     waitForPodsReady.timeout: expected a duration such as 250ms, got "fast" (using 30m0s)
 *     fairSharing: unknown field "enabled" in fairSharing; did you mean "enable"? (ignored)
 */
#ifndef SL_LIB_DOC_READ_H
#define SL_LIB_DOC_READ_H

#include "core/base/quantity.h"
#include "core/base/time.h"
#include "core/model/words.h"
#include "lib/doc/doc.h"

struct sl_read {
    const char *file;
    struct sl_arena *arena;
    struct sl_err *err;
    int code; /* 0, or the code of the first error */
    /* ---- lenient reading ---- */
    void (*warn)(void *ctx, uint32_t line, const char *text); /* NULL: reading is strict */
    void *warn_ctx;
    const char *path;    /* of the map being read; NULL at the top */
    const char *instead; /* what becomes of a wrong value: "using 5m0s"; NULL: it is ignored */
    uint32_t n_wrong;    /* wrong values so far, unknown fields not counted */
    bool half;           /* something was left out without which the rest means something else */
};

#define SL_WARNING_TEXT 480 /* space for any text given to 'warn' */

#define SL_DOC_FIELDS_MAX 64

struct sl_doc_fields {
    struct sl_read *rd;
    const struct sl_doc_node *map; /* NULL: there is none, everything is absent */
    const char *what;              /* "a class", for messages */
    uint32_t line;
    const char *outer; /* rd->path before it */
    const char *used[SL_DOC_FIELDS_MAX];
    uint32_t n_used;
};

/* Keeps the first error only. */
void sl_read_fail(struct sl_read *rd, uint32_t line, const char *fmt, ...) _printf_(3, 4);
/* The same about the value of one field: "name: ...". */
void sl_read_wrong(struct sl_read *rd, uint32_t line, const char *name, const char *fmt, ...)
    _printf_(4, 5);
/* A remark, not an error: lenient reading warns, strict reading is silent. */
void sl_read_note(struct sl_read *rd, uint32_t line, const char *name, const char *fmt, ...)
    _printf_(4, 5);

/* ---- one value; 'name' is the field's, for messages ---- */
const char *sl_read_str(struct sl_read *rd, const struct sl_doc_node *n, const char *name);
bool sl_read_bool(struct sl_read *rd, const struct sl_doc_node *n, const char *name);
int64_t sl_read_int(struct sl_read *rd, const struct sl_doc_node *n, const char *name, int64_t min,
                    int64_t max);
sl_span sl_read_span(struct sl_read *rd, const struct sl_doc_node *n, const char *name);
/* RFC 3339, as "2026-01-31T12:00:00Z"; nanoseconds since 1970. */
sl_time sl_read_time(struct sl_read *rd, const struct sl_doc_node *n, const char *name);
sl_quantity sl_read_quantity(struct sl_read *rd, const struct sl_doc_node *n, const char *name);
int sl_read_word(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                 enum sl_vocab vocab);
/* One of a NULL-terminated list of strings: its index. */
int sl_read_choice(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                   const char *const *words);
/* The items of a list of at most max; NULL counts as the empty one. */
const struct sl_doc_node *sl_read_list(struct sl_read *rd, const struct sl_doc_node *n,
                                       const char *name, uint32_t max, uint32_t *ret_n);
/* A list of strings, in the arena. */
const char *const *sl_read_strs(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                                uint32_t max, uint32_t *ret_n);

/* ---- the fields of a map ---- */
/* A NULL node is an empty map; any other kind than a map is an error. */
void sl_doc_fields_open(struct sl_doc_fields *f, struct sl_read *rd, const struct sl_doc_node *n,
                        const char *what);
/* The same for a part of what is being read: until it is closed, warnings have "path.key". */
void sl_doc_fields_enter(struct sl_doc_fields *f, struct sl_read *rd, const struct sl_doc_node *n,
                         const char *what, const char *key);
/* The value, NULL if absent or null. From now on the field is known. */
const struct sl_doc_node *sl_doc_field(struct sl_doc_fields *f, const char *key);
/* The same, and it is an error if it is absent. */
const struct sl_doc_node *sl_doc_field_need(struct sl_doc_fields *f, const char *key);
/* Known, and of no interest. */
void sl_doc_field_skip(struct sl_doc_fields *f, const char *key);
/* Reports unread fields: the first of them, or in lenient reading all. */
void sl_doc_fields_close(struct sl_doc_fields *f);

/* With a default for a field that is absent or invalid. A string whose default is NULL is
 * required. */
const char *sl_doc_field_str(struct sl_doc_fields *f, const char *key, const char *fallback);
bool sl_doc_field_bool(struct sl_doc_fields *f, const char *key, bool fallback);
int64_t sl_doc_field_int(struct sl_doc_fields *f, const char *key, int64_t fallback, int64_t min,
                         int64_t max);
sl_span sl_doc_field_span(struct sl_doc_fields *f, const char *key, sl_span fallback);
sl_time sl_doc_field_time(struct sl_doc_fields *f, const char *key, sl_time fallback);
sl_quantity sl_doc_field_quantity(struct sl_doc_fields *f, const char *key, sl_quantity fallback);
int sl_doc_field_word(struct sl_doc_fields *f, const char *key, enum sl_vocab vocab, int fallback);
int sl_doc_field_choice(struct sl_doc_fields *f, const char *key, const char *const *words,
                        int fallback);
const struct sl_doc_node *sl_doc_field_list(struct sl_doc_fields *f, const char *key, uint32_t max,
                                            uint32_t *ret_n);
const char *const *sl_doc_field_strs(struct sl_doc_fields *f, const char *key, uint32_t max,
                                     uint32_t *ret_n);

/* The candidate that a mistyped string most likely meant, or NULL. */
const char *sl_read_nearest(const char *word, const char *const *candidates, uint32_t n);

#endif
