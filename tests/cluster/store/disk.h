/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that can lose its power, under everything that this process writes into one folder. The
 * calls of the C library that write, sync, create and remove are replaced (in the executable, so
 * that SQLite's go here too); they are carried out in the page cache, that is on real files, and
 * recorded. What a sync has reached is durable. The folder as it may be found after a power loss at
 * any moment of the record can be made as often as one likes: with all that was durable then, and
 * of the rest any part, down to sectors.
 *
 * A sync that fails loses a part of what it was for, for good: the next one knows nothing of it.
 * Moments are numbers: each call and each disk_now is one.
 */
#ifndef SL_TESTS_CLUSTER_STORE_DISK_H
#define SL_TESTS_CLUSTER_STORE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/prng.h"

/* What is in the folder now is durable, and the record begins. */
void disk_begin(const char *dir, uint64_t seed);
/* The record goes, and nothing is recorded any more. */
void disk_end(void);
/* A moment of its own. */
uint64_t disk_now(void);

enum disk_fault {
    DISK_NONE,
    DISK_WRITE_EIO,    /* nothing is written */
    DISK_WRITE_ENOSPC, /* nothing is written */
    DISK_WRITE_SHORT,  /* a part of it is, and the rest finds no room */
    DISK_SYNC_EIO,     /* a part is lost for good */
    DISK_FOLDER_EIO,   /* the sync of the folder fails, and its names are not durable */
    DISK_CUT_EIO,      /* a file is not cut */
    DISK_FAULTS,
    DISK_SYNC_DIE, /* as DISK_SYNC_EIO, and the process is killed before it can do anything */
};
/* The n-th call of its kind from now fails, and so do 'more' after it; at most one fault at a time.
 */
void disk_fail(enum disk_fault what, uint64_t n, uint64_t more);
/* How often it has struck since. */
uint64_t disk_struck(void);
/* As if the process were killed at the n-th call from now: no call has an effect any more. */
void disk_die(uint64_t n);
bool disk_dead(void);
/* A new process: calls have effects again, and none fail. */
void disk_again(void);

/* One of those after 'begin'; those at which names or durability change are more likely. */
uint64_t disk_moment(uint64_t begin, struct sl_prng *p);
/* Makes the folder as it may be after a power loss at that moment. */
void disk_after(uint64_t moment, struct sl_prng *p, const char *dir);

struct disk_stats {
    uint64_t writes, syncs, folder_syncs;
    uint64_t lost, torn; /* writes that were not there after a power loss; those there in part */
    uint64_t unnamed;    /* files that were not there */
};
void disk_stats(struct disk_stats *ret); /* since the program began */

#endif
