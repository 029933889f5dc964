/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle's small records as facts for the engine. Every prop_* applies the same to the trace,
 * the oracle and the engine.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "properties.h"

const char *const prop_res_name[ORC_RES] = {"cpu", "memory", "gpu", "pods"};

static const char *const label_key[ORC_KEYS] = {"zone", "kind"};
static const char *const label_value[] = {"", "one", "two"};
static const char *const taint_key[ORC_KEYS] = {"spot", "old"};
static const char *const flavor_name[ORC_FLAVORS] = {"fl0", "fl1", "fl2", "fl3"};
static const char *const node_name[ORC_NODES] = {"q0", "q1",  "q2",  "q3",  "q4",  "q5",  "q6",
                                                 "q7", "co0", "co1", "co2", "co3", "co4", "co5"};
static const char *const lq_name[ORC_LQS] = {"l0", "l1", "l2", "l3", "l4",  "l5",
                                             "l6", "l7", "l8", "l9", "l10", "l11"};
static const char *const ns_name[ORC_NSS] = {"n0", "n1", "n2"};
static const char *const team_name[] = {"red", "blue"};
static const char *const podset_name[ORC_PODSETS] = {"main", "side", "rest"};

/* Hands one fact to the engine (and its plain twin). */
static void apply(struct run *r, struct sl_fact *f, sl_wl_id *ret) {
    struct sl_err err = {0};

    f->at = r->now;
    if (f->kind != SL_FACT_RELEASED)
        r->evictions = 0;
    if (r->oracle_only)
        return;
    if (sl_engine_apply(r->e, f, ret, &err) < 0)
        prop_fail(r, "the engine refuses a fact: %s", err.text);
    if (r->plain && sl_engine_apply(r->plain, f, NULL, &err) < 0)
        prop_fail(r, "the plain engine refuses a fact: %s", err.text);
}

/* ---- configuration ---- */

void prop_config(struct run *r) {
    struct sl_fact f = {.kind = SL_FACT_CONFIG, .config = sl_config_default};
    const struct orc_config *c = &r->o->config;

    f.config.gates = c->gates;
    f.config.fair_sharing = c->fair;
    f.config.n_fair = (uint32_t)c->n_strategy;
    f.config.fair[0] = c->strategy[0];
    f.config.fair[1] = c->strategy[1];
    f.config.ignore_undeclared = c->ignore_undeclared;
    prop_tell(r, "config: fair sharing %s (%d strategies, first %s), gates %#x%s",
              c->fair ? "on" : "off", c->n_strategy,
              sl_word(SL_VOCAB_FAIR_STRATEGY, (int)c->strategy[0]), c->gates,
              c->ignore_undeclared ? ", undeclared resources ignored" : "");
    apply(r, &f, NULL);
}

void prop_flavor(struct run *r, int fl, const struct orc_flavor *spec) {
    struct sl_label labels[ORC_KEYS];
    struct sl_taint taints[ORC_KEYS];
    struct sl_toleration tols[ORC_KEYS];
    struct sl_fact f = {.kind = SL_FACT_FLAVOR};
    uint32_t n_labels = 0;
    static const enum sl_taint_effect effect[] = {
        [ORC_TAINT_NO_SCHEDULE] = SL_TAINT_NO_SCHEDULE,
        [ORC_TAINT_PREFER] = SL_TAINT_PREFER_NO_SCHEDULE,
        [ORC_TAINT_NO_EXECUTE] = SL_TAINT_NO_EXECUTE,
    };

    prop_tell(r, "flavor %s: labels %d %d, taints %d %d", flavor_name[fl], spec->label[0],
              spec->label[1], (int)spec->taint[0], (int)spec->taint[1]);
    for (int k = 0; k < ORC_KEYS; k++) {
        if (spec->label[k])
            labels[n_labels++] = (struct sl_label){label_key[k], label_value[spec->label[k]]};
        if (spec->taint[k] != ORC_TAINT_NONE)
            taints[f.flavor.n_taints++] =
                (struct sl_taint){taint_key[k], "yes", effect[spec->taint[k]]};
        if (spec->tolerates[k])
            tols[f.flavor.n_tolerations++] =
                (struct sl_toleration){.key = taint_key[k], .value = "", .exists = true};
    }
    f.flavor.name = flavor_name[fl];
    f.flavor.labels = (struct sl_labels){labels, n_labels};
    f.flavor.taints = taints;
    f.flavor.tolerations = tols;
    orc_set_flavor(r->o, fl, spec);
    apply(r, &f, NULL);
}

static void gone(struct run *r, enum sl_fact_kind kind, const char *ns, const char *name) {
    struct sl_fact f = {.kind = kind, .gone = {ns, name}};

    prop_tell(r, "%s %s", sl_fact_name(kind), name);
    apply(r, &f, NULL);
}

void prop_flavor_gone(struct run *r, int fl) {
    orc_flavor_gone(r->o, fl);
    gone(r, SL_FACT_FLAVOR_GONE, NULL, flavor_name[fl]);
}

struct groups {
    const char *res[ORC_GROUPS][ORC_RES];
    struct sl_quota quota[ORC_GROUPS][ORC_FLAVORS][ORC_RES];
    struct sl_flavor_quotas flavor[ORC_GROUPS][ORC_FLAVORS];
    struct sl_group_spec group[ORC_GROUPS];
};

static struct sl_groups groups_of(struct groups *g, const struct orc_node *n) {
    for (int i = 0; i < n->n_groups; i++) {
        const struct orc_group *og = &n->group[i];
        for (int k = 0; k < og->n_flavors; k++) {
            g->flavor[i][k] = (struct sl_flavor_quotas){flavor_name[og->flavor[k]], g->quota[i][k]};
            for (int j = 0; j < og->n_res; j++) {
                const struct orc_quota *q = &n->q[orc_fr(og->flavor[k], og->res[j])];
                g->res[i][j] = prop_res_name[og->res[j]];
                g->quota[i][k][j] = (struct sl_quota){q->nominal, q->borrow, q->lend};
            }
        }
        g->group[i] = (struct sl_group_spec){g->res[i], (uint32_t)og->n_res, g->flavor[i],
                                             (uint32_t)og->n_flavors};
    }
    return (struct sl_groups){g->group, (uint32_t)n->n_groups};
}

static void print_amount(struct sl_buf *b, sl_amount a) {
    if (a == SL_AMOUNT_UNLIMITED)
        sl_buf_puts(b, "unlimited");
    else
        sl_buf_printf(b, "%lld", (long long)a);
}

static void print_quotas(struct run *r, const struct orc_node *n) {
    struct sl_buf b;

    for (int i = 0; i < n->n_groups && r->verbose; i++)
        for (int k = 0; k < n->group[i].n_flavors; k++) {
            sl_buf_init(&b, 1024);
            for (int j = 0; j < n->group[i].n_res; j++) {
                const struct orc_quota *q =
                    &n->q[orc_fr(n->group[i].flavor[k], n->group[i].res[j])];
                sl_buf_printf(&b, " %s ", prop_res_name[n->group[i].res[j]]);
                print_amount(&b, q->nominal);
                if (q->borrow != SL_AMOUNT_NONE) {
                    sl_buf_puts(&b, " borrow ");
                    print_amount(&b, q->borrow);
                }
                if (q->lend != SL_AMOUNT_NONE) {
                    sl_buf_puts(&b, " lend ");
                    print_amount(&b, q->lend);
                }
                sl_buf_puts(&b, j + 1 < n->group[i].n_res ? "," : "");
            }
            prop_tell(r, "    group %d %s:%s", i, flavor_name[n->group[i].flavor[k]],
                      sl_buf_str(&b));
            sl_buf_done(&b);
        }
}

void prop_cohort(struct run *r, int node, const struct orc_node *spec) {
    struct groups g = {0};
    struct sl_fact f = {.kind = SL_FACT_COHORT};

    prop_tell(r, "cohort %s: parent %s, weight %lld nano", node_name[node],
              spec->parent < 0 ? "-" : node_name[spec->parent], (long long)spec->weight_nano);
    print_quotas(r, spec);
    f.cohort.name = node_name[node];
    f.cohort.parent = spec->parent < 0 ? "" : node_name[spec->parent];
    f.cohort.groups = groups_of(&g, spec);
    f.cohort.weight_nano = spec->weight_nano;
    orc_set_cohort(r->o, node, spec);
    apply(r, &f, NULL);
}

void prop_cohort_gone(struct run *r, int node) {
    orc_cohort_gone(r->o, node);
    gone(r, SL_FACT_COHORT_GONE, NULL, node_name[node]);
}

void prop_cq(struct run *r, int cq, const struct orc_node *spec, const struct orc_cq *p) {
    struct groups g = {0};
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE};
    const char *team = team_name[p->team];
    struct sl_label_rule rule = {.key = "team", .op = SL_OP_IN, .values = &team, .n_values = 1};

    prop_tell(
        r,
        "queue %s: cohort %s, %s, within %s, reclaim %s, borrow within %s (threshold %s%d), "
        "when can borrow %s, preempt %s, %s, stop %s, namespaces %d/%d, weight %lld nano",
        node_name[cq], spec->parent < 0 ? "-" : node_name[spec->parent],
        sl_word(SL_VOCAB_STRATEGY, (int)p->strategy), sl_word(SL_VOCAB_WITHIN, (int)p->within),
        sl_word(SL_VOCAB_RECLAIM, (int)p->reclaim),
        sl_word(SL_VOCAB_BORROW_WITHIN, (int)p->borrow_within), p->has_threshold ? "" : "none ",
        p->threshold, sl_word(SL_VOCAB_WHEN, (int)p->when_borrow),
        sl_word(SL_VOCAB_WHEN, (int)p->when_preempt),
        sl_word(SL_VOCAB_PREFERENCE, (int)p->preference), sl_word(SL_VOCAB_STOP, (int)p->stop),
        (int)p->selects, p->team, (long long)spec->weight_nano);
    print_quotas(r, spec);
    f.cq = (struct sl_cq_spec){
        .name = node_name[cq],
        .cohort = spec->parent < 0 ? "" : node_name[spec->parent],
        .groups = groups_of(&g, spec),
        .strategy = p->strategy,
        .within = p->within,
        .reclaim = p->reclaim,
        .borrow_within = p->borrow_within,
        .has_borrow_threshold = p->has_threshold,
        .borrow_threshold = p->threshold,
        .when_can_borrow = p->when_borrow,
        .when_can_preempt = p->when_preempt,
        .preference = p->preference,
        .stop = p->stop,
        .weight_nano = spec->weight_nano,
    };
    if (p->selects == ORC_NS_TEAM)
        f.cq.namespaces = (struct sl_selector){&rule, 1, false};
    f.cq.namespaces.nothing = p->selects == ORC_NS_NOTHING;
    orc_set_cq(r->o, cq, spec, p);
    apply(r, &f, NULL);
}

void prop_cq_gone(struct run *r, int cq) {
    orc_cq_gone(r->o, cq);
    gone(r, SL_FACT_CLUSTER_QUEUE_GONE, NULL, node_name[cq]);
}

void prop_lq(struct run *r, int lq, const struct orc_lq *spec) {
    struct sl_fact f = {.kind = SL_FACT_LOCAL_QUEUE};

    prop_tell(r, "local queue %s/%s -> %s, stop %s", ns_name[spec->ns], lq_name[lq],
              node_name[spec->cq], sl_word(SL_VOCAB_STOP, (int)spec->stop));
    f.lq = (struct sl_lq_spec){ns_name[spec->ns], lq_name[lq], node_name[spec->cq], spec->stop,
                               SL_WEIGHT_ONE};
    orc_set_lq(r->o, lq, spec);
    apply(r, &f, NULL);
}

void prop_lq_gone(struct run *r, int lq) {
    orc_lq_gone(r->o, lq);
    gone(r, SL_FACT_LOCAL_QUEUE_GONE, ns_name[r->o->lq[lq].ns], lq_name[lq]);
}

void prop_ns(struct run *r, int ns, int team) {
    struct sl_label label = {"team", team_name[team]};
    struct sl_fact f = {.kind = SL_FACT_NAMESPACE, .ns = {ns_name[ns], {&label, 1}}};

    prop_tell(r, "namespace %s: team %s", ns_name[ns], team_name[team]);
    orc_set_ns(r->o, ns, team);
    apply(r, &f, NULL);
}

/* ---- workloads ---- */

struct podsets {
    struct sl_podset_spec ps[ORC_PODSETS];
    struct sl_request req[ORC_PODSETS][ORC_RES];
    struct sl_label sel[ORC_PODSETS][ORC_KEYS];
    struct sl_selector term[ORC_PODSETS][ORC_TERMS];
    struct sl_label_rule rule[ORC_PODSETS][ORC_TERMS][ORC_KEYS];
    struct sl_toleration tol[ORC_PODSETS][ORC_KEYS];
};

static void podset_of(struct podsets *b, int p, const struct orc_podset *in) {
    static const enum sl_label_op op[] = {SL_OP_IN, SL_OP_NOT_IN, SL_OP_EXISTS, SL_OP_NOT_EXISTS};
    struct sl_podset_spec *s = &b->ps[p];

    *s = (struct sl_podset_spec){.name = podset_name[p],
                                 .count = in->count,
                                 .min_count = in->min_count,
                                 .requests = b->req[p],
                                 .group = in->group ? "together" : ""};
    for (int res = 0; res < ORC_RES; res++)
        if (in->asks[res])
            b->req[p][s->n_requests++] =
                (struct sl_request){prop_res_name[res], (sl_quantity)in->each[res] *
                                                            (res == 0 ? SL_NANO / 1000 : SL_NANO)};
    s->node_selector.v = b->sel[p];
    s->tolerations = b->tol[p];
    for (int k = 0; k < ORC_KEYS; k++) {
        if (in->selector[k])
            b->sel[p][s->node_selector.n++] =
                (struct sl_label){label_key[k], label_value[in->selector[k]]};
        if (in->tol[k] == ORC_TOL_NONE)
            continue;
        b->tol[p][s->n_tolerations++] = (struct sl_toleration){
            .key = taint_key[k],
            .value = in->tol[k] == ORC_TOL_WRONG_VALUE   ? "no"
                     : in->tol[k] == ORC_TOL_NO_SCHEDULE ? "yes"
                                                         : "",
            .exists = in->tol[k] == ORC_TOL_EXISTS,
            .effect = in->tol[k] == ORC_TOL_NO_SCHEDULE ? SL_TAINT_NO_SCHEDULE : SL_TAINT_ANY,
        };
    }
    for (int t = 0; t < in->n_terms; t++) {
        for (int i = 0; i < in->term[t].n; i++) {
            const struct orc_rule *rl = &in->term[t].rule[i];
            bool values = rl->op == ORC_OP_IN || rl->op == ORC_OP_NOT_IN;
            b->rule[p][t][i] =
                (struct sl_label_rule){.key = label_key[rl->key],
                                       .op = op[rl->op],
                                       .values = values ? &label_value[rl->value] : NULL,
                                       .n_values = values};
        }
        b->term[p][t] = (struct sl_selector){b->rule[p][t], (uint32_t)in->term[t].n, false};
    }
    s->affinity = (struct sl_affinity){b->term[p], (uint32_t)in->n_terms};
}

static void print_workload(struct run *r, int w, const struct orc_wl_spec *s, const char *what) {
    if (!r->verbose)
        return;
    prop_tell(r, "%s w%d (%s): queue %s/%s (-> %s), priority %d+%d, created %lld%s%s%s%s", what, w,
              s->uid, ns_name[r->o->lq[s->lq].ns], lq_name[s->lq], node_name[r->o->lq[s->lq].cq],
              s->priority, s->boost, (long long)(s->created / SL_SEC),
              s->inactive ? ", inactive" : "", s->gated ? ", gated" : "",
              s->on_hold ? ", on hold" : "", s->invalid ? ", invalid" : "");
    for (int p = 0; p < s->n; p++) {
        const struct orc_podset *ps = &s->ps[p];
        struct sl_buf b;
        sl_buf_init(&b, 1024);
        for (int k = 0; k < ORC_RES; k++)
            if (ps->asks[k])
                sl_buf_printf(&b, " %s %lld", prop_res_name[k], (long long)ps->each[k]);
        for (int k = 0; k < ORC_KEYS; k++) {
            if (ps->selector[k])
                sl_buf_printf(&b, ", %s=%s", label_key[k], label_value[ps->selector[k]]);
            if (ps->tol[k] != ORC_TOL_NONE)
                sl_buf_printf(&b, ", tolerates %s (%d)", taint_key[k], (int)ps->tol[k]);
        }
        for (int t = 0; t < ps->n_terms; t++) {
            sl_buf_puts(&b, ", term");
            for (int i = 0; i < ps->term[t].n; i++)
                sl_buf_printf(&b, " [%s op%d %s]", label_key[ps->term[t].rule[i].key],
                              (int)ps->term[t].rule[i].op, label_value[ps->term[t].rule[i].value]);
        }
        prop_tell(r, "    %d (at least %d) x%s%s", ps->count, ps->min_count, sl_buf_str(&b),
                  ps->group ? ", together" : "");
        sl_buf_done(&b);
    }
}

static void workload_fact(struct run *r, int w, const struct orc_wl_spec *s) {
    struct podsets b = {0};
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD};
    struct sl_err err = {0};
    sl_shape_id shape, plain_shape = SL_SHAPE_NONE;
    char name[16];

    r->evictions = 0;
    if (r->oracle_only)
        return;
    (void)snprintf(name, sizeof name, "w%d", w);
    for (int p = 0; p < s->n; p++)
        podset_of(&b, p, &s->ps[p]);
    f.workload = (struct sl_workload_spec){
        .ns = ns_name[r->o->lq[s->lq].ns],
        .name = name,
        .uid = s->uid,
        .queue = lq_name[s->lq],
        .priority = s->priority,
        .boost = s->boost,
        .created = s->created,
        .inactive = s->inactive,
        .gated_by = s->gated ? "somebody" : "",
        .on_hold = s->on_hold,
        .invalid = s->invalid ? "it is not well formed" : "",
    };
    if (sl_engine_shape(r->e, b.ps, (uint32_t)s->n, &shape, &err) < 0 ||
        (r->plain && sl_engine_shape(r->plain, b.ps, (uint32_t)s->n, &plain_shape, &err) < 0)) {
        prop_fail(r, "the engine refuses a shape: %s", err.text);
        return;
    }
    f.at = r->now;
    f.workload.shape = shape;
    if (sl_engine_apply(r->e, &f, &r->id[w], &err) < 0)
        prop_fail(r, "the engine refuses a workload: %s", err.text);
    sl_engine_shape_release(r->e, shape);
    if (r->plain) {
        f.workload.shape = plain_shape;
        if (sl_engine_apply(r->plain, &f, NULL, &err) < 0)
            prop_fail(r, "the plain engine refuses a workload: %s", err.text);
        sl_engine_shape_release(r->plain, plain_shape);
    }
}

void prop_create(struct run *r, const struct orc_wl_spec *spec) {
    int w = orc_create(r->o, spec);

    print_workload(r, w, spec, "create");
    workload_fact(r, w, spec);
}

void prop_update(struct run *r, int w, const struct orc_wl_spec *spec) {
    print_workload(r, w, spec, "update");
    orc_update(r->o, w, spec);
    workload_fact(r, w, spec);
}

static void apply_wl_fact(struct run *r, enum sl_fact_kind kind, int w) {
    struct sl_fact f = {.kind = kind, .wl = r->id[w]};

    prop_tell(r, "%s w%d", sl_fact_name(kind), w);
    apply(r, &f, NULL);
}

void prop_delete(struct run *r, int w) {
    orc_delete(r->o, w);
    apply_wl_fact(r, SL_FACT_WORKLOAD_GONE, w);
}

void prop_finish(struct run *r, int w) {
    orc_finish(r->o, w);
    apply_wl_fact(r, SL_FACT_FINISHED, w);
}

void prop_release(struct run *r, int w) {
    orc_release(r->o, w);
    apply_wl_fact(r, SL_FACT_RELEASED, w);
}

void prop_reclaimable(struct run *r, int w, const int *counts) {
    int32_t c[ORC_PODSETS];
    struct sl_fact f = {.kind = SL_FACT_RECLAIMABLE, .wl = r->id[w]};

    prop_tell(r, "reclaimable pods of w%d: %d %d %d", w, counts[0], counts[1], counts[2]);
    orc_reclaimable(r->o, w, counts);
    for (int p = 0; p < ORC_PODSETS; p++)
        c[p] = counts[p];
    f.reclaimable.counts = c;
    f.reclaimable.n = (uint32_t)r->o->wl[w].spec.n;
    apply(r, &f, NULL);
}
