/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of a kubeconfig and where it is searched for. Private to the client and its tests:
 * others see struct sl_kubeconfig through kube/client/client.h only.
 *
 * A loaded configuration is one resolved context: its cluster, its user, its namespace.
 * Certificates and tokens in files are only named here; auth.c reads and reloads them.
 */
#ifndef SL_KUBE_CLIENT_KUBECONFIG_H
#define SL_KUBE_CLIENT_KUBECONFIG_H

#include "kube/client/client.h"
#include "lib/doc/doc.h"

#define SL_KUBECONFIG_MAX_FILES 64u
#define SL_EXEC_PLUGIN_MAX_ARGS 256u

/* Bytes that are given in the text, or the file that has them; neither: absent. */
struct sl_kubeconfig_source {
    const char *data; /* decoded, NUL-terminated */
    size_t len;
    const char *path;
};

enum sl_exec_plugin_interactive {
    SL_INTERACTIVE_NEVER,
    SL_INTERACTIVE_IF_AVAILABLE,
    SL_INTERACTIVE_ALWAYS
};

/* A command that prints an ExecCredential. */
struct sl_exec_plugin_spec {
    const char *command;
    const char *const *args;
    uint32_t n_args;
    const char *const *env; /* "NAME=value" */
    uint32_t n_env;
    const char *api_version;
    const char *install_hint; /* "" if none */
    bool provide_cluster_info;
    enum sl_exec_plugin_interactive interactive;
};

struct sl_kubeconfig {
    struct sl_arena arena; /* of all texts below */
    const char *server;    /* scheme://host[:port][/prefix], without a slash at the end */
    const char *host, *port, *prefix; /* its parts; the prefix is "" or a path */
    bool https, loopback;
    const char *ns;
    const char *tls_server_name, *proxy_url; /* "" if none */
    const char *cluster_config;              /* JSON for exec plugins, "" if none */
    bool insecure;
    struct sl_kubeconfig_source ca, cert, key;
    const char *token, *token_file;  /* "" if none; the file counts before the text */
    const char *username, *password; /* "" if none */
    const char *as, *as_uid;         /* impersonation, "" if none */
    const char *const *as_groups;
    uint32_t n_as_groups;
    struct sl_exec_plugin_spec *exec; /* NULL if none */
};

/* The places of sl_kubeconfig_load; NULL and "" are the same. */
struct sl_kubeconfig_places {
    const char *explicit_path;
    const char *list;            /* KUBECONFIG: files with a colon between them */
    const char *service_account; /* directory with token, ca.crt and namespace */
    const char *service_host, *service_port;
    const char *home;
};

int sl_kubeconfig_find(const struct sl_kubeconfig_places *places, const char *context,
                       struct sl_kubeconfig **ret, struct sl_err *err) _must_check_;
/* The context, or the current one, out of n texts of which an earlier one counts before a later. */
int sl_kubeconfig_resolve(struct sl_doc *const *docs, uint32_t n, const char *context,
                          struct sl_kubeconfig **ret, struct sl_err *err) _must_check_;

/* Sets server, host, port and the other parts of a URL; error messages do not name a file. */
int sl_kubeconfig_set_server(struct sl_kubeconfig *k, const char *url,
                             struct sl_err *err) _must_check_;
/* Can a proxy be reached by this URL: http, https or socks5? */
bool sl_kubeconfig_is_proxy(const char *url);
/* The decoders of one cluster and one user (n is the map under "cluster:" or "user:", NULL if there
 * is none; line: of its entry). Strings are allocated in k's arena. */
int sl_kubeconfig_read_cluster(struct sl_kubeconfig *k, const struct sl_doc *d,
                               const struct sl_doc_node *n, uint32_t line,
                               struct sl_err *err) _must_check_;
int sl_kubeconfig_read_user(struct sl_kubeconfig *k, const struct sl_doc *d,
                            const struct sl_doc_node *n, uint32_t line,
                            struct sl_err *err) _must_check_;

#endif
