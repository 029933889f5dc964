/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and networks: ip(), cidr() and what can be asked of them. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "core/base/fmt.h"

/* Why not; NULL: it is an address. Of IPv4 without zeros in front, of IPv6 without a zone. */
static const char *parse_ip(const char *s, size_t len, struct api_value *ret) {
    char text[INET6_ADDRSTRLEN + 1];

    *ret = (struct api_value){.kind = V_IP};
    if (len >= sizeof(text) || memchr(s, '\0', len))
        return "unable to parse IP";
    if (memchr(s, '%', len))
        return "with zone value is not allowed";
    memcpy(text, s, len);
    text[len] = '\0';
    if (!strchr(text, ':')) {
        for (const char *p = text; *p; p++)
            if (*p == '0' && (p == text || p[-1] == '.') && p[1] >= '0' && p[1] <= '9')
                return "IPv4 field has octet with leading zero";
        ret->family = 4;
        return inet_pton(AF_INET, text, ret->address) == 1 ? NULL : "unable to parse IP";
    }
    ret->family = 6;
    if (inet_pton(AF_INET6, text, ret->address) != 1)
        return "unable to parse IP";
    return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)ret->address)
               ? "IPv4-mapped IPv6 address is not allowed"
               : NULL;
}

static const char *parse_cidr(const char *s, size_t len, struct api_value *ret) {
    const char *slash = memrchr(s, '/', len);
    size_t digits = slash ? len - (size_t)(slash - s) - 1 : 0;
    char text[4] = {0};

    if (!slash)
        return "no '/'";
    const char *why = parse_ip(s, (size_t)(slash - s), ret);
    if (why)
        return why;
    if (digits == 0 || digits > 3 || strspn(slash + 1, "0123456789") < digits ||
        (digits > 1 && slash[1] == '0'))
        return "bad bits after slash";
    memcpy(text, slash + 1, digits);
    long bits = strtol(text, NULL, 10);
    if (bits > (ret->family == 4 ? 32 : 128))
        return "prefix length out of range";
    ret->kind = V_CIDR;
    ret->bits = (uint8_t)bits;
    return NULL;
}

/* RFC 5952, with IPv6 never written as IPv4. */
static void print_ip(const struct api_value *v, char out[64]) {
    uint16_t words[8];
    int best = -1, best_len = 1;
    size_t n = 0;

    if (v->family == 4) {
        sl_fmt(out, 64, "%u.%u.%u.%u", v->address[0], v->address[1], v->address[2], v->address[3]);
        return;
    }
    for (int i = 0; i < 8; i++)
        words[i] = (uint16_t)(v->address[2 * i] << 8 | v->address[2 * i + 1]);
    for (int i = 0; i < 8; i++) {
        int j = i;
        while (j < 8 && words[j] == 0)
            j++;
        if (j - i > best_len) {
            best = i;
            best_len = j - i;
        }
    }
    for (int i = 0; i < 8; i++) {
        if (i == best) {
            out[n++] = ':';
            out[n++] = ':';
            out[n] = '\0';
            i += best_len - 1;
            continue;
        }
        sl_fmt(out + n, 64 - n, "%s%x", n && out[n - 1] != ':' ? ":" : "", words[i]);
        n += strlen(out + n);
    }
}

#define BAD_NET "network address parse error during conversion from string: "

enum { MAKE, ASK };

static struct api_value make_ip(struct api_cel_call *c) {
    const struct api_value *s = &c->args[0];
    struct api_value v;
    const char *why = api_cel_charge(c->run, 8) ? parse_ip(s->s, s->len, &v) : "too costly";

    if (c->how == ASK)
        return api_cel_bool(!why);
    const int n = (int)(s->len < 60 ? s->len : 60);
    return why ? api_cel_error(c->run,
                               "IP Address \"%.*s\" parse error during conversion from string: "
                               "ParseAddr(\"%.*s\"): %s",
                               n, s->s, n, s->s, why)
               : v;
}

static struct api_value make_cidr(struct api_cel_call *c) {
    const struct api_value *s = &c->args[0];
    struct api_value v;
    const char *why = api_cel_charge(c->run, 8) ? parse_cidr(s->s, s->len, &v) : "too costly";

    if (c->how == ASK)
        return api_cel_bool(!why);
    const int n = (int)(s->len < 60 ? s->len : 60);
    return why ? api_cel_error(c->run, BAD_NET BAD_NET "netip.ParsePrefix(\"%.*s\"): %s", n, s->s,
                               why)
               : v;
}

static struct api_value is_canonical(struct api_cel_call *c) {
    struct api_value v = make_ip(c);
    char text[64];

    if (v.kind == V_ERROR)
        return v;
    print_ip(&v, text);
    return api_cel_bool(strlen(text) == c->args[0].len &&
                        memcmp(text, c->args[0].s, c->args[0].len) == 0);
}

static struct api_value to_text(struct api_cel_call *c) {
    char text[64 + 4];

    print_ip(&c->args[0], text);
    if (c->args[0].kind == V_CIDR)
        sl_fmt(text + strlen(text), sizeof(text) - strlen(text), "/%u", c->args[0].bits);
    return api_cel_text_copy(c->run, text, strlen(text));
}

enum { IP_FAMILY, IP_UNSPECIFIED, IP_LOOPBACK, IP_LOCAL_MANY, IP_LOCAL_ONE, IP_GLOBAL };

static bool is_zero(const uint8_t *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i])
            return false;
    return true;
}

static struct api_value ask_ip(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    const uint8_t *a = v->address;
    const bool four = v->family == 4, none = is_zero(a, four ? 4 : 16);
    const bool loop = four ? a[0] == 127 : is_zero(a, 15) && a[15] == 1;
    const bool many = four ? (a[0] & 0xf0) == 0xe0 : a[0] == 0xff;
    const bool local_many =
        four ? a[0] == 224 && a[1] == 0 && a[2] == 0 : a[0] == 0xff && (a[1] & 0xf) == 2;
    const bool local = four ? a[0] == 169 && a[1] == 254 : a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
    const bool all = four && a[0] == 255 && a[1] == 255 && a[2] == 255 && a[3] == 255;

    switch (c->how) {
    case IP_FAMILY:
        return api_cel_int(v->family);
    case IP_UNSPECIFIED:
        return api_cel_bool(none);
    case IP_LOOPBACK:
        return api_cel_bool(loop);
    case IP_LOCAL_MANY:
        return api_cel_bool(local_many);
    case IP_LOCAL_ONE:
        return api_cel_bool(local);
    default:
        return api_cel_bool(!none && !loop && !many && !local && !all);
    }
}

static bool same_bits(const uint8_t *a, const uint8_t *b, uint8_t bits) {
    const uint8_t whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 && (!rest || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

enum { CONTAINS_IP, CONTAINS_CIDR };

static struct api_value contains(struct api_cel_call *c) {
    const struct api_value *net = &c->args[0];
    struct api_value other = c->args[1];

    if (other.kind == V_STR) {
        const struct api_cel_call of = {
            .run = c->run, .args = &c->args[1], .n = 1, .node = c->node};
        struct api_cel_call make = of;
        other = c->how == CONTAINS_IP ? make_ip(&make) : make_cidr(&make);
        if (other.kind == V_ERROR)
            return api_cel_no_overload(c->run);
    }
    return api_cel_bool(net->family == other.family &&
                        (c->how == CONTAINS_IP || net->bits <= other.bits) &&
                        same_bits(net->address, other.address, net->bits));
}

enum { CIDR_IP, CIDR_LENGTH, CIDR_MASKED };

static struct api_value ask_cidr(struct api_cel_call *c) {
    struct api_value v = c->args[0];

    if (c->how == CIDR_LENGTH)
        return api_cel_int(v.bits);
    if (c->how == CIDR_IP) {
        v.kind = V_IP;
        v.bits = 0;
        return v;
    }
    for (int i = 0; i < 16; i++) {
        int left = v.bits - 8 * i;
        v.address[i] &= (uint8_t)(left >= 8 ? 0xff : left <= 0 ? 0 : 0xff << (8 - left));
    }
    return v;
}

const struct api_cel_function api_cel_functions_net[] = {
    {"ip", false, "s", 'I', make_ip, MAKE},
    {"isIP", false, "s", 'b', make_ip, ASK},
    {"ip.isCanonical", false, "s", 'b', is_canonical, MAKE},
    {"string", false, "I", 's', to_text, 0},
    {"string", false, "C", 's', to_text, 0},
    {"family", true, "I", 'i', ask_ip, IP_FAMILY},
    {"isUnspecified", true, "I", 'b', ask_ip, IP_UNSPECIFIED},
    {"isLoopback", true, "I", 'b', ask_ip, IP_LOOPBACK},
    {"isLinkLocalMulticast", true, "I", 'b', ask_ip, IP_LOCAL_MANY},
    {"isLinkLocalUnicast", true, "I", 'b', ask_ip, IP_LOCAL_ONE},
    {"isGlobalUnicast", true, "I", 'b', ask_ip, IP_GLOBAL},
    {"cidr", false, "s", 'C', make_cidr, MAKE},
    {"isCIDR", false, "s", 'b', make_cidr, ASK},
    {"containsIP", true, "Cs", 'b', contains, CONTAINS_IP},
    {"containsIP", true, "CI", 'b', contains, CONTAINS_IP},
    {"containsCIDR", true, "Cs", 'b', contains, CONTAINS_CIDR},
    {"containsCIDR", true, "CC", 'b', contains, CONTAINS_CIDR},
    {"ip", true, "C", 'I', ask_cidr, CIDR_IP},
    {"prefixLength", true, "C", 'i', ask_cidr, CIDR_LENGTH},
    {"masked", true, "C", 'C', ask_cidr, CIDR_MASKED},
    {0},
};
