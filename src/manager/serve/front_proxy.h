/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request header authentication: the API server proxies requests for an aggregated API with a
 * client certificate of its own CA and the user in headers. The CA and the names to trust are in
 * the ConfigMap kube-system/extension-apiserver-authentication, which is watched.
 */
#ifndef SL_MANAGER_SERVE_FRONT_PROXY_H
#define SL_MANAGER_SERVE_FRONT_PROXY_H

#include "kube/client/port.h"
#include "lib/http/server.h"

struct sl_front;

struct sl_front *sl_front_new(struct sl_port *port, uint64_t seed);
void sl_front_free(struct sl_front *f);
void sl_front_tick(struct sl_front *f);
sl_time sl_front_next(const struct sl_front *f);
/* CA certificates of the proxy, as PEM; NULL: no proxied requests are accepted. */
const char *sl_front_cas(const struct sl_front *f);
/* Moves whenever these may have changed. */
uint64_t sl_front_generation(const struct sl_front *f);
/* The user of a proxied request, in the form of authz.h; false: it is not proxied, and its headers
 * are ignored. */
bool sl_front_user(const struct sl_front *f, const struct sl_http_request *rq, struct sl_buf *out);

#endif
