/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs, requests and answers as short texts, to be read by people and by the tests of the rules.
 *
 *   graph    cluster0{rack0{node0@0(fast){core0-3 memory0*8%} node1!#17}} +panel0*100%
 *            type and id, -3: ids up to that; *8 its size, % divisible, ! down, #17 its unique id,
 *            @0 its rank, (key key=value) its properties, {} what is in it, + in no tree
 *   request  node2:x{slot(1-4){core(2-8*2) gpu1}} ssd(1,3,5) for 60 where and(has(a,^b) ranks(0-3))
 *            counts 2, (min-max), (min-max+3), also * and ^, (min+) without a limit, (sets,of);
 *            :x exclusive, :s exclusive: false; slot, or_slot and xor_slot are no resources;
 *            terms has, hosts, ranks, and, or, not
 *   answer   r 50+10 cluster0{node1{core0:x memory0*3:x}}
 *            from when on and for how long; r: reserved, m: matched and not taken
 *
 * A text that cannot be read ends the program: it is the test that is wrong.
 */
#ifndef SL_TESTS_CORE_GRAPH_NOTATION_H
#define SL_TESTS_CORE_GRAPH_NOTATION_H

#include "core/graph/match/match.h"

/* ---- graphs ---- */

#define DRAFT_PROPS 4

struct draft_vertex {
    const char *type;
    int64_t id, uniq_id, rank, size;
    uint32_t parent; /* SL_VTX_NONE: the root, or in no tree */
    bool down;
    struct sl_graph_prop props[DRAFT_PROPS];
    uint32_t n_props;
};

struct draft_edge {
    const char *subsystem;
    uint32_t from, to;
};

/* What a graph is made from; vertices have the numbers that they get in the graph. */
struct draft {
    struct sl_arena mem;
    SL_VEC(struct draft_vertex) v;
    SL_VEC(struct draft_edge) edges;
};

void draft_init(struct draft *d);
void draft_done(struct draft *d);
/* Of the vertices that are to be kept, as far as they still hang on something. The copy borrows the
 * texts. */
void draft_copy(struct draft *to, const struct draft *from, const bool *keep);
struct draft_vertex *draft_add(struct draft *d, uint32_t parent, const char *type, int64_t id);
void draft_prop(struct draft *d, struct draft_vertex *v, const char *key, const char *value);
void draft_read(struct draft *d, uint32_t parent, const char **s);
/* Adds vertices from the first-th on, and the edges of all of them, to a graph. Not sealed. */
void draft_pour(const struct draft *d, uint32_t first, struct sl_graph *g);
struct sl_graph *draft_build(const struct draft *d);
void draft_print(const struct draft *d, struct sl_buf *out);
/* With all below it. */
void draft_print_vertex(const struct draft *d, uint32_t at, struct sl_buf *out);
void draft_path(const struct draft *d, uint32_t v, struct sl_buf *out);
/* Ends the program if there is no such path. */
sl_vtx draft_find(const struct draft *d, const char *path);

/* ---- requests ---- */

struct sl_jobspec *request_read(const char *text);
void request_print(const struct sl_jobspec *j, struct sl_buf *out);

/* ---- answers ---- */

void grant_print(const struct sl_graph *g, const struct sl_grant *a, struct sl_buf *out);

/* ---- reading ---- */

/* Ends the program. */
_Noreturn void cannot_read(const char *what, const char *text);
void skip_blanks(const char **s);
bool skip_char(const char **s, char c);
/* Letters, digits, '_', '.', '/' and '-'; what ends it is left. */
char *read_word(struct sl_arena *mem, const char **s);
int64_t read_number(const char **s);

#endif
