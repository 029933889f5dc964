/* The Job integration without an API server: where a Job stands, and the bodies that are written
 * for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controllers/job.h"

#define Q "kueue.x-k8s.io/"
#define NOW (INT64_C(1767225600) * SL_SEC) /* 2026-01-01T00:00:00Z */

/* ---- a manager with nothing around it ---- */

struct fixture {
    struct sl_manager m;
    struct sl_settings settings;
    struct sl_port port;
    uint64_t rv;
};

static void begin(struct fixture *f) {
    *f = (struct fixture){.port = {.wall = NOW, .mono = SL_SEC}, .rv = 6};
    for (enum sl_gate_id g = 0; g < SL_GATES; g++)
        f->settings.gates[g] = sl_gate_default(g);
    f->settings.framework[SL_FW_JOB] = true;
    f->settings.keep_finished = f->settings.drop_deactivated = SL_TIME_NEVER;
    f->m.settings = &f->settings;
    f->m.spec.port = &f->port;
    f->m.spec.parts.framework[SL_FW_JOB] = true;
    f->m.tables[REC_WORKLOAD].synced = true;
    f->m.tables[REC_JOB].synced = true;
    sl_syms_init(&f->m.syms);
}

static void end(struct fixture *f) {
    struct sl_manager *m = &f->m;
    for (uint32_t i = 0; i < m->objs.n; i++) {
        struct rec *r = m->objs.v[i];
        if (kinds[r->kind].done)
            kinds[r->kind].done(r);
        sl_freep(&r->name);
        sl_freep(&r->uid);
        sl_freep(&r->finalizers);
        sl_freep(&r);
    }
    for (uint32_t k = 0; k < REC_KINDS; k++) {
        sl_map_done(&m->tables[k].by_name);
        sl_vec_free(&m->tables[k].dirty);
        sl_vec_free(&m->tables[k].slots);
        sl_vec_free(&m->tables[k].free_slots);
    }
    for (uint32_t i = 0; i < m->templates.n; i++)
        if (m->templates.v[i]) {
            m->templates.v[i]->refs = 1;
            template_unref(m, m->templates.v[i]);
        }
    struct sl_map *maps[] = {&m->by_uid, &m->by_owner, &m->job_children, &m->job_prebuilt,
                             &m->templates_by_hash};
    for (size_t i = 0; i < SL_LEN(maps); i++)
        sl_map_done(maps[i]);
    sl_vec_free(&m->objs);
    sl_vec_free(&m->templates);
    sl_vec_free(&m->free_templates);
    sl_syms_done(&m->syms);
}

/* Quotes may be written as '. Every object gets a newer version. */
static struct rec *take(struct fixture *f, enum rec_kind k, const char *text) {
    char *json = sl_strdup(text), *at;
    while ((at = strchr(json, '\'')))
        *at = '"';
    yyjson_doc *d = yyjson_read(json, strlen(json), 0);
    assert_non_null(d);
    yyjson_mut_doc *e = yyjson_doc_mut_copy(d, NULL);
    char rv[24];
    (void)snprintf(rv, sizeof rv, "%llu", (unsigned long long)++f->rv);
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(e), "metadata");
    (void)yyjson_mut_obj_put(meta, yyjson_mut_str(e, "resourceVersion"), yyjson_mut_str(e, rv));
    yyjson_doc *full = yyjson_mut_doc_imut_copy(e, NULL);
    struct rec *r = rec_take(&f->m, k, yyjson_doc_get_root(full));
    yyjson_doc_free(full);
    yyjson_mut_doc_free(e);
    yyjson_doc_free(d);
    sl_freep(&json);
    assert_non_null(r);
    return r;
}

/* ---- objects ---- */

#define CONTAINERS "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]"
#define LABELS                                                                                     \
    "'labels':{'app':'a','job-name':'j','controller-uid':'ju','batch.kubernetes.io/job-name':'j'," \
    "'batch.kubernetes.io/controller-uid':'ju'}"
#define JOB_META(more)                                                                             \
    "'metadata':{'name':'j','namespace':'ns','uid':'ju'," more "'labels':{'" Q "queue-name':'q'}"
#define TEMPLATE "'template':{'metadata':{" LABELS "},'spec':{" CONTAINERS "}}"
#define SUSPENDED "'suspend':true,'parallelism':3,'completions':3,"
#define RUNNING "'suspend':false,'parallelism':3,'completions':3,"
#define JOB(spec, status) "{" JOB_META("") "},'spec':{" spec TEMPLATE "},'status':{" status "}}"

#define OWNER                                                                                      \
    "'ownerReferences':[{'apiVersion':'batch/"                                                     \
    "v1','kind':'Job','name':'j','uid':'ju','controller':true}]"
#define PODSET(count)                                                                              \
    "'podSets':[{'name':'main','count':" count ",'template':{'metadata':{'labels':{'app':'a',"     \
    "'batch.kubernetes.io/job-name':'j'}},'spec':{" CONTAINERS "}}}]"
#define WORKLOAD(meta, spec, status)                                                               \
    "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':1," meta OWNER               \
    "},'spec':{'queueName':'q'," spec "},'status':{" status "}}"
#define COND(type, status, more)                                                                   \
    "{'type':'" type "','status':'" status "','lastTransitionTime':'2025-12-31T23:00:00Z'" more "}"
#define ADMISSION(flavor, count)                                                                   \
    "'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main','count':" count          \
    ",'flavors':{'cpu':'" flavor "'},'resourceUsage':{'cpu':'3'}}]}"
#define RESERVED COND("QuotaReserved", "True", "")
#define ADMITTED                                                                                   \
    ADMISSION("spot", "3") ",'conditions':[" RESERVED "," COND("Admitted", "True", "") "]"

static const char flavor_spot[] =
    "{'metadata':{'name':'spot','uid':'fu'},'spec':{'nodeLabels':{'type':'spot'},"
    "'tolerations':[{'key':'spot','operator':'Exists'}]}}";

/* ---- where it stands ---- */

static const struct {
    const char *job, *workload;
    enum job_phase phase;
    enum job_step step;
} stands[] = {
    {JOB(SUSPENDED, ""), NULL, JOB_ALONE, JOB_CREATE},
    {JOB(SUSPENDED, "'active':1"), NULL, JOB_ALONE, JOB_REST},
    {JOB(RUNNING, ""), NULL, JOB_ALONE, JOB_STOP},
    {JOB(RUNNING, "'conditions':[{'type':'Complete','status':'True'}]"), NULL, JOB_ALONE, JOB_REST},
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
        struct rec_job *j = job_of(take(&f, REC_JOB, stands[i].job));
        struct job_plan p = job_plan(&f.m, j);
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
    f.m.tables[REC_WORKLOAD].synced = false; /* the first lists are still coming */
    struct rec_job *j = job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_null(j->draft);
    f.m.tables[REC_WORKLOAD].synced = true;
    assert_int_equal(job_plan(&f.m, j).step, JOB_READ);
    j->step = JOB_READ;
    (void)take(&f, REC_JOB, JOB(SUSPENDED, ""));
    assert_non_null(j->draft);
    assert_int_equal(job_plan(&f.m, j).step, JOB_CREATE);
    end(&f);
}

static void test_templates_are_shared(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    struct rec_wl *w = wl_of(take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), "")));
    struct rec_job *j = job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_ptr_equal(j->template, w->podsets[0].template);
    assert_null(j->more);
    assert_null(j->draft);
    end(&f);
}

/* ---- bodies ---- */

static char *body(struct fixture *f, struct rec *r, enum sl_method *method) {
    struct sl_write w = {0};
    sl_buf_init(&w.path, SL_WRITER_MAX_PATH);
    sl_buf_init(&w.read_path, SL_WRITER_MAX_PATH);
    sl_buf_init(&w.body, SL_WRITER_MAX_BODY);
    assert_true(job_build(&f->m, r, &w));
    *method = w.method;
    char *s = sl_strdup(sl_buf_str(&w.body));
    yyjson_doc *d = yyjson_read(s, strlen(s), 0);
    assert_non_null(d); /* whatever it says, it is JSON */
    yyjson_doc_free(d);
    for (char *at; (at = strchr(s, '"'));)
        *at = '\'';
    sl_buf_done(&w.path);
    sl_buf_done(&w.read_path);
    sl_buf_done(&w.body);
    return s;
}

static void wants(struct fixture *f, struct rec *r, enum sl_method method, const char *text) {
    enum sl_method m;
    char *s = body(f, r, &m);
    assert_string_equal(s, text);
    assert_int_equal(m, method);
    sl_freep(&s);
}

#define GUARD(rv) "{'metadata':{'resourceVersion':'" rv "','uid':'ju'"

static void test_create(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    static const char *const keys[] = {"team"};
    f.settings.label_keys_to_copy = (struct sl_strs){keys, 1};
    struct rec *j =
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
    struct rec *j = take(&f, REC_JOB, JOB(SUSPENDED, ""));
    wants(&f, j, SL_PATCH,
          GUARD("9") "},'spec':{'suspend':false,'template':{'metadata':{'annotations':{'" Q
                     "workload':'w','n':'m'},'labels':{'" Q "podset':'main','" Q
                     "local-queue-name':'q','" Q
                     "cluster-queue-name':'cq','l':'v'}},'spec':{'nodeSelector':{"
                     "'type':'spot','s':'t'},'tolerations':[{'key':'spot','operator':'Exists'},{'"
                     "key':'k'}]}}}}");
    assert_string_equal(job_of(j)->note, "Admitted by clusterQueue cq");
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
    struct rec *j = take(
        &f, REC_JOB,
        "{" JOB_META("'annotations':{'" Q "job-min-parallelism':'1','" Q
                     "job-completions-equal-parallelism':'true'},") "},'spec':{" SUSPENDED TEMPLATE
                                                                    "}}");
    enum sl_method method;
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
    struct rec_wl *w = wl_of(take(&f, REC_WORKLOAD, status));
    struct rec_job *j = job_of(take(&f, REC_JOB, job));
    struct job_extras *x = job_extras_new(&f.m, w, &err);
    if (x)
        assert_true(job_extras_fit(x, j->template, j->more, &err) < 0);
    assert_int_equal(err.code, SL_EINVAL);
    assert_string_equal(err.text, wanted);
    job_extras_free(x);
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
    struct rec *j = take(&f, REC_JOB, JOB(RUNNING, "'startTime':'2026-01-01T00:00:00Z'"));
    wants(&f, j, SL_PATCH,
          GUARD("8") ",'annotations':{'" Q "stopping':'true'}},'spec':{'suspend':true}}");
    assert_string_equal(job_of(j)->note, "make room");

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
    assert_int_equal(job_plan(&f.m, job_of(j)).step, JOB_REST);
    end(&f);
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
    struct rec_job *j = job_of(take(&f, REC_JOB, JOB(SUSPENDED, "")));
    assert_int_equal(job_plan(&f.m, j).step, JOB_REST);
    f.port.wall += SL_HOUR;
    assert_int_equal(job_plan(&f.m, j).step, JOB_DELETE);
    wants(&f, &j->rec, SL_DELETE,
          "{'kind':'DeleteOptions','apiVersion':'v1','propagationPolicy':'Background','"
          "preconditions':{'uid':'ju'}}");
    end(&f);
}

/* ---- families ---- */

#define CHILD(name, uid, owner, owner_uid)                                                         \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'" uid                                  \
    "','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'" owner                    \
    "','uid':'" owner_uid "','controller':true}]},'spec':{" RUNNING TEMPLATE "}}"

static void test_children(void **state) {
    (void)state;
    struct fixture f;
    struct rec_job *above;
    begin(&f);
    struct rec_job *c = job_of(take(&f, REC_JOB, CHILD("c", "cu", "b", "bu")));
    assert_int_equal(job_kin(&f.m, c, &above), JOB_KIN_UNCLEAR);
    assert_int_equal(job_plan(&f.m, c).phase, JOB_IGNORED);
    (void)take(&f, REC_JOB, CHILD("b", "bu", "j", "ju"));
    struct rec *j = take(&f, REC_JOB, JOB(SUSPENDED, ""));
    assert_int_equal(job_kin(&f.m, c, &above), JOB_KIN_ANCESTOR);
    assert_ptr_equal(above, j);
    assert_int_equal(job_plan(&f.m, c).step, JOB_SUSPEND_CHILD);
    wants(&f, &c->rec, SL_PATCH,
          "{'metadata':{'resourceVersion':'7','uid':'cu'},'spec':{'suspend':true}}");
    (void)take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), ADMITTED));
    assert_int_equal(job_plan(&f.m, c).step, JOB_REST);
    end(&f);
}

static void test_circles_end(void **state) {
    (void)state;
    struct fixture f;
    struct rec_job *above;
    begin(&f);
    struct rec_job *a = job_of(take(&f, REC_JOB, CHILD("a", "au", "b", "bu")));
    (void)take(&f, REC_JOB, CHILD("b", "bu", "a", "au"));
    struct rec_job *s = job_of(take(&f, REC_JOB, CHILD("s", "su", "s", "su")));
    assert_int_equal(job_kin(&f.m, a, &above), JOB_KIN_UNCLEAR);
    assert_int_equal(job_kin(&f.m, s, &above), JOB_KIN_UNCLEAR);
    job_mark_children(&f.m, a);
    end(&f);
}

static void test_deep_chains(void **state) {
    (void)state;
    struct fixture f;
    struct rec_job *above, *last = NULL;
    begin(&f);
    (void)take(&f, REC_JOB,
               "{'metadata':{'name':'n0','namespace':'ns','uid':'u0'},'spec':{" RUNNING TEMPLATE
               "}}");
    for (int i = 1; i <= 11; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'n%d','namespace':'ns','uid':'u%d','ownerReferences':[{"
                       "'apiVersion':'batch/v1','kind':'Job',"
                       "'name':'n%d','uid':'u%d','controller':true}]},'spec':{}}",
                       i, i, i - 1, i - 1);
        last = job_of(take(&f, REC_JOB, text));
        if (i == 10)
            assert_int_equal(job_kin(&f.m, last, &above), JOB_KIN_NONE);
    }
    assert_int_equal(job_kin(&f.m, last, &above), JOB_KIN_TOO_DEEP);
    end(&f);
}

/* ---- prebuilt Workloads ---- */

#define PREBUILT(spec)                                                                             \
    "{" JOB_META("'annotations':{'" Q "prebuilt-workload-name':'w'},") "},'spec':{" spec TEMPLATE  \
                                                                       "}}"
#define LOOSE(count)                                                                               \
    "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':1},'spec':{" PODSET(         \
        count) "}}"

static void test_prebuilt(void **state) {
    (void)state;
    struct fixture f;
    begin(&f);
    struct rec_job *j = job_of(take(&f, REC_JOB, PREBUILT(RUNNING)));
    struct job_plan p = job_plan(&f.m, j);
    assert_int_equal(p.phase, JOB_ALONE);
    assert_int_equal(p.step, JOB_STOP);
    assert_string_equal(p.why, "missing workload");
    (void)take(&f, REC_JOB, PREBUILT(SUSPENDED));
    assert_int_equal(job_plan(&f.m, j).step, JOB_REST);
    (void)take(&f, REC_WORKLOAD, LOOSE("3"));
    assert_int_equal(job_plan(&f.m, j).phase, JOB_ADOPTING);
    (void)take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), ""));
    assert_int_equal(job_plan(&f.m, j).phase, JOB_WAITING);
    (void)take(&f, REC_WORKLOAD,
               "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':2," OWNER
               "},'spec':{" PODSET("4") "}}");
    p = job_plan(&f.m, j);
    assert_int_equal(p.phase, JOB_OUT_OF_SYNC);
    assert_int_equal(p.step, JOB_REST); /* it is stopped already */
    end(&f);
}

/* ---- elastic Jobs ---- */

#define ELASTIC(count)                                                                             \
    "{" JOB_META("'generation':" count ",'annotations':{'" Q                                       \
                 "elastic-job':'true'},") "},'spec':{'suspend':false,"                             \
                                          "'parallelism':" count ",'completions':9," TEMPLATE "}}"
#define SLICE(name, at, annotations, count, status)                                                \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'u-" name "','generation':" count       \
    ",'creationTimestamp':'2026-01-01T00:00:0" at "Z','annotations':{'" Q                          \
    "elastic-job':'true'" annotations "}," OWNER                                                   \
    "},'spec':{'queueName':'q'," PODSET(count) "},'status':{" status "}}"
#define REPLACES(name)                                                                             \
    ",'" Q "workload-slice-replacement-for':'ns/" name "','" Q "workload-slice-name':'first'"

static void test_slices(void **state) {
    (void)state;
    struct fixture f;
    struct job_plan p;
    enum sl_method method;
    begin(&f);
    struct rec *j = take(&f, REC_JOB, ELASTIC("3"));
    assert_int_equal(job_plan(&f.m, job_of(j)).step,
                     JOB_CREATE); /* running, and not stopped: its pods are gated */
    char *s = body(&f, j, &method);
    assert_non_null(strstr(s, "'" Q "elastic-job':'true','" Q "workload-slice-name':'job-j-"));
    sl_freep(&s);

    /* smaller, or nothing reserved: in place */
    struct rec *a = take(&f, REC_WORKLOAD, SLICE("a", "1", "", "2", ""));
    assert_int_equal(job_plan(&f.m, job_of(j)).step, JOB_RESIZE);
    wants(
        &f, j, SL_PATCH,
        "[{'op':'replace','path':'/metadata/resourceVersion','value':'8'},{'op':'replace','path':'/"
        "spec/podSets/0/count','value':3}]");
    (void)take(&f, REC_WORKLOAD, SLICE("a", "1", "", "4", ADMITTED));
    assert_int_equal(job_plan(&f.m, job_of(j)).step, JOB_RESIZE);

    /* larger: a slice that replaces the one that runs */
    (void)take(&f, REC_WORKLOAD, SLICE("a", "1", "", "2", ADMITTED));
    j = take(&f, REC_JOB, ELASTIC("3"));
    assert_int_equal(job_plan(&f.m, job_of(j)).step, JOB_CREATE);
    s = body(&f, j, &method);
    assert_non_null(
        strstr(s, "'" Q "workload-slice-replacement-for':'ns/a','" Q "workload-slice-name':'a'"));
    sl_freep(&s);

    struct rec *b = take(&f, REC_WORKLOAD, SLICE("b", "2", REPLACES("a"), "3", ""));
    p = job_plan(&f.m, job_of(j));
    assert_ptr_equal(p.wl, b);
    assert_int_equal(p.step, JOB_REST);
    job_slices_settle(&f.m, job_of(j));
    assert_false(wl_will(&f.m, wl_of(a), "Finished"));

    (void)take(&f, REC_WORKLOAD, SLICE("b", "2", REPLACES("a"), "3", ADMITTED));
    job_slices_settle(&f.m, job_of(j));
    assert_true(wl_will(&f.m, wl_of(a), "Finished"));
    assert_false(wl_will(&f.m, wl_of(b), "Finished"));
    assert_ptr_equal(job_plan(&f.m, job_of(j)).wl, b);

    /* one that belongs to nothing */
    struct rec *c = take(&f, REC_WORKLOAD, SLICE("c", "3", REPLACES("x"), "5", ""));
    job_slices_settle(&f.m, job_of(j));
    assert_true(wl_will(&f.m, wl_of(c), "Finished"));
    end(&f);
}

/* ---- numbers ---- */

static void test_indexes(void **state) {
    (void)state;
    assert_int_equal(job_index_count("", 5), 0);
    assert_int_equal(job_index_count("1,3-5,7", 100), 5);
    assert_int_equal(job_index_count("1,3-5,7", 5), 3);
    assert_int_equal(job_index_count("0-9", 3), 3);
    assert_int_equal(job_index_count("x,2,5-3,1-,-1,4", 10), 2);
    assert_int_equal(job_index_count("0-99999999999", 10), 0);
    assert_int_equal(job_index_count("3", 0), 0);
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
        struct rec_job j = {.parallelism = v[i].parallelism,
                            .completions = v[i].completions,
                            .succeeded = v[i].succeeded,
                            .indexes = v[i].indexes,
                            .indexed_mode = v[i].indexed};
        assert_int_equal(job_reclaimable(&j), v[i].wanted);
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
        cmocka_unit_test(test_retention),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_circles_end),
        cmocka_unit_test(test_deep_chains),
        cmocka_unit_test(test_prebuilt),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_reclaimable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
