/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that an admission adds to the pods of a Job, and their removal: labels, annotations, node
 * selector, tolerations and scheduling gates of the template, as merge patches.
 *
 * A key that has another value already, in the template or from another admission check, is a
 * permanent error, which names it.
 */
#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/job/unique.h"
#include "manager/controllers/topology/topology.h"

#include <stdlib.h>
#include <string.h>

#define PODSET_LABEL "kueue.x-k8s.io/podset"
#define LOCAL_QUEUE_LABEL "kueue.x-k8s.io/local-queue-name"
#define CLUSTER_QUEUE_LABEL "kueue.x-k8s.io/cluster-queue-name"
#define UNCONSTRAINED "kueue.x-k8s.io/podset-unconstrained-topology"
#define TOPOLOGY_GATE "kueue.x-k8s.io/topology"
#define MAX_LABEL 63u

/* The five parts of a template: maps, in the order in which conflicts are looked for, then lists.
 */
static const struct {
    const char *name;
    bool list, in_spec;
} parts[JOB_PARTS] = {
    [JOB_ANNOTATIONS] = {"annotations", false, false},
    [JOB_LABELS] = {"labels", false, false},
    [JOB_SELECTOR] = {"nodeSelector", false, true},
    [JOB_TOLERATIONS] = {"tolerations", true, true},
    [JOB_GATES] = {"schedulingGates", true, true},
};

struct mgr_job_extras {
    yyjson_mut_doc *doc;
    yyjson_mut_val *part[JOB_PARTS]; /* after the fit, lists are whole: the template's with ours */
    bool grows[JOB_PARTS];           /* lists: ours has something that the template did not have */
    bool overwrites_marks;           /* an elastic Job's new slice */
};

static const char *text(yyjson_mut_val *v) {
    return sl_json_mut_text(v);
}

/* A copy of the parts of a template that can be compared with ours. */
static yyjson_mut_val *parse(yyjson_mut_doc *doc, const char *json) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(json, strlen(json), 0);
    yyjson_mut_val *v = d ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(d)) : NULL;
    return v;
}

/* ---- maps and lists ---- */

static void put_value(struct mgr_job_extras *x, enum mgr_job_part p, const char *key,
                      const char *value) {
    (void)yyjson_mut_obj_put(x->part[p], yyjson_mut_strcpy(x->doc, key),
                             yyjson_mut_strcpy(x->doc, value));
}

static int conflict(struct sl_err *err, enum mgr_job_part p, const char *key, const char *one,
                    const char *other) {
    return sl_err_set(err, SL_EINVAL,
                      "invalid admission check PodSetUpdate: conflict for %s: conflict for key=%s, "
                      "value1=%s, value2=%s",
                      parts[p].name, key, one, other);
}

/* Does a key of 'had' have another value in 'ours'? */
static int compare(yyjson_mut_val *had, yyjson_mut_val *ours, enum mgr_job_part p,
                   struct sl_err *err) {
    _cleanup_(sl_json_mut_fields_done) struct sl_json_mut_fields in = sl_json_mut_fields_of(ours);
    size_t i, n;
    yyjson_mut_val *k, *v;
    yyjson_mut_obj_foreach (had, i, n, k, v) {
        yyjson_mut_val *other = sl_json_mut_same_key(&in, k);
        if (other && strcmp(text(v), text(other)) != 0)
            return conflict(err, p, text(k), text(v), text(other));
    }
    return 0;
}

static void add_map(struct mgr_job_extras *x, enum mgr_job_part p, yyjson_mut_val *map) {
    sl_json_mut_fill(x->doc, x->part[p], map, true);
}

/* Tolerations as Kubernetes compares them (not by tolerationSeconds), gates by name. */
static const char *const identity[] = {"name", "key", "effect", "value", "operator"};

static const char *identity_of(yyjson_mut_val *item, size_t i) {
    const char *s = text(yyjson_mut_obj_get(item, identity[i]));
    return i == SL_LEN(identity) - 1 && !*s ? "Equal" : s;
}

static bool same_item(yyjson_mut_val *a, yyjson_mut_val *b) {
    for (size_t i = 0; i < SL_LEN(identity); i++)
        if (strcmp(identity_of(a, i), identity_of(b, i)) != 0)
            return false;
    return true;
}

static uint64_t item_hash(yyjson_mut_val *item) {
    uint64_t h = 0;
    for (size_t i = 0; i < SL_LEN(identity); i++)
        h = sl_hash_str(h, identity_of(item, i));
    return h;
}

/* Appends what is not there. Returns whether there was anything. */
static bool add_list(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_mut_val *from) {
    struct mgr_unique_items in = {.hash = item_hash, .same = same_item};
    size_t i, n;
    yyjson_mut_val *item;
    bool grew = false;
    if (!yyjson_mut_arr_size(from))
        return false;
    yyjson_mut_arr_foreach (to, i, n, item)
        (void)mgr_unique_item(&in, item);
    yyjson_mut_arr_foreach (from, i, n, item)
        if (mgr_unique_item(&in, item))
            grew = yyjson_mut_arr_append(to, yyjson_mut_val_mut_copy(doc, item)) || grew;
    mgr_unique_items_done(&in);
    return grew;
}

/* ---- additions of an admission ---- */

static int add_flavor(const struct sl_manager *m, struct mgr_job_extras *x, sl_sym flavor,
                      struct sl_err *err) {
    yyjson_doc *d = mgr_flavor_doc(m, flavor);
    if (!d)
        return sl_err_set(err, SL_ENOENT, "resourceflavors.kueue.x-k8s.io \"%s\" not found",
                          mgr_str(m, flavor));
    yyjson_mut_val *spec = yyjson_val_mut_copy(x->doc, sl_json_at(yyjson_doc_get_root(d), "spec"));
    yyjson_doc_free(d);
    add_map(x, JOB_SELECTOR, yyjson_mut_obj_get(spec, "nodeLabels"));
    (void)add_list(x->doc, x->part[JOB_TOLERATIONS], yyjson_mut_obj_get(spec, "tolerations"));
    return 0;
}

static int add_flavors(const struct sl_manager *m, struct mgr_job_extras *x,
                       const struct mgr_wl_podset_admission *a, struct sl_err *err) {
    struct mgr_unique_flavors f = {.of = a};
    int r = 0;
    for (sl_sym flavor; r >= 0 && (flavor = mgr_unique_flavor(&f));)
        r = add_flavor(m, x, flavor, err);
    mgr_unique_flavors_done(&f);
    return r;
}

/* A DNS label may stand as a label's value. */
static bool is_dns_label(const char *s) {
    size_t n = strlen(s);
    if (!n || n > MAX_LABEL || s[0] == '-' || s[n - 1] == '-')
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static void add_names(const struct sl_manager *m, struct mgr_job_extras *x,
                      const struct mgr_rec_wl *w, const struct mgr_wl_podset_admission *a) {
    const bool *gates = m->settings->gates;
    const char *cq = mgr_str(m, w->seen.admission->cq);
    bool elastic = w->elastic && gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES];

    put_value(x, JOB_LABELS, PODSET_LABEL, mgr_str(m, a->name));
    if (gates[SL_G_ASSIGN_QUEUE_LABELS_FOR_PODS]) {
        put_value(x, JOB_LABELS, LOCAL_QUEUE_LABEL, mgr_str(m, w->queue));
        if (is_dns_label(cq))
            put_value(x, JOB_LABELS, CLUSTER_QUEUE_LABEL, cq);
    }
    if (gates[SL_G_TOPOLOGY_AWARE_SCHEDULING])
        put_value(x, JOB_ANNOTATIONS, JOB_WORKLOAD_MARK, w->rec.name);
    if (elastic)
        put_value(x, JOB_ANNOTATIONS, JOB_SLICE_MARK, w->slice_name ? w->slice_name : w->rec.name);
    x->overwrites_marks = elastic;
}

/* Pods that get a place are held back until the ungater has given it to them. */
static void add_topology(const struct sl_manager *m, struct mgr_job_extras *x,
                         const struct mgr_wl_podset *p, const struct mgr_wl_podset_admission *a) {
    if (!a->topology || !m->settings->gates[SL_G_TOPOLOGY_AWARE_SCHEDULING])
        return;
    if (!p->topology && !mgr_exact_is(m, a)) /* else topologies count it as a pod of others */
        put_value(x, JOB_ANNOTATIONS, UNCONSTRAINED, "true");
    yyjson_mut_val *gate = yyjson_mut_arr_add_obj(x->doc, x->part[JOB_GATES]);
    (void)yyjson_mut_obj_add_str(x->doc, gate, "name", TOPOLOGY_GATE);
}

static int add_update(struct mgr_job_extras *x, yyjson_mut_val *update, struct sl_err *err) {
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        yyjson_mut_val *v = yyjson_mut_obj_get(update, parts[p].name);
        if (parts[p].list) {
            (void)add_list(x->doc, x->part[p], v);
            continue;
        }
        int r = compare(x->part[p], v, p, err);
        if (r < 0)
            return r;
        add_map(x, p, v);
    }
    return 0;
}

static int add_check(const struct sl_manager *m, struct mgr_job_extras *x,
                     const struct mgr_wl_check *check, sl_sym podset, struct sl_err *err) {
    if (!check->updates)
        return 0;
    size_t i, n;
    yyjson_mut_val *updates = parse(x->doc, check->updates), *u;
    yyjson_mut_arr_foreach (updates, i, n, u) {
        if (strcmp(text(yyjson_mut_obj_get(u, "name")), mgr_str(m, podset)) != 0)
            continue;
        int r = add_update(x, u, err);
        return r < 0 ? sl_err_wrap(err, r, "in admission check \"%s\"", mgr_str(m, check->name))
                     : 0;
    }
    return 0;
}

static int assigned(const struct sl_manager *m, const struct mgr_rec_wl *w, uint32_t podset,
                    const struct mgr_wl_podset_admission **ret, struct sl_err *err) {
    const struct mgr_wl_admission *a = w->seen.admission;
    if (!a || !a->n || podset >= w->n_podsets)
        return sl_err_set(err, SL_EINVAL, "invalid podset infos: expecting 0 podset, got 1");
    uint32_t i = 0;
    while (i < a->n && a->v[i].name != w->podsets[podset].name)
        i++;
    if (i == a->n && w->n_podsets == 1 && a->n == 1) /* whatever it is called */
        i = 0;
    if (i == a->n)
        return sl_err_set(err, SL_EINVAL,
                          "invalid podset infos: podSetInfo with the name '%s' is not found",
                          mgr_str(m, w->podsets[podset].name));
    *ret = &a->v[i];
    return 0;
}

int mgr_job_extras_new(const struct sl_manager *m, const struct mgr_rec_wl *w, uint32_t podset,
                       struct mgr_job_extras **ret, struct sl_err *err) {
    const struct mgr_wl_podset_admission *a = NULL;
    int r = assigned(m, w, podset, &a, err);
    if (r < 0)
        return r;
    struct mgr_job_extras *x = sl_alloc0(1, sizeof *x);
    x->doc = yyjson_mut_doc_new(NULL);
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++)
        x->part[p] = parts[p].list ? yyjson_mut_arr(x->doc) : yyjson_mut_obj(x->doc);
    add_topology(m, x, &w->podsets[podset], a);
    r = add_flavors(m, x, a, err);
    if (r >= 0)
        add_names(m, x, w, a);
    for (uint32_t i = 0; r >= 0 && i < w->seen.checks.n; i++)
        r = add_check(m, x, &w->seen.checks.v[i], a->name, err);
    if (r < 0)
        mgr_job_extras_free(x);
    else
        *ret = x;
    return r;
}

void mgr_job_extras_free(struct mgr_job_extras *x) {
    if (!x)
        return;
    yyjson_mut_doc_free(x->doc);
    sl_freep(&x);
}

/* ---- onto a template ---- */

static int fit_mark(const struct mgr_job_extras *x, const char *key, const char *had,
                    struct sl_err *err) {
    yyjson_mut_val *ours = yyjson_mut_obj_get(x->part[JOB_ANNOTATIONS], key);
    if (!had || !ours || x->overwrites_marks || strcmp(had, text(ours)) == 0)
        return 0;
    return conflict(err, JOB_ANNOTATIONS, key, had, text(ours));
}

int mgr_job_extras_fit(struct mgr_job_extras *x, const struct mgr_template *t,
                       const struct mgr_job_marks *marks, struct sl_err *err) {
    yyjson_mut_val *base = parse(x->doc, t->parts);
    int r = marks ? fit_mark(x, JOB_WORKLOAD_MARK, marks->wl, err) : 0;
    if (r >= 0 && marks)
        r = fit_mark(x, JOB_SLICE_MARK, marks->sl, err);
    for (enum mgr_job_part p = 0; r >= 0 && p < JOB_PARTS; p++) {
        yyjson_mut_val *had = yyjson_mut_obj_get(base, parts[p].name);
        if (!parts[p].list) {
            r = compare(had, x->part[p], p, err);
            continue;
        }
        yyjson_mut_val *ours = x->part[p];
        x->part[p] = had ? yyjson_mut_val_mut_copy(x->doc, had) : yyjson_mut_arr(x->doc);
        x->grows[p] = add_list(x->doc, x->part[p], ours);
    }
    return r;
}

uint64_t mgr_job_extras_tolerations(const struct mgr_job_extras *x) {
    char *s = yyjson_mut_val_write(x->part[JOB_TOLERATIONS], 0, NULL);
    _cleanup_(sl_json_docp) yyjson_doc *d = s ? yyjson_read(s, strlen(s), 0) : NULL;
    uint64_t h = mgr_template_tolerations_hash(yyjson_doc_get_root(d));
    free(s);
    return h;
}

/* ---- writing ---- */

/* "metadata" and "spec" of the parts that are not NULL; an empty value is null. */
static void put_template(yyjson_mut_val *const v[JOB_PARTS], struct sl_jw *out) {
    static const char *const room[] = {"metadata", "spec"};
    for (int in_spec = 0; in_spec <= 1; in_spec++) {
        bool open = false;
        for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
            if (!v[p] || parts[p].in_spec != in_spec)
                continue;
            if (!open)
                sl_jw_object(out, room[in_spec]);
            sl_jw_mut_val(out, parts[p].name, v[p]);
            open = true;
        }
        if (open)
            sl_jw_end(out);
    }
}

static bool has_part(const struct mgr_job_extras *x, enum mgr_job_part p) {
    return parts[p].list ? x->grows[p] : yyjson_mut_obj_size(x->part[p]) > 0;
}

void mgr_job_extras_put(const struct mgr_job_extras *x, struct sl_jw *out) {
    yyjson_mut_val *v[JOB_PARTS] = {0};
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++)
        if (has_part(x, p))
            v[p] = x->part[p];
    put_template(v, out);
}

bool mgr_job_extras_gated(const struct mgr_job_extras *x) {
    return yyjson_mut_arr_size(x->part[JOB_GATES]) > 0;
}

void mgr_job_extras_put_pod(const struct mgr_job_extras *x, bool in_spec, struct sl_jw *out) {
    for (enum mgr_job_part p = 0; p < JOB_GATES; p++)
        if (parts[p].in_spec == in_spec && has_part(x, p))
            sl_jw_mut_val(out, parts[p].name, x->part[p]);
}

static yyjson_mut_val *union_of(yyjson_mut_doc *doc, yyjson_mut_val *had, yyjson_mut_val *ours) {
    yyjson_mut_val *all = had ? yyjson_mut_val_mut_copy(doc, had) : yyjson_mut_obj(doc);
    sl_json_mut_fill(doc, all, ours, true);
    return all;
}

void mgr_job_extras_changes(const struct mgr_job_extras *x, const struct mgr_template *t,
                            struct mgr_job_change ret[JOB_PARTS]) {
    yyjson_mut_val *base = parse(x->doc, t->parts);
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        ret[p] = (struct mgr_job_change){0};
        if (!has_part(x, p))
            continue;
        ret[p].whole = x->part[p];
        if (parts[p].list)
            continue;
        ret[p].keys = x->part[p];
        ret[p].whole = union_of(x->doc, yyjson_mut_obj_get(base, parts[p].name), x->part[p]);
    }
}

void mgr_job_extras_alone(const struct mgr_job_extras *x, struct mgr_job_change ret[JOB_PARTS]) {
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        ret[p] = (struct mgr_job_change){0};
        if (sl_json_mut_size(x->part[p]))
            ret[p].whole = x->part[p];
    }
}

/* ---- back again ---- */

/* What turns one map into the other; NULL if nothing has to. */
static yyjson_mut_val *map_change(yyjson_mut_doc *doc, yyjson_mut_val *from, yyjson_mut_val *to) {
    _cleanup_(sl_json_mut_fields_done) struct sl_json_mut_fields in_from =
        sl_json_mut_fields_of(from);
    _cleanup_(sl_json_mut_fields_done) struct sl_json_mut_fields in_to = sl_json_mut_fields_of(to);
    yyjson_mut_val *diff = yyjson_mut_obj(doc), *k, *v;
    size_t i, n;
    yyjson_mut_obj_foreach (from, i, n, k, v)
        if (!sl_json_mut_same_key(&in_to, k))
            (void)yyjson_mut_obj_add_null(doc, diff, text(k));
    yyjson_mut_obj_foreach (to, i, n, k, v) {
        yyjson_mut_val *had = sl_json_mut_same_key(&in_from, k);
        if (!had || strcmp(text(had), text(v)) != 0)
            (void)yyjson_mut_obj_add_str(doc, diff, text(k), text(v));
    }
    return yyjson_mut_obj_size(diff) ? diff : NULL;
}

static yyjson_mut_val *list_change(yyjson_mut_doc *doc, yyjson_mut_val *from, yyjson_mut_val *to) {
    if (yyjson_mut_arr_size(to) == 0)
        return yyjson_mut_arr_size(from) ? yyjson_mut_null(doc) : NULL;
    return from && sl_json_mut_equal(from, to) ? NULL : to;
}

/* Our marks are in no template's parts, so they are put where their removal shows. */
static void take_marks(yyjson_mut_doc *doc, yyjson_mut_val *v[JOB_PARTS],
                       const struct mgr_job_marks *marks) {
    if (!marks || (!marks->wl && !marks->sl))
        return;
    if (!v[JOB_ANNOTATIONS])
        v[JOB_ANNOTATIONS] = yyjson_mut_obj(doc);
    if (marks->wl)
        (void)yyjson_mut_obj_add_null(doc, v[JOB_ANNOTATIONS], JOB_WORKLOAD_MARK);
    if (marks->sl)
        (void)yyjson_mut_obj_add_null(doc, v[JOB_ANNOTATIONS], JOB_SLICE_MARK);
}

void mgr_job_restore_put(const struct mgr_template *from, const struct mgr_job_marks *marks,
                         const struct mgr_template *to, struct sl_jw *out) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *a = parse(doc, from->parts), *b = parse(doc, to->parts), *v[JOB_PARTS] = {0};
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        yyjson_mut_val *x = yyjson_mut_obj_get(a, parts[p].name),
                       *y = yyjson_mut_obj_get(b, parts[p].name);
        v[p] = parts[p].list ? list_change(doc, x, y) : map_change(doc, x, y);
    }
    take_marks(doc, v, marks);
    put_template(v, out);
    yyjson_mut_doc_free(doc);
}

void mgr_job_restore_changes(yyjson_mut_doc *doc, const struct mgr_template *from,
                             const struct mgr_job_marks *marks, const struct mgr_template *to,
                             struct mgr_job_change ret[JOB_PARTS]) {
    yyjson_mut_val *a = parse(doc, from->parts), *b = parse(doc, to->parts), *v[JOB_PARTS] = {0};
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        yyjson_mut_val *x = yyjson_mut_obj_get(a, parts[p].name),
                       *y = yyjson_mut_obj_get(b, parts[p].name);
        v[p] = parts[p].list ? list_change(doc, x, y) : map_change(doc, x, y);
    }
    take_marks(doc, v, marks);
    for (enum mgr_job_part p = 0; p < JOB_PARTS; p++) {
        yyjson_mut_val *y = yyjson_mut_obj_get(b, parts[p].name);
        ret[p] = (struct mgr_job_change){0};
        if (!v[p])
            continue;
        if (!parts[p].list)
            ret[p].keys = v[p];
        if (sl_json_mut_size(y))
            ret[p].whole = y;
        else /* the labels that a controller gives to its pods are in no template's parts */
            ret[p].drop = p != JOB_LABELS;
    }
}
