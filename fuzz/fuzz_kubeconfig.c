/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs, and what exec plugins print. Whatever is refused says why; whatever is taken is
 * whole, and nothing in it breaks a header.
 */
#include <string.h>

#include "core/base/mem.h"
#include "kube/client/exec_plugin.h"
#include "kube/client/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_source(const struct sl_kubeconfig_source *s) {
    sl_assert(!s->data || !s->path);
    if (s->data)
        sl_assert(strlen(s->data) <= s->len && !sl_pem_problem(s->data, s->len));
    sl_assert(!s->path || *s->path);
}

static void check_exec(const struct sl_exec_plugin_spec *e) {
    sl_assert(*e->command && *e->api_version && e->n_args <= SL_EXEC_PLUGIN_MAX_ARGS);
    for (uint32_t i = 0; i < e->n_args; i++)
        sl_assert(strlen(e->args[i]) <= SL_TOKEN_MAX_BYTES);
    for (uint32_t i = 0; i < e->n_env; i++)
        sl_assert(strchr(e->env[i], '=') > e->env[i]);
}

static void check(const struct sl_kubeconfig *k) {
    sl_assert(strncmp(k->server, "http", 4) == 0 && k->server[strlen(k->server) - 1] != '/');
    sl_assert(*k->host && *k->port && *k->ns);
    sl_assert(!*k->prefix || *k->prefix == '/');
    check_source(&k->ca);
    check_source(&k->cert);
    check_source(&k->key);
    sl_assert((k->cert.data || k->cert.path) == (k->key.data || k->key.path));
    sl_assert(!*k->token || !sl_token_problem(k->token, strlen(k->token)));
    sl_assert(sl_header_safe(k->as) && sl_header_safe(k->as_uid));
    for (uint32_t i = 0; i < k->n_as_groups; i++)
        sl_assert(sl_header_safe(k->as_groups[i]));
    if (k->exec)
        check_exec(k->exec);
    if (*k->cluster_config) { /* it is JSON */
        struct sl_doc *d = NULL;
        struct sl_err err;
        sl_assert(sl_doc_json("x", 1, k->cluster_config, strlen(k->cluster_config), &d, &err) == 0);
        sl_doc_free(d);
    }
}

static void resolve(struct sl_doc *const *docs, uint32_t n, const char *context) {
    struct sl_kubeconfig *k = NULL;
    struct sl_err err = {0};
    int r = sl_kubeconfig_resolve(docs, n, context, &k, &err);

    sl_assert(r == err.code && (r < 0) == (k == NULL));
    if (r < 0)
        sl_assert(*err.text);
    else
        check(k);
    sl_kubeconfig_free(k);
}

static void plugin(const char *text, size_t size) {
    static const struct sl_exec_plugin_spec spec = {.api_version =
                                                        "client.authentication.k8s.io/v1"};
    struct sl_exec_plugin_cred c = {0};
    struct sl_err err = {0};

    if (sl_exec_plugin_parse(&spec, text, size, &c, &err) < 0) {
        sl_assert(strncmp(err.text, "its output:", 11) == 0 && !c.token);
        return;
    }
    sl_assert(*c.token || (*c.cert && *c.key));
    sl_assert(!*c.token || !sl_token_problem(c.token, strlen(c.token)));
    sl_exec_plugin_cred_done(&c);
}

/* Decoding gives what encoding makes of it. */
static void base64(const char *text, size_t size) {
    _cleanup_(sl_freep) char *out = sl_alloc(size / 4 * 3 + 4);
    struct sl_buf b;
    int64_t n = sl_base64_decode(text, size, out);

    if (n >= 0)
        sl_assert((size_t)n <= size / 4 * 3 && out[n] == '\0');
    sl_buf_init(&b, 2 * size + 8);
    sl_base64_encode(&b, text, size);
    sl_assert(!sl_buf_full(&b));
    _cleanup_(sl_freep) char *back = sl_alloc(b.len / 4 * 3 + 4);
    sl_assert(sl_base64_decode(sl_buf_str(&b), b.len, back) == (int64_t)size);
    sl_assert(size == 0 || memcmp(back, text, size) == 0);
    sl_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_doc *docs[2] = {NULL};
    const char *text = (const char *)data;
    struct sl_err err;

    plugin(text, size);
    base64(text, size);
    if (sl_doc_yaml("in", text, size, &docs[0], &err) < 0)
        return 0;
    resolve(docs, 1, NULL);
    resolve(docs, 1, "c");
    docs[1] = docs[0]; /* merged with itself it means the same */
    resolve(docs, 2, NULL);
    sl_doc_free(docs[0]);
    return 0;
}
