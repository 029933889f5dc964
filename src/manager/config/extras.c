/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that Kueue validates and that Sluice does not use yet, or only partly: multiKueue,
 * metrics.customLabels and resources.deviceClassMappings. Errors there are reported as by Kueue.
 * And miniCluster, which is Sluice's own.
 */
#include <string.h>

#include "kube/types/kueue/decode.h"
#include "manager/config/load.h"

#define ALL_AT_ONCE "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
#define INCREMENTAL "kueue.x-k8s.io/multikueue-dispatcher-incremental"

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_label_value(const char *s) {
    size_t n = strlen(s);

    for (size_t i = 0; i < n; i++)
        if (!is_word(s[i]) && !(strchr("-_.", s[i]) && i > 0 && i + 1 < n))
            return false;
    return n <= 63;
}

/* What Prometheus and Kueue let be the end of a label's name. */
static bool is_metric_label(const char *s) {
    for (size_t i = 1; *s && s[i]; i++)
        if (!is_word(s[i]) && s[i] != '_')
            return false;
    return is_word(*s) && !(*s >= '0' && *s <= '9');
}

/* Whether v[0..n-1] has s. */
static bool has(const char *const *v, uint32_t n, const char *s) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i], s) == 0)
            return true;
    return false;
}

/* The length of a list up to Kueue's limit, with Kueue's message if there are more. */
static uint32_t at_most(struct sl_doc_fields *f, const char *key, uint32_t n, uint32_t max) {
    if (n <= max)
        return n;
    sl_read_wrong(f->rd, sl_doc_field(f, key)->line, key,
                  "Too many: %u: must have at most %u items", n, max);
    return max;
}

/* A part that another reader has opened, and judged, before. */
static void reopen(struct sl_doc_fields *f, struct sl_doc_fields *top, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(top, key);
    sl_doc_fields_enter(f, top->rd, n && n->kind == SL_DOC_NODE_MAP ? n : NULL, key, key);
}

/* ---- multiKueue ---- */

static struct sl_strs adapters(struct sl_doc_fields *f, const struct sl_settings *s) {
    uint32_t n, kept = 0;
    const struct sl_doc_node *items =
        sl_doc_field_list(f, "externalFrameworks", SL_CONFIG_MAX_ITEMS, &n);
    const char **v = n > 0 ? sl_arena_alloc(f->rd->arena, n * sizeof *v) : NULL;

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("externalFrameworks", i, "");
        enum sl_framework fw = 0;
        struct sl_doc_fields item;

        sl_doc_fields_enter(&item, f->rd, &items[i], "an external framework", key.s);
        const char *kind = sl_doc_field_str(&item, "name", "");
        while (fw < SL_FW_COUNT && !(s->framework[fw] && strcmp(sl_framework_kind(fw), kind) == 0))
            fw++;
        if (!config_is_kind_arg(kind))
            sl_read_wrong(f->rd, item.line, "name",
                          "must be in 'kind.version.group' format, got \"%.60s\"", kind);
        else if (has(v, kept, kind))
            sl_read_wrong(f->rd, item.line, "name", "Duplicate value: \"%.60s\"", kind);
        else if (fw < SL_FW_COUNT)
            sl_read_wrong(f->rd, item.line, "name", "conflicts with a built-in MultiKueue adapter");
        else
            v[kept++] = kind;
        sl_doc_fields_close(&item);
    }
    return (struct sl_strs){v, kept};
}

static void providers(struct sl_doc_fields *f, const char *key) {
    static const char *const modes[] = {"Never", "IfAvailable", "Always", NULL};
    static const char *const needed[] = {"command", "apiVersion", "interactiveMode"};
    uint32_t n;
    const struct sl_doc_node *items = sl_doc_field_list(f, key, SL_CONFIG_MAX_ITEMS, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name at = config_item_name(key, i, "");
        struct sl_doc_fields item, exec;

        sl_doc_fields_enter(&item, f->rd, &items[i], "an access provider", at.s);
        if (!*sl_doc_field_str(&item, "name", ""))
            sl_read_wrong(f->rd, item.line, "name", "must be specified");
        config_section(&exec, &item, "execConfig");
        for (size_t k = 0; k < SL_LEN(needed); k++)
            if (!*sl_doc_field_str(&exec, needed[k], ""))
                sl_read_wrong(f->rd, item.line, needed[k], "must be specified");
        if (*sl_doc_field_str(&exec, "interactiveMode", ""))
            (void)sl_doc_field_choice(&exec, "interactiveMode", modes, 0);
        exec.map = NULL; /* the rest of it is client-go's */
        sl_doc_fields_close(&exec);
        sl_doc_fields_close(&item);
    }
}

static void multikueue(struct sl_doc_fields *top, struct sl_settings *s) {
    const struct sl_doc_node *access, *credentials, *steps;
    struct sl_doc_fields f, part;

    config_section(&f, top, "multiKueue");
    s->multikueue.gc_interval = config_span_or(&f, "gcInterval", SL_MINUTE);
    s->multikueue.worker_lost_timeout = config_span_or(&f, "workerLostTimeout", 15 * SL_MINUTE);
    s->multikueue.origin =
        config_checked_str(&f, "origin", "multikueue", is_label_value, "expected a label value");
    if (!*s->multikueue.origin)
        s->multikueue.origin = "multikueue";
    s->multikueue.dispatcher = sl_doc_field_str(&f, "dispatcherName", ALL_AT_ONCE);
    s->multikueue.external_frameworks = adapters(&f, s);

    config_section(&part, &f, "clusterProfile");
    access = sl_doc_field(&part, "accessProviders");
    credentials = sl_doc_field(&part, "credentialsProviders");
    if (access && credentials)
        sl_read_wrong(f.rd, credentials->line, "credentialsProviders",
                      "must not be specified when accessProviders is specified");
    providers(&part, access ? "accessProviders" : "credentialsProviders");
    sl_doc_fields_close(&part);

    steps = sl_doc_field(&f, "incrementalDispatcherConfig");
    if (steps && strcmp(s->multikueue.dispatcher, INCREMENTAL) != 0)
        sl_read_wrong(f.rd, steps->line, "incrementalDispatcherConfig",
                      "is only valid when dispatcherName is set to the incremental dispatcher");
    config_section(&part, &f, "incrementalDispatcherConfig");
    s->multikueue.step = (uint32_t)sl_doc_field_int(&part, "stepSize", 3, 1, INT32_MAX);
    sl_doc_fields_close(&part);
    sl_doc_fields_close(&f);
}

/* ---- metrics.customLabels ---- */

enum source { FROM_CLUSTER_QUEUE, FROM_LOCAL_QUEUE, FROM_COHORT, FROM_WORKLOAD, SOURCES };
static const char *const sources[] = {"ClusterQueue", "LocalQueue", "Cohort", "Workload", NULL};

static void tracked_values(struct sl_doc_fields *f, enum source source) {
    const struct sl_doc_node *given = sl_doc_field(f, "trackedValues");
    uint32_t n, line = given ? given->line : f->line;
    const char *const *v = sl_doc_field_strs(f, "trackedValues", SL_CONFIG_MAX_ITEMS, &n);

    if (source != FROM_WORKLOAD) {
        n = at_most(f, "trackedValues", n, 16);
    } else if (n == 0) {
        sl_read_wrong(f->rd, line, "trackedValues",
                      "must not be empty when sourceKind is 'Workload'");
    } else if (n > 12) {
        sl_read_wrong(f->rd, line, "trackedValues",
                      "must not be greater than 12 when sourceKind is 'Workload'");
        n = 12;
    }
    for (uint32_t i = 1; i < n; i++)
        if (has(v, i, v[i])) {
            sl_read_wrong(f->rd, line, "trackedValues", "must not contain duplicates");
            break;
        }
}

static void label_key(struct sl_doc_fields *f, const char *field, const char *key) {
    if (!sl_decode_is_label_key(key))
        sl_read_wrong(f->rd, f->line, field, "expected a label key, got \"%.60s\"", key);
}

static void custom_labels(struct sl_doc_fields *top) {
    static const uint32_t most[SOURCES] = {6, 6, 6, 2};
    uint32_t n, n_names = 0, count[SOURCES] = {0};
    struct sl_doc_fields metrics, f;

    reopen(&metrics, top, "metrics");
    const struct sl_doc_node *items =
        sl_doc_field_list(&metrics, "customLabels", SL_CONFIG_MAX_ITEMS, &n);
    n = at_most(&metrics, "customLabels", n, 20);
    const char **names = sl_arena_alloc(top->rd->arena, (n + 1) * sizeof *names);
    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("customLabels", i, "");
        sl_doc_fields_enter(&f, top->rd, &items[i], "a custom label", key.s);
        const char *name = sl_doc_field_str(&f, "name", "");
        const char *label = sl_doc_field_str(&f, "sourceLabelKey", "");
        const char *annotation = sl_doc_field_str(&f, "sourceAnnotationKey", "");
        int source = sl_doc_field_choice(&f, "sourceKind", sources, FROM_CLUSTER_QUEUE);

        if (!is_metric_label(name))
            sl_read_wrong(f.rd, f.line, "name", "must match ^[a-zA-Z][a-zA-Z0-9_]*$");
        if (has(names, n_names, name))
            sl_read_wrong(f.rd, f.line, "name", "Duplicate value: \"%.60s\"", name);
        names[n_names++] = name;
        if (*label && *annotation)
            sl_read_fail(f.rd, f.line,
                         "sourceLabelKey and sourceAnnotationKey are mutually exclusive");
        if (*label)
            label_key(&f, "sourceLabelKey", label);
        else if (*annotation)
            label_key(&f, "sourceAnnotationKey", annotation);
        tracked_values(&f, (enum source)source);
        count[source]++;
        sl_doc_fields_close(&f);
    }
    for (int k = 0; k < SOURCES; k++)
        if (count[k] > most[k])
            sl_read_wrong(metrics.rd, metrics.line, "customLabels",
                          "too many custom labels for source kind %s: found %u, expected <= %u",
                          sources[k], count[k], most[k]);
    metrics.map = NULL; /* its other fields are read elsewhere */
    sl_doc_fields_close(&metrics);
}

/* ---- resources.deviceClassMappings ---- */

static void device_sources(struct sl_doc_fields *mapping) {
    static const char *const types[] = {"counter", "capacity"};
    uint32_t n, count[SL_LEN(types)] = {0};
    const struct sl_doc_node *items = sl_doc_field_list(mapping, "sources", 64, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("sources", i, "");
        struct sl_doc_fields f, part;
        uint32_t given = 0;

        sl_doc_fields_enter(&f, mapping->rd, &items[i], "a source", key.s);
        for (size_t k = 0; k < SL_LEN(types); k++) {
            if (!sl_doc_field(&f, types[k]))
                continue;
            given++;
            count[k]++;
            config_section(&part, &f, types[k]);
            (void)sl_doc_field_str(&part, "name", NULL);
            (void)sl_doc_field_str(&part, "driver", NULL);
            (void)sl_doc_field_need(&part, "deviceSelector");
            sl_doc_fields_close(&part);
        }
        if (given != 1)
            sl_read_fail(f.rd, f.line, "exactly one source type must be set per entry");
        sl_doc_fields_close(&f);
    }
    if (count[0] > 0 && count[1] > 0)
        sl_read_wrong(mapping->rd, mapping->line, "sources",
                      "cannot mix counter and capacity sources in the same mapping");
}

static void device_classes(struct sl_doc_fields *top) {
    struct sl_doc_fields resources, f;
    uint32_t n, n_names = 0, n_classes;

    reopen(&resources, top, "resources");
    const struct sl_doc_node *items =
        sl_doc_field_list(&resources, "deviceClassMappings", SL_CONFIG_MAX_ITEMS, &n);
    n = at_most(&resources, "deviceClassMappings", n, 16);
    const char **names = sl_arena_alloc(top->rd->arena, (n + 1) * sizeof *names);
    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("deviceClassMappings", i, "");
        sl_doc_fields_enter(&f, top->rd, &items[i], "a mapping", key.s);
        const char *name = sl_doc_field_str(&f, "name", "");
        label_key(&f, "name", name);
        if (has(names, n_names, name))
            sl_read_wrong(f.rd, f.line, "name", "Duplicate value: \"%.60s\"", name);
        names[n_names++] = name;
        const char *const *v =
            sl_doc_field_strs(&f, "deviceClassNames", SL_CONFIG_MAX_ITEMS, &n_classes);
        n_classes = at_most(&f, "deviceClassNames", n_classes, 8);
        if (n_classes == 0)
            sl_read_wrong(f.rd, f.line, "deviceClassNames",
                          "at least one device class name is required");
        for (uint32_t k = 0; k < n_classes; k++) {
            struct config_item_name at = config_item_name("deviceClassNames", k, "");
            label_key(&f, at.s, v[k]);
            if (has(v, k, v[k]))
                sl_read_wrong(f.rd, f.line, at.s, "Duplicate value: \"%.60s\"", v[k]);
        }
        device_sources(&f);
        sl_doc_fields_close(&f);
    }
    resources.map = NULL; /* its other fields are read elsewhere */
    sl_doc_fields_close(&resources);
}

/* ---- miniCluster ---- */

static void minicluster(struct sl_doc_fields *top, struct sl_settings *s) {
    static const char *const controllers[] = {"Sluice", "FluxOperator", NULL};
    struct sl_doc_fields f;

    config_section(&f, top, "miniCluster");
    s->flux_operator = sl_doc_field_choice(&f, "controller", controllers, 0) == 1;
    sl_doc_fields_close(&f);
}

void config_extras(struct sl_doc_fields *top, struct sl_settings *s) {
    multikueue(top, s);
    custom_labels(top);
    device_classes(top);
    minicluster(top, s);
}
