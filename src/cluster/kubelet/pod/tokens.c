/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of a pod's service account in its projected volumes: requested when it starts, bound to
 * it, and renewed in place when four fifths of their time are over, as a kubelet does.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define AGAIN (10 * SL_SEC)
#define OLDEST (24 * SL_HOUR)
#define DEFAULT_SECONDS 3600
#define MAX_TOKEN ((size_t)64 << 10)

static void add_tokens(struct klet_pod *p) {
    yyjson_val *volumes = sl_json_at(yyjson_doc_get_root(p->local->doc), "spec.volumes"), *v, *s;
    size_t i, n, k, m;

    yyjson_arr_foreach (volumes, i, n, v)
        yyjson_arr_foreach (sl_json_at(v, "projected.sources"), k, m, s) {
            yyjson_val *t = sl_json_at(s, "serviceAccountToken");
            if (!t || p->local->tokens.n >= RT_MAX_REFS)
                continue;
            *sl_vec_push(&p->local->tokens) = (struct klet_token){
                .pod = p,
                .volume = sl_strdup(sl_json_str(v, "name")),
                .path = sl_strdup(sl_json_str(t, "path")),
                .audience = sl_strdup(sl_json_str(t, "audience")),
                .mode = (unsigned)sl_json_int(v, "projected.defaultMode", 0644) & 0777,
                .seconds = sl_json_int(t, "expirationSeconds", DEFAULT_SECONDS)};
        }
}

/* The volume has the file already: a reader sees the old one or the new one. */
static void replace_file(struct klet_token *t) {
    char path[PATH_MAX];
    const char *folder = t->pod->local->folder;

    if (!t->pod->local->volumes || snprintf(path, sizeof path, "%s/volumes/%s/%s", folder,
                                            t->volume, t->path) >= (int)sizeof path)
        return;
    int r = klet_file_write(path, t->text, strlen(t->text), t->mode);
    if (r < 0)
        sl_log(SL_LOG_WARN, "renewed service account token not written", SL_S("pod", t->pod->name),
               SL_S("error", strerror(-r)));
}

static void token_answered(void *ctx, const struct sl_kube_reply *rp) {
    struct klet_token *t = ctx;
    struct klet_pod *p = t->pod;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(rp->body, rp->len, 0);
    yyjson_val *o = yyjson_doc_get_root(d);
    const char *text = rp->status < 300 ? sl_json_str(o, "status.token") : "";

    t->call.v = 0;
    t->answered = true;
    if (*text) {
        sl_span life = sl_json_int(o, "spec.expirationSeconds", t->seconds) * SL_SEC / 5 * 4;
        sl_freep(&t->text);
        sl_freep(&t->why);
        t->text = sl_strdup(text);
        t->renew_at = p->rt->client->mono + (life < OLDEST ? life : OLDEST);
        replace_file(t);
    } else {
        sl_freep(&t->why);
        t->why = sl_strdup(*sl_json_str(o, "message") ? sl_json_str(o, "message")
                                                      : "the API server did not answer");
        t->renew_at = p->rt->client->mono + AGAIN;
    }
    klet_pod_enqueue(p);
}

static void request_token(struct klet_token *t) {
    struct klet_pod *p = t->pod;
    const char *account =
        sl_json_str(yyjson_doc_get_root(p->local->doc), "spec.serviceAccountName");
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TOKEN);
    char path[SL_WRITER_MAX_PATH];
    struct sl_jw j = SL_JW(&b);

    sl_fmt(path, sizeof path, "/api/v1/namespaces/%.300s/serviceaccounts/%.300s/token", p->ns,
           *account ? account : "default");
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", "authentication.k8s.io/v1");
    sl_jw_str(&j, "kind", "TokenRequest");
    sl_jw_object(&j, "spec");
    if (*t->audience) {
        sl_jw_array(&j, "audiences");
        sl_jw_str(&j, NULL, t->audience);
        sl_jw_end(&j);
    }
    sl_jw_int(&j, "expirationSeconds", t->seconds);
    sl_jw_object(&j, "boundObjectRef");
    sl_jw_str(&j, "kind", "Pod");
    sl_jw_str(&j, "apiVersion", "v1");
    sl_jw_str(&j, "name", p->name);
    sl_jw_str(&j, "uid", p->uid);
    sl_jw_end_to(&j, 0);
    t->call = sl_kube_request(
        p->rt->client,
        &(struct sl_kube_request){
            .method = SL_POST, .path = path, .content_type = SL_JSON, .body = b.s, .len = b.len},
        token_answered, t);
}

bool klet_tokens_get(struct klet_pod *p) {
    struct klet_local_pod *re = p->local;
    bool all = true;

    if (!re->tokens_requested)
        add_tokens(p); /* from here on the vector does not move */
    re->tokens_requested = true;
    for (uint32_t i = 0; i < re->tokens.n; i++) {
        struct klet_token *t = &re->tokens.v[i];
        if (!t->answered && !t->call.v)
            request_token(t);
        all &= t->answered;
    }
    return all;
}

void klet_tokens_tick(struct klet_pod *p) {
    struct klet_local_pod *re = p->local;

    for (uint32_t i = 0; re->volumes && i < re->tokens.n; i++) {
        struct klet_token *t = &re->tokens.v[i];
        if (t->call.v)
            continue;
        if (p->rt->client->mono >= t->renew_at)
            request_token(t);
        else
            klet_pod_enqueue_at(p, t->renew_at);
    }
}

void klet_tokens_again(struct klet_pod *p) {
    for (uint32_t i = 0; i < p->local->tokens.n; i++)
        if (!p->local->tokens.v[i].text)
            p->local->tokens.v[i].answered = false;
}

const char *klet_token_find(const struct klet_pod *p, const char *volume, const char *path,
                            const char **ret_why) {
    *ret_why = "a pod may have no more tokens";
    for (uint32_t i = 0; i < p->local->tokens.n; i++) {
        const struct klet_token *t = &p->local->tokens.v[i];
        if (strcmp(t->volume, volume) != 0 || strcmp(t->path, path) != 0)
            continue;
        *ret_why = t->why;
        return t->text;
    }
    return NULL;
}

void klet_tokens_free(struct klet_pod *p) {
    for (uint32_t i = 0; i < p->local->tokens.n; i++) {
        struct klet_token *t = &p->local->tokens.v[i];
        sl_kube_cancel(p->rt->client, t->call);
        sl_freep(&t->volume);
        sl_freep(&t->path);
        sl_freep(&t->audience);
        sl_freep(&t->text);
        sl_freep(&t->why);
    }
    sl_vec_free(&p->local->tokens);
}
