/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs: what each form means, which file wins, where they are looked for, and what is said
 * about wrong ones. A resolved configuration is compared in a short written form, one word per
 * thing said.
 */
#include "kube/client/kubeconfig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "kube/client/exec_plugin.h"
#include "kube/client/secret.h"

#define HEAD "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n"
#define CTX HEAD "  context: {cluster: k, user: u, namespace: batch}\n"
#define CLUSTER "clusters:\n- name: k\n  cluster:\n    server: https://host:6443\n"
#define USER "users:\n- name: u\n  user:\n"
#define EXEC USER "    exec:\n      command: tool\n"
/* base64 of a PEM block with nothing in it */
#define PEM "-----BEGIN X-----\n-----END X-----\n"
#define PEM64 "LS0tLS1CRUdJTiBYLS0tLS0KLS0tLS1FTkQgWC0tLS0tCg=="

static void put_word(struct sl_buf *b, const char *name, const char *value) {
    if (value && *value)
        sl_buf_printf(b, " %s=%s", name, value);
}

static void put_source(struct sl_buf *b, const char *name, const struct sl_kubeconfig_source *s) {
    put_word(b, name, s->path);
    if (s->data) {
        assert_int_equal(strlen(s->data), s->len);
        assert_string_equal(s->data, PEM);
        put_word(b, name, "PEM");
    }
}

static void put_exec(struct sl_buf *b, const struct sl_exec_plugin_spec *e) {
    static const char *const modes[] = {"never", "if-available", "always"};

    sl_buf_printf(b, " exec=%s", e->command);
    for (uint32_t i = 0; i < e->n_args; i++)
        sl_buf_printf(b, ",%s", e->args[i]);
    for (uint32_t i = 0; i < e->n_env; i++)
        put_word(b, "env", e->env[i]);
    put_word(b, "version", strrchr(e->api_version, '/') + 1);
    put_word(b, "mode", modes[e->interactive]);
    put_word(b, "hint", e->install_hint);
    if (e->provide_cluster_info)
        sl_buf_puts(b, " info");
}

static void show(struct sl_buf *b, const struct sl_kubeconfig *k) {
    sl_buf_printf(b, "%s %s", sl_kubeconfig_server(k), sl_kubeconfig_namespace(k));
    put_word(b, "name", k->tls_server_name);
    put_word(b, "proxy", k->proxy_url);
    if (k->insecure)
        sl_buf_puts(b, " insecure");
    put_source(b, "ca", &k->ca);
    put_source(b, "cert", &k->cert);
    put_source(b, "key", &k->key);
    put_word(b, "token", k->token);
    put_word(b, "tokenFile", k->token_file);
    put_word(b, "username", k->username);
    put_word(b, "password", k->password);
    put_word(b, "as", k->as);
    put_word(b, "uid", k->as_uid);
    for (uint32_t i = 0; i < k->n_as_groups; i++)
        put_word(b, "group", k->as_groups[i]);
    if (k->exec)
        put_exec(b, k->exec);
    put_word(b, "config", k->cluster_config);
}

/* Resolves up to two texts and compares the outcome: the written form, or the error. */
static void check(const char *first, const char *second, const char *context, const char *want) {
    struct sl_doc *docs[2] = {0};
    struct sl_kubeconfig *k = NULL;
    struct sl_err err = {0};
    struct sl_buf b;
    uint32_t n = second ? 2 : 1;

    if (sl_doc_yaml("/etc/a", first, strlen(first), &docs[0], &err) < 0 ||
        (second && sl_doc_yaml("b", second, strlen(second), &docs[1], &err) < 0))
        fail_msg("%s", err.text);
    sl_buf_init(&b, 1 << 20);
    int r = sl_kubeconfig_resolve(docs, n, context, &k, &err);
    assert_int_equal(r, err.code);
    for (uint32_t i = 0; i < n; i++)
        sl_doc_free(docs[i]); /* nothing in k may point there */
    if (r == 0)
        show(&b, k);
    else
        assert_null(k);
    assert_string_equal(r == 0 ? sl_buf_str(&b) : err.text, want);
    sl_kubeconfig_free(k);
    sl_buf_done(&b);
}

static void good(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {CTX CLUSTER USER "    token: abc\n", "https://host:6443 batch token=abc"},
        {HEAD "  context: {cluster: k}\n" CLUSTER, "https://host:6443 default"},
        {HEAD "  context: {cluster: k, user: '', namespace: ~}\nfuture: [1]\n" CLUSTER
              "    more: {x: 1}\n",
         "https://host:6443 default"},
        {CTX "clusters:\n- name: k\n  cluster: {server: 'https://host/'}\n" USER "    {}\n",
         "https://host batch"},
        {CTX "clusters:\n- name: k\n  cluster: {server: 'http://[::1]:80/k8s/x//'}\n" USER
             "    {}\n",
         "http://[::1]:80/k8s/x batch"},
        {CTX CLUSTER "    certificate-authority: ca.crt\n    tls-server-name: api.x-y.z\n"
                     "    proxy-url: socks5://me:pw@proxy:1080\n" USER
                     "    client-certificate: ../c.crt\n    client-key: /k/c.key\n",
         "https://host:6443 batch name=api.x-y.z proxy=socks5://me:pw@proxy:1080 ca=/etc/ca.crt "
         "cert=/etc/../c.crt key=/k/c.key"},
        {CTX CLUSTER "    certificate-authority-data: " PEM64 "\n" USER
                     "    client-certificate-data: " PEM64 "\n    client-key-data: |\n      " PEM64
                     "\n",
         "https://host:6443 batch ca=PEM cert=PEM key=PEM"},
        {CTX CLUSTER "    insecure-skip-tls-verify: true\n" USER
                     "    username: me\n    password: 'a:b c'\n",
         "https://host:6443 batch insecure username=me password=a:b c"},
        {CTX CLUSTER USER "    token: abc\n    tokenFile: t\n",
         "https://host:6443 batch token=abc tokenFile=/etc/t"},
        {CTX CLUSTER USER "    as: ann\n    as-uid: '7'\n    as-groups: [a, b c]\n",
         "https://host:6443 batch as=ann uid=7 group=a group=b c"},
        {CTX CLUSTER EXEC "      apiVersion: client.authentication.k8s.io/v1beta1\n",
         "https://host:6443 batch exec=tool version=v1beta1 mode=if-available"},
        {CTX CLUSTER EXEC "      apiVersion: client.authentication.k8s.io/v1\n"
                          "      interactiveMode: Never\n      args: [get, '1']\n"
                          "      env: [{name: A, value: x=y}, {name: B}]\n"
                          "      installHint: get it\n      provideClusterInfo: true\n",
         "https://host:6443 batch exec=tool,get,1 env=A=x=y env=B= version=v1 mode=never "
         "hint=get it info"},
        {CTX CLUSTER USER "    exec: {command: bin/t, interactiveMode: Always, "
                          "apiVersion: client.authentication.k8s.io/v1}\n",
         "https://host:6443 batch exec=/etc/bin/t version=v1 mode=always"},
        {CTX CLUSTER
         "    extensions:\n    - {name: other, extension: 1}\n"
         "    - name: client.authentication.k8s.io/exec\n"
         "      extension: {a: [1, -2.5, x, yes, ~, .inf, []], b: {}, c: {d: \"\\n\"}}\n" USER
         "    {}\n",
         "https://host:6443 batch "
         "config={\"a\":[1,-2.5,\"x\",true,null,\".inf\",[]],\"b\":{},\"c\":{\"d\":\"\\n\"}}"},
        /* what is said outright counts before what a program would say */
        {CTX CLUSTER EXEC "      apiVersion: client.authentication.k8s.io/v1beta1\n    token: t\n",
         "https://host:6443 batch token=t"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        check(cases[i].text, NULL, NULL, cases[i].want);
}

/* The first file that has a thing wins, thing by thing; paths follow the file they stand in. */
static void merging(void **state) {
    static const char a[] = "current-context: one\ncontexts:\n"
                            "- {name: one, context: {cluster: k, user: v}}\n"
                            "clusters:\n- {name: k, cluster: {server: 'https://a', "
                            "certificate-authority: ca}}\n";
    static const char b[] = "current-context: two\ncontexts:\n"
                            "- {name: one, context: {cluster: l, user: u}}\n"
                            "- {name: two, context: {cluster: k, user: u, namespace: ns}}\n"
                            "clusters:\n- {name: k, cluster: {server: 'https://b'}}\n"
                            "- {name: l, cluster: {server: 'https://l'}}\n"
                            "users:\n- {name: u, user: {tokenFile: t}}\n"
                            "- {name: v, user: {tokenFile: sub/t}}\n";

    (void)state;
    check(a, b, NULL, "https://a default ca=/etc/ca tokenFile=sub/t");
    check(b, a, NULL, "https://b ns tokenFile=/etc/t");
    check(a, b, "two", "https://a ns ca=/etc/ca tokenFile=t");
    check("", b, NULL, "https://b ns tokenFile=t");
    check("current-context: ''", b, NULL, "https://b ns tokenFile=t");
    check(a, "", NULL,
          "/etc/a:3: context \"one\": there is no user \"v\""); /* the user is in b only */
    check(a, b, "tow", "/etc/a: there is no context \"tow\"; did you mean \"two\"?");
    check(a, "kind: List", NULL, "b:1: expected a kubeconfig (kind: Config), got \"List\"");
}

#define AUTH_V1 "apiVersion: client.authentication.k8s.io/v1"

static void errors(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "/etc/a: no current-context is set; name one with --context, or set it with kubectl "
             "config use-context"},
        {"[]", "/etc/a:1: expected a kubeconfig (a map), got a list"},
        {"\nkind: Pod", "/etc/a:2: expected a kubeconfig (kind: Config), got \"Pod\""},
        {"current-context: 5",
         "/etc/a:1: current-context: expected a string (put it in quotes), got 5"},
        {"clusters: {}", "/etc/a:1: clusters: expected a list, got a map"},
        {"clusters:\n- 1", "/etc/a:2: expected an entry with a name (a map), got 1"},
        {"users:\n- user: {}", "/etc/a:2: expected the field \"name\" in an entry with a name"},
        {"contexts:\n- name: 1", "/etc/a:2: name: expected a string (put it in quotes), got 1"},
        {"current-context: prod\ncontexts:\n- name: prd\n- name: dev\n",
         "/etc/a: there is no context \"prod\"; did you mean \"prd\"?"},
        {"current-context: zzzz\ncontexts:\n- name: prd\n- name: dev\n",
         "/etc/a: there is no context \"zzzz\"; there is \"prd\", \"dev\""},
        {"current-context: zzzz", "/etc/a: there is no context \"zzzz\""},
        {HEAD, "/etc/a:5: expected the field \"cluster\" in a context"},
        {HEAD "  context: {cluster: k}\n", "/etc/a:5: context \"c\": there is no cluster \"k\""},
        {HEAD "  context: []\n", "/etc/a:6: expected a context (a map), got a list"},
        {CTX CLUSTER "- name: k\n",
         "/etc/a:11: a second cluster named \"k\"; the first is on line 8"},
        {CTX CLUSTER, "/etc/a:5: context \"c\": there is no user \"u\""},
        {CTX "clusters:\n- name: k\n", "/etc/a:8: expected the field \"server\" in a cluster"},
        {CTX "clusters:\n- name: k\n  cluster: x",
         "/etc/a:9: expected a cluster (a map), got \"x\""},
#define SERVER(s) CTX "clusters:\n- name: k\n  cluster:\n    server: '" s "'\n"
        {SERVER("host:6443"), "/etc/a:10: server: expected a URL such as https://host:6443"},
        {SERVER("ftp://host"), "/etc/a:10: server: expected a URL such as https://host:6443"},
        {SERVER("https://host:99999"),
         "/etc/a:10: server: expected a URL such as https://host:6443"},
        {SERVER("https://"), "/etc/a:10: server: expected a URL such as https://host:6443"},
        {SERVER("https://a b"), "/etc/a:10: server: expected a URL such as https://host:6443"},
        {SERVER("https://me:secret@host"),
         "/etc/a:10: server: expected no user in the URL; set username and password under users"},
        {SERVER("https://host?x=1"), "/etc/a:10: server: expected a URL without ? and #"},
        {CTX CLUSTER "    certificate-authority: x\n    certificate-authority-data: " PEM64,
         "/etc/a:12: both certificate-authority and certificate-authority-data are given; keep "
         "one"},
        {CTX CLUSTER "    certificate-authority-data: '%%'",
         "/etc/a:11: certificate-authority-data: expected base64"},
        {CTX CLUSTER "    certificate-authority-data: aGVsbG8=",
         "/etc/a:11: certificate-authority-data: expected PEM, which begins with -----BEGIN"},
        {CTX CLUSTER "    certificate-authority-data: 12",
         "/etc/a:11: certificate-authority-data: expected a string (put it in quotes)"},
        {CTX CLUSTER "    certificate-authority: x\n    insecure-skip-tls-verify: true",
         "/etc/a:8: a cluster with insecure-skip-tls-verify has no use for its certificate "
         "authority; remove one of the two"},
        {CTX CLUSTER "    insecure-skip-tls-verify: 'yes'",
         "/etc/a:11: insecure-skip-tls-verify: expected true or false, got \"yes\""},
        {CTX CLUSTER "    tls-server-name: a/b", "/etc/a:8: tls-server-name: expected a host name"},
        {CTX CLUSTER "    proxy-url: ftp://me:secret@host",
         "/etc/a:11: proxy-url: expected a URL such as http://proxy:3128 or socks5://proxy:1080"},
        {CTX CLUSTER "    proxy-url: proxy:3128",
         "/etc/a:11: proxy-url: expected a URL such as http://proxy:3128 or socks5://proxy:1080"},
        /* no message shows a secret */
        {CTX CLUSTER USER "    token: 12345",
         "/etc/a:14: token: expected a string (put it in quotes)"},
        {CTX CLUSTER USER "    token: \"se\\ncret\"",
         "/etc/a:12: token: the token has a character that cannot stand in a header"},
        {CTX CLUSTER USER "    username: a\n    password: 12345",
         "/etc/a:15: password: expected a string (put it in quotes)"},
        {CTX CLUSTER USER "    username: a\n    token: secret",
         "/etc/a:12: a user has either a token or a user name and password; keep one"},
        {CTX CLUSTER USER "    username: 'a:b'", "/etc/a:12: username: expected no colon in it"},
        {CTX CLUSTER USER "    client-certificate: x",
         "/etc/a:12: a client certificate needs its key: client-key or client-key-data"},
        {CTX CLUSTER USER "    client-key-data: " PEM64,
         "/etc/a:12: a client key needs its certificate: client-certificate or "
         "client-certificate-data"},
        {CTX CLUSTER USER "    auth-provider: {name: gcp}",
         "/etc/a:14: auth-provider: Kubernetes 1.26 removed it; use an exec plugin"},
        {CTX CLUSTER USER "    as: x\n    as-user-extra: {a: [b]}",
         "/etc/a:15: as-user-extra: Sluice cannot send it; remove it"},
        {CTX CLUSTER USER "    as: \"a\\r\\nX: y\"",
         "/etc/a:14: as: expected text without control characters"},
        {CTX CLUSTER USER "    as: a\n    as-groups: [\"b\\n\"]",
         "/etc/a:15: as-groups: expected text without control characters"},
        {CTX CLUSTER USER "    as-groups: [a]",
         "/etc/a:12: as-uid and as-groups need \"as\", the user's name"},
        {CTX CLUSTER USER "    exec: tool",
         "/etc/a:14: expected an exec plugin (a map), got \"tool\""},
        {CTX CLUSTER USER "    exec:\n      args: [x]",
         "/etc/a:15: expected the field \"command\" in an exec plugin"},
        {CTX CLUSTER USER "    exec: {command: ''}",
         "/etc/a:14: command: expected the name of a program"},
        {CTX CLUSTER EXEC, "/etc/a:15: expected the field \"apiVersion\" in an exec plugin"},
        {CTX CLUSTER EXEC "      apiVersion: client.authentication.k8s.io/v1alpha1",
         "/etc/a:16: apiVersion: expected client.authentication.k8s.io/v1 or "
         "client.authentication.k8s.io/v1beta1, got \"client.authentication.k8s.io/v1alpha1\""},
        {CTX CLUSTER EXEC "      " AUTH_V1,
         "/etc/a:15: expected the field \"interactiveMode\" in an exec plugin"},
        {CTX CLUSTER EXEC "      " AUTH_V1 "\n      interactiveMode: Sometimes",
         "/etc/a:17: interactiveMode: expected Never, IfAvailable or Always, got \"Sometimes\""},
        {CTX CLUSTER EXEC "      args: [5]",
         "/etc/a:16: args: expected a string (put it in quotes), got 5"},
        {CTX CLUSTER EXEC "      env: [{name: 'A=B', value: x}]",
         "/etc/a:16: env: expected a name without '='"},
        {CTX CLUSTER EXEC "      env: [{name: A, value: 5}]",
         "/etc/a:16: value: expected a string (put it in quotes)"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        check(cases[i].text, NULL, NULL, cases[i].want);
}

/* An alias can make a short file mean a long text many times over. */
static void too_long(void **state) {
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 1 << 22);
    sl_buf_puts(&b, "long: &a \"");
    for (int i = 0; i < 70000; i++)
        sl_buf_putc(&b, 'x');
    sl_buf_puts(&b, "\"\n" CTX CLUSTER EXEC "      args: [*a, *a]\n");
    check(sl_buf_str(&b), NULL, NULL, "/etc/a:1: a text of more than 65536 bytes");
    sl_buf_done(&b);
}

/* ---- places ---- */

static char folder[] = "/tmp/sluice-kubeconfig-XXXXXX";

static const char *path_of(const char *name) {
    static char path[4][256];
    static unsigned next;
    char *p = path[next++ % SL_LEN(path)];

    (void)snprintf(p, sizeof path[0], "%s%s", folder, name);
    return p;
}

static void put_file(const char *name, const char *text) {
    FILE *f = fopen(path_of(name), "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void find_config(struct sl_kubeconfig_places p, const char *context, const char *want) {
    struct sl_kubeconfig *k = NULL;
    struct sl_err err = {0};
    struct sl_buf b;

    sl_buf_init(&b, 1 << 20);
    int r = sl_kubeconfig_find(&p, context, &k, &err);
    if (r == 0)
        show(&b, k);
    assert_string_equal(r == 0 ? sl_buf_str(&b) : err.text, want);
    sl_kubeconfig_free(k);
    sl_buf_done(&b);
}

static void places(void **state) {
    char list[600], want[700], none[200];
    struct sl_kubeconfig_places p = {.service_account = path_of("/sa"), .home = folder};

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(none, sizeof none, "%s", path_of("/none"));
    (void)snprintf(want, sizeof want,
                   "there is no kubeconfig: KUBECONFIG is not set, this is not a pod with a "
                   "service account, and %s/.kube/config does not exist; name one with "
                   "--kubeconfig",
                   folder);
    find_config(p, NULL, want);
    p.home = "";
    find_config(
        p, NULL,
        "there is no kubeconfig: KUBECONFIG is not set, this is not a pod with a service account, "
        "and $HOME/.kube/config does not exist; name one with --kubeconfig");
    p.home = folder;

    assert_int_equal(mkdir(path_of("/.kube"), 0700), 0);
    put_file("/.kube/config",
             HEAD "  context: {cluster: k}\n" CLUSTER "    certificate-authority: c\n");
    (void)snprintf(want, sizeof want, "https://host:6443 default ca=%s/.kube/c", folder);
    find_config(p, NULL, want);

    /* In a pod the account comes first, unless a context is asked for. */
    p.service_host = "10.0.0.1";
    p.service_port = "443";
    find_config(p, NULL, want); /* no token there: not a pod with an account */
    assert_int_equal(mkdir(path_of("/sa"), 0700), 0);
    put_file("/sa/token", "t");
    find_config(p, "c", want);
    (void)snprintf(want, sizeof want,
                   "https://10.0.0.1:443 default ca=%s/sa/ca.crt tokenFile=%s/sa/token", folder,
                   folder);
    find_config(p, NULL, want);
    put_file("/sa/namespace", "batch\n");
    p.service_host = "fd00::1";
    (void)snprintf(want, sizeof want,
                   "https://[fd00::1]:443 batch ca=%s/sa/ca.crt tokenFile=%s/sa/token", folder,
                   folder);
    find_config(p, NULL, want);
    p.service_port = "x";
    find_config(p, NULL,
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: expected a URL such as "
                "https://host:6443");

    /* A list of files: those that are not there are passed over, unless it is all of them. */
    put_file("/a", "users:\n- {name: u, user: {token: fromA}}\n");
    put_file("/b", CTX CLUSTER USER "    token: fromB\n");
    put_file("/broken", "a: [\n");
    (void)snprintf(list, sizeof list, ":%s:%s:%s:", none, path_of("/a"), path_of("/b"));
    p.list = list;
    find_config(p, NULL, "https://host:6443 batch token=fromA");
    p.list = none;
    (void)snprintf(want, sizeof want, "KUBECONFIG: there is no such file: %s", none);
    find_config(p, NULL, want);
    (void)snprintf(list, sizeof list, "%s:%s", path_of("/b"), path_of("/broken"));
    p.list = list;
    struct sl_kubeconfig *k = NULL;
    struct sl_err err;
    assert_int_equal(sl_kubeconfig_find(&p, NULL, &k, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "/broken:"));

    /* An explicit path comes before all, and must be there. */
    char b[200];
    (void)snprintf(b, sizeof b, "%s", path_of("/b"));
    p.explicit_path = b;
    find_config(p, NULL, "https://host:6443 batch token=fromB");
    p.explicit_path = none;
    (void)snprintf(want, sizeof want, "%s: No such file or directory", none);
    find_config(p, NULL, want);

    static const char *const names[] = {
        "/.kube/config", "/.kube", "/sa/token", "/sa/namespace", "/sa", "/a", "/b", "/broken", ""};
    for (size_t i = 0; i < SL_LEN(names); i++)
        assert_int_equal(remove(path_of(names[i])), 0);
}

/* ---- forms ---- */

static void base64(void **state) {
    static const struct {
        const char *in, *want; /* NULL: refused */
    } cases[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9v\r\nYg==\n", "foob"},
        {"Zg", NULL},
        {"Zg=", NULL},
        {"Z===", NULL},
        {"Zg===", NULL},
        {"Zg==Zg==", NULL},
        {"Zm9-", NULL},
        {"Zm 9v", NULL},
        {"====", NULL},
        {"+/+/", "\xfb\xff\xbf"},
    };
    char out[32];
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 100);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        int64_t n = sl_base64_decode(cases[i].in, strlen(cases[i].in), out);
        if (!cases[i].want) {
            assert_int_equal(n, -1);
            continue;
        }
        assert_int_equal(n, strlen(cases[i].want));
        assert_string_equal(out, cases[i].want);
        sl_buf_clear(&b);
        sl_base64_encode(&b, out, (size_t)n);
        if (!strchr(cases[i].in, '\n'))
            assert_string_equal(sl_buf_str(&b), cases[i].in);
    }
    sl_buf_done(&b);
}

static const char *pem_kind(const char *s) {
    const char *p = sl_pem_problem(s, strlen(s));
    return p ? p : "fine";
}

static void pem(void **state) {
    (void)state;
    assert_string_equal(pem_kind(PEM), "fine");
    assert_string_equal(pem_kind("a comment\n" PEM PEM), "fine");
    assert_string_equal(pem_kind(""), "expected PEM, which begins with -----BEGIN");
    assert_string_equal(pem_kind("-----BEGIN X-----\n"), "PEM without its end");
    assert_string_equal(pem_kind(PEM "-----BEGIN X-----\nabc\n-----END X"), "PEM without its end");
    assert_string_equal(pem_kind("-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END X-----\n"),
                        "the key is encrypted; decrypt it with openssl pkey");
    assert_string_equal(sl_token_problem("", 0), "the token is empty");
    assert_string_equal(sl_token_problem("a b", 3),
                        "the token has a character that cannot stand in a header");
    assert_non_null(sl_token_problem("\xc3\xa9", 2));
    assert_null(sl_token_problem("eyJ.a-b_c~+/=", 13));
}

/* ---- what a plugin prints ---- */

#define CRED "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\""
#define ONE_PEM "\"-----BEGIN X-----\\n-----END X-----\\n\""

static void exec_output(void **state) {
    static const struct sl_exec_plugin_spec spec = {.api_version =
                                                        "client.authentication.k8s.io/v1"};
    static const struct {
        const char *text, *want;
    } cases[] = {
        {CRED ",\"status\":{\"token\":\"t\"}}", "token=t"},
        {CRED ",\"spec\":{\"x\":1},\n\"status\":{\"token\":\"t\","
              "\"expirationTimestamp\":\"1970-01-01T00:00:10Z\"}}\n",
         "token=t expiry=10"},
        {CRED ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"9999-12-31T23:59:59Z\"}}",
         "token=t"},
        {CRED ",\"status\":{\"clientCertificateData\":" ONE_PEM ",\"clientKeyData\":" ONE_PEM "}}",
         "cert key"},
        {"", "its output:1: expected JSON: input length is 0"},
        {"hello", "its output:1: expected JSON: unexpected character, expected a valid root value"},
        {"[]", "its output:1: expected an ExecCredential (a map), got a list"},
        {"{}", "its output:1: expected the field \"kind\" in an ExecCredential"},
        {"{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
         "its output:1: kind: expected ExecCredential, got \"Pod\""},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}",
         "its output:1: apiVersion: expected client.authentication.k8s.io/v1 as in the kubeconfig, "
         "got \"client.authentication.k8s.io/v1beta1\""},
        {CRED "}", "its output:1: expected the field \"status\" in an ExecCredential"},
        {CRED ",\"status\":{}}",
         "its output:1: expected a token or a client certificate in the status"},
        {CRED ",\"status\":{\"token\":1234}}", "its output:1: token: expected a string"},
        {CRED ",\"status\":{\"token\":\"a\\nb\"}}",
         "its output:1: token: the token has a character that cannot stand in a header"},
        {CRED ",\"status\":{\"clientCertificateData\":" ONE_PEM "}}",
         "its output:1: clientCertificateData and clientKeyData go together"},
        {CRED ",\"status\":{\"clientCertificateData\":\"x\",\"clientKeyData\":\"y\"}}",
         "its output:1: clientCertificateData: expected PEM, which begins with -----BEGIN"},
        {CRED ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}",
         "its output:1: expirationTimestamp: expected a time such as 2026-01-31T12:00:00Z, got "
         "\"soon\""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_exec_plugin_cred c = {0};
        struct sl_err err = {0};
        char got[300] = "";
        if (sl_exec_plugin_parse(&spec, cases[i].text, strlen(cases[i].text), &c, &err) < 0) {
            (void)snprintf(got, sizeof got, "%s", err.text);
        } else {
            int n = snprintf(got, sizeof got, "%s%s%s%s", *c.token ? "token=" : "", c.token,
                             *c.cert ? "cert" : "", *c.key ? " key" : "");
            if (c.expiry != SL_TIME_NEVER)
                (void)snprintf(got + n, sizeof got - (size_t)n, " expiry=%lld",
                               (long long)(c.expiry / SL_SEC));
        }
        assert_string_equal(got, cases[i].want);
        sl_exec_plugin_cred_done(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),     cmocka_unit_test(merging),     cmocka_unit_test(errors),
        cmocka_unit_test(too_long), cmocka_unit_test(places),      cmocka_unit_test(base64),
        cmocka_unit_test(pem),      cmocka_unit_test(exec_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
