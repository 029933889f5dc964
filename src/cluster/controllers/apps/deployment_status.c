/* SPDX-License-Identifier: Apache-2.0 */
/* Status of a Deployment: counts, conditions and the revision. */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/apps/apps.h"
#include "core/base/fmt.h"

#define WRITE_REVISION 1u
#define WRITE_STATUS 2u

bool cl_dp_complete(const struct cl_deployment *d, const struct cl_dp_status *s) {
    return s->updated == d->replicas && s->replicas == d->replicas && s->available == d->replicas &&
           s->observed >= d->rec.generation;
}

static void count_replicas(struct cl_deployment *d, const struct cl_dp_sets *s) {
    struct cl_dp_status *now = &d->now;
    int64_t sizes = 0;

    *now =
        (struct cl_dp_status){.observed = d->rec.generation,
                              .collisions = d->collisions > 0 ? d->collisions : d->seen.collisions};
    for (uint32_t i = 0; i < s->all.n; i++) {
        const struct cl_replicaset *rs = s->all.v[i];
        now->replicas += rs->now.replicas;
        now->ready += rs->now.ready;
        now->available += rs->now.available;
        now->going += rs->now.going;
        sizes += rs->replicas;
    }
    now->updated = s->fresh ? s->fresh->now.replicas : 0;
    now->unavailable = sizes > now->available ? sizes - now->available : 0;
}

/* ---- progress ---- */

/* "ReplicaSet "x" is progressing.", or of the Deployment while there is no set. */
static const char *progress_message(const struct cl_deployment *d, const struct cl_dp_sets *s,
                                    const char *what, char out[600]) {
    sl_fmt_short(out, 600, "%s \"%s\" %s", s->fresh ? "ReplicaSet" : "Deployment",
                 s->fresh ? s->fresh->rec.name : d->rec.name, what);
    return out;
}

static bool has_moved(const struct cl_dp_status *was, const struct cl_dp_status *now) {
    return now->updated > was->updated ||
           now->replicas - now->updated < was->replicas - was->updated || now->ready > was->ready ||
           now->available > was->available;
}

static sl_time times_out(const struct cl_deployment *d, const struct cl_condition *p) {
    return sl_time_add(p->updated, d->deadline * SL_SEC);
}

static bool timed_out(const struct sl_cluster *c, const struct cl_deployment *d,
                      const struct cl_condition *p) {
    if (!p || strcmp(p->reason, "NewReplicaSetAvailable") == 0)
        return false;
    return strcmp(p->reason, "ProgressDeadlineExceeded") == 0 || times_out(d, p) < c->client->wall;
}

static void estimate_progress(struct sl_cluster *c, struct cl_deployment *d,
                              const struct cl_dp_sets *s) {
    const struct cl_condition *was = cl_condition(&d->conditions, "Progressing");
    struct cl_conditions *list = &d->desired_conditions;
    sl_time now = c->client->wall;
    char text[600];

    if (d->now.replicas == d->now.updated && was &&
        strcmp(was->reason, "NewReplicaSetAvailable") == 0)
        return; /* it was complete long ago */
    if (cl_dp_complete(d, &d->now)) {
        (void)cl_condition_set(list, "Progressing", "True", "NewReplicaSetAvailable",
                               progress_message(d, s, "has successfully progressed.", text), now);
    } else if (has_moved(&d->seen, &d->now)) {
        /* Also if the condition is unchanged: the time of the last progress counts. */
        sl_time changed = was && strcmp(was->status, "True") == 0 ? was->changed : now;
        cl_condition_drop(list, "Progressing");
        if (cl_condition_set(list, "Progressing", "True", "ReplicaSetUpdated",
                             progress_message(d, s, "is progressing.", text), now))
            list->v[list->n - 1].changed = changed;
    } else if (timed_out(c, d, cl_condition(list, "Progressing"))) {
        (void)cl_condition_set(list, "Progressing", "False", "ProgressDeadlineExceeded",
                               progress_message(d, s, "has timed out progressing.", text), now);
    }
}

/* While it is paused, time does not count. */
static void note_pause(struct sl_cluster *c, struct cl_deployment *d) {
    const struct cl_condition *p = cl_condition(&d->desired_conditions, "Progressing");
    bool reported = p && strcmp(p->reason, "DeploymentPaused") == 0;

    if (p && strcmp(p->reason, "ProgressDeadlineExceeded") == 0)
        return;
    if (d->paused && !reported)
        (void)cl_condition_set(&d->desired_conditions, "Progressing", "Unknown", "DeploymentPaused",
                               "Deployment is paused", c->client->wall);
    else if (!d->paused && reported)
        (void)cl_condition_set(&d->desired_conditions, "Progressing", "Unknown",
                               "DeploymentResumed", "Deployment is resumed", c->client->wall);
}

static void note_set(struct sl_cluster *c, struct cl_deployment *d, const struct cl_dp_sets *s) {
    char text[600];

    if (d->announce) {
        sl_fmt_short(text, sizeof text, "Created new replica set \"%s\"", d->announce);
        (void)cl_condition_set(&d->desired_conditions, "Progressing", "True",
                               "NewReplicaSetCreated", text, c->client->wall);
    } else if (s->fresh && !cl_condition(&d->desired_conditions, "Progressing")) {
        sl_fmt_short(text, sizeof text, "Found new replica set \"%s\"", s->fresh->rec.name);
        (void)cl_condition_set(&d->desired_conditions, "Progressing", "True", "FoundNewReplicaSet",
                               text, c->client->wall);
    } else if (!s->fresh && d->failure) {
        (void)cl_condition_set(&d->desired_conditions, "Progressing", "False",
                               "ReplicaSetCreateError", d->failure, c->client->wall);
    }
}

static void note_failure(struct sl_cluster *c, struct cl_deployment *d,
                         const struct cl_dp_sets *s) {
    const struct cl_condition *f =
        s->fresh ? cl_condition(&s->fresh->desired_conditions, "ReplicaFailure") : NULL;

    for (uint32_t i = 0; i < s->all.n && !f; i++)
        f = cl_condition(&s->all.v[i]->desired_conditions, "ReplicaFailure");
    if (!f)
        cl_condition_drop(&d->desired_conditions, "ReplicaFailure");
    else
        (void)cl_condition_set(&d->desired_conditions, "ReplicaFailure", f->status, f->reason,
                               f->message, f->changed ? f->changed : c->client->wall);
}

/* ---- the whole ---- */

static bool differs(const struct cl_deployment *d) {
    return memcmp(&d->seen, &d->now, sizeof d->now) != 0 ||
           !cl_conditions_same(&d->conditions, &d->desired_conditions);
}

void cl_dp_status(struct sl_cluster *c, struct cl_deployment *d, const struct cl_dp_sets *s,
                  bool estimate) {
    count_replicas(d, s);
    cl_conditions_copy(&d->desired_conditions, &d->conditions);
    if (d->deadline >= 0 && !d->rec.deleting) {
        note_pause(c, d);
        note_set(c, d, s);
    }
    if (d->now.available >= d->replicas - d->unavailable)
        (void)cl_condition_set(&d->desired_conditions, "Available", "True",
                               "MinimumReplicasAvailable", "Deployment has minimum availability.",
                               c->client->wall);
    else
        (void)cl_condition_set(&d->desired_conditions, "Available", "False",
                               "MinimumReplicasUnavailable",
                               "Deployment does not have minimum availability.", c->client->wall);
    if (d->deadline < 0)
        cl_condition_drop(&d->desired_conditions, "Progressing");
    else if (estimate)
        estimate_progress(c, d, s);
    if (estimate)
        note_failure(c, d, s);

    const struct cl_condition *p = cl_condition(&d->desired_conditions, "Progressing");
    bool waits = estimate && p && d->deadline >= 0 && !cl_dp_complete(d, &d->now) &&
                 strcmp(p->reason, "NewReplicaSetAvailable") != 0 &&
                 strcmp(p->reason, "ProgressDeadlineExceeded") != 0;
    sl_rec_reconcile_at(&d->rec, waits ? times_out(d, p) + SL_SEC : 0);
    if (differs(d) || d->new_revision)
        sl_rec_write(&d->rec);
}

/* ---- writing ---- */

static void put_revision(const struct cl_deployment *d, struct sl_jw *j) {
    sl_jw_object(j, "annotations");
    sl_jw_str(j, "deployment.kubernetes.io/revision", d->new_revision);
    sl_jw_end(j);
}

bool cl_dp_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    (void)ctx;
    struct cl_deployment *d = cl_dp_of(r);
    const struct cl_dp_status *s = &d->now;

    if (d->new_revision && d->revision_ignored && !r->deleting) {
        sl_rec_build_guarded(r, NULL, w);
        put_revision(d, &w->json);
        w->tag = WRITE_REVISION;
        return true;
    }
    if ((!differs(d) && !d->new_revision) || !s->observed)
        return false;
    sl_rec_build_guarded(r, "status", w);
    if (d->new_revision && !r->deleting) /* a status write is no new generation */
        put_revision(d, &w->json);
    struct sl_jw *j = &w->json;
    sl_jw_end(j);
    sl_jw_object(j, "status");
    sl_jw_int(j, "observedGeneration", s->observed);
    cl_count_put(j, "replicas", s->replicas, false);
    cl_count_put(j, "updatedReplicas", s->updated, false);
    cl_count_put(j, "readyReplicas", s->ready, false);
    cl_count_put(j, "availableReplicas", s->available, false);
    cl_count_put(j, "unavailableReplicas", s->unavailable, false);
    cl_count_put(j, "terminatingReplicas", s->going, true);
    if (s->collisions >= 0)
        cl_count_put(j, "collisionCount", s->collisions, true);
    cl_conditions_put(j, &d->desired_conditions);
    w->tag = WRITE_STATUS;
    d->announced = d->announce != NULL;
    return true;
}

void cl_dp_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                   const struct sl_kube_reply *reply) {
    (void)ctx;
    struct cl_deployment *d = cl_dp_of(r);

    (void)reply;
    if (w->tag == WRITE_STATUS && how == SL_WRITTEN && d->announced)
        sl_freep(&d->announce);
    if (how == SL_WRITTEN && d->new_revision) {
        d->revision_ignored |= strcmp(d->revision, d->new_revision) != 0;
        if (!d->revision_ignored || w->tag == WRITE_REVISION)
            sl_freep(&d->new_revision);
    }
    sl_rec_enqueue(r);
    sl_rec_write(r);
}
