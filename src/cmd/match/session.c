/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines into arguments, arguments into commands, and what all commands need: output streams, files,
 * and the list of jobs.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/match/session_int.h"
#include "lib/doc/doc.h"

/* ---- output ---- */

void sl_session_rule(struct sl_session *s) {
    fputs("INFO: =============================\n", s->o.results);
}

void sl_session_error(struct sl_session *s, const char *fmt, ...) {
    va_list args;
    (void)fflush(s->o.results);
    (void)fflush(s->o.out);
    va_start(args, fmt);
    (void)vfprintf(s->o.err, fmt, args);
    va_end(args);
    fputc('\n', s->o.err);
}

double sl_session_seconds(const struct sl_session *s, int64_t since_ns) {
    return (double)(s->o.ticks_ns() - since_ns) / 1e9;
}

void sl_session_put_text(struct sl_session *s) {
    (void)fwrite(sl_buf_str(&s->text), 1, s->text.len, s->o.results);
    if (sl_buf_full(&s->text))
        sl_session_error(s, "ERROR: the answer is longer than %zu bytes", SL_SESSION_OUT_MAX);
    sl_buf_clear(&s->text);
}

bool sl_session_read_file(struct sl_session *s, const char *path, size_t max, char **ret,
                          size_t *ret_len) {
    struct sl_err err = {0};
    bool dash = strcmp(path, "-") == 0; /* standard input has the commands */
    int r = sl_file_read(dash ? "./-" : path, max, ret, ret_len, &err);
    if (r == SL_ELIMIT)
        sl_session_error(s, "ERROR: %s", err.text);
    else if (r < 0)
        sl_session_error(s, "ERROR: can't open %s", path);
    return r >= 0;
}

int64_t sl_session_number(const char *word) {
    return strtoll(word, NULL, 10);
}

/* ---- jobs ---- */

/* Where the job is, or would be. */
static uint32_t place_of(const struct sl_session *s, int64_t id) {
    uint32_t lo = 0, hi = s->jobs.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->jobs.v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct match_job_row *sl_session_job(struct sl_session *s, int64_t id) {
    uint32_t i = place_of(s, id);
    return i < s->jobs.n && s->jobs.v[i].id == id ? &s->jobs.v[i] : NULL;
}

void sl_session_keep_job(struct sl_session *s, int64_t id, int64_t at, const char *file,
                         double seconds) {
    uint32_t i = place_of(s, id);
    struct match_job_row *row = sl_session_job(s, id);
    if (row) {
        sl_freep(&row->file);
    } else {
        (void)sl_vec_push(&s->jobs);
        memmove(&s->jobs.v[i + 1], &s->jobs.v[i], (s->jobs.n - 1 - i) * sizeof(*s->jobs.v));
        row = &s->jobs.v[i];
    }
    *row = (struct match_job_row){
        .id = id,
        .at = at,
        .state = at == 0 ? JOB_ALLOCATED : JOB_RESERVED,
        .file = sl_strdup(file),
        .seconds = seconds,
    };
}

const char *const match_job_words[] = {
    [JOB_ALLOCATED] = "ALLOCATED",
    [JOB_RESERVED] = "RESERVED",
    [JOB_CANCELED] = "CANCELED",
};

static void report_job(struct sl_session *s, const struct match_job_row *j) {
    fprintf(s->o.out, "INFO: %" PRId64 ", %s, %" PRId64 ", %s, %g\n", j->id,
            match_job_words[j->state], j->at, j->file, j->seconds);
}

/* ---- commands about the session ---- */

static void list(struct sl_session *s, struct match_words w) {
    (void)w;
    for (uint32_t i = 0; i < s->jobs.n; i++)
        report_job(s, &s->jobs.v[i]);
}

static void info(struct sl_session *s, struct match_words w) {
    int64_t id = sl_session_number(w.v[1]);
    const struct match_job_row *j = sl_session_job(s, id);
    if (j)
        report_job(s, j);
    else
        sl_session_error(s, "info: ERROR: nonexistent job %" PRIu64, (uint64_t)id);
}

static void stat(struct sl_session *s, struct match_words w) {
    (void)w;
    fprintf(s->o.out, "INFO: Num. of Jobs Matched: %u\n", s->jobs.n);
    fprintf(s->o.out, "INFO: Min. Match Time: %g\n", s->times.least);
    fprintf(s->o.out, "INFO: Max. Match Time: %g\n", s->times.most);
    fprintf(s->o.out, "INFO: Avg. Match Time: %g\n", s->jobs.n ? s->times.sum / s->jobs.n : 0.0);
}

static void cat(struct sl_session *s, struct match_words w) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len;
    if (!sl_session_read_file(s, w.v[1], SL_DOC_MAX_BYTES, &text, &len))
        return;
    (void)fwrite(text, 1, len, s->o.out);
    if (len > 0 && text[len - 1] != '\n')
        fputc('\n', s->o.out);
    fprintf(s->o.out, "INFO: Jobspec in %s\n", w.v[1]);
}

static void quit(struct sl_session *s, struct match_words w) {
    (void)w;
    s->ended = true;
}

static sl_session_command help;

/* ---- the table ---- */

#define ANY WORDS_MAX
#define OPS                                                                                        \
    "allocate | allocate_with_satisfiability | allocate_orelse_reserve | satisfiability | "        \
    "without_allocating | without_allocating_future"

static const struct command {
    const char *name, *abbreviation;
    sl_session_command *run;
    uint32_t min, max;     /* words of the line, the command included */
    const char *malformed; /* the error for another number */
    const char *note;
} commands[] = {
    {"match", "m", match_command_match, 3, 3, "",
     "find resources for a jobspec (" OPS "): match allocate JOBSPEC"},
    {"multi-match", "M", match_command_multi_match, 4, ANY, "",
     "the same for several, up to the first that fails: multi-match allocate JOBSPEC JOBSPEC..."},
    {"update", "u", match_command_update, 7, 7, "",
     "give a job what a file lists (allocate | reserve, jgf | jgf_shorthand | rv1exec): "
     "update allocate jgf FILE JOBID START DURATION"},
    {"attach", "j", match_command_attach, 2, 2, "", "add a subgraph: attach JGF"},
    {"remove", "j", match_command_remove, 3, 3, "",
     "take a subgraph out, by path (true) or by ranks (false): remove PATH true, "
     "remove RANKS false"},
    {"find", "f", match_command_find, 2, ANY, ": ",
     "show what criteria are true of (status={up|down} sched-now={allocated|free} "
     "sched-future={reserved|free} agfilter={true|false} names=HOSTLIST jobid-alloc=JOBID "
     "jobid-span=JOBID jobid-tag=JOBID jobid-reserved=JOBID property=NAME): "
     "find status=down and sched-now=allocated"},
    {"cancel", "c", match_command_cancel, 2, 3, "",
     "end a job or a reservation: cancel JOBID [stats]"},
    {"partial-cancel", "pc", match_command_partial_cancel, 4, 5, "",
     "take from a job what a file lists (jgf | rv1exec): partial-cancel JOBID jgf FILE [stats]"},
    {"set-property", "p", match_command_set_property, 3, 3, "",
     "give a resource a property: set-property PATH NAME=VALUE"},
    {"get-property", "g", match_command_get_property, 2, 2, "",
     "show the properties of a resource: get-property PATH"},
    {"set-status", "t", match_command_set_status, 3, 3, "",
     "set the status of a resource: set-status PATH {up|down}"},
    {"get-status", "e", match_command_get_status, 2, 2, "",
     "show whether a resource is up: get-status PATH"},
    {"list", "l", list, 1, ANY, "", "show all jobs: list"},
    {"info", "i", info, 2, 2, "", "show one job: info JOBID"},
    {"stat", "s", stat, 1, 1, "", "show how many jobs matched and how long that took: stat"},
    {"cat", "a", cat, 2, ANY, "", "print a jobspec: cat JOBSPEC"},
    {"help", "h", help, 1, ANY, "", "explain commands: help [COMMAND]"},
    {"quit", "q", quit, 1, ANY, "", "end the session: quit"},
};

static bool is_called(const struct command *c, const char *word) {
    return strcmp(c->name, word) == 0 || strcmp(c->abbreviation, word) == 0;
}

static void help(struct sl_session *s, struct match_words w) {
    bool all = w.n != 2, found = false;
    for (size_t i = 0; i < SL_LEN(commands); i++) {
        const struct command *c = &commands[i];
        if (!all && !is_called(c, w.v[1]))
            continue;
        fprintf(s->o.out, "INFO: %s (%s) -- %s\n", c->name, c->abbreviation, c->note);
        found = true;
    }
    if (!found)
        fprintf(s->o.out, "ERROR: unknown command: %s\n", w.v[1]);
}

/* ---- lines ---- */

static void run_command(struct sl_session *s, struct match_words w) {
    for (size_t i = 0; i < SL_LEN(commands); i++) {
        const struct command *c = &commands[i];
        if (!is_called(c, w.v[0]))
            continue;
        if (w.n < c->min || w.n > c->max)
            sl_session_error(s, "ERROR: malformed command%s", c->malformed);
        else
            c->run(s, w);
        return;
    }
}

bool sl_session_line(struct sl_session *s, const char *line) {
    static const char blanks[] = " \t\n\v\f\r";
    SL_VEC(const char *) words = {0};
    char *text = sl_strdup(line), *p = text;
    for (p += strspn(p, blanks); *p && words.n < WORDS_MAX; p += strspn(p, blanks)) {
        size_t len = strcspn(p, blanks);
        *sl_vec_push(&words) = p;
        p += len;
        if (*p)
            *p++ = '\0';
    }
    if (words.n > 0)
        run_command(s, (struct match_words){words.v, words.n});
    (void)fflush(s->o.results);
    (void)fflush(s->o.out);
    sl_vec_free(&words);
    sl_freep(&text);
    return !s->ended;
}
