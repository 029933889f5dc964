/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree itself: building blocks for the readers, lookup, and loading of files.
 */
#include "lib/doc/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/doc/build.h"

/* Space for every node and text that the other ceilings allow, and for the arena's own gaps. */
#define MAX_ARENA_BYTES ((size_t)2 << 30)
#define FEW_PAIRS 12 /* up to here a plain search finds duplicates faster than a sort */

struct sl_doc *sl_doc_new(const char *file) {
    struct sl_doc *d = sl_alloc0(1, sizeof *d);

    sl_arena_init(&d->arena, MAX_ARENA_BYTES);
    d->file = sl_arena_strdup(&d->arena, file);
    return d;
}

void sl_doc_free(struct sl_doc *d) {
    if (!d)
        return;
    sl_arena_done(&d->arena);
    sl_freep(&d);
}

void sl_doc_freep(struct sl_doc **d) {
    sl_doc_free(*d);
    *d = NULL;
}

int sl_doc_fail(const struct doc_build *b, int code, uint32_t line, const char *fmt, ...) {
    char message[200];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(message, sizeof message, fmt, ap);
    va_end(ap);
    return sl_err_set(b->err, code, "%s:%u: %s", b->doc->file, line, message);
}

int doc_build_count(struct doc_build *b, uint32_t n, uint32_t line) {
    if (n > b->max_nodes - b->nodes)
        return sl_doc_fail(b, SL_ELIMIT, line, "more than %u values in one file", b->max_nodes);
    b->nodes += n;
    return 0;
}

void doc_build_list(struct doc_build *b, uint32_t base, uint32_t line, struct sl_doc_node *ret) {
    uint32_t n = b->stack.n - base;
    struct sl_doc_node *items = NULL;

    if (n > 0)
        items = sl_arena_alloc(&b->doc->arena, n * sizeof *items);
    for (uint32_t i = 0; i < n; i++)
        items[i] = b->stack.v[base + i].value;
    b->stack.n = base;
    *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_LIST, .line = line, .n = n, .items = items};
}

void doc_build_roots(struct doc_build *b) {
    struct sl_doc_node list;

    doc_build_list(b, 0, 1, &list);
    b->doc->roots = list.items;
    b->doc->n = list.n;
}

struct place {
    const char *key;
    uint32_t i;
};

static int by_key(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    int c = strcmp(x->key, y->key);
    return c ? c : x->i < y->i ? -1 : x->i > y->i;
}

/* The first pair, in the order of the text, whose key was there before; *ret_first is that one. */
static const struct sl_doc_pair *duplicate(const struct sl_doc_pair *v, uint32_t n,
                                           const struct sl_doc_pair **ret_first) {
    uint32_t found = UINT32_MAX;

    if (n <= FEW_PAIRS) {
        for (uint32_t i = 1; i < n; i++)
            for (uint32_t j = 0; j < i; j++)
                if (strcmp(v[i].key, v[j].key) == 0) {
                    *ret_first = &v[j];
                    return &v[i];
                }
        return NULL;
    }
    struct place *sorted = sl_alloc(n * sizeof *sorted);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct place){v[i].key, i};
    qsort(sorted, n, sizeof *sorted, by_key);
    for (uint32_t i = 1; i < n; i++)
        if (sorted[i].i < found && strcmp(sorted[i].key, sorted[i - 1].key) == 0) {
            found = sorted[i].i;
            *ret_first = &v[sorted[i - 1].i];
        }
    sl_freep(&sorted);
    return found == UINT32_MAX ? NULL : &v[found];
}

int doc_build_map(struct doc_build *b, uint32_t base, uint32_t line, struct sl_doc_node *ret) {
    uint32_t n = b->stack.n - base;
    const struct sl_doc_pair *from = n > 0 ? b->stack.v + base : NULL, *first = NULL;
    const struct sl_doc_pair *twice = n > 1 ? duplicate(from, n, &first) : NULL;
    struct sl_doc_pair *pairs = NULL;

    if (twice)
        return sl_doc_fail(b, SL_EINVAL, twice->line, "\"%.60s\" is given twice, first on line %u",
                           twice->key, first->line);
    if (n > 0) {
        pairs = sl_arena_alloc(&b->doc->arena, n * sizeof *pairs);
        memcpy(pairs, from, n * sizeof *pairs);
    }
    b->stack.n = base;
    *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_MAP, .line = line, .n = n, .pairs = pairs};
    return 0;
}

void doc_build_number(const char *text, uint32_t line, struct sl_doc_node *ret) {
    size_t digits = strspn(text, "+-0123456789");
    char *end;

    *ret = (struct sl_doc_node){
        .kind = SL_DOC_NODE_FLOAT, .line = line, .n = (uint32_t)strlen(text), .text = text};
    if (!text[digits]) {
        errno = 0;
        long long v = strtoll(text, &end, 10);
        if (errno == 0 && end != text && !*end) {
            *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_INT, .line = line, .num = v};
            return;
        }
        return;
    }
    double d = strtod(text, &end);
    if (!*end && d > -1e15 && d < 1e15 && d == (double)(int64_t)d)
        *ret = (struct sl_doc_node){.kind = SL_DOC_NODE_INT, .line = line, .num = (int64_t)d};
}

const struct sl_doc_node *sl_doc_node_get(const struct sl_doc_node *map, const char *key) {
    if (!map || map->kind != SL_DOC_NODE_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->n; i++)
        if (strcmp(map->pairs[i].key, key) == 0)
            return &map->pairs[i].value;
    return NULL;
}

static void put_number(struct sl_jw *w, const char *key, const char *text, bool respell) {
    char *end;
    double d = strtod(text, &end);

    if (!respell)
        sl_jw_raw(w, key, text);
    else if (!*end && d - d == 0) /* neither infinite nor no number */
        sl_buf_printf(sl_jw_value(w, key), "%.17g", d);
    else
        sl_jw_str(w, key, text);
}

void sl_doc_node_json(struct sl_jw *w, const char *key, const struct sl_doc_node *n, bool respell) {
    switch (n->kind) {
    case SL_DOC_NODE_NULL:
        sl_jw_null(w, key);
        break;
    case SL_DOC_NODE_BOOL:
        sl_jw_bool(w, key, n->truth);
        break;
    case SL_DOC_NODE_INT:
        sl_jw_int(w, key, n->num);
        break;
    case SL_DOC_NODE_FLOAT:
        put_number(w, key, n->text, respell);
        break;
    case SL_DOC_NODE_STR:
        sl_jw_str(w, key, n->text);
        break;
    case SL_DOC_NODE_LIST:
        sl_jw_array(w, key);
        for (uint32_t i = 0; i < n->n && !sl_buf_full(w->b); i++)
            sl_doc_node_json(w, NULL, &n->items[i], respell);
        sl_jw_end(w);
        break;
    case SL_DOC_NODE_MAP:
        sl_jw_object(w, key);
        for (uint32_t i = 0; i < n->n && !sl_buf_full(w->b); i++)
            sl_doc_node_json(w, n->pairs[i].key, &n->pairs[i].value, respell);
        sl_jw_end(w);
        break;
    }
}

const char *sl_doc_node_kind_name(enum sl_doc_node_kind k) {
    static const char *const names[] = {
        [SL_DOC_NODE_NULL] = "null",    [SL_DOC_NODE_BOOL] = "a boolean",
        [SL_DOC_NODE_INT] = "a number", [SL_DOC_NODE_FLOAT] = "a number",
        [SL_DOC_NODE_STR] = "a string", [SL_DOC_NODE_LIST] = "a list",
        [SL_DOC_NODE_MAP] = "a map",
    };
    return (size_t)k < SL_LEN(names) ? names[k] : "?";
}

/* ---- files ---- */

static int read_all(FILE *f, const char *path, size_t max_bytes, char **ret, size_t *ret_len,
                    struct sl_err *err) {
    size_t len = 0, cap = 0;
    char *s = NULL;

    for (;;) {
        if (len + 1 >= cap) {
            cap = cap ? 2 * cap : (size_t)64 * 1024;
            s = sl_realloc(s, cap, 1);
        }
        size_t got = fread(s + len, 1, cap - 1 - len, f);
        if (got == 0)
            break;
        len += got;
        if (len > max_bytes) {
            sl_freep(&s);
            return sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes", path, max_bytes);
        }
    }
    if (ferror(f)) {
        sl_freep(&s);
        return sl_err_set(err, SL_EIO, "%s: %s", path, strerror(errno));
    }
    s[len] = '\0';
    *ret = s;
    *ret_len = len;
    return 0;
}

int sl_file_read(const char *path, size_t max_bytes, char **ret, size_t *ret_len,
                 struct sl_err *err) {
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rbe");
    int r;

    if (!f)
        return sl_err_set(err, errno == ENOENT ? SL_ENOENT : SL_EIO, "%s: %s", path,
                          strerror(errno));
    r = read_all(f, path, max_bytes, ret, ret_len, err);
    if (!standard)
        (void)fclose(f);
    return r;
}

int sl_doc_load(const char *path, struct sl_doc **ret, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    const char *file = strcmp(path, "-") == 0 ? "<stdin>" : path;
    struct sl_err json_err;
    size_t len;
    int r;

    r = sl_file_read(path, SL_DOC_MAX_BYTES, &text, &len, err);
    if (r < 0)
        return r;
    sl_assert(text != NULL);
    size_t skip = strspn(text, " \t\r\n");
    if (text[skip] == '{' || text[skip] == '[') {
        r = sl_doc_json(file, 1, text, len, ret, &json_err);
        if (r == 0)
            return 0;
    }
    /* YAML's flow style also begins with a bracket. What is neither is reported by YAML's reader,
     * unless JSON's found more than a matter of syntax. */
    if (text[skip] == '{' && r == SL_ELIMIT) {
        if (err)
            *err = json_err;
        return r;
    }
    return sl_doc_yaml(file, text, len, ret, err);
}
