/*
 * Required pod affinity and anti-affinity. Few pods have such terms, so nothing is kept: the pods
 * that stand somewhere are looked through once for a pod that is to be placed, which gives for each
 * term the domains (values of its topology key) where somebody matches; a node is then asked for
 * its value.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schedule.h"

#define MAX_TERMS 64u
#define MAX_NEAR_BYTES ((size_t)64 << 20)

struct term {
    const char *key;
    struct sl_selector selector;
    const char *const *namespaces; /* NULL: that of who says it */
    uint32_t n_namespaces;
    bool everywhere; /* an empty namespaceSelector */
    sl_sym ns;       /* of who says it */
};

struct domains {
    const char *key; /* of the label of nodes */
    SL_VEC(const char *) values;
    bool alone; /* nobody matches anywhere, and the pod itself would */
};

struct sched_near {
    struct sl_arena arena;
    struct domains near[MAX_TERMS], apart[MAX_TERMS];
    SL_VEC(struct domains) kept; /* by those that stand there */
    uint32_t n_near, n_apart;
};

/* ---- terms ---- */

static const char *const *strings(struct sl_arena *a, yyjson_val *list, uint32_t *ret_n) {
    const char **v = sl_arena_alloc(a, (yyjson_arr_size(list) + 1) * sizeof *v);
    size_t i, n;
    yyjson_val *s;
    *ret_n = 0;
    yyjson_arr_foreach (list, i, n, s)
        if (yyjson_is_str(s))
            v[(*ret_n)++] = sl_arena_strdup(a, yyjson_get_str(s));
    return v;
}

static void read_selector(struct sl_arena *a, yyjson_val *from, struct sl_selector *ret) {
    static const struct {
        const char *word;
        enum sl_label_op op;
    } ops[] = {{"In", SL_OP_IN},
               {"NotIn", SL_OP_NOT_IN},
               {"Exists", SL_OP_EXISTS},
               {"DoesNotExist", SL_OP_NOT_EXISTS}};
    yyjson_val *labels = jat(from, "matchLabels"), *rules = jat(from, "matchExpressions"), *k, *v;
    size_t i, n, max = yyjson_obj_size(labels) + yyjson_arr_size(rules) + 1;
    struct sl_label_rule *to = sl_arena_alloc0(a, max, sizeof *to);
    *ret = (struct sl_selector){.v = to, .nothing = !from};
    yyjson_obj_iter it = yyjson_obj_iter_with(labels); /* of what may be absent */
    while ((k = yyjson_obj_iter_next(&it))) {
        v = yyjson_obj_iter_get_val(k);
        const char **one = sl_arena_alloc(a, sizeof *one);
        one[0] = sl_arena_strdup(a, yyjson_is_str(v) ? yyjson_get_str(v) : "");
        to[ret->n++] =
            (struct sl_label_rule){sl_arena_strdup(a, yyjson_get_str(k)), SL_OP_IN, one, 1};
    }
    yyjson_arr_foreach (rules, i, n, v) {
        struct sl_label_rule *r = &to[ret->n++];
        r->key = sl_arena_strdup(a, jstr(v, "key"));
        r->values = strings(a, yyjson_obj_get(v, "values"), &r->n_values);
        for (size_t o = 0; o < SL_LEN(ops); o++)
            if (strcmp(ops[o].word, jstr(v, "operator")) == 0)
                r->op = ops[o].op;
    }
}

static uint32_t read_terms(struct sl_arena *a, const char *text, sl_sym ns, struct term *ret) {
    yyjson_doc *d = text ? yyjson_read(text, strlen(text), 0) : NULL;
    uint32_t found = 0;
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, v) {
        yyjson_val *names = jat(v, "namespaces"), *select = jat(v, "namespaceSelector");
        if (found == MAX_TERMS)
            break;
        struct term *t = &ret[found++];
        *t = (struct term){.key = sl_arena_strdup(a, jstr(v, "topologyKey")), .ns = ns};
        read_selector(a, jat(v, "labelSelector"), &t->selector);
        if (yyjson_arr_size(names))
            t->namespaces = strings(a, names, &t->n_namespaces);
        t->everywhere = select && !yyjson_arr_size(jat(select, "matchExpressions")) &&
                        !yyjson_obj_size(jat(select, "matchLabels"));
    }
    yyjson_doc_free(d);
    return found;
}

static bool concerns(const struct sl_cluster *c, const struct term *t, sl_sym ns,
                     const struct sl_labels *labels) {
    bool here = t->everywhere || (!t->namespaces && ns == t->ns);
    for (uint32_t i = 0; i < t->n_namespaces && !here; i++)
        here = strcmp(t->namespaces[i], str(c, ns)) == 0;
    return here && sl_selector_matches(&t->selector, labels);
}

static void labels_of(struct sl_arena *a, const struct pod *p, struct sl_labels *ret) {
    yyjson_doc *d = p->labels ? yyjson_read(p->labels, strlen(p->labels), 0) : NULL;
    cl_sched_labels(a, yyjson_doc_get_root(d), ret);
    yyjson_doc_free(d);
}

/* ---- domains ---- */

static bool has_value(const struct domains *d, const char *value) {
    for (uint32_t i = 0; i < d->values.n; i++)
        if (strcmp(d->values.v[i], value) == 0)
            return true;
    return false;
}

static void add_domain(struct domains *d, const struct node *on) {
    const char *value = on ? sl_labels_get(&on->labels, d->key) : NULL;
    d->alone = false;
    if (value && !has_value(d, value))
        *sl_vec_push(&d->values) = value;
}

/* Of those that keep others away: their terms that are about this pod. */
static void add_kept(struct schedule *s, struct sched_near *near, const struct pod *q,
                     const struct node *on, sl_sym ns, const struct sl_labels *labels) {
    struct term terms[MAX_TERMS];
    uint32_t n = read_terms(&near->arena, q->sched->class->apart, q->rec.ns, terms);
    for (uint32_t i = 0; i < n; i++) {
        if (!concerns(s->c, &terms[i], ns, labels))
            continue;
        uint32_t k = 0;
        while (k < near->kept.n && strcmp(near->kept.v[k].key, terms[i].key) != 0)
            k++;
        if (k == near->kept.n)
            *sl_vec_push(&near->kept) = (struct domains){.key = terms[i].key};
        add_domain(&near->kept.v[k], on);
    }
}

struct sched_near *cl_near_new(struct schedule *s, const struct sched_class *k,
                               const struct pod *p) {
    struct sched_near *near = sl_alloc0(1, sizeof *near);
    struct term to[MAX_TERMS], from[MAX_TERMS];
    struct sl_labels mine, theirs;
    uint32_t at = 0;
    sl_arena_init(&near->arena, MAX_NEAR_BYTES);
    labels_of(&near->arena, p, &mine);
    near->n_near = read_terms(&near->arena, k->near, p->rec.ns, to);
    near->n_apart = read_terms(&near->arena, k->apart, p->rec.ns, from);
    for (uint32_t i = 0; i < near->n_near; i++)
        near->near[i] =
            (struct domains){.key = to[i].key, .alone = concerns(s->c, &to[i], p->rec.ns, &mine)};
    for (uint32_t i = 0; i < near->n_apart; i++)
        near->apart[i].key = from[i].key;
    for (struct rec *r; (r = cl_each(s->c, K_POD, &at));) {
        const struct pod *q = pod_of(r);
        if (r->planned || q == p || !q->sched || !q->sched->on)
            continue;
        const struct node *on = cl_sched_place(s, q->sched->on)->node;
        struct sl_arena scratch;
        sl_arena_init(&scratch, MAX_NEAR_BYTES);
        labels_of(&scratch, q, &theirs);
        for (uint32_t i = 0; i < near->n_near; i++)
            if (concerns(s->c, &to[i], r->ns, &theirs))
                add_domain(&near->near[i], on);
        for (uint32_t i = 0; i < near->n_apart; i++)
            if (concerns(s->c, &from[i], r->ns, &theirs))
                add_domain(&near->apart[i], on);
        sl_arena_done(&scratch);
        if (q->sched->class->apart)
            add_kept(s, near, q, on, p->rec.ns, &mine);
    }
    return near;
}

static bool stands_in(const struct domains *d, const struct node *on) {
    const char *value = sl_labels_get(&on->labels, d->key);
    return value && has_value(d, value);
}

const char *cl_near_refuses(const struct sched_near *n, const struct node *on) {
    for (uint32_t i = 0; i < n->n_near; i++)
        if (!stands_in(&n->near[i], on) &&
            !(n->near[i].alone && sl_labels_get(&on->labels, n->near[i].key)))
            return SCHED_NO_COMPANY;
    for (uint32_t i = 0; i < n->n_apart; i++)
        if (stands_in(&n->apart[i], on))
            return "node(s) didn't match pod anti-affinity rules";
    for (uint32_t i = 0; i < n->kept.n; i++)
        if (stands_in(&n->kept.v[i], on))
            return "node(s) didn't satisfy existing pods anti-affinity rules";
    return NULL;
}

void cl_near_free(struct sched_near *n) {
    if (!n)
        return;
    for (uint32_t i = 0; i < MAX_TERMS; i++) {
        sl_vec_free(&n->near[i].values);
        sl_vec_free(&n->apart[i].values);
    }
    for (uint32_t i = 0; i < n->kept.n; i++)
        sl_vec_free(&n->kept.v[i].values);
    sl_vec_free(&n->kept);
    sl_arena_done(&n->arena);
    sl_freep(&n);
}
