/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the terminal. Read once at the start; a resize during a run is not followed.
 */
#include "cmd/cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A locale that is set and is not UTF-8 is honoured. No locale at all is the state of most
 * containers, whose terminals are UTF-8 nevertheless. */
static bool locale_is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < SL_LEN(names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return true;
}

static unsigned columns_from_env(void) {
    const char *v = getenv("COLUMNS");
    if (!v || !*v)
        return 0;
    char *end;
    unsigned long n = strtoul(v, &end, 10);
    return *end == '\0' && n >= 20 && n <= 1000 ? (unsigned)n : 0;
}

void cli_term_init(struct cli_term *t, FILE *out, FILE *err) {
    *t = (struct cli_term){.out = out, .err = err};
    t->out_tty = isatty(fileno(out)) == 1;
    t->err_tty = isatty(fileno(err)) == 1;
    t->utf8 = locale_is_utf8();
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    t->color = t->out_tty && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    t->width = columns_from_env();
    struct winsize w;
    if (t->width == 0 && t->out_tty && ioctl(fileno(out), TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
        t->width = w.ws_col;
    if (t->width == 0 && t->out_tty)
        t->width = 80;
}

const char *cli_term_style(const struct cli_term *t, enum cli_style s) {
    static const char *const escapes[] = {
        [SL_STYLE_NONE] = "\033[0m",  [SL_STYLE_BOLD] = "\033[1m", [SL_STYLE_DIM] = "\033[2m",
        [SL_STYLE_GOOD] = "\033[32m", [SL_STYLE_BAD] = "\033[31m",
    };
    return t->color ? escapes[s] : "";
}

/* Of those beyond ASCII, U+0080 to U+009F are control characters, too. */
void cli_text_clean(char *s) {
    for (; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            *s = '?';
        else if ((unsigned char)*s == 0xc2 && (unsigned char)s[1] >= 0x80 &&
                 (unsigned char)s[1] < 0xa0)
            s[0] = s[1] = '?';
    }
}

unsigned cli_text_width(const char *s) {
    unsigned n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void cli_term_wrap(struct sl_buf *b, const char *text, unsigned indent, unsigned width) {
    unsigned limit = width > indent + 20 ? width : indent + 60;
    unsigned at = 0; /* columns used on this line; 0: nothing written yet */
    while (*text) {
        if (*text == '\n') {
            sl_buf_putc(b, '\n');
            at = 0;
            text++;
            continue;
        }
        if (*text == ' ' && at > 0) {
            text++;
            continue;
        }
        size_t n = at == 0 ? strspn(text, " ") : 0; /* the line's own indent stays */
        n += strcspn(text + n, " \n");
        char word[256];
        size_t kept = n < sizeof(word) ? n : sizeof(word) - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        unsigned w = cli_text_width(word);
        if (at > 0 && at + 1 + w > limit) {
            sl_buf_putc(b, '\n');
            at = 0;
        }
        if (at == 0) {
            sl_buf_printf(b, "%*s", (int)indent, "");
            at = indent;
        } else {
            sl_buf_putc(b, ' ');
            at++;
        }
        sl_buf_add(b, text, n);
        at += w;
        text += n;
    }
    sl_buf_putc(b, '\n');
}
