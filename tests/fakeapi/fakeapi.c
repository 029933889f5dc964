/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network around the store: clients, the queue of events, faults. A request is two events: it
 * arrives, and has its effect; its answer comes back. What goes wrong is decided when it arrives.
 */
#include "fakeapi.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fakeapi_int.h"

/* ---- chance ---- */

const char *const fakeapi_fault_names[FAKEAPI_FAULTS] = {
    "lose_request", "lose_reply", "delay",      "late_reply", "too_many",
    "server_error", "conflict",   "compact",    "partition",  "clock_step",
    "cut_watch",    "lag_watch",  "hang_watch", "garble",
};
_Static_assert(offsetof(struct fakeapi_faults, garble) == (FAKEAPI_FAULTS - 1) * sizeof(uint32_t),
               "names are in the order of the struct");

bool fa_one_in(struct fakeapi *a, const uint32_t *n) {
    if (!*n || !sl_prng_one_in(&a->prng, *n))
        return false;
    a->stats.struck[n - &a->faults.lose_request]++;
    return true;
}

sl_span fa_some_time(struct fakeapi *a, sl_span min, sl_span max) {
    return sl_prng_range(&a->prng, min, max);
}

static sl_span way(struct fakeapi *a, const uint32_t *slow_one_in, sl_span longest) {
    sl_span t = fa_some_time(a, 100 * SL_USEC, SL_MSEC);

    return fa_one_in(a, slow_one_in) ? t + fa_some_time(a, 0, longest ? longest : 5 * SL_SEC) : t;
}

/* ---- events ---- */

static bool before(const void *ctx, uint32_t x, uint32_t y) {
    const struct event *e = ((const struct fakeapi *)ctx)->events.v;

    return e[x].at != e[y].at ? e[x].at < e[y].at : e[x].seq < e[y].seq;
}

static uint32_t *place(void *ctx, uint32_t item) {
    return &((struct fakeapi *)ctx)->events.v[item].place;
}

void fa_event_add(struct fakeapi *a, sl_time at, enum event_kind kind, uint64_t arg, fakeapi_fn fn,
                  void *ctx) {
    uint32_t i = a->free_event;

    if (i != NONE) {
        a->free_event = a->events.v[i].place;
    } else {
        sl_assert(a->events.n < MAX_EVENTS);
        (void)sl_vec_push(&a->events);
        i = a->events.n - 1;
    }
    a->events.v[i] = (struct event){.at = at > a->now ? at : a->now,
                                    .seq = a->seq++,
                                    .kind = kind,
                                    .place = SL_HEAP_OUT,
                                    .arg = arg,
                                    .fn = fn,
                                    .ctx = ctx};
    sl_heap_fix(&a->queue, i);
}

/* ---- calls ---- */

uint64_t fa_call_id(const struct fakeapi *a, const struct call *c) {
    return (uint64_t)c->gen << 32 | (uint64_t)(c - a->calls.v + 1);
}

struct call *fa_call_find(struct fakeapi *a, uint64_t id) {
    uint32_t i = (uint32_t)id - 1;

    if (i >= a->calls.n || !a->calls.v[i].live || a->calls.v[i].gen != id >> 32)
        return NULL;
    return &a->calls.v[i];
}

static struct call *call_new(struct fakeapi *a, uint32_t client, const char *path,
                             sl_kube_reply_fn done, void *ctx) {
    struct call *c;

    if (a->free_calls.n > 0) {
        c = &a->calls.v[sl_vec_pop(&a->free_calls)];
    } else {
        sl_assert(a->calls.n < MAX_CALLS);
        c = sl_vec_push(&a->calls);
        c->gen = 0;
    }
    *c = (struct call){
        .gen = c->gen, .live = true, .client = client, .sent = a->now, .done = done, .ctx = ctx};
    c->path = sl_strdup(path);
    sl_buf_init(&c->out, MAX_REPLY_BYTES);
    sl_arena_init(&c->arena, MAX_BODY_BYTES);
    return c;
}

void fa_call_free(struct fakeapi *a, struct call *c) {
    sl_freep(&c->path);
    sl_freep(&c->body);
    sl_freep(&c->ns);
    sl_freep(&c->only);
    sl_freep(&c->scheduler);
    sl_buf_done(&c->out);
    sl_arena_done(&c->arena);
    c->live = c->open = false;
    c->gen++;
    *sl_vec_push(&a->free_calls) = (uint32_t)(c - a->calls.v);
}

static sl_kube_call port_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                                 sl_kube_reply_fn done, void *ctx) {
    struct client *cl = SL_CONTAINER_OF(p, struct client, client);
    struct fakeapi *a = cl->a;
    struct call *c = call_new(a, (uint32_t)(cl - a->clients), rq->path, done, ctx);

    c->method = rq->method;
    c->content_type = rq->content_type; /* these are constants of port.h */
    c->accept = rq->accept;
    if (rq->len > 0) {
        c->body = sl_alloc(rq->len);
        memcpy(c->body, rq->body, rq->len);
        c->len = rq->len;
    }
    fa_event_add(a, a->now + way(a, &a->faults.delay, a->faults.longest), EV_ARRIVE,
                 fa_call_id(a, c), NULL, NULL);
    return (sl_kube_call){fa_call_id(a, c)};
}

static sl_kube_call port_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    struct client *cl = SL_CONTAINER_OF(p, struct client, client);
    struct fakeapi *a = cl->a;
    struct call *c = call_new(a, (uint32_t)(cl - a->clients), rq->path, done, ctx);

    c->watch = true;
    c->accept = rq->accept;
    c->line = line;
    fa_event_add(a, a->now + way(a, &a->faults.delay, a->faults.longest), EV_ARRIVE,
                 fa_call_id(a, c), NULL, NULL);
    return (sl_kube_call){fa_call_id(a, c)};
}

/* A request that was sent still arrives; only nobody hears the answer. */
static void mute_call(struct fakeapi *a, struct call *c) {
    c->muted = true;
    if (c->watch)
        fa_call_free(a, c);
}

static void port_cancel(struct sl_kube_client *p, sl_kube_call id) {
    struct fakeapi *a = ((struct client *)p)->a;
    struct call *c = fa_call_find(a, id.v);

    if (c)
        mute_call(a, c);
}

static const struct sl_kube_client_ops port_ops = {port_request, port_watch, port_cancel};

/* ---- on the way ---- */

bool fa_cut_off(const struct fakeapi *a, const struct call *c) {
    return a->now < a->clients[c->client].cut_until;
}

/* The world goes wrong as a whole. */
static void inject_fault(struct fakeapi *a) {
    const struct fakeapi_faults *f = &a->faults;
    uint32_t who = (uint32_t)sl_prng_below(&a->prng, FAKEAPI_CLIENTS);

    if (fa_one_in(a, &f->compact))
        fakeapi_compact(a);
    if (fa_one_in(a, &f->clock_step))
        fakeapi_step_clock(a, who, fa_some_time(a, -SL_HOUR, SL_HOUR));
    if (fa_one_in(a, &f->partition)) {
        who = (uint32_t)sl_prng_below(&a->prng, a->used_clients);
        fakeapi_partition(a, who, a->now + fa_some_time(a, 0, 30 * SL_SEC));
        if (sl_prng_one_in(&a->prng, 2))
            fakeapi_cut(a, who);
    }
}

static void lose(struct fakeapi *a, struct call *c) {
    a->stats.lost++;
    c->status = 0;
    sl_buf_clear(&c->out);
    /* A reset connection is seen at once, a silent one after the client's patience. */
    fa_event_add(a,
                 a->now + fa_some_time(a, 0, sl_prng_one_in(&a->prng, 2) ? SL_MSEC : 10 * SL_SEC),
                 EV_REPLY, fa_call_id(a, c), NULL, NULL);
}

/* A status that the server answers instead of serving; 0: it serves. */
static int refuse(struct fakeapi *a, struct call *c) {
    const struct fakeapi_faults *f = &a->faults;

    if (fa_one_in(a, &f->too_many)) {
        c->retry_after = fa_some_time(a, 1, 3) * SL_SEC;
        return fa_fail(&c->out, 429, "TooManyRequests", "please try again later");
    }
    if (fa_one_in(a, &f->conflict) && (c->method == SL_PUT || c->method == SL_PATCH))
        return fa_fail(&c->out, 409, "Conflict", "the object has been modified");
    return 0;
}

static int break_down(struct fakeapi *a, struct call *c) {
    static const int codes[] = {500, 503, 504};

    return fa_fail(&c->out, codes[sl_prng_below(&a->prng, SL_LEN(codes))], "InternalError",
                   "the server is not well");
}

static void arrive(struct fakeapi *a, struct call *c) {
    const struct fakeapi_faults *f = &a->faults;
    bool breaks = fa_one_in(a, &f->server_error), served = false;

    inject_fault(a);
    if (fa_cut_off(a, c) || fa_one_in(a, &f->lose_request)) {
        lose(a, c);
        return;
    }
    a->stats.requests += !c->watch;
    c->status = refuse(a, c);
    if (c->status == 0 && breaks && (c->watch || sl_prng_one_in(&a->prng, 2)))
        c->status = break_down(a, c);
    if (c->status > 0) {
        a->stats.refused++;
    } else if (c->watch) {
        fa_watch_open(a, c);
        return;
    } else {
        a->serving = c;
        a->outdated = false;
        c->status = fa_serve(a,
                             &(struct sl_kube_request){.method = c->method,
                                                       .path = c->path,
                                                       .content_type = c->content_type,
                                                       .body = c->body,
                                                       .len = c->len,
                                                       .accept = c->accept},
                             &c->out);
        a->serving = NULL;
        a->stats.invalid += c->status == 422 && !a->outdated;
        served = true;
    }
    if (served && breaks)
        c->status = break_down(a, c);
    if (fa_one_in(a, &f->lose_reply))
        lose(a, c);
    else
        fa_event_add(a, a->now + way(a, &f->late_reply, f->longest), EV_REPLY, fa_call_id(a, c),
                     NULL, NULL);
}

static void reply(struct fakeapi *a, struct call *c) {
    struct sl_buf body = c->out;
    struct sl_kube_reply r = {.status = c->status, .retry_after = c->retry_after};
    sl_kube_reply_fn done = c->muted ? NULL : c->done;
    void *ctx = c->ctx;

    if (fa_cut_off(a, c) && c->status != 0) {
        lose(a, c);
        return;
    }
    r.body = sl_buf_str(&body);
    r.len = body.len;
    r.text = r.status == 0 ? "connection reset" : "";
    r.too_long = c->too_long || (a->ceiling && body.len > a->ceiling);
    if (r.too_long) {
        r.status = 0;
        r.body = "";
        r.len = 0;
    }
    sl_buf_init(&c->out, MAX_REPLY_BYTES);
    fa_call_free(a, c); /* first: the callback may make new calls, and cancel this one */
    if (done)
        done(ctx, &r);
    sl_buf_done(&body);
}

/* ---- time ---- */

static void set_clocks(struct fakeapi *a) {
    for (uint32_t i = 0; i < FAKEAPI_CLIENTS; i++) {
        a->clients[i].client.mono = a->now;
        a->clients[i].client.wall = FAKEAPI_EPOCH + a->now + a->clients[i].wall_offset;
    }
}

sl_time fakeapi_now(const struct fakeapi *a) {
    return a->now;
}

sl_time fakeapi_next(const struct fakeapi *a) {
    return sl_heap_empty(&a->queue) ? SL_TIME_NEVER : a->events.v[sl_heap_top(&a->queue)].at;
}

bool fakeapi_step(struct fakeapi *a, sl_time until) {
    if (fakeapi_next(a) > until) {
        a->now = until > a->now ? until : a->now;
        set_clocks(a);
        return false;
    }
    uint32_t i = sl_heap_pop(&a->queue);
    struct event e = a->events.v[i];
    a->events.v[i].place = a->free_event;
    a->free_event = i;
    a->now = e.at;
    set_clocks(a);
    if (e.kind == EV_GC) {
        fa_gc_check(a, e.arg);
        return true;
    }
    if (e.kind == EV_USER) {
        e.fn(e.ctx, e.arg);
        return true;
    }
    struct call *c = fa_call_find(a, e.arg);
    if (!c)
        return true; /* cancelled */
    if (e.kind == EV_ARRIVE)
        arrive(a, c);
    else if (e.kind == EV_REPLY)
        reply(a, c);
    else if (e.kind == EV_PUMP)
        fa_watch_pump(a, c);
    else
        fa_watch_beat(a, c);
    return true;
}

void fakeapi_advance(struct fakeapi *a, sl_time until) {
    while (fakeapi_step(a, until))
        ;
}

void fakeapi_at(struct fakeapi *a, sl_time at, fakeapi_fn fn, void *ctx, uint64_t arg) {
    fa_event_add(a, at, EV_USER, arg, fn, ctx);
}

/* ---- faults ---- */

void fakeapi_some_faults(struct sl_prng *p, uint32_t least, struct fakeapi_faults *ret) {
    struct {
        uint32_t *one_in, factor;
    } all[] = {
        {&ret->lose_request, 1}, {&ret->lose_reply, 1}, {&ret->delay, 1},
        {&ret->late_reply, 1},   {&ret->too_many, 1},   {&ret->server_error, 1},
        {&ret->conflict, 1},     {&ret->compact, 1},    {&ret->partition, 3},
        {&ret->clock_step, 1},   {&ret->cut_watch, 1},  {&ret->lag_watch, 1},
        {&ret->hang_watch, 5},   {&ret->garble, 2},
    };

    ret->longest = 0;
    for (size_t i = 0; i < SL_LEN(all); i++) { /* in this order: the draws are part of the seed */
        int64_t min = (int64_t)least * all[i].factor, n = sl_prng_range(p, min, 8 * min);
        *all[i].one_in = sl_prng_one_in(p, 2) ? (uint32_t)n : 0;
    }
}

void fakeapi_set_faults(struct fakeapi *a, const struct fakeapi_faults *f) {
    a->faults = f ? *f : (struct fakeapi_faults){0};
}

void fakeapi_compact(struct fakeapi *a) {
    for (uint32_t i = 0; i < a->n_res; i++)
        fa_store_compact(a, &a->res[i]);
}

void fakeapi_partition(struct fakeapi *a, uint32_t client, sl_time until) {
    sl_assert(client < FAKEAPI_CLIENTS);
    a->clients[client].cut_until = until;
}

void fakeapi_step_clock(struct fakeapi *a, uint32_t client, sl_span by) {
    sl_assert(client < FAKEAPI_CLIENTS);
    a->clients[client].wall_offset += by;
    set_clocks(a);
}

void fakeapi_set_page(struct fakeapi *a, uint32_t n) {
    a->max_page = n;
}

void fakeapi_set_ceiling(struct fakeapi *a, size_t bytes) {
    a->ceiling = bytes;
}

void fakeapi_set_list_items(struct fakeapi *a, uint32_t n) {
    a->list_items = n;
}

void fakeapi_cut(struct fakeapi *a, uint32_t client) {
    for (uint32_t i = 0; i < a->calls.n; i++)
        if (a->calls.v[i].open && a->calls.v[i].client == client)
            fa_watch_end(a, &a->calls.v[i], 0);
}

void fakeapi_kill(struct fakeapi *a, uint32_t client) {
    for (uint32_t i = 0; i < a->calls.n; i++)
        if (a->calls.v[i].live && a->calls.v[i].client == client)
            mute_call(a, &a->calls.v[i]);
}

/* ---- kinds, life, by hand ---- */

void fakeapi_register(struct fakeapi *a, const struct fakeapi_kind *k) {
    sl_assert(a->n_res < MAX_KINDS);
    a->res[a->n_res++] = (struct resource){.k = *k, .installed = true, .compacted = a->rv};
}

void fakeapi_install(struct fakeapi *a, const char *group, const char *plural, bool installed) {
    for (uint32_t i = 0; i < a->n_res; i++) {
        struct resource *r = &a->res[i];
        if (strcmp(r->k.group, group) != 0 || strcmp(r->k.plural, plural) != 0)
            continue;
        r->installed = installed;
        for (uint32_t j = 0; j < a->calls.n && !installed; j++)
            if (a->calls.v[j].open && a->calls.v[j].res == i)
                fa_watch_end(a, &a->calls.v[j], 200);
    }
}

struct fakeapi *fakeapi_new(uint64_t seed) {
    struct fakeapi *a = sl_alloc0(1, sizeof *a);

    sl_prng_init(&a->prng, seed);
    a->free_object = a->free_event = NONE;
    a->rv = 1;
    a->list_items = FAKEAPI_LIST_ITEMS;
    sl_heap_init(&a->queue, before, place, a);
    sl_buf_init(&a->line, MAX_REPLY_BYTES);
    for (uint32_t i = 0; i < FAKEAPI_CLIENTS; i++)
        a->clients[i] = (struct client){.client.ops = &port_ops, .a = a};
    for (uint32_t i = 0; i < fakeapi_n_kinds; i++)
        fakeapi_register(a, &fakeapi_kinds[i]);
    set_clocks(a);
    return a;
}

struct fakeapi *fakeapi_copy(const struct fakeapi *a) {
    struct fakeapi *to = fakeapi_new(a->rv);

    to->now = a->now;
    to->rv = a->rv;
    to->uids = a->uids;
    to->bare = a->bare;
    for (uint32_t i = 0; i < a->n_res; i++) {
        if (i >= to->n_res)
            fakeapi_register(to, &a->res[i].k);
        to->res[i].installed = a->res[i].installed;
        fa_store_copy(to, a, i);
    }
    for (uint32_t i = 0; i < FAKEAPI_CLIENTS; i++)
        to->clients[i].wall_offset = a->clients[i].wall_offset;
    set_clocks(to);
    return to;
}

void fakeapi_bare(struct fakeapi *a) {
    a->bare = true;
}

void fakeapi_free(struct fakeapi *a) {
    if (!a)
        return;
    for (uint32_t i = 0; i < a->calls.n; i++)
        if (a->calls.v[i].live)
            fa_call_free(a, &a->calls.v[i]);
    for (uint32_t i = 0; i < a->n_res; i++) {
        fa_store_compact(a, &a->res[i]);
        sl_vec_free(&a->res[i].log);
        sl_vec_free(&a->res[i].sorted);
    }
    for (uint32_t i = 0; i < a->objects.n; i++)
        fa_version_unref(a->objects.v[i].cur);
    sl_vec_free(&a->objects);
    sl_map_done(&a->by_uid);
    sl_map_done(&a->dependents);
    sl_heap_done(&a->queue);
    sl_vec_free(&a->events);
    sl_vec_free(&a->calls);
    sl_vec_free(&a->free_calls);
    sl_buf_done(&a->line);
    sl_freep(&a);
}

struct sl_kube_client *fakeapi_port(struct fakeapi *a, uint32_t client) {
    sl_assert(client < FAKEAPI_CLIENTS);
    if (client >= a->used_clients)
        a->used_clients = client + 1;
    return &a->clients[client].client;
}

int fakeapi_do(struct fakeapi *a, enum sl_kube_method method, const char *path,
               const char *content_type, const char *body, struct sl_buf *out) {
    struct sl_buf own;

    sl_buf_init(&own, MAX_REPLY_BYTES);
    int status = fa_serve(a,
                          &(struct sl_kube_request){.method = method,
                                                    .path = path,
                                                    .content_type = content_type,
                                                    .body = body,
                                                    .len = body ? strlen(body) : 0},
                          &own);
    if (out) {
        sl_buf_clear(out);
        sl_buf_add(out, sl_buf_str(&own), own.len);
    }
    sl_buf_done(&own);
    return status;
}

yyjson_val *fakeapi_get(struct fakeapi *a, const char *path) {
    struct target t;
    char key[MAX_KEY_BYTES];
    uint32_t at, obj = NONE;

    if (fa_target_parse(a, path, &t) == 0 && t.name[0]) {
        fa_target_key(&t, t.name, key);
        obj = fa_store_find(a, t.res, key, &at);
    }
    return obj == NONE ? NULL : fa_root_of(a->objects.v[obj].cur);
}

uint32_t fakeapi_each(struct fakeapi *a, const char *path, void (*fn)(void *ctx, yyjson_val *o),
                      void *ctx) {
    struct target t;
    uint32_t n = 0;

    if (fa_target_parse(a, path, &t) != 0 || t.name[0])
        return 0;
    for (uint32_t i = 0; i < t.res->sorted.n; i++) {
        yyjson_val *o = fa_root_of(a->objects.v[t.res->sorted.v[i]].cur);
        if (t.ns[0] && strcmp(t.ns, fa_meta_str(o, "namespace")) != 0)
            continue;
        n++;
        if (fn)
            fn(ctx, o);
    }
    return n;
}

uint64_t fakeapi_version(const struct fakeapi *a) {
    return a->rv;
}

void fakeapi_on_change(struct fakeapi *a, void (*fn)(void *ctx, const struct fakeapi_change *c),
                       void *ctx) {
    a->on_change = fn;
    a->on_change_ctx = ctx;
}

void fakeapi_on_write(struct fakeapi *a, fakeapi_write_fn fn, void *ctx) {
    a->on_write = fn;
    a->on_write_ctx = ctx;
}

uint32_t fakeapi_streams(const struct fakeapi *a, uint32_t client) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->calls.n; i++) {
        const struct call *c = &a->calls.v[i];
        if (!c->live || c->muted || c->client != client)
            continue;
        if (!c->watch || !c->open || c->hung || c->pumping)
            return 0;
        n++;
    }
    return a->now < a->clients[client].cut_until ? 0 : n;
}

void fakeapi_stats(const struct fakeapi *a, struct fakeapi_stats *ret) {
    *ret = a->stats;
}

bool fakeapi_number(const char *name, const char *words, uint32_t *ret, const char **ret_rest) {
    const size_t n = strlen(words);

    if (strncmp(name, words, n) != 0 || name[n] < '0' || name[n] > '9')
        return false;
    char *end;
    *ret = (uint32_t)strtoul(name + n, &end, 10);
    if (ret_rest)
        *ret_rest = end;
    return true;
}
