/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: a second, naive implementation of the decision semantics, written from
 * docs/rules.md (numbers in the comments) and from nothing else. It is slow and plain
 * on purpose: fixed arrays, small integers for names, one literal scheduler cycle after another,
 * every number recomputed from the list of reserved workloads. Its only job is to be obviously
 * right.
 *
 * Time and cycles: facts change the world at once; orc_cycle(now) first lets every touched tree put
 * sleepers back on the heaps (rule 1.3, without the 1 s batch, and only those that would get
 * further than they are), then runs cycles (rules 1.4 to 1.8) in each tree until one of them
 * changes nothing.
 *
 * Not here: admission fair sharing, admission checks, readiness timeouts, topology.
 */
#ifndef SL_TESTS_CORE_ENGINE_ORACLE_H
#define SL_TESTS_CORE_ENGINE_ORACLE_H

#include "core/base/amount.h"
#include "core/base/time.h"
#include "core/model/words.h"

enum {
    ORC_FLAVORS = 4,
    ORC_RES = 4, /* 0 cpu, 1 memory, 2 gpu, 3 pods */
    ORC_PODS = 3,
    ORC_FRS = ORC_FLAVORS * ORC_RES,
    ORC_CQS = 8,
    ORC_COHORTS = 6,
    ORC_NODES = ORC_CQS + ORC_COHORTS, /* node n < ORC_CQS is a ClusterQueue */
    ORC_LQS = 12,
    ORC_NSS = 3,
    ORC_WLS = 48,
    ORC_PODSETS = 3,
    ORC_GROUPS = 2,
    ORC_KEYS = 2,  /* label keys and taint keys */
    ORC_TERMS = 2, /* of an affinity */
    ORC_EVENTS = 1024,
    ORC_TURNS = 5000, /* cycles in one tree until it rests: far more than any history needs */
};

static inline int orc_fr(int flavor, int res) {
    return flavor * ORC_RES + res;
}

/* ---- what objects say ---- */

struct orc_flavor {
    bool exists;
    int label[ORC_KEYS]; /* 0: no such label */
    enum {
        ORC_TAINT_NONE,
        ORC_TAINT_NO_SCHEDULE,
        ORC_TAINT_PREFER,
        ORC_TAINT_NO_EXECUTE
    } taint[ORC_KEYS];
    bool tolerates[ORC_KEYS]; /* the flavor's own tolerations */
};

struct orc_quota {
    bool listed;
    sl_amount nominal, borrow, lend; /* SL_AMOUNT_NONE: no limit */
};

struct orc_group {
    int n_res, res[ORC_RES];
    int n_flavors, flavor[ORC_FLAVORS];
};

/* A ClusterQueue or a Cohort as a node of the tree. */
struct orc_node {
    bool exists; /* the object exists; a cohort without object is implicit: no quota, no parent */
    int parent;  /* node number, -1: none */
    struct orc_quota q[ORC_FRS];
    int64_t weight_nano;
    int n_groups;
    struct orc_group group[ORC_GROUPS];
};

struct orc_cq {
    enum sl_strategy strategy;
    enum sl_within within;
    enum sl_reclaim reclaim;
    enum sl_borrow_within borrow_within;
    bool has_threshold;
    int threshold;
    enum sl_when when_borrow, when_preempt;
    enum sl_preference preference;
    enum sl_stop stop;
    enum { ORC_NS_ALL, ORC_NS_TEAM, ORC_NS_NOTHING } selects; /* TEAM: ns label team == team */
    int team;
};

struct orc_lq {
    bool exists;
    int ns, cq;
    enum sl_stop stop;
};

enum orc_op { ORC_OP_IN, ORC_OP_NOT_IN, ORC_OP_EXISTS, ORC_OP_NOT_EXISTS };

struct orc_rule {
    int key;
    enum orc_op op;
    int value;
};

struct orc_term {
    int n;
    struct orc_rule rule[ORC_KEYS];
};

struct orc_podset {
    int count, min_count; /* 0: none */
    bool asks[ORC_RES];
    sl_amount each[ORC_RES]; /* per pod, ORC_PODS never asked for */
    int selector[ORC_KEYS];  /* 0: no such key */
    int n_terms;
    struct orc_term term[ORC_TERMS];
    enum { ORC_TOL_NONE, ORC_TOL_EXISTS, ORC_TOL_WRONG_VALUE, ORC_TOL_NO_SCHEDULE } tol[ORC_KEYS];
    int group; /* podSetGroupName, 0: none */
};

struct orc_wl_spec {
    int lq; /* the LocalQueue named; its namespace is the workload's */
    char uid[16];
    int priority, boost;
    sl_time created;
    int n;
    struct orc_podset ps[ORC_PODSETS];
    bool inactive, gated, on_hold, invalid;
};

struct orc_config {
    bool fair;
    enum sl_fair_strategy strategy[2];
    int n_strategy;
    uint32_t gates;
    bool ignore_undeclared;
};

/* ---- what happened ---- */

struct orc_assignment {
    enum { ORC_NO_FIT, ORC_PREEMPT, ORC_FIT } mode;
    int borrow; /* highest level over all assigned resources */
    int count[ORC_PODSETS];
    int flavor[ORC_PODSETS][ORC_RES]; /* -1: none */
    int fmode[ORC_PODSETS][ORC_RES];  /* ORC_PREEMPT or ORC_FIT where a flavor is */
    int tried[ORC_PODSETS]
             [ORC_RES]; /* rule 2.6: last flavor index tried, -1: the last one, -2: none */
    sl_amount amount[ORC_PODSETS][ORC_RES];
    sl_amount usage[ORC_FRS]; /* over all podsets */
};

enum orc_state { ORC_ABSENT, ORC_PENDING, ORC_RESERVED, ORC_FINISHED };
enum orc_place { ORC_OUT, ORC_HEAP, ORC_ASLEEP };

struct orc_wl {
    struct orc_wl_spec spec;
    enum orc_state state;
    enum orc_place place; /* while pending */
    int cq;               /* pending in a queue: that one; reserved: the one reserved in; else -1 */
    bool evicting;
    enum sl_evict evicted_for;    /* since the last reservation */
    int evicted_by;               /* while evicting: its preemptor, -1: none */
    enum sl_cause evicted_how;    /* and why that one took it */
    uint64_t evicted_nr;          /* in which order */
    enum sl_evict requeued_false; /* rule 1.3.4, back-off: the eviction reason that keeps it away */
    sl_time preempted_at; /* by reclaim while borrowing, since the last reservation; -1: not */
    sl_time reserved_at;
    int reclaimed[ORC_PODSETS];
    struct orc_assignment got; /* while reserved */
    /* rule 2.6, resume */
    bool has_record;
    int tried[ORC_PODSETS][ORC_RES];
    uint64_t record_gen;
    int evals; /* at tree version eval_version */
    uint64_t eval_version;
    bool own_fault; /* asleep for what it is (namespace, invalid), not for want of quota */
    bool asked;     /* asleep at a trigger of this cycle and not worth waking */
};

enum orc_event_kind { ORC_EV_RESERVE, ORC_EV_EVICT };

struct orc_event {
    enum orc_event_kind kind;
    int wl, cq, root; /* root: the node at the top of the tree it happened in */
    struct orc_assignment got;
    enum sl_evict reason;
    enum sl_cause cause;
    int by; /* preemptor, -1: none */
};

/* What makes two workloads equal to the scheduler (rule 1.3.15). */
struct orc_hash {
    int64_t priority;
    int n;
    struct {
        struct orc_podset shape;
        int count;
    } ps[ORC_PODSETS];
};

/* Queue state of one ClusterQueue, appendix D (the heap is the set of workloads placed there; a
 * hash is remembered, M, as long as somebody who was refused with it sleeps). */
struct orc_queue {
    int sticky;          /* -1: none */
    uint64_t generation; /* AllocatableResourceGeneration, rule 2.6 */
    bool touched;        /* a tree event is due in its tree */
    bool dirty;          /* something about its tree was said since it last came to rest */
};

struct orc {
    struct orc_config config;
    struct orc_flavor flavor[ORC_FLAVORS];
    struct orc_node node[ORC_NODES];
    struct orc_cq cq[ORC_CQS];
    struct orc_queue queue[ORC_CQS];
    struct orc_lq lq[ORC_LQS];
    int ns_team[ORC_NSS];
    int n_wls;
    struct orc_wl wl[ORC_WLS];
    bool edge[ORC_WLS][ORC_WLS]; /* [P][V]: P preempted V in this epoch */
    uint64_t version;            /* raised by whatever changes usage, quota or candidates */
    int n_events;
    struct orc_event event[ORC_EVENTS]; /* of the last orc_cycle */
    uint64_t rounds, n_evicted;         /* literal cycles and preemptions so far */
    void (*trace)(const char *line);    /* NULL: none */
};

/* ---- facts (oracle_facts.c) ---- */

struct orc *orc_new(const struct orc_config *c);
void orc_free(struct orc *o);
void orc_set_flavor(struct orc *o, int f, const struct orc_flavor *spec);
void orc_flavor_gone(struct orc *o, int f);
void orc_set_cohort(struct orc *o, int node, const struct orc_node *spec);
void orc_cohort_gone(struct orc *o, int node);
void orc_set_cq(struct orc *o, int cq, const struct orc_node *spec, const struct orc_cq *policy);
void orc_cq_gone(struct orc *o, int cq);
void orc_set_lq(struct orc *o, int lq, const struct orc_lq *spec);
void orc_lq_gone(struct orc *o, int lq);
void orc_set_ns(struct orc *o, int ns, int team);
/* Creates workload n_wls (returns its number) or updates an existing one. */
int orc_create(struct orc *o, const struct orc_wl_spec *spec);
void orc_update(struct orc *o, int w, const struct orc_wl_spec *spec);
void orc_delete(struct orc *o, int w);
void orc_finish(struct orc *o, int w);
void orc_release(struct orc *o, int w);
void orc_reclaimable(struct orc *o, int w, const int *counts);
/* Does the workload's LocalQueue lead to a queue that takes it in? */
int orc_cq_of(const struct orc *o, int w);

/* ---- cycle (oracle_cycle.c) ---- */

void orc_cycle(struct orc *o, sl_time now);
int64_t orc_priority(const struct orc *o, int w);
sl_time orc_order_time(const struct orc *o, int w);
/* Heap order of a queue, rule 1.2: does a stand before b? */
bool orc_before(const struct orc *o, int a, int b);
void orc_hash_of(const struct orc *o, int w, struct orc_hash *h);
bool orc_hash_equal(const struct orc_hash *a, const struct orc_hash *b);
/* Does an equal workload of the queue sleep for want of quota? */
bool orc_bulk_moved(const struct orc *o, int cq, int w);
bool orc_gate(const struct orc *o, enum sl_gate g);
bool orc_ns_matches(const struct orc *o, int cq, int ns);
void orc_say(const struct orc *o, const char *fmt, ...) _printf_(2, 3);

/* ---- quota (oracle_quota.c) ---- */

/* The numbers a cycle works on: quotas of the tree and the usage of each queue. Cohort usage is
 * always computed from the queues. */
struct orc_snap {
    const struct orc *o;
    sl_amount usage[ORC_CQS][ORC_FRS];
    bool gone[ORC_WLS]; /* taken out of the snapshot */
    sl_amount subtree[ORC_NODES][ORC_FRS], local[ORC_NODES][ORC_FRS];
    bool listed[ORC_NODES][ORC_FRS];
    bool active[ORC_CQS];
};

bool orc_in_cycle(const struct orc *o, int n);
bool orc_active(const struct orc *o, int cq);
int orc_root(const struct orc *o, int n);
void orc_snapshot(const struct orc *o, struct orc_snap *s);
sl_amount orc_usage(const struct orc_snap *s, int n, int fr);
sl_amount orc_local_available(const struct orc_snap *s, int n, int fr);
/* As 3.2: may be negative. */
sl_amount orc_available_raw(const struct orc_snap *s, int n, int fr);
/* Never negative; what a ClusterQueue sees. */
sl_amount orc_available(const struct orc_snap *s, int cq, int fr);
sl_amount orc_potential(const struct orc_snap *s, int n, int fr);
int orc_height(const struct orc_snap *s, int n);
/* Rule 2.4: level of the lowest subtree that fits; says whether it may reclaim. */
int orc_borrow_level(const struct orc_snap *s, int cq, int fr, sl_amount val, bool *may_reclaim);
void orc_add(struct orc_snap *s, int cq, const sl_amount *usage, int sign);
void orc_take_out(struct orc_snap *s, int w);
void orc_put_back(struct orc_snap *s, int w);
bool orc_fits(const struct orc_snap *s, int cq, const sl_amount *usage);

struct orc_share {
    bool borrowing;
    bool on[ORC_FRS];         /* where */
    bool infinite;            /* weight 0 and borrowing */
    sl_amount over, lendable; /* of the resource for which the ratio is largest */
    int64_t weight;
};
struct orc_share orc_share_of(const struct orc_snap *s, int n);
int orc_share_cmp(const struct orc_share *a, const struct orc_share *b);

/* ---- flavors (oracle_flavor.c) ---- */

/* Counts NULL: the full counts after reclaim. Uses the workload's resume record if it is valid. */
void orc_assign(struct orc_snap *s, int w, int cq, const int *counts, bool use_record,
                struct orc_assignment *out);
bool orc_flavor_matches(const struct orc *o, int f, const struct orc_podset *ps);
int orc_count_after_reclaim(const struct orc_wl *w, int p);

/* ---- preemption (oracle_preempt.c) ---- */

struct orc_targets {
    int n;
    int wl[ORC_WLS];
    enum sl_cause cause[ORC_WLS];
};

void orc_find_targets(struct orc_snap *s, int w, int cq, const sl_amount *request,
                      const bool *contested, struct orc_targets *out);
/* The finiteness rules: may p not touch v in this epoch? */
bool orc_forbidden(const struct orc *o, int p, int v);

/* Rule 1.5: assignment and targets of one workload against the snapshot. */
void orc_get_assignment(struct orc_snap *s, int w, int cq, bool use_record,
                        struct orc_assignment *a, struct orc_targets *t);

/* Would it be admitted at once if everybody else in the tree were gone? */
bool orc_fits_when_idle(const struct orc *o, int w);

/* Checks the oracle's own state; returns what is wrong or NULL. */
const char *orc_check(const struct orc *o);

#endif
