/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a load generator file. All names and counts are expanded here, so that running needs no
 * further checks.
 */
#include "cmd/sim/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/kueue/objects.h"

/* ---- names ---- */

/* Remembers "kind/name"; false if it was there already, or cannot be a name. */
static bool claim(struct sl_load_reader *r, uint32_t line, const char *kind, const char *name) {
    char key[2 * SL_MAX_NAME + 16];
    if (strlen(name) > 2 * SL_MAX_NAME + 1) { /* of a LocalQueue: namespace/name */
        sl_read_fail(&r->rd, line, "the name \"%.60s…\" is too long", name);
        return false;
    }
    sl_fmt(key, sizeof(key), "%s/%s", kind, name);
    if (sl_sym_find(&r->names, key) != SL_MAP_NONE)
        return false;
    (void)sl_sym_put(&r->names, key);
    return true;
}

const char *sl_load_number(struct sl_load_reader *r, const char *name, bool counted, uint32_t i) {
    return counted ? sl_arena_printf(&r->load->arena, "%s-%u", name, i) : name;
}

/* Kubernetes' rule for names of this kind: lower case letters, digits, '-' and '.'. */
static void check_name(struct sl_load_reader *r, uint32_t line, const char *name) {
    size_t n = strlen(name);
    bool ok = n > 0 && n <= 200 && name[0] != '-' && name[0] != '.' && name[n - 1] != '-' &&
              name[n - 1] != '.';
    for (size_t i = 0; ok && i < n; i++)
        ok = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
             name[i] == '-' || name[i] == '.';
    if (!ok)
        sl_read_fail(&r->rd, line,
                     "expected a name of at most 200 lower case letters, digits, '-' and '.', got "
                     "\"%.60s\"",
                     name);
}

/* ---- facts ---- */

static struct sl_fact *add_fact(struct sl_load_reader *r, enum sl_fact_kind kind) {
    struct sl_fact *f = sl_vec_push(&r->load->facts);
    *f = (struct sl_fact){.kind = kind, .at = SL_SIM_EPOCH};
    return f;
}

static void add_namespace(struct sl_load_reader *r, uint32_t line, const char *name) {
    if (claim(r, line, "ns", name))
        add_fact(r, SL_FACT_NAMESPACE)->ns.name = name;
}

/* The flavors that a quota names exist, unless the file defines them. */
static void add_flavors(struct sl_load_reader *r, uint32_t line, const struct sl_groups *groups) {
    for (uint32_t g = 0; g < groups->n; g++) {
        for (uint32_t i = 0; i < groups->v[g].n_flavors; i++) {
            const char *name = groups->v[g].flavors[i].flavor;
            if (claim(r, line, "flavor", name))
                add_fact(r, SL_FACT_FLAVOR)->flavor.name = name;
        }
    }
}

static void add_stream(struct sl_load_reader *r, const char *ns, const char *queue,
                       const struct sl_load_class *k, uint32_t first) {
    struct sl_load *l = r->load;
    if (r->rd.code < 0 || k->count == 0)
        return;
    if (l->streams.n >= SL_LOAD_MAX_STREAMS) {
        sl_read_fail(&r->rd, k->line, "more than %u pairs of queue and class", SL_LOAD_MAX_STREAMS);
        return;
    }
    l->total += k->count; /* both are below 2^63 */
    if (l->total > SL_LOAD_MAX_WORKLOADS) {
        sl_read_fail(&r->rd, k->line, "more than %" PRIu64 " workloads in all",
                     SL_LOAD_MAX_WORKLOADS);
        return;
    }
    *sl_vec_push(&l->streams) =
        (struct sl_load_stream){.ns = ns, .queue = queue, .klass = k, .first = first};
}

/* The same class may come several times to a queue: its workloads are numbered on. */
static void add_streams(struct sl_load_reader *r, const char *ns, const char *queue,
                        const struct sl_load_class *classes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint64_t first = 0;
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(classes[k].name, classes[i].name) == 0)
                first += classes[k].count;
        }
        add_stream(r, ns, queue, &classes[i], (uint32_t)first);
    }
}

void sl_load_add_queue(struct sl_load_reader *r, uint32_t line, const char *name,
                       const char *cohort, const struct sl_cq_spec *spec,
                       const struct sl_load_class *classes, uint32_t n_classes) {
    if (r->rd.code < 0)
        return;
    if (++r->n_queues > SL_LOAD_MAX_QUEUES) {
        sl_read_fail(&r->rd, line, "more than %u queues", SL_LOAD_MAX_QUEUES);
        return;
    }
    check_name(r, line, name);
    if (!claim(r, line, "queue", name)) {
        sl_read_fail(&r->rd, line, "there are two queues with the name \"%.100s\"", name);
        return;
    }
    add_flavors(r, line, &spec->groups);
    struct sl_fact *f = add_fact(r, SL_FACT_CLUSTER_QUEUE);
    f->cq = *spec;
    f->cq.name = name;
    f->cq.cohort = cohort;
    add_namespace(r, line, name);
    f = add_fact(r, SL_FACT_LOCAL_QUEUE);
    f->lq = (struct sl_lq_spec){.ns = name, .name = name, .cq = name, .weight_nano = SL_WEIGHT_ONE};
    (void)claim(r, line, "local", sl_arena_printf(&r->load->arena, "%s/%s", name, name));
    add_streams(r, name, name, classes, n_classes);
}

/* ---- classes ---- */

static const struct sl_load_class *class_named(const struct sl_load_reader *r, const char *name) {
    for (uint32_t i = 0; i < r->n_classes; i++) {
        if (strcmp(r->classes[i].name, name) == 0)
            return &r->classes[i];
    }
    return NULL;
}

/* {name, count, request}; one of them may be all there is to a class. */
static void read_podset(struct sl_load_reader *r, const struct sl_doc_node *n,
                        struct sl_podset_spec *ret) {
    struct sl_doc_fields f;
    *ret = (struct sl_podset_spec){.group = ""};
    sl_doc_fields_open(&f, &r->rd, n, "a podset");
    ret->name = sl_doc_field_str(&f, "name", "main");
    ret->count = (int32_t)sl_doc_field_int(&f, "count", 1, 1, SL_MAX_COUNT);
    ret->min_count = (int32_t)sl_doc_field_int(&f, "minCount", 0, 0, ret->count);
    ret->requests =
        sl_decode_requests(&r->rd, sl_doc_field(&f, "request"), "request", &ret->n_requests);
    sl_doc_fields_close(&f);
}

static void read_podsets(struct sl_load_reader *r, struct sl_doc_fields *f,
                         struct sl_load_class *k) {
    uint32_t n;
    const struct sl_doc_node *list = sl_doc_field_list(f, "podSets", SL_MAX_PODSETS, &n);
    const struct sl_doc_node *request = sl_doc_field(f, "request"), *pods = sl_doc_field(f, "pods");
    if (n > 0 && (request || pods)) {
        sl_read_fail(&r->rd, f->line, "podSets stands in place of request and pods");
        return;
    }
    if (n == 0 && !request && !pods)
        return; /* inherited, or checked by the caller */
    struct sl_podset_spec *v = sl_arena_alloc0(&r->load->arena, n ? n : 1, sizeof(*v));
    if (n == 0) {
        n = 1;
        v[0].name = "main";
        v[0].group = "";
        v[0].count = pods         ? (int32_t)sl_read_int(&r->rd, pods, "pods", 1, SL_MAX_COUNT)
                     : k->podsets ? k->podsets[0].count
                                  : 1;
        if (request)
            v[0].requests = sl_decode_requests(&r->rd, request, "request", &v[0].n_requests);
        else if (k->n_podsets == 1) {
            v[0].requests = k->podsets[0].requests;
            v[0].n_requests = k->podsets[0].n_requests;
        }
    } else {
        for (uint32_t i = 0; i < n; i++)
            read_podset(r, &list[i], &v[i]);
    }
    k->podsets = v;
    k->n_podsets = n;
}

/* A class of the file ("name"), or what a queue gets of one ("class", inheriting what it does not
 * set). */
static void read_class(struct sl_load_reader *r, const struct sl_doc_node *n, const char *key,
                       struct sl_load_class *k) {
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, &r->rd, n, "a class");
    const char *name = sl_doc_field_str(&f, key, NULL);
    const struct sl_load_class *base = key[0] == 'c' ? class_named(r, name) : NULL;
    *k = base ? *base : (struct sl_load_class){.count = 1, .interval = SL_SEC, .runtime = -1};
    k->name = name;
    k->line = n->line;
    if (r->rd.code >= 0)
        check_name(r, n->line, name);
    k->count = (uint64_t)sl_doc_field_int(&f, "count", (int64_t)k->count, 0, INT64_MAX / 2);
    if (k->count > SL_LOAD_MAX_WORKLOADS)
        sl_read_fail(&r->rd, n->line, "count: expected at most %" PRIu64 ", got %" PRIu64,
                     SL_LOAD_MAX_WORKLOADS, k->count);
    k->start = sl_doc_field_span(&f, "start", k->start);
    k->interval = sl_doc_field_span(&f, "interval", k->interval);
    k->runtime = sl_doc_field_span(&f, "runtime", k->runtime);
    k->priority = (int32_t)sl_doc_field_int(&f, "priority", k->priority, INT32_MIN, INT32_MAX);
    read_podsets(r, &f, k);
    sl_doc_fields_close(&f);
    if (r->rd.code < 0)
        return;
    if (k->start < 0 || k->interval < 0)
        sl_read_fail(&r->rd, n->line, "start and interval: expected 0s or more");
    else if (k->runtime < 0)
        sl_read_fail(&r->rd, n->line, "class \"%.60s\": runtime: expected 0s or more, got %s", name,
                     k->runtime == -1 ? "nothing" : "less");
    else if (k->n_podsets == 0)
        sl_read_fail(&r->rd, n->line, "class \"%.60s\": expected a request, e.g. request: {cpu: 1}",
                     name);
    else if (k->interval > 0 && (SL_TIME_NEVER / 4 - k->start) / k->interval < (int64_t)k->count)
        sl_read_fail(&r->rd, n->line, "class \"%.60s\": count times interval is beyond all time",
                     name);
}

static struct sl_load_class *read_classes(struct sl_load_reader *r, struct sl_doc_fields *f,
                                          const char *list_name, const char *key, uint32_t *ret_n) {
    const struct sl_doc_node *list = sl_doc_field_list(f, list_name, SL_LOAD_MAX_CLASSES, ret_n);
    struct sl_load_class *v = sl_arena_alloc0(&r->load->arena, *ret_n + 1, sizeof(*v));
    for (uint32_t i = 0; i < *ret_n; i++)
        read_class(r, &list[i], key, &v[i]);
    return v;
}

/* ---- queues and cohorts ---- */

/* The spec as if it named its cohort: limits on borrowing are only legal with one. */
static const struct sl_doc_node *with_cohort(struct sl_load_reader *r,
                                             const struct sl_doc_node *spec, const char *cohort) {
    if (!spec || spec->kind != SL_DOC_NODE_MAP || !*cohort)
        return spec;
    if (sl_doc_node_get(spec, "cohortName") || sl_doc_node_get(spec, "cohort")) {
        sl_read_fail(&r->rd, spec->line, "cohortName: the queue belongs to the cohort around it");
        return spec;
    }
    struct sl_doc_pair *pairs = sl_arena_alloc0(&r->load->arena, spec->n + 1, sizeof(*pairs));
    if (spec->n > 0)
        memcpy(pairs, spec->pairs, spec->n * sizeof(*pairs));
    pairs[spec->n] = (struct sl_doc_pair){
        .key = "cohortName",
        .line = spec->line,
        .value = {.kind = SL_DOC_NODE_STR,
                  .line = spec->line,
                  .n = (uint32_t)strlen(cohort),
                  .text = cohort},
    };
    struct sl_doc_node *copy = sl_arena_alloc0(&r->load->arena, 1, sizeof(*copy));
    *copy = *spec;
    copy->pairs = pairs;
    copy->n = spec->n + 1;
    return copy;
}

static uint32_t read_count(struct sl_doc_fields *f, bool *ret_counted) {
    const struct sl_doc_node *n = sl_doc_field(f, "count");
    *ret_counted = n != NULL;
    return n ? (uint32_t)sl_read_int(f->rd, n, "count", 0, SL_LOAD_MAX_QUEUES) : 1;
}

/* One entry of a list of queues, which may stand for many. */
static void read_queue(struct sl_load_reader *r, const struct sl_doc_node *n, const char *cohort,
                       bool cohort_counted) {
    struct sl_doc_fields f;
    struct sl_cq_spec spec;
    bool counted;
    uint32_t n_classes;
    sl_doc_fields_open(&f, &r->rd, n, "a queue");
    const char *name = sl_doc_field_str(&f, "name", NULL);
    uint32_t count = read_count(&f, &counted);
    const struct sl_doc_node *node = sl_doc_field_need(&f, "spec");
    const struct sl_load_class *classes = r->classes;
    if (sl_doc_field(&f, "workloads"))
        classes = read_classes(r, &f, "workloads", "class", &n_classes);
    else
        n_classes = r->n_classes;
    sl_doc_fields_close(&f);
    if (r->rd.code < 0)
        return;
    sl_decode_cq_spec(&r->rd, with_cohort(r, node, cohort), name, &spec);
    if (r->rd.code >= 0 && !sl_doc_node_get(node, "namespaceSelector"))
        spec.namespaces = (struct sl_selector){0}; /* a queue of a load takes its own work */
    const char *prefixed =
        cohort_counted ? sl_arena_printf(&r->load->arena, "%s-%s", cohort, name) : name;
    for (uint32_t i = 0; i < count && r->rd.code >= 0; i++)
        sl_load_add_queue(r, n->line, sl_load_number(r, prefixed, counted, i), cohort, &spec,
                          classes, n_classes);
}

static void read_cohort(struct sl_load_reader *r, const struct sl_doc_node *n) {
    if (sl_doc_node_get(n, "className")) {
        sl_load_read_kueue(r, n);
        return;
    }
    struct sl_doc_fields f;
    bool counted;
    uint32_t n_queues;
    sl_doc_fields_open(&f, &r->rd, n, "a cohort");
    const char *name = sl_doc_field_str(&f, "name", NULL);
    uint32_t count = read_count(&f, &counted);
    const struct sl_doc_node *spec = sl_doc_field(&f, "spec");
    const struct sl_doc_node *queues =
        sl_doc_field_list(&f, "queues", SL_LOAD_MAX_QUEUES, &n_queues);
    sl_doc_fields_close(&f);
    for (uint32_t i = 0; i < count && r->rd.code >= 0; i++) {
        const char *own = sl_load_number(r, name, counted, i);
        check_name(r, n->line, own);
        if (spec && r->rd.code >= 0) {
            struct sl_cohort_spec decoded;
            sl_decode_cohort_spec(&r->rd, spec, own, &decoded);
            add_flavors(r, n->line, &decoded.groups);
            add_fact(r, SL_FACT_COHORT)->cohort = decoded;
        }
        for (uint32_t k = 0; k < n_queues && r->rd.code >= 0; k++)
            read_queue(r, &queues[k], own, counted);
    }
}

/* ---- Kueue's objects ---- */

static void add_object(struct sl_load_reader *r, const struct sl_kueue_object *o) {
    const struct sl_fact *f = &o->fact;
    if (o->kind == SL_KUEUE_OBJECT_WORKLOAD) {
        sl_read_fail(&r->rd, o->line,
                     "a Workload has no runtime; describe it under 'workloads' instead");
        return;
    }
    if (o->kind != SL_KUEUE_OBJECT_FACT)
        return;
    switch (f->kind) {
    case SL_FACT_FLAVOR:
        (void)claim(r, o->line, "flavor", f->flavor.name);
        break;
    case SL_FACT_NAMESPACE:
        (void)claim(r, o->line, "ns", f->ns.name);
        break;
    case SL_FACT_CLUSTER_QUEUE:
        (void)claim(r, o->line, "queue", f->cq.name);
        break;
    case SL_FACT_LOCAL_QUEUE:
        (void)claim(r, o->line, "local",
                    sl_arena_printf(&r->load->arena, "%s/%s", f->lq.ns, f->lq.name));
        add_namespace(r, o->line, f->lq.ns);
        break;
    case SL_FACT_CONFIG:
        r->load->pods_ready = f->config.pods_ready;
        break;
    default:
        break;
    }
    struct sl_fact *copy = sl_vec_push(&r->load->facts);
    *copy = *f;
    copy->at = SL_SIM_EPOCH;
}

static void read_objects(struct sl_load_reader *r, struct sl_doc_fields *f) {
    uint32_t n;
    const struct sl_doc_node *list = sl_doc_field_list(f, "objects", SL_LOAD_MAX_QUEUES, &n);
    for (uint32_t i = 0; i < n && r->rd.code >= 0; i++) {
        struct sl_kueue_object o = {0};
        sl_kueue_object_decode(&r->rd, &list[i], &o);
        if (r->rd.code >= 0)
            add_object(r, &o);
    }
}

/* Work for LocalQueues among the objects: {queue: namespace/name, class: ...}. */
static void read_workloads(struct sl_load_reader *r, struct sl_doc_fields *f) {
    uint32_t n;
    const struct sl_doc_node *list = sl_doc_field_list(f, "workloads", SL_LOAD_MAX_CLASSES, &n);
    for (uint32_t i = 0; i < n && r->rd.code >= 0; i++) {
        struct sl_doc_fields w;
        uint32_t n_classes;
        sl_doc_fields_open(&w, &r->rd, &list[i], "the work of a queue");
        const char *queue = sl_doc_field_str(&w, "queue", NULL);
        const struct sl_load_class *classes = r->classes;
        if (sl_doc_field(&w, "workloads"))
            classes = read_classes(r, &w, "workloads", "class", &n_classes);
        else
            n_classes = r->n_classes;
        sl_doc_fields_close(&w);
        if (r->rd.code < 0)
            return;
        const char *slash = strchr(queue, '/');
        if (!slash || slash == queue || !slash[1]) {
            sl_read_fail(&r->rd, list[i].line, "queue: expected namespace/name, got \"%.80s\"",
                         queue);
            return;
        }
        if (claim(r, list[i].line, "local", queue)) {
            sl_read_fail(&r->rd, list[i].line,
                         "there is no LocalQueue \"%.100s\" among the objects", queue);
            return;
        }
        if (!claim(r, list[i].line, "work", queue)) {
            sl_read_fail(&r->rd, list[i].line, "the work of \"%.100s\" is given twice", queue);
            return;
        }
        char *ns = sl_arena_strndup(&r->load->arena, queue, (size_t)(slash - queue));
        add_streams(r, ns, slash + 1, classes, n_classes);
    }
}

/* ---- the file ---- */

static void read_root(struct sl_load_reader *r, const struct sl_doc_node *root) {
    struct sl_doc_fields f;
    uint32_t n;
    sl_doc_fields_open(&f, &r->rd, root, "a load");
    r->load->description = sl_doc_field_str(&f, "description", "");
    r->load->eviction_delay = sl_doc_field_span(&f, "evictionDelay", 0);
    if (r->load->eviction_delay < 0)
        sl_read_fail(&r->rd, f.line, "evictionDelay: expected 0s or more");
    r->classes = read_classes(r, &f, "classes", "name", &n);
    r->n_classes = n;
    read_objects(r, &f);
    const struct sl_doc_node *list = sl_doc_field_list(&f, "cohorts", SL_LOAD_MAX_QUEUES, &n);
    for (uint32_t i = 0; i < n && r->rd.code >= 0; i++)
        read_cohort(r, &list[i]);
    list = sl_doc_field_list(&f, "queues", SL_LOAD_MAX_QUEUES, &n);
    for (uint32_t i = 0; i < n && r->rd.code >= 0; i++)
        read_queue(r, &list[i], "", false);
    read_workloads(r, &f);
    sl_doc_fields_close(&f);
    if (r->rd.code >= 0 && r->load->total == 0)
        sl_read_fail(&r->rd, root->line,
                     "no workloads: expected queues with classes of work (see docs/simulation.md)");
}

int sl_load_decode(struct sl_doc *d, struct sl_load **ret, struct sl_err *err) {
    if (d->n != 1)
        return sl_err_set(err, SL_EINVAL, "%s: expected one document, found %u", d->file, d->n);
    _cleanup_(sl_load_freep) struct sl_load *l = sl_alloc0(1, sizeof(*l));
    sl_arena_init(&l->arena, SL_LOAD_MAX_BYTES);
    l->file = sl_arena_strdup(&l->arena, d->file);
    struct sl_load_reader r = {.load = l, .rd = {.file = l->file, .arena = &l->arena, .err = err}};
    sl_syms_init(&r.names);
    read_root(&r, &d->roots[0]);
    sl_syms_done(&r.names);
    if (r.rd.code < 0)
        return r.rd.code;
    l->doc = d; /* names point into it */
    *ret = TAKE_PTR(l);
    return 0;
}

int sl_load_read(const char *file, struct sl_load **ret, struct sl_err *err) {
    struct sl_doc *d = NULL;
    int r = sl_doc_load(file, &d, err);
    if (r < 0)
        return r;
    r = sl_load_decode(d, ret, err);
    if (r < 0)
        sl_doc_free(d);
    return r;
}

void sl_load_free(struct sl_load *l) {
    if (!l)
        return;
    sl_vec_free(&l->facts);
    sl_vec_free(&l->streams);
    sl_doc_free(l->doc);
    sl_arena_done(&l->arena);
    sl_freep(&l);
}

void sl_load_freep(struct sl_load **l) {
    sl_load_free(*l);
    *l = NULL;
}
