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

struct serve_front_proxy;

struct serve_front_proxy *serve_front_proxy_new(struct sl_kube_client *client, uint64_t seed);
void serve_front_proxy_free(struct serve_front_proxy *f);
void serve_front_proxy_tick(struct serve_front_proxy *f);
sl_time serve_front_proxy_next(const struct serve_front_proxy *f);
/* CA certificates of the proxy, as PEM; NULL: no proxied requests are accepted. */
const char *serve_front_proxy_cas(const struct serve_front_proxy *f);
/* Moves whenever these may have changed. */
uint64_t serve_front_proxy_generation(const struct serve_front_proxy *f);
/* The user of a proxied request, in the form of authz.h; false: it is not proxied, and its headers
 * are ignored. */
bool serve_front_proxy_user(const struct serve_front_proxy *f, const struct sl_http_request *rq,
                            struct sl_buf *out);

#endif
