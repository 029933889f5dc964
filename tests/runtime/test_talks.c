/* Talks with containers: commands beside them (exec), and they themselves (attach). */
#include "runtime_fx.h"

#define MAX_HEARD ((size_t)64 << 20)

/* One who listens, and sees to it that he is told only what and when he may be. */
struct ear {
    struct world *w;
    void *talk;
    struct sl_buf out, err;
    uint32_t rooms, endings;
    int code;
    char why[300];
    bool in_call, closed, keep;
    size_t hold_after, close_after; /* bytes; 0: never */
};

static void heard(void *ctx, bool is_err, const char *bytes, size_t len) {
    struct ear *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    assert_true(len > 0);
    sl_buf_add(is_err ? &e->err : &e->out, bytes, len);
    if (e->hold_after && e->out.len >= e->hold_after) {
        e->hold_after = 0;
        sl_runtime_talk_hold(e->w->rt, e->talk, true);
    }
    if (e->close_after && e->out.len >= e->close_after) {
        e->closed = true;
        sl_runtime_talk_close(e->w->rt, e->talk);
    }
}

static void room(void *ctx) {
    struct ear *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    e->rooms++;
}

static void over(void *ctx, int code, const char *why) {
    struct ear *e = ctx;

    assert_false(e->in_call || e->closed || e->endings > 0);
    e->endings++;
    e->code = code;
    (void)snprintf(e->why, sizeof e->why, "%s", why ? why : "");
    if (!e->keep) {
        e->closed = true;
        sl_runtime_talk_close(e->w->rt, e->talk);
    }
}

static const struct sl_talk_events events = {.output = heard, .room = room, .ended = over};

/* 'how': i, o, e for streams, t for a terminal. */
static int try_open(struct world *w, struct ear *e, const char *pod, const char *container,
                    const char *how, const char *const *argv, struct sl_err *err) {
    yyjson_val *o = pod_now(w, pod);
    const struct sl_talk_spec s = {.ns = "default",
                                   .pod = pod,
                                   .uid = o ? jstr(o, "metadata.uid") : "none",
                                   .container = container,
                                   .argv = argv,
                                   .in = strchr(how, 'i'),
                                   .out = strchr(how, 'o'),
                                   .err = strchr(how, 'e'),
                                   .tty = strchr(how, 't')};

    *e = (struct ear){.w = w, .in_call = true, .code = -1};
    sl_buf_init(&e->out, MAX_HEARD);
    sl_buf_init(&e->err, MAX_HEARD);
    const int r = sl_runtime_talk_open(w->rt, &s, &events, e, &e->talk, err);
    e->in_call = false;
    return r;
}

static void open_sh(struct world *w, struct ear *e, const char *pod, const char *how,
                    const char *script) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct sl_err err = {0};

    if (try_open(w, e, pod, "main", how, argv, &err) < 0)
        fail_msg("%s", err.text);
}

static void open_attach(struct world *w, struct ear *e, const char *pod, const char *how) {
    struct sl_err err = {0};

    if (try_open(w, e, pod, "main", how, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static bool feed(struct ear *e, const char *bytes, size_t len) {
    e->in_call = true;
    const bool more = sl_runtime_talk_input(e->w->rt, e->talk, bytes, len);
    e->in_call = false;
    return more;
}

static void type(struct ear *e, const char *text) {
    (void)feed(e, text, strlen(text));
}

static void feed_end(struct ear *e) {
    e->in_call = true;
    sl_runtime_talk_input_end(e->w->rt, e->talk);
    e->in_call = false;
}

static void hold(struct ear *e, bool how) {
    e->in_call = true;
    sl_runtime_talk_hold(e->w->rt, e->talk, how);
    e->in_call = false;
}

static void close_ear(struct ear *e) {
    if (!e->closed) {
        e->in_call = true;
        sl_runtime_talk_close(e->w->rt, e->talk);
        e->in_call = false;
    }
    e->closed = true;
    sl_buf_done(&e->out);
    sl_buf_done(&e->err);
}

static void wait_over(struct ear *e) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (e->endings == 0) {
        if (real_now() > until)
            fail_msg("it does not end; it said \"%.200s\"", sl_buf_str(&e->out));
        turn(e->w);
    }
}

static void wait_text(struct ear *e, const struct sl_buf *b, const char *text) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (!strstr(sl_buf_str(b), text)) {
        if (real_now() > until)
            fail_msg("not \"%s\" but \"%.200s\"", text, sl_buf_str(b));
        turn(e->w);
    }
}

static void wait_left(struct world *w, uint32_t n) {
    const sl_time until = real_now() + 40 * SL_SEC;

    while (left(w) != n) {
        if (real_now() > until)
            fail_msg("%u processes are there, not %u", left(w), n);
        turn(w);
    }
}

/* What runs it, what it said, and how it ended. */
static void expect(struct world *w, const char *how, const char *script, const char *out,
                   const char *err, int code) {
    struct ear e;

    open_sh(w, &e, "a", how, script);
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), out);
    assert_string_equal(sl_buf_str(&e.err), err);
    assert_int_equal(e.code, code);
    assert_string_equal(e.why, "");
    close_ear(&e);
}

static void begin_sleeping(struct world *w) {
    char script[100];

    begin(w, 0);
    (void)snprintf(script, sizeof script, "exec sleep %s", w->marker); /* one process */
    make_sh(w, "a", "Never", script);
    wait_phase(w, "a", "Running");
}

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
    expect(&w, "oe", "echo '$(HOSTNAME)'", "$(HOSTNAME)\n", "", 0); /* words stay as they are */
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
    cgroups_free(w.rt->cgroups); /* a folder that looks like one */
    (void)snprintf(path, sizeof path, "%s/cgroup.controllers", w.dir);
    assert_int_equal(file_write(path, "cpu memory\n", 11, 0644), 0);
    (void)snprintf(path, sizeof path, "%s/cgroup.subtree_control", w.dir);
    assert_int_equal(file_write(path, "", 0, 0644), 0);
    w.rt->cgroups = cgroups_new(w.dir);
    make_sh(&w, "a", "Never", "sleep 1000");
    wait_phase(&w, "a", "Running");
    (void)snprintf(path, sizeof path, "%s/cgroup.procs",
                   pod_container(pod_find(w.rt, "default", "a"), "main")->cgroup);
    assert_int_equal(truncate(path, 0), 0);
    expect(&w, "oe", "true", "", "", 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text - 1), 1);
    (void)close(fd);
    assert_string_equal(text, "0"); /* it has asked to join */
    end(&w);
}

/* Its variables are those that it began with, whatever becomes of where they came from: here they
 * are asked for again because another container is to be started again. */
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
    wait_word(&w, "a", "other", "state.waiting.reason", "CrashLoopBackOff");
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
    struct ear e;
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
    struct ear e;
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

#define MUCH ((size_t)3 << 20)

static char *noise(size_t len) {
    char *s = sl_alloc(len);
    uint32_t x = 1;

    for (size_t i = 0; i < len; i++)
        s[i] = (char)((x = x * 1664525u + 1013904223u) >> 24);
    return s;
}

/* More than a pipe holds, there and back, and the end of it. */
static void echoed(void **state) {
    struct world w;
    struct ear e;
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
    struct ear e;
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
    /* Who does not wait though he is asked to: the input ends there. */
    open_sh(&w, &e, "a", "io", "sleep 0.3; wc -c");
    for (int i = 0; i < 10; i++)
        assert_false(feed(&e, bytes, MUCH));
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "15728640\n");
    close_ear(&e);
    open_sh(&w, &e, "a", "o", "cat"); /* no input was asked for */
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
    struct ear e;
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
    sl_runtime_talk_size(w.rt, e.talk, 132, 43);
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

/* Nothing of the last words of a terminal is lost, however slowly they are read. */
static void terminal_last_words(void **state) {
    struct world w;
    struct ear e;
    struct sl_buf want;
    (void)state;

    begin_sleeping(&w);
    sl_buf_init(&want, MAX_HEARD);
    for (int i = 1; i <= 20000; i++)
        sl_buf_printf(&want, "%d\r\n", i);
    for (int i = 0; i < 6; i++) {
        open_sh(&w, &e, "a", "ot", "seq 1 20000");
        e.hold_after = i % 2 ? want.len - 3000 : 0;
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
    struct ear e;
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
    struct ear e;
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
    for (int i = 0; i < 3; i++) { /* from inside what is told, of its end too */
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
    assert_true(feed(&e, "x", 1)); /* its talk is still there, and his to close */
    feed_end(&e);
    hold(&e, true);
    hold(&e, false);
    close_ear(&e);
    end(&w);
}

static void container_ends(void **state) {
    struct world w;
    struct ear e, f;
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
    struct ear e;
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
    e.hold_after = e.out.len + 1; /* in the midst of what he is told */
    while (e.hold_after)
        turn(&w);
    const size_t then = e.out.len;
    turns(&w, 100);
    assert_int_equal(e.out.len, then);
    close_ear(&e);
    /* The end waits for what was said before it. */
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

/* ---- attach ---- */

static void make_main(struct world *w, const char *name, const char *more, const char *script) {
    struct sl_buf b;

    sl_buf_init(&b, 65536);
    sl_buf_printf(&b,
                  "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
                  "%s,\"command\":[\"sh\",\"-c\",",
                  more);
    sl_buf_json(&b, script);
    sl_buf_puts(&b, "]}]");
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
    wait_phase(w, name, "Running");
}

static void attached(void **state) {
    struct world w;
    struct ear e, f;
    (void)state;

    begin(&w, 0);
    make_main(
        &w, "a", "\"stdin\":true",
        "echo before; while read x; do echo got $x; echo err $x >&2; [ $x != end ] || exit 8; "
        "done; echo no input; exit 1");
    turns(&w, 50);
    open_attach(&w, &e, "a", "ioe");
    open_attach(&w, &f, "a", "e");
    type(&e, "one\n");
    wait_text(&e, &e.out, "got one\n");
    wait_text(&e, &e.err, "err one\n");
    wait_text(&f, &f.err, "err one\n");
    feed_end(&e);      /* it is not only for one: the container goes on */
    type(&f, "two\n"); /* who asked for no input */
    turns(&w, 50);
    close_ear(&e);
    turns(&w, 50);
    open_attach(&w, &e, "a", "ioe");
    type(&e, "end\n");
    wait_over(&e);
    wait_over(&f);
    assert_string_equal(sl_buf_str(&e.out), "got end\n");
    assert_int_equal(e.code, 8);
    assert_int_equal(f.code, 8);
    assert_string_equal(sl_buf_str(&f.err), "err one\nerr end\n");
    assert_int_equal(f.out.len, 0);
    close_ear(&e);
    close_ear(&f);
    wait_phase(&w, "a", "Failed");
    expect_log(&w, "a", "main", false, "before\ngot one\nerr one\ngot end\nerr end\n");
    end(&w);
}

/* As kubectl run -i makes them: the input ends with the first who had it. */
static void stdin_once(void **state) {
    struct world w;
    struct ear e;
    char *bytes = noise(MUCH);
    (void)state;

    begin(&w, 0);
    make_main(&w, "a", "\"stdin\":true,\"stdinOnce\":true", "wc -c");
    turns(&w, 50);
    open_attach(&w, &e, "a", "ioe");
    for (int i = 0; i < 2; i++) {
        const uint32_t before = e.rooms;
        if (!feed(&e, bytes, MUCH))
            while (e.rooms == before)
                turn(&w);
    }
    feed_end(&e);
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "6291456\n");
    assert_int_equal(e.code, 0);
    close_ear(&e);
    wait_phase(&w, "a", "Succeeded");
    make_main(&w, "b", "\"stdin\":true,\"stdinOnce\":true", "cat; echo over");
    open_attach(&w, &e, "b", "oe"); /* had no input */
    close_ear(&e);
    turns(&w, 100);
    assert_string_equal(phase_of(&w, "b"), "Running");
    open_attach(&w, &e, "b", "ioe");
    type(&e, "bye\n");
    close_ear(&e);
    wait_phase(&w, "b", "Succeeded");
    expect_log(&w, "b", "main", false, "bye\nover\n");
    make_main(&w, "c", "\"stdin\":false", "cat; sleep 1000"); /* has none */
    open_attach(&w, &e, "c", "ioe");
    assert_true(feed(&e, bytes, MUCH));
    feed_end(&e);
    close_ear(&e);
    sl_freep(&bytes);
    end(&w);
}

/* As kubectl run -it makes them. */
static void attached_terminal(void **state) {
    struct world w;
    struct ear e;
    (void)state;

    begin(&w, 0);
    make_main(&w, "a", "\"stdin\":true,\"stdinOnce\":true,\"tty\":true", "exec sh -i");
    open_attach(&w, &e, "a", "iot");
    close_ear(&e); /* a terminal stays */
    turns(&w, 100);
    open_attach(&w, &e, "a", "iot");
    e.in_call = true;
    sl_runtime_talk_size(w.rt, e.talk, 77, 22);
    e.in_call = false;
    type(&e, "stty size; echo $TERM; echo er''r >&2\n");
    wait_text(&e, &e.out, "22 77\r\nxterm\r\nerr\r\n");
    type(&e, "exit 12\n");
    wait_over(&e);
    assert_int_equal(e.code, 12);
    close_ear(&e);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(jint(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 12);
    end(&w);
}

/* A container does not wait for who is slow: he is told how much he missed, the log has it. */
static void held_attach(void **state) {
    struct world w;
    struct ear e;
    (void)state;

    begin(&w, 0);
    make_main(&w, "a", "\"stdin\":true",
              "read x; head -c 3000000 /dev/zero | tr '\\0' x; echo; touch done; read x; echo end");
    open_attach(&w, &e, "a", "ioe");
    hold(&e, true);
    type(&e, "go\n");
    expect(&w, "oe", "while [ ! -e done ]; do sleep 0.01; done", "", "", 0);
    assert_int_equal(e.out.len + e.err.len, 0);
    hold(&e, false);
    type(&e, "go\n");
    wait_over(&e);
    const char *note = sl_buf_str(&e.err);
    assert_int_equal(strncmp(note, "[sluice: ", 9), 0);
    const size_t lost = strtoul(note + 9, NULL, 10);
    assert_true(strchr(note, '\n') == note + e.err.len - 1);
    assert_true(e.out.len <= ((size_t)256 << 10) + 4 && e.out.len > 64 << 10);
    assert_int_equal(e.out.len + lost, 3000000 + 1 + 4);
    assert_string_equal(e.out.s + e.out.len - 4, "end\n");
    close_ear(&e);
    end(&w);
}

/* ---- ceilings ---- */

static void ceilings(void **state) {
    static struct ear ears[SL_MAX_TALKS];
    const char *const argv[] = {"true", NULL};
    struct world w;
    struct sl_err err;
    uint32_t n = 0;
    char name[20];
    (void)state;

    begin(&w, 0);
    for (uint32_t p = 0; p < SL_MAX_TALKS / SL_MAX_POD_TALKS; p++) {
        (void)snprintf(name, sizeof name, "p%u", p);
        make_sh(&w, name, "Never", "sleep 1000");
        wait_phase(&w, name, "Running");
        for (uint32_t i = 0; i < SL_MAX_POD_TALKS; i++)
            open_attach(&w, &ears[n++], name, "o");
        struct ear more;
        assert_int_equal(try_open(&w, &more, name, "main", "o", argv, &err), SL_ELIMIT);
        assert_non_null(strstr(err.text, "64 sessions"));
    }
    make_sh(&w, "last", "Never", "sleep 1000");
    wait_phase(&w, "last", "Running");
    struct ear e;
    assert_int_equal(try_open(&w, &e, "last", "main", "o", argv, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "1024 sessions"));
    close_ear(&ears[5]);
    turn(&w);
    turn(&w);
    open_sh(&w, &e, "last", "o", "echo on");
    wait_over(&e);
    assert_string_equal(sl_buf_str(&e.out), "on\n");
    close_ear(&e);
    for (uint32_t i = 0; i < n; i++)
        if (i != 5)
            close_ear(&ears[i]);
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
        cmocka_unit_test(terminal_last_words),
        cmocka_unit_test(jobs),
        cmocka_unit_test(closing_kills),
        cmocka_unit_test(container_ends),
        cmocka_unit_test(held),
        cmocka_unit_test(attached),
        cmocka_unit_test(stdin_once),
        cmocka_unit_test(attached_terminal),
        cmocka_unit_test(held_attach),
        cmocka_unit_test(ceilings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
