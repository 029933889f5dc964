/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as jobspecs: what each annotation and each field becomes, and what is refused. */
#include "jobspec_fixture.h"

#define OWNER "'name':'a','namespace':'ns'"

struct row {
    const char *object, *want; /* a short form, or the message */
    uint32_t pods;             /* 0: one */
    enum sl_flux_type type;
    bool both; /* levels, else the lowest alone */
};

static void short_form(const char *text, size_t len, struct sl_buf *out) {
    struct sl_jobspec *j = NULL;
    struct sl_err err;

    if (sl_graphio_jobspec_read("f", text, len, &j, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
    fx_dump_reqs(out, j->resources, j->n_resources);
    if (j->duration)
        sl_buf_printf(out, " d=%" PRId64, j->duration);
    if (j->queue)
        sl_buf_printf(out, " q=%s", j->queue);
    if (j->constraint.kind != SL_CONSTRAINT_ALL) {
        sl_buf_puts(out, " c=");
        fx_dump_term(out, &j->constraint);
    }
    assert_int_equal(j->n_slots, 1);
    sl_jobspec_free(j);
}

static void check(const struct row *r) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_buf_done) struct sl_buf got = SL_BUF(100000);
    yyjson_doc *d = fx_json(r->object);
    struct sl_err err = {0};
    int code = fq_jobspec_write(r->type, yyjson_doc_get_root(d), r->pods ? r->pods : 1,
                                r->both ? &fx_both : &fx_rack, &text, &err);

    if (code < 0) {
        assert_int_equal(err.code, code);
        assert_int_equal(text.len, 0);
        sl_buf_puts(&got, err.text);
    } else {
        short_form(text.s, text.len, &got);
    }
    if (strcmp(sl_buf_str(&got), r->want) != 0)
        print_error("%s\n", r->object);
    assert_string_equal(sl_buf_str(&got), r->want);
    yyjson_doc_free(d);
}

#define CHECK_ALL(rows)                                                                            \
    for (size_t i_ = 0; i_ < SL_LEN(rows); i_++)                                                   \
    check(&(rows)[i_])

/* ---- the text ---- */

static void expect_text(enum sl_flux_type type, const char *object, uint32_t pods,
                        const char *want) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    yyjson_doc *d = fx_json(object);
    struct sl_err err = {0};

    if (fq_jobspec_write(type, yyjson_doc_get_root(d), pods, &fx_rack, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(sl_buf_str(&text), want);
    yyjson_doc_free(d);
}

static void the_pod_of_the_seed(void **state) {
    (void)state;
    expect_text(SL_FLUX_POD,
                "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'pod','namespace':'default'},"
                "'spec':{'restartPolicy':'Never','containers':[{'name':'main','image':'busybox',"
                "'resources':{'requests':{'cpu':'1','memory':'64Mi'}}}]}}",
                1,
                "attributes:\n"
                "  system:\n"
                "    duration: 0\n"
                "resources:\n"
                "- count: 1\n"
                "  label: pod\n"
                "  type: slot\n"
                "  with:\n"
                "  - count: 1000\n"
                "    type: core\n"
                "    unit: m\n"
                "  - count: 65536\n"
                "    type: memory\n"
                "    unit: Ki\n"
                "  - count: 1\n"
                "    type: pods\n"
                "tasks:\n"
                "- command:\n"
                "  - echo\n"
                "  - default\n"
                "  - pod\n"
                "  count:\n"
                "    per_slot: 1\n"
                "  slot: pod\n"
                "version: 1\n");
}

static void everything_at_once(void **state) {
    (void)state;
    expect_text(
        SL_FLUX_JOB,
        "{'metadata':{'name':'1e3','namespace':'null','labels':{'fluxqueue/queue':'gold'},"
        "'annotations':{'fluxqueue/begin-time':'2026-01-31T12:00:00Z','fluxqueue/within':'rack',"
        "'fluxqueue/whole-nodes':'true','fluxqueue/tasks-per-node':'2'}},"
        "'spec':{'activeDeadlineSeconds':90,'template':{'spec':{"
        "'nodeSelector':{'b':'2','a':'1'},'tolerations':[{'operator':'Exists'},{'key':'k','value':"
        "'true','effect':'NoExecute','tolerationSeconds':5}],"
        "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
        "'nodeSelectorTerms':[{'matchExpressions':[{'key':'z','operator':'In','values':['x','y']}]}"
        "]}}},'containers':[{}]}}}}",
        4,
        "attributes:\n"
        "  system:\n"
        "    constraints:\n"
        "      and:\n"
        "      - properties:\n"
        "        - \"a=1\"\n"
        "        - \"b=2\"\n"
        "      - or:\n"
        "        - properties:\n"
        "          - \"z=x\"\n"
        "        - properties:\n"
        "          - \"z=y\"\n"
        "    dependencies:\n"
        "    - scheme: begin-time\n"
        "      value: \"1769860800\"\n"
        "    duration: 90\n"
        "    queue: gold\n"
        "    tolerations:\n"
        "    - operator: Exists\n"
        "    - effect: NoExecute\n"
        "      key: k\n"
        "      operator: Equal\n"
        "      tolerationSeconds: 5\n"
        "      value: \"true\"\n"
        "resources:\n"
        "- count: 1\n"
        "  type: rack\n"
        "  with:\n"
        "  - count: 2\n"
        "    exclusive: true\n"
        "    type: node\n"
        "    with:\n"
        "    - count: 2\n"
        "      label: \"1e3\"\n"
        "      type: slot\n"
        "      with:\n"
        "      - count: 1\n"
        "        type: pods\n"
        "tasks:\n"
        "- command:\n"
        "  - echo\n"
        "  - \"null\"\n"
        "  - \"1e3\"\n"
        "  count:\n"
        "    per_slot: 1\n"
        "  slot: \"1e3\"\n"
        "version: 1\n");
}

/* ---- requests ---- */

#define POD(spec) "{'metadata':{" OWNER "},'spec':{" spec "}}"
#define REQ(list) "{'resources':{'requests':{" list "}}}"

static void requests(void **state) {
    static const struct row rows[] = {
        {.object = POD("'containers':[{}]"), "slot[1]{pods[1]}"},
        {.object = POD(""), "slot[1]{pods[1]}"},
        {.object = POD("'containers':[" REQ("'cpu':'100m'") "," REQ("'cpu':'0.0005'") "]"),
         "slot[1]{core[101]~m pods[1]}"},
        {.object = POD("'containers':[" REQ("'cpu':1,'memory':1") "]"),
         "slot[1]{core[1000]~m memory[1]~Ki pods[1]}"},
        {.object = POD("'containers':[" REQ("'cpu':'0','memory':'1025'") "]"),
         "slot[1]{memory[2]~Ki pods[1]}"},
        {.object = POD("'containers':[{'resources':{'limits':{'nvidia.com/gpu':'2','cpu':'3'},"
                       "'requests':{'cpu':'1'}}}]"),
         "slot[1]{core[1000]~m nvidia.com/gpu[2] pods[1]}"},
        {.object = POD("'containers':[" REQ("'hugepages-2Mi':'4Mi','ephemeral-storage':'1G',"
                                            "'example.com/a':'3','cpu':1,'memory':'1Mi'") "]"),
         "slot[1]{core[1000]~m memory[1024]~Ki ephemeral-storage[976563]~Ki example.com/a[3] "
         "hugepages-2Mi[4096]~Ki pods[1]}"},
        {.object = POD("'initContainers':[" REQ("'cpu':2") "],'containers':[" REQ("'cpu':1") "]"),
         "slot[1]{core[2000]~m pods[1]}"},
        {.object =
             POD("'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':2}}}],"
                 "'containers':[" REQ("'cpu':1") "]"),
         "slot[1]{core[3000]~m pods[1]}"},
        {.object = POD("'overhead':{'cpu':'250m'},'containers':[" REQ("'cpu':1") "]"),
         "slot[1]{core[1250]~m pods[1]}"},
        {.object = POD("'resources':{'requests':{'cpu':5}},'containers':[" REQ("'cpu':1") "]"),
         "slot[1]{core[5000]~m pods[1]}"},
        {.object = POD("'containers':[" REQ("'cpu':1") "]"),
         "slot[7]{core[1000]~m pods[1]}",
         .pods = 7},
        {.object = POD("'containers':[" REQ("'core':1") "]"),
         "expected cpu, memory, ephemeral-storage, hugepages-SIZE or a resource with a domain, got "
         "\"core\""},
        {.object = POD("'containers':[" REQ("'memory':'5Ti'") "]"),
         "memory: expected at most 4294967295Ki in one pod, got 5368709120"},
        {.object = POD("'resourceClaims':[{'name':'x'}]"),
         "resourceClaims: claims of devices cannot be honoured by this queue"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* ---- annotations ---- */

#define NOTE(list) "{'metadata':{" OWNER ",'annotations':{" list "}},'spec':{}}"
#define ONE "slot[1]{pods[1]}"
#define NOTHING "{pods[1]}"

static void duration(void **state) {
    static const struct row rows[] = {
        {.object = NOTE("'fluxqueue/duration':'90'"), ONE " d=90"},
        {.object = NOTE("'fluxqueue/duration':'90s'"), ONE " d=90"},
        {.object = NOTE("'fluxqueue/duration':'1h30m'"), ONE " d=5400"},
        {.object = NOTE("'fluxqueue/duration':'1500ms'"), ONE " d=2"},
        {.object = NOTE("'fluxqueue/duration':'0'"), ONE},
        {.object = NOTE("'fluxqueue/duration':'9000000000'"), ONE " d=9000000000"},
        {.object = NOTE("'fluxqueue/duration':'9000000001'"),
         "fluxqueue/duration: expected seconds, or a duration such as 1h30m, got \"9000000001\""},
        {.object = NOTE("'fluxqueue/duration':'-1s'"),
         "fluxqueue/duration: expected seconds, or a duration such as 1h30m, got \"-1s\""},
        {.object = NOTE("'fluxqueue/duration':''"),
         "fluxqueue/duration: expected seconds, or a duration such as 1h30m, got \"\""},
        {.object = NOTE("'fluxqueue/duration':90"), "fluxqueue/duration: expected a string"},
        {.object = POD("'activeDeadlineSeconds':60"), ONE " d=60"},
        {.object = POD("'activeDeadlineSeconds':0"),
         "activeDeadlineSeconds: expected a positive number"},
        {.object = "{'metadata':{" OWNER ",'annotations':{'fluxqueue/duration':'5'}},'spec':"
                   "{'activeDeadlineSeconds':60}}",
         ONE " d=5"},
        {.object = "{'metadata':{" OWNER "},'spec':{'activeDeadlineSeconds':7,'template':{'spec':"
                   "{'activeDeadlineSeconds':8}}}}",
         ONE " d=7",
         .type = SL_FLUX_JOB},
        {.object =
             "{'metadata':{" OWNER "},'spec':{'template':{'spec':{'activeDeadlineSeconds':8}}}}",
         ONE " d=8",
         .type = SL_FLUX_JOB},
        {.object =
             "{'metadata':{" OWNER "},'spec':{'template':{'spec':{'activeDeadlineSeconds':8}}}}",
         ONE,
         .type = SL_FLUX_DEPLOYMENT},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void the_default_duration(void **state) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    yyjson_doc *d = fx_json(POD(""));
    const struct fq_jobspec_options o = {.duration = 77};
    (void)state;
    assert_int_equal(fq_jobspec_write(SL_FLUX_POD, yyjson_doc_get_root(d), 1, &o, &text, NULL), 0);
    assert_non_null(strstr(sl_buf_str(&text), "    duration: 77\n"));
    yyjson_doc_free(d);
}

static void begin_and_queue(void **state) {
    static const struct row rows[] = {
        {.object = NOTE("'fluxqueue/queue':'fast'"), ONE " q=fast"},
        {.object = "{'metadata':{" OWNER ",'labels':{'fluxqueue/queue':'l'},'annotations':"
                   "{'fluxqueue/queue':'a'}},'spec':{}}",
         ONE " q=l"},
        {.object = NOTE("'fluxqueue/queue':''"),
         "fluxqueue/queue: expected the name of a queue, got \"\""},
        {.object = NOTE("'fluxqueue/queue':'a\\nb: c'"),
         "fluxqueue/queue: expected the name of a queue, got \"a\nb: c\""},
        {.object = NOTE("'fluxqueue/queue':[]"), "fluxqueue/queue: expected a string"},
        {.object = NOTE("'fluxqueue/begin-time':'1'"), ONE},
        {.object = NOTE("'fluxqueue/begin-time':'tomorrow'"),
         "fluxqueue/begin-time: expected a time such as 2026-01-31T12:00:00Z, or seconds since "
         "1970, got \"tomorrow\""},
        {.object = NOTE("'fluxqueue/begin-time':'99999999999999999999'"),
         "fluxqueue/begin-time: expected a time such as 2026-01-31T12:00:00Z, or seconds since "
         "1970, got \"99999999999999999999\""},
        {.object = NOTE("'fluxqueue/begin-time':'1969-01-31T12:00:00Z'"),
         "fluxqueue/begin-time: expected a time such as 2026-01-31T12:00:00Z, or seconds since "
         "1970, got \"1969-01-31T12:00:00Z\""},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void per_node(void **state) {
    static const struct row rows[] = {
        {.object = NOTE("'fluxqueue/tasks-per-node':'2'"),
         "node[3]{slot[2]" NOTHING "}",
         .pods = 6},
        {.object = NOTE("'fluxqueue/tasks-per-node':'1'"),
         "node[6]{slot[1]" NOTHING "}",
         .pods = 6},
        {.object = NOTE("'fluxqueue/tasks-per-node':'4'"),
         "fluxqueue/tasks-per-node: expected a number that divides the 6 pods, got 4",
         .pods = 6},
        {.object = NOTE("'fluxqueue/tasks-per-node':'0'"),
         "fluxqueue/tasks-per-node: expected a number from 1 to 100000, got \"0\""},
        {.object = NOTE("'fluxqueue/tasks-per-node':'1.5'"),
         "fluxqueue/tasks-per-node: expected a number from 1 to 100000, got \"1.5\""},
        {.object = NOTE("'fluxqueue/tasks-per-node':'99999999999'"),
         "fluxqueue/tasks-per-node: expected a number from 1 to 100000, got \"99999999999\""},
        {.object = NOTE("'fluxqueue/whole-nodes':'true'"),
         "node[3]!{slot[1]" NOTHING "}",
         .pods = 3},
        {.object = NOTE("'fluxqueue/whole-nodes':'true','fluxqueue/tasks-per-node':'3'"),
         "node[1]!{slot[3]" NOTHING "}",
         .pods = 3},
        {.object = NOTE("'fluxqueue/whole-nodes':'false'"), "slot[3]" NOTHING, .pods = 3},
        {.object = NOTE("'fluxqueue/whole-nodes':'yes'"),
         "fluxqueue/whole-nodes: expected true or false, got \"yes\""},
        {.object = NOTE("'fluxqueue/whole-nodes':true"),
         "fluxqueue/whole-nodes: expected a string"},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void within(void **state) {
    static const struct row rows[] = {
        {.object = NOTE("'fluxqueue/within':'rack'"), "rack[1]{slot[4]" NOTHING "}", .pods = 4},
        {.object = NOTE("'fluxqueue/within':'example.com/rack'"),
         "rack[1]{slot[4]" NOTHING "}",
         .pods = 4},
        {.object = NOTE("'fluxqueue/within':'zone'"),
         "zone[1]{rack[1]{slot[4]" NOTHING "}}",
         .pods = 4,
         .both = true},
        {.object = NOTE("'fluxqueue/within':'rack'"),
         "rack[1]{slot[4]" NOTHING "}",
         .pods = 4,
         .both = true},
        {.object = NOTE("'fluxqueue/within':'node'"), "node[1]{slot[4]" NOTHING "}", .pods = 4},
        {.object =
             NOTE("'fluxqueue/within':'kubernetes.io/hostname','fluxqueue/whole-nodes':'true'"),
         "node[1]!{slot[4]" NOTHING "}",
         .pods = 4},
        {.object = NOTE("'fluxqueue/within':'rack','fluxqueue/tasks-per-node':'2'"),
         "rack[1]{node[2]{slot[2]" NOTHING "}}",
         .pods = 4},
        {.object = NOTE("'fluxqueue/within':'node','fluxqueue/tasks-per-node':'2'"),
         "fluxqueue/tasks-per-node: 2 pods on each node, where 4 are said elsewhere",
         .pods = 4},
        {.object = NOTE("'fluxqueue/within':'row'"),
         "fluxqueue/within: expected zone, rack or node, got \"row\"",
         .both = true},
        {.object = NOTE("'fluxqueue/within':''"),
         "fluxqueue/within: expected rack or node, got \"\""},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void names(void **state) {
    static const struct row rows[] = {
        {.object = "{'metadata':{'name':'true'},'spec':{}}", ONE},
        {.object = "{'metadata':{'name':'0x10'},'spec':{}}", ONE},
        {.object = "{'metadata':{'name':'1.5'},'spec':{}}", ONE},
        {.object = "{'metadata':{'name':'2026-01-01'},'spec':{}}", ONE},
        {.object =
             "{'metadata':{'name':'x','labels':{'fluxqueue/group-name':'Group_1'}},'spec':{}}",
         ONE,
         .type = SL_FLUX_POD_GROUP},
        {.object = "{'metadata':{},'spec':{}}",
         "metadata.name: expected the name of an object, got \"\""},
        {.object = "{'metadata':{'name':'a: b'},'spec':{}}",
         "metadata.name: expected the name of an object, got \"a: b\""},
        {.object = "{'metadata':{'name':'a','namespace':'a.b'},'spec':{}}",
         "metadata.namespace: expected the name of a namespace, got \"a.b\""},
        {.object = "{'metadata':{'name':'a'}}", "expected spec"},
        {.object = "{'metadata':{'name':'a'},'spec':{}}",
         "expected spec.template.spec",
         .type = SL_FLUX_STATEFULSET},
        {.object = "[]", "expected spec"},
        {.object = "{'metadata':{'name':'a'},'spec':{}}",
         "expected from 1 to 100000 pods, got 100001",
         .pods = 100001},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void a_jobspec_as_it_is(void **state) {
    static const char given[] = "# mine\nversion: 1\nresources: [{type: slot, label: x, count: 2, "
                                "with: [{type: core, count: 1}]}]\ntasks: []\nattributes: null\n";
    _cleanup_(sl_buf_done) struct sl_buf object = SL_BUF(10000);
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    static const struct row bad[] = {
        {.object = NOTE("'fluxqueue/jobspec':'version: 1'"),
         "fluxqueue/jobspec:1: expected the field \"resources\" in a jobspec"},
        {.object = NOTE("'fluxqueue/jobspec':{}"), "fluxqueue/jobspec: expected a string"},
    };
    struct sl_err err;
    (void)state;
    sl_buf_puts(&object, "{\"metadata\":{\"annotations\":{\"fluxqueue/jobspec\":");
    sl_buf_json(&object, given);
    sl_buf_puts(&object, "}}}");
    yyjson_doc *d = fx_json(sl_buf_str(&object));
    assert_int_equal(
        fq_jobspec_write(SL_FLUX_JOB, yyjson_doc_get_root(d), 2, &fx_rack, &text, &err), 0);
    assert_string_equal(sl_buf_str(&text), given);
    yyjson_doc_free(d);
    CHECK_ALL(bad);
}

/* ---- which nodes ---- */

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"
#define TERMS(list)                                                                                \
    POD("'affinity':{'nodeAffinity':{" REQUIRED ":{'nodeSelectorTerms':[" list "]}}}")
#define EXPR(list) "{'matchExpressions':[" list "]}"

static void nodes(void **state) {
    static const struct row rows[] = {
        {.object = POD("'nodeSelector':{'b':'','a':'1'}"), ONE " c=p:a=1,b="},
        {.object = POD("'nodeSelector':{'a':'x y'}"),
         "a: expected the value of a label, got \"x y\""},
        {.object = POD("'nodeName':'n1'"), ONE " c=h:n1"},
        {.object = POD("'nodeName':'n[1-3]'"),
         "metadata.name: expected the name of a node, got \"n[1-3]\""},
        {.object = TERMS(EXPR("{'key':'k','operator':'In','values':['x']}")), ONE " c=p:k=x"},
        {.object = TERMS(EXPR("{'key':'k','operator':'In','values':['x','y']}")),
         ONE " c=(or p:k=x p:k=y)"},
        {.object = TERMS(EXPR("{'key':'k','operator':'NotIn','values':['x','y']}")),
         ONE " c=p:^k=x,^k=y"},
        {.object = TERMS(EXPR("{'key':'k','operator':'Exists'}")), ONE " c=p:k"},
        {.object = TERMS(EXPR("{'key':'k','operator':'DoesNotExist'}")), ONE " c=p:^k"},
        {.object = TERMS(EXPR("{'key':'k','operator':'Gt','values':['5']}")), ONE " c=p:k>5"},
        {.object = TERMS(EXPR("{'key':'k','operator':'Lt','values':['-5']}")), ONE " c=p:k<-5"},
        {.object = TERMS(EXPR("{'key':'k','operator':'Lt','values':['five']}")),
         "k: expected an integer to compare with, got \"five\""},
        {.object = TERMS(EXPR("{'key':'k','operator':'Exists'},{'key':'l','operator':'In','values':"
                              "['1','2']},{'key':'m','operator':'DoesNotExist'}")),
         ONE " c=(and p:k,^m (or p:l=1 p:l=2))"},
        {.object = TERMS(
             EXPR("{'key':'k','operator':'Exists'}") "," EXPR("{'key':'l','operator':'Exists'}")),
         ONE " c=(or p:k p:l)"},
        {.object = TERMS("{}," EXPR("{'key':'l','operator':'Exists'}")), ONE " c=p:l"},
        {.object = TERMS("{}"),
         "nodeAffinity: expected a term with matchExpressions or matchFields; an "
         "empty one selects no node"},
        {.object =
             TERMS("{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}]}"),
         ONE " c=h:n1"},
        {.object =
             TERMS("{'matchFields':[{'key':'metadata.name','operator':'NotIn','values':['n1']}]}"),
         ONE " c=(not h:n1)"},
        {.object = TERMS("{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']}],"
                         "'matchExpressions':[{'key':'k','operator':'Exists'}]}"),
         ONE " c=(and p:k h:n1)"},
        {.object =
             TERMS("{'matchFields':[{'key':'metadata.uid','operator':'In','values':['n1']}]}"),
         "matchFields: expected the key metadata.name, the operator In or NotIn and one value"},
        {.object = POD(
             "'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':"
             "[{'weight':1,'preference':{'matchExpressions':[{'key':'k','operator':'Exists'}]}}]}"
             "}"),
         ONE},
        {.object = POD("'nodeSelector':{'a':'1'},'affinity':{'nodeAffinity':{" REQUIRED
                       ":{'nodeSelectorTerms':[" EXPR("{'key':'k','operator':'Exists'}") "," EXPR(
                           "{'key':'l','operator':'Exists'}") "]}}}"),
         ONE " c=(and p:a=1 (or p:k p:l))"},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* ---- how pods are spread ---- */

#define LABELLED(spec)                                                                             \
    "{'metadata':{" OWNER "},'spec':{'template':{'metadata':{'labels':{'app':'a'}},"               \
    "'spec':{" spec "}}}}"
#define ANTI(term) LABELLED("'affinity':{'podAntiAffinity':{" REQUIRED ":[" term "]}}")
#define NEAR(term) LABELLED("'affinity':{'podAffinity':{" REQUIRED ":[" term "]}}")
#define SPREAD(list) LABELLED("'topologySpreadConstraints':[" list "]")
#define HOST "'topologyKey':'kubernetes.io/hostname'"
#define RACK "'topologyKey':'example.com/rack'"
#define SELF "'labelSelector':{'matchLabels':{'app':'a'}}"
#define OTHER "'labelSelector':{'matchLabels':{'app':'b'}}"
#define STRICT "'whenUnsatisfiable':'DoNotSchedule'"
#define OF_OTHERS                                                                                  \
    ": expected terms that select the pods of the job itself; terms about other pods cannot be "   \
    "honoured"

static void affinity_between_pods(void **state) {
    static const struct row rows[] = {
        {.object = ANTI("{" HOST "," SELF "}"), "node[3]{slot[1]" NOTHING "}", 3, SL_FLUX_JOB},
        {.object = ANTI("{" RACK "," SELF "}"), "rack[3]{slot[1]" NOTHING "}", 3, SL_FLUX_JOB},
        {.object = ANTI(
             "{" HOST ",'labelSelector':{'matchExpressions':[{'key':'app','operator':'Exists'}]}}"),
         "node[3]{slot[1]" NOTHING "}",
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'namespaces':['ns','x']}"),
         "node[3]{slot[1]" NOTHING "}",
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'namespaceSelector':{}}"),
         "node[3]{slot[1]" NOTHING "}",
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'matchLabelKeys':['pod-template-hash']}"),
         "node[3]{slot[1]" NOTHING "}",
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "}"), "slot[3]" NOTHING, 3, SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," OTHER "}"), "podAntiAffinity" OF_OTHERS, 3, SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'namespaces':['x']}"),
         "podAntiAffinity" OF_OTHERS,
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'namespaceSelector':{'matchLabels':{'a':'b'}}}"),
         "podAntiAffinity" OF_OTHERS,
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{" HOST "," SELF ",'mismatchLabelKeys':['app']}"),
         "podAntiAffinity" OF_OTHERS,
         3,
         SL_FLUX_JOB},
        {.object = ANTI("{'topologyKey':'x'," SELF "}"),
         "podAntiAffinity: expected the topologyKey example.com/rack or kubernetes.io/hostname, "
         "got \"x\"",
         3,
         SL_FLUX_JOB},
        {.object =
             ANTI("{" HOST ",'labelSelector':{'matchExpressions':[{'key':'a','operator':'Is'}]}}"),
         "podAntiAffinity: expected matchLabels and matchExpressions with the operators In, NotIn, "
         "Exists and DoesNotExist",
         3,
         SL_FLUX_JOB},
        {.object = NEAR("{" HOST "," SELF "}"), "node[1]{slot[3]" NOTHING "}", 3, SL_FLUX_JOB},
        {.object = NEAR("{" RACK "," SELF "}"), "rack[1]{slot[3]" NOTHING "}", 3, SL_FLUX_JOB},
        {.object = NEAR("{" RACK "}"), "podAffinity" OF_OTHERS, 3, SL_FLUX_JOB},
        {.object = NEAR("{" RACK "," OTHER "}"), "podAffinity" OF_OTHERS, 3, SL_FLUX_JOB},
        {.object = LABELLED("'affinity':{'podAffinity':{" REQUIRED ":[{" RACK "," SELF "}]},"
                            "'podAntiAffinity':{" REQUIRED ":[{" HOST "," SELF "}]}}"),
         "rack[1]{node[3]{slot[1]" NOTHING "}}",
         3,
         SL_FLUX_JOB},
        {.object = LABELLED("'affinity':{'podAffinity':{" REQUIRED ":[{" HOST "," SELF "}]},"
                            "'podAntiAffinity':{" REQUIRED ":[{" HOST "," SELF "}]}}"),
         "expected the pods of each node to be as annotations and affinity say: 3 pods cannot be "
         "so",
         3,
         SL_FLUX_JOB},
        {.object = LABELLED(
             "'affinity':{'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution'"
             ":[{'weight':1,'podAffinityTerm':{" HOST "," OTHER "}}]}}"),
         "slot[3]" NOTHING,
         3,
         SL_FLUX_JOB},
    };
    (void)state;
    CHECK_ALL(rows);
}

static void topology_spread(void **state) {
    static const struct row rows[] = {
        {.object = SPREAD("{'maxSkew':1," HOST "," SELF "," STRICT "}"),
         "node[4]{slot[1]" NOTHING "}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':2," HOST "," SELF "," STRICT "}"),
         "node[2]{slot[2]" NOTHING "}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':3," HOST "," SELF "," STRICT "}"),
         "node[2]{slot[2]" NOTHING "}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':2," HOST "," SELF "," STRICT "}"),
         "node[5]{slot[1]" NOTHING "}",
         5,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':2," RACK "," SELF "," STRICT "}"),
         "rack[2]{slot[2]" NOTHING "}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':2," RACK "," SELF "," STRICT "},{'maxSkew':1," HOST "," SELF
                          "," STRICT "}"),
         "rack[2]{node[2]{slot[1]" NOTHING "}}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1," HOST "," SELF "," STRICT
                          ",'minDomains':3,'matchLabelKeys':['x']}"),
         "node[4]{slot[1]" NOTHING "}",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1,'topologyKey':'x'," OTHER
                          ",'whenUnsatisfiable':'ScheduleAnyway'}"),
         "slot[4]" NOTHING,
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1," HOST "," STRICT "}"),
         "slot[4]" NOTHING,
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1," HOST "," OTHER "," STRICT "}"),
         "topologySpreadConstraints: expected a labelSelector that selects the pods of the job "
         "itself; the spread of other pods cannot be honoured",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1,'topologyKey':'x'," SELF "," STRICT "}"),
         "topologySpreadConstraints: expected the topologyKey example.com/rack or "
         "kubernetes.io/hostname, got \"x\"",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{" HOST "," SELF "," STRICT "}"),
         "topologySpreadConstraints: expected a maxSkew of at least 1",
         4,
         SL_FLUX_DEPLOYMENT},
        {.object = SPREAD("{'maxSkew':1,'topologyKey':'topology.kubernetes.io/zone'," SELF
                          "," STRICT "}"),
         "zone[2]{rack[1]{slot[1]" NOTHING "}}",
         2,
         SL_FLUX_DEPLOYMENT,
         .both = true},
    };
    (void)state;
    CHECK_ALL(rows);
}

/* The order of a map does not matter. */
static void equal_objects_give_equal_bytes(void **state) {
    static const char *const objects[] = {
        "{'metadata':{" OWNER "},'spec':{'nodeSelector':{'a':'1','b':'2'},'containers':["
        "{'resources':{'requests':{'cpu':1,'memory':'1Gi','x/y':1,'a/b':2}}}]}}",
        "{'spec':{'containers':[{'resources':{'requests':{'a/b':2,'x/y':1,'memory':'1024Mi','cpu':"
        "'1000m'}}}],'nodeSelector':{'b':'2','a':'1'}},'metadata':{" OWNER "}}",
    };
    struct sl_buf text[2] = {SL_BUF(FQ_MAX_JOBSPEC), SL_BUF(FQ_MAX_JOBSPEC)};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        yyjson_doc *d = fx_json(objects[i]);
        assert_int_equal(
            fq_jobspec_write(SL_FLUX_POD, yyjson_doc_get_root(d), 1, &fx_rack, &text[i], NULL), 0);
        yyjson_doc_free(d);
    }
    assert_string_equal(sl_buf_str(&text[0]), sl_buf_str(&text[1]));
    sl_buf_done(&text[0]);
    sl_buf_done(&text[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pod_of_the_seed),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(requests),
        cmocka_unit_test(duration),
        cmocka_unit_test(the_default_duration),
        cmocka_unit_test(begin_and_queue),
        cmocka_unit_test(per_node),
        cmocka_unit_test(within),
        cmocka_unit_test(names),
        cmocka_unit_test(a_jobspec_as_it_is),
        cmocka_unit_test(nodes),
        cmocka_unit_test(affinity_between_pods),
        cmocka_unit_test(topology_spread),
        cmocka_unit_test(equal_objects_give_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
