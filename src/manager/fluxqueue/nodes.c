/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as vertices, what pods request, and what pods without a place take of nodes. */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "core/graph/match/match.h"
#include "kube/types/kueue/objects.h"
#include "kube/types/podset.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"
#include "manager/fluxqueue/view.h"

#define MAX_USAGE_VALUES 65536u
#define HOSTNAME "kubernetes.io/hostname"
#define MAX_TAINT 1024u /* bytes; a label's key and value are 574 at most */

/* ---- amounts ---- */

int64_t fq_units(const char *resource, sl_quantity amount, bool up) {
    sl_quantity unit = sl_quantity_is_milli(resource)   ? SL_NANO / 1000
                       : sl_quantity_is_bytes(resource) ? (sl_quantity)SL_NANO * 1024
                                                        : SL_NANO;
    if (amount <= 0)
        return 0;
    sl_quantity n = amount / unit + (up && amount % unit != 0);
    return n > SL_GRAPH_MAX_SIZE ? SL_GRAPH_MAX_SIZE : (int64_t)n;
}

const char *fq_type_of(const char *resource) {
    return strcmp(resource, "cpu") == 0 ? "core" : resource;
}

int64_t fq_pool_size(const struct fq_pool *p) {
    return p->foreign < p->allocatable ? p->allocatable - p->foreign : 0;
}

/* ---- decoding ---- */

static int by_key(const void *a, const void *b) {
    const struct fq_label *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void read_labels(struct sl_fluxqueue *q, struct fq_node *n, yyjson_val *labels) {
    size_t i, max;
    yyjson_val *key, *val;
    sl_vec_clear(&n->labels);
    sl_obj_foreach (labels, i, max, key, val)
        *sl_vec_push(&n->labels) = (struct fq_label){sl_sym_put(&q->inf->syms, sl_json_text(key)),
                                                     sl_sym_put(&q->inf->syms, sl_json_text(val))};
    if (n->labels.n)
        qsort(n->labels.v, n->labels.n, sizeof *n->labels.v, by_key);
    sl_vec_fit(&n->labels);
}

static void add_taint(struct sl_fluxqueue *q, struct fq_node *n, const char *key, const char *value,
                      const char *effect) {
    char text[MAX_TAINT];
    sl_fmt_short(text, sizeof text, "taint:%s=%s:%s", key, value, effect);
    sl_sym y = sl_sym_put(&q->inf->syms, text);
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (n->taints.v[i] == y)
            return;
    *sl_vec_push(&n->taints) = y;
}

/* Those that keep pods away; a cordon is one, whether or not a controller has written it. */
static void read_taints(struct sl_fluxqueue *q, struct fq_node *n, yyjson_val *o) {
    size_t i, max;
    yyjson_val *t;
    sl_vec_clear(&n->taints);
    yyjson_arr_foreach (sl_json_at(o, "spec.taints"), i, max, t) {
        const char *effect = sl_json_str(t, "effect");
        if (strcmp(effect, "NoSchedule") == 0 || strcmp(effect, "NoExecute") == 0)
            add_taint(q, n, sl_json_str(t, "key"), sl_json_str(t, "value"), effect);
    }
    if (sl_json_bool(o, "spec.unschedulable", false))
        add_taint(q, n, "node.kubernetes.io/unschedulable", "", "NoSchedule");
}

struct fq_pool *fq_pool_find(struct fq_node *n, sl_sym resource) {
    for (uint32_t i = 0; i < n->pools.n; i++)
        if (n->pools.v[i].resource == resource)
            return &n->pools.v[i];
    return NULL;
}

struct fq_pool *fq_pool_need(struct fq_node *n, sl_sym resource) {
    struct fq_pool *pool = fq_pool_find(n, resource);
    if (!pool) {
        pool = sl_vec_push(&n->pools);
        *pool = (struct fq_pool){.resource = resource, .v = SL_VTX_NONE};
    }
    return pool;
}

/* Pools stay where they are, with what is charged to them; one that is no more has nothing,
 * until the next graph is made without it. */
static void read_pools(struct sl_fluxqueue *q, struct fq_node *n, yyjson_val *allocatable) {
    size_t i, max;
    yyjson_val *key, *val;
    for (uint32_t k = 0; k < n->pools.n; k++)
        if (!fq_port_is(fq_str(q, n->pools.v[k].resource)))
            n->pools.v[k].allocatable = 0;
    sl_obj_foreach (allocatable, i, max, key, val) {
        const char *name = sl_json_text(key);
        sl_quantity amount = 0;
        if (strlen(name) > SL_VERTEX_TYPE) /* the graph takes none, and then no node at all */
            continue;
        sl_sym y = sl_sym_put(&q->inf->syms, name);
        if (!y || !sl_json_quantity(val, &amount))
            continue;
        int64_t size = fq_units(name, amount, false);
        bool pods = strcmp(name, "pods") == 0;
        fq_pool_need(n, y)->allocatable = pods && size > FQ_MAX_PODS ? FQ_MAX_PODS : size;
    }
}

static bool is_ready(yyjson_val *o) {
    return sl_json_condition(o, "Ready");
}

/* What decides which vertices there are: levels above the node, and the types below it. */
static uint64_t structure_of(const struct sl_fluxqueue *q, const struct fq_node *n) {
    uint64_t h = sl_hash_u64(1, n->usable);
    for (uint32_t l = 0; l < q->options.n_levels; l++) {
        sl_sym key = sl_sym_find(&q->inf->syms, q->options.levels[l].label), value = 0;
        for (uint32_t i = 0; i < n->labels.n; i++)
            if (n->labels.v[i].key == key)
                value = n->labels.v[i].value;
        h = sl_hash_str(h, fq_str(q, value));
    }
    for (uint32_t i = 0; i < n->pools.n; i++)
        if (n->pools.v[i].allocatable > 0 && !fq_port_is(fq_str(q, n->pools.v[i].resource)))
            h ^= sl_hash_str(2, fq_str(q, n->pools.v[i].resource));
    return h;
}

static bool has_label(const struct fq_node *n, const struct fq_label *l) {
    for (uint32_t i = 0; i < n->labels.n; i++)
        if (n->labels.v[i].key == l->key && n->labels.v[i].value == l->value)
            return true;
    return false;
}

static bool has_taint(const struct fq_node *n, sl_sym taint) {
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (n->taints.v[i] == taint)
            return true;
    return false;
}

static void set_prop(struct sl_fluxqueue *q, sl_vtx v, const char *key, const char *value) {
    struct sl_err err = {0};
    if (sl_match_set_prop(q->match, v, key, value, &err) < 0)
        q->rebuild = true;
}

static void put_label(struct sl_fluxqueue *q, sl_vtx v, const struct fq_label *l, bool on) {
    _cleanup_(sl_buf_done) struct sl_buf both = SL_BUF_SHORT(MAX_TAINT);
    sl_buf_printf(&both, "%s=%s", fq_str(q, l->key), fq_str(q, l->value));
    if (on) {
        set_prop(q, v, fq_str(q, l->key), fq_str(q, l->value));
        set_prop(q, v, sl_buf_str(&both), "");
    } else {
        (void)sl_match_del_prop(q->match, v, fq_str(q, l->key));
        (void)sl_match_del_prop(q->match, v, sl_buf_str(&both));
    }
}

/* A graph drops no names: of labels that change all the time, such as those with a time or a load,
 * it would have ever more. */
static bool has_old_names(const struct sl_fluxqueue *q) {
    uint32_t n = sl_graph_syms(sl_match_graph(q->match))->names.n, made = q->universe.n_names;
    return n - made > made + FQ_MAX_OLD_NAMES;
}

/* The vertices are the same: what is in them is brought up to date in place. */
static void update_vertex(struct sl_fluxqueue *q, struct fq_node *n, const struct fq_node *before) {
    struct sl_err err = {0};
    for (uint32_t i = 0; i < before->labels.n; i++)
        if (!has_label(n, &before->labels.v[i]))
            put_label(q, n->v, &before->labels.v[i], false);
    for (uint32_t i = 0; i < n->labels.n; i++)
        if (!has_label(before, &n->labels.v[i])) {
            put_label(q, n->v, &n->labels.v[i], true);
            q->taints_changed |=
                (*q->universe.compared & fq_compared_bit(fq_str(q, n->labels.v[i].key))) != 0;
        }
    for (uint32_t i = 0; i < before->taints.n; i++)
        if (!has_taint(n, before->taints.v[i]))
            (void)sl_match_del_prop(q->match, n->v, fq_str(q, before->taints.v[i]));
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (!has_taint(before, n->taints.v[i]))
            set_prop(q, n->v, fq_str(q, n->taints.v[i]), "");
    for (uint32_t i = 0; i < n->pools.n; i++)
        if (n->pools.v[i].v != SL_VTX_NONE &&
            sl_match_resize(q->match, n->pools.v[i].v, fq_pool_size(&n->pools.v[i]), &err) < 0)
            q->rebuild = true;
    if (n->up != before->up)
        sl_match_set_down(q->match, n->v, !n->up);
    q->rebuild |= has_old_names(q);
}

bool fq_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    struct fq_node *n = fq_node_of(r);
    yyjson_val *labels = sl_json_at(o, "metadata.labels"), *taints = sl_json_at(o, "spec.taints"),
               *allocatable = sl_json_at(o, "status.allocatable");
    bool up = is_ready(o) && !r->deleting;
    uint64_t hash = sl_hash_u64(up, sl_json_bool(o, "spec.unschedulable", false));
    hash = sl_json_hash(sl_json_hash(sl_json_hash(hash, labels), taints), allocatable) | 1;
    if (hash == n->hash)
        return false;
    bool known = n->hash != 0 && n->v != SL_VTX_NONE && q->match;
    n->hash = hash;
    if (!known)
        n->v = SL_VTX_NONE;
    struct fq_node before = *n;
    memset(&n->labels, 0, sizeof n->labels);
    memset(&n->taints, 0, sizeof n->taints);
    n->hostname = 0;
    n->up = up;
    n->usable = sl_json_size(labels) <= FQ_MAX_LABELS &&
                sl_json_size(taints) <= FQ_MAX_NODE_TAINTS &&
                sl_json_size(allocatable) <= FQ_MAX_RESOURCES;
    if (n->usable) {
        read_labels(q, n, labels);
        n->hostname = fq_node_label(q, n, HOSTNAME);
        read_taints(q, n, o);
        read_pools(q, n, allocatable);
    } else {
        sl_log(SL_LOG_WARN, "node ignored: too many labels, taints and resources",
               SL_S("node", r->name), SL_I("limit", FQ_MAX_LABELS));
    }
    uint64_t structure = structure_of(q, n);
    if (known && structure == n->structure)
        update_vertex(q, n, &before);
    else
        q->rebuild = true;
    n->structure = structure;
    for (uint32_t i = 0; i < n->taints.n; i++)
        if (!has_taint(&before, n->taints.v[i]))
            q->taints_changed = true;
    for (uint32_t i = 0; i < before.taints.n && q->left_out; i++)
        if (!has_taint(n, before.taints.v[i]))
            q->rebuild = true; /* there may be room for another node */
    sl_vec_free(&before.labels);
    sl_vec_free(&before.taints);
    q->moved = true;
    q->capacity++;
    q->shrunk++;
    n->changed = ++q->node_changes;
    fq_graph_free_bare(q);
    fq_plain_forget_requests(q);
    return false; /* applied: there is nothing to reconcile */
}

void fq_nodes_relevel(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_NODE, &at));)
        fq_node_of(r)->structure = structure_of(q, fq_node_of(r));
}

void fq_node_deleted(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    fq_node_of(r)->v = SL_VTX_NONE;
    q->rebuild = q->moved = true;
}

void fq_node_free(struct sl_rec *r) {
    struct fq_node *n = fq_node_of(r);
    sl_vec_free(&n->labels);
    sl_vec_free(&n->taints);
    sl_vec_free(&n->pools);
}

void fq_node_hold(struct sl_syms *t, struct sl_rec *r) {
    struct fq_node *n = fq_node_of(r);
    for (uint32_t i = 0; i < n->labels.n; i++) {
        sl_sym_hold(t, n->labels.v[i].key);
        sl_sym_hold(t, n->labels.v[i].value);
    }
    for (uint32_t i = 0; i < n->taints.n; i++)
        sl_sym_hold(t, n->taints.v[i]);
    for (uint32_t i = 0; i < n->pools.n; i++)
        sl_sym_hold(t, n->pools.v[i].resource);
}

sl_sym fq_node_label(const struct sl_fluxqueue *q, const struct fq_node *n, const char *key) {
    sl_sym y = sl_sym_find(&q->inf->syms, key);
    for (uint32_t i = 0; i < n->labels.n; i++)
        if (n->labels.v[i].key == y)
            return n->labels.v[i].value;
    return 0;
}

struct fq_node *fq_node_find(const struct sl_fluxqueue *q, sl_sym name) {
    struct sl_rec *r = name ? sl_inf_find(q->inf, FQ_NODE, "", fq_str(q, name)) : NULL;
    return r ? fq_node_of(r) : NULL;
}

sl_sym fq_intern(struct sl_fluxqueue *q, const char *name) {
    return strnlen(name, FQ_MAX_NAME + 1) <= FQ_MAX_NAME ? sl_sym_put(&q->inf->syms, name) : 0;
}

/* ---- what pods take ---- */

/* What is counted as others'. */
static const struct fq_usage *charged_of(const struct fq_pod *p) {
    return p->over ? p->over : p->usage;
}

void fq_pod_shift(struct sl_fluxqueue *q, struct fq_pod *p, int sign) {
    const struct fq_usage *u = charged_of(p);
    struct fq_node *n = fq_node_find(q, p->charged);
    struct sl_err err = {0};
    for (uint32_t i = 0; n && u && i < u->n; i++) {
        struct fq_pool *pool = fq_pool_find(n, u->v[i].resource);
        if (!pool)
            continue;
        pool->foreign += sign * u->v[i].amount;
        if (q->match && n->v != SL_VTX_NONE && pool->v != SL_VTX_NONE &&
            sl_match_resize(q->match, pool->v, fq_pool_size(pool), &err) < 0)
            q->rebuild = true;
    }
}

static void charge(struct sl_fluxqueue *q, struct fq_pod *p, int sign) {
    if (!charged_of(p) || !fq_node_find(q, p->charged))
        return;
    fq_pod_shift(q, p, sign);
    q->capacity += sign < 0;
    q->shrunk += sign > 0;
    q->yields |= sign < 0 && p->released;
    q->moved = true;
}

static bool is_same_usage(const struct fq_usage *a, const struct fq_usage *b) {
    bool same = a == b || (a && b && a->n == b->n);
    for (uint32_t i = 0; a && a != b && same && i < a->n; i++)
        same = a->v[i].resource == b->v[i].resource && a->v[i].amount == b->v[i].amount;
    return same;
}

/* over: becomes its own, and is counted in place of what it requests; NULL: that is. */
static void charge_as(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym on, struct fq_usage *over) {
    if (p->charged == on && is_same_usage(p->over, over)) {
        sl_freep(&over);
        return;
    }
    if (p->charged)
        charge(q, p, -1);
    sl_freep(&p->over);
    p->charged = on;
    p->over = over;
    if (on)
        charge(q, p, 1);
}

void fq_pod_charge(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym on) {
    charge_as(q, p, on, NULL);
}

void fq_pod_charge_over(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *over) {
    charge_as(q, p, over ? fq_pod_at(p) : 0, over);
}

static void stand(struct sl_fluxqueue *q, struct fq_pod *p, int sign) {
    struct fq_node *n = fq_node_find(q, p->stands);
    for (uint32_t i = 0; n && p->usage && i < p->usage->n; i++) {
        struct fq_pool *pool = fq_pool_find(n, p->usage->v[i].resource);
        if (pool)
            pool->standing += sign * p->usage->v[i].amount;
    }
}

void fq_pod_stand(struct sl_fluxqueue *q, struct fq_pod *p) {
    sl_sym at = fq_pod_at(p), on = p->ended || p->rec.gone ? 0 : at ? at : p->target;
    if (p->stands == on)
        return;
    stand(q, p, -1);
    p->stands = on;
    stand(q, p, 1);
}

void fq_pod_use(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *u) {
    sl_sym charged = p->over ? 0 : p->charged; /* what it has beyond its place stays, for now */
    if (u == p->usage) {
        fq_usage_unref(q, u);
        return;
    }
    p->resized = p->usage != NULL;
    if (charged)
        fq_pod_charge(q, p, 0);
    stand(q, p, -1);
    fq_usage_unref(q, p->usage);
    p->usage = u;
    stand(q, p, 1);
    if (charged)
        fq_pod_charge(q, p, charged);
}

void fq_pod_target(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node) {
    p->target = node;
    fq_pod_stand(q, p);
}

void fq_pod_send(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node) {
    p->sent = node;
    fq_pod_stand(q, p);
}

bool fq_node_has_room(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node) {
    struct fq_node *n = fq_node_find(q, node);
    if (!n || !n->up || !p->usage)
        return false;
    for (uint32_t i = 0; i < p->usage->n; i++) {
        const struct fq_pool *pool = fq_pool_find(n, p->usage->v[i].resource);
        int64_t here = p->stands == node ? p->usage->v[i].amount : 0;
        if (p->usage->v[i].amount > 0 &&
            (!pool || pool->standing - here + p->usage->v[i].amount > pool->allocatable))
            return false;
    }
    return true;
}

/* False: they cannot be read. */
static bool read_requests(struct sl_buf *text, struct sl_arena *a, struct sl_podset_spec *ret,
                          struct sl_doc **ret_doc) {
    struct sl_err err = {0};
    struct sl_read rd = {.file = "pod", .arena = a, .err = &err};
    if (sl_buf_full(text) ||
        sl_doc_json_within("pod", text->s, text->len, MAX_USAGE_VALUES, ret_doc, &err) < 0)
        rd.code = SL_EINVAL;
    else
        sl_decode_podset(&rd, &(*ret_doc)->roots[0], ret);
    if (rd.code >= 0 && (sl_arena_full(a) || ret->n_requests >= FQ_MAX_RESOURCES))
        rd.code = sl_err_set(&err, SL_ELIMIT, "the pod is too large");
    if (rd.code < 0) {
        sl_log(SL_LOG_WARN, "pod usage counted as its node: malformed resource requests",
               SL_S("error", err.text));
        ret->n_requests = 0;
    }
    return rd.code >= 0;
}

static struct fq_usage *make_usage(struct sl_fluxqueue *q, struct sl_buf *text,
                                   const struct fq_ports *ports) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_NODE);
    struct sl_podset_spec spec = {0};
    struct sl_doc *d = NULL;
    bool readable = read_requests(text, &arena, &spec, &d);
    struct fq_usage *s =
        sl_alloc0(1, sizeof *s + (spec.n_requests + ports->n + 1) * sizeof s->v[0]);
    char name[FQ_PORT_NAME];
    /* One that cannot be read leaves no room beside it: as many pods as a node may have. */
    s->v[s->n++] =
        (struct fq_amount){sl_sym_put(&q->inf->syms, "pods"), readable ? 1 : FQ_MAX_PODS};
    for (uint32_t i = 0; i < spec.n_requests; i++) {
        const char *resource = spec.requests[i].resource;
        if (strcmp(resource, "pods") != 0)
            s->v[s->n++] = (struct fq_amount){sl_sym_put(&q->inf->syms, resource),
                                              fq_units(resource, spec.requests[i].q, true)};
    }
    for (uint32_t i = 0; i < ports->n; i++)
        s->v[s->n++] =
            (struct fq_amount){sl_sym_put(&q->inf->syms, fq_port_name(ports->v[i], name)), 1};
    sl_doc_free(d);
    for (uint32_t i = 0; i < s->n; i++) /* whatever their order */
        if (s->v[i].amount > 0)
            s->size +=
                sl_hash_u64(sl_hash_str(1, fq_str(q, s->v[i].resource)), (uint64_t)s->v[i].amount);
    s->size |= 1;
    return s;
}

const struct fq_usage *fq_usage_of_size(const struct sl_fluxqueue *q, uint64_t size) {
    uint32_t id = sl_map_get(&q->usages_by_size, size);
    return id == SL_MAP_NONE ? NULL : q->usages.v[id];
}

static struct fq_usage *usage_by_text(const struct sl_fluxqueue *q, uint64_t h, const char *text) {
    sl_map_foreach (i, &q->usages_by_hash, h)
        if (strcmp(q->usages.v[i]->text, text) == 0)
            return q->usages.v[i];
    return NULL;
}

static int64_t amount_of(const struct fq_usage *u, sl_sym resource) {
    for (uint32_t i = 0; i < u->n; i++)
        if (u->v[i].resource == resource)
            return u->v[i].amount;
    return 0;
}

static bool has_all_of(const struct fq_usage *a, const struct fq_usage *b) {
    for (uint32_t i = 0; i < b->n; i++)
        if (amount_of(a, b->v[i].resource) != b->v[i].amount)
            return false;
    return true;
}

/* Equal amounts have one size, and others another one, also if their hashes are equal by chance. */
static void settle_size(const struct sl_fluxqueue *q, struct fq_usage *s) {
    for (const struct fq_usage *u; (u = fq_usage_of_size(q, s->size));) {
        if (has_all_of(u, s) && has_all_of(s, u))
            return;
        s->size += 2; /* it stays odd: 0 is none */
    }
}

struct fq_usage *fq_usage_get(struct sl_fluxqueue *q, yyjson_val *pod_spec) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_USAGE_TEXT);
    struct fq_ports ports;
    if (!fq_ports_read(pod_spec, &ports))
        sl_log(SL_LOG_WARN, "pod usage counted without some host ports",
               SL_I("limit", FQ_MAX_POD_PORTS));
    sl_podspec_put(&text, pod_spec, false);
    _cleanup_(sl_buf_done) struct sl_buf all = SL_BUF(FQ_MAX_USAGE_TEXT + FQ_MAX_POD_PORTS * 12);
    sl_buf_puts(&all, sl_buf_str(&text));
    for (uint32_t i = 0; i < ports.n; i++)
        sl_buf_printf(&all, " %u", ports.v[i]);
    uint64_t h = sl_hash_str(1, sl_buf_str(&all));
    struct fq_usage *s = usage_by_text(q, h, sl_buf_str(&all));
    if (!s) {
        s = make_usage(q, &text, &ports);
        settle_size(q, s);
        s->hash = h;
        s->text = sl_strdup(sl_buf_str(&all));
        s->id = q->free_usages.n ? sl_vec_pop(&q->free_usages) : q->usages.n;
        if (s->id == q->usages.n)
            (void)sl_vec_push(&q->usages);
        q->usages.v[s->id] = s;
        sl_map_add(&q->usages_by_hash, h, s->id);
        sl_map_add(&q->usages_by_size, s->size, s->id);
    }
    s->refs++;
    return s;
}

static void usage_free(struct fq_usage *s) {
    sl_freep(&s->text);
    sl_freep(&s);
}

void fq_usage_unref(struct sl_fluxqueue *q, struct fq_usage *s) {
    if (!s || --s->refs)
        return;
    (void)sl_map_del(&q->usages_by_hash, s->hash, s->id);
    (void)sl_map_del(&q->usages_by_size, s->size, s->id);
    q->usages.v[s->id] = NULL;
    *sl_vec_push(&q->free_usages) = s->id;
    usage_free(s);
}

bool fq_usage_is_within(const struct fq_usage *s, const struct fq_usage *other) {
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t has = 0;
        for (uint32_t k = 0; k < other->n; k++)
            if (other->v[k].resource == s->v[i].resource)
                has = other->v[k].amount;
        if (s->v[i].amount > has)
            return false;
    }
    return true;
}

void fq_usages_done(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; i < q->usages.n; i++)
        if (q->usages.v[i])
            usage_free(q->usages.v[i]);
    sl_vec_free(&q->usages);
    sl_vec_free(&q->free_usages);
    sl_map_done(&q->usages_by_hash);
    sl_map_done(&q->usages_by_size);
}
