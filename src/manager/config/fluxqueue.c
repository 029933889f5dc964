/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue on the resource graph: an extension of Kueue's Configuration.
 *
 *     fluxqueue:
 *       namespaceSelector: {matchLabels: {fluxqueue/managed: "true"}}
 *       matchPolicy: lonode
 *       queuePolicy: easy
 *       queues:
 *       - {name: large, policy: conservative, matchPolicy: hinodex}
 *       levels:
 *       - {type: rack, nodeLabel: example.com/rack}
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/graph/match/match.h"
#include "kube/types/syntax.h"
#include "manager/config/load.h"

#define MANAGED_LABEL "fluxqueue/managed" /* as SL_FLUX_MANAGED of admission */
#define MATCH_POLICY "lonode"
#define DEFAULT_LEVEL "subnet"
#define DEFAULT_LEVEL_LABEL "topology.kubernetes.io/zone"
#define MAX_TYPE 63

static const char *const policies[] = {[SL_QUEUE_FCFS] = "fcfs",
                                       [SL_QUEUE_EASY] = "easy",
                                       [SL_QUEUE_HYBRID] = "hybrid",
                                       [SL_QUEUE_CONSERVATIVE] = "conservative",
                                       NULL};

/* ---- queues ---- */

static bool is_match_policy(const char *s) {
    struct sl_match_policy p;
    struct sl_err err;

    return sl_match_policy_parse(s, &p, &err) >= 0;
}

static const char *match_policy(struct sl_doc_fields *f, const char *fallback) {
    return config_checked_str(f, "matchPolicy", fallback, is_match_policy,
                              "expected a match policy such as lonode");
}

static uint32_t number(struct sl_doc_fields *f, const char *key, uint32_t fallback, uint32_t max) {
    return (uint32_t)sl_doc_field_int(f, key, fallback, 1, max);
}

static bool is_queue_name(const char *s) {
    return sl_syntax_label_value(s, strlen(s)).n == 0 && *s;
}

/* The queue of this name among the first n. */
static struct sl_settings_flux_queue *find_queue(struct sl_settings_flux_queue *v, uint32_t n,
                                                 const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

/* What a queue does not say is as in the default one, which is the first, named or not. */
static void queues(struct sl_doc_fields *f, struct sl_settings *s,
                   const struct sl_settings_flux_queue *general) {
    uint32_t n, kept = 1;
    const struct sl_doc_node *items = sl_doc_field_list(f, "queues", SL_SETTINGS_FLUX_QUEUES, &n);
    struct sl_settings_flux_queue *v = sl_arena_alloc(&s->arena, (n + 1) * sizeof *v);
    bool given = false;

    v[0] = *general;
    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("queues", i, "");
        struct sl_settings_flux_queue q = *general;
        struct sl_doc_fields item;

        sl_doc_fields_enter(&item, f->rd, &items[i], "a queue", key.s);
        q.name = sl_doc_field_str(&item, "name", "");
        q.policy = (enum sl_queue_policy)sl_doc_field_choice(&item, "policy", policies,
                                                             (int)general->policy);
        q.depth = number(&item, "depth", general->depth, SL_QUEUE_MAX_DEPTH);
        q.reserve = number(&item, "reservationDepth", general->reserve, SL_QUEUE_MAX_RESERVE);
        q.match_policy = match_policy(&item, general->match_policy);
        bool first = strcmp(q.name, general->name) == 0;
        if (!is_queue_name(q.name))
            sl_read_wrong(f->rd, item.line, "name", "expected a label value, got \"%.60s\"",
                          q.name);
        else if (first ? given : find_queue(v, kept, q.name) != NULL)
            sl_read_wrong(f->rd, item.line, "name", "Duplicate value: \"%.60s\"", q.name);
        else if (first)
            v[0] = q;
        else
            v[kept++] = q;
        given |= first;
        sl_doc_fields_close(&item);
    }
    s->flux.queues = v;
    s->flux.n_queues = kept;
}

/* ---- levels ---- */

/* Types that the graph or a jobspec has anyhow; a level between cluster and nodes cannot be one of
 * them. */
static bool is_level_type(const char *s) {
    static const char *const taken[] = {"cluster", "node", "core", "memory",   "ephemeral-storage",
                                        "pods",    "gpu",  "slot", "xor_slot", "or_slot"};

    for (size_t i = 0; i < SL_LEN(taken); i++)
        if (strcmp(s, taken[i]) == 0)
            return false;
    return strlen(s) <= MAX_TYPE && *s >= 'a' && *s <= 'z' &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

static bool has_level(const struct sl_settings_flux_level *v, uint32_t n,
                      const struct sl_settings_flux_level *level) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].type, level->type) == 0 || strcmp(v[i].label, level->label) == 0)
            return true;
    return false;
}

enum sl_settings_level_fault sl_settings_level_check(const struct sl_settings_flux_level *v,
                                                     uint32_t n,
                                                     const struct sl_settings_flux_level *level) {
    if (!is_level_type(level->type))
        return SL_SETTINGS_LEVEL_TYPE;
    if (sl_syntax_label_key(level->label, strlen(level->label)).n > 0)
        return SL_SETTINGS_LEVEL_LABEL;
    return has_level(v, n, level) ? SL_SETTINGS_LEVEL_TWICE : SL_SETTINGS_LEVEL_FINE;
}

/* The levels, from the top; an empty list is none. */
static void levels(struct sl_doc_fields *f, struct sl_settings *s) {
    static const struct sl_settings_flux_level usual = {DEFAULT_LEVEL, DEFAULT_LEVEL_LABEL};
    uint32_t n, kept = 0;
    bool given = sl_doc_field(f, "levels") != NULL;
    const struct sl_doc_node *items = sl_doc_field_list(f, "levels", SL_SETTINGS_FLUX_LEVELS, &n);
    struct sl_settings_flux_level *v = sl_arena_alloc(&s->arena, (n + 1) * sizeof *v);

    for (uint32_t i = 0; i < n; i++) {
        struct config_item_name key = config_item_name("levels", i, "");
        struct sl_doc_fields item;

        sl_doc_fields_enter(&item, f->rd, &items[i], "a level", key.s);
        struct sl_settings_flux_level level = {sl_doc_field_str(&item, "type", ""),
                                               sl_doc_field_str(&item, "nodeLabel", "")};
        switch (sl_settings_level_check(v, kept, &level)) {
        case SL_SETTINGS_LEVEL_TYPE:
            sl_read_wrong(f->rd, item.line, "type",
                          "expected a type of the graph between cluster and node, such as rack, "
                          "got \"%.60s\"",
                          level.type);
            break;
        case SL_SETTINGS_LEVEL_LABEL:
            sl_read_wrong(f->rd, item.line, "nodeLabel",
                          "expected the key of a label, got \"%.60s\"", level.label);
            break;
        case SL_SETTINGS_LEVEL_TWICE:
            sl_read_wrong(f->rd, item.line, "type",
                          "Duplicate value: \"%.60s\", or the label of another level", level.type);
            break;
        case SL_SETTINGS_LEVEL_FINE:
            v[kept++] = level;
        }
        sl_doc_fields_close(&item);
    }
    if (!given)
        v[kept++] = usual;
    s->flux.levels = v;
    s->flux.n_levels = kept;
}

/* ---- the rest ---- */

static struct sl_selector labelled(struct sl_arena *a) {
    struct sl_label_rule *rule = sl_arena_alloc0(a, 1, sizeof *rule);
    const char **value = sl_arena_alloc(a, sizeof *value);

    *value = "true";
    *rule = (struct sl_label_rule){
        .key = MANAGED_LABEL, .op = SL_OP_IN, .values = value, .n_values = 1};
    return (struct sl_selector){.v = rule, .n = 1};
}

/* A path, or a URL of a database that is known. The value is in no message: it may have a password
 * in it. */
static const char *ledger(struct sl_doc_fields *f) {
    static const char *const known[] = {"sqlite:", "postgres://", "postgresql://"};
    const char *url = sl_doc_field_str(f, "ledger", "");

    for (size_t i = 0; i < SL_LEN(known); i++)
        if (strncmp(url, known[i], strlen(known[i])) == 0)
            return url;
    if (!*url || *url == '/')
        return url;
    config_warn_default(f, sl_doc_field(f, "ledger")->line, "ledger", "using the default",
                        "expected an absolute path, sqlite:PATH or postgres://...");
    return "";
}

void config_fluxqueue(struct sl_doc_fields *top, struct sl_settings *s) {
    static const char *const binders[] = {"Sluice", "KubeScheduler", NULL};
    struct sl_settings_flux_queue general = {.name = SL_SETTINGS_FLUX_DEFAULT};
    struct sl_doc_fields f;

    config_section(&f, top, "fluxqueue");
    s->flux.namespaces = config_selector_or(&f, "namespaceSelector", labelled(&s->arena));
    general.policy =
        (enum sl_queue_policy)sl_doc_field_choice(&f, "queuePolicy", policies, SL_QUEUE_EASY);
    s->flux.match_policy = general.match_policy = match_policy(&f, MATCH_POLICY);
    general.depth = number(&f, "queueDepth", SL_QUEUE_DEPTH, SL_QUEUE_MAX_DEPTH);
    general.reserve = number(&f, "reservationDepth", SL_QUEUE_RESERVE, SL_QUEUE_MAX_RESERVE);
    queues(&f, s, &general);
    levels(&f, s);
    s->flux.default_duration = config_span_or(&f, "defaultDuration", 0);
    s->flux.exact_nodes = sl_doc_field_bool(&f, "exactNodes", false);
    s->flux.kube_binds = sl_doc_field_choice(&f, "binder", binders, 0) == 1;
    s->flux.ledger = ledger(&f);
    s->flux.retention = config_span_or(&f, "retention", SL_TIME_NEVER);
    sl_doc_fields_close(&f);
}
