/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: those of a cluster (kubernetes.io and what it is bound to). They hold as long as the
 * account and the object that they are bound to are there, with the uids that they name.
 */
#include "cluster/apiserver/token.h"

#include <string.h>

#include <openssl/rand.h>

#include "cluster/apiserver/jwt.h"
#include "cluster/apiserver/kinds/kind.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define GRACE (60 * SL_SEC) /* of what is being deleted */

/* ---- giving out ---- */

static void put_id(struct sl_jw *w) {
    unsigned char b[16];

    sl_assert(RAND_bytes(b, sizeof b) == 1);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    sl_jw_strf(w, "jti", "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
               b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
               b[13], b[14], b[15]);
}

static void put_object(struct sl_jw *w, const char *key, const char *name, const char *uid) {
    sl_jw_object(w, key);
    sl_jw_str(w, "name", name);
    sl_jw_str(w, "uid", uid);
    sl_jw_end(w);
}

/* "pod" of "Pod" */
static const char *claim_of(const char *kind) {
    return strcmp(kind, "Pod") == 0 ? "pod" : strcmp(kind, "Secret") == 0 ? "secret" : "node";
}

const char *sl_api_token_new(struct sl_apiserver *s, struct sl_arena *arena,
                             const struct sl_api_token *t) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(API_JWT_MAX);
    struct sl_jw w = SL_JW(&b);

    sl_jw_object(&w, NULL);
    if (sl_json_size(t->audiences)) {
        sl_jw_val(&w, "aud", t->audiences);
    } else {
        sl_jw_array(&w, "aud");
        sl_jw_str(&w, NULL, SL_API_ISSUER);
        sl_jw_end(&w);
    }
    sl_jw_int(&w, "exp", t->until / SL_SEC);
    sl_jw_int(&w, "iat", t->now / SL_SEC);
    sl_jw_str(&w, "iss", SL_API_ISSUER);
    put_id(&w);
    sl_jw_object(&w, "kubernetes.io");
    sl_jw_str(&w, "namespace", t->ns);
    if (t->bound_kind)
        put_object(&w, claim_of(t->bound_kind), t->bound_name, t->bound_uid);
    if (t->node_name)
        put_object(&w, "node", t->node_name, t->node_uid);
    put_object(&w, "serviceaccount", t->name, t->uid);
    if (t->warn_after)
        sl_jw_int(&w, "warnafter", t->warn_after / SL_SEC);
    sl_jw_end(&w);
    sl_jw_int(&w, "nbf", t->now / SL_SEC);
    sl_jw_strf(&w, "sub", "system:serviceaccount:%s:%s", t->ns, t->name);
    sl_jw_end(&w);
    return sl_buf_full(&b) ? "" : api_jwt_sign(s->signer, arena, b.s, b.len);
}

/* ---- reading ---- */

/* The object of that name has that uid, and is not long gone. */
static bool object_stands(struct sl_apiserver *s, const char *plural, const char *ns,
                          yyjson_val *claim, sl_time now) {
    const struct api_kind *k = api_kind_find(s, "", plural);
    _cleanup_(sl_json_docp) yyjson_doc *d =
        k ? api_kind_read(s, k, k->namespaced ? ns : "", sl_json_str(claim, "name")) : NULL;
    yyjson_val *meta = sl_json_get(d ? yyjson_doc_get_root(d) : NULL, "metadata");
    sl_time going = sl_json_time(meta, "deletionTimestamp");

    return meta && strcmp(sl_json_str(meta, "uid"), sl_json_str(claim, "uid")) == 0 &&
           (!going || now < sl_time_add(going, GRACE));
}

static bool all_stand(struct sl_apiserver *s, const char *ns, yyjson_val *own, sl_time now) {
    static const char *const claims[][2] = {
        {"serviceaccount", "serviceaccounts"}, {"pod", "pods"}, {"secret", "secrets"}};

    for (size_t i = 0; i < SL_LEN(claims); i++) {
        yyjson_val *claim = sl_json_get(own, claims[i][0]);
        if ((claim || i == 0) && !object_stands(s, claims[i][1], ns, claim, now))
            return false;
    }
    /* The node of a pod may go before it; one that the token is bound to itself may not. */
    yyjson_val *node = sl_json_get(own, "node");
    return !node || sl_json_get(own, "pod") || object_stands(s, "nodes", "", node, now);
}

static bool has_text(yyjson_val *list, const char *text) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v)
        if (strcmp(sl_json_text(v), text) == 0)
            return true;
    return false;
}

/* Those of both; NULL: there is none. */
static const char *const *common_audiences(struct sl_arena *a, yyjson_val *list,
                                           const char *const *asked) {
    static const char *const own[] = {SL_API_ISSUER, NULL};
    const char **out = sl_arena_alloc0(a, SL_API_AUDIENCES + 1, sizeof *out);
    uint32_t n = 0;

    for (const char *const *p = asked ? asked : own; *p && n < SL_API_AUDIENCES; p++)
        if (has_text(list, *p))
            out[n++] = *p;
    return n ? out : NULL;
}

bool sl_api_token_read(struct sl_apiserver *s, struct sl_arena *arena, const char *token,
                       const char *const *audiences, sl_time now, struct sl_api_bearer *ret) {
    _cleanup_(sl_json_docp) yyjson_doc *d = s ? api_jwt_claims(s->signer, token) : NULL;
    yyjson_val *claims = d ? yyjson_doc_get_root(d) : NULL,
               *own = sl_json_get(claims, "kubernetes.io");
    const char *ns = sl_json_str(own, "namespace");

    if (!own || strcmp(sl_json_str(claims, "iss"), SL_API_ISSUER) != 0 ||
        sl_json_int(claims, "exp", 0) <= now / SL_SEC ||
        sl_json_int(claims, "nbf", 0) > now / SL_SEC + 60 || !all_stand(s, ns, own, now))
        return false;
    *ret = (struct sl_api_bearer){
        .user = sl_arena_strdup(arena, sl_json_str(claims, "sub")),
        .ns = sl_arena_strdup(arena, ns),
        .uid = sl_arena_strdup(arena, sl_json_str(own, "serviceaccount.uid")),
        .id = sl_arena_strdup(arena, sl_json_str(claims, "jti")),
        .pod = sl_arena_strdup(arena, sl_json_str(own, "pod.name")),
        .pod_uid = sl_arena_strdup(arena, sl_json_str(own, "pod.uid")),
        .node = sl_arena_strdup(arena, sl_json_str(own, "node.name")),
        .node_uid = sl_arena_strdup(arena, sl_json_str(own, "node.uid")),
        .audiences = common_audiences(arena, sl_json_get(claims, "aud"), audiences),
    };
    return ret->audiences;
}
