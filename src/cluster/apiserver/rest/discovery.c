/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery: groups, versions and kinds under /api, /apis and below, each kind for itself and all
 * in one document (apidiscovery.k8s.io). The large documents are cached until a kind is added or
 * removed.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/server.h"
#include "lib/json/writer.h"

#define GROUP_VERSIONS 32u
#define DISCOVERY "apidiscovery.k8s.io"

enum { V2, V2BETA1 };
struct api_catalog {
    struct sl_apiserver *s;
    struct {
        uint64_t gen; /* of the kinds it was made from; 0: none yet */
        struct sl_buf text;
    } core[2], groups[2];
};

struct api_catalog *api_catalog_new(struct sl_apiserver *s) {
    struct api_catalog *c = sl_alloc0(1, sizeof *c);

    c->s = s;
    for (int i = 0; i < 2; i++) {
        sl_buf_init(&c->core[i].text, API_DISCOVERY);
        sl_buf_init(&c->groups[i].text, API_DISCOVERY);
    }
    return c;
}

void api_catalog_free(struct api_catalog *c) {
    for (int i = 0; i < 2; i++) {
        sl_buf_done(&c->core[i].text);
        sl_buf_done(&c->groups[i].text);
    }
    sl_freep(&c);
}

/* ---- versions of a group ---- */

/* "v2" before "v1" before "v1beta2" before "v1alpha1"; other names last. */
static void version_rank(const char *v, long w[3]) {
    char *end;

    w[0] = w[1] = w[2] = 0;
    if (*v != 'v' || v[1] < '1' || v[1] > '9')
        return;
    w[1] = strtol(v + 1, &end, 10);
    w[0] = !*end ? 3 : strncmp(end, "beta", 4) == 0 ? 2 : strncmp(end, "alpha", 5) == 0 ? 1 : 0;
    w[2] = *end ? strtol(end + strcspn(end, "0123456789"), NULL, 10) : 0;
}

static bool before(const char *a, const char *b) {
    long x[3], y[3];

    version_rank(a, x);
    version_rank(b, y);
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] > y[i];
    return strcmp(a, b) < 0;
}

static uint32_t versions_of(struct sl_apiserver *s, const char *group,
                            const char *v[GROUP_VERSIONS]) {
    struct api_kind *k;
    uint32_t n = 0;

    for (uint32_t i = 0; (k = api_kind_each(s, &i));) {
        if (strcmp(k->group, group) != 0)
            continue;
        for (uint32_t j = 0; j < k->n_versions; j++) {
            uint32_t at = 0;
            if (!k->versions[j].served)
                continue;
            while (at < n && before(v[at], k->versions[j].name))
                at++;
            if ((at < n && strcmp(v[at], k->versions[j].name) == 0) || n == GROUP_VERSIONS)
                continue;
            memmove(&v[at + 1], &v[at], (n - at) * sizeof v[0]);
            v[at] = k->versions[j].name;
            n++;
        }
    }
    return n;
}

/* ---- pieces ---- */

static void put_verbs(enum api_verbs verbs, struct sl_jw *w) {
    static const struct {
        enum api_verbs verb;
        const char *word;
    } words[] = {
        {SL_V_CREATE, "create"}, {SL_V_DELETE, "delete"}, {SL_V_DELETE_ALL, "deletecollection"},
        {SL_V_GET, "get"},       {SL_V_LIST, "list"},     {SL_V_PATCH, "patch"},
        {SL_V_UPDATE, "update"}, {SL_V_WATCH, "watch"},
    };

    sl_jw_array(w, "verbs");
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (verbs & words[i].verb)
            sl_jw_str(w, NULL, words[i].word);
    sl_jw_end(w);
}

static void put_strings(const char *key, const char *const *words, struct sl_jw *w) {
    if (!words || !words[0])
        return;
    sl_jw_array(w, key);
    for (; *words; words++)
        sl_jw_str(w, NULL, *words);
    sl_jw_end(w);
}

/* ---- one document per version ---- */

static void put_resource(const struct api_kind *k, const struct api_kind_version *v,
                         struct sl_jw *w) {
    const struct api_sub *u;

    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", k->plural);
    sl_jw_str(w, "singularName", k->singular);
    sl_jw_bool(w, "namespaced", k->namespaced);
    sl_jw_str(w, "kind", k->kind);
    put_verbs(k->verbs, w);
    put_strings("shortNames", k->short_names, w);
    put_strings("categories", k->categories, w);
    sl_jw_end(w);
    for (uint32_t i = 0; (u = api_sub_each(k, v, &i));) {
        if (u->refused)
            continue;
        sl_jw_object(w, NULL);
        sl_jw_strf(w, "name", "%s/%s", k->plural, u->name);
        sl_jw_str(w, "singularName", "");
        sl_jw_bool(w, "namespaced", k->namespaced);
        if (u->kind && u->group && *u->group) {
            sl_jw_str(w, "group", u->group);
            sl_jw_str(w, "version", u->version);
        }
        sl_jw_str(w, "kind", u->kind ? u->kind : k->kind);
        put_verbs(u->verbs, w);
        sl_jw_end(w);
    }
}

static bool resource_list(struct api_rq *rq, const char *group, const char *version) {
    struct sl_jw *w = &SL_JW(&rq->out);
    struct api_kind *k;
    bool any = false;

    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIResourceList");
    if (*group)
        sl_jw_str(w, "apiVersion", "v1");
    sl_jw_strf(w, "groupVersion", "%s%s%s", group, *group ? "/" : "", version);
    sl_jw_array(w, "resources");
    for (uint32_t i = 0; (k = api_kind_each(rq->s, &i));) {
        const struct api_kind_version *v =
            strcmp(k->group, group) == 0 ? api_kind_version(k, version) : NULL;
        if (!v || !v->served)
            continue;
        any = true;
        put_resource(k, v, w);
    }
    sl_jw_end_to(w, 0);
    return any;
}

/* ---- groups ---- */

static void put_group_version(struct sl_jw *w, const char *key, const char *group,
                              const char *version) {
    sl_jw_object(w, key);
    sl_jw_strf(w, "groupVersion", "%s/%s", group, version);
    sl_jw_str(w, "version", version);
    sl_jw_end(w);
}

/* Nothing if none of it is served. */
static bool put_group(struct sl_apiserver *s, const char *group, bool alone, struct sl_jw *w) {
    const char *v[GROUP_VERSIONS];
    uint32_t n = versions_of(s, group, v);

    if (!n)
        return false;
    sl_jw_object(w, NULL);
    if (alone) {
        sl_jw_str(w, "kind", "APIGroup");
        sl_jw_str(w, "apiVersion", "v1");
    }
    sl_jw_str(w, "name", group);
    sl_jw_array(w, "versions");
    for (uint32_t i = 0; i < n; i++)
        put_group_version(w, NULL, group, v[i]);
    sl_jw_end(w);
    put_group_version(w, "preferredVersion", group, v[0]);
    sl_jw_end(w);
    return true;
}

/* The next group after the one of *at; NULL after the last. Kinds stand in the order of their
 * groups. */
static const char *next_group(struct sl_apiserver *s, uint32_t *at) {
    while (*at < s->n_kinds) {
        const char *group = s->kinds[*at]->group;
        do
            (*at)++;
        while (*at < s->n_kinds && strcmp(s->kinds[*at]->group, group) == 0);
        if (*group)
            return group;
    }
    return NULL;
}

static void group_list(struct api_rq *rq) {
    struct sl_jw *w = &SL_JW(&rq->out);
    const char *group;

    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIGroupList");
    sl_jw_str(w, "apiVersion", "v1");
    sl_jw_array(w, "groups");
    for (uint32_t at = 0; (group = next_group(rq->s, &at));)
        (void)put_group(rq->s, group, false, w);
    sl_jw_end_to(w, 0);
}

/* ---- all in one ---- */

static void put_kind_of(const char *group, const char *version, const char *kind, struct sl_jw *w) {
    sl_jw_object(w, "responseKind");
    sl_jw_str(w, "group", group);
    sl_jw_str(w, "version", version);
    sl_jw_str(w, "kind", kind);
    sl_jw_end(w);
}

static void put_found(const struct api_kind *k, const struct api_kind_version *v, struct sl_jw *w) {
    const struct api_sub *u;
    bool any = false;

    sl_jw_object(w, NULL);
    sl_jw_str(w, "resource", k->plural);
    put_kind_of(k->group, v->name, k->kind, w);
    sl_jw_str(w, "scope", k->namespaced ? "Namespaced" : "Cluster");
    sl_jw_str(w, "singularResource", k->singular);
    put_verbs(k->verbs, w);
    put_strings("shortNames", k->short_names, w);
    put_strings("categories", k->categories, w);
    for (uint32_t i = 0; (u = api_sub_each(k, v, &i));) {
        if (u->refused)
            continue;
        if (!any)
            sl_jw_array(w, "subresources");
        any = true;
        sl_jw_object(w, NULL);
        sl_jw_str(w, "subresource", u->name);
        if (u->kind)
            put_kind_of(u->group ? u->group : "", u->version, u->kind, w);
        else
            put_kind_of(k->group, v->name, k->kind, w);
        put_verbs(u->verbs, w);
        sl_jw_end(w);
    }
    if (any)
        sl_jw_end(w);
    sl_jw_end(w);
}

static void put_group_found(struct sl_apiserver *s, const char *group, struct sl_jw *w) {
    const char *v[GROUP_VERSIONS];
    uint32_t n = versions_of(s, group, v);
    struct api_kind *k;

    if (!n)
        return;
    sl_jw_object(w, NULL);
    sl_jw_object(w, "metadata");
    if (*group)
        sl_jw_str(w, "name", group);
    sl_jw_end(w);
    sl_jw_array(w, "versions");
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_object(w, NULL);
        sl_jw_str(w, "version", v[i]);
        sl_jw_array(w, "resources");
        for (uint32_t j = 0; (k = api_kind_each(s, &j));) {
            const struct api_kind_version *kv =
                strcmp(k->group, group) == 0 ? api_kind_version(k, v[i]) : NULL;
            if (kv && kv->served)
                put_found(k, kv, w);
        }
        sl_jw_end(w);
        sl_jw_str(w, "freshness", "Current");
        sl_jw_end(w);
    }
    sl_jw_end(w);
    sl_jw_end(w);
}

static void aggregated(struct api_rq *rq, bool core, int form) {
    struct api_catalog *c = rq->s->catalog;
    struct sl_buf *b = core ? &c->core[form].text : &c->groups[form].text;
    uint64_t *gen = core ? &c->core[form].gen : &c->groups[form].gen;
    const char *group;

    rq->type = form == V2 ? "application/json;g=" DISCOVERY ";v=v2;as=APIGroupDiscoveryList"
                          : "application/json;g=" DISCOVERY ";v=v2beta1;as=APIGroupDiscoveryList";
    if (*gen != rq->s->kinds_gen) {
        *gen = rq->s->kinds_gen;
        sl_buf_clear(b);
        struct sl_jw *w = &SL_JW(b);
        sl_jw_object(w, NULL);
        sl_jw_str(w, "kind", "APIGroupDiscoveryList");
        sl_jw_str(w, "apiVersion", form == V2 ? DISCOVERY "/v2" : DISCOVERY "/v2beta1");
        sl_jw_object(w, "metadata");
        sl_jw_end(w);
        sl_jw_array(w, "items");
        if (core)
            put_group_found(rq->s, "", w);
        for (uint32_t at = 0; !core && (group = next_group(rq->s, &at));)
            put_group_found(rq->s, group, w);
        sl_jw_end_to(w, 0);
    }
    sl_buf_add(&rq->out, b->s, b->len);
    api_rq_answer(rq, 200);
}

/* The first of the forms that the client takes; -1: the older documents. */
static int wants_aggregated(const char *accept) {
    while (*accept) {
        size_t len = strcspn(accept, ",");
        const char *as = memmem(accept, len, "as=APIGroupDiscoveryList", 24),
                   *v2 = memmem(accept, len, "v=v2", 4);
        bool json = !memmem(accept, len, "protobuf", 8) && !memmem(accept, len, "cbor", 4);
        if (as && v2 && json)
            return memmem(v2, len - (size_t)(v2 - accept), "v=v2beta1", 9) ? V2BETA1 : V2;
        if (!as && json)
            return -1;
        accept += len + (accept[len] == ',');
    }
    return -1;
}

/* ---- requests ---- */

static void api_versions(struct api_rq *rq) {
    struct sl_jw *w = &SL_JW(&rq->out);

    sl_jw_object(w, NULL);
    sl_jw_str(w, "kind", "APIVersions");
    sl_jw_array(w, "versions");
    sl_jw_str(w, NULL, "v1");
    sl_jw_end(w);
    sl_jw_array(w, "serverAddressByClientCIDRs");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "clientCIDR", "0.0.0.0/0");
    sl_jw_str(w, "serverAddress", rq->s->address);
    sl_jw_end_to(w, 0);
    api_rq_answer(rq, 200);
}

static void put_paths(struct sl_jw *w, const char *const *paths, size_t n) {
    for (size_t i = 0; i < n; i++)
        sl_jw_str(w, NULL, paths[i]);
}

static void root(struct api_rq *rq) {
    static const char *const first[] = {"/api", "/api/v1", "/apis"}, *const last[] = {"/healthz",
                                                                                      "/livez",
                                                                                      "/openapi/v2",
                                                                                      "/openapi/v3",
                                                                                      "/readyz",
                                                                                      "/version"};
    const char *group, *v[GROUP_VERSIONS];
    struct sl_jw *w = &SL_JW(&rq->out);

    sl_jw_object(w, NULL);
    sl_jw_array(w, "paths");
    put_paths(w, first, SL_LEN(first));
    for (uint32_t at = 0; (group = next_group(rq->s, &at));) {
        uint32_t n = versions_of(rq->s, group, v);
        sl_jw_strf(w, NULL, "/apis/%s", group);
        for (uint32_t i = 0; i < n; i++)
            sl_jw_strf(w, NULL, "/apis/%s/%s", group, v[i]);
    }
    put_paths(w, last, SL_LEN(last));
    sl_jw_end_to(w, 0);
    api_rq_answer(rq, 200);
}

bool api_discover(struct api_rq *rq, const char *const *parts, uint32_t n, const char *accept) {
    bool core = n && strcmp(parts[0], "api") == 0;
    bool groups = n && strcmp(parts[0], "apis") == 0;
    int form = wants_aggregated(accept);

    if (n == 0) {
        root(rq);
        return true;
    }
    if (n >= 2 && strcmp(parts[0], "openapi") == 0)
        return api_openapi(rq, parts, n, accept);
    if (n == 1 && (core || groups) && form >= 0) {
        aggregated(rq, core, form);
        return true;
    }
    if (core && n == 1) {
        api_versions(rq);
        return true;
    }
    bool found = false;
    if (core && n == 2) {
        found = resource_list(rq, "", parts[1]);
    } else if (groups && n == 1) {
        group_list(rq);
        found = true;
    } else if (groups && n == 2 && *parts[1]) {
        found = put_group(rq->s, parts[1], true, &SL_JW(&rq->out));
    } else if (groups && n == 3) {
        found = resource_list(rq, parts[1], parts[2]);
    }
    if (found)
        api_rq_answer(rq, 200);
    return found;
}
