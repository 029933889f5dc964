/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints of a Service, and of subsets: see network.h. */
#include "cluster/controllers/network/network.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"

#define MAX_PORTS ((size_t)1 << 20)

static void init(struct cl_endpoints *e) {
    *e = (struct cl_endpoints){0};
    sl_arena_init(&e->arena, CL_MAX_SELECTOR);
}

void cl_endpoints_done(struct cl_endpoints *e) {
    sl_arena_done(&e->arena);
    sl_vec_free(&e->v);
    sl_vec_free(&e->groups);
}

/* ---- ports ---- */

static uint64_t ports_hash(const char *ports, bool six) {
    return sl_hash_u64(sl_hash_str(1, ports), six);
}

static uint32_t group_of(struct cl_endpoints *e, const char *ports, bool six) {
    uint64_t hash = ports_hash(ports, six);

    for (uint32_t i = 0; i < e->groups.n; i++)
        if (e->groups.v[i].hash == hash)
            return i;
    *sl_vec_push(&e->groups) = (struct cl_port_group){sl_arena_strdup(&e->arena, ports), hash, six};
    return e->groups.n - 1;
}

/* unnamed: a port without a name has an empty one, as in slices. */
static void put_port(struct sl_jw *j, yyjson_val *of, int64_t number, bool unnamed) {
    const char *protocol = sl_json_str(of, "protocol"), *app = sl_json_str(of, "appProtocol"),
               *name = sl_json_str(of, "name");

    sl_jw_object(j, NULL);
    if (*name || unnamed)
        sl_jw_str(j, "name", name);
    sl_jw_int(j, "port", number);
    sl_jw_str(j, "protocol", *protocol ? protocol : "TCP");
    if (*app)
        sl_jw_str(j, "appProtocol", app);
    sl_jw_end(j);
}

static void put_ports(struct sl_jw *j, const char *key, yyjson_val *ports, bool unnamed) {
    size_t i, n;
    yyjson_val *port;

    sl_jw_array(j, key);
    yyjson_arr_foreach (ports, i, n, port)
        put_port(j, port, sl_json_int(port, "port", 0), unnamed);
    sl_jw_end(j);
}

uint64_t cl_ports_hash(yyjson_val *ports, bool six) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_PORTS);

    put_ports(&SL_JW(&b), NULL, ports, true);
    return ports_hash(sl_buf_str(&b), six);
}

/* The number that a port of the Service has in this pod; 0: it has none of that name. */
static int64_t find_port(yyjson_val *port, yyjson_val *pod) {
    yyjson_val *target = yyjson_obj_get(port, "targetPort"), *v;
    const char *name = sl_json_opt(target), *protocol = sl_json_str(port, "protocol");
    size_t i, n;

    if (!name)
        return sl_json_int(port, "targetPort", sl_json_int(port, "port", 0));
    yyjson_arr_foreach (yyjson_obj_get(pod, "ports"), i, n, v)
        if (strcmp(sl_json_text(yyjson_arr_get(v, 0)), name) == 0 &&
            strcmp(sl_json_text(yyjson_arr_get(v, 1)), *protocol ? protocol : "TCP") == 0)
            return yyjson_get_sint(yyjson_arr_get(v, 2));
    return 0;
}

static uint32_t ports_of(struct cl_endpoints *e, yyjson_val *ports, yyjson_val *pod, bool six) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_PORTS);
    struct sl_jw j = SL_JW(&b);
    size_t i, n;
    yyjson_val *port;

    sl_jw_array(&j, NULL);
    yyjson_arr_foreach (ports, i, n, port) {
        int64_t number = find_port(port, pod);
        if (number)
            put_port(&j, port, number, true);
    }
    sl_jw_end(&j);
    return group_of(e, sl_buf_str(&b), six);
}

/* ---- pods ---- */

static const char *zone_of(struct sl_cluster *c, const struct cl_pod *p) {
    struct sl_rec *node = p->f.node ? sl_inf_find(c->inf, K_NODE, "", cl_str(c, p->f.node)) : NULL;
    const char *zone =
        node ? c->spec.scheduler->node_label(node, "topology.kubernetes.io/zone") : NULL;

    return zone ? zone : "";
}

static const char *target_of(struct sl_arena *a, const struct cl_pod *p) {
    struct sl_buf b = SL_BUF(CL_MAX_COPY);
    struct sl_jw j = SL_JW(&b);

    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "kind", "Pod");
    sl_jw_str(&j, "namespace", sl_rec_ns(&p->rec));
    sl_jw_str(&j, "name", p->rec.name);
    sl_jw_str(&j, "uid", p->rec.uid);
    sl_jw_end(&j);
    const char *text = sl_arena_strdup(a, sl_buf_str(&b));
    sl_buf_done(&b);
    return text;
}

static void add_pod(struct sl_cluster *c, const struct cl_service *s, yyjson_val *ports,
                    const struct cl_pod *p, struct cl_endpoints *ret) {
    _cleanup_(sl_json_docp) yyjson_doc *d = p->net ? yyjson_read(p->net, strlen(p->net), 0) : NULL;
    yyjson_val *net = yyjson_doc_get_root(d);
    const char *ip = sl_json_str(net, "ip");

    if (!d || cl_pod_ended(p) || p->rec.gone)
        return;
    bool serving = p->f.ready_since != 0;
    bool named = strcmp(sl_json_str(net, "subdomain"), s->rec.name) == 0;
    *sl_vec_push(&ret->v) = (struct cl_endpoint){
        .key = sl_hash_str(sl_hash_str(1, ip), p->rec.uid),
        .ip = sl_arena_strdup(&ret->arena, ip),
        .hostname = named ? sl_arena_strdup(&ret->arena, sl_json_str(net, "hostname")) : "",
        .node = cl_str(c, p->f.node),
        .zone = zone_of(c, p),
        .target = target_of(&ret->arena, p),
        .name = p->rec.name,
        .group = ports_of(ret, ports, net, strchr(ip, ':') != NULL),
        .ready = s->with_unready || (serving && !p->rec.deleting),
        .serving = serving,
        .terminating = p->rec.deleting,
    };
}

/* By group, then address, as numbers, then pod. */
static int by_address(const void *x, const void *y) {
    const struct cl_endpoint *a = x, *b = y;
    struct in6_addr p = {0}, q = {0};

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    (void)inet_pton(strchr(a->ip, ':') ? AF_INET6 : AF_INET, a->ip, &p);
    (void)inet_pton(strchr(b->ip, ':') ? AF_INET6 : AF_INET, b->ip, &q);
    int c = memcmp(&p, &q, sizeof p);
    return c ? c : strcmp(a->name, b->name);
}

/* Groups in an order that does not depend on that of the pods. */
static int by_ports(const void *x, const void *y) {
    const struct cl_port_group *const *a = x, *const *b = y;
    int c = strcmp((*a)->ports, (*b)->ports);

    return c ? c : (int)(*a)->six - (int)(*b)->six;
}

static void sort_all(struct cl_endpoints *e) {
    const struct cl_port_group **order =
        sl_arena_alloc(&e->arena, (e->groups.n + 1) * sizeof *order);
    struct cl_port_group *groups = sl_arena_alloc(&e->arena, (e->groups.n + 1) * sizeof *groups);
    uint32_t *to = sl_arena_alloc(&e->arena, (e->groups.n + 1) * sizeof *to), n = e->groups.n;

    for (uint32_t i = 0; i < n; i++)
        order[i] = &e->groups.v[i];
    if (n > 1)
        qsort(order, n, sizeof *order, by_ports);
    for (uint32_t i = 0; i < n; i++) {
        to[order[i] - e->groups.v] = i;
        groups[i] = *order[i];
    }
    for (uint32_t i = 0; i < n; i++)
        e->groups.v[i] = groups[i];
    for (uint32_t i = 0; i < e->v.n; i++)
        e->v.v[i].group = to[e->v.v[i].group];
    if (e->v.n > 1)
        qsort(e->v.v, e->v.n, sizeof e->v.v[0], by_address);
}

void cl_endpoints_of_pods(struct sl_cluster *c, const struct cl_service *s,
                          struct cl_endpoints *ret) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        s->ports ? yyjson_read(s->ports, strlen(s->ports), 0) : NULL;

    init(ret);
    for (uint32_t i = 0; i < s->pods.n && !sl_arena_full(&ret->arena); i++) {
        const struct sl_rec *r = c->inf->recs.v[s->pods.v[i]];
        add_pod(c, s, yyjson_doc_get_root(d), SL_CONTAINER_OF(r, const struct cl_pod, rec), ret);
    }
    sort_all(ret);
}

/* ---- subsets ---- */

static void add_address(struct cl_endpoints *e, yyjson_val *v, yyjson_val *ports, bool ready) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_PORTS), t = SL_BUF(CL_MAX_COPY);
    struct sl_jw j = SL_JW(&b);
    const char *ip = sl_json_str(v, "ip");
    yyjson_val *target = sl_json_get(v, "targetRef");

    if (!*ip)
        return;
    put_ports(&j, NULL, ports, true);
    if (target)
        sl_json_put(&t, target);
    *sl_vec_push(&e->v) = (struct cl_endpoint){
        .key = sl_hash_str(sl_hash_str(1, ip), sl_json_str(target, "uid")),
        .ip = sl_arena_strdup(&e->arena, ip),
        .hostname = sl_arena_strdup(&e->arena, sl_json_str(v, "hostname")),
        .node = sl_arena_strdup(&e->arena, sl_json_str(v, "nodeName")),
        .zone = "",
        .target = target ? sl_arena_strdup(&e->arena, sl_buf_str(&t)) : NULL,
        .name = "",
        .group = group_of(e, sl_buf_str(&b), strchr(ip, ':') != NULL),
        .ready = ready,
        .mirrored = true,
    };
}

void cl_endpoints_of_subsets(const char *subsets, struct cl_endpoints *ret) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(subsets, strlen(subsets), 0);
    static const char *const lists[] = {"addresses", "notReadyAddresses"};
    size_t i, n, k, m;
    yyjson_val *subset, *v;

    init(ret);
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, subset)
        for (size_t l = 0; l < SL_LEN(lists); l++)
            yyjson_arr_foreach (yyjson_obj_get(subset, lists[l]), k, m, v)
                if (!sl_arena_full(&ret->arena))
                    add_address(ret, v, yyjson_obj_get(subset, "ports"), l == 0);
    sort_all(ret);
}

/* ---- as JSON ---- */

void cl_endpoint_put(struct sl_jw *j, const struct cl_endpoint *e) {
    sl_jw_object(j, NULL);
    sl_jw_array(j, "addresses");
    sl_jw_str(j, NULL, e->ip);
    sl_jw_end(j);
    sl_jw_object(j, "conditions");
    sl_jw_bool(j, "ready", e->ready);
    if (!e->mirrored) {
        sl_jw_bool(j, "serving", e->serving);
        sl_jw_bool(j, "terminating", e->terminating);
    }
    sl_jw_end(j);
    if (*e->hostname)
        sl_jw_str(j, "hostname", e->hostname);
    if (*e->node)
        sl_jw_str(j, "nodeName", e->node);
    if (e->target)
        sl_jw_raw(j, "targetRef", e->target);
    if (*e->zone)
        sl_jw_str(j, "zone", e->zone);
    sl_jw_end(j);
}

static bool in_subsets(const struct cl_service *s, const struct cl_endpoint *e) {
    return s->with_unready || !e->terminating;
}

static bool as_ready(const struct cl_service *s, const struct cl_endpoint *e) {
    return s->with_unready || e->serving;
}

static void put_address(struct sl_jw *j, const struct cl_endpoint *e) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "ip", e->ip);
    if (*e->hostname)
        sl_jw_str(j, "hostname", e->hostname);
    if (*e->node)
        sl_jw_str(j, "nodeName", e->node);
    if (e->target)
        sl_jw_raw(j, "targetRef", e->target);
    sl_jw_end(j);
}

/* The addresses of a group that are ready, or those that are not, while there is room. */
static void put_addresses(const struct cl_service *s, const struct cl_endpoints *e, uint32_t group,
                          bool ready, uint32_t *room, struct sl_jw *j) {
    bool open = false;

    for (uint32_t i = 0; i < e->v.n; i++) {
        const struct cl_endpoint *p = &e->v.v[i];
        if (p->group != group || !in_subsets(s, p) || as_ready(s, p) != ready || !*room)
            continue;
        if (!open)
            sl_jw_array(j, ready ? "addresses" : "notReadyAddresses");
        open = true;
        put_address(j, p);
        --*room;
    }
    if (open)
        sl_jw_end(j);
}

static uint32_t count(const struct cl_service *s, const struct cl_endpoints *e, uint32_t group,
                      bool any_group, bool ready) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->v.n; i++)
        n += (any_group || e->v.v[i].group == group) && in_subsets(s, &e->v.v[i]) &&
             as_ready(s, &e->v.v[i]) == ready;
    return n;
}

/* Of too many, those go first that are not ready. */
bool cl_endpoints_put_subsets(const struct cl_service *s, const struct cl_endpoints *e,
                              struct sl_jw *j) {
    uint32_t ready = count(s, e, 0, true, true), rest = count(s, e, 0, true, false);
    uint32_t room[] = {0, ready < NET_MAX_ADDRESSES ? ready : NET_MAX_ADDRESSES};
    uint32_t left = NET_MAX_ADDRESSES - room[1];

    room[0] = rest < left ? rest : left;
    sl_jw_array(j, "subsets");
    for (uint32_t g = 0; g < e->groups.n; g++) {
        const char *ports = e->groups.v[g].ports;
        bool none = strcmp(ports, "[]") == 0;
        uint32_t some = (room[1] ? count(s, e, g, false, true) : 0) +
                        (room[0] ? count(s, e, g, false, false) : 0);
        if (!some || (none && !s->headless))
            continue;
        sl_jw_object(j, NULL);
        put_addresses(s, e, g, true, &room[1], j);
        put_addresses(s, e, g, false, &room[0], j);
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(ports, strlen(ports), 0);
        if (!none)
            put_ports(j, "ports", yyjson_doc_get_root(d), false);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    return ready + rest > NET_MAX_ADDRESSES;
}

/* ---- labels ---- */

static bool is_reserved(const char *key) {
    return strcmp(key, NET_HEADLESS) == 0 || strcmp(key, NET_OF_SERVICE) == 0 ||
           strcmp(key, NET_SLICE_MANAGER) == 0;
}

static bool among(const char *const *pairs, const char *key) {
    for (; *pairs; pairs += 2)
        if (strcmp(*pairs, key) == 0)
            return true;
    return false;
}

static void put_labels(struct sl_jw *j, const char *of, bool all, const char *const *more,
                       const char *old) {
    _cleanup_(sl_json_docp) yyjson_doc *d = of ? yyjson_read(of, strlen(of), 0) : NULL;
    _cleanup_(sl_json_docp) yyjson_doc *was = old ? yyjson_read(old, strlen(old), 0) : NULL;
    yyjson_val *labels = yyjson_doc_get_root(d), *key, *value;
    size_t i, n;

    sl_jw_object(j, "labels");
    sl_obj_foreach (labels, i, n, key, value)
        if ((all || !is_reserved(sl_json_text(key))) && !among(more, sl_json_text(key)))
            sl_jw_str(j, sl_json_text(key), sl_json_text(value));
    for (const char *const *p = more; *p; p += 2)
        sl_jw_str(j, p[0], p[1]);
    sl_obj_foreach (yyjson_doc_get_root(was), i, n, key, value) {
        const char *k = sl_json_text(key);
        if (!among(more, k) && ((!all && is_reserved(k)) || !yyjson_obj_get(labels, k)))
            sl_jw_null(j, k);
    }
    sl_jw_end(j);
}

void cl_network_put_labels(struct sl_jw *j, const char *of, const char *const *more,
                           const char *old) {
    put_labels(j, of, false, more, old);
}

void cl_network_change_labels(struct sl_jw *j, const char *of, const char *old) {
    static const char *const none[] = {NULL};

    put_labels(j, of, true, none, old);
}
