/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches and field management: pure functions from objects to objects.
 *
 * The result is in the caller's mutable document. It may point into strings of the input documents,
 * which must stay valid as long.
 */
#ifndef SL_CLUSTER_MERGE_MERGE_H
#define SL_CLUSTER_MERGE_MERGE_H

#include "cluster/merge/ceilings.h"
#include "cluster/schema/schema.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/time.h"

/* The error of a patch, as the API server reports it. */
struct sl_patch_err {
    int status; /* 400, 409, 413, 422, 500 */
    const char
        *reason; /* "BadRequest", "Conflict", "Invalid" ...; "" has no reason in the Status */
    struct sl_buf text; /* of the Status; initialised by the caller */
    /* Set by the caller: a patch is not validated before it is applied (fieldValidation
     * "Ignore"), and its errors are reported by others. A merge patch that is a list then
     * replaces the object. */
    bool unread;
    /* Of an apply conflict: an array of causes for details, in 'doc'; NULL. */
    yyjson_mut_val *causes;
};
/* For the arenas of cluster/merge/ceilings.h: fills err, returns the code. */
int sl_patch_too_large(struct sl_patch_err *err);

/* RFC 6902, with the semantics of the API server: a negative index counts from the end, "replace"
 * and "copy" accept that a key of an object is absent. The new object is made in doc. No operation
 * makes it deeper than SL_JSON_MAX_DEPTH, which the input does not exceed. */
int sl_patch_json(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                  struct sl_patch_err *err) _must_check_;
/* RFC 7386. */
int sl_patch_merge(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                   struct sl_patch_err *err) _must_check_;
/* Strategic merge patches, directives included ($patch, $retainKeys, $setElementOrder/x,
 * $deleteFromPrimitiveList/x). Kinds of CRDs do not have them (415 is the caller's). */
int sl_patch_strategic(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_val *object,
                       yyjson_val *patch, yyjson_mut_val **ret,
                       struct sl_patch_err *err) _must_check_;

/* A value as Go prints it with %v, as in some messages: map[a:1 b:[x y]], keys in order. */
void sl_go_text(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v);

/* ---- field management (metadata.managedFields) ---- */

struct sl_manage_id {
    const char *name;        /* fieldManager, or the user agent up to the slash; "": unknown */
    const char *api_version; /* the version that was written in: "apps/v1" */
    const char *kind;        /* that an applied object has to have; NULL: any */
    const char *subresource; /* "" or "status", "scale" */
    /* Fields that the subresource resets and that are not owned through it; a NULL-terminated list
     * of paths. NULL: sl_manage_mask of a custom resource. */
    const char *const *mask;
    /* The path behind "scale", of a CRD (".spec.replicas"); NULL: there. */
    const char *replicas;
    sl_time now;
};

/* No more fields than SL_MANAGED_MAX, items of sets and keyed lists and keys of maps included.
 * An object with more could not be stored, since each takes a dozen bytes at least in
 * managedFields. */
bool sl_manage_fits(const struct sl_schema *s, yyjson_val *object);
#define SL_MANAGER_NAME_MAX 128u
#define SL_MANAGERS_MAX 10u /* updating managers: the oldest are merged into "ancient-changes" */

/* The mask of a kind; group "" is core. 'custom': it is of a CRD, and 'has_status' whether with
 * that subresource; not used for others. */
const char *const *sl_manage_mask(const char *group, const char *kind, const char *subresource,
                                  bool custom, bool has_status);

/*
 * After a create, update or patch: the difference between old (NULL: created) and new is owned by
 * the manager now, by "Update". 'object' is decoded, pruned and defaulted; the API server does this
 * *before* admission and before a kind prepares the object, so their changes have no owner. The
 * object gets its managedFields; those of the request are used if they are valid, and [] or [{}]
 * clears them; else, and with a subresource, those of old are used. An object without managers
 * stays so until it is applied. Managers of other versions are restricted to the same paths.
 * Through "scale" only the replicas change their owner, and only if they have one already.
 */
void sl_manage_update(const struct sl_schema *s, const struct sl_manage_id *by, yyjson_mut_doc *doc,
                      yyjson_val *old, yyjson_mut_val *object);
/*
 * Server-side apply: 'applied' is the applied configuration as received, 'old' the present object
 * (NULL: it is created). Makes the merged object in doc, without fields that the manager applied
 * before, does not apply now and no other manager owns; it is still to be pruned and defaulted. 409
 * with causes if others own fields that it changes, unless forced. The manager "kubectl" takes over
 * the fields of client-side apply, from last-applied-configuration.
 */
int sl_manage_apply(const struct sl_schema *s, const struct sl_manage_id *by, bool force,
                    yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *applied, yyjson_mut_val **ret,
                    struct sl_patch_err *err) _must_check_;
/*
 * Just before the object is stored: if it is the same as old but for times of managers, they get
 * their old times back. True: there is nothing to store. metadata.resourceVersion does not count.
 */
bool sl_manage_settle(yyjson_mut_doc *doc, yyjson_val *old, yyjson_mut_val *object);

#endif
