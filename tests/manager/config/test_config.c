/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager's configuration: defaults, both versions' spellings, gates, reloading, and that
 * docs/configuration.md is correct.
 */
#include "manager/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/types/kueue/decode.h"

#define V1 "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"

struct fixture {
    struct sl_settings *s;
    struct sl_warnings w;
};

static void parse_settings(struct fixture *x, const char *text, const char *flags) {
    struct sl_err err = {0};

    x->s = NULL;
    sl_warnings_init(&x->w);
    if (sl_settings_parse("f", text, text ? strlen(text) : 0, NULL, flags, &x->s, &x->w, &err) < 0)
        fail_msg("%s\n%s", err.text, text);
}

static void done(struct fixture *x) {
    sl_settings_freep(&x->s);
    sl_warnings_done(&x->w);
}

static void no_warnings(const struct fixture *x) {
    if (x->w.v.n > 0)
        fail_msg("unexpected warning: %s", x->w.v.v[0].text);
}

static bool manages(const struct sl_settings *s, const char *ns) {
    struct sl_label name = {"kubernetes.io/metadata.name", ns};
    return sl_selector_matches(&s->managed_namespaces, &(struct sl_labels){&name, 1});
}

/* ---- values ---- */

static void defaults(void **state) {
    struct fixture x;

    (void)state;
    for (int i = 0; i < 2; i++) { /* no file, and an empty one */
        parse_settings(&x, i == 0 ? NULL : V2, NULL);
        const struct sl_settings *s = x.s;
        no_warnings(&x);
        assert_string_equal(s->ns, "kueue-system");
        assert_string_equal(s->webhook.host, "");
        assert_int_equal(s->webhook.port, 9443);
        assert_string_equal(s->webhook.cert_dir, "/tmp/k8s-webhook-server/serving-certs");
        assert_true(s->health.port == 8081 && !s->health.host[0] && !s->health.off);
        assert_true(s->metrics.port == 8443 && !s->metrics.host[0] && !s->metrics.off);
        assert_true(s->pprof.off);
        assert_string_equal(s->ready_path, "/readyz");
        assert_string_equal(s->live_path, "/healthz");
        assert_true(s->lease.enable);
        assert_string_equal(s->lease.ns, "kueue-system");
        assert_string_equal(s->lease.name, "c1f6bfd2.kueue.x-k8s.io");
        assert_true(s->lease.duration == 4 * SL_SEC && s->lease.renew_deadline == 3 * SL_SEC);
        assert_true(s->lease.duration + 2 * s->lease.retry_period <= 5 * SL_SEC);
        assert_true(s->certs.enable);
        assert_string_equal(s->certs.service, "kueue-webhook-service");
        assert_string_equal(s->certs.secret, "kueue-webhook-server-cert");
        assert_false(s->queue_resources || s->manage_without_queue || s->tls13);
        assert_true(s->local_queue_metrics && s->local_queue_selector.n == 0 &&
                    !s->local_queue_selector.nothing);
        assert_true(manages(s, "team-a"));
        assert_false(manages(s, "kube-system") || manages(s, "kueue-system"));
        for (int f = 0; f < SL_FW_COUNT; f++)
            assert_int_equal(s->framework[f], f == SL_FW_JOB);
        assert_true(s->external_frameworks.n == 0 && s->label_keys_to_copy.n == 0);
        assert_true(s->keep_finished == SL_TIME_NEVER && s->drop_deactivated == SL_TIME_NEVER);
        assert_int_equal(s->visibility_port, 8082);
        assert_true(s->multikueue.gc_interval == SL_MINUTE && s->multikueue.step == 3);
        assert_true(s->multikueue.worker_lost_timeout == 15 * SL_MINUTE);
        assert_string_equal(s->multikueue.origin, "multikueue");
        struct sl_label opted = {"fluxqueue/managed", "true"};
        assert_true(sl_selector_matches(&s->flux.namespaces, &(struct sl_labels){&opted, 1}));
        opted.value = "false";
        assert_false(sl_selector_matches(&s->flux.namespaces, &(struct sl_labels){&opted, 1}));
        assert_int_equal(s->flux.n_queues, 1);
        assert_string_equal(s->flux.queues[0].name, "default");
        assert_string_equal(s->flux.match_policy, "lonode");
        assert_string_equal(s->flux.queues[0].match_policy, "lonode");
        assert_true(s->flux.queues[0].policy == SL_QUEUE_EASY);
        assert_true(s->flux.queues[0].depth == SL_QUEUE_DEPTH &&
                    s->flux.queues[0].reserve == SL_QUEUE_RESERVE);
        assert_int_equal(s->flux.n_levels, 1);
        assert_string_equal(s->flux.levels[0].type, "subnet");
        assert_string_equal(s->flux.levels[0].label, "topology.kubernetes.io/zone");
        assert_true(s->flux.default_duration == 0 && !s->flux.kube_binds);
        assert_true(!*s->flux.ledger && s->flux.retention == SL_TIME_NEVER);
        const struct sl_config *c = &s->engine;
        assert_true(c->gates == SL_GATES_DEFAULT && c->pods_ready && !c->block_admission);
        assert_true(c->ready_timeout == 30 * SL_MINUTE && c->recovery_timeout == 30 * SL_MINUTE);
        assert_true(c->backoff_base_s == 60 && c->backoff_max_s == 3600 && c->backoff_limit == -1);
        assert_false(c->fair_sharing || c->afs || c->ignore_undeclared || c->order_by_creation);
        done(&x);
    }
}

static char *corpus(const char *name) {
    struct sl_err err;
    char path[512], *text = NULL;
    size_t len;

    (void)snprintf(path, sizeof path, "%s/%s", getenv("SL_SOURCE_ROOT"), name);
    if (sl_file_read(path, 1 << 20, &text, &len, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

/* Everything once, each other than its default. */
static void all_fields(void **state) {
    _cleanup_(sl_freep) char *text = corpus("fuzz/corpus/config/full.yaml");
    struct fixture x;

    (void)state;
    parse_settings(&x, text, NULL);
    no_warnings(&x);
    const struct sl_settings *s = x.s;
    const struct sl_config *c = &s->engine;
    assert_string_equal(s->ns, "batch");
    assert_string_equal(s->lease.ns, "batch");
    assert_false(manages(s, "batch"));
    assert_string_equal(s->webhook.host, "127.0.0.1");
    assert_int_equal(s->webhook.port, 9000);
    assert_string_equal(s->webhook.cert_dir, "/certs");
    assert_true(s->health.port == 0 && !s->health.off);
    assert_string_equal(s->health.host, "127.0.0.1");
    assert_string_equal(s->metrics.host, "::1");
    assert_true(s->pprof.port == 8083 && !s->pprof.off);
    assert_string_equal(s->ready_path, "/ready");
    assert_string_equal(s->live_path, "/live");
    assert_true(s->lease.duration == 15 * SL_SEC && s->lease.retry_period == 2 * SL_SEC);
    assert_true(s->queue_resources && s->local_queue_selector.n == 1);
    assert_true(s->flux_operator);
    assert_true(s->asked.local_queue_metrics && !s->local_queue_metrics); /* AllBeta is off */
    assert_true(s->framework[SL_FW_JOB] && s->framework[SL_FW_RAYJOB] && !s->framework[SL_FW_POD]);
    assert_string_equal(s->external_frameworks.v[0], "Foo.v1.example.com");
    assert_string_equal(s->label_keys_to_copy.v[0], "a/b");
    assert_true(s->keep_finished == SL_HOUR && s->drop_deactivated == SL_TIME_NEVER);
    assert_string_equal(s->visibility_host, "::1");
    assert_true(s->multikueue.gc_interval == 0 && s->multikueue.step == 5);
    assert_int_equal(s->flux.namespaces.n, 1);
    assert_int_equal(s->flux.n_queues, 3);
    assert_string_equal(s->flux.match_policy, "firstnodex");
    assert_string_equal(s->flux.queues[2].name, "small");
    assert_string_equal(s->flux.queues[1].match_policy, "hinodex");
    assert_string_equal(s->flux.queues[2].match_policy, "firstnodex");
    assert_true(s->flux.queues[1].policy == SL_QUEUE_CONSERVATIVE &&
                s->flux.queues[2].policy == SL_QUEUE_HYBRID);
    assert_true(s->flux.queues[1].depth == 5 && s->flux.queues[1].reserve == 6 &&
                s->flux.queues[2].depth == 100 && s->flux.queues[2].reserve == 8);
    assert_string_equal(s->flux.levels[1].label, "example.com/rack");
    assert_true(s->flux.n_levels == 2 && s->flux.default_duration == SL_HOUR);
    assert_true(s->flux.kube_binds && s->flux.retention == 720 * SL_HOUR);
    assert_string_equal(s->flux.ledger, "postgres://user:password@db/ledger");
    assert_true(s->asked.pods_ready && !c->pods_ready && c->block_admission);
    assert_true(c->ready_timeout == 10 * SL_MINUTE && c->recovery_timeout == SL_TIME_NEVER);
    assert_true(c->fair_sharing && c->n_fair == 1 && c->fair[0] == SL_FAIR_INITIAL_SHARE);
    assert_true(s->asked.afs && c->afs_half_life == 168 * SL_HOUR);
    assert_true(c->afs_sampling == 5 * SL_MINUTE && c->n_afs_weights == 2);
    assert_true(s->asked.ignore_undeclared && c->n_transforms == 1);
    assert_true(c->gates == UINT32_C(1) << SL_GATE_FLAVOR_FUNGIBILITY);
    done(&x);
}

/* The default queue is the first, wherever it is described. */
static void default_flux_queue(void **state) {
    struct fixture x;

    (void)state;
    parse_settings(&x,
                   V2 "fluxqueue: {queueDepth: 7, levels: [], queues: [{name: a}, {name: default, "
                      "policy: fcfs}]}\n",
                   NULL);
    no_warnings(&x);
    assert_int_equal(x.s->flux.n_queues, 2);
    assert_string_equal(x.s->flux.queues[0].name, "default");
    assert_true(x.s->flux.queues[0].policy == SL_QUEUE_FCFS && x.s->flux.queues[0].depth == 7);
    assert_string_equal(x.s->flux.queues[1].name, "a");
    assert_true(x.s->flux.queues[1].policy == SL_QUEUE_EASY && x.s->flux.queues[1].depth == 7);
    assert_int_equal(x.s->flux.n_levels, 0);
    done(&x);
}

static void who_makes_miniclusters(void **state) {
    static const struct {
        const char *text;
        bool operator;
    } cases[] = {
        {V2, false},
        {V2 "miniCluster: {}\n", false},
        {V2 "miniCluster: {controller: Sluice}\n", false},
        {V2 "miniCluster: {controller: FluxOperator}\n", true},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture x;
        parse_settings(&x, cases[i].text, NULL);
        no_warnings(&x);
        assert_true(x.s->flux_operator == cases[i].operator);
        done(&x);
    }
}

/* What the two versions mean by being silent, and their spellings mixed. */
static const struct {
    const char *text;
    bool waits, blocks;
    int minutes, recovery; /* -1: for ever */
    bool fair;
    const char *warning; /* NULL: none */
} versions[] = {
    {V2, true, false, 30, 30, false, NULL},
    {V2 "waitForPodsReady: ~\n", true, false, 30, 30, false, NULL},
    {V2 "waitForPodsReady: {}\n", true, false, 30, 30, false, NULL},
    {V2 "waitForPodsReady: {timeout: 0s, recoveryTimeout: 0s}\n", true, false, 30, -1, false, NULL},
    {V2 "waitForPodsReady: {timeout: 7m, blockAdmission: true}\n", true, true, 7, 7, false, NULL},
    {V2 "waitForPodsReady: {enable: true}\n", true, true, 5, 5, false,
     "f:3: waitForPodsReady.enable: is a field of v1beta1, not of v1beta2 (taken as there)"},
    {V2 "waitForPodsReady: {enable: true, blockAdmission: false, timeout: 7m}\n", true, false, 7, 7,
     false, "f:3: waitForPodsReady.enable: is a field of v1beta1, not of v1beta2 (taken as there)"},
    {V2 "waitForPodsReady: {enable: false}\n", false, false, 5, 5, false,
     "f:3: waitForPodsReady.enable: is a field of v1beta1, not of v1beta2 (taken as there)"},
    {V2 "waitForPodsReady: []\n", true, false, 30, 30, false,
     "f:3: waitForPodsReady: expected waitForPodsReady (a map), got a list (ignored)"},
    {V1, false, false, 30, 30, false, NULL},
    {V1 "waitForPodsReady: {timeout: 7m}\n", false, false, 7, 7, false, NULL},
    {V1 "waitForPodsReady: {enable: true}\n", true, true, 5, 5, false, NULL},
    {V1 "waitForPodsReady: {enable: true, blockAdmission: false}\n", true, false, 5, 5, false,
     NULL},
    {V1 "waitForPodsReady: {enable: 1}\n", false, false, 5, 5, false,
     "f:3: waitForPodsReady.enable: expected true or false, got 1 (using false)"},
    {V1 "fairSharing: {}\n", false, false, 30, 30, false, NULL},
    {V1 "fairSharing: {enable: true}\n", false, false, 30, 30, true, NULL},
    {V1 "fairSharing: {enable: true, preemptionStrategies: []}\n", false, false, 30, 30, true,
     NULL},
    {V2 "fairSharing: {enable: true}\n", true, false, 30, 30, true,
     "f:3: fairSharing.enable: is a field of v1beta1, not of v1beta2 (taken as there)"},
    {V2 "fairSharing: {enable: false}\n", true, false, 30, 30, false,
     "f:3: fairSharing.enable: is a field of v1beta1, not of v1beta2 (taken as there)"},
    {V2 "fairSharing: {}\n", true, false, 30, 30, true,
     "f:3: fairSharing.preemptionStrategies: must be specified (using both)"},
    {V2 "fairSharing: true\n", true, false, 30, 30, false,
     "f:3: fairSharing: expected fairSharing (a map), got true (ignored)"},
    {V1 "visibilityServer: {bindPort: 9}\nresources: {quotaCheckStrategy: BlockUndeclared}\n",
     false, false, 30, 30, false, NULL},
    {V2 "queueVisibility: {updateIntervalSeconds: 5}\n", true, false, 30, 30, false,
     "f:3: queueVisibility: is a field of v1beta1, not of v1beta2 (ignored)"},
    {V1 "queueVisibility: {updateIntervalSeconds: 5}\n", false, false, 30, 30, false, NULL},
    {"kind: Configuration\n", true, false, 30, 30, false,
     "f:1: apiVersion: expected config.kueue.x-k8s.io/v1beta1 or v1beta2, got \"\" (read as "
     "v1beta2)"},
    {"apiVersion: config.kueue.x-k8s.io/v1beta1\n", false, false, 30, 30, false,
     "f:1: kind: expected Configuration, got \"\" (read as one)"},
    {"# nothing\n", true, false, 30, 30, false,
     "f:1: expected a Configuration, got nothing (using defaults)"},
    {V2 "---\na: 1\n", true, false, 30, 30, false,
     "f:4: expected one document (the first is used)"},
};

static void both_versions(void **state) {
    struct fixture x;

    (void)state;
    for (size_t i = 0; i < SL_LEN(versions); i++) {
        parse_settings(&x, versions[i].text, NULL);
        const struct sl_config *c = &x.s->engine;
        sl_span recovery =
            versions[i].recovery < 0 ? SL_TIME_NEVER : versions[i].recovery * SL_MINUTE;
        if (c->pods_ready != versions[i].waits || c->block_admission != versions[i].blocks ||
            c->ready_timeout != versions[i].minutes * SL_MINUTE ||
            c->recovery_timeout != recovery || c->fair_sharing != versions[i].fair ||
            c->n_fair != 2)
            fail_msg("%s: waits %d, blocks %d, %lld s, %lld s, fair %d", versions[i].text,
                     c->pods_ready, c->block_admission, (long long)(c->ready_timeout / SL_SEC),
                     (long long)(c->recovery_timeout / SL_SEC), c->fair_sharing);
        if (!versions[i].warning)
            no_warnings(&x);
        else if (x.w.v.n != 1 || strcmp(x.w.v.v[0].text, versions[i].warning) != 0)
            fail_msg("%s%u warnings, the first: %s", versions[i].text, x.w.v.n,
                     x.w.v.n > 0 ? x.w.v.v[0].text : "-");
        done(&x);
    }
}

/* SkyPilot's page appends pod and switches waiting on, whatever the file's version. */
static void skypilot(void **state) {
    _cleanup_(sl_freep) char *shipped = corpus("fuzz/corpus/config/kueue-0.19.yaml");
    static const char patch[] = "  - pod\n"
                                "waitForPodsReady:\n  enable: true\n  blockAdmission: true\n";
    char *text = sl_alloc(strlen(shipped) + sizeof patch);
    struct fixture x;

    (void)state;
    parse_settings(&x, shipped, NULL);
    no_warnings(&x);
    int n = 0;
    for (int f = 0; f < SL_FW_COUNT; f++)
        n += x.s->framework[f];
    assert_int_equal(n, 12);
    assert_true(x.s->engine.pods_ready && !x.s->engine.block_admission);
    done(&x);

    (void)snprintf(text, strlen(shipped) + sizeof patch, "%s%s", shipped, patch);
    parse_settings(&x, text, NULL);
    assert_int_equal(x.w.v.n, 2);
    assert_string_equal(x.w.v.v[0].text, "f:24: integrations.frameworks[12]: Duplicate value: "
                                         "\"pod\" (it counts once)");
    assert_string_equal(x.w.v.v[1].text,
                        "f:26: waitForPodsReady.enable: is a field of v1beta1, not of v1beta2 "
                        "(taken as there)");
    assert_true(x.s->framework[SL_FW_POD] && x.s->framework[SL_FW_JOB]);
    assert_true(x.s->engine.pods_ready && x.s->engine.block_admission);
    assert_true(x.s->engine.ready_timeout == 5 * SL_MINUTE);
    done(&x);
    sl_freep(&text);
}

/* `.integrations.frameworks += ["pod"]`, done by one yq or another to files of all ages. */
static void patched_frameworks(void **state) {
    static const struct {
        const char *text;
        bool job, pod;
        uint32_t n_warnings;
    } cases[] = {
        {"integrations:\n  frameworks:\n  - batch/job\n  - pod\n", true, true, 0},
        {"integrations:\n  frameworks:\n  - \"batch/job\"\n  - pod\n  # - x\n  - \"pod\"\n", true,
         true, 1},
        {"integrations: {frameworks: [pod, batch/job, pod, pod]}\n", true, true, 2},
        {"integrations:\n  frameworks: null\n", true, false, 0},
        {"integrations:\n  frameworks:\n", true, false, 0},
        {"integrations:\n  frameworks: []\n", true, false, 0},
        {"integrations:\n", true, false, 0},
        {"integrations: {}\n", true, false, 0},
        {"", true, false, 0},
        {"integrations: {frameworks: [null, pod]}\n", false, true,
         1}, /* what was null is no list */
        {"integrations:\n  frameworks:\n    - pod\n", false, true, 0},
        {"{\n  \"apiVersion\": \"config.kueue.x-k8s.io/v1beta2\",\n  \"kind\": "
         "\"Configuration\",\n  "
         "\"integrations\": {\n    \"frameworks\": [\n      \"batch/job\",\n      \"pod\"\n    ]\n "
         " "
         "}\n}\n",
         true, true, 0},
    };
    struct fixture x;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char text[512];
        bool json = cases[i].text[0] == '{';
        (void)snprintf(text, sizeof text, "%s%s",
                       json ? ""
                            : "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                              "kind: Configuration\n",
                       cases[i].text);
        parse_settings(&x, text, NULL);
        if (x.w.v.n != cases[i].n_warnings || x.s->framework[SL_FW_JOB] != cases[i].job ||
            x.s->framework[SL_FW_POD] != cases[i].pod)
            fail_msg("%s: job %d pod %d, %u warnings, the first: %s", cases[i].text,
                     x.s->framework[SL_FW_JOB], x.s->framework[SL_FW_POD], x.w.v.n,
                     x.w.v.n > 0 ? x.w.v.v[0].text : "-");
        done(&x);
    }
}

/* ---- gates ---- */

static void gate_table(void **state) {
    uint32_t n_off = 0, n_locked = 0;

    (void)state;
    assert_int_equal(SL_GATES, 77);
    for (enum sl_feature_gate g = 0; g < SL_GATES; g++) {
        const char *name = sl_feature_gate_name(g);
        struct sl_err err = {0};
        struct sl_doc *d = NULL;
        struct sl_config c;
        struct sl_arena a;
        char text[256];
        int value;

        assert_int_equal(sl_feature_gate_find(name), g);
        assert_true(g == 0 || strcmp(sl_feature_gate_name(g - 1), name) < 0);
        n_off += !sl_feature_gate_default(g);
        n_locked += sl_feature_gate_locked(g);
        enum sl_gate e = sl_feature_gate_engine(g);
        assert_int_equal(e < SL_GATE_COUNT, sl_word_parse(SL_VOCAB_GATE, name, &value, NULL) == 0);
        if (e < SL_GATE_COUNT) {
            assert_string_equal(sl_word(SL_VOCAB_GATE, (int)e), name);
            assert_int_equal(sl_feature_gate_default(g), (SL_GATES_DEFAULT >> e) & 1);
        }
        /* Simulations know the same names. */
        sl_arena_init(&a, 1 << 20);
        (void)snprintf(text, sizeof text, "featureGates: {%s: true}\n", name);
        assert_int_equal(sl_doc_yaml("f", text, strlen(text), &d, &err), 0);
        struct sl_read rd = {.file = "f", .arena = &a, .err = &err};
        sl_decode_config(&rd, &d->roots[0], false, &c);
        if (rd.code < 0)
            fail_msg("%s", err.text);
        sl_doc_freep(&d);
        sl_arena_done(&a);
    }
    assert_int_equal(n_off, 26);
    assert_int_equal(n_locked, 8);
    assert_int_equal(sl_feature_gate_find("Nothing"), SL_GATES);
    assert_string_equal(sl_feature_gate_name(SL_GATES), "?");
    assert_string_equal(sl_feature_gate_stage_name(SL_G_TLS_OPTIONS), "Beta");
    assert_string_equal(sl_feature_gate_nearest("TlsOption"), "TLSOptions");
}

static void gates_while_running(void **state) {
    struct fixture x;

    (void)state;
    parse_settings(&x,
                   V2 "waitForPodsReady: {timeout: 7m}\nadmissionFairSharing: {}\n"
                      "resources: {quotaCheckStrategy: IgnoreUndeclared}\n",
                   NULL);
    const struct sl_config *c = &x.s->engine;
    assert_true(c->pods_ready && c->afs && c->ignore_undeclared && x.s->local_queue_metrics);
    sl_settings_gates(x.s,
                      " DisableWaitForPodsReady = true,AdmissionFairSharing=false,"
                      "QuotaCheckStrategy=F,LocalQueueMetrics=0,PartialAdmission=false,,",
                      &x.w);
    assert_false(c->pods_ready || c->afs || c->ignore_undeclared || x.s->local_queue_metrics);
    assert_true(c->gates == (SL_GATES_DEFAULT & ~(1u << SL_GATE_PARTIAL_ADMISSION)));
    assert_true(c->ready_timeout == 7 * SL_MINUTE);
    sl_settings_gates(x.s,
                      "DisableWaitForPodsReady=false,AdmissionFairSharing=true,"
                      "QuotaCheckStrategy=1,LocalQueueMetrics=T,PartialAdmission=True\n",
                      &x.w);
    assert_true(c->pods_ready && c->afs && c->ignore_undeclared && x.s->local_queue_metrics);
    assert_true(c->gates == SL_GATES_DEFAULT && c->ready_timeout == 7 * SL_MINUTE);
    /* Any set is taken: Kueue would not start with these. */
    sl_settings_gates(x.s, "TopologyAwareScheduling=false,KueueDRAIntegration=false", &x.w);
    assert_false(x.s->gates[SL_G_TOPOLOGY_AWARE_SCHEDULING]);
    assert_true(x.s->gates[SL_G_TAS_PROFILE_MIXED]);
    sl_settings_gates(x.s, "", &x.w);
    no_warnings(&x);

    /* A name wins over its stage, wherever it stands. */
    sl_settings_gates(x.s, "PriorityBoost=false,AllAlpha=true,AllBeta=false,TLSOptions=true", &x.w);
    assert_true(x.s->gates[SL_G_SHORT_WORKLOAD_NAMES] && x.s->gates[SL_G_TLS_OPTIONS]);
    assert_false(x.s->gates[SL_G_PRIORITY_BOOST] || x.s->gates[SL_G_MULTI_KUEUE]);
    assert_true(x.s->gates[SL_G_HIERARCHICAL_COHORTS] && c->gates == 0 && !c->pods_ready);
    no_warnings(&x);

    sl_settings_gates(x.s,
                      "Nope=true,PartialAdmision=true,TLSOptions,TLSOptions=no,=true,"
                      "ObjectRetentionPolicies=false",
                      &x.w);
    static const char *const want[] = {
        "feature gates: unknown gate \"Nope\" (ignored)",
        "feature gates: unknown gate \"PartialAdmision\"; did you mean \"PartialAdmission\"? "
        "(ignored)",
        "feature gates: TLSOptions: expected TLSOptions=true or =false, got \"\" (ignored)",
        "feature gates: TLSOptions: expected TLSOptions=true or =false, got \"no\" (ignored)",
        "feature gates: unknown gate \"\" (ignored)",
        "feature gates: cannot set feature gate ObjectRetentionPolicies to false, feature is "
        "locked "
        "to true (ignored)",
    };
    assert_int_equal(x.w.v.n, SL_LEN(want));
    for (size_t i = 0; i < SL_LEN(want); i++)
        assert_string_equal(x.w.v.v[i].text, want[i]);
    done(&x);
}

static void two_sources_of_gates(void **state) {
    struct fixture x;

    (void)state;
    parse_settings(&x, V2 "featureGates: {PartialAdmission: false, PriorityBoost: true}\n",
                   "PriorityBoost=false,X=1");
    assert_int_equal(x.w.v.n, 2);
    assert_string_equal(x.w.v.v[0].text,
                        "f:3: featureGates: feature gates for CLI and configuration cannot both "
                        "specified (the command line wins)");
    assert_string_equal(x.w.v.v[1].text, "--feature-gates: unknown gate \"X\" (ignored)");
    assert_false(x.s->gates[SL_G_PARTIAL_ADMISSION] || x.s->gates[SL_G_PRIORITY_BOOST]);
    done(&x);
    parse_settings(&x, V2 "featureGates: {DisableWaitForPodsReady: true}\n", "");
    no_warnings(&x);
    assert_false(x.s->engine.pods_ready);
    done(&x);
}

/* ---- the rest ---- */

static void addresses(void **state) {
    static const struct {
        const char *text, *host;
        int port; /* -1: off; -2: wrong */
    } cases[] = {
        {":8443", "", 8443},
        {"0", "", -1},
        {"", "", -1},
        {"127.0.0.1:0", "127.0.0.1", 0},
        {"[::1]:80", "::1", 80},
        {"localhost:65535", "localhost", 65535},
        {"[]:80", "", 80},
        {"8443", "", -2},
        {":65536", "", -2},
        {":", "", -2},
        {":x", "", -2},
        {"::1:80", "", -2},
        {"[::1]", "", -2},
        {"[::1:80", "", -2},
        {"a]:80", "", -2},
        {"[[::1]]:80", "", -2},
        {":-1", "", -2},
        {":000080", "", -2},
        {"[:80", "", -2},
        {" :80", " ", 80},
    };
    struct sl_address a;
    struct sl_err err;
    char host[300];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        memset(&a, 0xff, sizeof a);
        int r = sl_address_parse(cases[i].text, &a, &err);
        if (r != (cases[i].port == -2 ? SL_EINVAL : 0))
            fail_msg("%s", cases[i].text);
        if (r < 0)
            continue;
        assert_int_equal(a.off, cases[i].port == -1);
        assert_string_equal(a.host, cases[i].host);
        assert_int_equal(a.port, cases[i].port < 0 ? 0 : cases[i].port);
    }
    memset(host, 'h', sizeof host);
    (void)snprintf(host + 255, sizeof host - 255, ":80");
    assert_int_equal(sl_address_parse(host, &a, &err), 0);
    memset(host, 'h', sizeof host);
    (void)snprintf(host + 256, sizeof host - 256, ":80");
    assert_int_equal(sl_address_parse(host, &a, &err), SL_EINVAL);
}

static void framework_names(void **state) {
    (void)state;
    for (enum sl_framework f = 0; f < SL_FW_COUNT; f++) {
        assert_int_equal(sl_framework_find(sl_framework_name(f)), f);
        assert_non_null(strchr(sl_framework_kind(f), '.'));
    }
    assert_int_equal(sl_framework_find("job"), SL_FW_COUNT);
    assert_string_equal(sl_framework_name(SL_FW_COUNT), "?");
    assert_string_equal(sl_framework_kind(SL_FW_COUNT), "?");
}

/* Two loads share nothing: the first may go while the second is in use. */
static void reload(void **state) {
    struct sl_settings *a = NULL, *b = NULL;
    char path[512];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/fuzz/corpus/config/full.yaml", getenv("SL_SOURCE_ROOT"));
    assert_int_equal(sl_settings_load(path, "elsewhere", NULL, &a, NULL, NULL), 0);
    assert_int_equal(sl_settings_load(path, "elsewhere", NULL, &b, NULL, NULL), 0);
    sl_settings_gates(a, "TLSOptions=true", NULL);
    sl_settings_freep(&a);
    assert_false(b->gates[SL_G_TLS_OPTIONS]);
    assert_string_equal(b->ns, "batch");
    assert_string_equal(b->engine.transforms[0].input, "a");
    sl_settings_freep(&b);
    assert_int_equal(sl_settings_load(NULL, "elsewhere", "TLSOptions=false", &b, NULL, NULL), 0);
    assert_string_equal(b->lease.ns, "elsewhere");
    assert_false(manages(b, "elsewhere") || b->gates[SL_G_TLS_OPTIONS]);
    sl_settings_freep(&b);
}

/* ---- docs/configuration.md ---- */

/* "| `name` | ..." at the start of a line: the name, and what follows it. */
static bool row(const char *line, char *name, size_t size, const char **ret_rest) {
    const char *end = strncmp(line, "| `", 3) == 0 ? strchr(line + 3, '`') : NULL;

    if (!end || (size_t)(end - line) - 3 >= size)
        return false;
    (void)snprintf(name, size, "%.*s", (int)(end - line - 3), line + 3);
    *ret_rest = end + 1;
    return true;
}

/* Is there a field of that path, such as "a.b[].c"? Its value is left out, which is as good as no
 * field at all; only an unknown field causes a warning. */
static void field_exists(const char *path) {
    char text[512] = V2;
    size_t n = strlen(text), indent = 0;
    bool item = false;
    struct fixture x;

    for (const char *p = path; *p; p += strspn(p, "[].")) {
        size_t part = strcspn(p, "[.");
        n += (size_t)snprintf(text + n, sizeof text - n, "%*s%s%.*s:\n", (int)indent, "",
                              item ? "- " : "", (int)part, p);
        indent += item ? 4 : 2;
        p += part;
        item = *p == '[';
    }
    parse_settings(&x, text, NULL);
    for (uint32_t i = 0; i < x.w.v.n; i++)
        if (strstr(x.w.v.v[i].text, "unknown field"))
            fail_msg("docs/configuration.md: %s: %s", path, x.w.v.v[i].text);
    done(&x);
}

static void documentation(void **state) {
    _cleanup_(sl_freep) char *text = corpus("docs/configuration.md");
    bool in_gates = false, in_fields = false;
    uint32_t n_gates = 0, n_fields = 0;
    const char *rest;
    char name[128], want[64];

    (void)state;
    for (char *line = text, *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        if (strncmp(line, "## ", 3) == 0) {
            in_gates = strncmp(line, "## Feature gates", 16) == 0;
            in_fields = strncmp(line, "## Fields", 9) == 0;
        }
        if (row(line, name, sizeof name, &rest) && in_gates) {
            enum sl_feature_gate g = sl_feature_gate_find(name);
            if (g == SL_GATES)
                fail_msg("docs/configuration.md: no such gate: %s", name);
            (void)snprintf(want, sizeof want, " | %s | %s%s |",
                           sl_feature_gate_default(g) ? "on" : "off", sl_feature_gate_stage_name(g),
                           sl_feature_gate_locked(g) ? ", locked" : "");
            if (strncmp(rest, want, strlen(want)) != 0)
                fail_msg("docs/configuration.md: %s: expected%s", name, want);
            n_gates++;
        } else if (in_fields && row(line, name, sizeof name, &rest)) {
            field_exists(name);
            n_fields++;
        }
        if (!*end)
            break;
    }
    assert_int_equal(n_gates, SL_GATES);
    assert_true(n_fields > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(all_fields),
        cmocka_unit_test(default_flux_queue),
        cmocka_unit_test(who_makes_miniclusters),
        cmocka_unit_test(both_versions),
        cmocka_unit_test(skypilot),
        cmocka_unit_test(patched_frameworks),
        cmocka_unit_test(gate_table),
        cmocka_unit_test(gates_while_running),
        cmocka_unit_test(two_sources_of_gates),
        cmocka_unit_test(addresses),
        cmocka_unit_test(framework_names),
        cmocka_unit_test(reload),
        cmocka_unit_test(documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
