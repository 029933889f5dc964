/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/fields.h"
#include "lib/json/json.h"

#include <string.h>

static int order(const struct merge_fields *x, const struct merge_fields *y) {
    return merge_element_cmp(x->text, x->len, y->text, y->len);
}

struct merge_fields *merge_fields_push(struct sl_arena *a, struct merge_fields **list,
                                       struct merge_element text, uint8_t mark) {
    struct merge_fields *n = sl_arena_alloc(a, sizeof *n);
    *n = (struct merge_fields){.next = *list, .text = text.s, .len = text.len, .mark = mark};
    *list = n;
    return n;
}

/* ---- order ---- */

struct merge_fields *merge_fields_unite(struct merge_fields *x, struct merge_fields *y) {
    struct merge_fields *head = NULL, **end = &head;

    while (x && y) {
        int r = order(x, y);
        struct merge_fields *n = r <= 0 ? x : y;
        if (r == 0) {
            x->mark |= y->mark;
            x->below = merge_fields_unite(x->below, y->below);
            y = y->next;
        }
        if (r <= 0)
            x = x->next;
        else
            y = y->next;
        *end = n;
        end = &n->next;
    }
    *end = x ? x : y;
    return head;
}

struct merge_fields *merge_fields_unite_all(struct merge_fields **v, uint32_t n) {
    if (n < 2)
        return n ? v[0] : NULL;
    return merge_fields_unite(merge_fields_unite_all(v, n / 2),
                              merge_fields_unite_all(v + n / 2, n - n / 2));
}

static struct merge_fields *sorted(struct merge_fields *list, uint32_t n) {
    struct merge_fields *half = list;
    if (n < 2)
        return list;
    for (uint32_t i = 1; i < n / 2; i++)
        half = half->next;
    struct merge_fields *rest = half->next;
    half->next = NULL;
    return merge_fields_unite(sorted(list, n / 2), sorted(rest, n - n / 2));
}

static bool in_order(const struct merge_fields *n) {
    for (; n && n->next; n = n->next) {
        if (order(n, n->next) >= 0)
            return false;
    }
    return true;
}

void merge_fields_sort(struct merge_fields **list) {
    uint32_t n = 0;
    for (struct merge_fields *f = *list; f; f = f->next, n++)
        merge_fields_sort(&f->below);
    if (!in_order(*list))
        *list = sorted(*list, n);
}

#define STRIDE 64u

void merge_fields_index(struct merge_fields *list) {
    struct merge_fields *ahead = list, *n = list;

    for (uint32_t i = 0; i < STRIDE && ahead; i++)
        ahead = ahead->next;
    for (; n; n = n->next) {
        n->far = ahead;
        ahead = ahead ? ahead->next : NULL;
        merge_fields_index(n->below);
    }
}

/* The first from b on that is not before x; *ret_is: it is the same element. */
static const struct merge_fields *skip_to(const struct merge_fields *b,
                                          const struct merge_fields *x, bool *ret_is) {
    int r = -1;

    while (b->far && order(b->far, x) <= 0)
        b = b->far;
    while (b && (r = order(b, x)) < 0)
        b = b->next;
    *ret_is = r == 0;
    return b;
}

/* ---- FieldsV1 ---- */

/* 'same' stays true while what is read is what would be written. A value that is null has nothing
 * below it, and that of "." may be anything. */
static bool read_below(struct sl_arena *a, yyjson_mut_val *v, struct merge_fields *up,
                       struct merge_fields **ret, bool *same, unsigned depth) {
    struct merge_fields *head = NULL, **end = &head;
    yyjson_mut_val *key, *value;
    size_t i, max;

    if ((!yyjson_mut_is_obj(v) && !yyjson_mut_is_null(v)) || depth > SL_FIELDS_DEPTH)
        return false;
    *same = *same && yyjson_mut_is_obj(v);
    yyjson_mut_obj_foreach (v, i, max, key, value) {
        struct sl_text name = sl_json_mut_view(key);
        struct merge_element text;
        if (sl_text_is(name, ".")) {
            *same = *same && yyjson_mut_is_obj(value) && yyjson_mut_obj_size(value) == 0 && max > 1;
            if (up)
                up->mark = SL_F_IN;
            continue;
        }
        if (!merge_element_read(a, name.s, name.n, &text))
            return false;
        *same = *same && (text.s == name.s ||
                          (text.s && text.len == name.n && memcmp(text.s, name.s, name.n) == 0));
        if (!text.s)
            continue;
        struct merge_fields *n = merge_fields_push(a, end, text, 0);
        end = &n->next;
        if (!read_below(a, value, n, &n->below, same, depth + 1))
            return false;
        if (!n->below)
            n->mark = SL_F_IN;
    }
    if (!in_order(head)) { /* what we and the API server write is */
        uint32_t n = 0;
        for (struct merge_fields *f = head; f; f = f->next)
            n++;
        head = sorted(head, n);
        *same = false;
    }
    *ret = head;
    return true;
}

bool merge_fields_read(struct sl_arena *a, yyjson_mut_val *v, struct merge_fields **ret,
                       bool *ret_same) {
    *ret_same = true;
    return read_below(a, v, NULL, ret, ret_same, 0);
}

static void write_below(yyjson_mut_doc *doc, yyjson_mut_val *to, const struct merge_fields *n) {
    for (; n; n = n->next) {
        yyjson_mut_val *v = yyjson_mut_obj(doc);
        if (n->below && n->mark)
            (void)yyjson_mut_obj_add_val(doc, v, ".", yyjson_mut_obj(doc));
        write_below(doc, v, n->below);
        (void)yyjson_mut_obj_add(to, yyjson_mut_strncpy(doc, n->text, n->len), v);
    }
}

yyjson_mut_val *merge_fields_write(yyjson_mut_doc *doc, const struct merge_fields *set) {
    yyjson_mut_val *v = yyjson_mut_obj(doc);
    write_below(doc, v, set);
    return v;
}

/* ---- sets from sets ---- */

struct merge_fields *merge_fields_marked(struct sl_arena *a, const struct merge_fields *b,
                                         uint8_t bits) {
    struct merge_fields *head = NULL, **end = &head;
    for (; b; b = b->next) {
        struct merge_fields *below = merge_fields_marked(a, b->below, bits);
        bool in = b->mark & bits;
        if (!below && !in)
            continue;
        struct merge_fields *n =
            merge_fields_push(a, end, (struct merge_element){b->text, b->len}, in ? SL_F_IN : 0);
        n->below = below;
        end = &n->next;
    }
    return head;
}

struct merge_fields *merge_fields_copy(struct sl_arena *a, const struct merge_fields *set) {
    return merge_fields_marked(a, set, SL_F_ALL);
}

bool merge_fields_subtract(struct merge_fields **set, const struct merge_fields *b, uint8_t bits) {
    bool changed = false, is;

    while (*set && b) {
        struct merge_fields *n = *set;
        b = skip_to(b, n, &is);
        if (!is) {
            set = &n->next;
            continue;
        }
        if (n->mark && (b->mark & bits)) {
            n->mark = 0;
            changed = true;
        }
        changed |= merge_fields_subtract(&n->below, b->below, bits);
        if (!n->mark && !n->below)
            *set = n->next;
        else
            set = &n->next;
        b = b->next;
    }
    return changed;
}

struct merge_fields *merge_fields_intersect(struct sl_arena *a, const struct merge_fields *x,
                                            const struct merge_fields *y, uint8_t bits) {
    struct merge_fields *head = NULL, **end = &head;
    bool is;

    for (; x && y; x = x->next) {
        y = skip_to(y, x, &is);
        if (!is)
            continue;
        struct merge_fields *below = merge_fields_intersect(a, x->below, y->below, bits);
        bool in = x->mark && (y->mark & bits);
        if (below || in) {
            struct merge_fields *n = merge_fields_push(
                a, end, (struct merge_element){x->text, x->len}, in ? SL_F_IN : 0);
            n->below = below;
            end = &n->next;
        }
    }
    return head;
}

/* The list entry of a field, by its name without "f:". */
static struct merge_fields **entry(struct merge_fields **set, const char *name, size_t len) {
    for (; *set; set = &(*set)->next) {
        struct merge_fields *n = *set;
        if (n->len == len + 2 && n->text[0] == 'f' && memcmp(n->text + 2, name, len) == 0)
            return set;
    }
    return NULL;
}

static void at_path(struct merge_fields **set, const char *path, bool whole) {
    size_t len = strcspn(path, ".");
    struct merge_fields **e = entry(set, path, len);
    if (!e)
        return;
    if (path[len] == '.')
        at_path(&(*e)->below, path + len + 1, whole);
    else if (whole)
        (*e)->below = NULL, (*e)->mark = 0;
    else
        (*e)->mark = 0;
    if (!(*e)->mark && !(*e)->below)
        *e = (*e)->next;
}

void merge_fields_cut(struct merge_fields **set, const char *path) {
    at_path(set, path, true);
}

void merge_fields_drop(struct merge_fields **set, const char *path) {
    at_path(set, path, false);
}

const struct merge_fields *merge_fields_at(const struct merge_fields *set, const char *path) {
    size_t len = strcspn(path, ".");
    for (; set; set = set->next) {
        if (set->len != len + 2 || set->text[0] != 'f' || memcmp(set->text + 2, path, len) != 0)
            continue;
        return path[len] ? merge_fields_at(set->below, path + len + 1) : set;
    }
    return NULL;
}

struct merge_fields *merge_fields_path(struct sl_arena *a, const char *path) {
    struct merge_fields *n = NULL;
    size_t len = strcspn(path, ".");
    n = merge_fields_push(a, &n, merge_element_field(a, path, len), path[len] ? 0 : SL_F_IN);
    if (path[len])
        n->below = merge_fields_path(a, path + len + 1);
    return n;
}

/* ---- with a schema ---- */

const struct sl_schema *merge_fields_schema(const struct sl_schema *s,
                                            const struct merge_fields *n) {
    if (!s)
        return NULL;
    if (n->text[0] == 'f')
        return sl_schema_at(s, n->text + 2, n->len - 2);
    return s->type == SL_T_LIST ? s->items : NULL;
}

void merge_fields_name(struct merge_fields *n, const struct sl_schema *s) {
    for (; n; n = n->next) {
        if (n->below && n->text[0] == 'f' && s && s->type == SL_T_OBJECT &&
            sl_schema_field(s, n->text + 2, n->len - 2))
            n->mark |= SL_F_IN;
        merge_fields_name(n->below, merge_fields_schema(s, n));
    }
}

static bool is_one_value(const struct sl_schema *s) {
    switch (s->type) {
    case SL_T_LIST:
        return s->merge != SL_MERGE_SET && s->merge != SL_MERGE_KEYED;
    case SL_T_OBJECT:
    case SL_T_MAP:
        return s->merge == SL_MERGE_ATOMIC;
    default:
        return false;
    }
}

bool merge_fields_reconcile(struct merge_fields *n, const struct sl_schema *s) {
    bool changed = false;
    for (; n; n = n->next) {
        const struct sl_schema *at = n->below ? merge_fields_schema(s, n) : NULL;
        if (at && is_one_value(at)) {
            n->below = NULL;
            n->mark = SL_F_IN;
            changed = true;
        } else if (at) {
            changed |= merge_fields_reconcile(n->below, at);
        }
    }
    return changed;
}

/* ---- paths ---- */

void merge_fields_each(const struct merge_fields *set, struct sl_buf *path, merge_fields_fn fn,
                       void *ctx) {
    size_t len = path->len;
    for (int members = 1; members >= 0; members--) {
        for (const struct merge_fields *n = set; n; n = n->next) {
            if (members ? !n->mark : !n->below)
                continue;
            merge_element_print(path, n->text, n->len);
            if (members)
                fn(ctx, sl_buf_str(path));
            else
                merge_fields_each(n->below, path, fn, ctx);
            path->len = len;
            path->s[len] = '\0';
        }
    }
}
