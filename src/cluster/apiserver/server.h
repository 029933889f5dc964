/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the API server, shared by its parts:
 *
 *   server.c                  creation and destruction, calls and their responses, the loop
 *                             iteration
 *   bootstrap.c               built-in kinds and initial objects
 *   rest/registry.c           kinds by name; registration with the store and discovery
 *   rest/route.c              parses a path and a query (rest/params.c) into a request
 *   rest/status.c             Status objects
 *   write/body.c              request bodies: JSON, YAML or protobuf, of the right version and kind
 *   rest/read.c               get and list; rest/pages.c: continued lists
 *   rest/watch.c              streams; session/log.c: pods/log
 *   session/stream_session.c  stream sessions over an upgraded connection: session/exec_session.c:
 *                             pods/exec and pods/attach, session/port_forward.c: pods/portforward
 *   rest/select.c             field selectors, and the index of objects for them; rest/labels.c:
 *                             label selectors
 *   rest/show.c               a stored object in the requested form and version
 *   write/write.c             create, update, patch: from a body to the store (write/write.h)
 *   write/build.c             builds an object from a body or a patch; write/meta.c: metadata of
 *                             all objects
 *   write/post.c              POST to subresources, and to kinds that are not stored
 *   write/delete.c            delete and deletecollection
 *   admission/admission.c     admission: ours in process, webhooks by HTTP (admission/webhook.c,
 *                             admission/webhook_match.c)
 *   rest/discovery.c          discovery of kinds; rest/openapi.c: their schemas
 *   port.c                    the API client interface for our own components
 *
 * A request is processed inside sl_apiserver_call, since its input is borrowed; its response is
 * held until the change that it reports is committed by the store, and is sent in an iteration of
 * the loop. Only a write that calls a webhook takes longer.
 */
#ifndef SL_CLUSTER_APISERVER_SERVER_H
#define SL_CLUSTER_APISERVER_SERVER_H

#include <sys/queue.h>

#include <uv.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/kinds/kind.h"
#include "cluster/apiserver/rest/subresource.h"
#include "cluster/apiserver/table/tables.h"
#include "cluster/schema/protobuf/protobuf.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"
#include "core/base/prng.h"
#include "core/model/labels.h"
#include "lib/json/json.h"

#define SL_API_WARNINGS 64u
#define SL_API_PORTS 16u
#define SL_API_TYPES "application/json, application/yaml"
#define SL_API_TRIES 8u /* of a write whose object changed concurrently */

enum api_form { SL_FORM_PLAIN, SL_FORM_TABLE, SL_FORM_PARTIAL };

/* Parameters of the query; strings are "" and numbers -1 where absent. */
struct api_params {
    const char *labels, *fields;
    const char *version, *version_match, *continue_token;
    const char *manager, *validation, *propagation, *include;
    int64_t limit, timeout_s, grace;
    int8_t watch, bookmarks, initial_events, force, orphan; /* 0, 1 */
    const char *dry_run;                                    /* NULL: absent */
    const char *bad; /* a value that could not be read: the text of the 400; NULL */
};

struct api_cause {
    const char *reason, *message, *field; /* NULL: absent */
};
struct api_status {
    int code;
    const char *reason, *message;
    const char *go_on;                     /* of metadata; NULL: none */
    const char *name, *group, *kind, *uid; /* of details; NULL: absent */
    const struct api_cause *causes;
    uint32_t n_causes;
    yyjson_mut_val *causes_made; /* or an array of them */
    uint32_t retry_after;
    bool no_details; /* "details":{}, as in responses of the server's framework, not of the API */
};

struct api_session; /* session/stream_session.c */

/* A request on its way. All its texts are in its arena. */
struct api_rq {
    TAILQ_ENTRY(api_rq) link; /* s->ready, or s->idle */
    struct sl_apiserver *s;
    sl_api_call id;
    struct sl_api_sink sink;
    struct sl_arena arena;

    /* the question */
    const char *method, *path, *query;
    enum api_verbs verb;
    struct api_kind *kind;
    const struct api_kind_version *version;
    const char *group, *version_name, *plural; /* from the path */
    const char *ns, *name, *subname;           /* "" */
    const struct api_sub *sub;                 /* NULL: the object itself */
    const char *content_type, *user_agent, *user;
    const char *const *groups;
    const char *body; /* borrowed */
    size_t len;
    struct api_params q;
    enum api_form form;
    const char *form_version; /* "v1": of meta.k8s.io */
    bool yaml;                /* the response is to be YAML */
    struct sl_text head;      /* of stored objects of the kind: rest/show.c; s NULL: not made yet */
    sl_time now;              /* wall */

    /* the response */
    enum {
        SL_RQ_WORKING, /* inside its call, or waiting for a webhook */
        SL_RQ_KEEPING, /* answered, but not all of it is committed yet */
        SL_RQ_READY,   /* on s->ready */
        SL_RQ_STREAM,  /* begun */
    } state;
    bool busy;    /* a sink is being called: a cancel from there is carried out afterwards */
    bool gone;    /* such a cancel came */
    bool streams; /* not a response but a stream, once it is ready */
    int status;
    const char *type;  /* NULL: JSON */
    struct sl_buf out; /* the body, unless there is an object */
    struct sl_store_object *object;
    const char *warnings[SL_API_WARNINGS + 1];
    uint32_t n_warnings, retry_after;

    struct api_write *write;   /* write/write.c */
    struct api_stream *stream; /* rest/watch.c */
    struct api_log_stream *log;
    const struct sl_api_upgrade *upgrade; /* borrowed; NULL */
    struct api_session *session;          /* session/stream_session.c */
};
TAILQ_HEAD(api_rqs, api_rq);

struct api_slot {
    struct api_rq *rq; /* NULL: free */
    uint32_t gen;
};

struct api_local_client; /* port.c */
struct api_pages;        /* rest/pages.c */
struct api_lines;        /* rest/watch.c */
struct api_hooks;        /* admission/webhook.c */
struct api_catalog;      /* rest/discovery.c */
struct api_documents;    /* rest/openapi.c */

struct sl_apiserver {
    struct uv_loop_s *loop;
    struct sl_store *store;
    struct sl_schemas *schemas;
    struct sl_protobuf *protobuf;  /* made when the first client sends protobuf */
    struct sl_apiserver_spec spec; /* texts are copies */
    char *file, *version, *address;
    const struct sl_api_kubelet *runtime;
    struct sl_prng prng;
    struct api_signer *signer; /* of tokens of service accounts (jwt.h) */
    bool starting;

    /* calls */
    SL_VEC(struct api_slot) slots;
    SL_VEC(uint32_t) free_slots;
    struct api_rqs ready, idle;
    uint32_t n_ready, n_idle, n_open;
    uv_check_t check;
    uv_prepare_t prepare;
    uv_idle_t kick;
    uint32_t handles; /* of libuv, not closed yet */
    bool clock_read, closing;
    sl_time wall, mono;
    struct api_local_client *ports[SL_API_PORTS];
    uint32_t n_ports;

    /* kinds */
    struct api_kind *kinds[SL_API_KINDS]; /* in order */
    uint32_t n_kinds;
    SL_VEC(struct api_kind *) numbers; /* by number in the store; NULL: gone */
    SL_VEC(char *) number_names;       /* NULL: free */
    struct sl_map by_plural;
    uint64_t kinds_gen; /* rises with each change */
    struct api_kind *namespaces;
    struct api_crd
        *retired_crds;   /* served before, retained for requests that still refer to them */
    yyjson_val *putting; /* what is being put: saves api_index from parsing it */

    LIST_HEAD(, api_bulk_delete) bulk_deletes; /* write/delete.c */
    struct api_pages *pages;
    struct api_lines *lines;
    struct api_hooks *hooks;
    struct api_catalog *catalog;
    struct api_documents *documents; /* NULL: none was requested */
    struct sl_apiserver_stats stats;
};

/* ---- server.c ---- */
void sl_api_turn(struct sl_apiserver *s); /* reads the clocks, once per iteration */
/* The response is complete; it is sent when everything up to the version is committed. */
void api_rq_done(struct api_rq *rq, uint64_t version);
/* With rq->out as its body. */
void api_rq_answer(struct api_rq *rq, int status);
/* With the object's text, in the requested form. */
void api_rq_object(struct api_rq *rq, int status, struct sl_store_object *o);
void api_rq_warn(struct api_rq *rq, const char *text);
/* If it is answered, and only waits for the commit: frees all but the response. To be called where
 * nothing uses it any more. */
void api_rq_rest(struct api_rq *rq);
/* NULL if it has ended. */
struct api_rq *api_rq_find(const struct sl_apiserver *s, sl_api_call id);
/* After a sink was called while rq->busy was set: continues (true), or ends the stream because it
 * is not ok or was cancelled. Other streams that were cancelled meanwhile are freed. */
bool api_rq_settle(struct api_rq *rq, bool ok);

/* ---- rest/status.c ---- */
void api_status_print(const struct api_status *st, struct sl_buf *out);
void api_rq_status(struct api_rq *rq, const struct api_status *st);
void api_rq_fail(struct api_rq *rq, int code, const char *reason, const char *fmt, ...)
    _printf_(4, 5);
void api_rq_bad(struct api_rq *rq, const char *fmt, ...) _printf_(2, 3); /* 400 */
void api_rq_not_found(struct api_rq *rq, const struct api_kind *k, const char *name);
/* 409; 'generated': a name was to be made up. */
void api_rq_exists(struct api_rq *rq, const char *name, bool deleting, bool generated);
void api_rq_conflict(struct api_rq *rq, const char *name, const char *fmt, ...) _printf_(3, 4);
/* 409: a precondition on "what" is not met. */
void api_rq_precondition(struct api_rq *rq, const char *name, const char *what, const char *given,
                         const char *is);
void api_rq_forbidden(struct api_rq *rq, const char *name, const char *fmt, ...) _printf_(3, 4);
/* 422: "Job.batch "x" is invalid: ...". */
void api_rq_invalid(struct api_rq *rq, const char *group, const char *kind, const char *name,
                    const struct sl_field_errs *errs);
void api_rq_method(struct api_rq *rq); /* 405 */
/* 405, by custom resources */
void api_rq_unsupported(struct api_rq *rq, const char *verb);
void api_rq_not_found_text(struct api_rq *rq); /* 404, as text */
void api_rq_no_resource(struct api_rq *rq);    /* 404 where the group is known */
void api_rq_success(struct api_rq *rq, int code, const char *name, const char *uid);
/* "jobs.batch" */
const char *api_rq_resource(struct api_rq *rq, const struct api_kind *k);

/* ---- rest/route.c, rest/params.c ---- */
/* Routes the request and processes it. */
void api_route(struct api_rq *rq, const char *accept);
/* Parses the query. Errors are reported where the parameter is used: q.bad. */
void api_params_read(struct api_rq *rq);
/* A copy with U+FFFD for each byte that is no UTF-8. */
const char *api_utf8_text(struct sl_arena *a, const char *s);
/* The decoded pairs of a query, one after the other; false after the last. */
bool api_query_next(const char **at, struct sl_arena *arena, const char **ret_key,
                    const char **ret_value);
/* Accept. 'list': PartialObjectMetadataList is meant by "as". False: 406 was answered. */
bool api_negotiate_accept(struct api_rq *rq, const char *accept);

/* ---- write/body.c ---- */
/* The body as JSON; NULL: the request was answered. */
yyjson_doc *api_body_read(struct api_rq *rq);
/* The body, whatever the Content-Type; NULL: the error is returned. */
yyjson_doc *api_rq_json(struct api_rq *rq, const char **ret_fault);
int api_yaml_read(const char *text, size_t len, yyjson_doc **ret, struct sl_err *err) _must_check_;
/* ---- write/texts.c ---- */
/* Rejects a NUL inside of keys, and of strings that are names, labels, paths or enumerated values;
 * false: errs has the place. custom: of an object whose kind a CRD defines, where only the metadata
 * are checked. */
bool api_texts_check(struct sl_field_errs *errs, yyjson_val *object, bool custom) _must_check_;
/* The same for a body; false: 400 was answered. */
bool api_rq_texts(struct api_rq *rq, yyjson_val *body) _must_check_;

/* Of the kind and version of the path; absent ones are filled in by the caller. */
/* The message for an object whose apiVersion or kind is not the expected one. */
const char *api_body_mismatch_text(struct api_rq *rq, const char *api_version, const char *kind,
                                   const char *wanted);
bool api_body_is(struct api_rq *rq, yyjson_val *body, const char *api_version, const char *kind);

/* write/json_error.c: why Go's decoder does not take this text. */
const char *api_json_fault(struct sl_arena *arena, const char *s, size_t len);

/* ---- rest/select.c ---- */
struct api_index {
    struct sl_labels labels;
    uint32_t n_fields;
    const char *fields[]; /* of kind->selectable, as it was when the object was stored */
};
struct api_field_rule {
    const char *path, *value;
    int32_t at; /* of kind->selectable; -1: metadata.name, -2: metadata.namespace */
    bool not ;
};
#define SL_FIELD_RULES 16u
struct api_filter {
    struct sl_selector labels;
    struct api_field_rule fields[SL_FIELD_RULES];
    uint32_t n_fields;
    const char *ns, *name; /* "" : any; name is that of a rule */
};
/* rest/labels.c: a label selector; false: the request was answered. */
bool api_labels_read(struct api_rq *rq, const char *text, struct sl_selector *ret);
/* From rq->q; false: the request was answered. */
bool api_filter_read(struct api_rq *rq, struct api_filter *f);
bool api_filter_passes(const struct api_filter *f, const struct sl_store_object *o);
size_t api_object_index(void *server, struct sl_store_object *o);
/* It is JSON, and its name, namespace and uid are those of its row: all readers of stored objects
 * rely on that. */
bool api_object_readable(void *server, const struct sl_store_object *o);
void api_object_unindex(void *server, struct sl_store_object *o);

/* ---- rest/show.c ---- */
/* The kind whose objects are stored, and their apiVersion. */
const struct api_kind *api_stored_kind(const struct api_kind *k);
const struct api_kind_version *api_stored_version(const struct api_kind *k);
const char *sl_api_version(struct sl_arena *a, const char *group, const char *version);
/* Whether the stored text is the response without changes. */
bool api_show_plain(const struct api_rq *rq);
/* Appends one object of a list in the requested form: itself, PartialObjectMetadata, or a row of a
 * table. */
bool api_show_item(struct api_rq *rq, const char *text, size_t len, struct sl_jw *w);
/* Appends a whole response of one object: as above, and a table around the row. */
bool api_show_one(struct api_rq *rq, const char *text, size_t len, bool columns,
                  struct sl_buf *out);
/* Opens a list or table of n objects; the caller ends all that is open. */
void api_show_list_begin(struct api_rq *rq, uint64_t version, const char *continue_token,
                         int64_t remaining, uint32_t n, struct sl_jw *w);

/* ---- rest/read.c, rest/pages.c, rest/watch.c ---- */
void api_handle_get(struct api_rq *rq);
void api_handle_list(struct api_rq *rq);
void api_handle_watch(struct api_rq *rq);
void api_watch_free(struct api_rq *rq);
void api_watch_begin(struct api_rq *rq); /* in an iteration of the loop */
/* The kind goes: all of its watches end, soon. */
void api_watch_end_all(struct sl_apiserver *s, const struct api_kind *k);
void api_log_get(struct api_rq *rq, struct sl_store_object *pod); /* session/log.c */
void api_log_begin(struct api_rq *rq);
void api_log_end(struct api_rq *rq);
void api_session_start(struct api_rq *rq); /* session/stream_session.c */
void api_session_begin(struct api_rq *rq);
void api_session_end(struct api_rq *rq);
struct api_pages *api_pages_new(struct sl_apiserver *s);
void api_pages_free(struct api_pages *p);
void api_pages_turn(struct api_pages *p); /* those that are too old go */
/* No list of this resource goes on. */
void api_pages_forget(struct api_pages *p, uint32_t resource);

/* ---- write/write.c, write/meta.c, write/delete.c ---- */
void api_handle_create(struct api_rq *rq);
void api_handle_update(struct api_rq *rq);
void api_handle_patch(struct api_rq *rq);
void api_handle_delete(struct api_rq *rq);
void api_handle_delete_collection(struct api_rq *rq);
/* Deletes all objects of a kind whose definition is removed, without a client. */
void api_delete_kind(struct sl_apiserver *s, const struct api_kind *k);

void api_write_free(struct api_rq *rq);
void api_bulk_deletes_free(struct sl_apiserver *s);

/* ---- bootstrap.c, rest/registry.c, rest/discovery.c, admission/webhook.c, port.c ---- */
/* Kinds, and the objects that every cluster has. */
int api_bootstrap(struct sl_apiserver *s, const char *ca, struct sl_err *err) _must_check_;
void api_registry_done(struct sl_apiserver *s);
/* /api, /apis, /openapi and what is below them. False: there is no such thing. */
bool api_discover(struct api_rq *rq, const char *const *parts, uint32_t n, const char *accept);
bool api_openapi(struct api_rq *rq, const char *const *parts, uint32_t n, const char *accept);
struct api_catalog *api_catalog_new(struct sl_apiserver *s);
void api_catalog_free(struct api_catalog *c);
void api_documents_free(struct api_documents *d);
/* Something of this kind was written: it may be a webhook configuration. */
void api_hooks_changed(struct sl_apiserver *s, const struct api_kind *k);
struct api_hooks *api_hooks_new(struct sl_apiserver *s);
void api_hooks_free(struct api_hooks *h);
struct api_lines *api_lines_new(struct sl_apiserver *s);
void api_lines_free(struct api_lines *l);
void api_local_clients_clock(struct sl_apiserver *s);
void api_local_clients_free(struct sl_apiserver *s);

#endif
