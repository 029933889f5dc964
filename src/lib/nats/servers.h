/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a connection: those of the connector, then those that a server announces. Pure. */
#ifndef SL_LIB_NATS_SERVERS_H
#define SL_LIB_NATS_SERVERS_H

#include <yyjson.h>

#include "core/base/prng.h"
#include "lib/nats/connector.h"

#define NATSC_MAX_ANNOUNCED 32u

struct natsc_server {
    char host[256];
    uint16_t port;
    char tls_name[256]; /* whose certificate it has, if not the host's; "": the host's */
};

struct natsc_servers {
    struct natsc_server v[SL_NATS_MAX_SERVERS + NATSC_MAX_ANNOUNCED + 1]; /* and the present one */
    uint32_t n, n_named;
    uint32_t at;    /* the present one */
    uint32_t first; /* where the present round began */
};

/* In an order of chance, so that clients do not all come to the first. */
void natsc_servers_init(struct natsc_servers *s, const struct sl_nats_connector *from,
                        struct sl_prng *prng);
/* Those that were announced before are forgotten, unless the list is empty. believed: also those
 * that have certificates of their own; else only addresses that have that of the present host. */
void natsc_servers_announce(struct natsc_servers *s, yyjson_val *urls, bool believed);
/* The next one of a round, in which n have been tried: those of the connector come first, since
 * what is announced may be out of reach. That of the last connection is the last of its kind. */
void natsc_servers_next(struct natsc_servers *s, uint32_t tried);
const struct natsc_server *natsc_servers_at(const struct natsc_servers *s);
/* "host:4222", "[::1]:4222" */
void natsc_server_name(const struct natsc_server *s, char *out, size_t size);

#endif
