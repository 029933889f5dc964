/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People at an API server that checks next to nothing, as one whose CRDs were edited or one that is
 * hostile. Each line of an input is one thing that somebody does there: a letter for the
 * collection, one for what is done, and the body.
 *
 *     c JSON   create              p JSON   merge into the object "x", or the one of the collection
 *     s JSON   into its status     d        delete it
 *
 * What is not one of these is the target's own.
 */
#ifndef SL_FUZZ_STAGE_FZ_H
#define SL_FUZZ_STAGE_FZ_H

#include <string.h>

#include "core/base/err.h"
#include "fakeapi.h"
#include "lib/log/log.h"

#define STAGE_LINES 24u
#define STAGE_BODY ((size_t)1 << 20)

struct stage {
    struct fakeapi *a;
    const char *const *collections;
    const char *const *objects; /* of each: what is changed and deleted there; NULL: "x" */
    uint32_t n_collections;
    uint32_t made, max_made; /* objects that may be created: a set may request a million pods */
    /* Runs all components for so long. */
    void (*run)(struct stage *g, sl_span d);
    /* A line that is none of the above; false: it is. NULL: there are none. */
    bool (*own)(struct stage *g, const char *s, size_t len);
};

static inline int stage_write(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    struct stage *g = ctx;

    (void)why;
    return !w->old && ++g->made > g->max_made ? 403 : 0;
}

/* An API server with the namespace "ns"; 'bare' as in fakeapi_bare. */
static inline void stage_init(struct stage *g, bool bare) {
    sl_log_set(SL_LOG_ERROR);
    g->a = fakeapi_new(1);
    if (bare)
        fakeapi_bare(g->a);
    (void)fakeapi_do(g->a, SL_POST, "/api/v1/namespaces", SL_JSON,
                     "{\"metadata\":{\"name\":\"ns\",\"labels\":{}}}", NULL);
}

static inline void stage_line(struct stage *g, const char *s, size_t len) {
    struct sl_buf path = SL_BUF(200), body = SL_BUF(STAGE_BODY);
    enum sl_kube_method method = s[1] == 'c' ? SL_POST : s[1] == 'd' ? SL_DELETE : SL_PATCH;

    uint32_t which = (unsigned char)(s[0] - 'a') % g->n_collections;

    sl_buf_puts(&path, g->collections[which]);
    if (s[1] != 'c')
        sl_buf_printf(&path, "/%s%s", g->objects ? g->objects[which] : "x",
                      s[1] == 's' ? "/status" : "");
    sl_buf_add(&body, s + 2, len - 2);
    if (memchr(s + 2, '\0', len - 2) || sl_buf_full(&body))
        sl_buf_clear(&body);
    (void)fakeapi_do(g->a, method, sl_buf_str(&path), method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON,
                     sl_buf_str(&body), NULL);
    sl_buf_done(&path);
    sl_buf_done(&body);
    g->run(g, SL_SEC);
}

static inline void stage_play(struct stage *g, const uint8_t *data, size_t size) {
    const char *s = (const char *)data, *end = s + size;

    fakeapi_on_write(g->a, stage_write, g);
    for (uint32_t i = 0; s < end && i < STAGE_LINES; i++) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        size_t len = (size_t)((nl ? nl : end) - s);
        if (len >= 2 && !(g->own && g->own(g, s, len)))
            stage_line(g, s, len);
        s += len + 1;
    }
    g->run(g, 5 * SL_SEC);
}

#endif
