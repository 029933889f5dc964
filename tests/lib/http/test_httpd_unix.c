/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server on a Unix domain socket: its file, whom it is for, what may be in its place.
 */
#include "http_fixture.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static char folder[64], path[80], host[256];

static int setup_folder(void **state) {
    (void)snprintf(folder, sizeof folder, "/tmp/httpd.XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/s", folder);
    (void)snprintf(host, sizeof host, "unix:%s", path);
    return setup(state);
}

static int teardown_folder(void **state) {
    int r = teardown(state);
    struct stat st;

    assert_int_equal(lstat(path, &st), -1); /* it went with its server */
    assert_int_equal(rmdir(folder), 0);
    return r;
}

static int start_at(const char *at) {
    sv.spec = (struct sl_httpd_spec){
        .host = at,
        .max_body = MAX_BODY,
        .max_connections = MAX_CONNECTIONS,
        .handler = echo,
        .ctx = &sv,
    };
    sv.err = (struct sl_err){0};
    on_loop(job_start);
    return sv.result;
}

static CURL *unix_client(void) {
    CURL *c = client(NULL);
    curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, path);
    return c;
}

static void answers(void) {
    CURL *c = unix_client();
    assert_int_equal(fetch(c, "/a?q=1"), 200);
    assert_string_equal(got, "GET /a q=1 h=- body=");
    curl_easy_cleanup(c);
}

static int dial_unix(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static mode_t umask_now(void) {
    mode_t m = umask(0);
    (void)umask(m);
    return m;
}

static void test_serves(void **state) {
    (void)state;
    struct stat st;
    mode_t before = umask(0);
    static char body[MAX_BODY];

    assert_int_equal(start_at(host), 0);
    assert_int_equal(umask_now(), 0); /* as it was */
    (void)umask(before);
    assert_int_equal(sl_httpd_port(sv.h), 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    CURL *c = unix_client();
    memset(body, 'x', sizeof body);
    post(c, body, sizeof body);
    assert_int_equal(fetch(c, "/len"), 200);
    assert_string_equal(got, "100000");
    assert_int_equal(fetch(c, "/len"), 200);
    assert_int_equal(connects(c), 0); /* the connection is kept */
    curl_easy_cleanup(c);
    answers();
}

/* More connections than it has: the idle ones yield, as for an address. */
static void test_connections(void **state) {
    (void)state;
    int fds[4 * MAX_CONNECTIONS];

    assert_int_equal(start_at(host), 0);
    for (size_t i = 0; i < SL_LEN(fds); i++)
        fds[i] = dial_unix();
    (void)usleep(1200000); /* new ones are spared for a moment */
    answers();
    for (size_t i = 0; i < SL_LEN(fds); i++)
        (void)close(fds[i]);
}

/* The socket of a process that was killed. */
static void leave_socket(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    (void)close(fd);
}

static void test_stale(void **state) {
    (void)state;
    leave_socket();
    assert_int_equal(start_at(host), 0);
    answers();
}

static void test_in_use(void **state) {
    (void)state;
    struct sl_httpd *first;

    assert_int_equal(start_at(host), 0);
    first = sv.h;
    assert_int_equal(start_at(host), SL_EEXIST);
    assert_non_null(strstr(sv.err.text, "another process listens"));
    sv.h = first;
    answers(); /* the first one has not noticed */
}

/* Whatever is no socket stays as it is. */
static void test_in_the_way(void **state) {
    (void)state;
    char other[160];
    struct stat st;

    (void)snprintf(other, sizeof other, "%s/other", folder);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    (void)fclose(f);
    assert_int_equal(start_at(host), SL_EEXIST);
    assert_non_null(strstr(sv.err.text, "it is a file"));
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(start_at(host), SL_EEXIST);
    assert_non_null(strstr(sv.err.text, "symbolic link"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(start_at(host), SL_EEXIST); /* nor through one that leads nowhere */
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(start_at(host), SL_EEXIST);
    assert_non_null(strstr(sv.err.text, "directory"));
    assert_int_equal(rmdir(path), 0);
}

static void test_bad_paths(void **state) {
    (void)state;
    char at[400], name[200];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(at, sizeof at, "unix:%s/%s", folder, name);
    assert_int_equal(start_at(at), SL_EINVAL);
    assert_non_null(strstr(sv.err.text, "1 to 107 bytes"));
    assert_int_equal(start_at("unix:"), SL_EINVAL);
    (void)snprintf(at, sizeof at, "unix:%s/none/s", folder);
    assert_int_equal(start_at(at), SL_EIO);
    (void)snprintf(at, sizeof at, "unix:%s/", folder);
    assert_true(start_at(at) < 0);
}

/* Another process has put its own there: that one stays. */
static void test_replaced(void **state) {
    (void)state;
    struct stat st;

    assert_int_equal(start_at(host), 0);
    assert_int_equal(unlink(path), 0);
    leave_socket();
    on_loop(job_stop);
    assert_int_equal(lstat(path, &st), 0);
    assert_int_equal(unlink(path), 0);
}

/* Somebody else is at work in the folder, and does not end. */
static void test_locked(void **state) {
    (void)state;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(start_at(host), SL_EIO);
    assert_non_null(strstr(sv.err.text, "locking"));
    (void)close(fd);
    assert_int_equal(start_at(host), 0);
    answers();
}

/* Of many that start at once over a stale socket, one gets it, and that one is reached. */
static void test_race(void **state) {
    (void)state;
    enum { N = 8 };
    pid_t pids[N];
    int winners = 0, status, go[2], stop[2];
    char c;

    leave_socket();
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(stop), 0);
    for (int i = 0; i < N; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct http_unix u = {0};
            int fd;
            (void)close(go[1]);
            (void)close(stop[1]);
            (void)!read(go[0], &c, 1);
            if (http_listen_unix(path, &u, &fd, NULL) < 0)
                _exit(1);
            (void)!read(stop[0], &c, 1);
            /* still its own, although the others have tried */
            struct stat st;
            _exit(lstat(path, &st) == 0 && st.st_ino == u.ino ? 0 : 2);
        }
    }
    (void)close(go[0]);
    (void)close(stop[0]);
    (void)close(go[1]);
    for (int ended = 0; ended < N - 1; ended++) { /* all but the one that waits */
        pid_t p = wait(&status);
        assert_true(p > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        if (ended == N - 2)
            (void)close(stop[1]);
    }
    assert_true(wait(&status) > 0);
    winners += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    assert_int_equal(winners, 1);
    assert_int_equal(unlink(path), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_folder, teardown_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_race),       TEST(test_serves),   TEST(test_connections),
        TEST(test_stale),      TEST(test_in_use),   TEST(test_bad_paths),
        TEST(test_in_the_way), TEST(test_replaced), TEST(test_locked),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
