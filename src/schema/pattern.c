#include "schema/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "base/mem.h"

/* Steps, depth and memory (KiB) of one match. Go's matching is linear in the text, so what it can
 * match in time is far below these. */
#define MATCH_LIMIT 1000000u
#define DEPTH_LIMIT 10000u
#define HEAP_LIMIT 4096u

struct sl_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

int sl_pattern_new(const char *text, struct sl_pattern **ret, struct sl_err *err) {
    size_t len = strlen(text), at;
    unsigned char words[120];
    int fault;

    if (len > SL_PATTERN_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "more than %u bytes", SL_PATTERN_MAX_BYTES);
    /* '$' is the end of the text and not of its last line. */
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, len,
                                     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                                     &fault, &at, NULL);
    if (!code) {
        pcre2_get_error_message(fault, words, sizeof(words));
        return sl_err_set(err, SL_EINVAL, "error parsing regexp: %s at byte %zu", (char *)words,
                          at);
    }
    struct sl_pattern *p = sl_alloc0(1, sizeof(*p));
    p->code = code;
    p->limits = pcre2_match_context_create(NULL);
    sl_assert(p->limits);
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT);
    *ret = p;
    return 0;
}

void sl_pattern_free(struct sl_pattern *p) {
    if (!p)
        return;
    pcre2_match_context_free(p->limits);
    pcre2_code_free(p->code);
    sl_freep(&p);
}

bool sl_pattern_matches(const struct sl_pattern *p, const char *s, size_t len) {
    pcre2_match_data *where = pcre2_match_data_create(1, NULL);

    sl_assert(where);
    int r = pcre2_match(p->code, (PCRE2_SPTR)s, len, 0, 0, where, p->limits);
    pcre2_match_data_free(where);
    return r >= 0;
}
