/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceFlavors and ClusterQueues as they should be: whole when they are created, and then the
 * fields that differ. Other fields of a ClusterQueue are somebody else's and stay.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/writer.h"
#include "manager/masterqueue/mq_int.h"

#define POOL_TOLERATION "pool.vk.io"
#define HOSTNAME "kubernetes.io/hostname"

/* ---- a flavor ---- */

static void put_labels(const struct mq *q, const struct sl_pool_payload *v, struct sl_jw *j) {
    sl_jw_object(j, "labels");
    if (q->labels) {
        _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(q->labels, strlen(q->labels));
        size_t i, n;
        yyjson_val *key, *val;
        sl_obj_foreach (yyjson_doc_get_root(d), i, n, key, val) {
            bool published = false;
            for (uint32_t k = 0; k < v->n_labels; k++)
                published |= strcmp(v->labels[k].key, sl_json_text(key)) == 0;
            if (!published)
                sl_jw_val(j, sl_json_text(key), val);
        }
    }
    for (uint32_t k = 0; k < v->n_labels; k++)
        sl_jw_str(j, v->labels[k].key, v->labels[k].value);
    sl_jw_end(j);
}

static void put_annotation(const struct mq_pool *p, struct sl_jw *j) {
    struct sl_buf *b = sl_jw_begin_str(j, SL_MQ_POOL_ANNOTATION);
    struct sl_jw text = SL_JW(b);
    sl_jw_object(&text, NULL);
    sl_jw_str(&text, "group", p->group);
    sl_jw_str(&text, "pool", p->name);
    sl_jw_raw(&text, "payload", p->payload);
    sl_jw_end(&text);
    sl_jw_end_str(j);
}

static void put_taint(struct sl_jw *j, const char *key, const char *value, const char *effect) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "key", key);
    if (*value)
        sl_jw_str(j, "value", value);
    sl_jw_str(j, "effect", effect);
    sl_jw_end(j);
}

static void put_flavor_spec(const struct mq_group *g, const struct mq_pool *p,
                            const struct sl_pool_payload *v, struct sl_jw *j) {
    sl_jw_object(j, "spec");
    sl_jw_object(j, "nodeLabels");
    if (*g->node)
        sl_jw_str(j, HOSTNAME, g->node);
    sl_jw_end(j);
    sl_jw_array(j, "nodeTaints");
    put_taint(j, SL_POOL_NODE_TAINT, "true", "NoSchedule");
    for (uint32_t i = 0; i < v->n_taints; i++)
        put_taint(j, v->taints[i].key, v->taints[i].value, v->taints[i].effect);
    sl_jw_end(j);
    sl_jw_array(j, "tolerations");
    put_taint(j, POOL_TOLERATION, p->name, "NoSchedule");
    sl_jw_end(j);
    sl_jw_end(j);
}

/* The whole object. False: it is not planned any more. */
static bool put_flavor(const struct mq *q, const char *name, struct sl_jw *j) {
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA(2 * SL_POOL_MAX_BYTES);
    const struct mq_plan_flavor *f = mq_plan_find(q->plan, name);
    const struct mq_pool *p = mq_pool_of_flavor(q, name);
    struct sl_pool_payload v;
    struct sl_err err;
    if (!f || !p || !p->payload || p->at == UINT32_MAX ||
        sl_pool_payload_read(p->payload, strlen(p->payload), &a, &v, &err) < 0 || sl_arena_full(&a))
        return false;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", MQ_KUEUE_API);
    sl_jw_str(j, "kind", "ResourceFlavor");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", name);
    put_labels(q, &v, j);
    sl_jw_object(j, "annotations");
    put_annotation(p, j);
    sl_jw_end(j);
    sl_jw_array(j, "ownerReferences");
    sl_rec_put_owner(j, &q->rec);
    sl_jw_end(j);
    sl_jw_end(j);
    put_flavor_spec(&q->spec->groups[p->at], p, &v, j);
    sl_jw_end(j);
    return true;
}

/* ---- a queue ---- */

/* Which of its queues has this name: "" the master; NULL: none, any more. */
const char *mq_borrower_of(const struct mq *q, const char *name) {
    if (strcmp(q->rec.name, name) == 0)
        return "";
    for (uint32_t i = 0; i < q->spec->n_borrowers; i++)
        if (strcmp(q->spec->borrowers[i], name) == 0)
            return q->spec->borrowers[i];
    return NULL;
}

static bool put_queue(const struct mq *q, const char *name, struct sl_jw *j) {
    const char *borrower = mq_borrower_of(q, name);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", MQ_KUEUE_API);
    sl_jw_str(j, "kind", "ClusterQueue");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", name);
    if (q->labels)
        sl_jw_raw(j, "labels", q->labels);
    sl_jw_array(j, "ownerReferences");
    sl_rec_put_owner(j, &q->rec);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    mq_plan_put_queue(q, borrower && !*borrower ? NULL : borrower ? borrower : name, j);
    sl_jw_end(j);
    sl_jw_end(j);
    return true;
}

bool mq_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct mq *q = mq_of(r);
    (void)ctx;
    if (!q->plan || q->plan->full)
        return false;
    return child->kind == MQ_FLAVOR ? put_flavor(q, child->name, body)
                                    : put_queue(q, child->name, body);
}

/* What should be, as a document; NULL: nothing is said about it. */
static yyjson_doc *desired(const struct mq *q, const struct sl_rec *r) {
    _cleanup_(sl_buf_done) struct sl_buf b =
        SL_BUF(r->kind == MQ_FLAVOR ? MQ_MAX_OBJECT : MQ_MAX_SPEC_TEXT);
    struct sl_jw j = SL_JW(&b);
    bool known = r->kind == MQ_FLAVOR ? put_flavor(q, r->name, &j) : put_queue(q, r->name, &j);
    if (sl_buf_full(&b) || !known)
        return NULL;
    return sl_json_doc(sl_buf_str(&b), b.len);
}

/* ---- patches ---- */

/* Sets a field, whether it was there or not. */
static void put_step(struct sl_jw *j, const char *path, yyjson_val *value) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "op", "add");
    sl_jw_str(j, "path", path);
    sl_jw_val(j, "value", value);
    sl_jw_end(j);
}

/* A JSON patch: it sets whole fields, whatever they had, and leaves all others alone. The version
 * makes it a conflict if the object has changed. */
static void begin_patch(const struct sl_rec *r, struct sl_write *w) {
    sl_rec_build_patch(r, NULL, w);
    w->content_type = SL_JSON_PATCH;
    struct sl_jw *j = &w->json;
    sl_jw_array(j, NULL);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "op", "replace");
    sl_jw_str(j, "path", "/metadata/resourceVersion");
    sl_jw_strf(j, "value", "%llu", (unsigned long long)r->rv);
    sl_jw_end(j);
}

/* The MasterQueue of an object that may be written; NULL: none. A flavor that somebody deletes
 * stays as long as queues name it, and follows its pool until then. */
static const struct mq *writer_of(const struct sl_rec *r) {
    struct sl_rec *owner = sl_inf_by_uid(r->table->informer, r->owner);
    if (!owner || owner->kind != MQ_MASTER_QUEUE || owner->deleting ||
        (r->deleting && r->kind != MQ_FLAVOR))
        return NULL;
    const struct mq *q = mq_of(owner);
    return q->plan && !q->plan->full ? q : NULL;
}

bool mq_flavor_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    const struct mq *q = writer_of(r);
    (void)ctx;
    if (!q)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *d = desired(q, r);
    yyjson_val *o = yyjson_doc_get_root(d);
    if (!d || mq_hash_flavor(o) == mq_flavor_of(r)->hash)
        return false;
    begin_patch(r, w);
    put_step(&w->json, "/metadata/labels", sl_json_at(o, "metadata.labels"));
    if (mq_flavor_of(r)->has_annotations)
        put_step(&w->json, "/metadata/annotations/masterqueues.vk.io~1pool",
                 sl_json_get(sl_json_at(o, "metadata.annotations"), SL_MQ_POOL_ANNOTATION));
    else
        put_step(&w->json, "/metadata/annotations", sl_json_at(o, "metadata.annotations"));
    put_step(&w->json, "/spec", sl_json_get(o, "spec"));
    return true;
}

/* A borrower that has lost its last flavor, or that nobody lends to any more: work that runs there
 * keeps the quota it has; nothing more is admitted. */
static bool keeps_flavors(const struct mq *q, struct sl_rec *r) {
    const char *borrower = mq_borrower_of(q, r->name);
    if (borrower && !*borrower)
        return false;
    return (!borrower || mq_plan_queue_size(q, borrower) == 0) && mq_queue_of(r)->reserving > 0;
}

bool mq_queue_is_right(const struct mq *q, struct sl_rec *r) {
    if (r->create_planned)
        return false;
    if (keeps_flavors(q, r))
        return mq_queue_of(r)->held;
    _cleanup_(sl_json_docp) yyjson_doc *d = desired(q, r);
    return mq_hash_queue(sl_json_at(yyjson_doc_get_root(d), "spec")) == mq_queue_of(r)->hash;
}

bool mq_queue_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    const struct mq *q = writer_of(r);
    size_t i, n;
    yyjson_val *key, *val;
    (void)ctx;
    if (!q || q->frozen || mq_queue_is_right(q, r))
        return false;
    bool only_hold = keeps_flavors(q, r);
    _cleanup_(sl_json_docp) yyjson_doc *d = desired(q, r);
    yyjson_val *spec = sl_json_at(yyjson_doc_get_root(d), "spec");
    if (!d)
        return false;
    begin_patch(r, w);
    sl_obj_foreach (spec, i, n, key, val) {
        char path[64];
        if (only_hold && strcmp(sl_json_text(key), "stopPolicy") != 0)
            continue;
        sl_fmt(path, sizeof path, "/spec/%s", sl_json_text(key));
        put_step(&w->json, path, val);
    }
    return true;
}
