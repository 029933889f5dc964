/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP and HTTPS servers inside the libuv loop: handlers run on the thread of the loop, one after
 * the other, with the whole request in memory, and respond at once or when they are woken. HTTP/1.1
 * with keep-alive; TLS 1.2 and 1.3.
 *
 * Resource usage of clients is bounded: header lines 32 KiB in all (431), the body max_body (413),
 * all bodies together all_bodies (503), of which small ones have a part of their own; header_ms
 * from the accept or the request line until the headers are complete, body_ms from there until the
 * body is, and no less than 32 KiB/s after the first seconds; request_ms until the end of the
 * response, and idle_ms from there to the next request line; a connection that takes longer is
 * closed. At max_connections one is closed for a new one: of the address that has most of those
 * that are idle or whose requests are not complete, the oldest (share.c). If all are busy, an
 * eighth more is accepted, SL_HTTP_SPARES at most, and others wait in the backlog.
 */
#ifndef SL_LIB_HTTP_SERVER_H
#define SL_LIB_HTTP_SERVER_H

#include "core/base/buf.h"
#include "core/base/err.h"

struct uv_loop_s;
struct sl_httpd;

/* All of it is valid until the handler returns. */
struct sl_http_request {
    const char *method;
    const char *path;      /* without the query, decoded; a decoded NUL is replaced by '?' */
    const char *raw_query; /* as it came, still escaped; "" */
    const char *body;      /* NUL-terminated, never NULL */
    size_t len;
    /* NULL if absent, "" if there without a value. The first one, if there are several. */
    const char *(*query)(const struct sl_http_request *rq, const char *key);
    const char *(*header)(const struct sl_http_request *rq, const char *name); /* in any case */
    /* All header lines in their order, repeated ones too. */
    void (*headers)(const struct sl_http_request *rq,
                    void (*each)(void *ctx, const char *name, const char *value), void *ctx);
    /* The common name in the client's certificate; false if it has shown none that holds and was
     * signed by one of client_cas. */
    bool (*peer)(const struct sl_http_request *rq, char *out, size_t size);
    void *priv;
    const uint8_t *from; /* SL_HTTP_FROM bytes, the same for all of one address; NULL: not known */
};
#define SL_HTTP_FROM 16u

struct sl_http_answer {
    int status;               /* 200 unless set; 200 to 599 */
    const char *content_type; /* "application/json" unless set; read when the handler returns */
    const char *const
        *headers;       /* others, name and value alternating, then NULL; NULL: none; as above */
    struct sl_buf body; /* ready for writing; overflow becomes a 500 */
    /* For a long response: called for a piece whenever the client has taken the last one, until it
     * returns false. 'drop' is called once, at the end. After 'body', if that is not empty. NULL:
     * the body is complete. */
    bool (*more)(void *ctx, struct sl_buf *piece);
    void (*drop)(void *ctx);
    void *ctx;
};

typedef void (*sl_http_handler)(void *ctx, const struct sl_http_request *rq,
                                struct sl_http_answer *a);

/* In a handler: it cannot respond yet. What it wrote is dropped, the request is suspended, and
 * the handler is called again after sl_httpd_wake. One that is suspended until its deadline is
 * closed. */
void sl_http_defer(const struct sl_http_request *rq);

/*
 * In a handler: the response is deferred, and given through the call. What the handler wrote is
 * dropped, and the request is invalid when it returns. The connection is suspended and costs
 * nothing until then. The call belongs to the caller until it has responded (sl_http_reply, or
 * sl_http_begin, any number of pieces and sl_http_end), or until 'gone' reports that the client has
 * disconnected, is too slow, or the server stops. None of these may be called inside the handler
 * itself.
 */
struct sl_http_call;
struct sl_http_call *sl_http_hold(const struct sl_http_request *rq, void (*gone)(void *ctx),
                                  void *ctx);
/* All of it is copied; headers as in sl_http_answer. */
void sl_http_reply(struct sl_http_call *c, int status, const char *content_type,
                   const char *const *headers, const char *body, size_t len);
/* A 200 that has no length; no deadline holds for it while the client takes what is there. */
void sl_http_begin(struct sl_http_call *c, const char *content_type);
/* False: too much waits for the client. The call is for the caller to end all the same. */
bool sl_http_piece(struct sl_http_call *c, const char *bytes, size_t len);
void sl_http_end(struct sl_http_call *c);
/*
 * What may wait for clients that do not read. A stream that begins may be given much at once, and
 * as long as the client takes of it, nothing is cut. One that takes nothing is ended above
 * SL_HTTP_STREAM_STILL, but never for a single piece; beyond SL_HTTP_STREAMS in all streams of a
 * server the largest of those that take nothing, beyond SL_HTTP_STREAMS_MOST the largest of all.
 */
#define SL_HTTP_STREAM ((size_t)256 << 20)
#define SL_HTTP_STREAM_STILL ((size_t)16 << 20)
#define SL_HTTP_STREAMS ((size_t)96 << 20)
#define SL_HTTP_STREAMS_MOST ((size_t)192 << 20)
/* Large responses that are not read yet, in all, except for one: beyond, a further one becomes 429
 * if it is deferred, and 503 if the handler gave it. */
#define SL_HTTP_ANSWERS ((size_t)256 << 20)

/*
 * Instead of a response: 101 with these headers, and from there on the connection is upgraded and
 * carries bytes both ways. sl_http_piece sends, sl_http_end closes once all of it has been sent.
 * 'bytes' gets what is received. Flow control: 'writable' is called when the bytes to be sent fall
 * below SL_HTTP_UPGRADE_LOW_WATER again; a caller applies backpressure by not reading from its
 * other side until then. Both are called from the loop, never inside a call, and not after
 * sl_http_end or 'gone'. There is no deadline until the end; a vanished peer is detected as for any
 * connection. What a client sends before it has seen the 101 is lost.
 */
struct sl_http_upgrade_events {
    void (*bytes)(void *ctx, const char *bytes, size_t len);
    void (*writable)(void *ctx);
};
/* 'wire' must stay valid as long as the call; its ctx is that of 'gone'. */
void sl_http_upgrade(struct sl_http_call *c, const char *const *headers,
                     const struct sl_http_upgrade_events *wire);
/* While held, nothing is read, and the client has to wait. */
void sl_http_hold_input(struct sl_http_call *c, bool hold);
/* Bytes that the client has not taken yet. */
size_t sl_http_waiting(const struct sl_http_call *c);
#define SL_HTTP_UPGRADE_MAX ((size_t)16 << 20) /* of these; then sl_http_piece returns false */
#define SL_HTTP_UPGRADE_LOW_WATER ((size_t)64 << 10)

/* Maximum memory of a connection besides its body, its stream and a large response: header lines, a
 * small response, TLS. And how many there may be above max_connections, for a moment. */
#define SL_HTTP_CONNECTION_BYTES ((size_t)80 << 10)
#define SL_HTTP_SPARES 64u
#define SL_HTTP_CONNECTIONS(n) ((n) + ((n) / 8 < SL_HTTP_SPARES ? (n) / 8 : SL_HTTP_SPARES))

#define SL_HTTP_ANSWER ((size_t)256 << 20) /* the limit of a response body where none is set */

struct sl_httpd_spec {
    /* "" or NULL: every address. "unix:PATH": a Unix domain socket for this user alone, which is
     * removed in the end; all its clients are one address. */
    const char *host;
    uint16_t port;                  /* 0: any free one; ignored for a Unix domain socket */
    const char *cert_pem, *key_pem; /* NULL: plain HTTP. The certificate first, then its chain */
    const char *client_cas;         /* PEM; NULL: client certificates are not requested */
    size_t max_body;
    const char *large_path; /* large_body is the limit for this path; NULL: none; not copied */
    size_t large_body;
    size_t all_bodies;  /* 0: four times the largest */
    size_t all_answers; /* that are given whole, large and not read yet; 0: SL_HTTP_ANSWERS */
    size_t max_answer;  /* one of them: 500 beyond, and 503 if others leave it less; 0:
                           SL_HTTP_ANSWER */
    uint32_t max_connections;
    uint32_t max_unfinished;      /* of these, without a complete request; 0: all may be */
    uint32_t header_ms, body_ms;  /* 0: 10 s each, request_ms at most */
    uint32_t request_ms, idle_ms; /* 0: 30 s and 120 s */
    uint32_t still_ms;            /* a body without progress for so long is stalled; 0: 1 s */
    sl_http_handler handler;
    /* Called when the headers of a request that has a body are complete; the body is not received
     * yet. True: it has responded, and the connection is closed after that. NULL: all go to
     * 'handler'. */
    bool (*early)(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a);
    /* Writes the body of a response that the server itself generates (413, 503). NULL: a line of
     * text. */
    void (*refusal)(void *ctx, int status, const char *message, struct sl_http_answer *a);
    void *ctx;
};

int sl_httpd_start(struct uv_loop_s *loop, const struct sl_httpd_spec *spec, struct sl_httpd **ret,
                   struct sl_err *err) _must_check_;
/* 0 for a Unix domain socket. */
uint16_t sl_httpd_port(const struct sl_httpd *h);
/* New certificate, and new client CAs (NULL: none), for new connections. Existing ones keep the
 * old certificate and are closed after their next response. If something is invalid, nothing
 * changes. */
int sl_httpd_certificate(struct sl_httpd *h, const char *cert_pem, const char *key_pem,
                         const char *client_cas, struct sl_err *err) _must_check_;
/* Calls the handlers of all suspended requests again; they may stay suspended. Not from a
 * handler. */
void sl_httpd_wake(struct sl_httpd *h);
/* Closes everything; the port or path is free when it returns. The memory is freed when the loop
 * has closed the handles, in its next iteration. Not from a handler. NULL is allowed. */
void sl_httpd_stop(struct sl_httpd *h);

#endif
