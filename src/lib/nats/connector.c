/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a connector string, server by server. Nothing of what was found is quoted in a message: a
 * password is where a user forgot the host, and a token is where another expects one.
 */
#include "lib/nats/connector.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/collection/hash.h"

#define DEFAULT_PORT 4222u
#define MAX_HOST 253u

enum scheme { SCHEME_NATS, SCHEME_TLS, SCHEME_WEBSOCKET };

static const struct {
    const char *name;
    enum scheme scheme;
} schemes[] = {
    {"nats", SCHEME_NATS},
    {"tls", SCHEME_TLS},
    {"ws", SCHEME_WEBSOCKET},
    {"wss", SCHEME_WEBSOCKET},
};

struct reading {
    const char *text; /* the whole string */
    uint32_t server;  /* counted from 1, for messages */
    struct sl_arena *arena;
    struct sl_err *err;
};

static struct sl_text before(struct sl_text t, const char *p) {
    return (struct sl_text){t.s, (size_t)(p - t.s)};
}

static struct sl_text after(struct sl_text t, const char *p) {
    return (struct sl_text){p + 1, (size_t)(t.s + t.n - p - 1)};
}

/* ---- who connects ---- */

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool sl_nats_is_utf8(const char *s) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(3 * SL_NATS_MAX_SECRET + 1);

    sl_buf_utf8(&b, s);
    bool same = !sl_buf_full(&b) && strcmp(sl_buf_str(&b), s) == 0;
    if (b.s)
        explicit_bzero(b.s, b.cap);
    return same;
}

/* A user, a password or a token with its escapes resolved. */
static int decode(const struct reading *rd, struct sl_text t, const char *what, const char **ret) {
    char *out = sl_arena_alloc(rd->arena, t.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] != '%') {
            out[n++] = t.s[i];
            continue;
        }
        bool whole = i + 2 < t.n;
        int high = whole ? hex(t.s[i + 1]) : -1, low = whole ? hex(t.s[i + 2]) : -1;
        if (high < 0 || low < 0)
            return sl_err_set(rd->err, SL_EINVAL,
                              "server %u: the %s has a '%%' without two hexadecimal digits; a '%%' "
                              "of its own is written %%25",
                              rd->server, what);
        out[n] = (char)(high << 4 | low);
        if (out[n++] == '\0')
            return sl_err_set(rd->err, SL_EINVAL, "server %u: the %s has a NUL byte", rd->server,
                              what);
        i += 2;
    }
    out[n] = '\0';
    if (n > SL_NATS_MAX_SECRET)
        return sl_err_set(rd->err, SL_ELIMIT, "server %u: the %s is longer than %u bytes",
                          rd->server, what, SL_NATS_MAX_SECRET);
    if (!sl_nats_is_utf8(out))
        return sl_err_set(rd->err, SL_EINVAL, "server %u: the %s is no UTF-8", rd->server, what);
    *ret = out;
    return SL_OK;
}

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_identity(const struct sl_nats_connector *c) {
    return c->user || c->token;
}

/* "user:password" or "token"; one connection has one of them. */
static int read_identity(const struct reading *rd, struct sl_text t, struct sl_nats_connector *c) {
    const char *colon = memchr(t.s, ':', t.n);
    struct sl_nats_connector mine = {0};
    int r;

    if (t.n == 0 || colon == t.s)
        return sl_err_set(rd->err, SL_EINVAL, "server %u: no user before the '%c'", rd->server,
                          t.n ? ':' : '@');
    if (colon) {
        r = decode(rd, before(t, colon), "user", &mine.user);
        if (r >= 0)
            r = decode(rd, after(t, colon), "password", &mine.password);
    } else {
        r = decode(rd, t, "token", &mine.token);
    }
    if (r < 0)
        return r;
    if (has_identity(c) && !(same(c->user, mine.user) && same(c->password, mine.password) &&
                             same(c->token, mine.token)))
        return sl_err_set(rd->err, SL_EINVAL,
                          "server %u has other credentials than one before it; a connection has "
                          "one identity",
                          rd->server);
    c->user = mine.user;
    c->password = mine.password;
    c->token = mine.token;
    return SL_OK;
}

/* ---- where ---- */

static int read_port(const struct reading *rd, struct sl_text t, uint16_t *ret) {
    uint32_t port = 0;

    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9' || port > UINT16_MAX) {
            port = 0;
            break;
        }
        port = port * 10 + (uint32_t)(t.s[i] - '0');
    }
    if (port == 0 || port > UINT16_MAX)
        return sl_err_set(rd->err, SL_EINVAL,
                          "server %u: expected a port from 1 to 65535 after the ':'", rd->server);
    *ret = (uint16_t)port;
    return SL_OK;
}

static bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

static int read_host(const struct reading *rd, struct sl_text t, const char **ret) {
    if (t.n == 0)
        return sl_err_set(rd->err, SL_EINVAL, "server %u: no host", rd->server);
    if (t.n > MAX_HOST)
        return sl_err_set(rd->err, SL_ELIMIT, "server %u: the host is longer than %u bytes",
                          rd->server, MAX_HOST);
    for (size_t i = 0; i < t.n; i++) {
        bool empty = t.s[i] == '.' && (i == 0 || t.s[i - 1] == '.');
        if (!is_host_char(t.s[i]) || empty)
            return sl_err_set(rd->err, SL_EINVAL,
                              "server %u: the host has %s at byte %zu of the connector", rd->server,
                              empty ? "an empty part" : "a character that no host name has",
                              (size_t)(t.s + i - rd->text) + 1);
    }
    *ret = sl_arena_strndup(rd->arena, t.s, t.n);
    return SL_OK;
}

static int read_ipv6(const struct reading *rd, struct sl_text t, const char **ret) {
    char *host = sl_arena_strndup(rd->arena, t.s, t.n);
    struct in6_addr address;

    if (t.n >= INET6_ADDRSTRLEN || inet_pton(AF_INET6, host, &address) != 1)
        return sl_err_set(rd->err, SL_EINVAL, "server %u: no IPv6 address in the brackets",
                          rd->server);
    *ret = host;
    return SL_OK;
}

/* "host", "host:port", "[address]", "[address]:port" */
static int read_server(const struct reading *rd, struct sl_text t, struct sl_nats_server *s) {
    const char *end = t.n && t.s[0] == '[' ? memchr(t.s, ']', t.n) : NULL;
    struct sl_text rest = end ? after(t, end) : t;
    const char *colon = memchr(rest.s, ':', rest.n);
    int r;

    s->port = DEFAULT_PORT;
    if (end && rest.n && colon != rest.s)
        return sl_err_set(rd->err, SL_EINVAL, "server %u: expected ':' and a port after the ']'",
                          rd->server);
    if (colon && memchr(colon + 1, ':', (size_t)(rest.s + rest.n - colon - 1)))
        return sl_err_set(rd->err, SL_EINVAL,
                          "server %u: more than one ':'; an IPv6 address stands in brackets, as "
                          "nats://[::1]:4222",
                          rd->server);
    if (end)
        r = read_ipv6(rd, (struct sl_text){t.s + 1, (size_t)(end - t.s) - 1}, &s->host);
    else
        r = read_host(rd, colon ? before(t, colon) : t, &s->host);
    if (r >= 0 && colon)
        r = read_port(rd, after(rest, colon), &s->port);
    return r;
}

/* ---- one of the list ---- */

static int read_scheme(const struct reading *rd, struct sl_text *t, bool *tls) {
    const char *end = memmem(t->s, t->n, "://", 3);
    enum scheme scheme = SCHEME_NATS;
    size_t i = 0;

    if (!end)
        return SL_OK;
    struct sl_text name = before(*t, end);
    for (; i < SL_LEN(schemes); i++) {
        scheme = schemes[i].scheme;
        if (strlen(schemes[i].name) == name.n && strncasecmp(schemes[i].name, name.s, name.n) == 0)
            break;
    }
    if (i == SL_LEN(schemes))
        return sl_err_set(rd->err, SL_EINVAL, "server %u: expected nats:// or tls://", rd->server);
    if (scheme == SCHEME_WEBSOCKET)
        return sl_err_set(rd->err, SL_EINVAL,
                          "server %u: WebSocket (ws://, wss://) is not supported; "
                          "use the nats:// or tls:// port of the same server",
                          rd->server);
    *tls |= scheme == SCHEME_TLS;
    *t = after(*t, end + 2);
    return SL_OK;
}

static int read_one(const struct reading *rd, struct sl_text t, struct sl_nats_connector *c) {
    int r = read_scheme(rd, &t, &c->tls);

    if (r < 0)
        return r;
    size_t authority = 0;
    while (authority < t.n && !strchr("/?#", t.s[authority]))
        authority++;
    if (authority < t.n && !(authority == t.n - 1 && t.s[authority] == '/'))
        return sl_err_set(
            rd->err, SL_EINVAL,
            "server %u: nothing may follow host and port; a '/', '?' or '#' in a user "
            "or password is written %%2F, %%3F or %%23",
            rd->server);
    t.n = authority;
    const char *at = memrchr(t.s, '@', t.n);
    if (at) {
        r = read_identity(rd, before(t, at), c);
        t = after(t, at);
    }
    if (r >= 0)
        r = read_server(rd, t, &c->servers[c->n]);
    if (r >= 0)
        c->n++;
    return r;
}

/* What stands nowhere in a connector, whatever it is part of. */
static int check_bytes(const char *text, size_t len, struct sl_err *err) {
    if (len == 0)
        return sl_err_set(err, SL_EINVAL, "expected a server such as nats://host:4222");
    if (len > SL_NATS_MAX_CONNECTOR)
        return sl_err_set(err, SL_ELIMIT, "the connector is longer than %u bytes",
                          SL_NATS_MAX_CONNECTOR);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == 0x7f)
            return sl_err_set(err, SL_EINVAL, "the connector has %s at byte %zu",
                              c == ' ' ? "a space" : "a control character", i + 1);
    }
    return SL_OK;
}

int sl_nats_connector_parse(const char *text, size_t len, struct sl_arena *a,
                            struct sl_nats_connector *ret, struct sl_err *err) {
    struct reading rd = {.text = text, .arena = a, .err = err};
    struct sl_nats_connector c = {0};
    struct sl_text rest = {text, len};
    int r = check_bytes(text, len, err);

    for (const char *comma = text; r >= 0 && comma;) {
        if (++rd.server > SL_NATS_MAX_SERVERS) {
            r = sl_err_set(err, SL_ELIMIT, "more than %u servers", SL_NATS_MAX_SERVERS);
            break;
        }
        comma = memchr(rest.s, ',', rest.n);
        r = read_one(&rd, comma ? before(rest, comma) : rest, &c);
        if (comma)
            rest = after(rest, comma);
    }
    if (r >= 0 && sl_arena_full(a))
        r = sl_err_set(err, SL_ELIMIT, "the connector does not fit");
    if (r >= 0)
        *ret = c;
    else
        sl_nats_connector_wipe(&c);
    return r;
}

void sl_nats_connector_print(const struct sl_nats_connector *c, struct sl_buf *out) {
    sl_buf_puts(out, c->tls ? "tls://" : "nats://");
    for (uint32_t i = 0; i < c->n; i++) {
        bool ipv6 = strchr(c->servers[i].host, ':') != NULL;
        sl_buf_printf(out, "%s%s%s%s:%u", i ? "," : "", ipv6 ? "[" : "", c->servers[i].host,
                      ipv6 ? "]" : "", c->servers[i].port);
    }
}

static uint64_t hash_server(const struct sl_nats_server *s) {
    char host[MAX_HOST + 1];
    size_t n = 0;

    for (; s->host[n]; n++) /* names are not case-sensitive */
        host[n] = (char)tolower((unsigned char)s->host[n]);
    return sl_hash_bytes(s->port, host, n);
}

uint64_t sl_nats_connector_hash(const struct sl_nats_connector *c) {
    const char *const identity[] = {c->user, c->password, c->token};
    uint64_t hashes[SL_NATS_MAX_SERVERS], all = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        bool again = false;
        hashes[i] = hash_server(&c->servers[i]);
        for (uint32_t k = 0; k < i; k++)
            again |= hashes[k] == hashes[i];
        all += again ? 0 : hashes[i];
    }
    for (size_t i = 0; i < SL_LEN(identity); i++)
        all = identity[i] ? sl_hash_str(all, identity[i]) : sl_hash_u64(all, i);
    return sl_hash_u64(all, c->tls);
}

void sl_nats_connector_wipe(struct sl_nats_connector *c) {
    const char **secrets[] = {&c->user, &c->password, &c->token};

    for (size_t i = 0; i < SL_LEN(secrets); i++) {
        if (*secrets[i])
            explicit_bzero((char *)*secrets[i], strlen(*secrets[i])); /* the arena's own */
        *secrets[i] = NULL;
    }
}

bool sl_nats_is_address(const char *host) {
    struct in6_addr a;

    return inet_pton(AF_INET, host, &a) == 1 || inet_pton(AF_INET6, host, &a) == 1;
}

const char *sl_nats_subject_fault(struct sl_text t, bool wildcards) {
    if (t.n > SL_NATS_MAX_SUBJECT + (wildcards ? 2 : 0))
        return "must be no more than " SL_STRING(SL_NATS_MAX_SUBJECT) " bytes";
    for (size_t i = 0; i <= t.n; i++) {
        unsigned char c = i < t.n ? (unsigned char)t.s[i] : '.';
        if (c == '.' && (i == 0 || t.s[i - 1] == '.'))
            return "must not have empty tokens";
        if (!wildcards && (c == '*' || c == '>'))
            return "must not have wildcards";
        if (c <= ' ' || c == 0x7f)
            return "must not have spaces or control characters";
    }
    return NULL;
}
