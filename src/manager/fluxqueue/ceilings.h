/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings and pauses of the queue on the graph, besides those of jobspec.h. */
#ifndef SL_MANAGER_FLUXQUEUE_CEILINGS_H
#define SL_MANAGER_FLUXQUEUE_CEILINGS_H

#include "core/base/time.h"

#define FQ_MAX_LABELS 256u                  /* of a node; one with more is ignored */
#define FQ_MAX_NODE_TAINTS 64u              /* of a node, that keep pods away */
#define FQ_MAX_OLD_NAMES 8192u              /* of labels in a graph, and as many as it had */
#define FQ_MAX_RESOURCES 64u                /* of a node or a pod */
#define FQ_MAX_NODE ((size_t)1 << 20)       /* a node while it is decoded */
#define FQ_MAX_LIMITS ((size_t)4 << 20)     /* a LimitRange, and a pod with what it adds */
#define FQ_MAX_COMPILE ((size_t)4 << 20)    /* a jobspec while it is compiled */
#define FQ_MAX_USAGE_TEXT ((size_t)1 << 20) /* requests of a pod */
#define FQ_MAX_MESSAGE 1024u
#define FQ_MAX_NAME 253u     /* of an object, where others wrote it; a longer one is none */
#define FQ_MAX_LISTED 10000u /* nodes of a job in its status, as its schema has it */
#define FQ_MAX_LIST ((size_t)1 << 20) /* bytes of them there: with more it is refused */
#define FQ_MAX_SHOWN 256u             /* bytes of nodes in a column */
#define FQ_MAX_RESIZES 16u            /* free places that are tried for a pod of another size */
#define FQ_MAX_RUNS 16u               /* passes of the queue in one turn */
#define FQ_END (INT64_C(1) << 40)     /* of the graph's time, seconds */
#define FQ_MAX_ASKS 64u               /* requests of podsets that are kept compiled */
#define FQ_MAX_POSITION 1000u         /* jobs further behind are not told their places */
#define FQ_MAX_PORTS 32u   /* different host ports that jobs ask for; each is a pool of all nodes */
#define FQ_PORT_AGE 2u     /* graphs that have a port for which no Workload asked again */
#define FQ_MAX_LATER 64u   /* times that are tried for several podsets of a Workload */
#define FQ_MAX_RETRIES 64u /* rejected jobs that are tried again at once, or fewer */
#define FQ_MAX_JUDGED 16u  /* waiting jobs that are looked at at once: are they possible? */
#define FQ_MAX_FILLS 64u   /* nodes that get back what they have lost, in one turn of a job */
#define FQ_MAX_SPECIALS 16u  /* pods with claims of their own, the same */
#define FQ_MAX_SPLIT 100000u /* steps to find which slots are on which node */

#define FQ_REBUILD_PAUSE (100 * SL_MSEC) /* between two graphs: nodes come in bursts */
#define FQ_REBUILD_SHARE 4               /* the same, in times of what the last one took */
#define FQ_REBUILD_LONGEST (4 * SL_SEC)  /* that is waited so: nothing is decided meanwhile */
#define FQ_POSITION_PAUSE (5 * SL_SEC)   /* between two writes of places in the queue */
#define FQ_ESTIMATE_PAUSE SL_MINUTE      /* of starts that move, as all do while a job overruns */
#define FQ_OWNER_LATE (10 * SL_SEC)      /* the watch of an owner may be behind */
#define FQ_GROW_PAUSE (2 * SL_SEC)       /* until a job that found no more is tried again */
#define FQ_FULL_PAUSE SL_MINUTE          /* until one that found the queue full is */
#define FQ_RETRY_PAUSE (100 * SL_MSEC)   /* until the next of the rejected jobs are */
#define FQ_RETRY_SHARE 4                 /* the same, in times of what the last ones took */
#define FQ_RETRY_LONGEST (4 * SL_SEC)    /* that is waited so */
#define FQ_RETRY_TURN (50 * SL_MSEC)   /* that they are to take: nobody else is served meanwhile */
#define FQ_JUDGE_PAUSE SL_SEC          /* between two times that all in the queue are asked of */
#define FQ_TELL_AFTER SL_SEC           /* a plain pod that waits so long is told why */
#define FQ_LEDGER_PAUSE (50 * SL_MSEC) /* until the ledger is looked at again */
#define FQ_LEDGER_ROOM SL_SEC          /* the same, when it had no room */
#define FQ_RELEASED_LATE SL_MINUTE     /* a pod without a Workload that is not deleted then stays */
#define FQ_LEDGER_PATIENCE (5 * SL_SEC) /* of a FluxJob that is to go, with the ledger */

#endif
