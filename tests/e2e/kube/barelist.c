/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists everything at a URL of an API server in pages, as Sluice does, and drops the bytes: what a
 * list costs whoever does nothing with it. Prints how many bytes there were.
 *
 *     barelist CA.crt CLIENT.crt CLIENT.key URL PAGE
 */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#define END 1024 /* of a page's first and last bytes this much is looked at for the next page */

struct page {
    size_t size;
    char first[END + 1], last[2 * END + 1];
    size_t n_first, n_last;
};

static size_t take(char *bytes, size_t one, size_t n, void *ctx) {
    struct page *p = ctx;
    size_t from = n > END ? n - END : 0, room = END - p->n_first;
    size_t head = n < room ? n : room;

    p->size += n;
    memcpy(p->first + p->n_first, bytes, head);
    p->n_first += head;
    if (p->n_last + n - from > 2 * END) { /* keep the newer half */
        memmove(p->last, p->last + p->n_last - END, END);
        p->n_last = END;
    }
    memcpy(p->last + p->n_last, bytes + from, n - from);
    p->n_last += n - from;
    return one * n;
}

/* The mark of the next page, if there is one. It stands before the items, or after them if they are
 * of a custom kind. */
static const char *next_page(struct page *p) {
    static const char key[] = "\"continue\":\"";
    char *at;

    p->first[p->n_first] = p->last[p->n_last] = '\0';
    at = strstr(p->first, key);
    if (!at)
        at = strstr(p->last, key);
    if (!at)
        return "";
    at += strlen(key);
    at[strcspn(at, "\"")] = '\0';
    return at;
}

int main(int argc, char **argv) {
    static struct page p;
    static char url[4096];
    const char *mark = "";
    size_t total = 0;
    long status = 0;
    CURL *c = argc == 6 ? curl_easy_init() : NULL;

    if (!c) {
        (void)fputs("usage: barelist CA CERT KEY URL PAGE\n", stderr);
        return 2;
    }
    curl_easy_setopt(c, CURLOPT_CAINFO, argv[1]);
    curl_easy_setopt(c, CURLOPT_SSLCERT, argv[2]);
    curl_easy_setopt(c, CURLOPT_SSLKEY, argv[3]);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &p);
    do {
        (void)snprintf(url, sizeof url, "%s?limit=%s%s%s", argv[4], argv[5],
                       *mark ? "&continue=" : "", mark);
        p = (struct page){0};
        curl_easy_setopt(c, CURLOPT_URL, url);
        CURLcode r = curl_easy_perform(c);
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
        if (r != CURLE_OK || status != 200) {
            (void)fprintf(stderr, "barelist: %s: %s (%ld)\n", url, curl_easy_strerror(r), status);
            return 1;
        }
        total += p.size;
        mark = next_page(&p);
    } while (*mark);
    (void)printf("%zu\n", total);
    curl_easy_cleanup(c);
    return 0;
}
