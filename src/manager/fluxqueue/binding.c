/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binding of a pod, as protobuf: of all writes there are most of this one, and it costs an API
 * server more to read it as JSON than all that is in it is worth.
 *
 *     "k8s\0" Unknown { typeMeta = 1 { apiVersion = 1, kind = 2 }, raw = 2 }
 *     raw: Binding { metadata = 1 { name = 1, namespace = 3, uid = 5 },
 *                    target = 2 { kind = 1, name = 3, apiVersion = 5 } }
 */
#include <string.h>

#include "manager/fluxqueue/fq_int.h"

#define TYPE "application/vnd.kubernetes.protobuf"
#define MAX_MESSAGE (5 * (SL_REC_MAX_NAME + 8)) /* names, a namespace, a uid, what is around them  \
                                                 */

static void put_bytes(struct sl_buf *b, unsigned field, const char *s, size_t n) {
    sl_buf_putc(b, (char)(field << 3 | 2)); /* wire type 2: a length, and so many bytes */
    size_t left = n;
    for (; left >= 0x80; left >>= 7)
        sl_buf_putc(b, (char)((left & 0x7f) | 0x80));
    sl_buf_putc(b, (char)left);
    sl_buf_add(b, s, n);
}

static void put_text(struct sl_buf *b, unsigned field, const char *s) {
    put_bytes(b, field, s, strlen(s));
}

static void put_message(struct sl_buf *b, unsigned field, struct sl_buf *m) {
    sl_assert(!sl_buf_full(m));
    put_bytes(b, field, sl_buf_str(m), m->len);
}

void fq_build_binding(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w) {
    _cleanup_(sl_buf_done) struct sl_buf type = SL_BUF(MAX_MESSAGE), meta = SL_BUF(MAX_MESSAGE),
                                         target = SL_BUF(MAX_MESSAGE), raw = SL_BUF(MAX_MESSAGE);
    fq_pod_send(q, p, p->target);
    w->tag = FQ_TAG_BIND;
    sl_rec_build_post(&p->rec, "binding", w);
    w->content_type = TYPE;
    put_text(&type, 1, "v1");
    put_text(&type, 2, "Binding");
    put_text(&meta, 1, p->rec.name);
    put_text(&meta, 3, sl_rec_ns(&p->rec));
    put_text(&meta, 5, p->rec.uid);
    put_text(&target, 1, "Node");
    put_text(&target, 3, fq_str(q, p->target));
    put_text(&target, 5, "v1");
    put_message(&raw, 1, &meta);
    put_message(&raw, 2, &target);
    sl_buf_add(&w->body, "k8s", 4); /* with its NUL */
    put_message(&w->body, 1, &type);
    put_message(&w->body, 2, &raw);
}
