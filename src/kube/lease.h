/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election over one coordination.k8s.io/v1 Lease, as client-go does it (so that it can stand
 * beside one): whoever holds the lease renews it; when it was not renewed for its duration, as seen
 * on the watcher's own monotonic clock, another takes it. A holder that cannot renew within the
 * deadline stops being leader before anybody else may start. Released on a clean end.
 */
#ifndef SL_KUBE_LEASE_H
#define SL_KUBE_LEASE_H

#include "kube/port.h"

struct sl_lease_spec {
    const char *ns, *name, *identity;
    sl_span duration, renew_deadline, retry_period;
};

struct sl_lease;

struct sl_lease *sl_lease_new(struct sl_port *port, const struct sl_lease_spec *spec,
                              uint64_t seed);
void sl_lease_free(struct sl_lease *l);
/* True from the moment the lease is ours until it may be somebody else's. */
bool sl_lease_held(const struct sl_lease *l);
/* Who holds it as far as we know; "" for nobody. */
const char *sl_lease_holder(const struct sl_lease *l);
void sl_lease_tick(struct sl_lease *l);
sl_time sl_lease_next(const struct sl_lease *l);
/* Gives the lease up if held; held() is false at once, 'sl_lease_released' once the server knows
 * (or 1 s passed). */
void sl_lease_release(struct sl_lease *l);
bool sl_lease_released(const struct sl_lease *l);

#endif
