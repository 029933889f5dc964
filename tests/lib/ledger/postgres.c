/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../free_port.h"
#include "core/base/fmt.h"

#define START_MS 30000
#define MAX_PROCESSES 64

extern char **environ;

static char folder[64], programs[256];
static int port;
static pid_t server;

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

bool pg_found(void) {
    glob_t g;
    bool found = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &g) == 0 && g.gl_pathc > 0;

    if (found) /* the newest */
        sl_fmt(programs, sizeof programs, "%.*s",
               (int)strlen(g.gl_pathv[g.gl_pathc - 1]) - (int)strlen("/initdb"),
               g.gl_pathv[g.gl_pathc - 1]);
    globfree(&g);
    return found;
}

/* The server refuses to be root. */
static pid_t spawn(const char *script, const char *output) {
    const char *as_other[] = {"setpriv",
                              "--reuid=postgres",
                              "--regid=postgres",
                              "--clear-groups",
                              "--pdeathsig",
                              "KILL",
                              "sh",
                              "-c",
                              script,
                              "sh",
                              programs,
                              folder,
                              NULL};
    const char *as_self[] = {"setpriv", "--pdeathsig", "KILL",   "sh",   "-c",
                             script,    "sh",          programs, folder, NULL};
    const char **argv = geteuid() == 0 ? as_other : as_self;
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;

    sl_assert(posix_spawn_file_actions_init(&actions) == 0);
    sl_assert(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0);
    sl_assert(posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND,
                                               0666) == 0);
    sl_assert(posix_spawn_file_actions_adddup2(&actions, 1, 2) == 0);
    sl_assert(
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static void run(const char *script) {
    char log[96];
    int status = -1;

    sl_fmt(log, sizeof log, "%s/log", folder);
    pid_t pid = spawn(script, log);
    sl_assert(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        (void)fprintf(stderr, "failed: %s\n", script);
    sl_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void pg_begin(void) {
    char script[2048];

    sl_assert(snprintf(folder, sizeof folder, "/tmp/sluice-pg-XXXXXX") > 0);
    sl_assert(mkdtemp(folder) != NULL && chmod(folder, 0777) == 0);
    port = free_port();
    /* Not synced: a process that is killed leaves its pages with the kernel. */
    sl_assert(
        snprintf(
            script, sizeof script,
            "set -e; cd \"$2\"; printf '%%s' '%s' > password\n"
            "\"$1/initdb\" -D data -U sluice --pwfile=password -A trust --auth-host=scram-sha-256"
            " -E UTF8 --locale=C --no-sync\n"
            "for name in server other; do\n"
            "  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
            "    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
            "    -keyout $name.key -out $name.crt\n"
            "done\n"
            "chmod 600 server.key; chmod 644 server.crt other.crt\n"
            "cat >> data/postgresql.conf <<END\n"
            "listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = '$2'\n"
            "fsync = off\nshared_buffers = 16MB\nmax_connections = 20\nssl = on\n"
            "ssl_cert_file = '$2/server.crt'\nssl_key_file = '$2/server.key'\n"
            "END\n",
            PG_PASSWORD, port) < (int)sizeof script);
    run(script);
    pg_start();
}

/* A connection as the user that needs no password; NULL: not yet. */
static PGconn *dial(const char *database) {
    char info[256];

    sl_fmt(info, sizeof info, "host=%s port=%d user=sluice dbname=%s connect_timeout=10", folder,
           port, database);
    PGconn *c = PQconnectdb(info);
    if (PQstatus(c) == CONNECTION_OK)
        return c;
    PQfinish(c);
    return NULL;
}

void pg_start(void) {
    char log[96];
    PGconn *c = NULL;

    sl_fmt(log, sizeof log, "%s/server.log", folder);
    for (int waited = 0; !c && waited < START_MS; waited += 20) {
        if (server && waitpid(server, NULL, WNOHANG) == server)
            server = 0; /* what was killed was still there */
        if (!server)
            server = spawn("exec \"$1/postgres\" -D \"$2/data\"", log);
        nap(20);
        c = dial("postgres");
    }
    sl_assert(c != NULL);
    PQfinish(c);
}

/* The server and its children, which have sessions of their own. */
static size_t processes(pid_t out[MAX_PROCESSES]) {
    size_t n = 0;
    DIR *d = opendir("/proc");
    struct dirent *e;

    out[n++] = server;
    while (d && (e = readdir(d)) && n < MAX_PROCESSES) {
        char path[300], line[512] = "";
        int parent = 0;
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        sl_fmt(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = fopen(path, "re");
        if (!f)
            continue;
        if (fgets(line, sizeof line, f) && strrchr(line, ')') &&
            sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) == 1 && parent == server)
            out[n++] = (pid_t)strtol(e->d_name, NULL, 10);
        (void)fclose(f);
    }
    if (d)
        (void)closedir(d);
    return n;
}

void pg_signal(int number) {
    pid_t pids[MAX_PROCESSES];
    size_t n = processes(pids);

    for (size_t i = 0; i < n; i++)
        (void)kill(pids[i], number);
}

void pg_kill(void) {
    if (!server)
        return;
    pg_signal(SIGKILL);
    (void)waitpid(server, NULL, 0);
    server = 0;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s;
    (void)type;
    (void)f;
    return remove(path);
}

void pg_end(void) {
    pg_kill();
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int pg_port(void) {
    return port;
}

const char *pg_folder(void) {
    return folder;
}

const char *pg_url(const char *database, const char *options) {
    static char urls[2][512];
    static int next;
    char *url = urls[next++ % 2];

    sl_assert(snprintf(url, sizeof urls[0], "postgres://sluice:%s@127.0.0.1:%d/%s%s%s",
                       PG_PASSWORD_URL, port, database, *options ? "?" : "",
                       options) < (int)sizeof urls[0]);
    return url;
}

void pg_create(const char *database, const char *encoding) {
    char sql[256];

    sl_fmt(sql, sizeof sql, "CREATE DATABASE %s ENCODING '%s' TEMPLATE template0", database,
           encoding);
    (void)pg_query("postgres", sql);
}

const char *pg_query(const char *database, const char *sql) {
    static char out[1 << 16];
    PGconn *c = dial(database);
    size_t len = 0;

    sl_assert(c != NULL);
    PGresult *res = PQexec(c, sql);
    if (PQresultStatus(res) != PGRES_TUPLES_OK && PQresultStatus(res) != PGRES_COMMAND_OK)
        (void)fprintf(stderr, "%s: %s\n", sql, PQresultErrorMessage(res));
    sl_assert(PQresultStatus(res) == PGRES_TUPLES_OK || PQresultStatus(res) == PGRES_COMMAND_OK);
    out[0] = '\0';
    for (int row = 0; row < PQntuples(res); row++)
        for (int i = 0; i < PQnfields(res) && len < sizeof out; i++)
            len += (size_t)snprintf(out + len, sizeof out - len, "%s%s",
                                    i     ? "|"
                                    : row ? "\n"
                                          : "",
                                    PQgetisnull(res, row, i) ? "-" : PQgetvalue(res, row, i));
    sl_assert(len < sizeof out);
    PQclear(res);
    PQfinish(c);
    return out;
}

int64_t pg_number(const char *database, const char *sql) {
    return strtoll(pg_query(database, sql), NULL, 10);
}

const char *pg_psql(const char *database, const char *command) {
    static char out[8192];
    char script[512], path[96];

    sl_fmt(script, sizeof script,
           "\"$1/psql\" -X -A -h \"$2\" -p %d -U sluice -c '%s' %s > \"$2/psql.out\"", port,
           command, database);
    run(script);
    sl_fmt(path, sizeof path, "%s/psql.out", folder);
    FILE *f = fopen(path, "re");
    sl_assert(f != NULL);
    out[fread(out, 1, sizeof out - 1, f)] = '\0';
    (void)fclose(f);
    return out;
}
