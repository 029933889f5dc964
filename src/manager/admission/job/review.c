/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reviews of all kinds of jobs. Created, a job with a queue is suspended until it is admitted;
 * later, what its Workload was made of stays while it runs.
 */
#include <string.h>

#include "manager/admission/job/kind.h"

/* ---- about the object ---- */

struct adm_job_facts adm_kind_facts(const struct sl_review_call *c) {
    return (struct adm_job_facts){
        .gvk = sl_arena_printf(c->arena, "%s/%s, Kind=%s", c->row->group, c->row->version,
                               c->row->kind),
        .prebuilt = c->rules->prebuilt,
        .elastic = c->row->elastic,
        .suspended = sl_json_bool(c->object, c->row->suspend, false),
        .was_suspended = sl_json_bool(c->old, c->row->suspend, false),
    };
}

bool adm_kind_managed(const struct sl_review_call *c) {
    return c->view->settings->manage_without_queue || *sl_json_label(c->object, SL_QUEUE_LABEL);
}

/* ---- creation ---- */

static int suspend(struct sl_review_call *c) {
    yyjson_val *now = sl_json_at(c->object, c->row->suspend);
    yyjson_mut_val *parent;
    const char *key;

    if (now && !yyjson_is_bool(now))
        return adm_call_refuse_type(c, SL_PATH(NULL, c->row->suspend), "a boolean");
    if (!adm_job_waits(c) || yyjson_is_true(now))
        return 0;
    parent = adm_edit_parent(c, adm_call_edit(c), NULL, c->row->suspend, &key);
    if (parent)
        adm_edit_bool(c, parent, key, true);
    return c->refused_code;
}

/* Where the queue leads to other clusters, the job's own controller is to leave it alone. */
static int default_manager(struct sl_review_call *c) {
    const char *path = c->row->managed_by, *own = c->row->controller, *key;
    yyjson_val *now = path ? sl_json_at(c->object, path) : NULL;
    const char *queue = adm_job_queue(c);
    yyjson_mut_val *parent;

    if (!path || !queue || !adm_call_gate(c, SL_G_MULTI_KUEUE) ||
        (now && (!own || strcmp(sl_json_text(now), own) != 0)) ||
        !c->view->queue_dispatches(c->view->ctx, c->ns, queue))
        return 0;
    parent = adm_edit_parent(c, adm_call_edit(c), NULL, path, &key);
    if (parent)
        adm_edit_str(c, parent, key, SL_MULTIKUEUE);
    return c->refused_code;
}

int adm_kind_gate(struct sl_review_call *c, yyjson_mut_val *root, const struct sl_path *at,
                  const char *template) {
    const char *path = sl_arena_printf(c->arena, "%s.spec.schedulingGates", template), *key;
    yyjson_mut_val *spec = adm_edit_parent(c, root, at, path, &key);
    yyjson_mut_val *gates;

    if (!spec)
        return c->refused_code;
    gates = yyjson_mut_obj_get(spec, key);
    if (gates && !yyjson_mut_is_arr(gates) && !yyjson_mut_is_null(gates))
        return adm_call_refuse_type(c, SL_PATH(at, path), "a list");
    adm_edit_gate(c, spec, SL_ELASTIC_KEY);
    return 0;
}

int adm_kind_mutate(struct sl_review_call *c) {
    int r;

    if (c->op != SL_REVIEW_CREATE)
        return 0;
    adm_job_default_labels(c);
    r = suspend(c);
    if (r == 0)
        r = default_manager(c);
    return r == 0 && c->rules->mutate ? c->rules->mutate(c) : r;
}

/* ---- topology ---- */

/* A podset and where its template is. */
static struct adm_podset podset_of(struct sl_review_call *c, const struct sl_jobkind_pods *p) {
    const char *at = c->rules->place ? c->rules->place(c, p) : NULL;
    return (struct adm_podset){
        .at = at ? at : sl_arena_printf(c->arena, "%s.metadata", p->path),
        .annotations = sl_json_at(p->template, "metadata.annotations"),
        .count = p->count,
    };
}

static void check_topology(struct sl_review_call *c, const struct sl_jobkind_podsets *p) {
    struct adm_podset v[SL_JOBKIND_MAX_PODSETS];

    c->errs.advice = c->rules->advice;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct sl_path *meta;
        v[i] = podset_of(c, &p->v[i]);
        meta = SL_PATH(NULL, v[i].at);
        (void)adm_rule_topology(c, meta, v[i].annotations);
        adm_rule_topology_size(c, meta, v[i].annotations, v[i].count);
    }
    if (c->rules->groups)
        adm_rule_topology_groups(c, v, p->n);
    c->errs.advice = NULL;
}

/* What its podsets cannot be made of is said by the controller, which knows more (a runtime that is
 * not there yet); refused is what can never be one. */
static int check_podsets(struct sl_review_call *c, bool managed) {
    struct sl_jobkind_podsets p;
    struct sl_jobkind_need need;
    struct sl_err err;
    bool needs = sl_jobkind_needs(c->row, c->object, &need);
    _cleanup_(sl_json_docp) yyjson_doc *runtime =
        needs ? c->view->runtime(c->view->ctx, c->ns, &need) : NULL;
    int r = sl_jobkind_podsets_with(c->row, c->object, yyjson_doc_get_root(runtime), &p, &err);

    if (r >= 0 && adm_call_gate(c, SL_G_TOPOLOGY_AWARE_SCHEDULING) && !c->rules->no_topology)
        check_topology(c, &p);
    sl_jobkind_podsets_done(&p);
    if (!managed || c->errs.n > 0 || !(r == SL_ELIMIT || (r == SL_EINVAL && c->rules->strict)))
        return 0;
    return adm_call_refuse(c, 403, "%s", err.text);
}

/* ---- rules ---- */

int adm_kind_validate(struct sl_review_call *c) {
    const struct adm_kind *k = c->rules;
    bool update = c->op == SL_REVIEW_UPDATE, managed;
    struct adm_job_facts facts;
    int r;

    if (k->validate)
        return k->validate(c);
    facts = adm_kind_facts(c);
    managed = adm_kind_managed(c);
    if (update && k->managed_only && !managed)
        return 0;
    if (update)
        adm_rule_job_update(c, &facts);
    if (managed && k->check && !k->check(c))
        return 0;
    if (update && k->update_alone)
        adm_rule_admission_gated_by(c);
    else
        adm_rule_job_create(c, &facts);
    r = check_podsets(c, managed);
    if (k->sorted && !update)
        sl_field_errs_sort(&c->errs);
    return r;
}
