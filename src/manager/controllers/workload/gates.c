/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemption gates. A Workload that names some in its spec may not preempt before each of them is
 * open in its status. They are opened elsewhere; a new gate is closed, one that the spec no longer
 * names is removed, an eviction closes all.
 */
#include "manager/controllers/workload/workload_int.h"

#include <string.h>

static struct mgr_wl_gates *gates_new(size_t room) {
    return sl_alloc0(1, sizeof(struct mgr_wl_gates) + room * sizeof(struct mgr_wl_gate));
}

struct mgr_wl_gates *mgr_wl_gates_read(struct sl_manager *m, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    if (!yyjson_arr_size(list))
        return NULL;
    struct mgr_wl_gates *g = gates_new(yyjson_arr_size(list));
    yyjson_arr_foreach (list, i, n, v)
        g->v[g->n++] = (struct mgr_wl_gate){.name = sl_sym_put(m->syms, sl_json_str(v, "name")),
                                            .open = strcmp(sl_json_str(v, "position"), "Open") == 0,
                                            .at = sl_json_time(v, "lastTransitionTime")};
    return g;
}

static const struct mgr_wl_gate *find_gate(const struct mgr_wl_gates *g, sl_sym name) {
    for (uint32_t i = 0; g && i < g->n; i++)
        if (g->v[i].name == name)
            return &g->v[i];
    return NULL;
}

bool mgr_wl_gates_same(const struct mgr_wl_gates *a, const struct mgr_wl_gates *b) {
    if ((a ? a->n : 0) != (b ? b->n : 0))
        return false;
    for (uint32_t i = 0; a && i < a->n; i++) {
        const struct mgr_wl_gate *x = find_gate(b, a->v[i].name);
        if (!x || x->open != a->v[i].open)
            return false;
    }
    return true;
}

bool mgr_wl_gates_closed(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_wl_gates *now = mgr_wl_next(w, WL_POSITIONS)->gates;
    if (!m->settings->gates[SL_G_CONCURRENT_ADMISSION] &&
        !m->settings->gates[SL_G_MULTI_KUEUE_ORCHESTRATED_PREEMPTION])
        return false;
    for (uint32_t i = 0; w->gates && i < w->gates->n; i++) {
        const struct mgr_wl_gate *g = find_gate(now, w->gates->v[i].name);
        if (!g || !g->open)
            return true;
    }
    return false;
}

/* Takes g. */
static void set_pending_gates(struct mgr_rec_wl *w, struct mgr_wl_gates *g) {
    struct mgr_wl_changes *c = mgr_wl_change(w);
    sl_freep(&c->s.gates);
    c->s.gates = g;
    c->fields |= WL_POSITIONS;
}

void mgr_wl_gates_sync(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_gates *now = mgr_wl_next(w, WL_POSITIONS)->gates;
    struct mgr_wl_gates *g = gates_new((now ? now->n : 0) + (w->gates ? w->gates->n : 0));
    for (uint32_t i = 0; now && i < now->n; i++)
        if (find_gate(w->gates, now->v[i].name))
            g->v[g->n++] = now->v[i];
    for (uint32_t i = 0; w->gates && i < w->gates->n; i++)
        if (!find_gate(now, w->gates->v[i].name))
            g->v[g->n++] =
                (struct mgr_wl_gate){.name = w->gates->v[i].name, .at = m->spec.client->wall};
    if (mgr_wl_gates_same(now, g))
        sl_freep(&g);
    else
        set_pending_gates(w, g);
}

void mgr_wl_gates_close(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_gates *now = mgr_wl_next(w, WL_POSITIONS)->gates;
    if (!now)
        return;
    struct mgr_wl_gates *g = gates_new(now->n);
    for (uint32_t i = 0; i < now->n; i++)
        g->v[g->n++] = (struct mgr_wl_gate){.name = now->v[i].name, .at = m->spec.client->wall};
    set_pending_gates(w, g);
}

void mgr_wl_gates_put(const struct sl_manager *m, const struct mgr_wl_gates *g, struct sl_jw *j) {
    if (!g || !g->n)
        return;
    sl_jw_array(j, "preemptionGates");
    for (uint32_t i = 0; i < g->n; i++) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", mgr_str(m, g->v[i].name));
        sl_jw_str(j, "position", g->v[i].open ? "Open" : "Closed");
        sl_jw_time(j, "lastTransitionTime", g->v[i].at);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}
