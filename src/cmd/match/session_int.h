/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#ifndef SL_CMD_MATCH_SESSION_INT_H
#define SL_CMD_MATCH_SESSION_INT_H

#include <inttypes.h>

#include "cmd/match/session.h"
#include "core/base/collection/map.h"
#include "lib/graphio/graph_read.h"
#include "lib/graphio/write/match.h"

#define WORDS_MAX 65536u /* of one line */

/* What list and info show. Jobs stay when they have ended. */
enum match_job_state { JOB_ALLOCATED, JOB_RESERVED, JOB_CANCELED };
struct match_job_row {
    int64_t id, at;
    enum match_job_state state;
    char *file;
    double seconds; /* that it took to find */
};

/* Jobspecs by what is in their files, compiled for the graph as it is now. */
struct match_spec {
    uint64_t hash;
    char *text;
    size_t len;
    struct sl_match_request *request;
    char *queue; /* NULL: none */
    const struct sl_graphio_label *labels;
    uint32_t n_labels;
    struct sl_jobspec *spec; /* that has them; NULL: there are none */
};
struct match_specs {
    SL_VEC(struct match_spec) v;
    struct sl_map by_hash;
    size_t bytes;
};

struct sl_session {
    struct sl_session_options o;
    struct sl_match *m;
    struct sl_graphio_match_writer writer;
    int64_t next_id;
    SL_VEC(struct match_job_row) jobs; /* by id */
    struct match_specs specs;
    struct sl_grant grant; /* of the last result */
    struct sl_match_visits visits;
    struct sl_buf text; /* and how it is written */
    double load_seconds;
    struct { /* seconds of matches that found something */
        double least, most, sum;
    } times;
    bool ended;
};

struct match_words {
    const char *const *v;
    uint32_t n;
};

/* ---- open.c ---- */

/* Why there is no session: what of it could not be made (NULL: the graph), and the cause. */
struct match_open_error {
    const char *where, *what;
    struct sl_err why;
};
/* As resource-query prints it, its empty line at the end included; but with the cause. */
void match_open_report(const struct match_open_error *e, FILE *out);

/* Times are seconds since 1970. NULL in its place: they begin at 0, and stay there. */
struct match_clock {
    int64_t now;
};
/* text: the graph itself, in place of the file of the options; NULL: that one. With a clock
 * never and busy are those of docs/graph.md, and not Fluxion's. */
int match_open(const struct sl_session_options *o, const struct sl_graphio_text *text,
               const struct match_clock *clock, struct sl_session **ret,
               struct match_open_error *e) _must_check_;

/* ---- session.c ---- */

extern const char *const match_job_words[]; /* by enum match_job_state */

/* "INFO: =====…", to the results. */
void sl_session_rule(struct sl_session *s);
/* A line on err, after all previous output was flushed. */
void sl_session_error(struct sl_session *s, const char *fmt, ...) _printf_(2, 3);
double sl_session_seconds(const struct sl_session *s, int64_t since_ns);
/* What there was of text, to the results. */
void sl_session_put_text(struct sl_session *s);
/* A whole file; reports if it cannot be opened. Freed by the caller. */
bool sl_session_read_file(struct sl_session *s, const char *path, size_t max, char **ret,
                          size_t *ret_len);
/* As strtoll reads it: text is 0. */
int64_t sl_session_number(const char *word);

struct match_job_row *sl_session_job(struct sl_session *s, int64_t id);
/* Adds a job or takes the place of one that has ended. */
void sl_session_keep_job(struct sl_session *s, int64_t id, int64_t at, const char *file,
                         double seconds);

/* ---- specs.c ---- */

/* The request in a file's text, compiled or cached. Valid until the next call or until specs are
 * dropped. */
int match_specs_get(struct sl_session *s, const char *file, const char *text, size_t len,
                    const struct match_spec **ret, struct sl_err *err) _must_check_;
/* The graph has changed. */
void match_specs_forget(struct sl_session *s);

/* ---- match_cmds.c, cancel_cmds.c ---- */

/* A verb of match by its name; *ret_keeps: the job has what it gets. False: there is none. */
bool match_op_parse(struct sl_text word, enum sl_match_op *ret, bool *ret_keeps);
/* What was found (in the grant), appended to the session's text. In rlite, nothing is an error. */
int match_write_grant(struct sl_session *s, const struct match_spec *spec,
                      struct sl_err *err) _must_check_;
/* Takes from an allocated job what a JGF or R lists. */
struct match_released {
    bool legible; /* the text could be read, whether the job has that or not */
    bool all;     /* nothing is left, and the job is gone */
    int64_t rank; /* as in sl_graphio_release_read */
};
int match_release(struct sl_session *s, int64_t id, const struct sl_graphio_text *t,
                  struct match_released *ret, struct sl_err *err) _must_check_;

/* ---- commands ---- */

typedef void sl_session_command(struct sl_session *s, struct match_words w);

sl_session_command match_command_match, match_command_multi_match,
    match_command_update;                                              /* match_cmds.c */
sl_session_command match_command_cancel, match_command_partial_cancel; /* cancel_cmds.c */
sl_session_command match_command_attach, match_command_remove,
    match_command_find; /* graph_cmds.c */
sl_session_command match_command_set_property, match_command_get_property;
sl_session_command match_command_set_status, match_command_get_status;

#endif
