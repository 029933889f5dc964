/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/peer.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

static bool is_valid(gnutls_session_t session) {
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = 0;

    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) >= 0 && status == 0;
}

bool http_peer_name(void *session, char *out, size_t size) {
    unsigned n = 0;
    const gnutls_datum_t *chain = session && gnutls_auth_get_type(session) == GNUTLS_CRD_CERTIFICATE
                                      ? gnutls_certificate_get_peers(session, &n)
                                      : NULL;
    gnutls_x509_crt_t leaf = NULL;

    if (!chain || n == 0 || !is_valid(session) || gnutls_x509_crt_init(&leaf) < 0)
        return false;
    size_t len = size;
    bool known =
        gnutls_x509_crt_import(leaf, &chain[0], GNUTLS_X509_FMT_DER) >= 0 &&
        gnutls_x509_crt_get_dn_by_oid(leaf, GNUTLS_OID_X520_COMMON_NAME, 0, 0, out, &len) >= 0 &&
        len > 0 && strnlen(out, size) == len; /* a NUL inside would pass for another name */
    gnutls_x509_crt_deinit(leaf);
    return known;
}
