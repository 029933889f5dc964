/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobspecs of Kubernetes objects. Two steps, both pure:
 *
 *     fq_jobspec_write   an object becomes a Flux jobspec (RFC 14, YAML), which its FluxJob shows
 *     fq_jobspec_compile a jobspec, written here or by a user, becomes a request for the live graph
 *
 * The live graph: cluster > levels that are configured > node > pools, each divisible and one of a
 * type on a node: `core` in thousandths (unit "m"), `memory` and all else that is bytes in KiB
 * (unit "Ki"), `pods`, host ports (ports.c), and every extended resource under its own name. A node
 * has as properties its labels, as "KEY" and as "KEY=VALUE", and for each taint that keeps pods
 * away "taint:KEY=VALUE:EFFECT".
 *
 * A pod is a slot. Its requests are what is in it, one of each of its host ports, and one of
 * `pods`. Where a pod may go is attributes.system.constraints (RFC 31) for its node selector and
 * required node affinity, and attributes.system.tolerations, as in the pod:
 *
 *     nodeSelector, In         "KEY=VALUE", several values joined by or
 *     NotIn                    "^KEY=VALUE" for each
 *     Exists, DoesNotExist     "KEY", "^KEY"
 *     Gt, Lt                   "KEY>5", "KEY<5": no properties of nodes, see fq_jobspec_compile
 *     matchFields, nodeName    hostlist
 *
 * How pods are spread is the shape of the resources, from the top:
 *
 *     slot[N]                           by default: anywhere, several on a node
 *     node[N/k] > slot[k]               exactly k on each of their nodes
 *     rack[1] > slot[N]                 all in one rack
 *     rack[N/k] > node[k/j] > slot[j]   and so on
 *
 *     tasks-per-node, whole-nodes       exact
 *     within                            exact if it is the lowest level. Else stricter: levels
 *                                       between are in the jobspec with 1, too, since the matcher
 *                                       walks no level that a request leaves out in its middle
 *     podAntiAffinity to itself         exact: one in each domain
 *     podAffinity to itself             as within
 *     spread, DoNotSchedule             stricter: the same number in each domain that has any, the
 *                                       greatest up to maxSkew that divides. So no order of starts
 *                                       and no number of domains (minDomains) violates it
 *
 * That is the first placement. For those that come later it is a bound: no domain gets more, and
 * what is in one stays there (spread.c).
 *
 * "To itself": the selector of the term selects the labels of the pod. Only the pods of the job
 * count; others that it may select as well do not. Topology keys are kubernetes.io/hostname and the
 * labels of levels. Any other required term, one against other pods, and claims of devices are
 * refused. What is only preferred (preferredDuringScheduling..., ScheduleAnyway, PreferNoSchedule)
 * is ignored.
 */
#ifndef SL_MANAGER_FLUXQUEUE_JOBSPEC_JOBSPEC_H
#define SL_MANAGER_FLUXQUEUE_JOBSPEC_JOBSPEC_H

#include "core/base/collection/hash.h"
#include "core/base/time.h"
#include "core/graph/request.h"
#include "core/model/labels.h"
#include "lib/json/json.h"
#include "manager/admission/fluxqueue.h"

#define FQ_MAX_JOBSPEC ((size_t)64 << 10) /* of the text */
#define FQ_MAX_PODS 100000u               /* of one job */
#define FQ_MAX_LEVELS 8u
#define FQ_MAX_TOLERATIONS 1024u           /* of one job */
#define FQ_MAX_TAINTS 1024u                /* different ones, of all nodes */
#define FQ_MAX_GPU_TYPES 8u                /* of all nodes */
#define FQ_MAX_COMPARISONS 16u             /* Gt and Lt in one jobspec */
#define FQ_MAX_VALUES 4096u                /* of one label, that a comparison selects */
#define FQ_MAX_POD_PORTS 64u               /* host ports of a pod */
#define FQ_MAX_KINDS 16u                   /* of slots in one jobspec */
#define FQ_MAX_SECONDS INT64_C(9000000000) /* a duration, or since 1970: what sl_time can hold */

/* A level of the graph between the cluster and its nodes. */
struct fq_level {
    const char *type;  /* "rack" */
    const char *label; /* of nodes */
};

/* Where in a jobspec that was written here its slot and its task are, as offsets of lines. All 0:
 * it is the owner's own. */
struct fq_jobspec_parts {
    uint32_t slot, slot_type, slot_end;
    uint32_t task, task_slot, task_end;
    uint32_t slots; /* how many slots are side by side in what is around them */
    bool whole;     /* on nodes of their own */
};

#define FQ_TOGETHER_UNKNOWN UINT32_MAX

struct fq_jobspec_options {
    const struct fq_level *levels; /* top first */
    uint32_t n_levels;
    int64_t duration; /* seconds, of jobs that say nothing; 0: until they end */
    /* In place of the object's name, so that equal pods have equal jobspecs; NULL: that one. */
    const char *name;
    yyjson_val *pod; /* the spec of a pod, in place of that of the object's template; NULL: that */
    struct fq_jobspec_parts *ret_parts; /* NULL: not needed */
    /* The tiers (levels, top first, then the node) of which all pods have to be in one, however
     * many they are, as bits; FQ_TOGETHER_UNKNOWN: the jobspec is the owner's own. NULL: not
     * needed. */
    uint32_t *ret_together;
};

struct fq_values; /* values of labels */
/*
 * What of a graph requests depend on besides its types: an index, so that compiling does not walk
 * all nodes. It walks them once, with all their properties. It is as old as its making: made again
 * when taints of nodes change, or labels that requests compare, or when nodes or their resources
 * come and go.
 */
struct fq_taint {
    struct sl_taint taint;
    const char *absent; /* the property that a node without it has: "^taint:KEY=VALUE:EFFECT" */
};
struct fq_universe {
    struct sl_arena arena;         /* of everything below */
    const struct fq_taint *taints; /* in the order of their texts */
    uint32_t n_taints;
    const char *gpus[FQ_MAX_GPU_TYPES]; /* types such as nvidia.com/gpu, sorted */
    uint32_t n_gpus;
    uint64_t *compared; /* fq_compared_bit of each label that a request compares by Gt or Lt */
    struct fq_values *values; /* filled by the first of these */
    uint32_t n_names;         /* of the graph, when this was made */
};
/* Others may have the same one: then the label counts as compared, too. */
static inline uint64_t fq_compared_bit(const char *label) {
    return UINT64_C(1) << (sl_hash_str(17, label) & 63);
}
/* SL_ELIMIT: too many different taints, or types of GPUs. */
int fq_universe_init(struct fq_universe *u, const struct sl_graph *g,
                     struct sl_err *err) _must_check_;
void fq_universe_done(struct fq_universe *u);

/* What one pod takes of a pool of its node, in the units of the graph. */
struct fq_slot_amount {
    const char *type; /* "core" */
    int64_t amount;
};

/* One kind of slot: what a pod in it takes, and how many of them there are at least. */
struct fq_slot_kind {
    const struct fq_slot_amount *v;
    uint32_t n, count;
};

/* A level, or the node, around all slots. */
struct fq_jobspec_tier {
    const char *type; /* "rack" */
    uint32_t count;   /* in the one around it */
    uint32_t each;    /* slots in each of them */
    bool exclusive;
};

/* What of a jobspec is not in its request. Pointers are into the arena. */
struct fq_jobspec_info {
    uint32_t pods;                     /* slots, if their number is fixed; else the least */
    const struct fq_slot_amount *slot; /* one pod; of several different slots: none */
    uint32_t n_slot;
    const struct fq_slot_kind
        *kinds; /* of slots side by side, in their order; alternatives: none */
    uint32_t n_kinds;
    bool whole_nodes;  /* nodes are exclusive */
    int64_t duration;  /* seconds; 0: unknown */
    int64_t begin;     /* seconds since 1970, not to be started before; 0: at once */
    const char *queue; /* "": the default one; in the arena */
    /* What is around all slots, from the top; none: nothing is, or their numbers are not fixed. */
    const struct fq_jobspec_tier *tiers;
    uint32_t n_tiers;
};

/* The jobspec of an object with so many pods, appended to out: the same bytes for the same object,
 * whatever the order of its maps. 'object' is a Pod, or what has spec.template; of a pod group, any
 * of its pods. SL_EINVAL: something in it cannot be honoured (an annotation that is no number, an
 * affinity that has no jobspec); the message is for its owner. SL_ELIMIT: longer than
 * FQ_MAX_JOBSPEC, or than what out takes. */
int fq_jobspec_write(enum sl_flux_type type, yyjson_val *object, uint32_t pods,
                     const struct fq_jobspec_options *o, struct sl_buf *out,
                     struct sl_err *err) _must_check_;

/* Has a pod required affinity to other pods, against them, or a required spread among them? A job
 * honours what is about its own pods; a pod that is a job by itself has no others. */
bool fq_jobspec_needs_others(yyjson_val *pod_spec);

/* Host ports of a pod, each once, sorted; a port is protocol and number (kube/types/podset.h). */
struct fq_ports {
    uint32_t v[FQ_MAX_POD_PORTS], n;
};
#define FQ_PORT_NAME 48u
/* False: it has more, which are left out. */
bool fq_ports_read(yyjson_val *pod_spec, struct fq_ports *ret);
/* The pool of a port: "fluxqueue/host-port-tcp-8080". Returns out. */
const char *fq_port_name(uint32_t port, char out[FQ_PORT_NAME]);
/* Is this the name of such a pool? */
bool fq_port_is(const char *resource);

/* One of the pods of a group: its jobspec, written as that of a group of so many pods like it. */
struct fq_jobspec_member {
    const char *name; /* of the pod, for messages */
    const char *text;
    const struct fq_jobspec_parts *parts;
};

/* The jobspec of a group: one kind of slot for each kind of request among its members, in the order
 * in which they are met. SL_EINVAL: members differ in more than their requests, or differ in these
 * and are to be spread. SL_ELIMIT: more than FQ_MAX_KINDS kinds, or longer than FQ_MAX_JOBSPEC. */
int fq_jobspec_join(const char *group, const struct fq_jobspec_member *v, uint32_t n,
                    struct sl_buf *out, struct sl_err *err) _must_check_;

/* The jobspec of an object with the requests of one of its pods in place of those of its template;
 * its parts. False: one of them is the owner's own, or it would be longer than FQ_MAX_JOBSPEC. */
bool fq_jobspec_replace_slot(const struct fq_jobspec_member *object,
                             const struct fq_jobspec_member *pod, struct sl_buf *out,
                             struct fq_jobspec_parts *ret);

/*
 * The request of a jobspec on this graph. Slots without `pods` get one. `core` without a unit is in
 * cores ("m" and "milli": thousandths), `memory` and all else that is bytes without one in MiB (Ki,
 * Mi, Gi, Ti, KB, MB, GB, TB, bytes). `gpu` is the only type of GPU that the graph has, if it has
 * none of that name. Properties with '>' or '<' are what nodes have of that label. The constraint
 * excludes nodes with taints that are not tolerated.
 *
 * It depends on the taints and, for the operators Gt and Lt, on the labels that nodes have:
 * compiled again when these change. It costs as much as the text is long, and as many taints there
 * are, and for each Gt and Lt values of its label.
 *
 * 'u' is of this graph; NULL: made for this call. 'pods' 0: as many slots as it says; else this
 * many, for a job that grows: then `node` and levels around the slots are those of the question. If
 * it has none they are left out unless nodes are exclusive.
 *
 * SL_EINVAL: it is malformed. SL_ENOENT: it is right, and names a type that no node has, so that it
 * may be right to try again when there are other nodes. SL_ELIMIT: too much of something. Nothing
 * of ret and ret_info is touched then.
 */
int fq_jobspec_compile(const struct sl_graph *g, const struct fq_universe *u, const char *text,
                       size_t len, uint32_t pods, struct sl_arena *a,
                       struct fq_jobspec_info *ret_info, struct sl_match_request **ret,
                       struct sl_err *err) _must_check_;
/* The same with more to say. */
#define FQ_ANY_KIND UINT32_MAX
struct fq_jobspec_ask {
    uint32_t pods;                    /* as above */
    uint32_t kind;                    /* of slots, that there are to be more of; or FQ_ANY_KIND */
    const struct sl_constraint *also; /* besides the jobspec's own; NULL: none */
    int64_t duration;                 /* seconds, of a jobspec that has none; 0: none */
    /* Around the slots of a job that grows, from the top: the pods of each divide those of the one
     * above, and those of the first all of them. 'count' is not read. */
    const struct fq_jobspec_tier *tiers;
    uint32_t n_tiers;
};
int fq_jobspec_compile_ask(const struct sl_graph *g, const struct fq_universe *u, const char *text,
                           size_t len, const struct fq_jobspec_ask *ask, struct sl_arena *a,
                           struct fq_jobspec_info *ret_info, struct sl_match_request **ret,
                           struct sl_err *err) _must_check_;
/* What a jobspec says of a job that has its places, whatever the graph has now: no request is made
 * of it, and types that no node has are those of the text, `gpu` included. */
int fq_jobspec_measure(const char *text, size_t len, int64_t duration, struct sl_arena *a,
                       struct fq_jobspec_info *ret_info, struct sl_err *err) _must_check_;

#endif
