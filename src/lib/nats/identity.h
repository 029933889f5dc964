/* SPDX-License-Identifier: Apache-2.0 */
/* Who connects, by copies of its own that are wiped, and the CONNECT that says so. */
#ifndef SL_LIB_NATS_IDENTITY_H
#define SL_LIB_NATS_IDENTITY_H

#include "core/base/buf.h"
#include "lib/nats/connector.h"
#include "lib/nats/nkey.h"
#include "lib/nats/tls.h"

struct natsc_identity {
    char *user, *password, *token;
    char *jwt;
    uint8_t seed[NATSC_SEED];  /* with a JWT */
    bool tls;                  /* demanded */
    bool own_ca;               /* only authorities that were given are trusted */
    struct natsc_trust *trust; /* NULL: the system's authorities, and no certificate of its own */
};

/* What cannot be used fails here, and not at each attempt. */
int natsc_identity_init(struct natsc_identity *id, const struct sl_nats_connector *c,
                        const struct sl_nats_credentials *with, struct sl_err *err) _must_check_;
void natsc_identity_done(struct natsc_identity *id);
/* Are there credentials in a text of a server? */
bool natsc_identity_shows(const struct natsc_identity *id, struct sl_text text);
/* Appends CONNECT; nonce: of the server's INFO, may be empty. */
int natsc_identity_connect(const struct natsc_identity *id, struct sl_text nonce,
                           struct sl_buf *out, struct sl_err *err) _must_check_;

#endif
