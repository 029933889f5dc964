/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MasterQueue: refuses what masterqueue.h says, and warns of what is right but probably not meant.
 */
#include <string.h>

#include "lib/json/seek.h"
#include "lib/nats/connector.h"
#include "manager/admission/handlers.h"
#include "manager/admission/masterqueue.h"

/* Providers publish every 30 s and a bit; see SL_MQ_GRACE for the 5. */
#define SHORT_TIMEOUT 35
#define CONNECTOR_BYTES ((size_t)64 << 10)
#define MAX_PATH 128u

static void warn_at(struct sl_review_call *c, const struct sl_path *at, const char *text) {
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF_SHORT(MAX_PATH);

    sl_path_print(at, &path);
    adm_call_warn(c, "%s: %s", sl_buf_str(&path), text);
}

static bool has_credentials(yyjson_val *connector) {
    struct sl_text t = sl_json_view(connector);
    struct sl_arena arena = SL_ARENA(CONNECTOR_BYTES);
    struct sl_nats_connector parsed = {0};
    struct sl_err err;
    bool has = sl_nats_connector_parse(t.s, t.n, &arena, &parsed, &err) >= 0 &&
               !sl_arena_full(&arena) && (parsed.password || parsed.token);

    sl_nats_connector_wipe(&parsed);
    sl_arena_done(&arena);
    return has;
}

static void warn_nats(struct sl_review_call *c, const struct sl_path *at, yyjson_val *nats) {
    int64_t seconds = sl_json_int(nats, "poolTimeout", SL_MASTERQUEUE_TIMEOUT);

    if (seconds < SHORT_TIMEOUT)
        warn_at(c, SL_PATH(at, "poolTimeout"),
                "a pool is dropped after poolTimeout plus 5 s of silence, and providers usually "
                "publish every 30 s: use 60 or more");
    if (has_credentials(sl_json_get(nats, "natsConnector")))
        warn_at(c, SL_PATH(at, "natsConnector"),
                "whoever may read this object can read the credentials: natsSecret keeps them out "
                "of it");
}

static void warn_template(struct sl_review_call *c, const char *name, yyjson_val *template) {
    yyjson_val *preemption = sl_json_get(template, "preemption");
    const char *reclaim = sl_json_str(preemption, "reclaimWithinCohort");
    const char *policy = sl_json_str(preemption, "borrowWithinCohort.policy");

    if (!template)
        adm_call_warn(c, "spec.template: not set, so the cohort of the queues is \"%s\"", name);
    if (sl_json_get(preemption, "borrowWithinCohort") && strcmp(policy, "Never") != 0 &&
        (!*reclaim || strcmp(reclaim, "Never") == 0))
        adm_call_warn(c, "spec.template.preemption.borrowWithinCohort: ignored without "
                         "reclaimWithinCohort");
}

static void warn(struct sl_review_call *c, const char *name, yyjson_val *spec) {
    const struct sl_path *at = SL_PATH(NULL, "spec.flavors");
    yyjson_val *group;
    size_t i, n;

    warn_template(c, name, sl_json_get(spec, "template"));
    yyjson_arr_foreach (sl_json_get(spec, "flavors"), i, n, group) {
        yyjson_val *nats = sl_json_get(group, "natsFlavor");
        if (nats)
            warn_nats(c, SL_PATH(SL_PATH_AT(at, i), "natsFlavor"), nats);
    }
}

static bool is_same(yyjson_val *a, yyjson_val *b) {
    return a && b ? sl_json_equal(a, b, NULL) : a == b;
}

/* What was stored once can be labelled and deleted: only a new spec is reviewed. */
int sl_review_masterqueue_validate(struct sl_review_call *c) {
    const char *name = *c->name ? c->name : sl_json_str(c->object, "metadata.name");
    yyjson_val *spec = sl_json_get(c->object, "spec");

    if (c->op == SL_REVIEW_UPDATE && is_same(spec, sl_json_get(c->old, "spec")))
        return 0;
    sl_masterqueue_check(&c->errs, name, spec);
    if (c->errs.n == 0)
        warn(c, name, spec);
    return 0;
}
