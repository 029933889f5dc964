/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion between the versions of kueue.x-k8s.io. v1beta2 is the storage version; v1beta1 and
 * v1alpha1 are for older clients. What the target version has no field for is lost, as with Kueue.
 * And between those of MiniClusters (flux-framework.org), v1alpha2 and v1alpha1, without loss.
 */
#ifndef SL_MANAGER_ADMISSION_CONVERT_H
#define SL_MANAGER_ADMISSION_CONVERT_H

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* What the conversion of one object may add to it: a compact topology can represent a long list, of
 * some 80,000 domains here. */
#define SL_CONVERT_MAX_BYTES ((size_t)16 << 20)
#define SL_CONVERT_PATH "/convert"
/*
 * The largest conversion review that is accepted: the API server puts a page of a list into one,
 * usually 500 objects. This is enough for 500 Workloads of 64 KiB.
 */
#define SL_CONVERT_BODY_BYTES ((size_t)32 << 20)
#define SL_CONVERT_VALUES ((size_t)4 << 20)
/* The largest response: a page and what was added to it, or an error. */
#define SL_CONVERT_ANSWER_BYTES ((size_t)40 << 20)
/* One object of a review: its strings, and its values, keys included. An API server accepts 3 MiB,
 * and etcd half of that by default; small values have some 8 bytes each. */
#define SL_CONVERT_OBJECT_BYTES ((size_t)3 << 20)
#define SL_CONVERT_OBJECT_VALUES ((size_t)512 << 10)
/*
 * The memory of a review besides its body and its response: the text once more and 16 bytes for
 * each value; and of one object at a time a mutable copy, with 24 bytes for each value, what is
 * added to that, and its text, in which a byte may be written as six and a number has up to 25.
 */
#define SL_CONVERT_MEMORY                                                                          \
    (SL_CONVERT_BODY_BYTES + 16 * SL_CONVERT_VALUES + 24 * SL_CONVERT_OBJECT_VALUES +              \
     SL_CONVERT_OBJECT_BYTES + SL_CONVERT_MAX_BYTES + 6 * SL_CONVERT_OBJECT_BYTES +                \
     25 * SL_CONVERT_OBJECT_VALUES + SL_CONVERT_MAX_BYTES)

struct sl_convert {
    yyjson_mut_doc *doc; /* where the results live */
    size_t room_bytes;   /* what is left of SL_CONVERT_MAX_BYTES */
    struct sl_err *err;
};

/* Answers a ConversionReview (v1) with a whole review. 0, or an error if it is malformed:
 * conversion errors are reported in the review. */
int sl_convert_review(yyjson_val *review, struct sl_buf *out, struct sl_err *err) _must_check_;

/* One object to "kueue.x-k8s.io/v1beta1" or the like. */
int sl_convert_object(struct sl_convert *cv, yyjson_val *object, const char *api_version,
                      yyjson_mut_val **ret) _must_check_;

/* Are these objects converted here? */
bool sl_convert_knows(const char *group);

/* ---- convert_minicluster.c ---- */
#define SL_MINICLUSTER_GROUP "flux-framework.org"
/* In place, but for its apiVersion. */
int sl_convert_minicluster(struct sl_convert *cv, yyjson_mut_val *object,
                           const char *api_version) _must_check_;
/* Of a stored object (v1alpha2): was it made in v1alpha1, by whatever client? */
bool sl_minicluster_made_as_v1alpha1(yyjson_val *object);

/* ---- convert_topology.c ---- */
/* The topologyAssignment of a podset, in place: from domains one by one (v1beta1) to compact slices
 * (v1beta2), and back. */
int sl_convert_domains_to_slices(struct sl_convert *cv, yyjson_mut_val *assignment) _must_check_;
int sl_convert_slices_to_domains(struct sl_convert *cv, yyjson_mut_val *assignment) _must_check_;

#endif
