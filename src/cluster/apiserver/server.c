/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creation and destruction of the server, its calls, and the loop iteration. See server.h for the
 * parts.
 *
 * The number of a call is its slot and the generation of the slot; the slot is free again before
 * the response is delivered, so a cancel from there, or later, has no effect.
 */
#include "cluster/apiserver/server.h"
#include "cluster/apiserver/jwt.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/schema/protobuf/protobuf.h"
#include "core/base/mem.h"

/* ---- time ---- */

static sl_time clock_ns(clockid_t id) {
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

void sl_apiserver_clock(struct sl_apiserver *s) {
    s->wall = clock_ns(CLOCK_REALTIME);
    s->mono = clock_ns(CLOCK_MONOTONIC);
    if (s->spec.clock)
        s->spec.clock(s->spec.ctx, &s->wall, &s->mono);
    s->clock_read = true;
    api_local_clients_clock(s);
}

void sl_api_turn(struct sl_apiserver *s) {
    if (!s->clock_read)
        sl_apiserver_clock(s);
}

/* ---- calls ---- */

static struct api_rq *rq_take(struct sl_apiserver *s) {
    struct api_rq *rq = TAILQ_FIRST(&s->idle);
    uint32_t i;

    if (rq) {
        TAILQ_REMOVE(&s->idle, rq, link);
        s->n_idle--;
    } else {
        rq = sl_alloc0(1, sizeof *rq);
        sl_arena_init(&rq->arena, API_REQUEST_ARENA);
        sl_buf_init(&rq->out, SL_API_MAX_ANSWER);
    }
    if (s->free_slots.n > 0) {
        i = sl_vec_pop(&s->free_slots);
    } else {
        i = s->slots.n;
        *sl_vec_push(&s->slots) = (struct api_slot){0};
    }
    s->slots.v[i].rq = rq;
    s->n_open++;
    rq->id = (sl_api_call){(uint64_t)s->slots.v[i].gen << 32 | (i + 1)};
    rq->s = s;
    return rq;
}

struct api_rq *api_rq_find(const struct sl_apiserver *s, sl_api_call id) {
    uint32_t i = (uint32_t)id.v - 1; /* 0 becomes a number that no slot has */

    return i < s->slots.n && s->slots.v[i].gen == (uint32_t)(id.v >> 32) ? s->slots.v[i].rq : NULL;
}

static void number_free(struct api_rq *rq) {
    struct sl_apiserver *s = rq->s;
    uint32_t i = (uint32_t)rq->id.v - 1;

    if (!rq->id.v)
        return;
    rq->id.v = 0;
    s->slots.v[i].rq = NULL;
    s->slots.v[i].gen++;
    *sl_vec_push(&s->free_slots) = i;
    s->n_open--;
}

static void rq_destroy(struct api_rq *rq) {
    sl_arena_done(&rq->arena);
    sl_buf_done(&rq->out);
    sl_freep(&rq);
}

/* Gives everything back; the record is used again. */
static void rq_release(struct api_rq *rq) {
    struct sl_apiserver *s = rq->s;

    number_free(rq);
    api_write_free(rq);
    api_watch_free(rq);
    api_log_end(rq);
    api_session_end(rq);
    if (rq->object)
        sl_store_object_unref(s->store, rq->object);
    if (s->closing || s->n_idle >= API_IDLE_REQUESTS) {
        rq_destroy(rq);
        return;
    }
    /* Nothing of what it took is kept: hundreds of these would each grow to the largest request
     * that ever was. */
    sl_arena_done(&rq->arena);
    sl_buf_done(&rq->out);
    *rq = (struct api_rq){.arena = rq->arena, .out = rq->out};
    TAILQ_INSERT_HEAD(&s->idle, rq, link);
    s->n_idle++;
}

/* ---- answers ---- */

static void on_kick(uv_idle_t *h) {
    (void)h; /* it only keeps the loop from sleeping: answers leave in on_check */
}

static void make_ready(struct api_rq *rq) {
    struct sl_apiserver *s = rq->s;

    rq->state = SL_RQ_READY;
    TAILQ_INSERT_TAIL(&s->ready, rq, link);
    s->n_ready++;
    if (!uv_is_active((uv_handle_t *)&s->kick))
        (void)uv_idle_start(&s->kick, on_kick);
}

static void ready_leave(struct api_rq *rq) {
    TAILQ_REMOVE(&rq->s->ready, rq, link);
    rq->s->n_ready--;
}

static void on_kept(void *ctx, int r) {
    struct api_rq *rq = ctx;

    if (r < 0) {
        if (rq->object)
            sl_store_object_unref(rq->s->store, rq->object);
        rq->object = NULL;
        sl_buf_clear(&rq->out);
        rq->status = 500;
        rq->type = NULL;
        rq->streams = false;
        api_status_print(
            &(struct api_status){
                .code = 500,
                .reason = "InternalError",
                .message = "Internal error occurred: the write could not be committed to disk"},
            &rq->out);
    }
    make_ready(rq);
}

void api_rq_done(struct api_rq *rq, uint64_t version) {
    sl_assert(rq->state == SL_RQ_WORKING);
    rq->state = SL_RQ_KEEPING;
    sl_store_on_commit(rq->s->store, version, on_kept, rq);
}

void api_rq_answer(struct api_rq *rq, int status) {
    rq->status = status;
    if (sl_buf_full(&rq->out)) {
        sl_buf_done(&rq->out);
        rq->type = NULL;
        rq->status = 500;
        api_status_print(
            &(struct api_status){.code = 500,
                                 .reason = "InternalError",
                                 .message = "Internal error occurred: the answer is too large"},
            &rq->out);
    }
    api_rq_done(rq, sl_store_version(rq->s->store));
}

void api_rq_object(struct api_rq *rq, int status, struct sl_store_object *o) {
    if (api_show_plain(rq)) {
        rq->object = sl_store_object_ref(o);
        rq->status = status;
        api_rq_done(rq, o->version);
        return;
    }
    if (api_show_one(rq, o->text, o->len, true, &rq->out))
        api_rq_answer(rq, status);
}

void api_rq_warn(struct api_rq *rq, const char *text) {
    for (uint32_t i = 0; i < rq->n_warnings; i++)
        if (strcmp(rq->warnings[i], text) == 0)
            return;
    if (rq->n_warnings < SL_API_WARNINGS)
        rq->warnings[rq->n_warnings++] = sl_arena_strdup(&rq->arena, text);
}

bool api_rq_settle(struct api_rq *rq, bool ok) {
    struct sl_api_sink sink = rq->sink;
    bool gone = rq->gone;

    sl_assert(rq->state == SL_RQ_STREAM);
    rq->busy = false;
    if (ok && !gone)
        return true;
    rq_release(rq);
    if (!gone)
        sink.end(sink.ctx);
    return false;
}

static void deliver(struct api_rq *rq) {
    ready_leave(rq);
    if (rq->streams) {
        rq->state = SL_RQ_STREAM;
        if (rq->log)
            api_log_begin(rq);
        else if (rq->session)
            api_session_begin(rq);
        else
            api_watch_begin(rq);
        return;
    }
    struct sl_api_answer a = {.status = rq->status,
                              .content_type = rq->type   ? rq->type
                                              : rq->yaml ? "application/yaml"
                                                         : SL_JSON,
                              .body = rq->object ? rq->object->text : sl_buf_str(&rq->out),
                              .len = rq->object ? rq->object->len : rq->out.len,
                              .warnings = rq->n_warnings ? rq->warnings : NULL,
                              .retry_after = rq->retry_after};
    number_free(rq);
    rq->state = SL_RQ_WORKING; /* a late sl_apiserver_free does not find it */
    rq->sink.answer(rq->sink.ctx, &a);
    rq_release(rq);
}

static void on_prepare(uv_prepare_t *h) {
    ((struct sl_apiserver *)h->data)->clock_read = false;
}

static void on_check(uv_check_t *h) {
    struct sl_apiserver *s = h->data;
    struct api_rq *rq;

    sl_api_turn(s);
    /* Those that callbacks add meanwhile are for the next turn. */
    for (uint32_t n = s->n_ready; n > 0 && (rq = TAILQ_FIRST(&s->ready)); n--)
        deliver(rq);
    if (TAILQ_EMPTY(&s->ready))
        (void)uv_idle_stop(&s->kick);
    if (s->retired_crds)
        api_crds_free_retired(s);
    api_pages_turn(s->pages);
}

void api_rq_rest(struct api_rq *rq) {
    if ((rq->state != SL_RQ_KEEPING && rq->state != SL_RQ_READY) || rq->streams)
        return;
    api_write_free(rq);
    if (!rq->n_warnings) /* nothing else of an answer is in it */
        sl_arena_done(&rq->arena);
}

/* ---- the calls of the header ---- */

/* Bytes of headers that are not UTF-8 are replaced, as Go does when it writes them: some of these
 * strings end up in objects. */
static const char *copy(struct api_rq *rq, const char *s) {
    return s && *s ? api_utf8_text(&rq->arena, s) : "";
}

static const char *const *copy_groups(struct api_rq *rq, const char *const *groups) {
    static const char *const none[] = {NULL};
    uint32_t n = 0;

    if (!groups)
        return none;
    while (groups[n] && n < 64)
        n++;
    const char **out = sl_arena_alloc0(&rq->arena, n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = copy(rq, groups[i]);
    return out;
}

sl_api_call sl_apiserver_call(struct sl_apiserver *s, const struct sl_api_request *in,
                              const struct sl_api_sink *sink) {
    struct api_rq *rq = rq_take(s);
    sl_api_call id = rq->id;

    sl_api_turn(s);
    s->stats.requests++;
    rq->sink = *sink;
    rq->now = s->wall;
    rq->method = copy(rq, in->method);
    rq->path = copy(rq, in->path);
    rq->query = copy(rq, in->query);
    rq->content_type = copy(rq, in->content_type);
    rq->user_agent = copy(rq, in->user_agent);
    rq->user = copy(rq, in->user);
    rq->groups = copy_groups(rq, in->groups);
    rq->body = in->body ? in->body : "";
    rq->len = in->body ? in->len : 0;
    rq->upgrade = in->upgrade;
    if (s->n_open > SL_API_OPEN_CALLS) {
        rq->retry_after = 1;
        api_rq_fail(rq, 429, "TooManyRequests", "Too many requests, please try again later.");
        return id;
    }
    api_route(rq, in->accept ? in->accept : "");
    rq->upgrade = NULL;
    rq->body = NULL; /* it may go on working, but not on what was borrowed */
    api_rq_rest(rq);
    return id;
}

void sl_apiserver_cancel(struct sl_apiserver *s, sl_api_call c) {
    struct api_rq *rq = api_rq_find(s, c);

    if (!rq)
        return;
    if (rq->busy) {
        rq->gone = true;
        number_free(rq);
        return;
    }
    if (rq->state == SL_RQ_READY)
        ready_leave(rq);
    else if (rq->state == SL_RQ_KEEPING)
        sl_store_cancel(s->store, rq);
    rq_release(rq);
}

void sl_apiserver_runtime(struct sl_apiserver *s, const struct sl_api_kubelet *rt) {
    s->runtime = rt;
}

void sl_apiserver_stats(const struct sl_apiserver *s, struct sl_apiserver_stats *ret) {
    struct sl_store_stats st;

    sl_store_stats(s->store, &st);
    *ret = s->stats;
    ret->open = s->n_open;
    ret->commits = st.commits;
    ret->objects = st.objects;
    ret->bytes = st.bytes;
}

/* ---- life ---- */

static void seed(struct sl_apiserver *s) {
    uint64_t v = 0;

    if (getrandom(&v, sizeof v, 0) != sizeof v)
        v = (uint64_t)clock_ns(CLOCK_REALTIME);
    sl_prng_init(&s->prng, v);
}

static void on_closed(uv_handle_t *h) {
    struct sl_apiserver *s = h->data;

    if (--s->handles == 0)
        sl_freep(&s);
}

static void handles_open(struct sl_apiserver *s) {
    (void)uv_prepare_init(s->loop, &s->prepare);
    (void)uv_check_init(s->loop, &s->check);
    (void)uv_idle_init(s->loop, &s->kick);
    s->prepare.data = s->check.data = s->kick.data = s;
    s->handles = 3;
    (void)uv_prepare_start(&s->prepare, on_prepare);
    (void)uv_check_start(&s->check, on_check);
    uv_unref((uv_handle_t *)&s->prepare);
    uv_unref((uv_handle_t *)&s->check);
}

/* Resources that are not known yet stay in the file until api_kind_add names them. */
static uint32_t resource_number(void *ctx, const char *name) {
    return api_kind_number(ctx, name);
}

int sl_apiserver_new(const struct sl_apiserver_spec *spec, struct sl_apiserver **ret,
                     struct sl_err *err) {
    struct sl_apiserver *s = sl_alloc0(1, sizeof *s);
    int r;

    s->loop = spec->loop;
    s->spec = *spec;
    s->file = spec->file ? sl_strdup(spec->file) : NULL;
    s->version = sl_strdup(spec->version);
    s->address = sl_strdup(spec->address ? spec->address : "");
    s->spec.file = s->file;
    s->spec.version = s->version;
    s->spec.address = s->address;
    TAILQ_INIT(&s->ready);
    TAILQ_INIT(&s->idle);
    seed(s);
    handles_open(s);
    sl_apiserver_clock(s);
    s->pages = api_pages_new(s);
    s->lines = api_lines_new(s);
    s->hooks = api_hooks_new(s);
    s->catalog = api_catalog_new(s);
    r = sl_store_open(&(struct sl_store_spec){.loop = spec->loop,
                                              .path = s->file,
                                              .ctx = s,
                                              .index = api_object_index,
                                              .unindex = api_object_unindex,
                                              .readable = api_object_readable,
                                              .resource = resource_number,
                                              .past = spec->past},
                      &s->store, err);
    s->spec.token_key = NULL; /* a secret that is used once */
    if (r >= 0)
        r = api_signer_new(spec->token_key, &s->signer, err);
    if (r >= 0)
        r = api_bootstrap(s, spec->ca, err);
    if (r < 0) {
        sl_apiserver_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void sl_apiserver_free(struct sl_apiserver *s) {
    struct api_rq *rq;

    if (!s)
        return;
    sl_assert(!s->closing);
    s->closing = true;
    for (uint32_t i = 0; i < s->slots.n; i++)
        if (s->slots.v[i].rq)
            sl_apiserver_cancel(s, (sl_api_call){(uint64_t)s->slots.v[i].gen << 32 | (i + 1)});
    while ((rq = TAILQ_FIRST(&s->idle))) {
        TAILQ_REMOVE(&s->idle, rq, link);
        rq_destroy(rq);
    }
    api_bulk_deletes_free(s);
    api_local_clients_free(s);
    api_hooks_free(s->hooks);
    api_pages_free(s->pages);
    api_lines_free(s->lines);
    if (s->store)
        sl_store_close(s->store);
    api_catalog_free(s->catalog);
    api_documents_free(s->documents);
    api_kinds_done(s);
    api_registry_done(s);
    sl_protobuf_free(s->protobuf);
    sl_schemas_free(s->schemas);
    sl_vec_free(&s->slots);
    sl_vec_free(&s->free_slots);
    sl_freep(&s->file);
    sl_freep(&s->version);
    sl_freep(&s->address);
    api_signer_free(s->signer);
    uv_close((uv_handle_t *)&s->prepare, on_closed);
    uv_close((uv_handle_t *)&s->check, on_closed);
    uv_close((uv_handle_t *)&s->kick, on_closed);
}
