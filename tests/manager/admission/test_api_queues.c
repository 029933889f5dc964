/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused of ClusterQueues, Cohorts and ResourceFlavors, with Kueue's messages.
 */
#include "case.h"

#define CQ "/validate-kueue-x-k8s-io-v1beta2-clusterqueue"
#define COHORT "/validate-kueue-x-k8s-io-v1beta2-cohort"
#define FLAVOR "/validate-kueue-x-k8s-io-v1beta2-resourceflavor"

#define KEY_NAME                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"  \
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/* A queue whose one group has one flavor with one resource. */
#define QUOTA(top, rest)                                                                           \
    "{'spec':{" top "'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f',"        \
    "'resources':[{'name':'cpu'," rest "}]}]}]}}"
#define GROUP(resources, flavor) "{'coveredResources':[" resources "],'flavors':[" flavor "]}"
#define AT "spec.resourceGroups[0].flavors[0].resources[0]"

static void quotas_of_cluster_queues(void **state) {
    static const struct review_case cases[] = {
        {.name = "right", .object = QUOTA("", "'nominalQuota':'5'"), .message = ""},
        {.name = "a number", .object = QUOTA("", "'nominalQuota':5"), .message = ""},
        {.name = "beyond int64",
         .object = QUOTA("", "'nominalQuota':'1000000000Ti'"),
         .message = ""},
        {
            .name = "beyond int64, as a number",
            .object = QUOTA("", "'nominalQuota':18446744073709551615"),
            .message = "",
        },
        {.name = "no spec", .object = "{}", .message = ""},
        {
            .name = "negative",
            .object = QUOTA("'cohortName':'c',",
                            "'nominalQuota':'-1','borrowingLimit':'-2','lendingLimit':-3"),
            .message = "[" AT ".nominalQuota: Invalid value: \"-1\": must be greater than or equal "
                       "to 0, " AT ".borrowingLimit: Invalid value: \"-2\": must be greater than "
                       "or equal to 0, " AT ".lendingLimit: Invalid value: -3: must be greater "
                       "than or equal to 0]",
        },
        {
            .name = "limits without cohort",
            .object = QUOTA("", "'nominalQuota':'5','borrowingLimit':'1','lendingLimit':'2'"),
            .message = "[" AT ".borrowingLimit: Invalid value: \"1\": must be nil when cohort is "
                       "empty, " AT
                       ".lendingLimit: Invalid value: \"2\": must be nil when cohort is empty]",
        },
        {
            .name = "lends more than it has",
            .object = QUOTA("'cohortName':'c',", "'nominalQuota':'1','lendingLimit':'1001m'"),
            .message = AT ".lendingLimit: Invalid value: \"1001m\": must be less than or equal to "
                          "the nominalQuota",
        },
        {
            .name = "another order",
            .object = "{'spec':{'resourceGroups':[" GROUP(
                "'cpu','memory'", "{'name':'f','resources':[{'name':'memory','nominalQuota':1},"
                                  "{'name':'cpu','nominalQuota':1}]}") "]}}",
            .message = "[" AT ".name: Invalid value: \"memory\": must match the name in "
                       "coveredResources, spec.resourceGroups[0].flavors[0].resources[1].name: "
                       "Invalid value: \"cpu\": must match the name in coveredResources]",
        },
        {
            .name = "wrong and repeated names",
            .object = "{'spec':{'resourceGroups':[" GROUP("'@cpu'", "{'name':'f'}") "," GROUP(
                "'cpu','cpu'", "{'name':'g'},{'name':'f'}") "]}}",
            .message =
                "[spec.resourceGroups[0].coveredResources[0]: Invalid value: \"@cpu\": " KEY_NAME
                ", spec.resourceGroups[1].coveredResources[1]: Duplicate value: "
                "\"cpu\", spec.resourceGroups[1].flavors[1].name: Duplicate value: \"f\"]",
        },
    };

    (void)state;
    check_cases(CQ, cases, SL_LEN(cases));
}

static void policies_of_cluster_queues(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "selector",
            .object = "{'spec':{'namespaceSelector':{'matchLabels':{'-':'a b'},'matchExpressions':["
                      "{'key':'k','operator':'In'},{'key':'k','operator':'Exists','values':['v']},"
                      "{'key':'k','operator':'Like','values':['']},"
                      "{'operator':'NotIn','values':['a b']}]}}}",
            .message =
                "[spec.namespaceSelector.matchLabels: Invalid value: \"-\": " KEY_NAME
                ", spec.namespaceSelector.matchLabels: Invalid value: \"a b\": " LABEL_VALUE
                ", spec.namespaceSelector.matchExpressions[0].values: Required value: must be "
                "specified when `operator` is 'In' or 'NotIn'"
                ", spec.namespaceSelector.matchExpressions[1].values: Forbidden: may not be "
                "specified when `operator` is 'Exists' or 'DoesNotExist'"
                ", spec.namespaceSelector.matchExpressions[2].operator: Invalid value: \"Like\": "
                "not a valid selector operator"
                ", spec.namespaceSelector.matchExpressions[3].key: Invalid value: \"\": name part "
                "must be non-empty"
                ", spec.namespaceSelector.matchExpressions[3].key: Invalid value: \"\": " KEY_NAME
                ", spec.namespaceSelector.matchExpressions[3].values[0]: Invalid value: \"a "
                "b\": " LABEL_VALUE "]",
        },
        {
            .name = "preemption",
            .object = "{'spec':{'preemption':{'reclaimWithinCohort':'Never','borrowWithinCohort':"
                      "{'policy':'LowerPriority'}}}}",
            .message = "spec.preemption: Invalid value: {\"reclaimWithinCohort\":\"Never\","
                       "\"borrowWithinCohort\":{\"policy\":\"LowerPriority\"}}: "
                       "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
        },
        {
            .name = "preemption that is right",
            .object = "{'spec':{'preemption':{'reclaimWithinCohort':'Any','borrowWithinCohort':"
                      "{'policy':'LowerPriority'}}}}",
            .message = "",
        },
        {
            .name = "preference",
            .object = "{'spec':{'flavorFungibility':{'preference':'PreemptionOverBorrowing',"
                      "'whenCanBorrow':'MayStopSearch','whenCanPreempt':'TryNextFlavor'}}}",
            .message = "spec.flavorFungibility.preference: Invalid value: "
                       "\"PreemptionOverBorrowing\": preference \"PreemptionOverBorrowing\" "
                       "requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        },
        {
            .name = "negative weight",
            .object = "{'spec':{'fairSharing':{'weight':'-1'}}}",
            .message =
                "spec.fairSharing: Invalid value: \"-1\": must be greater than or equal to 0",
        },
        {
            .name = "weight next to nothing",
            .object = "{'spec':{'fairSharing':{'weight':'1n'}}}",
            .message =
                "spec.fairSharing: Invalid value: \"1n\": When not 0, weight must be > 10e-9",
        },
        {.name = "weight 0", .object = "{'spec':{'fairSharing':{'weight':0}}}", .message = ""},
        {.name = "weight 2n", .object = "{'spec':{'fairSharing':{'weight':'2n'}}}", .message = ""},
    };

    (void)state;
    check_cases(CQ, cases, SL_LEN(cases));
}

/* n names with a prefix: "'f0','f1'" ..., each between 'before' and 'after'. */
static void many(struct sl_buf *out, int n, char prefix, const char *before, const char *after) {
    for (int i = 0; i < n; i++)
        sl_buf_printf(out, "%s%s%c%d%s", i > 0 ? "," : "", before, prefix, i, after);
}

static void totals_of_cluster_queues(void **state) {
    struct sl_buf cq;
    struct answer a;

    (void)state;
    sl_buf_init(&cq, 1 << 20);
    /* 5 groups of 60 flavors and 60 resources, the first with 10 quotas per flavor. */
    sl_buf_puts(&cq, "{'spec':{'resourceGroups':[");
    for (int g = 0; g < 5; g++) {
        sl_buf_printf(&cq, "%s{'coveredResources':[", g > 0 ? "," : "");
        many(&cq, 60, (char)('r' + g), "'", "'");
        sl_buf_puts(&cq, "],'flavors':[");
        many(&cq, 60, (char)('a' + g), "{'name':'",
             g == 0 ? "','resources':[{'name':'r0'},{'name':'r1'},{'name':'r2'},{'name':'r3'},"
                      "{'name':'r4'},{'name':'r5'},{'name':'r6'},{'name':'r7'},{'name':'r8'},"
                      "{'name':'r9'}]}"
                    : "'}");
        sl_buf_puts(&cq, "]}");
    }
    sl_buf_puts(&cq, "]}}");
    review_object(CQ, sl_buf_str(&cq), NULL, NULL, false, &a);
    assert_string_equal(a.message,
                        "[spec.resourceGroups: Invalid value: 300: total number of flavors across "
                        "all resourceGroups must be ≤ 256, got 300, spec.resourceGroups: Invalid "
                        "value: 300: total number of covered resources across all resourceGroups "
                        "must be ≤ 256, got 300, spec.resourceGroups[0]: Invalid value: 600: "
                        "number of flavor-resource combinations in a resourceGroup must be ≤ 512, "
                        "got 600]");
    answer_done(&a);

    /* More than any schema lets through. */
    sl_buf_clear(&cq);
    sl_buf_puts(&cq, "{'spec':{'resourceGroups':[");
    many(&cq, 17, 'x', "{'", "':1}");
    sl_buf_puts(&cq, "]}}");
    review_object(CQ, sl_buf_str(&cq), NULL, NULL, false, &a);
    assert_string_equal(a.message, "spec.resourceGroups: Too many: 17: must have at most 16 items");
    answer_done(&a);
    sl_buf_done(&cq);
}

#define FLAVORS_FG "'resourceGroups':[{'flavors':[{'name':'f'},{'name':'g'}]}]"
#define FLAVORS_F "'resourceGroups':[{'flavors':[{'name':'f'}]}]"
#define CHECKS(groups, on)                                                                         \
    "{'spec':{" groups ",'admissionChecksStrategy':{'admissionChecks':[{'name':'a'},{'name':'b',"  \
    "'onFlavors':[" on "]}]}}}"
#define NO_SUCH_FLAVOR                                                                             \
    "spec.admissionChecksStrategy.admissionChecks[1].onFlavors[1]: Unsupported value: \"x\": "     \
    "supported values: \"f\", \"g\""

static void checks_name_flavors_of_the_queue(void **state) {
    static const struct review_case cases[] = {
        {.name = "known", .object = CHECKS(FLAVORS_FG, "'g','f'"), .message = ""},
        {.name = "unknown", .object = CHECKS(FLAVORS_FG, "'f','x'"), .message = NO_SUCH_FLAVOR},
        {
            .name = "was wrong before",
            .object = CHECKS(FLAVORS_FG, "'f','x'"),
            .old = CHECKS(FLAVORS_FG, "'x','f','f'"),
            .message = "",
        },
        {
            .name = "was wrong in another way",
            .object = CHECKS(FLAVORS_FG, "'f','x'"),
            .old = CHECKS(FLAVORS_FG, "'x'"),
            .message = NO_SUCH_FLAVOR,
        },
        {
            .name = "had other flavors",
            .object = CHECKS(FLAVORS_FG, "'f','x'"),
            .old = CHECKS(FLAVORS_F, "'f','x'"),
            .message = NO_SUCH_FLAVOR,
        },
        {
            .name = "strict",
            .object = CHECKS(FLAVORS_FG, "'f','x'"),
            .old = CHECKS(FLAVORS_FG, "'f','x'"),
            .message = NO_SUCH_FLAVOR,
            .gate = "RejectUpdatesToCQWithInvalidOnFlavors",
            .on = true,
        },
    };

    (void)state;
    check_cases(CQ, cases, SL_LEN(cases));
}

#define CONCURRENT(groups, migration)                                                              \
    "{'spec':{'queueingStrategy':'StrictFIFO'," groups                                             \
    ",'concurrentAdmissionPolicy':{'migration':" migration "}}}"

static void concurrent_admission(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "without the gate",
            .object = CONCURRENT("'resourceGroups':[]", "{'mode':'RetainFirstAdmission'}"),
            .message = "",
        },
        {
            .name = "set on update",
            .object = CONCURRENT(FLAVORS_F, "{'mode':'RetainFirstAdmission'}"),
            .old = "{'spec':{}}",
            .message = "spec.concurrentAdmissionPolicy: Invalid value: {\"migration\":{\"mode\":"
                       "\"RetainFirstAdmission\"}}: field is immutable",
        },
        {
            .name = "removed",
            .object = "{'spec':{}}",
            .old = CONCURRENT(FLAVORS_F, "{'mode':'RetainFirstAdmission'}"),
            .message = "spec.concurrentAdmissionPolicy: Invalid value: null: field is immutable",
        },
        {
            .name = "limits of the other mode",
            .object = CONCURRENT("'resourceGroups':[]",
                                 "{'mode':'RetainFirstAdmission','constraints':{}}"),
            .message = "[spec.resourceGroups: Invalid value: 0: must have exactly one "
                       "ResourceGroup when ConcurrentAdmissionPolicy is defined, "
                       "spec.concurrentAdmissionPolicy.migration.constraints: Forbidden: may only "
                       "be set when migration.mode is \"TryPreferredFlavors\" (got "
                       "\"RetainFirstAdmission\"), spec.queueingStrategy: Invalid value: "
                       "\"StrictFIFO\": StrictFIFO queueing strategy cannot be used when "
                       "ConcurrentAdmissionPolicy is defined]",
            .gate = "ConcurrentAdmission",
            .on = true,
        },
        {
            .name = "a flavor of the queue",
            .object = "{'spec':{" FLAVORS_FG
                      ",'concurrentAdmissionPolicy':{'migration':{'mode':'TryPreferredFlavors',"
                      "'constraints':{'lastAcceptableFlavorName':'g'}}}}}",
            .message = "",
            .gate = "ConcurrentAdmission",
            .on = true,
        },
        {
            .name = "unknown flavor",
            .object = "{'spec':{" FLAVORS_FG
                      ",'concurrentAdmissionPolicy':{'migration':{'mode':'TryPreferredFlavors',"
                      "'constraints':{'lastAcceptableFlavorName':'x'}}}}}",
            .message = "spec.concurrentAdmissionPolicy.migration.constraints."
                       "lastAcceptableFlavorName: Invalid value: \"x\": must be one of the flavors "
                       "defined in the ClusterQueue: [f g]",
            .gate = "ConcurrentAdmission",
            .on = true,
        },
    };

    (void)state;
    check_cases(CQ, cases, SL_LEN(cases));
}

static void cohorts(void **state) {
    static const struct review_case cases[] = {
        {.name = "no spec", .object = "{}", .message = ""},
        {
            .name = "lends more than it has",
            .object = QUOTA("'parentName':'p',", "'nominalQuota':'1','lendingLimit':'2'"),
            .message = "",
        },
        {
            .name = "weight comes first; limits without parent",
            .object = QUOTA("'fairSharing':{'weight':'-1'},",
                            "'nominalQuota':'1','borrowingLimit':'1','lendingLimit':'2'"),
            .message = "[spec.fairSharing: Invalid value: \"-1\": must be greater than or equal to "
                       "0, " AT ".borrowingLimit: Invalid value: \"1\": must be nil when parent is "
                       "empty, " AT
                       ".lendingLimit: Invalid value: \"2\": must be nil when parent is empty]",
        },
    };

    (void)state;
    check_cases(COHORT, cases, SL_LEN(cases));
}

static void flavors(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "right",
            .object = "{'spec':{'nodeLabels':{'a/b':'c'},'nodeTaints':[{'key':'k','value':'v',"
                      "'effect':'NoSchedule'},{'key':'k','effect':'NoExecute'}],"
                      "'tolerations':[{'operator':'Exists'},{'key':'pool.vk.io','value':'p'}]}}",
            .message = "",
        },
        {
            .name = "labels",
            .object = "{'spec':{'nodeLabels':{'@':'b d'}}}",
            .message = "[spec.nodeLabels: Invalid value: \"@\": " KEY_NAME
                       ", spec.nodeLabels: Invalid value: \"b d\": " LABEL_VALUE "]",
        },
        {
            .name = "taints",
            .object = "{'spec':{'nodeTaints':[{'key':'k','effect':'e'},{'key':'@','value':'a b',"
                      "'effect':'e'},{'key':'k','effect':'e'}]}}",
            .message = "[spec.nodeTaints[1].key: Invalid value: \"@\": " KEY_NAME
                       ", spec.nodeTaints[1].value: Invalid value: \"a b\": " LABEL_VALUE
                       ", spec.nodeTaints[2]: Duplicate value: {\"key\":\"k\",\"effect\":\"e\"}: "
                       "taints must be unique by key and effect pair]",
        },
        {
            .name = "tolerations",
            .object = "{'spec':{'tolerations':[{'key':'@'}]}}",
            .message = "spec.tolerations[0].key: Invalid value: \"@\": " KEY_NAME,
        },
    };

    (void)state;
    check_cases(FLAVOR, cases, SL_LEN(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_of_cluster_queues),
        cmocka_unit_test(policies_of_cluster_queues),
        cmocka_unit_test(totals_of_cluster_queues),
        cmocka_unit_test(checks_name_flavors_of_the_queue),
        cmocka_unit_test(concurrent_admission),
        cmocka_unit_test(cohorts),
        cmocka_unit_test(flavors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
