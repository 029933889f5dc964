/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help that teaches: what it does, how to call it, worked examples, and what the exit codes mean.
 */
#include <string.h>

#include "cmd/cli/cli.h"
#include "core/base/fmt.h"

#define TEXT_MAX ((size_t)1 << 20)

static void title(struct sl_buf *b, const char *program, const char *what, const char *summary,
                  unsigned width) {
    char line[200];
    sl_fmt_short(line, sizeof(line), "%s %s: %s", program, what, summary);
    cli_term_wrap(b, line, 0, width);
}

static void heading(struct sl_buf *b, const struct cli_term *t, const char *text) {
    sl_buf_printf(b, "\n%s%s%s\n", cli_term_style(t, SL_STYLE_BOLD), text,
                  cli_term_style(t, SL_STYLE_NONE));
}

/* "  left    text that may take several lines" */
static void entry(struct sl_buf *b, const char *left, const char *right, unsigned column,
                  unsigned width) {
    struct sl_buf text;
    sl_buf_init(&text, TEXT_MAX);
    cli_term_wrap(&text, right, column, width);
    unsigned w = cli_text_width(left);
    if (w + 2 < column) /* the first line starts beside it */
        sl_buf_printf(b, "  %s%*s%s", left, (int)(column - 2 - w), "", sl_buf_str(&text) + column);
    else
        sl_buf_printf(b, "  %s\n%s", left, sl_buf_str(&text));
    sl_buf_done(&text);
}

static void examples(struct sl_buf *b, const struct cli_term *t, const struct cli_example *v,
                     uint32_t n, unsigned width) {
    if (n == 0)
        return;
    heading(b, t, "Examples");
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_printf(b, "  %s%s%s\n", cli_term_style(t, SL_STYLE_GOOD), v[i].line,
                      cli_term_style(t, SL_STYLE_NONE));
        cli_term_wrap(b, v[i].what, 6, width);
    }
}

static const struct cli_example usual_exits[] = {
    {"0", "success"},
    {"1", "failed, or the result is not the expected one (a scenario failed, a replay ended in "
          "another digest)"},
    {"2", "invalid command line"},
    {"3", "invalid or missing input file; the message gives file, line and expected value"},
    {"4", "input/output error"},
};

static void exit_codes(struct sl_buf *b, const struct cli_term *t, const struct cli_verb *verb,
                       unsigned width) {
    bool own = verb && verb->exits;
    const struct cli_example *v = own ? verb->exits : usual_exits;
    heading(b, t, "Exit codes");
    for (uint32_t i = 0; i < (own ? verb->n_exits : SL_LEN(usual_exits)); i++)
        entry(b, v[i].line, v[i].what, 5, width);
}

static void program_help(const struct cli_program *p, const struct cli_term *t, struct sl_buf *b,
                         unsigned width) {
    title(b, sl_cli_call(p), p->version, p->summary, width);
    heading(b, t, "Usage");
    sl_buf_printf(b, "  %s COMMAND [options] [arguments]\n", sl_cli_call(p));
    heading(b, t, "Commands");
    for (uint32_t i = 0; i < p->n_verbs; i++)
        entry(b, p->verbs[i]->name, p->verbs[i]->summary, 15, width);
    examples(b, t, p->examples, p->n_examples, width);
    exit_codes(b, t, NULL, width);
    sl_buf_printf(b, "\n'%s COMMAND --help' describes a command.\n", sl_cli_call(p));
}

/* "--name=VALUE", with space for letters in front if the verb has some. */
static void left_side(const struct cli_opt *o, bool letters, char out[80]) {
    char letter[8] = "";
    if (letters && o->letter)
        sl_fmt_short(letter, sizeof(letter), "-%c, ", o->letter);
    else if (letters)
        sl_fmt_short(letter, sizeof(letter), "    ");
    sl_fmt_short(out, 80, "%s--%s%s%s", letter, o->name, o->kind == SL_OPT_FLAG ? "" : "=",
                 o->kind == SL_OPT_FLAG ? "" : o->value);
}

static void options(struct sl_buf *b, const struct cli_verb *v, unsigned width) {
    unsigned column = 12;
    char left[80];
    bool letters = false;
    for (uint32_t i = 0; i < v->n_opts; i++)
        letters = letters || v->opts[i].letter;
    for (uint32_t i = 0; i < v->n_opts; i++) {
        left_side(&v->opts[i], letters, left);
        unsigned w = cli_text_width(left) + 4;
        if (w > column && w <= (letters ? 36u : 26u))
            column = w;
    }
    for (uint32_t i = 0; i < v->n_opts; i++) {
        left_side(&v->opts[i], letters, left);
        entry(b, left, v->opts[i].help, column, width);
    }
    entry(b, letters ? "-h, --help" : "--help", "print this help and exit", column, width);
}

/* One line for each way to call it. */
static void synopsis(struct sl_buf *b, const char *before, const struct cli_program *p,
                     const struct cli_verb *v) {
    const char *line = v->synopsis;
    do {
        size_t n = strcspn(line, "\n");
        sl_buf_printf(b, "%s%s %s%s%.*s\n", before, sl_cli_call(p), v->name, n ? " " : "", (int)n,
                      line);
        line += n + (line[n] == '\n');
    } while (*line);
}

static void verb_help(const struct cli_program *p, const struct cli_verb *v,
                      const struct cli_term *t, struct sl_buf *b, unsigned width) {
    title(b, sl_cli_call(p), v->name, v->summary, width);
    heading(b, t, "Usage");
    synopsis(b, "  ", p, v);
    if (v->about) {
        sl_buf_putc(b, '\n');
        cli_term_wrap(b, v->about, 0, width);
    }
    heading(b, t, "Options");
    options(b, v, width);
    examples(b, t, v->examples, v->n_examples, width);
    if (v->n_opts > 0)
        exit_codes(b, t, v, width);
}

void sl_cli_usage(const struct cli_program *p, const struct cli_verb *verb) {
    struct sl_buf b;
    sl_buf_init(&b, TEXT_MAX);
    synopsis(&b, "usage: ", p, verb);
    options(&b, verb, 96);
    (void)fwrite(sl_buf_str(&b), 1, b.len, stderr);
    sl_buf_done(&b);
}

void sl_cli_help(const struct cli_program *p, const struct cli_verb *verb, struct cli_term *t) {
    unsigned width = t->width && t->width < 100 ? t->width : 96;
    struct sl_buf b;
    sl_buf_init(&b, TEXT_MAX);
    if (verb && verb != &cli_verb_help)
        verb_help(p, verb, t, &b, width);
    else
        program_help(p, t, &b, width);
    (void)fwrite(sl_buf_str(&b), 1, b.len, t->out); /* judged at the end of the program */
    sl_buf_done(&b);
}

static int run_help(const struct cli_args *a, struct sl_err *err) {
    const struct cli_verb *verb = NULL;
    if (a->n > 0) {
        verb = sl_cli_verb(a->program, a->v[0]);
        if (!verb) {
            (void)sl_err_set(err, SL_EINVAL, "unknown command '%.60s'", a->v[0]);
            fprintf(a->term->err, "%s: %s\n", a->program->name, err->text);
            return SL_EXIT_USAGE;
        }
    }
    sl_cli_help(a->program, verb, a->term);
    return SL_EXIT_OK;
}

static int run_version(const struct cli_args *a, struct sl_err *err) {
    (void)err;
    fprintf(a->term->out, "%s %s\n", a->program->name, a->program->version);
    return SL_EXIT_OK;
}

const struct cli_verb cli_verb_help = {
    .name = "help",
    .summary = "print help for the program or a command",
    .synopsis = "[COMMAND]",
    .max_args = 1,
    .arg = "COMMAND",
    .arg_is_verb = true,
    .run = run_help,
};

const struct cli_verb cli_verb_version = {
    .name = "version",
    .summary = "print the version",
    .synopsis = "",
    .arg = "",
    .run = run_version,
};
