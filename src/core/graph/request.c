/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a jobspec to a request: types become symbols, siblings are adjacent in one array, and
 * alternatives (xor_slot) become whole requests of their own, to be tried in order.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/graph/request_int.h"

#define KEY_MAX ((size_t)1 << 20)

uint32_t sl_req_count_take(const struct sl_req_count *c, uint64_t q) {
    if (c->set) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < c->n_set && c->set[i] <= q; i++)
            best = c->set[i];
        return best;
    }
    uint64_t top = q < c->max ? q : c->max, n = c->min;
    if (c->min == 0 || n > top)
        return 0;
    switch (c->op) {
    case '+':
        return (uint32_t)(n + (top - n) / c->operand * c->operand);
    case '*':
        while (n <= top / c->operand && c->operand > 1)
            n *= c->operand;
        return (uint32_t)n;
    default: /* '^' */
        while (n > 1 && c->operand > 1) {
            uint64_t next = 1;
            for (uint32_t i = 0; i < c->operand && next <= top; i++)
                next *= n; /* both below 2^32 */
            if (next > top)
                break;
            n = next;
        }
        return (uint32_t)n;
    }
}

void sl_jobspec_free(struct sl_jobspec *j) {
    if (!j)
        return;
    sl_arena_done(&j->arena);
    free(j);
}

void sl_jobspec_freep(struct sl_jobspec **j) {
    sl_jobspec_free(*j);
    *j = NULL;
}

struct sl_match_request *sl_match_request_ref(struct sl_match_request *r) {
    r->refs++;
    return r;
}

void sl_match_request_free(struct sl_match_request *r) {
    if (!r)
        return;
    if (r->refs > 0) {
        r->refs--;
        return;
    }
    sl_vec_free(&r->reqs);
    sl_vec_free(&r->variants);
    sl_vec_free(&r->alternatives);
    sl_vec_free(&r->types);
    sl_vec_free(&r->type_syms);
    sl_arena_done(&r->arena);
    free(r);
}

void sl_match_request_freep(struct sl_match_request **r) {
    sl_match_request_free(*r);
    *r = NULL;
}

/* ---- checking ---- */

struct check {
    const struct sl_graph *g;
    struct sl_err *err;
    uint32_t n_reqs;
};

static int check_count(const struct sl_req_count *c, const char *what, struct sl_err *err) {
    bool good = c->min >= 1 && c->max >= c->min && c->operand >= 1 &&
                (c->op == '+' || ((c->op == '*' || c->op == '^') && c->operand >= 2)) &&
                (c->op != '^' || c->min >= 2);
    if (c->set) {
        good = c->n_set >= 1 && c->n_set <= SL_REQ_COUNT_MAX_SET && c->set[0] >= 1;
        for (uint32_t i = 1; i < c->n_set && good; i++)
            good = c->set[i] > c->set[i - 1];
    }
    return good ? 0 : sl_err_set(err, SL_EINVAL, "%.60s: a count that allows no number", what);
}

static const char *kind_name(enum sl_req_kind k) {
    static const char *const names[] = {"resource", "slot", "xor_slot", "or_slot"};
    return names[k];
}

static int check_list(struct check *c, const struct sl_req_spec *v, uint32_t n, uint32_t depth,
                      bool exclusive);

static int check_one(struct check *c, const struct sl_req_spec *s, uint32_t depth, bool exclusive) {
    bool slot = s->kind != SL_REQ_RESOURCE;
    const char *what = slot ? kind_name(s->kind) : s->type;
    if (slot && s->n_with == 0)
        return sl_err_set(c->err, SL_EINVAL, "%s: expected 'with', what a slot is made of", what);
    if (slot && s->exclusive == SL_FALSE)
        return sl_err_set(c->err, SL_EINVAL, "%s: slots are exclusive", what);
    if (!slot && (!what || !*what))
        return sl_err_set(c->err, SL_EINVAL, "a resource without a type");
    if (!slot && !sl_graph_has_type(c->g, what) && !sl_graph_is_usual_type(what))
        return sl_err_set(c->err, SL_EINVAL, "%.60s: the graph has no resources of this type",
                          what);
    if (exclusive && s->exclusive == SL_FALSE)
        return sl_err_set(c->err, SL_EINVAL,
                          "%.60s: exclusive: false inside something that is exclusive", what);
    int r = check_count(&s->count, what, c->err);
    return r < 0 ? r
                 : check_list(c, s->with, s->n_with, depth + 1,
                              exclusive || slot || s->exclusive == SL_TRUE);
}

/* What is wanted inside a slot may not be wanted beside it as well: both would choose from the
 * same. */
static int check_beside(struct check *c, const struct sl_req_spec *slot,
                        const struct sl_req_spec *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < slot->n_with && v[i].kind == SL_REQ_RESOURCE; k++)
            if (slot->with[k].type && v[i].type && strcmp(slot->with[k].type, v[i].type) == 0)
                return sl_err_set(c->err, SL_EINVAL,
                                  "%.60s is wanted both inside a slot and beside it", v[i].type);
    return 0;
}

static bool same_count(const struct sl_req_count *a, const struct sl_req_count *b) {
    if (a->set || b->set)
        return a->set && b->set && a->n_set == b->n_set &&
               memcmp(a->set, b->set, a->n_set * sizeof(*a->set)) == 0;
    return a->min == b->min && a->max == b->max && a->op == b->op && a->operand == b->operand;
}

/* Siblings: each type once, and slots of one kind. */
static int check_siblings(struct check *c, const struct sl_req_spec *v, uint32_t n) {
    uint32_t slots[4] = {0};
    for (uint32_t i = 0; i < n; i++) {
        slots[v[i].kind]++;
        for (uint32_t k = 0; k < i; k++) {
            if (v[i].kind != v[k].kind)
                continue;
            if (v[i].kind == SL_REQ_RESOURCE && v[i].type && v[k].type &&
                strcmp(v[i].type, v[k].type) == 0)
                return sl_err_set(c->err, SL_EINVAL, "%.60s is wanted twice side by side",
                                  v[i].type);
            if (v[i].kind == SL_REQ_OR_SLOT && !same_count(&v[i].count, &v[k].count))
                return sl_err_set(c->err, SL_EINVAL,
                                  "or_slot: expected equal counts of those side by side");
        }
    }
    int kinds =
        (slots[SL_REQ_SLOT] > 0) + (slots[SL_REQ_OR_SLOT] > 0) + (slots[SL_REQ_XOR_SLOT] > 0);
    if (kinds > 1)
        return sl_err_set(c->err, SL_EINVAL,
                          "expected only slots in a list, or only or_slots, or only xor_slots");
    for (uint32_t i = 0; i < n; i++) {
        int r = v[i].kind == SL_REQ_RESOURCE ? 0 : check_beside(c, &v[i], v, n);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_list(struct check *c, const struct sl_req_spec *v, uint32_t n, uint32_t depth,
                      bool exclusive) {
    c->n_reqs += n;
    if (depth > SL_REQ_MAX_DEPTH || c->n_reqs > SL_REQ_MAX)
        return sl_err_set(c->err, SL_ELIMIT, "more than %u requests, or %u levels of them",
                          SL_REQ_MAX, SL_REQ_MAX_DEPTH);
    int r = check_siblings(c, v, n);
    for (uint32_t i = 0; i < n && r >= 0; i++)
        r = check_one(c, &v[i], depth, exclusive);
    return r;
}

/* ---- compiling ---- */

struct compile {
    struct sl_match_request *r;
    const struct sl_graph *g;
    /* Which xor_slot of each list is taken, in the order in which the lists are met, and how many
     * there are: the digits of a number that is counted up. */
    uint32_t digit[SL_REQ_MAX], base[SL_REQ_MAX], n_digits, at;
};

static uint32_t count_xor(const struct sl_req_spec *v, uint32_t n) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += v[i].kind == SL_REQ_XOR_SLOT;
    return found;
}

/* The xor_slot of a list that this alternative takes. */
static uint32_t next_choice(struct compile *c, uint32_t of) {
    if (of == 0)
        return 0;
    if (c->at == c->n_digits)
        c->digit[c->n_digits++] = 0;
    c->base[c->at] = of;
    return c->digit[c->at++];
}

/* The next alternative; false: there is none. */
static bool count_up(struct compile *c) {
    c->n_digits = c->at;
    c->at = 0;
    while (c->n_digits > 0 && ++c->digit[c->n_digits - 1] == c->base[c->n_digits - 1])
        c->n_digits--;
    return c->n_digits > 0;
}

static sl_sym type_sym(struct compile *c, const char *type) {
    sl_sym y = sl_sym_find(sl_graph_syms(c->g), type);
    for (uint32_t i = 0; i < c->r->types.n; i++)
        if (c->r->type_syms.v[i] == y)
            return y;
    *sl_vec_push(&c->r->types) = sl_arena_strdup(&c->r->arena, type);
    *sl_vec_push(&c->r->type_syms) = y;
    return y;
}

/* Puts a list side by side, then what is inside each; returns where it begins. */
static uint32_t compile_list(struct compile *c, const struct sl_req_spec *v, uint32_t n,
                             uint32_t *ret_n, uint32_t *ret_slot) {
    uint32_t first = c->r->reqs.n, count = 0, seen_xor = 0;
    uint32_t choice = next_choice(c, count_xor(v, n));
    *ret_slot = REQ_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind == SL_REQ_XOR_SLOT && seen_xor++ != choice)
            continue;
        struct graph_req q = {
            .type = v[i].kind == SL_REQ_RESOURCE ? type_sym(c, v[i].type) : 0,
            .kind = v[i].kind == SL_REQ_XOR_SLOT ? SL_REQ_SLOT : v[i].kind,
            .exclusive = v[i].exclusive,
            .count = v[i].count,
            .most = sl_req_count_take(&v[i].count, SL_REQ_COUNT_MAX),
            .with = i, /* for now: where to go on */
        };
        if (q.kind != SL_REQ_RESOURCE && *ret_slot == REQ_NONE)
            *ret_slot = first + count;
        if (q.count.set) {
            uint32_t *set = sl_arena_alloc(&c->r->arena, q.count.n_set * sizeof(*set));
            memcpy(set, q.count.set, q.count.n_set * sizeof(*set));
            q.count.set = set;
        }
        *sl_vec_push(&c->r->reqs) = q;
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sl_req_spec *s = &v[c->r->reqs.v[first + i].with];
        uint32_t n_with, slot, with = compile_list(c, s->with, s->n_with, &n_with, &slot);
        uint32_t plain = 0;
        for (uint32_t k = with; k < with + n_with; k++)
            plain += c->r->reqs.v[k].kind == SL_REQ_SLOT;
        c->r->reqs.v[first + i].with = with;
        c->r->reqs.v[first + i].n_with = n_with;
        c->r->reqs.v[first + i].slot = slot;
        c->r->reqs.v[first + i].several = plain > 1;
    }
    *ret_n = count;
    return first;
}

/* One alternative. Of several slots at the top each is for a walk of its own: the first with what
 * is beside them. They are put last for that. */
static void compile_alternative(struct compile *c, const struct sl_req_spec *v, uint32_t n) {
    struct sl_match_request *r = c->r;
    struct graph_variant top;
    struct graph_alternative a = {r->variants.n, 1};
    top.top = compile_list(c, v, n, &top.n_top, &top.slot);
    uint32_t n_slots = 0, kept = top.top;
    struct graph_req *list = &r->reqs.v[top.top];
    for (uint32_t i = 0; i < top.n_top; i++)
        n_slots += list[i].kind == SL_REQ_SLOT;
    if (n_slots > 1) {
        struct graph_req *slots = sl_alloc(n_slots * sizeof(*slots));
        n_slots = 0;
        for (uint32_t i = 0; i < top.n_top; i++) {
            if (list[i].kind == SL_REQ_SLOT)
                slots[n_slots++] = list[i];
            else
                r->reqs.v[kept++] = list[i];
        }
        memcpy(&r->reqs.v[kept], slots, n_slots * sizeof(*slots));
        sl_freep(&slots);
        top.n_top -= n_slots - 1;
        top.slot = kept;
        a.n = n_slots;
    }
    *sl_vec_push(&r->variants) = top;
    for (uint32_t i = 1; i < a.n; i++)
        *sl_vec_push(&r->variants) = (struct graph_variant){kept + i, 1, kept + i};
    *sl_vec_push(&r->alternatives) = a;
}

static void copy_term(struct sl_arena *a, const struct sl_constraint *from,
                      struct sl_constraint *to) {
    *to = *from;
    struct sl_constraint *terms = sl_arena_alloc(a, (from->n_terms + 1) * sizeof(*terms));
    const char **names = sl_arena_alloc(a, (from->n_names + 1) * sizeof(*names));
    struct sl_constraint_ranks *ranks = sl_arena_alloc(a, (from->n_ranks + 1) * sizeof(*ranks));
    for (uint32_t i = 0; i < from->n_terms; i++)
        copy_term(a, &from->terms[i], &terms[i]);
    for (uint32_t i = 0; i < from->n_names; i++)
        names[i] = sl_arena_strdup(a, from->names[i]);
    if (from->n_ranks > 0)
        memcpy(ranks, from->ranks, from->n_ranks * sizeof(*ranks));
    to->terms = terms;
    to->names = names;
    to->ranks = ranks;
}

/* ---- the key ---- */

static void key_num(struct sl_buf *b, int64_t n) {
    sl_buf_add(b, (const char *)&n, sizeof(n));
}

static void key_term(struct sl_buf *b, const struct sl_constraint *t) {
    key_num(b, t->kind);
    key_num(b, t->n_terms);
    key_num(b, t->n_names);
    key_num(b, t->n_ranks);
    for (uint32_t i = 0; i < t->n_terms; i++)
        key_term(b, &t->terms[i]);
    for (uint32_t i = 0; i < t->n_names; i++)
        sl_buf_add(b, t->names[i], strlen(t->names[i]) + 1);
    for (uint32_t i = 0; i < t->n_ranks; i++) {
        key_num(b, t->ranks[i].first);
        key_num(b, t->ranks[i].last);
    }
}

static int make_key(struct sl_match_request *r, struct sl_err *err) {
    struct sl_buf b;
    sl_buf_init(&b, KEY_MAX);
    key_num(&b, r->duration);
    key_num(&b, r->alternatives.n);
    for (uint32_t i = 0; i < r->alternatives.n; i++)
        key_num(&b, r->alternatives.v[i].n);
    for (uint32_t i = 0; i < r->variants.n; i++) {
        key_num(&b, r->variants.v[i].top);
        key_num(&b, r->variants.v[i].n_top);
    }
    for (uint32_t i = 0; i < r->reqs.n; i++) {
        const struct graph_req *q = &r->reqs.v[i];
        const int64_t v[] = {q->type,      q->kind,     q->exclusive,     q->count.min,
                             q->count.max, q->count.op, q->count.operand, q->count.n_set,
                             q->with,      q->n_with};
        for (size_t k = 0; k < SL_LEN(v); k++)
            key_num(&b, v[k]);
        for (uint32_t k = 0; q->count.set && k < q->count.n_set; k++)
            key_num(&b, q->count.set[k]);
    }
    r->constraint_at = (uint32_t)b.len;
    key_term(&b, &r->constraint);
    int code = sl_buf_full(&b) ? sl_err_set(err, SL_ELIMIT, "the request is too long") : 0;
    r->key = sl_arena_strndup(&r->arena, "", 0);
    if (code >= 0 && b.len > 0) {
        char *key = sl_arena_alloc(&r->arena, b.len);
        memcpy(key, b.s, b.len);
        r->key = key;
        r->key_len = (uint32_t)b.len;
        r->class = sl_hash_bytes(0, key, b.len);
    }
    sl_buf_done(&b);
    return code;
}

static int check_terms(const struct sl_constraint *t, uint32_t depth, struct sl_err *err) {
    int r = depth > SL_REQ_MAX_DEPTH * 4
                ? sl_err_set(err, SL_ELIMIT, "constraints are nested too deeply")
                : 0;
    for (uint32_t i = 0; i < t->n_terms && r >= 0; i++)
        r = check_terms(&t->terms[i], depth + 1, err);
    return r;
}

int sl_match_request_new(const struct sl_graph *g, const struct sl_jobspec *j,
                         struct sl_match_request **ret, struct sl_err *err) {
    struct check check = {.g = g, .err = err};
    int code = j->n_resources == 0 ? sl_err_set(err, SL_EINVAL, "expected at least one resource")
                                   : check_list(&check, j->resources, j->n_resources, 1, false);
    if (code >= 0)
        code = check_terms(&j->constraint, 0, err);
    if (code < 0)
        return code;
    struct sl_match_request *r = sl_alloc0(1, sizeof(*r));
    sl_arena_init(&r->arena, (size_t)64 << 20);
    r->duration = j->duration;
    copy_term(&r->arena, &j->constraint, &r->constraint);
    struct compile c = {.r = r, .g = g};
    do {
        if (r->alternatives.n == SL_REQ_ALTERNATIVES_MAX)
            code = sl_err_set(err, SL_ELIMIT, "xor_slot: more than %u alternatives",
                              SL_REQ_ALTERNATIVES_MAX);
        else
            compile_alternative(&c, j->resources, j->n_resources);
    } while (code >= 0 && count_up(&c));
    if (code >= 0)
        code = make_key(r, err);
    if (code < 0) {
        sl_match_request_free(r);
        return code;
    }
    *ret = r;
    return 0;
}

void sl_match_request_admits(const struct sl_match_request *r, const struct sl_graph *g,
                             const sl_vtx *v, uint32_t n, uint64_t *ret) {
    (void)sl_constraint_eval(&r->constraint, g, v, n, ret);
}
