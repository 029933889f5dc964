/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Leases of nodes, by which a node lifecycle controller knows that they are alive. That of the
 * machine is written every ten seconds, as by a kubelet. Those of simulated nodes are made once the
 * nodes are ready, and then renewed in memory (renew_lease), some of them each second, so that each
 * has its turn within the 40 s after which such a controller takes a node for dead.
 */
#include <string.h>

#include "cluster/kubelet/node.h"
#include "lib/json/json.h"

#define LEASE_EVERY (10 * SL_SEC)
#define LEASE_SECONDS 40
#define LEASE_AGAIN SL_SEC
#define SIM_EVERY (25 * SL_SEC)
#define SIM_BEGIN (2 * SL_SEC) /* after the node is ready: others come first */
#define TURN SL_SEC
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

static bool is_alive(const struct klet_node *n) {
    return !n->gone && !n->lost && n->step != NODE_GONE && n->step != NODE_DELETE;
}

void klet_lease_begin(struct sl_kubelet *r, struct klet_node *n, yyjson_val *object) {
    const char *uid = sl_json_str(object, "metadata.uid");

    if (*uid && (!n->uid || strcmp(n->uid, uid) != 0)) {
        sl_freep(&n->uid);
        n->uid = sl_strdup(uid);
    }
    if (n->has_lease_slot || (n->sim && (!r->renew_lease || !n->uid)))
        return;
    n->lease_slot = klet_slot_new(r, SLOT_LEASE);
    r->slots.v[n->lease_slot].node = n;
    n->has_lease_slot = true;
    sl_writer_enqueue_at(r->writer, n->lease_slot, n->sim ? 2 : 1,
                         r->client->mono + (n->sim ? SIM_BEGIN : 0));
}

void klet_lease_end(struct sl_kubelet *r, struct klet_node *n) {
    if (n->has_lease_slot)
        klet_slot_free(r, n->lease_slot);
    n->has_lease_slot = n->lease_is = false;
}

/* It goes with its node. */
static void put_owner(struct sl_jw *j, const struct klet_node *n) {
    sl_jw_array(j, "ownerReferences");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "v1");
    sl_jw_str(j, "kind", "Node");
    sl_jw_str(j, "name", n->name);
    sl_jw_str(j, "uid", n->uid);
    sl_jw_end(j);
    sl_jw_end(j);
}

bool klet_lease_build(struct sl_kubelet *r, struct klet_node *n, struct sl_write *w) {
    if (!is_alive(n) || (n->sim && n->lease_is))
        return false;
    w->method = n->lease_is ? SL_PATCH : SL_POST;
    w->content_type = n->lease_is ? SL_MERGE_PATCH : SL_JSON;
    sl_buf_puts(&w->path, LEASES);
    if (n->lease_is)
        sl_buf_printf(&w->path, "/%s", n->name);
    struct sl_jw *j = &SL_JW(&w->body);
    sl_jw_object(j, NULL);
    if (!n->lease_is) {
        sl_jw_str(j, "apiVersion", "coordination.k8s.io/v1");
        sl_jw_str(j, "kind", "Lease");
    }
    if (!n->lease_is || n->uid) {
        sl_jw_object(j, "metadata");
        if (!n->lease_is)
            sl_jw_str(j, "name", n->name);
        if (n->uid)
            put_owner(j, n);
        sl_jw_end(j);
    }
    sl_jw_object(j, "spec");
    sl_jw_str(j, "holderIdentity", n->name);
    sl_jw_int(j, "leaseDurationSeconds", LEASE_SECONDS);
    sl_jw_micro_time(j, "renewTime", r->client->wall);
    sl_jw_end_to(j, 0);
    return true;
}

void klet_lease_done(struct sl_kubelet *r, struct klet_node *n, enum sl_written how) {
    if (how == SL_WRITTEN || how == SL_WRITE_CONFLICT)
        n->lease_is = true;
    else if (how == SL_WRITE_GONE)
        n->lease_is = false;
    if (!n->sim && (how == SL_WRITTEN || how == SL_WRITE_GONE))
        sl_writer_enqueue_at(r->writer, n->lease_slot, 1,
                             r->client->mono + (how == SL_WRITTEN ? LEASE_EVERY : LEASE_AGAIN));
}

static void renew(struct sl_kubelet *r, struct klet_node *n) {
    struct sl_err err;

    if (!n->sim || !n->lease_is || !is_alive(n))
        return;
    if (r->renew_lease(r->renew_ctx, n->name, &err) != SL_ENOENT)
        return;          /* an error of the disk passes */
    n->lease_is = false; /* a client has deleted it */
    sl_writer_enqueue(r->writer, n->lease_slot, 2);
}

void klet_leases_tick(struct sl_kubelet *r) {
    struct klet_nodes *ns = r->nodes;
    uint32_t n = ns->all.n;

    if (!r->renew_lease || n <= (r->node != NULL)) {
        ns->renew_at = SL_TIME_NEVER;
        return;
    }
    if (!ns->renew_at || ns->renew_at == SL_TIME_NEVER)
        ns->renew_at = r->client->mono + TURN;
    if (r->client->mono < ns->renew_at)
        return;
    ns->renew_at = r->client->mono + TURN;
    for (uint32_t i = 0, some = (uint32_t)(n / (SIM_EVERY / TURN)) + 1; i < some && i < n; i++) {
        ns->renewed = ns->renewed + 1 < n ? ns->renewed + 1 : 0;
        renew(r, ns->all.v[ns->renewed]);
    }
}
