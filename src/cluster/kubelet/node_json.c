/* SPDX-License-Identifier: Apache-2.0 */
/* A Node as JSON: that of the machine, simulated and virtual ones. */
#include <string.h>

#include "cluster/kubelet/node.h"
#include "core/base/fmt.h"

static void put_label(struct sl_jw *j, const char *label) {
    const size_t key = strcspn(label, "=");
    char name[320];

    sl_fmt(name, sizeof name, "%.*s", (int)(key < 319 ? key : 319), label);
    sl_jw_str(j, name, label + key + (label[key] == '='));
}

void klet_node_put_labels(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
    sl_jw_object(j, "labels");
    sl_jw_str(j, "kubernetes.io/hostname", n->name);
    sl_jw_str(j, "kubernetes.io/os", "linux");
    sl_jw_str(j, "kubernetes.io/arch", klet_machine_arch(&r->nodes->machine));
    if (n->sim)
        sl_jw_str(j, SIM_LABEL, "true");
    if (n->virtual)
        sl_jw_str(j, "virtual-node.interlink/type", "virtual-kubelet");
    for (const char *const *l = n->sim && !n->virtual ? r->sim.labels : NULL; l && *l; l++)
        put_label(j, *l);
    sl_jw_end(j);
    if (!n->virtual)
        return;
    sl_jw_object(j, "annotations");
    sl_jw_str(j, VIRTUAL_ANNOTATION, "true");
    sl_jw_end(j);
}

static void put_local_amounts(struct sl_jw *j, const struct klet_machine *m, bool allocatable) {
    const int64_t memory = m->memory_bytes - (allocatable ? RESERVED_BYTES : 0);

    sl_jw_strf(j, "cpu", "%lld", (long long)(m->cpu_milli / 1000));
    sl_jw_strf(j, "memory", "%lldKi", (long long)((memory > 0 ? memory : 0) / 1024));
    sl_jw_strf(j, "ephemeral-storage", "%lldKi", (long long)(m->disk_bytes / 1024));
    sl_jw_str(j, "pods", "110");
}

static void put_sim_amounts(struct sl_jw *j, const struct sl_kubelet_sim_nodes *s) {
    sl_jw_str(j, "cpu", s->cpu ? s->cpu : "32");
    sl_jw_str(j, "memory", s->memory ? s->memory : "128Gi");
    sl_jw_str(j, "pods", s->pods ? s->pods : "110");
    if (s->gpu)
        sl_jw_str(j, "nvidia.com/gpu", s->gpu);
}

/* As interLink advertises: more than there is anywhere, since quota is what limits pods there. */
static void put_virtual_amounts(struct sl_jw *j) {
    sl_jw_str(j, "cpu", "10000");
    sl_jw_str(j, "memory", "2Ei");
    sl_jw_str(j, "pods", "10000");
    sl_jw_str(j, "nvidia.com/gpu", "10000");
}

static void put_amounts(struct sl_jw *j, const char *key, const struct sl_kubelet *r,
                        const struct klet_node *n, bool allocatable) {
    sl_jw_object(j, key);
    if (n->virtual)
        put_virtual_amounts(j);
    else if (n->sim)
        put_sim_amounts(j, &r->sim);
    else
        put_local_amounts(j, &r->nodes->machine, allocatable);
    sl_jw_end(j);
}

static void put_conditions(struct sl_jw *j, const struct sl_kubelet *r) {
    static const struct {
        const char *type, *status, *reason, *message;
    } all[] = {
        {"MemoryPressure", "False", "KubeletHasSufficientMemory",
         "kubelet has sufficient memory available"},
        {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
        {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
        {"Ready", "True", "KubeletReady", "sluice up is ready"},
    };

    sl_jw_array(j, "conditions");
    for (size_t i = 0; i < SL_LEN(all); i++) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "type", all[i].type);
        sl_jw_str(j, "status", all[i].status);
        sl_jw_str(j, "reason", all[i].reason);
        sl_jw_str(j, "message", all[i].message);
        sl_jw_time(j, "lastHeartbeatTime", r->client->wall);
        sl_jw_time(j, "lastTransitionTime", r->nodes->since);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void put_address(struct sl_jw *j, const char *type, const char *address) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", type);
    sl_jw_str(j, "address", address);
    sl_jw_end(j);
}

void klet_node_put_status(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
    const struct klet_machine *m = &r->nodes->machine;

    sl_jw_object(j, "status");
    if (!n->sized) {
        put_amounts(j, "capacity", r, n, false);
        put_amounts(j, "allocatable", r, n, true);
    }
    put_conditions(j, r);
    sl_jw_array(j, "addresses");
    if (!n->sim)
        put_address(j, "InternalIP", r->address);
    put_address(j, "Hostname", n->name);
    sl_jw_end(j);
    sl_jw_object(j, "nodeInfo");
    sl_jw_str(j, "machineID", n->sim ? "" : m->machine_id);
    sl_jw_str(j, "systemUUID", n->sim ? "" : m->machine_id);
    sl_jw_str(j, "bootID", n->sim ? "" : m->boot_id);
    sl_jw_str(j, "kernelVersion", n->sim ? "simulated" : m->uts.release);
    sl_jw_str(j, "osImage", n->sim ? "simulated" : m->os);
    sl_jw_str(j, "architecture", klet_machine_arch(m));
    sl_jw_str(j, "containerRuntimeVersion", "sluice://" SL_VERSION);
    sl_jw_str(j, "kubeletVersion", "v1.36.0");
    sl_jw_str(j, "kubeProxyVersion", "");
    sl_jw_str(j, "operatingSystem", "linux");
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_taint(struct sl_jw *j, const char *key, const char *value) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "key", key);
    if (*value)
        sl_jw_str(j, "value", value);
    sl_jw_str(j, "effect", "NoSchedule");
    sl_jw_end(j);
}

void klet_node_put_spec(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
    sl_jw_object(j, "spec");
    sl_jw_array(j, "taints");
    if (n->taints)
        sl_jw_items(j, n->taints);
    if (n->virtual)
        put_taint(j, VIRTUAL_TAINT, "true");
    if (!n->sim && r->sim.count > 0)
        put_taint(j, LOCAL_TAINT, "");
    sl_jw_end(j);
    sl_jw_end(j);
}
