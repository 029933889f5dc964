/*
 * Services: stored, with addresses and node ports for show; nothing listens there.
 */
#include <arpa/inet.h>
#include <string.h>

#include "api/json.h"
#include "apiserver/kinds.h"
#include "base/hash.h"

static bool is_type(yyjson_mut_val *spec, const char *type) {
    return strcmp(sl_mut_str(spec, "type"), type) == 0;
}

static void service_defaults(struct sl_change_in *c) {
    yyjson_mut_val *spec = sl_mut_get(c->object, "spec"), *p, *port;
    yyjson_mut_doc *doc = c->doc;
    size_t i, n;

    if (!sl_is_whole(c) || !spec)
        return;
    if (strcmp(sl_mut_str(spec, "sessionAffinity"), "ClientIP") != 0)
        sl_mut_set(doc, spec, "sessionAffinityConfig", NULL);
    else
        sl_mut_default_int(doc, sl_mut_obj(doc, spec, "sessionAffinityConfig.clientIP"),
                           "timeoutSeconds", 10800);
    yyjson_mut_arr_foreach (sl_mut_get(spec, "ports"), i, n, p) {
        port = sl_mut_get(p, "targetPort");
        if (!port || yyjson_mut_equals_str(port, "") ||
            (yyjson_mut_is_int(port) && yyjson_mut_get_sint(port) == 0))
            sl_mut_set_int(doc, p, "targetPort", sl_mut_int(p, "port", 0));
    }
    if (is_type(spec, "NodePort") || is_type(spec, "LoadBalancer"))
        sl_mut_default_str(doc, spec, "externalTrafficPolicy", "Cluster");
    if (!is_type(spec, "ExternalName"))
        sl_mut_default_str(doc, spec, "internalTrafficPolicy", "Cluster");
    if (is_type(spec, "LoadBalancer"))
        sl_mut_default_bool(doc, spec, "allocateLoadBalancerNodePorts", true);
}

/* An address and ports for show: nothing listens there. They follow from the uid, so that they are
 * the same again. */
static void service_address(struct sl_change_in *c, yyjson_mut_val *spec) {
    uint64_t h = sl_hash_str(0, sl_mut_str(c->object, "metadata.uid"));
    const char *ip = sl_mut_str(spec, "clusterIP"), *first;
    yyjson_mut_val *list;

    if (*ip == '\0') {
        first = sl_mut_str(yyjson_mut_arr_get_first(sl_mut_get(spec, "clusterIPs")), "");
        ip = *first ? first
                    : sl_arena_printf(c->arena, "10.%u.%u.%u", 96 + (unsigned)(h >> 16 & 15),
                                      (unsigned)(h >> 8 & 255), 1 + (unsigned)(h & 255) % 254);
    }
    sl_mut_set_str(c->doc, spec, "clusterIP", ip);
    list = yyjson_mut_arr(c->doc);
    yyjson_mut_arr_add_strcpy(c->doc, list, ip);
    sl_mut_set(c->doc, spec, "clusterIPs", list);
    /* Behind a headless one without a selector may stand whatever somebody says. */
    bool any = strcmp(ip, "None") == 0 && yyjson_mut_obj_size(sl_mut_get(spec, "selector")) == 0;
    if (!sl_mut_get(spec, "ipFamilies")) {
        list = yyjson_mut_arr(c->doc);
        yyjson_mut_arr_add_str(c->doc, list, "IPv4");
        if (any)
            yyjson_mut_arr_add_str(c->doc, list, "IPv6");
        sl_mut_set(c->doc, spec, "ipFamilies", list);
    }
    sl_mut_default_str(c->doc, spec, "ipFamilyPolicy", any ? "RequireDualStack" : "SingleStack");
}

static void service_node_ports(struct sl_change_in *c, yyjson_mut_val *spec) {
    uint64_t h = sl_hash_str(0, sl_mut_str(c->object, "metadata.uid"));
    yyjson_val *old = sl_json_at(c->old, "spec.ports"), *was, *at;
    size_t i, n, oi, on;
    yyjson_mut_val *p;

    yyjson_mut_arr_foreach (sl_mut_get(spec, "ports"), i, n, p) {
        if (sl_mut_int(p, "nodePort", 0) != 0)
            continue;
        was = NULL;
        yyjson_arr_foreach (old, oi, on, at) {
            if (sl_json_int(at, "port", 0) == sl_mut_int(p, "port", 0) &&
                strcmp(sl_json_str(at, "protocol"), sl_mut_str(p, "protocol")) == 0)
                was = at;
        }
        int64_t port = sl_json_int(was, "nodePort", 0);
        sl_mut_set_int(c->doc, p, "nodePort", port ? port : 30000 + (int64_t)((h + i) % 2768));
    }
}

static void service_prepare(struct sl_change_in *c) {
    static const char *const kept[] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    yyjson_mut_val *spec = sl_mut_get(c->object, "spec");
    yyjson_val *old = sl_json_get(c->old, "spec");

    if (!sl_is_whole(c) || !yyjson_mut_is_obj(spec))
        return;
    if (sl_is_new(c))
        sl_mut_set(c->doc, sl_mut_obj(c->doc, c->object, "status"), "loadBalancer",
                   yyjson_mut_obj(c->doc));
    if (is_type(spec, "ExternalName"))
        return;
    for (size_t i = 0; i < SL_LEN(kept); i++)
        if (old && !sl_mut_get(spec, kept[i]))
            sl_mut_keep(c->doc, spec, kept[i], old);
    service_address(c, spec);
    if (is_type(spec, "NodePort") || is_type(spec, "LoadBalancer"))
        service_node_ports(c, spec);
}

static void service_ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ports) {
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    size_t i, n, j, m;
    yyjson_val *p, *other;

    yyjson_arr_foreach (ports, i, n, p) {
        const struct sl_path *p_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(p, "name");
        int64_t port = sl_json_int(p, "port", 0);
        yyjson_val *target = sl_json_get(p, "targetPort");

        if (sl_json_size(ports) > 1 && *name == '\0')
            sl_field_required(e, SL_PATH(p_at, "name"), "");
        else if (*name) {
            sl_word_check(e, SL_PATH(p_at, "name"), name, strlen(name), sl_word_label);
            if (sl_json_find(ports, "name", name) != p)
                sl_field_duplicate(e, SL_PATH(p_at, "name"), sl_bad_str(name), "");
        }
        if (port < 1 || port > 65535)
            sl_field_invalid(e, SL_PATH(p_at, "port"), sl_bad_int(port), SL_PORT_RANGE);
        sl_check_one_of(e, p_at, p, "protocol", protocols, true);
        if (yyjson_is_int(target) &&
            (sl_json_int(target, "", 0) < 1 || sl_json_int(target, "", 0) > 65535))
            sl_field_invalid(e, SL_PATH(p_at, "targetPort"), sl_bad_int(sl_json_int(target, "", 0)),
                             SL_PORT_RANGE);
        else if (yyjson_is_str(target))
            sl_word_check(e, SL_PATH(p_at, "targetPort"), sl_json_text(target),
                          yyjson_get_len(target), sl_word_port);
        yyjson_arr_foreach (ports, j, m, other) {
            if (j < i && sl_json_int(other, "port", 0) == port &&
                strcmp(sl_json_str(other, "protocol"), sl_json_str(p, "protocol")) == 0) {
                sl_field_duplicate(e, p_at, sl_bad_json(p), "");
                break;
            }
        }
    }
}

static bool is_address(const char *s) {
    unsigned char bytes[16];

    return inet_pton(AF_INET, s, bytes) == 1 || inet_pton(AF_INET6, s, bytes) == 1;
}

static void service_validate(struct sl_change_in *c, yyjson_val *object) {
    static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                        NULL};
    static const char *const affinities[] = {"ClientIP", "None", NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *ports = sl_json_get(spec, "ports");
    const char *type = sl_json_str(spec, "type"), *ip = sl_json_str(spec, "clusterIP");
    const char *old_ip = sl_json_str(c->old, "spec.clusterIP");

    if (!sl_is_whole(c))
        return;
    if (*old_ip && strcmp(type, "ExternalName") != 0 &&
        strcmp(sl_json_str(c->old, "spec.type"), "ExternalName") != 0 && strcmp(ip, old_ip) != 0)
        sl_field_invalid(c->errs, SL_PATH_AT(SL_PATH(at, "clusterIPs"), 0),
                         sl_bad_json(sl_json_get(spec, "clusterIPs")), "may not change once set");
    if (strcmp(type, "ExternalName") == 0) {
        if (*sl_json_str(spec, "externalName") == '\0')
            sl_field_required(c->errs, SL_PATH(at, "externalName"), "");
    } else if (sl_json_size(ports) == 0 && strcmp(ip, "None") != 0) {
        sl_field_required(c->errs, SL_PATH(at, "ports"), "");
    }
    service_ports(c->errs, SL_PATH(at, "ports"), ports);
    sl_check_labels(c->errs, SL_PATH(at, "selector"), sl_json_get(spec, "selector"));
    sl_check_one_of(c->errs, at, spec, "sessionAffinity", affinities, true);
    if (*ip && strcmp(type, "ExternalName") != 0 && strcmp(ip, "None") != 0 && !is_address(ip))
        sl_field_invalid(c->errs, SL_PATH_AT(SL_PATH(at, "clusterIPs"), 0), sl_bad_str(ip),
                         "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    sl_check_one_of(c->errs, at, spec, "type", types, true);
}
const struct sl_strategy sl_service_strategy = {.prepare = service_prepare,
                                                .defaults = service_defaults,
                                                .validate = service_validate,
                                                .no_generation = true,
                                                .name = sl_word_label,
                                                .put_creates = true,
                                                .returns_deleted = true};
