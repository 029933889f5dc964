/* SPDX-License-Identifier: Apache-2.0 */
/* Sets: from the object to the record, their Workloads, and what is written for them. */
#include "manager/controllers/serving/serving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/job/draft.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/workload/follow.h"
#include "manager/controllers/workload/workload_int.h"

#define Q "kueue.x-k8s.io/"
#define PAUSE SL_SEC /* before a Workload's name that is taken is tried again */
#define MAX_NAME 512u
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */

static const struct mgr_serving_kind *kind_of(const struct mgr_rec_set *s) {
    return s->rec.kind == REC_STATEFULSET ? &mgr_serving_statefulset : &mgr_serving_lws;
}

/* ---- taking in ---- */

static void set_text(char **to, const char *s) {
    sl_freep(to);
    *to = *s ? sl_strdup(s) : NULL;
}

static void take_owner(struct sl_manager *m, struct mgr_rec_set *s, yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref, *found = NULL;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "controller", false))
            found = ref;
    set_text(&s->owner_name, sl_json_str(found, "name"));
    set_text(&s->owner_uid, sl_json_str(found, "uid"));
    s->owner_api = sl_sym_put(m->syms, sl_json_str(found, "apiVersion"));
    s->owner_kind = sl_sym_put(m->syms, sl_json_str(found, "kind"));
}

/* What its Workloads take over from a LeaderWorkerSet; from a StatefulSet they take nothing. */
static void take_copied(const struct sl_manager *m, struct mgr_rec_set *s, yyjson_val *o) {
    if (s->rec.kind != REC_LWS)
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    mgr_draft_put_chosen(sl_json_at(o, "metadata.labels"), &m->settings->label_keys_to_copy, &j);
    sl_jw_end(&j);
    set_text(&s->labels, sl_buf_str(&b));
    sl_buf_clear(&b);
    sl_jw_object(&j, NULL);
    mgr_draft_put_annotations(m, sl_json_at(o, "metadata.annotations"), &j);
    sl_jw_end(&j);
    set_text(&s->annotations, sl_buf_str(&b));
}

bool mgr_serving_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_set *s = mgr_set_of(r);
    uint64_t before = s->digest;

    if (!s->known)
        sl_map_add(&m->by_uid, sl_hash_str(0, r->uid), r->id);
    s->known = true;
    s->queue = sl_sym_put(m->syms, sl_json_label(o, Q "queue-name"));
    s->priority_class = sl_sym_put(m->syms, sl_json_label(o, Q "priority-class"));
    s->remote = yyjson_obj_get(sl_json_at(o, "metadata.labels"), Q "multikueue-origin") != NULL;
    set_text(&s->gate, sl_json_annotation(o, Q "admission-gated-by"));
    set_text(&s->origin, s->remote ? sl_json_annotation(o, Q "multikueue-origin-uid") : "");
    take_owner(m, s, o);
    bool ours = s->queue || m->settings->manage_without_queue;
    kind_of(s)->read(m, s, o, ours);
    if (ours)
        take_copied(m, s, o);
    static const char *const parts[] = {"spec", "metadata.labels", "metadata.annotations",
                                        "metadata.ownerReferences"};
    s->digest = 1;
    for (size_t i = 0; i < SL_LEN(parts); i++) /* where it stands counts, also if it is absent */
        s->digest = sl_json_hash(sl_hash_u64(s->digest, i), sl_json_at(o, parts[i]));
    s->digest = sl_hash_u64(s->digest, (uint64_t)s->replicas);
    return s->digest != before;
}

void mgr_serving_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    uint32_t cursor = 0;
    (void)sl_map_del(&m->by_uid, sl_hash_str(0, r->uid), r->id);
    for (struct mgr_rec_wl *w; (w = mgr_wl_for_job(m, r->uid, &cursor));) {
        w->owner_gone = true;
        sl_rec_enqueue(&w->rec);
    }
}

void mgr_serving_done(struct sl_rec *r) {
    struct mgr_rec_set *s = mgr_set_of(r);
    char **texts[] = {&s->owner_name, &s->owner_uid, &s->gate,        &s->origin, &s->pod_class,
                      &s->podsets,    &s->labels,    &s->annotations, &s->note};
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
}

bool mgr_serving_managed(const struct sl_manager *m, const struct mgr_rec_set *s) {
    const struct sl_review_owner_ref owner = {mgr_str(m, s->owner_api), mgr_str(m, s->owner_kind),
                                              s->owner_name ? s->owner_name : "",
                                              s->owner_uid ? s->owner_uid : ""};
    return m->spec.parts.framework[kind_of(s)->fw] && s->podsets && !s->foreign &&
           (s->queue || m->settings->manage_without_queue) && mgr_ns_managed(m, s->rec.ns) &&
           !(s->owner_uid && mgr_job_owner_managed(m, mgr_str(m, s->rec.ns), &owner));
}

/* ---- its Workloads ---- */

static int by_first(const void *a, const void *b) {
    const struct mgr_serving_part *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1)
                                : strcmp(x->wl->rec.name, y->wl->rec.name);
}

static void add_part(const struct sl_manager *m, const struct mgr_rec_set *s,
                     struct mgr_serving_parts *parts, struct mgr_rec_wl *w) {
    int32_t first = w->component > 0 ? w->component : 0, count = kind_of(s)->slots(m, w);
    if (first > SERVING_MAX_SLOTS || parts->v.n > SERVING_MAX_SLOTS)
        return;
    if (count > 2 * SERVING_MAX_SLOTS)
        count = 2 * SERVING_MAX_SLOTS;
    *sl_vec_push(&parts->v) = (struct mgr_serving_part){.wl = w,
                                                        .first = first,
                                                        .end = first + count,
                                                        .top = first,
                                                        .unlike = kind_of(s)->unlike(m, s, w)};
}

/* The last part that begins at the slot or before it; NULL: none. */
static struct mgr_serving_part *part_at(const struct mgr_serving_parts *parts, int32_t slot) {
    uint32_t lo = 0, hi = parts->v.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (parts->v.v[mid].first <= slot)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &parts->v.v[lo - 1] : NULL;
}

/* Where a pod counts: in the part that it was entered into or, before that, in that of its slot. */
static struct mgr_serving_part *part_of(const struct sl_manager *m,
                                        const struct mgr_serving_parts *parts,
                                        const struct mgr_serving_pod *p, int32_t slot) {
    const char *name = mgr_str(m, p->entry);
    struct mgr_serving_part *at = part_at(parts, slot);
    if (!p->entry || (at && strcmp(at->wl->rec.name, name) == 0))
        return at;
    for (uint32_t i = 0; i < parts->v.n; i++)
        if (strcmp(parts->v.v[i].wl->rec.name, name) == 0)
            return &parts->v.v[i];
    return at;
}

static void count_pods(const struct sl_manager *m, const struct mgr_rec_set *s,
                       const struct mgr_serving_parts *parts) {
    uint32_t cursor = 0;
    for (struct mgr_rec_pod *p; (p = mgr_serving_pods(m, s, &cursor));) {
        int32_t slot = mgr_serving_slot(s, p->serving);
        struct mgr_serving_part *part = part_of(m, parts, p->serving, slot);
        if (!part)
            continue;
        part->running |= !(p->gates & POD_GATE_ADMISSION);
        if (slot < part->first || slot >= part->end) /* wherever it is, nothing is taken from it */
            slot = part->end > part->first ? part->end - 1 : part->first;
        if (slot >= part->top)
            part->top = slot + 1;
    }
}

void mgr_serving_parts(const struct sl_manager *m, const struct mgr_rec_set *s,
                       struct mgr_serving_parts *ret) {
    const struct mgr_serving_kind *k = kind_of(s);
    uint32_t cursor = 0;

    *ret = (struct mgr_serving_parts){0};
    for (struct mgr_rec_wl *w; (w = mgr_wl_for_job(m, s->rec.uid, &cursor));)
        add_part(m, s, ret, w);
    struct mgr_rec_wl *stray = k->find_unowned ? k->find_unowned(m, s) : NULL;
    if (stray)
        add_part(m, s, ret, stray);
    if (ret->v.n > 1)
        qsort(ret->v.v, ret->v.n, sizeof *ret->v.v, by_first);
    for (uint32_t i = 0; i + 1 < ret->v.n; i++) /* no slot is in two */
        if (ret->v.v[i].end > ret->v.v[i + 1].first)
            ret->v.v[i].end = ret->v.v[i + 1].first;
    count_pods(m, s, ret);
}

/* May this Workload be shrinking at this moment? What was sent carries its version. */
static bool is_shrinking(const struct mgr_rec_set *s, const struct mgr_rec_wl *w) {
    return s->shrink.rv && s->shrink.obj == w->rec.id && s->shrink.rv == w->rec.rv;
}

const struct mgr_serving_part *mgr_serving_covers(const struct mgr_rec_set *s,
                                                  const struct mgr_serving_parts *parts,
                                                  int32_t slot) {
    const struct mgr_serving_part *part = part_at(parts, slot);
    if (!part || slot >= part->end || mgr_serving_is_going(part->wl) || part->unlike)
        return NULL;
    return is_shrinking(s, part->wl) && slot >= part->first + s->shrink.count ? NULL : part;
}

static struct mgr_serving_plan plan(const struct sl_manager *m, const struct mgr_rec_set *s,
                                    const struct mgr_serving_parts *parts) {
    struct mgr_serving_plan p = {.step = SERVING_REST};
    struct mgr_priority priority;

    for (uint32_t i = 0; i < parts->v.n; i++) {
        struct mgr_rec_wl *w = parts->v.v[i].wl;
        if (is_shrinking(s, w)) /* until it is known what became of it */
            return (struct mgr_serving_plan){SERVING_RESIZE, w, 0, s->shrink.count};
        if (!mgr_serving_is_going(w) && (!w->job_uid || strcmp(w->job_uid, s->rec.uid) != 0))
            return (struct mgr_serving_plan){SERVING_ADOPT, w, 0, 0};
    }
    if (s->replicas <= SERVING_MAX_SLOTS)
        p = kind_of(s)->plan(m, s, parts);
    if (p.step == SERVING_CREATE &&
        (s->remote || !mgr_priority_of(m, mgr_str(m, s->priority_class), s->pod_class, &priority)))
        p.step = SERVING_REST;
    return p;
}

/* ---- what follows the set ---- */

static void follow(struct sl_manager *m, const struct mgr_rec_set *s, struct mgr_rec_wl *w) {
    const char *controller = kind_of(s)->controller;
    mgr_follow_gate(m, &s->rec, controller, s->gate, w);
    mgr_follow_priority(m, &s->rec, controller, s->priority_class, s->pod_class, w);
    mgr_follow_queue(m, s->queue, w);
}

static bool is_on_hold(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "QuotaReserved");
    return c && c->status == COND_FALSE && strcmp(mgr_str(m, c->reason), "OnHold") == 0;
}

/* Nothing of it runs: what it holds is given back, and it does not wait for more. */
static void put_on_hold(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_cond *admitted = mgr_wl_cond(m, w, "Admitted");
    bool held = mgr_wl_condition_is_true(m, w, "QuotaReserved");

    if (is_on_hold(m, w) || mgr_wl_condition_will_be_true(m, w, "Finished") || !w->active ||
        mgr_wl_changing(w, WL_ADMISSION) || (held && mgr_wl_condition_is_true(m, w, "Evicted")))
        return;
    mgr_wl_set_cond(m, w, "QuotaReserved", false, "OnHold",
                    "StatefulSet scaled to zero; workload on hold");
    if (!held)
        return;
    if (admitted && admitted->status == COND_TRUE) {
        mgr_wl_add_past(w, (m->spec.client->wall - admitted->at) / SL_SEC);
        mgr_wl_set_cond(m, w, "Admitted", false, "NoReservation",
                        "The workload has no reservation");
    }
    mgr_wl_clear_admission(m, w);
}

static void take_off_hold(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (is_on_hold(m, w) && !mgr_wl_changing(w, WL_ADMISSION))
        mgr_wl_set_cond(m, w, "QuotaReserved", false,
                        m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY]
                            ? "PendingEvaluation"
                            : "Pending",
                        "Workload no longer on hold; waiting for quota reservation");
}

/* The first one of a StatefulSet stays for as long as the set does. */
static void settle(struct sl_manager *m, const struct mgr_rec_set *s,
                   const struct mgr_serving_part *part, bool resizing) {
    bool stays = s->rec.kind == REC_STATEFULSET && part->first == 0;
    bool beyond = part->first >= s->replicas && !stays, empty = part->top == part->first;
    struct mgr_rec_wl *w = part->wl;

    if (w->rec.deleting) {
        if (!mgr_group_find(m, w->rec.ns, w->rec.name))
            mgr_wl_set_pending(w, WL_UNFINALIZE);
    } else if ((beyond && empty) || (part->unlike && !part->running)) {
        mgr_wl_set_pending(w, WL_UNFINALIZE | WL_DELETE);
    } else {
        follow(m, s, w);
        if (empty && mgr_wl_condition_is_true(m, w, "Evicted") &&
            mgr_wl_condition_is_true(m, w, "QuotaReserved"))
            mgr_wl_stopped(m, w); /* there is no pod that could report it */
        if (stays && s->replicas == 0 && empty)
            put_on_hold(m, w);
        else if (stays && s->replicas > 0 && !resizing)
            take_off_hold(m, w);
    }
}

/* ---- the pass ---- */

static void report_crowded(struct mgr_rec_set *s) {
    bool crowded = s->replicas > SERVING_MAX_SLOTS;
    if (crowded && !s->over_limit)
        sl_rec_event(
            &s->rec, kind_of(s)->controller, true, "TooManyReplicas",
            "%d replicas are more than the %d that a set may have; nothing is done about it until "
            "it is smaller",
            s->replicas, SERVING_MAX_SLOTS);
    s->over_limit = crowded;
}

void mgr_serving_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_set *s = mgr_set_of(r);
    struct mgr_serving_parts parts;
    uint32_t cursor = 0;

    if (!m->spec.parts.framework[kind_of(s)->fw])
        return;
    mgr_serving_parts(m, s, &parts);
    bool ours = mgr_serving_managed(m, s) && !r->deleting;
    struct mgr_serving_plan p = {.step = SERVING_REST};
    if (ours)
        p = plan(m, s, &parts);
    for (uint32_t i = 0; i < parts.v.n; i++) {
        const struct mgr_serving_part *part = &parts.v.v[i];
        if (ours || part->wl->rec.deleting)
            settle(m, s, part, p.step == SERVING_RESIZE && p.wl == part->wl);
    }
    if (ours) {
        report_crowded(s);
        if (p.step != SERVING_REST)
            sl_rec_write(r);
        for (struct mgr_rec_pod *pod; (pod = mgr_serving_pods(m, s, &cursor));)
            if (mgr_serving_pod_due(m, s, pod, &parts))
                sl_rec_write(&pod->rec);
    }
    sl_vec_free(&parts.v);
}

void mgr_serving_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone) {
    struct sl_rec *r = w->job_uid ? mgr_rec_by_uid(m, w->job_uid) : NULL;
    if (r && (r->kind == REC_STATEFULSET || r->kind == REC_LWS))
        sl_rec_enqueue(r);
    if (r || gone || !w->serving || mgr_group_find(m, w->rec.ns, w->rec.name))
        return;
    /* No pod is in it any more. The set is gone if we have seen it go; otherwise it may only be
     * late, and the Workload is collected when it has gone. */
    if (w->owner_gone || w->rec.deleting)
        mgr_wl_set_pending(w, WL_UNFINALIZE | (w->rec.deleting ? 0 : WL_DELETE));
}

/* ---- bodies ---- */

static void put_owner(const struct mgr_rec_set *s, struct sl_jw *out) {
    const struct sl_rec_kind *k = s->rec.table->kind;
    sl_jw_array(out, "ownerReferences");
    sl_jw_object(out, NULL);
    sl_jw_str(out, "apiVersion", k->api_version);
    sl_jw_str(out, "kind", k->kind);
    sl_jw_str(out, "name", s->rec.name);
    sl_jw_str(out, "uid", s->rec.uid);
    sl_jw_end(out);
    sl_jw_end(out);
}

/* What a Workload records about its set. */
static void put_marks(const struct mgr_rec_set *s, struct sl_jw *out) {
    const struct sl_rec_kind *k = s->rec.table->kind;
    sl_jw_str(out, Q "is-group-workload", "true");
    sl_jw_strf(out, Q "job-owner-gvk", "%s, Kind=%s", k->api_version, k->kind);
    sl_jw_str(out, Q "job-owner-name", s->rec.name);
}

static void put_spec(const struct sl_manager *m, const struct mgr_rec_set *s, int32_t count,
                     struct sl_jw *out) {
    struct mgr_priority p;
    (void)mgr_priority_of(m, mgr_str(m, s->priority_class), s->pod_class, &p);
    sl_jw_object(out, "spec");
    sl_jw_array(out, "podSets");
    kind_of(s)->put_podsets(s, count, out);
    sl_jw_end(out);
    mgr_draft_put_terms(m, &p, s->queue, 0, false, out);
    sl_jw_end(out);
}

static void build_create(struct sl_manager *m, struct mgr_rec_set *s,
                         const struct mgr_serving_plan *p, struct sl_write *w) {
    struct sl_jw *out = &w->json;
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(MAX_NAME);
    kind_of(s)->put_name(m, s, p->first, &name);

    sl_inf_build_create(m->inf, REC_WORKLOAD, mgr_str(m, s->rec.ns), w);
    sl_jw_object(out, NULL);
    sl_jw_str(out, "apiVersion", mgr_kinds[REC_WORKLOAD].api_version);
    sl_jw_str(out, "kind", "Workload");
    sl_jw_object(out, "metadata");
    sl_jw_str(out, "name", sl_buf_str(&name));
    sl_jw_str(out, "namespace", mgr_str(m, s->rec.ns));
    sl_jw_object(out, "labels");
    sl_jw_str(out, Q "job-uid", s->rec.uid);
    if (s->labels)
        sl_jw_fields(out, s->labels);
    sl_jw_end(out);
    sl_jw_object(out, "annotations");
    put_marks(s, out);
    if (p->first > 0 || s->rec.kind == REC_LWS)
        sl_jw_strf(out, Q "component-workload-index", "%d", p->first);
    if (s->gate && m->settings->gates[SL_G_ADMISSION_GATED_BY])
        sl_jw_str(out, Q "admission-gated-by", s->gate);
    if (s->annotations)
        sl_jw_fields(out, s->annotations);
    sl_jw_end(out);
    sl_jw_array(out, "finalizers");
    sl_jw_str(out, NULL, Q "resource-in-use");
    sl_jw_end(out);
    put_owner(s, out);
    sl_jw_end(out);
    put_spec(m, s, p->count, out);
    sl_jw_end(out);

    mgr_set_event_note(&s->note, "Created Workload: %s/%s", mgr_str(m, s->rec.ns),
                       sl_buf_str(&name));
}

static void build_adopt(const struct mgr_rec_set *s, const struct mgr_rec_wl *wl,
                        struct sl_write *w) {
    sl_rec_build_guarded(&wl->rec, NULL, w);
    put_owner(s, &w->json);
    sl_jw_object(&w->json, "labels");
    sl_jw_str(&w->json, Q "job-uid", s->rec.uid);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "annotations");
    put_marks(s, &w->json);
}

static void build_resize(struct mgr_rec_set *s, const struct mgr_serving_plan *p,
                         struct sl_write *w) {
    const struct mgr_rec_wl *wl = p->wl;
    mgr_wl_build_count(wl, p->count, w);
    s->shrink.rv = 0;
    if (wl->n_podsets && p->count < wl->podsets[0].count) {
        s->shrink.obj = wl->rec.id;
        s->shrink.rv = wl->rec.rv;
        s->shrink.count = p->count;
    }
}

bool mgr_serving_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_set *s = mgr_set_of(r);
    struct mgr_serving_parts parts;

    if (m->spec.client->mono < s->pause) {
        sl_rec_write_at(r, s->pause);
        return false;
    }
    if (!mgr_serving_managed(m, s) || r->deleting)
        return false;
    mgr_serving_parts(m, s, &parts);
    struct mgr_serving_plan p = plan(m, s, &parts);
    sl_vec_free(&parts.v);
    s->step = (uint8_t)p.step;
    if (p.step == SERVING_CREATE)
        build_create(m, s, &p, w);
    else if (p.step == SERVING_ADOPT)
        build_adopt(s, p.wl, w);
    else if (p.step == SERVING_RESIZE)
        build_resize(s, &p, w);
    return p.step != SERVING_REST;
}

void mgr_serving_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                         const struct sl_kube_reply *reply) {
    struct sl_manager *m = ctx;
    struct mgr_rec_set *s = mgr_set_of(r);
    bool create = s->step == SERVING_CREATE;
    (void)w, (void)reply;
    if (how == SL_WRITTEN && create) {
        mgr_count_created(m, r);
        if (s->note)
            sl_rec_event(r, kind_of(s)->controller, false, "CreatedWorkload", "%s", s->note);
    } else if (how == SL_WRITE_CONFLICT && create) {
        s->pause = sl_time_add(m->spec.client->mono, PAUSE);
    }
    if (how != SL_WRITE_FAILED) /* that one may have arrived all the same */
        s->shrink.rv = 0;
    s->step = SERVING_REST;
    sl_freep(&s->note);
    sl_rec_enqueue(r);
}
