/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ControllerRevisions: what the template of a StatefulSet or a DaemonSet was, each time that it
 * changed. A template that comes back gets the revision that it had, as the newest.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

bool cl_revision_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_revision *v = cl_revision_of(r);
    yyjson_val *template = sl_json_at(o, "data.spec.template");
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_val_mut_copy(d, template);

    (void)ctx;
    (void)yyjson_mut_obj_remove_key(t, "$patch");
    yyjson_mut_doc_set_root(d, t);
    _cleanup_(sl_json_docp) yyjson_doc *plain = yyjson_mut_doc_imut_copy(d, NULL);
    free(v->template);
    v->template = cl_text_of(yyjson_doc_get_root(plain));
    v->hash = sl_json_hash(1, yyjson_doc_get_root(plain));
    v->revision = sl_json_int(o, "revision", 0);
    if (v->revision >= v->pending_revision)
        v->pending_revision = 0;
    return true;
}

void cl_revision_done(struct sl_rec *r) {
    sl_freep(&cl_revision_of(r)->template);
}

bool cl_revision_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    (void)ctx;
    const struct cl_revision *v = cl_revision_of(r);

    if (!v->pending_revision)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_int(&w->json, "revision", v->pending_revision);
    return true;
}

struct cl_revision *cl_next_revision(struct sl_rec **at) {
    while (*at) {
        struct sl_rec *r = *at;
        *at = r->next;
        if (r->kind == K_REVISION)
            return cl_revision_of(r);
    }
    return NULL;
}

void cl_history_hash(const struct cl_history *s, char out[DP_HASH]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = sl_digest_u64(s->digest, (uint64_t)(*s->collisions > 0 ? *s->collisions : 0));

    sl_fmt(out, DP_HASH, "%u", (unsigned)(h ^ h >> 32));
    for (char *p = out; *p; p++)
        *p = letters[(unsigned char)*p % (sizeof letters - 1)];
}

static void revision_name(const struct cl_history *s, char out[SL_REC_NAME]) {
    char hash[DP_HASH];

    cl_history_hash(s, hash);
    sl_fmt(out, SL_REC_NAME, "%.*s-%s", (int)(SL_REC_NAME - 2 - strlen(hash)), s->rec->name, hash);
}

static int64_t newest(const struct sl_cluster *c, const struct cl_history *s) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec->uid), NULL);
    int64_t max = 0;

    for (struct cl_revision *v; (v = cl_next_revision(&at));) {
        int64_t is = v->pending_revision > v->revision ? v->pending_revision : v->revision;
        max = !v->rec.create_planned && is > max ? is : max;
    }
    return max;
}

struct cl_revision *cl_history_revision(struct sl_cluster *c, const struct cl_history *s) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec->uid), NULL);
    struct cl_revision *same = NULL;
    int64_t max = newest(c, s);
    char name[SL_REC_NAME];

    if (*s->collisions < 0)
        *s->collisions = 0;
    for (struct cl_revision *v; (v = cl_next_revision(&at));) {
        if (v->rec.create_planned)
            return NULL;
        if (v->hash == s->hash && !v->rec.deleting && !v->rec.delete_planned &&
            (!same || v->revision > same->revision))
            same = v;
    }
    if (same && same->revision < max && !same->pending_revision) { /* back to what was before */
        same->pending_revision = max + 1;
        sl_rec_write(&same->rec);
    }
    if (same || s->rec->deleting || s->hold > c->client->wall)
        return same; /* one that is going gets none: it would be planned again and again */
    for (revision_name(s, name); sl_inf_find_sym(c->inf, K_REVISION, s->rec->ns, name);
         revision_name(s, name))
        ++*s->collisions;
    (void)sl_rec_plan_create(s->rec, K_REVISION, name);
    return NULL;
}

void cl_history_forget(struct sl_cluster *c, const struct cl_history *s,
                       bool (*in_use)(struct sl_cluster *c, const struct cl_history *h,
                                      const struct cl_revision *v)) {
    for (;;) {
        struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec->uid), NULL);
        struct cl_revision *oldest = NULL;
        int32_t n = 0;
        for (struct cl_revision *v; (v = cl_next_revision(&at));) {
            if (v->rec.create_planned || v->rec.deleting || v->rec.delete_planned ||
                in_use(c, s, v))
                continue;
            n++;
            if (!oldest || v->revision < oldest->revision)
                oldest = v;
        }
        if (n <= s->limit)
            return;
        sl_rec_plan_delete(&oldest->rec);
    }
}

bool cl_history_put(struct sl_cluster *c, const struct cl_history *s, const struct sl_rec *child,
                    struct sl_jw *b) {
    _cleanup_(sl_json_docp) yyjson_doc *t = yyjson_read(s->template, strlen(s->template), 0);
    yyjson_val *template = yyjson_doc_get_root(t),
               *labels = sl_json_at(template, "metadata.labels"), *k, *v;
    char name[SL_REC_NAME], hash[DP_HASH];
    size_t i, n;

    revision_name(s, name);
    cl_history_hash(s, hash);
    if (strcmp(name, child->name) != 0)
        return false;
    sl_jw_object(b, NULL);
    sl_jw_str(b, "apiVersion", "apps/v1");
    sl_jw_str(b, "kind", "ControllerRevision");
    sl_jw_object(b, "metadata");
    sl_jw_str(b, "name", name);
    sl_jw_object(b, "labels");
    sl_obj_foreach (labels, i, n, k, v)
        sl_jw_val(b, sl_json_text(k), v);
    sl_jw_str(b, s->hash_label, hash);
    sl_jw_end(b);
    if (s->annotations)
        sl_jw_raw(b, "annotations", s->annotations);
    sl_jw_array(b, "ownerReferences");
    sl_rec_put_owner(b, s->rec);
    sl_jw_end(b);
    sl_jw_end(b);
    sl_jw_int(b, "revision", newest(c, s) + 1);
    sl_jw_object(b, "data");
    sl_jw_object(b, "spec");
    sl_jw_object(b, "template");
    sl_obj_foreach (template, i, n, k, v)
        sl_jw_val(b, sl_json_text(k), v);
    sl_jw_str(b, "$patch", "replace");
    sl_jw_end_to(b, 0);
    return true;
}
