/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of service accounts, as on a cluster: serviceaccounts/token gives them out, TokenReview
 * and the HTTPS front end (src/cluster/up) authenticate their bearers.
 */
#ifndef SL_CLUSTER_APISERVER_TOKEN_H
#define SL_CLUSTER_APISERVER_TOKEN_H

#include <yyjson.h>

#include "cluster/apiserver/ceilings.h"
#include "core/base/arena.h"
#include "core/base/time.h"

struct sl_apiserver;

/* Who gives the tokens out, and whom they are for where nothing else is said. */
#define SL_API_ISSUER "https://kubernetes.default.svc"

struct sl_api_token {
    const char *ns, *name, *uid; /* of the account */
    yyjson_val *audiences;       /* an array; NULL: SL_API_ISSUER */
    /* The object that it is bound to: "Pod", "Secret", "Node"; NULL: none. Of a pod on a node that
     * node, too. */
    const char *bound_kind, *bound_name, *bound_uid;
    const char *node_name, *node_uid;
    sl_time now, until;
    sl_time warn_after; /* 0: no such claim */
};
/* In the arena. */
const char *sl_api_token_new(struct sl_apiserver *s, struct sl_arena *arena,
                             const struct sl_api_token *t);

/* What a valid token says. Texts are in the arena, "" where there are none. */
struct sl_api_bearer {
    const char *user; /* "system:serviceaccount:NS:NAME" */
    const char *ns, *uid, *id, *pod, *pod_uid, *node, *node_uid;
    const char *const *audiences; /* those that were asked for; NULL-terminated */
};
/* audiences: NULL-terminated, any of them will do; NULL: SL_API_ISSUER. False: it is not ours, has
 * expired, is for others, or what it is bound to is gone. */
bool sl_api_token_read(struct sl_apiserver *s, struct sl_arena *arena, const char *token,
                       const char *const *audiences, sl_time now, struct sl_api_bearer *ret);

#endif
