/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds: what the server needs to know of a resource to serve it. Built-in ones are tables and a
 * few functions (kinds/), those of CRDs are made from the CRD's text (crd/crd.c). Nothing but
 * tables differs between them. Private to src/cluster/apiserver.
 */
#ifndef SL_CLUSTER_APISERVER_KINDS_KIND_H
#define SL_CLUSTER_APISERVER_KINDS_KIND_H

#include "cluster/apiserver/apiserver.h"
#include "cluster/merge/merge.h"
#include "cluster/schema/check.h"
#include "cluster/schema/types.h"
#include "cluster/store/store.h"
#include "kube/types/field.h"
#include "kube/types/syntax.h"
#include "lib/json/writer.h"

/* The verbs of a resource. */
enum api_verbs {
    SL_V_GET = 1,
    SL_V_LIST = 2,
    SL_V_WATCH = 4,
    SL_V_CREATE = 8,
    SL_V_UPDATE = 16,
    SL_V_PATCH = 32,
    SL_V_DELETE = 64,
    SL_V_DELETE_ALL = 128,
    SL_V_ALL = 255,
};

/* A column of a table. The value is at the path, of a column of a CRD, or comes from 'cell', which
 * writes one JSON value. */
struct api_jsonpath;
struct api_column {
    const char *name, *type, *format, *doc; /* "Name", "string", "name", "..." */
    int priority;                           /* 0: always; 1: with -o wide */
    const struct api_jsonpath *path;
    void (*cell)(yyjson_val *object, sl_time now, struct sl_jw *out); /* writes one value */
};

/* A write in progress; what the functions of a kind may read and change. */
struct api_change {
    struct sl_apiserver *server;
    const struct api_kind *kind;
    const struct api_kind_version
        *version;          /* version of the request; object and old are in the stored one */
    const char *ns, *name; /* of the request, or made up for what is created; "" */
    const char *user;
    const char *const *groups; /* of the user, ended by NULL; NULL: none */
    const char *subresource;   /* "" or "status", "scale", "binding" ... */
    bool dry_run;
    yyjson_val *old;     /* NULL: it is created */
    yyjson_mut_doc *doc; /* of what it becomes */
    yyjson_mut_val *object;
    sl_time now;
    struct sl_arena *arena;
    struct sl_field_errs *errs;
    /* Instead of errs: the request ends with this Status (see api_change_refuse). */
    int code;
    const char *reason, *message;
};
/* Ends the write with a code and reason of its own: 403, "Forbidden", "...". The first one counts.
 */
void api_change_refuse(struct api_change *c, int code, const char *reason, const char *fmt, ...)
    _printf_(4, 5);
/* A Warning header in the response. */
void api_change_warn(struct api_change *c, const char *fmt, ...) _printf_(2, 3);

/* Validation of metadata for a kind: the rules of an update, those of every write, both, or done by
 * its 'validate' (api_meta_check). On creation all but the last apply the plain ones. */
enum api_meta_rules { SL_META_UPDATE, SL_META_PLAIN, SL_META_BOTH, SL_META_SELF };
void api_meta_check(struct api_change *c, yyjson_val *object, bool update);

/* What a kind has of its own. NULL or 0: nothing. */
struct api_strategy {
    /* Before validation, after the schema's defaults and admission: fields that only the server
     * sets, defaults that depend on others, fields that an update through this subresource may not
     * change. metadata, status (preserved or dropped by subresource) and generation are already
     * done for all kinds. */
    void (*prepare)(struct api_change *c);
    /* Defaults that depend on other fields: right after those of the schema, before any check. */
    void (*defaults)(struct api_change *c);
    /* Changes of kube-apiserver's own admission plugins: they have no field manager. After
     * 'defaults', before webhooks. */
    void (*admit)(struct api_change *c);
    /* Validation beyond the schema; c->old is NULL on creation. */
    void (*validate)(struct api_change *c, yyjson_val *object);
    /* Does the change of spec count as a new generation? NULL: any change outside metadata and
     * status does. */
    bool (*is_new_generation)(yyjson_val *old, yyjson_val *object);
    /* The kind has no metadata.generation at all (ConfigMap, Event ...). */
    bool no_generation;
    enum api_meta_rules meta;
    bool any_finalizer; /* also one without a domain prefix (Lease) */
    /* Syntax of names; NULL: sl_syntax_subdomain. */
    struct sl_syntax_errors (*name)(const char *s, size_t len);
    /* Grace period of a deletion in seconds (requested: -1 if not given); 0: immediately. NULL:
     * always 0, and not recorded in metadata. */
    int64_t (*grace)(yyjson_val *object, int64_t requested);
    /* A deletion marks the object (deletionTimestamp was set in c->object): further changes. Also
     * called when a grace period is shortened. */
    void (*deleting)(struct api_change *c);
    /* It stays although its metadata has no finalizers (spec.finalizers of a namespace). */
    bool (*holds)(yyjson_val *object);
    /* May it be deleted? api_change_refuse if not; c->object is NULL, c->old the object. */
    void (*may_delete)(struct api_change *c);
    /* After the store took it, on start for each that is there ('old' NULL), and after it went
     * ('now' NULL). Not on dry runs. */
    void (*after)(struct sl_apiserver *s, struct api_kind *k, yyjson_val *old, yyjson_val *now);
    bool makes_name;       /* what comes without one gets a uid for it (LimitRange) */
    bool put_creates;      /* PUT of what is not there makes it */
    bool status_on_create; /* POST may bring a status (nodes) */
    bool needs_version;    /* an update must have a resourceVersion (custom resources) */
    bool orphans;          /* dependents are orphaned by default (Jobs) */
    bool no_garbage;       /* owner references are irrelevant: no dependents to wait for (Event) */
    bool returns_deleted;  /* DELETE returns the object, not a Status */
};

struct api_kind_version {
    const char *name; /* "v1" */
    const struct sl_schema *schema;
    bool served, deprecated;
    const char *deprecation;          /* the warning; NULL */
    const struct api_column *columns; /* n_columns 0: Name and Age */
    uint32_t n_columns;
    bool has_status, has_scale; /* other subresources: rest/subresource.h */
    /* Of scale, as in a CRD. */
    const char *spec_replicas, *status_replicas, *label_selector;
};

#define SL_KIND_VERSIONS 8u
#define SL_KIND_SELECTABLE 16u
struct api_kind {
    const char *group; /* "" for core */
    const char *plural, *singular, *kind, *list_kind;
    const char *const *short_names; /* NULL-terminated; NULL */
    const char *const *categories;
    bool namespaced;
    enum api_verbs verbs;
    struct api_kind_version versions[SL_KIND_VERSIONS]; /* the preferred one first */
    uint32_t n_versions, storage;                       /* index */
    const struct api_strategy *strategy;                /* NULL: an empty one */
    /* Field selectors besides metadata.name and metadata.namespace; NULL-terminated paths, at most
     * SL_KIND_SELECTABLE. What is absent is "" (or "false", of booleans: those end in '?', or "0",
     * of numbers: those end in '#'). "name=path": the two differ. */
    const char *const *selectable;
    /* Another kind, registered before, whose objects these are in another form (events.k8s.io and
     * core); api_kind_convert converts between the two, and objects are stored as the other kind.
     * NULL: its own. */
    struct api_kind *shares;
    /* Between its versions, where they differ in more than their name; NULL. */
    yyjson_mut_val *(*convert)(yyjson_val *object, const char *api_version, yyjson_mut_doc *doc);
    /* Nothing is stored; a POST is handled here (SelfSubjectAccessReview ...): the response is what
     * it makes of c->object. */
    void (*review)(struct api_change *c);
    uint32_t number;     /* in the store; given by api_kind_add */
    struct api_crd *crd; /* it comes from; NULL: built in */
    bool going;          /* its CRD is being deleted: nothing is created */
};

/* ---- the registry: rest/registry.c ---- */
/* NULL if there is none. */
struct api_kind *api_kind_find(struct sl_apiserver *s, const char *group, const char *plural);
struct api_kind *api_kind_by_kind(struct sl_apiserver *s, const char *group, const char *kind);
struct api_kind *api_kind_at(struct sl_apiserver *s, uint32_t number);
/* By group, plural: for (uint32_t i = 0; (k = api_kind_each(s, &i));) */
struct api_kind *api_kind_each(struct sl_apiserver *s, uint32_t *i);
const struct api_kind_version *api_kind_version(const struct api_kind *k, const char *version);
/* Starts serving the kind; discovery lists it. The kind is not copied. */
int api_kind_add(struct sl_apiserver *s, struct api_kind *k, struct sl_err *err) _must_check_;
void api_kind_remove(struct sl_apiserver *s, struct api_kind *k);
/* By its name in the store ("apps/deployments"); UINT32_MAX: not in use. */
uint32_t api_kind_number(const struct sl_apiserver *s, const char *name);
/* No kind with this number is served from now on: if there are no objects, the store drops it, too.
 * False: not yet, call again. */
bool api_kind_forget(struct sl_apiserver *s, uint32_t number) _must_check_;
/* Objects of the store by name, parsed; NULL if there is none. */
yyjson_doc *api_kind_read(struct sl_apiserver *s, const struct api_kind *k, const char *ns,
                          const char *name);

/* ---- kinds/, crd/crd.c ---- */
/* All built-in kinds, with schemas from the set. */
int api_kinds_builtin(struct sl_apiserver *s, struct sl_schemas *set,
                      struct sl_err *err) _must_check_;
/* Frees all kinds, those of CRDs too: at the end, when nothing is served. */
void api_kinds_done(struct sl_apiserver *s);

#endif
