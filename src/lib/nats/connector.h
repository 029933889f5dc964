/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connector strings: where a NATS server is, and who connects.
 *
 *     nats://user:password@host:4222     nats://token@host     tls://host:4443
 *     host:port     host                 nats://a:4222,nats://b:4222
 *
 * The scheme and the port may be missing (nats, 4222). Users, passwords and tokens are
 * percent-decoded. tls:// demands TLS, in a list for all of its servers; nats:// uses it if the
 * server demands it. In a list, servers without credentials have those of the others, and two
 * different ones are an error, since a connection has one identity. Pure: no I/O.
 */
#ifndef SL_LIB_NATS_CONNECTOR_H
#define SL_LIB_NATS_CONNECTOR_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/text.h"

#define SL_NATS_MAX_CONNECTOR 4096u /* bytes of the string */
#define SL_NATS_MAX_SERVERS 32u
#define SL_NATS_MAX_SUBJECT 1024
#define SL_NATS_MAX_SECRET 1024u /* of a user, a password or a token, decoded */

struct sl_nats_server {
    const char *host; /* without brackets, if it is an IPv6 address */
    uint16_t port;
};

struct sl_nats_connector {
    struct sl_nats_server servers[SL_NATS_MAX_SERVERS];
    uint32_t n;
    bool tls;
    const char *user, *password, *token; /* NULL: none. A user without password is a token */
};

/* What stands beside the string, in a Secret; each may be NULL. They win over the string's. */
struct sl_nats_credentials {
    const char *user, *password, *token;
    const char *creds;             /* text of a .creds file: a JWT and an nkey seed */
    const char *ca;                /* PEM: trusted instead of the system's; demands TLS */
    const char *certificate, *key; /* PEM, of the client */
};

/* Strings are the arena's. Errors name the place and never a secret. */
int sl_nats_connector_parse(const char *text, size_t len, struct sl_arena *a,
                            struct sl_nats_connector *ret, struct sl_err *err) _must_check_;
/* "nats://host:4222,host:4223": for logs, conditions and status; reads back as the same without
 * credentials. */
struct sl_buf;
void sl_nats_connector_print(const struct sl_nats_connector *c, struct sl_buf *out);
/* The same for connectors that mean the same: servers in any order, with the port or without it. */
uint64_t sl_nats_connector_hash(const struct sl_nats_connector *c);
/* Overwrites user, password and token in the arena, once they are not needed any more. */
void sl_nats_connector_wipe(struct sl_nats_connector *c);

bool sl_nats_is_utf8(const char *s); /* a secret */
bool sl_nats_is_address(const char *host);
/* Why a message cannot have this subject, or why it cannot be subscribed to (wildcards; those of a
 * subject's end are not counted); NULL: it can. */
const char *sl_nats_subject_fault(struct sl_text t, bool wildcards);

#endif
