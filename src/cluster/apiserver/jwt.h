/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON web tokens signed with ES256, the key that signs them, and its public half as a JSON web
 * key set. Private to src/cluster/apiserver.
 */
#ifndef SL_CLUSTER_APISERVER_JWT_H
#define SL_CLUSTER_APISERVER_JWT_H

#include "cluster/apiserver/ceilings.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "lib/json/writer.h"

struct api_signer;

/* pem: an ECDSA key on P-256; NULL: one of this process alone. */
int api_signer_new(const char *pem, struct api_signer **ret, struct sl_err *err) _must_check_;
void api_signer_free(struct api_signer *k);
/* In the arena. */
const char *api_jwt_sign(struct api_signer *k, struct sl_arena *arena, const char *claims,
                         size_t len);
/* The claims of a token that this key signed; NULL: it did not. Whether they hold is the caller's
 * to ask. */
yyjson_doc *api_jwt_claims(struct api_signer *k, const char *token);
/* {"keys":[…]} */
void api_jwks_put(const struct api_signer *k, struct sl_jw *w);

#endif
