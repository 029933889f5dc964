/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that are looked for: by lists, by what is deleted together, and by watches that begin
 * with what there is.
 */
#ifndef SL_CLUSTER_APISERVER_REST_READ_H
#define SL_CLUSTER_APISERVER_REST_READ_H

#include "cluster/apiserver/server.h"

/* Each with a reference. */
struct sl_found {
    SL_VEC(struct sl_object *) v;
    uint64_t version; /* of the store then */
};
/* From (ns, name) on; "", "" is the beginning. */
void sl_collect(struct sl_rq *rq, const struct sl_filter *f, const char *from_ns,
                const char *from_name, struct sl_found *found);
void sl_found_done(struct sl_apiserver *s, struct sl_found *found);

/* A resourceVersion of a query; false: invalid, and the request was answered. */
bool sl_version_read(struct sl_rq *rq, const char *text, uint64_t *ret);

/* A part of a list: pages.c. */
struct sl_page {
    struct sl_object **v;
    uint32_t n;
    uint64_t version;
    const char *go_on;   /* token of the next one; "" if there is none */
    int64_t remaining;   /* after it; -1: unknown */
    struct sl_found all; /* v points into this, or into a snapshot */
};
/* False: the request was answered. */
bool sl_page_open(struct sl_rq *rq, const struct sl_filter *f, struct sl_page *ret);
void sl_page_close(struct sl_apiserver *s, struct sl_page *p);

#endif
