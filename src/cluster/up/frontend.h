/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTPS front end of the API server: authentication. The token of the kubeconfig is the
 * administrator, or the user that he impersonates (kubectl --as); a token of a service account is
 * that account; other clients can only use the health endpoints. There is no authorization: RBAC is
 * not enforced. Private to src/cluster/up.
 *
 * Every client is an open file, so there are as many as the limit of those allows, and 16384 at
 * most; the limit is raised as far as permitted. Some connections are reserved for short requests:
 * a watch that would use them gets 429.
 */
#ifndef SL_CLUSTER_UP_FRONTEND_H
#define SL_CLUSTER_UP_FRONTEND_H

#include "cluster/apiserver/apiserver.h"
#include "lib/http/cert.h"
#include "lib/http/server.h"

struct up_frontend;

struct up_frontend_spec {
    struct uv_loop_s *loop;
    const char *host;
    uint16_t port;
    uint32_t max_connections; /* 0: as many as there may be */
    const struct sl_cert *cert;
    const char *token; /* stays alive */
    void *ctx;
    /* NULL: we are ready; else what is missing. */
    const char *(*unready)(void *ctx);
    /* True: it has responded. For paths that the API server does not serve. */
    bool (*other)(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a);
};

int up_frontend_open(const struct up_frontend_spec *spec, struct up_frontend **ret,
                     struct sl_err *err) _must_check_;
uint16_t up_frontend_port(const struct up_frontend *d);
/* Requests are served from now on; before, they get 503. */
void up_frontend_serve(struct up_frontend *d, struct sl_apiserver *api);
int up_frontend_certificate(struct up_frontend *d, const struct sl_cert *cert,
                            struct sl_err *err) _must_check_;
/* All calls are cancelled. NULL is allowed. */
void up_frontend_close(struct up_frontend *d);

#endif
