/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of the controller of MiniClusters; those of a spec are in manager/admission. */
#ifndef SL_MANAGER_MINICLUSTER_CEILINGS_H
#define SL_MANAGER_MINICLUSTER_CEILINGS_H

#include <stddef.h>

#define MC_MAX_SPEC ((size_t)1 << 20) /* of a cluster, as text */
#define MC_MAX_SCRIPT                                                                              \
    ((size_t)2 << 20)                    /* of an entrypoint: each text of the spec is in it once  \
                                          */
#define MC_MAX_STATUS ((size_t)64 << 10) /* conditions of others included */
#define MC_MAX_MESSAGE 1024u             /* of a condition */
#define MC_MAX_CHILDREN 256u             /* objects of a cluster, pods of the Job not counted */

#endif
