/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/table/jsonpath.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

/*
 * One reader for checking and finding: a step is read off the text, then applied to a value. The
 * search backtracks over the values that a wildcard or filter lets through; its depth is the number
 * of steps.
 */

enum step_kind { STEP_FIELD, STEP_INDEX, STEP_ALL, STEP_FILTER };

#define FILTER_MAX 256u
struct step {
    enum step_kind kind;
    const char *s; /* field */
    size_t len;
    int64_t index;
    /* @.path op literal; op 0: it exists */
    char left[FILTER_MAX];
    char op;         /* '=' or '!' */
    const char *lit; /* without quotes */
    size_t lit_len;
    bool quoted;
};

static const char *skip_space(const char *p) {
    return p + strspn(p, " ");
}

/* ?(@.a.b=="x") up to and with its ']'. NULL: it is wrong. */
static const char *read_filter(const char *p, struct step *st) {
    size_t n;

    if (strncmp(p, "?(@", 3) != 0)
        return NULL;
    p += 3;
    n = strcspn(p, "=!<>) ");
    if (n == 0 || n >= FILTER_MAX || *p != '.')
        return NULL;
    memcpy(st->left, p, n);
    st->left[n] = '\0';
    if (strpbrk(st->left, "[*"))
        return NULL;
    p = skip_space(p + n);
    st->kind = STEP_FILTER;
    st->op = 0;
    if (*p != ')') {
        if ((p[0] != '=' && p[0] != '!') || p[1] != '=')
            return NULL;
        st->op = p[0];
        p = skip_space(p + 2);
        st->quoted = *p == '"' || *p == '\'';
        if (st->quoted) {
            const char *end = strchr(p + 1, *p);
            if (!end)
                return NULL;
            st->lit = p + 1;
            st->lit_len = (size_t)(end - p - 1);
            p = end + 1;
        } else {
            st->lit = p;
            st->lit_len = strcspn(p, ") ");
            p += st->lit_len;
        }
        p = skip_space(p);
    }
    return p[0] == ')' && p[1] == ']' ? p + 2 : NULL;
}

static const char *read_bracket(const char *p, struct step *st) {
    if (*p == '?')
        return read_filter(p, st);
    if (*p == '*' && p[1] == ']') {
        st->kind = STEP_ALL;
        return p + 2;
    }
    if (*p == '\'' || *p == '"') {
        const char *end = strchr(p + 1, *p);
        if (!end || end[1] != ']')
            return NULL;
        st->kind = STEP_FIELD;
        st->s = p + 1;
        st->len = (size_t)(end - p - 1);
        return end + 2;
    }
    bool negative = *p == '-';
    p += negative;
    if (*p < '0' || *p > '9')
        return NULL;
    st->kind = STEP_INDEX;
    st->index = 0;
    for (; *p >= '0' && *p <= '9' && st->index < 1000000; p++)
        st->index = st->index * 10 + (*p - '0');
    if (negative)
        st->index = -st->index;
    return *p == ']' ? p + 1 : NULL;
}

/* One step; the rest of the path, or NULL if it is wrong. */
static const char *read_step(const char *p, bool first, struct step *st) {
    if (*p == '[')
        return read_bracket(p + 1, st);
    if (*p == '.')
        p++;
    else if (!first)
        return NULL;
    if (*p == '[')
        return read_bracket(p + 1, st);
    st->len = strcspn(p, ".[");
    if (st->len == 0)
        return NULL;
    st->kind = st->len == 1 && *p == '*' ? STEP_ALL : STEP_FIELD;
    st->s = p;
    return p + st->len;
}

/* {.a} and $.a are .a. The text is copied since the closing brace goes. */
static const char *trim(const char *path, char out[SL_JSONPATH_MAX]) {
    size_t n = strlen(path);

    if (n >= SL_JSONPATH_MAX)
        return NULL;
    if (n >= 2 && path[0] == '{' && path[n - 1] == '}') {
        path++;
        n -= 2;
    }
    memcpy(out, path, n);
    out[n] = '\0';
    return *out == '$' ? out + 1 : out;
}

/* Counts before it is done; false: it is not to be done. */
static bool charge_steps(uint64_t *steps, uint64_t n) {
    *steps = *steps > n ? *steps - n : 0;
    return *steps > 0;
}

/* Items of a list or object that are skipped for one step. */
#define PASSED_PER_STEP 16

static yyjson_val *find_value(yyjson_val *v, const char *p, bool first, uint64_t *steps);

static bool lets_through(const struct step *st, yyjson_val *item, uint64_t *steps) {
    yyjson_val *v = find_value(item, st->left, true, steps);
    bool same;

    if (st->op == 0)
        return v != NULL;
    if (!v)
        return false;
    if (st->quoted) {
        same = yyjson_equals_strn(v, st->lit, st->lit_len);
    } else {
        char text[64];
        char *w = yyjson_is_str(v) || sl_json_size(v) ? NULL : yyjson_val_write(v, 0, NULL);
        same = w && st->lit_len < sizeof(text) && strlen(w) == st->lit_len &&
               memcmp(w, st->lit, st->lit_len) == 0;
        free(w);
    }
    return same == (st->op == '=');
}

static yyjson_val *find_value(yyjson_val *v, const char *p, bool first, uint64_t *steps) {
    struct step st;
    const char *rest;
    size_t i, n;
    yyjson_val *key, *item, *found;

    if (!charge_steps(steps, 1))
        return NULL;
    if (*p == '\0')
        return yyjson_is_null(v) ? NULL : v;
    rest = read_step(p, first, &st);
    if (!rest)
        return NULL;
    switch (st.kind) {
    case STEP_FIELD:
        if (!charge_steps(steps, sl_json_size(v) / PASSED_PER_STEP + 1))
            return NULL;
        v = yyjson_obj_getn(v, st.s, st.len);
        return v ? find_value(v, rest, false, steps) : NULL;
    case STEP_INDEX:
        n = yyjson_arr_size(v);
        if (st.index < 0)
            st.index += (int64_t)n;
        if (st.index < 0 || st.index >= (int64_t)n ||
            !charge_steps(steps, (uint64_t)st.index / PASSED_PER_STEP + 1))
            return NULL;
        return find_value(yyjson_arr_get(v, (size_t)st.index), rest, false, steps);
    case STEP_ALL:
        if (yyjson_is_obj(v)) {
            sl_obj_foreach (v, i, n, key, item) {
                found = find_value(item, rest, false, steps);
                if (found || !*steps)
                    return found;
            }
            return NULL;
        }
        break;
    case STEP_FILTER:
        break;
    }
    if (!yyjson_is_arr(v))
        return NULL;
    yyjson_arr_foreach (v, i, n, item) {
        if (!*steps)
            return NULL;
        if (st.kind == STEP_FILTER && !lets_through(&st, item, steps))
            continue;
        found = find_value(item, rest, false, steps);
        if (found)
            return found;
    }
    return NULL;
}

yyjson_val *api_jsonpath_within(yyjson_val *root, const char *path, uint64_t *steps) {
    char text[SL_JSONPATH_MAX];
    const char *p = trim(path, text);

    return p && root ? find_value(root, p, true, steps) : NULL;
}

yyjson_val *api_jsonpath_first(yyjson_val *root, const char *path) {
    return api_jsonpath_within(root, path, &(uint64_t){UINT64_MAX});
}

int api_jsonpath_check(const char *path, struct sl_err *err) {
    char text[SL_JSONPATH_MAX];
    const char *p = trim(path, text);
    bool first = true;

    if (!p)
        return sl_err_set(err, SL_EINVAL, "longer than %u bytes", SL_JSONPATH_MAX);
    for (; *p; first = false) {
        struct step st = {0};
        const char *rest = read_step(p, first, &st);
        if (!rest)
            return sl_err_set(err, SL_EINVAL, "unexpected path string, cannot go on at \"%s\"", p);
        p = rest;
    }
    return 0;
}

bool api_jsonpath_is_fields(const char *path) {
    return *path == '.' && !strpbrk(path, "[]*'\"{}$@") && !strstr(path, "..") && path[1] != '\0';
}
