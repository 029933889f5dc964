/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this user do that? As Kueue asks it: the API server says who the bearer of a token is
 * (TokenReview) and whether he may (SubjectAccessReview). Answers are kept for a minute at most,
 * and for so many questions at a time; no token is ever logged.
 *
 * Anybody can ask with tokens that he invents, and each is a question to the API server. So one
 * address has at most SL_AUTHZ_SHARE questions under way, and after SL_AUTHZ_MISSES tokens that are
 * nobody's within SL_AUTHZ_WINDOW no further one of it is asked about until that is over; answers
 * that are kept still hold for it.
 *
 * What is to be done, and a user who is known already, are given as members of the review's spec:
 * `"nonResourceAttributes":{"verb":"get","path":"/metrics"}` and `"user":"u","groups":["g"]`.
 */
#ifndef SL_SERVE_AUTHZ_H
#define SL_SERVE_AUTHZ_H

#include "kube/port.h"

#define SL_AUTHZ_ENTRIES 64u
#define SL_AUTHZ_ASKING 48u /* of these, under way; the rest is for answers */
#define SL_AUTHZ_SHARE 16u  /* of those, of one address */
#define SL_AUTHZ_MISSES 32u
#define SL_AUTHZ_WINDOW (10 * SL_SEC)
#define SL_AUTHZ_SOURCES 64u /* addresses that are counted at a time */
#define SL_AUTHZ_FROM 16u    /* bytes of one */

enum sl_authz_says {
    SL_AUTHZ_WAIT, /* asking; 'heard' is called when that changes, then ask again */
    SL_AUTHZ_ALLOWED,
    SL_AUTHZ_UNKNOWN,   /* no token, or nobody's: 401 */
    SL_AUTHZ_FORBIDDEN, /* 403 */
    SL_AUTHZ_FAILED,    /* the API server did not answer, or too many ask: 503 */
};

struct sl_authz;

/* 'heard' is called in callbacks of the port, and when a question is too long to be asked. */
struct sl_authz *sl_authz_new(struct sl_port *port, void (*heard)(void *ctx), void *ctx);
void sl_authz_free(struct sl_authz *a);
/* header: of Authorization, NULL if there was none. from: the address, NULL if it is not known. */
enum sl_authz_says sl_authz_ask(struct sl_authz *a, const uint8_t *from, const char *header,
                                const char *what);
enum sl_authz_says sl_authz_ask_user(struct sl_authz *a, const char *user, const char *what);

#endif
