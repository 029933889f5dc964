/*
 * Regular expressions as Go understands them, near enough: those of CRDs and of
 * their rules (src/apiserver/cel.c). A pattern that would take too long to match does not match.
 */
#ifndef SL_SCHEMA_PATTERN_H
#define SL_SCHEMA_PATTERN_H

#include "base/err.h"

#define SL_PATTERN_MAX_BYTES 65536u

struct sl_pattern;

int sl_pattern_new(const char *text, struct sl_pattern **ret, struct sl_err *err) _must_check_;
void sl_pattern_free(struct sl_pattern *p);
/* Anywhere in the text, unless the pattern says where. */
bool sl_pattern_matches(const struct sl_pattern *p, const char *s, size_t len);

#endif
