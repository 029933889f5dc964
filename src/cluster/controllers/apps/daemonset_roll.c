/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rolling updates of DaemonSets. Without a surge, pods of an older template are deleted: those that
 * are not available at once, others while no more nodes lack a pod than may. With one, the new pod
 * comes first, and the old one goes when that is available.
 */
#include "cluster/controllers/apps/apps.h"

/* The pods of a node by template, as far as they stay. */
struct pair {
    struct cl_pod *fresh, *old; /* NULL: there is none */
};

static struct pair pair_of(const struct cl_daemonset *s, const struct cl_ds_view *v,
                           const struct cl_ds_node *n) {
    struct pair two = {NULL, NULL};

    for (uint32_t i = n->first; i < n->first + n->n; i++) {
        struct cl_pod *p = v->pods.v[i];
        struct cl_pod **which = cl_ds_is_new(s, p) ? &two.fresh : &two.old;
        if (p->rec.gone || p->rec.deleting || p->rec.delete_planned || cl_pod_ended(p))
            continue;
        if (!*which)
            *which = p;
    }
    return two;
}

static int64_t wanted_nodes(const struct cl_ds_view *v) {
    int64_t n = 0;

    for (uint32_t i = 0; i < v->nodes.n; i++)
        n += v->nodes.v[i].fit == CL_FIT_RUNS;
    return n;
}

/* How many nodes lack an available pod, as far as that is not the fault of an old one. */
static int64_t missing(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    int64_t n = 0;

    for (uint32_t i = 0; i < v->nodes.n; i++) {
        struct pair two = pair_of(s, v, &v->nodes.v[i]);
        struct cl_pod *p = two.fresh ? two.fresh : two.old;
        n += v->nodes.v[i].fit == CL_FIT_RUNS && (!p || !cl_ds_available(c, s, p, v));
    }
    return n;
}

static void delete_old(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v,
                       int64_t nodes) {
    int64_t room = cl_ds_may_miss(s, nodes) - missing(c, s, v);

    for (uint32_t i = 0; i < v->nodes.n; i++) {
        struct pair two = pair_of(s, v, &v->nodes.v[i]);
        if (!two.old || two.fresh)
            continue;
        bool available = cl_ds_available(c, s, two.old, v);
        if (available && room <= 0)
            continue;
        room -= available;
        cl_ds_remove_pod(s, two.old);
    }
}

static void surge(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v,
                  int64_t nodes) {
    int64_t room = cl_ds_surge(s, nodes);

    for (uint32_t i = 0; i < v->nodes.n; i++) {
        struct pair two = pair_of(s, v, &v->nodes.v[i]);
        if (!two.old || !two.fresh)
            continue;
        room--;
        if (cl_ds_available(c, s, two.fresh, v))
            cl_ds_remove_pod(s, two.old);
    }
    for (uint32_t i = 0; i < v->nodes.n; i++) {
        struct cl_ds_node *n = &v->nodes.v[i];
        struct pair two = pair_of(s, v, n);
        if (!two.old || two.fresh || n->fit != CL_FIT_RUNS)
            continue;
        bool available = cl_ds_available(c, s, two.old, v);
        if (available && room <= 0)
            continue;
        room -= available;
        cl_ds_make_pod(c, s, n->name);
    }
}

void cl_ds_roll(struct sl_cluster *c, struct cl_daemonset *s, struct cl_ds_view *v) {
    int64_t nodes = wanted_nodes(v);

    if (cl_ds_surge(s, nodes) > 0)
        surge(c, s, v, nodes);
    else
        delete_old(c, s, v, nodes);
}
