/* The folder of `sluice up`: what is made, what is kept, and who may read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* and only then */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "doc/doc.h"
#include "kube/kubeconfig.h"
#include "up/home.h"

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
    static const char *const files[] = {"ca.crt", "ca.key", "token", "kubeconfig"};
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

static void open_home(const char *path, struct sl_home *h) {
    struct sl_err err = {0};

    if (sl_home_open(path, now(), h, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_new(void **state) {
    char path[128];
    struct sl_home h, again;
    struct sl_err err = {0};

    (void)state;
    (void)snprintf(path, sizeof path, "%s/a/b//", dir);
    open_home(path, &h);
    (void)snprintf(path, sizeof path, "%s/a/b", dir);
    assert_string_equal(h.dir, path);
    assert_int_equal(strlen(h.token), 64);
    assert_int_equal(mode_of(h.dir, ""), 0700);
    assert_int_equal(mode_of(h.dir, "ca.key"), 0600);
    assert_int_equal(mode_of(h.dir, "token"), 0600);

    assert_int_equal(sl_home_write_kubeconfig(&h, "https://127.0.0.1:12345", &err), 0);
    assert_int_equal(mode_of(h.dir, "kubeconfig"), 0600);
    struct sl_kubeconfig *k = NULL;
    if (sl_kubeconfig_load(h.kubeconfig, NULL, &k, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(sl_kubeconfig_server(k), "https://127.0.0.1:12345");
    sl_kubeconfig_free(k);

    /* A second time everything is as it was. */
    open_home(path, &again);
    assert_string_equal(again.token, h.token);
    assert_string_equal(again.ca.cert_pem, h.ca.cert_pem);
    sl_home_done(&again);

    /* A key that is not the certificate's, and half a token: both are made anew. */
    (void)snprintf(path, sizeof path, "%s/token", h.dir);
    assert_int_equal(truncate(path, 30), 0);
    (void)snprintf(path, sizeof path, "%s/ca.key", h.dir);
    assert_int_equal(truncate(path, 100), 0);
    open_home(h.dir, &again);
    assert_int_equal(strlen(again.token), 64);
    assert_string_not_equal(again.token, h.token);
    assert_string_not_equal(again.ca.cert_pem, h.ca.cert_pem);
    sl_home_done(&again);
    sl_home_done(&h);
}

static void test_certificate(void **state) {
    static const char *const names[] = {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc"};
    struct sl_cert c = {0};
    struct sl_home h;

    (void)state;
    open_home(dir, &h);
    assert_int_equal(sl_home_certificate(&h, "127.0.0.1", now(), &c, NULL), 0);
    for (size_t i = 0; i < SL_LEN(names); i++)
        assert_true(sl_cert_fits(&c, h.ca.cert_pem, names[i]));
    assert_false(sl_cert_fits(&c, h.ca.cert_pem, "10.1.2.3"));
    sl_cert_done(&c);
    assert_int_equal(sl_home_certificate(&h, "10.1.2.3", now(), &c, NULL), 0);
    assert_true(sl_cert_fits(&c, h.ca.cert_pem, "10.1.2.3"));
    sl_cert_done(&c);
    assert_int_equal(sl_home_certificate(&h, "0.0.0.0", now(), &c, NULL), 0);
    assert_true(sl_cert_fits(&c, h.ca.cert_pem, "127.0.0.1"));
    sl_cert_done(&c);
    sl_home_done(&h);
}

static void test_default(void **state) {
    char path[128];
    struct sl_home h;

    (void)state;
    assert_int_equal(setenv("XDG_DATA_HOME", dir, 1), 0);
    open_home(NULL, &h);
    (void)snprintf(path, sizeof path, "%s/sluice", dir);
    assert_string_equal(h.dir, path);
    sl_home_done(&h);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
    assert_int_equal(setenv("HOME", dir, 1), 0);
    open_home(NULL, &h);
    (void)snprintf(path, sizeof path, "%s/.local/share/sluice", dir);
    assert_string_equal(h.dir, path);
    sl_home_done(&h);
    assert_int_equal(chdir(dir), 0);
    open_home("a/b", &h); /* the kubeconfig's path holds everywhere */
    (void)snprintf(path, sizeof path, "%s/a/b", dir);
    assert_string_equal(h.dir, path);
    sl_home_done(&h);
    assert_int_equal(chdir("/"), 0);
}

static void test_refused(void **state) {
    static const struct {
        const char *path, *words;
    } table[] = {{"", "--dir"}, {"/", "--dir"}, {"/proc/none/x", "--dir"}, {"/dev/null", "--dir"}};
    struct sl_home h;
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(table); i++) {
        assert_true(sl_home_open(table[i].path, now(), &h, &err) < 0);
        assert_non_null(strstr(err.text, table[i].words));
    }
    char *deep = sl_alloc0(1, 5000);
    memset(deep, 'x', 4999);
    deep[0] = '/';
    assert_true(sl_home_open(deep, now(), &h, &err) < 0);
    sl_freep(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new, setup, teardown),
        cmocka_unit_test_setup_teardown(test_certificate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_default, setup, teardown),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
