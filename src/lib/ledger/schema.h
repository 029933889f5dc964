/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema and the statements of the ledger: the files of sql/, the same for SQLite and
 * PostgreSQL. What the two write differently, and what is repeated, stands in braces there and is
 * replaced by the table in schema.c.
 *
 * A schema has a version, in the table sluice_schema: the number of steps that were applied.
 */
#ifndef SL_LIB_LEDGER_SCHEMA_H
#define SL_LIB_LEDGER_SCHEMA_H

#include "core/base/embedded.h"
#include "core/base/macros.h"

#define LEDGER_STEPS 2u
#define LEDGER_SPOOL_STEPS 1u

enum ledger_dialect { LEDGER_SQLITE, LEDGER_POSTGRES };

/* A template in the words of a database; freed by the caller. */
char *ledger_sql(enum ledger_dialect d, const char *template);
/* A file of sql/ as a template. */
const char *ledger_sql_file(const char *name);

/* Statements that are too short for a file. */
#define LEDGER_SQL_VERSION                                                                         \
    "CREATE TABLE sluice_schema(version BIGINT NOT NULL); INSERT INTO sluice_schema VALUES (0)"
#define LEDGER_SQL_SPOOL_PUT "INSERT INTO spool({columns}) VALUES ({values})"
#define LEDGER_SQL_SPOOL_GET "SELECT {columns}, seq FROM spool WHERE seq > ?1 ORDER BY seq LIMIT ?2"
#define LEDGER_SQL_SPOOL_DELETE "DELETE FROM spool WHERE seq <= ?1"
/* Jobs that ended before ?1, with their events. */
#define LEDGER_SQL_EXPIRE_EVENTS "DELETE FROM events WHERE uid IN ({old})"
#define LEDGER_SQL_EXPIRE_JOBS "DELETE FROM job_state WHERE uid IN ({old})"

extern const struct sl_embedded ledger_sql_files[];
extern const size_t ledger_sql_files_n;

#endif
