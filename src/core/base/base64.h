/* SPDX-License-Identifier: Apache-2.0 */
/* Standard base64 (RFC 4648), with padding. */
#ifndef SL_CORE_BASE_BASE64_H
#define SL_CORE_BASE_BASE64_H

#include "core/base/buf.h"

/* Line breaks are skipped. 'out' has space for len / 4 * 3 + 1 bytes and is NUL-terminated. Returns
 * the number of bytes, -1 if it is invalid base64. */
int64_t sl_base64_decode(const char *s, size_t len, char *out);

void sl_base64_encode(struct sl_buf *b, const char *s, size_t len);

#endif
