/*
 * Chooses the verbs of the program; everything else is theirs.
 */
#include "cli/cli.h"

static const struct sl_verb *const verbs[] = {
    &sl_verb_up,         &sl_verb_serve,   &sl_verb_sim,  &sl_verb_match,
    &sl_verb_completion, &sl_verb_version, &sl_verb_help,
};

static const struct sl_example examples[] = {
    {"sluice up", "a cluster on this machine, with queues"},
    {"sluice sim examples/load/sample.yaml", "simulate a load: how long it takes and who waits"},
    {"sluice match -L examples/match/small.graphml",
     "which nodes and cores would a job get? A session with the matcher"},
    {"sluice sim --help", "everything the simulator can do"},
};

static const struct sl_program program = {
    .name = "sluice",
    .summary = "queues batch work for Kubernetes and places it",
    .version = SL_VERSION,
    .verbs = verbs,
    .n_verbs = SL_LEN(verbs),
    .examples = examples,
    .n_examples = SL_LEN(examples),
};

int main(int argc, char **argv) {
    return sl_cli_main(&program, argc, argv);
}
