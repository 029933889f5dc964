/* SPDX-License-Identifier: Apache-2.0 */
/* What a container does when it is started and before it is ended: postStart and preStop. */
#include "kubelet_fixture.h"

/* A pod of one or two containers: "main" runs the script with these hooks, "other" sleeps. */
static void make_hooked(struct world *w, const char *name, const char *policy, const char *script,
                        const char *hooks, bool other) {
    struct sl_buf b;

    sl_buf_init(&b, 65536);
    sl_buf_printf(&b,
                  "\"restartPolicy\":\"%s\",\"terminationGracePeriodSeconds\":600,\"containers\":[{"
                  "\"name\":\"main\",\"image\":\"x\",\"env\":[{\"name\":\"D\",\"value\":\"%s\"}],"
                  "\"lifecycle\":{%s},\"command\":[\"sh\",\"-c\",",
                  policy, w->dir, hooks);
    sl_buf_json(&b, script);
    sl_buf_printf(&b, "]}");
    if (other)
        sl_buf_printf(
            &b, ",{\"name\":\"other\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"sleep %s\"]}",
            w->marker);
    sl_buf_puts(&b, "]");
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* One that runs until SIGTERM, and then ends with 3. */
static const char *waits(const struct world *w) {
    static char script[100];

    (void)snprintf(script, sizeof script, "trap 'exit 3' TERM; touch $D/set; sleep %s & wait",
                   w->marker);
    return script;
}

static bool file_exists(const struct world *w, const char *file) {
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", w->dir, file);
    return access(path, F_OK) == 0;
}

static void put_there(const struct world *w, const char *file) {
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", w->dir, file);
    assert_int_equal(klet_file_write(path, "", 0, 0644), 0);
}

struct reasons {
    const char *which;
    uint32_t n;
};

static void count_reason(void *ctx, struct yyjson_val *o) {
    struct reasons *r = ctx;

    r->n += strcmp(sl_json_str(o, "reason"), r->which) == 0;
}

static uint32_t events_of(struct world *w, const char *reason) {
    struct reasons r = {.which = reason};

    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", count_reason, &r);
    return r.n;
}

/* The container is not started, and the next one not at all, before the hook is through. */
static void post_start(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_hooked(&w, "a", "Never", waits(&w),
                "\"postStart\":{\"exec\":{\"command\":[\"sh\",\"-c\",\"touch $D/in; while [ ! -e "
                "$D/go ]; do sleep 0.01; done\"]}}",
                true);
    while (!file_exists(&w, "in"))
        turn(&w);
    turns(&w, 200);
    assert_string_equal(phase_of(&w, "a"), "Pending");
    assert_string_equal(sl_json_str(status_of(&w, "a", "main"), "state.waiting.reason"),
                        "ContainerCreating");
    assert_string_equal(sl_json_str(status_of(&w, "a", "other"), "state.waiting.reason"),
                        "ContainerCreating");
    WAIT(&w, left(&w) == 2); /* the shell of "main" and its sleep */
    put_there(&w, "go");
    wait_phase(&w, "a", "Running");
    WAIT(&w, sl_json_bool(status_of(&w, "a", "main"), "ready", false) &&
                 sl_json_bool(status_of(&w, "a", "other"), "ready", false));
    assert_int_equal(events_of(&w, "FailedPostStartHook"), 0);
    delete_pod(&w, "a", 1);
    wait_phase(&w, "a", "gone");
    end(&w);
}

/* A hook that fails ends the container, with its grace and its preStop hook; then its policy holds.
 */
static void post_start_fails(void **state) {
    static const char hooks[] =
        "\"postStart\":{\"exec\":{\"command\":[\"sh\",\"-c\",\"while [ ! -e $D/set ]; do sleep "
        "0.01; "
        "done; false\"]}},"
        "\"preStop\":{\"exec\":{\"command\":[\"sh\",\"-c\",\"touch $D/pre\"]}}";
    struct world w;
    (void)state;

    begin(&w, 0);
    make_hooked(&w, "a", "Never", waits(&w), hooks, false);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 3);
    assert_string_equal(sl_json_str(status_of(&w, "a", "main"), "state.terminated.reason"),
                        "Error");
    assert_true(file_exists(&w, "pre"));
    WAIT(&w, events_of(&w, "FailedPostStartHook") > 0);
    turns(&w, 50);
    assert_int_equal(events_of(&w, "FailedPostStartHook"), 1);
    make_hooked(&w, "b", "Always", waits(&w), hooks, false);
    wait_reason(&w, "b", "main", "state.waiting.reason", "CrashLoopBackOff");
    assert_int_equal(sl_json_int(status_of(&w, "b", "main"), "restartCount", -1), 1);
    WAIT(&w, events_of(&w, "FailedPostStartHook") > 2);
    turns(&w, 50);
    assert_int_equal(events_of(&w, "FailedPostStartHook"), 3);
    /* One that cannot even be tried. */
    make_hooked(&w, "c", "Never", waits(&w),
                "\"postStart\":{\"exec\":{\"command\":[\"no-such-program\"]}}", false);
    wait_phase(&w, "c", "Failed");
    end(&w);
}

/* Both hooks by HTTP: any response is one; without a server there is none. */
static void by_http(void **state) {
    struct world w;
    char hooks[500];
    int port, fd;
    (void)state;

    begin(&w, 0);
    fd = listen_somewhere(&port);
    (void)snprintf(hooks, sizeof hooks,
                   "\"postStart\":{\"httpGet\":{\"path\":\"/on\",\"port\":%d}},"
                   "\"preStop\":{\"httpGet\":{\"path\":\"/off\",\"port\":%d}}",
                   port, port);
    make_hooked(&w, "a", "Never", waits(&w), hooks, false);
    while (!answer_one(&w, fd, "GET /on HTTP/1.1\r\nHost: 127.0.0.1:", "HTTP/1.1 500 No\r\n\r\n")) {
        assert_string_not_equal(phase_of(&w, "a"), "Running");
        turn(&w);
    }
    wait_phase(&w, "a", "Running");
    delete_pod(&w, "a", 30);
    while (!answer_one(&w, fd, "GET /off HTTP/1.1\r\n", "HTTP/1.1 200 Yes\r\n\r\n")) {
        assert_string_equal(phase_of(&w, "a"), "Running");
        turn(&w);
    }
    wait_phase(&w, "a", "gone");
    (void)close(fd);
    make_hooked(&w, "b", "Never", waits(&w), hooks, false);
    wait_phase(&w, "b", "Failed");
    WAIT(&w, events_of(&w, "FailedPostStartHook") > 0 && events_of(&w, "FailedPreStopHook") > 0);
    turns(&w, 50);
    assert_int_equal(events_of(&w, "FailedPostStartHook"), 1);
    assert_int_equal(events_of(&w, "FailedPreStopHook"), 1);
    end(&w);
}

/* A container that ends, or is deleted, does not wait for its hook, and nothing of that is left. */
static void ends_before_its_hook(void **state) {
    struct world w;
    char hooks[200];
    (void)state;

    begin(&w, 0);
    (void)snprintf(hooks, sizeof hooks,
                   "\"postStart\":{\"exec\":{\"command\":[\"sh\",\"-c\",\"touch $D/in; sleep "
                   "%s\"]}}",
                   w.marker);
    make_hooked(&w, "a", "Never", "while [ ! -e $D/in ]; do sleep 0.01; done; exit 5", hooks,
                false);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 5);
    assert_int_equal(events_of(&w, "FailedPostStartHook"), 0);
    make_hooked(&w, "b", "Never", waits(&w), hooks, false);
    turns(&w, 200);
    delete_pod(&w, "b", 30);
    wait_phase(&w, "b", "gone");
    make_hooked(&w, "c", "Never", waits(&w), hooks, false);
    turns(&w, 200); /* and when we end ourselves: the end of the test looks for what is left */
    end(&w);
}

static void sleeping(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_hooked(&w, "a", "Never", waits(&w),
                "\"postStart\":{\"sleep\":{\"seconds\":60}},\"preStop\":{\"sleep\":{\"seconds\":60}"
                "}",
                false);
    WAIT(&w, left(&w) > 0);
    turns(&w, 300);
    assert_string_equal(phase_of(&w, "a"), "Pending");
    leap(&w, 61 * SL_SEC);
    wait_phase(&w, "a", "Running");
    delete_pod(&w, "a", 300);
    turns(&w, 300);
    assert_string_equal(phase_of(&w, "a"), "Running");
    leap(&w, 61 * SL_SEC);
    wait_phase(&w, "a", "gone");
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(post_start), cmocka_unit_test(post_start_fails),
        cmocka_unit_test(by_http),    cmocka_unit_test(ends_before_its_hook),
        cmocka_unit_test(sleeping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
