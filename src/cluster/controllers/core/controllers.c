/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of controllers, as kube-controller-manager has them, and a list of them as its option
 * --controllers takes it. What a cluster has in programs of its own has their name.
 */
#include <string.h>

#include "cluster/controllers/core/cluster.h"
#include "core/base/macros.h"

static const struct {
    const char *name, *alias; /* the name that it had before, which is still taken; NULL: none */
} names[CL_CONTROLLERS] = {
    [CL_CRON_JOBS] = {"cronjob-controller", "cronjob"},
    [CL_DAEMON_SETS] = {"daemonset-controller", "daemonset"},
    [CL_DEPLOYMENTS] = {"deployment-controller", "deployment"},
    [CL_ENDPOINTS] = {"endpoints-controller", "endpoint"},
    [CL_ENDPOINT_SLICES] = {"endpointslice-controller", "endpointslice"},
    [CL_ENDPOINT_MIRRORS] = {"endpointslice-mirroring-controller", "endpointslicemirroring"},
    [CL_GARBAGE] = {"garbage-collector-controller", "garbagecollector"},
    [CL_JOBS] = {"job-controller", "job"},
    [CL_SCHEDULER] = {"kube-scheduler", NULL},
    [CL_NAMESPACES] = {"namespace-controller", "namespace"},
    [CL_CLAIM_PROTECTION] = {"persistentvolumeclaim-protection-controller", "pvc-protection"},
    [CL_POD_GARBAGE] = {"pod-garbage-collector-controller", "podgc"},
    [CL_REPLICA_SETS] = {"replicaset-controller", "replicaset"},
    [CL_REPLICATION_CONTROLLERS] = {"replicationcontroller-controller", "replicationcontroller"},
    [CL_ROOT_CA] = {"root-ca-certificate-publisher-controller", "root-ca-cert-publisher"},
    [CL_SERVICE_ACCOUNTS] = {"serviceaccount-controller", "serviceaccount"},
    [CL_STATEFUL_SETS] = {"statefulset-controller", "statefulset"},
    [CL_JOB_TTL] = {"ttl-after-finished-controller", "ttl-after-finished"},
};

const char *sl_cluster_controller_name(uint32_t i) {
    return i < CL_CONTROLLERS ? names[i].name : NULL;
}

static bool is(const char *name, const char *word, size_t len) {
    return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

static uint32_t controller_of(const char *word, size_t len) {
    for (uint32_t i = 0; i < CL_CONTROLLERS; i++)
        if (is(names[i].name, word, len) || is(names[i].alias, word, len))
            return i;
    return CL_CONTROLLERS;
}

/* What is named first counts; what is not named is on if there is a "*". */
int sl_cluster_controllers_parse(const char *list, uint32_t *ret_off, struct sl_err *err) {
    uint32_t off = 0, named = 0;
    bool star = false;

    for (const char *at = list;; at++) {
        size_t len = strcspn(at, ",");
        bool minus = len > 0 && *at == '-';
        uint32_t i = controller_of(at + minus, len - minus);
        if (len == 1 && *at == '*') {
            star = true;
        } else if (i == CL_CONTROLLERS) {
            return sl_err_set(err, SL_EINVAL, "'%.*s' is not in the list of known controllers",
                              len - minus < 80 ? (int)(len - minus) : 80, at + minus);
        } else if (!(named & CL_OFF(i))) {
            named |= CL_OFF(i);
            off |= minus ? CL_OFF(i) : 0;
        }
        at += len;
        if (!*at)
            break;
    }
    for (uint32_t i = 0; i < CL_CONTROLLERS && !star; i++)
        off |= named & CL_OFF(i) ? 0 : CL_OFF(i);
    *ret_off = off;
    return SL_OK;
}
