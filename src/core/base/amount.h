/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts: what quotas and requests are counted in. CPU in thousandths of a core, all else in whole
 * units. int64 with saturation; INT64_MAX means "unlimited" and absorbs, INT64_MIN means "no value"
 * where a limit may be absent.
 *
 *   unlimited + x = unlimited          unlimited - bounded   = unlimited
 *   bounded - unlimited = SL_AMOUNT_MIN  unlimited - unlimited = 0
 */
#ifndef SL_CORE_BASE_AMOUNT_H
#define SL_CORE_BASE_AMOUNT_H

#include "core/base/macros.h"

typedef int64_t sl_amount;
#define SL_AMOUNT_UNLIMITED INT64_MAX
#define SL_AMOUNT_NONE INT64_MIN      /* an absent limit */
#define SL_AMOUNT_MIN (INT64_MIN + 1) /* the floor of saturation; distinct from "none" */

static inline sl_amount sl_amount_clamp(__int128 v) {
    return v >= INT64_MAX ? INT64_MAX : v <= SL_AMOUNT_MIN ? SL_AMOUNT_MIN : (sl_amount)v;
}
static inline sl_amount sl_amount_add(sl_amount a, sl_amount b) {
    if (a == SL_AMOUNT_UNLIMITED || b == SL_AMOUNT_UNLIMITED)
        return SL_AMOUNT_UNLIMITED;
    return sl_amount_clamp((__int128)a + b);
}
static inline sl_amount sl_amount_sub(sl_amount a, sl_amount b) {
    if (a == SL_AMOUNT_UNLIMITED)
        return b == SL_AMOUNT_UNLIMITED ? 0 : SL_AMOUNT_UNLIMITED;
    if (b == SL_AMOUNT_UNLIMITED)
        return SL_AMOUNT_MIN;
    return sl_amount_clamp((__int128)a - b);
}
static inline sl_amount sl_amount_mul(sl_amount a, int64_t n) {
    return sl_amount_clamp((__int128)a * n);
}
static inline sl_amount sl_amount_min(sl_amount a, sl_amount b) {
    return a < b ? a : b;
}
static inline sl_amount sl_amount_max(sl_amount a, sl_amount b) {
    return a > b ? a : b;
}

#endif
