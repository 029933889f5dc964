/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_int.h"

#include <string.h>

static int compare(const struct store_entry *e, const char *ns, const char *name) {
    int c = strcmp(e->now->o.ns, ns);

    return c ? c : strcmp(e->now->o.name, name);
}

/* The links that lead to the first entry at or after the key, one per level. */
static void find_links(struct store_order *od, const char *ns, const char *name,
                       struct store_entry **ret[ORDER_LEVELS]) {
    struct store_entry **links = od->head;

    for (uint32_t level = ORDER_LEVELS; level-- > 0;) {
        while (links[level] && compare(links[level], ns, name) < 0)
            links = links[level]->next;
        ret[level] = &links[level];
    }
}

struct store_entry *store_order_seek(const struct store_order *od, const char *ns,
                                     const char *name) {
    struct store_entry *const *links = od->head;

    for (uint32_t level = ORDER_LEVELS; level-- > 0;)
        while (links[level] && compare(links[level], ns, name) < 0)
            links = links[level]->next;
    return links[0];
}

struct store_entry *store_order_find(const struct store_order *od, const char *ns,
                                     const char *name) {
    struct store_entry *e = store_order_seek(od, ns, name);

    return e && compare(e, ns, name) == 0 ? e : NULL;
}

struct store_entry *store_order_add(struct store_order *od, struct store_object *o,
                                    struct sl_prng *prng) {
    struct store_entry **links[ORDER_LEVELS];
    uint32_t height = 1;

    while (height < ORDER_LEVELS && sl_prng_one_in(prng, 4))
        height++;
    struct store_entry *e = sl_alloc(sizeof *e + height * sizeof(struct store_entry *));
    *e = (struct store_entry){.now = o, .height = height};
    find_links(od, o->o.ns, o->o.name, links);
    for (uint32_t level = 0; level < height; level++) {
        e->next[level] = *links[level];
        *links[level] = e;
    }
    o->entry = e;
    od->n++;
    return e;
}

void store_order_del(struct store_order *od, struct store_entry *e) {
    struct store_entry **links[ORDER_LEVELS];

    find_links(od, e->now->o.ns, e->now->o.name, links);
    sl_assert(*links[0] == e);
    for (uint32_t level = 0; level < e->height; level++)
        *links[level] = e->next[level];
    e->now->entry = NULL;
    od->n--;
    sl_freep(&e);
}
