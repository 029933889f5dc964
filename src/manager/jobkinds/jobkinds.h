/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of jobs as data. A row says where an object of a kind has what the queue needs: how it is
 * suspended, which podsets it has, when it is finished, ready and active. Rows are text
 * (kinds.yaml; docs/jobs.md has the form), and those that a user adds have the same form and the
 * same reader. What no path can say is a rule: a small file for the kinds that need it.
 *
 * Objects come from any client that may write them, and their schema may not have been checked:
 * what is absent or of another type reads as nothing, amounts are cut to what an int32 holds. Pure
 * functions of rows and objects; the rows are read-only.
 */
#ifndef SL_MANAGER_JOBKINDS_JOBKINDS_H
#define SL_MANAGER_JOBKINDS_JOBKINDS_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/err.h"

#define SL_JOBKIND_MAX_TEXT ((size_t)256 << 10) /* of rows in one text */
#define SL_JOBKIND_MAX_ROWS 32u                 /* in one text */
#define SL_JOBKIND_MAX_PATH 256u                /* bytes of a path */
#define SL_JOBKIND_MAX_STEPS 16u                /* names in a path */
#define SL_JOBKIND_MAX_WORD 253u                /* bytes of a name, a label, a value */
#define SL_JOBKIND_MAX_TESTS 8u                 /* in one list, as of 'when' */
#define SL_JOBKIND_MAX_WORDS 16u                /* in one list, as of 'in' or 'keys' */
#define SL_JOBKIND_MAX_GROUPS 8u                /* entries of podSets */
#define SL_JOBKIND_MAX_FACTORS 4u               /* of a count; and of what the least is taken */
#define SL_JOBKIND_MAX_ENDS 8u                  /* entries of finished */
#define SL_JOBKIND_MAX_PODSETS 18u              /* of one object: as many as a Workload has */
#define SL_JOBKIND_MAX_ITEMS 4096u              /* of a list or map of a status that is read */

/* What no path can say. */
enum sl_jobkind_rule {
    SL_JOBKIND_PLAIN,
    SL_JOBKIND_RAY,
    SL_JOBKIND_RAYJOB,
    SL_JOBKIND_APPWRAPPER,
    SL_JOBKIND_TRAINJOB,
    SL_JOBKIND_SPARK,
};

struct sl_jobkind_words {
    const char *const *v;
    uint32_t n;
};

/* One thing that holds or does not. */
struct sl_jobkind_test {
    enum {
        SL_JOBKIND_CONDITION, /* status.conditions has 'path' as True */
        SL_JOBKIND_VALUE,     /* the text at 'path' is one of 'words' */
        SL_JOBKIND_SET,       /* there is something at 'path', not empty */
        SL_JOBKIND_ANY,       /* an item of 'path' has a 'words' that is not 0 */
        SL_JOBKIND_SUM,       /* the sum of all 'words' of the items of 'path' is that of units */
        SL_JOBKIND_COUNT,     /* 'words' stands in at least 'other' values of 'path' */
    } kind;
    bool negated;
    const char *path, *other;
    struct sl_jobkind_words words;
};

struct sl_jobkind_tests {
    const struct sl_jobkind_test *v;
    uint32_t n;
};

/* The least of some amounts. */
struct sl_jobkind_factor {
    struct {
        const char *path;
        int32_t fallback; /* -1: not counted if it is absent */
        int32_t at_least;
    } v[SL_JOBKIND_MAX_FACTORS];
    uint32_t n;
};

/* An entry of podSets: an item of a list each, a key of a map each, or one. */
struct sl_jobkind_group {
    const char *list, *map, *at;  /* one of them */
    struct sl_jobkind_words keys; /* of the map, in the order of the podsets */
    const char *name;             /* list: path of the name; at: the name; map: NULL, the key */
    const char *template;         /* path within the item */
    const char *units; /* path of the number of jobs that the count is made of; NULL: 1 */
    const char *rank_label, *sub_label, *sub_count;           /* NULL: none; sub_count is a path */
    bool optional;                                            /* at: there may be none */
    struct sl_jobkind_factor factors[SL_JOBKIND_MAX_FACTORS]; /* the count is their product */
    uint32_t n_factors;
};

struct sl_jobkind_end {
    struct sl_jobkind_tests when;
    bool succeeded;
    const char *message; /* path; NULL: the message of the condition that is tested first */
    const char *text;    /* NULL: as above */
};

struct sl_jobkind {
    const char *framework; /* "jobset.x-k8s.io/jobset" */
    const char *group, *version, *kind, *plural;
    const char *api_version; /* "jobset.x-k8s.io/v1alpha2" */
    const char *collection;  /* "/apis/jobset.x-k8s.io/v1alpha2" */
    const char *events;      /* its events come from "<framework>-kueue-controller" */
    enum sl_jobkind_rule rule;
    const char *suspend;
    const char *managed_by, *controller; /* path, and what its own controller is called; NULL */
    const char *priority; /* path of the class that precedes those of the pods; NULL */
    const char *clears;   /* path that is removed when it starts; NULL: none */
    bool elastic;         /* may have the annotation elastic-job */
    const struct sl_jobkind_group *groups;
    uint32_t n_groups;
    const struct sl_jobkind_end *ends;
    uint32_t n_ends;
    struct sl_jobkind_tests skip, ready, active; /* all of them; n 0 of skip and active: never,
                                                    of ready: always */
    struct {
        const char *list, *name, *done; /* NULL: nothing is */
    } reclaimable;
};

/* ---- rows (row.c, find.c) ---- */

struct sl_jobkinds {
    struct sl_doc *doc;
    struct sl_arena arena;
    struct sl_jobkind *v;
    uint32_t n;
};

/* 'file' is named in messages: "kinds.yaml:12: suspend: ...". Rules are for our own rows. */
int sl_jobkinds_parse(const char *file, const char *text, size_t len, bool built_in,
                      struct sl_jobkinds **ret, struct sl_err *err) _must_check_;
void sl_jobkinds_free(struct sl_jobkinds *k);
void sl_jobkinds_freep(struct sl_jobkinds **k);
/* Those of kinds.yaml, made at the first call. */
const struct sl_jobkinds *sl_jobkinds_built_in(void);
/* NULL: there is none. */
const struct sl_jobkind *sl_jobkind_by_framework(const struct sl_jobkinds *k, const char *name);
/* By what ownerReferences say: "jobset.x-k8s.io/v1alpha2", "JobSet". */
const struct sl_jobkind *sl_jobkind_by_gvk(const struct sl_jobkinds *k, const char *api_version,
                                           const char *kind);

/* ---- podsets (podsets.c, rule_*.c) ---- */

/* How what an admission adds stands in the object. */
enum sl_jobkind_form {
    SL_JOBKIND_TEMPLATE, /* in metadata and spec of the template */
    SL_JOBKIND_INFO,     /* AppWrapper: an item of podSetInfos, with all five side by side */
    SL_JOBKIND_POD,      /* Spark: side by side in the pod's description, gates in its template */
    SL_JOBKIND_PATCH,    /* TrainJob: an item of the patches of its runtime */
};

struct sl_jobkind_pods {
    const char *name; /* in lower case */
    int32_t count;
    int32_t units;        /* jobs that the count is made of; 1 */
    yyjson_val *template; /* of its pods, with what operators add; never NULL */
    yyjson_val *base; /* where an admission is written, as it stands in the object; NULL: absent */
    const char *path; /* of the template: "spec.replicatedJobs[0].template.spec.template" */
    const char *pointer; /* JSON pointer of where an admission is written */
    enum sl_jobkind_form form;
    const char *rank_label, *sub_label; /* NULL: none */
    int32_t sub_count;                  /* -1: none */
};

struct sl_jobkind_podsets {
    struct sl_arena arena;
    struct sl_jobkind_pods v[SL_JOBKIND_MAX_PODSETS];
    uint32_t n;
    yyjson_doc *made[SL_JOBKIND_MAX_PODSETS + 1]; /* templates that stand in no object */
    uint32_t n_made;
};

/* What borrows from the object is good as long as that is. Ended with sl_jobkind_podsets_done, also
 * after an error: SL_EINVAL, with path and reason, SL_ELIMIT for too many podsets. */
int sl_jobkind_podsets_of(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                          struct sl_err *err) _must_check_;
/* The same with another object that the podsets depend on (sl_jobkind_needs); NULL: it does not
 * exist, which is SL_ENOENT. */
int sl_jobkind_podsets_with(const struct sl_jobkind *k, yyjson_val *o, yyjson_val *other,
                            struct sl_jobkind_podsets *ret, struct sl_err *err) _must_check_;
void sl_jobkind_podsets_done(struct sl_jobkind_podsets *p);
/* The object that the podsets depend on besides the job itself; false: none. */
struct sl_jobkind_need {
    bool cluster; /* it has no namespace; else it is in the job's */
    const char *kind, *name;
};
bool sl_jobkind_needs(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_need *ret);
/* Who our patch of a TrainJob's runtime is from. */
#define SL_JOBKIND_PATCH_MANAGER "kueue.x-k8s.io/manager"
/* The class of the kind's own field, else the first one of a podset; "" if there is none. */
const char *sl_jobkind_priority(const struct sl_jobkind *k, yyjson_val *o,
                                const struct sl_jobkind_podsets *p);

/* ---- state (state.c) ---- */

struct sl_jobkind_finish {
    bool finished, succeeded;
    const char *message; /* borrowed from the object or the row */
};

bool sl_jobkind_suspended(const struct sl_jobkind *k, yyjson_val *o);
/* None of ours, whatever its labels. */
bool sl_jobkind_skipped(const struct sl_jobkind *k, yyjson_val *o);
bool sl_jobkind_active(const struct sl_jobkind *k, yyjson_val *o);
bool sl_jobkind_ready(const struct sl_jobkind *k, yyjson_val *o,
                      const struct sl_jobkind_podsets *p);
struct sl_jobkind_finish sl_jobkind_finished(const struct sl_jobkind *k, yyjson_val *o);
/* spec.managedBy and its like; NULL: unset, or the kind has none. */
const char *sl_jobkind_managed_by(const struct sl_jobkind *k, yyjson_val *o);
/* Pods of each podset that are no longer needed: ret[i] of p->v[i]. False: the kind, or this
 * object, does not say. */
bool sl_jobkind_reclaimable(const struct sl_jobkind *k, yyjson_val *o,
                            const struct sl_jobkind_podsets *p,
                            int32_t ret[SL_JOBKIND_MAX_PODSETS]);

#endif
