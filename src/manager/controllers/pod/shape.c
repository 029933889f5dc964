/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of pods, interned: the pods of a node are created from few manifests. */
#include <string.h>

#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"
#include "kube/types/podset.h"
#include "lib/log/log.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/pod/pods.h"
#include "manager/controllers/provisioning/capacity_pack.h"

#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define FEW_PORTS 16u               /* are found without an allocation */

/* What cannot be read has no requests. */
static struct mgr_pod_shape *make(struct sl_manager *m, struct sl_buf *text, const uint32_t *ports,
                                  uint32_t n_ports) {
    struct sl_podset_spec spec = {0};
    struct sl_doc *d = NULL;
    struct sl_err err = {0};

    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_POD);
    struct sl_read rd = {.file = "pod", .arena = &arena, .err = &err};
    if (sl_buf_full(text) ||
        sl_doc_json_within("pod", text->s, text->len, CEILING_ASKED_VALUES, &d, &err) < 0)
        rd.code = SL_EINVAL;
    else
        sl_decode_podset(&rd, &d->roots[0], &spec);
    if (rd.code >= 0 && sl_arena_full(&arena))
        rd.code = sl_err_set(&err, SL_ELIMIT, "the pod is too large");
    if (rd.code < 0) {
        sl_log(SL_LOG_WARN, "pod usage counted as zero: malformed resource requests",
               SL_S("error", err.text));
        spec.n_requests = 0;
    }
    struct mgr_pod_shape *s =
        sl_alloc0(1, sizeof *s + spec.n_requests * sizeof s->v[0] + n_ports * sizeof *ports);
    s->n = spec.n_requests;
    s->n_ports = n_ports;
    s->ports = (uint32_t *)(void *)&s->v[s->n];
    for (uint32_t i = 0; i < n_ports; i++)
        s->ports[i] = ports[i];
    for (uint32_t i = 0; i < s->n; i++)
        s->v[i] = (struct sl_request){mgr_str(m, sl_sym_put(m->syms, spec.requests[i].resource)),
                                      spec.requests[i].q};
    sl_doc_free(d);
    return s;
}

struct mgr_pod_shape *mgr_pod_shape_get(struct sl_manager *m, yyjson_val *spec) {
    uint32_t few[FEW_PORTS], *ports = few, n_ports = sl_podspec_host_ports(spec, few, FEW_PORTS);
    if (n_ports > FEW_PORTS) {
        ports = sl_alloc0(n_ports, sizeof *ports);
        (void)sl_podspec_host_ports(spec, ports, n_ports);
    }
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(MAX_TEXT);
    sl_podspec_put(&text, spec, false);
    uint64_t h = sl_hash_bytes(1, sl_buf_str(&text), text.len);
    for (uint32_t i = 0; i < n_ports; i++)
        h = sl_hash_u64(h, ports[i]);
    uint32_t id = sl_map_get(&m->pods->shapes_by_hash, h);
    struct mgr_pod_shape *s = id == SL_MAP_NONE ? NULL : m->pods->shapes.v[id];
    if (!s) {
        s = make(m, &text, ports, n_ports);
        s->hash = h;
        s->id = m->pods->free_shapes.n ? sl_vec_pop(&m->pods->free_shapes) : m->pods->shapes.n;
        if (s->id == m->pods->shapes.n)
            (void)sl_vec_push(&m->pods->shapes);
        m->pods->shapes.v[s->id] = s;
        sl_map_add(&m->pods->shapes_by_hash, h, s->id);
    }
    s->refs++;
    if (ports != few)
        sl_freep(&ports);
    return s;
}

void mgr_pod_shape_unref(struct sl_manager *m, struct mgr_pod_shape *s) {
    if (!s || --s->refs)
        return;
    (void)sl_map_del(&m->pods->shapes_by_hash, s->hash, s->id);
    m->pods->shapes.v[s->id] = NULL;
    *sl_vec_push(&m->pods->free_shapes) = s->id;
    sl_freep(&s);
}
