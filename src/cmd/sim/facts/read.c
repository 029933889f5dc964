/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from JSON: the other side of write.c, field by field. Strings are copied, so that the
 * document of a line may go as soon as the line is decoded.
 */
#include "cmd/sim/facts/facts.h"

#include <string.h>

#define MAX_ITEMS 65536 /* of any list that has no closer ceiling */
#define MAX_TEXT_BYTES ((size_t)4 << 30)

void sl_sim_fact_reader_init(struct sl_sim_fact_reader *r) {
    *r = (struct sl_sim_fact_reader){0};
    sl_arena_init(&r->arena, MAX_TEXT_BYTES);
}

void sl_sim_fact_reader_done(struct sl_sim_fact_reader *r) {
    sl_vec_free(&r->shapes);
    sl_arena_done(&r->arena);
}

/* ---- pieces ---- */

static const char *read_text(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    const char *s = sl_read_str(rd, n, name);
    return *s ? sl_arena_strdup(rd->arena, s) : "";
}

static const char *str(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    return n ? read_text(f->rd, n, key) : "";
}

static int64_t num(struct sl_doc_fields *f, const char *key) {
    return sl_doc_field_int(f, key, 0, INT64_MIN, INT64_MAX);
}

static int32_t num32(struct sl_doc_fields *f, const char *key) {
    return (int32_t)sl_doc_field_int(f, key, 0, INT32_MIN, INT32_MAX);
}

/* The items of a list that has between min and max of them. */
static const struct sl_doc_node *row(struct sl_read *rd, const struct sl_doc_node *n,
                                     const char *name, uint32_t min, uint32_t max,
                                     uint32_t *ret_n) {
    const struct sl_doc_node *items = sl_read_list(rd, n, name, max, ret_n);

    if (rd->code == 0 && *ret_n < min)
        sl_read_fail(rd, n->line, "%s: expected %u items, got %u", name, min, *ret_n);
    if (rd->code < 0)
        *ret_n = 0;
    return items;
}

static const char *const *texts(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                                uint32_t *ret_n) {
    const char *const *from = sl_read_strs(rd, n, name, MAX_ITEMS, ret_n);
    const char **v = NULL;

    if (*ret_n > 0)
        v = sl_arena_alloc(rd->arena, *ret_n * sizeof *v);
    for (uint32_t i = 0; i < *ret_n; i++)
        v[i] = sl_arena_strdup(rd->arena, from[i]);
    return v;
}

static sl_amount amount(struct sl_read *rd, const struct sl_doc_node *n, const char *name) {
    if (n->kind == SL_DOC_NODE_NULL)
        return SL_AMOUNT_NONE;
    return sl_read_int(rd, n, name, INT64_MIN, INT64_MAX);
}

/* Memory for n records, NULL if there are none. */
static void *alloc_records(struct sl_read *rd, uint32_t n, size_t bytes) {
    return n > 0 ? sl_arena_alloc0(rd->arena, n, bytes) : NULL;
}

/* ---- parts of specs ---- */

static struct sl_labels labels(struct sl_doc_fields *f, const char *key) {
    struct sl_labels l = {0};
    const struct sl_doc_node *items = sl_doc_field_list(f, key, MAX_ITEMS, &l.n);
    struct sl_label *v = alloc_records(f->rd, l.n, sizeof *v);

    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t n;
        const struct sl_doc_node *pair = row(f->rd, &items[i], key, 2, 2, &n);
        v[i] =
            n ? (struct sl_label){read_text(f->rd, &pair[0], key), read_text(f->rd, &pair[1], key)}
              : (struct sl_label){"", ""};
    }
    l.v = v;
    return l;
}

static void rules(struct sl_read *rd, const struct sl_doc_node *list, const char *name,
                  struct sl_selector *ret) {
    const struct sl_doc_node *items = sl_read_list(rd, list, name, MAX_ITEMS, &ret->n);
    struct sl_label_rule *v = alloc_records(rd, ret->n, sizeof *v);

    for (uint32_t i = 0; i < ret->n; i++) {
        uint32_t n;
        const struct sl_doc_node *r = row(rd, &items[i], name, 3, 3, &n);
        v[i].key = "";
        if (n == 0)
            continue;
        v[i].key = read_text(rd, &r[0], name);
        v[i].op = (enum sl_label_op)sl_read_choice(rd, &r[1], name, sl_label_op_words);
        v[i].values = texts(rd, &r[2], name, &v[i].n_values);
    }
    ret->v = v;
}

static enum sl_taint_effect effect(struct sl_read *rd, const struct sl_doc_node *n) {
    enum sl_taint_effect e = SL_TAINT_ANY;
    struct sl_err why;

    if (sl_taint_effect_parse(sl_read_str(rd, n, "effect"), &e, &why) < 0)
        sl_read_fail(rd, n->line, "%s", why.text);
    return e;
}

static const struct sl_toleration *tolerations(struct sl_doc_fields *f, uint32_t *ret_n) {
    static const char *const ops[] = {"Equal", "Exists", NULL};
    const struct sl_doc_node *items = sl_doc_field_list(f, "tolerations", MAX_ITEMS, ret_n);
    struct sl_toleration *v = alloc_records(f->rd, *ret_n, sizeof *v);

    for (uint32_t i = 0; i < *ret_n; i++) {
        uint32_t n;
        const struct sl_doc_node *t = row(f->rd, &items[i], "tolerations", 4, 4, &n);
        if (n == 0)
            continue;
        v[i].key = read_text(f->rd, &t[0], "tolerations");
        v[i].value = read_text(f->rd, &t[1], "tolerations");
        v[i].exists = sl_read_choice(f->rd, &t[2], "tolerations", ops) == 1;
        v[i].effect = effect(f->rd, &t[3]);
    }
    return v;
}

static void flavor_quotas(struct sl_read *rd, const struct sl_doc_node *n, uint32_t n_resources,
                          struct sl_flavor_quotas *ret) {
    uint32_t count, three;
    const struct sl_doc_node *items =
        row(rd, n, "flavors", n_resources + 1, n_resources + 1, &count);
    struct sl_quota *v = alloc_records(rd, count > 0 ? n_resources : 0, sizeof *v);

    ret->flavor = count ? read_text(rd, &items[0], "flavors") : "";
    ret->quotas = v;
    for (uint32_t i = 1; i < count; i++) {
        const struct sl_doc_node *q = row(rd, &items[i], "quotas", 3, 3, &three);
        if (three)
            v[i - 1] = (struct sl_quota){amount(rd, &q[0], "nominal"), amount(rd, &q[1], "borrow"),
                                         amount(rd, &q[2], "lend")};
    }
}

static struct sl_groups groups(struct sl_doc_fields *f) {
    struct sl_groups g = {0};
    const struct sl_doc_node *items = sl_doc_field_list(f, "groups", MAX_ITEMS, &g.n);
    struct sl_group_spec *v = alloc_records(f->rd, g.n, sizeof *v);

    for (uint32_t i = 0; i < g.n && f->rd->code == 0; i++) {
        struct sl_doc_fields x;
        sl_doc_fields_open(&x, f->rd, &items[i], "a group");
        v[i].resources =
            texts(f->rd, sl_doc_field(&x, "resources"), "resources", &v[i].n_resources);
        const struct sl_doc_node *flavors =
            sl_doc_field_list(&x, "flavors", MAX_ITEMS, &v[i].n_flavors);
        struct sl_flavor_quotas *q = alloc_records(f->rd, v[i].n_flavors, sizeof *q);
        for (uint32_t k = 0; k < v[i].n_flavors; k++)
            flavor_quotas(f->rd, &flavors[k], v[i].n_resources, &q[k]);
        v[i].flavors = q;
        sl_doc_fields_close(&x);
    }
    g.v = v;
    return g;
}

/* ---- kinds ---- */

static void transform(struct sl_read *rd, const struct sl_doc_node *n, struct sl_transform *ret) {
    struct sl_transform_output *v;
    struct sl_doc_fields f;
    uint32_t two;

    sl_doc_fields_open(&f, rd, n, "a transformation");
    ret->input = str(&f, "input");
    ret->multiply_by = str(&f, "multiplyBy");
    ret->replace = sl_doc_field_bool(&f, "replace", false);
    const struct sl_doc_node *items = sl_doc_field_list(&f, "outputs", MAX_ITEMS, &ret->n_outputs);
    v = alloc_records(rd, ret->n_outputs, sizeof *v);
    for (uint32_t i = 0; i < ret->n_outputs; i++) {
        const struct sl_doc_node *pair = row(rd, &items[i], "outputs", 2, 2, &two);
        if (two)
            v[i] = (struct sl_transform_output){read_text(rd, &pair[0], "outputs"),
                                                sl_read_quantity(rd, &pair[1], "outputs")};
    }
    ret->outputs = v;
    sl_doc_fields_close(&f);
}

static void config(struct sl_doc_fields *f, struct sl_config *c) {
    struct sl_read *rd = f->rd;
    struct sl_resource_weight *w;
    struct sl_transform *t;
    const struct sl_doc_node *items;
    uint32_t two;

    c->gates = (uint32_t)sl_doc_field_int(f, "gates", 0, 0, UINT32_MAX);
    c->no_admission = sl_doc_field_bool(f, "noAdmission", false);
    c->no_lifecycle = sl_doc_field_bool(f, "noLifecycle", false);
    c->fair_sharing = sl_doc_field_bool(f, "fairSharing", false);
    items = sl_doc_field_list(f, "strategies", SL_LEN(c->fair), &c->n_fair);
    for (uint32_t i = 0; i < c->n_fair; i++)
        c->fair[i] = (enum sl_fair_strategy)sl_read_word(rd, &items[i], "strategies",
                                                         SL_VOCAB_FAIR_STRATEGY);
    c->afs = sl_doc_field_bool(f, "afs", false);
    c->afs_half_life = num(f, "afsHalfLife");
    c->afs_sampling = num(f, "afsSampling");
    items = sl_doc_field_list(f, "afsWeights", MAX_ITEMS, &c->n_afs_weights);
    c->afs_weights = w = alloc_records(rd, c->n_afs_weights, sizeof *w);
    for (uint32_t i = 0; i < c->n_afs_weights; i++) {
        const struct sl_doc_node *pair = row(rd, &items[i], "afsWeights", 2, 2, &two);
        if (two)
            w[i] = (struct sl_resource_weight){
                read_text(rd, &pair[0], "afsWeights"),
                sl_read_int(rd, &pair[1], "afsWeights", INT64_MIN, INT64_MAX)};
    }
    c->pods_ready = sl_doc_field_bool(f, "podsReady", false);
    c->block_admission = sl_doc_field_bool(f, "blockAdmission", false);
    c->ready_timeout = num(f, "readyTimeout");
    c->recovery_timeout = num(f, "recoveryTimeout");
    c->order_by_creation = sl_doc_field_bool(f, "byCreation", false);
    c->backoff_base_s = num(f, "backoffBase");
    c->backoff_max_s = num(f, "backoffMax");
    c->backoff_limit = num32(f, "backoffLimit");
    c->exclude_prefixes =
        texts(rd, sl_doc_field(f, "excludePrefixes"), "excludePrefixes", &c->n_exclude);
    items = sl_doc_field_list(f, "transforms", MAX_ITEMS, &c->n_transforms);
    c->transforms = t = alloc_records(rd, c->n_transforms, sizeof *t);
    for (uint32_t i = 0; i < c->n_transforms; i++)
        transform(rd, &items[i], &t[i]);
    c->ignore_undeclared = sl_doc_field_bool(f, "ignoreUndeclared", false);
}

static void flavor(struct sl_doc_fields *f, struct sl_flavor_spec *ret) {
    struct sl_taint *v;
    uint32_t three;

    ret->name = str(f, "name");
    ret->labels = labels(f, "labels");
    const struct sl_doc_node *items = sl_doc_field_list(f, "taints", MAX_ITEMS, &ret->n_taints);
    ret->taints = v = alloc_records(f->rd, ret->n_taints, sizeof *v);
    for (uint32_t i = 0; i < ret->n_taints; i++) {
        const struct sl_doc_node *t = row(f->rd, &items[i], "taints", 3, 3, &three);
        if (three)
            v[i] = (struct sl_taint){read_text(f->rd, &t[0], "taints"),
                                     read_text(f->rd, &t[1], "taints"), effect(f->rd, &t[2])};
    }
    ret->tolerations = tolerations(f, &ret->n_tolerations);
}

static void cluster_queue(struct sl_doc_fields *f, struct sl_cq_spec *q) {
    const struct sl_doc_node *threshold, *items;
    struct sl_check_ref *v;
    uint32_t two;

    q->name = str(f, "name");
    q->cohort = str(f, "cohort");
    q->groups = groups(f);
    q->strategy = (enum sl_strategy)sl_doc_field_word(f, "strategy", SL_VOCAB_STRATEGY, 0);
    q->within = (enum sl_within)sl_doc_field_word(f, "within", SL_VOCAB_WITHIN, 0);
    q->reclaim = (enum sl_reclaim)sl_doc_field_word(f, "reclaim", SL_VOCAB_RECLAIM, 0);
    q->borrow_within =
        (enum sl_borrow_within)sl_doc_field_word(f, "borrowWithin", SL_VOCAB_BORROW_WITHIN, 0);
    threshold = sl_doc_field(f, "threshold");
    q->has_borrow_threshold = threshold != NULL;
    if (threshold)
        q->borrow_threshold =
            (int32_t)sl_read_int(f->rd, threshold, "threshold", INT32_MIN, INT32_MAX);
    q->when_can_borrow = (enum sl_when)sl_doc_field_word(f, "whenCanBorrow", SL_VOCAB_WHEN, 0);
    q->when_can_preempt = (enum sl_when)sl_doc_field_word(f, "whenCanPreempt", SL_VOCAB_WHEN, 0);
    q->preference = (enum sl_preference)sl_doc_field_word(f, "preference", SL_VOCAB_PREFERENCE, 0);
    q->stop = (enum sl_stop)sl_doc_field_word(f, "stop", SL_VOCAB_STOP, 0);
    q->terminating = sl_doc_field_bool(f, "terminating", false);
    q->usage_based = sl_doc_field_bool(f, "usageBased", false);
    q->exact_nodes = sl_doc_field_bool(f, "exactNodes", false);
    q->namespaces.nothing = sl_doc_field_bool(f, "noNamespaces", false);
    rules(f->rd, sl_doc_field(f, "namespaces"), "namespaces", &q->namespaces);
    items = sl_doc_field_list(f, "checks", MAX_ITEMS, &q->n_checks);
    q->checks = v = alloc_records(f->rd, q->n_checks, sizeof *v);
    for (uint32_t i = 0; i < q->n_checks; i++) {
        const struct sl_doc_node *c = row(f->rd, &items[i], "checks", 2, 2, &two);
        v[i].name = two ? read_text(f->rd, &c[0], "checks") : "";
        if (two)
            v[i].flavors = texts(f->rd, &c[1], "checks", &v[i].n_flavors);
    }
    q->weight_nano = num(f, "weight");
}

static void podset(struct sl_read *rd, const struct sl_doc_node *n, struct sl_podset_spec *p) {
    const struct sl_doc_node *items;
    struct sl_selector *terms;
    struct sl_request *v;
    struct sl_doc_fields f, t;
    uint32_t two;

    sl_doc_fields_open(&f, rd, n, "a podset");
    p->name = str(&f, "name");
    p->count = num32(&f, "count");
    p->min_count = num32(&f, "minCount");
    items = sl_doc_field_list(&f, "requests", MAX_ITEMS, &p->n_requests);
    p->requests = v = alloc_records(rd, p->n_requests, sizeof *v);
    for (uint32_t i = 0; i < p->n_requests; i++) {
        const struct sl_doc_node *pair = row(rd, &items[i], "requests", 2, 2, &two);
        if (two)
            v[i] = (struct sl_request){read_text(rd, &pair[0], "requests"),
                                       sl_read_quantity(rd, &pair[1], "requests")};
    }
    p->node_selector = labels(&f, "nodeSelector");
    items = sl_doc_field_list(&f, "affinity", MAX_ITEMS, &p->affinity.n);
    p->affinity.terms = terms = alloc_records(rd, p->affinity.n, sizeof *terms);
    for (uint32_t i = 0; i < p->affinity.n; i++) {
        sl_doc_fields_open(&t, rd, &items[i], "a term");
        terms[i].nothing = sl_doc_field_bool(&t, "nothing", false);
        rules(rd, sl_doc_field(&t, "rules"), "rules", &terms[i]);
        sl_doc_fields_close(&t);
    }
    p->tolerations = tolerations(&f, &p->n_tolerations);
    p->group = str(&f, "group");
    sl_doc_fields_close(&f);
}

static void workload(struct sl_sim_fact_reader *r, struct sl_doc_fields *f,
                     struct sl_sim_fact_line *ret) {
    struct sl_workload_spec *w = &ret->fact.workload;

    w->ns = ret->note.ns;
    w->name = ret->note.name;
    w->uid = str(f, "uid");
    w->job_uid = str(f, "jobUid");
    w->queue = str(f, "queue");
    ret->note.tag = str(f, "tag");
    w->priority = num32(f, "priority");
    w->boost = num32(f, "boost");
    w->created = num(f, "created");
    w->inactive = sl_doc_field_bool(f, "inactive", false);
    w->gated_by = str(f, "gatedBy");
    w->preemption_gated = sl_doc_field_bool(f, "preemptionGated", false);
    w->replaces = str(f, "replaces");
    w->on_hold = sl_doc_field_bool(f, "onHold", false);
    w->max_exec_s = num(f, "maxExec");
    w->invalid = str(f, "invalid");
    if (!*w->gated_by)
        w->gated_by = NULL;
    if (!*w->invalid)
        w->invalid = NULL;
    if (!*ret->note.tag)
        ret->note.tag = NULL;
    const struct sl_doc_node *shape = sl_doc_field(f, "shape");
    if (!shape)
        return;
    if (r->shapes.n == 0) {
        sl_read_fail(f->rd, shape->line, "shape: expected a line with the shape before");
        return;
    }
    ret->shape = (uint32_t)sl_read_int(f->rd, shape, "shape", 1, r->shapes.n);
    ret->note.podsets = r->shapes.v[ret->shape - 1].podsets;
    ret->note.n_podsets = r->shapes.v[ret->shape - 1].n;
}

static void admission(struct sl_doc_fields *f, struct sl_fact *ret) {
    struct sl_read *rd = f->rd;
    struct sl_podset_admission *v;
    uint32_t n, three;

    ret->admission.cq = str(f, "cq");
    const struct sl_doc_node *items = sl_doc_field_list(f, "podsets", MAX_ITEMS, &ret->admission.n);
    ret->admission.podsets = v = alloc_records(rd, ret->admission.n, sizeof *v);
    for (uint32_t i = 0; i < ret->admission.n; i++) {
        const struct sl_doc_node *p = row(rd, &items[i], "podsets", 1, MAX_ITEMS, &n);
        if (n == 0)
            continue;
        v[i].count = (int32_t)sl_read_int(rd, &p[0], "count", INT32_MIN, INT32_MAX);
        v[i].n = n - 1;
        const char **resources = alloc_records(rd, n, sizeof *resources);
        const char **flavors = alloc_records(rd, n, sizeof *flavors);
        sl_amount *usage = alloc_records(rd, n, sizeof *usage);
        for (uint32_t k = 1; k < n; k++) {
            const struct sl_doc_node *u = row(rd, &p[k], "podsets", 3, 3, &three);
            resources[k - 1] = three ? read_text(rd, &u[0], "resource") : "";
            flavors[k - 1] = three ? read_text(rd, &u[1], "flavor") : "";
            usage[k - 1] = three ? sl_read_int(rd, &u[2], "usage", INT64_MIN, INT64_MAX) : 0;
        }
        v[i].resources = resources;
        v[i].flavors = flavors;
        v[i].usage = usage;
    }
    ret->admission.reserved_at = num(f, "reservedAt");
    ret->admission.admitted_at = num(f, "admittedAt");
    ret->admission.evicted = sl_doc_field_bool(f, "evicted", false);
    ret->admission.reason = (enum sl_evict)sl_doc_field_word(f, "reason", SL_VOCAB_EVICT, 0);
}

static void reclaimable(struct sl_doc_fields *f, struct sl_fact *ret) {
    const struct sl_doc_node *items =
        sl_doc_field_list(f, "counts", MAX_ITEMS, &ret->reclaimable.n);
    int32_t *v = alloc_records(f->rd, ret->reclaimable.n, sizeof *v);

    for (uint32_t i = 0; i < ret->reclaimable.n; i++)
        v[i] = (int32_t)sl_read_int(f->rd, &items[i], "counts", INT32_MIN, INT32_MAX);
    ret->reclaimable.counts = v;
}

/* ---- lines ---- */

static void read_shape(struct sl_sim_fact_reader *r, struct sl_read *rd,
                       const struct sl_doc_node *n) {
    struct sl_read own = {.file = rd->file, .arena = &r->arena, .err = rd->err};
    struct sl_podset_spec *v;
    struct sl_doc_fields f;
    uint32_t count;

    sl_doc_fields_open(&f, &own, n, "a shape");
    int64_t number = num(&f, "shape");
    const struct sl_doc_node *items = sl_doc_field_list(&f, "podsets", SL_MAX_PODSETS, &count);
    sl_doc_fields_close(&f);
    if (own.code == 0 && number != (int64_t)r->shapes.n + 1)
        sl_read_fail(&own, n->line, "shape: expected number %u, got %lld", r->shapes.n + 1,
                     (long long)number);
    if (own.code == 0 && r->shapes.n == SL_SIM_FACT_MAX_SHAPES)
        sl_read_fail(&own, n->line, "more than %u shapes", SL_SIM_FACT_MAX_SHAPES);
    v = alloc_records(&own, own.code == 0 ? count : 0, sizeof *v);
    for (uint32_t i = 0; i < count && own.code == 0; i++)
        podset(&own, &items[i], &v[i]);
    if (own.code == 0 && sl_arena_full(&r->arena))
        sl_read_fail(&own, n->line, "shapes take more than %zu bytes of memory", MAX_TEXT_BYTES);
    if (own.code == 0)
        *sl_vec_push(&r->shapes) = (struct sl_sim_fact_shape){v, count};
    if (rd->code == 0)
        rd->code = own.code;
}

static bool find_kind(struct sl_read *rd, const struct sl_doc_node *n, enum sl_fact_kind *ret) {
    const char *name = sl_read_str(rd, n, "fact");

    for (int k = 0; k < SL_FACT_COUNT; k++)
        if (strcmp(sl_fact_name((enum sl_fact_kind)k), name) == 0) {
            *ret = (enum sl_fact_kind)k;
            return true;
        }
    sl_read_fail(rd, n->line, "fact: expected a kind of fact such as workload, got \"%.60s\"",
                 name);
    return false;
}

static void read_kind(struct sl_sim_fact_reader *r, struct sl_doc_fields *f,
                      struct sl_sim_fact_line *ret) {
    struct sl_fact *x = &ret->fact;

    if (x->kind >= SL_FACT_FLAVOR_GONE) {
        ret->note.ns = str(f, "ns");
        ret->note.name = str(f, "name");
    }
    switch (x->kind) {
    case SL_FACT_CONFIG:
        config(f, &x->config);
        break;
    case SL_FACT_FLAVOR:
        flavor(f, &x->flavor);
        break;
    case SL_FACT_COHORT:
        x->cohort.name = str(f, "name");
        x->cohort.parent = str(f, "parent");
        x->cohort.groups = groups(f);
        x->cohort.weight_nano = num(f, "weight");
        break;
    case SL_FACT_CLUSTER_QUEUE:
        cluster_queue(f, &x->cq);
        break;
    case SL_FACT_LOCAL_QUEUE:
        x->lq.ns = str(f, "ns");
        x->lq.name = str(f, "name");
        x->lq.cq = str(f, "cq");
        x->lq.stop = (enum sl_stop)sl_doc_field_word(f, "stop", SL_VOCAB_STOP, 0);
        x->lq.weight_nano = num(f, "weight");
        break;
    case SL_FACT_NAMESPACE:
        x->ns.name = str(f, "name");
        x->ns.labels = labels(f, "labels");
        break;
    case SL_FACT_CHECK:
        x->check.name = str(f, "name");
        x->check.controller = str(f, "controller");
        x->check.active = sl_doc_field_bool(f, "active", false);
        break;
    case SL_FACT_FLAVOR_GONE:
    case SL_FACT_COHORT_GONE:
    case SL_FACT_CLUSTER_QUEUE_GONE:
    case SL_FACT_LOCAL_QUEUE_GONE:
    case SL_FACT_NAMESPACE_GONE:
    case SL_FACT_CHECK_GONE:
        x->gone.ns = ret->note.ns;
        x->gone.name = ret->note.name;
        break;
    case SL_FACT_WORKLOAD:
        workload(r, f, ret);
        break;
    case SL_FACT_ADMISSION:
        admission(f, x);
        break;
    case SL_FACT_PODS_READY:
        x->ready = sl_doc_field_bool(f, "ready", false);
        break;
    case SL_FACT_CHECK_STATE:
        x->check_state.name = str(f, "check");
        x->check_state.state =
            (enum sl_check_state)sl_doc_field_word(f, "state", SL_VOCAB_CHECK_STATE, 0);
        x->check_state.message = str(f, "message");
        x->check_state.requeue_after_s = num(f, "requeueAfter");
        break;
    case SL_FACT_RECLAIMABLE:
        reclaimable(f, x);
        break;
    case SL_FACT_RELEASED:
        x->already_written = sl_doc_field_bool(f, "told", false);
        break;
    case SL_FACT_PAST:
        x->past.requeues = (int32_t)sl_doc_field_int(f, "requeues", 0, 0, INT32_MAX);
        x->past.requeue_at = num(f, "requeueAt");
        x->past.reason = (enum sl_evict)sl_doc_field_word(f, "reason", SL_VOCAB_EVICT, 0);
        x->past.cause = (enum sl_cause)sl_doc_field_word(f, "cause", SL_VOCAB_CAUSE, 0);
        x->past.evicted_at = num(f, "evictedAt");
        x->past.text = str(f, "text");
        x->past.held_back = sl_doc_field_bool(f, "heldBack", false);
        x->past.past_exec_s = num(f, "pastExec");
        break;
    case SL_FACT_WORKLOAD_GONE:
    case SL_FACT_FINISHED:
    case SL_FACT_ADMIT_FAILED:
    case SL_FACT_COUNT:
        break;
    }
}

void sl_sim_fact_decode(struct sl_sim_fact_reader *r, struct sl_read *rd,
                        const struct sl_doc_node *n, struct sl_sim_fact_line *ret) {
    const struct sl_doc_node *fact = sl_doc_node_get(n, "fact");
    struct sl_doc_fields f;

    *ret = (struct sl_sim_fact_line){.kind = SL_LINE_OTHER, .note = {.ns = "", .name = ""}};
    if (!fact && sl_doc_node_get(n, "shape")) {
        ret->kind = SL_LINE_SHAPE;
        read_shape(r, rd, n);
    }
    if (!fact || !find_kind(rd, fact, &ret->fact.kind))
        return;
    ret->kind = SL_LINE_FACT;
    sl_doc_fields_open(&f, rd, n, sl_fact_name(ret->fact.kind));
    sl_doc_field_skip(&f, "fact");
    ret->fact.at = num(&f, "at");
    read_kind(r, &f, ret);
    sl_doc_fields_close(&f);
}
