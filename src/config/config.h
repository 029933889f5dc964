/*
 * The manager's configuration: Kueue's Configuration file (config.kueue.x-k8s.io v1beta1 and v1beta2,
 * spellings mixed), with Kueue's defaults for what is left out. A value that Kueue would refuse, an unknown
 * field, a duplicate, an unknown framework or gate is a warning with file and line, and the rest is used:
 * a configuration never keeps Sluice from starting. Only a file that is no YAML at all is an error.
 */
#ifndef SL_CONFIG_CONFIG_H
#define SL_CONFIG_CONFIG_H

#include "base/vec.h"
#include "config/gates.h"
#include "model/specs.h"

struct sl_address {
    char host[256]; /* "": every address */
    uint16_t port;
    bool off; /* "0": do not listen */
};

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
/* "batch/job", "pod", "jobset.x-k8s.io/jobset" ... */
const char *sl_framework_name(enum sl_framework f);
/* SL_FW_COUNT if there is no such framework. */
enum sl_framework sl_framework_find(const char *name);

struct sl_strs {
    const char *const *v;
    uint32_t n;
};

/* What the configuration says. Everything lives in 'arena'. */
struct sl_settings {
    struct sl_arena arena;
    const char *ns; /* our own namespace */
    struct {
        const char *host;
        uint16_t port;
        const char *cert_dir;
    } webhook;
    struct sl_address health, metrics, pprof;
    const char *ready_path, *live_path; /* "/readyz", "/healthz" */
    struct {
        bool enable;
        const char *ns, *name;
        sl_span duration, renew_deadline, retry_period; /* 4 s, 3 s, 2 s unless the file says otherwise */
    } lease;
    struct {
        bool enable;
        const char *service, *secret;
    } certs; /* internalCertManagement */
    bool queue_resources;      /* metrics.enableClusterQueueResources */
    bool local_queue_metrics;  /* metrics.localQueueMetrics.enable */
    struct sl_selector local_queue_selector;
    bool manage_without_queue; /* manageJobsWithoutQueueName */
    struct sl_selector managed_namespaces; /* managedJobsNamespaceSelector */
    bool framework[SL_FW_COUNT];
    struct sl_strs external_frameworks, label_keys_to_copy;
    sl_span keep_finished, drop_deactivated; /* objectRetentionPolicies; SL_TIME_NEVER: keep for ever */
    uint16_t visibility_port;
    bool gates[SL_GATES]; /* by enum sl_gate_id */
    struct sl_config engine; /* what the engine wants to know, gates included */
};

struct sl_warning {
    uint32_t line; /* 0: of no line */
    const char *text;
};

struct sl_warnings {
    struct sl_arena arena;
    SL_VEC(struct sl_warning) v;
};
void sl_warnings_init(struct sl_warnings *w);
void sl_warnings_done(struct sl_warnings *w);

/* path NULL: only defaults. own_ns: where we run (service account file, kubeconfig), used where the file says nothing.
 * gate_flags: of --feature-gates, or NULL; they win over the file, with a warning where both speak. */
int sl_settings_load(const char *path, const char *own_ns, const char *gate_flags, struct sl_settings **ret,
                     struct sl_warnings *warnings, struct sl_err *err) _must_check_;
/* The same from a text in memory. */
int sl_settings_parse(const char *file, const char *text, size_t len, const char *own_ns, const char *gate_flags,
                      struct sl_settings **ret, struct sl_warnings *warnings, struct sl_err *err) _must_check_;
void sl_settings_free(struct sl_settings *s);
void sl_settings_freep(struct sl_settings **s);
/* "A=true,B=false" while running: sets what is known in s (gates and s->engine), warns about the rest. */
void sl_settings_gates(struct sl_settings *s, const char *flags, struct sl_warnings *warnings);

#endif
