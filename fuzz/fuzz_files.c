/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that credentials stand in, as a crash, an editor or somebody else left them. An input
 * is of parts, each a line "=== NAME FORM" and what follows:
 *
 *     FORM -   the bytes as they stand      p   as PEM of a certificate: the bytes are its DER
 *                                           k   as PEM of a key
 *     NAME ca.crt, ca.key, token, lock, kubeconfig, objects.db   in the folder of `sluice up`
 *          tls.crt, tls.key, ca.pem   a certificate, its key, authorities: what cert.h is asked
 *          bearer, pem   a token, PEM: what secret.h is asked, and a token of a service account
 *
 * The folder opens or is refused in words; what it opens it opens again with the same token and
 * authority, which sign a certificate that fits. Other people's files are only read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/apiserver/token.h"
#include "cluster/up/data_dir.h"
#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/mem.h"
#include "kube/client/secret.h"

#define NOW ((sl_time)1800000000 * SL_SEC) /* 2027 */
#define MAX_PART ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];
static const char *const in_folder[] = {"ca.crt", "ca.key",     "token",
                                        "lock",   "kubeconfig", "objects.db"};
enum { CRT, KEY, CAS, BEARER, PEM, TEXTS };
static const char *const names[TEXTS] = {"tls.crt", "tls.key", "ca.pem", "bearer", "pem"};
static struct sl_buf texts[TEXTS];

static void file_path(char out[128], const char *name) {
    (void)snprintf(out, 128, "%s/%s", dir, name);
}

static void remove_files(void) {
    char path[128];

    for (size_t i = 0; i < SL_LEN(in_folder); i++) {
        file_path(path, in_folder[i]);
        (void)unlink(path);
    }
}

static void forget(void) {
    remove_files();
    (void)rmdir(dir);
}

/* ---- the parts ---- */

static void put_pem(struct sl_buf *b, const char *what, const char *bytes, size_t len) {
    sl_buf_printf(b, "-----BEGIN %s-----\n", what);
    for (size_t at = 0; at < len; at += 48) {
        sl_base64_encode(b, bytes + at, len - at < 48 ? len - at : 48);
        sl_buf_putc(b, '\n');
    }
    sl_buf_printf(b, "-----END %s-----\n", what);
}

static void take_part(const char *name, size_t n, char form, const char *bytes, size_t len) {
    struct sl_buf b = SL_BUF(2 * MAX_PART + 4096);
    char path[128];

    if (form == 'p' || form == 'k')
        put_pem(&b, form == 'p' ? "CERTIFICATE" : "PRIVATE KEY", bytes, len);
    else
        sl_buf_add(&b, bytes, len);
    for (size_t i = 0; i < SL_LEN(in_folder); i++) {
        if (strlen(in_folder[i]) != n || memcmp(in_folder[i], name, n) != 0)
            continue;
        file_path(path, in_folder[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        sl_assert(fd >= 0 && write(fd, sl_buf_str(&b), b.len) == (ssize_t)b.len);
        (void)close(fd);
    }
    for (size_t i = 0; i < TEXTS; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            sl_buf_add(&texts[i], sl_buf_str(&b), b.len);
    sl_buf_done(&b);
}

static void take_parts(const char *s, const char *end) {
    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        if (!nl || nl - s < 7 || memcmp(s, "=== ", 4) != 0)
            return;
        const char *next = memmem(nl, (size_t)(end - nl), "\n=== ", 5), *body = nl + 1,
                   *stop = next ? next : end;
        if (stop < body)
            stop = body;
        if ((size_t)(stop - body) <= MAX_PART)
            take_part(s + 4, (size_t)(nl - 2 - s - 4), nl[-1], body, (size_t)(stop - body));
        s = next ? next + 1 : end;
    }
}

/* ---- what reads them ---- */

static void open_home(void) {
    struct up_data_dir one, two;
    struct sl_cert cert = {0};
    struct sl_err err = {.text = ""};

    if (up_data_dir_open(dir, NOW, &one, &err) < 0) {
        sl_assert(*err.text);
        return;
    }
    sl_assert(strlen(one.token) == SL_TOKEN_TEXT - 1);
    if (up_data_dir_certificate(&one, "127.0.0.1", NOW, &cert, &err) >= 0)
        sl_assert(sl_cert_fits(&cert, one.ca.cert_pem, "localhost"));
    else
        sl_assert(*err.text && !cert.cert_pem && !cert.key_pem);
    sl_assert(up_data_dir_write_kubeconfig(&one, "https://127.0.0.1:6443", &err) >= 0);
    char *ca = sl_strdup(one.ca.cert_pem), token[SL_TOKEN_TEXT];
    memcpy(token, one.token, sizeof token);
    up_data_dir_done(&one);
    sl_assert(up_data_dir_open(dir, NOW, &two, &err) >= 0);
    sl_assert(strcmp(two.token, token) == 0 && strcmp(two.ca.cert_pem, ca) == 0);
    up_data_dir_done(&two);
    sl_cert_done(&cert);
    sl_freep(&ca);
}

static void ask_certs(void) {
    struct sl_cert c = {.cert_pem = sl_strdup(sl_buf_str(&texts[CRT])),
                        .key_pem = sl_strdup(sl_buf_str(&texts[KEY]))};
    struct sl_err err = {.text = ""};
    sl_time end;
    int pair = sl_cert_pair(c.cert_pem, c.key_pem, &err);

    sl_assert(pair >= 0 || *err.text);
    sl_assert(pair < 0 || sl_cert_expiry(c.cert_pem, &end, &err) >= 0 || *err.text);
    if (sl_cert_fits(&c, sl_buf_str(&texts[CAS]), "localhost"))
        sl_assert(pair >= 0);
    sl_cert_done(&c);
}

static void ask_secrets(void) {
    struct sl_arena arena = SL_ARENA((size_t)1 << 20);
    const struct sl_buf *bearer = &texts[BEARER], *pem = &texts[PEM];
    struct sl_api_bearer who;

    if (!sl_token_problem(sl_buf_str(bearer), bearer->len)) {
        sl_assert(bearer->len > 0 && bearer->len <= SL_TOKEN_MAX_BYTES);
        sl_assert(sl_header_safe(sl_buf_str(bearer)));
    }
    /* it is not signed */
    sl_assert(!sl_api_token_read(NULL, &arena, sl_buf_str(bearer), NULL, NOW, &who));
    (void)sl_pem_problem(sl_buf_str(pem), pem->len);
    sl_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!*dir) {
        (void)snprintf(dir, sizeof dir, "%s/sl-files-XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        sl_assert(mkdtemp(dir));
        (void)atexit(forget);
    }
    remove_files();
    for (uint32_t i = 0; i < TEXTS; i++)
        sl_buf_init(&texts[i], 4 * MAX_PART);
    take_parts((const char *)data, (const char *)data + size);
    open_home();
    ask_certs();
    ask_secrets();
    for (uint32_t i = 0; i < TEXTS; i++)
        sl_buf_done(&texts[i]);
    return 0;
}
