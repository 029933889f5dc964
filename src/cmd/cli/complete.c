/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion scripts for bash, zsh and fish, written from the tables of the program. Names in the
 * tables are plain words; help texts are quoted for the shell that will read them.
 */
#include <string.h>

#include "cmd/cli/cli.h"

#define SCRIPT_MAX ((size_t)1 << 20)

/* Does it have values to offer? */
static bool offers(const struct cli_opt *o) {
    return o->kind == SL_OPT_CHOICE || o->kind == SL_OPT_HINT;
}

/* ---- bash ---- */

static void bash_list(struct sl_buf *b, const char *const *words) {
    for (uint32_t i = 0; words[i]; i++)
        sl_buf_printf(b, "%s%s", i ? " " : "", words[i]);
}

static void bash_verbs(struct sl_buf *b, const struct cli_program *p) {
    for (uint32_t i = 0; i < p->n_verbs; i++)
        sl_buf_printf(b, "%s%s", i ? " " : "", p->verbs[i]->name);
}

static void bash_verb(struct sl_buf *b, const struct cli_program *p, const struct cli_verb *v) {
    sl_buf_printf(b, "    %s)\n        case $prev in\n", v->name);
    for (uint32_t i = 0; i < v->n_opts; i++) {
        const struct cli_opt *o = &v->opts[i];
        if (o->kind == SL_OPT_FLAG)
            continue;
        sl_buf_puts(b, "        ");
        if (o->letter)
            sl_buf_printf(b, "-%c|", o->letter);
        sl_buf_printf(b, "--%s) ", o->name);
        if (o->kind == SL_OPT_FILE) {
            sl_buf_puts(b, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
        } else if (offers(o)) {
            sl_buf_puts(b, "COMPREPLY=($(compgen -W '");
            bash_list(b, o->choices);
            sl_buf_puts(b, "' -- \"$cur\")); ");
        }
        sl_buf_puts(b, "return ;;\n");
    }
    sl_buf_puts(b, "        esac\n        if [[ $cur == -* ]]; then\n"
                   "            COMPREPLY=($(compgen -W '--help -h");
    for (uint32_t i = 0; i < v->n_opts; i++) {
        sl_buf_printf(b, " --%s", v->opts[i].name);
        if (v->opts[i].letter)
            sl_buf_printf(b, " -%c", v->opts[i].letter);
    }
    sl_buf_puts(b, "' -- \"$cur\"))\n");
    if (v->args || v->arg_is_verb) {
        sl_buf_puts(b, "        else\n            COMPREPLY=($(compgen -W '");
        if (v->args)
            bash_list(b, v->args);
        else
            bash_verbs(b, p);
        sl_buf_puts(b, "' -- \"$cur\"))\n");
    } else if (v->max_args > 0) {
        sl_buf_puts(b, "        else\n            COMPREPLY=($(compgen -f -- \"$cur\"))\n");
    }
    sl_buf_puts(b, "        fi ;;\n");
}

static void bash(struct sl_buf *b, const struct cli_program *p) {
    sl_buf_printf(b, "# bash completion for %s: eval \"$(%s completion bash)\"\n", p->name,
                  p->name);
    sl_buf_printf(b, "_%s() {\n", p->name);
    sl_buf_puts(b, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                   "    COMPREPLY=()\n"
                   "    # \"--option=value\" arrives as three words\n"
                   "    if [[ $cur == = ]]; then cur=; fi\n"
                   "    if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                   "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '");
    bash_verbs(b, p);
    sl_buf_puts(b, "' -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (uint32_t i = 0; i < p->n_verbs; i++)
        bash_verb(b, p, p->verbs[i]);
    sl_buf_printf(b, "    esac\n}\ncomplete -o filenames -F _%s %s\n", p->name, p->name);
}

/* ---- zsh ---- */

/* Inside single quotes, and inside the brackets and colons of _arguments. */
static void zsh_text(struct sl_buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '\'')
            sl_buf_puts(b, "'\\''");
        else if (strchr("[]:\\", *s))
            sl_buf_printf(b, "\\%c", *s);
        else
            sl_buf_putc(b, *s);
    }
}

static void zsh_verb(struct sl_buf *b, const struct cli_program *p, const struct cli_verb *v) {
    sl_buf_printf(b,
                  "        %s)\n            _arguments \\\n                "
                  "'(-h --help)'{-h,--help}'[print help]'",
                  v->name);
    for (uint32_t i = 0; i < v->n_opts; i++) {
        const struct cli_opt *o = &v->opts[i];
        bool flag = o->kind == SL_OPT_FLAG;
        sl_buf_puts(b, " \\\n                ");
        if (o->letter)
            sl_buf_printf(b, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter,
                          flag ? "" : "+", o->name, flag ? "" : "=");
        else
            sl_buf_printf(b, "'--%s%s[", o->name, flag ? "" : "=");
        zsh_text(b, o->help);
        sl_buf_puts(b, "]");
        if (o->kind == SL_OPT_FILE) {
            sl_buf_puts(b, ":file:_files");
        } else if (offers(o)) {
            sl_buf_printf(b, ":%s:(", o->value);
            bash_list(b, o->choices);
            sl_buf_puts(b, ")");
        } else if (!flag) { /* a value of any form */
            sl_buf_putc(b, ':');
            zsh_text(b, o->value);
            sl_buf_puts(b, ": ");
        }
        sl_buf_puts(b, "'");
    }
    if (v->args) {
        sl_buf_printf(b, " \\\n                '1:%s:(", v->arg);
        bash_list(b, v->args);
        sl_buf_puts(b, ")'");
    } else if (v->arg_is_verb) {
        sl_buf_printf(b, " \\\n                '1:%s:(", v->arg);
        bash_verbs(b, p);
        sl_buf_puts(b, ")'");
    } else if (v->max_args > 0) {
        sl_buf_puts(b, " \\\n                '*:file:_files'");
    }
    sl_buf_puts(b, "\n            ;;\n");
}

static void zsh(struct sl_buf *b, const struct cli_program *p) {
    sl_buf_printf(b, "#compdef %s\n# zsh completion for %s: source <(%s completion zsh)\n", p->name,
                  p->name, p->name);
    sl_buf_printf(b, "_%s() {\n    local -a verbs\n    verbs=(\n", p->name);
    for (uint32_t i = 0; i < p->n_verbs; i++) {
        sl_buf_printf(b, "        '%s:", p->verbs[i]->name);
        zsh_text(b, p->verbs[i]->summary);
        sl_buf_puts(b, "'\n");
    }
    sl_buf_puts(b, "    )\n    local context state line\n"
                   "    _arguments -C '1: :->verb' '*:: :->rest'\n    case $state in\n"
                   "    verb) _describe verb verbs ;;\n    rest)\n        case $line[1] in\n");
    for (uint32_t i = 0; i < p->n_verbs; i++)
        zsh_verb(b, p, p->verbs[i]);
    sl_buf_printf(b,
                  "        esac ;;\n    esac\n}\n"
                  "if [ \"$funcstack[1]\" = _%s ]; then _%s \"$@\"; else compdef _%s %s; fi\n",
                  p->name, p->name, p->name, p->name);
}

/* ---- fish ---- */

static void fish_text(struct sl_buf *b, const char *s) {
    sl_buf_putc(b, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            sl_buf_putc(b, '\\');
        sl_buf_putc(b, *s);
    }
    sl_buf_putc(b, '\'');
}

static void fish_script(struct sl_buf *b, const struct cli_program *p) {
    sl_buf_printf(b, "# fish completion for %s: %s completion fish | source\n", p->name, p->name);
    sl_buf_printf(b, "complete -c %s -f\n", p->name);
    for (uint32_t i = 0; i < p->n_verbs; i++) {
        const struct cli_verb *v = p->verbs[i];
        sl_buf_printf(b, "complete -c %s -n __fish_use_subcommand -a %s -d ", p->name, v->name);
        fish_text(b, v->summary);
        sl_buf_putc(b, '\n');
        const char *seen = "__fish_seen_subcommand_from";
        sl_buf_printf(b, "complete -c %s -n '%s %s' -l help -s h -d 'print help'\n", p->name, seen,
                      v->name);
        for (uint32_t k = 0; k < v->n_opts; k++) {
            const struct cli_opt *o = &v->opts[k];
            sl_buf_printf(b, "complete -c %s -n '%s %s' -l %s", p->name, seen, v->name, o->name);
            if (o->letter)
                sl_buf_printf(b, " -s %c", o->letter);
            if (o->kind == SL_OPT_FILE) {
                sl_buf_puts(b, " -r -F");
            } else if (offers(o)) {
                sl_buf_puts(b, " -x -a '");
                bash_list(b, o->choices);
                sl_buf_puts(b, "'");
            } else if (o->kind != SL_OPT_FLAG) {
                sl_buf_puts(b, " -x");
            }
            sl_buf_puts(b, " -d ");
            fish_text(b, o->help);
            sl_buf_putc(b, '\n');
        }
        if (v->args || v->arg_is_verb) {
            sl_buf_printf(b, "complete -c %s -n '%s %s' -a '", p->name, seen, v->name);
            if (v->args)
                bash_list(b, v->args);
            else
                bash_verbs(b, p);
            sl_buf_puts(b, "'\n");
        } else if (v->max_args > 0) {
            sl_buf_printf(b, "complete -c %s -n '%s %s' -F\n", p->name, seen, v->name);
        }
    }
}

/* ---- the verb ---- */

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int run_completion(const struct cli_args *a, struct sl_err *err) {
    static void (*const writers[])(struct sl_buf *, const struct cli_program *) = {bash, zsh,
                                                                                   fish_script};
    for (uint32_t i = 0; shells[i]; i++) {
        if (strcmp(shells[i], a->v[0]) != 0)
            continue;
        struct sl_buf b;
        sl_buf_init(&b, SCRIPT_MAX);
        writers[i](&b, a->program);
        (void)fwrite(sl_buf_str(&b), 1, b.len, a->term->out); /* judged at the end */
        sl_buf_done(&b);
        return SL_EXIT_OK;
    }
    (void)sl_err_set(err, SL_EINVAL, "expected bash, zsh or fish, found '%.40s'", a->v[0]);
    fprintf(a->term->err, "%s: %s\n", a->program->name, err->text);
    return SL_EXIT_USAGE;
}

static const struct cli_example completion_examples[] = {
    {"eval \"$(sluice completion bash)\"",
     "enable in this bash; add it to ~/.bashrc to make it permanent"},
    {"sluice completion zsh > \"${fpath[1]}/_sluice\"", "install for zsh"},
    {"sluice completion fish > ~/.config/fish/completions/sluice.fish", "install for fish"},
};

const struct cli_verb cli_verb_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .synopsis = "bash|zsh|fish",
    .examples = completion_examples,
    .n_examples = SL_LEN(completion_examples),
    .min_args = 1,
    .max_args = 1,
    .arg = "SHELL",
    .args = shells,
    .run = run_completion,
};
