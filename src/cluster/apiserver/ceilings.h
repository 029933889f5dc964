/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the API server in one list. A request that exceeds one is rejected, mostly with
 * 413; see docs/limits.md. One request is processed at a time.
 */
#ifndef SL_CLUSTER_APISERVER_CEILINGS_H
#define SL_CLUSTER_APISERVER_CEILINGS_H

#include "cluster/merge/ceilings.h"
#include "cluster/schema/ceilings.h"
#include "cluster/store/ceilings.h"
#include "core/base/arena.h"

/* ---- requests and responses ---- */
#define SL_API_MAX_BODY ((size_t)3 << 20)     /* 413 beyond */
#define SL_API_MAX_SHOWN ((size_t)16 << 20)   /* by a dry run, which stores nothing; 413 beyond */
#define SL_API_MAX_DEPTH 128u                 /* of JSON and YAML */
#define SL_API_MAX_ANSWER ((size_t)1 << 30)   /* of a list */
#define SL_API_OPEN_CALLS 65536u              /* 429 beyond */
#define API_MANY_CALLS 16u                    /* of these for one that deletes a collection */
#define API_REQUEST_ARENA ((size_t)256 << 20) /* of one request */
#define API_IDLE_REQUESTS 256u                /* that keep their first block of it */
#define API_YAML_JSON ((size_t)64 << 20)      /* aliases can make a long text out of a short one */
/* Each takes libyaml about as long as 50 bytes of JSON take, and may be two bytes of the text. */
#define API_YAML_VALUES (UINT32_C(256) << 10)
#define API_PATCH_TEXT ((size_t)256 << 10)  /* what is wrong with a patch */
#define API_MESSAGE ((size_t)1 << 20)       /* of a Status */
#define API_FIRST ((size_t)4 << 10)         /* an object that the API server makes itself */
#define API_FIRST_OBJECT ((size_t)64 << 10) /* one of api/kubernetes/bootstrap.jsonl */
#define API_HEAD ((size_t)4 << 10)          /* what the stored objects of a kind begin with */
#define API_LIST_ITEMS 1024u                /* of Kubernetes' own kinds */
#define API_AMOUNTS 1024u
/* What the columns of a row may cost: so many steps, and one for each value of the object. */
#define API_ROW_STEPS 4096u
#define API_ROW_BYTES_PER_STEP 64u
#define API_ROW_ARENA ((size_t)16 << 20) /* and what its paths lead through may take */

/* ---- kinds ---- */
#define SL_API_KINDS 2048u
#define SL_CRD_MAX 1024u                 /* definitions at a time */
#define API_CRD_ARENA ((size_t)64 << 20) /* of one, besides its schemas */
#define API_DISCOVERY ((size_t)64 << 20) /* one text of all kinds */
#define API_DOCUMENTS 256u               /* of OpenAPI that are cached */
#define API_CEL_MADE ((size_t)16 << 20)  /* what one evaluation of a rule makes */

/* ---- webhooks ---- */
#define SL_REVIEW_MAX ((size_t)16 << 20) /* a review, as text */
#define API_REVIEW_ANSWER ((size_t)32 << 20)
#define API_WEBHOOK_TEXT ((size_t)4 << 20) /* a list of webhooks */

/* ---- tokens of service accounts ---- */
#define API_JWT_MAX ((size_t)16 << 10) /* bytes of one */
#define API_JWT_KNOWN 32u    /* whose signature need not be verified again; a power of 2 */
#define SL_API_AUDIENCES 64u /* of a review, that are compared */

/* ---- streams ---- */
#define API_LINES 256u                   /* of watches that are cached for other watches */
#define API_LINE_KEPT ((size_t)64 << 10) /* one of these */
#define API_LINE ((size_t)16 << 20)      /* one while it is made */
#define API_LOG_PIECE ((size_t)4 << 20)
#define API_LOG_CHUNK ((size_t)1 << 20) /* read at a time */
#define API_LOG_RECORD ((size_t)64 << 10)

/* Memory that is in use while one request is processed: the texts and values of the request, of the
 * stored object and of the result (a value of JSON is two bytes at least, and takes 16, where it is
 * changed 24); its arena; a patch; the validation of the result; a review of it; a response. */
#define API_VALUES_MEMORY                                                                          \
    ((SL_API_MAX_BODY + SL_STORE_MAX_OBJECT) * (1 + 16 / 2) + SL_API_MAX_SHOWN * (1 + 24 / 2))
#define API_PATCH_MEMORY SL_ARENA_MOST(SL_MANAGE_ARENA_BYTES) /* the others take less */
#define API_ROW_MEMORY (SL_ARENA_MOST(API_ROW_ARENA) + SL_API_MAX_SHOWN * 24 / 2)
#define API_CHECK_MEMORY (SCHEMA_IDENTITIES + SL_ARENA_MOST(2 * API_CEL_MADE))
#define API_REVIEW_MEMORY (SL_REVIEW_MAX + API_REVIEW_ANSWER + API_WEBHOOK_TEXT)
#define API_WORK_MEMORY                                                                            \
    (API_VALUES_MEMORY + API_YAML_JSON + SL_ARENA_MOST(API_REQUEST_ARENA) + API_PATCH_MEMORY +     \
     API_CHECK_MEMORY + API_REVIEW_MEMORY + API_ROW_MEMORY + SL_API_MAX_ANSWER)
_Static_assert(SL_ARENA_MOST(SL_PATCH_ARENA_BYTES) <= API_PATCH_MEMORY &&
                   SL_ARENA_MOST(SL_PATCH_PATHS_BYTES) <= API_PATCH_MEMORY,
               "a patch takes more than field management");

/* What is there between requests, besides definitions: the store, lines of watches. */
#define API_STATE_MEMORY                                                                           \
    (SL_STORE_MAX_BYTES + SL_STORE_MAX_WAITING_BYTES + API_LINES * API_LINE_KEPT + API_LINE +      \
     2 * API_DISCOVERY + SCHEMA_SET_ARENA + SCHEMA_PROTOBUF_ARENA)

#endif
