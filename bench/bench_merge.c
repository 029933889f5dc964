/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field management and patches on a pod as a controller makes it and a kubelet reports on it: 2
 * containers with environment and volumes, 5 conditions, 2 managers. Each case begins with the
 * stored text already read and ends before the new one is written, as in the server; the copy of
 * the object that a patch makes is counted.
 *
 * {"bench":"merge","case":"pod-status","n":1,"ns_per_op":...}
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cluster/merge/merge.h"
#include "cluster/schema/types.h"
#include "core/base/mem.h"

#define ROUNDS 2000
#define BATCH 100

/* The best average of a batch: clocks are not exact for one round. */
struct meter {
    int64_t sum, best;
    int n;
};

static void count(struct meter *m, int64_t ns) {
    m->sum += ns;
    if (++m->n < BATCH)
        return;
    if (m->sum > 0 && (m->best == 0 || m->sum / BATCH < m->best))
        m->best = m->sum / BATCH;
    m->sum = m->n = 0;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * SL_SEC + t.tv_nsec;
}

#define CONTAINER(name)                                                                            \
    "{\"name\":\"" name "\",\"image\":\"registry/image:1\",\"command\":[\"run\",\"--all\"],"       \
    "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"},{\"name\":\"C\","  \
    "\"valueFrom\":{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.name\"}}}],"      \
    "\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}],"                                     \
    "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}},"                             \
    "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}],"                                    \
    "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","   \
    "\"imagePullPolicy\":\"IfNotPresent\"}"
static const char pod_text[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"job-abc-x\",\"generateName\":"
    "\"job-abc-\",\"namespace\":\"default\",\"uid\":\"u-u-u\",\"resourceVersion\":\"1\","
    "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"app\":\"x\",\"job-name\":\"job\","
    "\"controller-uid\":\"u\"},\"annotations\":{\"a\":\"b\"},\"finalizers\":[\"batch.kubernetes.io/"
    "job-tracking\"],\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
    "\"job\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{"
    "\"containers\":[" CONTAINER("main") "," CONTAINER(
        "side") "],\"volumes\":[{\"name\":\"v\","
                "\"emptyDir\":{}}],\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":"
                "30,"
                "\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"default\",\"nodeName\":"
                "\"node-1\","
                "\"securityContext\":{},\"schedulerName\":\"default-scheduler\",\"tolerations\":[{"
                "\"key\":"
                "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
                "\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true}}";
#define CONDITION(type, status)                                                                    \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"lastProbeTime\":null,"                     \
    "\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}"
#define STATUS(phase, ready)                                                                       \
    "{\"status\":{\"phase\":\"" phase                                                              \
    "\",\"conditions\":[" CONDITION("PodReadyToStartContainers", "True") "," CONDITION(            \
        "Initialized",                                                                             \
        "True") "," CONDITION("Ready",                                                             \
                              ready) "," CONDITION("ContainersReady",                              \
                                                   ready) "," CONDITION("PodScheduled",            \
                                                                        "True") "],\"hostIP\":"    \
                                                                                "\"10.0.0.1\","    \
                                                                                "\"podIP\":\"10."  \
                                                                                "1.0.1\","         \
                                                                                "\"podIPs\":[{"    \
                                                                                "\"ip\":\"10.1.0." \
                                                                                "1\"}],"           \
                                                                                "\"startTime\":"   \
                                                                                "\"2026-01-01T00:" \
                                                                                "00:05Z\","        \
                                                                                "\"containerStatu" \
                                                                                "ses\":[{"         \
                                                                                "\"name\":"        \
                                                                                "\"main\","        \
                                                                                "\"ready\":"       \
                                                                                "true"             \
                                                                                ",\"restartCount"  \
                                                                                "\":0,"            \
                                                                                "\"state\":{"      \
                                                                                "\"running\":{"    \
                                                                                "\"startedAt\":"   \
                                                                                "\"2026-01-01T00:" \
                                                                                "00:06Z\"}}}],"    \
                                                                                "\"qosClass\":"    \
                                                                                "\"Burstable\"}}"

static const struct sl_manage_id maker = {
    .name = "kube-controller-manager", .api_version = "v1", .subresource = "", .now = SL_SEC};
static const struct sl_manage_id kubelet = {
    .name = "kubelet", .api_version = "v1", .subresource = "status", .now = 2 * SL_SEC};

static yyjson_doc *json(const char *text) {
    yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    sl_assert(d);
    return d;
}

static yyjson_doc *frozen(yyjson_mut_val *v) {
    char *text = yyjson_mut_val_write(v, 0, NULL);
    yyjson_doc *d = json(text);
    sl_freep(&text);
    return d;
}

static void report(const char *name, int64_t ns) {
    printf("{\"bench\":\"merge\",\"case\":\"%s\",\"n\":1,\"ns_per_op\":%lld}\n", name,
           (long long)ns);
}

/* A patch of the status, and its account. */
static yyjson_doc *status_patch(const struct sl_schema *s, yyjson_doc *old, yyjson_doc *patch,
                                bool strategic, bool keep) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_patch_err err = {0};
    yyjson_mut_val *v = NULL;
    yyjson_val *from = yyjson_doc_get_root(old), *by = yyjson_doc_get_root(patch);
    int r = strategic ? sl_patch_strategic(s, doc, from, by, &v, &err)
                      : sl_patch_merge(doc, from, by, &v, &err);
    sl_assert(r == 0);
    sl_manage_update(s, &kubelet, doc, from, v);
    yyjson_doc *d = keep ? frozen(v) : NULL;
    yyjson_mut_doc_free(doc);
    return d;
}

static void bench_create(const struct sl_schema *s, yyjson_doc *pod) {
    struct meter m = {0};
    for (int i = 0; i < ROUNDS; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(pod));
        int64_t t0 = now_ns();
        sl_manage_update(s, &maker, doc, NULL, v);
        count(&m, now_ns() - t0);
        yyjson_mut_doc_free(doc);
    }
    report("pod-create", m.best);
}

static void bench_status(const struct sl_schema *s, yyjson_doc *old, bool strategic,
                         const char *name) {
    yyjson_doc *patch = json(STATUS("Running", "False"));
    struct meter m = {0};
    for (int i = 0; i < ROUNDS; i++) {
        int64_t t0 = now_ns();
        (void)status_patch(s, old, patch, strategic, false);
        count(&m, now_ns() - t0);
    }
    report(name, m.best);
    yyjson_doc_free(patch);
}

/* The account alone, without the copy and the patch. */
static void bench_account(const struct sl_schema *s, yyjson_doc *old, const char *status,
                          const char *name) {
    yyjson_doc *patch = json(status);
    struct meter m = {0};
    for (int i = 0; i < ROUNDS; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        struct sl_patch_err err = {0};
        yyjson_mut_val *v = NULL;
        sl_assert(sl_patch_merge(doc, yyjson_doc_get_root(old), yyjson_doc_get_root(patch), &v,
                                 &err) == 0);
        int64_t t0 = now_ns();
        sl_manage_update(s, &kubelet, doc, yyjson_doc_get_root(old), v);
        count(&m, now_ns() - t0);
        yyjson_mut_doc_free(doc);
    }
    report(name, m.best);
    yyjson_doc_free(patch);
}

static void bench_apply(const struct sl_schema *s, yyjson_doc *old) {
    yyjson_doc *said = json("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                            "\"job-abc-x\",\"labels\":{\"z\":\"1\"}},\"spec\":{\"containers\":[{"
                            "\"name\":\"main\",\"image\":\"registry/image:1\"}]}}");
    struct sl_manage_id by = maker;
    struct meter m = {0};
    by.name = "somebody";
    for (int i = 0; i < ROUNDS; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        struct sl_patch_err err = {0};
        yyjson_mut_val *v = NULL;
        int64_t t0 = now_ns();
        sl_assert(sl_manage_apply(s, &by, true, doc, yyjson_doc_get_root(old),
                                  yyjson_doc_get_root(said), &v, &err) == 0);
        count(&m, now_ns() - t0);
        yyjson_mut_doc_free(doc);
    }
    report("pod-apply", m.best);
    yyjson_doc_free(said);
}

int main(void) {
    struct sl_schemas *set = NULL;
    struct sl_err err = {0};
    sl_assert(sl_schemas_builtin(&set, &err) == 0);
    const struct sl_schema *s = sl_schemas_find(set, "io.k8s.api.core.v1.Pod");
    yyjson_doc *pod = json(pod_text), *patch = json(STATUS("Running", "True"));

    bench_create(s, pod);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(pod));
    sl_manage_update(s, &maker, doc, NULL, v);
    yyjson_doc *made = frozen(v), *old = status_patch(s, made, patch, false, true);
    yyjson_mut_doc_free(doc);
    bench_account(s, old, STATUS("Running", "False"), "pod-status");
    bench_account(s, old, STATUS("Running", "True"), "pod-unchanged");
    bench_status(s, old, false, "pod-status-merge-patch");
    bench_status(s, old, true, "pod-status-strategic");
    bench_apply(s, old);
    yyjson_doc_free(patch);
    yyjson_doc_free(made);
    yyjson_doc_free(old);
    yyjson_doc_free(pod);
    sl_schemas_free(set);
    return 0;
}
