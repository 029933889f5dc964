/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Deployment does next: one template in place of another, by little or all at once, and
 * another size in the middle of it. The limits are those that deployment.c opens with.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"

/* ---- rolling ---- */

/* Old sets shrink: first by what does not work anyway, then by what the new pods make up for. */
static void shrink_old(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s) {
    int64_t all = 0, least = d->replicas - d->unavailable, available = 0;
    int32_t *size = sl_alloc0(s->all.n, sizeof *size);

    for (uint32_t i = 0; i < s->all.n; i++) {
        size[i] = s->all.v[i]->replicas;
        all += size[i];
    }
    int64_t fresh = cl_rs_available(c, s->fresh);
    int64_t down = all - least - (s->fresh->replicas - fresh), broken = down > 0 ? down : 0;
    for (uint32_t i = 0; i < s->all.n; i++) {
        struct cl_replicaset *rs = s->all.v[i];
        int64_t works = cl_rs_available(c, rs), n = rs == s->fresh ? 0 : size[i] - works;
        n = n < broken ? n : broken;
        size[i] -= (int32_t)n;
        broken -= n;
        available += works < size[i] ? works : size[i];
    }
    int64_t spare = down > 0 ? available - least : 0;
    for (uint32_t i = 0; i < s->all.n; i++) {
        struct cl_replicaset *rs = s->all.v[i];
        int64_t n = rs == s->fresh || spare <= 0 ? 0 : size[i] < spare ? size[i] : spare;
        spare -= n;
        if (rs != s->fresh)
            cl_dp_scale(d, rs, size[i] - (int32_t)n, false, s);
    }
    sl_freep(&size);
}

/* Of the old sets without pods, only as many as the limit allows are kept. */
static void clean_up(struct cl_deployment *d, const struct cl_dp_sets *s) {
    SL_VEC(struct cl_replicaset *) v = {0};
    uint32_t i = 0;

    if (d->history == INT32_MAX)
        return;
    for (struct cl_replicaset *rs; (rs = cl_dp_old(s, &i));)
        if (!rs->rec.deleting && !rs->rec.delete_planned)
            *sl_vec_push(&v) = rs;
    for (int64_t left = (int64_t)v.n - d->history; left > 0 && v.n > 0; left--) {
        uint32_t least = 0;
        for (uint32_t k = 1; k < v.n; k++)
            if (v.v[k]->revision < v.v[least]->revision)
                least = k;
        struct cl_replicaset *rs = v.v[least];
        if (rs->replicas == 0 && rs->seen.replicas == 0 && rs->seen.observed >= rs->rec.generation)
            sl_rec_plan_delete(&rs->rec);
        v.v[least] = sl_vec_last(&v);
        v.n--;
    }
    sl_vec_free(&v);
}

static void roll(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s) {
    int32_t size = cl_dp_fresh_size(c, d, s);

    if (!s->fresh) {
        cl_dp_make_fresh(c, d, s);
        return;
    }
    if (s->fresh->replicas > d->replicas)
        cl_dp_scale(d, s->fresh, d->replicas, false, s);
    else
        cl_dp_scale(d, s->fresh, size, false, s);
    if (!s->waiting)
        shrink_old(c, d, s);
    if (!s->waiting && cl_dp_complete(d, &d->seen))
        clean_up(d, s);
}

static void recreate(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s) {
    bool old_pods = false;
    uint32_t i = 0;

    for (struct cl_replicaset *rs; (rs = cl_dp_old(s, &i));) {
        cl_dp_scale(d, rs, 0, false, s);
        old_pods |= cl_rs_has_pods(c, rs);
    }
    if (s->waiting || old_pods)
        return; /* the old ones go first, to the last */
    if (!s->fresh) {
        cl_dp_make_fresh(c, d, s);
        return;
    }
    cl_dp_scale(d, s->fresh, d->replicas, false, s);
    if (!s->waiting && cl_dp_complete(d, &d->seen))
        clean_up(d, s);
}

/* ---- another size in the middle of it ---- */

bool cl_dp_is_scaled(const struct cl_deployment *d, const struct cl_dp_sets *s) {
    for (uint32_t i = 0; i < s->all.n; i++) {
        const struct cl_replicaset *rs = s->all.v[i];
        if (rs->replicas > 0 && rs->desired >= 0 && rs->desired != d->replicas)
            return true;
    }
    return false;
}

struct share {
    struct cl_replicaset *rs;
    bool growing;
    int64_t size;
};

/* The largest first; of equal ones the newer when there is something to add, else the older. */
static int by_size(const void *x, const void *y) {
    const struct share *a = x, *b = y;

    if (a->rs->replicas != b->rs->replicas)
        return a->rs->replicas > b->rs->replicas ? -1 : 1;
    return a->growing ? cl_dp_older(b->rs, a->rs) : cl_dp_older(a->rs, b->rs);
}

/* What a set has more, or less, if all keep their parts of the whole. */
static int64_t part_of(const struct cl_deployment *d, const struct cl_replicaset *rs,
                       int64_t left) {
    int64_t before = rs->max > 0 ? rs->max : d->seen.replicas, change;

    if (d->replicas == 0)
        change = -(int64_t)rs->replicas;
    else if (before == 0 || left == 0)
        change = 0;
    else /* rounded to the nearest */
        change = (2 * (int64_t)rs->replicas * ((int64_t)d->replicas + d->surge) + before) /
                     (2 * before) -
                 rs->replicas;
    if (left > 0)
        return change < left ? change : left;
    return change > left ? change : left;
}

static void scale_in_parts(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s) {
    int64_t left = d->replicas > 0 ? (int64_t)d->replicas + d->surge : 0, extra = 0;
    struct share *v = sl_alloc0(s->all.n, sizeof *v);
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->all.n; i++) {
        left -= s->all.v[i]->replicas;
        extra += cl_rs_held(c, s->all.v[i]) - s->all.v[i]->replicas;
    }
    if (left > 0)
        left = left > extra ? left - extra : 0;
    for (uint32_t i = 0; i < s->all.n; i++)
        if (s->all.v[i]->replicas > 0)
            v[n++] = (struct share){.rs = s->all.v[i], .growing = left > 0};
    qsort(v, n, sizeof *v, by_size);
    for (uint32_t i = 0; i < n; i++) {
        int64_t change = left ? part_of(d, v[i].rs, left) : 0;
        v[i].size = v[i].rs->replicas + change;
        left -= change;
    }
    if (n > 0 && left)
        v[0].size = v[0].size + left > 0 ? v[0].size + left : 0;
    for (uint32_t i = 0; i < n; i++)
        cl_dp_scale(d, v[i].rs, (int32_t)v[i].size, true, s);
    sl_freep(&v);
}

/* The only set that is to have pods gets them all, but within maxSurge while pods of other sets
 * remain. */
static void scale_one(struct sl_cluster *c, struct cl_deployment *d, struct cl_replicaset *one,
                      bool also_annotations, struct cl_dp_sets *s) {
    int64_t surge_left = (int64_t)d->replicas + d->surge;
    bool others = false;

    for (uint32_t i = 0; i < s->all.n; i++)
        if (s->all.v[i] != one) {
            surge_left -= cl_rs_held(c, s->all.v[i]);
            others |= cl_rs_has_pods(c, s->all.v[i]);
        }
    if (!d->rolling && others)
        surge_left = 0;
    surge_left = surge_left > one->replicas ? surge_left : one->replicas;
    cl_dp_scale(d, one, surge_left < d->replicas ? (int32_t)surge_left : d->replicas,
                also_annotations, s);
}

static void scale(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s) {
    struct cl_replicaset *one = NULL, *fresh = s->fresh;
    uint32_t active = 0, i = 0;

    for (uint32_t k = 0; k < s->all.n; k++)
        if (s->all.v[k]->replicas > 0) {
            one = s->all.v[k];
            active++;
        }
    if (active == 0 && s->all.n > 0)
        one = fresh ? fresh : sl_vec_last(&s->all);
    if (active <= 1) {
        if (one)
            scale_one(c, d, one, active == 1, s);
        return;
    }
    if (fresh && fresh->replicas == d->replicas && fresh->desired == d->replicas &&
        cl_rs_available(c, fresh) == d->replicas) {
        for (struct cl_replicaset *rs; (rs = cl_dp_old(s, &i));)
            cl_dp_scale(d, rs, 0, false, s);
        return;
    }
    if (d->rolling)
        scale_in_parts(c, d, s);
}

/* ---- all of it ---- */

void cl_dp_act(struct sl_cluster *c, struct cl_deployment *d, struct cl_dp_sets *s, bool scaled) {
    /* A set that is being created, perhaps for the previous template, comes with an unknown number
     * of pods. */
    if (s->making)
        return;
    if (d->paused || scaled) {
        scale(c, d, s);
        if (d->paused && !s->waiting)
            clean_up(d, s);
    } else if (d->rolling) {
        roll(c, d, s);
    } else {
        recreate(c, d, s);
    }
}
