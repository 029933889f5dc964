/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a review is bounded by the size of its body, whoever wrote it: every list and every
 * map of every object in the corpus of reviews is blown up, in the new object, in the old one and
 * in both, in the same order and in the reverse one, and posted to its path. Each must be done
 * within 100 ms of processor time for each MiB; what is quadratic takes many times that.
 *
 *     test_review_time fuzz/corpus/review [BYTES]
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../../fuzz/review_fz.h"
#include "../../pace.h"
#include "core/base/collection/wordset.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/admission/convert.h"

#define MS_PER_MIB 100
#define ANY_US                                                                                     \
    20000 /* for any body, as a server that is idle must not be measured by its caches             \
           */
#define SCAN_BYTES ((size_t)128 << 10) /* 8,000 items: enough to see a square */
#define MAX_FIELDS 131000u             /* just below what is refused */
#define MAX_BODY ((size_t)40 << 20)

static const char *corpus;
static size_t scan_bytes = SCAN_BYTES;

/* ---- time ---- */

static int64_t review_us(const char *path, const struct sl_buf *body) {
    struct sl_buf out = SL_BUF((size_t)256 << 20);
    int64_t begun = pace_cpu_us();
    int code = sl_review(&view, path, sl_buf_str(body), body->len, &out);
    int64_t took = pace_cpu_us() - begun;

    assert_true(code == 200 || code == 400 || code == 500);
    sl_buf_done(&out);
    return took;
}

static int64_t worst_permille;
static uint32_t asked, too_slow;

/* A few times at most: the first may have paid for pages that were never touched before, and a
 * machine that is busy with other things counts their misses of caches as ours. */
static void hold(const char *path, const struct sl_buf *body, const char *what, const char *how) {
    int64_t limit =
        MS_PER_MIB * SLOWER * 1000 * (int64_t)(body->len >> 10) / 1024 + ANY_US * SLOWER;
    int64_t took = review_us(path, body);

    for (int again = 0; again < 4 && took > limit; again++)
        took = review_us(path, body);
    if (took > limit)
        limit = limit * pace_permille() / 1000;
    asked++;
    if (took * 1000 / limit > worst_permille)
        worst_permille = took * 1000 / limit;
    if (took > limit) {
        print_error("%s: %s (%s), %zu bytes: %lld us, allowed are %lld\n", path, what, how,
                    body->len, (long long)took, (long long)limit);
        too_slow++;
    }
}

/* ---- blowing up ---- */

enum { NO_COPY = -1 };

/* One container of an object that is printed many times over. */
struct blown {
    yyjson_val *target,
        *around;               /* around: a list that is repeated as well, with the target in it */
    size_t bytes;              /* what the whole may take */
    bool reversed, wide, tiny; /* wide: a map of maps; tiny: of the smallest items */
    yyjson_val *smallest;      /* an object that yyjson cannot skip by its size */
    int64_t copy;              /* which copy is being printed */
};

static void put_value(struct sl_buf *out, yyjson_val *v, struct blown *b);

static bool is_name(yyjson_val *key) {
    static const char *const names[] = {"name", "key", "type", "topologyKey", "operator", "values"};
    for (size_t i = 0; i < SL_LEN(names); i++)
        if (yyjson_equals_str(key, names[i]))
            return true;
    return false;
}

static void put_str(struct sl_buf *out, yyjson_val *v, int64_t copy) {
    struct sl_text t = sl_json_view(v);
    sl_buf_json_n(out, t.s, t.n);
    if (copy != NO_COPY) {
        out->len--; /* before the quote */
        sl_buf_printf(out, "-%lld\"", (long long)copy);
    }
}

static void put_item(struct sl_buf *out, yyjson_val *item, struct blown *b, int64_t copy) {
    int64_t before = b->copy;

    b->copy = copy;
    if (!item)
        sl_buf_printf(out, "\"x-%lld\"", (long long)copy);
    else if (yyjson_is_str(item))
        put_str(out, item, copy);
    else
        put_value(out, item, b);
    b->copy = before;
}

/* How many copies fill the bytes. */
static int64_t copies(yyjson_val *item, struct blown *b, size_t bytes, int64_t most) {
    struct sl_buf one = SL_BUF(MAX_BODY);
    put_item(&one, item, b, 100000);
    int64_t n = (int64_t)(bytes / (one.len + 1)) + 1;
    sl_buf_done(&one);
    return n < most ? n : most;
}

static void put_list(struct sl_buf *out, yyjson_val *list, struct blown *b, size_t bytes) {
    yyjson_val *item = b->tiny ? b->smallest : yyjson_arr_get_first(list);
    int64_t n = copies(item, b, bytes, INT32_MAX);

    sl_buf_putc(out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i > 0)
            sl_buf_putc(out, ',');
        put_item(out, item, b, b->reversed ? n - 1 - i : i);
    }
    sl_buf_putc(out, ']');
}

static void put_fields(struct sl_buf *out, yyjson_val *map, struct blown *b, bool comma) {
    size_t i, n;
    yyjson_val *key, *val;

    sl_obj_foreach (map, i, n, key, val) {
        if (i > 0 || comma)
            sl_buf_putc(out, ',');
        put_str(out, key, NO_COPY);
        sl_buf_putc(out, ':');
        if (yyjson_is_str(val))
            put_str(out, val, is_name(key) ? b->copy : NO_COPY);
        else
            put_value(out, val, b);
    }
}

static void put_map(struct sl_buf *out, yyjson_val *map, struct blown *b, size_t bytes) {
    yyjson_val *first = yyjson_obj_size(map) ? unsafe_yyjson_get_first(map) + 1 : NULL;
    int64_t n = copies(first, b, bytes, MAX_FIELDS);

    sl_buf_putc(out, '{');
    for (int64_t i = 0; i < n; i++) {
        int64_t k = b->reversed ? n - 1 - i : i;
        sl_buf_printf(out, "%s\"k%lld\":", i > 0 ? "," : "", (long long)k);
        put_item(out, first, b, k);
    }
    put_fields(out, map, b, true); /* at the end, where a search finds them last */
    sl_buf_putc(out, '}');
}

/* Empty texts in maps in maps, at the greatest depth: a check of each level may visit all below
 * it. */
static void put_wide(struct sl_buf *out, const struct blown *b, size_t bytes) {
    int64_t maps = (int64_t)(bytes / 9000) + 1;

    for (int i = 0; i < 90; i++)
        sl_buf_puts(out, "{\"a\":");
    for (int64_t i = 0; i < maps; i++) {
        sl_buf_printf(out, "%s\"m%lld\":{", i > 0 ? "," : "{", (long long)i);
        for (int64_t k = 0; k < 800; k++)
            sl_buf_printf(out, "%s\"%lld\":\"\"", k > 0 ? "," : "",
                          (long long)(b->reversed ? 799 - k : k));
        sl_buf_putc(out, '}');
    }
    sl_buf_puts(out, ",\"z\":1}");
    for (int i = 0; i < 90; i++)
        sl_buf_putc(out, '}');
}

static void put_value(struct sl_buf *out, yyjson_val *v, struct blown *b) {
    size_t i, n;
    yyjson_val *item;

    if (v == b->around && v != b->target) {
        yyjson_val *around = b->around;
        b->around = NULL; /* its copies are the items alone */
        put_list(out, around, b, b->bytes);
        b->around = around;
    } else if (v == b->target && b->wide) {
        put_wide(out, b, b->bytes);
    } else if (v == b->target && yyjson_is_arr(v)) {
        b->target = NULL;
        put_list(out, v, b, b->bytes);
        b->target = v;
    } else if (v == b->target) {
        /* As wide as may be, but so that several of them fit where there are several. */
        b->target = NULL;
        put_map(out, v, b, b->copy == NO_COPY ? b->bytes : b->bytes / 4);
        b->target = v;
    } else if (yyjson_is_arr(v)) {
        sl_buf_putc(out, '[');
        yyjson_arr_foreach (v, i, n, item) {
            if (i > 0)
                sl_buf_putc(out, ',');
            put_value(out, item, b);
        }
        sl_buf_putc(out, ']');
    } else if (yyjson_is_obj(v)) {
        sl_buf_putc(out, '{');
        put_fields(out, v, b, false);
        sl_buf_putc(out, '}');
    } else {
        char *text = yyjson_val_write(v, 0, NULL);
        sl_buf_puts(out, text);
        free(text); /* yyjson's */
    }
}

/* ---- the bodies ---- */

/* now, old: which of the two is blown up, if there is an old one. */
enum { NOW = 1, OLD = 2, REVERSED = 4, NESTED = 8, WIDE = 16, CREATE = 32, TINY = 64 };

static const struct {
    const char *how;
    int what;
} manners[] = {
    {"created", NOW | CREATE},
    {"old object", OLD},
    {"both", NOW | OLD},
    {"both, as many as there may be", NOW | OLD | TINY},
    {"both, reversed", NOW | OLD | REVERSED},
    {"both, in each item of a list", NOW | OLD | REVERSED | NESTED},
    {"both, maps of maps", NOW | OLD | REVERSED | WIDE},
};

struct subject {
    const char *path; /* of the request */
    yyjson_val *object;
    struct sl_wordset *seen;
    struct sl_arena *arena;
};

static void put_one(struct sl_buf *body, yyjson_val *object, yyjson_val *target, yyjson_val *around,
                    int what, bool old) {
    bool both = (what & NOW) && (what & OLD);
    struct blown b = {.target = what & (old ? OLD : NOW) ? target : NULL,
                      .around = what & NESTED ? around : NULL,
                      .bytes = scan_bytes / (both ? 2 : 1) *
                               (what & NESTED ? 4
                                : what & WIDE ? 2
                                              : 1),
                      .reversed = old && (what & REVERSED),
                      .wide = what & WIDE,
                      .tiny = what & TINY,
                      .copy = NO_COPY};
    yyjson_doc *smallest = yyjson_read("{\"a\":0}", 7, 0);
    b.smallest = yyjson_doc_get_root(smallest);
    put_value(body, object, &b);
    yyjson_doc_free(smallest);
}

static void put_review(struct sl_buf *body, const struct subject *s, yyjson_val *target,
                       yyjson_val *around, int what) {
    sl_buf_printf(body,
                  "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                  "\"request\":{\"uid\":\"u\",\"operation\":\"%s\",\"namespace\":\"ns\","
                  "\"name\":\"x\",\"object\":",
                  what & CREATE ? "CREATE" : "UPDATE");
    put_one(body, s->object, target, around, what, false);
    if (!(what & CREATE)) {
        sl_buf_puts(body, ",\"oldObject\":");
        put_one(body, s->object, target, around, what, true);
    }
    sl_buf_puts(body, "}}");
}

static void put_conversion(struct sl_buf *body, const struct subject *s, yyjson_val *target,
                           yyjson_val *around, int what) {
    bool up = strstr(sl_json_str(s->object, "apiVersion"), "v1beta2") == NULL;
    sl_buf_printf(body,
                  "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
                  "\"request\":{\"uid\":\"u\",\"desiredAPIVersion\":\"kueue.x-k8s.io/%s\","
                  "\"objects\":[",
                  up ? "v1beta2" : "v1beta1");
    put_one(body, s->object, target, around, what | NOW, false);
    sl_buf_puts(body, "]}}");
}

static bool converts(const struct subject *s) {
    return strcmp(s->path, SL_CONVERT_PATH) == 0;
}

/* Is there something to be seen in this way that the others do not show? */
static bool is_of_use(const struct subject *s, yyjson_val *target, yyjson_val *around, int what) {
    bool old_is_read = strncmp(s->path, "/validate", 9) == 0;

    if (what & NESTED)
        return around;
    if (what & WIDE)
        return !around;
    if (what & OLD && !old_is_read)
        return false;
    if (what & TINY)
        return yyjson_is_obj(yyjson_arr_get_first(target));
    return what != (NOW | OLD) || yyjson_is_arr(target);
}

static void blow_up(const struct subject *s, yyjson_val *target, yyjson_val *around,
                    const char *where) {
    for (size_t i = 0; i < SL_LEN(manners); i++) {
        struct sl_buf body = SL_BUF(MAX_BODY);
        if (!is_of_use(s, target, around, manners[i].what))
            continue;
        if (converts(s))
            put_conversion(&body, s, target, around, manners[i].what);
        else
            put_review(&body, s, target, around, manners[i].what);
        assert_false(sl_buf_full(&body));
        hold(s->path, &body, where, manners[i].how);
        sl_buf_done(&body);
    }
}

/* Every container below v, once for each path of a request. */
static void walk(const struct subject *s, yyjson_val *v, yyjson_val *around, const char *where) {
    size_t i, n;
    yyjson_val *key, *val;

    if (!yyjson_is_ctn(v))
        return;
    if (sl_wordset_add(s->seen, sl_arena_printf(s->arena, "%s %s", s->path, where)) &&
        s->seen->words.n % (SLOWER > 1 ? 8 : 1) == 0)
        blow_up(s, v, around, where);
    yyjson_arr_foreach (v, i, n, val) {
        walk(s, val, v, sl_arena_printf(s->arena, "%s[]", where));
    }
    sl_obj_foreach (v, i, n, key, val) {
        walk(s, val, around, sl_arena_printf(s->arena, "%s.%s", where, sl_json_text(key)));
    }
}

static void read_file(const char *dir, const char *name, struct sl_buf *out) {
    char path[4096], part[4096];
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while ((n = fread(part, 1, sizeof(part), f)) > 0)
        sl_buf_add(out, part, n);
    assert_int_equal(fclose(f), 0);
}

static void use(const char *name, struct sl_wordset *seen, struct sl_arena *arena) {
    struct sl_buf text = SL_BUF(1 << 20);
    yyjson_doc *doc;

    read_file(corpus, name, &text);
    doc = text.len > 1 ? yyjson_read(text.s + 1, text.len - 1, 0) : NULL;
    yyjson_val *request = sl_json_get(yyjson_doc_get_root(doc), "request");
    yyjson_val *const objects[] = {sl_json_get(request, "object"),
                                   sl_json_get(request, "oldObject"),
                                   yyjson_arr_get_first(sl_json_get(request, "objects"))};
    for (size_t i = 0; i < SL_LEN(objects); i++) {
        struct subject s = {review_path((uint8_t)text.s[0]), objects[i], seen, arena};
        if (!yyjson_is_obj(objects[i]) || converts(&s) != (i == 2))
            continue;
        set_gates(review_flipped((uint8_t)text.s[0]), true);
        walk(&s, objects[i], NULL, "");
    }
    yyjson_doc_free(doc);
    sl_buf_done(&text);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void every_list_and_every_map(void **state) {
    struct sl_wordset seen = {0};
    struct sl_arena arena = SL_ARENA((size_t)16 << 20);
    SL_VEC(char *) names = {0};
    DIR *d = opendir(corpus);

    (void)state;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            *sl_vec_push(&names) = sl_strdup(e->d_name);
    closedir(d);
    qsort(names.v, names.n, sizeof(*names.v), by_name);
    for (uint32_t i = 0; i < names.n; i++) {
        use(names.v[i], &seen, &arena);
        sl_freep(&names.v[i]);
    }
    sl_vec_free(&names);
    print_message("%u bodies, the slowest took %lld permille of its time\n", asked,
                  (long long)worst_permille);
    assert_true(asked > (SLOWER > 1 ? 100 : 1000));
    assert_int_equal(too_slow, 0);
    sl_wordset_done(&seen);
    sl_arena_done(&arena);
}

/* ---- the largest bodies ---- */

static void fill(struct sl_buf *body, const char *before, const char *item, const char *after,
                 size_t bytes) {
    sl_buf_puts(body, before);
    for (size_t i = 0; body->len + strlen(item) + strlen(after) + 8 < bytes; i++) {
        if (i > 0)
            sl_buf_putc(body, ',');
        sl_buf_puts(body, item);
    }
    sl_buf_puts(body, after);
}

/* What needs most memory and time for its length goes to every path there is. */
static void the_largest_bodies(void **state) {
    static const char *const objects[] = {
        "kueue-x-k8s-io-v1beta2-clusterqueue",
        "kueue-x-k8s-io-v1beta2-cohort",
        "kueue-x-k8s-io-v1beta2-resourceflavor",
        "kueue-x-k8s-io-v1beta2-workload",
        "vk-io-v1-masterqueue",
        "jobs-converged-computing-org-v1alpha1-fluxjob",
        "flux--v1-pod",
        "flux-batch-v1-job",
        "flux-apps-v1-statefulset",
        "batch-v1-job",
        "-v1-pod",
        "apps-v1-deployment",
        "apps-v1-statefulset",
        "leaderworkerset-x-k8s-io-v1-leaderworkerset",
        "jobset-x-k8s-io-v1alpha2-jobset",
        "kubeflow-org-v2beta1-mpijob",
        "kubeflow-org-v1-tfjob",
        "trainer-kubeflow-org-v1alpha1-trainjob",
        "ray-io-v1-raycluster",
        "ray-io-v1-rayjob",
        "ray-io-v1-rayservice",
        "workload-codeflare-dev-v1beta2-appwrapper",
        "sparkoperator-k8s-io-v1beta2-sparkapplication",
    };
    static const char *const items[] = {"0", "{\"name\":\"n\",\"values\":[]}"};
    char path[128];

    (void)state;
    set_gates(false, true);
    for (size_t i = 0; i < 2 * SL_LEN(objects) * SL_LEN(items); i++) {
        struct sl_buf body = SL_BUF(SL_REVIEW_MAX_BYTES + 1);
        snprintf(path, sizeof(path), "/%s-%s", i % 2 ? "mutate" : "validate",
                 objects[i / 2 % SL_LEN(objects)]);
        if (!sl_review_path(NULL, path))
            continue;
        fill(&body,
             "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
             "\"uid\":\"u\",\"operation\":\"CREATE\",\"namespace\":\"ns\",\"object\":{"
             "\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}},\"spec\":{\"l\":[",
             items[i / 2 / SL_LEN(objects)], "]}}}}", SL_REVIEW_MAX_BYTES);
        assert_false(sl_buf_full(&body));
        hold(path, &body, "spec.l", "largest");
        sl_buf_done(&body);
    }
    for (size_t i = 0; i < 2; i++) {
        struct sl_buf body = SL_BUF(SL_CONVERT_BODY_BYTES + 1);
        fill(&body,
             "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
             "\"request\":{\"uid\":\"u\",\"desiredAPIVersion\":\"kueue.x-k8s.io/v1beta1\","
             "\"objects\":[",
             i ? "0"
               : "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"spec\":{"
                 "\"queueName\":\"a queue with a name\",\"podSets\":[{\"name\":\"main\"}]}}",
             "]}}", SL_CONVERT_BODY_BYTES);
        hold(SL_CONVERT_PATH, &body, "objects", "largest");
        sl_buf_done(&body);
    }
    assert_int_equal(too_slow, 0);
}

/* As many checks as a queue may have, each with more old flavors than it may have. */
static void many_old_flavors(void **state) {
    struct sl_buf body = SL_BUF(SL_REVIEW_MAX_BYTES);
    uint32_t checks = 64, flavors = 8000, distinct = 1000, slow = too_slow;

    (void)state;
    set_gates(false, true);
    settings.gates[SL_G_REJECT_UPDATES_TO_CQ_WITH_INVALID_ON_FLAVORS] = false;
    sl_buf_puts(&body, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                       "\"request\":{\"uid\":\"u\",\"operation\":\"UPDATE\"");
    for (int old = 0; old < 2; old++) {
        sl_buf_printf(&body,
                      ",\"%s\":{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[",
                      old ? "oldObject" : "object");
        for (uint32_t i = 0; i < checks; i++) {
            sl_buf_printf(&body, "%s{\"name\":\"c%u\",\"onFlavors\":[\"x\"", i ? "," : "", i);
            for (uint32_t k = 0; old && k < flavors; k++)
                sl_buf_printf(&body, ",\"flavor-%u\"", k % distinct);
            sl_buf_puts(&body, "]}");
        }
        sl_buf_puts(&body, "]}}}");
    }
    sl_buf_puts(&body, "}}");
    assert_false(sl_buf_full(&body));
    hold("/validate-kueue-x-k8s-io-v1beta2-clusterqueue", &body, "onFlavors", "old object");
    assert_int_equal(too_slow, slow);
    sl_buf_done(&body);
}

/* As many groups as a MasterQueue may have, each with the longest pattern and connector. */
static void many_patterns(void **state) {
    static const char *const pieces[] = {"a|",    "(a|b)?",      "\\\\w{1,30}", "[^a-z]",
                                         "(?=a)", "(?:a{9}){9}", ".*?"};
    uint32_t slow = too_slow;

    (void)state;
    set_gates(false, true);
    for (size_t i = 0; i < SL_LEN(pieces); i++) {
        struct sl_buf body = SL_BUF(SL_REVIEW_MAX_BYTES);
        sl_buf_puts(&body,
                    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                    "\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":{\"spec\":{"
                    "\"flavors\":[");
        for (uint32_t k = 0; k < 64; k++) {
            sl_buf_printf(&body,
                          "%s{\"name\":\"g%u\",\"natsFlavor\":{\"natsSubject\":\"s\","
                          "\"natsConnector\":\"user:",
                          k ? "," : "", k);
            for (uint32_t n = 0; n < 1000; n++)
                sl_buf_puts(&body, "%41");
            sl_buf_puts(&body, "@h\",\"poolRegExp\":\"");
            for (size_t n = 0; n + strlen(pieces[i]) <= 1024; n += strlen(pieces[i]))
                sl_buf_puts(&body, pieces[i]);
            sl_buf_puts(&body, "\"}}");
        }
        sl_buf_puts(&body, "]}}}}");
        assert_false(sl_buf_full(&body));
        hold("/validate-vk-io-v1-masterqueue", &body, pieces[i], "patterns");
        sl_buf_done(&body);
    }
    assert_int_equal(too_slow, slow);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_and_every_map),
        cmocka_unit_test(the_largest_bodies),
        cmocka_unit_test(many_old_flavors),
        cmocka_unit_test(many_patterns),
    };
    corpus = argc > 1 ? argv[1] : "fuzz/corpus/review";
    if (argc > 2)
        scan_bytes = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
