/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of our own making (OpenSSL): a CA, and serving certificates under it. ECDSA on
 * P-256, SHA-256, random serial numbers, keys as PKCS #8.
 */
#ifndef SL_LIB_HTTP_CERT_H
#define SL_LIB_HTTP_CERT_H

#include "core/base/err.h"
#include "core/base/time.h"

#define SL_CERT_PEM ((size_t)1 << 20) /* the most of a PEM text that is read */

/* All zero is empty. */
struct sl_cert {
    char *cert_pem, *key_pem; /* owned; sl_cert_done */
};

/* Frees the texts and leaves it empty; the key is wiped. */
void sl_cert_done(struct sl_cert *c);

/* Certificates are valid from an hour before now, for clocks that are late. */
int sl_cert_ca(const char *common_name, sl_time now, sl_span life, struct sl_cert *ret,
               struct sl_err *err) _must_check_;
/* names: DNS names or IP addresses, at least one. */
int sl_cert_serving(const struct sl_cert *ca, const char *const *names, uint32_t n, sl_time now,
                    sl_span life, struct sl_cert *ret, struct sl_err *err) _must_check_;
/* A key alone, ECDSA on P-256; a secret, owned by the caller. */
int sl_cert_key(char **ret_pem, struct sl_err *err) _must_check_;
/* Are these a certificate and its key, and if not, why not? */
int sl_cert_pair(const char *cert_pem, const char *key_pem, struct sl_err *err) _must_check_;
/* End of validity of the first certificate in pem. */
int sl_cert_expiry(const char *cert_pem, sl_time *ret, struct sl_err *err) _must_check_;
/* Does the key belong to the certificate, was it signed by one of these CAs, and does it serve the
 * name? Whether it has expired is another question. Missing texts do not fit. */
bool sl_cert_fits(const struct sl_cert *c, const char *ca_pem, const char *name);

#endif
