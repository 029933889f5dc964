/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files about rows. Private to src/manager/jobkinds. */
#ifndef SL_MANAGER_JOBKINDS_ROWS_H
#define SL_MANAGER_JOBKINDS_ROWS_H

#include "core/base/embedded.h"
#include "manager/jobkinds/jobkinds.h"

extern const struct sl_embedded jobkind_texts[]; /* kinds.yaml */
extern const size_t jobkind_texts_n;

/* What is wrong with a path; NULL: nothing. */
const char *jobkind_path_fault(const char *path);

/* ---- podsets.c ---- */

/* The podsets of an object by the groups of a row, for a rule to go on from. 'root' and 'pointer':
 * where the object stands in the one that is written ("" and "" for itself). */
int jobkind_plain(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                  struct sl_err *err) _must_check_;
/* The next one, empty; NULL: there are too many. */
struct sl_jobkind_pods *jobkind_add(struct sl_jobkind_podsets *p);
/* A template that stands in no object, from a mutable one, which is freed. */
yyjson_val *jobkind_keep(struct sl_jobkind_podsets *p, yyjson_mut_doc *doc, yyjson_mut_val *v);
const char *jobkind_lower(struct sl_arena *a, const char *s);
/* "/spec/a~1b": appends a step to a JSON pointer. */
const char *jobkind_step(struct sl_arena *a, const char *pointer, const char *step);
/* a * b, cut to an int32; nothing is less than 0. */
int32_t jobkind_times(int64_t a, int64_t b);
int jobkind_too_many(struct sl_err *err);

/* The same without freeing the document. */
yyjson_val *jobkind_copy(struct sl_jobkind_podsets *p, yyjson_mut_val *v);

/* ---- rules ---- */

int jobkind_ray(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                struct sl_err *err) _must_check_;
int jobkind_appwrapper(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                       struct sl_err *err) _must_check_;
/* runtime NULL: there is none. */
int jobkind_trainjob(yyjson_val *o, yyjson_val *runtime, struct sl_jobkind_podsets *ret,
                     struct sl_err *err) _must_check_;
int jobkind_spark(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                  struct sl_err *err) _must_check_;

#endif
