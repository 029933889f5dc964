/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accessors of a request, for handlers.
 */
#include <string.h>

#include "lib/http/peer.h"
#include "lib/http/server_int.h"

static const char *find_value(const struct sl_http_request *rq, enum MHD_ValueKind kind,
                              const char *key) {
    const char *value = NULL;
    size_t len;

    if (MHD_lookup_connection_value_n(rq->priv, kind, key, strlen(key), &value, &len) != MHD_YES)
        return NULL;
    return value ? value : "";
}

static const char *find_query(const struct sl_http_request *rq, const char *key) {
    return find_value(rq, MHD_GET_ARGUMENT_KIND, key);
}

static const char *find_header(const struct sl_http_request *rq, const char *name) {
    return find_value(rq, MHD_HEADER_KIND, name);
}

struct header_walk {
    void (*each)(void *ctx, const char *name, const char *value);
    void *ctx;
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
    struct header_walk *w = cls;

    (void)kind;
    w->each(w->ctx, name, value ? value : "");
    return MHD_YES;
}

static void walk_headers(const struct sl_http_request *rq,
                         void (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    struct header_walk w = {each, ctx};

    (void)MHD_get_connection_values(rq->priv, MHD_HEADER_KIND, on_header, &w);
}

static bool find_peer(const struct sl_http_request *rq, char *out, size_t size) {
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(rq->priv, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return i && http_peer_name(i->tls_session, out, size);
}

void sl_httpd_lookups(struct sl_http_request *rq) {
    rq->query = find_query;
    rq->header = find_header;
    rq->headers = walk_headers;
    rq->peer = find_peer;
}
