/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A B+ tree of at most three levels, with the two lower ones of fixed fan-out and the upper one a
 * plain array; while the set is small, the one chunk is the set ("flat").
 *
 * Invariants of a paged set (n_pages > 0): no page and no chunk is empty; every chunk has space for
 * CHUNK keys; 'last' of chunk and page is its greatest key (exact, because the caller's tie order
 * may only be evaluated on ids that still exist); 'keys' of a page is the sum over its chunks.
 *
 * All three levels have an offset in front of their first element, so that popping never moves
 * anything, and an insertion moves whichever side is shorter.
 */
#include "core/base/collection/ordset.h"

#include <string.h>

/* A test compiles this file with a small fan-out, to get deep trees from few keys. */
#ifndef SL_ORDSET_CHUNK
#define SL_ORDSET_CHUNK 128u
#define SL_ORDSET_PAGE 128u
#endif
#define CHUNK SL_ORDSET_CHUNK /* keys in a chunk */
#define PAGE SL_ORDSET_PAGE   /* chunks in a page */

/* A chunk or page with fewer than THIN elements is joined with a neighbour, if together they are
 * not more than JOINED: far enough from both ends for the work to be amortised. */
#define THIN(full) ((full) / 4)
#define JOINED(full) ((full) / 4 * 3)
#define FLAT_AGAIN (CHUNK / 2) /* a single chunk down to this is a flat set again */

struct chunk {
    struct sl_ordkey *keys; /* CHUNK slots */
    uint32_t lead, n;
    struct sl_ordkey last;
};

struct sl_ordpage {
    struct chunk *chunks;
    uint32_t keys; /* in all its chunks */
    uint16_t lead, n, cap;
    struct sl_ordkey last;
};

int sl_ordkey_cmp(const struct sl_ordkey *a, const struct sl_ordkey *b, sl_ordtie_fn tie,
                  const void *ctx) {
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->tie != b->tie)
        return a->tie < b->tie ? -1 : 1;
    return a->id == b->id ? 0 : tie(ctx, a->id, b->id);
}

/* Is a before b? */
static inline bool before(const struct sl_ordkey *a, const struct sl_ordkey *b, sl_ordtie_fn tie,
                          const void *ctx) {
    if (__builtin_expect(a->at == b->at && a->tie == b->tie, 0))
        return a->id != b->id && tie(ctx, a->id, b->id) < 0;
    return a->at < b->at || (a->at == b->at && a->tie < b->tie);
}

static inline bool keys_equal(const struct sl_ordkey *a, const struct sl_ordkey *b) {
    return a->at == b->at && a->tie == b->tie && a->id == b->id;
}

/*
 * How many of the n sorted keys, 'stride' bytes apart, are before k. The branch is meant: at a
 * million keys the time goes into cache misses, and a processor that guesses the way fetches ahead.
 * Without branches, and with prefetching by hand, it was slower (bench/bench_ordset.c).
 */
static inline uint32_t count_before(const void *v, size_t stride, uint32_t n,
                                    const struct sl_ordkey *k, sl_ordtie_fn tie, const void *ctx) {
    const char *base = v;
    uint32_t lo = 0;

    while (n > 0) {
        uint32_t half = n / 2;
        const struct sl_ordkey *mid = (const void *)(base + (lo + half) * stride);
        if (before(mid, k, tie, ctx)) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

static struct sl_ordkey *flat(const struct sl_ordset *s) {
    return s->keys + s->lead;
}

static struct sl_ordpage *pages(const struct sl_ordset *s) {
    return s->pages + s->lead;
}

static struct chunk *chunks(const struct sl_ordpage *p) {
    return p->chunks + p->lead;
}

static struct sl_ordkey *keys(const struct chunk *c) {
    return c->keys + c->lead;
}

static uint32_t find_key(const struct sl_ordkey *v, uint32_t n, const struct sl_ordkey *k,
                         sl_ordtie_fn tie, const void *ctx) {
    return count_before(v, sizeof *v, n, k, tie, ctx);
}

static uint32_t find_chunk(const struct sl_ordpage *p, const struct sl_ordkey *k, sl_ordtie_fn tie,
                           const void *ctx) {
    return count_before(&chunks(p)->last, sizeof(struct chunk), p->n, k, tie, ctx);
}

static uint32_t find_page(const struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                          const void *ctx) {
    return count_before(&pages(s)->last, sizeof(struct sl_ordpage), s->n_pages, k, tie, ctx);
}

/*
 * Opens a gap of one element at position i of n elements that stand after 'lead' free slots out of
 * cap (n < cap). Returns the new lead. A line that is fed at the end and popped in front slides
 * back to the start when it reaches the end, not by one slot each time.
 */
static inline uint32_t open_gap(void *v, size_t bytes, uint32_t cap, uint32_t lead, uint32_t n,
                                uint32_t i) {
    char *base = v;
    bool full = lead + n == cap;

    sl_assert(base != NULL && n < cap);
    if (lead > 0 && i < n / 2) {
        if (i > 0)
            memmove(base + (lead - 1) * bytes, base + lead * bytes, i * bytes);
        return lead - 1;
    }
    if (lead > 0 && full) {
        memmove(base, base + lead * bytes, i * bytes);
        memmove(base + (i + 1) * bytes, base + (lead + i) * bytes, (n - i) * bytes);
        return 0;
    }
    if (i < n)
        memmove(base + (lead + i + 1) * bytes, base + (lead + i) * bytes, (n - i) * bytes);
    return lead;
}

/* The reverse: closes the gap left by element i of n. Returns the new lead. */
static inline uint32_t close_gap(void *v, size_t bytes, uint32_t lead, uint32_t n, uint32_t i) {
    char *base = v;

    if (i < n / 2) {
        if (i > 0)
            memmove(base + (lead + 1) * bytes, base + lead * bytes, i * bytes);
        return lead + 1;
    }
    if (i + 1 < n)
        memmove(base + (lead + i) * bytes, base + (lead + i + 1) * bytes, (n - i - 1) * bytes);
    return lead;
}

/* ---- pages and chunks as memory ---- */

static void chunk_init(struct chunk *c) {
    c->keys = sl_realloc(NULL, CHUNK, sizeof *c->keys);
    c->lead = c->n = 0;
}

/* Adds an unset page at position i. */
static struct sl_ordpage *page_insert(struct sl_ordset *s, uint32_t i) {
    if (s->n_pages == s->cap) {
        uint32_t cap = s->cap < 2 ? 2 : 2 * s->cap;
        s->pages = sl_realloc(s->pages, cap, sizeof *s->pages);
        s->cap = cap;
    }
    s->lead = open_gap(s->pages, sizeof *s->pages, s->cap, s->lead, s->n_pages, i);
    s->n_pages++;
    return &pages(s)[i];
}

static void page_remove(struct sl_ordset *s, uint32_t i) {
    sl_freep(&pages(s)[i].chunks);
    s->lead = close_gap(s->pages, sizeof *s->pages, s->lead, s->n_pages, i);
    s->n_pages--;
}

/* Adds an unset chunk at position i; there is room for it in the page. */
static struct chunk *chunk_insert(struct sl_ordpage *p, uint32_t i) {
    sl_assert(p->n < PAGE);
    if (p->n == p->cap) {
        uint16_t cap = (uint16_t)(p->cap < 2 ? 2 : 2 * p->cap);
        p->chunks = sl_realloc(p->chunks, cap, sizeof *p->chunks);
        p->cap = cap;
    }
    p->lead = (uint16_t)open_gap(p->chunks, sizeof *p->chunks, p->cap, p->lead, p->n, i);
    p->n++;
    return &chunks(p)[i];
}

static void chunk_remove(struct sl_ordpage *p, uint32_t i) {
    sl_freep(&chunks(p)[i].keys);
    p->lead = (uint16_t)close_gap(p->chunks, sizeof *p->chunks, p->lead, p->n, i);
    p->n--;
}

static void refresh_last(struct sl_ordpage *p) {
    p->last = chunks(p)[p->n - 1].last;
}

/* ---- flat sets ---- */

static void flat_resize(struct sl_ordset *s, uint32_t cap) {
    if (s->lead > 0) {
        memmove(s->keys, flat(s), s->n * sizeof *s->keys);
        s->lead = 0;
    }
    s->keys = sl_realloc(s->keys, cap, sizeof *s->keys);
    s->cap = cap;
}

/* Gives memory back as a flat set drains; amortised over the removals. */
static void flat_shrink(struct sl_ordset *s) {
    if (s->n == 0) {
        sl_freep(&s->keys);
        s->lead = s->cap = 0;
    } else if (s->cap > 4 && s->n <= s->cap / 4) {
        flat_resize(s, s->cap / 2);
    }
}

static void flat_add(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                     const void *ctx) {
    uint32_t i = s->n; /* most come last */

    if (i > 0 && !before(&flat(s)[i - 1], k, tie, ctx)) {
        i = find_key(flat(s), i - 1, k, tie, ctx);
        sl_assert(!keys_equal(&flat(s)[i], k));
    }
    if (s->n == s->cap)
        flat_resize(s, s->cap > 0 ? 2 * s->cap : 1);
    s->lead = open_gap(s->keys, sizeof *s->keys, s->cap, s->lead, s->n, i);
    flat(s)[i] = *k;
    s->n++;
}

/* A full flat set becomes the only chunk of the only page. */
static void flat_to_paged(struct sl_ordset *s) {
    struct chunk c = {.keys = s->keys, .lead = s->lead, .n = s->n, .last = flat(s)[s->n - 1]};

    s->pages = NULL;
    s->cap = s->lead = 0;
    struct sl_ordpage *p = page_insert(s, 0);
    *p = (struct sl_ordpage){.keys = c.n, .last = c.last};
    *chunk_insert(p, 0) = c;
}

static void paged_to_flat(struct sl_ordset *s) {
    struct sl_ordpage *p = pages(s);
    struct chunk c = *chunks(p);

    sl_freep(&p->chunks);
    sl_freep(&s->pages);
    s->n_pages = 0;
    s->keys = c.keys;
    s->lead = c.lead;
    s->cap = CHUNK;
    flat_shrink(s);
}

/* ---- paged sets ---- */

/* The page at position i is full: moves its upper half, or nothing, into a new page after it. */
static void page_split(struct sl_ordset *s, uint32_t i, bool at_end) {
    struct sl_ordpage *q = page_insert(s, i + 1), *p = &pages(s)[i];

    *q = (struct sl_ordpage){0};
    if (at_end)
        return;
    uint16_t half = PAGE / 2;
    q->chunks = sl_realloc(NULL, PAGE, sizeof *q->chunks);
    q->cap = PAGE;
    q->n = (uint16_t)(p->n - half);
    memcpy(q->chunks, chunks(p) + half, q->n * sizeof *q->chunks);
    for (uint32_t j = 0; j < q->n; j++)
        q->keys += q->chunks[j].n;
    q->last = p->last;
    p->n = half;
    p->keys -= q->keys;
    refresh_last(p);
}

/* Chunk j of page i is full and k belongs at position at of it. */
static void split_add(struct sl_ordset *s, uint32_t i, uint32_t j, uint32_t at,
                      const struct sl_ordkey *k) {
    struct sl_ordpage *p = &pages(s)[i];
    bool at_end = at == CHUNK && j + 1 == p->n && i + 1 == s->n_pages;

    if (p->n == PAGE) {
        page_split(s, i, at_end);
        p = &pages(s)[i];
        if (at_end || j >= p->n) {
            j -= at_end ? 0 : p->n;
            p++;
        }
    }
    if (at_end) { /* keys come in order: leave the full chunk as it is */
        struct chunk *d = chunk_insert(p, p->n);
        chunk_init(d);
        d->keys[0] = d->last = p->last = *k;
        d->n = 1;
        p->keys++;
        return;
    }
    struct chunk *d = chunk_insert(p, j + 1), *c = &chunks(p)[j];
    uint32_t half = CHUNK / 2;

    chunk_init(d);
    d->n = CHUNK - half;
    memcpy(d->keys, keys(c) + half, d->n * sizeof *d->keys);
    d->last = c->last;
    c->n = half;
    if (at > half) {
        at -= half;
        c = d;
    }
    c->lead = open_gap(c->keys, sizeof *c->keys, CHUNK, c->lead, c->n, at);
    keys(c)[at] = *k;
    c->n++;
    c = &chunks(p)[j];
    c->last = keys(c)[c->n - 1];
    d->last = keys(d)[d->n - 1];
    p->keys++;
    refresh_last(p);
}

static void paged_add(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                      const void *ctx) {
    uint32_t i = s->n_pages - 1, j, at;
    struct sl_ordpage *p = &pages(s)[i];
    struct chunk *c;

    if (before(&p->last, k, tie, ctx)) { /* after all others */
        j = p->n - 1u;
        c = &chunks(p)[j];
        at = c->n;
    } else {
        i = find_page(s, k, tie, ctx);
        p = &pages(s)[i];
        j = find_chunk(p, k, tie, ctx);
        c = &chunks(p)[j];
        at = find_key(keys(c), c->n, k, tie, ctx);
        sl_assert(!keys_equal(&keys(c)[at], k));
    }
    s->n++;
    if (c->n == CHUNK) {
        split_add(s, i, j, at, k);
        return;
    }
    if (at < c->n || c->lead + c->n == CHUNK) /* a queue is fed at its end: nothing moves */
        c->lead = open_gap(c->keys, sizeof *c->keys, CHUNK, c->lead, c->n, at);
    keys(c)[at] = *k;
    if (at == c->n) { /* only ever in the last chunk of all */
        c->last = *k;
        p->last = *k;
    }
    c->n++;
    p->keys++;
}

/* Joins chunk j of page p with the next one if that leaves room. */
static bool chunk_join(struct sl_ordpage *p, uint32_t j) {
    struct chunk *a = &chunks(p)[j], *b = a + 1;

    if (a->n + b->n > JOINED(CHUNK))
        return false;
    if (a->lead + a->n + b->n > CHUNK) {
        memmove(a->keys, keys(a), a->n * sizeof *a->keys);
        a->lead = 0;
    }
    memcpy(keys(a) + a->n, keys(b), b->n * sizeof *b->keys);
    a->n += b->n;
    a->last = b->last;
    chunk_remove(p, j + 1);
    return true;
}

/* Joins page i with the next one if that leaves room. */
static bool page_join(struct sl_ordset *s, uint32_t i) {
    struct sl_ordpage *a = &pages(s)[i], *b = a + 1;

    if (a->n + b->n > JOINED(PAGE))
        return false;
    memmove(a->chunks, chunks(a), a->n * sizeof *a->chunks);
    a->lead = 0;
    if (a->cap < PAGE) {
        a->chunks = sl_realloc(a->chunks, PAGE, sizeof *a->chunks);
        a->cap = PAGE;
    }
    memcpy(a->chunks + a->n, chunks(b), b->n * sizeof *a->chunks);
    a->n = (uint16_t)(a->n + b->n);
    a->keys += b->keys;
    a->last = b->last;
    page_remove(s, i + 1);
    return true;
}

/* After a removal: a thin page looks left and right; a set of one chunk may become flat. */
static void tidy_pages(struct sl_ordset *s, uint32_t i) {
    if (pages(s)[i].n < THIN(PAGE) && !(i > 0 && page_join(s, i - 1)) && i + 1 < s->n_pages)
        (void)page_join(s, i);
    if (s->n <= FLAT_AGAIN && s->n_pages == 1 && pages(s)->n == 1)
        paged_to_flat(s);
}

static void tidy_chunks(struct sl_ordpage *p, uint32_t j) {
    if (!(j > 0 && chunk_join(p, j - 1)) && j + 1 < p->n)
        (void)chunk_join(p, j);
}

void sl_ordset_add(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                   const void *ctx) {
    sl_assert(s->n < SL_VEC_MAX);
    if (s->n_pages == 0) {
        if (s->n < CHUNK) {
            flat_add(s, k, tie, ctx);
            return;
        }
        flat_to_paged(s);
    }
    paged_add(s, k, tie, ctx);
}

static bool flat_del(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                     const void *ctx) {
    if (s->n == 0)
        return false;
    uint32_t at = find_key(flat(s), s->n, k, tie, ctx);
    if (at == s->n || !keys_equal(&flat(s)[at], k))
        return false;
    s->lead = close_gap(s->keys, sizeof *s->keys, s->lead, s->n, at);
    s->n--;
    flat_shrink(s);
    return true;
}

bool sl_ordset_del(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                   const void *ctx) {
    if (s->n_pages == 0)
        return flat_del(s, k, tie, ctx);
    uint32_t i = find_page(s, k, tie, ctx);
    if (i == s->n_pages)
        return false;
    struct sl_ordpage *p = &pages(s)[i];
    uint32_t j = find_chunk(p, k, tie, ctx);
    struct chunk *c = &chunks(p)[j];
    uint32_t at = find_key(keys(c), c->n, k, tie, ctx);
    if (!keys_equal(&keys(c)[at], k))
        return false;
    s->n--;
    p->keys--;
    c->lead = close_gap(c->keys, sizeof *c->keys, c->lead, c->n, at);
    c->n--;
    if (c->n == 0) {
        chunk_remove(p, j);
        if (p->n == 0)
            page_remove(s, i);
        else
            refresh_last(p);
        if (s->n_pages > 0)
            tidy_pages(s, i < s->n_pages ? i : s->n_pages - 1);
        return true;
    }
    if (at == c->n) {
        c->last = keys(c)[c->n - 1];
        refresh_last(p);
    }
    if (c->n < THIN(CHUNK)) {
        tidy_chunks(p, j);
        tidy_pages(s, i);
    }
    return true;
}

const struct sl_ordkey *sl_ordset_first(const struct sl_ordset *s) {
    if (s->n == 0)
        return NULL;
    return s->n_pages == 0 ? flat(s) : keys(chunks(pages(s)));
}

struct sl_ordkey sl_ordset_pop(struct sl_ordset *s) {
    sl_assert(s->n > 0);
    if (s->n_pages == 0) {
        struct sl_ordkey k = *flat(s);
        s->lead++;
        s->n--;
        flat_shrink(s);
        return k;
    }
    struct sl_ordpage *p = pages(s);
    struct chunk *c = chunks(p);
    struct sl_ordkey k = *keys(c);
    s->n--;
    p->keys--;
    c->lead++;
    c->n--;
    if (c->n == 0) {
        chunk_remove(p, 0);
        if (p->n == 0)
            page_remove(s, 0);
    }
    if (s->n <= FLAT_AGAIN && s->n_pages == 1 && pages(s)->n == 1)
        paged_to_flat(s);
    return k;
}

uint32_t sl_ordset_rank(const struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                        const void *ctx) {
    if (s->n_pages == 0)
        return s->n > 0 ? find_key(flat(s), s->n, k, tie, ctx) : 0;
    uint32_t i = find_page(s, k, tie, ctx), r = 0;
    const struct sl_ordpage *p = pages(s);
    if (i == s->n_pages)
        return s->n;
    for (uint32_t x = 0; x < i; x++)
        r += p[x].keys;
    p += i;
    uint32_t j = find_chunk(p, k, tie, ctx);
    const struct chunk *c = chunks(p);
    for (uint32_t x = 0; x < j; x++)
        r += c[x].n;
    return r + find_key(keys(&c[j]), c[j].n, k, tie, ctx);
}

const struct sl_ordkey *sl_ordset_run(const struct sl_ordset *s, uint32_t i, uint32_t *ret_n) {
    *ret_n = 0;
    if (i >= s->n)
        return NULL;
    if (s->n_pages == 0) {
        *ret_n = s->n - i;
        return flat(s) + i;
    }
    const struct sl_ordpage *p = pages(s);
    for (; i >= p->keys; p++)
        i -= p->keys;
    const struct chunk *c = chunks(p);
    for (; i >= c->n; c++)
        i -= c->n;
    *ret_n = c->n - i;
    return keys(c) + i;
}

const struct sl_ordkey *sl_ordset_at(const struct sl_ordset *s, uint32_t i) {
    uint32_t n;

    return sl_ordset_run(s, i, &n);
}

void sl_ordset_done(struct sl_ordset *s) {
    if (s->n_pages == 0) {
        sl_freep(&s->keys);
    } else {
        for (uint32_t i = 0; i < s->n_pages; i++) {
            struct sl_ordpage *p = &pages(s)[i];
            for (uint32_t j = 0; j < p->n; j++)
                sl_freep(&chunks(p)[j].keys);
            sl_freep(&p->chunks);
        }
        sl_freep(&s->pages);
    }
    *s = (struct sl_ordset){0};
}
