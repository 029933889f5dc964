/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry per check: authenticate if only a token is given, authorize, then a cached result until
 * it expires. A denial and a failure expire sooner than a permission, so that a permission that was
 * just granted takes effect soon.
 */
#include "manager/serve/authz.h"

#include <string.h>
#include <strings.h>

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "kube/client/secret.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#define KEEP_ALLOWED SL_MINUTE
#define KEEP_REFUSED (10 * SL_SEC)
#define KEEP_FAILED SL_SEC
#define MAX_BODY_BYTES ((size_t)1 << 20)

#define TOKEN_REVIEWS "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* A client address that sends tokens. */
struct source {
    uint8_t from[SL_AUTHZ_FROM];
    bool used;
    uint32_t in_flight; /* entries of it that are under way */
    uint32_t misses;    /* invalid tokens */
    sl_time until;      /* mono: when these are reset */
};

struct entry {
    struct serve_authz *a;
    struct source *source; /* while a review is in flight; NULL: not counted */
    char *subject;         /* a token, or an object of a user's fields; NULL: free */
    char *what;            /* an object of the fields that describe the action */
    bool user;             /* subject is a user */
    enum serve_authz_result result;
    sl_kube_call call;
    sl_time until; /* mono: the result expires; without meaning while a review is in flight */
};

struct serve_authz {
    struct sl_kube_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    struct entry entries[SL_AUTHZ_ENTRIES];
    struct source sources[SL_AUTHZ_SOURCES];
};

static void clear_entry(struct entry *e) {
    if (e->subject)
        explicit_bzero(e->subject, strlen(e->subject));
    sl_freep(&e->subject);
    sl_freep(&e->what);
}

static void complete_check(struct entry *e, enum serve_authz_result result) {
    sl_span keep = result == SL_AUTHZ_ALLOWED  ? KEEP_ALLOWED
                   : result == SL_AUTHZ_FAILED ? KEEP_FAILED
                                               : KEEP_REFUSED;

    struct source *from = TAKE_PTR(e->source);

    if (from) {
        from->in_flight--;
        from->misses += result == SL_AUTHZ_UNKNOWN;
    }
    e->result = result;
    e->until = e->a->client->mono + keep;
    e->a->changed(e->a->ctx);
}

static void post_review(struct entry *e, const char *path, struct sl_buf *body,
                        sl_kube_reply_fn done) {
    struct sl_kube_request rq = {.method = SL_POST, .path = path, .content_type = SL_JSON};

    rq.body = sl_buf_str(body);
    rq.len = body->len;
    e->call = sl_kube_request(e->a->client, &rq, done, e);
}

/* The status of a review; NULL if it is none. */
static yyjson_val *status_of(const struct sl_kube_reply *r, yyjson_doc **ret) {
    bool good = r->status >= 200 && r->status < 300 && r->len <= MAX_BODY_BYTES;

    *ret = good ? sl_json_doc(r->body, r->len) : NULL;
    yyjson_val *status = yyjson_obj_get(yyjson_doc_get_root(*ret), "status");
    return yyjson_is_obj(status) ? status : NULL;
}

static void on_access(void *ctx, const struct sl_kube_reply *r) {
    struct entry *e = ctx;
    yyjson_doc *doc;
    yyjson_val *status = status_of(r, &doc);
    bool allowed = yyjson_get_bool(yyjson_obj_get(status, "allowed")) &&
                   !yyjson_get_bool(yyjson_obj_get(status, "denied"));

    e->call = (sl_kube_call){0};
    yyjson_doc_free(doc);
    complete_check(e, !status ? SL_AUTHZ_FAILED : allowed ? SL_AUTHZ_ALLOWED : SL_AUTHZ_FORBIDDEN);
}

/* Up to the fields of its spec. */
static void begin_review(struct sl_jw *w, const char *api_version, const char *kind) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "apiVersion", api_version);
    sl_jw_str(w, "kind", kind);
    sl_jw_object(w, "spec");
}

static void post_access_review(struct entry *e, const char *user) {
    struct sl_buf b = SL_BUF(MAX_BODY_BYTES);
    struct sl_jw w = SL_JW(&b);

    begin_review(&w, "authorization.k8s.io/v1", "SubjectAccessReview");
    sl_jw_fields(&w, e->what);
    sl_jw_fields(&w, user);
    sl_jw_end_to(&w, 0);
    if (sl_buf_full(&b))
        complete_check(e, SL_AUTHZ_FAILED);
    else
        post_review(e, ACCESS_REVIEWS, &b, on_access);
    sl_buf_done(&b);
}

/* The user in the form of a SubjectAccessReview. */
static void put_user(struct sl_buf *b, yyjson_val *user) {
    static const char *const fields[][2] = {
        {"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
    struct sl_jw w = SL_JW(b);

    sl_jw_object(&w, NULL);
    for (size_t i = 0; i < SL_LEN(fields); i++) {
        yyjson_val *v = yyjson_obj_get(user, fields[i][0]);
        if (v)
            sl_jw_val(&w, fields[i][1], v);
    }
    sl_jw_end(&w);
}

static void on_token(void *ctx, const struct sl_kube_reply *r) {
    struct entry *e = ctx;
    yyjson_doc *doc;
    yyjson_val *status = status_of(r, &doc), *user = yyjson_obj_get(status, "user");

    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_BODY_BYTES);
    put_user(&b, user);
    e->call = (sl_kube_call){0};
    if (!status)
        complete_check(e, SL_AUTHZ_FAILED);
    else if (!yyjson_get_bool(yyjson_obj_get(status, "authenticated")) || !b.len)
        complete_check(e, SL_AUTHZ_UNKNOWN);
    else if (sl_buf_full(&b))
        complete_check(e, SL_AUTHZ_FAILED);
    else
        post_access_review(e, sl_buf_str(&b));
    yyjson_doc_free(doc);
}

/* The record of an address; NULL: the table is full of addresses with reviews in flight or
 * misses. */
static struct source *find_source(struct serve_authz *a, const uint8_t *from) {
    struct source *free = NULL;

    for (uint32_t i = 0; i < SL_AUTHZ_SOURCES; i++) {
        struct source *s = &a->sources[i];
        if (s->used && a->client->mono >= s->until) {
            s->misses = 0;
            s->until = sl_time_add(a->client->mono, SL_AUTHZ_WINDOW);
            s->used = s->in_flight > 0 || memcmp(s->from, from, SL_AUTHZ_FROM) == 0;
        }
        if (s->used && memcmp(s->from, from, SL_AUTHZ_FROM) == 0)
            return s;
        if (!s->used || (!s->in_flight && !s->misses && !free))
            free = s;
    }
    if (free) {
        *free = (struct source){.used = true, .until = a->client->mono + SL_AUTHZ_WINDOW};
        memcpy(free->from, from, SL_AUTHZ_FROM);
    }
    return free;
}

/* May this address have one more question under way? */
static bool may_check(struct serve_authz *a, const uint8_t *from, struct source **ret) {
    *ret = from ? find_source(a, from) : NULL;
    return !from ||
           (*ret && (*ret)->in_flight < SL_AUTHZ_SHARE && (*ret)->misses < SL_AUTHZ_MISSES);
}

/* The entry of the check; NULL: it is not cached. */
static struct entry *find_cached(struct serve_authz *a, bool user, const char *subject,
                                 const char *what) {
    for (uint32_t i = 0; i < SL_AUTHZ_ENTRIES; i++) {
        struct entry *e = &a->entries[i];
        if (e->subject && !e->call.v && a->client->mono >= e->until)
            clear_entry(e);
        if (e->subject && e->user == user && strcmp(e->subject, subject) == 0 &&
            strcmp(e->what, what) == 0)
            return e;
    }
    return NULL;
}

/* An entry for a new check; NULL if too many are in flight. */
static struct entry *allocate_entry(struct serve_authz *a) {
    struct entry *oldest = NULL;
    uint32_t in_flight = 0;

    for (uint32_t i = 0; i < SL_AUTHZ_ENTRIES; i++) {
        struct entry *e = &a->entries[i];
        in_flight += e->call.v != 0;
        if (!e->call.v &&
            (!oldest || (oldest->subject && (!e->subject || e->until < oldest->until))))
            oldest = e;
    }
    if (in_flight >= SL_AUTHZ_IN_FLIGHT || !oldest)
        return NULL;
    clear_entry(oldest);
    return oldest;
}

static void post_token_review(struct entry *e) {
    struct sl_buf b = SL_BUF(MAX_BODY_BYTES);
    struct sl_jw w = SL_JW(&b);

    begin_review(&w, "authentication.k8s.io/v1", "TokenReview");
    sl_jw_str(&w, "token", e->subject);
    sl_jw_end_to(&w, 0);
    post_review(e, TOKEN_REVIEWS, &b, on_token);
    explicit_bzero(b.s, b.cap);
    sl_buf_done(&b);
}

static enum serve_authz_result check_access(struct serve_authz *a, const uint8_t *from, bool user,
                                            const char *subject, const char *what) {
    struct entry *e = find_cached(a, user, subject, what);
    struct source *source;

    if (e)
        return e->result;
    if (!may_check(a, from, &source) || !(e = allocate_entry(a)))
        return SL_AUTHZ_FAILED;
    e->subject = sl_strdup(subject);
    e->what = sl_strdup(what);
    e->user = user;
    e->result = SL_AUTHZ_WAIT;
    e->source = source;
    if (source)
        source->in_flight++;
    if (user)
        post_access_review(e, subject);
    else
        post_token_review(e);
    return e->result;
}

enum serve_authz_result serve_authz_check(struct serve_authz *a, const uint8_t *from,
                                          const char *header, const char *what) {
    static const char scheme[] = "Bearer ";

    if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
        return SL_AUTHZ_UNKNOWN;
    const char *token = header + strlen(scheme);
    token += strspn(token, " ");
    if (sl_token_problem(token, strlen(token)))
        return SL_AUTHZ_UNKNOWN;
    return check_access(a, from, false, token, what);
}

enum serve_authz_result serve_authz_check_user(struct serve_authz *a, const char *user,
                                               const char *what) {
    return check_access(a, NULL, true, user, what);
}

struct serve_authz *serve_authz_new(struct sl_kube_client *client, void (*changed)(void *ctx),
                                    void *ctx) {
    struct serve_authz *a = sl_alloc0(1, sizeof *a);

    a->client = client;
    a->changed = changed;
    a->ctx = ctx;
    for (uint32_t i = 0; i < SL_AUTHZ_ENTRIES; i++)
        a->entries[i].a = a;
    return a;
}

void serve_authz_free(struct serve_authz *a) {
    if (!a)
        return;
    for (uint32_t i = 0; i < SL_AUTHZ_ENTRIES; i++) {
        sl_kube_cancel(a->client, a->entries[i].call);
        clear_entry(&a->entries[i]);
    }
    sl_freep(&a);
}
