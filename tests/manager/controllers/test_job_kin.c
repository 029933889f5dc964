/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their kin: children of Jobs, prebuilt Workloads, slices of elastic Jobs. */
#include "job_fixture.h"

/* ---- families ---- */

#define CHILD(name, uid, owner, owner_uid)                                                         \
    "{'metadata':{'name':'" name "','namespace':'ns','uid':'" uid                                  \
    "','ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'" owner                    \
    "','uid':'" owner_uid "','controller':true}]},'spec':{" RUNNING TEMPLATE "}}"

static void test_children(void **state) {
    (void)state;
    struct fixture f;
    struct mgr_rec_job *above;
    begin(&f);
    struct mgr_rec_job *c = mgr_job_of(take(&f, REC_JOB, CHILD("c", "cu", "b", "bu")));
    assert_int_equal(mgr_job_ancestry(&f.m, c, &above), JOB_ANCESTRY_UNCLEAR);
    assert_int_equal(mgr_job_plan(&f.m, c).phase, JOB_IGNORED);
    (void)take(&f, REC_JOB, CHILD("b", "bu", "j", "ju"));
    struct sl_rec *j = take(&f, REC_JOB, JOB(SUSPENDED, ""));
    assert_int_equal(mgr_job_ancestry(&f.m, c, &above), JOB_ANCESTRY_ANCESTOR);
    assert_ptr_equal(above, j);
    assert_int_equal(mgr_job_plan(&f.m, c).step, JOB_SUSPEND_CHILD);
    wants(&f, &c->rec, SL_PATCH,
          "{'metadata':{'resourceVersion':'7','uid':'cu'},'spec':{'suspend':true}}");
    (void)take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), ADMITTED));
    assert_int_equal(mgr_job_plan(&f.m, c).step, JOB_REST);
    end(&f);
}

/* A name is not enough: the owner is identified by the UID, at each step. */
static void test_false_owners(void **state) {
    (void)state;
    struct fixture f;
    struct mgr_rec_job *above;
    begin(&f);
    (void)take(&f, REC_JOB, JOB(SUSPENDED, ""));
    struct mgr_rec_job *b = mgr_job_of(take(&f, REC_JOB, CHILD("b", "bu", "j", "other")));
    struct mgr_rec_job *c = mgr_job_of(take(&f, REC_JOB, CHILD("c", "cu", "b", "bu")));
    struct sl_review_owner_ref owner = {"batch/v1", "Job", "j", "other"};
    assert_int_equal(mgr_job_ancestry(&f.m, b, &above), JOB_ANCESTRY_NONE);
    assert_int_equal(mgr_job_ancestry(&f.m, c, &above), JOB_ANCESTRY_NONE);
    assert_false(mgr_job_owner_managed(&f.m, "ns", &owner));
    owner.uid = "ju";
    assert_true(mgr_job_owner_managed(&f.m, "ns", &owner));
    owner = (struct sl_review_owner_ref){"batch/v1", "Job", "b", "bu"};
    assert_false(mgr_job_owner_managed(&f.m, "ns", &owner));
    end(&f);
}

static void test_circles_end(void **state) {
    (void)state;
    struct fixture f;
    struct mgr_rec_job *above;
    begin(&f);
    struct mgr_rec_job *a = mgr_job_of(take(&f, REC_JOB, CHILD("a", "au", "b", "bu")));
    (void)take(&f, REC_JOB, CHILD("b", "bu", "a", "au"));
    struct mgr_rec_job *s = mgr_job_of(take(&f, REC_JOB, CHILD("s", "su", "s", "su")));
    assert_int_equal(mgr_job_ancestry(&f.m, a, &above), JOB_ANCESTRY_UNCLEAR);
    assert_int_equal(mgr_job_ancestry(&f.m, s, &above), JOB_ANCESTRY_UNCLEAR);
    mgr_job_mark_children(&f.m, a);
    end(&f);
}

static void test_deep_chains(void **state) {
    (void)state;
    struct fixture f;
    struct mgr_rec_job *above, *last = NULL;
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
        last = mgr_job_of(take(&f, REC_JOB, text));
        if (i == 10)
            assert_int_equal(mgr_job_ancestry(&f.m, last, &above), JOB_ANCESTRY_NONE);
    }
    assert_int_equal(mgr_job_ancestry(&f.m, last, &above), JOB_ANCESTRY_TOO_DEEP);
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
    struct mgr_rec_job *j = mgr_job_of(take(&f, REC_JOB, PREBUILT(RUNNING)));
    struct mgr_job_plan p = mgr_job_plan(&f.m, j);
    assert_int_equal(p.phase, JOB_NO_WORKLOAD);
    assert_int_equal(p.step, JOB_STOP);
    assert_string_equal(p.why, "missing workload");
    (void)take(&f, REC_JOB, PREBUILT(SUSPENDED));
    assert_int_equal(mgr_job_plan(&f.m, j).step, JOB_REST);
    (void)take(&f, REC_WORKLOAD, LOOSE("3"));
    assert_int_equal(mgr_job_plan(&f.m, j).phase, JOB_ADOPTING);
    (void)take(&f, REC_WORKLOAD, WORKLOAD("", PODSET("3"), ""));
    assert_int_equal(mgr_job_plan(&f.m, j).phase, JOB_WAITING);
    (void)take(&f, REC_WORKLOAD,
               "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':2," OWNER
               "},'spec':{" PODSET("4") "}}");
    p = mgr_job_plan(&f.m, j);
    assert_int_equal(p.phase, JOB_OUT_OF_SYNC);
    assert_int_equal(p.step, JOB_REST); /* it is stopped already */
    end(&f);
}

/* ---- elastic Jobs ---- */

#define ELASTIC(count, suspend)                                                                    \
    "{" JOB_META("'generation':" count ",'annotations':{'" Q                                       \
                 "elastic-job':'true'},") "},'spec':{'suspend':" suspend ","                       \
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
    struct mgr_job_plan p;
    enum sl_kube_method method;
    begin(&f);
    struct sl_rec *j = take(&f, REC_JOB, ELASTIC("3", "false"));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step,
                     JOB_CREATE); /* running, and not stopped: its pods are gated */
    char *s = body(&f, j, &method);
    assert_non_null(strstr(s, "'" Q "elastic-job':'true','" Q "workload-slice-name':'job-j-"));
    sl_freep(&s);

    /* smaller, or nothing reserved: in place */
    struct sl_rec *a = take(&f, REC_WORKLOAD, SLICE("a", "1", "", "2", ""));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, JOB_RESIZE);
    wants(
        &f, j, SL_PATCH,
        "[{'op':'replace','path':'/metadata/resourceVersion','value':'8'},{'op':'replace','path':'/"
        "spec/podSets/0/count','value':3}]");
    (void)take(&f, REC_WORKLOAD, SLICE("a", "1", "", "4", ADMITTED));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, JOB_RESIZE);

    /* larger: a slice that replaces the one that runs */
    (void)take(&f, REC_WORKLOAD, SLICE("a", "1", "", "2", ADMITTED));
    j = take(&f, REC_JOB, ELASTIC("3", "false"));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, JOB_CREATE);
    s = body(&f, j, &method);
    assert_non_null(
        strstr(s, "'" Q "workload-slice-replacement-for':'ns/a','" Q "workload-slice-name':'a'"));
    sl_freep(&s);

    struct sl_rec *b = take(&f, REC_WORKLOAD, SLICE("b", "2", REPLACES("a"), "3", ""));
    p = mgr_job_plan(&f.m, mgr_job_of(j));
    assert_ptr_equal(p.wl, b);
    assert_int_equal(p.step, JOB_REST);
    mgr_job_slices_settle(&f.m, mgr_job_of(j));
    assert_false(mgr_wl_condition_will_be_true(&f.m, mgr_wl_of(a), "Finished"));

    (void)take(&f, REC_WORKLOAD, SLICE("b", "2", REPLACES("a"), "3", ADMITTED));
    mgr_job_slices_settle(&f.m, mgr_job_of(j));
    assert_true(mgr_wl_condition_will_be_true(&f.m, mgr_wl_of(a), "Finished"));
    assert_false(mgr_wl_condition_will_be_true(&f.m, mgr_wl_of(b), "Finished"));
    assert_ptr_equal(mgr_job_plan(&f.m, mgr_job_of(j)).wl, b);

    /* one that belongs to nothing */
    struct sl_rec *c = take(&f, REC_WORKLOAD, SLICE("c", "3", REPLACES("x"), "5", ""));
    mgr_job_slices_settle(&f.m, mgr_job_of(j));
    assert_true(mgr_wl_condition_will_be_true(&f.m, mgr_wl_of(c), "Finished"));
    end(&f);
}

/* With so many it is not known which is the Job's: none is charged, so it may not run. They are
 * left alone. */
static void test_too_many_slices(void **state) {
    (void)state;
    struct fixture f;
    struct sl_rec *v[JOB_MAX_SLICES + 1];
    char text[2000];
    begin(&f);
    struct sl_rec *j = take(&f, REC_JOB, ELASTIC("3", "true"));
    for (uint32_t i = 0; i < SL_LEN(v); i++) {
        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'s%u','namespace':'ns','uid':'u-s%u','generation':3,"
                       "'creationTimestamp':'2026-01-01T00:00:00Z','annotations':{'" Q
                       "elastic-job':'true'}," OWNER
                       "},'spec':{'queueName':'q'," PODSET("3") "},'status':{}}",
                       i, i);
        v[i] = take(&f, REC_WORKLOAD, text);
    }
    struct mgr_job_plan p = mgr_job_plan(&f.m, mgr_job_of(j));
    assert_null(p.wl);
    assert_int_equal(p.step, JOB_REST);
    mgr_job_changed(&f.m, j);
    for (uint32_t i = 0; i < SL_LEN(v); i++)
        assert_false(mgr_wl_condition_will_be_true(&f.m, mgr_wl_of(v[i]), "Finished"));
    j = take(&f, REC_JOB, ELASTIC("3", "false"));
    assert_int_equal(mgr_job_plan(&f.m, mgr_job_of(j)).step, JOB_STOP);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children),        cmocka_unit_test(test_false_owners),
        cmocka_unit_test(test_circles_end),     cmocka_unit_test(test_deep_chains),
        cmocka_unit_test(test_prebuilt),        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_too_many_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
