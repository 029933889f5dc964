/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StatefulSets: pods with ordinals, each of which exists at most once. In order, unless the policy
 * is Parallel: a pod is created when all before it are available, and deleted when all that stay
 * are, the highest first. Then pods of an older revision are deleted, one at a time, the highest
 * first, down to the partition.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/fmt.h"
#include "lib/log/log.h"

#define CONTROLLER "statefulset-controller"

/* ---- reading ---- */

static void replace_json(char **field, yyjson_val *v) {
    free(*field);
    *field = cl_text_of(v);
}

static void take_text(char **field, const char *s) {
    sl_freep(field);
    *field = sl_strdup(s);
}

bool cl_ss_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)ctx;
    struct cl_statefulset *s = cl_ss_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *status = yyjson_obj_get(o, "status");
    yyjson_val *selector = yyjson_obj_get(spec, "selector");
    uint64_t chooser = sl_json_hash(1, selector);

    if (!s->matcher.arena.ceiling)
        cl_selector_init(&s->matcher);
    if (chooser != s->matcher_hash) {
        cl_selector_read(&s->matcher, selector);
        s->matcher_hash = chooser;
        s->adoption_checked = false;
    }
    free(s->template);
    s->template = cl_pod_template(yyjson_obj_get(spec, "template"));
    cl_ss_take_claims(s, yyjson_obj_get(spec, "volumeClaimTemplates"));
    replace_json(&s->match_labels, yyjson_obj_get(selector, "matchLabels"));
    replace_json(&s->annotations, sl_json_at(o, "metadata.annotations"));
    take_text(&s->service, sl_json_str(spec, "serviceName"));
    s->template_hash = sl_json_hash(1, yyjson_obj_get(spec, "template"));
    s->template_digest = sl_json_digest(1, yyjson_obj_get(spec, "template"));
    s->replicas = sl_json_int32(spec, "replicas", 1);
    bool before = s->over_limit;
    s->over_limit = s->replicas > SS_MAX_PODS;
    if (s->over_limit && !before)
        sl_log(SL_LOG_WARN, "StatefulSet not reconciled: too many replicas",
               SL_S("namespace", sl_rec_ns(r)), SL_S("name", r->name),
               SL_I("replicas", s->replicas), SL_I("limit", SS_MAX_PODS));
    s->start = sl_json_int32(spec, "ordinals.start", 0);
    s->min_ready = sl_json_int32(spec, "minReadySeconds", 0);
    s->history = sl_json_int32(spec, "revisionHistoryLimit", 10);
    s->partition = sl_json_int32(spec, "updateStrategy.rollingUpdate.partition", 0);
    s->parallel = strcmp(sl_json_str(spec, "podManagementPolicy"), "Parallel") == 0;
    s->on_delete = strcmp(sl_json_str(spec, "updateStrategy.type"), "OnDelete") == 0;
    s->drop_deleted = strcmp(sl_json_str(spec, "persistentVolumeClaimRetentionPolicy.whenDeleted"),
                             "Delete") == 0;
    s->drop_scaled =
        strcmp(sl_json_str(spec, "persistentVolumeClaimRetentionPolicy.whenScaled"), "Delete") == 0;
    s->seen = (struct cl_ss_status){
        .observed = sl_json_int(status, "observedGeneration", 0),
        .replicas = sl_json_int(status, "replicas", 0),
        .ready = sl_json_int(status, "readyReplicas", 0),
        .current = sl_json_int(status, "currentReplicas", 0),
        .updated = sl_json_int(status, "updatedReplicas", 0),
        .available = sl_json_int(status, "availableReplicas", 0),
        .collisions = sl_json_int(status, "collisionCount", -1),
    };
    if (s->collisions < s->seen.collisions)
        s->collisions = (int32_t)s->seen.collisions;
    take_text(&s->current, sl_json_str(status, "currentRevision"));
    take_text(&s->update, sl_json_str(status, "updateRevision"));
    return true;
}

void cl_ss_done(struct sl_rec *r) {
    struct cl_statefulset *s = cl_ss_of(r);
    char **texts[] = {&s->template, &s->match_labels, &s->annotations, &s->service,
                      &s->current,  &s->update,       &s->now_current, &s->now_update};

    if (s->matcher.arena.ceiling)
        cl_selector_done(&s->matcher);
    cl_ss_drop_claims(s);
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
}

int64_t cl_ss_ordinal(const struct sl_rec *set, const char *pod) {
    size_t n = strlen(set->name), digits;
    const char *s = pod + n + 1;

    if (strncmp(pod, set->name, n) != 0 || pod[n] != '-')
        return -1;
    digits = strspn(s, "0123456789");
    if (digits == 0 || digits > 9 || s[digits] || (digits > 1 && *s == '0'))
        return -1;
    return strtoll(s, NULL, 10);
}

/* ---- its pods ---- */

struct member {
    struct cl_pod *p; /* NULL: there is none */
    int64_t ordinal;
};

struct pod_set {
    struct member *v;                /* one for each number that there is to be */
    SL_VEC(struct member) condemned; /* the highest first */
    sl_time next;
};

static int higher(const void *x, const void *y) {
    int64_t a = ((const struct member *)x)->ordinal, b = ((const struct member *)y)->ordinal;
    return a > b ? -1 : a < b;
}

static void gather_pods(struct sl_cluster *c, struct cl_statefulset *s, struct pod_set *k) {
    struct sl_rec *at = sl_inf_children(c->inf, sl_rec_uid(s->rec.uid), NULL);

    k->v = sl_alloc0((size_t)s->replicas + 1, sizeof k->v[0]);
    for (int32_t i = 0; i < s->replicas; i++)
        k->v[i].ordinal = (int64_t)s->start + i;
    for (struct cl_pod *p; (p = cl_next_pod(&at));) {
        int64_t ordinal = cl_ss_ordinal(&s->rec, p->rec.name);
        if (ordinal < 0)
            continue;
        if (!p->rec.create_planned && !cl_selector_matches(&s->matcher, p->labels)) {
            cl_release(&p->rec, &p->adopt);
            continue;
        }
        if (cl_ss_inside(s, ordinal))
            k->v[ordinal - s->start].p = p;
        else
            *sl_vec_push(&k->condemned) = (struct member){p, ordinal};
    }
    if (k->condemned.n)
        qsort(k->condemned.v, k->condemned.n, sizeof k->condemned.v[0], higher);
}

static bool is_going(const struct cl_pod *p) {
    return p->rec.deleting || p->rec.delete_planned;
}

static bool pod_runs(const struct cl_pod *p) {
    return p && !p->rec.create_planned && p->f.phase == CL_POD_RUNNING && p->f.ready_since;
}

static bool is_healthy(struct sl_cluster *c, const struct cl_statefulset *s, const struct cl_pod *p,
                       sl_time *next) {
    return pod_runs(p) && !is_going(p) && cl_pod_available(c, p, s->min_ready, next);
}

static void remove_pod(struct cl_statefulset *s, struct cl_pod *p) {
    if (is_going(p))
        return;
    sl_rec_event(&s->rec, CONTROLLER, false, "SuccessfulDelete",
                 "delete Pod %s in StatefulSet %s successful", p->rec.name, s->rec.name);
    sl_rec_plan_delete(&p->rec);
}

/* ---- one step, or as many as may be at a time ---- */

static void make_pod(struct sl_cluster *c, struct cl_statefulset *s, int64_t ordinal) {
    char name[SL_REC_NAME];

    sl_fmt(name, sizeof name, "%.240s-%lld", s->rec.name, (long long)ordinal);
    if (s->hold > c->client->wall || !cl_ss_claims(c, s, ordinal) ||
        sl_inf_find_sym(c->inf, K_POD, s->rec.ns,
                        name)) /* of another owner: it must be deleted first */
        return;
    (void)sl_rec_plan_create(&s->rec, K_POD, name);
}

/* Returns whether everything that there is to be is there and healthy. */
static bool keep_members(struct sl_cluster *c, struct cl_statefulset *s, struct pod_set *k) {
    bool all = true;

    for (int32_t i = 0; i < s->replicas && (all || s->parallel); i++) {
        struct member *m = &k->v[i];
        if (m->p && !m->p->rec.create_planned && cl_pod_ended(m->p))
            remove_pod(s, m->p); /* whatever its end was: it is made anew */
        else if (!m->p)
            make_pod(c, s, m->ordinal);
        else if (!m->p->rec.create_planned && m->p->f.phase == CL_POD_PENDING && !is_going(m->p))
            (void)cl_ss_claims(c, s, m->ordinal);
        all &= is_healthy(c, s, m->p, &k->next);
        if (m->p && !m->p->rec.create_planned && !is_going(m->p))
            (void)cl_ss_claims_kept(c, s, m->ordinal, m->p);
    }
    return all;
}

/* Returns whether none is left. */
static bool remove_condemned(struct sl_cluster *c, struct cl_statefulset *s, struct pod_set *k) {
    const struct cl_pod *first_sick = NULL;

    for (uint32_t i = 0; i < k->condemned.n; i++) /* the lowest of them in the end */
        if (!is_healthy(c, s, k->condemned.v[i].p, &k->next))
            first_sick = k->condemned.v[i].p;
    for (uint32_t i = 0; i < k->condemned.n; i++) {
        struct member *m = &k->condemned.v[i];
        bool waits = is_going(m->p) || (m->p != first_sick && !is_healthy(c, s, m->p, &k->next)) ||
                     !cl_ss_claims_kept(c, s, m->ordinal, m->p);
        if (!s->parallel && waits)
            return false;
        if (!is_going(m->p) && cl_ss_claims_kept(c, s, m->ordinal, m->p)) {
            remove_pod(s, m->p);
            if (!s->parallel)
                return false;
        }
    }
    return k->condemned.n == 0;
}

static void update_one(struct sl_cluster *c, struct cl_statefulset *s, struct pod_set *k) {
    if (s->on_delete)
        return;
    for (int32_t i = s->replicas - 1; i >= s->partition; i--) {
        struct cl_pod *p = k->v[i].p;
        if (!p || p->rec.create_planned)
            return;
        if (p->f.revision != cl_revision(s->now_update) && !is_going(p)) {
            remove_pod(s, p);
            return;
        }
        if (!is_healthy(c, s, p, &k->next))
            return;
    }
}

/* ---- the status ---- */

static void count_one(struct sl_cluster *c, struct cl_statefulset *s, const struct cl_pod *p,
                      sl_time *next) {
    if (!p || p->rec.create_planned)
        return;
    s->now.replicas++;
    s->now.ready += pod_runs(p);
    s->now.available += pod_runs(p) && cl_pod_available(c, p, s->min_ready, next);
    if (is_going(p))
        return;
    s->now.current += p->f.revision == cl_revision(s->now_current);
    s->now.updated += p->f.revision == cl_revision(s->now_update);
}

static void count_pods(struct sl_cluster *c, struct cl_statefulset *s, struct pod_set *k) {
    s->now = (struct cl_ss_status){.observed = s->rec.generation, .collisions = s->collisions};
    for (int32_t i = 0; i < s->replicas; i++)
        count_one(c, s, k->v[i].p, &k->next);
    for (uint32_t i = 0; i < k->condemned.n; i++)
        count_one(c, s, k->condemned.v[i].p, &k->next);
    if (!s->on_delete && s->now.updated == s->replicas && s->now.ready == s->replicas &&
        s->now.replicas == s->replicas) {
        s->now.current = s->now.updated;
        take_text(&s->now_current, s->now_update);
    }
}

static bool differs(const struct cl_statefulset *s) {
    return s->now_update &&
           (memcmp(&s->seen, &s->now, sizeof s->now) != 0 ||
            strcmp(s->current, s->now_current) != 0 || strcmp(s->update, s->now_update) != 0);
}

/* ---- looking ---- */

/* The revision that the status calls current, if it still exists. */
static const char *current_revision(struct sl_cluster *c, const struct cl_statefulset *s,
                                    const struct cl_revision *update) {
    const struct sl_rec *r =
        *s->current ? sl_inf_find_sym(c->inf, K_REVISION, s->rec.ns, s->current) : NULL;

    return r && !r->create_planned && r->owner == sl_rec_uid(s->rec.uid) ? r->name
                                                                         : update->rec.name;
}

void cl_ss_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_statefulset *s = cl_ss_of(r);
    struct cl_revision *update;
    struct pod_set k = {0};

    if (!s->matcher.some || !s->template)
        return;
    if (s->over_limit) {
        sl_rec_event(r, CONTROLLER, true, "TooManyReplicas",
                     "%d replicas are more than %d: nothing is done for the set", s->replicas,
                     SS_MAX_PODS);
        return;
    }
    if (!s->adoption_checked && !r->deleting) {
        s->adoption_checked = true;
        (void)cl_adopt_pods(c, r, &s->matcher, r->name);
    }
    update = r->deleting && s->now_update ? NULL : cl_ss_revision(c, s);
    if (update) {
        take_text(&s->now_update, update->rec.name);
        take_text(&s->now_current, current_revision(c, s, update));
    }
    if (!s->now_update)
        return; /* as soon as that is there */
    gather_pods(c, s, &k);
    if (!r->deleting) {
        bool ready = keep_members(c, s, &k) || s->parallel;
        if (ready && (remove_condemned(c, s, &k) || s->parallel))
            update_one(c, s, &k);
    }
    count_pods(c, s, &k);
    if (!r->deleting)
        cl_ss_forget_revisions(c, s);
    if (s->hold > c->client->wall && (!k.next || s->hold < k.next))
        k.next = s->hold;
    sl_rec_reconcile_at(r, k.next);
    if (differs(s))
        sl_rec_write(r);
    sl_freep(&k.v);
    sl_vec_free(&k.condemned);
}

/* ---- writing ---- */

bool cl_ss_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    (void)ctx;
    struct cl_statefulset *s = cl_ss_of(r);

    if (!differs(s))
        return false;
    sl_rec_build_guarded(r, "status", w);
    struct sl_jw *j = &w->json;
    sl_jw_end(j);
    sl_jw_object(j, "status");
    sl_jw_int(j, "observedGeneration", s->now.observed);
    sl_jw_int(j, "replicas", s->now.replicas);
    cl_count_put(j, "readyReplicas", s->now.ready, false);
    cl_count_put(j, "currentReplicas", s->now.current, false);
    cl_count_put(j, "updatedReplicas", s->now.updated, false);
    cl_count_put(j, "availableReplicas", s->now.available, true);
    cl_count_put(j, "collisionCount", s->now.collisions, true);
    sl_jw_str(j, "currentRevision", s->now_current);
    sl_jw_str(j, "updateRevision", s->now_update);
    return true;
}

void cl_ss_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply) {
    (void)ctx;
    (void)w;
    (void)how;
    (void)reply;
    sl_rec_enqueue(r);
    sl_rec_write(r);
}
