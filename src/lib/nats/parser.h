/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the NATS protocol: what a server sends, read byte by byte. Pure: no I/O.
 * Whatever the server sends, memory stays bounded: a line has a ceiling, and of a message that is
 * longer than SL_NATS_MAX_MESSAGE the bytes are skipped and only the length is kept.
 */
#ifndef SL_LIB_NATS_PARSER_H
#define SL_LIB_NATS_PARSER_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* Of one line. Lists of a large cluster's servers are the longest that there are. */
#define NATSC_MAX_LINE ((size_t)32 << 10)
/* What a server may call a message's length: more is no message. */
#define NATSC_MAX_LENGTH ((size_t)1 << 30)

enum natsc_op {
    NATSC_INFO, /* text: a JSON object */
    NATSC_MSG,
    NATSC_PING,
    NATSC_PONG,
    NATSC_OK,
    NATSC_ERR, /* text: without the quotes */
};

struct natsc_frame {
    enum natsc_op op;
    struct sl_text text;    /* INFO, ERR */
    struct sl_text subject; /* MSG, without NUL */
    uint64_t sid;
    const char *data; /* NULL if it is longer than SL_NATS_MAX_MESSAGE */
    size_t len;
};

struct natsc_parser {
    struct sl_buf line;
    struct sl_buf body; /* of the message in 'msg' */
    size_t left;        /* bytes of it that are still to come, with CR and LF */
    struct natsc_frame msg;
    bool in_body, complete; /* complete: 'line' is that of the last operation */
};

void natsc_parser_init(struct natsc_parser *w);
void natsc_parser_done(struct natsc_parser *w);
/* Takes from the front of *in what belongs to the next operation. 1: *ret is that operation, valid
 * until the next call; 0: all is taken and more has to come; less: this is no NATS server, and the
 * reader is not to be used again. */
int natsc_parser_read(struct natsc_parser *w, struct sl_text *in, struct natsc_frame *ret,
                      struct sl_err *err) _must_check_;

#endif
