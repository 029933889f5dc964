/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame: slots of what we write, the stream of pods, deadlines, and one writer for nodes,
 * leases and statuses.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define PENDING_PATIENCE (200 * SL_MSEC) /* most pods run before Pending is worth a write */
#define SWEEP_EVERY (10 * SL_MINUTE)
#define MANY_CONTAINERS 32u

enum { TAG_STATUS = 1, TAG_DELETE };

/* ---- slots ---- */

uint32_t klet_slot_new(struct sl_kubelet *r, enum klet_slot_kind kind) {
    uint32_t i;

    if (r->free_slots.n > 0) {
        i = sl_vec_pop(&r->free_slots);
    } else {
        i = r->slots.n;
        (void)sl_vec_push(&r->slots);
    }
    r->slots.v[i] = (struct klet_slot){.kind = kind};
    return i;
}

void klet_slot_free(struct sl_kubelet *r, uint32_t slot) {
    sl_writer_forget(r->writer, slot);
    r->slots.v[slot] = (struct klet_slot){.kind = SLOT_FREE};
    *sl_vec_push(&r->free_slots) = slot;
}

static bool due_first(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_kubelet *r = ctx;
    const struct klet_pod *x = r->slots.v[a].pod, *y = r->slots.v[b].pod;

    return x->due != y->due ? x->due < y->due : a < b;
}

static uint32_t *place_of(void *ctx, uint32_t item) {
    const struct sl_kubelet *r = ctx;

    return &r->slots.v[item].pod->place;
}

void klet_pod_enqueue(struct klet_pod *p) {
    if (!p->dirty)
        *sl_vec_push(&p->rt->dirty) = p->slot;
    p->dirty = true;
}

void klet_pod_enqueue_at(struct klet_pod *p, sl_time at) {
    if (at >= p->due)
        return;
    p->due = at;
    sl_heap_fix(&p->rt->timers, p->slot);
}

static void no_due(struct klet_pod *p) {
    sl_heap_remove(&p->rt->timers, p->slot);
    p->due = SL_TIME_NEVER;
}

static bool has_message(const struct klet_pod *p) {
    for (uint32_t i = 0; i < p->n_cs; i++)
        if (p->cs[i].message || p->cs[i].state == C_ENDED)
            return true;
    return false;
}

void klet_pod_report_status(struct klet_pod *p) {
    struct sl_kubelet *r = p->rt;

    /* A long status is not written after each change: changes are coalesced. */
    if (!p->ended && p->n_cs > MANY_CONTAINERS)
        sl_writer_enqueue_at(r->writer, p->slot, 0, r->client->mono + p->n_cs * SL_MSEC);
    else if (strcmp(klet_pod_phase(p), "Pending") == 0 && !has_message(p))
        sl_writer_enqueue_at(r->writer, p->slot, 0, r->client->mono + PENDING_PATIENCE);
    else
        sl_writer_enqueue(r->writer, p->slot, 0);
}

/* ---- the end of a record ---- */

static void remove_folder(const struct sl_kubelet *r, const char *what, const char *uid) {
    char path[PATH_MAX];

    sl_fmt(path, sizeof path, "%s/%s/%s", r->dir, what, uid);
    klet_folder_remove(path);
}

static void release_pod(struct klet_pod *p) {
    struct sl_kubelet *r = p->rt;
    const uint32_t slot = p->slot;

    sl_heap_remove(&r->timers, slot);
    (void)sl_map_del(&r->by_name, sl_hash_str(sl_hash_str(0, p->ns), p->name), slot);
    klet_slot_free(r, slot);
    klet_pod_free(p);
}

static void forget_uid(struct sl_kubelet *r, const char *uid, bool real) {
    (void)sl_map_del(&r->finished, sl_hash_str(0, uid), 1);
    if (real && *uid && *uid != '.' && !strchr(uid, '/')) {
        remove_folder(r, "logs", uid);
        remove_folder(r, "pods", uid);
    }
}

void klet_pod_drop(struct klet_pod *p) {
    struct sl_kubelet *r = p->rt;
    char *uid = sl_strdup(p->uid);
    const bool real = p->local != NULL;

    release_pod(p);
    forget_uid(r, uid, real);
    sl_freep(&uid);
}

/* Nothing is left to do or report; the object stays. */
static void settle_pod(struct klet_pod *p) {
    const uint64_t key = sl_hash_str(0, p->uid);

    if (sl_map_get(&p->rt->finished, key) == SL_MAP_NONE)
        sl_map_add(&p->rt->finished, key, 1);
    release_pod(p);
}

/* ---- writing ---- */

static void put_path(struct sl_buf *b, const struct klet_pod *p, const char *subresource) {
    static const struct sl_rec_kind pods = {
        .path = "/api/v1", .plural = "pods", .namespaced = true};
    sl_rec_kind_path(b, &pods, p->ns, p->name, subresource);
}

static bool build_status(struct klet_pod *p, struct sl_write *w) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(RT_MAX_STATUS);

    klet_pod_status(p, &b);
    const uint64_t hash = sl_hash_bytes(1, b.s, b.len) | 1;
    const bool news = hash != p->reported_hash && !sl_buf_full(&b);
    if (sl_buf_full(&b))
        sl_log(SL_LOG_ERROR, "pod status not written: too large", SL_S("namespace", p->ns),
               SL_S("name", p->name));
    if (news) {
        p->reporting_hash = hash;
        p->reporting_end = p->ended;
        w->tag = TAG_STATUS;
        w->method = SL_PATCH;
        w->content_type = SL_MERGE_PATCH;
        put_path(&w->path, p, "status");
        put_path(&w->read_path, p, NULL);
        struct sl_jw j = SL_JW(&w->body);
        sl_jw_object(&j, NULL);
        sl_jw_object(&j, "metadata");
        sl_jw_str(&j, "uid", p->uid);
        sl_jw_str(&j, "resourceVersion", p->version);
        sl_jw_end(&j);
        sl_jw_raw_n(&j, "status", b.s, b.len);
        sl_jw_end(&j);
    }
    return news;
}

static bool build_write(void *ctx, uint32_t slot, struct sl_write *w) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p = r->slots.v[slot].pod;

    if (r->slots.v[slot].kind == SLOT_FREE)
        return false;
    if (r->slots.v[slot].kind != SLOT_POD)
        return klet_node_build(r, slot, w);
    if (p->lost || (!p->fixed && build_status(p, w)))
        return !p->lost;
    if (!p->ended || !p->deleting || p->deleted)
        return false;
    w->tag = TAG_DELETE;
    w->method = SL_DELETE;
    w->content_type = SL_JSON;
    put_path(&w->path, p, NULL);
    sl_buf_puts(&w->path, "?gracePeriodSeconds=0");
    struct sl_jw j = SL_JW(&w->body);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", "v1");
    sl_jw_str(&j, "kind", "DeleteOptions");
    sl_jw_int(&j, "gracePeriodSeconds", 0);
    sl_jw_object(&j, "preconditions");
    sl_jw_str(&j, "uid", p->uid);
    sl_jw_end_to(&j, 0);
    return true;
}

static void take_body(struct sl_kubelet *r, const struct sl_kube_reply *rp) {
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;

    if (rp->len > 0 && sl_json_read(rp->body, rp->len, &d, NULL) == 0)
        klet_pod_take(r, yyjson_doc_get_root(d));
}

static void write_done(void *ctx, uint32_t slot, const struct sl_write *w, enum sl_written how,
                       const struct sl_kube_reply *rp) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p = r->slots.v[slot].pod;

    if (r->slots.v[slot].kind != SLOT_POD) {
        if (r->slots.v[slot].kind != SLOT_FREE)
            klet_node_done(r, slot, how, rp);
        return;
    }
    if (how == SL_WRITE_REFUSED)
        sl_log(SL_LOG_WARN, "pod write rejected by the API server", SL_S("namespace", p->ns),
               SL_S("name", p->name), SL_I("status", rp->status), SL_S("response", rp->body));
    if (how == SL_WRITE_GONE) {
        p->lost = true;
        klet_pod_enqueue(p);
    } else if (how == SL_WRITTEN && w->tag == TAG_DELETE) {
        p->deleted = true;
    } else if (how == SL_WRITTEN) {
        p->reported_hash = p->reporting_hash;
        p->reported_end = p->reporting_end;
        take_body(r, rp);
    }
}

static void read_again(void *ctx, uint32_t slot, const struct sl_kube_reply *rp) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p = r->slots.v[slot].pod;

    if (r->slots.v[slot].kind == SLOT_POD && rp->status == 404) {
        p->lost = true;
        klet_pod_enqueue(p);
    } else if (r->slots.v[slot].kind == SLOT_POD && rp->status == 200) {
        take_body(r, rp);
    } else if (r->slots.v[slot].kind == SLOT_NODE) {
        klet_node_read(r, slot, rp);
    }
}

/* ---- the stream of pods ---- */

void klet_pods_take(struct sl_kubelet *r, const struct sl_kube_reply *rp) {
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    yyjson_val *items, *o;
    size_t i, n;

    if (sl_json_read(rp->body, rp->len, &d, NULL) < 0)
        return;
    items = sl_json_at(yyjson_doc_get_root(d), "items");
    yyjson_arr_foreach (items, i, n, o) {
        klet_pod_take(r, o);
    }
}

static void list_begins(void *ctx) {
    struct sl_kubelet *r = ctx;

    for (uint32_t i = 0; i < r->slots.n; i++)
        if (r->slots.v[i].kind == SLOT_POD)
            r->slots.v[i].pod->seen = false;
}

static void object(void *ctx, struct yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    struct klet_pod *p =
        klet_pod_find(r, sl_json_str(o, "metadata.namespace"), sl_json_str(o, "metadata.name"));

    if (p && strcmp(p->uid, sl_json_str(o, "metadata.uid")) == 0)
        p->seen = true;
    klet_pod_take(r, o);
}

static void gone(void *ctx, struct yyjson_val *o) {
    struct sl_kubelet *r = ctx;
    const char *uid = sl_json_str(o, "metadata.uid");
    struct klet_pod *p =
        klet_pod_find(r, sl_json_str(o, "metadata.namespace"), sl_json_str(o, "metadata.name"));

    if (p && strcmp(p->uid, uid) == 0)
        klet_pod_drop(p);
    else if (klet_node_owner_of(r, sl_json_str(o, "spec.nodeName")) != NODE_OWNER_OTHER)
        forget_uid(r, uid,
                   klet_node_owner_of(r, sl_json_str(o, "spec.nodeName")) == NODE_OWNER_LOCAL);
}

/* Folders of pods that went while we were away. */
static void sweep(struct sl_kubelet *r, const char *what) {
    char path[PATH_MAX];
    DIR *d;

    sl_fmt(path, sizeof path, "%s/%s", r->dir, what);
    d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) {
        bool known = sl_map_get(&r->finished, sl_hash_str(0, e->d_name)) != SL_MAP_NONE;
        for (uint32_t i = 0; i < r->slots.n && !known; i++)
            known =
                r->slots.v[i].kind == SLOT_POD && strcmp(r->slots.v[i].pod->uid, e->d_name) == 0;
        if (!known && e->d_name[0] != '.')
            remove_folder(r, what, e->d_name);
    }
    if (d)
        (void)closedir(d);
}

/* Once in a while: one that was removed while its processes were still ending may have left
 * something. */
static void sweep_all(struct sl_kubelet *r) {
    if (!r->node || r->client->mono < r->sweep_at)
        return;
    r->sweep_at = r->client->mono + SWEEP_EVERY;
    sweep(r, "logs");
    sweep(r, "pods");
}

static void synced(void *ctx, bool exists) {
    struct sl_kubelet *r = ctx;

    (void)exists;
    for (uint32_t i = 0; i < r->slots.n; i++)
        if (r->slots.v[i].kind == SLOT_POD && !r->slots.v[i].pod->seen)
            klet_pod_drop(r->slots.v[i].pod);
    sweep_all(r);
}

/* ---- in and out ---- */

static char *dup_or_null(const char *s) {
    return s ? sl_strdup(s) : NULL;
}

/* NULL-terminated, also if there was none. */
static const char *const *copy_list(const char *const *from) {
    uint32_t n = 0;

    while (from && from[n])
        n++;
    const char **to = sl_alloc0(n + 1, sizeof *to);
    for (uint32_t i = 0; i < n; i++)
        to[i] = sl_strdup(from[i]);
    return to;
}

static void copy_sim(struct sl_kubelet_sim_nodes *to, const struct sl_kubelet_sim_nodes *from) {
    *to = (struct sl_kubelet_sim_nodes){.count = from->count,
                                        .cpu = dup_or_null(from->cpu),
                                        .memory = dup_or_null(from->memory),
                                        .gpu = dup_or_null(from->gpu),
                                        .pods = dup_or_null(from->pods),
                                        .labels = copy_list(from->labels),
                                        .virtual_nodes = copy_list(from->virtual_nodes)};
}

/* The folder of pods cannot be listed by other users: it may contain Secrets. Processes that pods
 * run as other users find their own by path. */
static int make_folders(const char *dir) {
    char path[PATH_MAX];
    int e = klet_folder_make(dir, 0711);

    sl_fmt(path, sizeof path, "%s/pods", dir);
    if (e == 0)
        e = klet_folder_make(path, 0711);
    sl_fmt(path, sizeof path, "%s/logs", dir);
    return e == 0 ? klet_folder_make(path, 0750) : e;
}

static int check_nodes(const struct sl_kubelet_spec *spec, struct sl_err *err) {
    if (spec->sim.count > SL_MAX_SIM_NODES)
        return sl_err_set(err, SL_ELIMIT, "at most %u simulated nodes", SL_MAX_SIM_NODES);
    return sl_kubelet_virtual_nodes_check(spec->sim.virtual_nodes, spec->node, err);
}

int sl_kubelet_new(const struct sl_kubelet_spec *spec, struct sl_kubelet **ret,
                   struct sl_err *err) {
    struct sl_kubelet *r;
    int e = check_nodes(spec, err);

    if (e < 0)
        return e;
    if (spec->node && (e = make_folders(spec->dir)) < 0)
        return sl_err_set(err, SL_EIO, "creating the directory %s: %s", spec->dir, strerror(-e));
    struct klet_spawner *spawner = NULL;
    if (spec->node && (e = klet_spawner_new(spec->loop, spec->files, spec->dir, &spawner, err)) < 0)
        return e;
    r = sl_alloc0(1, sizeof *r);
    r->loop = spec->loop;
    r->client = spec->client;
    r->event_at = r->exec_at = r->sweep_at = INT64_MIN;
    r->dir = sl_strdup(spec->dir ? spec->dir : "");
    r->node = dup_or_null(spec->node);
    r->api = dup_or_null(spec->api);
    r->renew_lease = spec->renew_lease;
    r->renew_ctx = spec->ctx;
    copy_sim(&r->sim, &spec->sim);
    sl_heap_init(&r->timers, due_first, place_of, r);
    if (r->node) {
        r->spawner = spawner;
        r->cgroups = klet_cgroups_new(NULL);
    }
    r->writer =
        sl_writer_new(r->client,
                      &(struct sl_writer_owner){
                          .ctx = r, .build = build_write, .done = write_done, .read = read_again},
                      RT_IN_FLIGHT, 1);
    klet_nodes_begin(r);
    r->pods = sl_reflector_new(
        r->client, "/api/v1/pods", "",
        &(struct sl_reflector_owner){
            .ctx = r, .begin = list_begins, .object = object, .gone = gone, .synced = synced},
        2);
    *ret = r;
    return 0;
}

void sl_kubelet_stop(struct sl_kubelet *r, uint32_t grace_ms) {
    r->stopped = true;
    for (uint32_t i = 0; i < r->slots.n; i++)
        for (uint32_t c = 0; r->slots.v[i].kind == SLOT_POD && c < r->slots.v[i].pod->n_cs; c++) {
            struct klet_container *k = &r->slots.v[i].pod->cs[c];
            klet_probes_end(k);
            klet_handler_call_end(TAKE_PTR(k->hook));
            k->proc = NULL;
        }
    klet_sessions_stop(r);
    if (r->spawner)
        klet_spawner_end_all(r->spawner, grace_ms);
}

static void free_string(const char **s) {
    char *own = (char *)*s;

    sl_freep(&own);
}

static void free_list(const char *const *list) {
    const char **own = (const char **)list;

    for (const char **s = own; *s; s++)
        free_string(s);
    sl_freep(&own);
}

void sl_kubelet_free(struct sl_kubelet *r) {
    if (!r)
        return;
    if (!r->stopped)
        sl_kubelet_stop(r, 0);
    sl_reflector_free(r->pods);
    for (uint32_t i = 0; i < r->slots.n; i++)
        if (r->slots.v[i].kind == SLOT_POD)
            klet_pod_free(r->slots.v[i].pod);
    klet_sessions_free(r);
    sl_writer_free(r->writer);
    klet_nodes_free(r);
    klet_spawner_free(r->spawner);
    klet_cgroups_free(r->cgroups);
    sl_map_done(&r->by_name);
    sl_map_done(&r->finished);
    sl_heap_done(&r->timers);
    sl_vec_free(&r->slots);
    sl_vec_free(&r->free_slots);
    sl_vec_free(&r->dirty);
    free_string(&r->sim.cpu);
    free_string(&r->sim.memory);
    free_string(&r->sim.gpu);
    free_string(&r->sim.pods);
    free_list(r->sim.labels);
    free_list(r->sim.virtual_nodes);
    sl_freep(&r->dir);
    sl_freep(&r->node);
    sl_freep(&r->api);
    sl_freep(&r);
}

static void reconcile_pod(struct klet_pod *p) {
    no_due(p);
    if (p->lost) {
        klet_pod_drop(p);
        return;
    }
    if (!p->ended && p->local)
        klet_pod_sync(p);
    else if (!p->ended)
        klet_sim_sync(p);
    if (p->ended && !p->deleting && (p->fixed || p->reported_end) &&
        !sl_writer_busy(p->rt->writer, p->slot))
        settle_pod(p);
    else if (p->ended)
        klet_pod_report_status(p);
}

void sl_kubelet_tick(struct sl_kubelet *r) {
    if (r->stopped)
        return;
    klet_nodes_tick(r);
    sl_reflector_tick(r->pods);
    if (sl_reflector_synced(r->pods))
        sweep_all(r);
    while (!sl_heap_empty(&r->timers)) {
        struct klet_pod *p = r->slots.v[sl_heap_top(&r->timers)].pod;
        if (p->due > r->client->mono)
            break;
        no_due(p);
        klet_pod_enqueue(p);
    }
    /* What is marked meanwhile comes in the next turn, after the others of the loop. */
    const uint32_t n = r->dirty.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct klet_slot *s = &r->slots.v[r->dirty.v[i]];
        if (s->kind != SLOT_POD || !s->pod->dirty)
            continue;
        s->pod->dirty = false;
        reconcile_pod(s->pod);
    }
    r->dirty.n -= n;
    if (r->dirty.n > 0)
        memmove(r->dirty.v, r->dirty.v + n, r->dirty.n * sizeof r->dirty.v[0]);
    sl_writer_tick(r->writer);
}

sl_time sl_kubelet_next(const struct sl_kubelet *r) {
    if (r->stopped)
        return SL_TIME_NEVER;
    if (r->dirty.n > 0)
        return r->client->mono;
    const sl_time a = sl_reflector_next(r->pods), b = sl_writer_next(r->writer);
    const sl_time c =
        sl_heap_empty(&r->timers) ? SL_TIME_NEVER : r->slots.v[sl_heap_top(&r->timers)].pod->due;
    const sl_time ab = a < b ? a : b, d = klet_nodes_next(r), cd = c < d ? c : d;
    return ab < cd ? ab : cd;
}

bool sl_kubelet_ready(const struct sl_kubelet *r) {
    return klet_nodes_ready(r) && sl_reflector_synced(r->pods);
}
