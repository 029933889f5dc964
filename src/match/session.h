/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with the matcher in the command language of Fluxion's resource-query: a graph is
 * loaded, then each line is a command. What commands say goes to three places: results (matches,
 * finds, status, properties), out (lists and figures about the session) and err (what was wrong).
 * Nothing ends a session but quit; a command that is refused leaves everything as it was.
 *
 * Matches happen at time 0. Reads the files that are named to it and writes to the given streams;
 * the clock is the caller's. Not thread-safe.
 */
#ifndef SL_MATCH_SESSION_H
#define SL_MATCH_SESSION_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

#define SL_SESSION_LINE_MAX ((size_t)1 << 20)
#define SL_SESSION_OUT_MAX ((size_t)1 << 30)    /* bytes of one answer */
#define SL_SESSION_LIFETIME INT64_C(3153600000) /* seconds that a graph has if it does not say */

/* What options may say. */
enum sl_session_word {
    SL_SESSION_LOAD_FORMAT,
    SL_SESSION_SUBSYSTEMS, /* also all in lower case */
    SL_SESSION_POLICY,     /* or terms: policy=low node_centric=true … */
    SL_SESSION_TRAVERSER,
    SL_SESSION_FORMAT,
    SL_SESSION_GRAPH_FORMAT, /* in any case */
    SL_SESSION_WORDS,
};
/* The words, NULL-terminated. */
extern const char *const sl_session_load_formats[], *const sl_session_subsystems[];
extern const char *const sl_session_policies[], *const sl_session_traversers[];
extern const char *const sl_session_formats[], *const sl_session_graph_formats[];
bool sl_session_knows(enum sl_session_word what, const char *word);

struct sl_session_options {
    const char *words[SL_SESSION_WORDS]; /* each is known; a policy may turn out to be none */
    const char *load_file;
    const char *allow;   /* types to load, separated by commas; NULL: all */
    const char *filters; /* NULL: the usual ones */
    bool filters_twice;  /* they were given more than once, which is refused */
    bool elapse;         /* tell how long things take */
    FILE *results, *out, *err;
    int64_t (*ticks_ns)(void); /* a monotonic clock */
};

struct sl_session;

/* Loads the graph and makes a matcher. On failure it has said why on o->err. */
int sl_session_open(const struct sl_session_options *o, struct sl_session **ret) _must_check_;
void sl_session_free(struct sl_session *s);
void sl_session_freep(struct sl_session **s);

/* How large the graph is and how long it took to load, to 'out'. */
void sl_session_tell_load(const struct sl_session *s);
/* Does what the line says. False: it said quit. */
bool sl_session_line(struct sl_session *s, const char *line);
/* The graph as a picture for other programs. */
void sl_session_draw(const struct sl_session *s, struct sl_buf *out);

#endif
