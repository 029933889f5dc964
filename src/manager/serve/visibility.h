/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visibility API on its own port: pending workloads of a queue, proxied by the API server
 * (kubectl get --raw /apis/visibility.kueue.x-k8s.io/...) or with a bearer token. Every request is
 * authenticated and authorized by the API server.
 */
#ifndef SL_MANAGER_SERVE_VISIBILITY_H
#define SL_MANAGER_SERVE_VISIBILITY_H

#include "kube/client/port.h"
#include "lib/http/cert.h"
#include "manager/controllers/core/manager.h"

struct uv_loop_s;
struct serve_visibility;

struct serve_visibility_spec {
    struct uv_loop_s *loop;
    struct sl_kube_client *client;
    const struct sl_manager *manager;
    const char *host; /* "": every address; copied */
    uint16_t http_port;
    uint64_t seed;
};

/* Begins to listen in a tick, once it has a certificate; a port that is taken is tried again. */
struct serve_visibility *serve_visibility_new(const struct serve_visibility_spec *spec);
void serve_visibility_free(struct serve_visibility *v);
/* To be served with from the next tick on; copied. */
void serve_visibility_certificate(struct serve_visibility *v, const struct sl_cert *c);
/* Not from a handler or a callback of the port. */
void serve_visibility_tick(struct serve_visibility *v);
sl_time serve_visibility_next(const struct serve_visibility *v);

#endif
