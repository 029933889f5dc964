/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Either of the two matchers behind one call, so that the same things are done to both: an act is
 * one call of match.h with its arguments, an answer what came of it.
 */
#ifndef SL_TESTS_CORE_GRAPH_SIDE_H
#define SL_TESTS_CORE_GRAPH_SIDE_H

#include "naive/naive.h"
#include "notation.h"

typedef SL_VEC(struct sl_pick) pick_list;

enum act_kind {
    ACT_RUN,
    ACT_CHECK, /* only compiles the request */
    ACT_CANCEL,
    ACT_PART,
    ACT_UPDATE,
    ACT_UPDATE_LATER,
    ACT_GROW_JOB,
    ACT_BEGIN,
    ACT_AGAIN, /* spec: what it was reserved by */
    ACT_DOWN,
    ACT_UP,
    ACT_RESIZE, /* at: the size */
    ACT_PROP,
    ACT_NOPROP,
    ACT_SHRINK,
    ACT_ADD,   /* what the draft has more than the graph */
    ACT_CLONE, /* goes on with a copy */
    ACT_JOB,
    ACT_JOBS,
    ACT_SUMS,
};

struct act {
    enum act_kind kind;
    enum sl_match_op op;
    int64_t job, now, at, duration;
    const struct sl_jobspec *spec;
    uint32_t by;                             /* RUN, AGAIN: 1 by the other policy */
    const struct sl_match_request *compiled; /* by the fast one, before; NULL: now */
    pick_list picks;                         /* PART, SHRINK: vertices alone */
    sl_vtx v;
    const char *key, *value;
    const struct draft *draft;
    uint32_t first; /* ADD: the first vertex that is new */
};

#define MAX_SUMS 16

struct answer {
    int r; /* below 0: an error, and nothing else is said */
    bool has_verdict, has_grant, all;
    enum sl_match_verdict verdict;
    struct sl_grant grant;
    uint32_t n; /* of sums or jobs */
    struct sl_match_filter_sum sums[MAX_SUMS];
};

/* One of them is there. */
struct side {
    struct sl_match *fast;
    struct naive *slow;
    uint32_t also; /* the number of the other policy in the fast one */
};

/* also: another policy, or NULL. */
void side_init(struct side *s, bool fast, const struct sl_graph *g,
               const struct sl_match_options *o, const struct sl_match_policy *also);
void side_done(struct side *s);
const struct sl_graph *side_graph(const struct side *s);

/* *ret is zeroed or was used before. */
void side_do(struct side *s, const struct act *a, struct answer *ret);
void answer_done(struct answer *a);
bool answers_agree(const struct side *s, const struct answer *a, const struct side *t,
                   const struct answer *b);
void answer_print(const struct side *s, const struct answer *a, struct sl_buf *out);
/* As a line of a script (script.h). */
void act_print(const struct draft *d, const struct act *a, struct sl_buf *out);

/* The first difference between what two matchers know, in words; false if there is none. */
bool sides_differ(const struct side *fast, const struct side *slow, int64_t now,
                  struct sl_buf *ret_why);

#endif
