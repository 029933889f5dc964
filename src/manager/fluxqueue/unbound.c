/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods whose binding the API server has refused: some admission webhook or policy does not want
 * them on that node. Trying it for ever would leave them where they are, so the place is given back
 * and another node is looked for, of those that did not refuse: at once the first time, then at
 * growing distance. After a while a node that refused is as good as any other. What the API server
 * said stands in an event, and in the FluxJob or in the condition of the pod.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/fluxqueue/fq_int.h"

#define AVOID (5 * SL_MINUTE)
#define KUBE_PATIENCE (10 * SL_SEC) /* with kube-scheduler, which may be behind */
#define FIRST_PAUSE SL_SEC
#define LONGEST_PAUSE SL_MINUTE
#define MAX_AVOIDED 16u   /* nodes of one pod or job; then the oldest is tried again */
#define MAX_TOGETHER 256u /* of all pods that are looked for at once; others are tried again */
#define MAX_TEXT 400u

struct fq_unbound {
    sl_sym nodes[MAX_AVOIDED]; /* the oldest first */
    uint32_t n, tries;
    sl_time until, not_before; /* mono */
    sl_time tried;             /* mono: of a job, when the last of 'tries' was */
    char text[MAX_TEXT];
};

static void add_node(struct fq_unbound *u, sl_sym node) {
    for (uint32_t i = 0; i < u->n; i++)
        if (u->nodes[i] == node)
            return;
    if (u->n == MAX_AVOIDED)
        memmove(u->nodes, u->nodes + 1, --u->n * sizeof *u->nodes);
    u->nodes[u->n++] = node;
}

/* The place is nobody's any more. */
static void give_back(struct sl_fluxqueue *q, struct fq_job *j, struct fq_pod *p) {
    uint32_t i = 0;
    while (i < j->places.n && j->places.v[i].pod != p->rec.id)
        i++;
    fq_pod_target(q, p, 0);
    if (i < j->places.n) {
        const struct fq_place left = j->places.v[i];
        memmove(&j->places.v[i], &j->places.v[i + 1], (j->places.n - i - 1) * sizeof *j->places.v);
        j->places.n--;
        if (q->match)
            fq_graph_hold(q, j);
        fq_graph_leave(q, j, &left);
    }
    sl_rec_enqueue(&j->rec);
}

static struct fq_unbound *refuse(const struct sl_fluxqueue *q, struct fq_unbound **at, sl_sym node,
                                 const char *text) {
    struct fq_unbound *u = *at ? *at : sl_alloc0(1, sizeof *u);
    *at = u;
    if (u->until <= q->client->mono)
        u->n = 0;
    add_node(u, node);
    sl_fmt_short(u->text, sizeof u->text, "%s", text);
    u->tries++;
    u->until = q->client->mono + AVOID;
    return u;
}

void fq_unbound_elsewhere(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                          const char *text) {
    if (!p->target || p->node || p->ended || p->rec.deleting)
        return;
    uint32_t tries = p->unbound ? p->unbound->tries : 0;
    sl_span pause = tries == 0 ? 0 : tries > 6u ? LONGEST_PAUSE : FIRST_PAUSE << (tries - 1);
    struct fq_unbound *u = refuse(q, &p->unbound, p->target, text);
    u->not_before = q->client->mono + (pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
    p->conflicts = 0;
    sl_rec_event(&p->rec, SL_FLUX_SCHEDULER, true, "FailedBinding", "%s", u->text);
    if (j && j->held) {
        give_back(q, j, p);
    } else if (!j) {
        fq_plain_drop(q, p);
        fq_pod_target(q, p, 0);
        sl_rec_enqueue(&p->rec);
    }
}

void fq_unbound_refused(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                        const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
    const char *message = sl_json_str(yyjson_doc_get_root(d), "message");
    char text[MAX_TEXT];
    sl_fmt_short(text, sizeof text, "The API server refused the binding to %s (%d)%s%.240s",
                 fq_str(q, p->target), reply->status, *message ? ": " : "", message);
    fq_unbound_elsewhere(q, p, j, text);
}

void fq_unbound_conflict(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                         const struct sl_kube_reply *reply) {
    if (++p->conflicts >= FQ_MAX_CONFLICTS)
        fq_unbound_refused(q, p, j, reply);
}

const char *fq_unbound_text(const struct fq_pod *p) {
    return p->unbound ? p->unbound->text : NULL;
}

/* ---- those that kube-scheduler binds ---- */

static bool is_recent(const struct sl_fluxqueue *q, const struct fq_unbound *u) {
    return u && u->until > q->client->mono;
}

void fq_unbound_job(struct sl_fluxqueue *q, struct fq_job *j, sl_sym node, sl_time since,
                    const char *text) {
    if (!is_recent(q, j->unbound))
        sl_freep(&j->unbound); /* that was another matter */
    bool again = !j->unbound || since > j->unbound->tried;
    struct fq_unbound *u = refuse(q, &j->unbound, node, text);
    if (again)
        u->tried = q->client->mono;
    else
        u->tries--; /* it was refused together with another one */
}

sl_span fq_unbound_patience(const struct sl_fluxqueue *q, const struct fq_job *j) {
    uint32_t tries = is_recent(q, j->unbound) ? j->unbound->tries : 0;
    return tries > 4u ? AVOID / 2 : KUBE_PATIENCE << tries;
}

const char *fq_unbound_job_text(const struct sl_fluxqueue *q, const struct fq_job *j) {
    return is_recent(q, j->unbound) ? j->unbound->text : NULL;
}

/* ---- which nodes ---- */

bool fq_unbound_avoids(const struct sl_fluxqueue *q, const struct fq_unbound *u, sl_sym node) {
    for (uint32_t i = 0; u && u->until > q->client->mono && i < u->n; i++)
        if (u->nodes[i] == node)
            return true;
    return false;
}

static sl_time wall_of(const struct sl_fluxqueue *q, sl_time mono) {
    return sl_time_add(q->client->wall, mono - q->client->mono);
}

bool fq_unbound_pauses(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_time *ret) {
    if (!p->unbound || p->unbound->not_before <= q->client->mono)
        return false;
    *ret = wall_of(q, p->unbound->not_before);
    return true;
}

sl_time fq_unbound_until(const struct sl_fluxqueue *q, const struct fq_pod *p) {
    return p->unbound && p->unbound->until > q->client->mono ? wall_of(q, p->unbound->until) : 0;
}

static void add_host(const char **hosts, uint32_t *n, const char *name) {
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(hosts[i], name) == 0)
            return;
    if (*n < MAX_TOGETHER)
        hosts[(*n)++] = name;
}

static bool make(const char **hosts, uint32_t n, struct sl_arena *a, struct sl_constraint *ret) {
    struct sl_constraint *in = sl_arena_alloc(a, sizeof *in);
    if (n == 0)
        return false;
    *in = (struct sl_constraint){.kind = SL_CONSTRAINT_HOSTS, .names = hosts, .n_names = n};
    *ret = (struct sl_constraint){.kind = SL_CONSTRAINT_NOT, .terms = in, .n_terms = 1};
    return true;
}

static void add_hosts(const struct sl_fluxqueue *q, const struct fq_unbound *u, const char **hosts,
                      uint32_t *n) {
    for (uint32_t i = 0; u && u->until > q->client->mono && i < u->n; i++)
        add_host(hosts, n, fq_str(q, u->nodes[i]));
}

bool fq_unbound_where(const struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_pod *p,
                      struct sl_arena *a, struct sl_constraint *ret) {
    const char **hosts = sl_arena_alloc(a, 2 * MAX_AVOIDED * sizeof *hosts);
    uint32_t n = 0;
    if (j)
        add_hosts(q, j->unbound, hosts, &n);
    add_hosts(q, p->unbound, hosts, &n);
    return make(hosts, n, a, ret);
}

bool fq_unbound_where_all(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                          struct sl_constraint *ret) {
    const char **hosts = sl_arena_alloc(a, MAX_TOGETHER * sizeof *hosts);
    struct fq_pods_of at = {0};
    uint32_t n = 0;
    add_hosts(q, j->unbound, hosts, &n);
    for (struct fq_pod *p; (p = fq_job_next_pod(q, j, &at));)
        if (!p->ended && !p->node && !p->target)
            add_hosts(q, p->unbound, hosts, &n);
    return make(hosts, n, a, ret);
}

void fq_unbound_hold(struct sl_syms *t, const struct fq_unbound *u) {
    for (uint32_t i = 0; u && i < u->n; i++)
        sl_sym_hold(t, u->nodes[i]);
}

void fq_unbound_free(struct fq_pod *p) {
    sl_freep(&p->unbound);
}
