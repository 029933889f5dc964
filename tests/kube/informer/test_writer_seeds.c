/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patch queue over the in-memory API under seeded faults, with somebody else writing too: every
 * wanted object ends as wanted, with one request per object and a bounded number in all at any
 * time, and none before the time the server asked for.
 */
#include "kube/informer/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "core/base/prng.h"
#include "fakeapi.h"

#define DIGEST_SEEDS 200u
enum { N = 12, BOUND = 4, GONE = -1 };
#define WLS "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads"

/* Looks at every request on its way. */
struct tap {
    struct sl_kube_client client;
    struct sl_kube_client *inner;
    struct tapped {
        struct tap *tap;
        sl_kube_reply_fn done;
        void *ctx;
        uint32_t obj;
    } open[BOUND + SL_WRITER_LANES - 1]; /* one more for each modest lane */
    uint32_t n;
    sl_time not_before[N]; /* as the server asked */
};

struct world {
    struct fakeapi *a;
    struct tap tap;
    struct sl_writer *q;
    struct sl_prng prng;
    int wanted[N], known[N];
    uint64_t version[N]; /* of what is known */
    uint64_t asked[N];   /* the API's version when the request left: an absence may be older news */
    uint64_t events;
};

static void tap_reply(void *ctx, const struct sl_kube_reply *r) {
    struct tapped *t = ctx, was = *t;

    t->tap->n--;
    t->tap = NULL;
    if (r->status == 429)
        for (uint32_t i = 0; i < N; i++) {
            sl_time at = was.tap->client.mono + r->retry_after;
            if (at > was.tap->not_before[i])
                was.tap->not_before[i] = at;
        }
    was.done(was.ctx, r);
}

static sl_kube_call tap_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                sl_kube_reply_fn done, void *ctx) {
    struct tap *t = SL_CONTAINER_OF(p, struct tap, client);
    uint32_t obj = (uint32_t)strtoul(strrchr(rq->path, '=') + 1, NULL, 10);
    struct tapped *slot = NULL;

    if (rq->method != SL_GET)
        assert_true(p->mono >= t->not_before[obj]);
    for (uint32_t i = 0; i < SL_LEN(t->open); i++) {
        assert_false(t->open[i].tap && t->open[i].obj == obj); /* one per object */
        if (!t->open[i].tap)
            slot = &t->open[i];
    }
    assert_non_null(slot); /* bounded */
    t->n++;
    *slot = (struct tapped){t, done, ctx, obj};
    return sl_kube_request(t->inner, rq, tap_reply, slot);
}

static void tap_cancel(struct sl_kube_client *p, sl_kube_call c) {
    sl_kube_cancel(((struct tap *)p)->inner, c);
}

static const struct sl_kube_client_ops tap_ops = {tap_request, NULL, tap_cancel};

/* Replies and the watch deliver the same versions out of order; the newest counts. */
static void observe_object(struct world *w, uint32_t obj, yyjson_val *o) {
    yyjson_val *v = yyjson_obj_get(yyjson_obj_get(o, "metadata"), "resourceVersion");
    uint64_t version = yyjson_is_str(v) ? strtoull(yyjson_get_str(v), NULL, 10) : w->asked[obj];

    if (version < w->version[obj])
        return;
    w->version[obj] = version;
    w->known[obj] = v ? yyjson_get_int(yyjson_obj_get(yyjson_obj_get(o, "spec"), "x")) : GONE;
}

static void learn_reply(struct world *w, uint32_t obj, const struct sl_kube_reply *r) {
    yyjson_doc *d = r->status < 300 ? yyjson_read(r->body, r->len, 0) : NULL;

    observe_object(w, obj, yyjson_doc_get_root(d)); /* a Status has no version: it is gone */
    yyjson_doc_free(d);
}

/* The watch, some while later. */
static void observe_watch(void *ctx, uint64_t obj) {
    struct world *w = ctx;
    char path[120];

    (void)snprintf(path, sizeof path, WLS "/w%llu", (unsigned long long)obj);
    yyjson_val *o = fakeapi_get(w->a, path);
    w->asked[obj] = o ? w->asked[obj] : fakeapi_version(w->a);
    observe_object(w, (uint32_t)obj, o);
    sl_writer_enqueue(w->q, (uint32_t)obj, 1);
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;

    fakeapi_at(w->a, fakeapi_now(w->a) + sl_prng_range(&w->prng, 0, SL_SEC), observe_watch, w,
               strtoull(strrchr(c->key, 'w') + 1, NULL, 10));
}

/* The query only tells the tap whose request it is. */
static bool world_build(void *ctx, uint32_t obj, struct sl_write *w) {
    struct world *x = ctx;

    x->asked[obj] = fakeapi_version(x->a);
    if (x->known[obj] == x->wanted[obj])
        return false;
    sl_buf_printf(&w->read_path, WLS "/w%u?o=%u", obj, obj);
    w->content_type = SL_JSON;
    if (x->known[obj] == GONE) {
        w->method = SL_POST;
        sl_buf_printf(&w->path, WLS "?o=%u", obj);
        sl_buf_printf(&w->body, "{\"metadata\":{\"name\":\"w%u\"},\"spec\":{\"x\":%d}}", obj,
                      x->wanted[obj]);
        return true;
    }
    sl_buf_printf(&w->path, WLS "/w%u?o=%u", obj, obj);
    if (x->wanted[obj] == GONE) {
        w->method = SL_DELETE;
        sl_buf_printf(&w->body, "{\"preconditions\":{\"resourceVersion\":\"%llu\"}}",
                      (unsigned long long)x->version[obj]);
        return true;
    }
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    sl_buf_printf(&w->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"x\":%d}}",
                  (unsigned long long)x->version[obj], x->wanted[obj]);
    return true;
}

static void world_done(void *ctx, uint32_t obj, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *r) {
    struct world *x = ctx;

    (void)w;
    if (how != SL_WRITTEN && how != SL_WRITE_GONE)
        return;
    learn_reply(x, obj, r);
    sl_writer_enqueue(x->q, obj, 1);
}

static void world_read(void *ctx, uint32_t obj, const struct sl_kube_reply *r) {
    learn_reply(ctx, obj, r);
}

static void advance(struct world *w, sl_time until) {
    for (;;) {
        w->tap.client.mono = w->tap.inner->mono;
        sl_writer_tick(w->q);
        sl_time t = fakeapi_next(w->a), n = sl_writer_next(w->q);
        t = n < t ? n : t;
        if (t > until)
            break;
        w->events++;
        w->tap.client.mono = t; /* before any callback, as the contract says */
        (void)fakeapi_step(w->a, t);
    }
    (void)fakeapi_step(w->a, until);
    w->tap.client.mono = w->tap.inner->mono;
}

/* Somebody else writes too. */
static void write_as_other(struct world *w) {
    char path[120], body[120];
    uint32_t obj = (uint32_t)sl_prng_below(&w->prng, N);

    (void)snprintf(path, sizeof path, WLS "/w%u", obj);
    (void)snprintf(body, sizeof body, "{\"spec\":{\"y\":%d}}", (int)sl_prng_below(&w->prng, 100));
    if (sl_prng_one_in(&w->prng, 8))
        (void)fakeapi_do(w->a, SL_DELETE, path, NULL, NULL, NULL);
    else
        (void)fakeapi_do(w->a, SL_PATCH, path, SL_MERGE_PATCH, body, NULL);
}

static void run_seed(uint64_t seed, uint64_t *events) {
    struct world w = {0};
    struct sl_prng *p = &w.prng;
    struct fakeapi_faults f;
    struct sl_writer_owner o = {&w, world_build, world_done, world_read};

    sl_prng_init(p, seed);
    seed_key(seed);
    w.a = fakeapi_new(seed);
    w.tap.inner = fakeapi_port(w.a, 0);
    w.tap.client = (struct sl_kube_client){.ops = &tap_ops};
    fakeapi_some_faults(p, 4, &f);
    fakeapi_set_faults(w.a, &f);
    fakeapi_on_change(w.a, on_change, &w);
    w.q = sl_writer_new(&w.tap.client, &o, BOUND, seed);
    for (uint32_t i = 0; i < N; i++)
        w.known[i] = w.wanted[i] = GONE;
    for (int i = 0; i < 50; i++) {
        uint32_t obj = (uint32_t)sl_prng_below(p, N);
        w.wanted[obj] = sl_prng_one_in(p, 6) ? GONE : (int)sl_prng_range(p, 1, 5);
        uint32_t lane = (uint32_t)sl_prng_below(p, 3);
        if (sl_prng_one_in(p, 4))
            sl_writer_enqueue_at(w.q, obj, lane, fakeapi_now(w.a) + sl_prng_range(p, 0, SL_SEC));
        else
            sl_writer_enqueue(w.q, obj, lane);
        if (sl_prng_one_in(p, 3))
            write_as_other(&w);
        advance(&w, fakeapi_now(w.a) +
                        sl_prng_range(p, 0, sl_prng_one_in(p, 4) ? SL_SEC : 3 * SL_MSEC));
    }
    fakeapi_set_faults(w.a, NULL);
    advance(&w, fakeapi_now(w.a) + 120 * SL_SEC);
    if (!sl_writer_idle(w.q))
        fail_msg("seed %llu: not idle", (unsigned long long)seed);
    for (uint32_t i = 0; i < N; i++) {
        char path[120];
        (void)snprintf(path, sizeof path, WLS "/w%u", i);
        yyjson_val *got = fakeapi_get(w.a, path),
                   *x = yyjson_obj_get(yyjson_obj_get(got, "spec"), "x");
        int have = got ? yyjson_get_int(x) : GONE;
        if (have != w.wanted[i])
            fail_msg("seed %llu: object %u is %d, wanted %d", (unsigned long long)seed, i, have,
                     w.wanted[i]);
    }
    *events += w.events;
    sl_writer_free(w.q);
    fakeapi_free(w.a);
}

static void test_seeds(void **state) {
    const char *s = getenv("SL_SEEDS");
    uint64_t n = s ? strtoull(s, NULL, 10) : 2000, events = 0, digest = 0;

    (void)state;
    n = n < DIGEST_SEEDS ? DIGEST_SEEDS : n < 2000 ? n : 2000;
    for (uint64_t seed = 0; seed < n; seed++) {
        run_seed(seed, &events);
        if (seed < DIGEST_SEEDS)
            digest = sl_digest_u64(digest, events);
    }
    printf("# %llu seeds, %llu events\ndigest writer %016llx\n", (unsigned long long)n,
           (unsigned long long)events, (unsigned long long)digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests_name("writer_seeds", tests, NULL, NULL);
}
