/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/serve/front_proxy.h"

#include <string.h>
#include <strings.h>

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/mem.h"
#include "kube/informer/reflector.h"
#include "lib/http/cert.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define NAME "extension-apiserver-authentication"
#define MAX_WORDS 64u
#define MAX_WORD 1024u
#define MAX_EXTRAS 64u
#define MAX_PEER 256u

struct words {
    const char *v[MAX_WORDS + 1]; /* one is for ourselves to add */
    uint32_t n;
};

/* The lists of the ConfigMap. */
enum { NAMES, USERS, UIDS, GROUPS, EXTRAS, LISTS };
static const char *const keys[LISTS] = {
    [NAMES] = "requestheader-allowed-names",
    [USERS] = "requestheader-username-headers",
    [UIDS] = "requestheader-uid-headers",
    [GROUPS] = "requestheader-group-headers",
    [EXTRAS] = "requestheader-extra-headers-prefix",
};

struct serve_front_proxy {
    struct sl_reflector *reflector;
    struct sl_arena arena; /* of what was read last */
    char *cas;
    struct words lists[LISTS];
    uint64_t generation;
    bool seen; /* in the list that runs */
};

/* ---- the ConfigMap ---- */

static void clear_authorities(struct serve_front_proxy *f) {
    f->generation += f->cas != NULL;
    sl_freep(&f->cas);
    sl_arena_clear(&f->arena);
    memset(f->lists, 0, sizeof f->lists);
}

/* A list of strings as JSON text; an absent or empty text is an empty list. False: not all of it
 * could be read. An empty list of names allows every name, so a part of one is not used. */
static bool read_words(struct serve_front_proxy *f, yyjson_val *text, struct words *ret) {
    struct sl_text t = sl_json_view(text);
    _cleanup_(sl_json_docp) yyjson_doc *doc = t.n > 0 ? sl_json_doc(t.s, t.n) : NULL;
    yyjson_val *list = yyjson_doc_get_root(doc), *v;
    size_t i, n;
    bool whole = text == NULL || (yyjson_is_str(text) && (t.n == 0 || yyjson_is_arr(list)));

    yyjson_arr_foreach (list, i, n, v) {
        struct sl_text word = sl_json_view(v);
        if (!sl_json_opt(v) || word.n > MAX_WORD || ret->n == MAX_WORDS) {
            whole = false;
            break;
        }
        ret->v[ret->n++] = sl_arena_strdup(&f->arena, word.s);
    }
    return whole;
}

static void on_object(void *ctx, struct yyjson_val *o) {
    struct serve_front_proxy *f = ctx;
    yyjson_val *name = yyjson_obj_get(yyjson_obj_get(o, "metadata"), "name");
    yyjson_val *data = yyjson_obj_get(o, "data");
    yyjson_val *cas = yyjson_obj_get(data, "requestheader-client-ca-file");

    if (!yyjson_equals_str(name, NAME))
        return;
    f->seen = true;
    clear_authorities(f);
    bool whole = true;
    for (uint32_t i = 0; i < LISTS && whole; i++)
        whole = read_words(f, yyjson_obj_get(data, keys[i]), &f->lists[i]);
    if (!whole)
        sl_log(SL_LOG_ERROR, "malformed request header configuration, no request is authenticated",
               SL_S("configmap", NAME));
    sl_time end;
    if (whole && sl_json_opt(cas) && sl_cert_expiry(sl_json_text(cas), &end, NULL) >= 0)
        f->cas = sl_strdup(sl_json_text(cas));
    f->generation++;
    sl_log(SL_LOG_INFO, "request header authentication configured",
           SL_S("client_ca", f->cas ? "present" : "missing or malformed"));
}

static void on_gone(void *ctx, struct yyjson_val *o) {
    struct serve_front_proxy *f = ctx;

    if (yyjson_equals_str(yyjson_obj_get(yyjson_obj_get(o, "metadata"), "name"), NAME))
        clear_authorities(f);
}

static void on_begin(void *ctx) {
    ((struct serve_front_proxy *)ctx)->seen = false;
}

static void on_synced(void *ctx, bool exists) {
    struct serve_front_proxy *f = ctx;

    (void)exists;
    if (!f->seen)
        clear_authorities(f);
}

/* ---- users ---- */

struct extra {
    char *key;
    const char *value;
};

/* The user in the headers of one request. */
struct user {
    const struct serve_front_proxy *f;
    const char *name, *uid;
    struct words groups;
    struct extra extras[MAX_EXTRAS];
    uint32_t n_extras;
    bool crowded; /* not all of it fits: there is no user, rather than one with fewer groups */
};

static bool is_one(const struct words *w, const char *name) {
    for (uint32_t i = 0; i < w->n; i++)
        if (strcasecmp(w->v[i], name) == 0)
            return true;
    return false;
}

static int digit(char c) {
    const char *const digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The key of an extra is in lower case, with % before what a header's name cannot hold. */
static char *extra_key(const char *s) {
    char *key = sl_strdup(s), *out = key;

    for (char *in = key; *in; in++)
        *in = (char)(*in >= 'A' && *in <= 'Z' ? *in - 'A' + 'a' : *in);
    for (const char *in = key; *in; in++) {
        int hi = *in == '%' ? digit(in[1]) : -1, lo = hi < 0 ? -1 : digit(in[2]);
        bool escaped = lo >= 0 && (hi || lo);
        *out++ = (char)(escaped ? hi * 16 + lo : *in);
        in += escaped ? 2 : 0;
    }
    *out = '\0';
    return key;
}

static void take_header(void *ctx, const char *name, const char *value) {
    struct user *u = ctx;
    const struct words *lists = u->f->lists;

    if (is_one(&lists[USERS], name)) {
        u->name = u->name ? u->name : value;
    } else if (is_one(&lists[UIDS], name)) {
        u->uid = u->uid ? u->uid : value;
    } else if (is_one(&lists[GROUPS], name)) {
        if (u->groups.n < MAX_WORDS)
            u->groups.v[u->groups.n++] = value;
        else
            u->crowded = true;
    }
    for (uint32_t i = 0; i < lists[EXTRAS].n; i++) {
        size_t n = strlen(lists[EXTRAS].v[i]);
        if (strncasecmp(name, lists[EXTRAS].v[i], n) != 0 || !name[n])
            continue;
        if (u->n_extras < MAX_EXTRAS)
            u->extras[u->n_extras++] = (struct extra){extra_key(name + n), value};
        else
            u->crowded = true;
        break;
    }
}

static void put_list(struct sl_jw *w, const char *key, const char *const *v, uint32_t n) {
    sl_jw_array(w, key);
    for (uint32_t i = 0; i < n; i++)
        sl_jw_str(w, NULL, v[i]);
    sl_jw_end(w);
}

/* A key that comes several times has several values. */
static void put_extras(struct sl_jw *w, const struct user *u) {
    const char *values[MAX_EXTRAS];

    if (u->n_extras == 0)
        return;
    sl_jw_object(w, "extra");
    for (uint32_t i = 0; i < u->n_extras; i++) {
        uint32_t n = 0, first = 0;
        while (strcmp(u->extras[first].key, u->extras[i].key) != 0)
            first++;
        if (first < i)
            continue;
        for (uint32_t k = i; k < u->n_extras; k++)
            if (strcmp(u->extras[k].key, u->extras[i].key) == 0)
                values[n++] = u->extras[k].value;
        put_list(w, u->extras[i].key, values, n);
    }
    sl_jw_end(w);
}

/* Every authenticated user is in this group, also if the API server, which reads documents as a
 * user of its own, does not send it. */
static void add_authenticated(struct user *u) {
    static const char all[] = "system:authenticated";

    for (uint32_t i = 0; i < u->groups.n; i++)
        if (strcmp(u->groups.v[i], all) == 0)
            return;
    if (strcmp(u->name, "system:anonymous") != 0)
        u->groups.v[u->groups.n++] = all;
}

static void put_user(struct sl_buf *b, const struct user *u) {
    struct sl_jw w = SL_JW(b);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "user", u->name);
    if (u->uid && *u->uid)
        sl_jw_str(&w, "uid", u->uid);
    if (u->groups.n)
        put_list(&w, "groups", u->groups.v, u->groups.n);
    put_extras(&w, u);
    sl_jw_end(&w);
}

static bool is_listed(const struct words *names, const char *peer) {
    for (uint32_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i], peer) == 0)
            return true;
    return names->n == 0; /* any that the authority has signed */
}

bool serve_front_proxy_user(const struct serve_front_proxy *f, const struct sl_http_request *rq,
                            struct sl_buf *out) {
    struct user u = {.f = f};
    char peer[MAX_PEER];

    if (!f->cas || !rq->peer(rq, peer, sizeof peer) || !is_listed(&f->lists[NAMES], peer))
        return false;
    rq->headers(rq, take_header, &u);
    bool named = u.name && *u.name && !u.crowded;
    if (named) {
        add_authenticated(&u);
        put_user(out, &u);
    }
    for (uint32_t i = 0; i < u.n_extras; i++)
        sl_freep(&u.extras[i].key);
    return named && !sl_buf_full(out);
}

/* ---- for the owner ---- */

struct serve_front_proxy *serve_front_proxy_new(struct sl_kube_client *client, uint64_t seed) {
    struct serve_front_proxy *f = sl_alloc0(1, sizeof *f);
    struct sl_reflector_owner owner = {f, on_begin, on_object, on_gone, on_synced};

    sl_arena_init(&f->arena, (size_t)1 << 20);
    f->reflector = sl_reflector_new(client, "/api/v1/namespaces/kube-system/configmaps",
                                    "fieldSelector=metadata.name%3D" NAME, &owner, seed);
    return f;
}

void serve_front_proxy_free(struct serve_front_proxy *f) {
    if (!f)
        return;
    sl_reflector_free(f->reflector);
    sl_arena_done(&f->arena);
    sl_freep(&f->cas);
    sl_freep(&f);
}

void serve_front_proxy_tick(struct serve_front_proxy *f) {
    sl_reflector_tick(f->reflector);
}

sl_time serve_front_proxy_next(const struct serve_front_proxy *f) {
    return sl_reflector_next(f->reflector);
}

const char *serve_front_proxy_cas(const struct serve_front_proxy *f) {
    return f->cas;
}

uint64_t serve_front_proxy_generation(const struct serve_front_proxy *f) {
    return f->generation;
}
