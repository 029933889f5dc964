/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every *.scenario below the folders given, in name order, each scenario on an engine of its
 * own. Prints what failed and why, a digest over all effects, and 'N passed, N failed, N skipped'.
 *
 *     run_scenarios [--parse-only] [--tell] [--only WORDS] FOLDER|FILE ...
 *
 * --parse-only reads the scenarios and runs none; --tell prints every effect; --only runs those
 * whose title or a rule number is or contains WORDS.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/sim/scenario/scenario.h"

#define MAX_DEPTH 8

static struct {
    bool parse_only, tell;
    const char *only;
    unsigned passed, failed, skipped;
    uint64_t digest;
} all;

static void fold(void *ctx, sl_time now, const struct sl_effects *x, uint32_t from) {
    (void)ctx;
    (void)now;
    (void)from;
    all.digest = sl_effects_digest(all.digest, x);
}

static bool wanted(const struct sl_scenario *s) {
    if (!all.only || strstr(s->title, all.only))
        return true;
    for (uint32_t i = 0; i < s->n_rules; i++)
        if (strcmp(s->rules[i], all.only) == 0)
            return true;
    return false;
}

static void run_scenarios(const struct sl_scenarios *set) {
    const struct sl_scenario_watch watch = {.cycle = fold};
    for (uint32_t i = 0; i < set->n; i++) {
        const struct sl_scenario *s = &set->v[i];
        if (!wanted(s))
            continue;
        if (all.parse_only) {
            all.passed++;
            continue;
        }
        struct sl_buf out;
        sl_buf_init(&out, SL_SCENARIO_OUT_BYTES);
        if (all.tell)
            printf("%s:%u: %s\n", s->file, s->line, s->title);
        switch (sl_scenario_run(s, &watch, all.tell, &out)) {
        case SL_SCENARIO_PASSED:
            all.passed++;
            break;
        case SL_SCENARIO_FAILED:
            all.failed++;
            break;
        case SL_SCENARIO_SKIPPED:
            all.skipped++;
            printf("%s:%u: skipped: %s\n", s->file, s->line, s->skip);
            break;
        }
        fputs(sl_buf_str(&out), stdout);
        sl_buf_done(&out);
    }
}

static void run_file(const char *path) {
    _cleanup_(sl_scenarios_freep) struct sl_scenarios *set = NULL;
    struct sl_buf why;
    size_t n = 0;
    FILE *f = fopen(path, "rbe");
    if (!f) {
        printf("%s: %s\n", path, strerror(errno));
        all.failed++;
        return;
    }
    char *text = malloc(SL_SCENARIO_MAX_BYTES + 1);
    if (text)
        n = fread(text, 1, SL_SCENARIO_MAX_BYTES + 1, f);
    (void)fclose(f);
    sl_buf_init(&why, 4096);
    const char *base = strrchr(path, '/');
    if (!text || sl_scenarios_read(all.tell ? path
                                   : base   ? base + 1
                                            : path,
                                   text, n, &set, &why) < 0) {
        printf("%s\n", sl_buf_str(&why));
        all.failed++;
    } else {
        run_scenarios(set);
    }
    sl_buf_done(&why);
    free(text);
}

static int visible(const struct dirent *e) {
    return e->d_name[0] != '.';
}

/* Byte order, and not the locale's. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_path(const char *path, unsigned depth) {
    struct dirent **entries = NULL;
    struct stat st;
    int n;

    if (stat(path, &st) != 0) {
        printf("%s: %s\n", path, strerror(errno));
        all.failed++;
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        run_file(path);
        return;
    }
    n = scandir(path, &entries, visible, by_name);
    for (int i = 0; i < n; i++) {
        char below[4096];
        const char *name = entries[i]->d_name;
        size_t len = strlen(name);
        int k = snprintf(below, sizeof(below), "%s/%s", path, name);
        bool scenario = len > 9 && strcmp(name + len - 9, ".scenario") == 0;
        if (k > 0 && (size_t)k < sizeof(below) && stat(below, &st) == 0 &&
            (scenario || (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)))
            run_path(below, depth + 1);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv) {
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--parse-only") == 0) {
            all.parse_only = true;
        } else if (strcmp(argv[i], "--tell") == 0) {
            all.tell = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            all.only = argv[++i];
        } else {
            any = true;
            run_path(argv[i], 0);
        }
    }
    if (!any) {
        fprintf(stderr, "usage: %s [--parse-only] [--tell] [--only WORDS] FOLDER|FILE ...\n",
                argv[0]);
        return 2;
    }
    if (!all.parse_only && !all.only)
        printf("digest scenarios %016llx\n", (unsigned long long)all.digest);
    printf("%u passed, %u failed, %u skipped\n", all.passed, all.failed, all.skipped);
    return all.failed > 0;
}
