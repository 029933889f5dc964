/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of batch/v1 Jobs: defaults, and the rules with their messages. */
#include "review_fixture.h"

#define KIND "batch-v1-job"

/* ---- rules ---- */

/* A Job by its parts: labels, annotations, spec, annotations of the template. */
#define JOB(labels, annotations, spec, topology)                                                   \
    "{\"metadata\":{\"labels\":{" labels "},\"annotations\":{" annotations "}},\"spec\":{" spec    \
    "\"template\":{\"metadata\":{\"annotations\":{" topology "}}}}}"
#define SUSPENDED "\"suspend\":true,"
#define RUNNING "\"suspend\":false,"
#define SIZE(p, c) "\"parallelism\":" p ",\"completions\":" c ","
#define INDEXED "\"completionMode\":\"Indexed\","
#define TOP "spec.template.metadata.annotations"

static const struct rule_case cases[] = {
    {JOB("", "", "", ""), NULL, "", NO_GATE},
    {JOB(QUEUE("q"), "", SIZE("3", "5"), ""), NULL, "", NO_GATE},
    /* names */
    {JOB(QUEUE("Q"), "", "", ""), NULL,
     "metadata.labels[" Q "queue-name]: Invalid value: \"Q\": " SUBDOMAIN, NO_GATE},
    {JOB(LABEL("prebuilt-workload-name", "W"), "", "", ""), NULL,
     "metadata.labels[" Q "prebuilt-workload-name]: Invalid value: \"W\": " SUBDOMAIN, NO_GATE},
    {JOB(LABEL("prebuilt-workload-name", "W"), LABEL("prebuilt-workload-name", "w"), "", ""), NULL,
     "", NO_GATE},
    {JOB(LABEL("prebuilt-workload-name", "w"), LABEL("prebuilt-workload-name", "W"), "", ""), NULL,
     "", SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS},
    {JOB("", LABEL("prebuilt-workload-name", "W"), "", ""), NULL,
     "metadata.annotations[" Q "prebuilt-workload-name]: Invalid value: \"W\": " SUBDOMAIN,
     NO_GATE},
    /* time */
    {JOB(LABEL("max-exec-time-seconds", "x"), "", "", ""), NULL,
     "metadata.labels[" Q "max-exec-time-seconds]: Invalid value: \"x\": strconv.Atoi: parsing "
     "\"x\": invalid syntax",
     NO_GATE},
    {JOB(LABEL("max-exec-time-seconds", "99999999999999999999"), "", "", ""), NULL,
     "metadata.labels[" Q "max-exec-time-seconds]: Invalid value: \"99999999999999999999\": "
     "strconv.Atoi: parsing \"99999999999999999999\": value out of range",
     NO_GATE},
    {JOB(LABEL("max-exec-time-seconds", "0"), "", "", ""), NULL,
     "metadata.labels[" Q "max-exec-time-seconds]: Invalid value: 0: should be greater than 0",
     NO_GATE},
    /* partial admission */
    {JOB("", LABEL("job-min-parallelism", "2"), SIZE("4", "6"), ""), NULL, "", NO_GATE},
    {JOB("", LABEL("job-min-parallelism", "4"), SIZE("4", "6"), ""), NULL,
     "metadata.annotations[" Q "job-min-parallelism]: Invalid value: 4: should be between 0 and 3",
     NO_GATE},
    {JOB("", LABEL("job-min-parallelism", "NaN"), SIZE("4", "6"), ""), NULL,
     "metadata.annotations[" Q "job-min-parallelism]: Invalid value: \"NaN\": strconv.Atoi: "
     "parsing \"NaN\": invalid syntax",
     NO_GATE},
    {JOB("", LABEL("job-min-parallelism", "2") "," LABEL("elastic-job", "true"), SIZE("4", "6"),
         ""),
     NULL,
     "metadata.annotations[" Q "job-min-parallelism]: Invalid value: \"2\": partial admission and "
     "elastic job cannot be used together",
     NO_GATE},
    {JOB("", LABEL("job-completions-equal-parallelism", "true"), INDEXED SIZE("4", "4"), ""), NULL,
     "", NO_GATE},
    {JOB("", LABEL("job-completions-equal-parallelism", "-"), INDEXED SIZE("4", "4"), ""), NULL,
     "metadata.annotations[" Q "job-completions-equal-parallelism]: Invalid value: \"-\": "
     "strconv.ParseBool: parsing \"-\": invalid syntax",
     NO_GATE},
    {JOB("", LABEL("job-completions-equal-parallelism", "true"), SIZE("4", "6"), ""), NULL,
     "[metadata.annotations[" Q "job-completions-equal-parallelism]: Invalid value: \"true\": "
     "should not be enabled for NonIndexed jobs, spec.completions: Invalid value: 6: should be "
     "equal to parallelism when " Q "job-completions-equal-parallelism is annotation is true]",
     NO_GATE},
    /* topology */
    {JOB("", "", SIZE("4", "4"), LABEL("podset-required-topology", "cloud.com/block")), NULL, "",
     NO_GATE},
    {JOB("", "", "",
         LABEL("podset-required-topology", "a/b") "," LABEL("podset-preferred-topology", "a/b")),
     NULL,
     TOP ": Invalid value: must not contain more than one topology annotation: [\"" Q
         "podset-required-topology\", \"" Q "podset-preferred-topology\", \"" Q
         "podset-unconstrained-topology\"]",
     NO_GATE},
    {JOB("", "", "", LABEL("podset-unconstrained-topology", "some")), NULL,
     TOP "[" Q "podset-unconstrained-topology]: Invalid value: \"some\": must be a boolean value",
     NO_GATE},
    {JOB("", "", "", LABEL("podset-unconstrained-topology", "some")), NULL, "",
     SL_G_TOPOLOGY_AWARE_SCHEDULING},
    {JOB("", "", SIZE("4", "4"),
         LABEL("podset-required-topology", "a/b") "," LABEL(
             "podset-slice-required-topology", "a/c") "," LABEL("podset-slice-size", "8")),
     NULL,
     TOP "[" Q "podset-slice-size]: Invalid value: \"8\": must not be greater than pod set count 4",
     NO_GATE},
    {JOB("", "", "", LABEL("podset-slice-size", "one")), NULL,
     "[" TOP "[" Q "podset-slice-size]: Invalid value: \"one\": must be a numeric value, " TOP "[" Q
     "podset-slice-size]: Forbidden: may not be set when '" Q
     "podset-slice-required-topology' is not specified]",
     NO_GATE},
    {JOB("", "", "", LABEL("podset-slice-required-topology", "a/c")), NULL,
     TOP "[" Q "podset-slice-size]: Required value: must be set when '" Q
         "podset-slice-required-topology' is specified",
     NO_GATE},
    {JOB("", "", "", LABEL("podset-group-name", "12")), NULL,
     "[" TOP "[" Q "podset-group-name]: Invalid value: \"12\": must not be a number, " TOP "[" Q
     "podset-group-name]: Forbidden: may not be set when neither '" Q
     "podset-preferred-topology' nor '" Q "podset-required-topology' is specified]",
     NO_GATE},
    {JOB("", "", SIZE("8", "8"),
         "\"" Q "podset-slice-required-topology-constraints\":"
         "\"[{\\\"topology\\\":\\\"a/b\\\",\\\"size\\\":4},{\\\"topology\\\":\\\"a/b\\\","
         "\\\"size\\\":3}]\""),
     NULL,
     "[" TOP "[" Q "podset-slice-required-topology-constraints][1].topology: Duplicate value: "
     "\"a/b (also at index 0)\", " TOP "[" Q
     "podset-slice-required-topology-constraints][1].size: Invalid value: 3: must evenly divide "
     "the parent layer size 4]",
     NO_GATE},
    {JOB("", LABEL("elastic-job", "true"), "", LABEL("podset-required-topology", "a/b")), NULL,
     TOP "." Q "podset-required-topology: Forbidden: required topology is not supported with "
         "elastic jobs",
     NO_GATE},
    /* updates */
    {JOB(QUEUE("b"), "", SUSPENDED, ""), JOB(QUEUE("a"), "", SUSPENDED, ""), "", NO_GATE},
    {JOB(QUEUE("b"), "", RUNNING, ""), JOB(QUEUE("a"), "", RUNNING, ""),
     "metadata.labels[" Q "queue-name]: Invalid value: \"b\": field is immutable", NO_GATE},
    {JOB(QUEUE("b"), LABEL("stopping", "true"), SUSPENDED, ""), JOB(QUEUE("a"), "", RUNNING, ""),
     "metadata.labels[" Q "queue-name]: Invalid value: \"b\": field is immutable", NO_GATE},
    {JOB("", "", SUSPENDED, ""), JOB(QUEUE("a"), "", SUSPENDED, ""),
     "metadata.labels[" Q "queue-name]: Invalid value: \"\": queue-name must not be empty in "
     "namespace with default queue",
     NO_GATE},
    {JOB(LABEL("prebuilt-workload-name", "b"), "", RUNNING, ""),
     JOB(LABEL("prebuilt-workload-name", "a"), "", RUNNING, ""),
     "metadata.labels[" Q "prebuilt-workload-name]: Invalid value: \"b\": field is immutable",
     NO_GATE},
    {JOB(LABEL("max-exec-time-seconds", "10"), "", SUSPENDED, ""),
     JOB(LABEL("max-exec-time-seconds", "20"), "", RUNNING, ""),
     "metadata.labels[" Q "max-exec-time-seconds]: Invalid value: \"10\": field is immutable",
     NO_GATE},
    {JOB(LABEL("priority-class", "p"), "", RUNNING, ""), JOB("", "", RUNNING, ""),
     "metadata.labels[" Q "priority-class]: Invalid value: \"p\": WorkloadPriorityClass cannot be "
     "added to a non-suspended workload",
     NO_GATE},
    {JOB(LABEL("priority-class", "p"), "", SUSPENDED, ""), JOB("", "", SUSPENDED, ""), "", NO_GATE},
    {JOB(LABEL("priority-class", "p"), "", RUNNING, ""),
     JOB(LABEL("priority-class", "o"), "", RUNNING, ""), "", NO_GATE},
    {JOB("", "", SUSPENDED, ""), JOB(LABEL("priority-class", "p"), "", SUSPENDED, ""),
     "metadata.labels[" Q "priority-class]: Invalid value: \"\": WorkloadPriorityClass cannot be "
     "removed from a workload",
     NO_GATE},
    {JOB("", LABEL("elastic-job", "true"), SUSPENDED, ""), JOB("", "", SUSPENDED, ""),
     "metadata.annotations[" Q "elastic-job]: Invalid value: true: field is immutable", NO_GATE},
    {JOB("", LABEL("job-min-parallelism", "2"), RUNNING SIZE("3", "6"), ""),
     JOB("", LABEL("job-min-parallelism", "2"), RUNNING SIZE("4", "6"), ""),
     "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job is "
     "not suspended",
     NO_GATE},
    {JOB("", LABEL("job-min-parallelism", "6"), SUSPENDED SIZE("4", "6"), ""),
     JOB("", LABEL("job-min-parallelism", "6"), SUSPENDED SIZE("7", "7"), ""), "", NO_GATE},
    {JOB("", LABEL("job-completions-equal-parallelism", "false"), RUNNING, ""),
     JOB("", LABEL("job-completions-equal-parallelism", "true"), RUNNING INDEXED, ""),
     "metadata.annotations[" Q "job-completions-equal-parallelism]: Forbidden: field is immutable "
     "while the job is not suspended",
     NO_GATE},
    {JOB("", LABEL("admission-gated-by", "a.io/x"), SUSPENDED, ""), JOB("", "", SUSPENDED, ""),
     "metadata.annotations[" Q "admission-gated-by]: Forbidden: cannot add admission gate after "
     "creation",
     NO_GATE},
};

static void test_rules(void **state) {
    (void)state;
    struct fixture f = {.kind = KIND, .cluster = {.default_queue = true}};
    check_rules(&f, adm_kind_validate, cases, SL_LEN(cases));
}

/* ---- defaults ---- */

#define OWNED(api, kind)                                                                           \
    "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind             \
    "\",\"name\":\"o\",\"uid\":\"u\",\"controller\":true}]},\"spec\":{\"suspend\":false}}"

static const struct {
    const char *object;
    struct cluster cluster;
    bool manage_all;
    enum sl_feature_gate flipped;
    const char *queue, *priority; /* wanted; NULL: none */
    bool suspended;
} defaults[] = {
    {JOB("", "", RUNNING, ""), {0}, false, NO_GATE, NULL, NULL, false},
    {JOB(QUEUE("q"), "", RUNNING, ""), {0}, false, NO_GATE, "q", NULL, true},
    {JOB("", "", RUNNING, ""), {.default_queue = true}, false, NO_GATE, "default", NULL, true},
    {JOB(QUEUE(""), "", RUNNING, ""),
     {.default_queue = true},
     false,
     NO_GATE,
     "default",
     NULL,
     true},
    {JOB("", "", "", ""), {.managed_ns = true}, true, NO_GATE, NULL, NULL, true},
    {JOB("", "", "", ""), {0}, true, NO_GATE, NULL, NULL, false},
    {JOB("", "", "", ""),
     {.default_class = true},
     false,
     SL_G_WORKLOAD_PRIORITY_CLASS_DEFAULTING,
     NULL,
     "default",
     false},
    {OWNED("batch/v1", "Job"), {.default_queue = true}, false, NO_GATE, NULL, NULL, false},
    {OWNED("jobset.x-k8s.io/v1alpha2", "JobSet"),
     {.default_queue = true},
     false,
     NO_GATE,
     "default",
     NULL,
     true},
    {OWNED("batch/v1", "Job"),
     {.managed_owner = true, .managed_ns = true},
     true,
     NO_GATE,
     NULL,
     NULL,
     false},
};

static const char *text_at(const struct fixture *f, const char *key) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(f->call.edit);
    return yyjson_mut_get_str(yyjson_mut_obj_get(
        yyjson_mut_obj_get(yyjson_mut_obj_get(root, "metadata"), "labels"), key));
}

static void same(const char *have, const char *wanted) {
    if (wanted)
        assert_string_equal(have ? have : "", wanted);
    else
        assert_true(!have || !*have);
}

static void test_defaults(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(defaults); i++) {
        struct fixture f = {.kind = KIND,
                            .cluster = defaults[i].cluster,
                            .settings.manage_without_queue = defaults[i].manage_all};
        begin(&f, defaults[i].object, NULL, defaults[i].flipped);
        assert_int_equal(adm_kind_mutate(&f.call), 0);
        (void)adm_call_edit(&f.call);
        same(text_at(&f, Q "queue-name"), defaults[i].queue);
        same(text_at(&f, Q "priority-class"), defaults[i].priority);
        yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(f.call.edit), "spec");
        assert_int_equal(yyjson_mut_get_bool(yyjson_mut_obj_get(spec, "suspend")),
                         defaults[i].suspended);
        end(&f);
    }
}

static void test_elastic_gate(void **state) {
    (void)state;
    struct fixture f = {.kind = KIND};
    begin(&f, JOB("", LABEL("elastic-job", "true"), SUSPENDED, ""), NULL, NO_GATE);
    assert_int_equal(adm_kind_mutate(&f.call), 0);
    char *text = yyjson_mut_write(f.call.edit, 0, NULL);
    assert_non_null(strstr(text, "\"schedulingGates\":[{\"name\":\"" Q "elastic-job\"}]"));
    free(text);
    end(&f);
}

static void test_nothing_to_change(void **state) {
    (void)state;
    struct fixture f = {.kind = KIND};
    begin(&f, JOB(QUEUE("q"), "", SUSPENDED, ""), NULL, NO_GATE);
    assert_int_equal(adm_kind_mutate(&f.call), 0);
    assert_null(f.call.edit); /* not even copied */
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_elastic_gate),
        cmocka_unit_test(test_nothing_to_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
