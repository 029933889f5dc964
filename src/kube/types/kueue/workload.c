/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads: requests of a pod of each podset, as Kubernetes counts them (containers summed, init
 * containers as a maximum, sidecars, overhead, pod-level resources, limits where a request is
 * missing), and its node constraints. The rest of a pod is ignored.
 *
 * A request above its limit does not make the object malformed: Kueue accepts it and reports it at
 * scheduling, so the spec carries the message ('invalid').
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "kube/types/kueue/decode.h"

#define MAX_CONTAINERS 1024
#define MAX_TERMS 1024
#define MAX_TOLERATIONS 1024
#define MAX_MESSAGE_BYTES 16384

/* Resources of a pod while they are added up. */
struct bag {
    struct sl_request v[SL_MAX_PODSET_RESOURCES + 1]; /* the last one takes what is too much */
    uint32_t n;
};

/* One workload being read. */
struct reading {
    struct sl_read *rd;
    struct sl_buf invalid; /* field errors, ", " between them */
    uint32_t n_invalid;
    uint32_t podset;
};

static sl_quantity *entry(struct sl_read *rd, struct bag *b, const char *resource, uint32_t line) {
    for (uint32_t i = 0; i < b->n; i++)
        if (strcmp(b->v[i].resource, resource) == 0)
            return &b->v[i].q;
    b->v[b->n] = (struct sl_request){.resource = resource};
    if (b->n == SL_MAX_PODSET_RESOURCES) {
        rd->half = true;
        sl_read_fail(rd, line, "expected at most %d resources in a pod", SL_MAX_PODSET_RESOURCES);
        return &b->v[b->n].q;
    }
    return &b->v[b->n++].q;
}

static const struct sl_request *find_request(const struct bag *b, const char *resource) {
    for (uint32_t i = 0; i < b->n; i++)
        if (strcmp(b->v[i].resource, resource) == 0)
            return &b->v[i];
    return NULL;
}

static void add_requests(struct sl_read *rd, struct bag *to, const struct bag *from,
                         uint32_t line) {
    for (uint32_t i = 0; i < from->n; i++)
        *entry(rd, to, from->v[i].resource, line) += from->v[i].q;
}

static void raise_to(struct sl_read *rd, struct bag *to, const struct bag *from, uint32_t line) {
    for (uint32_t i = 0; i < from->n; i++) {
        sl_quantity *q = entry(rd, to, from->v[i].resource, line);
        if (from->v[i].q > *q)
            *q = from->v[i].q;
    }
}

/* {cpu: 1, memory: 2Gi} */
static void signed_list(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                        bool negative, struct bag *ret) {
    struct sl_doc_fields f;

    uint32_t n_wrong = rd->n_wrong;
    ret->n = 0;
    sl_doc_fields_open(&f, rd, n, name);
    for (uint32_t i = 0; f.map && i < f.map->n && rd->code == 0; i++) {
        const struct sl_doc_pair *p = &f.map->pairs[i];
        if (!sl_decode_is_label_key(p->key))
            sl_read_fail(rd, p->line, "%s: expected a resource name, got \"%.60s\"", name, p->key);
        sl_quantity q = sl_read_quantity(rd, &p->value, p->key);
        if (q < 0 && !negative)
            sl_read_fail(rd, p->line, "%.60s: must be greater than or equal to 0", p->key);
        *entry(rd, ret, p->key, p->line) = q;
    }
    rd->half |= rd->n_wrong > n_wrong; /* it requests an unknown amount */
}

static void resource_list(struct sl_read *rd, const struct sl_doc_node *n, const char *name,
                          struct bag *ret) {
    signed_list(rd, n, name, false, ret);
}

static const struct sl_request *copy_requests(struct sl_read *rd, const struct bag *b,
                                              uint32_t *ret_n) {
    *ret_n = b->n;
    if (b->n == 0)
        return NULL;
    struct sl_request *v = sl_arena_alloc(rd->arena, b->n * sizeof *v);
    memcpy(v, b->v, b->n * sizeof *v);
    return v;
}

const struct sl_request *sl_decode_requests(struct sl_read *rd, const struct sl_doc_node *n,
                                            const char *name, uint32_t *ret_n) {
    struct bag b;

    signed_list(rd, n, name, false, &b);
    return copy_requests(rd, &b, ret_n);
}

const struct sl_request *sl_decode_factors(struct sl_read *rd, const struct sl_doc_node *n,
                                           const char *name, uint32_t *ret_n) {
    struct bag b;

    signed_list(rd, n, name, true, &b);
    return copy_requests(rd, &b, ret_n);
}

/* ---- containers ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Notes the requests that are above their limits. */
static void compare_with_limits(struct reading *w, const struct bag *requests,
                                const struct bag *limits, const char *where) {
    const char *above[SL_MAX_PODSET_RESOURCES];
    uint32_t n = 0;

    for (uint32_t i = 0; i < requests->n; i++) {
        const struct sl_request *l = find_request(limits, requests->v[i].resource);
        if (l && requests->v[i].q > l->q)
            above[n++] = requests->v[i].resource;
    }
    if (n == 0)
        return;
    qsort(above, n, sizeof above[0], by_name);
    sl_buf_printf(&w->invalid, "%sspec.podSets[%u].template.spec.%s: Invalid value: [",
                  w->n_invalid++ > 0 ? ", " : "", w->podset, where);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            sl_buf_putc(&w->invalid, ',');
        sl_buf_json(&w->invalid, above[i]);
    }
    sl_buf_puts(&w->invalid, "]: requests must not exceed its limits");
}

/* {requests, limits}: what counts. 'where' is the path for messages. */
static void resources(struct reading *w, const struct sl_doc_node *n, const char *where,
                      struct bag *ret) {
    const struct sl_doc_node *requests = sl_doc_node_get(n, "requests"),
                             *limits = sl_doc_node_get(n, "limits");
    const struct sl_doc_node *pods = sl_doc_node_get(requests, "pods");
    struct bag most;

    resource_list(w->rd, requests, "requests", ret);
    resource_list(w->rd, limits, "limits", &most);
    if (pods)
        sl_read_fail(w->rd, pods->line,
                     "requests[pods]: Invalid value: \"pods\": the key is reserved for internal "
                     "kueue use");
    compare_with_limits(w, ret, &most, where);
    for (uint32_t i = 0; i < most.n; i++)
        if (!find_request(ret, most.v[i].resource))
            *entry(w->rd, ret, most.v[i].resource, n->line) = most.v[i].q;
}

static const struct sl_doc_node *map_at(struct sl_read *rd, const struct sl_doc_node *n,
                                        const char *key) {
    const struct sl_doc_node *v = sl_doc_node_get(n, key);

    if (!v || v->kind == SL_DOC_NODE_NULL)
        return NULL;
    if (v->kind != SL_DOC_NODE_MAP) {
        sl_read_fail(rd, v->line, "%s: expected a map, got %s", key,
                     sl_doc_node_kind_name(v->kind));
        return NULL;
    }
    return v;
}

/* The resources of a container, which must be a map to have any. */
static const struct sl_doc_node *resources_of(struct sl_read *rd,
                                              const struct sl_doc_node *container) {
    if (container->kind != SL_DOC_NODE_MAP) {
        rd->half = true;
        sl_read_fail(rd, container->line, "expected a container (a map), got %s",
                     sl_doc_node_kind_name(container->kind));
    }
    return map_at(rd, container, "resources");
}

static bool is_sidecar(const struct sl_doc_node *container) {
    const struct sl_doc_node *policy = sl_doc_node_get(container, "restartPolicy");
    return policy && policy->kind == SL_DOC_NODE_STR && strcmp(policy->text, "Always") == 0;
}

/* As Kubernetes' scheduler counts a pod. */
static void pod_requests(struct reading *w, const struct sl_doc_node *spec, struct bag *sum) {
    struct sl_read *rd = w->rd;
    struct bag one, sidecars = {.n = 0}, start = {.n = 0}, lasting = {.n = 0};
    const struct sl_doc_node *items, *whole;
    char where[64];
    uint32_t n;

    sum->n = 0;
    items = sl_read_list(rd, sl_doc_node_get(spec, "initContainers"), "initContainers",
                         MAX_CONTAINERS, &n);
    for (uint32_t i = 0; i < n; i++) {
        sl_fmt_short(where, sizeof where, "initContainers[%u]", i);
        resources(w, resources_of(rd, &items[i]), where, &one);
        if (is_sidecar(&items[i])) {
            add_requests(rd, &lasting, &one, items[i].line);
            add_requests(rd, &sidecars, &one, items[i].line);
            raise_to(rd, &start, &sidecars, items[i].line);
        } else {
            add_requests(rd, &one, &sidecars, items[i].line);
            raise_to(rd, &start, &one, items[i].line);
        }
    }
    items = sl_read_list(rd, sl_doc_node_get(spec, "containers"), "containers", MAX_CONTAINERS, &n);
    for (uint32_t i = 0; i < n; i++) {
        sl_fmt_short(where, sizeof where, "containers[%u]", i);
        resources(w, resources_of(rd, &items[i]), where, &one);
        add_requests(rd, sum, &one, items[i].line);
    }
    add_requests(rd, sum, &lasting, spec->line);
    raise_to(rd, sum, &start, spec->line);
    whole = map_at(rd, spec, "resources");
    if (whole) {
        resources(w, whole, "resources", &one);
        for (uint32_t i = 0; i < one.n; i++)
            *entry(rd, sum, one.v[i].resource, whole->line) = one.v[i].q;
    }
    resource_list(rd, map_at(rd, spec, "overhead"), "overhead", &one);
    add_requests(rd, sum, &one, spec->line);
    for (uint32_t i = 0; i < sum->n; i++)
        if (sum->v[i].q > SL_QUANTITY_MAX)
            sum->v[i].q = SL_QUANTITY_MAX;
}

/* ---- where it may run ---- */

static struct sl_affinity affinity(struct sl_read *rd, const struct sl_doc_node *spec) {
    const struct sl_doc_node *n = map_at(rd, map_at(rd, spec, "affinity"), "nodeAffinity");
    const struct sl_doc_node *items, *rules;
    struct sl_affinity ret = {0};
    uint32_t n_terms, n_rules;

    n = map_at(rd, n, "requiredDuringSchedulingIgnoredDuringExecution");
    if (!n)
        return ret;
    items = sl_read_list(rd, sl_doc_node_get(n, "nodeSelectorTerms"), "nodeSelectorTerms",
                         MAX_TERMS, &n_terms);
    if (n_terms == 0) {
        sl_read_fail(rd, n->line, "nodeSelectorTerms: must have at least one node selector term");
        return ret;
    }
    struct sl_selector *terms = sl_arena_alloc0(rd->arena, n_terms, sizeof *terms);
    for (uint32_t i = 0; i < n_terms; i++) {
        /* matchFields name nodes, which a flavor has none of. */
        rules = sl_read_list(rd, sl_doc_node_get(&items[i], "matchExpressions"), "matchExpressions",
                             SL_SELECTOR_MAX_RULES, &n_rules);
        if (n_rules == 0)
            continue;
        struct sl_label_rule *v = sl_arena_alloc0(rd->arena, n_rules, sizeof *v);
        for (uint32_t k = 0; k < n_rules; k++)
            v[k] = sl_decode_expression(rd, &rules[k], true);
        terms[i] = (struct sl_selector){.v = v, .n = n_rules};
    }
    return (struct sl_affinity){terms, n_terms};
}

/* ---- podsets ---- */

static void podset(struct reading *w, const struct sl_doc_node *n, struct sl_podset_spec *ret) {
    struct sl_read *rd = w->rd;
    const struct sl_doc_node *template, *spec, *topology, *min;
    struct sl_doc_fields f;
    struct bag sum;

    sl_doc_fields_open(&f, rd, n, "a podset");
    ret->name = sl_doc_field_str(&f, "name", "main");
    if (strlen(ret->name) > 63 || strchr(ret->name, '.') || !sl_decode_is_subdomain(ret->name))
        sl_read_fail(rd, f.line,
                     "name: expected lower-case letters, digits and '-', at most 63 long, got "
                     "\"%.80s\"",
                     ret->name);
    ret->count = (int32_t)sl_doc_field_int(&f, "count", 1, 0, SL_MAX_COUNT);
    min = sl_doc_field(&f, "minCount");
    if (min) {
        ret->min_count = (int32_t)sl_read_int(rd, min, "minCount", INT32_MIN, INT32_MAX);
        if (ret->min_count < 1 || ret->min_count > ret->count)
            sl_read_fail(rd, min->line, "minCount should be positive and less or equal to count");
    }
    topology = sl_doc_field(&f, "topologyRequest");
    ret->group = "";
    if (sl_doc_node_get(topology, "podSetGroupName"))
        ret->group =
            sl_read_str(rd, sl_doc_node_get(topology, "podSetGroupName"), "podSetGroupName");
    template = sl_doc_field_need(&f, "template");
    spec = map_at(rd, template, "spec");
    if (template && !spec)
        sl_read_fail(rd, template->line, "expected the field \"spec\" in the template of a podset");
    sl_doc_fields_close(&f);
    rd->half |= !spec;
    if (rd->code < 0 || !spec)
        return;
    pod_requests(w, spec, &sum);
    ret->requests = copy_requests(rd, &sum, &ret->n_requests);
    ret->node_selector =
        sl_decode_labels(rd, sl_doc_node_get(spec, "nodeSelector"), "nodeSelector");
    ret->affinity = affinity(rd, spec);
    ret->tolerations = sl_decode_tolerations(rd, sl_doc_node_get(spec, "tolerations"),
                                             MAX_TOLERATIONS, &ret->n_tolerations);
}

void sl_decode_podset(struct sl_read *rd, const struct sl_doc_node *n, struct sl_podset_spec *ret) {
    struct reading w = {.rd = rd};

    sl_buf_init(&w.invalid, MAX_MESSAGE_BYTES);
    sl_buf_short(&w.invalid);
    *ret = (struct sl_podset_spec){0};
    podset(&w, n, ret);
    if (w.n_invalid > 0)
        sl_read_fail(rd, n->line, "%s", sl_buf_str(&w.invalid));
    sl_buf_done(&w.invalid);
}

/* ---- the workload ---- */

/* The class it names, if that is what gives its priority. */
static const char *priority_class(struct sl_doc_fields *f, enum sl_decode_version v,
                                  bool *ret_pod_class) {
    struct sl_read *rd = f->rd;
    const char *group, *kind, *name;
    const struct sl_doc_node *ref;
    struct sl_doc_fields r;

    *ret_pod_class = false;
    if (v != SL_V1BETA2) {
        name = sl_doc_field_str(f, "priorityClassName", "");
        group = sl_doc_field_str(f, "priorityClassSource", "");
        if (!*group || !*name)
            return NULL;
        *ret_pod_class = strcmp(group, "scheduling.k8s.io/priorityclass") == 0;
        if (!*ret_pod_class && strcmp(group, "kueue.x-k8s.io/workloadpriorityclass") != 0)
            sl_read_fail(rd, f->line,
                         "priorityClassSource: expected kueue.x-k8s.io/workloadpriorityclass or "
                         "scheduling.k8s.io/priorityclass, got \"%.60s\"",
                         group);
        return name;
    }
    ref = sl_doc_field(f, "priorityClassRef");
    if (!ref)
        return NULL;
    sl_doc_fields_open(&r, rd, ref, "priorityClassRef");
    group = sl_doc_field_str(&r, "group", NULL);
    kind = sl_doc_field_str(&r, "kind", NULL);
    name = sl_doc_field_str(&r, "name", NULL);
    sl_doc_fields_close(&r);
    *ret_pod_class = strcmp(group, "scheduling.k8s.io") == 0;
    if (strcmp(kind, *ret_pod_class ? "PriorityClass" : "WorkloadPriorityClass") != 0 ||
        (!*ret_pod_class && strcmp(group, "kueue.x-k8s.io") != 0))
        sl_read_fail(rd, ref->line,
                     "priorityClassRef: expected WorkloadPriorityClass of kueue.x-k8s.io or "
                     "PriorityClass of scheduling.k8s.io, got \"%.60s\" of \"%.60s\"",
                     kind, group);
    return name;
}

static void priority(struct sl_doc_fields *f, enum sl_decode_version v,
                     struct sl_kueue_object *ret) {
    const struct sl_doc_node *n = sl_doc_field(f, "priority");
    bool pod_class;
    const char *name = priority_class(f, v, &pod_class);

    if (n)
        ret->fact.workload.priority =
            (int32_t)sl_read_int(f->rd, n, "priority", INT32_MIN, INT32_MAX);
    else if (name && pod_class)
        sl_read_fail(f->rd, f->line, "priority should not be nil when %s is set",
                     v == SL_V1BETA2 ? "priorityClassRef" : "priorityClassName");
    else
        ret->priority_class = name;
}

static const char *annotation(struct sl_read *rd, const struct sl_decode_meta *m, const char *key) {
    const struct sl_doc_node *n = sl_doc_node_get(m->annotations, key);
    return n && n->kind != SL_DOC_NODE_NULL ? sl_read_str(rd, n, key) : "";
}

/* A whole number of 32 bits with an optional sign; anything else counts as 0. */
static int32_t boost_of(const char *s) {
    char *end;
    long long v = strtoll(s, &end, 10);

    if (end == s || *end || s[0] == ' ' || v < INT32_MIN || v > INT32_MAX)
        return 0;
    return (int32_t)v;
}

static void podsets(struct reading *w, struct sl_doc_fields *f, struct sl_kueue_object *ret) {
    struct sl_read *rd = w->rd;
    uint32_t n, partial = 0;
    const struct sl_doc_node *list = sl_doc_field_need(f, "podSets");
    const struct sl_doc_node *items = sl_read_list(rd, list, "podSets", SL_MAX_PODSETS, &n);

    if (rd->code == 0 && n == 0)
        sl_read_fail(rd, list ? list->line : f->line, "podSets: expected at least one podset");
    if (n == 0)
        return;
    struct sl_podset_spec *v = sl_arena_alloc0(rd->arena, n, sizeof *v);
    for (uint32_t i = 0; i < n && rd->code == 0; i++) {
        w->podset = i;
        podset(w, &items[i], &v[i]);
        for (uint32_t k = 0; k < i && rd->code == 0; k++)
            if (strcmp(v[k].name, v[i].name) == 0)
                sl_read_fail(rd, items[i].line, "podSets: the name \"%.60s\" is used twice",
                             v[i].name);
        partial += v[i].min_count > 0;
    }
    if (partial > 1)
        sl_read_fail(rd, list->line, "podSets: at most one podSet can use minCount");
    ret->podsets = v;
    ret->n_podsets = n;
}

void sl_decode_workload(struct sl_read *rd, const struct sl_doc_node *spec,
                        const struct sl_decode_meta *m, enum sl_decode_version v,
                        struct sl_kueue_object *ret) {
    struct sl_workload_spec *x = &ret->fact.workload;
    struct reading w = {.rd = rd};
    struct sl_doc_fields f;
    const char *gate;

    if (!spec) {
        sl_read_fail(rd, ret->line, "expected the field \"spec\" in a Workload");
        return;
    }
    sl_buf_init(&w.invalid, MAX_MESSAGE_BYTES);
    sl_buf_short(&w.invalid);
    sl_doc_fields_open(&f, rd, spec, "the spec of a Workload");
    x->ns = m->ns;
    x->name = m->name;
    x->uid = m->uid;
    x->created = m->created;
    x->queue = sl_doc_field_str(&f, "queueName", "");
    x->inactive = !sl_doc_field_bool(&f, "active", true);
    x->max_exec_s = sl_doc_field_int(&f, "maximumExecutionTimeSeconds", 0, 1, INT32_MAX);
    priority(&f, v, ret);
    podsets(&w, &f, ret);
    if (v == SL_V1BETA2)
        sl_doc_field_skip(&f, "preemptionGates");
    sl_doc_fields_close(&f);
    gate = annotation(rd, m, "kueue.x-k8s.io/admission-gated-by");
    x->gated_by = *gate ? gate : NULL;
    x->boost = boost_of(annotation(rd, m, "kueue.x-k8s.io/priority-boost"));
    x->replaces =
        sl_slice_name(m->ns, annotation(rd, m, "kueue.x-k8s.io/workload-slice-replacement-for"));
    if (w.n_invalid > 0)
        x->invalid = sl_arena_printf(rd->arena, "resources validation failed: %s%s%s",
                                     w.n_invalid > 1 ? "[" : "", sl_buf_str(&w.invalid),
                                     w.n_invalid > 1 ? "]" : "");
    sl_buf_done(&w.invalid);
}
