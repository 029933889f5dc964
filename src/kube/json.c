#include "kube/json.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* Depth is bounded by what the parser let through: objects of the API server are at most a few
 * dozen levels deep, and anything deeper than this counts as a constant. */
#define MAX_DEPTH 128u

yyjson_val *jat(yyjson_val *o, const char *path) {
    while (o && *path) {
        const char *dot = strchr(path, '.');
        size_t n = dot ? (size_t)(dot - path) : strlen(path);
        o = yyjson_obj_getn(o, path, n);
        path += n + (dot != NULL);
    }
    return yyjson_is_null(o) ? NULL : o;
}

const char *jstr(yyjson_val *o, const char *path) {
    const char *s = yyjson_get_str(jat(o, path));
    return s ? s : "";
}

int64_t jint(yyjson_val *o, const char *path, int64_t otherwise) {
    yyjson_val *v = jat(o, path);
    return yyjson_is_int(v) ? yyjson_get_sint(v) : otherwise;
}

bool jbool(yyjson_val *o, const char *path, bool otherwise) {
    yyjson_val *v = jat(o, path);
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : otherwise;
}

static const char *in_metadata(yyjson_val *o, const char *map, const char *key) {
    const char *s =
        yyjson_get_str(yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(o, "metadata"), map), key));
    return s ? s : "";
}

const char *jlabel(yyjson_val *o, const char *key) {
    return in_metadata(o, "labels", key);
}

const char *jannotation(yyjson_val *o, const char *key) {
    return in_metadata(o, "annotations", key);
}

/* ---- time ---- */

/* Days from 1970-01-01 to a civil date, and back (proleptic Gregorian calendar, years of 400-year
 * eras from March). */
static int64_t days_of(int64_t y, int64_t mo, int64_t d) {
    y -= mo <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static void civil_of(int64_t days, int64_t *y, int64_t *mo, int64_t *d) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = doy - (153 * mp + 2) / 5 + 1;
    *mo = mp < 10 ? mp + 3 : mp - 9;
    *y = yoe + era * 400 + (*mo <= 2);
}

/* n digits at s as a number, -1 if one is none. */
static int64_t digits(const char *s, int n) {
    int64_t v = 0;
    for (int i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

static sl_time parse_time(const char *s, size_t len) {
    if (len < 20 || len > 40 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' ||
        s[16] != ':')
        return 0;
    int64_t y = digits(s, 4), mo = digits(s + 5, 2), d = digits(s + 8, 2);
    int64_t h = digits(s + 11, 2), mi = digits(s + 14, 2), sec = digits(s + 17, 2);
    if (y < 1678 || y > 2261 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || mi < 0 || sec < 0)
        return 0;
    int64_t nanos = 0, scale = SL_SEC / 10;
    const char *p = s + 19;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, scale /= 10)
            nanos += (*p - '0') * scale;
    int64_t offset = 0;
    if (*p == '+' || *p == '-') {
        if (strlen(p) < 6 || digits(p + 1, 2) < 0 || digits(p + 4, 2) < 0)
            return 0;
        offset = (digits(p + 1, 2) * 60 + digits(p + 4, 2)) * 60 * (*p == '-' ? -1 : 1);
    } else if (*p != 'Z') {
        return 0;
    }
    return (days_of(y, mo, d) * 86400 + h * 3600 + mi * 60 + sec - offset) * SL_SEC + nanos;
}

sl_time jtime(yyjson_val *o, const char *path) {
    yyjson_val *v = jat(o, path);
    return yyjson_is_str(v) ? parse_time(yyjson_get_str(v), yyjson_get_len(v)) : 0;
}

static void put_time(struct sl_buf *b, sl_time t, bool micros) {
    int64_t sec = t / SL_SEC, nanos = t % SL_SEC;
    if (nanos < 0) {
        sec--;
        nanos += SL_SEC;
    }
    int64_t days = (sec >= 0 ? sec : sec - 86399) / 86400, rest = sec - days * 86400, y, mo, d;
    civil_of(days, &y, &mo, &d);
    sl_buf_printf(b, "\"%04d-%02d-%02dT%02d:%02d:%02d", (int)y, (int)mo, (int)d, (int)(rest / 3600),
                  (int)(rest / 60 % 60), (int)(rest % 60));
    if (micros)
        sl_buf_printf(b, ".%06d", (int)(nanos / SL_USEC));
    sl_buf_puts(b, "Z\"");
}

void jput_text(struct sl_buf *b, const char *lead, const char *text) {
    sl_buf_puts(b, lead);
    sl_buf_json(b, text);
}

void jput_time(struct sl_buf *b, sl_time t) {
    put_time(b, t, false);
}

void jput_micro_time(struct sl_buf *b, sl_time t) {
    put_time(b, t, true);
}

/* ---- meaning ---- */

static bool empty(yyjson_val *v) {
    return !v || yyjson_is_null(v) || (yyjson_is_ctn(v) && unsafe_yyjson_get_len(v) == 0);
}

static uint64_t hash_at(uint64_t seed, yyjson_val *v, uint32_t depth) {
    if (empty(v) || depth > MAX_DEPTH)
        return seed;
    size_t i, n;
    yyjson_val *key, *val;
    uint64_t sum = 0;

    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return sl_hash_bytes(sl_hash_u64(seed, 1), unsafe_yyjson_get_str(v),
                             unsafe_yyjson_get_len(v));
    case YYJSON_TYPE_BOOL:
        return sl_hash_u64(sl_hash_u64(seed, 2), yyjson_get_bool(v));
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(v)) {
            double d = yyjson_get_real(v);
            uint64_t bits;
            memcpy(&bits, &d, sizeof bits);
            return sl_hash_u64(sl_hash_u64(seed, 3), bits);
        }
        return sl_hash_u64(sl_hash_u64(seed, 4), yyjson_get_uint(v));
    case YYJSON_TYPE_ARR:
        seed = sl_hash_u64(seed, 5);
        yyjson_arr_foreach (v, i, n, val)
            seed = hash_at(sl_hash_u64(seed, i), val, depth + 1);
        return seed;
    case YYJSON_TYPE_OBJ:
        /* A sum does not depend on the order of the keys. */
        yyjson_obj_foreach (v, i, n, key, val) {
            if (!empty(val))
                sum += hash_at(
                    sl_hash_bytes(7, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)), val,
                    depth + 1);
        }
        return sl_hash_u64(sl_hash_u64(seed, 6), sum);
    default:
        return seed;
    }
}

uint64_t jhash(uint64_t seed, yyjson_val *v) {
    return hash_at(seed, v, 0);
}

void jput(struct sl_buf *b, yyjson_val *v) {
    size_t n;
    char *s = yyjson_val_write(v, 0, &n);
    if (s)
        sl_buf_add(b, s, n);
    else
        sl_buf_puts(b, "null");
    free(s);
}
