/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a run: every fact that went in and every effect that came out, as JSON lines, so
 * that the run can be decided again and compared.
 *
 *     {"sluice_journal":1,"program":"sluice 0.1.0","source":"sample.yaml","eviction_delay":"0s"}
 *     {"at":1000,"fact":"workload","ns":"a",...}          what became true (cmd/sim/facts/facts.h)
 *     {"cycle":1000,"effects":2,"digest":"1f0c..."}       a decision, and the digest after it
 *     {"effect":"Reserve","wl":"ns/job","cq":"q",...}     one line for each effect of the cycle
 *     {"end":{"facts":5,"cycles":3,"digest":"77aa..."}}
 *
 * Writing goes to FILE.partial, which becomes FILE when the run has ended well. Lines are bounded;
 * reading keeps one line in memory.
 */
#ifndef SL_CMD_SIM_JOURNAL_JOURNAL_H
#define SL_CMD_SIM_JOURNAL_JOURNAL_H

#include "cmd/sim/world.h"
#include "core/base/buf.h"

#define SL_JOURNAL_VERSION 1
#define SL_JOURNAL_MAX_LINE ((size_t)8 << 20)

struct sl_journal_head {
    const char *source;
    sl_span eviction_delay;
    bool pods_ready;            /* the simulation reports readiness by itself */
    const char *const *classes; /* in the order of reports */
    uint32_t n_classes;
};

#define SL_JOURNAL_MAX_CLASSES 4096u

/* ---- writing ---- */

struct sl_journal;

int sl_journal_create(const char *path, const struct sl_journal_head *h, struct sl_journal **ret,
                      struct sl_err *err) _must_check_;
/* The engine has the names of ids; note only with a workload. */
int sl_journal_fact(struct sl_journal *j, const struct sl_engine *e, const struct sl_fact *f,
                    const struct sl_sim_wl_note *note, struct sl_err *err) _must_check_;
/* The same with the names at hand; podsets and tag (its class) only with a workload. */
int sl_journal_fact_about(struct sl_journal *j, const struct sl_fact *f, const char *ns,
                          const char *name, const char *tag, const struct sl_podset_spec *podsets,
                          uint32_t n_podsets, struct sl_err *err) _must_check_;
int sl_journal_cycle(struct sl_journal *j, sl_time now, uint64_t digest, const struct sl_effects *x,
                     struct sl_err *err) _must_check_;
/* Writes the last line and gives the file its name. */
int sl_journal_close(struct sl_journal *j, uint64_t facts, uint64_t cycles, uint64_t digest,
                     struct sl_err *err) _must_check_;
/* Without a close before, what was written stays behind as FILE.partial. */
void sl_journal_free(struct sl_journal *j);
void sl_journal_freep(struct sl_journal **j);

/* The line of one effect, without its end. */
void sl_journal_effect(struct sl_buf *b, const struct sl_effect *x);

/* ---- reading ---- */

enum sl_journal_record_kind {
    SL_JOURNAL_RECORD_FACT,
    SL_JOURNAL_RECORD_CYCLE,
    SL_JOURNAL_RECORD_EFFECT,
    SL_JOURNAL_RECORD_END
};

struct sl_journal_record {
    enum sl_journal_record_kind kind;
    uint32_t line;
    /* FACT: strings live until the next record */
    struct sl_fact fact;                  /* its wl and shape are 0: see the names below */
    const char *ns, *name;                /* of the workload it is about; NULL: about none */
    const char *class_name;               /* WORKLOAD: NULL if it has none */
    const struct sl_podset_spec *podsets; /* WORKLOAD; live as long as the reader */
    uint32_t n_podsets;
    uint32_t shape; /* WORKLOAD: number of its podsets in this journal, counted from 1 */
    /* CYCLE, END */
    sl_time at;
    uint64_t digest;
    uint64_t n; /* effects of the cycle; facts of the whole */
    uint64_t cycles;
    /* EFFECT */
    const char *text; /* the line */
};

struct sl_journal_reader;

/* Reads the first line too. head's strings live as long as the reader. */
int sl_journal_open(const char *path, struct sl_journal_reader **ret, struct sl_journal_head *head,
                    struct sl_err *err) _must_check_;
/* 1: a record; 0: the end of the file, after an END record; negative: file:line and what is wrong.
 */
int sl_journal_next(struct sl_journal_reader *r, struct sl_journal_record *ret,
                    struct sl_err *err) _must_check_;
/* How far the reading is, in bytes. */
void sl_journal_position(const struct sl_journal_reader *r, uint64_t *ret_done,
                         uint64_t *ret_total);
void sl_journal_reader_free(struct sl_journal_reader *r);
void sl_journal_reader_freep(struct sl_journal_reader **r);

#endif
