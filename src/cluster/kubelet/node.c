/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our nodes: this machine, with its capacity, and simulated ones. Each is created or, if it exists
 * from an earlier run, updated; simulated ones that are no longer configured are deleted. The node
 * of the machine renews its Lease every ten seconds and its status every five minutes, as a kubelet
 * does; simulated ones are always ready, and only their Leases are renewed (lease.c).
 *
 * A Node that another client creates with the label of simulated ones is a guest: it is not ours,
 * but kept ready, and its pods are simulated. It remains after a restart.
 *
 * A virtual node is a simulated one as interLink's virtual kubelet makes it: pods come to it that
 * tolerate its taint, and name the pool of elsewhere that is to run them by another toleration. It
 * has an annotation of ours, by which the next run knows that it may delete it.
 *
 * With simulated nodes there are two kinds of pods, and most are meant for those. So then the node
 * of the machine has a taint, sluice.dev/real:NoSchedule, and accepts only pods that tolerate it.
 * Virtual ones are no reason for it: they have a taint of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/node.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define STATUS_EVERY (5 * SL_MINUTE)
#define SIM_PREFIX "sim-"
#define MAX_NODE_NAME 63u /* its label kubernetes.io/hostname is no longer */

static void sim_name(char out[40], uint32_t i) {
    sl_fmt(out, 40, SIM_PREFIX "%04u", i);
}

static struct klet_node *named_node_find(const struct sl_kubelet *r, const char *name) {
    const uint64_t key = sl_hash_str(0, name);
    uint32_t cur;

    for (uint32_t i = sl_map_first(&r->nodes->named, key, &cur); i != SL_MAP_NONE;
         i = sl_map_next(&r->nodes->named, key, &cur))
        if (strcmp(r->slots.v[i].node->name, name) == 0)
            return r->slots.v[i].node;
    return NULL;
}

/* The number of a name such as simulated nodes have. */
static bool sim_number(const char *name, uint32_t *ret) {
    char own[40], *end;

    if (strncmp(name, SIM_PREFIX, sizeof SIM_PREFIX - 1) != 0)
        return false;
    unsigned long i = strtoul(name + sizeof SIM_PREFIX - 1, &end, 10);
    if (*end || i >= UINT32_MAX)
        return false;
    *ret = (uint32_t)i;
    sim_name(own, *ret);
    return strcmp(own, name) == 0;
}

enum klet_node_owner klet_node_owner_of(const struct sl_kubelet *r, const char *name) {
    const struct klet_node *n;
    uint32_t i;

    if (r->node && strcmp(name, r->node) == 0)
        return NODE_OWNER_LOCAL;
    if ((n = named_node_find(r, name)))
        return n->lost ? NODE_OWNER_LOST : NODE_OWNER_SIM;
    if (!sim_number(name, &i))
        return NODE_OWNER_OTHER;
    return i < r->sim.count ? NODE_OWNER_SIM : NODE_OWNER_LOST;
}

bool sl_kubelet_has_node(void *ctx, const char *node) {
    return klet_node_owner_of(ctx, node) != NODE_OWNER_OTHER;
}

bool klet_node_is_virtual(const struct sl_kubelet *r, const char *name) {
    const struct klet_node *n = named_node_find(r, name);

    return n && n->virtual && !n->lost;
}

/* ---- names of virtual nodes ---- */

static const char *virtual_name_error(const char *const *names, uint32_t at, const char *own) {
    const char *name = names[at];
    const struct sl_syntax_errors errors = sl_syntax_subdomain(name, strlen(name));
    uint32_t number;

    if (errors.n > 0)
        return errors.v[0];
    if (strlen(name) > MAX_NODE_NAME)
        return "must be no more than 63 characters";
    if (own && strcmp(name, own) == 0)
        return "is the name of this machine";
    if (sim_number(name, &number))
        return "is the name of a simulated node";
    for (uint32_t i = 0; i < at; i++)
        if (strcmp(names[i], name) == 0)
            return "is there twice";
    return NULL;
}

int sl_kubelet_virtual_nodes_check(const char *const *names, const char *own, struct sl_err *err) {
    for (uint32_t i = 0; names && names[i]; i++) {
        if (i == SL_MAX_VIRTUAL_NODES)
            return sl_err_set(err, SL_ELIMIT, "at most %u virtual nodes", SL_MAX_VIRTUAL_NODES);
        const char *why = virtual_name_error(names, i, own);
        if (why)
            return sl_err_set(err, SL_EINVAL, "virtual node '%.80s': %s", names[i], why);
    }
    return SL_OK;
}

int64_t klet_node_allocatable(const struct sl_kubelet *r, const char *resource) {
    if (strcmp(resource, "cpu") == 0)
        return r->nodes->machine.cpu_milli;
    return strcmp(resource, "memory") == 0 ? r->nodes->machine.memory_bytes - RESERVED_BYTES
                                           : r->nodes->machine.disk_bytes;
}

/* ---- writing ---- */

bool klet_node_build(struct sl_kubelet *r, uint32_t slot, struct sl_write *w) {
    struct klet_node *n = r->slots.v[slot].node;
    struct sl_jw *j = &SL_JW(&w->body);

    if (r->slots.v[slot].kind == SLOT_LEASE)
        return klet_lease_build(r, n, w);
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
        klet_node_put_labels(j, r, n);
        sl_jw_end(j);
        klet_node_put_spec(j, r, n);
        klet_node_put_status(j, r, n);
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
        klet_node_put_labels(j, r, n);
        sl_jw_end(j);
        klet_node_put_spec(j, r, n);
    } else {
        klet_node_put_status(j, r, n);
    }
    sl_jw_end(j);
    return true;
}

static void node_is_ok(struct sl_kubelet *r, uint32_t slot, struct klet_node *n,
                       yyjson_val *object) {
    struct klet_nodes *ns = r->nodes;

    if (!n->guest && ns->ready < ns->wanted)
        ns->ready++;
    n->step = NODE_OK;
    klet_lease_begin(r, n, object);
    if (!n->sim)
        sl_writer_enqueue_at(r->writer, slot, 1, r->client->mono + STATUS_EVERY);
}

void klet_node_done(struct sl_kubelet *r, uint32_t slot, enum sl_written how,
                    const struct sl_kube_reply *rp) {
    struct klet_node *n = r->slots.v[slot].node;
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;

    if (r->slots.v[slot].kind == SLOT_LEASE) {
        klet_lease_done(r, n, how);
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
        return;
    }
    if (how == SL_WRITTEN && sl_json_read(rp->body, rp->len, &d, NULL) < 0)
        d = NULL;
    /* Is the created one ready? A server may drop the status on create. */
    yyjson_val *o = d ? yyjson_doc_get_root(d) : NULL;
    if (how == SL_WRITTEN &&
        (n->step == NODE_STATUS || (n->step == NODE_CREATE && sl_json_condition(o, "Ready")))) {
        node_is_ok(r, slot, n, o);
    } else if (how == SL_WRITTEN) {
        n->step = NODE_STATUS;
        sl_writer_enqueue(r->writer, slot, 0);
    }
}

/* It is there already: others' taints stay. */
void klet_node_read(struct sl_kubelet *r, uint32_t slot, const struct sl_kube_reply *rp) {
    struct klet_node *n = r->slots.v[slot].node;
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    const char *own = n && n->virtual ? VIRTUAL_TAINT : LOCAL_TAINT;
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
        if (strcmp(sl_json_str(t, "key"), own) != 0)
            sl_jw_val(&j, NULL, t);
    }
    sl_jw_end(&j);
    sl_freep(&n->taints);
    n->taints = sl_strdup(sl_buf_str(&b));
}

/* ---- all of them ---- */

static struct klet_node *add_node(struct sl_kubelet *r, const char *name, bool sim,
                                  enum klet_node_step step) {
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
    sl_freep(&n->uid);
    sl_freep(&n->name);
    sl_freep(&n->taints);
    sl_freep(&n);
}

/* ---- guests and virtual ones ---- */

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

static void named_node_add(struct sl_kubelet *r, struct klet_node *n) {
    sl_map_add(&r->nodes->named, sl_hash_str(0, n->name), n->slot);
}

/* A pod may have been bound to it before its Node was observed. */
static void list_pods(struct sl_kubelet *r, struct klet_node *n) {
    char path[400];

    sl_fmt(path, sizeof path, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", n->name);
    n->pods = sl_kube_request(r->client, &(struct sl_kube_request){.method = SL_GET, .path = path},
                              pods_listed, n);
}

static void foreign_node_new(struct sl_kubelet *r, const char *name, bool ready) {
    struct klet_nodes *ns = r->nodes;
    struct klet_node *n;

    if (ns->n_guests >= RT_MAX_FOREIGN_NODES) {
        if (!ns->crowded)
            sl_log(SL_LOG_WARN, "node ignored: too many simulated nodes",
                   SL_I("limit", RT_MAX_FOREIGN_NODES), SL_S("node", name));
        ns->crowded = true;
    }
    if (ns->n_guests >= RT_MAX_FOREIGN_NODES || strlen(name) > 253)
        return;
    n = add_node(r, name, true, ready ? NODE_OK : NODE_STATUS);
    n->guest = true;
    ns->n_guests++;
    named_node_add(r, n);
    list_pods(r, n);
}

/* Its pods end with it; 'named' tells those that are observed later that it was there. */
static void virtual_node_lost(struct sl_kubelet *r, const char *name) {
    struct klet_node *n = add_node(r, name, true, NODE_DELETE);

    n->virtual = n->lost = true;
    named_node_add(r, n);
    list_pods(r, n);
}

static void named_node_drop(struct sl_kubelet *r, struct klet_node *n) {
    struct klet_nodes *ns = r->nodes;

    for (uint32_t i = 0; i < ns->all.n; i++)
        if (ns->all.v[i] == n)
            ns->all.v[i--] = ns->all.v[--ns->all.n];
    ns->n_guests -= n->guest;
    (void)sl_map_del(&ns->named, sl_hash_str(0, n->name), n->slot);
    klet_slot_free(r, n->slot);
    klet_lease_end(r, n);
    node_free(n);
}

static void list_begins(void *ctx) {
    const struct klet_nodes *ns = ((struct sl_kubelet *)ctx)->nodes;

    for (uint32_t i = 0; i < ns->all.n; i++)
        ns->all.v[i]->seen = false;
}

/* Of an earlier run of ours, and no longer configured? Then it goes. */
static bool node_is_lost(struct sl_kubelet *r, yyjson_val *o) {
    const char *name = sl_json_str(o, "metadata.name");
    const enum klet_node_owner owner = klet_node_owner_of(r, name);

    if (sl_reflector_synced(r->nodes->labelled))
        return false;
    if (owner == NODE_OWNER_LOST && !named_node_find(r, name))
        (void)add_node(r, name, true, NODE_DELETE);
    else if (owner == NODE_OWNER_OTHER && *sl_json_annotation(o, VIRTUAL_ANNOTATION))
        virtual_node_lost(r, name);
    return klet_node_owner_of(r, name) == NODE_OWNER_LOST;
}

static void guest_seen(struct sl_kubelet *r, yyjson_val *o) {
    const char *name = sl_json_str(o, "metadata.name");
    const bool ready = sl_json_condition(o, "Ready");
    struct klet_node *n = named_node_find(r, name);

    if (!n) {
        foreign_node_new(r, name, ready);
        n = named_node_find(r, name);
    } else if (!ready && n->step == NODE_OK) {
        sl_writer_enqueue(r->writer, n->slot, 0);
    }
    if (n) {
        n->seen = true;
        if (n->step == NODE_OK)
            klet_lease_begin(r, n, o);
        n->sized = sl_json_size(sl_json_at(o, "status.capacity")) > 0;
    }
}

static void node_seen(void *ctx, yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    const char *name = sl_json_str(o, "metadata.name");
    struct klet_node *n = named_node_find(r, name);
    const enum klet_node_owner owner = klet_node_owner_of(r, name);

    if (node_is_lost(r, o) || (n && n->lost && n->step != NODE_GONE))
        return;
    if (n && n->lost) { /* another client has created it again */
        named_node_drop(r, n);
        n = NULL;
    }
    if (n ? n->guest : owner != NODE_OWNER_LOCAL && owner != NODE_OWNER_SIM)
        guest_seen(r, o);
}

/* Deleted, or it lost the label. */
static void node_unseen(void *ctx, yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    const char *name = sl_json_str(o, "metadata.name");
    struct klet_nodes *ns = r->nodes;
    struct klet_node *n = named_node_find(r, name);

    if (n && n->guest) {
        named_node_drop(r, n);
        return;
    }
    for (uint32_t i = 0; i < ns->all.n; i++) /* one of ours: it stays away, as with a kubelet */
        if (ns->all.v[i]->sim && strcmp(ns->all.v[i]->name, name) == 0)
            ns->all.v[i]->gone = true;
}

static void list_ends(void *ctx, bool exists) {
    struct sl_kubelet *r = ctx;

    (void)exists;
    for (uint32_t i = r->nodes->all.n; i-- > 0;)
        if (r->nodes->all.v[i]->guest && !r->nodes->all.v[i]->seen)
            named_node_drop(r, r->nodes->all.v[i]);
}

/* ---- in and out ---- */

void klet_nodes_begin(struct sl_kubelet *r) {
    struct klet_nodes *ns = r->nodes = sl_alloc0(1, sizeof *ns);
    char name[40];

    klet_machine_inspect(&ns->machine, r->dir);
    klet_machine_address(r->address);
    ns->since = r->client->wall;
    ns->wanted = r->sim.count + (r->node != NULL);
    for (const char *const *v = r->sim.virtual_nodes; *v; v++)
        ns->wanted++;
    if (r->node) {
        ns->real = add_node(r, r->node, false, NODE_CREATE);
        klet_lease_begin(r, ns->real, NULL);
    }
    for (uint32_t i = 0; i < r->sim.count; i++) {
        sim_name(name, i);
        (void)add_node(r, name, true, NODE_CREATE);
    }
    for (const char *const *v = r->sim.virtual_nodes; *v; v++) {
        struct klet_node *n = add_node(r, *v, true, NODE_CREATE);
        n->virtual = true;
        named_node_add(r, n);
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
    klet_leases_tick(r);
}

sl_time klet_nodes_next(const struct sl_kubelet *r) {
    return sl_time_min(sl_reflector_next(r->nodes->labelled), r->nodes->renew_at);
}

void klet_nodes_free(struct sl_kubelet *r) {
    struct klet_nodes *ns = r->nodes;

    if (!ns)
        return;
    sl_reflector_free(ns->labelled);
    for (uint32_t i = 0; i < ns->all.n; i++)
        node_free(ns->all.v[i]);
    sl_vec_free(&ns->all);
    sl_map_done(&ns->named);
    sl_freep(&r->nodes);
}

bool klet_nodes_ready(const struct sl_kubelet *r) {
    return r->nodes->ready >= r->nodes->wanted;
}
