/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused of Workloads, with Kueue's messages: of the object by itself, and of changes.
 */
#include "case.h"

#define WL "/validate-kueue-x-k8s-io-v1beta2-workload"

#define TIME "'lastTransitionTime':'2026-01-01T00:00:00Z'"
#define RESERVED                                                                                   \
    "'conditions':[{'type':'QuotaReserved','status':'True','reason':'R','message':''," TIME "}]"
#define SETS "'podSets':[{'name':'a','count':3},{'name':'b','count':5}]"
#define STATUS(status) "{'spec':{" SETS "},'status':{" status "}}"
#define ELASTIC(spec, status)                                                                      \
    "{'metadata':{'annotations':{'kueue.x-k8s.io/elastic-job':'true'}},'spec':{" spec              \
    "},'status':{" status "}}"
#define KEY_NAME                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"  \
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static void podsets(void **state) {
    static const struct review_case cases[] = {
        {.name = "right", .object = STATUS(""), .message = ""},
        {.name = "nothing", .object = "{}", .message = ""},
        {
            .name = "requests pods",
            .object = "{'spec':{'podSets':[{},{'template':{'spec':{'initContainers':[{'resources':"
                      "{'requests':{'pods':'1'}}}],'containers':[{'resources':{'limits':{'pods':1}"
                      "}},{'resources':{'requests':{'cpu':1,'pods':1}}}]}}}]}}",
            .message = "[spec.podSets[1].template.spec.initContainers[0].resources.requests[pods]: "
                       "Invalid value: \"pods\": the key is reserved for internal kueue use, "
                       "spec.podSets[1].template.spec.containers[1].resources.requests[pods]: "
                       "Invalid value: \"pods\": the key is reserved for internal kueue use]",
        },
        {
            .name = "several flexible ones",
            .object = "{'spec':{'podSets':[{'minCount':1},{},{'minCount':1}]}}",
            .message = "spec.podSets: Invalid value: 2: at most one podSet can use minCount",
        },
        {
            .name = "flexible and elastic",
            .object = ELASTIC("'podSets':[{'minCount':1}]", ""),
            .message = "spec.podSets: Invalid value: 1: partial admission and elastic job cannot "
                       "be used together",
        },
        {
            .name = "flexible and elastic, without the gate",
            .object = ELASTIC("'podSets':[{'minCount':1}]", ""),
            .message = "",
            .gate = "ElasticJobsViaWorkloadSlices",
        },
        {
            .name = "more than any schema lets through",
            .object = "{'spec':{'podSets':[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9]}}",
            .message = "spec.podSets: Too many: 19: must have at most 18 items",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

static void negative_sub_group_counts_are_warned_about(void **state) {
    struct answer a;

    (void)state;
    review_object(WL, "{'spec':{'podSets':[{},{'topologyRequest':{'subGroupCount':-2}}]}}", NULL,
                  NULL, false, &a);
    assert_true(a.allowed);
    assert_string_equal(sl_json_text(yyjson_arr_get_first(sl_json_get(a.response, "warnings"))),
                        "spec.podSets[1].topologyRequest.subGroupCount: negative value -2 is "
                        "deprecated and will be rejected in a future release");
    answer_done(&a);
}

static void admission(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "right",
            .object = STATUS(RESERVED ",'admission':{'podSetAssignments':[{'name':'a','count':3,"
                                      "'resourceUsage':{'cpu':'3','memory':'3Gi'}}]}"),
            .message = "",
        },
        {
            .name = "not reserved",
            .object = STATUS("'admission':{'podSetAssignments':[{'name':'x'}]}"),
            .message = "",
        },
        {
            .name = "reserved without admission",
            .object = STATUS(RESERVED),
            .message = "status.admission: Required value: must be set while QuotaReserved is True",
        },
        {
            .name = "unknown podset, uneven usage",
            .object = STATUS(
                RESERVED ",'admission':{'podSetAssignments':[{'name':'x'},{'name':'b','count':3,"
                         "'resourceUsage':{'cpu':'1','gpu':4,'memory':'9'}}]}"),
            .message = "[status.admission.podSetAssignments[0].name: Not found: \"x\", "
                       "status.admission.podSetAssignments[1].resourceUsage[cpu]: Invalid value: "
                       "\"1\": is not a multiple of 3, "
                       "status.admission.podSetAssignments[1].resourceUsage[gpu]: Invalid value: "
                       "4: is not a multiple of 3]",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

static void conditions(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "wrong in every way",
            .object = STATUS("'conditions':[{'type':'T','status':'True','reason':'R'," TIME "},"
                             "{'type':'T','status':'Yes','reason':'1','observedGeneration':-1},"
                             "{'status':'False'," TIME "}]"),
            .message =
                "[status.conditions[1].type: Duplicate value: \"T\", status.conditions[1].status: "
                "Unsupported value: \"Yes\": supported values: \"False\", \"True\", \"Unknown\", "
                "status.conditions[1].observedGeneration: Invalid value: -1: must be greater than "
                "or equal to zero, status.conditions[1].lastTransitionTime: Required value, "
                "status.conditions[1].reason: Invalid value: \"1\": a condition reason must start "
                "with alphabetic character, optionally followed by a string of alphanumeric "
                "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
                "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
                "'ReasonA:ReasonB', regex used for validation is "
                "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'), status.conditions[2].type: Invalid "
                "value: \"\": name part must be non-empty, status.conditions[2].type: Invalid "
                "value: \"\": " KEY_NAME ", status.conditions[2].reason: Required value]",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

static void reports_of_controllers(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "reclaimable pods",
            .object = STATUS("'reclaimablePods':[{'name':'a','count':3},{'name':'b','count':6},"
                             "{'name':'c','count':1}]"),
            .message = "[status.reclaimablePods[b].count: Invalid value: 6: should be less or "
                       "equal to 5, status.reclaimablePods[c].name: Unsupported value: \"c\": "
                       "supported values: \"a\", \"b\"]",
        },
        {
            .name = "left over from before it shrank",
            .object = ELASTIC(SETS, "'reclaimablePods':[{'name':'b','count':6}]"),
            .old = ELASTIC(SETS, "'reclaimablePods':[{'name':'b','count':6}]"),
            .message = "",
        },
        {
            .name = "too many still",
            .object = ELASTIC(SETS, "'reclaimablePods':[{'name':'b','count':6}]"),
            .old = ELASTIC(SETS, "'reclaimablePods':[{'name':'b','count':7}]"),
            .message = "status.reclaimablePods[b].count: Invalid value: 6: should be less or equal "
                       "to 5",
        },
        {
            .name = "updates of podsets",
            .object = "{'spec':{'podSets':[{'name':'z'},{'name':'a'}]},'status':{'admissionChecks':"
                      "[{'name':'c','podSetUpdates':[{'name':'a','annotations':{'Ex.io/a':'any!'}},"
                      "{'name':'m','tolerations':[{'key':''},{'key':'@'}],'annotations':{'@':''},"
                      "'nodeSelector':{'@':''},'labels':{'a':'b c'}}]}]}}",
            .message =
                "[status.admissionChecks[0].podSetUpdates[1].name: Unsupported value: \"m\": "
                "supported values: \"a\", \"z\", "
                "status.admissionChecks[0].podSetUpdates[1].tolerations[1].key: Invalid value: "
                "\"@\": " KEY_NAME ", status.admissionChecks[0].podSetUpdates[1].annotations: "
                "Invalid value: \"@\": " KEY_NAME
                ", status.admissionChecks[0].podSetUpdates[1].nodeSelector: Invalid "
                "value: \"@\": " KEY_NAME ", status.admissionChecks[0].podSetUpdates[1].labels: "
                "Invalid value: \"b c\": " LABEL_VALUE "]",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

/* ---- annotations ---- */

#define ANNOTATED(key, value) "{'metadata':{'annotations':{'kueue.x-k8s.io/" key "':'" value "'}}}"
#define GATED(value) ANNOTATED("admission-gated-by", value)
#define GATES_AT "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: "
#define BOOST_AT "metadata.annotations[kueue.x-k8s.io/priority-boost]: "
#define LONG_GATE "a.io/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void admission_gates(void **state) {
    static const struct review_case cases[] = {
        {.name = "right", .object = GATED("a.io/x, b.io/y"), .message = ""},
        {.name = "empty", .object = GATED(""), .message = ""},
        {.name = "blank", .object = GATED("  "), .message = ""},
        {
            .name = "empty name",
            .object = GATED("a.io/x,,b.io/y"),
            .message =
                GATES_AT "Invalid value: \"a.io/x,,b.io/y\": cannot contain empty gate names",
        },
        {
            .name = "twice",
            .object = GATED("a.io/x, a.io/x"),
            .message = GATES_AT "Invalid value: \"a.io/x, a.io/x\": duplicate gate name: a.io/x",
        },
        {
            .name = "no path",
            .object = GATED("gate"),
            .message = GATES_AT "Invalid value: \"gate\": must be a domain-prefixed path (such as "
                                "\"acme.io/foo\")",
        },
        {
            .name = "too long",
            .object = GATED(LONG_GATE),
            .message = GATES_AT "Too long: may not be more than 63 bytes",
        },
        {
            .name = "added later",
            .object = GATED("a.io/x"),
            .old = "{}",
            .message = GATES_AT "Forbidden: cannot add admission gate after creation",
        },
        {
            .name = "one more",
            .object = GATED("b.io/y,a.io/x"),
            .old = GATED("a.io/x"),
            .message = GATES_AT "Forbidden: can only remove gates, not add new ones",
        },
        {.name = "one less",
         .object = GATED("b.io/y"),
         .old = GATED("a.io/x,b.io/y"),
         .message = ""},
        {.name = "none", .object = "{}", .old = GATED("a.io/x"), .message = ""},
        {.name = "gate off", .object = GATED("gate"), .message = "", .gate = "AdmissionGatedBy"},
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

static void priority_boosts(void **state) {
    static const struct {
        const char *object, *message;
    } cases[] = {
        {ANNOTATED("priority-boost", "-7"), ""},
        {ANNOTATED("priority-boost", "2147483647"), ""},
        {ANNOTATED("priority-boost", "2147483648"),
         BOOST_AT "Invalid value: \"2147483648\": must be a valid signed integer"},
        {ANNOTATED("priority-boost", "1.5"),
         BOOST_AT "Invalid value: \"1.5\": must be a valid signed integer"},
        {ANNOTATED("priority-boost", " 1"),
         BOOST_AT "Invalid value: \" 1\": must be a valid signed integer"},
        {ANNOTATED("priority-boost", ""), BOOST_AT
         "Invalid value: \"\": must be a valid signed integer; use \"0\" explicitly, empty "
         "string is not allowed"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        const struct review_case on = {.name = cases[i].object,
                                       .object = cases[i].object,
                                       .message = cases[i].message,
                                       .gate = "PriorityBoost",
                                       .on = true};
        const struct review_case off = {
            .name = cases[i].object, .object = cases[i].object, .message = ""};
        check_cases(WL, &on, 1);
        check_cases(WL, &off, 1);
    }
}

/* ---- changes ---- */

#define ADMITTED(spec, more)                                                                       \
    "{'spec':{" spec "},'status':{" RESERVED ",'admission':{'clusterQueue':'q'," more "}}}"
#define ONE(count, more)                                                                           \
    "'podSets':[{'name':'a','count':" count ",'template':{'spec':{'containers':[{'name':'c',"      \
    "'resources':{'requests':{'cpu':'1'}}" more "}]}}}]"

static void podsets_stand_while_quota_is_reserved(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "written in another way",
            .object = ADMITTED("'podSets':[{'count':2,'name':'a','template':{'metadata':{},'spec':"
                               "{'containers':[{'resources':{'requests':{'cpu':'1000m'}},"
                               "'name':'c','env':[]}]}}}]",
                               ""
                               "'x':null"),
            .old = ADMITTED(ONE("2", ""), "'x':null"),
            .message = "",
        },
        {
            .name = "another image",
            .object = ADMITTED(ONE("2", ",'image':'i'"), "'x':null"),
            .old = ADMITTED(ONE("2", ""), "'x':null"),
            .message = "spec.podSets.0: Invalid value: {\"name\":\"a\",\"count\":2,\"template\":"
                       "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
                       "{\"cpu\":\"1\"}},\"image\":\"i\"}]}}}: field is immutable",
        },
        {
            .name = "one more podset",
            .object = ADMITTED("'podSets':[{'name':'a'},{'name':'b'}]", "'x':null"),
            .old = ADMITTED("'podSets':[{'name':'a'}]", "'x':null"),
            .message = "spec.podSets: Invalid value: [{\"name\":\"a\"},{\"name\":\"b\"}]: field is "
                       "immutable",
        },
        {
            .name = "one more pod",
            .object = ADMITTED("'podSets':[{'name':'a','count':3}]", "'x':null"),
            .old = ADMITTED("'podSets':[{'name':'a','count':2}]", "'x':null"),
            .message = "spec.podSets.0: Invalid value: {\"name\":\"a\",\"count\":3}: field is "
                       "immutable",
        },
        {
            .name = "fewer pods",
            .object = ADMITTED("'podSets':[{'name':'a','count':1}]", "'x':null"),
            .old = ADMITTED("'podSets':[{'name':'a','count':2}]", "'x':null"),
            .message = "",
        },
        {
            .name = "fewer pods, without the gate",
            .object = ADMITTED("'podSets':[{'name':'a','count':1}]", "'x':null"),
            .old = ADMITTED("'podSets':[{'name':'a','count':2}]", "'x':null"),
            .message = "spec.podSets.0: Invalid value: {\"name\":\"a\",\"count\":1}: field is "
                       "immutable",
            .gate = "ElasticJobsViaWorkloadSlices",
        },
        {
            .name = "not reserved",
            .object = "{'spec':{'podSets':[{'name':'a','count':3}]}}",
            .old = "{'spec':{'podSets':[{'name':'a','count':2}]}}",
            .message = "",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

#define IN(queue, more)                                                                            \
    "{'spec':{" SETS "},'status':{'admission':{'clusterQueue':'" queue                             \
    "','podSetAssignments':[{'name':'a','flavors':{'cpu':'f'}" more "}]}}}"

static void admission_comes_and_goes_but_does_not_change(void **state) {
    static const struct review_case cases[] = {
        {.name = "comes", .object = IN("q", ""), .old = STATUS(""), .message = ""},
        {.name = "goes", .object = STATUS(""), .old = IN("q", ""), .message = ""},
        {.name = "stays", .object = IN("q", ""), .old = IN("q", ""), .message = ""},
        {
            .name = "another queue",
            .object = IN("q", ""),
            .old = IN("r", ""),
            .message = "status.admission: Invalid value: {\"clusterQueue\":\"q\","
                       "\"podSetAssignments\":[{\"name\":\"a\",\"flavors\":{\"cpu\":\"f\"}}]}: "
                       "field is immutable",
        },
        {
            .name = "another flavor",
            .object = "{'status':{'admission':{'podSetAssignments':[{'name':'a','flavors':{}}]}}}",
            .old = "{'status':{'admission':{'podSetAssignments':[{'name':'a','flavors':{'c':'f'}}]"
                   "}}}",
            .message = "status.admission: Invalid value: {\"podSetAssignments\":[{\"name\":\"a\","
                       "\"flavors\":{}}]}: field is immutable",
        },
        {
            .name = "a place is found",
            .object = IN("q", ",'topologyAssignment':{'levels':['l']},'delayedTopologyRequest':"
                              "'Ready'"),
            .old = IN("q", ",'delayedTopologyRequest':'Pending'"),
            .message = "",
        },
        {
            .name = "a place is found, without the gate",
            .object = "{'status':{'admission':{'podSetAssignments':[{'topologyAssignment':{'l':1}}]"
                      "}}}",
            .old = "{'status':{'admission':{'podSetAssignments':[{}]}}}",
            .message = "status.admission: Invalid value: {\"podSetAssignments\":"
                       "[{\"topologyAssignment\":{\"l\":1}}]}: field is immutable",
            .gate = "TopologyAwareScheduling",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

#define HELD(pods)                                                                                 \
    "{'spec':{" SETS "},'status':{" RESERVED ",'admission':{'x':1},'reclaimablePods':[" pods "]}}"
#define SHRUNK(pods)                                                                               \
    ELASTIC(SETS, RESERVED ",'admission':{'podSetAssignments':[{'name':'b','count':6}]},"          \
                           "'reclaimablePods':[" pods "]")

static void pods_given_back_stay_given_back(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "more",
            .object = HELD("{'name':'a','count':2},{'name':'b','count':2}"),
            .old = HELD("{'name':'a','count':1}"),
            .message = "",
        },
        {
            .name = "fewer, and one gone",
            .object = HELD("{'name':'b','count':2}"),
            .old = HELD("{'name':'a','count':1},{'name':'b','count':3}"),
            .message = "[status.reclaimablePods[b].count: Invalid value: 2: cannot be less then 3, "
                       "status.reclaimablePods[a]: Required value: cannot be removed]",
        },
        {
            .name = "no longer reserved",
            .object = STATUS("'reclaimablePods':[]"),
            .old = HELD("{'name':'a','count':1}"),
            .message = "",
        },
        {
            .name = "the podset shrank",
            .object = SHRUNK("{'name':'b','count':1}"),
            .old = SHRUNK("{'name':'b','count':2}"),
            .message = "",
        },
        {
            .name = "another podset shrank",
            .object = SHRUNK(""),
            .old = SHRUNK("{'name':'a','count':1},{'name':'b','count':1}"),
            .message = "status.reclaimablePods[a]: Required value: cannot be removed",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

#define CHECK(state, updates)                                                                      \
    STATUS("'admissionChecks':[{'name':'o'},{'name':'c','state':'" state                           \
           "','podSetUpdates':[" updates "]}]")

static void updates_of_a_ready_check_stand(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "ready before and after; the place is the old one",
            .object = STATUS("'admissionChecks':[{'name':'c','state':'Ready','podSetUpdates':"
                             "[{'name':'a'}]}]"),
            .old = CHECK("Ready", ""),
            .message = "status.admissionChecks[1].podSetUpdates: Invalid value: "
                       "[{\"name\":\"a\"}]: field is immutable",
        },
        {
            .name = "becomes ready",
            .object = CHECK("Ready", "{'name':'a'}"),
            .old = CHECK("Pending", ""),
            .message = "",
        },
        {
            .name = "stays as it is",
            .object = CHECK("Ready", "{'name':'a','labels':{}}"),
            .old = CHECK("Ready", "{'name':'a'}"),
            .message = "",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

static void a_cluster_is_nominated_first(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "nominated",
            .object = "{'status':{'clusterName':'w2'}}",
            .old = "{'status':{'nominatedClusterNames':['w1','w2']}}",
            .message = "",
        },
        {
            .name = "not nominated",
            .object = "{'status':{'clusterName':'w3'}}",
            .old = "{'status':{'nominatedClusterNames':['w1','w2']}}",
            .message =
                "status.clusterName: Invalid value: \"w3\": when setting clusterName it must "
                "be one of the nominatedClusterNames",
        },
        {
            .name = "a replacement",
            .object = "{'metadata':{'annotations':{'kueue.x-k8s.io/workload-slice-replacement-for':"
                      "'x'}},'status':{'clusterName':'w3'}}",
            .old = "{'status':{}}",
            .message = "",
        },
        {
            .name = "was there",
            .object = "{'status':{'clusterName':'w3'}}",
            .old = "{'status':{'clusterName':'w3'}}",
            .message = "",
        },
    };

    (void)state;
    check_cases(WL, cases, SL_LEN(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(podsets),
        cmocka_unit_test(negative_sub_group_counts_are_warned_about),
        cmocka_unit_test(admission),
        cmocka_unit_test(conditions),
        cmocka_unit_test(reports_of_controllers),
        cmocka_unit_test(admission_gates),
        cmocka_unit_test(priority_boosts),
        cmocka_unit_test(podsets_stand_while_quota_is_reserved),
        cmocka_unit_test(admission_comes_and_goes_but_does_not_change),
        cmocka_unit_test(pods_given_back_stay_given_back),
        cmocka_unit_test(updates_of_a_ready_check_stand),
        cmocka_unit_test(a_cluster_is_nominated_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
