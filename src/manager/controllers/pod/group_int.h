/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that plan a group. Private. */
#ifndef SL_MANAGER_CONTROLLERS_POD_GROUP_INT_H
#define SL_MANAGER_CONTROLLERS_POD_GROUP_INT_H

#include "manager/controllers/pod/group.h"

struct mgr_group_ctx {
    const struct sl_manager *m;
    struct mgr_pod_group *g;
    struct mgr_group_plan *p;
    const struct mgr_rec_pod *leader; /* the oldest that counts */
    const struct mgr_pod_job *lead;
    sl_time now, mono;
    bool prebuilt;
};

/* ---- group_plan.c ---- */
/* The finalizer goes, if it is there. */
void mgr_group_drop_finalizer(struct mgr_group_member *x);
/* All pods that may run are stopped. */
void mgr_group_stop_running(struct mgr_group_plan *p);
/* Orders members, the oldest first. */
int mgr_group_by_age(const void *a, const void *b);

/* ---- group_compose.c ---- */
void mgr_group_plan_without_workload(struct mgr_group_ctx *c);
/* Those of the n that are beyond 'keep' go. */
void mgr_group_remove_from(struct mgr_group_member **v, uint32_t n, int32_t keep);

#endif
