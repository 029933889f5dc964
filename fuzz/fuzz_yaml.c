/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML and JSON texts, and the Kueue objects in them. Whatever is refused must say so with file and
 * line; whatever is taken must be whole: every string there, every list as long as it says.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct sl_doc_node *n, uint32_t depth) {
    sl_assert(depth <= SL_DOC_MAX_DEPTH && n->line > 0);
    switch (n->kind) {
    case SL_DOC_NODE_STR:
    case SL_DOC_NODE_FLOAT:
    case SL_DOC_NODE_BOOL:
        sl_assert(strlen(n->text) == n->n);
        break;
    case SL_DOC_NODE_LIST:
        for (uint32_t i = 0; i < n->n; i++)
            walk(&n->items[i], depth + 1);
        break;
    case SL_DOC_NODE_MAP:
        for (uint32_t i = 0; i < n->n; i++) {
            sl_assert(n->pairs[i].key != NULL);
            walk(&n->pairs[i].value, depth + 1);
        }
        break;
    case SL_DOC_NODE_NULL:
    case SL_DOC_NODE_INT:
        break;
    }
}

static void check_error(int r, const struct sl_err *err) {
    sl_assert(r < 0 && err->code == r && strncmp(err->text, "in:", 3) == 0);
    sl_assert(err->text[3] >= '1' && err->text[3] <= '9');
}

static uint64_t labels(uint64_t h, const struct sl_labels *l) {
    for (uint32_t i = 0; i < l->n; i++)
        h = sl_digest_str(sl_digest_str(h, l->v[i].key), l->v[i].value);
    return h;
}

static uint64_t groups(uint64_t h, const struct sl_groups *g) {
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t f = 0; f < g->v[i].n_flavors; f++)
            for (uint32_t r = 0; r < g->v[i].n_resources; r++) {
                const struct sl_quota *q = &g->v[i].flavors[f].quotas[r];
                sl_assert(q->nominal >= 0 &&
                          (q->borrow_limit >= 0 || q->borrow_limit == SL_AMOUNT_NONE));
                h = sl_digest_str(h, g->v[i].flavors[f].flavor);
                h = sl_digest_str(h, g->v[i].resources[r]);
            }
    return h;
}

/* Reads everything there is; the sum does not matter. */
static uint64_t read_all(const struct sl_kueue_object *o) {
    const struct sl_fact *f = &o->fact;
    uint64_t h = 0;

    for (uint32_t i = 0; i < o->n_podsets; i++) {
        const struct sl_podset_spec *p = &o->podsets[i];
        sl_assert(p->count >= 0 && p->min_count <= p->count);
        h = sl_digest_str(h, p->name);
        h = labels(h, &p->node_selector);
        for (uint32_t k = 0; k < p->n_requests; k++) {
            sl_assert(p->requests[k].q >= 0 && p->requests[k].q <= SL_QUANTITY_MAX);
            h = sl_digest_str(h, p->requests[k].resource);
        }
        for (uint32_t k = 0; k < p->affinity.n; k++)
            h += sl_selector_matches(&p->affinity.terms[k], &p->node_selector);
        for (uint32_t k = 0; k < p->n_tolerations; k++)
            h = sl_digest_str(h, p->tolerations[k].key);
    }
    if (o->kind == SL_KUEUE_OBJECT_WORKLOAD) {
        sl_assert(o->n_podsets > 0 && o->n_podsets <= SL_MAX_PODSETS && !o->priority_class);
        return sl_digest_str(sl_digest_str(h, f->workload.queue), f->workload.invalid);
    }
    if (o->kind != SL_KUEUE_OBJECT_FACT)
        return h;
    switch (f->kind) {
    case SL_FACT_FLAVOR:
        return labels(sl_digest_str(h, f->flavor.name), &f->flavor.labels);
    case SL_FACT_COHORT:
        return groups(sl_digest_str(h, f->cohort.parent), &f->cohort.groups);
    case SL_FACT_CLUSTER_QUEUE:
        for (uint32_t i = 0; i < f->cq.n_checks; i++)
            h = sl_digest_str(h, f->cq.checks[i].name);
        return groups(sl_digest_str(h, f->cq.cohort), &f->cq.groups);
    case SL_FACT_LOCAL_QUEUE:
        return sl_digest_str(sl_digest_str(h, f->lq.ns), f->lq.cq);
    case SL_FACT_NAMESPACE:
        return labels(sl_digest_str(h, f->ns.name), &f->ns.labels);
    case SL_FACT_CHECK:
        return sl_digest_str(h, f->check.controller);
    case SL_FACT_CONFIG:
        for (uint32_t i = 0; i < f->config.n_transforms; i++)
            h = sl_digest_str(h, f->config.transforms[i].input);
        return h;
    default:
        abort(); /* no manifest has that */
    }
}

static void objects(const struct sl_doc *d) {
    struct sl_kueue_objects list = {0};
    struct sl_arena a;
    struct sl_err err;

    sl_arena_init(&a, (size_t)2 << 30);
    int r = sl_kueue_objects_decode(d, &a, &list, &err);
    if (r < 0)
        check_error(r, &err);
    for (uint32_t i = 0; i < list.v.n; i++)
        (void)read_all(&list.v.v[i]);
    sl_kueue_objects_done(&list);
    sl_arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int json = 0; json < 2; json++) {
        struct sl_doc *d = NULL;
        struct sl_err err;
        int r = json ? sl_doc_json("in", 1, (const char *)data, size, &d, &err)
                     : sl_doc_yaml("in", (const char *)data, size, &d, &err);
        if (r < 0) {
            check_error(r, &err);
            sl_assert(d == NULL);
            continue;
        }
        for (uint32_t i = 0; i < d->n; i++)
            walk(&d->roots[i], 1);
        objects(d);
        sl_doc_free(d);
    }
    return 0;
}
