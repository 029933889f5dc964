/*
 * HTTP and HTTPS servers inside the libuv loop (libmicrohttpd with its epoll descriptor nested in the
 * loop): handlers run on the loop's thread, one after the other, and answer at once or stream.
 */
#ifndef SL_HTTPD_HTTPD_H
#define SL_HTTPD_HTTPD_H

#include "base/buf.h"
#include "base/err.h"

struct uv_loop_s;
struct sl_httpd;

struct sl_http_request {
    const char *method, *path;                     /* path without the query, decoded */
    const char *body;                              /* NUL-terminated */
    size_t len;
    const char *(*query)(const struct sl_http_request *rq, const char *key);  /* NULL if absent */
    const char *(*header)(const struct sl_http_request *rq, const char *name); /* NULL if absent */
    void *priv;
};

struct sl_http_answer {
    int status;               /* 200 unless set */
    const char *content_type; /* "application/json" unless set */
    struct sl_buf body;
};

typedef void (*sl_http_handler)(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a);

struct sl_httpd_spec {
    const char *host; /* "" or NULL: every address */
    uint16_t port;    /* 0: any free one */
    const char *cert_pem, *key_pem; /* NULL: plain HTTP */
    size_t max_body;  /* larger requests get 413 before they are read */
    uint32_t max_connections;
    sl_http_handler handler;
    void *ctx;
};

int sl_httpd_start(struct uv_loop_s *loop, const struct sl_httpd_spec *spec, struct sl_httpd **ret,
                   struct sl_err *err) _must_check_;
uint16_t sl_httpd_port(const struct sl_httpd *h);
/* New certificate for connections from now on. */
int sl_httpd_certificate(struct sl_httpd *h, const char *cert_pem, const char *key_pem, struct sl_err *err) _must_check_;
/* Closes everything; the port is free when it returns (SO_REUSEADDR is set, so that the next start is not held up). */
void sl_httpd_stop(struct sl_httpd *h);

#endif
