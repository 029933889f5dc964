/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of SPDY/3: a list of words, each after its length in four bytes, and undivided
 * text. It is part of the protocol: both sides must have the same bytes.
 */
#include <string.h>

#include "lib/stream/spdy.h"

/* clang-format off */
static const char *const words[] = {
    "options", "head", "post", "put", "delete", "trace",
    "accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "age",
    "allow", "authorization", "cache-control", "connection", "content-base", "content-encoding",
    "content-language", "content-length", "content-location", "content-md5", "content-range",
    "content-type", "date", "etag", "expect", "expires", "from", "host", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified",
    "location", "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization", "range",
    "referer", "retry-after", "server", "te", "trailer", "transfer-encoding", "upgrade",
    "user-agent", "vary", "via", "warning", "www-authenticate", "method", "get", "status", "200 OK",
    "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin",
};

static const char *const rest[] = {
    "100", "101", "201", "202", "205", "206", "300", "302", "303", "304", "305", "306", "307",
    "402", "405", "406", "407", "408", "409", "410", "411", "412", "413", "414", "415", "416",
    "417", "502", "504", "505",
    "203 Non-Authoritative Information", "204 No Content", "301 Moved Permanently",
    "400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found",
    "500 Internal Server Error", "501 Not Implemented", "503 Service Unavailable",
    "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sept ", "Oct ", "Nov ", "Dec ",
    "00:00:00", " Mon,", " Tue,", " Wed,", " Thu,", " Fri,", " Sat,", " Sun,", " GMT",
    "chunked,", "text/html,", "image/png,", "image/jpg,", "image/gif,", "application/xml,",
    "application/xhtml+xml,", "text/plain,", "text/javascript,", "public", "private", "max-age=",
    "gzip,", "deflate,", "sdch", "charset=utf-8", "charset=iso-8859-1,", "utf-,", "*,", "enq=0.",
};
/* clang-format on */

void sl_spdy_words(struct sl_buf *out) {
    for (size_t i = 0; i < SL_LEN(words); i++) {
        const char length[4] = {0, 0, 0, (char)strlen(words[i])};
        sl_buf_add(out, length, sizeof length);
        sl_buf_puts(out, words[i]);
    }
    for (size_t i = 0; i < SL_LEN(rest); i++)
        sl_buf_puts(out, rest[i]);
}
