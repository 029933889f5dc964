/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled jobspecs. Scripts match the same few files thousands of times; each time the file is
 * read, and what is in it is looked up here before it is parsed.
 */
#include <string.h>

#include "cmd/match/session_int.h"
#include "core/base/collection/hash.h"
#include "lib/graphio/jobspec_read.h"

#define SPECS_MAX 4096u
#define SPECS_BYTES ((size_t)32 << 20)

void match_specs_forget(struct sl_session *s) {
    for (uint32_t i = 0; i < s->specs.v.n; i++) {
        struct match_spec *x = &s->specs.v.v[i];
        sl_match_request_free(x->request);
        sl_freep(&x->text);
        sl_freep(&x->queue);
        sl_jobspec_free(x->spec);
    }
    sl_vec_free(&s->specs.v);
    sl_map_done(&s->specs.by_hash);
    s->specs = (struct match_specs){0};
}

static const struct match_spec *known(const struct match_specs *k, uint64_t hash, const char *text,
                                      size_t len) {
    uint32_t c;
    for (uint32_t i = sl_map_first(&k->by_hash, hash, &c); i != SL_MAP_NONE;
         i = sl_map_next(&k->by_hash, hash, &c))
        if (k->v.v[i].len == len && memcmp(k->v.v[i].text, text, len) == 0)
            return &k->v.v[i];
    return NULL;
}

static uint32_t count_labels(const struct sl_req_spec *v, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += (v[i].kind == SL_REQ_RESOURCE && v[i].label && *v[i].label) +
                 count_labels(v[i].with, v[i].n_with);
    return found;
}

static void put_labels(const struct sl_req_spec *v, uint32_t n, struct sl_graphio_label *ret,
                       uint32_t *ret_n) {
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind == SL_REQ_RESOURCE && v[i].label && *v[i].label)
            ret[(*ret_n)++] = (struct sl_graphio_label){v[i].type, v[i].label};
        put_labels(v[i].with, v[i].n_with, ret, ret_n);
    }
}

int match_specs_get(struct sl_session *s, const char *file, const char *text, size_t len,
                    const struct match_spec **ret, struct sl_err *err) {
    _cleanup_(sl_jobspec_freep) struct sl_jobspec *j = NULL;
    uint64_t hash = sl_hash_bytes(0, text, len);
    struct sl_match_request *request;

    *ret = known(&s->specs, hash, text, len);
    if (*ret)
        return SL_OK;
    int r = sl_graphio_jobspec_read(file, text, len, &j, err);
    if (r < 0)
        return r;
    if (strcmp(s->o.words[SL_SESSION_TRAVERSER], "flexible") == 0)
        sl_graphio_jobspec_mix_slots(j);
    r = sl_match_request_new(sl_match_graph(s->m), j, &request, err);
    if (r < 0)
        return sl_err_wrap(err, r, "%s", file);
    if (s->specs.v.n >= SPECS_MAX || s->specs.bytes + len > SPECS_BYTES)
        match_specs_forget(s);
    struct match_spec x = {
        .hash = hash,
        .text = sl_alloc(len + 1),
        .len = len,
        .request = request,
        .queue = j->queue ? sl_strdup(j->queue) : NULL,
    };
    x.n_labels = count_labels(j->resources, j->n_resources);
    if (x.n_labels > 0) { /* they are the jobspec's */
        struct sl_graphio_label *v = sl_arena_alloc(&j->arena, x.n_labels * sizeof(*v));
        uint32_t n = 0;
        put_labels(j->resources, j->n_resources, v, &n);
        x.labels = v;
        x.spec = TAKE_PTR(j);
    }
    if (len > 0)
        memcpy(x.text, text, len);
    s->specs.bytes += len;
    sl_map_add(&s->specs.by_hash, hash, s->specs.v.n);
    struct match_spec *kept = sl_vec_push(&s->specs.v);
    *kept = x;
    *ret = kept;
    return SL_OK;
}
