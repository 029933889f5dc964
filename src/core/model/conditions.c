/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of an effect: which conditions it writes on a Workload and their messages, letter by
 * letter those of Kueue v0.19 (rules 1.4, 1.7, 4.6, 4.7, 6.1 and 7.5 of docs/rules.md). Tools and
 * people parse these texts, so every constant here is part of the interface.
 *
 * Not done here, because it depends on the object: resetting Evicted, Preempted and
 * BlockedOnPreemptionGates to False ("Previously: ...") when quota is reserved again.
 */
#include "core/model/effect.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/stamp.h"

#define MAX_MESSAGE_BYTES ((size_t)32 * 1024) /* of one condition; Kubernetes takes no more */
#define MAX_REASON_BYTES ((size_t)1024 * 1024)

/* While conditions are being written: messages follow each other in one buffer, which may move. */
struct writer {
    struct sl_buf *text;
    struct sl_condition *out;
    size_t start[SL_EFFECT_MAX_CONDITIONS];
    uint32_t n;
};

static void begin_condition(struct writer *w, enum sl_cond type, bool status, const char *reason) {
    sl_assert(w->n < SL_EFFECT_MAX_CONDITIONS);
    w->start[w->n] = w->text->len;
    w->out[w->n] = (struct sl_condition){.type = type, .status = status, .reason = reason};
}

static void end_condition(struct writer *w) {
    static const char cut[] = " ...";
    size_t most = w->start[w->n] + MAX_MESSAGE_BYTES;

    if (w->text->len > most) {
        w->text->len = most - (sizeof cut - 1);
        sl_buf_puts(w->text, cut);
    }
    sl_buf_putc(w->text, '\0');
    w->n++;
}

static void add_condition(struct writer *w, enum sl_cond type, bool status, const char *reason,
                          const char *message) {
    begin_condition(w, type, status, reason);
    sl_buf_puts(w->text, message ? message : "");
    end_condition(w);
}

static bool has_text(const char *s) {
    return s && *s;
}

static const char *or_unknown(const char *s) {
    return has_text(s) ? s : "UNKNOWN";
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- why a podset got no flavor ---- */

static void put_why(struct sl_buf *b, const struct sl_why *w) {
    char before[SL_QUANTITY_TEXT], request[SL_QUANTITY_TEXT], limit[SL_QUANTITY_TEXT];

    switch (w->kind) {
    case SL_WHY_EXCEEDS_MAX:
        sl_buf_printf(
            b,
            "insufficient quota for %s in flavor %s, previously considered podsets requests "
            "(%s) + current podset request (%s) > maximum capacity (%s)",
            w->resource, w->flavor, sl_amount_format(w->resource, w->before, before),
            sl_amount_format(w->resource, w->request, request),
            sl_amount_format(w->resource, w->limit, limit));
        break;
    case SL_WHY_NEEDS_MORE:
        sl_buf_printf(b, "insufficient unused quota for %s in flavor %s, %s more needed",
                      w->resource, w->flavor, sl_amount_format(w->resource, w->amount, request));
        break;
    case SL_WHY_NOT_COVERED:
        sl_buf_printf(b, "resource %s unavailable in ClusterQueue", w->resource);
        break;
    case SL_WHY_FLAVOR_MISSING:
        sl_buf_printf(b, "flavor %s not found", w->flavor);
        break;
    case SL_WHY_TAINT:
        sl_buf_printf(b, "untolerated taint %s in flavor %s", w->taint, w->flavor);
        break;
    case SL_WHY_AFFINITY:
        sl_buf_printf(b, "flavor %s doesn't match node affinity", w->flavor);
        break;
    case SL_WHY_PLACE:
        sl_buf_puts(b, w->taint ? w->taint : "");
        break;
    case SL_WHY_SLICE:
        sl_buf_printf(b, "could not assign %s flavor since the original workload is assigned: %s",
                      w->flavor, w->taint);
        break;
    case SL_WHY_NO_TOPOLOGY:
        sl_buf_printf(b, "Flavor \"%s\" does not support TopologyAwareScheduling", w->flavor);
        break;
    case SL_WHY_TOPOLOGY_ONLY:
        sl_buf_printf(b, "Flavor \"%s\" supports only TopologyAwareScheduling", w->flavor);
        break;
    case SL_WHY_NO_LEVEL:
        sl_buf_printf(b, "Flavor \"%s\" does not contain the requested level", w->flavor);
        break;
    }
}

/* "couldn't assign flavors to pod set main: a, b; couldn't ...": sorted within a podset, not made
 * unique, podsets in their order. */
static void reasons(struct sl_buf *out, const struct sl_effect *x) {
    uint32_t n = x->pending.n_why, podsets = 0, shown = 0;
    struct sl_buf text;
    SL_VEC(size_t) start = {0};
    SL_VEC(const char *) list = {0};

    sl_buf_init(&text, MAX_REASON_BYTES);
    sl_buf_short(&text);
    for (uint32_t i = 0; i < n; i++) {
        *sl_vec_push(&start) = text.len;
        put_why(&text, &x->pending.why[i]);
        sl_buf_putc(&text, '\0');
        if (x->pending.why[i].podset >= podsets)
            podsets = x->pending.why[i].podset + 1;
    }
    for (uint32_t p = 0; p < podsets; p++) {
        sl_vec_clear(&list);
        for (uint32_t i = 0; i < n; i++)
            if (x->pending.why[i].podset == p && start.v[i] < text.len)
                *sl_vec_push(&list) = text.s + start.v[i];
        if (list.n == 0)
            continue;
        qsort(list.v, list.n, sizeof *list.v, by_text);
        sl_buf_printf(out, "%scouldn't assign flavors to pod set %s: ", shown++ ? "; " : "",
                      x->pending.podset_names ? x->pending.podset_names[p] : "");
        for (uint32_t i = 0; i < list.n; i++) {
            if (i > 0)
                sl_buf_puts(out, ", ");
            sl_buf_puts(out, list.v[i]);
        }
    }
    sl_vec_free(&list);
    sl_vec_free(&start);
    sl_buf_done(&text);
}

/* Not Kueue's: only workloads that need exact nodes have a reservation for a later time. */
static void put_reserved(struct sl_buf *b, sl_time at) {
    char text[SL_STAMP_TEXT];
    if (at == SL_TIME_NEVER)
        sl_buf_puts(b, "; nodes and quota are reserved for it, and not all of them are free yet");
    else if (at)
        sl_buf_printf(b, "; nodes and quota are reserved for it from %s on", sl_stamp(at, text));
}

static void pending(struct writer *w, const struct sl_effect *x) {
    static const char gated[] = "Workload requires preemption, but it's gated";
    struct sl_buf *b = w->text;

    begin_condition(w, SL_COND_QUOTA_RESERVED, false,
                    x->pending.kind == SL_PENDING_PODS_READY ? "Waiting" : "Pending");
    switch (x->pending.kind) {
    case SL_PENDING_NO_FIT:
    case SL_PENDING_NO_CANDIDATES:
    case SL_PENDING_PREEMPTION:
        reasons(b, x);
        if (x->pending.victims > 0)
            sl_buf_printf(b, ". Pending the preemption of %u workload(s)", x->pending.victims);
        break;
    case SL_PENDING_OVERLAP:
        sl_buf_puts(b, "Workload has overlapping preemption targets with another workload");
        break;
    case SL_PENDING_LOST_RACE:
        sl_buf_puts(b, "Workload no longer fits after processing another workload");
        break;
    case SL_PENDING_FAILED_CHECKS:
        sl_buf_puts(b, "The workload has failed admission checks");
        break;
    case SL_PENDING_CQ_INACTIVE:
        sl_buf_printf(b, "ClusterQueue %s is inactive", x->cq);
        break;
    case SL_PENDING_CQ_MISSING:
        sl_buf_printf(b, "ClusterQueue %s not found", x->cq);
        break;
    case SL_PENDING_NS_MISSING:
        sl_buf_printf(b, "workload namespace \"%s\" does not exist: ", x->ns);
        if (has_text(x->pending.text))
            sl_buf_puts(b, x->pending.text);
        else
            sl_buf_printf(b, "Namespace \"%s\" not found", x->ns);
        break;
    case SL_PENDING_NS_MISMATCH:
        sl_buf_puts(b, "workload namespace doesn't match ClusterQueue selector");
        break;
    case SL_PENDING_INVALID:
        sl_buf_puts(b, x->pending.text ? x->pending.text : "");
        break;
    case SL_PENDING_PODS_READY:
        sl_buf_puts(b, "waiting for all admitted workloads to be in PodsReady condition");
        break;
    case SL_PENDING_GATED:
        sl_buf_puts(b, gated);
        break;
    case SL_PENDING_COUNT:
        break;
    }
    put_reserved(b, x->pending.reserved);
    end_condition(w);
    if (x->pending.kind == SL_PENDING_GATED)
        add_condition(w, SL_COND_BLOCKED_ON_PREEMPTION_GATES, true, "PreemptionGated", gated);
}

/* ---- slices ---- */

void sl_effect_replaced_message(struct sl_buf *out, const char *by_uid, const char *by_job_uid) {
    sl_buf_printf(out,
                  "Replaced to accommodate a workload (UID: %s, JobUID: %s) due to workload slice "
                  "aggregation",
                  by_uid ? by_uid : "", by_job_uid ? by_job_uid : "");
}

/* ---- eviction and deactivation ---- */

static const char *preemption_text(enum sl_cause c) {
    switch (c) {
    case SL_CAUSE_IN_CLUSTER_QUEUE:
        return "prioritization in the ClusterQueue";
    case SL_CAUSE_IN_COHORT_RECLAMATION:
        return "reclamation within the cohort";
    case SL_CAUSE_IN_COHORT_FAIR_SHARING:
        return "Fair Sharing within the cohort";
    case SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING:
        return "reclamation within the cohort while borrowing";
    default:
        return "UNKNOWN";
    }
}

static const char *deactivation_text(enum sl_cause c) {
    switch (c) {
    case SL_CAUSE_MAX_EXECUTION_TIME:
        return "exceeding the maximum execution time";
    case SL_CAUSE_REQUEUING_LIMIT:
        return "exceeding the maximum number of re-queuing retries";
    default:
        return NULL;
    }
}

/* The reason of Evicted; a deactivation has its cause in the same string. */
static const char *evict_reason(enum sl_evict reason, enum sl_cause cause) {
    if (reason != SL_EVICT_DEACTIVATED)
        return sl_word(SL_VOCAB_EVICT, (int)reason);
    switch (cause) {
    case SL_CAUSE_ADMISSION_CHECK:
        return "DeactivatedDueToAdmissionCheck";
    case SL_CAUSE_REQUEUING_LIMIT:
        return "DeactivatedDueToRequeuingLimitExceeded";
    case SL_CAUSE_MAX_EXECUTION_TIME:
        return "DeactivatedDueToMaximumExecutionTimeExceeded";
    default:
        return "Deactivated";
    }
}

static void evict_message(struct sl_buf *b, const struct sl_effect *x) {
    const char *due;

    if (has_text(x->evict.text)) {
        sl_buf_puts(b, x->evict.text);
        return;
    }
    switch (x->evict.reason) {
    case SL_EVICT_PREEMPTED:
        sl_buf_printf(b,
                      "Preempted to accommodate a workload (UID: %s, JobUID: %s) due to %s; "
                      "preemptor path: %s; preemptee path: %s",
                      or_unknown(x->evict.by_uid), or_unknown(x->evict.by_job_uid),
                      preemption_text(x->evict.cause), or_unknown(x->evict.by_path),
                      or_unknown(x->evict.path));
        break;
    case SL_EVICT_PODS_READY_TIMEOUT:
        sl_buf_printf(b, "Exceeded the PodsReady timeout %s/%s", x->ns, x->name);
        break;
    case SL_EVICT_CLUSTER_QUEUE_STOPPED:
        sl_buf_puts(b, "The ClusterQueue is stopped");
        break;
    case SL_EVICT_LOCAL_QUEUE_STOPPED:
        sl_buf_puts(b, "The LocalQueue is stopped");
        break;
    case SL_EVICT_DEACTIVATED:
        sl_buf_puts(b, "The workload is deactivated");
        due = deactivation_text(x->evict.cause);
        if (due)
            sl_buf_printf(b, " due to %s", due);
        break;
    case SL_EVICT_NONE:
    case SL_EVICT_ADMISSION_CHECK:
    case SL_EVICT_NODE_FAILURES:
    case SL_EVICT_COUNT:
        break;
    }
}

const char *sl_evict_message(const struct sl_effect *x, struct sl_arena *a) {
    struct sl_buf b;

    sl_buf_init(&b, 32768);
    sl_buf_short(&b);
    evict_message(&b, x);
    const char *s = sl_arena_strdup(a, sl_buf_str(&b));
    sl_buf_done(&b);
    return s;
}

static void evict(struct writer *w, const struct sl_effect *x) {
    begin_condition(w, SL_COND_EVICTED, true, evict_reason(x->evict.reason, x->evict.cause));
    evict_message(w->text, x);
    end_condition(w);
    if (x->evict.reason == SL_EVICT_PREEMPTED) {
        begin_condition(w, SL_COND_PREEMPTED, true, sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause));
        evict_message(w->text, x);
        end_condition(w);
    }
}

static void deactivate(struct writer *w, const struct sl_effect *x) {
    const char *text = x->deactivate.text;

    if (x->deactivate.cause == SL_CAUSE_NONE)
        return;
    if (!has_text(text))
        text = deactivation_text(x->deactivate.cause);
    add_condition(w, SL_COND_DEACTIVATION_TARGET, true,
                  sl_word(SL_VOCAB_CAUSE, (int)x->deactivate.cause), text);
}

/* ---- queueing ---- */

static void unreserve(struct writer *w, const struct sl_effect *x) {
    begin_condition(w, SL_COND_QUOTA_RESERVED, false, "Inadmissible");
    sl_buf_printf(w->text, "%s %s %s", x->unreserve.local_queue ? "LocalQueue" : "ClusterQueue",
                  x->unreserve.queue ? x->unreserve.queue : x->cq,
                  x->unreserve.stopped ? "is stopped" : "is terminating or missing");
    end_condition(w);
}

/* What is written when an evicted workload has stopped. */
static void release_conditions(struct writer *w, const struct sl_effect *x) {
    const char *text = x->release.text ? x->release.text : "";

    add_condition(w, SL_COND_QUOTA_RESERVED, false, "Pending", text);
    if (!x->release.was_admitted)
        ; /* Admitted=False appears only after it was True */
    else if (x->release.has_checks)
        add_condition(w, SL_COND_ADMITTED, false, "NoReservationUnsatisfiedChecks",
                      "The workload has no reservation and not all checks ready");
    else
        add_condition(w, SL_COND_ADMITTED, false, "NoReservation",
                      "The workload has no reservation");
    add_condition(w, SL_COND_REQUEUED, x->release.requeued,
                  evict_reason(x->release.reason, x->release.cause), text);
}

static void requeued(struct writer *w, const struct sl_effect *x) {
    static const char *const text[SL_REQUEUED_COUNT] = {
        [SL_REQUEUED_REACTIVATED] = "The workload was reactivated",
        [SL_REQUEUED_BACKOFF_FINISHED] = "The workload backoff was finished",
        [SL_REQUEUED_CLUSTER_QUEUE_RESTARTED] =
            "The ClusterQueue was restarted after being stopped",
        [SL_REQUEUED_LOCAL_QUEUE_RESTARTED] = "The LocalQueue was restarted after being stopped",
    };
    enum sl_requeued r = x->requeued.reason;

    if (r == SL_REQUEUED_NONE || (size_t)r >= SL_REQUEUED_COUNT)
        return;
    add_condition(w, SL_COND_REQUEUED, true, sl_word(SL_VOCAB_REQUEUED, (int)r), text[r]);
}

static void blocked(struct writer *w, const struct sl_effect *x) {
    static const struct {
        const char *reason, *opening;
    } text[SL_BLOCKED_COUNT] = {
        [SL_BLOCKED_LQ_MISSING] = {"Inadmissible", "LocalQueue "},
        [SL_BLOCKED_LQ_STOPPED] = {"Inadmissible", "LocalQueue "},
        [SL_BLOCKED_CQ_MISSING] = {"Inadmissible", "ClusterQueue "},
        [SL_BLOCKED_CQ_INACTIVE] = {"Inadmissible", "ClusterQueue "},
        [SL_BLOCKED_GATED] = {"AdmissionGated", "Admission is gated by: "},
        [SL_BLOCKED_GATE_CLEARED] = {"Pending",
                                     "AdmissionGatedBy cleared, waiting for quota reservation"},
    };
    enum sl_blocked_kind k = x->blocked.kind;
    const char *queue = x->blocked.queue ? x->blocked.queue : x->cq;

    if ((size_t)k >= SL_BLOCKED_COUNT)
        return;
    begin_condition(w, SL_COND_QUOTA_RESERVED, false, text[k].reason);
    sl_buf_puts(w->text, text[k].opening);
    switch (k) {
    case SL_BLOCKED_LQ_MISSING:
    case SL_BLOCKED_CQ_MISSING:
        sl_buf_printf(w->text, "%s doesn't exist", queue ? queue : "");
        break;
    case SL_BLOCKED_LQ_STOPPED:
    case SL_BLOCKED_CQ_INACTIVE:
        sl_buf_printf(w->text, "%s is inactive", queue ? queue : "");
        break;
    case SL_BLOCKED_GATED:
        sl_buf_puts(w->text, x->blocked.text ? x->blocked.text : "");
        break;
    case SL_BLOCKED_GATE_CLEARED:
    case SL_BLOCKED_COUNT:
        break;
    }
    end_condition(w);
}

uint32_t sl_effect_conditions(const struct sl_effect *x, struct sl_buf *text,
                              struct sl_condition out[SL_EFFECT_MAX_CONDITIONS]) {
    struct writer w = {.text = text, .out = out};

    sl_buf_clear(text);
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        begin_condition(&w, SL_COND_QUOTA_RESERVED, true, "QuotaReserved");
        sl_buf_printf(text, "Quota reserved in ClusterQueue %s", x->cq);
        end_condition(&w);
        if (x->reserve.admitted)
            add_condition(&w, SL_COND_ADMITTED, true, "Admitted", "The workload is admitted");
        break;
    case SL_EFFECT_ADMIT:
        add_condition(&w, SL_COND_ADMITTED, true, "Admitted", "The workload is admitted");
        break;
    case SL_EFFECT_PENDING:
        pending(&w, x);
        break;
    case SL_EFFECT_EVICT:
        evict(&w, x);
        break;
    case SL_EFFECT_RELEASE:
        release_conditions(&w, x);
        break;
    case SL_EFFECT_UNRESERVE:
        unreserve(&w, x);
        break;
    case SL_EFFECT_REQUEUED:
        requeued(&w, x);
        break;
    case SL_EFFECT_DEACTIVATE:
        deactivate(&w, x);
        break;
    case SL_EFFECT_BLOCKED:
        blocked(&w, x);
        break;
    case SL_EFFECT_BACKOFF:
    case SL_EFFECT_CHECKS:
    case SL_EFFECT_CQ_STATUS:
    case SL_EFFECT_COUNT:
        break;
    }
    /* A buffer that was too small holds what fitted; what came after is empty. */
    for (uint32_t i = 0; i < w.n; i++)
        out[i].message = w.start[i] < text->len ? text->s + w.start[i] : "";
    return w.n;
}

/* ---- parts of messages that the engine puts together ---- */

const char *sl_taint_print(struct sl_arena *a, const struct sl_taint *t) {
    return sl_arena_printf(a, "{%s %s %s <nil>}", t->key ? t->key : "", t->value ? t->value : "",
                           sl_taint_effect_name(t->effect));
}

static int by_check_name(const void *a, const void *b) {
    const struct sl_check_status *x = a, *y = b;
    return strcmp(x->name, y->name);
}

const char *sl_checks_print(struct sl_arena *a, enum sl_check_state state,
                            const struct sl_check_status *v, uint32_t n) {
    SL_VEC(struct sl_check_status) list = {0};
    struct sl_buf b;
    const char *kept;

    for (uint32_t i = 0; i < n; i++)
        if (v[i].state == state)
            *sl_vec_push(&list) = v[i];
    if (list.n > 1)
        qsort(list.v, list.n, sizeof *list.v, by_check_name);
    sl_buf_init(&b, MAX_MESSAGE_BYTES);
    sl_buf_short(&b);
    sl_buf_printf(&b, "AdmissionCheck%s in %s state: ", list.n > 1 ? "s" : "",
                  sl_word(SL_VOCAB_CHECK_STATE, (int)state));
    for (uint32_t i = 0; i < list.n; i++) {
        sl_buf_printf(&b, "%s\"%s\"", i > 0 ? "; " : "", list.v[i].name);
        if (has_text(list.v[i].message))
            sl_buf_printf(&b, " (%s)", list.v[i].message);
    }
    kept = sl_arena_strdup(a, sl_buf_str(&b));
    sl_buf_done(&b);
    sl_vec_free(&list);
    return kept;
}
