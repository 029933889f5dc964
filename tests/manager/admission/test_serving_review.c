/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of Deployments, StatefulSets and LeaderWorkerSets. */
#include "review_fixture.h"

#define AT_LABEL(k) "metadata.labels[" Q k "]: "
#define AT_NOTE(k) "metadata.annotations[" Q k "]: "
#define FROZEN "field is immutable"
#define READY(n) "\"readyReplicas\":" n
#define CPU(n)                                                                                     \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"" n    \
    "\"}}}]"

/* An object by its parts: labels, annotations, more of the spec, annotations and spec of the
 * template, status. */
#define SET(labels, annotations, spec, notes, pod, status)                                         \
    "{\"metadata\":{\"name\":\"s\",\"uid\":\"u\",\"labels\":{" labels                              \
    "},\"annotations\":{" annotations "}},\"spec\":{" spec                                         \
    "\"template\":{\"metadata\":{\"annotations\":{" notes "}},\"spec\":{" pod                      \
    "}}},\"status\":{" status "}}"
#define PLAIN(labels, status) SET(labels, "", "", "", CPU("1"), status)

/* ---- rules that all share ---- */

#define COMMON(gvk)                                                                                \
    {PLAIN("", ""), NULL, "", NO_GATE}, {PLAIN(QUEUE("q"), ""), NULL, "", NO_GATE},                \
        {PLAIN(QUEUE("Q"), ""), NULL, AT_LABEL("queue-name") "Invalid value: \"Q\": " SUBDOMAIN,   \
         NO_GATE},                                                                                 \
        {SET("", LABEL("elastic-job", "true"), "", "", "", ""), NULL,                              \
         AT_NOTE("elastic-job") "Forbidden: elastic job is not supported for \"" gvk "\"",         \
         NO_GATE},                                                                                 \
        {SET("", LABEL("admission-gated-by", ","), "", "", "", ""), NULL,                          \
         AT_NOTE("admission-gated-by") "Invalid value: \",\": cannot contain empty gate names",    \
         NO_GATE},                                                                                 \
        {SET(QUEUE("q"), LABEL("admission-gated-by", "a.io/x"), "", "", CPU("1"), ""),             \
         PLAIN(QUEUE("q"), ""),                                                                    \
         AT_NOTE("admission-gated-by") "Forbidden: cannot add admission gate after creation",      \
         NO_GATE},                                                                                 \
        {PLAIN(QUEUE("b"), ""), PLAIN(QUEUE("a"), READY("0")), "", NO_GATE},                       \
        {PLAIN(QUEUE("b"), ""), PLAIN("", READY("0")), "", NO_GATE},                               \
        {PLAIN(QUEUE("B"), ""), PLAIN(QUEUE("a"), ""),                                             \
         AT_LABEL("queue-name") "Invalid value: \"B\": " SUBDOMAIN, NO_GATE},                      \
        {PLAIN(QUEUE("b"), ""), PLAIN(QUEUE("a"), READY("1")),                                     \
         AT_LABEL("queue-name") "Invalid value: \"b\": " FROZEN, NO_GATE},                         \
        {PLAIN("", ""), PLAIN(QUEUE("a"), READY("0")),                                             \
         AT_LABEL("queue-name") "Invalid value: \"\": " FROZEN, NO_GATE},                          \
        {PLAIN(LABEL("priority-class", "p"), ""), PLAIN("", READY("1")),                           \
         AT_LABEL("priority-class") "Invalid value: \"p\": WorkloadPriorityClass cannot be added " \
                                    "to a non-suspended workload",                                 \
         NO_GATE},                                                                                 \
        {PLAIN("", ""), PLAIN(LABEL("priority-class", "p"), ""),                                   \
         AT_LABEL("priority-class") "Invalid value: \"\": WorkloadPriorityClass cannot be "        \
                                    "removed from a workload",                                     \
         NO_GATE}, /* annotations that other jobs may not have are allowed and ignored here */     \
    {                                                                                              \
        PLAIN(LABEL("max-exec-time-seconds", "x"), ""), NULL, "", NO_GATE                          \
    }

/* ---- Deployment ---- */

static void test_deployment_rules(void **state) {
    (void)state;
    static const struct rule_case cases[] = {
        COMMON("apps/v1, Kind=Deployment"),
        {SET(QUEUE("q"), "", "\"replicas\":5,", "", CPU("2"), ""),
         SET(QUEUE("q"), "", "\"replicas\":1,", "", CPU("1"), READY("1")), "", NO_GATE},
    };
    struct fixture f = {0};
    check_rules(&f, sl_review_deployment_validate, cases, SL_LEN(cases));
}

/* ---- StatefulSet ---- */

#define MINE LABEL("pod-suspending-parent", "statefulset")
#define OTHERS LABEL("pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset")
#define SIZED(n, status) SET(QUEUE("q"), "", "\"replicas\":" n ",", MINE, CPU("1"), status)
#define SHAPED(pod) SET(QUEUE("q"), "", "", MINE, pod, "")
#define POD_SPEC "spec.template.spec."

static const struct rule_case set_cases[] = {
    COMMON("apps/v1, Kind=StatefulSet"),
    /* of another owner */
    {SET(QUEUE("Q"), "", "", OTHERS, "", ""), NULL, "", NO_GATE},
    {SET("", "", "\"replicas\":2,", OTHERS, "", ""),
     SET(QUEUE("q"), "", "\"replicas\":1,", OTHERS, "", READY("1")), "", NO_GATE},
    /* any size, at any time */
    {SIZED("3", ""), SIZED("2", READY("2")), "", NO_GATE},
    {SIZED("3", ""), SHAPED(CPU("1")), "", NO_GATE},
    {SIZED("0", ""), SIZED("2", READY("2")), "", NO_GATE},
    {SIZED("3", "\"replicas\":1"), SIZED("0", ""), "", NO_GATE},
    {SET("", "", "\"replicas\":3,", "", CPU("1"), ""), SET("", "", "\"replicas\":2,", "", "", ""),
     "", NO_GATE}, /* not queued */
    /* the shape of its pods */
    {SHAPED(CPU("1") ",\"terminationGracePeriodSeconds\":7"), SHAPED(CPU("1000m")), "", NO_GATE},
    {SHAPED(CPU("2")), SHAPED(CPU("1")),
     POD_SPEC "containers[0].resources.requests: Invalid value: {\"cpu\":\"2\"}: " FROZEN, NO_GATE},
    {SHAPED("\"containers\":[{\"image\":\"j\"}]"), SHAPED("\"containers\":[{\"image\":\"i\"}]"), "",
     NO_GATE},
    {SHAPED("\"containers\":[{},{\"ports\":[{\"containerPort\":80}]}]"),
     SHAPED("\"containers\":[{},{}]"),
     POD_SPEC "containers[1].ports: Invalid value: [{\"containerPort\":80}]: " FROZEN, NO_GATE},
    {SHAPED("\"containers\":[{},{}]"), SHAPED("\"containers\":[{}]"),
     POD_SPEC "containers: Invalid value: [{\"ports\":null,\"resources\":{\"requests\":null}},"
              "{\"ports\":null,\"resources\":{\"requests\":null}}]: " FROZEN,
     NO_GATE},
    {SHAPED("\"nodeSelector\":{\"a\":\"b\"},\"priority\":5"), SHAPED(""),
     "[" POD_SPEC "nodeSelector: Invalid value: {\"a\":\"b\"}: " FROZEN ", " POD_SPEC
     "priority: Invalid value: 5: " FROZEN "]",
     NO_GATE},
    {SHAPED("\"tolerations\":[],\"nodeSelector\":{}"), SHAPED(""), "", NO_GATE},
    {SHAPED(""), SHAPED("\"resources\":{\"requests\":{\"cpu\":\"1\"}}"),
     POD_SPEC "resources: Invalid value: null: " FROZEN, NO_GATE},
};

static void test_set_rules(void **state) {
    (void)state;
    struct fixture f = {0};
    check_rules(&f, sl_review_statefulset_validate, set_cases, SL_LEN(set_cases));
}

/* ---- LeaderWorkerSet ---- */

/* Annotations and spec of the leader's template, and of the workers'. */
#define LWS(labels, spec, leader, worker)                                                          \
    "{\"metadata\":{\"labels\":{" labels "}},\"spec\":{" spec "\"leaderWorkerTemplate\":{" leader  \
    "\"workerTemplate\":{" worker "}}}}"
#define LEADER(notes, pod)                                                                         \
    "\"leaderTemplate\":{\"metadata\":{\"annotations\":{" notes "}},\"spec\":{" pod "}},"
#define WORKER(notes, pod) "\"metadata\":{\"annotations\":{" notes "}},\"spec\":{" pod "}"
#define SIZE(n) "\"size\":" n ","
#define AT_LEADER "spec.leaderWorkerTemplate.leaderTemplate."
#define AT_WORKER "spec.leaderWorkerTemplate.workerTemplate."
#define TOGETHER(group, level)                                                                     \
    LABEL("podset-group-name", group) "," LABEL("podset-required-topology", level)
#define SLICES(n) LABEL("podset-slice-required-topology", "a/b") "," LABEL("podset-slice-size", n)
#define PLACED(where, group)                                                                       \
    "must specify '" Q "podset-required-topology' or '" Q                                          \
    "podset-preferred-topology' topology consistent with '" where                                  \
    "metadata.annotations' in group '" group "'"

static const struct rule_case lws_cases[] = {
    COMMON("leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"),
    {LWS("", "\"replicas\":1000000,", "", ""), NULL, "", NO_GATE},
    {LWS("", "\"replicas\":1000001,", "", ""), NULL,
     "spec.replicas: Invalid value: 1000001: invalid LeaderWorkerSet replicas: must be <= "
     "1000000, got 1000001",
     NO_GATE},
    {LWS("", "\"replicas\":-1,", "", ""), NULL,
     "spec.replicas: Invalid value: -1: invalid LeaderWorkerSet replicas: must be >= 0, got -1",
     NO_GATE},
    /* topology */
    {LWS("", "", SIZE("3") LEADER(TOGETHER("g", "a/b"), ""), WORKER(TOGETHER("g", "a/b"), "")),
     NULL, "", NO_GATE},
    {LWS("", "", LEADER("", ""), WORKER(TOGETHER("g", "a/b"), "")), NULL,
     AT_WORKER "metadata.annotations[" Q "podset-group-name]: Invalid value: \"g\": can only "
               "define groups of exactly 2 pod sets, got: 1 pod set(s)",
     NO_GATE},
    {LWS("", "", LEADER(TOGETHER("g", "a/b"), ""), WORKER(TOGETHER("g", "a/c"), "")), NULL,
     "[" AT_LEADER "metadata.annotations: Invalid value: " PLACED(
         AT_WORKER, "g") ", " AT_WORKER "metadata."
                         "annotations: "
                         "Invalid "
                         "value: " PLACED(AT_LEADER, "g") "]",
     NO_GATE},
    {LWS("", "", SIZE("4") LEADER("", ""), WORKER(SLICES("4"), "")), NULL,
     AT_WORKER "metadata.annotations[" Q
               "podset-slice-size]: Invalid value: \"4\": must not be greater than pod set count 3",
     NO_GATE},
    {LWS("", "", SIZE("4"), WORKER(SLICES("4"), "")), NULL, "", NO_GATE},
    {LWS("", "", LEADER(LABEL("podset-unconstrained-topology", "x"), ""), ""), NULL,
     AT_LEADER "metadata.annotations[" Q
               "podset-unconstrained-topology]: Invalid value: \"x\": must be a boolean value",
     NO_GATE},
    {LWS("", "", LEADER(LABEL("podset-unconstrained-topology", "x"), ""), ""), NULL, "",
     SL_G_TOPOLOGY_AWARE_SCHEDULING},
    /* the shape of its pods */
    {LWS(QUEUE("q"), "", LEADER("", CPU("1")), WORKER("", CPU("2"))),
     LWS(QUEUE("q"), "", LEADER("", CPU("3")), WORKER("", CPU("4"))),
     "[" AT_LEADER "spec.containers[0].resources.requests: Invalid value: {\"cpu\":\"1\"}: " FROZEN
     ", " AT_WORKER "spec.containers[0].resources.requests: Invalid value: {\"cpu\":\"2\"}: " FROZEN
     "]",
     NO_GATE},
    {LWS(QUEUE("q"), "", "", ""), LWS(QUEUE("q"), "", LEADER("", CPU("3")), ""),
     "spec.leaderWorkerTemplate.leaderTemplate: Invalid value: null: " FROZEN, NO_GATE},
};

static void test_lws_rules(void **state) {
    (void)state;
    struct fixture f = {0};
    check_rules(&f, sl_review_leaderworkerset_validate, lws_cases, SL_LEN(lws_cases));
}

/* ---- what becomes of them ---- */

#define META(labels) "{\"metadata\":{\"labels\":{" labels "}},\"spec\":{"
#define LWS_NOTES                                                                                  \
    LABEL("pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset")                     \
    "," LABEL("pod-group-serving", "true")

static const struct edit {
    sl_review_fn fn;
    const char *name, *object;
    struct cluster cluster;
    const char *wanted; /* NULL: as it was */
} edits[] = {
    {sl_review_deployment_mutate, "deployment", META("") "}}", {0}, NULL},
    {sl_review_deployment_mutate,
     "deployment",
     META(QUEUE("q") "," LABEL("priority-class", "p")) "\"template\":{}}}",
     {0},
     META(QUEUE("q") "," LABEL(
         "priority-class",
         "p")) "\"template\":{\"metadata\":{"
               "\"annotations\":{" LABEL(
                   "pod-suspending-parent",
                   "deployment") "},\"labels\":{" LABEL("managed",
                                                        "true") "," QUEUE("q") "," LABEL("priority-"
                                                                                         "class",
                                                                                         "p") "}}}}"
                                                                                              "}"},
    {sl_review_deployment_mutate,
     "deployment, default queue",
     "{\"spec\":{\"template\":{}}}",
     {.default_queue = true},
     "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{" LABEL(
         "pod-suspending-parent",
         "deployment") "},\"labels\":{" LABEL("managed",
                                              "true") "," QUEUE("default") "}}}},"
                                                                           "\"metadata\":{"
                                                                           "\"labels\":{" QUEUE(
                                                                               "default") "}}}"},
    {sl_review_statefulset_mutate, "set", META("") "}}", {0}, NULL},
    {sl_review_statefulset_mutate,
     "set",
     META(QUEUE("q")) "\"template\":{}}}",
     {0},
     META(QUEUE("q")) "\"template\":{\"metadata\":{\"annotations\":{" MINE "}}}}}"},
    {sl_review_statefulset_mutate,
     "set of others",
     SET(QUEUE("q"), "", "", OTHERS, "", ""),
     {.default_queue = true},
     NULL},
    {sl_review_leaderworkerset_mutate, "lws", LWS("", "", "", ""), {0}, NULL},
    {sl_review_leaderworkerset_mutate,
     "lws without a leader",
     LWS(QUEUE("q"), "", "", ""),
     {0},
     LWS(QUEUE("q"), "", "",
         "\"metadata\":{\"annotations\":{" LWS_NOTES "},\"labels\":{" QUEUE("q") "}}")},
    {sl_review_leaderworkerset_mutate,
     "lws",
     LWS(QUEUE("q"), "", "\"leaderTemplate\":{},", ""),
     {0},
     LWS(QUEUE("q"), "",
         "\"leaderTemplate\":{\"metadata\":{\"annotations\":{" LWS_NOTES
         "},\"labels\":{" QUEUE("q") "}}},",
         "\"metadata\":{\"annotations\":{" LWS_NOTES
         "," LABEL("pod-index-offset", "1") "},\"labels\":{" QUEUE("q") "}}")},
};

static void test_edits(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(edits); i++)
        for (int update = 0; update < 2; update++) {
            const struct edit *e = &edits[i];
            struct fixture f = {.cluster = e->cluster};
            begin(&f, e->object, update ? e->object : NULL, NO_GATE);
            assert_int_equal(e->fn(&f.call), 0);
            char *text = edited(&f);
            yyjson_doc *have = text ? yyjson_read(text, strlen(text), 0) : NULL;
            yyjson_doc *wanted = e->wanted ? yyjson_read(e->wanted, strlen(e->wanted), 0) : NULL;
            assert_int_equal(wanted != NULL, e->wanted != NULL);
            if (!have != !wanted ||
                (have && !yyjson_equals(yyjson_doc_get_root(have), yyjson_doc_get_root(wanted))))
                fail_msg("%s (case %zu): %s\nwanted: %s", e->name, i, text ? text : "as it was",
                         e->wanted ? e->wanted : "as it was");
            yyjson_doc_free(have);
            yyjson_doc_free(wanted);
            free(text);
            end(&f);
        }
}

/* Where unlabelled ones are managed too, a Deployment has no queue to pass on. */
static void test_unlabelled(void **state) {
    (void)state;
    for (int chosen = 0; chosen < 2; chosen++) {
        struct fixture f = {.cluster = {.managed_ns = chosen},
                            .settings.manage_without_queue = true};
        begin(&f, "{\"spec\":{\"template\":{}}}", NULL, NO_GATE);
        assert_int_equal(sl_review_deployment_mutate(&f.call), 0);
        char *text = edited(&f);
        if (chosen)
            assert_string_equal(
                text, "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{" LABEL(
                          "pod-suspending-parent",
                          "deployment") "},\"labels\":{" LABEL("managed", "true") "}}}}}");
        else
            assert_null(text);
        free(text);
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deployment_rules), cmocka_unit_test(test_set_rules),
        cmocka_unit_test(test_lws_rules),        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_unlabelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
