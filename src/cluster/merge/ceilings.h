/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceilings of patches and field management in one list: memory and steps while one is applied.
 * One that needs more is refused with 413.
 */
#ifndef SL_CLUSTER_MERGE_CEILINGS_H
#define SL_CLUSTER_MERGE_CEILINGS_H

#include <stddef.h>
#include <stdint.h>

#define SL_PATCH_PATHS_BYTES ((size_t)64 << 20) /* the paths of one operation of a JSON patch */
#define SL_PATCH_ARENA_BYTES ((size_t)1 << 30)  /* merge patches: keys of both sides */
#define SL_MANAGE_ARENA_BYTES ((size_t)2 << 30) /* field management: the paths of both objects */
#define SL_PATCH_MAX_OPS 10000u                 /* of a JSON patch */
#define SL_PATCH_MAX_COPY ((uint64_t)3 << 20)   /* bytes that "copy" may add in all */
#define SL_PATCH_MAX_STEPS (64u << 20)          /* values that all operations pass */
#define SL_MANAGED_MAX (UINT32_C(128) << 10)    /* managed fields of an object */
#define SL_MANAGERS_READ 1000u                  /* managers of an object */
#define MERGE_ANNOTATIONS ((size_t)256 << 10)   /* bytes of all; the API server takes no more */
#define MERGE_PATH ((size_t)8 << 20)            /* of a field in a message */
#define MERGE_TEXT ((size_t)16 << 20)           /* what is wrong with a patch, and its conflicts */
#define MERGE_CONFLICTS ((size_t)1 << 20)       /* paths of these; further ones are only counted */

#endif
