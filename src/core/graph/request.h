/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource requests of a job: a tree of requests (RFC 14), a constraint (RFC 31) and a duration. A
 * jobspec is the decoded text, and has an arena of its own; a request is a jobspec that has been
 * compiled for one graph, and can be matched any number of times.
 */
#ifndef SL_CORE_GRAPH_REQUEST_H
#define SL_CORE_GRAPH_REQUEST_H

#include "core/base/arena.h"
#include "core/graph/graph.h"

#define SL_REQ_MAX 256u              /* resource requests in one jobspec */
#define SL_REQ_MAX_DEPTH 16u         /* of the tree */
#define SL_REQ_ALTERNATIVES_MAX 256u /* that xor_slots give */
#define SL_REQ_COUNT_MAX UINT32_MAX
#define SL_REQ_COUNT_MAX_SET 4096u

/* How many. With a set: one of its numbers. Else min, and with 'op' what comes of applying it again
 * and again, up to max: '+' adds, '*' multiplies, '^' raises to the operand. A fixed number n is
 * {n, n, '+', 1}. */
struct sl_req_count {
    uint32_t min, max;
    char op;
    uint32_t operand;
    const uint32_t *set; /* ascending; NULL: none */
    uint32_t n_set;
};
/* The largest allowed number that is at most q; 0 if there is none. */
uint32_t sl_req_count_take(const struct sl_req_count *c, uint64_t q);

enum sl_req_kind {
    SL_REQ_RESOURCE,
    SL_REQ_SLOT,
    SL_REQ_XOR_SLOT,
    SL_REQ_OR_SLOT,
};
enum sl_req_tristate { SL_UNSET, SL_FALSE, SL_TRUE };

struct sl_req_spec {
    const char *type; /* of a resource */
    const char *label, *unit;
    enum sl_req_kind kind;
    enum sl_req_tristate exclusive;
    struct sl_req_count count;
    const struct sl_req_spec *with;
    uint32_t n_with;
};

enum sl_constraint_kind {
    SL_CONSTRAINT_ALL, /* no constraint */
    SL_CONSTRAINT_AND,
    SL_CONSTRAINT_OR,         /* of none: true, by RFC 31 */
    SL_CONSTRAINT_NOT,        /* not all of them */
    SL_CONSTRAINT_PROPERTIES, /* has all of them; "^name": has not */
    SL_CONSTRAINT_HOSTS,
    SL_CONSTRAINT_RANKS,
};
struct sl_constraint {
    enum sl_constraint_kind kind;
    const struct sl_constraint *terms; /* AND, OR, NOT */
    uint32_t n_terms;
    const char *const *names; /* PROPERTIES, HOSTS: hostlists spread out */
    uint32_t n_names;
    const struct sl_constraint_ranks { int64_t first, last; } * ranks;
    uint32_t n_ranks;
};

struct sl_jobspec {
    struct sl_arena arena; /* of everything below */
    int64_t version;
    const struct sl_req_spec *resources;
    uint32_t n_resources;
    struct sl_constraint constraint;
    int64_t duration;         /* seconds; 0: until the end of the graph */
    const char *queue;        /* attributes.system.queue, NULL: absent */
    const char *const *slots; /* the labels that tasks name */
    uint32_t n_slots;
};
void sl_jobspec_free(struct sl_jobspec *j);
void sl_jobspec_freep(struct sl_jobspec **j);

struct sl_match_request;
/* Resolves types against the graph and checks what depends on it: a type that the graph does not
 * have, twice the same type side by side, exclusive: false below a slot. The jobspec is not needed
 * afterwards. */
int sl_match_request_new(const struct sl_graph *g, const struct sl_jobspec *j,
                         struct sl_match_request **ret, struct sl_err *err) _must_check_;
/* Another reference: it does not change, so that many jobs can have the same one. */
struct sl_match_request *sl_match_request_ref(struct sl_match_request *r);
/* Sets the bits of those of n vertices of the graph that its constraint holds for. */
void sl_match_request_admits(const struct sl_match_request *r, const struct sl_graph *g,
                             const sl_vtx *v, uint32_t n, uint64_t *ret);
/* Drops a reference; the last one frees it. */
void sl_match_request_free(struct sl_match_request *r);
void sl_match_request_freep(struct sl_match_request **r);

#endif
