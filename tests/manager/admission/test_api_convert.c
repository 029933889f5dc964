/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion between versions: every shape that differs, the way there and back, and what fails.
 */
#include "case.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/prng.h"
#include "manager/admission/convert.h"

#define NEW "v1beta2"
#define OLD "v1beta1"

static void convert(const char *objects, const char *to, struct answer *ret) {
    struct sl_settings settings;
    struct sl_review_view view = empty_view(&settings, NULL, false);
    char *list = json_of(objects), *body = NULL;
    int n = asprintf(&body,
                     "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
                     "\"request\":{\"uid\":\"u-1\",\"desiredAPIVersion\":\"kueue.x-k8s.io/%s\","
                     "\"objects\":[%s]}}",
                     to, list);

    assert_true(n > 0);
    post(&view, "/convert", body, (size_t)n, ret);
    free(list);
    free(body);
}

/* The one object that came out, without what every object has. To be freed. */
static char *converted(const char *kind, const char *from, const char *to, const char *fields) {
    char *object = NULL, *text;
    struct answer a;
    int n = asprintf(&object,
                     "{'apiVersion':'kueue.x-k8s.io/%s','kind':'%s','metadata':{'name':'n','uid':"
                     "'7','labels':{'a':'b'}},%s}",
                     from, kind, fields);

    assert_true(n > 0);
    convert(object, to, &a);
    free(object);
    assert_int_equal(a.http, 200);
    if (strcmp(sl_json_str(a.response, "result.status"), "Success") != 0)
        fail_msg("%s: %s", fields, sl_json_str(a.response, "result.message"));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_val *got = yyjson_arr_get_first(sl_json_get(a.response, "convertedObjects"));
    yyjson_mut_val *rest = yyjson_val_mut_copy(doc, got);
    assert_string_equal(strrchr(sl_json_str(got, "apiVersion"), '/') + 1, to);
    assert_string_equal(sl_json_str(got, "kind"), kind);
    assert_string_equal(sl_json_str(got, "metadata.uid"), "7");
    assert_string_equal(sl_json_str(got, "metadata.labels.a"), "b");
    yyjson_mut_obj_remove_key(rest, "apiVersion");
    yyjson_mut_obj_remove_key(rest, "kind");
    yyjson_mut_obj_remove_key(rest, "metadata");
    text = yyjson_mut_val_write(rest, 0, NULL);
    yyjson_mut_doc_free(doc);
    answer_done(&a);
    return text;
}

struct conversion {
    const char *kind, *from, *to;
    const char *in, *out; /* fields besides metadata; in and out of "{...}" */
};

static bool same_json(const char *a, const char *b) {
    yyjson_doc *da = yyjson_read(a, strlen(a), 0), *db = yyjson_read(b, strlen(b), 0);

    assert_non_null(da);
    assert_non_null(db);
    bool same = yyjson_equals(yyjson_doc_get_root(da), yyjson_doc_get_root(db));
    yyjson_doc_free(da);
    yyjson_doc_free(db);
    return same;
}

static void check(const char *kind, const char *from, const char *to, const char *in,
                  const char *out) {
    char *got = converted(kind, from, to, in), *wrapped = NULL;
    int n = asprintf(&wrapped, "{%s}", out);

    assert_true(n > 0);
    char *want = json_of(wrapped);
    if (!same_json(got, want))
        fail_msg("%s %s to %s:\n%s\nexpected %s", kind, from, to, got, want);
    free(got);
    free(want);
    free(wrapped);
}

static void shapes_that_convert_both_ways(void **state) {
    static const struct conversion cases[] = {
        {"ClusterQueue", OLD, NEW, "'spec':{'cohort':'c','stopPolicy':'Hold'}",
         "'spec':{'cohortName':'c','stopPolicy':'Hold'}"},
        {"ClusterQueue", OLD, NEW,
         "'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a','onFlavors':['f']}]}}",
         "'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a','onFlavors':['f']}]}}"},
        {"Cohort", OLD, NEW, "'spec':{'parentName':'p'}", "'spec':{'parentName':'p'}"},
        {"Cohort", "v1alpha1", NEW, "'spec':{'parent':'p','resourceGroups':[]}",
         "'spec':{'parentName':'p','resourceGroups':[]}"},
        {"Cohort", "v1alpha1", OLD, "'spec':{'parent':'p'}", "'spec':{'parentName':'p'}"},
        {"Topology", "v1alpha1", NEW, "'spec':{'levels':[{'nodeLabel':'l'}]}",
         "'spec':{'levels':[{'nodeLabel':'l'}]}"},
        {"LocalQueue", OLD, NEW, "'status':{'flavorUsage':[{'name':'f'}],'pendingWorkloads':1}",
         "'status':{'flavorsUsage':[{'name':'f'}],'pendingWorkloads':1}"},
        {"Workload", OLD, NEW,
         "'spec':{'priorityClassName':'p','priorityClassSource':'kueue.x-k8s.io/"
         "workloadpriorityclass','priority':5}",
         "'spec':{'priority':5,'priorityClassRef':{'group':'kueue.x-k8s.io','kind':"
         "'WorkloadPriorityClass','name':'p'}}"},
        {"Workload", OLD, NEW,
         "'spec':{'priorityClassName':'p','priorityClassSource':'scheduling.k8s.io/priorityclass'}",
         "'spec':{'priorityClassRef':{'group':'scheduling.k8s.io','kind':'PriorityClass','name':"
         "'p'}}"},
        {"Workload", OLD, NEW, "'status':{'accumulatedPastExexcutionTimeSeconds':7}",
         "'status':{'accumulatedPastExecutionTimeSeconds':7}"},
        {"MultiKueueCluster", OLD, NEW,
         "'spec':{'kubeConfig':{'location':'s','locationType':'Secret'}}",
         "'spec':{'clusterSource':{'kubeConfig':{'location':'s','locationType':'Secret'}}}"},
        {"ResourceFlavor", OLD, NEW, "'spec':{'nodeLabels':{'a':'b'}}",
         "'spec':{'nodeLabels':{'a':'b'}}"},
        {"WorkloadPriorityClass", OLD, NEW, "'value':7,'description':'d'",
         "'value':7,'description':'d'"},
        {"ProvisioningRequestConfig", OLD, NEW, "'spec':{'provisioningClassName':'p'}",
         "'spec':{'provisioningClassName':'p'}"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        check(cases[i].kind, cases[i].from, cases[i].to, cases[i].in, cases[i].out);
        check(cases[i].kind, cases[i].to, cases[i].from, cases[i].out, cases[i].in);
        check(cases[i].kind, cases[i].to, cases[i].to, cases[i].out, cases[i].out);
    }
}

static void shapes_that_convert_one_way(void **state) {
    static const struct conversion cases[] = {
        {"ClusterQueue", OLD, NEW,
         "'spec':{'admissionChecks':['a','b'],'admissionChecksStrategy':{'admissionChecks':"
         "[{'name':'x'}]},'flavorFungibility':{'whenCanBorrow':'Borrow','whenCanPreempt':"
         "'Preempt'}}",
         "'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a'},{'name':'b'}]},"
         "'flavorFungibility':{'whenCanBorrow':'MayStopSearch','whenCanPreempt':'MayStopSearch'}}"},
        {"ClusterQueue", OLD, NEW,
         "'spec':{'admissionChecks':[],'flavorFungibility':{'whenCanBorrow':'TryNextFlavor'}}",
         "'spec':{'flavorFungibility':{'whenCanBorrow':'TryNextFlavor'}}"},
        {"ClusterQueue", OLD, NEW,
         "'status':{'pendingWorkloadsStatus':{'x':1},'fairSharing':{'weightedShare':1,"
         "'admissionFairSharingStatus':{}},'pendingWorkloads':0}",
         "'status':{'fairSharing':{'weightedShare':1},'pendingWorkloads':0}"},
        {"ClusterQueue", NEW, OLD,
         "'spec':{'cohortName':'c','concurrentAdmissionPolicy':{'migration':{}}}",
         "'spec':{'cohort':'c'}"},
        {"LocalQueue", OLD, NEW, "'status':{'flavors':[{'name':'f'}]}", "'status':{}"},
        {"Workload", OLD, NEW, "'spec':{'priorityClassName':'p','priorityClassSource':''}",
         "'spec':{}"},
        {"Workload", OLD, NEW, "'spec':{'priorityClassName':'p'}", "'spec':{}"},
        {"Workload", NEW, OLD,
         "'spec':{'priorityClassRef':{'group':'x','kind':'y','name':'z'},'preemptionGates':[],"
         "'podSets':[{'topologyRequest':{'required':'r','podsetSliceRequiredTopologyConstraints':"
         "[{'size':1}]}}]},'status':{'preemptionGates':[]}",
         "'spec':{'podSets':[{'topologyRequest':{'required':'r'}}]},'status':{}"},
        {"Workload", NEW, OLD,
         "'spec':{'priorityClassRef':{'group':'kueue.x-k8s.io','kind':'WorkloadPriorityClass'}}",
         "'spec':{'priorityClassSource':'kueue.x-k8s.io/workloadpriorityclass'}"},
        {"MultiKueueCluster", OLD, NEW,
         "'spec':{'kubeConfig':{'location':''},'clusterProfileRef':{'name':'p'}}",
         "'spec':{'clusterSource':{'clusterProfileRef':{'name':'p'}}}"},
        {"MultiKueueCluster", NEW, OLD,
         "'spec':{'clusterSource':{'clusterProfileRef':{'name':'p'}}}",
         "'spec':{'kubeConfig':{'location':'','locationType':''},'clusterProfileRef':{'name':'p'}"
         "}"},
        {"MultiKueueConfig", NEW, OLD, "'spec':{'clusters':['a'],'quotaManagement':'Manual'}",
         "'spec':{'clusters':['a']}"},
        {"AdmissionCheck", OLD, NEW, "'spec':{'controllerName':'c','retryDelayMinutes':15}",
         "'spec':{'controllerName':'c'}"},
        /* Odd ones must not disturb. */
        {"Workload", OLD, NEW, "'spec':null,'status':[]", "'spec':null,'status':[]"},
        {"MultiKueueCluster", NEW, OLD, "'spec':7", "'spec':7"},
        {"ClusterQueue", OLD, NEW, "'spec':{'cohort':null}", "'spec':{'cohortName':null}"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        check(cases[i].kind, cases[i].from, cases[i].to, cases[i].in, cases[i].out);
}

/* ---- topology ---- */

#define PLACED(topology)                                                                           \
    "'status':{'admission':{'podSetAssignments':[{'name':'a'},{'name':'b','topologyAssignment'"    \
    ":" topology "}]}}"

static void topologies(void **state) {
    static const struct {
        const char *domains, *slices;
    } cases[] = {
        {"{'levels':['l'],'domains':[{'values':['x'],'count':2}]}",
         "{'levels':['l'],'slices':[{'domainCount':1,'valuesPerLevel':[{'universal':'x'}],"
         "'podCounts':{'universal':2}}]}"},
        {"{'levels':['l'],'domains':[]}", "{'levels':['l'],'slices':[]}"},
        {"{'levels':['b','h'],'domains':[{'values':['b1','node-1.x'],'count':2},"
         "{'values':['b1','node-12.x'],'count':1},{'values':['b1','node-.x'],'count':2}]}",
         "{'levels':['b','h'],'slices':[{'domainCount':3,'valuesPerLevel':[{'universal':'b1'},"
         "{'individual':{'prefix':'node-','suffix':'.x','roots':['1','12','']}}],"
         "'podCounts':{'individual':[2,1,2]}}]}"},
        /* The end wins over the beginning where they overlap. */
        {"{'levels':['h'],'domains':[{'values':['aaa'],'count':1},{'values':['aa'],'count':1}]}",
         "{'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':[{'individual':{'suffix':"
         "'aa','roots':['a','']}}],'podCounts':{'universal':1}}]}"},
        /* Characters of several bytes stay whole: é and è begin alike, é and ĩ end alike. */
        {"{'levels':['h'],'domains':[{'values':['é'],'count':1},{'values':['è'],'count':1}]}",
         "{'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':[{'individual':{'roots':"
         "['é','è']}}],'podCounts':{'universal':1}}]}"},
        {"{'levels':['h'],'domains':[{'values':['é'],'count':1},{'values':['ĩ'],'count':1}]}",
         "{'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':[{'individual':{'roots':"
         "['é','ĩ']}}],'podCounts':{'universal':1}}]}"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char *domains = NULL, *slices = NULL;
        assert_true(asprintf(&domains,
                             "'status':{'admission':{'podSetAssignments':[{'name':'a'},{'name':'b',"
                             "'topologyAssignment':%s}]}}",
                             cases[i].domains) > 0);
        assert_true(asprintf(&slices,
                             "'status':{'admission':{'podSetAssignments':[{'name':'a'},{'name':'b',"
                             "'topologyAssignment':%s}]}}",
                             cases[i].slices) > 0);
        check("Workload", OLD, NEW, domains, slices);
        check("Workload", NEW, OLD, slices, domains);
        free(domains);
        free(slices);
    }
}

/* Encodings of others expand as well. */
static void slices_of_all_sorts_expand(void **state) {
    (void)state;
    check("Workload", NEW, OLD,
          PLACED("{'levels':['l','h'],'slices':["
                 "{'domainCount':2,'valuesPerLevel':[{'individual':{'roots':['a','b']}},"
                 "{'individual':{'prefix':'p','roots':['1','2']}}],'podCounts':{'universal':3}},"
                 "{'domainCount':1,'valuesPerLevel':[{'universal':'c'},{'individual':{'suffix':'s',"
                 "'roots':['']}}],'podCounts':{'individual':[4]}}]}"),
          PLACED("{'levels':['l','h'],'domains':[{'values':['a','p1'],'count':3},"
                 "{'values':['b','p2'],'count':3},{'values':['c','s'],'count':4}]}"));
}

/* Random lists of domains come back as they were. */
static void random_topologies_come_back(void **state) {
    static const char *const parts[] = {"a", "node-", "1", "22", "", ".x", "é"};
    struct sl_prng prng;
    struct sl_buf text;

    (void)state;
    sl_prng_init(&prng, 11);
    sl_buf_init(&text, 1 << 20);
    for (int i = 0; i < 300; i++) {
        uint64_t levels = 1 + sl_prng_below(&prng, 3), n = sl_prng_below(&prng, 12);
        sl_buf_clear(&text);
        sl_buf_puts(&text, "'status':{'admission':{'podSetAssignments':[{'topologyAssignment':{"
                           "'levels':[");
        for (uint64_t l = 0; l < levels; l++)
            sl_buf_printf(&text, "%s'l'", l > 0 ? "," : "");
        sl_buf_puts(&text, "],'domains':[");
        for (uint64_t d = 0; d < n; d++) {
            sl_buf_printf(&text, "%s{'values':[", d > 0 ? "," : "");
            for (uint64_t l = 0; l < levels; l++)
                sl_buf_printf(&text, "%s'%s%s%s'", l > 0 ? "," : "",
                              parts[sl_prng_below(&prng, SL_LEN(parts))],
                              parts[sl_prng_below(&prng, SL_LEN(parts))],
                              parts[sl_prng_below(&prng, SL_LEN(parts))]);
            sl_buf_printf(&text, "],'count':%d}", 1 + (int)sl_prng_below(&prng, 2));
        }
        sl_buf_puts(&text, "]}}]}}");
        char *there = converted("Workload", OLD, NEW, sl_buf_str(&text));
        size_t len = strlen(there);
        assert_true(len > 2);
        there[len - 1] = '\0'; /* the fields within "{...}" */
        check("Workload", NEW, OLD, there + 1, sl_buf_str(&text));
        free(there);
    }
    sl_buf_done(&text);
}

/* ---- reviews ---- */

static void many_objects_at_a_time(void **state) {
    struct answer a;

    (void)state;
    convert("{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Cohort','spec':{'parentName':'a'}},"
            "{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'Cohort','spec':{'parentName':'b'}},"
            "{'apiVersion':'kueue.x-k8s.io/v1alpha1','kind':'Cohort','spec':{'parent':'c'}}",
            "v1alpha1", &a);
    yyjson_val *list = sl_json_get(a.response, "convertedObjects");
    assert_int_equal(yyjson_arr_size(list), 3);
    assert_string_equal(sl_json_str(yyjson_arr_get(list, 0), "spec.parent"), "a");
    assert_string_equal(sl_json_str(yyjson_arr_get(list, 1), "spec.parent"), "b");
    assert_string_equal(sl_json_str(yyjson_arr_get(list, 2), "spec.parent"), "c");
    answer_done(&a);
    convert("", NEW, &a);
    assert_string_equal(sl_json_str(a.response, "result.status"), "Success");
    assert_int_equal(yyjson_arr_size(sl_json_get(a.response, "convertedObjects")), 0);
    answer_done(&a);
}

static void what_cannot_be_converted_fails(void **state) {
    static const struct {
        const char *object, *to, *message;
    } cases[] = {
        {"{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'Job'}", NEW,
         "no conversion of Job from kueue.x-k8s.io/v1beta1 to kueue.x-k8s.io/v1beta2"},
        {"{'apiVersion':'batch/v1','kind':'Workload'}", NEW,
         "no conversion of Workload from batch/v1 to kueue.x-k8s.io/v1beta2"},
        {"{'apiVersion':'kueue.x-k8s.io/v1alpha1','kind':'Workload'}", NEW,
         "no conversion of Workload from kueue.x-k8s.io/v1alpha1 to kueue.x-k8s.io/v1beta2"},
        {"{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'Workload'}", "v1",
         "no conversion of Workload from kueue.x-k8s.io/v1beta1 to kueue.x-k8s.io/v1"},
        {"7", NEW,
         "no conversion of an object without a kind from no version to kueue.x-k8s.io/v1beta2"},
        {"{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'Workload','metadata':{'name':'w'}," PLACED(
             "{'levels':['a','b'],'domains':[{'values':['x'],'count':1}]}") "}",
         NEW,
         "Workload w: status.admission.podSetAssignments[1]: topologyAssignment: a domain must "
         "have one value per level"},
        {"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'w'}," PLACED(
             "{'levels':['a'],'slices':[{'domainCount':2,'valuesPerLevel':[{'individual':{'roots':"
             "['x']}}],'podCounts':{'universal':1}}]}") "}",
         OLD,
         "Workload w: status.admission.podSetAssignments[1]: topologyAssignment: a slice must have "
         "one root per domain"},
        /* A few bytes that would stand for 100 GB. */
        {"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'w'}," PLACED(
             "{'levels':['a'],'slices':[{'domainCount':100000,'valuesPerLevel':[{'universal':"
             "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
             "}],'podCounts':{'universal':1}}]}") "}",
         OLD,
         "Workload w: status.admission.podSetAssignments[1]: the topologyAssignment is too large "
         "to convert"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct answer a;
        convert(cases[i].object, cases[i].to, &a);
        assert_int_equal(a.http, 200);
        assert_string_equal(sl_json_str(a.response, "result.status"), "Failure");
        assert_string_equal(sl_json_str(a.response, "result.message"), cases[i].message);
        assert_null(sl_json_get(a.response, "convertedObjects"));
        answer_done(&a);
    }
}

/* Whatever stands in the place of a topologyAssignment, also where no review was before us. */
static void what_is_no_topology(void **state) {
    static const char *const others[] = {"[]", "[[1]]", "\"x\"", "7", "null", "true"};

    (void)state;
    for (size_t i = 0; i < SL_LEN(others); i++) {
        yyjson_doc *d = yyjson_read(others[i], strlen(others[i]), 0);
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        struct sl_err err;
        struct sl_convert cv = {doc, SL_CONVERT_MAX_BYTES, &err};
        yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(d));
        assert_int_equal(sl_convert_slices_to_domains(&cv, v), SL_EINVAL);
        assert_int_equal(sl_convert_domains_to_slices(&cv, v), SL_EINVAL);
        yyjson_mut_doc_free(doc);
        yyjson_doc_free(d);
    }
}

/* One item, and after it as many of another as there are bytes. */
static void fill(struct sl_buf *body, const char *first, const char *item, size_t bytes) {
    sl_buf_puts(body, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
                      "\"request\":{\"uid\":\"u\",\"desiredAPIVersion\":\"kueue.x-k8s.io/v1beta1\","
                      "\"objects\":[");
    const size_t n = item ? strlen(item) : 0;
    for (sl_buf_puts(body, first); item && body->len + n + 8 < bytes;) {
        sl_buf_putc(body, ',');
        sl_buf_puts(body, item);
    }
    sl_buf_puts(body, "]}}");
}

static size_t most_memory(void) {
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (size_t)u.ru_maxrss << 10;
}

/* ---- memory ---- */

#define WORKLOAD                                                                                   \
    "{\"apiVersion\":\"kueue.x-k8s.io/"                                                            \
    "v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\"}"
/* Beside what is counted: the allocator's own, and the pages of the program that are used first. */
#define SLACK ((size_t)8 << 20)

/* What one object may have: values that are written much longer than they came, texts of which each
 * byte is written as six, and a topology that becomes a long list. */
static void worst_object(struct sl_buf *out, size_t values, size_t bytes) {
    sl_buf_puts(out, WORKLOAD ",\"x\":[0");
    for (size_t i = 0; i + 100 < values; i++)
        sl_buf_puts(out, ",1e15");
    sl_buf_puts(out, "],\"y\":\"");
    for (size_t i = 0; i + 300 < bytes; i++)
        sl_buf_puts(out, "\\u0001");
    sl_buf_puts(out,
                "\",\"status\":{\"admission\":{\"podSetAssignments\":[{\"topologyAssignment\":"
                "{\"levels\":[\"h\"],\"slices\":[{\"domainCount\":80000,\"valuesPerLevel\":["
                "{\"universal\":\"node-0123456789\"}],\"podCounts\":{\"universal\":1}}]}}]}}}");
}

/* In a process of its own, whose peak begins with what is there: the status, and that peak. */
static int convert_apart(const struct sl_buf *body, size_t *ret_peak, struct sl_buf *ret_text) {
    struct result {
        int code;
        size_t peak;
        char text[200];
    } *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sl_settings settings;
    struct sl_review_view view = empty_view(&settings, NULL, false);
    int status;

    assert_true(shared != MAP_FAILED);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct sl_buf out = SL_BUF(SL_CONVERT_ANSWER_BYTES);
        size_t before = most_memory();
        shared->code = sl_review(&view, "/convert", sl_buf_str(body), body->len, &out);
        shared->peak = most_memory() - before;
        /* The end of the answer: how it went. */
        size_t n = out.len < sizeof shared->text - 1 ? out.len : sizeof shared->text - 1;
        memcpy(shared->text, sl_buf_str(&out) + out.len - n, n);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int code = shared->code;
    *ret_peak = shared->peak;
    sl_buf_puts(ret_text, shared->text);
    assert_int_equal(munmap(shared, sizeof *shared), 0);
    return code;
}

/* A page of 500 large Workloads is converted, and so is the largest object that is read, beside as
 * much as fits; what is beyond is refused. None of them takes more than it is counted with in the
 * sum of the manager's pod, to which the body and the answer come besides. */
static void a_page_fits_into_the_pod(void **state) {
    struct sl_buf large = SL_BUF((size_t)1 << 20), worst = SL_BUF(SL_CONVERT_BODY_BYTES),
                  wide = SL_BUF(SL_CONVERT_BODY_BYTES), lengthy = SL_BUF(SL_CONVERT_BODY_BYTES);

    (void)state;
    sl_buf_puts(&large, WORKLOAD ",\"spec\":{\"podSets\":[{\"name\":\"main\","
                                 "\"template\":{\"spec\":{\"containers\":[{\"env\":[{}");
    while (large.len < (60 << 10))
        sl_buf_puts(&large, ",{\"name\":\"A\",\"value\":\"of a few words\"}");
    sl_buf_puts(&large, "]}]}}}]}}");
    worst_object(&worst, SL_CONVERT_OBJECT_VALUES, SL_CONVERT_OBJECT_BYTES);
    worst_object(&wide, SL_CONVERT_OBJECT_VALUES + 1000, 300);
    worst_object(&lengthy, 100, SL_CONVERT_OBJECT_BYTES + 1000);
    const struct {
        const char *first, *item;
        size_t bytes;
        int code;
        const char *text;
    } cases[] = {
        {sl_buf_str(&large), sl_buf_str(&large), 500 * large.len, 200, "\"status\":\"Success\""},
        {sl_buf_str(&worst), NULL, 0, 200, "\"status\":\"Success\""},
        {sl_buf_str(&worst), WORKLOAD ",\"spec\":{\"a\":[1,2,3]}}", (size_t)26 << 20, 200,
         "\"status\":\"Success\""},
        {sl_buf_str(&wide), NULL, 0, 200, "Workload w has more than 524288 values"},
        {sl_buf_str(&lengthy), NULL, 0, 200, "Workload w has more than 3145728 bytes"},
        {"0", "0", SL_CONVERT_BODY_BYTES, 400, "JSON has more than 4194304 values\n"},
        {"{}", "{}", SL_CONVERT_BODY_BYTES, 400, "JSON has more than 4194304 values\n"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_buf body = SL_BUF(SL_CONVERT_BODY_BYTES + 1), text = SL_BUF(1000);
        size_t peak;
        fill(&body, cases[i].first, cases[i].item, cases[i].bytes);
        int code = convert_apart(&body, &peak, &text);
        if (getenv("SL_TEST_PRINTS"))
            print_message("%zu: body %zu KiB, peak %zu KiB\n", i, body.len >> 10, peak >> 10);
        assert_int_equal(code, cases[i].code);
        assert_non_null(strstr(sl_buf_str(&text), cases[i].text));
#if !SL_SANITISED
        if (!getenv("SL_MEMCHECK")) /* which keeps a copy of all memory beside it */
            assert_true(peak <= SL_CONVERT_MEMORY + SL_CONVERT_ANSWER_BYTES + SLACK);
#endif
        sl_buf_done(&body);
        sl_buf_done(&text);
    }
    sl_buf_done(&large);
    sl_buf_done(&worst);
    sl_buf_done(&wide);
    sl_buf_done(&lengthy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_fits_into_the_pod), /* first: memory is measured */
        cmocka_unit_test(what_is_no_topology),
        cmocka_unit_test(shapes_that_convert_both_ways),
        cmocka_unit_test(shapes_that_convert_one_way),
        cmocka_unit_test(topologies),
        cmocka_unit_test(slices_of_all_sorts_expand),
        cmocka_unit_test(random_topologies_come_back),
        cmocka_unit_test(many_objects_at_a_time),
        cmocka_unit_test(what_cannot_be_converted_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
