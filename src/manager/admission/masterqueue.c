/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of MasterQueues. Every list is held to its ceiling before it is walked.
 */
#include "manager/admission/masterqueue.h"

#include "core/base/collection/wordset.h"
#include "core/model/names.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "lib/nats/connector.h"
#include "lib/pattern/pattern.h"

#define NOT_NEGATIVE "must be greater than or equal to 0"
#define ONE_FLAVOR "exactly one of natsFlavor and localFlavor must be set"
#define ONE_CHOICE "exactly one of pools and poolRegExp must be set"
/* Of the names of listed pools' flavors, and of what connectors say, decoded. */
#define ARENA_BYTES ((size_t)2 << 20)

struct check {
    struct sl_field_errs *e;
    struct sl_text name;
    struct sl_arena *arena;
    struct sl_wordset groups, flavors, resources, borrowers;
    size_t pools; /* that are listed so far */
};

/* ---- single values ---- */

static bool report(struct sl_field_errs *e, const struct sl_path *at, struct sl_text t,
                   struct sl_syntax_errors f) {
    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_field_value_text(t), "%s", f.v[i]);
    return f.n == 0;
}

/* A name that has to be there. */
static bool check_name(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (!v) {
        sl_field_required(e, at, "");
        return false;
    }
    return report(e, at, t, sl_syntax_subdomain(t.s, t.n));
}

static void check_amount(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    sl_quantity q;

    if (!sl_json_quantity(v, &q))
        sl_field_invalid(e, at, sl_field_value_json(v),
                         "must be a quantity, such as 4, 500m or 1Gi");
    else if (q < 0)
        sl_field_invalid(e, at, sl_field_value_json(v), NOT_NEGATIVE);
}

static void check_amounts(struct check *c, const struct sl_path *at, yyjson_val *amounts) {
    yyjson_val *key, *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, amounts, SL_MASTERQUEUE_MAX_RESOURCES))
        return;
    sl_obj_foreach (amounts, i, n, key, v) {
        const char *name = sl_json_text(key);
        const struct sl_path *amount_at = SL_PATH_KEY(at, name);
        struct sl_text t = sl_json_view(key);
        sl_syntax_check_label_key(c->e, amount_at, t.s, t.n);
        check_amount(c->e, amount_at, v);
        (void)sl_wordset_add(&c->resources, name);
    }
}

/* ---- natsFlavor ---- */

/* Its value stays out of the message. */
static void check_connector(struct check *c, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    struct sl_nats_connector parsed = {0};
    struct sl_err err;

    if (!v)
        sl_field_required(c->e, at, "");
    else if (sl_nats_connector_parse(t.s, t.n, c->arena, &parsed, &err) < 0)
        sl_field_invalid(c->e, at, sl_field_value_none(), "%s", err.text);
    sl_nats_connector_wipe(&parsed);
}

static void check_subject(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    const char *fault = v ? sl_nats_subject_fault(t, false) : NULL;

    if (!v)
        sl_field_required(e, at, "");
    else if (fault)
        sl_field_invalid(e, at, sl_field_value_text(t), "%s", fault);
}

/* It is the name of a node and the value of a label. */
static void check_node(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (v && report(e, at, t, sl_syntax_subdomain(t.s, t.n)))
        (void)report(e, at, t, sl_syntax_label_value(t.s, t.n));
}

static void check_pattern(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    struct sl_pattern *p = NULL;
    struct sl_err err;

    if (sl_pattern_new_python(t, &p, &err) < 0)
        sl_field_invalid(e, at, sl_field_value_text(t),
                         "must be a regular expression in Python's syntax: %s", err.text);
    sl_pattern_free(p);
}

const char *sl_masterqueue_pool_fault(struct sl_text name, struct sl_text group,
                                      struct sl_text pool) {
    struct sl_syntax_errors f = sl_syntax_dns_label(pool.s, pool.n);

    if (f.n > 0)
        return f.v[0];
    return name.n + 1 + group.n + 1 + pool.n > SL_SUBDOMAIN_MAX
               ? "must make a flavor's name, MASTERQUEUE-GROUP-POOL, of no more than 253 characters"
               : NULL;
}

static void check_pool(struct check *c, const struct sl_path *at, struct sl_text group,
                       struct sl_text pool) {
    const char *fault = sl_masterqueue_pool_fault(c->name, group, pool), *flavor;

    if (fault) {
        sl_field_invalid(c->e, at, sl_field_value_text(pool), "%s", fault);
        return;
    }
    flavor = sl_arena_printf(c->arena, "%s-%.*s-%.*s", c->name.s, (int)group.n, group.s,
                             (int)pool.n, pool.s);
    if (!sl_wordset_add(&c->flavors, flavor))
        sl_field_duplicate(c->e, at, sl_field_value_text(pool),
                           "there is another flavor of this name");
}

static void check_pools(struct check *c, const struct sl_path *at, struct sl_text group,
                        yyjson_val *pools) {
    yyjson_val *v;
    size_t i, n;

    c->pools += sl_json_size(pools);
    if (c->pools > SL_MASTERQUEUE_MAX_POOLS) {
        sl_field_too_many(c->e, at, c->pools, SL_MASTERQUEUE_MAX_POOLS);
        return;
    }
    yyjson_arr_foreach (pools, i, n, v) {
        check_pool(c, SL_PATH_AT(at, i), group, sl_json_view(v));
    }
}

static void check_choice(struct check *c, const struct sl_path *at, struct sl_text group,
                         yyjson_val *nats) {
    yyjson_val *pools = sl_json_get(nats, "pools"), *pattern = sl_json_get(nats, "poolRegExp");

    if (!pools && !pattern)
        sl_field_required(c->e, at, ONE_CHOICE);
    else if (pools && pattern)
        sl_field_forbidden(c->e, SL_PATH(at, "poolRegExp"), ONE_CHOICE);
    if (pools)
        check_pools(c, SL_PATH(at, "pools"), group, pools);
    if (pattern)
        check_pattern(c->e, SL_PATH(at, "poolRegExp"), pattern);
}

static void check_timeout(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *nats) {
    int64_t seconds = sl_json_int(nats, "poolTimeout", SL_MASTERQUEUE_TIMEOUT);

    if (seconds < 1 || seconds > SL_MASTERQUEUE_MAX_TIMEOUT)
        sl_field_invalid(e, at, sl_field_value_int(seconds), "must be between 1 and %d seconds",
                         SL_MASTERQUEUE_MAX_TIMEOUT);
}

static void check_nats(struct check *c, const struct sl_path *at, struct sl_text group,
                       yyjson_val *nats) {
    yyjson_val *secret = sl_json_get(nats, "natsSecret");

    check_connector(c, SL_PATH(at, "natsConnector"), sl_json_get(nats, "natsConnector"));
    if (secret)
        (void)check_name(c->e, SL_PATH(at, "natsSecret.name"), sl_json_get(secret, "name"));
    check_subject(c->e, SL_PATH(at, "natsSubject"), sl_json_get(nats, "natsSubject"));
    check_node(c->e, SL_PATH(at, "virtualNode"), sl_json_get(nats, "virtualNode"));
    check_timeout(c->e, SL_PATH(at, "poolTimeout"), nats);
    check_choice(c, at, group, nats);
}

/* ---- groups ---- */

static void check_borrower(struct check *c, const struct sl_path *at, yyjson_val *borrower,
                           struct sl_wordset *queues) {
    const struct sl_path *queue_at = SL_PATH(at, "queue");
    yyjson_val *queue = sl_json_get(borrower, "queue");
    struct sl_text t = sl_json_view(queue);

    check_amounts(c, SL_PATH(at, "lendingLimit"), sl_json_get(borrower, "lendingLimit"));
    if (!check_name(c->e, queue_at, queue))
        return;
    if (sl_text_eq(t, c->name))
        sl_field_invalid(c->e, queue_at, sl_field_value_text(t),
                         "must not be the name of the MasterQueue, whose own queue lends");
    if (!sl_wordset_add(queues, t.s))
        sl_field_duplicate(c->e, queue_at, sl_field_value_text(t), "");
    (void)sl_wordset_add(&c->borrowers, t.s); /* several groups may lend to one */
}

static void check_borrowers(struct check *c, const struct sl_path *at, yyjson_val *list) {
    _cleanup_(sl_wordset_done) struct sl_wordset queues = {0};
    yyjson_val *borrower;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, list, SL_MASTERQUEUE_MAX_BORROWERS))
        return;
    yyjson_arr_foreach (list, i, n, borrower) {
        check_borrower(c, SL_PATH_AT(at, i), borrower, &queues);
    }
}

/* The name of a group is that of its flavor, or a part of those of its flavors. */
static void check_group_name(struct check *c, const struct sl_path *at, yyjson_val *name,
                             bool local) {
    struct sl_text t = sl_json_view(name);

    if (!check_name(c->e, at, name))
        return;
    if (!sl_wordset_add(&c->groups, t.s))
        sl_field_duplicate(c->e, at, sl_field_value_text(t), "");
    else if (local && !sl_wordset_add(&c->flavors, t.s))
        sl_field_duplicate(c->e, at, sl_field_value_text(t),
                           "there is another flavor of this name");
    else if (!local && sl_masterqueue_pool_fault(c->name, t, SL_TEXT("p")))
        sl_field_invalid(c->e, at, sl_field_value_text(t),
                         "must leave space for the name of a pool: names of flavors, "
                         "MASTERQUEUE-GROUP-POOL, have no more than 253 characters");
}

static void check_group(struct check *c, const struct sl_path *at, yyjson_val *group) {
    yyjson_val *name = sl_json_get(group, "name");
    yyjson_val *nats = sl_json_get(group, "natsFlavor"), *local = sl_json_get(group, "localFlavor");

    check_group_name(c, SL_PATH(at, "name"), name, local != NULL);
    if (!nats && !local)
        sl_field_required(c->e, at, ONE_FLAVOR);
    else if (nats && local)
        sl_field_forbidden(c->e, SL_PATH(at, "localFlavor"), ONE_FLAVOR);
    if (nats)
        check_nats(c, SL_PATH(at, "natsFlavor"), sl_json_view(name), nats);
    check_amounts(c, SL_PATH(at, "nominalQuota"), sl_json_get(group, "nominalQuota"));
    check_borrowers(c, SL_PATH(at, "canLendTo"), sl_json_get(group, "canLendTo"));
}

static void check_groups(struct check *c, yyjson_val *groups) {
    const struct sl_path *at = SL_PATH(NULL, "spec.flavors");
    yyjson_val *group;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, groups, SL_MASTERQUEUE_MAX_GROUPS))
        return;
    yyjson_arr_foreach (groups, i, n, group) {
        check_group(c, SL_PATH_AT(at, i), group);
    }
    if (c->borrowers.words.n > SL_MASTERQUEUE_MAX_QUEUES)
        sl_field_invalid(c->e, at, sl_field_value_int((int64_t)c->borrowers.words.n),
                         "must not lend to more than %u different queues in all",
                         SL_MASTERQUEUE_MAX_QUEUES);
    if (c->resources.words.n > SL_MASTERQUEUE_MAX_RESOURCES)
        sl_field_invalid(c->e, at, sl_field_value_int((int64_t)c->resources.words.n),
                         "must not name more than %u resources in all",
                         SL_MASTERQUEUE_MAX_RESOURCES);
}

/* ---- all of it ---- */

static void check_template(struct sl_field_errs *e, yyjson_val *template) {
    const struct sl_path *at = SL_PATH(NULL, "spec.template");
    const struct sl_path *priority_at =
        SL_PATH(at, "preemption.borrowWithinCohort.maxPriorityThreshold");
    int64_t priority = sl_json_int(template, priority_at->name, 0);

    if (!template)
        return;
    (void)check_name(e, SL_PATH(at, "cohort"), sl_json_get(template, "cohort"));
    sl_syntax_check_selector(e, SL_PATH(at, "namespaceSelector"),
                             sl_json_get(template, "namespaceSelector"));
    if (priority < INT32_MIN || priority > INT32_MAX)
        sl_field_invalid(e, priority_at, sl_field_value_int(priority), "must be between %d and %d",
                         INT32_MIN, INT32_MAX);
}

void sl_masterqueue_check(struct sl_field_errs *e, const char *name, yyjson_val *spec) {
    struct sl_arena arena = SL_ARENA(ARENA_BYTES);
    struct check c = {.e = e, .name = sl_text_of(name), .arena = &arena};

    check_template(e, sl_json_get(spec, "template"));
    check_groups(&c, sl_json_get(spec, "flavors"));
    if (sl_arena_full(&arena))
        sl_field_forbidden(e, SL_PATH(NULL, "spec"), "must not take more than %zu bytes of memory",
                           ARENA_BYTES);
    sl_wordset_done(&c.groups);
    sl_wordset_done(&c.flavors);
    sl_wordset_done(&c.resources);
    sl_wordset_done(&c.borrowers);
    sl_arena_done(&arena);
}
