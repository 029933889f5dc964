/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and merging kubeconfigs. Files are not merged into one text: each thing is looked up by
 * name in one file after the other, and the first that has it wins, which is kubectl's rule. So
 * every message can name the file and line it is about.
 */
#include "kube/client/kubeconfig.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "lib/doc/read.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define MAX_ENTRIES 65536u
#define MAX_ARENA_BYTES ((size_t)256 << 20)
#define MAX_NAME_BYTES 4096u

static struct sl_kubeconfig *new_config(void) {
    struct sl_kubeconfig *k = sl_alloc0(1, sizeof *k);

    sl_arena_init(&k->arena, MAX_ARENA_BYTES);
    k->server = k->host = k->port = k->prefix = k->tls_server_name = k->proxy_url =
        k->cluster_config = "";
    k->token = k->token_file = k->username = k->password = k->as = k->as_uid = "";
    k->ns = "default";
    return k;
}

void sl_kubeconfig_free(struct sl_kubeconfig *k) {
    if (!k)
        return;
    sl_arena_done(&k->arena);
    sl_freep(&k);
}

void sl_kubeconfig_freep(struct sl_kubeconfig **k) {
    sl_kubeconfig_free(*k);
    *k = NULL;
}

const char *sl_kubeconfig_server(const struct sl_kubeconfig *k) {
    return k->server;
}

const char *sl_kubeconfig_namespace(const struct sl_kubeconfig *k) {
    return k->ns;
}

/* ---- URLs ---- */

static void curl_freep(char **s) {
    curl_free(*s);
}

static void url_freep(CURLU **u) {
    curl_url_cleanup(*u);
}

static bool has_part(CURLU *u, CURLUPart part) {
    _cleanup_(curl_freep) char *s = NULL;
    return curl_url_get(u, part, &s, 0) == CURLUE_OK;
}

static bool is_loopback(const char *host) {
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

int sl_kubeconfig_set_server(struct sl_kubeconfig *k, const char *url, struct sl_err *err) {
    _cleanup_(url_freep) CURLU *u = curl_url();
    _cleanup_(curl_freep) char *scheme = NULL, *host = NULL, *port = NULL, *whole = NULL;

    sl_assert(u);
    if (!strstr(url, "://") || strlen(url) > MAX_NAME_BYTES ||
        curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_URL, &whole, 0) != CURLUE_OK ||
        (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
        return sl_err_set(err, SL_EINVAL, "expected a URL such as https://host:6443");
    if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
        return sl_err_set(err, SL_EINVAL,
                          "expected no user in the URL; set username and password under users");
    if (has_part(u, CURLUPART_QUERY) || has_part(u, CURLUPART_FRAGMENT))
        return sl_err_set(err, SL_EINVAL, "expected a URL without ? and #");
    size_t len = strlen(whole);
    while (len > 0 && whole[len - 1] == '/')
        len--;
    k->https = strcmp(scheme, "https") == 0;
    k->host = sl_arena_strdup(&k->arena, host);
    k->port = sl_arena_strdup(&k->arena, port);
    k->server = sl_arena_strndup(&k->arena, whole, len);
    const char *prefix = strchr(strstr(k->server, "://") + 3, '/');
    k->prefix = prefix ? prefix : "";
    k->loopback = is_loopback(host);
    return 0;
}

bool sl_kubeconfig_is_proxy(const char *url) {
    _cleanup_(url_freep) CURLU *u = curl_url();
    _cleanup_(curl_freep) char *scheme = NULL;

    sl_assert(u);
    if (!strstr(url, "://") || strlen(url) > MAX_NAME_BYTES ||
        curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK || !has_part(u, CURLUPART_HOST))
        return false;
    return strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0 ||
           strcmp(scheme, "socks5") == 0;
}

/* ---- one context out of several files ---- */

struct files {
    struct sl_doc *const *docs;
    uint32_t n;
    struct sl_err *err;
};

/* A named entry of one of the lists, and the file it stands in. */
struct entry {
    const struct sl_doc *doc;
    const struct sl_doc_node *value; /* NULL: the entry is there, but empty */
    uint32_t line;
};

static const struct sl_doc_node *list_of(const struct sl_doc *d, const char *list) {
    const struct sl_doc_node *l = d->n > 0 ? sl_doc_node_get(&d->roots[0], list) : NULL;
    return l && l->kind == SL_DOC_NODE_LIST ? l : NULL;
}

static const char *name_of(const struct sl_doc_node *item) {
    const struct sl_doc_node *name = sl_doc_node_get(item, "name");
    return name && name->kind == SL_DOC_NODE_STR ? name->text : "";
}

/* An error that there is no such name, with those that exist, as far as they fit on a line. */
static void no_such(const struct files *fs, const char *list, const char *what, const char *name) {
    const char *names[64] = {NULL};
    char have[120] = "";
    uint32_t n = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < fs->n; i++) {
        const struct sl_doc_node *l = list_of(fs->docs[i], list);
        for (uint32_t j = 0; l && j < l->n && n < SL_LEN(names); j++)
            if (*name_of(&l->items[j]))
                names[n++] = name_of(&l->items[j]);
    }
    const char *near = sl_read_nearest(name, names, n);
    if (near) {
        (void)sl_err_set(fs->err, SL_ENOENT, "there is no %s \"%.60s\"; did you mean \"%.60s\"?",
                         what, name, near);
        return;
    }
    for (uint32_t i = 0; i < n && used < sizeof have; i++)
        used += (size_t)snprintf(have + used, sizeof have - used, "%s\"%.60s\"",
                                 i == 0 ? "; there is " : ", ", names[i]);
    (void)sl_err_set(fs->err, SL_ENOENT, "there is no %s \"%.60s\"%s%s", what, name, have,
                     used >= sizeof have ? "..." : "");
}

/* The entry of a name in clusters, users or contexts: { name: NAME, WHAT: value }. */
static int find_entry(const struct files *fs, const char *list, const char *what, const char *name,
                      struct entry *ret) {
    for (uint32_t i = 0; i < fs->n; i++) {
        const struct sl_doc *d = fs->docs[i];
        const struct sl_doc_node *l = list_of(d, list), *found = NULL;
        for (uint32_t j = 0; l && j < l->n; j++) {
            if (strcmp(name_of(&l->items[j]), name) != 0)
                continue;
            if (found) {
                (void)sl_err_set(fs->err, SL_EINVAL,
                                 "%s:%u: a second %s named \"%.60s\"; the first is on line %u",
                                 d->file, l->items[j].line, what, name, found->line);
                return SL_EINVAL;
            }
            found = &l->items[j];
        }
        if (!found)
            continue;
        *ret = (struct entry){d, sl_doc_node_get(found, what), found->line};
        return 0;
    }
    no_such(fs, list, what, name);
    return SL_ENOENT;
}

/* Is this a kubeconfig at all? What kubectl would refuse in the frame is refused here. */
static int check_frame(const struct sl_doc *d, struct sl_arena *arena, struct sl_err *err) {
    static const char *const lists[] = {"clusters", "users", "contexts"};
    struct sl_read rd = {.file = d->file, .arena = arena, .err = err};
    struct sl_doc_fields f;
    uint32_t n;

    if (d->n == 0)
        return 0;
    sl_doc_fields_open(&f, &rd, &d->roots[0], "a kubeconfig");
    const char *kind = sl_doc_field_str(&f, "kind", "Config");
    if (strcmp(kind, "Config") != 0)
        sl_read_fail(&rd, d->roots[0].line, "expected a kubeconfig (kind: Config), got \"%.60s\"",
                     kind);
    (void)sl_doc_field_str(&f, "current-context", "");
    for (size_t i = 0; i < SL_LEN(lists); i++) {
        const struct sl_doc_node *items = sl_doc_field_list(&f, lists[i], MAX_ENTRIES, &n);
        for (uint32_t j = 0; j < n && rd.code == 0; j++) {
            struct sl_doc_fields entry;
            sl_doc_fields_open(&entry, &rd, &items[j], "an entry with a name");
            if (entry.map && strlen(sl_doc_field_str(&entry, "name", NULL)) > MAX_NAME_BYTES)
                sl_read_fail(&rd, items[j].line, "name: longer than %u bytes", MAX_NAME_BYTES);
        }
    }
    return rd.code;
}

static const char *current_context(const struct files *fs) {
    for (uint32_t i = 0; i < fs->n; i++) {
        const struct sl_doc *d = fs->docs[i];
        const struct sl_doc_node *c =
            d->n > 0 ? sl_doc_node_get(&d->roots[0], "current-context") : NULL;
        if (c && c->kind == SL_DOC_NODE_STR && c->n > 0)
            return c->text;
    }
    return "";
}

/* The context's three fields; user and namespace may be absent. */
static int read_context(struct sl_kubeconfig *k, const struct entry *e, const char **ret_cluster,
                        const char **ret_user, struct sl_err *err) {
    struct sl_read rd = {.file = e->doc->file, .arena = &k->arena, .err = err};
    struct sl_doc_fields f;

    sl_doc_fields_open(&f, &rd, e->value, "a context");
    f.line = e->line;
    *ret_cluster = sl_doc_field_str(&f, "cluster", NULL);
    *ret_user = sl_doc_field_str(&f, "user", "");
    const char *ns = sl_doc_field_str(&f, "namespace", "");
    if (strlen(ns) > MAX_NAME_BYTES)
        sl_read_fail(&rd, e->line, "namespace: longer than %u bytes", MAX_NAME_BYTES);
    else if (*ns)
        k->ns = sl_arena_strdup(&k->arena, ns);
    return rd.code;
}

static int resolve_context(const struct files *fs, const char *context, struct sl_kubeconfig *k) {
    const char *cluster, *user;
    struct entry c, e;
    int r;

    for (uint32_t i = 0; i < fs->n; i++) {
        r = check_frame(fs->docs[i], &k->arena, fs->err);
        if (r < 0)
            return r;
    }
    const char *name = context && *context ? context : current_context(fs);
    if (!*name)
        return sl_err_set(fs->err, SL_ENOENT,
                          "%s: no current-context is set; name one with --context, or set it with "
                          "kubectl config use-context",
                          fs->n > 0 ? fs->docs[0]->file : "kubeconfig");
    r = find_entry(fs, "contexts", "context", name, &c);
    if (r == SL_ENOENT && fs->n > 0)
        return sl_err_wrap(fs->err, r, "%s", fs->docs[0]->file);
    if (r < 0)
        return r;
    r = read_context(k, &c, &cluster, &user, fs->err);
    if (r < 0)
        return r;
    r = find_entry(fs, "clusters", "cluster", cluster, &e);
    if (r == SL_ENOENT)
        return sl_err_wrap(fs->err, r, "%s:%u: context \"%.60s\"", c.doc->file, c.line, name);
    if (r >= 0)
        r = sl_kubeconfig_read_cluster(k, e.doc, e.value, e.line, fs->err);
    if (r < 0 || !*user)
        return r;
    r = find_entry(fs, "users", "user", user, &e);
    if (r == SL_ENOENT)
        return sl_err_wrap(fs->err, r, "%s:%u: context \"%.60s\"", c.doc->file, c.line, name);
    return r < 0 ? r : sl_kubeconfig_read_user(k, e.doc, e.value, e.line, fs->err);
}

int sl_kubeconfig_resolve(struct sl_doc *const *docs, uint32_t n, const char *context,
                          struct sl_kubeconfig **ret, struct sl_err *err) {
    _cleanup_(sl_kubeconfig_freep) struct sl_kubeconfig *k = new_config();
    struct files fs = {.docs = docs, .n = n, .err = err};
    int r = resolve_context(&fs, context, k);

    if (r < 0)
        return r;
    *ret = TAKE_PTR(k);
    return 0;
}

/* ---- places ---- */

static bool has_text(const char *s) {
    return s && *s;
}

struct doc_list {
    struct sl_doc *v[SL_KUBECONFIG_MAX_FILES];
    uint32_t n;
};

static void doc_list_done(struct doc_list *l) {
    for (uint32_t i = 0; i < l->n; i++)
        sl_doc_free(l->v[i]);
}

static int load_one(const char *path, const char *context, struct sl_kubeconfig **ret,
                    struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    int r = sl_doc_load(path, &d, err);

    return r < 0 ? r : sl_kubeconfig_resolve(&d, 1, context, ret, err);
}

/* KUBECONFIG may name files that are not there yet; kubectl passes over them, too. */
static int load_list(const char *list, const char *context, struct sl_kubeconfig **ret,
                     struct sl_err *err) {
    _cleanup_(doc_list_done) struct doc_list docs = {.n = 0};
    size_t n;

    for (const char *p = list; *p; p += n + (p[n] == ':')) {
        n = strcspn(p, ":");
        if (n == 0)
            continue;
        if (n > MAX_NAME_BYTES || docs.n == SL_KUBECONFIG_MAX_FILES)
            return sl_err_set(err, SL_ELIMIT, "KUBECONFIG: more than %u files, or too long a name",
                              SL_KUBECONFIG_MAX_FILES);
        _cleanup_(sl_freep) char *path = sl_alloc(n + 1);
        memcpy(path, p, n);
        path[n] = '\0';
        int r = sl_doc_load(path, &docs.v[docs.n], err);
        if (r >= 0)
            docs.n++;
        else if (r != SL_ENOENT)
            return r;
    }
    if (docs.n == 0)
        return sl_err_set(err, SL_ENOENT, "KUBECONFIG: there is no such file: %.120s", list);
    return sl_kubeconfig_resolve(docs.v, docs.n, context, ret, err);
}

static int load_service_account(const struct sl_kubeconfig_places *p, const char *folder,
                                struct sl_kubeconfig **ret, struct sl_err *err) {
    _cleanup_(sl_kubeconfig_freep) struct sl_kubeconfig *k = new_config();
    _cleanup_(sl_freep) char *ns = NULL;
    bool v6 = strchr(p->service_host, ':') != NULL;
    size_t len;
    int r;

    r = sl_kubeconfig_set_server(k,
                                 sl_arena_printf(&k->arena, "https://%s%s%s:%s", v6 ? "[" : "",
                                                 p->service_host, v6 ? "]" : "", p->service_port),
                                 err);
    if (r < 0)
        return sl_err_wrap(err, r, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
    k->token_file = sl_arena_printf(&k->arena, "%s/token", folder);
    k->ca.path = sl_arena_printf(&k->arena, "%s/ca.crt", folder);
    const char *ns_file = sl_arena_printf(&k->arena, "%s/namespace", folder);
    if (sl_file_read(ns_file, MAX_NAME_BYTES, &ns, &len, NULL) == 0) {
        size_t n = strcspn(ns, " \t\r\n");
        if (n > 0)
            k->ns = sl_arena_strndup(&k->arena, ns, n);
    }
    *ret = TAKE_PTR(k);
    return 0;
}

int sl_kubeconfig_find(const struct sl_kubeconfig_places *p, const char *context,
                       struct sl_kubeconfig **ret, struct sl_err *err) {
    const char *folder = has_text(p->service_account) ? p->service_account : SERVICE_ACCOUNT;
    char path[MAX_NAME_BYTES];
    int n;

    if (has_text(p->explicit_path))
        return load_one(p->explicit_path, context, ret, err);
    if (has_text(p->list))
        return load_list(p->list, context, ret, err);
    /* A service account has no contexts: a request for one means a file. */
    if (has_text(p->service_host) && has_text(p->service_port) && !has_text(context)) {
        n = snprintf(path, sizeof path, "%s/token", folder);
        if (n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0)
            return load_service_account(p, folder, ret, err);
    }
    n = snprintf(path, sizeof path, "%s/.kube/config", has_text(p->home) ? p->home : "");
    if (!has_text(p->home) || n < 0 || (size_t)n >= sizeof path || access(path, F_OK) != 0)
        return sl_err_set(err, SL_ENOENT,
                          "there is no kubeconfig: KUBECONFIG is not set, this is not a pod with a "
                          "service account, and %.80s does not exist; name one with --kubeconfig",
                          has_text(p->home) ? path : "$HOME/.kube/config");
    return load_one(path, context, ret, err);
}

int sl_kubeconfig_load(const char *explicit_path, const char *context, struct sl_kubeconfig **ret,
                       struct sl_err *err) {
    struct sl_kubeconfig_places p = {
        .explicit_path = explicit_path,
        .list = getenv("KUBECONFIG"),
        .service_host = getenv("KUBERNETES_SERVICE_HOST"),
        .service_port = getenv("KUBERNETES_SERVICE_PORT"),
        .home = getenv("HOME"),
    };
    return sl_kubeconfig_find(&p, context, ret, err);
}
