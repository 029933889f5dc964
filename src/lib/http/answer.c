/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/answer.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/mem.h"

#define STREAM_BYTES ((size_t)64 << 10) /* of a long answer at a time */

/* A long answer on its way. */
struct stream {
    struct sl_http_answer a; /* its body is the piece that is being sent */
    size_t sent;             /* of that */
    bool last;
};

static ssize_t on_read(void *cls, uint64_t pos, char *buf, size_t max) {
    struct stream *s = cls;
    struct sl_buf *piece = &s->a.body;

    (void)pos;
    while (s->sent == piece->len && !s->last) {
        sl_buf_clear(piece);
        s->sent = 0;
        s->last = !s->a.more(s->a.ctx, piece);
    }
    if (sl_buf_full(piece))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = piece->len - s->sent < max ? piece->len - s->sent : max;
    if (n == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    memcpy(buf, piece->s + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

static void on_read_end(void *cls) {
    struct stream *s = cls;

    s->a.drop(s->a.ctx);
    sl_buf_done(&s->a.body);
    sl_freep(&s);
}

struct MHD_Response *http_answer_response(struct sl_http_answer *a) {
    struct sl_buf *body = &a->body;
    struct MHD_Response *r;

    if (a->more) {
        struct stream *s = sl_alloc0(1, sizeof *s);
        s->a = *a;
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, on_read, s,
                                              on_read_end);
        sl_assert(r);
        sl_buf_init(body, body->ceiling);
        a->more = NULL;
        return r;
    }
    r = body->len > 0 ? MHD_create_response_from_buffer(body->len, body->s, MHD_RESPMEM_MUST_FREE)
                      : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (r && body->len > 0)
        body->s = NULL;
    return r;
}

bool http_answer_headers(struct MHD_Response *r, const char *content_type,
                         const char *const *headers) {
    bool ok = MHD_add_response_header(r, "Content-Type", content_type) == MHD_YES;

    for (; ok && headers && headers[0]; headers += 2)
        ok = MHD_add_response_header(r, headers[0], headers[1]) == MHD_YES;
    return ok;
}
