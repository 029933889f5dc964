/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/up/frontend.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#include "cluster/apiserver/token.h"
#include "cluster/up/limits.h"
#include "core/base/arena.h"
#include "core/base/mem.h"
#include "lib/json/writer.h"

#define ADMIN "admin"
#define MAX_GROUPS 64u
#define MAX_WARNINGS 64u
/* Bytes of all, as in kube-apiserver: beyond it each is truncated, and so many are sent. A response
 * whose headers do not fit would fail. */
#define WARNINGS_BYTES 4096u
#define WARNING_BYTES 256u
#define REQUEST_MS 65000u /* a little more than a request of kube-apiserver's may take */
#define IDLE_MS 120000u
#define OTHER_FILES 512u /* that are not connections: logs, pipes of pods */
#define MAX_SHORT 256u   /* connections that no stream gets */

struct up_frontend {
    struct up_frontend_spec spec;
    struct sl_httpd *httpd;
    struct sl_apiserver *api; /* NULL: not yet */
    struct sl_arena arena;    /* of one handler or answer */
    uint32_t streams, max_streams;
};

/* One request on its way. */
struct pending_call {
    struct up_frontend *d;
    struct sl_http_call *http;
    sl_api_call api;
    bool streams;
    const struct sl_api_upgrade_events *wire; /* NULL: plain HTTP */
    void *wire_ctx;
};

/* ---- answers of our own ---- */

static void put_status(struct sl_http_answer *a, int code, const char *reason,
                       const char *message) {
    a->status = code;
    a->content_type = "application/json";
    struct sl_jw *w = &SL_JW(&a->body);
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "Status");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_raw(w, "metadata", "{}");
    sl_jw_str(w, "status", "Failure");
    sl_jw_str(w, "message", message);
    sl_jw_str(w, "reason", reason);
    sl_jw_int(w, "code", code);
    sl_jw_end(w);
    sl_buf_putc(&a->body, '\n');
}

static void put_refusal(void *ctx, int status, const char *message, struct sl_http_answer *a) {
    (void)ctx;
    if (status == 413)
        put_status(a, status, "RequestEntityTooLarge",
                   "Request entity too large: limit is 3145728");
    else
        put_status(a, status,
                   status == 503   ? "ServiceUnavailable"
                   : status == 429 ? "TooManyRequests"
                   : status == 400 ? "BadRequest"
                                   : "InternalError",
                   message);
}

/* What is looked at; of the server being alive, those before HEALTH_ALIVE. */
static const char *const health_checks[] = {"ping", "log", "etcd", "informer-sync"};
#define HEALTH_ALIVE 3u

static bool answer_health(struct up_frontend *d, const struct sl_http_request *rq,
                          struct sl_http_answer *a) {
    static const char *const roots[] = {"/readyz", "/livez", "/healthz"};
    const char *root = NULL, *rest = "", *why = NULL;

    for (size_t i = 0; i < SL_LEN(roots) && !root; i++)
        if (strncmp(rq->path, roots[i], strlen(roots[i])) == 0 &&
            strchr("/", rq->path[strlen(roots[i])])) {
            root = roots[i];
            rest = rq->path + strlen(root);
        }
    if (!root)
        return false;
    uint32_t n = root == roots[0] ? SL_LEN(health_checks) : HEALTH_ALIVE, one = n;
    for (uint32_t i = 0; i < n && *rest == '/'; i++)
        if (strcmp(rest + 1, health_checks[i]) == 0)
            one = i;
    if (*rest && one == n)
        return false;
    if (root == roots[0] && (!*rest || one >= HEALTH_ALIVE))
        why = d->spec.unready(d->spec.ctx);
    a->status = why ? 503 : 200; /* a probe expects no Status */
    a->content_type = "text/plain; charset=utf-8";
    if (!rq->query(rq, "verbose") || *rest) {
        sl_buf_puts(&a->body, why ? why : "ok");
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool bad = why && i >= HEALTH_ALIVE;
        sl_buf_printf(&a->body, "[%c]%s %s%s\n", bad ? '-' : '+', health_checks[i],
                      bad ? "failed: " : "ok", bad ? why : "");
    }
    sl_buf_printf(&a->body, "%s check %s%s", root + 1, why ? "failed" : "passed", why ? "" : "\n");
    return true;
}

/* ---- authentication ---- */

struct user {
    const char *user; /* NULL: not authenticated */
    const char *groups[MAX_GROUPS + 1];
    uint32_t n;
    bool crowded; /* there are more groups: without them it would be another user */
};

static void take(struct user *w, const char *group) {
    if (w->n < MAX_GROUPS)
        w->groups[w->n++] = group;
    else
        w->crowded = true;
}

static void add_group(struct user *w, const char *group) {
    for (uint32_t i = 0; i < w->n; i++)
        if (strcmp(w->groups[i], group) == 0)
            return;
    take(w, group);
}

static void take_group(void *ctx, const char *name, const char *value) {
    if (strcasecmp(name, "Impersonate-Group") == 0)
        take(ctx, value);
}

static const char *bearer(const struct sl_http_request *rq) {
    const char *h = rq->header(rq, "Authorization");

    if (!h || strncasecmp(h, "Bearer", 6) != 0 || h[6] != ' ')
        return NULL;
    return h + 6 + strspn(h + 6, " ");
}

static void service_account(struct up_frontend *d, struct user *w) {
    const char *ns = w->user + strlen("system:serviceaccount:");

    add_group(w, "system:serviceaccounts");
    add_group(w,
              sl_arena_printf(&d->arena, "system:serviceaccounts:%.*s", (int)strcspn(ns, ":"), ns));
}

static sl_time wall(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail for this clock */
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

/* Is he authenticated? A user who is impersonated may be said not to be. */
static void add_standing(struct user *w) {
    const char *standing = strcmp(w->user, "system:anonymous") == 0 ? "system:unauthenticated"
                                                                    : "system:authenticated";
    for (uint32_t i = 0; i < w->n; i++)
        if (strcmp(w->groups[i], "system:unauthenticated") == 0)
            return;
    add_group(w, standing);
}

static struct user find_user(struct up_frontend *d, const struct sl_http_request *rq) {
    const char *token = bearer(rq), *as = rq->header(rq, "Impersonate-User");
    size_t len = strlen(d->spec.token);
    struct user w = {0};

    if (!token)
        return w;
    if (strlen(token) != len || CRYPTO_memcmp(token, d->spec.token, len) != 0) {
        struct sl_api_bearer b;
        if (sl_api_token_read(d->api, &d->arena, token, NULL, wall(), &b)) {
            w.user = b.user;
            service_account(d, &w);
        }
    } else if (as && *as) {
        w.user = as;
        rq->headers(rq, take_group, &w); /* these, and no others that he would have */
        if (!w.n && strncmp(as, "system:serviceaccount:", 22) == 0)
            service_account(d, &w);
    } else {
        w.user = ADMIN;
        add_group(&w, "system:masters");
    }
    if (w.user)
        add_standing(&w);
    if (w.crowded)
        w.user = NULL;
    return w;
}

/* ---- passing on ---- */

static void end_call(struct pending_call *e) {
    e->d->streams -= e->streams;
    sl_freep(&e);
}

static void on_gone(void *ctx) {
    struct pending_call *e = ctx;

    sl_apiserver_cancel(e->d->api, e->api);
    end_call(e);
}

/* 299 is "miscellaneous, stays", and the text a quoted string of one line. */
static const char *warning(struct sl_arena *a, const char *text, size_t n) {
    struct sl_buf b = SL_BUF((size_t)2 * WARNINGS_BYTES + 16);

    sl_buf_puts(&b, "299 - \"");
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            sl_buf_putc(&b, '\\');
        sl_buf_putc(&b, (char)((unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i]));
    }
    const char *out = sl_arena_printf(a, "%s\"", sl_buf_str(&b));
    sl_buf_done(&b);
    return out;
}

/* So many bytes of a text, cut where a character begins. */
static size_t utf8_prefix(const char *s, size_t most) {
    size_t n = strnlen(s, most + 1);

    if (n <= most)
        return n;
    for (n = most; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

/* Pairs behind the others; how many texts there are then. */
static uint32_t put_warnings(struct sl_arena *a, const char *const *warnings, const char **headers,
                             uint32_t n) {
    size_t all = 0, total = 0;

    for (uint32_t i = 0; warnings[i] && i < MAX_WARNINGS; i++)
        all += strnlen(warnings[i], WARNINGS_BYTES + 1);
    for (uint32_t i = 0; warnings[i] && i < MAX_WARNINGS && total < WARNINGS_BYTES; i++) {
        size_t len =
            utf8_prefix(warnings[i], all > WARNINGS_BYTES ? WARNING_BYTES : WARNINGS_BYTES);
        total += len;
        headers[n++] = "Warning";
        headers[n++] = warning(a, warnings[i], len);
    }
    return n;
}

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    struct pending_call *e = ctx;
    const char *headers[2 * (MAX_WARNINGS + 2) + 1] = {"Cache-Control", "no-cache, private"};
    uint32_t n = 2;

    if (a->retry_after) {
        headers[n++] = "Retry-After";
        headers[n++] = sl_arena_printf(&e->d->arena, "%u", a->retry_after);
    }
    if (a->warnings)
        n = put_warnings(&e->d->arena, a->warnings, headers, n);
    headers[n] = NULL;
    sl_http_reply(e->http, a->status, a->content_type, headers, a->body, a->len);
    sl_arena_clear(&e->d->arena);
    end_call(e);
}

/* The remaining calls are reserved for requests that do not stream. */
static void refuse_stream(struct pending_call *e) {
    static const char *const headers[] = {"Retry-After", "1", NULL};
    struct sl_http_answer a = {0};

    sl_buf_init(&a.body, 4096);
    sl_buf_short(&a.body);
    put_status(&a, 429, "TooManyRequests", "Too many requests, please try again later.");
    sl_http_reply(e->http, a.status, a.content_type, headers, a.body.s, a.body.len);
    sl_buf_done(&a.body);
    sl_apiserver_cancel(e->d->api, e->api);
    end_call(e);
}

/* False: it was refused, and is gone. */
static bool may_stream(struct pending_call *e) {
    if (e->d->streams >= e->d->max_streams) {
        refuse_stream(e);
        return false;
    }
    e->streams = true;
    e->d->streams++;
    return true;
}

static void on_begin(void *ctx, const char *content_type) {
    struct pending_call *e = ctx;

    if (may_stream(e))
        sl_http_begin(e->http, content_type);
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    return sl_http_piece(((struct pending_call *)ctx)->http, bytes, len);
}

static void on_end(void *ctx) {
    struct pending_call *e = ctx;

    sl_http_end(e->http);
    end_call(e);
}

/* ---- wires ---- */

static void on_wire_bytes(void *ctx, const char *bytes, size_t len) {
    struct pending_call *e = ctx;

    e->wire->bytes(e->wire_ctx, bytes, len);
}

static void on_upgraded_writable(void *ctx) {
    struct pending_call *e = ctx;

    e->wire->writable(e->wire_ctx);
}

static void on_upgrade(void *ctx, const char *const *headers,
                       const struct sl_api_upgrade_events *wire, void *wire_ctx) {
    static const struct sl_http_upgrade_events http = {.bytes = on_wire_bytes,
                                                       .writable = on_upgraded_writable};
    struct pending_call *e = ctx;

    if (!may_stream(e))
        return;
    e->wire = wire;
    e->wire_ctx = wire_ctx;
    sl_http_upgrade(e->http, headers, &http);
}

static void on_hold(void *ctx, bool hold) {
    sl_http_hold_input(((struct pending_call *)ctx)->http, hold);
}

static size_t on_waiting(void *ctx) {
    return sl_http_waiting(((struct pending_call *)ctx)->http);
}

/* ---- the question ---- */

static const char *header(const struct sl_http_request *rq, const char *name) {
    const char *v = rq->header(rq, name);

    return v ? v : "";
}

struct join {
    struct sl_arena *arena;
    const char *name, *text;
};

static void join_header(void *ctx, const char *name, const char *value) {
    struct join *j = ctx;

    if (strcasecmp(name, j->name) == 0)
        j->text = sl_arena_printf(j->arena, "%s%s%s", j->text, *j->text ? "," : "", value);
}

/* All lines of this name as one. */
static const char *all_headers(struct up_frontend *d, const struct sl_http_request *rq,
                               const char *name) {
    struct join j = {.arena = &d->arena, .name = name, .text = ""};

    rq->headers(rq, join_header, &j);
    return j.text;
}

static bool asks_for_upgrade(const struct sl_http_request *rq) {
    return strcasestr(header(rq, "Connection"), "upgrade") && *header(rq, "Upgrade");
}

static void pass_on(struct up_frontend *d, const struct sl_http_request *rq, const struct user *w) {
    struct pending_call *e = sl_alloc0(1, sizeof *e);
    const bool upgrades = asks_for_upgrade(rq);
    const struct sl_api_upgrade upgrade = {
        .to = header(rq, "Upgrade"),
        .key = header(rq, "Sec-WebSocket-Key"),
        .version = header(rq, "Sec-WebSocket-Version"),
        .protocols = upgrades ? all_headers(d, rq, "Sec-WebSocket-Protocol") : "",
        .streams = upgrades ? all_headers(d, rq, "X-Stream-Protocol-Version") : "",
    };
    const struct sl_api_request request = {
        .method = rq->method,
        .path = rq->path,
        .query = rq->raw_query,
        .accept = header(rq, "Accept"),
        .content_type = header(rq, "Content-Type"),
        .user_agent = header(rq, "User-Agent"),
        .user = w->user,
        .groups = w->groups,
        .body = rq->body,
        .len = rq->len,
        .upgrade = upgrades ? &upgrade : NULL,
    };
    const struct sl_api_sink sink = {
        .ctx = e,
        .answer = on_answer,
        .begin = on_begin,
        .piece = on_piece,
        .end = on_end,
        .upgrade = on_upgrade,
        .hold = on_hold,
        .waiting = on_waiting,
    };

    e->d = d;
    e->http = sl_http_hold(rq, on_gone, e);
    e->api = sl_apiserver_call(d->api, &request, &sink);
}

/* Before the body is read: nothing is buffered for unauthenticated clients. */
static bool refuse_early(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct up_frontend *d = ctx;

    if (answer_health(d, rq, a))
        return true;
    bool known = find_user(d, rq).user;
    if (!known)
        put_status(a, 401, "Unauthorized", "Unauthorized");
    sl_arena_clear(&d->arena);
    return !known;
}

static void serve(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct up_frontend *d = ctx;

    if (answer_health(d, rq, a))
        return;
    struct user w = find_user(d, rq);
    if (!w.user)
        put_status(a, 401, "Unauthorized", "Unauthorized");
    else if (!d->api)
        put_status(a, 503, "ServiceUnavailable", "the API server is starting");
    else if (!d->spec.other(d->spec.ctx, rq, a))
        pass_on(d, rq, &w);
    sl_arena_clear(&d->arena);
}

/* ---- for the owner ---- */

/* How many connections there may be. */
static uint32_t connection_limit(void) {
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0)
        return OTHER_FILES;
    rlim_t want = SL_UP_CONNECTIONS + OTHER_FILES;
    if (l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
        (void)getrlimit(RLIMIT_NOFILE, &l);
    }
    return l.rlim_cur >= want                     ? SL_UP_CONNECTIONS
           : l.rlim_cur > (rlim_t)2 * OTHER_FILES ? (uint32_t)(l.rlim_cur - OTHER_FILES)
                                                  : (uint32_t)(l.rlim_cur / 2 + 1);
}

int up_frontend_open(const struct up_frontend_spec *spec, struct up_frontend **ret,
                     struct sl_err *err) {
    struct up_frontend *d = sl_alloc0(1, sizeof *d);
    const struct sl_httpd_spec http = {
        .host = spec->host,
        .port = spec->port,
        .cert_pem = spec->cert->cert_pem,
        .key_pem = spec->cert->key_pem,
        .max_body = SL_API_MAX_BODY,
        .all_bodies = SL_UP_BODIES,
        .max_connections = spec->max_connections ? spec->max_connections : connection_limit(),
        .max_unfinished =
            (spec->max_connections ? spec->max_connections : connection_limit()) / 2 + 1,
        .body_ms = REQUEST_MS, /* those are known; a link may be slow, but not without end */
        .request_ms = REQUEST_MS,
        .idle_ms = IDLE_MS,
        .handler = serve,
        .early = refuse_early,
        .refusal = put_refusal,
        .ctx = d,
    };

    d->spec = *spec;
    d->max_streams = http.max_connections -
                     (http.max_connections / 8 < MAX_SHORT ? http.max_connections / 8 : MAX_SHORT);
    sl_arena_init(&d->arena, (size_t)16 << 20);
    int r = sl_httpd_start(spec->loop, &http, &d->httpd, err);
    if (r < 0)
        up_frontend_close(d);
    else
        *ret = d;
    return r;
}

uint16_t up_frontend_port(const struct up_frontend *d) {
    return sl_httpd_port(d->httpd);
}

void up_frontend_serve(struct up_frontend *d, struct sl_apiserver *api) {
    d->api = api;
}

int up_frontend_certificate(struct up_frontend *d, const struct sl_cert *cert, struct sl_err *err) {
    return sl_httpd_certificate(d->httpd, cert->cert_pem, cert->key_pem, NULL, err);
}

void up_frontend_close(struct up_frontend *d) {
    if (!d)
        return;
    sl_httpd_stop(d->httpd);
    sl_arena_done(&d->arena);
    sl_freep(&d);
}
