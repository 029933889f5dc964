/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server as it shows itself when it passes on a request for an aggregated API: by a client
 * certificate of its own authority, with the user in headers. Whom to trust stands in the ConfigMap
 * kube-system/extension-apiserver-authentication, which is followed as it changes.
 */
#ifndef SL_SERVE_FRONT_H
#define SL_SERVE_FRONT_H

#include "httpd/httpd.h"
#include "kube/port.h"

struct sl_front;

struct sl_front *sl_front_new(struct sl_port *port, uint64_t seed);
void sl_front_free(struct sl_front *f);
void sl_front_tick(struct sl_front *f);
sl_time sl_front_next(const struct sl_front *f);
/* The authorities of its certificates, as PEM; NULL: nobody may pass on requests. */
const char *sl_front_cas(const struct sl_front *f);
/* Moves whenever these may have changed. */
uint64_t sl_front_generation(const struct sl_front *f);
/* The user of a request that it has passed on, as authz.h wants him; false: it has not, and what
 * the headers say counts for nothing. */
bool sl_front_user(const struct sl_front *f, const struct sl_http_request *rq, struct sl_buf *out);

#endif
