/*
 * Kinds: what the server needs to know of a resource to serve it. Built-in ones are tables and a few functions
 * (kinds_*.c), those of CRDs are made from the CRD's text (crd.c). Nothing but tables differs between them. Private to
 * src/apiserver.
 */
#ifndef SL_APISERVER_KIND_H
#define SL_APISERVER_KIND_H

#include "api/field.h"
#include "apiserver/apiserver.h"
#include "merge/merge.h"
#include "schema/check.h"
#include "schema/types.h"
#include "store/store.h"

/* What can be asked of a resource. */
enum sl_verbs {
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

/* A column of a table. The value is a path ("status.phase", or JSONPath in a CRD: ".spec.x"), or comes from 'cell', which
 * writes one JSON value. */
struct sl_column {
    const char *name, *type, *format, *doc; /* "Name", "string", "name", "..." */
    int priority;                           /* 0: always; 1: with -o wide */
    const char *path;
    void (*cell)(yyjson_val *object, sl_time now, struct sl_buf *out);
};

/* One write on its way; what a kind's functions may look at and change. */
struct sl_change_in {
    struct sl_apiserver *server;
    const struct sl_kind *kind;
    const char *subresource; /* "" or "status", "scale", "binding" ... */
    yyjson_val *old;         /* NULL: it is created */
    yyjson_mut_doc *doc;     /* of what it becomes */
    yyjson_mut_val *object;
    sl_time now;
    struct sl_arena *arena;
    struct sl_field_errs *errs;
};

/* What a kind has of its own. NULL: nothing. */
struct sl_strategy {
    /* Before validation, after the schema's defaults: fields that only the server sets, defaults that depend on others, what an
     * update through this subresource may not touch. metadata, status (kept or dropped by subresource) and generation are
     * done for all kinds already. */
    void (*prepare)(struct sl_change_in *c);
    /* What the schema cannot say; c->old is NULL on creation. */
    void (*validate)(struct sl_change_in *c, yyjson_val *object);
    /* Does the change of spec count as a new generation? NULL: any change outside metadata and status does. */
    bool (*is_new_generation)(yyjson_val *old, yyjson_val *object);
};

struct sl_kind_version {
    const char *name; /* "v1" */
    const struct sl_schema *schema;
    bool served, deprecated;
    const char *deprecation; /* the warning; NULL */
    const struct sl_column *columns;
    uint32_t n_columns;
    bool has_status, has_scale;
    /* Of scale, as in a CRD. */
    const char *spec_replicas, *status_replicas, *label_selector;
};

#define SL_KIND_VERSIONS 8u
struct sl_kind {
    const char *group; /* "" for core */
    const char *plural, *singular, *kind, *list_kind;
    const char *const *short_names; /* NULL-terminated; NULL */
    const char *const *categories;
    bool namespaced;
    enum sl_verbs verbs;
    struct sl_kind_version versions[SL_KIND_VERSIONS]; /* the preferred one first */
    uint32_t n_versions, storage; /* index */
    const struct sl_strategy *strategy;
    /* Field selectors besides metadata.name and metadata.namespace; NULL-terminated paths. */
    const char *const *selectable;
    uint32_t number; /* in the store */
    struct sl_crd *crd; /* it comes from; NULL: built in */
    bool going;         /* its CRD is being deleted */
};

/* ---- the registry ---- */
/* NULL if there is none. */
struct sl_kind *sl_kind_find(struct sl_apiserver *s, const char *group, const char *plural);
struct sl_kind *sl_kind_by_kind(struct sl_apiserver *s, const char *group, const char *kind);
struct sl_kind *sl_kind_at(struct sl_apiserver *s, uint32_t number);
/* By group, preferred version, plural: for (uint32_t i = 0; (k = sl_kind_each(s, &i));) */
struct sl_kind *sl_kind_each(struct sl_apiserver *s, uint32_t *at);
const struct sl_kind_version *sl_kind_version(const struct sl_kind *k, const char *version);
/* From now on it is served; discovery says so. The kind is kept, not copied. */
int sl_kind_add(struct sl_apiserver *s, struct sl_kind *k, struct sl_err *err) _must_check_;
void sl_kind_remove(struct sl_apiserver *s, struct sl_kind *k);
/* All built-in kinds, with schemas from the set. */
int sl_kinds_builtin(struct sl_apiserver *s, struct sl_schemas *set, struct sl_err *err) _must_check_;

#endif
