/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of service accounts: serviceaccounts/token gives them out, TokenReview and the HTTPS front
 * end (src/cluster/up) authenticate their bearers.
 */
#ifndef SL_CLUSTER_APISERVER_TOKEN_H
#define SL_CLUSTER_APISERVER_TOKEN_H

#include "core/base/arena.h"
#include "core/base/time.h"

struct sl_apiserver;

/* Of the account with this uid; in the arena. */
const char *sl_api_token_new(struct sl_arena *arena, const char *ns, const char *name,
                             const char *uid, sl_time until);
/* The user that it authenticates ("system:serviceaccount:NS:NAME", in the arena); NULL: it is
 * invalid or expired, or the account was deleted. */
const char *sl_api_token_user(struct sl_apiserver *s, struct sl_arena *arena, const char *token,
                              sl_time now);

#endif
