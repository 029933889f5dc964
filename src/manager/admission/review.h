/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission and conversion: AdmissionReview and ConversionReview bodies in, responses out. Pure
 * except for the view: no I/O, no state. The same functions serve the webhook and the embedded API
 * server.
 */
#ifndef SL_MANAGER_ADMISSION_REVIEW_H
#define SL_MANAGER_ADMISSION_REVIEW_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "manager/admission/view.h"

/* The largest review body that is accepted: two objects of etcd's limit and some reserve. */
#define SL_REVIEW_MAX_BYTES ((size_t)8 << 20)
/* And the most JSON values in it, each of which takes up to 56 bytes while it is reviewed: more
 * than two objects of that size have, be they lists of small numbers. */
#define SL_REVIEW_MAX_VALUES ((size_t)2 << 20)
/* The memory of a review besides its body and its response: the text once more, its values, the
 * errors, and the patch. */
#define SL_REVIEW_ARENA_BYTES ((size_t)16 << 20)
#define SL_REVIEW_MEMORY                                                                           \
    (2 * SL_REVIEW_MAX_BYTES + 56 * SL_REVIEW_MAX_VALUES + SL_ARENA_MOST(SL_REVIEW_ARENA_BYTES))

/*
 * Handles the POST of 'body' to 'path' ("/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
 * "/validate-batch-v1-job", "/convert"). Returns the HTTP status: 200 with a review in out; or,
 * with one line of text in out, 400 for a malformed review, 404 for an unknown path, 503 if the
 * response does not fit in out, and 500 if it is larger than SL_CONVERT_ANSWER_BYTES. Never fails
 * otherwise.
 */
int sl_review(const struct sl_review_view *view, const char *path, const char *body, size_t len,
              struct sl_buf *out);
/* Does this path exist? For a GET, which is 405 then. Kinds of jobs that are not built in are those
 * of the view, which may be NULL. */
bool sl_review_path(const struct sl_review_view *view, const char *path);

#endif
