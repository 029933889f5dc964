/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes that need a node. A claim that is bound restricts its pods to the nodes that its volume
 * can be used on; so do the topologies that a storage class allows for a claim that is not. One
 * that waits for its first consumer gets the node of that one (volume.kubernetes.io/selected-node)
 * when the place is decided, and the pod is bound when the claim is. Claims of other classes have
 * to be bound before a job is submitted.
 *
 * The claims of an object are those of its template and restrict all of its pods. Those that each
 * pod has for itself (a StatefulSet's, a group's, ephemeral ones) are looked at when a place is
 * given to that pod: one that cannot have any of its job's gets one more, and the others are given
 * back. Of ephemeral ones the template says the class, whose topologies restrict all as well.
 *
 * Of Workloads with exact nodes (exact.c) the claims of the template count. Their pods get the node
 * selector of one node, so a volume that turns out to be elsewhere keeps its pod waiting.
 *
 * Claims, volumes and storage classes are read when the first pod of ours has a claim.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define SELECTED_NODE "volume.kubernetes.io/selected-node"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define CLASS_MARK '/'                /* before the name of a class: no claim's begins so */
#define MAX_CLAIMS ((size_t)64 << 10) /* bytes of names of one pod */
#define MAX_WHERE ((size_t)1 << 20)   /* a constraint of a volume */

/* ---- which ---- */

static bool has_name(const struct sl_buf *b, const char *name) {
    size_t n = strlen(name);
    for (const char *s = sl_buf_str(b); *s; s += strcspn(s, "\n"), s += *s == '\n')
        if (strcspn(s, "\n") == n && strncmp(s, name, n) == 0)
            return true;
    return false;
}

static void add_name(struct sl_buf *b, const char *name) {
    if (*name && !strchr(name, '\n') && !has_name(b, name))
        sl_buf_printf(b, "%s%s", b->len ? "\n" : "", name);
}

char *fq_claims_read(struct sl_fluxqueue *q, yyjson_val *spec, const char *pod) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_CLAIMS);
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_get(spec, "volumes"), i, n, v) {
        char name[2 * SL_REC_NAME];
        const char *class = sl_json_str(v, "ephemeral.volumeClaimTemplate.spec.storageClassName");
        add_name(&b, sl_json_str(v, "persistentVolumeClaim.claimName"));
        if (!sl_json_get(v, "ephemeral") || (!pod && !*class))
            continue;
        if (pod)
            sl_fmt_short(name, sizeof name, "%s-%s", pod, sl_json_str(v, "name"));
        else
            sl_fmt_short(name, sizeof name, "%c%s", CLASS_MARK, class);
        add_name(&b, name);
    }
    if (!b.len)
        return NULL;
    if (sl_buf_full(&b))
        sl_log(SL_LOG_WARN, "claims of a pod ignored: their names are too long",
               SL_I("limit", (int64_t)MAX_CLAIMS));
    q->uses_claims = true;
    return sl_strdup(sl_buf_str(&b));
}

/* The next name, which ends the walk with NULL; *at begins with the names. */
static const char *next_name(const char **at, char out[SL_REC_NAME]) {
    if (!*at || !**at)
        return NULL;
    size_t n = strcspn(*at, "\n");
    sl_fmt_short(out, SL_REC_NAME, "%.*s", (int)n, *at);
    *at += n + ((*at)[n] == '\n');
    return out;
}

/* ---- decoding ---- */

static void changed(struct sl_fluxqueue *q) {
    q->claims_changed = true;
    q->capacity++;
}

bool fq_claim_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_fluxqueue *q = ctx;
    struct fq_claim *c = SL_CONTAINER_OF(r, struct fq_claim, rec);
    yyjson_val *class = sl_json_at(o, "spec.storageClassName");
    sl_sym selected = fq_intern(q, sl_json_annotation(o, SELECTED_NODE));
    uint64_t hash = sl_hash_str(selected, sl_json_str(o, "status.phase"));
    hash = sl_hash_str(sl_hash_str(hash, sl_json_str(o, "spec.volumeName")),
                       class ? sl_json_text(class) : "");
    if (c->hash == (hash | 1))
        return false; /* others write into it as well */
    c->hash = hash | 1;
    c->bound = strcmp(sl_json_str(o, "status.phase"), "Bound") == 0;
    if (c->selected && !selected && !c->bound)
        c->rejected = c->selected; /* its provisioner could not do it there */
    c->selected = selected;
    fq_set_text(&c->volume, sl_json_str(o, "spec.volumeName"));
    fq_set_text(&c->class, class ? sl_json_text(class) : "");
    changed(q);
    return false;
}

void fq_claim_deleted(void *ctx, struct sl_rec *r) {
    (void)r;
    changed(ctx);
}

void fq_claim_free(struct sl_rec *r) {
    struct fq_claim *c = SL_CONTAINER_OF(r, struct fq_claim, rec);
    sl_freep(&c->volume);
    sl_freep(&c->class);
}

void fq_claim_hold(struct sl_syms *t, struct sl_rec *r) {
    const struct fq_claim *c = SL_CONTAINER_OF(r, struct fq_claim, rec);
    sl_sym_hold(t, c->selected);
    sl_sym_hold(t, c->wanted);
    sl_sym_hold(t, c->rejected);
}

static void set_where(struct fq_where *w, const struct sl_rec *r, yyjson_val *terms) {
    struct sl_err err = {0};
    sl_arena_done(&w->arena);
    *w = (struct fq_where){.hash = sl_json_hash(9, terms) | 1, .arena = SL_ARENA(MAX_WHERE)};
    if (yyjson_arr_size(terms) > 0 && fq_where_terms(terms, &w->arena, &w->constraint, &err) < 0) {
        w->unreadable = true;
        sl_log(SL_LOG_WARN, "node affinity of a volume not understood", SL_S("object", r->name),
               SL_S("error", err.text));
    }
}

bool fq_volume_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct fq_volume *v = SL_CONTAINER_OF(r, struct fq_volume, rec);
    uint64_t before = v->where.hash;
    set_where(&v->where, r, sl_json_at(o, "spec.nodeAffinity.required.nodeSelectorTerms"));
    if (v->where.hash != before) /* others write into it as well */
        changed(ctx);
    return false;
}

void fq_volume_free(struct sl_rec *r) {
    sl_arena_done(&SL_CONTAINER_OF(r, struct fq_volume, rec)->where.arena);
}

/* [{matchLabelExpressions: [{key, values}]}] says what node selector terms say. */
static void put_topologies(struct sl_buf *b, yyjson_val *list) {
    struct sl_jw w = SL_JW(b);
    size_t i, n, k, m;
    yyjson_val *t, *e;
    sl_jw_array(&w, NULL);
    yyjson_arr_foreach (list, i, n, t) {
        sl_jw_object(&w, NULL);
        sl_jw_array(&w, "matchExpressions");
        yyjson_arr_foreach (sl_json_get(t, "matchLabelExpressions"), k, m, e) {
            sl_jw_object(&w, NULL);
            sl_jw_str(&w, "key", sl_json_str(e, "key"));
            sl_jw_str(&w, "operator", "In");
            sl_jw_val(&w, "values", sl_json_get(e, "values"));
            sl_jw_end(&w);
        }
        sl_jw_end(&w);
        sl_jw_end(&w);
    }
    sl_jw_end_to(&w, 0);
}

bool fq_storage_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct fq_storage *s = SL_CONTAINER_OF(r, struct fq_storage, rec);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_WHERE);
    put_topologies(&b, sl_json_get(o, "allowedTopologies"));
    _cleanup_(sl_json_docp) yyjson_doc *d =
        sl_buf_full(&b) ? NULL : yyjson_read(sl_buf_str(&b), b.len, 0);
    s->waits = strcmp(sl_json_str(o, "volumeBindingMode"), "WaitForFirstConsumer") == 0;
    s->provisions = strcmp(sl_json_str(o, "provisioner"), NO_PROVISIONER) != 0;
    set_where(&s->where, r, yyjson_doc_get_root(d));
    changed(ctx);
    return false;
}

void fq_storage_free(struct sl_rec *r) {
    sl_arena_done(&SL_CONTAINER_OF(r, struct fq_storage, rec)->where.arena);
}

/* ---- what a claim says of nodes ---- */

static struct fq_claim *claim_of(const struct sl_fluxqueue *q, sl_sym ns, const char *name) {
    struct sl_rec *r = sl_inf_find_sym(q->inf, FQ_CLAIM, ns, name);
    return r ? SL_CONTAINER_OF(r, struct fq_claim, rec) : NULL;
}

static struct fq_storage *class_of(const struct sl_fluxqueue *q, const char *name) {
    struct sl_rec *r = *name ? sl_inf_find(q->inf, FQ_STORAGE, "", name) : NULL;
    return r ? SL_CONTAINER_OF(r, struct fq_storage, rec) : NULL;
}

static struct fq_storage *storage_of(const struct sl_fluxqueue *q, const struct fq_claim *c) {
    return class_of(q, c->class);
}

static struct fq_volume *volume_of(const struct sl_fluxqueue *q, const struct fq_claim *c) {
    struct sl_rec *r = *c->volume ? sl_inf_find(q->inf, FQ_VOLUME, "", c->volume) : NULL;
    return r ? SL_CONTAINER_OF(r, struct fq_volume, rec) : NULL;
}

/* NULL: any node. */
static const struct fq_where *where_of(const struct sl_fluxqueue *q, const struct fq_claim *c) {
    const struct fq_volume *v = volume_of(q, c);
    const struct fq_storage *s = v ? NULL : storage_of(q, c);
    return v ? &v->where : s ? &s->where : NULL;
}

/* Why a claim cannot be used yet, or ever; NULL: it can. */
static const char *trouble_of(const struct sl_fluxqueue *q, const struct fq_claim *c) {
    const struct fq_storage *s = c ? storage_of(q, c) : NULL;
    const struct fq_where *w = c ? where_of(q, c) : NULL;
    if (!c)
        return "does not exist";
    if (w && w->unreadable)
        return "has a volume or a class whose nodes are not understood";
    if (c->bound)
        return volume_of(q, c) ? NULL : "is bound to a volume that does not exist";
    if (!s || !s->waits)
        return "is not bound";
    return s->provisions ? NULL
                         : "is not bound, and its class has no provisioner that would bind it";
}

/* ---- names in lines, in a namespace ---- */

/* NULL: any node. */
static const struct fq_where *where_named(const struct sl_fluxqueue *q, sl_sym ns,
                                          const char *name) {
    if (*name == CLASS_MARK) {
        const struct fq_storage *s = class_of(q, name + 1);
        return s ? &s->where : NULL;
    }
    const struct fq_claim *c = claim_of(q, ns, name);
    return c ? where_of(q, c) : NULL;
}

const char *fq_claims_trouble(const struct sl_fluxqueue *q, sl_sym ns, const char *names,
                              char ret_name[SL_REC_NAME]) {
    const char *why = NULL;
    while (!why && next_name(&names, ret_name))
        why = *ret_name == CLASS_MARK ? NULL : trouble_of(q, claim_of(q, ns, ret_name));
    return why;
}

uint64_t fq_claims_hash(const struct sl_fluxqueue *q, sl_sym ns, const char *names) {
    char name[SL_REC_NAME];
    uint64_t h = 0;
    while (next_name(&names, name)) {
        const struct fq_where *w = where_named(q, ns, name);
        h = sl_hash_u64(h, w ? w->hash : 0);
    }
    return h;
}

void fq_claims_where(const struct sl_fluxqueue *q, sl_sym ns, const char *names, struct sl_arena *a,
                     struct sl_constraint *ret) {
    char name[SL_REC_NAME];
    while (next_name(&names, name)) {
        const struct fq_where *w = where_named(q, ns, name);
        if (w && !w->unreadable)
            fq_where_and(&w->constraint, a, ret);
    }
}

/* ---- a job ---- */

/* Those that all of its pods have. */
static const char *claims_of(const struct sl_fluxqueue *q, const struct fq_job *j) {
    struct sl_rec *o = fq_job_object(q, j);
    const char *names = NULL;
    if (!o)
        return NULL;
    if (o->kind == FQ_POD)
        return fq_pod_of(o)->claims;
    if (o->kind != FQ_GROUP)
        return fq_obj_of(o)->claims;
    for (const struct fq_pod *p = fq_group_of(o)->first; p; p = p->group_next) {
        if (!p->claims || (names && strcmp(names, p->claims) != 0))
            return NULL;
        names = p->claims;
    }
    return names;
}

uint64_t fq_volumes_hash(const struct sl_fluxqueue *q, const struct fq_job *j) {
    return fq_claims_hash(q, j->rec.ns, claims_of(q, j));
}

bool fq_volumes_wait(struct sl_fluxqueue *q, struct fq_job *j) {
    char name[SL_REC_NAME];
    const char *why = fq_claims_trouble(q, j->rec.ns, claims_of(q, j), name);
    if (!why)
        return false;
    fq_graph_release(q, j);
    j->queued_hash = j->rejected = 0;
    fq_drop_estimate(j);
    fq_job_set_state(j, FQ_WAITING, "ClaimNotReady", "The PersistentVolumeClaim %s %s", name, why);
    return true;
}

void fq_volumes_where(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                      struct sl_constraint *ret) {
    fq_claims_where(q, j->rec.ns, claims_of(q, j), a, ret);
}

void fq_volumes_where_pod(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_arena *a,
                          struct sl_constraint *ret) {
    fq_claims_where(q, p->rec.ns, p->claims, a, ret);
}

/* ---- a pod ---- */

bool fq_volumes_allow(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node) {
    struct sl_label labels[FQ_MAX_LABELS];
    const struct fq_node *n = p->claims ? fq_node_find(q, node) : NULL;
    const char *at = p->claims;
    char name[SL_REC_NAME];
    if (!p->claims || !n)
        return true;
    struct sl_labels l = {.v = labels, .n = n->labels.n};
    for (uint32_t i = 0; i < n->labels.n; i++)
        labels[i] =
            (struct sl_label){fq_str(q, n->labels.v[i].key), fq_str(q, n->labels.v[i].value)};
    while (next_name(&at, name)) {
        const struct fq_claim *c = claim_of(q, p->rec.ns, name);
        const struct fq_where *w = c ? where_of(q, c) : NULL;
        if (w && (w->unreadable || !fq_where_holds(&w->constraint, n->rec.name, &l)))
            return false;
    }
    return true;
}

/* Pods that have a claim in common may be on different nodes: the first one says which it gets. */
static bool is_spoken_for(const struct sl_fluxqueue *q, const struct fq_claim *c,
                          const struct fq_pod *p) {
    struct sl_rec *r = c->wanted && c->by < q->inf->recs.n ? q->inf->recs.v[c->by] : NULL;
    return r && r != &p->rec && r->kind == FQ_POD && !r->gone && !r->deleting &&
           !fq_pod_of(r)->ended && fq_pod_of(r)->target == c->wanted;
}

/* Whoever has no FluxJob is looked at again when claims change. */
static void await(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (!p->awaits)
        *sl_vec_push(&q->claimants) = p->rec.id;
    p->awaits = true;
}

bool fq_volumes_ready(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j) {
    const char *at = p->claims;
    char name[SL_REC_NAME];
    bool ready = true;
    while (next_name(&at, name)) {
        struct fq_claim *c = claim_of(q, p->rec.ns, name);
        if (c && c->bound)
            continue;
        ready = false;
        if (trouble_of(q, c) || is_spoken_for(q, c, p))
            continue;
        if (c->rejected && c->rejected == p->target) {
            char text[FQ_MAX_MESSAGE];
            sl_fmt_short(text, sizeof text, "The volume of %s cannot be made for %s", name,
                         fq_str(q, p->target));
            c->rejected = c->wanted = 0;
            fq_unbound_elsewhere(q, p, j, text);
            return false;
        }
        if (c->wanted != p->target || c->selected != c->wanted) {
            c->wanted = p->target;
            c->by = p->rec.id;
            sl_rec_write(&c->rec);
        }
    }
    if (!ready && !j)
        await(q, p);
    return ready;
}

bool fq_claim_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_fluxqueue *q = ctx;
    const struct fq_claim *c = SL_CONTAINER_OF(r, struct fq_claim, rec);
    if (!q->leads || r->deleting || c->bound || !c->wanted || c->selected == c->wanted)
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_object(&w->json, "annotations");
    sl_jw_str(&w->json, SELECTED_NODE, fq_str(q, c->wanted));
    return true;
}

void fq_volumes_changed(struct sl_fluxqueue *q) {
    uint32_t at = 0;
    if (!q->claims_changed)
        return;
    q->claims_changed = false;
    for (struct sl_rec *r; (r = sl_inf_each(q->inf, FQ_FLUXJOB, &at));)
        sl_rec_enqueue(r);
    for (uint32_t i = 0; i < q->claimants.n; i++) {
        struct sl_rec *r = q->inf->recs.v[q->claimants.v[i]];
        if (!r || r->kind != FQ_POD)
            continue;
        fq_pod_of(r)->awaits = false;
        sl_rec_enqueue(r);
    }
    sl_vec_clear(&q->claimants);
}
