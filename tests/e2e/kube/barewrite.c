/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes writes to an API server and nothing else: what they cost whoever decides nothing. Each of
 * the connections carries one request at a time and has a thread of its own.
 *
 *     barewrite CA.crt CLIENT.crt CLIENT.key URL FILE CONNECTIONS
 *     barewrite CA.crt - TOKEN URL FILE CONNECTIONS
 *
 * FILE has a line for each write, its fields between tabs: chain, method, path, content type, body.
 * Lines in a row with the same chain are written one after the other; @VERSION@ and @UID@ in them
 * stand for the resourceVersion and the uid that the answer before said. Connections are made
 * before the clock starts. Prints one line of JSON; exit 1 if a write was refused.
 */
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CONNECTIONS 256
#define MAX_ANSWER ((size_t)1 << 20)
#define MAX_BODY ((size_t)1 << 20)
#define WORD 64
enum { CHAIN, METHOD, PATH, TYPE, BODY, FIELDS };

struct line {
    char *field[FIELDS];
};

/* Lines that are written one after the other. */
struct chain {
    struct line *first;
    size_t n;
};

struct answer {
    size_t n;
    char *text; /* MAX_ANSWER + 1 */
};

struct client {
    CURL *curl;
    struct answer a;
    char *body; /* MAX_BODY */
    char version[WORD], uid[WORD];
};

static const char *base;
static char **args;
static struct chain *chains;
static size_t n_chains;
static atomic_size_t next_chain, written, refused;
static pthread_barrier_t ready;

static size_t take(char *bytes, size_t one, size_t n, void *ctx) {
    struct answer *a = ctx;
    size_t room = MAX_ANSWER - a->n, kept = n < room ? n : room;

    memcpy(a->text + a->n, bytes, kept);
    a->n += kept;
    a->text[a->n] = '\0';
    return one * n;
}

/* The word after a key; returns where it was found. */
static const char *word(const char *text, const char *key, char ret[WORD]) {
    const char *at = text ? strstr(text, key) : NULL;

    if (!at)
        return NULL;
    at += strlen(key);
    size_t n = strcspn(at, "\"");
    if (n >= WORD)
        return NULL;
    memcpy(ret, at, n);
    ret[n] = '\0';
    return at;
}

/* Fields of custom objects are in the order of their names: after the version comes the object's
 * own uid; those of its owners are before. */
static void learn(struct client *c) {
    const char *at = word(c->a.text, "\"resourceVersion\":\"", c->version);
    (void)word(at, "\"uid\":\"", c->uid);
}

/* The body with what was learnt in it. */
static const char *filled(struct client *c, const char *body) {
    size_t n = 0;

    if (!strchr(body, '@'))
        return body;
    while (*body && n + WORD < MAX_BODY) {
        const char *value = NULL;
        size_t skip = 0;
        if (strncmp(body, "@VERSION@", 9) == 0)
            value = c->version, skip = 9;
        else if (strncmp(body, "@UID@", 5) == 0)
            value = c->uid, skip = 5;
        if (value) {
            size_t len = strlen(value);
            memcpy(c->body + n, value, len);
            n += len;
            body += skip;
        } else {
            c->body[n++] = *body++;
        }
    }
    c->body[n] = '\0';
    return c->body;
}

static void send_line(struct client *c, const struct line *l) {
    char url[2048], type[128];
    long status = 0;
    const char *body = filled(c, l->field[BODY]);

    (void)snprintf(url, sizeof url, "%s%s", base, l->field[PATH]);
    (void)snprintf(type, sizeof type, "Content-Type: %s", l->field[TYPE]);
    struct curl_slist *headers = curl_slist_append(NULL, type);
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, l->field[METHOD]);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    c->a.n = 0;
    c->a.text[0] = '\0';
    CURLcode r = curl_easy_perform(c->curl);
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    if (r != CURLE_OK || status < 200 || status >= 300) {
        if (refused++ < 5)
            (void)fprintf(stderr, "barewrite: %s %s: %s (%ld) %.600s\n", l->field[METHOD], url,
                          curl_easy_strerror(r), status, c->a.text);
    } else {
        written++;
        learn(c);
    }
    curl_slist_free_all(headers);
}

static void *work(void *ctx) {
    struct client c = {.curl = curl_easy_init(),
                       .a = {.text = calloc(1, MAX_ANSWER + 1)},
                       .body = calloc(1, MAX_BODY)};
    char url[2048];
    size_t i;

    (void)ctx;
    if (!c.curl || !c.a.text || !c.body)
        abort();
    curl_easy_setopt(c.curl, CURLOPT_CAINFO, args[1]);
    if (strcmp(args[2], "-") == 0) {
        curl_easy_setopt(c.curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(c.curl, CURLOPT_XOAUTH2_BEARER, args[3]);
    } else {
        curl_easy_setopt(c.curl, CURLOPT_SSLCERT, args[2]);
        curl_easy_setopt(c.curl, CURLOPT_SSLKEY, args[3]);
    }
    curl_easy_setopt(c.curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c.curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c.curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c.curl, CURLOPT_WRITEDATA, &c.a);
    (void)snprintf(url, sizeof url, "%s/version", base);
    curl_easy_setopt(c.curl, CURLOPT_URL, url);
    (void)curl_easy_perform(c.curl);
    (void)pthread_barrier_wait(&ready); /* all are connected */
    (void)pthread_barrier_wait(&ready); /* the clock runs */
    while ((i = next_chain++) < n_chains)
        for (size_t k = 0; k < chains[i].n; k++)
            send_line(&c, &chains[i].first[k]);
    curl_easy_cleanup(c.curl);
    free(c.a.text);
    free(c.body);
    return NULL;
}

static char *whole_file(const char *path) {
    FILE *f = fopen(path, "rb");
    long size = -1;
    char *text = NULL;

    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size >= 0 && (text = malloc((size_t)size + 1))) {
        rewind(f);
        size_t n = fread(text, 1, (size_t)size, f);
        text[n] = '\0';
    }
    if (f)
        (void)fclose(f);
    return text;
}

/* Cuts the text into lines and those into fields, in place. False: a line has too few, or a body is
 * too long. */
static int read_lines(char *text) {
    size_t n = 0;
    for (char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    struct line *lines = calloc(n + 1, sizeof *lines);
    chains = calloc(n + 1, sizeof *chains);
    if (!lines || !chains)
        abort();
    for (size_t i = 0; i < n; i++) {
        char *end = strchr(text, '\n');
        *end = '\0';
        for (int k = 0; k < FIELDS; k++) {
            char *tab = k + 1 < FIELDS ? strchr(text, '\t') : end;
            if (!tab)
                return 0;
            *tab = '\0';
            lines[i].field[k] = text;
            text = tab + 1;
        }
        if (strlen(lines[i].field[BODY]) + WORD > MAX_BODY)
            return 0;
        if (!i || strcmp(lines[i].field[CHAIN], lines[i - 1].field[CHAIN]) != 0)
            chains[n_chains++].first = &lines[i];
        chains[n_chains - 1].n++;
    }
    return 1;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    long n = argc == 7 ? strtol(argv[6], NULL, 10) : 0;
    char *text = n > 0 && n <= MAX_CONNECTIONS ? whole_file(argv[5]) : NULL;
    pthread_t threads[MAX_CONNECTIONS];

    if (!text || !read_lines(text)) {
        (void)fputs("usage: barewrite CA (CERT KEY | - TOKEN) URL FILE CONNECTIONS (1 to 256)\n",
                    stderr);
        return 2;
    }
    args = argv;
    base = argv[4];
    curl_global_init(CURL_GLOBAL_ALL);
    (void)pthread_barrier_init(&ready, NULL, (unsigned)n + 1);
    for (long i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    (void)pthread_barrier_wait(&ready);
    double began = now();
    (void)pthread_barrier_wait(&ready);
    for (long i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)printf("{\"seconds\": %.4f, \"written\": %zu, \"refused\": %zu}\n", now() - began,
                 (size_t)written, (size_t)refused);
    return refused ? 1 : 0;
}
