/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/visibility/api.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/writer.h"
#include "manager/controllers/queue/pending.h"

#define MAX_PARTS 9u /* one more than any path of ours has */

/* ---- paths ---- */

/* A part of a path between slashes. */
struct part {
    const char *s;
    size_t n;
};

static bool is(struct part p, const char *word) {
    return p.n == strlen(word) && memcmp(p.s, word, p.n) == 0;
}

/* The parts of a path. A longer one than any that is served has MAX_PARTS, which none of these
 * has. */
static uint32_t split(const char *s, struct part *v) {
    uint32_t n = 0;
    while (*s == '/' && n < MAX_PARTS) {
        size_t len = strcspn(++s, "/");
        if (len || s[len])
            v[n++] = (struct part){s, len};
        s += len;
    }
    return n;
}

static bool take_name(struct part p, char *ret) {
    if (!p.n || p.n >= VISIBILITY_NAME)
        return false;
    memcpy(ret, p.s, p.n);
    ret[p.n] = '\0';
    return true;
}

static const char *find_version(struct part p) {
    for (const char *const *v = sl_visibility_versions; *v; v++)
        if (is(p, *v))
            return *v;
    return NULL;
}

/* What follows GROUP/VERSION: [namespaces/NS/]QUEUES[/NAME[/pendingworkloads]]. */
static enum sl_visibility_what find_queue(const struct part *v, uint32_t n,
                                          struct sl_visibility_target *ret) {
    bool in_ns = n >= 3 && is(v[0], "namespaces") && take_name(v[1], ret->ns);
    if (in_ns) {
        v += 2;
        n -= 2;
    }
    bool local = n && is(v[0], "localqueues"), cluster = n && is(v[0], "clusterqueues");
    ret->namespaced = local;
    if ((!local && !cluster) || (cluster && in_ns))
        return VISIBILITY_NOTHING;
    if (n == 1)
        return VISIBILITY_QUEUES; /* all LocalQueues of all namespaces, too */
    if (local && !in_ns)
        return VISIBILITY_NOTHING;
    if (n == 2)
        return VISIBILITY_QUEUES;
    if (n == 3 && is(v[2], "pendingworkloads") && take_name(v[1], ret->queue))
        return VISIBILITY_PENDING;
    return VISIBILITY_NOTHING;
}

void sl_visibility_target(const char *path, struct sl_visibility_target *ret) {
    struct part v[MAX_PARTS];
    uint32_t n = split(path, v);
    *ret = (struct sl_visibility_target){0};
    if (n && is(v[0], "openapi")) {
        if (n == 2)
            ret->what = is(v[1], "v2")   ? VISIBILITY_OPENAPI_2
                        : is(v[1], "v3") ? VISIBILITY_OPENAPI_3
                                         : VISIBILITY_NOTHING;
        else if (n == 5 && is(v[1], "v3") && is(v[2], "apis") && is(v[3], VISIBILITY_GROUP) &&
                 (ret->version = find_version(v[4])))
            ret->what = VISIBILITY_OPENAPI_3_VERSION;
        return;
    }
    if (!n || !is(v[0], "apis") || (n > 1 && !is(v[1], VISIBILITY_GROUP)) ||
        (n > 2 && !(ret->version = find_version(v[2]))))
        return;
    ret->what = n == 1   ? VISIBILITY_GROUPS
                : n == 2 ? VISIBILITY_ONE_GROUP
                : n == 3 ? VISIBILITY_RESOURCES
                         : find_queue(v + 3, n - 3, ret);
}

/* ---- refusals ---- */

static const char *reason_of(int code) {
    static const struct {
        int code;
        const char *reason;
    } table[] = {{400, "BadRequest"}, {401, "Unauthorized"},     {403, "Forbidden"},
                 {404, "NotFound"},   {405, "MethodNotAllowed"}, {503, "ServiceUnavailable"}};
    for (size_t i = 0; i < SL_LEN(table); i++)
        if (table[i].code == code)
            return table[i].reason;
    return "InternalError";
}

static void put_status(struct sl_http_answer *a, int code, const char *message,
                       const struct sl_visibility_target *of) {
    struct sl_jw *w = &SL_JW(&a->body);
    a->status = code;
    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "Status");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_raw(w, "metadata", "{}");
    sl_jw_str(w, "status", "Failure");
    sl_jw_str(w, "message", message);
    sl_jw_str(w, "reason", reason_of(code));
    if (of) {
        sl_jw_object(w, "details");
        sl_jw_str(w, "name", of->queue);
        sl_jw_str(w, "group", VISIBILITY_GROUP);
        sl_jw_str(w, "kind", of->namespaced ? "localqueue" : "clusterqueue");
        sl_jw_end(w);
    }
    sl_jw_int(w, "code", code);
    sl_jw_end(w);
    sl_buf_putc(&a->body, '\n');
}

void sl_visibility_status(struct sl_http_answer *a, int code, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof text, fmt, ap);
    va_end(ap);
    put_status(a, code, text, NULL);
}

void sl_visibility_forbid(const struct sl_visibility_target *t, const char *path,
                          struct sl_http_answer *a) {
    char text[2048];
    const char *queues = t->namespaced ? "localqueues" : "clusterqueues";
    if (t->what != VISIBILITY_PENDING) {
        sl_visibility_status(a, 403, "forbidden: cannot get path \"%s\"", path);
        return;
    }
    sl_fmt_short(text, sizeof text,
                 "%s." VISIBILITY_GROUP " \"%s\" is forbidden: cannot get resource "
                 "\"%s/pendingworkloads\" in API group \"" VISIBILITY_GROUP "\" %s%s%s",
                 queues, t->queue, queues,
                 t->namespaced ? "in the namespace \"" : "at the cluster scope", t->ns,
                 t->namespaced ? "\"" : "");
    put_status(a, 403, text, t);
}

void sl_visibility_attributes(const struct sl_visibility_target *t, const char *path,
                              struct sl_buf *out) {
    struct sl_jw *w = &SL_JW(out);

    sl_jw_object(w, NULL);
    if (t->what != VISIBILITY_PENDING) {
        sl_jw_object(w, "nonResourceAttributes");
        sl_jw_str(w, "verb", "get");
        sl_jw_str(w, "path", path);
    } else {
        sl_jw_object(w, "resourceAttributes");
        sl_jw_str(w, "verb", "get");
        sl_jw_str(w, "group", VISIBILITY_GROUP);
        sl_jw_str(w, "version", t->version);
        sl_jw_str(w, "resource", t->namespaced ? "localqueues" : "clusterqueues");
        sl_jw_str(w, "subresource", "pendingworkloads");
        sl_jw_str(w, "name", t->queue);
        if (t->namespaced)
            sl_jw_str(w, "namespace", t->ns);
    }
    sl_jw_end_to(w, 0);
}

/* ---- answers ---- */

/* A whole number; false with an answer if it is none. Absent: unchanged. */
static bool take_number(const struct sl_http_request *rq, const char *key, int64_t *ret,
                        struct sl_http_answer *a) {
    const char *text = rq->query(rq, key);
    char *end;
    if (!text)
        return true;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    bool odd = *text != '-' && (*text < '0' || *text > '9'); /* spaces and such */
    if (!errno && !odd && end != text && !*end) {
        *ret = v;
        return true;
    }
    sl_visibility_status(a, 400, "%s: \"%.64s\" is no number that can be used", key, text);
    return false;
}

static bool more_pending(void *ctx, struct sl_buf *piece) {
    return sl_manager_pending_more(ctx, piece);
}

static void drop_pending(void *ctx) {
    sl_manager_pending_free(ctx);
}

static void answer_pending(const struct sl_manager *m, const struct sl_visibility_target *t,
                           const struct sl_http_request *rq, struct sl_http_answer *a) {
    int64_t limit = 0, offset = 0;
    char text[512];
    if (!take_number(rq, "limit", &limit, a) || !take_number(rq, "offset", &offset, a))
        return;
    if (!sl_manager_ready(m)) {
        sl_visibility_status(a, 503, "the caches are not synced yet, retry later");
        return;
    }
    if (limit == 0)
        limit = SL_MANAGER_PENDING_LIMIT;
    struct sl_manager_pending_query q = {
        .version = t->version,
        .ns = t->namespaced ? t->ns : NULL,
        .queue = t->queue,
        .limit = limit < 0                         ? 0
                 : limit > SL_MANAGER_PENDING_MOST ? SL_MANAGER_PENDING_MOST
                                                   : (uint32_t)limit,
        .offset = offset < 0            ? 0
                  : offset > UINT32_MAX ? UINT32_MAX
                                        : (uint32_t)offset,
    };
    struct sl_manager_pending *p = sl_manager_pending_open(m, &q);
    if (p) {
        a->more = more_pending;
        a->drop = drop_pending;
        a->ctx = p;
        return;
    }
    sl_fmt_short(text, sizeof text, "%s." VISIBILITY_GROUP " \"%s\" not found",
                 t->namespaced ? "localqueue" : "clusterqueue", t->queue);
    put_status(a, 404, text, t);
}

void sl_visibility_answer(const struct sl_manager *m, const struct sl_visibility_target *t,
                          const struct sl_http_request *rq, struct sl_http_answer *a) {
    bool get = strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0;
    if (t->what == VISIBILITY_NOTHING)
        sl_visibility_status(a, 404, "the server could not find the requested resource");
    else if (!get || t->what == VISIBILITY_QUEUES)
        sl_visibility_status(a, 405,
                             "the server does not allow this method on the requested resource");
    else if (t->what == VISIBILITY_PENDING)
        answer_pending(m, t, rq, a);
    else
        sl_visibility_document(t, rq->header(rq, "Accept"), a);
}
