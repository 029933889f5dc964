/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the ledger in one list; docs/limits.md says what happens beyond them. */
#ifndef SL_LIB_LEDGER_CEILINGS_H
#define SL_LIB_LEDGER_CEILINGS_H

#include "core/base/time.h"

/* Events in memory, those included that are being written. */
#define SL_LEDGER_MAX_QUEUED 16384u
#define SL_LEDGER_MAX_QUEUED_BYTES ((size_t)16 << 20)
/* All of it: events, SQLite's pages, what is copied, and libpq. */
#define SL_LEDGER_MEMORY (SL_LEDGER_MAX_QUEUED_BYTES + ((size_t)8 << 20))
/* One transaction of the local file; one of the server. */
#define SL_LEDGER_MAX_COMMIT 4096u
#define SL_LEDGER_MAX_COPY 512u
#define SL_LEDGER_MAX_COPY_BYTES ((size_t)1 << 20)
/* Pages of the spool: two million events of 500 bytes. */
#define SL_LEDGER_MAX_SPOOL_BYTES ((int64_t)1 << 30)
#define SL_LEDGER_MIN_SPOOL_BYTES ((int64_t)1 << 18)
/* Finished jobs that one transaction removes. */
#define SL_LEDGER_MAX_EXPIRED 200

/* Bytes of a text. An uid is refused beyond, resources are replaced, all others cut. */
#define SL_LEDGER_MAX_UID 128u
#define SL_LEDGER_MAX_NAME 253u
#define SL_LEDGER_MAX_MESSAGE 4096u
#define SL_LEDGER_MAX_LIST 65536u /* nodes, resources */
#define SL_LEDGER_MAX_URL 4096u   /* of the database; also of a path */
#define SL_LEDGER_MAX_SECRETS 4u  /* passwords of a URL that messages are searched for */

/* A server that has not answered a transaction by then has failed, or with more bytes. */
#define SL_LEDGER_ANSWER (30 * SL_SEC)
#define SL_LEDGER_MAX_ANSWER ((size_t)2 << 20)
/* The server gives a statement up before that, such as one that waits for a lock: else each attempt
 * would leave one of its processes waiting. */
#define SL_LEDGER_STATEMENT (25 * SL_SEC)
/* To connect to one host, if the URL does not say; and at most. Seconds. */
#define SL_LEDGER_CONNECT_SECONDS 5
#define SL_LEDGER_MAX_CONNECT_SECONDS 60
/* Between attempts, for the server and for the local file. */
#define SL_LEDGER_LEAST_PAUSE (100 * SL_MSEC)
#define SL_LEDGER_MOST_PAUSE (15 * SL_SEC)
#define SL_LEDGER_MOST_FILE_PAUSE (2 * SL_SEC)
/* How often finished jobs are looked for that are too old. */
#define SL_LEDGER_EXPIRY (30 * SL_SEC)
/* Another program holds the lock of the file. */
#define SL_LEDGER_BUSY_MS 250
/* Closing waits so long for a name lookup, and then goes on without its thread. */
#define SL_LEDGER_CLOSE (1 * SL_SEC)

#endif
