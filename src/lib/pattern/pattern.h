/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions on PCRE2, with the semantics of Go or of Python, near enough. Go's are those
 * of CRDs and of their rules (src/cluster/apiserver/cel/cel.c), Python's those of MasterQueues.
 * Go's matching takes linear time; so does this one, for patterns and strings that do not cause
 * backtracking. Backtracking is charged to a budget, and when that is spent nothing matches.
 */
#ifndef SL_LIB_PATTERN_PATTERN_H
#define SL_LIB_PATTERN_PATTERN_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/text.h"

#define SL_PATTERN_MAX_BYTES 65536u
/* Of one in Python's syntax, and groups in it that are open at once. */
#define SL_PATTERN_MAX_PYTHON 4096u
#define SL_PATTERN_MAX_GROUPS 64u

struct sl_pattern;

/* Steps of matching, some nanoseconds each, that all patterns of one request may take beyond what
 * the length of their texts allows. */
#define SL_PATTERN_BUDGET 1000000u

int sl_pattern_new(const char *text, struct sl_pattern **ret, struct sl_err *err) _must_check_;
/*
 * As re.search of Python 3.11 on str, except that
 *   - \N{NAME} and (?a:...) are refused: use (?a) at the beginning;
 *   - a quantifier goes up to 65535, a name of a group has at most 32 characters, groups are open
 *     64 deep, and what becomes larger than PCRE2's 64 KiB of code is refused;
 *   - alternatives of a look-behind may have different lengths, where Python demands one;
 *   - (?P=name) may stand before its group or in it, where nothing matches it;
 *   - U+001C to U+001F are no \s, and \B matches in an empty text;
 *   - the Unicode tables are those of PCRE2.
 */
int sl_pattern_new_python(struct sl_text text, struct sl_pattern **ret,
                          struct sl_err *err) _must_check_;
void sl_pattern_free(struct sl_pattern *p);
/* The same as sl_pattern_new in an arena, with which it goes. */
int sl_pattern_new_in(struct sl_arena *a, const char *text, const struct sl_pattern **ret,
                      struct sl_err *err) _must_check_;
/* Anywhere in the string, unless the pattern is anchored. *budget: the remaining one, 0 if it was
 * exhausted: then the result is unknown. */
bool sl_pattern_matches(const struct sl_pattern *p, const char *s, size_t len, uint64_t *budget);
/* The first match at 'from' or later: where it begins and ends. */
bool sl_pattern_find(const struct sl_pattern *p, const char *s, size_t len, size_t from,
                     size_t *ret_from, size_t *ret_to, uint64_t *budget);

#endif
