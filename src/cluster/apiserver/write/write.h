/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a write:
 *
 *     build.c                a body becomes an object, in the stored version; or a patch is applied
 *     admission/admission.c  mutating admission
 *     write.c                metadata (meta.c), the kind's own preparation, validation
 *     admission/admission.c  validating admission
 *     write.c                into the store; if the object changed meanwhile, all steps again
 *
 * Each step answers the request itself if it is the last one.
 */
#ifndef SL_CLUSTER_APISERVER_WRITE_WRITE_H
#define SL_CLUSTER_APISERVER_WRITE_WRITE_H

#include "cluster/apiserver/server.h"
#include "lib/json/mutable.h"

enum sl_write_what {
    SL_WRITE_CREATE,
    SL_WRITE_UPDATE,
    SL_WRITE_PATCH,
    SL_WRITE_POST,
    SL_WRITE_DELETE
};
enum sl_patch_type { SL_PATCH_JSON, SL_PATCH_MERGE, SL_PATCH_STRATEGIC, SL_PATCH_APPLY };

struct sl_delete_options {
    int64_t grace;             /* -1: absent */
    const char *uid, *version; /* preconditions; NULL: none */
    const char *propagation;   /* ""; orphanDependents is translated */
    bool orphan_false;         /* orphanDependents was given, and is false */
    bool dry_run;
    const char *text; /* as JSON, for admission */
};

struct sl_write {
    struct sl_rq *rq;
    enum sl_write_what what;
    enum sl_patch_type patch;
    yyjson_doc *body;      /* NULL: not read yet (patches), or none */
    struct sl_strict sent; /* unknown and duplicate fields in a patch itself */
    struct sl_delete_options del;
    uint32_t tries;

    /* of this try */
    struct sl_change_in c;
    struct sl_field_errs errs;
    struct sl_strict strict;
    struct sl_object *base;    /* that c.old was read from; NULL: it is created */
    yyjson_doc *old, *made;    /* made: c.object as it is, or was when it was last read */
    SL_VEC(yyjson_doc *) kept; /* that c.object has texts of */
    const char *name;          /* also of what is created */
    const char *other_kind, *other_version; /* of a custom resource; NULL: the right ones */
    bool applied;                           /* managed fields are done */
    yyjson_mut_val
        *answer; /* of a POST to a subresource, in c.doc; NULL: a Status, or the object */
    bool quiet;  /* responds with a Status of success */
    struct sl_admission *admission;
};

static inline const struct sl_strategy *sl_strategy_of(const struct sl_kind *k) {
    static const struct sl_strategy none;
    return k->strategy ? k->strategy : &none;
}

/* ---- build.c ---- */
/* Builds c.object from the body and c.old. False: the request was answered. */
bool sl_make(struct sl_write *w);
/* Decodes a body posted to a subresource, of this type; false: the error was answered. */
bool sl_posted_is_read(struct sl_write *w, const struct sl_schema *schema);
/* Sets managedFields in the response. */
void sl_posted_is_managed(struct sl_write *w, const struct sl_schema *schema,
                          yyjson_mut_val *answer);
/* Tracks ownership of the fields that differ. */
void sl_manage(struct sl_write *w);
/* The type of a patch by its Content-Type; false: 415 was answered. */
bool sl_patch_type(struct sl_rq *rq, enum sl_patch_type *ret);

/* ---- meta.c ---- */
/* Options of the query that all writes have; false: 422 was answered. */
bool sl_options_check(struct sl_write *w);
/* The system's fields of metadata: new, or as they were. */
void sl_meta_create(struct sl_write *w);
void sl_meta_update(struct sl_write *w);
void sl_meta_generation(struct sl_write *w);
/* "abc" + five letters. */
const char *sl_name_generate(struct sl_rq *rq, const char *base);
void sl_meta_validate(struct sl_write *w, yyjson_val *object);

/* ---- admission/admission.c ---- */
void sl_uuid(struct sl_prng *p, char out[37]);
enum sl_admit_phase { SL_ADMIT_MUTATE, SL_ADMIT_VALIDATE };
/* Calls 'next' when admission has passed, at once unless a webhook is called; if it rejects, the
 * request was answered. */
void sl_admit(struct sl_write *w, enum sl_admit_phase phase, void (*next)(struct sl_write *w));
void sl_admit_free(struct sl_write *w);

/* ---- write.c ---- */
struct sl_write *sl_write_new(struct sl_rq *rq, enum sl_write_what what);
/* A new try: what the last one made is gone. */
void sl_write_begin(struct sl_write *w);
/* Reads what there is; w->base and w->c.old are NULL if there is nothing. */
void sl_write_load(struct sl_write *w);
/* Answers the request with the errors of the kind's functions; false: there are none. */
bool sl_write_refused(struct sl_write *w);
/* A document that what is made may point into. */
yyjson_val *sl_write_keep(struct sl_write *w, yyjson_doc *doc);
/* c.object becomes w->made. */
void sl_write_close(struct sl_write *w);
/* Whether the object is unchanged since sl_write_load. */
bool sl_write_current(struct sl_write *w);
/* Stores it, and returns a reference; false: the error was answered. */
bool sl_write_store(struct sl_write *w, struct sl_object **ret);
/* Stores c.object, except on a dry run; then answers with it. */
void sl_write_put(struct sl_write *w, int status);
/* Removes it from the store; c.object is the response. */
void sl_write_take_out(struct sl_write *w, int status, bool answer_object);
/* Finalizers, or the kind, keep it? */
bool sl_write_held(const struct sl_write *w, yyjson_val *object);
/* Does the whole write; again, if it must be. */
void sl_write_run(struct sl_write *w);

/* ---- post.c ---- */
void sl_post(struct sl_rq *rq);
bool sl_post_make(struct sl_write *w);

/* ---- delete.c ---- */
/* Checks the preconditions of a deletion; false: the request was answered. */
bool sl_delete_preconditions(struct sl_write *w);
void sl_remove_run(struct sl_write *w);
/* From a body or the query; false: the request was answered. */
bool sl_delete_options(struct sl_write *w, yyjson_val *body);

#endif
