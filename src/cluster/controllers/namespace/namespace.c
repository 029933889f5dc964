/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces that are being deleted are emptied: pass after pass over all kinds, which are listed
 * and, where there is something, deleted, until a pass finds nothing; then the finalizer is
 * removed, and the namespace deleted. The server creates nothing new in there meanwhile, and
 * discovery is read again before the first pass, so a pass that found nothing, and during which no
 * kind was added, has seen everything.
 */
#include "cluster/controllers/namespace/namespace.h"
#include "cluster/controllers/core/ceilings.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/log/log.h"

#define PAUSE_MIN (50 * SL_MSEC)
#define PAUSE_MAX (2 * SL_SEC)
#define MAX_TEXT 8192u
#define PAGE "500"

/* ---- reading ---- */

static void read_labels(struct sl_cluster *c, struct cl_namespace *n, yyjson_val *labels) {
    uint64_t hash = sl_json_hash(1, labels);

    if (hash == n->labels_hash)
        return;
    n->labels_hash = hash;
    sl_arena_done(&n->arena);
    sl_arena_init(&n->arena, CL_MAX_LABELS);
    cl_labels_read(&n->arena, labels, &n->labels);
    n->over_limit = sl_arena_full(&n->arena);
    if (n->over_limit) { /* no selector will take it */
        n->labels = (struct sl_labels){0};
        sl_arena_done(&n->arena);
        sl_log(SL_LOG_WARN, "namespace labels ignored: too many labels",
               SL_S("namespace", n->rec.name));
    }
    c->spec.scheduler->namespaces_changed(c);
}

bool cl_ns_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_cluster *c = ctx;
    struct cl_namespace *n = cl_namespace_of(r);
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(CL_MAX_COPY);
    size_t i, max;
    yyjson_val *v;

    read_labels(c, n, sl_json_at(o, "metadata.labels"));
    n->emptied_by_us = false;
    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (sl_json_at(o, "spec.finalizers"), i, max, v) {
        if (yyjson_equals_str(v, "kubernetes")) {
            n->emptied_by_us = true;
            continue;
        }
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_val(&j, NULL, v);
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&n->finalizers);
    n->finalizers = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
    cl_conditions_read(&n->conditions, sl_json_at(o, "status.conditions"));
    return true;
}

static void clear_leftovers(struct cl_leftovers *l) {
    for (uint32_t i = 0; i < l->kinds.n; i++)
        sl_freep(&l->kinds.v[i]);
    for (uint32_t i = 0; i < l->finalizers.n; i++)
        sl_freep(&l->finalizers.v[i]);
    sl_vec_clear(&l->kinds);
    sl_vec_clear(&l->finalizers);
    l->objects = 0;
    l->failed = false;
}

void cl_ns_done(struct sl_rec *r) {
    struct cl_namespace *n = cl_namespace_of(r);

    sl_freep(&n->finalizers);
    sl_arena_done(&n->arena);
    cl_conditions_done(&n->conditions);
    cl_conditions_done(&n->desired_conditions);
    clear_leftovers(&n->found);
    sl_vec_free(&n->found.kinds);
    sl_vec_free(&n->found.finalizers);
}

/* ---- the passes ---- */

static void begin_pass(struct sl_cluster *c, struct cl_namespace *n) {
    clear_leftovers(&n->found);
    n->at = 0;
    n->added = c->gc->added;
    n->step = NS_LIST;
}

/* The next kind whose objects are in namespaces, NULL at the end. */
static const struct cl_gc_resource *resource_at(const struct sl_cluster *c,
                                                struct cl_namespace *n) {
    for (; n->at < c->gc->resources.n; n->at++) {
        const struct cl_gc_resource *r = c->gc->resources.v[n->at];
        if (r && r->namespaced && r->can_delete_all)
            return r;
    }
    return NULL;
}

static int by_text(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void report_kinds(struct cl_leftovers *l, struct sl_buf *b) {
    sl_buf_puts(b, "Some resources are remaining: ");
    qsort(l->kinds.v, l->kinds.n, sizeof l->kinds.v[0], by_text);
    for (uint32_t i = 0; i < l->kinds.n; i++)
        sl_buf_printf(b, "%s%s", i ? ", " : "", l->kinds.v[i]);
}

static void report_finalizers(struct cl_leftovers *l, struct sl_buf *b) {
    const char *comma = "";

    sl_buf_puts(b, "Some content in the namespace has finalizers remaining: ");
    qsort(l->finalizers.v, l->finalizers.n, sizeof l->finalizers.v[0], by_text);
    for (uint32_t i = 0, end; i < l->finalizers.n; i = end) {
        for (end = i;
             end < l->finalizers.n && strcmp(l->finalizers.v[end], l->finalizers.v[i]) == 0;)
            end++;
        sl_buf_printf(b, "%s%s in %u resource instances", comma, l->finalizers.v[i], end - i);
        comma = ", ";
    }
}

/* As in Kubernetes: all of these conditions, with a message where there is one. */
static void set_conditions(struct sl_cluster *c, struct cl_namespace *n) {
    static const char *const all[][3] = {
        {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
         "All resources successfully discovered"},
        {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
         "All legacy kube types successfully parsed"},
        {"NamespaceDeletionContentFailure", "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization"},
        {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
        {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
         "All content-preserving finalizers finished"},
    };
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(MAX_TEXT);

    cl_conditions_copy(&n->desired_conditions, &n->conditions);
    for (size_t i = 0; i < SL_LEN(all); i++) {
        const struct cl_condition *was = cl_condition(&n->conditions, all[i][0]);
        const char *status = "False", *reason = all[i][1];
        sl_buf_clear(&b);
        sl_buf_puts(&b, all[i][2]);
        if (i == 3 && n->found.kinds.n) {
            status = "True", reason = "SomeResourcesRemain";
            sl_buf_clear(&b);
            report_kinds(&n->found, &b);
        } else if (i == 4 && n->found.finalizers.n) {
            status = "True", reason = "SomeFinalizersRemain";
            sl_buf_clear(&b);
            report_finalizers(&n->found, &b);
        }
        if (was && strcmp(was->message, sl_buf_str(&b)) == 0 && strcmp(was->status, status) == 0)
            continue;
        sl_time changed = was && strcmp(was->status, status) == 0 ? was->changed : c->client->wall;
        cl_condition_drop(&n->desired_conditions, all[i][0]);
        if (cl_condition_set(&n->desired_conditions, all[i][0], status, reason, sl_buf_str(&b),
                             changed))
            n->desired_conditions.v[n->desired_conditions.n - 1].updated =
                0; /* this kind has no such time */
    }
}

/* Also after a pass that could not see everything the next one follows. */
static void end_pass(struct sl_cluster *c, struct cl_namespace *n) {
    sl_span pause = n->pass > 8 ? PAUSE_MAX : PAUSE_MIN << n->pass;

    n->pass++;
    if (!n->found.objects && !n->found.failed && n->added == c->gc->added && !c->gc->call.v) {
        n->step = NS_FINALIZE;
        sl_rec_write(&n->rec);
        return;
    }
    n->step = NS_IDLE;
    if (n->pass > 1) { /* after the first it is seen what is really left */
        set_conditions(c, n);
        if (!cl_conditions_same(&n->desired_conditions, &n->conditions))
            n->step = NS_REPORT;
    }
    if (n->step == NS_REPORT)
        sl_rec_write(&n->rec);
    else
        sl_rec_write_at(&n->rec, c->client->mono + (n->pass == 1 ? 0 : pause));
}

static void take_list(struct sl_cluster *c, struct cl_namespace *n, const struct cl_gc_resource *r,
                      const struct sl_kube_reply *reply) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(d), "items"), *o, *f;
    int64_t more = sl_json_int(yyjson_doc_get_root(d), "metadata.remainingItemCount", 0);
    size_t i, max, j, k;
    char text[600];

    (void)c;
    if (!d)
        n->found.failed = true;
    if (yyjson_arr_size(items) == 0) {
        n->at++;
    } else {
        n->found.objects += yyjson_arr_size(items);
        sl_fmt_short(text, sizeof text, "%s.%s has %lld resource instances", r->plural, r->group,
                     (long long)yyjson_arr_size(items) + (long long)more);
        *sl_vec_push(&n->found.kinds) = sl_strdup(text);
        yyjson_arr_foreach (items, i, max, o)
            yyjson_arr_foreach (sl_json_at(o, "metadata.finalizers"), j, k, f)
                if (yyjson_is_str(f))
                    *sl_vec_push(&n->found.finalizers) = sl_strdup(sl_json_text(f));
        n->step = NS_DELETE;
    }
}

/* ---- looking ---- */

void cl_ns_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_namespace *n = cl_namespace_of(r);

    if (n->over_limit)
        sl_rec_event(
            r, "namespace-controller", true, "LabelsIgnored",
            "the labels take more than %zu bytes of memory: selectors of pods do not see them",
            CL_MAX_LABELS);
    if (!r->deleting) {
        if (cl_ns_defaults_missing(c, n))
            sl_rec_write(r);
        return;
    }
    if (n->emptied_by_us && n->step == NS_IDLE && !n->ticket && cl_on(c, CL_NAMESPACES)) {
        n->ticket = cl_resources_refresh(c->gc);
        n->step = NS_DISCOVER;
        sl_rec_write(r);
    }
}

/* ---- writing ---- */

static void put_collection(const struct cl_namespace *n, const struct cl_gc_resource *r,
                           struct sl_write *w) {
    sl_buf_printf(&w->path, "%s/namespaces/%s/%s", r->path, n->rec.name, r->plural);
}

static bool build_pass(struct sl_cluster *c, struct cl_namespace *n, struct sl_write *w) {
    const struct cl_gc_resource *r = resource_at(c, n);

    if (!r) {
        end_pass(c, n);
        return false;
    }
    put_collection(n, r, w);
    w->foreign = true;
    if (n->step == NS_LIST) {
        sl_buf_puts(&w->path, "?limit=" PAGE);
        w->accept = SL_AS_METADATA_LIST;
    } else {
        w->method = SL_DELETE;
        sl_buf_puts(&w->path, "?propagationPolicy=Background");
    }
    return true;
}

static bool build_deletion(struct sl_cluster *c, struct cl_namespace *n, struct sl_write *w) {
    if (!n->emptied_by_us || !cl_on(c, CL_NAMESPACES))
        return false;
    if (n->step == NS_DISCOVER && c->gc->known < n->ticket) {
        sl_rec_write_at(&n->rec, c->client->mono + PAUSE_MIN);
        return false;
    }
    if (n->step == NS_DISCOVER || n->step == NS_IDLE)
        begin_pass(c, n);
    if (n->step == NS_LIST || n->step == NS_DELETE)
        return build_pass(c, n, w);
    if (n->step == NS_REPORT) {
        sl_rec_build_guarded(&n->rec, "status", w);
        sl_jw_end(&w->json);
        sl_jw_object(&w->json, "status");
        cl_conditions_put(&w->json, &n->desired_conditions);
        return true;
    }
    sl_rec_path(&w->path, &n->rec, "finalize");
    sl_rec_path(&w->read_path, &n->rec, NULL);
    w->method = SL_PUT;
    w->content_type = SL_JSON;
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "v1");
    sl_jw_str(j, "kind", "Namespace");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", n->rec.name);
    sl_jw_str(j, "uid", n->rec.uid);
    sl_jw_strf(j, "resourceVersion", "%llu", (unsigned long long)n->rec.rv);
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_raw(j, "finalizers", n->finalizers ? n->finalizers : "[]");
    return true;
}

bool cl_ns_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct cl_namespace *n = cl_namespace_of(r);

    return r->deleting ? build_deletion(c, n, w) : cl_ns_defaults_build(c, n, w);
}

static void deletion_written(struct sl_cluster *c, struct cl_namespace *n, enum sl_written how,
                             const struct sl_kube_reply *reply) {
    const struct cl_gc_resource *r =
        n->step == NS_LIST || n->step == NS_DELETE ? resource_at(c, n) : NULL;

    if (how == SL_WRITE_FAILED)
        return; /* the same again */
    if (n->step == NS_REPORT) {
        n->step = NS_IDLE; /* if it failed, the next pass reports it */
        sl_rec_write_at(&n->rec, c->client->mono + PAUSE_MAX / 4);
        return;
    }
    if (n->step == NS_FINALIZE) {
        if (how != SL_WRITTEN)
            sl_rec_write_at(&n->rec, c->client->mono + PAUSE_MIN);
        return;
    }
    if (r && n->step == NS_LIST && how == SL_WRITTEN) {
        take_list(c, n, r, reply);
    } else {
        n->found.failed |= how == SL_WRITE_REFUSED || how == SL_WRITE_CONFLICT;
        n->step = NS_LIST;
        n->at++;
    }
    sl_rec_write(&n->rec);
}

void cl_ns_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    (void)w;
    if (r->deleting)
        deletion_written(c, cl_namespace_of(r), how, reply);
    sl_rec_enqueue(r);
    if (!r->deleting)
        sl_rec_write(r);
}
