/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/servers.h"

#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"

void natsc_servers_init(struct natsc_servers *s, const struct sl_nats_connector *from,
                        struct sl_prng *prng) {
    sl_assert(from->n > 0 && from->n <= SL_NATS_MAX_SERVERS);
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t k = (uint32_t)sl_prng_below(prng, i + 1);
        s->v[i] = s->v[k];
        s->v[k] = (struct natsc_server){.port = from->servers[i].port};
        sl_fmt(s->v[k].host, sizeof s->v[k].host, "%s", from->servers[i].host);
    }
    s->n = s->n_named = from->n;
    s->at = 0;
}

static uint32_t find(const struct natsc_servers *s, const char *host, uint16_t port) {
    uint32_t i = 0;

    while (i < s->n && (s->v[i].port != port || strcmp(s->v[i].host, host) != 0))
        i++;
    return i;
}

/* Addresses that are announced have the certificate of the name that was connected to. */
static void add(struct natsc_servers *s, const struct sl_nats_server *one, const char *tls_name,
                bool believed) {
    bool same = sl_nats_is_address(one->host) && !sl_nats_is_address(tls_name);

    if (find(s, one->host, one->port) < s->n || (!same && !believed))
        return;
    struct natsc_server *own = &s->v[s->n++];
    *own = (struct natsc_server){.port = one->port};
    sl_fmt(own->host, sizeof own->host, "%s", one->host);
    if (same)
        sl_fmt(own->tls_name, sizeof own->tls_name, "%s", tls_name);
}

static void add_url(struct natsc_servers *s, struct sl_text url, const char *tls_name,
                    bool believed) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)16 << 10);
    struct sl_nats_connector c = {0};

    if (sl_nats_connector_parse(url.s, url.n, &a, &c, NULL) >= 0 && c.n == 1)
        add(s, &c.servers[0], tls_name, believed);
    sl_nats_connector_wipe(&c);
}

void natsc_servers_announce(struct natsc_servers *s, yyjson_val *urls, bool believed) {
    const struct natsc_server present = s->v[s->at];
    const char *tls_name = present.tls_name[0] ? present.tls_name : present.host;
    yyjson_val *url;
    size_t i, n;

    if (!yyjson_is_arr(urls) || yyjson_arr_size(urls) == 0)
        return;
    s->n = s->n_named;
    yyjson_arr_foreach (urls, i, n, url) {
        if (i == NATSC_MAX_ANNOUNCED)
            break;
        add_url(s, sl_json_view(url), tls_name, believed);
    }
    /* One that is announced no more stays until it is lost. */
    s->at = find(s, present.host, present.port);
    if (s->at == s->n)
        s->v[s->n++] = present;
}

const struct natsc_server *natsc_servers_at(const struct natsc_servers *s) {
    return &s->v[s->at];
}

void natsc_servers_next(struct natsc_servers *s, uint32_t tried) {
    uint32_t others = s->n - s->n_named;

    if (tried == 0)
        s->first = s->at + 1;
    if (tried < s->n_named)
        s->at = (s->first + tried) % s->n_named;
    else
        s->at = s->n_named + (s->first + tried) % others;
}

void natsc_server_name(const struct natsc_server *s, char *out, size_t size) {
    bool ipv6 = strchr(s->host, ':') != NULL;

    sl_fmt_short(out, size, "%s%s%s:%u", ipv6 ? "[" : "", s->host, ipv6 ? "]" : "", s->port);
}
