/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of a Workload, their order, and the handling of replies. */
#include <stdlib.h>
#include <string.h>

#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"
#include "manager/controllers/workload/workload_int.h"
#include "manager/controllers/workload/workloads.h"

/*
 * Quota that one workload releases may be reserved by another, but not before the release is in
 * the API: a reservation is written only when no release is in flight, nor a move to other places.
 * A reader of the API, and the next leader after a crash, never see more reserved than there is. A
 * workload that moves keeps its quota, and waits for releases only: two that move would wait for
 * each other. Jobs of the queue on the graph wait for both (mgr_exact_note_releases).
 */
void mgr_wl_note_release(struct sl_manager *m, struct mgr_rec_wl *w) {
    bool sent = w->sent && w->sent->s.admission; /* the API has it already, or will in a moment */
    bool now = !w->rec.gone && !w->release_refused && (w->seen.admission || sent) &&
               mgr_wl_changing(w, WL_ADMISSION) &&
               (!mgr_wl_next(w, WL_ADMISSION)->admission || mgr_wl_takes_another(w));
    bool moves = !w->rec.gone && !w->release_refused && !now && mgr_wl_changing(w, WL_ADMISSION) &&
                 mgr_wl_moves(w);
    if (now == w->releasing && moves == w->moving)
        return;
    m->workloads->n_releasing += (uint32_t)now - w->releasing;
    m->workloads->n_moving += (uint32_t)moves - w->moving;
    w->releasing = now;
    w->moving = moves;
    mgr_exact_note_releases(m, m->workloads->n_releasing || m->workloads->n_moving);
    if (m->workloads->n_releasing)
        return;
    for (uint32_t i = 0; i < m->workloads->held.n; i++)
        if (m->inf->recs.v[m->workloads->held.v[i]])
            sl_rec_write(m->inf->recs.v[m->workloads->held.v[i]]);
    sl_vec_clear(&m->workloads->held);
}

static bool waits_for_release(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (!(m->workloads->n_releasing || (m->workloads->n_moving && !w->moving)) ||
        !(w->desired->fields & WL_ADMISSION) || !w->desired->s.admission)
        return false;
    *sl_vec_push(&m->workloads->held) = w->rec.id;
    return true;
}

/* Was the reservation that is about to be written decided for another size than the workload has
 * now, or has had meanwhile? Its spec was changed while the first attempt was on its way. */
static bool is_outgrown(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = w->desired->s.admission;
    const struct sl_podset_assignment *ps;
    bool other = false;
    if (!(w->desired->fields & WL_ADMISSION) || !a || w->seen.admission)
        return false;
    struct sl_engine_wl_view v;
    if (sl_engine_workload(m->engine, w->id, &v) && strcmp(v.queue, mgr_str(m, w->queue)) != 0)
        return true; /* it has been moved to another queue */
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_ASSIGNED);
    uint32_t n = sl_engine_assignment(m->engine, w->id, &arena, &ps);
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t k = 0; k < n; k++)
            other |=
                strcmp(ps[k].name, mgr_str(m, a->v[i].name)) == 0 && ps[k].count != a->v[i].count;
        for (uint32_t k = 0; k < w->n_podsets; k++) {
            const struct mgr_wl_podset *p = &w->podsets[k];
            int32_t asks = p->count - (w->seen.reclaimable ? w->seen.reclaimable[k] : 0);
            other |= p->name == a->v[i].name && !p->min_count && a->v[i].count < asks;
        }
    }
    return other;
}

static void put_status(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    sl_rec_build_apply(&w->rec, "status", "kueue-admission", out);
    mgr_wl_put_status(m, w, &out->json);
    w->sent = TAKE_PTR(w->desired);
}

/* It was released and reserved again before the first write. In the API a reservation appears and
 * disappears, but does not change: the old one is removed first, by a write of its own. */
static void vacate(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    struct mgr_wl_changes *later = TAKE_PTR(w->desired);
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    bool out_of = evicted && evicted->status == COND_TRUE;
    mgr_wl_set_cond(m, w, "QuotaReserved", false, "Pending",
                    out_of ? evicted->message : "The quota was given back");
    if (mgr_wl_condition_is_true(m, w, "Admitted"))
        mgr_wl_set_cond(m, w, "Admitted", false, "NoReservation",
                        "The workload has no reservation");
    mgr_wl_clear_admission(m, w);
    put_status(m, w, out);
    w->desired = later;
    mgr_wl_note_release(m, w);
}

/* Under another field manager than the rest. */
static bool build_apart(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    if (!mgr_wl_apart(m, w))
        return false;
    sl_rec_build_guarded(&w->rec, "status", out);
    sl_jw_end(&out->json);
    sl_jw_object(&out->json, "status");
    mgr_wl_put_apart(m, w, &out->json);
    out->tag = WRITE_PART;
    return true;
}

/*
 * The status is applied by the field manager that Kueue and its tools use: what one of them, or
 * another version of us, applies next without a field takes that field away.
 */
static bool build_status(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    const struct sl_rec *r = &w->rec;
    if (!w->desired)
        return false;
    if ((w->desired->fields & WL_NAMES) && w->seen.names) {
        sl_rec_build_patch(r, "status", out);
        sl_jw_object(&out->json, NULL);
        sl_jw_object(&out->json, "status");
        sl_jw_null(&out->json, "clusterName");
        sl_jw_null(&out->json, "nominatedClusterNames");
        sl_jw_null(&out->json, "unhealthyNodes");
        out->tag = WRITE_PART;
        return true;
    }
    if (build_apart(m, w, out))
        return true;
    mgr_wl_reset_checks(m, w);
    if (mgr_wl_drop_unready(m, w))
        sl_rec_enqueue(&w->rec); /* it is reported to the engine */
    if (is_outgrown(m, w)) {
        struct sl_fact f = {.kind = SL_FACT_ADMIT_FAILED, .wl = w->id};
        w->spec_hash = 0; /* reported again: the engine does not move one that holds quota */
        mgr_wl_changes_free(&w->desired);
        (void)mgr_apply_fact(m, &f, NULL);
        sl_rec_enqueue(&w->rec);
        return false;
    }
    if (mgr_wl_takes_another(w)) {
        vacate(m, w, out);
        return true;
    }
    if (waits_for_release(m, w))
        return false;
    if (!mgr_wl_differs(w)) {
        mgr_wl_changes_free(&w->desired);
        mgr_wl_note_release(m, w);
        sl_rec_enqueue(&w->rec); /* nothing is on its way any more */
        return false;
    }
    put_status(m, w, out);
    return true;
}

static uint32_t owner_kind(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return mgr_group_owns_one(m, w)
               ? REC_POD
               : mgr_job_kind(m, mgr_str(m, w->owner_api), mgr_str(m, w->owner_kind));
}

bool mgr_wl_build(void *ctx, struct sl_rec *r, struct sl_write *out) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_of(r);
    if (w->unsure) {
        sl_rec_build_read(r, out);
        out->tag = WRITE_UNSURE;
        return true;
    }
    mgr_wl_settle_pending(m, w);
    /* The reason of a deactivation is written before it. A finalizer is removed last, or the object
     * may be gone before the rest is written. */
    if (w->pending & WL_READ_OWNER) {
        if (w->owner_name && !mgr_rec_by_uid(m, w->owner_uid)) {
            sl_inf_build_read(m->inf, owner_kind(m, w), mgr_str(m, w->rec.ns), w->owner_name, out);
            return true;
        }
        w->pending &= ~(uint32_t)WL_READ_OWNER;
    }
    if (build_status(m, w, out))
        return true;
    if (mgr_wl_build_object(m, w, out))
        return true;
    if ((w->pending & WL_DELETE) && !r->deleting) {
        sl_rec_build_delete(r, NULL, -1, out);
        return true;
    }
    return mgr_prov_make_build(m, w, out);
}

static int count_in(const char *s) {
    return s ? (int)strtol(s, NULL, 10) : 0;
}

#define PENDING_PREEMPTION ". Pending the preemption of "
#define PREEMPTING ". Preempting "

/* The condition of the preemptor shows that an eviction could not be written, and again when it
 * could. */
static void report_preemptor(struct sl_manager *m, struct mgr_rec_wl *w, bool failed) {
    struct mgr_rec_wl *by = w->by.v ? mgr_wl_by_id(m, w->by) : NULL;
    const struct mgr_cond *c = by ? mgr_wl_next_cond(m, by, "QuotaReserved") : NULL;
    const char *tail = c && c->status == COND_FALSE
                           ? strstr(c->message, failed ? PENDING_PREEMPTION : PREEMPTING)
                           : NULL;
    if (!tail)
        return;
    int count = count_in(strpbrk(tail, "0123456789"));
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(32768);
    sl_buf_add(&b, c->message, (size_t)(tail - c->message));
    if (failed)
        sl_buf_printf(&b, PREEMPTING "%d workload(s) failed, will retry.", count);
    else
        sl_buf_printf(&b, PENDING_PREEMPTION "%d workload(s)", count);
    mgr_wl_set_cond(m, by, "QuotaReserved", false, "Pending", sl_buf_str(&b));
}

static void event_pending(struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *c = mgr_wl_cond(m, w, "QuotaReserved");
    if (c && c->status == COND_FALSE)
        sl_rec_event(&w->rec, "kueue-admission", true,
                     m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY]
                         ? mgr_str(m, c->reason)
                         : "Pending",
                     "%s", c->message);
}

/* The owner has been decoded if it exists and is ours; if it does not exist, or has another uid,
 * the workload has no owner. */
static void owner_answered(struct sl_manager *m, struct mgr_rec_wl *w, enum sl_written how,
                           const struct sl_kube_reply *reply) {
    if (how == SL_WRITE_FAILED)
        return; /* read again */
    w->pending &= ~(uint32_t)WL_READ_OWNER;
    yyjson_doc *d = how == SL_WRITTEN ? yyjson_read(reply->body, reply->len, 0) : NULL;
    const char *uid = sl_json_str(yyjson_doc_get_root(d), "metadata.uid");
    if (how == SL_WRITE_GONE || (d && w->owner_uid && strcmp(uid, w->owner_uid) != 0))
        mgr_job_orphan(m, w);
    yyjson_doc_free(d);
    if (w->desired || w->pending)
        sl_rec_write(&w->rec);
}

void mgr_wl_clear_reported(struct mgr_rec_wl *w) {
    mgr_prov_make_none(w);
    w->spec_hash = 0;
    w->checks_applied = WL_UNREPORTED;
    if (w->places)
        w->places = WL_UNREPORTED;
}

void mgr_wl_forget(struct sl_manager *m, struct mgr_rec_wl *w) {
    mgr_prov_make_none(w);
    if (!w->desired && !w->sent && !w->pending)
        return;
    mgr_wl_changes_free(&w->desired);
    w->pending = 0;
    w->by = SL_WL_NONE;
    w->release_refused = false;
    w->outdated = w->sent != NULL;
    mgr_wl_note_release(m, w);
    if (!w->id.v)
        return;
    /* The state is reported to the engine again. With a write in flight the workload stays in the
     * engine, which accounts for it. */
    w->spec_hash = 0;
    w->checks_applied = w->reclaimable_hash = 0;
    w->ready_applied = w->reclaimable_applied = w->past_applied = false;
    if (w->sent)
        return;
    if (w->exact) /* a reply is handled between turns, and the queue on the graph has its own */
        mgr_exact_unobserve(m);
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
    (void)mgr_apply_fact(m, &f, NULL);
    mgr_wl_drop_id(m, w);
}

/*
 * A reservation was sent, its result is unknown, and it is not going to be sent again: we lead
 * again, or it was released meanwhile. Until the object has been read it may hold its quota.
 */
static bool is_unsure(const struct mgr_rec_wl *w, enum sl_written how) {
    return how == SL_WRITE_FAILED && w->sent && (w->sent->fields & WL_ADMISSION) &&
           w->sent->s.admission &&
           (w->outdated || (w->desired && (w->desired->fields & WL_ADMISSION)));
}

/* What was sent did not come to pass. */
static void take_back(struct sl_manager *m, struct mgr_rec_wl *w) {
    /* Others may have been promised what is given back: that is written, whenever it was decided.
     * All else of the time before we led anew is void. */
    bool keep = !w->outdated || w->releasing;
    w->outdated = false;
    mgr_wl_changes_return(w);
    mgr_wl_drop_outdated(m, w);
    if (!keep && w->desired)
        mgr_wl_forget(m, w);
}

/* The record is the state in the API now. */
static void unsure_answered(struct sl_manager *m, struct mgr_rec_wl *w, enum sl_written how) {
    if (how == SL_WRITE_FAILED)
        return; /* read again */
    w->unsure = false;
    take_back(m, w);
    mgr_wl_note_release(m, w);
    sl_rec_write(&w->rec);
    sl_rec_enqueue(&w->rec);
}

void mgr_wl_written(void *ctx, struct sl_rec *r, const struct sl_write *out, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    struct sl_manager *m = ctx;
    struct mgr_rec_wl *w = mgr_wl_of(r);
    if (out->tag == WRITE_UNSURE) {
        unsure_answered(m, w, how);
        return;
    }
    if (out->foreign) {
        owner_answered(m, w, how, reply);
        return;
    }
    if (out->tag == WRITE_PART) {
        if (w->desired || w->pending)
            sl_rec_write(r);
        sl_rec_enqueue(r);
        return;
    }
    if (out->tag == WRITE_PROV) {
        mgr_prov_make_written(m, w, out, how, reply);
        return;
    }
    bool main_object = !w->sent;
    if (w->by.v && w->sent) {
        report_preemptor(m, w, how == SL_WRITE_FAILED);
        if (how == SL_WRITTEN)
            w->by = SL_WL_NONE;
    }
    if (how == SL_WRITTEN) {
        if (w->sent && w->sent->with_event)
            event_pending(m, w);
        mgr_wl_changes_free(&w->sent);
        if (main_object && out->method == SL_PATCH) {
            if ((w->pending & WL_ADOPT) && w->pending_owners)
                sl_rec_event(r, GROUP_CONTROLLER, false, "OwnerReferencesAdded",
                             "Added %u owner reference(s)", w->pending_owners);
            w->pending &= ~(uint32_t)(WL_SPEC | WL_ADOPT);
        }
        if (out->method == SL_DELETE) {
            w->pending &= ~(uint32_t)WL_DELETE;
            r->deleting = true; /* whatever the watch still delivers */
        }
    } else if (how == SL_WRITE_REFUSED && w->sent && (w->sent->fields & WL_ADMISSION) &&
               w->sent->s.admission) {
        /* The API server will not have this reservation: others may have the quota. */
        struct sl_fact f = {.kind = SL_FACT_ADMIT_FAILED, .wl = w->id};
        mgr_wl_changes_free(&w->sent);
        (void)mgr_apply_fact(m, &f, NULL);
    } else if (is_unsure(w, how)) {
        w->unsure = true;
    } else {
        w->release_refused = how == SL_WRITE_REFUSED;
        take_back(m, w);
    }
    w->outdated &= w->unsure;
    mgr_wl_note_release(m, w);
    if (w->desired || w->pending || w->unsure)
        sl_rec_write(r);
    sl_rec_enqueue(r);
}

void mgr_wl_finish(struct sl_manager *m, struct mgr_rec_wl *w, const char *reason,
                   const char *message) {
    if (mgr_wl_condition_will_be_true(m, w, "Finished"))
        return;
    mgr_wl_set_cond(m, w, "Finished", true, reason, message);
    mgr_count_finished(m, w);
}

/* The reservation was never reported to the engine, since its queue does not exist: conditions are
 * written as the engine would. */
static void release_unheld(struct sl_manager *m, struct mgr_rec_wl *w,
                           const struct mgr_cond *evicted) {
    const char *reason = mgr_str(m, evicted->reason);
    bool again = (strcmp(reason, "Preempted") == 0 || strcmp(reason, "NodeFailures") == 0) &&
                 !mgr_group_never_requeued(m, w),
         ready = true;
    for (uint32_t i = 0; i < w->seen.checks.n; i++)
        ready &= w->seen.checks.v[i].state == SL_CHECK_READY;
    const struct mgr_cond *admitted = mgr_wl_cond(m, w, "Admitted");
    mgr_wl_set_cond(m, w, "Requeued", again, reason, evicted->message);
    mgr_wl_set_cond(m, w, "QuotaReserved", false, "Pending", evicted->message);
    if (admitted && admitted->status == COND_TRUE) {
        mgr_wl_add_past(w, (m->spec.client->wall - admitted->at) / SL_SEC);
        mgr_wl_set_cond(m, w, "Admitted", false,
                        ready ? "NoReservation" : "NoReservationUnsatisfiedChecks",
                        ready ? "The workload has no reservation"
                              : "The workload has no reservation and not all checks ready");
    }
    mgr_wl_clear_admission(m, w);
}

void mgr_wl_stopped(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_fact f = {.kind = SL_FACT_RELEASED, .wl = w->id};
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    struct sl_engine_wl_view v = {.phase = SL_PHASE_GONE};
    /* A standby follows the API, and does nothing that is reserved to the leader. */
    if (!m->leads || mgr_wl_changing(w, WL_ADMISSION) || !evicted || evicted->status != COND_TRUE)
        return;
    (void)sl_engine_workload(m->engine, w->id, &v);
    if (v.evicting)
        (void)mgr_apply_fact(m, &f, NULL);
    else if (v.phase != SL_PHASE_RESERVED && v.phase != SL_PHASE_ADMITTED)
        release_unheld(m, w, evicted);
}
