/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a MasterQueue says. Objects from before there was admission are read, too: what admission
 * would refuse of one is left out, and its error is reported; the rest takes effect.
 */
#include "manager/masterqueue/mq_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#define MAX_MESSAGES ((size_t)16 << 10)

/* What `nominalQuota: {}` means, and a local flavor without one: as good as no limit. */
static const struct mq_amount unlimited[] = {
    {"cpu", "1M", (sl_quantity)1000000 * SL_NANO},
    {"memory", "1Ei", ((sl_quantity)1 << 60) * SL_NANO},
    {"pods", "100000", (sl_quantity)100000 * SL_NANO},
    {"nvidia.com/gpu", "10000", (sl_quantity)10000 * SL_NANO},
};

const struct mq_amount *mq_amount_of(const struct mq_amount *v, uint32_t n, const char *resource) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].resource, resource) == 0)
            return &v[i];
    return NULL;
}

/* The names of one set of words in another; the first row is the default. */
struct word {
    const char *from, *to;
};

static const char *translated(yyjson_val *v, const char *path, const struct word *words, size_t n) {
    const char *s = sl_json_str(v, path);
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].from, s) == 0)
            return words[i].to;
    return words[0].to;
}

#define TRANSLATED(v, path, words) translated((v), (path), (words), SL_LEN(words))

static const struct word stop_policies[] = {
    {"None", "None"},
    {"Hold", "Hold"},
    {"Stop", "Hold"},
    {"HoldAndDrain", "HoldAndDrain"},
    {"StopAndHold", "HoldAndDrain"},
};
static const struct word strategies[] = {{"BestEffortFIFO", "BestEffortFIFO"},
                                         {"StrictFIFO", "StrictFIFO"}};
static const struct word borrow_words[] = {{"Borrow", "MayStopSearch"},
                                           {"TryNextFlavor", "TryNextFlavor"}};
static const struct word preempt_words[] = {{"TryNextFlavor", "TryNextFlavor"},
                                            {"Preempt", "MayStopSearch"}};
static const struct word policies[] = {{"LowerPriority", "LowerPriority"}, {"Never", "Never"}};
static const struct word reclaims[] = {
    {"Never", "Never"}, {"LowerPriority", "LowerPriority"}, {"Any", "Any"}};
static const struct word withins[] = {{"Never", "Never"},
                                      {"LowerPriority", "LowerPriority"},
                                      {"LowerOrNewerEqualPriority", "LowerOrNewerEqualPriority"}};

/* A selector chooses all namespaces unless it says otherwise. */
static const char *selector_text(struct mq_spec *s, yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MQ_MAX_SPEC);
    if (!yyjson_is_obj(v))
        return "{}";
    sl_json_put(&b, v);
    return sl_buf_full(&b) ? "{}" : sl_arena_strdup(&s->arena, sl_buf_str(&b));
}

static void read_template(struct mq_spec *s, const char *name, yyjson_val *t) {
    yyjson_val *borrow = sl_json_at(t, "preemption.borrowWithinCohort");
    const char *cohort = sl_json_str(t, "cohort");

    s->cohort = sl_arena_strdup(&s->arena, *cohort ? cohort : name);
    s->stop_policy = TRANSLATED(t, "stopPolicy", stop_policies);
    s->strategy = TRANSLATED(t, "queueingStrategy", strategies);
    s->selector = selector_text(s, sl_json_get(t, "namespaceSelector"));
    s->can_borrow = TRANSLATED(t, "flavorFungibility.whenCanBorrow", borrow_words);
    s->can_preempt = TRANSLATED(t, "flavorFungibility.whenCanPreempt", preempt_words);
    s->reclaim = TRANSLATED(t, "preemption.reclaimWithinCohort", reclaims);
    s->within = TRANSLATED(t, "preemption.withinClusterQueue", withins);
    s->borrow_policy = borrow ? TRANSLATED(borrow, "policy", policies) : "Never";
    s->has_threshold = yyjson_is_int(sl_json_get(borrow, "maxPriorityThreshold"));
    s->threshold = sl_json_int(borrow, "maxPriorityThreshold", 0);
    if (strcmp(s->reclaim, "Never") == 0 && strcmp(s->borrow_policy, "Never") != 0) {
        s->borrow_policy = "Never"; /* a ClusterQueue with both is refused */
        s->has_threshold = false;
        s->ignored = "spec.template.preemption.borrowWithinCohort has no effect without "
                     "reclaimWithinCohort";
    }
}

/* A number is taken as it is written. */
static const char *amount_text(struct mq_spec *s, yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(256);
    if (yyjson_is_str(v))
        return sl_arena_strdup(&s->arena, sl_json_text(v));
    sl_json_put(&b, v);
    return sl_buf_full(&b) ? "0" : sl_arena_strdup(&s->arena, sl_buf_str(&b));
}

static struct mq_amount *read_amounts(struct mq_spec *s, yyjson_val *o, uint32_t *ret_n) {
    size_t i, n;
    yyjson_val *key, *val;
    struct mq_amount *v = sl_arena_alloc0(
        &s->arena, sl_json_size(o) < MQ_MAX_RESOURCES ? sl_json_size(o) + 1 : MQ_MAX_RESOURCES,
        sizeof *v);
    *ret_n = 0;
    sl_obj_foreach (o, i, n, key, val) {
        sl_quantity q;
        const char *name = sl_json_text(key);
        if (*ret_n == MQ_MAX_RESOURCES || !*name || !sl_json_quantity(val, &q) || q < 0)
            continue; /* the check has seen it */
        v[(*ret_n)++] =
            (struct mq_amount){sl_arena_strdup(&s->arena, name), amount_text(s, val), q};
    }
    return v;
}

static bool lends_to(const struct mq_group *g, const char *queue) {
    for (uint32_t i = 0; i < g->n_lends; i++)
        if (strcmp(g->lends[i].queue, queue) == 0)
            return true;
    return false;
}

/* Of a queue that is named twice the first counts; the master does not borrow from itself. */
static void read_lends(struct mq_spec *s, const char *master, struct mq_group *g,
                       yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    g->lends = sl_arena_alloc0(&s->arena, SL_MASTERQUEUE_MAX_BORROWERS, sizeof *g->lends);
    yyjson_arr_foreach (list, i, n, v) {
        const char *queue = sl_json_str(v, "queue");
        if (!*queue || g->n_lends == SL_MASTERQUEUE_MAX_BORROWERS || strcmp(queue, master) == 0 ||
            lends_to(g, queue))
            continue;
        struct mq_lend *l = &g->lends[g->n_lends++];
        l->queue = sl_arena_strdup(&s->arena, queue);
        l->limits = read_amounts(s, sl_json_get(v, "lendingLimit"), &l->n);
    }
}

static uint64_t hash_servers(const char *connector) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(4 * SL_NATS_MAX_CONNECTOR);
    struct sl_nats_connector c;

    if (sl_nats_connector_parse(connector, strlen(connector), &a, &c, NULL) < 0)
        return sl_hash_str(0, connector);
    uint64_t hash = sl_nats_connector_hash(&c);
    sl_nats_connector_wipe(&c);
    return hash;
}

static void read_nats(struct mq_spec *s, struct mq_group *g, yyjson_val *v) {
    size_t i, n;
    yyjson_val *name, *pools = sl_json_get(v, "pools");
    int64_t timeout = sl_json_int(v, "poolTimeout", SL_MASTERQUEUE_TIMEOUT);
    struct sl_err err;

    g->connector = sl_arena_strdup(&s->arena, sl_json_str(v, "natsConnector"));
    g->servers = hash_servers(g->connector);
    g->secret = sl_arena_strdup(&s->arena, sl_json_str(v, "natsSecret.name"));
    g->subject = sl_arena_strdup(&s->arena, sl_json_str(v, "natsSubject"));
    g->node = sl_arena_strdup(&s->arena, sl_json_str(v, "virtualNode"));
    if (timeout > SL_MASTERQUEUE_MAX_TIMEOUT)
        timeout = SL_MASTERQUEUE_MAX_TIMEOUT;
    g->timeout = sl_span_seconds(timeout < 1 ? 1 : timeout);
    if (!yyjson_is_arr(pools)) {
        if (sl_pattern_new_python(sl_json_view(sl_json_get(v, "poolRegExp")), &g->pattern, &err) <
            0)
            g->pattern = NULL; /* the check has said so */
        return;
    }
    g->pools = sl_arena_alloc0(&s->arena, SL_MQ_MAX_POOLS, sizeof *g->pools);
    yyjson_arr_foreach (pools, i, n, name)
        if (*sl_json_text(name) && g->n_pools < SL_MQ_MAX_POOLS)
            g->pools[g->n_pools++] = sl_arena_strdup(&s->arena, sl_json_text(name));
}

static void read_group(struct mq_spec *s, const char *master, yyjson_val *v) {
    struct mq_group *g = &s->groups[s->n_groups++];
    yyjson_val *nominal = sl_json_get(v, "nominalQuota"), *nats = sl_json_get(v, "natsFlavor");
    g->name = sl_arena_strdup(&s->arena, sl_json_str(v, "name"));
    g->link = UINT32_MAX;
    g->local = sl_json_get(v, "localFlavor") != NULL;
    g->nominal = read_amounts(s, nominal, &g->n_nominal);
    if (g->local && !nominal) {
        g->nominal = sl_arena_alloc0(&s->arena, SL_LEN(unlimited), sizeof *g->nominal);
        memcpy(g->nominal, unlimited, sizeof unlimited);
        g->n_nominal = SL_LEN(unlimited);
    }
    read_lends(s, master, g, sl_json_get(v, "canLendTo"));
    if (!g->local && nats)
        read_nats(s, g, nats);
}

/* Flavors are named after groups: there is one of each name. */
static bool is_new_group(const struct mq_spec *s, const char *name) {
    for (uint32_t i = 0; i < s->n_groups; i++)
        if (strcmp(s->groups[i].name, name) == 0)
            return false;
    return *name;
}

static void list_borrowers(struct mq_spec *s) {
    s->borrowers = sl_arena_alloc0(&s->arena, SL_MASTERQUEUE_MAX_QUEUES, sizeof *s->borrowers);
    for (uint32_t g = 0; g < s->n_groups; g++)
        for (uint32_t i = 0; i < s->groups[g].n_lends; i++) {
            const char *name = s->groups[g].lends[i].queue;
            uint32_t k = 0;
            while (k < s->n_borrowers && strcmp(s->borrowers[k], name) != 0)
                k++;
            if (k == SL_MASTERQUEUE_MAX_QUEUES)
                return; /* the check has said so */
            if (k == s->n_borrowers)
                s->borrowers[s->n_borrowers++] = name;
        }
}

/* The same rules that admission has; objects may be older than they are. */
static void check(struct mq_spec *s, const char *name, yyjson_val *spec) {
    struct sl_field_errs e = {.arena = &s->arena};
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MAX_MESSAGES);
    sl_masterqueue_check(&e, name, spec);
    if (e.n == 0)
        return;
    sl_field_errs_print(&e, &text);
    s->error = sl_arena_strdup(&s->arena, sl_buf_str(&text));
}

struct mq_spec *mq_spec_new(const char *name, yyjson_val *spec) {
    struct mq_spec *s = sl_alloc0(1, sizeof *s);
    yyjson_val *flavors = sl_json_get(spec, "flavors"), *v;
    size_t i, n;

    sl_arena_init(&s->arena, MQ_MAX_SPEC);
    check(s, name, spec);
    read_template(s, name, sl_json_get(spec, "template"));
    s->groups = sl_arena_alloc0(&s->arena, SL_MASTERQUEUE_MAX_GROUPS, sizeof *s->groups);
    yyjson_arr_foreach (flavors, i, n, v)
        if (s->n_groups < SL_MASTERQUEUE_MAX_GROUPS && is_new_group(s, sl_json_str(v, "name")) &&
            !sl_arena_full(&s->arena))
            read_group(s, name, v);
    list_borrowers(s);
    if (sl_arena_full(&s->arena)) { /* not even a part of it is used */
        s->error = "spec: larger than a MasterQueue may be";
        s->n_groups = s->n_borrowers = 0;
    }
    return s;
}

void mq_spec_free(struct mq_spec *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_groups; i++)
        sl_pattern_free(s->groups[i].pattern);
    sl_arena_done(&s->arena);
    sl_freep(&s);
}
