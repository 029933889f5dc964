/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading objects with yyjson: paths of keys, absent and null alike, wrong types as absent (the API
 * server has checked them); and a hash of a value's meaning.
 */
#ifndef SL_KUBE_JSON_H
#define SL_KUBE_JSON_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/time.h"

/* The value at "a.b.c"; NULL if any step is missing. Keys with dots: use yyjson_obj_get. */
yyjson_val *jat(yyjson_val *o, const char *path);
/* A string, "" if absent. */
const char *jstr(yyjson_val *o, const char *path);
int64_t jint(yyjson_val *o, const char *path, int64_t otherwise);
bool jbool(yyjson_val *o, const char *path, bool otherwise);
/* RFC 3339 to nanoseconds since 1970; 0 if absent or wrong. */
sl_time jtime(yyjson_val *o, const char *path);
/* labels or annotations: metadata.<map>[key], "" if absent. */
const char *jlabel(yyjson_val *o, const char *key);
const char *jannotation(yyjson_val *o, const char *key);

/* Equal for equivalent values: the order of keys is not significant, null and absent are equal,
 * empty maps and lists are treated as absent. NULL gives seed. As in base/hash.h there are two
 * families: jhash compares values within the process, jdigest is for names that are derived from a
 * value. */
uint64_t jhash(uint64_t seed, yyjson_val *v);
uint64_t jdigest(uint64_t seed, yyjson_val *v);
/* Appends the value as compact JSON. */
void jput(struct sl_buf *b, yyjson_val *v);
/* What leads to it, then the text as a JSON string. */
void jput_text(struct sl_buf *b, const char *lead, const char *text);
/* "2026-01-31T12:00:00Z", whole seconds, as metav1.Time; with micros as metav1.MicroTime. */
void jput_time(struct sl_buf *b, sl_time t);
void jput_micro_time(struct sl_buf *b, sl_time t);

#endif
