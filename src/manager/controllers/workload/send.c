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
#include "manager/controllers/workload/workload_int.h"

/*
 * What one gives back another may get, but not before the API knows: a reservation is written only
 * when no release is on its way, nor anybody on the way to other places. Whoever reads the API, and
 * whoever takes over after a crash, never sees more reserved than there is. Who moves keeps its
 * quota, and waits for releases only: two that move would wait for each other.
 */
void wl_note_release(struct sl_manager *m, struct rec_wl *w) {
    bool sent = w->sent && w->sent->s.admission; /* the API has it already, or will in a moment */
    bool now = !w->rec.gone && !w->stubborn && (w->seen.admission || sent) &&
               wl_changing(w, WL_ADMISSION) &&
               (!wl_next(w, WL_ADMISSION)->admission || wl_takes_another(w));
    bool moves =
        !w->rec.gone && !w->stubborn && !now && wl_changing(w, WL_ADMISSION) && wl_moves(w);
    if (now == w->releasing && moves == w->moving)
        return;
    m->n_releasing += (uint32_t)now - w->releasing;
    m->n_moving += (uint32_t)moves - w->moving;
    w->releasing = now;
    w->moving = moves;
    if (m->n_releasing)
        return;
    for (uint32_t i = 0; i < m->held.n; i++)
        if (m->inf->recs.v[m->held.v[i]])
            sl_rec_write(m->inf->recs.v[m->held.v[i]]);
    sl_vec_clear(&m->held);
}

static bool waits_for_release(struct sl_manager *m, const struct rec_wl *w) {
    if (!(m->n_releasing || (m->n_moving && !w->moving)) || !(w->want->fields & WL_ADMISSION) ||
        !w->want->s.admission)
        return false;
    *sl_vec_push(&m->held) = w->rec.id;
    return true;
}

/* Was the reservation that is about to be written decided for another size than the workload has
 * now, or has had meanwhile? Its spec was changed while the first attempt was on its way. */
static bool is_outgrown(const struct sl_manager *m, const struct rec_wl *w) {
    const struct wl_admission *a = w->want->s.admission;
    const struct sl_podset_assignment *ps;
    struct sl_arena arena;
    bool other = false;
    if (!(w->want->fields & WL_ADMISSION) || !a || w->seen.admission)
        return false;
    struct sl_wl_view v;
    if (sl_engine_workload(m->engine, w->id, &v) && strcmp(v.queue, str(m, w->queue)) != 0)
        return true; /* it has been moved to another queue */
    sl_arena_init(&arena, CEILING_ASSIGNED);
    uint32_t n = sl_engine_assignment(m->engine, w->id, &arena, &ps);
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t k = 0; k < n; k++)
            other |= strcmp(ps[k].name, str(m, a->v[i].name)) == 0 && ps[k].count != a->v[i].count;
        for (uint32_t k = 0; k < w->n_podsets; k++) {
            const struct wl_podset *p = &w->podsets[k];
            int32_t asks = p->count - (w->seen.reclaimable ? w->seen.reclaimable[k] : 0);
            other |= p->name == a->v[i].name && !p->min_count && a->v[i].count < asks;
        }
    }
    sl_arena_done(&arena);
    return other;
}

static void put_status(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    sl_rec_build_apply(&w->rec, "status", "kueue-admission", out);
    wl_put_status(m, w, &out->json);
    w->sent = TAKE_PTR(w->want);
}

/* It was given back and got anew before the first had been written. The API knows a reservation
 * that comes and goes, but none that changes: the old one goes first, by a write of its own. */
static void vacate(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    struct wl_changes *later = TAKE_PTR(w->want);
    const struct cond *evicted = wl_cond(m, w, "Evicted");
    bool out_of = evicted && evicted->status == COND_TRUE;
    wl_set_cond(m, w, "QuotaReserved", false, "Pending",
                out_of ? evicted->message : "The quota was given back");
    if (wl_is(m, w, "Admitted"))
        wl_set_cond(m, w, "Admitted", false, "NoReservation", "The workload has no reservation");
    wl_clear_admission(m, w);
    put_status(m, w, out);
    w->want = later;
    wl_note_release(m, w);
}

/* Under another field manager than the rest. */
static bool build_apart(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    if (!wl_apart(m, w))
        return false;
    sl_rec_build_guarded(&w->rec, "status", out);
    sl_jw_end(&out->json);
    sl_jw_object(&out->json, "status");
    wl_put_apart(m, w, &out->json);
    out->tag = WRITE_PART;
    return true;
}

/*
 * The status is applied by the field manager that Kueue and its tools use: what one of them, or
 * another version of us, applies next without a field takes that field away.
 */
static bool build_status(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    const struct sl_rec *r = &w->rec;
    if (!w->want)
        return false;
    if ((w->want->fields & WL_NAMES) && w->seen.names) {
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
    wl_reset_checks(m, w);
    if (wl_drop_unready(m, w))
        sl_rec_enqueue(&w->rec); /* the engine is told */
    if (is_outgrown(m, w)) {
        struct sl_fact f = {.kind = SL_FACT_ADMIT_FAILED, .wl = w->id};
        w->spec_hash = 0; /* told anew: the engine does not move one that holds quota */
        wl_changes_free(&w->want);
        (void)tell(m, &f, NULL);
        sl_rec_enqueue(&w->rec);
        return false;
    }
    if (wl_takes_another(w)) {
        vacate(m, w, out);
        return true;
    }
    if (waits_for_release(m, w))
        return false;
    if (!wl_differs(w)) {
        wl_changes_free(&w->want);
        wl_note_release(m, w);
        sl_rec_enqueue(&w->rec); /* nothing is on its way any more */
        return false;
    }
    put_status(m, w, out);
    return true;
}

static enum rec_kind owner_kind(const struct sl_manager *m, const struct rec_wl *w) {
    return group_owns_one(m, w) ? REC_POD : REC_JOB;
}

bool wl_build(void *ctx, struct sl_rec *r, struct sl_write *out) {
    struct sl_manager *m = ctx;
    struct rec_wl *w = wl_of(r);
    if (w->unsure) {
        sl_rec_build_read(r, out);
        out->tag = WRITE_UNSURE;
        return true;
    }
    wl_settle_wishes(m, w);
    /* Why it is switched off is said before it is. A finalizer goes last, or the object may be gone
     * before the rest is said. */
    if (w->wishes & WL_ASK_OWNER) {
        if (w->owner_name && !rec_by_uid(m, w->owner_uid)) {
            sl_inf_build_read(m->inf, owner_kind(m, w), str(m, w->rec.ns), w->owner_name, out);
            return true;
        }
        w->wishes &= ~(uint32_t)WL_ASK_OWNER;
    }
    if (build_status(m, w, out))
        return true;
    if (wl_build_object(m, w, out))
        return true;
    if ((w->wishes & WL_DELETE) && !r->deleting) {
        sl_rec_build_delete(r, NULL, -1, out);
        return true;
    }
    return prov_make_build(m, w, out);
}

static int count_in(const char *s) {
    return s ? (int)strtol(s, NULL, 10) : 0;
}

#define PENDING_PREEMPTION ". Pending the preemption of "
#define PREEMPTING ". Preempting "

/* Whoever waits for an eviction that could not be written is told so, and again when it could. */
static void tell_preemptor(struct sl_manager *m, struct rec_wl *w, bool failed) {
    uint32_t obj = w->by.v ? sl_map_get(&m->by_wl_id, w->by.v) : SL_MAP_NONE;
    struct rec_wl *by = obj == SL_MAP_NONE ? NULL : wl_of(m->inf->recs.v[obj]);
    const struct cond *c = by ? wl_next_cond(m, by, "QuotaReserved") : NULL;
    const char *tail = c && c->status == COND_FALSE
                           ? strstr(c->message, failed ? PENDING_PREEMPTION : PREEMPTING)
                           : NULL;
    if (!tail)
        return;
    struct sl_buf b;
    int count = count_in(strpbrk(tail, "0123456789"));
    sl_buf_init(&b, 32768);
    sl_buf_short(&b);
    sl_buf_add(&b, c->message, (size_t)(tail - c->message));
    if (failed)
        sl_buf_printf(&b, PREEMPTING "%d workload(s) failed, will retry.", count);
    else
        sl_buf_printf(&b, PENDING_PREEMPTION "%d workload(s)", count);
    wl_set_cond(m, by, "QuotaReserved", false, "Pending", sl_buf_str(&b));
    sl_buf_done(&b);
}

static void event_pending(struct sl_manager *m, const struct rec_wl *w) {
    const struct cond *c = wl_cond(m, w, "QuotaReserved");
    if (c && c->status == COND_FALSE)
        sl_rec_event(&w->rec, "kueue-admission", true,
                     m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY] ? str(m, c->reason)
                                                                                 : "Pending",
                     "%s", c->message);
}

/* The owner has been taken in if it is there and ours; if it is not there, or another of that name,
 * the workload is nobody's. */
static void owner_answered(struct sl_manager *m, struct rec_wl *w, enum sl_written how,
                           const struct sl_reply *reply) {
    if (how == SL_WRITE_FAILED)
        return; /* asked again */
    w->wishes &= ~(uint32_t)WL_ASK_OWNER;
    yyjson_doc *d = how == SL_WRITTEN ? yyjson_read(reply->body, reply->len, 0) : NULL;
    const char *uid = sl_json_str(yyjson_doc_get_root(d), "metadata.uid");
    if (how == SL_WRITE_GONE || (d && w->owner_uid && strcmp(uid, w->owner_uid) != 0))
        job_orphan(m, w);
    yyjson_doc_free(d);
    if (w->want || w->wishes)
        sl_rec_write(&w->rec);
}

void wl_untold(struct rec_wl *w) {
    static const uint64_t never = 1; /* is no hash of anything; 0 is that of nothing */
    prov_make_none(w);
    w->spec_hash = 0;
    w->checks_told = never;
    if (w->places)
        w->places = never;
}

void wl_forget(struct sl_manager *m, struct rec_wl *w) {
    prov_make_none(w);
    if (!w->want && !w->sent && !w->wishes)
        return;
    wl_changes_free(&w->want);
    w->wishes = 0;
    w->by = SL_WL_NONE;
    w->stubborn = false;
    w->outdated = w->sent != NULL;
    wl_note_release(m, w);
    if (!w->id.v)
        return;
    /* The engine is told anew; where something is on its way, of what it had decided on top. */
    w->spec_hash = 0;
    w->checks_told = w->reclaimable_hash = 0;
    w->ready_told = w->reclaimable_told = w->past_told = false;
    if (w->sent)
        return;
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
    (void)tell(m, &f, NULL);
    (void)sl_map_del(&m->by_wl_id, w->id.v, w->rec.id);
    w->id = SL_WL_NONE;
}

/*
 * A reservation was sent, nobody knows whether it arrived, and it is not going to be sent again: we
 * lead anew, or it was given back meanwhile. Until the object has been read it may hold its quota.
 */
static bool is_unsure(const struct rec_wl *w, enum sl_written how) {
    return how == SL_WRITE_FAILED && w->sent && (w->sent->fields & WL_ADMISSION) &&
           w->sent->s.admission && (w->outdated || (w->want && (w->want->fields & WL_ADMISSION)));
}

/* What was sent did not come to pass. */
static void take_back(struct sl_manager *m, struct rec_wl *w) {
    /* Others may have been promised what is given back: that is written, whenever it was decided.
     * All else of the time before we led anew is void. */
    bool keep = !w->outdated || w->releasing;
    w->outdated = false;
    wl_changes_return(w);
    wl_drop_outdated(m, w);
    if (!keep && w->want)
        wl_forget(m, w);
}

/* The record is what the API says now. */
static void unsure_answered(struct sl_manager *m, struct rec_wl *w, enum sl_written how) {
    if (how == SL_WRITE_FAILED)
        return; /* asked again */
    w->unsure = false;
    take_back(m, w);
    wl_note_release(m, w);
    sl_rec_write(&w->rec);
    sl_rec_enqueue(&w->rec);
}

void wl_written(void *ctx, struct sl_rec *r, const struct sl_write *out, enum sl_written how,
                const struct sl_reply *reply) {
    struct sl_manager *m = ctx;
    struct rec_wl *w = wl_of(r);
    if (out->tag == WRITE_UNSURE) {
        unsure_answered(m, w, how);
        return;
    }
    if (out->foreign) {
        owner_answered(m, w, how, reply);
        return;
    }
    if (out->tag == WRITE_PART) {
        if (w->want || w->wishes)
            sl_rec_write(r);
        sl_rec_enqueue(r);
        return;
    }
    if (out->tag == WRITE_PROV) {
        prov_make_written(m, w, out, how, reply);
        return;
    }
    bool main_object = !w->sent;
    if (w->by.v && w->sent) {
        tell_preemptor(m, w, how == SL_WRITE_FAILED);
        if (how == SL_WRITTEN)
            w->by = SL_WL_NONE;
    }
    if (how == SL_WRITTEN) {
        if (w->sent && w->sent->told)
            event_pending(m, w);
        wl_changes_free(&w->sent);
        if (main_object && out->method == SL_PATCH) {
            if ((w->wishes & WL_ADOPT) && w->wish_owners)
                sl_rec_event(r, GROUP_CONTROLLER, false, "OwnerReferencesAdded",
                             "Added %u owner reference(s)", w->wish_owners);
            w->wishes &= ~(uint32_t)(WL_SPEC | WL_ADOPT);
        }
        if (out->method == SL_DELETE) {
            w->wishes &= ~(uint32_t)WL_DELETE;
            r->deleting = true; /* whatever the stream still says of it */
        }
    } else if (how == SL_WRITE_REFUSED && w->sent && (w->sent->fields & WL_ADMISSION) &&
               w->sent->s.admission) {
        /* The API server will not have this reservation: others may have the quota. */
        struct sl_fact f = {.kind = SL_FACT_ADMIT_FAILED, .wl = w->id};
        wl_changes_free(&w->sent);
        (void)tell(m, &f, NULL);
    } else if (is_unsure(w, how)) {
        w->unsure = true;
    } else {
        w->stubborn = how == SL_WRITE_REFUSED;
        take_back(m, w);
    }
    w->outdated &= w->unsure;
    wl_note_release(m, w);
    if (w->want || w->wishes || w->unsure)
        sl_rec_write(r);
    sl_rec_enqueue(r);
}

void wl_finish(struct sl_manager *m, struct rec_wl *w, const char *reason, const char *message) {
    if (wl_will(m, w, "Finished"))
        return;
    wl_set_cond(m, w, "Finished", true, reason, message);
    count_finished(m, w);
}

/* The engine never heard of the reservation, since its queue does not exist: said as the engine
 * would. */
static void release_unheld(struct sl_manager *m, struct rec_wl *w, const struct cond *evicted) {
    const char *reason = str(m, evicted->reason);
    bool again = (strcmp(reason, "Preempted") == 0 || strcmp(reason, "NodeFailures") == 0) &&
                 !group_dies_once(m, w),
         ready = true;
    for (uint32_t i = 0; i < w->seen.checks.n; i++)
        ready &= w->seen.checks.v[i].state == SL_CHECK_READY;
    const struct cond *admitted = wl_cond(m, w, "Admitted");
    wl_set_cond(m, w, "Requeued", again, reason, evicted->message);
    wl_set_cond(m, w, "QuotaReserved", false, "Pending", evicted->message);
    if (admitted && admitted->status == COND_TRUE) {
        wl_add_past(w, (m->spec.port->wall - admitted->at) / SL_SEC);
        wl_set_cond(m, w, "Admitted", false,
                    ready ? "NoReservation" : "NoReservationUnsatisfiedChecks",
                    ready ? "The workload has no reservation"
                          : "The workload has no reservation and not all checks ready");
    }
    wl_clear_admission(m, w);
}

void wl_stopped(struct sl_manager *m, struct rec_wl *w) {
    struct sl_fact f = {.kind = SL_FACT_RELEASED, .wl = w->id};
    const struct cond *evicted = wl_cond(m, w, "Evicted");
    struct sl_wl_view v = {.phase = SL_PHASE_GONE};
    /* Who does not lead knows what the API says, and nothing that only a leader may do. */
    if (!m->leads || wl_changing(w, WL_ADMISSION) || !evicted || evicted->status != COND_TRUE)
        return;
    (void)sl_engine_workload(m->engine, w->id, &v);
    if (v.evicting)
        (void)tell(m, &f, NULL);
    else if (v.phase != SL_PHASE_RESERVED && v.phase != SL_PHASE_ADMITTED)
        release_unheld(m, w, evicted);
}
