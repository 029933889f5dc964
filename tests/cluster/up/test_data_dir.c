/* SPDX-License-Identifier: Apache-2.0 */
/* The data directory of `sluice up`: what is made, what is kept, and who may read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* and only then */
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster/up/data_dir.h"
#include "core/base/mem.h"
#include "kube/client/kubeconfig.h"

static char dir[64];

static sl_time now(void) {
    return (sl_time)time(NULL) * SL_SEC;
}

static int setup(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s", "/tmp/sl-home-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
    char line[128];

    (void)state;
    static const char *const files[] = {"ca.crt", "ca.key",     "sa.key",
                                        "token",  "kubeconfig", "lock"};
    static const char *const folders[] = {"a/b", "sluice", ".local/share/sluice", "."};
    for (size_t d = 0; d < SL_LEN(folders); d++)
        for (size_t f = 0; f < SL_LEN(files); f++) {
            (void)snprintf(line, sizeof line, "%s/%s/%s", dir, folders[d], files[f]);
            (void)unlink(line);
        }
    static const char *const made[] = {
        "/a/b", "/a", "/sluice", "/.local/share/sluice", "/.local/share", "/.local", ""};
    for (size_t i = 0; i < SL_LEN(made); i++) {
        (void)snprintf(line, sizeof line, "%s%s", dir, made[i]);
        (void)rmdir(line);
    }
    return access(dir, F_OK) == 0 ? -1 : 0;
}

static unsigned mode_of(const char *folder, const char *file) {
    char path[300];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s%s%s", folder, *file ? "/" : "", file);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void open_data_dir(const char *path, struct up_data_dir *h) {
    struct sl_err err = {0};

    if (up_data_dir_open(path, now(), h, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_new(void **state) {
    char path[128];
    struct up_data_dir h;
    char token[SL_TOKEN_TEXT];
    struct sl_err err = {0};

    (void)state;
    (void)snprintf(path, sizeof path, "%s/a/b//", dir);
    open_data_dir(path, &h);
    (void)snprintf(path, sizeof path, "%s/a/b", dir);
    assert_string_equal(h.dir, path);
    assert_int_equal(strlen(h.token), 64);
    assert_int_equal(mode_of(h.dir, ""), 0700);
    assert_int_equal(mode_of(h.dir, "ca.key"), 0600);
    assert_int_equal(mode_of(h.dir, "token"), 0600);
    assert_int_equal(mode_of(h.dir, "sa.key"), 0600);

    assert_int_equal(up_data_dir_write_kubeconfig(&h, "https://127.0.0.1:12345", &err), 0);
    assert_int_equal(mode_of(h.dir, "kubeconfig"), 0600);
    struct sl_kubeconfig *k = NULL;
    if (sl_kubeconfig_load(h.kubeconfig, NULL, &k, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(sl_kubeconfig_server(k), "https://127.0.0.1:12345");
    sl_kubeconfig_free(k);

    /* Not for a second at the same time. */
    struct up_data_dir other;
    assert_int_equal(up_data_dir_open(path, now(), &other, &err), SL_EEXIST);
    (void)snprintf(token, sizeof token, "another process, pid %ld;", (long)getpid());
    assert_non_null(strstr(err.text, token));

    /* A second time everything is as it was. */
    (void)snprintf(token, sizeof token, "%s", h.token);
    _cleanup_(sl_freep) char *cert = sl_strdup(h.ca.cert_pem);
    up_data_dir_done(&h);
    open_data_dir(path, &h);
    assert_string_equal(h.token, token);
    assert_string_equal(h.ca.cert_pem, cert);
    up_data_dir_done(&h);

    /* A key that is not the certificate's, as a crash between the two leaves it: made anew. */
    char file[200];
    (void)snprintf(file, sizeof file, "%s/ca.key", path);
    assert_int_equal(truncate(file, 100), 0);
    open_data_dir(path, &h);
    assert_string_equal(h.token, token);
    assert_string_not_equal(h.ca.cert_pem, cert);
    up_data_dir_done(&h);
}

/* ---- files of others ---- */

static void put_file(const char *name, const char *bytes, size_t len, unsigned mode) {
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static void take_away(const char *name) {
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(remove(path), 0);
}

static void take_all(void) {
    static const char *const files[] = {"ca.crt", "ca.key",     "sa.key",
                                        "token",  "kubeconfig", "lock"};
    char path[200];

    for (size_t i = 0; i < SL_LEN(files); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        (void)unlink(path);
    }
}

static void refused(const char *words) {
    struct up_data_dir h;
    struct sl_err err = {0};

    assert_true(up_data_dir_open(dir, now(), &h, &err) < 0);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static const char TOKEN[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/* A folder that others may write into, with a token that they know. */
static void test_planted(void **state) {
    struct up_data_dir h;

    (void)state;
    assert_int_equal(chmod(dir, 0777), 0);
    put_file("token", TOKEN, 64, 0600);
    refused("may not be yours");
    assert_int_equal(chmod(dir, 0700), 0);
    put_file("token", TOKEN, 64, 0666);
    refused("is writable for other users (mode 0666); remove it");
    put_file("token", TOKEN, 64, 0644);
    refused("is readable for other users");
    take_all();
    assert_int_equal(chmod(dir, 0777), 0); /* empty: only its mode is wrong */
    open_data_dir(dir, &h);
    assert_int_equal(mode_of(dir, ""), 0711);
    assert_string_not_equal(h.token, TOKEN);
    up_data_dir_done(&h);
    put_file("ca.key", "", 0, 0644);
    refused("ca.key is readable");
    take_away("ca.key");
    put_file("objects.db", "", 0, 0666);
    refused("objects.db is writable");
    take_away("objects.db");
    put_file("pods", "", 0, 0600);
    refused("pods is not a directory");
    take_away("pods");
}

/* The folder of another user, a file of his in ours, and a folder of his above ours. */
static void test_owners(void **state) {
    char path[200];
    struct up_data_dir h;
    struct sl_err err = {0};

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(dir, 65534, 65534), 0);
    refused("is owned by another user (uid 65534)");
    (void)snprintf(path, sizeof path, "%s/a", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(up_data_dir_open(path, now(), &h, &err) < 0);
    assert_non_null(strstr(err.text, "is writable for other users"));
    assert_int_equal(chown(dir, 0, 0), 0);
    put_file("token", TOKEN, 64, 0600);
    (void)snprintf(path, sizeof path, "%s/token", dir);
    assert_int_equal(chown(path, 65534, 65534), 0);
    refused("token is owned by another user");
    (void)snprintf(path, sizeof path, "%s/a/b", dir);
    assert_int_equal(symlink(dir, path), 0);
    assert_int_equal(lchown(path, 65534, 65534), 0);
    assert_true(up_data_dir_open(path, now(), &h, &err) < 0);
    assert_non_null(strstr(err.text, "symbolic link owned by another user"));
    assert_int_equal(unlink(path), 0);
}

/* Files that are none, and tokens that are none. */
static void test_odd_files(void **state) {
    static const char *const names[] = {"token", "ca.crt", "ca.key", "sa.key", "lock"};
    _cleanup_(sl_freep) char *huge = sl_alloc0(1, 3 << 20);
    char path[200], with_zero[64];

    (void)state;
    for (size_t i = 0; i < SL_LEN(names); i++) {
        take_all();
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(symlink("/etc/hostname", path), 0);
        if (strcmp(names[i], "ca.key") == 0)
            put_file("ca.crt", "x", 1, 0600);
        refused("symbolic link");
        take_away(names[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        refused("is not a regular file but a pipe");
        take_away(names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        refused("is not a regular file but a directory");
        take_away(names[i]);
    }
    take_all();
    put_file("token", huge, 3 << 20, 0600);
    refused("is larger than");
    memset(with_zero, 'a', sizeof with_zero);
    with_zero[20] = '\0';
    put_file("token", with_zero, sizeof with_zero, 0600);
    refused("is not a token of 64");
    put_file("token", "", 0, 0600);
    refused("is not a token of 64");
    put_file("token", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 64, 0600);
    refused("remove it");
    take_away("token");
    put_file("ca.crt", huge, 3 << 20, 0600);
    refused("ca.crt is larger");
}

/* Many first starts at once: one of them gets the folder, and what it made belongs together. */
static void test_race(void **state) {
    enum { RACERS = 8 };
    struct up_data_dir h;
    pid_t pids[RACERS];
    int go[2], said[2], end[2], won = 0;
    char results[RACERS];

    (void)state;
    assert_int_equal(pipe(go) | pipe(said) | pipe(end), 0);
    for (int i = 0; i < RACERS; i++)
        if ((pids[i] = fork()) == 0) {
            struct sl_err err;
            char c;
            (void)close(go[1]);
            (void)close(end[1]);
            (void)!read(go[0], &c, 1);
            int r = up_data_dir_open(dir, now(), &h, &err);
            c = r >= 0 ? 'w' : r == SL_EEXIST ? 'l' : '?';
            /* The holder keeps it until all have tried, however late they get a turn. */
            _exit(write(said[1], &c, 1) != 1 || close(said[1]) < 0 || read(end[0], &c, 1) != 0);
        }
    (void)close(go[0]);
    (void)close(said[1]);
    (void)close(end[0]);
    (void)close(go[1]);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(read(said[0], &results[i], 1), 1);
    (void)close(end[1]);
    (void)close(said[0]);
    for (int i = 0, status; i < RACERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(results[i] == 'w' || results[i] == 'l');
        won += results[i] == 'w';
    }
    assert_int_equal(won, 1);
    open_data_dir(dir, &h);
    assert_int_equal(sl_cert_pair(h.ca.cert_pem, h.ca.key_pem, NULL), 0);
    up_data_dir_done(&h);
}

static void test_certificate(void **state) {
    static const char *const names[] = {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc"};
    struct sl_cert c = {0};
    struct up_data_dir h;

    (void)state;
    open_data_dir(dir, &h);
    assert_int_equal(up_data_dir_certificate(&h, "127.0.0.1", now(), &c, NULL), 0);
    for (size_t i = 0; i < SL_LEN(names); i++)
        assert_true(sl_cert_fits(&c, h.ca.cert_pem, names[i]));
    assert_false(sl_cert_fits(&c, h.ca.cert_pem, "10.1.2.3"));
    sl_cert_done(&c);
    assert_int_equal(up_data_dir_certificate(&h, "10.1.2.3", now(), &c, NULL), 0);
    assert_true(sl_cert_fits(&c, h.ca.cert_pem, "10.1.2.3"));
    sl_cert_done(&c);
    assert_int_equal(up_data_dir_certificate(&h, "0.0.0.0", now(), &c, NULL), 0);
    assert_true(sl_cert_fits(&c, h.ca.cert_pem, "127.0.0.1"));
    sl_cert_done(&c);
    up_data_dir_done(&h);
}

static void test_default(void **state) {
    char path[128];
    struct up_data_dir h;

    (void)state;
    assert_int_equal(setenv("XDG_DATA_HOME", dir, 1), 0);
    open_data_dir(NULL, &h);
    (void)snprintf(path, sizeof path, "%s/sluice", dir);
    assert_string_equal(h.dir, path);
    up_data_dir_done(&h);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
    assert_int_equal(setenv("HOME", dir, 1), 0);
    open_data_dir(NULL, &h);
    (void)snprintf(path, sizeof path, "%s/.local/share/sluice", dir);
    assert_string_equal(h.dir, path);
    up_data_dir_done(&h);
    assert_int_equal(chdir(dir), 0);
    open_data_dir("a/b", &h); /* the kubeconfig's path holds everywhere */
    (void)snprintf(path, sizeof path, "%s/a/b", dir);
    assert_string_equal(h.dir, path);
    up_data_dir_done(&h);
    assert_int_equal(chdir("/"), 0);
}

static void test_refused(void **state) {
    static const struct {
        const char *path, *words;
    } table[] = {{"", "--dir"}, {"/", "--dir"}, {"/proc/none/x", "--dir"}, {"/dev/null", "--dir"}};
    struct up_data_dir h;
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(table); i++) {
        assert_true(up_data_dir_open(table[i].path, now(), &h, &err) < 0);
        assert_non_null(strstr(err.text, table[i].words));
    }
    char *deep = sl_alloc0(1, 5000);
    memset(deep, 'x', 4999);
    deep[0] = '/';
    assert_true(up_data_dir_open(deep, now(), &h, &err) < 0);
    sl_freep(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new, setup, teardown),
        cmocka_unit_test_setup_teardown(test_certificate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_default, setup, teardown),
        cmocka_unit_test(test_refused),
        cmocka_unit_test_setup_teardown(test_planted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_race, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
