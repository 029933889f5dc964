/* SPDX-License-Identifier: Apache-2.0 */
/* What a StatefulSet makes: revisions, claims and pods. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/wordset.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define CONTROLLER "statefulset-controller"
#define CLAIM_PAUSE (2 * SL_SEC)

/* ---- revisions ---- */

static struct cl_history history_of(struct cl_statefulset *s) {
    return (struct cl_history){.rec = &s->rec,
                               .template = s->template,
                               .annotations = s->annotations,
                               .hash_label = "controller.kubernetes.io/hash",
                               .hash = s->template_hash,
                               .digest = s->template_digest,
                               .collisions = &s->collisions,
                               .limit = s->history,
                               .hold = s->hold};
}

struct cl_revision *cl_ss_revision(struct sl_cluster *c, struct cl_statefulset *s) {
    struct cl_history h = history_of(s);

    return cl_history_revision(c, &h);
}

static bool in_use(struct sl_cluster *c, const struct cl_history *h, const struct cl_revision *v) {
    const struct cl_statefulset *s = SL_CONTAINER_OF(h->rec, const struct cl_statefulset, rec);
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec.uid), NULL);

    if (strcmp(v->rec.name, s->now_current) == 0 || strcmp(v->rec.name, s->now_update) == 0 ||
        strcmp(v->rec.name, s->current) == 0 || strcmp(v->rec.name, s->update) == 0)
        return true;
    for (struct cl_pod *p; (p = cl_next_pod(&at));)
        if (p->f.revision == cl_revision(v->rec.name))
            return true;
    return false;
}

void cl_ss_forget_revisions(struct sl_cluster *c, struct cl_statefulset *s) {
    struct cl_history h = history_of(s);

    cl_history_forget(c, &h, in_use);
}

/* ---- claims ---- */

static void take_finalizers(struct cl_claim *k, yyjson_val *list) {
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(CL_MAX_COPY);
    size_t i, n;
    yyjson_val *v;

    k->protected = k->unused = false;
    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (list, i, n, v) {
        if (yyjson_equals_str(v, "kubernetes.io/pvc-protection")) {
            k->protected = true;
            continue;
        }
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_val(&j, NULL, v);
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&k->finalizers);
    k->finalizers = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
}

bool cl_claim_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)ctx;
    struct cl_claim *k = cl_claim_of(r);

    free(k->owners);
    k->owners = cl_text_of(sl_json_at(o, "metadata.ownerReferences"));
    sl_freep(&k->pending_owners);
    take_finalizers(k, sl_json_at(o, "metadata.finalizers"));
    if (r->deleting && k->protected)
        sl_rec_write(r);
    return true;
}

/* A set may be waiting for it. */
void cl_claim_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    uint32_t i = 0;

    for (struct sl_rec *s; (s = sl_inf_each(c->inf, K_STATEFULSET, &i));)
        if (s->ns == r->ns && cl_ss_of(s)->claims && strstr(r->name, s->name))
            sl_rec_enqueue(s);
}

void cl_claim_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    cl_claim_changed(c, r);
}

void cl_claim_done(struct sl_rec *r) {
    sl_freep(&cl_claim_of(r)->owners);
    sl_freep(&cl_claim_of(r)->pending_owners);
    sl_freep(&cl_claim_of(r)->finalizers);
}

bool cl_claim_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    const struct cl_claim *k = cl_claim_of(r);

    if (r->deleting && !cl_on(c, CL_CLAIM_PROTECTION))
        return false;
    if (r->deleting && k->protected && !k->unused) { /* does a pod use it? */
        sl_inf_build_read(c->inf, K_POD, sl_rec_ns(r), NULL, w);
        return true;
    }
    if (r->deleting ? !k->protected : !k->pending_owners)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    if (r->deleting)
        sl_jw_raw(&w->json, "finalizers", k->finalizers ? k->finalizers : "[]");
    else
        sl_jw_raw(&w->json, "ownerReferences", k->pending_owners);
    return true;
}

/* A pod of the list that has not ended and names the claim. */
static bool is_used(yyjson_val *pods, const char *claim) {
    size_t i, n, j, m;
    yyjson_val *p, *v;

    yyjson_arr_foreach (pods, i, n, p)
        yyjson_arr_foreach (sl_json_at(p, "spec.volumes"), j, m, v)
            if (strcmp(sl_json_str(v, "persistentVolumeClaim.claimName"), claim) == 0 &&
                strcmp(sl_json_str(p, "status.phase"), "Succeeded") != 0 &&
                strcmp(sl_json_str(p, "status.phase"), "Failed") != 0)
                return true;
    return false;
}

void cl_claim_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                      const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    struct cl_claim *k = cl_claim_of(r);

    if (!r->deleting || w->method != SL_GET || how != SL_WRITTEN)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
    yyjson_val *pods = yyjson_obj_get(yyjson_doc_get_root(d), "items");
    k->unused = yyjson_is_arr(pods) && !is_used(pods, r->name);
    sl_rec_write_at(r, c->client->mono + (k->unused ? 0 : CLAIM_PAUSE));
}

static void claim_name(const struct cl_statefulset *s, yyjson_val *template, int64_t ordinal,
                       char out[SL_REC_NAME]) {
    sl_fmt(out, SL_REC_NAME, "%.100s-%.130s-%lld", sl_json_str(template, "metadata.name"),
           s->rec.name, (long long)ordinal);
}

/* Parsed once, and indexed by name: each of many claims needs its template. */
struct cl_ss_claims {
    yyjson_doc *doc;
    SL_VEC(yyjson_val *) v;
    struct sl_map by_name; /* by the names of their claims without the number */
};

static uint64_t claim_hash(const char *name, size_t len) {
    return sl_hash_bytes(0, name, len);
}

/* The template of the claim "data-web-3" is "data"; NULL: there is none. */
static yyjson_val *claim_template(const struct cl_statefulset *s, const char *claim) {
    const char *dash = strrchr(claim, '-');
    uint64_t h = claim_hash(claim, dash ? (size_t)(dash - claim) : 0);
    char name[SL_REC_NAME];
    uint32_t cursor;

    if (!s->claims || !dash)
        return NULL;
    for (uint32_t i = sl_map_first(&s->claims->by_name, h, &cursor); i != SL_MAP_NONE;
         i = sl_map_next(&s->claims->by_name, h, &cursor)) {
        claim_name(s, s->claims->v.v[i], strtoll(dash + 1, NULL, 10), name);
        if (strcmp(name, claim) == 0)
            return s->claims->v.v[i];
    }
    return NULL;
}

void cl_ss_drop_claims(struct cl_statefulset *s) {
    if (!s->claims)
        return;
    yyjson_doc_free(s->claims->doc);
    sl_vec_free(&s->claims->v);
    sl_map_done(&s->claims->by_name);
    sl_freep(&s->claims);
}

void cl_ss_take_claims(struct cl_statefulset *s, yyjson_val *templates) {
    yyjson_val *t;
    size_t i, n;

    cl_ss_drop_claims(s);
    if (!yyjson_arr_size(templates))
        return;
    s->claims = sl_alloc0(1, sizeof *s->claims);
    char *text = cl_text_of(templates);
    s->claims->doc = text ? yyjson_read(text, strlen(text), 0) : NULL;
    free(text);
    yyjson_arr_foreach (yyjson_doc_get_root(s->claims->doc), i, n, t) {
        char name[SL_REC_NAME];
        *sl_vec_push(&s->claims->v) = t;
        claim_name(s, t, 0, name);
        if (!claim_template(s, name)) /* of one name the first counts */
            sl_map_add(&s->claims->by_name, claim_hash(name, strlen(name) - strlen("-0")),
                       s->claims->v.n - 1);
    }
}

static struct sl_rec *claim_find(struct sl_cluster *c, const struct cl_statefulset *s,
                                 yyjson_val *template, int64_t ordinal, char name[SL_REC_NAME]) {
    claim_name(s, template, ordinal, name);
    return sl_inf_find_sym(c->inf, K_CLAIM, s->rec.ns, name);
}

bool cl_ss_claims(struct sl_cluster *c, struct cl_statefulset *s, int64_t ordinal) {
    const struct cl_ss_claims *claims = s->claims;
    char name[SL_REC_NAME];
    bool all = true;

    if (!claims || !claims->v.n)
        return true;
    /* Missing ones are planned together: while the last is in flight none is reconciled. */
    const struct sl_rec *last = claim_find(c, s, claims->v.v[claims->v.n - 1], ordinal, name);
    if (last && last->create_planned)
        return false;
    for (uint32_t i = 0; i < claims->v.n; i++) {
        const struct sl_rec *r = claim_find(c, s, claims->v.v[i], ordinal, name);
        all &= r && !r->create_planned && !r->deleting;
        if (!r && s->hold <= c->client->wall)
            (void)sl_rec_plan_create(&s->rec, K_CLAIM, name);
    }
    return all;
}

/* The references as they should be; NULL: they are. */
static char *owners_wanted(const struct cl_statefulset *s, const struct cl_claim *k, bool inside,
                           const struct cl_pod *p) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        k->owners ? yyjson_read(k->owners, strlen(k->owners), 0) : NULL;
    const struct sl_rec *want = !inside && s->drop_scaled ? &p->rec
                                : s->drop_deleted         ? &s->rec
                                                          : NULL;
    bool has = false, others = false, stale = false;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    size_t i, n;
    yyjson_val *ref;

    struct sl_jw j = SL_JW(&b);
    sl_jw_array(&j, NULL);
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, ref) {
        const char *uid = sl_json_str(ref, "uid");
        if (want && strcmp(uid, want->uid) == 0 && sl_json_bool(ref, "controller", false)) {
            has = true;
        } else if (strcmp(uid, s->rec.uid) == 0 || strcmp(uid, p->rec.uid) == 0) {
            stale = true; /* one of ours that should not be there */
            continue;
        } else {
            others |= sl_json_bool(ref, "controller", false);
        }
        sl_jw_val(&j, NULL, ref);
    }
    bool add = want && !has && !others; /* another's claim is left alone */
    if (add)
        sl_rec_put_owner(&j, want);
    sl_jw_end(&j);
    return add || stale ? sl_strdup(sl_buf_str(&b)) : NULL;
}

bool cl_ss_claims_kept(struct sl_cluster *c, struct cl_statefulset *s, int64_t ordinal,
                       const struct cl_pod *p) {
    bool all = true;

    for (uint32_t i = 0; s->claims && i < s->claims->v.n; i++) {
        char name[SL_REC_NAME];
        struct sl_rec *r = claim_find(c, s, s->claims->v.v[i], ordinal, name);
        if (!r || r->create_planned || r->deleting || p->rec.create_planned)
            continue;
        struct cl_claim *k = cl_claim_of(r);
        sl_freep(&k->pending_owners);
        k->pending_owners = owners_wanted(s, k, cl_ss_inside(s, ordinal), p);
        if (k->pending_owners)
            sl_rec_write(r);
        all &= !k->pending_owners;
    }
    return all;
}

static bool put_claim(const struct cl_statefulset *s, const struct sl_rec *child, struct sl_jw *b) {
    yyjson_val *t = claim_template(s, child->name);
    if (!t)
        return false;
    _cleanup_(sl_json_docp) yyjson_doc *l =
        s->match_labels ? yyjson_read(s->match_labels, strlen(s->match_labels), 0) : NULL;
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *md = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *o = yyjson_val_mut_copy(md, t), *meta, *labels;
    yyjson_mut_doc_set_root(md, o);
    meta = yyjson_mut_obj_get(o, "metadata");
    yyjson_mut_obj_put(o, yyjson_mut_str(md, "apiVersion"), yyjson_mut_str(md, "v1"));
    yyjson_mut_obj_put(o, yyjson_mut_str(md, "kind"), yyjson_mut_str(md, "PersistentVolumeClaim"));
    (void)yyjson_mut_obj_remove_key(o, "status");
    (void)yyjson_mut_obj_remove_key(meta, "creationTimestamp");
    yyjson_mut_obj_put(meta, yyjson_mut_str(md, "name"), yyjson_mut_str(md, child->name));
    labels = yyjson_mut_obj_get(meta, "labels");
    if (!yyjson_mut_is_obj(labels)) {
        labels = yyjson_mut_obj(md);
        yyjson_mut_obj_put(meta, yyjson_mut_str(md, "labels"), labels);
    }
    sl_json_mut_fill(md, labels, yyjson_val_mut_copy(md, yyjson_doc_get_root(l)), true);
    sl_jw_mut_val(b, NULL, o);
    return true;
}

/* ---- pods ---- */

struct edit {
    const struct cl_statefulset *s;
    const char *name, *revision;
    int64_t ordinal;
};

/* A volume for each claim, in place of those of the same name. */
static void put_volumes(const struct edit *e, yyjson_mut_doc *d, yyjson_mut_val *spec) {
    const struct cl_ss_claims *claims = e->s->claims;
    yyjson_mut_val *list = yyjson_mut_arr(d), *v;
    yyjson_mut_arr_iter it;
    struct sl_wordset names = {0};

    for (uint32_t i = 0; claims && i < claims->v.n; i++) {
        yyjson_val *t = claims->v.v[i];
        char name[SL_REC_NAME];
        claim_name(e->s, t, e->ordinal, name);
        (void)sl_wordset_add(&names, sl_json_str(t, "metadata.name"));
        yyjson_mut_val *volume = yyjson_mut_arr_add_obj(d, list);
        yyjson_mut_obj_add_strcpy(d, volume, "name", sl_json_str(t, "metadata.name"));
        yyjson_mut_val *source = yyjson_mut_obj_add_obj(d, volume, "persistentVolumeClaim");
        yyjson_mut_obj_add_strcpy(d, source, "claimName", name);
    }
    yyjson_mut_arr_iter_init(yyjson_mut_obj_get(spec, "volumes"), &it);
    while ((v = yyjson_mut_arr_iter_next(&it))) {
        const char *name = sl_json_mut_opt(yyjson_mut_obj_get(v, "name"));
        if (!name || !sl_wordset_has(&names, name))
            yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(d, v));
    }
    sl_wordset_done(&names);
    if (yyjson_mut_arr_size(list))
        yyjson_mut_obj_put(spec, yyjson_mut_str(d, "volumes"), list);
}

static void edit_pod(void *ctx, yyjson_mut_doc *d, yyjson_mut_val *pod) {
    const struct edit *e = ctx;
    yyjson_mut_val *spec = yyjson_mut_obj_get(pod, "spec");
    char number[24];

    sl_fmt(number, sizeof number, "%lld", (long long)e->ordinal);
    cl_pod_set(d, pod, "labels", "statefulset.kubernetes.io/pod-name", e->name);
    cl_pod_set(d, pod, "labels", "apps.kubernetes.io/pod-index", number);
    cl_pod_set(d, pod, "labels", "controller-revision-hash", e->revision);
    yyjson_mut_obj_put(spec, yyjson_mut_str(d, "hostname"), yyjson_mut_strcpy(d, e->name));
    if (*e->s->service)
        yyjson_mut_obj_put(spec, yyjson_mut_str(d, "subdomain"),
                           yyjson_mut_strcpy(d, e->s->service));
    put_volumes(e, d, spec);
}

/* Below the partition pods are made as they were. */
static bool put_pod(struct sl_cluster *c, struct cl_statefulset *s, const struct sl_rec *child,
                    struct sl_jw *b) {
    int64_t ordinal = cl_ss_ordinal(&s->rec, child->name);
    bool old = ordinal < (int64_t)s->start + s->partition;
    const char *name = old ? s->now_current : s->now_update;
    struct sl_rec *r = name ? sl_inf_find_sym(c->inf, K_REVISION, s->rec.ns, name) : NULL;
    struct edit e = {.s = s, .name = child->name, .revision = name, .ordinal = ordinal};
    char generate[SL_REC_NAME + 2];

    if (!cl_ss_inside(s, ordinal) || !r || r->create_planned || !cl_revision_of(r)->template)
        return false;
    sl_fmt(generate, sizeof generate, "%s-", s->rec.name);
    return cl_pod_put(b, &(struct cl_pod_body){.template = cl_revision_of(r)->template,
                                               .owner = &s->rec,
                                               .name = child->name,
                                               .generate_name = generate,
                                               .edit = edit_pod,
                                               .ctx = &e});
}

bool cl_ss_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct sl_cluster *c = ctx;
    struct cl_statefulset *s = cl_ss_of(r);

    if (child->kind == K_REVISION) {
        struct cl_history h = history_of(s);
        return cl_history_put(c, &h, child, body);
    }
    if (child->kind == K_CLAIM ? put_claim(s, child, body) : put_pod(c, s, child, body))
        return true;
    s->hold = c->client->wall + SL_SEC; /* as soon as it can be made */
    return false;
}

void cl_ss_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply) {
    struct sl_cluster *c = ctx;
    struct cl_statefulset *s = cl_ss_of(r);
    const char *kind = child->table->kind->kind;

    if (how == SL_WRITTEN && child->kind != K_REVISION) {
        sl_rec_event(r, CONTROLLER, false, "SuccessfulCreate",
                     "create %s %s in StatefulSet %s success%s",
                     child->kind == K_CLAIM ? "Claim" : kind, child->name, r->name,
                     child->kind == K_CLAIM ? "" : "ful");
    } else if (how == SL_WRITE_REFUSED) {
        char *why = cl_message_of(reply);
        sl_rec_event(r, CONTROLLER, true, "FailedCreate",
                     "create %s %s in StatefulSet %s failed error: %s", kind, child->name, r->name,
                     why);
        sl_freep(&why);
    } else if (how == SL_WRITE_GONE) {
        s->hold = c->client->wall + SL_SEC;
    }
    sl_rec_enqueue(r);
}
