/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List and watch of one collection. Four phases in a cycle:
 *
 *     LIST_DUE -> LISTING -> WATCH_DUE -> WATCHING
 *        ^ more pages |          ^ cut       |
 *        +------------+          +-----------+
 *        +---- version expired (410 Gone) ---+
 *
 * Callbacks of the API client only record what was received and what is due; every request starts
 * in 'tick'. So no callback ever calls back into the client, whose implementation may be in the
 * middle of its own work.
 *
 * 'version' is the resource version from which all further events are needed: that of the first
 * page until the list is complete (later pages show the same state or a newer one), then that of
 * the last event delivered to the owner. It is opaque: copied and compared for equality, never
 * interpreted.
 */
#include "kube/informer/reflector.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "kube/client/limits.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define PAGE_OBJECTS 500u
#define MAX_PAGES (UINT32_C(1) << 24) /* a page may have to be a single object */
/* Of a page. A client may have a lower one: either way fewer objects are requested. A single object
 * as JSON is several times as long as the 1.5 MiB that etcd has of it: every '<' is six characters,
 * and what is a byte there may be a name and a value here. */
#define MAX_LIST_BYTES ((size_t)64 << 20)
#define MAX_LINE_BYTES SL_CURL_CLIENT_MAX_LINE
#define MAX_VERSION_BYTES 256u
#define MAX_TOKEN_BYTES 8192u
#define MAX_URL_BYTES 65536u
#define MAX_POOL_BYTES ((size_t)64 << 10) /* it stays: one for each kind */
#define FIRST_WINDOW ((size_t)8 << 10)
#define MAX_STATUS_BYTES ((size_t)64 << 10)

#define PAUSE_MIN (100 * SL_MSEC)
#define PAUSE_MAX (2 * SL_SEC) /* short: a server that is back is noticed soon */
#define RETRY_AFTER_MAX (10 * SL_MINUTE)
#define MISSING_PAUSE SL_SEC
#define MISSING_DOUBLES 3u  /* then it stays: some kinds may never come */
#define LIVED SL_SEC        /* a stream that lasted so long was a good one */
#define GRACE (30 * SL_SEC) /* after the stream should have ended by itself */
#define FRUITLESS_MAX 4u    /* watches in a row that the server answered without moving us */

enum phase { LIST_DUE, LISTING, WATCH_DUE, WATCHING };
enum seen { SEEN_GOOD, SEEN_BROKEN, SEEN_ERROR, SEEN_EXPIRED };

/* What is left of the answer to a list. */
struct page {
    const char *at;
    size_t len;
    bool placed; /* its metadata is known */
    bool more;   /* it is not the last one */
    bool begun;  /* 'begin' has been called, if it had to be */
};

struct sl_reflector {
    struct sl_kube_client *client;
    struct sl_reflector_owner owner;
    char *path, *query;
    struct sl_prng prng;
    enum phase phase;
    sl_kube_call call;
    sl_time due;       /* *_DUE: when to begin; WATCHING: when to give the stream up */
    sl_time began;     /* this watch */
    struct sl_buf url; /* of the request in flight */
    struct sl_buf version;
    struct sl_buf token; /* of the next page; empty on the first */
    uint32_t pages;      /* taken of this list */
    uint32_t limit;      /* objects of a page: fewer after one was too long */
    bool crowded;        /* what was read last had too many values */
    bool skip;           /* the next page is one object that is too long: only its metadata */
    uint32_t fails;      /* in a row; the next pause grows with it */
    uint32_t fruitless;  /* see FRUITLESS_MAX */
    bool whole;          /* a page had expired: request all at once, to make progress */
    bool moved;          /* this watch brought a new version */
    bool cut;            /* this watch is not listened to any more; tick ends it */
    bool expired;        /* and its version is gone: list */
    bool missing;        /* the last list returned 404 */
    uint32_t misses;     /* so many in a row, as far as they count */
    bool synced;
    bool metadata; /* and nothing else is requested */
    bool in_owner; /* a callback of the owner runs */
    void *pool;    /* one object is parsed in here */
    size_t pool_bytes;
    size_t window; /* see read_value */
    char trouble[SL_REFLECTOR_ERROR_TEXT];
    int trouble_status; /* HTTP; 0: there was no response, or it is not about one */
    struct sl_reflector_stats stats;
};

/* ---- what went wrong, in one line ---- */

static void record_error(struct sl_reflector *r, const char *doing, const char *what) {
    r->stats.errors++;
    r->trouble_status = 0;
    sl_fmt_short(r->trouble, sizeof r->trouble, "%s: %s", doing, what);
    for (char *c = r->trouble; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

/* The server's message, if it sent a Status, or the client's. */
static void troubled_by_reply(struct sl_reflector *r, const char *doing,
                              const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        reply->len <= MAX_STATUS_BYTES ? sl_json_doc(reply->body, reply->len) : NULL;
    const char *message = sl_json_opt(yyjson_obj_get(yyjson_doc_get_root(doc), "message"));
    char what[SL_REFLECTOR_ERROR_TEXT - 10];

    message = message ? message : reply->text ? reply->text : "";
    if (reply->status == 0)
        sl_fmt_short(what, sizeof what, "no answer: %s", message);
    else
        sl_fmt_short(what, sizeof what, "%d: %s", reply->status, message);
    record_error(r, doing, what);
    r->trouble_status = reply->status;
}

/* ---- what is due ---- */

static void pause_until(struct sl_reflector *r, enum phase phase, sl_span at_least) {
    sl_span d = 0;

    if (r->fails > 0) {
        d = r->fails > 10 ? PAUSE_MAX : PAUSE_MIN << (r->fails - 1);
        d = d > PAUSE_MAX ? PAUSE_MAX : d;
        d = sl_prng_range(&r->prng, d / 2, d);
    }
    if (at_least > RETRY_AFTER_MAX)
        at_least = RETRY_AFTER_MAX;
    if (r->fails < UINT32_MAX)
        r->fails++;
    r->phase = phase;
    r->due = sl_time_add(r->client->mono, d > at_least ? d : at_least);
}

static void no_pages(struct sl_reflector *r) {
    sl_buf_clear(&r->token);
    r->pages = 0;
    r->window = FIRST_WINDOW;
}

static void list_anew(struct sl_reflector *r, sl_span retry_after) {
    no_pages(r);
    r->skip = false; /* the place of a page is another now */
    if (r->fails == 0)
        r->fails = 1; /* a list is too expensive for the server to be repeated at once */
    pause_until(r, LIST_DUE, retry_after);
}

/* ---- one value ---- */

/* In the pool; to be freed before the next one is read. */
static yyjson_doc *read_text(struct sl_reflector *r, const char *text, size_t len,
                             yyjson_read_flag flags) {
    /* yyjson keeps a copy of the text and 16 bytes a value; objects of the API have a value in some
     * 12 bytes of text. A text that needs more, or a very long one, pays for its own memory. */
    size_t want = 4 * len + 1024, bytes = 4096;
    yyjson_read_err err;
    yyjson_alc alc;

    if (want <= MAX_POOL_BYTES) {
        if (r->pool_bytes < want) {
            while (bytes < want)
                bytes *= 2;
            sl_freep(&r->pool);
            r->pool = sl_alloc(bytes);
            r->pool_bytes = bytes;
        }
        yyjson_alc_pool_init(&alc, r->pool, r->pool_bytes);
        yyjson_doc *doc = yyjson_read_opts((char *)text, len, flags, &alc, &err); /* not in situ */
        if (doc || err.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION)
            return doc;
    }
    r->crowded = sl_json_too_many(text, len, SL_OBJECT_MAX_VALUES);
    return r->crowded ? NULL : yyjson_read(text, len, flags);
}

static void skip_space(struct page *p) {
    while (p->len > 0 && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
        p->at++, p->len--;
}

/* Goes past this character, if it is the next one. */
static bool skip_char(struct page *p, char c) {
    skip_space(p);
    if (p->len == 0 || *p->at != c)
        return false;
    p->at++, p->len--;
    skip_space(p);
    return true;
}

/*
 * The next value of a page. A page is some megabytes, and read whole it would take four times that
 * besides: so a window of the text is tried, and a wider one if the value does not end in there.
 */
static yyjson_doc *read_value(struct sl_reflector *r, struct page *p) {
    for (;;) {
        size_t n = p->len < r->window ? p->len : r->window;
        yyjson_doc *doc = read_text(r, p->at, n, YYJSON_READ_STOP_WHEN_DONE);
        if (doc) {
            size_t size = yyjson_doc_get_read_size(doc);
            p->at += size, p->len -= size;
            skip_space(p);
            if (size < r->window / 8 && r->window > FIRST_WINDOW)
                r->window /= 2; /* that was an unusual one */
            return doc;
        }
        if (n == p->len || r->crowded)
            return NULL;
        r->window *= 2;
    }
}

/* ---- list ---- */

/* The answer was too long: half as many objects, down to one; and if that one is too long by
 * itself, its place is passed over, since all others must not wait for it. */
static void fewer(struct sl_reflector *r) {
    r->whole = false;
    r->skip = r->limit == 1;
    r->limit -= r->limit / 2;
}

/* A page came in: the large ones may be behind us. */
static void more(struct sl_reflector *r) {
    r->skip = false;
    r->limit = r->limit < PAGE_OBJECTS / 2 ? 2 * r->limit : PAGE_OBJECTS;
}

/* The owner may do anything but tick or free this reflector meanwhile. */
#define TELL(r, what, ...)                                                                         \
    do {                                                                                           \
        sl_assert(!(r)->in_owner);                                                                 \
        (r)->in_owner = true;                                                                      \
        (r)->owner.what((r)->owner.ctx, ##__VA_ARGS__);                                            \
        (r)->in_owner = false;                                                                     \
    } while (0)

static void list_done(struct sl_reflector *r, bool exists) {
    r->synced = true;
    r->missing = !exists;
    if (exists)
        r->misses = 0;
    r->whole = false;
    r->fruitless = 0;
    r->trouble[0] = '\0';
    no_pages(r);
    TELL(r, synced, exists);
}

/* Copies a string; false if there is none, it is empty or too long, or has a NUL inside. */
static bool take_text(struct sl_buf *to, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (t.n == 0 || t.n > to->ceiling || sl_text_has_nul(t))
        return false;
    sl_buf_clear(to);
    sl_buf_text(to, t);
    return true;
}

/* Where the list goes on, and from which version to watch. */
static bool take_meta(struct sl_reflector *r, struct page *p, yyjson_val *meta) {
    yyjson_val *next = yyjson_obj_get(meta, "continue");

    p->more = sl_json_view(next).n > 0;
    p->placed = (r->pages > 0 || take_text(&r->version, yyjson_obj_get(meta, "resourceVersion"))) &&
                (!p->more || (r->pages < MAX_PAGES && take_text(&r->token, next)));
    return p->placed;
}

static void begin_list(struct sl_reflector *r, struct page *p) {
    if (!p->begun && r->pages == 0)
        TELL(r, begin);
    p->begun = true;
}

static void skipped(struct sl_reflector *r, yyjson_val *o) {
    yyjson_val *meta = yyjson_obj_get(o, "metadata");
    r->stats.skipped++;
    sl_log(SL_LOG_WARN, "object ignored: too large", SL_S("path", r->path),
           SL_S("namespace", sl_json_text(yyjson_obj_get(meta, "namespace"))),
           SL_S("name", sl_json_text(yyjson_obj_get(meta, "name"))));
}

static bool take_items(struct sl_reflector *r, struct page *p) {
    bool good = true;

    begin_list(r, p);
    if (!skip_char(p, '[') || skip_char(p, ']'))
        return true;
    do {
        yyjson_doc *doc = read_value(r, p);
        good = yyjson_is_obj(yyjson_doc_get_root(doc));
        if (good && r->skip)
            skipped(r, yyjson_doc_get_root(doc));
        else if (good)
            TELL(r, object, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    } while (good && skip_char(p, ','));
    return good && skip_char(p, ']');
}

/* One member of a page: its key and its value. */
static bool take_member(struct sl_reflector *r, struct page *p) {
    yyjson_doc *doc = read_value(r, p);
    yyjson_val *v = yyjson_doc_get_root(doc);
    bool good = yyjson_is_str(v), meta = yyjson_equals_str(v, "metadata"),
         items = yyjson_equals_str(v, "items");

    yyjson_doc_free(doc);
    if (!good || !skip_char(p, ':'))
        return false;
    if (items && p->len > 0 && *p->at == '[')
        return take_items(r, p);
    doc = read_value(r, p);
    v = yyjson_doc_get_root(doc);
    if (meta)
        good = take_meta(r, p, v);
    else
        good = items ? yyjson_is_null(v) : v != NULL; /* null: Go's empty slice */
    yyjson_doc_free(doc);
    return good;
}

/* False if the body is not a page of a list; some of its objects may have been delivered by then.
 * The metadata may come before or after the items: the API server itself does both. */
static bool take_page(struct sl_reflector *r, const char *body, size_t len) {
    struct page p = {.at = body, .len = len};
    bool good = skip_char(&p, '{') && take_member(r, &p);

    while (good && skip_char(&p, ','))
        good = take_member(r, &p);
    if (!good || !skip_char(&p, '}') || p.len > 0 || !p.placed)
        return false;
    begin_list(r, &p);
    r->pages++;
    more(r);
    if (p.more) {
        r->phase = LIST_DUE;
    } else {
        list_done(r, true);
        r->phase = WATCH_DUE;
    }
    r->due = r->client->mono;
    return true;
}

static void on_list(void *ctx, const struct sl_kube_reply *reply) {
    struct sl_reflector *r = ctx;

    r->call = (sl_kube_call){0};
    r->stats.bytes += reply->len;
    r->crowded = false;
    bool short_enough = reply->status == 200 && reply->len <= MAX_LIST_BYTES;
    if (short_enough && take_page(r, reply->body, reply->len))
        return;
    if (short_enough && !r->crowded) {
        record_error(r, "list", "the answer is not a list");
        list_anew(r, 0);
    } else if (reply->too_long || reply->status == 200) {
        if (r->skip) { /* not even that: an answer that no object can explain */
            record_error(r, "list", "the answer is too long");
            list_anew(r, reply->retry_after);
            return;
        }
        fewer(r); /* the same page again, at once */
        r->phase = LIST_DUE;
        r->due = r->client->mono;
    } else if (reply->status == 404) {
        if (!r->missing) {
            TELL(r, begin);
            list_done(r, false);
        }
        r->fails = 0;
        r->phase = LIST_DUE;
        sl_span pause = MISSING_PAUSE << r->misses;
        r->misses += r->misses < MISSING_DOUBLES;
        r->due = r->client->mono + sl_prng_range(&r->prng, pause, pause * 3 / 2);
    } else if (r->pages > 0 &&
               (reply->status == 0 || reply->status == 429 || reply->status >= 500)) {
        /* The same page again: over bad connections a long list would otherwise never come to its
         * end. */
        troubled_by_reply(r, "list", reply);
        if (r->fails == 0)
            r->fails = 1;
        pause_until(r, LIST_DUE, reply->retry_after);
    } else {
        /* Where a page was too long, all at once are so all the more. */
        if (reply->status == 410 && r->pages > 0 && r->limit == PAGE_OBJECTS)
            r->whole = true;
        troubled_by_reply(r, "list", reply);
        list_anew(r, reply->retry_after);
    }
}

/* ---- watch ---- */

static bool move_to(struct sl_reflector *r, yyjson_val *version) {
    if (yyjson_equals_strn(version, sl_buf_str(&r->version), r->version.len))
        return true;
    if (!take_text(&r->version, version))
        return false;
    r->moved = true;
    return true;
}

static enum seen take_event(struct sl_reflector *r, yyjson_val *root) {
    yyjson_val *type = yyjson_obj_get(root, "type"), *o = yyjson_obj_get(root, "object");
    yyjson_val *version = yyjson_obj_get(yyjson_obj_get(o, "metadata"), "resourceVersion");
    bool bookmark = yyjson_equals_str(type, "BOOKMARK"), gone = yyjson_equals_str(type, "DELETED");

    if (!yyjson_is_obj(o))
        return SEEN_BROKEN;
    if (yyjson_equals_str(type, "ERROR"))
        return yyjson_get_int(yyjson_obj_get(o, "code")) == 410 ? SEEN_EXPIRED : SEEN_ERROR;
    if (!bookmark && !gone && !yyjson_equals_str(type, "ADDED") &&
        !yyjson_equals_str(type, "MODIFIED"))
        return SEEN_BROKEN;
    if (!move_to(r, version))
        return SEEN_BROKEN;
    r->stats.events += !bookmark;
    if (gone)
        TELL(r, gone, o);
    else if (!bookmark)
        TELL(r, object, o);
    return SEEN_GOOD;
}

static void on_line(void *ctx, const char *line, size_t len) {
    struct sl_reflector *r = ctx;
    enum seen seen = SEEN_BROKEN;

    if (r->cut || len == 0)
        return;
    r->stats.bytes += len;
    r->crowded = false;
    if (len <= MAX_LINE_BYTES) {
        yyjson_doc *doc = read_text(r, line, len, 0);
        if (doc)
            seen = take_event(r, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    if (seen == SEEN_GOOD)
        return;
    record_error(r, "watch",
                 seen == SEEN_BROKEN ? "an event cannot be read" : "the server ended it");
    r->cut = true;
    r->expired = seen == SEEN_EXPIRED || r->crowded; /* the list passes it over */
    r->due = r->client->mono;
}

/* The stream is over. What next, and when? */
static void watch_over(struct sl_reflector *r, int status, sl_span retry_after) {
    bool clean = status == 200 && !r->cut;
    bool list = r->expired;

    r->call = (sl_kube_call){0};
    if (r->moved || (clean && r->client->mono - r->began >= LIVED))
        r->fails = 0;
    if (clean)
        r->trouble[0] = '\0';
    if (r->moved || clean)
        r->fruitless = 0;
    else if (status != 0 && status != 429)
        r->fruitless++;
    /* 400, 404, 410, 422 ...: this place or this collection is no more. Without the right to watch
     * (401, 403) a list will not do better. */
    if (status >= 400 && status < 500 && status != 401 && status != 403 && status != 429)
        list = true;
    if (r->fruitless >= FRUITLESS_MAX)
        list = true; /* an event that cannot be read must not hold us for ever */
    if (list)
        list_anew(r, retry_after);
    else
        pause_until(r, WATCH_DUE, retry_after);
}

static void on_watch_done(void *ctx, const struct sl_kube_reply *reply) {
    struct sl_reflector *r = ctx;

    if (reply->status != 200)
        troubled_by_reply(r, "watch", reply);
    r->expired |= reply->too_long; /* the same event would come again: the list passes it over */
    watch_over(r, reply->status, reply->retry_after);
}

/* ---- requests ---- */

static void put_escaped(struct sl_buf *b, const char *s) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            strchr("-._~", c))
            sl_buf_putc(b, (char)c);
        else
            sl_buf_printf(b, "%%%02X", c);
    }
}

static void begin_url(struct sl_reflector *r) {
    sl_buf_clear(&r->url);
    sl_buf_puts(&r->url, r->path);
    if (r->query[0])
        sl_buf_printf(&r->url, "?%s", r->query);
}

static void add_param(struct sl_reflector *r, const char *name, const char *value) {
    sl_buf_putc(&r->url, strchr(sl_buf_str(&r->url), '?') ? '&' : '?');
    sl_buf_printf(&r->url, "%s=", name);
    put_escaped(&r->url, value);
}

static void add_number(struct sl_reflector *r, const char *name, uint32_t value) {
    char digits[16];
    sl_fmt_short(digits, sizeof digits, "%u", value);
    add_param(r, name, digits);
}

static void start_list(struct sl_reflector *r) {
    begin_url(r);
    /* No resourceVersion: the newest state. "0" would be cheaper, but may show a server's old
     * cache, and to decide again on a state that was already left is how a quota is given out
     * twice. */
    if (!r->whole)
        add_number(r, "limit", r->limit);
    if (r->token.len > 0)
        add_param(r, "continue", sl_buf_str(&r->token));
    sl_assert(!sl_buf_full(&r->url));
    r->stats.lists += r->pages == 0;
    r->phase = LISTING;
    r->due = SL_TIME_NEVER;
    r->call = sl_kube_request(
        r->client,
        &(struct sl_kube_request){.method = SL_GET,
                                  .path = sl_buf_str(&r->url),
                                  .accept = r->metadata || r->skip ? SL_AS_METADATA_LIST : NULL},
        on_list, r);
}

static void start_watch(struct sl_reflector *r) {
    /* Ends at different times, so that the watches of many reflectors do not come back together. */
    int64_t timeout = sl_prng_range(&r->prng, 240, 300);
    char seconds[24];

    sl_fmt_short(seconds, sizeof seconds, "%lld", (long long)timeout);
    begin_url(r);
    add_param(r, "watch", "1");
    add_param(r, "allowWatchBookmarks", "true");
    add_param(r, "resourceVersion", sl_buf_str(&r->version));
    add_param(r, "timeoutSeconds", seconds);
    sl_assert(!sl_buf_full(&r->url));
    r->stats.watches++;
    r->moved = r->cut = r->expired = false;
    r->began = r->client->mono;
    r->phase = WATCHING;
    r->due = sl_time_add(r->began, timeout * SL_SEC + GRACE);
    r->call = r->client->ops->watch(
        r->client,
        &(struct sl_kube_request){.method = SL_GET,
                                  .path = sl_buf_str(&r->url),
                                  .accept = r->metadata ? SL_AS_METADATA : NULL},
        on_line, on_watch_done, r);
}

/* ---- for the owner ---- */

struct sl_reflector *sl_reflector_new(struct sl_kube_client *client, const char *path,
                                      const char *query, const struct sl_reflector_owner *owner,
                                      uint64_t seed) {
    struct sl_reflector *r = sl_alloc0(1, sizeof *r);

    r->client = client;
    r->owner = *owner;
    r->path = sl_strdup(path);
    r->query = sl_strdup(query);
    sl_prng_init(&r->prng, seed);
    sl_buf_init(&r->url, MAX_URL_BYTES);
    sl_buf_init(&r->version, MAX_VERSION_BYTES);
    sl_buf_init(&r->token, MAX_TOKEN_BYTES);
    r->phase = LIST_DUE;
    r->due = client->mono;
    r->window = FIRST_WINDOW;
    r->limit = PAGE_OBJECTS;
    return r;
}

void sl_reflector_free(struct sl_reflector *r) {
    if (!r)
        return;
    sl_assert(!r->in_owner);
    sl_kube_cancel(r->client, r->call);
    sl_buf_done(&r->url);
    sl_buf_done(&r->version);
    sl_buf_done(&r->token);
    sl_freep(&r->pool);
    sl_freep(&r->path);
    sl_freep(&r->query);
    sl_freep(&r);
}

const char *sl_reflector_version(const struct sl_reflector *r) {
    return sl_buf_str(&r->version);
}

bool sl_reflector_synced(const struct sl_reflector *r) {
    return r->synced;
}

void sl_reflector_tick(struct sl_reflector *r) {
    sl_assert(!r->in_owner);
    if (r->client->mono < r->due)
        return;
    if (r->phase == WATCHING) {
        if (!r->cut)
            record_error(r, "watch", "silent for too long");
        sl_kube_cancel(r->client, r->call);
        watch_over(r, r->cut ? 200 : 0, 0);
    }
    if (r->client->mono < r->due)
        return;
    if (r->phase == LIST_DUE)
        start_list(r);
    else if (r->phase == WATCH_DUE)
        start_watch(r);
}

sl_time sl_reflector_next(const struct sl_reflector *r) {
    return r->due;
}

void sl_reflector_metadata_only(struct sl_reflector *r) {
    r->metadata = true;
}

const char *sl_reflector_error(const struct sl_reflector *r) {
    return r->trouble;
}

int sl_reflector_error_status(const struct sl_reflector *r) {
    return r->trouble_status;
}

void sl_reflector_stats(const struct sl_reflector *r, struct sl_reflector_stats *ret) {
    *ret = r->stats;
}
