/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of Services. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define MAX_AFFINITY_S 86400

static bool is_type(yyjson_val *spec, const char *type) {
    return strcmp(sl_json_str(spec, "type"), type) == 0;
}

static bool is_headless(yyjson_val *spec) {
    yyjson_val *ips = sl_json_get(spec, "clusterIPs");

    return sl_json_size(ips) == 1 && yyjson_equals_str(yyjson_arr_get_first(ips), "None");
}

static bool list_has(yyjson_val *list, const char *word) {
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        if (yyjson_equals_str(v, word))
            return true;
    }
    return false;
}

/* ---- addresses ---- */

/* True: nothing is wrong. What was there before is taken as it is. */
static bool address_check(struct sl_field_errs *e, const struct sl_path *at, const char *ip,
                          yyjson_val *before) {
    const char *why = list_has(before, ip) ? NULL : api_address_fault(ip);

    if (why)
        sl_field_invalid(e, at, sl_field_value_str(ip), "%s", why);
    return !why;
}

static void families_check(struct sl_field_errs *e, yyjson_val *spec) {
    static const char *const families[] = {"IPv4", "IPv6"};
    static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack",
                                           NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *list = sl_json_get(spec, "ipFamilies"), *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        const char *family = sl_json_text(v);
        bool twice = false;
        if (e->dropped)
            break;
        for (size_t k = 0; k < i; k++)
            twice = twice || yyjson_equals_str(yyjson_arr_get(list, k), family);
        if (strcmp(family, families[0]) != 0 && strcmp(family, families[1]) != 0)
            sl_field_unsupported(e, SL_PATH_AT(SL_PATH(at, "ipFamilies"), i),
                                 sl_field_value_str(family), families, 2);
        if (twice)
            sl_field_duplicate(e, SL_PATH_AT(SL_PATH(at, "ipFamilies"), i),
                               sl_field_value_str(family), "");
    }
    api_check_one_of(e, at, spec, "ipFamilyPolicy", policies, false);
}

/* Each address is of the family that stands at its place. */
static void match_families(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *ips = sl_json_get(spec, "clusterIPs"), *families = sl_json_get(spec, "ipFamilies");
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (ips, i, n, v) {
        const char *not = strchr(sl_json_text(v), ':') ? "IPv4" : "IPv6";
        if (yyjson_equals_str(yyjson_arr_get(families, i), not ))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_text(v)),
                             "expected an %s value as indicated by `ipFamilies[%zu]`", not, i);
    }
}

void api_service_addresses_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "clusterIPs");
    yyjson_val *ips = sl_json_get(spec, "clusterIPs"), *before = sl_json_get(old, "clusterIPs"), *v;
    const char *ip = sl_json_str(spec, "clusterIP");
    size_t i, n, six = 0;
    bool good = true;

    if (is_type(spec, "ExternalName"))
        return;
    if (*ip && sl_json_size(ips) == 0)
        sl_field_required(e, at, "");
    else if (*ip && !yyjson_equals_str(yyjson_arr_get_first(ips), ip))
        sl_field_invalid(e, at, sl_field_value_json(ips), "first value must match `clusterIP`");
    else if (!*ip && sl_json_size(ips) > 0)
        sl_field_invalid(e, at, sl_field_value_json(ips),
                         "must be empty when `clusterIP` is not specified");
    families_check(e, spec);
    yyjson_arr_foreach (ips, i, n, v) {
        if (i > 0 || !yyjson_equals_str(v, "None")) {
            good = address_check(e, SL_PATH_AT(at, i), sl_json_text(v), before) && good;
        } else if (n > 1) {
            good = false;
            sl_field_invalid(e, at, sl_field_value_json(ips),
                             "'None' must be the first and only value");
        }
        six += strchr(sl_json_text(v), ':') != NULL;
    }
    if (sl_json_size(ips) > 2)
        sl_field_invalid(e, at, sl_field_value_json(ips), "may only hold up to 2 values");
    if (!good)
        return;
    if (n > 1 && (six == 0 || six == n))
        sl_field_invalid(e, at, sl_field_value_json(ips),
                         "may specify no more than one IP for each IP family");
    if (!is_headless(spec))
        match_families(e, at, spec);
}

static void special_check(struct sl_field_errs *e, const struct sl_path *at, const char *ip) {
    unsigned char b[4];
    struct in6_addr six;
    bool v4 = inet_pton(AF_INET, ip, b) == 1, v6 = inet_pton(AF_INET6, ip, &six) == 1;

    if ((v4 && !b[0] && !b[1] && !b[2] && !b[3]) || (v6 && IN6_IS_ADDR_UNSPECIFIED(&six)))
        sl_field_invalid(e, at, sl_field_value_str(ip), "may not be unspecified (%s)", ip);
    if ((v4 && b[0] == 127) || (v6 && IN6_IS_ADDR_LOOPBACK(&six)))
        sl_field_invalid(e, at, sl_field_value_str(ip),
                         "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if ((v4 && b[0] == 169 && b[1] == 254) || (v6 && IN6_IS_ADDR_LINKLOCAL(&six)))
        sl_field_invalid(e, at, sl_field_value_str(ip),
                         "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if ((v4 && b[0] == 224 && !b[1] && !b[2]) || (v6 && IN6_IS_ADDR_MC_LINKLOCAL(&six)))
        sl_field_invalid(e, at, sl_field_value_str(ip),
                         "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void external_ips(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "externalIPs");
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(spec, "externalIPs"), i, n, v) {
        if (address_check(e, SL_PATH_AT(at, i), sl_json_text(v), sl_json_get(old, "externalIPs")))
            special_check(e, SL_PATH_AT(at, i), sl_json_text(v));
    }
}

/* ---- what may not change ---- */

static void addresses_update(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "clusterIPs");
    yyjson_val *now = sl_json_get(spec, "clusterIPs"), *was = sl_json_get(old, "clusterIPs"), *v;
    size_t i, n, have = sl_json_size(now), had = sl_json_size(was);

    if (is_headless(spec) && is_headless(old))
        return;
    if (had > have && have == 0)
        sl_field_invalid(e, SL_PATH_AT(at, 0), sl_field_value_json(now),
                         "primary clusterIP can not be unset");
    yyjson_arr_foreach (was, i, n, v) {
        if ((i == 0 || had == have) && i < have && !sl_json_equal(v, yyjson_arr_get(now, i), NULL))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_json(now),
                             "may not change once set");
    }
    if (had > have && have == 1 && strcmp(sl_json_str(spec, "ipFamilyPolicy"), "SingleStack") != 0)
        sl_field_invalid(e, SL_PATH(SL_PATH(NULL, "spec"), "ipFamilyPolicy"),
                         sl_field_value_str(sl_json_str(spec, "ipFamilyPolicy")),
                         "must be set to 'SingleStack' when releasing the secondary clusterIP");
}

static void families_update(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH_AT(SL_PATH(SL_PATH(NULL, "spec"), "ipFamilies"), 0);
    yyjson_val *now = sl_json_get(spec, "ipFamilies"), *was = sl_json_get(old, "ipFamilies"), *v;
    size_t i, n;

    if (is_headless(spec) || is_headless(old) || sl_json_size(now) != sl_json_size(was))
        return;
    yyjson_arr_foreach (was, i, n, v) {
        if (!sl_json_equal(v, yyjson_arr_get(now, i), NULL))
            sl_field_invalid(e, at, sl_field_value_json(now), "may not change once set");
    }
}

static bool checks_health(yyjson_val *spec) {
    return is_type(spec, "LoadBalancer") &&
           strcmp(sl_json_str(spec, "externalTrafficPolicy"), "Local") == 0;
}

static void class_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "loadBalancerClass");
    yyjson_val *class = sl_json_get(spec, "loadBalancerClass");

    if (old && is_type(old, "LoadBalancer") && is_type(spec, "LoadBalancer") &&
        !sl_json_same(class, sl_json_get(old, "loadBalancerClass")))
        sl_field_invalid(e, at, sl_field_value_json(class), "may not change once set");
    if (!class)
        return;
    if (is_type(spec, "LoadBalancer"))
        sl_syntax_check_key_of(e, at, class);
    else
        sl_field_forbidden(e, at, "may only be used when `type` is 'LoadBalancer'");
}

static void update_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old) {
    if (!is_type(spec, "ExternalName") && !is_type(old, "ExternalName")) {
        addresses_update(e, spec, old);
        families_update(e, spec, old);
    }
    class_check(e, spec, old);
    if (checks_health(spec) && checks_health(old) &&
        sl_json_int(spec, "healthCheckNodePort", 0) != sl_json_int(old, "healthCheckNodePort", 0))
        sl_field_forbidden(e, SL_PATH(SL_PATH(NULL, "spec"), "healthCheckNodePort"),
                           "field is immutable");
}

/* ---- ports ---- */

static void port_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ports,
                       yyjson_val *p, struct sl_wordset *names) {
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    const char *name = sl_json_str(p, "name");
    int64_t port = sl_json_int(p, "port", 0);
    yyjson_val *target = sl_json_get(p, "targetPort"), *app = sl_json_get(p, "appProtocol");

    if (*name) {
        api_word_check(e, SL_PATH(at, "name"), name, strlen(name), sl_syntax_dns_label);
        if (!sl_wordset_add(names, name))
            sl_field_duplicate(e, SL_PATH(at, "name"), sl_field_value_str(name), "");
    } else if (sl_json_size(ports) > 1) {
        sl_field_required(e, SL_PATH(at, "name"), "");
    }
    if (port < 1 || port > 65535)
        sl_field_invalid(e, SL_PATH(at, "port"), sl_field_value_int(port), SL_PORT_RANGE);
    api_check_one_of(e, at, p, "protocol", protocols, true);
    if (yyjson_is_int(target) &&
        (sl_json_int(target, "", 0) < 1 || sl_json_int(target, "", 0) > 65535))
        sl_field_invalid(e, SL_PATH(at, "targetPort"),
                         sl_field_value_int(sl_json_int(target, "", 0)), SL_PORT_RANGE);
    else if (yyjson_is_str(target))
        api_word_check_of(e, SL_PATH(at, "targetPort"), target, api_word_port);
    if (app)
        sl_syntax_check_key_of(e, SL_PATH(at, "appProtocol"), app);
}

/* The pair of protocol and number was there before. */
static bool is_again(struct sl_field_errs *e, struct sl_wordset *seen, yyjson_val *p,
                     const char *field) {
    return !sl_wordset_add(seen,
                           sl_arena_printf(e->arena, "%lld %s", (long long)sl_json_int(p, field, 0),
                                           sl_json_str(p, "protocol")));
}

static void node_ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *ports = sl_json_get(spec, "ports"), *p;
    _cleanup_(sl_wordset_done) struct sl_wordset numbers = {0}, pairs = {0};
    size_t i, n;

    yyjson_arr_foreach (ports, i, n, p) {
        if (is_type(spec, "ClusterIP") && sl_json_int(p, "nodePort", 0) != 0)
            sl_field_forbidden(e, SL_PATH(SL_PATH_AT(at, i), "nodePort"),
                               "may not be used when `type` is 'ClusterIP'");
    }
    yyjson_arr_foreach (ports, i, n, p) {
        int64_t port = sl_json_int(p, "nodePort", 0);
        if (port != 0 && is_again(e, &numbers, p, "nodePort"))
            sl_field_duplicate(e, SL_PATH(SL_PATH_AT(at, i), "nodePort"), sl_field_value_int(port),
                               "");
    }
    yyjson_arr_foreach (ports, i, n, p) {
        if (is_again(e, &pairs, p, "port"))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_json(p), "");
    }
}

/* ---- traffic ---- */

static void traffic(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const policies[] = {"Cluster", "Local", NULL};
    static const char *const distributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode",
                                                NULL};
    const char *outer = sl_json_str(spec, "externalTrafficPolicy");
    bool ports = is_type(spec, "NodePort") || is_type(spec, "LoadBalancer");
    bool open =
        ports || (is_type(spec, "ClusterIP") && sl_json_size(sl_json_get(spec, "externalIPs")) > 0);
    int64_t health = sl_json_int(spec, "healthCheckNodePort", 0);

    if (open)
        api_check_one_of(e, at, spec, "externalTrafficPolicy", policies, true);
    else if (*outer)
        sl_field_invalid(e, SL_PATH(at, "externalTrafficPolicy"), sl_field_value_str(outer),
                         "may only be set for externally-accessible services");
    if (!checks_health(spec) && health != 0)
        sl_field_invalid(e, SL_PATH(at, "healthCheckNodePort"), sl_field_value_int(health),
                         "may only be set when `type` is 'LoadBalancer' and "
                         "`externalTrafficPolicy` is 'Local'");
    else if (checks_health(spec) && (health < 1 || health > 65535))
        sl_field_invalid(e, SL_PATH(at, "healthCheckNodePort"), sl_field_value_int(health),
                         SL_PORT_RANGE);
    api_check_one_of(e, at, spec, "internalTrafficPolicy", policies,
                     ports || is_type(spec, "ClusterIP"));
    api_check_one_of(e, at, spec, "trafficDistribution", distributions, false);
}

/* ---- all of it ---- */

static void by_type(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const unused[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    const char *type = sl_json_str(spec, "type"), *name = sl_json_str(spec, "externalName");
    size_t len = strlen(name);

    if ((is_type(spec, "LoadBalancer") || is_type(spec, "NodePort")) && is_headless(spec))
        sl_field_invalid(e, SL_PATH_AT(SL_PATH(at, "clusterIPs"), 0), sl_field_value_str("None"),
                         "may not be set to 'None' for %s services", type);
    if (!is_type(spec, "ExternalName"))
        return;
    for (size_t i = 0; i < SL_LEN(unused); i++)
        if (sl_json_get(spec, unused[i]))
            sl_field_forbidden(e, SL_PATH(at, unused[i]),
                               "may not be set for ExternalName services");
    len -= len > 0 && name[len - 1] == '.';
    if (len)
        api_word_check(e, SL_PATH(at, "externalName"), sl_arena_strndup(e->arena, name, len), len,
                       sl_syntax_subdomain);
    else
        sl_field_required(e, SL_PATH(at, "externalName"), "");
}

static void affinity(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const affinities[] = {"ClientIP", "None", NULL};
    int64_t s = sl_json_int(spec, "sessionAffinityConfig.clientIP.timeoutSeconds", 0);

    api_check_one_of(e, at, spec, "sessionAffinity", affinities, true);
    if (strcmp(sl_json_str(spec, "sessionAffinity"), affinities[0]) == 0 &&
        (s <= 0 || s > MAX_AFFINITY_S))
        sl_field_invalid(e, SL_PATH(at, "sessionAffinityConfig.clientIP.timeoutSeconds"),
                         sl_field_value_int(s), "must be greater than 0 and less than %d",
                         MAX_AFFINITY_S);
}

#define RANGES "service.beta.kubernetes.io/load-balancer-source-ranges"
#define FOR_BALANCERS "may only be used when `type` is 'LoadBalancer'"

/* Without the spaces around it. */
static const char *trimmed(struct sl_arena *a, struct sl_text t) {
    static const char space[] = " \t\n\v\f\r";

    for (; t.n && memchr(space, *t.s, strlen(space)); t.n--)
        t.s++;
    while (t.n && memchr(space, t.s[t.n - 1], strlen(space)))
        t.n--;
    return sl_arena_strndup(a, t.s, t.n);
}

static void range_check(struct sl_field_errs *e, const struct sl_path *at, const char *range) {
    const char *why = api_cidr_fault(range, NULL);

    if (why)
        sl_field_invalid(e, at, sl_field_value_str(range), "%s", why);
}

static bool is_in(struct sl_arena *a, yyjson_val *list, const char *range) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(trimmed(a, sl_text_of(sl_json_text(v))), range) == 0)
            return true;
    }
    return false;
}

/* Source ranges, as a list in the spec or, before there was one, as an annotation. */
static void ranges(struct sl_field_errs *e, yyjson_val *object, yyjson_val *old) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "LoadBalancerSourceRanges");
    const struct sl_path *note_at =
        SL_PATH_KEY(SL_PATH(SL_PATH(NULL, "metadata"), "annotations"), RANGES);
    yyjson_val *spec = sl_json_get(object, "spec"), *v;
    yyjson_val *list = sl_json_get(spec, "loadBalancerSourceRanges");
    const char *note = sl_json_annotation_opt(object, RANGES),
               *was = sl_json_annotation_opt(old, RANGES);
    size_t i, n;

    if (sl_json_size(list) == 0 && !note)
        return;
    if (!is_type(spec, "LoadBalancer"))
        sl_field_forbidden(e, sl_json_size(list) ? at : note_at, FOR_BALANCERS);
    yyjson_arr_foreach (list, i, n, v) {
        const char *range = trimmed(e->arena, sl_text_of(sl_json_text(v)));
        if (!is_in(e->arena, sl_json_at(old, "spec.loadBalancerSourceRanges"), range))
            range_check(e, SL_PATH_AT(at, i), range);
    }
    if (sl_json_size(list) > 0 || (was && strcmp(was, note) == 0) ||
        !*trimmed(e->arena, sl_text_of(note)))
        return;
    for (const char *p = note; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        range_check(e, note_at, trimmed(e->arena, (struct sl_text){p, strcspn(p, ",")}));
}

static void balancer(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    if (sl_json_get(spec, "allocateLoadBalancerNodePorts") && !is_type(spec, "LoadBalancer"))
        sl_field_forbidden(e, SL_PATH(at, "allocateLoadBalancerNodePorts"), FOR_BALANCERS);
    class_check(e, spec, NULL);
}

static void warn(struct api_change *c, yyjson_val *spec) {
    bool ips = sl_json_size(sl_json_get(spec, "externalIPs")) > 0;
    bool headless = is_type(spec, "ClusterIP") && is_headless(spec);

    if (headless && *sl_json_str(spec, "loadBalancerIP"))
        api_change_warn(c, "spec.loadBalancerIP is ignored for headless services");
    if (headless && ips)
        api_change_warn(c, "spec.externalIPs is ignored for headless services");
    if (headless && strcmp(sl_json_str(spec, "sessionAffinity"), "None") != 0)
        api_change_warn(c, "spec.SessionAffinity is ignored for headless services");
    if (ips && !headless && !is_type(spec, "ExternalName"))
        api_change_warn(c,
                        "spec.externalIPs is deprecated and may no longer be implemented in some "
                        "clusters");
    if (ips && is_type(spec, "ExternalName"))
        api_change_warn(c, "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    if (!is_type(spec, "ExternalName") && *sl_json_str(spec, "externalName"))
        api_change_warn(c, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (strcmp(sl_json_str(spec, "trafficDistribution"), "PreferClose") == 0)
        api_change_warn(c, "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
                           "\"PreferSameZone\"");
}

void api_service_check(struct api_change *c, yyjson_val *object) {
    static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                        NULL};
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *old = sl_json_get(c->old, "spec");
    yyjson_val *ports = sl_json_get(spec, "ports"), *p;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;

    if (!api_change_is_object(c))
        return;
    if (old)
        update_check(c->errs, spec, old);
    if (sl_json_size(ports) == 0 && !is_headless(spec) && !is_type(spec, "ExternalName"))
        sl_field_required(c->errs, SL_PATH(at, "ports"), "");
    by_type(c->errs, at, spec);
    yyjson_arr_foreach (ports, i, n, p) {
        port_check(c->errs, SL_PATH_AT(SL_PATH(at, "ports"), i), ports, p, &names);
    }
    sl_syntax_check_labels(c->errs, SL_PATH(at, "selector"), sl_json_get(spec, "selector"));
    affinity(c->errs, at, spec);
    api_service_addresses_check(c->errs, spec, old);
    external_ips(c->errs, spec, old);
    api_check_one_of(c->errs, at, spec, "type", types, true);
    node_ports(c->errs, SL_PATH(at, "ports"), spec);
    ranges(c->errs, object, c->old);
    balancer(c->errs, at, spec);
    traffic(c->errs, at, spec);
    if (!c->errs->n)
        warn(c, spec);
}
