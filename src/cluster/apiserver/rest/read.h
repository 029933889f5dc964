/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that are looked for: by lists, by what is deleted together, and by watches that begin
 * with what there is.
 */
#ifndef SL_CLUSTER_APISERVER_REST_READ_H
#define SL_CLUSTER_APISERVER_REST_READ_H

#include "cluster/apiserver/server.h"

/* Each with a reference. */
struct api_found {
    SL_VEC(struct sl_store_object *) v;
    uint64_t version; /* of the store then */
};
/* From (ns, name) on; "", "" is the beginning. */
void api_found_collect(struct api_rq *rq, const struct api_filter *f, const char *from_ns,
                       const char *from_name, struct api_found *found);
void api_found_done(struct sl_apiserver *s, struct api_found *found);

/* A resourceVersion of a query; false: invalid, and the request was answered. */
bool api_version_read(struct api_rq *rq, const char *text, uint64_t *ret);

/* A part of a list: pages.c. */
struct api_page {
    struct sl_store_object **v;
    uint32_t n;
    uint64_t version;
    const char *continue_token; /* token of the next one; "" if there is none */
    int64_t remaining;          /* after it; -1: unknown */
    struct api_found all;       /* v points into this, or into a snapshot */
};
/* False: the request was answered. */
bool api_page_open(struct api_rq *rq, const struct api_filter *f, struct api_page *ret);
void api_page_close(struct sl_apiserver *s, struct api_page *p);

#endif
