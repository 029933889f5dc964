/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and ranges, with the error messages of kube-apiserver. */
#include <arpa/inet.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/fmt.h"

/* Without zeros that parts of it begin with; false if it is too long to be an address. */
static bool without_zeros(const char *s, char out[INET_ADDRSTRLEN]) {
    size_t n = 0;

    for (const char *p = s; *p && n + 1 < INET_ADDRSTRLEN; p++) {
        bool begins = p == s || p[-1] == '.';
        while (begins && *p == '0' && p[1] >= '0' && p[1] <= '9')
            p++;
        out[n++] = *p;
    }
    out[n] = '\0';
    return n + 1 < INET_ADDRSTRLEN;
}

struct address {
    unsigned char b[16];
    size_t len;  /* 4 or 16 */
    bool zeros;  /* parts begin with zeros */
    bool mapped; /* IPv4 in the form of IPv6 */
};

static bool read_address(const char *s, struct address *ret) {
    struct in6_addr six;
    char plain[INET_ADDRSTRLEN];

    *ret = (struct address){.len = 4};
    if (inet_pton(AF_INET, s, ret->b) == 1)
        return true;
    if (inet_pton(AF_INET6, s, &six) == 1) {
        memcpy(ret->b, &six, sizeof six);
        ret->len = sizeof six;
        ret->mapped = IN6_IS_ADDR_V4MAPPED(&six);
        return true;
    }
    ret->zeros = true;
    return without_zeros(s, plain) && inet_pton(AF_INET, plain, ret->b) == 1;
}

const char *api_address_fault(const char *s) {
    struct address a;

    if (!read_address(s, &a))
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    return a.zeros    ? "must not have leading 0s"
           : a.mapped ? "must not be an IPv4-mapped IPv6 address"
                      : NULL;
}

/* How many bits are the network's; -1: that is no number for such an address. */
static int read_bits(const char *s, const struct address *a) {
    int bits = 0;

    if (!*s)
        return -1;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || bits > 128)
            return -1;
        bits = bits * 10 + (*s - '0');
    }
    return bits <= (int)a->len * 8 ? bits : -1;
}

static bool has_more(const struct address *a, int bits) {
    for (int i = bits; i < (int)a->len * 8; i++)
        if (a->b[i / 8] >> (7 - i % 8) & 1)
            return true;
    return false;
}

/* The bits of the network; -1: it is none. */
static int read_cidr(const char *s, struct address *ret) {
    const char *slash = strchr(s, '/');
    char ip[64] = "";

    *ret = (struct address){0};
    if (!slash || (size_t)(slash - s) >= sizeof ip)
        return -1;
    memcpy(ip, s, (size_t)(slash - s));
    return read_address(ip, ret) ? read_bits(slash + 1, ret) : -1;
}

const char *api_cidr_fault(const char *s, enum api_family *ret_family) {
    const char *slash = strchr(s, '/');
    struct address a;
    int bits = read_cidr(s, &a);

    if (ret_family)
        *ret_family = bits < 0                 ? SL_FAMILY_NONE
                      : a.len == 4 || a.mapped ? SL_FAMILY_V4
                                               : SL_FAMILY_V6;
    if (bits < 0)
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    if (a.zeros || (slash[1] == '0' && slash[2]))
        return "must not have leading 0s in IP or prefix length";
    if (a.mapped)
        return "must not have an IPv4-mapped IPv6 address";
    return has_more(&a, bits) ? "must not have bits set beyond the prefix length" : NULL;
}

bool api_is_address(const char *s) {
    struct address a;

    return read_address(s, &a);
}

bool api_address_canonical(const char *s, char out[API_ADDRESS_TEXT]) {
    struct address a;

    return read_address(s, &a) &&
           inet_ntop(a.len == 4 ? AF_INET : AF_INET6, a.b, out, INET6_ADDRSTRLEN) &&
           strcmp(s, out) == 0;
}

bool api_cidr_canonical(const char *s, char out[API_ADDRESS_TEXT]) {
    struct address a;
    int bits = read_cidr(s, &a);
    char ip[INET6_ADDRSTRLEN] = "";

    if (bits >= 0)
        (void)inet_ntop(a.len == 4 ? AF_INET : AF_INET6, a.b, ip, sizeof ip);
    sl_fmt(out, API_ADDRESS_TEXT, "%s/%d", ip, bits);
    return strcmp(s, out) == 0;
}

bool api_cidr_inside(const char *inner, const char *outer) {
    struct address in, out;
    int n = read_cidr(inner, &in), m = read_cidr(outer, &out);

    if (n < 0 || m < 0 || in.len != out.len || m >= n)
        return false;
    for (int i = 0; i < m; i++)
        if ((in.b[i / 8] ^ out.b[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}
