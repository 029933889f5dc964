/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of queues, cohorts, flavors and checks: our finalizer, and statuses with their counters.
 * Counters are written soon after they change (STATUS_DELAY, so that a burst is coalesced) and not
 * more often than every STATUS_PAUSE; a status that is equivalent to the observed one is not
 * written.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/provisioning/provisioning.h"

#define MAX_STATUS ((size_t)4 << 20)

/* ---- finalizers ---- */

static bool names_flavor(yyjson_val *spec, const char *name) {
    size_t i, n, k, nk;
    yyjson_val *group, *flavor;
    yyjson_arr_foreach (yyjson_obj_get(spec, "resourceGroups"), i, n, group)
        yyjson_arr_foreach (yyjson_obj_get(group, "flavors"), k, nk, flavor)
            if (strcmp(sl_json_str(flavor, "name"), name) == 0)
                return true;
    return false;
}

static bool names_check(yyjson_val *spec, const char *name) {
    size_t i, n;
    yyjson_val *check;
    yyjson_arr_foreach (sl_json_at(spec, "admissionChecksStrategy.admissionChecks"), i, n, check)
        if (strcmp(sl_json_str(check, "name"), name) == 0)
            return true;
    return false;
}

/* Does any ClusterQueue name this flavor or check? */
static bool in_use(const struct sl_manager *m, const struct sl_rec *r) {
    uint32_t at = 0;
    bool used = false;
    for (struct sl_rec *q; !used && (q = sl_inf_each(m->inf, REC_CLUSTER_QUEUE, &at));) {
        const char *text = mgr_conf_of(q)->text;
        yyjson_doc *d = yyjson_read(text, strlen(text), 0);
        yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(d), "spec");
        used = r->kind == REC_FLAVOR ? names_flavor(spec, r->name) : names_check(spec, r->name);
        yyjson_doc_free(d);
    }
    return used;
}

bool mgr_in_use_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    if (!m->spec.parts.core || r->finalizer != r->deleting)
        return false;
    if (r->deleting && in_use(m, r))
        return false;
    sl_rec_build_finalizer(r, !r->deleting, w);
    return true;
}

/* ---- statuses ---- */

static bool too_soon(struct sl_manager *m, struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    sl_time at = c->written_at + STATUS_PAUSE;
    if (!c->written_at || at <= m->spec.client->mono)
        return false;
    sl_rec_write_at(r, at);
    return true;
}

/* Writes the status if it differs from the observed one. */
static bool patch_status(struct sl_manager *m, struct sl_rec *r, const struct sl_buf *status,
                         struct sl_write *w) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    yyjson_doc *d = yyjson_read(status->s, status->len, 0);
    uint64_t hash = sl_json_hash(1, yyjson_doc_get_root(d));
    yyjson_doc_free(d);
    if (hash == c->status)
        return false;
    c->written_at = m->spec.client->mono;
    sl_rec_build_patch(r, "status", w);
    sl_jw_object(&w->json, NULL);
    sl_jw_raw(&w->json, "status", sl_buf_str(status));
    return true;
}

static void put_active(struct sl_manager *m, struct sl_rec *r, bool active, const char *reason,
                       const char *message, struct sl_jw *j) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    /* Any other is refused, and written again and again. */
    sl_assert((*reason | 32) >= 'a' && (*reason | 32) <= 'z');
    sl_time since = c->has_active && c->active == active ? c->active_since : m->spec.client->wall;
    sl_jw_array(j, "conditions");
    if (c->others)
        sl_jw_items(j, c->others);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", "Active");
    sl_jw_str(j, "status", active ? "True" : "False");
    sl_jw_str(j, "reason", reason);
    sl_jw_str(j, "message", message);
    sl_jw_int(j, "observedGeneration", r->generation);
    sl_jw_time(j, "lastTransitionTime", since);
    sl_jw_end(j);
    sl_jw_end(j);
}

/* A check of another controller is left to that controller. */
bool mgr_check_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct sl_buf b;
    const char *reason;
    bool active, any = mgr_in_use_build(m, r, w);
    if (any || r->deleting)
        return any;
    _cleanup_(sl_buf_done) struct sl_buf message = SL_BUF_SHORT(4096);
    if (mgr_prov_check_active(m, r, &active, &reason, &message)) {
        sl_buf_init(&b, MAX_STATUS);
        struct sl_jw j = SL_JW(&b);
        sl_jw_object(&j, NULL);
        put_active(m, r, active, reason, sl_buf_str(&message), &j);
        sl_jw_end(&j);
        any = patch_status(m, r, &b, w);
        sl_buf_done(&b);
    }
    return any;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_amount(struct sl_jw *j, const char *key, const char *resource, sl_amount a) {
    char text[SL_QUANTITY_TEXT];
    sl_jw_str(j, key, sl_amount_format(resource, a, text));
}

/*
 * Every flavor in the order of the spec, with every covered resource by name. For a LocalQueue (lq
 * set) the totals are its own and borrowing is left out.
 */
static void put_usage(struct sl_manager *m, const char *key, bool admitted, yyjson_val *spec,
                      const char *cq, const struct sl_rec *lq, struct sl_jw *j) {
    bool cohort = *sl_json_str(spec, "cohortName") != 0;
    size_t i, n, f, nf, k, nk;
    yyjson_val *group, *flavor, *res;

    sl_jw_array(j, key);
    yyjson_arr_foreach (yyjson_obj_get(spec, "resourceGroups"), i, n, group) {
        yyjson_val *covered = yyjson_obj_get(group, "coveredResources");
        /* More than the API takes: such a queue is refused, and has no usage. */
        if (i >= SL_MAX_GROUPS || yyjson_arr_size(covered) > SL_MAX_GROUP_RESOURCES ||
            yyjson_arr_size(yyjson_obj_get(group, "flavors")) > SL_MAX_GROUP_FLAVORS)
            continue;
        const char **names = sl_alloc0(yyjson_arr_size(covered) + 1, sizeof *names);
        uint32_t n_names = 0;
        yyjson_arr_foreach (covered, k, nk, res)
            if (yyjson_is_str(res))
                names[n_names++] = sl_json_text(res);
        qsort(names, n_names, sizeof *names, by_name);
        yyjson_arr_foreach (yyjson_obj_get(group, "flavors"), f, nf, flavor) {
            const char *name = sl_json_str(flavor, "name");
            sl_jw_object(j, NULL);
            sl_jw_str(j, "name", name);
            sl_jw_array(j, "resources");
            for (uint32_t x = 0; x < n_names; x++) {
                struct sl_engine_cell_view cell = {0};
                sl_amount used;
                sl_jw_object(j, NULL);
                sl_jw_str(j, "name", names[x]);
                if (lq) {
                    sl_amount reserved, held;
                    sl_engine_lq_usage(m->engine, mgr_str(m, lq->ns), lq->name, name, names[x],
                                       &reserved, &held);
                    put_amount(j, "total", names[x], admitted ? held : reserved);
                } else {
                    (void)sl_engine_cell(m->engine, false, cq, name, names[x], &cell);
                    used = admitted ? cell.admitted_usage : cell.usage;
                    put_amount(j, "total", names[x], used);
                    put_amount(j, "borrowed", names[x],
                               cohort && used > cell.nominal ? sl_amount_sub(used, cell.nominal)
                                                             : 0);
                }
                sl_jw_end(j);
            }
            sl_jw_end(j);
            sl_jw_end(j);
        }
        sl_freep(&names);
    }
    sl_jw_end(j);
}

static void put_share(struct sl_jw *j, int64_t share) {
    sl_jw_object(j, "fairSharing");
    sl_jw_int(j, "weightedShare", share);
    sl_jw_end(j);
}

static void put_counts(struct sl_jw *j, uint32_t pending, uint32_t reserving, uint32_t admitted) {
    sl_jw_uint(j, "pendingWorkloads", pending);
    sl_jw_uint(j, "reservingWorkloads", reserving);
    sl_jw_uint(j, "admittedWorkloads", admitted);
}

bool mgr_cq_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    struct sl_engine_cq_view v;

    if (!m->spec.parts.core || !sl_engine_cq(m->engine, r->name, &v))
        return false;
    if (r->deleting) {
        if (!r->finalizer || v.reserving)
            return false;
        sl_rec_build_finalizer(r, false, w);
        return true;
    }
    if (!r->finalizer) {
        sl_rec_build_finalizer(r, true, w);
        return true;
    }
    if (too_soon(m, r))
        return false;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    put_active(m, r, v.active, v.active ? "Ready" : sl_word(SL_VOCAB_INACTIVE, (int)v.reason),
               v.message, &j);
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(d), "spec");
    put_usage(m, "flavorsReservation", false, spec, r->name, NULL, &j);
    put_usage(m, "flavorsUsage", true, spec, r->name, NULL, &j);
    yyjson_doc_free(d);
    put_counts(&j, v.heap + v.asleep, v.reserving, v.admitted);
    if (m->settings->engine.fair_sharing)
        put_share(&j, v.weighted_share);
    else
        sl_jw_null(&j, "fairSharing");
    sl_jw_end(&j);
    bool any = patch_status(m, r, &b, w);
    return any;
}

/* The state of a LocalQueue, first match. */
static void lq_active(const struct sl_manager *m, yyjson_val *spec, const char *cq,
                      bool *ret_active, const char **ret_reason, const char **ret_message) {
    const char *stop = sl_json_str(spec, "stopPolicy");
    struct sl_engine_cq_view v;
    *ret_active = false;
    *ret_message = "Can't submit new workloads to clusterQueue";
    if (*stop && strcmp(stop, "None") != 0) {
        *ret_reason = "Stopped";
        *ret_message = "LocalQueue is stopped";
    } else if (!sl_engine_cq(m->engine, cq, &v)) {
        *ret_reason = "ClusterQueueDoesNotExist";
    } else if (!v.active) {
        *ret_reason = "ClusterQueueIsInactive";
    } else {
        *ret_active = true;
        *ret_reason = "Ready";
        *ret_message = "Can submit new workloads to localQueue";
    }
}

bool mgr_lq_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    const char *cq = mgr_str(m, c->refers), *reason, *message;
    struct sl_engine_lq_view v;
    bool active;

    if (!m->spec.parts.core || r->deleting ||
        !sl_engine_lq(m->engine, mgr_str(m, r->ns), r->name, &v) || too_soon(m, r))
        return false;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    yyjson_doc *own = yyjson_read(c->text, strlen(c->text), 0);
    lq_active(m, yyjson_obj_get(yyjson_doc_get_root(own), "spec"), cq, &active, &reason, &message);
    yyjson_doc_free(own);
    put_active(m, r, active, reason, message, &j);
    struct sl_rec *q = sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", cq);
    if (q) {
        yyjson_doc *d = yyjson_read(mgr_conf_of(q)->text, strlen(mgr_conf_of(q)->text), 0);
        yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(d), "spec");
        put_usage(m, "flavorsReservation", false, spec, cq, r, &j);
        put_usage(m, "flavorsUsage", true, spec, cq, r, &j);
        yyjson_doc_free(d);
    } else {
        sl_jw_null(&j, "flavorsReservation");
        sl_jw_null(&j, "flavorsUsage");
    }
    put_counts(&j, strcmp(reason, "Stopped") == 0 ? 0 : v.heap + v.asleep, v.reserving, v.admitted);
    sl_jw_end(&j);
    bool any = patch_status(m, r, &b, w);
    return any;
}

bool mgr_cohort_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    if (!m->spec.parts.core || r->deleting || !m->settings->engine.fair_sharing || too_soon(m, r))
        return false;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_STATUS);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    put_share(&j, sl_engine_cohort_share(m->engine, r->name));
    sl_jw_end(&j);
    bool any = patch_status(m, r, &b, w);
    return any;
}
