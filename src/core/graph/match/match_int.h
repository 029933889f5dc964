/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the matcher share.
 *
 * Places. The matcher walks positions of the depth-first order, not vertices: a subtree is an
 * interval. Positions are grouped into blocks: a node with all below it is one block, and every
 * other vertex is one by itself. What a job holds in a block is a span: two masks with a bit per
 * position (exclusive, shared) and the time. Which vertices of a node are free in a window is then
 * the OR of a few words, whatever the number of its cores.
 *
 * Now and later. What is allocated counts for the present whatever its time, so it is kept as one
 * mask per block ('held') and as sums per inner vertex ('free_amounts'), which change only when
 * something is allocated or freed. Reservations are seen through the spans alone.
 */
#ifndef SL_CORE_GRAPH_MATCH_MATCH_INT_H
#define SL_CORE_GRAPH_MATCH_MATCH_INT_H

#include "core/base/arena.h"
#include "core/base/collection/map.h"
#include "core/base/collection/ordset.h"
#include "core/graph/match/match.h"
#include "core/graph/plan.h"
#include "core/graph/request_int.h"

#define GRAPH_NONE UINT32_MAX
#define BLOCK_MAX 4096u /* positions; a larger node is many blocks */
#define BLOCK_WORDS (BLOCK_MAX / 64)
#define TYPES_MAX 16u                 /* types with sums */
#define WEIGH_NOT TYPES_MAX           /* no filter: it is as heavy as what was not visited */
#define WEIGH_NOTHING (TYPES_MAX + 1) /* a type of which there is nothing */
#define MEMOS 256u
#define MEMO_KEY_MAX 4096u

/* ---- layout: rebuilt when the graph changes ---- */

struct graph_spot { /* one per position */
    sl_vtx v;
    uint32_t block;
    uint32_t inner; /* NONE: no children */
    uint16_t type;  /* index in types */
    uint8_t down;   /* it or something above it */
    uint8_t divisible, is_node, constrained;
    uint8_t joint; /* it has further parents */
};

struct graph_run {  /* children of one type, in the order of the policy */
    uint32_t at, n; /* in kids */
    uint32_t mask;  /* in masks: their bits in the block; 0: they are not plain */
    int64_t size;   /* of each, if they are uniform */
    uint32_t pool;  /* one divisible child alone: its place in pools, and one; 0: not so */
    uint16_t type;
    bool uniform; /* all of one size, and given out whole */
    int8_t way;   /* of plain ones: 1: low bits come first, -1: high bits, 0: neither */
};

struct graph_inner { /* one per vertex with children */
    uint32_t pos;
    uint32_t runs, n_runs;
    uint32_t kids, n_kids; /* where they begin in kids, and in kids_by_uniq */
    uint32_t up;           /* that of its parent; NONE: it has none */
    uint64_t kid_types;    /* a bit per type, the last for all beyond 62 */
    uint64_t below;        /* types in the subtree, itself not counted */
    int64_t factor;        /* of nodes from the root to here, for the scores of children */
    uint8_t weigh;         /* the counted type that its weight is of, or WEIGH_* */
    bool some_down;        /* a child is, by itself */
    bool leads_out;        /* it, or one below it, is a further parent */
    uint8_t kids_weigh;    /* that of all its children; WEIGH_NOT: they differ, or none */
};

struct graph_type {
    sl_sym sym;
    uint8_t counted; /* index in sums; TYPES_MAX: no sums */
    bool alike;      /* all are of size 1, and none is divisible */
};

struct graph_filter {
    sl_sym at, of; /* at 0: everywhere */
};

struct graph_block {
    uint32_t pos, n;
    uint32_t held;    /* in held: words of exclusive, then of shared bits */
    uint32_t spans;   /* the first; 0: none */
    uint32_t profile; /* in profiles; 0: none */
};

static inline uint32_t graph_block_words(const struct graph_block *b) {
    return (b->n + 63) / 64;
}
/* Where the lowest of some bits in a word stands; the words are those of what is held alone, then
 * those of what is shared. */
static inline uint32_t graph_block_pos(const struct graph_block *b, uint32_t word, uint64_t bits) {
    uint32_t n = graph_block_words(b);
    return b->pos + (word < n ? word : word - n) * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* Nodes in the order of the policy, with a tree of the most that is free of each counted type. */
struct graph_index {
    SL_VEC(uint32_t) order; /* positions */
    uint32_t *rank;         /* by block; NONE: not in it */
    uint32_t leaves;        /* a power of two */
    int64_t *most;          /* 2 * leaves * n_counted */
};

/* ---- slots at the top: see top_slots.c ---- */

#define TOPS 8u /* shapes that a tree is kept of */

struct graph_place { /* where the slot takes shape, and the first of its slots that is not given yet
                      */
    uint32_t inner;
    uint32_t first; /* position of the slot's first vertex; NONE: there is no slot */
    int64_t score;
    uint32_t taken; /* slots, by this search */
    bool in_window; /* the slot is so in the window of this search */
};
struct graph_winners { /* a tree: the best place of each pair, down to the one at [1] */
    struct graph_place *places;
    uint32_t n, leaves, *best;
};
struct graph_plain { /* so many of each type */
    uint32_t n;
    struct {
        uint16_t type;
        uint32_t per;
    } of[TYPES_MAX];
    uint32_t least; /* slots that a vertex must have */
};
struct graph_tops {
    struct graph_plain of;
    char *constraint;
    uint32_t constraint_len;
    uint64_t layout_generation, used;
    bool made, good;         /* not good: the walk has to do it */
    struct graph_winners by; /* what is allocated now, but for stale blocks */
    uint64_t *is_stale;
    SL_VEC(uint32_t) stale;
};

struct graph_picks { /* of places: whose slots are chosen, and which were evaluated in the window */
    SL_VEC(uint32_t) slots;
    SL_VEC(uint32_t) in_window;
};

/* ---- state ---- */

struct graph_span {
    uint32_t job, block;
    uint32_t next, next_of_job; /* 0: the last */
    uint32_t bits;              /* in words: exclusive, then shared */
    bool allocated;
    int64_t from, to;
};

struct graph_profile { /* of a block: from each moment on, exclusive bits and shared ones */
    int64_t *at;
    uint64_t *bits;
    uint32_t n, cap;
};

struct graph_pool { /* a divisible vertex */
    uint32_t pos;
    uint32_t shares; /* the first; 0: none */
    int64_t held;    /* by jobs that are allocated */
    struct sl_plan *plan;
};

struct graph_share {
    uint32_t job, pool;
    uint32_t next, next_of_job;
    uint32_t plan_span;
    bool allocated;
    int64_t amount, from, to;
};

struct graph_job {
    int64_t id, from, to;
    enum sl_match_job_state state;
    uint32_t n_slots;
    uint32_t spans, shares;
    uint32_t ways; /* the first; 0: none */
    bool used;
};

/* Of a vertex with several parents that a job has: the one through which it was found. */
struct graph_job_way {
    uint32_t pos, parent;
    uint32_t next; /* of the job; 0: the last */
};

/* What is known of a class of requests. */
struct graph_memo {
    uint64_t class;
    char *key;
    uint32_t key_len;
    bool busy; /* for a now in [since, until), while the matcher's generation is this one */
    int64_t since, until;
    uint64_t generation;
    enum { SATISFIABLE_UNKNOWN, SATISFIABLE_YES, SATISFIABLE_NO } satisfiable;
    uint64_t graph_generation; /* while the graph's is this one */
};

struct sl_match {
    struct sl_graph *g;
    struct sl_match_policy policy;
    int64_t start, end;
    bool fluxion;
    SL_VEC(struct graph_filter) filters; /* as given */
    SL_VEC(sl_sym) subsystems;           /* auxiliary ones that are matched */
    /* Matchers of the same graph with the same jobs, one for each further policy. Positions, blocks
     * and pools are the same in all, so that what one has found can be held in each. */
    SL_VEC(struct sl_match *) peers;
    bool borrows; /* the graph is another's: this is a peer */
    /* layout */
    sl_sym node; /* the type */
    uint32_t n_spots, n_tree;
    struct graph_spot *spots;
    SL_VEC(struct graph_type) types;
    SL_VEC(struct graph_filter) all_filters; /* and those added for leaves */
    uint32_t n_counted;
    uint32_t pool_types; /* a bit per counted type that has divisible pools */
    SL_VEC(struct graph_inner) inners;
    SL_VEC(struct graph_run) runs;
    SL_VEC(uint64_t) masks; /* of runs; [0] is unused */
    bool nodes_are_blocks;  /* each node of the index with all below it */
    bool nodes_are_level;   /* none is beside a vertex that has others below it */
    uint32_t nodes_up;
    uint32_t *kids;                /* positions, by type and in the order of the policy */
    uint32_t *kids_by_uniq;        /* positions, high unique ids first */
    uint32_t n_more;               /* edges beside the tree: then nothing is found by indices */
    uint32_t *linked;              /* with such edges: positions, in the order of linking */
    int64_t *free_amounts, *total; /* inner * n_counted: not allocated, and in all */
    struct sl_ordset *heavy;       /* by inner: children by weight; only if some have children */
    SL_VEC(uint64_t) visited;      /* a bit per vertex that was in a result; early-stopping ones */
    SL_VEC(struct graph_block) blocks;
    struct graph_index index;
    uint8_t *aux_types; /* by type: vertices of it lead to others in matched subsystems */
    uint32_t *aux_first, *aux_from; /* by position: what leads to it there */
    SL_VEC(uint32_t) constrained;   /* positions that constraints are evaluated on */
    /* state */
    uint64_t *held;
    SL_VEC(struct graph_span) spans; /* [0] is unused */
    uint32_t free_span;
    SL_VEC(struct graph_profile) profiles; /* [0] is unused */
    SL_VEC(uint64_t) words;
    uint32_t free_words[BLOCK_WORDS + 1]; /* by size of a mask; 0: none */
    SL_VEC(struct graph_pool) pools;      /* by position */
    SL_VEC(struct graph_share) shares;    /* [0] is unused */
    uint32_t free_share;
    SL_VEC(struct graph_job_way) ways; /* [0] is unused */
    uint32_t free_way;
    int64_t latest_share; /* no job that is allocated has a part of a pool only from later on */
    SL_VEC(struct graph_job) jobs;
    SL_VEC(uint32_t) free_jobs;
    struct sl_map by_id;
    uint32_t n_jobs;
    uint32_t n_above;           /* spans of vertices that contain nodes */
    struct sl_ordset ends;      /* of jobs */
    uint64_t generation;        /* rises when something may have become possible */
    uint64_t layout_generation; /* rises with the layout and with properties */
    /* caches */
    struct graph_memo memos[MEMOS];
    uint64_t *allowed;       /* by position: the last evaluated constraint */
    uint64_t *allowed_ranks; /* by rank in the index */
    char *allowed_key;
    struct graph_tops tops[TOPS];
    uint64_t tops_used;
    struct graph_picks picks;
    uint32_t allowed_len;
    uint64_t allowed_generation;
    struct sl_arena tables;  /* of a search */
    struct sl_arena scratch; /* of one walk */
    uint64_t *fits;          /* by block, see search.c */
    bool cut_short;          /* not all mixes of or_slots were tried: a no may be wrong */
    struct sl_match *empty;  /* the graph up and without jobs, see search.c; NULL: not made */
    uint64_t empty_generation;
    struct sl_match_stats stats;
};

/* By policies: itself, then its peers. */
static inline struct sl_match *graph_peer(struct sl_match *m, uint32_t i) {
    return i == 0 ? m : m->peers.v[i - 1];
}
static inline struct sl_vertex *graph_vertex_at(const struct sl_match *m, uint32_t pos) {
    return (struct sl_vertex *)sl_graph_vertex(m->g, m->spots[pos].v);
}
static inline uint32_t graph_end_of(const struct sl_match *m, uint32_t pos) {
    return graph_vertex_at(m, pos)->end;
}
static inline uint64_t graph_type_bit(uint16_t type) {
    return UINT64_C(1) << (type < 63 ? type : 63);
}

/* ---- layout.c ---- */
int graph_layout_build(struct sl_match *m, struct sl_err *err) _must_check_;
void graph_layout_free(struct sl_match *m);
/* The place of a type in types, NONE if the graph has none of it. */
uint32_t graph_layout_type(const struct sl_match *m, sl_sym type);
/* Status changed below a position. */
void graph_layout_status(struct sl_match *m, uint32_t pos);
/* The order of two vertices by score; of equal ones the first in depth-first order comes first. */
int graph_layout_compare(const struct sl_match *m, int64_t score_a, uint32_t pos_a, int64_t score_b,
                         uint32_t pos_b);
int64_t graph_layout_score(const struct sl_match *m, uint32_t pos);
/* Filters of a vertex, in order: put at most max, returns how many. */
uint32_t graph_layout_filters(const struct sl_match *m, uint32_t pos, sl_sym *ret, uint32_t max);
int graph_filters_parse(struct sl_match *m, const char *text, struct sl_err *err) _must_check_;

/* ---- index.c: sums, weights, and the tree over nodes ---- */
struct graph_chain;
void graph_index_build(struct sl_match *m);
void graph_index_free(struct sl_match *m);
/* So much more (sign 1) or less (-1) of the mask is free. */
void graph_index_mask(struct sl_match *m, const struct graph_block *b, const uint64_t *bits,
                      int sign);
void graph_index_amount(struct sl_match *m, uint32_t pos, int64_t amount);
/* A divisible pool has so much more. */
void graph_index_resize(struct sl_match *m, uint32_t pos, int64_t more);
/* What was chosen counts as visited; 'kept': a job has it. */
void graph_index_visit(struct sl_match *m, const struct graph_chain *c, bool kept);
/* The same for one vertex; 'kept_below': a job has something exclusively below it. */
void graph_index_visit_one(struct sl_match *m, uint32_t inner, bool kept_below);
int64_t graph_index_weight(const struct sl_match *m, uint32_t pos);
/* The status of some positions changed. */
void graph_index_status(struct sl_match *m, uint32_t from, uint32_t to);
/* May the node at a place of the order have its need? */
bool graph_index_may(const struct sl_match *m, uint32_t rank, const int64_t *need);
/* The first place in the order, at or after 'from', where each counted type may have its need. */
uint32_t graph_index_next(const struct sl_match *m, uint32_t from, const int64_t *need);

/* ---- profile.c: masks over time ---- */
struct graph_profile *graph_profile_of(struct sl_match *m, struct graph_block *b);
void graph_profile_add(struct sl_match *m, struct graph_block *b, int64_t from, int64_t to,
                       const uint64_t *bits);
/* Bits of a span that is gone, or has them no longer. */
void graph_profile_drop(struct sl_match *m, struct graph_block *b, int64_t from, int64_t to,
                        const uint64_t *bits);
/* Adds all that is taken at some moment of a window. */
void graph_profile_or(const struct sl_match *m, const struct graph_block *b, int64_t from,
                      int64_t to, uint64_t *x, uint64_t *s);
/* How many moments are not after t. */
uint32_t graph_profile_find(const struct graph_profile *p, int64_t t);
void graph_profiles_free(struct sl_match *m);

/* ---- window.c: what is busy when ---- */
enum graph_when { WHEN_PRESENT, WHEN_FUTURE, WHEN_EMPTY };
struct graph_window {
    enum graph_when when;
    int64_t from, to;
    bool any_status; /* what is down counts as up */
};
/* Fills words of exclusive and of shared bits of a block. */
void graph_window_masks(const struct sl_match *m, const struct graph_window *w,
                        const struct graph_block *b, uint64_t *x, uint64_t *s);
/* What is free of a divisible pool. */
int64_t graph_window_free(const struct sl_match *m, const struct graph_window *w,
                          const struct graph_pool *p);
struct graph_pool *graph_pool_at(const struct sl_match *m, uint32_t pos);

/* ---- walk.c: one walk over the graph at one time ---- */
struct graph_claim {
    struct graph_claim *next;
    int64_t amount;  /* > 0: of a divisible pool */
    uint32_t block;  /* or pool */
    uint64_t bits[]; /* exclusive, then shared */
};
/* Of a vertex with several parents that was met: the one through which it was. */
struct graph_way {
    struct graph_way *next;
    uint32_t pos, parent;
};
struct graph_chain {
    struct graph_claim *claims;
    uint32_t n_slots;
    struct graph_way *ways, *last_way;
};
/* Something that was found for a request: a vertex with what is chosen inside it, or a slot. */
struct graph_group {
    struct graph_group *next;
    int64_t score, count;
    uint32_t pos;   /* of a slot: of its first vertex */
    uint32_t place; /* pos; of a slot: where it takes shape */
    uint32_t turn;  /* so many were found before it */
    uint32_t item;  /* of a vertex: see slots.c */
    bool whole;     /* nothing was chosen inside: it is taken as it is */
    bool exclusive, divisible;
    bool all;                 /* it takes everything below it along */
    struct graph_chain chain; /* if not whole; ways also if it is */
    /* For walking it again (aux.c): */
    uint32_t from;            /* through which parent it was found */
    struct graph_way *passed; /* above it */
    uint32_t req;             /* what it was found for */
    bool inherited;           /* it was walked as something exclusive's */
    struct graph_part *parts; /* of a slot */
    uint32_t n_parts;
};
struct graph_part {
    const struct graph_group *g;
    int64_t amount;
};
struct graph_list {
    struct graph_group *first, *last;
    uint32_t n;
    int64_t total;
    int64_t per, gathered; /* towards the next bundle of 'per'; 0: bundles are not counted */
    uint32_t bundles;
};
/* Requests side by side. */
struct graph_wants {
    uint32_t first, n;
    uint32_t slot; /* the first slot among them that may take shape, or REQ_NONE */
};
/* Positions that were chosen in this walk already, or an amount of a pool. */
struct graph_noted {
    uint32_t from, to;
    int64_t amount; /* 0: all of it */
    bool exclusive;
};
struct graph_walk {
    struct sl_match *m;
    const struct sl_match_request *r;
    const struct graph_variant *variant;
    struct graph_window w;
    const uint64_t *allowed; /* NULL: no constraint */
    uint16_t *types;         /* by request: index in m->types */
    int64_t *need;           /* by request and counted type: at least so much inside one */
    uint64_t top_types;      /* a bit per type that the top requests may begin with */
    bool use_fits;           /* nodes, and places, without a bit in m->fits fail */
    bool is_plain;           /* the one top request is a vertex with a plain slot */
    struct graph_tops *tops; /* it is a plain slot; else NULL */
    uint32_t nodes;          /* the request for nodes; REQ_NONE: none */
    bool nodes_in_slot;      /* each of them is a slot */
    bool aux;                /* auxiliary subsystems are matched: what was chosen counts as taken */
    bool notes;              /* what is chosen now counts as taken for what is chosen next */
    SL_VEC(struct graph_noted) noted;
    struct graph_plain plain;
    bool in_full;               /* every child is walked, in the order of linking */
    struct graph_visits *count; /* visits are counted: as Fluxion walks */
    bool counted;               /* the next visit was so */
    uint32_t from;      /* the parent through which a vertex is visited next; NONE: it has none */
    uint32_t *found_in; /* with further parents, by position: through which one was found */
    uint32_t masked;    /* the block that x and s are of */
    uint64_t x[BLOCK_WORDS], s[BLOCK_WORDS];
};
void graph_walk_init(struct graph_walk *w, struct sl_match *m, const struct sl_match_request *r,
                     const struct graph_variant *v);
void graph_walk_at(struct graph_walk *w, const struct graph_window *win);
void graph_walk_done(struct graph_walk *w);
/* A vertex for some requests: what is found goes into the lists. */
bool graph_walk_visit(struct graph_walk *w, uint32_t pos, const struct graph_wants *t,
                      bool pristine, bool exclusive, struct graph_list *lists);
/* The whole walk: what is chosen, or false. */
bool graph_walk_run(struct graph_walk *w, struct graph_chain *ret);
/* Whether a node fits the request for nodes. The result is in the list then. */
bool graph_walk_one(struct graph_walk *w, uint32_t pos, struct graph_list *ret);
/* The masks of a block in the window, into those of the walk. */
void graph_walk_mask(struct graph_walk *w, uint32_t block);
/* Does the slot of a list, or one of its or_slots, take shape at a vertex? */
bool graph_walk_shape(const struct graph_walk *w, const struct graph_wants *t, uint32_t slot,
                      uint32_t inner);
bool graph_walk_shape_one(const struct graph_walk *w, const struct graph_req *slot, uint32_t inner);
/* Walks the children of a vertex for some requests. Early-stopping policies look for so many
 * bundles; others, if 'limited', stop at so many of those lists that count them. */
void graph_walk_explore(struct graph_walk *w, uint32_t inner, const struct graph_wants *t,
                        bool pristine, bool exclusive, struct graph_list *lists, uint32_t bundles,
                        bool limited);

/* ---- choice.c: what was found, and what is chosen from it ---- */
struct graph_list *graph_walk_lists(struct graph_walk *w, uint32_t n);
/* The groups of a list in the order of the policy; 'top': for the choice at the root. */
struct graph_group **graph_walk_order(struct graph_walk *w, const struct graph_list *l, bool top);
/* Chooses from a list what a request takes. */
bool graph_walk_choose(struct graph_walk *w, const struct graph_list *l, const struct graph_req *r,
                       bool top, struct graph_chain *ret);
void graph_list_push(struct graph_list *l, struct graph_group *g);
/* The same without the group: it is only counted. */
void graph_list_count(struct graph_list *l, int64_t count, bool divisible);
void graph_chain_group(struct graph_walk *w, struct graph_chain *c, const struct graph_group *g,
                       int64_t amount);
/* The claim of a block at the head of a chain, made if it is not there. */
struct graph_claim *graph_chain_claim(struct graph_walk *w, struct graph_chain *c, uint32_t block);
void graph_chain_range(struct graph_walk *w, struct graph_chain *c, uint32_t from, uint32_t to,
                       bool exclusive);
/* A vertex and everything below it, exclusively. */
void graph_chain_subtree(struct graph_walk *w, struct graph_chain *c, uint32_t pos);

/* ---- joint.c: vertices with several parents ---- */
struct graph_range {
    uint32_t from, to;
};
struct graph_ranges {
    struct graph_range *v;
    uint32_t n, cap;
};
void graph_joint_layout(struct sl_match *m);
/* Positions of a vertex and of all below it, whatever the parent; they may overlap. */
void graph_joint_below(const struct sl_match *m, uint32_t pos, struct graph_ranges *ret);
static inline bool graph_joint_leads_out(const struct sl_match *m, uint32_t pos) {
    return m->n_more > 0 && m->spots[pos].inner != GRAPH_NONE &&
           m->inners.v[m->spots[pos].inner].leads_out;
}
void graph_joint_add(struct graph_walk *w, struct graph_chain *c, uint32_t pos, uint32_t parent);
void graph_joint_merge(struct graph_walk *w, struct graph_chain *c, const struct graph_way *from);
void graph_joint_pass(struct graph_walk *w, struct graph_group *g, uint32_t pos, uint32_t parent);
/* The way to a vertex through first parents. */
void graph_joint_pass_first(struct graph_walk *w, struct graph_group *g, uint32_t pos);
/* Takes the nodes on the way to what a chain has. */
void graph_joint_whole_nodes(struct graph_walk *w, struct graph_chain *c);
/* A pool that is taken along is so whole, whatever part of it was found through another parent. */
void graph_joint_tidy(const struct sl_match *m, struct graph_chain *c);
/* Picks by position, each once, become a grant's: of a chain, or of a job. */
void graph_joint_finish(const struct sl_match *m, const struct graph_chain *c,
                        const struct graph_job *j, struct sl_grant *g);
void graph_joint_hold(struct sl_match *m, struct graph_job *j, const struct graph_chain *c);
void graph_joint_drop(struct sl_match *m, struct graph_job *j);
/* The job is to get more: this comes before it does. */
void graph_joint_more(struct sl_match *m, struct graph_job *j, const struct graph_chain *c);
/* What a job has is on another layout now. */
void graph_joint_put(struct sl_match *m, struct graph_job *j, const struct sl_grant_way *v,
                     uint32_t n);
/* Takes vertices and what is below them from a job; false: it has not all of them. */
bool graph_joint_lose(struct sl_match *m, struct graph_job *j, const sl_vtx *v, uint32_t n);
void graph_joint_forget_ways(struct sl_match *m, struct graph_job *j);
void graph_joint_visit(struct sl_match *m, const struct graph_chain *c, bool kept);
/* Of a vertex of an update, by a bit per listed position. */
uint32_t graph_joint_listed_parent(const struct sl_match *m, const uint64_t *listed, uint32_t pos);

/* ---- plain.c: slots of plain children, by masks alone ---- */
/* Is a request a slot of fixed counts and nothing else inside? */
bool graph_plain_slot(const struct graph_walk *w, uint32_t req, struct graph_plain *ret);
/* The children of a type; NULL if there are none. */
const struct graph_run *graph_plain_run(const struct sl_match *m, uint32_t inner, uint16_t type);
/* How many of a run make what a slot has of their type. */
static inline uint32_t graph_plain_per(const struct graph_run *run, uint32_t per) {
    return (uint32_t)(((int64_t)per + run->size - 1) / run->size);
}
/* Those of a run that are free, by masks of their block. */
void graph_plain_free(const struct graph_walk *w, uint32_t inner, const struct graph_run *run,
                      const uint64_t *x, const uint64_t *s, uint64_t *ret);
/* How many slots the free ones below an inner vertex make, by masks of its block; NONE: some
 * children are not plain. */
uint32_t graph_plain_slots(const struct graph_walk *w, uint32_t inner, const uint64_t *x,
                           const uint64_t *s);
/* Takes so many, by the masks of the walk. */
void graph_plain_take(struct graph_walk *w, uint32_t inner, uint32_t slots,
                      struct graph_chain *ret);

/* ---- aux.c: requests on auxiliary subsystems ---- */
/* Whether the request uses them. */
bool graph_aux_asks(const struct graph_walk *w, const struct graph_wants *t, bool inside);
/* What was chosen in this walk counts. */
bool graph_aux_is_taken(const struct graph_walk *w, uint32_t pos);
bool graph_aux_is_touched(const struct graph_walk *w, uint32_t from, uint32_t to);
int64_t graph_aux_given(const struct graph_walk *w, uint32_t pos);
/* Chooses one after the other, each beside those before it. */
bool graph_aux_choose(struct graph_walk *w, struct graph_group **v, uint32_t n,
                      const struct graph_req *r, struct graph_chain *ret);
/* What a vertex hangs on, nearest first; for a request inside it. */
bool graph_aux_inside(struct graph_walk *w, uint32_t pos, uint32_t req, bool exclusive,
                      struct graph_chain *ret);
/* What is chosen counts as taken from here on. */
void graph_aux_note(struct graph_walk *w, const struct graph_group *g, int64_t amount);
/* Leaves those of a list that go beside each other; what is noted stays noted. */
uint32_t graph_aux_beside(struct graph_walk *w, struct graph_group **v, uint32_t n);

/* ---- top_slots.c: slots that may come from anywhere ---- */
/* Finds out whether the walk's request is one, and keeps what is known of its shape. */
void graph_tops_find(struct graph_walk *w);
/* May the walk be left out? */
bool graph_tops_may(const struct graph_walk *w);
bool graph_tops_run(struct graph_walk *w, struct graph_chain *ret);
/* Can anything be had at a place, by masks of its block? */
bool graph_tops_open(const struct graph_walk *w, uint32_t inner, const uint64_t *x,
                     const uint64_t *s);
/* What is allocated in a block, or its status, has changed. */
void graph_tops_touch(struct sl_match *m, uint32_t block);
void graph_tops_free(struct sl_match *m);

/* ---- later.c ---- */
/* The earliest time, none after 'until', at which enough nodes fit, or there are enough slots;
 * those of m->fits have some. */
bool graph_later_find(struct graph_walk *w, int64_t now, int64_t until, int64_t *ret_at);

/* ---- slots.c ---- */
/* The slots that can be formed at a vertex, into a list. 'of' is the list of requests that contains
 * the slot. With 'chosen' the best are chosen from the list, and infeasible ones are dropped. */
void graph_slots_make(struct graph_walk *w, uint32_t inner, const struct graph_wants *of,
                      uint32_t slot, bool chosen, struct graph_list *ret);
/* SL_ELIMIT if what was not found may be there: not all mixes of or_slots were tried. */
int graph_slots_cut_short(const struct sl_match *m, struct sl_err *err) _must_check_;

/* ---- visits.c: how Fluxion would walk ---- */
struct graph_visits {
    struct sl_match_visits n;
    int64_t *most; /* as 'total': the most of it that is held at any moment of the window */
    sl_sym *types; /* space for those of a filter */
};
/* Is there less of what a request needs than the filter of a vertex knows to be there? */
bool graph_visits_prune(const struct graph_walk *w, uint32_t inner, uint32_t req);
/* Is there enough at the root for the whole request? */
bool graph_visits_may(const struct graph_walk *w);

/* ---- search.c: from walks to results ---- */
/* One walk without indices, counted. With 'try': none if the filter of the root rules it out. */
bool graph_search_count(struct sl_match *m, const struct sl_match_request *r,
                        const struct graph_variant *v, const struct graph_window *win, bool try,
                        struct graph_visits *count);
/* Do as many nodes as are needed count as there, by Fluxion's rules? */
bool graph_match_has_nodes(struct sl_match *m, const struct sl_match_request *r,
                           enum sl_match_op op, int64_t now);
/* At one time. */
bool graph_search_at(struct sl_match *m, const struct sl_match_request *r,
                     const struct graph_window *w, struct graph_chain *ret);
/* How many nodes the constraint of a request allows, and no job has alone in a window. */
uint32_t graph_search_nodes_free(struct sl_match *m, const struct sl_match_request *r,
                                 const struct graph_window *w);
/* At the earliest time after now, none after 'until', at which something ends. */
bool graph_search_later(struct sl_match *m, const struct sl_match_request *r, int64_t now,
                        int64_t until, struct graph_window *ret_w, struct graph_chain *ret);
/* The window of a request at a time; false if it cannot begin then. */
bool graph_search_window(const struct sl_match *m, const struct sl_match_request *r, int64_t at,
                         enum graph_when when, struct graph_window *ret);

/* ---- hold.c: jobs take and give back ---- */
struct graph_job *graph_hold_job(const struct sl_match *m, int64_t id);
struct graph_job *graph_hold_new(struct sl_match *m, int64_t id, enum sl_match_job_state state,
                                 int64_t from, int64_t to);
void graph_hold_chain(struct sl_match *m, struct graph_job *j, const struct graph_chain *c);
void graph_hold_drop(struct sl_match *m, struct graph_job *j);
/* Removes a mask from a span; an empty span is removed. */
void graph_hold_less(struct sl_match *m, uint32_t i, const uint64_t *bits);
void graph_hold_share_less(struct sl_match *m, uint32_t i);
/* While a reservation is hidden, what it has counts as free; nothing may be taken from it then. */
void graph_hold_hide(struct sl_match *m, struct graph_job *j);
void graph_hold_show(struct sl_match *m, struct graph_job *j);
/* Is what it has exactly this? */
bool graph_hold_is(struct sl_match *m, const struct graph_job *j, const struct graph_chain *c);
/* False, and nothing changes, if something of it is still allocated to others. */
bool graph_hold_begin(struct sl_match *m, struct graph_job *j);
/* The first end of a job after a time; SL_PLAN_NEVER if there is none. */
int64_t graph_hold_next_end(const struct sl_match *m, int64_t after);
/* The last end of a job; INT64_MIN if there is none. */
int64_t graph_hold_last_end(const struct sl_match *m);
/* The first time after now at which something ends or, because it overruns, is assumed to end. */
int64_t graph_hold_first_end(const struct sl_match *m, int64_t now);
/* Is anything left of it? */
static inline bool graph_hold_empty(const struct graph_job *j) {
    return j->spans == 0 && j->shares == 0;
}

/* ---- grant.c ---- */
void sl_grant_of_chain(const struct sl_match *m, const struct graph_chain *c, struct sl_grant *ret);
void sl_grant_of_job(const struct sl_match *m, const struct graph_job *j, struct sl_grant *ret);
/* Picks that are not in order yet become a grant's: sorted, each once, with the way to them, as the
 * chain or the job, if any, knows it. */
void sl_grant_finish(const struct sl_match *m, const struct graph_chain *c,
                     const struct graph_job *j, struct sl_grant *g);

/* ---- regraph.c ---- */
/* What all jobs have, by vertices, so that it can be put onto another layout. */
struct graph_holding {
    sl_vtx v;
    int64_t amount; /* 0: the whole vertex */
    bool exclusive, divisible;
};
struct graph_holder {
    struct graph_job job;
    uint32_t first, n;
    uint32_t first_way, n_ways;
};
struct graph_holdings {
    SL_VEC(struct graph_holder) jobs;
    SL_VEC(struct graph_holding) v;
    SL_VEC(struct sl_grant_way) ways;
};
void graph_holdings_take(const struct sl_match *m, struct graph_holdings *ret);
void graph_holdings_take_job(const struct sl_match *m, const struct graph_job *j,
                             struct graph_holdings *ret);
/* Jobs of which nothing is left in the graph are gone. */
void graph_holdings_put(struct sl_match *m, const struct graph_holdings *h);
void graph_holdings_done(struct graph_holdings *h);
/* Drops jobs and layout and rebuilds the layout. */
int graph_regraph_layout(struct sl_match *m, struct sl_err *err) _must_check_;
/* A matcher of the same graph and jobs with another policy. */
struct sl_match *graph_regraph_peer(struct sl_match *m, const struct sl_match_policy *p);
/* A matcher of the same graph without jobs, everything up. */
struct sl_match *graph_regraph_empty(const struct sl_match *m);
void graph_regraph_forget(struct sl_match *m);

#endif
