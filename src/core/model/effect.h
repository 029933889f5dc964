/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects: the only output of a decision. The controllers perform them and report back as facts.
 * Each is a small record; messages are made from it by the engine's text functions, in Kueue's
 * wording. Pointers are valid in the effects' own arena until sl_effects_clear.
 */
#ifndef SL_CORE_MODEL_EFFECT_H
#define SL_CORE_MODEL_EFFECT_H

#include "core/base/arena.h"
#include "core/base/collection/vec.h"
#include "core/model/specs.h"

enum sl_effect_kind {
    SL_EFFECT_RESERVE,    /* quota reserved for the assignment; 'admitted' if that is all */
    SL_EFFECT_ADMIT,      /* all checks are ready: admitted */
    SL_EFFECT_PENDING,    /* evaluated and not admitted: QuotaReserved=False with reasons */
    SL_EFFECT_EVICT,      /* stop it, then report SL_FACT_RELEASED */
    SL_EFFECT_RELEASE,    /* evicted and stopped: reservation released; whether it is requeued */
    SL_EFFECT_UNRESERVE,  /* reservation released before admission (stopped or deleted queue) */
    SL_EFFECT_REQUEUED,   /* Requeued=True: may compete again */
    SL_EFFECT_BACKOFF,    /* requeueState: count and not before when */
    SL_EFFECT_DEACTIVATE, /* set spec.active=false, for a cause */
    SL_EFFECT_CHECKS,     /* the checks that this workload must pass (states reset as given) */
    SL_EFFECT_BLOCKED,    /* cannot even be queued: LocalQueue missing, stopped, ... */
    SL_EFFECT_CQ_STATUS,  /* a ClusterQueue became active or inactive */
    SL_EFFECT_COUNT,
};

/* Why a flavor was refused: one record per reason, numbers included. */
enum sl_why_kind {
    SL_WHY_EXCEEDS_MAX,    /* request beyond what could ever be available */
    SL_WHY_NEEDS_MORE,     /* 'amount' more needed in this flavor */
    SL_WHY_NOT_COVERED,    /* resource unavailable in ClusterQueue */
    SL_WHY_FLAVOR_MISSING, /* flavor object not found */
    SL_WHY_TAINT,          /* untolerated taint */
    SL_WHY_AFFINITY,       /* node affinity or selector does not match */
    SL_WHY_PLACE,          /* the placer found no place */
    SL_WHY_SLICE,          /* the slice it replaces has another flavor */
    SL_WHY_NO_TOPOLOGY,    /* it requests a topology, and the flavor has none */
    SL_WHY_TOPOLOGY_ONLY,  /* it requests none, and the flavor has a topology */
    SL_WHY_NO_LEVEL,       /* the flavor's topology has no such level */
};

struct sl_why {
    enum sl_why_kind kind;
    uint32_t podset;
    const char *resource, *flavor;
    sl_amount before, request, limit; /* EXCEEDS_MAX: before + request > limit */
    sl_amount amount;                 /* NEEDS_MORE */
    /* TAINT: as printed by sl_taint_print; PLACE: message of the placer; SLICE: the flavor to
     * keep */
    const char *taint;
};

/* The whole-message outcomes that replace the list of reasons. */
enum sl_pending_kind {
    SL_PENDING_NO_FIT,
    SL_PENDING_NO_CANDIDATES, /* preemption would be needed, and there are no candidates */
    SL_PENDING_PREEMPTION,    /* waits for 'victims' workloads to go */
    SL_PENDING_OVERLAP,       /* its victims are taken by another preemptor this time */
    SL_PENDING_LOST_RACE,     /* no longer fits after processing another workload */
    SL_PENDING_FAILED_CHECKS,
    SL_PENDING_CQ_INACTIVE,
    SL_PENDING_CQ_MISSING,
    SL_PENDING_NS_MISSING,
    SL_PENDING_NS_MISMATCH,
    SL_PENDING_INVALID,    /* 'text' has the error in the workload itself */
    SL_PENDING_PODS_READY, /* blockAdmission: waits for the admitted ones to be ready */
    SL_PENDING_GATED,      /* would have to preempt, and a preemption gate is closed */
    SL_PENDING_COUNT,
};

/* Why it cannot be queued. */
enum sl_blocked_kind {
    SL_BLOCKED_LQ_MISSING,
    SL_BLOCKED_LQ_STOPPED,
    SL_BLOCKED_CQ_MISSING,
    SL_BLOCKED_CQ_INACTIVE,
    SL_BLOCKED_GATED,
    SL_BLOCKED_GATE_CLEARED,
    SL_BLOCKED_COUNT,
};

struct sl_assigned {
    const char *resource, *flavor;
    sl_amount usage; /* for the whole podset */
};

struct sl_podset_assignment {
    const char *name;
    int32_t count;
    const struct sl_assigned *v;
    uint32_t n;
};

struct sl_check_status {
    const char *name;
    enum sl_check_state state;
    int32_t retries;
    const char *message;
};

struct sl_effect {
    enum sl_effect_kind kind;
    sl_wl_id wl;
    const char *ns, *name; /* of the workload; for CQ_STATUS name is the queue */
    const char *cq;
    union {
        struct {
            const struct sl_podset_assignment *podsets;
            uint32_t n;
            bool admitted;
            uint32_t borrow; /* height of the subtree it borrows from, 0: none */
            /* The slice that it replaces, to be finished when this is written; usually none. A
             * reservation that cannot be written restores its quota. */
            sl_wl_id replaced;
        } reserve;
        struct {
            enum sl_pending_kind kind;
            const struct sl_why *why;
            uint32_t n_why;
            const char *const *podset_names;
            uint32_t victims; /* appended: pending the preemption of n */
            const char *text; /* INVALID: the error; NS_MISSING: of the lookup, or NULL */
            bool asleep;      /* it left the heap */
            /* From when on nodes and quota are reserved for it: 0 if they are not, NEVER if that is
             * due and others have not left yet. And what it was before it was put off, or 0. */
            sl_time reserved, put_off;
        } pending;
        struct {
            enum sl_evict reason;
            enum sl_cause cause;
            sl_wl_id by;                     /* preemptor */
            const char *by_uid, *by_job_uid; /* NULL or "": unknown */
            const char *by_path, *path;      /* "/org/.../cq" */
            const char *text; /* whole message; NULL: made from the rest where it can be */
        } evict;
        struct {
            enum sl_evict reason;
            enum sl_cause cause;
            bool was_admitted;
            bool requeued;    /* competes again at once */
            bool has_checks;  /* which were all reset */
            const char *text; /* the message of the eviction */
        } release;
        struct {
            bool stopped;      /* else missing or terminating */
            bool local_queue;  /* else the ClusterQueue */
            const char *queue; /* its name; NULL: cq */
        } unreserve;
        struct {
            enum sl_requeued reason;
        } requeued;
        struct {
            int32_t count;
            sl_time at; /* 0: cleared */
        } backoff;
        struct {
            enum sl_cause cause;
            const char *text; /* ADMISSION_CHECK: as sl_checks_print gives it; else NULL will do */
        } deactivate;
        struct {
            const struct sl_check_status *v;
            uint32_t n;
        } checks;
        struct {
            enum sl_blocked_kind kind;
            const char *queue; /* NULL: cq */
            const char *text;  /* GATED: by what */
        } blocked;
        struct {
            bool active;
            enum sl_inactive reason;
            const char *message;
        } cq_status;
    };
};

struct sl_effects {
    SL_VEC(struct sl_effect) v;
    struct sl_arena arena;
};

#define SL_EFFECTS_MAX_BYTES (UINT64_C(4) << 30)

void sl_effects_init(struct sl_effects *x);
void sl_effects_done(struct sl_effects *x);
void sl_effects_clear(struct sl_effects *x);
/* Adds every effect, in order and with all strings and numbers, to a running digest. */
uint64_t sl_effects_digest(uint64_t seed, const struct sl_effects *x);
const char *sl_effect_name(enum sl_effect_kind k);

/* `{key value Effect <nil>}`, as a refused flavor shows its taint. */
const char *sl_taint_print(struct sl_arena *a, const struct sl_taint *t);
/* `AdmissionChecks in Retry state: "a" (msg); "b"`: those of v in that state, by name. */
const char *sl_checks_print(struct sl_arena *a, enum sl_check_state state,
                            const struct sl_check_status *v, uint32_t n);

struct sl_buf;

/* One condition of the Workload. */
struct sl_condition {
    enum sl_cond type;
    bool status;
    const char *reason;
    const char *message; /* in the buffer given */
};

/* Why a slice is finished: the message of its condition and of its event. */
void sl_effect_replaced_message(struct sl_buf *out, const char *by_uid, const char *by_job_uid);

/* The message of an EVICT effect, made from its parts, in the arena. */
const char *sl_evict_message(const struct sl_effect *x, struct sl_arena *a);

#define SL_EFFECT_MAX_CONDITIONS 4
/* The conditions that an effect writes, in Kueue's wording (v0.19). Messages are put into text,
 * which is cleared first. Returns how many. */
uint32_t sl_effect_conditions(const struct sl_effect *x, struct sl_buf *text,
                              struct sl_condition out[SL_EFFECT_MAX_CONDITIONS]);

#endif
