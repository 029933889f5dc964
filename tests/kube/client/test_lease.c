/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election over the in-memory API: what is written, when it is taken, renewed, lost and
 * given back; and under seeded faults, deaths and clock steps that no two hold it at any instant,
 * and that it is soon held again.
 */
#include "kube/client/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "core/base/collection/hash.h"
#include "core/base/prng.h"
#include "core/base/stamp.h"
#include "fakeapi.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/sys/leases"
#define LEASE LEASES "/sluice"
#define DURATION (15 * SL_SEC)
#define DEADLINE (10 * SL_SEC)
#define RETRY (2 * SL_SEC)

#define DIGEST_SEEDS 200u

enum { MAX = 3 };

/* Between a candidate and the API: remembers when its last successful write was sent. */
struct tap {
    struct sl_kube_client client;
    struct sl_kube_client *inner;
    sl_kube_reply_fn done;
    void *ctx;
    bool write;
    sl_time sent, good;
    uint32_t swallow; /* so many requests get no answer at all */
};

struct world {
    struct fakeapi *a;
    struct tap taps[MAX];
    struct sl_lease *l[MAX]; /* NULL: dead */
    uint32_t n;
    uint64_t events, terms;
    int holder; /* -1: nobody */
};

static void tap_reply(void *ctx, const struct sl_kube_reply *r) {
    struct tap *t = ctx;

    if (t->write && r->status >= 200 && r->status < 300)
        t->good = t->sent;
    t->done(t->ctx, r);
}

static sl_kube_call tap_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                sl_kube_reply_fn done, void *ctx) {
    struct tap *t = SL_CONTAINER_OF(p, struct tap, client);

    t->done = done;
    t->ctx = ctx;
    t->write = rq->method != SL_GET;
    t->sent = p->mono;
    if (t->swallow > 0) {
        t->swallow--;
        return (sl_kube_call){UINT64_MAX};
    }
    return sl_kube_request(t->inner, rq, tap_reply, t);
}

static void tap_cancel(struct sl_kube_client *p, sl_kube_call c) {
    sl_kube_cancel(((struct tap *)p)->inner, c);
}

static const struct sl_kube_client_ops tap_ops = {tap_request, NULL, tap_cancel};

/* Before any callback, as the contract of the port says. */
static void set_clocks(struct world *w, sl_time mono) {
    for (uint32_t i = 0; i < w->n; i++) {
        w->taps[i].client.mono = mono;
        w->taps[i].client.wall = w->taps[i].inner->wall + mono - w->taps[i].inner->mono;
    }
}

static struct sl_lease *candidate(struct world *w, uint32_t i, const char *identity,
                                  uint64_t seed) {
    struct sl_lease_spec spec = {"sys", "sluice", identity, DURATION, DEADLINE, RETRY};

    w->taps[i].good = INT64_MIN;
    return w->l[i] = sl_lease_new(&w->taps[i].client, &spec, seed);
}

static void open_world(struct world *w, uint32_t n, uint64_t seed) {
    memset(w, 0, sizeof *w);
    w->a = fakeapi_new(seed);
    w->n = n;
    w->holder = -1;
    for (uint32_t i = 0; i < n; i++)
        w->taps[i] = (struct tap){.client.ops = &tap_ops, .inner = fakeapi_port(w->a, i)};
    set_clocks(w, 0);
}

static void close_world(struct world *w) {
    for (uint32_t i = 0; i < w->n; i++)
        sl_lease_free(w->l[i]);
    fakeapi_free(w->a);
}

static void check(struct world *w) {
    int holder = -1;

    for (uint32_t i = 0; i < w->n; i++)
        if (w->l[i] && sl_lease_held(w->l[i])) {
            assert_int_equal(holder, -1); /* never two */
            assert_true(fakeapi_now(w->a) < w->taps[i].good + DEADLINE);
            holder = (int)i;
        }
    w->terms += holder >= 0 && holder != w->holder;
    w->holder = holder;
}

static void advance(struct world *w, sl_time until) {
    for (;;) {
        sl_time t = SL_TIME_NEVER;
        for (uint32_t i = 0; i < w->n; i++)
            if (w->l[i]) {
                sl_lease_tick(w->l[i]);
                sl_time n = sl_lease_next(w->l[i]);
                t = n < t ? n : t;
            }
        check(w);
        t = fakeapi_next(w->a) < t ? fakeapi_next(w->a) : t;
        if (t > until)
            break;
        w->events++;
        set_clocks(w, t);
        (void)fakeapi_step(w->a, t);
        check(w);
    }
    (void)fakeapi_step(w->a, until);
    set_clocks(w, until);
    check(w);
}

static void pass(struct world *w, sl_span d) {
    advance(w, fakeapi_now(w->a) + d);
}

static yyjson_val *field(struct world *w, const char *name) {
    return yyjson_obj_get(yyjson_obj_get(fakeapi_get(w->a, LEASE), "spec"), name);
}

static void test_stamps(void **state) {
    static const struct {
        sl_time t;
        const char *text, *micro;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z"},
        {951782399 * SL_SEC + 999999999, "2000-02-28T23:59:59Z", "2000-02-28T23:59:59.999999Z"},
        {951782400 * SL_SEC, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z"},
        {951868800 * SL_SEC + 1000, "2000-03-01T00:00:00Z", "2000-03-01T00:00:00.000001Z"},
        {INT64_C(4107542400) * SL_SEC, "2100-03-01T00:00:00Z", "2100-03-01T00:00:00.000000Z"},
        {FAKEAPI_EPOCH - SL_SEC, "2025-12-31T23:59:59Z", "2025-12-31T23:59:59.000000Z"},
        {INT64_MAX, "2262-04-11T23:47:16Z", "2262-04-11T23:47:16.854775Z"},
        {INT64_MIN, "1677-09-21T00:12:43Z", "1677-09-21T00:12:43.145224Z"},
    };
    char out[SL_STAMP_TEXT];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_string_equal(sl_stamp(cases[i].t, out), cases[i].text);
        assert_string_equal(sl_stamp_micro(cases[i].t, out), cases[i].micro);
    }
}

static void test_life(void **state) {
    struct world w;
    uint64_t version;

    (void)state;
    open_world(&w, 2, 1);
    candidate(&w, 0, "one", 1);
    assert_false(sl_lease_held(w.l[0]));
    assert_string_equal(sl_lease_holder(w.l[0]), "");
    pass(&w, SL_SEC);
    assert_true(sl_lease_held(w.l[0]));
    assert_string_equal(sl_lease_holder(w.l[0]), "one");
    assert_string_equal(yyjson_get_str(field(&w, "holderIdentity")), "one");
    assert_int_equal(yyjson_get_int(field(&w, "leaseDurationSeconds")), 15);
    assert_int_equal(yyjson_get_int(field(&w, "leaseTransitions")), 0);
    char acquired[40];
    (void)snprintf(acquired, sizeof acquired, "%s", yyjson_get_str(field(&w, "acquireTime")));
    assert_int_equal(strlen(acquired), strlen("2026-01-01T00:00:00.000000Z"));
    /* Renewed, and the second one only looks. */
    candidate(&w, 1, "two", 2);
    version = fakeapi_version(w.a);
    pass(&w, SL_MINUTE);
    assert_true(sl_lease_held(w.l[0]));
    assert_string_equal(sl_lease_holder(w.l[1]), "one");
    assert_true(fakeapi_version(w.a) >= version + 28 && fakeapi_version(w.a) <= version + 42);
    assert_string_equal(yyjson_get_str(field(&w, "acquireTime")), acquired);
    assert_string_not_equal(yyjson_get_str(field(&w, "renewTime")), acquired);
    assert_int_equal(yyjson_get_int(field(&w, "leaseTransitions")), 0);
    /* Others may keep things on it. */
    assert_int_equal(fakeapi_do(w.a, SL_PATCH, LEASE, SL_MERGE_PATCH,
                                "{\"metadata\":{\"labels\":{\"k\":\"v\"}}}", NULL),
                     200);
    pass(&w, 3 * SL_SEC);
    assert_true(sl_lease_held(w.l[0]));
    assert_non_null(yyjson_obj_get(yyjson_obj_get(fakeapi_get(w.a, LEASE), "metadata"), "labels"));
    /* A clean end: the other has it within a retry period, not a duration. */
    sl_lease_release(w.l[0]);
    assert_false(sl_lease_held(w.l[0]));
    assert_false(sl_lease_released(w.l[0]));
    pass(&w, 5 * SL_MSEC);
    assert_true(sl_lease_released(w.l[0]));
    assert_string_equal(yyjson_get_str(field(&w, "holderIdentity")), "");
    assert_int_equal(yyjson_get_int(field(&w, "leaseDurationSeconds")), 1);
    pass(&w, RETRY + 10 * SL_MSEC);
    assert_true(sl_lease_held(w.l[1]));
    assert_int_equal(yyjson_get_int(field(&w, "leaseTransitions")), 1);
    assert_int_equal(sl_lease_next(w.l[0]), SL_TIME_NEVER);
    close_world(&w);
}

static void test_death(void **state) {
    struct world w;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        open_world(&w, 3, seed);
        candidate(&w, 0, "one", seed);
        pass(&w, SL_SEC);
        candidate(&w, 1, "two", seed + 1000);
        candidate(&w, 2, "three", seed + 2000);
        pass(&w, 20 * SL_SEC + (sl_span)seed * 10 * SL_MSEC);
        assert_int_equal(w.holder, 0);
        fakeapi_kill(w.a, 0);
        sl_lease_free(w.l[0]);
        w.l[0] = NULL;
        pass(&w, DURATION - RETRY - 10 * SL_MSEC);
        assert_int_equal(w.holder, -1);
        pass(&w, 2 * RETRY + 20 * SL_MSEC); /* seen within one period, taken when it has expired */
        assert_int_not_equal(w.holder, -1);
        close_world(&w);
    }
}

/* Cut off: not held at the deadline after the last renewal was sent, and no later. */
static void test_deadline(void **state) {
    struct world w;

    (void)state;
    open_world(&w, 2, 1);
    candidate(&w, 0, "one", 1);
    pass(&w, 30 * SL_SEC);
    assert_true(sl_lease_held(w.l[0]));
    candidate(&w, 1, "two", 2);
    sl_time cut = fakeapi_now(w.a);
    fakeapi_partition(w.a, 0, cut + SL_MINUTE);
    pass(&w, DEADLINE - RETRY - SL_MSEC);
    assert_true(sl_lease_held(w.l[0]));
    assert_true(sl_lease_next(w.l[0]) <= cut + DEADLINE); /* somebody must look when it ends */
    pass(&w, RETRY);
    assert_false(sl_lease_held(w.l[0]));
    pass(&w, DURATION - DEADLINE + RETRY);
    assert_int_equal(w.holder, 1);
    pass(&w, SL_MINUTE);
    assert_int_equal(w.holder, 1);
    assert_string_equal(sl_lease_holder(w.l[0]), "two");
    close_world(&w);
}

/* Answers that take long, or never come, cost no term as long as another try is in time. */
static void test_hung(void **state) {
    struct world w;

    (void)state;
    open_world(&w, 1, 1);
    candidate(&w, 0, "one", 1);
    pass(&w, SL_SEC);
    for (int i = 0; i < 10; i++) {
        w.taps[0].swallow = 1;
        for (int k = 0; k < 20; k++) {
            pass(&w, SL_SEC);
            assert_int_equal(w.holder, 0);
        }
    }
    fakeapi_set_faults(w.a, &(struct fakeapi_faults){.late_reply = 1});
    pass(&w, 10 * SL_MINUTE); /* 'check' sees that a late answer makes no longer term */
    close_world(&w);
}

/* Somebody else's program holds it, with its own duration. */
static void test_stranger(void **state) {
    struct world w;
    char body[300];

    (void)state;
    open_world(&w, 1, 1);
    assert_int_equal(
        fakeapi_do(w.a, SL_POST, LEASES, SL_JSON,
                   "{\"metadata\":{\"name\":\"sluice\"},\"spec\":{\"holderIdentity\":\"go\","
                   "\"leaseDurationSeconds\":40,"
                   "\"leaseTransitions\":4,\"renewTime\":\"2020-01-01T00:00:00.000000Z\"}}",
                   NULL),
        201);
    candidate(&w, 0, "one", 1);
    for (int i = 0; i < 10; i++) { /* its clock is years behind; what counts is that it changes */
        pass(&w, 30 * SL_SEC);
        assert_false(sl_lease_held(w.l[0]));
        assert_string_equal(sl_lease_holder(w.l[0]), "go");
        (void)snprintf(body, sizeof body,
                       "{\"spec\":{\"renewTime\":\"2020-01-01T00:00:%02d.000000Z\"}}", i + 1);
        assert_int_equal(fakeapi_do(w.a, SL_PATCH, LEASE, SL_MERGE_PATCH, body, NULL), 200);
    }
    /* A label is no renewal. */
    pass(&w, 20 * SL_SEC);
    assert_int_equal(fakeapi_do(w.a, SL_PATCH, LEASE, SL_MERGE_PATCH,
                                "{\"metadata\":{\"labels\":{\"k\":\"v\"}}}", NULL),
                     200);
    pass(&w, 19 * SL_SEC);
    assert_false(sl_lease_held(w.l[0]));
    pass(&w, RETRY + 2 * SL_SEC);
    assert_true(sl_lease_held(w.l[0]));
    assert_int_equal(yyjson_get_int(field(&w, "leaseTransitions")), 5);
    /* Taken away by force: believed at once. */
    assert_int_equal(fakeapi_do(w.a, SL_PATCH, LEASE, SL_MERGE_PATCH,
                                "{\"spec\":{\"holderIdentity\":\"root\"}}", NULL),
                     200);
    pass(&w, RETRY + SL_SEC);
    assert_false(sl_lease_held(w.l[0]));
    assert_string_equal(sl_lease_holder(w.l[0]), "root");
    /* Deleted: made anew. */
    assert_int_equal(fakeapi_do(w.a, SL_DELETE, LEASE, NULL, NULL, NULL), 200);
    pass(&w, RETRY + SL_SEC);
    assert_true(sl_lease_held(w.l[0]));
    close_world(&w);
}

/* What the server says may be odd. Nothing of it makes two holders. */
static void test_odd_leases(void **state) {
    static const struct {
        const char *spec;
        bool taken; /* within a retry period */
    } cases[] = {
        {"{}", true},
        {"{\"holderIdentity\":\"\"}", true},
        {"{\"holderIdentity\":5}", false},
        {"{\"holderIdentity\":\"x\"}", false},
        {"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":-3}", false},
        {"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":\"1\"}", false},
        {"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":9223372036854775807}", false},
        {"{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":1}", true},
        {"{\"holderIdentity\":\"\",\"leaseTransitions\":9223372036854775807}", true},
    };
    char body[4000], holder[3000];
    struct world w;

    (void)state;
    memset(holder, 'o', sizeof holder);
    holder[sizeof holder - 1] = '\0';
    for (size_t i = 0; i <= SL_LEN(cases); i++) {
        bool last = i == SL_LEN(cases);
        open_world(&w, 1, i);
        (void)snprintf(
            body, sizeof body,
            last ? "{\"metadata\":{\"name\":\"sluice\"},\"spec\":{\"holderIdentity\":\"%s\"}}"
                 : "{\"metadata\":{\"name\":\"sluice\"},\"spec\":%s}",
            last ? holder : cases[i].spec);
        assert_int_equal(fakeapi_do(w.a, SL_POST, LEASES, SL_JSON, body, NULL), 201);
        candidate(&w, 0, "one", i);
        pass(&w, RETRY + SL_SEC);
        assert_int_equal(sl_lease_held(w.l[0]), !last && cases[i].taken);
        close_world(&w);
    }
}

static void test_release(void **state) {
    struct world w;

    (void)state;
    /* Never held: nothing to give back. */
    open_world(&w, 2, 1);
    candidate(&w, 0, "one", 1);
    sl_lease_release(w.l[0]);
    assert_true(sl_lease_released(w.l[0]));
    /* Held, but cut off: one second of patience. */
    candidate(&w, 1, "two", 2);
    pass(&w, SL_SEC);
    assert_true(sl_lease_held(w.l[1]));
    fakeapi_partition(w.a, 1, fakeapi_now(w.a) + SL_MINUTE);
    sl_lease_release(w.l[1]);
    pass(&w, SL_SEC - SL_MSEC);
    assert_false(sl_lease_released(w.l[1]));
    pass(&w, SL_MSEC);
    assert_true(sl_lease_released(w.l[1]));
    close_world(&w);
    /* In the middle of taking it. */
    for (uint64_t seed = 0; seed < 50; seed++) {
        open_world(&w, 1, seed);
        candidate(&w, 0, "one", seed);
        pass(&w, (sl_span)seed * 100 * SL_USEC);
        sl_lease_release(w.l[0]);
        pass(&w, 2 * SL_SEC);
        assert_true(sl_lease_released(w.l[0]));
        close_world(&w);
    }
}

/* ---- seeds ---- */

static void run_seed(uint64_t seed, uint64_t *events, uint64_t *terms) {
    struct world w;
    struct sl_prng prng, *p = &prng;
    struct fakeapi_faults f;
    uint64_t born = 0;
    char name[40];

    sl_prng_init(p, seed);
    open_world(&w, (uint32_t)sl_prng_range(p, 2, MAX), seed);
    fakeapi_some_faults(p, 4, &f);
    fakeapi_set_faults(w.a, &f);
    for (int turn = 0; turn < 25; turn++) {
        uint32_t i = (uint32_t)sl_prng_below(p, w.n);
        if (!w.l[i]) {
            (void)snprintf(name, sizeof name, "c%u-%llu", i, (unsigned long long)born++);
            candidate(&w, i, name, seed * 100 + born);
        } else if (sl_prng_one_in(p, 4)) { /* death, or a clean end that may be cut short */
            if (sl_prng_one_in(p, 2)) {
                sl_lease_release(w.l[i]);
                pass(&w, sl_prng_range(p, 0, SL_SEC));
            }
            sl_lease_free(w.l[i]);
            w.l[i] = NULL;
        }
        pass(&w, sl_prng_range(p, 0, 8 * SL_SEC));
    }
    fakeapi_set_faults(w.a, NULL);
    for (uint32_t i = 0; i < w.n; i++)
        if (w.l[i] == NULL) {
            (void)snprintf(name, sizeof name, "c%u-%llu", i, (unsigned long long)born++);
            candidate(&w, i, name, seed * 100 + born);
        } else {
            fakeapi_partition(w.a, i, 0);
        }
    /* What is left of a delayed write, of a hung call, then a whole duration. */
    pass(&w, 5 * SL_SEC + DEADLINE / 2 + DURATION + 2 * RETRY);
    if (w.holder < 0)
        fail_msg("seed %llu: nobody holds it", (unsigned long long)seed);
    int holder = w.holder;
    pass(&w, SL_MINUTE);
    assert_int_equal(w.holder, holder); /* and keeps it when all is well */
    *events += w.events;
    *terms += w.terms;
    close_world(&w);
}

static void test_seeds(void **state) {
    const char *s = getenv("SL_SEEDS");
    uint64_t n = s ? strtoull(s, NULL, 10) : 2000, events = 0, terms = 0, digest = 0;

    (void)state;
    n = n < DIGEST_SEEDS ? DIGEST_SEEDS : n < 2000 ? n : 2000;
    for (uint64_t seed = 0; seed < n; seed++) {
        run_seed(seed, &events, &terms);
        if (seed < DIGEST_SEEDS)
            digest = sl_digest_u64(sl_digest_u64(digest, events), terms);
    }
    printf("# %llu seeds, %llu events, %llu terms\ndigest lease %016llx\n", (unsigned long long)n,
           (unsigned long long)events, (unsigned long long)terms, (unsigned long long)digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamps),     cmocka_unit_test(test_life),
        cmocka_unit_test(test_death),      cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_hung),       cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_odd_leases), cmocka_unit_test(test_release),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
