/*
 * The memory that arenas of the controllers may take, in one list. Each of them holds what is read
 * of one object, for as long as that is decided about or, of nodes, known. An object that needs
 * more is passed over with a log line: half of it would say something else.
 */
#ifndef SL_CONTROLLERS_CEILINGS_H
#define SL_CONTROLLERS_CEILINGS_H

#include <stddef.h>

#define CEILING_NODE ((size_t)4 << 20)      /* labels, taints and amounts of a Node */
#define CEILING_OBJECT ((size_t)64 << 20)   /* a queue, a flavor, a check */
#define CEILING_POD ((size_t)64 << 20)      /* the requests of a pod */
#define CEILING_PODSETS ((size_t)256 << 20) /* all podsets of a workload, and their places */
#define CEILING_PLACES ((size_t)64 << 20)   /* the places that a workload holds */
#define CEILING_RANKS ((size_t)256 << 20)   /* places and ranks of the pods of one podset */
/* What the engine assigned, for which its own ceilings (model/specs.h) stand. */
#define CEILING_ASSIGNED ((size_t)16 << 20)

#endif
