/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordered set beside a plain binary heap of the same keys: n keys in, n keys out, in random and
 * in increasing order; and ranks. One JSON line a case, nanoseconds per operation (a pair is one
 * push and one pop), the best of several rounds.
 */
#include "core/base/collection/ordset.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/prng.h"

#define ROUNDS 3

static int64_t now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_id(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a < b ? -1 : a > b;
}

static bool less(const struct sl_ordkey *a, const struct sl_ordkey *b) {
    if (a->at != b->at)
        return a->at < b->at;
    return a->tie != b->tie ? a->tie < b->tie : a->id < b->id;
}

static void heap_push(struct sl_ordkey *v, uint32_t n, struct sl_ordkey k) {
    while (n > 0 && less(&k, &v[(n - 1) / 2])) {
        v[n] = v[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    v[n] = k;
}

static struct sl_ordkey heap_pop(struct sl_ordkey *v, uint32_t n) {
    struct sl_ordkey top = v[0], k = v[--n];
    uint32_t i = 0;

    for (uint32_t kid; (kid = 2 * i + 1) < n; i = kid) {
        if (kid + 1 < n && less(&v[kid + 1], &v[kid]))
            kid++;
        if (!less(&v[kid], &k))
            break;
        v[i] = v[kid];
    }
    v[i] = k;
    return top;
}

static void report(const char *what, uint32_t n, int64_t ns, int64_t ops) {
    printf("{\"bench\":\"ordset\",\"case\":\"%s\",\"keys\":%u,\"ns\":%lld.%01lld}\n", what, n,
           (long long)(ns / ops), (long long)(ns * 10 / ops % 10));
    fflush(stdout);
}

static volatile uint64_t sink;

static void both(const char *order, const struct sl_ordkey *k, uint32_t n) {
    int64_t in = INT64_MAX, out = INT64_MAX, heap = INT64_MAX, rank = INT64_MAX, del = INT64_MAX;
    struct sl_ordkey *v = sl_alloc(n * sizeof *v);
    char name[64];

    sl_assert(n > 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct sl_ordset s = {0};
        int64_t t0 = now_ns();
        for (uint32_t i = 0; i < n; i++)
            sl_ordset_add(&s, &k[i], by_id, NULL);
        int64_t t1 = now_ns();
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 1000; i++)
            sum += sl_ordset_rank(&s, &k[(uint64_t)i * 7919 % n], by_id, NULL);
        int64_t t2 = now_ns();
        while (s.n > 0)
            sum += sl_ordset_pop(&s).tie;
        int64_t t3 = now_ns();
        for (uint32_t i = 0; i < n; i++)
            sl_ordset_add(&s, &k[i], by_id, NULL);
        int64_t t4 = now_ns();
        for (uint32_t i = 0; i < n; i++)
            sum += sl_ordset_del(&s, &k[(uint64_t)i * 611953 % n], by_id, NULL);
        int64_t t5 = now_ns();
        sl_assert(s.n == 0);
        for (uint32_t i = 0; i < n; i++)
            heap_push(v, i, k[i]);
        for (uint32_t i = n; i > 0; i--)
            sum += heap_pop(v, i).tie;
        int64_t t6 = now_ns();
        sink += sum;
        in = t1 - t0 < in ? t1 - t0 : in;
        rank = t2 - t1 < rank ? t2 - t1 : rank;
        out = t3 - t2 < out ? t3 - t2 : out;
        del = t5 - t4 < del ? t5 - t4 : del;
        heap = t6 - t5 < heap ? t6 - t5 : heap;
    }
    snprintf(name, sizeof name, "pair-%s", order);
    report(name, n, in + out, n);
    snprintf(name, sizeof name, "push-%s", order);
    report(name, n, in, n);
    snprintf(name, sizeof name, "del-anywhere-%s", order);
    report(name, n, del, n);
    snprintf(name, sizeof name, "rank-%s", order);
    report(name, n, rank, 1000);
    snprintf(name, sizeof name, "heap-pair-%s", order);
    report(name, n, heap, n);
    sl_freep(&v);
}

int main(void) {
    static const uint32_t sizes[] = {1000, 30000, 1000000};
    struct sl_prng rng;

    sl_prng_init(&rng, 1);
    for (size_t i = 0; i < SL_LEN(sizes); i++) {
        uint32_t n = sizes[i];
        struct sl_ordkey *k = sl_alloc(n * sizeof *k);
        for (uint32_t j = 0; j < n; j++)
            k[j] = (struct sl_ordkey){(int64_t)(sl_prng_next(&rng) >> 1), sl_prng_next(&rng), j, 0};
        both("random", k, n);
        for (uint32_t j = 0; j < n; j++)
            k[j].at = (int64_t)j / 4; /* a few arrive at the same time */
        for (uint32_t j = 0; j < n; j++)
            k[j].tie = j;
        both("in-order", k, n);
        sl_freep(&k);
    }
    return 0;
}
