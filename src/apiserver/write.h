/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A write on its way:
 *
 *     make.c     what was sent becomes an object, in the stored version; or a patch is applied
 *     admit.c    admission may change it
 *     write.c    metadata (meta.c), the kind's own preparation, validation
 *     admit.c    admission may refuse it
 *     write.c    into the store; if the object changed meanwhile, all over again
 *
 * Each step answers the request itself if it is the last one.
 */
#ifndef SL_APISERVER_WRITE_H
#define SL_APISERVER_WRITE_H

#include "apiserver/mut.h"
#include "apiserver/server.h"

enum sl_write_what {
    SL_WRITE_CREATE,
    SL_WRITE_UPDATE,
    SL_WRITE_PATCH,
    SL_WRITE_POST,
    SL_WRITE_DELETE
};
enum sl_patch_type { SL_PATCH_JSON, SL_PATCH_MERGE, SL_PATCH_STRATEGIC, SL_PATCH_APPLY };

struct sl_delete_options {
    int64_t grace;             /* -1: not said */
    const char *uid, *version; /* preconditions; NULL: none */
    const char *propagation;   /* ""; orphanDependents is translated */
    bool orphan_false;         /* orphanDependents was said, and is no */
    bool dry_run;
    const char *text; /* as JSON, for admission */
};

struct sl_write {
    struct sl_rq *rq;
    enum sl_write_what what;
    enum sl_patch_type patch;
    yyjson_doc *body;      /* NULL: not read yet (patches), or none */
    struct sl_strict sent; /* what is unknown or said twice in a patch itself */
    struct sl_delete_options del;
    uint32_t tries;

    /* of this try */
    struct sl_change_in c;
    struct sl_field_errs errs;
    struct sl_strict strict;
    struct sl_object *base; /* that c.old was read from; NULL: it is created */
    yyjson_doc *old,
        *made; /* made: c.object as it is, or was when somebody last had to look at it */
    SL_VEC(yyjson_doc *) kept;              /* that c.object has texts of */
    const char *name;                       /* also of what is created */
    const char *other_kind, *other_version; /* that a custom resource says; NULL: the right ones */
    bool applied;                           /* managed fields are done */
    yyjson_mut_val
        *answer; /* of a POST to a subresource, in c.doc; NULL: a Status, or the object */
    bool quiet;  /* answers with a Status of success */
    struct sl_admission *admission;
};

static inline const struct sl_strategy *sl_strategy_of(const struct sl_kind *k) {
    static const struct sl_strategy none;
    return k->strategy ? k->strategy : &none;
}

/* ---- make.c ---- */
/* c.object, from what was sent and c.old. False: it was answered. */
bool sl_make(struct sl_write *w);
/* What was posted to a subresource, of this type, can be read; false: it was answered why not. */
bool sl_posted_is_read(struct sl_write *w, const struct sl_schema *schema);
/* Says in the answer to it whose its fields are. */
void sl_posted_is_managed(struct sl_write *w, const struct sl_schema *schema,
                          yyjson_mut_val *answer);
/* Whose the fields are that differ. */
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

/* ---- admit.c ---- */
void sl_uuid(struct sl_prng *p, char out[37]);
enum sl_admit_phase { SL_ADMIT_MUTATE, SL_ADMIT_VALIDATE };
/* Calls 'next' when admission is through, at once unless a webhook is to be asked; if it refuses,
 * it has answered. */
void sl_admit(struct sl_write *w, enum sl_admit_phase phase, void (*next)(struct sl_write *w));
void sl_admit_free(struct sl_write *w);

/* ---- write.c ---- */
struct sl_write *sl_write_new(struct sl_rq *rq, enum sl_write_what what);
/* A new try: what the last one made is gone. */
void sl_write_begin(struct sl_write *w);
/* Reads what there is; w->base and w->c.old are NULL if there is nothing. */
void sl_write_load(struct sl_write *w);
/* Ends the request with what the kind's functions said; false: they said nothing. */
bool sl_write_refused(struct sl_write *w);
/* A document that what is made may point into. */
yyjson_val *sl_write_keep(struct sl_write *w, yyjson_doc *doc);
/* c.object becomes w->made. */
void sl_write_close(struct sl_write *w);
/* Nobody changed the object since sl_write_load? */
bool sl_write_current(struct sl_write *w);
/* Puts it, and gives a reference; false: it was answered why not. */
bool sl_write_store(struct sl_write *w, struct sl_object **ret);
/* Puts c.object, or on a dry run does not; then answers with it. */
void sl_write_put(struct sl_write *w, int status);
/* Takes it out of the store; c.object is what is answered. */
void sl_write_take_out(struct sl_write *w, int status, bool answer_object);
/* Finalizers, or the kind, keep it? */
bool sl_write_held(const struct sl_write *w, yyjson_val *object);
/* Does the whole write; again, if it must be. */
void sl_write_run(struct sl_write *w);

/* ---- post.c ---- */
void sl_post(struct sl_rq *rq);
bool sl_post_make(struct sl_write *w);

/* ---- remove.c ---- */
/* It is what the client means to delete; false: it was answered. */
bool sl_delete_preconditions(struct sl_write *w);
void sl_remove_run(struct sl_write *w);
/* From a body or the query; false: it was answered. */
bool sl_delete_options(struct sl_write *w, yyjson_val *body);

#endif
