/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in the protobuf form of Kubernetes: what typed Go clients send (kubectl create job,
 * helm), though they read JSON as well. Only reading, of kinds that are built in: what is in a
 * message and not in the schema is passed over, as it is when a struct is filled from it. Field
 * numbers are in api/kubernetes/protobuf.numbers.
 */
#ifndef SL_CLUSTER_SCHEMA_PROTOBUF_PROTOBUF_H
#define SL_CLUSTER_SCHEMA_PROTOBUF_PROTOBUF_H

#include "cluster/schema/types.h"

#define SL_PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

#define SL_PROTOBUF_NAME 256u

struct sl_protobuf; /* the numbers */

int sl_protobuf_new(struct sl_protobuf **ret, struct sl_err *err) _must_check_;
void sl_protobuf_free(struct sl_protobuf *w);

/* The content of the envelope. Typed clients set apiVersion and kind; others leave both empty. */
struct sl_protobuf_body {
    char api_version[SL_PROTOBUF_NAME], kind[SL_PROTOBUF_NAME];
    const unsigned char *raw; /* borrowed */
    size_t len;
};
int sl_protobuf_open(const char *bytes, size_t len, struct sl_protobuf_body *ret,
                     struct sl_err *err) _must_check_;
/* The object as JSON. SL_ENOENT: there is no such kind; SL_EMISMATCH: there is, but its numbers are
 * not known; otherwise the error has Go's message. */
int sl_protobuf_read(const struct sl_protobuf *w, const struct sl_schemas *set,
                     const struct sl_protobuf_body *body, yyjson_doc **ret,
                     struct sl_err *err) _must_check_;

#endif
