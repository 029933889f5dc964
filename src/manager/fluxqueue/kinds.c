/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs with several kinds of slots, such as groups whose pods have different requests. Each place
 * of such a job is of a kind, and is for pods of that kind. The matcher gives amounts of pools, all
 * that the slots on a node take together; which slots these are is found here.
 */
#include <string.h>

#include "core/graph/match/match.h"
#include "manager/fluxqueue/fq_int.h"

/* ---- what is kept of a jobspec ---- */

void fq_kinds_free(struct fq_job *j) {
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        for (uint32_t i = 0; i < j->kinds[k].n; i++)
            sl_freep(&j->kinds[k].v[i].type);
        sl_freep(&j->kinds[k].v);
    }
    sl_freep(&j->kinds);
    j->n_kinds = 0;
}

void fq_kinds_keep(struct fq_job *j, const struct fq_jobspec_info *info) {
    fq_kinds_free(j);
    if (info->n_kinds < 2)
        return;
    j->kinds = sl_alloc0(info->n_kinds, sizeof *j->kinds);
    j->n_kinds = info->n_kinds;
    for (uint32_t k = 0; k < info->n_kinds; k++) {
        const struct fq_slot_kind *from = &info->kinds[k];
        struct fq_job_kind *to = &j->kinds[k];
        *to = (struct fq_job_kind){
            .v = sl_alloc0(from->n + 1, sizeof *to->v), .n = from->n, .count = from->count};
        for (uint32_t i = 0; i < from->n; i++)
            to->v[i] = (struct fq_slot_amount){sl_strdup(from->v[i].type), from->v[i].amount};
    }
}

/* ---- which kind a pod is of ---- */

static bool has(const struct fq_slot_amount *v, uint32_t n, const char *type, int64_t amount) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i].amount == amount && strcmp(v[i].type, type) == 0)
            return true;
    return false;
}

static bool is_kind(const struct sl_fluxqueue *q, const struct fq_usage *u,
                    const struct fq_slot_amount *v, uint32_t n) {
    uint32_t used = 0, offered = 0;
    for (uint32_t i = 0; i < n; i++)
        offered += v[i].amount > 0;
    for (uint32_t i = 0; i < u->n; i++) {
        if (u->v[i].amount <= 0)
            continue;
        if (!has(v, n, fq_type_of(fq_str(q, u->v[i].resource)), u->v[i].amount))
            return false;
        used++;
    }
    return used == offered;
}

bool fq_kind_find(const struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_usage *u,
                  uint32_t *ret) {
    *ret = FQ_ANY_KIND;
    if (!u)
        return false;
    if (j->n_kinds == 0)
        return is_kind(q, u, j->slot, j->n_slot);
    for (uint32_t k = 0; k < j->n_kinds; k++)
        if (is_kind(q, u, j->kinds[k].v, j->kinds[k].n)) {
            *ret = k;
            return true;
        }
    return false;
}

const struct fq_slot_amount *fq_kind_amounts(const struct fq_job *j, uint32_t kind, uint32_t *ret) {
    if (j->n_kinds) { /* its status may name one that there is not */
        uint32_t k = kind < j->n_kinds ? kind : 0;
        *ret = j->kinds[k].n;
        return j->kinds[k].v;
    }
    *ret = j->n_slot;
    return j->slot;
}

/* ---- which slots a grant is made of ---- */

/* How many slots of each kind are on each node: so that their amounts are those of the grant, on
 * every node, and all slots are there. It is searched depth first, the most of the first kind
 * first; 'left' and 'rest' are what remains with the numbers so far. */
struct split {
    uint32_t n_nodes, n_kinds, n_types;
    sl_sym *nodes;
    int64_t *left;               /* [node][type] */
    int64_t *per;                /* [kind][type] */
    uint32_t rest[FQ_MAX_KINDS]; /* slots of a kind that are on no node yet */
    uint32_t *x;                 /* [node][kind]: the answer */
    const char **types;
};

static void add_type(struct split *s, const char *type) {
    for (uint32_t i = 0; i < s->n_types; i++)
        if (strcmp(s->types[i], type) == 0)
            return;
    s->types[s->n_types++] = type;
}

static void split_kinds(struct split *s, const struct fq_job *j) {
    uint32_t all = 0;
    s->n_kinds = j->n_kinds;
    for (uint32_t k = 0; k < j->n_kinds; k++)
        all += j->kinds[k].n;
    s->types = sl_alloc0(all + 1, sizeof *s->types);
    for (uint32_t k = 0; k < j->n_kinds; k++)
        for (uint32_t i = 0; i < j->kinds[k].n; i++)
            add_type(s, j->kinds[k].v[i].type);
    s->per = sl_alloc0((size_t)s->n_kinds * s->n_types + 1, sizeof *s->per);
    for (uint32_t k = 0; k < j->n_kinds; k++) {
        s->rest[k] = j->kinds[k].count;
        for (uint32_t t = 0; t < s->n_types; t++)
            for (uint32_t i = 0; i < j->kinds[k].n; i++)
                if (strcmp(j->kinds[k].v[i].type, s->types[t]) == 0)
                    s->per[k * s->n_types + t] = j->kinds[k].v[i].amount;
    }
}

/* The pools of a node stand side by side in a grant. */
static void split_nodes(struct split *s, struct sl_fluxqueue *q, const struct sl_grant *g) {
    const struct sl_graph *graph = sl_match_graph(q->match);
    s->nodes = sl_alloc0(g->picks.n + 1, sizeof *s->nodes);
    s->left = sl_alloc0((size_t)(g->picks.n + 1) * s->n_types, sizeof *s->left);
    for (uint32_t i = 0; i < g->picks.n; i++) {
        const struct sl_pick *p = &g->picks.v[i];
        sl_sym node = p->exclusive ? fq_node_at(q, p->v) : 0;
        const char *type = sl_sym_str(sl_graph_syms(graph), sl_graph_vertex(graph, p->v)->type);
        if (!node)
            continue;
        if (s->n_nodes == 0 || s->nodes[s->n_nodes - 1] != node)
            s->nodes[s->n_nodes++] = node;
        for (uint32_t t = 0; t < s->n_types; t++)
            if (strcmp(s->types[t], type) == 0)
                s->left[(size_t)(s->n_nodes - 1) * s->n_types + t] += p->needs;
    }
    s->x = sl_alloc0((size_t)s->n_nodes * s->n_kinds + 1, sizeof *s->x);
}

static void split_done(struct split *s) {
    sl_freep(&s->nodes);
    sl_freep(&s->left);
    sl_freep(&s->per);
    sl_freep(&s->x);
    sl_freep(&s->types);
}

/* So many slots of a kind more on this node, or less. */
static void put(struct split *s, size_t at, int64_t n) {
    size_t node = at / s->n_kinds, kind = at % s->n_kinds;
    for (uint32_t t = 0; t < s->n_types; t++)
        s->left[node * s->n_types + t] -= n * s->per[kind * s->n_types + t];
    s->rest[kind] -= (uint32_t)n;
    s->x[at] += (uint32_t)n;
}

/* As many as there can be; false: with the last kind something of the node remains. */
static bool fill(struct split *s, size_t at) {
    size_t node = at / s->n_kinds, kind = at % s->n_kinds;
    const int64_t *left = &s->left[node * s->n_types], *per = &s->per[kind * s->n_types];
    int64_t most = s->rest[kind];
    for (uint32_t t = 0; t < s->n_types; t++)
        if (per[t] > 0 && left[t] / per[t] < most)
            most = left[t] / per[t];
    put(s, at, most);
    for (uint32_t t = 0; t < s->n_types && kind == s->n_kinds - 1; t++)
        if (left[t] != 0)
            return false;
    return true;
}

static bool solve(struct split *s) {
    size_t all = (size_t)s->n_nodes * s->n_kinds, at = 0;
    uint64_t steps = 0;
    while (at < all) {
        bool good = fill(s, at);
        if (++steps > FQ_MAX_SPLIT + all)
            return false;
        if (good) {
            at++;
            continue;
        }
        for (;;) { /* one less of the last that can have less */
            bool last = at % s->n_kinds == s->n_kinds - 1; /* what remains is its own */
            if (s->x[at] > 0 && !last) {
                put(s, at++, -1);
                break;
            }
            put(s, at, -(int64_t)s->x[at]);
            if (at-- == 0)
                return false;
        }
    }
    return true;
}

bool fq_kinds_take(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_grant *g) {
    _cleanup_(split_done) struct split s = {0};
    split_kinds(&s, j);
    split_nodes(&s, q, g);
    if (!solve(&s))
        return false;
    for (uint32_t i = 0; i < s.n_nodes; i++)
        for (uint32_t k = 0; k < s.n_kinds; k++)
            for (uint32_t n = s.x[(size_t)i * s.n_kinds + k]; n > 0; n--)
                if (j->places.n < FQ_MAX_PODS)
                    *sl_vec_push(&j->places) = (struct fq_place){s.nodes[i], FQ_NO_POD, k, 0};
    return true;
}

/* ---- what is given back ---- */

/* Of each kind: free places beyond what pods of it may still come for, the last first. */
bool fq_kinds_give_back(struct sl_fluxqueue *q, struct fq_job *j) {
    int64_t over[FQ_MAX_KINDS] = {0};
    struct fq_pods_of at = {0};
    uint32_t kept = 0, n = j->places.n;
    for (uint32_t k = 0; k < j->n_kinds; k++)
        over[k] = -(int64_t)j->kinds[k].count;
    for (uint32_t i = 0; i < n; i++)
        over[j->places.v[i].kind]++;
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));) {
        uint32_t kind;
        if (p->ended && fq_kind_find(q, j, p->asked, &kind))
            over[kind]++;
    }
    for (uint32_t i = n; i-- > 0;) {
        struct fq_place *p = &j->places.v[i];
        if (p->pod == FQ_NO_POD && over[p->kind] > 0) {
            over[p->kind]--;
            p->node = 0;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (j->places.v[i].node)
            j->places.v[kept++] = j->places.v[i];
    j->places.n = kept;
    return kept != n;
}
