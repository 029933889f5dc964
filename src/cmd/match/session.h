/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with the matcher in the command language of Fluxion's resource-query: a graph is
 * loaded, then each line is a command. Output goes to three streams: results (matches, finds,
 * status, properties), out (lists and figures about the session) and err (errors). Nothing ends a
 * session but quit; a command that is rejected leaves everything unchanged.
 *
 * Matches happen at time 0. Reads the files that are named to it and writes to the given streams;
 * the clock is the caller's. Not thread-safe.
 */
#ifndef SL_CMD_MATCH_SESSION_H
#define SL_CMD_MATCH_SESSION_H

#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"

#define SL_SESSION_LINE_MAX ((size_t)1 << 20)
#define SL_SESSION_OUT_MAX ((size_t)1 << 30)    /* bytes of one result */
#define SL_SESSION_LIFETIME INT64_C(3153600000) /* default lifetime of a graph, in seconds */

/* Values of options. */
enum sl_session_word {
    SL_SESSION_LOAD_FORMAT,
    SL_SESSION_SUBSYSTEMS, /* also all in lower case */
    SL_SESSION_POLICY,     /* or terms: policy=low node_centric=true … */
    SL_SESSION_TRAVERSER,
    SL_SESSION_FORMAT,
    SL_SESSION_GRAPH_FORMAT, /* in any case */
    SL_SESSION_WORDS,
};
/* The names, NULL-terminated. */
extern const char *const sl_session_load_formats[], *const sl_session_subsystems[];
extern const char *const sl_session_policies[], *const sl_session_traversers[];
extern const char *const sl_session_formats[], *const sl_session_graph_formats[];
bool sl_session_knows(enum sl_session_word what, const char *word);

struct sl_session_options {
    const char *words[SL_SESSION_WORDS]; /* each is known; a policy may turn out to be invalid */
    const char *load_file;
    const char *allow;   /* types to load, separated by commas; NULL: all */
    const char *filters; /* NULL: the usual ones */
    bool filters_twice;  /* they were given more than once, which is refused */
    bool elapse;         /* print elapsed times */
    FILE *results, *out, *err;
    int64_t (*ticks_ns)(void); /* a monotonic clock */
};

struct sl_session;

/* Loads the graph and creates a matcher. Failures are reported on o->err. */
int sl_session_open(const struct sl_session_options *o, struct sl_session **ret) _must_check_;
void sl_session_free(struct sl_session *s);
void sl_session_freep(struct sl_session **s);

/* How large the graph is and how long it took to load, to 'out'. */
void sl_session_report_load(const struct sl_session *s);
/* Runs the command of the line. False: it was quit. */
bool sl_session_line(struct sl_session *s, const char *line);
/* The graph as a picture for other programs. */
void sl_session_draw(const struct sl_session *s, struct sl_buf *out);

#endif
