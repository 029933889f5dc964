/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who stands at the other end of a TLS connection. Private to src/httpd.
 */
#ifndef SL_HTTPD_PEER_H
#define SL_HTTPD_PEER_H

#include "base/macros.h"

/* session: of GnuTLS, with the authorities for clients in its credentials. The common name of the
 * client's certificate, if it has shown one that is for clients, holds now and was signed by one of
 * them; else false. Asked for each request, because certificates end while connections go on. */
bool sl_peer_name(void *session, char *out, size_t size);

#endif
