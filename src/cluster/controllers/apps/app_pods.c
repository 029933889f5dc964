/* SPDX-License-Identifier: Apache-2.0 */
/* What ReplicaSets and StatefulSets have to do with pods that are not theirs yet, or no longer; and
 * the writes that give pods to controllers, Jobs included. */
#include <stddef.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"

static bool build_adoption(struct sl_cluster *c, struct cl_pod *p, struct sl_write *w) {
    if (!p->adopt.by && !p->adopt.release)
        return false;
    bool any = cl_adoption_build(c, &p->rec, &p->adopt, w);
    if (any && w->method == SL_PATCH)
        cl_job_put_finalizers(c, p, &w->json);
    return any;
}

static void written(struct sl_cluster *c, struct cl_pod *p, const struct sl_write *w,
                    enum sl_written how, const struct sl_kube_reply *reply) {
    (void)c;
    cl_adoption_written(&p->rec, &p->adopt, w, how, reply);
}

const struct cl_pod_writer cl_apps_pod_writer = {build_adoption, written};

/* A set takes only pods that are named as its own would be. */
static bool fits(const struct sl_rec *r, const struct cl_selector *s, bool by_name,
                 const struct cl_pod *p) {
    return r->ns == p->rec.ns && !r->deleting && !r->create_planned &&
           (!by_name || cl_ss_ordinal(r, p->rec.name) >= 0) && cl_selector_matches(s, p->labels);
}

static bool is_orphan(const struct cl_pod *p) {
    return !p->rec.owner && !p->rec.create_planned && !p->adopt.by && cl_pod_active(p) && p->labels;
}

void cl_apps_pod_changed(struct sl_cluster *c, struct cl_pod *p) {
    static const struct {
        enum cl_kind kind;
        enum cl_controller by;
        size_t matcher; /* where it stands in the record */
    } rows[] = {
        {K_REPLICASET, CL_REPLICA_SETS, offsetof(struct cl_replicaset, matcher)},
        {K_REPLICATION_CONTROLLER, CL_REPLICATION_CONTROLLERS,
         offsetof(struct cl_replicaset, matcher)},
        {K_STATEFULSET, CL_STATEFUL_SETS, offsetof(struct cl_statefulset, matcher)},
        {K_DAEMONSET, CL_DAEMON_SETS, offsetof(struct cl_daemonset, matcher)},
    };

    for (size_t k = 0; k < SL_LEN(rows) && is_orphan(p); k++) {
        uint32_t i = 0;
        for (struct sl_rec *r;
             cl_on(c, rows[k].by) && (r = sl_inf_each(c->inf, rows[k].kind, &i));) {
            const struct cl_selector *s =
                (const struct cl_selector *)(const void *)((const char *)r + rows[k].matcher);
            if (fits(r, s, rows[k].kind == K_STATEFULSET, p))
                cl_adopt(&p->rec, &p->adopt, r);
        }
    }
}

bool cl_adopt_pods(struct sl_cluster *c, struct sl_rec *r, const struct cl_selector *s,
                   const char *name) {
    uint32_t i = 0;
    bool any = false;

    for (struct sl_rec *k; (k = sl_inf_each(c->inf, K_POD, &i));)
        if (is_orphan(cl_pod_of(k)) && fits(r, s, name != NULL, cl_pod_of(k))) {
            cl_adopt(k, &cl_pod_of(k)->adopt, r);
            any = true;
        }
    return any;
}
