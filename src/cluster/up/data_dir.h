/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data directory of `sluice up`: objects, CA, token, kubeconfig. All of it is accessible to its
 * owner only. Existing files are reused, so that a kubeconfig stays valid after a restart. Private
 * to src/cluster/up.
 *
 * Write access to the token is access to the cluster, and so to the account that runs it. Directory
 * and files must therefore be owned by us and writable by nobody else, and secrets readable by
 * nobody else; otherwise they are refused with a remedy. Files are opened relative to the
 * descriptor of the directory, and no symbolic link is followed.
 */
#ifndef SL_CLUSTER_UP_DATA_DIR_H
#define SL_CLUSTER_UP_DATA_DIR_H

#include "lib/http/cert.h"

#define SL_TOKEN_TEXT 65u

struct up_data_dir {
    char *dir;
    char *objects;    /* the file of the store */
    char *pods;       /* directory of the runtime */
    char *kubeconfig; /* a file */
    struct sl_cert ca;
    char token[SL_TOKEN_TEXT];
    char *token_key; /* PEM: it signs the tokens of service accounts */
    int fd, lock;    /* the directory; the lock in it, held until up_data_dir_done */
};

/* dir NULL: $XDG_DATA_HOME/sluice or ~/.local/share/sluice. Creates what is missing. SL_EEXIST: in
 * use by another process. */
int up_data_dir_open(const char *dir, sl_time now, struct up_data_dir *ret,
                     struct sl_err *err) _must_check_;
void up_data_dir_done(struct up_data_dir *h);
/* For loopback, the names that pods know the API by, and 'host'; "" or "0.0.0.0": every address of
 * this machine. */
int up_data_dir_certificate(const struct up_data_dir *h, const char *host, sl_time now,
                            struct sl_cert *ret, struct sl_err *err) _must_check_;
#define UP_DATA_DIR_CERT_LIFE (INT64_C(365) * 24 * SL_HOUR)
int up_data_dir_write_kubeconfig(const struct up_data_dir *h, const char *server,
                                 struct sl_err *err) _must_check_;

#endif
