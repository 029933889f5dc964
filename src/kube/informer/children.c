/* SPDX-License-Identifier: Apache-2.0 */
/* Owners and children: the index of children by owner, and children that are planned. */
#include "kube/informer/informer_int.h"

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"

/* Where something is to be created in a namespace that is gone. */
#define MISSING_PAUSE (5 * SL_SEC)

/* ---- the index of owners ---- */

uint64_t sl_rec_uid(const char *uid) {
    return uid && *uid ? sl_hash_str(7, uid) | 1 : 0;
}

struct sl_rec *sl_inf_by_uid(const struct sl_informer *f, uint64_t uid) {
    uint32_t i = uid ? sl_map_get(&f->by_uid, uid) : SL_MAP_NONE;
    return i == SL_MAP_NONE ? NULL : f->recs.v[i];
}

/* A reference to an owner has no namespace: it is that of the object, whoever has this uid. */
static uint64_t family(uint64_t owner, sl_sym ns) {
    return sl_hash_u64(owner, ns) | 1;
}

struct sl_rec *sl_rec_owner(const struct sl_rec *r) {
    struct sl_rec *owner = sl_inf_by_uid(r->table->informer, r->owner);
    return owner && (owner->ns == r->ns || !owner->table->kind->namespaced) ? owner : NULL;
}

static struct sl_rec_owned *owned_by(const struct sl_informer *f, uint64_t owner, sl_sym ns) {
    uint32_t i = owner ? sl_map_get(&f->by_owner, family(owner, ns)) : SL_MAP_NONE;
    return i == SL_MAP_NONE ? NULL : &f->owned.v[i];
}

struct sl_rec *sl_inf_children(const struct sl_informer *f, uint64_t owner, uint32_t *ret_n) {
    const struct sl_rec *r = sl_inf_by_uid(f, owner);
    const struct sl_rec_owned *l = r ? owned_by(f, owner, r->ns) : NULL;
    if (ret_n)
        *ret_n = l ? l->n : 0;
    return l ? l->first : NULL;
}

uint64_t sl_inf_controller_of(yyjson_val *meta) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (yyjson_obj_get(meta, "ownerReferences"), i, n, ref)
        if (yyjson_is_true(yyjson_obj_get(ref, "controller")))
            return sl_rec_uid(sl_json_str(ref, "uid"));
    return 0;
}

void sl_inf_enqueue_owner(const struct sl_rec *r) {
    struct sl_rec *owner = sl_rec_owner(r);
    if (owner)
        sl_rec_enqueue(owner);
}

void sl_inf_owner_index_add(struct sl_rec *r, uint64_t owner) {
    struct sl_informer *f = r->table->informer;
    r->owner = owner;
    if (!owner)
        return;
    struct sl_rec_owned *l = owned_by(f, owner, r->ns);
    if (!l) {
        uint32_t i = f->free_owned.n ? sl_vec_pop(&f->free_owned) : f->owned.n;
        if (i == f->owned.n)
            (void)sl_vec_push(&f->owned);
        l = &f->owned.v[i];
        *l = (struct sl_rec_owned){0};
        sl_map_add(&f->by_owner, family(owner, r->ns), i);
    }
    r->prev = NULL;
    r->next = l->first;
    if (l->first)
        l->first->prev = r;
    l->first = r;
    l->n++;
}

void sl_inf_owner_index_remove(struct sl_rec *r) {
    struct sl_informer *f = r->table->informer;
    struct sl_rec_owned *l = owned_by(f, r->owner, r->ns);
    if (!l)
        return;
    if (r->prev)
        r->prev->next = r->next;
    else
        l->first = r->next;
    if (r->next)
        r->next->prev = r->prev;
    r->prev = r->next = NULL;
    if (--l->n == 0) {
        uint32_t i = (uint32_t)(l - f->owned.v);
        (void)sl_map_del(&f->by_owner, family(r->owner, r->ns), i);
        *sl_vec_push(&f->free_owned) = i;
    }
    r->owner = 0;
}

/* ---- planned creates and deletes ---- */

const char *sl_rec_child_name(const struct sl_rec *owner, const char *base, const char *word,
                              uint64_t number, char out[SL_REC_NAME]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = sl_digest_u64(sl_digest_str(sl_digest_str(3, owner->uid), word), number);
    char tail[6] = "";
    for (uint32_t i = 0; i < 5; i++, h /= sizeof letters - 1)
        tail[i] = letters[h % (sizeof letters - 1)];
    /* As generateName does it: 63 characters are the longest that fit every use of a name. It has
     * no dash behind a dot. */
    sl_fmt(out, SL_REC_NAME, "%.*s-%s", sl_fmt_cut(base, 57, "."), base, tail);
    return out;
}

struct sl_rec *sl_rec_plan_create(struct sl_rec *owner, uint32_t kind, const char *name) {
    struct sl_informer *f = owner->table->informer;
    struct sl_rec *r = sl_inf_new_rec(&f->tables[kind], owner->ns, name);
    r->create_planned = true;
    r->created = f->client->wall;
    sl_inf_owner_index_add(r, sl_rec_uid(owner->uid));
    sl_rec_write(r);
    return r;
}

void sl_rec_plan_delete(struct sl_rec *r) {
    if (r->create_planned && !r->sent) {
        sl_rec_forget(r);
        return;
    }
    r->delete_planned = true;
    sl_rec_write(r);
}

bool sl_inf_build_planned(struct sl_rec *r, struct sl_write *w) {
    struct sl_informer *f = r->table->informer;
    struct sl_rec *owner = sl_inf_by_uid(f, r->owner);
    if (r->delete_planned) { /* does it exist at all? */
        sl_rec_build_read(r, w);
        return true;
    }
    sl_inf_build_create(f, r->kind, sl_rec_ns(r), w);
    sl_rec_path(&w->read_path, r, NULL);
    if (!owner || owner->deleting || !owner->table->kind->child ||
        !owner->table->kind->child(f->spec.ctx, owner, r, &w->json)) {
        if (r->sent)
            sl_rec_plan_delete(r);
        else
            sl_rec_forget(r);
        return false;
    }
    r->sent = true;
    w->tag = SL_REC_CREATE;
    return true;
}

/* A create that was refused stays planned and is tried again, with another body at once; one in a
 * namespace that is gone after a while. */
void sl_inf_planned_written(struct sl_rec *r, struct sl_rec *owner, bool create,
                            enum sl_written how, const struct sl_kube_reply *reply) {
    struct sl_informer *f = r->table->informer;
    if (r->create_planned && how == SL_WRITE_GONE && create)
        sl_rec_write_at(r, f->client->mono + MISSING_PAUSE);
    else if (r->create_planned && how == SL_WRITE_GONE)
        sl_rec_forget(r);
    if (owner && create && owner->table->kind->child_written)
        owner->table->kind->child_written(f->spec.ctx, owner, r, how, reply);
}
