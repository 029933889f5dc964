/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the store in one list. What exceeds them is rejected with an error. */
#ifndef SL_CLUSTER_STORE_CEILINGS_H
#define SL_CLUSTER_STORE_CEILINGS_H

#include <stddef.h>

#define SL_STORE_MAX_OBJECT ((size_t)3 << 19)          /* bytes of text: 1.5 MiB, as etcd's */
#define SL_STORE_MAX_BYTES ((size_t)8 << 30)           /* in memory, past versions included */
#define SL_STORE_MAX_NAME 1024u                        /* bytes of a namespace, name or uid */
#define SL_STORE_MAX_WAITING 16384u                    /* changes that wait for the disk */
#define SL_STORE_MAX_WAITING_BYTES ((size_t)256 << 20) /* of these */
#define SL_STORE_RESOURCES 4096u
#define SL_STORE_PAST 1024u                    /* changes of a resource that are remembered */
#define SL_STORE_PAST_BYTES ((size_t)64 << 20) /* of these */
#define SL_STORE_FILE_RESOURCES 65536u         /* numbers of resources in the file */

#endif
