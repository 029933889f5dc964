/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication and authorization by the API server, as in Kueue: TokenReview for the bearer of a
 * token, SubjectAccessReview for the permission. Results are cached for a minute at most, in a
 * bounded number; no token is ever logged.
 *
 * Anybody can send invented tokens, and each costs a request to the API server. So one address has
 * at most SL_AUTHZ_SHARE checks in flight, and after SL_AUTHZ_MISSES invalid tokens within
 * SL_AUTHZ_WINDOW no further token of it is checked until that has passed; cached results still
 * hold for it.
 *
 * The action, and a user that is known already, are given as objects with fields of the review's
 * spec: {"nonResourceAttributes":{"verb":"get","path":"/metrics"}} and {"user":"u","groups":["g"]}.
 */
#ifndef SL_MANAGER_SERVE_AUTHZ_H
#define SL_MANAGER_SERVE_AUTHZ_H

#include "kube/client/port.h"

#define SL_AUTHZ_ENTRIES 64u
#define SL_AUTHZ_IN_FLIGHT 48u /* of these, in flight; the rest is for results */
#define SL_AUTHZ_SHARE 16u     /* of those, of one address */
#define SL_AUTHZ_MISSES 32u
#define SL_AUTHZ_WINDOW (10 * SL_SEC)
#define SL_AUTHZ_SOURCES 64u /* addresses that are counted at a time */
#define SL_AUTHZ_FROM 16u    /* bytes of one */

enum serve_authz_result {
    SL_AUTHZ_WAIT, /* in flight; 'changed' is called when that changes, then check again */
    SL_AUTHZ_ALLOWED,
    SL_AUTHZ_UNKNOWN,   /* no token, or an invalid one: 401 */
    SL_AUTHZ_FORBIDDEN, /* 403 */
    SL_AUTHZ_FAILED,    /* no response of the API server, or too many checks: 503 */
};

struct serve_authz;

/* 'changed' is called in callbacks of the API client, and when a check is too long to be sent. */
struct serve_authz *serve_authz_new(struct sl_kube_client *client, void (*changed)(void *ctx),
                                    void *ctx);
void serve_authz_free(struct serve_authz *a);
/* header: of Authorization, NULL if there was none. from: the address, NULL if it is not known. */
enum serve_authz_result serve_authz_check(struct serve_authz *a, const uint8_t *from,
                                          const char *header, const char *what);
enum serve_authz_result serve_authz_check_user(struct serve_authz *a, const char *user,
                                               const char *what);

#endif
