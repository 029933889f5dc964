/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if: the workloads of a journal under other queues. The journal is read twice. The first time
 * it is replayed, which gives the result to compare with and the runtime of each workload. The
 * second time only external events are taken from it (configuration, creation and deletion of
 * workloads); admission, completion and eviction are simulated.
 *
 * An object of the change replaces all that the journal has about the object of the same kind and
 * name, from where the journal first mentions it; one that the journal does not mention exists from
 * the beginning; one with the annotation "sluice.dev/what-if: delete" never exists.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/sim/replay.h"
#include "cmd/sim/sim.h"
#include "core/base/fmt.h"
#include "kube/types/kueue/objects.h"

#define ANNOTATION "sluice.dev/what-if"
#define MAX_CHANGES 100000u

struct change {
    const char *key;
    const struct sl_fact *fact; /* NULL: it never exists */
    bool reported;
};

struct what_if {
    const struct sl_sim_request *q;
    struct sl_world *w;
    struct sl_doc *doc;
    struct sl_arena arena;
    SL_VEC(struct change) changes;
    struct sl_syms keys; /* of the changes; symbol k is change k - 1 */
    struct sl_replay_trace lesson;
    SL_VEC(sl_span) longest; /* by class: the longest run seen */
    sl_span longest_of_all;

    struct sl_journal_reader *in;
    struct sl_replay_shapes shapes;
    struct sl_journal_record rec; /* the next one to happen; END when there is none */
    uint32_t reported, gone;      /* facts about workloads so far: specs, and deletions */
    bool *seen;                   /* by number: has come */
    uint64_t unknown;             /* workloads whose runtime had to be guessed */
};

/* ---- the change ---- */

#define KEY_MAX (2 * SL_MAX_NAME + 80)

/* What a configuration fact is about; "" for any other. */
static const char *key_of(const struct sl_fact *f, char out[KEY_MAX]) {
    const char *kind = "", *ns = "", *name = "";
    switch (f->kind) {
    case SL_FACT_CONFIG:
        kind = "config";
        break;
    case SL_FACT_FLAVOR:
    case SL_FACT_FLAVOR_GONE:
        kind = "ResourceFlavor";
        name = f->kind == SL_FACT_FLAVOR ? f->flavor.name : f->gone.name;
        break;
    case SL_FACT_COHORT:
    case SL_FACT_COHORT_GONE:
        kind = "Cohort";
        name = f->kind == SL_FACT_COHORT ? f->cohort.name : f->gone.name;
        break;
    case SL_FACT_CLUSTER_QUEUE:
    case SL_FACT_CLUSTER_QUEUE_GONE:
        kind = "ClusterQueue";
        name = f->kind == SL_FACT_CLUSTER_QUEUE ? f->cq.name : f->gone.name;
        break;
    case SL_FACT_LOCAL_QUEUE:
    case SL_FACT_LOCAL_QUEUE_GONE:
        kind = "LocalQueue";
        name = f->kind == SL_FACT_LOCAL_QUEUE ? f->lq.name : f->gone.name;
        ns = f->kind == SL_FACT_LOCAL_QUEUE ? f->lq.ns : f->gone.ns;
        break;
    case SL_FACT_NAMESPACE:
    case SL_FACT_NAMESPACE_GONE:
        kind = "Namespace";
        name = f->kind == SL_FACT_NAMESPACE ? f->ns.name : f->gone.name;
        break;
    case SL_FACT_CHECK:
    case SL_FACT_CHECK_GONE:
        kind = "AdmissionCheck";
        name = f->kind == SL_FACT_CHECK ? f->check.name : f->gone.name;
        break;
    default:
        out[0] = '\0';
        return out;
    }
    sl_fmt(out, KEY_MAX, "%s %s/%s", kind, ns ? ns : "", name ? name : "");
    return out;
}

static void add_change(struct what_if *c, struct sl_read *rd, uint32_t line, const char *key,
                       const struct sl_fact *fact) {
    if (sl_sym_find(&c->keys, key) != SL_MAP_NONE) {
        sl_read_fail(rd, line, "%.120s is changed twice", key);
        return;
    }
    if (c->changes.n == MAX_CHANGES) {
        sl_read_fail(rd, line, "more than %u changes", MAX_CHANGES);
        return;
    }
    sl_sym y = sl_sym_put(&c->keys, key);
    sl_assert(y == c->changes.n + 1);
    *sl_vec_push(&c->changes) = (struct change){sl_sym_str(&c->keys, y), fact, false};
}

static const char *text_at(const struct sl_doc_node *map, const char *key) {
    const struct sl_doc_node *n = map ? sl_doc_node_get(map, key) : NULL;
    return n && n->kind == SL_DOC_NODE_STR ? n->text : "";
}

static void read_change(struct what_if *c, struct sl_read *rd, const struct sl_doc_node *n) {
    const struct sl_doc_node *meta = sl_doc_node_get(n, "metadata");
    const struct sl_doc_node *notes = meta ? sl_doc_node_get(meta, "annotations") : NULL;
    const char *action = text_at(notes, ANNOTATION);
    if (*action && strcmp(action, "delete") != 0) {
        sl_read_fail(rd, n->line, ANNOTATION ": expected delete, got \"%.40s\"", action);
        return;
    }
    if (*action) {
        char key[KEY_MAX];
        sl_fmt(key, sizeof(key), "%.60s %.253s/%.253s", text_at(n, "kind"),
               text_at(meta, "namespace"), text_at(meta, "name"));
        add_change(c, rd, n->line, key, NULL);
        return;
    }
    struct sl_kueue_object o = {0};
    sl_kueue_object_decode(rd, n, &o);
    if (rd->code < 0)
        return;
    if (o.kind != SL_KUEUE_OBJECT_FACT) {
        sl_read_fail(rd, n->line,
                     "expected a ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Namespace, "
                     "AdmissionCheck or Configuration");
        return;
    }
    char key[KEY_MAX];
    struct sl_fact *f = sl_arena_alloc(&c->arena, sizeof(*f));
    *f = o.fact;
    add_change(c, rd, n->line, key_of(f, key), f);
}

static int read_changes(struct what_if *c, const char *file, struct sl_err *err) {
    int r = sl_doc_load(file, &c->doc, err);
    if (r < 0)
        return r;
    struct sl_read rd = {.file = file, .arena = &c->arena, .err = err};
    for (uint32_t i = 0; i < c->doc->n && rd.code >= 0; i++) {
        const struct sl_doc_node *n = &c->doc->roots[i];
        if (n->kind == SL_DOC_NODE_NULL)
            continue; /* nothing between two separators */
        const struct sl_doc_node *items = sl_doc_node_get(n, "items");
        if (strcmp(text_at(n, "kind"), "List") == 0 && items && items->kind == SL_DOC_NODE_LIST) {
            for (uint32_t k = 0; k < items->n && rd.code >= 0; k++)
                read_change(c, &rd, &items->items[k]);
        } else {
            read_change(c, &rd, n);
        }
    }
    if (rd.code >= 0 && c->changes.n == 0)
        sl_read_fail(&rd, 1, "expected at least one object to change");
    return rd.code;
}

/* ---- runtimes ---- */

static void sum_up_runtimes(struct what_if *c) {
    const struct sl_replay_trace *l = &c->lesson;
    for (uint32_t i = 0; i < l->runtimes.n; i++) {
        while (c->longest.n <= l->classes.v[i])
            *sl_vec_push(&c->longest) = -1;
        sl_span d = l->runtimes.v[i];
        if (d > c->longest.v[l->classes.v[i]])
            c->longest.v[l->classes.v[i]] = d;
        if (d > c->longest_of_all)
            c->longest_of_all = d;
    }
}

/* One that never finished runs as long as the longest of its class, or of all. */
static sl_span runtime_of(struct what_if *c, uint32_t number, bool count) {
    sl_span d = c->lesson.runtimes.v[number];
    if (d >= 0)
        return d;
    c->unknown += count;
    d = c->longest.v[c->lesson.classes.v[number]];
    return d >= 0 ? d : c->longest_of_all;
}

/* ---- the source ---- */

/* Moves on to the next record that comes from outside. */
static int advance(struct what_if *c, struct sl_err *err) {
    for (;;) {
        int r = sl_journal_next(c->in, &c->rec, err);
        if (r < 0)
            return r;
        if (r == 0 || c->rec.kind == SL_JOURNAL_RECORD_END) {
            c->rec.kind = SL_JOURNAL_RECORD_END;
            return 0;
        }
        if (c->rec.kind != SL_JOURNAL_RECORD_FACT)
            continue;
        switch (c->rec.fact.kind) {
        case SL_FACT_FINISHED:
        case SL_FACT_RELEASED:
        case SL_FACT_ADMIT_FAILED:
        case SL_FACT_PODS_READY:
        case SL_FACT_CHECK_STATE:
        case SL_FACT_ADMISSION:
        case SL_FACT_PAST:
            continue; /* simulated */
        case SL_FACT_WORKLOAD_GONE:
            if (c->lesson.gone.v[c->gone++])
                continue; /* it had finished, and is dropped when it finishes here */
            return 0;
        default:
            return 0;
        }
    }
}

static int fire_workload(struct what_if *c, struct sl_sim *sim, struct sl_err *err) {
    struct sl_journal_record *rec = &c->rec;
    uint32_t number = c->lesson.known.v[c->reported++];
    bool is_new = !c->seen[number], known;
    struct sl_sim_wl_note note;
    int r = sl_replay_prepare(c->w, &c->shapes, rec, &note, &known, err);
    if (r < 0)
        return r;
    if (is_new && known) /* an earlier one of this name is not done yet, as it was in the journal */
        rec->fact.workload.name =
            sl_arena_printf(&c->arena, "%.200s-%u", rec->fact.workload.name, number);
    if (is_new || known) /* else it has finished earlier than in the journal */
        r = sl_sim_arrive(sim, &rec->fact, &note, runtime_of(c, number, is_new), number, err);
    c->seen[number] = true;
    return r;
}

static int fire_other(struct what_if *c, struct sl_sim *sim, struct sl_err *err) {
    struct sl_journal_record *rec = &c->rec;
    char key[KEY_MAX];
    if (rec->name) { /* about a workload */
        struct sl_sim_wl_note note;
        bool known;
        int r = sl_replay_prepare(c->w, &c->shapes, rec, &note, &known, err);
        if (r < 0 || !known)
            return r; /* it has finished earlier than in the journal */
        return sl_sim_apply(sim, &rec->fact, err);
    }
    sl_sym y = sl_sym_find(&c->keys, key_of(&rec->fact, key));
    if (!key[0] || y == SL_MAP_NONE || y == 0)
        return sl_sim_apply(sim, &rec->fact, err);
    struct change *x = &c->changes.v[y - 1];
    if (x->reported || !x->fact)
        return 0;
    x->reported = true;
    struct sl_fact f = *x->fact;
    f.at = rec->fact.at;
    return sl_sim_apply(sim, &f, err);
}

static sl_time first(void *ctx, uint32_t stream) {
    const struct what_if *c = ctx;
    (void)stream;
    return c->rec.kind == SL_JOURNAL_RECORD_END ? SL_TIME_NEVER : c->rec.fact.at;
}

static int fire(void *ctx, struct sl_sim *sim, uint32_t stream, sl_time now, sl_time *ret_next,
                struct sl_err *err) {
    struct what_if *c = ctx;
    (void)stream;
    while (c->rec.kind != SL_JOURNAL_RECORD_END && c->rec.fact.at <= now) {
        uint32_t line = c->rec.line;
        int r = c->rec.fact.kind == SL_FACT_WORKLOAD ? fire_workload(c, sim, err)
                                                     : fire_other(c, sim, err);
        if (r < 0)
            return sl_err_wrap(err, r, "%s:%u", c->q->file, line);
        r = advance(c, err);
        if (r < 0)
            return r;
    }
    *ret_next = c->rec.kind == SL_JOURNAL_RECORD_END ? SL_TIME_NEVER : c->rec.fact.at;
    return 0;
}

static void describe_workload(void *ctx, uint64_t ref, struct sl_sim_wl_note *ret) {
    const struct what_if *c = ctx;
    ret->klass = c->lesson.classes.v[ref];
}

/* What the journal never mentions exists from the beginning. */
static int report_new_objects(struct what_if *c, sl_time at, struct sl_err *err) {
    _cleanup_(sl_journal_reader_freep) struct sl_journal_reader *in = NULL;
    struct sl_journal_head head;
    char key[KEY_MAX];
    int r = sl_journal_open(c->q->file, &in, &head, err);
    struct sl_journal_record rec;
    bool *mentioned = sl_alloc0(c->changes.n + 1, sizeof(*mentioned));
    while (r >= 0 && (r = sl_journal_next(in, &rec, err)) > 0) {
        if (rec.kind != SL_JOURNAL_RECORD_FACT || rec.name)
            continue;
        sl_sym y = sl_sym_find(&c->keys, key_of(&rec.fact, key));
        if (key[0] && y != SL_MAP_NONE && y != 0)
            mentioned[y - 1] = true;
    }
    for (uint32_t i = 0; i < c->changes.n && r >= 0; i++) {
        if (mentioned[i] || !c->changes.v[i].fact)
            continue;
        struct sl_fact f = *c->changes.v[i].fact;
        f.at = at;
        r = sl_world_apply(c->w, &f, NULL, NULL, err);
        if (r < 0)
            (void)sl_err_wrap(err, r, "%s", c->changes.v[i].key);
    }
    sl_freep(&mentioned);
    return r < 0 ? r : 0;
}

static bool waits_for_pods(const struct what_if *c) {
    for (uint32_t i = 0; i < c->changes.n; i++) {
        const struct sl_fact *f = c->changes.v[i].fact;
        if (f && f->kind == SL_FACT_CONFIG && f->config.pods_ready)
            return true;
    }
    return false;
}

static int simulate(struct what_if *c, struct sl_report *ret, struct sl_err *err) {
    struct sl_journal_head head;
    int r = sl_journal_open(c->q->file, &c->in, &head, err);
    if (r >= 0)
        r = advance(c, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < head.n_classes; i++)
        (void)sl_meter_class(c->w->meter, head.classes[i]);
    sl_time origin = c->rec.kind == SL_JOURNAL_RECORD_END ? SL_SIM_EPOCH : c->rec.fact.at;
    r = report_new_objects(c, origin, err);
    if (r < 0)
        return r;
    struct sl_sim_source source = {
        .ctx = c,
        .n_streams = 1,
        .expected = c->lesson.runtimes.n,
        .first = first,
        .fire = fire,
        .note = describe_workload,
    };
    struct sl_sim_options o = {
        .origin = origin,
        .eviction_delay = head.eviction_delay,
        .until = c->q->until,
        .pods_ready = head.pods_ready || waits_for_pods(c),
        .progress = c->q->progress,
        .progress_ctx = c->q->progress_ctx,
    };
    struct sl_sim sim;
    sl_sim_init(&sim, c->w, &source, &o);
    r = sl_sim_run(&sim, err);
    if (r >= 0)
        sl_report_end(ret, sim.now);
    sl_sim_done(&sim);
    return r;
}

static void what_if_done(struct what_if *c) {
    sl_vec_free(&c->changes);
    sl_vec_free(&c->longest);
    sl_vec_free(&c->lesson.known);
    sl_vec_free(&c->lesson.runtimes);
    sl_vec_free(&c->lesson.classes);
    sl_vec_free(&c->lesson.numbers);
    sl_vec_free(&c->lesson.gone);
    sl_freep(&c->seen);
    sl_syms_done(&c->keys);
    sl_replay_shapes_done(&c->shapes, c->w->engine);
    sl_journal_reader_free(c->in);
    sl_doc_free(c->doc);
    sl_arena_done(&c->arena);
}

int sl_sim_run_what_if(const struct sl_sim_request *q, const char *change, struct sl_report *before,
                       struct sl_report *after, struct sl_err *err) {
    char source[512];
    sl_fmt_short(source, sizeof(source), "%.250s with %.250s", q->file, change);
    struct what_if c = {.q = q, .w = &after->world};
    struct sl_sim_request first_run = *q;
    first_run.timeline = false;
    sl_report_init(before, q->file, false);
    sl_report_init(after, source, q->timeline);
    before->world.check = after->world.check = q->check;
    sl_arena_init(&c.arena, SL_DOC_MAX_BYTES * 4);
    sl_syms_init(&c.keys);
    int r = read_changes(&c, change, err);
    if (r >= 0)
        r = sl_replay_run(&first_run, before, &c.lesson, err);
    if (r >= 0) {
        sl_report_restart(after);
        sum_up_runtimes(&c);
        c.seen = sl_alloc0(c.lesson.runtimes.n + 1, sizeof(*c.seen));
        r = simulate(&c, after, err);
    }
    if (r >= 0)
        after->guessed = c.unknown;
    what_if_done(&c);
    return r;
}
