#include "up/home.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "doc/doc.h"
#include "kube/secret.h"

#define MAX_DIR 3800u
#define CA_LIFE (INT64_C(3650) * 24 * SL_HOUR)
#define CA_LEFT (2 * SL_HOME_CERT_LIFE) /* with less it is made anew */
#define MAX_NAMES 64u
#define MAX_KUBECONFIG ((size_t)64 << 10)

/* ---- files ---- */

static char *in_dir(const char *dir, const char *name) {
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = sl_alloc(n);

    (void)snprintf(path, n, "%s/%s", dir, name);
    return path;
}

/* Whole or not at all, for its owner alone. */
static int write_file(const char *path, const char *text, size_t len, struct sl_err *err) {
    char tmp[MAX_DIR + 64];

    (void)snprintf(tmp, sizeof tmp, "%s.%ld", path, (long)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0;
    for (size_t done = 0; ok && done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        ok = n > 0;
        done += ok ? (size_t)n : 0;
    }
    ok = ok && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (ok && rename(tmp, path) < 0) {
        why = errno;
        ok = false;
    }
    if (ok)
        return SL_OK;
    (void)unlink(tmp);
    return sl_err_set(err, SL_EIO, "cannot write %s: %s", path, strerror(why));
}

static int make_dirs(char *dir, struct sl_err *err) {
    for (char *slash = dir + 1; slash; slash++) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        int r = mkdir(dir, 0700);
        if (r < 0 && errno != EEXIST)
            return sl_err_set(err, SL_EIO,
                              "cannot make the folder %s: %s; choose another with --dir", dir,
                              strerror(errno));
        if (!slash)
            break;
        *slash = '/';
    }
    struct stat st;
    if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
        return sl_err_set(err, SL_EIO, "%s is no folder; choose another with --dir", dir);
    return SL_OK;
}

static int find_dir(const char *asked, char out[MAX_DIR], struct sl_err *err) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct passwd *pw = home && *home ? NULL : getpwuid(getuid());
    int n;

    if (pw)
        home = pw->pw_dir;
    if (asked)
        n = *asked == '/' ? snprintf(out, MAX_DIR, "%s", asked) : 0;
    else if (data && *data == '/')
        n = snprintf(out, MAX_DIR, "%s/sluice", data);
    else if (home && *home == '/')
        n = snprintf(out, MAX_DIR, "%s/.local/share/sluice", home);
    else
        return sl_err_set(err, SL_EINVAL, "there is no home folder; choose a folder with --dir");
    if (asked && *asked && *asked != '/') { /* paths in the kubeconfig hold everywhere */
        char here[MAX_DIR];
        if (!getcwd(here, sizeof here))
            return sl_err_set(err, SL_EIO, "the present folder: %s", strerror(errno));
        n = snprintf(out, MAX_DIR, "%s/%s", here, asked);
    }
    while (n > 1 && (size_t)n < MAX_DIR && out[n - 1] == '/')
        out[--n] = '\0';
    if (n < 2 || (size_t)n >= MAX_DIR)
        return sl_err_set(err, SL_EINVAL, "--dir: this is no folder to live in");
    return SL_OK;
}

/* ---- secrets ---- */

static bool read_ca(const char *crt, const char *key, sl_time now, struct sl_cert *ret) {
    size_t n;
    sl_time end;

    if (sl_file_read(crt, SL_CERT_PEM, &ret->cert_pem, &n, NULL) >= 0 &&
        sl_file_read(key, SL_CERT_PEM, &ret->key_pem, &n, NULL) >= 0 &&
        sl_cert_pair(ret->cert_pem, ret->key_pem, NULL) >= 0 &&
        sl_cert_expiry(ret->cert_pem, &end, NULL) >= 0 && end > sl_time_add(now, CA_LEFT))
        return true;
    sl_cert_done(ret);
    return false;
}

static int have_ca(struct sl_home *h, sl_time now, struct sl_err *err) {
    _cleanup_(sl_freep) char *crt = in_dir(h->dir, "ca.crt"), *key = in_dir(h->dir, "ca.key");

    if (read_ca(crt, key, now, &h->ca))
        return SL_OK;
    int r = sl_cert_ca("sluice-ca", now, CA_LIFE, &h->ca, err);
    if (r >= 0)
        r = write_file(key, h->ca.key_pem, strlen(h->ca.key_pem), err);
    if (r >= 0)
        r = write_file(crt, h->ca.cert_pem, strlen(h->ca.cert_pem), err);
    return r;
}

static int have_token(struct sl_home *h, struct sl_err *err) {
    _cleanup_(sl_freep) char *path = in_dir(h->dir, "token"), *text = NULL;
    unsigned char random[(SL_TOKEN_TEXT - 1) / 2];
    size_t len = 0;

    if (sl_file_read(path, SL_TOKEN_TEXT, &text, &len, NULL) >= 0 && len == SL_TOKEN_TEXT - 1 &&
        strspn(text, "0123456789abcdef") == len) {
        memcpy(h->token, text, SL_TOKEN_TEXT);
        return SL_OK;
    }
    if (RAND_bytes(random, sizeof random) != 1)
        return sl_err_set(err, SL_EIO, "there is no randomness to be had");
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(h->token + 2 * i, 3, "%02x", random[i]);
    return write_file(path, h->token, SL_TOKEN_TEXT - 1, err);
}

int sl_home_open(const char *dir, sl_time now, struct sl_home *ret, struct sl_err *err) {
    char path[MAX_DIR];

    *ret = (struct sl_home){0};
    int r = find_dir(dir, path, err);
    if (r >= 0)
        r = make_dirs(path, err);
    if (r < 0)
        return r;
    ret->dir = sl_strdup(path);
    ret->objects = in_dir(path, "objects.db");
    ret->pods = in_dir(path, "pods");
    ret->kubeconfig = in_dir(path, "kubeconfig");
    r = have_ca(ret, now, err);
    if (r >= 0)
        r = have_token(ret, err);
    if (r < 0)
        sl_home_done(ret);
    return r;
}

void sl_home_done(struct sl_home *h) {
    sl_freep(&h->dir);
    sl_freep(&h->objects);
    sl_freep(&h->pods);
    sl_freep(&h->kubeconfig);
    sl_cert_done(&h->ca);
    explicit_bzero(h->token, sizeof h->token);
}

/* ---- the certificate ---- */

struct names {
    char text[MAX_NAMES][256];
    const char *v[MAX_NAMES];
    uint32_t n;
};

static void add_name(struct names *names, const char *name) {
    for (uint32_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0)
            return;
    if (names->n == MAX_NAMES || !*name || strlen(name) >= sizeof names->text[0])
        return;
    (void)snprintf(names->text[names->n], sizeof names->text[0], "%s", name);
    names->v[names->n] = names->text[names->n];
    names->n++;
}

static void add_addresses(struct names *names) {
    uv_interface_address_t *v = NULL;
    char text[64];
    int n = 0;

    if (uv_interface_addresses(&v, &n) < 0)
        return;
    for (int i = 0; i < n; i++) {
        int r = v[i].address.address4.sin_family == AF_INET6
                    ? uv_ip6_name(&v[i].address.address6, text, sizeof text)
                    : uv_ip4_name(&v[i].address.address4, text, sizeof text);
        if (r == 0)
            add_name(names, text);
    }
    uv_free_interface_addresses(v, n);
}

int sl_home_certificate(const struct sl_home *h, const char *host, sl_time now, struct sl_cert *ret,
                        struct sl_err *err) {
    static const char *const usual[] = {
        "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    };
    struct names *names = sl_alloc0(1, sizeof *names);
    char machine[256] = "";

    for (size_t i = 0; i < SL_LEN(usual); i++)
        add_name(names, usual[i]);
    (void)gethostname(machine, sizeof machine - 1);
    add_name(names, machine);
    if (!*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        add_addresses(names);
    else
        add_name(names, host);
    int r = sl_cert_serving(&h->ca, names->v, names->n, now, SL_HOME_CERT_LIFE, ret, err);
    sl_freep(&names);
    return r;
}

/* ---- the kubeconfig ---- */

int sl_home_write_kubeconfig(const struct sl_home *h, const char *server, struct sl_err *err) {
    struct sl_buf b;

    sl_buf_init(&b, MAX_KUBECONFIG);
    sl_buf_puts(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: sluice\n  cluster:\n"
                    "    certificate-authority-data: ");
    sl_base64_encode(&b, h->ca.cert_pem, strlen(h->ca.cert_pem));
    sl_buf_printf(&b,
                  "\n    server: %s\nusers:\n- name: sluice\n  user:\n    token: %s\n"
                  "contexts:\n- name: sluice\n  context:\n    cluster: sluice\n    user: sluice\n"
                  "current-context: sluice\n",
                  server, h->token);
    int r = b.overflow ? sl_err_set(err, SL_ELIMIT, "the kubeconfig is too large")
                       : write_file(h->kubeconfig, sl_buf_str(&b), b.len, err);
    if (b.s)
        explicit_bzero(b.s, b.len);
    sl_buf_done(&b);
    return r;
}
