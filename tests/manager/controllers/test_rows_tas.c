/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of rows on topologies: a podset each with its own request, and what has ended asks for no
 * place any more. */
#include "topology_fixture.h"

#define JOBSETS "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets"
#define NOTES "'metadata':{'annotations':{'" Q "podset-required-topology':'rack'}}"
#define RJOB(name)                                                                                 \
    "{'name':'" name "','replicas':1,'template':{'spec':{'template':{" NOTES                       \
    ",'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}}}}"

static const struct fakeapi_kind jobset = {.group = "jobset.x-k8s.io",
                                           .version = "v1alpha2",
                                           .plural = "jobsets",
                                           .kind = "JobSet",
                                           .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};

struct found {
    char path[512];
};

static void note_path(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    (void)snprintf(f->path, sizeof f->path, WORKLOADS "/%s", sl_json_str(o, "metadata.name"));
}

static const char *assigned(struct world *w, uint32_t podset, const char *field) {
    static struct found f;
    (void)fakeapi_each(w->api, WORKLOADS, note_path, &f);
    yyjson_val *list = at(w, f.path, "status.admission.podSetAssignments");
    return show(w, yyjson_obj_get(yyjson_arr_get(list, podset), field));
}

static void status(struct world *w, const char *jobs) {
    char text[1024];
    (void)snprintf(text, sizeof text, "{'status':{'replicatedJobsStatus':[%s]}}", jobs);
    patch(w, JOBSETS "/j/status", text);
    run(w, SETTLE);
}

static void drain(struct world *w, bool on) {
    patch(w, KUEUE "/clusterqueues/cq",
          on ? "{'spec':{'stopPolicy':'HoldAndDrain'}}" : "{'spec':{'stopPolicy':'None'}}");
    run(w, SETTLE);
}

/* As another controller would. */
static void evict(struct world *w) {
    static struct found f;
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(d), *status = yyjson_mut_obj_add_obj(d, root, "status");
    (void)fakeapi_each(w->api, WORKLOADS, note_path, &f);
    yyjson_mut_val *list = yyjson_val_mut_copy(d, at(w, f.path, "status.conditions"));
    yyjson_mut_val *c = yyjson_mut_arr_add_obj(d, list);
    (void)yyjson_mut_obj_add_str(d, c, "type", "Evicted");
    (void)yyjson_mut_obj_add_str(d, c, "status", "True");
    (void)yyjson_mut_obj_add_str(d, c, "reason", "Preempted");
    (void)yyjson_mut_obj_add_str(d, c, "message", "By test");
    (void)yyjson_mut_obj_add_str(d, c, "lastTransitionTime", "2026-01-01T00:01:00Z");
    (void)yyjson_mut_obj_add_val(d, status, "conditions", list);
    char *body = yyjson_mut_val_write(root, 0, NULL), path[600];
    (void)snprintf(path, sizeof path, "%s/status", f.path);
    patch(w, path, body);
    free(body);
    yyjson_mut_doc_free(d);
    run(w, SETTLE);
}

static void ended_podset(bool drained) {
    struct world w;
    begin(&w, 1);
    topology(&w);
    fakeapi_register(w.api, &jobset);
    w.parts.framework[SL_FW_JOBSET] = true;
    sl_manager_configure(w.m, w.settings, &w.parts);
    create(&w, JOBSETS,
           "{'metadata':{'name':'j','labels':{'" Q "queue-name':'q'}},'spec':{'suspend':true,"
           "'replicatedJobs':[" RJOB("a") "," RJOB("b") "]}}");
    run(&w, SETTLE);
    assert_string_equal(assigned(&w, 0, "count"), "1");
    assert_string_not_equal(assigned(&w, 0, "topologyAssignment"), "");
    assert_string_equal(show(&w, yyjson_ptr_get(fakeapi_get(w.api, JOBSETS "/j"),
                                                "/spec/replicatedJobs/0/template/spec/template/"
                                                "spec/schedulingGates")),
                        "[{'name':'kueue.x-k8s.io/topology'}]");

    status(&w, "{'name':'a','succeeded':1},{'name':'b','active':1}");
    if (drained)
        drain(&w, true);
    else
        evict(&w);
    status(&w, "{'name':'a','succeeded':1},{'name':'b','active':0}");
    if (drained)
        drain(&w, false);
    assert_string_equal(assigned(&w, 0, "count"), "0");
    assert_string_equal(assigned(&w, 0, "topologyAssignment"), "");
    assert_string_equal(assigned(&w, 1, "count"), "1");
    assert_string_not_equal(assigned(&w, 1, "topologyAssignment"), "");
    restart_alike(&w, 1);
    end(&w);
}

static void test_ended_podset(void **state) {
    (void)state;
    ended_podset(true);
}

static void test_ended_podset_evicted(void **state) {
    (void)state;
    ended_podset(false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_podset),
        cmocka_unit_test(test_ended_podset_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
