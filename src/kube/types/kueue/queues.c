/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceFlavor, Cohort, ClusterQueue and LocalQueue. The checks are those of Kueue's schema and
 * webhook (v0.19), with its messages, and in the order of the fields.
 */
#include <string.h>

#include "kube/types/kueue/decode.h"

#define MAX_FLAVOR_PARTS 8 /* labels, taints, tolerations */
#define MAX_TOTAL 256      /* flavors, and resources, of one ClusterQueue */
#define MAX_PAIRS 512      /* flavors times resources of one group */

/* ---- quotas ---- */

/* While the groups of one object are read. */
struct quotas {
    struct sl_read *rd;
    bool cohort;     /* of a Cohort, not a ClusterQueue */
    bool has_parent; /* limits need one */
    struct sl_group_spec *groups;
    uint32_t n;       /* groups read so far, the present one included */
    uint32_t n_wrong; /* rd->n_wrong before them */
};

/* Quotas are whole or there are none: what follows an error, also one that is passed over in
 * lenient reading, would not fit to what came before it. */
static bool is_wrong(const struct quotas *q) {
    return q->rd->code < 0 || q->rd->n_wrong > q->n_wrong;
}

static bool resource_known(const struct quotas *q, const char *name, uint32_t upto) {
    for (uint32_t g = 0; g < q->n; g++) {
        uint32_t n = g + 1 == q->n ? upto : q->groups[g].n_resources;
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(q->groups[g].resources[i], name) == 0)
                return true;
    }
    return false;
}

static bool flavor_known(const struct quotas *q, const char *name, uint32_t upto) {
    for (uint32_t g = 0; g < q->n; g++) {
        uint32_t n = g + 1 == q->n ? upto : q->groups[g].n_flavors;
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(q->groups[g].flavors[i].flavor, name) == 0)
                return true;
    }
    return false;
}

static sl_amount limit(struct quotas *q, struct sl_doc_fields *f, const char *key,
                       const char *resource) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    sl_quantity v;

    if (!n)
        return SL_AMOUNT_NONE;
    v = sl_read_quantity(q->rd, n, key);
    if (v < 0)
        sl_read_fail(q->rd, n->line, "%s: must be greater than or equal to 0", key);
    if (!q->has_parent && strcmp(key, "nominalQuota") != 0)
        sl_read_fail(q->rd, n->line, "%s: must be nil when %s is empty", key,
                     q->cohort ? "parent" : "cohort");
    return sl_amount_of_quota(resource, v);
}

static void quota(struct quotas *q, const struct sl_doc_node *n, const char *resource,
                  struct sl_quota *ret) {
    const struct sl_doc_node *lend;
    struct sl_doc_fields f;
    const char *name;

    sl_doc_fields_open(&f, q->rd, n, "the quota of a resource");
    name = sl_doc_field_str(&f, "name", NULL);
    if (!is_wrong(q) && strcmp(name, resource) != 0)
        sl_read_fail(q->rd, n->line,
                     "name: must match the name in coveredResources, expected \"%.60s\", got "
                     "\"%.60s\"",
                     resource, name);
    ret->nominal = limit(q, &f, "nominalQuota", resource);
    if (ret->nominal == SL_AMOUNT_NONE)
        sl_read_fail(q->rd, n->line, "expected the field \"nominalQuota\" for %.60s", resource);
    ret->borrow_limit = limit(q, &f, "borrowingLimit", resource);
    ret->lend_limit = limit(q, &f, "lendingLimit", resource);
    lend = sl_doc_node_get(n, "lendingLimit");
    if (!q->cohort && lend && ret->lend_limit > ret->nominal)
        sl_read_fail(q->rd, lend->line,
                     "lendingLimit: must be less than or equal to the nominalQuota");
    sl_doc_fields_close(&f);
}

static void flavor_quotas(struct quotas *q, const struct sl_doc_node *n, struct sl_group_spec *g,
                          uint32_t at, struct sl_flavor_quotas *ret) {
    const struct sl_doc_node *items, *name;
    struct sl_quota *v;
    struct sl_doc_fields f;
    uint32_t count;

    sl_doc_fields_open(&f, q->rd, n, "the quotas of a flavor");
    name = sl_doc_field_need(&f, "name");
    ret->flavor = name ? sl_read_str(q->rd, name, "name") : "";
    if (name)
        sl_decode_check_name(q->rd, name->line, "name", ret->flavor);
    if (flavor_known(q, ret->flavor, at))
        sl_read_fail(q->rd, n->line, "name: the flavor \"%.60s\" is listed twice", ret->flavor);
    items = sl_doc_field_list(&f, "resources", SL_MAX_GROUP_RESOURCES, &count);
    sl_doc_fields_close(&f);
    if (!is_wrong(q) && count != g->n_resources)
        sl_read_fail(q->rd, n->line,
                     "flavors must have the same number of resources as the coveredResources, "
                     "expected %u, got %u",
                     g->n_resources, count);
    if (is_wrong(q))
        return;
    v = sl_arena_alloc0(q->rd->arena, count, sizeof *v);
    for (uint32_t i = 0; i < count; i++)
        quota(q, &items[i], g->resources[i], &v[i]);
    ret->quotas = v;
}

static void group(struct quotas *q, const struct sl_doc_node *n) {
    struct sl_group_spec *g = &q->groups[q->n++];
    const struct sl_doc_node *covered, *items;
    struct sl_flavor_quotas *flavors;
    struct sl_doc_fields f;
    uint32_t n_flavors;

    sl_doc_fields_open(&f, q->rd, n, "a resource group");
    covered = sl_doc_field_need(&f, "coveredResources");
    g->resources =
        sl_read_strs(q->rd, covered, "coveredResources", SL_MAX_GROUP_RESOURCES, &g->n_resources);
    if (!is_wrong(q) && g->n_resources == 0)
        sl_read_fail(q->rd, covered->line, "coveredResources: expected at least one resource");
    for (uint32_t i = 0; i < g->n_resources && !is_wrong(q); i++) {
        if (!sl_decode_is_label_key(g->resources[i]))
            sl_read_fail(q->rd, covered->items[i].line,
                         "coveredResources: expected a resource name, got \"%.60s\"",
                         g->resources[i]);
        if (resource_known(q, g->resources[i], i))
            sl_read_fail(q->rd, covered->items[i].line,
                         "coveredResources: the resource \"%.60s\" is listed twice",
                         g->resources[i]);
    }
    items = sl_doc_field_list(&f, "flavors", SL_MAX_GROUP_FLAVORS, &n_flavors);
    sl_doc_fields_close(&f);
    if (!is_wrong(q) && n_flavors == 0)
        sl_read_fail(q->rd, n->line, "flavors: expected at least one flavor");
    if (is_wrong(q))
        return;
    flavors = sl_arena_alloc0(q->rd->arena, n_flavors, sizeof *flavors);
    g->flavors = flavors;
    for (uint32_t i = 0; i < n_flavors && !is_wrong(q); i++) {
        flavor_quotas(q, &items[i], g, i, &flavors[i]);
        g->n_flavors = i + 1;
    }
    if (!q->cohort && g->n_flavors * g->n_resources > MAX_PAIRS)
        sl_read_fail(q->rd, n->line,
                     "number of flavor-resource combinations in a resourceGroup must be \u2264 %d, "
                     "got %u",
                     MAX_PAIRS, g->n_flavors * g->n_resources);
}

static struct sl_groups groups(struct sl_doc_fields *f, bool cohort, bool has_parent) {
    struct quotas q = {
        .rd = f->rd, .cohort = cohort, .has_parent = has_parent, .n_wrong = f->rd->n_wrong};
    uint32_t n, flavors = 0, resources = 0;
    const struct sl_doc_node *items = sl_doc_field_list(f, "resourceGroups", SL_MAX_GROUPS, &n);

    if (n == 0)
        return (struct sl_groups){0};
    q.groups = sl_arena_alloc0(f->rd->arena, n, sizeof *q.groups);
    for (uint32_t i = 0; i < n && !is_wrong(&q); i++) {
        group(&q, &items[i]);
        flavors += q.groups[i].n_flavors;
        resources += q.groups[i].n_resources;
    }
    if (is_wrong(&q)) {
        f->rd->half = true;
        return (struct sl_groups){0};
    }
    if (!cohort && flavors > MAX_TOTAL)
        sl_read_fail(f->rd, items[0].line,
                     "total number of flavors across all resourceGroups must be \u2264 %d, got %u",
                     MAX_TOTAL, flavors);
    if (!cohort && resources > MAX_TOTAL)
        sl_read_fail(
            f->rd, items[0].line,
            "total number of covered resources across all resourceGroups must be \u2264 %d, got %u",
            MAX_TOTAL, resources);
    return (struct sl_groups){q.groups, n};
}

/* The cohort or parent by name, "" for none. */
static const char *parent(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    const char *name = n ? sl_read_str(f->rd, n, key) : "";

    if (*name)
        sl_decode_check_name(f->rd, n->line, key, name);
    return name;
}

/* ---- Cohort ---- */

static void cohort_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                        enum sl_decode_version v, struct sl_cohort_spec *ret) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, spec, "the spec of a Cohort");
    ret->name = name;
    ret->parent = parent(&f, v == SL_V1ALPHA1 ? "parent" : "parentName");
    ret->groups = groups(&f, true, *ret->parent);
    ret->weight_nano = sl_decode_weight(rd, sl_doc_field(&f, "fairSharing"));
    sl_doc_fields_close(&f);
}

void sl_decode_cohort(struct sl_read *rd, const struct sl_doc_node *spec,
                      const struct sl_decode_meta *m, enum sl_decode_version v,
                      struct sl_cohort_spec *ret) {
    cohort_spec(rd, spec, m->name, v, ret);
}

void sl_decode_cohort_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                           struct sl_cohort_spec *ret) {
    cohort_spec(rd, spec, name, SL_V1BETA2, ret);
}

/* ---- ClusterQueue ---- */

static enum sl_when when(struct sl_doc_fields *f, const char *key, const char *older,
                         enum sl_decode_version v, enum sl_when fallback) {
    static const char *const words[] = {"MayStopSearch", "TryNextFlavor", NULL};
    const struct sl_doc_node *n = sl_doc_field(f, key);

    if (!n)
        return fallback;
    if (v != SL_V1BETA2 && n->kind == SL_DOC_NODE_STR && strcmp(n->text, older) == 0)
        return SL_MAY_STOP_SEARCH;
    return (enum sl_when)sl_read_choice(f->rd, n, key, words);
}

static void fungibility(struct sl_read *rd, const struct sl_doc_node *n, enum sl_decode_version v,
                        struct sl_cq_spec *ret) {
    const struct sl_doc_node *preference;
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, n, "flavorFungibility");
    ret->when_can_borrow = when(&f, "whenCanBorrow", "Borrow", v, SL_MAY_STOP_SEARCH);
    ret->when_can_preempt = when(&f, "whenCanPreempt", "Preempt", v, SL_TRY_NEXT_FLAVOR);
    preference = sl_doc_field(&f, "preference");
    if (preference) {
        ret->preference =
            (enum sl_preference)sl_read_word(rd, preference, "preference", SL_VOCAB_PREFERENCE);
        if (ret->when_can_borrow != SL_TRY_NEXT_FLAVOR ||
            ret->when_can_preempt != SL_TRY_NEXT_FLAVOR)
            sl_read_fail(rd, preference->line,
                         "preference: preference \"%s\" requires both whenCanBorrow and "
                         "whenCanPreempt to be TryNextFlavor",
                         sl_word(SL_VOCAB_PREFERENCE, (int)ret->preference));
    }
    sl_doc_fields_close(&f);
}

static void preemption(struct sl_read *rd, const struct sl_doc_node *n, struct sl_cq_spec *ret) {
    const struct sl_doc_node *borrow, *threshold;
    struct sl_doc_fields f, b;

    sl_doc_fields_open(&f, rd, n, "preemption");
    ret->within = (enum sl_within)sl_doc_field_word(&f, "withinClusterQueue", SL_VOCAB_WITHIN, 0);
    ret->reclaim =
        (enum sl_reclaim)sl_doc_field_word(&f, "reclaimWithinCohort", SL_VOCAB_RECLAIM, 0);
    borrow = sl_doc_field(&f, "borrowWithinCohort");
    sl_doc_fields_open(&b, rd, borrow, "borrowWithinCohort");
    ret->borrow_within =
        (enum sl_borrow_within)sl_doc_field_word(&b, "policy", SL_VOCAB_BORROW_WITHIN, 0);
    threshold = sl_doc_field(&b, "maxPriorityThreshold");
    if (threshold) {
        ret->has_borrow_threshold = true;
        ret->borrow_threshold =
            (int32_t)sl_read_int(rd, threshold, "maxPriorityThreshold", INT32_MIN, INT32_MAX);
    }
    sl_doc_fields_close(&b);
    sl_doc_fields_close(&f);
    if (ret->reclaim == SL_RECLAIM_NEVER && ret->borrow_within != SL_BORROW_NEVER)
        sl_read_fail(rd, borrow->line,
                     "preemption: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never");
}

static bool has_flavor(const struct sl_groups *groups, const char *name) {
    for (uint32_t g = 0; g < groups->n; g++)
        for (uint32_t i = 0; i < groups->v[g].n_flavors; i++)
            if (strcmp(groups->v[g].flavors[i].flavor, name) == 0)
                return true;
    return false;
}

static void checks_twice(struct sl_read *rd, uint32_t line, const struct sl_check_ref *v,
                         uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(v[k].name, v[i].name) == 0)
            sl_read_fail(rd, line, "admissionChecks: the check \"%.60s\" is listed twice",
                         v[i].name);
}

static void checks(struct sl_doc_fields *f, enum sl_decode_version v, struct sl_cq_spec *ret) {
    struct sl_doc_fields strategy, rule;
    struct sl_check_ref *refs;
    struct sl_read *rd = f->rd;
    const char *const *names = NULL;
    const struct sl_doc_node *items, *flavors;
    uint32_t n = 0, n_names = 0;

    if (v != SL_V1BETA2)
        names = sl_doc_field_strs(f, "admissionChecks", SL_MAX_QUEUE_CHECKS, &n_names);
    sl_doc_fields_open(&strategy, rd, sl_doc_field(f, "admissionChecksStrategy"),
                       "admissionChecksStrategy");
    items = sl_doc_field_list(&strategy, "admissionChecks", SL_MAX_QUEUE_CHECKS, &n);
    sl_doc_fields_close(&strategy);
    /* As Kueue converts: the older list, if it has entries, replaces the strategy. */
    uint32_t count = n_names > 0 ? n_names : n;
    if (count == 0)
        return;
    refs = sl_arena_alloc0(rd->arena, count, sizeof *refs);
    for (uint32_t i = 0; i < count && rd->code == 0; i++) {
        if (n_names > 0) {
            refs[i].name = names[i];
            checks_twice(rd, f->line, refs, i);
            continue;
        }
        sl_doc_fields_open(&rule, rd, &items[i], "an admission check");
        refs[i].name = sl_doc_field_str(&rule, "name", NULL);
        flavors = sl_doc_field(&rule, "onFlavors");
        refs[i].flavors =
            sl_read_strs(rd, flavors, "onFlavors", SL_MAX_GROUP_FLAVORS, &refs[i].n_flavors);
        for (uint32_t k = 0; k < refs[i].n_flavors && rd->code == 0; k++)
            if (!has_flavor(&ret->groups, refs[i].flavors[k]))
                sl_read_fail(rd, flavors->items[k].line,
                             "onFlavors: expected a flavor of this queue, got \"%.60s\"",
                             refs[i].flavors[k]);
        sl_doc_fields_close(&rule);
        checks_twice(rd, items[i].line, refs, i);
    }
    ret->checks = refs;
    ret->n_checks = count;
}

static bool usage_based(struct sl_read *rd, const struct sl_doc_node *n) {
    static const char *const modes[] = {"NoAdmissionFairSharing", "UsageBasedAdmissionFairSharing",
                                        NULL};
    const struct sl_doc_node *mode;
    struct sl_doc_fields f;

    if (!n)
        return false;
    sl_doc_fields_open(&f, rd, n, "admissionScope");
    mode = sl_doc_field_need(&f, "admissionMode");
    sl_doc_fields_close(&f);
    return mode && sl_read_choice(rd, mode, "admissionMode", modes) == 1;
}

static void cq_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                    enum sl_decode_version v, struct sl_cq_spec *ret) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, spec, "the spec of a ClusterQueue");
    ret->name = name;
    ret->cohort = parent(&f, v == SL_V1BETA2 ? "cohortName" : "cohort");
    ret->groups = groups(&f, false, *ret->cohort);
    ret->strategy = (enum sl_strategy)sl_doc_field_word(&f, "queueingStrategy", SL_VOCAB_STRATEGY,
                                                        SL_BEST_EFFORT_FIFO);
    ret->namespaces =
        sl_decode_selector(rd, sl_doc_field(&f, "namespaceSelector"), "namespaceSelector");
    preemption(rd, sl_doc_field(&f, "preemption"), ret);
    fungibility(rd, sl_doc_field(&f, "flavorFungibility"), v, ret);
    ret->stop = (enum sl_stop)sl_doc_field_word(&f, "stopPolicy", SL_VOCAB_STOP, SL_STOP_NONE);
    ret->weight_nano = sl_decode_weight(rd, sl_doc_field(&f, "fairSharing"));
    ret->usage_based = usage_based(rd, sl_doc_field(&f, "admissionScope"));
    checks(&f, v, ret);
    if (v == SL_V1BETA2)
        sl_doc_field_skip(&f, "concurrentAdmissionPolicy");
    sl_doc_fields_close(&f);
}

void sl_decode_cq(struct sl_read *rd, const struct sl_doc_node *spec,
                  const struct sl_decode_meta *m, enum sl_decode_version v,
                  struct sl_cq_spec *ret) {
    cq_spec(rd, spec, m->name, v, ret);
    ret->terminating = m->terminating;
}

void sl_decode_cq_spec(struct sl_read *rd, const struct sl_doc_node *spec, const char *name,
                       struct sl_cq_spec *ret) {
    *ret = (struct sl_cq_spec){0};
    cq_spec(rd, spec, name, SL_V1BETA2, ret);
}

/* ---- LocalQueue ---- */

void sl_decode_lq(struct sl_read *rd, const struct sl_doc_node *spec,
                  const struct sl_decode_meta *m, struct sl_lq_spec *ret) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, spec, "the spec of a LocalQueue");
    ret->ns = m->ns;
    ret->name = m->name;
    ret->cq = parent(&f, "clusterQueue");
    ret->stop = (enum sl_stop)sl_doc_field_word(&f, "stopPolicy", SL_VOCAB_STOP, SL_STOP_NONE);
    ret->weight_nano = sl_decode_weight(rd, sl_doc_field(&f, "fairSharing"));
    sl_doc_fields_close(&f);
}

/* ---- ResourceFlavor ---- */

static const struct sl_taint *taints(struct sl_doc_fields *f, uint32_t *ret_n) {
    const struct sl_doc_node *items = sl_doc_field_list(f, "nodeTaints", MAX_FLAVOR_PARTS, ret_n),
                             *effect;
    struct sl_taint *v = NULL;
    struct sl_doc_fields t;
    struct sl_err why;

    if (*ret_n > 0)
        v = sl_arena_alloc0(f->rd->arena, *ret_n, sizeof *v);
    for (uint32_t i = 0; i < *ret_n; i++) {
        sl_doc_fields_open(&t, f->rd, &items[i], "a taint");
        v[i].key = sl_doc_field_str(&t, "key", NULL);
        v[i].value = sl_doc_field_str(&t, "value", "");
        effect = sl_doc_field_need(&t, "effect");
        sl_doc_field_skip(&t, "timeAdded");
        if (effect &&
            (sl_taint_effect_parse(sl_read_str(f->rd, effect, "effect"), &v[i].effect, &why) < 0 ||
             v[i].effect == SL_TAINT_ANY))
            sl_read_fail(f->rd, effect->line,
                         "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', "
                         "'NoExecute'");
        if (!sl_decode_is_label_key(v[i].key))
            sl_read_fail(f->rd, t.line, "key: expected a label key, got \"%.80s\"", v[i].key);
        for (uint32_t k = 0; k < i; k++)
            if (v[k].effect == v[i].effect && strcmp(v[k].key, v[i].key) == 0)
                sl_read_fail(f->rd, t.line, "taints must be unique by key and effect pair");
        sl_doc_fields_close(&t);
    }
    return v;
}

void sl_decode_flavor(struct sl_read *rd, const struct sl_doc_node *spec,
                      const struct sl_decode_meta *m, struct sl_flavor_spec *ret) {
    const struct sl_doc_node *labels;
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, spec, "the spec of a ResourceFlavor");
    ret->name = m->name;
    labels = sl_doc_field(&f, "nodeLabels");
    ret->labels = sl_decode_labels(rd, labels, "nodeLabels");
    if (ret->labels.n > MAX_FLAVOR_PARTS)
        sl_read_fail(rd, labels->line, "nodeLabels: expected at most %d labels, got %u",
                     MAX_FLAVOR_PARTS, ret->labels.n);
    ret->taints = taints(&f, &ret->n_taints);
    ret->tolerations = sl_decode_tolerations(rd, sl_doc_field(&f, "tolerations"), MAX_FLAVOR_PARTS,
                                             &ret->n_tolerations);
    if (sl_doc_field(&f, "topologyName") && ret->labels.n == 0)
        sl_read_fail(rd, f.line, "at least one nodeLabel is required when topology is set");
    sl_doc_fields_close(&f);
}
