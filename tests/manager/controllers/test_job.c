/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: where one stands, and the bodies that are written for it. */
#include "job_fixture.h"

/* ---- where it stands ---- */

static const struct {
    const char *job, *workload;
    enum mgr_job_phase phase;
    enum mgr_job_step step;
} stands[] = {
    {JOB(SUSPENDED, ""), NULL, JOB_NO_WORKLOAD, JOB_CREATE},
    {JOB(SUSPENDED, "'active':1"), NULL, JOB_NO_WORKLOAD, JOB_REST},
    {JOB(RUNNING, ""), NULL, JOB_NO_WORKLOAD, JOB_STOP},
    {JOB(RUNNING, "'conditions':[{'type':'Complete','status':'True'}]"), NULL, JOB_NO_WORKLOAD,
     JOB_REST},
    /* the Workload fits */
    {JOB(SUSPENDED, ""), WORKLOAD("", PODSET("3"), ""), JOB_WAITING, JOB_REST},
    {JOB(SUSPENDED, ""), WORKLOAD("", PODSET("3"), ADMITTED), JOB_READY, JOB_START},
    {JOB(RUNNING, ""), WORKLOAD("", PODSET("3"), ADMITTED), JOB_RUNNING, JOB_REST},
    {JOB(RUNNING, ""), WORKLOAD("", PODSET("3"), ""), JOB_RUNNING, JOB_STOP},
    {JOB(SUSPENDED, ""),
     WORKLOAD("", PODSET("3"), "'conditions':[" RESERVED "]," ADMISSION("spot", "3")), JOB_WAITING,
     JOB_REST},
    {JOB(RUNNING, "'conditions':[{'type':'Failed','status':'True','message':'m'}]"),
     WORKLOAD("", PODSET("3"), ADMITTED), JOB_FINISHED, JOB_REST},
    {JOB(RUNNING, ""), WORKLOAD("", PODSET("3"), "'conditions':[" COND("Finished", "True", "") "]"),
     JOB_WL_FINISHED, JOB_REST},
    {JOB(RUNNING, ""),
     WORKLOAD("'deletionTimestamp':'2026-01-01T00:00:00Z',", PODSET("3"), ADMITTED),
     JOB_WL_DELETING, JOB_STOP},
    {JOB(SUSPENDED, ""),
     WORKLOAD("'deletionTimestamp':'2026-01-01T00:00:00Z',", PODSET("3"), ADMITTED),
     JOB_WL_DELETING, JOB_REST},
    /* eviction, stage by stage */
    {JOB(RUNNING, ""), WORKLOAD("", PODSET("3"), "'conditions':[" COND("Evicted", "True", "") "]"),
     JOB_EVICTED, JOB_STOP},
    {JOB(SUSPENDED, "'startTime':'2026-01-01T00:00:00Z'"),
     WORKLOAD("", PODSET("3"), "'conditions':[" COND("Evicted", "True", "") "]"), JOB_EVICTED,
     JOB_RESET},
    {"{" JOB_META("'annotations':{'" Q "stopping':'true'},") "},'spec':{" SUSPENDED TEMPLATE "}}",
     WORKLOAD("", PODSET("3"), "'conditions':[" COND("Evicted", "True", "") "]"), JOB_EVICTED,
     JOB_RESTORE},
    {JOB(SUSPENDED, ""),
     WORKLOAD("", PODSET("3"), "'conditions':[" COND("Evicted", "True", "") "]"), JOB_EVICTED,
     JOB_REST},
    /* the Workload does not fit */
    {JOB(SUSPENDED, ""), WORKLOAD("", PODSET("4"), ""), JOB_UNMATCHED, JOB_REST},
    {JOB(RUNNING, ""), WORKLOAD("", PODSET("4"), ADMITTED), JOB_UNMATCHED, JOB_STOP},
    {JOB(SUSPENDED, ""), WORKLOAD("", PODSET("3") ",'maximumExecutionTimeSeconds':9", ""),
     JOB_UNMATCHED, JOB_REST},
    /* not ours, or not any more */
    {"{'metadata':{'name':'j','namespace':'ns','uid':'ju'},'spec':{" RUNNING TEMPLATE "}}", NULL,
     JOB_IGNORED, JOB_REST},
    {"{" JOB_META("'deletionTimestamp':'2026-01-01T00:00:00Z',") "},'spec':{" RUNNING TEMPLATE "}}",
     NULL, JOB_ORPHANS, JOB_REST},
};

static void test_stands(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(stands); i++) {
        struct fixture f;
        begin(&f);
        (void)take(&f, REC_FLAVOR, flavor_spot);
        if (stands[i].workload)
            (void)take(&f, REC_WORKLOAD, stands[i].workload);
        struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, stands[i].job));
        struct mgr_job_plan p = mgr_job_plan(&f.m, j);
        if (p.phase != stands[i].phase || p.step != stands[i].step)
            print_error("case %zu\n", i);
        assert_int_equal(p.phase, stands[i].phase);
        assert_int_equal(p.step, stands[i].step);
        end(&f);
    }
}

static void test_read_when_not_kept(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    f.m.inf->tables[REC_WORKLOAD].synced = false; /* the first lists are still coming */
    struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_null(j->draft);
    f.m.inf->tables[REC_WORKLOAD].synced = true;
    assert_int_equal(mgr_job_plan(&f.m, j).step, JOB_READ);
    j->step = JOB_READ;
    (void)take(&f, REC_JOB, JOB(SUSPENDED, ""));
    assert_non_null(j->draft);
    assert_int_equal(mgr_job_plan(&f.m, j).step, JOB_CREATE);
    end(&f);
}

static void test_templates_are_shared(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    struct mgr_rec_wl *w = mgr_wl_of(take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), "")));
    struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_ptr_equal(j->template, w->podsets[0].template);
    assert_null(j->more);
    assert_null(j->draft);
    end(&f);
}
/* ---- bodies ---- */

static void test_create(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    static const char *const keys[] = {"team"};
    f.settings.label_keys_to_copy = (struct sl_strs){keys, 1};
    struct sl_rec *j =
        take(&f, REC_JOB,
             "{'metadata':{'name':'j','namespace':'ns','uid':'ju','labels':{'" Q
             "queue-name':'q','team':'t','x':'y','" Q
             "max-exec-time-seconds':'60'},'annotations':{'provreq." Q "A':'1','z':'z','" Q
             "job-min-parallelism':'2','" Q "admission-gated-by':'a.io/g'}},"
             "'spec':{'suspend':true,'parallelism':3,'completions':9,'template':{'metadata':{'"
             "creationTimestamp':null," LABELS "},'spec':{'containers':[{'name':'c','env':[{'name':"
             "'A','value':'1'},{'name':'B','value':'2'},"
             "{'name':'A','value':'3'}]}]}}}}");
    wants(
        &f, j, SL_POST,
        "{'apiVersion':'kueue.x-k8s.io/"
        "v1beta2','kind':'Workload','metadata':{'name':'job-j-fc056','namespace':'ns',"
        "'labels':{'" Q "job-uid':'ju','team':'t'},'annotations':{'provreq." Q "A':'1','" Q
        "admission-gated-by':'a.io/g'},"
        "'finalizers':['" Q
        "resource-in-use'],'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'j',"
        "'uid':'ju','controller':true,'blockOwnerDeletion':true}]},'spec':{'podSets':[{'name':'"
        "main','count':3,'minCount':2,"
        "'template':{'metadata':{'labels':{'app':'a','batch.kubernetes.io/"
        "job-name':'j'}},'spec':{'containers':[{'name':'c',"
        "'env':[{'name':'A','value':'3'},{'name':'B','value':'2'}]}]}},'topologyRequest':{'"
        "podIndexLabel':"
        "'batch.kubernetes.io/"
        "job-completion-index'}}],'priority':0,'queueName':'q','maximumExecutionTimeSeconds':60}}");
    end(&f);
}

static void test_start(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    (void)take(&f, REC_FLAVOR, flavor_spot);
    (void)take(&f, REC_WORKLOAD,
               WORKLOAD("", PODSET("3"),
                        ADMITTED ",'admissionChecks':[{'name':'ac','state':'Ready','podSetUpdates':"
                                 "[{'name':'main','labels':{'l':'v'},'annotations':{'n':'m'},"
                                 "'nodeSelector':{'s':'t'},'tolerations':[{'key':'spot','operator':"
                                 "'Exists'},{'key':'k'}]}]}]"));
    struct sl_rec *j = take(&f, REC_JOB, JOB(SUSPENDED, ""));
    wants(&f, j, SL_PATCH,
          GUARD("9") "},'spec':{'suspend':false,'template':{'metadata':{'annotations':{'" Q
                     "workload':'w','n':'m'},'labels':{'" Q "podset':'main','" Q
                     "local-queue-name':'q','" Q
                     "cluster-queue-name':'cq','l':'v'}},'spec':{'nodeSelector':{"
                     "'type':'spot','s':'t'},'tolerations':[{'key':'spot','operator':'Exists'},{'"
                     "key':'k'}]}}}}");
    assert_string_equal(mgr_job_of(j)->note, "Admitted by clusterQueue cq");
    end(&f);
}

static void test_start_partly(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    (void)take(&f, REC_FLAVOR, flavor_spot);
    (void)take(&f, REC_WORKLOAD,
               "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':1," OWNER
               "},'spec':{'queueName':'q','podSets':[{'name':'main','count':3,'minCount':1,'"
               "template':{'metadata':{'labels':{'app':"
               "'a'}},'spec':{" CONTAINERS
               "}}}]},'status':{" ADMISSION("spot", "2") ",'conditions':[" RESERVED
                                                         "," COND("Admitted", "True", "") "]}}");
    struct sl_rec *j = take(
        &f, REC_JOB,
        "{" JOB_META("'annotations':{'" Q "job-min-parallelism':'1','" Q
                     "job-completions-equal-parallelism':'true'},") "},'spec':{" SUSPENDED TEMPLATE
                                                                    "}}");
    enum sl_kube_method method;
    char *s = body(&f, j, &method);
    assert_non_null(
        strstr(s, "'spec':{'suspend':false,'parallelism':2,'completions':2,'template':{"));
    sl_freep(&s);
    end(&f);
}

static void conflicts(const char *job, const char *status, const char *wanted) {
    struct fixture f;
    struct sl_err err = {0};
    begin(&f);
    (void)take(&f, REC_FLAVOR, flavor_spot);
    struct mgr_rec_wl *w = mgr_wl_of(take(&f, REC_WORKLOAD, status));
    struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, job));
    struct mgr_job_extras *x = NULL;
    if (mgr_job_extras_new(&f.m, w, 0, &x, &err) >= 0)
        assert_true(mgr_job_extras_fit(x, j->template, mgr_job_marks_of(j, 0), &err) < 0);
    assert_int_equal(err.code, SL_EINVAL);
    assert_string_equal(err.text, wanted);
    mgr_job_extras_free(x);
    end(&f);
}

#define CHECK(name, labels)                                                                        \
    "{'name':'" name "','state':'Ready','podSetUpdates':[{'name':'main','labels':{" labels "}}]}"
#define CONFLICT "invalid admission check PodSetUpdate: conflict for "

static void test_conflicts(void **state) {
    (void)state;
    conflicts(
        JOB(SUSPENDED, ""),
        WORKLOAD("", PODSET("3"), ADMITTED ",'admissionChecks':[" CHECK("a", "'app':'b'") "]"),
        CONFLICT "labels: conflict for key=app, value1=a, value2=b");
    conflicts(JOB(SUSPENDED, ""),
              WORKLOAD("", PODSET("3"),
                       ADMITTED
                       ",'admissionChecks':[" CHECK("a", "'x':'1'") "," CHECK("b", "'x':'2'") "]"),
              "in admission check \"b\": " CONFLICT
              "labels: conflict for key=x, value1=1, value2=2");
    conflicts("{" JOB_META("") "},'spec':{" SUSPENDED "'template':{'metadata':{'annotations':{'" Q
                               "workload':'other'}," LABELS "},'spec':{" CONTAINERS "}}}}",
              WORKLOAD("", PODSET("3"), ADMITTED),
              CONFLICT "annotations: conflict for key=" Q "workload, value1=other, value2=w");
}

static void test_stop(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    (void)take(&f, REC_WORKLOAD,
               WORKLOAD("", PODSET("3"),
                        "'conditions':[" COND("Evicted", "True",
                                              ",'reason':'Preempted','message':'make room'") "]"));
    struct sl_rec *j = take(&f, REC_JOB, JOB(RUNNING, "'startTime':'2026-01-01T00:00:00Z'"));
    wants(&f, j, SL_PATCH,
          GUARD("8") ",'annotations':{'" Q "stopping':'true'}},'spec':{'suspend':true}}");
    assert_string_equal(mgr_job_of(j)->note, "make room");

    (void)take(
        &f, REC_JOB,
        "{" JOB_META("'annotations':{'" Q
                     "stopping':'true'},") "},'spec':{" SUSPENDED TEMPLATE
                                           "},'status':{'startTime':'2026-01-01T00:00:00Z'}}");
    wants(&f, j, SL_PATCH, GUARD("9") "},'status':{'startTime':null}}");

    (void)take(&f, REC_JOB,
               "{" JOB_META("'annotations':{'" Q
                            "stopping':'true'},") "},'spec':{" SUSPENDED
                                                  "'template':{'metadata':{'annotations':{'" Q
                                                  "workload':'w','n':'m'},'labels':{'app':'a','l':'"
                                                  "v','job-name':'j'}},"
                                                  "'spec':{'nodeSelector':{'type':'spot'},'"
                                                  "tolerations':[{'key':'spot'}]," CONTAINERS
                                                  "}}}}");
    wants(&f, j, SL_PATCH,
          GUARD("10") ",'annotations':{'" Q
                      "stopping':null}},'spec':{'template':{'metadata':{'annotations':{'n':null,'" Q
                      "workload':null},'labels':{'l':null}},'spec':{'nodeSelector':{'type':null},'"
                      "tolerations':null}}}}");

    (void)take(&f, REC_JOB, JOB(SUSPENDED, ""));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, JOB_REST);
    end(&f);
}

/* A template that has to be restored waits for the pods; anything else does not. */
static void test_stop_waits(void **state) {
    (void)state;
    static const struct {
        const char *job;
        enum mgr_job_step step;
    } v[] = {
        {"'nodeSelector':{'type':'spot'}," CONTAINERS "}}},'status':{'active':2}}", JOB_WAIT},
        {"'nodeSelector':{'type':'spot'}," CONTAINERS "}}},'status':{'active':0}}", JOB_RESTORE},
        {CONTAINERS "}}},'status':{'active':2}}", JOB_RESTORE},
    };
    for (size_t i = 0; i < SL_LEN(v); i++) {
        struct fixture f;
        char text[2048];
        begin(&f);
        (void)take(&f, REC_WORKLOAD,
                   WORKLOAD("", PODSET("3"), "'conditions':[" COND("Evicted", "True", "") "]"));
        (void)snprintf(text, sizeof text, "%s%s",
                       "{" JOB_META("'annotations':{'" Q
                                    "stopping':'true'},") "},'spec':{" SUSPENDED
                                                          "'template':{'metadata':{'labels':{'app':"
                                                          "'a','job-name':'j'}},'spec':{",
                       v[i].job);
        struct sl_rec *j = take(&f, REC_JOB, text);
        assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, v[i].step);
        end(&f);
    }
}

static void test_retention(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    f.settings.drop_deactivated = 2 * SL_HOUR; /* evicted an hour ago */
    (void)take(
        &f, REC_WORKLOAD,
        WORKLOAD("", "'active':false," PODSET("3"),
                 "'conditions':[" COND("Evicted", "True",
                                       ",'reason':'DeactivatedDueToRequeuingLimitExceeded'") "]"));
    struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_int_equal(mgr_job_plan(&f.m, j).step, JOB_REST);
    f.client.wall += SL_HOUR;
    assert_int_equal(mgr_job_plan(&f.m, j).step, JOB_DELETE);
    wants(&f, &j->rec, SL_DELETE,
          "{'kind':'DeleteOptions','apiVersion':'v1','propagationPolicy':'Background','"
          "preconditions':{'uid':'ju'}}");
    end(&f);
}

/* ---- numbers ---- */

static void test_indexes(void **state) {
    (void)state;
    assert_int_equal(mgr_job_index_count("", 5), 0);
    assert_int_equal(mgr_job_index_count("1,3-5,7", 100), 5);
    assert_int_equal(mgr_job_index_count("1,3-5,7", 5), 3);
    assert_int_equal(mgr_job_index_count("0-9", 3), 3);
    assert_int_equal(mgr_job_index_count("x,2,5-3,1-,-1,4", 10), 2);
    assert_int_equal(mgr_job_index_count("0-99999999999", 10), 0);
    assert_int_equal(mgr_job_index_count("3", 0), 0);
}

static void test_reclaimable(void **state) {
    (void)state;
    static const struct {
        int32_t parallelism, completions, succeeded, indexes;
        bool indexed;
        int32_t wanted;
    } v[] = {
        {1, 1, 1, 0, false, 0},  {3, 6, 0, 0, false, 0}, {3, 6, 3, 0, false, 0},
        {3, 6, 4, 0, false, 1},  {3, 6, 6, 0, false, 3}, {3, 6, 9, 0, false, 3},
        {3, -1, 2, 0, false, 2}, {5, 3, 1, 0, false, 3}, {3, 6, 6, 4, true, 1},
        {3, 6, 6, 0, true, 0},
    };
    for (size_t i = 0; i < SL_LEN(v); i++) {
        struct mgr_rec_job j = {.parallelism = v[i].parallelism,
                                .completions = v[i].completions,
                                .succeeded = v[i].succeeded,
                                .indexes = v[i].indexes,
                                .indexed_mode = v[i].indexed};
        assert_int_equal(mgr_job_reclaimable(&j), v[i].wanted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stands),
        cmocka_unit_test(test_read_when_not_kept),
        cmocka_unit_test(test_templates_are_shared),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_partly),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stop_waits),
        cmocka_unit_test(test_retention),
        cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_reclaimable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
