/*
 * Help that teaches: what it does, how to call it, worked examples, and what the exit codes mean.
 */
#include <string.h>

#include "cli/cli.h"

#define TEXT_MAX ((size_t)1 << 20)

static void title(struct sl_buf *b, const char *program, const char *what, const char *summary,
                  unsigned width) {
    char line[200];
    (void)snprintf(line, sizeof(line), "%s %s: %s", program, what, summary);
    sl_term_wrap(b, line, 0, width);
}

static void heading(struct sl_buf *b, const struct sl_term *t, const char *words) {
    sl_buf_printf(b, "\n%s%s%s\n", sl_term_style(t, SL_STYLE_BOLD), words,
                  sl_term_style(t, SL_STYLE_NONE));
}

/* "  left    words that may take several lines" */
static void entry(struct sl_buf *b, const char *left, const char *words, unsigned column,
                  unsigned width) {
    struct sl_buf text;
    sl_buf_init(&text, TEXT_MAX);
    sl_term_wrap(&text, words, column, width);
    unsigned w = sl_text_width(left);
    if (w + 2 < column) /* the first line starts beside it */
        sl_buf_printf(b, "  %s%*s%s", left, (int)(column - 2 - w), "", sl_buf_str(&text) + column);
    else
        sl_buf_printf(b, "  %s\n%s", left, sl_buf_str(&text));
    sl_buf_done(&text);
}

static void examples(struct sl_buf *b, const struct sl_term *t, const struct sl_example *v,
                     uint32_t n, unsigned width) {
    if (n == 0)
        return;
    heading(b, t, "Examples");
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_printf(b, "  %s%s%s\n", sl_term_style(t, SL_STYLE_GOOD), v[i].line,
                      sl_term_style(t, SL_STYLE_NONE));
        sl_term_wrap(b, v[i].what, 6, width);
    }
}

static void exit_codes(struct sl_buf *b, const struct sl_term *t, unsigned width) {
    heading(b, t, "Exit codes");
    entry(b, "0", "it worked", 5, width);
    entry(b, "1",
          "it ran, and the result is not the expected one (a story failed, a replay "
          "ended in another digest)",
          5, width);
    entry(b, "2", "the command line is wrong", 5, width);
    entry(b, "3",
          "an input file is wrong or missing; the message says file, line and what was "
          "expected",
          5, width);
    entry(b, "4", "reading or writing failed", 5, width);
}

static void program_help(const struct sl_program *p, const struct sl_term *t, struct sl_buf *b,
                         unsigned width) {
    title(b, p->name, p->version, p->summary, width);
    heading(b, t, "Usage");
    sl_buf_printf(b, "  %s VERB [options] [arguments]\n", p->name);
    heading(b, t, "Verbs");
    for (uint32_t i = 0; i < p->n_verbs; i++)
        entry(b, p->verbs[i]->name, p->verbs[i]->summary, 15, width);
    examples(b, t, p->examples, p->n_examples, width);
    exit_codes(b, t, width);
    sl_buf_printf(b, "\n'%s VERB --help' explains a verb.\n", p->name);
}

static void verb_help(const struct sl_program *p, const struct sl_verb *v, const struct sl_term *t,
                      struct sl_buf *b, unsigned width) {
    title(b, p->name, v->name, v->summary, width);
    heading(b, t, "Usage");
    const char *line = v->synopsis;
    do { /* one line for each way to call it */
        size_t n = strcspn(line, "\n");
        sl_buf_printf(b, "  %s %s%s%.*s\n", p->name, v->name, n ? " " : "", (int)n, line);
        line += n + (line[n] == '\n');
    } while (*line);
    if (v->about) {
        sl_buf_putc(b, '\n');
        sl_term_wrap(b, v->about, 0, width);
    }
    heading(b, t, "Options");
    unsigned column = 12;
    for (uint32_t i = 0; i < v->n_opts; i++) {
        unsigned w = sl_text_width(v->opts[i].name) + 6;
        w += v->opts[i].kind == SL_OPT_FLAG ? 0 : sl_text_width(v->opts[i].value) + 1;
        if (w > column && w <= 26)
            column = w;
    }
    for (uint32_t i = 0; i < v->n_opts; i++) {
        const struct sl_opt *o = &v->opts[i];
        char left[80];
        (void)snprintf(left, sizeof(left), "--%s%s%s", o->name, o->kind == SL_OPT_FLAG ? "" : "=",
                       o->kind == SL_OPT_FLAG ? "" : o->value);
        entry(b, left, o->help, column, width);
    }
    entry(b, "--help", "print this and end", column, width);
    examples(b, t, v->examples, v->n_examples, width);
    if (v->n_opts > 0)
        exit_codes(b, t, width);
}

void sl_cli_help(const struct sl_program *p, const struct sl_verb *verb, struct sl_term *t) {
    unsigned width = t->width && t->width < 100 ? t->width : 96;
    struct sl_buf b;
    sl_buf_init(&b, TEXT_MAX);
    if (verb && verb != &sl_verb_help)
        verb_help(p, verb, t, &b, width);
    else
        program_help(p, t, &b, width);
    (void)fwrite(sl_buf_str(&b), 1, b.len, t->out); /* judged at the end of the program */
    sl_buf_done(&b);
}

static int run_help(const struct sl_args *a, struct sl_err *err) {
    const struct sl_verb *verb = NULL;
    if (a->n > 0) {
        verb = sl_cli_verb(a->program, a->v[0]);
        if (!verb) {
            (void)sl_err_set(err, SL_EINVAL, "there is no verb '%.60s'", a->v[0]);
            fprintf(a->term->err, "%s: %s\n", a->program->name, err->text);
            return SL_EXIT_USAGE;
        }
    }
    sl_cli_help(a->program, verb, a->term);
    return SL_EXIT_OK;
}

static int run_version(const struct sl_args *a, struct sl_err *err) {
    (void)err;
    fprintf(a->term->out, "%s %s\n", a->program->name, a->program->version);
    return SL_EXIT_OK;
}

const struct sl_verb sl_verb_help = {
    .name = "help",
    .summary = "explain the program or a verb",
    .synopsis = "[VERB]",
    .max_args = 1,
    .arg = "VERB",
    .arg_is_verb = true,
    .run = run_help,
};

const struct sl_verb sl_verb_version = {
    .name = "version",
    .summary = "print the version",
    .synopsis = "",
    .arg = "",
    .run = run_version,
};
