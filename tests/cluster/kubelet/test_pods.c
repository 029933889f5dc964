/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of this machine as real processes: how they begin, end, are restarted and deleted, and what
 * is said of them.
 */
#include "kubelet_fixture.h"

static void succeeds_in_two_writes(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "echo out; echo err >&2; sleep 0.2");
    wait_phase(&w, "a", "Running");
    assert_string_equal(condition_of(&w, "a", "Ready", "status"), "True");
    assert_true(*sl_json_str(status_of(&w, "a", "main"), "state.running.startedAt"));
    wait_phase(&w, "a", "Succeeded");
    assert_int_equal(w.writes, 2);
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 0);
    assert_string_equal(sl_json_str(status_of(&w, "a", "main"), "state.terminated.reason"),
                        "Completed");
    assert_string_equal(condition_of(&w, "a", "Ready", "reason"), "PodCompleted");
    assert_string_equal(condition_of(&w, "a", "Initialized", "status"), "True");
    assert_true(*sl_json_str(pod_now(&w, "a"), "status.startTime"));
    assert_true(*sl_json_str(pod_now(&w, "a"), "status.podIP"));
    expect_log(&w, "a", "main", false, "out\nerr\n");
    turns(&w, 20);
    assert_int_equal(w.writes, 2); /* and no more */
    delete_pod(&w, "a", 0);
    turns(&w, 20);
    char logs[100];
    (void)snprintf(logs, sizeof logs, "%s/logs", w.dir);
    assert_int_equal(rmdir(logs), 0); /* the log went with the object */
    end(&w);
}

static void exit_codes(void **state) {
    static const struct {
        const char *script, *phase, *reason;
        int code;
    } cases[] = {
        {"exit 0", "Succeeded", "Completed", 0},  {"exit 3", "Failed", "Error", 3},
        {"kill -9 $$$$", "Failed", "Error", 137}, {"kill -TERM $$$$", "Failed", "Error", 143},
        {"exit 255", "Failed", "Error", 255},
    };
    struct world w;
    char name[20];
    (void)state;

    begin(&w, 0);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        make_sh(&w, name, "Never", cases[i].script);
    }
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        wait_phase(&w, name, cases[i].phase);
        assert_int_equal(sl_json_int(status_of(&w, name, "main"), "state.terminated.exitCode", -1),
                         cases[i].code);
        assert_string_equal(sl_json_str(status_of(&w, name, "main"), "state.terminated.reason"),
                            cases[i].reason);
    }
    end(&w);
}

static void what_cannot_start(void **state) {
    static const struct {
        const char *spec, *words;
    } cases[] = {
        {"\"command\":[\"no-such-program-here\"]", "executable file not found in $PATH"},
        {"\"command\":[\"/no/such/file\"]", "No such file or directory"},
        {"\"command\":[\"/etc/passwd\"]", "Permission denied"},
        {"\"image\":\"registry.example/team/no-such-image:v1\"", "images are not pulled"},
        {"\"image\":\"x\",\"args\":[\"a\"]", "give it a command"},
        {"\"image\":\"\"", "give it a command"},
        {"\"command\":[\"\"]", "exec: \"\""},
    };
    struct world w;
    char name[20], spec[300];
    (void)state;

    begin(&w, 0);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        (void)snprintf(spec, sizeof spec,
                       "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",%s}]",
                       cases[i].spec);
        make_pod(&w, name, "", spec);
    }
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        (void)snprintf(name, sizeof name, "p%zu", i);
        wait_phase(&w, name, "Failed");
        yyjson_val *s = status_of(&w, name, "main");
        assert_string_equal(sl_json_str(s, "state.terminated.reason"), "StartError");
        assert_int_equal(sl_json_int(s, "state.terminated.exitCode", -1), 128);
        if (!strstr(sl_json_str(s, "state.terminated.message"), cases[i].words))
            fail_msg("%s: %s", cases[i].spec, sl_json_str(s, "state.terminated.message"));
    }
    end(&w);
}

/* An image that is called as a program of this machine means that one. */
static void image_is_a_program(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"r.example:"
             "5000/t/echo:v1@x\","
             "\"args\":[\"$(HOSTNAME)\",\"$$(A)\",\"$(NO)\"]}]");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "a $(A) $(NO)\n");
    end(&w);
}

static void environment(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_object(
        &w, "/api/v1/namespaces/default/configmaps",
        "{\"metadata\":{\"name\":\"cm\"},\"data\":{\"k\":\"from-map\",\"bad=name\":\"x\"}}");
    make_object(&w, "/api/v1/namespaces/default/secrets",
                "{\"metadata\":{\"name\":\"se\"},\"data\":{\"s\":\"c2VjcmV0\"}}");
    make_pod(
        &w, "a", "\"labels\":{\"app\":\"web\"}",
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
        "\"resources\":{\"limits\":"
        "{\"cpu\":\"1500m\",\"memory\":\"64Mi\"}},\"envFrom\":[{\"prefix\":\"P_\",\"configMapRef\":"
        "{\"name\":\"cm\"}},"
        "{\"secretRef\":{\"name\":\"absent\",\"optional\":true}}],\"env\":["
        "{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"$(A)-$(P_k)-$(C)-$$(A)\"},{"
        "\"name\":\"C\",\"value\":\"c\"},"
        "{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},"
        "{\"name\":\"L\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.labels['app']\"}}},"
        "{\"name\":\"NODE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.nodeName\"}}},"
        "{\"name\":\"CPU\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}},"
        "{\"name\":\"MEM\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.memory\","
        "\"divisor\":\"1Mi\"}}},"
        "{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"se\",\"key\":\"s\"}}},"
        "{\"name\":\"O\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":\"none\","
        "\"optional\":true}}}],"
        "\"command\":[\"sh\",\"-c\",\"echo $A,$B,$N,$L,$NODE,$CPU,$MEM,$S,${O-unset},$P_k\"]}]");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false,
               "1,1-from-map-$(C)-$(A),a,web,machine,2,64,secret,unset,from-map\n");
    end(&w);
}

/* What it refers to comes later. */
static void waits_for_a_configmap(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
             "\"env\":[{\"name\":\"A\","
             "\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"late\",\"key\":\"k\"}}}],\"command\":["
             "\"sh\",\"-c\",\"echo $A\"]}]");
    wait_reason(&w, "a", "main", "state.waiting.reason", "CreateContainerConfigError");
    assert_string_equal(sl_json_str(status_of(&w, "a", "main"), "state.waiting.message"),
                        "configmap \"late\" not found");
    assert_string_equal(phase_of(&w, "a"), "Pending");
    make_object(&w, "/api/v1/namespaces/default/configmaps",
                "{\"metadata\":{\"name\":\"late\"},\"data\":{\"k\":\"v\"}}");
    leap(&w, 3 * SL_SEC);
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "v\n");
    end(&w);
}

static void init_and_sidecar(void **state) {
    struct world w;
    char spec[1500];
    (void)state;

    begin(&w, 0);
    (void)snprintf(spec, sizeof spec,
                   "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
                   "\"initContainers\":["
                   "{\"name\":\"one\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"echo one >> "
                   "$SLUICE_VOLUME_V/f\"]},"
                   "{\"name\":\"side\",\"image\":\"x\",\"restartPolicy\":\"Always\",\"command\":["
                   "\"sh\",\"-c\",\"echo side >> "
                   "$SLUICE_VOLUME_V/f; exec sleep %s\"]},"
                   "{\"name\":\"two\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"sleep 0.1; echo "
                   "two >> $SLUICE_VOLUME_V/f\"]}],"
                   "\"containers\":[{\"name\":\"m1\",\"image\":\"x\",\"command\":[\"sh\",\"-c\","
                   "\"cat $SLUICE_VOLUME_V/f\"]},"
                   "{\"name\":\"m2\",\"image\":\"x\",\"command\":[\"sleep\",\"0.2\"]}]",
                   w.marker);
    make_pod(&w, "a", "", spec);
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "m1", false, "one\nside\ntwo\n");
    assert_int_equal(sl_json_int(status_of(&w, "a", "side"), "state.terminated.exitCode", -1), 143);
    assert_int_equal(sl_json_int(status_of(&w, "a", "two"), "state.terminated.exitCode", -1), 0);
    end(&w);
}

static void init_fails(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":\"i\",\"image\":\"x\","
             "\"command\":[\"false\"]}],"
             "\"containers\":[{\"name\":\"m\",\"image\":\"x\",\"command\":[\"true\"]}]");
    make_pod(&w, "b", "",
             "\"restartPolicy\":\"OnFailure\",\"initContainers\":[{\"name\":\"i\",\"image\":\"x\","
             "\"command\":[\"false\"]}],"
             "\"containers\":[{\"name\":\"m\",\"image\":\"x\",\"command\":[\"true\"]}]");
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "i"), "state.terminated.exitCode", -1), 1);
    wait_reason(&w, "b", "i", "state.waiting.reason", "CrashLoopBackOff");
    assert_string_equal(phase_of(&w, "b"), "Pending");
    assert_string_equal(condition_of(&w, "b", "Initialized", "reason"), "ContainersNotInitialized");
    assert_string_equal(condition_of(&w, "b", "Initialized", "message"),
                        "containers with incomplete status: [i]");
    end(&w);
}

static void restarts_with_back_off(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "OnFailure",
            "f=../../../count; echo x >> $f; n=$(wc -l < $f); echo run $n; [ $n -ge 4 ]");
    wait_reason(&w, "a", "main", "state.waiting.reason", "CrashLoopBackOff");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1),
                     1); /* the first is at once */
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "lastState.terminated.exitCode", -1),
                     1);
    assert_true(strstr(sl_json_str(status_of(&w, "a", "main"), "state.waiting.message"),
                       "back-off 10s restarting"));
    assert_string_equal(phase_of(&w, "a"), "Running");
    expect_log(&w, "a", "main", false, "run 2\n");
    expect_log(&w, "a", "main", true, "run 2\n");
    leap(&w, 4 * SL_SEC);
    turns(&w, 50);
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1), 1);
    leap(&w, 7 * SL_SEC);
    WAIT(&w, strstr(sl_json_str(status_of(&w, "a", "main"), "state.waiting.message"),
                    "back-off 20s restarting"));
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1), 2);
    leap(&w, 21 * SL_SEC);
    wait_phase(&w, "a", "Succeeded");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "restartCount", -1), 3);
    expect_log(&w, "a", "main", false, "run 4\n");
    expect_log(&w, "a", "main", true, "run 3\n");
    end(&w);
}

/* It forks, takes a session of its own, ignores what can be ignored; nothing of it is left. */
static void nothing_is_left(void **state) {
    struct world w;
    char script[400];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script,
                   "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; sleep %s & sleep %s' "
                   ">/dev/null 2>&1 &) ; "
                   "setsid sleep %s & sleep 0.1; echo done",
                   w.marker, w.marker, w.marker);
    make_sh(&w, "a", "Never", script);
    wait_phase(&w, "a", "Succeeded");
    assert_int_equal(left(&w), 0);
    expect_log(&w, "a", "main", false, "done\n");
    end(&w);
}

static void deleted_gently(void **state) {
    struct world w;
    char script[200];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script,
                   "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done # %s",
                   w.marker);
    make_sh(&w, "a", "Always", script);
    wait_phase(&w, "a", "Running");
    wait_reported(&w, "a");
    delete_pod(&w, "a", 30);
    wait_phase(&w, "a", "gone");
    assert_int_equal(left(&w), 0);
    end(&w);
}

static void deleted_by_force(void **state) {
    struct world w;
    char script[200];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script,
                   "trap '' TERM; echo up; while :; do sleep 0.05; done # %s", w.marker);
    make_sh(&w, "a", "Always", script);
    wait_phase(&w, "a", "Running");
    wait_reported(&w, "a");
    delete_pod(&w, "a", 20);
    turns(&w, 100);
    assert_string_equal(phase_of(&w, "a"), "Running"); /* it ignores SIGTERM */
    assert_true(left(&w) > 0);
    leap(&w, 21 * SL_SEC);
    wait_phase(&w, "a", "gone");
    assert_int_equal(left(&w), 0);
    end(&w);
}

static void open_files(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "ulimit -n");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "321\n");
    end(&w);
}

static void pre_stop(void **state) {
    struct world w;
    char out[100];
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/"
             "tmp\"}}],\"containers\":[{\"name\":"
             "\"main\",\"image\":\"x\",\"env\":[{\"name\":\"F\",\"value\":\"../../../"
             "hook\"}],\"command\":[\"sh\",\"-c\","
             "\"trap 'test -e $F && exit 7' TERM; echo up; while :; do sleep 0.02; "
             "done\"],\"lifecycle\":{\"preStop\":{\"exec\":{"
             "\"command\":[\"sh\",\"-c\",\"echo $HOSTNAME > $F\"]}}}}]");
    wait_phase(&w, "a", "Running");
    wait_reported(&w, "a");
    /* Its final status is observed by a client that holds it with a finalizer. */
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, PODS "/a", SL_MERGE_PATCH,
                                "{\"metadata\":{\"finalizers\":[\"t/f\"]}}", NULL),
                     200);
    delete_pod(&w, "a", 30);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 7);
    (void)snprintf(out, sizeof out, "%s/pods/hook", w.dir);
    assert_int_equal(access(out, F_OK), 0);
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, PODS "/a", SL_MERGE_PATCH,
                                "{\"metadata\":{\"finalizers\":null}}", NULL),
                     200);
    wait_phase(&w, "a", "gone");
    end(&w);
}

static void deadline(void **state) {
    struct world w;
    char spec[300];
    (void)state;

    begin(&w, 0);
    (void)snprintf(spec, sizeof spec,
                   "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":5,\"containers\":[{"
                   "\"name\":\"main\",\"image\":\"x\","
                   "\"command\":[\"sleep\",\"%s\"]}]",
                   w.marker);
    make_pod(&w, "a", "", spec);
    wait_phase(&w, "a", "Running");
    leap(&w, 6 * SL_SEC);
    wait_phase(&w, "a", "Failed");
    assert_string_equal(sl_json_str(pod_now(&w, "a"), "status.reason"), "DeadlineExceeded");
    end(&w);
}

/* As after a reboot: what ran is lost; its policy decides what follows. */
static void started_again(void **state) {
    struct world w;
    char script[100];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script, "echo here; exec sleep %s", w.marker);
    make_sh(&w, "never", "Never", script);
    make_sh(&w, "always", "Always", script);
    make_sh(&w, "done", "Never", "echo done");
    wait_phase(&w, "never", "Running");
    wait_phase(&w, "always", "Running");
    wait_phase(&w, "done", "Succeeded");
    stop(&w, 0);
    assert_int_equal(left(&w), 0);
    start_kubelet(&w, 0);
    wait_phase(&w, "never", "Failed");
    assert_string_equal(sl_json_str(status_of(&w, "never", "main"), "state.terminated.reason"),
                        "ContainerStatusUnknown");
    assert_int_equal(sl_json_int(status_of(&w, "never", "main"), "state.terminated.exitCode", -1),
                     137);
    wait_reason(&w, "always", "main", "lastState.terminated.reason", "ContainerStatusUnknown");
    WAIT(&w, sl_json_at(status_of(&w, "always", "main"), "state.running"));
    turns(&w, 50);
    assert_int_equal(sl_json_int(status_of(&w, "always", "main"), "restartCount", -1), 1);
    expect_log(&w, "done", "main", false, "done\n");
    assert_string_equal(phase_of(&w, "done"), "Succeeded");
    end(&w);
}

/* Killed like this program may be: by a signal that cannot be caught. */
static void supervisors_end_with_us(void **state) {
    struct world w;
    char script[200];
    int ready[2];
    (void)state;

    begin(&w, 0);
    stop(&w, 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should this test fail */
        assert_int_equal(uv_loop_fork(&w.loop), 0);
        start_kubelet(&w, 0);
        (void)snprintf(script, sizeof script, "(setsid sleep %s &); exec sleep %s", w.marker,
                       w.marker);
        make_sh(&w, "a", "Never", script);
        wait_phase(&w, "a", "Running");
        while (left(&w) < 2)
            turn(&w);
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    char c;
    assert_int_equal(read(ready[0], &c, 1), 1);
    bool both = false; /* a process in execve may not show its arguments */
    for (int i = 0; i < 6000 && !both; i++) {
        both = left(&w) >= 2;
        (void)usleep(10000);
    }
    assert_true(both);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 6000 && left(&w) > 0; i++)
        (void)usleep(10000);
    assert_int_equal(left(&w), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    end(&w);
}

static void termination_message(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "echo last words > $SLUICE_TERMINATION_LOG; exit 1");
    make_pod(
        &w, "b", "",
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
        "\"terminationMessagePolicy\":"
        "\"FallbackToLogsOnError\",\"command\":[\"sh\",\"-c\",\"echo from the log; exit 1\"]}]");
    wait_phase(&w, "a", "Failed");
    wait_phase(&w, "b", "Failed");
    assert_string_equal(sl_json_str(status_of(&w, "a", "main"), "state.terminated.message"),
                        "last words\n");
    assert_string_equal(sl_json_str(status_of(&w, "b", "main"), "state.terminated.message"),
                        "from the log\n");
    end(&w);
}

/* Another client ends the pod: so do we, and leave its status. */
static void failed_by_others(void **state) {
    struct world w;
    char script[100];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script, "exec sleep %s", w.marker);
    make_sh(&w, "a", "Always", script);
    wait_phase(&w, "a", "Running");
    assert_int_equal(fakeapi_do(w.api, SL_PATCH, PODS "/a/status", SL_MERGE_PATCH,
                                "{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}", NULL),
                     200);
    WAIT(&w, left(&w) == 0);
    turns(&w, 50);
    assert_string_equal(phase_of(&w, "a"), "Failed");
    assert_string_equal(sl_json_str(pod_now(&w, "a"), "status.reason"), "Evicted");
    assert_int_equal(w.rt->by_name.n, 0);
    end(&w);
}

static void note_reason(void *ctx, struct yyjson_val *o) {
    struct sl_buf *b = ctx;

    sl_buf_printf(b, "%s/%s ", sl_json_str(o, "regarding.name"), sl_json_str(o, "reason"));
}

/* Only of what goes wrong; and not without end. */
static void events(void **state) {
    struct world w;
    struct sl_buf b;
    char name[20];
    (void)state;

    begin(&w, 0);
    make_sh(&w, "fine", "Never", "true");
    make_sh(&w, "crash", "Always", "exit 1");
    make_pod(&w, "none", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\"}]");
    wait_phase(&w, "fine", "Succeeded");
    wait_phase(&w, "none", "Failed");
    wait_reason(&w, "crash", "main", "state.waiting.reason", "CrashLoopBackOff");
    turns(&w, 50);
    sl_buf_init(&b, 65536);
    assert_int_equal(fakeapi_each(w.api, "/apis/events.k8s.io/v1/events", note_reason, &b), 2);
    assert_string_equal(sl_buf_str(&b), "crash/BackOff none/Failed ");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        make_pod(
            &w, name, "",
            "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\"}]");
    }
    wait_phase(&w, "n99", "Failed");
    turns(&w, 50);
    assert_in_range(fakeapi_each(w.api, "/apis/events.k8s.io/v1/events", note_reason, &b), 20, 90);
    sl_buf_done(&b);
    end(&w);
}

/* With every fault that the API has: each runs once, and all is reported in the end. */
static void with_faults(void **state) {
    const struct fakeapi_faults faults = {.lose_request = 20,
                                          .lose_reply = 20,
                                          .late_reply = 10,
                                          .delay = 10,
                                          .too_many = 30,
                                          .server_error = 20,
                                          .conflict = 5,
                                          .cut_watch = 20,
                                          .lag_watch = 20,
                                          .garble = 40,
                                          .compact = 50};
    struct world w;
    char name[20], script[100], path[100];
    struct stat st;
    (void)state;

    begin(&w, 0);
    fakeapi_set_faults(w.api, &faults);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(script, sizeof script, "printf x >> ../../../ran%d; exit %d", i, i % 2);
        make_sh(&w, name, "Never", script);
        leap(&w, 200 * SL_MSEC);
    }
    for (int i = 0; i < 600; i++)
        leap(&w, 500 * SL_MSEC);
    fakeapi_set_faults(w.api, NULL);
    for (int i = 0; i < 100; i++)
        leap(&w, 500 * SL_MSEC);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        wait_phase(&w, name, i % 2 ? "Failed" : "Succeeded");
        (void)snprintf(path, sizeof path, "%s/pods/ran%d", w.dir, i);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 1);
    }
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(succeeds_in_two_writes),
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(what_cannot_start),
        cmocka_unit_test(image_is_a_program),
        cmocka_unit_test(environment),
        cmocka_unit_test(waits_for_a_configmap),
        cmocka_unit_test(init_and_sidecar),
        cmocka_unit_test(init_fails),
        cmocka_unit_test(restarts_with_back_off),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(deleted_gently),
        cmocka_unit_test(deleted_by_force),
        cmocka_unit_test(open_files),
        cmocka_unit_test(pre_stop),
        cmocka_unit_test(deadline),
        cmocka_unit_test(started_again),
        cmocka_unit_test(supervisors_end_with_us),
        cmocka_unit_test(termination_message),
        cmocka_unit_test(with_faults),
        cmocka_unit_test(events),
        cmocka_unit_test(failed_by_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
