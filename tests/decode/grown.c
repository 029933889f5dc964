/* SPDX-License-Identifier: Apache-2.0 */
#include "grown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cluster/apiserver/blow.h"
#include "../cluster/apiserver/timed.h"
#include "core/base/collection/wordset.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define MS_PER_MIB 100
#define ANY_US 50000 /* however short: caches are cold, others use the machine */
#define AGAIN 3
#define SCAN_BYTES ((size_t)32 << 10)
#define LARGEST_BYTES (((size_t)3 << 19) - 4096) /* of an object */
#define SLOWEST 2                                /* of a kind, which are tried at that size */

static bool all;
static size_t scan_bytes = SCAN_BYTES;

enum way { DISTINCT, SAME, NESTED, WAYS };
static const char *const way_names[WAYS] = {"names differ", "one name", "in each item"};

struct slow {
    struct blow_target t;
    enum way way;
    int64_t permille;
};

struct subject {
    struct grown_world *w;
    const struct grown_kind *k;
    char root[300], head[300];
    const struct sl_schema *schema;
    yyjson_doc *base;
    struct sl_wordset seen;
    struct sl_arena arena;
    struct slow slowest[SLOWEST];
    uint32_t n;
};

static struct {
    uint32_t targets, tried, stored, seen, too_slow;
    int64_t worst;
    char worst_text[400];
} sum;

void grown_args(int argc, char **argv) {
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 2)
        scan_bytes = strtoul(argv[2], NULL, 10);
}

static char *requote(const char *text) {
    char *body = sl_strdup(text);
    for (char *at = body; (at = strchr(at, '\''));)
        *at = '"';
    return body;
}

int grown_do(struct grown_world *w, enum sl_kube_method method, const char *path,
             const char *text) {
    char *body = text ? requote(text) : NULL;
    int status =
        fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body, NULL);
    sl_freep(&body);
    return status;
}

int grown_set_up(void **state) {
    return timed_set_up(state);
}

int grown_tear_down(void **state) {
    return timed_tear_down(state);
}

void grown_define(const char *definition) {
    char *text = requote(definition);
    int status = timed_post(CRDS, text);

    if (status != 201)
        fail_msg("%d %s", status, sl_buf_str(&timed.answer.body));
    sl_freep(&text);
}

/* ---- one object ---- */

static uint32_t names;

static void print(struct sl_buf *out, const struct subject *s, const struct blow_target *t,
                  const char *name, enum way way, size_t bytes, bool reversed) {
    char meta[300];

    (void)snprintf(meta, sizeof meta, "\"name\":\"%s\",", name);
    sl_buf_clear(out);
    blow_print(out, t,
               &(struct blow_how){.bytes = bytes,
                                  .most = s->w->most,
                                  .reversed = reversed,
                                  .same = way == SAME,
                                  .nested = way == NESTED,
                                  .head = s->head,
                                  .meta = meta},
               true);
}

static void print_base(struct sl_buf *out, const struct subject *s, const char *name) {
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(s->base, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;

    if (!(meta = yyjson_mut_obj_get(root, "metadata")))
        meta = yyjson_mut_obj_add_obj(doc, root, "metadata");
    (void)yyjson_mut_obj_add_str(doc, meta, "name", name);
    char *text = yyjson_mut_write(doc, 0, NULL);
    sl_buf_clear(out);
    sl_buf_puts(out, text);
    free(text); /* yyjson's */
    yyjson_mut_doc_free(doc);
}

struct took {
    int64_t us;
    size_t bytes;
    bool stored;
};

static void write_it(struct subject *s, enum sl_kube_method method, const char *path,
                     const struct sl_buf *body, struct took *ret) {
    int status = fakeapi_do(s->w->api, method, path, SL_JSON, sl_buf_str(body), NULL);

    if (ret)
        ret->stored |= status < 300;
    s->w->run(s->w);
}

static void drop(struct subject *s, const char *path) {
    char query[500];

    (void)fakeapi_do(s->w->api, SL_PATCH, path, SL_MERGE_PATCH,
                     "{\"metadata\":{\"finalizers\":null}}", NULL);
    (void)snprintf(query, sizeof query, "%s?gracePeriodSeconds=0&propagationPolicy=Background",
                   path);
    (void)fakeapi_do(s->w->api, SL_DELETE, query, NULL, NULL, NULL);
    s->w->run(s->w);
}

static void come_and_go(struct subject *s, const struct blow_target *t, enum way way, size_t bytes,
                        bool used, struct took *ret) {
    struct sl_buf body = SL_BUF(BODY_BYTES);
    bool status = blow_under(t, "status");
    char name[100], path[420], at[440];

    (void)snprintf(name, sizeof name, "t%u", ++names);
    if (used)
        (void)snprintf(name, sizeof name, "%s", s->k->used);
    (void)snprintf(path, sizeof path, "%s/%s", s->root, name);
    (void)snprintf(at, sizeof at, "%s%s", path, status ? "/status" : "");
    s->w->meter.us = 0;
    s->w->meter.bytes = 0;
    if (!used) {
        if (status)
            print_base(&body, s, name);
        else
            print(&body, s, t, name, way, bytes, false);
        write_it(s, SL_POST, s->root, &body, ret);
    }
    print(&body, s, t, name, way, bytes, false);
    if (used || status)
        write_it(s, SL_PUT, at, &body, ret);
    if (used && s->w->probe)
        s->w->probe(s->w, true);
    print(&body, s, t, name, way, bytes, true);
    write_it(s, SL_PUT, at, &body, ret);
    if (used && s->w->probe)
        s->w->probe(s->w, false);
    if (used) {
        print_base(&body, s, name);
        write_it(s, SL_PUT, path, &body, NULL);
        if (status)
            write_it(s, SL_PUT, at, &body, NULL);
    } else {
        drop(s, path);
    }
    ret->us = s->w->meter.us;
    ret->bytes = s->w->meter.bytes;
    if (names % 64 == 0)
        fakeapi_compact(s->w->api);
    sl_buf_done(&body);
}

/* ---- held to its time ---- */

static int64_t allowed_us(const struct grown_world *w, size_t bytes) {
    return (MS_PER_MIB * 1000 * (int64_t)(bytes >> 10) / 1024 + ANY_US + w->any_us) * SLOWER;
}

void grown_hold(struct grown_world *w, const char *what) {
    print_message("%s: %zu bytes exchanged, %lld us\n", what, w->meter.bytes,
                  (long long)w->meter.us);
    assert_in_range(w->meter.us, 0, allowed_us(w, w->meter.bytes));
}

static int64_t hold(struct subject *s, const struct blow_target *t, enum way way, size_t bytes,
                    bool used) {
    struct took took = {0}, again;
    struct sl_buf name = SL_BUF(4096);
    char text[400];

    come_and_go(s, t, way, bytes, used, &took);
    for (int i = 1; i < AGAIN && took.us > allowed_us(s->w, took.bytes); i++) {
        again = (struct took){0};
        come_and_go(s, t, way, bytes, used, &again);
        if (again.us < took.us)
            took = again;
    }
    int64_t allowed = allowed_us(s->w, took.bytes);
    if (took.us > allowed)
        allowed = allowed * pace_permille() / 1000;
    int64_t permille = took.us * 1000 / allowed;
    (void)snprintf(text, sizeof text, "%s%s: %s (%s, %zu bytes, %zu exchanged): %lld us", s->root,
                   used ? ", in use" : "", blow_name(t, &name), way_names[way], bytes, took.bytes,
                   (long long)took.us);
    if (getenv("SL_TEST_TIMES"))
        print_message("%lld permille%s %s\n", (long long)permille, took.stored ? "" : ", refused",
                      text);
    sum.tried++;
    sum.stored += took.stored;
    sum.seen += took.stored && took.bytes >= bytes; /* what went to whoever watches */
    if (permille > sum.worst) {
        sum.worst = permille;
        (void)snprintf(sum.worst_text, sizeof sum.worst_text, "%s", text);
    }
    if (permille > 1000) {
        print_error("%s, allowed are %lld\n", text, (long long)allowed);
        sum.too_slow++;
    }
    sl_buf_done(&name);
    return permille;
}

static void note_slowest(struct subject *s, const struct blow_target *t, enum way way,
                         int64_t permille) {
    struct slow *least = &s->slowest[0];

    for (size_t i = 1; i < SLOWEST; i++)
        if (s->slowest[i].permille < least->permille)
            least = &s->slowest[i];
    if (permille > least->permille)
        *least = (struct slow){*t, way, permille};
}

/* All differ, or another one of the ways. */
static bool is_turn(uint32_t n, enum way way) {
    if (all || getenv("SL_TEST_FIELD"))
        return true;
    return SLOWER > 1 ? n % 16 == way : way == DISTINCT || n % 4 == way;
}

static void on_target(void *ctx, const struct blow_target *t) {
    struct subject *s = ctx;
    struct sl_buf name = SL_BUF(4096);
    const char *what = sl_arena_strdup(&s->arena, blow_name(t, &name));
    const char *last = strrchr(what, '.'), *only = getenv("SL_TEST_FIELD");
    const char *owner = t->owner->name && t->owner != t->root ? t->owner->name : "";

    sl_buf_done(&name);
    /* A field of a type was grown elsewhere in this kind. */
    if (!sl_wordset_add(&s->seen,
                        sl_arena_printf(&s->arena, "%s %s", owner, *owner && last ? last : what)) &&
        !all)
        return;
    if (only && strcmp(what, only) != 0)
        return;
    sum.targets++;
    s->n++;
    for (enum way way = 0; way < WAYS; way++) {
        if ((way == NESTED && !blow_nests(t)) || !is_turn(s->n, way))
            continue;
        note_slowest(s, t, way, hold(s, t, way, scan_bytes, s->k->used));
        if (all && s->k->used)
            note_slowest(s, t, way, hold(s, t, way, scan_bytes, false));
    }
}

static const struct sl_schema *schema_of(const struct grown_kind *k) {
    struct api_kind *x;
    for (uint32_t i = 0; (x = api_kind_each(timed.server, &i));)
        for (uint32_t v = 0; v < x->n_versions; v++)
            if (strcmp(x->group, k->group) == 0 && strcmp(x->plural, k->plural) == 0 &&
                strcmp(x->versions[v].name, k->version) == 0)
                return x->versions[v].schema;
    return NULL;
}

static void one_kind(struct grown_world *w, const struct grown_kind *k) {
    struct subject s = {.w = w, .k = k, .arena = SL_ARENA((size_t)16 << 20)};
    bool namespaced = false;
    const char *kind = "";
    struct api_kind *x;
    char *base = requote(k->base);
    int64_t begun = meter_cpu_us();
    uint32_t before = sum.tried;

    for (uint32_t i = 0; (x = api_kind_each(timed.server, &i));)
        if (strcmp(x->group, k->group) == 0 && strcmp(x->plural, k->plural) == 0) {
            namespaced = x->namespaced;
            kind = x->kind;
        }
    s.schema = schema_of(k);
    if (!s.schema)
        fail_msg("%s is not known", k->plural);
    s.base = yyjson_read(base, strlen(base), 0);
    assert_non_null(s.base);
    (void)snprintf(s.root, sizeof s.root, "%s%s/%s%s%s/%s", *k->group ? "/apis/" : "/api", k->group,
                   k->version, namespaced ? "/namespaces/" : "", namespaced ? w->ns : "",
                   k->plural);
    (void)snprintf(s.head, sizeof s.head, "\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",", k->group,
                   *k->group ? "/" : "", k->version, kind);
    blow_each(s.schema, yyjson_doc_get_root(s.base), on_target, &s);
    for (size_t i = 0; i < SLOWEST && SLOWER == 1; i++)
        if (s.slowest[i].t.n && s.slowest[i].permille <= 1000)
            (void)hold(&s, &s.slowest[i].t, s.slowest[i].way, LARGEST_BYTES, k->used);
    print_message("%s: %u lists and maps, %u tries, %lld ms\n", s.root, s.n, sum.tried - before,
                  (long long)(meter_cpu_us() - begun) / 1000);
    yyjson_doc_free(s.base);
    sl_wordset_done(&s.seen);
    sl_arena_done(&s.arena);
    sl_freep(&base);
}

void grown_all(struct grown_world *w, const struct grown_kind *kinds, size_t n) {
    const char *only = getenv("SL_TEST_KIND");

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    sl_log_set(SL_LOG_ERROR); /* much is refused here */
    for (size_t i = 0; i < n; i++)
        if (!only || strcmp(kinds[i].plural, only) == 0)
            one_kind(w, &kinds[i]);
    print_message("%u lists and maps, %u tries, %u were stored, %u seen; the slowest took %lld "
                  "permille of its time: %s\n",
                  sum.targets, sum.tried, sum.stored, sum.seen, (long long)sum.worst,
                  sum.worst_text);
    assert_true(sum.targets > 0);
    assert_true(sum.stored >= sum.tried - sum.tried / 10); /* what is refused takes no time */
    assert_true(sum.seen > sum.stored / 2);                /* lists of few items are shorter */
    assert_int_equal(sum.too_slow, 0);
}
