/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/identity.h"

#include "core/base/mem.h"
#include "lib/json/writer.h"

#define MAX_PEM ((size_t)1 << 20)
#define MAX_CONNECT (NATSC_MAX_JWT + (size_t)12 * SL_NATS_MAX_SECRET + 1024)
#define NAME "sluice"
#define SHORTEST 4u /* of a secret that is looked for in texts: shorter ones are in many words */

/* ---- copies ---- */

static void wipe(char **s) {
    if (*s)
        explicit_bzero(*s, strlen(*s));
    sl_freep(s);
}

void natsc_identity_done(struct natsc_identity *id) {
    char **all[] = {&id->user, &id->password, &id->token, &id->jwt};

    for (size_t i = 0; i < SL_LEN(all); i++)
        wipe(all[i]);
    explicit_bzero(id->seed, sizeof id->seed);
    natsc_trust_free(TAKE_PTR(id->trust));
}

static int copy(const char *what, const char *s, char **ret, struct sl_err *err) {
    if (strlen(s) > SL_NATS_MAX_SECRET)
        return sl_err_set(err, SL_ELIMIT, "the %s is longer than %u bytes", what,
                          SL_NATS_MAX_SECRET);
    if (!sl_nats_is_utf8(s))
        return sl_err_set(err, SL_EINVAL, "the %s is no UTF-8", what);
    *ret = sl_strdup(s);
    return SL_OK;
}

static int read_names(struct natsc_identity *id, const struct sl_nats_connector *c,
                      const struct sl_nats_credentials *with, struct sl_err *err) {
    bool own = with->user || with->token || with->creds;
    const char *user = own ? with->user : c->user, *token = own ? with->token : c->token;
    const char *password = own ? with->password : c->password;

    if (!with->password != !with->user)
        return sl_err_set(err, SL_EINVAL, "the credentials have a %s and no %s",
                          with->user ? "user" : "password", with->user ? "password" : "user");
    if (!!with->user + !!with->token + !!with->creds > 1)
        return sl_err_set(err, SL_EINVAL,
                          "the credentials have more than one of user, token and JWT");
    if (with->creds)
        return natsc_creds_read(with->creds, &id->jwt, id->seed, err);
    if (token)
        return copy("token", token, &id->token, err);
    if (!user)
        return SL_OK;
    int r = copy("user", user, &id->user, err);
    return r < 0 ? r : copy("password", password ? password : "", &id->password, err);
}

static int check_pem(const struct sl_nats_credentials *with, struct sl_err *err) {
    const char *const all[] = {with->ca, with->certificate, with->key};

    for (size_t i = 0; i < SL_LEN(all); i++)
        if (all[i] && strlen(all[i]) > MAX_PEM)
            return sl_err_set(err, SL_ELIMIT, "certificates or keys are longer than 1 MiB");
    if (!with->certificate != !with->key)
        return sl_err_set(err, SL_EINVAL,
                          "a client certificate needs its key, and a key its certificate");
    return SL_OK;
}

int natsc_identity_init(struct natsc_identity *id, const struct sl_nats_connector *c,
                        const struct sl_nats_credentials *with, struct sl_err *err) {
    static const struct sl_nats_credentials none;

    with = with ? with : &none;
    *id = (struct natsc_identity){.tls = c->tls || with->ca || with->certificate,
                                  .own_ca = with->ca != NULL};
    int r = check_pem(with, err);
    if (r >= 0)
        r = read_names(id, c, with, err);
    if (r >= 0 && (with->ca || with->certificate))
        r = natsc_trust_new(with->ca, with->certificate, with->key, &id->trust, err);
    if (r < 0)
        natsc_identity_done(id);
    return r;
}

/* ---- what is not to be shown ---- */

static bool has(struct sl_text text, struct sl_text part) {
    return part.n > 0 && memmem(text.s, text.n, part.s, part.n);
}

/* As it is, or as CONNECT has it. */
static bool has_secret(struct sl_text text, const char *secret) {
    struct sl_buf json = SL_BUF(6 * (SL_NATS_MAX_SECRET + NATSC_MAX_JWT) + 2);

    if (!secret || strlen(secret) < SHORTEST)
        return false;
    sl_buf_json(&json, secret);
    sl_assert(!sl_buf_full(&json));
    bool found =
        has(text, sl_text_of(secret)) || has(text, (struct sl_text){json.s + 1, json.len - 2});
    explicit_bzero(json.s, json.cap);
    sl_buf_done(&json);
    return found;
}

bool natsc_identity_shows(const struct natsc_identity *id, struct sl_text text) {
    return has_secret(text, id->password) || has_secret(text, id->token) ||
           has_secret(text, id->jwt);
}

/* ---- CONNECT ---- */

static int put_signature(const struct natsc_identity *id, struct sl_text nonce, struct sl_jw *w,
                         struct sl_err *err) {
    bool ok =
        nonce.n <= NATSC_MAX_NONCE && natsc_seed_sign(id->seed, nonce, sl_jw_begin_str(w, "sig"));

    sl_jw_end_str(w);
    return ok ? SL_OK : sl_err_set(err, SL_EIO, "cannot sign what the server asks for");
}

static int put_connect(const struct natsc_identity *id, struct sl_text nonce, struct sl_jw *w,
                       struct sl_err *err) {
    int r = SL_OK;

    sl_jw_object(w, NULL);
    sl_jw_bool(w, "verbose", false);
    sl_jw_bool(w, "pedantic", false);
    sl_jw_bool(w, "tls_required", id->tls);
    sl_jw_str(w, "name", NAME);
    sl_jw_str(w, "lang", "c");
    sl_jw_str(w, "version", SL_VERSION);
    sl_jw_int(w, "protocol", 1); /* INFO also later, when servers come and go */
    if (id->user)
        sl_jw_str(w, "user", id->user);
    if (id->password)
        sl_jw_str(w, "pass", id->password);
    if (id->token)
        sl_jw_str(w, "auth_token", id->token);
    if (id->jwt)
        sl_jw_str(w, "jwt", id->jwt);
    if (id->jwt && nonce.n > 0)
        r = put_signature(id, nonce, w, err);
    sl_jw_end(w);
    return r;
}

int natsc_identity_connect(const struct natsc_identity *id, struct sl_text nonce,
                           struct sl_buf *out, struct sl_err *err) {
    struct sl_buf json = SL_BUF(MAX_CONNECT);
    struct sl_jw w = SL_JW(&json);
    int r = put_connect(id, nonce, &w, err);

    sl_assert(!sl_buf_full(&json));
    if (r >= 0)
        sl_buf_printf(out, "CONNECT %s\r\n", json.s);
    explicit_bzero(json.s, json.cap);
    sl_buf_done(&json);
    return r;
}
