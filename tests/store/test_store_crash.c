/*
 * A process that writes is killed in the middle, again and again on the same file. What it was told
 * is kept must be there; what is there must be what it wrote, up to some change and nothing after
 * it; versions only rise; and a watch from somewhere in its life hears the rest of it.
 */
#include "fx.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/vec.h"

#define KEYS 50u
#define TEXT 3000u
#define FLIGHT 8u
#define PAST 100u
#define MAX_LIVES 2000u

/* What the child says through the pipe: before a change, and when it was kept. */
struct word {
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

static void say(struct child *c, struct word w) {
    if (write(c->out, &w, sizeof w) != sizeof w)
        _exit(1);
}

struct call {
    struct child *c;
    struct word w;
};

static void on_kept(void *ctx, int r) {
    struct call *call = ctx;

    if (r < 0)
        _exit(2);
    call->w.kept = 1;
    say(call->c, call->w);
    call->c->flying--;
    sl_freep(&call);
}

static void write_one(struct child *c) {
    struct sl_store *st = c->f->st;
    struct word w = {.version = sl_store_next_version(st),
                     .key = (uint32_t)sl_prng_below(&c->p, KEYS)};
    char name[16], text[TEXT];

    (void)snprintf(name, sizeof name, "k%u", w.key);
    size_t len = fx_text(text, sizeof text, name, w.version);
    struct sl_object *o = sl_store_get(st, 0, "", name);
    w.gone = o && sl_prng_one_in(&c->p, 4);
    say(c, w);
    int r = w.gone ? sl_store_delete(st, o, text, len, NULL)
                   : sl_store_put(st, 0, "", name, "uid", text, len, NULL, NULL);
    if (r < 0)
        _exit(3);
    struct call *call = sl_alloc0(1, sizeof *call);
    *call = (struct call){c, w};
    c->flying++;
    sl_store_after(st, w.version, on_kept, call);
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

struct history {
    SL_VEC(struct word) all; /* what was tried, by version */
    uint64_t acked;          /* the last version that was kept for sure */
    uint64_t state[KEYS];    /* where the last life ended */
};

static void hear(struct history *h, int fd) {
    struct word w;
    ssize_t n;

    while ((n = read(fd, &w, sizeof w)) == sizeof w) {
        if (!w.kept)
            *sl_vec_push(&h->all) = w;
        else if (w.version > h->acked)
            h->acked = w.version;
    }
    assert_int_equal(n, 0); /* words are whole: smaller than a pipe's atom */
}

static void fold(const struct history *h, uint64_t up_to, uint64_t ret[KEYS]) {
    memcpy(ret, h->state, sizeof h->state);
    for (uint32_t i = 0; i < h->all.n && h->all.v[i].version <= up_to; i++)
        ret[h->all.v[i].key] = h->all.v[i].gone ? 0 : h->all.v[i].version;
}

static void look(struct fx *f, uint64_t ret[KEYS]) {
    char text[TEXT];

    memset(ret, 0, KEYS * sizeof *ret);
    for (struct sl_object *o = sl_store_seek(f->st, 0, "", ""); o; o = sl_store_next(f->st, o)) {
        size_t len = fx_text(text, sizeof text, o->name, o->version);
        assert_int_equal(o->len, len);
        assert_memory_equal(o->text, text, len);
        ret[strtoul(o->name + 1, NULL, 10)] = o->version;
    }
}

struct heard {
    uint64_t state[KEYS], last;
    uint32_t n;
};

static void on_event(void *ctx, const struct sl_store_event *ev) {
    struct heard *h = ctx;
    unsigned long key = strtoul(ev->now->name + 1, NULL, 10);

    assert_true(ev->now->version > h->last);
    assert_int_equal(ev->was ? ev->was->version : 0, h->state[key]);
    h->last = ev->now->version;
    h->state[key] = ev->what == SL_DELETED ? 0 : ev->now->version;
    h->n++;
}

/* From the last of its changes that watches may still go back to, which are 'n', and from any
 * before that it either hears all or is told that it is too late. */
static void check_watch(struct fx *f, const struct history *h, uint32_t n,
                        const uint64_t there[KEYS], struct sl_prng *p) {
    uint32_t from = (uint32_t)sl_prng_below(p, n);
    struct heard heard = {.last = h->all.v[from].version};
    struct sl_store_watch *w;

    fold(h, heard.last, heard.state);
    int r = sl_store_watch(f->st, 0, heard.last, on_event, &heard, &w);
    assert_int_equal(r, r < 0 ? SL_ESTALE : 0);
    assert_true(r == 0 || n - 1 - from > PAST);
    if (r < 0)
        return;
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(heard.n, n - 1 - from);
    assert_memory_equal(heard.state, there, sizeof heard.state);
    sl_store_unwatch(f->st, w);
}

/* Changes that are there beyond the first n, which made what is there: a creation and its deletion
 * leave nothing to be seen but in the past. */
static uint32_t beyond(struct fx *f, const struct history *h, uint32_t n,
                       const uint64_t there[KEYS]) {
    struct heard heard = {.last = n ? h->all.v[n - 1].version : h->all.v[0].version - 1};
    struct sl_store_watch *w;

    memcpy(heard.state, there, sizeof heard.state);
    assert_int_equal(sl_store_watch(f->st, 0, heard.last, on_event, &heard, &w), 0);
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    sl_store_unwatch(f->st, w);
    assert_true(n + heard.n <= h->all.n);
    assert_true(heard.n == 0 || heard.last == h->all.v[n + heard.n - 1].version);
    assert_memory_equal(heard.state, there, sizeof heard.state);
    return heard.n;
}

/* Is there a change up to which everything is there and after which nothing is? It is not before
 * what was acknowledged. */
static void check(struct fx *f, struct history *h, struct sl_prng *p) {
    uint64_t there[KEYS], wanted[KEYS];
    bool found = false;
    uint32_t n = 0;

    look(f, there);
    if (!h->all.n) /* it was killed before it began */
        found = memcmp(there, h->state, sizeof there) == 0;
    for (uint32_t i = 0; !found && i <= h->all.n; i++) { /* i of them are there */
        n = i;
        uint64_t up_to = i ? h->all.v[i - 1].version : 0;
        if (up_to < h->acked)
            continue;
        fold(h, up_to, wanted);
        found = memcmp(there, wanted, sizeof there) == 0;
    }
    assert_true(found);
    if (h->all.n) {
        assert_true(sl_store_version(f->st) >= sl_vec_last(&h->all).version);
        n += beyond(f, h, n, there);
    }
    for (uint32_t i = 0; n > 0 && i < 20; i++)
        check_watch(f, h, n, there, p);
    memcpy(h->state, there, sizeof there);
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
    h->acked = 0;
    hear(h, fds[0]);
    (void)close(fds[0]);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fx_opened(f);
    check(f, h, &p);
    fx_close(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static void test_kills(void **state) {
    struct history h = {0};
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
        kept += h.acked > 0;
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
