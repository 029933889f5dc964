/*
 * A read of what was never written, for the searches for such reads: they must find this one, or
 * what they say about the rest means nothing.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int *p = malloc(8 * sizeof *p), on_stack[8];

    (void)argv;
    if (!p)
        return 2;
    p[0] = on_stack[0] = 1;
    /* Only the compiler does not know that these are not the ones above. */
    int sum = p[argc] + on_stack[argc];
    free(p);
    if (sum == 42)
        (void)puts("the answer");
    return 0;
}
