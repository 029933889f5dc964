/*
 * Conversion between the versions of kueue.x-k8s.io. v1beta2 is the form that is stored; v1beta1
 * and v1alpha1 are for those who still speak them. What the target version has no field for is
 * lost, as with Kueue.
 */
#ifndef SL_API_CONVERT_H
#define SL_API_CONVERT_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/err.h"

/* What the conversion of one object may add to it: a compact topology can stand for a long list. */
#define SL_CONVERT_MAX_BYTES ((size_t)32 << 20)
#define SL_CONVERT_PATH "/convert"
/*
 * The largest conversion review that is read: the API server puts a page of a list into one, 500
 * objects as a rule. This is room for 500 Workloads of 64 KiB. In memory it becomes the text (read
 * and parsed: twice), 16 bytes for each value, and the answer.
 */
#define SL_CONVERT_BODY_BYTES ((size_t)32 << 20)
#define SL_CONVERT_VALUES ((size_t)4 << 20)
/* The largest answer: what came in and what was added, or an error. */
#define SL_CONVERT_ANSWER_BYTES (SL_CONVERT_BODY_BYTES + SL_CONVERT_MAX_BYTES)

struct sl_convert {
    yyjson_mut_doc *doc; /* where the results live */
    size_t room_bytes;   /* what is left of SL_CONVERT_MAX_BYTES */
    struct sl_err *err;
};

/* Answers a ConversionReview (v1) with a whole review. 0, or an error if it is none: what cannot be
 * converted is told in the review. */
int sl_convert_review(yyjson_val *review, struct sl_buf *out, struct sl_err *err) _must_check_;

/* One object to "kueue.x-k8s.io/v1beta1" or the like. */
int sl_convert_object(struct sl_convert *cv, yyjson_val *object, const char *api_version,
                      yyjson_mut_val **ret) _must_check_;

/* ---- convert_topology.c ---- */
/* The topologyAssignment of a podset, in place: from domains one by one (v1beta1) to compact slices
 * (v1beta2), and back. */
int sl_convert_domains_to_slices(struct sl_convert *cv, yyjson_mut_val *assignment) _must_check_;
int sl_convert_slices_to_domains(struct sl_convert *cv, yyjson_mut_val *assignment) _must_check_;

#endif
