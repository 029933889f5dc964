/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in kinds: shared by kinds/ and pod/.
 */
#ifndef SL_CLUSTER_APISERVER_KINDS_KINDS_H
#define SL_CLUSTER_APISERVER_KINDS_KINDS_H

#include "cluster/apiserver/kinds/kind.h"
#include "cluster/apiserver/kinds/words.h"
#include "core/base/collection/wordset.h"
#include "core/base/quantity.h"
#include "lib/json/mutable.h"

/* One row of the tables. */
struct sl_builtin {
    const char *group, *version, *kind, *plural;
    const char *type;                /* the schema, without the package of the group and version */
    const char *shorts, *categories; /* "po", "all": separated by commas; NULL */
    bool namespaced, status, scale;
    enum sl_verbs verbs;
    const struct sl_strategy *strategy;
    const char *const *selectable;
    const char *shares;      /* "group/plural" of a kind before it */
    const char *deprecation; /* the warning in each response; NULL */
    void (*review)(struct sl_change_in *c);
};
#define SL_V_NORMAL SL_V_ALL

/* Each ended by a row without a kind. */
extern const struct sl_builtin sl_builtin_core[], sl_builtin_batch[], sl_builtin_apps[],
    sl_builtin_misc[];

/* Is this write the first of the object? */
static inline bool sl_is_new(const struct sl_change_in *c) {
    return !c->old;
}
/* Is it a write of the object itself, not through a subresource? */
static inline bool sl_is_whole(const struct sl_change_in *c) {
    return *c->subresource == '\0';
}
/* The first object of a kind that 'pick' takes, walked in order; parsed. NULL: none. */
yyjson_doc *sl_kind_pick(struct sl_apiserver *s, const struct sl_kind *k, const char *ns,
                         bool (*pick)(yyjson_val *object, void *ctx), void *ctx);

/* ---- pod/build.c: defaults of pods and of templates ---- */
/* What holds for templates too: pull policies, empty volumes, the two names of the service account.
 */
void sl_template_defaults(yyjson_mut_doc *doc, yyjson_mut_val *pod_spec);
/* Guaranteed, Burstable or BestEffort. */
const char *sl_pod_qos(yyjson_mut_val *pod_spec);
extern const struct sl_strategy sl_pod_strategy;

/* ---- pod/check.c ---- */
enum sl_pod_place { SL_IN_POD, SL_IN_TEMPLATE, SL_IN_STATEFUL };
/* 'pod': its name, NULL in a template. 'claims': names of volumes that a StatefulSet will add;
 * NULL.
 */
void sl_pod_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       enum sl_pod_place place, const char *pod, yyjson_val *claims);
/* labels, annotations and spec of a template */
void sl_template_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tmpl,
                       enum sl_pod_place place, yyjson_val *claims);
/* An amount: not below zero, and whole where there are no parts. */
void sl_resource_value_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                             yyjson_val *v);
/* Requests, limits and their proportions. */
void sl_resources_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *resources);
void sl_tolerations_check(struct sl_field_errs *e, const struct sl_path *at,
                          yyjson_val *tolerations);
void sl_taint_effect_check(struct sl_field_errs *e, const struct sl_path *at, const char *effect,
                           bool may_be_empty);
/* ---- pod/parts.c ---- */
void sl_hooks_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                    yyjson_val *pod_spec);
void sl_container_security_check(struct sl_field_errs *e, const struct sl_path *at,
                                 yyjson_val *security);
void sl_pod_security_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
/* dnsConfig, readinessGates; hostAliases; os. */
void sl_pod_dns_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
void sl_pod_aliases_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list);
/* Ports where the network is the host's; what does not go with users of one's own. */
void sl_pod_network_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec,
                          bool in_pod);
void sl_pod_users_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
void sl_pod_os_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *os);
/* ---- pod/volumes.c ---- */
struct sl_volumes {
    struct sl_wordset claims; /* names of templates of a StatefulSet's claims */
    struct sl_wordset names;  /* of the pod: invalid ones are not in it */
    SL_VEC(yyjson_val *) known;
};
void sl_volumes_done(struct sl_volumes *s);
/* 'pod': its name, "" if it has none yet, NULL in a template. 'claims': of a StatefulSet. */
struct sl_volumes sl_volumes_check(struct sl_field_errs *e, const struct sl_path *at,
                                   yyjson_val *list, const char *pod, yyjson_val *claims);
/* volumeMounts and volumeDevices */
void sl_mounts_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                     const struct sl_volumes *s);
void sl_no_backsteps(struct sl_field_errs *e, const struct sl_path *at, const char *path);
/* ---- pod/env.c ---- */
/* Fields of a pod that may be shown. */
struct sl_shown {
    const char *paths[9];
    size_t n;
};
extern const struct sl_shown sl_shown_in_env, sl_shown_in_files;
void sl_field_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                        const struct sl_shown *shown);
/* Of a container's resources; in a file the container must be named. */
void sl_amount_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                         bool in_file);
/* env and envFrom */
void sl_env_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container);
/* Volumes that variables are read from, of all containers. */
void sl_env_files_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
/* ---- pod/placement.c ---- */
void sl_affinity_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *affinity);
void sl_spread_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *constraints);
/* Terms of node selectors. */
void sl_node_selector_check(struct sl_field_errs *e, const struct sl_path *at,
                            yyjson_val *selector);
/* Does a label selector (matchLabels, matchExpressions) take these labels? */
bool sl_selector_takes(yyjson_val *selector, yyjson_val *labels);
/* A quantity that is there and not below zero, else an error. */
bool sl_amount_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                     sl_quantity *ret);

/* ---- pod/update.c ---- */
void sl_pod_update_check(struct sl_field_errs *e, yyjson_val *old, yyjson_val *pod);

/* ---- pod/warn.c ---- */
/* Last in 'validate', if nothing was wrong and it counts as a new generation; 'path': "spec",
 * "spec.template.spec" ... */
void sl_pod_warn(struct sl_change_in *c, yyjson_val *object, const char *path);

/* ---- apps.c ---- */
/* A count or "25%", as a number; -1 with an error if it is neither. */
int64_t sl_count_or_percent(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                            bool *ret_percent);

/* ---- events.c ---- */
extern const struct sl_strategy sl_event_strategy, sl_new_event_strategy;

/* ---- quota.c ---- */
extern const struct sl_strategy sl_quota_strategy;

/* ---- node.c ---- */
extern const struct sl_strategy sl_node_strategy;

/* ---- volume.c ---- */
extern const struct sl_strategy sl_claim_strategy;
/* Of a claim, or of a template of claims. */
void sl_claim_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec);

/* ---- job_check.c ---- */
/* All but the selector, which templates of CronJobs have none of. */
void sl_job_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec);

/* ---- service.c ---- */
extern const struct sl_strategy sl_service_strategy;

/* ---- addresses.c ---- */
/* Why this is no IP address; NULL: it is one. */
const char *sl_address_fault(const char *s);
enum sl_family { SL_FAMILY_NONE, SL_FAMILY_V4, SL_FAMILY_V6 };
/* The same for "10.0.0.0/8". The family is returned if it can be parsed at all; NULL: not
 * needed. */
const char *sl_cidr_fault(const char *s, enum sl_family *ret_family);

/* ---- service_check.c ---- */
void sl_service_check(struct sl_change_in *c, yyjson_val *object);
/* Addresses, their families and the policy go together; spec, and what it was (NULL: it is new). */
void sl_service_addresses_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old);

/* ---- reviews.c ---- */
void sl_review_self_access(struct sl_change_in *c);
void sl_review_access(struct sl_change_in *c);
void sl_review_local_access(struct sl_change_in *c);
void sl_review_rules(struct sl_change_in *c);
void sl_review_self(struct sl_change_in *c);
void sl_review_token(struct sl_change_in *c);

#endif
