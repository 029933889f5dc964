/* SPDX-License-Identifier: Apache-2.0 */
/* What an admission adds to a template, each thing once: items of lists, and flavors. */
#ifndef SL_MANAGER_CONTROLLERS_JOB_UNIQUE_H
#define SL_MANAGER_CONTROLLERS_JOB_UNIQUE_H

#include <yyjson.h>

#include "core/base/collection/map.h"
#include "core/base/collection/sym.h"

struct mgr_wl_podset_admission;

/* Items of a list that are known. Equal ones have equal hashes. */
struct mgr_unique_items {
    uint64_t (*hash)(yyjson_mut_val *item);
    bool (*same)(yyjson_mut_val *a, yyjson_mut_val *b);
    SL_VEC(yyjson_mut_val *) v;
    struct sl_map by_hash;
};

/* False: there is one like it. The item is borrowed until the end. */
bool mgr_unique_item(struct mgr_unique_items *in, yyjson_mut_val *item);
void mgr_unique_items_done(struct mgr_unique_items *in);

/* The flavors of a podset, in the order of its resources, many of which may have one. */
struct mgr_unique_flavors {
    const struct mgr_wl_podset_admission *of;
    uint32_t next;
    struct sl_map known;
};

/* 0: that was the last. */
sl_sym mgr_unique_flavor(struct mgr_unique_flavors *f);
void mgr_unique_flavors_done(struct mgr_unique_flavors *f);

#endif
