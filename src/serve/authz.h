/*
 * May this user do that? As Kueue asks it: the API server says who the bearer of a token is
 * (TokenReview) and whether he may (SubjectAccessReview). Answers are kept for a minute at most,
 * and for so many questions at a time; no token is ever logged.
 *
 * What is to be done, and a user who is known already, are given as members of the review's spec:
 * `"nonResourceAttributes":{"verb":"get","path":"/metrics"}` and `"user":"u","groups":["g"]`.
 */
#ifndef SL_SERVE_AUTHZ_H
#define SL_SERVE_AUTHZ_H

#include "kube/port.h"

#define SL_AUTHZ_ENTRIES 64u

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
/* header: of Authorization, NULL if there was none. */
enum sl_authz_says sl_authz_ask(struct sl_authz *a, const char *header, const char *what);
enum sl_authz_says sl_authz_ask_user(struct sl_authz *a, const char *user, const char *what);

#endif
