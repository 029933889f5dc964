/* SPDX-License-Identifier: Apache-2.0 */
/* PersistentVolumeClaims: stored and checked; there are no volumes for them. */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define CLASS_NOTE "volume.beta.kubernetes.io/storage-class"

/* The two kinds of sources that there were when dataSource was the only field for them. */
static bool is_old_source(yyjson_mut_val *source) {
    const char *group = sl_json_mut_str(source, "apiGroup"),
               *kind = sl_json_mut_str(source, "kind");

    return (!*group && strcmp(kind, "PersistentVolumeClaim") == 0) ||
           (strcmp(group, "snapshot.storage.k8s.io") == 0 && strcmp(kind, "VolumeSnapshot") == 0);
}

/* dataSource and dataSourceRef agree. */
static void claim_sources(struct api_change *c, yyjson_mut_val *spec) {
    yyjson_mut_val *source = sl_json_mut_get(spec, "dataSource"),
                   *ref = sl_json_mut_get(spec, "dataSourceRef");

    if (ref && *sl_json_mut_str(ref, "namespace") && !sl_json_at(c->old, "spec.dataSourceRef")) {
        sl_json_mut_set(c->doc, spec, "dataSourceRef", NULL); /* of another namespace: not yet */
        ref = NULL;
    }
    if (source && !ref && !is_old_source(source) && !sl_json_at(c->old, "spec.dataSource") &&
        !sl_json_at(c->old, "spec.dataSourceRef")) {
        sl_json_mut_set(c->doc, spec, "dataSource", NULL);
        source = NULL;
    }
    if (source && !ref)
        sl_json_mut_set(c->doc, spec, "dataSourceRef", yyjson_mut_val_mut_copy(c->doc, source));
    else if (ref && !source && !*sl_json_mut_str(ref, "namespace"))
        sl_json_mut_set(c->doc, spec, "dataSource", yyjson_mut_val_mut_copy(c->doc, ref));
}

/* What has no group is shown to have none. */
static void claim_defaults(struct api_change *c) {
    static const char *const sources[] = {"dataSource", "dataSourceRef"};

    for (size_t i = 0; i < SL_LEN(sources); i++) {
        yyjson_mut_val *v = sl_json_mut_get(sl_json_mut_get(c->object, "spec"), sources[i]);
        if (v && !yyjson_mut_obj_get(v, "apiGroup"))
            sl_json_mut_set(c->doc, v, "apiGroup", yyjson_mut_null(c->doc));
    }
}

static void claim_prepare(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec");

    if (api_change_is_create(c))
        sl_json_mut_set_str(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "phase",
                            "Pending");
    if (spec && api_change_is_object(c))
        claim_sources(c, spec);
}

static void source_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    const char *group = sl_json_str(source, "apiGroup"), *kind = sl_json_str(source, "kind");

    if (!*sl_json_str(source, "name"))
        sl_field_required(e, SL_PATH(at, "name"), "");
    if (!*kind)
        sl_field_required(e, SL_PATH(at, "kind"), "");
    if (!*group && strcmp(kind, "PersistentVolumeClaim") != 0)
        sl_field_invalid(e, at, sl_field_value_str(kind),
                         "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    api_word_check_at(e, at, source, "apiGroup", sl_syntax_subdomain, false);
}

static void modes_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    static const char *const modes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                        "ReadWriteOncePod"};
    bool alone = false, other = false;
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        size_t k = 0;
        while (k < SL_LEN(modes) && !yyjson_equals_str(v, modes[k]))
            k++;
        if (k == SL_LEN(modes))
            sl_field_unsupported(e, at, sl_field_value_str(sl_json_text(v)), modes, SL_LEN(modes));
        alone = alone || k == SL_LEN(modes) - 1;
        other = other || k < SL_LEN(modes) - 1;
    }
    if (alone && other)
        sl_field_forbidden(e, at, "may not use ReadWriteOncePod with other access modes");
}

void api_claim_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const volumes[] = {"Block", "Filesystem", NULL};
    const struct sl_path *storage_at = SL_PATH_KEY(SL_PATH(at, "resources"), "storage");
    yyjson_val *storage = sl_json_at(spec, "resources.requests.storage"),
               *source = sl_json_get(spec, "dataSource"), *ref = sl_json_get(spec, "dataSourceRef");
    sl_quantity q;

    if (sl_json_size(sl_json_get(spec, "accessModes")) == 0)
        sl_field_required(e, SL_PATH(at, "accessModes"), "at least 1 access mode is required");
    sl_syntax_check_selector(e, SL_PATH(at, "selector"), sl_json_get(spec, "selector"));
    modes_check(e, SL_PATH(at, "accessModes"), sl_json_get(spec, "accessModes"));
    if (!storage)
        sl_field_required(e, storage_at, "");
    else if (sl_json_quantity(storage, &q) && q <= 0)
        sl_field_invalid(e, storage_at, sl_field_value_str(sl_json_text(storage)),
                         "must be greater than zero");
    api_word_check_at(e, at, spec, "storageClassName", sl_syntax_subdomain, false);
    api_check_one_of(e, at, spec, "volumeMode", volumes, false);
    if (source)
        source_check(e, SL_PATH(at, "dataSource"), source);
    if (ref)
        source_check(e, SL_PATH(at, "dataSourceRef"), ref);
    if (source && ref && !sl_json_equal(source, ref, NULL))
        sl_field_invalid(e, at, sl_field_value_none(),
                         "{}: must match dataSourceRef"); /* the message of kube-apiserver */
    api_word_check_at(e, at, spec, "volumeAttributesClassName", sl_syntax_subdomain, false);
}

/* The class as an annotation, from before it was a field, stays; a field with the same value may
 * replace it. */
static bool class_from_note(struct api_change *c, yyjson_val *object) {
    const char *was = sl_json_annotation_opt(c->old, CLASS_NOTE),
               *is = sl_json_annotation_opt(object, CLASS_NOTE);
    bool same = was && !sl_json_at(c->old, "spec.storageClassName") &&
                strcmp(sl_json_str(object, "spec.storageClassName"), was) == 0 &&
                (!is || strcmp(is, was) == 0);

    if (!same && strcmp(was ? was : "", is ? is : "") != 0)
        sl_field_invalid(c->errs,
                         SL_PATH(SL_PATH(SL_PATH(NULL, "metadata"), "annotations"), CLASS_NOTE),
                         sl_field_value_str(is ? is : ""), SL_FIELD_IMMUTABLE);
    return same || !was || strcmp(sl_json_str(object, "spec.storageClassName"), was) == 0;
}

/* Only the names of the volume and of its class, once; of a bound one also the request. */
static void claim_update(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(object, "spec"), *old = sl_json_get(c->old, "spec");
    bool is_bound = strcmp(sl_json_str(object, "status.phase"), "Bound") == 0;
    const char *skip[5];
    size_t n = 0;
    sl_quantity now, was, capacity = 0;

    if (!*sl_json_str(old, "volumeName"))
        skip[n++] = "volumeName";
    if (class_from_note(c, object) && !sl_json_get(old, "storageClassName") &&
        sl_json_get(spec, "storageClassName"))
        skip[n++] = "storageClassName";
    if (is_bound)
        skip[n++] = "resources";
    if (is_bound)
        skip[n++] = "volumeAttributesClassName";
    skip[n] = NULL;
    bool chooses = sl_json_get(spec, "selector") != NULL;
    bool chose = sl_json_get(old, "selector") != NULL;
    if (chooses != chose || !sl_json_same_but(spec, old, skip)) /* an empty selector is one */
        sl_field_forbidden(c->errs, at,
                           "spec is immutable after creation except resources.requests and "
                           "volumeAttributesClassName for "
                           "bound claims");
    (void)sl_json_quantity(sl_json_at(c->old, "status.capacity.storage"), &capacity);
    if (!sl_json_quantity(sl_json_at(spec, "resources.requests.storage"), &now))
        now = 0;
    if (sl_json_quantity(sl_json_at(old, "resources.requests.storage"), &was) && now < was &&
        now <= capacity)
        sl_field_forbidden(c->errs,
                           SL_PATH(SL_PATH(SL_PATH(at, "resources"), "requests"), "storage"),
                           "field can not be less than status.capacity");
    sl_field_immutable(c->errs, SL_PATH(NULL, "volumeMode"), sl_json_get(spec, "volumeMode"),
                       sl_json_get(old, "volumeMode"));
}

static void claim_warn(struct api_change *c, yyjson_val *object) {
    static const char *const lists[] = {"requests", "limits"};
    sl_quantity q;

    if (sl_json_annotation_opt(object, CLASS_NOTE))
        api_change_warn(c, "metadata.annotations[" CLASS_NOTE "]: deprecated since v1.8; use "
                           "\"storageClassName\" attribute instead");
    for (size_t i = 0; i < SL_LEN(lists); i++) {
        yyjson_val *v =
            sl_json_get(sl_json_get(sl_json_at(object, "spec.resources"), lists[i]), "storage");
        if (sl_json_quantity(v, &q) && q % SL_NANO != 0)
            api_change_warn(c,
                            "spec.resources.%s[storage]: fractional byte value \"%s\" is invalid, "
                            "must be an integer",
                            lists[i], sl_json_text(v));
    }
}

static void claim_validate(struct api_change *c, yyjson_val *object) {
    if (!api_change_is_object(c))
        return;
    api_claim_spec_check(c->errs, SL_PATH(NULL, "spec"), sl_json_get(object, "spec"));
    if (c->old)
        claim_update(c, object);
    if (!c->errs->n)
        claim_warn(c, object);
}
const struct api_strategy api_claim_strategy = {.prepare = claim_prepare,
                                                .defaults = claim_defaults,
                                                .validate = claim_validate,
                                                .no_generation = true,
                                                .returns_deleted = true,
                                                .meta = SL_META_BOTH};
