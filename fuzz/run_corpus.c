/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of its corpus folder, in name order, as an ordinary test: what
 * the fuzzer once found stays found in every build. It first tries the empty input, and each file
 * also cut in half, which is what a broken connection delivers.
 *
 * With --mutations or --seconds it goes on with inputs that the shared mutator makes of these
 * files, one of each in turn, until so many are done or so much processor time is used. The seed
 * decides which: the same seed makes the same inputs.
 *
 * A target reports a fault by ending the process. The name of the input is printed before it runs
 * or, for mutations, the input is written to the file found-TARGET in the working directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json_mutator.h"

#define MAX_INPUT_BYTES (4U << 20)
#define MAX_MUTATED_BYTES (256U << 10)
#define MAX_FILES 4096
#define MAX_DICTS 2u
#define MAX_INPUT_SECONDS 60u /* of one input, whatever the machine does besides */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Only there with a sanitiser. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* Sanitisers end by SIGABRT, whose handler keeps the input: the callback is only of one of two. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* Blocks that were freed are kept back, but not so many that each new one is of fresh pages. */
const char *__asan_default_options(void) {
    return "abort_on_error=1:quarantine_size_mb=32:malloc_context_size=12";
}

const char *__ubsan_default_options(void) {
    return "abort_on_error=1:print_stacktrace=1";
}

struct input {
    const char *name;
    uint8_t *data;
    size_t size;
};

struct options {
    const char *folder, *dicts[MAX_DICTS];
    size_t n_dicts;
    uint64_t mutations, seed;
    int64_t seconds;
};

static struct input inputs[MAX_FILES];
static size_t n_inputs;
static uint64_t n_passed, n_mutated;
/* What is running, for the handlers: a target that fails gives no other chance to keep it. */
static const uint8_t *running;
static size_t running_size;
static char found[256];
static uint64_t state;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    return sl_mutator_bytes(data, size, max_size, &state);
}

static void say(const char *s) {
    ssize_t n = write(STDERR_FILENO, s, strlen(s));
    (void)n;
}

static void keep(void) {
    const uint8_t *at = running;
    size_t left = running_size;
    int fd;

    if (!at)
        return;
    running = NULL;
    fd = open(found, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    while (fd >= 0 && left > 0) {
        ssize_t n = write(fd, at, left);
        if (n <= 0)
            break;
        at += n;
        left -= (size_t)n;
    }
    if (fd >= 0 && left == 0) {
        say("the input that failed is in the file ");
        say(found);
        say("\n");
    }
    if (fd >= 0)
        (void)close(fd);
}

static void on_signal(int number) {
    if (number == SIGALRM)
        say("an input takes too long\n");
    keep();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void catch_ends(void) {
    static const int numbers[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    size_t n = sizeof numbers / sizeof *numbers;

    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(keep);
        n = 2; /* the others are the sanitiser's, which prints more */
    }
    for (size_t i = 0; i < n; i++)
        (void)signal(numbers[i], on_signal);
}

/* The input is copied to a heap block of its exact size, so that ASan sees a read past its end. */
static void run(const uint8_t *data, size_t size, bool mutated) {
    uint8_t *exact = malloc(size > 0 ? size : 1);

    if (exact == NULL)
        abort();
    if (size > 0)
        memcpy(exact, data, size);
    running_size = size;
    running = mutated ? data : NULL; /* the target may have changed or freed what it got */
    (void)LLVMFuzzerTestOneInput(exact, size);
    running = NULL;
    free(exact);
    n_passed++;
}

static void run_named(const char *name, const uint8_t *data, size_t size) {
    printf("# %s (%zu bytes)\n", name, size);
    (void)fflush(stdout);
    run(data, size, false);
}

static int read_file(const char *folder, const char *name, uint8_t *space, size_t max,
                     size_t *ret) {
    char path[4096];
    FILE *f;
    int n;

    n = snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        fprintf(stderr, "%s/%s: the path is too long\n", folder, name);
        return -1;
    }
    f = fopen(path, "rbe");
    if (f == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    *ret = fread(space, 1, max, f);
    n = ferror(f) || fgetc(f) != EOF;
    (void)fclose(f);
    if (n) {
        fprintf(stderr, "%s: not readable, or more than %zu bytes\n", path, max);
        return -1;
    }
    return 0;
}

static int run_file(const char *folder, const char *name, uint8_t *space) {
    size_t size;

    if (read_file(folder, name, space, MAX_INPUT_BYTES, &size) < 0)
        return -1;
    run_named(name, space, size);
    run_named(name, space, size / 2);
    if (size > 0 && size <= MAX_MUTATED_BYTES && n_inputs < MAX_FILES) {
        struct input in = {strdup(name), malloc(size), size};
        if (!in.name || !in.data)
            abort();
        memcpy(in.data, space, size);
        inputs[n_inputs++] = in;
    }
    return 0;
}

static int hex(char c) {
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Lines of libFuzzer's form: [name=]"text", with \\, \" and \xNN. The words live as long as the
 * process. */
static int read_dict(const char *path, uint8_t *space) {
    size_t size;

    if (read_file("", path, space, MAX_INPUT_BYTES - 1, &size) < 0)
        return -1;
    space[size] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r((char *)space, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *at = strchr(line, '"'), *end = strrchr(line, '"');
        if (*line == '#' || !at || at == end)
            continue;
        char *word = malloc((size_t)(end - at));
        size_t n = 0;
        if (!word)
            abort();
        for (at++; at < end; at++) {
            if (*at == '\\' && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0) {
                word[n++] = (char)(hex(at[2]) * 16 + hex(at[3]));
                at += 3;
            } else {
                if (*at == '\\')
                    at++;
                word[n++] = *at;
            }
        }
        sl_mutator_word(word, n);
    }
    return 0;
}

/* Of this process: beside others it does no less. */
static int64_t used_ms(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void mutate(const struct options *o, uint8_t *space) {
    int64_t end = o->seconds ? used_ms() + o->seconds * 1000 : INT64_MAX;
    uint64_t most = o->mutations ? o->mutations : UINT64_MAX;

    state = o->seed;
    printf("# mutations of %zu inputs, seed %llu\n", n_inputs, (unsigned long long)o->seed);
    (void)fflush(stdout);
    while (n_inputs > 0 && n_mutated < most && used_ms() < end) {
        const struct input *in = &inputs[n_mutated % n_inputs];
        size_t size = in->size, times = 1 + sl_mutator_next(&state) % 3;
        memcpy(space, in->data, size);
        for (size_t i = 0; i < times; i++)
            size = LLVMFuzzerCustomMutator(space, size, MAX_MUTATED_BYTES,
                                           (unsigned)sl_mutator_next(&state));
        n_mutated++;
        (void)alarm(MAX_INPUT_SECONDS);
        run(space, size, true);
        (void)alarm(0);
    }
    printf("# %llu mutations\n", (unsigned long long)n_mutated);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Byte order, and not the locale's. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool read_options(int argc, char **argv, struct options *o) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2) != 0) {
            if (o->folder)
                return false;
            o->folder = name;
            continue;
        }
        if (++i >= argc)
            return false;
        if (strcmp(name, "--mutations") == 0)
            o->mutations = strtoull(argv[i], NULL, 10);
        else if (strcmp(name, "--seconds") == 0)
            o->seconds = strtoll(argv[i], NULL, 10);
        else if (strcmp(name, "--seed") == 0)
            o->seed = strtoull(argv[i], NULL, 10);
        else if (strcmp(name, "--dict") == 0 && o->n_dicts < MAX_DICTS)
            o->dicts[o->n_dicts++] = argv[i];
        else
            return false;
    }
    return o->folder;
}

int main(int argc, char **argv) {
    struct options o = {.seed = 1};
    struct dirent **entries = NULL;
    const char *name = strrchr(argv[0], '/');
    uint8_t *space;
    unsigned n_failed = 0;
    int n;

    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s FOLDER [--mutations N] [--seconds N] [--seed N] [--dict FILE] ...\n",
                argv[0]);
        return 2;
    }
    (void)snprintf(found, sizeof(found), "found-%s", name ? name + 1 : argv[0]);
    n = scandir(o.folder, &entries, visible, by_name);
    if (n <= 0) {
        fprintf(stderr, "%s: %s\n", o.folder, n < 0 ? strerror(errno) : "the corpus is empty");
        return 1;
    }
    space = malloc(MAX_INPUT_BYTES);
    if (space == NULL)
        abort();

    run_named("the empty input", space, 0);
    for (int i = 0; i < n; i++) {
        if (run_file(o.folder, entries[i]->d_name, space) < 0)
            n_failed++;
        free(entries[i]);
    }
    free(entries);
    for (size_t i = 0; i < o.n_dicts; i++)
        if (read_dict(o.dicts[i], space) < 0)
            n_failed++;
    if (o.mutations || o.seconds) {
        catch_ends();
        mutate(&o, space);
    }
    for (size_t i = 0; i < n_inputs; i++) {
        free(inputs[i].data);
        free((char *)(uintptr_t)inputs[i].name);
    }
    free(space);
    printf("%llu passed, %u failed, 0 skipped\n", (unsigned long long)n_passed, n_failed);
    return n_failed > 0;
}
