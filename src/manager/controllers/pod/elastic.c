/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of elastic Jobs are created with a gate, which is removed from as many of each podset as the
 * Workload was granted, less those that run without it. Pods that have ended do not count; one that
 * is being deleted still holds its resources.
 *
 * A Job that grew has a chain of slices, all under the name of the first, and so are its pods,
 * whichever slice they were created for. What counts is the slice that is admitted and not
 * replaced. Planned from the stored state of Workloads, never from pending changes.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/pod/pods.h"

/* ---- chains ---- */

static const char *chain_name(const struct mgr_rec_wl *w) {
    return w->slice_name ? w->slice_name : w->rec.name;
}

static uint64_t chain_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

void mgr_chain_index_add(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (w->elastic)
        sl_map_add(&m->pods->chains, chain_key(w->rec.ns, chain_name(w)), w->rec.id);
}

void mgr_chain_index_remove(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (!w->elastic)
        return;
    (void)sl_map_del(&m->pods->chains, chain_key(w->rec.ns, chain_name(w)), w->rec.id);
    mgr_chain_changed(m, w);
}

void mgr_chain_changed(struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (w->elastic)
        mgr_workload_pods_touch(mgr_workload_pods_find(m, w->rec.ns, chain_name(w)));
}

static bool grants(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return w->seen.admission && !w->rec.gone && mgr_wl_condition_is_true(m, w, "Admitted") &&
           !mgr_wl_condition_is_true(m, w, "Evicted") &&
           !mgr_wl_condition_will_be_true(m, w, "Finished");
}

const struct mgr_rec_wl *mgr_chain_active(const struct sl_manager *m,
                                          const struct mgr_workload_pods *c) {
    uint64_t key = chain_key(c->ns, c->name);
    const struct mgr_rec_wl *found = NULL;
    sl_map_foreach (i, &m->pods->chains, key) {
        const struct mgr_rec_wl *w = mgr_wl_of(m->inf->recs.v[i]);
        if (w->rec.ns != c->ns || strcmp(chain_name(w), c->name) != 0 || !grants(m, w))
            continue;
        if (!found || mgr_slice_replaces(m, w, found) ||
            (!mgr_slice_replaces(m, found, w) && mgr_slice_older(found, w)))
            found = w;
    }
    return found;
}

/* ---- the plan ---- */

/* What the podset was granted, and still requests: a Job that shrinks only changes its spec. */
static int32_t granted(const struct mgr_rec_wl *w, uint32_t podset) {
    const struct mgr_wl_admission *a = w->seen.admission;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].name == w->podsets[podset].name)
            return a->v[i].count < w->podsets[podset].count ? a->v[i].count
                                                            : w->podsets[podset].count;
    return 0;
}

/* Where the pod's podset is counted; NULL: it has none in this Workload. */
static int32_t *room_of(const struct mgr_rec_wl *w, const struct mgr_rec_pod *p,
                        int32_t room[SL_MAX_PODSETS]) {
    for (uint32_t i = 0; w && i < w->n_podsets; i++)
        if (w->podsets[i].name == p->podset)
            return &room[i];
    return NULL;
}

/* Those on their way first: their room is taken. Then the oldest. */
static int by_turn(const void *a, const void *b) {
    const struct mgr_rec_pod *x = *(struct mgr_rec_pod *const *)a,
                             *y = *(struct mgr_rec_pod *const *)b;
    bool sx = mgr_pod_sent(x, POD_GATE_ELASTIC), sy = mgr_pod_sent(y, POD_GATE_ELASTIC);
    if (sx != sy)
        return sx ? -1 : 1;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

void mgr_elastic_plan(struct sl_manager *m, struct mgr_workload_pods *c) {
    SL_VEC(struct mgr_rec_pod *) gated = {0};
    int32_t room[SL_MAX_PODSETS], *left;

    if (!m->spec.parts.elasticjobs || !c->n_gated)
        return;
    const struct mgr_rec_wl *w =
        m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES] ? mgr_chain_active(m, c) : NULL;
    for (uint32_t i = 0; w && i < w->n_podsets; i++)
        room[i] = granted(w, i);
    for (struct mgr_rec_pod *p = c->pods; p; p = p->next) {
        if (p->gates & POD_GATE_ELASTIC)
            *sl_vec_push(&gated) = p;
        else if ((left = room_of(w, p, room)))
            --*left;
    }
    if (gated.n > 1)
        qsort(gated.v, gated.n, sizeof(struct mgr_rec_pod *), by_turn);
    for (uint32_t i = 0; i < gated.n; i++) {
        struct mgr_rec_pod *p = gated.v[i];
        left = p->ending ? NULL : room_of(w, p, room);
        bool go = left && (*left)-- > 0;
        p->release = (uint8_t)((p->release & ~POD_GATE_ELASTIC) | (go ? POD_GATE_ELASTIC : 0));
        if (go && !mgr_pod_sent(p, POD_GATE_ELASTIC))
            sl_rec_write(&p->rec);
    }
    sl_vec_free(&gated);
}
