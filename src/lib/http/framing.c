/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a request must be unambiguous (request smuggling). A proxy in front of us may parse it
 * differently, and what it takes for a part of one request would be served here as a second one. So
 * whatever can be parsed in two ways is rejected, and the connection is closed after the response:
 *
 *     - more than one Content-Length, Transfer-Encoding, Host or Authorization;
 *     - Content-Length together with Transfer-Encoding, and any coding but "chunked";
 *     - names that are no tokens (among them: a space before the colon), control characters in
 *       values (among them: a bare CR);
 *     - folded lines, lines that end in a bare LF, NUL.
 *
 * The last three are not visible in what libmicrohttpd makes of a header. Since 0.9.77 it rejects
 * them itself in strict mode. Before, it splits the header block in place: a colon and each byte of
 * a line's end become NUL, a folded line is copied elsewhere. So the block has exactly the expected
 * length, and each name and value its expected place, if and only if none of the three is present.
 *
 * The framing inside of a chunked body is parsed by the library alone; a connection that had one is
 * closed with its response, so that no byte behind it is ever parsed as a request.
 */
#include <string.h>
#include <strings.h>

#include "lib/http/server_int.h"

struct walk {
    const char *at; /* where the next line has to begin; NULL: the library has looked */
    uint32_t lengths, codings, hosts, tokens;
    bool chunked;
    const char *problem; /* the first one; NULL */
};

static bool is_token(const char *s, size_t n) {
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!plain && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return n > 0;
}

static bool is_text(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 127)
            return false;
    return true;
}

/* The place of the next line, or a problem. */
static void check_place(struct walk *w, const char *name, size_t n, const char *value, size_t len) {
    const char *expected = name + n + 1;

    if (name != w->at) {
        w->problem = "a header line is folded, has a NUL, or does not end in CRLF";
        return;
    }
    expected += strspn(expected, " \t");
    if (value != expected) {
        w->problem = "a header line is folded";
        return;
    }
    w->at = value + len + 2;
}

static bool name_is(const char *name, size_t n, const char *word) {
    return n == strlen(word) && strncasecmp(name, word, n) == 0;
}

static enum MHD_Result on_line(void *cls, enum MHD_ValueKind kind, const char *name, size_t n,
                               const char *value, size_t len) {
    struct walk *w = cls;

    (void)kind;
    value = value ? value : "";
    if (!is_token(name, n))
        w->problem = "the name of a header is no token";
    else if (!is_text(value, len))
        w->problem = "a header has control characters";
    else if (w->at)
        check_place(w, name, n, value, len);
    w->lengths += name_is(name, n, "Content-Length");
    w->hosts += name_is(name, n, "Host");
    w->tokens += name_is(name, n, "Authorization");
    if (name_is(name, n, "Transfer-Encoding")) {
        w->codings++;
        w->chunked = name_is(value, len, "chunked");
    }
    return w->problem ? MHD_NO : MHD_YES;
}

/* Of the library as it runs, which may be newer than its header. */
static bool is_loose(void) {
    const char *v = MHD_get_version();

    return strncmp(v, "0.9.75", 6) == 0 || strncmp(v, "0.9.76", 6) == 0;
}

const char *sl_httpd_framing(struct MHD_Connection *c, const char *method, const char *version,
                             const char *uri_end, bool *ret_chunked) {
    const bool loose = is_loose();
    struct walk w = {.at = loose ? version + strlen(version) + 2 : NULL};

    *ret_chunked = false;
    if (loose && uri_end + 1 != version)
        return "there is a NUL in the request line";
    (void)MHD_get_connection_values_n(c, MHD_HEADER_KIND, on_line, &w);
    if (w.problem)
        return w.problem;
    if (w.at) {
        const union MHD_ConnectionInfo *i =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
        if (!i || w.at + 2 != method + i->header_size)
            return "a header line is folded, has a NUL, or does not end in CRLF";
    }
    if (w.lengths > 1 || w.codings > 1 || w.hosts > 1 || w.tokens > 1)
        return "Content-Length, Transfer-Encoding, Host or Authorization is there twice";
    if (w.codings && w.lengths)
        return "Content-Length and Transfer-Encoding are both there";
    if (w.codings && (!w.chunked || strcmp(version, MHD_HTTP_VERSION_1_1) != 0))
        return "the only transfer coding is chunked, in HTTP/1.1";
    *ret_chunked = w.chunked;
    return NULL;
}
