/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad input beside good work: impossible, contradictory and malicious objects of every class are
 * refused or explained, and no good job starts later than it does without them. A stream of good
 * pods and groups runs on a small cluster, once alone and then beside the bad ones: through
 * admission, behind its back, and behind thousands that can never run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fqtest.h"
#include "lib/log/log.h"
#include "manager/admission/review.h"
#include "manager/fluxqueue/fq_int.h"

#define GOOD 60
#define NODE_COUNT 4
#define EVERY (5 * SL_SEC) /* one of the good ones */
#define SEEDS 32
#define MEMBERS 3   /* of those that are groups */
#define LATE SL_SEC /* the graph counts whole seconds */
#define BIG ((size_t)600 << 10)
#define FLOOD (SL_SANITISED ? 1000u : 10000u)
#define BY_HAND FAKEAPI_NOBODY
#define OTHER_PODS "/api/v1/namespaces/other/pods"

/* ---- what is good ---- */

static const struct {
    const char *cpu;
    int seconds;
} good[] = {{"1", 31}, {"4", 47}, {"2", 23}, {"6", 61}, {"3", 17}, {"8", 29}, {"5", 53}};

static bool is_group(int i) {
    return i % 7 == 3;
}

struct stream {
    struct world *w;
    struct sl_review_view view;
    bool reviewed;                /* as if by a user: admission is asked */
    sl_time bound[GOOD][MEMBERS]; /* of each good pod; 0: not yet */
    char ran[200];                /* a bad one that must not */
    int next;                     /* of the good ones */
    const char *allowed[8];       /* of bad names: these may run */
};

static void kubelet_end(void *ctx, uint64_t arg) {
    struct stream *s = ctx;
    char path[300];
    sl_fmt(path, sizeof path, PODS "/good-%d-%d/status", (int)(arg >> 8), (int)(arg & 255));
    (void)fakeapi_do(s->w->api, SL_PATCH, path, SL_MERGE_PATCH,
                     SL_JSON_CONST({"status" : {"phase" : "Succeeded"}}), NULL);
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct stream *s = ctx;
    const char *name = sl_json_str(c->now, "metadata.name"), *rest = NULL;
    uint32_t i = 0;
    if (strcmp(c->kind->plural, "pods") != 0 || !*sl_json_str(c->now, "spec.nodeName") ||
        *sl_json_str(c->before, "spec.nodeName"))
        return;
    if (!fakeapi_number(name, "good-", &i, &rest)) {
        if (!sl_json_label_opt(c->now, "may-run"))
            sl_fmt_short(s->ran, sizeof s->ran, "%s ran on %s", name,
                         sl_json_str(c->now, "spec.nodeName"));
        return;
    }
    uint32_t member = (uint32_t)strtoul(rest + 1, NULL, 10);
    s->bound[i][member] = fakeapi_now(s->w->api);
    fakeapi_at(s->w->api, fakeapi_now(s->w->api) + good[i % SL_LEN(good)].seconds * SL_SEC,
               kubelet_end, s, (uint64_t)i << 8 | member);
}

static void create_good(struct stream *s, int i) {
    char name[32], annotations[200], group[160] = "";
    int seconds = good[i % (int)SL_LEN(good)].seconds;
    for (int m = 0; m < (is_group(i) ? MEMBERS : 1); m++) {
        char body[1200];
        sl_fmt(name, sizeof name, "good-%d-%d", i, m);
        if (is_group(i))
            sl_fmt(group, sizeof group, ",'fluxqueue/group-name':'gang-%d'", i);
        sl_fmt(annotations, sizeof annotations, "'fluxqueue/duration':'%ds'%s", seconds + 3,
               is_group(i) ? ",'fluxqueue/group-size':'3'" : "");
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'%s},'annotations':{%s}},"
               "'spec':{'containers':[{'name':'main','resources':{'requests':{'cpu':'%s','memory':"
               "'64Mi'}}}],'schedulerName':'FluxionScheduler','schedulingGates':[{'name':"
               "'fluxqueue'}]}}",
               name, group, annotations, is_group(i) ? "2" : good[i % (int)SL_LEN(good)].cpu);
        create(s->w, PODS, body);
    }
}

static void next_good(void *ctx, uint64_t arg) {
    struct stream *s = ctx;
    (void)arg;
    create_good(s, s->next++);
    if (s->next < GOOD)
        fakeapi_at(s->w->api, fakeapi_now(s->w->api) + EVERY, next_good, s, 0);
}

/* ---- admission ---- */

static bool always(void *ctx, const char *ns) {
    (void)ctx, (void)ns;
    return true;
}
static bool never(void *ctx, const char *ns) {
    (void)ctx, (void)ns;
    return false;
}
static bool no_queue(void *ctx, const char *ns, const char *name) {
    (void)ctx, (void)ns, (void)name;
    return false;
}
static bool no_owner(void *ctx, const char *ns, const struct sl_review_owner_ref *o) {
    (void)ctx, (void)ns, (void)o;
    return false;
}

/* The webhooks of a kind; the first of them also marks what it lets pass, as it is here already. */
static const struct {
    const char *plural, *path;
} hooks[] = {
    {"pods", "/mutate-flux--v1-pod"},
    {"jobs", "/mutate-flux-batch-v1-job"},
    {"statefulsets", "/mutate-flux-apps-v1-statefulset"},
    {"fluxjobs", "/validate-jobs-converged-computing-org-v1alpha1-fluxjob"},
};

static int review(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why) {
    struct stream *s = ctx;
    const char *path = NULL;
    for (size_t i = 0; i < SL_LEN(hooks); i++)
        if (strcmp(hooks[i].plural, fw->kind->plural) == 0)
            path = hooks[i].path;
    if (!path || !s->reviewed || fw->client != BY_HAND || fw->old || fw->status)
        return 0;
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(4 * BIG), out = SL_BUF(4 * BIG);
    struct sl_jw j = SL_JW(&body);
    char *object = yyjson_mut_write(fw->now, 0, NULL);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", "admission.k8s.io/v1");
    sl_jw_str(&j, "kind", "AdmissionReview");
    sl_jw_object(&j, "request");
    sl_jw_str(&j, "uid", "u");
    sl_jw_str(&j, "operation", "CREATE");
    sl_jw_str(&j, "namespace", "default");
    sl_jw_raw(&j, "object", object);
    sl_jw_end_to(&j, 0);
    free(object);
    assert_int_equal(sl_review(&s->view, path, body.s, body.len, &out), 200);
    yyjson_doc *answer = sl_json_doc(out.s, out.len);
    yyjson_val *response = sl_json_at(yyjson_doc_get_root(answer), "response");
    bool allowed = sl_json_bool(response, "allowed", false);
    sl_buf_puts(why, sl_json_str(response, "status.message"));
    yyjson_doc_free(answer);
    if (!allowed)
        assert_true(why->len > 10); /* says what is wrong */
    return allowed ? 0 : 422;
}

/* ---- what is bad: pods ---- */

#define NONE ""
#define JOBSPEC(text) "'fluxqueue/jobspec':'" text "'"
#define SLOT(inside)                                                                               \
    "{version: 1, tasks: [{command: [a], slot: a, count: {per_slot: 1}}], " inside "}"
#define HOST "'kubernetes.io/hostname'"
#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"

static const struct bad_pod {
    const char *what, *requests /* "": one thousandth */, *annotations, *labels, *spec;
    bool may_run; /* it is no harm */
} bad_pods[] = {
    /* amounts */
    {"more than any node has", "'cpu':'9'", NONE, NONE, NONE, false},
    {"2^63", "'cpu':'9223372036854775808'", NONE, NONE, NONE, false},
    {"2^63 - 1 bytes", "'memory':'9223372036854775807'", NONE, NONE, NONE, false},
    {"exponents", "'cpu':'1e300'", NONE, NONE, NONE, false},
    {"negative", "'cpu':'-1'", NONE, NONE, NONE, false},
    {"no number", "'cpu':'lots'", NONE, NONE, NONE, false},
    {"a number of another type", "'cpu':{'a':1}", NONE, NONE, NONE, false},
    {"nothing at all", "'cpu':'0'", NONE, NONE, NONE, true},
    {"a resource that nobody has", "'example.com/warp':'1'", NONE, NONE, NONE, false},
    {"much of it", "'example.com/warp':'9223372036854775807'", NONE, NONE, NONE, false},
    {"a malformed resource", "'a b\\u0000c':'1'", NONE, NONE, NONE, false},
    {"the pods themselves", "'pods':'1'", NONE, NONE, NONE, false},
    {"a host port by name", "'fluxqueue/host-port-tcp-80':'1'", NONE, NONE, NONE, false},
    {"a long name",
     "'example.com/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa':'1'",
     NONE, NONE, NONE, false},
    /* where */
    {"two hosts at once", NONE, NONE, NONE,
     ",'nodeSelector':{" HOST ":'n0'},'affinity':{'nodeAffinity':{" REQUIRED
     ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':" HOST
     ",'operator':'NotIn','values':['n0']}]}]}}}",
     false},
    {"no such host", NONE, NONE, NONE, ",'nodeSelector':{" HOST ":'n77'}", false},
    {"no terms", NONE, NONE, NONE,
     ",'affinity':{'nodeAffinity':{" REQUIRED ":{'nodeSelectorTerms':[]}}}", false},
    {"an unknown operator", NONE, NONE, NONE,
     ",'affinity':{'nodeAffinity':{" REQUIRED
     ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Perhaps'}]}]}}}",
     false},
    {"values that are none", NONE, NONE, NONE,
     ",'affinity':{'nodeAffinity':{" REQUIRED
     ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'In','values':[]}]}]}}}",
     false},
    {"a taint as a label", NONE, NONE, NONE, ",'nodeSelector':{'taint:a=b:NoSchedule':''}", false},
    {"NUL in a selector", NONE, NONE, NONE, ",'nodeSelector':{'a':'b\\u0000c'}", false},
    {"with pods of others", NONE, NONE, NONE,
     ",'affinity':{'podAffinity':{" REQUIRED ":[{'topologyKey':" HOST
     ",'labelSelector':{'matchLabels':{'a':'b'}}}]}}",
     false},
    {"together and apart", NONE, "'fluxqueue/within':'rack'", "'app':'x'",
     ",'affinity':{'podAffinity':{" REQUIRED ":[{'topologyKey':" HOST
     ",'labelSelector':{'matchLabels':{'app':'x'}}}]},'podAntiAffinity':{" REQUIRED
     ":[{'topologyKey':" HOST ",'labelSelector':{'matchLabels':{'app':'x'}}}]}}",
     false},
    {"within a level that is not there", NONE, "'fluxqueue/within':'moon'", NONE, NONE, false},
    {"within itself", NONE, "'fluxqueue/within':'slot'", NONE, NONE, false},
    {"within levels in a circle", NONE, "'fluxqueue/within':'rack/node/rack'", NONE, NONE, false},
    {"within a rack that has no nodes", NONE, "'fluxqueue/within':'rack'", NONE, NONE, false},
    {"tasks that are more than pods", NONE, "'fluxqueue/tasks-per-node':'7'", NONE, NONE, false},
    {"no tasks", NONE, "'fluxqueue/tasks-per-node':'0'", NONE, NONE, false},
    {"2^64 tasks", NONE, "'fluxqueue/tasks-per-node':'18446744073709551616'", NONE, NONE, false},
    {"whole nodes, spread", NONE, "'fluxqueue/whole-nodes':'true','fluxqueue/tasks-per-node':'2'",
     "'app':'y'",
     ",'topologySpreadConstraints':[{'maxSkew':1,'whenUnsatisfiable':'DoNotSchedule','topologyKey':"
     "'example.com/rack','labelSelector':{'matchLabels':{'app':'y'}}}]",
     false},
    {"perhaps whole", NONE, "'fluxqueue/whole-nodes':'perhaps'", NONE, NONE, false},
    {"all host ports", NONE, NONE, NONE,
     ",'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':-1}]}]", true},
    {"a port twice", NONE, NONE, NONE,
     ",'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':99999}]}]",
     true},
    /* when */
    {"for ever and a day", NONE, "'fluxqueue/duration':'9223372036854775807h'", NONE, NONE, false},
    {"a duration that is none", NONE, "'fluxqueue/duration':'soon'", NONE, NONE, false},
    {"a negative one", NONE, "'fluxqueue/duration':'-5s'", NONE, NONE, false},
    {"an empty one", NONE, "'fluxqueue/duration':''", NONE, NONE, false},
    {"in the far future", NONE, "'fluxqueue/begin-time':'2255-01-01T00:00:00Z'", NONE, NONE, false},
    {"beyond it", NONE, "'fluxqueue/begin-time':'99999-01-01T00:00:00Z'", NONE, NONE, false},
    {"seconds beyond it", NONE, "'fluxqueue/begin-time':'9223372036854775807'", NONE, NONE, false},
    {"in the far past", NONE, "'fluxqueue/begin-time':'1970-01-01T00:00:00Z'", NONE, NONE, true},
    {"before all time", NONE, "'fluxqueue/begin-time':'-9223372036854775808'", NONE, NONE, false},
    {"a deadline of another type", NONE, NONE, NONE, ",'activeDeadlineSeconds':'5'", false},
    {"a negative deadline", NONE, NONE, NONE, ",'activeDeadlineSeconds':-5", false},
    /* queues */
    {"no such queue", NONE, "'fluxqueue/queue':'no-such-queue'", NONE, NONE, false},
    {"a path", NONE, "'fluxqueue/queue':'../../etc/passwd'", NONE, NONE, false},
    {"NUL in a queue", NONE, "'fluxqueue/queue':'default\\u0000x'", NONE, NONE, false},
    {"Unicode in a queue", NONE, "'fluxqueue/queue':'\\ud83d\\ude00\\u202e'", NONE, NONE, false},
    {"half of a character", NONE, "'fluxqueue/duration':'5s\\u0301\\u0000'", NONE, NONE, false},
    /* groups */
    {"a group that never fills", NONE, "'fluxqueue/group-size':'100000'",
     "'fluxqueue/group-name':'never'", NONE, false},
    {"a group of none", NONE, "'fluxqueue/group-size':'0'", "'fluxqueue/group-name':'none'", NONE,
     false},
    {"a group of less", NONE, "'fluxqueue/group-size':'-3'", "'fluxqueue/group-name':'less'", NONE,
     false},
    {"a group of 2^32 + 2", NONE, "'fluxqueue/group-size':'4294967298'",
     "'fluxqueue/group-name':'wraps'", NONE, false},
    {"a group without a size", NONE, NONE, "'fluxqueue/group-name':'sizeless'", NONE, false},
    {"a group without a name", NONE, "'fluxqueue/group-size':'2'", "'fluxqueue/group-name':'../x'",
     NONE, false},
    {"one that disagrees", NONE, "'fluxqueue/group-size':'3'", "'fluxqueue/group-name':'at-odds'",
     NONE, false},
    {"the one it disagrees with", NONE, "'fluxqueue/group-size':'2'",
     "'fluxqueue/group-name':'at-odds'", NONE, false},
    {"one of two kinds", NONE, "'fluxqueue/group-size':'2','fluxqueue/duration':'5s'",
     "'fluxqueue/group-name':'differs'", NONE, false},
    {"the other kind", NONE, "'fluxqueue/group-size':'2','fluxqueue/duration':'6s'",
     "'fluxqueue/group-name':'differs'", NONE, false},
    /* jobspecs */
    {"no YAML", NONE, JOBSPEC("{{{"), NONE, NONE, false},
    {"no jobspec", NONE, JOBSPEC("[]"), NONE, NONE, false},
    {"nothing but a version", NONE, JOBSPEC("version: 1"), NONE, NONE, false},
    {"another version", NONE, JOBSPEC("{version: 9223372036854775807}"), NONE, NONE, false},
    {"no slots", NONE, JOBSPEC(SLOT("resources: [{type: node, count: 1}]")), NONE, NONE, false},
    {"2^63 slots", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: 9223372036854775808, with: [{type: "
                  "core, count: 1}]}]")),
     NONE, NONE, false},
    {"no slot at all", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: 0, with: [{type: core, count: 1}]}]")),
     NONE, NONE, false},
    {"less than none", NONE,
     JOBSPEC(
         SLOT("resources: [{type: slot, label: a, count: -1, with: [{type: core, count: 1}]}]")),
     NONE, NONE, false},
    {"slots in slots", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: 1, with: [{type: slot, label: b, "
                  "count: 1, with: [{type: core, count: 1}]}]}]")),
     NONE, NONE, false},
    {"ranges that are upside down", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: {min: 9, max: 2, operator: +, "
                  "operand: 1}, with: [{type: core, count: 1}]}]")),
     NONE, NONE, false},
    {"anchors that refer to themselves", NONE, JOBSPEC("&a [*a]"), NONE, NONE, false},
    {"anchors", NONE, JOBSPEC("{a: &a [x, x], b: [*a, *a], version: 1}"), NONE, NONE, false},
    {"hosts without end", NONE,
     JOBSPEC(
         SLOT("resources: [{type: slot, label: a, count: 1, with: [{type: core, count: 1}]}], "
              "attributes: {system: {constraints: {hostlist: [\\u0022n[0-99999999]\\u0022]}}}")),
     NONE, NONE, false},
    {"a constraint and its opposite", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: 1, with: [{type: core, count: 1}]}], "
                  "attributes: {system: {constraints: {and: [{hostlist: [n0]}, {not: [{hostlist: "
                  "[n0]}]}]}}}")),
     NONE, NONE, false},
    {"a duration of its own", NONE,
     JOBSPEC(SLOT("resources: [{type: slot, label: a, count: 1, with: [{type: core, count: 1}]}], "
                  "attributes: {system: {duration: 1e308}}")),
     NONE, NONE, false},
    {"another container of YAML", NONE, JOBSPEC("--- {version: 1}\\n--- {version: 1}"), NONE, NONE,
     false},
    /* what only we write */
    {"a forged number", NONE, NONE, "'fluxqueue/jobid':'1','fluxqueue/fluxion-nodes':'n0'", NONE,
     true},
    {"a forged node", NONE, "'fluxqueue/fluxion-nodes':'n3__n2','fluxqueue/jobid':'2'", NONE, NONE,
     true},
    {"a verdict of its own", NONE, NONE, "'fluxqueue/unschedulable':'yes'", NONE, true},
    {"a forged seat", NONE, NONE, "'kueue.x-k8s.io/podset':'main'",
     ",'nodeSelector':{" HOST ":'\\u0000'}", false},
    {"a finalizer", NONE, "'x':'y'", NONE, ",'terminationGracePeriodSeconds':-1", true},
};

static void bad_pod_body(const struct bad_pod *b, size_t i, char *body, size_t size) {
    sl_fmt(body, size,
           "{'metadata':{'name':'bad-%zu','labels':{'fluxqueue.seen':'yes'%s%s%s},'annotations':"
           "{%s}},'spec':{'containers':[{'name':'main','resources':{'requests':{%s}}}],"
           "'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}]%s}}",
           i, b->may_run ? ",'may-run':'yes'" : "", *b->labels ? "," : "", b->labels,
           b->annotations, *b->requests ? b->requests : "'cpu':'1m'", b->spec);
}

/* ---- Jobs, sets and FluxJobs ---- */

#define TEMPLATE                                                                                   \
    "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"          \
    "'FluxionScheduler','containers':[{'name':'main','resources':{'requests':{'cpu':'1m'}}}]}}"
#define JOB(name, spec)                                                                            \
    "{'metadata':{'name':'" name                                                                   \
    "','labels':{'fluxqueue.seen':'yes'}},'spec':{'suspend':true," TEMPLATE spec "}}"
#define RAW                                                                                        \
    "{version: 1, resources: [{type: slot, count: 4, label: a, with: [{type: core, count: 8000}]}" \
    "], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {}}"

/* One slot for two pods. */
#define FEW                                                                                        \
    "{'metadata':{'name':'few','labels':{'fluxqueue.seen':'yes'},'annotations':{"                  \
    "'fluxqueue/jobspec':'{version: 1, resources: [{type: slot, count: 1, label: a, with: "        \
    "[{type: "                                                                                     \
    "core, count: 1}]}], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {}}'" \
    "}},'spec':{'suspend':true,'parallelism':2,'completions':2," TEMPLATE "}}"

/* name: of what has to be explained; NULL: it has no pods, or there is nothing left of it. */
static const struct bad_object {
    const char *collection, *body, *name;
} bad_objects[] = {
    {JOBS, JOB("many", ",'parallelism':2147483647,'completions':2147483647"), "many"},
    {JOBS, JOB("minus", ",'parallelism':-5,'completions':10"), NULL},
    {JOBS, JOB("none", ",'parallelism':0,'completions':10"), NULL},
    {JOBS, JOB("indexed", ",'parallelism':100001,'completionMode':'Indexed'"), "indexed"},
    {JOBS, JOB("floats", ",'parallelism':1e99,'completions':{'a':[]}"), NULL},
    {JOBS, FEW, "few"},
    {SETS, JOB("wide", ",'replicas':2147483647"), "wide"},
    {SETS, JOB("narrow", ",'replicas':-1"), NULL},
    /* FluxJobs by hand: of nothing, of others, twice, with what only we write */
    {FLUXJOBS, "{'metadata':{'name':'empty'},'spec':{}}", "empty"},
    {FLUXJOBS, "{'metadata':{'name':'typeless-pod'},'spec':{'type':99,'name':'typeless'}}",
     "typeless-pod"},
    {FLUXJOBS, "{'metadata':{'name':'minus-pod'},'spec':{'type':-1,'name':'x','duration':-9}}",
     "minus-pod"},
    {FLUXJOBS,
     "{'metadata':{'name':'lost-pod'},'spec':{'type':0,'name':'lost','jobspec':'" RAW
     "','priority':2147483647}}",
     "lost-pod"},
    {FLUXJOBS,
     "{'metadata':{'name':'steals'},'spec':{'type':0,'name':'good-50-0','jobspec':'" RAW
     "','priority':2147483647,'duration':2147483647}}",
     "steals"},
    {FLUXJOBS, "{'metadata':{'name':'again'},'spec':{'type':0,'name':'bad-0','jobspec':'" RAW "'}}",
     "again"},
    {FLUXJOBS,
     "{'metadata':{'name':'kept-pod','finalizers':['fluxqueue/in-use','x.io/never']},"
     "'spec':{'type':0,'name':'kept','jobspec':'{{{'}}",
     "kept-pod"},
    {FLUXJOBS,
     "{'metadata':{'name':'owned-pod','ownerReferences':[{'apiVersion':'v1','kind':'Pod',"
     "'name':'nobody','uid':'no-such-uid','controller':true}]},'spec':{'type':0,'name':"
     "'owned','jobspec':'" RAW "'}}",
     NULL},
    {FLUXJOBS,
     "{'metadata':{'name':'group-group','finalizers':['fluxqueue/in-use']},'spec':{"
     "'type':5,'name':'group','jobspec':'" RAW "'}}",
     NULL},
    {FLUXJOBS,
     "{'metadata':{'name':'running-pod'},'spec':{'type':0,'name':'running','jobspec':'" RAW
     "'},'status':{'state':'Running','jobid':1,'nodes':[{'name':'n0','pods':1000}]}}",
     "running-pod"},
    {FLUXJOBS,
     "{'metadata':{'name':'later-pod'},'spec':{'type':0,'name':'later','beginTime':"
     "'9999-12-31T23:59:59Z','duration':2147483647,'queue':'\\u0000','jobspec':'\\u0000'}"
     "}",
     "later-pod"},
};

/* ---- what becomes of them ---- */

struct search {
    const char *name;
    bool found;
};

static void find_event(void *ctx, yyjson_val *e) {
    struct search *s = ctx;
    yyjson_val *of = sl_json_get(e, "regarding") ? sl_json_get(e, "regarding")
                                                 : sl_json_get(e, "involvedObject");
    const char *note = sl_json_str(e, *sl_json_str(e, "note") ? "note" : "message");
    s->found |= strcmp(sl_json_str(of, "name"), s->name) == 0 && *note &&
                strcmp(sl_json_str(e, "type"), "Warning") == 0;
}

static bool has_event(struct world *w, const char *name) {
    struct search s = {.name = name};
    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/namespaces/default/events", find_event, &s);
    (void)fakeapi_each(w->api, "/api/v1/namespaces/default/events", find_event, &s);
    return s.found;
}

/* Its FluxJob says why it does not run. */
static bool has_reason(struct world *w, const char *flux) {
    char path[300];
    sl_fmt_short(path, sizeof path, FLUXJOBS "/%s", flux);
    const char *state = at(w, path, "status.state");
    return fakeapi_get(w->api, path) && *at(w, path, "status.reason") &&
           *at(w, path, "status.message") && strcmp(state, "Running") != 0;
}

struct flux_of {
    const char *object;
    char name[256];
};

static void find_flux(void *ctx, yyjson_val *o) {
    struct flux_of *f = ctx;
    if (strcmp(sl_json_str(o, "spec.name"), f->object) == 0)
        sl_fmt(f->name, sizeof f->name, "%s", sl_json_str(o, "metadata.name"));
}

static bool is_explained(struct world *w, const char *object, const char *group) {
    struct flux_of f = {.object = *group ? group : object};
    (void)fakeapi_each(w->api, FLUXJOBS, find_flux, &f);
    return (*f.name && has_reason(w, f.name)) || has_event(w, object);
}

static int post_quoted(struct world *w, const char *path, char *body) {
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return post(w, path, body);
}

/* ---- large ones ---- */

static int post_large(struct world *w, int which, const char *name) {
    static const char *const before[] = {
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"fluxqueue.seen\":\"yes\"},\"annotations\":{"
        "\"fluxqueue/jobspec\":\"",
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"fluxqueue.seen\":\"yes\"},\"annotations\":{"
        "\"fluxqueue/within\":\"",
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"fluxqueue.seen\":\"yes\"},\"annotations\":{"
        "\"fluxqueue/duration\":\"",
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"fluxqueue.seen\":\"yes\"},\"annotations\":{"
        "\"fluxqueue/jobspec\":\"version: 1\\nresources: ",
    };
    static const struct {
        const char *text;
        size_t times;
    } filling[] = {{"[", 100000}, {"x", 200000}, {"9", 200000}, {"{with: ", 8000}};
    struct sl_buf b = SL_BUF(BIG);
    sl_buf_printf(&b, before[which], name);
    for (size_t i = 0; i < filling[which].times; i++)
        sl_buf_puts(&b, filling[which].text);
    sl_buf_puts(&b, "\"}},\"spec\":{\"schedulerName\":\"FluxionScheduler\",\"schedulingGates\":[{"
                    "\"name\":\"fluxqueue\"}],\"containers\":[{\"name\":\"main\"}]}}");
    assert_false(sl_buf_full(&b));
    int r = post(w, PODS, b.s);
    sl_buf_done(&b);
    return r;
}
#define LARGE 4

/* ---- the runs ---- */

struct bads {
    int pods[SL_LEN(bad_pods)], objects[SL_LEN(bad_objects)], large[LARGE]; /* HTTP statuses */
    struct stream *s;
    size_t next;
};

static void post_bad(struct bads *x, size_t i) {
    char body[4096];
    struct world *w = x->s->w;
    if (i < SL_LEN(bad_pods)) {
        bad_pod_body(&bad_pods[i], i, body, sizeof body);
        x->pods[i] = post_quoted(w, PODS, body);
    } else if ((i -= SL_LEN(bad_pods)) < SL_LEN(bad_objects)) {
        sl_fmt(body, sizeof body, "%s", bad_objects[i].body);
        x->objects[i] = post_quoted(w, bad_objects[i].collection, body);
    } else {
        char name[32];
        i -= SL_LEN(bad_objects);
        sl_fmt(name, sizeof name, "large-%zu", i);
        x->large[i] = post_large(w, (int)i, name);
    }
}

#define BADS (SL_LEN(bad_pods) + SL_LEN(bad_objects) + LARGE)

/* Two of them each second, while good ones come. */
static void next_bad(void *ctx, uint64_t arg) {
    struct bads *x = ctx;
    (void)arg;
    for (int k = 0; k < 2 && x->next < BADS; k++)
        post_bad(x, x->next++);
    if (x->next < BADS)
        fakeapi_at(x->s->w->api, fakeapi_now(x->s->w->api) + SL_SEC, next_bad, x, 0);
}

static void big_node(struct world *w, int i) {
    char body[600], path[100];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'n%d','labels':{'kubernetes.io/hostname':'n%d'}}}", i, i);
    create(w, NODES, body);
    sl_fmt(path, sizeof path, NODES "/n%d/status", i);
    /* A tenth of a core is left for what may run. */
    patch(w, path, SL_JSON_CONST({
              "status" : {
                  "allocatable" : {"cpu" : "8100m", "memory" : "32Gi", "pods" : "110"},
                  "conditions" : [ {"type" : "Ready", "status" : "True"} ]
              }
          }));
}

static void stream_begin(struct stream *s, struct world *w) {
    *s = (struct stream){.w = w,
                         .view = {.settings = w->settings,
                                  .flux = true,
                                  .queue_open = no_queue,
                                  .queue_exists = no_queue,
                                  .ns_managed = never,
                                  .ns_flux = always,
                                  .owner_managed = no_owner}};
    fakeapi_on_change(w->api, on_change, s);
    fakeapi_on_write(w->api, review, s);
    for (int i = 0; i < NODE_COUNT; i++)
        if (!fakeapi_get(w->api, NODES "/n3"))
            big_node(w, i);
    run(w, 2 * SL_SEC + SL_SEC / 2);
    fakeapi_at(w->api, fakeapi_now(w->api), next_good, s, 0);
}

static sl_time first_bound;

/* From the first good one on. */
static void stream_end(struct stream *s, sl_time ret[GOOD][MEMBERS]) {
    run(s->w, GOOD * EVERY + 5 * SL_MINUTE);
    for (int i = 0; i < GOOD; i++)
        for (int m = 0; m < (is_group(i) ? MEMBERS : 1); m++) {
            if (!s->bound[i][m])
                fail_msg("good-%d-%d has not started", i, m);
            ret[i][m] = s->bound[i][m];
        }
    if (*s->ran)
        fail_msg("%s", s->ran);
}

static sl_time alone[GOOD][MEMBERS];

static void compare(sl_time with[GOOD][MEMBERS], sl_span offset) {
    sl_span most = 0;
    for (int i = 0; i < GOOD; i++)
        for (int m = 0; m < (is_group(i) ? MEMBERS : 1); m++) {
            sl_span later = with[i][m] - offset - alone[i][m];
            most = later > most ? later : most;
            if (later > LATE)
                fail_msg("good-%d-%d starts at %lld ms instead of %lld ms", i, m,
                         (long long)((with[i][m] - offset) / SL_MSEC),
                         (long long)(alone[i][m] / SL_MSEC));
        }
    print_message("# %d good jobs, none later than %lld ms\n", GOOD, (long long)(most / SL_MSEC));
}

/* What the others are compared with: the latest start of each, since of two jobs that end in the
 * same milliseconds either may be first. And jobs wait, or there would be nothing to compare. */
static void test_alone(void **state) {
    int waited = 0;
    for (fq_seed = 1; fq_seed <= SEEDS; fq_seed++) {
        struct stream s;
        void *w = NULL;
        sl_time starts[GOOD][MEMBERS];
        assert_int_equal(setup(&w), 0);
        stream_begin(&s, w);
        first_bound = fakeapi_now(s.w->api);
        stream_end(&s, starts);
        for (int i = 0; i < GOOD; i++)
            for (int m = 0; m < (is_group(i) ? MEMBERS : 1); m++)
                alone[i][m] = starts[i][m] > alone[i][m] ? starts[i][m] : alone[i][m];
        assert_int_equal(teardown(&w), 0);
    }
    fq_seed = 1;
    (void)state;
    for (int i = 0; i < GOOD; i++)
        waited += alone[i][0] > first_bound + i * EVERY + SL_SEC;
    print_message("# %d of %d jobs wait\n", waited, GOOD);
    assert_true(waited > GOOD / 4);
}

static void beside(struct world *w, bool reviewed) {
    struct stream s;
    struct bads x = {.s = &s};
    sl_time with[GOOD][MEMBERS];
    int refused = 0, unexplained = 0;
    stream_begin(&s, w);
    s.reviewed = reviewed;
    fakeapi_at(w->api, fakeapi_now(w->api) + 7 * SL_SEC / 10, next_bad, &x, 0);
    stream_end(&s, with);
    compare(with, 0);
    assert_int_equal(x.next, BADS);
    for (size_t i = 0; i < SL_LEN(bad_pods); i++) {
        char name[32], group[64] = "";
        const char *mark = "'fluxqueue/group-name':'";
        const char *labels = strstr(bad_pods[i].labels, mark);
        sl_fmt(name, sizeof name, "bad-%zu", i);
        if (labels)
            sl_fmt(group, sizeof group, "%.*s", (int)strcspn(labels + strlen(mark), "'"),
                   labels + strlen(mark));
        refused += x.pods[i] != 201;
        if (x.pods[i] != 201 || bad_pods[i].may_run || is_explained(w, name, group))
            continue;
        print_error("%s: %s is neither refused nor explained\n", name, bad_pods[i].what);
        unexplained++;
    }
    for (size_t i = 0; i < SL_LEN(bad_objects); i++) {
        const char *name = bad_objects[i].name;
        bool flux = strcmp(bad_objects[i].collection, FLUXJOBS) == 0;
        refused += x.objects[i] != 201;
        if (x.objects[i] != 201 || !name ||
            (flux ? has_reason(w, name) : is_explained(w, name, "")))
            continue;
        print_error("%s is neither refused nor explained\n", name);
        unexplained++;
    }
    for (int i = 0; i < LARGE; i++) {
        char name[32];
        sl_fmt(name, sizeof name, "large-%d", i);
        refused += x.large[i] != 201;
        if (x.large[i] == 201 && !is_explained(w, name, "")) {
            print_error("%s is neither refused nor explained\n", name);
            unexplained++;
        }
    }
    print_message("# %zu bad ones, %d of them refused at once\n", BADS, refused);
    assert_int_equal(unexplained, 0);
    assert_true(reviewed == (refused > 0));
}

static void test_reviewed(void **state) {
    beside(*state, true);
}

/* As objects that were there before the webhook, or while it was off. */
static void test_stored(void **state) {
    beside(*state, false);
}

/* ---- thousands of them ---- */

static void flood(struct world *w, uint32_t i) {
    char body[700];
    if (i % 2)
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'flood-%u','labels':{'fluxqueue.seen':'yes'}},'spec':{"
               "'priority':1000,'containers':[{'name':'main','resources':{'requests':{'cpu':'%u'}}}"
               "],'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}]}}",
               i, 9 + i);
    else
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'flood-%u-pod'},'spec':{'type':0,'name':'flood-%u','priority':"
               "1000,'jobspec':'" RAW "'}}",
               i, i);
    create(w, i % 2 ? PODS : FLUXJOBS, body);
}

static double cpu_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void change_node(void *ctx, uint64_t arg) {
    struct stream *s = ctx;
    (void)arg;
    (void)fakeapi_do(s->w->api, SL_PATCH, NODES "/n0", SL_MERGE_PATCH,
                     SL_JSON_CONST({"metadata" : {"labels" : {"a" : "b"}}}), NULL);
}

/* In front of the queue, with a higher priority than all others. */
static void test_flood(void **state) {
    struct world *w = *state;
    struct stream s;
    sl_time with[GOOD][MEMBERS];
    for (uint32_t i = 0; i < FLOOD; i++)
        flood(w, i);
    for (int i = 0; i < NODE_COUNT; i++)
        big_node(w, i);
    double begun = cpu_seconds();
    run(w, 10 * SL_MINUTE);
    print_message("# %u that can never run took %.1f s\n", FLOOD, cpu_seconds() - begun);
    begun = cpu_seconds();
    sl_time at_begin = fakeapi_now(w->api);
    stream_begin(&s, w);
    /* All of them are tried again. */
    fakeapi_at(w->api, fakeapi_now(w->api) + SL_MINUTE, change_node, &s, 0);
    stream_end(&s, with);
    compare(with, at_begin);
    print_message("# the stream beside them took %.1f s\n", cpu_seconds() - begun);
    for (uint32_t i = 0; i < FLOOD; i += 97) {
        char name[32];
        sl_fmt(name, sizeof name, "flood-%u-pod", i);
        if (!has_reason(w, name))
            fail_msg("%s is not explained", name);
    }
}

/* ---- one at a time ---- */

/* A pod that names the Job of another namespace as its owner is none of that Job's. */
static void test_foreign_owner(void **state) {
    struct world *w = *state;
    char body[1200];
    node(w, "n0", "4");
    job(w, "theirs", 1, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/theirs-job", "status.state", "Running");
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'thief','namespace':'other','labels':{'fluxqueue.seen':'yes'},"
           "'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'theirs','uid':'%s',"
           "'controller':true}]},'spec':{'schedulerName':'FluxionScheduler','containers':[{'name':"
           "'main','resources':{'requests':{'cpu':'1'}}}]}}",
           at(w, JOBS "/theirs", "metadata.uid"));
    create(w, OTHER_PODS, body);
    run(w, SL_SEC);
    assert_field(w, OTHER_PODS "/thief", "spec.nodeName", "");
    const char *mine = child(w, "Job", "theirs", 0);
    run(w, SL_SEC);
    assert_field(w, mine, "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/theirs-job", "status.reason", "Allocated");
}

/* A Job whose jobspec has fewer places than it has pods would start and wait again for ever. */
static void test_too_few(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, JOBS, FEW);
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/few-job", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/few-job", "status.reason", "InvalidJobspec");
}

/* The name that its FluxJob would have is taken: it is told so, and starts when that one is gone.
 */
static void test_name_taken(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, FLUXJOBS,
           "{'metadata':{'name':'a-pod'},'spec':{'type':1,'name':'b','jobspec':'" RAW "'}}");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, 10 * SL_SEC);
    assert_true(has_event(w, "a"));
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    drop(w, FLUXJOBS "/a-pod");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* What waits as a job is edited, and cannot be one any more: it is told so. */
static void test_edited(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "first", "1", "", "");
    run(w, SL_SEC);
    job(w, "late", 1, "1", "");
    run(w, SL_SEC);
    assert_false(has_event(w, "late"));
    patch(w, JOBS "/late",
          SL_JSON_CONST({"metadata" : {"annotations" : {"fluxqueue/duration" : "soon"}}}));
    run(w, 5 * SL_SEC);
    assert_true(has_event(w, "late"));
}

/* A status that only somebody with its rights can write: ids beyond all bounds, places without an
 * object, two jobs of one id. Nobody is kept from running by it, also after a restart. */
static void test_forged_status(void **state) {
    struct world *w = *state;
    static const char *const statuses[] = {
        ("{'status':{'state':'Running','jobid':72057594037927935,'nodes':[{'name':'n0','pods':4}],"
         "'startedAt':'2026-01-01T00:00:00Z','submittedAt':'2026-01-01T00:00:00Z'}}"),
        "{'status':{'state':'Running','jobid':1,'nodes':[{'name':'n0','pods':2147483647}]}}",
        "{'status':{'state':'Running','jobid':-9223372036854775808,'nodes':[{'name':'n0'}]}}",
        "{'status':{'state':'Waiting','jobid':2,'queuePosition':-1,'pods':{'expected':-1}}}",
        "{'status':{'state':'Reserved','jobid':2,'estimatedStart':'9999-12-31T23:59:59Z'}}",
        "{'status':{'state':'\\u0000','jobid':'x','nodes':{'a':1},'submittedAt':7}}",
    };
    node(w, "n0", "4");
    pod(w, "before", "1", "", "");
    run(w, SL_SEC);
    stop(w, 0);
    for (size_t i = 0; i < SL_LEN(statuses); i++) {
        char body[600], path[200];
        sl_fmt(body, sizeof body,
               "{'metadata':{'name':'f%zu-pod'},'spec':{'type':0,'name':'f%zu','jobspec':'{version:"
               " 1, resources: [{type: slot, count: 1, label: a, with: [{type: core, count: 1000}]}"
               "], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {}}'}}",
               i, i);
        create(w, FLUXJOBS, body);
        sl_fmt(path, sizeof path, FLUXJOBS "/f%zu-pod/status", i);
        sl_fmt(body, sizeof body, "%s", statuses[i]);
        for (char *c = body; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        patch(w, path, body);
    }
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/before", "spec.nodeName", "n0");
    pod(w, "after", "3", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/after", "spec.nodeName", "n0");
    int64_t id = number(w, FLUXJOBS "/after-pod", "status.jobid");
    assert_true(id > 0 && id < FQ_PLAIN_ID);
    assert_true(id != number(w, FLUXJOBS "/before-pod", "status.jobid"));
    for (size_t i = 0; i < SL_LEN(statuses); i++) {
        char name[32];
        sl_fmt(name, sizeof name, "f%zu-pod", i);
        if (!has_reason(w, name))
            fail_msg("%s: %s %s", name, at(w, FLUXJOBS "/f0-pod", "status.state"),
                     at(w, FLUXJOBS "/f0-pod", "status.reason"));
    }
}

/* Ports that somebody asks for one after the other: those who had theirs keep them. */
static void test_many_ports(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    pod(w, "web", "1", "",
        "'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':8080}]}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/web", "spec.nodeName", "n0");
    for (int i = 0; i < 3 * (int)FQ_MAX_PORTS; i++) {
        char name[32], more[200];
        sl_fmt(name, sizeof name, "scan-%d", i);
        sl_fmt(more, sizeof more,
               "'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':%d}]}]",
               1000 + i);
        pod(w, name, "1m", "", more);
        run(w, SL_SEC / 5);
    }
    /* The port of one that runs is still a pool: a second one waits for it. */
    pod(w, "web2", "1", "",
        "'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':8080}]}]");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/web2", "spec.nodeName", "");
    assert_string_not_equal(at(w, FLUXJOBS "/web2-pod", "status.reason"), "NoSuchResource");
    for (int i = 0; i < 3 * (int)FQ_MAX_PORTS; i++) {
        char path[100];
        sl_fmt(path, sizeof path, PODS "/scan-%d", i);
        drop(w, path);
    }
    phase(w, "web", "Succeeded");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/web2", "spec.nodeName", "n0");
    /* And those of others are free for whoever comes next. */
    pod(w, "late", "1", "",
        "'initContainers':[{'name':'p','restartPolicy':'Always','ports':[{'hostPort':99}]}]");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/late", "spec.nodeName", "n0");
}

/* More than its status could be written with: it is rejected, and holds nothing. One that grows so
 * far keeps what it has. */
static void test_long_names(void **state) {
    struct world *w = *state;
    const int nodes = 3800;
    char name[FQ_MAX_NAME + 1];
    for (int i = 0; i < nodes; i++) {
        memset(name, 'n', sizeof name);
        sl_fmt(name + 244, sizeof name - 244, "-%d", 1000 + i);
        node(w, name, "1");
    }
    job(w, "job", nodes, "1", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.reason", "TooManyNodes");
    set(w, "set", 3500, "1");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.state", "Running");
    assert_int_equal(
        sl_json_size(sl_json_at(fakeapi_get(w->api, FLUXJOBS "/set-statefulset"), "status.nodes")),
        3500);
    drop(w, JOBS "/job");
    for (int i = 0; i < 300; i++) {
        sl_fmt(name, sizeof name, "last-%d", i);
        pod(w, name, "1", "", "");
    }
    run(w, 10 * SL_SEC);
    assert_string_not_equal(at(w, PODS "/last-299", "spec.nodeName"), "");
}

/* A priority beyond an int32 is the highest, and not what is left of it when it is cut. */
static void test_wide_priority(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    pod(w, "now", "1", "", "");
    run(w, SL_SEC);
    pod(w, "ten", "1", "", "'priority':10");
    pod(w, "wide", "1", "", "'priority':1");
    run(w, SL_SEC);
    patch(w, FLUXJOBS "/wide-pod", SL_JSON_CONST({"spec" : {"priority" : 4294967297}}));
    run(w, SL_SEC);
    phase(w, "now", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/wide", "spec.nodeName", "n0");
    assert_field(w, PODS "/ten", "spec.nodeName", "");
}

/* The name of a FluxJob is that of its object, cut: a dash behind a dot would be no name. */
static void test_dotted_names(void **state) {
    struct world *w = *state;
    char name[254], path[600], flux[SL_REC_NAME];
    node(w, "n0", "8");
    for (int dot = 198; dot < 202; dot++) {
        memset(name, 'a', sizeof name - 1);
        name[253] = '\0';
        name[dot] = '.';
        pod(w, name, "1", "", "");
        run(w, 2 * SL_SEC);
        sl_fmt(path, sizeof path, PODS "/%s", name);
        assert_field(w, path, "spec.nodeName", "n0");
        assert_null(strstr(fq_job_name(SL_FLUX_POD, name, flux), ".-"));
    }
}

static int review_fluxjob(void *ctx, const struct fakeapi_write *write, struct sl_buf *why) {
    const bool *refuses = ctx;
    if (!*refuses || strcmp(write->kind->kind, "FluxJob") != 0 || write->old)
        return 0;
    sl_buf_puts(why, "exceeded quota");
    return 403;
}

/* An object whose FluxJob is refused has no other way to say why it waits than an event. */
static void test_refused_fluxjob(void **state) {
    struct world *w = *state;
    bool refuses = true;
    fakeapi_on_write(w->api, review_fluxjob, &refuses);
    node(w, "n0", "8");
    job(w, "j", 1, "1", "");
    pod(w, "p", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_int_equal(events(w, "FluxJobRefused", "j"), 1);
    assert_int_equal(events(w, "FluxJobRefused", "p"), 1);
    refuses = false;
    run(w, 5 * SL_MINUTE);
    assert_field(w, FLUXJOBS "/j-job", "status.state", "Running");
    assert_field(w, PODS "/p", "spec.nodeName", "n0");
}

static void begin_at(struct world *w, const char *name, const char *time) {
    char body[400];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s-job'},'spec':{'type':1,'name':'%s','beginTime':'%s','jobspec':"
           "'{version: 1, tasks: [], attributes: {system: {duration: 0}}, resources: [{type: slot, "
           "count: 1, label: a, with: [{type: core, count: 1}]}]}'}}",
           name, name, time);
    create(w, FLUXJOBS, body);
    job(w, name, 1, "1", "");
}

/* Times that no clock of ours can show are long ago, or never. */
static void test_far_begin(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    begin_at(w, "never", "9999-12-31T23:59:59Z");
    begin_at(w, "zero", "0001-01-01T00:00:00Z");
    begin_at(w, "old", "1900-01-01T00:00:00Z");
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/never-job", "status.reason", "BeginTime");
    assert_field(w, FLUXJOBS "/zero-job", "status.state", "Running");
    assert_field(w, FLUXJOBS "/old-job", "status.state", "Running");
}

/* No kubelet takes a pod against its node selector, whatever its owner's jobspec says. */
static void test_own_jobspec_elsewhere(void **state) {
#define OWN                                                                                        \
    "'fluxqueue/jobspec':'{version: 1, tasks: [], attributes: {system: {duration: 0}}, "           \
    "resources: "                                                                                  \
    "[{type: slot, count: 1, label: a, with: [{type: core, count: 1}]}]}'"
#define ON(host) "'nodeSelector':{'kubernetes.io/hostname':'" host "'}"
    struct world *w = *state;
    node(w, "n0", "8");
    node(w, "n1", "8");
    pod(w, "free", "1", OWN, "");
    pod(w, "on-n1", "1", OWN, ON("n1"));
    pod(w, "nowhere", "1", OWN, ON("n2"));
    create(w, JOBS,
           "{'metadata':{'name':'j','labels':{'fluxqueue.seen':'yes'},'annotations':{" OWN "}},"
           "'spec':{'suspend':true,'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},"
           "'spec':{'containers':[{'name':'c'}]," ON("n1") "}}}}");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/free", "spec.nodeName", "n0");
    assert_field(w, PODS "/on-n1", "spec.nodeName", "n1");
    assert_field(w, PODS "/nowhere", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/nowhere-pod", "status.reason", "Unsatisfiable");
    assert_field(w, FLUXJOBS "/j-job", "status.nodeList", "n1");
    /* Nor when it was edited so that it cannot be a job: its FluxJob stays as it was. */
    patch(w, PODS "/nowhere", SL_JSON_CONST({
              "metadata" :
                  {"annotations" : {"fluxqueue/jobspec" : null, "fluxqueue/duration" : "soon"}}
          }));
    restart(w, 5 * SL_SEC);
    assert_field(w, PODS "/nowhere", "spec.nodeName", "");
    node(w, "n2", "8");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/nowhere", "spec.nodeName", "n2");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        TEST(test_reviewed),
        TEST(test_stored),
        TEST(test_flood),
        TEST(test_foreign_owner),
        TEST(test_name_taken),
        TEST(test_too_few),
        TEST(test_forged_status),
        TEST(test_many_ports),
        TEST(test_long_names),
        TEST(test_wide_priority),
        TEST(test_edited),
        TEST(test_dotted_names),
        TEST(test_refused_fluxjob),
        TEST(test_far_begin),
        TEST(test_own_jobspec_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
