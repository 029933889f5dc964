/*
 * Workloads: taking the object in, what it wants written, and what the core controller does besides
 * the engine: retention of the finished, orphans, priorities that follow their class, deactivation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "controllers/bridge.h"
#include "controllers/kinds.h"
#include "controllers/metrics.h"
#include "controllers/pod.h"
#include "controllers/tas.h"
#include "controllers/wl_int.h"
#include "log/log.h"

#define JOB_UID "kueue.x-k8s.io/job-uid"
#define GATED_BY "kueue.x-k8s.io/admission-gated-by"
#define BOOST "kueue.x-k8s.io/priority-boost"
#define SLICE_OF "kueue.x-k8s.io/workload-slice-replacement-for"
#define SLICE_NAME "kueue.x-k8s.io/workload-slice-name"
#define ELASTIC "kueue.x-k8s.io/elastic-job"
#define CONTROLLER "kueue-workload-controller"

/* ---- finding ---- */

struct rec_wl *wl_find(const struct sl_manager *m, const char *ns, const char *name) {
    struct rec *r = rec_find(m, REC_WORKLOAD, ns, name);
    return r ? wl_of(r) : NULL;
}

struct rec_wl *wl_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor) {
    uint64_t h = sl_hash_str(0, uid);
    for (;;) {
        uint32_t c = *cursor - 1; /* the map's own cursor may be 0 */
        uint32_t i = *cursor ? sl_map_next(&m->by_owner, h, &c) : sl_map_first(&m->by_owner, h, &c);
        *cursor = c + 1;
        if (i == SL_MAP_NONE)
            return NULL;
        struct rec_wl *w = wl_of(m->objs.v[i]);
        if (!w->rec.gone && w->owner_uid && strcmp(w->owner_uid, uid) == 0)
            return w;
    }
}

/* ---- taking in ---- */

static char *dup_or_null(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static bool replace(char **text, const char *s) {
    if (strcmp(*text ? *text : "", s) == 0)
        return false;
    sl_freep(text);
    *text = dup_or_null(s);
    return true;
}

static void take_owner(struct sl_manager *m, struct rec_wl *w, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v, *controller = NULL;
    const char *group = "";
    yyjson_arr_foreach (list, i, n, v)
        if (jbool(v, "controller", false))
            controller = v;
    w->has_owner = yyjson_arr_size(list) > 0;
    const char *uid = jstr(controller, "uid"), *api = jstr(controller, "apiVersion"),
               *slash = strchr(api, '/');
    char *own = slash ? strndup(api, (size_t)(slash - api)) : NULL;
    if (own)
        group = own;
    w->owner_kind = sl_sym_put(&m->syms, jstr(controller, "kind"));
    w->owner_group = sl_sym_put(&m->syms, group);
    free(own);
    (void)replace(&w->owner_name, jstr(controller, "name"));
    if (strcmp(w->owner_uid ? w->owner_uid : "", uid) == 0)
        return;
    if (w->owner_uid)
        (void)sl_map_del(&m->by_owner, sl_hash_str(0, w->owner_uid), w->rec.obj);
    (void)replace(&w->owner_uid, uid);
    if (w->owner_uid)
        sl_map_add(&m->by_owner, sl_hash_str(0, uid), w->rec.obj);
}

static void drop_podsets(struct sl_manager *m, struct rec_wl *w) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (w->podsets[i].template)
            template_unref(m, w->podsets[i].template);
    sl_freep(&w->podsets);
    w->n_podsets = 0;
}

static bool asks_for_place(yyjson_val *request) {
    static const char *const keys[] = {"required",        "preferred",
                                       "unconstrained",   "podSetSliceRequiredTopology",
                                       "podSetSliceSize", "podsetSliceRequiredTopologyConstraints"};
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (jat(request, keys[i]))
            return true;
    return false;
}

static sl_sym request_text(struct sl_manager *m, yyjson_val *request) {
    struct sl_buf b;
    sl_buf_init(&b, 65536);
    if (request)
        jput(&b, request);
    sl_sym y = b.overflow ? 0 : sl_sym_put(&m->syms, sl_buf_str(&b));
    sl_buf_done(&b);
    return y;
}

static void take_podsets(struct sl_manager *m, struct rec_wl *w, yyjson_val *list) {
    size_t i, n, total = yyjson_arr_size(list);
    yyjson_val *v;
    struct wl_podset *old = w->podsets;
    uint32_t n_old = w->n_podsets;

    if (total > SL_MAX_PODSETS)
        total = SL_MAX_PODSETS;
    w->podsets = total ? sl_alloc0(total, sizeof *w->podsets) : NULL;
    w->n_podsets = (uint32_t)total;
    yyjson_arr_foreach (list, i, n, v) {
        if (i >= total)
            break;
        const char *name = jstr(v, "name");
        w->podsets[i] = (struct wl_podset){
            .name = sl_sym_put(&m->syms, *name ? name : "main"),
            .group = sl_sym_put(&m->syms, jstr(v, "topologyRequest.podSetGroupName")),
            .count = (int32_t)jint(v, "count", 1),
            .min_count =
                m->settings->gates[SL_G_PARTIAL_ADMISSION] ? (int32_t)jint(v, "minCount", 0) : 0,
            .topology = asks_for_place(yyjson_obj_get(v, "topologyRequest")),
            .request = m->topo ? request_text(m, yyjson_obj_get(v, "topologyRequest")) : 0,
            .template = template_get(m, yyjson_obj_get(v, "template")),
        };
    }
    for (uint32_t k = 0; k < n_old; k++) /* after the new ones, so that what they share stays */
        template_unref(m, old[k].template);
    sl_freep(&old);
}

static int32_t boost_of(const char *s) {
    char *end;
    long long v = strtoll(s, &end, 10);
    return end == s || *end || v < INT32_MIN || v > INT32_MAX ? 0 : (int32_t)v;
}

bool wl_decode(struct sl_manager *m, struct rec *r, yyjson_val *o) {
    struct rec_wl *w = wl_of(r);
    yyjson_val *spec = yyjson_obj_get(o, "spec"), *meta = yyjson_obj_get(o, "metadata");

    if (w->spec_generation != r->generation || !r->generation || !w->podsets) {
        w->spec_generation = r->generation;
        w->queue = sl_sym_put(&m->syms, jstr(spec, "queueName"));
        w->class_kind = sl_sym_put(&m->syms, jstr(spec, "priorityClassRef.kind"));
        w->class_name = sl_sym_put(&m->syms, jstr(spec, "priorityClassRef.name"));
        w->priority = (int32_t)jint(spec, "priority", 0);
        w->active = jbool(spec, "active", true);
        w->max_exec_s = jint(spec, "maximumExecutionTimeSeconds", 0);
        take_podsets(m, w, yyjson_obj_get(spec, "podSets"));
        sl_freep(&w->gates);
        w->gates = wl_gates_read(m, yyjson_obj_get(spec, "preemptionGates"));
    }
    take_owner(m, w, yyjson_obj_get(meta, "ownerReferences"));
    chain_untie(m, w);
    (void)replace(&w->job_uid, jlabel(o, JOB_UID));
    (void)replace(&w->gate, jannotation(o, GATED_BY));
    (void)replace(&w->slice_of, jannotation(o, SLICE_OF));
    (void)replace(&w->slice_name, jannotation(o, SLICE_NAME));
    w->elastic = strcmp(jannotation(o, ELASTIC), "true") == 0;
    chain_tie(m, w);
    w->boost = boost_of(jannotation(o, BOOST));
    wl_status_read(m, w, yyjson_obj_get(o, "status"));
    wl_drop_outdated(m, w);
    wl_note_release(m, w);
    return true;
}

void wl_reread(struct sl_manager *m, struct rec_wl *w) {
    w->spec_hash = 0;
    rec_mark(m, &w->rec);
}

/* ---- the core controller ---- */

/* Made for a job that is gone, or never had one although it says so. */
static bool is_orphan(const struct rec_wl *w) {
    return !w->has_owner && (w->rec.deleting || w->job_uid);
}

static void retain(struct sl_manager *m, struct rec_wl *w) {
    sl_span keep = m->settings->keep_finished;
    const struct cond *c = wl_cond(m, w, "Finished");
    if (keep == SL_TIME_NEVER || w->rec.deleting)
        return;
    sl_time until = sl_time_add(c->at, keep);
    if (until > m->spec.port->wall) {
        rec_look_at(m, &w->rec, until);
        return;
    }
    if (!(w->wishes & WL_DELETE))
        event(m, &w->rec, CONTROLLER, false, "Deleted",
              "Deleted finished workload due to elapsed retention");
    wl_wish(m, w, WL_UNFINALIZE | WL_DELETE);
}

/* spec.priority follows the value of the class, also of those that run. */
static void follow_class(struct sl_manager *m, struct rec_wl *w) {
    if (strcmp(str(m, w->class_kind), "WorkloadPriorityClass") != 0)
        return;
    struct rec *c = rec_find(m, REC_WORKLOAD_PRIORITY_CLASS, "", str(m, w->class_name));
    if (!c || c->deleting || conf_of(c)->value == w->priority)
        return;
    struct priority p = {(int32_t)conf_of(c)->value, "kueue.x-k8s.io", "WorkloadPriorityClass",
                         str(m, w->class_name)};
    wl_wish_priority(m, w, &p);
}

/* The cause stands in DeactivationTarget until the workload is switched off and evicted. */
static void deactivate(struct sl_manager *m, struct rec_wl *w) {
    if (!wl_is(m, w, "DeactivationTarget"))
        return;
    if (w->active)
        wl_wish(m, w, WL_INACTIVE);
    else if (wl_is(m, w, "Evicted") || !w->seen.admission)
        wl_drop_cond(m, w, "DeactivationTarget");
}

void wl_changed(struct sl_manager *m, struct rec *r) {
    struct rec_wl *w = wl_of(r);
    bool finished = wl_is(m, w, "Finished");

    if (w->wishes || w->want)
        rec_want(m, r);
    if (m->spec.parts.framework[SL_FW_JOB])
        job_workload_changed(m, w, false);
    chain_changed(m, w);
    if (m->spec.parts.core && is_orphan(w)) {
        if (!r->deleting && !finished && m->settings->gates[SL_G_FINISH_ORPHANED_WORKLOADS])
            wl_finish(m, w, "OwnerNotFound", "The workload's owner no longer exists");
        wl_wish(m, w, WL_UNFINALIZE);
    }
    wl_observe(m, w);
    tas_workload_changed(m, w);
    if (!m->spec.parts.core)
        return;
    if (m->settings->gates[SL_G_MULTI_KUEUE_ORCHESTRATED_PREEMPTION])
        wl_gates_sync(m, w);
    if (finished) {
        retain(m, w);
        return;
    }
    follow_class(m, w);
    deactivate(m, w);
}

void wl_gone(struct sl_manager *m, struct rec *r) {
    struct rec_wl *w = wl_of(r);
    w->stubborn = true;
    wl_note_release(m, w);
    if (w->id.v) {
        struct sl_wl_view v;
        struct sl_fact f = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
        if (sl_engine_workload(m->engine, w->id, &v))
            cq_touch(m, v.cq);
        (void)tell(m, &f, NULL);
        (void)sl_map_del(&m->by_wl_id, w->id.v, r->obj);
        w->id = SL_WL_NONE;
    }
    lq_touch(m, r->ns, str(m, w->queue));
    if (m->spec.parts.framework[SL_FW_JOB])
        job_workload_changed(m, w, true);
    chain_untie(m, w);
    if (w->owner_uid)
        (void)sl_map_del(&m->by_owner, sl_hash_str(0, w->owner_uid), r->obj);
    drop_podsets(m, w);
}

void wl_done(struct rec *r) {
    struct rec_wl *w = wl_of(r);
    char **texts[] = {&w->owner_name, &w->owner_uid,  &w->job_uid,   &w->gate,     &w->slice_of,
                      &w->slice_name, &w->wish_owner, &w->wish_spec, &w->wish_gate};
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
    sl_freep(&w->podsets); /* templates went with 'gone', or go with the manager */
    sl_freep(&w->gates);
    wl_status_done(&w->seen);
    wl_changes_free(&w->want);
    wl_changes_free(&w->sent);
}

/* ---- wishes ---- */

void wl_wish(struct sl_manager *m, struct rec_wl *w, uint32_t wishes) {
    w->wishes |= wishes;
    rec_want(m, &w->rec);
}

void wl_wish_queue(struct sl_manager *m, struct rec_wl *w, const char *queue) {
    w->wish_queue = sl_sym_put(&m->syms, queue);
    wl_wish(m, w, WL_QUEUE);
}

void wl_wish_gate(struct sl_manager *m, struct rec_wl *w, const char *gate) {
    sl_freep(&w->wish_gate);
    w->wish_gate = sl_strdup(gate);
    wl_wish(m, w, WL_GATE);
}

void wl_wish_priority(struct sl_manager *m, struct rec_wl *w, const struct priority *p) {
    w->wish_priority = p->value;
    w->wish_class_kind = sl_sym_put(&m->syms, p->kind);
    w->wish_class_name = sl_sym_put(&m->syms, p->name);
    wl_wish(m, w, WL_PRIORITY);
}

void wl_wish_owner(struct sl_manager *m, struct rec_wl *w, const char *owner_reference_json,
                   const char *job_uid) {
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    sl_buf_printf(&b,
                  ",\"ownerReferences\":[%s],\"labels\":{\"" JOB_UID "\":", owner_reference_json);
    sl_buf_json(&b, job_uid);
    sl_buf_putc(&b, '}');
    sl_freep(&w->wish_owner);
    w->wish_owner = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    wl_wish(m, w, WL_ADOPT);
}

void wl_wish_spec(struct sl_manager *m, struct rec_wl *w, const char *spec_json) {
    sl_freep(&w->wish_spec);
    w->wish_spec = sl_strdup(spec_json);
    wl_wish(m, w, WL_SPEC);
}

/* Drops the wishes that have come true. */
static void settle_wishes(const struct sl_manager *m, struct rec_wl *w) {
    (void)m;
    if (!w->active)
        w->wishes &= ~(uint32_t)WL_INACTIVE;
    if (w->wish_priority == w->priority && w->wish_class_name == w->class_name &&
        w->wish_class_kind == w->class_kind)
        w->wishes &= ~(uint32_t)WL_PRIORITY;
    if (w->wish_queue == w->queue)
        w->wishes &= ~(uint32_t)WL_QUEUE;
    if (strcmp(w->wish_gate ? w->wish_gate : "", w->gate ? w->gate : "") == 0)
        w->wishes &= ~(uint32_t)WL_GATE;
    if (!w->rec.finalizer)
        w->wishes &= ~(uint32_t)WL_UNFINALIZE;
}

static void put_spec(const struct sl_manager *m, const struct rec_wl *w, struct sl_buf *b) {
    bool first = true;
    if (w->wishes & WL_SPEC) {
        sl_buf_printf(b, ",\"spec\":%s", w->wish_spec);
        return;
    }
    if (!(w->wishes & (WL_INACTIVE | WL_PRIORITY | WL_QUEUE)))
        return;
    sl_buf_puts(b, ",\"spec\":{");
    if (w->wishes & WL_INACTIVE) {
        sl_buf_puts(b, "\"active\":false");
        first = false;
    }
    if (w->wishes & WL_QUEUE) {
        sl_buf_puts(b, first ? "\"queueName\":" : ",\"queueName\":");
        sl_buf_json(b, str(m, w->wish_queue));
        first = false;
    }
    if (w->wishes & WL_PRIORITY) {
        sl_buf_printf(b, "%s\"priority\":%d", first ? "" : ",", w->wish_priority);
        const char *kind = str(m, w->wish_class_kind);
        if (!w->wish_class_name) {
            sl_buf_puts(b, ",\"priorityClassRef\":null");
        } else if (w->wish_class_name != w->class_name || w->wish_class_kind != w->class_kind) {
            sl_buf_printf(
                b, ",\"priorityClassRef\":{\"group\":\"%s\",\"kind\":\"%s\",\"name\":",
                strcmp(kind, "PriorityClass") == 0 ? "scheduling.k8s.io" : "kueue.x-k8s.io", kind);
            sl_buf_json(b, str(m, w->wish_class_name));
            sl_buf_putc(b, '}');
        }
    }
    sl_buf_putc(b, '}');
}

/* The object itself: metadata and spec in one patch. */
static bool build_object(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    const struct rec *r = &w->rec;
    if (!(w->wishes & ~(uint32_t)(WL_DELETE | WL_ASK_OWNER)))
        return false;
    write_patch(m, r, NULL, out);
    write_guard(out, r);
    if (w->wishes & WL_UNFINALIZE)
        sl_buf_printf(&out->body, ",\"finalizers\":[%s]", str(m, r->finalizers));
    if (w->wishes & WL_ADOPT)
        sl_buf_puts(&out->body, w->wish_owner);
    if (w->wishes & WL_GATE) {
        sl_buf_puts(&out->body, ",\"annotations\":{\"" GATED_BY "\":");
        if (w->wish_gate && *w->wish_gate)
            sl_buf_json(&out->body, w->wish_gate);
        else
            sl_buf_puts(&out->body, "null");
        sl_buf_putc(&out->body, '}');
    }
    sl_buf_putc(&out->body, '}');
    put_spec(m, w, &out->body);
    sl_buf_putc(&out->body, '}');
    return true;
}

/*
 * What one gives back another may get, but not before the API knows: a reservation is written only
 * when no release is on its way. Whoever reads the API, and whoever takes over after a crash, never
 * sees more reserved than there is.
 */
void wl_note_release(struct sl_manager *m, struct rec_wl *w) {
    bool sent = w->sent && w->sent->s.admission; /* the API has it already, or will in a moment */
    bool now = !w->rec.gone && !w->stubborn && (w->seen.admission || sent) &&
               wl_changing(w, WL_ADMISSION) && !wl_next(w, WL_ADMISSION)->admission;
    if (now == w->releasing)
        return;
    w->releasing = now;
    m->n_releasing += now ? 1 : UINT32_MAX;
    if (m->n_releasing)
        return;
    for (uint32_t i = 0; i < m->held.n; i++)
        if (m->objs.v[m->held.v[i]])
            rec_want(m, m->objs.v[m->held.v[i]]);
    sl_vec_clear(&m->held);
}

static bool waits_for_release(struct sl_manager *m, const struct rec_wl *w) {
    if (!m->n_releasing || !(w->want->fields & WL_ADMISSION) || !w->want->s.admission)
        return false;
    *sl_vec_push(&m->held) = w->rec.obj;
    return true;
}

/*
 * The status is applied by the field manager that Kueue and its tools use: what one of them, or
 * another version of us, applies next without a field takes that field away.
 */
static bool build_status(struct sl_manager *m, struct rec_wl *w, struct sl_write *out) {
    const struct rec *r = &w->rec;
    if (!w->want)
        return false;
    if ((w->want->fields & WL_NAMES) && w->seen.names) {
        write_patch(m, r, "status", out);
        sl_buf_puts(&out->body, "{\"status\":{\"clusterName\":null,\"nominatedClusterNames\":null,"
                                "\"unhealthyNodes\":null}}");
        return true;
    }
    if (waits_for_release(m, w))
        return false;
    if (!wl_differs(w)) {
        wl_changes_free(&w->want);
        wl_note_release(m, w);
        rec_mark(m, &w->rec); /* nothing is on its way any more */
        return false;
    }
    write_apply(m, r, "status", "kueue-admission", out);
    sl_buf_puts(&out->body, ",\"status\":");
    wl_put_status(m, w, &out->body);
    sl_buf_putc(&out->body, '}');
    w->sent = TAKE_PTR(w->want);
    return true;
}

bool wl_build(struct sl_manager *m, struct rec *r, struct sl_write *out) {
    struct rec_wl *w = wl_of(r);
    settle_wishes(m, w);
    /* Why it is switched off is said before it is. A finalizer goes last, or the object may be gone
     * before the rest is said. */
    if (w->wishes & WL_ASK_OWNER) {
        if (w->owner_name && !rec_by_uid(m, w->owner_uid)) {
            write_read_other(m, REC_JOB, w->rec.ns, w->owner_name, out);
            return true;
        }
        w->wishes &= ~(uint32_t)WL_ASK_OWNER;
    }
    if (build_status(m, w, out))
        return true;
    if (build_object(m, w, out))
        return true;
    if ((w->wishes & WL_DELETE) && !r->deleting) {
        write_delete(m, r, false, out);
        return true;
    }
    return false;
}

static int count_in(const char *s) {
    return s ? (int)strtol(s, NULL, 10) : 0;
}

#define PENDING_PREEMPTION ". Pending the preemption of "
#define PREEMPTING ". Preempting "

/* Whoever waits for an eviction that could not be written is told so, and again when it could. */
static void tell_preemptor(struct sl_manager *m, struct rec_wl *w, bool failed) {
    uint32_t obj = w->by.v ? sl_map_get(&m->by_wl_id, w->by.v) : SL_MAP_NONE;
    struct rec_wl *by = obj == SL_MAP_NONE ? NULL : wl_of(m->objs.v[obj]);
    const struct cond *c = by ? wl_next_cond(m, by, "QuotaReserved") : NULL;
    const char *tail = c && c->status == COND_FALSE
                           ? strstr(c->message, failed ? PENDING_PREEMPTION : PREEMPTING)
                           : NULL;
    if (!tail)
        return;
    struct sl_buf b;
    int count = count_in(strpbrk(tail, "0123456789"));
    sl_buf_init(&b, 32768);
    sl_buf_add(&b, c->message, (size_t)(tail - c->message));
    if (failed)
        sl_buf_printf(&b, PREEMPTING "%d workload(s) failed, will retry.", count);
    else
        sl_buf_printf(&b, PENDING_PREEMPTION "%d workload(s)", count);
    wl_set_cond(m, by, "QuotaReserved", false, "Pending", sl_buf_str(&b));
    sl_buf_done(&b);
}

static void event_pending(struct sl_manager *m, const struct rec_wl *w) {
    const struct cond *c = wl_cond(m, w, "QuotaReserved");
    if (c && c->status == COND_FALSE)
        event(m, &w->rec, "kueue-admission", true,
              m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY] ? str(m, c->reason)
                                                                          : "Pending",
              "%s", c->message);
}

/* The Job has been taken in if it is there; if not, or if it is another of that name, the workload
 * is nobody's. */
static void owner_answered(struct sl_manager *m, struct rec_wl *w, enum sl_written how) {
    if (how == SL_WRITE_FAILED)
        return; /* asked again */
    w->wishes &= ~(uint32_t)WL_ASK_OWNER;
    if (how == SL_WRITE_GONE || (how == SL_WRITTEN && w->owner_uid && !rec_by_uid(m, w->owner_uid)))
        job_orphan(m, w);
    if (w->want || w->wishes)
        rec_want(m, &w->rec);
}

void wl_forget(struct sl_manager *m, struct rec_wl *w) {
    if (!w->want && !w->sent && !w->wishes)
        return;
    wl_changes_free(&w->want);
    w->wishes = 0;
    w->by = SL_WL_NONE;
    w->stubborn = false;
    w->outdated = w->sent != NULL;
    wl_note_release(m, w);
    if (w->sent || !w->id.v)
        return;
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
    (void)tell(m, &f, NULL);
    (void)sl_map_del(&m->by_wl_id, w->id.v, w->rec.obj);
    w->id = SL_WL_NONE; /* it is told anew */
    w->checks_told = w->reclaimable_hash = 0;
    w->ready_told = w->reclaimable_told = w->past_told = false;
}

void wl_written(struct sl_manager *m, struct rec *r, const struct sl_write *out,
                enum sl_written how, const struct sl_reply *reply) {
    struct rec_wl *w = wl_of(r);
    (void)reply;
    if (out->tag == WRITE_FOREIGN) {
        owner_answered(m, w, how);
        return;
    }
    bool main_object = !w->sent;
    if (w->by.v && w->sent) {
        tell_preemptor(m, w, how == SL_WRITE_FAILED);
        if (how == SL_WRITTEN)
            w->by = SL_WL_NONE;
    }
    if (how == SL_WRITTEN) {
        if (w->sent && w->sent->told)
            event_pending(m, w);
        wl_changes_free(&w->sent);
        if (main_object && out->method == SL_PATCH)
            w->wishes &= ~(uint32_t)(WL_SPEC | WL_ADOPT);
        if (out->method == SL_DELETE)
            w->wishes &= ~(uint32_t)WL_DELETE;
    } else if (how == SL_WRITE_REFUSED && w->sent && (w->sent->fields & WL_ADMISSION) &&
               w->sent->s.admission) {
        /* The API server will not have this reservation: others may have the quota. */
        struct sl_fact f = {.kind = SL_FACT_ADMIT_FAILED, .wl = w->id};
        wl_changes_free(&w->sent);
        (void)tell(m, &f, NULL);
    } else {
        w->stubborn = how == SL_WRITE_REFUSED;
        wl_changes_return(w);
        wl_drop_outdated(m, w);
    }
    if (w->outdated && !w->sent && w->want)
        wl_forget(m, w);
    w->outdated = false;
    wl_note_release(m, w);
    if (w->want || w->wishes)
        rec_want(m, r);
    rec_mark(m, r);
}

void wl_finish(struct sl_manager *m, struct rec_wl *w, const char *reason, const char *message) {
    if (wl_will(m, w, "Finished"))
        return;
    wl_set_cond(m, w, "Finished", true, reason, message);
    count_finished(m, w);
}

/* The engine never heard of the reservation, since its queue does not exist: said as the engine
 * would. */
static void release_unheld(struct sl_manager *m, struct rec_wl *w, const struct cond *evicted) {
    const char *reason = str(m, evicted->reason);
    bool again = strcmp(reason, "Preempted") == 0 || strcmp(reason, "NodeFailures") == 0,
         ready = true;
    for (uint32_t i = 0; i < w->seen.checks.n; i++)
        ready &= w->seen.checks.v[i].state == SL_CHECK_READY;
    const struct cond *admitted = wl_cond(m, w, "Admitted");
    wl_set_cond(m, w, "Requeued", again, reason, evicted->message);
    wl_set_cond(m, w, "QuotaReserved", false, "Pending", evicted->message);
    if (admitted && admitted->status == COND_TRUE) {
        wl_add_past(m, w, (m->spec.port->wall - admitted->at) / SL_SEC);
        wl_set_cond(m, w, "Admitted", false,
                    ready ? "NoReservation" : "NoReservationUnsatisfiedChecks",
                    ready ? "The workload has no reservation"
                          : "The workload has no reservation and not all checks ready");
    }
    wl_clear_admission(m, w);
}

void wl_stopped(struct sl_manager *m, struct rec_wl *w) {
    struct sl_fact f = {.kind = SL_FACT_RELEASED, .wl = w->id};
    const struct cond *evicted = wl_cond(m, w, "Evicted");
    struct sl_wl_view v = {.phase = SL_PHASE_GONE};
    if (wl_changing(w, WL_ADMISSION) || !evicted || evicted->status != COND_TRUE)
        return;
    (void)sl_engine_workload(m->engine, w->id, &v);
    if (v.evicting)
        (void)tell(m, &f, NULL);
    else if (v.phase != SL_PHASE_RESERVED && v.phase != SL_PHASE_ADMITTED)
        release_unheld(m, w, evicted);
}
