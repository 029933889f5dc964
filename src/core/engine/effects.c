/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making effects: small records with their strings copied into the effects' own arena, so that they
 * outlive whatever the engine does next.
 */
#include "core/engine/state.h"

#include <string.h>

struct sl_effect *eng_effect_new(struct sl_engine *e, enum sl_effect_kind kind, uint32_t wl) {
    struct sl_effect *f = sl_vec_push(&e->out->v);
    *f = (struct sl_effect){.kind = kind, .ns = "", .name = "", .cq = ""};
    if (wl == ENG_NONE)
        return f;
    const struct eng_wl *w = &e->wls.v[wl];
    uint32_t cq = w->admission ? w->admission->cq : e->lqs.v[w->lq].cq;
    f->wl = eng_wl_id(e, wl);
    f->ns = eng_str(e, w->ns);
    f->name = sl_arena_strndup(&e->out->arena, eng_wl_name(w), (size_t)w->uid_off - 1);
    f->cq =
        eng_str(e, cq == ENG_NONE ? e->lqs.v[w->lq].cq_name : eng_cq_node(e, &e->cqs.v[cq])->name);
    return f;
}

/* "/org/.../queue" */
char *eng_cq_path(const struct sl_engine *e, uint32_t cq, struct sl_arena *a) {
    uint32_t path[SL_MAX_COHORT_DEPTH + 1], n = 0;
    size_t len = 1;
    for (uint32_t i = e->cqs.v[cq].node; i != ENG_NONE; i = e->nodes.v[i].parent) {
        path[n++] = i;
        len += strlen(eng_str(e, e->nodes.v[i].name)) + 1;
    }
    char *s = sl_arena_alloc(a, len), *p = s;
    while (n-- > 0) {
        const char *name = eng_str(e, e->nodes.v[path[n]].name);
        size_t k = strlen(name);
        *p++ = '/';
        memcpy(p, name, k);
        p += k;
    }
    *p = '\0';
    return s;
}

static uint64_t hash_pending(const struct sl_engine *e, const struct eng_entry *x,
                             enum sl_pending_kind kind, uint32_t victims, bool asleep) {
    uint64_t h = sl_hash_u64((uint64_t)kind << 1 | asleep, victims);
    for (uint32_t i = 0; i < x->whys.n; i++) {
        const struct sl_why *w = &e->round.whys.v[x->whys.from + i];
        h = sl_hash_u64(h, (uint64_t)w->kind << 32 | w->podset);
        h = sl_hash_str(sl_hash_str(h, w->flavor), w->resource);
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)w->amount), (uint64_t)w->limit);
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)w->before), (uint64_t)w->request);
        h = sl_hash_str(h, w->taint);
    }
    const struct eng_wl_extra *m = e->wls.v[x->wl].extra;
    if (m && (m->shown || m->put_off))
        h = sl_hash_u64(sl_hash_u64(h, (uint64_t)m->shown), (uint64_t)m->put_off);
    return h;
}

/* Reports why the workload was not admitted, unless that was reported last. */
void eng_effect_pending(struct sl_engine *e, struct eng_entry *x, enum sl_pending_kind kind,
                        uint32_t victims, bool asleep) {
    struct eng_wl_extra *m = eng_wl_extra(e, x->wl);
    uint64_t h = hash_pending(e, x, kind, victims, asleep);
    if (m->reported_hash == h)
        return;
    m->reported_hash = h;
    struct sl_arena *a = &e->out->arena;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_PENDING, x->wl);
    f->pending.kind = kind;
    f->pending.victims = victims;
    f->pending.asleep = asleep;
    f->pending.text = sl_arena_strdup(a, m->invalid ? m->invalid : "");
    f->pending.reserved = m->shown;
    f->pending.put_off = m->put_off;
    if (m->put_off) { /* said once */
        m->put_off = 0;
        m->reported_hash = hash_pending(e, x, kind, victims, asleep);
    }
    if (kind != SL_PENDING_NO_FIT && kind != SL_PENDING_NO_CANDIDATES &&
        kind != SL_PENDING_PREEMPTION)
        return;
    const struct eng_shape *s = &e->shapes.v[e->wls.v[x->wl].shape];
    const char **names = sl_arena_alloc0(a, s->n + 1, sizeof(*names));
    for (uint32_t i = 0; i < s->n; i++)
        names[i] = sl_arena_strdup(a, s->podsets[i].name);
    struct sl_why *why = sl_arena_alloc0(a, x->whys.n + 1, sizeof(*why));
    for (uint32_t i = 0; i < x->whys.n; i++) {
        why[i] = e->round.whys.v[x->whys.from + i];
        if (why[i].taint)
            why[i].taint = sl_arena_strdup(a, why[i].taint);
    }
    f->pending.why = why;
    f->pending.n_why = x->whys.n;
    f->pending.podset_names = names;
}
