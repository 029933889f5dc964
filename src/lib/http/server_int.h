/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections, as server.c and call.c know them. Private to src/lib/http.
 */
#ifndef SL_LIB_HTTP_SERVER_INT_H
#define SL_LIB_HTTP_SERVER_INT_H

#include <microhttpd.h>
#include <sys/queue.h>
#include <uv.h>

#include "lib/http/listen.h"
#include "lib/http/server.h"

struct http_server;

/* A client address, as long as it has connections. */
struct http_peer {
    TAILQ_ENTRY(http_peer) entry;
    uint8_t key[SL_HTTP_FROM];
    uint32_t n_conns;
    uint32_t n_yielding;               /* of these, in one of the lists */
    TAILQ_HEAD(, http_conn) idle;      /* in the order of their last response */
    TAILQ_HEAD(, http_conn) receiving; /* since the accept or the request line, in that order */
    size_t bodies;                     /* bytes of those that come */
    size_t unread;                     /* bytes that wait in its streams */
};

/* From its first line on. */
struct http_request {
    char *query;         /* as it came; NULL: none */
    const char *uri_end; /* in the memory of the library; of no use once 'begun' */
    bool begun;          /* its headers are complete */
    bool large;          /* its body is in the budget of large ones */
    bool over_limit;     /* the budget for its body was exhausted */
    struct sl_buf body;
    uint64_t announced; /* of the body; 0 also if it is not known */
    uint64_t from_ms;   /* when it began to come */
    size_t seen;        /* of the body, also what was over the ceiling */
    size_t taken;       /* of the budget of all bodies */
};

enum http_conn_state {
    CONN_RECEIVING, /* a request is awaited or not complete */
    CONN_BUSY,      /* it is being served */
    CONN_IDLE,      /* between two requests */
};

struct http_conn {
    TAILQ_ENTRY(http_conn) entry, share;
    struct http_server *server;
    struct MHD_Connection *mhd;
    struct http_peer *peer;
    struct http_request *rq; /* NULL: none */
    int fd;                  /* the library's */
    enum http_conn_state state;
    uint64_t since_ms;         /* when it got into that */
    uint64_t moved_ms;         /* when the last bytes of a body came, or of a stream were taken */
    size_t answer;             /* bytes of its response, if it was given whole and is large */
    bool waiting;              /* suspended until it is woken */
    bool late;                 /* shut down; to be closed at the next occasion */
    bool listens;              /* for a hang-up */
    bool last;                 /* it is closed after its next response */
    struct sl_http_call *call; /* the response is deferred; NULL */
    uint64_t deadline_ms;
};

/* One daemon of the library. */
struct http_server {
    TAILQ_ENTRY(http_server) entry;
    struct sl_httpd *h;
    uint32_t generation; /* of the certificate */
    struct MHD_Daemon *mhd;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_idle_t again; /* the library must run again at once; a 0 ms timer would starve others */
    bool woken;      /* one of its connections was resumed since the library began to run */
    uint32_t n_conns;
    uint32_t n_handles;   /* not yet closed by the loop */
    char last_error[160]; /* of the library's log */
};

enum { CERT, KEY, CAS, PEMS };

struct sl_httpd {
    uv_loop_t *loop;
    struct sl_httpd_spec spec; /* without host and certificate */
    bool tls;
    int fd;
    uint16_t port;
    struct http_unix file; /* of a Unix domain socket */
    uv_poll_t listener;
    uv_timer_t sweep;
    uint32_t n_handles;
    uv_poll_t hangup;
    int hangups;         /* an epoll of those that stream; -1: none */
    bool listening;      /* the listener is polled */
    bool starved;        /* accept found no descriptor or memory; the next sweep tries again */
    bool busy;           /* inside the library */
    char *pem[PEMS];     /* NULL: none */
    uint32_t generation; /* of these */
    TAILQ_HEAD(, http_server) servers;
    struct http_server *now; /* that gets new connections */
    TAILQ_HEAD(, http_conn) conns;
    TAILQ_HEAD(, http_peer) peers;
    uint32_t n_conns, n_receiving;
    size_t bodies;       /* bytes of all that are in memory */
    size_t large_bodies; /* of these, those of large ones */
    size_t unread;       /* bytes that wait in all streams */
    size_t answers;      /* bytes of all responses that were given whole */
};

struct http_upgrade;

struct sl_http_call {
    struct http_conn *conn;  /* NULL: the request is over */
    uint32_t refs;           /* the connection's, the response's, the loop's */
    void (*gone)(void *ctx); /* NULL: the owner has ended it */
    void *ctx;
    int status;
    struct MHD_Response *response; /* made and not yet queued */
    struct sl_buf out;             /* of a stream */
    size_t sent;                   /* of that */
    bool streams, ended;
    struct http_upgrade *up; /* upgraded; NULL */
};

struct http_conn *sl_httpd_conn(struct MHD_Connection *c);
/* Suspended, a connection does not notice anything; resumed, it calls the handler again, or for the
 * next bytes. */
void sl_httpd_suspend(struct http_conn *c);
void sl_httpd_resume(struct http_conn *c);
/* Ends it as soon as the library runs. */
void sl_httpd_cut(struct http_conn *c);
enum MHD_Result sl_httpd_queue(struct http_server *s, struct MHD_Connection *c, int status,
                               struct MHD_Response *r);

/* ---- share.c ---- */
/* NULL: there is no connection from there. */
struct http_peer *http_share_find(struct sl_httpd *h, const struct sockaddr *a);
void http_share_join(struct http_conn *c, const struct sockaddr *a);
void http_share_leave(struct http_conn *c);
void http_share_turn(struct http_conn *c, enum http_conn_state to);
/* With so many connections, one has to go for a new one. */
bool http_share_full(const struct sl_httpd *h, uint32_t n_conns);
/* And yet it may come: a few are left for when none can go. */
bool http_share_spare(const struct sl_httpd *h, uint32_t n_conns);
/* Which one; NULL: none, or none for a client from there. */
struct http_conn *http_share_victim(const struct sl_httpd *h, const struct http_peer *newcomer);
/* Whether one more can be accepted, at least from an address that has no connection yet. */
bool http_share_has_capacity(const struct sl_httpd *h);
/* Reserves so many more bytes of a body; others may be closed for it. */
bool http_share_take(struct http_conn *c, struct http_request *rq, size_t n);
/* Releases the body. */
void http_share_give_back(struct http_conn *c, struct http_request *rq);

/* So many bytes more wait in a stream. False: it is the one that has to end; others may lose
 * theirs, and their connection. */
bool http_share_wait(struct sl_http_call *c, size_t n);
/* They have been taken, or dropped. */
void http_share_taken(struct sl_http_call *c, size_t n);
/* How large one response that is given whole may be now, with those that are not read yet. */
size_t http_share_capacity(const struct sl_httpd *h, size_t small);
/* Reserves memory for a response that is given whole. False: too much is unread. */
bool http_share_answer(struct http_conn *c, size_t n, size_t small);
/* Releases the response. */
void http_share_answered(struct http_conn *c);
/* Ends streams that much waits for and that take nothing. */
void http_share_sweep(struct sl_httpd *h);

/* ---- framing.c ---- */
/* Why a request whose headers are complete is ambiguous; NULL if it is not. 'uri_end': of the
 * target in the request line. */
const char *sl_httpd_framing(struct MHD_Connection *c, const char *method, const char *version,
                             const char *uri_end, bool *ret_chunked);

/* ---- request.c ---- */
void sl_httpd_lookups(struct sl_http_request *rq);

/* A handle has closed. */
void sl_httpd_unref(struct sl_httpd *h);

/* ---- call.c ---- */
/* The connection was resumed: sends what there is to send, or goes on waiting. */
enum MHD_Result sl_httpd_call_send(struct http_conn *c);
/* The request is over, in whatever way. */
void sl_httpd_call_end(struct http_conn *c);
void sl_httpd_call_unref(struct sl_http_call *c);
/* Appends to the bytes to be sent; those that have been sent are dropped first. False: it is too
 * much. */
bool sl_httpd_call_add(struct sl_http_call *c, const char *bytes, size_t len);
/* Drops what has been sent. */
void sl_httpd_call_sent(struct sl_http_call *c, size_t n);
/* Detects disconnects for as long as it is started. */
void sl_httpd_hangups_start(struct sl_httpd *h);
void sl_httpd_hangups_stop(struct sl_httpd *h);

/* ---- upgrade.c ---- */
/* There is something to send, or the owner has ended it. */
void sl_httpd_upgrade_more(struct sl_http_call *c);
/* The connection is over: the loop lets go of its descriptor, before the library closes it. */
void sl_httpd_upgrade_stop(struct sl_http_call *c);

#endif
