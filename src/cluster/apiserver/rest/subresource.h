/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subresources as data: /status, /scale, /binding and so on. The core reads the object, calls the
 * functions, and stores through the same path as any other write, with change.subresource set to
 * the name.
 */
#ifndef SL_CLUSTER_APISERVER_REST_SUBRESOURCE_H
#define SL_CLUSTER_APISERVER_REST_SUBRESOURCE_H

#include "cluster/apiserver/kinds/kind.h"

/* Why not, where it is no matter of fields. */
struct sl_refusal {
    int status;         /* 0: nothing is wrong */
    const char *reason; /* "BadRequest" ... */
    const char *text;   /* in the arena, or constant */
    /* Of details; NULL: none. */
    const char *cause_reason, *cause_text;
    const char *details_kind; /* with the name; NULL: absent */
    const char *details_name; /* NULL: that of the request */
    uint32_t retry_after;
};

/* A POST to a subresource. */
struct sl_sub_call {
    struct sl_apiserver *server;
    const struct sl_kind *kind;
    const struct sl_kind_version *version;
    const char *ns, *name; /* of the path */
    yyjson_val *object;    /* what there is, in that version */
    yyjson_val *body;      /* what was posted: decoded, not defaulted */
    const char *user;
    sl_time now;
    struct sl_arena *arena;
    struct sl_field_errs *errs; /* any: 422 on 'kind' of the subresource */
    struct sl_refusal no;

    yyjson_mut_doc *doc;
    /* What follows, unless errs or no reports an error. */
    yyjson_mut_val *changed;    /* the object, to be stored; NULL: it stays */
    bool remove;                /* it is to be deleted, with ... */
    yyjson_val *delete_options; /* ... these; NULL: none */
    yyjson_mut_val *answer;     /* 201 with this; NULL: a Status "Success" with code 201 */
};

enum sl_sub_talk { SL_SUB_SILENT, SL_SUB_EXEC, SL_SUB_ATTACH, SL_SUB_FORWARD };

struct sl_sub {
    const char *name;
    enum sl_verbs verbs;                /* GET, UPDATE and PATCH, or CREATE */
    const char *group, *version, *kind; /* of what is spoken; NULL: that of the resource */
    /* A view: what GET shows and PUT and PATCH change. NULL: the object itself. */
    yyjson_mut_val *(*show)(const struct sl_kind_version *v, yyjson_val *object,
                            yyjson_mut_doc *doc);
    /* Applies a changed view to c->object, which is the current object. Validation errors go to
     * c->errs. */
    void (*put)(struct sl_change_in *c, const struct sl_kind_version *v, yyjson_val *view);
    /* A POST. 'check', if there is one, validates the body by itself, before the object is looked
     * up. */
    void (*check)(struct sl_sub_call *c);
    void (*act)(struct sl_sub_call *c);
    const char *also;      /* another apiVersion that is taken; NULL */
    bool stream;           /* GET is sl_log_open ... */
    enum sl_sub_talk talk; /* GET and POST request an upgrade */
    const char *refused;   /* it is known but not offered: 501 with this text on any verb */
};

/* NULL: there is none of this name. */
const struct sl_sub *sl_sub_find(const struct sl_kind *k, const struct sl_kind_version *v,
                                 const char *name);
/* All of a kind's version, by name: for (uint32_t i = 0; (u = sl_sub_each(k, v, &i));) */
const struct sl_sub *sl_sub_each(const struct sl_kind *k, const struct sl_kind_version *v,
                                 uint32_t *at);
/* POST to namespaces/N/bindings: the pod that it names; the rest is pods/binding. */
const char *sl_binding_pod(yyjson_val *binding);

/* The user of a token of serviceaccounts/token ("system:serviceaccount:NS:NAME", in the arena);
 * NULL: it is invalid or expired. */
const char *sl_token_user(struct sl_arena *arena, const char *token, sl_time now);

/* ---- pods/log ---- */
/* The schema of the query; absent numbers are -1. */
struct sl_log_query {
    const char *container; /* "" */
    bool follow, previous, timestamps;
    int64_t tail_lines, since_seconds, limit_bytes;
    const char *since_time; /* "" */
};
/* One parameter of the query, decoded; those that are not of logs are ignored. False: its value is
 * invalid, see 'no'. */
bool sl_log_param(struct sl_log_query *q, const char *key, const char *value,
                  struct sl_arena *arena, struct sl_refusal *no);
void sl_log_query_init(struct sl_log_query *q);

/* The container of a name, or the default one; NULL: see 'no'. */
const char *sl_pod_container(yyjson_val *pod, const char *asked, struct sl_arena *arena,
                             struct sl_refusal *no);

struct sl_log;
/* Looks for the container in the pod, and opens its log. NULL with no->status set if that cannot
 * be. */
struct sl_log *sl_log_open(const struct sl_api_runtime *rt, yyjson_val *pod,
                           const struct sl_log_query *q, sl_time now, struct sl_arena *arena,
                           struct sl_refusal *no);
/* Appends what is available; true: more may follow (call again later), false: that was all. */
bool sl_log_step(struct sl_log *l, struct sl_buf *out);
void sl_log_free(struct sl_log *l);

#endif
