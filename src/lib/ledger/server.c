/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL by libpq. A batch is one transaction, sent as a pipeline: one round trip for all of
 * it. Everything is waited for with a deadline, so that a server that is silent is one that failed;
 * the name lookup of a connection attempt alone is as long as the system's resolver takes.
 *
 * What libpq and the server report is quoted in errors, without the passwords that the connection
 * uses. What is wrong with a URL is not quoted: libpq's messages about it repeat parts of it.
 */
#include "lib/ledger/ledger_int.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/ledger/schema.h"

#define RECORD "record"
#define LOCK "7811887101" /* of the migration; any number that is ours */
#define NUMBER 24         /* bytes of an int64 as text */
#define MAX_SQL 65536u    /* bytes of a statement: texts of the program */

/* A URL may name several hosts. Waiting without blocking, libpq would stay with the first that is
 * silent: so each attempt is for one of them. */
enum { HOST, HOSTADDR, PORT, LISTS };
static const char *const list_keys[LISTS] = {"host", "hostaddr", "port"};

struct ledger_server {
    char *url;
    char *secrets[SL_LEDGER_MAX_SECRETS];
    char *lists[LISTS]; /* NULL: not in the URL */
    size_t hosts;       /* at least 1 */
    size_t attempts;
    sl_span patience; /* of one */
    int stop;
    PGconn *conn;    /* NULL: none */
    size_t received; /* bytes of the answer, at least */
};

/* ---- messages ---- */

static void add_secret(struct ledger_server *s, const char *secret) {
    if (!secret || !*secret)
        return;
    for (size_t i = 0; i < SL_LEDGER_MAX_SECRETS; i++) {
        if (s->secrets[i] && strcmp(s->secrets[i], secret) == 0)
            return;
        if (!s->secrets[i] || i == SL_LEDGER_MAX_SECRETS - 1) {
            sl_freep(&s->secrets[i]);
            s->secrets[i] = sl_strdup(secret);
            return;
        }
    }
}

/* Length of the secret that begins here. */
static size_t secret_at(const struct ledger_server *s, const char *text) {
    size_t longest = 0;

    for (size_t i = 0; i < SL_LEDGER_MAX_SECRETS; i++) {
        size_t n = s->secrets[i] ? strlen(s->secrets[i]) : 0;
        if (n > longest && strncmp(text, s->secrets[i], n) == 0)
            longest = n;
    }
    return longest;
}

/* In one line, without secrets. */
static int failed(struct ledger_server *s, const char *message, int code, struct sl_err *err) {
    struct sl_err scratch;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(sizeof scratch.text - 1);

    if (s->conn && PQpass(s->conn))
        add_secret(s, PQpass(s->conn)); /* of a password file or the environment */
    for (const char *p = message; *p;) {
        size_t n = secret_at(s, p);
        if (n)
            sl_buf_puts(&b, "***");
        else if ((unsigned char)*p >= ' ')
            sl_buf_putc(&b, *p);
        else if (b.len && b.s[b.len - 1] != ' ')
            sl_buf_putc(&b, ' ');
        p += n ? n : 1;
    }
    while (b.len && b.s[b.len - 1] == ' ')
        sl_buf_truncate(&b, b.len - 1);
    return sl_err_set(err, code, "%s", b.len ? sl_buf_str(&b) : "the connection was closed");
}

static void ignore_notice(void *ctx, const PGresult *res) {
    (void)ctx; /* libpq would write it to standard error */
    (void)res;
}

void ledger_server_disconnect(struct ledger_server *s) {
    PQfinish(s->conn);
    s->conn = NULL;
}

bool ledger_server_connected(const struct ledger_server *s) {
    return s->conn && PQstatus(s->conn) == CONNECTION_OK;
}

/* ---- the URL ---- */

static void note_option(struct ledger_server *s, const PQconninfoOption *o) {
    if (!o->val)
        return;
    if (strchr(o->dispchar, '*'))
        add_secret(s, o->val);
    for (int i = 0; i < LISTS; i++)
        if (strcmp(o->keyword, list_keys[i]) == 0)
            s->lists[i] = sl_strdup(o->val);
    if (strcmp(o->keyword, "connect_timeout") == 0) {
        long seconds = strtol(o->val, NULL, 10);
        if (seconds >= 1)
            s->patience =
                SL_SEC *
                (seconds < SL_LEDGER_MAX_CONNECT_SECONDS ? seconds : SL_LEDGER_MAX_CONNECT_SECONDS);
    }
}

static size_t list_length(const char *list) {
    size_t n = 1;

    for (const char *p = list; p && *p; p++)
        n += *p == ',';
    return n;
}

/* The item of a list; of one alone, always that. */
static struct sl_text list_item(const char *list, size_t which) {
    const char *p = list;

    for (size_t i = 0; i < which && strchr(p, ','); i++)
        p = strchr(p, ',') + 1;
    return (struct sl_text){p, strcspn(p, ",")};
}

int ledger_server_new(const char *url, int stop, struct ledger_server **ret, struct sl_err *err) {
    if (strlen(url) > SL_LEDGER_MAX_URL)
        return sl_err_set(err, SL_ELIMIT, "the URL of the database is longer than %u bytes",
                          SL_LEDGER_MAX_URL);
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    if (!options)
        return sl_err_set(err, SL_EINVAL,
                          "the URL of the database is malformed: expected "
                          "postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, with %%xx for "
                          "special characters and options that libpq has");
    struct ledger_server *s = sl_alloc0(1, sizeof *s);
    s->url = sl_strdup(url);
    s->stop = stop;
    s->patience = SL_LEDGER_CONNECT_SECONDS * SL_SEC;
    for (const PQconninfoOption *o = options; o->keyword; o++)
        note_option(s, o);
    PQconninfoFree(options);
    size_t names = list_length(s->lists[HOST]), addresses = list_length(s->lists[HOSTADDR]);
    s->hosts = names > addresses ? names : addresses;
    *ret = s;
    return SL_OK;
}

static void wipe(char **secret) {
    if (*secret)
        explicit_bzero(*secret, strlen(*secret));
    sl_freep(secret);
}

void ledger_server_free(struct ledger_server *s) {
    if (!s)
        return;
    ledger_server_disconnect(s);
    for (size_t i = 0; i < SL_LEDGER_MAX_SECRETS; i++)
        wipe(&s->secrets[i]);
    for (int i = 0; i < LISTS; i++)
        sl_freep(&s->lists[i]);
    wipe(&s->url);
    sl_freep(&s);
}

/* ---- waiting ---- */

/* Until there is a result, or an end of them. */
static int await(struct ledger_server *s, sl_time deadline, struct sl_err *err) {
    for (;;) {
        sl_span left = deadline - ledger_monotonic();
        if (left <= 0) /* also for one that answers without end */
            return sl_err_set(err, SL_EIO, "the server has not answered in %d seconds",
                              (int)(SL_LEDGER_ANSWER / SL_SEC));
        int unsent = PQflush(s->conn);
        if (unsent < 0)
            return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
        if (!unsent && !PQisBusy(s->conn))
            return SL_OK;
        struct pollfd fds[] = {
            {.fd = PQsocket(s->conn), .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN)},
            {.fd = s->stop, .events = POLLIN},
        };
        int n = poll(fds, SL_LEN(fds), (int)(left / SL_MSEC) + 1), readable = 0;
        if (n > 0 && fds[1].revents)
            return sl_err_set(err, SL_ESTALE, "the program ends");
        /* libpq collects rows without a limit. What it leaves in the socket counts again. */
        if (ioctl(fds[0].fd, FIONREAD, &readable) == 0 && readable > 0)
            s->received += (size_t)readable;
        if (s->received > SL_LEDGER_MAX_ANSWER)
            return sl_err_set(err, SL_EIO, "an answer of the server has more than %zu bytes",
                              SL_LEDGER_MAX_ANSWER);
        if (n > 0 && fds[0].revents & ~POLLOUT && !PQconsumeInput(s->conn))
            return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
        /* What is written may be all that the server waits for. */
        if (!PQisBusy(s->conn))
            return SL_OK;
    }
}

/* Is it what was sent, rather than the server, so that sending it again would not help? Classes of
 * SQLSTATE: data exception, integrity constraint, program limit, and what a trigger raises. */
static bool is_content(const PGresult *res) {
    static const char *const classes[] = {"22", "23", "54", "P0"};
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    for (size_t i = 0; state && i < SL_LEN(classes); i++)
        if (strncmp(state, classes[i], 2) == 0)
            return true;
    return false;
}

static int check_result(struct ledger_server *s, const PGresult *res, struct sl_err *err) {
    const char *text;

    switch (PQresultStatus(res)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_PIPELINE_SYNC:
        return SL_OK;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        return sl_err_set(err, SL_EIO, "the server copies, which was not requested");
    default: /* without the details, which may quote the row */
        text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
        return failed(s, text ? text : PQresultErrorMessage(res),
                      is_content(res) ? SL_EINVAL : SL_EIO, err);
    }
}

/* Results of what was sent, outside of a pipeline; the number in the last row of the last one. If
 * the server failed they are not read to the end: the connection is of no use then. */
static int results(struct ledger_server *s, int64_t *ret_number, struct sl_err *err) {
    const sl_time deadline = ledger_monotonic() + SL_LEDGER_ANSWER;
    int r = SL_OK;

    s->received = 0;
    for (;;) {
        int waited = await(s, deadline, err);
        if (waited < 0)
            return waited;
        PGresult *res = PQgetResult(s->conn);
        if (!res)
            return r;
        if (r >= 0)
            r = check_result(s, res, err);
        if (r >= 0 && ret_number && PQntuples(res) > 0 && PQnfields(res) > 0)
            *ret_number = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
        PQclear(res);
        if (r == SL_EIO) /* one that copies would say so for ever */
            return r;
    }
}

static int query(struct ledger_server *s, const char *sql, int64_t *ret_number,
                 struct sl_err *err) {
    if (!PQsendQuery(s->conn, sql))
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    return results(s, ret_number, err);
}

static int query_template(struct ledger_server *s, const char *template, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = ledger_sql(LEDGER_POSTGRES, template);

    return query(s, text, NULL, err);
}

/* ---- connecting ---- */

/* One transaction: of several processes that begin at once, one does it. Nothing is created where
 * all is there, so that a role that may only insert is enough from then on. */
static int migrate(struct ledger_server *s, struct sl_err *err) {
    int64_t there = 0, version = 0;
    char text[96];
    int r = query(s, "BEGIN", NULL, err);

    if (r >= 0)
        r = query(s, "SELECT pg_advisory_xact_lock(" LOCK ")", NULL, err);
    if (r >= 0)
        r = query(s, "SELECT count(to_regclass('sluice_schema'))", &there, err);
    if (r >= 0 && there)
        r = query(s, "SELECT version FROM sluice_schema", &version, err);
    if (r >= 0 && (version < 0 || version > LEDGER_STEPS))
        r = sl_err_set(err, SL_EIO,
                       "the database was written by a newer version of Sluice (schema %" PRId64
                       ", supported: %u)",
                       version, LEDGER_STEPS);
    if (r >= 0 && !there)
        r = query(s, LEDGER_SQL_VERSION, NULL, err);
    for (int64_t i = version; r >= 0 && i < LEDGER_STEPS; i++) {
        sl_fmt(text, sizeof text, "ledger-%" PRId64 ".sql", i + 1);
        r = query_template(s, ledger_sql_file(text), err);
    }
    sl_fmt(text, sizeof text, "UPDATE sluice_schema SET version = %u", LEDGER_STEPS);
    if (r >= 0 && version < LEDGER_STEPS)
        r = query(s, text, NULL, err);
    return r < 0 ? r : query(s, "COMMIT", NULL, err);
}

/* The event and what follows from it in one statement, so that a batch needs one round trip: the
 * second part has as many rows to work on as the first has inserted. */
static int prepare(struct ledger_server *s, struct sl_err *err) {
    _cleanup_(sl_freep) char *record = ledger_sql(LEDGER_POSTGRES, ledger_sql_file("record.sql"));
    _cleanup_(sl_freep) char *job = ledger_sql(LEDGER_POSTGRES, ledger_sql_file("job.sql"));
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_SQL);

    sl_buf_printf(&b, "WITH e AS (%s RETURNING uid) %s", record, job);
    sl_assert(!sl_buf_full(&b));
    if (!PQsendPrepare(s->conn, RECORD, sl_buf_str(&b), LEDGER_VALUES, NULL))
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    return results(s, NULL, err);
}

/* What waits at the server, for a lock for example, does not see that nobody reads its answer any
 * more, and attempts would fill all of its connections. A shorter limit of the role stays. */
static int limit_statements(struct ledger_server *s, struct sl_err *err) {
    char text[192];

    sl_fmt(text, sizeof text,
           "SELECT set_config(name, '%d', false) FROM pg_settings WHERE name = 'statement_timeout'"
           " AND setting::bigint NOT BETWEEN 1 AND %d",
           (int)(SL_LEDGER_STATEMENT / SL_MSEC), (int)(SL_LEDGER_STATEMENT / SL_MSEC));
    return query(s, text, NULL, err);
}

static int greet(struct ledger_server *s, struct sl_err *err) {
    const char *encoding = PQparameterStatus(s->conn, "server_encoding");

    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return sl_err_set(err, SL_EIO, "the database has the encoding %.20s: expected UTF8",
                          encoding ? encoding : "(none)");
    if (PQsetnonblocking(s->conn, 1) != 0)
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    int r = limit_statements(s, err);
    if (r >= 0)
        r = migrate(s, err);
    return r < 0 ? r : prepare(s, err);
}

static int handshake(struct ledger_server *s, struct sl_err *err) {
    const sl_time deadline = ledger_monotonic() + s->patience;
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;

    if (PQstatus(s->conn) == CONNECTION_BAD)
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    while (next != PGRES_POLLING_OK) {
        struct pollfd fds[] = {
            {.fd = PQsocket(s->conn), .events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT},
            {.fd = s->stop, .events = POLLIN},
        };
        sl_span left = deadline - ledger_monotonic();
        int n = left > 0 ? poll(fds, SL_LEN(fds), (int)(left / SL_MSEC) + 1) : 0;
        if (n > 0 && fds[1].revents)
            return sl_err_set(err, SL_ESTALE, "the program ends");
        if (left <= 0)
            return sl_err_set(err, SL_EIO, "the server %.60s has not answered in %d seconds",
                              PQhost(s->conn) ? PQhost(s->conn) : "", (int)(s->patience / SL_SEC));
        if (n > 0)
            next = PQconnectPoll(s->conn);
        if (next == PGRES_POLLING_FAILED)
            return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    }
    return greet(s, err);
}

int ledger_server_connect(struct ledger_server *s, struct sl_err *err) {
    /* The last of each counts. */
    const char *keys[4 + LISTS] = {"fallback_application_name", "dbname", "client_encoding"};
    const char *values[4 + LISTS] = {"sluice", s->url, "UTF8"};
    char items[LISTS][SL_LEDGER_MAX_URL + 1];

    if (s->hosts > 1)
        for (int i = 0, n = 3; i < LISTS; i++) {
            if (!s->lists[i])
                continue;
            struct sl_text t = list_item(s->lists[i], s->attempts % s->hosts);
            sl_fmt(items[i], sizeof items[i], "%.*s", (int)t.n, t.s);
            keys[n] = list_keys[i];
            values[n++] = items[i];
        }
    s->attempts++;
    ledger_server_disconnect(s);
    s->conn = PQconnectStartParams(keys, values, 1);
    if (!s->conn)
        return sl_err_set(err, SL_EIO, "no memory for a connection");
    (void)PQsetNoticeReceiver(s->conn, ignore_notice, NULL);
    int r = handshake(s, err);
    if (r < 0)
        ledger_server_disconnect(s);
    else
        s->attempts--; /* the same again, as long as it answers */
    return r == SL_EINVAL ? SL_EIO : r;
}

/* ---- writing ---- */

static int send_event(struct ledger_server *s, const struct sl_ledger_event *e,
                      struct sl_err *err) {
    char numbers[LEDGER_VALUES][NUMBER];
    /* libpq wants texts that end in NUL, and has no other way but the binary format, which for text
     * is the text. */
    const char *values[LEDGER_VALUES] = {0};
    int lengths[LEDGER_VALUES] = {0}, formats[LEDGER_VALUES] = {0};
    struct ledger_value v[LEDGER_VALUES];

    ledger_values(e, v);
    for (int i = 0; i < LEDGER_VALUES; i++) {
        if (v[i].is == LEDGER_NUMBER) {
            sl_fmt(numbers[i], NUMBER, "%" PRId64, v[i].number);
            values[i] = numbers[i];
        } else if (v[i].is == LEDGER_TEXT) {
            values[i] = v[i].text.s;
            lengths[i] = (int)v[i].text.n;
            formats[i] = 1;
        }
    }
    if (!PQsendQueryPrepared(s->conn, RECORD, LEDGER_VALUES, values, lengths, formats, 0))
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    return SL_OK;
}

static int send_plain(struct ledger_server *s, const char *sql, struct sl_err *err) {
    if (!PQsendQueryParams(s->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    return SL_OK;
}

/* All results up to the end of the pipeline. Committed is what COMMIT says it is: after an error it
 * would say ROLLBACK. */
static int pipeline_results(struct ledger_server *s, struct sl_err *err) {
    const sl_time deadline = ledger_monotonic() + SL_LEDGER_ANSWER;
    bool committed = false, synced = false;
    int r = SL_OK;

    s->received = 0;
    while (!synced) {
        int waited = await(s, deadline, err);
        if (waited < 0)
            return waited;
        PGresult *res = PQgetResult(s->conn);
        if (!res) {
            if (PQstatus(s->conn) != CONNECTION_OK)
                return r < 0 ? r : failed(s, PQerrorMessage(s->conn), SL_EIO, err);
            continue; /* between two statements */
        }
        ExecStatusType status = PQresultStatus(res);
        synced = status == PGRES_PIPELINE_SYNC;
        committed |= status == PGRES_COMMAND_OK && strcmp(PQcmdStatus(res), "COMMIT") == 0;
        if (r >= 0 && status != PGRES_PIPELINE_ABORTED)
            r = check_result(s, res, err);
        PQclear(res);
        if (r == SL_EIO)
            return r;
    }
    if (r >= 0 && !committed)
        return sl_err_set(err, SL_EIO, "the server has not committed a transaction");
    return r;
}

/* libpq writes to the socket when it has more than 64 KiB, and holds the rest: it has no more than
 * the batch. */
static int send_batch(struct ledger_server *s, const struct ledger_batch *b, struct sl_err *err) {
    const struct ledger_entry *e;
    int r = send_plain(s, "BEGIN", err);

    STAILQ_FOREACH(e, b, link) {
        if (r < 0)
            return r;
        r = send_event(s, &e->e, err);
    }
    if (r >= 0)
        r = send_plain(s, "COMMIT", err);
    if (r >= 0 && !PQpipelineSync(s->conn))
        return failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    return r;
}

int ledger_server_write(struct ledger_server *s, const struct ledger_batch *b, struct sl_err *err) {
    int r = SL_OK;

    if (!PQenterPipelineMode(s->conn))
        r = failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    if (r >= 0)
        r = send_batch(s, b, err);
    if (r >= 0)
        r = pipeline_results(s, err);
    bool usable = r >= 0 || r == SL_EINVAL;
    if (usable && !PQexitPipelineMode(s->conn)) {
        r = failed(s, PQerrorMessage(s->conn), SL_EIO, err);
        usable = false;
    }
    if (usable && r < 0) { /* the transaction failed before its end */
        struct sl_err other = {0};
        int undone = query(s, "ROLLBACK", NULL, &other);
        if (undone < 0) {
            *err = other;
            r = undone;
            usable = false;
        }
    }
    if (!usable)
        ledger_server_disconnect(s);
    return r;
}

int ledger_server_expire(struct ledger_server *s, sl_time before, struct sl_err *err) {
    char number[NUMBER];
    const char *const values[] = {number};
    int64_t n = 0;

    sl_fmt(number, sizeof number, "%" PRId64, before);
    _cleanup_(sl_freep) char *sql =
        ledger_sql(LEDGER_POSTGRES, "WITH gone AS (" LEDGER_SQL_EXPIRE_JOBS
                                    " RETURNING uid), rest AS (DELETE FROM events WHERE uid IN"
                                    " (SELECT uid FROM gone)) SELECT count(*) FROM gone");
    int r = PQsendQueryParams(s->conn, sql, 1, NULL, values, NULL, NULL, 0)
                ? results(s, &n, err)
                : failed(s, PQerrorMessage(s->conn), SL_EIO, err);
    if (r < 0)
        ledger_server_disconnect(s);
    return r < 0 ? r : (int)n;
}
