/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts of an instance in the order of their ranks, and what its brokers are configured with.
 * Ranks are given to all pods that the cluster may ever have.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/minicluster/mc_int.h"

#define PORT 8050

/* "name-[0-3]", "name-[0]" */
static void put_range(struct sl_buf *b, const char *name, int64_t first, int64_t n) {
    if (n == 1)
        sl_buf_printf(b, "%s-[%lld]", name, (long long)first);
    else
        sl_buf_printf(b, "%s-[%lld-%lld]", name, (long long)first, (long long)(first + n - 1));
}

static yyjson_val *lead_broker(const struct mc_view *v) {
    yyjson_val *lead = sl_json_at(v->spec, "flux.bursting.leadBroker");
    return *sl_json_str(lead, "address") ? lead : NULL;
}

/* A burst begins with the broker that it joins, which has the first place of its own cluster. */
static void put_own_hosts(struct sl_buf *b, const struct mc_view *v) {
    yyjson_val *lead = lead_broker(v);
    if (!lead) {
        put_range(b, v->name, 0, v->max_size);
        return;
    }
    sl_buf_printf(b, "%s", sl_json_str(lead, "address"));
    int32_t others = sl_json_int32(lead, "size", 1) - 1;
    if (others > 0) {
        sl_buf_putc(b, ',');
        put_range(b, sl_json_str(lead, "name"), 1, others);
    }
}

void mc_hosts_put(struct sl_buf *b, const struct mc_view *v) {
    const char *given = mc_text(v, "flux.bursting.hostlist", "");
    size_t i, n;
    yyjson_val *cluster;

    if (*given) {
        sl_buf_puts(b, given);
        return;
    }
    put_own_hosts(b, v);
    yyjson_arr_foreach (sl_json_at(v->spec, "flux.bursting.clusters"), i, n, cluster) {
        char unnamed[32];
        const char *name = sl_json_str(cluster, "name");
        int32_t size = sl_json_int32(cluster, "size", 0);
        sl_fmt(unnamed, sizeof unnamed, "burst-%zu", i);
        sl_buf_putc(b, ',');
        put_range(b, *name ? name : unnamed, 0, size > 0 ? size : v->size);
    }
}

int32_t mc_quorum(const struct mc_view *v) {
    int32_t min = v->old ? 0 : sl_json_int32(v->spec, "minSize", 0);
    if (min > 0)
        return min;
    return v->max_size == v->size ? 0 : v->size;
}

/* A text of TOML; what would end it is left out, names have none of it. */
static void put_string(struct sl_buf *b, const char *s) {
    sl_buf_putc(b, '"');
    for (; *s; s++)
        if (*s != '"' && *s != '\\' && (unsigned char)*s >= ' ')
            sl_buf_putc(b, *s);
    sl_buf_putc(b, '"');
}

static void put_pair(struct sl_buf *b, const char *key, const char *dir, const char *file) {
    struct sl_buf path = SL_BUF(MC_MAX_SPEC);
    sl_buf_printf(&path, "%s%s", dir, file);
    sl_buf_printf(b, "%s = ", key);
    put_string(b, sl_buf_str(&path));
    sl_buf_putc(b, '\n');
    if (sl_buf_full(&path))
        sl_buf_fail(b);
    sl_buf_done(&path);
}

static void put_hosts_block(struct sl_buf *b, const struct mc_view *v) {
    struct sl_buf hosts = SL_BUF(MC_MAX_SPEC);
    yyjson_val *lead = lead_broker(v);
    mc_hosts_put(&hosts, v);
    sl_buf_puts(b, "hosts = [\n");
    if (lead) {
        long long port = sl_json_int32(lead, "port", PORT);
        const char *address = sl_json_str(lead, "address");
        sl_buf_puts(b, "  { host = ");
        put_string(b, address);
        sl_buf_printf(b, ", bind = \"tcp://eth0:%lld\", connect = \"tcp://%s:%lld\" },\n", port,
                      address, port);
        const char *rest = strchr(sl_buf_str(&hosts), ',');
        if (rest) {
            sl_buf_puts(b, "  { host = ");
            put_string(b, rest + 1);
            sl_buf_puts(b, " },\n");
        }
    } else {
        sl_buf_puts(b, "  { host = ");
        put_string(b, sl_buf_str(&hosts));
        sl_buf_puts(b, " },\n");
    }
    sl_buf_puts(b, "]\n");
    if (sl_buf_full(&hosts))
        sl_buf_fail(b);
    sl_buf_done(&hosts);
}

void mc_broker_put(struct sl_buf *b, const struct mc_view *v) {
    const char *given = mc_text(v, "flux.brokerConfig", "");
    const char *root = v->old ? "" : v->view_path;
    if (*given) {
        sl_buf_puts(b, given);
        return;
    }
    if (v->old) {
        sl_buf_puts(b, "[exec]\n");
        put_pair(b, "imp", mc_text(v, "flux.installRoot", "/usr"), "/libexec/flux/flux-imp");
        sl_buf_putc(b, '\n');
    }
    sl_buf_puts(b, "[access]\nallow-guest-user = true\nallow-root-owner = true\n\n[resource]\n");
    put_pair(b, "path", root, v->old ? "/etc/flux/system/R" : "/view/etc/flux/system/R");
    sl_buf_puts(b, "\n[bootstrap]\n");
    put_pair(b, "curve_cert", root, v->old ? "/etc/curve/curve.cert" : "/view/curve/curve.cert");
    sl_buf_printf(b, "default_port = %d\ndefault_bind = \"tcp://eth0:%%p\"\n", PORT);
    sl_buf_printf(b, "default_connect = \"tcp://%%h.%s.%s.svc.cluster.local:%%p\"\n", v->service,
                  v->ns);
    put_hosts_block(b, v);
    sl_buf_puts(b, "\n[archive]\n");
    put_pair(b, "dbpath", root,
             v->old ? "/var/lib/flux/job-archive.sqlite" : "/view/var/lib/flux/job-archive.sqlite");
    sl_buf_puts(b, "period = \"1m\"\nbusytimeout = \"50s\"\n\n[sched-fluxion-qmanager]\n");
    put_pair(b, "queue-policy", mc_text(v, "flux.scheduler.queuePolicy", "fcfs"), "");
}
