/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the journal. What is taken must survive being written and read again: the second text is
 * the same as the first.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/facts/facts.h"
#include "core/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all lines and writes the facts in them. Returns false at the first that is refused. */
static bool again(const char *text, size_t size, struct sl_buf *out) {
    struct sl_sim_fact_reader reader;
    struct sl_sim_fact_writer writer;
    struct sl_arena a;
    const char *end = text + size;
    uint32_t line = 0;
    bool good = true;

    sl_sim_fact_reader_init(&reader);
    sl_sim_fact_writer_init(&writer);
    sl_arena_init(&a, (size_t)1 << 30);
    for (const char *p = text; p && p < end && good;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        struct sl_doc *d = NULL;
        struct sl_err err;
        struct sl_read rd = {.file = "in", .arena = &a, .err = &err};
        struct sl_sim_fact_line x;

        good = sl_doc_json("in", ++line, p, (size_t)((stop ? stop : end) - p), &d, &err) == 0;
        p = stop ? stop + 1 : NULL;
        if (!good)
            break;
        sl_sim_fact_decode(&reader, &rd, &d->roots[0], &x);
        sl_doc_free(d);
        good = rd.code == 0;
        if (good && x.kind == SL_LINE_FACT)
            sl_sim_fact_encode(&writer, &x.fact, &x.note, out);
        else if (!good)
            sl_assert(strncmp(err.text, "in:", 3) == 0);
        sl_arena_clear(&a);
    }
    sl_sim_fact_reader_done(&reader);
    sl_sim_fact_writer_done(&writer);
    sl_arena_done(&a);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_buf first, second;

    sl_buf_init(&first, (size_t)1 << 28);
    sl_buf_init(&second, (size_t)1 << 28);
    if (again((const char *)data, size, &first) && !sl_buf_full(&first)) {
        bool good = again(sl_buf_str(&first), first.len, &second);
        sl_assert(good && strcmp(sl_buf_str(&first), sl_buf_str(&second)) == 0);
    }
    sl_buf_done(&first);
    sl_buf_done(&second);
    return 0;
}
