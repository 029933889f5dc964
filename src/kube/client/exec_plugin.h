/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exec plugins: a program that prints an ExecCredential (client.authentication.k8s.io). It runs
 * beside the loop, which never waits for it; it has SL_EXEC_PLUGIN_SECONDS and
 * SL_EXEC_PLUGIN_MAX_OUTPUT bytes, and no part of it is left behind.
 */
#ifndef SL_KUBE_CLIENT_EXEC_PLUGIN_H
#define SL_KUBE_CLIENT_EXEC_PLUGIN_H

#include "core/base/time.h"
#include "kube/client/kubeconfig.h"

#define SL_EXEC_PLUGIN_SECONDS 60u
#define SL_EXEC_PLUGIN_MAX_OUTPUT ((size_t)1 << 20)

struct uv_loop_s;

/* The credential that a plugin returned; "" for absent fields. */
struct sl_exec_plugin_cred {
    char *token, *cert, *key; /* owned */
    sl_time expiry;           /* SL_TIME_NEVER if none */
};
void sl_exec_plugin_cred_done(struct sl_exec_plugin_cred *c);

/* Reads what a plugin printed. On failure *ret is untouched. */
int sl_exec_plugin_parse(const struct sl_exec_plugin_spec *e, const char *text, size_t len,
                         struct sl_exec_plugin_cred *ret, struct sl_err *err) _must_check_;

struct sl_exec_plugin_run;
/* cred is handed over (the callee frees it), or NULL: then err holds the reason. */
typedef void (*sl_exec_plugin_fn)(void *ctx, struct sl_exec_plugin_cred *cred,
                                  const struct sl_err *err);

/* Starts k->exec, which must stay valid until the run has ended. ca: the CA certificates of the
 * cluster, for plugins that request cluster information. 'done' is called once, later. */
int sl_exec_plugin_start(struct uv_loop_s *loop, const struct sl_kubeconfig *k, const char *ca,
                         size_t ca_len, sl_exec_plugin_fn done, void *ctx,
                         struct sl_exec_plugin_run **ret, struct sl_err *err) _must_check_;
/* Kills it; 'done' does not come. The loop must run on for the remains to be collected. */
void sl_exec_plugin_abort(struct sl_exec_plugin_run *r);

#endif
