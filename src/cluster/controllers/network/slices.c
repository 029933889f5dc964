/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EndpointSlices: endpoints with the same ports, at most 100 in each. An endpoint stays in the
 * slice in which it is, so that one pod that comes or goes changes one object. A slice that is not
 * needed any more becomes one that is, or is deleted.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/network/network.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/fmt.h"

/* ---- records ---- */

bool cl_slice_wanted(void *ctx, yyjson_val *o) {
    const char *manager = sl_json_label(o, NET_SLICE_MANAGER);

    (void)ctx;
    return strcmp(manager, NET_SLICES_OF_SERVICES) == 0 ||
           strcmp(manager, NET_SLICES_OF_ENDPOINTS) == 0;
}

static uint64_t content_of(yyjson_val *labels, yyjson_val *o) {
    return sl_json_hash(sl_json_hash(sl_json_hash(1, labels), yyjson_obj_get(o, "endpoints")),
                        yyjson_obj_get(o, "ports"));
}

static void drop_want(struct cl_slice *s) {
    sl_freep(&s->want);
}

bool cl_slice_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_slice *s = cl_slice_of(r);
    yyjson_val *labels = sl_json_at(o, "metadata.labels"), *v;
    size_t i, n;

    (void)ctx;
    s->six = strcmp(sl_json_str(o, "addressType"), "IPv6") == 0;
    s->ports = cl_ports_hash(yyjson_obj_get(o, "ports"), s->six);
    s->content = content_of(labels, o);
    sl_freep(&s->labels);
    s->labels = cl_text_of(labels);
    sl_vec_clear(&s->members);
    yyjson_arr_foreach (yyjson_obj_get(o, "endpoints"), i, n, v)
        *sl_vec_push(&s->members) = sl_hash_str(
            sl_hash_str(1, sl_json_text(yyjson_arr_get_first(yyjson_obj_get(v, "addresses")))),
            sl_json_str(v, "targetRef.uid"));
    if (s->want && s->content == s->wanted)
        drop_want(s);
    return true;
}

/* A mirror whose Endpoints are gone: those that have their name now, if any, look after it. */
void cl_slice_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_slice *s = cl_slice_of(r);
    _cleanup_(sl_json_docp) yyjson_doc *d =
        s->labels && !sl_rec_owner(r) ? yyjson_read(s->labels, strlen(s->labels), 0) : NULL;
    const char *name = sl_json_text(yyjson_obj_get(yyjson_doc_get_root(d), NET_OF_SERVICE));
    struct sl_rec *object = *name ? sl_inf_find_sym(c->inf, K_ENDPOINTS, r->ns, name) : NULL;

    if (object)
        sl_rec_enqueue(object);
}

void cl_slices_drop_others(struct sl_cluster *c, const struct sl_rec *object) {
    uint32_t i = 0;

    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_SLICE, &i));) {
        struct cl_slice *s = cl_slice_of(r);
        if (r->ns != object->ns || r->owner == sl_rec_uid(object->uid) || sl_rec_owner(r) ||
            !s->labels || r->create_planned || r->deleting || r->delete_planned)
            continue;
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(s->labels, strlen(s->labels), 0);
        yyjson_val *labels = yyjson_doc_get_root(d);
        if (strcmp(sl_json_text(yyjson_obj_get(labels, NET_OF_SERVICE)), object->name) == 0 &&
            strcmp(sl_json_text(yyjson_obj_get(labels, NET_SLICE_MANAGER)),
                   NET_SLICES_OF_ENDPOINTS) == 0)
            sl_rec_plan_delete(r);
    }
}

void cl_slice_free(struct sl_rec *r) {
    struct cl_slice *s = cl_slice_of(r);

    sl_vec_free(&s->members);
    sl_freep(&s->labels);
    drop_want(s);
}

/* ---- which endpoint goes where ---- */

struct place {
    struct cl_slice *slice; /* NULL: a new one */
    uint32_t group;         /* UINT32_MAX: none yet */
    SL_VEC(uint32_t) list;  /* endpoints */
};

struct places {
    SL_VEC(struct place) v;
    const struct cl_slices_plan *p;
};

static uint32_t group_with(const struct cl_endpoints *all, uint64_t ports) {
    for (uint32_t g = 0; g < all->groups.n; g++)
        if (all->groups.v[g].hash == ports)
            return g;
    return UINT32_MAX;
}

/* What there is, with what may stay in each. */
static void take_present(struct sl_cluster *c, struct places *ps, bool *placed) {
    const struct cl_endpoints *all = ps->p->all;
    struct sl_map by_key = {0};

    for (uint32_t i = 0; i < all->v.n; i++)
        sl_map_add(&by_key, all->v.v[i].key, i);
    for (struct sl_rec *r = sl_inf_children(c->inf, sl_rec_uid(ps->p->owner->uid), NULL); r;
         r = r->next) {
        if (r->kind != K_SLICE || r->deleting || r->delete_planned)
            continue;
        struct place *at = sl_vec_push(&ps->v);
        *at = (struct place){.slice = cl_slice_of(r),
                             .group = group_with(all, cl_slice_of(r)->ports)};
        for (uint32_t m = 0; at->group != UINT32_MAX && m < at->slice->members.n; m++) {
            uint32_t i = sl_map_get(&by_key, at->slice->members.v[m]);
            if (i == SL_MAP_NONE || placed[i] || all->v.v[i].group != at->group ||
                at->list.n == NET_MAX_ENDPOINTS)
                continue;
            placed[i] = true;
            *sl_vec_push(&at->list) = i;
        }
    }
    sl_map_done(&by_key);
}

/* The fullest with room; else one that is free; else a new one. */
static struct place *place_for(struct places *ps, uint32_t group) {
    const struct cl_port_group *g = &ps->p->all->groups.v[group];
    struct place *best = NULL, *unused = NULL;

    for (uint32_t i = 0; i < ps->v.n; i++) {
        struct place *at = &ps->v.v[i];
        if (at->list.n && at->group == group && at->list.n < NET_MAX_ENDPOINTS &&
            (!best || at->list.n > best->list.n))
            best = at;
        if (!at->list.n && at->slice->six == g->six && (!unused || at->group == group))
            unused = at;
    }
    if (!best && unused)
        best = unused;
    if (!best) {
        best = sl_vec_push(&ps->v);
        *best = (struct place){0};
    }
    best->group = group;
    return best;
}

/* ---- what a slice should be ---- */

static char *text_of(const struct cl_slices_plan *p, const struct place *at) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    const char *const more[] = {NET_OF_SERVICE,
                                p->owner->name,
                                NET_SLICE_MANAGER,
                                p->manager,
                                p->headless ? NET_HEADLESS : NULL,
                                "",
                                NULL};
    struct sl_jw j = SL_JW(&b);

    sl_jw_object(&j, NULL);
    cl_network_put_labels(&j, p->labels, more, NULL);
    sl_jw_array(&j, "endpoints");
    for (uint32_t i = 0; i < at->list.n; i++)
        cl_endpoint_put(&j, &p->all->v.v[at->list.v[i]]);
    sl_jw_end(&j);
    sl_jw_raw(&j, "ports", at->list.n ? p->all->groups.v[at->group].ports : "[]");
    sl_jw_end(&j);
    return sl_buf_full(&b) ? NULL : sl_strdup(sl_buf_str(&b));
}

static struct cl_slice *slice_new(struct sl_cluster *c, const struct cl_slices_plan *p, bool six) {
    char name[SL_REC_NAME];

    do
        sl_rec_child_name(p->owner, p->owner->name, p->manager, (*p->number)++, name);
    while (sl_inf_find_sym(c->inf, K_SLICE, p->owner->ns, name));
    struct cl_slice *s = cl_slice_of(sl_rec_plan_create(p->owner, K_SLICE, name));
    s->six = six;
    return s;
}

static void set_want(struct sl_cluster *c, const struct cl_slices_plan *p, struct place *at) {
    char *text = text_of(p, at);
    _cleanup_(sl_json_docp) yyjson_doc *d = text ? yyjson_read(text, strlen(text), 0) : NULL;
    yyjson_val *o = yyjson_doc_get_root(d);
    bool six = at->list.n && p->all->groups.v[at->group].six;

    if (!d)
        return;
    struct cl_slice *s = at->slice ? at->slice : slice_new(c, p, six);
    s->wanted = content_of(yyjson_obj_get(o, "labels"), o);
    s->ports = cl_ports_hash(yyjson_obj_get(o, "ports"), s->six);
    sl_vec_clear(&s->members);
    for (uint32_t i = 0; i < at->list.n; i++)
        *sl_vec_push(&s->members) = p->all->v.v[at->list.v[i]].key;
    drop_want(s);
    if (!s->rec.create_planned && s->wanted == s->content) {
        sl_freep(&text);
        return;
    }
    s->want = text;
    sl_rec_write(&s->rec);
}

static void drop_all(struct sl_cluster *c, const struct sl_rec *owner) {
    struct sl_rec *next, *r = sl_inf_children(c->inf, sl_rec_uid(owner->uid), NULL);

    for (; r; r = next) {
        next = r->next;
        if (r->kind == K_SLICE && !r->deleting && !r->delete_planned)
            sl_rec_plan_delete(r);
    }
}

void cl_slices_plan(struct sl_cluster *c, const struct cl_slices_plan *p) {
    struct places ps = {.p = p};

    if (!p->all) {
        drop_all(c, p->owner);
        return;
    }
    bool *placed = sl_alloc0(p->all->v.n + 1, sizeof *placed);
    take_present(c, &ps, placed);
    for (uint32_t i = 0; i < p->all->v.n; i++) {
        struct place *at = placed[i] ? NULL : place_for(&ps, p->all->v.v[i].group);
        if (at)
            *sl_vec_push(&at->list) = i;
    }
    if (!p->all->v.n && p->placeholder && !ps.v.n)
        *sl_vec_push(&ps.v) = (struct place){0};
    for (uint32_t i = 0; i < ps.v.n; i++) {
        struct place *at = &ps.v.v[i];
        bool last = i == 0 && !p->all->v.n && p->placeholder;
        if (at->list.n || last)
            set_want(c, p, at);
        else
            sl_rec_plan_delete(&at->slice->rec);
        sl_vec_free(&at->list);
    }
    sl_vec_free(&ps.v);
    sl_freep(&placed);
}

/* ---- writing ---- */

static void put_content(struct sl_jw *j, yyjson_val *o) {
    sl_jw_val(j, "endpoints", yyjson_obj_get(o, "endpoints"));
    sl_jw_val(j, "ports", yyjson_obj_get(o, "ports"));
}

bool cl_slice_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct cl_slice *s = cl_slice_of(r);
    _cleanup_(sl_json_docp) yyjson_doc *d =
        s->want ? yyjson_read(s->want, strlen(s->want), 0) : NULL;
    yyjson_val *o = yyjson_doc_get_root(d);

    (void)ctx;
    if (!d || r->deleting)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    _cleanup_(sl_freep) char *labels = cl_text_of(yyjson_obj_get(o, "labels"));
    cl_network_change_labels(&w->json, labels, s->labels);
    sl_jw_end(&w->json);
    put_content(&w->json, o);
    return true;
}

bool cl_slice_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *j) {
    struct cl_slice *s = cl_slice_of(child);
    _cleanup_(sl_json_docp) yyjson_doc *d =
        s->want ? yyjson_read(s->want, strlen(s->want), 0) : NULL;
    yyjson_val *o = yyjson_doc_get_root(d);

    (void)ctx;
    if (!d)
        return false;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "discovery.k8s.io/v1");
    sl_jw_str(j, "kind", "EndpointSlice");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", child->name);
    sl_jw_strf(j, "generateName", "%s-", r->name);
    sl_jw_val(j, "labels", yyjson_obj_get(o, "labels"));
    sl_jw_array(j, "ownerReferences");
    sl_rec_put_owner(j, r);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_str(j, "addressType", s->six ? "IPv6" : "IPv4");
    put_content(j, o);
    return true;
}
