/* SPDX-License-Identifier: Apache-2.0 */
/* What requests depend on, collected from all nodes of a graph. */
#include <stdlib.h>
#include <string.h>

#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define PREFIX "taint:"
#define ARENA_BYTES ((size_t)4 << 20) /* more than FQ_MAX_TAINTS can require */
#define MAX_TAINT_BYTES 1024u         /* of one: key, value and effect are much shorter */

/* "nvidia.com/gpu", "nvidia.com/gpu.shared", "gpu.intel.com/xe". */
bool fq_is_gpu(const char *type) {
    const char *slash = strchr(type, '/');

    if (!slash)
        return false;
    if (strncmp(type, "gpu.", 4) == 0)
        return true;
    return strncmp(slash, "/gpu", 4) == 0 && (slash[4] == '\0' || strchr(".-_", slash[4]));
}

/* KEY=VALUE:EFFECT */
static bool read_taint(struct sl_arena *a, const char *property, struct fq_taint *ret) {
    const char *text = property + strlen(PREFIX), *colon = strrchr(text, ':');
    const char *equal = strchr(text, '=');

    if (!colon || strlen(property) > MAX_TAINT_BYTES ||
        sl_taint_effect_parse(colon + 1, &ret->taint.effect, NULL) < 0)
        return false;
    if (!equal || equal > colon)
        equal = colon;
    ret->taint.key = sl_arena_strndup(a, text, (size_t)(equal - text));
    ret->taint.value =
        equal == colon ? "" : sl_arena_strndup(a, equal + 1, (size_t)(colon - equal - 1));
    ret->absent = sl_arena_printf(a, "^%s", property);
    return true;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- values of labels ---- */

/* The names of a graph are never dropped, so an index of them only grows. */
struct fq_values {
    struct fq_names names; /* all KEY=VALUE */
    uint32_t seen;         /* names of the graph that were looked at */
};

/* Both are sorted, and have nothing in common. */
static void merge(struct fq_names *to, const struct fq_names *from) {
    uint32_t old = to->v.n, new = from->v.n;

    sl_vec_reserve(&to->v, old + new);
    to->v.n = old + new;
    for (uint32_t at = old + new; new > 0;)
        to->v.v[--at] = old > 0 && strcmp(to->v.v[old - 1], from->v.v[new - 1]) > 0
                            ? to->v.v[--old]
                            : from->v.v[--new];
}

static void read_new_names(struct fq_values *x, const struct sl_syms *syms) {
    struct fq_names found = {0};

    for (; x->seen < syms->names.n; x->seen++) {
        const char *name = sl_sym_str(syms, x->seen);
        if (strchr(name, '=') && strncmp(name, PREFIX, strlen(PREFIX)) != 0)
            *sl_vec_push(&found.v) = name;
    }
    if (found.v.n > 0) {
        qsort(found.v.v, found.v.n, sizeof(*found.v.v), by_text);
        merge(&x->names, &found);
    }
    sl_vec_free(&found.v);
}

/* 0 if it begins with "KEY=". */
static int compare_key(const char *name, const char *key, size_t len) {
    int c = strncmp(name, key, len);
    return c ? c : (unsigned char)name[len] - '=';
}

uint32_t fq_universe_values(const struct fq_universe *u, const struct sl_graph *g, const char *key,
                            const char *const **ret) {
    struct fq_values *x = u->values;
    uint32_t low = 0, n = 0, high;
    size_t len = strlen(key);

    read_new_names(x, sl_graph_syms(g));
    for (high = x->names.v.n; low < high;) {
        uint32_t mid = low + (high - low) / 2;
        if (compare_key(x->names.v.v[mid], key, len) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (low + n < x->names.v.n && compare_key(x->names.v.v[low + n], key, len) == 0)
        n++;
    *ret = n ? &x->names.v.v[low] : NULL;
    return n;
}

/* ---- names ---- */

/* Where it is, or would be. */
static bool find_name(const struct fq_names *n, const char *name, uint32_t *ret) {
    uint32_t low = 0, high = n->v.n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int c = strcmp(n->v.v[mid], name);
        if (c == 0)
            return true;
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret = low;
    return false;
}

bool fq_names_has(const struct fq_names *n, const char *name) {
    uint32_t at;
    return find_name(n, name, &at);
}

bool fq_names_add(struct fq_names *n, const char *name) {
    uint32_t at;

    if (find_name(n, name, &at))
        return false;
    (void)sl_vec_push(&n->v);
    memmove(&n->v.v[at + 1], &n->v.v[at], (n->v.n - 1 - at) * sizeof(*n->v.v));
    n->v.v[at] = name;
    return true;
}

static int look_at_node(struct fq_universe *u, const struct sl_graph *g, sl_vtx node,
                        struct fq_names *taints, struct sl_err *err) {
    const struct sl_vertex *x = sl_graph_vertex(g, node);
    const struct sl_graph_prop *props;
    uint32_t n = sl_vertex_props(g, node, &props);

    for (uint32_t i = 0; i < n; i++)
        if (strncmp(props[i].key, PREFIX, strlen(PREFIX)) == 0 &&
            fq_names_add(taints, props[i].key) && taints->v.n > FQ_MAX_TAINTS)
            return sl_err_set(err, SL_ELIMIT, "nodes have more than %u different taints",
                              FQ_MAX_TAINTS);
    for (uint32_t i = 0; i < x->n_kids; i++) {
        sl_sym type = sl_graph_vertex(g, sl_graph_kids(g)[x->kids + i])->type;
        const char *name = sl_sym_str(sl_graph_syms(g), type);
        uint32_t k = 0;
        if (!fq_is_gpu(name))
            continue;
        while (k < u->n_gpus && strcmp(u->gpus[k], name) != 0)
            k++;
        if (k < u->n_gpus)
            continue;
        if (k == FQ_MAX_GPU_TYPES)
            return sl_err_set(err, SL_ELIMIT, "nodes have more than %u types of GPUs",
                              FQ_MAX_GPU_TYPES);
        u->gpus[u->n_gpus++] = sl_arena_strdup(&u->arena, name);
    }
    return 0;
}

int fq_universe_init(struct fq_universe *u, const struct sl_graph *g, struct sl_err *err) {
    sl_sym node = sl_sym_find(sl_graph_syms(g), "node");
    struct fq_names taints = {0};
    int r = 0;

    *u = (struct fq_universe){.arena = SL_ARENA(ARENA_BYTES), .n_names = sl_graph_syms(g)->names.n};
    u->compared = sl_arena_alloc0(&u->arena, 1, sizeof(*u->compared));
    u->values = sl_arena_alloc0(&u->arena, 1, sizeof(*u->values));
    for (uint32_t pos = 0; pos < sl_graph_live(g) && r >= 0;) {
        sl_vtx v = sl_graph_at(g, pos);
        const struct sl_vertex *x = sl_graph_vertex(g, v);
        bool is_node = x->type == node;
        if (is_node)
            r = look_at_node(u, g, v, &taints, err);
        pos = is_node ? x->end : pos + 1;
    }
    struct fq_taint *list = sl_arena_alloc0(&u->arena, taints.v.n + 1, sizeof(*list));
    for (uint32_t i = 0; i < taints.v.n && r >= 0; i++) {
        if (read_taint(&u->arena, taints.v.v[i], &list[u->n_taints]))
            u->n_taints++;
        else
            r = sl_err_set(err, SL_EINVAL,
                           "expected taint:KEY=VALUE:EFFECT as a property of a node, got \"%.80s\"",
                           taints.v.v[i]);
    }
    u->taints = list;
    qsort(u->gpus, u->n_gpus, sizeof(*u->gpus), by_text);
    sl_vec_free(&taints.v);
    if (r < 0)
        fq_universe_done(u);
    return r;
}

void fq_universe_done(struct fq_universe *u) {
    if (u->values)
        sl_vec_free(&u->values->names.v);
    sl_arena_done(&u->arena);
    *u = (struct fq_universe){0};
}
