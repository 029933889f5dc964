/* SPDX-License-Identifier: Apache-2.0 */
/* networking.k8s.io: stored and validated, without any effect on the network. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

/* ---- names and addresses ---- */

#define WILDCARD                                                                                   \
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "      \
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "        \
    "alphanumeric character (e.g. '*.example.com', regex used for validation is "                  \
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* "*.example.com" */
static struct sl_syntax_errors wildcard(const char *s, size_t len) {
    struct sl_syntax_errors f = {0}, rest = {0};

    if (len > 253)
        f.v[f.n++] = "must be no more than 253 characters";
    if (len >= 2)
        rest = sl_syntax_subdomain(s + 2, len - 2 > 253 ? 253 : len - 2);
    if (len < 2 || memcmp(s, "*.", 2) != 0 || rest.n)
        f.v[f.n++] = WILDCARD;
    return f;
}

static void host_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *host) {
    struct sl_text t = sl_json_view(host);

    api_word_check(e, at, t.s, t.n, memchr(t.s, '*', t.n) ? wildcard : sl_syntax_subdomain);
}

/* A reference: kind or resource, and name. */
static void segment_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                          const char *field) {
    api_word_check_at(e, at, ref, field, api_word_segment, true);
}

static void group_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    yyjson_val *group = sl_json_get(ref, "apiGroup");

    if (group)
        api_word_check_of(e, SL_PATH(at, "apiGroup"), group, sl_syntax_subdomain);
}

/* ---- ingresses ---- */

static void port_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *port,
                       const struct sl_path *backend_at) {
    yyjson_val *name = sl_json_get(port, "name");
    int64_t number = sl_json_int(port, "number", 0);
    bool named = sl_json_view(name).n > 0;

    if (named && number)
        sl_field_invalid(e, backend_at, sl_field_value_str(""),
                         "cannot set both port name & port number");
    else if (named)
        api_word_check_of(e, SL_PATH(at, "name"), name, api_word_port);
    else if (!number)
        sl_field_required(e, backend_at, "port name or number is required");
    else if (number < 1 || number > 65535)
        sl_field_invalid(e, SL_PATH(at, "number"), sl_field_value_int(number), SL_PORT_RANGE);
}

static void backend_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *backend) {
    yyjson_val *resource = sl_json_get(backend, "resource"),
               *service = sl_json_get(backend, "service");
    const struct sl_path *resource_at = SL_PATH(at, "resource"),
                         *service_at = SL_PATH(at, "service");

    if (resource && service) {
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "cannot set both resource and service backends");
    } else if (resource) {
        group_check(e, resource_at, resource);
        segment_check(e, resource_at, resource, "kind");
        segment_check(e, resource_at, resource, "name");
    } else if (service) {
        api_word_check_at(e, service_at, service, "name", sl_syntax_dns_label, true);
        port_check(e, SL_PATH(service_at, "port"), sl_json_get(service, "port"), at);
    } else {
        sl_field_invalid(e, at, sl_field_value_str(""), "resource or service backend is required");
    }
}

/* What a path that is compared may not have. */
static void path_check(struct sl_field_errs *e, const struct sl_path *at, const char *path) {
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"}, *const last[] = {"/..",
                                                                                              "/."};
    size_t len = strlen(path);

    for (size_t i = 0; i < SL_LEN(inside); i++)
        if (strstr(path, inside[i]))
            sl_field_invalid(e, at, sl_field_value_str(path), "must not contain '%s'", inside[i]);
    for (size_t i = 0; i < SL_LEN(last); i++)
        if (len >= strlen(last[i]) && strcmp(path + len - strlen(last[i]), last[i]) == 0)
            sl_field_invalid(e, at, sl_field_value_str(path), "cannot end with '%s'", last[i]);
}

static void route_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *route) {
    static const char *const types[] = {"Exact", "ImplementationSpecific", "Prefix"};
    const char *type = sl_json_str(route, "pathType"), *path = sl_json_str(route, "path");
    bool any = strcmp(type, types[1]) == 0,
         compared = strcmp(type, types[0]) == 0 || strcmp(type, types[2]) == 0;

    if (!sl_json_get(route, "pathType")) {
        sl_field_required(e, SL_PATH(at, "pathType"), "pathType must be specified");
        return;
    }
    if ((compared || (any && *path)) && *path != '/')
        sl_field_invalid(e, SL_PATH(at, "path"), sl_field_value_str(path),
                         "must be an absolute path");
    if (compared)
        path_check(e, SL_PATH(at, "path"), path);
    else if (!any)
        sl_field_unsupported(e, SL_PATH(at, "pathType"), sl_field_value_str(type), types,
                             SL_LEN(types));
    backend_check(e, SL_PATH(at, "backend"), sl_json_get(route, "backend"));
}

static void rule_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *rule) {
    yyjson_val *host = sl_json_get(rule, "host"), *http = sl_json_get(rule, "http"),
               *paths = sl_json_get(http, "paths"), *p;
    const struct sl_path *paths_at = SL_PATH(SL_PATH(at, "http"), "paths");
    size_t i, n;

    if (sl_json_view(host).n > 0) {
        if (api_is_address(sl_json_text(host)))
            sl_field_invalid(e, SL_PATH(at, "host"), sl_field_value_text(sl_json_view(host)),
                             "must be a DNS name, not an IP address");
        host_check(e, SL_PATH(at, "host"), host);
    }
    if (http && sl_json_size(paths) == 0)
        sl_field_required(e, paths_at, "");
    yyjson_arr_foreach (paths, i, n, p) {
        route_check(e, SL_PATH_AT(paths_at, i), p);
    }
}

static void tls_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tls) {
    yyjson_val *host;
    size_t i, n;

    yyjson_arr_foreach (sl_json_get(tls, "hosts"), i, n, host) {
        host_check(e, SL_PATH_AT(SL_PATH(at, "hosts"), i), host);
    }
    api_word_check_at(e, at, tls, "secretName", sl_syntax_subdomain, false);
}

/* Entry points; what was there before may stay as it is. */
static void ingress_status(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(SL_PATH(SL_PATH(NULL, "status"), "loadBalancer"), "ingress");
    yyjson_val *list = sl_json_at(object, "status.loadBalancer.ingress"),
               *old = sl_json_at(c->old, "status.loadBalancer.ingress"), *in;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, in) {
        const struct sl_path *in_at = SL_PATH_AT(at, i);
        const char *ip = sl_json_str(in, "ip"), *host = sl_json_str(in, "hostname");
        const char *fault = *ip && !sl_json_find(old, "ip", ip) ? api_address_fault(ip) : NULL;
        if (fault)
            sl_field_invalid(c->errs, SL_PATH(in_at, "ip"), sl_field_value_str(ip), "%s", fault);
        api_word_check_at(c->errs, in_at, in, "hostname", sl_syntax_subdomain, false);
        if (api_is_address(host))
            sl_field_invalid(c->errs, SL_PATH(in_at, "hostname"), sl_field_value_str(host),
                             "must be a DNS name, not an IP address");
    }
}

#define CLASS_ANNOTATION "kubernetes.io/ingress.class"

static void ingress_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *rules = sl_json_get(spec, "rules"),
               *fallback = sl_json_get(spec, "defaultBackend"),
               *class = sl_json_get(spec, "ingressClassName"), *v;
    const char *mark = sl_json_annotation_opt(object, CLASS_ANNOTATION);
    struct sl_field_errs *e = c->errs;
    size_t i, n;

    if (!api_change_is_object(c)) {
        ingress_status(c, object);
        return;
    }
    if (sl_json_size(rules) == 0 && !fallback)
        sl_field_invalid(e, at, sl_field_value_json(rules),
                         "either `defaultBackend` or `rules` must be specified");
    if (fallback)
        backend_check(e, SL_PATH(at, "defaultBackend"), fallback);
    yyjson_arr_foreach (rules, i, n, v) {
        rule_check(e, SL_PATH_AT(SL_PATH(at, "rules"), i), v);
    }
    yyjson_arr_foreach (sl_json_get(spec, "tls"), i, n, v) {
        tls_check(e, SL_PATH_AT(SL_PATH(at, "tls"), i), v);
    }
    if (class)
        api_word_check_of(e, SL_PATH(at, "ingressClassName"), class, sl_syntax_subdomain);
    if (!c->old && mark && class && strcmp(mark, sl_json_text(class)) != 0)
        sl_field_invalid(e, SL_PATH(SL_PATH(NULL, "annotations"), CLASS_ANNOTATION),
                         sl_field_value_str(mark),
                         "must match `ingressClassName` when both are specified");
    if (!c->old && !e->n && mark && !class)
        api_change_warn(c, "annotation \"" CLASS_ANNOTATION
                           "\" is deprecated, please use 'spec.ingressClassName' instead");
}
static const struct api_strategy ingress_strategy = {.validate = ingress_validate};

static void class_validate(struct api_change *c, yyjson_val *object) {
    static const char *const scopes[] = {"Cluster", "Namespace"};
    const struct sl_path *at = SL_PATH(NULL, "spec"), *to_at = SL_PATH(at, "parameters");
    yyjson_val *spec = sl_json_get(object, "spec"), *name = sl_json_get(spec, "controller"),
               *to = sl_json_get(spec, "parameters"), *ns = sl_json_get(to, "namespace");
    const char *scope = sl_json_str(to, "scope");
    struct sl_field_errs *e = c->errs;

    if (c->old)
        sl_field_immutable(e, SL_PATH(at, "controller"), name,
                           sl_json_at(c->old, "spec.controller"));
    if (sl_json_view(name).n > 250)
        sl_field_too_long(e, SL_PATH(at, "controller"), 250);
    sl_syntax_check_domain_path(e, SL_PATH(at, "controller"), sl_json_view(name).s,
                                sl_json_view(name).n);
    if (!to)
        return;
    group_check(e, to_at, to);
    segment_check(e, to_at, to, "kind");
    segment_check(e, to_at, to, "name");
    if (strcmp(scope, scopes[0]) != 0 && strcmp(scope, scopes[1]) != 0)
        sl_field_unsupported(e, SL_PATH(to_at, "scope"), sl_field_value_str(scope), scopes,
                             SL_LEN(scopes));
    else if (strcmp(scope, scopes[0]) == 0 && ns)
        sl_field_forbidden(e, SL_PATH(to_at, "namespace"),
                           "`parameters.scope` is set to 'Cluster'");
    else if (strcmp(scope, scopes[1]) == 0 && !ns)
        sl_field_required(e, SL_PATH(to_at, "namespace"),
                          "`parameters.scope` is set to 'Namespace'");
    else if (ns)
        api_word_check_of(e, SL_PATH(to_at, "namespace"), ns, sl_syntax_dns_label);
}
static const struct api_strategy class_strategy = {.validate = class_validate};

/* ---- network policies ---- */

static void policy_port(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *p) {
    static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
    yyjson_val *port = sl_json_get(p, "port"), *end = sl_json_get(p, "endPort");
    int64_t first = sl_json_int(port, "", 0), last = sl_json_int(end, "", 0);
    const struct sl_path *end_at = SL_PATH(at, "endPort");

    api_check_one_of(e, at, p, "protocol", protocols, false);
    if (!port || yyjson_is_str(port)) {
        if (end)
            sl_field_invalid(e, end_at, sl_field_value_int(last),
                             port ? "may not be specified when `port` is non-numeric"
                                  : "may not be specified when `port` is not specified");
        if (port)
            api_word_check_of(e, SL_PATH(at, "port"), port, api_word_port);
        return;
    }
    if (first < 1 || first > 65535)
        sl_field_invalid(e, SL_PATH(at, "port"), sl_field_value_int(first), SL_PORT_RANGE);
    if (end && last < first)
        sl_field_invalid(e, end_at, sl_field_value_int(first),
                         "must be greater than or equal to `port`");
    if (end && (last < 1 || last > 65535))
        sl_field_invalid(e, end_at, sl_field_value_int(last), SL_PORT_RANGE);
}

/* Is this one of the networks that the old object had? Those may stay as they are. */
static bool had_network(yyjson_val *old, const char *cidr) {
    static const char *const ways[][2] = {{"ingress", "from"}, {"egress", "to"}};
    size_t i, n, j, m, k, l;
    yyjson_val *rule, *peer, *but;

    for (size_t w = 0; w < SL_LEN(ways); w++) {
        yyjson_arr_foreach (sl_json_get(sl_json_get(old, "spec"), ways[w][0]), i, n, rule) {
            yyjson_arr_foreach (sl_json_get(rule, ways[w][1]), j, m, peer) {
                if (strcmp(sl_json_str(peer, "ipBlock.cidr"), cidr) == 0)
                    return true;
                yyjson_arr_foreach (sl_json_at(peer, "ipBlock.except"), k, l, but) {
                    if (strcmp(sl_json_text(but), cidr) == 0)
                        return true;
                }
            }
        }
    }
    return false;
}

/* Whether it can be read at all. */
static bool network_check(struct api_change *c, const struct sl_path *at, yyjson_val *v) {
    const char *cidr = sl_json_text(v);
    enum api_family family;
    const char *fault = api_cidr_fault(cidr, &family);

    if (fault && !had_network(c->old, cidr))
        sl_field_invalid(c->errs, at, sl_field_value_str(cidr), "%s", fault);
    return family != SL_FAMILY_NONE;
}

static void block_check(struct api_change *c, const struct sl_path *at, yyjson_val *block) {
    yyjson_val *cidr = sl_json_get(block, "cidr"), *but;
    size_t i, n;

    if (sl_json_view(cidr).n == 0) {
        sl_field_required(c->errs, SL_PATH(at, "cidr"), "");
        return;
    }
    if (!network_check(c, SL_PATH(at, "cidr"), cidr))
        return;
    yyjson_arr_foreach (sl_json_get(block, "except"), i, n, but) {
        const struct sl_path *but_at = SL_PATH_AT(SL_PATH(at, "except"), i);
        if (network_check(c, but_at, but) &&
            !api_cidr_inside(sl_json_text(but), sl_json_text(cidr)))
            sl_field_invalid(c->errs, but_at, sl_field_value_str(sl_json_text(but)),
                             "must be a strict subset of `cidr`");
    }
}

static void peer_check(struct api_change *c, const struct sl_path *at, yyjson_val *peer) {
    yyjson_val *pods = sl_json_get(peer, "podSelector"),
               *spaces = sl_json_get(peer, "namespaceSelector"),
               *block = sl_json_get(peer, "ipBlock");

    sl_syntax_check_selector(c->errs, SL_PATH(at, "podSelector"), pods);
    sl_syntax_check_selector(c->errs, SL_PATH(at, "namespaceSelector"), spaces);
    if (block)
        block_check(c, SL_PATH(at, "ipBlock"), block);
    if (!pods && !spaces && !block)
        sl_field_required(c->errs, at, "must specify a peer");
    else if (block && (pods || spaces))
        sl_field_forbidden(c->errs, at, "may not specify both ipBlock and another peer");
}

static void direction_check(struct api_change *c, const struct sl_path *at, yyjson_val *rules,
                            const char *peers) {
    yyjson_val *rule, *v;
    size_t i, n, j, m;

    yyjson_arr_foreach (rules, i, n, rule) {
        const struct sl_path *rule_at = SL_PATH_AT(at, i);
        yyjson_arr_foreach (sl_json_get(rule, "ports"), j, m, v) {
            policy_port(c->errs, SL_PATH_AT(SL_PATH(rule_at, "ports"), j), v);
        }
        yyjson_arr_foreach (sl_json_get(rule, peers), j, m, v) {
            peer_check(c, SL_PATH_AT(SL_PATH(rule_at, peers), j), v);
        }
    }
}

static void policy_validate(struct api_change *c, yyjson_val *object) {
    static const char *const kinds[] = {"Ingress", "Egress"};
    const struct sl_path *at = SL_PATH(NULL, "spec"), *types_at = SL_PATH(at, "policyTypes");
    yyjson_val *spec = sl_json_get(object, "spec"), *types = sl_json_get(spec, "policyTypes"), *t;
    size_t i, n;

    sl_syntax_check_selector(c->errs, SL_PATH(at, "podSelector"), sl_json_get(spec, "podSelector"));
    direction_check(c, SL_PATH(at, "ingress"), sl_json_get(spec, "ingress"), "from");
    direction_check(c, SL_PATH(at, "egress"), sl_json_get(spec, "egress"), "to");
    if (sl_json_size(types) > SL_LEN(kinds)) {
        sl_field_invalid(c->errs, types_at, sl_field_value_json(types),
                         "may not specify more than two policyTypes");
        return;
    }
    yyjson_arr_foreach (types, i, n, t) {
        const char *type = sl_json_text(t);
        if (strcmp(type, kinds[0]) != 0 && strcmp(type, kinds[1]) != 0)
            sl_field_unsupported(c->errs, SL_PATH_AT(types_at, i), sl_field_value_str(type), kinds,
                                 SL_LEN(kinds));
    }
}

static void policy_defaults(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_obj(c->doc, c->object, "spec"), *types;

    if (!spec || sl_json_mut_size(sl_json_mut_get(spec, "policyTypes")))
        return;
    types = yyjson_mut_arr(c->doc);
    yyjson_mut_arr_add_str(c->doc, types, "Ingress");
    if (sl_json_mut_size(sl_json_mut_get(spec, "egress")))
        yyjson_mut_arr_add_str(c->doc, types, "Egress");
    sl_json_mut_set(c->doc, spec, "policyTypes", types);
}
static const struct api_strategy policy_strategy = {.defaults = policy_defaults,
                                                    .validate = policy_validate};

/* ---- addresses and ranges of services ---- */

static struct sl_syntax_errors address_name(const char *s, size_t len) {
    struct sl_syntax_errors f = {0};
    const char *fault = api_address_fault(s);

    (void)len;
    if (fault)
        f.v[f.n++] = fault;
    return f;
}

static void address_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "parentRef");
    yyjson_val *ref = sl_json_at(object, "spec.parentRef");
    const char *name = sl_json_str(object, "metadata.name");
    char canonical[API_ADDRESS_TEXT];

    if (!api_address_fault(name) && !api_address_canonical(name, canonical))
        sl_field_invalid(c->errs, SL_PATH(NULL, "metadata.name"), sl_field_value_str(name),
                         "must be in canonical form (\"%s\")", canonical);
    if (!ref) {
        sl_field_required(c->errs, at, "");
    } else {
        api_word_check_at(c->errs, at, ref, "group", sl_syntax_subdomain, false);
        segment_check(c->errs, at, ref, "resource");
        segment_check(c->errs, at, ref, "name");
        api_word_check_at(c->errs, at, ref, "namespace", api_word_segment, false);
    }
    if (c->old)
        sl_field_immutable(c->errs, at, ref, sl_json_at(c->old, "spec.parentRef"));
}
static const struct api_strategy address_strategy = {.validate = address_validate,
                                                     .no_generation = true,
                                                     .meta = SL_META_BOTH,
                                                     .name = address_name};

static void ranges_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *list = sl_json_get(spec, "cidrs"), *v;
    enum api_family family[2] = {SL_FAMILY_NONE, SL_FAMILY_NONE};
    size_t i, n;

    if (sl_json_size(list) == 0) {
        sl_field_required(e, at, "at least one CIDR required");
        return;
    }
    if (sl_json_size(list) > SL_LEN(family)) {
        sl_field_invalid(e, at, sl_field_value_json(spec), "may only hold up to 2 values");
        return;
    }
    yyjson_arr_foreach (list, i, n, v) {
        const char *fault = api_cidr_fault(sl_json_text(v), &family[i]);
        char canonical[API_ADDRESS_TEXT];
        if (fault)
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_text(sl_json_view(v)), "%s",
                             fault);
        else if (!api_cidr_canonical(sl_json_text(v), canonical))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_text(sl_json_view(v)),
                             "must be in canonical form (\"%s\")", canonical);
    }
    if (family[0] != SL_FAMILY_NONE && family[0] == family[1])
        sl_field_invalid(e, at, sl_field_value_json(list),
                         "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 "
                         "and 2001:db8::/64");
}

/* A second range may come, and nothing else may change. */
static void ranges_update(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                          yyjson_val *old) {
    yyjson_val *list = sl_json_get(spec, "cidrs"), *v;
    size_t was = sl_json_size(old), is = sl_json_size(list), i, n;

    if (was != is && (was != 1 || is != 2)) {
        sl_field_invalid(e, at, sl_field_value_json(list), SL_FIELD_IMMUTABLE);
        return;
    }
    yyjson_arr_foreach (old, i, n, v) {
        yyjson_val *now = yyjson_arr_get(list, i);
        if (!sl_text_eq(sl_json_view(v), sl_json_view(now)))
            sl_field_invalid(e, SL_PATH_AT(at, i), sl_field_value_text(sl_json_view(now)),
                             SL_FIELD_IMMUTABLE);
    }
    if (was != is)
        ranges_check(e, at, spec);
}

static void range_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "cidrs");
    yyjson_val *spec = sl_json_get(object, "spec");

    if (!api_change_is_object(c))
        return;
    if (c->old)
        ranges_update(c->errs, at, spec, sl_json_at(c->old, "spec.cidrs"));
    else
        ranges_check(c->errs, at, spec);
}
static const struct api_strategy range_strategy = {
    .prepare = api_status_keeps_meta, .validate = range_validate, .no_generation = true};

#define NETWORKING .group = "networking.k8s.io", .version = "v1"

const struct api_builtin api_builtin_networking[] = {
    {NETWORKING, .kind = "Ingress", .plural = "ingresses", .shorts = "ing", .namespaced = true,
     .status = true, .strategy = &ingress_strategy},
    {NETWORKING, .kind = "IngressClass", .plural = "ingressclasses", .strategy = &class_strategy},
    {NETWORKING, .kind = "NetworkPolicy", .plural = "networkpolicies", .shorts = "netpol",
     .namespaced = true, .strategy = &policy_strategy},
    {NETWORKING, .kind = "IPAddress", .plural = "ipaddresses", .shorts = "ip",
     .strategy = &address_strategy},
    {NETWORKING, .kind = "ServiceCIDR", .plural = "servicecidrs", .status = true,
     .strategy = &range_strategy},
    {0},
};
