/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API client interface ("port"): the only way to the Kubernetes API. A request line is borrowed
 * for the call only; requests and cancels are allowed inside callbacks.
 *
 * It is implemented by an HTTP client, by an in-memory API with seeded faults in the tests, and by
 * the embedded API server; the layers above do not depend on which.
 *
 * A request and a watch are asynchronous: the callback runs later, on the same thread, never before
 * the call has returned, exactly once unless the call is cancelled. Replies and lines are borrowed
 * for the callback. The interface also provides the time: its owner sets both clocks once per loop
 * iteration, before any callback, and all layers above read them from here.
 */
#ifndef SL_KUBE_CLIENT_PORT_H
#define SL_KUBE_CLIENT_PORT_H

#include "core/base/time.h"

enum sl_kube_method { SL_GET, SL_POST, SL_PUT, SL_PATCH, SL_DELETE };

#define SL_JSON "application/json"
#define SL_MERGE_PATCH "application/merge-patch+json"
#define SL_JSON_PATCH "application/json-patch+json"
#define SL_APPLY_PATCH "application/apply-patch+yaml"

/* Media types other than the plain object: of a watch or a single object, of a list, of /api and
 * /apis. */
#define SL_AS_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define SL_AS_METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
#define SL_AS_DISCOVERY "application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2"

struct sl_kube_request {
    enum sl_kube_method method;
    const char *path;         /* with the query, escaped: "/api/v1/pods?limit=500" */
    const char *content_type; /* of the body; NULL without one */
    const char *body;
    size_t len;
    const char *accept; /* one of the constants above (not copied); NULL: plain JSON */
};

struct sl_kube_reply {
    int status; /* HTTP status; 0: no response, see 'text' */
    const char *body;
    size_t len;
    sl_span retry_after; /* from the header Retry-After; 0: absent */
    const char *text;
    bool too_long; /* status 0: the response, or a line of it, exceeds the limit */
};

typedef struct {
    uint64_t v; /* 0: none */
} sl_kube_call;

typedef void (*sl_kube_reply_fn)(void *ctx, const struct sl_kube_reply *r);
/* One line of a watch, without its newline. */
typedef void (*sl_kube_line_fn)(void *ctx, const char *line, size_t len);

struct sl_kube_client;

struct sl_kube_client_ops {
    sl_kube_call (*request)(struct sl_kube_client *p, const struct sl_kube_request *rq,
                            sl_kube_reply_fn done, void *ctx);
    /* A GET without a body. Lines as they come; then 'done' once: status 200 when the stream ended,
     * else why it could not go on. */
    sl_kube_call (*watch)(struct sl_kube_client *p, const struct sl_kube_request *rq,
                          sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx);
    /* No callback of this call follows. An unknown or completed call is allowed. */
    void (*cancel)(struct sl_kube_client *p, sl_kube_call c);
};

struct sl_kube_client {
    const struct sl_kube_client_ops *ops;
    sl_time wall; /* nanoseconds since 1970, as the API's timestamps; may be stepped */
    sl_time mono; /* never goes back; for delays and timeouts */
};

static inline sl_kube_call sl_kube_request(struct sl_kube_client *p,
                                           const struct sl_kube_request *rq, sl_kube_reply_fn done,
                                           void *ctx) {
    return p->ops->request(p, rq, done, ctx);
}
static inline sl_kube_call sl_kube_watch(struct sl_kube_client *p, const char *path,
                                         sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    return p->ops->watch(p, &(struct sl_kube_request){.method = SL_GET, .path = path}, line, done,
                         ctx);
}
static inline void sl_kube_cancel(struct sl_kube_client *p, sl_kube_call c) {
    if (c.v)
        p->ops->cancel(p, c);
}

#endif
