/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a request is bounded by its length and that of the object it is about, whoever wrote
 * them: every list and every map of every kind that is served is blown up and created, updated,
 * patched in each way, applied, shown and deleted, with old and new in reverse order of each other.
 *
 *     test_api_time [all [BYTES]]
 *
 * Without "all" each field of each type is blown up once, not once for each kind that has it, and
 * in some of the ways.
 */
#include "timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blow.h"
#include "core/base/collection/wordset.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "samples.h"

#define SCAN_BYTES ((size_t)96 << 10)
#define LISTED 1000 /* objects in a list of Kubernetes' own kinds, just below what is refused */

static bool all;
static size_t scan_bytes = SCAN_BYTES;

struct subject {
    struct api_kind *kind;
    const struct api_kind_version *version;
    char root[300]; /* "/apis/batch/v1/namespaces/default/jobs" */
    char head[300]; /* "apiVersion":..., */
    const char *base_text;
    struct sl_wordset *seen;
    struct sl_arena *arena;
    uint32_t n; /* targets so far */
};

static void root_of(const struct api_kind *k, const struct api_kind_version *v, char out[300]) {
    (void)snprintf(out, 300, "%s%s/%s%s/%s", *k->group ? "/apis/" : "/api", k->group, v->name,
                   k->namespaced ? "/namespaces/default" : "", k->plural);
}

/* Names are new each time: what is deleted may stay for its finalizers. */
static uint32_t names;

struct work {
    const struct subject *s;
    const struct blow_target *t;
    const char *what;
    char name[80], path[400], meta[300], version[40];
    size_t stored; /* bytes of the object at 'path' */
    uint32_t turn; /* which of the ways are timed.taken */
};

static bool turn(struct work *w) {
    return all || w->turn++ % (SLOWER > 1 ? 64 : 8) == 0;
}

static void rename_work(struct work *w, bool again) {
    /* Kinds whose names have a form: with a domain, or addresses. */
    const char *plural = w->s->kind->plural;
    bool domain =
        strcmp(plural, "customresourcedefinitions") == 0 || strcmp(plural, "apiservices") == 0;

    if (!again)
        names++;
    if (strcmp(plural, "ipaddresses") == 0)
        (void)snprintf(w->name, sizeof w->name, "10.1.%u.%u", names >> 8 & 255, names & 255);
    else
        (void)snprintf(w->name, sizeof w->name, "t%u%s", names, domain ? ".time.io" : "");
    (void)snprintf(w->path, sizeof w->path, "%s/%s", w->s->root, w->name);
    (void)snprintf(w->meta, sizeof w->meta, "\"name\":\"%s\",%s%s%s", w->name,
                   *w->version ? "\"resourceVersion\":\"" : "", w->version,
                   *w->version ? "\"," : "");
}

/* A definition's name is that of its plural, an API service's that of its version. */
static void name_plural(struct sl_buf *body) {
    const char *at = strstr(sl_buf_str(body), "NAME");
    struct sl_buf copy = SL_BUF(BODY_BYTES);

    if (!at)
        return;
    sl_buf_add(&copy, body->s, (size_t)(at - body->s));
    sl_buf_printf(&copy, "t%u", names);
    sl_buf_puts(&copy, at + strlen("NAME"));
    sl_buf_done(body);
    *body = copy;
}

static void print(struct sl_buf *out, struct work *w, struct blow_how how, bool whole) {
    how.head = w->s->head;
    how.meta = w->meta;
    if (!how.bytes)
        how.bytes = scan_bytes;
    sl_buf_clear(out);
    blow_print(out, w->t, &how, whole);
    name_plural(out);
}

static void note_version(struct work *w) {
    yyjson_doc *doc = yyjson_read(sl_buf_str(&timed.answer.body), timed.answer.body.len, 0);

    (void)snprintf(w->version, sizeof w->version, "%s",
                   sl_json_str(yyjson_doc_get_root(doc), "metadata.resourceVersion"));
    w->stored = timed.answer.body.len;
    yyjson_doc_free(doc);
    rename_work(w, true);
}

/* Stores it: as blown up as it may be, else the small one. */
static void store(struct work *w, struct sl_buf *body, bool status) {
    w->version[0] = '\0';
    rename_work(w, false);
    struct request q = {.method = "POST", .path = w->s->root, .type = JSON};
    bool can = !status && !(all ? false : w->s->kind->review);

    if (can) {
        print(body, w, (struct blow_how){.most = LISTED}, true);
        q.body = sl_buf_str(body);
        q.len = body->len;
        (void)timed_ask(&q);
    }
    if (!can || timed.answer.status != 201) {
        sl_buf_clear(body);
        sl_buf_printf(body, "{%s\"metadata\":{%s\"labels\":{}}%s%s", w->s->head, w->meta,
                      strlen(w->s->base_text) > 2 ? "," : "", w->s->base_text + 1);
        name_plural(body);
        q.body = sl_buf_str(body);
        q.len = body->len;
        (void)timed_ask(&q);
        if (timed.answer.status != 201)
            print_error("%s: %s\n", w->s->root, sl_buf_str(&timed.answer.body));
        assert_int_equal(timed.answer.status, 201);
    }
    note_version(w);
}

/* "/spec/template/spec/containers/0/env" */
static void put_pointer(struct sl_buf *out, const struct blow_target *t) {
    for (uint32_t i = 0; i < t->n; i++)
        sl_buf_printf(out, "/%s",
                      t->steps[i].kind == BLOW_FIELD  ? t->steps[i].name
                      : t->steps[i].kind == BLOW_ITEM ? "0"
                                                      : "k-0");
}

static void json_patch(struct sl_buf *body, const struct work *w, const char *op) {
    struct blow_how how = {.bytes = scan_bytes, .most = LISTED, .reversed = true};

    sl_buf_clear(body);
    sl_buf_printf(body, "[{\"op\":\"%s\",\"path\":\"", op);
    put_pointer(body, w->t);
    sl_buf_puts(body, "\",\"value\":");
    blow_value(body, w->t, &how);
    sl_buf_puts(body, "}]");
}

#define DRY "dryRun=All&fieldManager=m"

static void change(struct work *w, struct sl_buf *body, const char *path) {
    static const struct {
        const char *how, *method, *type, *query;
        struct blow_how blow;
        bool whole;
    } ways[] = {
        {"update, reversed", "PUT", JSON, DRY, {.most = LISTED, .reversed = true}, true},
        {"merge, reversed", "PATCH", MERGE, DRY, {.most = LISTED, .reversed = true}, false},
        {"strategic, reversed", "PATCH", STRATEGIC, DRY, {.most = LISTED, .reversed = true}, false},
        {"strategic, others", "PATCH", STRATEGIC, DRY, {.most = LISTED, .from = 3000000}, false},
        {"apply, reversed",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .reversed = true},
         false},
        {"apply, others",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .from = 3000000},
         false},
        {"apply, in each item",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .nested = true, .reversed = true},
         false},
        {"update, more", "PUT", JSON, DRY, {.reversed = true}, true},
        {"update, in each item",
         "PUT",
         JSON,
         DRY,
         {.most = LISTED, .nested = true, .reversed = true},
         true},
        {"update, all alike", "PUT", JSON, DRY, {.most = LISTED, .same = true}, true},
        {"strategic, all alike", "PATCH", STRATEGIC, DRY, {.most = LISTED, .same = true}, false},
        {"apply, all alike",
         "PATCH",
         APPLY,
         DRY "&force=true",
         {.most = LISTED, .same = true},
         false},
    };
    static const char *const ops[] = {"test", "replace", "add"};
    bool strategic = !w->s->kind->crd;

    for (size_t i = 0; i < SL_LEN(ways); i++) {
        if (!turn(w))
            continue;
        if ((strcmp(ways[i].type, STRATEGIC) == 0 && !strategic) ||
            (ways[i].blow.nested && !blow_nests(w->t)))
            continue;
        char version[sizeof w->version];
        memcpy(version, w->version, sizeof version);
        if (strcmp(ways[i].type, APPLY) == 0)
            w->version[0] = '\0';
        rename_work(w, true);
        print(body, w, ways[i].blow, ways[i].whole);
        memcpy(w->version, version, sizeof version);
        timed_hold(&(struct request){.method = ways[i].method,
                                     .path = path,
                                     .query = ways[i].query,
                                     .type = ways[i].type,
                                     .body = sl_buf_str(body),
                                     .len = body->len},
                   w->stored, w->what, ways[i].how);
    }
    for (size_t i = 0; i < SL_LEN(ops); i++) {
        if (!turn(w))
            continue;
        json_patch(body, w, ops[i]);
        timed_hold(&(struct request){.method = "PATCH",
                                     .path = path,
                                     .query = DRY,
                                     .type = JSON_PATCH,
                                     .body = sl_buf_str(body),
                                     .len = body->len},
                   w->stored, w->what, ops[i]);
    }
}

static void create(struct work *w, struct sl_buf *body) {
    static const struct {
        const char *how, *type, *query;
        struct blow_how blow;
    } ways[] = {
        {"create", JSON, DRY, {.most = LISTED}},
        {"create, more", JSON, DRY, {.most = 0}},
        {"create, in each item", JSON, DRY, {.most = LISTED, .nested = true}},
        {"create, all alike", JSON, DRY "&fieldValidation=Strict", {.most = LISTED, .same = true}},
        {"create, YAML", YAML, DRY "&fieldValidation=Strict", {.most = LISTED}},
    };

    w->version[0] = '\0';
    rename_work(w, false);
    for (size_t i = 0; i < SL_LEN(ways); i++) {
        if ((ways[i].blow.nested && !blow_nests(w->t)) || !turn(w))
            continue;
        print(body, w, ways[i].blow, true);
        timed_hold(&(struct request){.method = "POST",
                                     .path = w->s->root,
                                     .query = ways[i].query,
                                     .type = ways[i].type,
                                     .body = sl_buf_str(body),
                                     .len = body->len},
                   0, w->what, ways[i].how);
    }
}

/* Applied by two, for good: both have all fields then. */
static void manage(struct work *w, struct sl_buf *body, const char *path) {
    char version[sizeof w->version];

    memcpy(version, w->version, sizeof version);
    w->version[0] = '\0';
    rename_work(w, true);
    for (int i = 0; i < 2; i++) {
        print(body, w, (struct blow_how){.most = LISTED, .reversed = i == 1}, false);
        (void)timed_ask(&(struct request){.method = "PATCH",
                                          .path = path,
                                          .query = i ? "fieldManager=b&force=true"
                                                     : "fieldManager=a&force=true",
                                          .type = APPLY,
                                          .body = sl_buf_str(body),
                                          .len = body->len});
        if (timed.answer.status == 200)
            note_version(w);
        else
            memcpy(w->version, version, sizeof version);
    }
}

static void show(struct work *w) {
    char query[120];

    (void)snprintf(query, sizeof query, "fieldSelector=metadata.name%%3D%s", w->name);
    struct request ways[] = {
        {.method = "GET", .path = w->path},
        {.method = "GET", .path = w->path, .accept = TABLE},
        {.method = "GET", .path = w->path, .accept = YAML},
        {.method = "GET", .path = w->s->root, .query = query, .accept = TABLE},
        {.method = "DELETE", .path = w->path, .query = "dryRun=All"},
    };
    for (size_t i = 0; i < SL_LEN(ways); i++)
        if (turn(w))
            timed_hold(&ways[i], w->stored, w->what, ways[i].accept ? ways[i].accept : "");
}

static void remove_it(struct work *w) {
    (void)timed_ask(
        &(struct request){.method = "DELETE",
                          .path = w->path,
                          .query = "gracePeriodSeconds=0&propagationPolicy=Background"});
}

static void work(struct subject *s, const struct blow_target *t, const char *what) {
    struct sl_buf body = SL_BUF(BODY_BYTES);
    struct work w = {.s = s, .t = t, .what = what, .turn = s->n};
    bool status = blow_under(t, "status");
    char path[420];

    create(&w, &body);
    if (s->kind->verbs & SL_V_UPDATE) {
        store(&w, &body, status);
        (void)snprintf(path, sizeof path, "%s%s", w.path,
                       status && s->version->has_status ? "/status" : "");
        if (status && s->version->has_status) {
            print(&body, &w, (struct blow_how){.most = LISTED}, true);
            (void)timed_ask(&(struct request){.method = "PUT",
                                              .path = path,
                                              .type = JSON,
                                              .body = sl_buf_str(&body),
                                              .len = body.len});
            if (timed.answer.status == 200)
                note_version(&w);
        }
        change(&w, &body, path);
        show(&w);
        manage(&w, &body, path);
        change(&w, &body, path);
        remove_it(&w);
    }
    sl_buf_done(&body);
}

static void on_target(void *ctx, const struct blow_target *t) {
    struct subject *s = ctx;
    struct sl_buf name = SL_BUF(4096);
    const char *what = sl_arena_strdup(s->arena, blow_name(t, &name));
    const char *last = strrchr(what, '.');
    const char *owner = t->owner->name ? t->owner->name : s->kind->kind;

    sl_buf_done(&name);
    /* A field of a type that other kinds have, too, was looked at. */
    bool fresh =
        sl_wordset_add(s->seen, sl_arena_printf(s->arena, "%s %s", owner,
                                                t->owner == t->root || !t->owner->name ? what
                                                : last                                 ? last
                                                                                       : what));
    if (fresh || all) {
        s->n++;
        work(s, t, what);
    }
}

static void every_list_and_map_of_every_kind(void **state) {
    struct sl_wordset seen = {0};
    struct sl_arena arena = SL_ARENA((size_t)64 << 20);
    struct api_kind *k;
    const char *only = getenv("SL_TEST_KIND");

    (void)state;
    if (timed_post(CRDS, sample_definition) != 201)
        print_error("%s\n", sl_buf_str(&timed.answer.body));
    assert_int_equal(timed.answer.status, 201);
    struct api_kind *kinds[SL_API_KINDS];
    uint32_t n_kinds = 0, targets = 0;
    for (uint32_t i = 0; (k = api_kind_each(timed.server, &i));)
        kinds[n_kinds++] = k;
    for (uint32_t i = 0; i < n_kinds; i++) {
        k = kinds[i];
        if (only && strcmp(k->plural, only) != 0)
            continue;
        for (uint32_t v = 0; v < k->n_versions; v++) {
            struct subject s = {.kind = k,
                                .version = &k->versions[v],
                                .base_text = sample_of(k, &k->versions[v]),
                                .seen = &seen,
                                .arena = &arena,
                                .n = targets};
            if (!k->versions[v].served)
                continue;
            yyjson_doc *base = yyjson_read(s.base_text, strlen(s.base_text), 0);
            root_of(k, s.version, s.root);
            (void)snprintf(s.head, sizeof s.head, "\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",",
                           k->group, *k->group ? "/" : "", s.version->name, k->kind);
            int64_t begun = timed_cpu_us();
            blow_each(s.version->schema, yyjson_doc_get_root(base), on_target, &s);
            if (all)
                print_message("%s: %u, %lld ms\n", s.root, s.n - targets,
                              (long long)(timed_cpu_us() - begun) / 1000);
            targets = s.n;
            yyjson_doc_free(base);
        }
    }
    print_message("%u lists and maps, %u requests, %u with success; the slowest took %lld permille "
                  "of its time: %s\n",
                  targets, timed.asked, timed.taken, (long long)timed.worst_permille, timed.worst);
    assert_int_equal(timed.too_slow, 0);
    sl_wordset_done(&seen);
    sl_arena_done(&arena);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_list_and_map_of_every_kind)};

    all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 2)
        scan_bytes = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests_name("api_time", tests, timed_set_up, timed_tear_down);
}
