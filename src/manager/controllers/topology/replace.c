/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node failures of admitted Workloads: pods of the failed node get other domains, as soon as no pod
 * of the Workload is left on the node that could still run. The others keep their domains;
 * replacement pods are assigned to the new ones (ungate.c).
 *
 * Nothing is done while there are no free resources elsewhere: it is retried when there may be.
 */
#include <string.h>

#include "lib/log/log.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/topology/tas.h"
#include "manager/controllers/topology/topology.h"

#define HOSTNAME "kubernetes.io/hostname"

static bool is_well(const struct sl_manager *m, const char *node) {
    const struct sl_rec *r = sl_inf_find(m->inf, REC_NODE, "", node);
    return r && SL_CONTAINER_OF(r, const struct mgr_rec_node, rec)->ready;
}

/* Is a pod of it still on the node, or about to be, and not requested to stop? The node may
 * recover, and a pod that is assigned to it can go to no other. */
static bool is_occupied(const struct sl_manager *m, const struct mgr_rec_wl *w, const char *node) {
    const struct mgr_workload_pods *c =
        mgr_workload_pods_find(m, w->rec.ns, w->slice_name ? w->slice_name : w->rec.name);
    sl_sym at = sl_sym_find(m->syms, node);
    for (const struct mgr_rec_pod *p = c ? c->pods : NULL; p; p = p->next)
        if (!p->ending && (p->node ? p->node == at : mgr_tas_selects(m, p, HOSTNAME, node)))
            return true;
    return false;
}

/* A podset that must stay together moves as a whole or not at all. */
static bool may_part(const struct sl_manager *m, const struct mgr_wl_podset *p) {
    const char *request = mgr_str(m, p->request);
    return !strstr(request, "\"required\"") && !strstr(request, "Slice") && !p->group;
}

/* Takes the domains that have failed out. Returns how many those are; *ret_fixed: it cannot be
 * moved now. */
static uint32_t sift(const struct sl_manager *m, const struct mgr_rec_wl *w,
                     const struct mgr_wl_podset *ps, struct sl_topo_place *p, struct sl_arena *a,
                     bool *ret_fixed) {
    struct sl_topo_domain *v = sl_arena_alloc0(a, p->n_domains + 1, sizeof *v);
    uint32_t n = 0;
    if (!p->n_levels || strcmp(p->levels[p->n_levels - 1], HOSTNAME) != 0)
        return 0;
    for (uint32_t i = 0; i < p->n_domains; i++) {
        const char *node = p->domains[i].values[p->n_levels - 1];
        if (is_well(m, node))
            v[n++] = p->domains[i];
        else
            *ret_fixed |= is_occupied(m, w, node);
    }
    uint32_t failed = p->n_domains - n;
    *ret_fixed |= failed && n && !may_part(m, ps);
    p->domains = v;
    p->n_domains = n;
    return failed;
}

static bool is_settled(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return (w->placed || w->exact) && w->seen.admission && !mgr_wl_changing(w, WL_ADMISSION) &&
           mgr_wl_condition_is_true(m, w, "Admitted") &&
           !mgr_wl_condition_will_be_true(m, w, "Evicted") &&
           !mgr_wl_condition_will_be_true(m, w, "Finished");
}

/* Returns whether it stands on a node that has failed, also if nothing can be done about it now. */
static bool replace(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_topo_place *held, keep[SL_MAX_PODSETS];
    uint32_t failed = 0;
    bool fixed = false;

    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(CEILING_PLACES);
    uint32_t n = mgr_tas_held(m, w, &a, &held);
    for (uint32_t i = 0; n == w->n_podsets && i < n; i++) {
        keep[i] = held[i];
        failed += sift(m, w, &w->podsets[i], &keep[i], &a, &fixed);
    }
    /* All but the places stays as it was admitted, also how many pods there were: those that have
     * ended meanwhile keep theirs, and an admission does not change otherwise. */
    if (sl_arena_full(&a))
        sl_log(SL_LOG_WARN, "topology assignment too large, failed node not replaced",
               SL_S("namespace", mgr_str(m, w->rec.ns)), SL_S("name", w->rec.name));
    else if (failed && !fixed && mgr_tas_move(m, w, keep))
        mgr_wl_set_places(m, w);
    return failed > 0;
}

void mgr_tas_nodes_failed(struct sl_manager *m) {
    bool sick = false;
    uint32_t at = 0;
    if (!m->tas->topo || !m->tas->node_failed || !m->leads || !m->inf->tables[REC_NODE].synced ||
        !m->inf->tables[REC_POD].synced || !m->settings->gates[SL_G_TAS_FAILED_NODE_REPLACEMENT])
        return;
    m->tas->node_failed = false;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
        if (mgr_wl_of(r)->placed || mgr_wl_of(r)->exact)
            sick |= is_settled(m, mgr_wl_of(r)) ? replace(m, mgr_wl_of(r)) : true;
    m->tas->replacement_pending = sick;
}
