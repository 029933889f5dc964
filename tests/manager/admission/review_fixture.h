/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission of one object in a small cluster: the response of a handler, and its patch.
 */
#ifndef SL_TESTS_MANAGER_ADMISSION_REVIEW_FIXTURE_H
#define SL_TESTS_MANAGER_ADMISSION_REVIEW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json/json.h"
#include "manager/admission/job/kind.h"

#define Q "kueue.x-k8s.io/"
#define NO_GATE SL_GATES
#define QUEUE(q) "\"" Q "queue-name\":\"" q "\""
#define LABEL(k, v) "\"" Q k "\":\"" v "\""
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* ---- a small cluster ---- */

struct cluster {
    bool default_queue, managed_owner, managed_ns, default_class, flux_ns;
    const char *runtime;    /* the text of the one that there is: "tr" of a namespace; NULL: none */
    const char *dispatcher; /* the LocalQueue that sends work to other clusters; NULL: none */
};

static inline bool fx_queue_open(void *ctx, const char *ns, const char *name) {
    const struct cluster *c = ctx;
    return c->default_queue && strcmp(ns, "ns") == 0 && strcmp(name, "default") == 0;
}
static inline bool fx_queue_dispatches(void *ctx, const char *ns, const char *name) {
    const struct cluster *c = ctx;
    return c->dispatcher && strcmp(ns, "ns") == 0 && strcmp(name, c->dispatcher) == 0;
}
static inline bool fx_ns_managed(void *ctx, const char *ns) {
    (void)ns;
    return ((const struct cluster *)ctx)->managed_ns;
}
static inline bool fx_ns_flux(void *ctx, const char *ns) {
    (void)ns;
    return ((const struct cluster *)ctx)->flux_ns;
}
static inline bool fx_owner_managed(void *ctx, const char *ns,
                                    const struct sl_review_owner_ref *o) {
    return ((const struct cluster *)ctx)->managed_owner && *ns && *o->name;
}
static inline bool fx_class_exists(void *ctx, const char *name) {
    return ((const struct cluster *)ctx)->default_class && strcmp(name, "default") == 0;
}

static inline yyjson_doc *fx_runtime(void *ctx, const char *ns,
                                     const struct sl_jobkind_need *need) {
    const struct cluster *c = ctx;
    bool there =
        c->runtime && !need->cluster && strcmp(ns, "ns") == 0 && strcmp(need->name, "tr") == 0;
    return there ? yyjson_read(c->runtime, strlen(c->runtime), 0) : NULL;
}

struct fixture {
    struct cluster cluster;
    struct sl_settings settings;
    struct sl_review_view view;
    struct sl_arena arena;
    struct sl_review_call call;
    const char *kind; /* of a job, as in a path: "batch-v1-job"; NULL: it is none */
    yyjson_doc *object, *old;
};

/* old NULL: a creation. One gate may be flipped. The webhooks that act are in f->view. */
static inline void begin(struct fixture *f, const char *object, const char *old,
                         enum sl_feature_gate flipped) {
    for (enum sl_feature_gate g = 0; g < SL_GATES; g++)
        f->settings.gates[g] = sl_feature_gate_default(g) != (g == flipped);
    f->settings.framework[SL_FW_JOB] = true;
    f->view.ctx = &f->cluster;
    f->view.settings = &f->settings;
    f->view.queue_open = f->view.queue_exists = fx_queue_open;
    f->view.queue_dispatches = fx_queue_dispatches;
    f->view.ns_managed = fx_ns_managed;
    f->view.ns_flux = fx_ns_flux;
    f->view.owner_managed = fx_owner_managed;
    f->view.priority_class_exists = fx_class_exists;
    f->view.runtime = fx_runtime;
    f->object = yyjson_read(object, strlen(object), 0);
    f->old = old ? yyjson_read(old, strlen(old), 0) : NULL;
    if (!f->object || (old && !f->old))
        fail_msg("no JSON: %s", f->object ? old : object);
    sl_arena_init(&f->arena, 1 << 20);
    f->call = (struct sl_review_call){.view = &f->view,
                                      .op = old ? SL_REVIEW_UPDATE : SL_REVIEW_CREATE,
                                      .ns = "ns",
                                      .name = "name",
                                      .subresource = "",
                                      .object = yyjson_doc_get_root(f->object),
                                      .old = yyjson_doc_get_root(f->old),
                                      .arena = &f->arena,
                                      .errs.arena = &f->arena};
    if (f->kind)
        assert_true(adm_kind_find(&f->view, f->kind, &f->call.row, &f->call.rules));
}

static inline void end(struct fixture *f) {
    yyjson_mut_doc_free(f->call.edit);
    yyjson_doc_free(f->object);
    yyjson_doc_free(f->old);
    sl_arena_done(&f->arena);
}

/* ---- tables ---- */

/* The request, and the whole text of the refusal; "" if there is none. */
struct rule_case {
    const char *object, *old, *wanted;
    enum sl_feature_gate flipped;
};

/* 'base' is the cluster and whose webhooks act. */
static inline void check_rules(const struct fixture *base, sl_review_fn fn,
                               const struct rule_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct fixture f = *base;
        struct sl_buf text;
        begin(&f, cases[i].object, cases[i].old, cases[i].flipped);
        assert_int_equal(fn(&f.call), 0);
        sl_buf_init(&text, 1 << 16);
        sl_field_errs_print(&f.call.errs, &text);
        if (strcmp(sl_buf_str(&text), cases[i].wanted) != 0)
            print_error("case %zu: %s\n", i, cases[i].object);
        assert_string_equal(sl_buf_str(&text), cases[i].wanted);
        sl_buf_done(&text);
        end(&f);
    }
}

/* What a mutating handler made of the object, as JSON to be freed; NULL: it did not touch it. */
static inline char *edited(const struct fixture *f) {
    return f->call.edit ? yyjson_mut_write(f->call.edit, 0, NULL) : NULL;
}

#endif
