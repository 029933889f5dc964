/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource requests of a pod, as the text of a pod set of one such pod: equal pods give equal text,
 * and there is one decoder for it (sl_decode_podset).
 */
#ifndef SL_KUBE_TYPES_PODSET_H
#define SL_KUBE_TYPES_PODSET_H

#include <yyjson.h>

#include "core/base/buf.h"

/* Requests, limits and overhead; with 'where' also the node constraints: selector, required node
 * affinity, tolerations. */
void sl_podspec_put(struct sl_buf *b, yyjson_val *pod_spec, bool where);

/* Protocol and number of a host port. */
static inline uint32_t sl_podspec_host_port(const char *protocol, int64_t port) {
    uint32_t p = protocol[0] == 'U' ? 1 : protocol[0] == 'S' ? 2 : 0;
    return p << 16 | (uint32_t)(port & 0xffff);
}
/* Its host ports, no more than max into ret. Returns how many there are. */
uint32_t sl_podspec_host_ports(yyjson_val *pod_spec, uint32_t *ret, uint32_t max);

#endif
