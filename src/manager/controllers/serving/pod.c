/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of sets. Each is assigned once to the Workload of its slot: labels and annotations mark
 * it as managed, with its group and podset. The group name of a pod is immutable, so one that waits
 * in the wrong group is deleted, and its set creates it again.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/serving/serving.h"

#define Q "kueue.x-k8s.io/"
#define PARENT_KEY Q "pod-suspending-parent"
#define GROUP_KEY Q "pod-group-name"
#define PREBUILT_KEY Q "prebuilt-workload-name"
#define TOTAL_KEY Q "pod-group-total-count"

struct mgr_serving {
    struct sl_map pods; /* hash(kind, ns, name of the set) -> pods */
};

void mgr_serving_new(struct sl_manager *m) {
    m->serving = sl_alloc0(1, sizeof *m->serving);
}

void mgr_serving_end(struct sl_manager *m) {
    sl_map_done(&m->serving->pods);
    sl_freep(&m->serving);
}

static const struct mgr_serving_kind *const set_kinds[] = {&mgr_serving_statefulset,
                                                           &mgr_serving_lws};

static const struct mgr_serving_kind *kind_of(uint8_t kind) {
    return kind == REC_STATEFULSET ? &mgr_serving_statefulset : &mgr_serving_lws;
}

/* ---- the index ---- */

static uint64_t set_key(uint8_t kind, sl_sym ns, sl_sym set) {
    return sl_hash_u64(sl_hash_u64(kind, ns), set);
}

static struct sl_rec *set_of_pod(const struct sl_manager *m, const struct mgr_rec_pod *p) {
    const struct mgr_serving_pod *sp = p->serving;
    struct sl_rec *r = sl_inf_find(m->inf, (enum mgr_rec_kind)sp->kind, mgr_str(m, p->rec.ns),
                                   mgr_str(m, sp->set));
    return r && (!sp->owner || sp->owner == sl_hash_str(0, r->uid)) ? r : NULL;
}

static bool has_ended(const struct mgr_rec_pod *p) {
    return p->phase == MGR_POD_SUCCEEDED || p->phase == MGR_POD_FAILED;
}

struct mgr_rec_pod *mgr_serving_pods(const struct sl_manager *m, const struct mgr_rec_set *s,
                                     uint32_t *cursor) {
    sl_sym name = sl_sym_find(m->syms, s->rec.name);
    uint64_t key = set_key(s->rec.kind, s->rec.ns, name);
    for (uint32_t i; (i = sl_map_each(&m->serving->pods, key, cursor)) != SL_MAP_NONE;) {
        struct mgr_rec_pod *p = mgr_pod_of(m->inf->recs.v[i]);
        if (!has_ended(p) && p->rec.ns == s->rec.ns && set_of_pod(m, p) == &s->rec)
            return p;
    }
    return NULL;
}

int32_t mgr_serving_slot(const struct mgr_rec_set *s, const struct mgr_serving_pod *p) {
    return p->slot < 0 ? -1 : p->slot - s->start;
}

/* ---- taking in ---- */

static const struct mgr_serving_kind *parent_of(const struct sl_manager *m, yyjson_val *o) {
    const char *parent = sl_json_annotation(o, PARENT_KEY);
    for (size_t i = 0; *parent && i < SL_LEN(set_kinds); i++)
        if (m->reads[set_kinds[i]->fw] && strcmp(set_kinds[i]->parent, parent) == 0)
            return set_kinds[i];
    return NULL;
}

bool mgr_serving_pod_wanted(const struct sl_manager *m, yyjson_val *o) {
    return parent_of(m, o) != NULL;
}

static void leave(struct sl_manager *m, struct mgr_rec_pod *p) {
    struct mgr_serving_pod *sp = TAKE_PTR(p->serving);
    if (!sp)
        return;
    (void)sl_map_del(&m->serving->pods, set_key(sp->kind, p->rec.ns, sp->set), p->rec.id);
    struct sl_rec *set = sl_inf_find(m->inf, (enum mgr_rec_kind)sp->kind, mgr_str(m, p->rec.ns),
                                     mgr_str(m, sp->set));
    struct mgr_rec_wl *w =
        sp->entry ? mgr_wl_find(m, mgr_str(m, p->rec.ns), mgr_str(m, sp->entry)) : NULL;
    if (set)
        sl_rec_enqueue(set);
    if (w)
        sl_rec_enqueue(&w->rec); /* it may be waiting for the last of its pods */
    sl_freep(&sp);
}

static const char *entry_of(yyjson_val *o) {
    const char *group = sl_json_annotation(o, GROUP_KEY);
    return *group ? group : sl_json_label(o, GROUP_KEY);
}

static int32_t total_of(yyjson_val *o) {
    const char *s = sl_json_annotation(o, TOTAL_KEY);
    size_t digits = strspn(s, "0123456789");
    int32_t v = 0;
    if (!digits || s[digits] || digits > 9)
        return -1;
    for (; *s; s++)
        v = v * 10 + (*s - '0');
    return v;
}

static uint64_t digest(const struct mgr_rec_pod *p, const struct mgr_serving_pod *sp) {
    const uint64_t v[] = {
        sp->entry,      sp->queue,           sp->owner,    (uint64_t)sp->slot,
        sp->worker,     (uint64_t)sp->total, has_ended(p), p->gates & POD_GATE_ADMISSION,
        p->rec.deleting};
    return sl_hash_bytes(1, v, sizeof v);
}

void mgr_serving_pod_take(struct sl_manager *m, struct mgr_rec_pod *p, yyjson_val *o) {
    const struct mgr_serving_kind *k = parent_of(m, o);
    struct mgr_serving_pod now = {
        .kind = k ? (uint8_t)k->kind : 0, .total = total_of(o), .slot = -1};

    if (!k || !k->read_pod(m, &now, o)) {
        leave(m, p);
        return;
    }
    if (p->serving && (p->serving->kind != now.kind || p->serving->set != now.set))
        leave(m, p);
    if (!p->serving) {
        p->serving = sl_alloc0(1, sizeof now);
        sl_map_add(&m->serving->pods, set_key(now.kind, p->rec.ns, now.set), p->rec.id);
    }
    now.entry = sl_sym_put(m->syms, entry_of(o));
    now.queue = sl_sym_put(m->syms, sl_json_label(o, Q "queue-name"));
    now.digest = digest(p, &now);
    bool changed = now.digest != p->serving->digest;
    *p->serving = now;
    struct sl_rec *set = changed ? set_of_pod(m, p) : NULL;
    if (set)
        sl_rec_enqueue(set);
}

void mgr_serving_pod_gone(struct sl_manager *m, struct mgr_rec_pod *p) {
    leave(m, p);
}

/* ---- entering ---- */

/* Waits in a group that is not its own: it cannot be entered anew. */
static bool is_misplaced(const struct sl_manager *m, const struct mgr_rec_pod *p,
                         const struct mgr_serving_part *part) {
    return p->serving->entry && (p->gates & POD_GATE_ADMISSION) &&
           strcmp(mgr_str(m, p->serving->entry), part->wl->rec.name) != 0;
}

static bool is_elsewhere(const struct sl_manager *m, const struct mgr_rec_pod *p,
                         const struct mgr_serving_part *part) {
    return p->serving->entry && strcmp(mgr_str(m, p->serving->entry), part->wl->rec.name) != 0;
}

bool mgr_serving_pod_due(const struct sl_manager *m, const struct mgr_rec_set *s,
                         const struct mgr_rec_pod *p, const struct mgr_serving_parts *parts) {
    const struct mgr_serving_pod *sp = p->serving;
    int32_t slot = mgr_serving_slot(s, sp);
    const struct mgr_serving_part *part = slot < 0 ? NULL : mgr_serving_covers(s, parts, slot);
    if (!part || p->rec.deleting)
        return false;
    if (!sp->entry || is_elsewhere(m, p, part))
        return !sp->entry || is_misplaced(m, p, part);
    return (s->queue && sp->queue != s->queue) || sp->total != kind_of(sp->kind)->total(s, part);
}

static void put_group(struct sl_jw *j, const char *name) {
    sl_jw_str(j, PREBUILT_KEY, name);
    sl_jw_str(j, GROUP_KEY, name);
}

static void put_entry(const struct sl_manager *m, const struct mgr_rec_set *s,
                      const struct mgr_rec_pod *p, const struct mgr_serving_part *part,
                      struct sl_jw *j) {
    const struct mgr_serving_kind *k = kind_of(p->serving->kind);
    const char *name = part->wl->rec.name;
    bool notes = m->settings->gates[SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS];
    bool fresh = !p->serving->entry;

    sl_jw_object(j, "labels");
    if (fresh)
        sl_jw_str(j, Q "managed", "true");
    if (s->queue)
        sl_jw_str(j, Q "queue-name", mgr_str(m, s->queue));
    if (fresh && s->priority_class)
        sl_jw_str(j, Q "priority-class", mgr_str(m, s->priority_class));
    if (fresh && !notes)
        put_group(j, name);
    sl_jw_end(j);
    sl_jw_object(j, "annotations");
    sl_jw_strf(j, TOTAL_KEY, "%d", k->total(s, part));
    if (fresh) {
        if (notes)
            put_group(j, name);
        sl_jw_str(j, Q "pod-group-serving", "true");
        k->put_entry(s, p->serving, j);
    }
    sl_jw_end(j);
}

bool mgr_serving_pod_build(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    struct sl_rec *r = p->serving && !p->rec.deleting ? set_of_pod(m, p) : NULL;
    struct mgr_rec_set *s = r ? mgr_set_of(r) : NULL;
    struct mgr_serving_parts parts;

    if (!s || r->deleting || !mgr_serving_managed(m, s))
        return false;
    mgr_serving_parts(m, s, &parts);
    bool due = mgr_serving_pod_due(m, s, p, &parts);
    const struct mgr_serving_part *part =
        mgr_serving_covers(s, &parts, mgr_serving_slot(s, p->serving));
    if (due && is_misplaced(m, p, part)) {
        sl_rec_build_delete(&p->rec, NULL, -1, w);
    } else if (due) {
        sl_rec_build_guarded(&p->rec, NULL, w);
        put_entry(m, s, p, part, &w->json);
    }
    sl_vec_free(&parts.v);
    return due;
}
