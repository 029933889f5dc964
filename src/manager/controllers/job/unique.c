/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/job/unique.h"

#include "manager/controllers/workload/workload.h"

bool mgr_unique_item(struct mgr_unique_items *in, yyjson_mut_val *item) {
    const uint64_t h = in->hash(item);

    sl_map_foreach (k, &in->by_hash, h)
        if (in->same(in->v.v[k], item))
            return false;
    sl_map_add(&in->by_hash, h, in->v.n);
    *sl_vec_push(&in->v) = item; /* NOLINT(bugprone-sizeof-expression): pointers */
    return true;
}

void mgr_unique_items_done(struct mgr_unique_items *in) {
    sl_vec_free(&in->v);
    sl_map_done(&in->by_hash);
}

sl_sym mgr_unique_flavor(struct mgr_unique_flavors *f) {
    while (f->next < f->of->n) {
        const sl_sym flavor = f->of->v[f->next++].flavor;
        if (flavor && sl_map_get(&f->known, flavor) == SL_MAP_NONE) {
            sl_map_add(&f->known, flavor, 1);
            return flavor;
        }
    }
    return 0;
}

void mgr_unique_flavors_done(struct mgr_unique_flavors *f) {
    sl_map_done(&f->known);
}
