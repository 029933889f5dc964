/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one cluster and one user of a kubeconfig. Fields that client-go does not know either are
 * ignored, as kubectl ignores them; a field that would change the identity and is not supported is
 * an error. Messages never show a secret, so secrets are not read with the getters of
 * lib/doc/read.h, which quote the value.
 */
#include "kube/client/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "kube/client/secret.h"
#include "lib/doc/read.h"

#define MAX_TEXT_BYTES SL_TOKEN_MAX_BYTES
#define MAX_GROUPS 1024u

/* Copies a text. An alias can stand for a long one many times over, so each has a ceiling. */
static const char *copy_text(struct sl_read *rd, uint32_t line, const char *s) {
    size_t n = strlen(s);

    if (n > MAX_TEXT_BYTES) {
        sl_read_fail(rd, line, "a text of more than %zu bytes", MAX_TEXT_BYTES);
        return "";
    }
    return n > 0 ? sl_arena_strndup(rd->arena, s, n) : "";
}

static const char *field(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    return n ? copy_text(f->rd, n->line, sl_read_str(f->rd, n, key)) : "";
}

static const struct sl_doc_node *secret_node(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(f, key);

    if (n && n->kind != SL_DOC_NODE_STR)
        sl_read_fail(f->rd, n->line, "%s: expected a string (put it in quotes)", key);
    return n && n->kind == SL_DOC_NODE_STR && n->n > 0 ? n : NULL;
}

static const char *secret(struct sl_doc_fields *f, const char *key) {
    const struct sl_doc_node *n = secret_node(f, key);
    return n ? copy_text(f->rd, n->line, n->text) : "";
}

/* Text that becomes a header's value. */
static const char *header_text(struct sl_doc_fields *f, const char *key) {
    const char *s = field(f, key);

    if (!sl_header_safe(s))
        sl_read_fail(f->rd, sl_doc_field(f, key)->line,
                     "%s: expected text without control characters", key);
    return s;
}

/* A file name, relative to the folder of the kubeconfig. */
static const char *path(struct sl_doc_fields *f, const char *s) {
    const char *slash = strrchr(f->rd->file, '/');

    s = copy_text(f->rd, f->line, s);
    if (!*s || *s == '/' || !slash)
        return s;
    return sl_arena_printf(f->rd->arena, "%.*s/%s", (int)(slash - f->rd->file), f->rd->file, s);
}

/* KEY: a file, or KEY-data: base64 of PEM. Both is an error, as for kubectl. */
static struct sl_kubeconfig_source source(struct sl_doc_fields *f, const char *key,
                                          const char *data_key) {
    struct sl_kubeconfig_source s = {.path = path(f, sl_doc_field_str(f, key, ""))};
    const struct sl_doc_node *n = secret_node(f, data_key);

    if (!*s.path)
        s.path = NULL;
    if (!n)
        return s;
    if (s.path) {
        sl_read_fail(f->rd, n->line, "both %s and %s are given; keep one", key, data_key);
        return s;
    }
    if (n->n > 2 * SL_PEM_MAX_BYTES) {
        sl_read_fail(f->rd, n->line, "%s: more than %zu bytes", data_key, 2 * SL_PEM_MAX_BYTES);
        return s;
    }
    char *out = sl_arena_alloc(f->rd->arena, n->n / 4 * 3 + 4);
    int64_t len = sl_base64_decode(n->text, n->n, out);
    const char *problem = len < 0 ? "expected base64" : sl_pem_problem(out, (size_t)len);
    if (problem) {
        sl_read_fail(f->rd, n->line, "%s: %s", data_key, problem);
        return s;
    }
    s.data = out;
    s.len = (size_t)len;
    return s;
}

static bool source_given(const struct sl_kubeconfig_source *s) {
    return s->data || s->path;
}

/* The extension of this name, as JSON; "" if there is none. */
static const char *extension(struct sl_doc_fields *cluster, const char *name) {
    uint32_t n;
    const struct sl_doc_node *items = sl_doc_field_list(cluster, "extensions", 1024, &n);

    for (uint32_t i = 0; i < n; i++) {
        const struct sl_doc_node *key = sl_doc_node_get(&items[i], "name");
        const struct sl_doc_node *value = sl_doc_node_get(&items[i], "extension");
        if (!key || !value || key->kind != SL_DOC_NODE_STR || strcmp(key->text, name) != 0)
            continue;
        struct sl_buf b;
        sl_buf_init(&b, MAX_TEXT_BYTES);
        sl_doc_node_json(&SL_JW(&b), NULL, value, true);
        if (sl_buf_full(&b))
            sl_read_fail(cluster->rd, value->line, "extension \"%s\": more than %zu bytes", name,
                         MAX_TEXT_BYTES);
        const char *out = copy_text(cluster->rd, value->line, sl_buf_str(&b));
        sl_buf_done(&b);
        return out;
    }
    return "";
}

/* ---- cluster ---- */

int sl_kubeconfig_read_cluster(struct sl_kubeconfig *k, const struct sl_doc *d,
                               const struct sl_doc_node *n, uint32_t line, struct sl_err *err) {
    struct sl_read rd = {.file = d->file, .arena = &k->arena, .err = err};
    struct sl_doc_fields f;
    struct sl_err why;

    sl_doc_fields_open(&f, &rd, n, "a cluster");
    f.line = line;
    const struct sl_doc_node *server = sl_doc_field_need(&f, "server");
    if (server && sl_kubeconfig_set_server(k, sl_read_str(&rd, server, "server"), &why) < 0)
        sl_read_fail(&rd, server->line, "server: %s", why.text);

    k->ca = source(&f, "certificate-authority", "certificate-authority-data");
    k->insecure = sl_doc_field_bool(&f, "insecure-skip-tls-verify", false);
    if (k->insecure && source_given(&k->ca))
        sl_read_fail(&rd, line,
                     "a cluster with insecure-skip-tls-verify has no use for its certificate "
                     "authority; remove one of the two");
    k->tls_server_name = field(&f, "tls-server-name");
    if (strspn(k->tls_server_name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789.-_") != strlen(k->tls_server_name))
        sl_read_fail(&rd, line, "tls-server-name: expected a host name");
    const struct sl_doc_node *proxy = secret_node(&f, "proxy-url"); /* may hold a password */
    k->proxy_url = proxy ? copy_text(&rd, proxy->line, proxy->text) : "";
    if (proxy && !sl_kubeconfig_is_proxy(proxy->text))
        sl_read_fail(&rd, proxy->line,
                     "proxy-url: expected a URL such as http://proxy:3128 or socks5://proxy:1080");
    k->cluster_config = extension(&f, "client.authentication.k8s.io/exec");
    return rd.code;
}

/* ---- user ---- */

static void read_exec(struct sl_kubeconfig *k, struct sl_read *rd, const struct sl_doc_node *n) {
    static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                           "client.authentication.k8s.io/v1beta1", NULL};
    static const char *const modes[] = {"Never", "IfAvailable", "Always", NULL};
    struct sl_exec_plugin_spec *e = sl_arena_alloc0(rd->arena, 1, sizeof *e);
    const struct sl_doc_node *v;
    struct sl_doc_fields f;
    uint32_t n_args, n_env;

    sl_doc_fields_open(&f, rd, n, "an exec plugin");
    e->command = sl_doc_field_str(&f, "command", NULL);
    if (f.map && !*e->command)
        sl_read_fail(rd, n->line, "command: expected the name of a program");
    /* A bare name is looked for in PATH, anything else from the folder of the kubeconfig. */
    e->command = strchr(e->command, '/') ? path(&f, e->command) : copy_text(rd, f.line, e->command);

    const struct sl_doc_node *args =
        sl_doc_field_list(&f, "args", SL_EXEC_PLUGIN_MAX_ARGS, &n_args);
    const char **out = sl_arena_alloc0(rd->arena, n_args + 1, sizeof *out);
    for (uint32_t i = 0; i < n_args; i++)
        out[i] = copy_text(rd, args[i].line, sl_read_str(rd, &args[i], "args"));
    e->args = out;
    e->n_args = n_args;

    const struct sl_doc_node *env = sl_doc_field_list(&f, "env", SL_EXEC_PLUGIN_MAX_ARGS, &n_env);
    out = sl_arena_alloc0(rd->arena, n_env + 1, sizeof *out);
    for (uint32_t i = 0; i < n_env; i++) {
        struct sl_doc_fields pair;
        sl_doc_fields_open(&pair, rd, &env[i], "a variable");
        const char *name = copy_text(rd, env[i].line, sl_doc_field_str(&pair, "name", NULL));
        if (!*name || strchr(name, '='))
            sl_read_fail(rd, env[i].line, "env: expected a name without '='");
        out[i] = sl_arena_printf(rd->arena, "%s=%s", name, secret(&pair, "value"));
    }
    e->env = out;
    e->n_env = n_env;

    v = sl_doc_field_need(&f, "apiVersion");
    e->api_version = versions[v ? sl_read_choice(rd, v, "apiVersion", versions) : 0];
    /* v1beta1 had a default; v1 requires the field. */
    v = e->api_version == versions[0] ? sl_doc_field_need(&f, "interactiveMode")
                                      : sl_doc_field(&f, "interactiveMode");
    e->interactive =
        v ? (enum sl_exec_plugin_interactive)sl_read_choice(rd, v, "interactiveMode", modes)
          : SL_INTERACTIVE_IF_AVAILABLE;
    e->provide_cluster_info = sl_doc_field_bool(&f, "provideClusterInfo", false);
    e->install_hint = field(&f, "installHint");
    k->exec = e;
}

static void read_impersonation(struct sl_kubeconfig *k, struct sl_doc_fields *f) {
    const struct sl_doc_node *groups =
        sl_doc_field_list(f, "as-groups", MAX_GROUPS, &k->n_as_groups);
    const char **out = sl_arena_alloc0(f->rd->arena, k->n_as_groups + 1, sizeof *out);

    k->as = header_text(f, "as");
    k->as_uid = header_text(f, "as-uid");
    for (uint32_t i = 0; i < k->n_as_groups; i++) {
        out[i] = copy_text(f->rd, groups[i].line, sl_read_str(f->rd, &groups[i], "as-groups"));
        if (!sl_header_safe(out[i]))
            sl_read_fail(f->rd, groups[i].line,
                         "as-groups: expected text without control characters");
    }
    k->as_groups = out;
    if (!*k->as && (*k->as_uid || k->n_as_groups > 0))
        sl_read_fail(f->rd, f->line, "as-uid and as-groups need \"as\", the user's name");
}

/* Each thing that is missing or too much, in one line. */
static void check_user(const struct sl_kubeconfig *k, struct sl_read *rd, uint32_t line) {
    if (source_given(&k->cert) && !source_given(&k->key))
        sl_read_fail(rd, line, "a client certificate needs its key: client-key or client-key-data");
    if (source_given(&k->key) && !source_given(&k->cert))
        sl_read_fail(rd, line,
                     "a client key needs its certificate: client-certificate or "
                     "client-certificate-data");
    if ((*k->username || *k->password) && (*k->token || *k->token_file))
        sl_read_fail(rd, line, "a user has either a token or a user name and password; keep one");
    if (strchr(k->username, ':'))
        sl_read_fail(rd, line, "username: expected no colon in it");
    const char *problem = *k->token ? sl_token_problem(k->token, strlen(k->token)) : NULL;
    if (problem)
        sl_read_fail(rd, line, "token: %s", problem);
}

int sl_kubeconfig_read_user(struct sl_kubeconfig *k, const struct sl_doc *d,
                            const struct sl_doc_node *n, uint32_t line, struct sl_err *err) {
    static const char *const refused[][2] = {
        {"auth-provider", "Kubernetes 1.26 removed it; use an exec plugin"},
        {"as-user-extra", "Sluice cannot send it; remove it"},
    };
    struct sl_read rd = {.file = d->file, .arena = &k->arena, .err = err};
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &rd, n, "a user");
    f.line = line;
    k->cert = source(&f, "client-certificate", "client-certificate-data");
    k->key = source(&f, "client-key", "client-key-data");
    k->token = secret(&f, "token");
    k->token_file = path(&f, sl_doc_field_str(&f, "tokenFile", ""));
    k->username = secret(&f, "username");
    k->password = secret(&f, "password");
    read_impersonation(k, &f);
    for (size_t i = 0; i < SL_LEN(refused); i++) {
        const struct sl_doc_node *v = sl_doc_field(&f, refused[i][0]);
        if (v)
            sl_read_fail(&rd, v->line, "%s: %s", refused[i][0], refused[i][1]);
    }
    const struct sl_doc_node *exec = sl_doc_field(&f, "exec");
    if (exec)
        read_exec(k, &rd, exec);
    check_user(k, &rd, line);
    /* As for kubectl, static credentials take precedence over a plugin. */
    if (*k->token || *k->token_file || *k->username)
        k->exec = NULL;
    return rd.code;
}
