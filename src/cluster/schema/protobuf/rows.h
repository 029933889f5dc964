/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf encoding: a message is a sequence of (number, kind of value, value). Errors have the
 * messages of Go's decoders. Private to src/cluster/schema.
 */
#ifndef SL_CLUSTER_SCHEMA_PROTOBUF_ROWS_H
#define SL_CLUSTER_SCHEMA_PROTOBUF_ROWS_H

#include "core/base/err.h"

enum schema_row_wire { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIXED32 = 5 };

struct schema_bytes {
    const unsigned char *at, *end;
};

struct schema_row {
    uint32_t n; /* 0: there is no such row */
    uint32_t wire;
    uint64_t num;
    struct schema_bytes bytes;
};

static inline size_t schema_bytes_len(struct schema_bytes s) {
    return (size_t)(s.end - s.at);
}

int schema_row_varint(struct schema_bytes *s, uint64_t *ret, struct sl_err *err) _must_check_;
/* The next row: 1; 0: there is none. 'type' is for the message. */
int schema_row_next(struct schema_bytes *s, const char *type, struct schema_row *ret,
                    struct sl_err *err) _must_check_;
int schema_row_wrong(const struct schema_row *row, const char *field,
                     struct sl_err *err) _must_check_;

/* A small message: its fields are numbered from 1 on, and the last row of each counts. */
struct schema_row_part {
    const char *name;
    enum schema_row_wire wire;
};
#define SL_ROW_PARTS 4u

int schema_row_parts(struct schema_bytes s, const char *type, const struct schema_row_part *parts,
                     uint32_t n, struct schema_row ret[SL_ROW_PARTS],
                     struct sl_err *err) _must_check_;

#endif
