/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/manage.h"

#include <string.h>

#include "cluster/merge/typed.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

/* ---- what is not accounted for ---- */

static const char *const nothing[] = {NULL};
static const char *const status[] = {"status", NULL};
static const char *const custom_spec[] = {"metadata", "spec", NULL};
static const char *const spec[] = {"spec", NULL};
static const char *const pod_spec[] = {"spec", "metadata.deletionTimestamp",
                                       "metadata.ownerReferences", NULL};
static const char *const deployment_spec[] = {"spec", "metadata.labels", NULL};

static const char *const request[] = {"spec", "status", NULL};
static const char *const request_status[] = {"spec", "status.conditions", NULL};
static const char *const approval[] = {"spec", "status.certificate", NULL};

static const struct {
    const char *group, *kind;
    const char *const *main, *const *status;
} masks[] = {
    {"", "Pod", status, pod_spec},
    {"", "Node", status, spec},
    {"", "Namespace", status, spec},
    {"", "Service", status, spec},
    {"", "ReplicationController", status, spec},
    {"", "PersistentVolumeClaim", status, spec},
    {"", "PersistentVolume", status, spec},
    {"", "ResourceQuota", status, spec},
    {"apps", "Deployment", status, deployment_spec},
    {"apps", "ReplicaSet", status, spec},
    {"apps", "StatefulSet", status, spec},
    {"apps", "DaemonSet", status, spec},
    {"batch", "Job", status, spec},
    {"batch", "CronJob", status, spec},
    {"networking.k8s.io", "Ingress", status, spec},
    {"networking.k8s.io", "ServiceCIDR", status, custom_spec},
    {"storage.k8s.io", "VolumeAttachment", status, custom_spec},
    {"resource.k8s.io", "ResourceClaim", status, custom_spec},
    {"certificates.k8s.io", "CertificateSigningRequest", request, request_status},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", status, custom_spec},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", status, custom_spec},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", status, custom_spec},
    {"apiregistration.k8s.io", "APIService", status, custom_spec},
    {"policy", "PodDisruptionBudget", status, spec},
    {"autoscaling", "HorizontalPodAutoscaler", status, spec},
};

const char *const *sl_manage_mask(const char *group, const char *kind, const char *subresource,
                                  bool custom, bool has_status) {
    bool of_status = subresource && strcmp(subresource, "status") == 0;

    if (subresource && strcmp(subresource, "approval") == 0)
        return approval;
    if (custom)
        return of_status ? custom_spec : has_status ? status : nothing;
    for (size_t i = 0; i < SL_LEN(masks); i++) {
        if (strcmp(masks[i].group, group) == 0 && strcmp(masks[i].kind, kind) == 0)
            return of_status ? masks[i].status : masks[i].main;
    }
    return nothing;
}

static const char *const *mask_of(const struct sl_manage_id *by) {
    return by->mask ? by->mask : sl_manage_mask("", "", by->subresource, true, true);
}

void sl_manage_masked(const struct sl_manage_id *by, struct merge_fields **set) {
    for (const char *const *mask = mask_of(by); *mask; mask++)
        merge_fields_cut(set, *mask);
}

struct merge_fields *sl_manage_diff(struct sl_arena *a, const struct sl_schema *s,
                                    const struct sl_manage_id *by, yyjson_val *old,
                                    yyjson_mut_val *now) {
    struct merge_fields *diff = merge_typed_diff(a, s, old, now, mask_of(by));
    sl_manage_masked(by, &diff);
    return diff;
}

void sl_manage_strip(struct merge_fields **set) {
    static const char *const nobodys[] = {
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.selfLink",
        "metadata.uid",
        "metadata.clusterName",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.resourceVersion",
        "metadata",
    };
    for (size_t i = 0; i < SL_LEN(nobodys); i++)
        merge_fields_drop(set, nobodys[i]);
}

/* ---- the list in the object ---- */

const char *sl_manage_now(struct sl_arena *a, sl_time now) {
    char *text = sl_arena_alloc(a, SL_STAMP_TEXT);
    return sl_stamp(now, text);
}

yyjson_mut_val *sl_manage_meta(yyjson_mut_val *object) {
    yyjson_mut_val *meta = yyjson_mut_obj_get(object, "metadata");
    return yyjson_mut_is_obj(meta) ? meta : NULL;
}

void sl_manage_put(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_mut_val *list) {
    yyjson_mut_val *meta = sl_manage_meta(object);
    if (!meta)
        return;
    (void)yyjson_mut_obj_remove_key(meta, "managedFields");
    if (list)
        (void)yyjson_mut_obj_add_val(doc, meta, "managedFields", list);
}

static yyjson_val *old_list(yyjson_val *old) {
    return yyjson_obj_get(yyjson_obj_get(old, "metadata"), "managedFields");
}

/* [] and [{}] clear the list. */
static bool clears(yyjson_mut_val *list) {
    yyjson_mut_val *first = yyjson_mut_arr_get_first(list);
    return yyjson_mut_is_arr(list) &&
           (!first || (yyjson_mut_arr_size(list) == 1 && yyjson_mut_is_obj(first) &&
                       yyjson_mut_obj_size(first) == 0));
}

/* ---- updates ---- */

void sl_manage_account(struct merge_managers *m, const struct sl_manage_id *by,
                       struct merge_fields *diff) {
    if (diff) {
        for (uint32_t i = 0; i < m->n; i++)
            m->v[i].touched |= merge_fields_subtract(&m->v[i].fields, diff, SL_F_ALL);
    }
    struct merge_fields *mine = merge_fields_marked(m->a, diff, SL_F_NOW);
    sl_manage_strip(&mine);
    if (mine) {
        struct merge_manager *x = merge_managers_find(m, by, false);
        x = x ? x : merge_managers_add(m, by, false);
        x->fields = merge_fields_unite(mine, x->fields);
        x->time = sl_manage_now(m->a, by->now);
        x->touched = true;
    }
    merge_managers_sweep(m);
}

/* The managers so far: from the request, or from the stored object. */
static void managers_so_far(struct merge_managers *m, struct sl_arena *a,
                            const struct sl_manage_id *by, yyjson_mut_doc *doc, yyjson_val *list,
                            yyjson_mut_val *sent) {
    if (!by->subresource || !*by->subresource) {
        if (clears(sent)) {
            (void)merge_managers_read(a, NULL, m);
            return;
        }
        if (sent && merge_managers_read(a, sent, m) && m->n > 0)
            return;
    }
    (void)merge_managers_read(a, list ? yyjson_val_mut_copy(doc, list) : NULL, m);
}

/*
 * The API server tracks scale in the Scale object, which only has the managers of replicas: if
 * there are none, none is added. Its entries come back without a time, and those of an Update are
 * not recognised as the ones that went there: replicas are removed from them, also if unchanged.
 * And it does not store an empty set, so replicas have no manager then.
 */
static void account_scale(struct merge_managers *m, const struct sl_manage_id *by,
                          const struct merge_fields *diff, yyjson_mut_val *object) {
    const char *path = by->replicas ? by->replicas : "spec.replicas";
    bool anybody = false;

    path += *path == '.';
    const struct merge_fields *changed = merge_fields_at(diff, path), *has;
    for (uint32_t i = 0, n = m->n; i < n; i++) {
        struct merge_manager *x = &m->v[i];
        has = merge_fields_at(x->fields, path);
        if (!has || !has->mark)
            continue;
        anybody = true;
        if (!changed && x->applied)
            continue;
        struct sl_manage_id same = {
            .name = x->name, .api_version = by->api_version, .subresource = x->subresource};
        merge_fields_drop(&x->fields, path);
        x->touched = true;
        if (!changed)
            merge_managers_add(m, &same, false)->fields = merge_fields_path(m->a, path);
    }
    for (const char *at = path; *at; at += strcspn(at, "."), at += *at == '.')
        object = yyjson_mut_obj_getn(object, at, strcspn(at, "."));
    if (anybody && changed && yyjson_mut_get_num(object) != 0)
        merge_managers_add(m, by, false)->fields = merge_fields_path(m->a, path);
    merge_managers_sweep(m);
}

static void update(struct sl_arena *a, const struct sl_schema *s, const struct sl_manage_id *by,
                   yyjson_mut_doc *doc, yyjson_val *old, yyjson_mut_val *object,
                   yyjson_mut_val *sent) {
    yyjson_val *list = old_list(old);
    struct merge_fields *diff = sl_manage_diff(a, s, by, old ? old : merge_absent(), object);
    struct merge_managers m;
    bool scale = by->subresource && strcmp(by->subresource, "scale") == 0;

    if (!diff && !scale && list && sent && merge_typed_equal(a, list, sent)) {
        sl_manage_put(doc, object, sent); /* it does not concern any manager */
        return;
    }
    managers_so_far(&m, a, by, doc, list, sent);
    if (m.n == 0 && old)
        return;
    if (scale)
        account_scale(&m, by, diff, object);
    else
        sl_manage_account(&m, by, diff);
    merge_managers_cap(&m);
    merge_managers_limit(&m, NULL);
    sl_manage_put(doc, object, merge_managers_write(&m, doc));
}

void sl_manage_update(const struct sl_schema *s, const struct sl_manage_id *by, yyjson_mut_doc *doc,
                      yyjson_val *old, yyjson_mut_val *object) {
    yyjson_mut_val *meta = sl_manage_meta(object);
    struct sl_arena a;

    if (!meta)
        return;
    yyjson_mut_val *sent = yyjson_mut_obj_remove_key(meta, "managedFields");
    sl_arena_init(&a, SL_MANAGE_ARENA_BYTES);
    update(&a, s, by, doc, old, object, sent);
    sl_arena_done(&a);
}

/* ---- nothing new ---- */

/* Apart from their times. */
static bool same_managers(struct sl_arena *a, yyjson_val *old, yyjson_mut_val *now) {
    size_t i, max;
    yyjson_val *entry;
    yyjson_mut_val *mine = yyjson_mut_arr_get_first(now);

    if (!old && !now)
        return true;
    if (!yyjson_is_arr(old) || !yyjson_mut_is_arr(now) ||
        yyjson_arr_size(old) != yyjson_mut_arr_size(now))
        return false;
    yyjson_arr_foreach (old, i, max, entry) {
        yyjson_val *key;
        size_t fields = 0;
        for (yyjson_obj_iter it = yyjson_obj_iter_with(entry); (key = yyjson_obj_iter_next(&it));) {
            const char *name = sl_json_text(key);
            yyjson_mut_val *there = yyjson_mut_obj_get(mine, name);
            if (strcmp(name, "time") == 0)
                continue;
            fields++;
            if (!there || !merge_typed_equal(a, yyjson_obj_iter_get_val(key), there))
                return false;
        }
        if (yyjson_mut_obj_size(mine) - (yyjson_mut_obj_get(mine, "time") != NULL) != fields)
            return false;
        mine = mine->next;
    }
    return true;
}

bool sl_manage_settle(yyjson_mut_doc *doc, yyjson_val *old, yyjson_mut_val *object) {
    static const char *const aside[] = {"managedFields", "resourceVersion"};
    yyjson_val *old_meta = yyjson_obj_get(old, "metadata"), *list = old_list(old);
    yyjson_mut_val *meta = sl_manage_meta(object), *kept[SL_LEN(aside)];
    struct sl_arena a;

    if (!meta || !yyjson_is_obj(old_meta))
        return false;
    sl_arena_init(&a, SL_MANAGE_ARENA_BYTES);
    bool same = same_managers(&a, list, yyjson_mut_obj_get(meta, "managedFields"));
    if (same) {
        /* What is set aside becomes what it was, for the comparison at least. */
        for (size_t i = 0; i < SL_LEN(aside); i++) {
            yyjson_val *was = yyjson_obj_get(old_meta, aside[i]);
            kept[i] = yyjson_mut_obj_remove_key(meta, aside[i]);
            if (was)
                (void)yyjson_mut_obj_add_val(doc, meta, aside[i], yyjson_val_mut_copy(doc, was));
        }
        same = merge_typed_equal(&a, old, object);
        for (size_t i = 0; !same && i < SL_LEN(aside); i++) {
            (void)yyjson_mut_obj_remove_key(meta, aside[i]);
            if (kept[i])
                (void)yyjson_mut_obj_add_val(doc, meta, aside[i], kept[i]);
        }
    }
    sl_arena_done(&a);
    return same;
}
