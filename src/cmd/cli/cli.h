/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as data: a program is a table of commands ("verbs"), a command is a table of
 * options with its help, examples and a function to run. Parsing, --help, error messages with the
 * nearest match and shell completion all come from the same tables, so they cannot disagree.
 *
 * Tables are constant and borrowed for the lifetime of the process; nothing here is thread-safe.
 */
#ifndef SL_CMD_CLI_CLI_H
#define SL_CMD_CLI_CLI_H

#include "cmd/cli/term.h"
#include "core/base/err.h"

/* Exit codes of the process. One table in cli.c maps error codes here. */
enum cli_exit {
    SL_EXIT_OK = 0,
    SL_EXIT_DIFFERS = 1, /* it ran, and the result is not the expected one */
    SL_EXIT_USAGE = 2,   /* the command line is wrong */
    SL_EXIT_INPUT = 3,   /* an input file is wrong or missing */
    SL_EXIT_IO = 4,      /* reading or writing failed */
};

enum cli_opt_kind {
    SL_OPT_FLAG,   /* takes no value */
    SL_OPT_FILE,   /* a path */
    SL_OPT_SPAN,   /* a length of time: 250ms, 1h30m */
    SL_OPT_CHOICE, /* one of 'choices' */
    SL_OPT_TEXT,   /* any text, also empty */
    SL_OPT_HINT,   /* any text; completion offers 'choices' */
};

struct cli_opt {
    const char *name; /* without the dashes */
    enum cli_opt_kind kind;
    const char *value; /* placeholder of the value in help texts, e.g. FILE */
    const char *help;
    const char *const *choices; /* CHOICE, HINT: NULL-terminated */
    char letter;                /* short form "-x"; 0: none */
};

struct cli_example {
    const char *line, *what;
};

#define SL_CLI_MAX_OPTS 32

struct cli_args;

struct cli_verb {
    const char *name;
    const char *summary;  /* one line for the list of verbs */
    const char *synopsis; /* what follows the verb's name in "usage:" */
    const char *about;    /* paragraphs; NULL: the summary is enough */
    const struct cli_opt *opts;
    uint32_t n_opts;
    const struct cli_example *examples;
    uint32_t n_examples;
    uint32_t min_args, max_args; /* arguments besides options */
    const char *arg;             /* placeholder of an argument, e.g. FILE */
    const char *const *args;     /* its possible values, NULL-terminated; NULL: a file */
    bool arg_is_verb;            /* it may be the name of a verb */
    /* For compatibility with scripts of another program, options are parsed as by getopt_long(3):
     * the last of several applies and long names may be abbreviated. A wrong command line gets the
     * usage on standard error and exit code 1; -h gets the help there. */
    bool like_getopt;
    const struct cli_example *exits; /* what its exit codes mean; NULL: what they always do */
    uint32_t n_exits;
    /* An exit code, or a negative sl_code with its message in err. */
    int (*run)(const struct cli_args *a, struct sl_err *err);
};

struct cli_program {
    const char *name, *summary, *version;
    const char *call; /* how it was called, if not by its name: "kubectl sluice"; NULL */
    const struct cli_verb *const *verbs;
    uint32_t n_verbs;
    const struct cli_example *examples;
    uint32_t n_examples;
};

struct cli_args {
    const struct cli_program *program;
    const struct cli_verb *verb;
    struct cli_term *term;
    const char *opts[SL_CLI_MAX_OPTS]; /* as in the verb's table; NULL: absent; "" for a flag */
    bool given_twice[SL_CLI_MAX_OPTS]; /* or more often; only if like_getopt */
    bool short_help;                   /* help was requested by -h */
    const char **v;                    /* arguments besides options */
    uint32_t n;
};

static inline bool cli_args_has(const struct cli_args *a, uint32_t opt) {
    return a->opts[opt] != NULL;
}

/* The whole program: parses, runs the verb, prints what went wrong, returns the exit code. */
int sl_cli_main(const struct cli_program *p, int argc, char **argv);
/* Fills everything of ret but its term. argv are the arguments after the command; ret->v needs as
 * many entries. Separate from main for tests. */
int sl_cli_parse(const struct cli_program *p, const struct cli_verb *verb, int argc, char **argv,
                 struct cli_args *ret, bool *ret_help, struct sl_err *err) _must_check_;
const struct cli_verb *sl_cli_verb(const struct cli_program *p, const char *name);
/* What users type before the name of a verb. */
static inline const char *sl_cli_call(const struct cli_program *p) {
    return p->call ? p->call : p->name;
}
int sl_cli_exit_code(int code);
/* Writes a whole file. */
int sl_cli_write_file(const char *path, const char *text, size_t len,
                      struct sl_err *err) _must_check_;

/* ---- help.c ---- */
void sl_cli_help(const struct cli_program *p, const struct cli_verb *verb, struct cli_term *t);
/* Only how to call it, on standard error. */
void sl_cli_usage(const struct cli_program *p, const struct cli_verb *verb);

/* ---- the verbs every program has ---- */
extern const struct cli_verb cli_verb_help, cli_verb_version, cli_verb_completion;
/* ---- and those of this one ---- */
extern const struct cli_verb cli_verb_graph, cli_verb_match, cli_verb_pool, cli_verb_queue,
    cli_verb_serve, cli_verb_sim, cli_verb_up;

#endif
