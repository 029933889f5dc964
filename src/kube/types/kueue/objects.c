/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kind an object is, what all kinds share (metadata, selectors, tolerations, weights), and
 * the small kinds. The large ones have files of their own: queues.c, workload.c, config.c.
 */
#include "kube/types/kueue/objects.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/model/names.h"
#include "kube/types/kueue/decode.h"

#define KUEUE "kueue.x-k8s.io/"
#define CONFIG "config.kueue.x-k8s.io/"
#define MAX_LABELS 4096
#define MAX_LIST_ITEMS 1000000

/* ---- names ---- */

bool sl_decode_is_subdomain(const char *s) {
    return model_name_is_subdomain(s, strlen(s));
}

bool sl_decode_is_label_key(const char *s) {
    return model_name_is_label_key(s, strlen(s));
}

void sl_decode_check_name(struct sl_read *rd, uint32_t line, const char *field, const char *name) {
    if (!sl_decode_is_subdomain(name))
        sl_read_fail(rd, line,
                     "%s: expected a name of lower-case letters, digits, '-' and '.', at most %d "
                     "long, got \"%.60s\"",
                     field, SL_MAX_NAME, name);
}

/* ---- parts ---- */

struct sl_labels sl_decode_labels(struct sl_read *rd, const struct sl_doc_node *n,
                                  const char *name) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, n, name);
    if (!f.map || f.map->n == 0)
        return (struct sl_labels){0};
    if (f.map->n > MAX_LABELS) {
        rd->half = true;
        sl_read_fail(rd, f.line, "%s: expected at most %d labels", name, MAX_LABELS);
        return (struct sl_labels){0};
    }
    struct sl_label *v = sl_arena_alloc(rd->arena, f.map->n * sizeof *v);
    for (uint32_t i = 0; i < f.map->n; i++) {
        const struct sl_doc_pair *p = &f.map->pairs[i];
        if (!sl_decode_is_label_key(p->key))
            sl_read_fail(rd, p->line, "%s: expected a label key, got \"%.80s\"", name, p->key);
        v[i].key = p->key;
        v[i].value = p->value.kind == SL_DOC_NODE_NULL ? "" : sl_read_str(rd, &p->value, p->key);
    }
    return (struct sl_labels){v, f.map->n};
}

struct sl_label_rule sl_decode_expression(struct sl_read *rd, const struct sl_doc_node *n,
                                          bool node) {
    struct sl_label_rule rule = {0};
    const struct sl_doc_node *op;
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, n, "a match expression");
    rule.key = sl_doc_field_str(&f, "key", NULL);
    if (rd->code == 0 && !sl_decode_is_label_key(rule.key))
        sl_read_fail(rd, f.line, "key: expected a label key, got \"%.80s\"", rule.key);
    op = sl_doc_field_need(&f, "operator");
    if (op) /* in the order of enum sl_label_op */
        rule.op = (enum sl_label_op)sl_read_choice(rd, op, "operator",
                                                   node ? sl_label_op_words : sl_selector_op_words);
    rule.values = sl_doc_field_strs(&f, "values", SL_SELECTOR_MAX_VALUES, &rule.n_values);
    sl_doc_fields_close(&f);
    const char *fault = sl_label_op_fault(rule.op, rule.n_values);
    if (fault)
        sl_read_fail(rd, f.line, "values: %s", fault);
    return rule;
}

/* A LabelSelector; absent selects nothing, empty selects all. */
struct sl_selector sl_decode_selector(struct sl_read *rd, const struct sl_doc_node *n,
                                      const char *name) {
    struct sl_labels equal;
    const struct sl_doc_node *items;
    struct sl_doc_fields f;
    uint32_t n_items;

    if (!n)
        return (struct sl_selector){.nothing = true};
    sl_doc_fields_open(&f, rd, n, name);
    equal = sl_decode_labels(rd, sl_doc_field(&f, "matchLabels"), "matchLabels");
    items = sl_doc_field_list(&f, "matchExpressions", SL_SELECTOR_MAX_RULES, &n_items);
    sl_doc_fields_close(&f);
    if (equal.n + n_items == 0)
        return (struct sl_selector){0};
    struct sl_label_rule *v = sl_arena_alloc0(rd->arena, equal.n + n_items, sizeof *v);
    for (uint32_t i = 0; i < equal.n; i++)
        v[i] = (struct sl_label_rule){
            .key = equal.v[i].key, .op = SL_OP_IN, .values = &equal.v[i].value, .n_values = 1};
    for (uint32_t i = 0; i < n_items; i++)
        v[equal.n + i] = sl_decode_expression(rd, &items[i], false);
    return (struct sl_selector){.v = v, .n = equal.n + n_items};
}

static enum sl_taint_effect effect_of(struct sl_doc_fields *f) {
    const struct sl_doc_node *n = sl_doc_field(f, "effect");
    enum sl_taint_effect e = SL_TAINT_ANY;
    struct sl_err why;

    if (n && sl_taint_effect_parse(sl_read_str(f->rd, n, "effect"), &e, &why) < 0)
        sl_read_fail(f->rd, n->line, "effect: %s", why.text);
    return e;
}

const struct sl_toleration *sl_decode_tolerations(struct sl_read *rd, const struct sl_doc_node *n,
                                                  uint32_t max, uint32_t *ret_n) {
    static const char *const ops[] = {"Equal", "Exists", NULL};
    const struct sl_doc_node *items = sl_read_list(rd, n, "tolerations", max, ret_n), *op, *seconds;
    struct sl_toleration *v = NULL;
    struct sl_doc_fields f;

    if (*ret_n > 0)
        v = sl_arena_alloc0(rd->arena, *ret_n, sizeof *v);
    for (uint32_t i = 0; i < *ret_n; i++) {
        sl_doc_fields_open(&f, rd, &items[i], "a toleration");
        v[i].key = sl_doc_field_str(&f, "key", "");
        v[i].value = sl_doc_field_str(&f, "value", "");
        op = sl_doc_field(&f, "operator");
        v[i].exists = op && sl_read_choice(rd, op, "operator", ops) == 1;
        v[i].effect = effect_of(&f);
        seconds = sl_doc_field(&f, "tolerationSeconds");
        sl_doc_fields_close(&f);
        if (seconds && v[i].effect != SL_TAINT_NO_EXECUTE)
            sl_read_fail(rd, f.line, "effect must be 'NoExecute' when 'tolerationSeconds' is set");
        if (!*v[i].key && !v[i].exists)
            sl_read_fail(rd, f.line,
                         "operator must be Exists when 'key' is empty, which means 'match all "
                         "values and all keys'");
        if (*v[i].key && !sl_decode_is_label_key(v[i].key))
            sl_read_fail(rd, f.line, "key: expected a label key, got \"%.80s\"", v[i].key);
        if (v[i].exists && *v[i].value)
            sl_read_fail(rd, f.line, "a value must be empty when 'operator' is 'Exists'");
    }
    return v;
}

int64_t sl_decode_weight(struct sl_read *rd, const struct sl_doc_node *fair_sharing) {
    struct sl_doc_fields f;
    sl_quantity q;

    sl_doc_fields_open(&f, rd, fair_sharing, "fairSharing");
    q = sl_doc_field_quantity(&f, "weight", SL_WEIGHT_ONE);
    sl_doc_fields_close(&f);
    if (q < 0)
        sl_read_fail(rd, f.line, "fairSharing: must be greater than or equal to 0");
    if (q == 1)
        sl_read_fail(rd, f.line, "fairSharing: When not 0, weight must be > 10e-9");
    return q > INT64_MAX ? INT64_MAX : (int64_t)q;
}

static struct sl_decode_meta metadata(struct sl_read *rd, const struct sl_doc_node *n,
                                      uint32_t line, bool namespaced) {
    struct sl_decode_meta m = {.ns = "", .name = "", .uid = ""};
    struct sl_doc_fields f;

    if (!n) {
        sl_read_fail(rd, line, "expected the field \"metadata\" with a name");
        return m;
    }
    sl_doc_fields_open(&f, rd, n, "metadata"); /* the rest of it is not ours to judge */
    m.name = sl_doc_field_str(&f, "name", NULL);
    if (rd->code == 0)
        sl_decode_check_name(rd, sl_doc_node_get(n, "name")->line, "name", m.name);
    if (namespaced) {
        m.ns = sl_doc_field_str(&f, "namespace", "default");
        if (rd->code == 0 && sl_doc_node_get(n, "namespace"))
            sl_decode_check_name(rd, sl_doc_node_get(n, "namespace")->line, "namespace", m.ns);
    }
    m.uid = sl_doc_field_str(&f, "uid", "");
    m.created = sl_doc_field_time(&f, "creationTimestamp", 0);
    m.terminating = sl_doc_field(&f, "deletionTimestamp") != NULL;
    m.annotations = sl_doc_field(&f, "annotations");
    m.labels = sl_doc_field(&f, "labels");
    return m;
}

/* ---- the small kinds ---- */

/* A file has no controller that would set the check active, so only an explicit status makes it
 * inactive. */
static bool check_is_active(struct sl_read *rd, const struct sl_doc_node *status) {
    uint32_t n;
    const struct sl_doc_node *items =
        sl_read_list(rd, sl_doc_node_get(status, "conditions"), "conditions", 64, &n);

    for (uint32_t i = 0; i < n; i++) {
        const struct sl_doc_node *type = sl_doc_node_get(&items[i], "type");
        const struct sl_doc_node *value = sl_doc_node_get(&items[i], "status");
        if (type && value && type->kind == SL_DOC_NODE_STR && value->kind == SL_DOC_NODE_STR &&
            strcmp(type->text, "Active") == 0)
            return strcmp(value->text, "True") == 0;
    }
    return true;
}

static void admission_check(struct sl_read *rd, const struct sl_doc_node *spec,
                            const struct sl_doc_node *status, const struct sl_decode_meta *m,
                            struct sl_check_spec *ret) {
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, rd, spec, "the spec of an AdmissionCheck");
    ret->name = m->name;
    ret->controller = sl_doc_field_str(&f, "controllerName", NULL);
    sl_doc_field_skip(&f, "parameters");
    sl_doc_field_skip(&f, "retryDelayMinutes");
    sl_doc_fields_close(&f);
    ret->active = check_is_active(rd, status);
}

enum kind {
    FLAVOR,
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    CHECK,
    WORKLOAD,
    PRIORITY_CLASS,
    OTHER,
};

static const struct {
    const char *name;
    enum kind kind;
    bool namespaced;
} kinds[] = {
    {"ResourceFlavor", FLAVOR, false},
    {"ClusterQueue", CLUSTER_QUEUE, false},
    {"Cohort", COHORT, false},
    {"LocalQueue", LOCAL_QUEUE, true},
    {"AdmissionCheck", CHECK, false},
    {"Workload", WORKLOAD, true},
    {"WorkloadPriorityClass", PRIORITY_CLASS, false},
    {"ProvisioningRequestConfig", OTHER, false},
    {"Topology", OTHER, false},
    {"MultiKueueCluster", OTHER, false},
    {"MultiKueueConfig", OTHER, false},
};

static void decode_kueue(struct sl_read *rd, const struct sl_doc_node *n, const char *kind,
                         enum sl_decode_version version, struct sl_kueue_object *ret) {
    struct sl_fact *x = &ret->fact;
    struct sl_doc_fields f;
    size_t k = 0;

    while (k < SL_LEN(kinds) && strcmp(kinds[k].name, kind) != 0)
        k++;
    if (k == SL_LEN(kinds)) {
        const char *names[SL_LEN(kinds)];
        for (size_t i = 0; i < SL_LEN(kinds); i++)
            names[i] = kinds[i].name;
        const char *near = sl_read_nearest(kind, names, SL_LEN(names));
        sl_read_fail(rd, sl_doc_node_get(n, "kind")->line,
                     "kind: expected a kind of Kueue such as %s, got \"%.60s\"",
                     near ? near : "ClusterQueue", kind);
        return;
    }
    if (kinds[k].kind == OTHER) {
        ret->kind = SL_KUEUE_OBJECT_OTHER;
        return;
    }
    sl_doc_fields_open(&f, rd, n, kinds[k].name);
    sl_doc_field_skip(&f, "apiVersion");
    sl_doc_field_skip(&f, "kind");
    struct sl_decode_meta m =
        metadata(rd, sl_doc_field(&f, "metadata"), n->line, kinds[k].namespaced);
    if (kinds[k].kind == PRIORITY_CLASS) {
        const struct sl_doc_node *value = sl_doc_field_need(&f, "value");
        ret->kind = SL_KUEUE_OBJECT_PRIORITY_CLASS;
        ret->name = m.name;
        ret->value = value ? (int32_t)sl_read_int(rd, value, "value", INT32_MIN, INT32_MAX) : 0;
        sl_doc_field_skip(&f, "description");
        sl_doc_fields_close(&f);
        return;
    }
    const struct sl_doc_node *spec = sl_doc_field(&f, "spec"), *status = sl_doc_field(&f, "status");
    struct sl_doc_node none = {.kind = SL_DOC_NODE_NULL};
    sl_doc_fields_close(&f);
    switch (kinds[k].kind) {
    case FLAVOR:
        x->kind = SL_FACT_FLAVOR;
        sl_decode_flavor(rd, spec, &m, &x->flavor);
        break;
    case CLUSTER_QUEUE:
        x->kind = SL_FACT_CLUSTER_QUEUE;
        sl_decode_cq(rd, spec, &m, version, &x->cq);
        break;
    case COHORT:
        x->kind = SL_FACT_COHORT;
        sl_decode_cohort(rd, spec, &m, version, &x->cohort);
        break;
    case LOCAL_QUEUE:
        x->kind = SL_FACT_LOCAL_QUEUE;
        sl_decode_lq(rd, spec, &m, &x->lq);
        break;
    case CHECK:
        x->kind = SL_FACT_CHECK;
        /* Without a spec, what is missing in it is reported at the object's line. */
        none.line = n->line;
        admission_check(rd, spec ? spec : &none, status, &m, &x->check);
        break;
    case WORKLOAD:
        ret->kind = SL_KUEUE_OBJECT_WORKLOAD;
        x->kind = SL_FACT_WORKLOAD;
        sl_decode_workload(rd, spec, &m, version, ret);
        break;
    case PRIORITY_CLASS:
    case OTHER:
        break;
    }
}

static const char *text_field(struct sl_read *rd, const struct sl_doc_node *n, const char *key) {
    const struct sl_doc_node *v = sl_doc_node_get(n, key);

    if (!v || v->kind == SL_DOC_NODE_NULL) {
        sl_read_fail(rd, n->line, "expected an object with the field \"%s\"", key);
        return "";
    }
    return sl_read_str(rd, v, key);
}

void sl_kueue_object_decode(struct sl_read *rd, const struct sl_doc_node *n,
                            struct sl_kueue_object *ret) {
    static const char *const versions[] = {"v1alpha1", "v1beta1", "v1beta2"};
    const char *api, *kind;

    *ret = (struct sl_kueue_object){.line = n->line};
    if (n->kind != SL_DOC_NODE_MAP) {
        sl_read_fail(rd, n->line, "expected an object with apiVersion and kind, got %s",
                     sl_doc_node_kind_name(n->kind));
        return;
    }
    api = text_field(rd, n, "apiVersion");
    kind = text_field(rd, n, "kind");
    if (rd->code < 0)
        return;
    if (strcmp(api, "v1") == 0 && strcmp(kind, "Namespace") == 0) {
        struct sl_decode_meta m = metadata(rd, sl_doc_node_get(n, "metadata"), n->line, false);
        ret->fact.kind = SL_FACT_NAMESPACE;
        ret->fact.ns.name = m.name;
        ret->fact.ns.labels = sl_decode_labels(rd, m.labels, "labels");
        return;
    }
    bool config = strncmp(api, CONFIG, strlen(CONFIG)) == 0;
    bool kueue = strncmp(api, KUEUE, strlen(KUEUE)) == 0;
    const char *version = config ? api + strlen(CONFIG) : kueue ? api + strlen(KUEUE) : "";
    for (size_t i = config ? 1 : 0; i < SL_LEN(versions); i++) {
        if (strcmp(version, versions[i]) != 0)
            continue;
        if (config && strcmp(kind, "Configuration") == 0) {
            ret->fact.kind = SL_FACT_CONFIG;
            sl_decode_config(rd, n, i == SL_V1BETA1, &ret->fact.config);
            return;
        }
        if (kueue) {
            decode_kueue(rd, n, kind, (enum sl_decode_version)i, ret);
            return;
        }
    }
    sl_read_fail(rd, n->line,
                 "expected an object of kueue.x-k8s.io/v1beta1 or v1beta2, a v1 Namespace or a "
                 "config.kueue.x-k8s.io Configuration, got %.60s of \"%.60s\"",
                 *kind ? kind : "something", api);
}

/* ---- whole documents ---- */

void sl_kueue_objects_done(struct sl_kueue_objects *o) {
    sl_vec_free(&o->v);
}

static bool is_list(const struct sl_doc_node *n) {
    const struct sl_doc_node *kind = sl_doc_node_get(n, "kind"),
                             *api = sl_doc_node_get(n, "apiVersion");
    size_t len = kind && kind->kind == SL_DOC_NODE_STR ? kind->n : 0;

    if (len < 4 || strcmp(kind->text + len - 4, "List") != 0 || !api ||
        api->kind != SL_DOC_NODE_STR)
        return false;
    return strcmp(api->text, "v1") == 0 || strncmp(api->text, KUEUE, strlen(KUEUE)) == 0;
}

static void look_up_priorities(struct sl_read *rd, struct sl_kueue_objects *o, uint32_t from) {
    struct sl_map classes = {0};
    uint32_t cursor, k;

    for (k = 0; k < o->v.n; k++)
        if (o->v.v[k].kind == SL_KUEUE_OBJECT_PRIORITY_CLASS)
            sl_map_add(&classes, sl_hash_str(0, o->v.v[k].name), k);
    for (uint32_t i = from; i < o->v.n && rd->code == 0; i++) {
        struct sl_kueue_object *w = &o->v.v[i];
        if (w->kind != SL_KUEUE_OBJECT_WORKLOAD || !w->priority_class)
            continue;
        uint64_t hash = sl_hash_str(0, w->priority_class);
        k = sl_map_first(&classes, hash, &cursor);
        while (k != SL_MAP_NONE && strcmp(o->v.v[k].name, w->priority_class) != 0)
            k = sl_map_next(&classes, hash, &cursor);
        if (k == SL_MAP_NONE) {
            sl_read_fail(rd, w->line,
                         "expected a priority, or a WorkloadPriorityClass \"%.60s\" among the "
                         "objects",
                         w->priority_class);
            break;
        }
        w->fact.workload.priority = o->v.v[k].value;
        w->priority_class = NULL;
    }
    sl_map_done(&classes);
}

int sl_kueue_objects_decode(const struct sl_doc *d, struct sl_arena *a, struct sl_kueue_objects *o,
                            struct sl_err *err) {
    struct sl_read rd = {.file = d->file, .arena = a, .err = err};
    uint32_t from = o->v.n;

    for (uint32_t i = 0; i < d->n && rd.code == 0; i++) {
        const struct sl_doc_node *items = &d->roots[i];
        uint32_t n = 1;
        if (is_list(items))
            items = sl_read_list(&rd, sl_doc_node_get(items, "items"), "items", MAX_LIST_ITEMS, &n);
        for (uint32_t k = 0; k < n && rd.code == 0; k++) {
            struct sl_kueue_object x;
            sl_kueue_object_decode(&rd, &items[k], &x);
            if (rd.code == 0)
                *sl_vec_push(&o->v) = x;
        }
    }
    if (rd.code == 0)
        look_up_priorities(&rd, o, from);
    if (rd.code < 0)
        o->v.n = from;
    return rd.code;
}
