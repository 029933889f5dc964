/* SPDX-License-Identifier: Apache-2.0 */
/* Valid but questionable fields of a pod spec: warnings in the response. */
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define PORTS_MAX 128u /* that are compared with each other */

struct port {
    const char *list;
    size_t container, index;
    yyjson_val *v;
};
#define PORT_FMT "%s.%s[%zu].ports[%zu]"
#define PORT_OF(base, p) (base), (p)->list, (p)->container, (p)->index

static uint32_t collect_ports(yyjson_val *spec, struct port *ports) {
    static const char *const lists[] = {"initContainers", "containers"};
    yyjson_val *c, *p;
    size_t i, n, j, m;
    uint32_t count = 0;

    for (size_t l = 0; l < SL_LEN(lists); l++) {
        yyjson_arr_foreach (sl_json_get(spec, lists[l]), i, n, c) {
            yyjson_arr_foreach (sl_json_get(c, "ports"), j, m, p) {
                if (count < PORTS_MAX)
                    ports[count++] = (struct port){lists[l], i, j, p};
            }
        }
    }
    return count;
}

/* Of two ports with the same number and protocol; NULL: they get along. */
static const char *clash(yyjson_val *a, yyjson_val *b) {
    int64_t host_a = sl_json_int(a, "hostPort", 0), host_b = sl_json_int(b, "hostPort", 0);
    const char *ip_a = sl_json_str(a, "hostIP"), *ip_b = sl_json_str(b, "hostIP");

    if (host_a == host_b && strcmp(ip_a, ip_b) == 0)
        return "duplicate";
    if (host_a == 0 || host_b == 0)
        return "overlapping";
    return host_a == host_b && (*ip_a == '\0') != (*ip_b == '\0') ? "dangerously ambiguous" : NULL;
}

static bool same_number(yyjson_val *a, yyjson_val *b) {
    return sl_json_int(a, "containerPort", 0) == sl_json_int(b, "containerPort", 0) &&
           strcmp(sl_json_str(a, "protocol"), sl_json_str(b, "protocol")) == 0;
}

static void port_warn(struct api_change *c, const char *path, const struct port *ports,
                      uint32_t i) {
    const char *name = sl_json_str(ports[i].v, "name");

    for (uint32_t k = 0; k < i; k++) {
        const char *how =
            same_number(ports[i].v, ports[k].v) ? clash(ports[i].v, ports[k].v) : NULL;
        if (how)
            api_change_warn(c, PORT_FMT ": %s port definition with " PORT_FMT,
                            PORT_OF(path, &ports[i]), how, PORT_OF(path, &ports[k]));
    }
    for (uint32_t k = 0; *name && k < i; k++) {
        if (strcmp(sl_json_str(ports[k].v, "name"), name) != 0)
            continue;
        api_change_warn(
            c,
            PORT_FMT ": duplicate port name \"%s\" with " PORT_FMT
                     ", services and probes that select ports by name will use " PORT_FMT,
            PORT_OF(path, &ports[i]), name, PORT_OF(path, &ports[k]), PORT_OF(path, &ports[k]));
        return;
    }
}

/* Fields that isolate on a cluster and do nothing under `sluice up`. */
static void ignored_warn(struct api_change *c, yyjson_val *security, const char *path,
                         const char *where) {
    static const char *const fields[] = {"appArmorProfile", "privileged",     "procMount",
                                         "seLinuxOptions",  "seccompProfile", "windowsOptions"};

    for (size_t i = 0; i < SL_LEN(fields); i++) {
        yyjson_val *v = sl_json_get(security, fields[i]);
        if (v && !yyjson_is_null(v) && !yyjson_is_false(v))
            api_change_warn(c, "%s%s.securityContext.%s: sluice up ignores this field", path, where,
                            fields[i]);
    }
}

static void security_warn(struct api_change *c, yyjson_val *spec, const char *path) {
    static const char *const lists[] = {"initContainers", "containers"};
    yyjson_val *v, *host_users = sl_json_get(spec, "hostUsers");
    char where[64];
    size_t at, max;

    ignored_warn(c, sl_json_get(spec, "securityContext"), path, "");
    if (host_users && yyjson_is_false(host_users))
        api_change_warn(c, "%s.hostUsers: sluice up ignores this field", path);
    for (size_t i = 0; i < SL_LEN(lists); i++)
        yyjson_arr_foreach (sl_json_get(spec, lists[i]), at, max, v) {
            sl_fmt(where, sizeof where, ".%s[%zu]", lists[i], at);
            ignored_warn(c, sl_json_get(v, "securityContext"), path, where);
        }
}

void api_pod_warn(struct api_change *c, yyjson_val *object, const char *path) {
    struct port ports[PORTS_MAX];
    size_t at, max;
    yyjson_val *v;
    uint32_t n;

    if (c->errs->n > 0 || !api_change_is_object(c) ||
        (c->old && sl_json_int(c->old, "metadata.generation", 0) ==
                       sl_json_int(object, "metadata.generation", 0)))
        return;
    yyjson_arr_foreach (sl_json_get(sl_json_at(object, path), "imagePullSecrets"), at, max, v) {
        if (!*sl_json_str(v, "name"))
            api_change_warn(c, "%s.imagePullSecrets[%zu].name: invalid empty name \"\"", path, at);
    }
    security_warn(c, sl_json_at(object, path), path);
    n = collect_ports(sl_json_at(object, path), ports);
    for (uint32_t i = 0; i < n; i++)
        port_warn(c, path, ports, i);
}
