/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and CronJobs, step by step. The test ends the pods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"
#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/job/indexes.h"

#define JOBS "/apis/batch/v1/namespaces/ns/jobs"
#define CRONJOBS "/apis/batch/v1/namespaces/ns/cronjobs"
#define JOB JOBS "/j"
#define TEMPLATE "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'main'}]}}"

/* ---- helpers ---- */

static uint32_t job_writes;

static void count_writes(struct apps_world *w, const struct fakeapi_change *ch) {
    (void)w;
    job_writes += strcmp(ch->kind->kind, "Job") == 0 && ch->client != FAKEAPI_NOBODY;
}

static void begin(struct apps_world *w) {
    memset(w, 0, sizeof *w);
    world_start(w, 1);
    w->watch = count_writes;
    w->start_min = w->start_max = 10 * SL_MSEC;
    w->end_min = w->end_max = 10 * SL_MSEC;
    job_writes = 0;
}

static void create(struct apps_world *w, const char *spec) {
    char body[2000];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'j'},'spec':{%s,%s" TEMPLATE "}}", spec,
                   strstr(spec, "backoffLimit'") ? "" : "'backoffLimit':6,");
    world_create(w, JOBS, body);
    world_run(w, 200 * SL_MSEC);
}

struct found {
    const char *index; /* NULL: any */
    bool active;
    uint32_t n;
    char name[200];
};

static void find_pod(void *ctx, yyjson_val *pod) {
    struct found *f = ctx;
    const char *phase = sl_json_str(pod, "status.phase");
    bool active = strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
                  !sl_json_at(pod, "metadata.deletionTimestamp");
    if (f->index &&
        strcmp(f->index, sl_json_annotation(pod, "batch.kubernetes.io/job-completion-index")) != 0)
        return;
    if (f->active && !active)
        return;
    f->n++;
    (void)snprintf(f->name, sizeof f->name, "%s", sl_json_str(pod, "metadata.name"));
}

static uint32_t active(struct apps_world *w) {
    struct found f = {.active = true};
    (void)fakeapi_each(w->api, PODS, find_pod, &f);
    return f.n;
}

/* One of the active pods (of this index) ends. */
static void end_pod(struct apps_world *w, const char *index, int code) {
    struct found f = {.index = index, .active = true};
    char path[300], body[400];
    (void)fakeapi_each(w->api, PODS, find_pod, &f);
    assert_true(f.n > 0);
    (void)snprintf(path, sizeof path, PODS "/%s/status", f.name);
    (void)snprintf(body, sizeof body,
                   "{'status':{'phase':'%s','containerStatuses':[{'name':'main','state':{"
                   "'terminated':{'exitCode':%d}}}]}}",
                   code ? "Failed" : "Succeeded", code);
    world_patch(w, path, body);
    world_run(w, 200 * SL_MSEC);
}

#define assert_shows(w, field, text) assert_string_equal(world_show(w, JOB, field), text)
#define assert_condition(w, type, text) assert_string_equal(world_condition(w, JOB, type), text)

static void no_finalizers(void *ctx, yyjson_val *pod) {
    (void)ctx;
    assert_int_equal(yyjson_arr_size(sl_json_at(pod, "metadata.finalizers")), 0);
}

/* ---- jobs ---- */

static void one_pod(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 1);
    assert_int_equal(world_int(&w, JOB, "status.active"), 1);
    assert_int_equal(world_int(&w, JOB, "status.ready"), 1);
    assert_int_equal(world_int(&w, JOB, "status.terminating"), 0);
    assert_true(*world_show(&w, JOB, "status.startTime"));
    end_pod(&w, NULL, 0);
    assert_condition(&w, "SuccessCriteriaMet", "True CompletionsReached");
    assert_condition(&w, "Complete", "True CompletionsReached");
    assert_int_equal(world_int(&w, JOB, "status.succeeded"), 1);
    assert_int_equal(world_int(&w, JOB, "status.active"), -1);
    assert_true(*world_show(&w, JOB, "status.completionTime"));
    (void)fakeapi_each(w.api, PODS, no_finalizers, NULL);
    assert_true(job_writes <= 3); /* that it started, that it is ready, that it is over */
    world_stop(&w);
}

static void short_jobs_cost_two_writes(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1");
    end_pod(&w, NULL, 0);
    assert_condition(&w, "Complete", "True CompletionsReached");
    assert_true(job_writes <= 2);
    world_stop(&w);
}

static void back_off(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1,'backoffLimit':2");
    end_pod(&w, NULL, 1);
    world_run(&w, 9 * SL_SEC);
    assert_int_equal(active(&w), 0);
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 1); /* after ten seconds */
    end_pod(&w, NULL, 1);
    world_run(&w, 19 * SL_SEC);
    assert_int_equal(active(&w), 0);
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 1); /* after twenty */
    assert_int_equal(world_int(&w, JOB, "status.failed"), 2);
    end_pod(&w, NULL, 1);
    assert_condition(&w, "FailureTarget", "True BackoffLimitExceeded");
    assert_condition(&w, "Failed", "True BackoffLimitExceeded");
    assert_int_equal(world_int(&w, JOB, "status.failed"), 3);
    world_stop(&w);
}

static void suspend_and_resume(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':2,'completions':2,'suspend':true");
    assert_int_equal(active(&w), 0);
    assert_condition(&w, "Suspended", "True JobSuspended");
    assert_shows(&w, "status.startTime", "");
    world_patch(&w, JOB, "{'spec':{'suspend':false}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 2);
    assert_condition(&w, "Suspended", "False JobResumed");
    assert_true(*world_show(&w, JOB, "status.startTime"));
    world_patch(&w, JOB, "{'spec':{'suspend':true}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 0);
    assert_int_equal(world_count(&w, PODS), 0);
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1); /* no pod failed */
    assert_shows(&w, "status.startTime", "");
    world_stop(&w);
}

static void deadline(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':2,'completions':2,'activeDeadlineSeconds':30");
    world_run(&w, 28 * SL_SEC);
    assert_int_equal(active(&w), 2);
    world_run(&w, 4 * SL_SEC);
    assert_condition(&w, "Failed", "True DeadlineExceeded");
    assert_int_equal(world_int(&w, JOB, "status.failed"), 2);
    assert_int_equal(world_count(&w, PODS), 0);
    world_stop(&w);
}

static void time_to_live(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1,'ttlSecondsAfterFinished':60");
    end_pod(&w, NULL, 0);
    world_run(&w, 55 * SL_SEC);
    assert_true(world_exists(&w, JOB));
    world_run(&w, 10 * SL_SEC);
    assert_false(world_exists(&w, JOB));
    world_stop(&w);
}

static void managed_by_others(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1,'managedBy':'example.com/other'");
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 0);
    assert_int_equal(job_writes, 0);
    world_stop(&w);
}

static void scaled(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':2,'completions':10");
    world_patch(&w, JOB, "{'spec':{'parallelism':5}}");
    world_run(&w, SL_SEC);
    assert_int_equal(active(&w), 5);
    world_patch(&w, JOB, "{'spec':{'parallelism':1}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 1);
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1);
    world_stop(&w);
}

static void work_queue(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, "'parallelism':3");
    assert_int_equal(active(&w), 3);
    end_pod(&w, NULL, 0);
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(active(&w), 2); /* one success: no more are made */
    end_pod(&w, NULL, 0);
    assert_condition(&w, "Complete", "");
    end_pod(&w, NULL, 0);
    assert_condition(&w, "Complete", "True CompletionsReached");
    assert_int_equal(world_int(&w, JOB, "status.succeeded"), 3);
    world_stop(&w);
}

#define INDEXED "'completionMode':'Indexed',"

static void indexed(void **state) {
    struct apps_world w;
    struct found f = {.index = "3"};
    (void)state;
    begin(&w);
    create(&w, INDEXED "'parallelism':3,'completions':5");
    end_pod(&w, "0", 0);
    end_pod(&w, "1", 0);
    assert_shows(&w, "status.completedIndexes", "0,1");
    end_pod(&w, "3", 0);
    end_pod(&w, "4", 0);
    assert_shows(&w, "status.completedIndexes", "0,1,3,4");
    (void)fakeapi_each(w.api, PODS, find_pod, &f);
    char path[300];
    (void)snprintf(path, sizeof path, PODS "/%s", f.name);
    assert_string_equal(world_show(&w, path, "spec.hostname"), "j-3");
    end_pod(&w, "2", 0);
    assert_shows(&w, "status.completedIndexes", "0-4");
    assert_condition(&w, "Complete", "True CompletionsReached");
    world_stop(&w);
}

static void success_policy(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, INDEXED "'parallelism':5,'completions':5,'successPolicy':{'rules':[{"
                       "'succeededIndexes':'0-1','succeededCount':2},{'succeededCount':4}]}");
    end_pod(&w, "2", 0);
    end_pod(&w, "0", 0);
    assert_condition(&w, "SuccessCriteriaMet", "");
    end_pod(&w, "1", 0);
    world_run(&w, 2 * SL_SEC);
    assert_condition(&w, "SuccessCriteriaMet", "True SuccessPolicy");
    assert_condition(&w, "Complete", "True SuccessPolicy");
    assert_int_equal(world_int(&w, JOB, "status.succeeded"), 3);
    assert_int_equal(active(&w), 0);
    world_stop(&w);
}

static void per_index(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, INDEXED "'parallelism':3,'completions':3,'backoffLimit':2147483647,"
                       "'backoffLimitPerIndex':1");
    end_pod(&w, "0", 0);
    end_pod(&w, "1", 1);
    assert_shows(&w, "status.failedIndexes", "");
    world_run(&w, 11 * SL_SEC);
    end_pod(&w, "1", 1);
    assert_shows(&w, "status.failedIndexes", "1");
    assert_condition(&w, "Failed", "");
    end_pod(&w, "2", 0);
    assert_condition(&w, "Failed", "True FailedIndexes");
    assert_shows(&w, "status.completedIndexes", "0,2");
    assert_int_equal(world_int(&w, JOB, "status.failed"), 2);
    world_stop(&w);
}

static void max_failed_indexes(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create(&w, INDEXED "'parallelism':3,'completions':3,'backoffLimit':2147483647,"
                       "'backoffLimitPerIndex':0,'maxFailedIndexes':0");
    end_pod(&w, "1", 1);
    world_run(&w, 2 * SL_SEC);
    assert_condition(&w, "Failed", "True MaxFailedIndexesExceeded");
    assert_shows(&w, "status.failedIndexes", "1");
    world_stop(&w);
}

#define POLICY                                                                                     \
    "'podFailurePolicy':{'rules':[{'action':'Ignore','onExitCodes':{'operator':'In','values':["    \
    "7]}},{'action':'FailJob','onExitCodes':{'containerName':'main','operator':'In','values':[42]" \
    "}},{'action':'FailJob','onPodConditions':[{'type':'Broken','status':'True'}]}]}"

static void failure_policy(void **state) {
    struct apps_world w;
    char text[300];
    (void)state;
    begin(&w);
    create(&w, "'parallelism':1,'completions':1,'backoffLimit':1," POLICY);
    for (int i = 0; i < 3; i++) { /* these do not count */
        end_pod(&w, NULL, 7);
        world_run(&w, SL_MINUTE);
    }
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1);
    end_pod(&w, NULL, 42);
    assert_condition(&w, "Failed", "True PodFailurePolicy");
    (void)snprintf(text, sizeof text, "%s", world_show(&w, JOB, "status.conditions"));
    assert_non_null(strstr(text, "failed with exit code 42 matching FailJob rule at index 1"));
    world_stop(&w);
}

static uint32_t refusals;

static int refuse(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    (void)ctx;
    if (strcmp(w->kind->kind, "Pod") != 0)
        return 0;
    refusals++;
    sl_buf_puts(why, "namespaces \"ns\" not found");
    return 404;
}

/* A namespace that is gone, as far as pods go: it is not retried forever. */
static void no_namespace(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    refusals = 0;
    fakeapi_on_write(w.api, refuse, &w);
    create(&w, "'parallelism':2,'completions':2");
    world_run(&w, SL_MINUTE);
    assert_true(refusals > 2 && refusals < 50);
    assert_int_equal(world_int(&w, JOB, "status.active"), -1);
    fakeapi_on_write(w.api, NULL, NULL);
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, PODS), 2);
    world_stop(&w);
}

/* ---- whose pods ---- */

#define CHOOSY                                                                                     \
    "'manualSelector':true,'selector':{'matchLabels':{'app':'x'}},'backoffLimit':6,'template':{"   \
    "'metadata':{'labels':{'app':'x'}},'spec':{'restartPolicy':'Never','containers':[{'name':"     \
    "'main'}]}}"

static void create_choosy(struct apps_world *w, const char *spec) {
    char body[2000];
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'j'},'spec':{%s," CHOOSY "}}", spec);
    world_create(w, JOBS, body);
}

static void create_pod(struct apps_world *w, const char *name, const char *meta) {
    char body[1000];
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s',%s},'spec':{'restartPolicy':'Never','containers':[{"
                   "'name':'main'}]}}",
                   name, meta);
    world_create(w, PODS, body);
}

/* Is the pod owned by the Job, with the finalizer; or by none, and without it? */
static bool belongs(struct apps_world *w, const char *pod) {
    char path[100], uid[100];
    (void)snprintf(path, sizeof path, PODS "/%s", pod);
    (void)snprintf(uid, sizeof uid, "\"uid\":\"%s\"", world_show(w, JOB, "metadata.uid"));
    const char *owners = world_show(w, path, "metadata.ownerReferences");
    bool yes = strstr(owners, uid) && strstr(owners, "\"controller\":true");
    bool held = strstr(world_show(w, path, "metadata.finalizers"), "job-tracking");
    assert_int_equal(yes, held);
    return yes;
}

static void adopts(void **state) {
    struct apps_world w;
    char owner[100], meta[400];
    (void)state;
    begin(&w);
    world_create(&w, NS "/configmaps", "{'metadata':{'name':'c'}}");
    (void)snprintf(owner, sizeof owner, "%s", world_show(&w, NS "/configmaps/c", "metadata.uid"));
    assert_true(*owner);
    (void)snprintf(meta, sizeof meta,
                   "'labels':{'app':'x'},'finalizers':['a.io/b'],'ownerReferences':[{'apiVersion':"
                   "'v1','kind':'ConfigMap','name':'c','uid':'%s'}]",
                   owner);
    create_pod(&w, "mine", meta);
    create_pod(&w, "other", "'labels':{'app':'y'}");
    create_pod(&w, "bare", "'annotations':{'app':'x'}");
    (void)snprintf(meta, sizeof meta,
                   "'labels':{'app':'x'},'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
                   "'name':'c','uid':'%s','controller':true}]",
                   owner);
    create_pod(&w, "taken", meta);
    create_pod(&w, "going", "'labels':{'app':'x'},'finalizers':['a.io/b']");
    world_delete(&w, PODS "/going", "Background");
    create_pod(&w, "over", "'labels':{'app':'x'}");
    world_run(&w, SL_SEC); /* the kubelet has started it */
    world_patch(&w, PODS "/over/status", "{'status':{'phase':'Succeeded'}}");
    world_run(&w, SL_SEC);
    create_choosy(&w, "'parallelism':2,'completions':3");
    world_run(&w, 5 * SL_SEC);
    assert_true(belongs(&w, "mine"));
    assert_non_null(strstr(world_show(&w, PODS "/mine", "metadata.finalizers"), "a.io/b"));
    assert_non_null(strstr(world_show(&w, PODS "/mine", "metadata.ownerReferences"), owner));
    assert_false(belongs(&w, "other"));
    assert_false(belongs(&w, "bare"));
    assert_false(belongs(&w, "taken"));
    assert_false(belongs(&w, "going"));
    /* What has ended counts, and one more is made. */
    assert_int_equal(world_int(&w, JOB, "status.succeeded"), 1);
    assert_int_equal(world_int(&w, JOB, "status.active"), 2);
    assert_int_equal(world_count(&w, PODS), 7);
    /* Later ones, too: one too many, so that one goes. */
    world_patch(&w, PODS "/other", "{'metadata':{'labels':{'app':'x'}}}");
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(world_int(&w, JOB, "status.active"), 2);
    assert_int_equal(world_count(&w, PODS), 6);
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1);
    world_stop(&w);
}

static void lets_go(void **state) {
    struct apps_world w;
    struct found f = {.active = true};
    char path[300];
    (void)state;
    begin(&w);
    create_choosy(&w, "'parallelism':1,'completions':1");
    world_run(&w, 2 * SL_SEC);
    (void)fakeapi_each(w.api, PODS, find_pod, &f);
    (void)snprintf(path, sizeof path, PODS "/%s", f.name);
    assert_true(belongs(&w, f.name));
    world_patch(&w, path, "{'metadata':{'labels':{'app':'y'}}}");
    world_run(&w, 5 * SL_SEC);
    assert_false(belongs(&w, f.name));
    assert_string_equal(world_show(&w, path, "metadata.deletionTimestamp"), "");
    assert_int_equal(world_count(&w, PODS), 2); /* it was replaced */
    assert_int_equal(world_int(&w, JOB, "status.active"), 1);
    /* How it ends does not matter. */
    (void)snprintf(path, sizeof path, PODS "/%s/status", f.name);
    world_patch(&w, path, "{'status':{'phase':'Failed'}}");
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1);
    end_pod(&w, NULL, 0);
    assert_condition(&w, "Complete", "True CompletionsReached");
    /* A finished Job adopts no pods. */
    create_pod(&w, "late", "'labels':{'app':'x'}");
    world_run(&w, 5 * SL_SEC);
    assert_false(belongs(&w, "late"));
    world_stop(&w);
}

/* A pod that is deleted and no longer chosen is not held back, and not counted. */
static void lets_die(void **state) {
    struct apps_world w;
    struct found f = {.active = true};
    char path[300];
    (void)state;
    begin(&w);
    create_choosy(&w, "'parallelism':1,'completions':1");
    world_run(&w, 2 * SL_SEC);
    (void)fakeapi_each(w.api, PODS, find_pod, &f);
    (void)snprintf(path, sizeof path, PODS "/%s", f.name);
    world_kill(&w);
    world_patch(&w, path, "{'metadata':{'labels':{'app':'y'}}}");
    world_delete(&w, path, "Background");
    world_revive(&w);
    world_run(&w, 5 * SL_SEC);
    assert_false(world_exists(&w, path));
    assert_int_equal(world_int(&w, JOB, "status.failed"), -1);
    assert_int_equal(active(&w), 1);
    world_stop(&w);
}

/* The selector that every Job gets by itself: its uid. */
static void adopts_by_uid(void **state) {
    struct apps_world w;
    char body[400], uid[100];
    (void)state;
    begin(&w);
    create(&w, "'parallelism':0,'completions':1");
    (void)snprintf(uid, sizeof uid, "%s", world_show(&w, JOB, "metadata.uid"));
    (void)snprintf(body, sizeof body,
                   "{'spec':{'selector':{'matchLabels':{'batch.kubernetes.io/controller-uid':'%s'"
                   "}}}}",
                   uid);
    world_patch(&w, JOB, body);
    world_run(&w, SL_SEC);
    world_kill(&w);
    world_patch(&w, JOB, "{'spec':{'parallelism':1}}");
    (void)snprintf(body, sizeof body, "'labels':{'batch.kubernetes.io/controller-uid':'%s'}", uid);
    create_pod(&w, "mine", body);
    create_pod(&w, "other", "'labels':{'batch.kubernetes.io/controller-uid':'else'}");
    world_revive(&w);
    world_run(&w, 5 * SL_SEC);
    assert_true(belongs(&w, "mine"));
    assert_false(belongs(&w, "other"));
    assert_int_equal(world_int(&w, JOB, "status.active"), 1); /* and none is made besides */
    assert_int_equal(world_count(&w, PODS), 2);
    world_stop(&w);
}

/* One that is being deleted adopts no pods, and those it leaves go to the next one. */
static void inherits(void **state) {
    struct apps_world w;
    struct found f = {.active = true};
    (void)state;
    begin(&w);
    create_choosy(&w, "'parallelism':1,'completions':1");
    world_run(&w, 2 * SL_SEC);
    (void)fakeapi_each(w.api, PODS, find_pod, &f);
    world_patch(&w, JOB, "{'metadata':{'finalizers':['a.io/b']}}");
    world_delete(&w, JOB, "Orphan");
    create_pod(&w, "mine", "'labels':{'app':'x'}");
    world_run(&w, 5 * SL_SEC);
    assert_false(belongs(&w, "mine"));
    world_delete(&w, PODS "/mine", "Background");
    world_patch(&w, JOB, "{'metadata':{'finalizers':null}}");
    world_run(&w, 5 * SL_SEC);
    assert_false(world_exists(&w, JOB));
    create_choosy(&w, "'parallelism':1,'completions':1");
    world_run(&w, 5 * SL_SEC);
    assert_true(belongs(&w, f.name));
    assert_int_equal(active(&w), 1);
    end_pod(&w, NULL, 0);
    assert_condition(&w, "Complete", "True CompletionsReached");
    (void)fakeapi_each(w.api, PODS, no_finalizers, NULL);
    world_stop(&w);
}

/* ---- cron jobs ---- */

static void create_cron(struct apps_world *w, const char *spec) {
    char body[2000];
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'spec':{'schedule':'* * * * *',%s%s'jobTemplate':{"
                   "'metadata':{'labels':{'a':'b'}},'spec':{'parallelism':1,'completions':1,"
                   "'backoffLimit':6," TEMPLATE "}}}}",
                   spec, *spec ? "," : "");
    world_create(w, CRONJOBS, body);
}

static void every_minute(void **state) {
    struct apps_world w;
    char path[300];
    (void)state;
    begin(&w);
    create_cron(&w, "'successfulJobsHistoryLimit':2");
    world_run(&w, 61 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 1);
    (void)snprintf(path, sizeof path, JOBS "/c-%lld", (long long)(FAKEAPI_EPOCH / SL_SEC / 60 + 1));
    assert_true(world_exists(&w, path));
    assert_string_equal(
        world_show(&w, path, "metadata.annotations"),
        "{\"batch.kubernetes.io/cronjob-scheduled-timestamp\":\"2026-01-01T00:01:00Z\"}");
    assert_string_equal(world_show(&w, CRONJOBS "/c", "status.lastScheduleTime"),
                        "2026-01-01T00:01:00Z");
    assert_non_null(strstr(world_show(&w, CRONJOBS "/c", "status.active"), "\"kind\":\"Job\""));
    for (int i = 0; i < 4; i++) {
        end_pod(&w, NULL, 0);
        world_run(&w, SL_MINUTE);
    }
    assert_int_equal(world_count(&w, JOBS), 3); /* two that are over, one that runs */
    assert_true(*world_show(&w, CRONJOBS "/c", "status.lastSuccessfulTime"));
    world_stop(&w);
}

static void one_at_a_time(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create_cron(&w, "'concurrencyPolicy':'Forbid'");
    world_run(&w, 5 * SL_MINUTE + SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 1);
    end_pod(&w, NULL, 0);
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 2); /* the last one that was missed */
    world_stop(&w);
}

static void replaced(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create_cron(&w, "'concurrencyPolicy':'Replace'");
    world_run(&w, 5 * SL_MINUTE + 5 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 1);
    assert_int_equal(active(&w), 1);
    world_stop(&w);
}

/* It is killed when the Job is created and the status does not show it yet. */
static void killed_in_between(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create_cron(&w, "'concurrencyPolicy':'Forbid'");
    world_run(&w, SL_MINUTE - SL_MSEC - fakeapi_now(w.api));
    while (world_count(&w, JOBS) == 0)
        world_run(&w, 2 * SL_USEC);
    world_kill(&w);
    assert_string_equal(world_show(&w, CRONJOBS "/c", "status.lastScheduleTime"), "");
    world_revive(&w);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 1);
    assert_string_equal(world_show(&w, CRONJOBS "/c", "status.lastScheduleTime"),
                        "2026-01-01T00:01:00Z");
    assert_non_null(strstr(world_show(&w, CRONJOBS "/c", "status.active"), "\"kind\":\"Job\""));
    world_run(&w, 2 * SL_MINUTE);
    assert_int_equal(world_count(&w, JOBS), 1);
    world_stop(&w);
}

static void count_crowded(void *ctx, yyjson_val *o) {
    *(uint32_t *)ctx += strcmp(sl_json_str(o, "reason"), "TooManyActiveJobs") == 0;
}

/* A part of the list would take the others from the status: it is left alone until it is shorter.
 */
static void too_many_active(void **state) {
    struct apps_world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    uint32_t events = 0;
    (void)state;
    begin(&w);
    fakeapi_set_list_items(w.api, CRON_MAX_ACTIVE + 1);
    create_cron(&w, "'suspend':false");
    world_run(&w, SL_SEC);
    sl_buf_puts(&b, "{'status':{'active':[");
    for (unsigned i = 0; i <= CRON_MAX_ACTIVE; i++)
        sl_buf_printf(&b, "%s{'name':'j%u','uid':'u%u'}", i ? "," : "", i, i);
    sl_buf_puts(&b, "]}}");
    world_patch(&w, CRONJOBS "/c/status", sl_buf_str(&b));
    world_run(&w, 3 * SL_MINUTE);
    assert_int_equal(world_count(&w, JOBS), 0);
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, CRONJOBS "/c"), "status.active")),
        CRON_MAX_ACTIVE + 1);
    (void)fakeapi_each(w.api, EVENTS, count_crowded, &events);
    assert_true(events > 0);
    world_patch(&w, CRONJOBS "/c/status", "{'status':{'active':null}}");
    world_run(&w, SL_MINUTE);
    assert_int_equal(world_count(&w, JOBS), 2); /* the last one that was missed, and the next */
    sl_buf_done(&b);
    world_stop(&w);
}

/* Jobs that were started before, as the status lists them. */
static void put_active(struct apps_world *w, uint32_t n) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    char owner[64], body[1000], path[100];
    (void)snprintf(owner, sizeof owner, "%s", world_show(w, CRONJOBS "/c", "metadata.uid"));
    sl_buf_puts(&b, "{'status':{'lastScheduleTime':'2026-01-01T00:00:00Z','active':[");
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'j%u','ownerReferences':[{'apiVersion':'batch/v1',"
                       "'kind':'CronJob','name':'c','uid':'%s','controller':true}]},'spec':{"
                       "'suspend':true,'backoffLimit':6," TEMPLATE "}}",
                       i, owner);
        world_create(w, JOBS, body);
        (void)snprintf(path, sizeof path, JOBS "/j%u", i);
        sl_buf_printf(&b, "%s{'apiVersion':'batch/v1','kind':'Job','name':'j%u','uid':'%s'}",
                      i ? "," : "", i, world_show(w, path, "metadata.uid"));
    }
    sl_buf_puts(&b, "]}}");
    world_run(w, 20 * SL_SEC); /* Jobs that are listed and not seen yet count as gone */
    world_patch(w, CRONJOBS "/c/status", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* As many are started as the status may list, and no more. */
static void most_active(void **state) {
    struct apps_world w;
    uint32_t events = 0;
    (void)state;
    begin(&w);
    create_cron(&w, "");
    world_patch(&w, CRONJOBS "/c", "{'spec':{'jobTemplate':{'spec':{'suspend':true}}}}");
    put_active(&w, FAKEAPI_LIST_ITEMS - 4);
    world_run(&w, 10 * SL_MINUTE);
    assert_int_equal(world_count(&w, JOBS), FAKEAPI_LIST_ITEMS);
    assert_int_equal(
        yyjson_arr_size(sl_json_at(fakeapi_get(w.api, CRONJOBS "/c"), "status.active")),
        FAKEAPI_LIST_ITEMS);
    (void)fakeapi_each(w.api, EVENTS, count_crowded, &events);
    assert_true(events > 0);
    world_stop(&w);
}

static void missed_starts(void **state) {
    struct apps_world w;
    (void)state;
    begin(&w);
    create_cron(&w, "'startingDeadlineSeconds':20");
    world_run(&w, 30 * SL_SEC);
    world_kill(&w);
    world_run(&w, 10 * SL_MINUTE);
    world_revive(&w); /* half a minute after the last time */
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 0);
    world_run(&w, 25 * SL_SEC);
    assert_int_equal(world_count(&w, JOBS), 1);
    world_patch(&w, CRONJOBS "/c", "{'spec':{'suspend':true}}");
    world_run(&w, 5 * SL_MINUTE);
    assert_int_equal(world_count(&w, JOBS), 1);
    world_stop(&w);
}

/* ---- texts of indexes ---- */

static void indexes(void **state) {
    static const struct {
        const char *in;
        int32_t end;
        const char *out;
        int64_t n;
    } cases[] = {
        {"", 10, "", 0},           {"0", 10, "0", 1},
        {"0,1", 10, "0,1", 2},     {"0-2", 10, "0-2", 3},
        {"0,1,2", 10, "0-2", 3},   {"1,3-5,7", 10, "1,3-5,7", 5},
        {"3-5,1", 10, "1,3-5", 4}, {"2-20", 10, "2-9", 8},
        {"11", 10, "", 0},         {"1-x,4", 10, "4", 1},
        {"x,4,-", 10, "4", 1},     {"5-3", 10, "", 0},
        {"0-3,2-5", 10, "0-5", 6}, {"99999999999,1", 10, "1", 1},
        {"1 2", 10, "", 0},        {"0-2147483647", 2147483647, "0-2147483646", 2147483647},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct cl_indexes s = {0};
        struct sl_buf b;
        sl_buf_init(&b, 1000);
        cl_indexes_read(cases[i].in, cases[i].end, &s);
        cl_indexes_put(&s, &b);
        assert_string_equal(sl_buf_str(&b), cases[i].out);
        assert_int_equal(cl_indexes_count(&s), cases[i].n);
        sl_buf_done(&b);
        cl_indexes_done(&s);
    }
}

/* Against a plain array of bits. */
static void indexes_at_random(void **state) {
    struct sl_prng p;
    (void)state;
    sl_prng_init(&p, 5);
    for (uint32_t round = 0; round < 200; round++) {
        bool a[64] = {0}, b[64] = {0};
        struct cl_indexes s = {0}, t = {0};
        int64_t common = 0;
        for (uint32_t i = 0; i < 30; i++) {
            int32_t x = (int32_t)sl_prng_below(&p, 60), y = (int32_t)sl_prng_below(&p, 60);
            a[x] = b[y] = true;
            cl_indexes_add(&s, x);
            cl_indexes_add(&t, y);
        }
        for (int32_t i = 0; i < 64; i++) {
            assert_int_equal(cl_indexes_has(&s, i), a[i]);
            common += a[i] && b[i];
            int32_t next = i;
            while (next < 64 && a[next])
                next++;
            assert_int_equal(cl_indexes_free(&s, i), next);
        }
        assert_int_equal(cl_indexes_common(&s, &t), common);
        cl_indexes_join(&s, &t);
        for (int32_t i = 0; i < 64; i++)
            assert_int_equal(cl_indexes_has(&s, i), a[i] || b[i]);
        cl_indexes_done(&s);
        cl_indexes_done(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pod),
        cmocka_unit_test(short_jobs_cost_two_writes),
        cmocka_unit_test(back_off),
        cmocka_unit_test(suspend_and_resume),
        cmocka_unit_test(deadline),
        cmocka_unit_test(time_to_live),
        cmocka_unit_test(managed_by_others),
        cmocka_unit_test(scaled),
        cmocka_unit_test(work_queue),
        cmocka_unit_test(indexed),
        cmocka_unit_test(success_policy),
        cmocka_unit_test(per_index),
        cmocka_unit_test(max_failed_indexes),
        cmocka_unit_test(failure_policy),
        cmocka_unit_test(no_namespace),
        cmocka_unit_test(adopts),
        cmocka_unit_test(lets_go),
        cmocka_unit_test(lets_die),
        cmocka_unit_test(adopts_by_uid),
        cmocka_unit_test(inherits),
        cmocka_unit_test(every_minute),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(replaced),
        cmocka_unit_test(killed_in_between),
        cmocka_unit_test(missed_starts),
        cmocka_unit_test(too_many_active),
        cmocka_unit_test(most_active),
        cmocka_unit_test(indexes),
        cmocka_unit_test(indexes_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
