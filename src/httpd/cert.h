/*
 * Certificates of our own making (OpenSSL): a CA, and serving certificates under it.
 */
#ifndef SL_HTTPD_CERT_H
#define SL_HTTPD_CERT_H

#include "base/err.h"
#include "base/time.h"

struct sl_cert {
    char *cert_pem, *key_pem; /* owned; sl_cert_done */
};

void sl_cert_done(struct sl_cert *c);
int sl_cert_ca(const char *common_name, sl_time now, sl_span life, struct sl_cert *ret, struct sl_err *err) _must_check_;
/* names: DNS names or IP addresses. */
int sl_cert_serving(const struct sl_cert *ca, const char *const *names, uint32_t n, sl_time now, sl_span life,
                    struct sl_cert *ret, struct sl_err *err) _must_check_;
/* End of validity of the first certificate in pem. */
int sl_cert_expiry(const char *cert_pem, sl_time *ret, struct sl_err *err) _must_check_;
/* Does the key belong to the certificate, was it signed by this CA, and does it serve the name? */
bool sl_cert_fits(const struct sl_cert *c, const char *ca_pem, const char *name);

#endif
