/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exec session of a container: a command that is run in it (kubectl exec), or its main process
 * (kubectl attach). The runtime implements it, the API server connects it to the client.
 */
#ifndef SL_KUBE_TYPES_EXEC_SESSION_H
#define SL_KUBE_TYPES_EXEC_SESSION_H

#include <stdbool.h>
#include <stddef.h>

struct sl_exec_session_spec {
    const char *ns, *pod, *uid, *container;
    const char *const *argv; /* NULL-terminated; NULL: attach */
    bool in, out, err;       /* requested streams */
    bool tty;                /* a terminal: what would be on stderr comes as stdout */
};

/* Called from the loop, never inside a call of the listener, and never after it closed. */
struct sl_exec_session_events {
    void (*output)(void *ctx, bool is_err, const char *bytes, size_t len);
    void (*writable)(void *ctx); /* input is taken again */
    /* The last of all, after all output. 'why': NULL, or why it could not be run. */
    void (*ended)(void *ctx, int code, const char *why);
};

#endif
