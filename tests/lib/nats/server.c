/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../free_port.h"

#define MAX_SERVERS 16
#define START_MS 30000
/* A server that does not answer is a failure with a place, not a test that hangs. */
#define ANSWER_S 60

extern char **environ;

static char folder[64];
static pid_t running[MAX_SERVERS];

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

static void path_of(char out[256], const char *name, const char *ending) {
    sl_assert(snprintf(out, 256, "%s/%s%s", folder, name, ending) < 256);
}

bool servers_found(void) {
    for (const char *p = getenv("PATH"); p && *p; p += strcspn(p, ":"), p += *p == ':') {
        char file[512];
        if (snprintf(file, sizeof file, "%.*s/nats-server", (int)strcspn(p, ":"), p) <
                (int)sizeof file &&
            access(file, X_OK) == 0)
            return true;
    }
    return false;
}

void servers_begin(void) {
    sl_assert(snprintf(folder, sizeof folder, "/tmp/sluice-nats-XXXXXX") > 0);
    sl_assert(mkdtemp(folder) != NULL);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s;
    (void)type;
    (void)f;
    return remove(path);
}

static void end(pid_t pid) {
    for (int i = 0; i < MAX_SERVERS; i++)
        if (running[i] == pid)
            running[i] = 0;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

void servers_end(void) {
    for (int i = 0; i < MAX_SERVERS; i++)
        if (running[i])
            end(running[i]);
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *servers_folder(void) {
    return folder;
}

static pid_t spawn(const char *const *argv, const char *log) {
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;

    sl_assert(posix_spawn_file_actions_init(&actions) == 0);
    sl_assert(posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0);
    sl_assert(posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND,
                                               0600) == 0);
    sl_assert(posix_spawn_file_actions_adddup2(&actions, 1, 2) == 0);
    sl_assert(
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

void servers_script(const char *script) {
    char log[256];
    path_of(log, "script", ".log");
    const char *argv[] = {"sh",   "-c", "cd \"$1\" && eval \"set -e; $2\"", "sh", folder,
                          script, NULL};
    pid_t pid = spawn(argv, log);
    int status = -1;
    sl_assert(waitpid(pid, &status, 0) == pid);
    sl_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Two authorities; of the first a server, one for elsewhere, and a client. */
void servers_certificates(void) {
    servers_script(
        "for ca in ca other; do\n"
        "  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \\\n"
        "    -subj /CN=$ca -keyout $ca.key -out $ca.crt\n"
        "done\n"
        "for one in server:DNS:localhost,IP:127.0.0.1 elsewhere:DNS:elsewhere client:DNS:me; do\n"
        "  name=${one%%:*}\n"
        "  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name \\\n"
        "    -keyout $name.key -out $name.csr\n"
        "  echo subjectAltName=${one#*:} > $name.ext\n"
        "  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \\\n"
        "    -extfile $name.ext -out $name.crt\n"
        "done\n");
}

char *servers_file(const char *name) {
    char path[256], *text = calloc(1, 65536);
    path_of(path, name, "");
    FILE *f = fopen(path, "re");
    sl_assert(f && text && fread(text, 1, 65535, f) > 0);
    (void)fclose(f);
    return text;
}

void server_init(struct server *s, const char *name) {
    *s = (struct server){.port = free_port(), .cluster_port = free_port()};
    sl_assert(snprintf(s->name, sizeof s->name, "%s", name) < (int)sizeof s->name);
}

void server_configure(const struct server *s, const char *fmt, ...) {
    char path[256];
    va_list ap;

    path_of(path, s->name, ".conf");
    FILE *f = fopen(path, "we");
    sl_assert(f != NULL);
    (void)fprintf(f, "server_name: %s\nlisten: 127.0.0.1:%d\n", s->name, s->port);
    va_start(ap, fmt);
    (void)vfprintf(f, fmt, ap);
    va_end(ap);
    (void)fputc('\n', f);
    sl_assert(fclose(f) == 0);
}

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = ANSWER_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sl_assert(fd >= 0);
    sl_assert(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    sl_assert(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

void server_start(struct server *s) {
    char conf[256], log[256];
    int fd = -1;

    path_of(conf, s->name, ".conf");
    path_of(log, s->name, ".log");
    const char *argv[] = {"setpriv", "--pdeathsig", "KILL", "nats-server", "-c", conf, NULL};
    s->pid = spawn(argv, log);
    for (int i = 0; i < MAX_SERVERS; i++) {
        if (running[i])
            continue;
        running[i] = s->pid;
        break;
    }
    for (int waited = 0; waited < START_MS && fd < 0; waited += 10) {
        nap(10);
        fd = dial(s->port);
        sl_assert(waitpid(s->pid, NULL, WNOHANG) == 0); /* it has not ended */
    }
    sl_assert(fd >= 0);
    (void)close(fd);
}

void server_signal(const struct server *s, int number) {
    sl_assert(kill(s->pid, number) == 0);
}

void server_kill(struct server *s) {
    end(s->pid);
    s->pid = 0;
}

static void send_all(int fd, const char *data, size_t len) {
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        sl_assert(n > 0);
        data += n;
        len -= (size_t)n;
    }
}

int publisher_open(const struct server *s, const char *options) {
    char line[512];
    int fd = dial(s->port);

    sl_assert(fd >= 0);
    int n = snprintf(line, sizeof line, "CONNECT {\"verbose\":false,\"pedantic\":false%s%s}\r\n",
                     *options ? "," : "", options);
    sl_assert(n > 0 && n < (int)sizeof line);
    send_all(fd, line, (size_t)n);
    publisher_flush(fd);
    return fd;
}

void publish(int fd, const char *subject, const char *data, size_t len) {
    char line[512];
    int n = snprintf(line, sizeof line, "PUB %s %zu\r\n", subject, len);

    sl_assert(n > 0 && n < (int)sizeof line);
    send_all(fd, line, (size_t)n);
    send_all(fd, data, len);
    send_all(fd, "\r\n", 2);
}

void publisher_flush(int fd) {
    char got[4096];
    size_t n = 0;

    send_all(fd, "PING\r\n", 6);
    for (;;) {
        ssize_t more = recv(fd, got + n, sizeof got - 1 - n, 0);
        sl_assert(more > 0);
        n += (size_t)more;
        got[n] = '\0';
        if (strstr(got, "PONG"))
            return;
        if (n > 2048) { /* the INFO line; PONG is not cut in two by more than this */
            memmove(got, got + n - 8, 8);
            n = 8;
        }
    }
}
