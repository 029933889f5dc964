/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a cluster and the objects that exist to the next step: whoever made what is found, and
 * wherever a controller before this one ended. Objects come in the order of mc_child_at, the Job
 * when all that its pods need is there.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "manager/minicluster/mc_int.h"

#define TAKEN_PAUSE (30 * SL_SEC) /* before a name that is taken is tried again */

yyjson_doc *mc_cluster_view(const struct mc_cluster *c, struct mc_view *ret) {
    yyjson_doc *d = sl_json_doc(c->spec, strlen(c->spec));
    mc_view_init(ret, c->rec.name, sl_rec_ns(&c->rec), c->old, yyjson_doc_get_root(d));
    return d;
}

/* ---- sizes ---- */

struct mc_job *mc_find_job(const struct mc_cluster *c) {
    struct sl_rec *r = sl_inf_find_sym(c->rec.table->informer, MC_JOB, c->rec.ns, c->rec.name);
    return r && !r->create_planned && mc_owns(c, r) ? mc_job_of(r) : NULL;
}

int32_t mc_maximum(const struct mc_cluster *c) {
    if (c->maximum > 0)
        return c->maximum;
    return c->max_size > c->size ? c->max_size : c->size;
}

int32_t mc_right_size(const struct mc_cluster *c, const struct mc_job *job) {
    int32_t most = mc_maximum(c);
    if (c->size < 1)
        return job && job->parallelism > 0 ? job->parallelism : 1;
    if (c->size > most)
        return most;
    return c->size < c->min_size ? c->min_size : c->size;
}

/* ---- objects ---- */

static void set_trouble(struct mc_cluster *c, const char *fmt, ...) _printf_(2, 3);
static void set_trouble(struct mc_cluster *c, const char *fmt, ...) {
    struct sl_buf b = SL_BUF_SHORT(MC_MAX_MESSAGE);
    va_list ap;
    va_start(ap, fmt);
    sl_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    sl_freep(&c->trouble);
    c->trouble = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
}

static const char *kind_name(const struct mc_cluster *c, uint8_t kind) {
    return c->rec.table->informer->tables[kind].kind->kind;
}

static void report_taken(struct mc_cluster *c, uint8_t kind, const char *name) {
    set_trouble(c, "%s %s exists and is not of this MiniCluster: delete it, or choose another name",
                kind_name(c, kind), name);
}

static void wait_for_name(struct sl_miniclusters *m, struct mc_cluster *c) {
    if (c->trouble)
        sl_rec_event(&c->rec, MC_CONTROLLER, true, "NameTaken", "%s", c->trouble);
    sl_rec_reconcile_at(&c->rec, sl_time_add(m->client->wall, c->trouble_until - m->client->mono));
}

/* A volume has no owner, so it is no planned child: it says itself that it is to be made. */
static bool make_volume(struct mc_cluster *c, const char *name) {
    struct sl_informer *f = c->rec.table->informer;
    struct sl_rec *r = sl_inf_find(f, MC_VOLUME, "", name);
    if (!r)
        r = sl_inf_add(f, MC_VOLUME, "", name);
    if (*r->uid || mc_volume_of(r)->exists)
        return true;
    mc_volume_of(r)->of = sl_rec_uid(c->rec.uid);
    sl_rec_write(r);
    return false;
}

/* Whether it exists. */
static bool sync_child(struct sl_miniclusters *m, struct mc_cluster *c,
                       const struct mc_child *child) {
    struct sl_rec *r = sl_inf_find_sym(m->inf, child->kind, c->rec.ns, child->name);
    if (child->kind == MC_VOLUME)
        return make_volume(c, child->name);
    if (!r && m->client->mono < c->trouble_until) {
        wait_for_name(m, c);
        return false;
    }
    if (!r) {
        (void)sl_rec_plan_create(&c->rec, child->kind, child->name);
        return false;
    }
    if (r->create_planned) {
        sl_rec_write(r);
        return false;
    }
    if (!mc_owns(c, r) && !child->shared) {
        report_taken(c, child->kind, child->name);
        c->trouble_until = sl_time_add(m->client->mono, TAKEN_PAUSE);
        wait_for_name(m, c);
        return false;
    }
    return !r->deleting;
}

static void sync_objects(struct sl_miniclusters *m, struct mc_cluster *c) {
    struct mc_view v;
    _cleanup_(sl_json_docp) yyjson_doc *d = mc_cluster_view(c, &v);
    struct mc_child child;
    bool all = true;
    for (uint32_t n = 0; d && n < MC_MAX_CHILDREN && mc_child_at(&v, n, &child); n++) {
        if (!all && (child.kind == MC_JOB || child.late))
            break;
        all &= sync_child(m, c, &child);
    }
    c->complete = all;
    if (all) {
        sl_freep(&c->trouble);
        c->trouble_until = 0;
    }
}

static void excerpt(const struct sl_kube_reply *reply, char out[MC_MAX_MESSAGE]) {
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(reply->body, reply->len);
    const char *text = sl_json_str(yyjson_doc_get_root(d), "message");
    sl_fmt_short(out, MC_MAX_MESSAGE, "%.600s", *text ? text : "no reason given");
}

void mc_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                      const struct sl_kube_reply *reply) {
    struct sl_miniclusters *m = ctx;
    struct mc_cluster *c = mc_of(r);
    char why[MC_MAX_MESSAGE];
    if (how == SL_WRITE_CONFLICT) { /* if it is ours, the answer of the read shows it */
        report_taken(c, child->kind, child->name);
        c->trouble_until = sl_time_add(m->client->mono, TAKEN_PAUSE);
    } else if (how == SL_WRITE_REFUSED) {
        excerpt(reply, why);
        set_trouble(c, "The API server refuses %s %s: %s", kind_name(c, child->kind), child->name,
                    why);
        sl_rec_event(r, MC_CONTROLLER, true, "ObjectRefused", "%s", c->trouble);
    } else {
        return;
    }
    sl_rec_enqueue(r);
}

/* ---- the end ---- */

/* The pod of the lead broker has ended. */
static bool has_ended(const struct mc_cluster *c, const struct mc_job *job) {
    if (job->finished)
        return true;
    for (struct sl_rec *r = sl_inf_children(c->rec.table->informer, sl_rec_uid(job->rec.uid), NULL);
         r; r = r->next)
        if (r->kind == MC_POD && mc_pod_of(r)->index == 0 && mc_pod_of(r)->ended)
            return true;
    return false;
}

void mc_plan(struct sl_miniclusters *m, struct mc_cluster *c) {
    struct mc_job *job;
    if (c->error)
        return;
    sync_objects(m, c);
    job = mc_find_job(c);
    if (job && !job->finished && !job->rec.deleting &&
        (job->parallelism != mc_right_size(c, job) || job->completions != job->parallelism))
        sl_rec_write(&job->rec);
    if (job && c->cleanup && has_ended(c, job) && m->inf->writes)
        sl_rec_plan_delete(&c->rec);
}
