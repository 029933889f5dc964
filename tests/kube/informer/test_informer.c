/* SPDX-License-Identifier: Apache-2.0 */
/* The informer kit by itself: what is taken in, what is kept and for how long, timers, events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fakeapi.h"
#include "kube/informer/event.h"
#include "kube/informer/informer.h"
#include "lib/log/log.h"

#define MAPS "/api/v1/namespaces/ns/configmaps"
#define SECRETS "/api/v1/namespaces/ns/secrets"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"

enum { SECRET, MAP, KINDS };

struct world {
    struct fakeapi *api;
    struct sl_kube_client *client;
    struct sl_informer *f;
    uint32_t decoded, reconciled, deleted, freed, built, dropped, served;
    bool writes_secret; /* a ConfigMap has a Secret to create */
    bool reads;         /* or itself to read */
    bool again;         /* or queues itself, whenever it is reconciled */
};

static struct world *now; /* 'free' has no context */

static bool decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)r, (void)o;
    ((struct world *)ctx)->decoded++;
    return true;
}

static void reconcile(void *ctx, struct sl_rec *r) {
    struct world *w = ctx;
    w->reconciled++;
    if (w->again)
        sl_rec_enqueue(r);
}

static void deleted(void *ctx, struct sl_rec *r) {
    (void)r;
    ((struct world *)ctx)->deleted++;
}

static void freed(struct sl_rec *r) {
    (void)r;
    now->freed++;
}

static void served(void *ctx) {
    ((struct world *)ctx)->served++;
}

static void dropped(void *ctx) {
    ((struct world *)ctx)->dropped++;
}

static bool build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct world *x = ctx;
    x->built++;
    if (x->reads) {
        sl_rec_build_read(r, w);
        x->reads = false;
        return true;
    }
    if (!x->writes_secret)
        return false;
    x->writes_secret = false;
    sl_inf_build_create(x->f, SECRET, "ns", w);
    sl_buf_puts(&w->body,
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}");
    return true;
}

static struct sl_rec_kind kinds[KINDS] = {
    [SECRET] = {.path = "/api/v1",
                .plural = "secrets",
                .kind = "Secret",
                .api_version = "v1",
                .namespaced = true,
                .size = sizeof(struct sl_rec),
                .decode = decode},
    [MAP] = {.path = "/api/v1",
             .plural = "configmaps",
             .kind = "ConfigMap",
             .api_version = "v1",
             .finalizer = "example.dev/held",
             .namespaced = true,
             .size = sizeof(struct sl_rec),
             .decode = decode,
             .reconcile = reconcile,
             .deleted = deleted,
             .free = freed,
             .build = build,
             .served = served},
};

static void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    while (fakeapi_now(w->api) < until) {
        sl_inf_tick(w->f);
        sl_time at = sl_inf_next(w->f), timer = sl_inf_next_timer(w->f);
        at = timer < at ? timer : at;
        (void)fakeapi_step(w->api, at < until ? at : until);
    }
    sl_inf_tick(w->f);
}

static void begin(struct world *w, bool by_version) {
    *w = (struct world){.api = fakeapi_new(1)};
    now = w;
    w->client = fakeapi_port(w->api, 0);
    w->f = sl_inf_new(&(struct sl_inf_spec){
        .client = w->client,
        .kinds = kinds,
        .n_kinds = KINDS,
        .ctx = w,
        .field_manager = "test",
        .max_in_flight = 4,
        .events = {.by_version = by_version, .max_known = 100, .dropped = dropped}});
    (void)fakeapi_do(w->api, SL_POST, MAPS, SL_JSON, "{\"metadata\":{\"name\":\"a\"}}", NULL);
    sl_inf_watch(w->f, MAP);
    run(w, SL_SEC);
}

static void end(struct world *w) {
    sl_inf_free(w->f);
    fakeapi_free(w->api);
}

static struct sl_rec *a_of(const struct world *w) {
    return sl_inf_find(w->f, MAP, "ns", "a");
}

static void test_comes_and_goes(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    assert_int_equal(w.decoded, 1);
    assert_int_equal(w.reconciled, 1);
    assert_int_equal(w.served, 1);
    assert_non_null(a_of(&w));
    (void)fakeapi_do(w.api, SL_DELETE, MAPS "/a", NULL, NULL, NULL);
    run(&w, SL_SEC);
    assert_null(a_of(&w));
    assert_int_equal(w.deleted, 1);
    assert_int_equal(w.freed, 1);
    assert_int_equal(w.f->recs.n - w.f->free_ids.n, 0);
    assert_true(sl_inf_idle(w.f));
    end(&w);
}

/* One that goes while its request is in flight is freed when that is answered. */
static void test_tombstone(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    w.writes_secret = true;
    sl_rec_write(a_of(&w));
    sl_inf_tick(w.f); /* the request leaves */
    assert_true(sl_rec_busy(a_of(&w)));
    (void)fakeapi_do(w.api, SL_DELETE, MAPS "/a", NULL, NULL, NULL);
    while (a_of(&w) && fakeapi_step(w.api, SL_TIME_NEVER - 1))
        if (w.deleted)
            break;
    uint32_t freed_before = w.freed;
    run(&w, SL_SEC);
    assert_int_equal(freed_before, 0);
    assert_int_equal(w.deleted, 1);
    assert_int_equal(w.freed, 1);
    end(&w);
}

/* What another record wrote is known from the answer, unless its stream would not show its end. */
static void test_answers(void **state) {
    struct world w;
    (void)state;
    for (int query = 0; query < 2; query++) {
        kinds[SECRET].query = query ? "labelSelector=x%3Dy" : NULL;
        begin(&w, false);
        w.writes_secret = true;
        sl_rec_write(a_of(&w));
        run(&w, SL_SEC);
        assert_non_null(fakeapi_get(w.api, SECRETS "/s"));
        assert_int_equal(sl_inf_find(w.f, SECRET, "ns", "s") != NULL, !query);
        end(&w);
    }
    kinds[SECRET].query = NULL;
}

/* What was asked for is decoded although its version is known. */
static void test_read_again(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    w.reads = true;
    sl_rec_write(a_of(&w));
    run(&w, SL_SEC);
    assert_int_equal(w.decoded, 2);
    end(&w);
}

/* A record that queues itself is reconciled once in a pass, and ends no turn. */
static void test_queues_itself(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    w.again = true;
    sl_rec_enqueue(a_of(&w));
    w.reconciled = 0;
    assert_true(sl_inf_pass(w.f));
    assert_int_equal(w.reconciled, 1);
    assert_false(sl_inf_settle(w.f));
    assert_int_equal(w.reconciled, 1 + SL_INF_MAX_PASSES);
    assert_false(sl_inf_settled(w.f));
    w.again = false;
    assert_true(sl_inf_settle(w.f));
    assert_true(sl_inf_settled(w.f));
    assert_int_equal(w.reconciled, 2 + SL_INF_MAX_PASSES);
    end(&w);
}

static void test_finalizers(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    assert_false(a_of(&w)->finalizer);
    (void)fakeapi_do(w.api, SL_PATCH, MAPS "/a", SL_MERGE_PATCH,
                     "{\"metadata\":{\"finalizers\":[\"x/y\",\"example.dev/held\",\"z/\\\"\"]}}",
                     NULL);
    run(&w, SL_SEC);
    assert_true(a_of(&w)->finalizer);
    assert_string_equal(sl_inf_str(w.f, a_of(&w)->finalizers), "[\"x/y\",\"z/\\\"\"]");
    end(&w);
}

static void test_names_too_long(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    for (int which = 0; which < 3; which++)
        for (unsigned more = 0; more < 2; more++) {
            char text[600], longest[SL_REC_MAX_NAME + 2] = "";
            const char *v[] = {"n", "ns", "u"};
            memset(longest, 'x', SL_REC_MAX_NAME + more);
            v[which] = longest;
            (void)snprintf(text, sizeof text,
                           "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\"}}",
                           v[0], v[1], v[2]);
            yyjson_doc *d = yyjson_read(text, strlen(text), 0);
            const struct sl_rec *r = sl_inf_take(w.f, MAP, yyjson_doc_get_root(d));
            assert_int_equal(r != NULL, !more);
            yyjson_doc_free(d);
        }
    end(&w);
}

static void test_timers(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    sl_rec_reconcile_at(a_of(&w), w.client->wall + SL_MINUTE);
    run(&w, 59 * SL_SEC);
    assert_int_equal(w.reconciled, 1);
    run(&w, 2 * SL_SEC);
    assert_int_equal(w.reconciled, 2);
    assert_int_equal(a_of(&w)->reconcile_at, 0);
    /* The clock is set: it may be due, or not as soon as it seemed. */
    sl_rec_reconcile_at(a_of(&w), w.client->wall + SL_MINUTE);
    fakeapi_step_clock(w.api, 0, -SL_MINUTE);
    run(&w, SL_SEC);
    assert_int_equal(w.reconciled, 3);
    sl_rec_reconcile_at(a_of(&w), 0);
    run(&w, 3 * SL_MINUTE);
    assert_int_equal(w.reconciled, 3);
    end(&w);
}

static void count(void *ctx, yyjson_val *o) {
    uint32_t *n = ctx;
    n[0]++;
    n[1] += (uint32_t)sl_json_int(o, "series.count", 1);
}

/* A repetition is the same with this note, or the same of this version. */
static void test_events(void **state) {
    static const uint32_t events[2] = {2, 1}, all = 3;
    struct world w;
    (void)state;
    for (int by_version = 0; by_version < 2; by_version++) {
        begin(&w, by_version);
        sl_rec_event(a_of(&w), "c", false, "Reason", "one");
        sl_rec_event(a_of(&w), "c", false, "Reason", "one");
        sl_rec_event(a_of(&w), "c", false, "Reason", "two");
        run(&w, SL_MINUTE);
        uint32_t n[2] = {0};
        (void)fakeapi_each(w.api, EVENTS, count, n);
        assert_int_equal(n[0], events[by_version]);
        assert_int_equal(n[1], all);
        assert_int_equal(w.f->tables[KINDS].n, events[by_version]);
        run(&w, 2 * SL_EVENT_SERIES_LIFE); /* no repetition is expected any more */
        assert_int_equal(w.f->tables[KINDS].n, 0);
        end(&w);
    }
}

/* What could not be written for as long as that: the API server was away. */
static void test_late_events(void **state) {
    struct world w;
    uint32_t n[2] = {0};
    (void)state;
    begin(&w, false);
    run(&w, SL_SEC);
    fakeapi_partition(w.api, 0, fakeapi_now(w.api) + 2 * SL_EVENT_SERIES_LIFE);
    sl_rec_event(a_of(&w), "c", true, "Reason", "one");
    run(&w, 3 * SL_EVENT_SERIES_LIFE);
    (void)fakeapi_each(w.api, EVENTS, count, n);
    assert_int_equal(n[0], 1);
    run(&w, 2 * SL_EVENT_SERIES_LIFE);
    assert_int_equal(w.f->tables[KINDS].n, 0);
    end(&w);
}

/* What is put behind a name that was cut may not stand behind a dot, or a dot behind a dash. */
static void test_cut_names(void **state) {
    static const char *const ends[] = {"a.", "a-", ".-", "-.", "aa"};
    char name[256], event[SL_EVENT_NAME];

    (void)state;
    for (size_t i = 0; i < SL_LEN(ends); i++) {
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(65536);
        memset(name, 'a', 253);
        name[253] = '\0';
        memcpy(name + 198, ends[i], 2);
        const struct sl_event e = {.controller = "c",
                                   .instance = "i",
                                   .reason = "R",
                                   .action = "A",
                                   .note = "",
                                   .of = {"v1", "Pod", "ns", name, "u", 1, NULL}};
        (void)sl_event_put(&b, &e, 1, event);
        assert_null(strstr(event, ".."));
        assert_null(strstr(event, "-."));
        assert_true(strlen(event) <= 253 && strncmp(event, name, 197) == 0);
    }
}

static void test_too_many_events(void **state) {
    struct world w;
    (void)state;
    begin(&w, false);
    for (uint32_t i = 0; i < SL_EVENT_MAX_WAITING + 7; i++)
        sl_rec_event(a_of(&w), "c", false, "Reason", "%u", i);
    assert_int_equal(w.dropped, 7);
    run(&w, SL_MINUTE);
    assert_int_equal(w.f->events_waiting, 0);
    assert_true(w.f->tables[KINDS].n <= 101);
    w.f->writes = false; /* somebody else does */
    sl_rec_event(a_of(&w), "c", false, "Reason", "none");
    assert_int_equal(w.f->events_waiting, 0);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_and_goes),  cmocka_unit_test(test_tombstone),
        cmocka_unit_test(test_answers),         cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_finalizers),      cmocka_unit_test(test_names_too_long),
        cmocka_unit_test(test_timers),          cmocka_unit_test(test_events),
        cmocka_unit_test(test_late_events),     cmocka_unit_test(test_cut_names),
        cmocka_unit_test(test_too_many_events), cmocka_unit_test(test_queues_itself),
    };
    sl_log_set(SL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
