/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP client behind the port: kubeconfig or service account, one libcurl multi handle on the
 * libuv loop, a pool of connections for requests and one per watch.
 *
 * At most 32 requests are on the wire; more wait in line for up to a minute, as they do for a
 * credential that a plugin is still making. Every ceiling that is reached, and every fault between
 * here and the server, is a reply with status 0 and words. A 401 is asked again once by itself if
 * there is a newer credential or a plugin that can make one.
 *
 * Not thread-safe: everything happens on the loop's thread.
 */
#ifndef SL_KUBE_CLIENT_H
#define SL_KUBE_CLIENT_H

#include "base/err.h"
#include "kube/port.h"

struct uv_loop_s;

/* Where the API is and who we are there. Files named here are read again when they change (token
 * file, certificates) or run again when they expire (exec plugin). */
struct sl_kubeconfig;

/* explicit_path: --kubeconfig or NULL. Then: KUBECONFIG (a list of files, merged), the in-cluster
 * account (unless a context is asked for), the user's own file. context: NULL for the current one.
 */
int sl_kubeconfig_load(const char *explicit_path, const char *context, struct sl_kubeconfig **ret,
                       struct sl_err *err) _must_check_;
void sl_kubeconfig_free(struct sl_kubeconfig *k);
void sl_kubeconfig_freep(struct sl_kubeconfig **k);
const char *sl_kubeconfig_server(const struct sl_kubeconfig *k);
/* The namespace of the context or of the service account; "default" if none is said. */
const char *sl_kubeconfig_namespace(const struct sl_kubeconfig *k);

struct sl_client;

/* user_agent: "sluice/0.1.0". Takes k over, also when it fails. Reads the files that k names;
 * connects when the first call asks for it. A process that has SIGPIPE at its default is made to
 * ignore it. */
int sl_client_new(struct uv_loop_s *loop, struct sl_kubeconfig *k, const char *user_agent,
                  struct sl_client **ret, struct sl_err *err) _must_check_;
/* Cancels all calls; fine at any time, also in a callback. The port is dead at once; the memory
 * goes when the loop has closed the client's handles, so the loop has to run once more. */
void sl_client_free(struct sl_client *c);
/* The port's clocks are read once per turn of the loop, before the first callback in it (and by a
 * call that comes before one): everything in a turn happens at one time. */
struct sl_port *sl_client_port(struct sl_client *c);
/* Sets port->wall and port->mono to now, for turns that begin elsewhere: a timer, another socket.
 */
void sl_client_clock(struct sl_client *c);

#endif
