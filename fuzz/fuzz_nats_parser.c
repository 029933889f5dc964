/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a NATS server sends: they are read the same in one piece and in pieces (of the
 * size that the first byte says), and memory stays within its ceilings.
 */
#include "core/base/collection/hash.h"
#include "lib/nats/parser.h"
#include "lib/nats/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t add_text(uint64_t h, struct sl_text t) {
    return sl_hash_bytes(h, t.s, t.n);
}

static uint64_t add_frame(uint64_t h, const struct natsc_frame *s) {
    h = sl_hash_u64(h, (uint64_t)s->op);
    if (s->op == NATSC_INFO || s->op == NATSC_ERR)
        return add_text(h, s->text);
    if (s->op != NATSC_MSG)
        return h;
    sl_assert(s->subject.n > 0 && !sl_text_has_nul(s->subject) && s->sid <= UINT32_MAX);
    sl_assert(s->len <= NATSC_MAX_LENGTH && !s->data == (s->len > SL_NATS_MAX_MESSAGE));
    h = sl_hash_u64(add_text(h, s->subject), s->sid);
    return s->data ? sl_hash_bytes(h, s->data, s->len) : sl_hash_u64(h, s->len);
}

static uint64_t read_in_pieces(struct sl_text all, size_t piece) {
    struct natsc_parser w;
    struct natsc_frame frame;
    struct sl_err err = {0};
    uint64_t h = 0;
    int r = 0;

    natsc_parser_init(&w);
    while (all.n > 0 && r >= 0) {
        struct sl_text part = {all.s, all.n < piece ? all.n : piece};
        all = (struct sl_text){all.s + part.n, all.n - part.n};
        while ((r = natsc_parser_read(&w, &part, &frame, &err)) > 0)
            h = add_frame(h, &frame);
        sl_assert(r < 0 ? err.code == r && err.text[0] : part.n == 0);
    }
    sl_assert(w.line.len <= NATSC_MAX_LINE && w.body.len <= SL_NATS_MAX_MESSAGE + 2);
    natsc_parser_done(&w);
    return sl_hash_u64(h, r < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    struct sl_text all = {(const char *)data + 1, size - 1};
    sl_assert(read_in_pieces(all, SIZE_MAX) == read_in_pieces(all, data[0] + (size_t)1));
    return 0;
}
