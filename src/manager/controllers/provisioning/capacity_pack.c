/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/provisioning/capacity_pack.h"
#include "manager/controllers/core/ceilings.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/collection/sym.h"
#include "core/base/collection/vec.h"

#define NO_COLUMN UINT32_MAX

struct port_use {
    uint32_t port, n;
};

struct node {
    char *name;
    bool known; /* observed; else there are pods on a node of this name that does not exist yet */
    bool counts_pods;
    struct sl_topo_node is; /* labels and taints, in the arena */
    struct sl_arena arena;
    SL_VEC(sl_quantity) has, used, left; /* by column; what is missing is 0 */
    SL_VEC(struct port_use) ports;       /* of those that stand there */
    SL_VEC(uint32_t) taken;              /* ports taken in the session */
};

struct mgr_pack {
    struct sl_syms resources; /* a column each, from 1 */
    struct sl_map by_name;
    SL_VEC(struct node *) nodes; /* by name, once 'sorted' */
    bool sorted;
    sl_sym pods;
    struct sl_map from; /* where the search for equal pods starts: hash -> index into 'nodes' */
};

struct mgr_pack *mgr_pack_new(void) {
    struct mgr_pack *k = sl_alloc0(1, sizeof *k);
    sl_syms_init(&k->resources);
    k->pods = sl_sym_put(&k->resources, "pods");
    return k;
}

static void node_free(struct node *n) {
    sl_arena_done(&n->arena);
    sl_vec_free(&n->has);
    sl_vec_free(&n->used);
    sl_vec_free(&n->left);
    sl_vec_free(&n->ports);
    sl_vec_free(&n->taken);
    sl_freep(&n->name);
    sl_freep(&n);
}

void mgr_pack_free(struct mgr_pack *k) {
    if (!k)
        return;
    for (uint32_t i = 0; i < k->nodes.n; i++)
        node_free(k->nodes.v[i]);
    sl_vec_free(&k->nodes);
    sl_map_done(&k->by_name);
    sl_map_done(&k->from);
    sl_syms_done(&k->resources);
    sl_freep(&k);
}

/* ---- amounts by column ---- */

static uint32_t column(struct mgr_pack *k, const char *resource) {
    sl_sym y = sl_sym_find(&k->resources, resource);
    if (y != SL_MAP_NONE)
        return y;
    return k->resources.names.n < PACK_MAX_RESOURCES ? sl_sym_put(&k->resources, resource)
                                                     : NO_COLUMN;
}

#define AT(vec, i) ((i) < (vec).n ? (vec).v[i] : 0)

#define ADD(vec, i, q)                                                                             \
    do {                                                                                           \
        while ((vec).n <= (i))                                                                     \
            *sl_vec_push(&(vec)) = 0;                                                              \
        (vec).v[i] += (q);                                                                         \
    } while (0)

/* ---- nodes ---- */

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct node *const *)a)->name, (*(struct node *const *)b)->name);
}

/* Order first: numbers in the map are places in the list. */
static void sort(struct mgr_pack *k) {
    if (k->sorted)
        return;
    k->sorted = true;
    if (k->nodes.n > 1)
        qsort(k->nodes.v, k->nodes.n, sizeof(struct node *), by_name);
    sl_map_done(&k->by_name);
    k->by_name = (struct sl_map){0};
    for (uint32_t i = 0; i < k->nodes.n; i++)
        sl_map_add(&k->by_name, sl_hash_str(0, k->nodes.v[i]->name), i);
}

static struct node *find_node(struct mgr_pack *k, const char *name) {
    uint64_t h = sl_hash_str(0, name);
    sl_map_foreach (i, &k->by_name, h)
        if (strcmp(k->nodes.v[i]->name, name) == 0)
            return k->nodes.v[i];
    return NULL;
}

static struct node *get_node(struct mgr_pack *k, const char *name) {
    struct node *n = find_node(k, name);
    if (n)
        return n;
    n = sl_alloc0(1, sizeof *n);
    n->name = sl_strdup(name);
    sl_arena_init(&n->arena, CEILING_NODE);
    sl_map_add(&k->by_name, sl_hash_str(0, name), k->nodes.n);
    *sl_vec_push(&k->nodes) = n;
    k->sorted = false;
    return n;
}

static void drop_if_empty(struct mgr_pack *k, struct node *n) {
    bool empty = !n->known && !n->ports.n;
    for (uint32_t i = 0; empty && i < n->used.n; i++)
        empty = n->used.v[i] == 0;
    if (!empty)
        return;
    uint32_t i = 0;
    while (k->nodes.v[i] != n)
        i++;
    k->nodes.v[i] = k->nodes.v[--k->nodes.n];
    k->sorted = false;
    sort(k);
    node_free(n);
}

void mgr_pack_node(struct mgr_pack *k, const struct sl_topo_node *reported) {
    struct node *n = get_node(k, reported->name);
    sl_arena_done(&n->arena);
    sl_arena_init(&n->arena, CEILING_NODE);
    n->known = true;
    n->is = (struct sl_topo_node){
        .usable = reported->usable, .n_taints = reported->n_taints, .labels.n = reported->labels.n};
    struct sl_label *labels = sl_arena_alloc0(&n->arena, reported->labels.n + 1, sizeof *labels);
    for (uint32_t i = 0; i < reported->labels.n; i++)
        labels[i] = (struct sl_label){sl_arena_strdup(&n->arena, reported->labels.v[i].key),
                                      sl_arena_strdup(&n->arena, reported->labels.v[i].value)};
    n->is.labels.v = labels;
    struct sl_taint *taints = sl_arena_alloc0(&n->arena, reported->n_taints + 1, sizeof *taints);
    for (uint32_t i = 0; i < reported->n_taints; i++)
        taints[i] = (struct sl_taint){sl_arena_strdup(&n->arena, reported->taints[i].key),
                                      sl_arena_strdup(&n->arena, reported->taints[i].value),
                                      reported->taints[i].effect};
    n->is.taints = taints;
    sl_vec_clear(&n->has);
    n->counts_pods = false;
    for (uint32_t i = 0; i < reported->n_allocatable; i++) {
        uint32_t at = column(k, reported->allocatable[i].resource);
        n->counts_pods |= at == k->pods;
        if (at != NO_COLUMN)
            ADD(n->has, at, reported->allocatable[i].q);
    }
}

void mgr_pack_node_gone(struct mgr_pack *k, const char *name) {
    struct node *n = find_node(k, name);
    if (!n)
        return;
    n->known = false;
    drop_if_empty(k, n);
}

static void use_port(struct node *n, uint32_t port, int sign) {
    for (uint32_t i = 0; i < n->ports.n; i++) {
        if (n->ports.v[i].port != port)
            continue;
        if (sign > 0)
            n->ports.v[i].n++;
        else if (!--n->ports.v[i].n)
            n->ports.v[i] = n->ports.v[--n->ports.n];
        return;
    }
    if (sign > 0)
        *sl_vec_push(&n->ports) = (struct port_use){port, 1};
}

void mgr_pack_count_pod(struct mgr_pack *k, const char *node, const struct sl_request *v,
                        uint32_t n, const uint32_t *ports, uint32_t n_ports, int sign) {
    struct node *x = get_node(k, node);
    ADD(x->used, k->pods, (sl_quantity)sign * SL_NANO);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = column(k, v[i].resource);
        if (at != NO_COLUMN && at != k->pods)
            ADD(x->used, at, sign * v[i].q);
    }
    for (uint32_t i = 0; i < n_ports; i++)
        use_port(x, ports[i], sign);
    if (sign < 0)
        drop_if_empty(k, x);
}

/* ---- one node and one kind of pods ---- */

enum refusal { FINE, NOT_READY, TAINTED, ELSEWHERE, PORT_TAKEN, LACKS };

static bool tolerated(const struct node *n, const struct sl_podset_spec *s) {
    for (uint32_t i = 0; i < n->is.n_taints; i++)
        if (n->is.taints[i].effect != SL_TAINT_PREFER_NO_SCHEDULE &&
            !sl_taint_tolerated(&n->is.taints[i], s->tolerations, s->n_tolerations))
            return false;
    return true;
}

static bool selected(const struct node *n, const struct sl_podset_spec *s) {
    for (uint32_t i = 0; i < s->node_selector.n; i++) {
        const char *v = sl_labels_get(&n->is.labels, s->node_selector.v[i].key);
        if (!v || strcmp(v, s->node_selector.v[i].value) != 0)
            return false;
    }
    bool any = s->affinity.n == 0;
    for (uint32_t i = 0; i < s->affinity.n && !any; i++)
        any = sl_selector_matches(&s->affinity.terms[i], &n->is.labels);
    return any;
}

static bool port_free(const struct node *n, const struct mgr_pack_pods *p) {
    for (uint32_t i = 0; i < p->n_ports; i++) {
        for (uint32_t j = 0; j < n->ports.n; j++)
            if (n->ports.v[j].port == p->ports[i])
                return false;
        for (uint32_t j = 0; j < n->taken.n; j++)
            if (n->taken.v[j] == p->ports[i])
                return false;
    }
    return true;
}

/* Everything but resources. */
static enum refusal admits(const struct node *n, const struct mgr_pack_pods *p) {
    if (!n->is.usable)
        return NOT_READY;
    if (!selected(n, p->spec))
        return ELSEWHERE;
    if (!tolerated(n, p->spec))
        return TAINTED;
    return port_free(n, p) ? FINE : PORT_TAKEN;
}

/* How many of them more, by resources. */
static int32_t times(struct mgr_pack *k, const struct node *n, const struct mgr_pack_pods *p) {
    sl_quantity most = p->n_ports ? 1 : p->count; /* a host port is there once */
    if (n->counts_pods && AT(n->left, k->pods) / SL_NANO < most)
        most = AT(n->left, k->pods) / SL_NANO;
    for (uint32_t i = 0; i < p->spec->n_requests && most > 0; i++) {
        const struct sl_request *r = &p->spec->requests[i];
        uint32_t at = column(k, r->resource);
        if (r->q <= 0 || at == k->pods)
            continue;
        sl_quantity left = at == NO_COLUMN ? 0 : AT(n->left, at);
        if (left / r->q < most)
            most = left / r->q;
    }
    return most > 0 ? (int32_t)most : 0;
}

/* sign 1: charges the requests of so many pods, -1: returns them. */
static void charge_pods(struct mgr_pack *k, struct node *n, const struct mgr_pack_pods *p,
                        int32_t count, int sign) {
    sl_quantity by = (sl_quantity)sign * count;
    ADD(n->left, k->pods, -by * SL_NANO);
    for (uint32_t i = 0; i < p->spec->n_requests; i++) {
        uint32_t at = column(k, p->spec->requests[i].resource);
        if (p->spec->requests[i].q > 0 && at != NO_COLUMN && at != k->pods)
            ADD(n->left, at, -by * p->spec->requests[i].q);
    }
    if (sign < 0)
        n->taken.n -= p->n_ports;
    for (uint32_t i = 0; sign > 0 && i < p->n_ports; i++)
        *sl_vec_push(&n->taken) = p->ports[i];
}

/* ---- why not ---- */

struct tally {
    uint32_t nodes, by[LACKS + 1];
    uint32_t lack[PACK_MAX_RESOURCES]; /* by column */
    uint32_t nowhere;                  /* resources that have no column */
};

static void tally(struct mgr_pack *k, const struct node *n, const struct mgr_pack_pods *p,
                  struct tally *t) {
    enum refusal r = admits(n, p);
    t->nodes++;
    if (r != FINE) {
        t->by[r]++;
        return;
    }
    if (n->counts_pods && AT(n->left, k->pods) < SL_NANO)
        t->lack[k->pods]++;
    for (uint32_t i = 0; i < p->spec->n_requests; i++) {
        uint32_t at = column(k, p->spec->requests[i].resource);
        if (at == NO_COLUMN)
            t->nowhere++;
        else if (at != k->pods && p->spec->requests[i].q > 0 &&
                 AT(n->left, at) < p->spec->requests[i].q)
            t->lack[at]++;
    }
}

static void put_why(struct mgr_pack *k, const struct mgr_pack_pods *p, struct sl_buf *out) {
    static const struct {
        enum refusal why;
        const char *one, *many;
    } words[] = {
        {NOT_READY, "is not ready or closed", "are not ready or closed"},
        {TAINTED, "has a taint that is not tolerated", "have a taint that is not tolerated"},
        {ELSEWHERE, "has other labels than asked for", "have other labels than asked for"},
        {PORT_TAKEN, "has the host port taken", "have the host port taken"},
    };
    struct tally t = {0};
    const char *comma = " ";
    for (uint32_t i = 0; i < k->nodes.n; i++)
        if (k->nodes.v[i]->known)
            tally(k, k->nodes.v[i], p, &t);
    if (!t.nodes) {
        sl_buf_puts(out, "there is no node");
        return;
    }
    sl_buf_printf(out, "of %u node%s", t.nodes, t.nodes > 1 ? "s" : "");
    for (uint32_t i = 0; i < PACK_MAX_RESOURCES; i++) {
        if (!t.lack[i])
            continue;
        sl_buf_printf(out, "%s%u lack%s %s", comma, t.lack[i], t.lack[i] > 1 ? "" : "s",
                      i == k->pods ? "room for another pod" : sl_sym_str(&k->resources, i));
        comma = ", ";
    }
    if (t.nowhere) {
        sl_buf_printf(out, "%snone has all resources", comma);
        comma = ", ";
    }
    for (size_t i = 0; i < SL_LEN(words); i++) {
        uint32_t m = t.by[words[i].why];
        if (!m)
            continue;
        sl_buf_printf(out, "%s%u %s", comma, m, m > 1 ? words[i].many : words[i].one);
        comma = ", ";
    }
}

/* ---- a session ---- */

void mgr_pack_begin(struct mgr_pack *k) {
    sort(k);
    sl_map_done(&k->from);
    k->from = (struct sl_map){0};
    for (uint32_t i = 0; i < k->nodes.n; i++) {
        struct node *n = k->nodes.v[i];
        sl_vec_clear(&n->left);
        sl_vec_clear(&n->taken);
        for (uint32_t c = 0; c < n->has.n || c < n->used.n; c++)
            *sl_vec_push(&n->left) = AT(n->has, c) - AT(n->used, c);
    }
}

struct taken {
    uint32_t node, kind;
    int32_t count;
};
typedef SL_VEC(struct taken) takings;

static int64_t room(struct mgr_pack *k, const struct mgr_pack_pods *p) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < k->nodes.n; i++)
        if (k->nodes.v[i]->known && admits(k->nodes.v[i], p) == FINE)
            sum += times(k, k->nodes.v[i], p);
    return sum;
}

/* Which kind comes first: the one that could be placed least often. */
static void order(struct mgr_pack *k, const struct mgr_pack_pods *v, uint32_t n, uint32_t *ret) {
    int64_t slack[PACK_MAX_KINDS];
    for (uint32_t i = 0; i < n; i++) {
        slack[i] = n > 1 ? room(k, &v[i]) : 0;
        uint32_t at = i;
        for (; at > 0 && slack[ret[at - 1]] > slack[i]; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
}

static int32_t place(struct mgr_pack *k, const struct mgr_pack_pods *p, uint32_t kind, void *out) {
    takings *t = out;
    uint32_t from = p->like ? sl_map_get(&k->from, p->like) : SL_MAP_NONE, i;
    int32_t rest = p->count;
    for (i = from == SL_MAP_NONE ? 0 : from; i < k->nodes.n && rest > 0; i++) {
        struct node *n = k->nodes.v[i];
        if (!n->known || admits(n, p) != FINE)
            continue;
        int32_t m = times(k, n, p);
        if (m > rest)
            m = rest;
        if (m <= 0)
            continue;
        charge_pods(k, n, p, m, 1);
        *sl_vec_push(t) = (struct taken){i, kind, m};
        rest -= m;
    }
    return rest;
}

/* Nodes before the last that was tried have no room for such pods in this session any more. */
static void remember(struct mgr_pack *k, const struct mgr_pack_pods *p, uint32_t node) {
    uint32_t old = p->like ? sl_map_get(&k->from, p->like) : node;
    if (old == node)
        return;
    if (old != SL_MAP_NONE)
        (void)sl_map_del(&k->from, p->like, old);
    sl_map_add(&k->from, p->like, node);
}

bool mgr_pack_take(struct mgr_pack *k, const struct mgr_pack_pods *v, uint32_t n, bool some,
                   struct mgr_pack_lack *lack, struct mgr_pack_places *places) {
    uint32_t turn[PACK_MAX_KINDS];
    takings t = {0};
    bool all = true;
    sl_assert(n <= PACK_MAX_KINDS);
    order(k, v, n, turn);
    for (uint32_t i = 0; i < n && (all || some); i++) {
        int32_t rest = place(k, &v[turn[i]], turn[i], &t);
        if (rest && i == 0 && !some) /* the nodes before the first that took one took none */
            remember(k, &v[turn[0]], t.n ? t.v[0].node : k->nodes.n);
        if (rest && all) {
            lack->kind = turn[i];
            lack->rest = rest;
            if (lack->why)
                put_why(k, &v[turn[i]], lack->why);
        }
        all &= rest == 0;
    }
    bool keep = all || some;
    for (uint32_t i = t.n; i-- > 0;) {
        const struct taken *x = &t.v[i];
        if (!keep)
            charge_pods(k, k->nodes.v[x->node], &v[x->kind], x->count, -1);
    }
    for (uint32_t i = 0; keep && i < t.n; i++) {
        remember(k, &v[t.v[i].kind], t.v[i].node);
        if (places)
            *sl_vec_push(places) =
                (struct mgr_pack_place){k->nodes.v[t.v[i].node]->name, t.v[i].kind, t.v[i].count};
    }
    sl_vec_free(&t);
    return all;
}
