/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visibility API over HTTP: routing, the attributes for authorization, and the responses.
 * Stateless: `sluice serve` and `sluice up` listen, and authorize the client.
 */
#ifndef SL_MANAGER_VISIBILITY_API_H
#define SL_MANAGER_VISIBILITY_API_H

#include "lib/http/server.h"
#include "manager/controllers/core/manager.h"

#define VISIBILITY_GROUP "visibility.kueue.x-k8s.io"
#define VISIBILITY_NAME 254u

enum sl_visibility_what {
    VISIBILITY_NOTHING,
    VISIBILITY_GROUPS,    /* /apis: legacy form, or aggregated if the client accepts it */
    VISIBILITY_ONE_GROUP, /* /apis/GROUP */
    VISIBILITY_RESOURCES, /* /apis/GROUP/VERSION */
    VISIBILITY_OPENAPI_2,
    VISIBILITY_OPENAPI_3, /* which documents there are */
    VISIBILITY_OPENAPI_3_VERSION,
    VISIBILITY_QUEUES, /* of which only a subresource can be had */
    VISIBILITY_PENDING,
};

struct sl_visibility_target {
    enum sl_visibility_what what;
    const char *version;                              /* "v1beta2" */
    bool namespaced;                                  /* a LocalQueue's */
    char ns[VISIBILITY_NAME], queue[VISIBILITY_NAME]; /* of PENDING */
};

void sl_visibility_target(const char *path, struct sl_visibility_target *ret);
/* The action, as a SubjectAccessReview describes it. */
void sl_visibility_attributes(const struct sl_visibility_target *t, const char *path,
                              struct sl_buf *out);
/* Only for a request that is authorized. */
void sl_visibility_answer(const struct sl_manager *m, const struct sl_visibility_target *t,
                          const struct sl_http_request *rq, struct sl_http_answer *a);
void sl_visibility_forbid(const struct sl_visibility_target *t, const char *path,
                          struct sl_http_answer *a);
/* A Status; the reason follows from the code. */
void sl_visibility_status(struct sl_http_answer *a, int code, const char *fmt, ...) _printf_(3, 4);

/* ---- docs.c: discovery and OpenAPI documents ---- */
void sl_visibility_document(const struct sl_visibility_target *t, const char *accept,
                            struct sl_http_answer *a);
extern const char *const sl_visibility_versions[]; /* preferred first; ends with NULL */

#endif
