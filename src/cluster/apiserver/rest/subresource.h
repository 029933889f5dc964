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
struct api_refusal {
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
struct api_sub_call {
    struct sl_apiserver *server;
    const struct api_kind *kind;
    const struct api_kind_version *version;
    const char *ns, *name; /* of the path */
    yyjson_val *object;    /* what there is, in that version */
    yyjson_val *body;      /* what was posted: decoded, not defaulted */
    const char *user;
    sl_time now;
    struct sl_arena *arena;
    struct sl_field_errs *errs; /* any: 422 on 'kind' of the subresource */
    struct api_refusal no;

    yyjson_mut_doc *doc;
    /* What follows, unless errs or no reports an error. */
    yyjson_mut_val *changed;    /* the object, to be stored; NULL: it stays */
    bool remove;                /* it is to be deleted, with ... */
    yyjson_val *delete_options; /* ... these; NULL: none */
    yyjson_mut_val *answer;     /* 201 with this; NULL: a Status "Success" with code 201 */
};

enum api_sub_stream { SL_SUB_NO_UPGRADE, SL_SUB_EXEC, SL_SUB_ATTACH, SL_SUB_FORWARD };

#define SL_SCALE_PATH_MAX 1024u /* bytes of a path of replicas or of a selector */
struct api_sub {
    const char *name;
    enum api_verbs verbs;               /* GET, UPDATE and PATCH, or CREATE */
    const char *group, *version, *kind; /* of the body; NULL: that of the resource */
    /* A view: what GET shows and PUT and PATCH change. NULL: the object itself. */
    yyjson_mut_val *(*show)(const struct api_kind_version *v, yyjson_val *object,
                            yyjson_mut_doc *doc);
    /* The path of what a custom resource must have for its view to be shown; NULL: it has it. */
    const char *(*lacks)(const struct api_kind_version *v, yyjson_val *object);
    const struct api_columns *columns; /* of the view: of built-in kinds, of those of CRDs */
    /* Applies a changed view to c->object, which is the current object. Validation errors go to
     * c->errs. */
    void (*put)(struct api_change *c, const struct api_kind_version *v, yyjson_val *view);
    /* A POST. 'check', if there is one, validates the body by itself, before the object is looked
     * up. */
    void (*check)(struct api_sub_call *c);
    void (*act)(struct api_sub_call *c);
    const char *also;            /* another apiVersion that is taken; NULL */
    bool stream;                 /* GET is api_log_open ... */
    enum api_sub_stream upgrade; /* GET and POST request an upgrade */
    bool of_status;              /* it changes the status alone */
    const char *refused;         /* it is known but not offered: 501 with this text on any verb */
};

/* NULL: there is none of this name. */
const struct api_sub *api_sub_find(const struct api_kind *k, const struct api_kind_version *v,
                                   const char *name);
/* All of a kind's version, by name: for (uint32_t i = 0; (u = api_sub_each(k, v, &i));) */
const struct api_sub *api_sub_each(const struct api_kind *k, const struct api_kind_version *v,
                                   uint32_t *at);
/* POST to namespaces/N/bindings: the pod that it names; the rest is pods/binding. */
const char *api_binding_pod(yyjson_val *binding);

/* ---- pods/log ---- */
/* The schema of the query; absent numbers are -1. */
struct api_log_query {
    const char *container; /* "" */
    bool follow, previous, timestamps;
    int64_t tail_lines, since_seconds, limit_bytes;
    const char *since_time; /* "" */
};
/* One parameter of the query, decoded; those that are not of logs are ignored. False: its value is
 * invalid, see 'no'. */
bool api_log_param(struct api_log_query *q, const char *key, const char *value,
                   struct sl_arena *arena, struct api_refusal *no);
void api_log_query_init(struct api_log_query *q);

/* The container of a name, or the default one; NULL: see 'no'. */
const char *api_pod_container(yyjson_val *pod, const char *requested, struct sl_arena *arena,
                              struct api_refusal *no);

/* Why there is no log or session of a pod on a node of another kubelet. */
const char *api_foreign_node_text(struct sl_arena *a, yyjson_val *pod, const char *what);

struct api_log;
/* Looks for the container in the pod, and opens its log. NULL with no->status set if that cannot
 * be. */
struct api_log *api_log_open(const struct sl_api_kubelet *rt, yyjson_val *pod,
                             const struct api_log_query *q, sl_time now, struct sl_arena *arena,
                             struct api_refusal *no);
/* Appends what is available; true: more may follow (call again later), false: that was all. */
bool api_log_step(struct api_log *l, struct sl_buf *out);
void api_log_free(struct api_log *l);

#endif
