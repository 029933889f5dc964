/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager's configuration: Kueue's Configuration file (config.kueue.x-k8s.io v1beta1 and
 * v1beta2, spellings mixed), with Kueue's defaults for what is left out. A value that Kueue would
 * refuse, an unknown field, a duplicate, an unknown framework or gate is a warning with file and
 * line, and the rest is used: a configuration never keeps Sluice from starting. Only a file that
 * cannot be read, or is no YAML map at all, is an error. docs/configuration.md has all fields.
 *
 * Settings are independent of each other and of everything else: to reload, load again and compare.
 * They are read-only, gates and what hangs on them excepted (sl_settings_gates). Not thread-safe.
 */
#ifndef SL_MANAGER_CONFIG_CONFIG_H
#define SL_MANAGER_CONFIG_CONFIG_H

#include "core/base/collection/vec.h"
#include "core/graph/queue.h"
#include "core/model/specs.h"
#include "manager/config/gates.h"

struct sl_doc;

/* ---- warnings ---- */

#define SL_WARNINGS_MAX 256

struct sl_warning {
    uint32_t line;    /* 0: of no line */
    const char *text; /* "file:line: path: what is wrong (what is used instead)" */
};

struct sl_warnings {
    struct sl_arena arena;
    SL_VEC(struct sl_warning) v; /* the first SL_WARNINGS_MAX */
    uint32_t more;               /* how many there were beyond them */
};

void sl_warnings_init(struct sl_warnings *w);
void sl_warnings_done(struct sl_warnings *w);
/* 'source' is a file, or a flag without lines. w may be NULL: warnings are dropped. */
void sl_warnings_add(struct sl_warnings *w, const char *source, uint32_t line, const char *text);

/* ---- values ---- */

struct sl_address {
    char host[256]; /* "": every address; IPv6 without brackets */
    uint16_t port;  /* 0: any that is free */
    bool off;       /* "0" or "": do not listen */
};

/* "host:port", ":8443", "[::1]:80", "0". */
int sl_address_parse(const char *text, struct sl_address *ret, struct sl_err *err) _must_check_;

enum sl_framework {
    SL_FW_JOB, /* batch/job */
    SL_FW_POD,
    SL_FW_DEPLOYMENT,
    SL_FW_STATEFULSET,
    SL_FW_LEADERWORKERSET,
    SL_FW_JOBSET,
    SL_FW_MPIJOB,
    SL_FW_PYTORCHJOB,
    SL_FW_TFJOB,
    SL_FW_PADDLEJOB,
    SL_FW_XGBOOSTJOB,
    SL_FW_JAXJOB,
    SL_FW_TRAINJOB,
    SL_FW_RAYCLUSTER,
    SL_FW_RAYJOB,
    SL_FW_RAYSERVICE,
    SL_FW_APPWRAPPER,
    SL_FW_SPARKAPPLICATION,
    SL_FW_COUNT,
};
/* "batch/job", "pod", "jobset.x-k8s.io/jobset" ...; "?" out of range. */
const char *sl_framework_name(enum sl_framework f);
/* "Job.v1.batch", "Pod.v1." ...; "?" out of range. */
const char *sl_framework_kind(enum sl_framework f);
/* SL_FW_COUNT if there is no such framework. */
enum sl_framework sl_framework_find(const char *name);

struct sl_strs {
    const char *const *v;
    uint32_t n;
};

/* ---- the queue on the resource graph ---- */

#define SL_SETTINGS_FLUX_QUEUES 256u
#define SL_SETTINGS_FLUX_LEVELS 8u
#define SL_SETTINGS_FLUX_DEFAULT "default"

struct sl_settings_flux_queue {
    const char *name;
    enum sl_queue_policy policy;
    uint32_t depth;           /* waiting jobs tried in one pass */
    uint32_t reserve;         /* reservations of hybrid */
    const char *match_policy; /* sl_match_policy_parse accepts it */
};

/* A level of the graph between the cluster and its nodes. */
struct sl_settings_flux_level {
    const char *type;  /* "rack" */
    const char *label; /* of nodes */
};
/* What is wrong with one that is to come below these n. */
enum sl_settings_level_fault {
    SL_SETTINGS_LEVEL_FINE,
    SL_SETTINGS_LEVEL_TYPE,  /* the type has characters that none has, or is one of others */
    SL_SETTINGS_LEVEL_LABEL, /* the label is no key */
    SL_SETTINGS_LEVEL_TWICE, /* another one has the type or the label */
};
enum sl_settings_level_fault sl_settings_level_check(const struct sl_settings_flux_level *v,
                                                     uint32_t n,
                                                     const struct sl_settings_flux_level *level);

/* ---- settings ---- */

/* The configuration. Strings are in 'arena' or in 'doc'. */
struct sl_settings {
    struct sl_arena arena;
    struct sl_doc *doc; /* the file; NULL if there was none */
    const char *ns;     /* our own namespace */
    struct {
        const char *host; /* "": every address */
        uint16_t port;
        const char *cert_dir;
        const char *client_ca; /* a file; "": clients need no certificate */
    } webhook;
    struct sl_address health, metrics, pprof;
    const char *ready_path, *live_path; /* "/readyz", "/healthz" */
    struct {
        bool enable;
        const char *ns, *name;
        /* Ours are 4 s, 3 s and 500 ms: another candidate takes over at most 4 s + 2 * 500 ms after
         * the holder's last renewal, plus the jitter of its retries. A file that sets any of the
         * three has Kueue's 15 s, 10 s and 2 s for the others. */
        sl_span duration, renew_deadline, retry_period;
    } lease;
    struct {
        bool enable;
        const char *service, *secret;
    } certs;                  /* internalCertManagement */
    bool tls13;               /* tls.minVersion is VersionTLS13; else TLS 1.2 */
    bool queue_resources;     /* metrics.enableClusterQueueResources */
    bool local_queue_metrics; /* metrics.localQueueMetrics.enable, and the gate */
    struct sl_selector local_queue_selector;
    bool manage_without_queue;             /* manageJobsWithoutQueueName */
    struct sl_selector managed_namespaces; /* never kube-system or our own */
    bool framework[SL_FW_COUNT];
    struct sl_strs external_frameworks, label_keys_to_copy;
    sl_span keep_finished, drop_deactivated; /* objectRetentionPolicies; NEVER: keep for ever */
    const char *visibility_host;             /* "": every address */
    uint16_t visibility_port;
    struct {
        sl_span gc_interval, worker_lost_timeout; /* gc_interval 0: none */
        const char *origin, *dispatcher;
        uint32_t step;                      /* of the incremental dispatcher */
        struct sl_strs external_frameworks; /* "Kind.version.group" */
    } multikueue;
    struct {
        struct sl_selector namespaces;               /* in which all objects are intercepted */
        const char *match_policy;                    /* sl_match_policy_parse accepts it */
        const struct sl_settings_flux_queue *queues; /* the first is SL_SETTINGS_FLUX_DEFAULT */
        uint32_t n_queues;
        const struct sl_settings_flux_level *levels; /* top first */
        uint32_t n_levels;
        sl_span default_duration; /* of jobs that say nothing; 0: not known */
        bool exact_nodes;         /* Workloads of all ClusterQueues are admitted with nodes */
        bool kube_binds;          /* binder is KubeScheduler; else we bind pods */
        const char *ledger;       /* a path or URL; "": the default. Never to be logged */
        sl_span retention;        /* of ended jobs in the ledger; NEVER: for ever */
    } flux;                       /* fluxqueue */
    bool flux_operator;           /* miniCluster.controller: it makes the objects of MiniClusters */
    bool gates[SL_GATES];         /* by enum sl_feature_gate */
    struct sl_config engine;      /* the engine's part, gates included */
    struct {
        bool pods_ready, afs, ignore_undeclared, local_queue_metrics;
    } asked; /* as in the file, regardless of the gates */
};

/* path NULL: only defaults. own_ns: where we run (service account file, kubeconfig), used where the
 * file has none; NULL: kueue-system. gate_flags: of --feature-gates, or NULL; they take precedence
 * over the file, with a warning where both are given. warnings may be NULL. */
int sl_settings_load(const char *path, const char *own_ns, const char *gate_flags,
                     struct sl_settings **ret, struct sl_warnings *warnings,
                     struct sl_err *err) _must_check_;
/* The same from a text in memory, which is not retained. */
int sl_settings_parse(const char *file, const char *text, size_t len, const char *own_ns,
                      const char *gate_flags, struct sl_settings **ret,
                      struct sl_warnings *warnings, struct sl_err *err) _must_check_;
void sl_settings_free(struct sl_settings *s);
void sl_settings_freep(struct sl_settings **s);
/* "A=true,B=false" at run time: sets what is known in s (gates, s->engine and the rest that depends
 * on gates), warns about the rest. Any set is accepted: gates that Kueue ties together are
 * independent here. AllAlpha and AllBeta stand for every gate of that stage that is not named. */
void sl_settings_gates(struct sl_settings *s, const char *flags, struct sl_warnings *warnings);

#endif
