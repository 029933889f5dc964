/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every write of the lease is a merge patch with the resourceVersion that it was decided on, so of
 * two candidates one loses with 409, and fields that others keep on the object stay. In a ring:
 *
 *     READ -> not ours and alive: READ later
 *          -> free, expired or ours: WRITE -> done: it is ours; WRITE again after the retry period
 *          -> missing: CREATE              -> anything else: READ
 *
 * Why no two hold at once: our term counts from when the write was *sent* and lasts the renew
 * deadline; a rival's wait counts from when it *saw* that write, which is later, and lasts the
 * duration, which is longer. Only monotonic clocks that run at one speed are needed; the wall clock
 * is only written down.
 *
 * Callbacks of the port only take in what came; every request starts in 'tick'.
 */
#include "kube/client/lease.h"

#include <string.h>

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#define MAX_BODY_BYTES ((size_t)1 << 20)
#define MAX_PATH_BYTES 2048u
#define MAX_VERSION_BYTES 256u
#define MAX_HOLDER_BYTES 1024u
#define MAX_LEASE_SECONDS 86400
#define RELEASE_PATIENCE SL_SEC
#define RELEASE_RETRY (100 * SL_MSEC)

enum step { READ, WRITE, CREATE };

struct sl_lease {
    struct sl_kube_client *client;
    char *ns, *name, *identity;
    sl_span duration, renew_deadline, retry_period;
    struct sl_prng prng;
    enum step step; /* in flight if there is a call, else what to do at 'due' */
    sl_kube_call call;
    sl_time due;       /* to begin the step, or to give the call up */
    sl_time sent;      /* the call in flight */
    sl_time term_ends; /* held before this */
    sl_time
        stamp; /* the last renewTime we wrote: each must differ, or the renewal goes unnoticed */
    struct sl_buf path, body;
    /* The lease as last seen, and since when it has looked like this. */
    struct sl_buf version, holder;
    uint64_t seen;
    sl_time seen_at;
    sl_span seen_duration;
    int64_t transitions;
    uint32_t conflicts; /* in a row */
    bool ours;          /* the holder is us */
    bool releasing, released;
    sl_time release_by;
};

static void plan(struct sl_lease *l, enum step step, sl_time due) {
    l->step = step;
    l->due = due;
}

static sl_span jittered(struct sl_lease *l) {
    return sl_prng_range(&l->prng, l->retry_period * 3 / 4, l->retry_period);
}

/* A request failed: what was observed may be old. The server may ask for a longer retry, but not
 * beyond our term. */
static void retry(struct sl_lease *l, sl_span retry_after) {
    sl_span d = jittered(l), most = l->renew_deadline / 2;

    if (d < retry_after)
        d = retry_after < most ? retry_after : most;
    sl_buf_clear(&l->version);
    plan(l, READ, l->client->mono + (l->releasing ? RELEASE_RETRY : d));
}

/* ---- replies ---- */

/* Too long a text is cut: a stranger with a long name is still a stranger. */
static bool copy(struct sl_buf *to, yyjson_val *v) {
    sl_buf_clear(to);
    if (!yyjson_is_str(v))
        return false;
    sl_buf_text(to, sl_json_view(v));
    return true;
}

static uint64_t hash_val(uint64_t h, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (yyjson_is_str(v))
        return sl_hash_bytes(h, t.s, t.n);
    return sl_hash_u64(h, yyjson_is_int(v) ? yyjson_get_uint(v) : 0);
}

/* Takes the object in; false if it is no lease. */
static bool observe(struct sl_lease *l, const struct sl_kube_reply *r) {
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        r->len <= MAX_BODY_BYTES ? sl_json_doc(r->body, r->len) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc), *spec = yyjson_obj_get(root, "spec");
    yyjson_val *seconds = yyjson_obj_get(spec, "leaseDurationSeconds");
    yyjson_val *transitions = yyjson_obj_get(spec, "leaseTransitions");
    static const char *const fields[] = {"holderIdentity", "leaseDurationSeconds", "acquireTime",
                                         "renewTime", "leaseTransitions"};
    uint64_t seen = 1;
    yyjson_val *holder = yyjson_obj_get(spec, "holderIdentity");
    bool good =
        copy(&l->version, yyjson_obj_get(yyjson_obj_get(root, "metadata"), "resourceVersion")) &&
        (!holder || yyjson_is_null(holder) || yyjson_is_str(holder));

    if (good) {
        for (size_t i = 0; i < SL_LEN(fields); i++)
            seen = hash_val(seen, yyjson_obj_get(spec, fields[i]));
        if (seen != l->seen) {
            l->seen = seen;
            l->seen_at = l->client->mono;
        }
        (void)copy(&l->holder, holder); /* none: no holder */
        int64_t s = yyjson_is_int(seconds) ? yyjson_get_sint(seconds) : 0;
        l->seen_duration = s > 0 && s <= MAX_LEASE_SECONDS ? s * SL_SEC : l->duration;
        int64_t t = yyjson_is_int(transitions) ? yyjson_get_sint(transitions) : 0;
        l->transitions = t >= 0 && t < INT32_MAX ? t : 0; /* an int32 in the API */
        l->ours = strcmp(sl_buf_str(&l->holder), l->identity) == 0;
        if (!l->ours)
            l->term_ends = INT64_MIN;
    }
    return good;
}

static void on_read(void *ctx, const struct sl_kube_reply *r) {
    struct sl_lease *l = ctx;
    sl_time now = l->client->mono;

    l->call = (sl_kube_call){0};
    if (r->status == 404) {
        sl_buf_clear(&l->holder);
        l->ours = false;
        l->term_ends = INT64_MIN;
        l->released = l->releasing;
        plan(l, CREATE, now);
        return;
    }
    if (r->status != 200 || !observe(l, r)) {
        retry(l, r->retry_after);
        return;
    }
    sl_time expires = sl_time_add(l->seen_at, l->seen_duration);
    if (l->ours || (!l->releasing && (l->holder.len == 0 || now >= expires))) {
        plan(l, WRITE, now);
    } else if (l->releasing) {
        l->released = true;
    } else {
        sl_time later = now + jittered(l);
        plan(l, READ, expires < later ? expires : later);
    }
}

static void on_written(void *ctx, const struct sl_kube_reply *r) {
    struct sl_lease *l = ctx;
    sl_time now = l->client->mono;

    l->call = (sl_kube_call){0};
    if (r->status >= 200 && r->status < 300) {
        l->conflicts = 0;
        if (l->releasing) {
            l->released = true;
            sl_buf_clear(&l->holder);
        } else if (observe(l, r) && l->ours) {
            l->term_ends = sl_time_add(l->sent, l->renew_deadline);
            sl_time again = l->sent + jittered(l);
            plan(l, WRITE, again > now ? again : now);
        } else {
            retry(l, 0);
        }
    } else if (r->status == 409 && (l->releasing || l->conflicts == 0)) {
        /* Another write was first, perhaps ours with a reply that was lost: read at once. */
        l->conflicts++;
        plan(l, READ, now);
    } else {
        l->conflicts = 0;
        retry(l, r->retry_after);
    }
}

/* ---- requests ---- */

static void put_spec(struct sl_lease *l, struct sl_jw *w) {
    sl_span whole = (l->duration + SL_SEC - 1) / SL_SEC;
    bool fresh = !l->ours || l->releasing || l->step == CREATE;
    sl_time wall = l->client->wall / SL_USEC * SL_USEC;

    l->stamp = wall > l->stamp ? wall : l->stamp + SL_USEC;
    sl_jw_object(w, "spec");
    sl_jw_str(w, "holderIdentity", l->releasing ? "" : l->identity);
    sl_jw_int(w, "leaseDurationSeconds", l->releasing ? 1 : whole);
    sl_jw_micro_time(w, "renewTime", l->stamp);
    if (fresh)
        sl_jw_micro_time(w, "acquireTime", l->stamp);
    if (fresh && !l->releasing)
        sl_jw_int(w, "leaseTransitions", l->step == CREATE ? 0 : l->transitions + 1);
    sl_jw_end(w);
}

/* What the step writes. */
static void put_body(struct sl_lease *l) {
    struct sl_jw *w = &SL_JW(&l->body);

    sl_jw_object(w, NULL);
    if (l->step == CREATE) {
        sl_jw_str(w, "apiVersion", "coordination.k8s.io/v1");
        sl_jw_str(w, "kind", "Lease");
        sl_jw_object(w, "metadata");
        sl_jw_str(w, "name", l->name);
        sl_jw_str(w, "namespace", l->ns);
    } else {
        sl_jw_object(w, "metadata");
        sl_jw_str(w, "resourceVersion", sl_buf_str(&l->version));
    }
    sl_jw_end(w);
    put_spec(l, w);
    sl_jw_end(w);
}

static void start_request(struct sl_lease *l) {
    struct sl_kube_request rq = {.method = SL_GET};

    sl_buf_clear(&l->path);
    sl_buf_clear(&l->body);
    sl_buf_printf(&l->path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases", l->ns);
    if (l->step == CREATE) {
        rq.method = SL_POST;
        rq.content_type = SL_JSON;
    } else {
        sl_buf_printf(&l->path, "/%s", l->name);
    }
    if (l->step == WRITE) {
        rq.method = SL_PATCH;
        rq.content_type = SL_MERGE_PATCH;
    }
    if (l->step != READ) {
        put_body(l);
        rq.body = sl_buf_str(&l->body);
        rq.len = l->body.len;
    }
    sl_assert(!sl_buf_full(&l->path) && !sl_buf_full(&l->body));
    rq.path = sl_buf_str(&l->path);
    l->sent = l->client->mono;
    l->due = l->sent + l->renew_deadline / 2; /* a hung request must leave time for another */
    l->call = sl_kube_request(l->client, &rq, l->step == READ ? on_read : on_written, l);
}

/* ---- for the owner ---- */

struct sl_lease *sl_lease_new(struct sl_kube_client *client, const struct sl_lease_spec *spec,
                              uint64_t seed) {
    struct sl_lease *l = sl_alloc0(1, sizeof *l);

    sl_assert(spec->identity[0] && strlen(spec->identity) <= MAX_HOLDER_BYTES);
    sl_assert(spec->duration > spec->renew_deadline && spec->renew_deadline > spec->retry_period &&
              spec->retry_period > 0 && spec->duration <= MAX_LEASE_SECONDS * SL_SEC);
    l->client = client;
    l->ns = sl_strdup(spec->ns);
    l->name = sl_strdup(spec->name);
    l->identity = sl_strdup(spec->identity);
    l->duration = spec->duration;
    l->renew_deadline = spec->renew_deadline;
    l->retry_period = spec->retry_period;
    sl_prng_init(&l->prng, seed);
    sl_buf_init(&l->path, MAX_PATH_BYTES);
    sl_buf_init(&l->body, MAX_BODY_BYTES);
    sl_buf_init(&l->version, MAX_VERSION_BYTES);
    sl_buf_init(&l->holder, MAX_HOLDER_BYTES);
    sl_buf_short(&l->holder); /* a stranger with a long name is still a stranger */
    l->term_ends = INT64_MIN;
    plan(l, READ, client->mono);
    return l;
}

void sl_lease_free(struct sl_lease *l) {
    if (!l)
        return;
    sl_kube_cancel(l->client, l->call);
    sl_buf_done(&l->path);
    sl_buf_done(&l->body);
    sl_buf_done(&l->version);
    sl_buf_done(&l->holder);
    sl_freep(&l->ns);
    sl_freep(&l->name);
    sl_freep(&l->identity);
    sl_freep(&l);
}

bool sl_lease_held(const struct sl_lease *l) {
    return l->client->mono < l->term_ends;
}

const char *sl_lease_holder(const struct sl_lease *l) {
    return sl_buf_str(&l->holder);
}

void sl_lease_tick(struct sl_lease *l) {
    sl_time now = l->client->mono;

    if (l->releasing && now >= l->release_by)
        l->released = true;
    if (l->released) {
        sl_kube_cancel(l->client, l->call);
        l->call = (sl_kube_call){0};
        return;
    }
    if (now < l->due)
        return;
    if (l->call.v) {
        sl_kube_cancel(l->client, l->call);
        l->call = (sl_kube_call){0};
        sl_buf_clear(&l->version);
        plan(l, READ, now);
    }
    start_request(l);
}

sl_time sl_lease_next(const struct sl_lease *l) {
    sl_time t = l->due;

    if (l->released)
        return SL_TIME_NEVER;
    if (l->releasing && l->release_by < t)
        t = l->release_by;
    if (sl_lease_held(l) && l->term_ends < t)
        t = l->term_ends; /* not for us, but others have to observe it */
    return t;
}

void sl_lease_release(struct sl_lease *l) {
    bool maybe_ours = l->ours || (l->call.v && l->step != READ);

    if (l->releasing)
        return;
    l->releasing = true;
    l->released = !maybe_ours;
    l->term_ends = INT64_MIN;
    l->release_by = l->client->mono + RELEASE_PATIENCE;
    sl_kube_cancel(l->client, l->call);
    l->call = (sl_kube_call){0};
    plan(l, READ, l->client->mono);
}

bool sl_lease_released(const struct sl_lease *l) {
    return l->released;
}
