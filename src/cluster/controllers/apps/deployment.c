/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deployments: sizes of the ReplicaSets. A step is decided from what is written and from the
 * existing pods; while it is in flight nothing else is decided.
 *
 * Invariant while pods do not fail by themselves: there are never more pods, not counting those
 * that are being deleted, than the surge allows, and never fewer available ones than maxUnavailable
 * allows. So a pod counts against the surge until its deletion is observed, and not as available
 * once its ReplicaSet is to shrink below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "cluster/controllers/core/ceilings.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define CONTROLLER "deployment-controller"
#define PREFIX "deployment.kubernetes.io/"
#define MAX_HISTORY_CHARS 2000u

/* ---- reading ---- */

static void replace_text(char **field, yyjson_val *v) {
    free(*field);
    *field = cl_text_of(v);
}

static void take_strategy(struct cl_deployment *d, yyjson_val *strategy) {
    yyjson_val *roll = yyjson_obj_get(strategy, "rollingUpdate");
    int64_t n = d->replicas, surge = cl_int_or_percent(yyjson_obj_get(roll, "maxSurge"), n, true);
    int64_t missing = cl_int_or_percent(yyjson_obj_get(roll, "maxUnavailable"), n, false);

    d->rolling = strcmp(sl_json_str(strategy, "type"), "Recreate") != 0;
    surge = surge < 0 ? (25 * n + 99) / 100 : surge;
    missing = missing < 0 ? 25 * n / 100 : missing;
    if (surge == 0 && missing == 0)
        missing = 1; /* or nothing would ever move */
    if (surge + n > INT32_MAX)
        surge = INT32_MAX - n;
    d->surge = d->rolling ? (int32_t)surge : 0;
    d->unavailable = d->rolling ? (int32_t)(missing < n ? missing : n) : 0;
}

bool cl_dp_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_deployment *d = cl_dp_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    uint64_t chooser = sl_json_hash(1, yyjson_obj_get(spec, "selector"));

    (void)ctx;
    if (!d->matcher.arena.ceiling)
        cl_selector_init(&d->matcher);
    if (chooser != d->matcher_hash) {
        cl_selector_read(&d->matcher, yyjson_obj_get(spec, "selector"));
        d->matcher_hash = chooser;
        d->adoption_checked = false;
    }
    free(d->template);
    d->template = cl_pod_template(yyjson_obj_get(spec, "template"));
    replace_text(&d->annotations, sl_json_at(o, "metadata.annotations"));
    replace_text(&d->selector, yyjson_obj_get(spec, "selector"));
    d->template_hash = cl_template_hash(yyjson_obj_get(spec, "template"), &d->template_digest);
    d->replicas = sl_json_int32(spec, "replicas", 1);
    d->min_ready = sl_json_int32(spec, "minReadySeconds", 0);
    d->history = sl_json_int32(spec, "revisionHistoryLimit", 10);
    d->deadline = sl_json_int(spec, "progressDeadlineSeconds", 600);
    d->deadline = d->deadline < INT32_MAX ? d->deadline : -1;
    d->paused = sl_json_bool(spec, "paused", false);
    take_strategy(d, yyjson_obj_get(spec, "strategy"));
    sl_freep(&d->revision);
    d->revision = sl_strdup(sl_json_annotation(o, PREFIX "revision"));
    d->seen = (struct cl_dp_status){
        .observed = sl_json_int(status, "observedGeneration", 0),
        .replicas = sl_json_int(status, "replicas", 0),
        .updated = sl_json_int(status, "updatedReplicas", 0),
        .ready = sl_json_int(status, "readyReplicas", 0),
        .available = sl_json_int(status, "availableReplicas", 0),
        .unavailable = sl_json_int(status, "unavailableReplicas", 0),
        .going = sl_json_int(status, "terminatingReplicas", -1),
        .collisions = sl_json_int(status, "collisionCount", -1),
    };
    if (d->collisions < d->seen.collisions)
        d->collisions = (int32_t)d->seen.collisions;
    cl_conditions_read(&d->conditions, yyjson_obj_get(status, "conditions"));
    return true;
}

void cl_dp_done(struct sl_rec *r) {
    struct cl_deployment *d = cl_dp_of(r);
    char **texts[] = {&d->template, &d->annotations,  &d->selector, &d->revision,
                      &d->announce, &d->new_revision, &d->failure};

    if (d->matcher.arena.ceiling)
        cl_selector_done(&d->matcher);
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
    cl_conditions_done(&d->conditions);
    cl_conditions_done(&d->desired_conditions);
}

/* ---- its sets ---- */

int cl_dp_older(const struct cl_replicaset *a, const struct cl_replicaset *b) {
    if (a->rec.created != b->rec.created)
        return a->rec.created < b->rec.created ? -1 : 1;
    return strcmp(a->rec.name, b->rec.name);
}

static int by_age(const void *x, const void *y) {
    return cl_dp_older(*(struct cl_replicaset *const *)x, *(struct cl_replicaset *const *)y);
}

static void set_name(const struct cl_deployment *d, char out[SL_REC_NAME]);

static void gather_replicasets(struct sl_cluster *c, struct cl_deployment *d,
                               struct cl_dp_sets *s) {
    char name[SL_REC_NAME];

    set_name(d, name);
    for (struct sl_rec *r = sl_inf_children(c->inf, sl_rec_uid(d->rec.uid), NULL); r; r = r->next) {
        if (r->kind != K_REPLICASET)
            continue;
        if (r->create_planned) {
            s->making = true;
            if (strcmp(r->name, name) != 0)
                sl_rec_write(r); /* of a template that is no longer current: it is given up */
            continue;
        }
        s->waiting |= cl_rs_of(r)->pending.any;
        *sl_vec_push(&s->all) = cl_rs_of(r);
    }
    if (s->all.n)
        qsort(s->all.v, s->all.n, sizeof(struct cl_replicaset *), by_age);
    for (uint32_t i = 0; i < s->all.n && !s->fresh; i++)
        if (s->all.v[i]->template_hash == d->template_hash)
            s->fresh = s->all.v[i];
}

/* The others, for (i = 0; (rs = cl_dp_old(s, &i));). */
struct cl_replicaset *cl_dp_old(const struct cl_dp_sets *s, uint32_t *at) {
    while (*at < s->all.n) {
        struct cl_replicaset *rs = s->all.v[(*at)++];
        if (rs != s->fresh)
            return rs;
    }
    return NULL;
}

/* ---- pending changes ---- */

static void put_number(struct sl_jw *j, const char *key, int64_t n) {
    sl_jw_strf(j, key, "%lld", (long long)n);
}

static void plan_replicaset(struct cl_deployment *d, struct cl_replicaset *rs, int32_t replicas,
                            const char *annotations, struct cl_dp_sets *s) {
    sl_freep(&rs->pending.annotations);
    rs->pending = (struct cl_rs_pending){
        .any = true,
        .replicas = replicas,
        .from = rs->replicas,
        .min_ready = rs == s->fresh ? d->min_ready : rs->min_ready,
        .annotations = sl_strdup(annotations),
    };
    s->waiting = true;
    sl_rec_write(&rs->rec);
}

void cl_dp_scale(struct cl_deployment *d, struct cl_replicaset *rs, int32_t n,
                 bool also_annotations, struct cl_dp_sets *s) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1024);

    if (rs->replicas == n &&
        (!also_annotations || (rs->desired == d->replicas && rs->max == d->replicas + d->surge)))
        return;
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    put_number(&j, PREFIX "desired-replicas", d->replicas);
    put_number(&j, PREFIX "max-replicas", (int64_t)d->replicas + d->surge);
    sl_jw_end(&j);
    plan_replicaset(d, rs, n, sl_buf_str(&b), s);
}

/* ---- annotations and revisions ---- */

static bool is_skipped(const char *key) {
    static const char *const skip[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                       PREFIX "revision",
                                       PREFIX "revision-history",
                                       PREFIX "desired-replicas",
                                       PREFIX "max-replicas",
                                       "deprecated.deployment.rollback.to"};

    for (size_t i = 0; i < SL_LEN(skip); i++)
        if (strcmp(key, skip[i]) == 0)
            return true;
    return false;
}

/* Of the Deployment, those that the set does not have like that. */
static void copy_annotations(const struct cl_deployment *d, yyjson_val *has, struct sl_jw *j) {
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        d->annotations ? yyjson_read(d->annotations, strlen(d->annotations), 0) : NULL;
    _cleanup_(sl_json_fields_done) struct sl_json_fields in = sl_json_fields_of(has);
    yyjson_val *k, *v;
    size_t i, n;

    sl_obj_foreach (yyjson_doc_get_root(doc), i, n, k, v) {
        const char *key = sl_json_text(k), *value = sl_json_opt(v);
        const char *old = sl_json_opt(sl_json_field(&in, sl_json_view(k)));
        if (value && !is_skipped(key) && (!old || strcmp(old, value) != 0))
            sl_jw_str(j, key, value);
    }
}

static int64_t next_revision(const struct cl_dp_sets *s) {
    int64_t max = 0;
    uint32_t i = 0;

    for (struct cl_replicaset *rs; (rs = cl_dp_old(s, &i));)
        max = rs->revision > max ? rs->revision : max;
    return max + 1;
}

/* A set that was there before keeps the numbers it had. */
static void put_history(struct sl_jw *j, yyjson_val *has, int64_t revision) {
    const char *was = sl_json_text(yyjson_obj_get(has, PREFIX "revision-history"));
    char last[24];

    sl_fmt(last, sizeof last, "%lld", (long long)revision);
    for (; strlen(was) + strlen(last) + 1 > MAX_HISTORY_CHARS;) {
        const char *comma = strchr(was, ',');
        was = comma ? comma + 1 : "";
    }
    sl_jw_strf(j, PREFIX "revision-history", "%s%s%s", was, *was ? "," : "", last);
}

/* The set of the current template carries its revision, and the annotations of its Deployment. */
static void sync_fresh(struct cl_deployment *d, struct cl_dp_sets *s) {
    struct cl_replicaset *rs = s->fresh;
    int64_t revision = next_revision(s);
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        rs->annotations ? yyjson_read(rs->annotations, strlen(rs->annotations), 0) : NULL;
    yyjson_val *has = yyjson_doc_get_root(doc);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_ANNOTATIONS);

    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    copy_annotations(d, has, &j);
    if (rs->revision < revision) {
        put_number(&j, PREFIX "revision", revision);
        if (rs->revision > 0)
            put_history(&j, has, rs->revision);
    }
    bool some = j.comma || rs->min_ready != d->min_ready;
    sl_jw_end(&j);
    if (some && !sl_buf_full(&b))
        plan_replicaset(d, rs, rs->replicas, sl_buf_str(&b), s);
}

/* ---- a new set ---- */

/* Ten characters at most, without vowels, as in Kubernetes. */
static void hash_text(const struct cl_deployment *d, char out[DP_HASH]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = d->collisions > 0 ? sl_digest_u64(d->template_digest, (uint64_t)d->collisions)
                                   : d->template_digest;

    sl_fmt(out, DP_HASH, "%u", (unsigned)(h ^ h >> 32));
    for (char *p = out; *p; p++)
        *p = letters[(unsigned char)*p % (sizeof letters - 1)];
}

static void set_name(const struct cl_deployment *d, char out[SL_REC_NAME]) {
    char hash[DP_HASH];

    hash_text(d, hash);
    sl_fmt(out, SL_REC_NAME, "%.*s-%s", (int)(SL_REC_NAME - 2 - strlen(hash)), d->rec.name, hash);
}

/* The name follows from the template. An object of that name that is not ours, or of another
 * template, is a collision. */
void cl_dp_make_fresh(struct sl_cluster *c, struct cl_deployment *d, const struct cl_dp_sets *s) {
    char name[SL_REC_NAME];

    if (s->making)
        return;
    for (set_name(d, name); sl_inf_find_sym(c->inf, K_REPLICASET, d->rec.ns, name);
         set_name(d, name))
        d->collisions++;
    (void)sl_rec_plan_create(&d->rec, K_REPLICASET, name);
}

/* How many pods the set of the present template may have. */
int32_t cl_dp_fresh_size(const struct sl_cluster *c, const struct cl_deployment *d,
                         const struct cl_dp_sets *s) {
    int64_t total = 0, size = s->fresh ? s->fresh->replicas : 0;

    if (!d->rolling)
        return d->replicas;
    for (uint32_t i = 0; i < s->all.n; i++)
        total += cl_rs_held(c, s->all.v[i]);
    int64_t surge_left = (int64_t)d->replicas + d->surge - total;
    if (surge_left > d->replicas - size)
        surge_left = d->replicas - size;
    return (int32_t)(surge_left > 0 ? size + surge_left : size);
}

static void put_labels(yyjson_mut_doc *m, yyjson_mut_val *of, const char *map, const char *hash) {
    yyjson_mut_val *labels = yyjson_mut_obj_get(of, map);

    if (!yyjson_mut_is_obj(labels)) {
        labels = yyjson_mut_obj(m);
        yyjson_mut_obj_put(of, yyjson_mut_strcpy(m, map), labels);
    }
    yyjson_mut_obj_put(labels, yyjson_mut_str(m, "pod-template-hash"), yyjson_mut_strcpy(m, hash));
}

bool cl_dp_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct sl_cluster *c = ctx;
    struct cl_deployment *d = cl_dp_of(r);
    char name[SL_REC_NAME], hash[DP_HASH];
    struct cl_dp_sets s = {0};

    set_name(d, name);
    if (!d->template || !d->selector || d->paused || strcmp(name, child->name) != 0)
        return false;
    gather_replicasets(c, d, &s);
    hash_text(d, hash);
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    _cleanup_(sl_json_docp) yyjson_doc *t = yyjson_read(d->template, strlen(d->template), 0);
    _cleanup_(sl_json_docp) yyjson_doc *sel = yyjson_read(d->selector, strlen(d->selector), 0);
    yyjson_mut_val *template = yyjson_val_mut_copy(m, yyjson_doc_get_root(t));
    yyjson_mut_val *selector = yyjson_val_mut_copy(m, yyjson_doc_get_root(sel));
    yyjson_mut_val *meta = yyjson_mut_obj_get(template, "metadata");
    if (!yyjson_mut_is_obj(meta)) {
        meta = yyjson_mut_obj(m);
        yyjson_mut_obj_put(template, yyjson_mut_str(m, "metadata"), meta);
    }
    put_labels(m, meta, "labels", hash);
    put_labels(m, selector, "matchLabels", hash);

    sl_jw_object(body, NULL);
    sl_jw_str(body, "apiVersion", "apps/v1");
    sl_jw_str(body, "kind", "ReplicaSet");
    sl_jw_object(body, "metadata");
    sl_jw_str(body, "name", name);
    sl_jw_mut_val(body, "labels", yyjson_mut_obj_get(meta, "labels"));
    sl_jw_object(body, "annotations");
    copy_annotations(d, NULL, body);
    put_number(body, PREFIX "revision", next_revision(&s));
    put_number(body, PREFIX "desired-replicas", d->replicas);
    put_number(body, PREFIX "max-replicas", (int64_t)d->replicas + d->surge);
    sl_jw_end(body);
    sl_jw_array(body, "ownerReferences");
    sl_rec_put_owner(body, r);
    sl_jw_end(body);
    sl_jw_end(body);
    sl_jw_object(body, "spec");
    sl_jw_int(body, "replicas", cl_dp_fresh_size(c, d, &s));
    sl_jw_int(body, "minReadySeconds", d->min_ready);
    sl_jw_mut_val(body, "selector", selector);
    sl_jw_mut_val(body, "template", template);
    sl_jw_end(body);
    sl_jw_end(body);
    sl_vec_free(&s.all);
    return !sl_buf_full(body->b);
}

void cl_dp_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                         const struct sl_kube_reply *reply) {
    (void)ctx;
    struct cl_deployment *d = cl_dp_of(r);

    if (how == SL_WRITTEN) {
        sl_freep(&d->failure);
        sl_freep(&d->announce);
        d->announce = sl_strdup(child->name);
        if (cl_rs_of(child)->replicas > 0)
            sl_rec_event(r, CONTROLLER, false, "ScalingReplicaSet",
                         "Scaled up replica set %s from 0 to %d", child->name,
                         cl_rs_of(child)->replicas);
    } else if (how == SL_WRITE_REFUSED) {
        char *why = cl_message_of(reply);
        /* The message of a refusal may be long. */
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(4096);
        sl_buf_printf(&b, "Failed to create new replica set \"%s\": %s", child->name, why);
        sl_freep(&d->failure);
        d->failure = sl_strdup(sl_buf_str(&b));
        sl_rec_event(r, CONTROLLER, true, "ReplicaSetCreateError", "%s", d->failure);
        sl_freep(&why);
    }
    sl_rec_enqueue(r);
}

/* ---- looking ---- */

static void adopt_sets(struct sl_cluster *c, struct cl_deployment *d) {
    uint32_t i = 0;

    d->adoption_checked = true;
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_REPLICASET, &i));)
        if (r->ns == d->rec.ns && !r->owner &&
            cl_selector_matches(&d->matcher, cl_rs_of(r)->labels)) {
            cl_adopt(r, &cl_rs_of(r)->adoption, &d->rec);
            d->hold = c->client->wall + SL_SEC;
        }
}

void cl_dp_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_deployment *d = cl_dp_of(r);
    struct cl_dp_sets s = {0};

    if (!d->template)
        return;
    if (!d->matcher.some) {
        sl_rec_event(r, CONTROLLER, true, "SelectingAll",
                     "This deployment is selecting all pods. A non-empty selector is required.");
        return;
    }
    if (!d->adoption_checked && !r->deleting)
        adopt_sets(c, d);
    gather_replicasets(c, d, &s);
    bool scaled = cl_dp_is_scaled(d, &s);
    bool held = d->hold > c->client->wall;
    if (s.fresh && !r->deleting && !s.waiting && !held)
        sync_fresh(d, &s);
    if (!r->deleting && !s.waiting && !held)
        cl_dp_act(c, d, &s, scaled);
    sl_freep(&d->new_revision);
    if (s.fresh && s.fresh->revision > 0) {
        char text[24];
        sl_fmt(text, sizeof text, "%lld", (long long)s.fresh->revision);
        if (strcmp(text, d->revision) != 0)
            d->new_revision = sl_strdup(text);
    }
    cl_dp_status(c, d, &s, !r->deleting && !d->paused && !scaled);
    if (held && (!r->reconcile_at || d->hold < r->reconcile_at))
        sl_rec_reconcile_at(r, d->hold);
    sl_vec_free(&s.all);
}
