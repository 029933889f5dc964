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

enum api_write_what {
    SL_WRITE_CREATE,
    SL_WRITE_UPDATE,
    SL_WRITE_PATCH,
    SL_WRITE_POST,
    SL_WRITE_DELETE
};
enum api_patch_type { SL_PATCH_JSON, SL_PATCH_MERGE, SL_PATCH_STRATEGIC, SL_PATCH_APPLY };

struct api_delete_options {
    int64_t grace;             /* -1: absent */
    const char *uid, *version; /* preconditions; NULL: none */
    const char *propagation;   /* ""; orphanDependents is translated */
    bool orphan_false;         /* orphanDependents was given, and is false */
    bool dry_run;
    const char *text; /* as JSON, for admission */
};

struct api_write {
    struct api_rq *rq;
    enum api_write_what what;
    enum api_patch_type patch;
    yyjson_doc *body;      /* NULL: not read yet (patches), or none */
    struct sl_strict sent; /* unknown and duplicate fields in a patch itself */
    struct api_delete_options del;
    uint32_t tries;

    /* of this try */
    struct api_change c;
    struct sl_field_errs errs;
    struct sl_strict strict;
    struct sl_store_object *base; /* that c.old was read from; NULL: it is created */
    yyjson_doc *old, *made;       /* made: c.object as it is, or was when it was last read */
    SL_VEC(yyjson_doc *) referenced_docs;   /* that c.object has texts of */
    const char *name;                       /* also of what is created */
    const char *other_kind, *other_version; /* of a custom resource; NULL: the right ones */
    bool applied;                           /* managed fields are done */
    yyjson_mut_val
        *answer; /* of a POST to a subresource, in c.doc; NULL: a Status, or the object */
    bool quiet;  /* responds with a Status of success */
    struct api_admission *admission;
};

static inline const struct api_strategy *api_strategy_of(const struct api_kind *k) {
    static const struct api_strategy none;
    return k->strategy ? k->strategy : &none;
}

/* ---- build.c ---- */
/* Builds c.object from the body and c.old. False: the request was answered. */
bool api_write_build_object(struct api_write *w);
/* Decodes a body posted to a subresource, of this type; false: the error was answered. */
bool api_post_check_body(struct api_write *w, const struct sl_schema *schema);
/* Sets managedFields in the response. */
void api_post_track_fields(struct api_write *w, const struct sl_schema *schema,
                           yyjson_mut_val *answer);
/* Tracks ownership of the fields that differ. */
void api_write_track_fields(struct api_write *w);
/* The type of a patch by its Content-Type; false: 415 was answered. */
bool api_patch_type(struct api_rq *rq, enum api_patch_type *ret);

/* ---- meta.c ---- */
/* Options of the query that all writes have; false: 422 was answered. */
bool api_options_check(struct api_write *w);
/* The system's fields of metadata: new, or as they were. */
void api_meta_create(struct api_write *w);
void api_meta_update(struct api_write *w);
void api_meta_generation(struct api_write *w);
/* "abc" + five letters. */
const char *api_name_generate(struct api_rq *rq, const char *base);
void api_meta_validate(struct api_write *w, yyjson_val *object);

/* ---- admission/admission.c ---- */
void api_uuid(struct sl_prng *p, char out[37]);
enum api_admit_phase { SL_ADMIT_MUTATE, SL_ADMIT_VALIDATE };
/* Calls 'next' when admission has passed, at once unless a webhook is called; if it rejects, the
 * request was answered. */
void api_admit(struct api_write *w, enum api_admit_phase phase, void (*next)(struct api_write *w));
void api_admit_free(struct api_write *w);

/* ---- write.c ---- */
struct api_write *api_write_new(struct api_rq *rq, enum api_write_what what);
/* A new try: what the last one made is gone. */
void api_write_begin(struct api_write *w);
/* Reads what there is; w->base and w->c.old are NULL if there is nothing. */
void api_write_load(struct api_write *w);
/* Answers the request with the errors of the kind's functions; false: there are none. */
bool api_write_refused(struct api_write *w);
/* A document that what is made may point into. */
yyjson_val *api_write_keep(struct api_write *w, yyjson_doc *doc);
/* c.object becomes w->made. */
void api_write_close(struct api_write *w);
/* Whether the object is unchanged since api_write_load. */
bool api_write_current(struct api_write *w);
/* Stores it, and returns a reference; false: the error was answered. */
bool api_write_store(struct api_write *w, struct sl_store_object **ret);
/* Stores c.object, except on a dry run; then answers with it. */
void api_write_put(struct api_write *w, int status);
/* Removes it from the store; c.object is the response. */
void api_write_take_out(struct api_write *w, int status, bool answer_object);
/* Finalizers, or the kind, keep it? */
bool api_write_held(const struct api_write *w, yyjson_val *object);
/* Does the whole write; again, if it must be. */
void api_write_run(struct api_write *w);

/* ---- post.c ---- */
void api_handle_post(struct api_rq *rq);
bool api_post_make(struct api_write *w);

/* ---- delete.c ---- */
/* Checks the preconditions of a deletion; false: the request was answered. */
bool api_delete_preconditions(struct api_write *w);
void api_delete_run(struct api_write *w);
/* From a body or the query; false: the request was answered. */
bool api_delete_options(struct api_write *w, yyjson_val *body);

#endif
