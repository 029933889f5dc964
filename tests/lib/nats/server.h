/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real NATS servers for tests: on loopback, on free ports, in one temporary folder. They end with
 * the test, also if it crashes. A publisher that speaks the protocol over a plain socket is here,
 * too, so that the client is only on the side that is tested.
 */
#ifndef SL_TESTS_LIB_NATS_SERVER_H
#define SL_TESTS_LIB_NATS_SERVER_H

#include <sys/types.h>

#include "core/base/macros.h"

struct server {
    char name[16];
    int port, cluster_port;
    pid_t pid; /* 0: it does not run */
};

/* Is there a nats-server? */
bool servers_found(void);
/* Makes the folder; certificates, too, if they are asked for. */
void servers_begin(void);
/* Ends all servers and removes the folder. */
void servers_end(void);
const char *servers_folder(void);
/* The text of a file of the folder; freed by the caller. */
char *servers_file(const char *name);
void servers_certificates(void);
/* Runs a shell script in the folder. */
void servers_script(const char *script);

/* A server with a name and a port of its own. */
void server_init(struct server *s, const char *name);
/* Writes its configuration: besides name and address the text, which is printf's. */
void server_configure(const struct server *s, const char *fmt, ...) _printf_(2, 3);
/* Starts it, and returns when it accepts connections. */
void server_start(struct server *s);
void server_signal(const struct server *s, int number);
/* Ends it at once. */
void server_kill(struct server *s);

/* A connection that publishes; options are the fields of CONNECT, "" for none. */
int publisher_open(const struct server *s, const char *options);
void publish(int fd, const char *subject, const char *data, size_t len);
/* Returns when the server has read everything. */
void publisher_flush(int fd);

#endif
