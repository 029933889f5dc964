/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election with a coordination.k8s.io/v1 Lease, compatible with client-go: the holder renews
 * the lease; when it has not been renewed for its duration, measured by the monotonic clock of the
 * candidate, another candidate acquires it. A holder that cannot renew within the deadline stops
 * leading before another one may start. The lease is released on a clean shutdown.
 */
#ifndef SL_KUBE_CLIENT_LEASE_H
#define SL_KUBE_CLIENT_LEASE_H

#include "kube/client/port.h"

struct sl_lease_spec {
    const char *ns, *name, *identity;
    sl_span duration, renew_deadline, retry_period;
};

struct sl_lease;

struct sl_lease *sl_lease_new(struct sl_kube_client *client, const struct sl_lease_spec *spec,
                              uint64_t seed);
void sl_lease_free(struct sl_lease *l);
/* True from the acquisition of the lease until another candidate may acquire it. */
bool sl_lease_held(const struct sl_lease *l);
/* Last observed holder; "" if none. */
const char *sl_lease_holder(const struct sl_lease *l);
void sl_lease_tick(struct sl_lease *l);
sl_time sl_lease_next(const struct sl_lease *l);
/* Releases the lease if held; held() is false at once, 'sl_lease_released' once the server has
 * confirmed it (or 1 s passed). */
void sl_lease_release(struct sl_lease *l);
bool sl_lease_released(const struct sl_lease *l);

#endif
