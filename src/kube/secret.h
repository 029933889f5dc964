/*
 * The forms that credentials come in: base64, PEM, bearer tokens. Nothing here is ever printed.
 */
#ifndef SL_KUBE_SECRET_H
#define SL_KUBE_SECRET_H

#include "base/buf.h"

#define SL_PEM_MAX_BYTES ((size_t)1 << 20)
#define SL_TOKEN_MAX_BYTES ((size_t)64 << 10)

/* Standard base64 with padding; line breaks are skipped. 'out' has room for len / 4 * 3 + 1 bytes
 * and is NUL-terminated. Returns the number of bytes, -1 if it is no base64. */
int64_t sl_base64_decode(const char *s, size_t len, char *out);

void sl_base64_encode(struct sl_buf *b, const char *s, size_t len);

/* NULL if this is whole PEM that can be used without a passphrase, else what is wrong with it. A
 * file that is just being written is not whole. */
const char *sl_pem_problem(const char *s, size_t len);

/* NULL if it may stand in an Authorization header, else what is wrong with it. */
const char *sl_token_problem(const char *s, size_t len);

/* Can this text stand in a header without beginning another one? */
bool sl_header_safe(const char *s);

#endif
