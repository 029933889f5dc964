/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories against a naive model: the list of all changes. What is there, in which order,
 * what a watch hears from which version on, and what is there after a restart must be what the list
 * says.
 */
#include "store_fixture.h"

#include <malloc.h>
#include <sqlite3.h>

#include "core/base/collection/vec.h"

#define KEYS 24u
#define TEXT 600u
#define WATCHES 12u

struct step {
    uint64_t version;
    uint32_t res, key;
    bool gone;
};

struct listener {
    struct world *w;
    struct sl_store_watch *watch; /* NULL: none */
    uint32_t res;
    uint32_t scope, key; /* of what it is about: all, the namespace of the key, the key */
    uint64_t from, last;
    uint64_t state[KEYS]; /* version of what is there; 0: nothing */
};

struct world {
    struct fx fx;
    struct sl_prng p;
    SL_VEC(struct step) all;
    struct listener l[WATCHES];
    uint64_t opened; /* the version at the start of this life */
    uint32_t gone_on, refused;
    uint64_t asked, answered;
};

static void key_names(uint32_t key, char ns[16], char name[16]) {
    (void)snprintf(ns, 16, "%s", key % 3 == 0 ? "" : key % 3 == 1 ? "a" : "a-b");
    (void)snprintf(name, 16, "n%u", key * 7 % 30);
}

static uint32_t key_of(const struct sl_store_object *o) {
    char ns[16], name[16];

    for (uint32_t k = 0; k < KEYS; k++) {
        key_names(k, ns, name);
        if (strcmp(ns, o->ns) == 0 && strcmp(name, o->name) == 0)
            return k;
    }
    fail_msg("no such key: %s/%s", o->ns, o->name);
    return 0;
}

/* The version according to the model, or 0. */
static uint64_t model_at(const struct world *w, uint32_t res, uint32_t key, uint64_t version) {
    for (uint32_t i = w->all.n; i-- > 0;)
        if (w->all.v[i].res == res && w->all.v[i].key == key && w->all.v[i].version <= version)
            return w->all.v[i].gone ? 0 : w->all.v[i].version;
    return 0;
}

static void check_text(const struct sl_store_object *o) {
    char text[TEXT];
    size_t len = fx_text(text, sizeof text, o->name, o->version);

    assert_int_equal(o->len, len);
    assert_memory_equal(o->text, text, len);
    assert_int_equal(o->text[len], 0);
}

/* Everything, in order, and from a random place on. */
static void check_walk(struct world *w) {
    char ns[16] = "", name[16] = "";

    for (uint32_t res = 0; res < FX_RESOURCES; res++) {
        uint32_t n = 0, expect = 0, before = 0;
        const struct sl_store_object *last = NULL;
        for (struct sl_store_object *o = sl_store_seek(w->fx.st, res, "", ""); o;
             o = sl_store_next(w->fx.st, o)) {
            int c = last ? strcmp(last->ns, o->ns) : -1;
            assert_true(c < 0 || (c == 0 && strcmp(last->name, o->name) < 0));
            assert_int_equal(o->version, model_at(w, res, key_of(o), UINT64_MAX));
            check_text(o);
            last = o;
            n++;
        }
        key_names((uint32_t)sl_prng_below(&w->p, KEYS), ns, name);
        for (uint32_t k = 0; k < KEYS; k++) {
            char kns[16], kname[16];
            bool there = model_at(w, res, k, UINT64_MAX) > 0;
            key_names(k, kns, kname);
            struct sl_store_object *o = sl_store_get(w->fx.st, res, kns, kname);
            assert_int_equal(there, o != NULL);
            int c = strcmp(kns, ns);
            expect += there;
            before += there && (c < 0 || (c == 0 && strcmp(kname, name) < 0));
        }
        assert_int_equal(n, expect);
        assert_int_equal(sl_store_count(w->fx.st, res), expect);
        n = 0;
        for (struct sl_store_object *o = sl_store_seek(w->fx.st, res, ns, name); o;
             o = sl_store_next(w->fx.st, o))
            n++;
        assert_int_equal(n, expect - before);
    }
}

/* key_names gives one of three namespaces. */
static bool in_scope(const struct listener *l, uint32_t key) {
    return l->scope == 0 || (l->scope == 1 ? key % 3 == l->key % 3 : key == l->key);
}

static void on_event(void *ctx, const struct sl_store_event *ev) {
    struct listener *l = ctx;
    uint32_t key = key_of(ev->now);

    assert_true(in_scope(l, key));
    check_text(ev->now);
    assert_true(ev->now->version > l->last);
    assert_int_equal(ev->now->resource, l->res);
    l->last = ev->now->version;
    assert_int_equal(ev->was ? ev->was->version : 0, l->state[key]);
    assert_int_equal(ev->what, !l->state[key]                                       ? SL_ADDED
                               : model_at(l->w, l->res, key, ev->now->version) == 0 ? SL_DELETED
                                                                                    : SL_MODIFIED);
    l->state[key] = ev->what == SL_DELETED ? 0 : ev->now->version;
    /* Now and then it, or another, ends. */
    if (sl_prng_one_in(&l->w->p, 100)) {
        struct listener *who =
            sl_prng_one_in(&l->w->p, 2) ? l : &l->w->l[sl_prng_below(&l->w->p, WATCHES)];
        if (who->watch)
            sl_store_unwatch(l->w->fx.st, who->watch);
        who->watch = NULL;
    }
}

/* So many changes of the resource after the version are in the model. */
static uint32_t changes_since(const struct world *w, uint32_t res, uint64_t version) {
    uint32_t n = 0;

    for (uint32_t i = w->all.n; i-- > 0 && w->all.v[i].version > version;)
        n += w->all.v[i].res == res;
    return n;
}

static void begin_watch(struct world *w) {
    struct listener *l = &w->l[sl_prng_below(&w->p, WATCHES)];
    uint64_t now = sl_store_version(w->fx.st);

    if (l->watch)
        sl_store_unwatch(w->fx.st, l->watch);
    *l = (struct listener){.w = w,
                           .res = (uint32_t)sl_prng_below(&w->p, FX_RESOURCES),
                           .scope = (uint32_t)sl_prng_below(&w->p, 3),
                           .key = (uint32_t)sl_prng_below(&w->p, KEYS)};
    char ns[16], name[16];
    key_names(l->key, ns, name);
    uint64_t from =
        sl_prng_one_in(&w->p, 2) ? now : (uint64_t)sl_prng_range(&w->p, 1, (int64_t)now);
    l->from = l->last = from;
    for (uint32_t k = 0; k < KEYS; k++)
        l->state[k] = model_at(w, l->res, k, from);
    int r = l->scope == 0 ? sl_store_watch(w->fx.st, l->res, from, on_event, l, &l->watch)
                          : sl_store_watch_in(w->fx.st, l->res, from, ns, l->scope == 1 ? "" : name,
                                              on_event, l, &l->watch);
    if (r < 0) { /* only if it must be */
        assert_int_equal(r, SL_ESTALE);
        assert_true(changes_since(w, l->res, from) > w->fx.past);
        w->refused++;
    }
    w->gone_on += r >= 0 && from < w->opened;
}

static void on_kept(void *ctx, int r) {
    struct world *w = ctx;

    assert_int_equal(r, 0);
    w->answered++;
}

static void change(struct world *w) {
    struct step s = {.res = (uint32_t)sl_prng_below(&w->p, FX_RESOURCES),
                     .key = (uint32_t)sl_prng_below(&w->p, KEYS)};
    char ns[16], name[16], text[TEXT];

    key_names(s.key, ns, name);
    s.version = sl_store_next_version(w->fx.st);
    size_t len = fx_text(text, sizeof text, name, s.version);
    struct sl_store_object *o = sl_store_get(w->fx.st, s.res, ns, name);
    if (o && sl_prng_one_in(&w->p, 3)) {
        s.gone = true;
        assert_int_equal(sl_store_delete(w->fx.st, o, text, len, NULL), 0);
        assert_null(sl_store_get(w->fx.st, s.res, ns, name));
    } else {
        assert_int_equal(sl_store_put(w->fx.st, s.res, ns, name, "uid", text, len, &o, NULL), 0);
        assert_ptr_equal(o, sl_store_get(w->fx.st, s.res, ns, name));
        assert_int_equal(o->version, s.version);
    }
    assert_int_equal(sl_store_version(w->fx.st), s.version);
    *sl_vec_push(&w->all) = s;
    w->asked++;
    sl_store_on_commit(w->fx.st, s.version, on_kept, w);
}

/* At rest: every watch has got all. */
static void check_watches(struct world *w) {
    assert_int_equal(w->asked, w->answered);
    assert_int_equal(sl_store_delivered(w->fx.st), sl_store_version(w->fx.st));
    for (uint32_t i = 0; i < WATCHES; i++)
        for (uint32_t k = 0; k < KEYS && w->l[i].watch; k++)
            if (in_scope(&w->l[i], k))
                assert_int_equal(w->l[i].state[k], model_at(w, w->l[i].res, k, UINT64_MAX));
}

static void restart(struct world *w) {
    uint64_t before = sl_store_version(w->fx.st);

    for (uint32_t i = 0; i < WATCHES; i++)
        w->l[i].watch = NULL;
    fx_close(&w->fx); /* with changes still waiting, now and then */
    w->asked = w->answered;
    if (w->fx.memory)
        sl_vec_clear(&w->all);
    fx_opened(&w->fx);
    w->opened = sl_store_version(w->fx.st);
    assert_int_equal(w->opened, w->fx.memory ? 1 : before);
    check_walk(w);
}

/* With a short past, so that its end is met often. */
static void one_history(uint64_t seed, uint32_t *gone_on, uint32_t *refused) {
    struct world *w = sl_alloc0(1, sizeof *w);

    fx_init(&w->fx);
    w->fx.memory = seed % 4 == 3;
    w->fx.past = seed % 2 ? 10 : 100;
    sl_prng_init(&w->p, seed);
    fx_opened(&w->fx);
    w->opened = 1;
    assert_int_equal(sl_store_version(w->fx.st), 1);
    for (uint32_t i = 0; i < 400; i++) {
        uint64_t what = sl_prng_below(&w->p, 200);
        if (what < 140)
            change(w);
        else if (what < 160)
            begin_watch(w);
        else if (what < 190)
            (void)uv_run(&w->fx.loop, UV_RUN_NOWAIT);
        else if (what < 198)
            check_walk(w);
        else if (what < 199)
            restart(w);
        else
            assert_int_equal(fx_settle(&w->fx), 0);
    }
    assert_int_equal(fx_settle(&w->fx), 0);
    check_watches(w);
    check_walk(w);
    restart(w);
    *gone_on += w->gone_on;
    *refused += w->refused;
    sl_vec_free(&w->all);
    fx_done(&w->fx);
    sl_freep(&w);
}

static void test_histories(void **state) {
    enum { MAX_SEEDS = 200 };
    uint32_t gone_on = 0, refused = 0;

    (void)state;
    /* Which changes are committed before a restart is the thread's affair: until both were seen. */
    for (uint64_t seed = 1; seed <= fx_seeds(60) || ((!gone_on || !refused) && seed <= MAX_SEEDS);
         seed++)
        one_history(seed, &gone_on, &refused);
    print_message("# %u watches from before a restart, %u refused\n", gone_on, refused);
    assert_true(gone_on > 0 && refused > 0);
}

/* ---- many watches, and the past ---- */

static uint64_t rows_in(const char *path) {
    sqlite3 *db;
    sqlite3_stmt *s;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM objects", -1, &s, NULL), 0);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    uint64_t n = (uint64_t)sqlite3_column_int64(s, 0);
    assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

static void count_event(void *ctx, const struct sl_store_event *ev) {
    assert_true(ev->now->version > 1);
    ++*(uint64_t *)ctx;
}

static void test_many_watches(void **state) {
    enum { MANY = 10000 };
    struct sl_store_watch **v = sl_alloc0(MANY, sizeof(struct sl_store_watch *));
    struct fx f;
    uint64_t n = 0;

    (void)state;
    fx_init(&f);
    f.memory = true;
    fx_opened(&f);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(sl_store_watch(f.st, i % 2, 1, count_event, &n, &v[i]), 0);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(sl_store_put(f.st, 0, "", "x", "u", "t", 1, NULL, NULL), 0);
        assert_int_equal(fx_settle(&f), 0);
    }
    assert_int_equal(n, 10 * MANY / 2);
    for (uint32_t i = 0; i < MANY; i += 3)
        sl_store_unwatch(f.st, v[i]);
    n = 0;
    assert_int_equal(sl_store_put(f.st, 0, "", "x", "u", "t", 1, NULL, NULL), 0);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(n, MANY / 2 - (MANY / 3 + 2) / 2);
    fx_done(&f);
    sl_freep(&v);
}

/* The past has an end, and a watch from beyond it is refused: in memory, or after a restart. */
static void past_ends(bool memory) {
    struct sl_store_watch *w;
    struct fx f;
    uint64_t n = 0, first;

    fx_init(&f);
    f.memory = memory;
    fx_opened(&f);
    first = sl_store_next_version(f.st);
    for (uint32_t i = 0; i < 2 * SL_STORE_PAST; i++) {
        assert_int_equal(sl_store_put(f.st, 1, "", "x", "u", "t", 1, NULL, NULL), 0);
        if (i % 100 == 0)
            assert_int_equal(fx_settle(&f), 0);
    }
    assert_int_equal(fx_settle(&f), 0);
    if (!memory) {
        fx_close(&f);
        assert_in_range(rows_in(f.file), SL_STORE_PAST, SL_STORE_PAST + 200);
        fx_opened(&f);
    }
    assert_int_equal(sl_store_watch(f.st, 1, first, count_event, &n, &w), SL_ESTALE);
    uint64_t from = sl_store_version(f.st) - SL_STORE_PAST;
    assert_int_equal(sl_store_watch(f.st, 1, from, count_event, &n, &w), 0);
    assert_int_equal(n, 0); /* never inside the call */
    (void)fx_settle(&f);
    assert_int_equal(n, SL_STORE_PAST);
    assert_int_equal(sl_store_watch(f.st, 0, 1, count_event, &n, &w),
                     0); /* nothing has happened there */
    fx_done(&f);
}

static void test_past(void **state) {
    (void)state;
    past_ends(true);
    past_ends(false);
}

/* Nothing is left of the past when it is over, of what was deleted neither. */
static void test_past_goes(void **state) {
    struct fx f;
    char name[16];

    (void)state;
    fx_init(&f);
    f.past = 50;
    for (uint32_t life = 0; life < 4; life++) {
        fx_opened(&f);
        for (uint32_t i = 0; i < 200; i++) {
            (void)snprintf(name, sizeof name, "x%u", i % 7);
            struct sl_store_object *o = sl_store_get(f.st, 1, "", name);
            assert_int_equal(o && i % 3 == 0
                                 ? sl_store_delete(f.st, o, "t", 1, NULL)
                                 : sl_store_put(f.st, 1, "", name, "u", "t", 1, NULL, NULL),
                             0);
            assert_int_equal(fx_settle(&f), 0);
        }
        uint64_t objects = sl_store_count(f.st, 1);
        fx_close(&f);
        assert_in_range(rows_in(f.file), 50, 50 + 10 + objects);
    }
    fx_opened(&f);
    for (uint32_t i = 0; i < 3000; i++) { /* rows for which there is no use any more go as well */
        (void)snprintf(name, sizeof name, "y%u", i % 1000);
        struct sl_store_object *o = sl_store_get(f.st, 1, "", name);
        assert_int_equal(i >= 2000 ? sl_store_delete(f.st, o, "t", 1, NULL)
                                   : sl_store_put(f.st, 1, "", name, "u", "t", 1, NULL, NULL),
                         0);
        if (i % 10 == 9)
            assert_int_equal(fx_settle(&f), 0);
    }
    fx_close(&f);
    assert_in_range(rows_in(f.file), 50, 2 * 50 + 50 + 50);
    fx_done(&f);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    char *large = sl_alloc0(1, SL_STORE_MAX_OBJECT + 1), name[SL_STORE_MAX_NAME + 2];
    struct sl_store_object *o;
    struct sl_err err;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(
        sl_store_put(f.st, 0, "", "x", "u", large, SL_STORE_MAX_OBJECT + 1, NULL, &err), SL_ELIMIT);
    assert_int_equal(sl_store_put(f.st, 0, "", name, "u", "t", 1, NULL, &err), SL_ELIMIT);
    assert_int_equal(sl_store_put(f.st, 77, "", "x", "u", "t", 1, NULL, &err), SL_ENOENT);
    assert_int_equal(sl_store_version(f.st), 1); /* nothing was given out */
    assert_int_equal(sl_store_put(f.st, 0, "", "x", "u", large, SL_STORE_MAX_OBJECT, &o, &err), 0);
    sl_store_object_ref(o);
    assert_int_equal(sl_store_put(f.st, 0, "", "x", "u", "t", 1, NULL, &err), 0);
    assert_int_equal(sl_store_delete(f.st, o, "t", 1, &err), SL_ESTALE);
    sl_store_object_unref(f.st, o);
    assert_int_equal(sl_store_resource(f.st, 0, "pods", &err), 0);
    assert_int_equal(sl_store_resource(f.st, 9, "pods", &err), SL_EEXIST);
    assert_int_equal(sl_store_resource(f.st, 0, "other", &err), SL_EEXIST);
    /* Without waiting, more than fits. */
    int r = 0;
    for (uint32_t i = 0; i <= SL_STORE_MAX_WAITING && r >= 0; i++)
        r = sl_store_put(f.st, 1, "", "x", "u", "t", 1, NULL, &err);
    assert_int_equal(r, SL_EIO);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(sl_store_put(f.st, 1, "", "x", "u", "t", 1, NULL, &err), 0);
    fx_done(&f);
    sl_freep(&large);
}

/* ---- resources that come late ---- */

static uint32_t only_pods(void *ctx, const char *name) {
    (void)ctx;
    return strcmp(name, "pods") == 0 ? 5 : UINT32_MAX;
}

static size_t count_index(void *ctx, struct sl_store_object *o) {
    o->index = ctx;
    ++*(int *)ctx;
    return 0;
}

static void count_unindex(void *ctx, struct sl_store_object *o) {
    assert_ptr_equal(o->index, ctx);
    --*(int *)ctx;
}

static void test_late_resources(void **state) {
    struct sl_err err;
    int indexed = 0;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_put(f.st, 0, "n", "pod", "u1", "p", 1, NULL, &err), 0);
    assert_int_equal(sl_store_put(f.st, 1, "n", "job", "u2", "j", 1, NULL, &err), 0);
    fx_close(&f);
    struct sl_store_spec spec = {.loop = &f.loop,
                                 .path = f.file,
                                 .ctx = &indexed,
                                 .resource = only_pods,
                                 .index = count_index,
                                 .unindex = count_unindex};
    assert_int_equal(sl_store_open(&spec, &f.st, &err), 0);
    struct sl_store_object *o = sl_store_get(f.st, 5, "n", "pod");
    assert_non_null(o);
    assert_string_equal(o->uid, "u1");
    assert_int_equal(sl_store_count(f.st, 1), 0);
    assert_int_equal(sl_store_delete(f.st, o, "p", 1, &err), 0);
    assert_int_equal(sl_store_resource(f.st, 1, "batch/jobs", &err), 0);
    o = sl_store_get(f.st, 1, "n", "job");
    assert_non_null(o);
    assert_int_equal(sl_store_delete(f.st, o, "j", 1, &err), 0);
    assert_int_equal(sl_store_resource(f.st, 7, "batch/jobs", &err), SL_EEXIST);
    assert_int_equal(sl_store_put(f.st, 1, "n", "job2", "u3", "k", 1, NULL, &err), 0);
    assert_int_equal(sl_store_resource(f.st, 8, "new", &err), 0);
    assert_int_equal(sl_store_put(f.st, 8, "n", "new", "u4", "l", 1, NULL, &err), 0);
    assert_int_equal(fx_settle(&f), 0);
    fx_close(&f);
    assert_int_equal(indexed, 0);
    fx_opened(&f);
    assert_int_equal(sl_store_resource(f.st, 8, "new", &err), 0);
    assert_int_equal(sl_store_count(f.st, 0), 0);
    assert_non_null(sl_store_get(f.st, 1, "n", "job2"));
    assert_non_null(sl_store_get(f.st, 8, "n", "new"));
    fx_done(&f);
}

static void never(void *ctx, int r) {
    (void)r;
    fail_msg("%s", (const char *)ctx);
}

static void test_forget(void **state) {
    static char forgotten[] = "it was forgotten";
    struct fx f;
    int r = 1;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    assert_int_equal(sl_store_put(f.st, 0, "", "x", "u", "t", 1, NULL, NULL), 0);
    uint64_t v = sl_store_version(f.st);
    sl_store_on_commit(f.st, v, never, forgotten);
    sl_store_on_commit(f.st, v, fx_flag, &r);
    assert_int_equal(r, 1);
    sl_store_cancel(f.st, forgotten);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(r, 0);
    r = 1;
    sl_store_on_commit(f.st, v, fx_flag, &r); /* kept already */
    assert_int_equal(r, 0);
    fx_done(&f);
}

/* ---- resources that come and go ---- */

#define LATE 7u /* its number */

static uint32_t numbers_in(const char *file) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;

    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT max(number) FROM resources", -1, &s, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    uint32_t n = (uint32_t)sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return n;
}

/* Ever new names under one number, an object each, which goes: more of them than there may be
 * resources at a time. */
static void come_and_go(struct fx *f, uint32_t n) {
    char name[40];

    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "group-%u/things", i);
        assert_int_equal(sl_store_resource(f->st, LATE, name, NULL), 0);
        assert_int_equal(sl_store_put(f->st, LATE, "", "x", "u", "t", 1, NULL, NULL), 0);
        assert_false(sl_store_drop(f->st, LATE)); /* it has an object */
        struct sl_store_object *o = sl_store_get(f->st, LATE, "", "x");
        assert_int_equal(sl_store_delete(f->st, o, "t", 1, NULL), 0);
        assert_false(sl_store_drop(f->st, LATE)); /* that it went is not kept yet */
        assert_int_equal(fx_settle(f), 0);
        assert_true(sl_store_drop(f->st, LATE));
        assert_int_equal(sl_store_put(f->st, LATE, "", "x", "u", "t", 1, NULL, NULL), SL_ENOENT);
    }
    assert_int_equal(sl_store_put(f->st, 0, "", "y", "u", "t", 1, NULL, NULL), 0);
    assert_int_equal(fx_settle(f), 0);
}

static void test_dropped(void **state) {
    struct sl_store_stats before, after;
    struct sl_store_watch *w;
    uint64_t n = 0, first;
    struct fx f;

    (void)state;
    fx_init(&f);
    fx_opened(&f);
    come_and_go(&f, 10);
    first = sl_store_version(f.st);
    sl_store_stats(f.st, &before);
    come_and_go(&f, 1000);
    sl_store_stats(f.st, &after);
    assert_in_range(after.bytes, before.bytes, before.bytes + 1000); /* "y" was written once more */
    fx_close(&f);
    assert_in_range(rows_in(f.file), 1, 4);
    assert_in_range(numbers_in(f.file), FX_RESOURCES, FX_RESOURCES + 3);
    fx_opened(&f);
    /* What was there under this name before is not known, also after a restart. */
    assert_int_equal(sl_store_resource(f.st, LATE, "group-3/things", NULL), 0);
    assert_int_equal(sl_store_count(f.st, LATE), 0);
    assert_int_equal(sl_store_watch(f.st, LATE, first, count_event, &n, &w), SL_ESTALE);
    assert_int_equal(sl_store_watch(f.st, LATE, sl_store_version(f.st), count_event, &n, &w), 0);
    assert_int_equal(sl_store_put(f.st, LATE, "", "x", "u", "t", 1, NULL, NULL), 0);
    assert_int_equal(fx_settle(&f), 0);
    assert_int_equal(n, 1);
    fx_done(&f);
}

/* What is counted is what the heap gives, whatever the size of objects. */
/* ---- changes that are not for the file ---- */

#define TOUCHED 6u

struct touched {
    struct fx fx;
    uint64_t now[TOUCHED], in_file[TOUCHED]; /* versions; 0: it is not there */
    uint64_t seen;                           /* the last version that the watch heard of */
};

static void hear(void *ctx, const struct sl_store_event *ev) {
    struct touched *t = ctx;

    assert_true(ev->now->version > t->seen);
    t->seen = ev->now->version;
}

static void touch_step(struct touched *t, struct sl_prng *p, uint32_t key) {
    char name[16], text[TEXT];
    struct sl_err err;
    uint64_t version = sl_store_next_version(t->fx.st);
    uint64_t kind = sl_prng_below(p, 10);

    (void)snprintf(name, sizeof name, "n%u", key);
    size_t len = fx_text(text, sizeof text, name, version);
    struct sl_store_object *o = sl_store_get(t->fx.st, 0, "a", name);
    assert_int_equal(o ? o->version : 0, t->now[key]);
    if (!o || kind == 0) {
        assert_int_equal(sl_store_put(t->fx.st, 0, "a", name, "u", text, len, NULL, &err), 0);
        t->now[key] = t->in_file[key] = version;
    } else if (kind == 1) {
        assert_int_equal(sl_store_delete(t->fx.st, o, text, len, &err), 0);
        t->now[key] = t->in_file[key] = 0;
    } else {
        assert_int_equal(sl_store_touch(t->fx.st, o, text, len, &err), 0);
        t->now[key] = version;
    }
}

static void check_touched(struct touched *t) {
    char name[16];

    for (uint32_t k = 0; k < TOUCHED; k++) {
        (void)snprintf(name, sizeof name, "n%u", k);
        struct sl_store_object *o = sl_store_get(t->fx.st, 0, "a", name);
        assert_int_equal(o ? o->version : 0, t->now[k]);
        if (o)
            check_text(o);
    }
}

/* Watches hear of them, and after a restart everything is as it was last put; also when much more
 * of them came than the history holds, and rows of the file were used again. */
static void test_touches(void **state) {
    struct sl_prng p;
    (void)state;

    for (uint64_t seed = 1; seed <= fx_seeds(20); seed++) {
        struct touched t = {.seen = 0};
        struct sl_store_watch *w = NULL;
        sl_prng_init(&p, seed);
        fx_init(&t.fx);
        t.fx.past = 16;
        fx_opened(&t.fx);
        for (uint32_t life = 0; life < 5; life++) {
            uint64_t version = sl_store_version(t.fx.st);
            t.seen = version;
            assert_int_equal(sl_store_watch(t.fx.st, 0, version, hear, &t, &w), 0);
            for (uint32_t i = 0; i < 300; i++) {
                touch_step(&t, &p, (uint32_t)sl_prng_below(&p, TOUCHED));
                if (sl_prng_below(&p, 4) == 0)
                    assert_int_equal(fx_settle(&t.fx), 0);
            }
            assert_int_equal(fx_settle(&t.fx), 0);
            assert_int_equal(t.seen, sl_store_version(t.fx.st));
            check_touched(&t);
            sl_store_unwatch(t.fx.st, w);
            version = sl_store_version(t.fx.st);
            fx_close(&t.fx);
            fx_opened(&t.fx);
            assert_true(sl_store_version(t.fx.st) >= version);
            memcpy(t.now, t.in_file, sizeof t.now);
            check_touched(&t);
        }
        fx_done(&t.fx);
    }
}

/* The disk has nothing to do with them. */
static void test_touches_write_nothing(void **state) {
    struct sl_store_stats before, after;
    char text[TEXT];
    struct sl_err err;
    struct fx fx;

    (void)state;
    fx_init(&fx);
    fx_opened(&fx);
    size_t len = fx_text(text, sizeof text, "x", sl_store_next_version(fx.st));
    assert_int_equal(sl_store_put(fx.st, 0, "a", "x", "u", text, len, NULL, &err), 0);
    assert_int_equal(fx_settle(&fx), 0);
    sl_store_stats(fx.st, &before);
    for (uint32_t i = 0; i < 5000; i++) {
        struct sl_store_object *o = sl_store_get(fx.st, 0, "a", "x");
        len = fx_text(text, sizeof text, "x", sl_store_next_version(fx.st));
        assert_int_equal(sl_store_touch(fx.st, o, text, len, &err), 0);
        assert_int_equal(fx_settle(&fx), 0);
    }
    sl_store_stats(fx.st, &after);
    assert_int_equal(after.commits, before.commits);
    fx_done(&fx);
}

static void test_bytes(void **state) {
    static const char text[] = "{\"metadata\":{\"name\":\"a-name\"},\"data\":{\"a\":\"b\"}}";
    struct sl_store_stats stats[2];
    struct mallinfo2 heap[2];
    struct fx f;
    char name[32];

    (void)state;
    fx_init(&f);
    f.memory = true; /* SQLite's cache is no object */
    fx_opened(&f);
    for (int i = 0; i < 40000; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        assert_int_equal(sl_store_put(f.st, 0, "default", name, "uid", text,
                                      20 + (size_t)i % (sizeof text - 20), NULL, NULL),
                         0);
        if (i % 1000 == 999)
            assert_int_equal(fx_settle(&f), 0);
        if (i == 19999 || i == 39999) {
            sl_store_stats(f.st, &stats[i / 20000]);
            heap[i / 20000] = mallinfo2();
        }
    }
    size_t counted = stats[1].bytes - stats[0].bytes,
           taken = heap[1].uordblks + heap[1].hblkhd - heap[0].uordblks - heap[0].hblkhd;
    if (taken) /* under a sanitiser nothing is */
        assert_in_range(counted, taken - taken / 50, taken + taken / 50);
    fx_done(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_histories),
        cmocka_unit_test(test_many_watches),
        cmocka_unit_test(test_past),
        cmocka_unit_test(test_past_goes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_late_resources),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_touches),
        cmocka_unit_test(test_touches_write_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
