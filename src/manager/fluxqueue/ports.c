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
        if (fq_port_is(fq_str(q, u->v[i].resource)) && !is_pool(q, u->v[i].resource)) {
            q->rebuild |= q->ports.n < FQ_MAX_PORTS;
            q->ports_wanted |= q->ports.n >= FQ_MAX_PORTS;
        }
}

/* The graph is made for all that wait, also for those that are not asked again before the next. */
static void remember(struct sl_fluxqueue *q, sl_sym port) {
    for (uint32_t i = 0; i < q->asked_ports.n; i++)
        if (q->asked_ports.v[i].port == port) {
            q->asked_ports.v[i].age = 0;
            return;
        }
    if (q->asked_ports.n < FQ_MAX_PORTS)
        *sl_vec_push(&q->asked_ports) = (struct fq_asked_port){port, 0};
}

void fq_ports_ask(struct sl_fluxqueue *q, const struct fq_usage *u) {
    for (uint32_t i = 0; i < u->n; i++)
        if (fq_port_is(fq_str(q, u->v[i].resource)))
            remember(q, u->v[i].resource);
    fq_ports_demand(q, u);
}

void fq_ports_released(struct sl_fluxqueue *q, const struct fq_usage *u) {
    for (uint32_t i = 0; u && i < u->n; i++)
        q->rebuild |= q->ports_wanted && is_pool(q, u->v[i].resource);
}

/* A port, and since when somebody asks for it. */
struct asked {
    const char *name;
    sl_sym y;
    sl_time since;
};
/* There may be as many as there are ports: anybody can ask for some. */
struct asked_ports {
    SL_VEC(struct asked) all;
    struct sl_map by_port; /* -> the place */
};

static void add_port(const struct sl_fluxqueue *q, sl_sym port, sl_time since,
                     struct asked_ports *to) {
    const char *name = fq_str(q, port);
    if (!fq_port_is(name))
        return;
    uint32_t k = sl_map_get(&to->by_port, port);
    if (k == SL_MAP_NONE) {
        sl_map_add(&to->by_port, port, to->all.n);
        *sl_vec_push(&to->all) = (struct asked){name, port, since};
    } else if (since < to->all.v[k].since) {
        to->all.v[k].since = since;
    }
}

static void add(const struct sl_fluxqueue *q, const struct fq_usage *u, sl_time since,
                struct asked_ports *to) {
    for (uint32_t i = 0; u && i < u->n; i++)
        add_port(q, u->v[i].resource, since, to);
}

/* Workloads that have their places come first, those that ask for some last. */
static void add_held(struct sl_fluxqueue *q, const struct fq_usage *u, void *to) {
    add(q, u, 0, to);
}

static void add_asked(struct sl_fluxqueue *q, struct asked_ports *to) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->asked_ports.n; i++) {
        struct fq_asked_port a = q->asked_ports.v[i];
        add_port(q, a.port, SL_TIME_NEVER, to);
        if (++a.age < FQ_PORT_AGE)
            q->asked_ports.v[n++] = a;
    }
    q->asked_ports.n = n;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct asked *)a)->name, ((const struct asked *)b)->name);
}

static int by_age(const void *a, const void *b) {
    const struct asked *x = a, *y = b;
    return x->since < y->since ? -1 : x->since > y->since ? 1 : by_name(a, b);
}

/* Of too many those that were asked for first, so that nobody loses one to whoever asks for many.
 * By name, so that a process that starts anew has the same. */
static void choose(struct sl_fluxqueue *q, struct asked_ports *of) {
    struct asked *v = of->all.v;
    uint32_t n = of->all.n;
    if (n)
        qsort(v, n, sizeof *v, by_age);
    q->ports_wanted = n > FQ_MAX_PORTS;
    if (q->ports_wanted) {
        sl_log(SL_LOG_WARN, "host ports without a pool: too many different ones", SL_I("ports", n),
               SL_I("limit", FQ_MAX_PORTS));
        n = FQ_MAX_PORTS;
    }
    if (n)
        qsort(v, n, sizeof *v, by_name);
    sl_vec_clear(&q->ports);
    for (uint32_t i = 0; i < n; i++)
        *sl_vec_push(&q->ports) = v[i].y;
}

void fq_ports_collect(struct sl_fluxqueue *q) {
    struct asked_ports v = {0};
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_POD, &at));)
        if (fq_pod_of(r)->ours)
            add(q, fq_pod_of(r)->usage, r->created, &v);
    for (uint32_t k = FQ_DEPLOYMENT; k <= FQ_JOB; k++) {
        at = 0;
        for (struct sl_rec *r; (r = sl_inf_each(q->inf, k, &at));)
            add(q, fq_obj_of(r)->usage, r->created, &v);
    }
    fq_exact_each_usage(q, add_held, &v);
    add_asked(q, &v);
    choose(q, &v);
    sl_vec_free(&v.all);
    sl_map_done(&v.by_port);
}

void fq_ports_put(struct sl_fluxqueue *q, struct fq_node *n) {
    for (uint32_t i = 0; i < n->pools.n; i++)
        if (fq_port_is(fq_str(q, n->pools.v[i].resource)))
            n->pools.v[i].allocatable = 0;
    for (uint32_t i = 0; i < q->ports.n; i++)
        fq_pool_need(n, q->ports.v[i])->allocatable = 1;
}
