/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches, and who manages which fields: pure functions from objects to objects.
 *
 * What is made lies in the caller's mutable document. It may point into texts of the documents that
 * came in, which have to live as long.
 */
#ifndef SL_MERGE_MERGE_H
#define SL_MERGE_MERGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/time.h"
#include "merge/ceilings.h"
#include "schema/schema.h"

/* What went wrong with a patch, as the API server tells it. */
struct sl_patch_err {
    int status; /* 400, 409, 413, 422, 500 */
    const char
        *reason; /* "BadRequest", "Conflict", "Invalid" ...; "" has no reason in the Status */
    struct sl_buf text; /* of the Status; initialised by the caller */
    /* Said by the caller: nobody looks at a patch before it is applied (fieldValidation
     * "Ignore"), and what is wrong with it is told by others. A merge patch that is a list then
     * takes the place of the object. */
    bool unread;
    /* Of an apply conflict: an array of causes for details, in 'doc'; NULL. */
    yyjson_mut_val *causes;
};
/* For the arenas of merge/ceilings.h: fills err, returns the code. */
int sl_patch_too_large(struct sl_patch_err *err);

/* RFC 6902, as the API server understands it: a negative index counts from the end, "replace" and
 * "copy" do not mind that a key of an object is absent. The new object is made in doc. No operation
 * makes it deeper than SL_JSON_MAX_DEPTH, which object and patch are not when they come. */
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

/* A value as Go prints it with %v, which is how it stands in some messages: map[a:1 b:[x y]], keys
 * in order. */
void sl_go_text(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v);

/* ---- field management (metadata.managedFields) ---- */

struct sl_manager_id {
    const char *name; /* fieldManager, or what the user agent says up to the slash; "": unknown */
    const char *api_version; /* the version that was written in: "apps/v1" */
    const char *kind;        /* that an applied object has to have; NULL: any */
    const char *subresource; /* "" or "status", "scale" */
    /* What the subresource takes back anyway and nobody gets to own by it; a NULL-terminated list
     * of paths. NULL: sl_manage_mask of a custom resource. */
    const char *const *mask;
    /* Where "scale" writes to, as a CRD says it (".spec.replicas"); NULL: there. */
    const char *replicas;
    sl_time now;
};

/* No more fields than SL_MANAGED_MAX, items of sets and keyed lists and keys of maps included. An
 * object with more could not be stored, since each takes a dozen bytes at least with the name of
 * who manages it. */
bool sl_manage_fits(const struct sl_schema *s, yyjson_val *object);
#define SL_MANAGER_NAME_MAX 128u
#define SL_MANAGERS_MAX 10u /* who updates: the oldest become one, "ancient-changes" */

/* The mask of a kind; group "" is core. 'custom': it comes from a CRD, and 'has_status' says
 * whether with that subresource; of others it is not asked. */
const char *const *sl_manage_mask(const char *group, const char *kind, const char *subresource,
                                  bool custom, bool has_status);

/*
 * After a create, update or patch: what differs between old (NULL: created) and new belongs to the
 * manager now, by "Update". 'object' is what was decoded, pruned and defaulted; the API server does
 * this *before* admission and before a kind prepares the object, so what those change is nobody's.
 * The object gets its managedFields; those that the request says count if they can be read, and
 * [] or [{}] clears them; else, and with a subresource, those of old count. An object without
 * managers stays so until it is applied. Managers of other versions are held to the same paths.
 * Through "scale" the replicas are all that changes hands, and only if somebody has them already.
 */
void sl_manage_update(const struct sl_schema *s, const struct sl_manager_id *by,
                      yyjson_mut_doc *doc, yyjson_val *old, yyjson_mut_val *object);
/*
 * Server-side apply: 'applied' is what the manager wants, as it came, 'old' what there is (NULL: it
 * is created). Makes the merged object in doc, without what the manager applied before and does not
 * want any more and nobody else has; it is still to be pruned and defaulted. 409 with causes if
 * others have what it wants to change, unless forced. The manager "kubectl" takes over what
 * kubectl applied from the client's side, as last-applied-configuration tells.
 */
int sl_manage_apply(const struct sl_schema *s, const struct sl_manager_id *by, bool force,
                    yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *applied, yyjson_mut_val **ret,
                    struct sl_patch_err *err) _must_check_;
/*
 * Just before the object is stored: if it is the same as old but for times of managers, they get
 * their old times back. True: there is nothing to store. metadata.resourceVersion does not count.
 */
bool sl_manage_settle(yyjson_mut_doc *doc, yyjson_val *old, yyjson_mut_val *object);

#endif
