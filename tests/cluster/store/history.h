/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done to the keys of a store, in the order of versions, and what must be there after a
 * crash at some moment: everything up to some change and nothing after it, which is not before what
 * was acknowledged by then; nothing of what was called failed by then. Versions only rise, and a
 * watch from anywhere in the history hears the rest of it.
 */
#ifndef SL_TESTS_CLUSTER_STORE_HISTORY_H
#define SL_TESTS_CLUSTER_STORE_HISTORY_H

#include "store_fixture.h"

#include "core/base/collection/vec.h"

#define KEYS 50u
#define PAST 100u /* changes that watches may go back */
#define NEVER UINT64_MAX

struct tried {
    uint64_t version;
    uint64_t moment, acked, failed; /* when; NEVER */
    uint32_t key;
    bool gone;
};

struct history {
    SL_VEC(struct tried) all;
    uint64_t state[KEYS]; /* before all that: versions, 0 if it is not there */
    size_t text;          /* bytes at most */
    uint32_t past;        /* changes that watches may go back for sure; 0: PAST */
};

/* Those that could be there after a crash at that moment. */
static inline uint32_t history_at(const struct history *h, uint64_t moment, struct tried *ret) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < h->all.n; i++)
        if (h->all.v[i].moment <= moment && h->all.v[i].failed > moment)
            ret[n++] = h->all.v[i];
    return n;
}

static inline void history_fold(const struct history *h, const struct tried *v, uint32_t n,
                                uint64_t ret[KEYS]) {
    memcpy(ret, h->state, sizeof h->state);
    for (uint32_t i = 0; i < n; i++)
        ret[v[i].key] = v[i].gone ? 0 : v[i].version;
}

static inline void history_look(struct fx *f, const struct history *h, uint64_t ret[KEYS]) {
    char *text = sl_alloc(h->text);

    memset(ret, 0, KEYS * sizeof *ret);
    for (struct sl_store_object *o = sl_store_seek(f->st, 0, "", ""); o;
         o = sl_store_next(f->st, o)) {
        size_t len = fx_text(text, h->text, o->name, o->version);
        assert_int_equal(o->len, len);
        assert_memory_equal(o->text, text, len);
        ret[strtoul(o->name + 1, NULL, 10)] = o->version;
    }
    sl_freep(&text);
}

struct heard {
    uint64_t state[KEYS], last;
    uint32_t n;
};

static inline void history_observe(void *ctx, const struct sl_store_event *ev) {
    struct heard *h = ctx;
    unsigned long key = strtoul(ev->now->name + 1, NULL, 10);

    assert_true(ev->now->version > h->last);
    assert_int_equal(ev->was ? ev->was->version : 0, h->state[key]);
    h->last = ev->now->version;
    h->state[key] = ev->what == SL_DELETED ? 0 : ev->now->version;
    h->n++;
}

static inline int history_watch(struct fx *f, struct heard *heard) {
    struct sl_store_watch *w;
    int r = sl_store_watch(f->st, 0, heard->last, history_observe, heard, &w);

    if (r < 0)
        return r;
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    sl_store_unwatch(f->st, w);
    return r;
}

/* Changes that are there beyond the first n, which made what is there: a creation and its deletion
 * leave nothing to be seen but in the past. */
static inline uint32_t history_beyond(struct fx *f, const struct tried *v, uint32_t n,
                                      uint32_t most, const uint64_t there[KEYS]) {
    struct heard heard = {.last = n ? v[n - 1].version : v[0].version - 1};

    memcpy(heard.state, there, sizeof heard.state);
    assert_int_equal(history_watch(f, &heard), 0);
    assert_true(n + heard.n <= most);
    assert_true(heard.n == 0 || heard.last == v[n + heard.n - 1].version);
    assert_memory_equal(heard.state, there, sizeof heard.state);
    return heard.n;
}

/* From the last of its changes that watches may still go back to, which are 'n', and from any
 * before that it either hears all or is told that it is too late. */
static inline void history_listen(struct fx *f, const struct history *h, const struct tried *v,
                                  uint32_t n, const uint64_t there[KEYS], struct sl_prng *p) {
    uint32_t from = (uint32_t)sl_prng_below(p, n);
    struct heard heard = {.last = v[from].version};

    history_fold(h, v, from + 1, heard.state);
    int r = history_watch(f, &heard);
    assert_int_equal(r, r < 0 ? SL_ESTALE : 0);
    assert_true(r == 0 || n - 1 - from > (h->past ? h->past : PAST));
    if (r < 0)
        return;
    assert_int_equal(heard.n, n - 1 - from);
    assert_memory_equal(heard.state, there, sizeof heard.state);
}

/* The store was opened after a crash at that moment. Gives the state and the last version that is
 * there; 0: none of these. */
static inline uint64_t history_check(struct fx *f, const struct history *h, uint64_t moment,
                                     struct sl_prng *p, uint64_t there[KEYS]) {
    struct tried *v = sl_alloc0(h->all.n + 1, sizeof *v);
    uint32_t most = history_at(h, moment, v), n = 0;
    uint64_t wanted[KEYS], acked = 0, given = 0;
    bool found = false;

    for (uint32_t i = 0; i < h->all.n; i++) {
        const struct tried *t = &h->all.v[i];
        acked = t->acked <= moment && t->version > acked ? t->version : acked;
        given = t->moment <= moment && t->version > given ? t->version : given;
    }
    history_look(f, h, there);
    for (uint32_t i = 0; !found && i <= most; i++) { /* i of them are there */
        n = i;
        if ((i ? v[i - 1].version : 0) < acked)
            continue;
        history_fold(h, v, i, wanted);
        found = memcmp(there, wanted, sizeof wanted) == 0;
    }
    assert_true(found);
    assert_true(sl_store_version(f->st) >= given);
    if (most)
        n += history_beyond(f, v, n, most, there);
    for (uint32_t i = 0; n > 0 && i < 20; i++)
        history_listen(f, h, v, n, there, p);
    uint64_t last = n ? v[n - 1].version : 0;
    sl_freep(&v);
    return last;
}

#endif
