/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the runtime in one list. What exceeds one is rejected, with a message that the pod,
 * the client or the log shows, or is delayed; nothing is dropped silently. Those that callers see
 * are in kubelet.h: nodes, sessions.
 */
#ifndef SL_CLUSTER_KUBELET_LIMITS_H
#define SL_CLUSTER_KUBELET_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* ---- nodes ---- */
#define RT_MAX_FOREIGN_NODES 10000u /* Nodes of others that are treated as simulated */

/* ---- one pod ---- */
#define RT_MAX_CONTAINERS 1024           /* is in a message, too */
#define RT_MAX_REFS 256u                 /* ConfigMaps and Secrets that it names */
#define RT_MAX_STATUS ((size_t)4 << 20)  /* bytes of its status */
#define RT_MAX_FOREIGN ((size_t)3 << 20) /* conditions of others; an object is no larger */
#define RT_MAX_SCRIPT ((size_t)64 << 10) /* of a simulated one: parsed, of a shell script */
#define STARTS_AT_ONCE 8                 /* in one iteration, so that others are not starved */
#define RT_MESSAGE ((size_t)4096)        /* of a termination message; from logs half of it */
#define RT_MESSAGES ((size_t)12 << 10)   /* of all its containers, as with a kubelet */

/* ---- its volumes ---- */
#define MAX_FILE ((size_t)16 << 20)         /* memory for one file while it is made */
#define MAX_WRITTEN ((size_t)64 << 20)      /* what all are filled with */
#define FILE_COSTS 4096u                    /* of that, besides its bytes: files are not free */
#define MAX_VOLUME_PATHS ((size_t)64 << 10) /* memory for the paths of one volume */
#define RT_MAX_DEPTH 64                     /* of directories removed at once; deeper ones follow */

/* ---- one container: what it is started with ---- */
#define RT_MAX_VALUE ((size_t)128 << 10) /* of one variable: what Linux takes */
#define RT_MAX_ALL ((size_t)2 << 20)     /* of all */
#define RT_MAX_MAP ((size_t)16 << 20)  /* labels or annotations, as the downward API writes them */
#define MAX_LAUNCH ((size_t)128 << 20) /* memory while it is built; a quarter for arguments */
#define RT_MAX_ARGS ((size_t)4 << 20)  /* of an exec command, and bytes of each */
#define RT_MAX_TRIES 256u              /* directories of PATH */
#define LAUNCH_GROUPS 64u
/* Memory of its supervisor. Linux allows 6 MiB of arguments and variables; the rest is for mount
 * points and search paths. */
#define SPEC_MAX_BYTES ((size_t)16 << 20)
#define SPEC_MAX_ARENA (4 * SPEC_MAX_BYTES) /* pointers to what may be no more than bytes */

/* ---- its root and its cgroup ---- */
#define RT_MAX_ENTRIES 4096 /* of a directory that is covered to create a mount point in it */
#define RT_MAX_COVERS 64    /* that are remembered as ours; beyond it one is covered again */
#define RT_MAX_LINKS 40u    /* on the way to a mount point or a hostPath, as with Linux */
#define CGROUP_PIDS 8192u

/* ---- output and input ---- */
#define LOG_LINE ((size_t)16 << 10)
#define LOG_FILE ((uint64_t)10 << 20)
#define LOG_READ ((size_t)256 << 10)   /* handed out at a time */
#define LOG_TEXT ((size_t)64 << 20)    /* of a chunk: 64 KiB of newlines are 41 times as much */
#define LOG_TAIL ((size_t)4 << 10)     /* read for a termination message */
#define RT_CHUNK ((size_t)64 << 10)    /* read from a process at a time */
#define OUTPUT_SHARE ((size_t)8 << 10) /* of that, from a stream in one iteration of the loop */
#define KILL_TIMEOUT_MS 5000u          /* ms for a supervisor that is to kill all */
#define ORPHANS_EVERY 20u              /* ms, while there are some */
#define PROC_DRAIN ((size_t)4 << 20)   /* of a stream, read after its end; a pipe holds less */
#define INPUT_HIGH_WATER ((size_t)64 << 10) /* queued: backpressure on the sender */
#define INPUT_MAX ((size_t)16 << 20)        /* from a sender that ignores it */

/* ---- exec and attach sessions ---- */
#define ATTACH_BUFFER ((size_t)256 << 10) /* of output while the listener is slow */
/* Output of a command is not read meanwhile: what arrives is the rest of an iteration, and the last
 * output. */
#define EXEC_BUFFER (4 * PROC_DRAIN)

/* ---- requests to the API ---- */
#define RT_IN_FLIGHT 128u
#define EVENT_BURST 25
#define EVENTS_PER_SECOND 5
#define RT_MAX_PROBE_REQUEST ((size_t)64 << 10) /* an HTTP probe, as text */
#define RT_MAX_EVENT ((size_t)32 << 10)         /* an event, as text */
#define RT_MAX_NODE ((size_t)256 << 10)         /* a Node of ours, as text */

#endif
