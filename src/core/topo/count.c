/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a request fits where: first into each leaf, then summed up level by level. One walk
 * over the leaves, one over the domains.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/topo/state.h"

#define WORDS_MAX ((size_t)64 << 10)

/* ---- leaves that take no pods ---- */

static bool same_taint(const struct sl_taint *a, const struct sl_taint *b) {
    return a == b || (a && b && a->effect == b->effect && strcmp(a->key, b->key) == 0 &&
                      strcmp(a->value, b->value) == 0);
}

static void exclude(struct topo_query *a, enum topo_exclusion kind, sl_sym res,
                    const struct sl_taint *taint) {
    for (uint32_t i = 0; i < a->n_reasons; i++) {
        struct topo_reason *r = &a->reasons[i];
        if (r->kind == kind && r->res == res && same_taint(r->taint, taint)) {
            r->n++;
            return;
        }
    }
    if (a->n_reasons < MAX_REASONS)
        a->reasons[a->n_reasons++] =
            (struct topo_reason){.kind = kind, .res = res, .taint = taint, .n = 1};
}

static const struct sl_taint *repelled(const struct topo_query *a, const struct topo_node *n) {
    for (uint32_t i = 0; i < n->n_taints; i++) {
        const struct sl_taint *x = &n->taints[i];
        if ((x->effect == SL_TAINT_NO_SCHEDULE || x->effect == SL_TAINT_NO_EXECUTE) &&
            !sl_taint_tolerated(x, a->p->tolerations, a->p->n_tolerations) &&
            !sl_taint_tolerated(x, a->f->tolerations, a->f->n_tolerations))
            return x;
    }
    return NULL;
}

static bool selected(const struct sl_labels *want, const struct sl_labels *have) {
    for (uint32_t i = 0; i < want->n; i++) {
        const char *v = sl_labels_get(have, want->v[i].key);
        if (!v || strcmp(v, want->v[i].value ? want->v[i].value : "") != 0)
            return false;
    }
    return true;
}

static bool near(const struct sl_affinity *f, const struct sl_labels *have) {
    for (uint32_t i = 0; i < f->n; i++)
        if (sl_selector_matches(&f->terms[i], have))
            return true;
    return f->n == 0;
}

/* Only a leaf that is a host has a node to check. */
static bool admits(struct topo_query *a, const struct topo_leaf *l) {
    const struct topo_node *n = a->tree->nodes[l->node];
    const struct sl_taint *x;
    if (!a->tree->by_host)
        return true;
    if ((x = repelled(a, n)))
        exclude(a, EX_TAINT, 0, x);
    else if (!selected(&a->p->node_selector, &n->labels))
        exclude(a, EX_SELECTOR, 0, NULL);
    else if (!near(&a->p->affinity, &n->labels))
        exclude(a, EX_AFFINITY, 0, NULL);
    else
        return true;
    return false;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *reason_text(const struct topo_query *a, const struct topo_reason *r,
                               struct sl_arena *mem) {
    switch (r->kind) {
    case EX_SELECTOR:
        return sl_arena_printf(mem, "nodeSelector: %u", r->n);
    case EX_AFFINITY:
        return sl_arena_printf(mem, "affinity: %u", r->n);
    case EX_TAINT:
        return sl_arena_printf(mem, "taint \"%s%s%s:%s\": %u", r->taint->key,
                               *r->taint->value ? "=" : "", r->taint->value,
                               sl_taint_effect_name(r->taint->effect), r->n);
    case EX_RESOURCE:
        return sl_arena_printf(mem, "resource \"%s\": %u", sl_sym_str(&a->t->syms, r->res), r->n);
    }
    return "";
}

const char *topo_reasons_text(const struct topo_query *a, struct sl_arena *mem) {
    const char *v[MAX_REASONS];
    struct sl_buf b;
    if (a->n_reasons == 0)
        return "";
    sl_buf_init(&b, WORDS_MAX);
    sl_buf_short(&b);
    for (uint32_t i = 0; i < a->n_reasons; i++)
        v[i] = reason_text(a, &a->reasons[i], mem);
    qsort(v, a->n_reasons, sizeof v[0], by_text);
    sl_buf_printf(&b, ". Total nodes: %u; excluded: ", a->tree->leaf_of.n);
    for (uint32_t i = 0; i < a->n_reasons; i++)
        sl_buf_printf(&b, "%s%s", i ? ", " : "", v[i]);
    const char *all = sl_arena_strdup(mem, sl_buf_str(&b));
    sl_buf_done(&b);
    return all;
}

/* ---- counts ---- */

static int64_t times(sl_amount capacity, sl_amount one) {
    int64_t n = capacity / one;
    return capacity < one ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

/* A leaf without "pods" does not limit them. */
static void count_leaf(struct topo_query *a, const struct topo_leaf *l, struct topo_count *c) {
    sl_sym least = 0;
    *c = (struct topo_count){0};
    if (!admits(a, l))
        return;
    *c = (struct topo_count){.pods = INT32_MAX, .pods_l = INT32_MAX, .leader = a->leader};
    for (uint32_t i = 0; i < a->n_needs; i++) {
        const struct topo_need *x = &a->needs[i];
        sl_amount capacity;
        if (!topo_leaf_capacity(a->t, a->tree, l, x->res, &capacity) && x->res == a->t->pods)
            continue;
        c->leader &= capacity >= x->leader;
        if (x->pod == 0)
            continue;
        int64_t n = times(capacity, x->pod), beside = times(capacity - x->leader, x->pod);
        if (n < c->pods) {
            c->pods = n;
            least = x->res;
        }
        if (n == 0 && !a->leader)
            break;
        c->pods_l = beside < c->pods_l ? beside : c->pods_l;
    }
    if (!c->leader)
        c->pods_l = c->pods;
    if (c->pods == 0)
        exclude(a, EX_RESOURCE, least, NULL);
}

/* Pods of the children, whole lumps of them only. With the leader: all, less what it costs where it
 * costs least. */
static void sum_children(const struct topo_query *a, uint32_t level, struct topo_count *c,
                         const struct topo_dom *d) {
    int64_t unit = level + 1 < a->tree->levels->n ? a->unit[level + 1] : 1;
    int64_t cost = INT64_MAX, cost_slices = INT64_MAX;
    *c = (struct topo_count){0};
    for (uint32_t i = 0; i < d->n_children; i++) {
        const struct topo_count *k = &a->tree->counts[d->child + i];
        int64_t pods = k->pods / unit * unit, pods_l = k->pods_l / unit * unit;
        c->pods += pods;
        c->slices += k->slices;
        c->leader |= k->leader;
        if (a->leader && !k->leader)
            continue;
        cost = pods - pods_l < cost ? pods - pods_l : cost;
        cost_slices = k->slices - k->slices_l < cost_slices ? k->slices - k->slices_l : cost_slices;
    }
    c->pods_l = cost == INT64_MAX ? 0 : c->pods - cost;
    c->slices_l = cost == INT64_MAX ? 0 : c->slices - cost_slices;
}

void topo_count_all(struct topo_query *a) {
    const struct topo_tree *tree = a->tree;
    uint32_t lowest = tree->levels->n - 1;
    a->n_reasons = 0;
    for (uint32_t level = lowest + 1; level-- > 0;)
        for (uint32_t i = tree->first[level]; i < tree->first[level + 1]; i++) {
            struct topo_count *c = &tree->counts[i];
            if (level == lowest)
                count_leaf(a, &tree->leaves[i - tree->first[level]], c);
            else
                sum_children(a, level, c, &tree->doms[i]);
            if (level == a->slice_level) {
                c->slices = c->pods / a->size;
                c->slices_l = c->pods_l / a->size;
            }
        }
}
