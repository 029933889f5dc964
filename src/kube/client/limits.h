/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory limits of the API client. The pod of the manager has room for all of it at once
 * (manager/serve/limits.h).
 */
#ifndef SL_KUBE_CLIENT_LIMITS_H
#define SL_KUBE_CLIENT_LIMITS_H

#include <stddef.h>

#define SL_CURL_CLIENT_MAX_REQUESTS 32u /* on the wire, each on a connection of its own */
#define SL_CURL_CLIENT_MAX_WATCHES 128u /* the same */
/* Of a connection: what libcurl reads into, and TLS. */
#define SL_CURL_CLIENT_CONNECTION_BYTES ((size_t)64 << 10)
#define SL_CURL_CLIENT_MAX_WAITING 16384u /* for a connection or a credential */
/* Requests that wait or are under way, with their bodies: what would go beyond is refused. */
#define SL_CURL_CLIENT_MAX_CALL_BYTES ((size_t)24 << 20)
#define SL_CURL_CLIENT_MAX_BODY ((size_t)16 << 20)
/* All responses and lines while they are received. One that would exceed this fails, and is
 * requested again. */
#define SL_CURL_CLIENT_MAX_REPLIES ((size_t)64 << 20)
/* An object is at most 1.5 MiB in etcd; as JSON, where a character may be written as six and what
 * is one byte there as a name and a value, it may be several times as long. */
#define SL_CURL_CLIENT_MAX_REPLY ((size_t)32 << 20)
#define SL_CURL_CLIENT_MAX_LINE ((size_t)32 << 20)
/* The values of one object, 16 bytes each: etcd's 1.5 MiB of the shortest fields that an API has
 * are half of that. One that has more is passed over as one that is too long. */
#define SL_OBJECT_MAX_VALUES ((size_t)2 << 20)
/* An object while it is reported to its owner. */
#define SL_OBJECT_MEMORY (SL_CURL_CLIENT_MAX_LINE + 16 * SL_OBJECT_MAX_VALUES)

#define SL_CURL_CLIENT_MEMORY                                                                      \
    (SL_CURL_CLIENT_MAX_CALL_BYTES + SL_CURL_CLIENT_MAX_REPLIES +                                  \
     (SL_CURL_CLIENT_MAX_REQUESTS + SL_CURL_CLIENT_MAX_WATCHES) * SL_CURL_CLIENT_CONNECTION_BYTES)

#endif
