/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reviews in which something else stands where a text is meant: a list as long as a body may hold,
 * a number, an object, a text with a NUL. None of it is read as a text, none of it is copied from
 * beside it, and a NUL hides nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json/json.h"
#include "manager/admission/review.h"

#define KUEUE "kueue-x-k8s-io-v1beta2-"
#define Q "kueue.x-k8s.io/"
/* More items than the read-only data of the program has bytes. */
#define ITEMS ((size_t)1500000)

static bool yes(void *ctx, const char *name) {
    (void)ctx;
    (void)name;
    return true;
}

static bool no_queue(void *ctx, const char *ns, const char *name) {
    (void)ctx;
    (void)ns;
    (void)name;
    return false;
}

static bool no_owner(void *ctx, const char *ns, const struct sl_review_owner_ref *owner) {
    (void)ctx;
    (void)ns;
    (void)owner;
    return false;
}

/* The answer to the creation of an object in which '@' is replaced by a value. */
static void review_with_value(const char *path, const char *object, const char *value,
                              struct sl_buf *out) {
    static struct sl_settings settings;
    struct sl_review_view view = {
        .settings = &settings,
        .queue_open = no_queue,
        .queue_exists = no_queue,
        .ns_managed = yes,
        .ns_flux = yes,
        .owner_managed = no_owner,
        .priority_class_exists = yes,
    };
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(SL_REVIEW_MAX_BYTES);
    const char *hole = strchr(object, '@');

    for (int i = 0; i < SL_GATES; i++)
        settings.gates[i] = true;
    memset(view.webhook, true, sizeof(view.webhook));
    sl_buf_puts(&body, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                       "\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"namespace\":\"d\","
                       "\"name\":\"n\",\"object\":");
    sl_buf_add(&body, object, (size_t)(hole - object));
    sl_buf_puts(&body, value);
    sl_buf_printf(&body, "%s}}", hole + 1);
    assert_false(sl_buf_full(&body));
    assert_int_equal(sl_review(&view, path, body.s, body.len, out), 200);
}

#define POD(spec) "{\"metadata\":{\"annotations\":{\"" Q "pod-suspending-parent\":\"x\"}}," spec "}"

/* Where a text is expected, and the message if there is none; NULL: the object is edited. */
static const struct {
    const char *path, *object, *said;
} places[] = {
    /* the shape of a pod, from which its role is made */
    {"/mutate--v1-pod", POD("\"spec\":{\"nodeSelector\":{\"a\":@}}"), NULL},
    {"/mutate--v1-pod", POD("\"spec\":{\"overhead\":{\"cpu\":@}}"), NULL},
    {"/mutate--v1-pod", POD("\"spec\":{\"topologySpreadConstraints\":[{\"matchLabelKeys\":[@]}]}"),
     NULL},
    {"/mutate--v1-pod",
     POD("\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":@}}}]}"), NULL},
    /* the rules on labels, keys, taints and reasons */
    {"/validate-" KUEUE "resourceflavor", "{\"spec\":{\"nodeTaints\":[{\"key\":@}]}}",
     "nodeTaints[0].key: Invalid value: \"\""},
    {"/validate-" KUEUE "resourceflavor",
     "{\"spec\":{\"nodeTaints\":[{\"key\":\"Q!\",\"value\":@}]}}",
     "nodeTaints[0].key: Invalid value: \"Q!\""},
    {"/validate-" KUEUE "resourceflavor", "{\"spec\":{\"nodeLabels\":{\"Q!\":@}}}",
     "nodeLabels: Invalid value: \"Q!\""},
    {"/validate-" KUEUE "workload",
     "{\"spec\":{},\"status\":{\"conditions\":[{\"type\":\"T\",\"status\":\"True\","
     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"reason\":@}]}}",
     "conditions[0].reason: Required value"},
    {"/validate-" KUEUE "workload",
     "{\"spec\":{},\"status\":{\"conditions\":[{\"type\":@,\"status\":\"True\","
     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"reason\":\"R\"}]}}",
     "conditions[0].type: Invalid value: \"\""},
};

/* Nothing but printable ASCII was sent, so nothing else comes back. */
static void assert_nothing_leaked(const struct sl_buf *out) {
    for (size_t i = 0; i < out->len; i++)
        assert_true(out->s[i] >= ' ' && out->s[i] < 0x7f);
    assert_true(out->len < 4096);
}

static void check_places(const char *value) {
    for (size_t i = 0; i < SL_LEN(places); i++) {
        _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF((size_t)32 << 20);
        yyjson_doc *d = NULL;
        review_with_value(places[i].path, places[i].object, value, &out);
        assert_nothing_leaked(&out);
        assert_int_equal(sl_json_read(out.s, out.len, &d, NULL), 0);
        yyjson_val *response = sl_json_at(yyjson_doc_get_root(d), "response");
        const char *said = sl_json_str(response, "status.message");
        if (places[i].said ? !strstr(said, places[i].said)
                           : !sl_json_bool(response, "allowed", false))
            fail_msg("place %zu: \"%s\"", i, said);
        yyjson_doc_free(d);
    }
}

static void test_lists_are_no_texts(void **state) {
    static const size_t sizes[] = {1, 300, ITEMS};

    (void)state;
    for (size_t i = 0; i < SL_LEN(sizes); i++) {
        _cleanup_(sl_buf_done) struct sl_buf list = SL_BUF(2 * ITEMS + 16);
        sl_buf_putc(&list, '[');
        for (size_t k = 0; k < sizes[i]; k++)
            sl_buf_puts(&list, k ? ",0" : "0");
        sl_buf_putc(&list, ']');
        assert_false(sl_buf_full(&list));
        check_places(list.s);
    }
}

static void test_other_types_are_no_texts(void **state) {
    (void)state;
    check_places("{\"a\":1,\"b\":2}");
    check_places("7");
    check_places("true");
    check_places("null");
    check_places("[]");
}

/* The constraints of layers are a text in which there is JSON again: an API server that knows the
 * schema of pods lets anything through there. */
static void test_lists_in_layers(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf list = SL_BUF(1 << 20), out = SL_BUF((size_t)32 << 20);

    (void)state;
    sl_buf_puts(&list, "\"[{\\\"topology\\\":[0");
    for (size_t i = 0; i < 100000; i++)
        sl_buf_puts(&list, ",0");
    sl_buf_puts(&list, "],\\\"size\\\":1}]\"");
    review_with_value(
        "/validate-batch-v1-job",
        "{\"metadata\":{\"labels\":{\"" Q "queue-name\":\"q\"}},\"spec\":{\"template\":{"
        "\"metadata\":{\"annotations\":{\"" Q "podset-slice-required-topology-constraints\":@,"
        "\"" Q "podset-required-topology\":\"rack\"}}}}}",
        list.s, &out);
    assert_nothing_leaked(&out);
    assert_non_null(strstr(out.s, "].topology: Invalid value: \\\"\\\": name part must be"));
}

/* A NUL neither ends a name early nor hides what stands behind it. */
static void test_nul_is_part_of_a_text(void **state) {
    static const struct {
        const char *path, *object, *said;
    } cases[] = {
        {"/validate-" KUEUE "resourceflavor", "{\"spec\":{\"nodeLabels\":{\"a\":@}}}",
         "nodeLabels: Invalid value: \\\"ok\\\\x00!\\\""},
        {"/validate-" KUEUE "resourceflavor",
         "{\"spec\":{\"nodeTaints\":[{\"key\":\"a\",\"value\":@}]}}",
         "value: Invalid value: \\\"ok\\\\x00!\\\""},
        {"/validate-" KUEUE "resourceflavor", "{\"spec\":{\"nodeTaints\":[{\"key\":@}]}}",
         "key: Invalid value: \\\"ok\\\\x00!\\\""},
        {"/validate-batch-v1-job",
         "{\"metadata\":{\"labels\":{\"" Q "queue-name\":\"q\"}},\"spec\":{\"template\":{"
         "\"metadata\":{\"annotations\":{\"" Q "podset-required-topology\":@}}}}}",
         "Invalid value: \\\"ok\\\\x00!\\\""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF((size_t)32 << 20);
        review_with_value(cases[i].path, cases[i].object, "\"ok\\u0000!\"", &out);
        if (!strstr(out.s, cases[i].said))
            fail_msg("case %zu: %s", i, out.s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_no_texts),
        cmocka_unit_test(test_other_types_are_no_texts),
        cmocka_unit_test(test_lists_in_layers),
        cmocka_unit_test(test_nul_is_part_of_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
