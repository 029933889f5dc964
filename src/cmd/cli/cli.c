/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments to a command that runs. Unknown arguments are rejected, with the nearest match as
 * a suggestion.
 */
#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/time.h"
#include "lib/doc/read.h"

/* ---- parsing ---- */

const struct cli_verb *sl_cli_verb(const struct cli_program *p, const char *name) {
    for (uint32_t i = 0; i < p->n_verbs; i++) {
        if (strcmp(p->verbs[i]->name, name) == 0)
            return p->verbs[i];
    }
    return NULL;
}

static int unknown_option(const struct cli_program *p, const struct cli_verb *verb,
                          const char *name, struct sl_err *err) {
    const char *names[SL_CLI_MAX_OPTS + 1];
    uint32_t n = 0;
    for (; n < verb->n_opts; n++)
        names[n] = verb->opts[n].name;
    names[n++] = "help";
    const char *near = sl_read_nearest(name, names, n);
    if (near)
        return sl_err_set(err, SL_EINVAL, "unknown option --%.60s; did you mean --%s?", name, near);
    return sl_err_set(err, SL_EINVAL, "unknown option --%.60s; '%s %s --help' lists them", name,
                      sl_cli_call(p), verb->name);
}

static int check_value(const struct cli_opt *o, const char *value, struct sl_err *err) {
    switch (o->kind) {
    case SL_OPT_FLAG:
    case SL_OPT_TEXT:
    case SL_OPT_HINT:
        break;
    case SL_OPT_FILE:
        if (*value == '\0')
            return sl_err_set(err, SL_EINVAL, "--%s needs a %s, found nothing", o->name, o->value);
        break;
    case SL_OPT_SPAN: {
        sl_span d;
        int r = sl_span_parse(value, strlen(value), &d, err);
        if (r < 0)
            return sl_err_wrap(err, r, "--%s", o->name);
        if (d <= 0)
            return sl_err_set(err, SL_EINVAL, "--%s: expected more than 0s, found '%.40s'", o->name,
                              value);
        break;
    }
    case SL_OPT_CHOICE: {
        char list[120] = "";
        for (uint32_t i = 0; o->choices[i]; i++) {
            if (strcmp(o->choices[i], value) == 0)
                return 0;
            size_t at = strlen(list);
            sl_fmt_short(list + at, sizeof(list) - at, "%s%s", at ? ", " : "", o->choices[i]);
        }
        return sl_err_set(err, SL_EINVAL, "--%s: expected one of %s, found '%.40s'", o->name, list,
                          value);
    }
    }
    return 0;
}

/* Is this the name of the option, or, where names may be cut short, what no other begins with? */
static bool is_meant(const struct cli_verb *verb, uint32_t k, const char *name, size_t len) {
    const char *own = verb->opts[k].name;
    if (strncmp(own, name, len) != 0)
        return false;
    if (own[len] == '\0')
        return true;
    for (uint32_t i = 0; i < verb->n_opts; i++)
        if (i != k && strncmp(verb->opts[i].name, name, len) == 0)
            return false;
    return verb->like_getopt && len > 0;
}

static int set_option(const struct cli_verb *verb, uint32_t k, const char *value,
                      struct cli_args *ret, struct sl_err *err) {
    const struct cli_opt *o = &verb->opts[k];
    if (ret->opts[k] && o->kind != SL_OPT_FLAG && !verb->like_getopt)
        return sl_err_set(err, SL_EINVAL, "--%s given more than once", o->name);
    int r = check_value(o, value, err);
    if (r < 0)
        return r;
    ret->given_twice[k] = ret->opts[k] != NULL;
    ret->opts[k] = value;
    return 0;
}

/* One "--name" or "--name=value"; *i is advanced when the value is the next argument. */
static int parse_option(const struct cli_program *p, const struct cli_verb *verb, int argc,
                        char **argv, int *i, struct cli_args *ret, bool *ret_help,
                        struct sl_err *err) {
    const char *name = argv[*i] + 2;
    const char *eq = strchr(name, '=');
    size_t len = eq ? (size_t)(eq - name) : strlen(name);
    if (len == 4 && strncmp(name, "help", len) == 0 && !eq) {
        *ret_help = true;
        return 0;
    }
    for (uint32_t k = 0; k < verb->n_opts; k++) {
        const struct cli_opt *o = &verb->opts[k];
        const char *value = "";
        if (!is_meant(verb, k, name, len))
            continue;
        if (o->kind == SL_OPT_FLAG) {
            if (eq)
                return sl_err_set(err, SL_EINVAL, "--%s takes no value, found '%.60s'", o->name,
                                  eq + 1);
        } else if (eq) {
            value = eq + 1;
        } else if (*i + 1 < argc && (verb->like_getopt || strncmp(argv[*i + 1], "--", 2) != 0)) {
            value = argv[++*i];
        } else {
            return sl_err_set(err, SL_EINVAL, "--%s needs a value: --%s=%s", o->name, o->name,
                              o->value);
        }
        return set_option(verb, k, value, ret, err);
    }
    char word[64];
    sl_fmt_short(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), name);
    return unknown_option(p, verb, word, err);
}

static bool has_letters(const struct cli_verb *verb) {
    for (uint32_t k = 0; k < verb->n_opts; k++)
        if (verb->opts[k].letter)
            return true;
    return false;
}

/* One argument of letters: "-e", "-ed", "-Lfile", "-L file". */
static int parse_letters(const struct cli_program *p, const struct cli_verb *verb, int argc,
                         char **argv, int *i, struct cli_args *ret, bool *ret_help,
                         struct sl_err *err) {
    for (const char *c = argv[*i] + 1; *c; c++) {
        uint32_t k = 0;
        if (*c == 'h') {
            *ret_help = ret->short_help = true;
            continue;
        }
        while (k < verb->n_opts && verb->opts[k].letter != *c)
            k++;
        if (k == verb->n_opts)
            return sl_err_set(err, SL_EINVAL, "unknown option -%c; '%s %s --help' lists them", *c,
                              sl_cli_call(p), verb->name);
        if (verb->opts[k].kind == SL_OPT_FLAG) {
            int r = set_option(verb, k, "", ret, err);
            if (r < 0)
                return r;
            continue;
        }
        if (!c[1] && *i + 1 >= argc)
            return sl_err_set(err, SL_EINVAL, "-%c needs a value: -%c %s", *c, *c,
                              verb->opts[k].value);
        return set_option(verb, k, c[1] ? c + 1 : argv[++*i], ret, err);
    }
    return 0;
}

int sl_cli_parse(const struct cli_program *p, const struct cli_verb *verb, int argc, char **argv,
                 struct cli_args *ret, bool *ret_help, struct sl_err *err) {
    sl_assert(verb->n_opts <= SL_CLI_MAX_OPTS);
    ret->program = p;
    ret->verb = verb;
    memset(ret->opts, 0, sizeof(ret->opts));
    memset(ret->given_twice, 0, sizeof(ret->given_twice));
    ret->n = 0;
    ret->short_help = *ret_help = false;
    bool only_args = false, letters = has_letters(verb);
    for (int i = 0; i < argc; i++) {
        const char *w = argv[i];
        int r = 0;
        if (only_args || w[0] != '-' || w[1] == '\0')
            ret->v[ret->n++] = w;
        else if (strcmp(w, "--") == 0)
            only_args = true;
        else if (w[1] == '-')
            r = parse_option(p, verb, argc, argv, &i, ret, ret_help, err);
        else if (letters || strcmp(w, "-h") == 0)
            r = parse_letters(p, verb, argc, argv, &i, ret, ret_help, err);
        else
            r = sl_err_set(err, SL_EINVAL, "unknown option %.60s; options start with two dashes",
                           w);
        if (r < 0)
            return r;
    }
    if (*ret_help)
        return 0;
    if (ret->n < verb->min_args)
        return sl_err_set(err, SL_EINVAL, "expected %s %s after '%s %s'",
                          verb->min_args == 1 ? "a" : "more", verb->arg, sl_cli_call(p),
                          verb->name);
    if (ret->n > verb->max_args)
        return sl_err_set(err, SL_EINVAL, "unexpected argument '%.80s'", ret->v[verb->max_args]);
    return 0;
}

/* ---- running ---- */

int sl_cli_exit_code(int code) {
    static const struct {
        int code, exit;
    } table[] = {
        {SL_OK, SL_EXIT_OK},          {SL_EINVAL, SL_EXIT_INPUT},      {SL_ENOENT, SL_EXIT_INPUT},
        {SL_EEXIST, SL_EXIT_INPUT},   {SL_ELIMIT, SL_EXIT_INPUT},      {SL_EIO, SL_EXIT_IO},
        {SL_ESTALE, SL_EXIT_DIFFERS}, {SL_EMISMATCH, SL_EXIT_DIFFERS},
    };
    for (size_t i = 0; i < SL_LEN(table); i++) {
        if (table[i].code == code)
            return table[i].exit;
    }
    return SL_EXIT_IO;
}

static int usage(const struct cli_program *p, const struct cli_verb *verb,
                 const struct sl_err *err) {
    fprintf(stderr, "%s: %s\n", p->name, err->text);
    if (verb && verb->like_getopt) {
        sl_cli_usage(p, verb);
        return SL_EXIT_DIFFERS;
    }
    if (verb)
        fprintf(stderr, "try '%s %s --help'\n", sl_cli_call(p), verb->name);
    else
        fprintf(stderr, "try '%s --help'\n", sl_cli_call(p));
    return SL_EXIT_USAGE;
}

/* A closed standard descriptor would be given to the next file opened, and a report would then be
 * written into it. Something that refuses writes takes its place. */
static void hold_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* the lowest free: fd */
    }
}

int sl_cli_write_file(const char *path, const char *text, size_t len, struct sl_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return sl_err_set(err, SL_EIO, "%s: %s", path, strerror(errno));
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int why = errno;
            (void)close(fd);
            return sl_err_set(err, SL_EIO, "%s: %s", path, strerror(why));
        }
        done += (size_t)n;
    }
    if (close(fd) < 0)
        return sl_err_set(err, SL_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

/* What was printed must have arrived. */
static int finish_output(const struct cli_program *p, int code) {
    int broken = 0;
    if (fflush(stdout) != 0)
        broken = errno;
    else if (ferror(stdout)) /* it failed earlier: one more byte fails for the same reason */
        broken = write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
    if (broken == 0)
        return code;
    if (broken != EPIPE) /* a reader that has seen enough needs no message */
        fprintf(stderr, "%s: writing to standard output: %s\n", p->name, strerror(broken));
    return code == SL_EXIT_OK ? SL_EXIT_IO : code;
}

static int run_verb(const struct cli_program *p, const struct cli_verb *verb, int argc,
                    char **argv) {
    struct cli_term term;
    struct sl_err err = {0};
    struct cli_args args = {.term = &term};
    bool help;
    cli_term_init(&term, stdout, stderr);
    args.v = sl_alloc0((size_t)argc + 1, sizeof(*args.v));
    int code = sl_cli_parse(p, verb, argc, argv, &args, &help, &err);
    if (code < 0) {
        code = usage(p, verb, &err);
    } else if (help) {
        if (args.short_help && verb->like_getopt)
            cli_term_init(&term, stderr, stderr);
        sl_cli_help(p, verb, &term);
        code = SL_EXIT_OK;
    } else {
        code = verb->run(&args, &err);
        if (code < 0) {
            (void)fflush(stdout);
            fprintf(stderr, "%s: %s\n", p->name, err.text[0] ? err.text : sl_code_name(code));
            code = sl_cli_exit_code(code);
        }
    }
    sl_freep(&args.v);
    return code;
}

int sl_cli_main(const struct cli_program *p, int argc, char **argv) {
    hold_standard_descriptors();
    struct sl_err err = {0};
    int code;
    if (argc < 2) {
        struct cli_term term;
        cli_term_init(&term, stderr, stderr);
        sl_cli_help(p, NULL, &term);
        return SL_EXIT_USAGE;
    }
    const char *word = argv[1];
    const struct cli_verb *verb = sl_cli_verb(p, word);
    if (!verb && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
        verb = &cli_verb_help;
    else if (!verb && strcmp(word, "--version") == 0)
        verb = &cli_verb_version;
    if (verb) {
        code = run_verb(p, verb, argc - 2, argv + 2);
    } else {
        const char *names[64];
        uint32_t n = 0;
        for (; n < p->n_verbs && n < SL_LEN(names); n++)
            names[n] = p->verbs[n]->name;
        const char *near = *word == '-' ? NULL : sl_read_nearest(word, names, n);
        if (near)
            (void)sl_err_set(&err, SL_EINVAL, "unknown command '%.60s'; did you mean '%s'?", word,
                             near);
        else
            (void)sl_err_set(&err, SL_EINVAL, "expected a command, found '%.60s'", word);
        code = usage(p, NULL, &err);
    }
    return finish_output(p, code);
}
