/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: HTTPS in front of the API server. Who comes with the token of the kubeconfig is the
 * administrator, or whom he says he wants to be (kubectl --as); who comes with a token of a service
 * account is that; everybody else may only ask whether we are well. Nothing more is asked: RBAC is
 * not enforced. Private to src/up.
 *
 * Every client is an open file, so there are as many as the limit of those allows, and 16384 at
 * most; the limit is raised as far as we may. Some are left to those who ask and go: who wants to
 * watch when only these are left is told to come again (429).
 */
#ifndef SL_UP_DOOR_H
#define SL_UP_DOOR_H

#include "apiserver/apiserver.h"
#include "httpd/cert.h"
#include "httpd/httpd.h"

struct sl_door;

struct sl_door_spec {
    struct uv_loop_s *loop;
    const char *host;
    uint16_t port;
    uint32_t max_connections; /* 0: as many as there may be */
    const struct sl_cert *cert;
    const char *token; /* stays alive */
    void *ctx;
    /* NULL: we are ready; else what is missing. */
    const char *(*unready)(void *ctx);
    /* True: it has answered. For what the API server does not know. */
    bool (*other)(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a);
};

int sl_door_open(const struct sl_door_spec *spec, struct sl_door **ret,
                 struct sl_err *err) _must_check_;
uint16_t sl_door_port(const struct sl_door *d);
/* From now on requests are passed on; until then they are told to come again. */
void sl_door_serve(struct sl_door *d, struct sl_apiserver *api);
int sl_door_certificate(struct sl_door *d, const struct sl_cert *cert,
                        struct sl_err *err) _must_check_;
/* All calls are cancelled. NULL is allowed. */
void sl_door_close(struct sl_door *d);

#endif
