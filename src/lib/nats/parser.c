/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/parser.h"

#include <strings.h>

#include "lib/nats/port.h"

void natsc_parser_init(struct natsc_parser *w) {
    *w = (struct natsc_parser){
        .line = SL_BUF(NATSC_MAX_LINE),
        .body = SL_BUF(SL_NATS_MAX_MESSAGE + 2),
    };
}

void natsc_parser_done(struct natsc_parser *w) {
    sl_buf_done(&w->line);
    sl_buf_done(&w->body);
}

/* ---- words of a line ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct sl_text next_word(struct sl_text *line) {
    while (line->n > 0 && is_blank(line->s[0]))
        *line = (struct sl_text){line->s + 1, line->n - 1};
    struct sl_text word = {line->s, 0};
    while (word.n < line->n && !is_blank(word.s[word.n]))
        word.n++;
    *line = (struct sl_text){line->s + word.n, line->n - word.n};
    return word;
}

static struct sl_text trim(struct sl_text t) {
    while (t.n > 0 && is_blank(t.s[0]))
        t = (struct sl_text){t.s + 1, t.n - 1};
    while (t.n > 0 && is_blank(t.s[t.n - 1]))
        t.n--;
    return t;
}

static bool read_number(struct sl_text t, uint64_t max, uint64_t *ret) {
    uint64_t v = 0;

    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(t.s[i] - '0');
        if (v > max)
            return false;
    }
    *ret = v;
    return t.n > 0;
}

/* ---- operations ---- */

/* MSG <subject> <sid> [reply-to] <#bytes> */
static bool read_msg(struct natsc_parser *w, struct sl_text line) {
    struct sl_text words[5];
    size_t n = 0;
    uint64_t len = 0;

    while (n < SL_LEN(words) && (words[n] = next_word(&line)).n > 0)
        n++;
    w->msg = (struct natsc_frame){.op = NATSC_MSG, .subject = words[0]};
    if ((n != 3 && n != 4) || sl_text_has_nul(words[0]) ||
        !read_number(words[1], UINT32_MAX, &w->msg.sid) ||
        !read_number(words[n - 1], NATSC_MAX_LENGTH, &len))
        return false;
    w->msg.len = (size_t)len;
    w->left = w->msg.len + 2;
    w->in_body = true;
    return true;
}

static const struct {
    const char *word;
    enum natsc_op op;
} ops[] = {
    {"MSG", NATSC_MSG},   {"PING", NATSC_PING}, {"PONG", NATSC_PONG},
    {"INFO", NATSC_INFO}, {"+OK", NATSC_OK},    {"-ERR", NATSC_ERR},
};

static bool find_op(struct sl_text word, enum natsc_op *ret) {
    for (size_t i = 0; i < SL_LEN(ops); i++) {
        if (word.n != strlen(ops[i].word) || strncasecmp(word.s, ops[i].word, word.n) != 0)
            continue;
        *ret = ops[i].op;
        return true;
    }
    return false;
}

static struct sl_text unquote(struct sl_text t) {
    if (t.n >= 2 && t.s[0] == '\'' && t.s[t.n - 1] == '\'')
        return (struct sl_text){t.s + 1, t.n - 2};
    return t;
}

/* 1: an operation; 0: one that continues; less: none. */
static int read_line(struct natsc_parser *w, struct natsc_frame *ret, struct sl_err *err) {
    struct sl_text line = {sl_buf_str(&w->line), w->line.len};
    enum natsc_op op;

    if (line.n > 0 && line.s[line.n - 1] == '\r')
        line.n--;
    if (!find_op(next_word(&line), &op))
        return sl_err_set(err, SL_EINVAL, "this is no NATS server: an unknown operation");
    if (op == NATSC_MSG)
        return read_msg(w, line)
                   ? 0
                   : sl_err_set(err, SL_EINVAL, "this is no NATS server: a malformed message");
    *ret = (struct natsc_frame){.op = op, .text = trim(line)};
    if (op == NATSC_ERR)
        ret->text = unquote(ret->text);
    return 1;
}

/* ---- bytes ---- */

static void take(struct sl_text *in, size_t n) {
    *in = (struct sl_text){in->s + n, in->n - n};
}

static int take_line(struct natsc_parser *w, struct sl_text *in, struct natsc_frame *ret,
                     struct sl_err *err) {
    const char *end = in->n ? memchr(in->s, '\n', in->n) : NULL;
    size_t n = end ? (size_t)(end - in->s) : in->n;

    if (n > NATSC_MAX_LINE - w->line.len)
        return sl_err_set(err, SL_ELIMIT, "this is no NATS server: a line of more than %zu bytes",
                          NATSC_MAX_LINE);
    sl_buf_add(&w->line, in->s, n);
    take(in, end ? n + 1 : n);
    if (!end)
        return 0;
    w->complete = true;
    return read_line(w, ret, err);
}

static int take_body(struct natsc_parser *w, struct sl_text *in, struct natsc_frame *ret,
                     struct sl_err *err) {
    size_t n = in->n < w->left ? in->n : w->left;
    bool kept = w->msg.len <= SL_NATS_MAX_MESSAGE;

    if (kept)
        sl_buf_add(&w->body, in->s, n);
    take(in, n);
    w->left -= n;
    if (w->left > 0)
        return 0;
    w->in_body = false;
    if (kept && memcmp(w->body.s + w->msg.len, "\r\n", 2) != 0)
        return sl_err_set(err, SL_EINVAL, "this is no NATS server: a message without its end");
    *ret = w->msg;
    ret->data = kept ? w->body.s : NULL;
    return 1;
}

int natsc_parser_read(struct natsc_parser *w, struct sl_text *in, struct natsc_frame *ret,
                      struct sl_err *err) {
    int r = 0;

    while (r == 0 && in->n > 0) {
        if (!w->in_body && w->complete) {
            sl_buf_clear(&w->line);
            sl_buf_clear(&w->body);
            w->complete = false;
        }
        r = w->in_body ? take_body(w, in, ret, err) : take_line(w, in, ret, err);
    }
    return r;
}
