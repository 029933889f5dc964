/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a Workload, its checks and its requests to the state of the checks, and to what has to be
 * made or has to go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/provisioning/capacity.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload_int.h"

#define ANNOTATION "provreq.kueue.x-k8s.io/"
#define CONTROLLER "kueue-provisioning-request-controller"
#define CONSUME "autoscaling.x-k8s.io/consume-provisioning-request"
#define CLASS_NAME "autoscaling.x-k8s.io/provisioning-class-name"
#define INACTIVE "the check is not active"
#define NO_NODES "waits for exact nodes: "
#define MAX_WHY 512u
#define MAX_MESSAGE 32768u

char *mgr_prov_read_parameters(yyjson_val *workload) {
    yyjson_val *map = sl_json_at(workload, "metadata.annotations"), *key, *val;
    size_t i, n;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(PROV_MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_obj_foreach (map, i, n, key, val) {
        if (strncmp(sl_json_text(key), ANNOTATION, sizeof ANNOTATION - 1) != 0)
            continue;
        if (j.depth == 0)
            sl_jw_object(&j, NULL);
        sl_jw_val(&j, sl_json_text(key) + sizeof ANNOTATION - 1, val);
    }
    sl_jw_end_to(&j, 0);
    char *s = b.len && !sl_buf_full(&b) ? sl_strdup(sl_buf_str(&b)) : NULL;
    return s;
}

/* ---- which Workloads need a request ---- */

static bool uses(yyjson_val *resources, yyjson_val *managed) {
    static const char *const maps[] = {"requests", "limits"};
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (managed, i, n, v)
        for (size_t k = 0; k < SL_LEN(maps); k++)
            if (sl_json_same_key(yyjson_obj_get(resources, maps[k]), v))
                return true;
    return false;
}

static bool pod_uses(const char *pod, yyjson_val *managed) {
    static const char *const lists[] = {"initContainers", "containers"};
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(pod, strlen(pod), 0);
    yyjson_val *spec = yyjson_doc_get_root(d), *c;
    bool yes = uses(yyjson_obj_get(spec, "resources"), managed);
    size_t i, n;
    for (size_t k = 0; k < SL_LEN(lists); k++)
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[k]), i, n, c)
            yes = yes || uses(yyjson_obj_get(c, "resources"), managed);
    return yes;
}

uint32_t mgr_prov_needed(const struct mgr_rec_wl *w, yyjson_val *config,
                         uint32_t ret[SL_MAX_PODSETS], int32_t counts[SL_MAX_PODSETS]) {
    yyjson_val *managed = sl_json_at(config, "spec.managedResources");
    const struct mgr_wl_admission *a = w->seen.admission;
    uint32_t n = 0;
    for (uint32_t i = 0; a && i < w->n_podsets; i++) {
        int32_t count = w->podsets[i].count;
        for (uint32_t k = 0; k < a->n; k++)
            if (a->v[k].name == w->podsets[i].name)
                count = a->v[k].count;
        if (count <= 0 ||
            (yyjson_arr_size(managed) && !pod_uses(w->podsets[i].template->pod, managed)))
            continue;
        counts[n] = count;
        ret[n++] = i;
    }
    return n;
}

/* Does the request match the configuration, and the annotations of the Workload, now? */
static bool is_current(const struct sl_manager *m, const struct mgr_rec_wl *w,
                       const struct mgr_rec_prov *p, yyjson_val *config) {
    static const char *const none = "{}";
    const char *text = p->parameters ? p->parameters : none,
               *own = w->parameters ? w->parameters : none;
    if (strcmp(mgr_str(m, p->class), sl_json_str(config, "spec.provisioningClassName")) != 0)
        return false;
    yyjson_doc *d = yyjson_read(text, strlen(text), 0), *o = yyjson_read(own, strlen(own), 0);
    yyjson_val *has = yyjson_doc_get_root(d), *over = yyjson_doc_get_root(o), *key, *val;
    size_t i, n;
    bool same = true;
    sl_obj_foreach (sl_json_at(config, "spec.parameters"), i, n, key, val) {
        const char *k = sl_json_text(key);
        yyjson_val *wanted = yyjson_obj_get(over, k), *is = yyjson_obj_get(has, k);
        same = same && is && sl_json_equal(is, wanted ? wanted : val, NULL);
    }
    yyjson_doc_free(d);
    yyjson_doc_free(o);
    return same;
}

/* ---- reporting ---- */

static void report(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                   struct mgr_wl_check to) {
    if (mgr_wl_set_check(m, w, &to) && to.state != is->state)
        sl_rec_event(&w->rec, CONTROLLER, false, "AdmissionCheckUpdated",
                     "Admission check %s updated state from %s to %s%s%s", mgr_str(m, is->name),
                     sl_word(SL_VOCAB_CHECK_STATE, (int)is->state),
                     sl_word(SL_VOCAB_CHECK_STATE, (int)to.state),
                     *to.message ? " with message: " : "", to.message);
}

/* State and message; what else there is stays as long as the state does. An empty message does not
 * take one away. */
static void report_state(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                         enum sl_check_state state, const char *message) {
    struct mgr_wl_check to = *is;
    if (state != is->state)
        to.updates = NULL;
    to.state = state;
    if (*message || state != is->state)
        to.message = (char *)message; /* only read */
    report(m, w, is, to);
}

void mgr_prov_set_failed(struct sl_manager *m, struct mgr_rec_wl *w, sl_sym check,
                         const char *message) {
    const struct mgr_wl_check *c = mgr_wl_find_check(&w->seen, check);
    sl_rec_event(&w->rec, CONTROLLER, true, "FailedCreate", "%s", message);
    if (c && c->state == SL_CHECK_PENDING)
        report_state(m, w, c, SL_CHECK_PENDING, message);
}

/* base * 2^retries, no more than max. */
static int64_t back_off(yyjson_val *config, int32_t retries) {
    int64_t s = sl_json_int(config, "spec.retryStrategy.backoffBaseSeconds", 60),
            most = sl_json_int(config, "spec.retryStrategy.backoffMaxSeconds", 1800);
    for (int32_t i = 0; i < retries && s < most; i++)
        s = s > 0 ? 2 * s : most;
    return s < most ? s : most;
}

static void put_selectors(struct sl_jw *j, yyjson_val *config, const char *details) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        details ? yyjson_read(details, strlen(details), 0) : NULL;
    yyjson_val *v;
    size_t i, n;
    sl_jw_object(j, "nodeSelector");
    yyjson_arr_foreach (sl_json_at(config, "spec.podSetUpdates.nodeSelector"), i, n, v) {
        yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(d),
                                           sl_json_str(v, "valueFromProvisioningClassDetail"));
        if (yyjson_is_str(value))
            sl_jw_val(j, sl_json_str(v, "key"), value);
    }
    sl_jw_end(j);
}

/* What pods get: the request that booked capacity for them, and the nodes that it names. Those of
 * podsets that were merged into another's get it, too. */
static void put_updates(const struct sl_manager *m, const struct mgr_rec_wl *w,
                        const struct mgr_rec_prov *p, yyjson_val *config, struct sl_jw *j) {
    uint32_t sets[SL_MAX_PODSETS];
    int32_t counts[SL_MAX_PODSETS];
    uint32_t n = mgr_prov_needed(w, config, sets, counts);
    sl_jw_array(j, NULL);
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", mgr_str(m, w->podsets[sets[i]].name));
        sl_jw_object(j, "annotations");
        sl_jw_str(j, CONSUME, p->rec.name);
        sl_jw_str(j, CLASS_NAME, mgr_str(m, p->class));
        sl_jw_end(j);
        if (sl_json_at(config, "spec.podSetUpdates.nodeSelector"))
            put_selectors(j, config, p->details);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

/* Where exact nodes are wanted, they are there: those that were provided, or others. */
static bool has_nodes(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                      const char *updates) {
    char why[MAX_WHY] = "", text[MAX_WHY + sizeof NO_NODES];
    if (mgr_exact_place_late(m, w, updates, why, sizeof why))
        return true;
    sl_fmt_short(text, sizeof text, NO_NODES "%s", why);
    report_state(m, w, is, SL_CHECK_PENDING, text);
    return false;
}

static void report_ready(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                         const struct mgr_rec_prov *p, yyjson_val *config) {
    struct mgr_wl_check to = *is;
    if (is->state == SL_CHECK_READY)
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(PROV_MAX_TEXT);
    put_updates(m, w, p, config, &SL_JW(&b));
    if (!has_nodes(m, w, is, sl_buf_str(&b)))
        return;
    to.state = SL_CHECK_READY;
    to.updates = b.s;
    to.message = (char *)mgr_prov_message(p, PROV_PROVISIONED);
    report(m, w, is, to);
}

/* ---- the state of a check ---- */

/* It failed, or what it had found was taken by others before the Workload started. Returns whether
 * another has to be made now: the one before was dealt with. */
static bool report_retry(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                         yyjson_val *config, int32_t attempt, const char *what, const char *why) {
    int32_t retries = is->retries > 0 ? is->retries : 0;
    struct mgr_wl_check to = *is;
    if (is->state == SL_CHECK_REJECTED || is->state == SL_CHECK_RETRY)
        return false; /* the Workload is about to be evicted for that */
    if (attempt > sl_json_int(config, "spec.retryStrategy.backoffLimitCount", 3)) {
        report_state(m, w, is, SL_CHECK_REJECTED, why);
        return false;
    }
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(MAX_MESSAGE);
    sl_buf_printf(&b, "Retrying after %s: %s", what, why);
    to.message = b.s;
    if (attempt > retries) {
        to.state = SL_CHECK_RETRY;
        to.updates = NULL;
        to.requeue_after_s = back_off(config, retries);
    }
    report(m, w, is, to);
    return to.state == SL_CHECK_PENDING;
}

/* It has no conditions yet: does any controller handle its class? */
static void report_nothing_yet(struct sl_manager *m, struct mgr_rec_wl *w,
                               const struct mgr_wl_check *is, const struct mgr_rec_prov *p) {
    char text[512] = "";
    if (p->rec.created + PROV_ANSWER_TIMEOUT <= m->spec.client->wall && !p->answer.free)
        sl_fmt(text, sizeof text, "no controller answers ProvisioningRequests of class %.253s",
               mgr_str(m, p->class));
    report_state(m, w, is, SL_CHECK_PENDING, text);
}

/* Returns whether the attempt after this one has to be made. */
static bool follow(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_wl_check *is,
                   yyjson_val *config, const struct mgr_rec_prov *p, int32_t attempt) {
    bool admitted = mgr_wl_condition_is_true(m, w, "Admitted"), ready = is->state == SL_CHECK_READY;
    if (mgr_prov_is(p, PROV_FAILED))
        return report_retry(m, w, is, config, attempt, "failure", mgr_prov_message(p, PROV_FAILED));
    if (mgr_prov_is(p, PROV_CAPACITY_REVOKED)) {
        if (w->active)
            report_state(m, w, is, SL_CHECK_REJECTED, mgr_prov_message(p, PROV_CAPACITY_REVOKED));
        return false;
    }
    if (mgr_prov_is(p, PROV_BOOKING_EXPIRED))
        return !admitted && report_retry(m, w, is, config, attempt, "booking expired",
                                         mgr_prov_message(p, PROV_BOOKING_EXPIRED));
    if (is->state == SL_CHECK_RETRY || is->state == SL_CHECK_REJECTED || (ready && admitted))
        return false;
    if (mgr_prov_is(p, PROV_PROVISIONED))
        report_ready(m, w, is, p, config);
    else if (!mgr_prov_is(p, PROV_ACCEPTED))
        report_nothing_yet(m, w, is, p);
    else if (p->conds[PROV_PROVISIONED].status != COND_NONE)
        report_state(m, w, is, SL_CHECK_PENDING, mgr_prov_message(p, PROV_PROVISIONED));
    return false;
}

/* ---- the requests of a Workload ---- */

/* The newest of the check that is as it should be, with its number; NULL: none. */
static struct mgr_rec_prov *newest(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                   const struct mgr_wl_check *check, yyjson_val *config,
                                   int32_t *ret_attempt) {
    struct mgr_rec_prov *best = NULL;
    uint32_t cursor = 0;
    *ret_attempt = 0;
    for (struct mgr_rec_prov *p; (p = mgr_prov_owned(m, w->rec.uid, &cursor));) {
        int32_t n = mgr_prov_attempt(p->rec.name, w->rec.name, mgr_str(m, check->name));
        if (n <= *ret_attempt || p->rec.deleting || !is_current(m, w, p, config))
            continue;
        best = p;
        *ret_attempt = n;
    }
    return best;
}

/* Of everything that a request is made from: of another it would be another. */
static uint64_t key_of(const struct sl_manager *m, const struct mgr_rec_wl *w, sl_sym check,
                       int32_t attempt, const struct mgr_rec_conf *config) {
    const struct mgr_wl_admission *a = w->seen.admission;
    uint64_t h = sl_hash_u64(sl_hash_u64(check, (uint32_t)attempt), config->hash);
    h = sl_hash_str(sl_hash_u64(h, (uint64_t)w->spec_generation), w->parameters);
    for (uint32_t i = 0; i < a->n; i++) {
        h = sl_hash_u64(sl_hash_u64(h, a->v[i].name), (uint32_t)a->v[i].count);
        for (uint32_t k = 0; k < a->v[i].n; k++) {
            struct sl_rec *f = sl_inf_find(m->inf, REC_FLAVOR, "", mgr_str(m, a->v[i].v[k].flavor));
            h = sl_hash_u64(sl_hash_u64(h, a->v[i].v[k].flavor), f ? mgr_conf_of(f)->hash : 0);
        }
    }
    return h;
}

/* Returns whether it is to be made; another of its name has to be gone before. */
static bool make(struct sl_manager *m, struct mgr_rec_wl *w, sl_sym check, int32_t attempt) {
    const struct sl_rec *c = sl_inf_find(m->inf, REC_CHECK, "", mgr_str(m, check));
    struct sl_rec *config =
        sl_inf_find(m->inf, REC_PROV_CONFIG, "",
                    mgr_str(m, SL_CONTAINER_OF(c, const struct mgr_rec_conf, rec)->refers));
    uint32_t cursor = 0;
    for (struct mgr_rec_prov *p; (p = mgr_prov_owned(m, w->rec.uid, &cursor));)
        if (mgr_prov_attempt(p->rec.name, w->rec.name, mgr_str(m, check)) == attempt)
            return false;
    mgr_prov_make(w, check, attempt, key_of(m, w, check, attempt, mgr_conf_of(config)));
    return true;
}

/* Returns the request that the check needs, NULL: none. *made: one is being made. */
static struct mgr_rec_prov *sync(struct sl_manager *m, struct mgr_rec_wl *w,
                                 const struct mgr_wl_check *is, bool *made) {
    uint32_t sets[SL_MAX_PODSETS];
    int32_t counts[SL_MAX_PODSETS], attempt = 0, retries = is->retries > 0 ? is->retries : 0;
    struct mgr_rec_prov *p = NULL;
    bool ours, again = false;
    yyjson_doc *d = mgr_prov_config(m, is->name, &ours);
    yyjson_val *config = yyjson_doc_get_root(d);
    if (!ours)
        return NULL;
    if (!d || !mgr_prov_api_exists(m)) {
        if (is->state == SL_CHECK_PENDING)
            report_state(m, w, is, SL_CHECK_PENDING, d ? INACTIVE ": " PROV_MISSING : INACTIVE);
    } else if (!mgr_prov_needed(w, config, sets, counts)) {
        if (is->state != SL_CHECK_READY && has_nodes(m, w, is, NULL))
            report_state(m, w, is, SL_CHECK_READY, "the provisioning request is not needed");
    } else {
        p = newest(m, w, is, config, &attempt);
        if (p)
            again = follow(m, w, is, config, p, attempt);
        else
            again = is->state == SL_CHECK_PENDING;
        if (again && !*made)
            *made = make(m, w, is->name, (p ? attempt : retries) + 1);
    }
    yyjson_doc_free(d);
    return p;
}

static void drop(struct sl_manager *m, const struct mgr_rec_wl *w, struct mgr_rec_prov *const *kept,
                 uint32_t n) {
    uint32_t cursor = 0;
    for (struct mgr_rec_prov *p; (p = mgr_prov_owned(m, w->rec.uid, &cursor));) {
        bool needed = false;
        for (uint32_t i = 0; i < n; i++)
            needed |= kept[i] == p;
        if (p->drop == needed)
            mgr_capacity_touch(m);
        p->drop = !needed;
        if (p->drop && !p->rec.deleting)
            sl_rec_write(&p->rec);
    }
}

/* Is something on its way that may be another admission, another state, or its end? */
static bool is_changing(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return (w->sent && (w->sent->fields & (WL_ADMISSION | WL_CHECKS))) ||
           (w->desired && (w->desired->fields & WL_ADMISSION)) ||
           mgr_wl_condition_will_be_true(m, w, "Evicted") !=
               mgr_wl_condition_is_true(m, w, "Evicted") ||
           mgr_wl_condition_will_be_true(m, w, "Finished") !=
               mgr_wl_condition_is_true(m, w, "Finished");
}

void mgr_prov_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w) {
    SL_VEC(struct mgr_rec_prov *) kept = {0};
    bool made = false, any = w->seen.checks.n || w->draft || m->inf->tables[REC_PROV_REQUEST].n;
    if (!any || !m->spec.parts.provisioning || !m->leads || is_changing(m, w))
        return;
    bool finished = mgr_wl_condition_is_true(m, w, "Finished"),
         evicted = mgr_wl_condition_is_true(m, w, "Evicted");
    if (!finished && !evicted && w->seen.admission &&
        mgr_wl_condition_is_true(m, w, "QuotaReserved")) {
        for (uint32_t i = 0; i < w->seen.checks.n; i++) {
            struct mgr_rec_prov *p = sync(m, w, &w->seen.checks.v[i], &made);
            if (p)
                *sl_vec_push(&kept) = p; /* NOLINT(bugprone-sizeof-expression): pointers */
        }
        drop(m, w, kept.v, kept.n);
        sl_vec_free(&kept);
    } else if (finished ||
               (evicted && m->settings->gates[SL_G_CLEANUP_PROVISIONING_REQUESTS_ON_EVICTION])) {
        drop(m, w, NULL, 0);
    }
    if (!made)
        mgr_prov_make_none(w);
}

/* The garbage collector would delete them later; until then they would book capacity. */
void mgr_prov_workload_gone(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (m->spec.parts.provisioning && m->leads)
        drop(m, w, NULL, 0);
}
