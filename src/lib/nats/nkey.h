/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a .creds file: a user's JWT, and the seed of the Ed25519 key that it names, in base32
 * with a prefix and a checksum. Pure.
 */
#ifndef SL_LIB_NATS_NKEY_H
#define SL_LIB_NATS_NKEY_H

#include "core/base/buf.h"
#include "core/base/err.h"

#define NATSC_SEED 32 /* bytes of a seed */
#define NATSC_MAX_JWT ((size_t)16 << 10)
#define NATSC_MAX_NONCE 512u

/* *ret_jwt is allocated. Errors never show what was read. */
int natsc_creds_read(const char *text, char **ret_jwt, uint8_t seed[static NATSC_SEED],
                     struct sl_err *err) _must_check_;
/* Appends the signature of a server's nonce, in base64url without padding. */
bool natsc_seed_sign(const uint8_t seed[static NATSC_SEED], struct sl_text nonce,
                     struct sl_buf *out) _must_check_;

#endif
