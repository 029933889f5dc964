/*
 * Patches, and who manages which fields: pure functions from objects to objects.
 */
#ifndef SL_MERGE_MERGE_H
#define SL_MERGE_MERGE_H

#include "base/buf.h"
#include "base/time.h"
#include "schema/schema.h"

/* What went wrong with a patch, as the API server tells it. */
struct sl_patch_err {
    int status;         /* 400, 409, 415, 422 */
    const char *reason; /* "BadRequest", "Conflict", "Invalid" ... */
    struct sl_buf text; /* of the Status; initialised by the caller */
    /* Of an apply conflict: an array of causes for details, in 'doc'; NULL. */
    yyjson_mut_val *causes;
};

/* RFC 6902; at most 10,000 operations. The new object is made in doc. */
int sl_patch_json(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                  struct sl_patch_err *err) _must_check_;
/* RFC 7386. */
int sl_patch_merge(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                   struct sl_patch_err *err) _must_check_;
/* Strategic merge patches, directives included ($patch, $retainKeys, $setElementOrder/x,
 * $deleteFromPrimitiveList/x). */
int sl_patch_strategic(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_val *object,
                       yyjson_val *patch, yyjson_mut_val **ret, struct sl_patch_err *err) _must_check_;

/* ---- field management (metadata.managedFields) ---- */

struct sl_manager_id {
    const char *name;        /* fieldManager, or what the user agent says up to the slash */
    const char *api_version; /* the version that was written in */
    const char *subresource; /* "" or "status", "scale" */
    sl_time now;
};

#define SL_MANAGER_NAME_MAX 128u
#define SL_MANAGERS_MAX 10u /* who updates: the oldest become one, "ancient-changes" */

/*
 * After an update or patch: what differs between old (NULL: created) and new belongs to the manager
 * now, by "Update". 'object' is what will be stored, and gets its managedFields from those of 'old'; those
 * that the request itself said count only if they are [] or [{}], which clears them. Fields below
 * status are left out of the account if the subresource is "", and all others if it is "status", by 'mask'.
 */
void sl_manage_update(const struct sl_schema *s, const struct sl_manager_id *by, yyjson_mut_doc *doc,
                      yyjson_val *old, yyjson_mut_val *object);
/*
 * Server-side apply: 'applied' is what the manager wants, 'old' what there is (NULL: it is created).
 * Makes the merged object in doc, without what the manager applied before and does not want any
 * more and nobody else has. 409 with causes if others have what it wants to change, unless forced.
 */
int sl_manage_apply(const struct sl_schema *s, const struct sl_manager_id *by, bool force,
                    yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *applied, yyjson_mut_val **ret,
                    struct sl_patch_err *err) _must_check_;

#endif
