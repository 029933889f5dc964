/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines ["pattern", "text"] in; out comes, a line each, whether the pattern is found in the text:
 * true, false, "limit" if its budget is spent, or the error as a string.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/pattern/pattern.h"

static void answer(struct sl_text pattern, struct sl_text text, struct sl_jw *w) {
    uint64_t budget = SL_PATTERN_BUDGET;
    struct sl_pattern *p = NULL;
    struct sl_err err;

    if (sl_pattern_new_python(pattern, &p, &err) < 0) {
        sl_jw_str(w, NULL, err.text);
        return;
    }
    bool found = sl_pattern_matches(p, text.s, text.n, &budget);
    if (budget)
        sl_jw_bool(w, NULL, found);
    else
        sl_jw_str(w, NULL, "limit");
    sl_pattern_free(p);
}

int main(void) {
    char *line = NULL;
    size_t cap = 0;

    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        struct sl_buf out = SL_BUF((size_t)64 << 10);
        yyjson_doc *doc = sl_json_doc(line, (size_t)n);
        yyjson_val *row = yyjson_doc_get_root(doc);
        if (!yyjson_is_arr(row))
            return 2;
        answer(sl_json_view(yyjson_arr_get(row, 0)), sl_json_view(yyjson_arr_get(row, 1)),
               &SL_JW(&out));
        puts(sl_buf_str(&out));
        sl_buf_done(&out);
        yyjson_doc_free(doc);
    }
    free(line);
    return 0;
}
