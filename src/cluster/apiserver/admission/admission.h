/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: our own reviews first, in process, as registered in deploy/manifests.yaml;
 * then registered webhooks, one after the other in the order of the names of their configurations.
 * Requests and responses are the same for both.
 */
#ifndef SL_CLUSTER_APISERVER_ADMISSION_ADMISSION_H
#define SL_CLUSTER_APISERVER_ADMISSION_ADMISSION_H

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/write/write.h"

struct api_hook_set;

struct api_admission {
    enum api_admit_phase phase;
    void (*next)(struct api_write *w);
    struct api_hook_set *set; /* a reference; NULL: there are no webhooks */
    uint32_t at;
    bool again;                 /* second round, for reinvocationPolicy IfNeeded */
    uint64_t changes, *seen;    /* how often the object was changed; when each last saw it */
    struct api_hook_call *call; /* what is waited for */
    /* The review as conditions saw it last, of which version and after how many changes; NULL: none
     * did. Every webhook may have conditions. */
    yyjson_doc *review;
    const struct api_kind_version *review_version;
    uint64_t review_changes;
    uint64_t steps; /* that all of them may still take */
    char uid[37];
};

/* "CREATE", "UPDATE", "DELETE" */
const char *api_admit_operation(const struct api_write *w);
/* The body of a review in this version of the kind; false: the object cannot be brought into it. */
bool api_review_print(struct api_write *w, const struct api_kind_version *v, const char *uid,
                      struct sl_buf *out);
/* Handles a response: warnings, a patch, a rejection. 1: allowed; 0: rejected, and the request was
 * answered; negative: the response is invalid. */
int api_review_take(struct api_write *w, const struct api_kind_version *v, const char *hook,
                    const char *uid, const char *body, size_t len, struct sl_err *err) _must_check_;
/* The object as it is now; NULL on DELETE. */
yyjson_val *api_admit_object(struct api_write *w);

/* ---- webhook.c ---- */
/* The set as it is now; NULL if there are none. */
struct api_hook_set *api_hooks_set(struct sl_apiserver *s, enum api_admit_phase phase);
void api_hook_set_unref(struct api_hook_set *set);
uint32_t api_hook_set_size(const struct api_hook_set *set);
enum api_hook_result {
    SL_HOOK_PASSED, /* it does not match the request */
    SL_HOOK_WAIT,   /* called: api_admit_continue follows */
    SL_HOOK_REFUSED /* the request was answered */
};
enum api_hook_result api_hook_call(struct api_write *w, uint32_t i);
bool api_hook_reinvokes(const struct api_hook_set *set, uint32_t i);
void api_hook_cancel(struct api_hook_call *c);

/* ---- webhook_match.c ---- */
/* The version in which the webhook expects the object; NULL: none of its rules match. */
const struct api_kind_version *api_hook_version(struct api_write *w, yyjson_val *hook);
bool api_hook_selects(struct api_write *w, yyjson_val *hook);
/* 1: all of its matchConditions are met; 0: one is not; negative: the named one cannot be
 * evaluated. */
int api_hook_conditions(struct api_write *w, yyjson_val *hook, const struct api_kind_version *v,
                        const char **ret_name, struct sl_err *err) _must_check_;

/* ---- admission.c ---- */
void api_admit_continue(struct api_write *w);

#endif
