/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the server is and who we are: TLS with the right, the wrong and no authority, names, client
 * certificates, tokens from texts and files, exec plugins that work, fail, dawdle and are killed.
 */
#include "client_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static struct server server;
static struct fx x;
static struct pair ca, other_ca, serving, client;
static char folder[64];
static char *ca_pem, *other_pem, *client_pem, *key_pem;

/* The head of the request, who the client's certificate says it is, and the name asked for. */
static bool serve_request(struct conn *c, const struct ask *a) {
    struct sl_buf b;
    const char *auth = strcasestr(a->head, "\r\nAuthorization: ");
    bool in = true;

    if (strcmp(a->path, "/guarded") == 0) {
        char want[100];
        pthread_mutex_lock(&c->server->lock);
        (void)snprintf(want, sizeof want, "\r\nAuthorization: Bearer %s\r\n", c->server->token);
        pthread_mutex_unlock(&c->server->lock);
        in = auth && strncmp(auth, want, strlen(want)) == 0;
    }
    if (strcmp(a->path, "/slow") == 0)
        usleep(20000);
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_puts(&b, a->head);
    if (c->tls) {
        X509 *peer = SSL_get1_peer_certificate(c->tls);
        char name[100] = "nobody";
        if (peer)
            X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name,
                                      sizeof name);
        X509_free(peer);
        const char *sni = SSL_get_servername(c->tls, TLSEXT_NAMETYPE_host_name);
        sl_buf_printf(&b, "CN=%s SNI=%s resumed=%d", name, sni ? sni : "none",
                      SSL_session_reused(c->tls));
    }
    bool ok = server_reply(c, in ? 200 : 401, "", b.s, b.len);
    sl_buf_done(&b);
    return ok;
}

static void let_in(const char *token) {
    pthread_mutex_lock(&server.lock);
    (void)snprintf(server.token, sizeof server.token, "%s", token);
    pthread_mutex_unlock(&server.lock);
}

static bool body_has(const struct got *g, const char *words) {
    return strstr(sl_buf_str(&g->body), words) != NULL;
}

static const char *path_of(const char *name) {
    static char path[4][128];
    static unsigned next;
    char *p = path[next++ % SL_LEN(path)];

    (void)snprintf(p, sizeof path[0], "%s%s", folder, name);
    return p;
}

static void put_file(const char *name, const char *text) {
    char fresh[128];
    int fd;

    (void)snprintf(fresh, sizeof fresh, "%s/new", folder);
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    assert_int_equal(rename(fresh, path_of(name)), 0); /* as a rotation does it */
}

static void start_server(bool tls) {
    server_start(&server, serve_request, tls ? &serving : NULL);
    fx_new(&x);
}

static void stop_server(void) {
    fx_done(&x);
    server_stop(&server);
}

/* A cluster with this authority, in base64, and more fields. */
static const char *with_ca(const char *pem, const char *more) {
    static struct sl_buf b;

    sl_buf_done(&b);
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_puts(&b, "certificate-authority-data: ");
    sl_base64_encode(&b, pem, strlen(pem));
    sl_buf_puts(&b, more);
    return sl_buf_str(&b);
}

/* One request by a client of its own. */
static void request_once(const char *url, const char *cluster, const char *user, struct got *g) {
    int before = x.done;

    memset(g, 0, sizeof *g);
    fx_connect(&x, url, cluster, user);
    fx_get(&x, g, "/echo");
    fx_run(&x, before + 1);
    fx_disconnect(&x);
}

/* ---- TLS ---- */

static void authorities(void **state) {
    struct got g;
    char by_name[64];

    (void)state;
    start_server(true);
    request_once(url_of(&server), with_ca(ca_pem, ""), "", &g);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "CN=nobody SNI=none"));
    got_done(&g);

    request_once(url_of(&server), with_ca(other_pem, ""), "token: secret", &g);
    assert_int_equal(g.status, 0);
    assert_non_null(strstr(g.text, "certificate-authority of the kubeconfig"));
    got_done(&g);

    request_once(url_of(&server), "", "token: secret", &g); /* the authorities of the system */
    assert_int_equal(g.status, 0);
    got_done(&g);

    request_once(url_of(&server), "insecure-skip-tls-verify: true", "", &g);
    assert_int_equal(g.status, 200);
    got_done(&g);

    /* A name that the certificate does not have, and one that it has. */
    (void)snprintf(by_name, sizeof by_name, "https://localhost:%d", server.port);
    request_once(by_name, with_ca(ca_pem, ""), "", &g);
    assert_int_equal(g.status, 0);
    got_done(&g);
    request_once(by_name, with_ca(ca_pem, ", tls-server-name: api.test"), "", &g);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "SNI=api.test"));
    (void)snprintf(by_name, sizeof by_name, "\r\nHost: localhost:%d\r\n", server.port);
    assert_true(body_has(&g, by_name));
    got_done(&g);
    stop_server();
}

static void client_certificates(void **state) {
    struct sl_buf user;
    struct sl_err err;
    struct got g;
    char text[600];

    (void)state;
    start_server(true);
    SSL_CTX_set_verify(server.tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(server.tls), ca.cert);
    request_once(url_of(&server), with_ca(ca_pem, ""), "", &g);
    assert_int_equal(g.status, 0);
    got_done(&g);

    sl_buf_init(&user, (size_t)1 << 20);
    sl_buf_puts(&user, "client-certificate-data: ");
    sl_base64_encode(&user, client_pem, strlen(client_pem));
    sl_buf_puts(&user, ", client-key-data: ");
    sl_base64_encode(&user, key_pem, strlen(key_pem));
    request_once(url_of(&server), with_ca(ca_pem, ""), sl_buf_str(&user), &g);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "CN=ann"));
    got_done(&g);
    sl_buf_done(&user);

    /* The same from files, which have to be there and whole. */
    put_file("/ca", ca_pem);
    put_file("/cert", client_pem);
    put_file("/key", key_pem);
    (void)snprintf(text, sizeof text, "client-certificate: %s, client-key: %s", path_of("/cert"),
                   path_of("/key"));
    char cluster[200];
    (void)snprintf(cluster, sizeof cluster, "certificate-authority: %s", path_of("/ca"));
    request_once(url_of(&server), cluster, text, &g);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "CN=ann"));
    got_done(&g);

    key_pem[strlen(key_pem) - 20] = '\0';
    put_file("/key", key_pem);
    (void)snprintf(text, sizeof text,
                   "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                   "clusters: [{name: k, cluster: {server: '%s'}}]\n"
                   "users: [{name: u, user: {client-certificate: %s, client-key: %s}}]\n",
                   url_of(&server), path_of("/cert"), path_of("/key"));
    fx_client(&x, text, &err);
    assert_null(x.c);
    assert_non_null(strstr(err.text, "/key: PEM without its end"));
    stop_server();
}

/* The handles share the sessions. (A ticket is good for one connection; how many there are at hand
 * is the libraries' affair.) */
static void sessions(void **state) {
    struct got g[8] = {{0}}, first = {0};

    (void)state;
    start_server(true);
    fx_connect(&x, url_of(&server), with_ca(ca_pem, ""), "");
    fx_get(&x, &first, "/echo");
    fx_run(&x, 1);
    for (size_t i = 0; i < SL_LEN(g); i++)
        fx_get(&x, &g[i], "/slow");
    fx_run(&x, 1 + (int)SL_LEN(g));
    assert_int_equal(atomic_load(&server.accepted), SL_LEN(g));
    int resumed = 0;
    for (size_t i = 0; i < SL_LEN(g); i++) {
        assert_int_equal(g[i].status, 200);
        resumed += body_has(&g[i], "resumed=1");
        got_done(&g[i]);
    }
    assert_true(resumed >= 1);
    got_done(&first);
    stop_server();
}

/* ---- headers ---- */

static void headers(void **state) {
    static const struct {
        const char *user, *want;
    } cases[] = {
        {"token: a.b-c", "\r\nAuthorization: Bearer a.b-c\r\n"},
        {"username: me, password: 'p:w'", "\r\nAuthorization: Basic bWU6cDp3\r\n"},
        {"as: ann, as-uid: '7', as-groups: [x, y z]",
         "\r\nImpersonate-User: ann\r\nImpersonate-Uid: 7\r\nImpersonate-Group: x\r\n"
         "Impersonate-Group: y z\r\n"},
    };
    struct got g;

    (void)state;
    start_server(false);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        request_once(url_of(&server), "", cases[i].user, &g);
        assert_int_equal(g.status, 200);
        assert_true(body_has(&g, cases[i].want));
        got_done(&g);
    }
    stop_server();
}

/* ---- files ---- */

static void token_files(void **state) {
    struct got g = {0}, h = {0}, i = {0};
    char user[200];

    (void)state;
    start_server(false);
    put_file("/token", "one\n");
    (void)snprintf(user, sizeof user, "tokenFile: %s", path_of("/token"));
    fx_connect(&x, url_of(&server), "", user);
    let_in("one");
    fx_get(&x, &g, "/guarded");
    fx_run(&x, 1);
    assert_int_equal(g.status, 200);

    /* Rotated within the same second: the refusal makes us look again. */
    put_file("/token", "two\n");
    let_in("two");
    fx_get(&x, &h, "/guarded");
    fx_run(&x, 2);
    assert_int_equal(h.status, 200);
    assert_int_equal(atomic_load(&server.asked), 3);

    /* Half written and then gone: the old one stands. */
    sl_auth_tune(x.c->auth, 0, 0);
    put_file("/token", "");
    fx_get(&x, &i, "/guarded");
    fx_run(&x, 3);
    assert_int_equal(i.status, 200);
    got_done(&i);
    i = (struct got){0};
    assert_int_equal(unlink(path_of("/token")), 0);
    let_in("three");
    fx_get(&x, &i, "/guarded");
    fx_run(&x, 4);
    assert_int_equal(i.status, 401);
    got_done(&i);

    /* Without any refusal, a change is seen at the next look. */
    i = (struct got){0};
    put_file("/token", "four");
    let_in("four");
    unsigned asked = atomic_load(&server.asked);
    fx_get(&x, &i, "/guarded");
    fx_run(&x, 5);
    assert_int_equal(i.status, 200);
    assert_int_equal(atomic_load(&server.asked), asked + 1);
    got_done(&g);
    got_done(&h);
    got_done(&i);
    stop_server();
}

static void missing_token_file(void **state) {
    struct sl_err err;
    char text[400];

    (void)state;
    start_server(false);
    (void)snprintf(text, sizeof text,
                   "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                   "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                   "users: [{name: u, user: {tokenFile: %s}}]\n",
                   path_of("/none"));
    fx_client(&x, text, &err);
    assert_null(x.c);
    assert_int_equal(err.code, SL_ENOENT);
    assert_non_null(strstr(err.text, "tokenFile: "));
    assert_non_null(strstr(err.text, "/none: No such file"));
    stop_server();
}

/* ---- plugins ---- */

#define CREDENTIAL                                                                                 \
    "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{"

/* A script, and the user that runs it. */
static const char *plugin(const char *script, const char *more) {
    static char user[500];
    char text[1500];

    (void)snprintf(text, sizeof text, "#!/bin/sh\ncd '%s'\n%s\n", folder, script);
    put_file("/plugin", text);
    (void)snprintf(user, sizeof user,
                   "exec: {command: %s, apiVersion: client.authentication.k8s.io/v1, "
                   "interactiveMode: Never%s}",
                   path_of("/plugin"), more);
    return user;
}

static unsigned lines_in(const char *name) {
    FILE *f = fopen(path_of(name), "re");
    unsigned n = 0;

    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f)
        (void)fclose(f);
    return n;
}

/* Prints the token in the file 'tok', and notes that it ran. */
#define TOKEN_SCRIPT "echo run >>runs; printf '" CREDENTIAL "\"token\":\"%s\"%s}}' $(cat tok) "

static void plugin_works(void **state) {
    struct got g[5] = {{0}}, h = {0}, i = {0}, w = {0};

    (void)state;
    start_server(false);
    put_file("/runs", "");
    put_file("/tok", "one");
    let_in("one");
    fx_connect(&x, url_of(&server), "", plugin("sleep 0.05; " TOKEN_SCRIPT, ""));
    sl_auth_tune(x.c->auth, SL_SEC, SL_HOUR);
    for (size_t n = 0; n < SL_LEN(g); n++) /* all wait for the one run */
        fx_get(&x, &g[n], "/guarded");
    fx_watch(&x, &w, "/guarded");
    fx_run(&x, 6);
    for (size_t n = 0; n < SL_LEN(g); n++) {
        assert_int_equal(g[n].status, 200);
        got_done(&g[n]);
    }
    got_done(&w);
    assert_int_equal(lines_in("/runs"), 1);

    /* A refusal right after a run is the server's word; a moment later the plugin is asked again.
     */
    let_in("two");
    put_file("/tok", "two");
    fx_get(&x, &h, "/guarded");
    fx_run(&x, 7);
    assert_int_equal(h.status, 401);
    assert_int_equal(lines_in("/runs"), 1);
    got_done(&h);
    h = (struct got){0};
    sl_auth_tune(x.c->auth, SL_SEC, 0);
    fx_get(&x, &h, "/guarded");
    fx_get(&x, &i, "/guarded");
    fx_run(&x, 9);
    assert_int_equal(h.status, 200);
    assert_int_equal(i.status, 200);
    assert_int_equal(lines_in("/runs"), 2);
    got_done(&h);
    got_done(&i);
    stop_server();
}

/* An expired credential is made again; one that is about to expire is used meanwhile. */
static void plugin_expiry(void **state) {
    struct got g = {0};

    (void)state;
    start_server(false);
    put_file("/runs", "");
    put_file("/tok", "one");
    let_in("one");
    fx_connect(
        &x, url_of(&server), "",
        plugin(TOKEN_SCRIPT ",\\\"expirationTimestamp\\\":\\\"2001-01-01T00:00:00Z\\\"", ""));
    sl_auth_tune(x.c->auth, SL_SEC, SL_HOUR);
    for (int n = 1; n <= 3; n++) { /* stale as soon as it is made: used, and not made in a circle */
        g = (struct got){0};
        fx_get(&x, &g, "/guarded");
        fx_run(&x, n);
        assert_int_equal(g.status, 200);
        got_done(&g);
    }
    assert_int_equal(lines_in("/runs"), 1);
    sl_auth_tune(x.c->auth, SL_SEC, 0);
    put_file("/tok", "two");
    let_in("two");
    g = (struct got){0};
    fx_get(&x, &g, "/guarded");
    (void)uv_run(&x.loop, UV_RUN_NOWAIT); /* the plugin is started */
    sl_auth_tune(x.c->auth, SL_SEC, SL_HOUR);
    fx_run(&x, 4);
    assert_int_equal(g.status, 200);
    assert_int_equal(lines_in("/runs"), 2);
    got_done(&g);
    stop_server();
}

/* It is told about the cluster, gets its variables, and may answer with a certificate. */
static void plugin_certificate(void **state) {
    struct sl_buf script;
    struct got g;

    (void)state;
    start_server(true);
    SSL_CTX_set_verify(server.tls, SSL_VERIFY_PEER, NULL);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(server.tls), ca.cert);
    char *key = pair_pem(&client, true);
    sl_buf_init(&script, (size_t)1 << 20);
    sl_buf_printf(&script, "%s\"clientCertificateData\":", CREDENTIAL);
    sl_buf_json(&script, client_pem);
    sl_buf_puts(&script, ",\"clientKeyData\":");
    sl_buf_json(&script, key);
    sl_buf_puts(&script, "}}");
    put_file("/credential", sl_buf_str(&script));
    request_once(
        url_of(&server), with_ca(ca_pem, ""),
        plugin(
            "printf '%s %s %s' \"$1\" \"$FRUIT\" \"$KUBERNETES_EXEC_INFO\" >seen; cat credential",
            ", args: [hello], env: [{name: FRUIT, value: fig}], provideClusterInfo: true"),
        &g);
    assert_int_equal(g.status, 200);
    assert_true(body_has(&g, "CN=ann"));
    got_done(&g);

    sl_buf_clear(&script);
    sl_buf_printf(&script,
                  "hello fig {\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
                  "\"ExecCredential\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
                  "\"%s\",\"certificate-authority-data\":\"",
                  url_of(&server));
    sl_base64_encode(&script, ca_pem, strlen(ca_pem));
    sl_buf_puts(&script, "\"}}}");
    char *seen = NULL;
    size_t len;
    assert_int_equal(sl_file_read(path_of("/seen"), 1 << 20, &seen, &len, NULL), 0);
    assert_string_equal(seen, sl_buf_str(&script));
    sl_freep(&seen);
    sl_freep(&key);
    sl_buf_done(&script);
    stop_server();
}

static void plugin_fails(void **state) {
    static const struct {
        const char *script, *more, *want;
    } cases[] = {
        {"echo first >&2; echo 'log in first' >&2; exit 3", "",
         "ended with status 3: log in first"},
        {"kill -9 $$", "", "killed by signal 9"},
        {"echo hello", "", "its output:1: expected JSON"},
        {"head -c 2000000 /dev/zero", "", "printed more than 1048576 bytes"},
        {"exit 0", "", "its output:1: expected JSON"},
    };
    struct got g, h = {0};
    char user[300];

    (void)state;
    start_server(false);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        request_once(url_of(&server), "", plugin(cases[i].script, cases[i].more), &g);
        assert_int_equal(g.status, 0);
        assert_non_null(strstr(g.text, "exec plugin "));
        assert_non_null(strstr(g.text, cases[i].want));
        got_done(&g);
    }
    (void)snprintf(user, sizeof user,
                   "exec: {command: no-such-plugin-here, installHint: 'get it from there', "
                   "apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: Never}");
    fx_connect(&x, url_of(&server), "", user);
    int before = x.done;
    for (int i = 1; i <= 3; i++) { /* and is not tried again at once */
        memset(&g, 0, sizeof g);
        fx_get(&x, &g, "/echo");
        fx_run(&x, before + i);
        assert_int_equal(g.status, 0);
        assert_string_equal(g.text, "exec plugin no-such-plugin-here: no such file or directory; "
                                    "get it from there");
        got_done(&g);
    }
    fx_disconnect(&x);

    /* A call does not wait for ever. */
    fx_connect(&x, url_of(&server), "", plugin("echo $$ >pid; exec sleep 100", ""));
    x.c->timeout = 100 * SL_MSEC;
    before = x.done;
    fx_get(&x, &h, "/echo");
    fx_run(&x, before + 1);
    assert_int_equal(h.status, 0);
    assert_string_equal(h.text, "the exec plugin did not answer in time");
    assert_int_equal(atomic_load(&server.asked), 0);
    got_done(&h);
    stop_server();
}

/* Freeing the client ends the plugin and what it started. */
static void plugin_killed(void **state) {
    struct got g = {0};
    char *pids = NULL, *end;
    size_t len;

    (void)state;
    start_server(false);
    fx_connect(&x, url_of(&server), "",
               plugin("sleep 100 & echo $$ $! >pids.new; "
                      "mv pids.new pids; wait",
                      ""));
    fx_get(&x, &g, "/echo");
    for (int i = 0; i < 6000 && access(path_of("/pids"), F_OK) != 0; i++)
        fx_run_ms(&x, 10);
    assert_int_equal(sl_file_read(path_of("/pids"), 1000, &pids, &len, NULL), 0);
    stop_server();
    assert_int_equal(g.n, 0);
    pid_t shell = (pid_t)strtol(pids, &end, 10), sleeper = (pid_t)strtol(end, NULL, 10);
    assert_true(shell > 0 && sleeper > 0);
    assert_int_equal(kill(shell, 0), -1);
    assert_int_equal(errno, ESRCH);
    /* The grandchild is not ours to collect: init does that when it likes. */
    char stat[64], line[200] = "";
    (void)snprintf(stat, sizeof stat, "/proc/%d/stat", (int)sleeper);
    for (int i = 0; i < 6000; i++) {
        FILE *f = fopen(stat, "re");
        bool gone = !f || !fgets(line, sizeof line, f) || strstr(line, ") Z");
        if (f)
            (void)fclose(f);
        if (gone)
            break;
        usleep(10000);
        assert_true(i < 5999);
    }
    sl_freep(&pids);
}

/* ---- frame ---- */

static int make_all(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/sluice-client-XXXXXX");
    assert_non_null(mkdtemp(folder));
    ca = pair_new("our authority", NULL, NULL);
    other_ca = pair_new("another authority", NULL, NULL);
    serving = pair_new("server", &ca, "IP:127.0.0.1,DNS:api.test");
    client = pair_new("ann", &ca, NULL);
    ca_pem = pair_pem(&ca, false);
    other_pem = pair_pem(&other_ca, false);
    client_pem = pair_pem(&client, false);
    key_pem = pair_pem(&client, true);
    return 0;
}

static int drop_all(void **state) {
    static const char *const files[] = {"/ca",         "/cert", "/key",    "/token",
                                        "/tok",        "/runs", "/plugin", "/seen",
                                        "/credential", "/pid",  "/pids",   ""};

    (void)state;
    for (size_t i = 0; i < SL_LEN(files); i++)
        (void)remove(path_of(files[i]));
    assert_int_equal(access(folder, F_OK), -1);
    (void)with_ca("", "");
    pair_done(&ca);
    pair_done(&other_ca);
    pair_done(&serving);
    pair_done(&client);
    sl_freep(&ca_pem);
    sl_freep(&other_pem);
    sl_freep(&client_pem);
    sl_freep(&key_pem);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(authorities),        cmocka_unit_test(client_certificates),
        cmocka_unit_test(sessions),           cmocka_unit_test(headers),
        cmocka_unit_test(token_files),        cmocka_unit_test(missing_token_file),
        cmocka_unit_test(plugin_works),       cmocka_unit_test(plugin_expiry),
        cmocka_unit_test(plugin_certificate), cmocka_unit_test(plugin_fails),
        cmocka_unit_test(plugin_killed),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
