/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paginated lists. The first page of a list takes references of everything that follows; later
 * pages are cut out of that snapshot, so they are consistent. At most SNAPSHOTS of them are held,
 * for at most five minutes; after that the token has expired, and the client gets one that
 * continues from the same place in the current state. Tokens are self-contained, in base64; version
 * -1 is the current state:
 *
 *     {"v":"meta.k8s.io/v1","rv":VERSION,"id":SNAPSHOT,"start":"NAMESPACE/NAME"}
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/rest/read.h"
#include "kube/client/secret.h"
#include "lib/json/writer.h"

#define SNAPSHOTS 64u
#define SNAPSHOT_AGE (5 * SL_MINUTE)
#define TOKEN_MAX 4096u /* as text; of one that we write, names are what there are objects with */
#define TOKEN_JSON (128u + 6u * (2 * SL_STORE_MAX_NAME + 1)) /* a letter may take six */

struct snapshot {
    uint64_t id; /* 0: free */
    sl_time used;
    uint32_t resource;
    struct api_found found;
};

struct api_pages {
    struct sl_apiserver *s;
    struct snapshot v[SNAPSHOTS];
    uint64_t last_id;
    sl_time expire_at; /* mono: one of them may be too old */
};

struct token {
    int64_t rv;
    uint64_t id;
    const char *ns, *name;
};

struct api_pages *api_pages_new(struct sl_apiserver *s) {
    struct api_pages *p = sl_alloc0(1, sizeof *p);
    p->s = s;
    p->expire_at = SL_TIME_NEVER;
    return p;
}

static void drop_snapshot(struct api_pages *p, struct snapshot *n) {
    if (n->id)
        api_found_done(p->s, &n->found);
    *n = (struct snapshot){0};
}

void api_pages_free(struct api_pages *p) {
    for (uint32_t i = 0; i < SNAPSHOTS; i++)
        drop_snapshot(p, &p->v[i]);
    sl_freep(&p);
}

void api_pages_forget(struct api_pages *p, uint32_t resource) {
    for (uint32_t i = 0; i < SNAPSHOTS; i++)
        if (p->v[i].id && p->v[i].resource == resource)
            drop_snapshot(p, &p->v[i]);
}

/* A snapshot that is no longer read must not retain deleted objects. */
void api_pages_turn(struct api_pages *p) {
    sl_time next = SL_TIME_NEVER;

    if (p->s->mono < p->expire_at)
        return;
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        sl_time end = sl_time_add(p->v[i].used, SNAPSHOT_AGE);
        if (!p->v[i].id)
            continue;
        if (end <= p->s->mono)
            drop_snapshot(p, &p->v[i]);
        else if (end < next)
            next = end;
    }
    p->expire_at = next;
}

static struct snapshot *find_snapshot(struct api_pages *p, const struct token *t,
                                      uint32_t resource) {
    api_pages_turn(p);
    for (uint32_t i = 0; t->id && i < SNAPSHOTS; i++)
        if (p->v[i].id == t->id && p->v[i].resource == resource &&
            (int64_t)p->v[i].found.version == t->rv)
            return &p->v[i];
    return NULL;
}

/* In place of a free one, or of the one that was not used for longest. */
static struct snapshot *keep_snapshot(struct api_pages *p, uint32_t resource,
                                      struct api_found *found) {
    struct snapshot *n = &p->v[0];

    for (uint32_t i = 1; i < SNAPSHOTS && n->id; i++)
        if (!p->v[i].id || p->v[i].used < n->used)
            n = &p->v[i];
    drop_snapshot(p, n);
    *n = (struct snapshot){
        .id = ++p->last_id, .used = p->s->mono, .resource = resource, .found = *found};
    *found = (struct api_found){.version = found->version};
    if (p->expire_at == SL_TIME_NEVER)
        p->expire_at = sl_time_add(n->used, SNAPSHOT_AGE);
    return n;
}

/* ---- tokens ---- */

static const char *token_print(struct api_rq *rq, const struct token *t) {
    _cleanup_(sl_buf_done) struct sl_buf json = SL_BUF(TOKEN_JSON);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)2 * TOKEN_JSON);
    struct sl_jw w = SL_JW(&json);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "v", "meta.k8s.io/v1");
    sl_jw_int(&w, "rv", t->rv);
    sl_jw_uint(&w, "id", t->id);
    sl_jw_strf(&w, "start", "%s/%s", t->ns, t->name);
    sl_jw_end(&w);
    sl_base64_encode(&b, json.s, json.len);
    return sl_arena_strdup(&rq->arena, sl_buf_str(&b));
}

static bool token_read(struct api_rq *rq, struct token *ret) {
    size_t len = strlen(rq->q.continue_token);
    int64_t n = -1;
    char *json = NULL;

    if (len <= TOKEN_MAX) { /* the end may be left out */
        json = sl_arena_alloc(&rq->arena, len + 8);
        const char *whole =
            sl_arena_printf(&rq->arena, "%s%.*s", rq->q.continue_token, (int)(-len & 3), "===");
        n = sl_base64_decode(whole, strlen(whole), json);
    }
    _cleanup_(sl_json_docp) yyjson_doc *doc = n > 0 ? yyjson_read(json, (size_t)n, 0) : NULL;
    yyjson_val *t = doc ? yyjson_doc_get_root(doc) : NULL;
    const char *start = sl_json_str(t, "start"), *slash = strchr(start, '/');
    const char *why =
        n < 0  ? "illegal base64 data at input byte 0"
        : !doc ? api_json_fault(&rq->arena, json, (size_t)n)
        : strcmp(sl_json_str(t, "v"), "meta.k8s.io/v1") != 0
            ? sl_arena_printf(&rq->arena, "server does not recognize this encoded version %s",
                              sl_json_str(t, "v"))
            : "invalid continue key";
    if (slash && ((size_t)(slash - start) > SL_STORE_MAX_NAME ||
                  strlen(slash + 1) > SL_STORE_MAX_NAME)) /* no object has such a name */
        slash = NULL;
    if (slash)
        *ret = (struct token){.rv = sl_json_int(t, "rv", 0),
                              .id = (uint64_t)sl_json_int(t, "id", 0),
                              .ns = sl_arena_strndup(&rq->arena, start, (size_t)(slash - start)),
                              .name = sl_arena_strdup(&rq->arena, slash + 1)};
    else
        api_rq_bad(rq, "invalid continue token: continue key is not valid: %s", why);
    return slash;
}

static void expired(struct api_rq *rq, const struct token *t) {
    const char *again = token_print(rq, &(struct token){.rv = -1, .ns = t->ns, .name = t->name});

    api_rq_status(
        rq, &(struct api_status){.code = 410,
                                 .reason = "Expired",
                                 .go_on = again,
                                 .message = "The provided continue parameter is too old to display "
                                            "a consistent list result. You can start a new "
                                            "list without the continue parameter, or use the "
                                            "continue token in this response to retrieve the "
                                            "remainder of the results. Continuing with the "
                                            "provided token results in an inconsistent list - "
                                            "objects that were created, modified, or deleted "
                                            "between the time the first chunk was returned and "
                                            "now may show up in the list."});
}

/* ---- pages ---- */

static uint32_t find_position(const struct api_found *found, const struct token *t) {
    uint32_t lo = 0, hi = found->v.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int r = strcmp(found->v.v[mid]->ns, t->ns);
        if ((r ? r : strcmp(found->v.v[mid]->name, t->name)) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Cuts a page out; what is left is kept for later if it is not kept already. */
static void cut_page(struct api_rq *rq, const struct api_filter *f, struct snapshot *kept,
                     uint32_t from, struct api_page *ret) {
    struct api_found *found = kept ? &kept->found : &ret->all;
    uint32_t left = found->v.n - from;
    bool partly = rq->q.limit > 0 && left > (uint64_t)rq->q.limit;

    ret->n = partly ? (uint32_t)rq->q.limit : left;
    ret->version = found->version;
    ret->remaining = -1;
    ret->continue_token = "";
    if (partly) {
        if (!kept)
            kept = keep_snapshot(rq->s->pages, rq->kind->number, found);
        const struct sl_store_object *next = kept->found.v.v[from + ret->n];
        ret->continue_token = token_print(rq, &(struct token){.rv = (int64_t)kept->found.version,
                                                              .id = kept->id,
                                                              .ns = next->ns,
                                                              .name = next->name});
        if (!f->labels.n && !f->n_fields)
            ret->remaining = left - ret->n;
        found = &kept->found;
    }
    ret->v = found->v.v ? found->v.v + from : NULL; /* an empty list has no place to count from */
}

bool api_page_open(struct api_rq *rq, const struct api_filter *f, struct api_page *ret) {
    struct token t = {.ns = "", .name = ""};

    *ret = (struct api_page){.continue_token = ""};
    if (*rq->q.continue_token) {
        if (*rq->q.version && strcmp(rq->q.version, "0") != 0) {
            api_rq_bad(rq, "specifying resource version is not allowed when using continue");
            return false;
        }
        if (!token_read(rq, &t))
            return false;
        struct snapshot *kept = find_snapshot(rq->s->pages, &t, rq->kind->number);
        if (!kept && t.rv >= 0) {
            expired(rq, &t);
            return false;
        }
        if (kept) {
            kept->used = rq->s->mono;
            cut_page(rq, f, kept, find_position(&kept->found, &t), ret);
            return true;
        }
    }
    api_found_collect(rq, f, t.ns, t.name, &ret->all);
    cut_page(rq, f, NULL, 0, ret);
    return true;
}

/* The last page of a snapshot leaves it there: it may be requested again, and expires. */
void api_page_close(struct sl_apiserver *s, struct api_page *p) {
    api_found_done(s, &p->all);
}
