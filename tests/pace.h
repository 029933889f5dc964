/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy is the machine? Limits of processor time are for one that has nothing else to do. Beside
 * other work, which has its share of caches, of memory and of the other half of a core, the same
 * instructions take up to twice as long. So whoever exceeded a limit looks how long a piece of work
 * takes at the same moment of which it is known how long it should: longer in proportion is fair.
 * What is quadratic exceeds a limit by more than any neighbour explains.
 */
#ifndef SL_TESTS_PACE_H
#define SL_TESTS_PACE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <yyjson.h>

#include "core/base/collection/hash.h"

/* By how much a build is slower than an optimised one. */
#if SL_SANITISED
#define SLOWER 20
#elif defined(__OPTIMIZE__)
#define SLOWER 1
#else
#define SLOWER 5
#endif

#define PACE_ITEMS 65536
#define PACE_US 5200 /* of the work below, on a core of 2.5 GHz that nobody shares */
#define PACE_MOST 3000

static inline int64_t pace_cpu_us(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Reads a list of small objects, and looks at all of them in another order: more memory than a
 * cache has, as in what is measured. */
static inline int64_t pace_work_us(void) {
    static char text[PACE_ITEMS * 48];
    static size_t len;
    static yyjson_val *items[PACE_ITEMS];
    yyjson_val *v;
    size_t i, n;
    uint64_t sum = 0;

    for (i = 0; i < PACE_ITEMS && text[0] != '['; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "%s{\"name\":\"item-%zu\",\"v\":%zu}", i ? "," : " ", i, i * 7);
    if (text[0] != '[') {
        text[0] = '[';
        text[len++] = ']';
    }
    int64_t begun = pace_cpu_us();
    yyjson_doc *d = yyjson_read(text, len, 0);
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, v)
        items[i] = v;
    for (i = 0; i < PACE_ITEMS; i++)
        sum += sl_hash_str(0, yyjson_get_str(yyjson_obj_get(items[i * 4099 % PACE_ITEMS], "name")));
    yyjson_doc_free(d);
    __asm__ volatile("" : : "r"(sum)); /* it was of use */
    return pace_cpu_us() - begun;
}

/* In thousandths: 1000 is a quiet machine. The first two touch the memory. */
static inline int64_t pace_permille(void) {
    int64_t us = 0;

    if (SL_SANITISED)
        return 1000; /* their limits have room for anything */
    for (int i = 0; i < 6; i++) {
        int64_t took = pace_work_us();
        us += i < 2 ? 0 : took;
    }
    int64_t p = us / 4 * 1000 / PACE_US;
    return p < 1000 ? 1000 : p > PACE_MOST ? PACE_MOST : p;
}

#endif
