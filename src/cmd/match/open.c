/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: which graph, through which subsystems, with which policy. A session reports errors with
 * the messages of resource-query.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/match/session_int.h"
#include "core/base/collection/hash.h"

/* ---- options ---- */

#define SUBSYSTEMS_MAX 5u

/* The first is walked, the others are auxiliary. */
static const struct {
    const char *word, *names[SUBSYSTEMS_MAX];
} views[] = {
    {"CA", {"containment"}},
    {"IBA", {"ibnet"}},
    {"IBBA", {"ibnetbw"}},
    {"PA", {"power"}},
    {"PFS1BA", {"pfs1bw"}},
    {"C+IBA", {"containment", "ibnet"}},
    {"C+IBBA", {"containment", "ibnetbw"}},
    {"C+PA", {"containment", "power"}},
    {"C+PFS1BA", {"containment", "pfs1bw"}},
    {"IB+IBBA", {"ibnet", "ibnetbw"}},
    {"C+P+IBA", {"containment", "power", "ibnet"}},
    {"V+PFS1BA", {"virtual1", "pfs1bw"}},
    {"VA", {"virtual1"}},
    {"ALL", {"containment", "ibnet", "ibnetbw", "pfs1bw", "power"}},
};

const char *const sl_session_load_formats[] = {"grug",    "hwloc",         "jgf", "jgf_shorthand",
                                               "rv1exec", "rv1exec_force", NULL};
const char *const sl_session_subsystems[] = {"CA",      "IBA",      "IBBA", "PA",       "PFS1BA",
                                             "C+IBA",   "C+IBBA",   "C+PA", "C+PFS1BA", "IB+IBBA",
                                             "C+P+IBA", "V+PFS1BA", "VA",   "ALL",      NULL};
const char *const sl_session_policies[] = {"first",    "firstnodex", "high",   "hinode",
                                           "hinodex",  "low",        "lonode", "lonodex",
                                           "locality", "variation",  NULL};
const char *const sl_session_traversers[] = {"simple", "flexible", NULL};
const char *const sl_session_formats[] = {"simple",        "pretty_simple", "jgf",
                                          "jgf_shorthand", "rlite",         "rv1",
                                          "rv1_nosched",   "rv1_shorthand", NULL};
const char *const sl_session_graph_formats[] = {"dot", "graphml", NULL};

static const char *const *const words[SL_SESSION_WORDS] = {
    [SL_SESSION_LOAD_FORMAT] = sl_session_load_formats,
    [SL_SESSION_SUBSYSTEMS] = sl_session_subsystems,
    [SL_SESSION_POLICY] = sl_session_policies,
    [SL_SESSION_TRAVERSER] = sl_session_traversers,
    [SL_SESSION_FORMAT] = sl_session_formats,
    [SL_SESSION_GRAPH_FORMAT] = sl_session_graph_formats,
};

/* The same name, all in upper or all in lower case. */
static bool is_word(const char *own, const char *word) {
    bool lower = word[strcspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
    return strcmp(own, word) == 0 || (lower && strcasecmp(own, word) == 0);
}

static const char *const *names_of(const char *word) {
    for (size_t i = 0; i < SL_LEN(views); i++)
        if (is_word(views[i].word, word))
            return views[i].names;
    return NULL;
}

bool sl_session_knows(enum sl_session_word what, const char *word) {
    if (what == SL_SESSION_SUBSYSTEMS)
        return names_of(word) != NULL;
    for (const char *const *w = words[what]; *w; w++)
        if (what == SL_SESSION_GRAPH_FORMAT ? strcasecmp(*w, word) == 0 : strcmp(*w, word) == 0)
            return true;
    return false;
}

/* ---- policies ---- */

static bool is_key(const char *word, size_t len) {
    static const char *const keys[] = {"policy", "node_centric", "node_exclusive",
                                       "stop_on_1_matches"};
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (strlen(keys[i]) == len && memcmp(keys[i], word, len) == 0)
            return true;
    return false;
}

/* A name, or terms of which those before an invalid one count; one of these has to define the
 * order. A key without a value is worse than invalid. */
static int read_policy(const char *text, struct sl_match_policy *ret, struct sl_err *err) {
    bool ordered = false;
    if (sl_match_policy_parse(text, ret, err) >= 0 && !strchr(text, '='))
        return SL_OK;
    for (const char *s = text + strspn(text, " "); *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        char term[64];
        struct sl_match_policy ignored;
        if (is_key(s, len))
            return sl_err_set(err, SL_EINVAL, "expected a value: %.*s=…", (int)len, s);
        if (len >= sizeof(term) || !memchr(s, '=', len))
            break;
        memcpy(term, s, len);
        term[len] = '\0';
        if (sl_match_policy_parse(term, &ignored, err) < 0)
            break;
        ordered = ordered || strncmp(term, "policy=", 7) == 0;
        s += len;
    }
    if (!ordered && err->code == 0)
        (void)sl_err_set(err, SL_EINVAL, "expected policy=low or policy=high among the terms");
    return ordered ? SL_OK : err->code;
}

/* ---- opening ---- */

/* 'why' has the cause. */
static int open_error(struct match_open_error *e, const char *where, const char *what) {
    e->where = where;
    e->what = what;
    return SL_EINVAL;
}

void match_open_report(const struct match_open_error *e, FILE *out) {
    if (e->what)
        fprintf(out, ": Runtime error: %s: ERROR: %s\nERROR: %s\n\n", e->where, e->what,
                e->why.text);
    else
        fprintf(out,
                ": Runtime error: resource_query_t: ERROR: %s\n"
                "ERROR: error generating resources\n\n",
                e->why.text);
}

static int load(const struct sl_session_options *o, const struct sl_graphio_text *text,
                struct sl_graph **ret, struct sl_graphio_time *ret_time, struct sl_err *err) {
    enum sl_graphio_format format;
    if (text)
        return sl_graphio_read(text, ret, ret_time, err);
    bool known = sl_graphio_format_parse(o->words[SL_SESSION_LOAD_FORMAT], &format);
    sl_assert(known);
    return sl_graphio_load(o->load_file, format, o->allow, ret, ret_time, err);
}

/* The graph with the first of the subsystems as its tree. */
static int use_subsystem_tree(struct sl_graph **g, const char *const *names, struct sl_err *err) {
    struct sl_graph *view;
    uint32_t n = 0;
    if (strcmp(names[0], SL_GRAPH_CONTAINMENT) == 0)
        return 0;
    while (n + 1 < SUBSYSTEMS_MAX && names[n + 1])
        n++;
    int r = sl_graph_view(*g, names[0], names + 1, n, &view, err);
    if (r < 0)
        return r;
    sl_graph_free(*g);
    *g = view;
    return 0;
}

/* In a session jobs begin at 0, whatever the time of day: of the graph's own times only the length
 * counts. With a clock they are times of day. */
static int set_times(const struct match_clock *clock, const struct sl_graphio_time *time,
                     struct sl_match_options *o, struct sl_err *err) {
    bool has_time = time->start >= 0 && time->end > time->start;
    o->start = clock ? clock->now : 0;
    if (!has_time)
        o->end = o->start + SL_SESSION_LIFETIME;
    else
        o->end = clock ? time->end : time->end - time->start;
    if (clock && has_time && (clock->now < time->start || clock->now >= time->end))
        return sl_err_set(err, SL_EINVAL,
                          "expected resources for now (%" PRId64 "), these are for %" PRId64
                          " to %" PRId64,
                          clock->now, time->start, time->end);
    return 0;
}

static int make_matcher(struct sl_session *s, struct sl_graph *graph,
                        const struct sl_graphio_time *time, const struct sl_match_policy *policy,
                        const struct match_clock *clock, struct match_open_error *e) {
    static const char where[] = "initialize_matchers_and_traversers";
    _cleanup_(sl_graph_freep) struct sl_graph *g = graph;
    const char *const *names = names_of(s->o.words[SL_SESSION_SUBSYSTEMS]);
    struct sl_match_options o = {.policy = *policy, .filters = s->o.filters, .fluxion = !clock};

    sl_assert(names != NULL);
    if (s->o.filters_twice) {
        (void)sl_err_set(&e->why, SL_EINVAL, "filters are given more than once");
        return open_error(e, where, "can't set pruning filters");
    }
    if (use_subsystem_tree(&g, names, &e->why) < 0 || set_times(clock, time, &o, &e->why) < 0)
        return open_error(e, where, "can't initialize traverser");
    o.subsystems = names + 1;
    while (o.n_subsystems + 1 < SUBSYSTEMS_MAX && o.subsystems[o.n_subsystems])
        o.n_subsystems++;
    int r = sl_match_new(TAKE_PTR(g), &o, &s->m, &e->why);
    if (r < 0)
        return open_error(
            e, where, r == SL_ENOENT ? "can't initialize traverser" : "can't set pruning filters");
    return 0;
}

int match_open(const struct sl_session_options *o, const struct sl_graphio_text *text,
               const struct match_clock *clock, struct sl_session **ret,
               struct match_open_error *e) {
    _cleanup_(sl_session_freep) struct sl_session *s = sl_alloc0(1, sizeof(*s));
    struct sl_graphio_time time = {-1, -1};
    struct sl_match_policy policy;
    struct sl_graph *g = NULL;

    s->o = *o;
    s->next_id = 1;
    bool known = sl_graphio_match_format_parse(o->words[SL_SESSION_FORMAT], &s->writer.format);
    sl_assert(known);
    sl_buf_init(&s->text, SL_SESSION_OUT_MAX);
    int64_t begun = o->ticks_ns();
    if (read_policy(o->words[SL_SESSION_POLICY], &policy, &e->why) < 0)
        return open_error(e, "resource_query_t", "can't create matcher");
    int r = load(o, text, &g, &time, &e->why);
    if (r >= 0)
        r = make_matcher(s, g, &time, &policy, clock, e);
    if (r < 0)
        return r;
    s->load_seconds = sl_session_seconds(s, begun);
    *ret = TAKE_PTR(s);
    return 0;
}

int sl_session_open(const struct sl_session_options *o, struct sl_session **ret) {
    struct match_open_error e = {0};
    int r = match_open(o, NULL, NULL, ret, &e);
    if (r < 0)
        match_open_report(&e, o->err);
    return r;
}

void sl_session_free(struct sl_session *s) {
    if (!s)
        return;
    match_specs_forget(s);
    for (uint32_t i = 0; i < s->jobs.n; i++)
        sl_freep(&s->jobs.v[i].file);
    sl_vec_free(&s->jobs);
    sl_grant_done(&s->grant);
    sl_buf_done(&s->text);
    sl_match_free(s->m);
    free(s);
}

void sl_session_freep(struct sl_session **s) {
    sl_session_free(*s);
    *s = NULL;
}

void sl_session_draw(const struct sl_session *s, struct sl_buf *out) {
    enum sl_graphio_picture_format format;
    bool known = sl_graphio_picture_format_parse(s->o.words[SL_SESSION_GRAPH_FORMAT], &format);
    sl_assert(known);
    sl_graphio_picture_write(sl_match_graph(s->m), format, out);
}

/* ---- figures ---- */

typedef SL_VEC(uint64_t) hashes;

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many different ones there are; frees them. */
static uint32_t distinct(hashes *h) {
    uint32_t n = 0;
    if (h->n > 0)
        qsort(h->v, h->n, sizeof(*h->v), by_value);
    for (uint32_t i = 0; i < h->n; i++)
        n += i == 0 || h->v[i] != h->v[i - 1];
    sl_vec_free(h);
    return n;
}

static uint32_t count_paths(const struct sl_graph *g) {
    const sl_sym *subsystems;
    uint32_t n = sl_graph_subsystems(g, &subsystems);
    hashes paths = {0};
    struct sl_buf path;
    sl_buf_init(&path, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++)
        for (uint32_t i = 0; i < n; i++) {
            sl_vtx v = sl_graph_at(g, pos);
            bool in_tree = sl_graph_vertex(g, v)->parent != SL_VTX_NONE || v == sl_graph_root(g);
            sl_buf_clear(&path);
            if (i == 0 && in_tree)
                sl_vertex_path(g, v, &path);
            else if (!sl_vertex_path_in(g, v, subsystems[i], &path))
                continue;
            *sl_vec_push(&paths) = sl_hash_bytes(0, sl_buf_str(&path), path.len);
        }
    sl_buf_done(&path);
    return distinct(&paths);
}

static int by_rank(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static void report_ranks(const struct sl_session *s) {
    const struct sl_graph *g = sl_match_graph(s->m);
    uint32_t n = sl_graph_live(g);
    int32_t *ranks = sl_alloc0((size_t)n + 1, sizeof(*ranks));
    for (uint32_t pos = 0; pos < n; pos++)
        ranks[pos] = sl_graph_vertex(g, sl_graph_at(g, pos))->rank;
    qsort(ranks, n, sizeof(*ranks), by_rank);
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && ranks[k] == ranks[i]; k++)
            ;
        fprintf(s->o.out, "INFO: number of vertices with rank %d: %u\n", ranks[i], k - i);
    }
    sl_freep(&ranks);
}

void sl_session_report_load(const struct sl_session *s) {
    const struct sl_graph *g = sl_match_graph(s->m);
    hashes types = {0}, names = {0};
    char space[SL_VERTEX_NAME];
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        const char *name = sl_vertex_name(g, v, space);
        *sl_vec_push(&types) = sl_graph_vertex(g, v)->type;
        *sl_vec_push(&names) = sl_hash_bytes(0, name, strlen(name));
    }
    fprintf(s->o.out, "INFO: Graph Load Time: %g\n", s->load_seconds);
    fprintf(s->o.out, "INFO: Vertex Count: %u\n", sl_graph_live(g));
    fprintf(s->o.out, "INFO: Edge Count: %u\n", sl_graph_n_edges(g));
    fprintf(s->o.out, "INFO: by_type Key-Value Pairs: %u\n", distinct(&types));
    fprintf(s->o.out, "INFO: by_name Key-Value Pairs: %u\n", distinct(&names));
    fprintf(s->o.out, "INFO: by_path Key-Value Pairs: %u\n", count_paths(g));
    report_ranks(s);
    (void)fflush(s->o.out);
}
