/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of the client and their rotation: certificates and tokens from files that other
 * programs rotate, and credentials from an exec plugin. One object per client.
 *
 * Files are checked with stat at most once a second while requests are being sent, read when they
 * have changed, and in any case once a minute. If a file cannot be read or is incomplete, the
 * previous credentials stay in use.
 *
 * A plugin is run before the first request, again from half a minute before its credential expires,
 * and after a 401; at most once a second, and with exponential back-off of up to a minute after
 * failures.
 */
#ifndef SL_KUBE_CLIENT_AUTH_H
#define SL_KUBE_CLIENT_AUTH_H

#include "core/base/time.h"
#include "kube/client/kubeconfig.h"

struct uv_loop_s;
struct sl_auth;

struct sl_auth_bytes {
    const char *p;
    size_t n;
};

/* Valid until the next call of sl_auth_get or sl_auth_refused. */
struct sl_auth_cred {
    uint32_t gen;                       /* another number, another credential */
    const char *token;                  /* "" if none */
    struct sl_auth_bytes ca, cert, key; /* PEM; no bytes if none */
};

enum sl_auth_state {
    SL_AUTH_READY, /* the credential can be used */
    SL_AUTH_WAIT,  /* a plugin is running; 'wake' is called when it has ended */
    SL_AUTH_FAILED,
};

/* Reads all files once. k is borrowed and must outlive it. 'wake' is never called from within a
 * call; it gets the time (mono). */
int sl_auth_new(struct uv_loop_s *loop, const struct sl_kubeconfig *k, sl_time mono,
                sl_time (*wake)(void *ctx), void *ctx, struct sl_auth **ret,
                struct sl_err *err) _must_check_;
/* A plugin that runs is killed. The loop must run on for its remains to be collected. */
void sl_auth_free(struct sl_auth *a);

/* Runs the checks that are due; ret_why: the error message. */
enum sl_auth_state sl_auth_get(struct sl_auth *a, sl_time wall, sl_time mono, const char **ret_why);
const struct sl_auth_cred *sl_auth_cred(const struct sl_auth *a);
/* The server answered 401 to the credential of this generation. True: a retry may succeed. */
bool sl_auth_refused(struct sl_auth *a, uint32_t gen, sl_time mono);

/* Other spans than a second each; for tests, which cannot wait. */
void sl_auth_tune(struct sl_auth *a, sl_span check_every, sl_span run_pause);

#endif
