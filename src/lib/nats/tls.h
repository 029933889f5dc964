/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of a connection, on buffers: bytes of the network go in, bytes for the network come out, and
 * nothing here waits. Host names and addresses are always verified.
 */
#ifndef SL_LIB_NATS_TLS_H
#define SL_LIB_NATS_TLS_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct natsc_tls;
struct natsc_trust;

/* Whom to trust, and a certificate of one's own, as PEM. ca: NULL for the authorities of the
 * system, which take some 30 ms to read and a megabyte; certificate and key: both or none. */
int natsc_trust_new(const char *ca, const char *certificate, const char *key,
                    struct natsc_trust **ret, struct sl_err *err) _must_check_;
void natsc_trust_free(struct natsc_trust *t);

/* A client that expects the certificate of this host, a name or an address. */
int natsc_tls_new(struct natsc_trust *trust, const char *host, struct natsc_tls **ret,
                  struct sl_err *err) _must_check_;
void natsc_tls_free(struct natsc_tls *t);
/* Bytes that have come. */
void natsc_tls_feed(struct natsc_tls *t, struct sl_text in);
/* 1: the handshake is done; 0: it waits for the server. */
int natsc_tls_handshake(struct natsc_tls *t, struct sl_err *err) _must_check_;
/* Bytes in clear, at most 'size'; *ret 0: none have come. */
int natsc_tls_read(struct natsc_tls *t, char *out, size_t size, size_t *ret,
                   struct sl_err *err) _must_check_;
int natsc_tls_write(struct natsc_tls *t, struct sl_text clear, struct sl_err *err) _must_check_;
/* Appends what is to be sent. */
void natsc_tls_drain(struct natsc_tls *t, struct sl_buf *out);

#endif
