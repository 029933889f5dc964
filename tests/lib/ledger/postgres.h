/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real PostgreSQL server for tests: on loopback and a socket, on a free port, in a temporary
 * folder. It ends with the thread that started it, also if the test crashes. Its user "sluice" has
 * the password PG_PASSWORD over TCP, with TLS or without, and may do everything.
 */
#ifndef SL_TESTS_LIB_LEDGER_POSTGRES_H
#define SL_TESTS_LIB_LEDGER_POSTGRES_H

#include <sys/types.h>

#include "core/base/macros.h"

#define PG_PASSWORD "ge%heim/1"
#define PG_PASSWORD_URL "ge%25heim%2F1"

/* Is PostgreSQL installed? */
bool pg_found(void);
/* Makes the folder and the database cluster, and starts the server. */
void pg_begin(void);
/* Ends it and removes the folder. */
void pg_end(void);
void pg_start(void);
/* At once, with all of its processes, as a machine that loses them. */
void pg_kill(void);
/* To all of its processes. */
void pg_signal(int number);
int pg_port(void);
const char *pg_folder(void);

/* A URL of a database; the options may be "". Valid until the second next call. */
const char *pg_url(const char *database, const char *options);
/* A database of its own, with that encoding. */
void pg_create(const char *database, const char *encoding);
/* Runs statements; all rows of the last, columns with '|' between and rows with newlines, NULL as
 * "-". Valid until the next. */
const char *pg_query(const char *database, const char *sql);
int64_t pg_number(const char *database, const char *sql);
/* What psql prints, unaligned. Valid until the next. */
const char *pg_psql(const char *database, const char *command);

#endif
