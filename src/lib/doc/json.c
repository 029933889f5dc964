/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON by yyjson. yyjson checks the grammar but does not report positions, so the text is scanned a
 * second time in step with its tree; since the text is known to be valid by then, a token is found
 * by its first byte alone.
 */
#include <string.h>

#include <yyjson.h>

#include "lib/doc/build.h"
#include "lib/json/json.h"

struct walk {
    struct doc_build b;
    const char *at, *end;
    uint32_t line;
};

/* To the first byte of the next token. */
static void to_token(struct walk *w) {
    for (; w->at < w->end; w->at++) {
        if (*w->at == '\n')
            w->line++;
        else if (!strchr(" \t\r,:", *w->at))
            return;
    }
}

/* Past the token there. A string is skipped whole; it has no raw newline inside. */
static void past_token(struct walk *w) {
    if (*w->at == '"') {
        for (w->at++; w->at < w->end && *w->at != '"'; w->at++)
            if (*w->at == '\\')
                w->at++;
        w->at++;
    } else if (strchr("[]{}", *w->at)) {
        w->at++;
    } else {
        while (w->at < w->end && !strchr(" \t\r\n,:[]{}", *w->at))
            w->at++;
    }
}

static int text_of(struct walk *w, yyjson_val *v, uint32_t line, const char **ret) {
    struct sl_text t = sl_json_view(v);

    if (sl_text_has_nul(t))
        return sl_doc_fail(&w->b, SL_EINVAL, line, "expected text without a NUL character");
    *ret = sl_arena_strndup(&w->b.doc->arena, t.s, t.n);
    return 0;
}

static int read_value(struct walk *w, yyjson_val *v, uint32_t depth, struct sl_doc_node *ret);

static int list(struct walk *w, yyjson_val *v, uint32_t depth, struct sl_doc_node *ret) {
    uint32_t base = w->b.stack.n, line = ret->line;
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach (v, i, n, item) {
        struct sl_doc_node node;
        int r = read_value(w, item, depth + 1, &node);
        if (r < 0)
            return r;
        *sl_vec_push(&w->b.stack) = (struct sl_doc_pair){.value = node};
    }
    to_token(w);
    past_token(w); /* the closing bracket */
    doc_build_list(&w->b, base, line, ret);
    return 0;
}

static int map(struct walk *w, yyjson_val *v, uint32_t depth, struct sl_doc_node *ret) {
    uint32_t base = w->b.stack.n, line = ret->line;
    size_t i, n;
    yyjson_val *key, *val;
    int r;

    sl_obj_foreach (v, i, n, key, val) {
        struct sl_doc_pair pair = {0};
        to_token(w);
        pair.line = w->line;
        past_token(w);
        r = text_of(w, key, pair.line, &pair.key);
        if (r < 0)
            return r;
        r = read_value(w, val, depth + 1, &pair.value);
        if (r < 0)
            return r;
        *sl_vec_push(&w->b.stack) = pair;
    }
    to_token(w);
    past_token(w);
    return doc_build_map(&w->b, base, line, ret);
}

static int read_value(struct walk *w, yyjson_val *v, uint32_t depth, struct sl_doc_node *ret) {
    int r;

    to_token(w);
    *ret = (struct sl_doc_node){.line = w->line};
    if (depth > SL_DOC_MAX_DEPTH)
        return sl_doc_fail(&w->b, SL_ELIMIT, w->line, "nested more than %u deep", SL_DOC_MAX_DEPTH);
    r = doc_build_count(&w->b, 1, w->line);
    if (r < 0)
        return r;
    past_token(w);
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_ARR:
        return list(w, v, depth, ret);
    case YYJSON_TYPE_OBJ:
        return map(w, v, depth, ret);
    case YYJSON_TYPE_BOOL:
        ret->kind = SL_DOC_NODE_BOOL;
        ret->truth = unsafe_yyjson_get_bool(v);
        ret->text = ret->truth ? "true" : "false";
        ret->n = (uint32_t)strlen(ret->text);
        return 0;
    case YYJSON_TYPE_STR:
        ret->kind = SL_DOC_NODE_STR;
        ret->quoted = true;
        ret->n = (uint32_t)sl_json_view(v).n;
        return text_of(w, v, ret->line, &ret->text);
    case YYJSON_TYPE_RAW: {
        struct sl_text raw = sl_json_raw(v);
        const char *digits = sl_arena_strndup(&w->b.doc->arena, raw.s, raw.n);
        doc_build_number(digits, ret->line, ret);
        return 0;
    }
    default:
        ret->kind = SL_DOC_NODE_NULL;
        return 0;
    }
}

static int read_json(const char *file, uint32_t first_line, const char *text, size_t len,
                     uint32_t max_nodes, struct sl_doc **ret, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = sl_doc_new(file);
    struct walk w = {.b = {.doc = d, .err = err, .max_nodes = max_nodes},
                     .at = text,
                     .end = text + len,
                     .line = first_line};
    /* Its own copy of the text and 16 bytes a value, with space to grow by half. */
    struct sl_json_budget m = {.ceiling = 3 * len + 48 * (size_t)max_nodes};
    yyjson_alc alc = sl_json_budget_alc(&m);
    yyjson_read_err problem;
    struct sl_doc_node root;
    int r;

    if (len > SL_DOC_MAX_BYTES)
        return sl_doc_fail(&w.b, SL_ELIMIT, first_line, "more than %zu bytes", SL_DOC_MAX_BYTES);
    /* Without the in-situ flag the text is not written to. */
    union {
        const char *in;
        char *out;
    } unwritten = {.in = text};
    yyjson_doc *j = yyjson_read_opts(unwritten.out, len, YYJSON_READ_NUMBER_AS_RAW, &alc, &problem);
    if (!j) {
        if (problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
            return sl_doc_fail(&w.b, SL_ELIMIT, first_line, "more than %u values in one file",
                               max_nodes);
        return sl_doc_fail(&w.b, SL_EINVAL, first_line + sl_json_line(text, len, problem.pos) - 1,
                           "expected JSON: %s", problem.msg);
    }
    r = read_value(&w, yyjson_doc_get_root(j), 1, &root);
    if (r == 0) {
        *sl_vec_push(&w.b.stack) = (struct sl_doc_pair){.value = root};
        doc_build_roots(&w.b);
    }
    yyjson_doc_free(j);
    sl_vec_free(&w.b.stack);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(d);
    return 0;
}

int sl_doc_json(const char *file, uint32_t first_line, const char *text, size_t len,
                struct sl_doc **ret, struct sl_err *err) {
    return read_json(file, first_line, text, len, SL_DOC_MAX_NODES, ret, err);
}

int sl_doc_json_within(const char *file, const char *text, size_t len, uint32_t max_nodes,
                       struct sl_doc **ret, struct sl_err *err) {
    return read_json(file, 1, text, len, max_nodes, ret, err);
}
