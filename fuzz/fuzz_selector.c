/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selector texts: whatever is taken must match or not match without harm, stay under the ceilings,
 * and give the same answer when read again. The input up to the first newline is the selector, the
 * rest are labels, "key=value" a line.
 */
#include "core/model/labels.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data, *end = text + size;
    const char *newline = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t len = newline ? (size_t)(newline - text) : size;
    struct sl_label labels[16];
    struct sl_labels have = {labels, 0};
    struct sl_selector first, second;
    struct sl_arena a;
    struct sl_err err;

    sl_arena_init(&a, 64u << 20);
    for (const char *p = newline; p && ++p < end && have.n < SL_LEN(labels);) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        char *line = sl_arena_strndup(&a, p, (size_t)((stop ? stop : end) - p));
        char *eq = strchr(line, '=');
        if (eq)
            *eq = '\0';
        labels[have.n++] = (struct sl_label){line, eq ? eq + 1 : ""};
        p = stop;
    }
    int r = sl_selector_parse(text, len, &a, &first, &err);
    if (r < 0) {
        sl_assert(err.code == r && err.text[0]);
    } else {
        sl_assert(first.n <= SL_SELECTOR_MAX_RULES);
        r = sl_selector_parse(text, len, &a, &second, &err);
        sl_assert(r == 0 && second.n == first.n);
        sl_assert(sl_selector_matches(&first, &have) == sl_selector_matches(&second, &have));
    }
    sl_arena_done(&a);
    return 0;
}
