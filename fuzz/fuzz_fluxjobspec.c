/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as jobspecs, and any text as a jobspec, on a small live graph. What is written compiles,
 * or names a type that no node has; it says as many pods as were given, and a match has as many. It
 * is the same when it is written again. What is refused has a reason, and leaves nothing behind.
 */
#include <string.h>

#include "core/graph/match/match.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PODS 6u

static const struct fq_level levels[] = {{"rack", "example.com/rack"}};
static const struct fq_jobspec_options options = {.levels = levels, .n_levels = 1, .duration = 60};
static struct sl_match *matcher; /* one for all inputs: nothing is allocated */
static struct fq_universe universe;

static sl_vtx add(struct sl_graph *g, sl_vtx parent, const char *type, int64_t size) {
    const struct sl_graph_prop divisible = {SL_GRAPH_DIVISIBLE, ""};
    const struct sl_vertex_spec s = {
        .type = type,
        .id = sl_graph_count(g),
        .uniq_id = -1,
        .rank = -1,
        .size = size,
        .props = &divisible,
        .n_props = size > 1,
    };
    sl_vtx v;

    sl_assert(sl_graph_add(g, &s, &v, NULL) >= 0);
    if (parent != SL_VTX_NONE)
        sl_assert(sl_graph_link(g, SL_GRAPH_CONTAINMENT, parent, v, NULL) >= 0);
    return v;
}

static void make_graph(void) {
    static const char *const props[] = {"disk",
                                        "disk=ssd",
                                        "gen",
                                        "gen=3",
                                        "taint:dedicated=a:NoSchedule",
                                        "taint:gone=:NoExecute"};
    struct sl_graph *g = sl_graph_new();
    struct sl_match_options o = {0};
    sl_vtx root = add(g, SL_VTX_NONE, "cluster", 1);

    for (uint32_t i = 0; i < 4; i++) {
        sl_vtx rack = add(g, root, "rack", 1);
        for (uint32_t k = 0; k < 3; k++) {
            sl_vtx node = add(g, rack, "node", 1);
            for (uint32_t p = 0; p < SL_LEN(props); p++)
                if ((i * 3 + k) >> (p / 2) & 1)
                    sl_assert(sl_vertex_set_prop(g, node, props[p], "", NULL) >= 0);
            (void)add(g, node, "core", 8000);
            (void)add(g, node, "memory", 8 << 20);
            (void)add(g, node, "pods", 10);
            (void)add(g, node, "nvidia.com/gpu", 4);
        }
    }
    sl_assert(sl_graph_seal(g, NULL) >= 0);
    sl_assert(sl_match_policy_parse("lonode", &o.policy, NULL) >= 0);
    sl_assert(sl_match_new(g, &o, &matcher, NULL) >= 0);
    sl_assert(fq_universe_init(&universe, sl_match_graph(matcher), NULL) >= 0);
}

/* The pods of a match, if nodes are shared. */
static void check_match(const struct sl_match_request *q, const struct fq_jobspec_info *info,
                        bool fixed) {
    const struct sl_graph *g = sl_match_graph(matcher);
    struct sl_grant grant = {0};
    enum sl_match_verdict verdict;
    struct sl_err err = {0};
    int64_t pods = 0;
    int r = sl_match_run(matcher, q, SL_MATCH_WITHOUT, 1, 0, &verdict, &grant, &err);

    sl_assert(r == 0 || (r == SL_ELIMIT && err.text[0]));
    for (uint32_t i = 0; r == 0 && verdict == SL_MATCHED && i < grant.picks.n; i++) {
        const struct sl_vertex *x = sl_graph_vertex(g, grant.picks.v[i].v);
        if (strcmp(sl_sym_str(sl_graph_syms(g), x->type), "pods") == 0)
            pods += grant.picks.v[i].needs;
    }
    if (r == 0 && verdict == SL_MATCHED && fixed && !info->whole_nodes)
        sl_assert(pods == info->pods);
    sl_grant_done(&grant);
}

static int compile(const char *text, size_t len, uint32_t pods, bool written) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)1 << 20);
    struct fq_jobspec_info info = {.pods = UINT32_MAX};
    struct sl_match_request *q = NULL;
    struct sl_err err = {0};
    int r = fq_jobspec_compile(sl_match_graph(matcher), &universe, text, len, pods, &a, &info, &q,
                               &err);

    if (r < 0) {
        sl_assert(err.code == r && err.text[0] && !q && info.pods == UINT32_MAX);
        return r;
    }
    sl_assert(q && info.pods >= 1 && info.pods <= FQ_MAX_PODS && info.queue);
    sl_assert(info.duration >= 0 && info.begin >= 0 && info.begin <= FQ_MAX_SECONDS);
    for (uint32_t i = 0; i < info.n_slot; i++)
        sl_assert(info.slot[i].type && info.slot[i].amount > 0);
    if (pods)
        sl_assert(info.pods == pods);
    if (written && !pods)
        sl_assert(info.pods == PODS && info.n_slot > 0);
    check_match(q, &info, written);
    sl_match_request_free(q);
    return r;
}

static void object(yyjson_val *o, enum sl_flux_type type) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_buf_done) struct sl_buf again = SL_BUF(FQ_MAX_JOBSPEC);
    struct sl_err err = {0};
    int r = fq_jobspec_write(type, o, PODS, &options, &text, &err);

    if (r < 0) {
        sl_assert(err.code == r && err.text[0] && text.len == 0);
        return;
    }
    sl_assert(fq_jobspec_write(type, o, PODS, &options, &again, &err) == 0);
    sl_assert(text.len == again.len && memcmp(text.s, again.s, text.len) == 0);
    bool own = sl_json_annotation_opt(o, SL_FLUX_JOBSPEC) != NULL;
    r = compile(text.s, text.len, 0, !own);
    if (!own)
        sl_assert(r == 0 || r == SL_ENOENT || r == SL_ELIMIT);
    (void)compile(text.s, text.len, 2, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    yyjson_doc *d = sl_json_doc((const char *)data, size);

    if (!matcher)
        make_graph();
    for (int type = 0; d && type < (int)SL_FLUX_TYPES; type++)
        object(yyjson_doc_get_root(d), (enum sl_flux_type)type);
    yyjson_doc_free(d);
    (void)compile((const char *)data, size, 0, false);
    (void)compile((const char *)data, size, 3, false);
    return 0;
}
