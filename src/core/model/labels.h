/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels, selectors, taints, tolerations and node affinity with Kubernetes' meaning. Plain records
 * over borrowed strings; nothing here allocates except the parser, which uses the caller's arena.
 */
#ifndef SL_CORE_MODEL_LABELS_H
#define SL_CORE_MODEL_LABELS_H

#include "core/base/arena.h"
#include "core/base/err.h"

struct sl_label {
    const char *key, *value;
};

struct sl_labels {
    const struct sl_label *v;
    uint32_t n;
};

enum sl_label_op {
    SL_OP_IN,
    SL_OP_NOT_IN,
    SL_OP_EXISTS,
    SL_OP_NOT_EXISTS,
    SL_OP_GT, /* node affinity only: both sides integers */
    SL_OP_LT,
    SL_OP_COUNT,
};

struct sl_label_rule {
    const char *key;
    enum sl_label_op op;
    const char *const *values;
    uint32_t n_values;
};

/* All rules must hold. No rules: everything matches, unless 'nothing' is set (Kubernetes' null
 * selector). */
struct sl_selector {
    const struct sl_label_rule *v;
    uint32_t n;
    bool nothing;
};

enum sl_taint_effect {
    SL_TAINT_ANY,
    SL_TAINT_NO_SCHEDULE,
    SL_TAINT_PREFER_NO_SCHEDULE,
    SL_TAINT_NO_EXECUTE
};

struct sl_taint {
    const char *key, *value;
    enum sl_taint_effect effect;
};

struct sl_toleration {
    const char *key, *value;     /* empty key with 'exists': tolerates every key */
    bool exists;                 /* operator Exists; else Equal */
    enum sl_taint_effect effect; /* ANY tolerates every effect */
};

/* Required node affinity: one term must match; a term is a selector over labels. No terms: matches.
 */
struct sl_affinity {
    const struct sl_selector *terms;
    uint32_t n;
};

#define SL_SELECTOR_MAX_RULES 256
#define SL_SELECTOR_MAX_VALUES 1024

/* "In", "NotIn" ... in the order of the enum, then NULL; the same without those of node affinity.
 */
extern const char *const sl_label_op_words[SL_OP_COUNT + 1];
extern const char *const sl_selector_op_words[SL_OP_GT + 1];
/* SL_OP_COUNT: it is none. */
enum sl_label_op sl_label_op_parse(const char *word);
/* The error of a rule that has so many values, as Kubernetes words it; NULL: none. */
const char *sl_label_op_fault(enum sl_label_op op, size_t n_values);

const char *sl_labels_get(const struct sl_labels *l, const char *key);
bool sl_label_rule_matches(const struct sl_label_rule *r, const struct sl_labels *l);
bool sl_selector_matches(const struct sl_selector *s, const struct sl_labels *l);
bool sl_taint_tolerated(const struct sl_taint *t, const struct sl_toleration *v, uint32_t n);
/* "NoSchedule" ...; "" for ANY. */
const char *sl_taint_effect_name(enum sl_taint_effect e);
int sl_taint_effect_parse(const char *s, enum sl_taint_effect *ret,
                          struct sl_err *err) _must_check_;

/* The text form of kubectl -l: "a=b,c!=d,e in (x,y),f notin (z),g,!h". The result is in the
 * arena. */
int sl_selector_parse(const char *text, size_t len, struct sl_arena *a, struct sl_selector *ret,
                      struct sl_err *err) _must_check_;

#endif
