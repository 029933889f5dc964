/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interception for the queue on the resource graph: what is made to wait, and how; who is left
 * alone; what may be updated; FluxJobs. JSON is written in single quotes.
 */
#include "case.h"
#include "manager/admission/fluxqueue.h"
#include "review_fixture.h"

#define MANAGED "'fluxqueue/managed':'true'"
#define OPT_OUT "'fluxqueue/managed':'false'"
#define SEEN "'fluxqueue.seen':'yes'"
#define GATE "'schedulingGates':[{'name':'fluxqueue'}]"
#define OURS "'schedulerName':'FluxionScheduler'"
#define META(labels, more) "'metadata':{'name':'a','labels':{" labels "}" more "}"
#define POD(labels, more, spec) "{" META(labels, more) ",'spec':{" spec "}}"
/* An object with a template. */
#define SET(labels, more, spec, template_labels, template_spec)                                    \
    "{" META(labels, more) ",'spec':{'template':{'metadata':{'labels':{" template_labels           \
                           "}},'spec':{" template_spec "}}" spec "}}"
#define OWNER(group, kind)                                                                         \
    ",'ownerReferences':[{'apiVersion':'" group "','kind':'" kind                                  \
    "','name':'o','uid':'u','controller':true}]"
#define NOTE(key, value) ",'annotations':{'" key "':'" value "'}"
#define SELECTOR(kind) "'fluxqueue.selector':'" kind "-a-ns'"

enum where { ANYWHERE, IN_CHOSEN_NS };

/* A queue, on the graph, in a cluster where nothing is Kueue's. */
static struct fixture base(enum where where) {
    struct fixture f = {.cluster.flux_ns = where == IN_CHOSEN_NS};

    f.view.flux = true;
    return f;
}

/* Calls a handler; the text of what it made of the object, in single quotes, "-" if it changed
 * nothing. To be freed, and the fixture ended. */
static char *call(struct fixture *f, sl_review_fn fn, const char *object, const char *old) {
    char *now = json_of(object), *before = old ? json_of(old) : NULL;

    begin(f, now, before, NO_GATE);
    assert_int_equal(fn(&f->call), 0);
    char *text = edited(f), *was = yyjson_write(f->object, 0, NULL);
    if (!text || strcmp(text, was) == 0) {
        free(text);
        text = strdup("-");
    }
    for (char *p = text; *p; p++)
        if (*p == '"')
            *p = '\'';
    free(now);
    free(before);
    free(was);
    return text;
}

static void expect_in(struct fixture f, sl_review_fn fn, const char *object, const char *old,
                      const char *want) {
    char *got = call(&f, fn, object, old);

    if (strcmp(got, want) != 0)
        fail_msg("%s\nold      %s\ngot      %s\nexpected %s", object, old ? old : "-", got, want);
    assert_int_equal(f.call.errs.n, 0);
    if (!old && strcmp(want, "-") != 0) { /* once more changes nothing */
        struct fixture again = f;
        end(&f);
        free(got);
        got = call(&again, fn, want, NULL);
        assert_string_equal(got, "-");
        f = again;
    }
    free(got);
    end(&f);
}

/* ---- what is made of each kind ---- */

static void kinds(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *object, *want;
    } cases[] = {
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'x':1"),
         POD(MANAGED "," SEEN, "", "'x':1," GATE "," OURS)},
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulingGates':[{'name':'b'}]"),
         POD(MANAGED "," SEEN, "", "'schedulingGates':[{'name':'b'},{'name':'fluxqueue'}]," OURS)},
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulerName':'default-scheduler'," GATE),
         POD(MANAGED "," SEEN, "", OURS "," GATE)},
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulerName':'sluice'"),
         POD(MANAGED "," SEEN, "", "'schedulerName':'sluice'," GATE)},
        /* without an owner, and with a name that is still to be made */
        {sl_review_flux_pod_mutate,
         "{'metadata':{'generateName':'a-','labels':{" MANAGED "}},'spec':{}}",
         "{'metadata':{'generateName':'a-','labels':{" MANAGED "," SEEN "}},'spec':{" GATE "," OURS
         "}}"},
        /* a copy of one that ran */
        {sl_review_flux_pod_mutate,
         POD(MANAGED "," SEEN ",'fluxqueue/jobid':'7','fluxqueue/unschedulable':'yes'",
             NOTE("fluxqueue/fluxion-nodes", "n"), OURS),
         POD(MANAGED "," SEEN, ",'annotations':{}", OURS "," GATE)},
        {sl_review_flux_job_mutate, SET(MANAGED, "", "", "", "'x':1"),
         SET(MANAGED "," SEEN, "", ",'suspend':true", SEEN, "'x':1," OURS)},
        {sl_review_flux_job_mutate,
         SET(MANAGED, "", ",'suspend':false", "'fluxqueue/jobid':'7'", OURS),
         SET(MANAGED "," SEEN, "", ",'suspend':true", SEEN, OURS)},
        {sl_review_flux_job_mutate, "{" META(MANAGED, "") "}",
         "{" META(MANAGED "," SEEN, "") ",'spec':{'template':{'spec':{" OURS
                                        "},'metadata':{'labels':{" SEEN "}}},'suspend':true}}"},
        {sl_review_flux_deployment_mutate, SET(MANAGED, "", "", "'app':'a'", ""),
         SET(MANAGED "," SEEN, "", "", "'app':'a'," SEEN "," SELECTOR("deployment"),
             GATE "," OURS)},
        {sl_review_flux_replicaset_mutate, SET(MANAGED, "", "", "", ""),
         SET(MANAGED "," SEEN, "", "", SEEN "," SELECTOR("replicaset"), GATE "," OURS)},
        {sl_review_flux_statefulset_mutate, SET(MANAGED, "", "", "", ""),
         SET(MANAGED "," SEEN, "", "", SEEN "," SELECTOR("statefulset"), GATE "," OURS)},
        {sl_review_flux_statefulset_mutate,
         "{'metadata':{'generateName':'a-','labels':{" MANAGED "}},'spec':{'template':{}}}",
         "{'metadata':{'generateName':'a-','labels':{" MANAGED "," SEEN
         "}},'spec':{'template':{'spec':{" GATE "," OURS "},'metadata':{'labels':{" SEEN "}}}}}"},
        /* what the API server would refuse, had it not before */
        {sl_review_flux_pod_mutate, "{'metadata':{'labels':{" MANAGED "}},'spec':[1]}",
         "{'metadata':{'labels':{" MANAGED "," SEEN "}},'spec':{" GATE "," OURS "}}"},
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulingGates':7,'schedulerName':[]"),
         POD(MANAGED "," SEEN, "", GATE "," OURS)},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        expect_in(base(ANYWHERE), cases[i].fn, cases[i].object, NULL, cases[i].want);
}

/* KIND-NAME-NAMESPACE, unless it is no label value. */
static void selectors(void **state) {
    static const struct {
        const char *name, *begins;
        size_t len;
    } cases[] = {
        {"a", "statefulset-a-ns", 16},
        {"12345678901234567890123456789012345678901234567", "statefulset-1234567890", 62},
        {"123456789012345678901234567890123456789012345678", "statefulset-1234567890", 63},
        {"1234567890123456789012345678901234567890123456789", "statefulset-", 28},
        {"a.b", "statefulset-a.b-ns", 18},
        {"a b", "statefulset-", 28},
    };
    char object[400];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(IN_CHOSEN_NS);
        (void)snprintf(object, sizeof object, "{'metadata':{'name':'%s'},'spec':{}}",
                       cases[i].name);
        char *got = call(&f, sl_review_flux_statefulset_mutate, object, NULL);
        yyjson_doc *doc = yyjson_mut_doc_imut_copy(f.call.edit, NULL);
        const char *label =
            sl_json_label(sl_json_at(yyjson_doc_get_root(doc), "spec.template"), SL_FLUX_SELECTOR);
        assert_true(strncmp(label, cases[i].begins, strlen(cases[i].begins)) == 0);
        assert_int_equal(strlen(label), cases[i].len);
        yyjson_doc_free(doc);
        free(got);
        end(&f);
    }
}

/* ---- who is intercepted ---- */

static void choice(void **state) {
    static const struct {
        enum where where;
        const char *object;
        bool taken;
    } cases[] = {
        {ANYWHERE, POD("", "", ""), false},
        {IN_CHOSEN_NS, POD("", "", ""), true},
        {IN_CHOSEN_NS, "{'metadata':{'name':'a'},'spec':{}}", true},
        {IN_CHOSEN_NS, POD(OPT_OUT, "", ""), false},
        {ANYWHERE, POD("'fluxqueue/managed':'yes'", "", ""), false},
        {IN_CHOSEN_NS, POD("'fluxqueue/managed':'yes'", "", ""), true},
        {ANYWHERE, POD("'fluxqueue/managed':true", "", ""), false},
        {ANYWHERE, POD("'fluxqueue/managed':'true\\u0000'", "", ""), false},
        {ANYWHERE, POD("'fluxqueue/managed':['true']", "", ""), false},
        {ANYWHERE, "{'metadata':{'labels':['fluxqueue/managed']},'spec':{}}", false},
        {IN_CHOSEN_NS, "{'metadata':{'labels':['fluxqueue/managed']},'spec':{}}", true},
        {ANYWHERE, "{'metadata':'x','spec':{}}", false},
        /* Kueue's */
        {IN_CHOSEN_NS, POD(MANAGED ",'" Q "queue-name':'q'", "", ""), false},
        {IN_CHOSEN_NS, POD("'" Q "queue-name':''", "", ""), false},
        {IN_CHOSEN_NS, POD("'" Q "managed':'true'", "", ""), false},
        {IN_CHOSEN_NS, POD("", NOTE(Q "pod-suspending-parent", "statefulset"), ""), false},
        /* on a node already */
        {IN_CHOSEN_NS, POD(MANAGED, "", "'nodeName':'n'"), false},
        {IN_CHOSEN_NS, POD(MANAGED, NOTE("kubernetes.io/config.mirror", "x"), ""), false},
        {IN_CHOSEN_NS, POD(MANAGED, OWNER("v1", "Node"), ""), false},
        {IN_CHOSEN_NS, POD(MANAGED, OWNER("apps/v1", "DaemonSet"), ""), false},
        /* of an owner that is intercepted, or was not on purpose */
        {IN_CHOSEN_NS, POD(SEEN, OWNER("batch/v1", "Job"), ""), false},
        {IN_CHOSEN_NS, POD(MANAGED "," SEEN, OWNER("batch/v1", "Job"), ""), false},
        {IN_CHOSEN_NS, POD("", OWNER("batch/v1", "Job"), ""), false},
        {IN_CHOSEN_NS, POD("", OWNER("apps/v1", "ReplicaSet"), ""), false},
        {IN_CHOSEN_NS, POD("", OWNER("apps/v1", "StatefulSet"), ""), false},
        {ANYWHERE, POD(MANAGED, OWNER("batch/v1", "Job"), ""), true},
        /* of an owner that is never intercepted */
        {IN_CHOSEN_NS, POD("", OWNER("kubeflow.org/v2beta1", "MPIJob"), ""), true},
        {IN_CHOSEN_NS, POD("", OWNER("example.com/v1", "Job"), ""), true},
        {IN_CHOSEN_NS, POD(SEEN, OWNER("kubeflow.org/v2beta1", "MPIJob"), ""), false},
        {IN_CHOSEN_NS, POD("", ",'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job'}]", ""),
         true},
        {IN_CHOSEN_NS, POD("", ",'ownerReferences':{'controller':true}", ""), true},
        /* being deleted */
        {IN_CHOSEN_NS, POD(MANAGED, ",'deletionTimestamp':'2026-01-01T00:00:00Z'", ""), false},
        /* another scheduler */
        {IN_CHOSEN_NS, POD(MANAGED, "", "'schedulerName':'volcano'"), false},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(cases[i].where);
        char *got = call(&f, sl_review_flux_pod_mutate, cases[i].object, NULL);
        if ((strcmp(got, "-") != 0) != cases[i].taken)
            fail_msg("%s\ngot %s", cases[i].object, got);
        free(got);
        end(&f);
    }
}

/* Not a Deployment's ReplicaSet, even if it asks: the Deployment would make another for ever. */
static void owned_sets(void **state) {
    (void)state;
    expect_in(base(IN_CHOSEN_NS), sl_review_flux_replicaset_mutate,
              SET(MANAGED, OWNER("apps/v1", "Deployment"), "", "", ""), NULL, "-");
    expect_in(base(IN_CHOSEN_NS), sl_review_flux_replicaset_mutate,
              SET(SEEN, OWNER("apps/v1", "Deployment"), "", SEEN, GATE), NULL, "-");
    expect_in(base(IN_CHOSEN_NS), sl_review_flux_job_mutate,
              SET("", OWNER("batch/v1", "CronJob"), "", "", ""), NULL,
              SET(SEEN, OWNER("batch/v1", "CronJob"), ",'suspend':true", SEEN, OURS));
}

static void namespaces(void **state) {
    static const char *const left[] = {"kube-system", "kube-public", "kube-node-lease",
                                       "kueue-system", ""};

    (void)state;
    for (size_t i = 0; i <= SL_LEN(left); i++) {
        const char *ns = i < SL_LEN(left) ? left[i] : "kube";
        char *body = NULL, *object = json_of(POD(MANAGED, "", ""));
        struct sl_settings settings = {.ns = "kueue-system"};
        struct sl_review_view view = empty_view(&settings, NULL, false);
        struct answer a;
        int n = asprintf(&body,
                         "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                         "\"request\":{\"uid\":\"u-1\",\"operation\":\"CREATE\",\"namespace\":\"%s"
                         "\",\"object\":%s}}",
                         ns, object);

        view.flux = true;
        post(&view, "/mutate-flux--v1-pod", body, (size_t)n, &a);
        assert_true(a.allowed);
        assert_int_equal(sl_json_at(a.response, "patch") != NULL, i == SL_LEN(left));
        answer_done(&a);
        free(body);
        free(object);
    }
}

/* Everything of Kueue that needs no label of the object. */
static void left_to_kueue(void **state) {
    struct fixture f = base(IN_CHOSEN_NS);

    (void)state;
    f.cluster.managed_owner = true; /* its pods have no queue name of their own */
    expect_in(f, sl_review_flux_pod_mutate, POD("", OWNER("a/v1", "B"), ""), NULL, "-");
    f = base(IN_CHOSEN_NS);
    f.cluster.managed_ns = f.settings.manage_without_queue = true;
    expect_in(f, sl_review_flux_job_mutate, SET(MANAGED, "", "", "", ""), NULL, "-");
    f.cluster.managed_ns = false;
    expect_in(f, sl_review_flux_job_mutate, SET(MANAGED, "", "", "", ""), NULL,
              SET(MANAGED "," SEEN, "", ",'suspend':true", SEEN, OURS));
    /* and the default LocalQueue is not for what waits here */
    f = base(ANYWHERE);
    f.cluster.default_queue = true;
    f.kind = "batch-v1-job";
    expect_in(f, adm_kind_mutate, SET(SEEN, "", "", "", ""), NULL, "-");
}

static void switched_off(void **state) {
    struct fixture f = base(IN_CHOSEN_NS);

    (void)state;
    f.view.flux = false;
    expect_in(f, sl_review_flux_pod_mutate, POD(MANAGED, "", ""), NULL, "-");
    expect_in(f, sl_review_flux_job_mutate, SET(MANAGED, "", "", "", ""), NULL, "-");
    expect_in(f, sl_review_flux_deployment_mutate, SET(MANAGED, "", "", "", ""), NULL, "-");
}

/* The scheduler is the user's, and the pods of a Job wait for their nodes. */
static void kube_scheduler_binds(void **state) {
    struct fixture f = base(ANYWHERE);

    (void)state;
    f.settings.flux.kube_binds = true;
    expect_in(f, sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulerName':'volcano'"), NULL,
              POD(MANAGED "," SEEN, "", "'schedulerName':'volcano'," GATE));
    expect_in(f, sl_review_flux_job_mutate, SET(MANAGED, "", "", "", ""), NULL,
              SET(MANAGED "," SEEN, "", ",'suspend':true", SEEN, GATE));
    expect_in(f, sl_review_flux_replicaset_mutate, SET(MANAGED, "", "", "", ""), NULL,
              SET(MANAGED "," SEEN, "", "", SEEN "," SELECTOR("replicaset"), GATE));
}

#define NODE                                                                                       \
    "spec.template.spec.nodeName: its pods have a node, and are not queued on the resource graph"

static void warnings(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *object, *old, *want;
    } cases[] = {
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'schedulerName':'volcano'"), NULL,
         "schedulerName is \"volcano\": not queued on the resource graph. Leave it out, or set "
         "label fluxqueue/managed to \"false\""},
        {sl_review_flux_pod_mutate, POD("'fluxqueue/managed':'yes'", "", ""), NULL,
         "metadata.labels[fluxqueue/managed]: expected \"true\" or \"false\", got \"yes\""},
        {sl_review_flux_pod_mutate, POD(MANAGED ",'" Q "queue-name':'q'", "", ""), NULL,
         "metadata.labels[fluxqueue/managed]: ignored, Kueue queues it"},
        {sl_review_flux_deployment_mutate, SET(MANAGED, "", "", "", ""), SET("", "", "", "", ""),
         "metadata.labels[fluxqueue/managed]: works on creation; delete the object and create it "
         "again"},
        {sl_review_flux_deployment_mutate, SET(MANAGED, "", "", "", "'nodeName':'n'"), NULL, NODE},
        {sl_review_flux_statefulset_mutate, SET("", "", "", "", "'nodeName':'n'"), NULL, NODE},
        {sl_review_flux_job_mutate, SET("", "", "", "", "'nodeName':'n'"), NULL, NULL},
        {sl_review_flux_pod_mutate, POD("'" Q "queue-name':'q'", "", ""), NULL, NULL},
        {sl_review_flux_pod_mutate, POD(MANAGED, "", ""), NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(IN_CHOSEN_NS);
        char *got = call(&f, cases[i].fn, cases[i].object, cases[i].old);
        assert_int_equal(f.call.n_warnings, cases[i].want != NULL);
        if (cases[i].want)
            assert_string_equal(f.call.warnings[0], cases[i].want);
        free(got);
        end(&f);
    }
}

/* No pod has a gate and a node: the template of a set gets no gate, nor does that of a Job where
 * kube-scheduler binds; without a gate, a Job waits for its node. */
static void nodes_of_templates(void **state) {
    static const struct {
        sl_review_fn fn;
        bool kube_binds, waits;
    } cases[] = {
        {sl_review_flux_deployment_mutate, false, false},
        {sl_review_flux_replicaset_mutate, false, false},
        {sl_review_flux_statefulset_mutate, false, false},
        {sl_review_flux_job_mutate, false, true},
        {sl_review_flux_job_mutate, true, false},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(ANYWHERE);
        f.settings.flux.kube_binds = cases[i].kube_binds;
        char *got = call(&f, cases[i].fn, SET(MANAGED, "", "", "", "'nodeName':'n'"), NULL);
        assert_int_equal(strcmp(got, "-") != 0, cases[i].waits);
        free(got);
        end(&f);
    }
}

/* ---- groups ---- */

#define GROUPED "'fluxqueue/group-name':'g'"
#define WRONG_SIZE "must be the number of pods in the group, from 1 to 100000"
#define NO_SIZE                                                                                    \
    "metadata.annotations[fluxqueue/group-size]: Required value: the number of pods in the "       \
    "group, "                                                                                      \
    "which start together"

/* What a pod says of its group is checked where it is intercepted, by any of the labels. */
static void groups(void **state) {
    static const struct {
        enum where where;
        const char *object, *want;
    } cases[] = {
        {ANYWHERE, POD(MANAGED "," GROUPED, NOTE("fluxqueue/group-size", "2"), ""), ""},
        {ANYWHERE, POD(MANAGED "," GROUPED ",'fluxqueue/group-size':'2'", "", ""), ""},
        {ANYWHERE, POD(MANAGED "," GROUPED ",'fluence.group-size':'100000'", "", ""), ""},
        {ANYWHERE, POD(MANAGED "," GROUPED, NOTE(Q "pod-group-total-count", "3"), ""), ""},
        {ANYWHERE, POD(MANAGED "," GROUPED, "", ""), NO_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED, "", ""), NO_SIZE},
        {IN_CHOSEN_NS, POD("'scheduling.x-k8s.io/pod-group':'g'", "", ""), NO_SIZE},
        {IN_CHOSEN_NS, POD("'" Q "pod-group-name':'g'", "", ""), NO_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED, NOTE("fluxqueue/group-size", "0"), ""),
         "metadata.annotations[fluxqueue/group-size]: Invalid value: \"0\": " WRONG_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED, NOTE("fluxqueue/group-size", ""), ""),
         "metadata.annotations[fluxqueue/group-size]: Invalid value: \"\": " WRONG_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED, NOTE("fluxqueue/group-size", "-1"), ""),
         "metadata.annotations[fluxqueue/group-size]: Invalid value: \"-1\": " WRONG_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED ",'fluence.group-size':'100001'", "", ""),
         "metadata.labels[fluence.group-size]: Invalid value: \"100001\": " WRONG_SIZE},
        {IN_CHOSEN_NS, POD(GROUPED ",'fluence.group-size':'4294967298'", "", ""),
         "metadata.labels[fluence.group-size]: Invalid value: \"4294967298\": " WRONG_SIZE},
        {IN_CHOSEN_NS, POD("'fluxqueue/group-name':'A_b'", NOTE("fluxqueue/group-size", "2"), ""),
         "metadata.labels[fluxqueue/group-name]: Invalid value: \"A_b\": must be a name, such as "
         "of an object"},
        {IN_CHOSEN_NS, POD("'fluxqueue/group-name':''", NOTE("fluxqueue/group-size", "2"), ""),
         "metadata.labels[fluxqueue/group-name]: Invalid value: \"\": must be a name, such as of "
         "an object"},
        /* Kueue's, somebody else's, and part of a Job */
        {IN_CHOSEN_NS, POD("'" Q "queue-name':'q','" Q "pod-group-name':'g'", "", ""), ""},
        {ANYWHERE, POD(GROUPED, "", ""), ""},
        {ANYWHERE, POD(MANAGED "," GROUPED, OWNER("batch/v1", "Job"), ""), ""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(cases[i].where);
        struct sl_buf text = SL_BUF(1 << 16);
        char *got = call(&f, sl_review_flux_pod_mutate, cases[i].object, NULL);
        sl_field_errs_print(&f.call.errs, &text);
        if (strcmp(sl_buf_str(&text), cases[i].want) != 0)
            fail_msg("%s\ngot      %s\nexpected %s", cases[i].object, sl_buf_str(&text),
                     cases[i].want);
        sl_buf_done(&text);
        free(got);
        end(&f);
    }
}

/* ---- updates ---- */

static void updates_change_nothing(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *object, *old;
    } cases[] = {
        /* a pod that was never seen: a gate would be refused by the API server */
        {sl_review_flux_pod_mutate, POD(MANAGED, "", "'x':1"), POD(MANAGED, "", "")},
        {sl_review_flux_pod_mutate, POD("", ",'finalizers':[]", ""),
         POD("", ",'finalizers':['a']", "")},
        {sl_review_flux_job_mutate, SET(MANAGED, "", "", "", ""), SET("", "", "", "", "")},
        {sl_review_flux_job_mutate, SET(MANAGED "," SEEN, "", ",'suspend':false", SEEN, OURS),
         SET(MANAGED "," SEEN, "", ",'suspend':true", SEEN, OURS)},
        /* a set from before: its pods run */
        {sl_review_flux_deployment_mutate, SET("", "", ",'replicas':2", "", ""),
         SET("", "", ",'replicas':1", "", "")},
        /* of one that was intercepted: sizes, status, and nothing at all */
        {sl_review_flux_deployment_mutate,
         SET(SEEN, "", ",'replicas':2", SEEN "," SELECTOR("deployment"), GATE "," OURS),
         SET(SEEN, "", ",'replicas':1", SEEN "," SELECTOR("deployment"), GATE "," OURS)},
        /* the same template: what was taken off is refused, and not put back silently */
        {sl_review_flux_deployment_mutate, SET("", "", "", SEEN, GATE),
         SET(SEEN, "", "", SEEN, GATE)},
        /* one that goes */
        {sl_review_flux_statefulset_mutate,
         SET(SEEN, ",'deletionTimestamp':'2026-01-01T00:00:00Z'", "", "", ""),
         SET(SEEN, "", "", SEEN, GATE)},
        /* one that leaves */
        {sl_review_flux_statefulset_mutate, SET(SEEN "," OPT_OUT, "", "", "", ""),
         SET(SEEN, "", "", SEEN, GATE)},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        expect_in(base(IN_CHOSEN_NS), cases[i].fn, cases[i].object, cases[i].old, "-");
}

/* "kubectl replace" brings the template of the user: a rolling update, and its pods wait. */
static void updates_of_templates(void **state) {
    (void)state;
    expect_in(base(IN_CHOSEN_NS), sl_review_flux_deployment_mutate,
              SET("", "", ",'replicas':2", "'app':'a'", "'image':2"),
              SET(SEEN, "", ",'replicas':1", SEEN "," SELECTOR("deployment"), GATE "," OURS),
              SET(SEEN, "", ",'replicas':2", "'app':'a'," SEEN "," SELECTOR("deployment"),
                  "'image':2," GATE "," OURS));
}

static void subresources(void **state) {
    struct fixture f = base(IN_CHOSEN_NS);
    char *now = json_of("{'metadata':{'name':'a'},'spec':{'replicas':3}}");

    (void)state;
    begin(&f, now, NULL, NO_GATE);
    f.call.subresource = "scale";
    assert_int_equal(sl_review_flux_deployment_mutate(&f.call), 0);
    assert_null(f.call.edit);
    end(&f);
    free(now);
}

/* ---- what may not be started by hand ---- */

#define WAY_OUT                                                                                    \
    "; to run it without the queue, delete it and create it with the label fluxqueue/managed: "    \
    "\"false\""
#define POD_WAITS                                                                                  \
    "spec.schedulingGates: the pod waits in the queue, which removes the gate fluxqueue" WAY_OUT
#define JOB_WAITS "spec.suspend: the Job waits in the queue, which starts it" WAY_OUT
#define NODE_WAITS                                                                                 \
    "spec.template.spec.nodeName: the pods wait in the queue, which finds their nodes" WAY_OUT
#define NUMBER "'fluxqueue/jobid':'7'"

#define OURSELVES "{'username':'system:serviceaccount:own:kueue-controller-manager'}"

static void starting_by_hand(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *object, *old, *want;
    } cases[] = {
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), POD(SEEN, "", GATE), POD_WAITS},
        {sl_review_flux_pod_validate, POD("", "", ""), POD(SEEN, "", GATE), POD_WAITS},
        {sl_review_flux_pod_validate, POD(SEEN, "", "'schedulingGates':[{'name':'b'}]"),
         POD(SEEN, "", "'schedulingGates':[{'name':'b'},{'name':'fluxqueue'}]"), POD_WAITS},
        {sl_review_flux_pod_validate, POD(SEEN ",'fluxqueue/jobid':''", "", ""),
         POD(SEEN, "", GATE), POD_WAITS},
        {sl_review_flux_pod_validate, POD(SEEN "," NUMBER, "", ""), POD(SEEN, "", GATE), NULL},
        {sl_review_flux_pod_validate, POD(SEEN, NOTE("fluxqueue/jobid", "7"), ""),
         POD(SEEN, "", GATE), NULL},
        {sl_review_flux_pod_validate, POD(SEEN, "", GATE),
         POD(SEEN, "", "'schedulingGates':[{'name':'b'},{'name':'fluxqueue'}]"), NULL},
        {sl_review_flux_pod_validate, POD(SEEN, ",'finalizers':[]", GATE),
         POD(SEEN, ",'finalizers':['a']", GATE), NULL},
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), POD(SEEN, "", ""), NULL},
        {sl_review_flux_pod_validate, POD("", "", ""), POD("", "", GATE), NULL}, /* not ours */
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), NULL, NULL},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':false", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), JOB_WAITS},
        {sl_review_flux_job_validate, SET(SEEN, "", "", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), JOB_WAITS},
        {sl_review_flux_job_validate, SET(SEEN "," NUMBER, "", ",'suspend':false", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), JOB_WAITS}, /* it must be on the template */
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':false", SEEN "," NUMBER, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), NULL},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':true,'parallelism':3", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), NULL},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':true", SEEN, ""),
         SET(SEEN, "", ",'suspend':false", SEEN, ""), NULL},
        {sl_review_flux_job_validate, SET("", "", ",'suspend':false", "", ""),
         SET("", "", ",'suspend':true", "", ""), NULL},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':false", SEEN, ""), NULL, NULL},
        {sl_review_flux_set_validate, SET(SEEN, "", "", SEEN, GATE ",'nodeName':'n'"),
         SET(SEEN, "", "", SEEN, GATE), NODE_WAITS},
        {sl_review_flux_set_validate, SET(SEEN, "", "", SEEN, "'nodeName':'n'"),
         SET(SEEN, "", "", SEEN, GATE), NODE_WAITS},
        {sl_review_flux_set_validate, SET("", "", "", "", "'nodeName':'n'"),
         SET("", "", "", "", GATE), NULL}, /* not ours */
    };

    (void)state;
    for (size_t i = 0; i < 2 * SL_LEN(cases); i++) {
        size_t k = i / 2;
        struct fixture f = base(ANYWHERE);
        char *now = json_of(cases[k].object), *old = cases[k].old ? json_of(cases[k].old) : NULL;
        f.view.flux = i % 2 == 0; /* without a queue everything passes */
        char *user = json_of(OURSELVES);
        yyjson_doc *who = yyjson_read(user, strlen(user), 0);
        begin(&f, now, old, NO_GATE);
        f.settings.ns = "own";
        f.call.user = yyjson_doc_get_root(who);
        int code = cases[k].fn(&f.call);
        bool refused = f.view.flux && cases[k].want;
        if (code != (refused ? 403 : 0))
            fail_msg("%s\nold %s\ngot %d", cases[k].object, cases[k].old, code);
        if (refused)
            assert_string_equal(f.call.refused, cases[k].want);
        end(&f);
        yyjson_doc_free(who);
        free(user);
        free(now);
        free(old);
    }
}

#define STAYS                                                                                      \
    "it is given on creation, and stays while the queue on the resource graph has the "            \
    "object" WAY_OUT
#define SEEN_STAYS "metadata.labels[fluxqueue.seen]: " STAYS
#define SELECTOR_STAYS "metadata.labels[fluxqueue.selector]: " STAYS
#define MANAGED_STAYS "metadata.labels[fluxqueue/managed]: " STAYS
#define MARKED SEEN "," SELECTOR("deployment")
#define DEPLOYMENT(labels, more, template_labels, template_spec)                                   \
    SET(labels, "", more, template_labels, template_spec)

/* Labels by which the queue knows its objects stay, whoever it is that writes. */
static void labels_stay(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *object, *old, *want;
    } cases[] = {
        /* pods: waiting, or running */
        {sl_review_flux_pod_validate, POD("", "", GATE), POD(SEEN, "", GATE), SEEN_STAYS},
        {sl_review_flux_pod_validate, POD("", "", ""), POD(SEEN, "", ""), SEEN_STAYS},
        {sl_review_flux_pod_validate, POD("'fluxqueue.seen':'no'", "", ""), POD(SEEN, "", ""),
         SEEN_STAYS},
        {sl_review_flux_pod_validate, "{'metadata':{'name':'a'},'spec':{}}", POD(SEEN, "", ""),
         SEEN_STAYS},
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), POD(MARKED, "", ""), SELECTOR_STAYS},
        {sl_review_flux_pod_validate, POD(MARKED, "", ""),
         POD(SEEN "," SELECTOR("statefulset"), "", ""), SELECTOR_STAYS},
        {sl_review_flux_pod_validate, POD(SEEN, "", GATE), POD(SEEN "," MANAGED, "", GATE),
         MANAGED_STAYS},
        {sl_review_flux_pod_validate, POD(SEEN "," OPT_OUT, "", GATE), POD(SEEN, "", GATE),
         MANAGED_STAYS},
        {sl_review_flux_pod_validate, POD(SEEN ",'a':'b'", "", GATE),
         POD(SEEN ",'c':'d'", "", GATE), NULL},
        /* one that is not ours does not become so, and its other labels are its own */
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), POD("", "", ""), SEEN_STAYS},
        {sl_review_flux_pod_validate, POD(MANAGED, "", ""), POD(OPT_OUT, "", ""), NULL},
        {sl_review_flux_pod_validate, POD(SEEN, "", ""), NULL, NULL},
        /* Jobs: the label of its template, too, which can be changed while it is suspended */
        {sl_review_flux_job_validate, SET("", "", ",'suspend':true", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), SEEN_STAYS},
        {sl_review_flux_job_validate, SET("", "", "", SEEN, ""), SET(SEEN, "", "", SEEN, ""),
         SEEN_STAYS},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':true", "", ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""),
         "spec.template.metadata.labels[fluxqueue.seen]: " STAYS},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':true", SEEN, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, GATE),
         "spec.template.spec.schedulingGates: the pods wait in the queue, which removes the gate "
         "fluxqueue" WAY_OUT},
        {sl_review_flux_job_validate, SET(SEEN, "", ",'suspend':false", SEEN "," NUMBER, ""),
         SET(SEEN, "", ",'suspend':true", SEEN, ""), NULL},
        {sl_review_flux_job_validate, SET(SEEN, "", "", "", ""), SET("", "", "", "", ""),
         SEEN_STAYS},
        /* sets */
        {sl_review_flux_set_validate, DEPLOYMENT("", "", MARKED, GATE),
         DEPLOYMENT(SEEN, "", MARKED, GATE), SEEN_STAYS},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN "," OPT_OUT, "", MARKED, GATE),
         DEPLOYMENT(SEEN, "", MARKED, GATE), MANAGED_STAYS},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN, "", SELECTOR("deployment"), GATE),
         DEPLOYMENT(SEEN, "", MARKED, GATE),
         "spec.template.metadata.labels[fluxqueue.seen]: " STAYS},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN, "", SEEN, GATE),
         DEPLOYMENT(SEEN, "", MARKED, GATE),
         "spec.template.metadata.labels[fluxqueue.selector]: " STAYS},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN, "", MARKED, ""),
         DEPLOYMENT(SEEN, "", MARKED, GATE),
         "spec.template.spec.schedulingGates: the pods wait in the queue, which removes the gate "
         "fluxqueue" WAY_OUT},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN, "", MARKED, GATE ",'x':1"),
         DEPLOYMENT(SEEN, "", SEEN, GATE), NULL},
        {sl_review_flux_set_validate, DEPLOYMENT(SEEN, ",'replicas':2", MARKED, GATE),
         DEPLOYMENT(SEEN, ",'replicas':1", MARKED, GATE), NULL},
        {sl_review_flux_set_validate, DEPLOYMENT(MANAGED, "", "", ""), DEPLOYMENT("", "", "", ""),
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < 2 * SL_LEN(cases); i++) {
        size_t k = i / 2;
        struct fixture f = base(ANYWHERE);
        char *now = json_of(cases[k].object), *old = cases[k].old ? json_of(cases[k].old) : NULL;
        char *user = json_of(OURSELVES);
        yyjson_doc *who = yyjson_read(user, strlen(user), 0);
        begin(&f, now, old, NO_GATE);
        f.settings.ns = "own";
        f.call.user = yyjson_doc_get_root(who);
        f.view.flux = i % 2 == 0;
        bool refused = f.view.flux && cases[k].want;
        if (cases[k].fn(&f.call) != (refused ? 403 : 0))
            fail_msg("%s\nold %s\nexpected %s", cases[k].object, cases[k].old,
                     refused ? "a refusal" : "none");
        if (refused)
            assert_string_equal(f.call.refused, cases[k].want);
        end(&f);
        yyjson_doc_free(who);
        free(user);
        free(now);
        free(old);
    }
}

/* A number counts if it is from one who may give it. */
static void numbers_of_others(void **state) {
    static const struct {
        const char *user;
        bool passes;
    } cases[] = {
        {OURSELVES, true},
        {"{'username':'system:serviceaccount:own:other'}", true},
        {"{'username':'admin','groups':['a','system:masters']}", true},
        {"{'username':'system:serviceaccount:owner:kueue-controller-manager'}", false},
        {"{'username':'system:serviceaccount:ns:own'}", false},
        {"{'username':'own:a'}", false},
        {"{'username':'jane','groups':['system:authenticated']}", false},
        {"{}", false},
        {"{'username':1,'groups':'system:masters'}", false},
    };

    (void)state;
    for (size_t i = 0; i < 2 * SL_LEN(cases); i++) {
        bool job = i % 2;
        struct fixture f = base(ANYWHERE);
        char *now = json_of(job ? SET(SEEN, "", ",'suspend':false", SEEN "," NUMBER, "")
                                : POD(SEEN "," NUMBER, "", ""));
        char *old = json_of(job ? SET(SEEN, "", ",'suspend':true", SEEN, "") : POD(SEEN, "", GATE));
        char *user = json_of(cases[i / 2].user);
        yyjson_doc *who = yyjson_read(user, strlen(user), 0);
        begin(&f, now, old, NO_GATE);
        f.settings.ns = "own";
        f.call.user = yyjson_doc_get_root(who);
        assert_int_equal((job ? sl_review_flux_job_validate : sl_review_flux_pod_validate)(&f.call),
                         cases[i / 2].passes ? 0 : 403);
        end(&f);
        yyjson_doc_free(who);
        free(now);
        free(old);
        free(user);
    }
}

/* ---- fluxqueue's own path ---- */

static void one_path_for_all(void **state) {
    static const struct {
        const char *group, *kind, *operation;
        bool patched, refused;
    } cases[] = {
        {"", "Pod", "CREATE", true, false},
        {"batch", "Job", "CREATE", true, false},
        {"apps", "Deployment", "CREATE", true, false},
        {"apps", "ReplicaSet", "CREATE", true, false},
        {"apps", "StatefulSet", "CREATE", true, false},
        {"apps", "DaemonSet", "CREATE", false, false},
        {"", "Job", "CREATE", false, false},
        {"batch", "Pod", "CREATE", false, false},
        {"example.com", "Deployment", "CREATE", false, false},
        {"", "", "CREATE", false, false},
        {"", "Pod", "UPDATE", false, true},
        {"batch", "Job", "UPDATE", false, true},
        {"apps", "Deployment", "UPDATE", false, true},
        {"apps", "ReplicaSet", "UPDATE", false, true},
        {"apps", "StatefulSet", "UPDATE", false, true},
        {"apps", "DaemonSet", "UPDATE", false, false},
        {"example.com", "Deployment", "UPDATE", false, false},
        {"", "Pod", "DELETE", false, false},
    };
    char *now = json_of(SET(MANAGED, "", "", "", "")),
         *old = json_of(SET(SEEN, "", ",'suspend':true," GATE, "", ""));

    (void)state;
    for (size_t i = 0; i < 2 * SL_LEN(cases); i++) {
        size_t k = i / 2;
        bool mutates = i % 2 == 0, create = strcmp(cases[k].operation, "CREATE") == 0;
        struct sl_settings settings = {0};
        struct sl_review_view view = empty_view(&settings, NULL, false);
        struct answer a;
        char *body = NULL;
        int n =
            asprintf(&body,
                     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                     "\"request\":{\"uid\":\"u-1\",\"operation\":\"%s\",\"kind\":{\"group\":"
                     "\"%s\",\"version\":\"v1\",\"kind\":\"%s\"},\"namespace\":\"ns\","
                     "\"object\":%s,\"oldObject\":%s,\"dryRun\":true}}",
                     cases[k].operation, cases[k].group, cases[k].kind, now, create ? "null" : old);

        view.flux = true;
        post(&view, mutates ? "/mutate-v1-sidecar" : "/validate-v1-sidecar", body, (size_t)n, &a);
        assert_int_equal(a.http, 200);
        assert_int_equal(a.allowed, mutates || !cases[k].refused);
        if (mutates && create)
            assert_int_equal(sl_json_at(a.response, "patch") != NULL, cases[k].patched);
        answer_done(&a);
        free(body);
    }
    free(now);
    free(old);
}

/* ---- jobspecs ---- */

#define JOBSPEC                                                                                    \
    "version: 1\\nresources: [{type: slot, count: 1, label: a, with: [{type: core, count: "        \
    "1}]}]\\n"                                                                                     \
    "tasks: [{command: [a], slot: a, count: {per_slot: 1}}]\\n"                                    \
    "attributes: {system: {duration: 0}}\\n"
#define FLUXJOB(spec) "{'metadata':{'name':'a'},'spec':{" spec "}}"
#define IN_STATE(state, spec)                                                                      \
    "{'metadata':{'name':'a'},'spec':{" spec "},'status':{'state':'" state "'}}"
#define FROZEN "field is immutable"

static void flux_jobs(void **state) {
    static const struct review_case cases[] = {
        {"empty", "{'metadata':{'name':'a'}}", NULL, "", NULL, false},
        {"all that fluxqueue wrote",
         FLUXJOB("'type':1,'name':'a','nodes':2,'duration':0,'reservation':false,'jobspec':"
                 "'" JOBSPEC "'"),
         NULL, "", NULL, false},
        {"a pod group", FLUXJOB("'type':5"), NULL, "", NULL, false},
        {"types", FLUXJOB("'type':6"), NULL, "spec.type: Invalid value: 6: must be between 0 and 5",
         NULL, false},
        {"negative", FLUXJOB("'type':-1,'duration':-2,'nodes':-3"), NULL,
         "[spec.type: Invalid value: -1: must be between 0 and 5, spec.duration: Invalid value: "
         "-2: must be greater than or equal to 0, spec.nodes: Invalid value: -3: must be greater "
         "than or equal to 0]",
         NULL, false},
        {"no jobspec",
         FLUXJOB("'jobspec':'version: 1\\nresources: 5\\ntasks: []\\nattributes: {}\\n'"), NULL,
         "spec.jobspec: Invalid value: jobspec:2: resources: expected a list, got 5", NULL, false},
        {"wrong types", FLUXJOB("'type':'1','duration':[],'nodes':{},'jobspec':7"), NULL, "", NULL,
         false},
        {"stored already", FLUXJOB("'type':9,'jobspec':'x'"), FLUXJOB("'type':9,'jobspec':'x'"), "",
         NULL, false},
        {"while it waits", IN_STATE("Waiting", "'jobspec':'" JOBSPEC "'"),
         IN_STATE("Waiting", "'name':'a'"), "", NULL, false},
        {"while it runs", FLUXJOB("'type':1,'name':'b'"), IN_STATE("Running", "'name':'a'"),
         "[spec.type: Invalid value: 1: " FROZEN ", spec.name: Invalid value: \"b\": " FROZEN "]",
         NULL, false},
        {"its jobspec", FLUXJOB(""), IN_STATE("Running", "'jobspec':'x'"),
         "spec.jobspec: Invalid value: null: " FROZEN, NULL, false},
        {"after it ran", FLUXJOB("'name':'b'"), IN_STATE("Completed", "'name':'a'"),
         "spec.name: Invalid value: \"b\": " FROZEN, NULL, false},
        {"more time for one that runs", FLUXJOB("'duration':9"), IN_STATE("Running", ""), "", NULL,
         false},
    };

    (void)state;
    check_cases("/validate-jobs-converged-computing-org-v1alpha1-fluxjob", cases, SL_LEN(cases));
}

static void long_jobspecs(void **state) {
    struct fixture f = base(ANYWHERE);
    size_t n = ((size_t)64 << 10) + 1;
    char *text = malloc(n + 100);
    struct sl_buf message;

    (void)state;
    int at = snprintf(text, 100, "{\"spec\":{\"jobspec\":\"");
    memset(text + at, '#', n);
    (void)snprintf(text + at + n, 50, "\"}}");
    begin(&f, text, NULL, NO_GATE);
    assert_int_equal(sl_review_fluxjob_validate(&f.call), 0);
    sl_buf_init(&message, 1 << 16);
    sl_field_errs_print(&f.call.errs, &message);
    assert_string_equal(sl_buf_str(&message),
                        "spec.jobspec: Too long: may not be more than 65536 bytes");
    sl_buf_done(&message);
    end(&f);
    free(text);
}

/* Aliases of aliases: 640 bytes that would be 10^9 values. */
static void exploding_jobspecs(void **state) {
    char text[2000] = "{\"spec\":{\"jobspec\":\"version: 1\\na0: &a0 [x]\\n";
    struct fixture f = base(ANYWHERE);
    size_t n = strlen(text);

    (void)state;
    for (int i = 1; i < 10; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s*a%d", k ? "," : "", i - 1);
        n += (size_t)snprintf(text + n, sizeof text - n, "]\\n");
    }
    (void)snprintf(text + n, sizeof text - n, "\"}}");
    begin(&f, text, NULL, NO_GATE);
    assert_int_equal(sl_review_fluxjob_validate(&f.call), 0);
    assert_int_equal(f.call.errs.n, 1);
    assert_non_null(strstr(f.call.errs.text[0], "spec.jobspec: Invalid value: jobspec:"));
    assert_non_null(strstr(f.call.errs.text[0], " values in one file"));
    end(&f);
}

/* In an annotation: refused before anything waits for it. */
static void annotated_jobspecs(void **state) {
    static const struct {
        sl_review_fn fn;
        const char *jobspec;
        uint32_t errors;
    } cases[] = {
        {sl_review_flux_pod_mutate, JOBSPEC, 0},
        {sl_review_flux_pod_mutate, "version: 1", 1},
        {sl_review_flux_job_mutate, "version: 1\\u0000", 1},
        {sl_review_flux_deployment_mutate, "[", 1},
        {sl_review_flux_statefulset_mutate, "", 0},
    };
    char object[1000];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(IN_CHOSEN_NS);
        (void)snprintf(object, sizeof object,
                       "{'metadata':{'name':'a','annotations':{'fluxqueue/jobspec':'%s'}}}",
                       cases[i].jobspec);
        char *got = call(&f, cases[i].fn, object, NULL);
        assert_int_equal(f.call.errs.n, cases[i].errors);
        free(got);
        end(&f);
    }
}

static void unknown_queues(void **state) {
    static const struct sl_settings_flux_queue queues[] = {{.name = "default"}, {.name = "big"}};
    static const struct {
        const char *object;
        bool warned;
    } cases[] = {
        {"{\"spec\":{\"queue\":\"big\"}}", false},
        {"{\"spec\":{\"queue\":\"default\"}}", false},
        {"{\"spec\":{}}", false},
        {"{\"spec\":{\"queue\":\"small\"}}", true},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture f = base(ANYWHERE);
        f.settings.flux.queues = queues;
        f.settings.flux.n_queues = SL_LEN(queues);
        begin(&f, cases[i].object, NULL, NO_GATE);
        assert_int_equal(sl_review_fluxjob_validate(&f.call), 0);
        assert_int_equal(f.call.n_warnings, cases[i].warned);
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(selectors),
        cmocka_unit_test(choice),
        cmocka_unit_test(owned_sets),
        cmocka_unit_test(namespaces),
        cmocka_unit_test(left_to_kueue),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(kube_scheduler_binds),
        cmocka_unit_test(warnings),
        cmocka_unit_test(nodes_of_templates),
        cmocka_unit_test(groups),
        cmocka_unit_test(updates_change_nothing),
        cmocka_unit_test(updates_of_templates),
        cmocka_unit_test(subresources),
        cmocka_unit_test(starting_by_hand),
        cmocka_unit_test(labels_stay),
        cmocka_unit_test(numbers_of_others),
        cmocka_unit_test(one_path_for_all),
        cmocka_unit_test(flux_jobs),
        cmocka_unit_test(long_jobspecs),
        cmocka_unit_test(exploding_jobspecs),
        cmocka_unit_test(annotated_jobspecs),
        cmocka_unit_test(unknown_queues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
