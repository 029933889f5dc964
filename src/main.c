/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the verbs of the program; everything else is theirs. Before any of them runs, the key of
 * the hash tables is read from the system. Under the name kubectl-sluice it is a plugin of kubectl,
 * which runs what it finds by that name on PATH.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cmd/cli/cli.h"
#include "core/base/collection/hash.h"

static const struct cli_verb *const verbs[] = {
    &cli_verb_up,    &cli_verb_serve, &cli_verb_queue,      &cli_verb_graph,   &cli_verb_sim,
    &cli_verb_match, &cli_verb_pool,  &cli_verb_completion, &cli_verb_version, &cli_verb_help,
};

static const struct cli_example examples[] = {
    {"sluice up", "run a cluster with queues on this machine"},
    {"sluice queue", "who waits in the queues of a cluster, for what and until when"},
    {"sluice sim examples/load/sample.yaml", "simulate a load: makespan and wait times"},
    {"sluice match -L examples/match/small.graphml",
     "match jobspecs against a resource graph, interactively"},
    {"sluice sim --help", "all options of the simulator"},
};

static struct cli_program program = {
    .name = "sluice",
    .summary = "job queueing and placement for Kubernetes",
    .version = SL_VERSION,
    .verbs = verbs,
    .n_verbs = SL_LEN(verbs),
    .examples = examples,
    .n_examples = SL_LEN(examples),
};

/* Without a key, a client that chooses names could choose those that collide. */
static bool set_hash_key(void) {
    uint64_t key[2];

    /* So few bytes come whole, or not at all. */
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) {
        fprintf(stderr, "%s: cannot read random bytes for the hash tables: %s\n", program.name,
                strerror(errno));
        return false;
    }
    sl_hash_set_key(key);
    return true;
}

/* Is it called by a name that kubectl gives its plugins? */
static bool is_plugin(const char *path) {
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, "kubectl-sluice") == 0;
}

int main(int argc, char **argv) {
    if (argc > 0 && is_plugin(argv[0]))
        program.call = "kubectl sluice";
    if (!set_hash_key())
        return SL_EXIT_IO;
    return sl_cli_main(&program, argc, argv);
}
