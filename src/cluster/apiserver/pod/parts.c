/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Independent parts of a pod: probes and hooks, security contexts, host aliases and names.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

#define GRACE_S 30

/* ---- probes and hooks ---- */

static void port_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *port) {
    int64_t n = sl_json_int(port, "", 0);

    if (yyjson_is_str(port))
        api_word_check_of(e, at, port, api_word_port);
    else if (n < 1 || n > 65535)
        sl_field_invalid(e, at, sl_field_value_int(n), SL_PORT_RANGE);
}

static void exec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *way) {
    if (sl_json_size(sl_json_get(way, "command")) == 0)
        sl_field_required(e, SL_PATH(at, "command"), "");
}

static void http_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *way) {
    static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
    size_t i, n;
    yyjson_val *v;

    if (!*sl_json_str(way, "path"))
        sl_field_required(e, SL_PATH(at, "path"), "");
    port_check(e, SL_PATH(at, "port"), sl_json_get(way, "port"));
    api_check_one_of(e, at, way, "scheme", schemes, false);
    yyjson_arr_foreach (sl_json_get(way, "httpHeaders"), i, n, v) {
        const char *name = sl_json_str(v, "name");
        api_word_check(e, SL_PATH(at, "httpHeaders"), name, strlen(name), api_word_header);
    }
}

static void tcp_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *way) {
    port_check(e, SL_PATH(at, "port"), sl_json_get(way, "port"));
}

static const struct {
    const char *name;
    void (*check)(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *way);
} ways[] = {
    {"exec", exec_check}, {"httpGet", http_check}, {"tcpSocket", tcp_check},
    {"grpc", tcp_check},  {"sleep", NULL},
};

/* Exactly one way. 'grace': of the pod; a hook may not sleep longer. */
static void handler(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *h,
                    int64_t grace) {
    int64_t s = sl_json_int(h, "sleep.seconds", 0);
    size_t count = 0;

    for (size_t i = 0; i < SL_LEN(ways); i++) {
        yyjson_val *way = sl_json_get(h, ways[i].name);
        if (!way)
            continue;
        if (count++ > 0)
            sl_field_forbidden(e, SL_PATH(at, ways[i].name),
                               "may not specify more than 1 handler type");
        else if (ways[i].check)
            ways[i].check(e, SL_PATH(at, ways[i].name), way);
        else if (s < 0 || s > grace)
            sl_field_invalid(e, SL_PATH(at, ways[i].name), sl_field_value_int(s),
                             "must be non-negative and less than terminationGracePeriodSeconds "
                             "(%lld)",
                             (long long)grace);
    }
    if (count == 0)
        sl_field_required(e, at, "must specify a handler type");
}

static void probe(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *c,
                  const char *name, bool ends) {
    static const char *const numbers[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                          "successThreshold", "failureThreshold"};
    yyjson_val *p = sl_json_get(c, name), *grace = sl_json_get(p, "terminationGracePeriodSeconds");
    const struct sl_path *at = SL_PATH(up, name);
    int64_t successes = sl_json_int(p, "successThreshold", 1);

    if (!p)
        return;
    handler(e, at, p, INT64_MAX);
    for (size_t i = 0; i < SL_LEN(numbers); i++)
        api_check_not_negative(e, at, p, numbers[i]);
    if (grace && yyjson_get_sint(grace) <= 0)
        sl_field_invalid(e, SL_PATH(at, "terminationGracePeriodSeconds"),
                         sl_field_value_int(yyjson_get_sint(grace)), "must be greater than 0");
    if (grace && !ends)
        sl_field_invalid(e, SL_PATH(at, "terminationGracePeriodSeconds"),
                         sl_field_value_int(yyjson_get_sint(grace)),
                         "must not be set for readinessProbes");
    if (ends && successes != 1)
        sl_field_invalid(e, SL_PATH(at, "successThreshold"), sl_field_value_int(successes),
                         "must be 1");
}

void api_hooks_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                     yyjson_val *spec) {
    static const char *const names[] = {"postStart", "preStop"};
    int64_t grace = sl_json_int(spec, "terminationGracePeriodSeconds", GRACE_S);

    for (size_t i = 0; i < SL_LEN(names); i++) {
        yyjson_val *h = sl_json_get(sl_json_get(c, "lifecycle"), names[i]);
        if (h)
            handler(e, SL_PATH(SL_PATH(at, "lifecycle"), names[i]), h, grace);
    }
    probe(e, at, c, "livenessProbe", true);
    probe(e, at, c, "readinessProbe", false);
    probe(e, at, c, "startupProbe", true);
}

/* ---- security contexts ---- */

static void id_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *id) {
    int64_t n = sl_json_int(id, "", 0);

    if (n < 0 || n > INT32_MAX)
        sl_field_invalid(e, at, sl_field_value_int(n), "must be between 0 and %d, inclusive",
                         INT32_MAX);
}

static void profile_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *profile) {
    static const char *const types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};
    bool local = strcmp(sl_json_str(profile, "type"), "Localhost") == 0;
    bool named = *sl_json_str(profile, "localhostProfile");

    if (!profile)
        return;
    if (local && !named)
        sl_field_required(e, SL_PATH(at, "localhostProfile"),
                          "must be set when seccomp type is Localhost");
    else if (!local && named)
        sl_field_invalid(e, SL_PATH(at, "localhostProfile"),
                         sl_field_value_str(sl_json_str(profile, "localhostProfile")),
                         "can only be set when seccomp type is Localhost");
    api_check_one_of(e, at, profile, "type", types, true);
}

void api_container_security_check(struct sl_field_errs *e, const struct sl_path *at,
                                  yyjson_val *security) {
    yyjson_val *more = sl_json_get(security, "allowPrivilegeEscalation"), *v;
    bool never = more && !yyjson_get_bool(more);
    size_t i, n;

    if (!security)
        return;
    id_check(e, SL_PATH(at, "runAsUser"), sl_json_get(security, "runAsUser"));
    id_check(e, SL_PATH(at, "runAsGroup"), sl_json_get(security, "runAsGroup"));
    if (never && sl_json_bool(security, "privileged", false))
        sl_field_invalid(e, at, sl_field_value_json(security),
                         "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    yyjson_arr_foreach (sl_json_at(security, "capabilities.add"), i, n, v) {
        if (never && yyjson_equals_str(v, "CAP_SYS_ADMIN"))
            sl_field_invalid(e, at, sl_field_value_json(security),
                             "cannot set `allowPrivilegeEscalation` to false and "
                             "`capabilities.Add` CAP_SYS_ADMIN");
    }
    profile_check(e, SL_PATH(at, "seccompProfile"), sl_json_get(security, "seccompProfile"));
}

/* "net.ipv4.x" or "kernel/x": names separated by dots or slashes. */
static bool is_sysctl(const char *s) {
    size_t len = strlen(s);

    if (len == 0 || len > 253)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
        bool border = i == 0 || i + 1 == len || strchr("./", s[i - 1]) || strchr("./", s[i + 1]);
        if (!letter && (border || !strchr("-_./", s[i])))
            return false;
    }
    return true;
}

void api_pod_security_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *security = sl_json_get(spec, "securityContext");
    static const char *const ids[] = {"fsGroup", "runAsUser", "runAsGroup"};
    static const char *const changes[] = {"Always", "OnRootMismatch", NULL};
    static const char *const groups[] = {"Merge", "Strict", NULL};
    size_t i, n;
    yyjson_val *v;

    if (!security)
        return;
    for (i = 0; i < SL_LEN(ids); i++)
        id_check(e, SL_PATH(at, ids[i]), sl_json_get(security, ids[i]));
    yyjson_arr_foreach (sl_json_get(security, "supplementalGroups"), i, n, v) {
        id_check(e, SL_PATH_AT(SL_PATH(at, "supplementalGroups"), i), v);
    }
    if (sl_json_bool(spec, "shareProcessNamespace", false) && sl_json_bool(spec, "hostPID", false))
        sl_field_invalid(e, SL_PATH(at, "shareProcessNamespace"), sl_field_value_none(),
                         "true: ShareProcessNamespace and HostPID cannot both be enabled");
    yyjson_arr_foreach (sl_json_get(security, "sysctls"), i, n, v) {
        const char *name = sl_json_str(v, "name");
        const struct sl_path *name_at = SL_PATH(SL_PATH_AT(SL_PATH(at, "sysctls"), i), "name");
        if (!*name)
            sl_field_required(e, name_at, "");
        else if (!is_sysctl(name))
            sl_field_invalid(
                e, name_at, sl_field_value_str(name),
                "must have at most 253 characters and match regex "
                "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
                "$");
    }
    api_check_one_of(e, at, security, "fsGroupChangePolicy", changes, false);
    api_check_one_of(e, at, security, "supplementalGroupsPolicy", groups, false);
    profile_check(e, SL_PATH(at, "seccompProfile"), sl_json_get(security, "seccompProfile"));
}

/* ---- hosts and names ---- */

static void address(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ip) {
    const char *why = api_address_fault(sl_json_text(ip));

    if (why)
        sl_field_invalid(e, at, sl_field_value_str(sl_json_text(ip)), "%s", why);
}

void api_pod_dns_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *config = sl_json_get(spec, "dnsConfig"), *v;
    bool none = strcmp(sl_json_str(spec, "dnsPolicy"), "None") == 0;
    size_t i, n;

    if (none && !config)
        sl_field_required(e, SL_PATH(at, "dnsConfig"),
                          "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (none && sl_json_size(sl_json_get(config, "nameservers")) == 0)
        sl_field_required(e, SL_PATH(SL_PATH(at, "dnsConfig"), "nameservers"),
                          "must provide at least one DNS nameserver when `dnsPolicy` is None");
    yyjson_arr_foreach (sl_json_get(config, "nameservers"), i, n, v) {
        address(e, SL_PATH_AT(SL_PATH(SL_PATH(at, "dnsConfig"), "nameservers"), i), v);
    }
    yyjson_arr_foreach (sl_json_get(spec, "readinessGates"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "readinessGates"), i);
        const char *type = sl_json_str(v, "conditionType");
        api_word_check(e, SL_PATH(v_at, "conditionType"), type, strlen(type), sl_syntax_label_key);
    }
}

void api_pod_aliases_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    size_t i, n, j, m;
    yyjson_val *v, *name;

    yyjson_arr_foreach (list, i, n, v) {
        address(e, SL_PATH(SL_PATH_AT(at, i), "ip"), sl_json_get(v, "ip"));
        yyjson_arr_foreach (sl_json_get(v, "hostnames"), j, m, name) {
            api_word_check_of(e, SL_PATH_AT(SL_PATH(SL_PATH_AT(at, i), "hostnames"), j), name,
                              sl_syntax_subdomain);
        }
    }
}

void api_pod_os_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *os) {
    static const char *const systems[] = {"linux", "windows"};
    const char *system = sl_json_str(os, "name");

    if (os && !*system)
        sl_field_required(e, SL_PATH(at, "name"), "cannot be empty");
    else if (os && strcmp(system, systems[0]) != 0 && strcmp(system, systems[1]) != 0)
        sl_field_unsupported(e, at, sl_field_value_str(system), systems, 2);
}

/* ---- namespaces of the host ---- */

void api_pod_network_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                           bool in_pod) {
    size_t i, n, j, m;
    yyjson_val *c, *p;

    if (!sl_json_bool(spec, "hostNetwork", false))
        return;
    yyjson_arr_foreach (sl_json_get(spec, "containers"), i, n, c) {
        const struct sl_path *ports_at = SL_PATH(SL_PATH_AT(SL_PATH(at, "containers"), i), "ports");
        yyjson_arr_foreach (sl_json_get(c, "ports"), j, m, p) {
            int64_t port = sl_json_int(p, "containerPort", 0), host = sl_json_int(p, "hostPort", 0);
            if ((in_pod || host != 0) && host != port) /* in a template it comes later */
                sl_field_invalid(e, SL_PATH(SL_PATH_AT(ports_at, j), "hostPort"),
                                 sl_field_value_int(host),
                                 "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

void api_pod_users_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const shared[][2] = {
        {"hostNetwork", "hostNetwork"}, {"hostPID", "HostPID"}, {"hostIPC", "HostIPC"}};
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    size_t i, n;
    yyjson_val *c;

    if (sl_json_bool(spec, "hostUsers", true))
        return;
    for (size_t k = 0; k < SL_LEN(shared); k++)
        if (sl_json_bool(spec, shared[k][0], false))
            sl_field_forbidden(e, SL_PATH(at, shared[k][1]), "when `hostUsers` is false");
    for (size_t k = 0; k < SL_LEN(lists); k++)
        yyjson_arr_foreach (sl_json_get(spec, lists[k]), i, n, c) {
            if (sl_json_size(sl_json_get(c, "volumeDevices")) > 0)
                sl_field_forbidden(e,
                                   SL_PATH(SL_PATH_AT(SL_PATH(at, lists[k]), i), "volumeDevices"),
                                   "when `hostUsers` is false");
        }
}
