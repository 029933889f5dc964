/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a MasterQueue must be beyond its schema, which takes any text for a name or an amount. The
 * webhook asks before an object is stored; whoever reads stored ones asks again, since they may
 * have been stored while there was no webhook.
 */
#ifndef SL_MANAGER_ADMISSION_MASTERQUEUE_H
#define SL_MANAGER_ADMISSION_MASTERQUEUE_H

#include "kube/types/field.h"

/* Ceilings of the schema (api/schema/masterqueue.py), held here too. */
#define SL_MASTERQUEUE_MAX_GROUPS 64u
#define SL_MASTERQUEUE_MAX_BORROWERS 64u /* of a group */
#define SL_MASTERQUEUE_MAX_QUEUES 256u   /* borrowers of all groups */
#define SL_MASTERQUEUE_MAX_RESOURCES 32u /* of all groups */
#define SL_MASTERQUEUE_MAX_POOLS 256u    /* that are listed, in all groups */
/* A name of a pool is the value of a toleration, so a label's. */
#define SL_MASTERQUEUE_MAX_POOL 63u
#define SL_MASTERQUEUE_MAX_TIMEOUT 86400 /* seconds */
#define SL_MASTERQUEUE_TIMEOUT 60        /* poolTimeout by default */

/* All errors, with their paths. No message has a connector in it, which may have a password. */
void sl_masterqueue_check(struct sl_field_errs *e, const char *name, yyjson_val *spec);
/* Why "<name>-<group>-<pool>" cannot be a flavor's name, a constant; NULL if it can, given that the
 * other two are right. */
const char *sl_masterqueue_pool_fault(struct sl_text name, struct sl_text group,
                                      struct sl_text pool);

#endif
