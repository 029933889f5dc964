/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of what was never written, for the searches for such reads: they must find these, or what
 * they say about the rest means nothing.
 *
 *     planted heap     of memory from malloc
 *     planted stack    of an automatic variable, which a build that zeroes them would hide
 *     planted none     of nothing: the same decision, and nothing is to be found
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8 };

int main(int argc, char **argv) {
    int *heap = malloc(WORDS * sizeof *heap), on_stack[WORDS], sum = 0;

    if (!heap || argc != 2)
        return 2;
    heap[0] = on_stack[0] = 1;
    /* Only the compiler does not know that these are not the ones above. */
    if (strcmp(argv[1], "heap") == 0)
        sum = heap[argc];
    else if (strcmp(argv[1], "stack") == 0)
        sum = on_stack[argc];
    else if (strcmp(argv[1], "none") == 0)
        sum = heap[argc - 2] + on_stack[argc - 2];
    else
        return 2;
    if (sum == 42)
        (void)puts("the answer");
    free(heap);
    return 0;
}
