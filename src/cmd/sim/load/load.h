/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load generator file: which queues there are and which work arrives when. docs/simulation.md
 * describes the format; Kueue's own generator files (test/performance/scheduler/configs) are read
 * as well.
 *
 * Reading expands counts and names and leaves two lists: the facts that are true at time 0, and the
 * streams of workloads. Counts are checked against ceilings before anything is allocated for them.
 */
#ifndef SL_CMD_SIM_LOAD_LOAD_H
#define SL_CMD_SIM_LOAD_LOAD_H

#include "cmd/sim/sim.h"
#include "lib/doc/read.h"

#define SL_LOAD_MAX_QUEUES 100000u
#define SL_LOAD_MAX_STREAMS 1000000u
#define SL_LOAD_MAX_CLASSES 1000u /* in one list */
#define SL_LOAD_MAX_WORKLOADS UINT64_C(5000000)
#define SL_LOAD_MAX_BYTES ((size_t)2 << 30) /* of the arena */

/* A kind of work. */
struct sl_load_class {
    const char *name;
    uint32_t line;
    uint64_t count; /* per queue */
    sl_span start, interval, runtime;
    int32_t priority;
    const struct sl_podset_spec *podsets;
    uint32_t n_podsets;
};

/* One class arriving at one LocalQueue. */
struct sl_load_stream {
    const char *ns, *queue;
    const struct sl_load_class *klass;
    uint32_t first; /* number in the name of its first workload */
    /* while it runs */
    uint32_t next;
    struct sl_sim_wl_note note;
    sl_shape_id shape;
};

struct sl_load {
    struct sl_doc *doc;
    struct sl_arena arena;
    const char *file, *description;
    sl_span eviction_delay;
    bool pods_ready; /* the configuration waits for pods */
    SL_VEC(struct sl_fact) facts;
    SL_VEC(struct sl_load_stream) streams;
    uint64_t total;                      /* workloads */
    char name[SL_MAX_NAME + 1], uid[24]; /* of the workload in hand */
};

int sl_load_read(const char *file, struct sl_load **ret, struct sl_err *err) _must_check_;
/* From a document, which is taken over if all is well. */
int sl_load_decode(struct sl_doc *d, struct sl_load **ret, struct sl_err *err) _must_check_;
void sl_load_free(struct sl_load *l);
void sl_load_freep(struct sl_load **l);

/* Adds the queues to the world and prepares the streams; then 'ret' feeds a simulation. */
int sl_load_begin(struct sl_load *l, struct sl_world *w, struct sl_sim_source *ret,
                  struct sl_err *err) _must_check_;
/* Gives back what the streams hold of the engine. */
void sl_load_end(struct sl_load *l, struct sl_world *w);

/* ---- the reader's parts ---- */

struct sl_load_reader {
    struct sl_load *load;
    struct sl_read rd;
    const struct sl_load_class *classes; /* of the whole file */
    uint32_t n_classes;
    uint32_t n_queues;
    struct sl_syms names; /* kind/name of what exists already */
};

/* A ClusterQueue, its namespace and its LocalQueue, all of one name, with the work it gets. */
void sl_load_add_queue(struct sl_load_reader *r, uint32_t line, const char *name,
                       const char *cohort, const struct sl_cq_spec *spec,
                       const struct sl_load_class *classes, uint32_t n_classes);
/* "name", or "name-i" if there are several (counted) of it. */
const char *sl_load_number(struct sl_load_reader *r, const char *name, bool counted, uint32_t i);
/* One cohort entry in Kueue's own form. */
void sl_load_read_kueue(struct sl_load_reader *r, const struct sl_doc_node *cohort);

#endif
