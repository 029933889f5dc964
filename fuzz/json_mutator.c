/* SPDX-License-Identifier: Apache-2.0 */
#include "json_mutator.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"

#define MAX_REGIONS 64u  /* JSON texts of an input */
#define MAX_TRIES 256u   /* places where one might begin */
#define MAX_NODES 65536u /* values of a text that may be changed */
#define MAX_NEST 400u    /* levels that are put round a value */
#define MAX_REPEAT 1200u /* copies of an item */
#define MAX_TEXT 70000u  /* bytes of a long text */
#define MAX_STEPS 4u     /* changes of one text */
#define ROUGH_SHARE 5u   /* one change of so many is of bytes, whatever the input is */

struct region {
    size_t begin, end;
};

struct node {
    yyjson_mut_val *val, *key, *parent; /* no key in an array; no parent at the root */
};

struct mutation {
    yyjson_mut_doc *doc;
    yyjson_val *from; /* the root before the changes */
    size_t n_from;    /* values below it */
    struct node *nodes;
    size_t n_nodes;
    uint64_t state;
};

static struct sl_text words[SL_MAX_MUTATOR_WORDS];
static size_t n_words;

void sl_mutator_word(const char *s, size_t n) {
    if (n_words < SL_MAX_MUTATOR_WORDS)
        words[n_words++] = (struct sl_text){s, n};
}

/* splitmix64 */
uint64_t sl_mutator_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n) {
    return n ? (size_t)(sl_mutator_next(state) % n) : 0;
}

/* Mostly small, now and then up to the ceiling. */
static size_t some(uint64_t *state, size_t max) {
    static const size_t steps[] = {2, 4, 16, 70, 300};
    size_t i = below(state, sizeof steps / sizeof *steps + 1);

    return 1 + below(state, i < sizeof steps / sizeof *steps && steps[i] < max ? steps[i] : max);
}

static const char *copy(struct mutation *m, const char *s, size_t n) {
    char *p = unsafe_yyjson_mut_strncpy(m->doc, s, n);

    if (!p)
        abort();
    return p;
}

static yyjson_mut_val *checked(yyjson_mut_val *v) {
    if (!v)
        abort();
    return v;
}

/* A text as it stands in JSON, also one that no reader should take. */
static yyjson_mut_val *raw(struct mutation *m, const char *s) {
    return checked(yyjson_mut_rawn(m->doc, s, strlen(s)));
}

static yyjson_mut_val *text_of(struct mutation *m, const char *s, size_t n) {
    return checked(yyjson_mut_strn(m->doc, copy(m, s, n), n));
}

static yyjson_mut_val *same_text(struct mutation *m, yyjson_mut_val *v) {
    struct sl_text t = sl_json_mut_view(v);

    return text_of(m, t.s, t.n);
}

static yyjson_mut_val *long_text(struct mutation *m) {
    size_t n = some(&m->state, MAX_TEXT);
    char *p = malloc(n);
    static const char fill[] = "a0-./:~ \t\n,=\"\\A\x7f";

    if (!p)
        abort();
    memset(p, fill[below(&m->state, sizeof fill - 1)], n);
    if (below(&m->state, 4) == 0)
        p[below(&m->state, n)] = '\0';
    yyjson_mut_val *v = text_of(m, p, n);
    free(p);
    return v;
}

static yyjson_mut_val *odd_text(struct mutation *m) {
    static const char *const odd[] = {
        "\"\\u0000\"",
        "\"a\\u0000b\"",
        "\"\\u0000AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"",
        "\"/a/\\u0000/b~1c\"",
        "\"\\ud800\"",
        "\"\\udc00x\"",
        "\"\\ud83d\\ude00\"",
        "\"\xff\xfe\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\"",
        "\" \"",
        "\"/\"",
        "\"..\"",
        "\"../../etc\"",
        "\"a/b/c\"",
        "\"/-\"",
        "\"/~\"",
        "\"/~2\"",
        "\"true\"",
        "\"null\"",
        "\"0\"",
        "\"-1\"",
        "\"9223372036854775807\"",
        "\"9223372036854775808\"",
        "\"1e999\"",
        "\"1n\"",
        "\"0.0000000001\"",
        "\"1Ei\"",
        "\"100%\"",
        "\"2026-02-30T25:61:61Z\"",
        "\"9999-12-31T23:59:59Z\"",
        "\"0001-01-01T00:00:00Z\"",
        "\"%s%n%x\"",
        "\"$(A)$$(B)$(\"",
        "\"{\\\"a\\\":[0,{}]}\"",
        "\"x\\r\\ny: z\"",
        "\"*\"",
        "\"\\u202e\"",
    };

    return raw(m, odd[below(&m->state, sizeof odd / sizeof *odd)]);
}

static yyjson_mut_val *odd_number(struct mutation *m) {
    static const char *const odd[] = {
        "0",
        "-0",
        "-1",
        "1",
        "2147483647",
        "2147483648",
        "-2147483649",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        "0.5",
        "-0.0001",
        "1e18",
        "1e308",
        "1e-308",
        "1E400",
        "01",
        "1.",
    };

    return raw(m, odd[below(&m->state, sizeof odd / sizeof *odd)]);
}

/* Items of one sort: what takes their number for a length reads so far. */
static yyjson_mut_val *many(struct mutation *m, bool object) {
    yyjson_mut_val *v = checked(object ? yyjson_mut_obj(m->doc) : yyjson_mut_arr(m->doc));
    size_t n = some(&m->state, MAX_REPEAT);
    bool same = below(&m->state, 2), texts = below(&m->state, 2);

    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *item = texts ? text_of(m, "x", 1) : checked(yyjson_mut_uint(m->doc, 0));
        if (object) {
            char key[8] = "k";
            size_t k = 1;
            for (size_t left = same ? 0 : i; left > 0; left /= 10)
                key[k++] = (char)('0' + left % 10);
            yyjson_mut_obj_add(v, text_of(m, key, k), item);
        } else {
            yyjson_mut_arr_append(v, item);
        }
    }
    return v;
}

/* A value of any type. */
static yyjson_mut_val *alien(struct mutation *m) {
    switch (below(&m->state, 12)) {
    case 0:
        return checked(yyjson_mut_null(m->doc));
    case 1:
        return checked(yyjson_mut_bool(m->doc, below(&m->state, 2)));
    case 2:
    case 3:
        return odd_number(m);
    case 4:
    case 5:
        return odd_text(m);
    case 6:
        return long_text(m);
    case 7:
        return checked(yyjson_mut_arr(m->doc));
    case 8:
        return checked(yyjson_mut_obj(m->doc));
    case 9:
        return many(m, false);
    case 10:
        return many(m, true);
    default: {
        struct sl_text w = n_words ? words[below(&m->state, n_words)] : (struct sl_text){"x", 1};
        return text_of(m, w.s, w.n);
    }
    }
}

/* A value of the text as it was, with all that is below it. */
static yyjson_mut_val *elsewhere(struct mutation *m) {
    yyjson_val *v = m->from;
    size_t steps = below(&m->state, m->n_from);

    v += steps; /* values lie one behind the other, keys among them */
    return checked(yyjson_val_mut_copy(m->doc, v));
}

/* Takes the place of a value; what follows it stays. */
static void put(yyjson_mut_val *at, const yyjson_mut_val *v) {
    at->tag = v->tag;
    at->uni = v->uni;
}

static void nest(struct mutation *m, yyjson_mut_val *at) {
    size_t n = some(&m->state, MAX_NEST);
    bool object = below(&m->state, 2);
    yyjson_mut_val *inner = checked(yyjson_mut_null(m->doc));

    put(inner, at);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *outer = checked(object ? yyjson_mut_obj(m->doc) : yyjson_mut_arr(m->doc));
        if (object)
            yyjson_mut_obj_add(outer, text_of(m, "a", 1), inner);
        else
            yyjson_mut_arr_append(outer, inner);
        inner = outer;
    }
    put(at, inner);
}

/* One more value into an object or an array. */
static void insert(struct mutation *m, yyjson_mut_val *into, yyjson_mut_val *key,
                   yyjson_mut_val *v) {
    if (yyjson_mut_is_arr(into)) {
        if (below(&m->state, 2))
            yyjson_mut_arr_append(into, v);
        else
            yyjson_mut_arr_prepend(into, v);
    } else if (yyjson_mut_is_obj(into)) {
        yyjson_mut_obj_insert(into, key, v, below(&m->state, yyjson_mut_obj_size(into) + 1));
    }
}

static void drop(struct node *at) {
    if (yyjson_mut_is_obj(at->parent)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(at->parent);
        for (yyjson_mut_val *k; (k = yyjson_mut_obj_iter_next(&it)) != NULL;)
            if (k == at->key) {
                (void)yyjson_mut_obj_iter_remove(&it);
                return;
            }
    } else if (yyjson_mut_is_arr(at->parent)) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(at->parent);
        for (yyjson_mut_val *v; (v = yyjson_mut_arr_iter_next(&it)) != NULL;)
            if (v == at->val) {
                (void)yyjson_mut_arr_iter_remove(&it);
                return;
            }
    }
}

static void change_text(struct mutation *m, yyjson_mut_val *v) {
    struct sl_text old = sl_json_mut_view(v);
    const char *s = old.s;
    size_t n = old.n;
    static const char bits[] = "\0/.~-_A9 \n%$*:,=\"\\'(){}[]";
    char *p = malloc(n + 1);

    if (!p)
        abort();
    size_t at = below(&m->state, n + 1);
    memcpy(p, s, at);
    if (below(&m->state, 3) == 0) { /* cut there */
        put(v, text_of(m, p, at));
    } else {
        p[at] = bits[below(&m->state, sizeof bits - 1)];
        size_t skip = at < n && below(&m->state, 2); /* in place of one, or between */
        memcpy(p + at + 1, s + at + skip, n - at - skip);
        put(v, text_of(m, p, n + 1 - skip));
    }
    free(p);
}

static void repeat(struct mutation *m, struct node *at) {
    size_t n = some(&m->state, MAX_REPEAT);

    /* The copies are of what was there before: of a value that has itself been repeated there
     * would be too many. */
    yyjson_val *v = m->from + below(&m->state, m->n_from);
    if (unsafe_yyjson_is_ctn(v) && (size_t)(unsafe_yyjson_get_next(v) - v) * n > MAX_NODES)
        n = 2;
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *item = checked(yyjson_val_mut_copy(m->doc, v));
        yyjson_mut_val *into = at->parent ? at->parent : at->val;
        insert(m, into, at->key ? same_text(m, at->key) : text_of(m, "k", 1), item);
    }
}

static void one_step(struct mutation *m) {
    struct node at = m->nodes[below(&m->state, m->n_nodes)];
    struct node other = m->nodes[below(&m->state, m->n_nodes)];

    switch (below(&m->state, 14)) {
    case 0:
    case 1:
    case 2:
    case 3:
        put(at.val, alien(m));
        return;
    case 4:
        drop(&at);
        return;
    case 5:
        put(at.val, elsewhere(m));
        return;
    case 6: /* the same key again */
        if (at.key)
            insert(m, at.parent, same_text(m, at.key),
                   below(&m->state, 2) ? alien(m) : elsewhere(m));
        return;
    case 7: /* a field or an item from elsewhere */
        insert(m, at.val, other.key ? same_text(m, other.key) : text_of(m, "k", 1),
               below(&m->state, 2) ? alien(m) : elsewhere(m));
        return;
    case 8:
        repeat(m, &at);
        return;
    case 9:
        nest(m, at.val);
        return;
    case 10:
    case 11:
        if (yyjson_mut_is_num(at.val))
            put(at.val, odd_number(m));
        else if (yyjson_mut_is_str(at.val))
            change_text(m, at.val);
        else
            put(at.val, alien(m));
        return;
    case 12:
        if (at.key && other.key && below(&m->state, 2))
            put(at.key, other.key);
        else if (at.key)
            change_text(m, at.key);
        return;
    default:
        if (yyjson_mut_is_str(at.val))
            put(at.val, odd_text(m));
        else
            put(at.val, alien(m));
        return;
    }
}

/* All values below one that may be changed. */
static void collect(struct mutation *m) {
    m->n_nodes = 0;
    m->nodes[m->n_nodes++] = (struct node){.val = yyjson_mut_doc_get_root(m->doc)};
    for (size_t i = 0; i < m->n_nodes; i++) {
        yyjson_mut_val *v = m->nodes[i].val;
        if (yyjson_mut_is_obj(v)) {
            yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
            for (yyjson_mut_val *k; (k = yyjson_mut_obj_iter_next(&it)) != NULL;)
                if (m->n_nodes < MAX_NODES)
                    m->nodes[m->n_nodes++] = (struct node){yyjson_mut_obj_iter_get_val(k), k, v};
        } else if (yyjson_mut_is_arr(v)) {
            yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
            for (yyjson_mut_val *x; (x = yyjson_mut_arr_iter_next(&it)) != NULL;)
                if (m->n_nodes < MAX_NODES)
                    m->nodes[m->n_nodes++] = (struct node){x, NULL, v};
        }
    }
}

/* The JSON texts of an input, those inside others left out. */
static size_t find_regions(const uint8_t *data, size_t size, struct region *out) {
    size_t n = 0, tries = 0;

    for (size_t at = 0; at < size && n < MAX_REGIONS && tries < MAX_TRIES; at++) {
        if (data[at] != '{' && data[at] != '[')
            continue;
        tries++;
        yyjson_read_err err;
        /* Without YYJSON_READ_INSITU the text is only read. */
        yyjson_doc *d = yyjson_read_opts((char *)(uintptr_t)(data + at), size - at,
                                         YYJSON_READ_STOP_WHEN_DONE, NULL, &err);
        if (!d)
            continue;
        size_t end = at + yyjson_doc_get_read_size(d);
        if (yyjson_doc_get_val_count(d) > 1)
            out[n++] = (struct region){at, end};
        yyjson_doc_free(d);
        at = end - 1;
    }
    return n;
}

/* The region changed, in a block of its own; NULL if it cannot be written. */
static char *change_region(const uint8_t *data, size_t size, uint64_t *state, size_t *ret) {
    static struct node nodes[MAX_NODES];
    yyjson_doc *d = yyjson_read((const char *)data, size, 0);

    if (!d)
        return NULL;
    struct mutation m = {
        .doc = yyjson_doc_mut_copy(d, NULL),
        .from = yyjson_doc_get_root(d),
        .n_from = yyjson_doc_get_val_count(d),
        .nodes = nodes,
        .state = *state,
    };
    if (!m.doc)
        abort();
    size_t steps = 1 + below(&m.state, below(&m.state, 2) ? 1 : MAX_STEPS);
    for (size_t i = 0; i < steps; i++) {
        collect(&m); /* anew: values may have gone */
        one_step(&m);
    }
    char *out = yyjson_mut_write_opts(m.doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL, ret, NULL);
    *state = m.state;
    yyjson_mut_doc_free(m.doc);
    yyjson_doc_free(d);
    return out;
}

size_t sl_mutator_bytes(uint8_t *data, size_t size, size_t max_size, uint64_t *state) {
    struct sl_text w;
    uint8_t byte = (uint8_t)sl_mutator_next(state);
    size_t at = below(state, size + 1), n;

    switch (below(state, 6)) {
    case 0: /* another byte */
        if (at < size)
            data[at] = byte;
        return size;
    case 1: /* one bit */
        if (at < size)
            data[at] ^= (uint8_t)(1u << (byte % 8));
        return size;
    case 2: /* without some */
        n = below(state, size - at + 1);
        if (n > 64)
            n = below(state, 64);
        memmove(data + at, data + at + n, size - at - n);
        return size - n;
    case 3: /* a piece again, somewhere else */
        n = below(state, size - at + 1);
        if (n > max_size - size)
            n = max_size - size;
        if (n > 0) {
            size_t to = below(state, size + 1);
            uint8_t *piece = malloc(n);
            if (!piece)
                abort();
            memcpy(piece, data + at, n);
            memmove(data + to + n, data + to, size - to);
            memcpy(data + to, piece, n);
            free(piece);
        }
        return size + n;
    default: /* a word, in place of what is there or between; without words the same byte often */
        w = n_words ? words[below(state, n_words)] : (struct sl_text){NULL, some(state, 300)};
        n = w.n < max_size - size ? w.n : max_size - size;
        if (byte % 2 && at + n <= size) {
            if (w.s)
                memcpy(data + at, w.s, n);
            else
                memset(data + at, byte, n);
            return size;
        }
        memmove(data + at + n, data + at, size - at);
        if (w.s)
            memcpy(data + at, w.s, n);
        else
            memset(data + at, byte, n);
        return size + n;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    struct region regions[MAX_REGIONS];
    uint64_t state = seed;
    size_t n = find_regions(data, size, regions);

    if (n == 0 || below(&state, ROUGH_SHARE) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (int tries = 0; tries < 4; tries++) {
        struct region r = regions[below(&state, n)];
        size_t len = 0;
        char *out = change_region(data + r.begin, r.end - r.begin, &state, &len);
        if (out && size - (r.end - r.begin) + len <= max_size) {
            memmove(data + r.begin + len, data + r.end, size - r.end);
            memcpy(data + r.begin, out, len);
            size = size - (r.end - r.begin) + len;
            free(out);
            return size;
        }
        free(out);
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
