/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes quantities: the whole grammar (sign, digits, '.', suffixes n u m k M G T P E,
 * Ki Mi Gi Ti Pi Ei, e/E exponents), exact in nano-units, rounded up (away from zero) below one
 * nano, capped at +-(2^63-1) units as Kubernetes caps.
 */
#ifndef SL_CORE_BASE_QUANTITY_H
#define SL_CORE_BASE_QUANTITY_H

#include "core/base/amount.h"
#include "core/base/err.h"

typedef __int128 sl_quantity; /* nano-units */
#define SL_NANO INT64_C(1000000000)
#define SL_QUANTITY_MAX ((sl_quantity)INT64_MAX * SL_NANO)
#define SL_QUANTITY_TEXT 64 /* space for any formatted value */

int sl_quantity_parse(const char *s, size_t len, sl_quantity *ret, struct sl_err *err) _must_check_;

/* Does the resource count in thousandths ("cpu")? */
bool sl_quantity_is_milli(const char *resource);
/* Is it an amount of bytes (memory, ephemeral-storage, hugepages-*)? */
bool sl_quantity_is_bytes(const char *resource);
/* A request or a quota as an amount: milli for cpu, units for the rest, rounded up. Quota: a value
 * at or beyond what int64 holds is unlimited; a request only saturates just below it. */
sl_amount sl_amount_of_quota(const char *resource, sl_quantity q);
sl_amount sl_amount_of_request(const char *resource, sl_quantity q);

/* Canonical text of an amount: cpu as milli DecimalSI ("1500m", "2"), memory, ephemeral-storage and
 * hugepages-* BinarySI ("1Gi", "1536Mi"), others DecimalSI ("5", "2k"). Unlimited is "<unlimited>",
 * an absent limit "<none>". Returns out. */
const char *sl_amount_format(const char *resource, sl_amount a, char out[SL_QUANTITY_TEXT]);
/* Canonical DecimalSI text of an exact quantity ("100m", "1", "2500u"). */
const char *sl_quantity_format(sl_quantity q, char out[SL_QUANTITY_TEXT]);

#endif
