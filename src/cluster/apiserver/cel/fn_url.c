/* SPDX-License-Identifier: Apache-2.0 */
/* url(), isURL() and the parts of a URL, as Go's net/url takes a request's URI apart. */
#include <arpa/inet.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

struct api_cel_url {
    struct sl_text whole, scheme, host, path, query; /* host decoded; path and query as written */
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int hex(char c) {
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Signs that stand for themselves. */
static bool is_plain(char c, const char *besides) {
    return is_letter(c) || is_digit(c) || (c && (strchr("-_.~", c) || strchr(besides, c)));
}

#define IN_HOST "!$&'()*+,;=:[]<>\""
#define IN_USER ":!$&'()*+,;=%@"
#define IN_PATH "$&+,/:;=@"
#define IN_PATH_TOO "!$&'()*+,;=:@[]%/"

/* Each % is followed by two digits; of hosts, only bytes beyond ASCII are escaped. */
static bool escapes_are_valid(struct sl_text t, bool host) {
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] != '%') {
            if (host && (unsigned char)t.s[i] < 0x80 && !is_plain(t.s[i], IN_HOST))
                return false;
            continue;
        }
        if (i + 2 >= t.n || hex(t.s[i + 1]) < 0 || hex(t.s[i + 2]) < 0)
            return false;
        if (host && hex(t.s[i + 1]) < 8 && strncmp(t.s + i, "%25", 3) != 0)
            return false;
    }
    return true;
}

static bool port_is_valid(struct sl_text t) {
    for (size_t i = 0; i < t.n; i++)
        if (i == 0 ? t.s[i] != ':' : !is_digit(t.s[i]))
            return false;
    return true;
}

static struct sl_text after(struct sl_text t, size_t n) {
    return (struct sl_text){t.s + n, t.n - n};
}

/* [fe80::1%25en0] and what follows. */
static bool literal_is_valid(struct sl_text t) {
    const char *end = memrchr(t.s, ']', t.n), *zone;
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (!end || !port_is_valid(after(t, (size_t)(end + 1 - t.s))))
        return false;
    size_t n = (size_t)(end - t.s) - 1;
    zone = memmem(t.s + 1, n, "%25", 3);
    n = zone ? (size_t)(zone - t.s) - 1 : n;
    if (n >= sizeof(text) || (zone && zone + 3 == end))
        return false;
    memcpy(text, t.s + 1, n);
    text[n] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

static bool host_is_valid(struct sl_text scheme, struct sl_text t) {
    const char *open = memrchr(t.s, '[', t.n);
    const char *colon = memchr(t.s, ':', t.n);
    bool strict = sl_text_eq(scheme, SL_TEXT("http")) || sl_text_eq(scheme, SL_TEXT("https"));

    if (open)
        return open == t.s && literal_is_valid(t);
    if (colon && !strict)
        colon = memrchr(t.s, ':', t.n);
    return (!colon || port_is_valid(after(t, (size_t)(colon - t.s)))) && escapes_are_valid(t, true);
}

static bool user_is_valid(struct sl_text t) {
    for (size_t i = 0; i < t.n; i++)
        if (!is_plain(t.s[i], IN_USER))
            return false;
    return escapes_are_valid(t, false);
}

static struct sl_text cut(struct sl_text *t, char at) {
    const char *end = memchr(t->s, at, t->n);
    struct sl_text rest = {t->s + t->n, 0};

    if (end) {
        rest = after(*t, (size_t)(end + 1 - t->s));
        t->n = (size_t)(end - t->s);
    }
    return rest;
}

static bool authority(struct api_cel_url *u, struct sl_text t) {
    const char *at = memrchr(t.s, '@', t.n);

    u->host = at ? after(t, (size_t)(at + 1 - t.s)) : t;
    return host_is_valid(u->scheme, u->host) &&
           (!at || user_is_valid((struct sl_text){t.s, (size_t)(at - t.s)}));
}

/* The scheme in small letters; NULL: what makes it none is wrong. */
static const char *scheme_of(struct api_run *x, struct sl_text *rest, struct sl_text *ret) {
    size_t n = 0;

    *ret = SL_TEXT("");
    while (n < rest->n && (is_letter(rest->s[n]) ||
                           (n > 0 && (is_digit(rest->s[n]) || strchr("+-.", rest->s[n])))))
        n++;
    if (n == rest->n || rest->s[n] != ':')
        return "";
    if (n == 0)
        return NULL;
    struct api_value copy = api_cel_text_copy(x, rest->s, n);
    if (copy.kind == V_ERROR)
        return NULL;
    for (size_t i = 0; i < n; i++)
        ((char *)copy.s)[i] |= 0x20 & (is_letter(copy.s[i]) ? 0xff : 0);
    *ret = (struct sl_text){copy.s, n};
    *rest = after(*rest, n + 1);
    return copy.s;
}

/* fragment: what is behind # is one, which is left out. NULL: all is right. */
static const char *parse(struct api_run *x, struct sl_text t, bool fragment,
                         struct api_cel_url *u) {
    *u = (struct api_cel_url){SL_TEXT(""), SL_TEXT(""), SL_TEXT(""), SL_TEXT(""), SL_TEXT("")};
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.s[i] < ' ' || t.s[i] == 0x7f)
            return "net/url: invalid control character in URL";
    if (t.n == 0)
        return "empty url";
    if (fragment && !escapes_are_valid(cut(&t, '#'), false))
        return "invalid URL escape";
    u->whole = t;
    struct sl_text rest = t;
    if (sl_text_eq(t, SL_TEXT("*"))) {
        u->path = t;
        return NULL;
    }
    if (!scheme_of(x, &rest, &u->scheme))
        return "missing protocol scheme";
    u->query = cut(&rest, '?');
    if (rest.n == 0 || rest.s[0] != '/')
        return u->scheme.n ? NULL : "invalid URI for request";
    if (u->scheme.n && rest.n > 1 && rest.s[1] == '/') {
        struct sl_text name = after(rest, 2);
        const char *slash = memchr(name.s, '/', name.n);
        rest = slash ? after(name, (size_t)(slash - name.s)) : after(name, name.n);
        name.n -= rest.n;
        if (!authority(u, name))
            return "invalid host";
    }
    u->path = rest;
    return escapes_are_valid(rest, false) ? NULL : "invalid URL escape";
}

static struct api_value make_url(struct api_cel_call *c) {
    struct api_cel_url u, *made;
    struct sl_text t = {c->args[0].s, c->args[0].len};

    if (!api_cel_charge(c->run, t.n / 4))
        return api_cel_too_costly(c->run);
    const char *why = parse(c->run, t, false, &u);
    if (c->node->s[0] == 'i') /* isURL */
        return api_cel_bool(!why);
    if (!why)
        why = parse(c->run, t, true, &u);
    if (why)
        return api_cel_error(c->run,
                             "URL parse error during conversion from string: parse \"%.*s\": %s",
                             (int)(t.n < 80 ? t.n : 80), t.s, why);
    if (!(made = api_cel_make(c->run, sizeof(*made))))
        return api_cel_too_costly(c->run);
    *made = u;
    return (struct api_value){.kind = V_URL, .url = made};
}

bool api_cel_url_equal(const struct api_cel_url *a, const struct api_cel_url *b) {
    return sl_text_eq(a->whole, b->whole);
}

static struct api_value decoded(struct api_run *x, struct sl_text t, bool plus) {
    struct api_value v = api_cel_text_copy(x, t.s, t.n);
    char *s = (char *)v.s;
    size_t n = 0;

    if (v.kind == V_ERROR)
        return v;
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] == '%' && i + 2 < t.n && hex(t.s[i + 1]) >= 0 && hex(t.s[i + 2]) >= 0) {
            s[n++] = (char)(hex(t.s[i + 1]) << 4 | hex(t.s[i + 2]));
            i += 2;
        } else {
            s[n++] = plus && t.s[i] == '+' ? ' ' : t.s[i];
        }
    }
    s[n] = '\0';
    return api_cel_text(s, n);
}

static struct api_value escaped_path(struct api_run *x, struct sl_text t) {
    bool valid = true;
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++)
        valid = valid && is_plain(t.s[i], IN_PATH_TOO);
    if (valid)
        return api_cel_text_copy(x, t.s, t.n);
    struct api_value plain = decoded(x, t, false);
    char *out = plain.kind == V_STR ? api_cel_make(x, 3 * plain.len + 1) : NULL;
    if (!out)
        return plain.kind == V_STR ? api_cel_too_costly(x) : plain;
    for (size_t i = 0; i < plain.len; i++) {
        static const char digits[] = "0123456789ABCDEF";
        if (is_plain(plain.s[i], IN_PATH)) {
            out[n++] = plain.s[i];
            continue;
        }
        out[n++] = '%';
        out[n++] = digits[(unsigned char)plain.s[i] >> 4];
        out[n++] = digits[plain.s[i] & 15];
    }
    out[n] = '\0';
    return api_cel_text(out, n);
}

/* "a=b&a=c": a map from names to lists. */
static struct api_value query(struct api_run *x, struct sl_text t) {
    size_t room = 1, n = 0;

    for (size_t i = 0; i < t.n; i++)
        room += t.s[i] == '&';
    struct api_value *items = api_cel_make(x, 2 * room * sizeof(*items)), made = {.kind = V_MAP};
    if (!items)
        return api_cel_too_costly(x);
    while (t.n) {
        struct sl_text one = t, rest = cut(&one, '&');
        t = rest;
        if (one.n == 0 || memchr(one.s, ';', one.n) || !escapes_are_valid(one, false))
            continue;
        struct sl_text name = one, text = cut(&name, '=');
        struct api_value key = decoded(x, name, true), v = decoded(x, text, true), *list;
        size_t at = 0;
        while (at < n && !api_cel_equal(x, &items[2 * at], &key))
            at++;
        size_t had = at < n ? items[2 * at + 1].n : 0;
        list = api_cel_make(x, (had + 1) * sizeof(*list));
        if (!list || key.kind == V_ERROR || v.kind == V_ERROR)
            return api_cel_too_costly(x);
        if (had)
            memcpy(list, items[2 * at + 1].items, had * sizeof(*list));
        list[had] = v;
        items[2 * at] = key;
        items[2 * at + 1] = api_cel_list(list, had + 1);
        n += at == n;
    }
    made.items = items;
    made.n = n;
    return made;
}

enum { GET_SCHEME, GET_HOST, GET_HOSTNAME, GET_PORT, GET_PATH, GET_QUERY };

static struct api_value get(struct api_cel_call *c) {
    const struct api_cel_url *u = c->args[0].url;
    struct api_value host = decoded(c->run, u->host, false);

    if (host.kind == V_ERROR)
        return host;
    const char *end = host.s + host.len, *colon = memrchr(host.s, ':', host.len);
    const char *bracket = memrchr(host.s, ']', host.len);
    if (colon && bracket && bracket > colon)
        colon = NULL;
    if (colon && !port_is_valid((struct sl_text){colon, (size_t)(end - colon)}))
        colon = NULL;
    switch (c->how) {
    case GET_SCHEME:
        return api_cel_text_copy(c->run, u->scheme.s, u->scheme.n);
    case GET_HOST:
        return host;
    case GET_HOSTNAME:
        if (host.len && *host.s == '[' && bracket)
            return api_cel_text_copy(c->run, host.s + 1, (size_t)(bracket - host.s - 1));
        return api_cel_text_copy(c->run, host.s, (size_t)((colon ? colon : end) - host.s));
    case GET_PORT:
        return colon ? api_cel_text_copy(c->run, colon + 1, (size_t)(end - colon - 1))
                     : api_cel_text("", 0);
    case GET_PATH:
        return escaped_path(c->run, u->path);
    default:
        return query(c->run, u->query);
    }
}

const struct api_cel_function api_cel_functions_url[] = {
    {"url", false, "s", 'U', make_url, 0},
    {"isURL", false, "s", 'b', make_url, 0},
    {"getScheme", true, "U", 's', get, GET_SCHEME},
    {"getHost", true, "U", 's', get, GET_HOST},
    {"getHostname", true, "U", 's', get, GET_HOSTNAME},
    {"getPort", true, "U", 's', get, GET_PORT},
    {"getEscapedPath", true, "U", 's', get, GET_PATH},
    {"getQuery", true, "U", 'M', get, GET_QUERY},
    {0},
};
