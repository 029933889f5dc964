/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of jobs that a user describes in a ConfigMap: queued at run time, changed and taken back at
 * run time; and texts that are wrong, which hurt nobody else.
 */
#include "flow_fixture.h"

#define MAPS "/api/v1/namespaces/sluice-system/configmaps"
#define GANGS "/apis/example.dev/v1/namespaces/ns/gangs"
#define GANG GANGS "/j"

static const struct fakeapi_kind gangs = {
    "example.dev", "v1", "gangs", "Gang", FAKEAPI_NAMESPACED | FAKEAPI_STATUS, NULL};

#define ROW                                                                                        \
    "framework: example.dev/gang\\ngroup: example.dev\\nversion: v1\\nkind: Gang\\nplural: "       \
    "gangs\\nsuspend: spec.paused\\npodSets:\\n- list: spec.teams\\n  name: title\\n  template: "  \
    "pod\\n  count: [{path: size, default: 1}]\\nfinished:\\n- when: [{path: status.phase, in: "   \
    "[Done]}]\\n  succeeded: true\\n  message: status.note\\n"
#define MAP(name, text)                                                                            \
    "{'metadata':{'name':'" name "','labels':{'sluice.dev/job-kinds':'true'}},'data':{'gang.yaml'" \
    ":'" text "'}}"
#define POD                                                                                        \
    "{'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}"
#define NEW_GANG                                                                                   \
    "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q'}},'spec':{'paused':true,'teams':[{"   \
    "'title':'A','size':2,'pod':" POD "}]}}"

static void begin(struct world *w) {
    struct sl_manager_parts parts = {.core = true, .scheduler = true, .jobkinds = true};
    open_world(w, 1, CONFIG, parts);
    fakeapi_register(w->api, &gangs);
    create(w, "/api/v1/namespaces",
           "{'metadata':{'name':'ns','labels':{'kubernetes.io/metadata.name':'ns'}}}");
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'sluice-system'}}");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'spot'},'spec':{'nodeLabels':{'type':'spot'}}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'spot','resources':[{'name':'cpu',"
           "'nominalQuota':'8'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static void count_them(void *ctx, yyjson_val *o) {
    (void)o;
    ++*(int *)ctx;
}

static int workloads(struct world *w) {
    int n = 0;
    (void)fakeapi_each(w->api, WORKLOADS, count_them, &n);
    return n;
}

static void count_note(void *ctx, yyjson_val *o) {
    struct told *t = ctx;
    t->n += strcmp(sl_json_str(o, "reason"), t->reason) == 0 &&
            (!t->note || strcmp(sl_json_str(o, "note"), t->note) == 0);
}

static uint32_t reported(struct world *w, const char *reason, const char *note) {
    struct told t = {.reason = reason, .note = note};
    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/namespaces/sluice-system/events", count_note,
                       &t);
    return t.n;
}

static bool paused(struct world *w) {
    return yyjson_get_bool(at(w, GANG, "spec.paused"));
}

static const char *selected(struct world *w) {
    yyjson_val *team = yyjson_arr_get_first(at(w, GANG, "spec.teams"));
    return sl_json_str(team, "pod.spec.nodeSelector.type");
}

static void test_queued(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, GANGS, NEW_GANG);
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 0); /* nobody knows what it is */
    create(&w, MAPS, MAP("kinds", ROW));
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 1);
    assert_false(paused(&w));
    assert_string_equal(selected(&w), "spot");
    assert_int_equal(reported(&w, "JobKindQueued", NULL), 1);
    assert_int_equal(events(&w, (struct told){.reason = "Started", .kind = "Gang"}), 1);

    restart(&w, 1);
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 1);
    patch(&w, GANG "/status", "{'status':{'phase':'Done','note':'well'}}");
    run(&w, SETTLE);
    assert_int_equal(events(&w, (struct told){.reason = "FinishedWorkload", .kind = "Gang"}), 1);
    request(&w, SL_DELETE, GANG, NULL, NULL);
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 0);
    end(&w);
}

/* The row goes: what runs goes on, and nothing new is queued. It comes back: all is as before. */
static void test_taken_back(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, MAPS, MAP("kinds", ROW));
    create(&w, GANGS, NEW_GANG);
    run(&w, SETTLE);
    assert_false(paused(&w));
    request(&w, SL_DELETE, MAPS "/kinds", NULL, NULL);
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 1);
    assert_false(paused(&w));
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}");
    run(&w, SETTLE);
    assert_false(paused(&w));
    create(&w, MAPS, MAP("again", ROW));
    run(&w, SETTLE);
    assert_true(paused(&w));
    assert_string_equal(selected(&w), "");
    end(&w);
}

/* A text that changes is read again; one of two ConfigMaps that is as it was goes on. */
static void test_changed(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, MAPS, MAP("kinds", ROW));
    create(&w, MAPS,
           MAP("other", "framework: a/b\\ngroup: a\\nversion: v1\\nkind: B\\nplural: bs\\n"
                        "suspend: spec.s\\npodSets: [{at: spec, name: m, template: t}]"));
    create(&w, GANGS, NEW_GANG);
    run(&w, SETTLE);
    assert_int_equal(reported(&w, "JobKindQueued", NULL), 2);
    patch(&w, MAPS "/kinds", "{'data':{'gang.yaml':'" ROW "active: [{set: status.busy}]\\n'}}");
    patch(&w, GANG "/status", "{'status':{'busy':'yes'}}");
    run(&w, SETTLE);
    assert_int_equal(reported(&w, "JobKindQueued", NULL), 3);
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}");
    run(&w, SETTLE);
    assert_true(paused(&w));
    assert_int_equal(
        yyjson_arr_size(at(&w, KUEUE "/clusterqueues/cq", "status.flavorsReservation")), 1);
    patch(&w, GANG "/status", "{'status':{'busy':null}}");
    run(&w, SETTLE);
    assert_int_equal(workloads(&w), 1);
    end(&w);
}

/* Each in a ConfigMap of its own, beside one that is right. */
static void test_wrong(void **state) {
    static const struct {
        const char *map, *why;
    } of[] = {
        {MAP("a", "framework: x/y\\ngroup: example.dev\\n"),
         "gang.yaml:1: expected the field \"version\" in a kind of jobs"},
        {MAP("b", "framework: x/y\\ngroup: g\\nversion: v1\\nkind: K\\nplural: ks\\nsuspend: "
                  "spec.[0]\\npodSets: [{at: spec, name: m, template: t}]"),
         "gang.yaml:6: suspend: \"spec.[0]\" has a character that is no letter, digit, \"-\" or "
         "\"_\" (lists are named in \"list\", without brackets)"},
        {MAP("c",
             "framework: batch/job\\ngroup: g\\nversion: v1\\nkind: K\\nplural: ks\\nsuspend: s"
             "\\npodSets: [{at: spec, name: m, template: t}]"),
         "batch/job is a framework of Kueue's"},
        {MAP("d", "framework: x/y\\ngroup: jobset.x-k8s.io\\nversion: v1alpha2\\nkind: JobSet\\n"
                  "plural: jobsets\\nsuspend: s\\npodSets: [{at: spec, name: m, template: t}]"),
         "x/y is of a kind that is queued already"},
        {MAP("e",
             "framework: x/y\\ngroup: batch\\nversion: v1\\nkind: Job\\nplural: jobs\\nsuspend: "
             "s\\npodSets: [{at: spec, name: m, template: t}]"),
         "x/y is of a kind that is queued already"},
        {MAP("f", "framework: example.dev/gang\\ngroup: g\\nversion: v1\\nkind: K\\nplural: ks\\n"
                  "suspend: s\\npodSets: [{at: spec, name: m, template: t}]"),
         "example.dev/gang is there twice"},
    };
    (void)state;
    struct world w;
    begin(&w);
    create(&w, MAPS, MAP("0", ROW));
    create(&w, MAPS, "{'metadata':{'name':'no-label'},'data':{'x':'nothing at all'}}");
    create(&w, GANGS, NEW_GANG);
    run(&w, SETTLE);
    for (size_t i = 0; i < SL_LEN(of); i++) {
        create(&w, MAPS, of[i].map);
        run(&w, SETTLE);
        if (!reported(&w, "InvalidJobKinds", of[i].why))
            print_error("not reported: %s\n", of[i].why);
        assert_true(reported(&w, "InvalidJobKinds", of[i].why) >= 1);
    }
    assert_int_equal(reported(&w, "JobKindQueued", NULL), 1);
    assert_false(paused(&w));
    end(&w);
}

/* Wrong paths: the object is not what the row says. */
static void test_wrong_paths(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    create(&w, MAPS, MAP("kinds", ROW));
    create(&w, GANGS,
           "{'metadata':{'name':'odd','labels':{'" Q "queue-name':'q'}},'spec':{'paused':true,"
           "'teams':[{'title':'A','pod':'none'}]}}");
    create(&w, GANGS, NEW_GANG);
    run(&w, SETTLE);
    assert_int_equal(
        events(&w, (struct told){.reason = "ErrWorkloadCompose",
                                 .name = "odd",
                                 .note = "spec.teams[0].pod: expected a pod template"}),
        1);
    assert_false(paused(&w));
    end(&w);
}

static void test_too_many(void **state) {
    char text[1024];
    uint32_t queued;
    (void)state;
    struct world w;
    begin(&w);
    for (int i = 0; i < 24; i++) {
        (void)snprintf(text, sizeof text,
                       MAP("k%02d",
                           "framework: x/y%d\\ngroup: g\\nversion: v1\\nkind: K%d\\nplural: "
                           "ks%d\\nsuspend: s\\npodSets: [{at: spec, name: m, template: t}]"),
                       i, i, i, i);
        create(&w, MAPS, text);
    }
    run(&w, SETTLE);
    queued = reported(&w, "JobKindQueued", NULL);
    assert_true(queued >= 16 && queued < 24);
    assert_true(reported(&w, "InvalidJobKinds", NULL) >= 24 - queued);
    create(&w, "/apis/batch/v1/namespaces/ns/jobs", "{'metadata':{'name':'x'},'spec':{}}");
    run(&w, SETTLE); /* and all else goes on */
    assert_true(sl_manager_ready(w.m));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queued),      cmocka_unit_test(test_taken_back),
        cmocka_unit_test(test_changed),     cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_wrong_paths), cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
