/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP implementation of the API client interface: kubeconfig or service account, one libcurl
 * multi handle on the libuv loop, a pool of connections for requests and one per watch.
 *
 * At most 32 requests are in flight; others are queued for up to a minute, also while a plugin
 * produces a credential. Every limit that is reached and every network error is a reply with status
 * 0 and a message. A 401 is retried once if there is a newer credential or a plugin that can
 * produce one.
 *
 * Not thread-safe: everything happens on the thread of the loop.
 */
#ifndef SL_KUBE_CLIENT_CLIENT_H
#define SL_KUBE_CLIENT_CLIENT_H

#include "core/base/err.h"
#include "kube/client/port.h"

struct uv_loop_s;

/* Address of the API server and credentials. Files named here are reloaded when they change (token
 * file, certificates); an exec plugin is run again when its credential expires. */
struct sl_kubeconfig;

/* explicit_path: --kubeconfig or NULL. Then: KUBECONFIG (a list of files, merged), the in-cluster
 * service account (unless a context is given), the default file of the user. context: NULL for the
 * current one. */
int sl_kubeconfig_load(const char *explicit_path, const char *context, struct sl_kubeconfig **ret,
                       struct sl_err *err) _must_check_;
void sl_kubeconfig_free(struct sl_kubeconfig *k);
void sl_kubeconfig_freep(struct sl_kubeconfig **k);
const char *sl_kubeconfig_server(const struct sl_kubeconfig *k);
/* The namespace of the context or of the service account; "default" if there is none. */
const char *sl_kubeconfig_namespace(const struct sl_kubeconfig *k);

struct sl_curl_client;

/* user_agent: "sluice/0.1.0". Takes ownership of k, also on failure. Reads the files that k names;
 * connects with the first call. A process that has SIGPIPE at its default is made to ignore it. */
int sl_curl_client_new(struct uv_loop_s *loop, struct sl_kubeconfig *k, const char *user_agent,
                       struct sl_curl_client **ret, struct sl_err *err) _must_check_;
/* Cancels all calls; fine at any time, also in a callback. The port is dead at once; the memory
 * goes when the loop has closed the client's handles, so the loop has to run once more. */
void sl_curl_client_free(struct sl_curl_client *c);
/* The clocks are read once per loop iteration, before its first callback (and by a call that
 * precedes it): everything in an iteration happens at one time. */
struct sl_kube_client *sl_curl_client_interface(struct sl_curl_client *c);
/* Sets port->wall and port->mono to now, for iterations that begin elsewhere: a timer, another
 * socket. */
void sl_curl_client_clock(struct sl_curl_client *c);

#endif
