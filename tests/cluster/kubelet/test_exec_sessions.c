/* SPDX-License-Identifier: Apache-2.0 */
/* Commands beside containers, as kubectl exec runs them. */
#include "exec_session_fixture.h"

static void streams_and_codes(void **state) {
    struct world w;
    (void)state;

    begin_sleeping(&w);
    expect(&w, "oe", "echo one; echo two >&2; exit 7", "one\n", "two\n", 7);
    expect(&w, "o", "echo one; echo two >&2", "one\n", "", 0);
    expect(&w, "e", "echo one; echo two >&2", "", "two\n", 0);
    expect(&w, "oe", "kill -9 $$", "", "", 137);
    expect(&w, "oe", "kill -15 $$", "", "", 143);
    expect(&w, "oe", "cat; readlink /proc/self/fd/0", "/dev/null\n", "", 0); /* nothing to read */
    expect(&w, "oe", "[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none", "none\n", "", 0);
    expect(&w, "oe", "echo '$(HOSTNAME)'", "$(HOSTNAME)\n", "", 0); /* arguments stay as they are */
    expect(&w, "oe", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", "", 0);
    end(&w);
}

/* The same variables, folder and volumes as the container. */
static void as_the_container(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
             "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"env\":[{\"name\":\"WORD\","
             "\"value\":\"said\"}],\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/mnt/v\"}],"
             "\"command\":[\"sh\",\"-c\",\"echo from > here; echo vol > $SLUICE_VOLUME_V/file; "
             "touch done; sleep 1000\"]}]");
    wait_phase(&w, "a", "Running");
    expect(&w, "oe",
           "while [ ! -e done ]; do sleep 0.01; done; cat here $SLUICE_VOLUME_V/file; echo $WORD",
           "from\nvol\nsaid\n", "", 0);
    end(&w);
}

/* As its user, also on a terminal, which is opened again by name. */
static void as_its_user(void **state) {
    struct world w;
    (void)state;

    if (geteuid() != 0)
        skip();
    begin(&w, 0);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsUser\":65534},"
             "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"command\":[\"sleep\",\"1000\"]}"
             "]");
    wait_phase(&w, "a", "Running");
    expect(&w, "oe", "id -u", "65534\n", "", 0);
    expect(&w, "ot", "echo one > $(tty); echo two > /dev/stderr; id -u", "one\r\ntwo\r\n65534\r\n",
           "", 0);
    end(&w);
}

static void in_its_cgroup(void **state) {
    struct world w;
    char path[300], text[10] = "";
    (void)state;

    begin(&w, 0);
    klet_cgroups_free(w.rt->cgroups); /* a folder that looks like one */
    (void)snprintf(path, sizeof path, "%s/cgroup.controllers", w.dir);
    assert_int_equal(klet_file_write(path, "cpu memory\n", 11, 0644), 0);
    (void)snprintf(path, sizeof path, "%s/cgroup.subtree_control", w.dir);
    assert_int_equal(klet_file_write(path, "", 0, 0644), 0);
    w.rt->cgroups = klet_cgroups_new(w.dir);
    make_sh(&w, "a", "Never", "sleep 1000");
    wait_phase(&w, "a", "Running");
    (void)snprintf(path, sizeof path, "%s/cgroup.procs",
                   klet_pod_container(klet_pod_find(w.rt, "default", "a"), "main")->cgroup);
    assert_int_equal(truncate(path, 0), 0);
    expect(&w, "oe", "true", "", "", 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text - 1), 1);
    (void)close(fd);
    assert_string_equal(text, "0"); /* it has tried to join */
    end(&w);
}

/* Its variables are those that it began with, whatever becomes of their sources: here they are read
 * again because another container is restarted. */
static void variables_stay(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_object(&w, "/api/v1/namespaces/default/configmaps",
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},"
                "\"data\":{\"WORD\":\"first\"}}");
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
             "\"envFrom\":[{\"configMapRef\":{\"name\":\"m\"}}],\"command\":[\"sleep\",\"1000\"]},"
             "{\"name\":\"other\",\"image\":\"x\",\"command\":[\"false\"]}]");
    wait_reason(&w, "a", "other", "state.waiting.reason", "CrashLoopBackOff");
    while (!sl_json_at(status_of(&w, "a", "main"), "state.running"))
        turn(&w);
    expect(&w, "oe", "echo $WORD", "first\n", "", 0);
    end(&w);
}

static void not_started(void **state) {
    const char *const none[] = {"no-such-program-here", NULL}, *const path[] = {"/no/such", NULL},
                      *const folder[] = {"/tmp", NULL}, *const empty[] = {NULL};
    static const struct {
        int code;
        const char *words;
    } want[] = {{127, "executable file not found in $PATH"},
                {127, "No such file or directory"},
                {126, "Permission denied"}};
    const char *const *const argvs[] = {none, path, folder};
    struct world w;
    struct session_events e;
    struct sl_err err;
    (void)state;

    begin_sleeping(&w);
    for (size_t i = 0; i < SL_LEN(want); i++) {
        assert_int_equal(try_open(&w, &e, "a", "main", "oe", argvs[i], &err), 0);
        wait_over(&e);
        assert_int_equal(e.code, want[i].code);
        assert_non_null(strstr(e.why, want[i].words));
        assert_non_null(strstr(e.why, argvs[i][0]));
        close_ear(&e);
    }
    assert_int_equal(try_open(&w, &e, "a", "main", "oe", empty, &err), SL_EINVAL);
    end(&w);
}

static void nobody_there(void **state) {
    const char *const argv[] = {"true", NULL};
    struct world w;
    struct session_events e;
    struct sl_err err;
    (void)state;

    begin(&w, 1);
    assert_int_equal(try_open(&w, &e, "a", "main", "o", argv, &err), SL_ENOENT);
    assert_string_equal(err.text, "container not found (\"main\")");
    make_sh(&w, "a", "Never", "true");
    wait_phase(&w, "a", "Succeeded");
    assert_int_equal(try_open(&w, &e, "a", "main", "o", argv, &err), SL_ENOENT);
    assert_string_equal(err.text, "container not found (\"main\")");
    make_sh(&w, "b", "Never", "sleep 1000");
    wait_phase(&w, "b", "Running");
    assert_int_equal(try_open(&w, &e, "b", "other", "o", argv, &err), SL_ENOENT);
    assert_string_equal(err.text, "container not found (\"other\")");
    assert_int_equal(try_open(&w, &e, "b", "other", "o", NULL, &err), SL_ENOENT);
    make_pod(&w, "s", "",
             "\"nodeName\":\"sim-0000\",\"containers\":[{\"name\":\"main\",\"image\":\"x\"}]");
    wait_phase(&w, "s", "Running");
    assert_int_equal(try_open(&w, &e, "s", "main", "o", argv, &err), SL_ENOENT);
    assert_non_null(strstr(err.text, "simulated node sim-0000: nothing runs there"));
    end(&w);
}

/* ---- input ---- */

/* More than a pipe holds, there and back, and the end of it. */
static void echoed(void **state) {
    struct world w;
    struct session_events e;
    char *bytes = noise(MUCH);
    (void)state;

    begin_sleeping(&w);
    open_sh(&w, &e, "a", "ioe", "cat; echo end >&2; exit 3");
    for (size_t at = 0; at < MUCH;) {
        const size_t n = MUCH - at < 40000 ? MUCH - at : 40000;
        const uint32_t before = e.rooms;
        const bool more = feed(&e, bytes + at, n);
        at += n;
        while (!more && e.rooms == before)
            turn(&w);
    }
    assert_true(e.rooms > 0);
    assert_int_equal(e.endings, 0);
    feed_end(&e);
    assert_true(feed(&e, "late", 4));
    wait_over(&e);
    assert_int_equal(e.code, 3);
    assert_int_equal(e.out.len, MUCH);
    assert_memory_equal(e.out.s, bytes, MUCH);
    assert_string_equal(sl_buf_str(&e.err), "end\n");
    close_ear(&e);
    /* All at once is taken too. */
    open_sh(&w, &e, "a", "io", "sleep 0.1; wc -c");
    assert_false(feed(&e, bytes, MUCH));
    feed_end(&e);
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "3145728\n");
    close_ear(&e);
    sl_freep(&bytes);
    end(&w);
}

/* One that reads nothing keeps its feeder waiting, and one that ends or closes its input lets him
 * go on. */
static void not_read(void **state) {
    struct world w;
    struct session_events e;
    char *bytes = noise(MUCH);
    (void)state;

    begin_sleeping(&w);
    open_sh(&w, &e, "a", "io",
            "while [ ! -e go ]; do sleep 0.01; done; exec <&-; echo shut; "
            "while [ -e go ]; do sleep 0.01; done");
    assert_false(feed(&e, bytes, MUCH));
    turns(&w, 100);
    assert_int_equal(e.rooms, 0);
    expect(&w, "o", "touch go", "", "", 0);
    wait_text(&e, &e.out, "shut");
    while (e.rooms == 0)
        turn(&w);
    for (int i = 0; i < 10; i++)
        assert_true(feed(&e, bytes, MUCH));
    expect(&w, "o", "rm go", "", "", 0);
    wait_over(&e);
    assert_int_equal(e.code, 0);
    close_ear(&e);
    for (int i = 0; i < 40; i++) { /* whichever is seen first: its end, or that of its input */
        open_sh(&w, &e, "a", "io", i % 2 ? "read x" : "true");
        (void)feed(&e, bytes, MUCH);
        wait_over(&e);
        assert_in_range(e.code, 0, 1);
        close_ear(&e);
    }
    /* A client that ignores backpressure: the input ends there. */
    open_sh(&w, &e, "a", "io", "sleep 0.3; wc -c");
    for (int i = 0; i < 10; i++)
        assert_false(feed(&e, bytes, MUCH));
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "15728640\n");
    close_ear(&e);
    open_sh(&w, &e, "a", "o", "cat"); /* no input was requested */
    assert_true(feed(&e, bytes, MUCH));
    wait_over(&e);
    assert_int_equal(e.out.len, 0);
    close_ear(&e);
    sl_freep(&bytes);
    end(&w);
}

/* ---- terminals ---- */

static void terminal(void **state) {
    struct world w;
    struct session_events e;
    (void)state;

    begin_sleeping(&w);
    expect(&w, "ot", "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all >&2; echo $TERM",
           "all\r\nxterm\r\n", "", 0);
    expect(&w, "ot", "echo via > /dev/tty; exit 4", "via\r\n", "", 4);
    expect(&w, "ot", "TERM=dumb; echo $TERM; kill -9 $$", "dumb\r\n", "", 137);
    open_sh(&w, &e, "a", "iot",
            "trap 'stty size; exit 5' WINCH; stty size; while :; do sleep 0.01; done");
    wait_text(&e, &e.out, "0 0\r\n");
    e.in_call = true;
    sl_kubelet_session_size(w.rt, e.talk, 132, 43);
    e.in_call = false;
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "0 0\r\n43 132\r\n");
    assert_int_equal(e.code, 5);
    close_ear(&e);
    /* Keys: lines, an interrupt, the end of input (also in the middle of a line). */
    open_sh(&w, &e, "a", "iot", "stty -echo; echo ready; cat");
    wait_text(&e, &e.out, "ready");
    type(&e, "line\n");
    wait_text(&e, &e.out, "line\r\n");
    type(&e, "half");
    feed_end(&e);
    wait_over(&e);
    assert_int_equal(e.code, 0);
    assert_string_equal(sl_buf_str(&e.out), "ready\r\nline\r\nhalf");
    close_ear(&e);
    open_sh(&w, &e, "a", "iot", "cat; exit 1");
    type(&e, "x\n");
    wait_text(&e, &e.out, "x\r\nx\r\n"); /* cat runs: a shell on its way to it may miss a signal */
    type(&e, "\003");
    wait_over(&e);
    assert_int_equal(e.code, 130);
    close_ear(&e);
    end(&w);
}

/* Nothing of the last output of a terminal is lost, however slowly it is read. */
static void terminal_last_output(void **state) {
    struct world w;
    struct session_events e;
    struct sl_buf want;
    (void)state;

    begin_sleeping(&w);
    sl_buf_init(&want, MAX_HEARD);
    for (int i = 1; i <= 20000; i++)
        sl_buf_printf(&want, "%d\r\n", i);
    for (int i = 0; i < 6; i++) {
        open_sh(&w, &e, "a", "ot", "seq 1 20000");
        e.hold_after = i % 2 ? want.len - 3000 : 0;
        e.keep = true; /* it may have received all by then, and the end */
        if (i % 2) {
            while (e.hold_after)
                turn(&w);
            turns(&w, 50);
            hold(&e, false);
        }
        wait_over(&e);
        assert_int_equal(e.out.len, want.len);
        assert_string_equal(sl_buf_str(&e.out), sl_buf_str(&want));
        close_ear(&e);
    }
    sl_buf_done(&want);
    end(&w);
}

/* A shell with jobs: all of them end with it, and those of one whose client goes. */
static void jobs(void **state) {
    struct world w;
    struct session_events e;
    char line[100];
    (void)state;

    begin_sleeping(&w);
    for (int i = 0; i < 2; i++) {
        open_sh(&w, &e, "a", "iot", "exec sh -i");
        (void)snprintf(line, sizeof line, "sleep %s & sleep %s & echo o''n\n", w.marker, w.marker);
        type(&e, line);
        wait_text(&e, &e.out, "on\r\n");
        wait_left(&w, 1 + 2);
        if (i == 0) {
            type(&e, "exit 6\n");
            wait_over(&e);
            assert_int_equal(e.code, 6);
        }
        close_ear(&e);
        wait_left(&w, 1);
    }
    end(&w);
}

/* ---- ends ---- */

static void closing_kills(void **state) {
    struct world w;
    struct session_events e;
    char script[200];
    (void)state;

    begin_sleeping(&w);
    (void)snprintf(script, sizeof script,
                   "trap '' HUP TERM; sleep %s & setsid sleep %s & echo on; cat", w.marker,
                   w.marker);
    open_sh(&w, &e, "a", "ioe", script);
    wait_text(&e, &e.out, "on");
    wait_left(&w, 1 + 3);
    close_ear(&e);
    wait_left(&w, 1);
    assert_string_equal(phase_of(&w, "a"), "Running");
    for (int i = 0; i < 3; i++) { /* from inside a callback, of its end too */
        open_sh(&w, &e, "a", i == 2 ? "iot" : "ioe", i == 1 ? "echo on" : script);
        e.close_after = 1;
        while (!e.closed)
            turn(&w);
        wait_left(&w, 1);
        turns(&w, 20);
        close_ear(&e);
    }
    open_sh(&w, &e, "a", "ioe", script); /* at once, before it runs */
    close_ear(&e);
    open_sh(&w, &e, "a", "ioe", script); /* or when we end ourselves */
    wait_text(&e, &e.out, "on");
    e.keep = true;
    stop(&w, 0);
    assert_int_equal(e.endings, 0);
    assert_true(feed(&e, "x", 1)); /* its session is still there, and to be closed */
    feed_end(&e);
    hold(&e, true);
    hold(&e, false);
    close_ear(&e);
    end(&w);
}

static void container_ends(void **state) {
    struct world w;
    struct session_events e, f;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "while [ ! -e go ]; do sleep 0.01; done; exit 9");
    wait_phase(&w, "a", "Running");
    open_sh(&w, &e, "a", "oe", "echo on; touch go; exec sleep 1000");
    open_attach(&w, &f, "a", "oe");
    wait_over(&e);
    assert_int_equal(e.code, 137);
    assert_string_equal(sl_buf_str(&e.out), "on\n");
    wait_over(&f);
    assert_int_equal(f.code, 9);
    close_ear(&e);
    close_ear(&f);
    /* Deleted, with and without grace; and the object is gone before the processes. */
    for (int grace = 0; grace < 2; grace++) {
        make_sh(&w, "b", "Never", "sleep 1000");
        wait_phase(&w, "b", "Running");
        open_sh(&w, &e, "b", "oe", "echo on; exec sleep 1000");
        open_attach(&w, &f, "b", "oe");
        wait_text(&e, &e.out, "on");
        delete_pod(&w, "b", grace);
        wait_over(&e);
        assert_int_equal(e.code, 137);
        wait_over(&f);
        assert_int_equal(f.code, grace == 0 ? 137 : 143);
        close_ear(&e);
        close_ear(&f);
        wait_phase(&w, "b", "gone");
    }
    end(&w);
}

/* ---- a slow listener ---- */

static void held(void **state) {
    struct world w;
    struct session_events e;
    (void)state;

    begin_sleeping(&w);
    open_sh(&w, &e, "a", "oe", "yes");
    while (e.out.len < 1000000)
        turn(&w);
    hold(&e, true);
    const size_t at = e.out.len;
    turns(&w, 200);
    assert_int_equal(e.out.len, at);
    hold(&e, false);
    while (e.out.len < at + 1000000)
        turn(&w);
    e.hold_after = e.out.len + 1; /* inside a callback */
    while (e.hold_after)
        turn(&w);
    const size_t then = e.out.len;
    turns(&w, 100);
    assert_int_equal(e.out.len, then);
    close_ear(&e);
    /* The end follows all output before it. */
    open_sh(&w, &e, "a", "oe", "head -c 60000 /dev/zero | tr '\\0' x; echo end >&2; exit 2");
    hold(&e, true);
    turns(&w, 300);
    assert_int_equal(e.out.len + e.err.len + e.endings, 0);
    hold(&e, false);
    wait_over(&e);
    assert_int_equal(e.out.len, 60000);
    assert_string_equal(sl_buf_str(&e.err), "end\n");
    assert_int_equal(e.code, 2);
    close_ear(&e);
    open_sh(&w, &e, "a", "oe", "echo x; exit 2"); /* closed with something kept back */
    hold(&e, true);
    turns(&w, 200);
    close_ear(&e);
    end(&w);
}

/* Each session costs two processes: their number is limited. */
static void too_often(void **state) {
    const char *const argv[] = {"true", NULL};
    static struct session_events ears[SL_MAX_POD_SESSIONS];
    struct sl_err err = {0};
    struct world w;
    int opened = 0, r = 0;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "sleep 60");
    wait_phase(&w, "a", "Running");
    turn(&w);
    w.rt->exec_at =
        w.rt->client->mono - 5 * (SL_SEC / SL_EXEC_PER_SECOND); /* most of a burst is over */
    for (; opened < 64 && r == 0; opened++)
        r = try_open(&w, &ears[opened], "a", "main", "o", argv, &err);
    assert_int_equal(r, SL_ELIMIT);
    assert_non_null(strstr(err.text, "exec sessions in a second"));
    assert_in_range(opened, 6, 10);
    for (int i = 0; i < opened - 1; i++)
        WAIT(&w, ears[i].closed);
    leap(&w, SL_SEC);
    ears[0] = (struct session_events){0};
    assert_int_equal(try_open(&w, &ears[0], "a", "main", "o", argv, &err), 0);
    WAIT(&w, ears[0].closed);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_and_codes),
        cmocka_unit_test(as_the_container),
        cmocka_unit_test(as_its_user),
        cmocka_unit_test(in_its_cgroup),
        cmocka_unit_test(variables_stay),
        cmocka_unit_test(not_started),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(echoed),
        cmocka_unit_test(not_read),
        cmocka_unit_test(terminal),
        cmocka_unit_test(terminal_last_output),
        cmocka_unit_test(jobs),
        cmocka_unit_test(closing_kills),
        cmocka_unit_test(container_ends),
        cmocka_unit_test(held),
        cmocka_unit_test(too_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
