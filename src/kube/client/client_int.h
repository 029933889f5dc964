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
 * sl_client_reap to remove afterwards.
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

#define SL_CLIENT_MAX_PATH ((size_t)64 << 10)
#define SL_CLIENT_MAX_TYPE 100u
#define SL_CLIENT_MAX_RETRY_AFTER SL_HOUR
#define SL_CLIENT_TIMEOUT (60 * SL_SEC) /* of a request, waiting included */
#define SL_CLIENT_CONNECT_TIMEOUT_MS 10000L

/* A request or a watch, from the port's call until its 'done'. */
struct sl_xcall {
    TAILQ_ENTRY(sl_xcall) link; /* waiting or running */
    uint64_t serial;            /* order of arrival */
    sl_call id;
    enum sl_method method;
    sl_line_fn line; /* NULL: a request */
    sl_reply_fn done;
    void *ctx;
    const char *refusal; /* why it will not be sent at all; else NULL */
    sl_time deadline;    /* mono; to be under way by then, and as a request to be done */
    uint32_t gen;        /* of the credential it was sent with */
    bool retried, cancelled;
    struct sl_xfer *x;                     /* while running */
    const char *accept;                    /* a constant */
    const char *url, *content_type, *body; /* in 'text'; no body: NULL, no type: "" */
    size_t len;                            /* of the body */
    size_t cost;                           /* in memory */
    char text[];
};
TAILQ_HEAD(sl_xcalls, sl_xcall);

/* A curl handle that goes from call to call. */
struct sl_xfer {
    SLIST_ENTRY(sl_xfer) link;
    CURL *easy;
    struct sl_client *client;
    struct sl_xcall *call;
    struct curl_slist *headers;     /* the same for every call with this credential */
    struct curl_slist type, accept; /* the call's own headers, in front of them */
    char type_text[128], accept_text[128];
    uint32_t gen;           /* of the credential that is set; 0: none yet */
    long status;            /* once the first byte of a body came */
    struct sl_buf body;     /* of the reply; of a watch: the line that is not whole yet */
    bool too_long, crowded; /* it went beyond its ceiling; or all of them together did */
    char words[CURL_ERROR_SIZE];
    char text[CURL_ERROR_SIZE + 300];
};
SLIST_HEAD(sl_xfers, sl_xfer);

/* What libuv watches for libcurl; see client_loop.c. */
struct sl_sock {
    uv_poll_t poll;
    struct sl_client *client;
    int fd, events;
    bool ours, wanted;
};

struct sl_slot {
    struct sl_xcall *call; /* NULL: free */
    uint32_t gen;
};

struct sl_client {
    struct sl_port port; /* first: the port is the client */
    uv_loop_t *loop;
    struct sl_kubeconfig *k;
    struct sl_auth *auth;
    char *user_agent, *base; /* in front of every path */
    CURLM *multi;
    CURLSH *share; /* of TLS sessions */
    struct curl_slist *connect_to;

    SL_VEC(struct sl_slot) slots;
    SL_VEC(uint32_t) free_slots;
    struct sl_xcalls waiting[2], running; /* waiting: requests, watches */
    uint32_t n_waiting, n_running[2];
    size_t call_bytes;  /* of all calls that have not ended */
    size_t reply_bytes; /* of all responses that are being received */
    uint64_t serial;
    struct sl_xfers idle;
    uint32_t n_idle;

    SL_VEC(struct sl_sock *) socks; /* by descriptor */
    uv_timer_t timer, deadline;     /* libcurl's; of the calls that wait */
    uv_idle_t kick;                 /* active: calls are to be started in this iteration */
    uv_prepare_t turn;
    uint32_t open;   /* libuv handles that are not closed yet */
    bool in_curl;    /* inside libcurl, which must not be called again */
    bool to_reap;    /* calls were cancelled meanwhile */
    bool clock_read; /* in this iteration */
    bool closing;

    size_t max_reply, max_line, max_replies; /* the ceilings above; tests lower them */
    sl_span timeout;
};

/* ---- client.c ---- */
/* Reads the clocks unless they have been read in this iteration. */
void sl_client_turn(struct sl_client *c);
/* Starts what waits and can be started; ends what waited too long. */
void sl_client_flush(struct sl_client *c);
/* libcurl is done with a call. */
void sl_client_finish(struct sl_client *c, struct sl_xcall *call, CURLcode result);
/* Takes the calls off libcurl that were cancelled while it was busy. */
void sl_client_reap(struct sl_client *c);
/* Every libuv handle is closed: frees everything. */
void sl_client_destroy(struct sl_client *c);

/* ---- client_transfer.c ---- */
/* Puts a call on a handle, which is an idle one or new. The handle is not started. */
void sl_xfer_begin(struct sl_client *c, struct sl_xcall *call);
/* The reply; its texts live until sl_xfer_end. */
void sl_xfer_reply(const struct sl_client *c, struct sl_xfer *x, CURLcode result,
                   struct sl_reply *ret);
void sl_xfer_end(struct sl_client *c, struct sl_xfer *x);
void sl_xfer_free(struct sl_xfer *x);

/* ---- client_loop.c ---- */
void sl_loop_init(struct sl_client *c);
/* Lets libcurl work on a socket, or on its timers (CURL_SOCKET_TIMEOUT), then ends what is done. */
void sl_loop_act(struct sl_client *c, curl_socket_t fd, int events);
void sl_loop_start(struct sl_client *c, struct sl_xcall *call);
void sl_loop_stop(struct sl_client *c, struct sl_xcall *call);
/* Calls sl_client_flush later in this iteration, or in the next one. */
void sl_loop_kick(struct sl_client *c);
/* Calls it again at 'at' (mono), if nothing does before; SL_TIME_NEVER: does not. */
void sl_loop_deadline(struct sl_client *c, sl_time at);
/* Closes every handle; sl_client_destroy follows when the loop is done with the last. */
void sl_loop_close(struct sl_client *c);
/* libcurl's callbacks for handles. */
int sl_loop_opened(void *client, curl_socket_t fd, curlsocktype purpose);
int sl_loop_closed(void *client, curl_socket_t fd);

#endif
