/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the client, in three parts:
 *
 *     client.c       calls: the interface, the queues, handling of responses, creation and
 * destruction client_transfer.c transfers: a curl handle, how a call is set up on it, the bytes
 * received client_loop.c  the loop: libcurl's sockets and timer on libuv
 *
 * libcurl must not be called from its own callbacks, and lines of a watch are delivered from within
 * one (so that they need no copy). Therefore a call is only queued at first and started from the
 * loop, and a cancel while libcurl runs ('in_curl') leaves the call on its list, marked, for
 * sl_curl_client_reap to remove afterwards.
 */
#ifndef SL_KUBE_CLIENT_CLIENT_INT_H
#define SL_KUBE_CLIENT_CLIENT_INT_H

#include <sys/queue.h>

#include <curl/curl.h>
#include <uv.h>

#include "core/base/buf.h"
#include "core/base/collection/vec.h"
#include "kube/client/auth.h"
#include "kube/client/client.h"
#include "kube/client/limits.h"

#define SL_CURL_CLIENT_MAX_PATH ((size_t)64 << 10)
#define SL_CURL_CLIENT_MAX_TYPE 100u
#define SL_CURL_CLIENT_MAX_RETRY_AFTER SL_HOUR
#define SL_CURL_CLIENT_TIMEOUT (60 * SL_SEC) /* of a request, waiting included */
#define SL_CURL_CLIENT_CONNECT_TIMEOUT_MS 10000L

/* A request or a watch, from the port's call until its 'done'. */
struct kube_xcall {
    TAILQ_ENTRY(kube_xcall) link; /* waiting or running */
    uint64_t serial;              /* order of arrival */
    sl_kube_call id;
    enum sl_kube_method method;
    sl_kube_line_fn line; /* NULL: a request */
    sl_kube_reply_fn done;
    void *ctx;
    const char *refusal; /* why it will not be sent at all; else NULL */
    sl_time deadline;    /* mono; to be under way by then, and as a request to be done */
    uint32_t gen;        /* of the credential it was sent with */
    bool retried, cancelled;
    struct kube_xfer *x;                   /* while running */
    const char *accept;                    /* a constant */
    const char *url, *content_type, *body; /* in 'text'; no body: NULL, no type: "" */
    size_t len;                            /* of the body */
    size_t cost;                           /* in memory */
    char text[];
};
TAILQ_HEAD(kube_xcalls, kube_xcall);

/* A curl handle that goes from call to call. */
struct kube_xfer {
    SLIST_ENTRY(kube_xfer) link;
    CURL *easy;
    struct sl_curl_client *client;
    struct kube_xcall *call;
    struct curl_slist *headers;     /* the same for every call with this credential */
    struct curl_slist type, accept; /* the call's own headers, in front of them */
    char type_text[128], accept_text[128];
    uint32_t gen;              /* of the credential that is set; 0: none yet */
    long status;               /* once the first byte of a body came */
    struct sl_buf body;        /* of the reply; of a watch: the line that is not whole yet */
    bool too_long, over_limit; /* it went beyond its ceiling; or all of them together did */
    char curl_error[CURL_ERROR_SIZE];
    char text[CURL_ERROR_SIZE + 300];
};
SLIST_HEAD(kube_xfers, kube_xfer);

/* What libuv watches for libcurl; see client_loop.c. */
struct kube_sock {
    uv_poll_t poll;
    struct sl_curl_client *client;
    int fd, events;
    bool ours, wanted;
};

struct kube_slot {
    struct kube_xcall *call; /* NULL: free */
    uint32_t gen;
};

struct sl_curl_client {
    struct sl_kube_client client; /* first: the port is the client */
    uv_loop_t *loop;
    struct sl_kubeconfig *k;
    struct sl_auth *auth;
    char *user_agent, *base; /* in front of every path */
    CURLM *multi;
    CURLSH *share; /* of TLS sessions */
    struct curl_slist *connect_to;

    SL_VEC(struct kube_slot) slots;
    SL_VEC(uint32_t) free_slots;
    struct kube_xcalls waiting[2], running; /* waiting: requests, watches */
    uint32_t n_waiting, n_running[2];
    size_t call_bytes;  /* of all calls that have not ended */
    size_t reply_bytes; /* of all responses that are being received */
    uint64_t serial;
    struct kube_xfers idle;
    uint32_t n_idle;

    SL_VEC(struct kube_sock *) socks; /* by descriptor */
    uv_timer_t timer, deadline;       /* libcurl's; of the calls that wait */
    uv_idle_t kick;                   /* active: calls are to be started in this iteration */
    uv_prepare_t turn;
    uint32_t open;   /* libuv handles that are not closed yet */
    bool in_curl;    /* inside libcurl, which must not be called again */
    bool reaping;    /* cancelled transfers are ended: their connections are closed, not kept */
    bool to_reap;    /* calls were cancelled meanwhile */
    bool clock_read; /* in this iteration */
    bool closing;

    size_t max_reply, max_line, max_replies; /* the ceilings above; tests lower them */
    sl_span timeout;
};

/* ---- client.c ---- */
/* Reads the clocks unless they have been read in this iteration. */
void sl_curl_client_turn(struct sl_curl_client *c);
/* Starts what waits and can be started; ends what waited too long. */
void sl_curl_client_flush(struct sl_curl_client *c);
/* libcurl is done with a call. */
void sl_curl_client_finish(struct sl_curl_client *c, struct kube_xcall *call, CURLcode result);
/* Takes the calls off libcurl that were cancelled while it was busy. */
void sl_curl_client_reap(struct sl_curl_client *c);
/* Every libuv handle is closed: frees everything. */
void sl_curl_client_destroy(struct sl_curl_client *c);

/* ---- client_transfer.c ---- */
/* Puts a call on a handle, which is an idle one or new. The handle is not started. */
void kube_xfer_begin(struct sl_curl_client *c, struct kube_xcall *call);
/* The reply; its texts live until kube_xfer_end. */
void kube_xfer_reply(const struct sl_curl_client *c, struct kube_xfer *x, CURLcode result,
                     struct sl_kube_reply *ret);
void kube_xfer_end(struct sl_curl_client *c, struct kube_xfer *x);
void kube_xfer_free(struct kube_xfer *x);

/* ---- client_loop.c ---- */
void kube_loop_init(struct sl_curl_client *c);
/* Lets libcurl work on a socket, or on its timers (CURL_SOCKET_TIMEOUT), then ends what is done. */
void kube_loop_act(struct sl_curl_client *c, curl_socket_t fd, int events);
void kube_loop_start(struct sl_curl_client *c, struct kube_xcall *call);
void kube_loop_stop(struct sl_curl_client *c, struct kube_xcall *call);
/* Calls sl_curl_client_flush later in this iteration, or in the next one. */
void kube_loop_kick(struct sl_curl_client *c);
/* Calls it again at 'at' (mono), if nothing does before; SL_TIME_NEVER: does not. */
void kube_loop_deadline(struct sl_curl_client *c, sl_time at);
/* Closes every handle; sl_curl_client_destroy follows when the loop is done with the last. */
void kube_loop_close(struct sl_curl_client *c);
/* libcurl's callbacks for handles. */
int kube_loop_opened(void *client, curl_socket_t fd, curlsocktype purpose);
int kube_loop_closed(void *client, curl_socket_t fd);

#endif
