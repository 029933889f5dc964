/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pattern/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/mem.h"
#include "lib/pattern/python.h"

/* Depth and memory (KiB) of one match. Go's matching is linear in the text, so what it can match in
 * time is far below these. */
#define DEPTH_LIMIT 10000u
#define HEAP_LIMIT 4096u
/* Steps that are free: of a match that begins in one place, by the length of the text; of one that
 * may begin anywhere, in each place. */
#define STEPS_PER_BYTE 8u
#define STEPS_PER_PLACE 16u
#define STEPS_ALWAYS 256u
/* Bytes that one of Python's becomes at most: "\x{7f}". */
#define PYTHON_GROWS 8u

struct sl_pattern {
    pcre2_code *code;
    pcre2_general_context *memory; /* NULL: the heap */
    pcre2_match_context *limits;
    bool anchored;
};

static void *arena_alloc(size_t bytes, void *arena) {
    return sl_arena_alloc(arena, bytes);
}

static void arena_free(void *p, void *arena) { /* the arena goes as a whole */
    (void)p, (void)arena;
}

/* What differs between the languages. */
struct syntax {
    uint32_t options;
    bool shows_place; /* the text is the user's, so that a place in it means something to him */
};

/* '$' is the end of the text and not of its last line. */
static const struct syntax go = {PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, true};

static int refuse(int fault, size_t at, bool shows_place, struct sl_err *err) {
    unsigned char message[120];

    pcre2_get_error_message(fault, message, sizeof(message));
    return shows_place ? sl_err_set(err, SL_EINVAL, "error parsing regexp: %s at byte %zu",
                                    (char *)message, at)
                       : sl_err_set(err, SL_EINVAL, "error parsing regexp: %s", (char *)message);
}

static int compile(struct sl_arena *a, struct sl_text text, const struct syntax *syntax,
                   struct sl_pattern *p, struct sl_err *err) {
    pcre2_compile_context *how;
    uint32_t options = 0;
    size_t at;
    int fault;

    if (text.n > SL_PATTERN_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "more than %u bytes", SL_PATTERN_MAX_BYTES);
    p->memory = a ? pcre2_general_context_create(arena_alloc, arena_free, a) : NULL;
    how = pcre2_compile_context_create(p->memory);
    sl_assert(how && (p->memory || !a));
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile((PCRE2_SPTR)text.s, text.n, syntax->options, &fault, &at, how);
    pcre2_compile_context_free(how);
    if (!p->code)
        return refuse(fault, at, syntax->shows_place, err);
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_ALLOPTIONS, &options);
    p->anchored = options & PCRE2_ANCHORED;
    p->limits = pcre2_match_context_create(p->memory);
    sl_assert(p->limits);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT);
    return 0;
}

static struct sl_pattern *on_heap(struct sl_pattern p) {
    struct sl_pattern *made = sl_alloc0(1, sizeof(*made));

    *made = p;
    return made;
}

int sl_pattern_new(const char *text, struct sl_pattern **ret, struct sl_err *err) {
    struct sl_pattern p = {0};
    int r = compile(NULL, sl_text_of(text), &go, &p, err);

    if (r < 0)
        return r;
    *ret = on_heap(p);
    return 0;
}

int sl_pattern_new_in(struct sl_arena *a, const char *text, const struct sl_pattern **ret,
                      struct sl_err *err) {
    struct sl_pattern *p = sl_arena_alloc0(a, 1, sizeof(*p));

    *ret = p;
    return compile(a, sl_text_of(text), &go, p, err);
}

static uint32_t options_of(unsigned flags) {
    /* '^' of several lines also stands behind a last newline. */
    return PCRE2_UTF | PCRE2_ALT_CIRCUMFLEX | (flags & PATTERN_ASCII ? 0 : PCRE2_UCP) |
           (flags & PATTERN_CASELESS ? PCRE2_CASELESS : 0) |
           (flags & PATTERN_MULTILINE ? PCRE2_MULTILINE : 0) |
           (flags & PATTERN_DOTALL ? PCRE2_DOTALL : 0);
}

int sl_pattern_new_python(struct sl_text text, struct sl_pattern **ret, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf translated = SL_BUF(PYTHON_GROWS * SL_PATTERN_MAX_PYTHON);
    struct sl_pattern p = {0};
    unsigned flags;
    int r;

    if (text.n > SL_PATTERN_MAX_PYTHON)
        return sl_err_set(err, SL_ELIMIT, "more than %u bytes", SL_PATTERN_MAX_PYTHON);
    r = pattern_from_python(text, &translated, &flags, err);
    sl_assert(!sl_buf_full(&translated));
    if (r >= 0)
        r = compile(NULL, (struct sl_text){sl_buf_str(&translated), translated.len},
                    &(struct syntax){.options = options_of(flags)}, &p, err);
    if (r < 0)
        return r;
    *ret = on_heap(p);
    return 0;
}

void sl_pattern_free(struct sl_pattern *p) {
    if (!p)
        return;
    pcre2_match_context_free(p->limits);
    pcre2_code_free(p->code);
    sl_freep(&p);
}

/* ---- matching ---- */

struct match {
    const struct sl_pattern *p;
    const char *s;
    size_t len;
    pcre2_match_data *where;
    uint64_t *budget;
};

static int once(struct match *m, size_t from, uint32_t options, uint64_t steps) {
    pcre2_set_match_limit(m->p->limits, (uint32_t)steps);
    return pcre2_match(m->p->code, (PCRE2_SPTR)m->s, m->len, from, options, m->where, m->p->limits);
}

/* The number of steps of a match is not reported, only that the limit was exceeded: so it is tried
 * with growing limits, and failed attempts are charged. */
static int match_charged(struct match *m, size_t from, uint32_t options, uint64_t steps) {
    int r = PCRE2_ERROR_MATCHLIMIT;

    while (r == PCRE2_ERROR_MATCHLIMIT && *m->budget > 0) {
        steps = steps < *m->budget ? steps : *m->budget;
        r = once(m, from, options, steps);
        if (r == PCRE2_ERROR_MATCHLIMIT)
            *m->budget -= steps;
        steps *= 4;
    }
    return r;
}

/* The limit holds for each place that a match may begin in, so each is tried by itself. */
static int at_each_place(struct match *m, size_t begin) {
    uint32_t options = PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK;
    int r = PCRE2_ERROR_NOMATCH;

    for (size_t from = begin; from <= m->len && r == PCRE2_ERROR_NOMATCH; from++) {
        if (from < m->len && (m->s[from] & 0xc0) == 0x80) /* within a letter */
            continue;
        *m->budget -= *m->budget > 0;
        r = *m->budget ? match_charged(m, from, options, STEPS_PER_PLACE) : PCRE2_ERROR_MATCHLIMIT;
    }
    return r;
}

bool sl_pattern_find(const struct sl_pattern *p, const char *s, size_t len, size_t from,
                     size_t *ret_from, size_t *ret_to, uint64_t *budget) {
    struct match m = {.p = p, .s = s, .len = len, .budget = budget};
    int r;

    if (!*budget)
        return false;
    m.where = pcre2_match_data_create(1, NULL);
    sl_assert(m.where);
    r = once(&m, from, 0, p->anchored ? STEPS_PER_BYTE * len + STEPS_ALWAYS : STEPS_PER_PLACE);
    if (r == PCRE2_ERROR_MATCHLIMIT)
        r = p->anchored ? match_charged(&m, from, PCRE2_NO_UTF_CHECK,
                                        4 * (STEPS_PER_BYTE * len + STEPS_ALWAYS))
                        : at_each_place(&m, from);
    if (r >= 0) {
        *ret_from = pcre2_get_ovector_pointer(m.where)[0];
        *ret_to = pcre2_get_ovector_pointer(m.where)[1];
    }
    pcre2_match_data_free(m.where);
    return r >= 0;
}

bool sl_pattern_matches(const struct sl_pattern *p, const char *s, size_t len, uint64_t *budget) {
    size_t from, to;
    return sl_pattern_find(p, s, len, 0, &from, &to, budget);
}
