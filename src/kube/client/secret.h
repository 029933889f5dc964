/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms that credentials come in: PEM, bearer tokens; with base64.h what they are packed in.
 * Nothing here is ever printed.
 */
#ifndef SL_KUBE_CLIENT_SECRET_H
#define SL_KUBE_CLIENT_SECRET_H

#include "core/base/base64.h"

#define SL_PEM_MAX_BYTES ((size_t)1 << 20)
#define SL_TOKEN_MAX_BYTES ((size_t)64 << 10)

/* NULL if this is whole PEM that can be used without a passphrase, else what is wrong with it. A
 * file that is just being written is not whole. */
const char *sl_pem_problem(const char *s, size_t len);

/* NULL if it is valid in an Authorization header, else the reason why not. */
const char *sl_token_problem(const char *s, size_t len);

/* Whether the text is valid in a header and cannot inject another one. */
bool sl_header_safe(const char *s);

#endif
