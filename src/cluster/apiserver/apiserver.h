/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded API server: Kubernetes' REST conventions over the store. It has no sockets: requests
 * are records, from the HTTPS front end (src/cluster/up) or from our own controllers through the
 * API client interface, and are processed the same way.
 *
 *     route -> decode, prune, default -> admission (ours in process, webhooks by HTTP) -> validate
 *           -> store -> response when the change is committed
 *
 * One thread, that of the loop. No callback runs inside a call of this header, but in iterations of
 * the loop.
 */
#ifndef SL_CLUSTER_APISERVER_APISERVER_H
#define SL_CLUSTER_APISERVER_APISERVER_H

#include "cluster/apiserver/ceilings.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "kube/client/port.h"
#include "kube/types/exec_session.h"

struct uv_loop_s;
struct sl_apiserver;

/* The protocol that a client upgrades to; "" where it sends none. */
struct sl_api_upgrade {
    const char *to;                        /* "websocket", "SPDY/3.1" */
    const char *key, *version, *protocols; /* of a WebSocket's handshake */
    const char *streams; /* X-Stream-Protocol-Version, several with commas in between */
};

struct sl_api_request {
    const char *method;                             /* "GET" */
    const char *path;                               /* decoded, without the query */
    const char *query;                              /* as it came, still escaped; "" */
    const char *accept, *content_type, *user_agent; /* "" if absent */
    const char *user; /* the client: "admin", or a component of ours "system:serviceaccount:..." */
    const char *const *groups; /* NULL-terminated */
    const char *body;
    size_t len;
    const struct sl_api_upgrade *upgrade; /* NULL: none is requested */
};

struct sl_api_answer {
    int status;
    const char *content_type;
    const char *body;
    size_t len;
    const char *const *warnings; /* texts of Warning headers, NULL-terminated; NULL: none */
    uint32_t retry_after;        /* seconds; 0: no such header */
};

/* What comes over a wire. */
struct sl_api_upgrade_events {
    void (*bytes)(void *ctx, const char *bytes, size_t len);
    void (*writable)(void *ctx); /* what waited for the client has become little */
};

/* Receiver of the response. Exactly one 'answer' is called, or one 'begin' or 'upgrade', any number
 * of 'piece' and one 'end', unless the call is cancelled. */
struct sl_api_sink {
    void *ctx;
    void (*answer)(void *ctx, const struct sl_api_answer *a);
    void (*begin)(void *ctx, const char *content_type); /* a stream: 200 */
    /* Whole lines of a watch, or some bytes of a log. False: the client does not keep up, and the
     * stream ends. */
    bool (*piece)(void *ctx, const char *bytes, size_t len);
    void (*end)(void *ctx);
    /* 101 with these headers (name and value alternating, then NULL): from there on an upgraded
     * connection, where 'piece' sends; received bytes are passed to 'events' in iterations of the
     * loop, until 'end' or a cancel. NULL: upgrades are not supported, and neither are the next
     * two. */
    void (*upgrade)(void *ctx, const char *const *headers,
                    const struct sl_api_upgrade_events *events, void *events_ctx);
    void (*hold)(void *ctx, bool hold); /* nothing is read meanwhile */
    size_t (*waiting)(void *ctx);       /* bytes that the client has not taken */
};

typedef struct {
    uint64_t v; /* 0: none */
} sl_api_call;

/* Where logs and other things of running pods come from: src/cluster/kubelet. NULL: there is none.
 */
struct sl_api_kubelet {
    void *ctx;
    /* Is this one of its nodes? Pods on others are those of another kubelet. NULL: all are. */
    bool (*has_node)(void *ctx, const char *node);
    /*
     * Opens the log of a container of a pod. Afterwards 'read' appends what is available from
     * 'offset' on, and returns how much; *ret_end: the log is complete. SL_ENOENT with a message if
     * there is no such log.
     */
    int (*log_open)(void *ctx, const char *ns, const char *pod, const char *uid,
                    const char *container, bool previous, void **ret, struct sl_err *err);
    size_t (*log_read)(void *ctx, void *log, uint64_t offset, struct sl_buf *out, bool *ret_end);
    void (*log_close)(void *ctx, void *log);
    /*
     * Exec sessions: kube/types/exec_session.h describes the events. 'session_open' is NULL where
     * there are none. Input is always accepted; false: backpressure, send no more before
     * ev->writable.
     * An open session belongs to the caller until it closes it, also after it has ended.
     */
    int (*session_open)(void *ctx, const struct sl_exec_session_spec *s,
                        const struct sl_exec_session_events *ev, void *events_ctx, void **ret,
                        struct sl_err *err);
    bool (*session_input)(void *ctx, void *session, const char *bytes, size_t len);
    void (*session_input_end)(void *ctx, void *session);
    void (*session_size)(void *ctx, void *session, uint16_t cols, uint16_t rows);
    void (*session_hold)(void *ctx, void *session, bool hold);
    void (*session_close)(void *ctx, void *session);
};

struct sl_apiserver_spec {
    struct uv_loop_s *loop;
    const char *file;    /* of the store; NULL: memory only */
    uint32_t past;       /* changes of a resource that watches may go back; 0: as the store does */
    const char *version; /* "v1.36.0": reported by /version */
    const char *address; /* "127.0.0.1:6443", for discovery and the Service "kubernetes" */
    /* PEM of an ECDSA key on P-256, which signs the tokens of service accounts; NULL: one of this
     * process, and no token is valid after it. */
    const char *token_key;
    /* Pods get the volume with the token of their service account, which has to be there, as with
     * the admission controller of that name. */
    bool service_accounts;
    const char *ca; /* of clients, PEM, for servers beside this one; NULL: none */
    /* Our own admission, called like a webhook: the path of a review ("/mutate-batch-v1-job"), its
     * body in, a response out; the HTTP status is returned. NULL: none. */
    int (*review)(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out);
    /* Has it this path? Asked for kinds that are made by definitions. NULL: for none of them. */
    bool (*reviews)(void *ctx, const char *path);
    void *ctx;
    /* Jobs and pods without a queue name are reviewed too (manageJobsWithoutQueueName, pods of all
     * namespaces). */
    bool review_unlabelled;
    /* Is all of this namespace queued on the resource graph? NULL: of none is. */
    bool (*queues_namespace)(void *ctx, const char *ns);
    /* Both clocks of the API client interface (kube/client/port.h), read once per loop iteration
     * with the ctx above. NULL: those of the machine. */
    void (*clock)(void *ctx, sl_time *ret_wall, sl_time *ret_mono);
};

int sl_apiserver_new(const struct sl_apiserver_spec *spec, struct sl_apiserver **ret,
                     struct sl_err *err) _must_check_;
/* Not from within a callback. The loop has to run once more for the handles to be closed. */
void sl_apiserver_free(struct sl_apiserver *s);
void sl_apiserver_runtime(struct sl_apiserver *s, const struct sl_api_kubelet *rt);

/* The request is borrowed for the call only. */
sl_api_call sl_apiserver_call(struct sl_apiserver *s, const struct sl_api_request *in,
                              const struct sl_api_sink *sink);
void sl_apiserver_cancel(struct sl_apiserver *s, sl_api_call c);

/* For our own components: the same API through the API client interface, under this user name. Its
 * clocks are set once per loop iteration. It is valid as long as the server. */
struct sl_kube_client *sl_apiserver_client(struct sl_apiserver *s, const char *user,
                                           const char *user_agent);

/* Sets the clocks to now, for iterations that begin elsewhere: a timer, another socket. */
void sl_apiserver_clock(struct sl_apiserver *s);

/* spec.renewTime of a Lease in kube-node-lease becomes now, in memory and for watches, not in the
 * file. SL_ENOENT: there is none of that name. */
int sl_apiserver_renew_lease(struct sl_apiserver *s, const char *node,
                             struct sl_err *err) _must_check_;

struct sl_apiserver_stats {
    uint64_t requests, writes, watches_open, events_sent, commits;
    uint64_t open; /* requests, watches among them */
    uint64_t objects, bytes;
};
void sl_apiserver_stats(const struct sl_apiserver *s, struct sl_apiserver_stats *ret);

#endif
