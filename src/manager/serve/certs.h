/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creation and rotation of the webhook certificates (internalCertManagement.enable), in the layout
 * of Kueue's rotator, so that one can take over from the other: a Secret with ca.crt, ca.key,
 * tls.crt and tls.key, and its ca.crt as the caBundle of all callers of the webhooks.
 *
 * All replicas do the same, without a leader: writes are conditional on a resourceVersion
 * (optimistic concurrency), so of two that create certificates one wins, and the other uses its
 * result. Deleting the Secret requests new certificates without an interruption.
 */
#ifndef SL_MANAGER_SERVE_CERTS_H
#define SL_MANAGER_SERVE_CERTS_H

#include "kube/client/port.h"
#include "lib/http/cert.h"
#include "manager/config/config.h"

struct sl_certs;

/* Takes its names from the settings (ns, certs.service, certs.secret) and keeps a copy of them. */
struct sl_certs *sl_certs_new(struct sl_port *port, const struct sl_settings *s, uint64_t seed);
void sl_certs_free(struct sl_certs *c);
void sl_certs_tick(struct sl_certs *c);
sl_time sl_certs_next(const struct sl_certs *c);
/* True once all callers of the webhooks can trust the serving certificate; it stays true. */
bool sl_certs_ready(const struct sl_certs *c);
/* What to serve with; NULL before there is one. Valid until the generation changes, in a tick or in
 * a callback of the port. */
const struct sl_cert *sl_certs_serving(const struct sl_certs *c);
/* Counts serving certificates: 0 before the first. */
uint64_t sl_certs_generation(const struct sl_certs *c);

#endif
