/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One admission request in a handler. A handler of a path is
 *
 *     int sl_review_pod_validate(struct sl_review_call *c);
 *
 * It reads c->object (and c->old on an update), reports validation errors with the sl_field_*
 * functions on &c->errs, warns with adm_call_warn, or, if it mutates, changes the copy that
 * adm_call_edit returns; the patch is made from the difference. It returns 0, or what
 * adm_call_refuse returned.
 *
 * Handlers are called for CREATE and UPDATE only: anything else is allowed before. Everything they
 * allocate is in c->arena or in the edited document, and freed with the call.
 */
#ifndef SL_MANAGER_ADMISSION_CALL_H
#define SL_MANAGER_ADMISSION_CALL_H

#include "kube/types/field.h"
#include "lib/json/json.h"
#include "manager/admission/view.h"

enum sl_review_op { SL_REVIEW_CREATE, SL_REVIEW_UPDATE };

#define SL_CALL_MAX_WARNINGS 64u

struct adm_kind;
struct sl_jobkind;

struct sl_review_call {
    const struct sl_review_view *view;
    enum sl_review_op op;
    const char *ns, *name, *subresource; /* "" if there is none; name also with generateName */
    const char *group, *kind;            /* of the object, as the request says; "" likewise */
    yyjson_val *object, *old;            /* old is NULL on CREATE */
    yyjson_val *user;                    /* userInfo: who sent it; NULL: not known */
    const struct sl_jobkind *row;        /* of a job: its kind (job/kind.h) */
    const struct adm_kind *rules;
    struct sl_arena *arena;
    struct sl_field_errs errs;
    const char *warnings[SL_CALL_MAX_WARNINGS];
    uint32_t n_warnings;
    /* private */
    yyjson_mut_doc *edit;
    int refused_code;
    const char *refused;
};

typedef int (*sl_review_fn)(struct sl_review_call *c);

/* Is the gate on? */
static inline bool adm_call_gate(const struct sl_review_call *c, enum sl_feature_gate gate) {
    return c->view->settings->gates[gate];
}
void adm_call_warn(struct sl_review_call *c, const char *fmt, ...) _printf_(2, 3);
/* Rejects with an HTTP code of the handler's own (404 for a missing owner ...); field errors are
 * then not reported. Returns the code. */
int adm_call_refuse(struct sl_review_call *c, int code, const char *fmt, ...) _printf_(3, 4);

/* The same with 400: the value at a path is not as expected ("a list"). */
int adm_call_refuse_type(struct sl_review_call *c, const struct sl_path *at, const char *expected);

/* ---- for handlers that mutate ---- */

/* The desired object: a copy, made on the first call. */
yyjson_mut_val *adm_call_edit(struct sl_review_call *c);
/* The object under key, made if it is not there (or is null). */
yyjson_mut_val *adm_edit_object(struct sl_review_call *c, yyjson_mut_val *parent, const char *key);
/* The object that has the last step of a dotted path below root, made where it is not there. NULL,
 * and refused with 400, if something else is on the way; 'at' is the path of root, NULL of the
 * whole. */
yyjson_mut_val *adm_edit_parent(struct sl_review_call *c, yyjson_mut_val *root,
                                const struct sl_path *at, const char *path, const char **ret_key);
/* Set a field, whether or not it was there. Key and text are copied. */
void adm_edit_str(struct sl_review_call *c, yyjson_mut_val *parent, const char *key, const char *s);
void adm_edit_bool(struct sl_review_call *c, yyjson_mut_val *parent, const char *key, bool b);
void adm_edit_remove(yyjson_mut_val *parent, const char *key);
/* metadata.labels[key] = value, metadata.annotations[key] = value. */
void adm_edit_label(struct sl_review_call *c, const char *key, const char *value);
void adm_edit_annotation(struct sl_review_call *c, const char *key, const char *value);
/* Adds to metadata.finalizers unless it is there. */
void adm_edit_finalizer(struct sl_review_call *c, const char *finalizer);
/* Adds to the scheduling gates of a pod's spec unless it is there. */
void adm_edit_gate(struct sl_review_call *c, yyjson_mut_val *spec, const char *gate);

/* ---- rules that several kinds share ---- */

/* The annotation kueue.x-k8s.io/admission-gated-by: its syntax, and on an update that it only
 * shrinks. */
void adm_rule_admission_gated_by(struct sl_review_call *c);

/* ---- handlers in files of their own ---- */
int sl_review_pod_mutate(struct sl_review_call *c); /* pod_review.c */
int sl_review_pod_validate(struct sl_review_call *c);
int sl_review_deployment_mutate(struct sl_review_call *c); /* serving_review.c */
int sl_review_deployment_validate(struct sl_review_call *c);
int sl_review_statefulset_mutate(struct sl_review_call *c);
int sl_review_statefulset_validate(struct sl_review_call *c);
int sl_review_leaderworkerset_mutate(struct sl_review_call *c);
int sl_review_leaderworkerset_validate(struct sl_review_call *c);
int sl_review_flux_mutate(struct sl_review_call *c); /* flux/review.c: by the kind */
int sl_review_flux_pod_mutate(struct sl_review_call *c);
int sl_review_flux_job_mutate(struct sl_review_call *c);
int sl_review_flux_deployment_mutate(struct sl_review_call *c);
int sl_review_flux_replicaset_mutate(struct sl_review_call *c);
int sl_review_flux_statefulset_mutate(struct sl_review_call *c);
int sl_review_flux_validate(struct sl_review_call *c); /* flux_validate.c: by the kind */
int sl_review_flux_pod_validate(struct sl_review_call *c);
int sl_review_flux_job_validate(struct sl_review_call *c);
int sl_review_flux_set_validate(struct sl_review_call *c); /* Deployments and the like */
int sl_review_fluxjob_validate(struct sl_review_call *c);  /* fluxjob_review.c */
/* The errors of a Flux jobspec; "" is none. */
void adm_rule_jobspec(struct sl_review_call *c, const struct sl_path *at, struct sl_text jobspec);

#endif
