/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a host. getaddrinfo waits for the network and cannot be interrupted, so it has a
 * thread of its own; nobody waits for that thread, not even at the end. Addresses as such have
 * none.
 */
#ifndef SL_LIB_NATS_LOOKUP_H
#define SL_LIB_NATS_LOOKUP_H

#include <netdb.h>
#include <uv.h>

#include "core/base/err.h"

/* Threads at a time, in the process, those included that nobody waits for any more. */
#define NATSC_MAX_LOOKUPS 64u

struct natsc_lookup;
typedef void (*natsc_lookup_fn)(void *arg);

/* The callback comes from the loop, once, unless it is ended before. */
int natsc_lookup_start(uv_loop_t *loop, const char *host, uint16_t port, natsc_lookup_fn done,
                       void *arg, struct natsc_lookup **ret, struct sl_err *err) _must_check_;
/* After the callback: the addresses, or NULL and why. */
const struct addrinfo *natsc_lookup_found(const struct natsc_lookup *l, const char **ret_why);
void natsc_lookup_end(struct natsc_lookup *l);

#endif
