/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object is in one of four states:
 *
 *     IDLE      no pending change
 *     READY     in the queue of its lane, to be built as soon as a slot is free
 *     DELAYED   in the heap, to be READY at 'at'
 *     FLYING    its write, or its read after a conflict, is in flight; a change that is enqueued
 * now is recorded in 'again' and 'at', and handled after the reply
 *
 * Two things delay an object: a change enqueued for later, which an earlier one replaces, and the
 * back-off after a failure, which no change shortens. After a rejection the back-off applies to
 * that very body: a different one is sent at once, the same one is held back.
 *
 * Per object 32 bytes and O(1) per enqueue, build and reply, O(log n) where the heap is used.
 */
#include "kube/informer/writer.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/heap.h"
#include "core/base/prng.h"

#define NONE UINT32_MAX
#define KEEP_BYTES ((size_t)64 << 10) /* a free slot keeps buffers up to this size */
#define FAIL_MIN (20 * SL_MSEC)
#define FAIL_MAX (10 * SL_SEC)
#define REFUSE_MIN SL_SEC
#define REFUSE_MAX SL_MINUTE
#define RETRY_AFTER_MAX (10 * SL_MINUTE)
#define FAIR_TURNS 16u
#define WINDOW_PARTS 256u
#define FIRST_WINDOW 4u
/* Of our requests in the server's line: up to so many, of which half are there at least; one more
 * for so many that wait here, because a server that has more at a time to store does it with less
 * work; and no more. */
#define WAITING 4
#define LINE_PER_WAITING 32u
#define MAX_WAITING 48       /* with which the client has a request on each of its connections */
#define BUSY (100 * SL_MSEC) /* a lane that sent something is taken to be in use for so long */
#define REST 4               /* a throttled lane pauses so many times as long as its request took */

enum state { IDLE, READY, DELAYED, FLYING };

struct item {
    sl_time at;     /* DELAYED: when; FLYING with 'again': not before */
    sl_time paused; /* no request before this, but see 'refused' */
    union {
        uint32_t prev;  /* READY, with 'next' */
        uint32_t place; /* DELAYED: in the heap */
        uint32_t slot;  /* FLYING */
    };
    uint32_t next;
    uint32_t refused; /* hash of the body that the server refused; 0: none, the pause is for all */
    uint8_t state;
    uint8_t lane;
    uint8_t tries; /* failures in a row */
    uint8_t again; /* FLYING: 1 + the lane it was enqueued in meanwhile; 0: it was not */
};
_Static_assert(sizeof(struct item) == 32, "one per object of the cluster");

struct slot {
    struct sl_writer *q;
    struct sl_write w;
    sl_kube_call call;
    uint32_t obj;
    uint32_t next_free;
    uint32_t lane;
    uint32_t beside; /* how many were in flight when it was sent, itself included */
    sl_time sent_at;
};

struct line {
    uint32_t first, last;
    uint32_t n;
    uint32_t in_flight;
    sl_time sent_at, rests_until;
};

struct sl_writer {
    struct sl_kube_client *client;
    struct sl_writer_owner owner;
    struct sl_prng prng;
    SL_VEC(struct item) items;
    struct line lanes[SL_WRITER_LANES];
    struct sl_heap delayed;
    struct slot *slots;
    uint32_t max_in_flight, n_slots, free_slot, ready, in_flight, turn;
    uint32_t window; /* how many in flight we dare, in WINDOW_PARTS */
    sl_span least;   /* the shortest time a write took lately; 0: unknown */
    sl_time held;    /* after a 429 nothing is sent before this */
    bool in_tick;
    uint32_t in_callback;       /* whose callback runs; NONE: none's */
    bool forgotten_in_callback; /* and it was dropped in there */
    struct sl_writer_stats stats;
};

/* ---- lines and heap ---- */

static bool earlier(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_writer *q = ctx;
    sl_time x = q->items.v[a].at, y = q->items.v[b].at;

    return x != y ? x < y : a < b;
}

static uint32_t *place_of(void *ctx, uint32_t obj) {
    return &((struct sl_writer *)ctx)->items.v[obj].place;
}

static void line_add(struct sl_writer *q, uint32_t obj) {
    struct item *it = &q->items.v[obj];
    struct line *l = &q->lanes[it->lane];

    it->state = READY;
    it->next = NONE;
    it->prev = l->last;
    if (l->last != NONE)
        q->items.v[l->last].next = obj;
    else
        l->first = obj;
    l->last = obj;
    l->n++;
    q->ready++;
}

static void line_remove(struct sl_writer *q, uint32_t obj) {
    struct item *it = &q->items.v[obj];
    struct line *l = &q->lanes[it->lane];

    if (it->prev != NONE)
        q->items.v[it->prev].next = it->next;
    else
        l->first = it->next;
    if (it->next != NONE)
        q->items.v[it->next].prev = it->prev;
    else
        l->last = it->prev;
    it->state = IDLE;
    l->n--;
    q->ready--;
}

static void delay_remove(struct sl_writer *q, uint32_t obj) {
    sl_heap_remove(&q->delayed, obj);
    q->items.v[obj].state = IDLE;
}

/* Into the line, or the heap if it is not time yet. The object is in neither. */
static void enqueue(struct sl_writer *q, uint32_t obj, sl_time at) {
    struct item *it = &q->items.v[obj];

    it->again = 0;
    if (at <= q->client->mono) {
        line_add(q, obj);
        return;
    }
    it->state = DELAYED;
    it->at = at;
    it->place = SL_HEAP_OUT;
    sl_heap_fix(&q->delayed, obj);
}

/* ---- slots ---- */

static void slot_free(struct sl_writer *q, struct slot *s) {
    struct sl_buf *bufs[] = {&s->w.path, &s->w.read_path, &s->w.body};

    for (size_t i = 0; i < SL_LEN(bufs); i++)
        if (bufs[i]->cap > KEEP_BYTES)
            sl_buf_done(bufs[i]);
    s->call = (sl_kube_call){0};
    s->next_free = q->free_slot;
    q->free_slot = (uint32_t)(s - q->slots);
    q->lanes[s->lane].in_flight--;
    q->in_flight--;
}

/* ---- enqueueing ---- */

static void reserve_item(struct sl_writer *q, uint32_t obj) {
    sl_assert(obj < SL_WRITER_MAX_OBJECTS);
    sl_vec_reserve(&q->items, obj + 1);
    while (q->items.n <= obj)
        *sl_vec_push(&q->items) = (struct item){0};
}

void sl_writer_enqueue_at(struct sl_writer *q, uint32_t obj, uint32_t lane, sl_time at) {
    sl_assert(lane < SL_WRITER_LANES);
    reserve_item(q, obj);
    struct item *it = &q->items.v[obj];

    if (at < it->paused && !it->refused)
        at = it->paused;
    switch ((enum state)it->state) {
    case IDLE:
        it->lane = (uint8_t)lane;
        enqueue(q, obj, at);
        break;
    case READY:
        if (lane < it->lane) {
            line_remove(q, obj);
            it->lane = (uint8_t)lane;
            line_add(q, obj);
        }
        break;
    case DELAYED:
        if (lane < it->lane)
            it->lane = (uint8_t)lane;
        if (at < it->at) {
            delay_remove(q, obj);
            enqueue(q, obj, at);
        }
        break;
    case FLYING:
        if (!it->again || at < it->at)
            it->at = at;
        if (!it->again || lane + 1 < it->again)
            it->again = (uint8_t)(lane + 1);
        break;
    }
}

void sl_writer_enqueue(struct sl_writer *q, uint32_t obj, uint32_t lane) {
    sl_writer_enqueue_at(q, obj, lane, q->client->mono);
}

void sl_writer_forget(struct sl_writer *q, uint32_t obj) {
    if (obj >= q->items.n)
        return;
    struct item *it = &q->items.v[obj];
    switch ((enum state)it->state) {
    case IDLE:
        break;
    case READY:
        line_remove(q, obj);
        break;
    case DELAYED:
        delay_remove(q, obj);
        break;
    case FLYING:
        if (obj == q->in_callback) { /* the slot is in use until the callback returns */
            q->forgotten_in_callback = true;
            *it = (struct item){.state = FLYING, .slot = it->slot};
            return;
        }
        sl_kube_cancel(q->client, q->slots[it->slot].call);
        slot_free(q, &q->slots[it->slot]);
        break;
    }
    *it = (struct item){0};
}

/* ---- replies ---- */

/* Back-off with jitter: [d/2, d], d growing from min to max with the tries so far, but not less
 * than Retry-After. */
static void pause_item(struct sl_writer *q, struct item *it, sl_span min, sl_span max,
                       sl_span retry_after) {
    sl_span d = it->tries > 16 || min << it->tries > max ? max : min << it->tries;

    if (it->tries < UINT8_MAX)
        it->tries++;
    d = sl_prng_range(&q->prng, d / 2, d);
    if (retry_after > RETRY_AFTER_MAX)
        retry_after = RETRY_AFTER_MAX;
    if (retry_after > 0) /* not all at the same moment */
        retry_after += sl_prng_range(&q->prng, 0, retry_after / 8);
    it->paused = sl_time_add(q->client->mono, d > retry_after ? d : retry_after);
}

/* The first time in a row may be mere news, and is acted on at once; then at growing distance. */
static void pause_if_again(struct sl_writer *q, struct item *it) {
    if (it->tries == 0) {
        it->tries = 1;
        it->paused = 0;
    } else {
        pause_item(q, it, FAIL_MIN, FAIL_MAX, 0);
    }
}

/* Frees the slot. Is the object to be built again, as a retry or because it was enqueued
 * meanwhile? */
static void land(struct slot *s, bool retry) {
    struct sl_writer *q = s->q;
    uint32_t obj = s->obj;
    struct item *it = &q->items.v[obj];
    sl_time pause = it->paused, at = retry ? pause : SL_TIME_NEVER;

    slot_free(q, s);
    it->state = IDLE;
    if (it->again) {
        sl_time enqueued_at = it->refused || it->at > pause ? it->at : pause;
        uint8_t lane = (uint8_t)(it->again - 1);
        at = enqueued_at < at ? enqueued_at : at;
        it->lane = retry && it->lane < lane ? it->lane : lane;
    }
    if (retry || it->again)
        enqueue(q, obj, at);
}

static void slow_down(struct sl_writer *q, sl_time until) {
    q->window = WINDOW_PARTS;
    if (until > q->held)
        q->held = until;
}

/*
 * As TCP Vegas has it: a server that answers as fast as it ever did has room for one more; if the
 * answers take longer, requests wait there, and more of them would only wait longer, and let those
 * of others wait as well. Of ours a few may wait, so that the server never idles, and some more
 * while there is a lot to write.
 */
static void adapt(struct sl_writer *q, const struct slot *s) {
    uint32_t step = WINDOW_PARTS * WINDOW_PARTS / q->window;
    sl_span took = q->client->mono - s->sent_at;

    if (s->lane > 0) { /* those take their own time, and only show that it works again */
        if (q->window < FIRST_WINDOW * WINDOW_PARTS && q->window < q->max_in_flight * WINDOW_PARTS)
            q->window += step;
        return;
    }
    if (took <= 0)
        took = 1;
    q->least += q->least >> 15; /* what was so long ago may no longer be true */
    if (!q->least || took < q->least)
        q->least = took;
    int64_t waiting = s->beside - s->beside * q->least / took;
    int64_t most = WAITING + q->lanes[0].n / LINE_PER_WAITING;
    most = most < MAX_WAITING ? most : MAX_WAITING;
    if (waiting < most / 2)
        q->window += step;
    else if (waiting > most)
        q->window -= step;
    if (q->window > q->max_in_flight * WINDOW_PARTS)
        q->window = q->max_in_flight * WINDOW_PARTS;
    if (q->window < WINDOW_PARTS)
        q->window = WINDOW_PARTS;
}

static enum sl_written outcome(int status) {
    if (status >= 200 && status < 300)
        return SL_WRITTEN;
    if (status == 409)
        return SL_WRITE_CONFLICT;
    if (status == 404 || status == 410)
        return SL_WRITE_GONE;
    if (status >= 400 && status < 500 && status != 429)
        return SL_WRITE_REFUSED;
    return SL_WRITE_FAILED;
}

/* Around each callback: false if the object was dropped in it, and the reply has no owner any
 * more. */
static void report_begin(struct sl_writer *q, uint32_t obj) {
    sl_assert(q->in_callback == NONE);
    q->in_callback = obj;
    q->forgotten_in_callback = false;
}

static bool report_end(struct sl_writer *q) {
    q->in_callback = NONE;
    return !q->forgotten_in_callback;
}

static uint32_t hash_of(const struct sl_write *w) {
    uint64_t h = sl_hash_bytes((uint64_t)w->method, sl_buf_str(&w->path), w->path.len);

    return (uint32_t)sl_hash_bytes(h, sl_buf_str(&w->body), w->body.len) | 1; /* 0 means none */
}

/* A JSON patch of an older version need not apply to the newest: that is 422, before its version is
 * compared. A body that is the same after the object was read is refused for another reason. */
static bool is_outdated(const struct item *it, const struct sl_write *w, int status) {
    return status == 422 && w->content_type && strcmp(w->content_type, SL_JSON_PATCH) == 0 &&
           w->read_path.len > 0 && it->refused != hash_of(w);
}

static void on_read(void *ctx, const struct sl_kube_reply *r) {
    struct slot *s = ctx;
    struct sl_writer *q = s->q;
    enum sl_written how = outcome(r->status);
    bool known = true;

    /* Only facts are reported to the owner. Without one it is built again after a while, its write
     * conflicts again, and the read is retried. */
    if (how == SL_WRITTEN || how == SL_WRITE_GONE) {
        report_begin(q, s->obj);
        q->owner.read(q->owner.ctx, s->obj, r);
        known = report_end(q);
    } else {
        struct item *it = &q->items.v[s->obj];
        pause_item(q, it, FAIL_MIN, FAIL_MAX, r->retry_after);
        if (r->status == 429)
            slow_down(q, it->paused);
    }
    land(s, known);
}

static void on_written(void *ctx, const struct sl_kube_reply *r) {
    struct slot *s = ctx;
    struct sl_writer *q = s->q;
    enum sl_written how = outcome(r->status);

    bool outdated = is_outdated(&q->items.v[s->obj], &s->w, r->status);

    if (outdated)
        how = SL_WRITE_CONFLICT;
    q->lanes[s->lane].rests_until = q->client->mono + REST * (q->client->mono - s->sent_at);
    report_begin(q, s->obj);
    q->owner.done(q->owner.ctx, s->obj, &s->w, how, r);
    if (!report_end(q)) {
        land(s, false);
        return;
    }
    struct item *it = &q->items.v[s->obj]; /* the table may have grown meanwhile */
    it->refused = outdated ? hash_of(&s->w) : 0;
    switch (how) {
    case SL_WRITTEN:
        q->stats.written++;
        it->tries = 0;
        it->paused = 0;
        adapt(q, s);
        land(s, false);
        return;
    case SL_WRITE_CONFLICT:
        q->stats.conflicts++;
        pause_if_again(q, it);
        if (s->w.read_path.len == 0) {
            land(s, true);
            return;
        }
        s->call = sl_kube_request(
            q->client,
            &(struct sl_kube_request){.method = SL_GET, .path = sl_buf_str(&s->w.read_path)},
            on_read, s);
        return;
    case SL_WRITE_GONE:
        q->stats.gone++;
        pause_if_again(q, it);
        land(s, false);
        return;
    case SL_WRITE_FAILED:
        q->stats.failed++;
        pause_item(q, it, FAIL_MIN, FAIL_MAX, r->retry_after);
        if (r->status == 429)
            slow_down(q, it->paused);
        land(s, true);
        return;
    case SL_WRITE_REFUSED:
        q->stats.refused++;
        pause_item(q, it, REFUSE_MIN, REFUSE_MAX, r->retry_after);
        it->refused = hash_of(&s->w);
        land(s, true);
        return;
    }
}

/* ---- sending ---- */

/* When the lane may send one more, if nothing happens before; SL_TIME_NEVER: not without that. */
static sl_time opens(const struct sl_writer *q, uint32_t lane) {
    const struct line *l = &q->lanes[lane];
    sl_time now = q->client->mono, modest_until = now;

    if (l->first == NONE || q->free_slot == NONE)
        return SL_TIME_NEVER;
    for (uint32_t i = 0; i < lane; i++) {
        sl_time until = q->lanes[i].in_flight ? SL_TIME_NEVER : q->lanes[i].sent_at + BUSY;
        modest_until = until > modest_until ? until : modest_until;
    }
    if (modest_until == now) /* what modest ones have in flight takes nothing from the first lane */
        return (lane ? q->in_flight : l->in_flight) < q->window / WINDOW_PARTS ? now
                                                                               : SL_TIME_NEVER;
    if (l->in_flight || l->rests_until > modest_until)
        return modest_until;
    return l->rests_until > now ? l->rests_until : now;
}

static bool open_lane(const struct sl_writer *q, uint32_t lane) {
    return opens(q, lane) <= q->client->mono;
}

/* The lane whose turn it is. Each but the first has one turn in FAIR_TURNS of its own.
 * SL_WRITER_LANES: none. */
static uint32_t next_lane(const struct sl_writer *q) {
    uint32_t turn = q->turn % FAIR_TURNS, lane = 0;

    if (turn > 0 && turn < SL_WRITER_LANES && open_lane(q, turn))
        return turn;
    while (lane < SL_WRITER_LANES && !open_lane(q, lane))
        lane++;
    return lane;
}

/* A body that does not fit is not sent, and reported to the owner as a server would refuse it. */
static bool too_large(struct sl_write *w) {
    bool full = sl_buf_full(&w->path);
    full |= sl_buf_full(&w->read_path);
    full |= sl_buf_full(&w->body);
    return full;
}

static void send_read(struct sl_writer *q, uint32_t obj) {
    struct slot *s = &q->slots[q->free_slot];
    struct sl_write *w = &s->w;

    q->free_slot = s->next_free;
    q->in_flight++;
    s->lane = q->items.v[obj].lane;
    q->lanes[s->lane].in_flight++;
    s->obj = obj;
    w->method = SL_GET;
    w->content_type = w->accept = NULL;
    w->tag = 0;
    w->foreign = false;
    sl_buf_clear(&w->path);
    sl_buf_clear(&w->read_path);
    sl_buf_clear(&w->body);
    w->json = SL_JW(&w->body);
    q->items.v[obj].state = FLYING;
    q->items.v[obj].slot = (uint32_t)(s - q->slots);
    report_begin(q, obj);
    bool some = q->owner.build(q->owner.ctx, obj, w);
    sl_jw_end_to(&w->json, 0);
    some &= report_end(q);
    const bool cut = too_large(w); /* also of what is not sent after all */
    struct item *it = &q->items.v[obj];
    if (!some) {
        it->tries = 0;
        it->refused = 0;
        land(s, false);
        return;
    }
    sl_assert(w->path.len > 0);
    if (it->refused && it->paused > q->client->mono && it->refused == hash_of(w)) {
        land(s, true);
        return;
    }
    s->beside = q->in_flight;
    s->sent_at = q->lanes[s->lane].sent_at = q->client->mono;
    if (cut) {
        on_written(s, &(struct sl_kube_reply){.status = SL_WRITER_TOO_LARGE,
                                              .body = "",
                                              .text = "the request is too large to be sent"});
        return;
    }
    q->stats.sent++;
    s->call = sl_kube_request(q->client,
                              &(struct sl_kube_request){
                                  .method = w->method,
                                  .path = sl_buf_str(&w->path),
                                  .content_type = w->body.len > 0 ? w->content_type : NULL,
                                  .body = w->body.len > 0 ? sl_buf_str(&w->body) : NULL,
                                  .len = w->body.len,
                                  .accept = w->accept,
                              },
                              on_written, s);
}

void sl_writer_tick(struct sl_writer *q) {
    sl_time now = q->client->mono;

    sl_assert(!q->in_tick && q->in_callback == NONE);
    q->in_tick = true;
    while (!sl_heap_empty(&q->delayed) && q->items.v[sl_heap_top(&q->delayed)].at <= now) {
        uint32_t obj = sl_heap_pop(&q->delayed);
        line_add(q, obj);
    }
    /* As many as stand there now: what the owner adds meanwhile is the next tick's. It may also
     * take some away. */
    for (uint32_t n = q->ready; n > 0 && now >= q->held; n--) {
        uint32_t lane = next_lane(q);
        if (lane == SL_WRITER_LANES)
            break;
        q->turn++;
        uint32_t obj = q->lanes[lane].first;
        line_remove(q, obj);
        send_read(q, obj);
    }
    q->in_tick = false;
}

sl_time sl_writer_next(const struct sl_writer *q) {
    sl_time t = SL_TIME_NEVER;

    for (uint32_t i = 0; i < SL_WRITER_LANES; i++) {
        sl_time open = opens(q, i);
        t = open < t ? open : t;
    }
    if (t < q->held)
        t = q->held;
    if (!sl_heap_empty(&q->delayed) && q->items.v[sl_heap_top(&q->delayed)].at < t)
        t = q->items.v[sl_heap_top(&q->delayed)].at;
    return t;
}

/* ---- for the owner ---- */

struct sl_writer *sl_writer_new(struct sl_kube_client *client, const struct sl_writer_owner *owner,
                                uint32_t max_in_flight, uint64_t seed) {
    struct sl_writer *q = sl_alloc0(1, sizeof *q);

    sl_assert(max_in_flight > 0 && max_in_flight <= SL_WRITER_MAX_IN_FLIGHT);
    q->client = client;
    q->owner = *owner;
    sl_prng_init(&q->prng, seed);
    sl_heap_init(&q->delayed, earlier, place_of, q);
    for (uint32_t i = 0; i < SL_WRITER_LANES; i++)
        q->lanes[i] = (struct line){.first = NONE, .last = NONE, .sent_at = INT64_MIN / 2};
    q->max_in_flight = max_in_flight;
    q->window = WINDOW_PARTS * (max_in_flight < FIRST_WINDOW ? max_in_flight : FIRST_WINDOW);
    q->held = INT64_MIN;
    q->in_callback = NONE;
    q->n_slots = max_in_flight + SL_WRITER_LANES - 1; /* one for each modest lane */
    q->slots = sl_alloc0(q->n_slots, sizeof *q->slots);
    for (uint32_t i = 0; i < q->n_slots; i++) {
        struct slot *s = &q->slots[i];
        s->q = q;
        s->next_free = i + 1 < q->n_slots ? i + 1 : NONE;
        sl_buf_init(&s->w.path, SL_WRITER_MAX_PATH);
        sl_buf_init(&s->w.read_path, SL_WRITER_MAX_PATH);
        sl_buf_init(&s->w.body, SL_WRITER_MAX_BODY);
    }
    return q;
}

void sl_writer_free(struct sl_writer *q) {
    if (!q)
        return;
    sl_assert(!q->in_tick && q->in_callback == NONE);
    for (uint32_t i = 0; i < q->n_slots; i++) {
        struct slot *s = &q->slots[i];
        sl_kube_cancel(q->client, s->call);
        sl_buf_done(&s->w.path);
        sl_buf_done(&s->w.read_path);
        sl_buf_done(&s->w.body);
    }
    sl_freep(&q->slots);
    sl_heap_done(&q->delayed);
    sl_vec_free(&q->items);
    sl_freep(&q);
}

bool sl_writer_busy(const struct sl_writer *q, uint32_t obj) {
    return obj < q->items.n && q->items.v[obj].state == FLYING;
}

bool sl_writer_idle(const struct sl_writer *q) {
    return q->ready == 0 && q->in_flight == 0 && sl_heap_empty(&q->delayed);
}

void sl_writer_stats(const struct sl_writer *q, struct sl_writer_stats *ret) {
    *ret = q->stats;
    ret->in_flight = q->in_flight;
    ret->waiting = q->ready + q->delayed.items.n;
}
