/* SPDX-License-Identifier: Apache-2.0 */
/* Attach sessions with containers, as kubectl attach and kubectl run -i have them. */
#include "exec_session_fixture.h"

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
    struct session_events e, f;
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
    type(&f, "two\n"); /* without input */
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

/* As kubectl run -i makes them: the input ends with the first session that had it. */
static void stdin_once(void **state) {
    struct world w;
    struct session_events e;
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
    struct session_events e;
    (void)state;

    begin(&w, 0);
    make_main(&w, "a", "\"stdin\":true,\"stdinOnce\":true,\"tty\":true", "exec sh -i");
    open_attach(&w, &e, "a", "iot");
    close_ear(&e); /* a terminal stays */
    turns(&w, 100);
    open_attach(&w, &e, "a", "iot");
    e.in_call = true;
    sl_kubelet_session_size(w.rt, e.talk, 77, 22);
    e.in_call = false;
    type(&e, "stty size; echo $TERM; echo er''r >&2\n");
    wait_text(&e, &e.out, "22 77\r\nxterm\r\nerr\r\n");
    type(&e, "exit 12\n");
    wait_over(&e);
    assert_int_equal(e.code, 12);
    close_ear(&e);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", -1), 12);
    end(&w);
}

/* A container does not wait for a slow client: it gets the number of bytes missed, the log has
 * them. */
static void held_attach(void **state) {
    struct world w;
    struct session_events e;
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
    static struct session_events ears[SL_MAX_SESSIONS];
    const char *const argv[] = {"true", NULL};
    struct world w;
    struct sl_err err;
    uint32_t n = 0;
    char name[20];
    (void)state;

    begin(&w, 0);
    for (uint32_t p = 0; p < SL_MAX_SESSIONS / SL_MAX_POD_SESSIONS; p++) {
        (void)snprintf(name, sizeof name, "p%u", p);
        make_sh(&w, name, "Never", "sleep 1000");
        wait_phase(&w, name, "Running");
        for (uint32_t i = 0; i < SL_MAX_POD_SESSIONS; i++)
            open_attach(&w, &ears[n++], name, "o");
        struct session_events more;
        assert_int_equal(try_open(&w, &more, name, "main", "o", argv, &err), SL_ELIMIT);
        assert_non_null(strstr(err.text, "64 sessions"));
    }
    make_sh(&w, "last", "Never", "sleep 1000");
    wait_phase(&w, "last", "Running");
    struct session_events e;
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
        cmocka_unit_test(attached),          cmocka_unit_test(stdin_once),
        cmocka_unit_test(attached_terminal), cmocka_unit_test(held_attach),
        cmocka_unit_test(ceilings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
