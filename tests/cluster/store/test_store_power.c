/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power losses, and calls of the system that fail: a disk (disk.h) records what the store does to
 * it while it is changed, killed and opened again, and then the power is lost at moments of this
 * record. What was acknowledged or shown by then must be there, and nothing that was called failed.
 *
 * SL_HISTORIES: how many power losses.
 */
#include "history.h"

#include <inttypes.h>

#include "disk.h"
#include "lib/log/log.h"

#define SMALL 3000u
#define LARGE 1400000u /* so that the log is emptied into the file now and then */
#define EACH_LARGE 8u
#define FLIGHT 8u
#define LIVES 3u  /* of processes, between power losses */
#define LOSSES 8u /* at moments of one record */
#define MOST_CHANGES 60u
#define POSITIONS 400u /* calls of one kind in a short life */

struct power;

struct call {
    struct power *w; /* NULL: free */
    uint64_t version;
};

struct power {
    struct fx f;     /* where it runs */
    struct fx after; /* where it is checked after a power loss */
    struct history h;
    struct sl_prng p;
    struct call calls[FLIGHT];
    uint32_t flying;
    uint64_t acked, failed;         /* so many */
    uint64_t losses, lives, deaths; /* over all */
    int last;                       /* what became of the last change */
};

static uint64_t histories(uint64_t usual) {
    const char *s = getenv("SL_HISTORIES");

    return s ? strtoull(s, NULL, 10) : usual;
}

static void on_kept(void *ctx, int r) {
    struct call *call = ctx;
    struct power *w = call->w;

    for (uint32_t i = w->h.all.n; i-- > 0 && !disk_dead();)
        if (w->h.all.v[i].version == call->version) {
            *(r < 0 ? &w->h.all.v[i].failed : &w->h.all.v[i].acked) = disk_now();
            break;
        }
    w->acked += r >= 0;
    w->failed += r < 0;
    w->last = r;
    w->flying--;
    call->w = NULL;
}

static void change(struct power *w) {
    struct sl_store *st = w->f.st;
    struct tried t = {.version = sl_store_next_version(st),
                      .acked = NEVER,
                      .failed = NEVER,
                      .key = (uint32_t)sl_prng_below(&w->p, KEYS)};
    char name[16], *text = sl_alloc(w->h.text);

    (void)snprintf(name, sizeof name, "k%u", t.key);
    size_t len = fx_text(text, w->h.text, name, t.version);
    struct sl_store_object *o = sl_store_get(st, 0, "", name);
    t.gone = o && sl_prng_one_in(&w->p, 4);
    t.moment = disk_now();
    if (!disk_dead())
        *sl_vec_push(&w->h.all) = t;
    assert_int_equal(t.gone ? sl_store_delete(st, o, text, len, NULL)
                            : sl_store_put(st, 0, "", name, "uid", text, len, NULL, NULL),
                     0);
    sl_freep(&text);
    struct call *call = w->calls;
    while (call->w)
        call++;
    *call = (struct call){w, t.version};
    w->flying++;
    sl_store_on_commit(st, t.version, on_kept, call);
}

/* Until all have been answered, or it is dead: then no answer need come. */
static void run(struct power *w, uint32_t changes, uint32_t flight) {
    for (uint32_t i = 0; (i < changes || w->flying) && !disk_dead();) {
        while (i < changes && w->flying < flight) {
            change(w);
            i++;
        }
        (void)uv_run(&w->f.loop, UV_RUN_NOWAIT);
        if (w->flying == flight || i == changes)
            (void)usleep(30);
    }
}

/* Nothing is delivered after the power loss. */
static void close_it(struct power *w) {
    fx_close(&w->f);
    memset(w->calls, 0, sizeof w->calls);
    w->flying = 0;
}

/* Opens it. From now on everything that is there has been shown, and what is not has not. */
static void show(struct power *w) {
    uint64_t there[KEYS], moment = disk_now();
    uint64_t last = history_check(&w->f, &w->h, moment, &w->p, there);

    for (uint32_t i = 0; i < w->h.all.n; i++) {
        struct tried *t = &w->h.all.v[i];
        if (t->failed < moment || t->acked < moment)
            continue;
        *(t->version <= last ? &t->acked : &t->failed) = moment;
    }
}

static void lose_power(struct power *w, uint64_t moment, uint64_t seed, uint64_t there[KEYS]) {
    struct sl_prng p;

    sl_prng_init(&p, seed);
    disk_after(moment, &p, w->after.dir);
    fx_opened(&w->after);
    (void)history_check(&w->after, &w->h, moment, &p, there);
    fx_close(&w->after);
    w->losses++;
}

static void init(struct power *w) {
    memset(w, 0, sizeof *w);
    w->h.text = SMALL;
    sl_prng_init(&w->p, 1);
    fx_init(&w->f);
    fx_init(&w->after);
    w->f.past = w->after.past = PAST;
    sl_log_set((enum sl_log_level) - 1); /* failures are the subject */
}

static void done(struct power *w) {
    sl_vec_free(&w->h.all);
    fx_done(&w->f);
    fx_done(&w->after);
    sl_log_set(SL_LOG_INFO);
}

/* One life of a process; it ends or is killed. */
static void live(struct power *w, bool faults) {
    static const enum disk_fault kinds[] = {DISK_WRITE_EIO, DISK_WRITE_ENOSPC, DISK_WRITE_SHORT,
                                            DISK_SYNC_EIO,  DISK_SYNC_EIO,     DISK_SYNC_EIO};
    bool large = w->h.text == LARGE;
    struct sl_err err;

    disk_again();
    w->lives++;
    if (sl_prng_one_in(&w->p, 2))
        disk_die(1 + sl_prng_below(&w->p, sl_prng_one_in(&w->p, 4) ? 30 : large ? 20000 : 300));
    if (fx_open(&w->f, &err) < 0) {
        assert_true(disk_dead());
        (void)uv_run(&w->f.loop, UV_RUN_NOWAIT);
        w->deaths++;
        return;
    }
    if (!disk_dead())
        show(w);
    if (faults)
        disk_fail(kinds[sl_prng_below(&w->p, SL_LEN(kinds))], 1 + sl_prng_below(&w->p, 60),
                  sl_prng_below(&w->p, 3));
    run(w, 1 + (uint32_t)sl_prng_below(&w->p, MOST_CHANGES),
        1 + (uint32_t)sl_prng_below(&w->p, FLIGHT));
    w->deaths += disk_dead();
    if (!disk_dead() && sl_prng_one_in(&w->p, 2))
        disk_die(1 + sl_prng_below(&w->p, 40)); /* as it closes */
    close_it(w);
}

static void one_record(struct power *w, uint64_t seed) {
    uint64_t there[KEYS] = {0};

    sl_prng_init(&w->p, seed);
    disk_begin(w->f.dir, seed);
    uint64_t begin = disk_now();
    for (uint32_t i = 0; i < LIVES; i++)
        live(w, sl_prng_one_in(&w->p, 2));
    disk_again();
    for (uint32_t i = 0; i < LOSSES; i++) {
        uint64_t moment = disk_moment(begin, &w->p);
        uint64_t luck = sl_prng_next(&w->p);
        lose_power(w, moment, luck, there);
        if (i + 1 == LOSSES) { /* and there it goes on */
            struct sl_prng p;
            sl_prng_init(&p, luck);
            disk_after(moment, &p, w->f.dir);
        }
    }
    disk_end();
    sl_vec_clear(&w->h.all);
    memcpy(w->h.state, there, sizeof there);
}

static void wipe(struct power *w) {
    fx_done(&w->f);
    fx_init(&w->f);
    w->f.past = PAST;
    sl_vec_clear(&w->h.all);
    memset(w->h.state, 0, sizeof w->h.state);
}

static void test_power_loss(void **state) {
    uint64_t n = histories(64);
    struct disk_stats stats;
    struct power w;

    (void)state;
    init(&w);
    for (uint64_t seed = 1; w.losses < n; seed++) {
        if (seed % EACH_LARGE <= 1 || sl_prng_one_in(&w.p, 4)) /* texts of two sizes do not mix */
            wipe(&w);
        w.h.text = seed % EACH_LARGE ? SMALL : LARGE;
        w.h.past = seed % EACH_LARGE ? PAST : SL_STORE_PAST_BYTES / LARGE;
        one_record(&w, seed);
    }
    disk_stats(&stats);
    print_message("%" PRIu64 " power losses, %" PRIu64 " lives, %" PRIu64
                  " of them killed; %" PRIu64 " changes acknowledged, %" PRIu64 " failed; %" PRIu64
                  " writes lost, %" PRIu64 " torn, %" PRIu64 " files without a name\n",
                  w.losses, w.lives, w.deaths, w.acked, w.failed, stats.lost, stats.torn,
                  stats.unnamed);
    assert_true(w.acked > 4 * n && w.failed > 0 && w.deaths > 0);
    assert_true(stats.lost > 0 && stats.torn > 0 && stats.unnamed > 0 && stats.folder_syncs > 0);
    done(&w);
}

/* One call fails, wherever it is, once. The store does not open, or it goes on. */
static bool fail_at(struct power *w, enum disk_fault what, uint64_t n) {
    uint64_t there[KEYS];
    struct sl_err err = {0};

    wipe(w);
    sl_prng_init(&w->p, n);
    disk_begin(w->f.dir, n * 100 + what);
    uint64_t begin = disk_now();
    disk_fail(what, n, 0);
    if (fx_open(&w->f, &err) >= 0) {
        run(w, 3, 1);
        run(w, 4, 4);
        run(w, 1, 1);
        if (w->last < 0) /* it was this one */
            run(w, 1, 1);
        assert_int_equal(w->last, 0);
        fx_close(&w->f);
    } else {
        assert_int_equal(err.code, SL_EIO);
        (void)uv_run(&w->f.loop, UV_RUN_NOWAIT);
    }
    bool struck = disk_struck() > 0;
    disk_again();
    fx_opened(&w->f); /* the same machine, another process */
    show(w);
    run(w, 2, 1);
    fx_close(&w->f);
    uint64_t end = disk_now();
    for (uint32_t i = 0; i < 3; i++)
        lose_power(w, i ? begin + sl_prng_below(&w->p, end - begin + 1) : end, sl_prng_next(&w->p),
                   there);
    disk_end();
    return struck;
}

static void test_every_call(void **state) {
    uint64_t all = getenv("SL_HISTORIES") != NULL;
    struct power w;

    (void)state;
    init(&w);
    for (int what = DISK_NONE + 1; what < DISK_FAULTS; what++) {
        uint64_t n = 1, struck = 0;
        bool writes =
            what == DISK_WRITE_EIO || what == DISK_WRITE_ENOSPC || what == DISK_WRITE_SHORT;
        while (n < POSITIONS && fail_at(&w, (enum disk_fault)what, n)) {
            struck++;
            n += writes && !all ? 11 : 1;
        }
        assert_true(struck > 0 && n < POSITIONS);
    }
    done(&w);
}

/* A disk that does not sync for a while: no request is answered, and then rightly. */
static void test_stuck(void **state) {
    uint64_t there[KEYS];
    struct power w;

    (void)state;
    init(&w);
    disk_begin(w.f.dir, 1);
    fx_opened(&w.f);
    run(&w, 3, 1);
    disk_fail(DISK_SYNC_EIO, 1, 2);
    change(&w);
    for (uint32_t i = 0; i < 50 && disk_struck() < 2; i++) {
        (void)usleep(1000);
        (void)uv_run(&w.f.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(w.flying, 1); /* not while it may come back */
    run(&w, 0, 1);
    assert_int_equal(w.last, SL_EIO);
    uint64_t moment = disk_now();
    for (uint64_t i = 0; i < 10; i++) /* nothing of it comes back */
        lose_power(&w, moment, i, there);
    run(&w, 1, 1);
    assert_int_equal(w.last, 0);
    /* And one that never does again does not keep it from ending. */
    disk_fail(DISK_SYNC_EIO, 1, UINT64_MAX);
    change(&w);
    for (uint32_t i = 0; i < 50 && disk_struck() < 2; i++) {
        (void)usleep(1000);
        (void)uv_run(&w.f.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(sl_store_resource(w.f.st, 9, "later", NULL), 0); /* not in the file */
    close_it(&w);
    disk_again();
    fx_opened(&w.f);
    show(&w);
    fx_close(&w.f);
    disk_end();
    done(&w);
}

/* A sync fails and the process is killed. The next one finds in the page cache what never reached
 * the disk; what it shows of it must stay. */
static void test_killed_unsynced(void **state) {
    uint64_t there[KEYS];
    struct power w;

    (void)state;
    init(&w);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        wipe(&w);
        disk_begin(w.f.dir, seed);
        fx_opened(&w.f);
        run(&w, 3, 1);
        disk_fail(DISK_SYNC_DIE, 1, 0);
        run(&w, 1, 1);
        assert_true(disk_dead());
        close_it(&w);
        disk_again();
        fx_opened(&w.f);
        show(&w);
        lose_power(&w, disk_now(), seed, there);
        fx_close(&w.f);
        disk_end();
    }
    done(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_loss),
        cmocka_unit_test(test_every_call),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_killed_unsynced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
