/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/schema/protobuf/rows.h"

#include <string.h>

static int cut_off(struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL, "unexpected EOF");
}

int schema_row_varint(struct schema_bytes *s, uint64_t *ret, struct sl_err *err) {
    *ret = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        if (s->at == s->end)
            return cut_off(err);
        unsigned char c = *s->at++;
        *ret |= (uint64_t)(c & 127) << shift;
        if (!(c & 128))
            return SL_OK;
    }
    return sl_err_set(err, SL_EINVAL, "proto: integer overflow");
}

static int fixed(struct schema_bytes *s, uint32_t size, uint64_t *ret, struct sl_err *err) {
    *ret = 0;
    if (schema_bytes_len(*s) < size)
        return cut_off(err);
    for (uint32_t i = 0; i < size; i++)
        *ret |= (uint64_t)s->at[i] << 8 * i;
    s->at += size;
    return SL_OK;
}

/* What stands behind a tag, unless it is a group. */
static int content(struct schema_bytes *s, struct schema_row *row, struct sl_err *err) {
    switch (row->wire) {
    case VARINT:
        return schema_row_varint(s, &row->num, err);
    case FIXED64:
        return fixed(s, 8, &row->num, err);
    case FIXED32:
        return fixed(s, 4, &row->num, err);
    case BYTES: {
        int e = schema_row_varint(s, &row->num, err);
        if (e < 0)
            return e;
        if (row->num > INT64_MAX)
            return sl_err_set(err, SL_EINVAL, "proto: negative length found during unmarshaling");
        if (row->num > schema_bytes_len(*s))
            return cut_off(err);
        row->bytes = (struct schema_bytes){s->at, s->at + row->num};
        s->at += row->num;
        return SL_OK;
    }
    default:
        return sl_err_set(err, SL_EINVAL, "proto: illegal wireType %u", row->wire);
    }
}

/* Groups are obsolete, but they can be skipped. */
static int pass_group(struct schema_bytes *s, struct sl_err *err) {
    for (uint64_t open = 1, tag; open > 0;) {
        struct schema_row row;
        int e = schema_row_varint(s, &tag, err);
        row.wire = tag & 7;
        if (e >= 0 && row.wire == GROUP)
            open++;
        else if (e >= 0 && row.wire == GROUP_END)
            open--;
        else if (e >= 0)
            e = content(s, &row, err);
        if (e < 0)
            return e;
    }
    return SL_OK;
}

int schema_row_next(struct schema_bytes *s, const char *type, struct schema_row *ret,
                    struct sl_err *err) {
    uint64_t tag;

    *ret = (struct schema_row){0};
    if (s->at == s->end)
        return 0;
    int e = schema_row_varint(s, &tag, err);
    if (e < 0)
        return e;
    ret->wire = tag & 7;
    ret->n = (uint32_t)(tag >> 3);
    if (ret->wire == GROUP_END)
        return sl_err_set(err, SL_EINVAL, "proto: %s: wiretype end group for non-group", type);
    if (ret->n == 0 || ret->n > INT32_MAX)
        return sl_err_set(err, SL_EINVAL, "proto: %s: illegal tag %d (wire type %u)", type,
                          (int32_t)ret->n, ret->wire);
    e = ret->wire == GROUP ? pass_group(s, err) : content(s, ret, err);
    return e < 0 ? e : 1;
}

int schema_row_wrong(const struct schema_row *row, const char *field, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL, "proto: wrong wireType = %u for field %s", row->wire, field);
}

int schema_row_parts(struct schema_bytes s, const char *type, const struct schema_row_part *parts,
                     uint32_t n, struct schema_row ret[SL_ROW_PARTS], struct sl_err *err) {
    struct schema_row row;
    int e;

    sl_assert(n <= SL_ROW_PARTS);
    memset(ret, 0, SL_ROW_PARTS * sizeof ret[0]);
    while ((e = schema_row_next(&s, type, &row, err)) > 0) {
        if (row.n > n)
            continue;
        if (row.wire != parts[row.n - 1].wire)
            return schema_row_wrong(&row, parts[row.n - 1].name, err);
        ret[row.n - 1] = row;
    }
    return e;
}
