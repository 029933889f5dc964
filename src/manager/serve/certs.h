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

struct serve_certs;

/* Takes its names from the settings (ns, certs.service, certs.secret) and keeps a copy of them. */
struct serve_certs *serve_certs_new(struct sl_kube_client *client, const struct sl_settings *s,
                                    uint64_t seed);
void serve_certs_free(struct serve_certs *c);
void serve_certs_tick(struct serve_certs *c);
sl_time serve_certs_next(const struct serve_certs *c);
/* True once all callers of the webhooks can trust the serving certificate; it stays true. */
bool serve_certs_ready(const struct serve_certs *c);
/* What to serve with; NULL before there is one. Valid until the generation changes, in a tick or in
 * a callback of the port. */
const struct sl_cert *serve_certs_serving(const struct serve_certs *c);
/* Counts serving certificates: 0 before the first. */
uint64_t serve_certs_generation(const struct serve_certs *c);

#endif
