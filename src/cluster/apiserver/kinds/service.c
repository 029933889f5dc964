/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services: stored, with allocated addresses and node ports that nothing listens on. Allocation,
 * retention and release when other fields change are as on a cluster with IPv4 only. The rules are
 * in service_check.c.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define AT(...) SL_PATH(SL_PATH(NULL, "spec"), __VA_ARGS__)
#define FIRST_NODE_PORT 30000
#define N_NODE_PORTS 2768

static bool is_type(yyjson_mut_val *spec, const char *type) {
    return strcmp(sl_json_mut_str(spec, "type"), type) == 0;
}

static bool was_type(yyjson_val *old, const char *type) {
    return strcmp(sl_json_str(old, "type"), type) == 0;
}

static bool has_node_ports(yyjson_mut_val *spec) {
    return is_type(spec, "NodePort") || is_type(spec, "LoadBalancer");
}

static bool had_node_ports(yyjson_val *old) {
    return was_type(old, "NodePort") || was_type(old, "LoadBalancer");
}

static bool is_headless(yyjson_mut_val *spec) {
    return strcmp(sl_json_mut_str(spec, "clusterIP"), "None") == 0;
}

/* Is this field of the two the same? */
static bool field_unchanged(yyjson_mut_val *spec, yyjson_val *old, const char *field) {
    yyjson_mut_val *now = sl_json_mut_get(spec, field);
    yyjson_val *was = sl_json_get(old, field);
    _cleanup_(sl_json_docp) yyjson_doc *copy = now ? yyjson_mut_val_imut_copy(now, NULL) : NULL;

    return sl_json_same(yyjson_doc_get_root(copy), was);
}

/* ---- defaults ---- */

static void service_defaults(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec"), *p, *port;
    yyjson_mut_doc *doc = c->doc;
    size_t i, n;

    if (!api_change_is_object(c) || !spec)
        return;
    if (strcmp(sl_json_mut_str(spec, "sessionAffinity"), "None") == 0)
        sl_json_mut_set(doc, spec, "sessionAffinityConfig", NULL);
    else if (strcmp(sl_json_mut_str(spec, "sessionAffinity"), "ClientIP") == 0)
        sl_json_mut_default_int(doc, sl_json_mut_obj(doc, spec, "sessionAffinityConfig.clientIP"),
                                "timeoutSeconds", 10800);
    yyjson_mut_arr_foreach (sl_json_mut_get(spec, "ports"), i, n, p) {
        port = sl_json_mut_get(p, "targetPort");
        if (!port || yyjson_mut_equals_str(port, "") ||
            (yyjson_mut_is_int(port) && yyjson_mut_get_sint(port) == 0))
            sl_json_mut_set_int(doc, p, "targetPort", sl_json_mut_int(p, "port", 0));
    }
    if (has_node_ports(spec) || (is_type(spec, "ClusterIP") &&
                                 yyjson_mut_arr_size(sl_json_mut_get(spec, "externalIPs")) > 0))
        sl_json_mut_default_str(doc, spec, "externalTrafficPolicy", "Cluster");
    if (has_node_ports(spec) || is_type(spec, "ClusterIP"))
        sl_json_mut_default_str(doc, spec, "internalTrafficPolicy", "Cluster");
    if (is_type(spec, "LoadBalancer"))
        sl_json_mut_default_bool(doc, spec, "allocateLoadBalancerNodePorts", true);
}

/* ---- addresses ---- */

static void set_one(struct api_change *c, yyjson_mut_val *spec, const char *field,
                    const char *word) {
    yyjson_mut_val *list = yyjson_mut_arr(c->doc);

    yyjson_mut_arr_add_strcpy(c->doc, list, word);
    sl_json_mut_set(c->doc, spec, field, list);
}

/* clusterIP and clusterIPs agree; if one is set, the other follows. */
static void settle_addresses(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    const char *was = sl_json_str(old, "clusterIP");

    if (!old) {
        if (*sl_json_mut_str(spec, "clusterIP") &&
            !yyjson_mut_arr_size(sl_json_mut_get(spec, "clusterIPs")))
            set_one(c, spec, "clusterIPs", sl_json_mut_str(spec, "clusterIP"));
        return;
    }
    if (!was_type(old, "ExternalName") && !is_type(spec, "ExternalName")) {
        sl_json_mut_default_str(c->doc, spec, "clusterIP", was);
        if (!yyjson_mut_arr_size(sl_json_mut_get(spec, "clusterIPs")))
            sl_json_mut_keep(c->doc, spec, "clusterIPs", old);
    }
    const char *ip = sl_json_mut_str(spec, "clusterIP");
    if (!yyjson_mut_arr_size(sl_json_mut_get(spec, "clusterIPs")) && strcmp(ip, was) == 0)
        sl_json_mut_keep(c->doc, spec, "clusterIPs", old);
    if (strcmp(ip, was) == 0 || !field_unchanged(spec, old, "clusterIPs"))
        return;
    if (*ip)
        set_one(c, spec, "clusterIPs", ip);
    else
        sl_json_mut_set(c->doc, spec, "clusterIPs", NULL);
}

/* "ipFamilyPolicy": one of two families, which this cluster does not have. */
static void report_policy(struct api_change *c, yyjson_mut_val *spec, const char *why) {
    sl_field_invalid(c->errs, AT("ipFamilyPolicy"),
                     sl_field_value_str(sl_json_mut_str(spec, "ipFamilyPolicy")), "%s", why);
}

static void check_policy(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    size_t ips = yyjson_mut_arr_size(sl_json_mut_get(spec, "clusterIPs")),
           families = yyjson_mut_arr_size(sl_json_mut_get(spec, "ipFamilies"));
    bool single = strcmp(sl_json_mut_str(spec, "ipFamilyPolicy"), "SingleStack") == 0;

    if (old && single) { /* explicit, if nothing else was set */
        if (ips > 1 && field_unchanged(spec, old, "clusterIPs"))
            set_one(
                c, spec, "clusterIPs",
                sl_json_mut_str(yyjson_mut_arr_get_first(sl_json_mut_get(spec, "clusterIPs")), ""));
        if (families > 1 && field_unchanged(spec, old, "ipFamilies"))
            set_one(
                c, spec, "ipFamilies",
                sl_json_mut_str(yyjson_mut_arr_get_first(sl_json_mut_get(spec, "ipFamilies")), ""));
        ips = yyjson_mut_arr_size(sl_json_mut_get(spec, "clusterIPs"));
        families = yyjson_mut_arr_size(sl_json_mut_get(spec, "ipFamilies"));
    } else if (old) {
        size_t had = sl_json_size(sl_json_get(old, "clusterIPs"));
        if (had == 2 && ips == 1)
            report_policy(c, spec, "must be 'SingleStack' to release the secondary cluster IP");
        had = sl_json_size(sl_json_get(old, "ipFamilies"));
        if (had == 2 && families == 1)
            report_policy(c, spec, "must be 'SingleStack' to release the secondary IP family");
    }
    if (single && ips == 2)
        report_policy(
            c, spec,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are "
            "specified");
    if (single && families == 2)
        report_policy(
            c, spec,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified");
}

/* The families of the requested addresses. */
static void infer_families(struct api_change *c, yyjson_mut_val *spec) {
    yyjson_mut_val *ips = sl_json_mut_get(spec, "clusterIPs"), *families, *ip;
    _cleanup_(sl_json_docp) yyjson_doc *copy = ips ? yyjson_mut_val_imut_copy(ips, NULL) : NULL;
    size_t i, n;

    yyjson_mut_arr_foreach (ips, i, n, ip) {
        families = sl_json_mut_get(spec, "ipFamilies");
        if (i < yyjson_mut_arr_size(families) || is_headless(spec))
            continue;
        if (strchr(sl_json_mut_str(ip, ""), ':')) {
            sl_field_invalid(c->errs, SL_PATH_AT(AT("clusterIPs"), i),
                             sl_field_value_json(yyjson_doc_get_root(copy)),
                             "IPv6 is not configured on this cluster");
        } else if (families) {
            yyjson_mut_arr_add_str(c->doc, families, "IPv4");
        } else {
            set_one(c, spec, "ipFamilies", "IPv4");
        }
    }
}

/* The endpoints of a headless one without a selector are set by its user. */
static void any_family(struct api_change *c, yyjson_mut_val *spec) {
    yyjson_mut_val *families = sl_json_mut_get(spec, "ipFamilies");

    if (!yyjson_mut_arr_size(families))
        set_one(c, spec, "ipFamilies", "IPv4");
    families = sl_json_mut_get(spec, "ipFamilies");
    if (yyjson_mut_arr_size(families) < 2 &&
        strcmp(sl_json_mut_str(spec, "ipFamilyPolicy"), "SingleStack") != 0)
        yyjson_mut_arr_add_str(
            c->doc, families,
            yyjson_mut_equals_str(yyjson_mut_arr_get_first(families), "IPv4") ? "IPv6" : "IPv4");
}

static bool prefers_both_still(yyjson_mut_val *spec, yyjson_val *old) {
    return strcmp(sl_json_mut_str(spec, "ipFamilyPolicy"), "PreferDualStack") == 0 &&
           strcmp(sl_json_str(old, "ipFamilyPolicy"), "PreferDualStack") == 0 &&
           field_unchanged(spec, old, "type") && field_unchanged(spec, old, "clusterIPs") &&
           field_unchanged(spec, old, "ipFamilies");
}

/* False: the request cannot be satisfied. */
static bool give_families(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    const char *before = sl_json_str(old, "ipFamilyPolicy");
    bool any = is_headless(spec) && yyjson_mut_obj_size(sl_json_mut_get(spec, "selector")) == 0;
    yyjson_mut_val *family;
    size_t i, n;

    if (old && prefers_both_still(spec, old))
        return true;
    sl_json_mut_default_str(c->doc, spec, "ipFamilyPolicy",
                            *before ? before
                            : any   ? "RequireDualStack"
                                    : "SingleStack");
    yyjson_doc *copy = yyjson_mut_val_imut_copy(spec, NULL);
    api_service_addresses_check(c->errs, yyjson_doc_get_root(copy), old);
    yyjson_doc_free(copy);
    if (c->errs->n)
        return false;
    check_policy(c, spec, old);
    infer_families(c, spec);
    if (c->errs->n)
        return false;
    if (any) {
        any_family(c, spec);
        return true;
    }
    if (strcmp(sl_json_mut_str(spec, "ipFamilyPolicy"), "RequireDualStack") == 0)
        report_policy(c, spec, "this cluster is not configured for dual-stack services");
    yyjson_mut_arr_foreach (sl_json_mut_get(spec, "ipFamilies"), i, n, family) {
        if (!yyjson_mut_equals_str(family, "IPv4"))
            sl_field_invalid(c->errs, SL_PATH_AT(AT("ipFamilies"), i),
                             sl_field_value_str(sl_json_mut_str(family, "")),
                             "not configured on this cluster");
    }
    if (!yyjson_mut_arr_size(sl_json_mut_get(spec, "ipFamilies")))
        set_one(c, spec, "ipFamilies", "IPv4");
    return c->errs->n == 0;
}

/* An address for show. It follows from the uid, so that it is the same again. */
static void give_address(struct api_change *c, yyjson_mut_val *spec) {
    uint64_t h = sl_digest_str(0, sl_json_mut_str(c->object, "metadata.uid"));
    const char *ip = sl_json_mut_str(spec, "clusterIP");
    const char *made = sl_arena_printf(c->arena, "10.%u.%u.%u", 96 + (unsigned)(h >> 16 & 15),
                                       (unsigned)(h >> 8 & 255), 1 + (unsigned)(h & 255) % 254);

    if (!*sl_json_mut_str(c->object, "metadata.name") && !c->dry_run) {
        /* There, an address is an object of its own with a reference to its Service. */
        if (!*ip)
            set_one(c, spec, "clusterIPs", "");
        _cleanup_(sl_json_docp) yyjson_doc *copy =
            yyjson_mut_val_imut_copy(sl_json_mut_get(spec, "clusterIPs"), NULL);
        sl_field_invalid(c->errs, AT("clusterIPs"), sl_field_value_json(yyjson_doc_get_root(copy)),
                         "failed to allocate IP%s%s: IPAddress.networking.k8s.io \"%s\" is "
                         "invalid: spec.parentRef.name: Required value",
                         *ip ? " " : "", ip, *ip ? ip : made);
        return;
    }
    if (*ip)
        return;
    sl_json_mut_set_str(c->doc, spec, "clusterIP", made);
    set_one(c, spec, "clusterIPs", made);
}

/* ---- node ports ---- */

static int64_t made_port(struct api_change *c, uint64_t i) {
    uint64_t h = sl_digest_str(0, sl_json_mut_str(c->object, "metadata.uid"));

    return FIRST_NODE_PORT + (int64_t)((h + i) % N_NODE_PORTS);
}

static bool in_use(yyjson_val *old, int64_t port) {
    yyjson_val *p;
    size_t i, n;

    yyjson_arr_foreach (sl_json_get(old, "ports"), i, n, p) {
        if (sl_json_int(p, "nodePort", 0) == port)
            return true;
    }
    return false;
}

static bool is_used(yyjson_mut_val *ports, int64_t port) {
    yyjson_mut_val *p;
    size_t i, n;

    yyjson_mut_arr_foreach (ports, i, n, p) {
        if (sl_json_mut_int(p, "nodePort", 0) == port)
            return true;
    }
    return false;
}

/* A port without nodePort keeps the one of the same name, unless another port has it as it was
 * sent; two with the same name both get it, and are rejected for that. */
static void keep_ports(struct api_change *c, yyjson_mut_val *ports, yyjson_val *old) {
    int64_t *meant = sl_arena_alloc0(c->arena, yyjson_mut_arr_size(ports) + 1, sizeof *meant);
    yyjson_mut_val *p;
    yyjson_val *was;
    size_t i, n, j, m;

    yyjson_mut_arr_foreach (ports, i, n, p) {
        if (sl_json_mut_int(p, "nodePort", 0) != 0)
            continue;
        yyjson_arr_foreach (sl_json_get(old, "ports"), j, m, was) {
            if (strcmp(sl_json_str(was, "name"), sl_json_mut_str(p, "name")) == 0)
                meant[i] = sl_json_int(was, "nodePort", 0);
        }
        if (is_used(ports, meant[i]))
            meant[i] = 0;
    }
    yyjson_mut_arr_foreach (ports, i, n, p) {
        if (meant[i])
            sl_json_mut_set_int(c->doc, p, "nodePort", meant[i]);
    }
}

/* A port with the same number, for the other protocol, has the same node port. */
static int64_t shared_port(yyjson_mut_val *ports, yyjson_mut_val *p) {
    yyjson_mut_val *other;
    size_t i, n;

    yyjson_mut_arr_foreach (ports, i, n, other) {
        if (sl_json_mut_int(other, "port", 0) == sl_json_mut_int(p, "port", 0) &&
            sl_json_mut_int(other, "nodePort", 0) != 0)
            return sl_json_mut_int(other, "nodePort", 0);
    }
    return 0;
}

/* What is wrong with a requested port; NULL: nothing. */
static const char *port_fault(struct api_change *c, yyjson_mut_val *ports, size_t at) {
    yyjson_mut_val *p = yyjson_mut_arr_get(ports, at), *other;
    int64_t port = sl_json_mut_int(p, "nodePort", 0);
    size_t i, n;

    yyjson_mut_arr_foreach (ports, i, n, other) {
        if (i < at && api_change_is_create(c) && sl_json_mut_int(other, "nodePort", 0) == port &&
            sl_json_mut_int(other, "port", 0) != sl_json_mut_int(p, "port", 0))
            return "provided port is already allocated";
    }
    if (c->dry_run || (port >= FIRST_NODE_PORT && port < FIRST_NODE_PORT + N_NODE_PORTS))
        return NULL;
    return sl_arena_printf(
        c->arena, "provided port is not in the valid range. The range of valid ports is %d-%d",
        FIRST_NODE_PORT, FIRST_NODE_PORT + N_NODE_PORTS - 1);
}

static bool stands_before(yyjson_mut_val *ports, size_t at) {
    yyjson_mut_val *p = yyjson_mut_arr_get(ports, at), *other;
    size_t i, n;

    yyjson_mut_arr_foreach (ports, i, n, other) {
        if (i < at && sl_json_mut_int(other, "nodePort", 0) == sl_json_mut_int(p, "nodePort", 0) &&
            strcmp(sl_json_mut_str(other, "protocol"), sl_json_mut_str(p, "protocol")) == 0)
            return true;
    }
    return false;
}

static void give_ports(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    yyjson_mut_val *ports = sl_json_mut_get(spec, "ports"), *p;
    size_t i, n;

    if (old && had_node_ports(old) && sl_json_bool(old, "allocateLoadBalancerNodePorts", true) &&
        sl_json_mut_bool(spec, "allocateLoadBalancerNodePorts", true))
        keep_ports(c, ports, old);
    yyjson_mut_arr_foreach (ports, i, n, p) {
        int64_t port = sl_json_mut_int(p, "nodePort", 0), shared = old ? 0 : shared_port(ports, p);
        const char *why = port && !in_use(old, port) ? port_fault(c, ports, i) : NULL;
        if (why) {
            sl_field_invalid(c->errs, SL_PATH(SL_PATH_AT(AT("ports"), i), "nodePort"),
                             sl_field_value_int(port), "%s", why);
            return;
        }
        if (port && !api_change_is_create(c) && stands_before(ports, i))
            api_change_refuse(c, 500, "", "duplicate nodePort: {%s %lld}",
                              sl_json_mut_str(p, "protocol"), (long long)port);
        if (port || !sl_json_mut_bool(spec, "allocateLoadBalancerNodePorts", true))
            continue;
        uint64_t k = i;
        for (port = shared; !port || (!shared && is_used(ports, port)); k++)
            port = made_port(c, k);
        sl_json_mut_set_int(c->doc, p, "nodePort", port);
    }
}

static bool checks_health(yyjson_mut_val *spec) {
    return is_type(spec, "LoadBalancer") &&
           strcmp(sl_json_mut_str(spec, "externalTrafficPolicy"), "Local") == 0;
}

static void give_health_port(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    bool had = was_type(old, "LoadBalancer") &&
               strcmp(sl_json_str(old, "externalTrafficPolicy"), "Local") == 0;

    if (!checks_health(spec) || sl_json_mut_int(spec, "healthCheckNodePort", 0) != 0)
        return;
    if (had)
        sl_json_mut_keep(c->doc, spec, "healthCheckNodePort", old);
    else
        sl_json_mut_set_int(c->doc, spec, "healthCheckNodePort",
                            made_port(c, yyjson_mut_arr_size(sl_json_mut_get(spec, "ports"))));
}

/* ---- what a change of the type leaves behind ---- */

static void drop_kept(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old,
                      const char *field) {
    if (field_unchanged(spec, old, field))
        sl_json_mut_set(c->doc, spec, field, NULL);
}

static bool no_new_ports(yyjson_mut_val *spec, yyjson_val *old) {
    yyjson_mut_val *p;
    size_t i, n;

    yyjson_mut_arr_foreach (sl_json_mut_get(spec, "ports"), i, n, p) {
        if (sl_json_mut_int(p, "nodePort", 0) != 0 &&
            !in_use(old, sl_json_mut_int(p, "nodePort", 0)))
            return false;
    }
    return true;
}

static void drop_left(struct api_change *c, yyjson_mut_val *spec, yyjson_val *old) {
    yyjson_mut_val *p;
    size_t i, n;

    if (!was_type(old, "ExternalName") && is_type(spec, "ExternalName")) {
        if (field_unchanged(spec, old, "clusterIP") && field_unchanged(spec, old, "clusterIPs")) {
            sl_json_mut_set(c->doc, spec, "clusterIP", NULL);
            sl_json_mut_set(c->doc, spec, "clusterIPs", NULL);
        }
        drop_kept(c, spec, old, "ipFamilies");
        drop_kept(c, spec, old, "ipFamilyPolicy");
    }
    if (had_node_ports(old) && !has_node_ports(spec) && no_new_ports(spec, old)) {
        yyjson_mut_arr_foreach (sl_json_mut_get(spec, "ports"), i, n, p) {
            sl_json_mut_set(c->doc, p, "nodePort", NULL);
        }
    }
    if (!checks_health(spec) && sl_json_get(old, "healthCheckNodePort"))
        drop_kept(c, spec, old, "healthCheckNodePort");
    if (was_type(old, "LoadBalancer") && !is_type(spec, "LoadBalancer")) {
        drop_kept(c, spec, old, "allocateLoadBalancerNodePorts");
        drop_kept(c, spec, old, "loadBalancerClass");
    }
    bool open = has_node_ports(spec) ||
                (is_type(spec, "ClusterIP") && sl_json_mut_get(spec, "externalIPs")),
         was_open =
             had_node_ports(old) || (was_type(old, "ClusterIP") && sl_json_get(old, "externalIPs"));
    if (was_open && !open)
        drop_kept(c, spec, old, "externalTrafficPolicy");
    if (!is_type(spec, "LoadBalancer"))
        sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "loadBalancer",
                        yyjson_mut_obj(c->doc));
}

static void service_prepare(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec");
    yyjson_val *old = sl_json_get(c->old, "spec");

    if (!api_change_is_object(c) || !yyjson_mut_is_obj(spec))
        return;
    if (api_change_is_create(c))
        sl_json_mut_set(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "loadBalancer",
                        yyjson_mut_obj(c->doc));
    settle_addresses(c, spec, old);
    if (!is_type(spec, "ExternalName")) {
        if (!give_families(c, spec, old))
            return;
        if (!is_headless(spec) && (!old || was_type(old, "ExternalName")))
            give_address(c, spec);
        if (has_node_ports(spec) && c->errs->n == 0)
            give_ports(c, spec, old);
        give_health_port(c, spec, old);
    } else if (strcmp(sl_json_mut_str(spec, "internalTrafficPolicy"), "Cluster") == 0 ||
               strcmp(sl_json_mut_str(spec, "internalTrafficPolicy"), "Local") == 0) {
        sl_json_mut_set(c->doc, spec, "internalTrafficPolicy", NULL); /* which would mean nothing */
    }
    if (old)
        drop_left(c, spec, old);
}

static void ignore_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx, (void)a;
}

/* Its endpoints, which have its name, go with it. */
static void service_after(struct sl_apiserver *s, struct api_kind *k, yyjson_val *old,
                          yyjson_val *now) {
    char path[512];

    (void)k;
    if (now || !old)
        return;
    sl_fmt(path, sizeof path, "/api/v1/namespaces/%s/endpoints/%s",
           sl_json_str(old, "metadata.namespace"), sl_json_str(old, "metadata.name"));
    (void)sl_apiserver_call(s,
                            &(struct sl_api_request){.method = "DELETE",
                                                     .path = path,
                                                     .query = "",
                                                     .accept = "",
                                                     .content_type = "",
                                                     .user_agent = "",
                                                     .user = "system:apiserver"},
                            &(struct sl_api_sink){.answer = ignore_answer});
}

const struct api_strategy api_service_strategy = {.after = service_after,
                                                  .prepare = service_prepare,
                                                  .defaults = service_defaults,
                                                  .validate = api_service_check,
                                                  .no_generation = true,
                                                  .name = sl_syntax_dns_label,
                                                  .put_creates = true,
                                                  .returns_deleted = true};
