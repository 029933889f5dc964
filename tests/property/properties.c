/*
 * Random properties: the engine against the oracle.
 *
 *     properties [--seeds N] [--first S] [--jobs N] [--seed S] [--verbose] [--digest]
 *                [--no-FEATURE] [--only FEATURE,...] [--oracle-only] [--no-explain] [--no-shrink]
 *
 * SL_SEEDS in the environment is the default of --seeds. A failing seed prints one line that replays
 * it; with --seed S --verbose the shortest story found is told with the oracle's reasoning.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "properties.h"

enum { DIGEST_SEEDS = 200, TOLD_FAILURES = 2000 };

struct options {
    uint64_t seeds, first, off;
    int jobs;
    bool one, verbose, digest, oracle_only, explain, shrink;
    const char *program;
    char flags[512]; /* to be repeated when replaying */
};

static const char *const feature_name[] = {
#define X(id, name, text) name,
    PROP_FEATURES(X)
#undef X
};

void prop_fail(struct run *r, const char *fmt, ...) {
    va_list ap;

    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    (void)vsnprintf(r->why, sizeof r->why, fmt, ap);
    va_end(ap);
    prop_tell(r, "** %s", r->why);
}

void prop_tell(struct run *r, const char *fmt, ...) {
    va_list ap;

    if (!r->verbose)
        return;
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

static void trace(const char *line) {
    (void)puts(line);
}

static void run_done(struct run *r) {
    orc_free(r->o);
    if (r->oracle_only)
        return;
    sl_effects_done(&r->fx);
    sl_effects_done(&r->fx_plain);
    sl_engine_free(r->e);
    if (r->plain)
        sl_engine_free(r->plain);
}

/* One history from beginning to end; leaves the verdict in r. */
static void run_seed(struct run *r) {
    struct orc_config none = {0};

    r->o = orc_new(&none);
    r->o->trace = r->verbose ? trace : NULL;
    if (!r->oracle_only) {
        r->e = sl_engine_new(NULL);
        r->plain = r->explain && r->seed % 8 == 0 ? sl_engine_new(NULL) : NULL;
        sl_effects_init(&r->fx);
        sl_effects_init(&r->fx_plain);
    }
    prop_world(r);
    for (int i = 0; i < r->n_steps && !r->failed; i++) {
        /* A step of its own: leaving one out does not change the dice of the next. */
        sl_prng_init(&r->rng, sl_hash_u64(r->seed, (uint64_t)i));
        bool cycle = !prop_one_in(r, 4), pause = prop_one_in(r, 3);
        if (pause)
            r->now += SL_SEC;
        r->failed_step = i;
        if (r->skip[i])
            continue;
        prop_tell(r, "-- step %d", i);
        prop_step(r);
        if (cycle)
            prop_cycle(r);
    }
    if (!r->failed) {
        r->failed_step = r->n_steps;
        prop_epilogue(r);
    }
}

/* The words of a failure up to the first number: tells kinds of failure apart. */
static bool same_kind(const char *a, const char *b) {
    size_t n = strcspn(a, "0123456789"), m = strcspn(b, "0123456789");
    const char *x = strstr(a, "engine"), *y = strstr(b, "engine");
    return n == m && strncmp(a, b, n) == 0 && (!x || !y || strncmp(x, y, 14) == 0);
}

/* Leaves out what the failure does not need. */
static void shrink(const struct options *opt, struct run *best) {
    bool again = true;

    for (int i = best->failed_step + 1; i < PROP_STEPS; i++)
        best->skip[i] = true;
    for (int size = 16; size >= 1; size = size == 1 && again ? 1 : size / 2) {
        again = false;
        for (int at = 0; at < PROP_STEPS; at += size) {
            struct run *r = sl_alloc0(1, sizeof *r);
            bool tried = false;
            r->seed = best->seed;
            r->off = opt->off;
            r->oracle_only = opt->oracle_only;
            r->explain = opt->explain;
            memcpy(r->skip, best->skip, sizeof r->skip);
            for (int i = at; i < at + size && i < PROP_STEPS; i++) {
                tried |= !r->skip[i];
                r->skip[i] = true;
            }
            if (tried) {
                run_seed(r);
                if (r->failed && same_kind(r->why, best->why)) {
                    memcpy(best->skip, r->skip, sizeof best->skip);
                    again = true;
                }
                run_done(r);
            }
            sl_freep(&r);
        }
    }
}

static uint64_t run_one(const struct options *opt, uint64_t seed, bool *ret_failed) {
    struct run *r = sl_alloc0(1, sizeof *r);
    uint64_t digest;

    r->seed = seed;
    r->off = opt->off;
    r->oracle_only = opt->oracle_only;
    r->explain = opt->explain;
    run_seed(r);
    digest = sl_hash_u64(seed, r->digest);
    if ((*ret_failed = r->failed)) {
        printf("seed %llu: step %d: %s\n    replay: %s --seed %llu --verbose%s\n",
               (unsigned long long)seed, r->failed_step, r->why, opt->program,
               (unsigned long long)seed, opt->flags);
        (void)fflush(stdout);
    }
    if (opt->verbose) {
        struct run *told = sl_alloc0(1, sizeof *told);
        if (r->failed && opt->shrink)
            shrink(opt, r);
        told->seed = seed;
        told->off = opt->off;
        told->oracle_only = opt->oracle_only;
        told->explain = opt->explain;
        memcpy(told->skip, r->skip, sizeof told->skip);
        told->verbose = true;
        run_seed(told);
        run_done(told);
        sl_freep(&told);
    }
    run_done(r);
    sl_freep(&r);
    return digest;
}

struct tally {
    uint64_t passed, failed, digest, first_digest; /* first: over the first DIGEST_SEEDS */
};

static struct tally run_range(const struct options *opt, uint64_t from, uint64_t step) {
    struct tally t = {0};

    for (uint64_t i = from; i < opt->seeds; i += step) {
        bool bad;
        uint64_t d = run_one(opt, opt->first + i, &bad);
        t.digest ^= d;
        t.first_digest ^= i < DIGEST_SEEDS ? d : 0;
        t.failed += bad;
        t.passed += !bad;
        if (t.failed >= TOLD_FAILURES) {
            printf("... and no further: %d failures\n", TOLD_FAILURES);
            break;
        }
    }
    (void)fflush(stdout);
    return t;
}

/* Every job takes each n-th seed; the results come back through pipes. */
static struct tally run_all(const struct options *opt) {
    struct tally sum = {0};
    int fd[64][2];
    pid_t pid[64];
    int n = opt->jobs < 1 ? 1 : opt->jobs > 64 ? 64 : opt->jobs;

    if (n == 1)
        return run_range(opt, 0, 1);
    (void)fflush(stdout);
    for (int i = 0; i < n; i++) {
        if (pipe(fd[i]) < 0 || (pid[i] = fork()) < 0) {
            perror("properties");
            exit(2);
        }
        if (pid[i] == 0) {
            struct tally t = run_range(opt, (uint64_t)i, (uint64_t)n);
            _exit(write(fd[i][1], &t, sizeof t) == (ssize_t)sizeof t ? 0 : 2);
        }
        (void)close(fd[i][1]);
    }
    for (int i = 0; i < n; i++) {
        struct tally t;
        int status = 0;
        bool got = read(fd[i][0], &t, sizeof t) == (ssize_t)sizeof t;
        (void)waitpid(pid[i], &status, 0);
        (void)close(fd[i][0]);
        if (!got) {
            printf("a job ended before its time (status %d): run it again with --jobs 1\n", status);
            sum.failed++;
            continue;
        }
        sum.passed += t.passed;
        sum.failed += t.failed;
        sum.digest ^= t.digest;
        sum.first_digest ^= t.first_digest;
    }
    return sum;
}

static int feature_by_name(const char *name, size_t len) {
    for (int f = 0; f < PROP_N_FEATURES; f++)
        if (strlen(feature_name[f]) == len && strncmp(feature_name[f], name, len) == 0)
            return f;
    fprintf(stderr, "properties: no feature '%.*s'; there are:", (int)len, name);
    for (int f = 0; f < PROP_N_FEATURES; f++)
        fprintf(stderr, " %s", feature_name[f]);
    fprintf(stderr, "\n");
    exit(2);
}

static uint64_t all_but(const char *list) {
    uint64_t off = ~UINT64_C(0);

    while (*list) {
        size_t len = strcspn(list, ",");
        off &= ~(UINT64_C(1) << feature_by_name(list, len));
        list += len + (list[len] == ',');
    }
    return off;
}

static void parse(struct options *opt, int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");

    *opt = (struct options){.seeds = env && *env ? strtoull(env, NULL, 10) : 1000,
                            .first = 1,
                            .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                            .explain = true,
                            .shrink = true,
                            .program = argv[0]};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        size_t used = strlen(opt->flags);
        bool repeat = true;
        if (strcmp(a, "--seeds") == 0 && next) {
            opt->seeds = strtoull(argv[++i], NULL, 10);
            repeat = false;
        } else if (strcmp(a, "--first") == 0 && next) {
            opt->first = strtoull(argv[++i], NULL, 10);
            repeat = false;
        } else if (strcmp(a, "--jobs") == 0 && next) {
            opt->jobs = (int)strtol(argv[++i], NULL, 10);
            repeat = false;
        } else if (strcmp(a, "--seed") == 0 && next) {
            opt->first = strtoull(argv[++i], NULL, 10);
            opt->seeds = 1;
            opt->jobs = 1;
            opt->one = true;
            repeat = false;
        } else if (strcmp(a, "--only") == 0 && next) {
            opt->off = all_but(argv[++i]);
            (void)snprintf(opt->flags + used, sizeof opt->flags - used, " --only %s", next);
            repeat = false;
        } else if (strcmp(a, "--verbose") == 0) {
            opt->verbose = true;
            repeat = false;
        } else if (strcmp(a, "--digest") == 0) {
            opt->digest = true;
            repeat = false;
        } else if (strcmp(a, "--oracle-only") == 0) {
            opt->oracle_only = true;
        } else if (strcmp(a, "--no-explain") == 0) {
            opt->explain = false;
        } else if (strcmp(a, "--no-shrink") == 0) {
            opt->shrink = false;
        } else if (strncmp(a, "--no-", 5) == 0) {
            opt->off |= UINT64_C(1) << feature_by_name(a + 5, strlen(a + 5));
        } else {
            fprintf(stderr,
                    "usage: %s [--seeds N] [--first S] [--jobs N] [--seed S] [--verbose] [--digest]\n"
                    "       [--no-FEATURE] [--only FEATURE,...] [--oracle-only] [--no-explain] "
                    "[--no-shrink]\n",
                    argv[0]);
            exit(2);
        }
        if (repeat)
            (void)snprintf(opt->flags + used, sizeof opt->flags - used, " %s", a);
    }
}

int main(int argc, char **argv) {
    struct options opt;
    struct tally t;

    parse(&opt, argc, argv);
    t = run_all(&opt);
    if (opt.digest)
        printf("digest all-seeds %016llx\n", (unsigned long long)t.digest);
    else if (!opt.one && opt.seeds >= DIGEST_SEEDS && t.failed == 0 && !opt.oracle_only)
        printf("digest properties %016llx\n", (unsigned long long)t.first_digest);
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)t.passed,
           (unsigned long long)t.failed);
    return t.failed != 0;
}
