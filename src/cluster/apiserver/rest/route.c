/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: from a path to a request:
 *
 *     /api/v1/..., /apis/GROUP/VERSION/...     of a resource:
 *         [watch/] [namespaces/NS/] PLURAL [/NAME [/SUBRESOURCE]]
 *     /api, /apis, /apis/GROUP, /openapi/...   discovery.c
 *     /version, /healthz, /livez, /readyz, /
 */
#include <string.h>

#include "cluster/apiserver/jwt.h"
#include "cluster/apiserver/server.h"
#include "cluster/apiserver/token.h"

#define SEGMENTS 10u

struct parts {
    const char *v[SEGMENTS];
    uint32_t n;
    bool more; /* than fit, or an empty one in between */
};

static void split_path(struct api_rq *rq, struct parts *p) {
    const char *s = rq->path;

    *p = (struct parts){.n = 0};
    while (*s == '/') {
        size_t len = strcspn(++s, "/");
        if (len == 0 && !*s)
            return; /* one slash at the end is fine */
        if (len == 0 || p->n == SEGMENTS) {
            p->more = true;
            return;
        }
        p->v[p->n++] = sl_arena_strndup(&rq->arena, s, len);
        s += len;
    }
    p->more = p->more || *s;
}

static bool segment_is(const struct parts *p, uint32_t i, const char *w) {
    return i < p->n && strcmp(p->v[i], w) == 0;
}

/* ---- methods ---- */

/* Custom resources accept verbs on the wrong path, and report what is missing themselves. */
static enum api_verbs verb_of(const struct api_rq *rq) {
    const char *m = rq->method;
    bool one = *rq->name, custom = rq->kind->crd;

    if (strcmp(m, "GET") == 0 || strcmp(m, "HEAD") == 0)
        return rq->q.watch == 1 && !*rq->subname ? SL_V_WATCH : one ? SL_V_GET : SL_V_LIST;
    if (strcmp(m, "POST") == 0)
        return one && !*rq->subname && !custom ? 0 : SL_V_CREATE;
    if (strcmp(m, "PUT") == 0)
        return one || custom ? SL_V_UPDATE : 0;
    if (strcmp(m, "PATCH") == 0)
        return one || custom ? SL_V_PATCH : 0;
    if (strcmp(m, "DELETE") == 0)
        return one ? SL_V_DELETE : SL_V_DELETE_ALL;
    return 0;
}

static void dispatch_verb(struct api_rq *rq) {
    static const struct {
        enum api_verbs verb;
        void (*fn)(struct api_rq *);
    } table[] = {
        {SL_V_GET, api_handle_get},       {SL_V_LIST, api_handle_list},
        {SL_V_WATCH, api_handle_watch},   {SL_V_CREATE, api_handle_create},
        {SL_V_UPDATE, api_handle_update}, {SL_V_PATCH, api_handle_patch},
        {SL_V_DELETE, api_handle_delete}, {SL_V_DELETE_ALL, api_handle_delete_collection},
    };

    for (size_t i = 0; i < SL_LEN(table); i++)
        if (table[i].verb == rq->verb) {
            table[i].fn(rq);
            return;
        }
    api_rq_method(rq);
}

/* ---- resources ---- */

/* The rest of a path below a group and version. False: nothing is there. */
static bool locate(struct api_rq *rq, const struct parts *p, uint32_t at) {
    rq->ns = rq->name = rq->subname = "";
    if (segment_is(p, at, "watch")) {
        rq->q.watch = 1;
        at++;
    }
    bool sub = segment_is(p, at + 2, "status") || segment_is(p, at + 2, "finalize");
    if (segment_is(p, at, "namespaces") && p->n > at + 2 &&
        !(sub && p->n == at + 3 && !*rq->group)) {
        rq->ns = p->v[at + 1];
        at += 2;
    }
    if (at >= p->n)
        return false;
    rq->plural = p->v[at++];
    if (at < p->n)
        rq->name = p->v[at++];
    if (at < p->n)
        rq->subname = p->v[at++];
    rq->kind = api_kind_find(rq->s, rq->group, rq->plural);
    rq->version = rq->kind ? api_kind_version(rq->kind, rq->version_name) : NULL;
    if (at < p->n) /* only proxies go deeper */
        return false;
    /* What is left of a kind that goes is deleted, served or not. */
    bool last = rq->kind && rq->kind->going && strcmp(rq->method, "DELETE") == 0;
    if (!rq->version || (!rq->version->served && !last))
        return false;
    if (*rq->ns && !rq->kind->namespaced)
        return false;
    if (*rq->name && rq->kind->verbs == SL_V_CREATE)
        return false;
    if (*rq->subname) {
        rq->sub = api_sub_find(rq->kind, rq->version, rq->subname);
        return rq->sub;
    }
    return true;
}

/* Built-in groups answer with a Status, those of CRDs, and unknown ones, with text. */
static void reply_not_found(struct api_rq *rq) {
    const struct api_kind *k;

    rq->kind = NULL;
    for (uint32_t i = 0; (k = api_kind_each(rq->s, &i));)
        if (!k->crd && strcmp(k->group, rq->group) == 0 && api_kind_version(k, rq->version_name)) {
            api_rq_no_resource(rq);
            return;
        }
    api_rq_not_found_text(rq);
}

static void resource(struct api_rq *rq, const struct parts *p, uint32_t at, const char *accept) {
    api_params_read(rq);
    if (!locate(rq, p, at)) {
        /* For a path below a custom resource, the resource itself is reported as not found. */
        if (rq->version && rq->version->served && rq->kind->crd && *rq->subname)
            api_rq_not_found(rq, rq->kind, rq->name);
        else
            reply_not_found(rq);
        return;
    }
    rq->verb = verb_of(rq);
    enum api_verbs known = rq->sub ? rq->sub->verbs : rq->kind->verbs;
    /* What belongs to a namespace is only made and named there. */
    if (rq->kind->namespaced && !*rq->ns && rq->verb != SL_V_WATCH) {
        if (*rq->name) {
            reply_not_found(rq);
            return;
        }
        if (rq->verb == SL_V_CREATE) {
            api_rq_method(rq);
            return;
        }
    }
    if (rq->sub && rq->sub->refused) {
        api_rq_fail(rq, 501, "NotImplemented", "%s", rq->sub->refused);
        return;
    }
    if (!rq->verb || !(known & rq->verb)) {
        if (rq->kind->crd && rq->sub && (rq->verb == SL_V_CREATE || rq->verb == SL_V_DELETE))
            api_rq_unsupported(rq, rq->verb == SL_V_CREATE ? "create" : "delete");
        else
            api_rq_method(rq);
        return;
    }
    if (rq->q.bad) {
        api_rq_bad(rq, "%s", rq->q.bad);
        return;
    }
    if (rq->sub && rq->sub->upgrade) {
        api_session_start(rq);
        return;
    }
    if (!api_negotiate_accept(rq, accept))
        return;
    if (rq->version->deprecated && rq->version->deprecation)
        api_rq_warn(rq, rq->version->deprecation);
    dispatch_verb(rq);
}

/* ---- the rest ---- */

static void reply_text(struct api_rq *rq, const char *type, const char *text) {
    rq->type = type;
    sl_buf_puts(&rq->out, text);
    api_rq_answer(rq, 200);
}

static void version(struct api_rq *rq) {
    const char *v = rq->s->version, *dot = strchr(v, '.');
    size_t major = dot ? (size_t)(dot - v) - (*v == 'v') : 1;
    size_t minor = dot ? strcspn(dot + 1, ".") : 0;

    struct sl_text first = {v + (*v == 'v'), major}, second = {dot ? dot + 1 : "", minor};
    struct sl_jw *w = &SL_JW(&rq->out);
    sl_jw_object(w, NULL);
    sl_jw_text(w, "major", first);
    sl_jw_text(w, "minor", second);
    sl_jw_text(w, "emulationMajor", first);
    sl_jw_text(w, "emulationMinor", second);
    sl_jw_str(w, "gitVersion", v);
    sl_jw_str(w, "gitCommit", "");
    sl_jw_str(w, "gitTreeState", "clean");
    sl_jw_str(w, "buildDate", "1970-01-01T00:00:00Z");
    sl_jw_str(w, "goVersion", "");
    sl_jw_str(w, "compiler", "sluice " SL_VERSION);
    sl_jw_str(w, "platform", "linux/amd64");
    sl_jw_end(w);
    api_rq_answer(rq, 200);
}

/* Where others that are given tokens find how to check them. */
static void openid_configuration(struct api_rq *rq) {
    static const char *const lists[][2] = {{"response_types_supported", "id_token"},
                                           {"subject_types_supported", "public"},
                                           {"id_token_signing_alg_values_supported", "ES256"}};
    struct sl_jw *w = &SL_JW(&rq->out);

    sl_jw_object(w, NULL);
    sl_jw_str(w, "issuer", SL_API_ISSUER);
    sl_jw_strf(w, "jwks_uri", "https://%s/openid/v1/jwks", rq->s->address);
    for (size_t i = 0; i < SL_LEN(lists); i++) {
        sl_jw_array(w, lists[i][0]);
        sl_jw_str(w, NULL, lists[i][1]);
        sl_jw_end(w);
    }
    sl_jw_end(w);
    api_rq_answer(rq, 200);
}

static void jwks(struct api_rq *rq) {
    rq->type = "application/jwk-set+json";
    api_jwks_put(rq->s->signer, &SL_JW(&rq->out));
    api_rq_answer(rq, 200);
}

static bool reads(const struct api_rq *rq) {
    return strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0;
}

void api_route(struct api_rq *rq, const char *accept) {
    struct parts p;

    rq->group = rq->version_name = rq->plural = rq->ns = rq->name = rq->subname = "";
    split_path(rq, &p);
    if (rq->len > SL_API_MAX_BODY) {
        api_rq_fail(rq, 413, "RequestEntityTooLarge", "Request entity too large: limit is %zu",
                    SL_API_MAX_BODY);
    } else if (p.more) {
        api_rq_not_found_text(rq);
    } else if (segment_is(&p, 0, "api") && p.n > 2 && segment_is(&p, 1, "v1")) {
        rq->version_name = "v1";
        resource(rq, &p, 2, accept);
    } else if (segment_is(&p, 0, "apis") && p.n > 3) {
        rq->group = p.v[1];
        rq->version_name = p.v[2];
        resource(rq, &p, 3, accept);
    } else if (!reads(rq)) {
        if (p.n == 0 || segment_is(&p, 0, "api") || segment_is(&p, 0, "apis") ||
            segment_is(&p, 0, "version"))
            api_rq_method(rq);
        else
            api_rq_not_found_text(rq);
    } else if (p.n == 1 && segment_is(&p, 0, "version")) {
        version(rq);
    } else if (p.n == 2 && segment_is(&p, 0, ".well-known") &&
               segment_is(&p, 1, "openid-configuration")) {
        openid_configuration(rq);
    } else if (p.n == 3 && segment_is(&p, 0, "openid") && segment_is(&p, 1, "v1") &&
               segment_is(&p, 2, "jwks")) {
        jwks(rq);
    } else if ((p.n == 1 || (p.n == 2 && segment_is(&p, 1, "ping"))) &&
               (segment_is(&p, 0, "healthz") || segment_is(&p, 0, "livez") ||
                segment_is(&p, 0, "readyz"))) {
        reply_text(rq, "text/plain; charset=utf-8", "ok");
    } else if (!api_discover(rq, p.v, p.n, accept)) {
        api_rq_not_found_text(rq);
    }
}
