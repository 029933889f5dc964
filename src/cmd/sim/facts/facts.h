/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts as lines of JSON, for the journal: compact, and nothing is lost for any kind. Workloads are
 * named by namespace and name. The podsets of a workload are written once, in a line of their own,
 * and from then on meant by number:
 *
 *     {"at":0,"fact":"local-queue","ns":"a","name":"q","cq":"cq","weight":1000000000}
 *     {"shape":1,"podsets":[{"name":"main","count":1,"requests":[["cpu","1"]]}]}
 *     {"at":5,"fact":"workload","ns":"a","name":"w","queue":"q","shape":1,"priority":50}
 *     {"at":9,"fact":"finished","ns":"a","name":"w"}
 *
 * A field that is absent is false, 0, "" or empty; an amount may be null for "no limit". Amounts,
 * times and weights are the integers that the engine counts in, quantities are Kubernetes' text.
 */
#ifndef SL_CMD_SIM_FACTS_FACTS_H
#define SL_CMD_SIM_FACTS_FACTS_H

#include "core/base/buf.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"
#include "core/model/fact.h"
#include "lib/doc/read.h"

/* What a line has besides the fact. Strings may be NULL for "". */
struct sl_sim_fact_note {
    const char *ns, *name;                /* of the workload it is about */
    const char *tag;                      /* WORKLOAD: a tag of the caller, such as its class */
    const struct sl_podset_spec *podsets; /* WORKLOAD */
    uint32_t n_podsets;
};

/* ---- writing ---- */

/* Remembers the shapes that have been written. */
struct sl_sim_fact_writer {
    struct sl_map by_hash;
    SL_VEC(const char *) shapes; /* their texts */
    struct sl_arena arena;
    struct sl_buf scratch;
};

#define SL_SIM_FACT_MAX_SHAPES (UINT32_C(1) << 20)

void sl_sim_fact_writer_init(struct sl_sim_fact_writer *w);
void sl_sim_fact_writer_done(struct sl_sim_fact_writer *w);
/* Appends the fact's line, and before it that of its shape when it is new; each ends with '\n'. The
 * fact's own shape id is not used: equal podsets get equal numbers. note is NULL for facts that are
 * about no workload. */
void sl_sim_fact_encode(struct sl_sim_fact_writer *w, const struct sl_fact *f,
                        const struct sl_sim_fact_note *note, struct sl_buf *out);

/* ---- reading ---- */

enum sl_sim_fact_line_kind {
    SL_LINE_FACT,
    SL_LINE_SHAPE, /* taken note of; nothing to do */
    SL_LINE_OTHER, /* neither: for the caller */
};

struct sl_sim_fact_line {
    enum sl_sim_fact_line_kind kind;
    struct sl_fact fact; /* its wl is none; a workload's shape is not set */
    struct sl_sim_fact_note note;
    uint32_t shape; /* WORKLOAD: the number, counted from 1, by which its podsets were given */
};

struct sl_sim_fact_shape {
    const struct sl_podset_spec *podsets;
    uint32_t n;
};

/* Keeps the shapes that have been read. */
struct sl_sim_fact_reader {
    SL_VEC(struct sl_sim_fact_shape) shapes;
    struct sl_arena arena;
};

void sl_sim_fact_reader_init(struct sl_sim_fact_reader *r);
void sl_sim_fact_reader_done(struct sl_sim_fact_reader *r);
/* One line, already read as JSON. Everything in it is copied to rd->arena, podsets to the reader's:
 * the document may go. Errors go to rd. */
void sl_sim_fact_decode(struct sl_sim_fact_reader *r, struct sl_read *rd,
                        const struct sl_doc_node *n, struct sl_sim_fact_line *ret);

#endif
