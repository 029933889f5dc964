/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's own generator files: {className, count, queuesSets: [{className, count, nominalQuota,
 * ..., workloadsSets: [{count, creationIntervalMs, workloads: [...]}]}]}. One flavor, cpu only. In
 * a set with several workloads they alternate, one per interval. Topology and devices are not
 * simulated.
 */
#include "cmd/sim/load/load.h"

#include "kube/types/kueue/objects.h"

static void read_workload(struct sl_load_reader *r, const struct sl_doc_node *n, uint64_t count,
                          sl_span interval, uint32_t turn, uint32_t turns,
                          struct sl_load_class *k) {
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, &r->rd, n, "a workload");
    struct sl_podset_spec *podset = sl_arena_alloc0(&r->load->arena, 1, sizeof(*podset));
    struct sl_request *request = sl_arena_alloc0(&r->load->arena, 1, sizeof(*request));
    request->resource = "cpu";
    request->q = sl_doc_field_quantity(&f, "request", 0);
    *podset = (struct sl_podset_spec){
        .name = "main",
        .count = (int32_t)sl_doc_field_int(&f, "podCount", 1, 1, SL_MAX_COUNT),
        .requests = request,
        .n_requests = 1,
        .group = "",
    };
    *k = (struct sl_load_class){
        .name = sl_doc_field_str(&f, "className", NULL),
        .line = n->line,
        .count = count,
        .start = interval * turn,
        .interval = interval * turns,
        .runtime = sl_doc_field_int(&f, "runtimeMs", 0, 0, INT32_MAX) * SL_MSEC,
        .priority = (int32_t)sl_doc_field_int(&f, "priority", 0, INT32_MIN, INT32_MAX),
        .podsets = podset,
        .n_podsets = 1,
    };
    if (sl_doc_field(&f, "tasLevel"))
        sl_read_fail(&r->rd, n->line, "tasLevel: topology is not simulated");
    sl_doc_fields_close(&f);
}

static struct sl_load_class *read_sets(struct sl_load_reader *r, struct sl_doc_fields *q,
                                       uint32_t *ret_n) {
    uint32_t n_sets, n = 0;
    const struct sl_doc_node *sets =
        sl_doc_field_list(q, "workloadsSets", SL_LOAD_MAX_CLASSES, &n_sets);
    struct sl_load_class *v = sl_arena_alloc0(&r->load->arena, SL_LOAD_MAX_CLASSES, sizeof(*v));
    for (uint32_t i = 0; i < n_sets && r->rd.code >= 0; i++) {
        struct sl_doc_fields f;
        uint32_t turns;
        sl_doc_fields_open(&f, &r->rd, &sets[i], "a set of workloads");
        uint64_t count =
            (uint64_t)sl_doc_field_int(&f, "count", 1, 0, (int64_t)SL_LOAD_MAX_WORKLOADS);
        sl_span interval = sl_doc_field_int(&f, "creationIntervalMs", 0, 0, 1000000000) * SL_MSEC;
        const struct sl_doc_node *list =
            sl_doc_field_list(&f, "workloads", SL_LOAD_MAX_CLASSES, &turns);
        sl_doc_fields_close(&f);
        if (n + turns > SL_LOAD_MAX_CLASSES) {
            sl_read_fail(&r->rd, sets[i].line, "more than %u classes", SL_LOAD_MAX_CLASSES);
            break;
        }
        for (uint32_t k = 0; k < turns; k++)
            read_workload(r, &list[k], count, interval, k, turns, &v[n++]);
    }
    *ret_n = n;
    return v;
}

static void read_queues(struct sl_load_reader *r, const struct sl_doc_node *n, const char *cohort,
                        uint32_t set) {
    static const char *const resources[] = {"cpu"};
    struct sl_doc_fields f;
    uint32_t n_classes;
    sl_doc_fields_open(&f, &r->rd, n, "a set of queues");
    const char *name = sl_doc_field_str(&f, "className", NULL);
    uint32_t count = (uint32_t)sl_doc_field_int(&f, "count", 1, 0, SL_LOAD_MAX_QUEUES);
    struct sl_quota *quota = sl_arena_alloc0(&r->load->arena, 1, sizeof(*quota));
    struct sl_flavor_quotas *flavor = sl_arena_alloc0(&r->load->arena, 1, sizeof(*flavor));
    struct sl_group_spec *group = sl_arena_alloc0(&r->load->arena, 1, sizeof(*group));
    *quota = (struct sl_quota){
        .nominal = sl_amount_of_quota("cpu", sl_doc_field_quantity(&f, "nominalQuota", 0)),
        .borrow_limit = SL_AMOUNT_NONE,
        .lend_limit = SL_AMOUNT_NONE,
    };
    const struct sl_doc_node *limit = sl_doc_field(&f, "borrowingLimit");
    if (limit)
        quota->borrow_limit =
            sl_amount_of_quota("cpu", sl_read_quantity(&r->rd, limit, "borrowingLimit"));
    if (quota->nominal < 0 || (limit && quota->borrow_limit < 0))
        sl_read_fail(&r->rd, n->line, "nominalQuota and borrowingLimit: expected 0 or more");
    *flavor = (struct sl_flavor_quotas){"rf", quota};
    *group = (struct sl_group_spec){resources, 1, flavor, 1};
    struct sl_cq_spec spec = {
        .groups = {group, 1},
        .reclaim = (enum sl_reclaim)sl_doc_field_word(&f, "reclaimWithinCohort", SL_VOCAB_RECLAIM,
                                                      SL_RECLAIM_NEVER),
        .within = (enum sl_within)sl_doc_field_word(&f, "withinClusterQueue", SL_VOCAB_WITHIN,
                                                    SL_WITHIN_NEVER),
        .when_can_borrow = SL_MAY_STOP_SEARCH,
        .when_can_preempt = SL_TRY_NEXT_FLAVOR,
        .weight_nano = SL_WEIGHT_ONE,
    };
    const struct sl_load_class *classes = read_sets(r, &f, &n_classes);
    sl_doc_fields_close(&f);
    for (uint32_t i = 0; i < count && r->rd.code >= 0; i++)
        sl_load_add_queue(r, n->line,
                          sl_arena_printf(&r->load->arena, "%s-%u-%u-%s", name, set, i, cohort),
                          cohort, &spec, classes, n_classes);
}

void sl_load_read_kueue(struct sl_load_reader *r, const struct sl_doc_node *cohort) {
    struct sl_doc_fields f;
    uint32_t n_sets;
    sl_doc_fields_open(&f, &r->rd, cohort, "a set of cohorts");
    const char *name = sl_doc_field_str(&f, "className", NULL);
    uint32_t count = (uint32_t)sl_doc_field_int(&f, "count", 1, 0, SL_LOAD_MAX_QUEUES);
    const struct sl_doc_node *sets =
        sl_doc_field_list(&f, "queuesSets", SL_LOAD_MAX_QUEUES, &n_sets);
    sl_doc_fields_close(&f);
    for (uint32_t i = 0; i < count && r->rd.code >= 0; i++) {
        const char *own = sl_load_number(r, name, true, i);
        for (uint32_t k = 0; k < n_sets && r->rd.code >= 0; k++)
            read_queues(r, &sets[k], own, k);
    }
}
