/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that name Services, as a kubelet makes them: of those of the pod's namespace, unless
 * enableServiceLinks is false, and always of the API. The address of the latter is where the API
 * server listens, since nothing leads from the address of a Service to anywhere here.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define AGAIN SL_SEC

static void services_answered(void *ctx, const struct sl_kube_reply *rp) {
    struct klet_pod *p = ctx;

    p->local->services_call.v = 0;
    if (rp->status == 200) {
        p->local->services_known = true;
        p->local->services = sl_json_doc(rp->body, rp->len);
    } else {
        p->local->services_at = p->rt->client->mono + AGAIN;
    }
    klet_pod_enqueue(p);
}

bool klet_services_get(struct klet_pod *p) {
    struct klet_local_pod *re = p->local;
    char path[SL_WRITER_MAX_PATH];

    if (re->services_known ||
        !sl_json_bool(yyjson_doc_get_root(re->doc), "spec.enableServiceLinks", true))
        return true;
    if (re->services_call.v)
        return false;
    if (p->rt->client->mono < re->services_at) {
        klet_pod_enqueue_at(p, re->services_at);
        return false;
    }
    sl_fmt(path, sizeof path, "/api/v1/namespaces/%.300s/services", p->ns);
    re->services_call =
        sl_kube_request(p->rt->client, &(struct sl_kube_request){.method = SL_GET, .path = path},
                        services_answered, p);
    return false;
}

void klet_services_free(struct klet_pod *p) {
    sl_kube_cancel(p->rt->client, p->local->services_call);
    p->local->services_call.v = 0;
    p->local->services_known = false;
    yyjson_doc_free(p->local->services);
    p->local->services = NULL;
}

/* "web-api" is WEB_API. */
static const char *variable(struct sl_arena *a, const char *name) {
    char *out = sl_arena_strdup(a, name);

    for (char *p = out; *p; p++)
        *p = (char)(*p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    return out;
}

struct port {
    const char *name, *protocol; /* "tcp" */
    int64_t number;
};

static void add_port(struct klet_vars *v, struct sl_arena *a, const char *base, const char *ip,
                     const struct port *p, bool first) {
    const char *port = sl_arena_printf(a, "%lld", (long long)p->number);
    const char *url =
        sl_arena_printf(a, strchr(ip, ':') ? "%s://[%s]:%s" : "%s://%s:%s", p->protocol, ip, port);
    const char *lead = sl_arena_printf(a, "%s_PORT_%s_%s", base, port, variable(a, p->protocol));

    if (first) {
        klet_vars_set(v, a, sl_arena_printf(a, "%s_SERVICE_HOST", base), ip);
        klet_vars_set(v, a, sl_arena_printf(a, "%s_SERVICE_PORT", base), port);
        klet_vars_set(v, a, sl_arena_printf(a, "%s_PORT", base), url);
    }
    if (*p->name)
        klet_vars_set(v, a, sl_arena_printf(a, "%s_SERVICE_PORT_%s", base, variable(a, p->name)),
                      port);
    klet_vars_set(v, a, lead, url);
    klet_vars_set(v, a, sl_arena_printf(a, "%s_PROTO", lead), p->protocol);
    klet_vars_set(v, a, sl_arena_printf(a, "%s_PORT", lead), port);
    klet_vars_set(v, a, sl_arena_printf(a, "%s_ADDR", lead), ip);
}

static void add_service(struct klet_vars *v, struct sl_arena *a, yyjson_val *service) {
    const char *ip = sl_json_str(service, "spec.clusterIP"),
               *base = variable(a, sl_json_str(service, "metadata.name"));
    size_t i, n;
    yyjson_val *port;

    if (!*ip || strcmp(ip, "None") == 0)
        return;
    yyjson_arr_foreach (sl_json_at(service, "spec.ports"), i, n, port) {
        const char *protocol = sl_json_str(port, "protocol");
        add_port(v, a, base, ip,
                 &(struct port){.name = sl_json_str(port, "name"),
                                .protocol = strcmp(protocol, "UDP") == 0    ? "udp"
                                            : strcmp(protocol, "SCTP") == 0 ? "sctp"
                                                                            : "tcp",
                                .number = sl_json_int(port, "port", 0)},
                 i == 0);
    }
}

static void add_api(const struct klet_pod *p, struct klet_vars *v, struct sl_arena *a) {
    const char *address = p->rt->api, *port = address ? strrchr(address, ':') : NULL;

    if (!port)
        return;
    bool six = *address == '[';
    const char *ip = sl_arena_strndup(a, address + six, (size_t)(port - address) - 2 * six);
    add_port(v, a, "KUBERNETES", ip, &(struct port){"https", "tcp", strtoll(port + 1, NULL, 10)},
             true);
}

void klet_services_add(const struct klet_pod *p, struct klet_vars *v, struct sl_arena *a) {
    yyjson_val *list = sl_json_at(yyjson_doc_get_root(p->local->services), "items"), *s;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, s)
        if (!sl_arena_full(a) && (strcmp(sl_json_str(s, "metadata.name"), "kubernetes") != 0 ||
                                  strcmp(p->ns, "default") != 0))
            add_service(v, a, s);
    add_api(p, v, a);
}
