/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP and HTTPS servers inside the libuv loop: handlers run on the loop's thread, one after the
 * other, with the whole request in memory, and answer at once or when they are woken. HTTP/1.1 with
 * keep-alive; TLS 1.2 and 1.3.
 *
 * What a client can take is bounded: header lines 32 KiB in all (431), the body max_body (413), all
 * bodies together all_bodies (503), of which small ones have a part of their own; header_ms from
 * the accept or the request line until the headers are complete, body_ms from there until the body
 * is, and no less than 32 KiB/s after the first seconds; request_ms until the end of the answer,
 * and idle_ms from there to the next request line; a connection that takes longer is closed. At
 * max_connections one gives way to a newcomer: of the address that has most of those that are idle
 * or whose requests are not complete, the oldest (share.c). If all are busy, an eighth more may
 * come, SL_HTTP_SPARES at most, and others wait.
 */
#ifndef SL_HTTPD_HTTPD_H
#define SL_HTTPD_HTTPD_H

#include "base/buf.h"
#include "base/err.h"

struct uv_loop_s;
struct sl_httpd;

/* All of it lives until the handler returns. */
struct sl_http_request {
    const char *method;
    const char *path;      /* without the query, decoded; a decoded NUL stands there as '?' */
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
        *headers;       /* others, name and value by turns, then NULL; NULL: none; as above */
    struct sl_buf body; /* ready for writing; overflow becomes a 500 */
    /* For a long answer: asked for a piece whenever the client has taken the last one, until it
     * returns false. 'drop' is called once, at the end of it all. After 'body', if that is not
     * empty. NULL: the body is all. */
    bool (*more)(void *ctx, struct sl_buf *piece);
    void (*drop)(void *ctx);
    void *ctx;
};

typedef void (*sl_http_handler)(void *ctx, const struct sl_http_request *rq,
                                struct sl_http_answer *a);

/* In a handler: it cannot answer yet. What it wrote is dropped, the request waits, and the handler
 * is asked again after sl_httpd_wake. One that waits until its deadline is closed. */
void sl_http_defer(const struct sl_http_request *rq);

/*
 * In a handler: the answer comes later, through the call. What the handler wrote is dropped, and
 * the request is gone when it returns. The connection sleeps and costs nothing until then. The call
 * is the caller's until he has answered it (sl_http_reply, or sl_http_begin, any number of pieces
 * and sl_http_end), or until 'gone' says that there is nobody to answer any more: the client has
 * left, is too slow, or the server stops. None of these may be called inside the handler itself.
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
/* Large answers that are not read yet, in all, but for one: beyond, a further one becomes 429 where
 * it came later, and 503 where the handler gave it. */
#define SL_HTTP_ANSWERS ((size_t)256 << 20)

/*
 * Instead of an answer: 101 with these headers, and from there on the connection is a wire that
 * bytes go over both ways. sl_http_piece sends, sl_http_end closes once all of it has left. 'bytes'
 * gets what comes, 'room' is called when less than SL_HTTP_WIRE_LOW waits again after there was
 * more. Both come from the loop, never inside a call, and not after sl_http_end or 'gone'. No
 * deadline holds until the end; a peer that is not there any more is noticed as everywhere. What a
 * client sends before it has seen the 101 is lost.
 */
struct sl_http_wire {
    void (*bytes)(void *ctx, const char *bytes, size_t len);
    void (*room)(void *ctx);
};
/* 'wire' lives as long as the call; its ctx is that of 'gone'. */
void sl_http_upgrade(struct sl_http_call *c, const char *const *headers,
                     const struct sl_http_wire *wire);
/* While held, nothing is read, and the client has to wait. */
void sl_http_hold_input(struct sl_http_call *c, bool hold);
/* Bytes that the client has not taken yet. */
size_t sl_http_waiting(const struct sl_http_call *c);
#define SL_HTTP_WIRE ((size_t)16 << 20) /* of these; then sl_http_piece returns false */
#define SL_HTTP_WIRE_LOW ((size_t)64 << 10)

/* What a connection costs at most besides its body, its stream and a large answer: header lines, a
 * small answer, TLS. And how many there may be above max_connections, for a moment. */
#define SL_HTTP_CONNECTION_BYTES ((size_t)80 << 10)
#define SL_HTTP_SPARES 64u
#define SL_HTTP_CONNECTIONS(n) ((n) + ((n) / 8 < SL_HTTP_SPARES ? (n) / 8 : SL_HTTP_SPARES))

#define SL_HTTP_ANSWER ((size_t)256 << 20) /* the ceiling of an answer's body where none is set */

struct sl_httpd_spec {
    const char *host;               /* "" or NULL: every address */
    uint16_t port;                  /* 0: any free one */
    const char *cert_pem, *key_pem; /* NULL: plain HTTP. The certificate first, then its chain */
    const char *client_cas;         /* PEM; NULL: clients are not asked for certificates */
    size_t max_body;
    const char *large_path; /* for this one large_body is the ceiling; NULL: none; kept */
    size_t large_body;
    size_t all_bodies;  /* 0: four times the largest */
    size_t all_answers; /* that are given whole, large and not read yet; 0: SL_HTTP_ANSWERS */
    size_t max_answer;  /* one of them: 500 beyond, and 503 if others leave it less; 0:
                           SL_HTTP_ANSWER */
    uint32_t max_connections;
    uint32_t max_unfinished;      /* of these, without a complete request; 0: all may be */
    uint32_t header_ms, body_ms;  /* 0: 10 s each, request_ms at most */
    uint32_t request_ms, idle_ms; /* 0: 30 s and 120 s */
    uint32_t still_ms; /* a body that has stood still for so long is not coming; 0: 1 s */
    sl_http_handler handler;
    /* Asked when the headers of a request that has a body are complete; the body is not there yet.
     * True: it has answered, and the connection is closed with that. NULL: all go to 'handler'. */
    bool (*early)(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a);
    /* Writes the body of an answer that comes from here (413, 503). NULL: a line of text. */
    void (*refusal)(void *ctx, int status, const char *words, struct sl_http_answer *a);
    void *ctx;
};

int sl_httpd_start(struct uv_loop_s *loop, const struct sl_httpd_spec *spec, struct sl_httpd **ret,
                   struct sl_err *err) _must_check_;
uint16_t sl_httpd_port(const struct sl_httpd *h);
/* New certificate, and new authorities for clients (NULL: none), for connections from now on. Those
 * that are there keep the old ones and are closed with their next answer. If something cannot be
 * used, everything stays as it is. */
int sl_httpd_certificate(struct sl_httpd *h, const char *cert_pem, const char *key_pem,
                         const char *client_cas, struct sl_err *err) _must_check_;
/* All requests that wait are asked again; they may go on waiting. Not from a handler. */
void sl_httpd_wake(struct sl_httpd *h);
/* Closes everything; the port is free when it returns. The memory goes when the loop has closed the
 * handles, in its next turn. Not from a handler. NULL is allowed. */
void sl_httpd_stop(struct sl_httpd *h);

#endif
