/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of MiniClusters over the in-memory API: the objects of both versions, resizes,
 * conditions, labels, the end; restarted at any step, under faults, and where another controls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/log/log.h"
#include "manager/config/config.h"
#include "manager/minicluster/minicluster.h"

#define CLUSTERS "/apis/flux-framework.org/v1alpha2/namespaces/default/miniclusters"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define PODS "/api/v1/namespaces/default/pods"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define SERVICES "/api/v1/namespaces/default/services"
#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define MC CLUSTERS "/mc"
#define OLD "flux-framework.org/v1alpha1"
#define RUNNER "{'image':'i','command':'sleep 10'}"

struct world {
    struct fakeapi *api;
    struct sl_settings settings;
    struct sl_miniclusters *m;
    uint32_t writes;
};

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    w->writes += c->client != FAKEAPI_NOBODY && strcmp(c->kind->plural, "events") != 0;
}

static void start(struct world *w) {
    w->m = sl_miniclusters_new(&(struct sl_miniclusters_spec){
        .client = fakeapi_port(w->api, 0), .settings = &w->settings, .instance = "test"});
}

static void stop(struct world *w) {
    fakeapi_kill(w->api, 0);
    sl_miniclusters_free(w->m);
    w->m = NULL;
}

static struct world *open_world(uint64_t seed) {
    static const struct fakeapi_kind kinds[] = {
        {.group = "flux-framework.org",
         .version = "v1alpha2",
         .plural = "miniclusters",
         .kind = "MiniCluster",
         .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS},
        {.group = "", .version = "v1", .plural = "persistentvolumes", .kind = "PersistentVolume"},
    };
    struct world *w = sl_alloc0(1, sizeof *w);
    w->api = fakeapi_new(seed);
    for (size_t i = 0; i < SL_LEN(kinds); i++)
        fakeapi_register(w->api, &kinds[i]);
    fakeapi_on_change(w->api, on_change, w);
    start(w);
    return w;
}

static void close_world(struct world *w) {
    sl_miniclusters_free(w->m);
    fakeapi_free(w->api);
    sl_freep(&w);
}

static int setup(void **state) {
    *state = open_world(1);
    return 0;
}

static int teardown(void **state) {
    close_world(*state);
    return 0;
}

static void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    do {
        sl_miniclusters_tick(w->m);
        sl_time at = sl_miniclusters_next(w->m);
        (void)fakeapi_step(w->api, at < until ? at : until);
    } while (fakeapi_now(w->api) < until);
    sl_miniclusters_tick(w->m);
}

/* JSON in single quotes; a quote within a text is written as `. */
static char *json_of(const char *s) {
    struct sl_buf b = SL_BUF(1 << 20);
    for (; *s; s++) {
        if (*s == '`')
            sl_buf_puts(&b, "\\\"");
        else
            sl_buf_putc(&b, *s == '\'' ? '"' : *s);
    }
    char *out = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return out;
}

static int send(struct world *w, enum sl_kube_method method, const char *path, const char *type,
                const char *body) {
    _cleanup_(sl_freep) char *text = json_of(body);
    return fakeapi_do(w->api, method, path, type, *body ? text : NULL, NULL);
}

static void make(struct world *w, const char *name, const char *annotations, const char *spec) {
    struct sl_buf b = SL_BUF(1 << 20);
    sl_buf_printf(&b,
                  "{'apiVersion':'flux-framework.org/v1alpha2','kind':'MiniCluster','metadata':{"
                  "'name':'%s','annotations':{%s}},'spec':{%s}}",
                  name, annotations, spec);
    assert_int_equal(send(w, SL_POST, CLUSTERS, SL_JSON, sl_buf_str(&b)), 201);
    sl_buf_done(&b);
}

static void make_new(struct world *w, const char *spec) {
    make(w, "mc", "", spec);
    run(w, 2 * SL_SEC);
}

static void patch(struct world *w, const char *path, const char *body) {
    assert_int_equal(send(w, SL_PATCH, path, SL_MERGE_PATCH, body), 200);
}

static void drop(struct world *w, const char *path) {
    (void)fakeapi_do(w->api, SL_DELETE, path, NULL, NULL, NULL);
}

static yyjson_val *get(struct world *w, const char *path) {
    return fakeapi_get(w->api, path);
}

static const char *str(struct world *w, const char *path, const char *field) {
    return sl_json_str(get(w, path), field);
}

static int64_t num(struct world *w, const char *path, const char *field) {
    return sl_json_int(get(w, path), field, -1);
}

static void is_json(yyjson_val *got, const char *expected) {
    _cleanup_(sl_freep) char *text = json_of(expected);
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(text, strlen(text));
    assert_non_null(d);
    if (!got || !sl_json_equal(got, yyjson_doc_get_root(d), NULL))
        fail_msg("%s\nexpected %s", got ? yyjson_val_write(got, 0, NULL) : "nothing", text);
}

static void condition(struct world *w, const char *type, const char *status) {
    yyjson_val *c = sl_json_find(sl_json_at(get(w, MC), "status.conditions"), "type", type);
    if (strcmp(sl_json_str(c, "status"), status) != 0)
        fail_msg("%s is %s, expected %s", type, sl_json_str(c, "status"), status);
}

static const char *message(struct world *w, const char *type) {
    return sl_json_str(sl_json_find(sl_json_at(get(w, MC), "status.conditions"), "type", type),
                       "message");
}

/* ---- the objects ---- */

static void of_v1alpha2(void **state) {
    struct world *w = *state;
    make_new(w, "'size':4,'jobLabels':{'kueue.x-k8s.io/queue-name':'user-queue'},'containers':["
                "{'image':'i','command':'sleep 10','resources':{'requests':{'cpu':4,'memory':"
                "'200Mi'}}}]");
    yyjson_val *job = get(w, JOBS "/mc"), *spec = sl_json_get(job, "spec");
    is_json(sl_json_at(job, "metadata.labels"), "{'kueue.x-k8s.io/queue-name':'user-queue'}");
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(sl_json_at(job, "metadata.ownerReferences")), "uid"),
        str(w, MC, "metadata.uid"));
    assert_int_equal(sl_json_int(spec, "parallelism", 0), 4);
    assert_int_equal(sl_json_int(spec, "completions", 0), 4);
    assert_int_equal(sl_json_int(spec, "backoffLimit", 0), 100);
    assert_int_equal(sl_json_int(spec, "activeDeadlineSeconds", 0), 31500000);
    assert_string_equal(sl_json_str(spec, "completionMode"), "Indexed");
    is_json(sl_json_at(spec, "template.metadata"),
            "{'name':'mc','namespace':'default','labels':{'namespace':'default',"
            "'app.kubernetes.io/name':'mc','hpa-selector':'mc'}}");
    is_json(sl_json_at(spec, "template.spec.initContainers"),
            "[{'name':'flux-view','image':'ghcr.io/converged-computing/flux-view-rocky:tag-9',"
            "'command':['/bin/bash','/flux_operator/flux-init.sh'],'imagePullPolicy':"
            "'IfNotPresent','volumeMounts':[{'name':'flux-view','mountPath':'/mnt/flux'},{'name':"
            "'mc-entrypoint','mountPath':'/flux_operator/','readOnly':true}],'stdin':true,'tty':"
            "true,'resources':{}}]");
    is_json(sl_json_at(spec, "template.spec.volumes"),
            "[{'name':'flux-view','emptyDir':{}},{'name':'mc-entrypoint','configMap':{'name':"
            "'mc-entrypoint','items':[{'key':'wait-0','path':'wait-0.sh','mode':511},{'key':"
            "'flux-view','path':'flux-init.sh','mode':511},{'key':'curve.cert','path':"
            "'curve.cert'}]}}]");
    is_json(
        sl_json_get(yyjson_arr_get_first(sl_json_at(spec, "template.spec.containers")), "command"),
        "['/bin/bash','/flux_operator/wait-0.sh']");
    yyjson_val *data = sl_json_get(get(w, MAPS "/mc-entrypoint"), "data");
    assert_int_equal(sl_json_size(data), 3);
    assert_non_null(sl_json_get(data, "wait-0"));
    assert_non_null(sl_json_get(data, "flux-view"));
    is_json(sl_json_get(get(w, SERVICES "/flux-service"), "spec"),
            "{'selector':{'job-name':'mc'},'clusterIP':'None'}");
    assert_int_equal(num(w, MC, "status.size"), 4);
    assert_int_equal(num(w, MC, "status.maximumSize"), 4);
    assert_string_equal(str(w, MC, "status.selector"), "hpa-selector=mc");
    assert_string_equal(str(w, MC, "status.jobid"), str(w, JOBS "/mc", "metadata.uid"));
    condition(w, "JobRequested", "False");
    condition(w, "JobMiniClusterReady", "True");
    condition(w, "ControlledBySluice", "True");
}

/* What the seed's `kubectl describe workload` shows of the pod. */
static void of_v1alpha1(void **state) {
    struct world *w = *state;
    make(w, "mc", "'" OLD "':'{`createdAs`:`v1alpha1`}'",
         "'size':1,'containers':[{'image':'ghcr.io/flux-framework/flux-restful-api:latest',"
         "'command':'sleep 10','resources':{'requests':{'cpu':4,'memory':'200Mi'}}}]");
    run(w, 2 * SL_SEC);
    is_json(sl_json_at(get(w, JOBS "/mc"), "spec.template.spec"),
            "{'subdomain':'flux-service','setHostnameAsFQDN':false,'restartPolicy':'OnFailure',"
            "'imagePullSecrets':[],'volumes':["
            "{'name':'mc-flux-config','configMap':{'name':'mc-flux-config','items':[{'key':"
            "'hostfile','path':'broker.toml'}]}},"
            "{'name':'mc-entrypoint','configMap':{'name':'mc-entrypoint','items':[{'key':'wait-0',"
            "'path':'wait-0.sh','mode':511}]}},"
            "{'name':'mc-curve-mount','configMap':{'name':'mc-curve-mount'}}],"
            "'containers':[{'name':'mc','image':'ghcr.io/flux-framework/flux-restful-api:latest',"
            "'imagePullPolicy':'IfNotPresent','command':['/bin/bash','/flux_operator/wait-0.sh',"
            "'sleep 10'],'volumeMounts':[{'name':'mc-curve-mount','mountPath':'/mnt/curve/',"
            "'readOnly':true},{'name':'mc-flux-config','mountPath':'/etc/flux/config','readOnly':"
            "true},{'name':'mc-entrypoint','mountPath':'/flux_operator/','readOnly':true}],"
            "'stdin':true,'tty':true,'lifecycle':{},'resources':{'requests':{'cpu':4,'memory':"
            "'200Mi'}},'securityContext':{'privileged':false},'ports':[{'containerPort':5000,"
            "'protocol':'TCP'}],'env':[]}]}");
    assert_non_null(sl_json_at(get(w, MAPS "/mc-flux-config"), "data.hostfile"));
    assert_int_equal(sl_json_size(sl_json_get(get(w, MAPS "/mc-entrypoint"), "data")), 1);
    assert_int_equal(sl_json_size(sl_json_get(get(w, MAPS "/mc-curve-mount"), "data")), 1);
}

static void side_containers_and_services(void **state) {
    struct world *w = *state;
    make_new(w, "'size':2,'network':{'headlessName':'net'},'flux':{'minimalService':true},"
                "'containers':[{'runFlux':true,'volumes':{'a':{'path':'/a','claimName':'c'}}},"
                "{'name':'side','ports':[80,443],'volumes':{'b':{'path':'/b','hostPath':'/h'}}},"
                "{'name':'plain','noWrapEntrypoint':true,'ports':[9]}],"
                "'services':[{'name':'db','image':'d','volumes':{'s':{'path':'/s','secretName':"
                "'x'}}}]");
    is_json(sl_json_get(get(w, SERVICES "/net"), "spec"),
            "{'selector':{'job-name':'mc','job-index':'0'},'ports':[{'protocol':'TCP','port':"
            "8050}]}");
    is_json(sl_json_get(get(w, SERVICES "/side"), "spec"),
            "{'selector':{'app.kubernetes.io/name':'mc'},'ports':[{'name':'port-80','protocol':"
            "'TCP','port':80,'targetPort':80},{'name':'port-443','protocol':'TCP','port':443,"
            "'targetPort':443}]}");
    is_json(sl_json_at(get(w, SERVICES "/plain"), "spec.ports"),
            "[{'protocol':'TCP','port':9,'targetPort':9}]");
    yyjson_val *containers = sl_json_at(get(w, JOBS "/mc"), "spec.template.spec.containers");
    is_json(sl_json_get(yyjson_arr_get(containers, 1), "command"),
            "['/bin/bash','/flux_operator/start-1.sh']");
    assert_null(sl_json_get(yyjson_arr_get(containers, 2), "command"));
    /* those of the containers before, too */
    assert_int_equal(sl_json_size(sl_json_get(yyjson_arr_get(containers, 0), "volumeMounts")), 3);
    assert_int_equal(sl_json_size(sl_json_get(yyjson_arr_get(containers, 2), "volumeMounts")), 4);
    yyjson_val *pod = get(w, PODS "/mc-services");
    is_json(sl_json_at(pod, "metadata.labels"),
            "{'namespace':'default','app.kubernetes.io/name':'mc','job-name':'mc','job-index':"
            "'services'}");
    assert_string_equal(sl_json_str(pod, "spec.subdomain"), "net");
    assert_string_equal(sl_json_str(pod, "spec.hostname"), "mc-services");
    is_json(sl_json_at(pod, "spec.volumes"), "[{'name':'s','secret':{'secretName':'x'}}]");
    assert_null(sl_json_get(yyjson_arr_get_first(sl_json_at(pod, "spec.containers")), "command"));
    yyjson_val *data = sl_json_get(get(w, MAPS "/mc-entrypoint"), "data");
    assert_non_null(sl_json_get(data, "start-1"));
    assert_null(sl_json_get(data, "start-2"));
}

static void volumes_of_v1alpha1(void **state) {
    struct world *w = *state;
    make(w, "mc",
         "'" OLD "':'{`createdAs`:`v1alpha1`,`spec`:{`volumes`:{`data`:{`path`:`/d`,`capacity`:"
         "`1Gi`},`kept`:{`path`:`/k`,`delete`:false}},`containers`:[{`volumes`:{`data`:{`path`:"
         "`/data`}}}]}}'",
         "'size':1,'containers':[" RUNNER "]");
    run(w, 5 * SL_SEC);
    is_json(sl_json_at(get(w, VOLUMES "/data"), "spec"),
            "{'persistentVolumeReclaimPolicy':'Delete','storageClassName':'hostpath','accessModes':"
            "['ReadWriteMany'],'hostPath':{'path':'/d'},'capacity':{'storage':'1Gi'}}");
    assert_non_null(get(w, CLAIMS "/data-claim"));
    assert_non_null(get(w, VOLUMES "/kept"));
    assert_non_null(get(w, JOBS "/mc"));
    drop(w, MC);
    run(w, 5 * SL_SEC);
    assert_null(get(w, VOLUMES "/data"));
    assert_null(get(w, CLAIMS "/data-claim"));
    assert_non_null(get(w, VOLUMES "/kept")); /* delete: false */
}

static void volumes_go_while_nobody_looks(void **state) {
    struct world *w = *state;
    make(w, "mc", "'" OLD "':'{`spec`:{`volumes`:{`data`:{`path`:`/d`}}}}'",
         "'size':1,'containers':[" RUNNER "]");
    run(w, 5 * SL_SEC);
    assert_non_null(get(w, VOLUMES "/data"));
    stop(w);
    drop(w, MC);
    start(w);
    run(w, 5 * SL_SEC);
    assert_null(get(w, VOLUMES "/data"));
}

/* ---- sizes ---- */

static void resizes(void **state) {
    struct world *w = *state;
    make_new(w, "'size':3,'maxSize':6,'minSize':2,'containers':[" RUNNER "]");
    assert_int_equal(num(w, MC, "status.maximumSize"), 6);
    static const struct {
        int64_t asked, got;
    } cases[] = {{5, 5}, {6, 6}, {9, 6}, {2, 2}, {1, 2}, {0, 2}, {-4, 2}, {4, 4}};
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char body[64];
        sl_fmt(body, sizeof body, "{'spec':{'size':%lld}}", (long long)cases[i].asked);
        patch(w, MC, body);
        run(w, 2 * SL_SEC);
        if (num(w, MC, "spec.size") != cases[i].got)
            fail_msg("%lld became %lld", (long long)cases[i].asked,
                     (long long)num(w, MC, "spec.size"));
        assert_int_equal(num(w, JOBS "/mc", "spec.parallelism"), cases[i].got);
        assert_int_equal(num(w, JOBS "/mc", "spec.completions"), cases[i].got);
        assert_int_equal(num(w, MC, "status.size"), cases[i].got);
        assert_int_equal(num(w, MC, "status.maximumSize"), 6);
    }
    patch(w, JOBS "/mc", "{'spec':{'parallelism':1}}"); /* whoever did that */
    run(w, 2 * SL_SEC);
    assert_int_equal(num(w, JOBS "/mc", "spec.parallelism"), 4);
}

/* ---- conditions ---- */

static void conditions(void **state) {
    struct world *w = *state;
    make_new(w, "'size':2,'containers':[" RUNNER "]");
    patch(w, JOBS "/mc", "{'spec':{'suspend':true}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobWaitingForResources", "True");
    condition(w, "JobMiniClusterReady", "False");
    patch(w, JOBS "/mc", "{'spec':{'suspend':false}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobWaitingForResources", "False");
    condition(w, "JobMiniClusterReady", "True");
    condition(w, "JobRunning", "False");
    patch(w, JOBS "/mc/status", "{'status':{'ready':1}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobRunning", "False"); /* of two */
    patch(w, JOBS "/mc/status", "{'status':{'ready':2}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobRunning", "True");
    patch(w, JOBS "/mc/status",
          "{'status':{'ready':0,'conditions':[{'type':'Complete','status':'True'}]}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobRunning", "False");
    condition(w, "JobMiniClusterReady", "True");
    condition(w, "JobFinished", "True");
    uint32_t writes = w->writes;
    run(w, 5 * SL_MINUTE);
    assert_int_equal(w->writes, writes); /* at rest */
    assert_true(sl_miniclusters_idle(w->m));
}

static void what_nobody_reviewed(void **state) {
    struct world *w = *state;
    make_new(w, "'size':3,'maxSize':2,'containers':[" RUNNER "]");
    assert_null(get(w, JOBS "/mc"));
    assert_null(get(w, MAPS "/mc-entrypoint"));
    condition(w, "JobRequested", "True");
    assert_string_equal(message(w, "JobRequested"),
                        "spec.maxSize: Invalid value: 2: must not be less than size (3)");
    uint32_t writes = w->writes;
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
    patch(w, MC, "{'spec':{'maxSize':5}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobMiniClusterReady", "True");
    assert_int_equal(num(w, MC, "status.maximumSize"), 5);
}

static void wrong_types_disturb_nobody(void **state) {
    static const char *const specs[] = {
        "",
        "'size':'x','containers':[" RUNNER "]",
        "'size':null,'containers':null",
        "'containers':[7,null,'x']",
        "'containers':{'a':1}",
        "'containers':[{'ports':'x','volumes':[1],'environment':7,'resources':[],'commands':[]}]",
        "'containers':[{'runFlux':true,'command':'a\\u0000b'}]",
        "'containers':[" RUNNER "],'flux':7,'pod':[],'network':'x','logging':1,'services':5",
        "'containers':[" RUNNER "],'pod':{'labels':{'a':7},'annotations':{'b':[]}},'jobLabels':7",
        "'containers':[" RUNNER "],'flux':{'bursting':{'clusters':[7,{'size':-1}],'leadBroker':{"
        "'address':'a','size':-5,'port':'x'}}}",
        "'containers':[" RUNNER "],'size':99999999999999999999",
    };
    struct world *w = *state;
    char name[16];
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        sl_fmt(name, sizeof name, "wrong-%zu", i);
        make(w, name, i % 2 ? "'" OLD "':'{`spec`:{`users`:7,`volumes`:[1],`containers`:{}}}'" : "",
             specs[i]);
    }
    make_new(w, "'size':1,'containers':[" RUNNER "]");
    run(w, 5 * SL_SEC);
    condition(w, "JobMiniClusterReady", "True");
    for (size_t i = 0; i < SL_LEN(specs); i++) {
        char path[128];
        sl_fmt(path, sizeof path, CLUSTERS "/wrong-%zu", i);
        assert_true(sl_json_size(sl_json_at(get(w, path), "status.conditions")) > 0);
    }
}

static void names_that_are_taken(void **state) {
    struct world *w = *state;
    assert_int_equal(send(w, SL_POST, JOBS, SL_JSON, "{'metadata':{'name':'mc'},'spec':{}}"), 201);
    make_new(w, "'size':1,'containers':[" RUNNER "]");
    run(w, 5 * SL_SEC);
    condition(w, "JobRequested", "True");
    assert_string_equal(
        message(w, "JobRequested"),
        "Job mc exists and is not of this MiniCluster: delete it, or choose another name");
    uint32_t writes = w->writes;
    run(w, 5 * SL_MINUTE);
    assert_int_equal(w->writes, writes);
    drop(w, JOBS "/mc");
    run(w, SL_MINUTE);
    condition(w, "JobMiniClusterReady", "True");
}

static void a_service_that_is_there_is_used(void **state) {
    struct world *w = *state;
    assert_int_equal(send(w, SL_POST, SERVICES, SL_JSON, "{'metadata':{'name':'flux-service'}}"),
                     201);
    make_new(w, "'size':1,'containers':[" RUNNER "]");
    condition(w, "JobMiniClusterReady", "True");
    assert_null(sl_json_at(get(w, SERVICES "/flux-service"), "spec.selector"));
    drop(w, SERVICES "/flux-service");
    run(w, 2 * SL_SEC);
    assert_string_equal(str(w, SERVICES "/flux-service", "spec.selector.job-name"), "mc");
}

/* ---- pods, and the end ---- */

static void make_pod(struct world *w, uint32_t index) {
    struct sl_buf b = SL_BUF(4096);
    char uid[64];
    sl_fmt(uid, sizeof uid, "%s", str(w, JOBS "/mc", "metadata.uid"));
    sl_buf_printf(&b,
                  "{'metadata':{'name':'mc-%u-abcde','labels':{'namespace':'default',"
                  "'app.kubernetes.io/name':'mc','hpa-selector':'mc'},'annotations':{"
                  "'batch.kubernetes.io/job-completion-index':'%u'},'ownerReferences':[{"
                  "'apiVersion':'batch/v1','kind':'Job','name':'mc','uid':'%s','controller':true}]}"
                  "}",
                  index, index, uid);
    assert_int_equal(send(w, SL_POST, PODS, SL_JSON, sl_buf_str(&b)), 201);
    sl_buf_done(&b);
}

static void pods_say_their_index(void **state) {
    struct world *w = *state;
    make_new(w, "'size':2,'containers':[" RUNNER "]");
    make_pod(w, 0);
    make_pod(w, 11);
    assert_int_equal(send(w, SL_POST, PODS, SL_JSON,
                          "{'metadata':{'name':'mc-5-other','labels':{'namespace':'default',"
                          "'app.kubernetes.io/name':'mc','hpa-selector':'mc'}}}"),
                     201);
    run(w, 2 * SL_SEC);
    assert_string_equal(str(w, PODS "/mc-0-abcde", "metadata.labels.job-index"), "0");
    assert_string_equal(str(w, PODS "/mc-11-abcde", "metadata.labels.job-index"), "11");
    assert_null(sl_json_at(get(w, PODS "/mc-5-other"), "metadata.labels.job-index"));
}

static void cleans_up(void **state) {
    struct world *w = *state;
    make_new(w, "'size':2,'cleanup':true,'containers':[" RUNNER "]");
    make_pod(w, 0);
    make_pod(w, 1);
    patch(w, PODS "/mc-1-abcde/status", "{'status':{'phase':'Succeeded'}}");
    run(w, 2 * SL_SEC);
    assert_non_null(get(w, MC));
    patch(w, PODS "/mc-0-abcde/status", "{'status':{'phase':'Succeeded'}}");
    run(w, 2 * SL_SEC);
    assert_null(get(w, MC));
    assert_null(get(w, MAPS "/mc-entrypoint"));
    assert_null(get(w, SERVICES "/flux-service"));
    assert_null(get(w, JOBS "/mc"));
}

/* ---- where the Flux Operator makes the objects ---- */

static void yields(void **state) {
    struct world *w = *state;
    w->settings.flux_operator = true;
    sl_miniclusters_configure(w->m, &w->settings);
    make_new(w, "'size':2,'containers':[" RUNNER "]");
    assert_null(get(w, JOBS "/mc"));
    assert_null(sl_json_get(get(w, MC), "status")); /* its conditions come first */
    patch(w, MC "/status",
          "{'status':{'size':0,'conditions':[{'type':'JobMiniClusterReady','status':'True',"
          "'reason':'JobMiniClusterReady','message':'x','lastTransitionTime':"
          "'2026-01-01T00:00:00Z'}]}}");
    run(w, 2 * SL_SEC);
    condition(w, "JobMiniClusterReady", "True");
    condition(w, "ControlledBySluice", "False");
    assert_int_equal(sl_json_size(sl_json_at(get(w, MC), "status.conditions")), 2);
    uint32_t writes = w->writes;
    patch(w, MC, "{'spec':{'size':9}}"); /* its business */
    run(w, SL_MINUTE);
    assert_int_equal(w->writes, writes);
    assert_int_equal(num(w, MC, "spec.size"), 9);

    w->settings.flux_operator = false;
    sl_miniclusters_configure(w->m, &w->settings);
    run(w, 5 * SL_SEC);
    condition(w, "ControlledBySluice", "True");
    assert_int_equal(num(w, JOBS "/mc", "spec.parallelism"), 9);
}

/* ---- restarts and faults ---- */

#define EVERYTHING                                                                                 \
    "'size':3,'maxSize':5,'containers':[{'runFlux':true,'command':'a'},{'name':'side','ports':["   \
    "80]}],'services':[{'name':'db','image':'d'}]"

static void all_is_there(struct world *w) {
    static const char *const paths[] = {MAPS "/mc-entrypoint", SERVICES "/flux-service",
                                        SERVICES "/side", PODS "/mc-services", JOBS "/mc"};
    for (size_t i = 0; i < SL_LEN(paths); i++)
        if (!get(w, paths[i]))
            fail_msg("%s is not there", paths[i]);
    condition(w, "JobMiniClusterReady", "True");
}

static void count(void *ctx, yyjson_val *o) {
    (void)o;
    (*(uint32_t *)ctx)++;
}

static void nothing_is_left(struct world *w) {
    static const char *const lists[] = {"/api/v1/configmaps", "/api/v1/services", "/api/v1/pods",
                                        "/apis/batch/v1/jobs"};
    for (size_t i = 0; i < SL_LEN(lists); i++) {
        uint32_t n = 0;
        (void)fakeapi_each(w->api, lists[i], count, &n);
        if (n > 0)
            fail_msg("%u left of %s", n, lists[i]);
    }
}

static void goes_on_wherever_it_was_stopped(void **state) {
    (void)state;
    for (uint32_t steps = 1; steps < 120; steps++) {
        struct world *w = open_world(steps);
        make(w, "mc", "", EVERYTHING);
        for (uint32_t i = 0; i < steps; i++) {
            sl_miniclusters_tick(w->m);
            (void)fakeapi_step(w->api, fakeapi_now(w->api) + SL_SEC);
        }
        stop(w);
        start(w);
        run(w, 5 * SL_SEC);
        all_is_there(w);
        close_world(w);
    }
}

static void history(uint64_t seed) {
    struct fakeapi_faults faults = {0};
    struct sl_prng p;
    struct world *w = open_world(seed);
    sl_prng_init(&p, seed);
    fakeapi_some_faults(&p, 5, &faults);
    fakeapi_set_faults(w->api, &faults);
    make(w, "mc", "", EVERYTHING);
    int64_t size = 3;
    for (uint32_t i = 0; i < 12; i++) {
        char body[64];
        size = sl_prng_range(&p, 1, 5);
        sl_fmt(body, sizeof body, "{'spec':{'size':%lld}}", (long long)size);
        patch(w, MC, body);
        if (sl_prng_one_in(&p, 3))
            drop(w, sl_prng_one_in(&p, 2) ? MAPS "/mc-entrypoint" : JOBS "/mc");
        run(w, (sl_span)sl_prng_below(&p, 4) * SL_SEC);
        if (sl_prng_one_in(&p, 3)) {
            stop(w);
            start(w);
        }
    }
    fakeapi_set_faults(w->api, NULL);
    run(w, 3 * SL_MINUTE);
    all_is_there(w);
    assert_int_equal(num(w, JOBS "/mc", "spec.parallelism"), size);
    assert_int_equal(num(w, JOBS "/mc", "spec.completions"), size);
    assert_int_equal(num(w, MC, "status.size"), size);
    drop(w, MC);
    run(w, SL_MINUTE);
    nothing_is_left(w);
    close_world(w);
}

static void histories_under_faults(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        history(seed);
}

static void a_standby_writes_nothing(void **state) {
    struct world *w = *state;
    sl_miniclusters_lead(w->m, false);
    make_new(w, "'size':1,'containers':[" RUNNER "]");
    assert_int_equal(w->writes, 0);
    sl_miniclusters_lead(w->m, true);
    run(w, 5 * SL_SEC);
    condition(w, "JobMiniClusterReady", "True");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR); /* what the faults break is logged as a warning */
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(of_v1alpha2),
        TEST(of_v1alpha1),
        TEST(side_containers_and_services),
        TEST(volumes_of_v1alpha1),
        TEST(volumes_go_while_nobody_looks),
        TEST(resizes),
        TEST(conditions),
        TEST(what_nobody_reviewed),
        TEST(wrong_types_disturb_nobody),
        TEST(names_that_are_taken),
        TEST(a_service_that_is_there_is_used),
        TEST(pods_say_their_index),
        TEST(cleans_up),
        TEST(yields),
        TEST(a_standby_writes_nothing),
        cmocka_unit_test(goes_on_wherever_it_was_stopped),
        cmocka_unit_test(histories_under_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
