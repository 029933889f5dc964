/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes quantities, exact at any number of digits. A value is D * 2^bits * 10^ten nano-units
 * with D the written digits. Up to 18 digits this is one __int128; longer ones use a small
 * fixed-width number. Rounding is away from zero, so digits beyond those retained only matter as
 * "there was something more".
 *
 * Why 100 digits are enough: values of 10^29 units and more are capped, so a number that is not
 * capped has at least 60 digits behind the nano position; there, a multiple of 2^60/10^60 cannot be
 * closer to the next nano than what the dropped digits times 2^60 (Ei) could add.
 */
#include "core/base/quantity.h"

#include <string.h>

#define FAST_DIGITS 18
#define KEPT_DIGITS 100

typedef unsigned __int128 u128;

struct number {
    const char *p, *end; /* in the text */
    unsigned char digits[KEPT_DIGITS];
    unsigned n;    /* digits kept, the first is not 0 */
    bool sticky;   /* something other than 0 was dropped */
    bool any;      /* at least one digit was written */
    int64_t ten;   /* power of ten of the last digit kept */
    unsigned bits; /* power of two of the suffix */
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int bad_quantity(const char *s, size_t len, struct sl_err *err) {
    return sl_err_set(
        err, SL_EINVAL,
        "quantity \"%.*s%s\": expected a number with an optional suffix such as m, k, "
        "Mi, Gi or e3",
        (int)(len < 60 ? len : 60), s, len > 60 ? "..." : "");
}

static void take_digits(struct number *x, bool fraction) {
    for (; x->p < x->end && is_digit(*x->p); x->p++) {
        unsigned char d = (unsigned char)(*x->p - '0');

        x->any = true;
        if (x->n == 0 && d == 0) {
            x->ten -= fraction;
        } else if (x->n < KEPT_DIGITS) {
            x->digits[x->n++] = d;
            x->ten -= fraction;
        } else {
            x->sticky |= d != 0;
            x->ten += !fraction;
        }
    }
}

/* The suffix up to the end of the text; false if it is not one. */
static bool take_suffix(struct number *x) {
    static const char decimal[] = "num kMGTPE", binary[] = "KMGTPE";
    const char *p = x->p, *end = x->end;

    if (p == end)
        return true;
    if ((*p == 'e' || *p == 'E') && end - p > 1 && p[1] != 'i') {
        bool minus = false;
        int64_t e = 0;

        p++;
        if (*p == '+' || *p == '-')
            minus = *p++ == '-';
        if (p == end)
            return false;
        for (; p < end && is_digit(*p); p++)
            if (e < INT64_MAX / 4 / 10) /* stays far beyond any length of text */
                e = e * 10 + (*p - '0');
        x->ten += minus ? -e : e;
        return p == end;
    }
    if (end - p == 1) {
        const char *at = *p != ' ' && *p != '\0' ? strchr(decimal, *p) : NULL;
        if (!at)
            return false;
        x->ten += 3 * (at - decimal) - 9;
        return true;
    }
    if (end - p == 2 && p[1] == 'i') {
        const char *at = *p != '\0' ? strchr(binary, *p) : NULL;
        if (!at)
            return false;
        x->bits = 10 * (unsigned)(at - binary + 1);
        return true;
    }
    return false;
}

static sl_quantity capped(u128 v) {
    return v > (u128)SL_QUANTITY_MAX ? SL_QUANTITY_MAX : (sl_quantity)v;
}

/* D * 2^bits * 10^ten for up to 18 digits: D * 2^60 stays below 2^120. */
static sl_quantity value_fast(const struct number *x) {
    uint64_t d = 0;
    int64_t ten = x->ten;

    for (unsigned i = 0; i < x->n; i++)
        d = d * 10 + x->digits[i];
    u128 v = (u128)d << x->bits;
    if (ten > 40)
        return SL_QUANTITY_MAX;
    if (ten < -40)
        return 1;
    for (; ten > 0; ten--) {
        if (v > (u128)SL_QUANTITY_MAX)
            return SL_QUANTITY_MAX;
        v *= 10;
    }
    bool more = false;
    for (; ten < 0 && v > 0; ten++) {
        more |= v % 10 != 0;
        v /= 10;
    }
    return capped(v + more);
}

/* 100 digits (333 bits) times 2^60 times at most 10^21 fit into 512 bits. */
#define LIMBS 16

static void wide_mul_add(uint32_t w[LIMBS], uint32_t m, uint32_t add) {
    uint64_t carry = add;

    for (unsigned i = 0; i < LIMBS; i++) {
        carry += (uint64_t)w[i] * m;
        w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sl_assert(carry == 0);
}

static uint32_t wide_div(uint32_t w[LIMBS], uint32_t d) {
    uint64_t rest = 0;

    for (unsigned i = LIMBS; i-- > 0;) {
        rest = rest << 32 | w[i];
        w[i] = (uint32_t)(rest / d);
        rest %= d;
    }
    return (uint32_t)rest;
}

static sl_quantity value_wide(const struct number *x) {
    uint32_t w[LIMBS] = {0};
    int64_t ten = x->ten;
    bool more = x->sticky;

    if (ten + (int64_t)x->n > 40)
        return SL_QUANTITY_MAX;
    if (ten < -(KEPT_DIGITS + 60))
        return 1;
    for (unsigned i = 0; i < x->n; i++)
        wide_mul_add(w, 10, x->digits[i]);
    for (unsigned b = 0; b < x->bits; b += 10)
        wide_mul_add(w, 1024, 0);
    for (; ten > 0; ten--)
        wide_mul_add(w, 10, 0);
    for (; ten < 0; ten++)
        more |= wide_div(w, 10) != 0;
    for (unsigned i = 4; i < LIMBS; i++)
        if (w[i] != 0)
            return SL_QUANTITY_MAX;
    u128 v = 0;
    for (unsigned i = 4; i-- > 0;)
        v = v << 32 | w[i];
    return v > (u128)SL_QUANTITY_MAX ? SL_QUANTITY_MAX : capped(v + more);
}

int sl_quantity_parse(const char *s, size_t len, sl_quantity *ret, struct sl_err *err) {
    struct number x;
    bool minus = false;

    x.p = s;
    x.end = s + len;
    x.n = x.bits = 0;
    x.sticky = x.any = false;
    x.ten = 9; /* counted in nano-units */
    if (x.p < x.end && (*x.p == '+' || *x.p == '-'))
        minus = *x.p++ == '-';
    take_digits(&x, false);
    if (x.p < x.end && *x.p == '.') {
        x.p++;
        take_digits(&x, true);
    }
    if (!x.any || !take_suffix(&x))
        return bad_quantity(s, len, err);
    sl_quantity v = x.n == 0 ? 0 : x.n <= FAST_DIGITS ? value_fast(&x) : value_wide(&x);
    *ret = minus ? -v : v;
    return 0;
}

bool sl_quantity_is_milli(const char *resource) {
    return strcmp(resource, "cpu") == 0;
}

bool sl_quantity_is_bytes(const char *resource) {
    return strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0 ||
           strncmp(resource, "hugepages-", 10) == 0;
}

/* q / unit, away from zero. */
static sl_quantity in_units(const char *resource, sl_quantity q) {
    sl_quantity unit = sl_quantity_is_milli(resource) ? SL_NANO / 1000 : SL_NANO;
    sl_quantity v = q / unit, rest = q % unit;

    return rest > 0 ? v + 1 : rest < 0 ? v - 1 : v;
}

sl_amount sl_amount_of_quota(const char *resource, sl_quantity q) {
    int64_t limit = sl_quantity_is_milli(resource) ? INT64_MAX / 1000 : INT64_MAX;

    if (q >= (sl_quantity)limit * SL_NANO)
        return SL_AMOUNT_UNLIMITED;
    return sl_amount_clamp(in_units(resource, q));
}

sl_amount sl_amount_of_request(const char *resource, sl_quantity q) {
    return sl_amount_min(sl_amount_clamp(in_units(resource, q)), SL_AMOUNT_UNLIMITED - 1);
}

/* v with the greatest suffix that leaves no fraction; suffixes run from the unit of v upwards. */
static const char *format(sl_quantity v, unsigned step, const char *const *suffix, unsigned n,
                          char out[SL_QUANTITY_TEXT]) {
    bool minus = v < 0;
    u128 u = minus ? 0 - (u128)v : (u128)v;
    unsigned i = 0;

    if (u == 0) {
        memcpy(out, "0", 2);
        return out;
    }
    while (i + 1 < n && u % step == 0) {
        u /= step;
        i++;
    }
    char tmp[SL_QUANTITY_TEXT], *end = tmp + sizeof tmp, *p = end - strlen(suffix[i]) - 1;
    memcpy(p, suffix[i], strlen(suffix[i]) + 1);
    for (; u > UINT64_MAX; u /= 10)
        *--p = (char)('0' + (unsigned)(u % 10));
    uint64_t low = (uint64_t)u;
    do
        *--p = (char)('0' + low % 10);
    while (low /= 10);
    if (minus)
        *--p = '-';
    memcpy(out, p, (size_t)(end - p));
    return out;
}

static const char *const decimal_suffix[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
static const char *const binary_suffix[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

const char *sl_amount_format(const char *resource, sl_amount a, char out[SL_QUANTITY_TEXT]) {
    if (a == SL_AMOUNT_UNLIMITED)
        return memcpy(out, "<unlimited>", sizeof "<unlimited>");
    if (a == SL_AMOUNT_NONE)
        return memcpy(out, "<none>", sizeof "<none>");
    if (sl_quantity_is_bytes(resource))
        return format(a, 1024, binary_suffix, SL_LEN(binary_suffix), out);
    unsigned first = sl_quantity_is_milli(resource) ? 2 : 3;
    return format(a, 1000, decimal_suffix + first, (unsigned)SL_LEN(decimal_suffix) - first, out);
}

const char *sl_quantity_format(sl_quantity q, char out[SL_QUANTITY_TEXT]) {
    return format(q, 1000, decimal_suffix, SL_LEN(decimal_suffix), out);
}
