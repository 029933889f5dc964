/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From connector and credentials to options of the library. User, password and token go into its
 * CONNECT line as they are given to it, so they are given as JSON has them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

#define MAX_PEM ((size_t)1 << 20)
#define MAX_PINGS_OUT 2
#define WRITE_MS 5000
#define NAME "sluice"

/* ---- who connects ---- */

static void wipe(char **s) {
    if (*s)
        explicit_bzero(*s, strlen(*s));
    sl_freep(s);
}

void natsc_identity_done(struct natsc_identity *id) {
    char **all[] = {&id->user, &id->password, &id->token,       &id->jwt,
                    &id->seed, &id->ca,       &id->certificate, &id->key};

    for (size_t i = 0; i < SL_LEN(all); i++)
        wipe(all[i]);
}

static int copy_json(const char *what, const char *s, char **ret, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(6 * SL_NATS_MAX_SECRET + 3);

    if (strlen(s) > SL_NATS_MAX_SECRET)
        return sl_err_set(err, SL_ELIMIT, "the %s is longer than %u bytes", what,
                          SL_NATS_MAX_SECRET);
    sl_buf_json(&b, s);
    sl_assert(!sl_buf_full(&b) && b.len >= 2);
    *ret = sl_alloc(b.len - 1);
    memcpy(*ret, b.s + 1, b.len - 2);
    (*ret)[b.len - 2] = '\0';
    explicit_bzero(b.s, b.cap);
    return SL_OK;
}

static bool is_content(char c) {
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' || c == '=';
}

/* The line between two lines of dashes, and what follows these; NULL: there is none. */
static const char *next_block(const char *text, struct sl_text *ret) {
    bool inside = false;

    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t n = (size_t)(end - line);
        while (n > 0 && isspace((unsigned char)line[n - 1]))
            n--;
        if (n == 0)
            continue;
        if (n >= 3 && strncmp(line, "---", 3) == 0) {
            inside = !inside;
            continue;
        }
        if (!inside)
            continue;
        *ret = (struct sl_text){line, n};
        line = strchrnul(end, '-');
        return strchrnul(line, '\n');
    }
    return NULL;
}

static int copy_block(struct sl_text t, const char *what, char **ret, struct sl_err *err) {
    for (size_t i = 0; i < t.n; i++)
        if (!is_content(t.s[i]))
            return sl_err_set(err, SL_EINVAL, "the credentials have no valid %s", what);
    *ret = sl_alloc(t.n + 1);
    memcpy(*ret, t.s, t.n);
    (*ret)[t.n] = '\0';
    return SL_OK;
}

/* Text of a .creds file: a JWT, and the seed whose public key it names. */
static int read_creds(struct natsc_identity *id, const char *text, struct sl_err *err) {
    struct sl_text jwt, seed;
    unsigned char *signature = NULL;
    int len = 0;
    const char *rest = next_block(text, &jwt);

    if (!rest || !next_block(rest, &seed))
        return sl_err_set(err, SL_EINVAL,
                          "expected a .creds text with a user JWT and a user nkey seed");
    int r = copy_block(jwt, "user JWT", &id->jwt, err);
    if (r >= 0)
        r = copy_block(seed, "nkey seed", &id->seed, err);
    if (r < 0)
        return r;
    if (strncmp(id->seed, "SU", 2) != 0 || nats_Sign(id->seed, "x", &signature, &len) != NATS_OK)
        r = sl_err_set(err, SL_EINVAL, "the credentials have no valid nkey seed of a user");
    free(signature); /* the library's */
    return r;
}

static int read_identity(struct natsc_identity *id, const struct sl_nats_connector *c,
                         const struct sl_nats_credentials *with, struct sl_err *err) {
    bool own = with->user || with->token || with->creds;
    const char *user = own ? with->user : c->user, *token = own ? with->token : c->token;
    const char *password = own ? with->password : c->password;

    if (with->password && !with->user)
        return sl_err_set(err, SL_EINVAL, "the credentials have a password and no user");
    if (with->creds)
        return read_creds(id, with->creds, err);
    if (token)
        return copy_json("token", token, &id->token, err);
    if (!user)
        return SL_OK;
    int r = copy_json("user", user, &id->user, err);
    return r < 0 ? r : copy_json("password", password ? password : "", &id->password, err);
}

static int copy_pem(const char *what, const char *s, char **ret, struct sl_err *err) {
    if (!s)
        return SL_OK;
    if (strlen(s) > MAX_PEM)
        return sl_err_set(err, SL_ELIMIT, "the %s is longer than 1 MiB", what);
    *ret = sl_strdup(s);
    return SL_OK;
}

int natsc_identity_init(struct natsc_identity *id, const struct sl_nats_connector *c,
                        const struct sl_nats_credentials *with, struct sl_err *err) {
    static const struct sl_nats_credentials none;
    int r;

    with = with ? with : &none;
    *id = (struct natsc_identity){.tls = c->tls || with->ca || with->certificate};
    if (!with->certificate != !with->key)
        return sl_err_set(err, SL_EINVAL,
                          "a client certificate needs its key, and a key its "
                          "certificate");
    r = read_identity(id, c, with, err);
    if (r >= 0)
        r = copy_pem("CA", with->ca, &id->ca, err);
    if (r >= 0)
        r = copy_pem("certificate", with->certificate, &id->certificate, err);
    if (r >= 0)
        r = copy_pem("key", with->key, &id->key, err);
    if (r < 0)
        natsc_identity_done(id);
    return r;
}

/* ---- callbacks of the library ---- */

/* The library frees what these return. */
static natsStatus on_jwt(char **ret, char **ret_error, void *closure) {
    const struct natsc_identity *id = closure;

    (void)ret_error;
    *ret = strdup(id->jwt);
    return *ret ? NATS_OK : NATS_NO_MEMORY;
}

static natsStatus on_nonce(char **ret_error, unsigned char **ret, int *ret_len, const char *nonce,
                           void *closure) {
    const struct natsc_identity *id = closure;

    (void)ret_error;
    return nats_Sign(id->seed, nonce, ret, ret_len);
}

/* ---- options ---- */

static natsStatus set_identity(natsOptions *o, const struct natsc_identity *id) {
    void *closure = (void *)id; /* only read there */

    if (id->jwt)
        return natsOptions_SetUserCredentialsCallbacks(o, on_jwt, closure, on_nonce, closure);
    if (id->token)
        return natsOptions_SetToken(o, id->token);
    return id->user ? natsOptions_SetUserInfo(o, id->user, id->password) : NATS_OK;
}

static natsStatus set_server(natsOptions *o, const struct natsc_server *s) {
    char name[300], url[320];

    natsc_server_name(s, name, sizeof name);
    sl_fmt(url, sizeof url, "nats://%s", name);
    return natsOptions_SetURL(o, url);
}

/* Times, and what the library must not do by itself. */
static natsStatus set_pace(natsOptions *o, const struct sl_nats_pace *pace) {
    natsStatus s = natsOptions_SetAllowReconnect(o, false);

    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, pace->connect);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(o, pace->ping);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(o, MAX_PINGS_OUT);
    if (s == NATS_OK)
        s = natsOptions_SetWriteDeadline(o, WRITE_MS);
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(o, true); /* no thread only to flush */
    if (s == NATS_OK)
        s = natsOptions_UseGlobalMessageDelivery(o, true);
    return s;
}

static natsStatus set_callbacks(natsOptions *o, struct natsc_link *link) {
    natsStatus s = natsOptions_SetClosedCB(o, natsc_on_closed, link);

    if (s == NATS_OK)
        s = natsOptions_SetDiscoveredServersCB(o, natsc_on_discovered, link);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, natsc_on_error, link);
    return s;
}

/* With nats:// the library comes to TLS by itself, if the server demands it, and verifies the host;
 * options that are not needed would make it read all authorities of the system. */
static int set_tls(natsOptions *o, const struct natsc_identity *id, const struct natsc_server *s,
                   struct sl_err *err) {
    if (!id->tls && !s->tls_name[0])
        return SL_OK;
    if (id->tls && natsOptions_SetSecure(o, true) != NATS_OK)
        return sl_err_set(err, SL_EIO, "the NATS library has no TLS");
    if (id->ca && natsOptions_SetCATrustedCertificates(o, id->ca) != NATS_OK)
        return sl_err_set(err, SL_EINVAL, "the CA is no PEM certificate");
    if (id->certificate && natsOptions_SetCertificatesChain(o, id->certificate, id->key) != NATS_OK)
        return sl_err_set(err, SL_EINVAL,
                          "client certificate and key are no PEM, or do not belong together");
    if (natsOptions_SetExpectedHostname(o, s->tls_name[0] ? s->tls_name : s->host) != NATS_OK)
        return sl_err_set(err, SL_EIO, "the NATS library does not verify host names");
    return SL_OK;
}

int natsc_options_new(const struct natsc_identity *id, const struct natsc_server *s,
                      const struct sl_nats_pace *pace, struct natsc_link *link, natsOptions **ret,
                      struct sl_err *err) {
    natsOptions *o = NULL;
    natsStatus status = natsOptions_Create(&o);

    if (status == NATS_OK)
        status = natsOptions_SetName(o, NAME);
    if (status == NATS_OK)
        status = set_server(o, s);
    if (status == NATS_OK)
        status = set_identity(o, id);
    if (status == NATS_OK)
        status = set_pace(o, pace);
    if (status == NATS_OK && link)
        status = set_callbacks(o, link);
    int r = status == NATS_OK ? set_tls(o, id, s, err)
                              : sl_err_set(err, SL_EIO, "options of the NATS library: %s",
                                           natsStatus_GetText(status));
    if (r < 0)
        natsOptions_Destroy(o);
    else
        *ret = o;
    return r;
}
