/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets with credentials for NATS, in the namespace of the manager. No stream shows them: the
 * role names single ones, so each is read by itself, now and then and when it is needed. Content
 * that no connection needs is not kept, and what is given up is overwritten.
 */
#include <string.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "manager/masterqueue/mq_int.h"

#define MAX_SECRET ((size_t)256 << 10) /* of one key */

static const char *const secret_keys[MQ_SECRET_KEYS] = {
    [MQ_KEY_USER] = "username",    [MQ_KEY_PASSWORD] = "password", [MQ_KEY_TOKEN] = "token",
    [MQ_KEY_CREDS] = "user.creds", [MQ_KEY_CA] = "ca.crt",         [MQ_KEY_CERTIFICATE] = "tls.crt",
    [MQ_KEY_PRIVATE] = "tls.key",
};

static void wipe(struct mq_secret *s) {
    for (size_t i = 0; i < SL_LEN(s->v); i++) {
        if (s->v[i])
            explicit_bzero(s->v[i], strlen(s->v[i]));
        sl_freep(&s->v[i]);
    }
}

void mq_secret_free(struct sl_rec *r) {
    wipe(mq_secret_of(r));
}

/* NULL: absent, too long, or no text. */
static char *decoded(yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    if (!v || t.n > MAX_SECRET * 4 / 3)
        return NULL;
    char *out = sl_alloc(t.n + 1);
    int64_t n = sl_base64_decode(t.s, t.n, out);
    if (n < 0 || memchr(out, '\0', (size_t)n)) {
        explicit_bzero(out, t.n + 1);
        sl_freep(&out);
    }
    return out;
}

bool mq_secret_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_masterqueues *m = ctx;
    struct mq_secret *s = mq_secret_of(r);
    yyjson_val *data = sl_json_get(o, "data");
    uint64_t hash = sl_json_hash(17, data) | 1;

    if (s->known && s->hash == hash)
        return false;
    wipe(s);
    for (size_t i = 0; i < SL_LEN(s->v); i++)
        s->v[i] = decoded(sl_json_get(data, secret_keys[i]));
    s->hash = hash;
    s->known = true;
    s->missing = false;
    s->read_at = sl_time_add(m->client->mono, MQ_SECRET_EVERY);
    m->relink = true;
    return true;
}

/* No stream shows it: it is read now and then. */
void mq_secret_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_masterqueues *m = ctx;
    struct mq_secret *s = mq_secret_of(r);
    if (m->client->mono >= s->read_at) {
        s->was_read = m->client->mono;
        s->read_at = sl_time_add(m->client->mono, MQ_SECRET_EVERY);
        sl_rec_write(r);
    }
    sl_rec_reconcile_at(r, sl_time_add(m->client->wall, s->read_at - m->client->mono));
}

bool mq_secret_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    (void)ctx;
    sl_rec_build_read(r, w);
    return true;
}

void mq_secret_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *reply) {
    struct sl_masterqueues *m = ctx;
    struct mq_secret *s = mq_secret_of(r);
    (void)w, (void)reply;
    if (how != SL_WRITE_GONE && how != SL_WRITE_REFUSED)
        return;
    m->relink |= s->known || !s->missing;
    wipe(s);
    s->hash = 0;
    s->known = false;
    s->missing = true;
    s->read_at = sl_time_add(m->client->mono, MQ_SECRET_RETRY);
    sl_rec_enqueue(r);
}

const struct mq_secret *mq_secret_get(struct sl_masterqueues *m, const char *name) {
    struct sl_rec *r = sl_inf_find(m->inf, MQ_SECRET, m->spec.own_ns, name);
    if (!r) {
        r = sl_inf_add(m->inf, MQ_SECRET, m->spec.own_ns, name);
        sl_rec_enqueue(r); /* its time to be read is long past */
    }
    return mq_secret_of(r);
}

void mq_secret_read_soon(struct sl_masterqueues *m, const char *name) {
    struct sl_rec *r = *name ? sl_inf_find(m->inf, MQ_SECRET, m->spec.own_ns, name) : NULL;
    if (!r)
        return;
    struct mq_secret *s = mq_secret_of(r);
    s->read_at = sl_time_min(s->read_at, sl_time_add(s->was_read, MQ_SECRET_SOON));
    sl_rec_enqueue(r);
}

struct sl_nats_credentials mq_secret_credentials(const struct mq_secret *s) {
    if (!s)
        return (struct sl_nats_credentials){0};
    return (struct sl_nats_credentials){.user = s->v[MQ_KEY_USER],
                                        .password = s->v[MQ_KEY_PASSWORD],
                                        .token = s->v[MQ_KEY_TOKEN],
                                        .creds = s->v[MQ_KEY_CREDS],
                                        .ca = s->v[MQ_KEY_CA],
                                        .certificate = s->v[MQ_KEY_CERTIFICATE],
                                        .key = s->v[MQ_KEY_PRIVATE]};
}
