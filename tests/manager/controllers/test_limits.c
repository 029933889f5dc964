/* SPDX-License-Identifier: Apache-2.0 */
/* What a namespace makes of a pod: overhead, defaults, and what LimitRanges forbid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "manager/controllers/core/kinds.h"
#include "manager/controllers/queue/limit_range.h"

#define RANGE(type, rest) "{\"spec\":{\"limits\":[{\"type\":\"" type "\"," rest "}]}}"
#define HEAD "resources didn't satisfy LimitRange constraints: "
#define AT "spec.podSets[0].template.spec"
#define ABOVE "requests must not be above the limitRange max"
#define BELOW "requests must not be below the limitRange min"

/* A manager with records and nothing that runs. */
static struct sl_manager *manager_new(void) {
    struct sl_manager *m = sl_alloc0(1, sizeof *m);
    static struct sl_kube_client client;
    mgr_features_new(m);
    m->inf = sl_inf_new(&(struct sl_inf_spec){
        .client = &client, .kinds = mgr_kinds, .n_kinds = REC_KINDS, .ctx = m, .max_in_flight = 1});
    m->syms = &m->inf->syms;
    return m;
}

static void manager_free(struct sl_manager *m) {
    sl_inf_free(m->inf);
    mgr_features_end(m);
    sl_freep(&m);
}

static struct sl_rec *add_object(struct sl_manager *m, enum mgr_rec_kind k, const char *ns,
                                 const char *name, const char *text) {
    struct sl_rec *r = sl_inf_add(m->inf, k, ns, name);
    mgr_conf_of(r)->text = sl_strdup(text);
    if (k == REC_LIMIT_RANGE)
        mgr_limits_add(m, r);
    return r;
}

struct example {
    const char *name;
    const char *ranges[2]; /* of the names "b" and "a": the second comes first */
    const char *class;     /* of the name "kata" */
    const char *pod, *want, *invalid;
};

#define POD(resources) "{\"containers\":[{\"resources\":" resources "}]}"
#define CPU(requests, limits)                                                                      \
    POD("{\"requests\":{\"cpu\":\"" requests "\"},\"limits\":{\"cpu\":\"" limits "\"}}")

static const struct example examples[] = {
    {.name = "other types do not matter",
     .ranges = {RANGE("PersistentVolumeClaim", "\"max\":{\"storage\":\"1\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = ""},
    {.name = "defaults only where something is missing",
     .ranges = {RANGE("Container", "\"default\":{\"cpu\":\"4\",\"memory\":\"1Gi\"},"
                                   "\"defaultRequest\":{\"cpu\":\"3\"}")},
     .pod = POD("{\"limits\":{\"cpu\":\"9\"}}"),
     .want = POD("{\"limits\":{\"cpu\":\"9\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"3\"}}"),
     .invalid = ""},
    {.name = "a container that says nothing",
     .ranges = {RANGE("Container", "\"defaultRequest\":{\"cpu\":\"3\"}")},
     .pod = "{\"initContainers\":[{}],\"containers\":[{\"name\":\"c\",\"resources\":null}]}",
     .want = "{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"3\"}}}],"
             "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}",
     .invalid = ""},
    {.name = "of two defaults the first by name counts",
     .ranges = {RANGE("Container", "\"defaultRequest\":{\"cpu\":\"7\",\"memory\":\"1\"}"),
                RANGE("Container", "\"defaultRequest\":{\"cpu\":\"3\"}")},
     .pod = POD("{}"),
     .want = POD("{\"requests\":{\"cpu\":\"3\",\"memory\":\"1\"}}"),
     .invalid = ""},
    {.name = "defaults of pods only for those with resources of their own",
     .ranges = {RANGE("Pod", "\"default\":{\"cpu\":\"4\"},\"defaultRequest\":{\"cpu\":\"3\"}")},
     .pod = "{\"resources\":{\"limits\":{\"memory\":\"1\"}}}",
     .want = "{\"resources\":{\"limits\":{\"memory\":\"1\",\"cpu\":\"4\"},"
             "\"requests\":{\"cpu\":\"3\"}}}",
     .invalid = ""},
    {.name = "pods without them get none",
     .ranges = {RANGE("Pod", "\"default\":{\"cpu\":\"4\"}")},
     .pod = POD("{}"),
     .want = POD("{}"),
     .invalid = ""},
    {.name = "within bounds",
     .ranges = {RANGE("Container", "\"min\":{\"cpu\":\"1\"},\"max\":{\"cpu\":\"4\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = ""},
    {.name = "limits above the maximum",
     .ranges = {RANGE("Container", "\"max\":{\"cpu\":\"2500m\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = HEAD AT ".containers[0]: Invalid value: [\"cpu\"]: " ABOVE},
    {.name = "the narrower of two bounds, and both of them",
     .ranges = {RANGE("Container", "\"max\":{\"cpu\":\"8\"},\"min\":{\"cpu\":\"3\"}"),
                RANGE("Container", "\"max\":{\"cpu\":\"1\"},\"min\":{\"cpu\":\"1\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = HEAD "[" AT ".containers[0]: Invalid value: [\"cpu\"]: " ABOVE ", " AT
                     ".containers[0]: Invalid value: [\"cpu\"]: " BELOW "]"},
    {.name = "several resources and several containers",
     .ranges = {RANGE("Container", "\"max\":{\"memory\":\"1Gi\",\"cpu\":\"1\"}")},
     .pod = "{\"initContainers\":[{},{\"resources\":{\"requests\":{\"cpu\":\"2\"}}}],"
            "\"containers\":[{\"resources\":{\"requests\":{\"memory\":\"2Gi\",\"cpu\":2}}}]}",
     .invalid = HEAD "[" AT ".initContainers[1]: Invalid value: [\"cpu\"]: " ABOVE ", " AT
                     ".containers[0]: Invalid value: [\"cpu\",\"memory\"]: " ABOVE "]"},
    {.name = "a resource that is not asked for is not too little",
     .ranges = {RANGE("Container", "\"min\":{\"example.com/gpu\":\"1\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = ""},
    {.name = "a default may be against the bounds",
     .ranges = {RANGE("Container", "\"max\":{\"cpu\":\"1\"},\"defaultRequest\":{\"cpu\":\"3\"}")},
     .pod = POD("{}"),
     .want = POD("{\"requests\":{\"cpu\":\"3\"}}"),
     .invalid = HEAD AT ".containers[0]: Invalid value: [\"cpu\"]: " ABOVE},
    {.name = "the pod as a whole: containers and overhead together",
     .ranges = {RANGE("Pod", "\"max\":{\"cpu\":\"2\"}")},
     .pod = "{\"overhead\":{\"cpu\":\"1m\"},\"containers\":["
            "{\"resources\":{\"requests\":{\"cpu\":\"1\"}}},{\"resources\":{\"limits\":{\"cpu\":"
            "\"1\"}}}]}",
     .invalid = HEAD AT ": Invalid value: [\"cpu\"]: " ABOVE},
    {.name = "the pod as a whole asks for too little",
     .ranges = {RANGE("Pod", "\"min\":{\"cpu\":\"3\"}")},
     .pod = CPU("2", "3"),
     .want = CPU("2", "3"),
     .invalid = HEAD AT ": Invalid value: [\"cpu\"]: " BELOW},
    {.name = "resources of the pod go before those of containers",
     .ranges = {RANGE("Pod", "\"min\":{\"cpu\":\"1\"},\"max\":{\"cpu\":\"4\"}")},
     .pod = "{\"resources\":{\"requests\":{\"cpu\":\"2\"}},"
            "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}",
     .invalid = ""},
    {.name = "overhead of the class",
     .class = "{\"overhead\":{\"podFixed\":{\"cpu\":\"250m\"}}}",
     .pod = "{\"runtimeClassName\":\"kata\",\"overhead\":{}}",
     .want = "{\"runtimeClassName\":\"kata\",\"overhead\":{\"cpu\":\"250m\"}}",
     .invalid = ""},
    {.name = "overhead that the pod has already",
     .class = "{\"overhead\":{\"podFixed\":{\"cpu\":\"250m\"}}}",
     .pod = "{\"runtimeClassName\":\"kata\",\"overhead\":{\"cpu\":\"1\"}}",
     .want = "{\"runtimeClassName\":\"kata\",\"overhead\":{\"cpu\":\"1\"}}",
     .invalid = ""},
    {.name = "another class",
     .class = "{\"overhead\":{\"podFixed\":{\"cpu\":\"250m\"}}}",
     .pod = "{\"runtimeClassName\":\"gvisor\"}",
     .want = "{\"runtimeClassName\":\"gvisor\"}",
     .invalid = ""},
    {.name = "a class without overhead",
     .class = "{\"handler\":\"kata\"}",
     .pod = "{\"runtimeClassName\":\"kata\"}",
     .want = "{\"runtimeClassName\":\"kata\"}",
     .invalid = ""},
};

static void check(const char *name, const char *got, const char *want) {
    if (strcmp(got, want) != 0)
        fail_msg("%s:\n got %s\nwant %s", name, got, want);
}

static void test_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(examples); i++) {
        const struct example *x = &examples[i];
        struct sl_manager *m = manager_new();
        struct sl_buf out, invalid;
        sl_buf_init(&out, 65536);
        sl_buf_init(&invalid, 65536);
        for (size_t k = 0; k < SL_LEN(x->ranges) && x->ranges[k]; k++)
            (void)add_object(m, REC_LIMIT_RANGE, "ns", k ? "a" : "b", x->ranges[k]);
        if (x->class)
            (void)add_object(m, REC_RUNTIME_CLASS, "", "kata", x->class);
        mgr_limits_put_pod(m, sl_sym_put(m->syms, "ns"), x->pod, 0, &out, &invalid);
        check(x->name, sl_buf_str(&out), x->want ? x->want : sl_buf_str(&out));
        check(x->name, sl_buf_str(&invalid), x->invalid);
        sl_buf_done(&out);
        sl_buf_done(&invalid);
        manager_free(m);
    }
}

/* The errors of all podsets of a Workload are one message. */
static void test_podsets(void **state) {
    (void)state;
    struct sl_manager *m = manager_new();
    struct sl_buf out, invalid;
    sl_buf_init(&out, 65536);
    sl_buf_init(&invalid, 65536);
    (void)add_object(m, REC_LIMIT_RANGE, "ns", "a", RANGE("Container", "\"max\":{\"cpu\":\"1\"}"));
    for (uint32_t i = 0; i < 3; i++)
        mgr_limits_put_pod(m, sl_sym_put(m->syms, "ns"), CPU("2", "3"), i, &out, &invalid);
    assert_string_equal(
        sl_buf_str(&invalid),
        HEAD "[" AT ".containers[0]: Invalid value: [\"cpu\"]: " ABOVE
             ", spec.podSets[1].template.spec.containers[0]: Invalid value: [\"cpu\"]: " ABOVE
             ", spec.podSets[2].template.spec.containers[0]: Invalid value: [\"cpu\"]: " ABOVE "]");
    sl_buf_done(&out);
    sl_buf_done(&invalid);
    manager_free(m);
}

static void test_namespaces(void **state) {
    (void)state;
    struct sl_manager *m = manager_new();
    sl_sym ns = sl_sym_put(m->syms, "ns"), other = sl_sym_put(m->syms, "other");
    assert_false(mgr_limits_matter(m, ns));
    struct sl_rec *a =
        add_object(m, REC_LIMIT_RANGE, "ns", "a", RANGE("Pod", "\"max\":{\"cpu\":\"1\"}"));
    struct sl_rec *b =
        add_object(m, REC_LIMIT_RANGE, "ns", "b", RANGE("Pod", "\"max\":{\"cpu\":\"1\"}"));
    assert_true(mgr_limits_matter(m, ns));
    assert_false(mgr_limits_matter(m, other));
    mgr_limits_drop(m, a);
    assert_true(mgr_limits_matter(m, ns));
    mgr_limits_drop(m, b);
    assert_false(mgr_limits_matter(m, ns));
    manager_free(m);
}

/* The bound that forbids the pod is behind more others than are compared. */
static void test_many_resources(void **state) {
    static const char *const scopes[] = {"Container", "Pod"};
    (void)state;
    for (size_t s = 0; s < SL_LEN(scopes); s++) {
        struct sl_manager *m = manager_new();
        struct sl_buf out = SL_BUF(65536), invalid = SL_BUF(65536), range = SL_BUF(65536);
        sl_buf_printf(&range, "{\"spec\":{\"limits\":[{\"type\":\"%s\",\"max\":{", scopes[s]);
        for (int i = 0; i < 70; i++)
            sl_buf_printf(&range, "\"example.com/r%d\":\"1\",", i);
        sl_buf_puts(&range, "\"cpu\":\"1\"}}]}}");
        (void)add_object(m, REC_LIMIT_RANGE, "ns", "a", sl_buf_str(&range));
        mgr_limits_put_pod(m, sl_sym_put(m->syms, "ns"), CPU("2", "3"), 0, &out, &invalid);
        assert_string_equal(sl_buf_str(&invalid),
                            HEAD "more than 64 resources in the LimitRanges of the namespace");
        sl_buf_done(&range);
        sl_buf_done(&out);
        sl_buf_done(&invalid);
        manager_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_podsets),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_many_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
