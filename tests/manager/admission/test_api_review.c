/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a review: paths, what is no review, answers and patches.
 */
#include "case.h"

#define CQ_MUTATE "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue"
#define CQ_VALIDATE "/validate-kueue-x-k8s-io-v1beta2-clusterqueue"

static void paths_are_known(void **state) {
    static const char *const known[] = {
        CQ_MUTATE,
        CQ_VALIDATE,
        "/validate-kueue-x-k8s-io-v1beta2-cohort",
        "/mutate-kueue-x-k8s-io-v1beta2-resourceflavor",
        "/validate-kueue-x-k8s-io-v1beta2-workload",
        "/mutate-batch-v1-job",
        "/validate--v1-pod",
        "/mutate-jobset-x-k8s-io-v1alpha2-jobset",
        "/convert",
    };
    static const char *const unknown[] = {
        "/mutate-kueue-x-k8s-io-v1beta2-cohort",
        "/validate-kueue-x-k8s-io-v1beta2-localqueue",
        "/mutate-",
        "/validate-batch-v1-jo",
        "/",
        "",
        "/convert/",
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(known); i++)
        assert_true(sl_review_path(NULL, known[i]));
    for (size_t i = 0; i < SL_LEN(unknown); i++) {
        struct answer a;
        assert_false(sl_review_path(NULL, unknown[i]));
        review_object(unknown[i], "{}", NULL, NULL, false, &a);
        assert_int_equal(a.http, 404);
        answer_done(&a);
    }
}

static void what_is_no_review_is_a_bad_request(void **state) {
    static const struct {
        const char *path, *body, *text;
    } cases[] = {
        {CQ_VALIDATE, "", "JSON is not well-formed"},
        {CQ_VALIDATE, "{", "JSON is not well-formed"},
        {CQ_VALIDATE, "[]", "expected an AdmissionReview"},
        {CQ_VALIDATE, "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'}",
         "expected an AdmissionReview"},
        {CQ_VALIDATE,
         "{'apiVersion':'admission.k8s.io/v1beta1','kind':'AdmissionReview','request':{'uid':'u'}}",
         "expected an AdmissionReview"},
        {"/convert",
         "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview',"
         "'request':{'uid':'u'}}",
         "expected a ConversionReview"},
        {"/convert", "7", "expected a ConversionReview"},
    };
    struct sl_settings settings = {0};
    struct sl_review_view view = empty_view(&settings, NULL, false);

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char *body = json_of(cases[i].body);
        struct answer a;
        post(&view, cases[i].path, body, strlen(body), &a);
        assert_int_equal(a.http, 400);
        assert_non_null(strstr(sl_buf_str(&a.text), cases[i].text));
        /* One line. */
        assert_ptr_equal(strchr(sl_buf_str(&a.text), '\n'), a.text.s + a.text.len - 1);
        answer_done(&a);
        free(body);
    }
}

static void reviews_have_a_ceiling(void **state) {
    struct sl_settings settings = {0};
    struct sl_review_view view = empty_view(&settings, NULL, false);
    char *body = calloc(1, SL_REVIEW_MAX_BYTES + 1);
    struct answer a;

    (void)state;
    assert_non_null(body);
    memset(body, ' ', SL_REVIEW_MAX_BYTES + 1);
    post(&view, CQ_VALIDATE, body, SL_REVIEW_MAX_BYTES + 1, &a);
    assert_int_equal(a.http, 400);
    assert_string_equal(sl_buf_str(&a.text), "the review is too large\n");
    answer_done(&a);
    free(body);
}

/* As many annotations as Kubernetes lets an object have: 256 KiB of the shortest names. */
static void many_annotations_are_no_ceiling(void **state) {
    struct sl_buf job = SL_BUF((size_t)4 << 20);
    struct answer a;

    (void)state;
    sl_buf_puts(&job, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"default\",\"labels\":"
                      "{\"kueue.x-k8s.io/queue-name\":\"q\"},\"annotations\":{\"a\":\"\"");
    for (uint32_t i = 0; i < 65000; i++)
        sl_buf_printf(&job, ",\"%x\":\"\"", i);
    sl_buf_puts(&job, "}},\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}");
    static const char *const paths[] = {"/mutate-batch-v1-job", "/validate-batch-v1-job"};
    for (size_t i = 0; i < SL_LEN(paths); i++) {
        review_object(paths[i], sl_buf_str(&job), NULL, NULL, false, &a);
        assert_int_equal(a.http, 200);
        assert_true(a.allowed);
        answer_done(&a);
        review_object(paths[i], sl_buf_str(&job), sl_buf_str(&job), NULL, false, &a);
        assert_int_equal(a.http, 200);
        assert_true(a.allowed);
        answer_done(&a);
    }
    sl_buf_done(&job);
}

static void an_object_must_be_there(void **state) {
    struct answer a;

    (void)state;
    review_object(CQ_VALIDATE, "null", NULL, NULL, false, &a);
    assert_int_equal(a.http, 200);
    assert_false(a.allowed);
    assert_int_equal(sl_json_int(a.response, "status.code", 0), 400);
    assert_string_equal(sl_json_str(a.response, "status.reason"), "BadRequest");
    answer_done(&a);
    review_object(CQ_VALIDATE, "{}", "[]", NULL, false, &a);
    assert_false(a.allowed);
    assert_int_equal(sl_json_int(a.response, "status.code", 0), 400);
    answer_done(&a);
}

static void other_operations_are_allowed(void **state) {
    static const char *const operations[] = {"DELETE", "CONNECT", ""};
    struct sl_settings settings = {0};
    struct sl_review_view view = empty_view(&settings, NULL, false);

    (void)state;
    for (size_t i = 0; i < SL_LEN(operations); i++) {
        char body[512];
        struct answer a;
        snprintf(body, sizeof(body),
                 "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
                 "{\"uid\":\"u-1\",\"operation\":\"%s\",\"object\":null}}",
                 operations[i]);
        post(&view, CQ_VALIDATE, body, strlen(body), &a);
        assert_true(a.allowed);
        answer_done(&a);
    }
}

static void integrations_that_are_off_change_nothing(void **state) {
    static const char job[] = "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'-'}},"
                              "'spec':{'suspend':false}}";
    static const char *const paths[] = {"/mutate-batch-v1-job", "/validate-batch-v1-job",
                                        "/mutate--v1-pod", "/validate-ray-io-v1-rayjob"};

    (void)state;
    for (size_t i = 0; i < SL_LEN(paths); i++) {
        struct answer a;
        review_object(paths[i], job, NULL, NULL, false, &a);
        assert_true(a.allowed);
        assert_null(sl_json_get(a.response, "patch"));
        assert_int_equal(sl_json_int(a.response, "status.code", 0), 200);
        answer_done(&a);
    }
}

/* Each kind has its two paths, and pods of serving kinds are reviewed. */
static void pods_follow_those_who_serve(void **state) {
    static const char object[] =
        "{'metadata':{'labels':{'kueue.x-k8s.io/managed':'no','kueue.x-k8s.io/queue-name':'-'},"
        "'annotations':{'kueue.x-k8s.io/pod-suspending-parent':'deployment'}}}";
    static const struct {
        enum sl_framework on;
        const char *object;
        bool pods; /* are reviewed as well */
    } cases[] = {
        {SL_FW_POD, "-v1-pod", true},
        {SL_FW_JOB, "batch-v1-job", false},
        {SL_FW_DEPLOYMENT, "apps-v1-deployment", true},
        {SL_FW_STATEFULSET, "apps-v1-statefulset", true},
        {SL_FW_LEADERWORKERSET, "leaderworkerset-x-k8s-io-v1-leaderworkerset", true},
    };
    char *now = json_of(object), body[1024];
    struct sl_settings settings = {0};

    (void)state;
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
             "{\"uid\":\"u-1\",\"operation\":\"CREATE\",\"namespace\":\"n\",\"object\":%s}}",
             now);
    free(now);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_review_view view = empty_view(&settings, NULL, false);
        struct answer a;
        char path[128];
        view.webhook[cases[i].on] = true;
        snprintf(path, sizeof(path), "/validate-%s", cases[i].object);
        post(&view, path, body, strlen(body), &a);
        assert_false(a.allowed);
        answer_done(&a);
        snprintf(path, sizeof(path), "/mutate-%s", cases[i].object);
        post(&view, path, body, strlen(body), &a);
        assert_true(a.allowed && sl_json_get(a.response, "patch"));
        answer_done(&a);
        post(&view, "/validate--v1-pod", body, strlen(body), &a);
        assert_int_equal(a.allowed, !cases[i].pods);
        answer_done(&a);
        post(&view, "/mutate--v1-pod", body, strlen(body), &a);
        assert_int_equal(sl_json_get(a.response, "patch") != NULL, cases[i].pods);
        answer_done(&a);
    }
}

/* ---- patches ---- */

static size_t base64_read(const char *s, char *ret) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, n_bits = 0;
    size_t n = 0;

    assert_int_equal(strlen(s) % 4, 0);
    for (; *s && *s != '='; s++) {
        const char *d = strchr(digits, *s);
        assert_non_null(d);
        bits = bits << 6 | (unsigned)(d - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            ret[n++] = (char)(bits >> n_bits & 255);
        }
    }
    ret[n] = '\0';
    return n;
}

struct patch_case {
    const char *path, *object, *patch; /* "" for none */
    const char *gate;
    bool on;
};

static void check_patches(const struct patch_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char got[1024] = "", *want = json_of(cases[i].patch);
        struct answer a;
        review_object(cases[i].path, cases[i].object, NULL, cases[i].gate, cases[i].on, &a);
        assert_true(a.allowed);
        if (sl_json_get(a.response, "patch")) {
            assert_string_equal(sl_json_str(a.response, "patchType"), "JSONPatch");
            (void)base64_read(sl_json_str(a.response, "patch"), got);
        }
        assert_string_equal(got, want);
        answer_done(&a);
        free(want);
    }
}

static void queues_and_flavors_get_a_finalizer(void **state) {
    static const struct patch_case cases[] = {
        {CQ_MUTATE, "{'metadata':{'name':'q'}}",
         "[{'op':'add','path':'/metadata/finalizers','value':['kueue.x-k8s.io/resource-in-use']}]",
         NULL, false},
        {CQ_MUTATE, "{}",
         "[{'op':'add','path':'/metadata','value':{'finalizers':['kueue.x-k8s.io/"
         "resource-in-use']}}]",
         NULL, false},
        {CQ_MUTATE, "{'metadata':{'finalizers':['x']}}",
         "[{'op':'add','path':'/metadata/finalizers/1','value':'kueue.x-k8s.io/resource-in-use'}]",
         NULL, false},
        {CQ_MUTATE, "{'metadata':{'finalizers':['kueue.x-k8s.io/resource-in-use']}}", "", NULL,
         false},
        {"/mutate-kueue-x-k8s-io-v1beta2-resourceflavor", "{'metadata':{'finalizers':null}}",
         "[{'op':'replace','path':'/metadata/finalizers','value':['kueue.x-k8s.io/"
         "resource-in-use']}]",
         NULL, false},
    };

    (void)state;
    check_patches(cases, SL_LEN(cases));
}

static void workloads_lose_min_count_without_partial_admission(void **state) {
    static const char wl[] = "{'spec':{'podSets':[{'name':'a','minCount':1},{'name':'b'},"
                             "{'name':'c','minCount':2}]}}";
    static const struct patch_case cases[] = {
        {"/mutate-kueue-x-k8s-io-v1beta2-workload", wl, "", NULL, false},
        {"/mutate-kueue-x-k8s-io-v1beta2-workload", wl,
         "[{'op':'remove','path':'/spec/podSets/0/minCount'},"
         "{'op':'remove','path':'/spec/podSets/2/minCount'}]",
         "PartialAdmission", false},
        {"/mutate-kueue-x-k8s-io-v1beta2-workload", "{'spec':{}}", "", "PartialAdmission", false},
    };

    (void)state;
    check_patches(cases, SL_LEN(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_known),
        cmocka_unit_test(what_is_no_review_is_a_bad_request),
        cmocka_unit_test(reviews_have_a_ceiling),
        cmocka_unit_test(many_annotations_are_no_ceiling),
        cmocka_unit_test(an_object_must_be_there),
        cmocka_unit_test(other_operations_are_allowed),
        cmocka_unit_test(integrations_that_are_off_change_nothing),
        cmocka_unit_test(pods_follow_those_who_serve),
        cmocka_unit_test(queues_and_flavors_get_a_finalizer),
        cmocka_unit_test(workloads_lose_min_count_without_partial_admission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
