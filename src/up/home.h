/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that `sluice up` lives in: the objects, the authority of its certificates, the token,
 * the kubeconfig. All of it is for its owner alone. What is there is kept, so that a kubeconfig
 * goes on working after a restart. Private to src/up.
 *
 * Whoever can put a token there has the cluster, and with it the account of whoever started it. So
 * folder and files must be ours, and nobody else's to write, and what is secret nobody else's to
 * read; else they are refused with the way out. Files are opened by the folder's descriptor, and no
 * link is followed.
 */
#ifndef SL_UP_HOME_H
#define SL_UP_HOME_H

#include "httpd/cert.h"

#define SL_TOKEN_TEXT 65u

struct sl_home {
    char *dir;
    char *objects;    /* the file of the store */
    char *pods;       /* the runtime's folder */
    char *kubeconfig; /* a file */
    struct sl_cert ca;
    char token[SL_TOKEN_TEXT];
    int fd, lock; /* the folder; the lock in it, held until sl_home_done */
};

/* dir NULL: $XDG_DATA_HOME/sluice or ~/.local/share/sluice. Makes what is missing. SL_EEXIST:
 * another process lives there. */
int sl_home_open(const char *dir, sl_time now, struct sl_home *ret,
                 struct sl_err *err) _must_check_;
void sl_home_done(struct sl_home *h);
/* For loopback, the names that pods know the API by, and 'host'; "" or "0.0.0.0": every address of
 * this machine. */
int sl_home_certificate(const struct sl_home *h, const char *host, sl_time now, struct sl_cert *ret,
                        struct sl_err *err) _must_check_;
#define SL_HOME_CERT_LIFE (INT64_C(365) * 24 * SL_HOUR)
int sl_home_write_kubeconfig(const struct sl_home *h, const char *server,
                             struct sl_err *err) _must_check_;

#endif
