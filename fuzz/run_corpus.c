/*
 * Runs a fuzz target over the files of its corpus folder, in name order, as an ordinary test: what
 * the fuzzer once found stays found in every build. It first tries the empty input, and each file
 * also cut in half, which is what a broken connection delivers. A target reports a fault by ending
 * the process, so the name of the input is printed before it runs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUT_BYTES (4U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned n_passed;

/* The input is copied to a heap block of its exact size, so that ASan sees a read past its end. */
static void run(const char *name, const uint8_t *data, size_t size) {
    uint8_t *exact = malloc(size > 0 ? size : 1);

    if (exact == NULL)
        abort();
    if (size > 0)
        memcpy(exact, data, size);
    printf("# %s (%zu bytes)\n", name, size);
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    n_passed++;
}

static int run_file(const char *folder, const char *name, uint8_t *space) {
    char path[4096];
    FILE *f;
    size_t size;
    int n;

    n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        fprintf(stderr, "%s/%s: the path is too long\n", folder, name);
        return -1;
    }
    f = fopen(path, "rbe");
    if (f == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    size = fread(space, 1, MAX_INPUT_BYTES, f);
    n = ferror(f) || fgetc(f) != EOF;
    (void)fclose(f);
    if (n) {
        fprintf(stderr, "%s: not readable, or more than %u bytes\n", path, MAX_INPUT_BYTES);
        return -1;
    }
    run(name, space, size);
    run(name, space, size / 2);
    return 0;
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Byte order, and not the locale's. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv) {
    struct dirent **entries = NULL;
    uint8_t *space;
    unsigned n_failed = 0;
    int n;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    n = scandir(argv[1], &entries, visible, by_name);
    if (n <= 0) {
        fprintf(stderr, "%s: %s\n", argv[1], n < 0 ? strerror(errno) : "the corpus is empty");
        return 1;
    }
    space = malloc(MAX_INPUT_BYTES);
    if (space == NULL)
        abort();

    run("the empty input", space, 0);
    for (int i = 0; i < n; i++) {
        if (run_file(argv[1], entries[i]->d_name, space) < 0)
            n_failed++;
        free(entries[i]);
    }
    free(entries);
    free(space);
    printf("%u passed, %u failed, 0 skipped\n", n_passed, n_failed);
    return n_failed > 0;
}
