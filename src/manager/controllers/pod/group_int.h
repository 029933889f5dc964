/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that plan a group. Private. */
#ifndef SL_MANAGER_CONTROLLERS_POD_GROUP_INT_H
#define SL_MANAGER_CONTROLLERS_POD_GROUP_INT_H

#include "manager/controllers/pod/group.h"

struct group_ctx {
    const struct sl_manager *m;
    struct pod_group *g;
    struct group_plan *p;
    const struct rec_pod *leader; /* the oldest that counts */
    const struct pod_job *lead;
    sl_time now, mono;
    bool prebuilt;
};

/* ---- group_plan.c ---- */
/* The finalizer goes, if it is there. */
void group_let_go(struct group_member *x);
/* All pods that may run are stopped. */
void group_stop_running(struct group_plan *p);
/* Orders members, the oldest first. */
int group_by_age(const void *a, const void *b);

/* ---- group_compose.c ---- */
void group_plan_alone(struct group_ctx *c);
/* Those of the n that are beyond 'keep' go. */
void group_remove_from(struct group_member **v, uint32_t n, int32_t keep);

#endif
