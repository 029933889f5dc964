/* SPDX-License-Identifier: Apache-2.0 */
/* Services, and which pods are theirs: see network.h. */
#include "cluster/controllers/network/network.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"

#define AGAIN (2 * SL_SEC)

static void replace_text(char **field, yyjson_val *v) {
    free(*field);
    *field = cl_text_of(v);
}

/* ---- from pods to Services ---- */

static uint64_t pair_hash(sl_sym ns, const char *key, const char *value) {
    return sl_hash_str(sl_hash_str(ns, key), value) | 1;
}

static bool chooses(const struct cl_service *s, yyjson_val *labels) {
    for (uint32_t i = 0; i < s->selector.n; i++) {
        const char *v = sl_json_opt(yyjson_obj_get(labels, s->selector.v[i].key));
        if (!v || strcmp(v, s->selector.v[i].value) != 0)
            return false;
    }
    return s->selector.n > 0;
}

static void service_add(struct cl_service *s, const struct cl_pod *p) {
    *sl_vec_push(&s->pods) = p->rec.id;
}

static void service_remove(struct cl_service *s, const struct cl_pod *p) {
    for (uint32_t i = 0; i < s->pods.n; i++)
        if (s->pods.v[i] == p->rec.id) {
            s->pods.v[i] = sl_vec_last(&s->pods);
            s->pods.n--;
            return;
        }
}

/* Every Service that the pod's labels belong to is reconciled; 'change': with its membership. */
static void visit(struct sl_cluster *c, const struct cl_pod *p,
                  void (*change)(struct cl_service *s, const struct cl_pod *p)) {
    if (!p->labels || !c->service_pairs.n)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(p->labels, strlen(p->labels), 0);
    yyjson_val *labels = yyjson_doc_get_root(d), *key, *value;
    size_t i, n;

    sl_obj_foreach (labels, i, n, key, value) {
        uint64_t h = pair_hash(p->rec.ns, sl_json_text(key), sl_json_text(value));
        sl_map_foreach (id, &c->service_pairs, h) {
            struct sl_rec *r = c->inf->recs.v[id];
            if (r->ns != p->rec.ns || !chooses(cl_service_of(r), labels))
                continue;
            if (change)
                change(cl_service_of(r), p);
            sl_rec_enqueue(r);
        }
    }
}

static uint64_t signature(const struct cl_pod *p) {
    const uint64_t v[] = {p->f.net, p->f.ready_since != 0, p->rec.deleting, cl_pod_ended(p),
                          p->f.node};

    return sl_hash_bytes(1, v, sizeof v);
}

void cl_network_pod_changed(struct sl_cluster *c, struct cl_pod *p) {
    uint64_t now = signature(p);

    if (p->served && p->net_seen == now)
        return;
    visit(c, p, p->served ? NULL : service_add);
    p->served = true;
    p->net_seen = now;
}

void cl_network_pod_leaves(struct sl_cluster *c, struct cl_pod *p) {
    if (p->served)
        visit(c, p, service_remove);
    p->served = false;
}

/* ---- what a pod has for them ---- */

static void put_ports(struct sl_jw *j, yyjson_val *containers, bool init) {
    size_t i, n, k, m;
    yyjson_val *v, *port;

    yyjson_arr_foreach (containers, i, n, v) {
        if (init && strcmp(sl_json_str(v, "restartPolicy"), "Always") != 0)
            continue;
        yyjson_arr_foreach (yyjson_obj_get(v, "ports"), k, m, port) {
            if (!*sl_json_str(port, "name"))
                continue;
            sl_jw_array(j, NULL);
            sl_jw_str(j, NULL, sl_json_str(port, "name"));
            const char *protocol = sl_json_str(port, "protocol");
            sl_jw_str(j, NULL, *protocol ? protocol : "TCP");
            sl_jw_int(j, NULL, sl_json_int(port, "containerPort", 0));
            sl_jw_end(j);
        }
    }
}

char *cl_network_pod_text(yyjson_val *spec, yyjson_val *status) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    struct sl_jw j = SL_JW(&b);
    const char *ip = sl_json_str(status, "podIP"), *hostname = sl_json_str(spec, "hostname"),
               *subdomain = sl_json_str(spec, "subdomain");

    if (!*ip)
        return NULL;
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "ip", ip);
    if (*hostname && *subdomain) {
        sl_jw_str(&j, "hostname", hostname);
        sl_jw_str(&j, "subdomain", subdomain);
    }
    sl_jw_array(&j, "ports");
    put_ports(&j, yyjson_obj_get(spec, "containers"), false);
    put_ports(&j, yyjson_obj_get(spec, "initContainers"), true);
    sl_jw_end_to(&j, 0);
    return sl_buf_full(&b) ? NULL : sl_strdup(sl_buf_str(&b));
}

/* ---- records ---- */

static void take_selector(struct sl_cluster *c, struct cl_service *s, yyjson_val *selector) {
    if (s->pair)
        (void)sl_map_del(&c->service_pairs, s->pair, s->rec.id);
    s->pair = 0;
    sl_vec_clear(&s->pods);
    sl_arena_clear(&s->arena);
    cl_labels_read(&s->arena, selector, &s->selector);
    if (s->selector.n == 0 || sl_arena_full(&s->arena))
        return;
    s->pair = pair_hash(s->rec.ns, s->selector.v[0].key, s->selector.v[0].value);
    sl_map_add(&c->service_pairs, s->pair, s->rec.id);
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_POD, &at));) {
        struct cl_pod *p = cl_pod_of(r);
        if (!p->served || !p->labels || r->ns != s->rec.ns)
            continue; /* one that was not reconciled yet comes by itself */
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(p->labels, strlen(p->labels), 0);
        if (chooses(s, yyjson_doc_get_root(d)))
            service_add(s, p);
    }
}

bool cl_service_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_service *s = cl_service_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *selector = yyjson_obj_get(spec, "selector");
    uint64_t hash = sl_json_hash(1, selector);

    if (!s->arena.ceiling)
        sl_arena_init(&s->arena, CL_MAX_SELECTOR);
    if (hash != s->selector_hash)
        take_selector(ctx, s, selector);
    s->selector_hash = hash;
    replace_text(&s->ports, yyjson_obj_get(spec, "ports"));
    replace_text(&s->labels, sl_json_at(o, "metadata.labels"));
    s->external = strcmp(sl_json_str(spec, "type"), "ExternalName") == 0;
    s->headless = strcmp(sl_json_str(spec, "clusterIP"), "None") == 0;
    s->with_unready = sl_json_bool(spec, "publishNotReadyAddresses", false);
    return true;
}

static struct sl_rec *endpoints_of(struct sl_cluster *c, const struct sl_rec *r) {
    return sl_inf_find_sym(c->inf, K_ENDPOINTS, r->ns, r->name);
}

void cl_service_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_service *s = cl_service_of(r);
    struct sl_rec *object = endpoints_of(c, r);

    if (object)
        sl_rec_enqueue(object); /* it is compared, or mirrored */
    if (!cl_service_selects(s))
        return;
    if (!object && cl_on(c, CL_ENDPOINTS))
        sl_rec_write(r);
    if (!cl_on(c, CL_ENDPOINT_SLICES))
        return;
    struct cl_endpoints all;
    cl_endpoints_of_pods(c, s, &all);
    cl_slices_plan(c, &(struct cl_slices_plan){.owner = r,
                                               .manager = NET_SLICES_OF_SERVICES,
                                               .labels = s->labels,
                                               .all = &all,
                                               .number = &s->number,
                                               .headless = s->headless,
                                               .placeholder = true});
    cl_endpoints_done(&all);
}

/* The Endpoints that it lacks. */
bool cl_service_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct cl_service *s = cl_service_of(r);

    if (!cl_service_selects(s) || endpoints_of(c, r) || !cl_on(c, CL_ENDPOINTS))
        return false;
    if (s->again > c->client->mono) { /* it may be on its way here */
        sl_rec_write_at(r, s->again);
        return false;
    }
    s->again = c->client->mono + AGAIN;
    sl_inf_build_create(c->inf, K_ENDPOINTS, sl_rec_ns(r), w);
    w->foreign = true;
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "v1");
    sl_jw_str(j, "kind", "Endpoints");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", r->name);
    cl_endpoints_put(c, s, NULL, j);
    return true;
}

void cl_service_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_service *s = cl_service_of(r);
    struct sl_rec *object = endpoints_of(c, r);

    if (s->pair)
        (void)sl_map_del(&c->service_pairs, s->pair, r->id);
    s->pair = 0;
    if (object)
        sl_rec_enqueue(object);
}

void cl_service_done(struct sl_rec *r) {
    struct cl_service *s = cl_service_of(r);

    if (s->arena.ceiling)
        sl_arena_done(&s->arena);
    sl_freep(&s->ports);
    sl_freep(&s->labels);
    sl_vec_free(&s->pods);
}
