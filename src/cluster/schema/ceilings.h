/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceilings of schemas in one list. A definition that needs more is refused, an object that does
 * is refused with 413 or 422; nothing is read in part.
 */
#ifndef SL_CLUSTER_SCHEMA_CEILINGS_H
#define SL_CLUSTER_SCHEMA_CEILINGS_H

#include <stddef.h>

/* ---- what there is for as long as the program runs ---- */
#define SCHEMA_SET_ARENA ((size_t)64 << 20)     /* the schemas of Kubernetes' own kinds */
#define SCHEMA_PROTOBUF_ARENA ((size_t)4 << 20) /* their names on the wire */
#define SL_TYPES_MAX_BYTES ((size_t)1 << 20)    /* a description of types */
#define SL_TYPES_MAX_FIELDS 256u                /* of a type */
#define SL_TYPES_MAX 4096u                      /* of a set */
#define SL_OPENAPI_MAX_BYTES ((size_t)64 << 20) /* one document of them all */

/* ---- one definition (CRD) ---- */
#define SCHEMA_CRD_NODES 65536u /* schemas in one */
#define SCHEMA_CRD_ARENA ((size_t)96 << 20)

/* ---- one object while it is checked ---- */
#define SL_DEFAULTS_MAX 100000u               /* defaults that are put into it; 413 beyond */
#define SCHEMA_IDENTITIES ((size_t)256 << 20) /* of the items of one list */
#define SCHEMA_PATH ((size_t)4 << 10)         /* of a field, in a message */

#endif
