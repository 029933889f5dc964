/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs of Fluxion's service over one graph, as HTTP with JSON bodies: a request in, a status
 * and a body out (docs/match.md has fields and statuses). It has the graph and options of a session
 * (session.h), and no commands.
 *
 * The clock is the caller's, in seconds since 1970; one that goes back stands still here. A job has
 * its resources until it is cancelled, whatever its duration; a reservation becomes an allocation
 * with the first request after its time has come, unless another job overruns into it.
 *
 * Whatever arrives, the answer is one JSON object; what is refused leaves everything unchanged. Not
 * thread-safe.
 */
#ifndef SL_CMD_MATCH_VERBS_H
#define SL_CMD_MATCH_VERBS_H

#include "cmd/match/session.h"

/* Ceilings, as in docs/limits.md. */
#define SL_VERBS_BODY_BYTES ((size_t)32 << 20)
#define SL_VERBS_INIT_BYTES ((size_t)128 << 20)      /* a body of /v1/init */
#define SL_VERBS_BODIES_BYTES ((size_t)192 << 20)    /* of all that are being received */
#define SL_VERBS_BODY_VALUES 64u                     /* of JSON, keys included */
#define SL_VERBS_VERTICES (UINT32_C(1) << 20)        /* of a graph that /v1/init brings */
#define SL_VERBS_POLICY_BYTES ((size_t)256)          /* of a policy */
#define SL_VERBS_ALLOCATION_BYTES ((size_t)64 << 20) /* of a job, as text */
#define SL_VERBS_ANSWER_BYTES ((size_t)160 << 20)    /* of a response */
#define SL_VERBS_JOBS 65536u                         /* allocated and reserved */
#define SL_VERBS_JOBS_VERTICES (UINT64_C(1) << 23)   /* that these have in all */
#define SL_VERBS_CANCELED 1024u                      /* that are still listed; the last ones */
#define SL_VERBS_CONNECTIONS 128u

struct sl_verbs_options {
    struct sl_session_options session; /* load_file NULL: no graph until the first init */
    int64_t (*now)(void);              /* seconds since 1970 */
    uint32_t max_jobs;                 /* 0: SL_VERBS_JOBS */
    uint64_t max_vertices;             /* that all jobs have; 0: SL_VERBS_JOBS_VERTICES */
};

struct sl_verbs;

/* Failures to load the graph are reported on session.err. */
int sl_verbs_new(const struct sl_verbs_options *o, struct sl_verbs **ret) _must_check_;
void sl_verbs_free(struct sl_verbs *v);
void sl_verbs_freep(struct sl_verbs **v);

struct sl_verbs_request {
    const char *method, *path;
    const char *job; /* jobID of the query; NULL: none */
    const char *body;
    size_t len;
};
/* The HTTP status; the body goes to out, whose ceiling may be any. *ret_allow is the value of the
 * Allow header, or NULL. A match whose answer does not fit is undone. */
int sl_verbs_answer(struct sl_verbs *v, const struct sl_verbs_request *rq, struct sl_buf *out,
                    const char **ret_allow);
/* The body of a response that has no verb: {"error": …}. */
void sl_verbs_error(struct sl_buf *out, const char *text);

/* Answers on a Unix domain socket at this path, for this user alone, until SIGTERM, SIGINT or
 * SIGHUP; a line on out says when it listens. */
int sl_verbs_serve(struct sl_verbs *v, FILE *out, const char *path,
                   struct sl_err *err) _must_check_;

#endif
