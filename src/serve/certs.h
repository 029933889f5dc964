/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhooks' certificates, made and renewed here (internalCertManagement.enable), as Kueue's
 * rotator keeps them, so that one can take over from the other: a Secret with ca.crt, ca.key,
 * tls.crt and tls.key, and its ca.crt as the caBundle of whatever calls the webhooks.
 *
 * Every replica does the same and none leads: what is written is decided on a resourceVersion, so
 * of two that make certificates one wins, and the other takes what it finds. Deleting the Secret
 * asks for new certificates; nothing is interrupted by it.
 */
#ifndef SL_SERVE_CERTS_H
#define SL_SERVE_CERTS_H

#include "config/config.h"
#include "httpd/cert.h"
#include "kube/port.h"

struct sl_certs;

/* Takes its names from the settings (ns, certs.service, certs.secret) and keeps a copy of them. */
struct sl_certs *sl_certs_new(struct sl_port *port, const struct sl_settings *s, uint64_t seed);
void sl_certs_free(struct sl_certs *c);
void sl_certs_tick(struct sl_certs *c);
sl_time sl_certs_next(const struct sl_certs *c);
/* True once everybody who calls the webhooks can trust the serving certificate; then for ever. */
bool sl_certs_ready(const struct sl_certs *c);
/* What to serve with; NULL before there is one. Valid until the generation changes, in a tick or in
 * a callback of the port. */
const struct sl_cert *sl_certs_serving(const struct sl_certs *c);
/* Counts serving certificates: 0 before the first. */
uint64_t sl_certs_generation(const struct sl_certs *c);

#endif
