/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tools/check-binary cannot see in a program of which it knows nothing, in one that it knows:
 * built with the flags of all others, and ended with 0 if its automatic variables are zeroed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 512, PAGES = 4 << 12 };

/* The compiler has to believe that all of it is used. */
#define USE(p) __asm__ volatile("" ::"r"(p) : "memory")

void *copy(const void *from, size_t n, size_t size);
int zeroed(void);
void paint(void);
int pages(size_t i);

/* Checked only if the size is asked for when the program runs (FORTIFY 3): nobody knows it before.
 */
__attribute__((noinline)) void *copy(const void *from, size_t n, size_t size) {
    char *to = malloc(size);

    if (to)
        memcpy(to, from, n);
    return to;
}

/* Leaves something else than zeroes where the next function has its variables. */
__attribute__((noinline)) void paint(void) {
    unsigned char a[2 * SMALL];

    memset(a, 0xa5, sizeof a);
    USE(a);
}

__attribute__((noinline)) int zeroed(void) {
    unsigned char a[SMALL];
    int n = 0;

    USE(a);
    for (size_t i = 0; i < sizeof a; i++)
        n += a[i] != 0;
    return n == 0;
}

/* More than a page: each has to be touched (stack clash protection). */
__attribute__((noinline)) int pages(size_t i) {
    unsigned char a[PAGES];

    USE(a);
    return a[i];
}

int main(int argc, char **argv) {
    void *p = copy(argv[0], 1, (size_t)argc);

    free(p);
    (void)pages((size_t)argc);
    paint();
    return zeroed() ? 0 : 1;
}
