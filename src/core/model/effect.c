/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of effects: memory, names, and the digest that compares the decisions of two runs. The
 * digest covers every string and number of every effect in order; an absent string and an empty one
 * are equal.
 */
#include "core/model/effect.h"

#include "core/base/collection/hash.h"

static const char *const names[SL_EFFECT_COUNT] = {
    [SL_EFFECT_RESERVE] = "reserve",       [SL_EFFECT_ADMIT] = "admit",
    [SL_EFFECT_PENDING] = "pending",       [SL_EFFECT_EVICT] = "evict",
    [SL_EFFECT_RELEASE] = "release",       [SL_EFFECT_UNRESERVE] = "unreserve",
    [SL_EFFECT_REQUEUED] = "requeued",     [SL_EFFECT_BACKOFF] = "backoff",
    [SL_EFFECT_DEACTIVATE] = "deactivate", [SL_EFFECT_CHECKS] = "checks",
    [SL_EFFECT_BLOCKED] = "blocked",       [SL_EFFECT_CQ_STATUS] = "cq-status",
};

const char *sl_effect_name(enum sl_effect_kind k) {
    return (size_t)k < SL_EFFECT_COUNT ? names[k] : "?";
}

void sl_effects_init(struct sl_effects *x) {
    *x = (struct sl_effects){0};
    sl_arena_init(&x->arena, SL_EFFECTS_MAX_BYTES);
}

void sl_effects_done(struct sl_effects *x) {
    sl_vec_free(&x->v);
    sl_arena_done(&x->arena);
}

void sl_effects_clear(struct sl_effects *x) {
    sl_vec_clear(&x->v);
    sl_arena_clear(&x->arena);
}

static uint64_t digest_number(uint64_t h, int64_t v) {
    return sl_digest_u64(h, (uint64_t)v);
}

static uint64_t digest_reserve(uint64_t h, const struct sl_effect *x) {
    h = digest_number(h, x->reserve.admitted);
    h = digest_number(h, x->reserve.borrow);
    if (x->reserve.replaced.v)
        h = sl_digest_u64(h, x->reserve.replaced.v);
    h = digest_number(h, x->reserve.n);
    for (uint32_t i = 0; i < x->reserve.n; i++) {
        const struct sl_podset_assignment *p = &x->reserve.podsets[i];
        h = sl_digest_str(h, p->name);
        h = digest_number(h, p->count);
        h = digest_number(h, p->n);
        for (uint32_t j = 0; j < p->n; j++) {
            h = sl_digest_str(h, p->v[j].resource);
            h = sl_digest_str(h, p->v[j].flavor);
            h = digest_number(h, p->v[j].usage);
        }
    }
    return h;
}

static uint64_t digest_why(uint64_t h, const struct sl_why *w) {
    h = digest_number(h, w->kind);
    h = digest_number(h, w->podset);
    h = sl_digest_str(h, w->resource);
    h = sl_digest_str(h, w->flavor);
    switch (w->kind) {
    case SL_WHY_EXCEEDS_MAX:
        h = digest_number(h, w->before);
        h = digest_number(h, w->request);
        return digest_number(h, w->limit);
    case SL_WHY_NEEDS_MORE:
        return digest_number(h, w->amount);
    case SL_WHY_TAINT:
    case SL_WHY_PLACE:
    case SL_WHY_SLICE:
        return sl_digest_str(h, w->taint);
    case SL_WHY_NOT_COVERED:
    case SL_WHY_FLAVOR_MISSING:
    case SL_WHY_AFFINITY:
    case SL_WHY_NO_TOPOLOGY:
    case SL_WHY_TOPOLOGY_ONLY:
    case SL_WHY_NO_LEVEL:
        break;
    }
    return h;
}

static uint64_t pending(uint64_t h, const struct sl_effect *x) {
    uint32_t podsets = 0;

    h = digest_number(h, x->pending.kind);
    h = digest_number(h, x->pending.victims);
    h = digest_number(h, x->pending.asleep);
    h = sl_digest_str(h, x->pending.text);
    h = digest_number(h, x->pending.n_why);
    for (uint32_t i = 0; i < x->pending.n_why; i++) {
        h = digest_why(h, &x->pending.why[i]);
        if (x->pending.why[i].podset >= podsets)
            podsets = x->pending.why[i].podset + 1;
    }
    if (x->pending.podset_names)
        for (uint32_t i = 0; i < podsets; i++)
            h = sl_digest_str(h, x->pending.podset_names[i]);
    if (x->pending.reserved || x->pending.put_off)
        h = digest_number(digest_number(h, x->pending.reserved), x->pending.put_off);
    return h;
}

static uint64_t evict(uint64_t h, const struct sl_effect *x) {
    h = digest_number(h, x->evict.reason);
    h = digest_number(h, x->evict.cause);
    h = sl_digest_u64(h, x->evict.by.v);
    h = sl_digest_str(h, x->evict.by_uid);
    h = sl_digest_str(h, x->evict.by_job_uid);
    h = sl_digest_str(h, x->evict.by_path);
    h = sl_digest_str(h, x->evict.path);
    return sl_digest_str(h, x->evict.text);
}

static uint64_t checks(uint64_t h, const struct sl_effect *x) {
    h = digest_number(h, x->checks.n);
    for (uint32_t i = 0; i < x->checks.n; i++) {
        const struct sl_check_status *c = &x->checks.v[i];
        h = sl_digest_str(h, c->name);
        h = digest_number(h, c->state);
        h = digest_number(h, c->retries);
        h = sl_digest_str(h, c->message);
    }
    return h;
}

static uint64_t effect(uint64_t h, const struct sl_effect *x) {
    h = digest_number(h, x->kind);
    h = sl_digest_u64(h, x->wl.v);
    h = sl_digest_str(h, x->ns);
    h = sl_digest_str(h, x->name);
    h = sl_digest_str(h, x->cq);
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        return digest_reserve(h, x);
    case SL_EFFECT_PENDING:
        return pending(h, x);
    case SL_EFFECT_EVICT:
        return evict(h, x);
    case SL_EFFECT_RELEASE:
        h = digest_number(digest_number(h, x->release.reason), x->release.cause);
        h = digest_number(digest_number(h, x->release.requeued), x->release.has_checks);
        h = digest_number(h, x->release.was_admitted);
        return sl_digest_str(h, x->release.text);
    case SL_EFFECT_UNRESERVE:
        h = digest_number(h, x->unreserve.stopped);
        h = digest_number(h, x->unreserve.local_queue);
        return sl_digest_str(h, x->unreserve.queue);
    case SL_EFFECT_REQUEUED:
        return digest_number(h, x->requeued.reason);
    case SL_EFFECT_BACKOFF:
        h = digest_number(h, x->backoff.count);
        return digest_number(h, x->backoff.at);
    case SL_EFFECT_DEACTIVATE:
        h = digest_number(h, x->deactivate.cause);
        return sl_digest_str(h, x->deactivate.text);
    case SL_EFFECT_CHECKS:
        return checks(h, x);
    case SL_EFFECT_BLOCKED:
        h = digest_number(h, x->blocked.kind);
        h = sl_digest_str(h, x->blocked.queue);
        return sl_digest_str(h, x->blocked.text);
    case SL_EFFECT_CQ_STATUS:
        h = digest_number(h, x->cq_status.active);
        h = digest_number(h, x->cq_status.reason);
        return sl_digest_str(h, x->cq_status.message);
    case SL_EFFECT_ADMIT:
    case SL_EFFECT_COUNT:
        break;
    }
    return h;
}

uint64_t sl_effects_digest(uint64_t seed, const struct sl_effects *x) {
    uint64_t h = seed;
    for (uint32_t i = 0; i < x->v.n; i++)
        h = effect(h, &x->v.v[i]);
    return h;
}
