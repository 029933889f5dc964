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
struct api_builtin {
    const char *group, *version, *kind, *plural;
    /* Another version that is served, and how objects become one of the other; NULL. */
    const char *older;
    yyjson_mut_val *(*convert)(yyjson_val *object, const char *api_version, yyjson_mut_doc *doc);
    const char *type;                /* the schema, without the package of the group and version */
    const char *shorts, *categories; /* "po", "all": separated by commas; NULL */
    bool namespaced, status, scale;
    enum api_verbs verbs;
    const struct api_strategy *strategy;
    const char *const *selectable;
    const char *shares;      /* "group/plural" of a kind before it */
    const char *deprecation; /* the warning in each response; NULL */
    void (*review)(struct api_change *c);
};

/* Each ended by a row without a kind. */
extern const struct api_builtin api_builtin_core[], api_builtin_batch[], api_builtin_apps[],
    api_builtin_misc[], api_builtin_networking[], api_builtin_storage[], api_builtin_autoscaling[],
    api_builtin_resource[], api_builtin_certificates[], api_builtin_flowcontrol[],
    api_builtin_policies[], api_builtin_aggregation[];

/* Is this write the first of the object? */
static inline bool api_change_is_create(const struct api_change *c) {
    return !c->old;
}
/* Is it a write of the object itself, not through a subresource? */
static inline bool api_change_is_object(const struct api_change *c) {
    return *c->subresource == '\0';
}
/* For 'prepare': a write of the status leaves the metadata alone. */
void api_status_keeps_meta(struct api_change *c);
/* The first object of a kind that 'pick' takes, walked in order; parsed. NULL: none. */
yyjson_doc *api_kind_pick(struct sl_apiserver *s, const struct api_kind *k, const char *ns,
                          bool (*pick)(yyjson_val *object, void *ctx), void *ctx);

/* ---- pod/build.c: defaults of pods and of templates ---- */
/* What holds for templates too: pull policies, empty volumes, the two names of the service account.
 */
void api_template_defaults(yyjson_mut_doc *doc, yyjson_mut_val *pod_spec);
/* Guaranteed, Burstable or BestEffort. */
const char *api_pod_qos(yyjson_mut_val *pod_spec);
extern const struct api_strategy api_pod_strategy;

/* ---- pod/check.c ---- */
enum api_pod_place { SL_IN_POD, SL_IN_TEMPLATE, SL_IN_STATEFUL };
/* 'pod': its name, NULL in a template. 'claims': names of volumes that a StatefulSet will add;
 * NULL.
 */
void api_pod_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                        enum api_pod_place place, const char *pod, yyjson_val *claims);
/* labels, annotations and spec of a template */
void api_template_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tmpl,
                        enum api_pod_place place, yyjson_val *claims);
/* An amount: not below zero, and whole where there are no parts. */
void api_resource_value_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                              yyjson_val *v);
/* Requests, limits and their proportions. */
void api_resources_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *resources);
void api_tolerations_check(struct sl_field_errs *e, const struct sl_path *at,
                           yyjson_val *tolerations);
void api_taint_effect_check(struct sl_field_errs *e, const struct sl_path *at, const char *effect,
                            bool may_be_empty);
/* ---- pod/parts.c ---- */
void api_hooks_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                     yyjson_val *pod_spec);
void api_container_security_check(struct sl_field_errs *e, const struct sl_path *at,
                                  yyjson_val *security);
void api_pod_security_check(struct sl_field_errs *e, const struct sl_path *at,
                            yyjson_val *pod_spec);
/* dnsConfig, readinessGates; hostAliases; os. */
void api_pod_dns_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
void api_pod_aliases_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list);
/* Ports where the network is the host's; what does not go with users of one's own. */
void api_pod_network_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec,
                           bool in_pod);
void api_pod_users_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
void api_pod_os_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *os);
/* ---- pod/volumes.c ---- */
struct api_volumes {
    struct sl_wordset claims; /* names of templates of a StatefulSet's claims */
    struct sl_wordset names;  /* of the pod: invalid ones are not in it */
    SL_VEC(yyjson_val *) known;
};
void api_volumes_done(struct api_volumes *s);
/* 'pod': its name, "" if it has none yet, NULL in a template. 'claims': of a StatefulSet. */
struct api_volumes api_volumes_check(struct sl_field_errs *e, const struct sl_path *at,
                                     yyjson_val *list, const char *pod, yyjson_val *claims);
/* volumeMounts and volumeDevices */
void api_mounts_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                      const struct api_volumes *s);
void api_path_check_no_dotdot(struct sl_field_errs *e, const struct sl_path *at, const char *path);
/* ---- pod/env.c ---- */
/* Fields of a pod that may be shown. */
struct api_downward {
    const char *paths[9];
    size_t n;
};
extern const struct api_downward api_downward_in_env, api_downward_in_files;
void api_field_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                         const struct api_downward *shown);
/* Of a container's resources; in a file the container must be named. */
void api_amount_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                          bool in_file);
/* env and envFrom */
void api_env_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container);
/* Volumes that variables are read from, of all containers. */
void api_env_files_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *pod_spec);
/* ---- pod/placement.c ---- */
void api_affinity_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *affinity);
void api_spread_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *constraints);
/* Terms of node selectors. */
void api_node_selector_check(struct sl_field_errs *e, const struct sl_path *at,
                             yyjson_val *selector);
/* Does a label selector (matchLabels, matchExpressions) take these labels? */
bool api_selector_takes(yyjson_val *selector, yyjson_val *labels);
/* A quantity that is there and not below zero, else an error. */
bool api_amount_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                      sl_quantity *ret);

/* ---- pod/update.c ---- */
void api_pod_update_check(struct sl_field_errs *e, yyjson_val *old, yyjson_val *pod);

/* ---- pod/warn.c ---- */
/* Last in 'validate', if nothing was wrong and it counts as a new generation; 'path': "spec",
 * "spec.template.spec" ... */
void api_pod_warn(struct api_change *c, yyjson_val *object, const char *path);

/* ---- apps.c ---- */
/* A count or "25%", as a number; -1 with an error if it is neither. */
int64_t api_count_or_percent(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                             bool *ret_percent);
/* Of a template whose pods go on and on: it restarts always and has no deadline. */
void api_lasting_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       const char *kind);

/* ---- sets.c ---- */
extern const struct api_strategy api_daemon_strategy, api_controller_strategy;

/* ---- events.c ---- */
extern const struct api_strategy api_event_strategy, api_new_event_strategy;

/* ---- quota.c ---- */
extern const struct api_strategy api_quota_strategy;

/* ---- node.c ---- */
extern const struct api_strategy api_node_strategy;

/* ---- volume.c ---- */
extern const struct api_strategy api_claim_strategy;
/* Of a claim, or of a template of claims. */
void api_claim_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec);

/* ---- storage.c ---- */
/* A field with the name of a driver: of CSI, or of devices. */
void api_driver_name_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                           const char *field);

/* ---- job_check.c ---- */
/* All but the selector, which templates of CronJobs have none of. */
void api_job_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec);

/* ---- service.c ---- */
extern const struct api_strategy api_service_strategy;

/* ---- addresses.c ---- */
/* Why this is no IP address; NULL: it is one. */
const char *api_address_fault(const char *s);
enum api_family { SL_FAMILY_NONE, SL_FAMILY_V4, SL_FAMILY_V6 };
/* The same for "10.0.0.0/8". The family is returned if it can be parsed at all; NULL: not
 * needed. */
const char *api_cidr_fault(const char *s, enum api_family *ret_family);
/* An address in any form, also one with leading zeros. */
bool api_is_address(const char *s);
/* Is it written as Kubernetes writes it ("fe80::1")? If not, 'out' is that form, where it has one.
 */
#define API_ADDRESS_TEXT 64u
bool api_address_canonical(const char *s, char out[API_ADDRESS_TEXT]);
bool api_cidr_canonical(const char *s, char out[API_ADDRESS_TEXT]);
/* Is the first network a part of the second, and not all of it? */
bool api_cidr_inside(const char *inner, const char *outer);

/* ---- service_check.c ---- */
void api_service_check(struct api_change *c, yyjson_val *object);
/* Addresses, their families and the policy go together; spec, and what it was (NULL: it is new). */
void api_service_addresses_check(struct sl_field_errs *e, yyjson_val *spec, yyjson_val *old);

/* ---- reviews.c ---- */
void api_review_self_access(struct api_change *c);
void api_review_access(struct api_change *c);
void api_review_local_access(struct api_change *c);
void api_review_rules(struct api_change *c);
void api_review_self(struct api_change *c);
void api_review_token(struct api_change *c);

/* ---- pod/account.c ---- */
/* What a pod that is created gets of its service account. */
void api_admit_account(struct api_change *c, yyjson_mut_val *spec);

#endif
