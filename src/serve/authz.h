/*
 * May the bearer of this token read the metrics? As Kueue asks it: the API server says who it is
 * (TokenReview) and whether he may (SubjectAccessReview of the path, verb get). Answers are kept
 * for a minute at most, and for so many tokens at a time; no token is ever logged.
 */
#ifndef SL_SERVE_AUTHZ_H
#define SL_SERVE_AUTHZ_H

#include "kube/port.h"

#define SL_AUTHZ_TOKENS 64u

enum sl_authz_says {
    SL_AUTHZ_WAIT, /* asking; 'heard' is called when that changes, then ask again */
    SL_AUTHZ_ALLOWED,
    SL_AUTHZ_UNKNOWN,   /* no token, or nobody's: 401 */
    SL_AUTHZ_FORBIDDEN, /* 403 */
    SL_AUTHZ_FAILED,    /* the API server did not answer, or too many ask: 503 */
};

struct sl_authz;

/* path: what is to be read; borrowed for ever. 'heard' is called in callbacks of the port. */
struct sl_authz *sl_authz_new(struct sl_port *port, const char *path, void (*heard)(void *ctx),
                              void *ctx);
void sl_authz_free(struct sl_authz *a);
/* header: of Authorization, NULL if there was none. */
enum sl_authz_says sl_authz_ask(struct sl_authz *a, const char *header);

#endif
