/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StatefulSets. A slot is an ordinal, counted from spec.ordinals.start. The StatefulSet controller
 * removes the last pods first, and with OrderedReady creates none before its predecessor is ready:
 * pods of a Workload that holds no quota wait in that order, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "manager/controllers/job/draft.h"
#include "manager/controllers/serving/serving.h"

#define Q "kueue.x-k8s.io/"
#define PARENT "statefulset"
#define INDEX_LABEL "apps.kubernetes.io/pod-index"
#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define MAX_NAME 512u

static int32_t read_count(yyjson_val *o, const char *path, int32_t fallback) {
    int64_t v = sl_json_int(o, path, fallback);
    return v < 0 ? 0 : v > INT32_MAX / 2 ? INT32_MAX / 2 : (int32_t)v;
}

static void read_set(struct sl_manager *m, struct mgr_rec_set *s, yyjson_val *o, bool ours) {
    yyjson_val *template = sl_json_at(o, "spec.template"),
               *notes = sl_json_at(template, "metadata.annotations");
    const char *parent = sl_json_opt(yyjson_obj_get(notes, Q "pod-suspending-parent"));
    const char *class = sl_json_str(template, "spec.priorityClassName");
    struct sl_buf b;

    s->replicas = read_count(o, "spec.replicas", 1);
    s->start = read_count(o, "spec.ordinals.start", 0);
    s->foreign = parent && strcmp(parent, PARENT) != 0;
    sl_freep(&s->podsets);
    sl_freep(&s->pod_class);
    if (!ours)
        return;
    sl_buf_init(&b, MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    mgr_draft_put_template(template, NULL, &j);
    mgr_draft_put_topology(m, notes, INDEX_LABEL, &j);
    sl_jw_end(&j);
    s->podsets = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    s->pod_class = *class ? sl_strdup(class) : NULL;
}

/* "web-3" is the fourth pod of "web". */
static bool read_pod(struct sl_manager *m, struct mgr_serving_pod *p, yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref, *owner = NULL;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "controller", false))
            owner = ref;
    const char *set = sl_json_str(owner, "name"), *name = sl_json_str(o, "metadata.name");
    size_t len = strlen(set);
    if (strcmp(sl_json_str(owner, "kind"), "StatefulSet") != 0 ||
        strcmp(sl_json_str(owner, "apiVersion"), "apps/v1") != 0 || strncmp(name, set, len) != 0 ||
        name[len] != '-')
        return false;
    const char *digits = name + len + 1;
    size_t n_digits = strspn(digits, "0123456789");
    if (!n_digits || digits[n_digits] || n_digits > 9)
        return false;
    p->set = sl_sym_put(m->syms, set);
    p->owner = sl_hash_str(0, sl_json_str(owner, "uid"));
    p->slot = (int32_t)strtol(digits, NULL, 10);
    return true;
}

/* It may have been given quota in the moment in which it became larger: then it is for as many as
 * it was granted. */
static int32_t slots(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = w->seen.admission;
    if (w->n_podsets != 1)
        return 1;
    int32_t count = w->podsets[0].count;
    return a && a->n == 1 && a->v[0].count < count &&
                   mgr_wl_condition_is_true(m, w, "QuotaReserved")
               ? a->v[0].count
               : count;
}

static bool unlike(const struct sl_manager *m, const struct mgr_rec_set *s,
                   const struct mgr_rec_wl *w) {
    (void)m, (void)s, (void)w;
    return false; /* its pods keep their shape, and its size is followed */
}

static void put_name(const struct sl_manager *m, const struct mgr_rec_set *s, int32_t first,
                     struct sl_buf *out) {
    char extra[16] = "";
    if (first > 0)
        sl_fmt(extra, sizeof extra, "%d", first);
    mgr_wl_name(out, "StatefulSet", "apps", s->rec.name, s->origin ? s->origin : s->rec.uid, extra,
                m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
}

/* A Workload without a reference to its set, by its name; Kueue once made names without the uid. */
static struct mgr_rec_wl *find_stray(const struct sl_manager *m, const struct mgr_rec_set *s) {
    struct mgr_rec_wl *found = NULL;
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(MAX_NAME);
    put_name(m, s, 0, &name);
    struct mgr_rec_wl *w = mgr_wl_find(m, mgr_str(m, s->rec.ns), sl_buf_str(&name));
    if (!w) {
        sl_buf_clear(&name);
        mgr_wl_name(&name, "StatefulSet", "apps", s->rec.name, "", "",
                    m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
        w = mgr_wl_find(m, mgr_str(m, s->rec.ns), sl_buf_str(&name));
    }
    if (w && !w->job_uid && !w->owner_uid)
        found = w;
    return found;
}

static struct mgr_serving_plan make(int32_t first, int32_t end) {
    return (struct mgr_serving_plan){.step = SERVING_CREATE, .first = first, .count = end - first};
}

/* The last one follows the size of the set, as far as it may. */
static struct mgr_serving_plan plan_last(const struct sl_manager *m, const struct mgr_rec_set *s,
                                         const struct mgr_serving_part *last) {
    struct mgr_serving_plan p = {.step = SERVING_RESIZE, .wl = last->wl};
    int32_t have = last->end - last->first, want = s->replicas - last->first;
    int32_t size = last->wl->n_podsets == 1 ? last->wl->podsets[0].count : 0;
    bool may_shrink = m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES];

    if (mgr_serving_is_going(last->wl) || mgr_wl_condition_will_be_true(m, last->wl, "Finished") ||
        !size || want <= 0)
        return (struct mgr_serving_plan){.step = SERVING_REST};
    if (mgr_wl_condition_is_true(m, last->wl, "QuotaReserved")) {
        if (want < last->top - last->first) /* their pods go first */
            want = last->top - last->first;
        p.count = want < have ? want : have;
        if (want > have && (have == size || !may_shrink))
            return make(last->end, s->replicas);
        if (!may_shrink)
            p.count = size;
    } else {
        p.count = want;
    }
    if (p.count == size)
        p.step = SERVING_REST;
    return p;
}

static struct mgr_serving_plan plan(const struct sl_manager *m, const struct mgr_rec_set *s,
                                    const struct mgr_serving_parts *parts) {
    int32_t next = 0; /* the first free slot */

    for (uint32_t i = 0; i < parts->v.n && next < s->replicas; i++) {
        int32_t first = parts->v.v[i].first;
        if (first > next)
            return make(next, first < s->replicas ? first : s->replicas);
        next = parts->v.v[i].end;
    }
    if (s->replicas == 0)
        return (struct mgr_serving_plan){.step = SERVING_REST};
    return parts->v.n ? plan_last(m, s, &sl_vec_last(&parts->v)) : make(0, s->replicas);
}

static void put_podsets(const struct mgr_rec_set *s, int32_t count, struct sl_jw *out) {
    sl_jw_object(out, NULL);
    sl_jw_str(out, "name", "main");
    sl_jw_int(out, "count", count);
    sl_jw_fields(out, s->podsets);
    sl_jw_end(out);
}

static int32_t total(const struct mgr_rec_set *s, const struct mgr_serving_part *part) {
    (void)s;
    return part->end - part->first;
}

static void put_entry(const struct mgr_rec_set *s, const struct mgr_serving_pod *p,
                      struct sl_jw *out) {
    (void)s, (void)p;
    sl_jw_str(out, Q "pod-group-fast-admission", "true");
    sl_jw_str(out, Q "pod-group-pod-index-label", INDEX_LABEL);
    sl_jw_str(out, Q "role-hash", "main");
}

const struct mgr_serving_kind mgr_serving_statefulset = {
    .kind = REC_STATEFULSET,
    .fw = SL_FW_STATEFULSET,
    .controller = PARENT "-kueue-controller",
    .parent = PARENT,
    .read = read_set,
    .read_pod = read_pod,
    .slots = slots,
    .unlike = unlike,
    .find_unowned = find_stray,
    .plan = plan,
    .put_podsets = put_podsets,
    .put_name = put_name,
    .put_entry = put_entry,
    .total = total,
};
