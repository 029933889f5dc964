/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that mean more than their letters: times, quantities, base64, and the formats of OpenAPI.
 * Each has one spelling in which the API server writes it, whatever came in. Private to
 * src/cluster/schema.
 */
#ifndef SL_CLUSTER_SCHEMA_VALUE_H
#define SL_CLUSTER_SCHEMA_VALUE_H

#include "core/base/quantity.h"

#define SL_VALUE_TIME 40 /* space for any time */

/* RFC 3339, in UTC, to the second or microsecond. Errors are reported as by Go. */
int schema_value_time(const char *s, size_t len, bool micro, char out[SL_VALUE_TIME],
                      struct sl_err *err) _must_check_;
/* In the family of suffixes that it came in (decimal, binary, exponent), without fractions and with
 * the largest suffix that needs none. 'milli': rounded up to thousandths. */
int schema_value_quantity(const char *s, size_t len, bool milli, char out[SL_QUANTITY_TEXT],
                          struct sl_err *err) _must_check_;
/* Where it stops being base64; -1 if it does not. */
int64_t schema_value_base64(const char *s, size_t len);

/* Formats of texts that are checked in custom resources; others mean nothing. */
bool schema_value_format_known(const char *format);
bool schema_value_format(const char *format, const char *s, size_t len);

#endif
