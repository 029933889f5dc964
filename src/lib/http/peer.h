/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client certificate of a TLS connection. Private to src/lib/http.
 */
#ifndef SL_LIB_HTTP_PEER_H
#define SL_LIB_HTTP_PEER_H

#include "core/base/macros.h"

/* session: of GnuTLS, with the client CAs in its credentials. The common name of the client
 * certificate, if there is one that is for client authentication, is valid now and was signed by
 * one of them; else false. Checked for each request, because certificates expire while connections
 * stay open. */
bool http_peer_name(void *session, char *out, size_t size);

#endif
