/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reflector over the in-memory API under seeded faults: when all is quiet, the owner's table is
 * the API's.
 */
#include "reflector_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "core/base/prng.h"
#include "fakeapi.h"

#define DIGEST_SEEDS 200u
#define JOBS "/apis/batch/v1/jobs"

struct world {
    struct fakeapi *a;
    struct sl_prng prng;
    struct table t[2];
    struct sl_reflector *r[2];
    uint64_t events, pages;
};

static void advance(struct world *w, sl_time until) {
    for (;;) {
        sl_time t = fakeapi_next(w->a);
        for (int i = 0; i < 2; i++) {
            sl_reflector_tick(w->r[i]);
            sl_time n = sl_reflector_next(w->r[i]);
            t = n < t ? n : t;
        }
        sl_time f = fakeapi_next(w->a);
        t = f < t ? f : t;
        if (t > until)
            break;
        w->events++;
        (void)fakeapi_step(w->a, t);
    }
    (void)fakeapi_step(w->a, until);
}

static void inject_fault(struct world *w) {
    char path[100], body[200];
    uint64_t n = sl_prng_below(&w->prng, 24);
    const char *ns = n % 3 ? "a" : "b";

    (void)snprintf(path, sizeof path,
                   "/apis/batch/v1/namespaces/%s/jobs/j%d?propagationPolicy=Background", ns,
                   (int)n);
    switch (sl_prng_below(&w->prng, 4)) {
    case 0:
        (void)fakeapi_do(w->a, SL_DELETE, path, NULL, NULL, NULL);
        break;
    case 1:
        (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%s/jobs", ns);
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"j%d\",\"labels\":{\"k\":\"%d\"}}}", (int)n,
                       (int)(n % 2));
        (void)fakeapi_do(w->a, SL_POST, path, SL_JSON, body, NULL);
        break;
    case 2:
        (void)snprintf(body, sizeof body, "{\"metadata\":{\"labels\":{\"k\":\"%d\"}}}",
                       (int)sl_prng_below(&w->prng, 2));
        (void)fakeapi_do(w->a, SL_PATCH, path, SL_MERGE_PATCH, body, NULL);
        break;
    default:
        (void)snprintf(body, sizeof body, "{\"spec\":{\"x\":%d}}", (int)sl_prng_below(&w->prng, 4));
        (void)fakeapi_do(w->a, SL_PATCH, path, SL_MERGE_PATCH, body, NULL);
    }
}

struct check {
    const struct table *t;
    uint32_t at;
    bool labelled, equal;
};

static void check_one(void *ctx, yyjson_val *o) {
    struct check *c = ctx;
    yyjson_val *m = yyjson_obj_get(o, "metadata");
    char key[40];

    if (c->labelled && !yyjson_equals_str(yyjson_obj_get(yyjson_obj_get(m, "labels"), "k"), "1"))
        return;
    key_of(o, key);
    const struct row *r = c->at < c->t->rows.n ? &c->t->rows.v[c->at] : NULL;
    c->equal &= r && strcmp(r->key, key) == 0 &&
                yyjson_equals_str(yyjson_obj_get(m, "resourceVersion"), r->version);
    c->at++;
}

static bool equal(struct world *w, int i) {
    struct check c = {.t = &w->t[i], .labelled = i == 1, .equal = true};

    (void)fakeapi_each(w->a, JOBS, check_one, &c);
    return c.equal && c.at == w->t[i].rows.n;
}

static void run_seed(uint64_t seed, struct world *w) {
    struct sl_prng *p = &w->prng;
    struct fakeapi_faults f;

    memset(w, 0, sizeof *w);
    sl_prng_init(p, seed);
    seed_key(seed);
    w->a = fakeapi_new(seed);
    fakeapi_set_page(w->a, (uint32_t)sl_prng_range(p, 1, 12));
    fakeapi_some_faults(p, 4, &f);
    fakeapi_set_faults(w->a, &f);
    for (int i = 0; i < 2; i++) {
        struct sl_reflector_owner o = owner_of(&w->t[i]);
        w->r[i] = sl_reflector_new(fakeapi_port(w->a, 0), JOBS, i ? "labelSelector=k%3D1" : "", &o,
                                   seed * 2 + (uint64_t)i);
    }
    for (int i = 0; i < 20; i++)
        inject_fault(w);
    for (int i = 0; i < 120; i++) {
        inject_fault(w);
        advance(w, fakeapi_now(w->a) +
                       sl_prng_range(p, 0, sl_prng_one_in(p, 4) ? 2 * SL_SEC : 3 * SL_MSEC));
        if (sl_prng_one_in(p, 40))
            fakeapi_install(w->a, "batch", "jobs", false);
        if (sl_prng_one_in(p, 3))
            fakeapi_install(w->a, "batch", "jobs", true);
    }
    fakeapi_install(w->a, "batch", "jobs", true);
    fakeapi_set_faults(w->a, NULL);
    /* Longer than a partition, a lost reply and the longest pause; with a silent stream, than its
     * patience. */
    advance(w, fakeapi_now(w->a) + (f.hang_watch ? 400 : 100) * SL_SEC);
    for (int i = 0; i < 2; i++) {
        if (!equal(w, i))
            fail_msg("seed %llu, table %d: not the API's", (unsigned long long)seed, i);
        if (!w->t[i].exists)
            fail_msg("seed %llu, table %d: missing", (unsigned long long)seed, i);
    }
}

static void end_seed(struct world *w) {
    for (int i = 0; i < 2; i++) {
        sl_reflector_free(w->r[i]);
        sl_vec_free(&w->t[i].rows);
    }
    fakeapi_free(w->a);
}

static uint64_t digest_of(uint64_t h, const struct world *w) {
    h = sl_digest_u64(h, w->events);
    for (uint32_t i = 0; i < w->t[0].rows.n; i++)
        h = sl_digest_str(sl_digest_str(h, w->t[0].rows.v[i].key), w->t[0].rows.v[i].version);
    return h;
}

static void test_seeds(void **state) {
    const char *s = getenv("SL_SEEDS");
    uint64_t n = s ? strtoull(s, NULL, 10) : 2000, events = 0, lists = 0, watches = 0, digest = 0;

    (void)state;
    n = n < DIGEST_SEEDS ? DIGEST_SEEDS : n < 2000 ? n : 2000;
    for (uint64_t seed = 0; seed < n; seed++) {
        struct world w;
        struct sl_reflector_stats st;

        run_seed(seed, &w);
        sl_reflector_stats(w.r[0], &st);
        events += w.events;
        lists += st.lists;
        watches += st.watches;
        if (seed < DIGEST_SEEDS)
            digest = digest_of(digest, &w);
        end_seed(&w);
    }
    printf("# %llu seeds, %llu events, %llu lists, %llu watches\ndigest reflector %016llx\n",
           (unsigned long long)n, (unsigned long long)events, (unsigned long long)lists,
           (unsigned long long)watches, (unsigned long long)digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests_name("reflector_seeds", tests, NULL, NULL);
}
