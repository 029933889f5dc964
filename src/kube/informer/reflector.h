/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reflector keeps a cache equal to a collection of the API; it is the list-and-watch half of an
 * informer. It lists in pages, then watches with bookmarks from the version of the list, and lists
 * again when the server has expired that version (410 Gone) or the stream is inconsistent. A broken
 * stream is resumed from the last seen version, at once the first time, then with exponential
 * back-off and jitter. A collection that does not exist (404) is treated as empty and polled, after
 * a second at first and every 8 to 12 seconds later, so that an API which is installed later is
 * picked up.
 *
 * Level-triggered: the owner gets 'object' for anything new or changed and 'gone' for deletions;
 * during a list the owner marks what it sees, and at 'synced' it drops what it did not see. A list
 * that fails half-way is restarted: 'begin' may be called again before 'synced'. Delivery must be
 * handled idempotently: the same state may be delivered twice, and an older one shortly after a
 * list that had already shown a newer one; the last delivery is always the newest.
 *
 * The owner may not tick or free the reflector inside its callbacks. 'next' has to be evaluated
 * again after every callback of the API client.
 */
#ifndef SL_KUBE_INFORMER_REFLECTOR_H
#define SL_KUBE_INFORMER_REFLECTOR_H

#include "core/base/prng.h"
#include "kube/client/port.h"

struct yyjson_val;

struct sl_reflector_owner {
    void *ctx;
    void (*begin)(void *ctx); /* a list begins */
    /* The object exists in this state. Items of a list have no kind. */
    void (*object)(void *ctx, struct yyjson_val *o);
    void (*gone)(void *ctx, struct yyjson_val *o); /* deleted; its last state */
    void (*synced)(void *ctx, bool exists);        /* the list is whole; exists: the API is there */
};

struct sl_reflector;

/* 'path' is the collection, "/apis/batch/v1/jobs", 'query' further parameters ("labelSelector=...")
 * or "". */
struct sl_reflector *sl_reflector_new(struct sl_kube_client *client, const char *path,
                                      const char *query, const struct sl_reflector_owner *owner,
                                      uint64_t seed);
/* Requests only the metadata of each object. Must be called before the first tick. */
void sl_reflector_metadata_only(struct sl_reflector *r);
void sl_reflector_free(struct sl_reflector *r);
/* Has a list ever been completed (a missing API counts)? */
bool sl_reflector_synced(const struct sl_reflector *r);
/* The version up to which everything was delivered: inside 'synced' that of the list, "" if the API
 * does not exist. */
const char *sl_reflector_version(const struct sl_reflector *r);
/* Does what is due at port->mono. Cheap when nothing is. */
void sl_reflector_tick(struct sl_reflector *r);
/* When 'tick' must be called again (mono); SL_TIME_NEVER if only a response can make progress. */
sl_time sl_reflector_next(const struct sl_reflector *r);

/* What went wrong last, in one line ("list: 403: jobs.batch is forbidden: ..."); "" while all is
 * well. */
#define SL_REFLECTOR_ERROR_TEXT 240
const char *sl_reflector_error(const struct sl_reflector *r);
/* The HTTP status of it; 0: no response, or one that is malformed. */
int sl_reflector_error_status(const struct sl_reflector *r);

struct sl_reflector_stats {
    uint64_t lists, watches, events, bytes, errors;
    uint64_t skipped; /* objects that are too large for any page */
};
void sl_reflector_stats(const struct sl_reflector *r, struct sl_reflector_stats *ret);

#endif
