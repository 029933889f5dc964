/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of plain pods: which are gated and how, and the rules with their messages. */
#include "review_fixture.h"

/* A pod by its parts: labels, annotations, the rest of the metadata, spec and status. */
#define POD(labels, annotations, more)                                                             \
    "{\"metadata\":{\"labels\":{" labels "},\"annotations\":{" annotations "}}" more "}"
#define GATED ",\"spec\":{\"schedulingGates\":[{\"name\":\"" Q "admission\"}]}"
#define RUNNING ",\"spec\":{}"
#define ENDED ",\"spec\":{},\"status\":{\"phase\":\"Failed\"}"
#define GROUP(n) LABEL("pod-group-name", n)
#define TOTAL(n) LABEL("pod-group-total-count", n)
#define PARENT LABEL("pod-suspending-parent", "statefulset")
#define AT_LABEL(k) "metadata.labels[" Q k "]: "
#define AT_NOTE(k) "metadata.annotations[" Q k "]: "
#define BOTH(where)                                                                                \
    "Required value: both the '" Q "pod-group-total-count' annotation and the '" Q                 \
    "pod-group-name' " where " should be set"
#define FROZEN "field is immutable"

/* ---- rules ---- */

static const struct rule_case cases[] = {
    {POD("", "", ""), NULL, "", NO_GATE},
    {POD(QUEUE("q"), "", GATED), NULL, "", NO_GATE},
    /* what all jobs share */
    {POD(QUEUE("Q"), "", ""), NULL, AT_LABEL("queue-name") "Invalid value: \"Q\": " SUBDOMAIN,
     NO_GATE},
    {POD(QUEUE("Q"), "", GATED), POD(QUEUE("q"), "", GATED), "", NO_GATE}, /* Kueue's own gap */
    {POD(LABEL("max-exec-time-seconds", "-1"), "", ""), NULL,
     AT_LABEL("max-exec-time-seconds") "Invalid value: -1: should be greater than 0", NO_GATE},
    {POD("", LABEL("elastic-job", "true"), ""), NULL,
     AT_NOTE("elastic-job") "Forbidden: elastic job is not supported for \"/v1, Kind=Pod\"",
     NO_GATE},
    {POD("", LABEL("admission-gated-by", "a.io/x,a.io/x"), ""), NULL,
     AT_NOTE("admission-gated-by") "Invalid value: \"a.io/x,a.io/x\": duplicate gate name: a.io/x",
     NO_GATE},
    {POD("", LABEL("admission-gated-by", "a.io/x"), GATED), POD("", "", GATED),
     AT_NOTE("admission-gated-by") "Forbidden: cannot add admission gate after creation", NO_GATE},
    {POD(QUEUE("b"), "", GATED), POD(QUEUE("a"), "", GATED), "", NO_GATE},
    {POD(QUEUE("b"), "", RUNNING), POD(QUEUE("a"), "", GATED),
     AT_LABEL("queue-name") "Invalid value: \"b\": " FROZEN, NO_GATE},
    {POD(QUEUE("b"), "", ENDED), POD(QUEUE("a"), "", RUNNING), "", NO_GATE},
    {POD("", "", GATED), POD(QUEUE("a"), "", GATED),
     AT_LABEL("queue-name") "Invalid value: \"\": queue-name must not be empty in namespace with "
                            "default queue",
     NO_GATE},
    {POD(LABEL("max-exec-time-seconds", "9"), "", RUNNING), POD("", "", GATED),
     AT_LABEL("max-exec-time-seconds") "Invalid value: \"9\": " FROZEN, NO_GATE},
    {POD(LABEL("priority-class", "p"), "", RUNNING), POD("", "", RUNNING),
     AT_LABEL("priority-class") "Invalid value: \"p\": WorkloadPriorityClass cannot be added to a "
                                "non-suspended workload",
     NO_GATE},
    {POD("", LABEL("prebuilt-workload-name", "b"), RUNNING),
     POD(LABEL("prebuilt-workload-name", "a"), "", GATED),
     AT_NOTE("prebuilt-workload-name") "Invalid value: \"b\": " FROZEN, NO_GATE},
    /* whose it is */
    {POD(LABEL("managed", "true"), "", ""), NULL, "", NO_GATE},
    {POD(LABEL("managed", "no"), "", ""), NULL,
     AT_LABEL("managed") "Forbidden: managed label value can only be 'true'", NO_GATE},
    {POD(LABEL("managed", ""), "", RUNNING), POD("", "", RUNNING),
     AT_LABEL("managed") "Forbidden: managed label value can only be 'true'", NO_GATE},
    /* groups */
    {POD(GROUP("g"), TOTAL("3"), ""), NULL, "", NO_GATE},
    {POD("", GROUP("g") "," TOTAL("3"), ""), NULL, "", NO_GATE},
    {POD(GROUP("g"), "", ""), NULL, AT_NOTE("pod-group-total-count") BOTH("label"), NO_GATE},
    {POD("", GROUP("g"), ""), NULL, AT_NOTE("pod-group-total-count") BOTH("annotation"), NO_GATE},
    {POD("", TOTAL("3"), ""), NULL, AT_LABEL("pod-group-name") BOTH("label"), NO_GATE},
    {POD("", GROUP("") "," TOTAL("3"), ""), NULL, AT_LABEL("pod-group-name") BOTH("label"),
     NO_GATE},
    {POD("", GROUP("g") "," TOTAL("3"), ""), NULL, AT_LABEL("pod-group-name") BOTH("label"),
     SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS},
    {POD(GROUP("G"), TOTAL("3"), ""), NULL,
     AT_LABEL("pod-group-name") "Invalid value: \"G\": " SUBDOMAIN, NO_GATE},
    {POD(GROUP("g"), GROUP("G") "," TOTAL("3"), ""), NULL,
     AT_NOTE("pod-group-name") "Invalid value: \"G\": " SUBDOMAIN, NO_GATE},
    {POD(GROUP("G"), "", ""), NULL,
     "[" AT_LABEL("pod-group-name") "Invalid value: \"G\": " SUBDOMAIN
                                    ", " AT_NOTE("pod-group-total-count") BOTH("label") "]",
     NO_GATE},
    {POD(GROUP("g"), TOTAL("many"), ""), NULL,
     AT_NOTE("pod-group-total-count") "Invalid value: \"many\": strconv.Atoi: parsing \"many\": "
                                      "invalid syntax",
     NO_GATE},
    {POD(GROUP("g"), TOTAL("0"), ""), NULL,
     AT_NOTE("pod-group-total-count") "Invalid value: \"0\": incorrect annotation value '" Q
                                      "pod-group-total-count=0': group total count should be "
                                      "greater than zero",
     NO_GATE},
    {POD(GROUP("h"), TOTAL("3"), GATED), POD(GROUP("g"), TOTAL("3"), GATED),
     AT_LABEL("pod-group-name") "Invalid value: \"h\": " FROZEN, NO_GATE},
    {POD("", "", GATED), POD(GROUP("g"), TOTAL("3"), GATED),
     AT_LABEL("pod-group-name") "Invalid value: \"\": " FROZEN, NO_GATE},
    {POD("", GROUP("g") "," TOTAL("3"), GATED), POD(GROUP("g"), TOTAL("3"), GATED), "", NO_GATE},
    {POD(GROUP("g"), TOTAL("3"), GATED), POD("", "", GATED), "", NO_GATE},
    {POD(GROUP("g"), TOTAL("3") "," LABEL("retriable-in-group", "true"), RUNNING),
     POD(GROUP("g"), TOTAL("3") "," LABEL("retriable-in-group", "false"), RUNNING),
     AT_NOTE("retriable-in-group") "Forbidden: unretriable pod group can't be converted to "
                                   "retriable",
     NO_GATE},
    {POD(GROUP("g"), TOTAL("3") "," LABEL("retriable-in-group", "false"), RUNNING),
     POD(GROUP("g"), TOTAL("3"), RUNNING), "", NO_GATE},
    /* a role is derived from the requests of the pod, and stays */
    {POD(GROUP("g"), TOTAL("3") "," LABEL("role-hash", "same"), GATED),
     POD(GROUP("g"), TOTAL("3") "," LABEL("role-hash", "b18935ae"), GATED),
     AT_NOTE("role-hash") "Invalid value: \"same\": " FROZEN, NO_GATE},
    {POD(GROUP("g"), TOTAL("3"), RUNNING),
     POD(GROUP("g"), TOTAL("3") "," LABEL("role-hash", "b18935ae"), RUNNING),
     AT_NOTE("role-hash") "Invalid value: \"\": " FROZEN, NO_GATE},
    {POD(GROUP("g"), PARENT "," TOTAL("3") "," LABEL("role-hash", "main"), GATED),
     POD(GROUP("g"), PARENT "," TOTAL("3") "," LABEL("role-hash", "b18935ae"), GATED), "", NO_GATE},
    /* a prebuilt Workload */
    {POD(GROUP("g") "," LABEL("prebuilt-workload-name", "g"), TOTAL("3"), ""), NULL, "", NO_GATE},
    {POD(LABEL("prebuilt-workload-name", "w"), "", ""), NULL, "", NO_GATE},
    {POD(GROUP("g") "," LABEL("prebuilt-workload-name", "w"), TOTAL("3"), ""), NULL,
     AT_LABEL("prebuilt-workload-name") "Invalid value: \"w\": prebuilt workload and pod group "
                                        "should be equal",
     NO_GATE},
    {POD(GROUP("g"), TOTAL("3") "," LABEL("prebuilt-workload-name", "w"), ""), NULL,
     AT_NOTE("prebuilt-workload-name") "Invalid value: \"w\": prebuilt workload and pod group "
                                       "should be equal",
     NO_GATE},
    /* topology, whatever the gate is */
    {POD("", LABEL("podset-unconstrained-topology", "some"), ""), NULL,
     AT_NOTE("podset-unconstrained-topology") "Invalid value: \"some\": must be a boolean value",
     SL_G_TOPOLOGY_AWARE_SCHEDULING},
    {POD("", LABEL("podset-slice-required-topology", "a/b"), GATED), POD("", "", GATED),
     AT_NOTE("podset-slice-size") "Required value: must be set when '" Q
                                  "podset-slice-required-topology' is specified",
     NO_GATE},
};

static void test_rules(void **state) {
    (void)state;
    struct fixture f = {.cluster = {.default_queue = true}, .view.webhook[SL_FW_POD] = true};
    check_rules(&f, sl_review_pod_validate, cases, SL_LEN(cases));
}

/* Where only serving kinds are managed, other pods are not validated. */
static void test_rules_of_parents(void **state) {
    (void)state;
    static const struct rule_case few[] = {
        {POD(LABEL("managed", "no"), "", ""), NULL, "", NO_GATE},
        {POD(LABEL("managed", "no"), PARENT, ""), NULL,
         AT_LABEL("managed") "Forbidden: managed label value can only be 'true'", NO_GATE},
    };
    struct fixture f = {.view.webhook[SL_FW_STATEFULSET] = true};
    check_rules(&f, sl_review_pod_validate, few, SL_LEN(few));
}

/* ---- warnings ---- */

#define OWNED(labels, annotations)                                                                 \
    "{\"metadata\":{\"labels\":{" labels "},\"annotations\":{" annotations                         \
    "},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"o\","         \
    "\"uid\":\"u\",\"controller\":true}]}}"

static const struct {
    const char *object, *old;
    bool warned;
} warnings[] = {
    {OWNED("", ""), NULL, false},
    {POD(LABEL("managed", "true"), "", ""), NULL, false},
    {OWNED(LABEL("managed", "true"), ""), NULL, true},
    {OWNED(LABEL("managed", "true"), PARENT), NULL, true},
    {OWNED(LABEL("managed", "true"), ""), OWNED("", ""), true},
    {OWNED(LABEL("managed", "true"), PARENT), OWNED("", ""), false},
};

static void test_warnings(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(warnings); i++) {
        struct fixture f = {.view.webhook[SL_FW_POD] = true};
        begin(&f, warnings[i].object, warnings[i].old, NO_GATE);
        assert_int_equal(sl_review_pod_validate(&f.call), 0);
        assert_int_equal(f.call.errs.n, 0);
        assert_int_equal(f.call.n_warnings, warnings[i].warned);
        if (warnings[i].warned)
            assert_string_equal(f.call.warnings[0],
                                "pod owner is managed by kueue, label '" Q
                                "managed=true' might lead to unexpected behaviour");
        end(&f);
    }
}

/* ---- what becomes of them ---- */

#define HASH "\"" Q "role-hash\":\"b18935ae\"" /* of a pod without a spec */
#define GATES                                                                                      \
    "\"spec\":{\"schedulingGates\":[{\"name\":\"" Q "admission\"},{\"name\":\"" Q "topology\"}]}"
#define MANAGED LABEL("managed", "true")
#define FINALIZER "\"finalizers\":[\"" Q "managed\"]"

static const struct {
    const char *object;
    struct cluster cluster;
    bool manage_all;
    enum sl_feature_gate flipped;
    const char *wanted; /* NULL: as it was */
} edits[] = {
    {POD("", "", ""), {.managed_ns = true}, false, NO_GATE, NULL},
    {POD(QUEUE("q"), "", ""),
     {.managed_ns = true},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" QUEUE("q") "," MANAGED "},\"annotations\":{" HASH "}," FINALIZER
                                              "}," GATES "}"},
    {POD(QUEUE("q"), "", ""), {0}, false, NO_GATE, NULL}, /* the namespace is not chosen */
    {POD(QUEUE("q"), "", ""), {0}, true, NO_GATE, NULL},
    {POD("", "", ""),
     {.managed_ns = true},
     true,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" MANAGED "},\"annotations\":{" HASH "}," FINALIZER "}," GATES
     "}"},
    {POD("", "", ""),
     {.managed_ns = true, .default_queue = true},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" QUEUE("default") "," MANAGED "},\"annotations\":{" HASH
                                                    "}," FINALIZER "}," GATES "}"},
    {POD(QUEUE("q"), "", ""),
     {.managed_ns = true, .default_class = true},
     false,
     SL_G_WORKLOAD_PRIORITY_CLASS_DEFAULTING,
     "{\"metadata\":{\"labels\":{" QUEUE("q") "," LABEL(
         "priority-class", "default") "," MANAGED "},\"annotations\":{" HASH "}," FINALIZER
                                      "}," GATES "}"},
    /* a role that a user brings is none, unless the podsets are another's */
    {POD(QUEUE("q"), LABEL("role-hash", "same"), ""),
     {.managed_ns = true},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" QUEUE("q") "," MANAGED "},\"annotations\":{" HASH "}," FINALIZER
                                              "}," GATES "}"},
    {POD(QUEUE("q") "," LABEL("prebuilt-workload-name", "w"), LABEL("role-hash", "driver"), ""),
     {.managed_ns = true},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" QUEUE("q") "," LABEL(
         "prebuilt-workload-name",
         "w") "," MANAGED "},\"annotations\":{" LABEL("role-hash", "driver") "}," FINALIZER
                                                                             "}," GATES "}"},
    /* others look after it */
    {OWNED(QUEUE("q"), ""), {.managed_ns = true, .managed_owner = true}, true, NO_GATE, NULL},
    /* its parent waits by it, whatever else holds */
    {POD("", PARENT, ""),
     {0},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{},\"annotations\":{" PARENT "," HASH "}}," GATES "}"},
    {OWNED("", PARENT),
     {.managed_owner = true, .managed_ns = true, .default_queue = true},
     true,
     NO_GATE,
     "{\"metadata\":{\"labels\":{},\"annotations\":{" PARENT "," HASH
     "},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"o\","
     "\"uid\":\"u\",\"controller\":true}]}," GATES "}"},
    /* what is there stays: a role, gates of others and ours */
    {POD("", PARENT "," LABEL("role-hash", "main"),
         ",\"spec\":{\"schedulingGates\":[{\"name\":\"x\"},{\"name\":\"" Q "topology\"}]}"),
     {0},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{},\"annotations\":{" PARENT "," LABEL(
         "role-hash", "main") "}},\"spec\":{\"schedulingGates\":[{\"name\":\"x\"},{\"name\":\"" Q
                              "topology\"},{\"name\":\"" Q "admission\"}]}}"},
    /* its rank */
    {POD("\"i\":\"7\"", PARENT "," LABEL("pod-group-pod-index-label", "i"), ""),
     {0},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{\"i\":\"7\"," LABEL(
         "pod-group-pod-index", "7") "},"
                                     "\"annotations\":{" PARENT
                                     "," LABEL("pod-group-pod-index-label", "i") "," HASH
                                                                                 "}}," GATES "}"},
    {POD("", PARENT "," LABEL("pod-group-pod-index-label", "i"), ""),
     {0},
     false,
     NO_GATE,
     "{\"metadata\":{\"labels\":{" LABEL(
         "pod-group-pod-index", "") "},\"annotations\":{" PARENT
                                    "," LABEL("pod-group-pod-index-label", "i") "," HASH "}}," GATES
                                                                                "}"},
    {POD("\"i\":\"7\"", PARENT "," LABEL("pod-group-pod-index-label", "i"), ""),
     {0},
     false,
     SL_G_TOPOLOGY_AWARE_SCHEDULING,
     "{\"metadata\":{\"labels\":{\"i\":\"7\"},\"annotations\":{" PARENT
     "," LABEL("pod-group-pod-index-label",
               "i") "," HASH "}},\"spec\":{\"schedulingGates\":[{\"name\":\"" Q "admission\"}]}}"},
};

static void test_edits(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(edits); i++) {
        struct fixture f = {.cluster = edits[i].cluster,
                            .settings.manage_without_queue = edits[i].manage_all,
                            .view.webhook[SL_FW_POD] = true};
        begin(&f, edits[i].object, NULL, edits[i].flipped);
        assert_int_equal(sl_review_pod_mutate(&f.call), 0);
        char *text = edited(&f);
        if (!text != !edits[i].wanted || (text && strcmp(text, edits[i].wanted) != 0))
            fail_msg("case %zu: %s\nwanted: %s", i, text ? text : "as it was",
                     edits[i].wanted ? edits[i].wanted : "as it was");
        free(text);
        end(&f);
    }
}

/* Without the integration of pods only those with such a parent wait. */
static void test_implied(void **state) {
    (void)state;
    for (int parent = 0; parent < 2; parent++) {
        struct fixture f = {.cluster = {.managed_ns = true},
                            .view.webhook[SL_FW_DEPLOYMENT] = true};
        begin(&f, parent ? POD(QUEUE("q"), PARENT, "") : POD(QUEUE("q"), "", ""), NULL, NO_GATE);
        assert_int_equal(sl_review_pod_mutate(&f.call), 0);
        char *text = edited(&f);
        assert_int_equal(text != NULL, parent);
        assert_true(!parent || (strstr(text, GATES) && !strstr(text, "finalizers")));
        free(text);
        end(&f);
    }
}

static void test_updates_are_not_edited(void **state) {
    (void)state;
    struct fixture f = {.cluster = {.managed_ns = true}, .view.webhook[SL_FW_POD] = true};
    begin(&f, POD(QUEUE("q"), "", ""), POD(QUEUE("q"), "", ""), NO_GATE);
    assert_int_equal(sl_review_pod_mutate(&f.call), 0);
    assert_null(f.call.edit);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),    cmocka_unit_test(test_rules_of_parents),
        cmocka_unit_test(test_warnings), cmocka_unit_test(test_edits),
        cmocka_unit_test(test_implied),  cmocka_unit_test(test_updates_are_not_edited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
