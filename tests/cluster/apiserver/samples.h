/* SPDX-License-Identifier: Apache-2.0 */
/* A small object of every kind that is served, and a definition of one more. */
#ifndef SL_TESTS_CLUSTER_APISERVER_SAMPLES_H
#define SL_TESTS_CLUSTER_APISERVER_SAMPLES_H

#include "cluster/apiserver/server.h"

/* What is needed besides apiVersion, kind and a name. */
const char *sample_of(const struct api_kind *k, const struct api_kind_version *v);
/* The kind Thing of example.com, with everything that a definition may have. */
extern const char sample_definition[];

#endif
