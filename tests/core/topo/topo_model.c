/* SPDX-License-Identifier: Apache-2.0 */
#include "topo_model.h"

#include <string.h>

const char *const topo_words[NODES + 1] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6",
                                           "w7", "w8", "w9", "wa", "wb", "wc"};

static int value_of(const struct nnode *n, const char *level) {
    return strcmp(level, "block") == 0 ? n->block : strcmp(level, "rack") == 0 ? n->rack : n->host;
}

static int used(const struct world *w, const struct nleaf *l, const char *flavor, bool hosts,
                bool pods) {
    int sum = 0;
    for (int k = 0; k <= KEYS; k++)
        for (uint32_t i = 0; w->held[k].on && i < w->held[k].r.n; i++) {
            const struct sl_topo_place *p = &w->held[k].places[i];
            if (!hosts && strcmp(w->held[k].r.v[i].flavor, flavor) != 0)
                continue;
            for (uint32_t d = 0; d < p->n_domains; d++) {
                bool here = true;
                for (uint32_t x = 0; x < p->n_levels; x++)
                    here &= strcmp(p->domains[d].values[x],
                                   topo_words[l->path[w->n_levels - p->n_levels + x]]) == 0;
                if (here)
                    sum += p->domains[d].count * (pods ? 1 : w->held[k].r.per_pod[i]);
            }
        }
    return sum;
}

void look(const struct world *w, const char *flavor, struct nmodel *m) {
    *m = (struct nmodel){.w = w};
    m->hosts = strcmp(w->levels[w->n_levels - 1], SL_TOPO_HOSTNAME) == 0;
    for (int i = 0; i < NODES; i++) {
        const struct nnode *n = &w->nodes[i];
        int path[3] = {0}, at = 0;
        if (!n->known || !n->usable || (strcmp(flavor, "g") == 0 && !n->pool))
            continue;
        for (uint32_t l = 0; l < w->n_levels; l++)
            path[l] = value_of(n, w->levels[l]);
        while (at < m->n && (m->hosts ? m->v[at].path[w->n_levels - 1] != n->host
                                      : memcmp(m->v[at].path, path, sizeof path) != 0))
            at++;
        struct nleaf *l = &m->v[at];
        if (at == m->n) {
            *l = (struct nleaf){.first = n};
            memcpy(l->path, path, sizeof path);
            m->n++;
        }
        l->cpu += n->cpu - n->o_cpu;
        l->pods += (n->pods > 0 ? n->pods : 0) - n->o_pods;
        l->counts_pods |= n->pods >= 0;
    }
    for (int i = 0; i < m->n; i++) {
        m->v[i].cpu -= used(w, &m->v[i], flavor, m->hosts, false);
        m->v[i].pods -= used(w, &m->v[i], flavor, m->hosts, true);
    }
}

static bool leaf_admits(const struct nmodel *m, const struct nleaf *l,
                        const struct sl_topo_podset *p) {
    return !m->hosts ||
           ((!l->first->taint || p->n_tolerations) && (l->first->disk || !p->node_selector.n));
}

int leaf_fits(const struct nmodel *m, const struct nleaf *l, const struct sl_topo_podset *p,
              int cpu) {
    int n = l->cpu < cpu ? 0 : l->cpu / cpu;
    if (l->counts_pods && l->pods < n)
        n = l->pods < 0 ? 0 : l->pods;
    return leaf_admits(m, l, p) ? n : 0;
}

uint32_t level_at(const struct world *w, const char *name) {
    uint32_t i = 0;
    while (strcmp(w->levels[i], name) != 0)
        i++;
    return i;
}

bool same_domain(const struct nleaf *a, const struct nleaf *b, uint32_t level) {
    return memcmp(a->path, b->path, (level + 1) * sizeof a->path[0]) == 0;
}

bool stands_for(const struct nmodel *m, int i, uint32_t level) {
    for (int k = 0; k < i; k++)
        if (same_domain(&m->v[k], &m->v[i], level))
            return false;
    return true;
}

/* Pods in a domain that can stand there in lumps, as the layers of slices want it. */
static int domain_pods(const struct nmodel *m, int rep, uint32_t level,
                       const struct sl_topo_podset *p, int cpu) {
    const struct sl_topo_request *q = &p->request;
    int sum = 0, unit = 1;
    if (level + 1 == m->w->n_levels)
        return leaf_fits(m, &m->v[rep], p, cpu);
    for (uint32_t i = q->n_slices; i-- > 1;)
        if (level_at(m->w, q->slices[i].level) > level &&
            level_at(m->w, q->slices[i - 1].level) <= level)
            unit = q->slices[i].size;
    for (int i = 0; i < m->n; i++)
        if (same_domain(&m->v[i], &m->v[rep], level) && stands_for(m, i, level + 1))
            sum += domain_pods(m, i, level + 1, p, cpu) / unit * unit;
    return sum;
}

static int domain_slices(const struct nmodel *m, int rep, uint32_t level, uint32_t slice_level,
                         int size, const struct sl_topo_podset *p, int cpu) {
    int sum = 0;
    if (level == slice_level)
        return domain_pods(m, rep, level, p, cpu) / size;
    for (int i = 0; i < m->n; i++)
        if (same_domain(&m->v[i], &m->v[rep], level) && stands_for(m, i, level + 1))
            sum += domain_slices(m, i, level + 1, slice_level, size, p, cpu);
    return sum;
}

/* Is there room, with the leader on this leaf (-1: there is none)? */
static bool capacity_with(const struct nmodel *m, const struct sl_topo_podset *p, int cpu,
                          int count, int leader) {
    const struct sl_topo_request *q = &p->request;
    int size = q->n_slices ? q->slices[0].size : 1, need = (count + size - 1) / size, total = 0;
    uint32_t lowest = m->w->n_levels - 1;
    uint32_t slice_level = q->n_slices ? level_at(m->w, q->slices[0].level) : lowest;
    uint32_t level = q->mode == SL_TOPO_REQUIRED ? level_at(m->w, q->level) : 0;
    for (int i = 0; i < m->n; i++) {
        if (!stands_for(m, i, level))
            continue;
        int n = domain_slices(m, i, level, slice_level, size, p, cpu);
        total += n;
        if (q->mode == SL_TOPO_REQUIRED && n >= need &&
            (leader < 0 || same_domain(&m->v[leader], &m->v[i], level)))
            return true;
    }
    return q->mode != SL_TOPO_REQUIRED && total >= need && m->n > 0;
}

bool room(const struct world *w, const struct request *r, int kept) {
    uint32_t lead = r->n == 2 && r->v[1].count == 1 ? 1 : 0, work = r->n == 2 ? 1 - lead : 0;
    int count = r->v[work].count - kept, cpu = r->per_pod[work];
    struct nmodel m;
    look(w, r->v[work].flavor, &m);
    if (count == 0)
        return true;
    if (r->n == 1)
        return capacity_with(&m, &r->v[work], cpu, count, -1);
    for (int i = 0; i < m.n; i++) {
        struct nleaf was = m.v[i];
        if (leaf_fits(&m, &was, &r->v[work], r->per_pod[lead]) == 0)
            continue;
        m.v[i].cpu -= r->per_pod[lead];
        m.v[i].pods--;
        if (capacity_with(&m, &r->v[work], cpu, count, i))
            return true;
        m.v[i] = was;
    }
    return false;
}

int count_in(const struct nmodel *m, const struct sl_topo_place *p, int rep, uint32_t level) {
    int sum = 0;
    for (uint32_t d = 0; d < p->n_domains; d++)
        for (int i = 0; i < m->n; i++) {
            bool here = same_domain(&m->v[i], &m->v[rep], level);
            for (uint32_t x = 0; x < p->n_levels; x++)
                here &= strcmp(p->domains[d].values[x],
                               topo_words[m->v[i].path[m->w->n_levels - p->n_levels + x]]) == 0;
            sum += here ? p->domains[d].count : 0;
        }
    return sum;
}
