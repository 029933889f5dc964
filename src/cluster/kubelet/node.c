/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our nodes: this machine, with its capacity, and simulated ones. Each is created or, if it exists
 * from an earlier run, updated; simulated ones that are no longer configured are deleted. The node
 * of the machine renews its Lease every ten seconds and its status every five minutes, as a kubelet
 * does; simulated ones are always ready and have no Lease.
 *
 * A Node that another client creates with the label of simulated ones is a guest: it is not ours,
 * but kept ready, and its pods are simulated. It remains after a restart.
 *
 * With simulated nodes there are two kinds of pods, and most are meant for those. So then the node
 * of the machine has a taint, sluice.dev/real:NoSchedule, and accepts only pods that tolerate it.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "cluster/kubelet/machine.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define LEASE_EVERY (10 * SL_SEC)
#define LEASE_SECONDS 40
#define STATUS_EVERY (5 * SL_MINUTE)
#define LEASE_AGAIN SL_SEC
#define RESERVED_BYTES (INT64_C(100) << 20) /* of memory: what a kubelet evicts for, too */
#define SIM_PREFIX "sim-"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

enum node_step { NODE_CREATE, NODE_UPDATE, NODE_STATUS, NODE_OK, NODE_DELETE, NODE_GONE };

struct klet_node {
    char *name;
    uint32_t slot;
    bool sim;
    bool guest, seen; /* of another kubelet; present in the list that is being read */
    bool sized;       /* its capacity is in the object */
    enum node_step step;
    char *taints; /* of others, an array of JSON; NULL: none */
    struct sl_kubelet *rt;
    sl_kube_call pods; /* of a guest that has just come: those that stand there already */
};

struct klet_nodes {
    SL_VEC(struct klet_node *) all;
    struct klet_node *real;
    uint32_t ready, wanted, lease_slot;
    bool lease_is;
    struct sl_reflector *labelled; /* simulated ones */
    struct sl_map guests;          /* by name */
    bool crowded;                  /* the limit was logged */
    sl_time since;                 /* ready */
    struct klet_machine machine;
};

static void sim_name(char out[40], uint32_t i) {
    sl_fmt(out, 40, SIM_PREFIX "%04u", i);
}

static struct klet_node *foreign_node_find(const struct sl_kubelet *r, const char *name) {
    const uint64_t key = sl_hash_str(0, name);
    uint32_t cur;

    for (uint32_t i = sl_map_first(&r->nodes->guests, key, &cur); i != SL_MAP_NONE;
         i = sl_map_next(&r->nodes->guests, key, &cur))
        if (strcmp(r->slots.v[i].node->name, name) == 0)
            return r->slots.v[i].node;
    return NULL;
}

enum klet_node_owner klet_node_owner_of(const struct sl_kubelet *r, const char *name) {
    char own[40], *end;

    if (r->node && strcmp(name, r->node) == 0)
        return NODE_OWNER_LOCAL;
    if (foreign_node_find(r, name))
        return NODE_OWNER_SIM;
    if (strncmp(name, SIM_PREFIX, sizeof SIM_PREFIX - 1) != 0)
        return NODE_OWNER_OTHER;
    unsigned long i = strtoul(name + sizeof SIM_PREFIX - 1, &end, 10);
    if (*end || i >= UINT32_MAX)
        return NODE_OWNER_OTHER;
    sim_name(own, (uint32_t)i);
    return strcmp(own, name) != 0 ? NODE_OWNER_OTHER
           : i < r->sim.count     ? NODE_OWNER_SIM
                                  : NODE_OWNER_LOST;
}

int64_t klet_node_allocatable(const struct sl_kubelet *r, const char *resource) {
    if (strcmp(resource, "cpu") == 0)
        return r->nodes->machine.cpu_milli;
    return strcmp(resource, "memory") == 0 ? r->nodes->machine.memory_bytes - RESERVED_BYTES
                                           : r->nodes->machine.disk_bytes;
}

/* ---- a Node as JSON ---- */

static void put_labels(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
    sl_jw_object(j, "labels");
    sl_jw_str(j, "kubernetes.io/hostname", n->name);
    sl_jw_str(j, "kubernetes.io/os", "linux");
    sl_jw_str(j, "kubernetes.io/arch", klet_machine_arch(&r->nodes->machine));
    if (n->sim)
        sl_jw_str(j, SIM_LABEL, "true");
    for (const char *const *l = n->sim ? r->sim.labels : NULL; l && *l; l++) {
        const size_t key = strcspn(*l, "=");
        char name[320];
        sl_fmt(name, sizeof name, "%.*s", (int)(key < 319 ? key : 319), *l);
        sl_jw_str(j, name, *l + key + ((*l)[key] == '='));
    }
    sl_jw_end(j);
}

static void put_amounts(struct sl_jw *j, const char *key, const struct sl_kubelet *r,
                        const struct klet_node *n, bool allocatable) {
    const struct klet_machine *m = &r->nodes->machine;
    const struct sl_kubelet_sim_nodes *s = &r->sim;
    const int64_t memory = m->memory_bytes - (allocatable ? RESERVED_BYTES : 0);

    sl_jw_object(j, key);
    if (n->sim) {
        sl_jw_str(j, "cpu", s->cpu ? s->cpu : "32");
        sl_jw_str(j, "memory", s->memory ? s->memory : "128Gi");
        sl_jw_str(j, "pods", s->pods ? s->pods : "110");
        if (s->gpu)
            sl_jw_str(j, "nvidia.com/gpu", s->gpu);
    } else {
        sl_jw_strf(j, "cpu", "%lld", (long long)(m->cpu_milli / 1000));
        sl_jw_strf(j, "memory", "%lldKi", (long long)((memory > 0 ? memory : 0) / 1024));
        sl_jw_strf(j, "ephemeral-storage", "%lldKi", (long long)(m->disk_bytes / 1024));
        sl_jw_str(j, "pods", "110");
    }
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

static void put_status(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
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

static void put_spec(struct sl_jw *j, const struct sl_kubelet *r, const struct klet_node *n) {
    sl_jw_object(j, "spec");
    sl_jw_array(j, "taints");
    if (n->taints)
        sl_jw_items(j, n->taints);
    if (!n->sim && r->sim.count > 0) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "key", LOCAL_TAINT);
        sl_jw_str(j, "effect", "NoSchedule");
        sl_jw_end(j);
    }
    sl_jw_end(j);
    sl_jw_end(j);
}

/* ---- writing ---- */

static bool build_lease(struct sl_kubelet *r, struct sl_write *w) {
    struct klet_nodes *ns = r->nodes;

    w->method = ns->lease_is ? SL_PATCH : SL_POST;
    w->content_type = ns->lease_is ? SL_MERGE_PATCH : SL_JSON;
    sl_buf_puts(&w->path, LEASES);
    if (ns->lease_is)
        sl_buf_printf(&w->path, "/%s", r->node);
    struct sl_jw *j = &SL_JW(&w->body);
    sl_jw_object(j, NULL);
    if (!ns->lease_is) {
        sl_jw_str(j, "apiVersion", "coordination.k8s.io/v1");
        sl_jw_str(j, "kind", "Lease");
        sl_jw_object(j, "metadata");
        sl_jw_str(j, "name", r->node);
        sl_jw_end(j);
    }
    sl_jw_object(j, "spec");
    sl_jw_str(j, "holderIdentity", r->node);
    sl_jw_int(j, "leaseDurationSeconds", LEASE_SECONDS);
    sl_jw_micro_time(j, "renewTime", r->client->wall);
    sl_jw_end_to(j, 0);
    return true;
}

bool klet_node_build(struct sl_kubelet *r, uint32_t slot, struct sl_write *w) {
    struct klet_node *n = r->slots.v[slot].node;
    struct sl_jw *j = &SL_JW(&w->body);

    if (r->slots.v[slot].kind == SLOT_LEASE)
        return build_lease(r, w);
    if (n->step == NODE_GONE)
        return false;
    if (n->step == NODE_OK)
        n->step = NODE_STATUS; /* its heartbeat */
    sl_buf_puts(&w->path, "/api/v1/nodes");
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    if (n->step == NODE_CREATE) {
        w->method = SL_POST;
        w->content_type = SL_JSON;
        sl_buf_printf(&w->read_path, "/api/v1/nodes/%s", n->name);
        sl_jw_object(j, NULL);
        sl_jw_str(j, "apiVersion", "v1");
        sl_jw_str(j, "kind", "Node");
        sl_jw_object(j, "metadata");
        sl_jw_str(j, "name", n->name);
        put_labels(j, r, n);
        sl_jw_end(j);
        put_spec(j, r, n);
        put_status(j, r, n);
        sl_jw_end(j);
        return true;
    }
    sl_buf_printf(&w->path, "/%s%s", n->name, n->step == NODE_STATUS ? "/status" : "");
    if (n->step == NODE_DELETE) {
        w->method = SL_DELETE;
        w->content_type = NULL;
        return true;
    }
    sl_jw_object(j, NULL);
    if (n->step == NODE_UPDATE) {
        sl_jw_object(j, "metadata");
        put_labels(j, r, n);
        sl_jw_end(j);
        put_spec(j, r, n);
    } else {
        put_status(j, r, n);
    }
    sl_jw_end(j);
    return true;
}

static void lease_done(struct sl_kubelet *r, uint32_t slot, enum sl_written how) {
    if (how == SL_WRITTEN)
        r->nodes->lease_is = true;
    else if (how == SL_WRITE_CONFLICT)
        r->nodes->lease_is = true;
    else if (how == SL_WRITE_GONE)
        r->nodes->lease_is = false;
    if (how == SL_WRITTEN || how == SL_WRITE_GONE)
        sl_writer_enqueue_at(r->writer, slot, 1,
                             r->client->mono + (how == SL_WRITTEN ? LEASE_EVERY : LEASE_AGAIN));
}

/* Is the created Node ready? A server may drop the status on create. */
static bool is_ready(const struct sl_kube_reply *rp) {
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    bool ready = false;

    if (sl_json_read(rp->body, rp->len, &d, NULL) == 0)
        ready = sl_json_condition(yyjson_doc_get_root(d), "Ready");
    return ready;
}

static void node_is_ok(struct sl_kubelet *r, uint32_t slot, struct klet_node *n) {
    struct klet_nodes *ns = r->nodes;

    if (!n->guest && ns->ready < ns->wanted)
        ns->ready++;
    n->step = NODE_OK;
    if (!n->sim)
        sl_writer_enqueue_at(r->writer, slot, 1, r->client->mono + STATUS_EVERY);
}

void klet_node_done(struct sl_kubelet *r, uint32_t slot, enum sl_written how,
                    const struct sl_kube_reply *rp) {
    struct klet_node *n = r->slots.v[slot].node;

    if (r->slots.v[slot].kind == SLOT_LEASE) {
        lease_done(r, slot, how);
        return;
    }
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_WARN, "Node write rejected by the API server", SL_S("node", n->name),
               SL_I("status", rp->status));
    if (n->step == NODE_DELETE && (how == SL_WRITTEN || how == SL_WRITE_GONE)) {
        n->step = NODE_GONE;
        return;
    }
    if (how == SL_WRITE_GONE) { /* deleted by a client; like a kubelet, we do not create it again */
        n->step = NODE_GONE;
    } else if (how == SL_WRITTEN &&
               (n->step == NODE_STATUS || (n->step == NODE_CREATE && is_ready(rp)))) {
        node_is_ok(r, slot, n);
    } else if (how == SL_WRITTEN) {
        n->step = NODE_STATUS;
        sl_writer_enqueue(r->writer, slot, 0);
    }
}

/* It is there already: others' taints stay. */
void klet_node_read(struct sl_kubelet *r, uint32_t slot, const struct sl_kube_reply *rp) {
    struct klet_node *n = r->slots.v[slot].node;
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    yyjson_val *taints, *t;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(RT_MAX_NODE);
    size_t i, all;

    if (r->slots.v[slot].kind == SLOT_LEASE || n->step != NODE_CREATE || rp->status != 200 ||
        sl_json_read(rp->body, rp->len, &d, NULL) < 0)
        return;
    n->step = NODE_UPDATE;
    struct sl_jw j = SL_JW(&b);
    taints = sl_json_at(yyjson_doc_get_root(d), "spec.taints");
    sl_jw_array(&j, NULL);
    yyjson_arr_foreach (taints, i, all, t) {
        if (strcmp(sl_json_str(t, "key"), LOCAL_TAINT) != 0)
            sl_jw_val(&j, NULL, t);
    }
    sl_jw_end(&j);
    sl_freep(&n->taints);
    n->taints = sl_strdup(sl_buf_str(&b));
}

/* ---- all of them ---- */

static struct klet_node *add_node(struct sl_kubelet *r, const char *name, bool sim,
                                  enum node_step step) {
    struct klet_node *n = sl_alloc0(1, sizeof *n);

    *n = (struct klet_node){.name = sl_strdup(name),
                            .slot = klet_slot_new(r, SLOT_NODE),
                            .sim = sim,
                            .step = step,
                            .rt = r};
    r->slots.v[n->slot].node = n;
    *sl_vec_push(&r->nodes->all) = n;
    if (step != NODE_OK)
        sl_writer_enqueue(r->writer, n->slot, 0);
    return n;
}

static void node_free(struct klet_node *n) {
    sl_kube_cancel(n->rt->client, n->pods);
    sl_freep(&n->name);
    sl_freep(&n->taints);
    sl_freep(&n);
}

/* ---- guests ---- */

static void pods_listed(void *ctx, const struct sl_kube_reply *rp) {
    struct klet_node *n = ctx;
    struct sl_kubelet *r = n->rt;

    n->pods.v = 0;
    if (rp->status == 200)
        klet_pods_take(r, rp);
    else
        sl_log(SL_LOG_WARN, "listing the pods of a node failed", SL_S("node", n->name),
               SL_I("status", rp->status));
}

static void foreign_node_new(struct sl_kubelet *r, const char *name, bool ready) {
    char path[400];
    struct klet_node *n;

    if (r->nodes->guests.n >= RT_MAX_FOREIGN_NODES) {
        if (!r->nodes->crowded)
            sl_log(SL_LOG_WARN, "node ignored: too many simulated nodes",
                   SL_I("limit", RT_MAX_FOREIGN_NODES), SL_S("node", name));
        r->nodes->crowded = true;
    }
    if (r->nodes->guests.n >= RT_MAX_FOREIGN_NODES || strlen(name) > 253)
        return;
    n = add_node(r, name, true, ready ? NODE_OK : NODE_STATUS);
    n->guest = true;
    sl_map_add(&r->nodes->guests, sl_hash_str(0, name), n->slot);
    /* A pod may have been bound to it before its Node was observed. */
    sl_fmt(path, sizeof path, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", name);
    n->pods = sl_kube_request(r->client, &(struct sl_kube_request){.method = SL_GET, .path = path},
                              pods_listed, n);
}

static void foreign_node_drop(struct sl_kubelet *r, struct klet_node *n) {
    struct klet_nodes *ns = r->nodes;

    for (uint32_t i = 0; i < ns->all.n; i++)
        if (ns->all.v[i] == n)
            ns->all.v[i--] = ns->all.v[--ns->all.n];
    (void)sl_map_del(&ns->guests, sl_hash_str(0, n->name), n->slot);
    klet_slot_free(r, n->slot);
    node_free(n);
}

static void list_begins(void *ctx) {
    const struct klet_nodes *ns = ((struct sl_kubelet *)ctx)->nodes;

    for (uint32_t i = 0; i < ns->all.n; i++)
        ns->all.v[i]->seen = false;
}

static void node_seen(void *ctx, yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    const char *name = sl_json_str(o, "metadata.name");
    const bool ready = sl_json_condition(o, "Ready");
    const enum klet_node_owner node_owner = klet_node_owner_of(r, name);
    struct klet_node *n = foreign_node_find(r, name);

    if (!n && node_owner == NODE_OWNER_LOST && !sl_reflector_synced(r->nodes->labelled)) {
        (void)add_node(r, name, true, NODE_DELETE); /* of an earlier run of ours */
        return;
    }
    if (!n && (node_owner == NODE_OWNER_LOCAL || node_owner == NODE_OWNER_SIM))
        return;
    if (!n) {
        foreign_node_new(r, name, ready);
        n = foreign_node_find(r, name);
    } else if (!ready && n->step == NODE_OK) {
        sl_writer_enqueue(r->writer, n->slot, 0);
    }
    if (n) {
        n->seen = true;
        n->sized = sl_json_size(sl_json_at(o, "status.capacity")) > 0;
    }
}

/* Deleted, or it lost the label. */
static void node_unseen(void *ctx, yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    struct klet_node *n = foreign_node_find(r, sl_json_str(o, "metadata.name"));

    if (n)
        foreign_node_drop(r, n);
}

static void list_ends(void *ctx, bool exists) {
    struct sl_kubelet *r = ctx;

    (void)exists;
    for (uint32_t i = r->nodes->all.n; i-- > 0;)
        if (r->nodes->all.v[i]->guest && !r->nodes->all.v[i]->seen)
            foreign_node_drop(r, r->nodes->all.v[i]);
}

/* ---- in and out ---- */

void klet_nodes_begin(struct sl_kubelet *r) {
    struct klet_nodes *ns = r->nodes = sl_alloc0(1, sizeof *ns);
    char name[40];

    klet_machine_inspect(&ns->machine, r->dir);
    klet_machine_address(r->address);
    ns->since = r->client->wall;
    ns->wanted = r->sim.count + (r->node != NULL);
    if (r->node) {
        ns->real = add_node(r, r->node, false, NODE_CREATE);
        ns->lease_slot = klet_slot_new(r, SLOT_LEASE);
        sl_writer_enqueue(r->writer, ns->lease_slot, 1);
    }
    for (uint32_t i = 0; i < r->sim.count; i++) {
        sim_name(name, i);
        (void)add_node(r, name, true, NODE_CREATE);
    }
    ns->labelled =
        sl_reflector_new(r->client, "/api/v1/nodes", "labelSelector=sluice.dev%2Fsimulated%3Dtrue",
                         &(struct sl_reflector_owner){.ctx = r,
                                                      .begin = list_begins,
                                                      .object = node_seen,
                                                      .gone = node_unseen,
                                                      .synced = list_ends},
                         3);
}

void klet_nodes_tick(struct sl_kubelet *r) {
    sl_reflector_tick(r->nodes->labelled);
}

sl_time klet_nodes_next(const struct sl_kubelet *r) {
    return sl_reflector_next(r->nodes->labelled);
}

void klet_nodes_free(struct sl_kubelet *r) {
    struct klet_nodes *ns = r->nodes;

    if (!ns)
        return;
    sl_reflector_free(ns->labelled);
    for (uint32_t i = 0; i < ns->all.n; i++)
        node_free(ns->all.v[i]);
    sl_vec_free(&ns->all);
    sl_map_done(&ns->guests);
    sl_freep(&r->nodes);
}

bool klet_nodes_ready(const struct sl_kubelet *r) {
    return r->nodes->ready >= r->nodes->wanted;
}
