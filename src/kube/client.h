/*
 * The HTTP client behind the port: kubeconfig or service account, one libcurl multi handle on the libuv
 * loop, a pool of connections for requests and one per watch.
 */
#ifndef SL_KUBE_CLIENT_H
#define SL_KUBE_CLIENT_H

#include "base/err.h"
#include "kube/port.h"

struct uv_loop_s;

/* Where the API is and who we are there. Files named here are read again when they change (token file,
 * certificates) or run again when they expire (exec plugin). */
struct sl_kubeconfig;

/* explicit_path: --kubeconfig or NULL. Then: KUBECONFIG (a list of files, merged), the in-cluster account, the
 * user's own file. context: NULL for the current one. */
int sl_kubeconfig_load(const char *explicit_path, const char *context, struct sl_kubeconfig **ret,
                       struct sl_err *err) _must_check_;
void sl_kubeconfig_free(struct sl_kubeconfig *k);
void sl_kubeconfig_freep(struct sl_kubeconfig **k);
const char *sl_kubeconfig_server(const struct sl_kubeconfig *k);
/* The namespace of the context or of the service account; "default" if none is said. */
const char *sl_kubeconfig_namespace(const struct sl_kubeconfig *k);

struct sl_client;

/* user_agent: "sluice/0.1.0". The port's clocks are set from the loop before every callback. Takes k over. */
int sl_client_new(struct uv_loop_s *loop, struct sl_kubeconfig *k, const char *user_agent,
                  struct sl_client **ret, struct sl_err *err) _must_check_;
void sl_client_free(struct sl_client *c);
struct sl_port *sl_client_port(struct sl_client *c);
/* Sets port->wall and port->mono to now. */
void sl_client_clock(struct sl_client *c);

#endif
