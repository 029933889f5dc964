/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that behave badly, logs, probes, limits: the others are not disturbed.
 */
#include "kubelet_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* 300 MB in lines and 40 MB without any; a neighbour goes on meanwhile. Only the last of it is
 * kept. */
static void writes_much(void **state) {
    struct world w;
    struct sl_buf b;
    struct stat st;
    char path[300];
    bool over;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "lines", "Never",
            "yes 0123456789012345678901234567890123456789012345678901234567890 | head -c "
            "300000000; echo; echo end");
    make_sh(&w, "blob", "Never", "head -c 40000000 /dev/zero; echo end");
    make_sh(&w, "small", "Never", "echo ok");
    const sl_time from = real_now();
    wait_phase(&w, "small", "Succeeded");
    assert_string_not_equal(phase_of(&w, "lines"), "Succeeded");
    for (int i = 0; i < 600 && strcmp(phase_of(&w, "lines"), "Succeeded") != 0; i++)
        turns(&w, 50);
    wait_phase(&w, "lines", "Succeeded");
    wait_phase(&w, "blob", "Succeeded");
    print_message("340 MB of logs: %lld ms\n", (long long)((real_now() - from) / SL_MSEC));
    sl_buf_init(&b, (size_t)64 << 20);
    assert_true(read_log(&w, "lines", "main", false, false, &b, &over));
    assert_true(over);
    assert_true(b.len > LOG_FILE / 2 && b.len < 3 * LOG_FILE);
    assert_string_equal(b.s + b.len - 4, "end\n");
    assert_non_null(strstr(b.s, " stderr F [sluice: the first ")); /* is cut */
    sl_buf_clear(&b);
    assert_true(read_log(&w, "blob", "main", false, false, &b, &over));
    assert_memory_equal(b.s + b.len - 4, "end\n", 4);
    sl_buf_done(&b);
    (void)snprintf(path, sizeof path, "%s/logs/%s/main.0.log.1", w.dir,
                   sl_json_str(pod_now(&w, "lines"), "metadata.uid"));
    assert_int_equal(stat(path, &st), 0);
    assert_true((uint64_t)st.st_size < LOG_FILE + ((uint64_t)1 << 20));
    end(&w);
}

static void binary_output(void **state) {
    struct world w;
    struct sl_buf b;
    bool over;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "printf 'a\\000b\\377\\n\\n'; printf 'no newline'; printf 'e' >&2");
    wait_phase(&w, "a", "Succeeded");
    sl_buf_init(&b, 100000);
    assert_true(read_log(&w, "a", "main", false, true, &b, &over));
    assert_true(over);
    assert_int_equal(b.len, 5 + 1 + 10 + 1);
    assert_memory_equal(b.s, "a\0b\377\n\nno newlinee", b.len);
    sl_buf_done(&b);
    end(&w);
}

/* What follows a log sees what comes, and its end. */
static void followed(void **state) {
    struct world w;
    struct sl_buf b;
    void *log;
    bool over = false;
    uint64_t at = 0;
    char heard[100];
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never",
            "for i in 1 2 3 4 5; do echo line $i; while [ ! -e ../../../heard$i ]; do sleep 0.01; "
            "done; done");
    wait_phase(&w, "a", "Running");
    assert_int_equal(sl_kubelet_log_open(w.rt, "default", "a",
                                         sl_json_str(pod_now(&w, "a"), "metadata.uid"), "main",
                                         false, &log, NULL),
                     0);
    sl_buf_init(&b, 100000);
    uint32_t pieces = 0;
    while (!over) {
        size_t n = sl_kubelet_log_read(w.rt, log, at, &b, &over);
        at += n;
        if (n > 0) { /* and only then there is more */
            (void)snprintf(heard, sizeof heard, "%s/pods/heard%u", w.dir, ++pieces);
            assert_int_equal(klet_file_write(heard, "", 0, 0644), 0);
        }
        turn(&w);
    }
    assert_int_equal(pieces, 5);
    assert_non_null(strstr(b.s, "stdout F line 5\n"));
    delete_pod(&w, "a", 0);
    sl_buf_clear(&b);
    WAIT(&w, sl_kubelet_log_read(w.rt, log, 0, &b, &over) == 0); /* its file goes; nothing worse */
    sl_kubelet_log_close(w.rt, log);
    sl_buf_done(&b);
    end(&w);
}

static void no_such_log(void **state) {
    struct world w;
    struct sl_err err;
    void *log;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "true");
    wait_phase(&w, "a", "Succeeded");
    const char *uid = sl_json_str(pod_now(&w, "a"), "metadata.uid");
    assert_int_equal(sl_kubelet_log_open(w.rt, "default", "a", uid, "none", false, &log, &err),
                     SL_ENOENT);
    assert_int_equal(sl_kubelet_log_open(w.rt, "default", "a", uid, "main", true, &log, &err),
                     SL_ENOENT);
    assert_string_equal(err.text, "previous terminated container \"main\" in pod \"a\" not found");
    assert_int_equal(
        sl_kubelet_log_open(w.rt, "default", "b", "no-such-uid", "main", false, &log, &err),
        SL_ENOENT);
    assert_int_equal(
        sl_kubelet_log_open(w.rt, "default", "b", "../../x", "main", false, &log, &err), SL_EINVAL);
    assert_int_equal(sl_kubelet_log_open(w.rt, "default", "b", "x", "../main", false, &log, &err),
                     SL_EINVAL);
    end(&w);
}

#if SL_SANITISED
#define THOUSAND 200 /* to fork is slow then */
#else
#define THOUSAND 1000
#endif

static void a_thousand_containers(void **state) {
    struct world w;
    struct sl_buf b;
    (void)state;

    begin(&w, 0);
    sl_buf_init(&b, (size_t)4 << 20);
    sl_buf_puts(&b, "\"restartPolicy\":\"Never\",\"containers\":[");
    for (int i = 0; i < THOUSAND; i++)
        sl_buf_printf(
            &b, "%s{\"name\":\"c%d\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"echo %d\"]}",
            i ? "," : "", i, i);
    sl_buf_puts(&b, "]");
    make_pod(&w, "a", "", sl_buf_str(&b));
    make_sh(&w, "small", "Never", "echo ok");
    const sl_time from = real_now();
    wait_phase(&w, "small", "Succeeded");
    assert_string_not_equal(phase_of(&w, "a"), "Succeeded");
    for (int i = 0; i < 1000 && strcmp(phase_of(&w, "a"), "Succeeded") != 0; i++)
        turns(&w, 50);
    wait_phase(&w, "a", "Succeeded");
    print_message("%d containers: %lld ms\n", THOUSAND, (long long)((real_now() - from) / SL_MSEC));
    expect_log(&w, "a", "c99", false, "99\n");
    sl_buf_clear(&b);
    sl_buf_puts(&b, "\"restartPolicy\":\"Never\",\"containers\":[");
    for (int i = 0; i < 1025; i++)
        sl_buf_printf(&b, "%s{\"name\":\"c%d\",\"image\":\"x\",\"command\":[\"true\"]}",
                      i ? "," : "", i);
    sl_buf_puts(&b, "]");
    make_pod(&w, "too-many", "", sl_buf_str(&b));
    wait_phase(&w, "too-many", "Failed");
    assert_string_equal(sl_json_str(pod_now(&w, "too-many"), "status.reason"), "OutOfContainers");
    sl_buf_done(&b);
    end(&w);
}

/* Variables that double each time end at a ceiling. */
static void environment_bomb(void **state) {
    struct world w;
    struct sl_buf b;
    (void)state;

    begin(&w, 0);
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_puts(&b, "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":"
                    "\"x\",\"command\":[\"true\"],\"env\":["
                    "{\"name\":\"V0\",\"value\":\"xxxxxxxxxxxxxxxx\"},{\"name\":\"\",\"value\":"
                    "\"x\"},{\"name\":\"A=B\",\"value\":\"x\"}");
    for (int i = 1; i < 100; i++)
        sl_buf_printf(&b, ",{\"name\":\"V%d\",\"value\":\"$(V%d)$(V%d)\"}", i, i - 1, i - 1);
    sl_buf_puts(&b, "]}]");
    make_pod(&w, "a", "", sl_buf_str(&b));
    wait_reason(&w, "a", "main", "state.waiting.reason", "CreateContainerConfigError");
    assert_true(
        strstr(sl_json_str(status_of(&w, "a", "main"), "state.waiting.message"), "longer than"));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":"
                    "\"x\",\"command\":[\"true\"],\"env\":["
                    "{\"name\":\"V0\",\"value\":\"");
    for (int i = 0; i < 100000; i++)
        sl_buf_putc(&b, 'x');
    sl_buf_puts(&b, "\"}");
    for (int i = 1; i < 400; i++)
        sl_buf_printf(&b, ",{\"name\":\"V%d\",\"value\":\"$(V0)\"}", i);
    sl_buf_puts(&b, "]}]");
    make_pod(&w, "b", "", sl_buf_str(&b));
    wait_reason(&w, "b", "main", "state.waiting.message", "the environment is larger than 2 MiB");
    sl_buf_done(&b);
    end(&w);
}

/* Objects that no API server would have let through. */
static void malformed_specs(void **state) {
    static const char *const specs[] = {
        "\"containers\":7",
        "\"containers\":[]",
        "\"containers\":[{}]",
        "\"containers\":[{\"name\":7,\"command\":[1,2],\"env\":[{\"name\":[]}],\"volumeMounts\":[{}"
        "]}]",
        "\"containers\":[{\"name\":\"main\",\"command\":{\"a\":1}}],\"initContainers\":{}",
        "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"],\"volumeMounts\":[{\"name\":"
        "\"v\",\"mountPath\":\"x\"},{\"name\":\"none\","
        "\"mountPath\":\"/"
        "y\"}]}],\"volumes\":[{\"name\":\"v\"},7,{}],\"terminationGracePeriodSeconds\":-5,"
        "\"activeDeadlineSeconds\":"
        "99999999999999",
        "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"],\"livenessProbe\":{\"httpGet\":{"
        "\"port\":\"none\"},\"periodSeconds\":-1},"
        "\"readinessProbe\":{},\"startupProbe\":{\"tcpSocket\":{\"port\":99999}}}]",
    };
    struct world w;
    char name[20];
    (void)state;

    begin(&w, 0);
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        make_pod(&w, name, "", specs[i]);
    }
    turns(&w, 300);
    make_sh(&w, "fine", "Never", "true");
    wait_phase(&w, "fine", "Succeeded");
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        delete_pod(&w, name, 1);
    }
    leap(&w, 2 * SL_SEC);
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        wait_phase(&w, name, "gone");
    }
    end(&w);
}

/* ---- probes ---- */

#define PROBE "GET /healthz HTTP/1.1\r\nX-A: b\r\n"

static void probes(void **state) {
    struct world w;
    char spec[2000];
    int port, fd;
    (void)state;

    begin(&w, 0);
    fd = listen_somewhere(&port);
    (void)snprintf(
        spec, sizeof spec,
        "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":600,\"containers\":[{"
        "\"name\":\"main\",\"image\":\"x\",\"ports\":"
        "[{\"name\":\"web\",\"containerPort\":%d}],\"command\":[\"sleep\",\"%s\"],\"startupProbe\":"
        "{\"exec\":{\"command\":[\"test\","
        "\"-e\",\"../../../"
        "up\"]},\"periodSeconds\":1,\"timeoutSeconds\":600,\"failureThreshold\":100},"
        "\"readinessProbe\":{\"httpGet\":{\"path\":\"/healthz\","
        "\"port\":\"web\",\"httpHeaders\":[{\"name\":\"X-A\",\"value\":\"b\"}]},\"periodSeconds\":"
        "1,\"timeoutSeconds\":600,\"failureThreshold\":1},"
        "\"livenessProbe\":{\"exec\":{\"command\":[\"sh\",\"-c\",\"test ! -e "
        "../../../dead\"]},\"periodSeconds\":1,\"timeoutSeconds\":600,\"failureThreshold\":2}}]",
        port, w.marker);
    make_pod(&w, "a", "", spec);
    wait_phase(&w, "a", "Running");
    turns(&w, 100);
    assert_false(sl_json_bool(status_of(&w, "a", "main"), "started", true));
    assert_string_equal(condition_of(&w, "a", "Ready", "status"), "False");
    assert_string_equal(condition_of(&w, "a", "Ready", "message"),
                        "containers with unready status: [main]");
    (void)snprintf(spec, sizeof spec, "%s/pods/up", w.dir);
    assert_int_equal(klet_file_write(spec, "", 0, 0644), 0);
    for (sl_time until = real_now() + PATIENCE;
         real_now() < until && strcmp(condition_of(&w, "a", "Ready", "status"), "True") != 0;) {
        leap(&w, 20 * SL_MSEC);
        (void)answer_one(&w, fd, PROBE, "HTTP/1.1 204 No Content\r\n\r\n");
    }
    assert_string_equal(condition_of(&w, "a", "Ready", "status"), "True");
    for (sl_time until = real_now() + PATIENCE;
         real_now() < until && strcmp(condition_of(&w, "a", "Ready", "status"), "False") != 0;) {
        leap(&w, 20 * SL_MSEC);
        (void)answer_one(&w, fd, PROBE, "HTTP/1.1 503 Sorry\r\n\r\n");
    }
    assert_string_equal(condition_of(&w, "a", "Ready", "status"), "False");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1), 0);
    (void)snprintf(spec, sizeof spec, "%s/pods/dead", w.dir);
    assert_int_equal(klet_file_write(spec, "", 0, 0644), 0);
    for (sl_time until = real_now() + PATIENCE;
         real_now() < until && sl_json_int(status_of(&w, "a", "main"), "restartCount", -1) < 1;) {
        leap(&w, 20 * SL_MSEC);
        (void)answer_one(&w, fd, PROBE, "nonsense");
    }
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1), 1);
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "lastState.terminated.exitCode", -1),
                     143);
    (void)close(fd);
    end(&w);
}

/* ---- limits, on a folder that looks like a cgroup ---- */

static void expect_file(const char *folder, const char *name, const char *text) {
    char path[300], got[100] = "";

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_true(fgets(got, sizeof got, f) || !*text);
    (void)fclose(f);
    assert_string_equal(got, text);
}

static void cgroup_limits(void **state) {
    char root[64] = "/tmp/sluice-test-XXXXXX", path[300], *folder = NULL;
    (void)state;

    assert_non_null(mkdtemp(root));
    struct klet_cgroups *g = klet_cgroups_new(root); /* no controllers */
    assert_false(klet_cgroups_on(g));
    assert_int_equal(klet_cgroup_make(g, "x", 1, 1, &folder), -1);
    assert_null(folder);
    klet_cgroups_free(g);
    (void)snprintf(path, sizeof path, "%s/sluice.pods.1", root); /* of a run that was killed */
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/cgroup.controllers", root);
    assert_int_equal(klet_file_write(path, "cpuset cpu io memory pids\n", 26, 0644), 0);
    g = klet_cgroups_new(root);
    assert_true(klet_cgroups_on(g));
    expect_file(root, "cgroup.subtree_control", "+cpu +memory +pids");
    (void)snprintf(path, sizeof path, "%s/sluice.pods.1", root);
    assert_int_equal(access(path, F_OK), -1);
    int fd = klet_cgroup_make(g, "one", 1500, 64 << 20, &folder);
    assert_true(fd >= 0);
    (void)close(fd);
    expect_file(folder, "cpu.max", "150000 100000");
    expect_file(folder, "memory.max", "67108864");
    expect_file(folder, "memory.oom.group", "1");
    expect_file(folder, "pids.max", "8192");
    assert_false(klet_cgroup_oom(folder));
    (void)snprintf(path, sizeof path, "%s/memory.events", folder);
    assert_int_equal(klet_file_write(path, "low 0\noom 1\noom_kill 2\n", 23, 0644), 0);
    assert_true(klet_cgroup_oom(folder));
    sl_freep(&folder);
    fd = klet_cgroup_make(g, "free", 0, 0, &folder); /* no limits */
    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(path, sizeof path, "%s/cpu.max", folder);
    assert_int_equal(access(path, F_OK), -1);
    sl_freep(&folder);
    klet_cgroups_free(g);
    klet_folder_remove(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_much),
        cmocka_unit_test(binary_output),
        cmocka_unit_test(followed),
        cmocka_unit_test(no_such_log),
        cmocka_unit_test(a_thousand_containers),
        cmocka_unit_test(environment_bomb),
        cmocka_unit_test(malformed_specs),
        cmocka_unit_test(probes),
        cmocka_unit_test(cgroup_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
