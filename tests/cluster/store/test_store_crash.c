/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that writes is killed in the middle, again and again on the same file. What it was told
 * is kept must be there; what is there must be what it wrote, up to some change and nothing after
 * it; versions only rise; and a watch from somewhere in its life hears the rest of it.
 */
#include "history.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define TEXT 3000u
#define FLIGHT 8u
#define MAX_LIVES 2000u

/* What the child writes to the pipe: before a change, and when it was committed. */
struct record {
    uint64_t version;
    uint32_t key;
    uint8_t gone, kept;
};

struct child {
    struct fx *f;
    struct sl_prng p;
    int out;
    uint32_t flying;
};

static void send_record(struct child *c, struct record w) {
    if (write(c->out, &w, sizeof w) != sizeof w)
        _exit(1);
}

struct call {
    struct child *c;
    struct record w;
};

static void on_kept(void *ctx, int r) {
    struct call *call = ctx;

    if (r < 0)
        _exit(2);
    call->w.kept = 1;
    send_record(call->c, call->w);
    call->c->flying--;
    sl_freep(&call);
}

static void write_one(struct child *c) {
    struct sl_store *st = c->f->st;
    struct record w = {.version = sl_store_next_version(st),
                       .key = (uint32_t)sl_prng_below(&c->p, KEYS)};
    char name[16], text[TEXT];

    (void)snprintf(name, sizeof name, "k%u", w.key);
    size_t len = fx_text(text, sizeof text, name, w.version);
    struct sl_store_object *o = sl_store_get(st, 0, "", name);
    w.gone = o && sl_prng_one_in(&c->p, 4);
    send_record(c, w);
    int r = w.gone ? sl_store_delete(st, o, text, len, NULL)
                   : sl_store_put(st, 0, "", name, "uid", text, len, NULL, NULL);
    if (r < 0)
        _exit(3);
    struct call *call = sl_alloc0(1, sizeof *call);
    *call = (struct call){c, w};
    c->flying++;
    sl_store_on_commit(st, w.version, on_kept, call);
}

static void child_run(struct fx *f, int out, uint64_t seed) {
    struct child c = {.f = f, .out = out};
    struct sl_err err = {0};

    sl_prng_init(&c.p, seed);
    if (uv_loop_init(&f->loop) < 0 || fx_open(f, &err) < 0)
        _exit(4);
    for (;;) {
        while (c.flying < FLIGHT)
            write_one(&c);
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    }
}

static void read_records(struct history *h, int fd) {
    struct record w;
    ssize_t n;

    while ((n = read(fd, &w, sizeof w)) == sizeof w) {
        if (!w.kept)
            *sl_vec_push(&h->all) = (struct tried){.version = w.version,
                                                   .key = w.key,
                                                   .gone = w.gone,
                                                   .acked = NEVER,
                                                   .failed = NEVER};
        for (uint32_t i = h->all.n; w.kept && i-- > 0;)
            if (h->all.v[i].version == w.version) {
                h->all.v[i].acked = 0;
                break;
            }
    }
    assert_int_equal(n, 0); /* records are whole: smaller than a pipe's atom */
}

static void one_life(struct fx *f, struct history *h, uint64_t seed) {
    struct sl_prng p;
    int fds[2], status;

    sl_prng_init(&p, seed);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)fcntl(fds[0], F_SETPIPE_SZ, 1 << 20);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        child_run(f, fds[1], seed);
    }
    (void)close(fds[1]);
    (void)usleep((useconds_t)sl_prng_below(&p, 60000));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* and not by itself */
    sl_vec_clear(&h->all);
    read_records(h, fds[0]);
    (void)close(fds[0]);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fx_opened(f);
    uint64_t there[KEYS];
    (void)history_check(f, h, 0, &p, there);
    memcpy(h->state, there, sizeof there);
    fx_close(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static void test_kills(void **state) {
    struct history h = {.text = TEXT};
    uint64_t last = 0, kept = 0;
    struct fx f;

    (void)state;
    fx_init(&f);
    f.past = PAST;
    assert_int_equal(uv_loop_close(&f.loop), 0);
    /* On a machine that is busy with other things, a life may be too short to get anything done:
     * then there are more of them. */
    for (uint64_t seed = 1; seed <= fx_seeds(30) || (!kept && seed <= MAX_LIVES); seed++) {
        one_life(&f, &h, seed);
        if (h.all.n) {
            assert_true(h.all.v[0].version > last);
            last = sl_vec_last(&h.all).version;
        }
        for (uint32_t i = 0; i < h.all.n; i++)
            kept += h.all.v[i].acked == 0;
    }
    assert_true(kept > 0);
    sl_vec_free(&h.all);
    assert_int_equal(uv_loop_init(&f.loop), 0);
    fx_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
