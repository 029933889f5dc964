/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random properties: the engine against the oracle.
 *
 *     properties [--seeds N] [--first S] [--jobs N] [--tell N] [--seed S] [--verbose]
 *                [--digest] [--no-FEATURE] [--only FEATURE,...] [--oracle-only] [--no-explain]
 * [--no-shrink]
 *
 * SL_SEEDS in the environment is the default of --seeds. A failing seed prints one line that
 * replays it; with --seed S --verbose the shortest history found is printed with the oracle's
 * reasoning.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "properties.h"

enum { DIGEST_SEEDS = 200 };

struct options {
    uint64_t seeds, first, off, told; /* reported: how many failures to print per job */
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
    (void)fflush(stdout); /* a crash must not swallow the trace */
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

    seed_key(r->seed);
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
        sl_prng_init(&r->rng, sl_digest_u64(r->seed, (uint64_t)i));
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

/* The message of a failure up to the first number: distinguishes kinds of failure. */
static bool same_kind(const char *a, const char *b) {
    size_t n = strcspn(a, "0123456789"), m = strcspn(b, "0123456789");
    const char *x = strstr(a, "engine"), *y = strstr(b, "engine");
    return n == m && strncmp(a, b, n) == 0 && (!x || !y || strncmp(x, y, 14) == 0);
}

static void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("properties");
        exit(2);
    }
    return p;
}

/* Runs a history in a process of its own, so that a crash is a failure like another. r is shared
 * memory; what it points to is not read any more. */
static void run_apart(struct run *r) {
    int status = 0;
    pid_t pid;

    (void)fflush(stdout);
    if ((pid = fork()) < 0) {
        perror("properties");
        exit(2);
    }
    if (pid == 0) {
        run_seed(r);
        run_done(r);
        (void)fflush(stdout);
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
        r->failed = true;
        (void)snprintf(r->why, sizeof r->why, "the process ends by itself");
    }
}

static void prepare(const struct options *opt, struct run *r, uint64_t seed, const bool *skip) {
    memset(r, 0, sizeof *r);
    r->seed = seed;
    r->off = opt->off;
    r->oracle_only = opt->oracle_only;
    r->explain = opt->explain;
    if (skip)
        memcpy(r->skip, skip, sizeof r->skip);
}

/* Leaves out what the failure does not need. */
static void shrink(const struct options *opt, struct run *best) {
    struct run *r = shared(sizeof *r);
    bool again = true;

    for (int i = best->failed_step + 1; i < PROP_STEPS; i++)
        best->skip[i] = true;
    for (int size = 16; size >= 1; size = size == 1 && again ? 1 : size / 2) {
        again = false;
        for (int at = 0; at < PROP_STEPS; at += size) {
            bool tried = false;
            prepare(opt, r, best->seed, best->skip);
            for (int i = at; i < at + size && i < PROP_STEPS; i++) {
                tried |= !r->skip[i];
                r->skip[i] = true;
            }
            if (!tried)
                continue;
            run_apart(r);
            if (r->failed && same_kind(r->why, best->why)) {
                memcpy(best->skip, r->skip, sizeof best->skip);
                again = true;
            }
        }
    }
    (void)munmap(r, sizeof *r);
}

static void report(const struct options *opt, const struct run *r) {
    printf("seed %llu: step %d: %s\n    replay: %s --seed %llu --verbose%s\n",
           (unsigned long long)r->seed, r->failed_step, r->why, opt->program,
           (unsigned long long)r->seed, opt->flags);
    (void)fflush(stdout);
}

/* Prints the trace of one seed, the shortest one that fails if it does. */
static int run_verbose(const struct options *opt) {
    struct run *r = shared(sizeof *r), *told = shared(sizeof *told);
    bool failed;

    prepare(opt, r, opt->first, NULL);
    run_apart(r);
    if ((failed = r->failed)) {
        report(opt, r);
        if (opt->shrink)
            shrink(opt, r);
    }
    prepare(opt, told, opt->first, r->skip);
    told->verbose = true;
    run_apart(told);
    printf("%d passed, %d failed, 0 skipped\n", !failed, failed);
    return failed;
}

struct tally {
    uint64_t passed, failed, digest, first_digest; /* first: over the first DIGEST_SEEDS */
};

/* What a job and its parent share. */
struct job {
    uint64_t next; /* index of the seed that runs */
    pid_t pid;
    struct tally t;
};

static void count(const struct options *opt, struct tally *t, uint64_t i, const struct run *r) {
    uint64_t d = sl_digest_u64(r->seed, r->digest);

    t->digest ^= d;
    t->first_digest ^= i < DIGEST_SEEDS ? d : 0;
    t->passed += !r->failed;
    t->failed += r->failed;
    if (r->failed && t->failed <= opt->told)
        report(opt, r);
}

/* Every job takes each n-th seed from where it stands. */
static void job_run(const struct options *opt, struct job *j, uint64_t step) {
    struct run *r = sl_alloc0(1, sizeof *r);

    for (; j->next < opt->seeds; j->next += step) {
        prepare(opt, r, opt->first + j->next, NULL);
        run_seed(r);
        count(opt, &j->t, j->next, r);
        run_done(r);
    }
    sl_freep(&r);
}

static void job_start(const struct options *opt, struct job *j, uint64_t step) {
    pid_t pid;

    (void)fflush(stdout);
    if ((pid = fork()) < 0) {
        perror("properties");
        exit(2);
    }
    if (pid == 0) {
        job_run(opt, j, step);
        (void)fflush(stdout);
        _exit(0);
    }
    j->pid = pid; /* only the parent writes it: the memory is shared */
}

static struct tally run_all(const struct options *opt) {
    struct tally sum = {0};
    int n = opt->jobs < 1 ? 1 : opt->jobs > 64 ? 64 : opt->jobs;
    struct job *job = shared(sizeof *job * (size_t)n);

    for (int i = 0; i < n; i++) {
        job[i].next = (uint64_t)i;
        job_start(opt, &job[i], (uint64_t)n);
    }
    for (int i = 0; i < n; i++) {
        int status = 0;
        (void)waitpid(job[i].pid, &status, 0);
        while (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
            struct run crashed = {.seed = opt->first + job[i].next, .failed = true};
            (void)snprintf(crashed.why, sizeof crashed.why, "the process ends by itself");
            count(opt, &job[i].t, job[i].next, &crashed);
            job[i].next += (uint64_t)n;
            job_start(opt, &job[i], (uint64_t)n);
            (void)waitpid(job[i].pid, &status, 0);
        }
        sum.passed += job[i].t.passed;
        sum.failed += job[i].t.failed;
        sum.digest ^= job[i].t.digest;
        sum.first_digest ^= job[i].t.first_digest;
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

static void usage(const char *program) {
    static const char *const text[] = {
#define X(id, name, words) words,
        PROP_FEATURES(X)
#undef X
    };

    fprintf(stderr,
            "usage: %s [--seeds N] [--first S] [--jobs N] [--tell N] [--seed S] [--verbose]\n"
            "       [--digest] [--no-FEATURE] [--only FEATURE,...] [--oracle-only] [--no-explain]\n"
            "       [--no-shrink]\n"
            "features:\n",
            program);
    for (int f = 0; f < PROP_N_FEATURES; f++)
        fprintf(stderr, "  %-14s %s\n", feature_name[f], text[f]);
}

static void parse(struct options *opt, int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");

    *opt = (struct options){.seeds = env && *env ? strtoull(env, NULL, 10) : 1000,
                            .first = 1,
                            .told = 10,
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
        } else if (strcmp(a, "--tell") == 0 && next) {
            opt->told = strtoull(argv[++i], NULL, 10);
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
            usage(argv[0]);
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
    if (opt.one && opt.verbose)
        return run_verbose(&opt);
    t = run_all(&opt);
    if (opt.digest)
        printf("digest all-seeds %016llx\n", (unsigned long long)t.digest);
    else if (!opt.one && opt.seeds >= DIGEST_SEEDS && t.failed == 0 && !opt.oracle_only)
        printf("digest properties %016llx\n", (unsigned long long)t.first_digest);
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)t.passed,
           (unsigned long long)t.failed);
    return t.failed != 0;
}
