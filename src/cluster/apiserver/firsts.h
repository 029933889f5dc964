/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that every cluster has. Private to src/cluster/apiserver.
 */
#ifndef SL_CLUSTER_APISERVER_FIRSTS_H
#define SL_CLUSTER_APISERVER_FIRSTS_H

#include "cluster/apiserver/kinds/kind.h"
#include "core/base/embedded.h"

extern const struct sl_embedded api_first_objects[];
extern const size_t api_first_objects_n;

/* The object of this name; NULL: it is none of them. */
yyjson_doc *api_first_object(const struct api_kind *k, const char *name);
/* A request of the server to itself; what is there already is no failure. */
typedef int (*api_first_request)(struct sl_apiserver *s, const char *method, const char *path,
                                 const char *type, const char *body, size_t len,
                                 struct sl_err *err);
/* 'ca': PEM, of clients; NULL: it is not known. */
int api_firsts_make(struct sl_apiserver *s, const char *ca, api_first_request request,
                    struct sl_err *err) _must_check_;

#endif
