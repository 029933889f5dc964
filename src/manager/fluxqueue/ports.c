/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host ports. A port that some pod of ours asks for is a pool of one on every node, under the name
 * "fluxqueue/host-port-tcp-8080", and whoever has it takes that one, pods of others as well. So a
 * port is a resource like any other: for the matcher, for reservations, and after a restart.
 *
 * The address that a port is bound to does not count: two pods with the same port at different
 * addresses are not put on one node, though they could be.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/podset.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define PREFIX "fluxqueue/host-port-"

bool fq_port_is(const char *resource) {
    return strncmp(resource, PREFIX, strlen(PREFIX)) == 0;
}

static int by_number(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

bool fq_ports_read(yyjson_val *pod_spec, struct fq_ports *ret) {
    uint32_t found = sl_podspec_host_ports(pod_spec, ret->v, FQ_MAX_POD_PORTS), n = 0;
    ret->n = found < FQ_MAX_POD_PORTS ? found : FQ_MAX_POD_PORTS;
    if (ret->n)
        qsort(ret->v, ret->n, sizeof *ret->v, by_number);
    for (uint32_t i = 0; i < ret->n; i++)
        if (n == 0 || ret->v[n - 1] != ret->v[i])
            ret->v[n++] = ret->v[i];
    ret->n = n;
    return found <= FQ_MAX_POD_PORTS;
}

const char *fq_port_name(uint32_t port, char out[FQ_PORT_NAME]) {
    static const char *const protocols[] = {"tcp", "udp", "sctp"};
    sl_fmt(out, FQ_PORT_NAME, PREFIX "%s-%u", protocols[port >> 16], port & 0xffff);
    return out;
}

/* ---- which are pools ---- */

static bool is_pool(const struct sl_fluxqueue *q, sl_sym port) {
    for (uint32_t i = 0; i < q->ports.n; i++)
        if (q->ports.v[i] == port)
            return true;
    return false;
}

void fq_ports_demand(struct sl_fluxqueue *q, const struct fq_usage *u) {
    for (uint32_t i = 0; u && i < u->n; i++)
        if (fq_port_is(fq_str(q, u->v[i].resource)) && !is_pool(q, u->v[i].resource) &&
            q->ports.n < FQ_MAX_PORTS)
            q->rebuild = true;
}

static void add(struct sl_fluxqueue *q, const struct fq_usage *u) {
    for (uint32_t i = 0; u && i < u->n; i++)
        if (fq_port_is(fq_str(q, u->v[i].resource)) && !is_pool(q, u->v[i].resource))
            *sl_vec_push(&q->ports) = u->v[i].resource;
}

struct named {
    const char *name;
    sl_sym y;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* By name, so that a process that starts anew has the same. */
static void sort(struct sl_fluxqueue *q) {
    struct named *v = sl_alloc0(q->ports.n + 1, sizeof *v);
    for (uint32_t i = 0; i < q->ports.n; i++)
        v[i] = (struct named){fq_str(q, q->ports.v[i]), q->ports.v[i]};
    qsort(v, q->ports.n, sizeof *v, by_name);
    for (uint32_t i = 0; i < q->ports.n; i++)
        q->ports.v[i] = v[i].y;
    sl_freep(&v);
}

void fq_ports_collect(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    sl_vec_clear(&q->ports);
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));)
        if (fq_pod_of(r)->ours)
            add(q, fq_pod_of(r)->usage);
    for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_JOB; k++) {
        at = 0;
        for (struct sl_rec *r; (r = sl_inf_each(q->inf, k, &at));)
            add(q, fq_obj_of(r)->usage);
    }
    sort(q);
    if (q->ports.n > FQ_MAX_PORTS) {
        sl_log(SL_LOG_WARN, "host ports without a pool: too many different ones",
               SL_I("ports", q->ports.n), SL_I("limit", FQ_MAX_PORTS));
        q->ports.n = FQ_MAX_PORTS;
    }
}

void fq_ports_put(struct sl_fluxqueue *q, struct fq_node *n) {
    for (uint32_t i = 0; i < n->pools.n; i++)
        if (fq_port_is(fq_str(q, n->pools.v[i].resource)))
            n->pools.v[i].allocatable = 0;
    for (uint32_t i = 0; i < q->ports.n; i++)
        fq_pool_need(n, q->ports.v[i])->allocatable = 1;
}
